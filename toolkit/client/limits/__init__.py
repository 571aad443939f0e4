"""Restricts what may be sent, and stops everything: limits and losses of a session, its kill switch, `stop_all`."""
