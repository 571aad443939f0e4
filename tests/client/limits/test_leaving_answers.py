"""Leaving works beside rows that are damaged, that are there twice, or that belong to somebody else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any

import httpx
import pytest

import toolkit
from tests.support.late import FILLS, LIES, SIZES, Late, cleared, each, held, times
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


@pytest.mark.parametrize("exit", ["close_position", "stop_all"])
def test_positions_that_are_not_proven_to_be_the_own_are_named_and_closed(venue: LocalVenue, exit: str) -> None:
    with beside(venue, POSITIONS, lambda rows: [{**rows[0], "userAddr": STRANGER}]) as s:
        if exit == "close_position":
            with pytest.warns(DataWarning, match=f"{STRANGER}.*Orders of the largest size are sent, which only reduce"):
                assert s.close_position("BTCUSDC").filled == Decimal("0.05")
        else:
            report = s.stop_all(flatten=True)
            assert report[report["kind"] == "position"]["outcome"].tolist() == ["UNKNOWN", "CLOSED"]
            assert f"positions may be open: GET {POSITIONS}: Position: userAddr '{STRANGER}'" in report.to_string()
    assert left(venue)[1] == 0.0


@pytest.mark.parametrize("flatten", [False, True])
@pytest.mark.parametrize("hides", ["margin", "isolated"])
def test_a_position_that_only_the_wallet_shows_is_unknown_and_closed(flatten: bool, hides: str) -> None:
    """Neither the positions nor the orders nor the fills are shown."""
    with LocalVenue(seed=7, clock="manual") as venue:
        network = Late(venue, {})
        network.change = dict.fromkeys((POSITIONS, ORDERS, FILLS), cleared)
        with toolkit.connect(venue=venue, transport=network) as session:
            if hides == "isolated":
                session.exchange.set_margin_mode("BTCUSDC", "ISOLATED")
            session.buy("BTCUSDC", "0.05")
            report = session.stop_all(flatten=flatten)
        assert report["outcome"].iloc[0] == "UNKNOWN"
        assert report["message"].iloc[0].startswith("positions may be open: none is shown, and ")
        assert held(venue) == (0 if flatten else Decimal("0.05"))
        # Nothing can tell what the orders have filled.


MODES = ("ONE_WAY", "HEDGE")
LIED = {name: lie for name, lie in LIES.items() if name not in ("no equity", "ten times the balance")}
LAGS = {f"{path} {late} s late": (path, late) for path in (POSITIONS, ORDERS, FILLS) for late in (5, 120)}
MORE: dict[str, tuple[str, Any]] = {
    "ETH is hidden": (POSITIONS, lambda rows: rows.__delitem__(slice(1, None))),
    "BTC is hidden": (POSITIONS, lambda rows: rows.__delitem__(slice(0, 1))),
    "somebody else's": (POSITIONS, each(userAddr=STRANGER)),
    "damaged": (POSITIONS, each(longSize="abc")),
    "of size 0": (POSITIONS, each(longSize="0", shortSize="0")),
    "a hundredth": (POSITIONS, times("0.01", *SIZES)),
}
OF_ALL = {**LIED, **MORE, **LAGS}
SLOW = [name for name in OF_ALL if name not in ("no position", "positions of ten times the size", "the other side")]


@pytest.mark.filterwarnings("ignore::toolkit.errors.DataWarning")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", [pytest.param(one, marks=pytest.mark.slow if one in SLOW else ()) for one in OF_ALL])
def test_whatever_one_witness_says_everything_is_closed_and_no_wrong_size_is_reported(case: str, mode: str) -> None:
    path, lie = OF_ALL[case]
    for exit in ("stop_all", "close_position"):
        with LocalVenue(clock="manual", market=None, settle_delay=0) as venue:
            for name, mid in (("BTCUSDC", 62_500), ("ETHUSDC", 2_450)):
                venue.control.set_oracle(name, str(mid))
                venue.control.add_liquidity(name, "SELL", str(mid + 1), "50")
                venue.control.add_liquidity(name, "BUY", str(mid - 1), "50")
            network = Late(venue, {path: lie} if isinstance(lie, int) else {})
            with toolkit.connect(venue=venue, transport=network) as session:
                venue.control.set_position_mode(str(session.account), mode)
                session.buy("BTCUSDC", "0.05")
                session.sell("ETHUSDC", "0.5")
                venue.advance("2s")
                network.change = {} if isinstance(lie, int) else {path: lie}
                if exit == "stop_all":
                    report = session.stop_all(flatten=True)
                    network.change, network.seconds = {}, {}
                    closed = report[report["outcome"] == "CLOSED"].set_index(["symbol", "side"])["quantity"]
                    if path == POSITIONS:  # else nothing can tell what its orders filled
                        assert closed.to_dict() == {("BTCUSDC", "LONG"): 0.05, ("ETHUSDC", "SHORT"): 0.5}
                else:
                    for name in ("BTCUSDC", "ETHUSDC"):
                        session.close_position(name)
            assert left(venue)[1] == 0.0


@pytest.mark.parametrize("part", [10, 2])
def test_a_position_that_is_shown_too_small_is_closed_whole(venue: LocalVenue, part: int) -> None:
    def smaller(rows: Rows) -> Rows:
        return [{**row, "longSize": str(Decimal(row["longSize"]) / part)} for row in rows]

    with beside(venue, POSITIONS, smaller) as session:
        assert session.close_position("BTCUSDC")
    with toolkit.connect(venue=venue) as own:
        assert own.positions().empty
        assert len(own.orders(open=True)) == 2, "others stay"
