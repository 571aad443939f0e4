"""Time, snapshots and dumps of a venue: what happens on the way happens in order, and everything can be put back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.venue.wallets import MASTER, OTHER, Signer
from tests.venue.world import STEP_KINDS, World, play
from toolkit.client.orders.intents import IntentState
from toolkit.errors import InputError, StoredFileError, VenueError
from toolkit.venue import clocks
from toolkit.venue.engine.changes import BlockDone, PriceTick
from toolkit.venue.engine.core import Core
from toolkit.venue.local import LocalVenue
from toolkit.venue.model.history import FundingRate

HOUR = 3_600_000
OTHERS = OTHER.address.lower()


def order(side: str, price: str, **more: Any) -> dict[str, Any]:
    item = {"symbolCode": 1, "ordPx": price, "ordQty": "0.1", "ordType": "LIMIT", "ordSide": side, "timeInForce": "GTC"}
    return {"type": "placeOrder", "orders": [{**item, **more}]}


def eventful(market: bool = False) -> LocalVenue:
    """Return a venue with positions, waiting triggers and a script of prices that will set them off."""
    venue = LocalVenue(clock="manual", market=market, accounts=2)
    control = venue.control
    control.add_liquidity("BTCUSDC", "BUY", "62400", "1", levels=20, gap="50")
    control.add_liquidity("BTCUSDC", "SELL", "62600", "1", levels=20, gap="50")
    stop = {"reduceOnlyOption": "SL_FROM_POSITION", "triggerPx": "62000", "tpslTriggerType": "MARK_PRICE"}
    for address in (MASTER.address, OTHER.address):
        assert control.act(address, order("BUY", "62700"))["code"] == 0
        market_stop = {"ordPx": "0", "ordType": "MARKET", "timeInForce": "IOC"}
        assert control.act(address, order("SELL", "0", **{**stop, **market_stop}))["code"] == 0
    control.remove_liquidity("BTCUSDC")  # a one-sided book: mark follows the oracle
    control.add_liquidity("BTCUSDC", "BUY", "61500", "1", levels=2)
    control.script_oracle("BTCUSDC", {"3h": "62300", "301m": "61900", "6h": "62500"}, release=True)
    return venue


def test_everything_on_the_way_happens_at_its_time_and_in_order() -> None:
    venue = eventful()
    core = venue.host.core
    seen: list[tuple[int, str]] = []
    emit = core.emit

    def watch(event: Any) -> None:
        seen.append((core.state.time, type(event).__name__))
        emit(event)

    core.emit = watch
    start = venue.host.now_ms()
    venue.advance("9h")
    times = [time for time, _ in seen]
    assert times == sorted(times)
    ticks = {time for time, name in seen if name == PriceTick.__name__}
    assert ticks >= set(range(start + 3_000, start + 9 * HOUR + 1, 3_000))
    assert {start + 4 * HOUR, start + 8 * HOUR} == {time for time, name in seen if name == FundingRate.__name__}
    assert {start + 3 * HOUR, start + 301 * 60_000, start + 6 * HOUR} <= ticks
    triggered = [
        entry.time for entry in core.state.history.order_events.records if entry.address == OTHERS and entry.trigger
    ]
    assert triggered[-1] == start + 301 * 60_000
    assert BlockDone.__name__ in {name for _, name in seen}


def test_a_revert_restores_clock_books_nonces_and_numbers_and_the_same_again_gives_the_same() -> None:
    venue, signer = eventful(), Signer(MASTER)
    mark = venue.snapshot()
    before, now = venue.control.state_hash(), venue.host.now_ms()
    nonce = signer.nonce + 1

    def live() -> tuple[str, dict[str, Any]]:
        answer = signer.do(venue, {"type": "withdraw", "destination": OTHER.address, "amount": "5"}, nonce=nonce)
        venue.control.act(MASTER.address, order("BUY", "61000"))
        venue.advance("302m")
        return venue.control.state_hash(), answer

    first = live()
    venue.revert(mark)
    assert (venue.control.state_hash(), venue.host.now_ms()) == (before, now)
    assert live() == first
    venue.revert(mark)
    venue.advance("302m")
    assert venue.control.state_hash() != first[0]


def test_later_snapshots_are_forgotten_by_a_revert_and_any_by_forget() -> None:
    with LocalVenue(clock="manual", market=False) as venue:
        one, two = venue.snapshot(), venue.snapshot()
        venue.revert(one)
        with pytest.raises(VenueError, match=f"there is no snapshot {two}. There are: {one}"):
            venue.revert(two)
        venue.host.forget(one)
        venue.host.forget(one)
        with pytest.raises(VenueError, match="There are: none"):
            venue.revert(one)


def test_a_dump_goes_on_identically_in_another_venue(tmp_path: Path) -> None:
    one = eventful(market=True)
    one.advance("10m")
    one.dump(tmp_path / "dump")
    with LocalVenue(clock="manual", seed=99) as other:
        other.load(tmp_path / "dump")
        assert other.host.now_ms() == one.host.now_ms()
        for venue in (one, other):
            venue.advance("10m")
        assert other.control.state_hash() == one.control.state_hash()
        (tmp_path / "no dump").write_bytes(b"hello")
        with pytest.raises(StoredFileError, match="no dump"):
            other.load(tmp_path / "no dump")
        assert other.control.state_hash() == one.control.state_hash()


def test_a_sandbox_nests_and_puts_back_after_errors() -> None:
    venue = eventful()
    before = venue.control.state_hash()
    with venue.host.sandbox():
        venue.advance("1h")
        inside = venue.control.state_hash()
        with pytest.raises(VenueError), venue.host.sandbox():
            venue.revert(99)
        with venue.host.sandbox() as same:
            assert same is venue.host
            venue.advance("1h")
        assert venue.control.state_hash() == inside
    assert venue.control.state_hash() == before
    with pytest.raises(VenueError, match="There are: none"):
        venue.revert(1)


def test_a_clock_runs_as_many_times_faster_as_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    elapsed = [100.0]
    monkeypatch.setattr(clocks.time, "monotonic", lambda: elapsed[0])
    with LocalVenue(start="2026-03-01", speed=60, market=False, accounts=0) as venue:
        begin = venue.host.now_ms()
        elapsed[0] += 60
        assert venue.host.catch_up() == begin + HOUR
        mark = venue.snapshot()
        elapsed[0] += 600
        venue.host.catch_up()
        venue.revert(mark)
        elapsed[0] += 1
        assert venue.host.catch_up() == begin + HOUR + 60_000
    with pytest.raises(InputError, match="speed is for the real clock"):
        LocalVenue(clock="manual", speed=2)


def test_a_loaded_core_lists_what_it_was_loaded_with() -> None:
    venue = eventful()
    venue.control.ban(OTHER.address)
    venue.control.limit("withdraw", 3, "2s")
    again = Core.load(venue.host.core.dump())
    assert again.state.laboratory == venue.host.core.state.laboratory
    assert again.state_hash() == venue.control.state_hash()


def deeds(world: World) -> set[str]:
    return {line.split(": ", 1)[1] for line in world.story if line[0].isdigit()}


def test_clients_and_venue_agree_after_every_bad_day(tmp_path: Path) -> None:
    done: set[str] = set()
    states: set[IntentState] = set()
    for seed in range(10):
        world = play(seed, tmp_path / str(seed))
        assert world.answered
        done |= deeds(world)
        states |= {intent.state for intents in world.ended for intent in intents}
    assert done == set(STEP_KINDS)
    assert states == {IntentState.ACCEPTED, IntentState.REJECTED}


def test_a_schedule_repeats_by_its_seed(tmp_path: Path) -> None:
    one, two = play(3, tmp_path / "a"), play(3, tmp_path / "b")
    assert one.story == two.story
    assert one.venue.control.state_hash() == two.venue.control.state_hash()


def test_a_failure_tells_the_seed_that_repeats_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose_a_transaction(world: World) -> None:
        world.answered.add("0x00")

    monkeypatch.setattr("tests.venue.world.settle", lose_a_transaction)
    with pytest.raises(AssertionError, match="answered and lost") as caught:
        play(5, tmp_path / "w")
    assert caught.value.__notes__[0].startswith("seed 5 repeats this; what happened:\n")


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1_000, 1_300, 100))
def test_thousands_of_bad_days(tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 100):
        play(seed, tmp_path / str(seed))
