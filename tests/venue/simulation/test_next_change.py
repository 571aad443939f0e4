"""When the makers' quotes may next change: never later than they do, and as early only as their reasons are."""

from __future__ import annotations

import pytest

from tests.venue.simulation.stream import Rng
from tests.venue.simulation.test_one_market import USERS, place
from tests.venue.simulation.test_same_commands import CROWDED
from toolkit.venue.engine.commands import Advance
from toolkit.venue.engine.core import Core
from toolkit.venue.model.genesis import Genesis
from toolkit.venue.risk import ledger
from toolkit.venue.simulation import participants
from toolkit.venue.simulation.quoted import Quoted
from toolkit.venue.simulation.quoting import Level, Quotes


def quotes_of(core: Core) -> Quotes:
    found = participants.quotes_of(core)
    assert found is not None
    return found


def levels(quotes: Quotes, quoted: Quoted, time: int) -> list[list[Level]]:
    quoted.forget_quotes()
    return [list(quotes.side(quoted, side, time)) for side in (1, -1)]


@pytest.mark.parametrize(("seed", "market"), [(0, "usual"), (1, CROWDED)], ids=["usual", "crowded"])
def test_until_the_next_change_all_levels_stay_as_they_are(seed: int, market: object) -> None:
    core, rng = Core(Genesis(seed=seed, settings={"market": market})), Rng(seed)
    core.record_events(False)
    ledger.deposit(core, core.account(USERS[0]), 10**13)
    spans, taken = list[int](), 0
    for _ in range(25):
        core.apply(Advance(core.state.time + 1 + rng.below(2_500)))
        # a purchase takes of the makers' steps, which come back at a later instant
        bid, ask = core.books.top(1)
        if bid and ask and not rng.below(3):
            place(core, USERS[0], 1, ask + 50, 20, "IOC")
            core.books.fold()
            taken += 1
        now = core.state.time
        following = quotes_of(core).next_change(quotes_of(core).products[1], now)
        assert following > now
        spans.append(following - now)
        first = levels(quotes_of(core), quotes_of(core).products[1], now)
        for time in sorted({now + rng.below(following - now) for _ in range(4)} | {following - 1}):
            assert levels(quotes_of(core), quotes_of(core).products[1], time) == first, time
    assert sum(spans) > 25 * 20, "the makers are looked at when they may change, not at every instant"
    assert max(spans) <= 1_600, "a queue changes once in 800 ms"
    assert taken > 3
