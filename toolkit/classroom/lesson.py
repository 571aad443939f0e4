"""A class on one venue, or on one venue for each student: everything its teacher can do, as methods."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import InputError, VenueError
from ..venue.api.gateway import Hooks, Incoming
from ..venue.clocks import RealClock
from ..venue.lab.control import ExactAmount
from ..venue.local import LocalVenue
from ..venue.model.constants import HEDGE
from . import class_results as results
from .roster import Roster, Student

TRADING = ("placeOrder", "replaceOrder", "placeBracketOrder", "placeBuilderOrder", "placeBuilderBracketOrder")
"""Actions that are switched off while trading is frozen; orders can still be cancelled."""
CACHED_SECONDS = 1.0
CACHED_TIMES = 20.0
"""How old a leaderboard may be, in seconds and in multiples of the time to compute it: a whole class looks at it."""


class Presence(Hooks):
    """Remembers when each student was last seen, by what it signed: questions carry no proof of who asks."""

    def __init__(self, roster: Roster, seen_ms: dict[str, int]) -> None:
        self._owners = {each.address.lower(): each.name for each in roster.students}
        self._owners |= {each.agent.address.lower(): each.name for each in roster.students}
        self._seen_ms = seen_ms

    def on_authenticated(self, incoming: Incoming, now: int) -> None:
        """Note the signer of an action."""
        name = self._owners.get(incoming.signer.lower())
        if name is not None:
            self._seen_ms[name] = time.time_ns() // 1_000_000


class Lesson:
    """A class. `venues` maps each student's number to its venue; without `separate` all have the same one.

    The methods without an underscore of TEACHER are what the teacher's page and session can call.
    """

    TEACHER = (
        "who", "status", "leaderboard", "hold_time", "go_on", "set_speed", "freeze", "unfreeze", "say", "jump",
        "fund_student", "reset", "save_point", "back_to", "export",
    )  # fmt: skip

    def __init__(self, roster: Roster, venues: Mapping[int, LocalVenue], *, balance: str) -> None:
        self.roster = roster
        self.venues = dict(venues)
        self.balance = balance
        self.news: list[dict[str, Any]] = []
        self.joined_ms: dict[str, int] = {}
        self.seen_ms: dict[str, int] = {}
        self.ports: dict[int, int] = {}
        """Port of each student's venue, where they have one each."""
        self._held_speed = 1.0
        """How fast time passed before it was held."""
        self._saved: dict[int, dict[int, int]] = {}
        self._board: tuple[float, list[dict[str, Any]]] = (0.0, [])
        self._lock = threading.Lock()
        for venue in self.all_venues():
            venue.host.gateway.hooks = Presence(roster, self.seen_ms)
        self._approve()

    @classmethod
    def create(
        cls, roster: Roster, *, balance: str = "10000", separate: bool = False, journal: str | None = None, **venue: Any
    ) -> Lesson:
        """Make the venue of a class, or one for each student; `venue` are arguments of LocalVenue.

        All have the same seed, so also separate ones begin with the same market. Raises as LocalVenue.
        """
        count = len(roster.students)
        if separate and journal:
            raise InputError("separate venues have no journal; leave one of the two out", field="journal")
        common = {"accounts": count, "balance": balance, "mnemonic": roster.words, **venue}
        if not separate:
            one = LocalVenue(journal=journal, **common)
            return cls(roster, {student.number: one for student in roster.students}, balance=balance)
        return cls(roster, {student.number: LocalVenue(**common) for student in roster.students}, balance=balance)

    def _approve(self) -> None:
        """Approve every agent, so that a student can trade immediately."""
        for student in self.roster.students:
            action = {
                "type": "approveAgent",
                "agentAddress": student.agent.address,
                "agentName": "class",
                "validitySeconds": 365 * 24 * 3600,
                "dexChain": "Testnet",
            }
            self.venue_of(student).control.act(student.address, action)  # refused where a journal has it already

    def venue_of(self, student: Student) -> LocalVenue:
        """Return the venue of a student."""
        return self.venues[student.number]

    def all_venues(self) -> list[LocalVenue]:
        """Return every venue once."""
        return list({id(venue): venue for venue in self.venues.values()}.values())

    def close(self) -> None:
        """Close every venue."""
        for venue in self.all_venues():
            venue.close()

    # what the teacher does

    def who(self) -> list[dict[str, Any]]:
        """Return name, address, and Unix ms of joining and of the last signed action (None: never) of each student."""
        return [
            {
                "name": student.name,
                "address": student.address,
                "joined": self.joined_ms.get(student.name),
                "seen": self.seen_ms.get(student.name),
            }
            for student in self.roster.students
        ]

    def status(self) -> dict[str, Any]:
        """Return the venue's time (Unix ms), its speed (0 while time is held), and whether trading is frozen."""
        venue = self.all_venues()[0]
        speed = venue.host.clock.speed if isinstance(venue.host.clock, RealClock) else 0.0
        return {
            "time": venue.host.now_ms(),
            "speed": speed,
            "frozen": TRADING[0] in venue.host.core.state.laboratory.disabled,
        }

    def leaderboard(self) -> list[dict[str, Any]]:
        """Return rank, name, equity, return, drawdown, fees and trades, best return first.

        It is at most a second old, or as old as twenty times the time to compute it.
        """
        until, rows = self._board
        # The whole class asks simultaneously: a caller that finds it being computed gets the last one.
        if rows and (time.monotonic() < until or not self._lock.acquire(blocking=False)):
            return rows
        if not rows:
            self._lock.acquire()
        try:
            until, rows = self._board
            if not rows or time.monotonic() >= until:
                began, rows = time.monotonic(), self._standings()
                ended = time.monotonic()
                self._board = ended + max(CACHED_SECONDS, CACHED_TIMES * (ended - began)), rows
            return rows
        finally:
            self._lock.release()

    def _standings(self) -> list[dict[str, Any]]:
        """Return the leaderboard as it is now; orders are answered between two students."""
        students = self.roster.students
        rows = [self.venue_of(each).host.query(partial(results.standing, student=each)) for each in students]
        rows.sort(key=lambda row: (-row["return"], row["name"]))
        return [{"rank": rank, **row} for rank, row in enumerate(rows, 1)]

    def hold_time(self) -> None:
        """Stop the clock of the class; orders are still answered, prices stand still."""
        self._held_speed = self.status()["speed"] or self._held_speed
        self.set_speed(0)

    def go_on(self) -> None:
        """Let time pass again, as fast as before it was held."""
        self.set_speed(self._held_speed)

    def set_speed(self, speed: float) -> None:
        """Let time pass `speed` times as fast as real time. Raises VenueError for a class with a manual clock."""
        for venue in self.all_venues():
            if not isinstance(venue.host.clock, RealClock):
                raise VenueError("the clock of this class is moved by hand: use advance")
            with venue.host.lock:
                venue.host.clock.set_speed(speed)

    def freeze(self) -> None:
        """Refuse all new orders. Orders can still be cancelled."""
        for venue in self.all_venues():
            for action in TRADING:
                venue.control.disable(action)

    def unfreeze(self) -> None:
        """Take orders again."""
        for venue in self.all_venues():
            for action in TRADING:
                venue.control.enable(action)

    def say(self, text: str) -> None:
        """Publish a piece of news on the page of the class."""
        if not 1 <= len(text) <= 300:
            raise InputError(f"news have 1 to 300 characters, not {len(text)}", field="text", rule="length")
        self.news.append({"time": self.all_venues()[0].host.now_ms(), "text": text})
        del self.news[:-50]

    def jump(self, product: str, percent: ExactAmount, text: str = "") -> dict[str, str]:
        """Move the price of a product by `percent` in one step, and publish `text` with it; returns the price.

        The market continues from there, in every venue of the class.
        """
        moved = [venue.control.jump(product, percent) for venue in self.all_venues()]
        if text:
            self.say(text)
        return {"product": product, "price": moved[0]["oracle"]}

    def fund_student(self, student: str, amount: ExactAmount) -> dict[str, dict[str, Any]]:
        """Deposit `amount` USDC into the account of a student, or of each (""); returns each one's balance."""
        return {one.name: self.venue_of(one).control.fund(one.address, amount) for one in self._chosen(student)}

    def _chosen(self, student: str) -> list[Student]:
        return [self.roster.named(student)] if student else list(self.roster.students)

    def reset(self, student: str = "") -> list[str]:
        """Cancel the orders of a student, or of all, close the positions at market, and restore the starting balance.

        Returns the names of those for whom that worked; a position that found no taker stays open.
        """
        return [each.name for each in self._chosen(student) if self._reset(self.venue_of(each), each)]

    def _reset(self, venue: LocalVenue, student: Student) -> bool:
        address = student.address
        account = venue.host.core.state.accounts[address.lower()]
        for product in venue.host.core.products.values():
            for waiting in (False, True):
                cancel = {"type": "cancelAll", "symbolCode": product.code, "conditionalOrder": waiting}
                venue.control.act(address, cancel)
            position = account.positions.get(product.code)
            for leg, side, hedge in (
                (position.long, "SELL", "SELL_CLOSE_HEDGE"), (position.short, "BUY", "BUY_CLOSE_HEDGE"),
            ) if position else ():  # fmt: skip
                if leg.size:
                    order = {
                        "symbolCode": product.code,
                        "ordType": "MARKET",
                        "ordPx": "0",
                        "timeInForce": "IOC",
                        "ordQty": product.quantity_text(leg.size),
                        "ordSide": hedge if account.position_mode == HEDGE else side,
                    }
                    venue.control.act(address, {"type": "placeOrder", "orders": [order]})
        if any(held.long.size or held.short.size for held in account.positions.values()):
            return False
        missing = Decimal(self.balance) - Decimal(account.balance) / results.MICRO
        if missing > 0:
            venue.control.fund(address, missing)
        elif missing < 0:
            withdrawal = {"type": "withdraw", "destination": address, "amount": str(-missing)}
            return not venue.control.act(address, withdrawal)["code"]
        return True

    def save_point(self) -> int:
        """Keep the present state of the whole class and return its number."""
        number = len(self._saved) + 1
        self._saved[number] = {at: venue.snapshot() for at, venue in enumerate(self.all_venues())}
        return number

    def back_to(self, number: int) -> None:
        """Return the whole class to a kept state. Raises InputError for a number that was not given out."""
        if number not in self._saved:
            known = ", ".join(map(str, self._saved)) or "none yet"
            raise InputError(f"there is no save point {number}; there are {known}", field="number", value=number)
        for at, venue in enumerate(self.all_venues()):
            venue.revert(self._saved[number][at])
        self._board = (0.0, [])

    def export(self, folder: str) -> list[str]:
        """Write everything of the class to a folder on the teacher's machine, as parquet; returns the files."""
        import pandas as pd

        summaries = {"leaderboard": results.frame(self._standings()), "students": pd.DataFrame(self.who())}
        return results.write_tables(self.roster, self.venues, summaries, Path(folder))
