"""What each control asks the venue for, the first accounts, and the figures of an account at another mark."""

from __future__ import annotations

import sys
from decimal import Decimal
from typing import Any

import pytest

from tests.venue.play import BTC, ETH, Play
from tests.venue.wallets import MASTER
from toolkit.errors import InputError
from toolkit.venue.lab.control import LARGEST_BALANCE, funding, what_if
from toolkit.venue.local import LocalVenue

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


class Asked:
    """A venue that keeps what its controls ask for."""

    def __init__(self, venue: LocalVenue) -> None:
        self.core, self.lock = venue.host.core, venue.host.lock
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def now_ms(self) -> int:
        return 1_000

    def apply_control(self, name: str, /, **args: Any) -> dict[str, Any]:
        self.calls.append((name, args))
        return {}


@pytest.fixture
def asked(venue: LocalVenue) -> tuple[Any, list[tuple[str, dict[str, Any]]]]:
    made = Asked(venue)
    return type(venue.control)(made), made.calls  # type: ignore[arg-type]


def test_the_defaults_of_controls_are_what_is_asked_for(asked: Any) -> None:
    control, calls = asked
    control.set_oracle("BTCUSDC", 5)
    control.set_oracle("2", 5, hold=False)
    control.script_oracle(1, {"1s": "5"})
    control.script_oracle(1, [("1s", 5)], release=True)
    control.add_liquidity(1, "BUY", 5, 1)
    control.add_liquidity(1, "BUY", 5, 1, levels=3, gap="0.5")
    control.market("calm")
    control.market("stressed", "ETHUSDC", after="1s", lasting="2s")
    control.limit("info", 3)
    control.close_location()
    control.open_recorded(["BTCUSDC", 2])
    control.play_recorded(1, [[0, 1, 5, 5]])
    control.copy_account("0x" + "1" * 40, 5, [])
    assert calls == [
        ("set_oracle", {"product": 1, "price": "5", "hold": True}),
        ("set_oracle", {"product": 2, "price": "5", "hold": False}),
        ("script_oracle", {"product": 1, "points": [[2_000, "5"]], "release": False}),
        ("script_oracle", {"product": 1, "points": [[2_000, "5"]], "release": True}),
        ("add_liquidity", {"product": 1, "side": "BUY", "price": "5", "quantity": "1", "levels": 1, "gap": ""}),
        ("add_liquidity", {"product": 1, "side": "BUY", "price": "5", "quantity": "1", "levels": 3, "gap": "0.5"}),
        ("market", {"regime": "calm", "product": 0, "after": 0, "lasting": 0}),
        ("market", {"regime": "stressed", "product": 2, "after": 1_000, "lasting": 2_000}),
        ("limit", {"action": "info", "count": 3, "span": 1_000}),
        ("close_location", {"peer": ""}),
        ("open_recorded", {"products": [1, 2], "queue": "risk-averse"}),
        ("play_recorded", {"product": 1, "changes": [[0, 1, 5, 5]], "whole": False}),
        ("copy_account", {"address": "0x" + "1" * 40, "balance": 5, "positions": [], "leverages": (), "hedge": False}),
    ]
    for wrong in ("DOGE", True, None):
        with pytest.raises(InputError) as caught:
            control.pause(wrong)
        assert caught.value.field == "product"
    with pytest.raises(InputError, match="points must be") as caught:
        control.script_oracle(1, [5])
    assert caught.value.rule == "pairs"


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


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every bar that is made, drawn as text."""
    from tqdm import auto, std

    made: list[Any] = []

    class Bar(std.tqdm):  # type: ignore[type-arg]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, file=sys.stderr, mininterval=0, **options)
            made.append(self)

    monkeypatch.setattr(auto, "tqdm", Bar)
    return made


def test_progress_counts_simulated_minutes(bars: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    with LocalVenue(clock="manual") as venue:
        venue.advance("20m", progress=True)
    assert [(bar.n, bar.total) for bar in bars] == [(20.0, 20.0)]
    assert "advance" in capsys.readouterr().err
