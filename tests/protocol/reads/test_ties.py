"""An answer answers its question: rows of another account, product, interval, order or time are refused by name."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.client.rows import whole
from toolkit.errors import BadAnswer
from toolkit.protocol.reads import wire_values
from toolkit.protocol.reads.door import admit, fault, rows_of, typed_rows
from toolkit.protocol.reads.endpoint import Endpoint, Param
from toolkit.protocol.reads.feed import CHANNELS
from toolkit.protocol.reads.info.candles import KLINES
from toolkit.protocol.reads.info.explorer import BLOCK, TRANSACTION
from toolkit.protocol.reads.info.orders import FILLS, ORDER_STATES, OrderState, Trade
from toolkit.protocol.reads.info.positions import POSITIONS, Position
from toolkit.protocol.reads.info_queries import ENDPOINTS
from toolkit.protocol.reads.rows import Record
from toolkit.protocol.reads.ties import contradiction, of_subscription

USER, OTHER = "0x" + "aB" * 20, "0x" + "cd" * 20


@pytest.mark.parametrize(
    ("endpoint", "query", "same", "others"),
    [
        (FILLS, ("userAddr", USER), [USER, USER.lower(), None, "", "0xabab...", 7, []], [OTHER]),
        (FILLS, ("symbol", "1"), [1, "1", 1.0, None, "", "BTCUSDC", "x", {}], [2, "2"]),
        (FILLS, ("orderId", "7"), [7, "7", 7.0], [8, "8", 0]),
        (FILLS, ("execId", "7"), [7, "7", None, ""], [8]),
        (FILLS, ("startTime", "1000"), [1000, "1001"], [999, "999"]),
        (FILLS, ("endTime", "1000"), [1000, "999"], [1001, "1001"]),
        (ORDER_STATES, ("clientOrderId", "7"), [7, "7", None], [8, 0]),
        (ORDER_STATES, ("startTime", "1000"), [999], []),
        (POSITIONS, ("symbol", "1"), [1, "1"], [2]),
        (KLINES, ("symbol_name", "BTCUSDC"), ["BTCUSDC", "btcusdc", None], ["ETHUSDC"]),
        (KLINES, ("interval", "60"), [60, "60", None], [3600, "3600"]),
        (KLINES, ("startTime", "1000"), [0], []),
        (TRANSACTION, ("txHash", "0x" + "Ab" * 32), ["0x" + "aB" * 32, "ab" * 32], ["0x" + "ac" * 32]),
        (BLOCK, ("blockHeight", "0"), [0, "0", None], [1]),
    ],
    ids=lambda one: one.name if isinstance(one, Endpoint) else one[0] if isinstance(one, tuple) else "",
)
def test_a_row_of_another_question_is_refused_and_one_that_can_not_be_tied_is_not(
    endpoint: Endpoint[Any], query: tuple[str, str], same: list[Any], others: list[Any]
) -> None:
    record, ties = endpoint.record, endpoint.params[query[0]].ties
    wire = record.time if ties == "time" or not ties else record.by_column[ties].wire
    good = whole(record, **dict.fromkeys(record.identity, "345600"))
    for value in same:
        rows = [{**good, wire: value}]
        assert rows_of(endpoint, rows, [query]) == rows
        rows = [{name: held for name, held in good.items() if name != wire}]
        assert rows_of(endpoint, rows, [query]) == rows
    for value in others:
        fine = {**good, wire: same[0], record.identity[0]: "2"} if wire not in record.identity else {}
        with pytest.raises(BadAnswer, match=rf"^GET {endpoint.path}: {record.name}: {wire} .*, in row 2 of 2$"):
            rows_of(endpoint, [fine, {**good, wire: value}], [query])


def test_two_rows_with_one_identity_are_no_answer() -> None:
    rows = [whole(Trade.declared, id=number) for number in (1, "2", "1")]
    with pytest.raises(BadAnswer, match=r"^GET /info/trade/page: Trade: id 1 is there twice, in row 3 of 3$"):
        rows_of(FILLS, rows)
    assert rows_of(FILLS, rows[:2]) == rows[:2]
    assert len(rows_of(FILLS, [{**rows[0], "id": None}] * 2)) == 2
    held = [whole(Position.declared, userAddr=USER, symbolCode=code) for code in (1, 2, 1)]
    with pytest.raises(BadAnswer, match=r"userAddr and symbolCode 0x.* is there twice"):
        rows_of(POSITIONS, held)
    candles = [whole(KLINES.record, timestamp=60)] * 2
    assert rows_of(KLINES, candles) == candles


@pytest.mark.parametrize(
    ("changed", "refused"),
    [
        ({}, False),
        ({"filledQty": "0.5", "leaveQty": "1.50"}, False),
        ({"filledQty": "2", "leaveQty": 0}, False),
        ({"filledQty": "0.5", "leaveQty": "1.6"}, True),
        ({"filledQty": "2", "status": "FILLED"}, True),
        ({"filledQty": "2", "status": 3}, True),
        ({"filledQty": "0.5", "leaveQty": "0", "status": "CANCELED"}, False),
        ({"leaveQty": "0", "status": "REJECTED"}, False),
        ({"qty": "0", "leaveQty": "0.7"}, False),
        ({"leaveQty": None}, False),
        ({"leaveQty": "?"}, False),
        ({"status": None, "leaveQty": "0"}, False),
        ({"leaveQty": "0.4", "reduceOnly": 1}, False),
        ({"leaveQty": "0.4", "reduceOnly": None}, False),
        ({"leaveQty": "0.4", "side": "SELL_CLOSE_HEDGE"}, False),
        ({"leaveQty": "2.1", "reduceOnly": 1}, True),
        ({"filledQty": "2.1", "status": "CANCELED"}, True),
    ],
)
def test_filled_and_remaining_are_the_quantity_until_the_order_ends(changed: dict[str, Any], refused: bool) -> None:
    row = {**whole(OrderState.declared, qty="2", filledQty="0", leaveQty="2", reduceOnly=0), **changed}
    if refused:
        with pytest.raises(
            BadAnswer, match=r"OrderState: .*: (filled and open are |an order that is FILLED).*, in row 1 of 1"
        ):
            rows_of(ORDER_STATES, [row])
    else:
        assert rows_of(ORDER_STATES, [row]) == [row]


@pytest.mark.parametrize(
    ("channel", "fields", "row"),
    [
        ("candle", {"symbol": "BTCUSDC", "interval": "60"}, {"symbolName": "BTCUSDC", "intrvl": "3600"}),
        ("candle", {"symbol": "BTCUSDC", "interval": "60"}, {"symbolName": "ETHUSDC", "intrvl": 60}),
        ("ticker", {"symbol": "BTCUSDC"}, {"s": "ETHUSDC"}),
        ("trades", {"symbol": "BTCUSDC"}, {"symbol": "ETHUSDC"}),
        ("userFilled", {"userAddress": USER.lower()}, {"userAddr": OTHER}),
    ],
)
def test_a_row_of_another_subscription_is_named(channel: str, fields: dict[str, Any], row: dict[str, Any]) -> None:
    declared = CHANNELS[channel]
    question, good = of_subscription(declared, fields), whole(declared.record)
    assert contradiction(declared.record, [{**good, **row}], question) is not None
    mine = {declared.record.by_column[column].wire: value for column, value in question.tied.items()}
    assert contradiction(declared.record, [{**good, **row, **mine}], question) is None


def test_a_tie_to_a_column_that_is_not_there_is_an_error_at_import() -> None:
    param = Param("userAddr", "account", "address", "", ties="interval")
    with pytest.raises(TypeError, match="x: userAddr ties interval, which is no column of Trade"):
        Endpoint("x", "/x", "", Trade, params=(param,))


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.decimals(), st.text(max_size=4), st.just([]), st.just({}),
    st.integers().map(str), st.decimals(allow_nan=False).map(str),
    st.sampled_from(["", "1_0", " 1", "NaN", "1e40", "-0", "+5", "1.", ".", "٣", "true", "BUY", "9" * 40]),
)  # fmt: skip
RECORDS = [*(one.record for one in ENDPOINTS.values()), *(one.record for one in CHANNELS.values() if one.row)]


@settings(max_examples=300)
@given(st.data(), st.sampled_from([field for record in RECORDS for field in record.fields]))
def test_a_column_is_read_as_its_values_are(data: st.DataObject, field: Any) -> None:
    alike = data.draw(st.sampled_from([VALUES, st.integers(0, 10**13), st.integers(0, 99).map(str),
                                       st.decimals(-99, 99, places=3).map(str)]))  # fmt: skip
    values, expected, bad = data.draw(st.lists(alike, max_size=5)), [], 0
    for value in values:
        try:
            expected.append(wire_values.read(field, value))
        except ValueError:
            expected.append(None)
            bad += 1
    found, refused = wire_values.column(field, values)
    assert (list(map(repr, found)), refused) == (list(map(repr, expected)), bad)


@given(st.data(), st.sampled_from(RECORDS))
def test_rows_are_admitted_as_each_of_them_is(data: st.DataObject, record: Record) -> None:
    rows: list[Any] = [whole(record) for _ in range(data.draw(st.integers(1, 3)))]
    damaged = data.draw(st.sampled_from(record.fields))
    rows[-1] |= {damaged.wire: data.draw(VALUES)}
    if any(fault(record, row) for row in rows):
        with pytest.raises(BadAnswer):
            admit("/x", record, rows)
    else:
        admit("/x", record, rows)


def test_a_typed_row_has_values_of_python_by_name() -> None:
    given = {"symbol": "1", "side": 2, "status": "NEW", "clOrdId": "7", "timeInForce": "", "price": "1.50", "type": "?"}
    [row] = typed_rows(OrderState, [whole(OrderState.declared, **given)], "/x", symbols={"1": "BTCUSDC"})
    assert (row.symbol, row.side, row.client_order_id, row.tif, row.type) == ("BTCUSDC", "SELL", 7, None, "?")
    assert (str(row.price), row.remaining, row.filled) == ("1.50", Decimal(1), Decimal(0))
    told: list[Any] = []
    [bad] = typed_rows(
        OrderState, [whole(OrderState.declared, price="x")], "/x", tell=lambda *given: told.append(given)
    )
    assert bad.price is None
    assert [(field.wire, values, count) for field, values, count in told] == [("price", ["x"], 1)]
    for rows in ([whole(OrderState.declared, qty="x")], [7]):
        with pytest.raises(BadAnswer, match=r"^GET /x: OrderState: "):
            typed_rows(OrderState, rows, "/x")
