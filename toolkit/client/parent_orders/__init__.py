"""Parent orders: orders that are traded over a time by child orders, each of them an intent in the ledger."""
