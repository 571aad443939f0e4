"""A run with a name waits for its venue; one without ends after `max_stale`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

import toolkit
from tests.support.network import Network
from toolkit import research
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"
MINUTE = 60_000


@pytest.mark.parametrize("name", [None, "waits"])
def test_a_run_with_a_name_goes_on_after_an_outage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path))
    with LocalVenue(clock="manual") as venue:
        network, began = Network(venue), venue.host.now_ms()

        def cut(request: httpx.Request) -> None:
            if began + 5 * MINUTE <= venue.host.now_ms() < began + 25 * MINUTE:
                raise httpx.ConnectError("no route", request=request)

        network.before = cut
        targets = iter(range(1, 100))

        def steps(ctx: Any, bar: Any) -> None:
            ctx.target(BTC, "0.01" if next(targets) % 2 else "0.02")

        with toolkit.connect(venue=venue, transport=network) as session:
            limits = toolkit.Limits(max_stale=120, max_orders_per_minute=None)
            run = research.live(steps, session, [BTC], limits=limits, duration="40m", name=name)
            kinds = run.events["kind"].tolist()
            if name is None:
                assert kinds.count("LIMIT") == 1
                assert len(run.equity) < 15
            else:
                told = [kind for kind in kinds if kind in ("PAUSE", "CONTINUE", "END", "LIMIT")]
                assert told == ["PAUSE", "CONTINUE", "END"]
                assert len(run.fills) > 12
                assert session.positions()["size"].iloc[0] == pytest.approx(float(run.positions[BTC].iloc[-1]))


def test_a_run_that_began_with_the_venue_is_continued_without_a_loss_of_its_deposit() -> None:
    def flips(ctx: Any, bar: Any) -> None:
        ctx.target(BTC, "0" if ctx.position(BTC) else "0.01")

    with toolkit.connect(clock="manual") as session:
        options: dict[str, Any] = {"limits": toolkit.Limits(max_loss=100), "duration": "5m", "name": "first"}
        runs = [research.live(flips, session, [BTC], **options) for _ in range(3)]
    assert [run.events["kind"].tolist().count("LIMIT") for run in runs] == [0, 0, 0]
    assert runs[-1].transfers.empty
    assert len(runs[-1].fills) == 15
