"""The curve of equity: every moment that is known is in it, once and in order, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.tuples import changed
from tests.venue.play import MICRO, Play, quoted
from toolkit.venue.model.constants import ISOLATED, RATE
from toolkit.venue.risk import account_margin, equity_curve, ledger

HOUR, DAY = 3_600_000, 86_400_000

STEPS = st.one_of(
    st.tuples(st.just("wait"), st.sampled_from([0, 0, 1, 7_000, 60_000, 61_000, HOUR, 11 * HOUR])),
    st.tuples(st.sampled_from(["BUY", "SELL"]), st.sampled_from(["0.1", "0.25"])),
    st.tuples(
        st.sampled_from(["BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE", "fund", "withdraw", "isolated", "close"]), st.just("5")
    ),
    st.tuples(st.just("oracle"), st.sampled_from([62_420, 62_450, 62_480])),
)


def known(play: Play, flat: dict[int, bool]) -> list[tuple[int, ...]]:
    """Return what is known of ann's equity, instant by instant; `flat` says whether she held nothing after each."""
    core, account = play.core, play.account("ann")
    entries, samples = ledger.entries(core, account.address), core.state.history.equity.get(account.address, [])
    rows, brought, cash = list[tuple[int, ...]](), 0, 0
    for time in sorted({each.time for each in (*entries, *samples)}):
        rows += [(time, each.equity, each.balance, each.ratio, brought) for each in samples if each.time == time]
        here = [entry for entry in entries if entry.time == time]
        was_flat = [True, *(one for then, one in flat.items() if then < time)][-1]
        if was_flat and rows:
            rows.append((time, cash, cash, 0, brought))
        flows = [entry.kind in ledger.CAPITAL_FLOWS for entry in here]
        first = [*flows, False].index(False) if was_flat else 0
        """Number of movements of capital before the first trade."""
        for at, entry in enumerate(here, 1):
            brought, cash = brought + entry.amount * flows[at - 1], entry.balance
            if at == first or (at == len(here) and flat.get(time)):
                rows.append((time, cash, cash, 0, brought))
    now = equity_curve.equity_point(core, account)
    rows.append((play.now, now.equity, now.balance, now.ratio, brought))
    return unique(rows)


def unique(rows: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [tuple(row) for at, row in enumerate(rows) if not at or row != rows[at - 1]]


@settings(max_examples=12)
@given(hedge=st.booleans(), steps=st.lists(STEPS, max_size=30))
def test_the_curve_has_every_moment_that_is_known(hedge: bool, steps: list[tuple[str, Any]]) -> None:
    play = quoted()
    if hedge:
        play.hedge("ann")
    ann, flat = play.account("ann"), dict[int, bool]()
    for kind, amount in [*steps, ("wait", 1)]:
        if kind == "wait":
            play.advance(amount)
        elif kind == "oracle":
            play.oracle(amount)
        elif kind == "fund":
            play.fund(amount, "ann")
        elif kind == "withdraw":
            play.withdraw("ann", amount)
        elif kind == "isolated":
            play.isolated("ann")
        elif kind == "close":
            for leg, side in (("long", "SELL"), ("short", "BUY")):
                size = getattr(ann.positions[1], leg).size if 1 in ann.positions else 0
                if size:
                    trade(play, side + "_CLOSE_HEDGE" * hedge, f"{size / 1000}")
        else:
            trade(play, kind, "0.1" if amount == "5" else amount)
        flat[play.now] = not any(p.long.size or p.short.size for p in ann.positions.values())
    start, last = play.core.state.genesis_time, play.now + 1
    points = equity_curve.curve(play.core, ann, start, last)
    assert [tuple(point) for point in points] == known(play, flat)
    samples = {sample.time for sample in play.core.state.history.equity.get(ann.address, [])}
    for cut in {*range(start + DAY, last, DAY), *list(flat)[1:-1:5]} - {start}:
        before, after = ([p for p in points if p.time < cut], [p for p in points if p.time >= cut])
        edge = after[0] if cut in samples else changed(before[-1], time=cut)
        assert equity_curve.curve(play.core, ann, start, cut) == unique([*before, edge])
        assert equity_curve.curve(play.core, ann, cut, last) == unique([edge, *after])


def trade(play: Play, side: str, quantity: str) -> None:
    price = 62_500 if side.startswith("BUY") else 62_400
    play.order("ann", side, quantity, price, timeInForce="IOC")


def test_what_a_liquidation_leaves_follows_the_sample_of_its_begin() -> None:
    play = quoted()
    play.placed("ann", "BUY", "1.5", 62_500, timeInForce="IOC")
    play.advance(HOUR + 30_000)
    play.act("bob", type="cancelAll", symbolCode=1, conditionalOrder=False)
    play.oracle(56_400)
    play.advance(45_000)
    ann = play.account("ann")
    assert not ann.positions[1].long.size
    sampled = play.core.state.history.equity[ann.address]
    begun = next(each for each in sampled if each.ratio > 10**8)
    [ended] = [each for each in sampled if each.time >= begun.time and not each.ratio]
    points = equity_curve.curve(play.core, ann, 0, play.now + 1)
    inside = [tuple(each)[:4] for each in points if begun.time <= each.time <= ended.time]
    assert inside[0] == (begun.time, begun.equity, begun.balance, begun.ratio)
    assert inside[-1] == (ended.time, ended.equity, ended.balance, 0)
    assert ended.equity == ledger.entries(play.core, ann.address)[-1].balance
    assert {each.net_deposits for each in points} == {10_000 * MICRO}


def test_of_a_participant_only_its_capital_and_its_samples_are_known() -> None:
    """The venue keeps no record of positions that its participants have closed, which pay no fee for opening one: from
    the first profit or loss on, cash is not taken for equity."""
    play = quoted()
    play.account("ann").kind = "market"
    play.advance(HOUR)
    play.fund(7, "ann")
    play.advance(HOUR)
    play.fund(5, "ann")
    play.placed("ann", "BUY", "1", 62_500, timeInForce="IOC")
    cash = play.balance("ann")
    play.advance(30_000)
    play.placed("ann", "SELL", "1", 62_400, timeInForce="IOC")
    traded = play.now
    play.fund(100, "ann")
    play.advance(20_000)
    points = [tuple(each) for each in equity_curve.curve(play.core, play.account("ann"), 0, play.now + 1)]
    assert cash == 10_012 * MICRO
    begin = play.core.state.genesis_time
    money = [10_000, 10_000, 10_007, 10_007, 10_012, 10_012]
    times = [begin, begin + HOUR, begin + HOUR, begin + 2 * HOUR, begin + 2 * HOUR, traded]
    flat = [(time, each * MICRO, each * MICRO, 0, each * MICRO) for time, each in zip(times, money, strict=True)]
    assert points == [*flat, (play.now, *[play.balance("ann")] * 2, 0, 10_112 * MICRO)]


def test_who_holds_a_position_is_sampled_each_minute_and_once_more_when_flat() -> None:
    play = quoted()
    begin, samples = play.now, play.core.state.history.equity
    play.advance(61_000)
    assert play.account("ann").address not in samples, "nobody holds anything"
    trade(play, "BUY", "0.1")
    play.advance(60_000)
    play.advance(60_000)
    trade(play, "SELL", "0.1")
    play.advance(180_000)
    found = samples[play.account("ann").address]
    assert [each.time - begin for each in found] == [120_000, 180_000, 240_000]
    assert [bool(each.ratio) for each in found] == [True, True, False]
    assert ledger.CLEARING not in samples


def test_a_sample_has_the_worst_ratio_of_the_margin_groups_and_at_most_ten() -> None:
    play = quoted()
    ann = play.account("ann")
    trade(play, "BUY", "0.1")
    cross = equity_curve.equity_point(play.core, ann)
    assert cross.ratio == account_margin.cross_margin(play.core, ann).ratio
    wallet = account_margin.wallet(play.core, ann)
    assert (cross.time, cross.equity, cross.balance) == (play.now, wallet.equity, wallet.balance)
    ann.positions[1].mode = ISOLATED
    ann.positions[1].assigned = 100 * MICRO
    alone = equity_curve.equity_point(play.core, ann)
    assert alone.ratio == account_margin.isolated_margin(play.core, ann.positions[1]).ratio
    for assigned in (10 * MICRO, 5 * MICRO, 0, -(10**12)):
        ann.positions[1].assigned = assigned
        assert equity_curve.equity_point(play.core, ann).ratio == 10 * RATE


@pytest.mark.parametrize(
    ("start", "end", "known"),
    [(0, 5, False), (0, 6, True), (5, 6, True), (6, 7, True), (7, 8, True), (8, 9, False)],
)
def test_there_is_no_equity_before_the_first_deposit_and_after_now(start: int, end: int, known: bool) -> None:
    play = Play()
    begin = play.now
    play.advance(5)
    play.fund(3, "cat")
    play.advance(2)
    found = equity_curve.curve(play.core, play.account("cat"), begin + start, begin + end)
    assert bool(found) is known
    assert all(max(5, start) <= each.time - begin <= 7 for each in found)
    assert {each.equity for each in found} <= {3 * MICRO}
