"""Widgets for notebooks: order ticket, order book, trades, candles, blotter, account."""
