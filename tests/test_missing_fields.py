"""Every published field of every record, taken away from answers and messages: each absence is noticed."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

import toolkit
from tests.test_info_contract import World, world
from toolkit.client.stream.protocol import FeedProtocol
from toolkit.errors import BadAnswer, DataWarning
from toolkit.protocol.reads.feed import AOP_RECORDS, CHANNELS, RECORDS
from toolkit.protocol.reads.info_queries import ENDPOINTS, META_RECORDS
from toolkit.protocol.reads.rows import Record
from toolkit.session import Session
from toolkit.venue.api.in_process import VenueTransport

__all__ = ["world"]

Change = Callable[[dict[str, Any], str], None]


def renamed(row: dict[str, Any], name: str) -> None:
    if name in row:
        row[f"{name}2"] = row.pop(name)


def emptied(row: dict[str, Any], name: str) -> None:
    if name in row:
        row[name] = None


CALLS: dict[str, tuple[str, Callable[[Session, World], Any]]] = {
    "ProductMeta": ("products", lambda s, w: s.products()),
    "AccountWallet": ("wallet_balances", lambda s, w: s.wallet_balances()),
    "AccountAgent": ("agents", lambda s, w: s.info.agents()),
    "OrderState": ("order_states", lambda s, w: s.orders()),
    "OrderEvent": ("order_events", lambda s, w: s.info.order_events()),
    "Position": ("positions", lambda s, w: s.positions()),
    "Trade": ("fills", lambda s, w: s.fills()),
    "Kline": ("klines", lambda s, w: s.klines("BTCUSDC", "1m", limit=20)),
    "Vault": ("vault", lambda s, w: s.info.vault(w.vault)),
    "BuilderAgent": (
        "builder_agents",
        lambda s, w: s.info.builder_agents(builder=w.builder.account, include_expired=True),
    ),
    "MarginTier": ("products", lambda s, w: s.products.margin_tables()),
    "Currency": ("products", lambda s, w: s.products.currencies()),
}
"""Record → the query that has it, and a public call that reads it."""
DECLARED = {query.record.name: query.record for query in ENDPOINTS.values()} | {
    record.name: record for record in META_RECORDS.values()
}
FIELDS = [(name, wire) for name in CALLS for wire in DECLARED[name].published]


def rows_in(record: str, data: Any) -> list[Any]:
    if record == "MarginTier":
        return [row for table in data["marginTables"] for row in [table, *table["riskLimitVo"]]]
    return list(data["currencies"]) if record == "Currency" else ENDPOINTS[CALLS[record][0]].rows(data)


@pytest.fixture
def altered(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, Change], None]:
    """Return a function that changes a field in each row of a record from now on."""
    answer = VenueTransport._answer

    def alter(record: str, wire: str, change: Change) -> None:
        def changed(self: VenueTransport, request: Any, body: bytes) -> Any:
            made = answer(self, request, body)
            if request.url.path != ENDPOINTS[CALLS[record][0]].path:
                return made
            envelope = msgspec.json.decode(made.body)
            for row in rows_in(record, envelope["data"]):
                change(row, wire)
            return made._replace(body=msgspec.json.encode(envelope))

        monkeypatch.setattr(VenueTransport, "_answer", changed)

    return alter


def noticed(read: Callable[[], Any]) -> str:
    """Return what a read said of a field that is missing, "" for nothing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            read()
        except BadAnswer as error:
            return str(error)
    assert {one.filename for one in caught} <= {__file__}, "they name the user's line"
    return "; ".join(str(one.message) for one in caught if issubclass(one.category, DataWarning))


def test_an_answer_without_a_published_field_is_noticed_for_every_field_of_every_record(
    world: World, altered: Callable[[str, str, Change], None]
) -> None:
    silent = []
    for change in (renamed, emptied):
        for record, wire in FIELDS:
            if change is emptied and wire in DECLARED[record].nullable:
                continue  # these say when they are empty
            altered(record, wire, change)
            with toolkit.connect(venue=world.venue, account=0) as session:
                said = noticed(lambda session=session, record=record: CALLS[record][1](session, world))  # type: ignore[misc]
            if wire not in said:
                silent.append((change.__name__, record, wire, said))
    assert not silent, (len(silent), silent)
    assert len(FIELDS) >= 95


@pytest.mark.parametrize("record", [name for name in CALLS if DECLARED[name].needed and name not in ("ProductMeta",)])
def test_what_a_record_needs_is_refused_by_path_record_and_field(
    world: World, altered: Callable[[str, str, Change], None], record: str
) -> None:
    for field in DECLARED[record].needed:
        altered(record, field.wire, renamed)
        with toolkit.connect(venue=world.venue, account=0) as session, pytest.raises(BadAnswer) as caught:
            CALLS[record][1](session, world)
        path = ENDPOINTS[CALLS[record][0]].path
        assert f"GET {path}: {record}: {field.wire} is missing" in str(caught.value)


def test_a_position_without_its_size_is_not_taken_for_none(
    world: World, altered: Callable[[str, str, Change], None]
) -> None:
    with toolkit.connect(venue=world.venue, account=0) as session:
        altered("Position", "longSize", renamed)
        with pytest.raises(BadAnswer, match="Position: longSize is missing"):
            session.positions()
        with pytest.warns(
            DataWarning, match=r"longSize is missing.*Orders of the largest size are sent, which only reduce"
        ):
            session.close_position("BTCUSDC")


def test_an_absent_field_is_said_once_a_session(world: World, altered: Callable[[str, str, Change], None]) -> None:
    async def awaited(session: Session) -> Any:
        return await session.aio.fills()

    altered("Trade", "txHash", renamed)
    for read in (lambda one: one.fills(), lambda one: asyncio.run(awaited(one))):
        with toolkit.connect(venue=world.venue, account=0) as session:
            assert "Trade.txHash" in noticed(lambda read=read, session=session: read(session))  # type: ignore[misc]
            assert noticed(lambda read=read, session=session: read(session)) == ""  # type: ignore[misc]


def test_an_empty_list_is_an_empty_frame_and_says_nothing(world: World) -> None:
    with toolkit.connect(venue=world.venue, account=9) as session:
        for read in (session.positions, session.orders, session.fills, session.info.order_events):
            assert noticed(lambda read=read: read()) == ""  # type: ignore[misc]
            assert read().empty


LIVE: dict[str, Callable[[Session], Any]] = {
    "trades": lambda s: s.stream.trades("BTCUSDC"),
    "ticker": lambda s: s.stream.ticker("BTCUSDC"),
    "allTickers": lambda s: s.stream.tickers(),
    "candle": lambda s: s.stream.candles("BTCUSDC", "1m"),
    "block": lambda s: s.stream.blocks(),
    "blockHeight": lambda s: s.stream.block_height(),
    "tx": lambda s: s.stream.transactions(),
    "orderHist": lambda s: s.stream.order_history(),
    "userFilled": lambda s: s.stream.fills(),
    "closedPosition": lambda s: s.stream.closed_positions(),
    "userFunding": lambda s: s.stream.funding(),
    "userEvent": lambda s: s.stream.events(),
    "accounts": lambda s: s.stream.account(),
    "orders": lambda s: s.stream.orders(),
    "positions": lambda s: s.stream.positions(),
    "settings": lambda s: s.stream.leverages(),
}
"""Channel, or part of aopState → its live object."""


def feed_fields() -> Iterator[tuple[str, str]]:
    for name in LIVE:
        record: Record = AOP_RECORDS.get(name) or RECORDS[name]
        columns = CHANNELS[name].columns if name in CHANNELS else ()
        for field in record.fields:
            # What is missing where it has its usual value can't be told from what is missing.
            if field.wire in (columns or record.published) and "missing" not in field.about:
                yield name, field.wire


@pytest.mark.parametrize("name", LIVE)
def test_a_message_without_a_published_field_is_noticed_for_every_field_of_every_channel(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    received, silent = FeedProtocol.received, []
    for wire in [wire for channel, wire in feed_fields() if channel == name]:

        def changed(self: FeedProtocol, text: str, now_ms: int, wire: str = wire) -> None:
            message = json.loads(text)
            data = message.get("data")
            if message.get("channel") == (name if name in CHANNELS else "aopState") and isinstance(data, dict):
                held = data["aop"] if name in AOP_RECORDS else data
                rows = held.get(name if name in AOP_RECORDS else CHANNELS[name].key, held if name in CHANNELS else [])
                for row in rows if isinstance(rows, list) else [rows]:
                    renamed(row, wire)
            received(self, json.dumps(message), now_ms)

        monkeypatch.setattr(FeedProtocol, "received", changed)
        with toolkit.connect(venue=world.venue, account=0) as session:
            live = LIVE[name](session)
            session.buy("BTCUSDC", "0.01")
            session.close_position("ETHUSDC")
            session.sell("ETHUSDC", "0.5")
            world.venue.advance("4h" if name == "userFunding" else "1m")
            said = noticed(lambda live=live: live.frame())
        if wire not in said:
            silent.append((wire, said))
    assert not silent
