"""Session and its asynchronous twin without the rooms that are built on them: no widgets, no other exchanges.

Research, widgets and reports take any session, and know it by this module. `toolkit.session` adds what is made of them.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from . import connecting, session_methods
from .client.io.flow import AsyncDriver, Driver, Runtime
from .client.io.nonce_sources import NonceSources
from .client.io.rate_limits import RateLimiter
from .client.io.transport import AsyncHttpTransport, HttpTransport
from .client.io.venue_clock import SessionClock, VenueClock
from .client.io.venue_controls import ServedVenue
from .client.limits.exit_ledger import ExitLedger
from .client.limits.order_limits import OrderLimits
from .client.limits.running import RUNS, end
from .client.orders.delivery import Delivery
from .client.orders.intents import Ledger
from .client.orders.ledger_file import account_ledger, open_ledger
from .client.orders.pretrade import PreTradeChecks
from .client.reads.catalogue import Catalogue
from .environments import LOCAL, Environment
from .guards import no_keys
from .limits import Limits
from .protocol.reads.channel import ACCOUNT
from .secrecy import Secret
from .wallet import Wallet

if TYPE_CHECKING:
    import pandas as pd

    from .client.io.transport import AnyTransport
    from .client.orders.exchange import AsyncExchange, Exchange
    from .client.parent_orders.schedule import ParentRunner
    from .client.reads.info import AsyncInfo, Info
    from .client.stream.async_stream import AsyncStream
    from .client.stream.stream import Stream
    from .client.stream.updates import FeedEvent
    from .venue.local import LocalVenue


class Session(session_methods.SessionMethods):
    """One wallet in one environment, as every room below its widgets knows it. See `toolkit.Session`."""

    _path = "session"
    _parts = ("exchange", "info", "stream", "venue")

    def __init__(
        self,
        environment: Environment,
        *,
        wallet: Wallet | None,
        account: str | None,
        vault: str | None = None,
        venue: LocalVenue | None,
        owns_venue: bool,
        control_token: Secret | None = None,
        transport: AnyTransport | None,
        sending: connecting.Sending,
        limits: Limits | None = None,
        limiter: RateLimiter,
        runtime: Runtime,
    ) -> None:
        if environment.name == LOCAL.name:
            environment = connecting.of_one_venue(environment, venue, sending["intents"])
        self.environment = environment
        self.wallet = wallet
        self._local = venue
        """The venue in this process, None for any other."""
        self._owns_venue = owns_venue
        self._panels: WeakSet[Any] = WeakSet()
        """Widgets that follow this session. Closing it stops them."""
        self._transport = transport
        self._timeout = sending["timeout"]
        # A venue in this process is asked for its time; that of any other is known from its answers.
        jumps = environment.name == LOCAL.name
        self._clock = None if venue is not None else VenueClock(runtime.now, runtime.elapsed, jumps=jumps)
        if self._clock is not None:
            runtime = replace(runtime, now=self._clock.now_ms, observe=self._clock.observe)
        self._runtime = runtime
        self._known_account = account or (wallet.account if wallet else None)
        self._vault = vault
        self._http = HttpTransport(environment.base_url, transport, self._timeout)
        plain_http = sending["plain_http"]
        served = ServedVenue(self._http, control_token, plain_http) if environment.name == LOCAL.name else None
        self.venue: LocalVenue | ServedVenue | None = served if venue is None else venue
        self._gate = connecting.gate(environment, venue, transport, runtime)
        self._driver = Driver(self._http.send, self._runtime, self._sleep, self._settle, self._gate)
        self._catalogue = Catalogue(environment=environment, venue=venue)
        self._checks = PreTradeChecks(self._catalogue, self._account, sending["retry"], self._book_price)
        """Runs of strategies on this session. `stop_all` ends them."""
        ledger = ExitLedger(self._ledger(sending["intents"]))
        name = f"{environment.label} {self._signer}"
        self._limits = OrderLimits(limits, name, ledger, self._checks, lambda: self._reader, vault)
        self._delivery = Delivery(
            environment=environment,
            wallet=wallet,
            account=self._master,
            vault=vault,
            ledger=ledger,
            limits=self._limits,
            nonces=NonceSources(environment, self._local, connecting.largest_nonce(self._local)),
            limiter=self._gate.limiter(self._signer or "", limiter),
            gate=self._gate,
            confirm=sending["confirm"],
            retry=sending["retry"],
            expiry_ms=sending["expiry_ms"],
            check=self._checks.check,
            settle_timeout=sending["settle_timeout"],
            clock_skew=lambda: self.clock.skew_ms,
            check_ready=partial(self._http.check_ready, plain_http),
        )

    def _ledger(self, intents: Ledger | str | os.PathLike[str] | None) -> Ledger:
        """Return the requested ledger: by default a file of the account, unless nothing outlives this process.

        While the account is not known the file is that of the address that signs.
        """
        signer = self._signer
        if intents is not None or self._local is not None or signer is None:
            return open_ledger(intents)
        return account_ledger(self.environment, lambda: self._known_account or signer)

    @property
    def _signer(self) -> str | None:
        return None if self.wallet is None else self.wallet.agent or self.wallet.master

    @property
    def clock(self) -> SessionClock:
        """The venue's time, if it is known: `clock.now_ms()`, `clock.speed`, `clock.skew_ms`."""
        return SessionClock(self._runtime.now, self._clock, 1.0 if self._local is None else self._local.host.speed)

    def _sleep(self, seconds: float) -> None:
        if not self._is_manual():
            self._runtime.pause(seconds)

    def _settle(self, seconds: float) -> None:
        if self._is_manual():
            self._settle_venue()
        else:
            self._runtime.pause(seconds)

    def _settle_venue(self) -> None:
        """Let a manual clock's time pass until every action that was answered is executed. See `settle_delay`."""
        if (venue := self._local) is not None and (due := venue.host.settled_ms()) > venue.host.now_ms():
            venue.advance(until=due)

    def _whereabouts(self) -> tuple[object, str]:
        """Return where and for whom it trades. See `client.limits.running.Placed`."""
        return self._local or self.environment, str(self.account or "").lower()

    def _is_manual(self) -> bool:
        """Return whether time only moves by `advance`. A wait would never end then, so waits are skipped."""
        return self._local is not None and not self._local.host.clock.runs

    @cached_property
    def exchange(self) -> Exchange:
        """The actions of the interface, one method each."""
        from .client.orders.exchange import Exchange

        return Exchange(self._driver, self.environment, self._delivery, self._catalogue)

    @cached_property
    def info(self) -> Info:
        """The queries of the venue, one method each, as DataFrames."""
        from .client.reads.info import Info

        return Info(self)

    @cached_property
    def _parents(self) -> ParentRunner:
        """The runner of this session's parent orders."""
        from .client.parent_orders.schedule import ParentRunner

        owner = f"{int(self._runtime.random_float() * 2**52):013x}"
        calls, runs = self._calls, not self._is_manual()
        made = ParentRunner(calls, self._delivery, self._catalogue, self._runtime.now, owner, runs)
        if self._local is not None and not self._delivery.closed:
            self._local.host.alarms.append(made)
        return made

    @cached_property
    def stream(self) -> Stream:
        """The live feed: `session.stream.order_book(symbol)` and others. Connects on first use."""
        from .client.stream.stream import Stream

        return Stream(
            self,
            observe=self._observe,
            speed=lambda: self.clock.speed,
            is_over=lambda: self._delivery.closed,
            gate=self._gate,
            runtime=self._runtime,
        )

    def _book_price(self, symbol: str, side: str) -> Decimal | None:
        """Return the price at which an order would trade by an open live book, None without one that is healthy."""
        return self.stream._best(symbol, side) if "stream" in self.__dict__ else None

    def _observe(self, event: FeedEvent) -> None:
        """Take an update of the feed: it shows the venue's time, and may settle what was submitted."""
        if self._clock is not None and event.timestamp_ms is not None:
            self._clock.follow(event.timestamp_ms)
        owner = event.topic.fields.get(ACCOUNT.name)
        if owner is not None and event.kind == "incremental":
            self._delivery.take_records(event.topic.channel.type, str(owner), event.items, self._runtime.now())

    permissions = cached_property(session_methods.SessionPermissions)
    parent_orders = cached_property(session_methods.ParentOrders)
    limits = cached_property(session_methods.SessionLimits)
    intents = cached_property(session_methods.Intents)
    products = cached_property(session_methods.Products)

    @cached_property
    def aio(self) -> AsyncSession:
        """The asynchronous twin: the same names, awaited. It shares wallet, ledger, limits and venue."""
        return AsyncSession(self)

    @no_keys
    def what_if(self, symbol: str | int, shock: float | str) -> pd.DataFrame:
        """Return the account's figures now and with a moved mark price of one product. Nothing changes.

        It works only for a venue in this process. `connect("local", follow=…, fork=…)` copies an account there.

        Parameters
        ----------
        symbol : str or int
            Product, by symbol or code.
        shock : float or str
            Move of the mark price, a ratio: −0.2 is a fall of 20 %.

        Returns
        -------
        DataFrame
            The index is "now" and "shocked". The margins are of the cross positions, or of the isolated one.

            - mark_price: float64, USDC
            - position: float64, base units, negative for a short
            - unrealized_pnl, equity, available: float64, USDC
            - initial_margin, maintenance_margin: float64, USDC
            - margin_ratio: float64, a ratio, inf without equity
            - liquidation_price: float64, USDC, NaN where no price liquidates
            - liquidated: bool

        Raises
        ------
        InputError
            For a ratio of −1 or less, and for a venue elsewhere.

        Examples
        --------
        >>> _ = session.buy("BTCUSDC", "0.1")
        >>> session.what_if("BTCUSDC", "-0.2")["unrealized_pnl"].round().tolist()
        [-1.0, -1251.0]
        """
        return connecting.what_if(self._local, self.account, symbol, shock)

    def _find_account(self) -> None:
        """Ask the venue whose agent this session's key is, where that is not known yet."""
        self._driver.run(self._master())

    def close(self) -> None:
        """Close connections, streams, the ledger's file, and the venue if `connect` made it. It then trades no more.

        Its runs end first: they cancel their orders, and close their positions if they were started so.

        Examples
        --------
        >>> short = toolkit.connect(clock="manual")
        >>> short.close()
        >>> short.stream.health.state
        'idle'
        """
        end(RUNS.of(self), "the closing of the session")
        self._delivery.closed = True
        if "_parents" in self.__dict__:
            self._parents.close()
            if self._local is not None:
                with suppress(ValueError):  # another thread closes the session too
                    self._local.host.alarms.remove(self._parents)
        for panel in list(self._panels):
            panel.stop()
        if "stream" in self.__dict__:
            self.stream.close()
        self._http.close()
        self._delivery.close_ledger()
        if self._owns_venue and self._local is not None:
            self._local.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Session {self._described()}>"

    def _repr_html_(self) -> str:
        from html import escape

        mark = ' <b style="color:#b00020">real money</b>' if self.environment.is_mainnet else ""
        return f"<code>Session</code> {escape(self._described())}{mark}"

    def _described(self) -> str:
        where = self.environment.name
        if self._local is not None:
            where += " in this process"
        else:
            where += f" at {self.environment.base_url}"
        who = f"account {_short(self._known_account)}" if self._known_account else "no account yet"
        if self._vault is not None:
            who = f"vault {_short(self._vault)}"
        if self.wallet is None or self._signer is None:
            return f"{where}, {who}, read-only"
        roles = [role for role in ("agent", "master") if getattr(self.wallet, role)]
        return f"{where}, {who}, signs as {' and '.join(roles)}"


class AsyncSession(session_methods.AsyncSessionMethods):
    """The asynchronous twin of Session, reached as `session.aio`: same names, arguments and results, awaited.

    Parameters
    ----------
    session : Session
        The session.
    """

    _path = "session.aio"
    _parts = ("exchange", "info", "stream", "venue")

    def __init__(self, session: Session) -> None:
        self.sync = session
        self.environment = session.environment
        self.wallet = session.wallet
        self.venue = session.venue
        self._session = session
        self._vault = session._vault
        self._http = AsyncHttpTransport(session.environment.base_url, session._transport, session._timeout)
        self._driver = AsyncDriver(self._http.send, session._runtime, self._sleep, self._settle, session._gate)
        self._catalogue = session._catalogue
        self._checks, self._delivery, self._limits = session._checks, session._delivery, session._limits

    @property
    def _parents(self) -> ParentRunner:
        return self._session._parents

    @property
    def _known_account(self) -> str | None:
        return self._session._known_account

    @_known_account.setter
    def _known_account(self, account: str | None) -> None:
        self._session._known_account = account

    async def _sleep(self, seconds: float) -> None:
        await asyncio.sleep(0 if self._session._is_manual() else seconds)

    async def _settle(self, seconds: float) -> None:
        if self._session._is_manual():
            self._session._settle_venue()
            seconds = 0
        await asyncio.sleep(seconds)

    @cached_property
    def exchange(self) -> AsyncExchange:
        """The actions of the interface, one coroutine function each."""
        from .client.orders.exchange import AsyncExchange

        return AsyncExchange(self._driver, self.environment, self._delivery, self._catalogue)

    @cached_property
    def info(self) -> AsyncInfo:
        """The queries of the venue, one coroutine function each."""
        from .client.reads.info import AsyncInfo

        return AsyncInfo(self)

    permissions = cached_property(session_methods.AsyncSessionPermissions)
    parent_orders = cached_property(session_methods.AsyncParentOrders)
    limits = cached_property(session_methods.AsyncSessionLimits)
    intents = cached_property(session_methods.AsyncIntents)
    products = cached_property(session_methods.AsyncProducts)

    @cached_property
    def stream(self) -> AsyncStream:
        """The live feed, with live objects to await."""
        from .client.stream.async_stream import AsyncStream

        return AsyncStream(self.sync.stream)

    @property
    def clock(self) -> SessionClock:
        """As Session.clock, nothing to await."""
        return self._session.clock

    def _find_account(self) -> None:
        self._session._find_account()

    async def close(self) -> None:
        """Close this loop's connections, and the session."""
        await self._http.close()
        self._session.close()

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<AsyncSession {self._session._described()}>"


def _short(address: str | None) -> str:
    return f"{address[:6]}…{address[-4:]}" if address else "none"


def session_on(venue: LocalVenue) -> Session:
    """Return a session of the first development account on a venue of this process, with an approved agent.

    Parameters
    ----------
    venue : LocalVenue
        The venue, which stays open when the session is closed.
    """
    session = Session(
        LOCAL,
        wallet=connecting.development_wallet(0, connecting.development_count(venue)),
        account=None,
        venue=venue,
        owns_venue=False,
        transport=venue.transport(),
        sending=connecting.sending_with_defaults({}),
        limiter=connecting.rate_limiter(None, local=True),
        runtime=connecting.runtime_of(venue, "real"),
    )
    return connecting.prepared(session, True, None)
