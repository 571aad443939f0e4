"""The same run in an account in one-way mode and in one in hedge mode: the same sizes, the same exits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

import toolkit
from tests.support.cases import of_all
from toolkit import Limits
from toolkit.research import live
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"
MODES = ("ONE_WAY", "HEDGE")


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


def legs(session: Any) -> dict[str, Decimal]:
    table = session.positions(exact=True, index=None)
    return dict(zip(table["side"], table["size"], strict=True))


def run(session: Any, strategy: Callable[[Any, int], None], minutes: int, **options: Any) -> Any:
    """Run a strategy of a context and the number of the bar."""
    count = iter(range(1_000))
    given: dict[str, Any] = {"limits": Limits(), "duration": f"{minutes}m", **options}
    return live(lambda ctx, bar: strategy(ctx, next(count)), session, [BTC], **given)


@pytest.mark.parametrize(("mode", "name"), of_all(MODES, [None, "one"], quick=[("HEDGE", None)]))
def test_targets_of_both_signs_never_leave_two_legs(venue: LocalVenue, mode: str, name: str | None) -> None:
    with toolkit.connect(venue=venue) as session:
        venue.control.set_position_mode(str(session.account), mode)
        seen = list[dict[str, Decimal]]()

        def strategy(ctx: Any, number: int) -> None:
            seen.append(legs(session))
            ctx.target(BTC, "0.05" if number % 2 else "-0.05")
            assert ctx.position(BTC) == pytest.approx(0.05 if number % 2 else -0.05)

        result = run(session, strategy, 12, run=name)
        size = Decimal("0.05")
        assert all(one in ({}, {"LONG": size}, {"SHORT": size}) for one in seen)
        assert set(result.orders["status"]) == {"FILLED"}
        run(session, lambda ctx, number: ctx.target(BTC, 0), 1, run=name)
        assert legs(session) == {}


@pytest.mark.parametrize("mode", of_all(MODES, quick=["HEDGE"]))
def test_a_target_in_hedge_mode_leaves_a_hedge_as_it_is_and_closes_it_first(venue: LocalVenue, mode: str) -> None:
    with toolkit.connect(venue=venue) as session:
        venue.control.set_position_mode(str(session.account), mode)
        session.buy(BTC, "0.03")
        session.sell(BTC, "0.05")
        size = Decimal("0.03")
        before = legs(session)
        run(session, lambda ctx, number: ctx.target(BTC, "-0.02"), 2)
        assert legs(session) == before
        run(session, lambda ctx, number: ctx.target(BTC, "0.01"), 2)
        both = {"LONG": size, "SHORT": Decimal("0.02")}
        assert legs(session) == (both if mode == "HEDGE" else {"LONG": Decimal("0.01")})


EXITS: dict[str, Callable[[Any], object]] = {
    "bracket": lambda ctx: ctx.bracket(BTC, "0.05", take_profit="64000", stop_loss="61000"),
    "two brackets": lambda ctx: [
        ctx.bracket(BTC, "0.02", stop_loss="61000"),
        ctx.bracket(BTC, "0.03", stop_loss="61000", if_reached="close"),
    ],
    "stop": lambda ctx: (ctx.buy(BTC, "0.05"), ctx.stop_loss(BTC, "61000")),
    "trailing stop": lambda ctx: (ctx.buy(BTC, "0.05"), ctx.trailing_stop(BTC, 0.02)),
    "of a short": lambda ctx: (ctx.sell(BTC, "0.05"), ctx.trailing_stop(BTC, 0.01), ctx.take_profit(BTC, "61000")),
}


@pytest.mark.parametrize(("mode", "exit"), of_all(MODES, EXITS, quick=[("HEDGE", "bracket"), ("HEDGE", "of a short")]))
def test_an_exit_closes_what_it_protects_from_the_first_order_on(venue: LocalVenue, mode: str, exit: str) -> None:
    with toolkit.connect(venue=venue) as session:
        venue.control.set_position_mode(str(session.account), mode)

        def strategy(ctx: Any, number: int) -> None:
            if number == 0:
                EXITS[exit](ctx)
            if number == 2:
                assert sum(legs(session).values()) == Decimal("0.05")
                session.venue.control.remove_liquidity(BTC)
                for side, price in (("SELL", "60810"), ("BUY", "60790")):
                    session.venue.control.add_liquidity(BTC, side, price, "50")
                session.venue.control.set_oracle(BTC, "60800")
                with toolkit.connect(venue=venue, account=1) as other:
                    other.sell(BTC, "0.01")

        result = run(session, strategy, 5)
        assert legs(session) == {}
        assert "REJECTED" not in set(result.events["kind"])


@pytest.mark.parametrize("mode", of_all(MODES, quick=["HEDGE"]))
def test_what_only_reduces_reduces(venue: LocalVenue, mode: str) -> None:
    with toolkit.connect(venue=venue) as session:
        venue.control.set_position_mode(str(session.account), mode)

        def strategy(ctx: Any, number: int) -> None:
            if number == 0:
                ctx.sell(BTC, "0.05")
            elif number < 6:
                assert ctx.buy(BTC, "0.01", reduce_only=True).state == "FILLED"

        run(session, strategy, 7)
        assert legs(session) == {}


def trade(session: Any, ctx: Any, number: int) -> None:
    """Trade both legs: open, add, close in part, close, at prices that move."""
    mid = 62_500 + 40 * number
    session.venue.control.remove_liquidity(BTC)
    for side, price in (("SELL", mid + 10), ("BUY", mid - 10)):
        session.venue.control.add_liquidity(BTC, side, str(price), "50")
    session.venue.control.set_oracle(BTC, str(mid))
    buys = {0: ("0.05", None), 2: ("0.02", None), 4: ("0.03", True), 7: ("0.01", True)}
    sells = {1: ("0.03", None), 3: ("0.07", True), 5: ("0.01", None), 6: ("0.02", None)}
    for table, call in ((buys, ctx.buy), (sells, ctx.sell)):
        if number in table:
            quantity, closes = table[number]
            assert call(BTC, quantity, reduce_only=closes)


@pytest.mark.parametrize("margin", ["CROSS", pytest.param("ISOLATED", marks=pytest.mark.slow)])
@pytest.mark.parametrize("start", of_all(["nothing", "both legs", "another product"], quick=["both legs"]))
def test_results_of_an_account_in_hedge_mode_are_those_of_its_ledger(
    venue: LocalVenue, start: str, margin: str
) -> None:
    for side, price in (("SELL", "2510"), ("BUY", "2490")):
        venue.control.add_liquidity("ETHUSDC", side, price, "500")
    with toolkit.connect(venue=venue) as session:
        venue.control.set_position_mode(str(session.account), "HEDGE")
        session.exchange.set_margin_mode(BTC, margin)
        if start == "both legs":
            session.buy(BTC, "0.02")
            session.sell(BTC, "0.01")

        def strategy(ctx: Any, number: int) -> None:
            trade(session, ctx, number)
            if start == "another product" and number in (2, 5):
                session.buy("ETHUSDC", "3")

        result = run(session, strategy, 9)
    equity = result.equity["equity"]
    gained = equity.iloc[-1] - equity.iloc[0]
    table = result.attribution
    assert table.loc["TOTAL", "net"] == pytest.approx(gained, abs=1e-6)
    if start == "another product":
        assert abs(table.loc["OTHERS", "net"]) > 1
        assert table.loc[BTC, "net"] + table.loc["OTHERS", "net"] == pytest.approx(gained, abs=1e-6)
    else:
        assert list(table.index) == [BTC, "TOTAL"], "the fills, marks and payments explain all of it"
    trips = result.round_trips
    # 0.05 + 0.02 − 0.07 of the long; 0.03 − 0.03 and 0.01 + 0.02 − 0.01, which stays open, of the short.
    wanted = [] if start == "both legs" else [("LONG", 0.07), ("SHORT", 0.03)]
    assert [(row.side, round(row.quantity, 6)) for row in trips.itertuples()] == wanted
    if wanted:
        assert trips["gross"].tolist() == pytest.approx(
            [0.07 * 62_610 - 0.05 * 62_510 - 0.02 * 62_590, 0.03 * (62_530 - 62_670)]
        )
        assert result.metrics()["hit_rate"] == 0.5
    held = {"nothing": 0.07 + 0.03, "both legs": 0.07 + 0.03 + 0.03, "another product": 0.1}[start]
    assert (result.exposure["gross"] / result.marks[BTC]).max() == pytest.approx(held)
    unrealised = result.equity["unrealized"].abs().max()
    assert unrealised < 0.15 * 400 + 3 * 2 * 40 * (start == "another product")
    assert not result.audit()["found"].fillna(False).any()
