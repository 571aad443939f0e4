"""Leaving works beside rows that are damaged, that are there twice, or that belong to somebody else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest

import toolkit
from toolkit import Limits
from toolkit.client.io.transport import Retry
from toolkit.errors import BadAnswer, DataWarning, ToolkitError
from toolkit.research import live
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

Rows = list[dict[str, Any]]
STRANGER = "0x" + "12" * 20
ORDERS, POSITIONS = "/info/order/states", "/info/position/list"
BESIDE: dict[str, Callable[[Rows], Rows]] = {
    "twice": lambda rows: [*rows, rows[0]],
    "a stranger's": lambda rows: [{**rows[0], "userAddr": STRANGER}, *rows],
    "too much open": lambda rows: [{**rows[0], "leaveQty": "99"}, *rows[1:]] if "leaveQty" in rows[0] else rows,
    "damaged": lambda rows: [{**rows[0], "symbolCode": 2, "longSize": "abc"}, *rows] if "longSize" in rows[0] else rows,
}
"""What is done to the rows of an answer. The own rows stay among them."""


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    """A venue where account 0 is long 0.05 BTC and has two bids, and account 1 takes the other side."""
    with LocalVenue(clock="manual", market=False, accounts=2) as made:
        with toolkit.connect(venue=made, account=1) as maker, toolkit.connect(venue=made) as own:
            maker.sell("BTCUSDC", "0.05", price="62500")
            maker.buy("BTCUSDC", "1", price="62400")
            own.buy("BTCUSDC", "0.05", price="62500")
            for price in ("50000", "51000"):
                own.buy("BTCUSDC", "0.01", price=price)
        yield made


def beside(venue: LocalVenue, path: str, change: Callable[[Rows], Rows]) -> Session:
    """Return a session to which the answers of one query come changed."""

    def answered(request: httpx.Request) -> httpx.Response:
        with httpx.Client(transport=venue.transport()) as client:
            answer = client.send(request)
        if request.url.path != path:
            return answer
        body = json.loads(answer.content)
        paged = isinstance(body["data"], dict)
        rows = body["data"]["items"] if paged else body["data"]
        if not rows:
            return answer
        changed = change(rows)
        body["data"] = {**body["data"], "items": changed, "total": len(changed)} if paged else changed
        return httpx.Response(200, content=json.dumps(body).encode())

    retry = Retry(attempts=2, base=0, longest=0)
    return toolkit.connect(venue=venue, transport=httpx.MockTransport(answered), retry=retry)


def left(venue: LocalVenue) -> tuple[int, float]:
    """Return the number of open orders and the size of the position, as the venue has them."""
    with toolkit.connect(venue=venue) as own:
        return len(own.orders(open=True)), float(own.positions()["size"].sum())


@pytest.mark.filterwarnings("ignore::toolkit.errors.DataWarning")
@pytest.mark.parametrize("change", BESIDE.values(), ids=BESIDE)
@pytest.mark.parametrize("path", [ORDERS, POSITIONS])
def test_stop_all_leaves_nothing_beside_such_rows(venue: LocalVenue, path: str, change: Callable[[Rows], Rows]) -> None:
    with beside(venue, path, change) as s:
        s.stop_all(flatten=True)
    assert left(venue) == (0, 0.0)


@pytest.mark.parametrize("symbol", [None, "BTCUSDC"])
@pytest.mark.parametrize("change", BESIDE.values(), ids=BESIDE)
def test_cancel_all_cancels_the_own_orders_beside_such_rows(
    venue: LocalVenue, change: Callable[[Rows], Rows], symbol: str | None
) -> None:
    # What it raises says that others may be open, or that it is not known what was filled.
    with beside(venue, ORDERS, change) as s, suppress(ToolkitError):
        s.cancel_all(symbol)
    assert left(venue) == (0, 0.05)


@pytest.mark.filterwarnings("ignore::toolkit.errors.DataWarning")
@pytest.mark.parametrize("change", BESIDE.values(), ids=BESIDE)
def test_a_position_closes_beside_such_rows(venue: LocalVenue, change: Callable[[Rows], Rows]) -> None:
    with beside(venue, POSITIONS, change) as s:
        s.close_position("BTCUSDC")
    assert left(venue)[1] == 0.0


@pytest.mark.filterwarnings("ignore::toolkit.errors.DataWarning")
@pytest.mark.parametrize("change", BESIDE.values(), ids=BESIDE)
def test_a_run_closes_at_its_end_beside_such_rows(venue: LocalVenue, change: Callable[[Rows], Rows]) -> None:
    with beside(venue, POSITIONS, change) as s, suppress(BadAnswer):  # which ends the run, as nothing is decided by it
        live(lambda ctx, bar: None, s, ["BTCUSDC"], limits=Limits(max_position=1), duration="1m", close_at_end=True)
    assert left(venue)[1] == 0.0


def test_what_was_left_out_is_said(venue: LocalVenue) -> None:
    said = f"Position: userAddr '{STRANGER}' is not 0x.*, 1 of 2 rows are left out"
    with beside(venue, POSITIONS, BESIDE["a stranger's"]) as s, pytest.warns(DataWarning, match=said):
        s.close_position("BTCUSDC")


def test_a_position_that_is_not_proven_to_be_the_own_is_not_closed_and_named(venue: LocalVenue) -> None:
    with beside(venue, POSITIONS, lambda rows: [{**rows[0], "userAddr": STRANGER}]) as s:
        with pytest.raises(BadAnswer, match=f"nothing was sent, because no position can be read.*{STRANGER}"):
            s.close_position("BTCUSDC")
        report = s.stop_all(flatten=True)
    [said] = report[report["outcome"] == "UNKNOWN"]["message"]
    assert said.startswith("other positions may be open.")
    assert left(venue) == (0, 0.05)
