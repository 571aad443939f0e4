"""Analysis of a run: results, metrics, sweeps, splits and reports."""
