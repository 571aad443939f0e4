"""`%%sandbox`: a cell that leaves no trace in the venue, so that cells can be run again in any order."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import toolkit
from toolkit.errors import VenueError
from toolkit.venue.local import LocalVenue


@pytest.fixture
def shell() -> Iterator[Any]:
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance()
    made.run_cell("%load_ext toolkit").raise_error()
    yield made
    made.history_manager.end_session()
    InteractiveShell.clear_instance()


@pytest.fixture
def session(shell: Any) -> Iterator[toolkit.Session]:
    with toolkit.connect(clock="manual") as made:
        shell.push({"s": made})
        yield made


def run(shell: Any, cell: str) -> Any:
    result = shell.run_cell(cell)
    result.raise_error()
    return result.result


def test_a_sandboxed_cell_leaves_the_venue_as_it_was(shell: Any, session: toolkit.Session) -> None:
    assert session.venue is not None
    before = session.venue.control.state_hash()
    cell = "%%sandbox\ns.buy('BTCUSDC', '0.01', '60000')\ns.venue.advance('1h')\nseen = len(s.orders())\nseen + 1"
    for _ in range(2):
        assert run(shell, cell) == 2
        assert shell.user_ns["seen"] == 1
        assert session.venue.control.state_hash() == before
    with pytest.raises(VenueError, match="There are: none"):
        session.venue.revert(1)
    run(shell, '%%sandbox s\ns.venue.advance("1s"); s.venue.host.now_ms();')
    assert session.venue.control.state_hash() == before
    session.buy("BTCUSDC", "0.01", "60000")
    assert len(session.orders()) == 1


def test_a_refused_order_is_one_sentence_and_tb_shows_every_frame(
    shell: Any, session: toolkit.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("def mine():\n    s.buy('BTCUSDC', '0.01', '60000.05')\n\nmine()")
    out = capsys.readouterr().out.splitlines()
    assert out[:2] == ["line 4: mine()", "line 2: s.buy('BTCUSDC', '0.01', '60000.05')"]
    assert out[2].startswith("CheckFailed: price 60000.05 is not a multiple of tickSize 0.1")
    assert out[3:] == ["(%tb shows every frame)"]
    # In a thread of its own: what an earlier test interrupted in a handler may be left as the exception of this one.
    with ThreadPoolExecutor(1) as own:
        own.submit(shell.run_cell, "%tb plain").result()
    assert capsys.readouterr().out.count("toolkit/") > 5


def test_an_error_puts_everything_back_and_is_raised(shell: Any, session: toolkit.Session) -> None:
    assert session.venue is not None
    before = session.venue.control.state_hash()
    result = shell.run_cell("%%sandbox\ns.venue.advance('1h')\n1 / 0")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert session.venue.control.state_hash() == before


def test_which_venue_is_meant_must_be_clear(shell: Any, session: toolkit.Session) -> None:
    for cell, words in (("%%sandbox t\n1", "no variable 't'"), ("%%sandbox n\n1", "neither a local venue")):
        shell.push({"n": 5})
        assert words in str(shell.run_cell(cell).error_in_exec)
    with LocalVenue(clock="manual", market=False) as venue:
        shell.push({"other": venue})
        assert "there are: other, s" in str(shell.run_cell("%%sandbox\n1").error_in_exec)
        run(shell, "%%sandbox other\nother.advance('1h')")
        shell.push({"again": session.venue})
        del shell.user_ns["other"]
        run(shell, "%%sandbox\ns.venue.advance('1h')")
    shell.user_ns.clear()
    shell.init_user_ns()


def test_live_objects_see_the_venue_put_back(session: toolkit.Session) -> None:
    assert session.venue is not None
    book = session.stream.order_book("BTCUSDC", depth=5)
    before = book.frame()
    with session.venue.host.sandbox():
        session.venue.control.set_oracle("BTCUSDC", "70000")
        session.venue.advance("10s")
        assert not book.frame().equals(before)
    assert book.frame().equals(before)
