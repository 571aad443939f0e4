"""The place of an order in its queue is never below zero, and no trade fills more than it traded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import log
from random import Random
from typing import Any

import pytest

from toolkit.errors import InputError
from toolkit.research import Strategy, backtest
from toolkit.research.data.event_array import Kind
from toolkit.venue.simulation.queues import QueueEntry, queue_model, reached_steps

from ...research.backtesting.events.recorded import START, random_market


@dataclass
class Reckless:
    """A model that puts orders far before the front of their queue."""

    def on_trade(self, entry: QueueEntry, quantity: float) -> None:
        entry.front -= quantity

    def on_level(self, entry: QueueEntry, before: float, after: float) -> None:
        entry.front -= 2407


MODELS: tuple[Any, ...] = ("risk-averse", "power:0.5", "power:2", "power:3", "log")


def check_places(model: Any, seed: int) -> None:
    """Trade and change one level at random, as recordings do: a trade is often followed by what it left."""
    random, queue = Random(seed), queue_model(model, 0.001)
    total = random.randrange(1, 3_000)
    entry, reached = QueueEntry(float(total)), 0
    for _ in range(40):
        if random.random() < 0.4:
            steps = random.choice((1, random.randrange(1, 500)))
            front = entry.front
            found = reached_steps(queue, entry, steps)
            assert 0 <= found <= steps
            assert found == max(0, int(steps - front + 0.5)), "what is not ahead reaches the order"
            reached += found
        else:
            before, total = total, random.choice((0, random.randrange(3_000), max(0, total - random.randrange(100))))
            queue.on_level(entry, before, total)
            assert 0 <= entry.front <= total
        assert entry.front >= 0


def check_fills(model: Any, seed: int) -> None:
    """Run orders of many steps through a market of small trades, and hold each fill against its trade."""
    events = random_market(seed, seconds=3)
    traded: dict[int, float] = {}
    for row in events.of(Kind.TRADE):
        time = (int(row["exchange_ns"]) - START) // 1_000_000
        traded[time] = traded.get(time, 0) + float(row["quantity"])

    class Quotes(Strategy):
        timer_ms = 200

        def on_timer(self, ctx: Any) -> None:
            book = ctx.book("BTCUSDC")
            for side, (price, _) in (("BUY", book.bids[0]), ("SELL", book.asks[0])):
                (ctx.buy if side == "BUY" else ctx.sell)("BTCUSDC", "0.1", f"{price:.1f}", tif="POST_ONLY")
            if len(ctx.orders()) > 8:
                ctx.cancel_all()

    fills = backtest(Quotes(), {"BTCUSDC": events}, queue=model, partial_fills=True, funding=None).fills
    fills["total"] = fills.groupby("order_id")["quantity"].cumsum()
    parts = fills[(fills["role"] == "MAKER") & (fills["total"] < 0.0999)]  # the rest can be filled by a price beyond
    times = parts["time"].astype("datetime64[ms, UTC]").astype("int64") - START // 1_000_000
    assert len(parts)
    for time, quantity in zip(times, parts["quantity"], strict=True):
        assert quantity <= traded[time] + 1e-9


@pytest.mark.parametrize("model", MODELS)
def test_a_place_is_never_below_zero_and_a_trade_gives_no_more_than_it_has(model: Any) -> None:
    for seed in range(10):
        check_places(model, seed)
    check_fills(model, 1)


def moved(weigh: Callable[[Fraction], Fraction], front: int, traded: int, before: int, after: int) -> Fraction:
    """Return the place after a change of its level, as the documentation says, in fractions."""
    cancelled, place = before - after - traded, Fraction(front)
    if cancelled > 0:
        behind = max(before - front, 0)
        total = weigh(Fraction(front)) + weigh(Fraction(behind))
        share = weigh(Fraction(behind)) / total if total else Fraction(1)
        too_many = max(share * cancelled - (before - front), Fraction(0))  # more than is behind: the rest was ahead
        place -= (1 - share) * cancelled + too_many
    return max(min(place, Fraction(after)), Fraction(0))


WEIGHTS: dict[str, Callable[[Fraction], Fraction]] = {
    "power:1": lambda quantity: quantity,
    "power:2": lambda quantity: quantity**2,
    "power:3": lambda quantity: quantity**3,
    "log": lambda quantity: Fraction(log(1 + quantity * Fraction(1, 1_000))),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_what_was_cancelled_is_shared_between_ahead_and_behind_by_their_weights(name: str) -> None:
    random, model = Random(3), queue_model(name, 0.001)
    for _ in range(300):
        front, traded = random.choice((0, 1, random.randrange(900))), random.choice((0, 0, random.randrange(90)))
        before, after = random.choice((front, random.randrange(1_500))), random.choice((0, random.randrange(1_500)))
        entry = QueueEntry(float(front), float(traded))
        model.on_level(entry, before, after)
        wanted = moved(WEIGHTS[name], front, traded, before, after)
        assert entry.front == pytest.approx(float(wanted), rel=1e-9, abs=1e-9), (front, traded, before, after)
        assert entry.traded == 0.0, "the update contained the trades"
        model.on_trade(entry, 5.0)
        assert entry.front == pytest.approx(float(wanted) - 5)
        assert entry.traded == 5.0


@pytest.mark.parametrize(
    ("front", "quantity", "steps", "place"),
    [(10.0, 4, 0, 6.0), (10.0, 10, 0, 0.0), (10.0, 11, 1, 0.0), (10.5, 11, 1, 0.0), (10.6, 11, 0, 0.0),
     (0.0, 7, 7, 0.0)],
)  # fmt: skip
def test_a_trade_reaches_an_order_with_what_is_not_ahead_of_it(
    front: float, quantity: int, steps: int, place: float
) -> None:
    entry = QueueEntry(front)
    assert reached_steps(queue_model("risk-averse", 0.001), entry, quantity) == steps
    assert entry.front == pytest.approx(place)


def test_an_object_is_a_model_when_it_has_both_methods() -> None:
    half: Any = type("Half", (), {"on_trade": lambda self, entry, quantity: None})()
    other: Any = type("Half", (), {"on_level": lambda self, entry, before, after: None})()
    whole = Reckless()
    assert queue_model(whole, 0.001) is whole
    for wrong in (half, other):
        with pytest.raises(InputError, match="is not a model"):
            queue_model(wrong, 0.001)


def test_a_power_without_a_number_is_that_of_two() -> None:
    named, plain = QueueEntry(300.0), QueueEntry(300.0)
    queue_model("power:2", 0.001).on_level(named, 900, 700)
    queue_model("power", 0.001).on_level(plain, 900, 700)
    assert plain.front == named.front < 300
    for wrong in ("power:0", "power:x", "linear"):
        with pytest.raises(InputError, match="is not a model"):
            queue_model(wrong, 0.001)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_places_by_the_thousand(model: Any) -> None:
    for seed in range(300):
        check_places(model, seed)
    for seed in range(4):
        check_fills(model, seed)
