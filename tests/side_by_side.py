"""Upstream and follower side by side: the top of both books after each update, and why each of our orders was filled.

python -m tests.side_by_side --minutes 10 --speed 20
"""

from __future__ import annotations

import argparse
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import toolkit
from toolkit.connecting import NOBODY
from toolkit.following import FollowingVenue, follow
from toolkit.venue.local import LocalVenue
from toolkit.venue.simulation.recorded import RECORDED

SYMBOL, CODE = "BTCUSDC", 1


@dataclass
class Comparison:
    """What was seen: differences are in ticks, of the best prices after one update of the book."""

    updates: int = 0
    compared: int = 0
    """Updates that an independent reader of the upstream has seen as well."""
    largest_difference: int = 0
    fills: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


class Watcher:
    """Compares the follower with the upstream after every update of its feed, on the feed's thread."""

    def __init__(self, venue: FollowingVenue, address: str, reader: toolkit.Session) -> None:
        self.venue, self.address, self.found = venue, address, Comparison()
        self.here: dict[int, tuple[int, int]] = {}
        self.there: dict[int, tuple[int, int]] = {}
        """Best bid and ask in ticks by the sequence of the update."""
        self._tick = venue.host.core.products[CODE].tick_size
        self._fills = 0
        for live in venue.following._lives:
            if SYMBOL in live.subject:
                live.on_update(self._after)
        self.book = reader.stream.order_book(SYMBOL, depth=200)
        self.book.on_update(lambda update: self._note(update, self.there))

    def _note(self, update: Any, tops: dict[int, tuple[int, int]]) -> None:
        live = update.live
        tops[update.sequence] = (int(live.best_bid / self._tick), int(live.best_ask / self._tick))

    def _after(self, update: Any) -> None:
        with self.venue.host.lock:
            book = self.venue.host.core.books[CODE]
            if "order" in update.live.subject.lower():
                self.here[update.sequence] = tuple(
                    next(
                        level.price for level in ladder if any(one.address == RECORDED for one in level.orders.values())
                    )
                    for ladder in (book.bids, book.asks)
                )  # type: ignore[assignment]
            fills = self.venue.host.core.state.history.fills_of(self.address)
            new, self._fills = fills[self._fills :], len(fills)
        for fill in new:
            self._explain(fill, update)

    def _explain(self, fill: Any, update: Any) -> None:
        """Name what in the update filled an order of ours that rested; those that took need no explanation."""
        price, side = fill.price, fill.side
        if fill.role == 2:
            self.found.fills["taken from the book"] += 1
            return
        if "trade" in update.live.subject.lower():
            for item in update.items:
                beyond = (price - int(item["price"] / self._tick)) * side
                if beyond >= 0 and (item["side"] == "SELL") == (side > 0):
                    self.found.fills["a trade went through its price" if beyond else "trades at its price"] += 1
                    return
        else:
            best = update.live.best_ask if side > 0 else update.live.best_bid
            if (price - int(best / self._tick)) * side >= 0:
                self.found.fills["the other side came to it"] += 1
                return
        self.found.unexplained.append(f"{fill} in {update.live.subject} {update.kind}")

    def result(self) -> Comparison:
        """Return the comparison of the updates that both have seen."""
        found = self.found
        both = self.here.keys() & self.there.keys()
        found.updates, found.compared = len(self.here), len(both)
        found.largest_difference = max(
            (abs(here - there) for key in both for here, there in zip(self.here[key], self.there[key], strict=True)),
            default=-1,
        )
        found.notes, found.violations = self.venue.following.notes, self.venue.host.core.violations()
        return found


def quote(session: toolkit.Session, venue: FollowingVenue, size: str) -> None:
    """Put an order at each best price, in place of those that rest elsewhere, and now and then take."""
    with venue.host.lock:
        book, product = venue.host.core.books[CODE], venue.host.core.products[CODE]
        prices = {"BUY": product.price_text(book.bids.best), "SELL": product.price_text(book.asks.best)}
    session.cancel_all(SYMBOL)
    for side, price in prices.items():
        try:
            session.place(toolkit.orders.limit(SYMBOL, side, size, price, tif="POST_ONLY"))
        except toolkit.errors.ToolkitError:
            continue  # the market has moved to the price meanwhile


def run(seconds: float, speed: float, *, seed: int = 5) -> Comparison:
    """Follow a served venue that runs at `speed` for some seconds, while an account quotes on the follower."""
    with LocalVenue(seed=seed, speed=speed) as upstream, upstream.serve() as served:
        url, stop = served.base_url, threading.Event()
        other = toolkit.connect(base_url=url, account=NOBODY)
        with (
            toolkit.connect(base_url=url, account=NOBODY) as reader,
            follow(other, symbols=[SYMBOL]) as venue,
            toolkit.connect(venue=venue) as session,
        ):
            watcher = Watcher(venue, str(session.account).lower(), reader)
            until, turn = time.monotonic() + seconds, 0
            while time.monotonic() < until:
                quote(session, venue, "0.02")
                turn += 1
                if turn % 10 == 0:
                    session.buy(SYMBOL, "0.01") if turn % 20 else session.sell(SYMBOL, "0.01")
                stop.wait(0.2)
            return watcher.result()


def main() -> None:
    """Print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="of the upstream's time")
    parser.add_argument("--speed", type=float, default=20)
    args = parser.parse_args()
    print(run(args.minutes * 60 / args.speed, args.speed))


if __name__ == "__main__":
    main()
