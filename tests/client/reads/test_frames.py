"""Frames: the same columns and dtypes whatever the venue answers."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.client.reads import frames
from toolkit.errors import BadAnswer, DataWarning
from toolkit.protocol.reads.door import typed_rows
from toolkit.protocol.reads.endpoint import Endpoint
from toolkit.protocol.reads.info.accounts import AccountAgent
from toolkit.protocol.reads.info.funding import FundingRate
from toolkit.protocol.reads.info.orders import OrderState
from toolkit.protocol.reads.info_queries import ENDPOINTS

ORDER = {
    "ordId": "9007199254740993",
    "clOrdId": 7,
    "symbol": 1,
    "side": 2,
    "type": 1,
    "status": "NEW",
    "price": "60000.10",
    "qty": "0.300",
    "triggerPx": None,
    "reduceOnly": 0,
    "timeInForce": "GTC",
    "blockTime": 1767225600123,
    "userAddr": "0xab",
}


def envelope(data: Any) -> bytes:
    return msgspec.json.encode({"code": 0, "message": "success", "data": data})


def kline(at: int, **changed: Any) -> dict[str, Any]:
    row = {
        "symbolName": "BTCUSDC",
        "timestamp": 1767225600 + 60 * at,
        "intrvl": 60,
        "open": f"{60000 + at}.1",
        "high": "60010.5",
        "low": "59990",
        "close": "60001.25",
        "volume": "1.234",
        "turnover": "74000.123456",
        "tradeCount": at,
    }
    return row | changed


def label(value: object) -> str:
    return getattr(value, "name", str(value))


@pytest.mark.parametrize("endpoint", ENDPOINTS.values(), ids=label)
@pytest.mark.parametrize("exact", [False, True])
def test_an_empty_answer_has_the_columns_and_dtypes_of_a_full_one(endpoint: Endpoint, exact: bool) -> None:
    for data in (None, [], {"total": 0, "items": []}):
        made = frames.frame(endpoint, envelope(data), exact=exact)
        assert len(made) == 0
        decimals = {"price", "quantity", "money", "ratio"}
        assert {name: str(dtype) for name, dtype in made.dtypes.items()} == {
            field.column: "object" if exact and field.kind in decimals else field.dtype
            for field in endpoint.record.fields
        }


@pytest.mark.parametrize("endpoint", ENDPOINTS.values(), ids=label)
def test_nulls_missing_and_unknown_fields_keep_the_dtypes(endpoint: Endpoint) -> None:
    wires = [field.wire for field in endpoint.record.fields]
    rows = [dict.fromkeys(wires), {}, {"brandNew": {"deep": [1]}, "another": 5}]
    made = frames.frame(endpoint, envelope(rows))
    assert made.dtypes[: len(wires)].equals(frames.empty(endpoint.record).dtypes)
    assert made[list(endpoint.record.columns)].isna().all(axis=None)
    assert list(made.columns[len(wires) :]) == ["brandNew", "another"]
    assert made["brandNew"][2] == {"deep": [1]}
    assert made["another"].dtype == "Int64"


def test_rows_that_are_no_objects_are_left_out_with_a_warning() -> None:
    with pytest.warns(DataWarning, match="1 rows are not objects"):
        made = frames.frame(ENDPOINTS["order_states"], envelope([ORDER, 5]))
    assert len(made) == 1


def test_an_answer_that_is_not_the_envelope_is_named() -> None:
    with pytest.raises(BadAnswer, match="not JSON"):
        frames.frame(ENDPOINTS["wallet_balances"], b"<html>")
    with pytest.raises(BadAnswer, match="not the venue's envelope"):
        frames.frame(ENDPOINTS["wallet_balances"], b"[1]")


@pytest.mark.parametrize("body", [b"<" * 600, b"[" + b"1," * 300 + b"1]"])
def test_an_answer_that_cannot_be_read_is_shown_up_to_500_characters(body: bytes) -> None:
    with pytest.raises(BadAnswer) as caught:
        frames.frame(ENDPOINTS["wallet_balances"], body)
    assert caught.value.body == body[:500].decode()


@settings(max_examples=30)
@given(st.lists(st.decimals(min_value="0.01", max_value=10**9, places=6), min_size=1, max_size=20))
def test_the_fast_way_reads_every_decimal_as_python_does(numbers: list[Decimal]) -> None:
    rows = [kline(at, open=str(number), high=str(10**9), low="0.01") for at, number in enumerate(numbers)]
    assert frames.frame(ENDPOINTS["klines"], envelope(rows))["open"].tolist() == [float(str(n)) for n in numbers]


def test_the_raw_answer_survives_copies_and_gets_in_no_ones_way(tmp_path: Path) -> None:
    made = frames.frame(ENDPOINTS["klines"], envelope([kline(0), kline(1)]))
    raw = made.attrs["raw"]
    assert raw.json()[0]["data"][1]["tradeCount"] == 1
    assert made.copy().attrs["raw"] is raw
    assert made[made["trades"] > 0].attrs["raw"] is raw
    assert copy.deepcopy(raw) is copy.copy(raw) is raw
    same = frames.InfoAnswer(raw.pages)
    assert (raw == raw, raw != raw, raw == same, raw != same) == (True, False, False, True)
    assert (len(raw), dict(raw), len({raw, same})) == (0, {}, 2)
    assert pickle.loads(pickle.dumps(raw)).pages == raw.pages
    assert "1 answers" in repr(raw)
    other = frames.frame(ENDPOINTS["klines"], envelope([kline(2)]))
    assert len(pd.concat([made, other])) == 3
    assert "raw" not in pd.concat([made, other]).attrs
    assert repr(made)
    assert made.to_html()
    made.to_parquet(tmp_path / "klines.parquet")
    assert len(made.merge(other, on="symbol")) == 2


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5)
)


@pytest.mark.filterwarnings("ignore::toolkit.errors.DataWarning")
@settings(max_examples=30)
@given(st.lists(st.dictionaries(st.sampled_from([*ORDER, "x"]), st.one_of(SCALARS, st.lists(SCALARS)), max_size=8)))
def test_whatever_is_answered_gives_a_frame_with_the_pinned_dtypes(rows: list[dict[str, Any]]) -> None:
    made = frames.from_rows(OrderState.declared, rows)
    assert len(made) == len(rows)
    assert made.dtypes[: len(OrderState.declared.fields)].equals(frames.empty(OrderState.declared).dtypes)


def test_a_time_that_is_not_set_is_missing_in_plain_values_too() -> None:
    agent = {one.wire: "1" for one in ENDPOINTS["agents"].record.fields}
    for revoked, expected in ((0, None), (1767225600000, 1767225600000)):
        [row] = typed_rows(AccountAgent, [{**agent, "revokedAt": revoked, "approvedAt": 1767225600000}], "")
        assert (row.revoked_at, row.approved_at) == (expected, 1767225600000)


@pytest.mark.parametrize("number", [b"0.12345678901234567890", b'"0.12345678901234567890"'])
def test_amounts_are_exact_as_written(number: bytes) -> None:
    row = msgspec.json.encode(dict.fromkeys((one.wire for one in ENDPOINTS["funding_rates"].record.fields), "1"))
    body = b'{"code":0,"message":"","data":[' + row.replace(b'"fundingRate":"1"', b'"fundingRate":' + number) + b"]}"
    [values] = typed_rows(FundingRate, frames.data_of(body, exact=True), "")
    assert str(values.funding_rate) == "0.12345678901234567890"
    made = frames.frame(ENDPOINTS["funding_rates"], body, exact=True)
    assert str(made["funding_rate"][0]) == "0.12345678901234567890"
