"""The ticker's figures of 24 hours, compared with the trades themselves."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import ROUND_DOWN, Decimal
from random import Random
from typing import Any

import pytest

from tests.venue.floor import ADA, BOB, CYD, Floor
from tests.venue.traders import Trader
from toolkit.venue.engine.commands import Advance
from toolkit.venue.feed.batches import Batch
from toolkit.venue.feed.candles import ProductTicker
from toolkit.venue.local import LocalVenue
from toolkit.venue.model.constants import DAY, MINUTE_MS


def ticker(venue: LocalVenue) -> dict[str, Any]:
    return ProductTicker(venue.host.core, 1).row


@pytest.fixture
def trade(venue: LocalVenue) -> Callable[[str, str], None]:
    """A trade of two accounts at a price."""
    alice, bob = Trader(venue, 0), Trader(venue, 1)

    def trade(price: str, quantity: str) -> None:
        alice.place("BUY", price, quantity)
        bob.place("SELL", price, quantity)

    return trade


def test_open_and_change_are_those_of_the_first_trade_within_24_hours(
    venue: LocalVenue, trade: Callable[[str, str], None]
) -> None:
    trade("62000", "0.001")
    venue.advance("3h")
    for price in ("62600", "62100", "62300"):
        trade(price, "0.002")
        venue.advance("1h")
    shown = ticker(venue)
    assert [Decimal(shown[name]) for name in ("o", "h", "l", "p", "v")] == [
        62_000, 62_600, 62_000, 62_300, Decimal("0.007")
    ]  # fmt: skip
    assert Decimal(shown["P"]) == (Decimal(300) / 62_000).quantize(Decimal("1e-8"), ROUND_DOWN)
    assert Decimal(shown["tv"]) == Decimal("62000") * Decimal("0.001") + Decimal("187000") * Decimal("0.002")


def test_a_trade_counts_for_24_hours_to_the_minute(venue: LocalVenue, trade: Callable[[str, str], None]) -> None:
    assert venue.host.now_ms() % MINUTE_MS == 0
    trade("62000", "0.001")
    began = venue.host.now_ms()
    venue.advance("1m")
    trade("62400", "0.002")
    venue.advance(until=began + DAY - 1)
    assert (Decimal(ticker(venue)["o"]), Decimal(ticker(venue)["v"])) == (62_000, Decimal("0.003"))
    venue.advance(until=began + DAY)
    assert (Decimal(ticker(venue)["o"]), Decimal(ticker(venue)["v"])) == (62_400, Decimal("0.002"))
    venue.advance(until=began + DAY + MINUTE_MS)
    assert Decimal(ticker(venue)["v"]) == 0
    assert Decimal(ticker(venue)["P"]) == 0


def test_a_closed_position_has_the_funding_it_paid_as_a_negative_number(venue: LocalVenue) -> None:
    from toolkit.venue.feed.account_sources import closed_record

    venue.control.set_oracle("BTCUSDC", "62500")
    venue.control.add_liquidity("BTCUSDC", "BUY", "63200", "5")  # a premium: longs pay
    alice, bob = Trader(venue, 0), Trader(venue, 1)
    bob.place("SELL", "63300", "0.1")
    alice.place("BUY", "63300", "0.1")
    venue.advance("5h")
    paid = venue.host.core.state.history.funding_payments.of(alice.address)
    assert paid
    assert sum(one.amount for one in paid) < 0
    settled = venue.host.core.state.history.funding_rates[1][-1].rate
    assert Decimal(ticker(venue)["lfr"]) == Decimal(settled).scaleb(-8) > 0
    alice.place("SELL", "63200", "0.1")
    (closed,) = venue.host.core.state.history.closed_positions.of(alice.address)
    shown = closed_record(venue.host.core, closed)
    assert Decimal(shown["fundingFees"]) == sum(Decimal(one.amount) for one in paid) / 10**6 < 0
    total = Decimal(shown["closedPnl"]) - Decimal(shown["tradingFees"]) + Decimal(shown["fundingFees"])
    assert Decimal(shown["realisedPnl"]) == total


def test_open_interest_that_goes_without_a_trade_is_told(venue: LocalVenue) -> None:
    """The legs of a hedge are closed against each other; nothing else happens in their product."""
    alice, bob = Trader(venue, 0), Trader(venue, 1)
    venue.control.set_position_mode(alice.address, "HEDGE")
    for side, other in (("BUY", "SELL"), ("SELL", "BUY")):
        bob.place(other, "2450", "10", symbol=2)
        alice.place(side, "2450", "10", symbol=2)
    bob.place("SELL", "62500", "2")
    alice.place("BUY", "62500", "2")
    connection = venue.host.feed.open("reader")
    connection.send('{"method":"subscribe","subscription":{"type":"ticker","symbol":"ETHUSDC"}}')
    connection.drain()
    before = venue.host.core.state.markets[2].open_interest
    venue.control.set_oracle("BTCUSDC", "57000")
    assert venue.host.core.state.markets[2].open_interest < before
    told = [json.loads(text)["data"]["ticker"]["oi"] for text in connection.drain()]
    assert told[-1:] == [ProductTicker(venue.host.core, 2).row["oi"]]


def test_a_ticker_that_follows_commands_is_the_one_that_is_read_afresh() -> None:
    random, floor = Random(0), Floor()
    core = floor.core
    core.record_events(True)
    followed, silent = ProductTicker(core, 1), 0
    for _ in range(400):
        core.events.clear()
        if random.random() < 0.2:
            core.apply(Advance(core.state.time + random.choice([1, 3_000, 61_000, 3_600_000])))
        else:
            side, tick = random.choice(["BUY", "SELL"]), random.randint(-30, 30)
            floor.place(random.choice([ADA, BOB, CYD]), f"{side} 0.01 at {Decimal(600_000 + tick) / 10}")
        before, changed = followed.row, followed.update(Batch(core, core.events))
        fresh = ProductTicker(core, 1).row
        assert followed.row == fresh
        assert changed or fresh == before
        silent += not changed
        bid, ask = core.books.top(1)
        assert fresh["mid"] is None if not (bid and ask) else Decimal(fresh["mid"]) == Decimal(bid + ask) / 20
    assert silent > 50, "an order behind the best price says nothing new"


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
