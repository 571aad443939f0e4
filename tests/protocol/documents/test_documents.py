"""OpenAPI and AsyncAPI documents: valid, complete, and true of what the venue takes and answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openapi_spec_validator import validate

from tests.node import installed
from tests.protocol.strategies import payloads
from tests.test_info_contract import UNUSED, World, minimal, world
from toolkit import __version__
from toolkit.environments import LOCAL
from toolkit.protocol.actions import ACTIONS, Action
from toolkit.protocol.documents import asyncapi, openapi
from toolkit.protocol.enums import ENUMS
from toolkit.protocol.fields import Items, Object
from toolkit.protocol.reads.endpoint import Endpoint
from toolkit.protocol.reads.feed import CHANNELS
from toolkit.protocol.reads.info_queries import ENDPOINTS
from toolkit.venue import development
from toolkit.venue.local import LocalVenue


@pytest.fixture
def document() -> dict[str, Any]:
    return openapi(__version__)


@pytest.fixture
def feed() -> dict[str, Any]:
    return asyncapi(__version__)


def validator(document: dict[str, Any], schema: dict[str, Any]) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({**schema, "components": document["components"]})


def test_the_openapi_document_is_valid_and_complete(document: dict[str, Any]) -> None:
    validate(document)
    assert set(document["paths"]) == {"/api/v1/exchange", *(endpoint.path for endpoint in ENDPOINTS.values())}
    names = {f"{name[0].upper()}{name[1:]}Request" for name in ACTIONS}
    assert names <= set(document["components"]["schemas"])


def test_the_golden_requests_are_what_the_document_allows(document: dict[str, Any]) -> None:
    with open("docs/examples/golden-requests.json", encoding="utf-8") as file:
        stored = json.load(file)
    for row in stored:
        kind = row["body"]["action"]["type"]
        schema = validator(document, document["components"]["schemas"][f"{kind[0].upper()}{kind[1:]}Request"])
        schema.validate(row["body"])
        assert not schema.is_valid({**row["body"], "nonce": "1"})
        for v, good in ((26, False), (27, True), (28, True), (29, False)):
            assert schema.is_valid({**row["body"], "signature": {**row["body"]["signature"], "v": v}}) is good
        assert not schema.is_valid({**row["body"], "action": {**row["body"]["action"], "colour": 1}})


def request_of(document: dict[str, Any], action: Action) -> dict[str, Any]:
    """Return the document's schema of the requests of an action."""
    found: dict[str, Any] = document["components"]["schemas"][f"{action.type[0].upper()}{action.type[1:]}Request"]
    return found


ODD = (None, True, [], {}, [[]], [{}], {"x": 1}, 1.5, "", "x", "-1", -1, 2**64, "0x" + "g" * 40, "BUY ", "1" * 300)


def leaves(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value in an action, those of objects and lists with them."""
    if at:
        yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield from leaves(one, (*at, name))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.sampled_from(sorted(ACTIONS)))
def test_the_document_allows_what_the_venue_takes_and_no_value_of_another_type(data: Any, kind: str) -> None:
    """What depends on two fields, on decimal places or on an enum's display-only names is the venue's alone to say."""
    action, whole = ACTIONS[kind], openapi(__version__)
    document = validator(whole, request_of(whole, action)["properties"]["action"])
    payload = data.draw(payloads(action))
    document.validate(payload)
    for path in leaves(payload):
        for odd in ODD:
            changed = json.loads(json.dumps(payload))
            place = changed
            for name in path[:-1]:
                place = place[name]
            place[path[-1]] = odd
            try:
                action.shape.check(changed)
            except Exception:
                refused = True
            else:
                refused = False
            if refused and not isinstance(odd, str | int):
                assert not document.is_valid(changed), (path, odd)
            if not refused:
                assert document.is_valid(changed), (path, odd)


def test_the_document_says_which_names_are_old_what_is_required_and_who_signs(document: dict[str, Any]) -> None:
    def walk(shape: Object, schema: dict[str, Any]) -> None:
        assert schema["additionalProperties"] is False
        needed = {field.name for field in shape.fields if field.required and not field.alias}
        assert set(schema.get("required", ())) == needed
        for field in shape.fields:
            found = schema["properties"][field.name]
            assert found.get("deprecated") is None
            if field.alias:
                assert schema["properties"][field.alias] == {**found, "deprecated": True}
            if isinstance(field.rule, Items):
                assert (found["minItems"], found.get("maxItems")) == (field.rule.minimum, field.rule.maximum)
                walk(field.rule.item, found["items"])

    for action in ACTIONS.values():
        request = request_of(document, action)
        walk(action.shape, request["properties"]["action"])
        assert request["description"] == f"Signed by: {action.signer}"
        assert ("expiryAfter" in request["properties"]) is action.expiry
        assert ("vaultAddress" in request["properties"]) is (action.vault or action.vault_required)
        vault = ["vaultAddress"] if action.vault_required else []
        assert request["required"] == ["action", "signature", "nonce", *vault]


def test_the_document_says_the_order_of_rows_and_the_numbers_and_names_of_enums(document: dict[str, Any]) -> None:
    for endpoint in ENDPOINTS.values():
        said = document["paths"][endpoint.path]["get"]
        assert said["description"] == (endpoint.order or said["summary"])
        assert ("x-local-venue" in said) is not endpoint.published
        schema = document["components"]["schemas"][endpoint.record.name]["properties"]
        for field in endpoint.record.sent:
            about = schema[field.wire]["description"]
            assert about.startswith(field.about)
            assert schema[field.wire]["x-source"] == field.source
            names = ENUMS[field.enum].name_of if field.enum else {}
            shown = [f"{number} {name}" if field.json == "integer" else name for number, name in names.items()]
            assert not shown or set(shown) == set(about.rpartition(": ")[2].split(", "))


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
def test_every_answer_of_the_venue_is_what_the_document_says(world: World, name: str, document: dict[str, Any]) -> None:
    endpoint = ENDPOINTS[name]
    document = strict(document)
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


@pytest.mark.parametrize("name", list(ENDPOINTS))
def test_the_venue_takes_the_values_of_a_parameter_that_the_document_names_and_no_others(
    world: World, document: dict[str, Any], name: str
) -> None:
    endpoint = ENDPOINTS[name]
    usual = minimal(world, endpoint)

    def faults(wire: str, value: object) -> str:
        query = [(each, str(one)) for each, one in {**usual, wire: value}.items()]
        answer = json.loads(world.venue.host.gateway.handle("GET", endpoint.path, query).body)
        return str(answer["message"]) if answer["code"] == 40003 and wire in answer["message"] else ""

    said = document["paths"][endpoint.path]["get"]["parameters"]
    assert [one["name"] for one in said] == [one.wire for one in endpoint.params.values()]
    for one in said:
        schema, wire = one["schema"], one["name"]
        assert one["required"] is endpoint.params[wire].required
        assert ("default" in schema) is (endpoint.params[wire].default is not None)
        step = schema.get("multipleOf", 1)
        good = [*schema.get("enum", ()), *({"boolean": ("true", "false")}.get(schema["type"], ()))]
        bad: list[object] = []
        if "minimum" in schema:
            good.append(-(-schema["minimum"] // step) * step)
            bad += [schema["minimum"] - step, schema["maximum"] + step, "x"] + [schema["minimum"] + step // 2] * (
                step > 1
            )
        elif good or "pattern" in schema:
            bad += ["nonsense", "7777"]
        assert not [value for value in good if "must be" in faults(wire, value)], wire
        assert [value for value in bad if not faults(wire, value)] == [], wire


def test_a_field_of_an_answer_has_one_type_and_is_null_only_where_it_may_be_unset(document: dict[str, Any]) -> None:
    validate(document)
    null, fields = set(), 0
    for name, schema in document["components"]["schemas"].items():
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


def test_a_venue_serves_its_document(document: dict[str, Any]) -> None:
    with LocalVenue(clock="manual", market=False) as venue, venue.serve():
        answer = venue.host.gateway.handle("GET", "/openapi.json", [])
        assert json.loads(answer.body) == json.loads(json.dumps(document))


def test_the_asyncapi_document_names_every_channel_and_resolves(feed: dict[str, Any]) -> None:
    assert feed["asyncapi"] == "3.0.0"
    assert {f"{name}Data" for name in CHANNELS} <= set(feed["components"]["messages"])
    for reference in references(feed):
        found: Any = feed
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
        assert found
    where = feed["servers"]["venue"]
    filled = where["host"].format(**{name: value["default"] for name, value in where["variables"].items()})
    assert f"{where['protocol']}://{filled}" == LOCAL.ws_url


@pytest.mark.slow
def test_the_asyncapi_document_is_what_the_standards_own_schema_allows(tmp_path: Path, feed: dict[str, Any]) -> None:
    folder = installed(Path(__file__).parent / "asyncapi", tmp_path / "asyncapi")
    schemas = folder / "node_modules" / "@asyncapi" / "specs" / "schemas"
    schema = json.loads((schemas / "3.0.0-without-$id.json").read_text(encoding="utf-8"))
    standard = jsonschema.Draft7Validator(schema)
    document = json.loads(json.dumps(feed))
    standard.validate(document)
    for part in ("channels", "operations", "components", "info"):
        assert not standard.is_valid({**document, part: {"x": 5}}), part


def references(value: Any) -> list[str]:
    if isinstance(value, dict):
        here = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return here + [each for inner in value.values() for each in references(inner)]
    return [each for inner in value for each in references(inner)] if isinstance(value, list) else []


def with_known_rows(payload: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose rows have no members that it does not name. Beside them others may stand."""
    data = payload["properties"].get("data", {})
    for name, schema in data.get("properties", {}).items():
        data["properties"][name] = strict(schema)
        assert schema.get("type") != "object" or schema["properties"], name
        assert all(one.get("properties") for one in schema.get("anyOf", ()) if one["type"] == "object"), name
    return payload


def test_every_message_of_the_feed_is_what_the_document_says(feed: dict[str, Any]) -> None:
    venue = LocalVenue(clock="manual", seed=3, accounts=2)
    messages = feed["components"]["messages"]
    schemas = {name: with_known_rows(each["payload"]) for name, each in messages.items()}
    payloads = {name: jsonschema.Draft202012Validator(schema) for name, schema in schemas.items()}
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
