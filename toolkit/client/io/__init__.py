"""Requests on their way: flows without I/O, transports, rate limits."""
