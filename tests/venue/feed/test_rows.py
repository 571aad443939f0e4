"""Every row the feed sends has exactly the fields of its record that are published."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.venue.traders import Trader
from toolkit.protocol.reads.feed import AOP_RECORDS, CHANNELS, RECORDS
from toolkit.venue.local import LocalVenue

DECLARED = {**RECORDS, **{f"aopState.{part}": record for part, record in AOP_RECORDS.items()}}


def rows(message: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the rows of a data message with the names of their records; settings hold theirs in `leverage`."""
    channel, data = message["channel"], message["data"]
    if channel == "orderBook":
        return []  # its levels are lists
    if channel == "aopState":
        found = [(f"aopState.{part}", row) for part, items in data["aop"].items() for row in items]
        return [
            (name, {"symbol": row["symbol"], "posMode": row["leverage"][0], "leverage": row["leverage"][1]})
            if name.endswith("settings")
            else (name, row)
            for name, row in found
        ]
    if CHANNELS[channel].key:
        items = data[CHANNELS[channel].key]
        return [(channel, row) for row in (items if isinstance(items, list) else [items])]
    return [(channel, data)]


def test_every_row_has_exactly_the_published_fields() -> None:
    venue = LocalVenue(clock="manual", market=False, accounts=2)
    alice, bob = Trader(venue, 0), Trader(venue, 1)
    connection = venue.host.feed.open(queue=None)

    def trade() -> None:
        alice.place("BUY", "62000", "0.02")
        bob.place("SELL", "62000", "0.02")
        venue.advance("9h")  # a funding settlement while the position is open
        alice.place("SELL", "62000", "0.02")
        bob.place("BUY", "62000", "0.02")
        alice.place("BUY", "61000", "0.1")

    trade()  # for the snapshots
    for channel in CHANNELS.values():
        fields = {"symbol": "BTCUSDC", "depth": 5, "interval": "60", "userAddress": alice.address}
        subscription = {"type": channel.type, **{field.name: fields[field.name] for field in channel.fields}}
        connection.send(json.dumps({"method": "subscribe", "subscription": subscription}))
    messages = [json.loads(text) for text in connection.drain()]
    trade()  # for the increments
    messages += [json.loads(text) for text in connection.drain()]
    seen = set()
    for message in messages:
        for name, row in rows(message) if "data" in message else ():
            seen.add(name)
            published = {one.wire for one in DECLARED[name].sent}
            published = set(CHANNELS[name].columns) if name == "allTickers" else published
            rare = {one.wire for one in DECLARED[name].sent if one.sparse}
            assert published - rare <= set(row) <= published, name
    assert seen == set(DECLARED) - {"orderBook"}


@pytest.mark.parametrize(("amount", "balance"), [("250", "10250"), ("-250", "9750")])
def test_money_that_comes_or_goes_without_an_order_is_sent(amount: str, balance: str) -> None:
    with LocalVenue(clock="manual", market=False, accounts=1) as venue:
        alice, connection = Trader(venue, 0), venue.host.feed.open(queue=None)
        subscription = {"type": "aopState", "userAddress": alice.address}
        connection.send(json.dumps({"method": "subscribe", "subscription": subscription}))
        connection.drain()
        if amount.startswith("-"):
            venue.control.act(alice.address, {"type": "withdraw", "destination": alice.address, "amount": amount[1:]})
        else:
            venue.control.fund(alice.address, amount)
        [message] = [json.loads(text)["data"] for text in connection.drain()]
        assert message["type"] == "incremental"
        [account] = message["aop"]["accounts"]
        assert (float(account["balance"]), set(message["aop"])) == (float(balance), {"accounts"})


def test_the_state_of_an_address_without_an_account_is_empty_until_it_has_one() -> None:
    with LocalVenue(clock="manual", market=False, accounts=1) as venue:
        connection, stranger = venue.host.feed.open(queue=None), "0x" + "9" * 40
        subscription = {"type": "aopState", "userAddress": stranger}
        connection.send(json.dumps({"method": "subscribe", "subscription": subscription}))
        _, snapshot = [json.loads(text) for text in connection.drain()]
        assert snapshot["data"]["aop"] == {"accounts": [], "positions": [], "settings": [], "orders": []}
        venue.control.fund(stranger, "5")
        [message] = [json.loads(text)["data"] for text in connection.drain()]
        assert [row["balance"] for row in message["aop"]["accounts"]] == ["5"]
