"""Compares what a venue answers with the toolkit's declarations: `python -m tests.conformance URL --capture FOLDER`."""
