"""A run whose venue shows fills, order states or positions late, wrongly or never, or whose owner trades by hand."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

import toolkit
from tests.support.cases import of_all
from tests.support.late import FILLS, POSITIONS, STATES, WALLET, Late, held
from tests.support.network import Network
from toolkit import Limits
from toolkit.research import live
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"
NEVER = 10**9


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(clock="manual", market=None, settle_delay=0) as made:
        made.control.set_oracle(BTC, "62500")
        for side, price in (("SELL", "62510"), ("BUY", "62490")):
            made.control.add_liquidity(BTC, side, price, "50")
        with toolkit.connect(venue=made, account=1) as other:
            other.buy(BTC, "0.01")  # without a trade there are no bars
        made.advance("1m")
        yield made


def largest(
    venue: LocalVenue, network: Network, strategy: Any, minutes: int = 8, **options: Any
) -> tuple[Decimal, Any]:
    """Run a strategy, and return the largest position at the venue after any bar, and the Results."""
    seen = [Decimal(0)]

    def on_bar(ctx: Any, bar: Any) -> None:
        strategy(ctx)
        seen.append(abs(held(venue)))

    with toolkit.connect(venue=venue, transport=network) as session:
        given = {"limits": Limits(), "duration": f"{minutes}m", **options}
        run = live(on_bar, session, [BTC], **given)
    return max(seen), run


@pytest.mark.parametrize(("seconds", "name"), of_all([30, 90, 300, NEVER], [None, "one"], quick=[(NEVER, "one")]))
def test_a_target_is_reached_once_however_late_fills_are_shown(
    venue: LocalVenue, seconds: int, name: str | None
) -> None:
    network = Late(venue, {FILLS: seconds})
    most, _ = largest(venue, network, lambda ctx: ctx.target(BTC, "0.01"), run=name)
    assert most == Decimal("0.01") == held(venue)


ONE_LATE = [{FILLS: 200}, {POSITIONS: 200}, {STATES: 200}, {FILLS: 200, POSITIONS: 200}]


@pytest.mark.parametrize(("late", "name"), of_all(ONE_LATE, [None, "one"], quick=[(ONE_LATE[3], None)]))
def test_a_limit_holds_in_the_worst_case_of_what_is_shown(
    venue: LocalVenue, late: dict[str, int], name: str | None
) -> None:
    limits = Limits(max_position=0.02)
    most, _ = largest(venue, Late(venue, late), lambda ctx: ctx.buy(BTC, "0.01"), limits=limits, run=name)
    assert most <= Decimal("0.02")


@pytest.mark.parametrize(
    ("by_hand", "sold", "left"),
    [
        pytest.param(by_hand, sold, left, marks=() if quick == sold else pytest.mark.slow)
        for by_hand, quick in (("pause", "0.05"), ("adopt", "0.02"), ("end", "0.1"), ("continue", "0.1"))
        for sold, left in (("0.05", "0"), ("0.02", "0.03"), ("0.1", "-0.05"))
    ],
)
def test_what_the_owner_closes_by_hand_is_never_opened_the_other_way(
    venue: LocalVenue, sold: str, left: str, by_hand: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with toolkit.connect(venue=venue) as hand, toolkit.connect(venue=venue) as session:
        bars = iter(range(9))

        def on_bar(ctx: Any, bar: Any) -> None:
            number = next(bars)
            if number == 3:
                hand.sell(BTC, sold)
            ctx.target(BTC, "0.05" if number < 5 else 0)

        given: Any = {"limits": Limits(), "duration": "8m", "run": "one", "by_hand": by_hand}
        run: Any = live(on_bar, session, [BTC], **given)
    # What is left of the run's own is closed, unless it has ended, and nothing beyond.
    assert held(venue) == (Decimal(left) if by_hand == "end" else min(Decimal(left), Decimal(0)))
    events = {"pause": {"PAUSE"}, "adopt": {"ADOPT"}, "end": {"HAND"}, "continue": set()}
    assert {"PAUSE", "ADOPT", "HAND"} & set(run.events["kind"]) == events[by_hand]
    said = "pauses, and opens nothing: BTCUSDC: the run holds LONG 0.05" in capsys.readouterr().out
    assert said is (by_hand == "pause")


def test_what_was_closed_by_hand_while_a_run_was_down_pauses_it_when_it_continues(
    venue: LocalVenue, capsys: pytest.CaptureFixture[str]
) -> None:
    given: Any = {"limits": Limits(), "duration": "2m", "run": "one"}
    with toolkit.connect(venue=venue) as session:
        live(lambda ctx, bar: ctx.target(BTC, "0.05"), session, [BTC], **given)
        assert held(venue) == Decimal("0.05")
        session.sell(BTC, "0.04")
        live(lambda ctx, bar: ctx.target(BTC, 0), session, [BTC], **given)
    assert held(venue) == 0
    assert "the run holds LONG 0.050, of which 0.040 was closed by hand. There is LONG 0.010" in capsys.readouterr().out


def test_a_pause_ends_when_the_venue_agrees_again(venue: LocalVenue, capsys: pytest.CaptureFixture[str]) -> None:
    network = Late(venue, {FILLS: NEVER})
    bars = iter(range(9))

    def strategy(ctx: Any) -> None:
        number = next(bars)
        network.seconds[FILLS] = 0 if number >= 5 else NEVER
        ctx.target(BTC, "0.01" if number < 7 else "0.03")

    most, run = largest(venue, network, strategy)
    assert most == Decimal("0.03")
    assert [kind for kind in run.events["kind"] if kind in ("PAUSE", "CONTINUE")] == ["PAUSE", "CONTINUE"]
    said = capsys.readouterr().out
    assert "pauses, and opens nothing: BTCUSDC: orders are filled by 0.010 that no listed fill shows" in said
    assert "continues: what the venue shows agrees again" in said


@pytest.mark.parametrize(
    ("wrong", "name"), of_all(["one more", "ten times"], [None, "one"], quick=[("one more", "one")])
)
def test_a_wrong_fill_opens_nothing_and_is_taken_back_when_the_venue_is_right_again(
    venue: LocalVenue, wrong: str, name: str | None
) -> None:
    network = Late(venue, {})
    bars = iter(range(20))

    def lie(data: Any) -> None:
        row = dict(data["items"][0]) if data["items"] else {}
        if wrong == "one more" and row:
            data["items"].insert(0, row | {"id": 999, "orderId": "77", "execQty": "0.9", "execId": "999"})
            data["total"] += 1
        elif row:
            data["items"][0]["execQty"] = "0.5"

    def strategy(ctx: Any) -> None:
        number = next(bars)
        network.change = {FILLS: lie} if 2 <= number < 6 else {}
        ctx.target(BTC, "0.05")

    most, _ = largest(venue, network, strategy, minutes=14, run=name)
    assert (most, held(venue)) == (Decimal("0.05"), Decimal("0.05"))


@pytest.mark.parametrize(
    ("bars", "field"), of_all([2, 6], ["equity", "balance"], quick=[(2, "equity"), (6, "balance")])
)
def test_a_wallet_that_contradicts_the_rest_ends_nothing_and_pauses_what_lasts(
    venue: LocalVenue, field: str, bars: int, capsys: pytest.CaptureFixture[str]
) -> None:
    network, seen = Late(venue, {}), iter(range(20))

    def lie(data: Any) -> None:
        data[0][field] = "100"

    def strategy(ctx: Any) -> None:
        network.change = {WALLET: lie} if 2 <= next(seen) < 2 + bars else {}
        ctx.target(BTC, "0.05")

    limits = Limits(max_loss=2_000)
    _, run = largest(venue, network, strategy, minutes=12, limits=limits)
    kinds = [kind for kind in run.events["kind"] if kind in ("PAUSE", "CONTINUE", "LIMIT")]
    if bars == 2:
        assert not kinds
    else:  # a loss that lasts is a loss
        assert kinds[0] == "PAUSE"


def test_bars_that_one_list_of_candles_hides_pause_a_run_and_are_delivered_later(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with LocalVenue(clock="manual", market="calm") as venue:
        venue.advance("10m")
        network, begun_s = Late(venue, {}), venue.host.now_ms() // 1_000

        def lie(rows: Any) -> None:
            hidden = range(begun_s + 120, begun_s + 300) if venue.host.now_ms() // 1_000 < begun_s + 480 else ()
            rows[:] = [row for row in rows if row["timestamp"] not in hidden]

        network.change = {"/info/kline/list": lie}
        with toolkit.connect(venue=venue, transport=network) as session:
            seen: list[float] = []
            live(lambda ctx, bar: seen.append(bar.volume), session, [BTC], limits=Limits(), duration="12m")
    assert (len(seen), min(seen) > 0) == (12, True)
    said = capsys.readouterr().out
    assert "nothing: BTCUSDC: one list of candles leaves out 2026-01-01 00:12, and the other has it" in said
    assert "continues: what the venue shows agrees again" in said
