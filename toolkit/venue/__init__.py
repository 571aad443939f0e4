"""The local venue: a whole exchange in one process, deterministic and without I/O at its core."""
