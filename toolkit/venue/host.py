"""The machinery of a local venue: one core behind one lock, with clock, journal, gateway and feed around it.

The core only sees commands that carry a time, this module supplies that time. With a real clock the core catches up
before every command and query, and in a thread while the venue is served or its feed is read. `LocalVenue` is what
users hold. The server, the feed, the gateway and the controls work on its host.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ..errors import VenueError
from ..guards import check_process
from . import development
from .api.gateway import Gateway, Submission
from .clocks import Clock
from .engine.commands import Advance, Command, Control, Outcome, Submit, WireError
from .engine.core import Core
from .engine.dump_format import hash_of, joined
from .lab.faults import Faults
from .lab.journal import REST_SECONDS, SLICE_MS, Journal, apply, plain
from .lab.player import Player
from .lab.sigint import defer_sigint
from .lab.ticker import STEP_SECONDS, TICK_MS, Alarms, Steps, Ticker
from .risk.witness import watched
from .trouble import ActiveTrouble

if TYPE_CHECKING:
    from .feed.hub import Hub
    from .model.genesis import Genesis

T = TypeVar("T")

IDLE_MS = 3_600_000
"""A longer time without any step counts as idle."""

Idle = Literal["simulate", "skip"]


class VenueHost:
    """Runs one core: applies commands and queries under its lock, lets time pass, publishes and records what happened.

    The arguments are explained at `LocalVenue`.

    Parameters
    ----------
    genesis : Genesis
        How a new venue begins.
    first : sequence of Command
        Commands that open a new venue.
    clock : Clock
        Clock that the state follows.
    mnemonic : str
        Words of the development accounts.
    journal : Journal or None, optional
        File that every command is written to first (default: none).
    player : Player or None, optional
        Recordings that are the market (default: none).
    idle : {"simulate", "skip"}, optional
        What happens to time in which the venue was not used (default: "simulate").
    """

    def __init__(
        self,
        genesis: Genesis,
        first: Sequence[Command],
        clock: Clock,
        *,
        mnemonic: str,
        journal: Journal | None = None,
        player: Player | None = None,
        idle: Idle = "simulate",
    ) -> None:
        self.clock = clock
        self.player = player
        self.genesis = genesis
        self.idle = idle
        # Reentrant, because a holder that reads several things calls methods that take the lock too.
        self.lock = threading.RLock()
        """Held while a command is applied or the state is read. Take it to read several things at one instant."""
        self.journal = journal
        self.core = self._first_core(genesis, first)
        self.core.events.clear()
        # Events are only recorded once the feed is used. A backtest never pays for them.
        self.core.record_events(False)
        self.masters = development.opened(mnemonic, self.core.state.accounts)
        """Addresses of the development accounts, by number."""
        self.keys_are_public = mnemonic == development.MNEMONIC
        self.check = False
        """True checks the invariants of the state after every command. One that breaks any raises VenueError."""
        self.closing = False
        """True ends a long advance at its next step."""
        self.alarms = Alarms()  # what acts at its moment of an advance, such as a session's parent orders
        self.faults = Faults(self)
        self.trouble = ActiveTrouble(self)
        self.gateway = Gateway(self, self.faults.requests, self.trouble)
        self.record: Callable[[Command], None] | None = None
        """Called with every command except the passing of time, under the lock, before the command is applied."""
        self._hub: Hub | None = None
        self._runners = 0
        self._ticker: Ticker | None = None
        self._snapshots: dict[int, bytes] = {}
        self._last_snapshot = 0
        self._closed = False
        self._name = secrets.token_hex(4)
        self._process = os.getpid()
        if journal is not None and journal.behind:
            # Old entries are checked while the venue runs, so that a large journal starts quickly.
            check = threading.Thread(target=journal.check_behind, args=(self.lock, REST_SECONDS), daemon=True)
            check.start()

    @property
    def replay(self) -> Callable[[Core, Command], None]:
        """Function that applies a command to a copy of the core, after the time that passed before it."""
        return apply

    @property
    def instance(self) -> str:
        """The identity of this venue: its genesis if it has a journal, which continues it, else a name.

        Two venues without a journal may begin alike, with a manual clock even at the same time.
        """
        return self._name if self.journal is None else self.core.block_hash(0)[2:10]

    def _first_core(self, genesis: Genesis, first: Sequence[Command]) -> Core:
        if self.journal is None:
            core = Core(genesis)
            # Applied as a replay applies them, so that a venue with and one without a journal begin alike.
            for command in (*first, *(self.player.begin(genesis.time) if self.player is not None else ())):
                apply(core, command)
            return core
        try:
            core = self.journal.replay()
        except BaseException:
            self.journal.close()
            raise
        # a running clock may be ahead of the journal's last entry; a manual clock continues from that entry
        self.clock.set(max(core.state.time, self.clock.now_ms() if self.clock.runs else 0))
        return core

    def now_ms(self) -> int:
        """Return the venue's time in Unix ms."""
        # The state can be ahead of a clock of a user that was set back. Time never runs back.
        return max(self.core.state.time, self.clock.now_ms())

    @property
    def speed(self) -> float:
        """How many times as fast as real time its time passes, 0.0 where it is moved by hand."""
        return float(getattr(self.clock, "speed", 1.0 if self.clock.runs else 0.0))

    def behind_ms(self) -> int:
        """Return how far the state is behind the clock, in ms.

        It is above 0 while the state catches up, or between two ticks.
        """
        return max(0, self.clock.now_ms() - self.core.state.time)

    def settled_ms(self) -> int:
        """Return the time at which every action that was answered so far is executed, Unix ms.

        See `settle_delay`.
        """
        with self.lock:
            return max([self.now_ms(), *(waiting.due for waiting in self.core.state.unsettled)])

    def advance_to(self, target: int, moved: Callable[[int], None] = lambda time_ms: None) -> None:
        """Let time pass until a moment.

        See `LocalVenue.advance`.

        Parameters
        ----------
        target : int
            Moment to reach, Unix ms.
        moved : callable, optional
            Function that is called with each moment that was reached, Unix ms (default: none).
        """
        steps = Steps()
        # In steps, so that other threads get the lock, and an alarm acts at its own moment of the venue's time.
        while (reached := self._step(target, steps.span_ms)) < target:
            moved(reached)
            # An alarm takes its own time, so no pause is needed after it.
            if not self._ring(reached):
                steps.pause()
        moved(reached)
        self._ring(target)

    def _ring(self, now_ms: int) -> bool:
        """Do what is due after a step of an advance. Return whether an alarm rang."""
        self.gateway.execute_delayed(now_ms)  # outside the lock, like any other request
        self._deliver()
        return self.alarms.ring(now_ms)

    def _step(self, target: int, span_ms: int) -> int:
        """Advance by at most `span_ms`, or to the next alarm, with a journal entry. Return the time that was reached.

        Raises VenueError when the venue is closing.
        """
        now = self.core.state.time
        target = self.alarms.between(now, min(target, now + span_ms))
        with self.lock:
            if self.core.state.time <= target:  # also to leave an entry where no time passes
                if self.closing:
                    raise VenueError(f"the venue is closing. Time passed up to {self.core.state.time} (Unix ms)")
                self._journaled_advance(target)
            self.clock.set(max(target, self.clock.now_ms()))
            return target

    def catch_up(self) -> int:
        """Advance the core to the clock's time, publish what happened, and return that time."""
        with self.lock:
            now = self._catch_up()
        self._deliver()
        return now

    def try_catch_up(self, timeout: float) -> bool:
        """Do one step of catching up, unless the lock is not free in time.

        Return whether it is done.

        While time passes automatically, nothing else catches up by more than one step: requests come in between.

        Parameters
        ----------
        timeout : float
            Seconds to wait for the lock.
        """
        # The thread that stops the ticker may hold the lock while it waits for it.
        if not self.lock.acquire(timeout=timeout):
            return False
        try:
            done = self._catch_up() >= self.clock.now_ms() - TICK_MS
        finally:
            self.lock.release()
        self._deliver()
        return done

    def _catch_up(self) -> int:
        """Advance towards the clock's time, all the way unless it passes automatically. Return the time reached."""
        now, core = self.now_ms(), self.core
        # A command and not a shortcut, so that a replay of the journal skips the same time.
        if now - core.state.time > IDLE_MS and self.idle == "skip":
            self._apply(Control(core.state.time, "stand_still", {"until": now}))
        # With a ticker a request does at most one step of catching up. Without one nothing else would do the rest.
        deadline = time.monotonic() + STEP_SECONDS if self._ticker is not None else None
        while core.state.time < now and (deadline is None or time.monotonic() < deadline):
            self._advance_to(min(now, core.state.time + SLICE_MS))
            if self.journal is not None:
                self.journal.pass_time(core)
        if self.player is not None:
            self._advance_to(core.state.time)  # what a recording begins with happens at the first instant
        return core.state.time

    def _advance_to(self, target: int) -> None:
        core, player = self.core, self.player
        # Recorded changes are no entries of a journal: a replay has none, because the recording itself can be played
        # again.
        while player is not None and player.next_ms <= target:
            with defer_sigint():
                recorded = player.take()
                self.trouble.noted((recorded,))
                core.apply(recorded)
                self._publish()
        while core.state.time < target:
            with defer_sigint():  # one slice at a time, so that a long advance can be interrupted between two
                core.apply(Advance(min(target, core.state.time + SLICE_MS)))
                self._publish()

    def _journaled_advance(self, target: int) -> None:
        """Advance, with a journal entry. An interrupt adds the state it left, since a replay would go to the target."""
        written = False
        try:
            with defer_sigint():
                # Written first, like every command. A crash on the way is replayed to the target.
                self._write([Advance(target)])
                written = True
            self._advance_to(target)
        except BaseException:
            if written and self.journal is not None:
                with defer_sigint():
                    self.journal.append_state(self.core.dump())
            raise

    def _publish(self) -> None:
        events = self.core.events
        if events:
            if self._hub is not None:
                self._hub.publish(events)
            events.clear()

    def _deliver(self) -> None:
        """Run the in-process readers of the feed. Outside the lock, because they may send commands themselves."""
        if self._hub is not None:
            self.trouble.release()
            self._hub.deliver()

    def submit_many(self, submissions: Sequence[Submission]) -> list[Outcome | Exception]:
        """Apply actions in order, as one group: the journal writes all of them together before the first is applied.

        Parameters
        ----------
        submissions : sequence of Submission
            Actions with their signers.

        Returns
        -------
        list of Outcome or Exception
            The outcome of each, or the exception that refused it.
        """
        found: dict[int, Outcome | Exception] = {}
        commands: dict[int, Submit] = {}
        with self.lock:
            now = self._catch_up()
            for number, each in enumerate(submissions):
                try:
                    # Conditions of the gateway (limits, bans) are judged on the same state that the action meets.
                    if each.admit is not None:
                        each.admit(self.core)
                    commands[number] = Submit(now, each.action, each.signer.lower(), *each[2:6])
                # A refusal of one action must not lose the answers of the others in the group.
                except Exception as refusal:
                    found[number] = refusal
            for _ in range(2):  # again, because one of the group may have let in the signer of another
                # Signers are checked before the journal is written. The core checks them again when it applies the
                # action.
                strangers = {number: error for number, one in commands.items() if (error := self._stranger(one))}
                known = [number for number in commands if number not in strangers]
                found |= zip(known, self._apply_many([commands.pop(number) for number in known]), strict=True)
        self._deliver()
        found |= strangers
        return [found[number] for number in range(len(submissions))]

    def _stranger(self, submit: Submit) -> WireError | None:
        """Return why a signer may not act, if so: what anyone can forge must not fill the journal."""
        try:
            self.core.authorize(self.core, submit)
        except WireError as error:
            return error
        return None

    def query(self, question: Callable[[Core], T]) -> T:
        """Return the answer to a question about the present state, computed under the lock.

        Parameters
        ----------
        question : callable
            Called with the core. It must change nothing.
        """
        with self.lock:
            self._catch_up()
            answer = question(self.core)
        self._deliver()
        return answer

    def apply_control(self, name: str, /, **args: object) -> dict[str, Any]:
        """Apply a control of the core and return its data.

        Raises InputError, before there is a command, for arguments that the journal can't store.

        Parameters
        ----------
        name : str
            Name of the control.
        **args : object
            Arguments of its rule.

        Raises
        ------
        VenueError
            If it is unknown or refused.
        InputError
            If an argument can't be stored by a journal. There is no command then.
        """
        # Before the lock: values that a journal could not read back must not reach the core either.
        args = plain(args)
        with self.lock:
            outcome = self._apply(Control(self._catch_up(), name, args))
        self._deliver()
        if outcome.code:
            raise VenueError(f"{name}: {outcome.message}")
        return outcome.data or {}

    def _apply(self, command: Command) -> Outcome:
        [outcome] = self._apply_many([command])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _apply_many(self, commands: Sequence[Command]) -> list[Outcome | Exception]:
        if not commands:
            return []
        outcomes: list[Outcome | Exception] = []
        with defer_sigint():
            try:
                self._write(commands)
            # Nothing was written, so nothing is applied: each command has the same answer.
            except Exception as error:
                return [error for _ in commands]
            for command in commands:
                try:
                    with watched(self.core, command.time) if self.check else nullcontext():
                        outcomes.append(self.core.apply(command))
                except Exception as error:
                    outcomes.append(error)
                finally:
                    self._publish()  # also after an error, because the command may have changed something before it
        return outcomes

    def _write(self, commands: Sequence[Command]) -> None:
        """Record commands before they are applied. When this raises, none of them must be applied."""
        # After a fork two processes would write to one file.
        check_process(self._process, "this venue")
        if self.record is not None:
            for command in commands:
                self.record(command)
        if self.journal is not None:
            self.journal.keep_dump(self.core)  # before `append`: the dump is the state after the entries so far
            self.journal.append(commands)
        self.trouble.noted(commands)  # last: a command that could not be written is not applied

    @property
    def feed(self) -> Hub:
        """The live feed, for connections in this process and for the server's WebSocket route."""
        with self.lock:
            if self._hub is None:
                from .feed.hub import Hub

                self._hub = Hub(self, self.faults.feed, self.trouble)
                # From now on. What happened before is in the first snapshots.
                self.core.record_events(True)
            return self._hub

    def start_running(self) -> None:
        """Let time pass automatically (with a real clock) until `stop_running` was called as often as this."""
        with self.lock:
            self._runners += 1
            # A manual clock has no thread, so that nothing happens between two calls of its user.
            if self._ticker is None and self.clock.runs and not self._closed:
                self._ticker = Ticker(self.try_catch_up, lambda: self.gateway.execute_delayed(self.now_ms()))

    def stop_running(self) -> None:
        """End one `start_running`. The last one stops the thread, within a bounded time."""
        with self.lock:
            self._runners = max(0, self._runners - 1)
            ticker = None
            if not self._runners:
                ticker, self._ticker = self._ticker, None
        # Outside the lock: the thread may be waiting for it.
        if ticker is not None:
            ticker.stop()

    def close(self) -> None:
        """Stop the ticker and close the journal. Queries still work. Closing again does nothing."""
        self.closing = True
        with self.lock:
            self._closed, self._runners = True, 0
            ticker, self._ticker = self._ticker, None
            if self.journal is not None:
                # Under the lock, so that no command comes between the last dump and the end of the file.
                self.journal.close(self.core)
        if ticker is not None:
            ticker.stop()  # without the lock, which its thread may be waiting for

    def state_hash(self) -> str:
        """Return the hash of the whole state, as 64 hex digits.

        The same seed, commands and times give the same hash.
        """
        with self.lock:
            slices = self.core.slices()
        return hash_of(slices)

    def snapshot(self) -> int:
        """Keep the whole state, and return the number to `revert` to."""
        data = self.dumped()
        with self.lock:
            self._last_snapshot += 1
            self._snapshots[self._last_snapshot] = data
            return self._last_snapshot

    def dumped(self) -> bytes:
        """Return a dump of the present state.

        While it is encoded, others' requests are answered.
        """
        with self.lock:
            self._catch_up()
            slices = self.core.slices()
        return joined(slices)

    def revert(self, snapshot: int) -> None:
        """Restore the state of a snapshot, clock included.

        Later snapshots are dropped.

        Parameters
        ----------
        snapshot : int
            Number that `snapshot` returned.

        Raises
        ------
        VenueError
            If the number is unknown.
        """
        with self.lock:
            # The bytes are decoded again each time, because the core changes the state that it gets.
            data = self._snapshots.get(snapshot)
            if data is None:
                known = ", ".join(map(str, self._snapshots)) or "none"
                raise VenueError(f"there is no snapshot {snapshot}. There are: {known}")
        core = Core.load(data)  # without the lock: a large one takes a while
        with self.lock:
            self._restore(core, data)
            self._snapshots = {number: kept for number, kept in self._snapshots.items() if number <= snapshot}
        self._deliver()

    def forget(self, snapshot: int) -> None:
        """Drop a snapshot.

        An unknown number is no error.

        Parameters
        ----------
        snapshot : int
            Number that `snapshot` returned.
        """
        with self.lock:
            self._snapshots.pop(snapshot, None)

    @contextmanager
    def sandbox(self) -> Iterator[VenueHost]:
        """Restore the present state at the end of a `with` block, clock included, also after an error."""
        number = self.snapshot()
        try:
            yield self
        finally:
            self.revert(number)
            self.forget(number)

    def restore(self, data: bytes, name: object = "these bytes") -> None:
        """Continue from a dumped state, clock included.

        Parameters
        ----------
        data : bytes
            Bytes of the dump.
        name : object, optional
            Name of the file or source, for errors (default: "these bytes").

        Raises
        ------
        StoredFileError
            If the bytes are no dump. The error has `name`.
        """
        core = Core.load(data, name)
        with self.lock:
            self._restore(core, data)
        self._deliver()

    def _restore(self, core: Core, data: bytes) -> None:
        with defer_sigint():
            if self.journal is not None:
                self.journal.append_state(data)  # first, so that nothing has changed when it fails
            core.record_events(self._hub is not None)
            self.core = core
            if self.player is not None:
                # The recording continues from the restored time, and not from where it was.
                self.player.seek(core.state.time)
            self.clock.set(self.core.state.time)
            self.trouble.restored()
            if self._hub is not None:
                # Last, because the feed reads the new state.
                self._hub.resync()
