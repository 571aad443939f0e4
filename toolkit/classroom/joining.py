"""`toolkit.join(link)`: a student's session from the link that the teacher gave out."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit

from ..client.io.flow import Fetch
from ..client.io.transport import HttpTransport, read_envelope
from ..errors import InputError, ToolkitError, TransportError
from ..guards import takes_secrets
from ..secrecy import Secret, sealed
from ..session import Session, connect
from ..wallet import Wallet
from .notebook_worker import GRADED_SEED_VARIABLE


@takes_secrets("link")
def join(link: str | Secret, **options: Any) -> Session:
    """Return a session on the venue of a class, ready to trade: account, agent and funds are set up.

    Joining again, also elsewhere, continues with the same account. In a notebook that is graded, the session has a
    separate venue, with the seed of the class, funded and ready.

    Parameters
    ----------
    link : str or Secret
        The student's own link (`http://…/join/…`). It gives the keys of the account, so keep it to yourself.
    **options : object
        Options of `connect`.

    Returns
    -------
    Session
        Session of the student.

    Raises
    ------
    InputError
        For a text that is no such link.
    ToolkitError
        For a link that the class does not know.
    TransportError
        If the class is not running.
    """
    timeout = float(options.get("timeout", 10.0))
    given, failed = sealed(lambda: _given(Secret(link).reveal(), timeout))
    if failed is not None and issubclass(failed, ValueError):  # InputError, or of an address
        raise InputError("this is no link of a class. A link looks like http://192.168.1.5:8645/join/…", field="link")
    if seed := os.environ.get(GRADED_SEED_VARIABLE):
        return connect(seed=int(seed), **options)
    if given is None:
        # The error itself names the link.
        kind = failed if failed is not None and issubclass(failed, TransportError) else ToolkitError
        raise kind("the class does not answer: is it running, and is the address of the link still its own?")
    base, refusal, keys = given
    if refusal:
        raise ToolkitError(f"the class did not let you in: {refusal}")
    wallet = Wallet(agent=keys.reveal()["agent_key"], master=keys.reveal()["master_key"])
    return connect("local", base_url=base, wallet=wallet, **options)


def _given(link: str, timeout: float) -> tuple[str, str, Secret]:
    """Return the address of the venue, why the class refuses, and what it gives out: the keys of an account."""
    parts = urlsplit(link.strip(" '\"\n"))
    place, _, code = parts.path.rpartition("/")
    if parts.scheme not in ("http", "https") or not parts.netloc or not place.endswith("/join") or not code:
        raise InputError("no link of a class", field="link")
    base = f"{parts.scheme}://{parts.netloc}"
    if GRADED_SEED_VARIABLE in os.environ:
        return base, "", Secret({})
    http = HttpTransport(base, None, timeout)
    try:
        envelope = read_envelope(http.send(Fetch("POST", parts.path, body=b"{}")), "join")
    finally:
        http.close()
    given = envelope.data
    if not envelope.code and given.get("port"):
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        base = f"{parts.scheme}://{host}:{given['port']}"
    return base, envelope.message if envelope.code else "", Secret(given)
