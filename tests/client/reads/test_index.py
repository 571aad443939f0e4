"""`index` of the reads: which column is the index, or none, so that polars, DuckDB and Arrow keep the key."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import toolkit
from toolkit.errors import InputError
from toolkit.protocol.reads.info_queries import ENDPOINTS
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

KEYS = {
    "products": "symbol",
    "klines": "time",
    "ticker": "symbol",
    "tickers": "symbol",
    "positions": "symbol",
    "fee_rates": "symbol",
    "funding_rates": "symbol",
    "intents": "intent",
    "parent_orders": "parent",
    "products.margin_tables": "table",
    "products.currencies": "currency",
}
"""Reads with a key as the index by default → the key."""
SYMBOL_FIRST = ("klines", "ticker", "order_book", "trades")


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with LocalVenue(clock="manual") as venue, toolkit.connect(venue=venue) as made:
        venue.advance("1m")
        made.buy("BTCUSDC", "0.02")
        made.buy("BTCUSDC", "0.01", price="50000")
        venue.advance("1m")
        yield made


def reads(owner: Any) -> list[str]:
    """Return the names of methods that take `index`."""
    found = []
    for name in dir(type(owner)):
        member = inspect.getattr_static(type(owner), name)
        if not name.startswith("_") and callable(member) and "index" in inspect.signature(member).parameters:
            found.append(name)
    return found


def call(session: Session, name: str) -> Callable[..., pd.DataFrame]:
    method = attrgetter(name)(session)
    return lambda **given: method("BTCUSDC", **given) if name in SYMBOL_FIRST else method(**given)


def test_every_query_and_every_table_of_a_session_takes_an_index(session: Session) -> None:
    assert set(reads(session.info)) == set(ENDPOINTS)
    tables = {
        name
        for name in dir(Session)
        if not name.startswith("_")
        and callable(member := inspect.getattr_static(Session, name))
        and inspect.signature(member).return_annotation == "pd.DataFrame"
    }
    # what_if has two labelled rows of one account, and no key. stop_all trades, and its rows are of several kinds.
    # Those of a statement are numbered, as each continues the balance of the one before.
    assert tables - {"what_if", "stop_all", "statement"} == set(reads(session))


def test_a_read_has_its_key_as_the_index_or_as_a_column(session: Session) -> None:
    for name in reads(session):
        read, key = call(session, name), KEYS.get(name)
        usual, plain = read(), read(index=None)
        assert usual.index.name == key, name
        assert isinstance(plain.index, pd.RangeIndex), name
        if key is not None:
            assert plain.columns[0] == key, name
            pd.testing.assert_frame_equal(plain.set_index(key), usual)
            assert plain.attrs.keys() == usual.attrs.keys()


def test_a_column_can_be_the_index_of_any_read(session: Session) -> None:
    for name in reads(session):
        read = call(session, name)
        for column in read(index=None).columns[:3]:
            assert read(index=column).index.name == column, name
    assert session.info.fills(index="time").index.name == "time"
    assert session.info.products(index=None).columns[0] == "symbol"
    with session.stream.ticker("BTCUSDC") as live:
        assert live.frame(index="symbol").index.tolist() == ["BTCUSDC"]
    assert session.buy("BTCUSDC", "0.01").events(index="time").index.name == "time"


@pytest.mark.parametrize("index", ["timed", "", True, ["time"], 0])
def test_an_index_that_is_no_column_is_refused(session: Session, index: Any) -> None:
    with pytest.raises(InputError, match="no column of this table") as caught:
        session.klines("BTCUSDC", "1h", limit=2, index=index)
    assert caught.value.field == "index"


@pytest.mark.parametrize("name", sorted(KEYS))
def test_the_key_comes_through_polars_duckdb_and_arrow(session: Session, name: str) -> None:
    made, key = call(session, name)(index=None), KEYS[name]
    expected = made[key].tolist()
    table = pa.Table.from_pandas(made)
    assert table.column(key).to_pandas().tolist() == expected
    assert pa.table(made).column_names[0] == key
    streamed = pa.RecordBatchReader.from_stream(made).read_all()
    assert streamed.column(key).to_pandas().tolist() == expected
    shown = duckdb.sql("select * from made").to_arrow_table()
    assert shown.column_names[0] == key
    assert pd.Series(shown.column(key).to_pandas()).tolist() == expected
    for frame in (pl.from_pandas(made), pl.DataFrame(made), pl.from_arrow(table)):
        assert isinstance(frame, pl.DataFrame)
        assert frame.columns[0] == key
        assert frame[key].to_list() == expected
