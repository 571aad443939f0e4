"""ccxt's structures as ours: a market as a product, books, trades and prices as items of a feed, pages as rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from ..errors import InputError
from ..products import Product
from ..protocol.reads.product_rows import META, TIERS
from ..venue.lab.player import fit_row, listed_symbol
from ..venue.model.genesis import Genesis

DEPTH = 200
"""Levels a side that are taken of a book."""
DECIMAL_PLACES, SIGNIFICANT_DIGITS, TICK_SIZE = 2, 3, 4
"""Values of an exchange's `precisionMode`: what its precisions are."""
Levels = dict[tuple[str, float], float]
"""Side and price → quantity."""


def product_of(market: Mapping[str, Any], precision_mode: int, as_symbol: str | None) -> Product:
    """Return the product of the local venue as which a market is followed, with the market's tick and step if finer.

    Parameters
    ----------
    market : mapping of str to object
        ccxt's structure of the market.
    precision_mode : int
        ccxt's `precisionMode` of the exchange: what its precisions are.
    as_symbol : str or None
        Product of the local venue, None for the one of the base currency.

    Raises
    ------
    InputError
        For an inverse contract, and for a symbol that the venue does not list.
    """
    symbol = str(market["symbol"])
    if market.get("inverse"):
        text = f"{symbol} is an inverse contract, settled in its coin. Use a linear one, such as BTC/USDT:USDT"
        raise InputError(text, field="follow", rule="linear", value=symbol)
    genesis = Genesis()
    named = as_symbol or listed_symbol(f"{market['base']}{market['quote']}", genesis.products)
    row = next((dict(row) for row in genesis.products if row["symbol"] == named), None)
    if row is None:
        known = tuple(str(row["symbol"]) for row in genesis.products)
        text = f"as_symbol {named!r} is not a product of the local venue, which lists {', '.join(known)}"
        raise InputError(text, field="as_symbol", rule="listed", value=named, nearest=known)
    tick, step = (Decimal(row[META[name][0]]) for name in ("tick_size", "step_size"))
    precision = market.get("precision") or {}
    tick = _size(precision.get("price"), precision_mode) or tick
    step = (_size(precision.get("amount"), precision_mode) or step) * contract_size(market)
    fit_row(row, tick, step)
    return Product.from_row(row, genesis.margin_tables[int(row[TIERS])])


def _size(precision: float | str | None, mode: int) -> Decimal | None:
    """Return the size of a tick or step, None where the exchange has none that is the same at all prices."""
    if precision is None or mode == SIGNIFICANT_DIGITS:
        return None
    return Decimal(str(precision)) if mode == TICK_SIZE else Decimal(1).scaleb(-int(precision))


def contract_size(market: Mapping[str, Any]) -> Decimal:
    """Return how many base units an amount of 1 is: some exchanges count contracts.

    Parameters
    ----------
    market : mapping of str to object
        ccxt's structure of the market.
    """
    return Decimal(str(market.get("contractSize") or 1)) if market.get("contract") else Decimal(1)


def time_of(timestamp: int | None, now_ms: int) -> datetime:
    """Return a time of the exchange, or the present one if it sent none.

    Parameters
    ----------
    timestamp : int or None
        Unix ms.
    now_ms : int
        Present time, Unix ms.
    """
    return datetime.fromtimestamp((timestamp or now_ms) / 1000, UTC)


def levels_of(book: Mapping[str, Any], size: Decimal, tick: Decimal | None = None) -> Levels:
    """Return the best levels of both sides on the grid of the local product.

    Levels between two ticks are added up at the one that is further from the spread, so that the book is never crossed.

    Parameters
    ----------
    book : mapping of str to object
        ccxt's order book.
    size : Decimal
        Base units of an amount of 1.
    tick : Decimal, optional
        Tick of the local product, USDC (default: prices stay as they are).
    """
    found: Levels = {}
    for side, levels, rounding in (("BUY", book["bids"], ROUND_FLOOR), ("SELL", book["asks"], ROUND_CEILING)):
        for level in levels[:DEPTH]:
            price = _exact(level[0])
            key = side, float((price / tick).to_integral_value(rounding) * tick if tick else price)
            # As decimals: as floats, 0.1 + 0.2 would be no multiple of the step.
            found[key] = float(_exact(found.get(key, 0.0)) + _exact(level[1]) * size)
    return found


def changes_of(before: Levels, now: Levels) -> list[dict[str, Any]]:
    """Return what turns one book into another, removed levels first, so that it is never crossed on the way.

    Parameters
    ----------
    before : Levels
        Levels before, quantity by side and price.
    now : dict of (str, float) to float
        Levels now, quantity by side and price.
    """
    gone = [(side, price, 0.0) for side, price in before.keys() - now.keys()]
    changed = [(side, price, size) for (side, price), size in now.items() if before.get((side, price)) != size]
    return [
        {"side": side, "price": _exact(price), "quantity": _exact(size)}
        for side, price, size in (*sorted(gone), *changed)
    ]


def trades_of(trades: Iterable[Mapping[str, Any]], symbol: str, size: Decimal, now_ms: int) -> list[dict[str, Any]]:
    """Return public trades as items. One whose taker's side the exchange does not say is left out.

    Parameters
    ----------
    trades : iterable of mapping of str to object
        ccxt's trades.
    symbol : str
        Product symbol of the items.
    size : Decimal
        Base units of an amount of 1.
    now_ms : int
        Present time, Unix ms.
    """
    return [
        {
            "time": time_of(trade.get("timestamp"), now_ms),
            "symbol": symbol,
            "side": str(trade["side"]).upper(),
            "price": _exact(trade["price"]),
            "quantity": _exact(trade["amount"]) * size,
        }
        for trade in trades
        if trade.get("side") in ("buy", "sell")
    ]


def prices_of(ticker: Mapping[str, Any], symbol: str) -> dict[str, Any]:
    """Return mark and index price of a ticker as an item, without what the exchange does not send.

    Parameters
    ----------
    ticker : mapping of str to object
        ccxt's ticker.
    symbol : str
        Product symbol of the items.
    """
    names = (("mark_price", "markPrice"), ("oracle_price", "indexPrice"))
    # Left out, not 0: the venue computes a price that is missing.
    return {"symbol": symbol, **{ours: _exact(ticker[theirs]) for ours, theirs in names if ticker.get(theirs)}}


def _exact(value: object) -> Decimal:
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(str(value))


def kline_row(candle: Iterable[Any], symbol: str, seconds: int, size: Decimal) -> dict[str, Any]:
    """Return one of ccxt's candles by column. They have no turnover and no number of trades.

    Parameters
    ----------
    candle : iterable of object
        Time (Unix ms), open, high, low, close and volume.
    symbol : str
        Product symbol of the items.
    seconds : int
        Length of the candle, seconds.
    size : Decimal
        Base units of an amount of 1.
    """
    time_ms, *prices, volume = candle
    names = ("open", "high", "low", "close", "volume")
    values = zip(names, [*(_exact(price) for price in prices), _exact(volume or 0) * size], strict=True)
    return {"symbol": symbol, "time": int(time_ms) // 1000 * 1000, "interval": seconds, **dict(values)}


def funding_row(entry: Mapping[str, Any], symbol: str) -> dict[str, Any]:
    """Return one of ccxt's past funding rates by column.

    Parameters
    ----------
    entry : mapping of str to object
        ccxt's structure of the rate.
    symbol : str
        Product symbol of the row.
    """
    return {"time": int(entry["timestamp"]), "symbol": symbol, "funding_rate": _exact(entry["fundingRate"])}
