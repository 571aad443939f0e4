"""Info declarations: what a query accepts, and how it says no."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire_tables import TABLES
from toolkit.errors import MalformedRequest
from toolkit.protocol.enums import ENUMS
from toolkit.protocol.reads import info_queries
from toolkit.protocol.reads.endpoint import Param

ADDRESS = "0x" + "ab" * 20
GOOD = {
    "address": ADDRESS,
    "hash": "0x" + "12" * 32,
    "integer": "1",
    "page": "1",
    "code": "1",
    "symbol": "BTCUSDC",
    "time": "1767225600000",
    "text": "anything",
    "flag": "true",
}
PARAMS = [(endpoint, param) for endpoint in info_queries.ENDPOINTS.values() for param in endpoint.params.values()]


def good_value(param: Param) -> str:
    if param.kind == "enum":
        return ENUMS[param.enum].names[0]
    return param.choices[0] if param.choices else str(param.multiple) if param.multiple > 1 else GOOD[param.kind]


def good_query(endpoint: info_queries.Endpoint) -> dict[str, str]:
    return {name: good_value(param) for name, param in endpoint.params.items()}


def label(value: object) -> str:
    return getattr(value, "name", str(value))


@pytest.mark.parametrize("endpoint", info_queries.ENDPOINTS.values(), ids=label)
def test_a_full_query_and_a_minimal_query_pass(endpoint: info_queries.Endpoint) -> None:
    full = good_query(endpoint)
    assert set(endpoint.parse(full)) == set(endpoint.params)
    minimal = {name: value for name, value in full.items() if endpoint.params[name].required}
    values = endpoint.parse(list(minimal.items()))
    assert {name: values[name] for name in endpoint.params if name not in minimal} == {
        name: param.default for name, param in endpoint.params.items() if name not in minimal
    }


@pytest.mark.parametrize(("endpoint", "param"), PARAMS, ids=label)
def test_a_parameter_that_breaks_its_rule_is_named(endpoint: info_queries.Endpoint, param: Param) -> None:
    bad = {"integer", "page", "code", "time"}
    low = str((param.low or 0) - 1)
    for value in ("", "x" * 129, *(("1.5", low, "9" * 19, "0x1", "١") if param.kind in bad else ())):
        with pytest.raises(MalformedRequest, match=rf"^{param.wire} ") as caught:
            endpoint.parse(good_query(endpoint) | {param.wire: value})
        assert caught.value.field == param.wire


@given(st.sampled_from(PARAMS), st.text(max_size=40))
def test_any_text_is_accepted_or_refused_by_name(pair: tuple[info_queries.Endpoint, Param], value: str) -> None:
    endpoint, param = pair
    try:
        parsed = endpoint.parse(good_query(endpoint) | {param.wire: value})
    except MalformedRequest as error:
        named = error.field
    else:
        named = param.wire if parsed[param.wire] is not None else ""
    assert named in (param.wire, "startTime")


@pytest.mark.parametrize("endpoint", info_queries.ENDPOINTS.values(), ids=label)
def test_an_unknown_or_repeated_parameter_is_named(endpoint: info_queries.Endpoint) -> None:
    with pytest.raises(MalformedRequest, match=r"^pagesize .* has no such parameter"):
        endpoint.parse(good_query(endpoint) | {"pagesize": "1"})
    pairs = list(good_query(endpoint).items())
    if pairs:
        with pytest.raises(MalformedRequest, match=rf"^{pairs[0][0]} is given more than once"):
            endpoint.parse([*pairs, pairs[0]])


def test_a_window_that_ends_before_it_starts_is_refused() -> None:
    query = {"userAddr": ADDRESS, "startTime": "2", "endTime": "1"}
    with pytest.raises(MalformedRequest, match="startTime must not be after endTime 1"):
        info_queries.ENDPOINTS["fills"].parse(query)


def test_page_sizes_have_their_limits() -> None:
    trades, builders = info_queries.ENDPOINTS["fills"], info_queries.ENDPOINTS["builder_agents"]
    assert trades.parse({"userAddr": ADDRESS})["pageSize"] == 20
    assert trades.parse({"userAddr": ADDRESS, "pageSize": "500"})["pageSize"] == 500
    with pytest.raises(MalformedRequest, match="a whole number from 1 to 500") as caught:
        trades.parse({"userAddr": ADDRESS, "pageSize": "501"})
    assert caught.value.nearest == ("500",)
    with pytest.raises(MalformedRequest, match="from 1 to 100"):
        builders.parse({"builder": ADDRESS, "pageSize": "101"})


def test_enums_are_read_as_names_and_as_numbers() -> None:
    states = info_queries.ENDPOINTS["order_states"]
    for given_side in ("1", "BUY", "buy"):
        assert states.parse({"userAddr": ADDRESS, "side": given_side})["side"] == "BUY"
    with pytest.raises(MalformedRequest, match=r"^side 'UP' is not valid: use one of BUY, SELL"):
        states.parse({"userAddr": ADDRESS, "side": "UP"})


def test_addresses_are_read_in_any_case_of_letters() -> None:
    mixed = "0xAbCdEf" + "0" * 34
    assert info_queries.ENDPOINTS["wallet_balances"].parse({"userAddr": mixed})["userAddr"] == mixed.lower()


def test_each_record_is_well_formed() -> None:
    for endpoint in info_queries.ENDPOINTS.values():
        record = endpoint.record
        assert len(record.columns) == len(record.by_wire) == len(record.fields)
        assert set(record.identity) <= set(record.by_wire)
        assert not record.time or record.time in record.by_wire
        assert all(field.dtype and field.about for field in record.fields)


def test_rows_are_found_in_every_shape_of_answer() -> None:
    trades, agents, vault = (info_queries.ENDPOINTS[name] for name in ("fills", "builder_agents", "vault"))
    row = {"id": "1"}
    for data in ([row], {"total": 1, "items": [row]}, {"items": [row]}, {"total": "1", "list": [row]}):
        assert trades.rows(data) == [row]
    assert trades.rows({"total": 0}) == trades.rows(None) == trades.rows([]) == []
    assert agents.rows({"builder": ADDRESS, "total": 1, "agents": [row]}) == [row]
    assert vault.rows({"vaultAddress": ADDRESS}) == [{"vaultAddress": ADDRESS}]
    assert trades.total({"total": 7, "items": []}) == 7
    assert trades.total({"total": "7"}) == 7
    assert not any(trades.total({"total": total}) for total in ("²", "9" * 5_000, True, None))
    assert trades.total([row]) is None
    with pytest.raises(MalformedRequest, match="An array or an object was expected"):
        trades.rows("text")


def test_the_reference_table_names_every_path_and_its_required_parameters() -> None:
    table = TABLES.queries_table()
    assert all(f"`{path}`" in table for path in info_queries.BY_PATH)
    assert "**userAddr**, currency, includeZero" in table


def test_an_interval_is_whole_minutes() -> None:
    query = {"symbol_name": "BTCUSDC", "interval": "90"}
    with pytest.raises(MalformedRequest, match="a multiple of 60 from 60 to 604800") as caught:
        info_queries.ENDPOINTS["klines_last"].parse(query)
    assert caught.value.nearest == ("60", "120")
