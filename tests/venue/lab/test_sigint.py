"""An interrupt (a stopped cell, Ctrl-C) never leaves half of a command behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolkit
from toolkit.venue.lab.sigint import defer_sigint
from toolkit.venue.local import LocalVenue
from toolkit.venue.trading import matching

SPAN = 600_000


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    """Set the handler of Python, whatever the tests were started with."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "handlers are put back"
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def interrupt_prices(venue: LocalVenue, after: int) -> None:
    """Interrupt in the middle of a tick, when so many prices have been asked for."""
    core, left = venue.host.core, [after]
    source = core.price_source
    assert source is not None

    def counted(*given: Any) -> tuple[int, int]:
        left[0] -= 1
        if not left[0]:
            core.price_source = source
            interrupt()
        return source(*given)

    core.price_source = counted


@pytest.mark.parametrize("after", [1, 30, 333])
def test_an_interrupted_advance_leaves_a_consistent_state_and_continues_identically(tmp_path: Path, after: int) -> None:
    path = tmp_path / "j"
    with (
        LocalVenue(clock="manual", journal=path, sync="os") as venue,
        LocalVenue(clock="manual") as twin,
    ):
        start = venue.host.now_ms()
        interrupt_prices(venue, after)
        with pytest.raises(KeyboardInterrupt):
            venue.advance("10m")
        assert start < venue.host.now_ms() < start + SPAN
        venue.control.set_oracle("BTCUSDC", "61000")
        twin.advance(until=venue.host.now_ms())
        twin.control.set_oracle("BTCUSDC", "61000")
        assert venue.control.state_hash() == twin.control.state_hash()
        venue.advance(until=start + SPAN)
        twin.advance(until=start + SPAN)
        assert venue.control.state_hash() == twin.control.state_hash()
        assert venue.host.journal is not None
        venue.host.journal.close()
    with LocalVenue(clock="manual", journal=path, sync="os") as again:
        assert again.control.state_hash() == twin.control.state_hash()


def test_an_interrupt_in_the_middle_of_a_trade_waits_for_its_end_and_the_client_can_find_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, settle, sides = tmp_path / "j", matching.settle, []

    def settle_and_interrupt(*given: Any) -> None:
        settle(*given)
        sides.append(1)
        if len(sides) == 1:
            interrupt()

    with LocalVenue(clock="manual", journal=path, sync="os") as venue, toolkit.connect(venue=venue) as session:
        session.positions()
        monkeypatch.setattr(matching, "settle", settle_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            session.buy("BTCUSDC", "0.01")
        assert len(sides) == 2
        [receipt] = session.resolve()
        assert (str(receipt.state), len(session.fills())) == ("ACCEPTED", 1)
        expected = venue.control.state_hash()
        assert venue.host.journal is not None
        venue.host.journal.close()
    with LocalVenue(clock="manual", journal=path, sync="os") as again:
        assert again.control.state_hash() == expected


def test_nested_deferring_blocks_end_before_the_interrupt() -> None:
    done = []

    def both() -> None:
        with defer_sigint():
            with defer_sigint():
                interrupt()
                done.append("inner")
            done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        both()
    assert done == ["inner", "outer"]


def test_an_error_in_a_deferring_block_is_raised_unchanged() -> None:
    with pytest.raises(ZeroDivisionError), defer_sigint():
        raise ZeroDivisionError


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_where_no_function_handles_interrupts_nothing_is_changed(handler: signal.Handlers) -> None:
    signal.signal(signal.SIGINT, handler)
    with defer_sigint():
        assert signal.getsignal(signal.SIGINT) is handler
    assert signal.signal(signal.SIGINT, signal.default_int_handler) is handler


def test_other_threads_leave_the_handler_alone() -> None:
    seen = []

    def run() -> None:
        with defer_sigint():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
