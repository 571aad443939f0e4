"""The dashboard: ticket, order book, trades, candles, account and blotter of one product in one layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets

from ...guards import no_keys
from ..base_panel.panel import Panel
from ..order_ticket.ticket import OrderTicket
from .account_sheets import Account
from .blotter import Blotter
from .book_and_trades import OrderBook, Trades
from .candle_chart import Candles

if TYPE_CHECKING:
    from ...session import Session

LEVELS = 9


class Dashboard(ipywidgets.VBox):  # type: ignore[misc]
    """All panels of one product: `ticket`, `order_book`, `trades`, `candles`, `account`, `blotter`.

    A click on a price of the book puts it into the ticket. `close()` closes all panels. Wide pages show three columns,
    narrow ones stack them.
    """

    @no_keys
    def __init__(self, session: Session, symbol: str | int, interval: str | int = "1m") -> None:
        self.symbol = session.product(symbol).symbol
        self.ticket = OrderTicket(session, self.symbol)
        self.candles = Candles(session, self.symbol, interval)
        self.order_book = OrderBook(session, self.symbol, LEVELS, on_pick=self._pick_price)
        self.trades = Trades(session, self.symbol)
        self.account = Account(session)
        self.blotter = Blotter(session)
        left = _column([self.ticket], "1 1 300px")
        middle = _column([self.candles, self.trades], "3 1 360px")
        right = _column([self.order_book, self.account], "1 1 270px")
        row = ipywidgets.Layout(display="flex", flex_flow="row wrap", align_items="flex-start", width="100%")
        columns = ipywidgets.HBox([left, middle, right], layout=row)
        self._boxes = (columns, left, middle, right)
        super().__init__([columns, self.blotter])
        self.add_class("tk-dashboard")

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All panels; of a dashboard whose making failed half-way, those that were made."""
        names = ("ticket", "candles", "trades", "order_book", "account", "blotter")
        return tuple(vars(self)[name] for name in names if name in vars(self))

    def refresh(self) -> None:
        """Update all panels now."""
        for panel in self.panels:
            panel.refresh()

    def _pick_price(self, price: str) -> None:
        self.ticket.price = price

    def stop(self) -> None:
        """Stop all panels; what they show stays, marked as closed."""
        for panel in self.panels:
            panel.stop()

    def close(self) -> None:
        """Close all panels and their live objects."""
        for widget in (*self.panels, *vars(self).get("_boxes", ())):
            widget.close()
        super().close()

    def __repr__(self) -> str:
        return f"<Dashboard {self.symbol}: {', '.join(type(panel).__name__ for panel in self.panels)}>"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle = super()._repr_mimebundle_(**options)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        html = "".join(panel._repr_mimebundle_()[0]["text/html"] for panel in self.panels)
        return {**data, "text/plain": repr(self), "text/html": f"<div>{html}</div>"}, metadata


def _column(panels: list[Panel], flex: str) -> ipywidgets.VBox:
    return ipywidgets.VBox(panels, layout=ipywidgets.Layout(flex=flex, min_width="0"))
