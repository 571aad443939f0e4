"""A class on one venue, or on one venue for each student: everything its teacher can do, as methods."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, cast

from ..environments import TESTNET_CHAIN
from ..errors import InputError, VenueError
from ..protocol.orders.approvals import agent_approval
from ..protocol.orders.items import OrderItem
from ..protocol.orders.names import ActionType, Side
from ..protocol.orders.order_actions import CancelAll, OrderAction
from ..suggestions import check_known
from ..venue.api.admission import OPTIONAL
from ..venue.api.gateway import Answer, Hooks, Incoming, http_error
from ..venue.clocks import RealClock
from ..venue.engine.commands import DISABLED, WireError
from ..venue.lab.control import ExactAmount
from ..venue.local import LocalVenue
from ..venue.model.constants import HEDGE
from . import class_results as results
from .roster import Roster, Student

TRADING = (
    ActionType.PLACE, ActionType.REPLACE, ActionType.BRACKET, ActionType.BUILDER, ActionType.BUILDER_BRACKET,
)  # fmt: skip
"""Actions that are switched off while trading is frozen. Orders can still be cancelled."""
PROGRAMS: dict[str, tuple[str, ...]] = {
    "faucet": (ActionType.CLAIM,),
    "builders": (
        ActionType.REGISTER_BUILDER, ActionType.APPROVE_BUILDER, ActionType.BUILDER, ActionType.BUILDER_BRACKET,
    ),
    "referrals": (ActionType.BIND_REFERRAL,),
    "vaults": (
        ActionType.VAULT_DEPOSIT, ActionType.VAULT_CREATE, ActionType.VAULT_OWNER, ActionType.VAULT_PART,
        ActionType.VAULT_REBALANCE,
    ),
    "withdrawals": (ActionType.WITHDRAW,),
    "transfers": (ActionType.SEND,),
}  # fmt: skip
"""Programs that are off when a class begins: they give new accounts, or money that no trade earned."""
JOIN_PATH = "/join/"
CACHED_SECONDS = 1.0
CACHED_TIMES = 20.0
"""How old a leaderboard may be, in seconds and in multiples of the time to compute it: a whole class looks at it."""


class ClassRules(Hooks):
    """Refuses the actions of the programs that are closed, and remembers when each student last signed something.

    Parameters
    ----------
    roster : Roster
        The students, whose signers are known.
    seen_ms : dict of str to int
        Name → time of the last signed action, Unix ms. It is changed.
    closed : mapping of str to str
        Type of action → program that is closed.
    """

    def __init__(self, roster: Roster, seen_ms: dict[str, int], closed: Mapping[str, str]) -> None:
        self._owners = {each.address.lower(): each.name for each in roster.students}
        self._owners |= {each.agent.address.lower(): each.name for each in roster.students}
        self._seen_ms, self._closed, self._codes = seen_ms, closed, roster.by_code

    def on_request(self, incoming: Incoming) -> Answer | None:
        """Answer a join link that this class did not give out.

        Parameters
        ----------
        incoming : Incoming
            Request that came in.
        """
        if not incoming.path.startswith(JOIN_PATH) or incoming.path.removeprefix(JOIN_PATH) in self._codes:
            return None
        text = "this class gave out no such link: a character is missing, added or changed, or it is another class's"
        return http_error(404, f"{text}. Copy the whole line again, or ask the teacher for it")

    def on_authenticated(self, incoming: Incoming, now: int) -> None:
        """Note the signer of an action.

        Parameters
        ----------
        incoming : Incoming
            Request with its signer.
        now : int
            Time of the venue, Unix ms.

        Raises
        ------
        WireError
            With code 40280, for an action of a closed program.
        """
        if incoming.action in self._closed:
            program = self._closed[incoming.action]
            remedy = f"The teacher opens it with `toolkit class --open {program}`"
            raise WireError(DISABLED, f"{incoming.action} is closed in this class. {remedy}")
        name = self._owners.get(incoming.signer.lower())
        if name is not None:
            self._seen_ms[name] = time.time_ns() // 1_000_000


class Lesson:
    """A class.

    The methods of TEACHER are what the teacher's page and session can call.

    Parameters
    ----------
    roster : Roster
        The students.
    venues : mapping of int to LocalVenue
        Number of the student → venue. It is the same one for all, unless the class is separate.
    balance : str
        First balance of each student in USDC.
    opened : iterable of str, optional
        Programs that students may use (default: none).
    """

    TEACHER = (
        "who", "status", "leaderboard", "hold_time", "go_on", "set_speed", "freeze", "unfreeze", "say", "jump",
        "fund_student", "reset", "save_point", "back_to", "export",
    )  # fmt: skip

    def __init__(
        self, roster: Roster, venues: Mapping[int, LocalVenue], *, balance: str, opened: Iterable[str] = ()
    ) -> None:
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
        self._saved: dict[int, tuple[dict[int, int], dict[int, results.Beginning]]] = {}
        self._board: tuple[float, list[dict[str, Any]]] = (0.0, [])
        self._lock = threading.Lock()
        self._begun: dict[int, results.Beginning] = {}
        closed = {action: name for name, actions in PROGRAMS.items() if name not in opened for action in actions}
        for venue in self.all_venues():
            venue.host.gateway.hooks = ClassRules(roster, self.seen_ms, closed)
            for action in OPTIONAL:
                if action not in closed:
                    venue.control.enable(action)
        self._approve()

    @classmethod
    def create(
        cls,
        roster: Roster,
        *,
        balance: str = "10000",
        separate: bool = False,
        journal: str | None = None,
        opened: Iterable[str] = (),
        **venue: Any,
    ) -> Lesson:
        """Make the venue of a class, or one for each student.

        All have the same seed, so also separate ones begin with the same market.

        Parameters
        ----------
        roster : Roster
            The students.
        balance : str, optional
            First balance of each student in USDC (default: "10000").
        separate : bool, optional
            True makes a venue for each student (default: `False`).
        journal : str or None, optional
            File that keeps the class through a restart (default: none).
        opened : iterable of str, optional
            Programs that students may use, of PROGRAMS (default: none).
        **venue : object
            Arguments of LocalVenue.

        Raises
        ------
        InputError
            For an unknown program, or separate venues with a journal. Others as LocalVenue.
        """
        check_known(opened, PROGRAMS, "opened", "program")
        count = len(roster.students)
        if separate and journal:
            raise InputError("separate venues have no journal. Leave out one of the two", field="journal")
        common = {"accounts": count, "balance": balance, "mnemonic": roster.words, "journal": journal, **venue}
        one = None if separate else LocalVenue(**common)
        venues = {student.number: one or LocalVenue(**common) for student in roster.students}
        return cls(roster, venues, balance=balance, opened=opened)

    def _approve(self) -> None:
        """Approve every agent, so that a student can trade immediately."""
        for student in self.roster.students:
            action = agent_approval(TESTNET_CHAIN, student.agent.address, "class", 365 * 24 * 3600)
            self.venue_of(student).control.act(student.address, action)  # refused where a journal has it already

    def venue_of(self, student: Student) -> LocalVenue:
        """Return the venue of a student.

        Parameters
        ----------
        student : Student
            The student.
        """
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
        """Return rank, name, equity, return, drawdown, fees, trades and left_out, best return first.

        The return counts trading only, since the beginning or the student's last reset. The column `left_out` is in
        USDC what it leaves out: fees of a builder, rebates, and shares of a vault's leader. It is at most a second old,
        or as old as twenty times the time to compute it.
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
                # A leaderboard that takes long to compute is computed less often: it may use about a twentieth of the
                # time.
                self._board = ended + max(CACHED_SECONDS, CACHED_TIMES * (ended - began)), rows
            return rows
        finally:
            self._lock.release()

    def _standings(self) -> list[dict[str, Any]]:
        """Return the leaderboard as it is now. Orders are answered between two students."""
        students = self.roster.students
        since = [self._begun.get(each.number, results.Beginning()) for each in students]
        rows = [
            self.venue_of(each).host.query(partial(results.standing, student=each, begun=begun))
            for each, begun in zip(students, since, strict=True)
        ]
        rows.sort(key=lambda row: (-row["return"], row["name"]))
        return [{"rank": rank, **row} for rank, row in enumerate(rows, 1)]

    def hold_time(self) -> None:
        """Stop the clock of the class. Orders are still answered, but prices don't change."""
        # Held twice, the first speed is still the one to return to.
        self._held_speed = self.status()["speed"] or self._held_speed
        self.set_speed(0)

    def go_on(self) -> None:
        """Let time pass again, as fast as before it was held."""
        self.set_speed(self._held_speed)

    def set_speed(self, speed: float) -> None:
        """Let time pass faster or slower than real time.

        Parameters
        ----------
        speed : float
            How many times as fast as real time it passes. 0 stops it.

        Raises
        ------
        VenueError
            For a class with a manual clock.
        """
        for venue in self.all_venues():
            if not isinstance(venue.host.clock, RealClock):
                raise VenueError("the clock of this class is moved by hand: use advance")
            # The host reads the clock under its lock, and must not see half of a change.
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
        """Publish a piece of news on the page of the class.

        Parameters
        ----------
        text : str
            News, 1 to 300 characters.

        Raises
        ------
        InputError
            If the text is empty or too long.
        """
        if not 1 <= len(text) <= 300:
            raise InputError(f"news have 1 to 300 characters, not {len(text)}", field="text", rule="length")
        self.news.append({"time": self.all_venues()[0].host.now_ms(), "text": text})
        del self.news[:-50]

    def jump(self, product: str, percent: ExactAmount, text: str = "") -> dict[str, str]:
        """Move the price of a product in one step, and publish a text with it.

        The market continues from there, in every venue of the class.

        Parameters
        ----------
        product : str
            Symbol of the product.
        percent : str, int or Decimal
            Change in percent, above -100 and at most 1000.
        text : str, optional
            News to publish with it (default: none).

        Returns
        -------
        dict of str to str
            `product`, and its new oracle `price` in USDC.
        """
        moved = [venue.control.jump(product, percent) for venue in self.all_venues()]
        if text:
            self.say(text)
        return {"product": product, "price": moved[0]["oracle"]}

    def fund_student(self, student: str, amount: ExactAmount) -> dict[str, dict[str, Any]]:
        """Deposit USDC into the account of a student, or of each.

        Parameters
        ----------
        student : str
            Name of the student, "" for all.
        amount : str, int or Decimal
            USDC above 0, at most 6 decimals.

        Returns
        -------
        dict
            Name → address and balance.
        """
        return {one.name: self.venue_of(one).control.fund(one.address, amount) for one in self._chosen(student)}

    def _chosen(self, student: str) -> list[Student]:
        return [self.roster.named(student)] if student else list(self.roster.students)

    def reset(self, student: str = "") -> list[str]:
        """Cancel the orders of a student, or of all, close the positions at market, and restore the first balance.

        The leaderboard counts from there. A position that found no taker stays open.

        Parameters
        ----------
        student : str, optional
            Name of the student (default: "", all).

        Returns
        -------
        list of str
            Names of those for whom that worked.

        Raises
        ------
        VenueError
            If the named student could not be reset. The error says why.
        """
        chosen = self._chosen(student)
        failed = {each.name: self._reset(self.venue_of(each), each) for each in chosen}
        self._board = (0.0, [])
        if student and failed[chosen[0].name]:
            raise VenueError(f"{chosen[0].name} is not reset: {failed[chosen[0].name]}")
        return [name for name, why in failed.items() if not why]

    def _reset(self, venue: LocalVenue, student: Student) -> str:
        address = student.address
        account = venue.host.core.state.accounts[address.lower()]
        for product in venue.host.core.products.values():
            # cancelAll cancels one of the two kinds at a time.
            for waiting in (False, True):
                venue.control.act(address, CancelAll(product.code, waiting).to_wire())
            position = account.positions.get(product.code)
            hedge = "_CLOSE_HEDGE" if account.position_mode == HEDGE else ""
            for leg, side in ((position.long, "SELL"), (position.short, "BUY")) if position else ():
                if leg.size:
                    size = product.quantity_text(leg.size)
                    order = OrderItem(product.code, "0", size, "MARKET", cast(Side, side + hedge), "IOC")
                    venue.control.act(address, OrderAction(ActionType.PLACE, (order,)).to_wire())
        if held := [code for code, each in account.positions.items() if each.long.size or each.short.size]:
            symbols = ", ".join(venue.host.core.products[code].symbol for code in held)
            return f"the position in {symbols} found no taker"
        missing = Decimal(self.balance) - Decimal(account.balance) / results.MICRO
        if missing < 0:  # what is too little to be withdrawn goes with more
            venue.control.fund(address, "100")
            withdrawal = {"type": "withdraw", "destination": address, "amount": str(100 - missing)}
            done = venue.control.act(address, withdrawal)
            if done["code"]:
                return str(done["message"])
        elif missing:
            venue.control.fund(address, missing)
        self._begun[student.number] = venue.host.query(partial(results.beginning, student=student))
        return ""

    def save_point(self) -> int:
        """Keep the present state of the whole class and return its number.

        Returns
        -------
        int
            Number of the kept state.
        """
        number = len(self._saved) + 1
        venues = {at: venue.snapshot() for at, venue in enumerate(self.all_venues())}
        self._saved[number] = venues, dict(self._begun)
        return number

    def back_to(self, number: int) -> None:
        """Return the whole class to a kept state.

        Parameters
        ----------
        number : int
            Number that `save_point` returned.

        Raises
        ------
        InputError
            If the number was not given out.
        """
        if number not in self._saved:
            known = ", ".join(map(str, self._saved)) or "none yet"
            raise InputError(f"there is no save point {number}. There are {known}", field="number", value=number)
        venues, begun = self._saved[number]
        for at, venue in enumerate(self.all_venues()):
            venue.revert(venues[at])
        self._begun = dict(begun)
        self._board = (0.0, [])

    def export(self, folder: str) -> list[str]:
        """Write everything of the class to a folder on the teacher's machine, as parquet.

        Parameters
        ----------
        folder : str
            Folder to write to, made if missing.

        Returns
        -------
        list of str
            Paths of the files.
        """
        import pandas as pd

        summaries = {"leaderboard": results.frame(self._standings()), "students": pd.DataFrame(self.who())}
        return results.write_tables(self.roster, self.venues, summaries, Path(folder))
