"""Rows of the Info API, made from the state: integers become decimal text, addresses get their checksum.

Rows have the fields and types that `protocol.reads.info` declares, a test compares them. The order of the fields is
that of the wire, which is not the order of a frame's columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...checks import SIDES
from ...numerals import fixed_text, micro_text, rate_text, shortest_text
from ...products import Product
from ...protocol.enums import ENUMS, OrderSide, OrderStatus, PositionSide
from ...protocol.hexbytes import to_checksummed
from ..engine.core import Core
from ..model.accounts import Position, VenueAccount, VenueOrder
from ..model.constants import STATUS_NAMES
from ..model.history import Candle, FundingPayment, FundingRate, LedgerEntry, OrderEvent, Transaction
from ..risk import account_margin
from ..risk.ledger import USDC_CODE

SIDE_NAMES: Mapping[tuple[int, bool], str] = {side: name for name, side in SIDES.items()}
"""Sign of a side, and whether it closes a hedge leg → its name on the wire."""
SIDE_NUMBERS: Mapping[tuple[int, bool], int] = {side: int(OrderSide[name]) for side, name in SIDE_NAMES.items()}
"""The same → its number on the wire."""
OPEN_STATUSES = frozenset({OrderStatus.NEW, OrderStatus.PARTIALLY_FILLED, OrderStatus.ORDER_STATUS_UNTRIGGERED})
"""Statuses of orders that are still open."""
_MARGIN_MODE = ENUMS["margin_mode"].name_of
_ACCOUNT_STATUS = ENUMS["account_status"].name_of
TIF_NAMES = ENUMS["tif"].name_of
POSITION_MODE_NAMES = ENUMS["position_mode"].name_of


def price(product: Product, ticks: int) -> str:
    """Return a price with the decimals of the tick size, "0" where there is none.

    Parameters
    ----------
    product : Product
        Product that the number belongs to.
    ticks : int
        Price in ticks, 0 = none.
    """
    return product.price_text(ticks) if ticks else "0"


def quantity(product: Product, steps: int) -> str:
    """Return a quantity with the decimals of the step size, "0" for none.

    Parameters
    ----------
    product : Product
        Product that the number belongs to.
    steps : int
        Quantity in steps.
    """
    return product.quantity_text(steps) if steps else "0"


def mean_price(product: Product, value_micro: int, steps: int) -> str:
    """Return the average price of a value over a quantity, rounded down to a hundredth of a tick.

    Parameters
    ----------
    product : Product
        Product that the number belongs to.
    value_micro : int
        Value in micro-USDC.
    steps : int
        Quantity in steps. With 0 the price is "0".
    """
    if not steps:
        return "0"
    places, size = product.tick_scale
    hundredths = value_micro * 100 // (steps * product.unit)
    return fixed_text(hundredths * size, places + 2)


def wallet(core: Core, account: VenueAccount) -> dict[str, Any]:
    """Return an AccountWallet.

    `balance` is cash, as in the ledger. Isolated margins are part of `equity` only.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    account : VenueAccount
        Account of the wallet.
    """
    figures = account_margin.wallet(core, account)
    return {
        "blockHeight": 1 + (account.updated - core.state.genesis_time) // core.state.block_ms,
        "userAddr": to_checksummed(account.address),
        "currency": USDC_CODE,
        "balance": micro_text(account.balance),
        "availableBalance": micro_text(max(0, figures.available)),  # below 0 while the account is short of margin
        "availableTransferBalance": micro_text(figures.withdrawable),
        "equity": micro_text(figures.equity),
        "status": _ACCOUNT_STATUS[account.status],
        "blockTime": account.updated,
    }


def order_state(core: Core, order: VenueOrder) -> dict[str, Any]:
    """Return an OrderState.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    order : VenueOrder
        Live or ended order.
    """
    product = core.products[order.product]
    return {
        "id": order.id,
        "blockHeight": order.height,
        "ordId": str(order.id),
        "clOrdId": str(order.client_id),
        "parentOrdId": str(order.parent),
        "userAddr": to_checksummed(order.address),
        "symbol": order.product,
        "side": SIDE_NUMBERS[order.side, order.closing],
        "type": order.type,
        "price": price(product, order.price),
        "qty": quantity(product, order.quantity),
        "filledQty": quantity(product, order.filled),
        "leaveQty": quantity(product, order.leaves if order.status in OPEN_STATUSES else 0),
        "cumFilledValue": micro_text(order.value),
        "cumFee": micro_text(order.fee),
        "triggerPx": price(product, order.trigger),
        "status": STATUS_NAMES[order.status],
        "timeInForce": TIF_NAMES[order.tif],
        "reduceOnly": order.reduce,
        "conditionalOrderTriggerType": order.trigger_by,
        "blockTime": order.updated,
    }


def order_event(core: Core, event: OrderEvent) -> dict[str, Any]:
    """Return an OrderEvent.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    event : OrderEvent
        Event of an order.
    """
    product = core.products[event.product]
    return {
        "id": event.id,
        "blockHeight": event.height,
        "userAddr": to_checksummed(event.address),
        "ordId": str(event.order_id),
        "clOrdId": str(event.client_id),
        "symbol": event.product,
        "side": SIDE_NAMES[event.side, event.closing],
        "execStatus": STATUS_NAMES[event.status],
        "ordPx": price(product, event.price),
        "filledPx": price(product, event.fill_price),
        "execQty": quantity(product, event.fill_quantity),
        "leavesQty": quantity(product, event.leaves),
        "execId": str(event.exec_id),
        "realizedPnl": micro_text(event.pnl),
        "openFee": micro_text(event.open_fee),
        "closeFee": micro_text(event.close_fee),
        "blockTime": event.time,
        "txHash": event.tx_hash,
        "ordType": event.type,
        "timeInForce": TIF_NAMES[event.tif],
        "ordQty": quantity(product, event.quantity),
        "triggerPx": price(product, event.trigger),
        "reason": event.reason,
    }


def trade(core: Core, event: OrderEvent) -> dict[str, Any]:
    """Return a Trade, made from the order event of a fill.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    event : OrderEvent
        Event of an order with an exec_id.
    """
    product = core.products[event.product]
    return {
        "id": event.id,
        "blockHeight": event.height,
        "userAddr": to_checksummed(event.address),
        "symbol": event.product,
        "orderId": str(event.order_id),
        "clientOrderId": str(event.client_id),
        "side": SIDE_NAMES[event.side, event.closing],
        "execStatus": STATUS_NAMES[event.status],
        "orderPx": price(product, event.price),
        "filledPx": price(product, event.fill_price),
        "execQty": quantity(product, event.fill_quantity),
        "leavesQty": quantity(product, event.leaves),
        "execId": str(event.exec_id),
        "realizedPnl": micro_text(event.pnl),
        "openFee": micro_text(event.open_fee),
        "closeFee": micro_text(event.close_fee),
        "blockTime": event.time,
        "txHash": event.tx_hash,
    }


def position(core: Core, account: VenueAccount, held: Position) -> dict[str, Any]:
    """Return a Position, valued at mark.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    account : VenueAccount
        Account of the position.
    held : Position
        Its position in one product.
    """
    product = core.products[held.product]
    mark = core.state.markets[held.product].mark
    long, short_leg = held.long, held.short
    return {
        "userAddr": to_checksummed(account.address),
        "symbolCode": held.product,
        "leverage": shortest_text(held.leverage, 2),  # hundredths
        "longSize": quantity(product, long.size),
        "shortSize": quantity(product, short_leg.size),
        "longEntryValue": micro_text(long.value),
        "shortEntryValue": micro_text(short_leg.value),
        "positionMode": POSITION_MODE_NAMES[account.position_mode],
        "positionMarginMode": _MARGIN_MODE[held.mode],
        "assignedPosBalance": micro_text(held.assigned),
        "unrealizedPnl": micro_text(account_margin.unrealized(held, mark * product.unit)),
        "cumRealizedPnl": micro_text(held.pnl),
        "curMarkPx": price(product, mark),
        "cumTransactionFee": micro_text(held.fees),
        "createTime": min((leg.opened for leg in (long, short_leg) if leg.size), default=held.created),
        "blockTime": held.updated,
    }


def ledger_entry(entry: LedgerEntry) -> dict[str, Any]:
    """Return a ledger entry.

    Parameters
    ----------
    entry : LedgerEntry
        One change of one balance.
    """
    return {
        "id": entry.id,
        "blockHeight": entry.height,
        "userAddr": to_checksummed(entry.address),
        "currency": USDC_CODE,
        "bizType": entry.kind,
        "amount": micro_text(entry.amount),
        "balance": micro_text(entry.balance),
        "symbol": entry.product or None,
        "reference": entry.reference,
        "counterparty": to_checksummed(entry.counterparty) if entry.counterparty else None,
        "txHash": entry.tx_hash,
        "blockTime": entry.time,
    }


def kline(product: Product, candle: Candle, interval_s: int) -> dict[str, Any]:
    """Return a Kline.

    An answer can have 100,000, so the scales are looked up once for all four prices.

    Parameters
    ----------
    product : Product
        Product that the number belongs to.
    candle : Candle
        Candle with prices in ticks.
    interval_s : int
        Length of the candle in seconds.
    """
    tick, tick_size = product.tick_scale
    step, step_size = product.step_scale
    return {
        "symbolName": product.symbol,
        "timestamp": candle.start // 1000,
        "intrvl": interval_s,
        "open": fixed_text(candle.open * tick_size, tick),
        "high": fixed_text(candle.high * tick_size, tick),
        "low": fixed_text(candle.low * tick_size, tick),
        "close": fixed_text(candle.close * tick_size, tick),
        "volume": fixed_text(candle.volume * step_size, step),
        "turnover": fixed_text(candle.turnover, 6),
        "tradeCount": candle.count,
    }


def funding_rate(core: Core, settled: FundingRate) -> dict[str, Any]:
    """Return a settled funding rate.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    settled : FundingRate
        Rate of a settlement.
    """
    product = core.products[settled.product]
    return {
        "symbol": settled.product,
        "fundingRate": rate_text(settled.rate),
        "premium": rate_text(settled.premium),
        "markPx": price(product, settled.mark),
        "oraclePx": price(product, settled.oracle),
        "fundingInterval": product.funding_interval,
        "fundingTime": settled.time,
    }


def funding_payment(core: Core, paid: FundingPayment) -> dict[str, Any]:
    """Return a funding payment.

    A negative fee was paid, a positive one received.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    paid : FundingPayment
        Record of the payment.
    """
    return {
        "id": paid.id,
        "userAddr": to_checksummed(paid.address),
        "symbol": paid.product,
        "posSide": int(PositionSide.LONG if paid.side > 0 else PositionSide.SHORT),
        "posSize": quantity(core.products[paid.product], paid.size),
        "fundingRate": rate_text(paid.rate),
        "fundingFee": micro_text(paid.amount),
        "fundingTime": paid.time,
        "txHash": paid.tx_hash,
    }


def transaction(core: Core, done: Transaction) -> dict[str, Any]:
    """Return an explorer transaction.

    Parameters
    ----------
    core : Core
        State machine of the venue, which knows what was signed since it began to run.
    done : Transaction
        Record of the transaction.
    """
    return {
        "txHash": done.hash,
        "blockHeight": done.height,
        "blockTime": done.time,
        "actionType": done.action,
        "user": to_checksummed(done.address),
        "signer": to_checksummed(done.signer) if done.signer else "",
        "nonce": str(done.nonce),
        "digest": core.digests.get(done.hash, ""),
        "status": "FAILED" if done.code else "SUCCESS",
        "txCode": done.code,
        "txMsg": done.message,
        "data": done.data,
    }
