"""What `connect` checks and decides before there is a session: keys, account, venue, clock and rate limits."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from .client.io.flow import wall_ms
from .client.io.rate_limits import DEFAULT, Rate, RateLimiter
from .environments import LOCAL, Environment
from .errors import InputError
from .protocol.hexbytes import is_address
from .secrecy import is_like_key
from .wallet import Wallet

if TYPE_CHECKING:
    from .venue.local import LocalVenue


class ClockLike(Protocol):
    """What gives a session its time."""

    def now_ms(self) -> int:
        """Return the time in Unix ms."""


def wrong_type(environment: object, wallet: object, account: object) -> str:
    """Say which argument has the wrong type or form, or return "".

    The caller raises: people paste keys into any argument, and the frames of a traceback must not hold one.
    """
    if wallet is not None and not isinstance(wallet, Wallet):
        return "wallet must be a Wallet, e.g. toolkit.Wallet(agent=…) or Wallet.from_env()"
    known = account is None or (isinstance(account, str | int) and not isinstance(account, bool))
    if not known or (isinstance(account, str) and not is_address(account)):
        return "account must be an address (0x and 40 hex digits), or locally the number of a development account"
    return "environment must be the name of one, or an Environment" if is_like_key(environment) else ""


def check_numbers(timeout: object, expiry_ms: object, rates: object, settle_timeout: object) -> None:
    """Raise InputError for values that would otherwise fail later, while an order is being sent."""
    if not isinstance(timeout, int | float) or not timeout > 0:
        raise InputError(f"timeout {timeout!r} must be seconds above 0", field="timeout", rule="positive")
    if isinstance(settle_timeout, bool) or not isinstance(settle_timeout, int | float) or not settle_timeout >= 0:
        what = f"settle_timeout {settle_timeout!r} must be seconds, 0 or more"
        raise InputError(what, field="settle_timeout", rule="not negative")
    if type(expiry_ms) is not int or expiry_ms < 1:
        raise InputError(f"expiry_ms {expiry_ms!r} must be a whole number of ms above 0", field="expiry_ms")
    if rates is not None and not isinstance(rates, Rate | Mapping):
        raise InputError(f"rates {rates!r} must be a Rate, or Rates by action", field="rates", rule="Rate")


def is_in_process(env: Environment, venue: LocalVenue | None, preset: bool) -> bool:
    """Return whether the venue is in this process: it was given, or no address, transport or variable names another."""
    if venue is None:
        return preset and not (os.environ.get("TOOLKIT_BASE_URL") or os.environ.get("TOOLKIT_WS_URL"))
    if env.name != LOCAL.name:
        raise InputError(f"a venue of this process is local, not {env.name}", field="venue", value=env.name)
    return True


def keys_and_account(
    env: Environment, wallet: Wallet | None, account: str | int | None
) -> tuple[Wallet | None, str | None]:
    """Return the wallet, locally by default a development one, and the master's address where it was given.

    Raises InputError for a number away from the local venue, and for an address that is not the wallet's master.
    """
    if env.name == LOCAL.name and wallet is None and not isinstance(account, str):
        return development_wallet(account or 0), None
    if isinstance(account, int):
        raise InputError(
            f"account {account} names a development account, and there are none on {env.name}; give an address",
            field="account",
            rule="an address",
            value=account,
        )
    if wallet is not None and wallet.master and account is not None and account.lower() != wallet.master.lower():
        raise InputError(
            f"account {account} is not the master of this wallet, {wallet.master}; to look at another account, "
            "connect without its keys",
            field="account",
            rule="the wallet's own",
            value=account,
        )
    return wallet, account


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


def time_source(venue: LocalVenue | None, clock: str | ClockLike) -> Callable[[], int]:
    """Return the function that gives the session's time in Unix ms: the venue's, a clock object's or this machine's."""
    if venue is not None:
        return venue.now_ms
    return wall_ms if isinstance(clock, str) else clock.now_ms


def rate_limiter(rates: Mapping[str, Rate] | Rate | None, *, local: bool) -> RateLimiter:
    """Return the limiter of requests; a venue in this process (`local`) needs none unless `rates` asks for it."""
    if isinstance(rates, Rate):
        return RateLimiter(None, rates)
    return RateLimiter(rates, None if local else DEFAULT)
