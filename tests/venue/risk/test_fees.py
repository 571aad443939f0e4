"""Trading fees: who pays what, by volume, with builders and rebates; rounding never makes or loses a micro-USDC."""

from __future__ import annotations

import pytest

from tests.venue.play import BTC, MICRO, Play
from toolkit.venue.engine.core import Core
from toolkit.venue.model.accounts import VenueAccount, VenueOrder
from toolkit.venue.model.constants import ADL, DAY, LIMIT, LIQUIDATION, MAKER, TAKER
from toolkit.venue.model.genesis import FeeTier
from toolkit.venue.risk import fees, ledger

HOUR = 3_600_000


@pytest.fixture
def play() -> Play:
    play = Play()
    play.fund(100_000, "ann", "bob")
    return play


def test_maker_and_taker_pay_their_rates(play: Play) -> None:
    play.trade("ann", "bob", "0.5", 60_000)
    assert play.balance("ann") == 100_000 * MICRO - 18 * MICRO  # taker, 0.06 % of 30,000
    assert play.balance("bob") == 100_000 * MICRO - 3 * MICRO  # maker, 0.01 %
    assert play.core.state.accounts[ledger.FEES].balance == 21 * MICRO
    taker, maker = play.fills("ann")[-1], play.fills("bob")[-1]
    assert (taker.role, taker.open_fee, taker.close_fee) == (TAKER, 18 * MICRO, 0)
    assert (maker.role, maker.open_fee) == (MAKER, 3 * MICRO)


def test_the_fee_of_the_largest_order_at_the_highest_price_leaves_a_state_that_can_be_kept(play: Play) -> None:
    play.fund(10**10, "ann", "bob")
    play.trade("ann", "bob", "1000", 90_000)
    play.oracle(999_999)
    play.trade("bob", "ann", "1000", 999_999)
    assert play.fills("bob")[-1].close_fee == 999_999_000 * MICRO * 6 // 10_000
    assert Core.load(play.core.dump()).state_hash() == play.core.state_hash()


def test_a_flip_pays_for_its_closing_and_its_opening_part(play: Play) -> None:
    play.trade("ann", "bob", "0.1", 60_000)
    play.trade("bob", "ann", "0.3", 60_000)
    fill = play.fills("ann")[-1]
    assert (fill.close_fee, fill.open_fee) == (600_000, 1_200_000)


def test_payers_are_rounded_up_and_the_venue_down(play: Play) -> None:
    # XRP at 0.5003: value 0.5003 USDC a step; 21 steps: 10.5063, 0.06 % = 0.00630378
    play.oracle("0.5003", 4)
    play.placed("bob", "SELL", "21", "0.5003", 4)
    play.placed("ann", "BUY", "21", "0.5003", 4)
    assert play.balance("ann") == 100_000 * MICRO - 6_304
    assert play.balance("bob") == 100_000 * MICRO - 1_051
    accounts = play.core.state.accounts
    assert accounts[ledger.FEES].balance == 6_303 + 1_050
    assert accounts[ledger.ROUNDING].balance == 2


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


def test_today_and_days_beyond_the_window_do_not_count_yet_or_any_more() -> None:
    play = Play(volume_days=2, price_interval=HOUR)
    ann, today = play.account("ann"), play.now // DAY
    ann.volumes = {today: 10**18, today - 3: 10**18}
    assert fees.volume(play.core, ann) == 0
    play.advance(DAY)
    assert fees.volume(play.core, ann) == 10**18
    assert fees.rates(play.core, ann, play.core.products[BTC]) == (1_000, 35_000)
    play.advance(2 * DAY)
    assert fees.volume(play.core, ann) == 0
    fees.note_volume(play.core, ann, 5)
    assert list(ann.volumes) == [play.now // DAY]


def test_an_accounts_own_rates_win_and_may_be_negative(play: Play) -> None:
    play.account("bob").maker_rate = -5_000
    play.trade("ann", "bob", "0.5", 60_000)
    assert play.balance("bob") == 100_000 * MICRO + 1_500_000
    assert play.core.state.accounts[ledger.FEES].balance == 18 * MICRO - 1_500_000


def test_builder_fees_come_on_top_and_reach_the_builder(play: Play) -> None:
    order = VenueOrder(1, play.address("ann"), BTC, 1, False, 1, 1, 0, 600_000, 5, 0)
    order.builder, order.builder_rate = play.address("bill"), 33_333
    charged = fees.charge(play.core, play.account("ann"), play.core.products[BTC], order, TAKER, 10_000_001, 0)
    assert charged == (6_001, 0, 3_334)  # 0.06 % and 0.033333 % of 10.000001, rounded up
    assert play.balance("bill") == 3_333
    assert play.kinds("ann")[-1] == (ledger.BUILDER_FEE, -3_334)
    play.core.check()


@pytest.fixture
def rebates(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    seen: list[int] = []

    def share(core: Core, payer: VenueAccount, fee: int, product: int) -> None:
        seen.append(fee)
        ledger.move(core, core.state.accounts[ledger.FEES], core.account("0xee"), fee // 10, ledger.REFERRAL_REBATE)

    monkeypatch.setattr(fees, "REBATES", [share])
    return seen


def test_rebates_are_paid_out_of_the_fees(play: Play, rebates: list[int]) -> None:
    play.trade("ann", "bob", "0.5", 60_000)
    assert rebates == [3 * MICRO, 18 * MICRO]
    assert play.core.account("0xee").balance == 2_100_000
    assert play.core.state.accounts[ledger.FEES].balance == 21 * MICRO - 2_100_000


def test_a_rebate_below_the_smallest_coin_is_paid_into_rounding_and_not_to_the_maker(play: Play) -> None:
    """0.001 BTC at 60,000 and −1e-8: 0.6 micro-USDC, which the venue pays rounded up, the maker gets rounded down."""
    play.account("bob").maker_rate = -1
    before = {name: play.core.state.accounts[name].balance for name in (ledger.FEES, ledger.ROUNDING)}
    play.trade("ann", "bob", "0.001", 60_000)
    gained = {name: play.core.state.accounts[name].balance - balance for name, balance in before.items()}
    assert gained == {ledger.FEES: 36_000 - 1, ledger.ROUNDING: 1}
    assert play.balance("bob") == 100_000 * MICRO


def test_the_volume_of_a_day_adds_up_and_is_forgotten_when_it_counts_no_more(play: Play) -> None:
    ann, today = play.account("ann"), play.now // DAY
    days = play.core.state.config.volume_days
    ann.volumes = {today - days - 1: 1, today - days: 2, today - 1: 4}
    assert fees.volume(play.core, ann) == 6
    for value in (8, 16):
        fees.note_volume(play.core, ann, value)
    assert ann.volumes == {today - days: 2, today - 1: 4, today: 24}
    assert fees.volume(play.core, ann) == 6, "today does not count yet"


@pytest.mark.parametrize(
    ("rate", "held", "fees_of_fill"),
    [
        (-2_000, 0, (-600_000, 0)),
        (-2_000, 200, (-360_000, -240_000)),
        (-2_000, 500, (0, -600_000)),
        (10_000, 0, (3_000_000, 0)),
        (10_000, 200, (1_800_000, 1_200_000)),
        (10_000, 500, (0, 3_000_000)),
    ],
)
def test_a_fill_that_flips_divides_its_fee_or_rebate_by_value(
    play: Play, rate: int, held: int, fees_of_fill: tuple[int, int]
) -> None:
    """Bob makes 0.5 BTC at 60,000, of which `held` thousandths close his long."""
    if held:
        play.trade("bob", "ann", held / 1_000, 60_000)
    play.account("bob").maker_rate = rate
    play.trade("ann", "bob", "0.5", 60_000)
    fill = play.fills("bob")[-1]
    assert (fill.open_fee, fill.close_fee) == fees_of_fill
    assert (play.position("bob").short.fees, play.position("bob").fees) == (
        fees_of_fill[0] if held < 500 else 0,
        sum(fees_of_fill) + play.fills("bob")[0].open_fee * (held > 0),
    )


def test_a_tier_may_pay_its_makers() -> None:
    play = Play(fee_tiers=[FeeTier(0, -2_000, 50_000)])
    play.fund(100_000, "ann", "bob")
    play.trade("ann", "bob", "0.5", 60_000)
    assert play.balance("bob") == 100_000 * MICRO + 600_000, "0.002 % of 30,000"
    assert play.balance("ann") == 100_000 * MICRO - 15 * MICRO


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
