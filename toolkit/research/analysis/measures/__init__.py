"""Parts of the measures of a run: statistics of arrays, its curve, and its round trips."""
