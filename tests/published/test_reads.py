"""Every query, read from servers that answer in every way that the published files allow."""

from __future__ import annotations

import inspect
import warnings
from contextlib import suppress
from typing import Any

import pandas as pd
import pytest

from tests.published import shapes
from tests.published import variations as vary
from tests.published.reads import (
    EVERY,
    OTHERS,
    READS,
    UNPUBLISHED,
    Call,
    assert_each,
    connected,
    difference,
    forms,
    lost,
    read,
    reference,
)
from tests.published.server import UNPUBLISHED_ROW, PublishedServer
from tests.published.world import MASTER, NINE, STRANGER, SYMBOLS
from toolkit import errors
from toolkit.client.reads.conversion import query_text
from toolkit.protocol.enums import ENUMS
from toolkit.protocol.reads.info_queries import ENDPOINTS

BOTH = forms(vary.APRIL, vary.SDK)
CALLS = {name: call for name, (_, call) in EVERY.items()}
EVERY_OTHER = {**UNPUBLISHED, **OTHERS}
NOT_SHOWN = {"md5Checksum", "tableId"}
"""Fields that say something of the answer, or join its parts. No frame needs them as a column."""
NULLABLE = {"revokedAt", "revokedBlock", "revokeTx"}
"""Fields that say something when they are null: the agent is not revoked."""
ABSENCES = [
    (path, field, null)
    for path in READS for field, shape in shapes.fields(path).items() for null in (False, True)
    if "data" in field and shape.type not in ("object", "array") and (path != vary.SINGLE or "Products[]" in field)
]  # fmt: skip


def shown(path: str, field: str) -> list[str]:
    """Return the reads that show a field of a query."""
    part = {"marginTables[]": "margin tables", "currencies[]": "currencies"}.get(field.split(".")[1], "products")
    return [name for name in READS[path] if path != vary.META or part in name]


def test_the_world_has_exactly_the_published_fields_and_types() -> None:
    asked = {"userAddr": MASTER.address, "agentName": "desk", "symbol": "17", "symbol_name": "BTCUSDC",
             "interval": "60", "startTime": "0", "endTime": "9999999999999"}  # fmt: skip
    for path in READS:
        sent = dict(shapes.parts_of(PublishedServer(vary.APRIL).data(path, asked), "data"))
        fields = {name: one for name, one in shapes.fields(path).items() if "data" in name}
        assert set(sent) == set(fields), path
        assert all(type(value) is shapes.TYPES[fields[name].type] for name, value in sent.items()), path
    assert {*READS, *UNPUBLISHED, "/info/vault/detail"} == set(shapes.QUERIES)


def test_each_read_shows_the_published_values() -> None:
    stop = {"type": "MARKET", "side": "SELL", "trigger_price": 58000.5, "tif": "IOC", "parent_order_id": 700012,
            "trigger_type": "MARK_PRICE", "reduce_only": "SL_FROM_POSITION"}  # fmt: skip
    fill = {"symbol": "BTCUSDC", "side": "BUY", "order_id": 700012, "role": "TAKER", "type": "MARKET"}
    expected: dict[str, list[dict[str, Any]]] = {
        "products": [{"code": code, "max_slippage": 0.04, "min_order_value": 15.0} for code in SYMBOLS],
        "wallet_balances": [{"currency": "USDC", "balance": 5000.25, "equity": 5035.125, "status": "NORMAL"}],
        "positions": [{"side": "LONG", "size": 0.3, "mark_price": 62501.5, "leverage": 8.0, "margin_mode": "ISOLATED",
                       "position_mode": "ONE_WAY", "realized_pnl": -2.5, "unrealized_pnl": 30.15}],
        "open orders": [{"symbol": "BTCUSDC", "side": "BUY", "type": "LIMIT", "price": 59000.5, "tif": "GTC",
                         "status": "NEW", "reduce_only": "NONE"}, stop],
        "fills": [{**fill, "price": 62400.0, "quantity": 0.1}, {**fill, "price": 62401.5, "quantity": 0.2}],
        "info.order_events": [{"status": each} for each in
                              ("PARTIALLY_FILLED", "FILLED", "NEW", "ORDER_STATUS_UNTRIGGERED")],
        "info.agent": [{"name": "desk", "status": "ACTIVE", "master": MASTER.address}],
    }  # fmt: skip
    for name, rows in expected.items():
        got = zip(reference(name).to_dict("records"), rows, strict=True)
        assert [{key: row[key] for key in want} for row, want in got] == rows, name
    assert reference("products").index.tolist() == list(SYMBOLS.values())


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("variation", vary.SAME, ids=lambda one: one.name)
def test_an_answer_in_another_published_form_is_read_as_the_same_frame(
    form: vary.Form, variation: vary.Variation
) -> None:
    assert_each(CALLS, lambda name, call: difference(read(form, call, variation)[0], reference(name)))


@pytest.mark.slow
@pytest.mark.parametrize(("path", "field", "null"), ABSENCES)
def test_a_missing_field_is_na_and_nothing_else_changes(path: str, field: str, null: bool) -> None:
    wire, empty, told = vary.name_of(field), set(), []
    needed = wire in vary.required_of(path, field)

    def judge(name: str, call: Call) -> str:
        full = reference(name)
        try:
            frame, said = read(vary.SDK if null else vary.APRIL, call, vary.without(path, field, null=null))
        except errors.BadAnswer as error:
            # A row without its identity, time, side, size, price or status may be refused, by the name of the field.
            told.append(str(error))
            return "" if needed and wire in str(error) and name in shown(path, field) else str(error)
        told.append(said)
        if needed and wire in said and name in shown(path, field) and len(frame) < len(full):
            return ""  # the row is left out, and a warning says so
        gone, changes = lost(frame, full)
        empty.update(gone)
        return changes

    assert_each(READS[path], judge)
    if not needed and wire not in NOT_SHOWN:
        assert empty, "no column is NA: the field was made up"
        assert wire in "".join(told) or (null and wire in NULLABLE), "no warning names the field"


@BOTH
def test_rows_with_just_their_required_fields_are_read(form: vary.Form) -> None:
    assert_each(CALLS, lambda name, call: lost(read(form, call, vary.ONLY_REQUIRED)[0], reference(name))[1])


@BOTH
def test_unknown_fields_are_kept_after_the_known_columns(form: vary.Form) -> None:
    def judge(name: str, call: Call) -> str:
        frame, full = read(form, call, vary.UNKNOWN_FIELDS)[0], reference(name)
        kept = not name.startswith("info.") or {"addedLater", "addedLater3"} <= set(frame.columns)
        known = list(frame.columns)[: len(full.columns)] == list(full.columns)
        return difference(frame[list(full.columns)], full) if kept and known else f"columns {list(frame.columns)}"

    assert_each(CALLS, judge)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("lists", ["bare", "items", "items without total"])
@pytest.mark.parametrize("null", [False, True], ids=["empty", "null"])
def test_an_account_without_rows_has_the_same_empty_frames(form: vary.Form, lists: str, null: bool) -> None:
    variation = vary.Variation("no rows", lists=lists, empty_is_null=null)

    def judge(name: str, call: Call) -> str:
        with connected(PublishedServer(form, variation), wallet=None, account=STRANGER) as s:
            return difference(call(s), reference(name).iloc[:0])

    kinds = ("/info/account/wallet", "/info/account/agent", "/info/order", "/info/position", "/info/trade")
    assert_each({name: call for name, (path, call) in EVERY.items() if path.startswith(kinds)}, judge)


@BOTH
def test_a_window_of_candles_is_whole_or_a_warning_says_what_it_lacks(form: vary.Form) -> None:
    frame, said = read(form, CALLS["klines"], vary.Variation("twenty candles in an answer", candle_limit=20))
    assert difference(frame, reference("klines")) == "" or said


@BOTH
def test_an_answer_of_unpublished_fields_is_kept_and_nothing_is_made_up(form: vary.Form) -> None:
    def judge(name: str, call: Call) -> str:
        frame, _ = read(form, call)
        made_up = frame.drop(columns=list(UNPUBLISHED_ROW)).notna().any(axis=None)
        same = frame[list(UNPUBLISHED_ROW)].to_dict("records") == [UNPUBLISHED_ROW]
        return "" if same and not made_up else str(frame.to_dict("records"))

    assert_each(UNPUBLISHED, judge)


def test_vaults_and_builders_are_read_as_published() -> None:
    vault, said = read(vary.APRIL, OTHERS["/info/vault/detail"])
    assert vault.iloc[0][["name", "tvl"]].tolist() == ["Carry", 81250.4]
    assert pd.isna(vault.iloc[0]["apr"])
    assert said == "", "apr may be null"
    builders, _ = read(vary.SDK, OTHERS[vary.BUILDERS])
    assert builders["max_fee_rate"].tolist() == [0.00045]


def test_a_query_that_the_server_does_not_have_is_named_as_not_served() -> None:
    paths = {name: path for name, (path, _) in EVERY.items() if path != vary.META} | {one: one for one in EVERY_OTHER}

    def judge(name: str, call: Call) -> str:
        with pytest.raises(errors.ToolkitError) as caught:
            read(vary.SPECIFICATION, call)
        said = str(caught.value)
        return "" if paths[name] in said and ("not served" in said or "does not serve" in said) else said

    assert_each({name: {**CALLS, **EVERY_OTHER}[name] for name in paths}, judge)


def test_the_specifications_nine_fields_make_a_product_list() -> None:
    frame, full = read(vary.SPECIFICATION, CALLS["products, exact"])[0], reference("products, exact")
    assert lost(frame, full)[1] == ""
    assert frame.notna().any().sum() == len(NINE) - 1, "the symbol is the index"


@BOTH
def test_queries_ask_only_for_what_is_published_with_its_types(form: vary.Form) -> None:
    server = PublishedServer(form)
    further: dict[str, Call] = {
        "listed": lambda s: s.info.products(list_status=1),  # type: ignore[arg-type]
        "states": lambda s: s.info.order_states(side="BUY", type="LIMIT", status="NEW", order_id=7, symbol="BTCUSDC"),
        "fills": lambda s: s.info.fills(side="SELL", exec_id=5501, role="TAKER"),
        "positions": lambda s: s.info.positions(position_mode="HEDGE", symbol="BTCUSDC"),
    }
    for call in {**CALLS, **EVERY_OTHER, **further}.values():
        # Other tests say what is read. A session for each call, because one paces its requests.
        with connected(server) as s, warnings.catch_warnings(), suppress(errors.BadAnswer, errors.ExchangeError):
            warnings.simplefilter("ignore")
            call(s)
    assert server.faults == []


def test_an_enum_is_asked_for_in_the_type_that_is_published() -> None:
    for query in ENDPOINTS.values():
        for param in query.params.values():
            published = shapes.parameters(query.path).get(param.wire)
            if param.enum and published is not None:
                for name in ENUMS[param.enum].names:
                    is_number = query_text(param, name).isdigit()
                    assert is_number is (published.type == "integer"), (query.path, param.wire, name)


@pytest.mark.parametrize(
    ("query", "name", "path", "wire"),
    [("vault_history", "interval", "/info/vault/history", "interval"),
     ("vault_history", "kind", "/info/vault/history", "type"),
     ("referral_summary", "period", "/info/referral/summary", "period"),
     ("referrals", "sort_by", "/info/referral/referrals", "sortBy"),
     ("referrals", "sort_order", "/info/referral/referrals", "sortOrder"),
     ("referrals", "page_size", "/info/referral/referrals", "size"),
     ("wallet_balances", "include_zero", "/info/account/wallet", "includeZero")],
)  # fmt: skip
def test_a_default_is_the_published_one(query: str, name: str, path: str, wire: str) -> None:
    with connected(PublishedServer(vary.APRIL)) as s:
        own = inspect.signature(getattr(s.info, query)).parameters[name].default
    assert own == shapes.parameters(path)[wire].default
