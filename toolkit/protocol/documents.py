"""Machine-readable descriptions of the interface, made from its declarations: OpenAPI 3.1 and AsyncAPI 3.0.

The first has the Exchange endpoint with every action, and every Info query; the second one WebSocket, what a client may
send on it, and the messages of every channel. Both are made of JSON schemas (2020-12) of rules, records, parameters.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..environments import FEED_PATH
from .actions import ACTIONS, Action
from .enums import ENUMS
from .fields import INT64_MAX, Address, Bool, DecimalText, EnumName, Field, Int, Items, Object, Rule, Text
from .reads.endpoint import Endpoint, Param
from .reads.feed import CHANNELS, MAX_DEPTH, Channel
from .reads.feed_records import AOP_RECORDS, RECORDS
from .reads.info_queries import ENDPOINTS
from .reads.rows import Record, RecordField

Schema = dict[str, Any]

ADDRESS = "^0[xX][0-9a-fA-F]{40}$"
HASH = "^0[xX][0-9a-fA-F]{64}$"
_DECIMAL = "^-?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)$"
_UNSIGNED = "^([0-9]+(\\.[0-9]*)?|\\.[0-9]+)$"

_TEXT: Schema = {"type": ["string", "null"]}
_NUMBER: Schema = {"type": ["integer", "string", "null"]}
_AMOUNT: Schema = {"type": ["string", "number", "null"]}
_KINDS: dict[str, Schema] = {
    **dict.fromkeys(("price", "quantity", "money", "ratio"), _AMOUNT),
    **dict.fromkeys(("integer", "id", "key", "code", "currency", "ms", "s"), _NUMBER),
    **dict.fromkeys(("text", "symbol", "address", "hash"), _TEXT),
    "bool": {"type": ["boolean", "null"]},
    "object": {},
}
"""Kind of a field of a record → schema of its value. A decimal is text wherever the local venue sends it."""


def _object(properties: Schema, required: Iterable[str] = (), **more: Any) -> Schema:
    """Return the schema of an object with these members."""
    found: Schema = {"type": "object", **more, "properties": properties}
    return {**found, "required": list(required)} if required else found


def of_rule(rule: Rule) -> Schema:
    """Return the schema of what a rule accepts. Rules between fields are not part of it."""
    if isinstance(rule, Object):
        return of_object(rule)
    if isinstance(rule, Items):
        length = {"minItems": rule.minimum, **({"maxItems": rule.maximum} if rule.maximum is not None else {})}
        return {"type": "array", "items": of_object(rule.item), **length}
    found: Schema = {"description": rule.accepts}
    if isinstance(rule, Int):
        bounds = {"minimum": rule.minimum, "maximum": rule.maximum}
        return {**found, "type": ["integer", "string"] if rule.or_text else "integer", **bounds}
    if isinstance(rule, DecimalText):
        return {**found, "type": "string", "pattern": _DECIMAL if rule.sign == "not zero" else _UNSIGNED}
    if isinstance(rule, EnumName):
        return {**found, "type": "string", "enum": list(rule.numbers)}
    if isinstance(rule, Text):
        return {**found, "type": "string", "minLength": rule.minimum, "maxLength": rule.maximum}
    if isinstance(rule, Address):
        return {**found, "type": "string", "pattern": ADDRESS}
    if isinstance(rule, Bool):
        return {**found, "type": "boolean"}
    return {**found, **({"type": "string"} if rule.kind == "string" else {})}


def of_object(declared: Object) -> Schema:
    """Return the schema of an object with known fields. An alias is its own field."""
    properties: Schema = {}
    required: list[str] = []
    for field in declared.fields:
        properties[field.name] = _with_note(field)
        if field.alias:
            properties[field.alias] = {**_with_note(field), "deprecated": True}
        elif field.required:
            required.append(field.name)
    return _object(properties, required, additionalProperties=False)


def _with_note(field: Field) -> Schema:
    schema = of_rule(field.rule)
    if field.note:
        schema["description"] = f"{schema.get('description', '')}; {field.note}".removeprefix("; ")
    return schema


def of_record(record: Record) -> Schema:
    """Return the schema of a row. Fields can be missing and further ones can come, as in every answer of a venue."""
    return _object({field.wire: of_record_field(field) for field in record.fields})


def of_record_field(field: RecordField) -> Schema:
    """Return the schema of one value."""
    about = field.about + (f" ({field.unit})" if field.unit else "")
    if field.enum:
        names = ", ".join(ENUMS[field.enum].names)
        return {"type": ["string", "integer", "null"], "description": f"{about}: {names}, as name or number"}
    return {**_KINDS[field.kind], "description": about}


def of_param(param: Param) -> Schema:
    """Return the schema of a parameter's value."""
    if param.kind in ("integer", "page", "code", "time"):
        found: Schema = {"type": "integer", "minimum": param.low, "maximum": param.high}
        if param.multiple > 1:
            found["multipleOf"] = param.multiple
    elif param.kind == "flag":
        found = {"type": "boolean"}
    elif param.kind in ("choice", "enum"):
        found = {"type": "string", "enum": list(param.choices or ENUMS[param.enum].names)}
    else:
        patterns = {"address": ADDRESS, "hash": HASH}
        found = {"type": "string", **({"pattern": patterns[param.kind]} if param.kind in patterns else {})}
    return found if param.default is None else {**found, "default": param.default}


EXCHANGE_PATH = "/api/v1/exchange"
_HEX: Schema = {"type": "string", "pattern": HASH}
_SIGNATURE = _object(
    {"r": _HEX, "s": _HEX, "v": {"type": "integer", "enum": [27, 28]}}, ("r", "s", "v"), additionalProperties=False
)
_TIME: Schema = {"type": "integer", "minimum": 0}
_CODE: Schema = {"type": "integer", "description": "0 for success; 40003 and above say why a request was refused"}
_ANSWER = _object({"code": _CODE, "message": {"type": "string"}, "data": {}}, ("code", "message", "data"))


def openapi(version: str, server: str = "") -> dict[str, Any]:
    """Return the document; `server` is the address it is served at, "" for the same one."""
    records = {endpoint.record.name: endpoint.record for endpoint in ENDPOINTS.values()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Perpetual-futures exchange",
            "version": version,
            "description": "Queries need no key. An action is signed by an agent or a master: see the page "
            '"Connect from any language" of the documentation for every step in bytes.',
        },
        "servers": [{"url": server or "/"}],
        "paths": {
            EXCHANGE_PATH: {"post": _exchange()},
            **{endpoint.path: {"get": _query(endpoint)} for endpoint in ENDPOINTS.values()},
        },
        "components": {
            "schemas": {
                "Answer": _ANSWER,
                "Signature": _SIGNATURE,
                **{_request_name(action): _request(action) for action in ACTIONS.values()},
                **{name: of_record(record) for name, record in records.items()},
            }
        },
    }


def _request_name(action: Action) -> str:
    return f"{action.type[0].upper()}{action.type[1:]}Request"


def _request(action: Action) -> Schema:
    """Return the schema of an action's envelope."""
    properties: Schema = {
        "action": {**of_object(action.shape), "description": action.summary},
        "signature": _reference("Signature"),
        "nonce": {**_TIME, "maximum": INT64_MAX, "description": "Unix ms, used once by a signer"},
    }
    required = ["action", "signature", "nonce"]
    if action.expiry:
        properties["expiryAfter"] = {**_TIME, "description": "Unix ms; refused after it"}
    if action.vault or action.vault_required:
        properties["vaultAddress"] = {"type": "string", "pattern": ADDRESS}
        required += ["vaultAddress"] if action.vault_required else []
    return _object(properties, required, description=f"Signed by: {action.signer}")


def _exchange() -> Schema:
    return {
        "operationId": "exchange",
        "summary": "Execute a signed action",
        "requestBody": {
            "required": True,
            **_json({"anyOf": [_reference(_request_name(one)) for one in ACTIONS.values()]}),
        },
        "responses": _responses({}),
    }


def _query(endpoint: Endpoint) -> Schema:
    row = _reference(endpoint.record.name)
    items: Schema = {endpoint.items: {"type": "array", "items": row}}
    data: Schema = {"anyOf": [{"type": "null"}, row]}
    if endpoint.shape == "list":
        data = {"type": ["array", "object", "null"], "items": row, "properties": items}
    elif endpoint.shape == "paged":
        data = _object({"total": {"type": "integer"}, **items})
    return {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "description": endpoint.order or endpoint.summary,
        "parameters": [
            {
                "name": one.wire,
                "in": "query",
                "required": one.required,
                "description": one.about,
                "schema": of_param(one),
            }
            for one in endpoint.params.values()
        ],
        "responses": _responses(data),
        **({} if endpoint.published else {"x-local-venue": True}),
    }


def _responses(data: Schema) -> Schema:
    shared = _reference("Answer")
    done = {**_ANSWER, "properties": {**_ANSWER["properties"], "data": data}} if data else shared
    said = "The answer; `code` is 0, or says why the request was refused"
    return {
        "200": {"description": said, **_json(done)},
        "400": {"description": "A malformed request (code 40003)", **_json(shared)},
    }


def _json(schema: Schema) -> Schema:
    return {"content": {"application/json": {"schema": schema}}}


def _reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_FIELDS: dict[str, Schema] = {
    "symbol": {"type": "string"},
    "depth": {"type": "integer", "minimum": 1, "maximum": MAX_DEPTH},
    "interval": {"type": "string"},
    "userAddress": {"type": "string", "pattern": ADDRESS},
}


def asyncapi(version: str) -> dict[str, Any]:
    """Return the document. The feed's host and port are those the document is read from."""
    here = {"host": {"default": "127.0.0.1"}, "port": {"default": "8645"}}
    sent = _client_messages()
    received = _answers() | {f"{channel.type}Data": _data(channel) for channel in CHANNELS.values()}
    messages = sent | received
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
        "operations": {"toVenue": _operation("receive", sent), "fromVenue": _operation("send", received)},
        "components": {"messages": messages},
    }


def _operation(action: str, names: Iterable[str]) -> Schema:
    """Return an operation, as AsyncAPI sees it: of the application that is described, which is the venue."""
    return {
        "action": action,
        "channel": {"$ref": "#/channels/feed"},
        "messages": [{"$ref": f"#/channels/feed/messages/{name}"} for name in names],
    }


def _client_messages() -> Schema:
    subscriptions = {"anyOf": [_subscription(channel) for channel in CHANNELS.values()]}
    wanted = ("method", "subscription")
    messages: Schema = {
        method: {"payload": _object({"method": {"const": method}, "subscription": subscriptions}, wanted)}
        for method in ("subscribe", "unsubscribe")
    }
    return {**messages, "ping": {"payload": _object({"method": {"const": "ping"}}, ("method",))}}


def _subscription(channel: Channel) -> Schema:
    properties: dict[str, Schema] = {"type": {"const": channel.type}}
    for field in channel.fields:
        default = {} if field.default is None else {"default": field.default}
        properties[field.name] = {**_FIELDS.get(field.name, {"type": "string"}), "description": field.rule, **default}
    return _object(properties, ("type", *(field.name for field in channel.fields if field.default is None)))


def _answers() -> Schema:
    answered = {"method": {"type": "string"}, "success": {"type": "boolean"}, "subject": {"type": "string"}}
    refused = {"code": {"type": "integer"}, "message": {"type": "string"}, "retryAfterMs": {"type": "integer"}}
    return {
        "acknowledgement": {"payload": _object({**answered, **refused}, ("method", "success"))},
        "pong": {"payload": _object({"channel": {"const": "pong"}}, ("channel",))},
    }


def _data(channel: Channel) -> Schema:
    """Return a data message. Six channels number their messages as published. The others are records that arrive."""
    row: Schema = of_record(RECORDS[channel.type]) if channel.type in RECORDS else {"type": "object"}
    members: Schema = {"type": {"enum": ["snapshot", "incremental"]}, "sequence": {"type": "integer"}}
    if channel.type == "orderBook":
        level = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "string"}]}
        sides = {side: {"type": "array", "items": level} for side in ("bids", "asks")}
        members["book"] = _object(sides)
    elif channel.type == "aopState":
        parts = {part: {"type": "array", "items": of_record(record)} for part, record in AOP_RECORDS.items()}
        members["aop"] = _object(parts)
    elif channel.key:
        members[channel.key] = {"anyOf": [row, {"type": "array", "items": row}]}
    else:
        members |= row.get("properties", {})
    required = [name for name, has in (("type", channel.typed), ("sequence", channel.sequenced)) if has]
    message = {"channel": {"const": channel.type}, "data": _object(members, required)}
    return {"summary": channel.about, "payload": _object(message, ("channel", "data"))}
