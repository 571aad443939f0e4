"""Strategies on history, on the local venue and live: backtest, sweep, metrics, recorder."""
