"""The state that is hashed and dumped, and the books and indexes that are rebuilt from it."""
