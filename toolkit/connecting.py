"""Checks and decisions of `connect` before there is a session: keys, account, venue, clock and rate limits."""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary, ref

from .client.io.flow import Fetch, Runtime, monotonic_ms, wall_ms
from .client.io.rate_limits import DEFAULT, Rate, RateLimiter, VenueGate, gate_of
from .client.io.transport import RETRY, HttpTransport, Retry, read_envelope
from .client.orders.delivery import DEFAULT_EXPIRY_MS, SETTLE_SECONDS, Confirm
from .client.orders.intents import Ledger
from .environments import LOCAL, Environment
from .errors import InputError, UnknownProduct
from .guards import check_address, checked
from .numerals import wait_seconds
from .protocol.hexbytes import is_address
from .secrecy import is_like_key
from .suggestions import unknown_keyword
from .wallet import Wallet

if TYPE_CHECKING:
    import pandas as pd

    from .client.io.transport import AnyTransport
    from .venue.clocks import Clock
    from .venue.local import LocalVenue


S = TypeVar("S", bound=Any)

CONNECT = (
    "environment", "wallet", "account", "vault", "venue", "clock", "seed", "market", "base_url", "control_token",
    "transport", "follow", "fork", "limits",
)  # fmt: skip
"""The other parameters of `connect`, for suggestions."""

YEAR_SECONDS = 365 * 24 * 3600
KEYS_FILE_VARIABLE = "TOOLKIT_KEYS_FILE"
"""Names a file of `toolkit venue --keys-file`, whose accounts are then found by number and name."""
ACCOUNTS_PATH = "/accounts"
_NAME = re.compile(r"(?!0[xX])[\w.-]{1,32}")
"""A name of an account, shorter than any key, and never the beginning of an address."""
NOBODY = "0x" + "0" * 40
"""The account of a session that only reads public data."""


def wrong_type(environment: object, wallet: object, account: object, vault: object, **texts: object) -> str:
    """Say which argument has the wrong type or form, or return "".

    The caller raises: people paste keys into any argument, and the frames of a traceback must not hold one.

    Parameters
    ----------
    environment : object
        Value that the caller of `connect` gave for it.
    wallet : object
        Value that the caller of `connect` gave for it.
    account : object
        Value that the caller of `connect` gave for it.
    vault : object
        Value that the caller of `connect` gave for it.
    **texts : object
        Arguments that name an address or a file.
    """
    if isinstance(environment, Environment):
        texts |= {"environment with a base_url": environment.base_url, "environment with a ws_url": environment.ws_url}
    for name, text in texts.items():
        if is_like_key(os.fspath(text) if isinstance(text, os.PathLike) else text):
            return f"{name} must be an address" if "url" in name else f"{name} must name a file"
    if wallet is not None and not isinstance(wallet, Wallet):
        return "wallet must be a Wallet, e.g. toolkit.Wallet.from_keyfile(path)"
    known = account is None or (isinstance(account, str | int) and not isinstance(account, bool))
    if not known or (isinstance(account, str) and not is_address(account) and not _NAME.fullmatch(account)):
        return "account must be an address (0x and 40 hex digits), or locally the number or name of an account"
    if vault is not None and not (isinstance(vault, str) and is_address(vault)):
        return "vault must be an address (0x and 40 hex digits)"
    return "environment must be the name of one, or an Environment" if is_like_key(environment) else ""


class Sending(TypedDict, total=False):
    """How a session sends requests: keywords of `connect` that most programs leave at their defaults."""

    ws_url: str | None
    """Address of the feed. With `base_url` of a local venue it follows from that (default: the environment's)."""
    timeout: Any
    """Seconds, or a span, without an answer after which a request has failed (default: 10)."""
    intents: Ledger | str | os.PathLike[str] | None
    """SQLite file of the ledger of orders (default: one an account in the user's data folder, none in process)."""
    confirm: Confirm
    """Needed to write on Mainnet: True, or a function that confirms each request, such as `ask` (default: None)."""
    rates: Mapping[str, Rate] | Rate | None
    """Limits of requests by action, kept on this side (default: those of the published API, in process none)."""
    retry: Retry
    """How often and when a failed query is repeated, and what a read of many pages may take (default: `RETRY`)."""
    expiry_ms: int
    """Lifetime of a signed action in ms, the default of expiryAfter (default: 60,000)."""
    settle_timeout: Any
    """Longest time (seconds, or a span) that a call waits for the execution of what it submitted (default: 5). 0
    returns at submission. With a manual clock a `settle_delay` passes."""
    plain_http: bool
    """Whether signed requests may go to another machine without encryption, by http:// (default: False)."""
    approve: bool
    """Whether the agent is approved immediately, on a local venue in this process (default: True)."""
    as_symbol: str | None
    """With `follow` of another exchange's market: the product as which it is traded (default: that of its base)."""
    when_stale: str
    """With `follow`: "pause" trading, or "continue", without the other venue's feed (default: "pause")."""


def sending_with_defaults(given: Sending) -> Sending:
    """Return all settings.

    Parameters
    ----------
    given : Sending
        Settings that the caller gave.

    Raises
    ------
    TypeError
        For an unknown setting.
    InputError
        For a value that would fail later.
    """
    for name in given.keys() - Sending.__annotations__.keys():
        raise unknown_keyword("connect()", name, [*CONNECT, *Sending.__annotations__])
    chosen: Sending = {
        "ws_url": None,
        "timeout": 10.0,
        "intents": None,
        "confirm": None,
        "rates": None,
        "retry": RETRY,
        "expiry_ms": DEFAULT_EXPIRY_MS,
        "settle_timeout": SETTLE_SECONDS,
        "plain_http": False,
        "approve": True,
        "as_symbol": None,
        "when_stale": "pause",
        **given,
    }
    timeout, settle_timeout, rates = chosen["timeout"], chosen["settle_timeout"], chosen["rates"]
    if wait_seconds(timeout) == 0:
        raise InputError(f"timeout {timeout!r} must be seconds above 0", field="timeout", rule="positive")
    chosen["timeout"], chosen["settle_timeout"] = wait_seconds(timeout), wait_seconds(settle_timeout, "settle_timeout")
    names = "plain_http", "approve"
    flags = dict.fromkeys(names, frozenset({"bool"}))
    given_flags = chosen["plain_http"], chosen["approve"]
    chosen["plain_http"], chosen["approve"] = checked("connect", flags, names, given_flags, {})
    expiry_ms: object = chosen["expiry_ms"]
    if type(expiry_ms) is not int or expiry_ms < 1:
        raise InputError(f"expiry_ms {expiry_ms!r} must be a whole number of ms above 0", field="expiry_ms")
    if rates is not None and not isinstance(rates, Rate | Mapping):
        raise InputError(f"rates {rates!r} must be a Rate, or Rates by action", field="rates", rule="Rate")
    return chosen


def is_in_process(env: Environment, given: object, venue: LocalVenue | None, addressed: bool) -> bool:
    """Return whether the venue is in this process: it was given, or nothing names another one.

    Parameters
    ----------
    env : Environment
        Environment of the session.
    given : object
        Argument of `connect` that `env` was made from.
    venue : LocalVenue or None
        Venue in this process, None for any other.
    addressed : bool
        Whether an address or a transport was given with it.
    """
    if venue is None:
        # An Environment equal to LOCAL that is not LOCAL itself was made by hand: it names a venue served there.
        preset = env == LOCAL and (given is LOCAL or isinstance(given, str)) and not addressed
        return preset and not (os.environ.get("TOOLKIT_BASE_URL") or os.environ.get("TOOLKIT_WS_URL"))
    if env.name != LOCAL.name:
        raise InputError(f"a venue of this process is local, not {env.name}", field="venue", value=env.name)
    return True


def keys_and_account(
    env: Environment,
    wallet: Wallet | None,
    account: str | int | None,
    venue: LocalVenue | None = None,
    listed: Callable[[], list[dict[str, Any]]] | None = None,
) -> tuple[Wallet | None, str | None]:
    """Return the wallet, locally by default a development one, and the master's address where it was given.

    Parameters
    ----------
    env : Environment
        Environment of the session.
    wallet : Wallet or None
        Wallet that the caller gave.
    account : str, int or None
        Address, or number or name of a development account.
    venue : LocalVenue, optional
        Venue in this process (default: None).
    listed : callable, optional
        Function that returns the accounts of a venue that is served elsewhere. It is called only for a name (default:
        None).

    Raises
    ------
    InputError
        For a number or name away from the local venue, and for an address that is not the wallet's master.
    """
    check_address(account, "account")
    address = account if isinstance(account, str) and is_address(account) else None
    if env.name == LOCAL.name and wallet is None and address is None:
        return _local_keys(account or 0, venue, listed)
    if account is not None and address is None:
        what = (
            f"account {account} names an account of the local venue, and there are none on {env.name} or with a wallet"
        )
        raise InputError(f"{what}. Give an address", field="account", rule="an address", value=account)
    if wallet is not None and wallet.master and address is not None and address.lower() != wallet.master.lower():
        what = f"account {account} is not the master of this wallet, {wallet.master}"
        advice = "Connect without keys to look at another account"
        raise InputError(f"{what}. {advice}", field="account", rule="the wallet's own", value=account)
    return wallet, address


def _local_keys(
    account: str | int, venue: LocalVenue | None, listed: Callable[[], list[dict[str, Any]]] | None
) -> tuple[Wallet | None, str | None]:
    """Return the keys of a local account by number or name: from the keys file, else the public ones, or its address.

    An account whose keys are not public is read-only without the file.
    """
    from .venue.development import MOST

    keys_file = os.environ.get(KEYS_FILE_VARIABLE) if listed is not None else None
    if keys_file:
        return Wallet.from_keys_file(keys_file, account), None
    if isinstance(account, int):
        return development_wallet(account, development_count(venue)), None
    rows = {str(row["name"]): row for row in listed()} if listed is not None else {}
    if account not in rows:
        known = tuple(rows)[:20]
        hint = f"The names are {', '.join(known)}" if known else "This venue has no names. Give a number or an address"
        what = f"there is no account named {account!r} here. {hint}"
        raise InputError(what, field="account", rule="known", value=account, nearest=known)
    row = rows[account]
    return (development_wallet(int(row["number"]), MOST), None) if row["public"] else (None, str(row["address"]))


def accounts_listed(env: Environment, transport: AnyTransport | None, timeout: float) -> list[dict[str, Any]]:
    """Return the accounts that a served local venue names: number, name, address, public (whether its keys are).

    Parameters
    ----------
    env : Environment
        Environment of the session.
    transport : object
        Transport of httpx or httpx2, None for the usual one.
    timeout : float
        Seconds to wait.

    Raises
    ------
    TransportError
        When it can't be reached.
    ToolkitError
        For a venue that does not name any.
    """
    http = HttpTransport(env.base_url, transport, timeout)
    try:
        data = read_envelope(http.send(Fetch("GET", ACCOUNTS_PATH)), f"GET {ACCOUNTS_PATH}").data
    finally:
        http.close()
    return [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []


def development_count(venue: LocalVenue | None) -> int:
    """Return how many development accounts there can be: those that a venue in this process has, at least ten.

    Parameters
    ----------
    venue : LocalVenue or None
        Venue in this process, None for any other.
    """
    from .venue import development

    return development.MOST if venue is None else max(len(development.MASTERS), len(venue.host.masters))


def development_wallet(number: int, count: int = 10) -> Wallet:
    """Return a public development wallet: a master and the agent that goes with it.

    Parameters
    ----------
    number : int
        Number of the account, from 0 on.
    count : int, optional
        Number of development accounts (default: 10).
    """
    from .venue import development

    if not 0 <= number < count:
        what = f"there is no development account {number}. Use 0 to {count - 1}"
        raise InputError(what, field="account", rule="range", value=number)
    return Wallet(agent=development.agent(number).key, master=development.master(number).key)


def runtime_of(venue: LocalVenue | None, clock: str | Clock) -> Runtime:
    """Return a session's clocks and chance: those of a clock object that has `elapsed_ms`, `sleep` and `random`.

    Simulations have all three, so that nothing in them depends on how fast the machine is, or repeats differently. With
    other clocks durations are measured and waited for on this machine's. Its time is the venue's, where that is in this
    process, a clock object's or this machine's.

    Parameters
    ----------
    venue : LocalVenue or None
        Venue in this process, None for any other.
    clock : str or Clock
        "real", "manual" or a clock object.
    """
    if venue is not None:
        now = venue.host.now_ms
    else:
        now = wall_ms if isinstance(clock, str) else clock.now_ms
    measure: Callable[[], int] = getattr(clock, "elapsed_ms", monotonic_ms)
    pause: Callable[[float], None] = getattr(clock, "sleep", time.sleep)
    # Where time stands still until it is advanced, everything repeats: the client ids too.
    usual = random.random if venue is None or venue.host.clock.runs else _chance_of(venue)
    chance: Callable[[], float] = getattr(clock, "random", usual)
    return Runtime(now, chance, measure, pause)


_chances: WeakKeyDictionary[LocalVenue, random.Random] = WeakKeyDictionary()


def _chance_of(venue: LocalVenue) -> Callable[[], float]:
    """Return the random numbers of all sessions on a venue with a manual clock, which its seed determines."""
    if venue not in _chances:
        state = venue.host.core.state
        _chances[venue] = random.Random(f"{state.seed} {state.transactions}")
    return _chances[venue].random


def largest_nonce(venue: LocalVenue | None) -> Callable[[str], int]:
    """Return a function that returns the largest nonce that a venue has seen of an address, -1 for none.

    Parameters
    ----------
    venue : LocalVenue or None
        Venue in this process, None for any other.
    """
    # Weakly: sources of nonces outlive a session, and must not keep its venue alive.
    host = None if venue is None else ref(venue.host)

    def largest(address: str) -> int:
        found = None if host is None else host()
        window = None if found is None else found.core.state.nonces.get(address)
        return window.used[-1] if window is not None and window.used else -1

    return largest


def rate_limiter(rates: Mapping[str, Rate] | Rate | None, *, local: bool) -> RateLimiter:
    """Return the limiter of requests.

    Parameters
    ----------
    rates : mapping, Rate or None
        Limits of requests by action, one for all, or None for the usual ones.
    local : bool
        Whether the venue is in this process. It needs no limiter unless `rates` asks for it.
    """
    if isinstance(rates, Rate):
        return RateLimiter(None, rates)
    return RateLimiter(rates, None if local else DEFAULT)


def gate(env: Environment, venue: LocalVenue | None, transport: AnyTransport | None, runtime: Runtime) -> VenueGate:
    """Return when requests may leave: what a venue asks to wait goes for all sessions of this process that reach it.

    Parameters
    ----------
    env : Environment
        Environment of the session.
    venue : LocalVenue or None
        Venue in this process, None for any other.
    transport : object
        Transport of httpx or httpx2, None for the usual one.
    runtime : Runtime
        Clocks of the session.
    """
    # Waits on a simulated clock say nothing of those on this machine's. The sessions of a simulation share its clock.
    if runtime.elapsed is not monotonic_ms:
        return gate_of(getattr(runtime.elapsed, "__self__", runtime))
    return gate_of(venue or transport or env.base_url)


def venue_in_process(source: object) -> LocalVenue | None:
    """Return the venue in this process that is given, or that a session is on, None for any other.

    Parameters
    ----------
    source : object
        Venue, session or anything else.
    """
    from .venue.local import LocalVenue

    venue = getattr(source, "venue", source)
    return venue if isinstance(venue, LocalVenue) else None


def of_one_venue(env: Environment, venue: LocalVenue | None, intents: object) -> Environment:
    """Return the environment of one local venue, by its address, or in this process by its instance.

    The latter matters only for a ledger that outlives the venue: the next one begins at the same time.

    Parameters
    ----------
    env : Environment
        Environment of the session.
    venue : LocalVenue or None
        Venue in this process, None for any other.
    intents : object
        Ledger, file of a ledger, or None.
    """
    if venue is None:
        return replace(env, venue=urlsplit(env.base_url).netloc)
    return env if intents is None else replace(env, venue=venue.host.instance)


def check_following(follow: object, fork: str | None, makes_venue: bool) -> bool:
    """Check the arguments of a venue that follows another one, and return whether one is made.

    Parameters
    ----------
    follow : object
        Value that the caller of `connect` gave for it.
    fork : str or None
        Value that the caller of `connect` gave for it.
    makes_venue : bool
        Whether a local venue is made.

    Returns
    -------
    bool
        `makes_venue`.

    Raises
    ------
    InputError
        For invalid uses of `follow` and `fork`.
    """
    if follow is not None and not makes_venue:
        what = "follow makes a local venue in this process. Leave out venue, base_url and transport"
        raise InputError(what, field="follow", rule="local")
    if fork is not None and (follow is None or not is_address(fork)):
        what = f"fork {fork!r} must be an address (0x and 40 hex digits) on the venue that is followed with follow="
        raise InputError(what, field="fork", rule="an address", value=fork)
    check_address(fork, "fork")
    return makes_venue


def new_venue(followed: Any, when_stale: str, **settings: Any) -> LocalVenue:
    """Return a local venue: with a simulated market, or with that of the venue which a session reads.

    Parameters
    ----------
    followed : object
        Session of the other venue, None for a simulated market.
    when_stale : str
        "pause" or "continue", see `following.follow`.
    **settings : object
        Further arguments of `LocalVenue`.
    """
    if followed is None:
        from .venue.local import LocalVenue  # loads when one is made

        return LocalVenue(**settings)
    from .following import follow

    return follow(followed, when_stale=when_stale)


def prepared(session: S, approve: bool, fork: str | None) -> S:
    """Approve a session's agent if it has both keys, and give its account a copy of another. Return the session.

    Parameters
    ----------
    session : Session
        Session that was just made.
    approve : bool
        Whether the agent is approved.
    fork : str or None
        Account of the followed venue to copy, None for none.

    Raises
    ------
    WaitTimeout
        Where the approval is not executed a few seconds after the venue's `settle_delay`.
    """
    if approve and session.wallet is not None and session.wallet.agent and session.wallet.master:
        approval = session.exchange.approve_agent(validity_seconds=YEAR_SECONDS)
        if not approval:  # with settle_timeout=0, or a venue that takes longer; no order counts before it is executed
            delay_ms = session.venue.host.settled_ms() - session.venue.host.now_ms()
            approval.wait("accepted", timeout=delay_ms / 1000 + SETTLE_SECONDS)
    if fork is not None:
        try:
            session.venue.following.fork(session, fork)
        except BaseException:
            session.close()
            raise
    return session


def what_if(venue: LocalVenue | None, account: str | None, symbol: str | int, shock: float | str) -> pd.DataFrame:
    """Return an account's figures as they are and under a shock. See `Session.what_if`.

    Parameters
    ----------
    venue : LocalVenue or None
        Venue in this process, None for any other.
    account : str or None
        Address of the account.
    symbol : str or int
        Symbol or code of the product.
    shock : float or str
        Move of its mark price, a ratio.
    """
    if venue is None or account is None:
        advice = 'connect("local", follow=…, fork="0x…") copies an account into one'
        raise InputError(f"what_if needs a venue in this process: {advice}", field="venue", rule="local")
    import pandas as pd

    from .products import exact
    from .venue.lab.control import what_if as figures

    codes = {product.symbol: product.code for product in venue.host.core.products.values()}
    code = codes.get(str(symbol), symbol)
    if code not in codes.values():
        what = f"{symbol} is not listed. The products are {', '.join(codes)}"
        raise UnknownProduct(what, field="symbol", value=symbol, nearest=tuple(codes))
    ratio = exact(shock, "shock")
    rows = venue.host.query(lambda core: figures(core, account, int(code), ratio))
    return pd.DataFrame(rows, index=pd.Index(["now", "shocked"], dtype="str"))
