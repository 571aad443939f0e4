"""Files that outlive a program: written whole or not at all, and checked against their header and seal when read."""
