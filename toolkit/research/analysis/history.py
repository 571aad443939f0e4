"""The history of some products in one object: candles, funding, mark and index prices, and the products themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...errors import InputError
from ...interchange import to_pandas
from ...suggestions import check_known

if TYPE_CHECKING:
    from ...numerals import Span
    from ...plain_session import Session


class History(Mapping[str, pd.DataFrame]):
    """Candles by symbol, with the funding rates and products that belong to them.

    `backtest`, `vectorised`, `sweep`, `optimise` and `walk_forward` take it as their data, and then settle its funding
    and trade its products unless others are given. `paper` replays its candles on a venue that settles its funding and
    lists its products. `session.history` reads one from a venue. Frames of `data.load` make one too.

    Parameters
    ----------
    candles : mapping of str to DataFrame
        Candles by symbol, in a shape that `backtest` accepts.
    funding : mapping of str to DataFrame or Series, optional
        Funding rates by symbol, as `backtest(funding=…)` takes them (default: none).
    products : mapping of str to Product or mapping, optional
        Products by symbol, as `backtest(products=…)` takes them (default: none).

    Raises
    ------
    InputError
        For funding or products of a symbol that has no candles.

    Examples
    --------
    >>> rates = pd.Series(0.0001, bars.index[::8])
    >>> research.History({"BTCUSDC": bars}, {"BTCUSDC": rates})
    <History of BTCUSDC: 200 candles, 25 funding rates, 2025-12-23 16:00 to 2025-12-31 23:00>
    """

    def __init__(
        self,
        candles: Mapping[str, Any],
        funding: Mapping[str, Any] | None = None,
        products: Mapping[str, Any] | None = None,
    ) -> None:
        for name, given in (("funding", funding), ("products", products)):
            check_known(given or {}, candles, name, "symbol of the candles")
        self.candles: dict[str, Any] = {symbol: to_pandas(frame) for symbol, frame in candles.items()}
        self.funding: dict[str, Any] = {symbol: to_pandas(rates) for symbol, rates in (funding or {}).items()}
        self.products: dict[str, Any] = dict(products or {})

    @property
    def mark(self) -> pd.DataFrame:
        """Mark price at each settlement: index `time`, a float64 column for each symbol that has them, USDC."""
        return self._settled("mark_price")

    @property
    def index(self) -> pd.DataFrame:
        """Index price at each settlement, in the shape of `mark`."""
        return self._settled("oracle_price")

    def _settled(self, column: str) -> pd.DataFrame:
        known = {symbol: rates for symbol, rates in self.funding.items() if column in getattr(rates, "columns", ())}
        return pd.DataFrame({symbol: rates.set_index("time")[column] for symbol, rates in known.items()})

    def __getitem__(self, symbol: str) -> pd.DataFrame:
        frame: pd.DataFrame = self.candles[symbol]
        return frame

    def __iter__(self) -> Iterator[str]:
        return iter(self.candles)

    def __len__(self) -> int:
        return len(self.candles)

    def __repr__(self) -> str:
        from ..data.bars import read_bars

        bars = read_bars(self.candles)
        first, last = (
            pd.Timestamp(int(edge), unit="ms")
            for edge in (min(each.opened[0] for each in bars.values()), max(each.opened[-1] for each in bars.values()))
        )
        rates = sum(map(len, self.funding.values()))
        counted = f"{sum(map(len, bars.values())):,} candles, {rates:,} funding rates" if rates else "no funding rates"
        return f"<History of {', '.join(bars)}: {counted}, {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}>"


def resolved(arguments: Mapping[str, Any], known: Mapping[str, object] | None = None) -> dict[str, Any]:
    """Return arguments of a run in which a History has become its candles, funding and products.

    Parameters
    ----------
    arguments : mapping of str to object
        Arguments by name, with `data`.
    known : mapping of str to object, optional
        Names that the function has, others are left out (default: all).
    """
    if not isinstance(history := arguments.get("data"), History):
        return dict(arguments)
    own: dict[str, Any] = {"data": history.candles}
    funding, products = arguments.get("funding", "interest"), arguments.get("products")
    if history.funding and isinstance(funding, str) and funding == "interest":
        own["funding"] = history.funding
    if history.products and products is None:
        own["products"] = history.products
    return {**arguments, **{name: value for name, value in own.items() if known is None or name in known}}


def read_history(session: Session, symbols: Any, interval: Span, start: Any, end: Any) -> History:
    """Return the history of products of a venue. See `Session.history`.

    Parameters
    ----------
    session : Session
        Session that reads.
    symbols : str, int or iterable of these
        Products, by symbol or code.
    interval : str or timedelta
        Length of the candles.
    start : str, int, float, date, datetime or timedelta
        First time, as `session.klines` takes it.
    end : str, int, float, date, datetime, timedelta or None
        Last time, None for now.

    Raises
    ------
    InputError
        For a product without candles in this time.
    """
    products = [session.product(each) for each in ([symbols] if isinstance(symbols, str | int) else symbols)]
    candles, funding = dict[str, pd.DataFrame](), dict[str, pd.DataFrame]()
    for product in products:
        symbol = product.symbol
        found = session.klines(symbol, interval, start, end, closed=True)
        if found.empty:
            text = f"{symbol} has no candles of {interval} from {start} to {end or 'now'}"
            raise InputError(text, field="start", rule="candles", value=str(start))
        candles[symbol] = found
        # Some seconds more, because a rate may be stamped after its settlement.
        funding[symbol] = session.info.funding_rate_history(
            symbol, start=found.index[0], end=found.index[-1] + pd.Timedelta(int(found["interval"].iloc[0]) + 60, "s")
        )
    return History(candles, funding, {product.symbol: product for product in products})
