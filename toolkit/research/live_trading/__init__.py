"""Strategies on a session: paper and live runs, and the limits that stop them."""
