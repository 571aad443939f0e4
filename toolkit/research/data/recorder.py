"""Record the live feed to Parquet.

A recording is a directory, partitioned for pandas, DuckDB and Dask alike:

    channel=trades/product=BTCUSDC/day=2026-01-31/part-…-000001.parquet

A crash of the process loses no received update: each is first written to a journal in the same directory. Parts are
written from it under a temporary name, synced and then renamed. Rows that a crash leaves in the journal become parts
when recording continues, or by `Recording.recover()`. Only one recorder at a time writes to a directory. Parts and the
lines of the journal have checksums, and the identity of their market.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ...client.reads.reading import identity_of
from ...errors import InputError, StaleData, warn
from ...extras import need
from ...guards import no_keys
from .recording import Recording
from .recording_store import LOGS, RECORDED, Store, comparable, table

if TYPE_CHECKING:
    import os

    from ...client.io.venue_clock import SessionClock
    from ...client.stream.live import Live, Update
    from ...plain_session import Session

MARKETS = ("trades", "order_book", "ticker", "candles")
"""Channels recorded by default. They need symbols."""
ACCOUNTS = ("fills", "order_history", "closed_positions", "funding", "positions", "account")
"""Channels of the session's account."""


class Recordable(Protocol):
    """What can be recorded besides a session, such as an `ExchangeMarket`: live objects and their clock."""

    identity: str

    @property
    def stream(self) -> object:
        """The live objects, by the name of their channel."""

    @property
    def clock(self) -> SessionClock:
        """The clock of their arrival."""


class Recorder:
    """A recording in progress, which `record` returns. As a context manager it closes at the end.

    Parameters
    ----------
    store : Store
        Files that it writes.
    live : sequence of Live
        Live objects that it records.
    clock : SessionClock
        Clock of the session, which gives the time of arrival.

    Attributes
    ----------
    path : Path
        Directory of the recording.
    live : tuple of Live
        Live objects that it records.
    rows : dict of str to int
        Rows received so far, by channel.
    resumed : datetime or None
        When the recording that it continues received its last row, None for a new one.
    """

    def __init__(self, store: Store, live: Sequence[Live], clock: SessionClock) -> None:
        self.path = store.path
        self.live = tuple(live)
        self.rows: dict[str, int] = {}
        self.resumed: datetime | None = None
        self._store = store
        self._clock = clock
        self._latest: dict[tuple[str, str], datetime] = {}
        """When the last row of a channel and product was received."""
        self._started: set[tuple[str, str]] = set()
        self._closed = False

    @property
    def recording(self) -> Recording:
        """The parts written so far, for reading."""
        return Recording(self.path)

    @property
    def files(self) -> list[Path]:
        """Parts written so far by this recorder."""
        return list(self._store.written)

    def flush(self) -> None:
        """Write everything received so far as parts."""
        self._store.flush()

    def assert_healthy(self, max_age_ms: int | None = None) -> None:
        """Raise what an unhealthy live object raises, or StaleData when the recording is closed.

        Parameters
        ----------
        max_age_ms : int, optional
            Longest time since the last message of a live object, ms (default: that of the live object).

        Raises
        ------
        StaleData
            If the recording is closed, can't be written, or a live object is not healthy.
        """
        for live in self.live:
            live.assert_healthy(max_age_ms)
        if self._store.failed is not None:
            raise StaleData(f"the recording to {self.path} can't be written: {self._failure()}")
        if self._closed:
            raise StaleData(f"the recording to {self.path} is closed")

    def close(self) -> None:
        """Stop recording and write everything as parts. Closing again does nothing."""
        if not self._closed:
            self._closed = True
            for live in self.live:
                live.close()
            try:
                self._store.close()
            except OSError as error:
                self._store.failed = error
            if self._store.failed is not None:
                advice = (
                    "The rows in its journal become parts when there is space and it is opened with Recording.recover()"
                )
                warn(f"the recording to {self.path}: {self._failure()}. {advice}")

    def _failure(self) -> str:
        reason = getattr(self._store.failed, "strerror", None) or self._store.failed
        return f"{reason}. {self._store.lost:,} rows were lost"

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        received = ", ".join(f"{name} {count:,}" for name, count in sorted(self.rows.items())) or "nothing yet"
        failure = "" if self._store.failed is None else f". {self._failure()}"
        return f"<Recorder {'closed' if self._closed else 'recording'} {self.path}: {received}{failure}>"

    def follow(self, channel: str, live: Live, product: str) -> None:
        """Record the updates of a live object from now on.

        Parameters
        ----------
        channel : str
            Name of the channel.
        live : Live
            Live object of the channel.
        product : str
            Product symbol, "" for a channel of the account.
        """
        self.rows.setdefault(channel, 0)
        if (ended := self._store.ended(channel, product)) is not None:
            self.resumed = max(ended, self.resumed or ended)
            self._append_status(live, product, "resumed", f"nothing was recorded since {ended}")
        # States before updates: a state that changes between the two calls would be missing from the table.
        live.on_state(lambda changed: self._append_status(changed, product))
        live.on_update(lambda update: self._append_update(channel, product, update), begin=True)

    def _received(self, channel: str, product: str, published: datetime | None) -> datetime:
        """Return the time of the column `received`, by the venue's clock. It never goes back, as its estimate may.

        Where the venue's time does not pass as this machine's does, it is when the row was published: the way here
        takes this machine's time, which says nothing there.
        """
        last = self._latest.get((channel, product))
        # At other speeds the way here would be multiplied by the speed, and rows would seem to arrive much later.
        if self._clock.speed == 1 or (published is None and last is None):
            published = datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC)
        # The estimate of the venue's clock may be corrected backwards. Arrival times must not follow it.
        self._latest[channel, product] = max(time for time in (published, last) if time is not None)
        return self._latest[channel, product]

    def _append_status(self, live: Live, product: str, state: str = "", reason: str = "") -> None:
        row = {"subject": live.subject, "state": state or live.state, "reason": reason or live.reason}
        received = self._received("status", product, None)
        self._store.append("status", product or "all", [row], received, "state", live.sequence)

    def _append_update(self, channel: str, product: str, update: Update) -> None:
        groups: dict[str, list[Mapping[str, Any]]] = {}
        for item in update.items:
            groups.setdefault(product or str(item.get("symbol") or "all"), []).append({"time": update.time, **item})
        for name, rows in groups.items():
            # Only the first update: later ones are new by the feed's own order, and comparing them would cost a read
            # each time.
            if channel in LOGS and (channel, name) not in self._started:
                self._started.add((channel, name))
                # The first update of a log repeats past rows, which an earlier recording may already have.
                rows = self._new_rows(channel, name, rows)
            lost = self._store.lost
            newest = max((row["time"] for row in rows if row.get("time") is not None), default=None)
            for time, part in groupby(rows, lambda row: row.get("time")):
                # A snapshot repeats rows from before it was published.
                received = self._received(channel, name, newest if update.kind == "snapshot" else time)
                self._store.append(channel, name, list(part), received, update.kind, update.sequence)
            self.rows[channel] += len(rows) - (self._store.lost - lost)

    def _new_rows(self, channel: str, product: str, rows: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the rows without those that an earlier recording in this directory ends with."""
        stored = self._store.last(channel, product, len(rows))
        columns = list(table(channel).items())[:-3]
        old = [{name: comparable(form, row[name]) for name, form in columns} for row in stored]
        new = [{name: comparable(form, row.get(name)) for name, form in columns} for row in rows]
        # The longest overlap counts: a shorter overlap may be a coincidence of equal rows.
        overlap = next((n for n in range(min(len(old), len(new)), 0, -1) if old[-n:] == new[:n]), 0)
        return rows[overlap:]


@no_keys
def record(
    session: Session | Recordable,
    path: str | os.PathLike[str],
    symbols: str | Iterable[str] = (),
    *,
    channels: Iterable[str] = MARKETS,
    depth: int = 20,
    interval: str | int = "1m",
    exact: bool = False,
    rows_per_file: int = 50_000,
    flush_ms: int = 300_000,
) -> Recorder:
    """Record the live feed of a session until the returned recorder is closed.

    Each channel is a table: the columns of its live frame, then `received` (UTC), `sequence` and `kind` (snapshot or
    incremental). `order_book` has one row for each changed level (quantity 0 removes it). The table `status` has each
    change of a subscription's state, with the reason, and "resumed" if this recording continues another. If the disk is
    full, `repr` and `assert_healthy` say so and how many rows were lost, and `close` warns.

    Parameters
    ----------
    session : Session or Recordable
        A session, or an `ExchangeMarket`, which has no candles and no account.
    path : str or PathLike
        Directory to write to. It may hold a recording of the same market, which continues.
    symbols : str or iterable of str, optional
        Products to record, one or several (default: none, which only channels of the account allow).
    channels : iterable of str, optional
        Names of channels of its stream (default: trades, order_book, ticker, candles). The session's account has fills,
        order_history, closed_positions, funding, positions, account.
    depth : int, optional
        Levels of each side of order_book (default: 20).
    interval : str or int, optional
        Length of the candles (default: "1m").
    exact : bool, optional
        True writes amounts as decimal128(38, 12), False as float64 (default: False).
    rows_per_file : int, optional
        Number of rows with which a part is written. Until then the journal has them (default: 50,000).
    flush_ms : int, optional
        Age of the oldest row at which a part is written when the next update arrives, ms (default: 300,000).

    Returns
    -------
    Recorder
        The recording in progress. Close it at the end.

    Raises
    ------
    InputError
        For an unknown channel, missing symbols, or a directory that another recorder writes to.
    StoredFileError
        For a directory with the recording of another market.

    Examples
    --------
    >>> recorder = research.record(session, "recorded", ["BTCUSDC"])
    >>> _ = session.venue.advance("5s")
    >>> recorder.close()
    >>> research.Recording("recorded").channels
    ['candles', 'order_book', 'ticker', 'trades']
    """
    need("pyarrow")  # parts are written later; this is when someone looks
    wanted = [symbols] if isinstance(symbols, str) else list(symbols)
    names = [channels] if isinstance(channels, str) else list(channels)
    # Channels that were named must exist. A market of another exchange may have fewer of the default ones.
    names = [name for name in names if channels is not MARKETS or hasattr(session.stream, name)]
    unknown = [name for name in names if name not in RECORDED or name == "status"]
    if unknown:
        known = (*MARKETS, *ACCOUNTS)
        text = f"channels {unknown} can't be recorded. Known are {', '.join(known)}"
        raise InputError(text, field="channels", rule="known", value=unknown, nearest=known)
    if not wanted and set(names) & set(MARKETS):
        text = "symbols are needed to record markets, for example ['BTCUSDC']"
        raise InputError(text, field="symbols", rule="required")
    bounds: dict[str, Any] = {"rows_per_file": rows_per_file, "flush_ms": flush_ms}
    identity = getattr(session, "identity", "") or identity_of(session)  # type: ignore[arg-type]
    store = Store(Path(path), exact=exact, identity=identity, **bounds)
    options: dict[str, dict[str, Any]] = {"order_book": {"depth": depth}, "candles": {"interval": interval}}
    try:
        # All live objects are opened before the first is followed, so that an error leaves nothing half recorded.
        opened: list[tuple[str, str, Live]] = []
        for name in names:
            channel = getattr(session.stream, name)
            if name in ACCOUNTS:
                opened.append((name, "", channel()))
            else:
                opened += [(name, symbol, channel(symbol, **options.get(name, {}))) for symbol in wanted]
    except BaseException:
        store.close()
        raise

    recorder = Recorder(store, [live for _, _, live in opened], session.clock)
    for name, product, live in opened:
        recorder.follow(name, live, product)
    return recorder
