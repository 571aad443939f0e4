"""The commands behind `python -m toolkit`, one module each."""
