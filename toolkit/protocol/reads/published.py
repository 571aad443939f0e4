"""Messages of the feed exactly as published: which members a channel has, and in which form.

The local venue's rows have further fields, marked [L] in `feed_records`. A message as published leaves them out.
Source: docs/published.md, "WebSocket": one published message of each channel. The forms of values are taken from there:
ids are numbers, hashes come without 0x, and enums as names, except for a transaction's status.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..enums import ENUMS
from .feed import AOP_KEYS, Channel, encode
from .feed_records import AOP_RECORDS, FEED_ORDER_EVENT, RECORDS
from .rows import Record

Data = dict[str, Any]

_EVENT_FIELDS = ("ordId", "clOrdId", "symbol", "ordSide", "execStatus", "ordPx", "execQty", "leavesQty")
"""Fields of a perpOrder in userEvent. Those of other events are not published."""
_OMITTED = {"triggerPx": "0", "reduceOnly": "NONE"}
"""Fields of an open order in aopState that are left out with these values."""


def published_message(channel: Channel, kind: str, sequence: int, data: Mapping[str, Any]) -> str | None:
    """Return a data message as published, None where nothing is: a snapshot of a channel that has none."""
    if kind == "snapshot" and not (channel.typed and channel.sequenced):
        return None
    body: Data = {"type": kind} if channel.typed else {}
    if channel.sequenced:
        body["sequence"] = sequence
    body |= {name: data[name] for name in channel.also if name in data}
    if channel.type == "orderBook":
        body["book"] = data["book"]
    elif channel.type == "aopState":
        body["aop"] = {
            part: [_part(part, row) for row in data["aop"][part]] for part in AOP_KEYS if part in data["aop"]
        }
    elif channel.type == "userEvent":
        body["events"] = [_event(event) for event in data["events"]]
    elif channel.key:
        rows, record = data[channel.key], RECORDS[channel.type]
        columns = channel.columns or record.published
        body[channel.key] = (
            [_row(record, columns, row) for row in rows] if isinstance(rows, list) else _row(record, columns, rows)
        )
    else:
        record = RECORDS[channel.type]
        body |= _row(record, record.published, data)
        if not body:  # there is no block or candle yet
            return None
    return encode({"channel": channel.type, "data": body})


def _part(part: str, row: Mapping[str, Any]) -> Data:
    record = AOP_RECORDS[part]
    if part == "settings":
        return {"symbol": row["symbol"], "leverage": row["leverage"]}
    shown = _row(record, record.published, row)
    return {name: value for name, value in shown.items() if part != "orders" or _OMITTED.get(name) != value}


def _event(event: Mapping[str, Any]) -> Data:
    if event["eventType"] != "perpOrder":
        return dict(event)
    return {**event, "event": [_row(FEED_ORDER_EVENT, _EVENT_FIELDS, row) for row in event["event"]]}


def _row(record: Record, columns: tuple[str, ...], row: Mapping[str, Any]) -> Data:
    fields = record.by_wire
    return {name: _form(fields[name].kind, fields[name].enum, row[name]) for name in columns if name in row}


def _form(kind: str, enum: str, value: Any) -> Any:
    if kind == "id":
        return int(value)
    if kind == "hash":
        return str(value).removeprefix("0x").upper()
    if enum == "transaction_status":
        return ENUMS[enum].number_of[value]
    return ENUMS[enum].text(value) if enum else value
