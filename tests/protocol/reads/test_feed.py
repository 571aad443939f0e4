"""Channel declarations, client messages and their refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire_tables import TABLES
from toolkit.errors import MalformedRequest
from toolkit.protocol.reads import feed

ADDRESS = "0x" + "aB" * 20
GOOD: dict[str, Any] = {"symbol": "BTCUSDC", "depth": 50, "interval": "60", "userAddress": ADDRESS}


def text(subscription: Any, method: str = "subscribe") -> str:
    return json.dumps({"method": method, "subscription": subscription})


def test_every_channel_of_the_table_is_declared() -> None:
    assert set(feed.CHANNELS) == {
        *("orderBook", "candle", "trades", "ticker", "allTickers", "block", "blockHeight", "tx"),
        *("aopState", "orderHist", "userFilled", "closedPosition", "userFunding", "userEvent"),
    }


@pytest.mark.parametrize("channel", feed.CHANNELS.values(), ids=lambda one: one.type)
@pytest.mark.parametrize("method", ["subscribe", "unsubscribe"])
def test_what_a_client_writes_is_what_the_venue_reads(channel: feed.Channel, method: str) -> None:
    fields = channel.parse({one.name: GOOD[one.name] for one in channel.fields})
    written = (feed.subscribe if method == "subscribe" else feed.unsubscribe)(channel, fields)
    read = feed.parse(written)
    assert (read.method, read.channel, read.fields) == (method, channel, fields)
    assert read.subject == channel.subject(fields)


def test_subjects_read_as_published() -> None:
    assert feed.parse(text({"type": "orderBook", "symbol": "BTCUSDC", "depth": 50})).subject == "orderBook.BTCUSDC.50"
    assert feed.parse(text({"type": "orderBook", "symbol": "BTCUSDC"})).subject == "orderBook.BTCUSDC.5"
    assert feed.parse(text({"type": "allTickers"})).subject == "allTickers"
    assert feed.parse(text({"type": "aopState", "userAddress": ADDRESS})).subject == f"aopState.{ADDRESS.lower()}"


def test_ping_needs_nothing_else() -> None:
    assert feed.parse(feed.PING).method == "ping"


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ("", ""),
        ("[1]", ""),
        ('{"method":"subscribe"', ""),
        ('{"method":"watch"}', "method"),
        ('{"method":"subscribe","id":1}', "id"),
        ('{"method":"subscribe"}', "subscription"),
        (text("orderBook"), "subscription"),
        (text({"type": "book"}), "subscription.type"),
        (text({"type": ["book"]}), "subscription.type"),
        (text({"type": "orderBook"}), "subscription.symbol"),
        (text({"type": "orderBook", "symbol": 1}), "subscription.symbol"),
        (text({"type": "orderBook", "symbol": "BTC USDC"}), "subscription.symbol"),
        (text({"type": "orderBook", "symbol": "BTCUSDC", "depth": 0}), "subscription.depth"),
        (text({"type": "orderBook", "symbol": "BTCUSDC", "depth": 201}), "subscription.depth"),
        (text({"type": "orderBook", "symbol": "BTCUSDC", "depth": True}), "subscription.depth"),
        (text({"type": "orderBook", "symbol": "BTCUSDC", "depth": "5"}), "subscription.depth"),
        (text({"type": "orderBook", "symbol": "BTCUSDC", "levels": 5}), "subscription.levels"),
        (text({"type": "candle", "symbol": "BTCUSDC", "interval": 60}), "subscription.interval"),
        (text({"type": "candle", "symbol": "BTCUSDC", "interval": "61"}), "subscription.interval"),
        (text({"type": "aopState", "userAddress": "0x12"}), "subscription.userAddress"),
        (text({"type": "aopState"}), "subscription.userAddress"),
        (text({"type": "allTickers", "symbol": "BTCUSDC"}), "subscription.symbol"),
        (text({"type": "block"}) + " " * feed.MAX_MESSAGE_BYTES, ""),
    ],
)
def test_a_wrong_message_is_refused_by_the_name_of_its_field(message: str, field: str) -> None:
    with pytest.raises(MalformedRequest) as caught:
        feed.parse(message)
    assert caught.value.field == field
    assert str(caught.value)


def test_a_refusal_says_rule_value_and_what_would_pass() -> None:
    with pytest.raises(MalformedRequest) as caught:
        feed.parse(text({"type": "orderBook", "symbol": "BTCUSDC", "depth": 500}))
    assert str(caught.value) == "subscription.depth 500 is not valid: whole number from 1 to 200, for example 5"


@given(st.text() | st.binary())
def test_any_text_is_either_read_or_refused(message: str | bytes) -> None:
    try:
        feed.parse(message)
    except MalformedRequest:
        feed.method_of(message)


def test_venue_messages_have_the_published_shape() -> None:
    assert json.loads(feed.acknowledgement("subscribe", "orderBook.BTCUSDC.50")) == {
        "method": "subscribe",
        "success": True,
        "subject": "orderBook.BTCUSDC.50",
    }
    assert json.loads(feed.refusal("subscribe", 40220, "too many")) == {
        "method": "subscribe",
        "success": False,
        "code": 40220,
        "message": "too many",
    }
    assert json.loads(feed.data_message(feed.CHANNELS["ticker"], "snapshot", 3, {"symbol": "X"})) == {
        "channel": "ticker",
        "data": {"type": "snapshot", "sequence": 3, "symbol": "X"},
    }


def test_the_reference_names_every_channel_once() -> None:
    table = TABLES.channels_table().partition("\n### ")[0].strip()
    assert [row.split("`")[1] for row in table.splitlines()[2:]] == list(feed.CHANNELS)
