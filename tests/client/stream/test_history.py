"""The records that a channel does not show, as they are read from the Info API in the form of a message."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

import toolkit
from tests.client.fake import BTC, META
from toolkit.client.io.flow import Driver, Fetch, Reply, Runtime
from toolkit.client.io.rate_limits import RateLimiter
from toolkit.client.io.transport import Retry
from toolkit.client.reads.catalogue import Catalogue
from toolkit.client.stream.client import history_reader
from toolkit.client.stream.updates import Topic
from toolkit.protocol.reads import feed as wire
from toolkit.protocol.reads.info_queries import ENDPOINTS
from toolkit.venue.local import LocalVenue

USER = "0x" + "ab" * 20
FIELDS = {"symbol": "BTCUSDC", "interval": "60", "userAddress": USER, "depth": 5}


def read(kind: str, answers: dict[str, Any]) -> tuple[Any, list[tuple[str, dict[str, str]]]]:
    """Return what the history of a channel is, and the queries that were sent."""
    sent: list[tuple[str, dict[str, str]]] = []

    def send(fetch: Fetch) -> Reply:
        name = next(name for name, one in ENDPOINTS.items() if one.path == fetch.path)
        sent.append((name, dict(fetch.query)))
        answer = answers[name]
        data = answer(dict(fetch.query)) if callable(answer) else answer
        return Reply(200, json.dumps({"code": 0, "message": "", "data": data}).encode())

    session = SimpleNamespace(
        _driver=Driver(send, Runtime(now=lambda: 5)),
        _delivery=SimpleNamespace(retry=Retry(attempts=1), limiter=RateLimiter(None)),
        _catalogue=Catalogue(),
    )
    reader = history_reader(session)
    assert reader is not None
    channel = wire.CHANNELS[kind]
    return reader(Topic(channel, {one.name: FIELDS[one.name] for one in channel.fields})), sent


@pytest.mark.parametrize("kind", ["ticker", "trades", "orderBook", "userEvent", "block"])
def test_some_channels_have_no_history(kind: str) -> None:
    assert read(kind, {}) == (None, [])


def test_candles_are_the_newest_with_the_ones_before_it_oldest_first() -> None:
    rows = [{"timestamp": at} for at in (240, 180, 120, 60)]
    made, sent = read("candle", {"klines_last": rows})
    assert made == {"timestamp": 240, "recent": [{"timestamp": at} for at in (60, 120, 180)]}
    assert sent == [("klines_last", {"symbol_name": "BTCUSDC", "interval": "60", "limit": "100"})]
    assert read("candle", {"klines_last": []})[0] is None


def test_fills_have_the_names_of_the_feed_and_are_oldest_first() -> None:
    rows = [
        {"id": at, "symbol": 1, "side": 1, "price": "5", "qty": "1", "orderId": 9, "blockTime": at} for at in (2, 1)
    ]
    made, sent = read("userFilled", {"fills": {"total": 2, "items": rows}, "products": META})
    assert [name for name, _ in sent] == ["fills", "products"]
    assert sent[0][1] == {"userAddr": USER, "pageSize": "100"}
    (key,) = made
    assert key == "userFills"
    for row, at in zip(made["userFills"], (1, 2), strict=True):
        assert (row["symbol"], row["symbolCode"], row["transactionTime"]) == ("BTCUSDC", 1, at)
        feed_columns = {field.wire: field.column for field in ENDPOINTS["fills"].record.fields}
        assert "symbol" in feed_columns
    unknown, _ = read("userFilled", {"fills": {"total": 1, "items": [{"symbol": 7}]}, "products": META})
    assert unknown == {"userFills": [{"symbol": 7}]}
    none, sent = read("userFilled", {"fills": {"total": 0, "items": []}})
    assert (none, [name for name, _ in sent]) == ({"userFills": []}, ["fills"]), "no products without a row"


def test_an_account_is_its_wallets_open_orders_and_positions_with_their_leverages() -> None:
    positions = [{"symbolCode": 1, "leverage": "10", "positionMode": "HEDGE", "longSize": "1"}]

    def orders(query: dict[str, str]) -> dict[str, Any]:
        return {"total": 1, "items": [{"ordId": query["status"], "symbol": 1}]}

    made, sent = read(
        "aopState",
        {"wallet_balances": [{"currency": 1}], "positions": positions, "order_states": orders}
        | {"products": {**META, "perpProducts": [BTC]}},
    )
    aop = made["aop"]
    assert list(aop) == ["accounts", "orders", "positions", "settings"]
    assert aop["accounts"] == [{"currency": 1}]
    assert [row["ordId"] for row in aop["orders"]] == ["ORDER_STATUS_UNTRIGGERED", "NEW", "PARTIALLY_FILLED"]
    assert {row["symbol"] for row in (*aop["orders"], *aop["positions"])} == {"BTCUSDC"}
    assert aop["settings"] == [{"symbol": "BTCUSDC", "leverage": ["HEDGE", "10"]}]
    assert [query for name, query in sent if name == "order_states"] == [
        {"userAddr": USER, "status": status, "page": "1", "pageSize": "500"}
        for status in ("ORDER_STATUS_UNTRIGGERED", "NEW", "PARTIALLY_FILLED")
    ]


@pytest.mark.parametrize("trade", ["buy", "sell"])
def test_a_funding_payment_from_before_the_connection_is_listed_once(trade: str) -> None:
    """The feed writes the side by name, the Info API by number."""
    with (
        LocalVenue(clock="manual", market=None, settle_delay=0) as venue,
        toolkit.connect(venue=venue) as session,
    ):
        venue.control.add_liquidity("BTCUSDC", "SELL", "62600", "5")
        venue.control.add_liquidity("BTCUSDC", "BUY", "62400", "5")
        getattr(session, trade)("BTCUSDC", "0.5")
        venue.advance("8h")
        times = session.stream.funding().frame()["time"]
        assert len(times) > 0
        assert times.is_unique
