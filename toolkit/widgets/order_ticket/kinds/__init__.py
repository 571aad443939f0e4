"""The kinds of orders of the ticket: one object each, and the fields that they add to it."""
