"""Analysis of runs and recordings: results, metrics, sweeps, splits, reports, and what the best queues show."""
