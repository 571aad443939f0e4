"""What happens in a run is logged, each kind under its own name."""

from __future__ import annotations

from typing import Any

import pytest

import toolkit
from toolkit.research import Limits, live
from toolkit.venue.local import LocalVenue


def test_orders_fills_events_and_limits_have_a_logger_each(caplog: pytest.LogCaptureFixture) -> None:
    def on_bar(ctx: Any, bar: Any) -> None:
        ctx.target(bar.symbol, "0.1")
        venue.control.set_oracle(bar.symbol, f"{bar.close * 0.97:.1f}")

    with (
        caplog.at_level("INFO", "toolkit"),
        LocalVenue(clock="manual") as venue,
        toolkit.connect(venue=venue) as session,
    ):
        run = live(on_bar, session, ["BTCUSDC"], duration="9m", limits=Limits(max_loss=50))
    assert "LIMIT" in run.events["kind"].tolist()
    lines = {record.name: record.getMessage() for record in caplog.records}
    assert {"toolkit.run", "toolkit.orders", "toolkit.fills", "toolkit.limits"} <= lines.keys()
    assert "equity fell by" in lines["toolkit.limits"]
