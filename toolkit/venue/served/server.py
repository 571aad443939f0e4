"""Serves a venue on loopback: HTTP around its gateway, a WebSocket route around its feed.

It binds nothing but loopback unless a host is given and remote access is allowed as well, because the keys of the
venue's accounts are public.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from ...environments import LOCAL, Environment, environment
from ...errors import InputError, VenueError
from ...protocol.reads.feed import MAX_CONNECTIONS
from ..api.admission import CLAIM_SPAN, CLAIMS
from ..host import VenueHost
from ..model.state import Limit
from .application import Application
from .boundary import HTTP_CONNECTIONS, LOOPBACK, WILDCARDS, Boundary, ServeSettings
from .bounded_feed import BoundedFeed
from .bounded_http import bounded

START_LIMIT = 10.0
STOP_LIMIT = 10.0
"""Seconds a server may take to start and to stop."""
GRACE = 0.3
"""Seconds that requests have to end when the server stops."""
SWITCH_SECONDS = 0.001
"""How long a thread that computes keeps the interpreter while others wait. Python's own is five times as long."""
_NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)
_QUIET = 60.0
"""Seconds between two reports of the same trouble."""


class Served:
    """The addresses of a served venue.

    Parameters
    ----------
    venue : VenueHost
        The venue that is served.
    host : str
        Address that the server listens at.
    port : int
        TCP port of the server.
    settings : ServeSettings
        Limits and permissions of clients.
    feed_port : int or None, optional
        TCP port of the feed (default: `None`, that of the requests).

    Attributes
    ----------
    base_url : str
        HTTP address.
    ws_url : str
        WebSocket address, without the path of the feed.
    control_token : str
        Token that opens its controls, if they are served.
    """

    def __init__(
        self, venue: VenueHost, host: str, port: int, settings: ServeSettings, feed_port: int | None = None
    ) -> None:
        self.venue = venue
        self.port = port
        self.control_token = settings.control_token
        if host in WILDCARDS:  # which are no addresses to call
            host = "::1" if ":" in host else "127.0.0.1"
        host = f"[{host}]" if ":" in host else host  # IPv6 addresses are bracketed in URLs
        self.base_url = f"http://{host}:{port}"
        self.ws_url = f"ws://{host}:{port if feed_port is None else feed_port}"

    @property
    def environment(self) -> Environment:
        """The environment "local" at these addresses."""
        return environment(LOCAL, base_url=self.base_url, ws_url=self.ws_url, variables={})

    def __repr__(self) -> str:
        return f"<Served {self.base_url}>"


def listen(host: str, port: int, *, allow_remote: bool = False) -> socket.socket:
    """Return a listening socket.

    Raises InputError for a host that is not loopback without `allow_remote` and for a port out of range, VenueError
    when the port is taken.

    Parameters
    ----------
    host : str
        Address to listen at.
    port : int
        TCP port. 0 takes a free one.
    allow_remote : bool, optional
        True allows a host other than loopback (default: `False`).

    Raises
    ------
    InputError
        For a host that is not loopback without `allow_remote`, and for a port out of range.
    VenueError
        If the port is taken.
    """
    if host not in LOOPBACK and not allow_remote:
        text = (
            f"host {host!r} is not loopback, and the keys of this venue's accounts are public. "
            "Give allow_remote (--allow-remote) as well to listen there"
        )
        raise InputError(text, field="host", rule="loopback", value=host, nearest=("127.0.0.1",))
    if not 0 <= port <= 65_535:
        text = f"port {port} is not 0 to 65535 (0 takes a free one)"
        raise InputError(text, field="port", rule="0 to 65535", value=port)
    try:
        family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, number)  # asyncio disables Nagle's delay only if the number is given
        try:
            if sys.platform != "win32":  # on Windows the option lets two servers share a port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(512)
        except BaseException:
            listener.close()
            raise
        return listener
    except OSError as error:
        raise VenueError(
            f"can't listen on {host} port {port}: {error}. Another venue may be running there. Choose another port "
            "(0 takes a free one)"
        ) from error


@contextmanager
def running(
    venue: VenueHost,
    port: int = 0,
    *,
    host: str = "127.0.0.1",
    allow_remote: bool = False,
    settings: ServeSettings | None = None,
) -> Iterator[Served]:
    """Serve a venue in a thread while a `with` block runs.

    Start and stop are bounded in time, and no thread is left behind.

    Parameters
    ----------
    venue : VenueHost
        The venue to serve.
    port : int, optional
        TCP port. 0 takes a free one (default: 0).
    host : str, optional
        Address to listen at (default: "127.0.0.1").
    allow_remote : bool, optional
        True allows a host other than loopback (default: `False`).
    settings : ServeSettings or None, optional
        Limits and permissions of clients (default: the usual ones).

    Raises
    ------
    InputError
        As `listen`.
    VenueError
        If the port is taken, or the server does not start.
    """
    settings = settings or ServeSettings()
    listeners = [listen(host, port, allow_remote=allow_remote)]
    if (door := venue.trouble.door()) is not None:
        listeners.append(_listen_also(listeners[0], host, door, allow_remote))
    ports = [one.getsockname()[1] for one in listeners]
    feed_port = ports[1] if door is not None else None
    application = Application(venue, Boundary(settings, host), settings, feed_port)
    venue.feed.connections = settings.connections_per_ip or MAX_CONNECTIONS
    admission = venue.gateway.admission
    admission.claims = Limit(settings.claims_per_ip or CLAIMS, CLAIM_SPAN)
    admission.claimed_accounts = settings.claimed_accounts
    config = uvicorn.Config(
        application,
        http=bounded(settings.connections_per_ip or HTTP_CONNECTIONS, settings.head_seconds, settings.seat_of),  # type: ignore[arg-type]
        log_config=None,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws=BoundedFeed,
        ws_max_size=1 << 16,  # above the feed's own limit, so that the feed answers a long message with a reason
        ws_ping_interval=None,  # the feed closes idle connections itself
        timeout_keep_alive=settings.idle_seconds,  # type: ignore[arg-type]
        timeout_graceful_shutdown=GRACE,  # type: ignore[arg-type]
        backlog=128,  # also how often the loop tries to accept when there are no descriptors left
        server_header=False,
        proxy_headers=False,  # a client's X-Forwarded-For would be believed, and its connections not counted
    )
    server = uvicorn.Server(config)
    started = threading.Event()
    thread = threading.Thread(target=_run, args=(server, listeners, started), name="toolkit-venue-server", daemon=True)
    # From before the first request, so that time already passes when a client connects.
    venue.start_running()
    switching = sys.getswitchinterval()
    # A thread that computes keeps the interpreter for 5 ms otherwise, which the event loop would wait for.
    sys.setswitchinterval(min(switching, SWITCH_SECONDS))
    try:
        thread.start()
        if not started.wait(START_LIMIT) or not server.started:
            raise VenueError(f"the server did not start on port {ports[0]}")
        yield Served(venue, host, ports[0], settings, feed_port)
    finally:
        sys.setswitchinterval(switching)
        venue.closing = True  # a long advance of a control ends at its next step
        server.should_exit = True
        thread.join(STOP_LIMIT)
        if thread.is_alive():
            server.force_exit = True
            thread.join(STOP_LIMIT)
        # After the server: no request comes any more, so the lanes can end.
        application.stop()
        venue.closing = False
        for listener in listeners:
            listener.close()
        venue.stop_running()


def _listen_also(first: socket.socket, host: str, port: int, allow_remote: bool) -> socket.socket:
    """Return a second listening socket. Without it the first one is closed, since nothing will be served."""
    try:
        return listen(host, port, allow_remote=allow_remote)
    except BaseException:
        first.close()
        raise


def _run(server: uvicorn.Server, listeners: list[socket.socket], started: threading.Event) -> None:
    async def serve() -> None:
        asyncio.get_running_loop().set_exception_handler(_report_descriptors(listeners[0]))
        task = asyncio.ensure_future(server.serve(sockets=listeners))
        # uvicorn has no event for its start.
        while not server.started and not task.done():
            await asyncio.sleep(0.005)
        started.set()
        await task

    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(serve())
    finally:
        started.set()


def _report_descriptors(listener: socket.socket) -> Any:
    """Return an exception handler that reports running out of file descriptors once per minute, not at every attempt.

    For each failed attempt asyncio plans to listen again after a second. When the server stops before, each of these
    attempts finds a closed socket, which is no error.
    """
    last = -_QUIET

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal last
        error = context.get("exception")
        if isinstance(error, ValueError) and listener.fileno() < 0:
            return
        if not isinstance(error, OSError) or error.errno not in _NO_DESCRIPTORS:
            loop.default_exception_handler(context)
        elif time.monotonic() - last >= _QUIET:
            last = time.monotonic()
            print(
                f"toolkit venue: no file descriptors are left ({error.strerror}), so new connections wait. Close some, "
                "raise the limit (ulimit -n), or lower --connections-per-ip",
                file=sys.stderr,
                flush=True,
            )

    return handle
