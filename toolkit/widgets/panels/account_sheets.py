"""Widgets of the account's money: its wallet, the funding of a product, and the liquidation prices of its positions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ...client.reads.derived_columns import isolated_equity, maintenance_of, net_size
from ...errors import ToolkitError
from ...numerals import time_text
from ..base_panel import static_view
from ..base_panel.number_format import (
    MISSING,
    UNKNOWN,
    change,
    countdown,
    in_units,
    money,
    percent,
    short,
    signed,
    trimmed,
)
from ..base_panel.panel import Panel, module
from ..order_ticket.holdings import UNKNOWN_PRICE, AccountStreams, row_of
from .blotter import either_size, funding_row, size_text

if TYPE_CHECKING:
    from ...plain_session import Session
    from ...products import Product

SETTLED = 24
"""Settled rates that are shown."""
SHOCKS = tuple(Decimal(one) / 100 for one in (-50, -30, -20, -10, -5, 5, 10, 20, 30, 50))
_ZERO = Decimal(0)
_YEAR_SECONDS = 365 * 24 * 3600


class Account(Panel):
    """The wallet: equity, balance, available and withdrawable amounts, margin in use, fee rates.

    Parameters
    ----------
    session : Session
        Session with an account.
    """

    _esm = module("base_panel/common.js", "panels/sheet.js")

    def __init__(self, session: Session) -> None:
        super().__init__(session, "account")
        self.live = session.stream.account()
        self.positions = session.stream.positions()
        self._follow(self.live, self.positions)
        self.refresh()

    def _make_view(self) -> dict[str, Any]:
        wallet = self.live.value
        equity, available, balance = (wallet.get(name) for name in ("equity", "available", "balance"))
        used = equity - available if equity is not None and available is not None else None
        share = used / equity if used is not None and equity and equity > 0 else _ZERO
        held = self.positions.rows()
        pnl = sum((row.get("unrealized_pnl") or _ZERO for row in held), _ZERO)
        isolated = sum((row.get("assigned_margin") or _ZERO for row in held), _ZERO)
        fees = [percent(wallet.get(name), 3) for name in ("maker_fee_rate", "taker_fee_rate")]
        env, status = self._session.environment, str(wallet.get("status") or MISSING)
        name = short(str(self._session.account or ""))
        unusual = status not in ("NORMAL", MISSING)
        doubted = self._watch.money_doubted

        def sure(text: str, of_positions: bool = False) -> str:
            """Return a figure, or that it is unknown where another witness contradicts it."""
            return UNKNOWN if doubted or (of_positions and self._watch.doubted()) else text

        return {
            "title": "Account",
            "note": " · ".join([name, env.name, *([status] if unusual else [])]),
            "danger": env.is_mainnet or unusual,
            "meter": {
                "name": "Margin in use",
                "share": 0.0 if doubted else round(float(min(max(share, _ZERO), Decimal(1))), 4),
                "words": f"{sure(percent(share, 1))} of equity is in use as margin",
            },
            "rows": [
                ["Equity", sure(money(equity)), "balance, isolated margins and unrealised PnL"],
                ["Unrealised PnL", sure(signed(pnl), True), "of open positions, at mark price"],
                ["Balance", sure(money(balance)), "cash, excluding isolated margins"],
                *([["Isolated", sure(money(isolated), True), "margins of isolated positions"]] if isolated else []),
                ["Margin in use", sure(money(used)), "used by positions and orders"],
                ["Available", sure(money(available)), "for new positions and orders"],
                ["Withdrawable", sure(money(wallet.get("withdrawable"))), "excluding unrealised PnL"],
                ["Fees", " / ".join(fees), "maker / taker"],
            ],
        }

    def _lines(self) -> Iterable[str]:
        wallet = self.live.value
        doubted = self._watch.money_doubted
        equity, available = (UNKNOWN if doubted else money(wallet.get(name)) for name in ("equity", "available"))
        return (f"{short(str(self._session.account or ''))}: equity {equity}, available {available} USDC",)


class Funding(Panel):
    """The funding of a product: the running rate, its settlement, your cost, and settled rates.

    The settled rates are loaded when the panel is made and after each settlement.

    Parameters
    ----------
    session : Session
        Any session. With an account it shows your payments too.
    symbol : str or int
        Product symbol, such as "BTCUSDC", or its code.

    Raises
    ------
    UnknownProduct
        For a product that the venue does not have.
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

    def _load(self, settlement_ms: int) -> None:
        if settlement_ms == self._loaded_for:
            return
        # Before the read: after an error it waits for the next settlement, instead of asking with every refresh.
        self._loaded_for = settlement_ms
        start = settlement_ms - SETTLED * self._interval_ms()
        frame = self._session.info.funding_rate_history(self._product.symbol, start=start, progress=False, exact=True)
        rows = frame.reset_index().to_dict("records")
        self._settled = [(f"{one['time']:%m-%d %H:%M}", one["funding_rate"]) for one in reversed(rows)]

    def _interval_ms(self) -> int:
        """Return the time between settlements. Where it is not known, settled rates are looked for once an hour."""
        return (self._product.funding_interval or 3600) * 1000

    def _make_view(self) -> dict[str, Any]:
        product, ticker, now = self._product, self.live.value, self._session._runtime.now()
        known, interval_ms = product.funding_interval, self._interval_ms()
        due = (now // interval_ms + 1) * interval_ms
        try:
            self._load(due)
        except ToolkitError as error:  # the running rate is shown all the same
            self._show_error(error)
        rate, mark = ticker.get("funding_rate"), ticker.get("mark_price")
        positions, paid = (part.rows() for part in self._parts) if self._parts else ([], [])
        held = row_of(positions, product.symbol)
        own = [one for one in paid if one["symbol"] == product.symbol][-SETTLED:][::-1]
        payments = [funding_row(place, one) for place, one in enumerate(own)]
        size = net_size(held) if held is not None else _ZERO
        cost = None if rate is None or mark is None else -size * mark * rate
        yearly = None if rate is None or known is None else rate * _YEAR_SECONDS / known
        until = ("", None) if known is None else (f"{time_text(due)[:16]} UTC", due - now)
        return {
            "title": f"{product.symbol} funding",
            "rows": [
                ["Running rate", percent(rate, 4), "settles at the end of the interval"],
                ["A year at this rate", UNKNOWN if known is None else percent(yearly, 1), ""],
                ["Settles in", countdown(until[1]), until[0]],
                ["Position", MISSING if not size else f"{trimmed(size)} {product.base}", ""],
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


class LiquidationMap(Panel):
    """Where the account would be liquidated: the price of each position, and moves of all prices.

    Prices are estimates. The price of a position assumes that the other mark prices stay. A move changes all of them.

    Parameters
    ----------
    session : Session
        Session with an account.
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
        doubted = self._watch.money_doubted or bool(self._watch.doubted())
        stress = [] if doubted else stress_rows(rows, self._products, self._account.wallet_row)
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
        estimate, size, tick = self._account.liquidation(product, mark, rows), net_size(row), product.tick_size
        if self._watch.money_doubted:
            estimate = UNKNOWN_PRICE
        price = estimate.price
        if counted := self._watch.doubted().get(row["symbol"]):
            size_words = either_size(size_text(row), counted)
            return {"cells": [row["symbol"], size_words, in_units(mark, tick), *[UNKNOWN] * 3], "bar": None}
        cells = [row["symbol"], size_text(row), in_units(mark, tick), estimate.text(tick, MISSING)]
        if price is None:
            return {"cells": [*cells, estimate.text(tick), ""], "bar": None}
        move = (price - mark) / mark
        bar = {"name": row["symbol"], "move": round(float(move), 4), "text": in_units(price, product.tick_size)}
        return {"cells": [*cells, change(move, 1), signed(size * (price - mark))], "bar": bar}

    def _lines(self) -> Iterable[str]:
        return (f"{len(self.live.rows())} positions",)

    def _snapshot(self) -> str:
        table = self.view["tables"][0]
        head = static_view.heading(self.view["title"])
        return head + static_view.table(table["columns"], table["rows"], "no positions")


def stress_rows(
    rows: Iterable[Mapping[str, Any]], products: Mapping[str, Product], wallet: Mapping[str, Any]
) -> list[list[str]]:
    """Return equity and maintenance margin of the cross positions after a move of all marks.

    There is a row for each of `SHOCKS`. The maintenance margin is unknown where the venue does not say the tiers of one
    of them.

    Parameters
    ----------
    rows : iterable of mapping of str to object
        Rows of positions.
    products : mapping of str to Product
        All products, for their margin tiers.
    wallet : mapping of str to object
        Row of the wallet.
    """
    marked = [one for one in rows if one["mark_price"]]
    cross = [one for one in marked if one["margin_mode"] != "ISOLATED"]
    if not cross or wallet.get("equity") is None:
        return []
    # Isolated positions are liquidated alone, so their equity does not help the others.
    own = sum((isolated_equity(one) for one in marked), _ZERO)  # 0 of cross positions
    found = []
    for shock in SHOCKS:
        equity, needs = wallet["equity"] - own, []
        for one in cross:
            equity += net_size(one) * one["mark_price"] * shock
            moved = {**one, "mark_price": one["mark_price"] * (1 + shock)}
            product = products.get(one["symbol"])
            needs.append(None if product is None else maintenance_of(moved, product.tiers))
        if None in needs:
            found.append([change(shock, 0), money(equity), UNKNOWN, UNKNOWN, ""])
            continue
        needed = sum((need for need in needs if need is not None), _ZERO)
        share = percent(needed / equity, 1) if equity > 0 else MISSING
        gone = "✖ liquidated" if equity <= needed else ""
        found.append([change(shock, 0), money(equity), money(needed), share, gone])
    return found


def _table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> dict[str, Any]:
    return {"title": title, "columns": list(columns), "rows": [list(row) for row in rows]}
