"""The local venue as an object: one core behind one lock, with a clock, a gateway and a feed around it.

The core only ever sees commands with a time on them; here is where that time comes from. With a real clock the core
is brought up to date whenever somebody asks, and by a thread while the venue is served or its feed is read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from ..environments import LOCAL, Environment
from ..errors import InputError, VenueError
from ..protocol.reads.info_params import MAX_TIME
from ..suggestions import Suggesting
from . import development
from .api.gateway import Answer, Gateway, Hooks, Query
from .clocks import Clock, clock_named, milliseconds, moment
from .engine.core import Advance, Command, Control, Core, Outcome, Submit
from .lab.control import Controls
from .lab.journal import SLICE, Journal, Sync, apply, open_or_create
from .lab.sigint import defer_sigint
from .model.genesis import Genesis

if TYPE_CHECKING:
    from .api.transport import VenueTransport
    from .feed.hub import Hub
    from .lab.faults import Faults
    from .served.server import Served

T = TypeVar("T")

TICK = 0.2
"""Seconds between two looks at the clock while the venue runs by itself."""
PATIENCE = 0.1
"""Seconds that the thread which looks waits for the lock at a time."""


class LocalVenue(Suggesting, AbstractContextManager["LocalVenue"]):
    """A whole exchange in this process.

    `clock` is "real", "manual" (starts 2026-01-01T00:00:00Z, moves by `advance` only) or a clock object; `start` is
    Unix ms, ISO text or a datetime; a real clock may run `speed` times as fast. `accounts` development masters are
    funded with 10,000 USDC each. `market` turns the simulated participants on. `settle_delay`
    (ms, or text like "1s") lets accepted actions take effect later.
    `config` is a whole Genesis instead of the default one; its seed and time win over `seed` and `start`.

    `journal` is a file that every command is written to before it is answered; a venue made with a file that exists
    goes on where that one stood, whatever it was told about its beginning. `sync` is "full" (nothing is lost in a power
    cut) or "os" (nothing is lost when this process dies; faster). `recover` goes on with what is whole of a damaged
    file. Raises JournalDamaged, and VenueError for a file that can't be used.

    Safe for use from several threads: one lock lets one command in at a time.
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
        market: bool = True,
        settle_delay: int | str | timedelta = 0,
        config: Genesis | None = None,
        journal: str | Path | None = None,
        sync: Sync = "full",
        recover: bool = False,
    ) -> None:
        if not 0 <= accounts <= len(development.MASTERS):
            raise InputError(
                f"accounts must be 0 to {len(development.MASTERS)}, not {accounts}", field="accounts", value=accounts
            )
        begin = config.time if config else None if start is None else moment(start)
        self.clock = clock_named(clock, begin, speed)
        settings = {"permissions": True, "market": market, "settleDelay": milliseconds(settle_delay)}
        genesis = config or Genesis(seed=seed, time=self.clock.now_ms())
        if not 1 <= genesis.time <= MAX_TIME:  # 0 stands for "never" in many records
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
        first = [
            Control(genesis.time, "fund", {"address": master.address.lower(), "amount": development.FUNDING})
            for master in development.masters(accounts)
        ]
        if journal is not None:
            self.journal = open_or_create(journal, genesis, first, sync=sync, recovering=recover)
            self.core = self._replayed(self.journal)
        else:
            self.core = Core(genesis)
            for command in first:
                apply(self.core, command)
        self.core.events.clear()
        self.core.record_events(False)
        self.gateway = Gateway(self)
        self.control = Controls(self)
        self.record: Callable[[Command], None] | None = None
        """Called with every command that is not mere time, under the lock, before it is applied."""
        self._hub: Hub | None = None
        self._runners = 0
        self._ticker: _Ticker | None = None
        self._snapshots: dict[int, bytes] = {}
        self._last_snapshot = 0
        self._closed = False

    def _replayed(self, journal: Journal) -> Core:
        try:
            core = journal.replay()
        except BaseException:
            journal.close()
            raise
        # a clock that runs by itself may be ahead already; one that was moved by hand goes on from there
        self.clock.set(max(core.state.time, self.clock.now_ms() if self.clock.runs else 0))
        return core

    # time

    def now_ms(self) -> int:
        """Return the venue's time in Unix ms."""
        return max(self.core.state.time, self.clock.now_ms())

    def advance(self, span: str | int | timedelta | None = None, *, until: str | int | datetime | None = None) -> int:
        """Let time pass by a span ("4h", ms, timedelta) or until a moment, and return the new time in Unix ms.

        Every block, price, funding settlement, trigger and expiry on the way happens, in order. With a real clock
        the clock is set forward. Raises InputError for a moment that is over, or neither or both arguments.

        An interrupt (a stopped cell) leaves the venue at a whole moment on the way.
        """
        if (span is None) == (until is None):
            raise InputError('give a span, such as advance("4h"), or until=…, one of them', field="span")
        with self.lock:
            now = self.now_ms()
            target = now + milliseconds(span) if span is not None else moment(until) if until is not None else now
            if target < now:
                raise InputError(f"until {target} is over; it is {now} (Unix ms)", field="until", value=until)
            self._announced_advance(target)
            self.clock.set(target)
        self.gateway.let_in_late(target)
        self._deliver()
        return target

    def catch_up(self) -> int:
        """Bring the core to the clock's time, let the feed know, and return that time."""
        with self.lock:
            now = self._catch_up()
        self._deliver()
        return now

    def try_catch_up(self, patience: float) -> bool:
        """As `catch_up`, unless somebody else is busy here for `patience` seconds; return whether it was done."""
        if not self.lock.acquire(timeout=patience):
            return False
        try:
            self._catch_up()
        finally:
            self.lock.release()
        self._deliver()
        return True

    def _catch_up(self) -> int:
        now = self.now_ms()
        self._advance_to(now)
        return now

    def _advance_to(self, target: int) -> None:
        core = self.core
        while core.state.time < target:
            with defer_sigint():
                core.apply(Advance(min(target, core.state.time + SLICE)))
                self._publish()

    def _announced_advance(self, target: int) -> None:
        """Advance as it is written down; what an interrupt left of it is written down as well."""
        written = False
        try:
            with defer_sigint():
                self._write(Advance(target))
                written = True
            self._advance_to(target)
        except BaseException:
            if written and self.journal is not None:
                with defer_sigint():
                    self.journal.restored(self.core.dump())
            raise

    def _publish(self) -> None:
        events = self.core.events
        if events:
            if self._hub is not None:
                self._hub.publish(events)
            events.clear()

    def _deliver(self) -> None:
        """Let readers of the feed that live on a manual clock read, outside the lock."""
        if self._hub is not None:
            self._hub.deliver()

    # commands

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
        with self.lock:
            now = self._catch_up()
            if admit is not None:
                admit(self.core)
            outcome = self._apply(Submit(now, action, signer.lower(), nonce, expiry_after, vault, digest))
        self._deliver()
        return outcome

    def query(self, question: Callable[[Core], T]) -> T:
        """Return question(core), asked of the core as it is now, with nobody changing it meanwhile."""
        with self.lock:
            self._catch_up()
            answer = question(self.core)
        self._deliver()
        return answer

    def apply_control(self, name: str, /, **args: Any) -> dict[str, Any]:
        """Apply a control of the core and return its data. Raises VenueError when it is unknown or refused.

        Raises InputError, and no command is made, for arguments that a journal can't keep.
        """
        args = plain(args)
        with self.lock:
            outcome = self._apply(Control(self._catch_up(), name, args))
        self._deliver()
        if outcome.code:
            raise VenueError(f"{name}: {outcome.message}")
        return outcome.data or {}

    def _apply(self, command: Command) -> Outcome:
        with defer_sigint():
            self._write(command)
            try:
                return self.core.apply(command)
            finally:
                self._publish()

    def _write(self, command: Command) -> None:
        """Write a command down before it is applied; it must not be when this raises."""
        if self.record is not None:
            self.record(command)
        if self.journal is not None:
            self.journal.keep_dump(self.core)
            self.journal.append(command)

    # the ways in

    def handle(self, method: str, path: str, query: Query | str = (), body: bytes = b"", peer: str = "") -> Answer:
        """Answer one HTTP request given as plain values; never raises. See `gateway.Gateway.handle`."""
        return self.gateway.handle(method, path, query, body, peer)

    def transport(self, *, peer: str = "in-process") -> VenueTransport:
        """Return an httpx transport (synchronous and asynchronous) into this venue."""
        from .api.transport import VenueTransport

        return VenueTransport(self, peer=peer)

    def serve(
        self, port: int = 0, *, host: str = "127.0.0.1", allow_remote: bool = False
    ) -> AbstractContextManager[Served]:
        """Return a context manager that serves this venue in a thread; port 0 takes a free one."""
        from .served.server import running

        return running(self, port, host=host, allow_remote=allow_remote)

    @property
    def faults(self) -> Faults:
        """Scripted faults: `venue.faults.add("lose-answer", action="placeOrder")`."""
        return self.gateway.faults

    @property
    def hooks(self) -> Hooks:
        """Where your own faults and refusals come in, beside `faults` and `control`; assign a `gateway.Hooks`."""
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

                self._hub = Hub(self)
                self.core.record_events(True)
            return self._hub

    # running by itself

    def start_running(self) -> None:
        """Let time pass by itself from now on (with a real clock); counted, ended by as many `stop_running`."""
        with self.lock:
            self._runners += 1
            if self._ticker is None and self.clock.runs and not self._closed:
                self._ticker = _Ticker(self)

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
        """Stop what runs and close the journal. The venue can still be asked; closing again does nothing."""
        with self.lock:
            self._closed, self._runners = True, 0
            ticker, self._ticker = self._ticker, None
            if self.journal is not None:
                self.journal.close(self.core)
        if ticker is not None:
            ticker.stop()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # the whole state

    def state_hash(self) -> str:
        """Return the hash of the whole state, 64 hex digits. Same seed and commands, same hash."""
        with self.lock:
            return self.core.state_hash()

    def snapshot(self) -> int:
        """Remember the whole state, and return the number to `revert` to."""
        with self.lock:
            self._catch_up()
            self._last_snapshot += 1
            self._snapshots[self._last_snapshot] = self.core.dump()
            return self._last_snapshot

    def revert(self, snapshot: int) -> None:
        """Put everything back as it was at the snapshot, clock included; later snapshots are forgotten.

        Raises VenueError for a number that is none.
        """
        with self.lock:
            data = self._snapshots.get(snapshot)
            if data is None:
                known = ", ".join(map(str, self._snapshots)) or "none"
                raise VenueError(f"there is no snapshot {snapshot}; there are: {known}")
            self._restore(data)
            self._snapshots = {number: kept for number, kept in self._snapshots.items() if number <= snapshot}
        self._deliver()

    def forget(self, snapshot: int) -> None:
        """Let go of a snapshot; one that is not there is no error."""
        with self.lock:
            self._snapshots.pop(snapshot, None)

    @contextmanager
    def sandbox(self) -> Iterator[LocalVenue]:
        """Put everything back as it was at the end of a `with` block, clock included, also after an error."""
        number = self.snapshot()
        try:
            yield self
        finally:
            self.revert(number)
            self.forget(number)

    def dump(self, path: str | Path) -> None:
        """Write the whole state to a file."""
        with self.lock:
            self._catch_up()
            Path(path).write_bytes(self.core.dump())

    def load(self, path: str | Path) -> None:
        """Go on from a dumped state, clock included. Raises VenueError for a file that is no dump."""
        data = Path(path).read_bytes()
        with self.lock:
            self._restore(data)
        self._deliver()

    def _restore(self, data: bytes) -> None:
        core = Core.load(data)
        with defer_sigint():
            if self.journal is not None:
                self.journal.restored(data)
            core.record_events(self._hub is not None)
            self.core = core
            self.clock.set(self.core.state.time)
            if self._hub is not None:
                self._hub.resync()

    def __repr__(self) -> str:
        kind = "real" if self.clock.runs else "manual"
        return f"<LocalVenue seed={self.core.state.seed} time={self.now_ms()} clock={kind}>"


def plain(args: dict[str, Any]) -> dict[str, Any]:
    """Return a control's arguments as a journal keeps them, so that a replay sees the same. Raises InputError."""
    try:
        kept = msgspec.msgpack.encode(msgspec.to_builtins(args, str_keys=True))
        return dict(msgspec.msgpack.decode(kept))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"a control takes numbers, texts, lists and dictionaries: {error}", value=args) from error


class _Ticker:
    """The thread that keeps a venue up to date with a running clock."""

    def __init__(self, venue: LocalVenue) -> None:
        self._venue = venue
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="toolkit-venue-ticker", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.wait(TICK):
            # never waits for long, because whoever stops it may hold the lock
            while not self._venue.try_catch_up(PATIENCE) and not self._stopped.is_set():
                pass
            self._venue.gateway.let_in_late(self._venue.now_ms())

    def stop(self) -> None:
        """Stop the thread, waiting a few seconds at most."""
        self._stopped.set()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=5)
