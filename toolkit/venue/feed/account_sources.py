"""Sources of the account channels: state, order events, fills, closed positions, funding and user events, their rows.

Rows have the published fields, in the order of the wire, as `protocol.reads.channels.account` declares them. Ids are
numbers here, and enums are names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ...numerals import micro_text, rate_text, shortest_text
from ...protocol.enums import ENUMS
from ...protocol.hexbytes import to_checksummed
from ...protocol.reads.feed import AOP_RECORDS
from ..api import records
from ..engine.core import Core
from ..model.accounts import Position, VenueAccount, VenueOrder
from ..model.constants import RATE, STATUS_NAMES
from ..model.history import ClosedPosition, FundingPayment, OrderEvent, Transaction
from ..risk import fees
from .batches import Batch, Data, FeedSource, feed_hash, in_chunks

T = TypeVar("T")
Rows = dict[tuple[Any, ...], Data]
"""Rows of one part of the state, by the fields that name an item."""


class AccountSource(FeedSource):
    """Wallets, open orders, positions and settings.

    An increment holds the rows that changed since the last one.

    Parameters
    ----------
    core : Core
        State machine of the venue. Its present rows are those of the first snapshot.
    address : str
        Account in lower case.
    """

    def __init__(self, core: Core, address: str) -> None:
        self._address = address
        self._last_sent: dict[str, Rows] = {}
        self._orders: dict[int, Data] = {}
        self._reducing: set[int] = set()
        """Open orders that reduce a position."""
        self.reset(core)

    def reset(self, core: Core) -> None:
        """Take the present rows as those that were sent.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        """
        self._last_sent = self._read(core)
        account = core.state.accounts.get(self._address)
        orders = account.orders if account else {}
        self._orders = {number: order_record(core, order) for number, order in orders.items()}
        self._reducing = {number for number, order in orders.items() if order.reducing}

    def snapshot(self, core: Core) -> Data:
        """Return all rows as of the last increment.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        """
        parts = {part: list(rows.values()) for part, rows in self._last_sent.items()}
        return self._data(core, {**parts, "orders": list(self._orders.values())})

    def collect(self, batch: Batch) -> list[Data]:
        """Return the rows that a command changed, as one increment.

        Parameters
        ----------
        batch : Batch
            Events of one command.
        """
        if not self._may_have_changed(batch):
            return []
        core, changes = batch.core, dict[str, list[Data]]()
        for part, new in self._read(core).items():
            old = self._last_sent[part]
            changed = [self._closed_position(core, key, old[key]) for key in old if key not in new]
            changed += [row for key, row in new.items() if old.get(key) != row]
            if changed:
                changes[part] = changed
            self._last_sent[part] = new
        if self._address in batch.orders:
            orders = self._changed_orders(core, {event.order_id for event in batch.orders[self._address]})
            if orders:
                changes["orders"] = orders
        return [self._data(core, changes)] if changes else []

    def _may_have_changed(self, batch: Batch) -> bool:
        if self._address in batch.accounts or self._address in batch.orders:
            return True
        account = batch.core.state.accounts.get(self._address)
        return account is not None and any(code in batch.prices for code in account.positions)

    def _changed_orders(self, core: Core, with_events: set[int]) -> list[Data]:
        """Return the orders that ended or changed.

        Orders without an event are compared only if they reduce a position: those shrink with it, without an event.
        """
        live, last_sent = core.state.accounts[self._address].orders, self._orders
        ended, changed = list[Data](), list[Data]()
        for number in sorted(with_events | self._reducing):
            order = live.get(number)
            if order is None:
                self._reducing.discard(number)
                if number in last_sent:
                    ended.append(self._ended_order(core, number, last_sent.pop(number)))
                continue
            if order.reducing:
                self._reducing.add(number)
            row = order_record(core, order)
            if last_sent.get(number) != row:
                last_sent[number] = row
                changed.append(row)
        return ended + changed

    def _read(self, core: Core) -> dict[str, Rows]:
        account = core.state.accounts.get(self._address)
        if account is None:
            return {"accounts": {}, "positions": {}, "settings": {}}
        positions = account.positions.values()
        held = [position for position in positions if position.long.size or position.short.size]
        return {
            "accounts": _keyed("accounts", [wallet_record(core, account)]),
            "positions": _keyed("positions", [position_record(core, account, position) for position in held]),
            "settings": _keyed("settings", [settings_record(core, account, position) for position in positions]),
        }

    def _closed_position(self, core: Core, key: tuple[Any, ...], old: Data) -> Data:
        """Return the last row of a position that was closed: with its results, or only without size."""
        account = core.state.accounts.get(self._address)
        position = account.positions.get(key[-1]) if account else None
        if account is not None and position is not None:
            return position_record(core, account, position)
        return {**old, "longSize": "0", "shortSize": "0"}

    def _ended_order(self, core: Core, number: int, old: Data) -> Data:
        """Return the last row of an order that ended, from the history."""
        log = core.state.history.orders
        newest_first = (log.records[at] for at in reversed(log.by_account.get(self._address, ())))
        found = (order_record(core, order) for order in newest_first if order.id == number)
        return next(found, {**old, "ordStatus": "CANCELED"})

    def _data(self, core: Core, parts: Mapping[str, list[Data]]) -> Data:
        return {"userAddr": to_checksummed(self._address), "timestamp": core.state.time, "aop": dict(parts)}


def _keyed(part: str, rows: Sequence[Data]) -> Rows:
    return {tuple(row[name] for name in AOP_RECORDS[part].identity): row for row in rows}


class _LogChannel(NamedTuple):
    """An append-only channel of an account's records."""

    key: str
    """Member of the data that holds the items."""
    new: str
    """Attribute of `Batch` that has those of a command."""
    row: Callable[[Core, Any], Data]
    fills: bool = False
    """Whether only fills are records of the channel."""


class LogSource(FeedSource):
    """Append-only records of one account.

    Parameters
    ----------
    channel : str
        Name of the channel, such as "userFilled".
    address : str
        Account in lower case.
    """

    def __init__(self, channel: str, address: str) -> None:
        self._channel = _LOG_CHANNELS[channel]
        self._address = address

    def collect(self, batch: Batch) -> list[Data]:
        """Return the records that a command added, in chunks.

        Parameters
        ----------
        batch : Batch
            Events of one command.
        """
        new = getattr(batch, self._channel.new).get(self._address, ())
        if self._channel.fills:
            new = [event for event in new if event.exec_id]
        return [self._data(batch.core, part) for part in in_chunks(new)]

    def _data(self, core: Core, items: Sequence[Any]) -> Data:
        return {self._channel.key: [self._channel.row(core, item) for item in items]}


class UserEvents(FeedSource):
    """Order events, acknowledged actions and notices, as the userEvent channel names them.

    Parameters
    ----------
    address : str
        Account in lower case.
    """

    def __init__(self, address: str) -> None:
        self._address = address

    def collect(self, batch: Batch) -> list[Data]:
        """Return the events that a command caused, in chunks.

        Parameters
        ----------
        batch : Batch
            Events of one command.
        """
        core, address = batch.core, self._address
        events = [_order_event(core, event) for event in batch.orders.get(address, ())]
        events += [_acknowledgement(done) for done in batch.transactions if done.address == address]
        events += [{"eventType": notice.kind, "event": [notice.data]} for notice in batch.notices.get(address, ())]
        return [self._data(core, part) for part in in_chunks(events)]

    def _data(self, core: Core, events: Sequence[Data]) -> Data:
        return {"userAddr": to_checksummed(self._address), "timestamp": core.state.time, "events": events}


_EVENT_FIELDS = ("ordId", "clOrdId", "symbol", "ordSide", "execStatus", "ordPx", "execQty", "leavesQty")
"""Fields of a perpOrder in userEvent. Those of other events are not published."""


def _order_event(core: Core, event: OrderEvent) -> Data:
    row = order_event_record(core, event) | {"leavesQty": records.quantity(core.products[event.product], event.leaves)}
    return {"eventType": "perpOrder", "event": [{name: row[name] for name in _EVENT_FIELDS}]}


def _acknowledgement(done: Transaction) -> Data:
    return {"eventType": "actionAck", "event": [acknowledgement_record(done)]}


def account_source(core: Core, channel: str, address: str) -> FeedSource:
    """Return the source of an account channel.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    channel : str
        Name of the account channel.
    address : str
        Account in lower case.
    """
    if channel == "aopState":
        return AccountSource(core, address)
    return UserEvents(address) if channel == "userEvent" else LogSource(channel, address)


_TYPE = ENUMS["order_type"].name_of
_REDUCE = ENUMS["reduce_only"].name_of
_TRIGGER = ENUMS["trigger"].name_of


def wallet_record(core: Core, account: VenueAccount) -> Data:
    """Return the wallet as the Info API has it, with the account's fee rates.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account whose row it is.
    """
    maker, taker = fees.rates(core, account, next(iter(core.products.values())))  # a wallet has no product: the first
    row = records.wallet(core, account)
    del row["blockHeight"], row["blockTime"]
    return {**row, "takerFeeRatio": rate_text(taker), "makerFeeRatio": rate_text(maker)}


def order_record(core: Core, order: VenueOrder) -> Data:
    """Return an order in wire names.

    A trigger price and a reduce-only option are in it where there is one.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    order : VenueOrder
        Live or ended order.
    """
    product = core.products[order.product]
    row = {
        "userAddr": to_checksummed(order.address),
        "symbol": product.symbol,
        "ordId": order.id,
        "clOrdId": order.client_id,
        "ordPx": records.price(product, order.price),
        "ordQty": records.quantity(product, order.quantity),
        "ordStatus": STATUS_NAMES[order.status],
        "ordType": _TYPE[order.type],
        "ordSide": records.SIDE_NAMES[order.side, order.closing],
        "timeInForce": records.TIF_NAMES[order.tif],
        "filledQty": records.quantity(product, order.filled),
        "leavesQty": records.quantity(product, order.leaves if order.status in records.OPEN_STATUSES else 0),
        "cumFilledValue": micro_text(order.value),
    }
    if order.parent:
        row["parentOrdId"] = order.parent
    if order.trigger:
        row["triggerPx"] = records.price(product, order.trigger)
    if order.reduce:
        row["reduceOnly"] = _REDUCE[order.reduce]
    return row


def position_record(core: Core, account: VenueAccount, position: Position) -> Data:
    """Return a position as the Info API has it, under the feed's names for the modes.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account whose row it is.
    position : Position
        Position in one product.
    """
    product = core.products[position.product]
    row = records.position(core, account, position)
    mode, margin_mode = row.pop("positionMode"), row.pop("positionMarginMode")
    del row["createTime"], row["blockTime"]
    names = {"symbol": product.symbol, "posMode": mode, "posMarginMode": margin_mode}
    return {**row, **names, "marginTableId": product.margin_table_id}


def settings_record(core: Core, account: VenueAccount, position: Position) -> Data:
    """Return the leverage of a product, under the account's position mode, as the published pair.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account whose row it is.
    position : Position
        Position in one product.
    """
    leverage = [records.POSITION_MODE_NAMES[account.position_mode], shortest_text(position.leverage, 2)]
    return {"symbol": core.products[position.product].symbol, "leverage": leverage}


def order_event_record(core: Core, event: OrderEvent) -> Data:
    """Return an order event in wire names.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    event : OrderEvent
        Event of an order.
    """
    product = core.products[event.product]
    return {
        "userAddr": to_checksummed(event.address),
        "symbol": product.symbol,
        "ordId": event.order_id,
        "execId": event.exec_id,
        "clOrdId": event.client_id,
        "transactionTime": event.time,
        "ordType": _TYPE[event.type],
        "ordSide": records.SIDE_NAMES[event.side, event.closing],
        "execStatus": STATUS_NAMES[event.status],
        "ordPx": records.price(product, event.price),
        "execPx": records.price(product, event.fill_price),
        "triggerPx": records.price(product, event.trigger),
        "execQty": records.quantity(product, event.fill_quantity),
        "ordQty": records.quantity(product, event.quantity),
        "reduceOnly": _REDUCE[event.reduce],
        "slippagePct": rate_text(event.slippage),
    }


def fill_record(core: Core, event: OrderEvent) -> Data:
    """Return a fill in wire names.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    event : OrderEvent
        Event of an order with an exec_id.
    """
    product = core.products[event.product]
    return {
        "userAddr": to_checksummed(event.address),
        "symbol": product.symbol,
        "ordId": event.order_id,
        "execId": event.exec_id,
        "ordSide": records.SIDE_NAMES[event.side, event.closing],
        "ordType": _TYPE[event.type],
        "filledPx": records.price(product, event.fill_price),
        "execQty": records.quantity(product, event.fill_quantity),
        "ordPx": records.price(product, event.price),
        "ordQty": records.quantity(product, event.quantity),
        "execStatus": STATUS_NAMES[event.status],
        "openFee": micro_text(event.open_fee),
        "closeFee": micro_text(event.close_fee),
        "posLongTerm": event.long_term,
        "posShortTerm": event.short_term,
        "txHash": feed_hash(event.tx_hash),
        "transactionTime": event.time,
    }


def closed_record(core: Core, closed: ClosedPosition) -> Data:
    """Return a closed position in wire names.

    Prices are averages, realisedPnl is after fees and funding.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    closed : ClosedPosition
        Record of the leg's life.
    """
    product = core.products[closed.product]
    realised_micro = closed.pnl - closed.fees + closed.funding
    margin_micro = closed.entry_value * 100 // closed.leverage if closed.leverage else 0  # leverage is in hundredths
    return {
        "userAddr": to_checksummed(closed.address),
        "symbolCode": closed.product,
        "symbol": product.symbol,
        "side": "LONG" if closed.side > 0 else "SHORT",
        "term": closed.term,
        "size": records.quantity(product, closed.size),
        "ordPx": records.mean_price(product, closed.entry_value, closed.size),
        "closePx": records.mean_price(product, closed.close_value, closed.size),
        "closedPnl": micro_text(closed.pnl),
        "tradingFees": micro_text(closed.fees),
        "fundingFees": micro_text(closed.funding),
        "realisedPnl": micro_text(realised_micro),
        "roi": rate_text(realised_micro * RATE // margin_micro) if margin_micro else "0",
        "leverage": shortest_text(closed.leverage, 2),
        "openTime": closed.opened,
        "closedTime": closed.time,
    }


def funding_record(core: Core, payment: FundingPayment) -> Data:
    """Return a funding payment in wire names.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    payment : FundingPayment
        Record of the payment.
    """
    product = core.products[payment.product]
    return {
        "userAddr": to_checksummed(payment.address),
        "symbol": product.symbol,
        "posSize": records.quantity(product, payment.size),
        "posSide": "LONG" if payment.side > 0 else "SHORT",
        "fundingRate": rate_text(payment.rate),
        "fundingFee": micro_text(payment.amount),
        "transactionTime": payment.time,
    }


def acknowledgement_record(done: Transaction) -> Data:
    """Return the outcome of an action, in wire names.

    Parameters
    ----------
    done : Transaction
        Record of the transaction.
    """
    return {
        "actionType": done.action,
        "nonce": done.nonce,
        "signer": to_checksummed(done.signer) if done.signer else "",
        "txHash": done.hash,
        "txCode": done.code,
        "txMsg": done.message,
        "data": done.data,
        "transactionTime": done.time,
    }


_LOG_CHANNELS: Mapping[str, _LogChannel] = {
    "orderHist": _LogChannel("orderHists", "orders", order_event_record),
    "userFilled": _LogChannel("userFills", "orders", fill_record, fills=True),
    "closedPosition": _LogChannel("closedPositions", "closed", closed_record),
    "userFunding": _LogChannel("funding", "funding", funding_record),
}
