"""The local venue as an object: one core behind one lock, with a clock, a gateway and a feed around it.

The core only sees commands that carry a time; this module supplies that time. With a real clock the core catches up
before every command and query, and in a thread while the venue is served or its feed is read.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from ..environments import LOCAL, Environment
from ..errors import InputError, VenueError
from ..guards import no_keys
from ..protocol.reads.info_params import MAX_TIME
from ..suggestions import Suggesting
from . import development
from .api.gateway import Answer, Gateway, Hooks, Query, Submission
from .clocks import Clock, clock_named, milliseconds, moment
from .engine.codec import hash_of, joined
from .engine.commands import Advance, Command, Control, Outcome, Submit
from .engine.core import Core
from .lab.control import Controls, ExactAmount, funding
from .lab.faults import Faults
from .lab.journal import SLICE_MS, Journal, apply, open_or_create, plain
from .lab.journal_file import Sync
from .lab.player import Player, Replayable
from .lab.progress import advance_bar
from .lab.sigint import defer_sigint
from .lab.ticker import STEP_SECONDS, TICK_MS, Alarms, Steps, Ticker
from .model.genesis import Genesis
from .model.market import Market, saved

if TYPE_CHECKING:
    from .api.transport import VenueTransport
    from .feed.hub import Hub, Wire
    from .served.server import Served
    from .served.settings import ServeSettings

T = TypeVar("T")

IDLE_MS = 3_600_000
"""A longer time without any step counts as idle."""


class LocalVenue(Suggesting, AbstractContextManager["LocalVenue"]):
    """A whole exchange in this process.

    `clock` is "real", "manual" (starts 2026-01-01T00:00:00Z, moves only by `advance`) or a clock object; `start` is
    Unix ms, ISO text or a datetime; a real clock may run `speed` times as fast. `accounts` development masters of the
    `mnemonic` are funded with `balance` USDC each. `market` is the simulated market: "usual", "calm", "stressed", a
    `Market`, or None for a venue without participants; `market()` changes it later. `settle_delay` (ms, or
    text like "1s") delays the effect of accepted actions. `wire` is the form of answers and of the feed's messages:
    "published", field for field as the exchange's are, or "extended" (further fields, and on every channel `type`,
    `sequence` and a first snapshot). `config` is a whole Genesis instead of the default one; its seed and time take
    precedence over `seed` and `start`.

    `journal` is a file to which every command is written before it is answered; an existing file is replayed, and the
    venue continues from its state, whatever the other arguments say about the beginning. `sync` is "full" (survives a
    power cut) or "os" (survives the death of this process; faster). `recover` continues a damaged file from its intact
    entries. Raises JournalDamaged, and VenueError for a file that can't be used.

    `replay` makes a recording the market (`toolkit.research.data.Events`, or a mapping symbol → Events): its levels are
    everybody's counterparties, and its trades, candles and marks come out as recorded; the clock starts with it.

    `idle` says what happens to a running clock's time in which the venue was not used, after more than an hour: it is
    simulated, which takes a while, or skipped: prices and participants stand still, and all else happens.

    Safe to use from several threads: one lock admits one command at a time.
    """

    environment: Environment = LOCAL
    _path = "venue"
    _parts = ("control", "faults")

    def __init__(
        self,
        *,
        seed: int = 7,
        clock: str | Clock = "real",
        start: str | int | datetime | None = None,
        speed: float = 1.0,
        accounts: int = 10,
        balance: ExactAmount = development.FUNDING,
        mnemonic: str = development.MNEMONIC,
        market: str | Market | bool | None = "usual",
        settle_delay: int | str | timedelta = 0,
        config: Genesis | None = None,
        journal: str | Path | None = None,
        sync: Sync = "full",
        recover: bool = False,
        idle: Literal["simulate", "skip"] = "simulate",
        wire: Wire = "published",
        replay: Replayable | None = None,
    ) -> None:
        _check_wire(wire)
        self.player = None if replay is None else _player(replay, config, journal)
        if self.player is not None:
            market, start = False, self.player.start_ms if start is None else start
        begin = config.time if config else None if start is None else moment(start)
        self.clock = clock_named(clock, begin, speed)  # the state begins at `begin`, which a fast clock soon leaves
        settings = {"permissions": True, "market": saved(market), "settleDelay": milliseconds(settle_delay)}
        genesis = config or Genesis(seed=seed, time=self.clock.now_ms() if begin is None else begin)
        genesis = genesis if self.player is None else self.player.fit(genesis)
        if not 1 <= genesis.time <= MAX_TIME:  # 0 means "never" in many records
            raise InputError(
                f"start {genesis.time} ms is not between 1 ms after 1970 began and the end of the year 9999",
                field="start",
                rule="1970 to 9999",
                value=genesis.time,
            )
        genesis = msgspec.structs.replace(genesis, settings={**settings, **genesis.settings})
        self.lock = threading.RLock()
        """Held while a command is applied or the state is read; take it to read several things at one instant."""
        self.journal: Journal | None = None
        first = funding(genesis.time, accounts, balance, mnemonic)
        if journal is not None:
            self.journal = open_or_create(journal, genesis, first, sync=sync, recovering=recover)
            self.core = self._replayed(self.journal)
        else:
            self.core = Core(genesis)
            first += [] if self.player is None else self.player.begin(genesis.time)
            for command in first:
                apply(self.core, command)
        self.core.events.clear()
        self.core.record_events(False)
        self.masters = development.opened(mnemonic, self.core.state.accounts)
        """Addresses of the development accounts, by number."""
        self.keys_are_public = mnemonic == development.MNEMONIC
        self.idle = idle
        self.closing = False
        """True ends a long advance at its next step."""
        self.alarms = Alarms()  # what acts at its moment of an advance, such as a session's parent orders
        self._faults = Faults(self)
        self.gateway = Gateway(self, self._faults.requests, extended=wire == "extended")
        self.control = Controls(self)
        self.record: Callable[[Command], None] | None = None
        """Called with every command except the passing of time, under the lock, before the command is applied."""
        self._hub: Hub | None = None
        self._wire: Wire = wire
        self._runners = 0
        self._ticker: Ticker | None = None
        self._snapshots: dict[int, bytes] = {}
        self._last_snapshot = 0
        self._closed = False

    def _replayed(self, journal: Journal) -> Core:
        try:
            core = journal.replay()
        except BaseException:
            journal.close()
            raise
        # a running clock may be ahead of the journal's last entry; a manual clock continues from that entry
        self.clock.set(max(core.state.time, self.clock.now_ms() if self.clock.runs else 0))
        return core

    def now_ms(self) -> int:
        """Return the venue's time in Unix ms."""
        return max(self.core.state.time, self.clock.now_ms())

    def behind_ms(self) -> int:
        """Return how far the state is behind the clock, in ms; above 0 while it catches up, or between two ticks."""
        return max(0, self.clock.now_ms() - self.core.state.time)

    @no_keys
    def advance(
        self,
        span: str | int | timedelta | None = None,
        *,
        until: str | int | datetime | None = None,
        progress: bool | None = None,
    ) -> int:
        """Let time pass by a span ("4h", ms, timedelta) or until a moment, and return the new time in Unix ms.

        Every block, price, funding settlement, trigger and expiry on the way happens, in order. A real clock is set
        forward. Raises InputError for a moment in the past, and for neither or both arguments.

        `progress` shows a bar at once (True), never (False) or when it takes long (None).

        Long spans pass in steps, between which other threads' requests are answered. After an interrupt (a stopped
        cell) the venue is in a consistent state at some moment on the way.
        """
        if (span is None) == (until is None):
            raise InputError('give a span, such as advance("4h"), or until=…, one of them', field="span")
        with self.lock:
            now = self.now_ms()
            target = now + milliseconds(span) if span is not None else moment(until) if until is not None else now
            if target < now:
                raise InputError(f"until {target} is in the past; it is {now} (Unix ms)", field="until", value=until)
        steps = Steps()
        with advance_bar(self.core.state.time, target, progress) as moved:
            while (reached := self._step_towards(target, steps.span_ms)) < target:
                moved(reached)
                if not self._ring(reached):
                    steps.pause()
            moved(reached)
        self._ring(target)
        return target

    def settle(self) -> int:
        """Let time pass until every action that was answered is executed, and return the time; see `settle_delay`."""
        with self.lock:
            due = max((waiting.due for waiting in self.core.state.unsettled), default=0)
        return self.advance(until=due) if due > self.now_ms() else self.now_ms()

    def _step_towards(self, target: int, span_ms: int) -> int:
        """Do a step of at most `span_ms`, which ends at the next alarm, and return the time that was reached."""
        now = self.core.state.time
        return self._step(self.alarms.between(now, min(target, now + span_ms)))

    def _ring(self, now_ms: int) -> bool:
        """Do what is due after a step of an advance; return whether an alarm rang."""
        self.gateway.execute_delayed(now_ms)  # outside the lock, like any other request
        self._deliver()
        return self.alarms.ring(now_ms)

    def _step(self, target: int) -> int:
        """Advance to a moment, with a journal entry, and return the time that was reached. Raises VenueError on the
        way when the venue is closing."""
        with self.lock:
            if self.core.state.time <= target:  # also to leave an entry where no time passes
                if self.closing:
                    raise VenueError(f"the venue is closing; time passed up to {self.core.state.time} (Unix ms)")
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
        """Do one step of catching up, unless the lock is not free within `timeout` seconds; return whether it is done.

        While the venue runs by itself, nothing else catches up further than one step: requests are answered in between.
        """
        if not self.lock.acquire(timeout=timeout):
            return False
        try:
            done = self._catch_up() >= self.clock.now_ms() - TICK_MS
        finally:
            self.lock.release()
        self._deliver()
        return done

    def _catch_up(self) -> int:
        """Advance towards the clock's time, all the way unless the venue runs by itself; return the time reached."""
        now, core = self.now_ms(), self.core
        if now - core.state.time > IDLE_MS and self.idle == "skip":
            self._apply(Control(core.state.time, "stand_still", {"until": now}))
        deadline = time.monotonic() + STEP_SECONDS if self._ticker is not None else None
        while core.state.time < now and (deadline is None or time.monotonic() < deadline):
            self._advance_to(min(now, core.state.time + SLICE_MS))
        if self.player is not None:
            self._advance_to(core.state.time)  # what a recording begins with happens at the first instant
        return core.state.time

    def _advance_to(self, target: int) -> None:
        core, player = self.core, self.player
        while player is not None and player.next_ms <= target:
            with defer_sigint():
                core.apply(player.take())
                self._publish()
        while core.state.time < target:
            with defer_sigint():  # one slice at a time, so that a long advance can be interrupted between two
                core.apply(Advance(min(target, core.state.time + SLICE_MS)))
                self._publish()

    def _journaled_advance(self, target: int) -> None:
        """Advance, with a journal entry; an interrupt adds the state it left, since a replay would go to the target."""
        written = False
        try:
            with defer_sigint():
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
        """Run the in-process readers of the feed; outside the lock, because they may send commands themselves."""
        if self._hub is not None:
            self._hub.deliver()

    def market(
        self,
        regime: str,
        product: str | int | None = None,
        *,
        after: str | int | timedelta = 0,
        lasting: str | int | timedelta | None = None,
    ) -> None:
        """Set the regime of the simulated market, "calm", "usual" or "stressed", of one product or of all.

        It begins `after` a span from now (ms, a timedelta, or text like "10m") and lasts for good, or for the span
        `lasting`, after which the market is usual again. Raises InputError for an unknown regime or product, and
        VenueError for a venue without a simulated market.
        """
        self.control.market(regime, product, after=after, lasting=lasting)

    def submit(
        self,
        action: dict[str, Any],
        signer: str,
        nonce: int,
        expiry_after: int | None = None,
        vault: str | None = None,
        digest: bytes = b"",
        *,
        admit: Callable[[Core], None] | None = None,
    ) -> Outcome:
        """Apply an action whose signer was recovered. `admit(core)` may raise WireError before anything happens."""
        [outcome] = self.submit_many([Submission(action, signer, nonce, expiry_after, vault, digest, admit)])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def submit_many(self, submissions: Sequence[Submission]) -> list[Outcome | Exception]:
        """Apply actions in order, as one group: the journal writes all of them at once, before the first is applied.

        Returns the outcome of each, or the exception that refused it.
        """
        with self.lock:
            now = self._catch_up()
            outcomes: list[Outcome | Exception | None] = []
            commands: list[Command] = []
            for each in submissions:
                try:
                    if each.admit is not None:
                        each.admit(self.core)
                except Exception as refusal:
                    outcomes.append(refusal)
                else:
                    outcomes.append(None)
                    signer = each.signer.lower()
                    commands.append(Submit(now, each.action, signer, *each[2:6]))
            applied = iter(self._apply_many(commands))
            found = [next(applied) if outcome is None else outcome for outcome in outcomes]
        self._deliver()
        return found

    def query(self, question: Callable[[Core], T]) -> T:
        """Return question(core), computed on the current state under the lock."""
        with self.lock:
            self._catch_up()
            answer = question(self.core)
        self._deliver()
        return answer

    def apply_control(self, name: str, /, **args: Any) -> dict[str, Any]:
        """Apply a control of the core and return its data. Raises VenueError when it is unknown or refused.

        Raises InputError, before there is a command, for arguments that the journal can't store.
        """
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
            except Exception as error:
                return [error for _ in commands]
            for command in commands:
                try:
                    outcomes.append(self.core.apply(command))
                except Exception as error:
                    outcomes.append(error)
                finally:
                    self._publish()  # also after an error, because the command may have changed something before it
        return outcomes

    def _write(self, commands: Sequence[Command]) -> None:
        """Record commands before they are applied; when this raises, none of them must be applied."""
        if self.record is not None:
            for command in commands:
                self.record(command)
        if self.journal is not None:
            self.journal.keep_dump(self.core)  # before `append`: the dump is the state after the entries so far
            self.journal.append(commands)

    def handle(self, method: str, path: str, query: Query | str = (), body: bytes = b"", peer: str = "") -> Answer:
        """Answer one HTTP request given as plain values; never raises. See `api.gateway.Gateway.handle`."""
        return self.gateway.handle(method, path, query, body, peer)

    def transport(self, *, peer: str = "in-process") -> VenueTransport:
        """Return an httpx transport (synchronous and asynchronous) into this venue."""
        from .api.transport import VenueTransport

        return VenueTransport(self.handle, self.clock, peer)

    def serve(
        self,
        port: int = 0,
        *,
        host: str = "127.0.0.1",
        allow_remote: bool = False,
        control: bool = False,
        settings: ServeSettings | None = None,
    ) -> AbstractContextManager[Served]:
        """Return a context manager that serves this venue in a thread; port 0 takes a free one.

        With `control` its controls are served as well, to those who send its token (`control_token` of the value).
        `settings` are the limits and permissions of clients; see `served.settings.ServeSettings`.
        """
        from .served.control_routes import open_routes
        from .served.server import running
        from .served.state_routes import open_state_routes

        open_state_routes(self)
        if control:
            open_routes(self)
        return running(self, port, host=host, allow_remote=allow_remote, settings=settings)

    @property
    def faults(self) -> Faults:
        """Scripted faults: `venue.faults.add("lose-answer", action="placeOrder")`."""
        return self._faults

    @property
    def hooks(self) -> Hooks:
        """Faults and refusals of your own, in addition to `faults` and `control`; assign an `api.gateway.Hooks`."""
        return self.gateway.hooks

    @hooks.setter
    def hooks(self, hooks: Hooks) -> None:
        self.gateway.hooks = hooks

    @property
    def feed(self) -> Hub:
        """The live feed, for connections in this process and for the server's WebSocket route."""
        with self.lock:
            if self._hub is None:
                from .feed.hub import Hub

                self._hub = Hub(self, self._faults.feed, self._wire)
                self.core.record_events(True)
            return self._hub

    def start_running(self) -> None:
        """Let time pass by itself (with a real clock) until `stop_running` was called as often as this."""
        with self.lock:
            self._runners += 1
            if self._ticker is None and self.clock.runs and not self._closed:
                self._ticker = Ticker(self.try_catch_up, lambda: self.gateway.execute_delayed(self.now_ms()))

    def stop_running(self) -> None:
        """End one `start_running`; the last one stops the thread, within a bounded time."""
        with self.lock:
            self._runners = max(0, self._runners - 1)
            ticker = None
            if not self._runners:
                ticker, self._ticker = self._ticker, None
        if ticker is not None:
            ticker.stop()

    def close(self) -> None:
        """Stop the ticker and close the journal. Queries still work; closing again does nothing."""
        self.closing = True
        with self.lock:
            self._closed, self._runners = True, 0
            ticker, self._ticker = self._ticker, None
            if self.journal is not None:
                self.journal.close(self.core)
        if ticker is not None:
            ticker.stop()  # without the lock, which its thread may be waiting for

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def state_hash(self) -> str:
        """Return the hash of the whole state, 64 hex digits. The same seed, commands and times give the same hash."""
        with self.lock:
            slices = self.core.slices()
        return hash_of(slices)

    def snapshot(self) -> int:
        """Keep the whole state, and return the number to `revert` to."""
        data = self._dumped()
        with self.lock:
            self._last_snapshot += 1
            self._snapshots[self._last_snapshot] = data
            return self._last_snapshot

    def _dumped(self) -> bytes:
        """Return a dump of the present state; while it is encoded, others' requests are answered."""
        with self.lock:
            self._catch_up()
            slices = self.core.slices()
        return joined(slices)

    def revert(self, snapshot: int) -> None:
        """Restore the state of a snapshot, clock included; later snapshots are dropped.

        Raises VenueError for an unknown number.
        """
        with self.lock:
            data = self._snapshots.get(snapshot)
            if data is None:
                known = ", ".join(map(str, self._snapshots)) or "none"
                raise VenueError(f"there is no snapshot {snapshot}; there are: {known}")
        core = Core.load(data)  # without the lock: a large one takes a while
        with self.lock:
            self._restore(core, data)
            self._snapshots = {number: kept for number, kept in self._snapshots.items() if number <= snapshot}
        self._deliver()

    def forget(self, snapshot: int) -> None:
        """Drop a snapshot; an unknown number is no error."""
        with self.lock:
            self._snapshots.pop(snapshot, None)

    @contextmanager
    def sandbox(self) -> Iterator[LocalVenue]:
        """Restore the present state at the end of a `with` block, clock included, also after an error."""
        number = self.snapshot()
        try:
            yield self
        finally:
            self.revert(number)
            self.forget(number)

    def dump(self, path: str | Path) -> None:
        """Write the whole state to a file."""
        Path(path).write_bytes(self._dumped())

    def load(self, path: str | Path) -> None:
        """Continue from a dumped state, clock included. Raises VenueError for a file that is not a dump."""
        data = Path(path).read_bytes()
        core = Core.load(data)
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
                self.player.seek(core.state.time)
            self.clock.set(self.core.state.time)
            if self._hub is not None:
                self._hub.resync()

    def __repr__(self) -> str:
        kind = "real" if self.clock.runs else "manual"
        return f"<LocalVenue seed={self.core.state.seed} time={self.now_ms()} clock={kind}>"


def _check_wire(wire: str) -> None:
    if wire not in ("published", "extended"):
        raise InputError(
            f"wire {wire!r} is neither published nor extended",
            field="wire",
            value=wire,
            nearest=("published", "extended"),
        )


def _player(replay: Replayable, config: Genesis | None, journal: str | Path | None) -> Player:
    if journal is not None:
        raise InputError(
            "a replay has no journal: the recording can be replayed again; dump() keeps a state",
            field="journal",
            rule="no replay",
        )
    return Player(replay, (config or Genesis()).products)
