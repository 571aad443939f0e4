"""What every panel does: refreshes, locks, shows errors, escapes values, follows the theme."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from types import SimpleNamespace
from typing import Any

import ipywidgets
import pytest

import toolkit
from tests.widgets.page import press, send
from toolkit.client.io.flow import wall_ms
from toolkit.errors import InputError
from toolkit.session import Session
from toolkit.widgets import theme
from toolkit.widgets.base_panel import panel as panel_module
from toolkit.widgets.base_panel.panel import REFRESHER, KernelLoop, Refresher, pictures


class Waits:
    """In place of a condition: time passes only while somebody waits, and the test says when a panel's data changes."""

    def __init__(self) -> None:
        self.now = 100.0

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...

    def notify(self) -> None: ...

    def wait(self, seconds: float) -> None:
        assert seconds > 0, "it would spin"
        self.now += seconds


@pytest.mark.parametrize(
    ("changes", "ages"),
    [
        (0, [0, 0.6, 1.2, 1.8]),
        (1, [0, 0.08, 0.68, 1.28]),
        (9, [0, 0.08, 0.16, 0.24]),
    ],
)
def test_a_panel_is_refreshed_when_its_data_changes_and_each_heartbeat(
    monkeypatch: pytest.MonkeyPatch, changes: int, ages: list[float]
) -> None:
    waits, refresher, done = Waits(), Refresher(), list[float]()

    class Followed:
        def refresh(self) -> None:
            done.append(waits.now - 100.0)
            if len(done) == len(ages):
                refresher.remove(self)
            elif len(done) <= changes:
                refresher.request(self)

    monkeypatch.setattr(panel_module, "time", SimpleNamespace(monotonic=lambda: waits.now))
    refresher._condition = waits  # type: ignore[assignment]
    refresher._thread = threading.current_thread()
    refresher.add(Followed())
    refresher._run()
    assert done == [pytest.approx(age) for age in ages]
    assert not refresher.running


def test_a_panel_that_is_added_while_others_wait_is_refreshed_and_the_thread_ends_with_the_last() -> None:
    waits = threading.Event()

    class Noted(threading.Condition):
        def wait(self, timeout: float | None = None) -> bool:
            waits.set()
            return super().wait(timeout)

    class Shown:
        def __init__(self) -> None:
            self.refreshed = threading.Event()

        def refresh(self) -> None:
            self.refreshed.set()

    refresher, panels = Refresher(heartbeat=60), [Shown(), Shown()]
    refresher._condition = Noted()
    for panel in panels:
        waits.clear()
        refresher.add(panel)
        assert panel.refreshed.wait(20)
        assert waits.wait(20)
    thread: Any = refresher._thread
    refresher.remove(panels[0])
    assert refresher.running
    refresher.remove(panels[1])
    assert not thread.is_alive()


def test_stale_data_locks_the_panel_and_says_why(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    widget = toolkit.widgets.OrderBook(session, "BTCUSDC")
    monkeypatch.setattr(type(widget.live), "stale", property(lambda live: True))
    widget.refresh()
    assert widget.lock == "orderBook has been quiet for longer than usual"
    monkeypatch.undo()
    widget.refresh()
    assert widget.lock == ""


@pytest.mark.parametrize(
    ("make", "part", "lock"),
    [
        (lambda one: toolkit.widgets.Trades(one, "BTCUSDC"), "live", "trades is closed"),
        (toolkit.widgets.Account, "live", "aopState is closed"),
        (toolkit.widgets.Account, "positions", "aopState is closed"),
    ],
)
def test_a_closed_stream_locks_the_panel(session: Session, make: Any, part: str, lock: str) -> None:
    widget = make(session)
    getattr(widget, part).close()
    widget.refresh()
    assert widget.lock == lock


def test_a_silent_venue_locks_the_panel(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    widget = toolkit.widgets.Trades(session, "BTCUSDC")
    REFRESHER.remove(widget)
    for age_ms, lock in ((1_999, ""), (2_000, "nothing has come from the venue for 2 s")):
        monkeypatch.setattr(type(widget._watch), "_age_ms", lambda _, age_ms=age_ms: age_ms)
        widget.refresh()
        assert widget.lock == lock


def test_the_page_has_each_trait_that_its_front_end_reads(session: Session) -> None:
    session_panels = [session.ticket("BTCUSDC"), toolkit.widgets.Blotter(session)]
    of_product = ("Candles", "OrderBook", "Trades", "Depth", "Funding")
    for panel in (*session_panels, *(getattr(toolkit.widgets, one)(session, "BTCUSDC") for one in of_product)):
        front_end = vars(panel)["_trait_values"]["_esm"]
        read = set(re.findall(r'\bmodel\.[gs]et\("(\w+)"', front_end))
        assert {"view", "beat"} <= read
        assert read <= set(panel.keys)


@pytest.mark.parametrize(("words", "shown"), [(("no view",), "no view"), ((), "ValueError")])
def test_an_error_is_shown_until_the_next_success(
    session: Session, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], shown: str
) -> None:
    widget = toolkit.widgets.Account(session)

    def fail(_: Any) -> Any:
        raise ValueError(*words)

    monkeypatch.setattr(type(widget), "_make_view", fail)
    widget.refresh()
    assert widget.problem == shown
    monkeypatch.undo()
    widget.refresh()
    assert widget.problem == ""


def test_an_error_in_a_command_is_shown(session: Session) -> None:
    widget = toolkit.widgets.Blotter(session)
    press(widget, "cancel", order_id="999", confirmed=True)
    assert widget.problem == "there is no open order 999"
    press(widget, "cancel", nonsense=1, confirmed=True)
    assert "unexpected keyword" in widget.problem


def test_a_press_after_its_deadline_is_refused_and_each_press_is_answered(session: Session) -> None:
    book = toolkit.widgets.OrderBook(session, "BTCUSDC", on_pick=(picked := list[str]()).append)
    now = wall_ms()
    press(book, "pick", price="1", by=now - 7_000)
    assert picked == []
    assert book.problem == ("a press reached the kernel 7 s after its deadline, so nothing was signed. Press again")
    assert book.answered == now - 7_000
    for price, by, answered in (
        ("2", now + 60_000, now + 60_000),
        ("3", now + 50_000, now + 60_000),
        ("4", 0, now + 60_000),
    ):
        press(book, "pick", price=price, by=by)
        assert (picked[-1], book.answered) == (price, answered)


def test_a_beat_comes_twice_a_second_and_a_picture_every_3_s(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, beats, pictured = [4_000.0], [], []
    monkeypatch.setattr(panel_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(panel_module, "page", lambda *given: pictured.append(clock[0]) or f"picture of {given}")
    monkeypatch.setattr(panel_module, "wall_ms", lambda: round(clock[0] * 1000))
    panel = toolkit.widgets.Trades(session, "BTCUSDC")
    REFRESHER.remove(panel)
    pictured.clear()
    panel.observe(lambda _: beats.append(clock[0]), "beat")
    for now in (5_000.0, 5_000.5, 5_000.55, 5_003.0, 5_003.1, 5_003.4, 5_006.2):
        clock[0] = now
        panel.refresh()
    assert beats == [5_000.0, 5_000.55, 5_003.0, 5_006.2]
    assert pictured == [5_000.0, 5_003.1, 5_006.2]
    panel.stop()
    assert len(pictured) == 4
    assert panel.picture.startswith("picture of")
    panel.stop()
    assert len(pictured) == 4


def test_a_static_view_waits_3_s_in_all_for_its_first_data(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = toolkit.widgets.Trades(session, "BTCUSDC")
    REFRESHER.remove(panel)
    clock, asked = [10.0], []

    def late(age_ms: int | None, took: float) -> Any:
        def wait(timeout: float) -> None:
            asked.append(timeout)
            clock[0] += took
            raise toolkit.errors.FeedError("no data")

        return SimpleNamespace(age_ms=age_ms, stale=True, wait=wait)

    monkeypatch.setattr(panel_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    needed, panel._needed = panel._needed, [late(None, 2.0), late(5, 1.0), late(None, 2.5), late(None, 0.0)]
    panel._await_data()
    assert asked == [3.0, 1.0, 0.0]
    assert repr(panel) == "<Trades BTCUSDC: not loaded>"
    assert str(panel) == "Trades BTCUSDC\nnot loaded"
    asked.clear()
    assert "Trades BTCUSDC</b> <span" in panel.snapshot()
    assert ">not loaded<" in panel.snapshot()
    panel._needed = needed
    assert "not loaded" not in panel.snapshot()


@pytest.mark.parametrize(
    ("named", "again", "views", "stopped"),
    [
        (False, True, 0, True),
        (True, True, 0, False),
        (False, False, 0, False),
        (False, True, 1, False),
    ],
)
def test_a_panel_whose_cell_was_run_again_stops_without_a_view_and_a_name(
    session: Session, named: bool, again: bool, views: int, stopped: bool
) -> None:
    panel = toolkit.widgets.Trades(session, "BTCUSDC")
    for _ in range(views):
        press(panel, "hello")
    assert panel._look_after_cell({"other": 1, **({"kept": [panel]} if named else {})}, again) is stopped
    assert (panel.lock == "closed") is stopped
    for _ in range(views):
        press(panel, "bye")
    assert (panel.lock == "closed") is (again and not named)
    assert REFRESHER.running is not again


def test_a_container_has_the_pictures_of_the_panels_in_it(session: Session) -> None:
    panels = [toolkit.widgets.Trades(session, one) for one in ("BTCUSDC", "ETHUSDC")]
    box = ipywidgets.HBox([panels[0], ipywidgets.Label("words"), ipywidgets.VBox([panels[1]])])
    html = pictures(box) or ""
    assert [html.count(f"{one} trades") for one in ("BTCUSDC", "ETHUSDC")] == [1, 1]
    assert html.startswith("<div><div style=")
    assert pictures(ipywidgets.HBox([ipywidgets.Label("words")])) is None


def test_in_a_kernel_its_loop_is_watched_and_containers_have_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    html = SimpleNamespace(for_type=lambda *given: shown.append(given))
    shell = SimpleNamespace(kernel=object(), display_formatter=SimpleNamespace(formatters={"text/html": html}))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    kernel = KernelLoop()
    kernel.attach()  # on a thread without a loop
    assert (kernel._loop, kernel.busy_seconds()) == (None, 0.0)

    async def attach() -> asyncio.AbstractEventLoop:
        kernel.attach()
        assert kernel.busy_seconds() == 0.0
        assert kernel._asked is not None
        await asyncio.sleep(0)
        assert kernel._asked is None, "the loop has answered"
        return asyncio.get_running_loop()

    assert asyncio.run(attach()) is kernel._loop
    assert shown == [(ipywidgets.Box, pictures)] * 2


def test_malformed_messages_are_ignored(session: Session) -> None:
    widget = toolkit.widgets.Blotter(session)
    press(widget, "drop table")
    send(widget, ["not", "a", "dict"])
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
