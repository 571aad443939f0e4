"""Live markets of other exchanges, by ccxt: what a local venue can follow, and their candles and funding rates.

Needs the extra `ccxt`. `connect("local", follow="binance:BTC/USDT:USDT")` makes an `ExchangeMarket` of the text.
"""

from __future__ import annotations

from .exchange_market import ExchangeMarket

__all__ = ["ExchangeMarket"]
