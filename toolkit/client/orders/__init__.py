"""Signed actions from intent to outcome: delivery, the ledger of intents, receipts, permissions."""
