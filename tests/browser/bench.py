"""Panels with a fixed state in a browser, without a kernel or a venue: what they draw, and what a press sends.

A test writes a transcript: the whole panel once, then what each step changed in it and what it sent. Those of
`tests/browser/test_transcripts*.py` are in `tests/browser/transcripts`. After a change that is meant,
`TOOLKIT_TRANSCRIPTS=write python -m pytest -m slow tests/browser -k transcripts` writes them, and
the difference is read.
"""

from __future__ import annotations

import difflib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget

from toolkit.widgets import Candles

if TYPE_CHECKING:
    from playwright.sync_api import Page

HERE = Path(__file__).parent
PAGE = (HERE / "bench.html").read_text(encoding="utf-8")
DRAWN = """([part, drawing]) => {
  const parts = [...document.querySelectorAll(part)].map((one) => outline(one));
  return [...parts, ...(drawing && document.querySelector('.tk-chart') ? charted() : [])].join('\\n');
}"""
NOW_MS = 1_767_268_850_000
"""Time of the page: 2026-01-01 12:00:50 UTC."""
BEAT: dict[str, Any] = {
    "at": NOW_MS, "time": "2026-01-01 00:05:00 UTC", "now": 1_767_225_900_000, "age": 0, "expiry": 60_000, "busy": 0,
    "agent": "agent 0x12…ab", "news": [],
}  # fmt: skip


class Bench:
    """One page with one panel, and the transcript of what happened to it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.lines: list[str] = []
        self._part = ""
        self._drawn: list[str] = []
        self._drawing = False
        self.alive = True
        """Whether the kernel gives a sign of life before each thing that is done on the page."""
        page.set_content(PAGE)

    def show(self, widget: type[anywidget.AnyWidget], part: str = ".tk-body", whole: bool = True, **state: Any) -> None:
        """Draw a panel with these traits, and write down its part, or its changes only if another test has the `whole`.

        It is live unless the traits say otherwise.
        """
        known = {"view": {}, "lock": "", "problem": "", "beat": BEAT, "answered": 0, "colors": {}, **state}
        self._part, self._drawn, self._drawing = part, [], widget is Candles
        self.page.evaluate("([source, css, state]) => show(source, css, state)", [widget._esm, widget._css, known])
        self._write("shown")
        self.lines = self.lines if whole else []

    def take(self, step: str, **state: Any) -> None:
        """Change traits as a message of the kernel does."""
        self.page.evaluate("(state) => take(state)", state)
        self._write(step)

    def beat(self, step: str, **change: Any) -> None:
        """Send a sign of life that differs from the first one."""
        self.take(step, beat={**BEAT, **change})

    def pass_ms(self, span_ms: int) -> None:
        """Let time pass without a message of the kernel."""
        self.page.evaluate("(span) => { pass(span); return drawn(); }", span_ms)
        self._write(f"{span_ms} ms later")

    def live(self, span_ms: int) -> None:
        """Let time pass with a sign of life every half second."""
        for _ in range(span_ms // 500):
            self.page.evaluate("pass(500); model.take({ beat: { ...model.get('beat'), at: Date.now() } })")
        self.page.evaluate("drawn()")
        self._write(f"{span_ms} ms later, alive")

    def click(self, where: str, detail: int = 0) -> None:
        """Press a button by the keyboard, with a `detail` by a mouse; after "|" stands its text or its name."""
        self._act(where, "click", {"detail": detail})

    def key(self, where: str, key: str, **held: bool) -> None:
        """Press a key with the focus on an element."""
        self._act(where, "keydown", {"key": key, **held})

    def type(self, where: str, value: str | bool, *kinds: str) -> None:
        """Give a control a value, with these events."""
        for kind in kinds or ("input",):
            self._act(where, kind, {"value": value})

    def mouse(self, *path: tuple[float, float], press: bool = False) -> None:
        """Move the mouse along these places of the chart, with its button pressed from the first to the last."""
        box = self.page.locator(".tk-chart").bounding_box()
        assert box is not None
        for at, (x, y) in enumerate(path):
            self.page.mouse.move(box["x"] + x, box["y"] + y)
            if press and not at:
                self.page.mouse.down()
            self.page.evaluate("drawn()")
            self._write(f"{'pressed' if press else 'mouse'} {x} {y}")
        if press:
            self.page.mouse.up()
            self.page.evaluate("drawn()")
            self._write("released")

    def do(self, step: str, code: str) -> Any:
        """Run code of a test in the page."""
        found = self.page.evaluate(code)
        self.page.evaluate("drawn()")
        self._write(step)
        return found

    def focus(self, where: str) -> None:
        """Focus an element."""
        self._act(where, "focus", {})

    def _act(self, where: str, kind: str, given: dict[str, Any]) -> None:
        if self.alive:
            self.page.evaluate("model.take({ beat: { ...model.get('beat'), at: Date.now() } })")
        prevented = self.page.evaluate("([where, kind, given]) => act(where, kind, given)", [where, kind, given])
        shown = {**given, "prevented": prevented}
        words = (f" {name}={value!r}" for name, value in shown.items() if value or name == "value")
        self._write(f"{kind} {where}{''.join(words)}")

    def _write(self, step: str) -> None:
        drawn: str = self.page.evaluate(DRAWN, [self._part, self._drawing])
        lines = drawn.split("\n")
        self.lines.append(f"# {step}")
        new = self.page.evaluate("[...sent.splice(0), ...heard.splice(0)]")
        self.lines += [json.dumps(one, ensure_ascii=False) for one in new]
        if self._drawn:
            compared = difflib.unified_diff(self._drawn, lines, n=0, lineterm="")
            self.lines += [line for line in compared if not line.startswith(("---", "+++", "@@"))]
        else:
            self.lines += lines
        self._drawn = lines

    def check(self, name: str) -> None:
        """Compare the transcript with the one that is kept under this name."""
        path, text = HERE / "transcripts" / f"{name}.txt", "\n".join(self.lines) + "\n"
        if os.environ.get("TOOLKIT_TRANSCRIPTS") == "write":
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text.split("\n") == path.read_text(encoding="utf-8").split("\n")
