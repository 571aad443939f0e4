"""What a run says: log lines, and messages to whoever wants to be told.

    toolkit.run       starts, pauses, continuations, ends, refusals
    toolkit.orders    each order that is sent
    toolkit.fills     each fill

A record has the run's name, the kind of the event and the symbol as `run`, `kind` and `symbol`. There is about one line
for each event, none for each poll. Keys are in none of them.
"""

from __future__ import annotations

import json
import logging
import queue
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from time import monotonic
from typing import Any

import httpx

from ...errors import InputError
from ...extras import need

# As libraries do: without handlers of the program's own, Python would print warnings on standard error.
logging.getLogger("toolkit").addHandler(logging.NullHandler())
Notify = Callable[[str], object]
_GRAVE = {"ERROR", "KILL", "LIMIT", "LIQUIDATION", "ADL", "HAND", "REFUSED", "PAUSE", "AGENT", "OPEN"}
LOUD = frozenset({*_GRAVE, "PROBLEM", "UNKNOWN"})
"""Kinds of events whose lines are warnings."""
TOLD = frozenset({*_GRAVE, "START", "RESUME", "CONTINUE", "END", "STOP", "INTERRUPT"})
"""Kinds of events that are told, beside fills."""
LOGGERS = {"LIMIT": "toolkit.limits", "KILL": "toolkit.limits", "TRANSPORT": "toolkit.feed"}
"""Kind of an event → logger of its line, where it is not that of the run."""
FILLS_EVERY_S = 60.0
"""Seconds in which the fills after one that was told are counted, and told together."""
PING_S = 60.0
"""Time between two signs of life to an address."""
FLUSH_S = 5.0
LOG_BYTES, LOG_FILES = 5_000_000, 5


class Teller:
    """Tells somebody what happens, in a thread of its own: a hook that fails or hangs does no harm to the run.

    Parameters
    ----------
    notify : callable or str
        Function of a text, or an address: http:// or https:// gets JSON with `text`, others are given to Apprise.
    what : str, optional
        Name of the messages in the log (default: "notify").
    """

    def __init__(self, notify: Notify | str, what: str = "notify") -> None:
        self._send = notify if callable(notify) else _sender(notify)
        self._what = what
        self._waiting: queue.Queue[str | None] = queue.Queue(maxsize=1_000)
        self._thread = threading.Thread(target=self._work, name="toolkit-notify", daemon=True)
        self._thread.start()

    def tell(self, text: str) -> None:
        """Tell a text soon.

        Parameters
        ----------
        text : str
            What happened.
        """
        try:
            self._waiting.put_nowait(text)
        except queue.Full:
            logging.getLogger("toolkit.run").warning("a message was not sent: a thousand are waiting")

    def close(self) -> None:
        """Wait a few seconds for what was not told yet."""
        self.tell("")
        self._thread.join(FLUSH_S)

    def _work(self) -> None:
        failed = False
        while text := self._waiting.get():
            try:
                self._send(text)
                failed = False
            # Whatever a hook of the user raises.
            except Exception as error:
                if not failed:  # an address holds a secret, so its text is in no message
                    logging.getLogger("toolkit.run").warning("%s failed: %s", self._what, type(error).__name__)
                failed = True


def _sender(address: str) -> Notify:
    if address.startswith(("http://", "https://")):
        return lambda text: httpx.post(address, json={"text": text}, timeout=10).raise_for_status()
    if "://" not in address:
        what = "notify is a function, an address http(s)://… or one of Apprise, such as ntfy://topic"
        raise InputError(what, field="notify", rule="an address", value=None)
    need("apprise")
    import apprise

    service = apprise.Apprise()
    if not service.add(address):
        raise InputError("notify is no address that Apprise knows", field="notify", rule="an address", value=None)

    def send(text: str) -> None:
        if not service.notify(body=text):
            raise OSError("not delivered")

    return send


class Heartbeat:
    """Shows that a run is alive and its venue answers it. Who watches it is alarmed by its absence.

    Parameters
    ----------
    to : str or Path
        An address http(s)://…, which is read every minute, or a file whose time is set every second.
    """

    def __init__(self, to: str | Path) -> None:
        self._path, self._teller, self._every_s = None, None, PING_S
        if str(to).startswith(("http://", "https://")):
            self._teller = Teller(lambda _: httpx.get(str(to), timeout=10).raise_for_status(), "heartbeat")
        elif "://" in str(to):
            what = "heartbeat is a file, or an address http(s)://…"
            raise InputError(what, field="heartbeat", rule="a file or an address", value=None)
        else:
            self._path, self._every_s = Path(to), 1.0
        self._beaten_at = float("-inf")

    def beat(self) -> None:
        """Show it, if it is time."""
        if monotonic() - self._beaten_at < self._every_s:
            return
        self._beaten_at = monotonic()
        if self._teller is not None:
            self._teller.tell("beat")
        elif self._path is not None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._path.touch()
            except OSError:  # its absence is the alarm
                return

    def close(self) -> None:
        """Stop."""
        if self._teller is not None:
            self._teller.close()


class Voice:
    """Says what happens in a run.

    Parameters
    ----------
    run : str
        Name of the run, or of its strategy.
    notify : callable, str or None
        See `Teller`. None tells nobody.
    heartbeat : str, Path or None, optional
        See `Heartbeat` (default: none).
    """

    def __init__(self, run: str, notify: Notify | str | None, heartbeat: str | Path | None = None) -> None:
        self._heartbeat = None if heartbeat is None else Heartbeat(heartbeat)
        self._run = run
        self._teller = None if notify is None else Teller(notify)
        self._told_ms, self._untold = float("-inf"), 0

    def event(self, time_ms: int, kind: str, symbol: str, text: str) -> None:
        """Say that something happened.

        Parameters
        ----------
        time_ms : int
            The venue's time, Unix ms.
        kind : str
            Kind of the event, as in `Results.events`.
        symbol : str
            Product symbol, "" for the whole run.
        text : str
            What happened.
        """
        words = " ".join(filter(None, [kind, symbol, text]))
        told = {"run": self._run, "kind": kind, "symbol": symbol, "venue_ms": time_ms}
        logger = logging.getLogger(LOGGERS.get(kind, "toolkit.run"))
        logger.log(logging.WARNING if kind in LOUD else logging.INFO, "%s: %s", self._run, words, extra=told)
        if self._teller is not None and kind in TOLD:
            self._tell(words)

    def order(self, time_ms: int, symbol: str, text: str) -> None:
        """Say that an order was sent, which is told nobody.

        Parameters
        ----------
        time_ms : int
            The venue's time, Unix ms.
        symbol : str
            Product symbol.
        text : str
            The order and its state.
        """
        told = {"run": self._run, "kind": "ORDER", "symbol": symbol, "venue_ms": time_ms}
        logging.getLogger("toolkit.orders").info("%s: ORDER %s", self._run, text, extra=told)

    def fill(self, time_ms: int, symbol: str, text: str) -> None:
        """Say that an order was filled. Of many fills in a minute the first is told, and then how many there were.

        Parameters
        ----------
        time_ms : int
            The venue's time, Unix ms.
        symbol : str
            Product symbol.
        text : str
            Side, quantity and price.
        """
        told = {"run": self._run, "kind": "FILL", "symbol": symbol, "venue_ms": time_ms}
        logging.getLogger("toolkit.fills").info("%s: FILL %s %s", self._run, symbol, text, extra=told)
        if self._teller is None:
            return
        if time_ms - self._told_ms < FILLS_EVERY_S * 1000:
            self._untold += 1
            return
        more = f" ({self._untold} fills since the last message)" if self._untold else ""
        self._told_ms, self._untold = time_ms, 0
        self._tell(f"FILL {symbol} {text}{more}")

    def _tell(self, words: str) -> None:
        assert self._teller is not None
        self._teller.tell(f"{self._run}: {words}")

    def beat(self) -> None:
        """Show that the run is alive and its venue answers it."""
        if self._heartbeat is not None:
            self._heartbeat.beat()

    def close(self) -> None:
        """Wait for what was not told yet."""
        if self._heartbeat is not None:
            self._heartbeat.close()
        if self._teller is not None:
            self._teller.close()


class JsonLines(logging.Formatter):
    """A log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line.

        Parameters
        ----------
        record : LogRecord
            Record of a logger.
        """
        line: dict[str, Any] = {"time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")}
        line |= {"level": record.levelname, "logger": record.name}
        line |= {name: vars(record)[name] for name in ("run", "kind", "symbol", "venue_ms") if name in vars(record)}
        line["text"] = record.getMessage()
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def log_to(path: Path | None, *, terminal: bool = True) -> None:
    """Write the lines of `toolkit` loggers to the terminal, and as JSON to a file that is rotated.

    Parameters
    ----------
    path : Path or None
        Path of the file, 5 MB with up to 5 older ones beside it. None writes none.
    terminal : bool, optional
        Whether the lines are shown on standard error too (default: True).

    Raises
    ------
    OSError
        If the file can't be written.
    """
    logger = logging.getLogger("toolkit")
    logger.setLevel(logging.INFO)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it has a line for each request
    if terminal:
        shown = logging.StreamHandler()
        shown.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
        logger.addHandler(shown)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        written = RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8")
        written.setFormatter(JsonLines())
        logger.addHandler(written)
