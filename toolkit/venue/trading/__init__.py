"""Orders from acceptance to their end: books, matching, brackets and triggers."""
