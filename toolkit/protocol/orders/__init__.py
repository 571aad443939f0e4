"""Orders, cancels and the actions that carry them, as typed values with their form on the wire."""
