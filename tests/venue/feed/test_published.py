"""The feed sends what is published, field for field and channel by channel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.venue.traders import Trader
from toolkit.protocol.fields import L
from toolkit.protocol.reads import feed as wire
from toolkit.venue.local import LocalVenue

CHANNELS = {name: one for name, one in wire.CHANNELS.items() if one.source is not L}
"""The channels that the exchange publishes."""

LINES = (Path(__file__).parents[2] / "vectors" / "published-feed.jsonl").read_text(encoding="utf-8").splitlines()
PUBLISHED: dict[str, dict[str, Any]] = {one["channel"]: one["message"]["data"] for one in map(json.loads, LINES)}
ONLY_WHEN_SET = {"triggerPx", "reduceOnly"}
"""Fields of an order that are published in the table of fields, not in the example, whose order has neither."""


def shape(value: Any) -> Any:
    """Return a message's members and the kinds of their values; of a list the shape of its first item."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items() if name not in ONLY_WHEN_SET}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def messages() -> dict[str, list[dict[str, Any]]]:
    """Return the data of every channel on a venue where an account trades, is funded and closes."""
    with LocalVenue(clock="manual", market=False, accounts=2) as venue:
        alice, bob = Trader(venue, 0), Trader(venue, 1)
        alice.place("BUY", "61000", "0.1")
        alice.place("BUY", "62000", "0.02")
        bob.place("SELL", "62000", "0.01")
        bob.place("SELL", "63000", "0.01")
        connection = venue.host.feed.open(queue=None)
        for channel in CHANNELS.values():
            fields = {"symbol": "BTCUSDC", "depth": 5, "interval": "60", "userAddress": alice.address}
            connection.send(wire.subscribe(channel, fields))
        bob.place("SELL", "62000", "0.01")
        venue.advance("9h")
        alice.place("SELL", "62000", "0.02")
        bob.place("BUY", "62000", "0.02")
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in CHANNELS}
        for text in connection.drain():
            message = json.loads(text)
            if "data" in message:
                found[message["channel"]].append(message["data"])
        return found


@pytest.fixture(scope="module")
def published() -> dict[str, list[dict[str, Any]]]:
    return messages()


@pytest.mark.parametrize("kind", CHANNELS)
def test_every_channel_has_the_published_shape(kind: str, published: dict[str, list[dict[str, Any]]]) -> None:
    example = PUBLISHED[kind]
    assert published[kind]
    if CHANNELS[kind].style in ("latest", "append", "levels") or kind in ("candle", "allTickers"):
        shapes = [shape(one) for one in published[kind]]
        if kind == "userEvent":  # of the events only perpOrder is published
            shapes = [
                one
                for one, data in zip(shapes, published[kind], strict=True)
                if data["events"][0]["eventType"] == "perpOrder"
            ]
        assert shape(example) in shapes
        for one in shapes if kind != "orderBook" else ():
            assert one == shape(example)
    else:
        assert shape(example) in [shape(one) for one in published[kind] if one["aop"].get("positions")][:1]


@pytest.mark.parametrize("kind", CHANNELS)
def test_a_snapshot_comes_first_where_one_is_published(kind: str, published: dict[str, list[dict[str, Any]]]) -> None:
    types = [one.get("type") for one in published[kind]]
    if CHANNELS[kind].typed and CHANNELS[kind].sequenced:
        assert types[0] == "snapshot"
        assert set(types[1:]) <= {"incremental"}
    else:
        assert set(types) == {PUBLISHED[kind].get("type")}
