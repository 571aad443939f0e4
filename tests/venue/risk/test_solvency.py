"""No fill makes a debt: takers and makers, cross and isolated, opening and closing, both sides and both modes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import ceil, floor

import pytest

from tests.venue.play import ETH, MICRO, Play
from toolkit.errors import VenueError
from toolkit.venue import host
from toolkit.venue.engine.core import Core
from toolkit.venue.local import LocalVenue
from toolkit.venue.risk import account_margin, solvency, witness
from toolkit.venue.risk.audit import COUNTERPARTY
from toolkit.venue.risk.ledger import BANKRUPTCY

SIDES = [1, -1]
MODES = ["cross", "isolated", "hedge", "isolated hedge"]


def traded(side: int, mode: str, quantity: str = "6") -> Play:
    """Ann is long (short) 6 BTC at 60,000 with 40x against bob, of 10,000 each; zoe has plenty."""
    play = Play()
    play.oracle(60_000)
    play.fund(10_000, "ann", "bob")
    play.fund(10_000_000, "zoe")
    if "hedge" in mode:
        play.hedge("ann", "bob")
    for name in ("ann", "bob"):
        play.leverage(name, 40)
        if "isolated" in mode:
            play.isolated(name)
    play.trade(*(("ann", "bob") if side > 0 else ("bob", "ann")), quantity, 60_000)
    return play


def names(side: int, mode: str, *, closing: bool) -> str:
    """Return the name of an order's side for an account in this mode."""
    return ("BUY" if side > 0 else "SELL") + ("_CLOSE_HEDGE" if closing and "hedge" in mode else "")


def equity(play: Play, name: str, mode: str) -> int:
    account, position = play.account(name), play.position(name)
    if "isolated" in mode and (position.long.size or position.short.size):
        return account_margin.isolated_margin(play.core, position).equity
    return account_margin.cross_equity(play.core, account)


def bankruptcy(play: Play, name: str, mode: str) -> int:
    """Return the price in ticks at which closing all leaves nothing, from entry value and margin, rounded away."""
    position = play.position(name)
    longs, shorts = position.long.size, position.short.size
    margin = position.assigned if "isolated" in mode else play.balance(name)
    value = position.long.value - position.short.value - margin
    exact = Fraction(value, (longs - shorts) * 100)
    return ceil(exact) if longs else floor(exact)


def burdens(core: Core) -> list[object]:
    """Return what others paid of a loss: cash, or the price at which they were deleveraged, worse than mark."""
    history = core.state.history
    paid = [record for record in history.ledger.records if record.kind == BANKRUPTCY]
    closed = [step for step in history.liquidations.records if step.where == COUNTERPARTY]
    return [*paid, *(step for step in closed if step.side * (step.price - step.mark) > 0)]


def text_of(price_ticks: int) -> str:
    return f"{price_ticks // 10}.{price_ticks % 10}"


def last_reason(play: Play, name: str) -> str:
    return play.core.state.history.order_events.of(play.address(name))[-1].reason


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("side", SIDES)
def test_two_accounts_do_not_turn_20_000_into_333_360(side: int, mode: str) -> None:
    play = traded(side, mode)
    before = play.balance("ann") + play.balance("bob")
    price = 57_500 if side > 0 else 62_500
    play.placed("bob", names(side, mode, closing=True), "6", price)
    play.placed("ann", names(-side, mode, closing=True), "6", price)
    assert f"bankruptcy price: 6.000 at {text_of(bankruptcy(play, 'ann', mode))} would" in last_reason(play, "ann")
    assert not [fill for fill in play.fills("ann") if fill.fill_price == price * 10]
    for _ in range(3):
        play.advance(3_000)
    assert play.balance("ann") + play.balance("bob") <= before
    assert not burdens(play.core)


@pytest.mark.parametrize("ticks", [0, 1])
@pytest.mark.parametrize("taker", [True, False])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("side", SIDES)
def test_what_closes_trades_at_the_bankruptcy_price_and_not_beyond(
    side: int, mode: str, taker: bool, ticks: int
) -> None:
    play = traded(side, mode)
    text = text_of(bankruptcy(play, "ann", mode) - side * ticks)
    ann = ("ann", names(-side, mode, closing=True), "3", text)
    zoe = ("zoe", names(side, "", closing=False), "3", text)
    for order in (zoe, ann) if taker else (ann, zoe):
        play.placed(*order)
    leg = play.position("ann").long if side > 0 else play.position("ann").short
    assert leg.size == (3_000 if not ticks else 6_000)
    assert equity(play, "ann", mode) >= 0
    if ticks:
        assert "No fill makes a debt" in last_reason(play, "ann")


@pytest.mark.parametrize("tif", ["IOC", "FOK", "GTC"])
@pytest.mark.parametrize("side", SIDES)
def test_a_resting_order_far_behind_the_mark_is_trimmed_to_what_its_account_bears(side: int, tif: str) -> None:
    play = Play()
    play.oracle(60_000)
    play.fund(10_000, "ann")
    play.fund(10_000_000, "zoe")
    play.leverage("ann", 40)
    # 6 BTC hold 9,000 as margin; 5 % beyond the mark they would lose 18,900
    play.placed("ann", names(side, "", closing=False), "6", 60_000)
    play.oracle(60_000 - side * 3_000)
    play.placed("zoe", names(-side, "", closing=False), "6", 60_000, timeInForce=tif)
    filled = sum(fill.fill_quantity for fill in play.fills("ann") if fill.fill_price == 600_000)
    # of one BTC, and the maker fee of 0.01 %
    most = 10_000 * MICRO * 1_000 // (3_000 * MICRO + 6 * MICRO)
    assert 1_000 < most < 6_000
    assert filled == (0 if tif == "FOK" else most)
    assert account_margin.wallet(play.core, play.account("ann")).equity >= 0
    events = play.core.state.history.order_events.of(play.address("ann"))
    assert any("No fill makes a debt" in event.reason for event in events) is (tif != "FOK")


@pytest.mark.parametrize("side", SIDES)
def test_the_check_of_a_served_venue_sees_a_fill_that_makes_a_debt(side: int, monkeypatch: pytest.MonkeyPatch) -> None:
    play = traded(side, "cross")
    monkeypatch.setattr(solvency, "bearable_steps", lambda core, position, order, steps, *rest: steps)
    price = 57_500 if side > 0 else 62_500
    play.placed("bob", names(side, "cross", closing=True), "6", price)
    with pytest.raises(VenueError, match=r"6e6e came to owe money at an unchanged mark"):
        play.placed("ann", names(-side, "cross", closing=True), "6", price)


def test_a_venue_with_check_on_watches_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    watches: list[int] = []

    @contextmanager
    def watched(core: Core, time: int) -> Iterator[None]:
        watches.append(time)
        with witness.watched(core, time):
            yield

    monkeypatch.setattr(host, "watched", watched)
    with LocalVenue(clock="manual", accounts=1) as venue:
        for check in (False, True, False):
            venue.host.check = check
            venue.control.fund(venue.host.masters[0], "1")
        assert watches == [venue.host.now_ms()]


@pytest.mark.parametrize("side", [1, -1])
def test_what_an_isolated_position_gains_bears_no_loss_of_a_cross_one(side: int) -> None:
    """Two products: the isolated one has a gain of 20,000, behind the cross one stand 2,500 less what its fees took."""
    play, (buy, sell) = Play(), ("BUY", "SELL")[::side]
    play.oracle(60_000)
    play.oracle(3_000, ETH)
    play.fund(4_000, "ann")
    play.fund(5_000_000, "bob")
    play.isolated("ann", ETH)
    play.leverage("ann", 40)
    play.leverage("ann", 40, ETH)
    for name, way in (("bob", sell), ("ann", buy)):
        play.placed(name, way, "20", 3_000, ETH)
        play.placed(name, way, "1", 60_000)
    play.oracle(3_000 + side * 1_000, ETH)
    equity = account_margin.cross_margin(play.core, play.account("ann")).equity
    beyond = 60_000 - side * (equity // MICRO + 10)
    play.placed("bob", buy, "1", beyond)
    play.placed("ann", sell, "1", beyond, timeInForce="IOC")
    held = play.position("ann")
    assert (held.long if side > 0 else held.short).size == 1_000, "its own equity does not reach so far"
    play.order("bob", buy, "1", 60_000 - side * (equity // MICRO - 100))
    play.placed("ann", sell, "1", beyond, timeInForce="IOC")
    assert (held.long.size, held.short.size) == (0, 0)
