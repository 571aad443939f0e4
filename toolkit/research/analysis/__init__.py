"""What a run was worth: results, metrics, sweeps, splits and reports."""
