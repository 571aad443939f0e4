"""The OpenAPI 3.1 document: the Exchange endpoint with every action, and every Info query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..actions import ACTIONS, Action
from ..fields import INT64_MAX
from ..reads.endpoint import Endpoint
from ..reads.info_queries import ENDPOINTS
from .schemas import ADDRESS, HASH, Schema, of_object, of_param, of_record

EXCHANGE_PATH = "/api/v1/exchange"
_SIGNATURE: Schema = {
    "type": "object",
    "properties": {
        "r": {"type": "string", "pattern": HASH},
        "s": {"type": "string", "pattern": HASH},
        "v": {"type": "integer", "enum": [27, 28]},
    },
    "required": ["r", "s", "v"],
    "additionalProperties": False,
}
_ANSWER: Schema = {
    "type": "object",
    "properties": {
        "code": {"type": "integer", "description": "0 for success; 40003 and above say why a request was refused"},
        "message": {"type": "string"},
        "data": {},
    },
    "required": ["code", "message", "data"],
}


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
        "signature": {"$ref": "#/components/schemas/Signature"},
        "nonce": {
            "type": "integer", "minimum": 0, "maximum": INT64_MAX, "description": "Unix ms, used once by a signer",
        },
    }  # fmt: skip
    required = ["action", "signature", "nonce"]
    if action.expiry:
        properties["expiryAfter"] = {"type": "integer", "minimum": 0, "description": "Unix ms; refused after it"}
    if action.vault or action.vault_required:
        properties["vaultAddress"] = {"type": "string", "pattern": ADDRESS}
        required += ["vaultAddress"] if action.vault_required else []
    return {
        "type": "object",
        "description": f"Signed by: {action.signer}",
        "properties": properties,
        "required": required,
    }


def _exchange() -> Schema:
    return {
        "operationId": "exchange",
        "summary": "Execute a signed action",
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"anyOf": [{"$ref": _reference(_request_name(action))} for action in ACTIONS.values()]}
                }
            },
        },
        "responses": _responses({}),
    }


def _query(endpoint: Endpoint) -> Schema:
    row: Schema = {"$ref": _reference(endpoint.record.name)}
    data: Schema = {"type": ["object", "null"], "properties": {}} if endpoint.shape == "one" else {}
    if endpoint.shape == "list":
        data = {"type": ["array", "object", "null"], "items": row}
        data["properties"] = {endpoint.items: {"type": "array", "items": row}}
    elif endpoint.shape == "paged":
        items = {endpoint.items: {"type": "array", "items": row}}
        data = {"type": "object", "properties": {"total": {"type": "integer"}, **items}}
    else:
        data = {"anyOf": [{"type": "null"}, row]}
    return {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "description": endpoint.order or endpoint.summary,
        "parameters": [
            {
                "name": param.wire,
                "in": "query",
                "required": param.required,
                "description": param.about,
                "schema": of_param(param),
            }
            for param in endpoint.params.values()
        ],
        "responses": _responses(data),
        **({} if endpoint.published else {"x-local-venue": True}),
    }


def _responses(data: Mapping[str, Any]) -> Schema:
    def answer(description: str, schema: Schema) -> Schema:
        return {"description": description, "content": {"application/json": {"schema": schema}}}

    shared: Schema = {"$ref": _reference("Answer")}
    done = {**_ANSWER, "properties": {**_ANSWER["properties"], "data": dict(data)}} if data else shared
    return {
        "200": answer("The answer; `code` is 0, or says why the request was refused", done),
        "400": answer("A malformed request (code 40003)", shared),
    }


def _reference(name: str) -> str:
    return f"#/components/schemas/{name}"
