"""What the feed says of an account is compared with the Info API: a lie heals, and one that is late changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.client.rows import whole
from tests.client.stream.test_protocol import USER, Peer, live_book
from toolkit.client.stream.channel_state import AccountState
from toolkit.client.stream.updates import RECONCILE_MS, SETTLED_MS, Topic
from toolkit.protocol.reads import feed as wire
from toolkit.protocol.reads.feed import AOP_RECORDS, RECORDS

Rows = dict[str, list[dict[str, Any]]]


def order(number: int, **given: Any) -> dict[str, Any]:
    return whole(AOP_RECORDS["orders"], ordId=number, ordStatus="NEW", userAddr=USER, **given)


def position(size: str) -> dict[str, Any]:
    amounts = {"longSize": size, "longEntryValue": size, "shortSize": "0", "shortEntryValue": "0"}
    return whole(AOP_RECORDS["positions"], symbolCode=1, userAddr=USER, **amounts)


def fill(number: int, quantity: str = "1") -> dict[str, Any]:
    return whole(RECORDS["userFilled"], ordId=1, execId=number, transactionTime=number, execQty=quantity, userAddr=USER)


class Account:
    """An account over the feed, whose truth a test sets, and an Info API that is late by some seconds."""

    def __init__(self, late_s: int = 0) -> None:
        self.peer, self.late_s = Peer(), late_s
        self.peer.client.fills_history = True
        self.state, self.log = (self.peer.subscribe(kind, userAddress=USER) for kind in ("aopState", "userFilled"))
        self.truth: Rows = {"accounts": [], "orders": [order(7)], "positions": [position("1")], "settings": []}
        self.fills = [fill(1), fill(2)]
        self.past: list[tuple[Rows, list[Any]]] = []
        self.sequence = 0
        self.down = False
        self.peer.open()
        for topic in (self.state, self.log):
            self.peer.client.received(wire.acknowledgement("subscribe", topic.subject), self.peer.now)
        self.say("snapshot", **self.truth)
        self.say(fills=self.fills)

    def say(self, form: str = "incremental", fills: Any = (), **parts: Any) -> None:
        if parts:
            self.sequence += 1
            self.peer.send("aopState", form, self.sequence, userAddr=USER, timestamp=1, aop=parts)
        if fills:
            self.peer.send("userFilled", "incremental", 0, userFills=list(fills))

    def second(self) -> None:
        self.past.append(({part: list(rows) for part, rows in self.truth.items()}, list(self.fills)))
        # All messages have a sequence, and one that says nothing keeps the account from being silent.
        self.say(accounts=[])
        self.peer.wait(1_000)
        parts, fills = self.past[max(0, len(self.past) - 1 - self.late_s)]
        for topic in self.peer.client.take_fills(self.peer.now):
            data = {"aop": parts} if topic is self.state else {"userFills": fills}
            self.peer.client.filled(topic, None if self.down else data, self.peer.now, "down")

    def shown(self) -> tuple[list[Any], list[Any], list[Any]]:
        assert isinstance(self.state.data, AccountState)
        parts = self.state.data.parts
        sizes = [one["longSize"] for one in parts["positions"].values()]
        logged = [(one["execId"], one["execQty"]) for one in self.log.data.records()]
        return sorted(one["ordId"] for one in parts["orders"].values()), sizes, logged

    def true(self) -> tuple[list[Any], list[Any], list[Any]]:
        fills = [(one["execId"], one["execQty"]) for one in self.fills]
        return (
            [one["ordId"] for one in self.truth["orders"]],
            [one["longSize"] for one in self.truth["positions"]],
            fills,
        )


LIES: dict[str, dict[str, Any]] = {
    "an open order has ended": {"orders": [{"ordId": 7, "ordStatus": "FILLED"}]},
    "an order is open that was cancelled": {"orders": [order(6)]},
    "a position of ten times the size": {"positions": [position("10")]},
    "a position was closed": {"positions": [position("0")]},
    "a fill that never was": {"fills": [fill(9)]},
    "a fill of ten times the size": {"fills": [fill(3, "10")]},
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("at_s", [1, 14, 16, 29])
def test_a_message_that_lies_heals_within_45_seconds(lie: str, at_s: int) -> None:
    account = Account()
    for _ in range(at_s):
        account.second()
    account.fills.append(fill(3))
    account.say(**LIES[lie])
    if not LIES[lie].get("fills"):
        account.say(fills=[fill(3)])
    assert account.shown() != account.true()
    for _ in range((RECONCILE_MS + SETTLED_MS) // 1_000 + 1):
        account.second()
    assert account.shown() == account.true()
    assert account.state.state == "live"
    assert account.state.resyncs == 0


@pytest.mark.parametrize("late_s", [0, 5, 14])
def test_an_info_api_that_is_late_takes_back_nothing(late_s: int) -> None:
    account = Account(late_s)
    for number in range(10, 130):
        account.second()
        if number % 4 == 0:
            gone = account.truth["orders"][0]
            account.truth["orders"] = [order(number)]
            account.truth["positions"] = [position(str(number))]
            account.fills.append(fill(number))
            ended = {**gone, "ordStatus": "CANCELED"}
            account.say(orders=[ended, order(number)], positions=[position(str(number))], fills=[fill(number)])
        assert account.shown() == account.true()


def test_an_info_api_that_fails_or_can_not_be_read_changes_nothing() -> None:
    account = Account()
    account.down = True
    for _ in range(90):
        account.second()
    account.down, account.truth["positions"] = False, [position("1") | {"longSize": "?"}]
    for _ in range(90):
        account.second()
    assert account.shown() == ([7], ["1"], [(1, "1"), (2, "1")])
    assert (account.state.state, account.log.state, account.peer.client.must_close) == ("live", "live-unsequenced", "")


def levels(topic: Topic) -> list[str]:
    return [price for price, _ in topic.data.book.bids.top()]  # type: ignore[attr-defined]


def test_a_book_does_not_stay_behind_a_sequence_that_no_message_reaches() -> None:
    peer, topic = live_book()
    peer.book("snapshot", 10**15, [["99", "1"]], [["100", "1"]])
    for sequence in range(8, 12):
        assert topic.state == "live"
        peer.book("incremental", sequence, [["9", "1"]], [])
    assert topic.state == "resyncing"
    assert "4 messages in a row came after sequence 1000000000000000" in topic.reason
    assert peer.sent() == ["unsubscribe orderBook.BTCUSDC.5", "subscribe orderBook.BTCUSDC.5"]
    peer.book("snapshot", 12, [["10", "1"]], [["11", "1"]])
    assert (topic.state, levels(topic)) == ("live", ["10"])


def test_a_message_that_comes_twice_now_and_then_is_no_reason_to_ask_again() -> None:
    peer, topic = live_book()
    for sequence in range(8, 40):
        peer.book("incremental", sequence, [["9", str(sequence)]], [])
        peer.book("incremental", sequence, [["9", str(sequence)]], [])
    assert (topic.resyncs, topic.duplicates) == (0, 32)


@pytest.mark.parametrize("subject", ["orderBook.BTCUSDC.5", "", "trades.BTCUSDC"])
def test_a_refusal_that_nobody_asked_for_is_ignored(subject: str) -> None:
    peer, topic = live_book()
    peer.client.received(wire.refusal("subscribe", 40003, "no such product", subject), peer.now)
    assert (topic.state, topic.error, peer.client.must_close) == ("live", None, "")
    peer.book("incremental", 8, [["9", "1"]], [])
    assert levels(topic) == ["10", "9"]


@pytest.mark.parametrize("wait_ms", [10**15, 90_000, -5, 2_000])
def test_a_wait_that_a_venue_asks_for_is_bounded(wait_ms: int) -> None:
    peer = Peer(retry_max_ms=60_000)
    topic = peer.subscribe("orderBook", symbol="BTCUSDC", depth=5)
    peer.open()
    peer.client.received(wire.refusal("subscribe", 40220, "slow down", topic.subject, wait_ms), peer.now)
    if wait_ms < 0:
        assert topic.state == "refused"
    else:
        assert topic.retry_at_ms == peer.now + min(wait_ms, 60_000)


def test_a_crossed_book_shows_no_price_until_it_is_whole_again() -> None:
    peer, topic = live_book()
    peer.book("incremental", 8, [["11", "1"]], [])
    assert topic.state == "resyncing"
    assert (levels(topic), topic.data.book.mid) == ([], None)  # type: ignore[attr-defined]
