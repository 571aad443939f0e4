"""The venue's time counts, whatever this machine's clock says: ahead, behind, set meanwhile, or at another speed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolkit
from tests.client.fake import Executed
from toolkit.cli import doctor
from toolkit.client.io.transport import Retry
from toolkit.client.io.venue_clock import JUMP_MS, VenueClock
from toolkit.venue.local import LocalVenue

NOW = 1_767_225_600_000


class Machine:
    """A wall clock that can be set, and a monotonic one; `pass_ms` moves both."""

    def __init__(self) -> None:
        self.wall, self.elapsed = NOW, 5_000
        self.clock = VenueClock(lambda: self.wall, lambda: self.elapsed)

    def pass_ms(self, span: int) -> None:
        self.wall, self.elapsed = self.wall + span, self.elapsed + span

    def answer(self, venue_ms: int, took: int = 0) -> None:
        sent = self.elapsed
        self.pass_ms(took)
        self.clock.observe({"x-venue-time": str(venue_ms)}, sent)


def test_without_an_answer_it_is_this_machines_time() -> None:
    machine = Machine()
    machine.pass_ms(7)
    assert machine.clock.now_ms() == NOW + 7
    machine.clock.observe({}, 5_000)
    assert machine.clock.skew_ms is None


@given(off=st.integers(-3_000_000, 3_000_000), step=st.integers(-(10**9), 10**9), took=st.integers(0, 500))
def test_setting_this_machines_clock_changes_nothing(off: int, step: int, took: int) -> None:
    machine = Machine()
    machine.answer(NOW + off, took)
    machine.wall += step
    machine.pass_ms(10_000)
    venue_ms = NOW + off + 10_000 + took // 2
    assert abs(machine.clock.now_ms() - venue_ms) <= max(1, took)


def test_one_answer_far_off_is_not_believed_and_two_are() -> None:
    machine = Machine()
    machine.answer(NOW)
    machine.answer(NOW + 100 * JUMP_MS)
    assert machine.clock.now_ms() == NOW
    machine.answer(NOW)
    machine.answer(NOW + 100 * JUMP_MS)
    assert machine.clock.now_ms() == NOW
    machine.pass_ms(50)
    machine.answer(NOW + 100 * JUMP_MS + 60)
    assert machine.clock.now_ms() == NOW + 100 * JUMP_MS + 60


def test_a_date_is_as_exact_as_its_seconds() -> None:
    machine = Machine()
    machine.pass_ms(900)
    machine.clock.observe({"date": "Thu, 01 Jan 2026 00:00:00 GMT"}, machine.elapsed)
    assert machine.clock.now_ms() == NOW + 900  # 00:00:00.9 is 00:00:00 in a header
    machine.clock.observe({"date": "Thu, 01 Jan 2026 00:01:00 GMT"}, machine.elapsed)
    assert machine.clock.now_ms() == NOW + 60_500


@given(text=st.text(max_size=30) | st.integers().map(str))
def test_no_header_is_too_strange(text: str) -> None:
    machine = Machine()
    machine.clock.observe({"x-venue-time": text, "date": text}, machine.elapsed)
    assert machine.clock.now_ms() >= NOW or machine.clock.skew_ms is not None


class Wrong:
    """A local clock that is off."""

    runs = True

    def __init__(self, venue: LocalVenue, ms: int) -> None:
        self.venue, self.ms, self.start = venue, ms, venue.host.now_ms()

    def now_ms(self) -> int:
        return self.start + self.ms


VENUES: dict[str, dict[str, Any]] = {
    "manual": {"clock": "manual"},
    "in 2031": {"clock": "manual", "start": "2031-05-05"},
    "in 1999": {"clock": "manual", "start": "1999-05-05"},
    "fast": {"clock": "real", "speed": 100},
}
OFF = {"right": 0, "ahead": 5 * 86_400_000, "behind": -5 * 86_400_000, "some minutes": 400_000}


@pytest.fixture(params=VENUES)
def venue(request: pytest.FixtureRequest) -> Iterator[LocalVenue]:
    with LocalVenue(**VENUES[request.param]) as made:
        toolkit.connect(venue=made)  # approves the agent
        yield made


@pytest.mark.parametrize("off", OFF)
def test_orders_and_candles_work_at_any_time_of_the_venue(venue: LocalVenue, off: str) -> None:
    with toolkit.connect(
        base_url="http://127.0.0.1:1",
        transport=Executed(venue),
        clock=Wrong(venue, OFF[off]),  # type: ignore[arg-type]
        retry=Retry(base=0.0, longest=0.0),
    ) as s:
        assert s.buy("BTCUSDC", "0.001", price="30000").status == "NEW"
        venue.advance("3m")
        assert s.exchange.set_leverage("BTCUSDC", 5)
        assert s.buy("BTCUSDC", "0.001", price="30000").status == "NEW"
        venue.advance("7m")
        candles = s.klines("BTCUSDC", "1m", limit=3)
        newest = candles.index[-1] + pd.Timedelta("1min")
        assert newest > pd.Timestamp(venue.host.now_ms() - 240_000, unit="ms", tz="UTC")
        assert len(candles) == 3
        states = {finding.name: finding.state for finding in doctor.examine(s, {})}
        assert states["clock"] in ("ok", "note")


def test_an_order_without_a_read_before_it_is_made_once_more(venue: LocalVenue) -> None:
    with toolkit.connect(
        base_url="http://127.0.0.1:1",
        transport=Executed(venue),
        clock=Wrong(venue, -(10**9)),
        approve=False,  # type: ignore[arg-type]
    ) as s:
        receipt = s.exchange.approve_agent()
        assert receipt
        assert set(s.intents()["state"]) <= {"ACCEPTED", "REJECTED"}
