"""Formats: readers of market data as exchanges, vendors and other programs store it."""
