"""Player: replays recordings on a venue, a command for each ms in which something happened."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Protocol

import msgspec

from ...errors import InputError
from ..engine.commands import Control
from ..model.genesis import Genesis

NEVER = 1 << 62


class TapeLike(Protocol):
    """The changes of one product by time."""

    times: list[int]

    def changes(self, number: int) -> list[list[int]]:
        """Return the changes of a batch, as `play_recorded` takes them.

        Parameters
        ----------
        number : int
            Number of the batch, from 0.
        """

    def book(self, number: int) -> list[list[int]]:
        """Return the levels that the book has before a batch, likewise.

        Parameters
        ----------
        number : int
            Number of the batch, from 0.
        """


class RecordedEvents(Protocol):
    """A recording that can be replayed: `toolkit.research.data.Events`."""

    symbol: str
    tick_size: Decimal
    step_size: Decimal

    def tape(self, tick_size: Decimal, step_size: Decimal) -> TapeLike:
        """Return the changes in ticks and steps of a product.

        Parameters
        ----------
        tick_size : Decimal
            Tick of the product in USDC.
        step_size : Decimal
            Step of the product in base units.
        """


Replayable = RecordedEvents | Mapping[str, RecordedEvents]


class Player:
    """Recordings by product, and the place where each of them is.

    Parameters
    ----------
    replay : RecordedEvents or mapping of str to RecordedEvents
        One recording, or symbol → recording.
    rows : sequence of mapping of str to object
        ProductMeta rows of the venue.

    Attributes
    ----------
    products : list of int
        Codes of the recorded products.
    rows : list of dict
        ProductMeta rows, with the recordings' steps where the venue's are coarser.
    prices : dict of int to str
        First price of each product in USDC.
    start_ms : int
        Time of the first change, Unix ms.
    end_ms : int
        Time of the last change, Unix ms.

    Raises
    ------
    InputError
        If a symbol is not listed, or a recording has no book.
    """

    def __init__(self, replay: Replayable, rows: Sequence[Mapping[str, Any]]) -> None:
        if not isinstance(replay, Mapping):
            replay = {"": replay}
        by_symbol = {str(row["symbol"]): dict(row) for row in rows}
        self._tapes: dict[int, TapeLike] = {}
        self.prices: dict[int, str] = {}
        for named, events in replay.items():
            if not hasattr(events, "tape"):
                kind = type(events).__name__
                text = (
                    "replay takes events, as toolkit.research.data.load returns them, or a mapping symbol → events, not"
                    f" {kind}. To play the prices of bars, call toolkit.research.replay(venue, bars)"
                )
                raise InputError(text, field="replay", rule="events", value=kind)
            symbol = named or listed_symbol(events.symbol, rows)
            row = by_symbol.get(symbol)
            if row is None:
                raise _unknown(symbol, rows)
            fit_row(row, events.tick_size, events.step_size)
            code, tick = int(row["code"]), Decimal(row["tickSize"])
            tape = self._tapes[code] = events.tape(tick, Decimal(row["stepSize"]))
            if not tape.times:
                text = f"{symbol}: the recording is empty: it has no book and no trades"
                raise InputError(text, field="replay", rule="not empty")
            changes = (change for number in range(len(tape.times)) for change in tape.changes(number))
            first = next(price for _, _, price, _ in changes if price)
            self.prices[code] = format(tick * first, "f")
        self.rows = list(by_symbol.values())
        self.products = sorted(self._tapes)
        self.start_ms = min(tape.times[0] for tape in self._tapes.values())
        self.end_ms = max(tape.times[-1] for tape in self._tapes.values())
        self._places = dict.fromkeys(self._tapes, 0)
        self.next_ms = self.start_ms

    def fit(self, genesis: Genesis) -> Genesis:
        """Return a genesis with the recordings' products and first prices.

        Parameters
        ----------
        genesis : Genesis
            Genesis of the venue.
        """
        prices = {**genesis.prices, **self.prices}
        return msgspec.structs.replace(genesis, products=self.rows, prices=prices)

    def begin(self, time: int) -> list[Control]:
        """Return the commands that open the recorded market at a time, with the books that are there by then.

        Parameters
        ----------
        time : int
            Time of the venue, Unix ms.
        """
        self.seek(time - 1)
        books = {code: tape.book(self._places[code]) for code, tape in self._tapes.items()}
        played = [{"product": code, "changes": book} for code, book in books.items() if book]
        opening = Control(time, "open_recorded", {"products": self.products})
        return [opening, *(Control(time, "play_recorded", each) for each in played)]

    def seek(self, time: int) -> None:
        """Continue with what comes after a time.

        Parameters
        ----------
        time : int
            Time of the venue, Unix ms.
        """
        for code, tape in self._tapes.items():
            self._places[code] = bisect_right(tape.times, time)
        self._find_next()

    def take(self) -> Control:
        """Return the next command."""
        code = min(self._tapes, key=self._due)
        place = self._places[code]
        self._places[code] = place + 1
        tape = self._tapes[code]
        self._find_next()
        return Control(tape.times[place], "play_recorded", {"product": code, "changes": tape.changes(place)})

    def _due(self, code: int) -> int:
        times, place = self._tapes[code].times, self._places[code]
        return times[place] if place < len(times) else NEVER

    def _find_next(self) -> None:
        self.next_ms = min(map(self._due, self._tapes))


def listed_symbol(symbol: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the product that is quoted in USDC where a recording is in another dollar: BTCUSDC for BTCUSDT.

    Parameters
    ----------
    symbol : str
        Symbol of the recording, such as "BTCUSDT" or "BTC-USD".
    rows : sequence of mapping of str to object
        ProductMeta rows of the venue.

    Raises
    ------
    InputError
        If no product, or more than one, fits.
    """
    symbols = [str(row["symbol"]) for row in rows]
    if symbol in symbols:
        return symbol
    plain = symbol.upper().replace("-", "").replace("_", "")
    found = [str(row["symbol"]) for row in rows if plain.startswith(str(row["baseCurrency"]).upper() + "USD")]
    if len(found) != 1:
        raise _unknown(symbol, rows)
    return found[0]


def _unknown(symbol: str, rows: Sequence[Mapping[str, Any]]) -> InputError:
    symbols = tuple(str(row["symbol"]) for row in rows)
    known = ", ".join(symbols)
    text = (
        f"{symbol or 'the recording'} is not a product of this venue, which lists {known}. Say which one it plays:"
        f" replay={{{symbols[0]!r}: events}}"
    )
    return InputError(text, field="replay", rule="listed", value=symbol, nearest=symbols)


def fit_row(row: dict[str, Any], tick_size: Decimal, step_size: Decimal) -> None:
    """Give a product another market's tick and step where its own are coarser.

    Parameters
    ----------
    row : dict of str to object
        ProductMeta row, which is changed.
    tick_size : Decimal
        Tick of the recording in USDC.
    step_size : Decimal
        Step of the recording in base units.
    """
    tick, step = Decimal(row["tickSize"]), Decimal(row["stepSize"])
    tick = tick_size if tick_size % tick else tick
    # money is exact to 0.000001, so a very fine tick needs a coarser step
    step = max(step_size if step_size % step else step, Decimal("0.000001") / tick)
    row["tickSize"], row["stepSize"] = format(tick, "f"), format(step, "f")
    for name, size in (("pricePrecision", tick), ("qtyPrecision", step)):
        row[name] = max(0, -int(size.normalize().as_tuple().exponent))
