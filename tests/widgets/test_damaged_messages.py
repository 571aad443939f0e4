"""Damaged messages, one after the other: nothing raises, nothing wrong is shown as true, and good ones are shown again.

A second stream of the same venue, which nobody damages, says what is true.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import toolkit
from tests.venue.traders import Trader
from toolkit.client.stream.live import Live
from toolkit.errors import BadAnswer, FeedError
from toolkit.session import Session
from toolkit.venue.local import LocalVenue
from toolkit.widgets.base_panel.panel import Panel

pytestmark = pytest.mark.filterwarnings("ignore::toolkit.errors.DataWarning")

GARBAGE: tuple[Any, ...] = (
    *([], {}, None, True, [[[]]], {"a": {"b": [1, None]}}, "", "abc", "NaN", "Infinity", "-Infinity", "1e999999"),
    *(10**400, "9" * 400, "1_000", "0x10", "\u0661", [1, 2, 3], "None", -1.5e300, {"price": "1"}),
)
UNSIGNED = ("p", "mp", "open", "close", "filledPx", "filledQty", "volume", "ordPx", "ordQty", "longSize", "execQty")
NAMES = ("symbol", "symbolName", "s", "userAddr")
SEVERAL = ("allTickers", "aopState", "orderHist", "userFilled")
"""Channels of several products: their rows may have any."""


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the places in a message whose damage shows: a member, or an element of a list."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path for key, member in members for path in [(*at, key), *paths(member, (*at, key))]]


class Damager:
    """Damages some of the messages of one stream."""

    def __init__(self, session: Session, rng: random.Random) -> None:
        self.rng, self.due, self.done = rng, 0, Counter[str]()
        self._protocol = session.stream._open().protocol
        self._received, self._last = self._protocol.received, ""
        self._protocol.received = self._receive  # type: ignore[method-assign]

    def _receive(self, text: str | bytes, now_ms: int) -> None:
        before, self._last = self._last, str(text)
        if not self.due or '"data"' not in str(text) or self.rng.random() < 0.5:
            self._received(text, now_ms)
            return
        self.due -= 1
        for damaged in self._damaged(json.loads(text), str(text), before):
            self._received(damaged, now_ms)

    def _damaged(self, message: dict[str, Any], text: str, before: str) -> list[str]:
        kind = self.rng.choice(
            ("missing", "value", "value", "value", "form", "negative", "name", "row", "order", "text")
        )
        self.done[f"{message['channel']} {kind}"] += 1
        if kind == "order":  # once more, or the one before once more
            # Only a sequence tells what came too late.
            late = "sequence" in message["data"] and '"sequence"' in before
            return (
                self.rng.choice(([text, text], [text, before], [before, text, before, text])) if late else [text, text]
            )
        if kind == "text":
            return [self.rng.choice((text[: len(text) // 2], "[]", "null", json.dumps(message | {"data": []}), "\x00"))]
        # The sequence is the venue's word for what was lost, so it is damaged only in its form.
        chosen = [path for path in paths(message["data"]) if path[-1] not in ("type", "sequence")]
        if kind == "negative":
            chosen = [path for path in chosen if path[-1] in UNSIGNED]
        if kind == "name":
            chosen = [
                path for path in chosen if path[-1] in NAMES and len(path) > 1 and message["channel"] not in SEVERAL
            ]
        if kind == "row":
            chosen = [path for path in chosen if isinstance(path[-1], int)]
        if not chosen:
            return [text]
        *way, last = self.rng.choice(chosen)
        held = message["data"]
        for step in way:
            held = held[step]
        self._change(kind, held, last)
        return [json.dumps(message)]

    def _change(self, kind: str, held: Any, last: Any) -> None:
        value = held[last]
        if kind == "missing" and isinstance(held, dict):
            del held[last]
        elif kind == "form" and last not in NAMES and isinstance(value, str | int | float):
            # Text for a number, and a number for text: the same value in another form.
            try:
                held[last] = (
                    str(value) if not isinstance(value, str) else int(value) if value.isdigit() else float(value)
                )
            except ValueError:
                held[last] = [value]
        elif kind == "negative":
            held[last] = "-5"
        elif kind == "name":
            held[last] = self.rng.choice(("DOGEUSDC", "0x" + "9" * 40))
        elif last in (*NAMES, "currency", "ordStatus"):
            held[last] = self.rng.choice((None, [], "", True))  # another text is another product
        else:
            held[last] = self.rng.choice(GARBAGE[4:] if isinstance(value, list) else GARBAGE)  # [] may be meant


OPEN: dict[str, Callable[[Session], Live]] = {
    "book": lambda s: s.stream.order_book("BTCUSDC", 5),
    "ticker": lambda s: s.stream.ticker("BTCUSDC"),
    "tickers": lambda s: s.stream.tickers(),
    "candles": lambda s: s.stream.candles("BTCUSDC", "1m"),
    "trades": lambda s: s.stream.trades("BTCUSDC"),
    "fills": lambda s: s.stream.fills(),
    "history": lambda s: s.stream.order_history(),
    "account": lambda s: s.stream.account(),
    "orders": lambda s: s.stream.orders(),
    "positions": lambda s: s.stream.positions(),
    "blocks": lambda s: s.stream.blocks(),
}


def rows_of(live: Live) -> list[dict[str, Any]]:
    return [dict(row) for row in live.rows()]


def agrees(shown: dict[str, Any], true: dict[str, Any]) -> bool:
    """Return whether a row shows no number, time or product that is not so; what is missing may be None.

    Text for text is a value like any other, so a status, hash or name is shown as it came. What was read from the Info
    API has other fields.
    """
    compared = {name for name, value in shown.items() if not isinstance(value, str | None) or name == "symbol"}
    return all(shown[name] == true[name] for name in compared if None not in (shown[name], true[name]))


class Run:
    """A venue, what is watched of it twice, and panels on the stream that is damaged."""

    def __init__(self, venue: LocalVenue, seed: int) -> None:
        self.venue, self.rng = venue, random.Random(seed)
        self.own, self.maker, self.taker = (Trader(venue, index) for index in range(3))
        venue.advance("1m")
        self.session = toolkit.connect(venue=venue, account=0)
        self.clean = toolkit.connect(venue=venue, account=0)
        for side, price in (("BUY", 62000), ("SELL", 63000)):
            for step in range(5):
                self.maker.place(side, str(price + step * (1 if side == "SELL" else -1)), "0.3")
        self.act()
        self.damager = Damager(self.session, self.rng)
        self.shown = {name: opened(self.session) for name, opened in OPEN.items()}
        self.true = {name: opened(self.clean) for name, opened in OPEN.items()}
        self.panels: list[Panel] = [
            toolkit.widgets.OrderBook(self.session, "BTCUSDC", 5),
            toolkit.widgets.Candles(self.session, "BTCUSDC", "1m"),
            toolkit.widgets.Trades(self.session, "BTCUSDC"),
            toolkit.widgets.Blotter(self.session),
            self.session.ticket("BTCUSDC", price="60000", quantity="0.01"),
        ]

    def act(self) -> None:
        """Do something that many channels report."""
        trader = self.rng.choice((self.own, self.taker))
        side = self.rng.choice(("BUY", "SELL"))
        trader.place(side, "0", f"0.00{self.rng.randint(1, 9)}")
        price = self.rng.randint(61000, 61900)
        order = trader.place("BUY", str(price), "0.001")
        if self.rng.random() < 0.7:
            trader.cancel(order)
        self.venue.advance(f"{self.rng.choice((1000, 3000, 20_000))}ms")

    def look(self) -> None:
        """Look at everything: nothing raises, and what is called live is so."""
        assert self.session.stream.health.dropped == sum(one.dropped for one in self.session.stream.health.live)
        for name, live in self.shown.items():
            try:
                frame = live.frame()
            except (FeedError, BadAnswer):
                assert not live.is_live or live._topic.received_ms is None, name
                continue
            assert frame.attrs["state"] == live.state
            if live.is_live and not live.stale:
                self.compare(name, live)
        for panel in self.panels:
            panel.refresh()
            assert panel.problem == "", panel.problem
            assert json.dumps(panel.view)
            assert repr(panel)

    def compare(self, name: str, live: Live) -> None:
        shown, true = rows_of(live), rows_of(self.true[name])
        if name in ("trades", "fills", "history", "blocks"):
            shown, true = shown[-30:], true[-150:]
        if name in ("book", "account", "orders", "positions", "ticker"):
            assert len(shown) == len(true), (name, shown, true)
        for row in shown:
            if not any(agrees(row, other) for other in reversed(true)):
                near = max(true, key=lambda other: sum(row[k] == other[k] for k in row), default=row)
                raise AssertionError((name, {k: (row[k], near[k]) for k in row if row[k] != near[k]}))

    def recover(self) -> None:
        """Let good messages come: all is live, healthy and up to date."""
        for _ in range(4):
            self.act()
            self.venue.advance("31s")
        for name, live in self.shown.items():
            assert live.is_live, (name, live)
            assert not live.stale, (name, live)
            self.compare(name, live)
            shown, true = rows_of(live), rows_of(self.true[name])
            if name in ("candles", "trades", "fills", "blocks", "history"):
                assert bool(shown) == bool(true), name
                assert not true or agrees(shown[-1], true[-1]), (name, shown[-1], true[-1])
            else:
                assert len(shown) == len(true), name
        self.session.stream.assert_healthy()


def run(count: int, seed: int) -> Counter[str]:
    with LocalVenue(clock="manual", market=False, accounts=3) as venue:
        going = Run(venue, seed)
        going.recover()
        while (done := sum(going.damager.done.values())) < count:
            going.damager.due = 3
            going.act()
            going.look()
            if going.rng.random() < 0.1:
                going.damager.due = 0
                going.recover()
            assert sum(going.damager.done.values()) >= done
        going.damager.due = 0
        going.recover()
        for panel in going.panels:
            assert panel.lock == ""
        assert going.session.stream.health.dropped > count // 10
        going.session.close()
        going.clean.close()
        return going.damager.done


def test_a_hundred_damaged_messages_hurt_nothing() -> None:
    assert len(run(100, 20_260)) > 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_thousands_of_damaged_messages_hurt_nothing(seed: int) -> None:
    run(450, seed)
