"""The runs of strategies on the session's account, with buttons to stop them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ...client.limits.run_status import Ask, RunStatus
from ...numerals import time_text
from ...research.live_trading.attached import Attached, runs_of
from ..base_panel import static_view
from ..base_panel.number_format import MISSING, signed
from ..base_panel.panel import Panel, confirmed, module

if TYPE_CHECKING:
    from ...plain_session import Session

LOOK_S = 1.0
"""Time between two looks at the files of the runs, at least."""


class Runs(Panel):
    """The runs with a name on the session's account, in whatever program of this machine they run.

    It shows state, positions, profit since the first start, the last event and the end of the agent's approval. A
    button stops a run after a confirmation: its orders are cancelled, its positions stay.

    Parameters
    ----------
    session : Session
        Session with an account.
    """

    _esm = module("base_panel/common.js", "panels/runs.js")

    def __init__(self, session: Session) -> None:
        self.notice = ""
        """The result of the last command, in words."""
        self._shown: list[RunStatus] = []
        self._looked_at = float("-inf")
        super().__init__(session, "runs")
        self.refresh()

    def stop_run(self, name: str, *, flatten: bool = False) -> None:
        """Stop a run: its orders are cancelled. One that is running does so within its next poll.

        Parameters
        ----------
        name : str
            Name of the run.
        flatten : bool, optional
            True closes its positions too (default: False).

        Raises
        ------
        InputError
            If the account has no such run.
        """
        run = Attached(name, runs_of(self._session))
        if run.files.is_running():
            run.files.ask(Ask("stop", flatten))
            self.notice = f"{name} is told to end"
        else:
            left = run.stop(flatten=flatten, session=self._session)
            self.notice = f"{name} has ended. Still open: {'; '.join(left) or 'nothing'}"
        self._looked_at = float("-inf")
        self.refresh()

    def _commands(self) -> dict[str, Any]:
        return {"stop": confirmed(self.stop_run)}

    def _make_view(self) -> dict[str, Any]:
        if time.monotonic() - self._looked_at >= LOOK_S:
            self._looked_at = time.monotonic()
            self._shown = [status for files in runs_of(self._session) if (status := files.read()) is not None]
        return {"rows": [_row(status) for status in self._shown], "notice": self.notice}

    def _lines(self) -> Iterable[str]:
        return (", ".join(f"{row['name']} {row['state']} {row['pnl']}" for row in self.view["rows"]) or "no runs",)

    def _snapshot(self) -> str:
        columns = dict.fromkeys(("name", "state", "positions", "pnl", "event", "until"), "")
        return static_view.heading("Runs") + static_view.records(columns, self.view["rows"])


def _row(status: RunStatus) -> dict[str, Any]:
    held = ", ".join(f"{size} {name}" for name, size in status.positions.items())
    at = f"{time_text(status.event_time)[:16]} " if status.event_time else ""
    return {
        "name": status.name,
        "state": status.state,
        "why": status.why,
        "positions": held or MISSING,
        "pnl": MISSING if status.pnl is None else signed(Decimal(str(status.pnl))),
        "event": f"{at}{status.event}" or MISSING,
        "until": time_text(status.agent_until)[:16] if status.agent_until else MISSING,
        "stoppable": status.state != "ENDED",
    }
