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

    def answer(self, venue_ms: int, took: int = 0, speed: float | None = None) -> None:
        sent = self.elapsed
        self.pass_ms(took)
        stated = {} if speed is None else {"x-venue-speed": f"{speed:g}"}
        self.clock.observe({"x-venue-time": str(venue_ms), **stated}, sent)


SPEEDS = {"frozen": 0.0, "slow": 0.1, "usual": 1.0, "class": 5.0, "fast": 100.0}


def local() -> Machine:
    """Return a machine whose venue may be moved by any span."""
    machine = Machine()
    machine.clock = VenueClock(lambda: machine.wall, lambda: machine.elapsed, jumps=True)
    return machine


@pytest.mark.parametrize("speed", SPEEDS.values(), ids=SPEEDS)
@pytest.mark.parametrize("took", [0, 40])
def test_between_answers_it_passes_at_the_venues_speed(speed: float, took: int) -> None:
    machine = local()
    machine.answer(NOW + 77_000, took, speed)
    machine.pass_ms(60_000)
    assert machine.clock.now_ms() == pytest.approx(NOW + 77_000 + 60_000 * speed, abs=took * max(1, speed) + 1)
    assert machine.clock.speed == speed
    machine.answer(NOW, 0, None)
    machine.pass_ms(1_000)
    assert (machine.clock.speed, machine.clock.now_ms()) == (1, NOW + 1_000)


@pytest.mark.parametrize("speed", SPEEDS.values(), ids=SPEEDS)
@pytest.mark.parametrize("moved", [540_718, -540_718_000, 86_400_000 * 30, -86_400_000 * 30])
def test_a_moved_venue_is_followed_with_the_next_message_of_its_feed(speed: float, moved: int) -> None:
    machine = local()
    machine.answer(NOW, 0, speed)
    machine.pass_ms(300)
    machine.clock.follow(machine.clock.now_ms() + moved)
    assert machine.clock.now_ms() == NOW + int(300 * speed) + moved
    machine.pass_ms(200)
    assert machine.clock.now_ms() == pytest.approx(NOW + 500 * speed + moved, abs=1)


@pytest.mark.parametrize("speed", SPEEDS.values(), ids=SPEEDS)
def test_a_message_that_was_late_changes_nothing(speed: float) -> None:
    machine = local()
    machine.answer(NOW, 0, speed)
    machine.pass_ms(10_000)
    now = machine.clock.now_ms()
    machine.clock.follow(now - 900)
    assert machine.clock.now_ms() == now


@pytest.mark.parametrize(("before", "after"), [(1.0, 5.0), (5.0, 1.0), (100.0, 0.5), (1.0, 100.0), (5.0, 5.0)])
def test_a_new_speed_shows_in_the_feed_without_any_request(before: float, after: float) -> None:
    machine, venue_ms = local(), float(NOW)
    machine.answer(NOW, 0, before)
    for number in range(40):
        speed = before if number < 15 else after
        machine.pass_ms(200)
        venue_ms += 200 * speed
        machine.clock.follow(int(venue_ms))
    assert machine.clock.speed == pytest.approx(after, rel=0.02)
    assert machine.clock.now_ms() == pytest.approx(venue_ms, abs=5_000 * max(1, after))


def test_a_venue_that_is_moved_by_hand_again_and_again_has_no_other_speed() -> None:
    machine, venue_ms = local(), NOW
    machine.answer(NOW, 0, 0.0)
    for hours in (1, 7, 2, 30, 4):
        machine.pass_ms(1_100)
        venue_ms += hours * 3_600_000
        machine.clock.follow(venue_ms)
        assert (machine.clock.speed, machine.clock.now_ms()) == (0, venue_ms)


@pytest.mark.parametrize("hours", [0.5, 60])
def test_after_a_suspension_the_first_messages_put_it_right(hours: float) -> None:
    machine, slept_ms = Machine(), int(hours * 3_600_000)  # the clock of elapsed time stands while a machine sleeps
    machine.answer(NOW)
    machine.wall += slept_ms
    for _ in range(2):  # one alone may be a proxy's mistake
        machine.pass_ms(100)
        machine.clock.follow(NOW + slept_ms + 50 + machine.elapsed - 5_000)
    assert machine.clock.now_ms() == NOW + slept_ms + 250
    assert machine.clock.speed == 1


@pytest.mark.parametrize("stated", ["nan", "inf", "-1", "x", "", "1e9", "0x5"])
def test_a_speed_that_can_not_be_is_the_usual_one(stated: str) -> None:
    machine = local()
    machine.clock.observe({"x-venue-time": str(NOW), "x-venue-speed": stated}, machine.elapsed)
    assert machine.clock.speed == 1


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


def test_the_date_of_a_page_of_a_proxy_moves_no_time_that_the_venue_has_stated_exactly() -> None:
    machine = local()
    machine.answer(NOW + 5_000_000, 0, 60)
    machine.pass_ms(20_000)
    machine.clock.observe({"date": "Thu, 01 Jan 2026 00:00:20 GMT"}, machine.elapsed)
    assert (machine.clock.now_ms(), machine.clock.speed) == (NOW + 5_000_000 + 60 * 20_000, 60)


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


def test_a_twap_ends_when_the_venue_says_without_a_request_in_between() -> None:
    with LocalVenue(clock="real", speed=300) as fast:
        with toolkit.connect(venue=fast) as approving:  # approves the agent
            account = approving.wallet
        with toolkit.connect(base_url="http://127.0.0.1:1", transport=fast.transport(), wallet=account) as s:
            assert s.account
            parent = s.twap("BTCUSDC", "BUY", "0.01", "5m", slices=5)
            parent.wait(timeout=60)
            assert len(parent.children()) == 5
            assert s.clock.speed == 300


def test_a_class_whose_time_was_moved_follows_its_feed_at_once() -> None:
    with LocalVenue(clock="real", accounts=2) as moved, moved.serve() as served:
        environment = served.environment
        with toolkit.connect(environment, account=0) as s:
            s.exchange.approve_agent()
            book = s.stream.order_book("BTCUSDC").wait()
            moved.advance("9m")
            book.wait(lambda one: abs(s.clock.now_ms() - moved.host.now_ms()) < 5_000, timeout=30)
            assert s.buy("BTCUSDC", "0.001", price="30000").status == "NEW"
            assert not s.intents()["state"].eq("REJECTED").any()
