"""`connect()` and Session: one wallet in one environment, its clients and, locally, its venue.

A session is synchronous, for cells and scripts. `session.aio` is its asynchronous twin with the same names. Connecting
opens nothing: the network is touched by the first call that needs it. This is the session that users have. Rooms below
know the one of `plain_session`, so that they import nothing that is built on them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from . import connecting, plain_session
from .cells import contains, follow_cells
from .environments import Environment
from .environments import environment as environment_named
from .errors import InputError, ToolkitError, require
from .guards import no_keys
from .limits import Limits
from .plain_session import AsyncSession
from .secrecy import Secret
from .tracebacks import trim
from .wallet import Wallet

if TYPE_CHECKING:
    import pandas as pd

    from .client.io.transport import AnyTransport
    from .client.reads.conversion import Time
    from .exchanges import ExchangeMarket
    from .numerals import Span
    from .research.analysis.history import History
    from .venue.clocks import Clock
    from .venue.local import LocalVenue
    from .venue.model.market import Market
    from .widgets import Dashboard, OrderTicket, Runs

__all__ = ["AsyncSession", "Session", "ask", "connect"]


def connect(
    environment: str | Environment = "local",
    *,
    wallet: Wallet | None = None,
    account: str | int | None = None,
    vault: str | None = None,
    venue: LocalVenue | None = None,
    clock: str | Clock = "real",
    seed: int = 7,
    market: str | Market | bool | None = "usual",
    base_url: str | None = None,
    control_token: str | None = None,
    transport: AnyTransport | None = None,
    follow: str | Session | ExchangeMarket | None = None,
    fork: str | None = None,
    limits: Limits | None = None,
    **sending: Unpack[connecting.Sending],
) -> Session:
    """Return a session. `connect()` alone gives the local venue in this process, seeded, funded, ready to trade.

    Requests are sent only to find an account by name, and to follow.

    Parameters
    ----------
    environment : str or Environment, optional
        "local", "testnet", "mainnet" or an Environment (default: "local").
    wallet : Wallet, optional
        The keys (default: none, which is read-only, locally a development wallet).
    account : str or int, optional
        Address of the master, or locally its number or name (default: the wallet's).
    vault : str, optional
        Address of a vault that the session trades for, as its leader (default: none). Orders, positions, limits, runs,
        panels and `stop_all` are the vault's. Approvals stay the account's.
    venue : LocalVenue, optional
        A local venue to join (default: a new one).
    clock : str or Clock, optional
        Clock of a new venue: "real", or "manual", where time moves by `session.venue.advance` only (default: "real"). A
        clock object is taken as well.
    seed : int, optional
        Seed of a new venue's market, a whole number (default: 7).
    market : str, Market or bool, optional
        Market of a new venue: "usual", "calm", "stressed", a `Market`, or None for none (default: "usual").
    base_url : str, optional
        Address of a venue that is served elsewhere (default: TOOLKIT_BASE_URL). Its keys are the public ones, or those
        of TOOLKIT_KEYS_FILE.
    control_token : str, optional
        Token that opens the `session.venue` of a served venue (default: None).
    transport : transport of httpx or httpx2, optional
        Transport of all requests (default: one is made).
    follow : str, Session or ExchangeMarket, optional
        Market that the local venue takes over: "mainnet", an address or a session (default: none). By ccxt also one
        such as "binance:BTC/USDT:USDT", as the product `as_symbol`.
    fork : str, optional
        Address of an account of the followed venue to copy (default: none).
    limits : Limits, optional
        Checked before every order is signed, see `toolkit.Limits` (default: none).
    **sending : Sending
        How requests are sent, such as `timeout` and `confirm`, see `toolkit.connecting.Sending`.

    Returns
    -------
    Session

    Raises
    ------
    InputError
        For arguments that contradict each other.

    Examples
    --------
    >>> toolkit.connect(clock="manual", seed=3, market="calm")
    <Session local in this process, account 0xf39F…2266, signs as agent and master>
    """
    try:
        token = None if control_token is None else Secret(control_token)
        del control_token  # a traceback shows the local variables of its frames, and one may be a key
        texts: dict[str, object] = {
            "base_url": base_url or os.environ.get("TOOLKIT_BASE_URL"),
            "ws_url": sending.get("ws_url") or os.environ.get("TOOLKIT_WS_URL"),
            "intents": sending.get("intents"),
        }
        if wrong := connecting.wrong_type(environment, wallet, account, vault, **texts):
            del environment, wallet, account, vault, base_url, sending, texts
            raise InputError(f"{wrong}. The value is not shown, as it may be a key", field=wrong.split()[0])
        chosen = connecting.sending_with_defaults(sending)
        ws_url, timeout = chosen["ws_url"], chosen["timeout"]
        env = environment_named(environment, base_url=base_url, ws_url=ws_url)
        if limits is not None:
            require(limits, Limits, "limits", "toolkit.Limits(…), or None for none")
        addressed = bool(base_url or ws_url) or transport is not None
        in_process = connecting.is_in_process(env, environment, venue, addressed)
        owns_venue = connecting.check_following(follow, fork, in_process and venue is None)
        if owns_venue:
            followed = _reader(follow, timeout, chosen["as_symbol"])
            venue = connecting.new_venue(followed, chosen["when_stale"], seed=seed, clock=clock, market=market)
        listed = None if in_process else partial(connecting.accounts_listed, env, transport, timeout)
        wallet, address = connecting.keys_and_account(env, wallet, account, venue, listed)
        session = Session(
            env,
            wallet=wallet,
            account=address,
            vault=vault,
            venue=venue,
            owns_venue=owns_venue,
            control_token=token,
            transport=venue.transport() if venue is not None and transport is None else transport,
            sending=chosen,
            limits=limits,
            limiter=connecting.rate_limiter(chosen["rates"], local=in_process),
            runtime=connecting.runtime_of(venue, clock),
        )
        connecting.prepared(session, in_process and chosen["approve"], fork)
        close_when_replaced(session)
        return session
    except ToolkitError as error:
        trim(error)
        raise


def _reader(
    follow: str | Session | ExchangeMarket | None, timeout: float, as_symbol: str | None
) -> Session | ExchangeMarket | None:
    """Return what only reads the venue to follow, which is named, or given by its address, or a market of ccxt's."""
    exchange, _, market = follow.partition(":") if isinstance(follow, str) else ("", "", "")
    if market and not market.startswith("//"):
        from .exchanges import ExchangeMarket  # needs ccxt's extra

        return ExchangeMarket(exchange, market, as_symbol=as_symbol)
    if as_symbol is not None:
        what = 'as_symbol is for a market of another exchange, such as follow="binance:BTC/USDT:USDT"'
        raise InputError(what, field="as_symbol", rule="with follow", value=as_symbol)
    if not isinstance(follow, str):
        return follow
    if "://" in follow:
        return connect(base_url=follow, account=connecting.NOBODY, timeout=timeout)
    return connect(follow, account=connecting.NOBODY, timeout=timeout)


def ask(question: str) -> bool:
    """Ask a question at the keyboard, for `connect(…, confirm=ask)`, and return whether the answer was "yes".

    Parameters
    ----------
    question : str
        The request in words.
    """
    return input(f"{question}\nSend it? Type yes: ").strip().lower() == "yes"


class Session(plain_session.Session):
    """One wallet in one environment. Made by `connect`.

    A context manager: leaving it closes what it opened.

    Attributes
    ----------
    environment : Environment
        The venue that it is connected to.
    wallet : Wallet or None
        The keys that sign, None to read only.
    account : str or None
        The master's address, or that of the vault of `connect(vault=…)`.
    venue : LocalVenue or None
        The local venue, here or served, None elsewhere.
    exchange : Exchange
        The actions of the interface.
    info : Info
        The queries, as DataFrames.
    stream : Stream
        The live objects.
    aio : AsyncSession
        The asynchronous twin.
    """

    @no_keys
    def ticket(self, symbol: str | int, **fields: object) -> OrderTicket:
        """Return an order ticket for a product, a widget.

        Parameters
        ----------
        symbol : str or int
            Product symbol, such as "BTCUSDC", or its code.
        **fields : object
            First values of its fields, such as `side="SELL"` or `price="70000"`.

        Returns
        -------
        OrderTicket
            A ticket that signs nothing before it was reviewed.

        Raises
        ------
        UnknownProduct
            For a product that the venue does not have.
        InputError
            For a field that a ticket does not have.

        Examples
        --------
        >>> session.ticket("BTCUSDC", side="SELL", price="70000", quantity="0.01").valid
        True
        """
        from .widgets import OrderTicket

        return OrderTicket(self, symbol, **fields)

    @no_keys
    def dashboard(self, symbol: str | int, interval: Span = "1m") -> Dashboard:
        """Return a widget with ticket, candles, order book, trades, account and blotter.

        Parameters
        ----------
        symbol : str or int
            Product symbol, such as "BTCUSDC", or its code.
        interval : str or int or timedelta, optional
            Length of the candles, such as "15m", or a timedelta (default: "1m").

        Returns
        -------
        Dashboard
            All panels of the product as one widget.

        Raises
        ------
        UnknownProduct
            For a product that the venue does not have.

        Examples
        --------
        >>> session.dashboard("BTCUSDC")
        <Dashboard BTCUSDC: Header, Candles, OrderBook, OrderTicket, Blotter, Account, Trades>
        """
        from .widgets import Dashboard

        return Dashboard(self, symbol, interval)

    def runs(self) -> Runs:
        """Return a widget with the runs of strategies on this account, and a button for each that stops it.

        It has those with a name, in whatever program of this machine they run: state, positions, profit, last event,
        and the end of the agent's approval. `toolkit.runs()` is a table of all accounts.

        Returns
        -------
        Runs
            The runs as a widget.

        Examples
        --------
        >>> session.runs()
        <Runs no runs>
        """
        from .widgets import Runs

        return Runs(self)

    def history(
        self,
        symbols: str | int | Iterable[str | int],
        interval: Span = "1h",
        start: Time = "30d",
        end: Time | None = None,
    ) -> History:
        """Return what research needs of some products: candles, settled funding with mark and index, and the products.

        `research.backtest`, `vectorised`, `sweep`, `optimise` and `walk_forward` take it as their data.

        Parameters
        ----------
        symbols : str, int or iterable of these
            Products, by symbol or code.
        interval : str or timedelta, optional
            Length of the candles, a span (default: "1h").
        start : str, int, float, date, datetime or timedelta, optional
            First time, as in `klines` (default: "30d", 30 days ago).
        end : str, int, float, date, datetime or timedelta, optional
            Last time, as `start` (default: now).

        Returns
        -------
        History
            A mapping symbol → candles, with `funding`, `mark`, `index` and `products`.

        Raises
        ------
        InputError
            For a product without candles in this time.
        UnknownProduct
            For a product that is not listed.

        Examples
        --------
        >>> session.history("BTCUSDC", "1h", "2d")
        <History of BTCUSDC: 48 candles, 12 funding rates, 2025-12-30 00:00 to 2025-12-31 23:00>
        """
        from .research.analysis.history import read_history

        return read_history(self, symbols, interval, start, end)

    def statement(self, start: Time = "30d", end: Time | None = None) -> pd.DataFrame:
        """Return each change of the account's balance between two times, for accounting.

        The opening balance plus the amounts is the closing balance, to the last digit. If it is not, entries are
        missing, and that is an error. `to_csv` and `to_parquet` of the frame write it.

        Parameters
        ----------
        start : str, int, float, date, datetime or timedelta, optional
            First time, as in `klines` (default: "30d", 30 days ago).
        end : str, int, float, date, datetime or timedelta, optional
            Last time, as `start` (default: now).

        Returns
        -------
        DataFrame
            Oldest first. `attrs` has the balances `opening` and `closing` (USDC, decimal text), and `account`.

            - time: datetime64[ms, UTC]
            - kind: string, such as DEPOSIT, TRADING_FEE, REALIZED_PNL or FUNDING
            - symbol: string, the product, NA if it belongs to none
            - run: string, name of the run whose order it was, if this machine knows it, else ""
            - amount: Decimal, USDC, negative if paid
            - balance: Decimal, USDC, after the change
            - reference: string, id of the order, or the address or vault that it belongs to

        Raises
        ------
        BadAnswer
            If amounts and balances contradict each other.

        Examples
        --------
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> rows = session.statement()
        >>> rows.attrs["opening"], rows["amount"].sum(), rows.attrs["closing"]
        ('0', Decimal('9999.62496'), '9999.62496')
        """
        from .research.running.statement import read_statement

        return read_statement(self, start, end)

    def __enter__(self) -> Session:
        return self


def close_when_replaced(session: Session) -> None:
    """Close a notebook's session once its cell is run again, when its name means another one and no other name has it.

    Otherwise its venue, threads and widgets would stay for as long as the kernel.

    Parameters
    ----------
    session : object
        Session that a cell made.
    """
    names = set[str]()

    def look(one: Session, own: dict[str, Any], again: bool) -> bool:
        held = {name for name, value in own.items() if contains(value, one)}
        names.update(held)
        if again and not held and any(type(own.get(name)) is type(one) for name in names):
            one.close()
        return bool(one._delivery.closed)

    follow_cells(session, look)
