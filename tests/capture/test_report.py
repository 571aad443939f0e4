"""The files of a capture, whole: what each line of the report and of the fixtures is, from a capture made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.capture.asking import Answered, ChannelCapture, FeedCapture
from tests.capture.comparison import Difference
from tests.capture.findings import Capture, StandIns
from toolkit.protocol.fields import L

ADDRESS = "0x" + "Ab" * 20
WRONG = Difference("/info/a", "equity", "decimal text", "5 (1 of 1 values)")
OWN = Difference("/info/b", "extra", "not declared", "1", source=L)
REPORT = """\
# What this venue answers

- environment: local
- time: now

1 of 3 queries and 1 of 2 channels as declared, 0 queries not served, 1 queries without an answer, \
1 channels without a message.

A mark says who declares a field: the specification [S], the exchange's documents [P], its SDK [K],
or the local venue alone [L], from which another venue may differ.

## Queries

| Query | HTTP | Rows | Result |
|---|---|---|---|
| /info/a | 200 | 4 | 1 difference |
| /info/b [L] | 200 | 0 | 1 difference |
| /info/c | 404 | 0 | 2 differences |
| /info/d | – | – | not asked: no txHash is known |

## Errors

| Request | HTTP | Code | Message |
|---|---|---|---|
| an unknown path | 404 | 404 | no\\|such path |
| a wrong method | 405 | null | no JSON |
| nothing | – | null | no answer |

## Channels

The feed failed: TimeoutError: late

| Channel | Acknowledged | Messages | First | Gaps | Result |
|---|---|---|---|---|---|
| ticker | yes | 6 | snapshot | 2 | as declared |
| block | no answer | 1 | – | – | 1 difference |
| tx | {"success":false} | 0 | – | – | no message |

A channel that does not exist: {"success":false,"code":40003}
Messages of no known form: 7, such as "0"

## Differences

| Where | Field | Declared | Found |  |
|---|---|---|---|---|
| /info/a | equity | decimal text | 5 (1 of 1 values) | [P] |
| /info/b | extra | not declared | 1 | [L] |
| /info/c | HTTP status | 200 | 404 | [P] |
| /info/c | code | 0 | 404 | [P] |
| a wrong method | body | an object | null | [P] |
| block | type | in no message | in 1 of 1 messages | [P] |

## Published fields that are not there

| Where | Field | Declared | Found |  |
|---|---|---|---|---|
"""


def made() -> Capture:
    gone = [Difference("/info/c", "HTTP status", "200", "404"), Difference("/info/c", "code", "0", "404")]
    rows = [{"userAddr": ADDRESS, "at": at} for at in range(4)]
    queries = [
        Answered("a", "GET", "/info/a", (("user", ADDRESS),), 200, {"data": rows}, rows=4, differences=[WRONG]),
        Answered("b", "GET", "/info/b", (), 200, {"data": None}, published=False, differences=[OWN]),
        Answered("c", "GET", "/info/c", (), 404, {"code": 404}, differences=gone),
        Answered("d", "GET", "/info/d", error="not asked: no txHash is known"),
    ]
    body = Difference("a wrong method", "body", "an object", "null")
    errors = [
        Answered("an unknown path", "GET", "/x", (), 404, {"code": 404, "message": "no|such\npath"}),
        Answered("a wrong method", "GET", "/y", (), 405, "text", error="no JSON", differences=[body]),
        Answered("nothing", "GET", "/z", error="no answer"),
    ]
    kind = Difference("block", "type", "in no message", "in 1 of 1 messages")
    channels = [
        ChannelCapture("ticker", "t", {"success": True}, [{"at": at} for at in range(6)], "snapshot", 2),
        ChannelCapture("block", "b", None, [{"at": 9}], "", 3, [kind]),
        ChannelCapture("tx", "x", {"success": False}),
    ]
    feed = FeedCapture({one.channel: one for one in channels}, "TimeoutError: late", {"success": False, "code": 40003})
    feed.unknown = [str(number) for number in range(7)]
    return Capture({"environment": "local", "time": "now"}, queries, errors, feed)


def test_the_report_for_people_has_each_request_channel_and_difference(tmp_path: Path) -> None:
    made().write(tmp_path / "new" / "folder")
    assert (tmp_path / "new" / "folder" / "report.md").read_text(encoding="utf-8") == REPORT


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("0x" + "ab" * 3, "0x000001"),
        ("0X" + "AB" * 3, "0X000001"),
        ("0x" + "ab" * 2 + "c", "0xababc"),  # five digits name nobody
        ("ab" * 12, "1".zfill(24)),
        ("ab" * 11 + "a", "ab" * 11 + "a"),
        ("x" + "ab" * 12, "x" + "ab" * 12),
        (
            {"nonce": 5, "signature": 0.5, "description": "", "reference": [1]},
            {"nonce": 0, "signature": 0, "description": "", "reference": None},
        ),
        ({"0x" + "cd" * 20: ("0x" + "CD" * 20, 7)}, {"0x" + "1".zfill(40): ["0x" + "1".zfill(40), 7]}),
        (["0x" + "ab" * 20, "0x" + "cd" * 20, "0x" + "AB" * 20], ["0x" + at.zfill(40) for at in ("1", "2", "1")]),
        (None, None),
    ],
)
def test_a_stand_in_has_the_form_of_what_it_replaces(given: Any, expected: Any) -> None:
    assert StandIns().clean(given) == expected
