"""Backtests on events: books and trades as recorded, latencies, and the place of an order in its queue."""
