"""Runs with names on one account: each has its own money, and together they have what the account has."""

from __future__ import annotations

from typing import Any

import pytest

import toolkit
from toolkit import Limits
from toolkit.research import live
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"


def run(session: Any, name: str, target: str, hours: int = 6, **limits: Any) -> tuple[Any, list[Any]]:
    """Hold a position for some hours, and return the Results with what the context has shown."""
    seen: list[Any] = []

    def on_bar(ctx: Any, bar: Any) -> None:
        ctx.target(BTC, target)
        shown = ctx.positions()
        seen.append((ctx.position(BTC), float(shown["quantity"].sum())))

    given: dict[str, Any] = {"limits": Limits(**limits), "interval": "1h", "duration": f"{hours}h", "run": name}
    return live(on_bar, session, [BTC], **given), seen


def gain(result: Any) -> float:
    equity = result.equity["equity"]
    return float(equity.iloc[-1] - equity.iloc[0])


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["ONE_WAY", "HEDGE"])
@pytest.mark.parametrize(("one", "other"), [("0.03", "0.05"), ("0.05", "-0.02")])
def test_runs_on_one_account_have_each_their_own_and_together_all_of_it(one: str, other: str, mode: str) -> None:
    with toolkit.connect(clock="manual") as session:
        session.venue.control.set_position_mode(str(session.account), mode)
        session.venue.advance("3h")
        begun = session.wallet_balances()["equity"].iloc[0]
        first, _ = run(session, "a", one)
        second, seen = run(session, "b", other)
        assert all(size == pytest.approx(float(other)) == shown for size, shown in seen[1:])
        last, seen = run(session, "a", one, hours=1)
        assert all(size == pytest.approx(float(one)) == shown for size, shown in seen)
        # What b made while only a ran again is not in its Results.
        row = session.positions(exact=True, index=None)
        ended = session.wallet_balances()["equity"].iloc[0]
        for result in (first, second, last):
            assert list(result.attribution.index) == [BTC, "TOTAL"]
            assert result.attribution.loc["TOTAL", "net"] == pytest.approx(gain(result), abs=1e-6)
            assert result.settings["account_equity"][1] > 0
        assert len(row)
        closing, _ = run(session, "b", other, hours=1)
        made = gain(last) + gain(closing)
        change = session.wallet_balances()["equity"].iloc[0] - begun
        # The last hour of a is not in its Results: its part of the change of the mark.
        moved = closing.marks[BTC].iloc[-1] - last.marks[BTC].iloc[-1]
        assert made + float(one) * moved == pytest.approx(change, abs=0.02)
        paid = session.info.funding_payments()["amount"].sum()
        shares = last.funding["payment"].sum() + closing.funding["payment"].sum()
        assert paid != 0
        assert shares == pytest.approx(paid, abs=1e-6)
        assert ended != begun


def test_a_limit_on_losses_counts_what_the_run_has_lost_itself() -> None:
    with LocalVenue(clock="manual", market=None, settle_delay=0) as venue, toolkit.connect(venue=venue) as session:

        def move(mid: int) -> None:
            venue.control.remove_liquidity(BTC)
            for side, price in (("SELL", mid + 10), ("BUY", mid - 10)):
                venue.control.add_liquidity(BTC, side, str(price), "50")
            venue.control.set_oracle(BTC, str(mid))
            with toolkit.connect(venue=venue, account=1) as other:
                other.buy(BTC, "0.01")

        move(62_500)
        given: dict[str, Any] = {"limits": Limits(max_loss=20), "interval": "1m"}
        live(lambda ctx, bar: ctx.target(BTC, "-0.05"), session, [BTC], duration="2m", run="a", **given)
        mids = iter((62_500, 62_300, 62_100, 61_900, 61_700, 61_500, 61_300))

        def on_bar(ctx: Any, bar: Any) -> None:
            ctx.target(BTC, "0.05")
            move(next(mids))

        result: Any = live(on_bar, session, [BTC], duration="6m", run="b", **given)
        assert "LIMIT" in set(result.events["kind"])
        assert 20 < -gain(result) < 35
        assert session.positions().empty, "the account is flat, and has lost only spreads and fees"
