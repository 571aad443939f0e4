"""The lab's parts one by one: alarms, steps of an advance, a player's order and precision, faults."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.venue.quiet import venue  # a fixture
from toolkit.errors import InputError
from toolkit.venue.engine.commands import Control
from toolkit.venue.lab.player import Player, fit_row, listed_symbol
from toolkit.venue.model.genesis import Genesis

__all__ = ["venue"]

D = Decimal


# the player


class Tape:
    """Batches by time. Each change names its batch."""

    def __init__(self, times: list[int], price: int, book: bool = True) -> None:
        self.times, self.price, self._book = times, price, book

    def changes(self, number: int) -> list[list[int]]:
        return [[0, 1, 0 if number == 0 else self.price + number, number]]

    def book(self, number: int) -> list[list[int]]:
        return [[0, 1, self.price, number]] if self._book else []


class Recorded:
    """A recording of one product."""

    def __init__(self, symbol: str, tape: Tape, tick: str = "0.1", step: str = "0.001") -> None:
        self.symbol, self.tick_size, self.step_size = symbol, D(tick), D(step)
        self._tape = tape
        self.asked: tuple[Decimal, Decimal] | None = None

    def tape(self, tick_size: Decimal, step_size: Decimal) -> Tape:
        self.asked = tick_size, step_size
        return self._tape


ROWS: list[dict[str, Any]] = [dict(row) for row in Genesis().products]


def test_a_player_gives_the_changes_of_all_products_in_the_order_of_their_times() -> None:
    btc, eth = Tape([10, 20, 30], 600_000), Tape([15, 20, 40], 300_000, book=False)
    player = Player({"ETHUSDC": Recorded("x", eth, "0.01"), "BTCUSDC": Recorded("y", btc)}, ROWS)
    assert (player.products, player.start_ms, player.end_ms, player.next_ms) == ([1, 2], 10, 40, 10)
    assert player.prices == {1: "60000.1", 2: "3000.01"}, "the first that is not 0"

    def change(time: int, code: int, number: int) -> Control:
        return Control(time, "play_recorded", {"product": code, "changes": {1: btc, 2: eth}[code].changes(number)})

    expected = [change(10, 1, 0), change(15, 2, 0), change(20, 2, 1), change(20, 1, 1), change(30, 1, 2),
                change(40, 2, 2)]  # fmt: skip
    times = []
    for command in expected:
        times.append(player.next_ms)
        assert player.take() == command
    assert times == [10, 15, 20, 20, 30, 40]
    assert player.next_ms > 10**15, "nothing comes after the end"
    player.seek(20)
    assert (player.next_ms, player.take()) == (30, change(30, 1, 2))
    player.seek(19)
    assert player.next_ms == 20
    assert player.begin(20) == [
        Control(20, "open_recorded", {"products": [1, 2]}),
        Control(20, "play_recorded", {"product": 1, "changes": btc.book(1)}),
    ], "with what the book has just before, where it has anything"


def test_what_can_not_be_played_is_an_error_with_the_products_that_can() -> None:
    symbols = tuple(row["symbol"] for row in ROWS)
    for replay, rule, words in (
        ({"DOGEUSDC": Recorded("x", Tape([1], 5))}, "listed", "DOGEUSDC is not a product of this venue"),
        (Recorded("DOGEUSDT", Tape([1], 5)), "listed", "DOGEUSDT is not a product"),
        (Recorded("", Tape([1], 5)), "listed", "the recording is not a product"),
        ({"BTCUSDC": Recorded("x", Tape([], 5))}, "not empty", "BTCUSDC: the recording is empty"),
        ({"BTCUSDC": 5}, "events", "not int"),
    ):
        with pytest.raises(InputError, match=words) as caught:
            Player(replay, ROWS)  # type: ignore[arg-type]
        assert (caught.value.field, caught.value.rule) == ("replay", rule)
        assert tuple(caught.value.nearest) == (symbols if rule == "listed" else ())


@pytest.mark.parametrize(
    ("symbol", "product"),
    [("BTCUSDC", "BTCUSDC"), ("BTCUSDT", "BTCUSDC"), ("btc-usd-perp", "BTCUSDC"), ("ETH_USD", "ETHUSDC"),
     ("XRPUSD", "XRPUSDC"), ("USDBTC", None), ("BTCEUR", None), ("", None)],
)  # fmt: skip
def test_a_recording_in_another_dollar_is_of_the_product_in_usdc(symbol: str, product: str | None) -> None:
    if product is not None:
        assert listed_symbol(symbol, ROWS) == product
        return
    with pytest.raises(InputError, match="is not a product of this venue"):
        listed_symbol(symbol, ROWS)
    with pytest.raises(InputError, match="is not a product"):  # two of them would fit
        listed_symbol("BTCUSD", [*ROWS, {"symbol": "BTCUSDX", "baseCurrency": "BTC"}])


@pytest.mark.parametrize(
    ("tick", "step", "expected"),
    [
        ("0.1", "0.001", ("0.1", "0.001", 1, 3)),
        ("0.5", "0.002", ("0.1", "0.001", 1, 3)),  # multiples of its own: these are fine enough
        ("0.01", "0.001", ("0.01", "0.001", 2, 3)),
        ("0.1", "0.0005", ("0.1", "0.0005", 1, 4)),
        ("0.0001", "0.001", ("0.0001", "0.01", 4, 2)),  # a fill is exact to 0.000001
        ("0.25", "0.001", ("0.25", "0.001", 2, 3)),
        ("3", "2", ("0.1", "0.001", 1, 3)),
    ],
)
def test_a_product_gets_a_recordings_steps_only_where_its_own_are_coarser(
    tick: str, step: str, expected: tuple[str, str, int, int]
) -> None:
    row: dict[str, Any] = {"tickSize": "0.1", "stepSize": "0.001"}
    fit_row(row, D(tick), D(step))
    assert (row["tickSize"], row["stepSize"], row["pricePrecision"], row["qtyPrecision"]) == expected
    whole: dict[str, Any] = {"tickSize": "100", "stepSize": "10"}
    fit_row(whole, D(100), D(10))
    assert (whole["pricePrecision"], whole["qtyPrecision"]) == (0, 0)
