"""A class on one venue, or on one venue for each student: everything its teacher can do, as methods."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, cast

from ..connecting import NOBODY
from ..environments import TESTNET_CHAIN
from ..errors import InputError, VenueError
from ..protocol.orders.approvals import agent_approval
from ..protocol.orders.items import OrderItem
from ..protocol.orders.names import ActionType, Side
from ..protocol.orders.order_actions import CancelAll, OrderAction
from ..suggestions import check_known
from ..venue.api.admission import OPTIONAL
from ..venue.clocks import RealClock
from ..venue.engine.core import Core
from ..venue.lab.control import ExactAmount
from ..venue.local import LocalVenue
from ..venue.model.constants import HEDGE
from ..venue.programs.permissions import active_agent, agents
from ..venue.served.boundary import seed_hash
from . import class_results as results
from .class_rules import JOIN_PATH, SEAT_PATH, TRADING, Beginning, ClassFile, ClassRules
from .roster import Roster, Student

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
APART_MS = 1_000
"""How long an order rests before a classmate's can meet it, in ms of the venue's time: the market answers first."""
NEVER_MS = 100 * 365 * 86_400_000
_MOST_MINUTES = 525_600
CACHED_SECONDS = 1.0
CACHED_TIMES = 20.0
"""How old a leaderboard may be, in seconds and in multiples of the time to compute it: a whole class looks at it."""


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
    least_trades : int, optional
        Trades that a student needs for a rank (default: 1).
    record : ClassFile or None, optional
        What the class keeps besides its journal (default: in memory only).
    """

    TEACHER = (
        "who", "status", "leaderboard", "hold_time", "go_on", "set_speed", "freeze", "unfreeze", "say", "jump",
        "fund_student", "reset", "save_point", "back_to", "export", "new_link", "freeze_student", "unfreeze_student",
        "end_in", "extend", "marks", "seats", "about",
    )  # fmt: skip

    def __init__(
        self,
        roster: Roster,
        venues: Mapping[int, LocalVenue],
        *,
        balance: str,
        opened: Iterable[str] = (),
        least_trades: int = 1,
        record: ClassFile | None = None,
    ) -> None:
        self.roster = roster
        self.venues = dict(venues)
        self.balance = balance
        self.least_trades = least_trades
        self._file = record or ClassFile(None)
        self.record = self._file.record
        self.ports: dict[int, int] = {}
        """Port of each student's venue, where they have one each."""
        self._snapshots: dict[int, dict[int, int]] = {}
        """Save point → snapshot of each venue, where the class has no file."""
        self._board: tuple[float, list[dict[str, Any]]] = (0.0, [])
        self._lock = threading.Lock()
        for number, codes in self.record.codes.items():
            for count, code in enumerate(codes, 1):
                roster.renew(number, code, count)
        closed = {action: name for name, actions in PROGRAMS.items() if name not in opened for action in actions}
        self.rules = [ClassRules(roster, self.record, closed, partial(_core, each)) for each in self.all_venues()]
        speed = self.record.speed
        for venue, rules in zip(self.all_venues(), self.rules, strict=True):
            clock, host = venue.host.clock, venue.host
            if speed is not None and isinstance(clock, RealClock):
                clock.set_speed(speed)
                # Time that was held before the class was killed has not passed since.
                if not speed:
                    clock.set(host.core.state.time)
            host.gateway.hooks = rules
            for action in OPTIONAL:
                if action not in closed and action not in host.core.state.laboratory.opened:
                    venue.control.enable(action)
        self._keep_apart()
        for student in roster.students:
            self._approve(student)
        if speed is None:
            self.record.speed = self.status()["speed"]
        self._file.keep()
        if self.record.unfinished is not None:
            command, argument = self.record.unfinished
            self.reset(argument) if command == "reset" else self.back_to(int(argument))

    @classmethod
    def create(
        cls,
        roster: Roster,
        *,
        balance: str = "10000",
        separate: bool = False,
        journal: str | None = None,
        opened: Iterable[str] = (),
        least_trades: int = 1,
        record: ClassFile | None = None,
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
        least_trades : int, optional
            Trades that a student needs for a rank (default: 1).
        record : ClassFile or None, optional
            What the class keeps besides its journal (default: a file next to the journal).
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
        record = record or record_of(journal)
        return cls(roster, venues, balance=balance, opened=opened, least_trades=least_trades, record=record)

    def seat_of(self, path: str, authorization: str = "") -> tuple[str, str]:
        """Return the seat that the path of a request names, "" for none, and the path without it.

        Parameters
        ----------
        path : str
            Path of a request, `/seat/…/…` where a student's session sends it.
        authorization : str, optional
            Header of the request, which has the token where the teacher sends it (default: "").
        """
        if hmac.compare_digest(authorization.encode(), f"Bearer {self.record.token}".encode()):
            return "the teacher's seat", path
        if path.startswith(JOIN_PATH):
            student = self.roster.by_code.get(path.removeprefix(JOIN_PATH).partition("?")[0])
            return f"seat of {student.name}" if student else "", path
        if not path.startswith(SEAT_PATH):
            return "", path
        seat, _, rest = path.removeprefix(SEAT_PATH).partition("/")
        name = self.roster.seats.get(seat)
        return f"seat of {name}" if name else "", f"/{rest}"

    @property
    def news(self) -> list[dict[str, Any]]:
        """The news, oldest first: `time` of the venue in Unix ms, and `text`."""
        return self.record.news

    @property
    def joined_ms(self) -> dict[str, int]:
        """Name → time of the first joining, Unix ms."""
        return self.record.joined_ms

    @property
    def seed(self) -> int | str:
        """The seed of the market. It gives its future, so only the teacher may know it before the end."""
        return self.all_venues()[0].host.core.state.seed

    def _approve(self, student: Student) -> None:
        """Approve an agent, so that its student can trade immediately."""
        venue, agent = self.venue_of(student), student.agent.address
        known = active_agent(venue.host.core, student.address, "class")
        if known is None or known["agentAddress"] != agent:  # of a class that continues every agent is approved
            venue.control.act(student.address, agent_approval(TESTNET_CHAIN, agent, "class", 365 * 24 * 3600))

    def _keep_apart(self) -> None:
        """Let classmates' orders meet only once the market could answer, and never while time is held."""
        for student in self.roster.students:
            group = self.venue_of(student).host.core.state.laboratory.group
            if not group or student.address.lower() not in group.members:
                self.venue_of(student).control.member(student.address)
        for venue in self.all_venues():
            group, clock = venue.host.core.state.laboratory.group, venue.host.clock
            # Without simulated participants no one could answer first: classmates are the market.
            span = APART_MS if venue.host.core.state.settings.get("market") else 0
            span = NEVER_MS if isinstance(clock, RealClock) and not clock.speed else span
            if not group or group.apart_ms != span:
                venue.host.apply_control("apart", span=span)

    def joined(self, student: Student, machine: str) -> None:
        """Note that a machine joined as a student.

        Parameters
        ----------
        student : Student
            The student.
        machine : str
            What the machine says of itself, "" for nothing.
        """
        if machine:
            self.rules[0].note(student.name, f"is {machine}", signed=False)
        if student.name not in self.joined_ms:
            self.joined_ms[student.name] = time.time_ns() // 1_000_000
            self._file.keep()

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
                "seen": self.record.seen_ms.get(student.name),
            }
            for student in self.roster.students
        ]

    def seats(self) -> list[dict[str, Any]]:
        """Return name, path of the join link, number of machines within the last hour, and reason of a freeze."""
        return [
            {
                "name": student.name,
                "link": f"{JOIN_PATH}{student.code}",
                "machines": self.rules[0].machines_of(student.name),
                "frozen": self.record.frozen.get(student.name, ""),
            }
            for student in self.roster.students
        ]

    def about(self) -> dict[str, Any]:
        """Return the seed, its hash, whether it is public, and when the class ends in the venue's ms (None: never)."""
        known = {"seed_hash": seed_hash(self.seed), "public": isinstance(self.seed, int), "ends": self.record.ends_ms}
        return {"seed": str(self.seed), **known}

    @property
    def ended(self) -> bool:
        """Whether the class has ended. Its seed may then be known."""
        return self.record.ends_ms is not None and self.all_venues()[0].host.now_ms() >= self.record.ends_ms

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
        """Return the columns of `class_results.COLUMNS`, best return first, and last those without a rank (None).

        The return counts trading only, since the beginning or the student's last reset. The column `left_out` is in
        USDC what it leaves out: fees of a builder, rebates, and shares of a vault's leader. The columns `market` and
        `classmates` split the profit: the second part is what trades with classmates brought at prices away from the
        mark, and the return does not count what was gained so. The board is at most a second old, or as old as twenty
        times the time to compute it.
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
        for venue in self.all_venues():
            if venue.host.journal is not None:  # a class that is killed comes back with the board that was shown
                venue.host.advance_to(venue.host.now_ms())
        self._file.keep()
        students = self.roster.students
        since = [self.record.begun.get(each.number, Beginning()) for each in students]
        ends_ms = self.record.ends_ms
        rows = [
            self.venue_of(each).host.query(partial(results.standing, student=each, begun=begun, ends_ms=ends_ms))
            for each, begun in zip(students, since, strict=True)
        ]
        rows.sort(key=lambda row: (row["trades"] < self.least_trades, -row["return"], row["name"]))
        ranked = sum(row["trades"] >= self.least_trades for row in rows)
        return [{"rank": rank if rank <= ranked else None, **row} for rank, row in enumerate(rows, 1)]

    def hold_time(self) -> None:
        """Stop the clock of the class. Orders are still answered, but prices don't change."""
        # Held twice, the first speed is still the one to return to.
        self.record.held_speed = self.status()["speed"] or self.record.held_speed
        self.set_speed(0)

    def go_on(self) -> None:
        """Let time pass again, as fast as before it was held."""
        self.set_speed(self.record.held_speed)

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
                self.record.speed = venue.host.clock.speed
                self._keep_apart()
                # The journal has no time that only passed. This is where a killed class continues.
                venue.host.advance_to(venue.host.now_ms())
        self._file.keep()

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
        self._file.keep()

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
        with self._finished("reset", student):
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
        venue.control.member(address)  # what was gained from classmates counts from now as well
        self.record.begun[student.number] = venue.host.query(partial(results.beginning, student=student))
        return ""

    def save_point(self) -> int:
        """Keep the present state of the whole class and return its number.

        Returns
        -------
        int
            Number of the kept state.
        """
        number = len(self.record.saved) + 1
        if self._file.path is None:
            self._snapshots[number] = {at: venue.snapshot() for at, venue in enumerate(self.all_venues())}
        else:
            self.all_venues()[0].dump(self._file.save_point(number))  # a class with a journal has one venue
        self.record.saved.append(dict(self.record.begun))
        self._file.keep()
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
        if not 1 <= number <= len(self.record.saved):
            known = ", ".join(str(at + 1) for at in range(len(self.record.saved))) or "none yet"
            raise InputError(f"there is no save point {number}. There are {known}", field="number", value=number)
        with self._finished("back_to", str(number)):
            for at, venue in enumerate(self.all_venues()):
                if self._file.path is None:
                    venue.revert(self._snapshots[number][at])
                else:
                    venue.load(self._file.save_point(number))
            self.record.begun = dict(self.record.saved[number - 1])
            self._keep_apart()
            for student in self.roster.students:  # a link may have been replaced since
                if student.renewed:
                    self._give_agent(student)
        self._board = (0.0, [])

    @contextmanager
    def _finished(self, command: str, argument: str) -> Iterator[None]:
        """Note a command of several steps before its first, so that a class that is killed in between does it again."""
        self.record.unfinished = command, argument
        self._file.keep()
        yield
        self.record.unfinished = None
        self._file.keep()

    def new_link(self, student: str) -> str:
        """Replace the link of a student, for example a stolen one. What the old one gave out signs no action any more.

        Parameters
        ----------
        student : str
            Name of the student.

        Returns
        -------
        str
            Path of the new link.

        Raises
        ------
        InputError
            If there is no such student.
        """
        one = self.roster.named(student)
        codes = self.record.codes.setdefault(one.number, [])
        codes.append(secrets.token_urlsafe(16))
        self._file.keep()  # first: a link that was shown must never be valid again
        renewed = self.roster.renew(one.number, codes[-1], len(codes))
        self._give_agent(renewed)
        return f"{JOIN_PATH}{renewed.code}"

    def _give_agent(self, student: Student) -> None:
        """Revoke every agent of a student, who may have approved some, and approve the one of the present link."""
        venue = self.venue_of(student)
        approved = venue.host.query(partial(agents, address=student.address))
        for name in {row["agentName"] for row in approved if row["status"] == "ACTIVE"}:
            venue.control.act(student.address, agent_approval(TESTNET_CHAIN, NOBODY, name, 0))
        self._approve(student)

    def freeze_student(self, student: str, reason: str) -> None:
        """Let a student only close positions and cancel orders, and say why.

        Parameters
        ----------
        student : str
            Name of the student.
        reason : str
            What the student reads, 1 to 200 characters.

        Raises
        ------
        InputError
            If there is no such student, or no reason.
        """
        if not 1 <= len(reason) <= 200:
            raise InputError(f"a reason has 1 to 200 characters, not {len(reason)}", field="reason", rule="length")
        self.record.frozen[self.roster.named(student).name] = reason
        self._file.keep()

    def unfreeze_student(self, student: str) -> None:
        """Let a student trade again.

        Parameters
        ----------
        student : str
            Name of the student.

        Raises
        ------
        InputError
            If there is no such student.
        """
        self.record.frozen.pop(self.roster.named(student).name, None)
        self._file.keep()

    def end_in(self, minutes: float) -> int:
        """End the class after some minutes of the venue's time. Then orders can only close, and the ranks stay.

        The seed is shown from then on, so that everyone can replay the market.

        Parameters
        ----------
        minutes : float
            Minutes from now, 0 or more.

        Returns
        -------
        int
            When the class ends, Unix ms.

        Raises
        ------
        InputError
            For a negative number, and if the class has ended.
        """
        if not 0 <= minutes <= _MOST_MINUTES:
            raise InputError(f"minutes must be 0 to {_MOST_MINUTES}, not {minutes}", field="minutes", value=minutes)
        if self.ended:
            raise InputError("the class has ended, and its seed is known: it can't go on", field="minutes", rule="open")
        self.record.ends_ms = self.all_venues()[0].host.now_ms() + round(minutes * 60_000)
        self._file.keep()
        return self.record.ends_ms

    def extend(self, minutes: float) -> int:
        """Let the class end later, before it has ended.

        Parameters
        ----------
        minutes : float
            Minutes of the venue's time to add.

        Returns
        -------
        int
            When the class ends, Unix ms.

        Raises
        ------
        InputError
            If the class has no end, or has ended.
        """
        if self.record.ends_ms is None:
            raise InputError("the class has no end yet: give it one with end_in", field="minutes", rule="an end")
        return self.end_in((self.record.ends_ms - self.all_venues()[0].host.now_ms()) / 60_000 + minutes)

    def marks(self, path: str, form: str = "canvas", points: float = 100.0, title: str = "Trading") -> str:
        """Write marks for trading as CSV that Canvas or Moodle imports.

        The first rank has all points, and each rank below an equal step less. A student without a rank has 0 points.

        Parameters
        ----------
        path : str
            File to write, on the teacher's machine.
        form : {"canvas", "moodle"}, optional
            Who imports it (default: "canvas").
        points : float, optional
            Points of the first rank (default: 100).
        title : str, optional
            Name of the assignment (default: "Trading").

        Returns
        -------
        str
            Path of the file.

        Raises
        ------
        InputError
            For an unknown form, and a file that can't be written.
        """
        check_known([form], ("canvas", "moodle"), "form", "form")
        results.write_marks(self._standings(), Path(path), form, points, title)
        return path

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


def _core(venue: LocalVenue) -> Core:
    return venue.host.core


def record_of(journal: str | None) -> ClassFile:
    """Return what a class with this journal keeps besides it.

    Parameters
    ----------
    journal : str or None
        File of the journal. `None` keeps it in memory only.
    """
    return ClassFile(None if journal is None else Path(f"{journal}.room"))
