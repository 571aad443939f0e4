"""One lie for each tie that is declared: neither a table nor the feed believes it. A new tie gets its lie."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import pytest

from tests.client.rows import nothing_of_sums, value_of
from toolkit.client.reads import frames
from toolkit.client.stream.channel_state import AccountState, state_of
from toolkit.errors import BadAnswer, DataWarning
from toolkit.protocol.enums import ENUMS
from toolkit.protocol.reads import wire_values
from toolkit.protocol.reads.door import Door
from toolkit.protocol.reads.feed import CHANNELS
from toolkit.protocol.reads.info_queries import ENDPOINTS
from toolkit.protocol.reads.rows import AMOUNTS, Record, RecordField

USER, OTHER, HASH = "0x" + "ab" * 20, "0x" + "cd" * 20, "0x" + "ab" * 32
NOW = 1_800_000_000_000
YEAR_2100 = 4_102_444_800_000


class Lie(NamedTuple):
    """What is wrong in the rows, and the tie that says so."""

    tie: str
    rows: list[dict[str, Any]]


def good(record: Record, at: int = 0) -> dict[str, Any]:
    """Return the row number `at` of a truthful answer, with all fields."""
    row = {one.wire: value_of(one) for one in record.fields if one.kind != "object"}
    row |= {one.wire: NOW // (1000 if one.kind == "s" else 1) for one in record.fields if one.kind in ("ms", "s")}
    row |= {one.wire: 7 + at for one in record.fields if one.kind in ("id", "key")}
    row |= {one.wire: 1 + at for one in record.fields if one.kind == "code" or one.wire == "symbolCode"}
    texts = {"address": USER, "hash": HASH}
    row |= {one.wire: texts[one.kind] for one in record.fields if one.kind in texts}
    row |= {one.wire: 60 for one in record.fields if one.column == "interval"}
    return row | nothing_of_sums(record)


def others(field: RecordField) -> list[Any]:
    """Return values that a field may have instead."""
    if field.enum:
        return list(ENUMS[field.enum].names)
    if field.kind in ("ms", "s"):
        return [(NOW + 7_000) // (1000 if field.kind == "s" else 1)]
    if field.column == "interval":
        return [60]
    return ["0", "1", "1000000"] if field.kind in AMOUNTS else [value_of(field)]


def lies(record: Record, tied: dict[str, str]) -> Iterator[Lie]:
    """Yield one answer for each tie: a truthful row, and one that breaks it."""
    for column in tied:
        field = record.by_column[column]
        another = {"address": OTHER, "symbol": "ETHUSDC", "code": 99, "hash": "0x" + "cd" * 32}.get(field.kind, 3600)
        yield Lie(f"{column} of the question", [{**good(record, 1), field.wire: another}])
    identity = tuple(record.by_wire[name].column for name in record.identity)
    for columns in [*([identity] if record.unique and identity else []), *(key.columns for key in record.keys)]:
        ids = {wire: good(record)[wire] for wire in record.wires(*columns)}
        yield Lie(f"{' and '.join(columns)} once", [good(record), good(record, 1) | ids])
    for rule in record.rules:
        fields = [record.by_column[column] for column in rule.columns]
        for values in product(*map(others, fields)):
            changed = dict(zip((one.wire for one in fields), values, strict=True))
            if not rule.holds(*(wire_values.read(one, changed[one.wire]) for one in fields)):
                yield Lie(rule.said, [{**good(record, 1), **changed}])
                break
        else:
            raise AssertionError(f"no values break {rule}")
    for time in record.past:
        later = YEAR_2100 // (1000 if time.kind == "s" else 1)
        yield Lie(f"{time.wire} in 2100", [{**good(record, 1), time.wire: later}])


QUERIES = {
    one.name: (one, {param.ties: param for param in one.params.values() if param.ties and param.ties != "time"})
    for one in ENDPOINTS.values()
    if one.name != "products"  # the catalogue reads them, which leaves out what is no product
}


@pytest.mark.parametrize("name", QUERIES)
def test_no_answer_that_breaks_a_declared_tie_is_believed(name: str) -> None:
    endpoint, params = QUERIES[name]
    record = endpoint.record
    truth = {column: str(good(record, 1)[record.by_column[column].wire]) for column in params}
    query = tuple((param.wire, truth[column]) for column, param in params.items())

    def read(rows: list[dict[str, Any]]) -> int:
        body = json.dumps({"code": 0, "message": "success", "data": rows}).encode()
        table = frames.frame(endpoint, body, query, symbols={1: "A", 2: "B", 99: "C"}, entrance=Door(), now_ms=NOW)
        return len(table)

    assert read([good(record, 1)]) == 1
    for lie in lies(record, truth):
        if not record.drops or "question" in lie.tie:
            with pytest.raises(BadAnswer):
                read(lie.rows)
        else:
            with pytest.warns(DataWarning, match="are left out"):
                assert read(lie.rows) == len(lie.rows) - 1, lie.tie
    for field, _ in record.enums:
        with pytest.warns(DataWarning, match=f"{field.wire} 'MOONED' is none of"):
            read([{**good(record, 1), field.wire: "MOONED"}])


PARTS = [(name, part, row) for name, one in CHANNELS.items() for part, row in (one.parts or {"": one.row}).items()]
FEEDS = [(name, part, row.declared) for name, part, row in PARTS if row is not None and name != "orderBook"]


@pytest.mark.parametrize(("name", "part", "record"), FEEDS, ids=lambda one: one if isinstance(one, str) else "")
def test_no_row_of_the_feed_that_breaks_a_declared_tie_is_believed(name: str, part: str, record: Record) -> None:
    channel = CHANNELS[name]
    fields = {one.name: {"account": USER, "interval": "60"}.get(one.ties, "BTCUSDC") for one in channel.fields}
    tied = {one.ties: "" for one in channel.fields if one.ties in record.by_column}

    def left_out(row: dict[str, Any]) -> tuple[int, str]:
        state = state_of(channel, fields)
        state.now_ms = NOW
        row = row | {one.wire: {} for one in record.fields if one.kind == "object"}
        state.snapshot({"aop": {part: [row]}} if part else {channel.key: [row]} if channel.key else row, merge=False)
        known = len(state.parts[part]) if isinstance(state, AccountState) else len(state.records())
        assert known == (state.dropped == 0)
        return state.dropped, " ".join(state.noticed.values())

    assert left_out(good(record)) == (0, "")
    for lie in lies(record, tied):
        if len(lie.rows) == 1:  # later rows replace those before them
            assert left_out(lie.rows[0])[0] == 1, lie
    for field, _ in record.enums:
        assert f"{field.wire} 'MOONED' is none of" in left_out({**good(record), field.wire: "MOONED"})[1]
