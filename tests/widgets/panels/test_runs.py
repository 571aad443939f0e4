"""The panel of runs shows those of the account, wherever they run, and stops them after a confirmation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import toolkit
from tests.widgets.page import press
from toolkit import research
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"
LIMITS = toolkit.Limits(max_position=1)


def test_a_run_is_seen_while_it_runs_and_stopped_by_a_second_press(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path))
    seen: list[dict[str, Any]] = []

    class Buys(research.Strategy):
        """Buys once, and looks at the panel as another cell would."""

        def on_bar(self, ctx: Any, bar: Any) -> None:
            if not ctx.position(BTC):
                ctx.buy(BTC, "0.01")
                return
            panel = session.runs()
            press(panel, "stop", name="<b>carry", confirmed=True)
            seen.append({"problem": panel.problem})
            press(panel, "stop", name="carry")
            seen.append({**panel.view["rows"][0], "notice": panel.notice})
            press(panel, "stop", name="carry", confirmed=True)
            seen.append({**panel.view["rows"][0], "notice": panel.notice})
            assert "carry" in panel.snapshot()

    with LocalVenue(clock="manual") as venue, toolkit.connect(venue=venue) as session:
        other = toolkit.connect(venue=venue, account=1)
        run = research.live(Buys, session, [BTC], limits=LIMITS, duration="1h", name="carry")
        assert run.events["text"].str.contains("another program asked for it").any()
        assert len(run.fills) == 1
        problem, before, after = seen
        assert "there is no run '<b>carry'" in problem["problem"]
        assert (before["name"], before["state"], before["stoppable"], before["notice"]) == (
            "carry",
            "RUNNING",
            True,
            "",
        )
        assert before["until"].startswith("2027-01-01")
        assert after["notice"] == "carry is told to end"
        assert session.runs().view["rows"][0]["state"] == "ENDED"
        assert other.runs().view["rows"] == []
        assert repr(session.runs()).startswith("<Runs carry ENDED")
