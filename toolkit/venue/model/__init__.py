"""What the venue remembers: the state that is hashed and dumped, and the indexes rebuilt from it."""
