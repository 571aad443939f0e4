"""What is not shown does not run: a panel without a view rests, and a session whose cell is run again ends."""

from __future__ import annotations

import itertools

import nbformat
import pytest
from nbclient import NotebookClient

from toolkit.session import Session
from toolkit.widgets import OrderBook
from toolkit.widgets.base_panel.panel import REFRESHER

CONNECT = """import threading, toolkit
session = toolkit.connect()
ticket = session.ticket("BTCUSDC")
ticket"""
OURS = """for one in threading.enumerate():
    if one.name == "toolkit-history":  # the last session may still be reading, and ends by itself
        while one.ident is None:  # it is only being started
            pass
        one.join()
names = sorted(one.name for one in threading.enumerate() if one.name.startswith("toolkit-"))
print(*names, len(toolkit.widgets.OrderTicket.open_panels))"""


kernels = pytest.mark.slow
"""Each of these starts kernels of its own."""


def say(panel: OrderBook, what: str) -> None:
    panel._on_message(panel, {"do": what}, [])


def test_a_panel_rests_once_its_last_view_is_gone_and_goes_on_when_displayed_again(session: Session) -> None:
    panel = OrderBook(session, "BTCUSDC")
    for _ in range(2):
        say(panel, "hello")
        say(panel, "hello")
        say(panel, "bye")
        assert REFRESHER.running
        say(panel, "bye")
        assert not REFRESHER.running
    panel.stop()
    say(panel, "hello")
    assert not REFRESHER.running


def run(*cells: str) -> list[str]:
    """Run cells in a kernel, equal ones as one cell that is run again; return what was printed last by each."""
    made = {text: nbformat.v4.new_code_cell(text) for text in cells}
    client = NotebookClient(nbformat.v4.new_notebook(cells=list(made.values())), timeout=60)
    printed = []
    with client.setup_kernel():
        for text in cells:
            client.execute_cell(made[text], list(made).index(text))
            printed.append("".join(one.get("text", "") for one in made[text].outputs).strip())
    return printed


@kernels
def test_nine_runs_of_a_cell_leave_one_session_and_one_ticket() -> None:
    printed = run(CONNECT, OURS, *[CONNECT] * 8, OURS)
    assert printed[1] == printed[-1] == "toolkit-feed toolkit-venue-ticker toolkit-widgets 1"


@kernels
def test_a_session_that_another_name_has_stays() -> None:
    connect = "import toolkit, weakref\nsession = toolkit.connect(clock='manual')"
    look = "print(found._delivery.closed if (found := {}) is not None else True)"
    for keep, found, closed in (
        ("kept = session", "kept", False),
        ("kept = [session]", "kept[0]", False),
        ("kept = session, 1", "kept[0]", False),
        ("kept = weakref.ref(session)", "kept()", True),
    ):
        assert run(connect, keep, connect, look.format(found))[-1] == str(closed), keep


@kernels
def test_a_session_of_another_cell_stays() -> None:
    first = "import toolkit\nsession = toolkit.connect(clock='manual')\nticket = session.ticket('BTCUSDC')"
    second = "session = toolkit.connect(clock='manual', seed=2)"
    assert run(first, second, second, "print(ticket.lock == 'closed')")[-1] == "False"
    assert run(first, second, first, "print(len(toolkit.widgets.OrderTicket.open_panels))")[-1] == "1"


SESSION = "import ipywidgets, toolkit\nsession = toolkit.connect(clock='manual')"
BOX = "ipywidgets.HBox([session.ticket('BTCUSDC'), ipywidgets.VBox([session.ticket('ETHUSDC')])])"


@kernels
def test_panels_of_a_cell_that_is_run_again_stop_unless_a_name_has_them() -> None:
    pages = "globals().get('pages', {})"
    cells = {
        BOX: 2,
        f"box = {BOX}": 2,
        "session.dashboard('BTCUSDC')": 7,
        "ticket = session.ticket('BTCUSDC')": 1,
        f"boxes = [*globals().get('boxes', ()), {BOX}]": 3 * 2,
        f"pages = {{**{pages}, len({pages}): session.dashboard('BTCUSDC')}}": 3 * 7,
    }
    count = "print(len(toolkit.widgets.OrderTicket.open_panels))"
    printed = run(SESSION, *[one for cell in cells for one in (cell, cell, cell, count)])
    assert [int(one) for one in printed[4::4]] == list(itertools.accumulate(cells.values()))


@kernels
def test_a_panel_of_a_cell_that_was_run_again_stops_with_its_last_view() -> None:
    """It is still shown elsewhere, as in an output view of JupyterLab."""
    panels = "list(toolkit.widgets.OrderTicket.open_panels)"
    first = f"{BOX}\nnew = {panels}[-1]\nnew._on_message(new, {{'do': 'hello'}}, [])"
    look = f"print(len({panels}))"
    bye = f"for one in {panels}:\n    one._on_message(one, {{'do': 'bye'}}, [])\ndel one"
    cells = run(SESSION, first, first.replace("new =", "new  ="), look, bye, look)
    assert cells[3] == cells[5] == "4"  # another cell replaces nothing
    again = run(SESSION, first, first, look, bye, look + "  # later")
    assert (again[3], again[5]) == ("3", "2")
