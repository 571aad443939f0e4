"""Everything that is read from the venue: Info queries, feed channels and their records, each declared once."""
