"""Whole transcripts of the client's side of the feed: what it does after each step, and nothing else.

`transcripts.txt` has one scenario in each paragraph. Below each step the indented lines name all that changed: the
topic's events, state, reason and counts, what is sent, what is read from the Info API, why the connection must close,
and when the shell has to act next. Times are in milliseconds and begin at 1000.
The random number of the back-off is 0, so that each pause is half of its bound. "?" is a row that can't be read.

A transcript that differs is a change that users of the feed see. Read it line by line before you write it down.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.client.rows import whole
from toolkit.client.stream.channel_state import AccountState
from toolkit.client.stream.protocol import FeedProtocol
from toolkit.client.stream.updates import FeedEvent, Settings, Topic
from toolkit.protocol.reads import feed as wire
from toolkit.protocol.reads.feed import AOP_RECORDS, RECORDS

PARAGRAPHS = (Path(__file__).parent / "transcripts.txt").read_text(encoding="utf-8").strip().split("\n\n")
SCENARIOS = dict(one.split("\n", 1) for one in PARAGRAPHS)
USER = "0x" + "ab" * 20
FIELDS = {"symbol": "BTCUSDC", "depth": 5, "interval": "60", "userAddress": USER}
SETTINGS: dict[str, Any] = {
    "heartbeat_ms": 10_000,
    "answer_ms": 1_000,
    "backoff_ms": 100,
    "backoff_max_ms": 800,
    "settle_ms": 3_000,
    "linger_ms": 700,
    "rate": None,
    "silence_ms": dict.fromkeys(wire.CHANNELS, 5_000),
}


def row(kind: str, text: str, symbol: str) -> dict[str, Any]:
    """Return a record that a number distinguishes, and for "?" one that can't be read."""
    if text == "?":
        return {"unreadable": 1}
    number = int(text)
    distinct: dict[str, dict[str, Any]] = {
        "ticker": {"s": symbol, "p": text},
        "allTickers": {"s": f"S{text}"},
        "trades": {"symbol": symbol, "filledPx": text, "transactionTime": number},
        "userFilled": {"userAddr": USER, "ordId": 1, "execId": number, "transactionTime": number},
        "userEvent": {"eventType": text, "event": []},
        "candle": {"symbolName": symbol, "intrvl": 60, "timestamp": 60 * number},
        "aopState": {"userAddr": USER, "currency": text},
    }
    return whole(AOP_RECORDS["accounts"] if kind == "aopState" else RECORDS[kind], **distinct[kind])


def contents(kind: str, items: list[str], fields: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a message with these items. A book has them as bids."""
    symbol = fields.get("symbol", "")
    if kind == "orderBook":
        return {**fields, "book": {"bids": [[text, "1"] for text in items], "asks": [["99", "1"]]}}
    rows = [row(kind, text, symbol) for text in items]
    if kind == "candle":
        return {**rows[-1], "recent": rows[:-1]}
    if kind == "aopState":
        return {"userAddr": USER, "aop": {"accounts": rows}}
    whose = {"userAddr": USER} if kind == "userEvent" else {"symbol": symbol} if symbol else {}
    return {**whose, wire.CHANNELS[kind].key: rows[0] if kind == "ticker" else rows}


UNSEEN = {"sequence": 0, "gaps": 0, "duplicates": 0, "resyncs": 0, "attempts": 0, "holes": 0, "left out": 0}
UNSEEN |= {"damaged": False, "received": None, "has data": False, "reconnects": 0, "connect_at_ms": None}
"""What is not written at first, because each topic and client begins with it. Other things begin with ""."""


def observed(topic: Topic) -> dict[str, Any]:
    """Return what a topic shows, by the words of the transcript."""
    name = {
        "trades": "transactionTime",
        "userFilled": "execId",
        "ticker": "p",
        "aopState": "currency",
        "allTickers": "s",
    }
    name |= {"orderBook": "price", "candle": "timestamp", "userEvent": "eventType", "blockHeight": "blockHeight"}
    kind, data = topic.channel.type, topic.data
    if isinstance(data, AccountState):
        kept = [f"{part}/{key[-1]}" for part, held in data.parts.items() for key in held]
    else:
        kept = [repr(one[name[kind]]) for one in data.records()]
    said = [f"{record}.{field}{'!' * bool(text)}" for (record, field), text in data.noticed.items()]
    return {
        "": f"{topic.state} ({topic.reason})",
        **{one: getattr(topic, one) for one in ("sequence", "gaps", "duplicates", "resyncs", "attempts")},
        "holes": getattr(topic.data, "holes", 0),
        "left out": topic.data.dropped,
        "damaged": topic.damaged,
        "received": topic.received_ms,
        "has data": topic.has_data,
        "keeps": " ".join(kept),
        "members": " ".join(f"{name}={value}" for name, value in data.data.items() if name not in ("symbol", "depth")),
        "warns": " ".join(said),
        "error": "" if topic.error is None else topic.error.code,
    }


def shown(event: FeedEvent) -> str:
    """Return an event as the transcript has it: its kind, the state, the number of items, sequence and time."""
    time = "" if event.timestamp_ms is None else f" time {event.timestamp_ms}"
    return f"event {event.kind} {event.state} {len(event.items)} at {event.sequence}{time}"


def sent(text: str) -> str:
    """Return a message to the venue as the transcript has it."""
    message = wire.parse(text)
    return f"sends {message.method} {message.subject.partition('.0x')[0]}".strip()


class Script:
    """Plays a scenario and writes down what changed."""

    def __init__(self, history: bool = True, **settings: Any) -> None:
        random: Any = SimpleNamespace(random=lambda: 0.0)
        self.client = FeedProtocol(Settings(**{**SETTINGS, **settings}), random)
        self.client.fills_history = history
        self.now = 1_000
        self.topics: dict[str, Topic] = {}
        self.seen: dict[str, Any] = {}

    def play(self, action: str) -> str:
        """Return a step with its outcome."""
        word, *rest = action.split()
        if word.partition(":")[0] in wire.CHANNELS:
            self.message(word, *rest)
        else:
            getattr(self, word)(*rest)
        events, lines = self.client.events(), []
        for name, topic in self.topics.items():
            said = [shown(event) for event in events if event.topic is topic]
            said += [text for member, value in observed(topic).items() for text in self._changed(name, member, value)]
            lines += [f"{name}: {', '.join(said)}"] if said else []
        said = [sent(text) for text in self.client.data_to_send(self.now)]
        said += [f"reads {topic.subject.partition('.0x')[0]}" for topic in self.client.take_fills(self.now)]
        said += ["wakes"] if self.client.needs_shell else []
        self.client.needs_shell = False
        for name in ("phase", "reason", "reconnects", "must_close", "connect_at_ms"):
            said += self._changed("", name, getattr(self.client, name))
        said += self._changed("", "due", self.client.deadline())
        lines += [", ".join(said)] if said else []
        return "\n".join(
            [action, *(textwrap.fill(line, 118, initial_indent="  ", subsequent_indent="    ") for line in lines)]
        )

    def _changed(self, kind: str, name: str, value: Any) -> list[str]:
        before, self.seen[kind, name] = self.seen.get((kind, name), UNSEEN.get(name, "")), value
        return [f"{name} {value}".strip()] if before != value else []

    def _receive(self, text: str) -> None:
        self.client.received(text, self.now)

    def subscribe(self, name: str) -> None:
        kind, _, other = name.partition(":")
        channel = wire.CHANNELS[kind]
        fields = {one.name: FIELDS[one.name] for one in channel.fields}
        if other:
            fields |= {"depth": int(other)} if other.isdigit() else {"symbol": other}
        self.topics[name] = self.client.subscribe(channel, fields, self.now)

    def unsubscribe(self, kind: str) -> None:
        self.client.unsubscribe(self.topics[kind], self.now)

    def connecting(self) -> None:
        self.client.connecting()

    def opened(self) -> None:
        self.client.opened(self.now)

    def open(self) -> None:
        self.connecting()
        self.opened()

    def lost(self) -> None:
        self.client.lost(self.now, "reset")

    def wait(self, milliseconds: str) -> None:
        self.now += int(milliseconds)
        self.client.tick(self.now)

    def accept(self, method: str, kind: str) -> None:
        self._receive(wire.acknowledgement(method, self.topics[kind].subject))

    def refuse(self, kind: str, code: str, retry_ms: str = "0") -> None:
        self._receive(wire.refusal("subscribe", int(code), "no", self.topics[kind].subject, int(retry_ms)))

    def message(self, name: str, form: str, sequence: str, *items: str) -> None:
        kind = name.partition(":")[0]
        data = contents(kind, list(items), self.topics[name].fields)
        if form != "untyped":
            data["type"] = {"snapshot": "snapshot", "increment": "incremental"}[form]
        if sequence != "-":
            data["sequence"] = int(sequence)
        self._receive(json.dumps({"channel": kind, "data": data}))

    def text(self, *words: str) -> None:
        self._receive(" ".join(words))

    def filled(self, kind: str, *items: str) -> None:
        topic = self.topics[kind]
        data = contents(kind, list(items), topic.fields)
        for row in data.get("userFills", ()):
            row["role"] = "TAKER"  # the Info API has other fields than the feed
        self.client.filled(topic, data, self.now)

    def failed(self, kind: str, *words: str) -> None:
        self.client.filled(self.topics[kind], None, self.now, " ".join(words))

    def interrupted(self) -> None:
        self.client.interrupted(self.now)

    def watch(self, span_ms: str) -> None:
        self.client.watch_ms = int(span_ms)

    def speed(self, number: str) -> None:
        self.client.speed = lambda: float(number)


def played(title: str) -> str:
    """Return a scenario with the outcomes of now."""
    settings = json.loads(title[title.index("{") :]) if "{" in title else {}
    script = Script(**settings)
    return "\n".join(script.play(line) for line in SCENARIOS[title].splitlines() if not line.startswith(" "))


@pytest.mark.parametrize("title", SCENARIOS)
def test_the_client_does_what_the_transcript_says_and_nothing_else(title: str) -> None:
    assert played(title) == SCENARIOS[title]
