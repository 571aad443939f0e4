"""Compares what a real venue answers and sends with the declarations, field by field."""
