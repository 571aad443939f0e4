"""Widgets of a market: order book and trades."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Any

import traitlets

from ..base_panel import static_view
from ..base_panel.number_format import grouped, in_units, money, percent, side_text, trimmed
from ..base_panel.panel import Panel, module

if TYPE_CHECKING:
    import pandas as pd

    from ...plain_session import Session
    from ...products import Product

SHOWN_TRADES = 40
DEEP = 200
"""Levels a side that a grouped book follows."""
GROUPS = (1, 10, 100, 1000)
"""Ticks of a row that can be chosen."""


class _MarketPanel(Panel):
    """A panel of one product that shows one live object."""

    live: Any

    def __init__(self, session: Session, symbol: str | int) -> None:
        self._product = session.product(symbol)
        super().__init__(session, self._product.symbol)

    def frame(self) -> pd.DataFrame:
        """Return the data as a DataFrame, as that of the live object does."""
        frame: pd.DataFrame = self.live.frame()
        return frame


class OrderBook(_MarketPanel):
    """The live order book of a product: bids, asks, depth bars, mid and spread.

    A click on a price calls `on_pick`.

    Parameters
    ----------
    session : Session
        Any session.
    symbol : str or int
        Product symbol, such as "BTCUSDC", or its code.
    depth : int, optional
        Levels per side (default: 12).
    on_pick : callable, optional
        Called with the text of a price that is clicked (default: nothing).

    Raises
    ------
    UnknownProduct
        For a product that the venue does not have.
    """

    _esm = module("base_panel/common.js", "panels/book.js")

    group = traitlets.Int(1, min=1).tag(sync=True)
    """Ticks that one row combines. 1 shows every level."""

    def __init__(
        self,
        session: Session,
        symbol: str | int,
        depth: int = 12,
        *,
        on_pick: Callable[[str], object] | None = None,
    ) -> None:
        super().__init__(session, symbol)
        self._depth = depth
        self._on_pick = on_pick
        self.live = session.stream.order_book(self._product.symbol, depth)
        self.prices = session.stream.ticker(self._product.symbol)
        self._follow(self.live, self.prices)
        self.observe(self._on_group, "group")
        self.refresh()

    def _on_group(self, _: object) -> None:
        """Follow as many levels as the rows need."""
        with self._guard:
            self._unfollow(self.live)
            self.live = self._session.stream.order_book(self._product.symbol, self._depth if self.group == 1 else DEEP)
            self._follow(self.live)
        self.refresh()

    def _grouped(self, levels: list[tuple[Decimal, Decimal]], rounding: str) -> list[tuple[Decimal, Decimal]]:
        """Return the best rows of a side: bids rounded down, asks up, so that no row is better than its levels."""
        width, rows = self._product.tick_size * self.group, dict[Decimal, Decimal]()
        for price, quantity in levels:
            at = (price / width).to_integral_value(rounding) * width
            rows[at] = rows.get(at, Decimal(0)) + quantity
        return list(rows.items())[: self._depth]

    def _commands(self) -> dict[str, Any]:
        return {"pick": self._clicked_price}

    def _clicked_price(self, price: str) -> None:
        if self._on_pick is not None:
            self._on_pick(price)

    def _make_view(self) -> dict[str, Any]:
        bids = self._grouped(self.live.bids(), ROUND_FLOOR)
        asks = self._grouped(self.live.asks(), ROUND_CEILING)
        deepest = max(sum((q for _, q in side), Decimal(0)) for side in (bids, asks))
        mid, spread = self.live.mid, self.live.spread
        return {
            "symbol": self._product.symbol,
            "depth": self._depth,
            "pick": self._on_pick is not None,
            "groups": [[one, f"{self._product.tick_size * one:f}"] for one in GROUPS],
            "bids": _ladder(self._product, bids, deepest),
            "asks": _ladder(self._product, asks, deepest),
            "mid": grouped(mid),
            "spread": trimmed(spread),
            "spreadPct": percent(spread / mid, 3) if spread is not None and mid else "",
            "mark": grouped(self.prices.value.get("mark_price")),
        }

    def _lines(self) -> Iterable[str]:
        return (f"{self._product.symbol}: bid {self.live.best_bid}, ask {self.live.best_ask}",)

    def _snapshot(self) -> str:
        view = self.view
        rows = [("▼ ask", *one[:2]) for one in view["asks"][:5][::-1]]
        rows += [("▲ bid", *one[:2]) for one in view["bids"][:5]]
        head = static_view.heading(view["symbol"], f"mid {view['mid']}, spread {view['spread']}")
        return head + static_view.table(("side", "price", "quantity"), rows, "no orders")


def _ladder(product: Product, levels: list[tuple[Decimal, Decimal]], deepest: Decimal) -> list[list[Any]]:
    """Return [price, quantity, cumulative quantity, its ratio to the deeper side, price as input] for each level."""
    total, rows = Decimal(0), []
    for price, quantity in levels:
        total += quantity
        shown = (in_units(price, product.tick_size), *(in_units(one, product.step_size) for one in (quantity, total)))
        rows.append([*shown, round(float(total / deepest), 4), format(price, "f")])
    return rows


class Trades(_MarketPanel):
    """The live public trades of a product, newest first.

    Parameters
    ----------
    session : Session
        Any session.
    symbol : str or int
        Product symbol, such as "BTCUSDC", or its code.

    Raises
    ------
    UnknownProduct
        For a product that the venue does not have.
    """

    _esm = module("base_panel/common.js", "panels/trades.js")

    def __init__(self, session: Session, symbol: str | int) -> None:
        super().__init__(session, symbol)
        self.live = session.stream.trades(self._product.symbol)
        self._follow(self.live)
        self.refresh()

    def _make_view(self) -> dict[str, Any]:
        product, rows = self._product, []
        for one in reversed(self.live.rows(SHOWN_TRADES)):
            price, quantity = in_units(one["price"], product.tick_size), in_units(one["quantity"], product.step_size)
            rows.append([f"{one['time']:%H:%M:%S}", side_text(one["side"]), price, quantity])
        return {"symbol": product.symbol, "rows": rows}

    def _lines(self) -> Iterable[str]:
        last = self.live.last
        text = "no trades yet" if last is None else f"last {last['side']} {last['quantity']} at {last['price']}"
        return (f"{self._product.symbol}: {text}",)

    def _snapshot(self) -> str:
        table = static_view.table(("time (UTC)", "taker", "price", "quantity"), self.view["rows"][:10], "no trades yet")
        return static_view.heading(f"{self.view['symbol']} trades") + table


class Depth(_MarketPanel):
    """The depth of a product's book as a chart: cumulative quantity by distance from the middle.

    Both sides have the same scale. `frame()` returns the book.

    Parameters
    ----------
    session : Session
        Any session.
    symbol : str or int
        Product symbol, such as "BTCUSDC", or its code.
    levels : int, optional
        Most levels per side (default: 200).

    Raises
    ------
    UnknownProduct
        For a product that the venue does not have.
    """

    _esm = module("base_panel/common.js", "panels/depth.js")

    def __init__(self, session: Session, symbol: str | int, levels: int = 200) -> None:
        super().__init__(session, symbol)
        self._levels = levels
        self.live = session.stream.order_book(self._product.symbol, levels)
        self._follow(self.live)
        self.refresh()

    def _make_view(self) -> dict[str, Any]:
        product, mid = self._product, self.live.mid
        if mid is None:
            return {"symbol": product.symbol, "words": "", "mid": ""}
        sides = {"bids": self.live.bids(self._levels), "asks": self.live.asks(self._levels)}
        reach = max(abs(levels[-1][0] - mid) for levels in sides.values()) or product.tick_size
        totals = {name: sum((quantity for _, quantity in levels), Decimal(0)) for name, levels in sides.items()}
        tick, step, base = product.tick_size, product.step_size, product.base
        words = [
            f"{in_units(totals[name], step)} {base} ({money(sum(p * q for p, q in sides[name]), 0)} USDC) {reaches} to "
            f"{in_units(sides[name][-1][0], tick)}"
            for name, reaches in (("bids", "bid down"), ("asks", "asked up"))
        ]
        return {
            "symbol": product.symbol,
            "mid": in_units(mid, tick),
            "most": float(max(totals.values())),
            **{name: _steps_from(levels, mid, reach) for name, levels in sides.items()},
            "scale": [f"{in_units(max(totals.values()) * part, step)} {base}" for part in (1, Decimal("0.5"))],
            "edges": [in_units(price, tick) for price in (mid - reach, mid, mid + reach)],
            "words": ", ".join(words),
        }

    def _lines(self) -> Iterable[str]:
        return (f"{self._product.symbol}: {self.view.get('words') or 'no depth yet'}",)

    def _snapshot(self) -> str:
        return static_view.heading(f"{self._product.symbol} depth", str(self.view.get("words", "")))


def _steps_from(levels: list[tuple[Decimal, Decimal]], mid: Decimal, reach: Decimal) -> list[list[float]]:
    """Return [place from 0 to 1, cumulative quantity] for each level. 0.5 is the middle."""
    total, points = Decimal(0), []
    for price, quantity in levels:
        total += quantity
        points.append([round(float((price - mid) / reach / 2) + 0.5, 4), float(total)])
    return points
