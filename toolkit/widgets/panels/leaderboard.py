"""The leaderboard of a class, live."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ...client.io.flow import Fetch
from ...client.io.transport import read_envelope
from ...errors import InputError, ToolkitError
from ...numerals import time_text
from ..base_panel import static_view
from ..base_panel.number_format import change, money, percent
from ..base_panel.panel import Panel, module

if TYPE_CHECKING:
    import pandas as pd

    from ...plain_session import Session

BOARD_PATH = "/class/board.json"
POLL_SECONDS = 2.0
"""Seconds between two requests. The venue computes the board for all readers at most once per second."""


class Board:
    """The leaderboard as a live object.

    A thread requests it every `POLL_SECONDS`. It has `rows` and `news` as the venue gives them, `time` (Unix ms), and
    what a panel reads of live objects.

    Parameters
    ----------
    session : Session
        Session of a venue with a class.

    Raises
    ------
    InputError
        For a venue without a class.
    TransportError
        When the venue can't be reached.
    """

    subject = "leaderboard"
    age_ms = 0
    errors: tuple[()] = ()

    def __init__(self, session: Session) -> None:
        self._session = session
        self._callbacks: list[Callable[[Any], object]] = []
        self._stopped = threading.Event()
        self._read()
        self._thread = threading.Thread(target=self._poll, name="toolkit-leaderboard", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        reply = self._session._http.send(Fetch("GET", BOARD_PATH))
        envelope = read_envelope(reply, f"GET {BOARD_PATH}")
        if envelope.code != 0:
            raise InputError(f"there is no class here: {envelope.message}", field="venue", rule="a class")
        data: dict[str, Any] = envelope.data
        self.rows, self.news, self.time = data["rows"], data["news"], data["time"]
        self.state, self.reason = "live", ""

    @property
    def stale(self) -> bool:
        """Whether the last request failed."""
        return self.state != "live"

    def _poll(self) -> None:
        while not self._stopped.wait(POLL_SECONDS):
            try:
                self._read()
            except (ToolkitError, KeyError, TypeError) as error:
                self.state, self.reason = "reconnecting", str(error)
            for callback in tuple(self._callbacks):
                callback(self)

    def on_update(self, callback: Callable[[Any], object]) -> None:
        """Call back after each request.

        Parameters
        ----------
        callback : callable
            Called with this object.
        """
        self._callbacks.append(callback)

    def on_state(self, callback: Callable[[Any], object]) -> None:
        """Do nothing: `on_update` covers it.

        Parameters
        ----------
        callback : callable
            Never called.
        """

    def close(self) -> None:
        """Stop the requests."""
        self._stopped.set()


class Leaderboard(Panel):
    """The students of a class by return: equity, drawdown, fees, trades, and the latest news.

    For the teacher and the students of a class. `frame()` returns it as a DataFrame.

    Parameters
    ----------
    session : Session
        Session of a venue with a class.

    Raises
    ------
    InputError
        For a venue that serves no class.
    """

    _esm = module("base_panel/common.js", "base_panel/table.js", "panels/leaderboard.js")

    def __init__(self, session: Session) -> None:
        super().__init__(session, "leaderboard")
        self.live = Board(session)
        self._follow(self.live)
        self.refresh()

    def frame(self) -> pd.DataFrame:
        """Return the leaderboard, best first.

        Returns
        -------
        DataFrame
            `rank`: Int64, missing for too few trades. `name`: string. `equity`: float64, USDC. `return` and `drawdown`:
            float64, ratios (0.1 is 10 %). `fees`: float64, USDC. `trades`: int64. `left_out`: float64, USDC that others
            paid without a trade, which the return does not count. `market` and `classmates`: float64, USDC, the profit
            of trades with the market, and what trades with classmates brought away from the mark.
        """
        import pandas as pd

        columns = ["rank", "name", "equity", "return", "drawdown", "fees", "trades", "left_out", "market", "classmates"]
        whole = {"rank": "Int64", "name": "string", "trades": "int64"}
        frame = pd.DataFrame(self.live.rows, columns=columns)
        return frame.astype(dict.fromkeys(columns, "float64") | whole)

    def _make_view(self) -> dict[str, Any]:
        live = self.live
        news = [[time_text(one["time"])[11:16], one["text"]] for one in live.news[::-1]]
        return {"time": time_text(live.time), "rows": [_row(row) for row in live.rows], "news": news}

    def _lines(self) -> Iterable[str]:
        rows = self.view["rows"]
        first = ", ".join(f"{one['name']} {one['return']}" for one in rows[:3])
        return (f"{len(rows)} students: {first}",)

    def _snapshot(self) -> str:
        columns = {"rank": "", "name": "", "equity": "equity USDC", "return": "", "drawdown": ""}
        columns |= {"fees": "fees USDC", "trades": "", "market": "market USDC", "classmates": "classmates USDC"}
        columns |= {"left_out": "left out USDC"}
        head = static_view.heading("Leaderboard", self.view["time"])
        return head + static_view.records(columns, self.view["rows"], "no students")


_SHOWN: Any = {"equity": money, "return": change, "drawdown": percent, "fees": money, "trades": str,
               "market": money, "classmates": money, "left_out": money}  # fmt: skip


def _row(row: dict[str, Any]) -> dict[str, Any]:
    numbers = {name: show(Decimal(repr(row[name]))) for name, show in _SHOWN.items()}
    rank = "–" if row["rank"] is None else str(row["rank"])
    return {"id": row["name"], "rank": rank, "name": row["name"], **numbers}
