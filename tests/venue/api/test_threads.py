"""One venue, many threads: trading, querying, reading the feed and moving time at once."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable
from typing import Any

from tests.venue.wallets import Signer
from toolkit.venue import development
from toolkit.venue.local import LocalVenue

QUERIES = (
    "/info/public/product-meta?",
    "/info/account/wallet?userAddr={}",
    "/info/trade/page?userAddr={}",
    "/info/order/states?userAddr={}",
    "/info/kline/last?symbol_name=BTCUSDC&interval=60",
    "/info/vault/list?",
)


def test_concurrent_trading_querying_and_reading_keeps_every_invariant() -> None:
    before = set(threading.enumerate())
    venue = LocalVenue(accounts=3)
    masters = [Signer(development.account(index)) for index in range(3)]
    agents = [Signer(development.account(10 + index)) for index in range(3)]
    for master, agent in zip(masters, agents, strict=True):
        action = {"type": "approveAgent", "agentAddress": agent.address, "agentName": "a", "validitySeconds": 0}
        assert master.do(venue, {**action, "dexChain": "Testnet"})["code"] == 0
    answers: list[dict[str, Any]] = []
    received: list[str] = []

    def trade(agent: Signer) -> None:
        dice = random.Random(agent.address)
        for _ in range(80):
            item = {"symbolCode": 1, "ordPx": str(dice.randint(61_000, 64_000)), "ordQty": "0.001", "ordType": "LIMIT"}
            item |= {"ordSide": dice.choice(["BUY", "SELL"]), "timeInForce": dice.choice(["GTC", "IOC"])}
            answers.append(agent.do(venue, {"type": "placeOrder", "orders": [item]}))

    def query() -> None:
        for number in range(120):
            path, _, query = QUERIES[number % len(QUERIES)].format(masters[number % 3].address).partition("?")
            answers.append(dict(json.loads(venue.host.gateway.handle("GET", path, query).body)))

    def listen() -> None:
        connection = venue.host.feed.open("127.0.0.1")
        for depth in (5, 20):
            subscription = {"type": "orderBook", "symbol": "BTCUSDC", "depth": depth}
            connection.send(json.dumps({"method": "subscribe", "subscription": subscription}))
        for _ in range(100):
            venue.host.catch_up()
            received.extend(connection.drain())
        connection.close()

    def move() -> None:
        for _ in range(20):
            venue.advance("5s")

    work: list[Callable[[], None]] = [*(lambda agent=agent: trade(agent) for agent in agents), query, listen, move]
    threads = [threading.Thread(target=each) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(answers) == 3 * 80 + 120
    assert {answer["code"] for answer in answers} <= {0, 40230}
    assert len(received) > 2
    venue.host.core.check()
    venue.close()
    assert set(threading.enumerate()) <= before
