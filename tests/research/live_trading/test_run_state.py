"""A long run reads on from the last row it has read, and counts every fill once."""

from __future__ import annotations

from typing import Any

import pytest

import toolkit
from toolkit import orders
from toolkit.research.account_data import OrderHandle
from toolkit.research.live_trading.run_state import RunState
from toolkit.venue.local import LocalVenue

MINUTES = 30


def test_each_look_reads_only_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        LocalVenue(clock="manual", market=False) as venue,
        toolkit.connect(venue=venue) as session,
        toolkit.connect(venue=venue, account=1) as other,
    ):
        state = RunState(session, ["BTCUSDC"], 60_000, mode="live", dry_run=False)
        state.begin()
        sizes: dict[str, list[int]] = {"fills": [], "orders": []}
        for name in sizes:
            read = getattr(session, name)

            def counted(*args: Any, read: Any = read, name: str = name, **keywords: Any) -> Any:
                table = read(*args, **keywords)
                sizes[name].append(len(table))
                return table

            monkeypatch.setattr(session, name, counted)
        for minute in range(MINUTES):
            made = orders.buy("BTCUSDC", "0.001", price=50_000 + minute)
            receipt = session.place(made)
            handle = OrderHandle(made, receipt.cl_ord_id or 0)
            state.placed.append(handle)
            other.sell("BTCUSDC", "0.001", price=50_000 + minute)
            for _ in range(3):
                state.read_orders()
                venue.advance("20s")
            assert handle.done
        assert state.position_steps["BTCUSDC"] == MINUTES
        assert len(state.new_fills) == MINUTES
        assert max(sizes["fills"]) <= 3
        assert max(sizes["orders"]) <= 3
        assert len(state._seen_fills) <= 3
