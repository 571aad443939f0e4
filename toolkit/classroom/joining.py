"""`toolkit.join(link)`: a student's session from the link that the teacher gave out."""

from __future__ import annotations

import hashlib
import os
import platform
import uuid
from typing import Any
from urllib.parse import SplitResult, urlsplit

from ..client.io.flow import Fetch
from ..client.io.transport import HttpTransport, read_envelope
from ..errors import InputError, ToolkitError, TransportError
from ..guards import takes_secrets
from ..secrecy import Secret, sealed
from ..session import Session, connect
from ..wallet import Wallet
from .class_rules import SEAT_PATH
from .notebook_worker import GRADED_LINK_VARIABLE, GRADED_TOKEN_VARIABLE
from .roster import seat_of


@takes_secrets("link")
def join(link: str | Secret, **options: Any) -> Session:
    """Return a session on the venue of a class, ready to trade: account, agent and funds are set up.

    Joining again, also elsewhere, continues with the same account. In a notebook that is graded, the session has a
    separate venue, funded and ready, whose market is another one. `session.venue.advance` lets its time pass.

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
    if given is None:
        # The error itself names the link.
        kind = failed if failed is not None and issubclass(failed, TransportError) else ToolkitError
        raise kind("the class does not answer: is it running, and is the address of the link still its own?")
    base, refusal, keys = given
    if refusal:
        raise ToolkitError(f"the class did not let you in: {refusal}")
    wallet = Wallet(
        agent=keys.reveal()["agent_key"], master=keys.reveal().get("master_key"), account=keys.reveal()["address"]
    )
    # A class is in one room, and its keys are worth nothing elsewhere.
    own = {"plain_http": True, "control_token": os.environ.get(GRADED_TOKEN_VARIABLE)}
    return connect("local", base_url=base, wallet=wallet, **{**own, **options})


def _given(link: str, timeout: float) -> tuple[str, str, Secret]:
    """Return the address of the venue, why the class refuses, and what it gives out: the keys of an account."""
    parts = _parts(link)
    if graded := os.environ.get(GRADED_LINK_VARIABLE):
        parts = _parts(graded)
    base = f"{parts.scheme}://{parts.netloc}"
    http = HttpTransport(base, None, timeout)
    try:
        asked = Fetch("POST", parts.path, (("machine", _machine()),), b"{}")
        envelope = read_envelope(http.send(asked), "join")
    finally:
        http.close()
    given = envelope.data
    if not envelope.code and given.get("port"):
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        base = f"{parts.scheme}://{host}:{given['port']}"
    # So that others' connections from the same address, as behind a JupyterHub, take no places of this student's.
    base += f"{SEAT_PATH}{seat_of(parts.path.rpartition('/')[2])}"
    return base, envelope.message if envelope.code else "", Secret(given)


def _machine() -> str:
    """Return a name of this machine that says nothing of it, so that a teacher sees two machines on one seat."""
    return hashlib.sha256(f"toolkit class {uuid.getnode()} {platform.node()}".encode()).hexdigest()[:12]


def _parts(link: str) -> SplitResult:
    """Return the parts of a link. Raises InputError for one of no class."""
    parts = urlsplit(link.strip(" '\"\n"))
    place, _, code = parts.path.rpartition("/")
    if parts.scheme not in ("http", "https") or not parts.netloc or not place.endswith("/join") or not code:
        raise InputError("no link of a class", field="link")
    return parts
