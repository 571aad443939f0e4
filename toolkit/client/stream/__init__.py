"""The live feed: protocol without I/O, shells that move its messages, live objects."""
