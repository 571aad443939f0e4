"""The base of all panels: a view to draw, a lock while the data is stale, and the last error.

A panel computes its `view` in Python, as plain texts and numbers. The front end only draws it. The same view gives the
static snapshot for pages without a kernel, and the plain text.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import anywidget
import traitlets
from ipywidgets import Box
from ipywidgets.widgets.widget import _instances

from ...cells import contains, follow_cells
from ...client.io.flow import wall_ms
from ...client.stream.updates import LIVE
from ...errors import InputError, LimitReached, ToolkitError
from ...guards import no_keys
from ...numerals import time_text
from .static_view import heading, page, pairs
from .watch import SessionWatch

if TYPE_CHECKING:
    from ...client.stream.live import Live
    from ...plain_session import Session


FIRST_DATA_SECONDS = 3.0
"""Longest time that a static view waits for its first data."""
_WIDGETS = resources.files("toolkit.widgets")
_PART: ContextVar[bool] = ContextVar("part", default=False)


class Followed(Protocol):
    """The part of a live object that says when it changes."""

    def on_update(self, callback: Callable[[Any], object], /) -> object:
        """Call a function after each update."""

    def on_state(self, callback: Callable[[Any], object], /) -> object:
        """Call a function after each change of the state."""


@contextlib.contextmanager
def parts() -> Iterator[None]:
    """Make the panels of a dashboard, which sends their state to the page as its own.

    marimo opens no widget while it handles a message, such as the choice of another product.
    """
    before = _PART.set(True)
    try:
        yield
    finally:
        _PART.reset(before)


def module(*names: str) -> str:
    """Return files of `toolkit/widgets` joined to an ES module of one scope.

    It needs no build step and no network.

    Parameters
    ----------
    *names : str
        Files below `toolkit/widgets`, in order.
    """
    return "\n".join(_WIDGETS.joinpath(*name.split("/")).read_text(encoding="utf-8") for name in names)


class Panel(anywidget.AnyWidget):
    """A widget that follows live objects, made from a session: `toolkit.widgets.Candles(session, "BTCUSDC")`.

    It opens its live objects when it is made, and is refreshed at the display's rate. It stops with `stop()`, `close()`
    or the session. It may be displayed any number of times. It pauses once its last view is gone, and continues with
    another display.

    `refresh()` updates it once. In a notebook it stops if its cell has been run again and no name has it. Amounts in
    `view` are decimal text.

    Parameters
    ----------
    session : Session
        Session whose data it shows.
    subject : str, optional
        What it shows, for its repr, such as a symbol (default: "").
    **traits : object
        First values of its traits.
    """

    _css = module("base_panel/panel.css")

    view = traitlets.Dict().tag(sync=True)
    """What is drawn. Read it, or `frame()` where there is one, from Python. It follows the data."""
    lock = traitlets.Unicode("").tag(sync=True)
    """Why the data is not reliable (stale, reconnecting, closed), in words, "" while it is."""
    problem = traitlets.Unicode("").tag(sync=True)
    """The last error, in words. The next success clears it."""
    beat = traitlets.Dict().tag(sync=True)
    """Sign of life for the front end, about twice per second: `at` (the computer's clock, Unix ms), `time` and `now`
    (the session's, as text and Unix ms), `agent` (its state). `age` is in ms since the venue's last message, `expiry`
    the validity of requests in ms, `busy` the seconds for which a cell has kept the kernel from handling presses."""
    picture = traitlets.Unicode("").tag(sync=True)
    """The last picture as HTML with its time, for `toolkit export`. It is renewed every few seconds and at a stop."""
    answered = traitlets.Int(0).tag(sync=True)
    """Deadline of the last press that was handled."""
    colors = traitlets.Dict().tag(sync=True)
    """Colours of up and down that differ from the default, see `toolkit.widgets.theme`."""

    open_panels: ClassVar[dict[Panel, None]] = {}
    theme_colors: ClassVar[dict[str, str]] = {}
    """Colours set by `theme`, empty for the default, which differs between light and dark pages."""
    _stopped = True
    """Until the constructor has run there is nothing to refresh."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Let no constructor of a panel take a private key for a symbol."""
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = no_keys(cls.__init__)  # type: ignore[method-assign]

    def __init__(self, session: Session, subject: str = "", **traits: object) -> None:
        self._session = session
        self._beaten = self._pictured = 0.0
        # Reentrant, because setting a trait in a refresh calls observers that may refresh again.
        self._guard = threading.RLock()
        self._lives: list[Any] = []
        self._needed: list[Any] = []
        self._subject = subject
        self._stopped = self._failed = self._begun = False
        self._views = 0
        self._replaced = False
        # Before the base class, which already asks for the state of the panel.
        self._watch = SessionWatch.join(session, self)
        super().__init__(colors=dict(Panel.theme_colors), **traits)
        self.on_msg(self._on_message)
        # Panels are made on the thread of the kernel, which has the running loop.
        KERNEL_LOOP.attach()
        Panel.open_panels[self] = None
        session._panels.add(self)
        # A cell that is run again makes a new panel. The old one would follow the feed without a view.
        follow_cells(self, Panel._look_after_cell)

    def _make_view(self) -> dict[str, Any]:
        """Return the current view."""
        return {}

    def _commands(self) -> Mapping[str, Callable[..., Any]]:
        """Return the commands of the front end: name → function of the message's other members."""
        return {}

    def _lines(self) -> Iterable[str]:
        """Return the panel in a few lines of plain text."""
        return ()

    def _snapshot(self) -> str:
        """Return the current inner HTML of the panel, everything escaped: its title and its rows of name and value."""
        view = self.view
        return heading(str(view.get("title", "")), view.get("note", "")) + pairs(view.get("rows", ()))

    def _follow(self, *lives: Followed, needed: bool = True) -> None:
        """Refresh with these live objects, and close them with the panel. `needed` ones lock it while they are stale.

        Optional data must not lock the panel: a venue need not publish it.
        """
        for live in lives:
            self._lives.append(live)
            if needed:
                self._needed.append(live)
            # Updates only request a refresh: a book changes far more often than a display shows.
            live.on_update(self._on_change)
            live.on_state(self._on_change)

    def _unfollow(self, *lives: Live) -> None:
        """Stop following these live objects, and close them."""
        for live in lives:
            self._lives = [one for one in self._lives if one is not live]
            self._needed = [one for one in self._needed if one is not live]
            live.close()

    def _on_change(self, _: object = None) -> None:
        REFRESHER.request(self)

    def refresh(self) -> None:
        """Update view and lock now.

        Errors are shown in `problem`, never raised.
        """
        # The refresher's thread and the caller's may refresh at the same time, or while another one stops the panel.
        with self._guard:
            if self._stopped:
                return
            # At the end of the constructor: only then is there all that a view needs.
            if not self._begun:
                self._begun = True
                REFRESHER.add(self)
            # Before the view, which may show what the watch knows of the session.
            self._watch.refresh()
            self._send_beat()
            try:
                lock = self._lock_reason()
                view = {**self._make_view(), "loaded": self.loaded, "doubt": self._watch.doubt}
            except Exception as error:
                self._failed = True
                self._show_error(error)
                return
            # The lock comes before the view: the page must not show new data as reliable for a moment.
            self.lock = lock
            # Only a problem of refreshing itself is over now; that of a command stays until the next success.
            if self._failed:
                self._failed, self.problem = False, ""
            # An equal view would be sent to the page again, many times per second.
            if view != self.view:
                self.view = view
            if self.loaded and time.monotonic() - self._pictured > PICTURE_SECONDS:
                self._take_picture()

    def _take_picture(self) -> None:
        self._pictured = time.monotonic()
        self.picture = page(self._snapshot(), self._caveat, self.colors, self.as_of)

    def _send_beat(self) -> None:
        now = time.monotonic()
        # A little less than the heartbeat, so that none is left out because a refresh came a moment early.
        if now - self._beaten < HEARTBEAT * 0.9:
            return
        self._beaten = now
        busy = round(KERNEL_LOOP.busy_seconds())
        self.beat = {**self._watch.beat(), "at": wall_ms(), "busy": busy}

    @property
    def as_of(self) -> str:
        """The session's time as text, e.g. "2026-01-01 00:05:00 UTC"."""
        return time_text(self._session._runtime.now())

    @property
    def loaded(self) -> bool:
        """True once everything that the panel needs has had data."""
        return not any(_awaits_data(live) for live in self._needed)

    def _await_data(self) -> None:
        """Wait for the first data, a few seconds at most."""
        end = time.monotonic() + FIRST_DATA_SECONDS
        for live in self._needed:
            if _awaits_data(live):
                with contextlib.suppress(ToolkitError):  # the lock says why there is none
                    live.wait(timeout=max(0.0, end - time.monotonic()))

    def _lock_reason(self) -> str:
        for live in self._lives:
            if live.errors:
                raise live.errors[-1]
        return next((stale_reason(live) for live in self._needed if live.stale), "") or self._watch.silence()

    @property
    def _caveat(self) -> str:
        """Why what it shows may be wrong, in words."""
        return "; ".join(filter(None, [self.lock, self._watch.doubt]))

    def _show_error(self, error: BaseException) -> None:
        self.problem = str(error) or type(error).__name__

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Apply traits sent by the front end, one thread at a time.

        Invalid values are shown in `problem`.

        Parameters
        ----------
        sync_data : dict of str to object
            Trait → value.
        """
        with self._guard:
            try:
                super().set_state(sync_data)
            except traitlets.TraitError as error:
                self._show_error(error)

    def _on_message(self, _: object, content: object, buffers: object) -> None:
        # Messages come from the page. Any page with access to the kernel can send anything.
        if not isinstance(content, dict):
            return
        if content.get("do") in ("hello", "bye"):
            self._count_views(1 if content["do"] == "hello" else -1)
            return
        command = self._commands().get(str(content.get("do")))
        if command is None:
            return
        # Unknown members become unknown arguments, which the command refuses.
        arguments = {name: value for name, value in content.items() if name not in ("do", "by")}
        by_ms = content.get("by", 0)
        try:
            # A press that waited behind a long cell was meant for what the page showed then, not for the present
            # prices.
            if by_ms and wall_ms() > by_ms:
                self._refuse_late((wall_ms() - by_ms) // 1000)
            else:
                command(**arguments)
        # An error of a command has no caller: the page shows it.
        except Exception as error:
            self._show_error(error)
        finally:
            # A press that waited in a stopped kernel is answered too: the page says that it was refused.
            self.answered = max(self.answered, int(by_ms))

    def _count_views(self, change: int) -> None:
        """Follow the data while there is a view. A panel whose last view is gone rests until it is displayed again."""
        self._views += change
        # A new view gets its sign of life with the next refresh, and not up to a heartbeat later.
        self._beaten = 0.0
        if self._views <= 0 and self._replaced:
            self.stop()
        elif self._views <= 0:
            REFRESHER.remove(self)
        elif not self._stopped:
            REFRESHER.add(self)
            REFRESHER.request(self)

    def _look_after_cell(self, names: dict[str, Any], again: bool) -> bool:
        """Stop when the cell that made it has been run again, no view is left, and no name has it."""
        if again:
            self._replaced = not any(contains(value, self) for value in names.values())
            self._count_views(0)
        return self._stopped

    def _refuse_late(self, seconds: int) -> None:
        """Refuse a press that was meant for what the page showed long ago."""
        message = f"a press reached the kernel {seconds} s after its deadline, so nothing was signed. Press again"
        raise LimitReached(message, limit="late")

    def stop(self) -> None:
        """Close the live objects.

        The last view stays, marked as closed. Stopping again does nothing.
        """
        if self._stopped:
            return
        with contextlib.suppress(Exception):  # the picture before stays
            if self.loaded:
                self._take_picture()
        with self._guard:  # a first refresh that has begun adds it to the refresher before
            self._stopped = True
        REFRESHER.remove(self)
        Panel.open_panels.pop(self, None)
        # After leaving the refresher, so that no refresh finds a closed object and shows it as an error.
        self._unfollow(*self._lives)
        self._watch.leave(self)
        with self._guard:
            self.lock = "closed"

    def get_state(self, *given: object, **named: object) -> dict[str, Any]:
        """Return the traits for the page.

        A part of a dashboard has none while it is made.

        Parameters
        ----------
        *given : object
            Arguments of the base class.
        **named : object
            Arguments of the base class.
        """
        return {} if _PART.get() else dict(super().get_state(*given, **named))

    def open(self) -> None:
        """Open its connection to the page, unless it is made as a part of a dashboard."""
        if not _PART.get():
            super().open()

    def detach(self) -> None:
        """Send nothing to pages until it is shown on its own: a dashboard shows it."""
        # Read without the trait's getter, which would open a connection.
        comm: Any = vars(self)["_trait_values"].get("comm")
        if comm is not None:
            # ipywidgets would answer requests of the page for this model as long as it is listed.
            _instances.pop(comm.comm_id, None)
            comm.close()
            self.set_trait("comm", None)

    @property
    def model_id(self) -> str | None:
        """Id of its model on the page, which is made again for a panel that a dashboard has shown only."""
        if vars(self)["_trait_values"].get("comm") is None and not self._stopped:
            self.open()
        found: str | None = super().model_id
        return found

    def close(self) -> None:
        """Stop, and remove the panel from the page."""
        self.stop()
        super().close()

    def __repr__(self) -> str:
        if not self.loaded:
            return f"<{type(self).__name__} {self._subject}: not loaded>"
        text = " · ".join(line for line in (*self._lines(), self._caveat) if line)
        return f"<{type(self).__name__} {text or self._subject}>"

    def __str__(self) -> str:
        lines = (*self._lines(), *filter(None, [self._caveat])) if self.loaded else ("not loaded",)
        return "\n".join([f"{type(self).__name__} {self._subject}".strip(), *lines])

    def snapshot(self) -> str:
        """Return what it shows now as HTML, with its time.

        Returns
        -------
        str
            HTML, all values escaped.
        """
        self._await_data()
        self.refresh()
        inner = self._snapshot() if self.loaded else heading(f"{type(self).__name__} {self._subject}", "not loaded")
        return page(inner, self._caveat, self.colors, self.as_of)

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, Any], dict[str, Any]]:
        html = self.snapshot()
        # After the snapshot, so that the widget and the picture show the same data.
        bundle: object = super()._repr_mimebundle_()
        # anywidget returns data and metadata, or None where widgets can't be displayed.
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, "text/plain": repr(self), "text/html": html}, metadata


def confirmed(command: Callable[..., Any]) -> Callable[..., None]:
    """Return a command of a button that asks first.

    It only runs when the message says that it was confirmed.

    Parameters
    ----------
    command : callable
        The command.
    """

    def run(confirmed: bool = False, **arguments: object) -> None:
        if confirmed is True:
            command(**arguments)

    return run


def _awaits_data(live: Live) -> bool:
    return bool(live.age_ms is None and live.stale)


def stale_reason(live: Live) -> str:
    """Return why the data of a live object is not reliable.

    Parameters
    ----------
    live : object
        Live object that the panel follows.
    """
    name, state = live.subject.split(".")[0], live.state
    if state in LIVE and not live.damaged:
        return f"{name} has had no data yet" if live.age_ms is None else f"{name} has been quiet for longer than usual"
    return f"{name} is {state}" + (f": {live.reason}" if live.reason not in ("", state) else "")


def can_sign(session: Session) -> bool:
    """Return whether the session has an agent key to trade with.

    Parameters
    ----------
    session : Session
        Any session.
    """
    return session.wallet is not None and bool(session.wallet.agent)


# The defaults, blue and orange, can be distinguished by colour-blind people.
_COLOR = re.compile(r"#[0-9a-fA-F]{3,8}|[a-zA-Z]{3,30}|(rgb|hsl)a?\([0-9.,%/ ]{5,40}\)")


def theme(up: str | None = None, down: str | None = None) -> dict[str, str]:
    """Set the colours of up and down for all widgets, including those already displayed.

    A sign or an arrow always accompanies the colour.

    Parameters
    ----------
    up : str or None, optional
        CSS colour of buys and profit, such as "#d62728" or "crimson" (default: blue).
    down : str or None, optional
        CSS colour of sells and loss (default: orange).

    Returns
    -------
    dict of str to str
        Colours that differ from the default.

    Raises
    ------
    InputError
        For text that is not a colour.

    Examples
    --------
    >>> theme(up="crimson", down="seagreen")  # as in East Asia
    {'up': 'crimson', 'down': 'seagreen'}
    >>> theme()
    {}
    """
    chosen = {name: color for name, color in (("up", up), ("down", down)) if color is not None}
    for name, color in chosen.items():
        if not _COLOR.fullmatch(color):
            message = f"{name} {color!r} is not a CSS colour, such as '#1f77b4' or 'crimson'"
            raise InputError(message, field=name, rule="CSS colour", value=color)
    Panel.theme_colors = chosen
    for panel in list(Panel.open_panels):
        panel.colors = dict(chosen)
    return dict(chosen)


INTERVAL = 0.08
"""Shortest time between two refreshes of one panel in seconds (about 12 per second)."""
HEARTBEAT = 0.6
"""Longest time between two refreshes in seconds. A panel must show that its data has become stale."""
STOP_SECONDS = 5.0
PICTURE_SECONDS = 3.0
BUSY_SECONDS = 3.0
"""After this time without a reaction the kernel counts as busy: presses would wait for the running cell."""


def pictures(box: Box) -> str | None:
    """Return the snapshots of the panels in a container, for a saved notebook.

    It returns `None` without any.

    Parameters
    ----------
    box : Box
        Container of panels and containers.
    """
    found = [one.snapshot() if hasattr(one, "snapshot") else pictures(one) for one in getattr(box, "children", ())]
    return f"<div>{''.join(filter(None, found))}</div>" if any(found) else None


class KernelLoop:
    """Measures whether the kernel handles messages: its event loop runs a callback, or is busy with a cell."""

    _loop: asyncio.AbstractEventLoop | None = None
    _asked: float | None = None

    def attach(self) -> None:
        """Watch the loop of the Jupyter kernel on this thread. In a script there is none, and nothing is ever busy."""
        ipython = sys.modules.get("IPython")
        if ipython is None or getattr(ipython.get_ipython(), "kernel", None) is None:
            return
        ipython.get_ipython().display_formatter.formatters["text/html"].for_type(Box, pictures)
        with contextlib.suppress(RuntimeError):
            self._loop, self._asked = asyncio.get_running_loop(), None

    def busy_seconds(self) -> float:
        """Return for how many seconds the loop has not reacted, 0 while it does.

        It never blocks.
        """
        loop = self._loop
        if loop is None or loop.is_closed():
            return 0.0
        now = time.monotonic()
        asked = self._asked
        if asked is None:
            # Set first: the callback may run before the next line.
            self._asked = now
            # The callback runs as soon as the loop is free, so the time until then is how long it was busy.
            loop.call_soon_threadsafe(self._answer)
            return 0.0
        return now - asked if now - asked >= BUSY_SECONDS else 0.0

    def _answer(self) -> None:
        self._asked = None


KERNEL_LOOP = KernelLoop()
"""The loop of the kernel that shows the panels."""


class Refresher:
    """Refreshes its panels at the display's rate on one background thread, however often their data changes.

    A panel is refreshed when its data changes, at most every INTERVAL seconds, and every HEARTBEAT seconds, so that
    stale data is noticed. The thread ends with the last panel.

    Parameters
    ----------
    interval : float, optional
        Shortest time between two refreshes of a panel, in seconds (default: 0.08).
    heartbeat : float, optional
        Longest time between two refreshes of a panel, in seconds (default: 0.6).
    """

    def __init__(self, interval: float = INTERVAL, heartbeat: float = HEARTBEAT) -> None:
        self._interval = interval
        self._heartbeat = heartbeat
        self._condition = threading.Condition()
        self._due: dict[Any, float] = {}
        """Panel → monotonic time of its next refresh. A heartbeat away unless one was requested."""
        self._last: dict[Any, float] = {}
        self._thread: threading.Thread | None = None

    def add(self, panel: object) -> None:
        """Start to refresh a panel.

        Adding it again does nothing.

        Parameters
        ----------
        panel : object
            The panel.
        """
        with self._condition:
            if panel in self._due:
                return
            self._due[panel] = time.monotonic()
            self._last[panel] = 0.0
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="toolkit-widgets", daemon=True)
                self._thread.start()
            self._condition.notify()

    def request(self, panel: object) -> None:
        """Request a refresh soon.

        It is cheap, and may be called from any thread and at any rate.

        Parameters
        ----------
        panel : object
            The panel.
        """
        with self._condition:
            before = self._due.get(panel)
            if before is None:
                return
            due = min(before, self._last[panel] + self._interval)
            if due != before:
                self._due[panel] = due
                self._condition.notify()

    def remove(self, panel: object) -> None:
        """Stop refreshing a panel.

        After the last one the thread ends, within a bounded time.

        Parameters
        ----------
        panel : object
            The panel.
        """
        with self._condition:
            self._due.pop(panel, None)
            self._last.pop(panel, None)
            thread = None
            if not self._due:
                # Cleared under the lock. A panel that is added from now on starts a new thread, while this one ends.
                thread, self._thread = self._thread, None
            self._condition.notify()
        # A panel may be stopped while it is refreshed, on the thread itself, which can't wait for itself.
        if thread is not None and thread is not threading.current_thread():
            thread.join(STOP_SECONDS)

    @property
    def running(self) -> bool:
        """True while the thread runs."""
        return self._thread is not None

    def _run(self) -> None:
        me = threading.current_thread()
        while True:
            with self._condition:
                # Ended, or already replaced by the thread of a panel that was added meanwhile.
                if self._thread is not me:
                    return
                now = time.monotonic()
                ready = [panel for panel, due in self._due.items() if due <= now]
                for panel in ready:
                    self._last[panel] = now
                    # Before the refresh: a change that comes while it runs makes the panel due again.
                    self._due[panel] = now + self._heartbeat
                if not ready:
                    self._condition.wait(max(0.0, min(self._due.values()) - now))
            # Without the lock: a refresh takes long, and it may stop panels.
            for panel in ready:
                panel.refresh()


REFRESHER = Refresher()
"""The refresher of this process's panels."""
