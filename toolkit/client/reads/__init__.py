"""Info queries as DataFrames: paging, candles, conversion, caches."""
