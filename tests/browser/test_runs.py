"""The panel of runs in a browser: a row of a run, and its button that asks before it stops."""

from __future__ import annotations

from typing import Any

import toolkit
from toolkit.session import Session

ROW = {"name": "carry", "state": "RUNNING", "why": "", "positions": "0.01 BTCUSDC", "pnl": "+1.50", "event": "START",
       "until": "2027-01-01 00:00", "stoppable": True}  # fmt: skip


def test_a_run_is_drawn_and_its_stop_is_confirmed(show: Any, session: Session) -> None:
    panel = session.runs()
    page = show(panel)
    page.get_by_text("No run has a name on this account.").wait_for()
    panel.view = {"rows": [ROW, {**ROW, "name": "<b>ended</b>", "state": "ENDED", "stoppable": False}], "notice": ""}
    page.get_by_text("0.01 BTCUSDC").first.wait_for()
    assert page.get_by_text("<b>ended</b>").count() == 1
    page.get_by_role("button", name="Stop carry").click()
    page.get_by_text("Stop carry?").wait_for()
    assert isinstance(panel, toolkit.widgets.Runs)
