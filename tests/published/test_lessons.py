"""The client's cells of lessons 1, 4, 5 and 15, run at published servers.

The lessons trade on a local venue with a manual clock. A cell is left out if it controls that venue, needs its deep
book, a folder or an exercise, or asserts the venue's figures, and so is each cell that needs its names. `connect` gives
the session of the published server. `test_trading` drives the first steps of lesson 15.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

import toolkit
from tests.published.feed import feed
from tests.published.reads import connected, forms, unlocked
from tests.published.server import PublishedServer
from tests.published.variations import APRIL_SIGNED, SDK, Form
from toolkit.session import Session

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LOCAL = (
    ".venue",
    "LocalVenue",
    "learn.check",
    "assert ",
    "rehearsal",
    "LIVE",
    "tempfile",
    "_keyfile",
    'quantity="800"',
)
"""Words of the cells that are left out."""
ELSEWHERE = ("testnet", "mainnet")
"""Lesson 15 connects to these, and sends nothing there."""
pytestmark = pytest.mark.filterwarnings("ignore::toolkit.errors.DataWarning")


def names(code: str, context: type[ast.expr_context]) -> set[str]:
    """Return the names that a cell reads (`ast.Load`) or assigns (`ast.Store`)."""
    nodes = list(ast.walk(ast.parse(code)))
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef) and context is ast.Store}
    return defined | {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, context)}


def cells_of_the_client(lesson: str) -> Iterator[str]:
    """Yield the cells that can run here without their magics, and of the others the imports."""
    lost: set[str] = set()
    for cell in json.loads((NOTEBOOKS / f"{lesson}.ipynb").read_text(encoding="utf-8"))["cells"]:
        code = "".join(line for line in cell["source"] if not line.startswith("%"))
        if cell["cell_type"] != "code":
            continue
        if any(word in code for word in LOCAL) or names(code, ast.Load) & lost:
            lost |= names(code, ast.Store)
            yield "\n".join(
                ast.unparse(one) for one in ast.parse(code).body if isinstance(one, ast.Import | ast.ImportFrom)
            )
        else:
            lost -= names(code, ast.Store)
            yield code


@forms(APRIL_SIGNED, SDK)
@pytest.mark.parametrize("lesson", ["01-first-trade", "04-account-data", "05-order-ticket", "15-testnet"])
def test_the_clients_cells_of_a_lesson_run(form: Form, lesson: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server, connect = PublishedServer(form), toolkit.connect
    made: dict[str, Any] = {}
    failed, run = {}, 0
    with feed(server.world) as address, connected(server, settle_timeout=0.5, ws_url=address) as s:

        def elsewhere_or_here(where: str = "", **given: Any) -> Session:
            return connect(where, **given) if where in ELSEWHERE else s

        monkeypatch.setattr(toolkit, "connect", elsewhere_or_here)
        try:
            for code in cells_of_the_client(lesson):
                run += bool(names(code, ast.Load))
                try:
                    exec(compile(code, lesson, "exec"), made)
                except Exception as error:
                    failed[code[:200]] = f"{type(error).__name__}: {error}"
                # The local venue's feed is there at once. A reader waits for the feed of another one.
                assert [unlocked(one) for one in tickets(made)] == [""] * len(tickets(made))
        finally:
            plt.close("all")
            for one in [*tickets(made), *(each for each in made.values() if isinstance(each, Session))]:
                one.close()
    assert not failed, str(failed)
    assert run >= 5
    assert server.faults == []


def tickets(made: dict[str, Any]) -> list[Any]:
    """Return the order tickets that cells have made."""
    return [value for value in made.values() if isinstance(value, toolkit.widgets.OrderTicket)]
