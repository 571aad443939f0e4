"""What all panels have: a view to draw, a lock while the data is stale, a problem that is shown and never lost.

A panel computes its `view` in Python, as plain texts and numbers; the front end only draws it. The same view gives the
snapshot for pages where nothing runs, and the plain text.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from importlib import resources
from typing import Any, ClassVar

import anywidget
import traitlets

from .refresher import PACE
from .static_view import page

_WIDGETS = resources.files("toolkit.widgets")


def module(*names: str) -> str:
    """Return one ES module made of these files of `toolkit/widgets`, which share a scope; no build step, no network."""
    return "\n".join(_WIDGETS.joinpath(*name.split("/")).read_text(encoding="utf-8") for name in names)


class Panel(anywidget.AnyWidget):
    """A widget that follows live objects. Made by `session.widgets`, `session.ticket` and others.

    It opens its live objects when it is made, is refreshed at the display's rate, and stops with `stop()`, `close()` or
    the session. It may be displayed as often as one likes. Amounts in `view` are decimal text.
    """

    _css = module("base_panel/panel.css")

    view = traitlets.Dict().tag(sync=True)
    """What is drawn. Read it, or `frame()` where there is one, from Python; it follows the data."""
    lock = traitlets.Unicode("").tag(sync=True)
    """Why the data is not to be relied on (stale, reconnecting, closed), in words; "" while it is."""
    problem = traitlets.Unicode("").tag(sync=True)
    """The last error, in words; the next success clears it."""
    colors = traitlets.Dict().tag(sync=True)
    """Colours of up and down where they are not the default, see `toolkit.widgets.base_panel.theme`."""

    kind: ClassVar[str] = "panel"
    open_panels: ClassVar[dict[Panel, None]] = {}
    _over = True

    def __init__(self, subject: str = "", **traits: Any) -> None:
        from .theme import COLORS

        self._guard = threading.RLock()
        self._lives: list[Any] = []
        self._subject = subject
        self._over = self._failed = False
        super().__init__(colors=dict(COLORS), **traits)
        self.on_msg(self._on_message)
        Panel.open_panels[self] = None

    # What panels write

    def _describe(self) -> dict[str, Any]:
        """Return the view as it is now."""
        return {}

    def _commands(self) -> Mapping[str, Callable[..., Any]]:
        """Return what the front end may ask for: name → function of the message's other members."""
        return {}

    def _lines(self) -> Iterable[str]:
        """Return the panel in a few lines of plain text."""
        return ()

    def _snapshot(self) -> str:
        """Return the inner HTML of the panel as it is now, everything escaped."""
        return ""

    # Following

    def _follow(self, *lives: Any) -> None:
        """Refresh with these live objects, and close them with the panel."""
        for live in lives:
            self._lives.append(live)
            live.on_update(self._touch)
            live.on_state(self._touch)
        PACE.join(self)

    def _touch(self, _: Any = None) -> None:
        PACE.touch(self)

    def refresh(self) -> None:
        """Bring view and lock up to date now. What goes wrong is shown in `problem`; nothing is raised."""
        if self._over:
            return
        with self._guard:
            try:
                lock = self._lock_words()
                view = self._describe()
            except Exception as error:
                self._failed = True
                self._show(error)
                return
            self.lock = lock
            if self._failed:
                self._failed, self.problem = False, ""
            if view != self.view:
                self.view = view

    def _lock_words(self) -> str:
        for live in self._lives:
            if live.errors:
                raise live.errors[-1]
            if live.stale:
                return stale_words(live)
        return ""

    def _show(self, error: BaseException) -> None:
        self.problem = f"{type(error).__name__}: {error}" if not str(error) else str(error)

    # The front end

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take what the front end sent; one thread at a time."""
        with self._guard:
            try:
                super().set_state(sync_data)
            except traitlets.TraitError as error:
                self._show(error)

    def _on_message(self, _: Any, content: Any, buffers: Any) -> None:
        if not isinstance(content, dict):
            return
        command = self._commands().get(str(content.get("do")))
        if command is None:
            return
        given = {name: value for name, value in content.items() if name != "do"}
        try:
            command(**given)
        except Exception as error:
            self._show(error)

    # Ending

    def stop(self) -> None:
        """Stop following: the live objects are closed, what is shown stays and says so. Again does nothing."""
        if self._over:
            return
        self._over = True
        PACE.leave(self)
        Panel.open_panels.pop(self, None)
        for live in self._lives:
            live.off(self._touch)
            live.close()
        if self.comm is not None:
            self.lock = "closed"

    def close(self) -> None:
        """Stop following, and take it off the page."""
        self.stop()
        super().close()

    # Where nothing runs

    def __repr__(self) -> str:
        words = " · ".join(line for line in self._lines() if line)
        return f"<{type(self).__name__} {words}>" if words else f"<{type(self).__name__} {self._subject}>"

    def __str__(self) -> str:
        return "\n".join([f"{type(self).__name__} {self._subject}".strip(), *self._lines()])

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        self.refresh()
        made: Any = super()._repr_mimebundle_()
        data, metadata = made if isinstance(made, tuple) else (made or {}, {})
        return {**data, "text/plain": repr(self), "text/html": page(self._snapshot(), self.lock, self.colors)}, metadata


def stale_words(live: Any) -> str:
    """Return why a live object is not to be relied on."""
    state = live.state
    name = live.subject.split(".")[0]
    if state == "live":
        return f"{name} has been quiet for longer than usual"
    reason = live.reason
    return f"{name} is {state}" + (f": {reason}" if reason and reason != state else "")
