"""A page that shows widgets with their real Python models: the shipped front end over a WebSocket on loopback."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

import comm
import ipywidgets
from comm.base_comm import BaseComm
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve

from toolkit import widgets
from toolkit.client.io.flow import wall_ms
from toolkit.widgets.base_panel import panel

if TYPE_CHECKING:
    from playwright.sync_api import Locator, LocatorAssertions, Page

    from toolkit.session import Session

PAGE = Path(__file__).with_name("host.html")
WAIT_SECONDS = float(os.environ.get("TOOLKIT_TEST_WAIT", "30"))
_WIDGETS: dict[str, ipywidgets.Widget] = ipywidgets.widgets.widget._instances


class Host:
    """Widgets made inside `hosting()` send their kernel messages to the page instead."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        """Every message to the page, for tests that search them for secrets."""
        self.silent = False
        """A dead kernel: nothing is sent, and nothing that comes is handled."""
        self.holding = False
        """A stopped kernel: what comes waits in `held` until `release`."""
        self.held: list[str] = []
        self.wall_ms = wall_ms()
        """The kernel's clock, which the test moves: however late a press is on a loaded machine, it is in time."""
        self.port = 0
        self._page: ServerConnection | None = None
        self._lock = threading.Lock()
        self._roots: list[str] = []

    @property
    def url(self) -> str:
        """Address of the page."""
        return f"http://127.0.0.1:{self.port}/"

    def read_clock(self) -> int:
        """Return the kernel's time, which differs from one sign of life to the next."""
        self.wall_ms += 1
        return self.wall_ms

    def fall_silent(self, page: Page, span_ms: int) -> None:
        """Stop the kernel, and have so much time pass on the page after its last message."""
        self.silent = True
        settle(page)
        pass_time(page, span_ms)

    def show(self, *widgets: ipywidgets.Widget) -> None:
        """Set the widgets that the page displays when it connects; one may be given twice."""
        self._roots = [widget.model_id for widget in widgets]

    def out(self, comm_id: str, message: dict[str, Any]) -> None:
        """Send a message of a widget to the page."""
        self.sent.append(message)
        if message.get("method") != "update":
            return
        with self._lock:
            page = self._page
            if page is not None and not self.silent:
                try:
                    page.send(json.dumps({"id": comm_id, "method": "update", "state": message["state"]}))
                except ConnectionClosed:
                    self._page = None

    def converse(self, page: ServerConnection) -> None:
        """Serve one page until it disconnects."""
        with self._lock:
            models = {model_id: _plain(widget.get_state()) for model_id, widget in list(_WIDGETS.items())}
            page.send(json.dumps({"models": models, "roots": self._roots, "wall": self.wall_ms}))
            self._page = page
        for text in page:
            if text.startswith('{"echo"'):
                with self._lock:
                    page.send(text)
            elif self.silent:
                continue
            elif self.holding:
                self.held.append(text)
            else:
                self._take(text)

    def release(self) -> None:
        """Let a stopped kernel go on: it handles what has come meanwhile."""
        held, self.held, self.holding = self.held, [], False
        for text in held:
            self._take(text)

    def _take(self, text: str) -> None:
        message = json.loads(text)
        data = {name: message[name] for name in ("method", "state", "content") if name in message}
        widget = _WIDGETS.get(message["id"])
        if widget is not None:
            widget._handle_msg({"content": {"data": {**data, "buffer_paths": []}}, "buffers": []})


def _plain(state: dict[str, Any]) -> dict[str, Any]:
    return {name: json.loads(json.dumps(value, default=_reference)) for name, value in state.items()}


def _reference(value: Any) -> str:
    return f"IPY_MODEL_{value.model_id}" if isinstance(value, ipywidgets.Widget) else str(value)


def every_panel(session: Session) -> list[Any]:
    """Return each panel of one product and of one account, the ticket first."""
    symbol = "BTCUSDC"
    market = [widgets.Header, widgets.Candles, widgets.OrderBook, widgets.Depth, widgets.Trades, widgets.Funding]
    account = [widgets.Blotter, widgets.Account, widgets.LiquidationMap, widgets.Permissions]
    ticket = session.ticket(symbol, price="62000", quantity="0.01")
    return [ticket, *(kind(session, symbol) for kind in market), *(kind(session) for kind in account)]


def panel_of(page: Page, title: str) -> Locator:
    """Return the panel with this title."""
    return page.get_by_role("region", name=title, exact=False)


def until(page: Page, holds: Callable[[], bool]) -> None:
    """Wait for what the kernel makes of the page's messages; the page shows its own changes before that."""
    end = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < end, "the kernel has not got there"
        page.wait_for_timeout(20)


def pass_time(page: Page, span_ms: int) -> None:
    """Have time pass on the page: without a message of the kernel it stands still, see host.html."""
    page.evaluate("(span) => pass(span)", span_ms)


def settle(page: Page) -> None:
    """Wait until the page has drawn what it knows, and the kernel has handled what the page has sent before."""
    page.evaluate("settled()")


def expect(locator: Locator) -> LocatorAssertions:
    """Return what can be asserted of a part of the page; it waits, because a page draws when it gets to it."""
    from playwright.sync_api import expect as assertions

    assertions.set_options(timeout=WAIT_SECONDS * 1000)
    return assertions(locator)


@contextmanager
def hosting() -> Iterator[Host]:
    """Serve a page on loopback for the widgets made inside the context, which are closed at its end."""
    host = Host()

    class PageComm(BaseComm):  # type: ignore[misc]
        def publish_msg(self, msg_type: str, data: Any = None, metadata: Any = None, **_: Any) -> None:
            host.out(self.comm_id, json.loads(json.dumps(data or {}, default=_reference)))

    def answer(connection: ServerConnection, request: Any) -> Any:
        if request.path == "/comm":
            return None
        if request.path.partition("?")[0] != "/":
            return connection.respond(HTTPStatus.NOT_FOUND, "")
        response = connection.respond(HTTPStatus.OK, PAGE.read_text(encoding="utf-8"))
        del response.headers["Content-Type"]
        response.headers["Content-Type"] = "text/html; charset=utf-8"
        return response

    before, others = comm.create_comm, set(_WIDGETS)
    comm.create_comm, panel.wall_ms = PageComm, host.read_clock
    server: Server = serve(host.converse, "127.0.0.1", 0, process_request=answer)
    host.port = server.socket.getsockname()[1]
    thread = threading.Thread(target=server.serve_forever, name="widget-page")
    thread.start()
    try:
        yield host
    finally:
        for made in [widget for model_id, widget in _WIDGETS.items() if model_id not in others]:
            made.close()
        comm.create_comm, panel.wall_ms = before, wall_ms
        server.shutdown()
        thread.join(10)
