"""Fills of several products, and what the venue does not send with them: asked for once, then known."""

from __future__ import annotations

import sys
import time
from functools import partial

import msgspec
import pandas as pd
import pytest

import toolkit
from toolkit import Session
from toolkit.client.io.flow import Fetch, Flow
from toolkit.errors import InputError
from toolkit.venue.local import LocalVenue


@pytest.fixture
def session() -> Session:
    made = toolkit.connect("local", venue=LocalVenue(clock="manual"))
    made.buy("BTCUSDC", "0.02")
    made.sell("ETHUSDC", "0.5")
    made.sell("BTCUSDC", "0.01")
    made.buy("SOLUSDC", "1")
    return made


def _asked(session: Session, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the paths that the session asks for from now on."""
    paths: list[str] = []
    fetch = session.info._reader.fetch

    def noted(endpoint, query):  # type: ignore[no-untyped-def]
        paths.append(endpoint.path)
        return fetch(endpoint, query)

    monkeypatch.setattr(session.info._reader, "fetch", noted)
    return paths


@pytest.mark.parametrize("exact", [False, True])
def test_fills_of_several_products_are_those_of_each_by_time(session: Session, exact: bool) -> None:
    both = session.fills(["BTCUSDC", "ETHUSDC", "BTCUSDC"], exact=exact)
    every = session.fills(exact=exact)
    expected = every[every["symbol"].isin(["BTCUSDC", "ETHUSDC"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(both, expected)
    assert sorted(both["side"]) == ["BUY", "SELL", "SELL"]
    assert (both["value"] == both["price"] * both["quantity"]).all()


def test_no_products_are_no_question(session: Session) -> None:
    with pytest.raises(InputError, match="symbol is empty"):
        session.fills([])


def test_role_and_type_of_a_fill_are_asked_for_once(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = _asked(session, monkeypatch)
    first = session.fills()
    assert len(paths) == 4  # the fills, those of each role, and the events, which have the types
    paths.clear()
    pd.testing.assert_frame_equal(session.fills(), first)
    assert paths == ["/info/trade/page"]
    assert set(first["role"]) == {"TAKER"}
    assert set(first["type"]) == {"MARKET"}


def test_a_new_fill_gets_its_role_where_others_are_known(session: Session) -> None:
    session.fills()
    other = toolkit.connect("local", venue=session.venue, account=2)
    for side, price in ((session.buy, "62499"), (session.sell, "62501")):
        side("BTCUSDC", "0.003", price)
    other.sell("BTCUSDC", "0.003", "62499", tif="IOC")
    other.buy("BTCUSDC", "0.003", "62501", tif="IOC")
    made = session.fills("BTCUSDC").tail(2)
    assert made[["side", "role", "type"]].to_numpy().tolist() == [["BUY", "MAKER", "LIMIT"], ["SELL", "MAKER", "LIMIT"]]
    assert set(other.fills()["role"]) == {"TAKER"}


def test_tables_cost_a_small_multiple_of_their_queries(session: Session, request: pytest.FixtureRequest) -> None:
    """The ratio of processor time is about 3 for 100 to 200 fills; a table that asks four times costs 15 to 20."""
    # Some packages raise the recursion limit. The depth of each answer is then checked before it is decoded.
    request.addfinalizer(partial(sys.setrecursionlimit, sys.getrecursionlimit()))
    sys.setrecursionlimit(1_000)
    for number in range(96):
        (session.buy if number % 2 else session.sell)("BTCUSDC", "0.002")
    query = (("userAddr", str(session.account)), ("page", "1"), ("pageSize", "500"))

    def bare() -> Flow[object]:
        reply = yield Fetch("GET", "/info/trade/page", query)
        return msgspec.json.decode(reply.body)

    def seconds(call) -> float:  # type: ignore[no-untyped-def]
        begin = time.process_time()
        call()
        return time.process_time() - begin

    session.fills()
    rounds = [(seconds(session.fills), seconds(lambda: session._driver.run(bare()))) for _ in range(25)]
    assert min(one for one, _ in rounds) < 8 * min(one for _, one in rounds)


def test_fills_are_read_when_more_are_known_than_are_kept(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    first = session.fills()
    monkeypatch.setattr("toolkit.client.reads.table_flows._KNOWN_FILLS", 2)
    session.buy("BTCUSDC", "0.01")
    pd.testing.assert_frame_equal(session.fills().head(len(first)), first)
    assert len(session.info._reader.known_fills) == len(first) + 1
    session.sell("BTCUSDC", "0.01")
    assert session.fills()["role"].notna().all()
