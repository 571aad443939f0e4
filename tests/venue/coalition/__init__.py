"""Accounts that play together against the venue: a search for ways to take money that is not theirs."""
