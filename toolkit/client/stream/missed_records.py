"""What a channel of the feed does not show, read from the Info API: earlier records, and those lost in a break.

The rows get the names of the feed, so that they go the same way as a message. Source: docs/published.md, "Info API".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from ...protocol.reads.feed import RECENT
from ...protocol.reads.feed_records import AOP_RECORDS, RECORDS
from ...protocol.reads.info_queries import ENDPOINTS
from ...protocol.reads.rows import Record
from ..io.flow import Flow
from ..reads.reading import OPEN_STATUSES, InfoSession, fetch_rows
from .updates import Topic

Data = dict[str, Any]

_LOGS = {
    "orderHist": ("order_events", "orderHists", RECORDS["orderHist"]),
    "userFilled": ("fills", "userFills", RECORDS["userFilled"]),
    "userFunding": ("funding_payments", "funding", RECORDS["userFunding"]),
}
"""Channel → query, member of a message with the items, their record."""


def history_reader(session: object) -> Callable[[Topic], Data | None] | None:
    """Return a function that reads a topic's data as a snapshot has it, None where the Info API has none of it.

    None itself for a session that can't read the Info API.
    """
    if getattr(session, "_driver", None) is None:
        return None
    reading = cast(InfoSession, session)

    def read(topic: Topic) -> Data | None:
        data: Data | None = reading._driver.run(_history(reading, topic))
        return data

    return read


def _history(session: InfoSession, topic: Topic) -> Flow[Data | None]:
    kind, fields = topic.channel.type, topic.fields
    if kind == "candle":
        rows = yield from _rows(
            session, "klines_last", symbol_name=fields["symbol"], interval=fields["interval"], limit=str(RECENT)
        )
        # Newest first; a snapshot has the current candle in `data` itself and the ones before it in `recent`.
        return {**rows[0], "recent": rows[:0:-1]} if rows else None
    if kind == "aopState":
        data: Data = yield from _account(session, fields["userAddress"])
        return data
    if kind not in _LOGS:
        return None
    query, key, record = _LOGS[kind]
    rows = yield from _rows(session, query, userAddr=fields["userAddress"], pageSize=str(RECENT))
    symbols = yield from _symbols(session, rows)
    return {key: _renamed(rows[::-1], query, record, symbols)}


def _account(session: InfoSession, address: str) -> Flow[Data]:
    """Return wallet, open orders and positions; leverages are those of the positions, the Info API has no others."""
    wallets = yield from _rows(session, "wallet_balances", userAddr=address)
    held = yield from _rows(session, "positions", userAddr=address)
    open_orders: list[Data] = []
    for status in OPEN_STATUSES:
        open_orders += yield from _rows(
            session, "order_states", userAddr=address, status=status, pageSize=str(5 * RECENT)
        )
    symbols = yield from _symbols(session, [*held, *open_orders])
    positions = _renamed(held, "positions", AOP_RECORDS["positions"], symbols)
    settings = [
        {"symbol": row.get("symbol"), "leverage": [row.get("posMode"), row.get("leverage")]} for row in positions
    ]
    orders = _renamed(open_orders, "order_states", AOP_RECORDS["orders"], symbols)
    return {"aop": {"accounts": wallets, "orders": orders, "positions": positions, "settings": settings}}


def _rows(session: InfoSession, name: str, **query: str) -> Flow[list[Data]]:
    rows = yield from fetch_rows(name, session._delivery.retry, **query)
    return [dict(row) for row in rows]


def _symbols(session: InfoSession, rows: list[Data]) -> Flow[dict[str, str]]:
    """Return the symbols by product code, as text; {} without a request when there are no rows."""
    if not rows:
        return {}
    table = yield from session._catalogue.table()
    return {str(product.code): product.symbol for product in table.values()}


def _renamed(rows: list[Data], query: str, record: Record, symbols: Mapping[str, str]) -> list[Data]:
    """Return rows of the Info API under the names of the feed's record, with the product's symbol for its code.

    A field of one that is a field of the other has the same column in both.
    """
    feed_names = {field.column: field.wire for field in record.fields}
    fields = [field for field in ENDPOINTS[query].record.fields if field.kind != "code"]
    names = {field.wire: feed_names[field.column] for field in fields if field.column in feed_names}
    made: list[Data] = []
    for row in rows:
        renamed = {names.get(name, name): value for name, value in row.items()}
        code = str(row.get("symbolCode", row.get("symbol", "")))
        if code in symbols:
            renamed["symbolCode"], renamed["symbol"] = int(code), symbols[code]
        made.append(renamed)
    return made
