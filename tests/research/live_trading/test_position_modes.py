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
    count = iter(range(minutes + 1))
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
