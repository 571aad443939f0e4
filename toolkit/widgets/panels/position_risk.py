"""Widgets of what an open position may cost: the funding of a product, and the account's liquidation prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ... import margin
from ...errors import ToolkitError
from ..base_panel import static_view
from ..base_panel.number_format import MISSING, change, in_units, money, percent, signed, trimmed
from ..base_panel.panel import Panel, module
from ..order_ticket.holdings import AccountStreams, isolated_equity, net_size, row_of
from .blotter_rows import funding_row, legs, size_text

if TYPE_CHECKING:
    from ...session import Session

SETTLED = 24
"""Settled rates that are shown."""
SHOCKS = tuple(Decimal(one) / 100 for one in (-50, -30, -20, -10, -5, 5, 10, 20, 30, 50))
_ZERO = Decimal(0)
_YEAR_SECONDS = 365 * 24 * 3600


class Funding(Panel):
    """The funding of a product: the running rate, its settlement, the cost for your position, and settled rates.

    The settled rates are loaded when the panel is made and after each settlement.
    """

    _esm = module("base_panel/common.js", "panels/sheet.js")

    def __init__(self, session: Session, symbol: str | int) -> None:
        self._product = session.product(symbol)
        self._settled: list[tuple[str, Decimal]] = []
        self._loaded_for = 0
        super().__init__(session, self._product.symbol)
        stream = session.stream
        self.live = stream.ticker(self._product.symbol)
        self._follow(self.live)
        self._parts: tuple[Any, ...] = ()
        if session.account is not None:
            self._parts = (stream.positions(), stream.funding())
            self._follow(*self._parts, needed=False)
        self.refresh()

    def _next_settlement_ms(self) -> int:
        step = self._product.funding_interval * 1000
        return (self._session._runtime.now() // step + 1) * step

    def _load(self, settlement_ms: int) -> None:
        if settlement_ms == self._loaded_for:
            return
        self._loaded_for = settlement_ms
        start = settlement_ms - (SETTLED + 1) * self._product.funding_interval * 1000
        frame = self._session.funding_rate_history(self._product.symbol, start, progress=False, exact=True)
        rows = frame.reset_index().tail(SETTLED).to_dict("records")
        self._settled = [(f"{one['time']:%m-%d %H:%M}", one["funding_rate"]) for one in reversed(rows)]

    def _make_view(self) -> dict[str, Any]:
        product, ticker, due = self._product, self.live.value, self._next_settlement_ms()
        try:
            self._load(due)
        except ToolkitError as error:  # the running rate is shown all the same
            self._show_error(error)
        rate, mark = ticker.get("funding_rate"), ticker.get("mark_price")
        held: Mapping[str, Any] | None = None
        payments: list[dict[str, Any]] = []
        if self._parts:
            held = row_of(self._parts[0].rows(), product.symbol)
            own = [one for one in self._parts[1].rows() if one["symbol"] == product.symbol]
            payments = [funding_row(len(own) - place, one) for place, one in enumerate(own[: -SETTLED - 1 : -1])]
        size = net_size(held) if held is not None else _ZERO
        left = (due - self._session._runtime.now()) // 1000
        cost = None if rate is None or mark is None else -size * mark * rate
        yearly = None if rate is None else rate * _YEAR_SECONDS / product.funding_interval
        return {
            "title": f"{product.symbol} funding",
            "rows": [
                ["Running rate", percent(rate, 4), "settles at the end of the interval"],
                ["A year at this rate", percent(yearly, 1), ""],
                ["Settles in", f"{left // 3600}:{left % 3600 // 60:02}:{left % 60:02}", _time_text(due)],
                ["Position", MISSING if not size else f"{trimmed(size)} {product.base_currency}", ""],
                ["Next payment (est.)", "none" if not size else f"{signed(cost, 4)} USDC", "negative is paid"],
            ],
            "tables": [
                _table("Settled rates", ("Time", "Rate"), [(time, percent(one, 4)) for time, one in self._settled]),
                _table("My payments", ("Time", "Size", "Rate", "Amount"),
                       [tuple(one[name] for name in ("time", "size", "rate", "amount")) for one in payments]),
            ],
        }  # fmt: skip

    def _lines(self) -> Iterable[str]:
        rate = self.live.value.get("funding_rate")
        return (f"{self._product.symbol}: funding {percent(rate, 4)}",)

    def _snapshot(self) -> str:
        return static_view.heading(self.view["title"]) + static_view.pairs(self.view["rows"])


class LiquidationMap(Panel):
    """Where the account would be liquidated: the price of each position, and what a move of all prices would leave.

    Prices are estimates. The price of a position assumes that the other mark prices stay. A move changes all of them.
    """

    _esm = module("base_panel/common.js", "panels/sheet.js")

    def __init__(self, session: Session) -> None:
        super().__init__(session, "liquidation map")
        self._products = session._product_table()
        self._account, self._tickers = AccountStreams(session, self._products), session.stream.tickers()
        self.live = self._account.positions
        self._follow(self.live, self._account.wallet)
        self._follow(self._account.orders, self._account.leverages, self._tickers, needed=False)
        self.refresh()

    def _make_view(self) -> dict[str, Any]:
        rows = self._account.marked_positions(self._tickers)
        shown = [self._position(row, rows) for row in rows if row["mark_price"]]
        stress = stress_rows(rows, self._products, self._account.wallet_row)
        columns = ("Product", "Size", "Mark", "Liq. price", "Distance", "Result there")
        return {
            "title": "Liquidation map",
            "rows": [["Cross positions", str(sum(row["margin_mode"] != "ISOLATED" for row in rows)), ""]],
            "bars": [one["bar"] for one in shown if one["bar"]],
            "tables": [
                _table("Positions", columns, [one["cells"] for one in shown]),
                _table("If all prices move", ("Move", "Equity", "Maintenance margin", "In use", ""), stress),
            ],
        }

    def _position(self, row: Mapping[str, Any], rows: list[Any]) -> dict[str, Any]:
        product, mark = self._products.find(row["symbol"]), row["mark_price"]
        price, size = self._account.liquidation(product, mark, rows), net_size(row)
        cells = [row["symbol"], size_text(row), in_units(mark, product.tick_size), in_units(price, product.tick_size)]
        if price is None:
            return {"cells": [*cells, "none", ""], "bar": None}
        move = (price - mark) / mark
        bar = {"name": row["symbol"], "move": round(float(move), 4), "text": in_units(price, product.tick_size)}
        return {"cells": [*cells, change(move, 1), signed(size * (price - mark))], "bar": bar}

    def _lines(self) -> Iterable[str]:
        return (f"{len(self.live.rows())} positions",)

    def _snapshot(self) -> str:
        table = self.view["tables"][0]
        return static_view.heading(self.view["title"]) + static_view.table(
            table["columns"], table["rows"], "no positions"
        )


def stress_rows(rows: Iterable[Mapping[str, Any]], products: Any, wallet: Mapping[str, Any]) -> list[list[str]]:
    """Return equity and maintenance margin of the cross positions after a move of all marks, for each of SHOCKS."""
    cross = [one for one in rows if one["margin_mode"] != "ISOLATED" and one["mark_price"]]
    isolated = [one for one in rows if one["margin_mode"] == "ISOLATED" and one["mark_price"]]
    if not cross or wallet.get("equity") is None:
        return []
    own = sum((isolated_equity(one) for one in isolated), _ZERO)
    found = []
    for shock in SHOCKS:
        equity, needed = wallet["equity"] - own, _ZERO
        for one in cross:
            product = products.find(one["symbol"])
            equity += net_size(one) * one["mark_price"] * shock
            for size in legs(one):
                value = abs(size) * one["mark_price"] * (1 + shock)
                needed += margin.maintenance_margin(value, product.tiers) if product.tiers else _ZERO
        gone = equity <= needed
        share = percent(needed / equity, 1) if equity > 0 else MISSING
        found.append([change(shock, 0), money(equity), money(needed), share, "✖ liquidated" if gone else ""])
    return found


def _table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> dict[str, Any]:
    return {"title": title, "columns": list(columns), "rows": [list(row) for row in rows]}


def _time_text(time_ms: int) -> str:
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%Y-%m-%d %H:%M} UTC"
