"""Every row the feed sends has exactly the fields of its record that are published."""

from __future__ import annotations

import json

import pytest

from tests.venue.traders import Trader
from toolkit.venue.local import LocalVenue


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
