"""Machine-readable descriptions of the interface, made from its declarations: OpenAPI 3.1 and AsyncAPI 3.0.

The first has the Exchange endpoint with every action, and every Info query. The second one WebSocket, what a client may
send on it, and the messages of every channel. Both are made of JSON schemas (2020-12) of rules, records, parameters.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..environments import EXCHANGE_PATH, FEED_PATH
from ..errors import capital
from .actions import ACTIONS, Action
from .enums import ENUMS
from .fields import INT64_MAX, Address, Bool, DecimalText, EnumName, Field, Int, Items, Object, Rule, Text
from .reads.channel import MAX_DEPTH, Channel
from .reads.endpoint import Endpoint, Param
from .reads.feed import AOP_RECORDS, CHANNELS, RECORDS
from .reads.info_queries import ENDPOINTS, META_RECORDS
from .reads.rows import Record, RecordField, Row

Schema = dict[str, Any]

ADDRESS = "^0[xX][0-9a-fA-F]{40}$"
HASH = "^0[xX][0-9a-fA-F]{64}$"
_DECIMAL = "^-?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)$"
_UNSIGNED = "^([0-9]+(\\.[0-9]*)?|\\.[0-9]+)$"


def _object(properties: Schema, required: Iterable[str] = (), **more: object) -> Schema:
    """Return the schema of an object with these members."""
    found: Schema = {"type": "object", **more, "properties": properties}
    return {**found, "required": list(required)} if required else found


def of_rule(rule: Rule) -> Schema:
    """Return the schema of what a rule accepts.

    Rules between fields are not part of it.

    Parameters
    ----------
    rule : Rule
        Rule of a field.
    """
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
    """Return the schema of an object with known fields.

    An alias is its own field.

    Parameters
    ----------
    declared : Object
        Declaration of the object.
    """
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
        schema["description"] = ". ".join(map(capital, filter(None, (schema.get("description"), field.note))))
    return schema


def of_record(record: Record, *, required: bool = True) -> Schema:
    """Return the schema of a row as the local venue sends it.

    Further fields can come.

    Parameters
    ----------
    record : Record
        Declaration of the row.
    required : bool, optional
        True lists the fields as required. Increments of the feed may leave some out (default: `True`).
    """
    properties = {field.wire: of_record_field(field) for field in record.sent}
    return _object(properties, properties if required else ())


def of_record_field(field: RecordField) -> Schema:
    """Return the schema of one value.

    A decimal number is text.

    Parameters
    ----------
    field : RecordField
        Declaration of the field.
    """
    about = field.about + (f" ({field.unit})" if field.unit else "")
    if field.enum:
        numbers = {name: number for number, name in sorted(ENUMS[field.enum].name_of.items())}
        shown = [f"{number} {name}" for name, number in numbers.items()] if field.json == "integer" else numbers
        about = f"{about}: {', '.join(shown)}"
    kind = [field.json, "null"] if field.null else field.json
    return {"type": kind, "description": about, "x-source": field.source}


def of_param(param: Param) -> Schema:
    """Return the schema of a parameter's value.

    Parameters
    ----------
    param : Param
        Declaration of the parameter.
    """
    if param.kind in ("integer", "page", "code", "time"):
        found: Schema = {"type": "integer", "minimum": param.low, "maximum": param.high}
        if param.multiple > 1:
            found["multipleOf"] = param.multiple
    elif param.kind == "flag":
        found = {"type": "boolean"}
    elif param.enum and not param.by_name and ENUMS[param.enum].name_of:
        # The local venue takes the names too, which the exchange does not publish here.
        found = {"type": "integer", "enum": sorted(ENUMS[param.enum].name_of)}
    elif param.kind in ("choice", "enum"):
        found = {"type": "string", "enum": list(ENUMS[param.enum].names if param.enum else param.choices)}
    else:
        patterns = {"address": ADDRESS, "hash": HASH}
        found = {"type": "string", **({"pattern": patterns[param.kind]} if param.kind in patterns else {})}
    return found if param.default is None else {**found, "default": param.default}


def proto() -> bytes:
    """Return `proto/exchange.proto`, the messages that agents sign. A wheel has it within the package."""
    places = [above / "proto" / "exchange.proto" for above in Path(__file__).parents[1:3]]
    return next(place for place in places if place.is_file()).read_bytes()


_HEX: Schema = {"type": "string", "pattern": HASH}
_SIGNATURE = _object(
    {"r": _HEX, "s": _HEX, "v": {"type": "integer", "enum": [27, 28]}}, ("r", "s", "v"), additionalProperties=False
)
_TIME: Schema = {"type": "integer", "minimum": 0}
_CODE: Schema = {"type": "integer", "description": "0 for success, 40003 and above say why a request was refused"}
_ANSWER = _object({"code": _CODE, "message": {"type": "string"}, "data": {}}, ("code", "message", "data"))


def openapi(version: str) -> dict[str, Any]:
    """Return the document of a local venue, whose answers have one type for each field.

    It is served at the address of the venue. `x-source` marks who says that a field exists, as `sources.Source` does.

    Parameters
    ----------
    version : str
        Version of the toolkit.

    Returns
    -------
    dict
        OpenAPI 3.1 document, ready for JSON.
    """
    records = {one.record.name: one.record for one in ENDPOINTS.values()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Perpetual-futures exchange",
            "version": version,
            "description": "Queries need no key. An action is signed by an agent or a master: see the page "
            '"Connect from any language" of the documentation for every step in bytes.',
        },
        "servers": [{"url": "/"}],
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
        properties["expiryAfter"] = {**_TIME, "description": "Unix ms, after which the request is refused"}
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


def _data_of(endpoint: Endpoint[Row]) -> Schema:
    """Return the schema of the data in the answer to a query."""
    row = _reference(endpoint.record.name)
    rows: Schema = {"type": "array", "items": row}
    if endpoint.shape == "list":
        return rows
    if endpoint.shape == "one" and endpoint.items == "items":
        return {"anyOf": [row, {"type": "null"}]} if endpoint.null else row
    members: Schema = {"total": {"type": "integer"}} if endpoint.shape == "paged" else _meta()
    members[endpoint.items] = rows
    if endpoint.beside:
        members |= of_record(endpoint.beside.declared)["properties"]
    return _object(members, members)


def _meta() -> Schema:
    """Return the schemas of the members other than the products. A margin table has a row for each tier."""
    number, *tier = META_RECORDS["marginTables"].fields
    row = {field.wire: of_record_field(field) for field in tier}
    tiers = {"riskLimitVo": {"type": "array", "items": _object(row, row)}}
    table = _object({number.wire: of_record_field(number), **tiers}, (number.wire, *tiers))
    currency = of_record(META_RECORDS["currencies"])
    return {"marginTables": {"type": "array", "items": table}, "currencies": {"type": "array", "items": currency}}


def _query(endpoint: Endpoint[Row]) -> Schema:
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
        "responses": _responses(_data_of(endpoint)),
        **({} if endpoint.published else {"x-local-venue": True}),
    }


def _responses(data: Schema) -> Schema:
    shared = _reference("Answer")
    done = {**_ANSWER, "properties": {**_ANSWER["properties"], "data": data}} if data else shared
    said = "The answer. Another `code` than 0 says why the request was refused. `data` is null then"
    return {
        "200": {"description": said, **_json(done)},
        "400": {"description": "A malformed request (code 40003)", **_json(shared)},
    }


def _json(schema: Schema) -> Schema:
    return {"content": {"application/json": {"schema": schema}}}


def _reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def keys_schema() -> dict[str, Any]:
    """Return the JSON schema of the file that `toolkit venue --keys-file` writes."""
    text: Schema = {"type": "string"}
    number: Schema = {"type": "integer"}
    pair = {"address": {**text, "pattern": ADDRESS}, "private_key": _HEX}
    keys = _object(pair, pair)
    row = {"number": number, "name": text, "balance": text, "master": keys, "agent": keys}
    members = {**dict.fromkeys(("base_url", "ws_url", "dex_chain", "mnemonic"), text), "chain_id": number}
    members["accounts"] = {"type": "array", "items": _object(row, row)}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_object(members, members)}


_FIELDS: dict[str, Schema] = {
    "symbol": {"type": "string"},
    "depth": {"type": "integer", "minimum": 1, "maximum": MAX_DEPTH},
    "interval": {"type": "string"},
    "userAddress": {"type": "string", "pattern": ADDRESS},
}


def asyncapi(version: str) -> dict[str, Any]:
    """Return the document of the feed.

    Its host and port are those the document is read from.

    Parameters
    ----------
    version : str
        Version of the toolkit.

    Returns
    -------
    dict
        AsyncAPI 3.0 document, ready for JSON.
    """
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
                "description": "One connection. A client sends something, such as a ping, at least once per minute",
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
    row: Schema = {"type": "object"}
    if channel.type in RECORDS:
        row = of_record(RECORDS[channel.type], required=False)
    members: Schema = {"type": {"enum": ["snapshot", "incremental"]}, "sequence": {"type": "integer"}}
    if channel.type == "orderBook":
        level = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "string"}]}
        sides = {side: {"type": "array", "items": level} for side in ("bids", "asks")}
        members["book"] = _object(sides)
    elif channel.type == "aopState":
        parts = {name: of_record(one, required=False) for name, one in AOP_RECORDS.items()}
        members["aop"] = _object({name: {"type": "array", "items": part} for name, part in parts.items()})
    elif channel.key:
        members[channel.key] = {"anyOf": [row, {"type": "array", "items": row}]}
    else:
        members |= row.get("properties", {})
    required = [name for name, has in (("type", channel.typed), ("sequence", channel.sequenced)) if has]
    message = {"channel": {"const": channel.type}, "data": _object(members, required)}
    return {"summary": channel.about, "payload": _object(message, ("channel", "data"))}
