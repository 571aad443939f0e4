"""The Info queries by subject: each with its parameters, next to the record of its rows."""
