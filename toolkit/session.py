"""`connect()` and Session: one wallet in one environment, its clients and, locally, its venue.

A session is synchronous, for cells and scripts; `session.aio` is its asynchronous twin with the same names. Connecting
opens nothing: the network is touched by the first call that needs it.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from .client.io.flow import AsyncDriver, Asynchronous, Driver, Runtime, Synchronous, wall_ms
from .client.io.rate_limits import DEFAULT, Rate, RateLimiter
from .client.io.transport import RETRY, AsyncHttpTransport, HttpTransport, Retry
from .client.orders.delivery import DEFAULT_EXPIRY_MS, Confirm, Delivery
from .client.orders.intents import Intent, IntentState, Ledger, frame, open_ledger
from .client.orders.permissions import AsyncBuilderSide, BuilderSide, PermissionFlows
from .client.orders.trading import TradingFlows
from .client.reads.catalogue import Catalogue
from .client.reads.tables import TableFlows
from .environments import LOCAL, Environment
from .environments import environment as environment_named
from .errors import InputError
from .protocol.hexbytes import is_address
from .protocol.nonces import NonceSource
from .wallet import Wallet, holds_key

if TYPE_CHECKING:
    import httpx
    import pandas as pd

    from .client.orders.exchange import AsyncExchange, Exchange
    from .client.reads.info import AsyncInfo, Info
    from .client.stream.stream import AsyncStream, Stream
    from .venue.clocks import Clock
    from .venue.local import LocalVenue
    from .widgets.factory import Widgets
    from .widgets.order_ticket.ticket import OrderTicket
    from .widgets.panels.dashboard import Dashboard
    from .widgets.panels.portfolio import Blotter

YEAR_SECONDS = 365 * 24 * 3600


class ClockLike(Protocol):
    """What tells the time to a session: Unix ms."""

    def now_ms(self) -> int:
        """Return the time in Unix ms."""


def connect(
    environment: str | Environment = "local",
    *,
    wallet: Wallet | None = None,
    account: str | int | None = None,
    venue: LocalVenue | None = None,
    clock: str | Clock = "real",
    seed: int = 7,
    base_url: str | None = None,
    ws_url: str | None = None,
    transport: httpx.BaseTransport | httpx.AsyncBaseTransport | None = None,
    timeout: float = 10.0,
    intents: Ledger | str | os.PathLike[str] | None = None,
    confirm: Confirm = None,
    rates: Mapping[str, Rate] | Rate | None = None,
    retry: Retry = RETRY,
    expiry_ms: int = DEFAULT_EXPIRY_MS,
    approve: bool = True,
) -> Session:
    """Return a session. `connect()` alone gives the local venue in this process, seeded, funded, ready to trade.

    `environment` is "local", "testnet", "mainnet" or an Environment. `wallet` holds the keys (None: read-only, except
    locally, where it is a development wallet); `account` is the master's address, or locally the number of a
    development account (0–9). With `base_url` the local venue is one that is served elsewhere.

    Locally in process: `clock` "real" or "manual" (time moves by `session.venue.advance` only), `seed` of the simulated
    market, `venue` an existing one to join, `approve` whether the agent is approved at once.

    `intents` is a path to keep the ledger of orders in a SQLite file. `confirm` is needed to write on Mainnet: True, or
    a function that is asked (see `ask`). `rates` limits requests per action before the venue does. `timeout` is in
    seconds, `expiry_ms` (the default of expiryAfter) in ms.

    Raises InputError for what does not fit together. Nothing is sent, except to a venue in this process.
    """
    wrong = _wrong_place(environment, wallet, account)
    if wrong:
        del environment, wallet, account
        raise InputError(f"{wrong}; what was given is not repeated, as it may be a key", field=wrong.split()[0])
    _check_numbers(timeout, expiry_ms, rates)
    env = environment_named(environment, base_url=base_url, ws_url=ws_url)
    preset = env == LOCAL and (environment is LOCAL or isinstance(environment, str)) and not base_url and not ws_url
    in_process = _is_in_process(env, venue, preset and transport is None)
    owned = False
    if in_process and venue is None:
        from .venue.local import LocalVenue

        venue, owned = LocalVenue(seed=seed, clock=clock), True
    if env.name == LOCAL.name and wallet is None and not isinstance(account, str):
        wallet = development_wallet(account or 0)
        account = None
    if isinstance(account, int):
        raise InputError(
            f"account {account} names a development account, and there are none on {env.name}; give an address",
            field="account",
            rule="an address",
            value=account,
        )
    if wallet is not None and wallet.master and isinstance(account, str) and account.lower() != wallet.master.lower():
        raise InputError(
            f"account {account} is not the master of this wallet, {wallet.master}; to look at another account, "
            "connect without its keys",
            field="account",
            rule="the wallet's own",
            value=account,
        )
    runtime = Runtime(_now(venue, clock), random.random)
    limiter = _limiter(rates, local=in_process)
    session = Session(
        env,
        wallet=wallet,
        account=account,
        venue=venue,
        owns_venue=owned,
        transport=venue.transport() if venue is not None and transport is None else transport,
        timeout=timeout,
        ledger=open_ledger(intents),
        confirm=confirm,
        limiter=limiter,
        retry=retry,
        expiry_ms=expiry_ms,
        runtime=runtime,
    )
    if in_process and approve and wallet is not None and wallet.agent and wallet.master:
        session.exchange.approve_agent(validity_seconds=YEAR_SECONDS)
    return session


def ask(question: str) -> bool:
    """Ask at the keyboard, for `connect(…, confirm=ask)`; only a clear "yes" is one."""
    return input(f"{question}\nSend it? Type yes: ").strip().lower() == "yes"


def development_wallet(number: int) -> Wallet:
    """Return the public development wallet of this number (0–9): master `number`, agent 10 + `number`."""
    from .venue import development

    if not 0 <= number < len(development.MASTERS):
        raise InputError(
            f"there is no development account {number}; use 0 to {len(development.MASTERS) - 1}",
            field="account",
            rule="range",
            value=number,
        )
    master, agent = development.account(number), development.account(development.AGENTS[number])
    return Wallet(agent=agent.key, master=master.key)


def _wrong_place(environment: object, wallet: object, account: object) -> str:
    """Say which of these is no such thing at all, or "": people paste keys, and no traceback is to show one."""
    if wallet is not None and not isinstance(wallet, Wallet):
        return "wallet must be a Wallet, e.g. toolkit.Wallet(agent=…) or Wallet.from_env()"
    known = account is None or (isinstance(account, str | int) and not isinstance(account, bool))
    if not known or (isinstance(account, str) and not is_address(account)):
        return "account must be an address (0x and 40 hex digits), or locally the number of a development account"
    return "environment must be the name of one, or an Environment" if holds_key(environment) else ""


def _check_numbers(timeout: object, expiry_ms: object, rates: object) -> None:
    """Raise InputError for what could only fail later, in the middle of an order."""
    if not isinstance(timeout, int | float) or not timeout > 0:
        raise InputError(f"timeout {timeout!r} must be seconds above 0", field="timeout", rule="positive")
    if type(expiry_ms) is not int or expiry_ms < 1:
        raise InputError(f"expiry_ms {expiry_ms!r} must be a whole number of ms above 0", field="expiry_ms")
    if rates is not None and not isinstance(rates, Rate | Mapping):
        raise InputError(f"rates {rates!r} must be a Rate, or Rates by action", field="rates", rule="Rate")


def _is_in_process(env: Environment, venue: LocalVenue | None, preset: bool) -> bool:
    """A venue is made here when nothing says that one is served elsewhere: no address, transport or variable."""
    if venue is None:
        return preset and not (os.environ.get("TOOLKIT_BASE_URL") or os.environ.get("TOOLKIT_WS_URL"))
    if env.name != LOCAL.name:
        raise InputError(f"a venue of this process is local, not {env.name}", field="venue", value=env.name)
    return True


def _now(venue: LocalVenue | None, clock: str | ClockLike) -> Callable[[], int]:
    if venue is not None:
        return venue.now_ms
    return wall_ms if isinstance(clock, str) else clock.now_ms


def _limiter(rates: Mapping[str, Rate] | Rate | None, *, local: bool) -> RateLimiter:
    """A venue in this process is not spared unless asked; elsewhere the careful default holds."""
    if isinstance(rates, Rate):
        return RateLimiter(None, rates)
    return RateLimiter(rates, None if local else DEFAULT)


_venue_nonces: weakref.WeakKeyDictionary[Any, dict[str, NonceSource]] = weakref.WeakKeyDictionary()


class _Nonces:
    """Nonce sources by address: shared by the sessions of one in-process venue, else by all processes of the user."""

    def __init__(self, venue: LocalVenue | None) -> None:
        self._directory = None if venue is not None else state_directory() / "nonces"
        self._sources = {} if venue is None else _venue_nonces.setdefault(venue, {})
        self._lock = threading.RLock()

    def __call__(self, address: str) -> NonceSource:
        with self._lock:
            if address not in self._sources:
                self._sources[address] = NonceSource(address, self._usable_directory())
            return self._sources[address]

    def _usable_directory(self) -> Path | None:
        """Return the shared directory; without one that can be written, this process counts alone, and says so."""
        if self._directory is not None:
            try:
                self._directory.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                warnings.warn(
                    f"nonces are not shared with other processes: {self._directory} can't be written "
                    f"({error.strerror}); set TOOLKIT_STATE to a folder that can",
                    stacklevel=2,
                )
                self._directory = None
        return self._directory


def state_directory() -> Path:
    """Return where small state is kept between runs (TOOLKIT_STATE, else the platform's usual place)."""
    if given := os.environ.get("TOOLKIT_STATE"):
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "toolkit"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "toolkit"


class Session(TradingFlows, TableFlows, PermissionFlows, Synchronous):
    """One wallet in one environment. Made by `connect`.

    Attributes: `environment`, `wallet`, `account` (the master's address), `venue` (the local venue, else None),
    `exchange` (the specification's actions), `info` (queries as DataFrames), `stream` (live objects), `aio` (the
    asynchronous twin). A context manager: leaving it closes what it opened.
    """

    def __init__(
        self,
        environment: Environment,
        *,
        wallet: Wallet | None,
        account: str | None,
        venue: LocalVenue | None,
        owns_venue: bool,
        transport: Any,
        timeout: float,
        ledger: Ledger,
        confirm: Confirm,
        limiter: RateLimiter,
        retry: Retry,
        expiry_ms: int,
        runtime: Runtime,
    ) -> None:
        self.environment = environment
        self.wallet = wallet
        self.venue = venue
        self._owns_venue = owns_venue
        self._transport = transport
        self._timeout = timeout
        self._runtime = runtime
        self._known_account = account or (wallet.account if wallet else None)
        self._http = HttpTransport(environment.base_url, transport, timeout)
        self._driver = Driver(self._http.send, runtime, self._sleep)
        self._catalogue = Catalogue()
        self._delivery = Delivery(
            environment=environment,
            wallet=wallet,
            account=self._account,
            ledger=ledger,
            nonces=_Nonces(venue),
            limiter=limiter,
            confirm=confirm,
            retry=retry,
            expiry_ms=expiry_ms,
        )

    def _sleep(self, seconds: float) -> None:
        if not self._time_stands():
            time.sleep(seconds)

    def _time_stands(self) -> bool:
        """With a manual clock waiting would change nothing, so nobody waits."""
        return self.venue is not None and not self.venue.clock.runs

    @cached_property
    def exchange(self) -> Exchange:
        """The actions of the specification, one method each."""
        from .client.orders.exchange import Exchange

        return Exchange(self._driver, self.environment, self._delivery, self._catalogue)

    @cached_property
    def info(self) -> Info:
        """The queries of the venue, one method each, as DataFrames."""
        from .client.reads.info import Info

        return Info(self)

    @cached_property
    def stream(self) -> Stream:
        """The live feed: `session.stream.order_book(symbol)` and others. Connects on first use."""
        from .client.stream.stream import Stream

        return Stream(self)

    @cached_property
    def builder(self) -> BuilderSide:
        """A builder's side of Builder Code: register, see traders, place orders for them."""
        return BuilderSide(self)

    @cached_property
    def widgets(self) -> Widgets:
        """Live widgets for notebooks: `session.widgets.order_book(symbol)` and others."""
        from .widgets.factory import Widgets

        return Widgets(self)

    def ticket(self, symbol: str | int, **fields: Any) -> OrderTicket:
        """Return an order ticket, a widget; `fields` fills it, e.g. side="SELL", price="70000"."""
        return self.widgets.ticket(symbol, **fields)

    def blotter(self, symbol: str | int | None = None) -> Blotter:
        """Return a widget with the account's positions, open orders and fills (of one product, or all)."""
        return self.widgets.blotter(symbol)

    def dashboard(self, symbol: str | int, interval: str | int = "1m") -> Dashboard:
        """Return a widget with ticket, candles, order book, trades, account and blotter for one product."""
        return self.widgets.dashboard(symbol, interval)

    @cached_property
    def aio(self) -> AsyncSession:
        """The asynchronous twin: the same names, awaited. It shares wallet, ledger, limits and venue."""
        return AsyncSession(self)

    def intents(self, state: str | IntentState | None = None) -> pd.DataFrame:
        """Return what this client set out to do, oldest first: one row an intent, index `intent`.

        Columns: created, updated, expiry_after (UTC), action, state (PREPARED, SENT, ACCEPTED, REJECTED, UNKNOWN),
        code, message, client_ids, nonce, attempts, account, signer, environment, payload_hash.
        """
        states = None if state is None else [IntentState(str(state).upper())]
        return frame(self._delivery.ledger.all(states))

    def intent(self, id: str) -> Intent:
        """Return one intent by the name that receipts and errors carry. Raises ToolkitError for an unknown one."""
        return self._delivery.ledger.get(id)

    def close(self) -> None:
        """Close connections, streams, the ledger's file, and the venue if `connect` made it."""
        if "widgets" in self.__dict__:
            self.widgets.close()
        if "stream" in self.__dict__:
            self.stream.close()
        self._http.close()
        self._delivery.ledger.close()
        if self._owns_venue and self.venue is not None:
            self.venue.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Session {self._described()}>"

    def _repr_html_(self) -> str:
        from html import escape

        mark = ' <b style="color:#b00020">real money</b>' if self.environment.is_mainnet else ""
        return f"<code>Session</code> {escape(self._described())}{mark}"

    def _described(self) -> str:
        where = self.environment.name
        if self.venue is not None:
            where += " in this process"
        else:
            where += f" at {self.environment.base_url}"
        who = f"account {_short(self._known_account)}" if self._known_account else "no account yet"
        if self.wallet is None or not (self.wallet.agent or self.wallet.master):
            return f"{where}, {who}, read-only"
        roles = [role for role in ("agent", "master") if getattr(self.wallet, role)]
        return f"{where}, {who}, signs as {' and '.join(roles)}"


class AsyncSession(TradingFlows, TableFlows, PermissionFlows, Asynchronous):
    """The awaited twin of Session, reached as `session.aio`. Same names, same arguments, same results."""

    def __init__(self, session: Session) -> None:
        self.sync = session
        self.environment = session.environment
        self.wallet = session.wallet
        self.venue = session.venue
        self._session = session
        self._http = AsyncHttpTransport(session.environment.base_url, session._transport, session._timeout)
        self._driver = AsyncDriver(self._http.send, session._runtime, self._sleep)
        self._catalogue = session._catalogue
        self._delivery = session._delivery

    @property
    def _known_account(self) -> str | None:
        return self._session._known_account

    @_known_account.setter
    def _known_account(self, account: str | None) -> None:
        self._session._known_account = account

    async def _sleep(self, seconds: float) -> None:
        await asyncio.sleep(0 if self._session._time_stands() else seconds)

    @cached_property
    def exchange(self) -> AsyncExchange:
        """The actions of the specification, one coroutine function each."""
        from .client.orders.exchange import AsyncExchange

        return AsyncExchange(self._driver, self.environment, self._delivery, self._catalogue)

    @cached_property
    def info(self) -> AsyncInfo:
        """The queries of the venue, one coroutine function each."""
        from .client.reads.info import AsyncInfo

        return AsyncInfo(self)

    @cached_property
    def builder(self) -> AsyncBuilderSide:
        """A builder's side of Builder Code, awaited."""
        return AsyncBuilderSide(self)

    @cached_property
    def stream(self) -> AsyncStream:
        """The live feed for those who await it."""
        from .client.stream.stream import AsyncStream

        return AsyncStream(self)

    def intents(self, state: str | IntentState | None = None) -> pd.DataFrame:
        """As Session.intents; nothing to await."""
        return self._session.intents(state)

    def intent(self, id: str) -> Intent:
        """As Session.intent; nothing to await."""
        return self._session.intent(id)

    async def close(self) -> None:
        """Close this loop's connections, and the session."""
        await self._http.close()
        self._session.close()

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<AsyncSession {self._session._described()}>"


def _short(address: str | None) -> str:
    return f"{address[:6]}…{address[-4:]}" if address else "none"
