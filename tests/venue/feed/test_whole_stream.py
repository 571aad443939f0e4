"""Every message of every channel: messages add up to what a later snapshot has, and the same commands send the same.

A story of two accounts is played by a generator of whole numbers. The feed's texts are a format that programs read, so
a change of a digest here is a change of what they get: say so in the changelog.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pytest

from tests.venue.simulation.stream import Rng
from tests.venue.traders import Trader
from toolkit.protocol.fields import L
from toolkit.protocol.reads import feed as wire
from toolkit.protocol.reads.channel import Channel
from toolkit.venue.local import LocalVenue

SUBSCRIPTIONS = {
    "symbol": ("BTCUSDC", "ETHUSDC"),
    "depth": (5, 50),
    "interval": ("60", "3600"),
}
SENT: dict[tuple[int, Any], dict[str, tuple[int, str]]] = {
    (6, "usual"): {
        "": (48, "619fc6cdd686"),
        "orderBook": (68, "47ba78a141ff"),
        "candle": (39, "73ba69743863"),
        "trades": (37, "44867304955f"),
        "ticker": (55, "8febf621539d"),
        "allTickers": (44, "581ab7774078"),
        "block": (24, "47a3c4d0cd75"),
        "blockHeight": (15, "d7d1d659cb7f"),
        "aopState": (90, "2d777738e32d"),
        "tx": (53, "576461ff67b8"),
        "orderHist": (46, "d7454ab13ac6"),
        "userFilled": (22, "b71685ef5663"),
        "userEvent": (58, "6d0c17a45d34"),
        "closedPosition": (5, "d0c6bffafa67"),
    },
}


class Story:
    """Two accounts trade, set leverages and exits, are funded, pay funding and close. One reader gets everything."""

    def __init__(self, seed: int, market: Any) -> None:
        self.venue = LocalVenue(clock="manual", market=market, accounts=2, start="2026-01-01 03:55")
        self.rng, self.who = Rng(seed), [Trader(self.venue, 0), Trader(self.venue, 1)]
        self.trade(6)
        self.connection = self.venue.host.feed.open(queue=None)
        self.subscribe()

    def pick(self, *values: Any) -> Any:
        return values[self.rng.below(len(values))]

    def subscribe(self) -> None:
        for channel in (one for one in wire.CHANNELS.values() if one.source is not L):
            for at in range(2):
                known = {name: values[at] for name, values in SUBSCRIPTIONS.items()}
                known["userAddress"] = self.who[at].address
                self.connection.send(wire.subscribe(channel, {one.name: known[one.name] for one in channel.fields}))
                if not channel.fields:
                    break

    def trade(self, rounds: int) -> None:
        """Send orders around the price, closing ones with exits, and let time pass."""
        control = self.venue.control
        for _ in range(rounds):
            who, side, symbol = self.pick(*self.who), self.pick("BUY", "SELL"), self.pick(1, 1, 2)
            base = (62_500, 2_450)[symbol - 1]
            match self.rng.below(12):
                case 0 | 1 | 2 | 3 | 4:
                    price = base + self.rng.below(9) - 4
                    who.place(side, str(price), self.pick("0.01", "0.02", "0.3"), symbol=symbol)
                case 5:
                    who.place(side, "0", "0.05", symbol=symbol)
                case 6:
                    exit_ = {"reduceOnlyOption": self.pick("TP_FROM_POSITION", "SL_FROM_POSITION")}
                    exit_ |= {"triggerPx": str(base + self.pick(-40, 40)), "tpslTriggerType": "MARK_PRICE"}
                    who.place(side, "0", "0.01", symbol=symbol, **exit_)
                case 7:
                    who.act("cancelAll", symbolCode=symbol)
                case 8:
                    who.act("setLeverage", symbolCode=symbol, leverage=self.pick(3, 7, 10))
                case 9:
                    control.set_oracle(("BTCUSDC", "ETHUSDC")[symbol - 1], str(base + self.pick(-30, 0, 30)))
                case 10:
                    control.fund(who.address, self.pick("1", "250.5"))
                case 11:
                    self.venue.advance(self.pick("1ms", "900ms", "3s", "61s", "200s"))

    def play(self) -> list[str]:
        """Return the texts of the story."""
        for _ in range(8):
            self.trade(9)
            self.venue.advance("5s")
        return self.connection.drain()

    def again(self) -> list[str]:
        """Return the snapshots of subscriptions that begin now. The sources start over from the venue's state."""
        self.connection.close()
        self.connection = self.venue.host.feed.open(queue=None)
        self.subscribe()
        return self.connection.drain()


def subject_of(message: dict[str, Any]) -> str:
    """Return which stream a message belongs to."""
    data = message["data"]
    parts = [message["channel"]]
    parts += [str(data[name]) for name in ("symbol", "symbolName", "depth", "intrvl", "userAddr") if name in data]
    return ".".join(parts)


def by_subject(texts: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the data of each stream, oldest first."""
    found: dict[str, list[dict[str, Any]]] = {}
    for message in map(json.loads, texts):
        if "data" in message:
            found.setdefault(subject_of(message), []).append(message["data"])
    return found


def items(data: dict[str, Any], channel: Channel) -> list[dict[str, Any]]:
    """Return the items of a message, oldest first."""
    if channel.key:
        held = data[channel.key]
        return held if isinstance(held, list) else [held]
    return [{name: value for name, value in data.items() if name not in ("type", "sequence")}]


def added_up(messages: list[dict[str, Any]], channel: Channel) -> Any:
    """Return what a reader of these messages has: the plain form of `client.stream`."""
    levels: dict[str, dict[str, str]] = {"bids": {}, "asks": {}}
    keyed: dict[Any, Any] = {}
    rows: list[Any] = []
    for data in messages:
        if channel.style == "levels":
            for side, held in levels.items():
                held.update(data["book"][side])
                levels[side] = {price: size for price, size in held.items() if float(size)}
        elif channel.type == "aopState":
            for part, changed in data["aop"].items():
                for row in changed:
                    name = (part, *(row[key] for key in wire.AOP_RECORDS[part].identity))
                    keyed[name] = row
                    gone = row.get("ordStatus") in ("FILLED", "CANCELED", "REJECTED", "EXPIRED")
                    if gone or (part == "positions" and not float(row["longSize"]) and not float(row["shortSize"])):
                        del keyed[name]
        elif channel.style == "keyed":
            for row in items(data, channel):
                keyed[tuple(row[name] for name in channel.identity)] = row
        elif channel.style == "latest":
            rows = items(data, channel)
        else:
            rows += items(data, channel)
    if channel.style == "levels":
        return {"bids": sorted(levels["bids"].items()), "asks": sorted(levels["asks"].items())}
    return sorted(keyed.items(), key=str) or rows


@pytest.mark.parametrize(("seed", "market"), [(2, False), (3, "usual")])
def test_what_a_reader_has_is_what_a_later_snapshot_holds(seed: int, market: Any) -> None:
    story = Story(seed, market)
    with story.venue:
        followed, later = by_subject(story.play()), by_subject(story.again())
    channels = {name: wire.CHANNELS[name.partition(".")[0]] for name in later}
    begun = {name: channel for name, channel in channels.items() if channel.begins_with_snapshot}
    assert len(begun) == 9, "two books, trades, tickers and accounts, and all tickers"
    for name, channel in begun.items():
        messages, [snapshot] = followed[name], later[name]
        assert [one["sequence"] for one in messages] == list(range(1, len(messages) + 1)), name
        assert snapshot["type"] == "snapshot"
        was, now = added_up(messages, channel), added_up([snapshot], channel)
        if isinstance(now, list):  # a snapshot has the last records
            assert len(now) >= min(len(was), wire.RECENT - 1), name
            was = was[len(was) - len(now) :]
        assert now == was, name


def digests(texts: list[str]) -> dict[str, tuple[int, str]]:
    """Return how many messages each channel had, answers as "", and a digest of their texts without prose."""
    found: dict[str, list[str]] = {}
    for text in texts:
        plain = re.sub(r'"(txMsg|reason)":"[^"]*"', r'"\1":""', text)
        found.setdefault(json.loads(text).get("channel", ""), []).append(plain)
    return {
        channel: (len(each), hashlib.sha256("\n".join(each).encode()).hexdigest()[:12])
        for channel, each in found.items()
    }


@pytest.mark.parametrize(("seed", "market"), SENT)
def test_the_same_commands_give_the_same_messages_everywhere(seed: int, market: Any) -> None:
    story = Story(seed, market)
    with story.venue:
        assert digests(story.play() + story.again()) == SENT[seed, market]
