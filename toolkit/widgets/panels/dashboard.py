"""The dashboard: chart, order book, ticket, blotter, account and trades of one product on one screen, as one widget."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from ...guards import no_keys
from ...numerals import Span
from ..base_panel.panel import Panel, module, parts
from ..order_ticket.ticket import OrderTicket
from .account_sheets import Account
from .blotter import Blotter
from .book_and_trades import OrderBook, Trades
from .candle_chart import Candles
from .header import Header

if TYPE_CHECKING:
    from ...plain_session import Session

LEVELS = 8
_FILES = {
    "header": "panels/header.js",
    "candles": "panels/candles.js",
    "order_book": "panels/book.js",
    "ticket": "order_ticket/ticket.js",
    "blotter": "panels/blotter.js",
    "account": "panels/sheet.js",
    "trades": "panels/trades.js",
}
_SHARED = (
    *("vendored/lightweight-charts.standalone.production.js", "base_panel/common.js", "base_panel/review.js"),
    *("base_panel/table.js", "order_ticket/fields.js", "panels/chart_colors.js"),
)


def _wrapped(name: str, file: str) -> str:
    """Return a panel's front end as a function with a separate scope."""
    return f"const {name} = (() => {{\n{module(file).replace('export default { render };', 'return render;')}}})();\n"


class Dashboard(anywidget.AnyWidget):
    """All panels of a product in one widget.

    They are `header`, `ticket`, `order_book`, `trades`, `candles`, `account` and `blotter`. A click on a price of the
    book puts it into the ticket. `switch(symbol)`, and the header's list, show another product. `close()` closes all
    panels. A wide page shows chart, book, ticket and blotter side by side, a narrow one stacks them.

    It is one widget, because some notebooks (marimo) show no containers of widgets. It has the traits of its panels,
    with names such as `ticket__price`.

    Parameters
    ----------
    session : Session
        Session with an account.
    symbol : str or int
        Product symbol, such as "BTCUSDC", or its code.
    interval : str or int or timedelta, optional
        Length of the candles, such as "15m", or a timedelta (default: "1m").

    Raises
    ------
    UnknownProduct
        For a product that the venue does not have.
    """

    _css = module("base_panel/panel.css")
    _esm = "".join(
        [
            module(*_SHARED),
            "\n",
            *(_wrapped(name, file) for name, file in _FILES.items()),
            module("panels/dashboard.js"),
        ]
    )

    parts = traitlets.List(list(_FILES)).tag(sync=True)
    """The panels, in their order on the page."""
    made = traitlets.Int(0).tag(sync=True)
    """How often the panels were made. The page draws them again after each change."""

    @no_keys
    def __init__(self, session: Session, symbol: str | int, interval: Span = "1m") -> None:
        self._session = session
        with parts():
            self.account, self.blotter = Account(session), Blotter(session)
        self._open(symbol, interval)
        values = self._mirrored()
        self.add_traits(**{full: traitlets.Any().tag(sync=True) for full in values})
        super().__init__(**values)
        self._follow(self.panels)
        self.on_msg(self._on_message)

    def _open(self, symbol: str | int, interval: Span) -> None:
        session = self._session
        self.symbol = session.product(symbol).symbol
        with parts():
            self.ticket = OrderTicket(session, self.symbol)
            self.candles = Candles(session, self.symbol, interval)
            self.order_book = OrderBook(session, self.symbol, LEVELS, on_pick=self._pick_price)
            self.trades = Trades(session, self.symbol)
            self.header = Header(session, self.symbol, on_symbol=self.switch)

    def _mirrored(self) -> dict[str, Any]:
        """Return the traits of the panels by their names here."""
        common = {*anywidget.AnyWidget.class_trait_names(), "_esm", "_css"}
        parts = {name: getattr(self, name) for name in _FILES}
        return {f"{name}__{one}": getattr(part, one) for name, part in parts.items() for one in set(part.keys) - common}

    def _follow(self, panels: Iterable[Panel]) -> None:
        """Show what these panels show, and have them send nothing themselves."""
        for full in self._mirrored():
            name, _, trait = full.partition("__")
            if (panel := getattr(self, name)) in panels:
                panel.observe(lambda _, full=full: self._copy(full), trait)
                self._copy(full)  # the refresher's thread may have changed it before it was observed
        for panel in panels:
            panel.detach()

    def _copy(self, full: str) -> None:
        """Show a trait as its panel has it now, not as a thread that came late has seen it."""
        name, _, trait = full.partition("__")
        panel = getattr(self, name)
        with panel._guard:
            self.set_trait(full, getattr(panel, trait))

    def switch(self, symbol: str | int) -> None:
        """Show another product in the panels of one product.

        Parameters
        ----------
        symbol : str or int
            Product symbol, such as "BTCUSDC", or its code.

        Raises
        ------
        UnknownProduct
            For a product that the venue does not have.
        """
        of_account = (self.account, self.blotter)
        old, before = [panel for panel in self.panels if panel not in of_account], self.panels
        self._open(symbol, self.candles.interval)
        for panel, earlier in zip(self.panels, before, strict=True):
            panel._views = earlier._views  # the page takes its leave of them, and greets them again
        with self.hold_sync():
            self._follow([panel for panel in self.panels if panel not in of_account])
            self.made += 1
        for panel in old:
            panel.unobserve_all()
            panel.close()

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All panels. If making the dashboard failed half-way, the panels that were made."""
        return tuple(vars(self)[name] for name in _FILES if name in vars(self))

    def refresh(self) -> None:
        """Update all panels now."""
        for panel in self.panels:
            panel.refresh()

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Give the traits that the front end has set to their panels, which check them.

        Parameters
        ----------
        sync_data : dict of str to object
            Values by names such as "ticket__price".
        """
        given: dict[str, dict[str, Any]] = defaultdict(dict)
        for full, value in sync_data.items():
            name, _, trait = full.partition("__")
            if name in _FILES:
                given[name][trait] = value
        # What the front end sent is not sent back to it: it would overwrite what is being typed.
        with self._lock_property(**sync_data):
            for name, traits in given.items():
                getattr(self, name).set_state(traits)

    def _on_message(self, _: object, content: object, buffers: object) -> None:
        if isinstance(content, dict) and content.get("part") in _FILES:
            getattr(self, content["part"])._on_message(self, content.get("content"), buffers)

    def _pick_price(self, price: str) -> None:
        self.ticket.price = price

    def stop(self) -> None:
        """Stop all panels.

        The last view stays, marked as closed.
        """
        for panel in self.panels:
            panel.stop()

    def close(self) -> None:
        """Close all panels and their live objects."""
        for panel in self.panels:
            panel.close()
        super().close()

    def snapshot(self) -> str:
        """Return what its panels show now as HTML, with their time.

        Returns
        -------
        str
            HTML, all values escaped.
        """
        return f"<div>{''.join(panel.snapshot() for panel in self.panels)}</div>"

    def __repr__(self) -> str:
        return f"<Dashboard {self.symbol}: {', '.join(type(panel).__name__ for panel in self.panels)}>"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle = super()._repr_mimebundle_(**options)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, "text/plain": repr(self), "text/html": self.snapshot()}, metadata
