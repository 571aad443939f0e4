"""What surrounds a run: signals that end it, what it says, and the files by which other programs see and stop it."""
