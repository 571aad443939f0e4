"""Strategies on history: driver, simulated broker, context and models on the venue's own core."""
