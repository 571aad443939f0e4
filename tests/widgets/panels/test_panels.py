"""All panels: they follow the feed, lock on stale data, stop when closed, and hold no secret."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ipywidgets
import pytest

import toolkit
from tests.widgets.page import press
from toolkit.client.orders.delivery import Delivery
from toolkit.errors import InputError, WalletError
from toolkit.session import Session
from toolkit.venue import development
from toolkit.venue.local import LocalVenue
from toolkit.widgets import OrderTicket
from toolkit.widgets.base_panel.panel import REFRESHER, Panel
from toolkit.widgets.panels.blotter import fill_row

MAKERS: dict[str, Callable[[Session], Any]] = {
    "ticket": lambda s: s.ticket("BTCUSDC", price="60000", quantity="0.01"),
    "order_book": lambda s: toolkit.widgets.OrderBook(s, "BTCUSDC"),
    "trades": lambda s: toolkit.widgets.Trades(s, "BTCUSDC"),
    "candles": lambda s: toolkit.widgets.Candles(s, "BTCUSDC", "1m"),
    "blotter": lambda s: toolkit.widgets.Blotter(s),
    "account": lambda s: toolkit.widgets.Account(s),
    "permissions": lambda s: toolkit.widgets.Permissions(s),
    "runs": lambda s: s.runs(),
    "depth": lambda s: toolkit.widgets.Depth(s, "BTCUSDC"),
    "funding": lambda s: toolkit.widgets.Funding(s, "BTCUSDC"),
    "liquidation_map": lambda s: toolkit.widgets.LiquidationMap(s),
}


@pytest.fixture
def panels(session: Session, venue: LocalVenue) -> list[Any]:
    """Each panel, on a venue where something has happened."""
    venue.advance("10m")
    session.buy("BTCUSDC", "0.05")
    session.buy("BTCUSDC", "0.01", price="50000")
    return [make(session) for make in MAKERS.values()]


def test_a_panel_has_data_at_once_and_is_not_locked_and_prints_nothing(
    capsys: pytest.CaptureFixture[str], panels: list[Panel]
) -> None:
    assert capsys.readouterr() == ("", ""), "neither words nor a bar"
    for panel in panels:
        assert json.dumps(panel.view) != "{}", panel
        assert (panel.lock, panel.problem) == ("", ""), panel


def test_the_refreshers_thread_meets_no_panel_that_is_still_being_made(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems = []

    def add(panel: Panel) -> None:
        panel.refresh()
        problems.append(panel.problem)

    monkeypatch.setattr(REFRESHER, "add", add)
    for make in MAKERS.values():
        make(session).close()
    assert problems == [""] * len(MAKERS)


def test_the_blotter_cancels_after_confirmation(session: Session, signed: list[bytes]) -> None:
    session.buy("BTCUSDC", "0.01", price="50000")
    widget = toolkit.widgets.Blotter(session)
    order = widget.view["orders"][0]["id"]
    signed.clear()
    press(widget, "cancel", order_id=order)
    assert signed == []
    press(widget, "cancel", order_id=order, confirmed=True)
    assert len(signed) == 1
    assert widget.view["orders"] == []
    assert session.orders(open=True).empty
    assert widget.notice == f"cancelled order {order}"


def test_the_blotter_closes_the_position_that_was_shown(session: Session, signed: list[bytes]) -> None:
    session.sell("ETHUSDC", "1.5")
    widget = toolkit.widgets.Blotter(session)
    shown = widget.view["positions"][0]
    assert (shown["symbol"], shown["side"], shown["size"]) == ("ETHUSDC", "▼ short", "−1.5")
    signed.clear()
    press(widget, "close", symbol="ETHUSDC", size="−1.5")
    press(widget, "close", symbol="ETHUSDC", size="−2.5", confirmed=True)
    assert signed == []
    assert "is −1.5 now, not −2.5" in widget.problem
    press(widget, "close", symbol="ETHUSDC", size="−1.5", confirmed=True)
    assert widget.view["positions"] == []
    assert session.positions().empty


def test_a_fill_before_the_panel_has_the_kind_of_its_order_or_a_dash(session: Session) -> None:
    """The feed as published leaves it out of earlier fills, and the order's history has it while it is kept."""
    session.buy("BTCUSDC", "0.01")
    widget = toolkit.widgets.Blotter(session)
    session.sell("BTCUSDC", "0.02", price="50000")
    widget.refresh()
    assert [one["kind"] for one in widget.view["fills"]] == ["limit", "market"]
    assert fill_row(0, {**widget.fills.rows()[0], "type": None})["kind"] == "–"


def test_the_blotter_cancels_all_that_is_shown(session: Session) -> None:
    session.buy("BTCUSDC", "0.01", price="50000")
    session.buy("ETHUSDC", "1", price="2000")
    widget = toolkit.widgets.Blotter(session, "BTCUSDC")
    press(widget, "cancelAll", confirmed=True)
    assert session.orders(open=True)["symbol"].tolist() == ["ETHUSDC"]
    toolkit.widgets.Blotter(session).cancel_all()
    assert session.orders(open=True).empty


def test_closing_without_a_position_says_so(session: Session) -> None:
    with pytest.raises(InputError, match="no position in BTCUSDC"):
        toolkit.widgets.Blotter(session).close_position("BTCUSDC")


def test_both_halves_of_a_hedge_are_shown_and_closed(session: Session, venue: LocalVenue) -> None:
    venue.control.set_position_mode(address=session.account, mode="HEDGE")
    session.buy("BTCUSDC", "0.05")
    session.sell("BTCUSDC", "0.02")
    widget = toolkit.widgets.Blotter(session)
    assert widget.view["positions"][0]["size"] == "0.05 / −0.02"
    assert len(widget.close_position("BTCUSDC")) == 2
    assert session.positions().empty


def test_permissions_are_shown_and_revoked_after_a_second_press(session: Session) -> None:
    widget = toolkit.widgets.Permissions(session)
    row = widget.view["rows"][0]
    assert row["own"]
    press(widget, "revoke", who=row["full"])
    assert len(session.permissions()) == 1
    press(widget, "revoke", who=row["full"], confirmed=True)
    assert session.permissions().empty
    assert widget.view["rows"] == []
    assert widget.notice.startswith("revoked agent")
    [intent] = session._delivery.ledger.all(newest=1)
    agent = {"agentAddress": "0x" + "0" * 40, "agentName": row["name"], "validitySeconds": 0}
    assert intent.payload == intent.payload | {"type": "approveAgent", **agent}
    with pytest.raises(InputError, match="may not act"):
        widget.revoke("nobody")


def test_a_confirmed_press_is_not_asked_about_again(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    orders = [session.buy("BTCUSDC", "0.01", price=price) for price in ("50000", "51000")]
    blotter, permissions = toolkit.widgets.Blotter(session), toolkit.widgets.Permissions(session)
    asked: list[Any] = []
    monkeypatch.setattr(Delivery, "require_confirmation", lambda _, payload: asked.append(payload))
    press(blotter, "cancel", order_id=orders[0].order_id, confirmed=True)
    blotter.amend(orders[1].order_id, price="50500")
    blotter.confirm()
    press(permissions, "revoke", who=permissions.view["rows"][0]["full"], confirmed=True)
    assert [str(one) for one in session.orders(open=True)["price"]] == ["50500.0"]
    assert session.permissions().empty
    assert asked == []


@pytest.mark.parametrize(("act", "status", "done"), [("resume", "running", 2), ("cancel", "canceled", 1)])
def test_an_interrupted_twap_is_resumed_or_cancelled_and_shown_immediately(
    venue: LocalVenue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str, status: str, done: int
) -> None:
    with toolkit.connect(venue=venue, intents=tmp_path / "orders.db") as first:
        parent = first.twap("BTCUSDC", "BUY", "0.1", "9m", slices=10).id
    with toolkit.connect(venue=venue, intents=tmp_path / "orders.db") as later:
        widget = toolkit.widgets.Blotter(later)
        REFRESHER.remove(widget)
        asked: list[Any] = []
        monkeypatch.setattr(Delivery, "require_confirmation", lambda _, payload: asked.append(payload))
        assert [(one["status"], one["orders"]) for one in widget.view["parents"]] == [("interrupted", "1 / 10")]
        press(widget, "parent", parent=parent, act=act, confirmed=True)
        assert (widget.problem, asked) == ("", []), "the press was the confirmation"
        assert widget.notice.endswith(f": {status}")
        assert [(one["status"], one["orders"]) for one in widget.view["parents"]] == [(status, f"{done} / 10")]


def test_an_address_with_two_names_loses_both(session: Session) -> None:
    other = development.account(16).address
    for name in ("one", "two"):
        session.exchange.approve_agent(other, name)
    widget = toolkit.widgets.Permissions(session)
    with pytest.raises(InputError, match="may not act"):
        widget.revoke("")
    press(widget, "revoke", who=other, confirmed=True)
    assert session.permissions()["name"].str.startswith("toolkit-").tolist() == [True]


def test_a_builder_is_shown_with_its_cap_and_revoked(session: Session, venue: LocalVenue) -> None:
    with toolkit.connect(venue=venue, account=1) as builder:
        builder.exchange.register_builder("a builder")
        agent = development.account(15).address
        session.permissions.allow_builder(str(builder.account), agent, "0.0005")
    widget = toolkit.widgets.Permissions(session)
    row = next(one for one in widget.view["rows"] if one["kind"] == "builder")
    assert row["cap"] == "0.05 %"
    widget.revoke(row["full"])
    assert [one["kind"] for one in widget.view["rows"]] == ["agent"]


def test_the_dashboard_holds_all_parts_and_a_price_of_the_book_goes_into_the_ticket(session: Session) -> None:
    dashboard = session.dashboard("BTCUSDC")
    price = dashboard.order_book.view["bids"][0][4]
    press(dashboard.order_book, "pick", price=price)
    assert dashboard.ticket.price == price
    dashboard.refresh()
    data, _ = dashboard._repr_mimebundle_()
    assert data["text/html"].count("snapshot") == 7
    assert "application/vnd.jupyter.widget-view+json" in data
    dashboard.close()
    assert not Panel.open_panels


def test_another_product_is_shown_where_no_widget_can_be_opened_in_a_message(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """marimo gives each new widget a connection, and has no place for a front end outside of a cell."""
    dashboard = session.dashboard("BTCUSDC")

    def opened(widget: Any) -> None:
        assert "_esm" not in widget.get_state()

    monkeypatch.setattr(ipywidgets.Widget, "_widget_construction_callback", opened)
    press(dashboard.header, "symbol", symbol="ETHUSDC")
    assert dashboard.header.problem == ""
    assert (dashboard.symbol, dashboard.ticket.symbol) == ("ETHUSDC", "ETHUSDC")
    monkeypatch.undo()
    assert "_esm" in dashboard.ticket.get_state()
    assert dashboard.ticket.model_id  # it can still be shown on its own


def test_closing_ends_everything(panels: list[Panel]) -> None:
    for panel in panels:
        lives = list(panel._lives)
        panel.close()
        panel.close()
        assert [live.state for live in lives] == ["closed"] * len(lives)
        assert panel not in Panel.open_panels
        panel.refresh()
        assert repr(panel)
    assert not REFRESHER.running


def test_a_closed_session_stops_its_panels_and_leaves_them_on_the_page(session: Session) -> None:
    widget, dashboard = toolkit.widgets.OrderBook(session, "BTCUSDC"), session.dashboard("BTCUSDC")
    session.close()
    assert widget.lock == "closed"
    assert dashboard.ticket.lock == "closed"
    assert widget.view["bids"]
    assert widget.comm is not None
    assert not REFRESHER.running


def test_a_widget_may_be_displayed_twice(panels: list[Panel]) -> None:
    view = "application/vnd.jupyter.widget-view+json"
    for panel in panels:
        first, second = panel._repr_mimebundle_()[0], panel._repr_mimebundle_()[0]
        assert first[view]["model_id"] == second[view]["model_id"]
        assert first == second


def test_the_snapshot_is_plain_escaped_and_stable(panels: list[Panel]) -> None:
    for panel in panels:
        data, _ = panel._repr_mimebundle_()
        assert "<script" not in data["text/html"]
        assert "snapshot. Run the cell" in data["text/html"]
        assert " at 0x" not in data["text/plain"]
        assert data["text/plain"] == repr(panel)
        assert str(panel)


def test_no_secret_is_in_any_state(panels: list[Panel]) -> None:
    ticket = panels[0]
    assert isinstance(ticket, OrderTicket)
    ticket.submit()
    ticket.confirm()
    everything = json.dumps(
        [widget.get_state() for widget in dict(ipywidgets.widgets.widget._instances).values()], default=str
    )
    everything += json.dumps([[panel._repr_mimebundle_(), panel.view] for panel in panels], default=str)
    secrets = [development.account(number).key for number in range(20)]
    assert not [
        secret for secret in secrets if secret.hex() in everything.lower() or str(int.from_bytes(secret)) in everything
    ]
    assert "test test test" not in everything


@pytest.mark.parametrize("name", ["order_book", "trades", "candles", "depth", "funding"])
def test_a_session_that_knows_no_account_has_the_panels_of_the_market(
    session: Session, venue: LocalVenue, name: str
) -> None:
    session.buy("BTCUSDC", "0.05")
    with toolkit.connect(venue=venue, wallet=toolkit.Wallet(agent="0x" + "11" * 32)) as alone:
        assert alone.account is None
        panel = MAKERS[name](alone)
        assert (panel.loaded, panel.problem) == (True, "")
        for part in ("lines", "fills"):
            assert panel.view.get(part, []) == []
        if name == "funding":
            assert panel.view["rows"][3:] == [
                ["Position", "–", ""],
                ["Next payment (est.)", "none", "negative is paid"],
            ]
            assert panel.view["tables"][1]["rows"] == []


@pytest.mark.parametrize("wallet", [toolkit.Wallet(), None])
def test_a_session_without_a_key_may_look_at_its_account_only(
    session: Session, venue: LocalVenue, wallet: toolkit.Wallet | None
) -> None:
    session.buy("BTCUSDC", "0.05")
    with toolkit.connect(venue=venue, wallet=toolkit.Wallet(), account=session.account) as reader:
        reader.wallet = wallet  # in other environments there is none by default
        for panel in (toolkit.widgets.Blotter(reader), toolkit.widgets.Candles(reader, "BTCUSDC")):
            assert panel.view["readOnly"]
            assert panel.beat["agent"] == "no agent"
            with pytest.raises(WalletError, match="read-only"):
                panel.set_exit("BTCUSDC", "stop_loss", "50000")
            panel.close()
        permissions = toolkit.widgets.Permissions(reader)
        assert (permissions.view["master"], [row["own"] for row in permissions.view["rows"]]) == (False, [False])
        permissions.close()


def test_the_package_lists_its_widgets() -> None:
    assert "OrderTicket" in dir(toolkit.widgets)
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        toolkit.widgets.__getattr__("Nonsense")


def test_a_panel_of_your_own_may_have_its_front_end_in_a_file(session: Session, tmp_path: Path) -> None:
    front = tmp_path / "own.js"
    front.write_text("export default {};", encoding="utf-8")

    class Own(Panel):
        _esm = front

    assert vars(Own(session))["_trait_values"]["_esm"] == "export default {};"


@pytest.mark.parametrize("name", ["Blotter", "Candles", "Dashboard", "Depth", "OrderTicket", "Trades"])
def test_a_panel_refuses_a_private_key(session: Session, name: str) -> None:
    key = "0x" + development.account(0).key.hex()
    with pytest.raises(InputError, match=f"{name}: symbol looks like a private key"):
        getattr(toolkit.widgets, name)(session, key)
