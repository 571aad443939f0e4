"""Trading fees: who pays what, by volume, with builders and rebates; rounding never makes or loses a micro-USDC."""

from __future__ import annotations

import pytest

from tests.venue.play import BTC, MICRO, Play
from toolkit.venue.engine.core import Core
from toolkit.venue.model.accounts import VenueOrder
from toolkit.venue.model.constants import ADL, DAY, LIMIT, LIQUIDATION, TAKER
from toolkit.venue.risk import fees, ledger


@pytest.fixture
def play() -> Play:
    play = Play()
    play.fund(100_000, "ann", "bob")
    return play


def test_the_fee_of_the_largest_order_at_the_highest_price_leaves_a_state_that_can_be_kept(play: Play) -> None:
    play.fund(10**10, "ann", "bob")
    play.oracle(90_000)
    play.trade("ann", "bob", "1000", 90_000)
    play.oracle(999_999)
    play.trade("bob", "ann", "1000", 999_999)
    assert play.fills("bob")[-1].close_fee == 999_999_000 * MICRO * 6 // 10_000
    assert Core.load(play.core.dump()).state_hash() == play.core.state_hash()


@pytest.mark.parametrize(
    ("volume", "maker", "taker"),
    [
        (0, 10_000, 60_000),
        (4_999_999, 10_000, 60_000),
        (5_000_000, 8_000, 55_000),
        (10_000_000, 6_000, 50_000),
        (25_000_000, 4_000, 45_000),
        (500_000_000, 2_000, 37_500),
        (1_250_000_000, 1_000, 35_000),
    ],
)
def test_rates_follow_the_volume_of_thirty_days(play: Play, volume: int, maker: int, taker: int) -> None:
    ann, today = play.account("ann"), play.now // DAY
    ann.volumes = {today - 30: volume * MICRO // 2, today - 1: volume * MICRO - volume * MICRO // 2}
    assert fees.rates(play.core, ann, play.core.products[BTC]) == (maker, taker)


def test_an_accounts_own_rates_win_and_may_be_negative(play: Play) -> None:
    play.account("bob").maker_rate = -5_000
    play.trade("ann", "bob", "0.5", 60_000)
    assert play.balance("bob") == 100_000 * MICRO + 1_500_000
    assert play.core.state.accounts[ledger.FEES].balance == 18 * MICRO - 1_500_000


def test_the_volume_of_a_day_adds_up_and_is_forgotten_when_it_counts_no_more(play: Play) -> None:
    ann, today = play.account("ann"), play.now // DAY
    days = play.core.state.config.volume_days
    ann.volumes = {today - days - 1: 1, today - days: 2, today - 1: 4}
    assert fees.volume(play.core, ann) == 6
    for value in (8, 16):
        fees.note_volume(play.core, ann, value)
    assert ann.volumes == {today - days: 2, today - 1: 4, today: 24}
    assert fees.volume(play.core, ann) == 6, "today does not count yet"


def an_order(play: Play, name: str, **fields: object) -> VenueOrder:
    order = VenueOrder(1, play.address(name), BTC, 1, False, 1, 1, 0, 600_000, 5, 0)
    for field, value in fields.items():
        setattr(order, field, value)
    return order


@pytest.mark.parametrize(
    ("maker", "taker", "builder_rate", "roundings", "cost"),
    [
        (None, None, 0, 0, 6_001),
        (None, None, 0, 5, 6_001),
        (None, None, 33_333, 0, 6_001 + 3_334),
        (None, None, 33_333, 5, 6_001 + 3_334 + 5),
        (90_000, None, 0, 0, 9_001),
        (-5, -7, 0, 0, 0),
    ],
)
def test_the_worst_cost_is_the_dearer_rate_and_the_builder_rounded_up(
    play: Play, maker: int | None, taker: int | None, builder_rate: int, roundings: int, cost: int
) -> None:
    ann = play.account("ann")
    ann.maker_rate, ann.taker_rate = maker, taker
    assert fees.worst_cost(play.core, ann, play.core.products[BTC], 10_000_001, builder_rate, roundings) == cost


@pytest.mark.parametrize(
    ("type", "reduce", "paid"),
    [(LIMIT, 0, 6_000), (ADL, 0, 0), (ADL, 1, 0), (LIQUIDATION, 0, 0), (LIQUIDATION, 1, 6_000)],
)
def test_only_trades_in_the_book_cost_a_fee_but_all_count_as_volume(
    play: Play, type: int, reduce: int, paid: int
) -> None:
    ann = play.account("ann")
    order = an_order(play, "ann", type=type, reduce=reduce)
    charged = fees.charge(play.core, ann, play.core.products[BTC], order, TAKER, 4_000_000, 6_000_000)
    assert charged == (paid * 4 // 10, paid * 6 // 10, 0)
    assert play.balance("ann") == 100_000 * MICRO - paid
    assert ann.volumes == {play.now // DAY: 10 * MICRO}


@pytest.mark.parametrize("parts", [(1, 1, 1), (999, 1, 1_000), (333_333, 333_333, 333_335)])
@pytest.mark.parametrize(("rate", "due"), [(10_000, 1), (-10_000, -1), (33_333, 1)])
def test_the_fills_of_an_order_cost_together_what_one_fill_of_all_costs(
    play: Play, parts: tuple[int, ...], rate: int, due: int
) -> None:
    ann, product = play.account("ann"), play.core.products[BTC]
    ann.taker_rate = rate
    order = an_order(play, "ann")
    paid = [sum(fees.charge(play.core, ann, product, order, TAKER, part, 0)) for part in parts]
    assert sum(paid) == -(-sum(parts) * rate // 10**8)
    assert [one * due >= 0 for one in paid] == [True] * 3 or rate < 0


def test_rebates_are_offered_for_fees_that_were_paid_and_with_the_value_traded(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, int, int]] = []
    monkeypatch.setattr(fees, "REBATES", [lambda core, payer, fee, value: seen.append((payer.address, fee, value))])
    play.account("bob").maker_rate = -5_000
    play.trade("ann", "bob", "0.5", 60_000)
    assert seen == [(play.address("ann"), 18 * MICRO, 30_000 * MICRO)]
