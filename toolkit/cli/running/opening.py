"""What commands that trade have in common: a limits file, and the agent of a development account."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...limits import Limits
from ...session import Session, connect


def account_of(text: str | None) -> Any:
    """Return the account that a command line names: a development account's number, else its name or address.

    Parameters
    ----------
    text : str or None
        What was given.
    """
    return int(text) if text is not None and text.isdigit() else text


def open_local(url: str | None, account: str | None, **options: Any) -> Session:
    """Return a session of the local venue, which may trade.

    Parameters
    ----------
    url : str or None
        Address of a venue that is served, None for one in this process.
    account : str or None
        Account as the command line names it.
    **options : object
        Further arguments of `connect`.
    """
    if url is None:
        return connect("local", account=account_of(account), **options)
    session = connect("local", account=account_of(account), base_url=url, **options)
    approve(session)
    return session


def approve(session: Session) -> None:
    """Approve the agent of a development account at a served venue, where it is not approved.

    Parameters
    ----------
    session : Session
        Session at the venue. It is closed where that fails.
    """
    wallet = session.wallet
    if wallet is None or wallet.agent is None or not wallet.master:
        return
    try:
        known = session.info.agents(account=str(wallet.agent), role="AGENT")
        if not (known["status"] == "ACTIVE").any():
            session.exchange.approve_agent()
    except BaseException:
        session.close()
        raise


def read_limits(path: Path) -> Limits:
    """Return the limits of a TOML file.

    Parameters
    ----------
    path : Path
        The file, with the names of `toolkit.Limits`.

    Raises
    ------
    InputError
        For what is no TOML, for unknown names and bad values.
    """
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no TOML file: {error}", field="limits", rule="TOML") from None
    known = [field.name for field in fields(Limits)]
    for name in given:
        if name not in known:
            what = f"{path}: there is no limit {name!r}. There are {', '.join(known)}"
            raise InputError(what, field=name, rule="known", nearest=tuple(known))
    if isinstance(given.get("symbols"), list):
        given["symbols"] = tuple(given["symbols"])
    return Limits(**given)
