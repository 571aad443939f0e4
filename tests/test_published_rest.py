"""Every published answer of the REST interface, read through client, frames, live objects and widgets, in every form.

`vectors/published-rest.jsonl` has one answer of each published shape, with our own values and the source of the shape.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest

import toolkit
from tests import wire_tables
from tests.client.fake import Clock
from tests.client.fake import session as session_of
from tests.client.stream.test_published import PublishedVenue
from tests.wire_tables import TABLES
from toolkit.client.reads import frames
from toolkit.client.reads.reading import meta_rows
from toolkit.errors import EXCHANGE_ERRORS, ExchangeError, exchange_error
from toolkit.orders import buy
from toolkit.protocol.reads import feed, info_queries
from toolkit.protocol.reads.info.products import ProductMeta
from toolkit.research.live_trading.run_results import order_table
from toolkit.session import Session
from toolkit.venue.local import LocalVenue
from toolkit.widgets.base_panel.panel import Panel

LINES = (Path(__file__).parent / "vectors" / "published-rest.jsonl").read_text(encoding="utf-8").splitlines()
ANSWERS = [json.loads(line) for line in LINES]
EXCHANGE = "/api/v1/exchange"
OWNER = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984"
"""Whose rows the answers show."""
DATA = {one["path"]: one["body"]["data"] for one in ANSWERS if one["path"] != EXCHANGE}
ACTION = next(one["body"] for one in ANSWERS if one["path"] == EXCHANGE and one["body"]["code"] == 0)
REFUSALS = [one["body"] for one in ANSWERS if one["path"] == EXCHANGE and one["body"]["code"]]
DISABLED = next(one for one in REFUSALS if one["code"] == 40280)
ENDPOINTS = [endpoint for endpoint in info_queries.ENDPOINTS.values() if endpoint.published]
ORDER = {"symbolCode": 1, "ordPx": "50000", "ordQty": "0.001", "ordSide": "BUY", "ordType": "LIMIT"} | {
    "timeInForce": "GTC"
}
SYMBOLS = {1: "BTCUSDC", 4: "XRPUSDC"}

Row = dict[str, Any]


def rows_of(endpoint: info_queries.Endpoint, data: Any) -> list[Row]:
    return endpoint.rows(data)


def envelope(data: Any) -> bytes:
    return json.dumps({"code": 0, "message": "success", "data": data}, separators=(",", ":")).encode()


def read(endpoint: info_queries.Endpoint, data: Any, *, exact: bool = False) -> pd.DataFrame:
    return frames.frame(endpoint, envelope(data), symbols=SYMBOLS, exact=exact)


def test_every_published_answer_has_a_fixture_with_exactly_its_fields() -> None:
    assert {endpoint.path for endpoint in ENDPOINTS} == set(DATA)
    for endpoint in ENDPOINTS:
        for row in rows_of(endpoint, DATA[endpoint.path]):
            assert set(row) == set(endpoint.record.published), endpoint.path
    for member, record in info_queries.META_RECORDS.items():
        for row in meta_rows(DATA["/info/public/product-meta"][member]):
            assert set(row) == set(record.published), member
    assert all(one["source"].startswith("docs/published.md, ") for one in ANSWERS)


def test_what_is_not_published_is_marked_in_the_reference() -> None:
    table = TABLES.queries_table()
    for endpoint in info_queries.ENDPOINTS.values():
        assert f"`{endpoint.path}` [{endpoint.source}]" in table
        assert f"### {endpoint.record.name} [{endpoint.record.source}]" in table
    published = {endpoint.record.name for endpoint in ENDPOINTS}
    assert all(f"### {record.name} [P]\n" in table for record in info_queries.META_RECORDS.values())
    assert published == {endpoint.record.name for endpoint in info_queries.ENDPOINTS.values() if endpoint.record.known}
    for page, records in (
        (table, [endpoint.record for endpoint in info_queries.ENDPOINTS.values()]),
        (TABLES.channels_table(), [*feed.RECORDS.values(), *feed.AOP_RECORDS.values()]),
    ):
        for record in records:
            heading = f"### {record.name} [{record.source}]\n"
            section = page.partition(heading)[2].partition("###")[0]
            for field in record.fields:
                (line,) = [line for line in section.splitlines() if f"`{field.wire}`" in line.split("|")[:2][-1]]
                assert f"| [{field.source}] |" in line
                assert ("**" in line) == field.needed


def test_the_page_of_the_published_wire_has_the_sources_of_the_declarations() -> None:
    assert wire_tables.page() == wire_tables.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: one.name)
def test_the_local_venue_answers_in_the_published_shape(endpoint: info_queries.Endpoint, local: LocalVenue) -> None:
    query = {name: LOCAL[name] for name in endpoint.params if name in LOCAL}
    query = {name: value for name, value in query.items() if name != "symbol" or endpoint.name == "product"}
    body = json.loads(local.host.gateway.handle("GET", endpoint.path, list(query.items()), b"").body)
    wanted = DATA[endpoint.path]
    assert type(body["data"]) is type(wanted)
    if isinstance(wanted, dict) and endpoint.record is not ProductMeta.declared and endpoint.shape == "paged":
        assert set(wanted) == set(body["data"])
    found = rows_of(endpoint, body["data"])
    assert found
    first = rows_of(endpoint, wanted)[0]
    for row in found:
        for name, value in first.items():
            assert type(row[name]) is type(value), name
        assert set(row) - set(first) == {one.wire for one in endpoint.record.sent if not one.published}


@pytest.mark.parametrize(
    ("action", "more"),
    [
        ({"type": "setLeverage", "symbolCode": 1, "leverage": "7"}, set()),
        ({"type": "setMarginMode", "symbolCode": 1, "marginMode": "ISOLATED"}, set()),
        ({"type": "assignPosMargin", "symbolCode": 1, "assignedPosMargin": "5"}, set()),
        ({"type": "placeOrder", "orders": [ORDER]}, {"results"}),
        ({"type": "cancelAll", "symbolCode": 1, "conditionalOrder": False}, {"results"}),
        ({"type": "registerBuilder", "name": "Desk", "dexChain": "Testnet"}, set()),
        ({"type": "withdraw", "destination": "0x" + "b2" * 20, "amount": "3"}, set()),
    ],
    ids=lambda one: one["type"] if isinstance(one, dict) else "",
)
def test_the_local_venue_answers_actions_in_the_published_shape(action: Row, more: set[str], local: LocalVenue) -> None:
    with local.host.sandbox(), toolkit.connect(venue=local) as session:
        session.exchange.set_margin_mode("BTCUSDC", "ISOLATED" if action["type"] == "assignPosMargin" else "CROSS")
        answer = session.exchange.send(action)
        assert set(answer.data) == {*ACTION["data"], *more}


LOCAL: dict[str, str] = {}


@pytest.fixture(scope="module")
def local() -> Iterator[LocalVenue]:
    """A venue with something of everything."""
    with LocalVenue(clock="manual") as venue, toolkit.connect(venue=venue) as session:
        venue.advance("5m")
        session.place(buy("BTCUSDC", "0.01"))
        session.place(buy("BTCUSDC", "0.01", "50000", tp="70000", sl="45000"))
        with toolkit.connect(venue=venue, account=1) as builder:
            builder.exchange.register_builder("Desk")
            agent = toolkit.Wallet.create().agent
            session.exchange.approve_agent_to_builder(agent, builder.account, "0.0005", 3600)
            vault = str(builder.exchange.vault_create("Carry", "200", "").data["vault"])
            now = venue.host.now_ms()
            LOCAL.update(
                {"symbol": "1", "symbol_name": "BTCUSDC", "interval": "60", "userAddr": str(session.account)},
                agentName="toolkit-bcd4042d", builder=str(builder.account), vaultAddress=vault,
                startTime=str(now - 300_000), endTime=str(now),
            )  # fmt: skip
        yield venue


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda one: str(one["code"]))
@pytest.mark.parametrize("status", [200, 400])
def test_every_published_code_is_its_own_error_with_the_venues_words(refusal: Row, status: int) -> None:
    error = exchange_error(refusal["code"], refusal["message"], data=refusal["data"])
    assert type(error) is EXCHANGE_ERRORS[refusal["code"]]
    assert (error.code, error.message) == (refusal["code"], refusal["message"])
    s = session_of(lambda request: httpx.Response(status, json=refusal), attempts=1)
    with s, pytest.raises(ExchangeError) as caught:
        s.info.wallet_balances()
    assert (type(caught.value), caught.value.code) == (type(error), error.code)


def answer(request: httpx.Request) -> httpx.Response:
    """Answer a request with the fixture of its path; what has none with an empty page."""
    path, query = request.url.path, request.url.params
    if path == EXCHANGE:
        action = json.loads(request.content)["action"]
        return httpx.Response(200, json=ACTION if action["type"] != "setMarginMode" else DISABLED)
    text = json.dumps(DATA.get(path, {"total": 0, "items": []}))
    data = json.loads(re.sub(OWNER, query.get("userAddr", OWNER), text, flags=re.IGNORECASE))
    if isinstance(data, dict) and "items" in data:
        wanted = query.get("status")
        rows = [row for row in data["items"] if wanted in (None, str(row.get("status")))]
        data = {"total": len(rows), "items": rows if query.get("page", "1") == "1" else []}
    return httpx.Response(200, json={"code": 0, "message": "success", "data": data})


@pytest.fixture
def live() -> Iterator[Session]:
    """A session between the published answers and a socket that sends the published messages."""
    clock = Clock(1_781_100_000_000)  # after what the answers show
    with (
        PublishedVenue(0.02) as feed,
        session_of(answer, base_url="http://127.0.0.1:1", ws_url=f"ws://127.0.0.1:{feed.port}", clock=clock) as s,
    ):
        yield s
        for panel in list(Panel.open_panels):
            panel.close()


@pytest.mark.filterwarnings("ignore:the venue sends no marginTableId")
def test_live_objects_begin_with_what_the_info_api_knows(live: Session) -> None:
    fills, history = live.stream.fills(), live.stream.order_history()
    candles = live.stream.candles("BTCUSDC")
    for one, column, value in ((fills, "exec_id", 330871), (history, "order_id", 7700213), (candles, "close", 63120.5)):
        one.wait(lambda shown, column=column, value=value: value in set(shown.frame()[column]))
        assert one.is_live
    shown = fills.frame().set_index("exec_id")
    # What the Info API has goes where its time says; what the socket sends afterwards stands in the order it came.
    assert shown["time"].iloc[: shown.index.get_loc(330871) + 1].is_monotonic_increasing
    assert shown.loc[330871, ["quantity", "tx_hash"]].tolist() == [0.15, "0x" + "4b" * 32]
    history.wait(lambda shown: {7700213, 7700301} <= set(shown.frame()["order_id"]))
    assert set(candles.frame()["close"]) >= {63120.5, 63139.0}


@pytest.mark.filterwarnings("ignore:the venue sends no marginTableId")
@pytest.mark.filterwarnings("ignore:.*only candles from outside the time")  # the document's are of another day
def test_widgets_show_what_is_published(live: Session) -> None:
    panels = {
        "order_book": toolkit.widgets.OrderBook(live, "BTCUSDC", 5),
        "trades": toolkit.widgets.Trades(live, "BTCUSDC"),
        "candles": toolkit.widgets.Candles(live, "BTCUSDC", "1m"),
        "account": toolkit.widgets.Account(live),
        "blotter": toolkit.widgets.Blotter(live),
        "ticket": live.ticket("BTCUSDC", price="63000", quantity="0.01"),
    }
    for panel in panels.values():
        for one in panel._lives:
            one.wait(lambda shown: shown.updates >= 2)
        panel.refresh()
        assert (panel.lock, panel.problem) == ("", ""), panel
    assert panels["order_book"].view["bids"][0][4] == "63138.5"
    assert panels["trades"].view["rows"]
    assert panels["blotter"].view["orders"][0]["id"] == "7700213"
    assert panels["blotter"].view["positions"][0]["symbol"] == "BTCUSDC"
    assert ["Equity", "25,498.20"] in [row[:2] for row in panels["account"].view["rows"]]
    assert panels["ticket"].problems == ()


def test_what_fills_do_not_send_is_read_elsewhere() -> None:
    with (
        LocalVenue(clock="manual", market=False) as venue,
        toolkit.connect(venue=venue) as session,
        toolkit.connect(venue=venue, account=1) as other,
    ):
        session.buy("BTCUSDC", "0.02", price="62000")
        other.sell("BTCUSDC", "0.01", price="62000", tif="IOC")
        venue.advance("1m")
        other.sell("BTCUSDC", "0.01")
        other.buy("BTCUSDC", "0.005", price="63000")
        session.sell("BTCUSDC", "0.005")
        placed = session.info.order_events().groupby("order_id")["time"].min()
        fills, makers, sells = session.fills(), session.fills(role="MAKER"), session.fills(side="SELL")
        orders = order_table(session.orders(), placed, {})
    assert fills["role"].tolist() == ["MAKER", "MAKER", "TAKER"]
    assert fills["type"].tolist() == ["LIMIT", "LIMIT", "MARKET"]
    pd.testing.assert_frame_equal(makers, fills[fills["role"] == "MAKER"].reset_index(drop=True))
    pd.testing.assert_frame_equal(sells, fills[fills["side"] == "SELL"].reset_index(drop=True))
    assert orders["time"].tolist() == placed[orders["order_id"]].tolist()
