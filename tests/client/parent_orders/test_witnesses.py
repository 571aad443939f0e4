"""TWAPs whose fills, orders or positions are shown late, wrongly or never, and TWAPs whose owner trades by hand."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

import toolkit
from tests.support.cases import of_all
from tests.support.late import FILLS, LIES, POSITIONS, STATES, Late, held
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"
NEVER = 10**7
LAGS = {f"{path} {late} s late": (path, late) for path in (FILLS, STATES, POSITIONS) for late in (5, 60, 120, NEVER)}
CASES: dict[str, tuple[str, Any]] = {**LIES, **LAGS}
QUICK = [("no fill", "ONE_WAY"), ("orders cancelled", "HEDGE"), (f"{STATES} {NEVER} s late", "ONE_WAY")]
pytestmark = pytest.mark.filterwarnings("ignore::toolkit.errors.DataWarning")


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    """A venue whose offers take three and a half of five child orders at once, and the rest later."""
    with LocalVenue(clock="manual", market=None, settle_delay=0) as made:
        made.control.set_oracle(BTC, "62500")
        made.control.add_liquidity(BTC, "SELL", "62510", "0.035")
        made.control.add_liquidity(BTC, "BUY", "62490", "5")
        yield made


@pytest.mark.parametrize(("case", "mode"), of_all(CASES, ["ONE_WAY", "HEDGE"], quick=QUICK))
def test_a_twap_trades_its_quantity_once_whatever_one_witness_says(venue: LocalVenue, case: str, mode: str) -> None:
    path, lie = CASES[case]
    network = Late(venue, {path: lie} if isinstance(lie, int) else {})
    with toolkit.connect(venue=venue, transport=network) as session:
        venue.control.set_position_mode(str(session.account), mode)
        network.change = {} if isinstance(lie, int) else {path: lie}
        parent = session.twap(BTC, "BUY", "0.05", "4m", slices=5)
        for _ in range(12):
            venue.advance("30s")
            assert held(venue) <= Decimal("0.05")
        if parent.status == "RUNNING":
            assert "child orders have filled is not known yet" in parent.message
        network.change, network.seconds = {}, {}
        venue.advance("1m")
        assert parent.status == "FINISHED"
        assert held(venue) <= Decimal("0.05")
        # What is there is what it says, unless its last word came from a fill that was a lie.
        assert parent.filled == held(venue) or path == FILLS


@pytest.mark.parametrize(
    ("side", "closed"), of_all(["BUY", "SELL"], ["0.01", "0.02", "0.05"], quick=[("BUY", "0.01"), ("SELL", "0.05")])
)
def test_a_twap_opens_nothing_more_where_its_owner_closes_by_hand_until_it_is_resumed(
    venue: LocalVenue, side: Any, closed: str
) -> None:
    venue.control.add_liquidity(BTC, "SELL", "62510", "5")
    sign = 1 if side == "BUY" else -1
    with toolkit.connect(venue=venue) as session, toolkit.connect(venue=venue) as hand:
        parent = session.twap(BTC, side, "0.05", "8m", slices=5)
        venue.advance("3m")
        (hand.sell if sign > 0 else hand.buy)(BTC, closed)
        left = held(venue)
        venue.advance("2m")
        gone = min(Decimal(closed), Decimal("0.02"))
        assert parent.message.startswith(f"{gone:.3f} of what it has opened was closed by hand, and there is ")
        assert held(venue) == left == sign * (Decimal("0.02") - Decimal(closed))
        parent.resume()
        venue.advance("1h")
        assert (parent.status, parent.filled, parent.message) == ("FINISHED", Decimal("0.05"), "")
    assert held(venue) == sign * (Decimal("0.05") - Decimal(closed))


@pytest.mark.parametrize(
    ("side", "closed"), of_all(["BUY", "SELL"], ["0.01", "0.05", "0.08"], quick=[("BUY", "0.08"), ("SELL", "0.01")])
)
def test_a_twap_that_closes_a_position_never_turns_it_around(venue: LocalVenue, side: Any, closed: str) -> None:
    venue.control.add_liquidity(BTC, "SELL", "62510", "5")
    with toolkit.connect(venue=venue) as session, toolkit.connect(venue=venue) as hand:
        (session.sell if side == "BUY" else session.buy)(BTC, "0.05")
        parent = session.twap(BTC, side, "0.05", "4m", slices=5)
        assert parent.plan.twap.reduce_only
        venue.advance("70s")
        (hand.buy if side == "BUY" else hand.sell)(BTC, closed)
        left = held(venue)
        venue.advance("1h")
        assert held(venue) == (0 if closed == "0.01" else left)
        assert "position in BTCUSDC to reduce" in parent.message


def test_orders_of_runs_and_of_other_twaps_are_not_made_by_hand(venue: LocalVenue) -> None:
    venue.control.add_liquidity(BTC, "SELL", "62510", "5")
    with toolkit.connect(venue=venue) as session:
        parent = session.twap(BTC, "BUY", "0.05", "4m", slices=5)
        venue.advance("70s")
        session.twap(BTC, "SELL", "0.03", "1m", slices=3)  # more than there is
        session.place(toolkit.orders.sell(BTC, "0.01", cl_ord_id=(1 << 52) + 1))
        venue.advance("1h")
        assert (parent.filled, parent.message) == (Decimal("0.05"), "")
