"""Bars and recordings: reading, checking, storing and replaying them."""
