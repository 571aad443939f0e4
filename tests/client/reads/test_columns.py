"""Columns by hand: what each kind of value becomes, and what is derived of positions, fills and rates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.client.reads.test_frames import kline
from toolkit import margin
from toolkit.client.reads import frames
from toolkit.client.reads.derived_columns import (
    LEG_COLUMNS,
    isolated_equity,
    legs,
    net_size,
    pnl_of,
    with_annual_rate,
)
from toolkit.errors import DataWarning
from toolkit.products import MarginTier
from toolkit.protocol.fields import P
from toolkit.protocol.reads.endpoint import MAX_TIME
from toolkit.protocol.reads.info.candles import Kline
from toolkit.protocol.reads.info.funding import FundingPayment
from toolkit.protocol.reads.rows import RecordField

NA = None
D = Decimal


def field(kind: str, *, enum: str = "", signed: bool = False) -> RecordField:
    return RecordField("x", "x", kind, enum or None, "", "", "", "string", P, signed)


def plain(values: Any) -> list[Any]:
    """Return a column as a list, with None for what is missing and ms for times."""
    found = pd.Series(values)
    return [
        None if one is None or one is pd.NA or (not isinstance(one, Decimal | dict | list) and pd.isna(one))
        else round(one.timestamp() * 1000) if isinstance(one, pd.Timestamp) else one
        for one in found
    ]  # fmt: skip


AMOUNTS: list[tuple[list[Any], list[Any], int]] = [
    (["1.5", "2", "0.0"], [D("1.5"), D(2), D("0.0")], 0),
    (["1.5", 2, 0.25], [D("1.5"), D(2), D("0.25")], 0),
    (["1", None, "", "x"], [D(1), NA, NA, NA], 1),
    (["1", "-2"], [D(1), NA], 1),
    ([True, "1"], [NA, D(1)], 1),
    (["1_000", "2"], [NA, D(2)], 1),
    (["١", "2"], [NA, D(2)], 1),
    (["inf", "nan", "1"], [NA, NA, D(1)], 2),
    ([[1], {}, "1"], [NA, NA, D(1)], 2),
    ([], [], 0),
]


@pytest.mark.parametrize(("values", "expected", "bad"), AMOUNTS)
@pytest.mark.parametrize("exact", [True, False])
def test_amounts_are_read_one_by_one_where_one_is_not_plain(
    values: list[Any], expected: list[Any], bad: int, exact: bool
) -> None:
    found, refused = frames.column(field("price"), values, {}, exact=exact)
    assert plain(found) == [one if one is None or exact else float(one) for one in expected]
    assert refused == bad
    assert found.dtype == (object if exact else np.float64)


@pytest.mark.parametrize(
    ("kind", "values", "expected", "bad"),
    [
        ("integer", [1, "2", -3], [1, 2, -3], 0),
        ("integer", [1, None, "", "x", 1.5, True], [1, NA, NA, NA, NA, NA], 3),
        ("integer", [0, 2.0, None], [0, 2, NA], 0),
        ("id", [2**63 - 1, str(2**63)], [2**63 - 1, NA], 1),
        ("id", [-(2**63), 2**63], [-(2**63), NA], 1),
        ("id", ["9007199254740993", None], [9007199254740993, NA], 0),
        ("integer", ["1_0", "2"], [NA, 2], 1),
        ("ms", [1_000, "2000", 0, None], [1_000, 2_000, NA, NA], 0),
        ("ms", [MAX_TIME, MAX_TIME + 1, -MAX_TIME - 1, -5], [MAX_TIME, NA, NA, -5], 2),
        ("ms", [MAX_TIME, "x"], [MAX_TIME, NA], 1),
        ("s", [1, 0, None], [1_000, NA, NA], 0),
        ("s", [MAX_TIME // 1000, MAX_TIME // 1000 + 1], [MAX_TIME // 1000 * 1000, NA], 1),
        ("bool", [True, "false", None, "", 7], [True, False, NA, NA, NA], 1),
        ("object", [{"a": 1}, [2], None, 3], [{"a": 1}, [2], NA, 3], 0),
        ("text", ["a", None, "a", ""], ["a", NA, "a", ""], 0),
        ("code", [1, "2", 9, None, 1], ["BTCUSDC", "ETHUSDC", "9", NA, "BTCUSDC"], 0),
    ],
)
def test_each_kind_of_value_becomes_its_column(kind: str, values: list[Any], expected: list[Any], bad: int) -> None:
    found, refused = frames.column(field(kind), values, {1: "BTCUSDC", 2: "ETHUSDC"}, exact=False)
    assert (plain(found), refused) == (expected, bad)


def test_an_enum_is_read_by_name_number_and_text_each_kind_of_value_apart() -> None:
    given = [1, "1", True, "BUY", "buy", 2, 1, True, None, 1.0]
    found, bad = frames.column(field("text", enum="order_side"), given, {}, exact=False)
    assert found[:2] == ["BUY", "BUY"]
    assert (found[2], found[7]) == (None, None), "True is no side, though True == 1 in Python"
    assert (found[3], found[5], found[6], found[8]) == ("BUY", "SELL", "BUY", None)
    assert bad == sum(one is None for one in found) - 1


def test_typed_rows_have_the_dtypes_that_are_declared_also_when_there_are_none() -> None:
    dtypes = {"name": "string", "size": "float64", "count": "Int64", "since": "datetime64[ms, UTC]", "any": "object"}
    rows: list[dict[str, Any]] = [
        {"name": "a", "size": D("1.5"), "count": 3, "since": 1_000, "any": [1]},
        {"name": pd.NA, "size": None, "count": None, "since": None},
    ]
    for exact in (False, True):
        made = frames.typed(rows, dtypes, exact=exact)
        assert plain(made["name"]) == ["a", NA]
        assert plain(made["size"]) == [1.5, NA]
        assert isinstance(made["size"].iloc[0], Decimal) is exact
        assert plain(made["count"]) == [3, NA]
        assert plain(made["since"]) == [1_000, NA]
        assert plain(made["any"]) == [[1], NA]
        none = frames.typed([], dtypes, exact=exact)
        assert list(none.columns) == list(dtypes)
        assert none.dtypes.to_dict() == made.dtypes.to_dict()
    times = [{"since": pd.Timestamp(5, unit="s", tz="UTC")}, {"since": None}]
    assert plain(frames.typed(times, {"since": dtypes["since"]})["since"]) == [5_000, NA]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, None, 2], "Int64"),
        ([1, 2.5], "float64"),
        ([0.5, None], "float64"),
        (["a", None], "string"),
        ([True, None], "boolean"),
        ([True, 1], object),
        ([2**63, 1], object),
        ([2**63, 1.5], object),
        (["a", 1], object),
        ([None], object),
        ([[1]], object),
    ],
)
def test_a_field_that_is_not_declared_has_the_dtype_of_its_values(values: list[Any], dtype: Any) -> None:
    record = FundingPayment.declared
    made = frames.from_rows(record, [{"new": one} for one in values])
    assert list(made.columns)[-1] == "new"
    assert made["new"].dtype == dtype
    assert plain(made["new"]) == values
    name = next(iter(record.columns))
    clash = frames.from_rows(record, [{name: "a"}]) if name not in record.by_wire else None
    if clash is not None:
        assert clash.columns[-1] == f"{name} (wire)"


def test_what_does_not_fit_is_shown_as_it_came_with_how_many_there_are() -> None:
    record = FundingPayment.declared
    wire = next(one.wire for one in record.fields if one.kind == "ms")
    column = next(one.column for one in record.fields if one.kind == "ms")
    said = rf"FundingPayment\.{wire}: 2 values such as 'x' are not ms\. NA in '{column}', as answered in the last"
    with pytest.warns(DataWarning, match=said):
        made = frames.from_rows(record, [{wire: 1_000}, {wire: "x"}, {wire: []}])
    assert plain(made[column]) == [1_000, NA, NA]
    assert made[f"{wire} (wire)" if wire in record.columns else wire].tolist() == [1_000, "x", []]


def test_frames_are_joined_without_empty_ones_and_with_the_answers_of_all() -> None:
    parts = [pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [2.5]}).head(0), pd.DataFrame({"a": [3]}).set_index("a")]
    parts[0].attrs["raw"], parts[2].attrs["raw"] = frames.InfoAnswer([b"1"]), frames.InfoAnswer([b"2", b"3"])
    made = frames.joined(parts)
    assert (made["a"].tolist(), made["a"].dtype, list(made.index)) == ([1, 3], "int64", [0, 1])
    assert made.attrs["raw"].pages == (b"1", b"2", b"3")
    assert frames.joined([parts[2]])["a"].tolist() == [3]
    assert frames.joined([parts[1], parts[1]]).attrs == {}


# Pages of candles.


def page(rows: list[dict[str, Any]], *, head: str = '{"code":0,"message":"success","data":', tail: str = "}") -> bytes:
    return (head + json.dumps(rows, separators=(",", ":")) + tail).encode()


NUMBERS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(10_000, 10**9)), min_size=1, max_size=30)


@settings(max_examples=20)
@given(NUMBERS, st.sampled_from([1, 200, 700, 1 << 17]))
def test_a_page_of_candles_in_any_pieces_is_that_of_its_rows(numbers: list[tuple[int, int]], chunk: int) -> None:
    rows = [kline(at, low="1", close=f"{price / 100}", high=10**7 + 1, tradeCount=at) for at, price in numbers]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(frames, "_CHUNK", chunk)
        found = frames.decode_page(page(rows))
    assert found is not None
    pd.testing.assert_frame_equal(found, frames.from_rows(Kline.declared, rows))


@pytest.mark.parametrize(
    "changed",
    [
        {"timestamp": 0},
        {"timestamp": -60},
        {"timestamp": 1.5},
        {"timestamp": MAX_TIME // 1000 + 1},
        {"tradeCount": 0.5},
        {"tradeCount": -1},
        {"tradeCount": MAX_TIME // 1000 + 1},
        {"close": "-0.1"},
        {"close": "inf"},
        {"close": "nan"},
        {"close": None},
        {"close": "x"},
        {"high": "59999"},
        {"low": "60002"},
        {"low": "0"},
        {"timestamp": 1767225607},
        {"symbolName": "ETHUSDC"},
        {"symbolName": 5},
        {"intrvl": 300},
        {"new": 1},
    ],
)
@pytest.mark.parametrize("place", [0, 1])
def test_a_page_with_one_candle_that_is_not_plain_is_read_row_by_row(changed: dict[str, Any], place: int) -> None:
    rows = [kline(1), kline(2)]
    rows[place] = {**rows[place], **changed}
    assert frames.decode_page(page(rows)) is None


# Derived columns.

TIERS = (MarginTier(D(0), D("0.01"), D(50)), MarginTier(D(1_000), D("0.02"), D(25)))


def position(symbol: str = "BTCUSDC", **given: Any) -> dict[str, Any]:
    """Return a long position of 2 that was opened at 90 and is marked at 100."""
    amounts = {"long_size": 2, "short_size": 0, "long_entry_value": 180, "short_entry_value": 0, "mark_price": 100}
    row = {"symbol": symbol, "margin_mode": "CROSS", "position_mode": "ONE_WAY", "leverage": 10, "assigned_margin": 0}
    row |= {**amounts, "realized_pnl": 7, "fees": 3, "created": 1_000, "time": 2_000, "account": "0xab"}
    return {name: D(one) if isinstance(one, int) and name not in ("created", "time") else one
            for name, one in (row | given).items()}  # fmt: skip


SHORT = {"long_size": 0, "long_entry_value": 0, "short_size": -2, "short_entry_value": 220}


@pytest.mark.parametrize(
    ("given", "size", "pnl", "equity"),
    [
        ({}, 2, 20, 0),
        (SHORT, -2, 20, 0),
        (SHORT | {"short_size": 2}, -2, 20, 0),
        ({"margin_mode": "ISOLATED", "assigned_margin": 30}, 2, 20, 50),
        (SHORT | {"margin_mode": "ISOLATED", "assigned_margin": 30}, -2, 20, 50),
        ({"short_size": 3, "short_entry_value": 330}, -1, 50, 0),
        ({"long_size": None, "long_entry_value": None}, 0, 0, 0),
    ],
)
def test_size_profit_and_equity_of_a_position(given: dict[str, Any], size: int, pnl: int, equity: int) -> None:
    row = position(**given)
    assert (net_size(row), pnl_of(row, D(100)), isolated_equity(row)) == (size, pnl, equity)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"side": "LONG", "unrealized_pnl": 20, "margin": 18, "entry_price": 90}),
        (SHORT, {"side": "SHORT", "unrealized_pnl": 20, "margin": 22, "entry_price": 110}),
        ({"mark_price": 80}, {"unrealized_pnl": -20, "notional": 160}),
        ({"leverage": 0}, {"margin": 180}),
        ({"margin_mode": "ISOLATED", "assigned_margin": 40}, {"margin": 40, "return_on_margin": D("0.5")}),
        ({"margin_mode": "ISOLATED"}, {"margin": 0, "return_on_margin": None}),
    ],
)
def test_a_leg_has_these_numbers(given: dict[str, Any], expected: dict[str, Any], exact: bool) -> None:
    made = legs([position(**given)], D(1_000), {"BTCUSDC": TIERS}, exact=exact)
    assert list(made.columns) == list(LEG_COLUMNS)
    (leg,) = made.to_dict("records")
    whole = {
        **{"symbol": "BTCUSDC", "size": 2, "mark_price": 100, "notional": 200, "leverage": 10, "realized_pnl": 7},
        **{"fees": 3, "margin_mode": "CROSS", "position_mode": "ONE_WAY", "account": "0xab"},
    } | {name: one for name, one in given.items() if name in LEG_COLUMNS}
    for name, one in (whole | expected).items():
        assert (None if pd.isna(leg[name]) else leg[name]) == one, name
    assert isinstance(leg["size"], Decimal) is exact
    assert (leg["created"].timestamp(), leg["time"].timestamp()) == (1, 2)


@pytest.mark.parametrize("side", ["LONG", "SHORT"])
def test_a_liquidation_price_leaves_the_others_their_margin(side: str) -> None:
    own: dict[str, Any] = {} if side == "LONG" else SHORT
    sign, entry = (1, D(90)) if side == "LONG" else (-1, D(110))
    other, alone = position("ETHUSDC"), position("SOLUSDC", margin_mode="ISOLATED", assigned_margin=30)
    tiers = dict.fromkeys(("BTCUSDC", "ETHUSDC", "SOLUSDC"), TIERS)

    def price_of(rows: Sequence[dict[str, Any]], equity: Decimal | None) -> Any:
        made = legs(rows, equity, tiers, exact=True)
        return made.set_index("symbol").loc["BTCUSDC", "liquidation_price"]

    def expected(available: int) -> Any:
        return margin.liquidation_price(sign, D(2), entry, D(available), TIERS)

    btc = position(**own)
    assert price_of([btc], D(100)) == expected(100 - 20)
    assert price_of([btc, other], D(100)) == expected(100 - 20 - 2)
    assert price_of([btc, other, alone], D(150)) == expected(150 - 20 - 2 - 50)
    assert price_of([position(**own, margin_mode="ISOLATED", assigned_margin=30)], None) == expected(30)
    assert pd.isna(price_of([btc], None))
    tiers["BTCUSDC"] = ()
    assert pd.isna(price_of([btc], D(100)))


def test_a_position_without_a_size_has_no_leg() -> None:
    assert legs([position(long_size=0)], D(100), {"BTCUSDC": TIERS}, exact=False).empty


@pytest.mark.parametrize("exact", [True, False])
def test_an_annual_rate_counts_the_intervals_of_365_days(exact: bool) -> None:
    rates = [D("0.0001"), D("-0.0002"), D("0.5"), D(1)] if exact else [0.0001, -0.0002, 0.5, 1.0]
    frame = pd.DataFrame(
        {"symbol": list("abcd"), "funding_rate": pd.Series(rates, dtype=object if exact else float)}
        | {"funding_interval": pd.array([14_400, 28_800, 31_536_000, None], dtype="Int64")}
    )
    made = with_annual_rate(frame, exact)
    assert list(made.columns) == ["symbol", "funding_rate", "annualised", "funding_interval"]
    assert [float(one) for one in plain(made["annualised"])[:3]] == pytest.approx([0.219, -0.219, 0.5])
    assert isinstance(made["annualised"].iloc[0], Decimal) is exact
    assert pd.isna(made["annualised"].iloc[3])
