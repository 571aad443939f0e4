"""What the account channels say: its state, order events, fills, closed positions, funding and notices."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...numerals import micro_text, rate_text, shortest_text
from ...protocol.enums import ENUMS
from ...protocol.hexbytes import to_checksummed
from ...protocol.reads.feed import AOP_KEYS, RECENT
from ..api import records
from ..model.accounts import Position, VenueAccount, VenueOrder
from ..model.constants import MAKER, RATE, STATUS_NAMES
from ..model.history import ClosedPosition, FundingPayment, OrderEvent, Transaction
from ..risk import fees
from .batches import Batch, Data, Source

if TYPE_CHECKING:
    from ..engine.core import Core

CHUNK = 500
_TYPE = ENUMS["order_type"].name_of
_TIF = ENUMS["tif"].name_of
_REDUCE = ENUMS["reduce_only"].name_of
_TRIGGER = ENUMS["trigger"].name_of
_POSITION_MODE = ENUMS["position_mode"].name_of

Parts = dict[str, dict[tuple[Any, ...], Data]]


class AccountSource(Source):
    """Wallets, open orders, positions and settings; an increment holds what is not as it was told before."""

    def __init__(self, core: Core, address: str) -> None:
        self._address = address
        self._told: Parts = {}
        self._orders: dict[int, Data] = {}
        self.reset(core)

    def reset(self, core: Core) -> None:
        """Take the account as it is."""
        self._told = {part: _keyed(part, rows) for part, rows in self._read(core).items()}
        account = core.state.accounts.get(self._address)
        orders = account.orders if account else {}
        self._orders = {number: order_record(core, order) for number, order in orders.items()}

    def snapshot(self, core: Core) -> Data:
        """Return all parts."""
        parts = {part: list(rows.values()) for part, rows in self._told.items()}
        return self._data({**parts, "orders": list(self._orders.values())})

    def collect(self, batch: Batch) -> list[Data]:
        """Return one increment when something changed."""
        if not self._concerned(batch):
            return []
        core, changes = batch.core, dict[str, list[Data]]()
        for part, rows in self._read(core).items():
            old, new = self._told[part], _keyed(part, rows)
            changed = [self._gone(core, key, old[key]) for key in old if key not in new]
            changed += [record for key, record in new.items() if old.get(key) != record]
            if changed:
                changes[part] = changed
            self._told[part] = new
        if self._address in batch.orders:
            orders = self._changed_orders(core, {event.order_id for event in batch.orders[self._address]})
            if orders:
                changes["orders"] = orders
        return [self._data(changes)] if changes else []

    def _changed_orders(self, core: Core, named: set[int]) -> list[Data]:
        """Return the orders that ended or changed: those with events, and reducing ones, which are cut without one."""
        live, told = core.state.accounts[self._address].orders, self._orders
        gone = [number for number in told if number not in live]
        changed = [self._last_word(core, number, told.pop(number)) for number in gone]
        for number, order in live.items():
            if number in named or order.reducing or number not in told:
                record = order_record(core, order)
                if told.get(number) != record:
                    told[number] = record
                    changed.append(record)
        return changed

    def _concerned(self, batch: Batch) -> bool:
        if self._address in batch.accounts or self._address in batch.orders:
            return True
        account = batch.core.state.accounts.get(self._address)
        return account is not None and any(code in batch.prices for code in account.positions)

    def _read(self, core: Core) -> dict[str, list[Data]]:
        account = core.state.accounts.get(self._address)
        if account is None:
            return {"accounts": [], "positions": [], "settings": []}
        positions = account.positions.values()
        return {
            "accounts": [wallet_record(core, account)],
            "positions": [position_record(core, account, one) for one in positions if one.long.size or one.short.size],
            "settings": [_settings_record(core, account, one) for one in positions],
        }

    def _gone(self, core: Core, key: tuple[Any, ...], old: Data) -> Data:
        """Return the last word on a position that is no more: as it is, or without size."""
        account = core.state.accounts.get(self._address)
        position = account.positions.get(key[-1]) if account else None
        if account is not None and position is not None:
            return position_record(core, account, position)
        return {**old, "longSize": "0", "shortSize": "0"}

    def _last_word(self, core: Core, number: int, old: Data) -> Data:
        """Return an order that ended as the history has it."""
        log = core.state.history.orders
        ended = (log.records[at] for at in reversed(log.by_account.get(self._address, ())))
        return next((order_record(core, one) for one in ended if one.id == number), {**old, "ordStatus": "CANCELED"})

    def _data(self, parts: Mapping[str, list[Data]]) -> Data:
        return {"userAddr": to_checksummed(self._address), "aop": dict(parts)}


def _keyed(part: str, rows: Sequence[Data]) -> dict[tuple[Any, ...], Data]:
    return {tuple(row[name] for name in AOP_KEYS[part]): row for row in rows}


class LogSource(Source):
    """Items of one account that only become more."""

    key = ""

    def __init__(self, core: Core, address: str) -> None:
        self._address = address

    @abstractmethod
    def recent(self, core: Core) -> list[Data]:
        """Return the last items, oldest first."""

    @abstractmethod
    def new(self, batch: Batch) -> list[Data]:
        """Return the items that a command added."""

    def snapshot(self, core: Core) -> Data:
        """Return the last items."""
        return self._data(core, self.recent(core))

    def collect(self, batch: Batch) -> list[Data]:
        """Return the new items."""
        items = self.new(batch)
        return [self._data(batch.core, items[at : at + CHUNK]) for at in range(0, len(items), CHUNK)]

    def _data(self, core: Core, items: list[Data]) -> Data:
        return {"userAddr": to_checksummed(self._address), self.key: items}


class OrderHistory(LogSource):
    """Order events."""

    key = "orderHists"

    def recent(self, core: Core) -> list[Data]:
        """Return the last order events."""
        log = core.state.history.order_events
        places = log.by_account.get(self._address, [])[-RECENT:]
        return [order_event_record(core, log.records[at]) for at in places]

    def new(self, batch: Batch) -> list[Data]:
        """Return the order events of a command."""
        return [order_event_record(batch.core, event) for event in batch.orders.get(self._address, ())]


class Fills(LogSource):
    """Fills."""

    key = "userFills"

    def recent(self, core: Core) -> list[Data]:
        """Return the last fills."""
        history = core.state.history
        places = history.fills.get(self._address, [])[-RECENT:]
        return [fill_record(core, history.order_events.records[at]) for at in places]

    def new(self, batch: Batch) -> list[Data]:
        """Return the fills of a command."""
        return [fill_record(batch.core, event) for event in batch.orders.get(self._address, ()) if event.exec_id]


class ClosedPositions(LogSource):
    """Closed positions."""

    key = "closedPositions"

    def recent(self, core: Core) -> list[Data]:
        """Return the last closed positions."""
        log = core.state.history.closed_positions
        return [closed_record(core, log.records[at]) for at in log.by_account.get(self._address, [])[-RECENT:]]

    def new(self, batch: Batch) -> list[Data]:
        """Return the positions that a command closed."""
        return [closed_record(batch.core, one) for one in batch.closed.get(self._address, ())]


class Funding(LogSource):
    """Funding payments."""

    key = "funding"

    def recent(self, core: Core) -> list[Data]:
        """Return the last payments."""
        log = core.state.history.funding_payments
        return [funding_record(core, log.records[at]) for at in log.by_account.get(self._address, [])[-RECENT:]]

    def new(self, batch: Batch) -> list[Data]:
        """Return the payments of a command."""
        return [funding_record(batch.core, one) for one in batch.funding.get(self._address, ())]


class Happenings(LogSource):
    """Order events, acknowledged actions and notices, as the userEvent channel names them."""

    key = "events"

    def __init__(self, core: Core, address: str) -> None:
        super().__init__(core, address)
        self._recent: deque[Data] = deque(maxlen=RECENT)
        self.reset(core)

    def reset(self, core: Core) -> None:
        """Begin with what the history knows: order events and actions."""
        history, address = core.state.history, self._address
        orders = history.order_events
        actions = history.transactions
        known = [(one.time, 0, _order_happened(core, one)) for one in _last(orders, address)]
        known += [(one.time, 1, _acknowledged(one)) for one in _last(actions, address)]
        known.sort(key=lambda item: item[:2])
        self._recent.clear()
        self._recent.extend(event for _, _, event in known[-RECENT:])

    def recent(self, core: Core) -> list[Data]:
        """Return the last events."""
        return list(self._recent)

    def new(self, batch: Batch) -> list[Data]:
        """Return the events of a command."""
        core, address = batch.core, self._address
        events = [_order_happened(core, event) for event in batch.orders.get(address, ())]
        if any(one.address == address for one in batch.transactions):
            actions = core.state.history.transactions
            hashes = {one.hash for one in batch.transactions}
            events += [_acknowledged(one) for one in _last(actions, address) if one.hash in hashes]
        events += [{"eventType": one.kind, "event": [one.data]} for one in batch.notices.get(address, ())]
        self._recent.extend(events)
        return events

    def _data(self, core: Core, items: list[Data]) -> Data:
        return {"userAddr": to_checksummed(self._address), "timestamp": core.state.time, "events": items}


def _last(log: Any, address: str) -> list[Any]:
    return [log.records[at] for at in log.by_account.get(address, [])[-RECENT:]]


def _order_happened(core: Core, event: OrderEvent) -> Data:
    return {"eventType": "perpOrder", "event": [order_event_record(core, event)]}


def _acknowledged(one: Transaction) -> Data:
    ack = {
        "actionType": one.action,
        "nonce": one.nonce,
        "signer": to_checksummed(one.signer) if one.signer else "",
        "txHash": one.hash,
        "txCode": one.code,
        "txMsg": one.message,
        "transactionTime": one.time,
    }
    return {"eventType": "actionAck", "event": [ack]}


# Records


def wallet_record(core: Core, account: VenueAccount) -> Data:
    """Return the wallet as the Info API has it, with the account's fee rates."""
    maker, taker = fees.rates(core, account, next(iter(core.products.values())))
    return {**records.wallet(core, account), "makerFeeRatio": rate_text(maker), "takerFeeRatio": rate_text(taker)}


def order_record(core: Core, order: VenueOrder) -> Data:
    """Return an order in wire names."""
    product = core.products[order.product]
    return {
        "userAddr": to_checksummed(order.address),
        "ordId": str(order.id),
        "clOrdId": str(order.client_id),
        "parentOrdId": str(order.parent),
        "symbolCode": order.product,
        "symbol": product.symbol,
        "ordPx": records.price(product, order.price),
        "ordQty": records.quantity(product, order.quantity),
        "triggerPx": records.price(product, order.trigger),
        "tpslTriggerType": _TRIGGER[order.trigger_by],
        "ordStatus": STATUS_NAMES[order.status],
        "ordType": _TYPE[order.type],
        "ordSide": _side(order.side, order.closing),
        "timeInForce": _TIF[order.tif],
        "reduceOnly": _REDUCE[order.reduce],
        "filledQty": records.quantity(product, order.filled),
        "leavesQty": records.quantity(product, order.leaves if order.status in records.OPEN_STATUSES else 0),
        "cumFilledValue": micro_text(order.value),
        "cumFee": micro_text(order.fee),
        "createTime": order.created,
        "blockTime": order.updated,
    }


def position_record(core: Core, account: VenueAccount, position: Position) -> Data:
    """Return a position as the Info API has it, under the feed's names for the modes."""
    product = core.products[position.product]
    row = records.position(core, account, position)
    mode, margin_mode = row.pop("positionMode"), row.pop("positionMarginMode")
    return {
        **row,
        "symbol": product.symbol,
        "posMode": mode,
        "posMarginMode": margin_mode,
        "marginTableId": product.margin_table_id,
    }


def _settings_record(core: Core, account: VenueAccount, position: Position) -> Data:
    mode = _POSITION_MODE[account.position_mode]
    leverage = [{"posMode": mode, "leverage": shortest_text(position.leverage, 2)}]
    return {"symbol": core.products[position.product].symbol, "leverage": leverage}


def order_event_record(core: Core, event: OrderEvent) -> Data:
    """Return an order event in wire names."""
    product = core.products[event.product]
    return {
        "userAddr": to_checksummed(event.address),
        "symbol": product.symbol,
        "ordId": str(event.order_id),
        "execId": str(event.exec_id),
        "clOrdId": str(event.client_id),
        "transactionTime": event.time,
        "ordType": _TYPE[event.type],
        "ordSide": _side(event.side, event.closing),
        "execStatus": STATUS_NAMES[event.status],
        "ordPx": records.price(product, event.price),
        "execPx": records.price(product, event.fill_price),
        "triggerPx": records.price(product, event.trigger),
        "execQty": records.quantity(product, event.fill_quantity),
        "ordQty": records.quantity(product, event.quantity),
        "leavesQty": records.quantity(product, event.leaves),
        "reduceOnly": _REDUCE[event.reduce],
        "slippagePct": rate_text(event.slippage),
        "reason": event.reason,
        "txHash": event.tx_hash,
    }


def fill_record(core: Core, event: OrderEvent) -> Data:
    """Return a fill in wire names."""
    product = core.products[event.product]
    return {
        "userAddr": to_checksummed(event.address),
        "symbol": product.symbol,
        "ordId": str(event.order_id),
        "execId": str(event.exec_id),
        "clOrdId": str(event.client_id),
        "ordSide": _side(event.side, event.closing),
        "ordType": _TYPE[event.type],
        "filledPx": records.price(product, event.fill_price),
        "filledQty": records.quantity(product, event.fill_quantity),
        "role": "MAKER" if event.role == MAKER else "TAKER",
        "realizedPnl": micro_text(event.pnl),
        "openFee": micro_text(event.open_fee),
        "closeFee": micro_text(event.close_fee),
        "posLongTerm": event.long_term,
        "posShortTerm": event.short_term,
        "txHash": event.tx_hash,
        "transactionTime": event.time,
    }


def closed_record(core: Core, one: ClosedPosition) -> Data:
    """Return a closed position in wire names; prices are averages, profit after fees and funding is realisedPnl."""
    product = core.products[one.product]
    realised = one.pnl - one.fees + one.funding
    margin = one.entry_value * 100 // one.leverage if one.leverage else 0
    return {
        "userAddr": to_checksummed(one.address),
        "symbolCode": one.product,
        "symbol": product.symbol,
        "side": "LONG" if one.side > 0 else "SHORT",
        "term": one.term,
        "size": records.quantity(product, one.size),
        "ordPx": records.mean_price(product, one.entry_value, one.size),
        "closePx": records.mean_price(product, one.close_value, one.size),
        "closedPnl": micro_text(one.pnl),
        "tradingFees": micro_text(one.fees),
        "fundingFees": micro_text(one.funding),
        "realisedPnl": micro_text(realised),
        "roi": rate_text(realised * RATE // margin) if margin else "0",
        "leverage": shortest_text(one.leverage, 2),
        "openTime": one.opened,
        "closedTime": one.time,
    }


def funding_record(core: Core, one: FundingPayment) -> Data:
    """Return a funding payment in wire names."""
    product = core.products[one.product]
    return {
        "userAddr": to_checksummed(one.address),
        "symbol": product.symbol,
        "posSize": records.quantity(product, one.size),
        "posSide": "LONG" if one.side > 0 else "SHORT",
        "fundingRate": rate_text(one.rate),
        "fundingFee": micro_text(one.amount),
        "transactionTime": one.time,
    }


def _side(side: int, closing: bool) -> str:
    return ("BUY" if side > 0 else "SELL") + ("_CLOSE_HEDGE" if closing else "")


_SOURCES: Mapping[str, Callable[[Core, str], Source]] = {
    "aopState": AccountSource,
    "orderHist": OrderHistory,
    "userFilled": Fills,
    "closedPosition": ClosedPositions,
    "userFunding": Funding,
    "userEvent": Happenings,
}


def account_source(core: Core, channel: str, address: str) -> Source:
    """Return the source of an account channel."""
    return _SOURCES[channel](core, address)
