"""What each control asks the venue for, the first accounts, and the figures of an account at another mark."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.venue.play import BTC, ETH, Play
from tests.venue.quiet import venue  # a fixture
from tests.venue.wallets import MASTER
from toolkit.errors import InputError
from toolkit.venue.lab.control import LARGEST_BALANCE, funding, what_if

__all__ = ["venue"]

D = Decimal


@pytest.mark.parametrize("shock", ["-1", "-1.5", "NaN", "Infinity"])
def test_a_shock_that_leaves_no_price_is_refused(shock: str) -> None:
    play = Play()
    with pytest.raises(InputError) as caught:
        what_if(play.core, play.address("ann"), BTC, D(shock))
    assert (caught.value.field, caught.value.rule, caught.value.value) == ("shock", "above -1", str(D(shock)))
    assert what_if(play.core, play.address("ann"), BTC, D("-0.9999999999"))[1]["mark_price"] == 0.1


def test_initial_accounts_have_exact_balances_within_their_limits() -> None:
    mnemonic = "test test test test test test test test test test test junk"
    made = funding(5, 2, "0.000001", mnemonic)
    assert [(one.time, one.name, one.args["amount"]) for one in made] == [(5, "fund", "0.000001")] * 2
    assert made[0].args["address"] == MASTER.address.lower()
    assert funding(5, 0, 1, mnemonic) == []
    assert LARGEST_BALANCE == 10**9
    assert len(funding(5, 1, LARGEST_BALANCE, mnemonic)) == 1
    for accounts, balance, field in (
        (-1, 1, "accounts"), (1_001, 1, "accounts"), (1, 0, "balance"), (1, "0.0000001", "balance"),
        (1, D(LARGEST_BALANCE) + D("0.000001"), "balance"),
    ):  # fmt: skip
        with pytest.raises(InputError) as caught:
            funding(5, accounts, balance, mnemonic)
        assert caught.value.field == field


@pytest.mark.parametrize("side", [1, -1])
def test_what_if_shows_whole_rows_of_a_hedge_also_for_a_product_without_a_position(side: int) -> None:
    """A leg of 1 BTC and 0.4 of the other side at 60,000, both as a taker: 36 and 14.40 of 10,000 are fees."""
    play, (buy, sell) = Play(), ("BUY", "SELL")[::side]
    play.oracle(60_000)
    play.oracle(3_000, ETH)
    play.fund(10_000, "ann")
    play.fund(1_000_000, "bob")
    play.hedge("ann")
    for way, back, quantity in ((buy, sell, "1"), (sell, buy, "0.4")):
        play.placed("bob", back, quantity, 60_000)
        play.placed("ann", way, quantity, 60_000)

    def row(moved: int, **other: float) -> dict[str, float]:
        """20x need 5 % of both legs, and 1.25 % maintain them. The net position of 0.6 gains and loses."""
        mark, equity = 60_000 - side * moved, 9_949.6 - 0.6 * moved
        # where the equity has fallen to the maintenance margin of 1.75 % of a bitcoin
        limit = (36_000 - side * 9_949.6) / (0.6 - side * 0.0175)
        return {
            "mark_price": mark,
            "position": side * 0.6,
            "unrealized_pnl": -0.6 * moved,
            "equity": equity,
            "available": equity - 0.07 * mark,
            "initial_margin": 0.07 * mark,
            "maintenance_margin": 0.0175 * mark,
            "margin_ratio": 0.0175 * mark / equity if equity > 0 else float("inf"),
            "liquidation_price": limit,
            "liquidated": equity <= 0.0175 * mark,
            **other,
        }

    def close(found: list[dict[str, Any]], *rows: dict[str, float]) -> None:
        assert [list(one) for one in found] == [list(one) for one in rows]
        assert found == [pytest.approx(one, rel=1e-6, abs=1e-7, nan_ok=True) for one in rows]

    before = play.core.state_hash()
    close(what_if(play.core, play.address("ann"), BTC, D("-0.1") * side), row(0), row(6_000))
    close(what_if(play.core, play.address("ann"), BTC, D("-0.3") * side), row(0), row(18_000))
    empty = {"position": 0.0, "unrealized_pnl": 0.0, "liquidation_price": float("nan")}
    found = what_if(play.core, play.address("ann"), ETH, D("0.5"))
    close(found, row(0, **empty, mark_price=3_000), row(0, **empty, mark_price=4_500))
    assert play.core.state_hash() == before
    nothing = dict.fromkeys(found[0], 0.0) | {"liquidation_price": float("nan")}
    at = [nothing | {"mark_price": mark, "liquidated": False} for mark in (60_000.0, 60_300.0)]
    close(what_if(play.core, play.address("nobody"), BTC, D("0.005")), *at)
