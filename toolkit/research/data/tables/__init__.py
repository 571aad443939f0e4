"""Tables: the one reader of times and of columns, for files and frames of every kind."""
