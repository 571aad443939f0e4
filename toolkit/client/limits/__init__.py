"""What may be sent, and how everything is stopped: limits and losses of a session, its kill switch, `stop_all`."""
