"""The local venue as an object: a whole exchange that a session, a test or a notebook holds.

It reads its arguments and puts users' calls to its host, which runs the core (see `host`).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import msgspec

from ..errors import InputError, warn
from ..guards import no_keys
from ..numerals import Span, milliseconds, moment
from ..progress import advance_bar
from ..protocol.reads.endpoint import MAX_TIME
from ..stored.writing import write_file
from ..suggestions import Suggesting
from . import development
from .clocks import Clock, clock_named
from .host import Idle, VenueHost
from .lab.control import Controls, ExactAmount, funding
from .lab.journal import open_or_create
from .lab.journal_file import Sync
from .lab.player import Player, Replayable
from .model.genesis import Genesis, check_seed
from .model.market import THIN, Market, saved
from .trouble import Trouble, Troubles, read

if TYPE_CHECKING:
    from .api.in_process import VenueTransport
    from .served.boundary import ServeSettings
    from .served.server import Served


class LocalVenue(Suggesting, AbstractContextManager["LocalVenue"]):
    """A whole exchange in this process.

    Safe to use from several threads: one lock admits one command at a time.

    Parameters
    ----------
    seed : int or str, optional
        Seed of all chance. The same seed, commands and times give the same venue, so a number lets others compute its
        future. A text of 32 hexadecimal digits, as `served.boundary.new_seed` returns, is a secret that the market does
        not reveal (default: 7).
    clock : {"real", "manual"} or Clock, optional
        "manual" starts 2026-01-01T00:00:00Z and moves only by `advance` (default: "real").
    start : str, int, datetime or None, optional
        First time: Unix ms, ISO text or a datetime (default: now for a real clock, 2026-01-01 for a manual one).
    speed : float, optional
        How many times as fast as real time a real clock runs (default: 1.0).
    accounts : int, optional
        Number of development masters that are funded, 0 to 1,000 (default: 10).
    balance : str, int or Decimal, optional
        USDC of each (default: "10000").
    mnemonic : str, optional
        Words that the development accounts are derived from (default: those of development networks).
    market : str, Market, bool or None, optional
        Simulated market: "calm", "usual", "stressed" or a `Market`. `None` or False is a venue without participants.
        `control.market` changes it later (default: "usual").
    settle_delay : str or int, optional
        Span after which accepted actions take effect, such as "1s", or in ms (default: "0s").
    config : Genesis or None, optional
        Whole genesis in place of the default one. Its seed and time take precedence over `seed` and `start` (default:
        none).
    journal : str or Path or None, optional
        File to which every command is written before it is answered (default: none). An existing file is replayed. The
        venue continues from its state, and ignores the arguments about the beginning.
    sync : {"full", "os"}, optional
        "full" survives a power failure, "os" survives the death of this process and is faster (default: "full").
    recover : bool, optional
        True continues a damaged journal from its intact entries (default: `False`).
    idle : {"simulate", "skip"}, optional
        What happens to a running clock's time after the venue was not used for more than an hour. It is simulated,
        which takes a while, or skipped: prices and participants pause, and all else happens (default: "simulate").
    replay : Events, mapping of str to Events, or None, optional
        Recording that is the market, `toolkit.research.data.Events`, or symbol → Events (default: none). Its levels are
        everyone's counterparties. Its trades, candles and marks are repeated as recorded. The clock starts with it.
    trouble : Trouble, Phase, str, Path, mapping, sequence or None, optional
        What goes wrong at the venue: a `toolkit.venue.trouble.Trouble`, one or several of its kinds, or a TOML file
        (default: nothing). `control.set_trouble` changes it later.

    Attributes
    ----------
    control : Controls
        Interventions: prices, liquidity, funds, faults, troubles.
    host : VenueHost
        The machinery that runs the core, for programs that read or drive the state itself.

    Raises
    ------
    InputError
        For an argument that is out of its bounds.
    StoredFileError
        For a damaged journal.
    VenueError
        For a journal that can't be used.

    Examples
    --------
    >>> from toolkit.venue.local import LocalVenue
    >>> with LocalVenue(clock="manual") as venue:
    ...     venue.advance("4h")
    1767240000000
    """

    _path = "venue"
    _parts = ("control", "host")

    def __init__(
        self,
        *,
        seed: int | str = 7,
        clock: str | Clock = "real",
        start: str | int | datetime | None = None,
        speed: float = 1.0,
        accounts: int = 10,
        balance: ExactAmount = development.FUNDING,
        mnemonic: str = development.MNEMONIC,
        market: str | Market | bool | None = "usual",
        settle_delay: Span = "0s",
        config: Genesis | None = None,
        journal: str | Path | None = None,
        sync: Sync = "full",
        recover: bool = False,
        idle: Idle = "simulate",
        replay: Replayable | None = None,
        trouble: Troubles | None = None,
    ) -> None:
        given = Trouble() if trouble is None else read(trouble)  # before a journal is opened
        player = None
        if replay is not None:
            if journal is not None:
                text = "a replay has no journal: the recording can be replayed again. dump() keeps a state"
                raise InputError(text, field="journal", rule="no replay")
            player = Player(replay, (config or Genesis()).products)
            market, start = False, player.start_ms if start is None else start
        seed = check_seed(seed)
        begin = start if start is None or isinstance(start, int) else moment(start, "start")
        begin = config.time if config else begin
        clock = clock_named(clock, begin, speed)  # the state begins at `begin`, which a fast clock soon leaves
        genesis = config or Genesis(seed=seed, time=clock.now_ms() if begin is None else begin)
        genesis = genesis if player is None else player.fit(genesis)
        if not 1 <= genesis.time <= MAX_TIME:  # 0 means "never" in many records
            text = f"start {genesis.time} ms is not between 1 ms after 1970 began and the end of the year 9999"
            raise InputError(text, field="start", rule="1970 to 9999", value=genesis.time)
        settings = {
            "permissions": True,
            "market": saved(market),
            "settleDelay": milliseconds(settle_delay, "settle_delay"),
        }
        genesis = msgspec.structs.replace(genesis, settings={**settings, **genesis.settings})
        first = funding(genesis.time, accounts, balance, mnemonic)
        opened = None if journal is None else open_or_create(journal, genesis, first, sync=sync, recovering=recover)
        self.host = VenueHost(genesis, first, clock, mnemonic=mnemonic, journal=opened, player=player, idle=idle)
        self.control = Controls(self.host)
        if trouble is not None:
            self.host.trouble.set(given)

    @no_keys
    def advance(
        self,
        span: Span | None = None,
        *,
        until: str | int | datetime | None = None,
        progress: bool | None = None,
    ) -> int:
        """Let time pass by a span or until a moment.

        Return the new time, Unix ms.

        Every block, price, funding settlement, trigger and expiry on the way happens, in order. A real clock is set
        forward.

        Long spans pass in steps, between which other threads' requests are answered. After an interrupt (a stopped
        cell) the venue is in a consistent state at some moment on the way.

        Parameters
        ----------
        span : str, int, timedelta or None, optional
            Time to pass: "4h", "90s", a timedelta, or ms. Either this or `until` is given (default: `None`).
        until : str, int, datetime or None, optional
            Moment to reach: ISO text, Unix ms or a datetime (default: `None`).
        progress : bool or None, optional
            True shows a bar immediately, False never, `None` when it takes long (default: `None`).

        Returns
        -------
        int
            The new time, Unix ms.

        Raises
        ------
        InputError
            For a moment in the past, and for neither or both arguments.

        Examples
        --------
        >>> session.venue.advance("10m")
        1767226200000
        """
        if (span is None) == (until is None):
            raise InputError('give a span, such as advance("4h"), or until=…, one of them', field="span")
        with self.host.lock:
            now = self.host.now_ms()
            target = moment(until, "until", now) if span is None else now + milliseconds(span)
            if target < now:
                raise InputError(f"until {target} is in the past. It is {now} (Unix ms)", field="until", value=until)
        with advance_bar(now, target, progress) as moved:
            self.host.advance_to(target, moved)
        return target

    def snapshot(self) -> int:
        """Keep the whole state, and return the number to `revert` to.

        Returns
        -------
        int
            Number of the snapshot.

        Examples
        --------
        >>> number = session.venue.snapshot()
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> session.venue.revert(number)
        >>> len(session.positions())
        0
        """
        return self.host.snapshot()

    def revert(self, snapshot: int) -> None:
        """Restore a snapshot, clock included, and drop later ones.

        Parameters
        ----------
        snapshot : int
            Number that `snapshot` returned.

        Raises
        ------
        VenueError
            If the number is unknown.
        """
        self.host.revert(snapshot)

    def dump(self, path: str | Path) -> None:
        """Write the whole state to a file.

        An existing file is replaced once the new one is complete.

        Parameters
        ----------
        path : str or Path
            File to write.
        """
        write_file(path, self.host.dumped())

    def load(self, path: str | Path) -> None:
        """Continue from a dumped state, clock included.

        Parameters
        ----------
        path : str or Path
            File that `dump` wrote.

        Raises
        ------
        StoredFileError
            If it is no dump, or of another version.
        """
        self.host.restore(Path(path).read_bytes(), path)

    def transport(self, *, peer: str = "in-process") -> VenueTransport:
        """Return an httpx transport into this venue, for synchronous and asynchronous clients.

        Parameters
        ----------
        peer : str, optional
            Address that the requests seem to come from, for limits and faults (default: "in-process").

        Returns
        -------
        VenueTransport
            Transport for `httpx.Client` or `httpx.AsyncClient`.
        """
        from .api.in_process import VenueTransport

        return VenueTransport(self.host.gateway.handle, self.host.clock, peer)

    def serve(
        self,
        port: int = 0,
        *,
        host: str = "127.0.0.1",
        allow_remote: bool = False,
        control: bool = False,
        settings: ServeSettings | None = None,
    ) -> AbstractContextManager[Served]:
        """Return a context manager that serves this venue in a thread.

        Parameters
        ----------
        port : int, optional
            TCP port (default: 0, a free one).
        host : str, optional
            Address to listen at (default: "127.0.0.1").
        allow_remote : bool, optional
            True allows a host other than loopback (default: `False`).
        control : bool, optional
            True serves the controls as well, to those who send the token (`control_token` of the value) (default:
            `False`).
        settings : ServeSettings or None, optional
            Limits and permissions of clients, see `served.boundary.ServeSettings` (default: the usual ones).

        Returns
        -------
        context manager of Served
            Its value has `url` and `control_token`. The server stops at the end of the block.
        """
        from .served.server import running
        from .served.venue_routes import open_routes, open_state_routes

        seed, market = self.host.core.state.seed, self.host.core.state.settings.get("market")
        if allow_remote and market is not None and isinstance(seed, int):
            others = "others can compute this market's prices ahead. Give served.boundary.new_seed() for a secret one"
            warn(f"seed {seed} is public: {others}", RuntimeWarning)
        open_state_routes(self.host)
        if control:
            open_routes(self)
        return running(self.host, port, host=host, allow_remote=allow_remote, settings=settings)

    def close(self) -> None:
        """Stop its thread and close the journal. Queries still work. Closing again does nothing."""
        self.host.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        host = self.host
        kind = "real" if host.clock.runs else "manual"
        seed = host.core.state.seed if isinstance(host.core.state.seed, int) else "secret"
        simulation = host.core.state.simulation
        thin = simulation is not None and any(each.regime == THIN for each in simulation.products.values())
        warning = " market=thin, where one order may hold a price" if thin else ""
        return f"<LocalVenue seed={seed} time={host.now_ms()} clock={kind}{warning}>"
