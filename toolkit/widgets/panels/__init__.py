"""Panels of a market and of an account, and the dashboard that arranges them."""
