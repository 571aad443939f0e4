"""Market activity the venue generates itself: simulated participants, replay, and interventions."""
