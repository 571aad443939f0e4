"""Panels whose positions are contradicted by another witness: they say so, and show what is known and what is not."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

import toolkit
from tests.support.cases import of_all
from tests.support.late import FILLS, LIES, POSITIONS, STATES, Late, held
from toolkit import widgets
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"
pytestmark = pytest.mark.filterwarnings("ignore::toolkit.errors.DataWarning")


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(clock="manual", market=None, settle_delay=0) as made:
        made.control.set_oracle(BTC, "62500")
        for side, price in (("SELL", "62510"), ("BUY", "62490")):
            made.control.add_liquidity(BTC, side, price, "50")
        yield made


def pass_time(venue: LocalVenue, panel: Any, seconds: int, until: str | None = None) -> None:
    """Let time pass as a display shows it, at most until the panel is in doubt."""
    for _ in range(seconds // 5):
        venue.advance("5s")
        panel.refresh()
        if until is not None and until in panel.view["doubt"]:
            break


SAID = ("positions of ten times the size", "no position", "no fill", "ten times the balance")


@pytest.mark.parametrize("case", of_all(SAID, quick=["positions of ten times the size", "no fill"]))
def test_a_panel_says_within_a_minute_what_contradicts_it_and_heals(venue: LocalVenue, case: str) -> None:
    network = Late(venue, {})
    path, lie = LIES[case]
    with toolkit.connect(venue=venue, transport=network) as session:
        session.buy(BTC, "0.05")
        panel = widgets.Blotter(session)
        pass_time(venue, panel, 20)
        assert panel.view["doubt"] == ""
        network.change = {path: lie}
        pass_time(venue, panel, 60, until="fill")
        [row] = panel.view["positions"]
        if path == POSITIONS:
            assert panel.view["doubt"].endswith("orders and fills LONG 0.050")
            assert row["size"].endswith(", or LONG 0.050 by orders and fills")
            assert {row[name] for name in ("entry", "liquidation", "pnl", "margin")} == {"unknown"}
            assert "orders and fills LONG 0.050" in repr(panel)
            assert "orders and fills LONG 0.050" in panel.snapshot()
        elif path == FILLS:
            assert panel.view["doubt"] == "BTCUSDC: orders are filled by 0.050 that no listed fill shows"
        else:  # the feed's wallet is as it was, or was corrected by the other one
            assert panel.view["doubt"] == "" or panel.beat["doubt"].startswith("equity is")
        network.change = {}
        pass_time(venue, panel, 90)
        assert panel.view["doubt"] == ""
        assert [one["size"] for one in panel.view["positions"]] == ["0.05"]


def test_no_panel_shows_a_figure_in_doubt_as_a_fact(venue: LocalVenue) -> None:
    network = Late(venue, {})
    with toolkit.connect(venue=venue, transport=network) as session:
        session.buy(BTC, "0.05")
        account, chart, ticket = widgets.Account(session), widgets.Candles(session, BTC), session.ticket(BTC)
        ticket.quantity, ticket.order_type = "0.01", "MARKET"

        def shown() -> tuple[dict[str, str], list[str], dict[str, str]]:
            for panel in (chart, ticket):
                panel.refresh()
            rows = {row[0]: row[1] for row in account.view["rows"]}
            kinds = [line["kind"] for line in chart.view["lines"]]
            return rows, kinds, {row[0]: row[1] for row in ticket.view["preview"]}

        pass_time(venue, account, 20)
        rows, lines, preview = shown()
        assert "unknown" not in {*rows.values(), preview["Position"], preview["Margin"]}
        assert "entry" in lines
        network.change = dict([LIES["positions of ten times the size"]])
        pass_time(venue, account, 60, until="fill")
        rows, lines, preview = shown()
        assert rows["Unrealised PnL"] == "unknown" != rows["Balance"]
        assert "entry" not in lines
        assert {preview[name] for name in ("Position", "Margin", "Liquidation (est.)")} == {"unknown"}
        assert ticket.view["valid"], "an order is not refused for it"
        ticket.quantity, ticket.quantity_as = "50", "share"
        assert "which is in doubt" in ticket.problems[0].message


MODES = ("ONE_WAY", "HEDGE")
HIDDEN = ("positions of a tenth of the size", "the other side", "no position")


@pytest.mark.parametrize(
    ("case", "mode"), of_all(HIDDEN, MODES, quick=[("no position", "HEDGE"), ("the other side", "ONE_WAY")])
)
def test_a_position_in_doubt_is_closed_by_its_button(venue: LocalVenue, case: str, mode: str) -> None:
    network = Late(venue, {})
    with toolkit.connect(venue=venue, transport=network) as session:
        venue.control.set_position_mode(str(session.account), mode)
        session.buy(BTC, "0.05")
        panel = widgets.Blotter(session, BTC)
        network.change = dict([LIES[case]])
        pass_time(venue, panel, 60, until="fill")
        panel.close_position(BTC, panel.view["positions"][0]["size"])
    assert held(venue) == 0


@pytest.mark.slow
@pytest.mark.parametrize("path", [FILLS, STATES, POSITIONS])
@pytest.mark.parametrize("late", [3, 15, 60])
def test_a_venue_that_shows_one_of_them_late_is_contradicted_by_nothing_for_long(
    venue: LocalVenue, path: str, late: int
) -> None:
    network = Late(venue, {path: late})
    with toolkit.connect(venue=venue, transport=network) as session:
        panel = widgets.Blotter(session)
        pass_time(venue, panel, 20)
        session.buy(BTC, "0.05")
        pass_time(venue, panel, late + 60)
        assert panel.view["doubt"] == ""
        assert [one["size"] for one in panel.view["positions"]] == ["0.05"]
    assert held(venue) == Decimal("0.05")
