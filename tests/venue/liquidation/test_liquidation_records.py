"""Liquidations in records: whole steps by hand, what begins and ends one, which orders it takes, bands, the vault."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.venue.liquidation.test_liquidation import opened
from tests.venue.play import BTC, ETH, MICRO, Play
from toolkit.venue.engine.changes import AccountChanged
from toolkit.venue.liquidation.margin_groups import MarginGroup
from toolkit.venue.model.constants import CROSS, ISOLATED, LIQUIDATING, NORMAL, RATE
from toolkit.venue.model.history import LiquidationStep
from toolkit.venue.model.state import Liquidation
from toolkit.venue.risk import account_margin, ledger
from toolkit.venue.risk.ledger import LP_VAULT

SIDES = pytest.mark.parametrize("side", [1, -1])
MODES = pytest.mark.parametrize("isolated", [False, True])


def steps(play: Play, name: str) -> list[LiquidationStep]:
    return play.core.state.history.liquidations.of(play.address(name))


@MODES
@SIDES
def test_each_step_of_the_ladder_is_recorded_whole(side: int, isolated: bool) -> None:
    """1 BTC with 3,000 USDC, marked 2,500 away: 0.6 in the book at the average of three levels, then what five times
    2,000 USDC hold at mark, then the rest at the price that leaves nothing."""
    play = Play(lp_capital=2_000 * MICRO, lp_slice=0)
    opened(play, side, isolated=isolated)
    play.fund(1_000_000, "zoe")
    for quantity, away in (("0.2", 2_600), ("0.3", 2_900), ("0.1", 3_000), ("1", "3000.1")):
        price = Decimal(60_000) - side * Decimal(away)
        play.placed("zoe", "BUY" if side > 0 else "SELL", quantity, price)
    play.advance(5)
    begun = play.now
    play.oracle(60_000 - side * 2_500)
    mark = 600_000 - side * 25_000
    records = play.core.state.history.ledger.of(LP_VAULT)
    [fee] = [record for record in records if record.kind == ledger.LIQUIDATION_FEE]
    if side > 0:
        # 34,310 USDC for 0.6 and a fee of 20.586. 0.173 of 57,500 are below 10,000, 0.4 of them cost half a percent of
        # their maintenance margin. 288.792281 over 0.227 are 1,272.2 a BTC
        expected = [(600, 571_833, 500_000_000), (173, 575_000, 289_414_000), (227, 562_278, 288_792_281)]
        assert (fee.paid, fee.received) == (621_719, 621_718)
    else:
        # 37,690 USDC for 0.6 and a fee of 22.614. 0.16 of 62,500 are 10,000. 286.761 over 0.24 are 1,194.8
        expected = [(600, 628_166, 500_000_000), (160, 625_000, 287_386_000), (240, 636_948, 286_761_000)]
        assert (fee.paid, fee.received) == (625_000, 625_000)
    places = ("BOOK", ""), ("LP_VAULT", LP_VAULT), ("ADL", play.address("bob"))
    hashes = {step.tx_hash for step in steps(play, "ann")}
    assert len(hashes) == 1
    assert steps(play, "ann") == [
        LiquidationStep(
            number, begun, play.address("ann"), BTC, ISOLATED if isolated else CROSS, side, quantity, where, price,
            mark, other, equity, 0, hashes.copy().pop(),
        )
        for number, ((where, other), (quantity, price, equity)) in enumerate(zip(places, expected, strict=True), 1)
    ]  # fmt: skip
    left = play.balance("ann")
    assert 0 <= left < 23 * MICRO // 1_000, "less than a tick of what was deleveraged"
    assert (play.position("ann").assigned, play.account("ann").status) == (0, NORMAL)


@MODES
@SIDES
@pytest.mark.parametrize("worse", [0, 1])
def test_the_book_takes_a_position_at_exactly_the_bankruptcy_price_and_not_a_tick_worse(
    side: int, isolated: bool, worse: int
) -> None:
    play = Play(lp_slice=0)
    opened(play, side, isolated=isolated)
    play.fund(1_000_000, "zoe")
    price = Decimal(60_000) - side * (3_000 + Decimal(worse) / 10)
    play.placed("zoe", "BUY" if side > 0 else "SELL", "2", price)
    play.oracle(60_000 - side * 2_500)
    assert steps(play, "ann")[0].where == ("LP_VAULT" if worse else "BOOK")


@MODES
@SIDES
def test_a_liquidation_begins_and_ends_with_an_event_a_sample_and_a_record(side: int, isolated: bool) -> None:
    """While its product is paused nothing is closed, so that only the beginning and the end are seen."""
    play = Play(lp_slice=0)
    opened(play, side, isolated=isolated)
    play.advance(60_000)
    play.control("pause", product=BTC)
    changed: list[tuple[str, int]] = []
    emit = play.core.emit

    def keep(event: object) -> None:
        if isinstance(event, AccountChanged):
            changed.append((event.address, play.now))
        emit(event)  # type: ignore[arg-type]

    play.core.emit = keep  # type: ignore[method-assign, assignment]
    account, before = play.account("ann"), {code: one.mark for code, one in play.core.state.markets.items()}
    assert account.status == NORMAL
    play.advance(1)
    begun = play.now
    play.oracle(60_000 - side * 2_500)
    key = f"{account.address}:{BTC if isolated else 0}"
    begins = Liquidation(account.address, BTC if isolated else 0, begun, begun, before)
    assert play.core.state.liquidations == {key: begins}
    assert (account.status, account.updated, changed) == (LIQUIDATING, begun, [(account.address, begun)])
    curve = play.core.state.history.equity[account.address]
    assert (curve[-1].time, curve[-1].ratio >= RATE) == (begun, True)
    play.advance(7)
    play.oracle(60_000)
    assert (play.core.state.liquidations, account.status, account.updated) == ({}, NORMAL, begun + 7)
    assert changed[1:] == [(account.address, begun + 7)]
    assert (curve[-1].time, curve[-1].ratio < RATE) == (begun + 7, True)


@SIDES
@pytest.mark.parametrize("isolated", [False, True])
def test_a_liquidation_takes_exactly_the_orders_that_could_open_a_position_of_its_margin(
    side: int, isolated: bool
) -> None:
    """A cross group also loses orders in isolated products, whose margin comes from its balance. Reducing and waiting
    orders stay, and an order that would close more than the position goes."""
    play, (buy, sell) = Play(lp_slice=0), ("BUY", "SELL")[::side]
    play.oracle(60_000)
    play.oracle(3_000, ETH)
    play.fund(40_000, "ann")
    play.fund(1_000_000, "bob")
    play.isolated("ann", BTC if isolated else ETH)
    play.placed("bob", sell, "4", 60_000)
    play.placed("ann", buy, "4", 60_000)
    far, away = 60_000 + side * 9_000, 60_000 - side * 9_000
    exit_ = {
        "tpslTriggerType": "MARK_PRICE",
        "reduceOnlyOption": "TP_FROM_POSITION",
        "triggerPx": str(far + side * 500),
    }
    orders = {
        "opens": (buy, "0.1", away, BTC, {}),
        "reduces": (sell, "1", far, BTC, {}),
        "reduce-only": (sell, "1.5", far, BTC, {"reduceOnlyOption": "REDUCE_ONLY"}),
        "waits": (sell, "1", far + side * 500, BTC, exit_),
        "closes more": (sell, "4.1", far + side * 100, BTC, {}),
        "opens ETH": (buy, "0.1", 3_000 - side * 400, ETH, {}),
    }
    known: dict[int, str] = {}
    for name, (way, quantity, price, code, more) in orders.items():
        play.placed("ann", way, quantity, price, code, **more)
        known[max(play.account("ann").orders)] = name
    assert list(known.values()) == list(orders)
    play.control("pause", product=BTC)
    group = MarginGroup(play.account("ann"), BTC if isolated else 0)
    spare = account_margin.withdrawable(play.core, play.account("ann"))
    equity = group.figures(play.core).equity - (0 if isolated else spare)
    assert play.withdraw("ann", f"{spare // MICRO}").code == 0
    # the mark is the mean of this and of the book's median of 60,000
    play.oracle(60_000 - side * 2 * (equity // MICRO // 4 - 100))
    assert play.account("ann").status == LIQUIDATING
    left = {known[number] for number in play.account("ann").orders}
    gone = {"opens", "closes more"} | (set() if isolated else {"opens ETH"})
    assert left == set(orders) - gone
    ended = play.core.state.history.orders.of(play.address("ann"))
    assert {one.reason for one in ended if known.get(one.id) in gone} == {"the position is being liquidated"}


@SIDES
def test_of_two_debts_the_larger_is_the_insurances_first(side: int) -> None:
    """A debt without cross positions is first paid by what isolated positions are worth, then by INSURANCE."""
    play = Play(lp_capital=0, lp_slice=0)
    play.fund(1_000_000, "bob")
    opened(play, side, isolated=True)
    account = play.account("ann")
    play.fund(1, "cyd", "dan")
    for name, debt in (("cyd", 5), ("dan", 7)):
        play.account(name).balance -= (debt + 1) * MICRO
        play.core.risk_index.touched[play.address(name)] = play.account(name)
    account.balance -= 100 * MICRO
    play.core.risk_index.touched[account.address] = account
    play.account("bob").balance += 114 * MICRO  # what the others have lost
    first = len(play.core.state.history.ledger.records)
    play.core.run_hooks()
    rows = [
        (one.kind, one.payer[-2:], play.name(one.receiver) if one.receiver else "", one.paid)
        for one in play.core.state.history.ledger.records[first:]
    ]
    assigned = play.position("ann").assigned
    assert (account.balance, assigned) == (0, 2_900 * MICRO)
    assert rows == [
        ("ISOLATED_MARGIN", "", "ann", 100 * MICRO),
        ("BANKRUPTCY", "a5", "dan", 7 * MICRO),
        ("BANKRUPTCY", "a5", "cyd", 5 * MICRO),
    ]


@SIDES
def test_the_lp_vault_closes_a_leg_in_slices_by_the_clock_at_the_mark_or_better(side: int) -> None:
    """20,000 USDC are 0.348 BTC at 57,500 and 0.32 at 62,500, rounded up. Each minute has its own order."""
    play = Play(lp_pause=60_000)
    opened(play, side)
    play.oracle(60_000 - side * 2_500)
    vault = play.core.state.accounts[LP_VAULT]
    slice_steps = 348 if side > 0 else 320
    assert play.core.state.schedule["unwind"] == play.now + 60_000
    play.advance(60_000)
    [order] = vault.orders.values()
    mark = play.core.state.markets[BTC].mark
    assert (order.side, order.price, order.leaves, order.reducing) == (-side, mark, slice_steps, True)
    interval = play.core.state.config.price_interval
    assert play.core.state.schedule["quotes"] == (play.now // interval + 1) * interval
    play.oracle(60_000 - side * 2_400)  # the mark passes the order, which follows it
    [order] = vault.orders.values()
    better = play.core.state.markets[BTC].mark
    assert ((better - mark) * side > 0, order.price) == (True, better)
    last = play.core.state.history.order_events.of(LP_VAULT)[-1]
    assert last.reason == "it follows the mark"
    play.oracle(60_000 - side * 2_600)  # it never follows to a worse price
    assert [one.price for one in vault.orders.values()] == [better]
    play.advance(60_000)
    assert [one.leaves for one in vault.orders.values()] == [349 if side > 0 else 320], "a new slice at the new mark"
    ended = play.core.state.history.orders.of(LP_VAULT)[-1]
    assert (ended.reason, ended.filled) == ("its minute is over", 0)
    assert {"unwind", "quotes"} <= set(play.core.state.schedule)
    play.fund(1_000_000, "zoe")
    play.placed(
        "zoe",
        "BUY" if side > 0 else "SELL",
        Decimal(slice_steps + (side > 0)) / 1_000,
        "57600" if side > 0 else "62400",
    )
    assert vault.orders == {}
    play.advance(interval)
    assert ("quotes" in play.core.state.schedule, "unwind" in play.core.state.schedule) == (False, True)


@SIDES
def test_what_the_counterparties_do_not_pay_is_recorded_once_with_the_first_of_them(side: int) -> None:
    """Both lose in ETH what they gain in BTC, so that INSURANCE pays all that 3,000 USDC do not."""
    play, (buy, sell) = Play(lp_capital=0, lp_slice=0), ("BUY", "SELL")[::side]
    play.oracle(60_000)
    play.oracle(3_000, ETH)
    play.fund(3_036, "ann")
    play.fund(1_000_000, "bob", "cyd", "zed")
    for name in ("bob", "cyd"):
        play.placed(name, sell, "0.5", 60_000)
        play.placed(name, buy, "10", 3_000, ETH)
        play.placed("zed", sell, "10", 3_000, ETH)
    play.placed("ann", buy, "1", 60_000)
    play.control("pause", product=BTC)
    play.oracle(60_000 - side * 12_000)
    play.oracle(3_000 - side * 1_000, ETH)
    play.control("resume", product=BTC)
    found = steps(play, "ann")
    assert [(step.where, step.quantity, play.name(step.counterpart)) for step in found] == [
        ("ADL", 500, "bob"),
        ("ADL", 500, "cyd"),
    ]
    assert [step.paid for step in found] == [9_000 * MICRO, 0]
    assert play.balance("ann") == 0
    assert play.core.state.accounts[ledger.INSURANCE].balance == -9_000 * MICRO


@SIDES
@pytest.mark.parametrize("equity", [0, 1])
def test_between_two_slices_a_group_without_equity_is_closed_immediately(side: int, equity: int) -> None:
    play = Play(lp_slice=0)
    opened(play, side, quantity="10")
    play.fund(5_000_000, "zoe")
    play.placed("zoe", "BUY" if side > 0 else "SELL", "2", 60_000 - side * 2_900)
    play.oracle(60_000 - side * 2_900)
    assert [step.quantity for step in steps(play, "ann")] == [2_000]
    have = account_margin.cross_margin(play.core, play.account("ann")).equity
    play.fund(f"{((equity - have) % 800_000) / MICRO:.6f}", "ann")
    have = account_margin.cross_margin(play.core, play.account("ann")).equity
    mark = play.core.state.markets[BTC].mark
    play.oracle(Decimal(mark - side * ((have - equity) // 800_000)) / 10)
    assert len(steps(play, "ann")) == (1 if equity else 2)
    if equity:
        assert account_margin.cross_margin(play.core, play.account("ann")).equity == equity
        play.advance(30_000)
        assert len(steps(play, "ann")) > 1


@SIDES
def test_counterparties_are_deleveraged_in_the_published_order_on_both_sides(side: int) -> None:
    """Scores grow with leverage: a2 is first with all of its 10, then a5 with 10 of its 20."""
    play, (buy, sell) = Play(lp_capital=0), ("BUY", "SELL")[::side]
    play.oracle(3_000, ETH)
    play.fund(1_000_000, "other")
    for name, size, stake in (("a1", 10, 6_000), ("a2", 10, 2_000), ("a3", 20, 40_000), ("a4", 30, 15_000),
                              ("a5", 20, 8_000), ("a6", 10, 9_000)):  # fmt: skip
        play.fund(stake + size, name)
        play.placed("other", sell, size, 3_000, ETH)
        play.placed(name, buy, size, 3_000, ETH)
    play.fund(4_000, "weak")
    play.placed("other", buy, "20", 3_000, ETH)
    play.placed("weak", sell, "20", 3_000, ETH)
    play.oracle(3_000 + side * 180, ETH)
    found = [(play.name(step.counterpart), step.quantity) for step in steps(play, "weak")]
    assert found == [("a2", 10_000), ("a5", 10_000)]
    assert play.balance("weak") >= 0


@SIDES
def test_a_group_whose_equity_a_slice_has_used_up_is_closed_whole_before_the_next_group(side: int) -> None:
    """The fee of the first slice of 2 BTC is all that ann has left. Cyd has 300, and waits for the rest of hers."""
    play = Play(lp_slice=0)
    mark = 60_000 - side * 3_000
    opened(play, side, quantity="10")
    play.fund(str(Decimal(2 * mark) * Decimal("0.0006")), "ann")
    opened(play, side, name="cyd")
    play.fund(300, "cyd")
    play.fund(1_000_000, "zoe")
    play.placed("zoe", "BUY" if side > 0 else "SELL", "3", mark)
    play.oracle(mark)
    found = play.core.state.history.liquidations.records
    fee = 2 * mark * 600
    assert [(play.name(step.address), step.where, step.quantity, step.equity) for step in found] == [
        ("ann", "BOOK", 2_000, fee),
        ("ann", "LP_VAULT", 8_000, 0),  # the book would cost another fee
        ("cyd", "BOOK", 1_000, 300 * MICRO),
    ]
