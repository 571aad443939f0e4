"""`toolkit.join(link)`: a student's session from the link that the teacher gave out."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from ..client.io.flow import Fetch
from ..client.io.transport import HttpTransport, read_envelope
from ..errors import InputError, ToolkitError
from ..session import Session, connect
from ..wallet import Wallet


def join(link: str, **options: Any) -> Session:
    """Return a session on the venue of a class, ready to trade: account, agent and funds are set up.

    `link` is the student's own (`http://…/join/…`); it gives the keys of the account, so keep it to yourself. Joining
    again, also elsewhere, continues with the same account. `options` are those of `connect`. Raises InputError for a
    text that is no such link, ToolkitError for one that the class does not know, TransportError when it is not running.
    """
    parts = urlsplit(link.strip())
    place, _, code = parts.path.rpartition("/")
    if parts.scheme not in ("http", "https") or not parts.netloc or not place.endswith("/join") or not code:
        raise InputError("this is no link of a class; one looks like http://192.168.1.5:8645/join/…", field="link")
    base = f"{parts.scheme}://{parts.netloc}"
    http = HttpTransport(base, None, float(options.get("timeout", 10.0)))
    try:
        envelope = read_envelope(http.send(Fetch("POST", parts.path, body=b"{}")), "join")
    finally:
        http.close()
    if envelope.code != 0:
        raise ToolkitError(f"the class did not let you in: {envelope.message}")
    given = envelope.data
    if given.get("port"):
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        base = f"{parts.scheme}://{host}:{given['port']}"
    wallet = Wallet(agent=given["agent_key"], master=given["master_key"])
    del given, envelope
    return connect("local", base_url=base, wallet=wallet, **options)
