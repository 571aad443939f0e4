"""Liquidation of positions whose margin is used up: which to check, how they are closed, who covers the loss."""
