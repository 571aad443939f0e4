"""What every panel does: refreshes, locks, shows errors, escapes values, follows the theme."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import toolkit
from toolkit.errors import InputError
from toolkit.session import Session
from toolkit.widgets import theme
from toolkit.widgets.base_panel.panel import Panel, Refresher


def press(panel: Panel, do: str, **content: Any) -> None:
    """Send what a button sends."""
    data = {"method": "custom", "content": {"do": do, **content}, "buffer_paths": []}
    panel._handle_msg({"content": {"data": data}, "buffers": []})


def test_a_hundred_updates_make_few_refreshes() -> None:
    done, enough = [], threading.Event()

    class Counting:
        def refresh(self) -> None:
            done.append(1)
            if len(done) >= 3:
                enough.set()

    refresher, panel = Refresher(interval=0.05, heartbeat=60), Counting()
    refresher.add(panel)
    requests = 0
    while not enough.is_set():
        refresher.request(panel)
        requests += 1
    refresher.remove(panel)
    assert requests > 100
    assert len(done) <= 4
    assert not refresher.running


def test_silence_is_noticed_without_an_update() -> None:
    seen = threading.Event()

    class Waiting:
        calls = 0

        def refresh(self) -> None:
            self.calls += 1
            if self.calls >= 3:
                seen.set()

    refresher, panel = Refresher(interval=0.01, heartbeat=0.02), Waiting()
    refresher.add(panel)
    assert seen.wait(60)
    refresher.remove(panel)


def test_a_request_for_an_unknown_panel_does_nothing() -> None:
    refresher = Refresher()
    refresher.request(object())  # type: ignore[arg-type]
    assert not refresher.running


def test_stale_data_locks_the_panel_and_says_why(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    widget = toolkit.widgets.OrderBook(session, "BTCUSDC")
    monkeypatch.setattr(type(widget.live), "stale", property(lambda live: True))
    widget.refresh()
    assert widget.lock == "orderBook has been quiet for longer than usual"
    monkeypatch.undo()
    widget.refresh()
    assert widget.lock == ""


def test_a_closed_stream_locks_the_panel(session: Session) -> None:
    widget = toolkit.widgets.Trades(session, "BTCUSDC")
    widget.live.close()
    widget.refresh()
    assert widget.lock == "trades is closed"


def test_an_error_is_shown_until_the_next_success(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    widget = toolkit.widgets.Account(session)
    monkeypatch.setattr(type(widget), "_make_view", lambda self: 1 / 0)
    widget.refresh()
    assert widget.problem == "division by zero"
    monkeypatch.undo()
    widget.refresh()
    assert widget.problem == ""


def test_an_error_in_a_command_is_shown(session: Session) -> None:
    widget = toolkit.widgets.Blotter(session)
    press(widget, "cancel", order_id="999", confirmed=True)
    assert widget.problem == "there is no open order 999"
    press(widget, "cancel", nonsense=1, confirmed=True)
    assert "unexpected keyword" in widget.problem


def test_malformed_messages_are_ignored(session: Session) -> None:
    widget = toolkit.widgets.Blotter(session)
    press(widget, "drop table")
    widget._on_message(widget, ["not", "a", "dict"], [])
    assert widget.problem == ""


def test_values_are_escaped(session: Session) -> None:
    ticket = session.ticket("BTCUSDC", quantity="<img src=x onerror=alert(1)>")
    html = ticket._repr_mimebundle_()[0]["text/html"]
    assert "<img" not in html
    assert "&lt;img" in html


def test_colours_are_set_for_all_and_taken_back(session: Session) -> None:
    widget = toolkit.widgets.Trades(session, "BTCUSDC")
    try:
        assert theme(up="crimson", down="#2e8b57") == {"up": "crimson", "down": "#2e8b57"}
        assert widget.colors == {"up": "crimson", "down": "#2e8b57"}
        assert toolkit.widgets.Blotter(session).colors == widget.colors
        assert "crimson" in widget._repr_mimebundle_()[0]["text/html"]
        with pytest.raises(InputError, match="not a CSS colour"):
            theme(up="red;background:url(x)")
    finally:
        theme()
    assert widget.colors == {}


def test_the_front_end_needs_nothing_from_outside() -> None:
    from toolkit.widgets.base_panel.panel import module

    panels = [f"panels/{name}.js" for name in ("book", "trades", "candles", "blotter", "permissions", "sheet")]
    others = [f"panels/{name}.js" for name in ("depth", "chart_colors", "leaderboard")]
    others += ["base_panel/review.js", "base_panel/table.js"]
    for name in ("order_ticket/ticket.js", "order_ticket/fields.js", *panels, *others):
        source = module("base_panel/common.js", name).replace(
            "http://www.w3.org/2000/svg", ""
        )  # a name, not an address
        assert "http://" not in source
        assert "https://" not in source
        assert "import " not in source.replace("important", "")
        assert "innerHTML" not in source
        assert "eval(" not in source
    assert "url(" not in module("base_panel/panel.css")
