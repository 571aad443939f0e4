"""How much is computed: quotes once an instant, cheap ones where they are enough, and quiet time in few long batches.

All of this changes no price and no trade, so only the work tells of it. The same seed and commands take the same work
with each Python and platform. Where a number here changes, the market has become cheaper or dearer to compute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.venue.simulation.test_drawn import digest
from tests.venue.simulation.test_same_commands import STORIES, Story, opened
from toolkit.venue.engine.commands import Advance, Control
from toolkit.venue.engine.core import Core
from toolkit.venue.model.genesis import GENESIS_TIME
from toolkit.venue.simulation import order_flow, quoting
from toolkit.venue.simulation.quoted import Quoted
from toolkit.venue.simulation.quoting import Quotes
from toolkit.venue.trading import placing

MINUTE = 60_000
COUNTED: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (quoting, ("around", "seen_between")),
    (order_flow, ("block",)),
    (Quoted, ("thin_out", "forget_quotes", "read_regime", "advance_places")),
    (Quotes, ("find_order", "hear", "_see", "_steps", "side", "_join", "_make", "keep_places", "next_change")),
    (placing, ("submit",)),
)

WORK: dict[str, dict[str, int]] = {
    "usual": {
        "around": 6598, "seen_between": 6272, "block": 16, "thin_out": 592, "forget_quotes": 179,
        "read_regime": 8, "find_order": 8, "hear": 1449, "_see": 738, "_steps": 50985, "side": 3241, "_join":
        3031, "_make": 3816, "keep_places": 923, "next_change": 927, "submit": 81,
    },
    "stressed": {
        "around": 6414, "seen_between": 5909, "block": 8, "thin_out": 673, "forget_quotes": 208,
        "read_regime": 4, "advance_places": 24, "find_order": 4, "hear": 2365, "_see": 734, "_steps": 45378,
        "side": 2873, "_join": 1776, "_make": 2381, "keep_places": 939, "next_change": 944, "submit": 43,
    },
    "crowded": {
        "around": 12834, "seen_between": 13592, "block": 12, "thin_out": 894, "forget_quotes": 279,
        "read_regime": 6, "find_order": 6, "hear": 3716, "_see": 1676, "_steps": 63441, "side": 7991, "_join":
        287, "_make": 367, "keep_places": 3002, "next_change": 3002, "submit": 4,
    },
    "lonely": {
        "around": 1423, "seen_between": 761, "block": 8, "thin_out": 752, "forget_quotes": 116, "read_regime":
        4, "find_order": 4, "hear": 515, "_see": 587, "_steps": 2526, "side": 953, "_join": 126, "_make": 131,
        "submit": 11,
    },
    "read": {
        "around": 4969, "seen_between": 5947, "block": 8, "thin_out": 996, "forget_quotes": 431,
        "read_regime": 4, "advance_places": 1, "find_order": 4, "hear": 875, "_see": 2047, "_steps": 15305,
        "side": 2956, "_join": 517, "_make": 807, "keep_places": 12, "next_change": 12, "submit": 32,
    },
}  # fmt: skip
BATCHES: dict[str, Any] = {
    "nothing usual": (
        9,
        7,
        [(12000, True, 15000, 12378, 60000), (15500, True, 18000, 15704, 60000), (74321, True, 75000, 75374, 120000)],
        "2babb372846a",
    ),
    "nothing stressed": (
        9,
        7,
        [(12000, True, 15000, 12062, 60000), (15500, True, 18000, 15704, 60000), (74321, True, 75000, 75374, 120000)],
        "cb167e9c8675",
    ),
    "resting usual": (
        326,
        4,
        [(12000, False, 12000, 10430, 60000), (12000, False, 12000, 10773, 60000), (12000, False, 12000, 11466, 60000)],
        "b03ec083c430",
    ),
    "resting stressed": (
        209,
        6,
        [(12000, False, 12000, 10430, 60000), (12000, False, 12000, 10773, 60000), (12000, False, 12000, 11466, 60000)],
        "093c327b2e59",
    ),
    "planned usual": (
        36,
        10,
        [(12000, True, 15000, 12378, 60000), (15500, True, 18000, 15704, 60000), (74321, True, 66000, 65554, 120000)],
        "26b55db632f4",
    ),
    "planned stressed": (
        39,
        10,
        [(12000, True, 15000, 12062, 60000), (15500, True, 18000, 15704, 60000), (74321, True, 66000, 65554, 120000)],
        "d9b0f6f9567f",
    ),
}


@pytest.fixture(autouse=True)
def checked_commands() -> None:
    """Nothing is checked between commands, as it is elsewhere: a check computes books too."""


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each part of the market was computed."""
    found = Counter[str]()

    def counted(name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **keywords: Any) -> Any:
            found[name] += 1
            return inner(*args, **keywords)

        return call

    for owner, names in COUNTED:
        for name in names:
            monkeypatch.setattr(owner, name, counted(name, getattr(owner, name)))
    return found


@pytest.mark.parametrize("name", STORIES)
def test_the_same_commands_take_the_same_work(work: Counter[str], name: str) -> None:
    Story(*STORIES[name]).play(12)
    assert dict(work) == WORK[name]


def batches(core: Core) -> list[tuple[int, bool, int]]:
    """Note each batch: how far time may pass, whether it did, and to which prices."""
    found: list[tuple[int, bool, int]] = []
    inner = core.pass_time
    assert inner is not None

    def noted(core: Core, until: int) -> bool:
        passed = inner(core, until)
        schedule = core.state.schedule
        assert schedule["prices"] == schedule["funding"]
        times = (until, schedule["prices"], schedule["market"], schedule.get("samples", 0))
        found.append((times[0] - GENESIS_TIME, passed, *(time - GENESIS_TIME for time in times[1:])))  # type: ignore[arg-type]
        return passed

    core.pass_time = noted
    return found


def resting(core: Core) -> None:
    """Orders that takers reach soon, late and never."""
    for side, away in ((1, 0), (-1, 40), (1, 30_000)):
        best = core.books.top(1)[side < 0]
        user = core.account("0x" + "7" * 40)
        placing.submit(core, user, core.products[1], side, 40, best - side * away, tif=1)


def planned(core: Core) -> None:
    """A regime of a product for a while, and prices that move by hand in between."""
    arguments = {"regime": "stressed", "product": 2, "after": 55_555, "lasting": 133_333}
    assert core.apply(Control(core.state.time, "market", arguments)).code == 0
    points = [[core.state.time + 77_777, "61000"], [core.state.time + 90_001, "60500"]]
    arguments = {"product": 1, "points": points, "release": True}
    assert core.apply(Control(core.state.time, "script_oracle", arguments)).code == 0


def nothing(core: Core) -> None:
    """Only the market itself."""


@pytest.mark.parametrize("story", [nothing, resting, planned])
@pytest.mark.parametrize("market", ["usual", "stressed"])
def test_quiet_time_passes_in_the_same_batches(story: Callable[[Core], None], market: str) -> None:
    core = opened(7, market, watched=False)
    core.apply(Advance(GENESIS_TIME + 9_999))
    story(core)
    found = batches(core)
    for until in (10_001, 12_000, 15_500, 74_321, 300_000, 11 * MINUTE, 12 * MINUTE + 1):
        core.apply(Advance(GENESIS_TIME + until))
    assert (len(found), sum(passed for _, passed, *_ in found), found[:3], digest(found)) == BATCHES[
        f"{story.__name__} {market}"
    ]
    core.check()
