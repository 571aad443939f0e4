"""Choosing among strategies: sweeps over parameters and seeds, their workers and files, walk-forward splits."""
