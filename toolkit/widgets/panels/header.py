"""The header of a trading page: a product, what it did in the last 24 hours, its prices, interest and funding."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..base_panel.number_format import change, countdown, in_units, money, percent, trimmed
from ..base_panel.panel import Panel, module

if TYPE_CHECKING:
    from ...plain_session import Session


class Header(Panel):
    """A product in one line: price, change and volume of 24 hours, mark, oracle, open interest, funding.

    Parameters
    ----------
    session : Session
        Any session.
    symbol : str or int
        Product symbol, such as "BTCUSDC", or its code.
    on_symbol : callable or None, optional
        Called with another product's symbol when it is chosen (default: there is no choice).

    Raises
    ------
    UnknownProduct
        For a product that the venue does not have.
    """

    _esm = module("base_panel/common.js", "panels/header.js")

    def __init__(self, session: Session, symbol: str | int, *, on_symbol: Callable[[str], None] | None = None) -> None:
        self._product = session.product(symbol)
        self._on_symbol = on_symbol
        self._symbols = sorted(one.symbol for one in session._product_table().values() if one.listed)
        super().__init__(session, self._product.symbol)
        self.live = session.stream.ticker(self._product.symbol)
        self._follow(self.live)
        self.refresh()

    def _commands(self) -> dict[str, Any]:
        return {"symbol": self._choose}

    def _choose(self, symbol: str) -> None:
        if self._on_symbol is not None and symbol != self._product.symbol:
            self._on_symbol(self._session.product(symbol).symbol)

    def _make_view(self) -> dict[str, Any]:
        product, ticker, now_ms = self._product, self.live.value, self._session._runtime.now()
        tick, base, seconds = product.tick_size, product.base, product.funding_interval
        left_ms = None if seconds is None else seconds * 1000 - now_ms % (seconds * 1000)
        until = "settled at unknown times" if left_ms is None else f"in {countdown(left_ms)}"
        price = {
            name: in_units(ticker.get(name), tick) for name in ("last", "high", "low", "mark_price", "oracle_price")
        }
        return {
            "title": product.symbol,
            "symbol": product.symbol,
            "symbols": self._symbols if self._on_symbol is not None else [product.symbol],
            "change": change(ticker.get("change")),
            "note": f"{price['last']} {change(ticker.get('change'))} in 24 h",
            "rows": [
                ["24 h change", change(ticker.get("change"))],
                ["24 h high / low", f"{price['high']} / {price['low']}"],
                ["24 h volume", f"{money(ticker.get('turnover'), 0)} USDC"],
                ["Mark", price["mark_price"]],
                ["Oracle", price["oracle_price"]],
                ["Open interest", f"{trimmed(ticker.get('open_interest'))} {base}"],
                ["Funding", f"{percent(ticker.get('funding_rate'), 4)} {until}"],
            ],
        }

    def _lines(self) -> Iterable[str]:
        return (f"{self._product.symbol}: last {self.view['note']}",)
