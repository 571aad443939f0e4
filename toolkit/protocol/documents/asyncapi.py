"""The AsyncAPI 3.0 document: one WebSocket, what a client may send on it, and the messages of every channel."""

from __future__ import annotations

from typing import Any

from ...environments import FEED_PATH
from ..reads.feed import CHANNELS, MAX_DEPTH, Channel, SubscriptionField
from ..reads.feed_records import AOP_RECORDS, RECORDS
from .schemas import ADDRESS, Schema, of_record

_FIELDS: dict[str, Schema] = {
    "symbol": {"type": "string"},
    "depth": {"type": "integer", "minimum": 1, "maximum": MAX_DEPTH},
    "interval": {"type": "string"},
    "userAddress": {"type": "string", "pattern": ADDRESS},
}


def asyncapi(version: str) -> dict[str, Any]:
    """Return the document. The feed's host and port are those the document is read from."""
    here = {"host": {"default": "127.0.0.1"}, "port": {"default": "8645"}}
    messages = {**_client_messages(), **_answers(), **{_name(channel): _data(channel) for channel in CHANNELS.values()}}
    sent, received = list(_client_messages()), [name for name in messages if name not in _client_messages()]
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "Live feed of a perpetual-futures exchange", "version": version},
        "defaultContentType": "application/json",
        "servers": {"venue": {"host": "{host}:{port}", "protocol": "ws", "variables": here}},
        "channels": {
            "feed": {
                "address": FEED_PATH,
                "description": "One connection; a client sends something, such as a ping, at least once a minute",
                "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in messages},
            }
        },
        "operations": {
            "toVenue": _operation("receive", sent),
            "fromVenue": _operation("send", received),
        },
        "components": {"messages": messages},
    }


def _operation(action: str, names: list[str]) -> Schema:
    """Return an operation, as AsyncAPI sees it: of the application that is described, which is the venue."""
    return {
        "action": action,
        "channel": {"$ref": "#/channels/feed"},
        "messages": [{"$ref": f"#/channels/feed/messages/{name}"} for name in names],
    }


def _name(channel: Channel) -> str:
    return f"{channel.type}Data"


def _client_messages() -> Schema:
    subscriptions = [_subscription(channel) for channel in CHANNELS.values()]
    return {
        **{
            method: {
                "payload": {
                    "type": "object",
                    "properties": {"method": {"const": method}, "subscription": {"anyOf": subscriptions}},
                    "required": ["method", "subscription"],
                }
            }
            for method in ("subscribe", "unsubscribe")
        },
        "ping": {"payload": {"type": "object", "properties": {"method": {"const": "ping"}}, "required": ["method"]}},
    }


def _subscription(channel: Channel) -> Schema:
    properties: Schema = {"type": {"const": channel.type}}
    properties |= {field.name: _of_field(field) for field in channel.fields}
    required = ["type", *(field.name for field in channel.fields if field.default is None)]
    return {"type": "object", "properties": properties, "required": required}


def _of_field(field: SubscriptionField) -> Schema:
    found = {**_FIELDS.get(field.name, {"type": "string"}), "description": field.rule}
    return found if field.default is None else {**found, "default": field.default}


def _answers() -> Schema:
    answered = {"method": {"type": "string"}, "success": {"type": "boolean"}, "subject": {"type": "string"}}
    refused = {"code": {"type": "integer"}, "message": {"type": "string"}, "retryAfterMs": {"type": "integer"}}
    return {
        "acknowledgement": {
            "payload": {"type": "object", "properties": {**answered, **refused}, "required": ["method", "success"]}
        },
        "pong": {
            "payload": {"type": "object", "properties": {"channel": {"const": "pong"}}, "required": ["channel"]},
        },
    }


def _data(channel: Channel) -> Schema:
    """Return a data message. Six channels number their messages as published. The others are records that arrive."""
    row: Schema = of_record(RECORDS[channel.type]) if channel.type in RECORDS else {"type": "object"}
    members: Schema = {"type": {"enum": ["snapshot", "incremental"]}, "sequence": {"type": "integer"}}
    if channel.type == "orderBook":
        level = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "string"}]}
        sides = {side: {"type": "array", "items": level} for side in ("bids", "asks")}
        members["book"] = {"type": "object", "properties": sides}
    elif channel.type == "aopState":
        parts = {part: {"type": "array", "items": of_record(record)} for part, record in AOP_RECORDS.items()}
        members["aop"] = {"type": "object", "properties": parts}
    elif channel.key:
        members[channel.key] = {"anyOf": [row, {"type": "array", "items": row}]}
    else:
        members |= row.get("properties", {})
    required = [name for name, has in (("type", channel.typed), ("sequence", channel.sequenced)) if has]
    data: Schema = {"type": "object", "properties": members, **({"required": required} if required else {})}
    return {
        "summary": channel.about,
        "payload": {
            "type": "object",
            "properties": {"channel": {"const": channel.type}, "data": data},
            "required": ["channel", "data"],
        },
    }
