"""One of the four witnesses of a run lies or lags: the venue never holds more than the limit, and the book heals."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from itertools import product
from typing import Any

import httpx
import pytest

import toolkit
from tests.research.live_trading import test_witnesses
from tests.support.late import FILLS, LIES, POSITIONS, STATES, Late
from toolkit import Limits
from toolkit.errors import LimitReached
from toolkit.research import live
from toolkit.venue.local import LocalVenue

venue = test_witnesses.venue
BTC = test_witnesses.BTC
MOST = Decimal("0.03")
BEGINS, ENDS, LAST = 3, 8, 14
"""Minutes: the witness lies or lags from the first on until the second. The run ends with the third."""
HEALED = 2
"""So many minutes after that, the run knows again what it holds."""
LAGS = {f"{path.split('/')[2]} {late} s late": (path, late)
        for path in (FILLS, STATES, POSITIONS) for late in (5, 30, 60, 120)}  # fmt: skip
QUICK = [
    ("no fill", "one", "ONE_WAY"),
    ("positions of ten times the size", None, "HEDGE"),
    ("order 60 s late", "one", "HEDGE"),
]
# Each lie and lag for a run with a name and for one without, in either mode: all four would take minutes more.
GRID = [*product(LIES, [("one", "ONE_WAY"), (None, "HEDGE")]), *product(LAGS, [("one", "HEDGE"), (None, "ONE_WAY")])]
CASES = [pytest.param(case, *how, marks=() if (case, *how) in QUICK else pytest.mark.slow) for case, how in GRID]


class Passing(Late):
    """A network on which one witness lies or lags from minute `BEGINS` to minute `ENDS`."""

    def __init__(self, venue: LocalVenue, case: str) -> None:
        super().__init__(venue, {})
        self.path, self.lie = LIES.get(case) or LAGS[case]
        self.begun_ms = venue.host.now_ms()

    @property
    def minute(self) -> int:
        return (self._venue.host.now_ms() - self.begun_ms) // 60_000

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        lying = BEGINS <= self.minute < ENDS
        self.seconds = {self.path: self.lie} if lying and isinstance(self.lie, int) else {}
        self.change = {self.path: self.lie} if lying and not isinstance(self.lie, int) else {}
        return super().handle_request(request)


class Played:
    """A run while one witness lies or lags. `held` has minute, size at the venue and in the run, at each bar."""

    def __init__(self, venue: LocalVenue, case: str, name: str | None, mode: str, strategy: Any) -> None:
        self.venue, self.network, self.strategy = venue, Passing(venue, case), strategy
        self.held: list[tuple[int, Decimal, Decimal]] = []
        limits = Limits(max_position=float(MOST))
        with toolkit.connect(venue=venue, transport=self.network) as session:
            venue.control.set_position_mode(session.account, mode)
            live(self.on_bar, session, [BTC], limits=limits, duration=f"{LAST}m", run=name)

    def on_bar(self, ctx: Any, bar: Any) -> None:
        with suppress(LimitReached):
            self.strategy(ctx, self.network.minute)
        with toolkit.connect(venue=self.venue) as truth:
            table = truth.positions(exact=True, index=None)
        size = sum((row.size if row.side == "LONG" else -row.size for row in table.itertuples()), Decimal(0))
        self.held.append((self.network.minute, size, Decimal(str(round(ctx.position(BTC), 9)))))


def grows(ctx: Any, minute: int) -> None:
    ctx.buy(BTC, "0.01")


def turns(ctx: Any, minute: int) -> None:
    ctx.target(BTC, ("0.02", "-0.01")[minute % 2])


@pytest.mark.filterwarnings("ignore::toolkit.errors.DataWarning")
@pytest.mark.parametrize("strategy", [grows, pytest.param(turns, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("case", "name", "mode"), CASES)
def test_no_liar_and_no_lagger_makes_a_run_hold_more_than_its_limit(
    venue: LocalVenue, case: str, name: str | None, mode: str, strategy: Any
) -> None:
    held = Played(venue, case, name, mode, strategy).held
    assert max(abs(size) for _, size, _ in held) <= MOST, held
    last = [(size, known) for minute, size, known in held if minute >= ENDS + HEALED]
    assert last
    assert all(size == known for size, known in last), held
