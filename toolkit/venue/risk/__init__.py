"""Money and margin: the ledger, prices, funding, fees, positions, and what each account's equity allows."""
