"""The dashboard is one widget: it shows what its panels show, and gives them what the page sends."""

from __future__ import annotations

from typing import Any

import anywidget
import pytest

import toolkit
from tests.widgets.page import press, send
from toolkit.session import Session
from toolkit.widgets.base_panel.panel import REFRESHER, Panel
from toolkit.widgets.panels.dashboard import Dashboard

BTC, ETH = "BTCUSDC", "ETHUSDC"
PARTS = ["header", "candles", "order_book", "ticket", "blotter", "account", "trades"]


def shown(dashboard: Any, name: str) -> dict[str, Any]:
    """The traits of a panel as the dashboard has them."""
    part = getattr(dashboard, name)
    named = {full.partition("__")[2]: full for full in dashboard.keys if full.startswith(f"{name}__")}
    assert {"view", "lock", "problem", "beat", "picture"} <= set(named)
    assert not {"comm", "layout", "_esm", "_css"} & set(named)
    return {trait: (getattr(dashboard, full), getattr(part, trait)) for trait, full in named.items()}


def agrees(dashboard: Any) -> bool:
    for panel in dashboard.panels:
        REFRESHER.remove(panel)  # so that no other thread changes one of the two
    dashboard.refresh()
    return all(one == other for name in PARTS for one, other in shown(dashboard, name).values())


class Refreshed(Dashboard):
    """A dashboard whose panel another thread changes after the values that it starts with were read."""

    def add_traits(self, **traits: Any) -> None:
        self.trades.problem = "meanwhile"
        super().add_traits(**traits)


def test_what_changes_while_the_dashboard_is_made_or_switched_is_shown(session: Session) -> None:
    dashboard: Any = Refreshed(session, BTC)
    assert dashboard.trades__problem == "meanwhile"
    dashboard.observe(lambda _: dashboard.blotter.set_trait("problem", "news"), "ticket__view")
    dashboard.switch(ETH)
    assert dashboard.blotter__problem == "news"
    assert agrees(dashboard)


def test_the_dashboard_has_the_traits_of_its_panels_also_after_another_product(session: Session) -> None:
    dashboard: Any = session.dashboard(BTC)
    assert dashboard.parts == PARTS
    assert [type(one).__name__ for one in dashboard.panels] == [
        "Header", "Candles", "OrderBook", "OrderTicket", "Blotter", "Account", "Trades",
    ]  # fmt: skip
    assert repr(dashboard) == "<Dashboard BTCUSDC: Header, Candles, OrderBook, OrderTicket, Blotter, Account, Trades>"
    assert agrees(dashboard)
    assert [panel.comm for panel in dashboard.panels] == [None] * 7, "the dashboard sends for them"
    of_account, of_product = [dashboard.blotter, dashboard.account], [dashboard.ticket, dashboard.order_book]
    press(dashboard.candles, "hello")
    dashboard.candles.interval = "5m"
    made = dashboard.made
    dashboard.switch(ETH)
    assert (dashboard.symbol, dashboard.made, dashboard.candles.interval) == (ETH, made + 1, "5m")
    assert (dashboard.candles._views, dashboard.trades._views) == (1, 0)
    assert [panel.lock == "closed" for panel in (*of_account, *of_product)] == [False, False, True, True]
    assert dashboard.ticket__view["symbol"] == dashboard.order_book__view["symbol"] == ETH
    dashboard.ticket.price = "3000"
    session.buy(ETH, "1", price="2000")
    dashboard.refresh()
    assert dashboard.ticket__price == "3000"
    assert [one["symbol"] for one in dashboard.blotter__view["orders"]] == [ETH]
    assert agrees(dashboard)
    of_product[0].set_trait("problem", "of a panel that is gone")
    assert dashboard.ticket__problem == ""


def test_what_the_page_sends_reaches_the_panel_that_it_names(session: Session) -> None:
    dashboard: Any = session.dashboard(BTC)
    dashboard.set_state({"ticket__price": "59000", "blotter__tab": "orders", "nothing__price": "1", "price": "2"})
    assert (dashboard.ticket.price, dashboard.blotter.tab) == ("59000", "orders")
    dashboard.set_state({"blotter__tab": "nonsense"})
    assert dashboard.blotter.tab == "orders"
    assert "nonsense" in dashboard.blotter__problem
    session.buy(BTC, "0.01", price="50000")
    dashboard.refresh()
    order = dashboard.blotter.view["orders"][0]["id"]
    cancel = {"do": "cancel", "order_id": order, "confirmed": True}

    for content in (cancel, {"part": "nothing", "content": cancel}, "cancel", {"part": "ticket", "content": cancel}):
        send(dashboard, content)
    assert len(session.orders(open=True)) == 1
    send(dashboard, {"part": "blotter", "content": cancel})
    assert session.orders(open=True).empty


def test_a_stopped_dashboard_keeps_its_views_and_a_closed_one_leaves_the_page(session: Session) -> None:
    dashboard: Any = session.dashboard(BTC)
    dashboard.stop()
    assert {panel.lock for panel in dashboard.panels} == {"closed"}
    assert not REFRESHER.running
    assert dashboard.comm is not None
    assert dashboard.order_book__view["bids"]
    dashboard.close()
    assert dashboard.comm is None
    assert not Panel.open_panels


@pytest.mark.parametrize("make", [lambda one: one.dashboard(BTC), lambda one: toolkit.widgets.Trades(one, BTC)])
def test_where_no_widget_can_be_displayed_there_is_the_snapshot(
    session: Session, monkeypatch: pytest.MonkeyPatch, make: Any
) -> None:
    widget = make(session)
    monkeypatch.setattr(anywidget.AnyWidget, "_repr_mimebundle_", lambda *_, **__: None)
    data, metadata = widget._repr_mimebundle_()
    assert (sorted(data), metadata) == (["text/html", "text/plain"], {})
    assert data["text/plain"] == repr(widget)
    assert "BTCUSDC trades" in data["text/html"]
