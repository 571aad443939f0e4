"""The wire protocol without I/O: actions, encoding, signing, queries and feed channels."""
