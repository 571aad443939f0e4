"""Limits of a session whose venue shows positions or order states late."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal

import pytest

import toolkit
from tests.support.cases import of_all
from tests.support.late import FILLS, LIES, POSITIONS, STATES, Late, held
from toolkit import Limits
from toolkit.errors import LimitReached, NotSent
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"


@pytest.mark.parametrize("path", [None, POSITIONS, STATES, FILLS])
@pytest.mark.parametrize("late", [15, 55])
def test_a_limit_holds_while_one_of_the_answers_is_late(path: str | None, late: int) -> None:
    with LocalVenue(clock="manual", market=None, settle_delay=0) as venue:
        venue.control.set_oracle(BTC, "62500")
        for side, price in (("SELL", "62510"), ("BUY", "62490")):
            venue.control.add_liquidity(BTC, side, price, "50")
        network = Late(venue, {path: late} if path else {})
        with toolkit.connect(venue=venue, transport=network, limits=Limits(max_position=0.03)) as session:
            refused = 0
            for _ in range(12):
                try:
                    session.buy(BTC, "0.01")
                except LimitReached:
                    refused += 1
                venue.advance("5s")
            assert (float(held(venue)), refused) == (0.03, 9)
            session.sell(BTC, "0.01", reduce_only=True)
            for _ in range(2):  # all is shown again
                venue.advance("1m")
                session.positions()
            session.buy(BTC, "0.01")
        assert float(held(venue)) == 0.03


CASES = {**LIES, **{f"{path} {late} s late": (path, late) for path in (POSITIONS, STATES, FILLS) for late in (30, 120)}}
QUICK = ("no position", "positions of a tenth of the size", f"{POSITIONS} 120 s late")


@pytest.mark.filterwarnings("ignore::toolkit.errors.DataWarning")
@pytest.mark.parametrize("mode", ["ONE_WAY", pytest.param("HEDGE", marks=pytest.mark.slow)])
@pytest.mark.parametrize("turns", [False, True])
@pytest.mark.parametrize("case", of_all(CASES, quick=QUICK))
def test_a_limit_of_a_session_holds_for_minutes_of_one_lie(case: str, turns: bool, mode: str) -> None:
    path, lie = CASES[case]
    with LocalVenue(clock="manual", market=None, settle_delay=0) as venue:
        venue.control.set_oracle(BTC, "62500")
        for side, price in (("SELL", "62510"), ("BUY", "62490")):
            venue.control.add_liquidity(BTC, side, price, "50")
        network, limits, passed = Late(venue, {}), Limits(max_position=0.03, max_orders_per_minute=None), [0, 0]
        with toolkit.connect(venue=venue, transport=network, limits=limits) as session:
            venue.control.set_position_mode(str(session.account), mode)
            for number in range(40):
                lies = 6 <= number < 24
                network.seconds = {path: lie} if lies and isinstance(lie, int) else {}
                network.change = {path: lie} if lies and not isinstance(lie, int) else {}
                call = session.buy if not turns or number % 3 else session.sell
                with suppress(LimitReached, NotSent):
                    call(BTC, "0.02" if turns else "0.01")
                    passed[number >= 30] += 1
                venue.advance("10s")
                table = session.positions(exact=True, index=None) if not lies else None
                sizes = [] if table is None else table["size"].tolist()
                assert sum(sizes) <= Decimal("0.03"), (number, sizes)
            # A minute after the lie the session trades again, as far as its limit allows.
            assert passed[1] or not turns or mode == "HEDGE"
        assert abs(held(venue)) <= Decimal("0.03")


def test_after_a_liquidation_the_book_is_right_again() -> None:
    with LocalVenue(clock="manual", market=None, settle_delay=0) as venue:
        venue.control.set_oracle(BTC, "62500")
        for side, price in (("SELL", "62510"), ("BUY", "62490")):
            venue.control.add_liquidity(BTC, side, price, "50")
        with toolkit.connect(venue=venue, limits=Limits(max_position=3)) as session:
            session.exchange.set_leverage(BTC, 40)
            session.buy(BTC, "2.5")
            venue.control.remove_liquidity(BTC)
            venue.control.add_liquidity(BTC, "BUY", "58690", "50")
            venue.control.set_oracle(BTC, "58700")
            venue.advance("2m")
            assert session.positions().empty
            with pytest.raises(LimitReached):
                session.sell(BTC, "3.1")
            venue.control.fund(session.account, "10000")
            session.buy(BTC, "0.01", price="58000")


@pytest.mark.parametrize("case", of_all([*LIES], quick=["no position", "no order"]))
def test_a_session_that_begins_during_a_lie_counts_what_all_orders_and_fills_leave(case: str) -> None:
    path, lie = LIES[case]
    with LocalVenue(clock="manual", market=None, settle_delay=0) as venue:
        venue.control.set_oracle(BTC, "62500")
        for side, price in (("SELL", "62510"), ("BUY", "62490")):
            venue.control.add_liquidity(BTC, side, price, "50")
        with toolkit.connect(venue=venue) as session:
            session.buy(BTC, "0.03")
        network = Late(venue, {})
        network.change = {path: lie}
        for _ in range(2):
            with toolkit.connect(venue=venue, transport=network, limits=Limits(max_position=0.05)) as session:
                for _ in range(4):
                    with suppress(LimitReached, NotSent):
                        session.buy(BTC, "0.01")
                    venue.advance("40s")
        assert held(venue) <= Decimal("0.05")


@pytest.mark.parametrize("mode", ["HEDGE", pytest.param("ONE_WAY", marks=pytest.mark.slow)])
def test_while_the_position_mode_is_hidden_both_legs_count(mode: str) -> None:
    with LocalVenue(clock="manual", market=None, settle_delay=0) as venue:
        venue.control.set_oracle(BTC, "62500")
        for side, price in (("SELL", "62510"), ("BUY", "62490")):
            venue.control.add_liquidity(BTC, side, price, "50")
        with toolkit.connect(venue=venue) as session:
            venue.control.set_position_mode(str(session.account), mode)
            session.buy(BTC, "0.03")
            session.sell(BTC, "0.03")
        network = Late(venue, {})
        network.change = {POSITIONS: LIES["no position"][1]}
        with toolkit.connect(venue=venue, transport=network, limits=Limits(max_position=0.06)) as session:
            for _ in range(3):
                with pytest.raises(LimitReached):
                    session.buy(BTC, "0.01")
                venue.advance("40s")
            network.change = {}
            if mode == "ONE_WAY":
                session.buy(BTC, "0.06")
            else:
                with pytest.raises(LimitReached):
                    session.buy(BTC, "0.01")
