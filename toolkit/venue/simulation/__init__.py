"""Prices and participants that nobody sent: the simulated market, replay, and interventions."""
