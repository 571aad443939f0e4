"""OpenAPI and AsyncAPI documents: valid, complete, and true of what the venue takes and answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from openapi_spec_validator import validate

from tests.node import installed
from tests.test_info_contract import UNUSED, World, minimal, world
from toolkit import __version__
from toolkit.environments import LOCAL
from toolkit.protocol.actions import ACTIONS
from toolkit.protocol.documents import asyncapi, openapi
from toolkit.protocol.reads.endpoint import Endpoint
from toolkit.protocol.reads.feed import CHANNELS
from toolkit.protocol.reads.info_queries import ENDPOINTS
from toolkit.venue import development
from toolkit.venue.local import LocalVenue

DOCUMENT = openapi(__version__)
FEED = asyncapi(__version__)


def validator(schema: dict[str, Any]) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({**schema, "components": DOCUMENT["components"]})


def test_the_openapi_document_is_valid_and_complete() -> None:
    validate(DOCUMENT)
    assert set(DOCUMENT["paths"]) == {"/api/v1/exchange", *(endpoint.path for endpoint in ENDPOINTS.values())}
    names = {f"{name[0].upper()}{name[1:]}Request" for name in ACTIONS}
    assert names <= set(DOCUMENT["components"]["schemas"])


def test_the_golden_requests_are_what_the_document_allows() -> None:
    with open("docs/examples/golden-requests.json", encoding="utf-8") as file:
        stored = json.load(file)
    for row in stored:
        kind = row["body"]["action"]["type"]
        schema = validator(DOCUMENT["components"]["schemas"][f"{kind[0].upper()}{kind[1:]}Request"])
        schema.validate(row["body"])
        assert not schema.is_valid({**row["body"], "nonce": "1"})
        assert not schema.is_valid({**row["body"], "action": {**row["body"]["action"], "colour": 1}})


__all__ = ["world"]  # a fixture: a venue with every kind of record


def strict(schema: Any) -> Any:
    """Return a schema that allows no member which it does not name."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if "properties" in schema and schema.get("type") == "object" else {}
    return {name: strict(one) for name, one in schema.items()} | more


def answers_of(world: World, endpoint: Endpoint) -> Iterator[Any]:
    """Yield the answers to a query about each account: with and without positions, orders, shares and grants."""
    sessions = (world.trader, world.invitee, world.leader, world.builder)
    given = minimal(world, endpoint)
    more: list[dict[str, Any]] = [{}]
    if endpoint.name == "transaction":
        rows = world.data("/info/explore/transaction/page", user=world.address(), pageSize=50)["items"]
        more = [{"txHash": row["txHash"]} for row in rows] + [{}]
    more += [{name: "true"} for name in ("includeZero", "includeExpired") if name in endpoint.params]
    more += [{"role": "AGENT"}] * ("masterAddress" in endpoint.params)
    for address in (*map(world.address, sessions), world.vault, world.builder_agent, UNUSED):
        named = {name: address for name in given if name in ("userAddr", "userAddress", "user", "builder")}
        for values in more:
            query = [(name, str(value)) for name, value in {**given, **named, **values}.items()]
            answer = world.venue.host.gateway.handle("GET", endpoint.path, query)
            assert answer.status == 200, answer.body
            yield json.loads(answer.body)


@pytest.mark.parametrize("name", list(ENDPOINTS))
def test_every_answer_of_the_venue_is_what_the_document_says(world: World, name: str) -> None:
    document, endpoint = strict(DOCUMENT), ENDPOINTS[name]
    schema = document["paths"][endpoint.path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    held = jsonschema.Draft202012Validator({**schema, "components": document["components"]})
    rows, last = [], {}
    for answer in answers_of(world, endpoint):
        held.validate(answer)
        if found := endpoint.rows(answer["data"]):
            rows, last = found, answer
    assert rows
    for field in list(rows[0]):
        kept = rows[0].pop(field)
        assert not held.is_valid(last), f"{field} is not required"
        rows[0][field] = [kept]
        assert not held.is_valid(last), f"{field} can be anything"
        rows[0][field] = kept


def test_a_field_of_an_answer_has_one_type_and_is_null_only_where_it_may_be_unset() -> None:
    validate(DOCUMENT)
    null, fields = set(), 0
    for name, schema in DOCUMENT["components"]["schemas"].items():
        if name.endswith("Request") or name in ("Answer", "Signature"):
            continue
        assert schema["required"] == list(schema["properties"])
        for wire, found in schema["properties"].items():
            fields += 1
            null |= {f"{name}.{wire}"} if isinstance(found["type"], list) else set()
    assert fields > 230
    assert null == {
        "LedgerEntry.symbol", "LedgerEntry.counterparty", "Transaction.data", "Vault.apr",
        "AccountAgent.revokedAt", "AccountAgent.revokedBlock", "AccountAgent.revokeTx",
    }  # fmt: skip


def test_a_venue_serves_its_document() -> None:
    with LocalVenue(clock="manual", market=False) as venue, venue.serve():
        answer = venue.host.gateway.handle("GET", "/openapi.json", [])
        assert json.loads(answer.body) == json.loads(json.dumps(DOCUMENT))


def test_the_asyncapi_document_names_every_channel_and_resolves() -> None:
    assert FEED["asyncapi"] == "3.0.0"
    assert {f"{name}Data" for name in CHANNELS} <= set(FEED["components"]["messages"])
    for reference in references(FEED):
        found: Any = FEED
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
        assert found
    where = FEED["servers"]["venue"]
    filled = where["host"].format(**{name: value["default"] for name, value in where["variables"].items()})
    assert f"{where['protocol']}://{filled}" == LOCAL.ws_url


@pytest.mark.slow
def test_the_asyncapi_document_is_what_the_standards_own_schema_allows(tmp_path: Path) -> None:
    folder = installed(Path(__file__).parent / "asyncapi", tmp_path / "asyncapi")
    schemas = folder / "node_modules" / "@asyncapi" / "specs" / "schemas"
    schema = json.loads((schemas / "3.0.0-without-$id.json").read_text(encoding="utf-8"))
    standard = jsonschema.Draft7Validator(schema)
    document = json.loads(json.dumps(FEED))
    standard.validate(document)
    for part in ("channels", "operations", "components", "info"):
        assert not standard.is_valid({**document, part: {"x": 5}}), part


def references(value: Any) -> list[str]:
    if isinstance(value, dict):
        here = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return here + [each for inner in value.values() for each in references(inner)]
    return [each for inner in value for each in references(inner)] if isinstance(value, list) else []


def test_every_message_of_the_feed_is_what_the_document_says() -> None:
    venue = LocalVenue(clock="manual", seed=3, accounts=2)
    messages = FEED["components"]["messages"]
    payloads = {name: jsonschema.Draft202012Validator(each["payload"]) for name, each in messages.items()}
    for payload in payloads.values():
        payload.check_schema(payload.schema)
    fields = {"symbol": "BTCUSDC", "depth": 5, "interval": "60", "userAddress": development.master(0).address}
    connection, received = venue.host.feed.open(queue=None), set()
    for channel in CHANNELS.values():
        subscription = {"type": channel.type, **{field.name: fields[field.name] for field in channel.fields}}
        message = {"method": "subscribe", "subscription": subscription}
        payloads["subscribe"].validate(message)
        connection.send(json.dumps(message))
    venue.control.add_liquidity("BTCUSDC", "SELL", "90000", "1")
    venue.advance("2m")
    for text in connection.drain():
        message = json.loads(text)
        name = f"{message['channel']}Data" if "channel" in message else "acknowledgement"
        payloads[name].validate(message)
        received.add(name)
    assert {"acknowledgement", "orderBookData", "tradesData", "tickerData", "candleData"} <= received
