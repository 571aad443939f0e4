"""Rows of the account channels, in the order of their fields on the wire.

Field names are those of `protocol.reads.feed_records`; the feed shows enum names where the Info API has numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...numerals import micro_text, rate_text, shortest_text
from ...protocol.enums import ENUMS
from ...protocol.hexbytes import to_checksummed
from ..api import records
from ..model.accounts import Position, VenueAccount, VenueOrder
from ..model.constants import MAKER, RATE, STATUS_NAMES
from ..model.history import ClosedPosition, FundingPayment, OrderEvent, Transaction
from ..risk import fees
from .batches import Data

if TYPE_CHECKING:
    from ..engine.core import Core

_SIDE = ENUMS["order_side"].name_of
_TYPE = ENUMS["order_type"].name_of
_TIF = ENUMS["tif"].name_of
_REDUCE = ENUMS["reduce_only"].name_of
_TRIGGER = ENUMS["trigger"].name_of
_POSITION_MODE = ENUMS["position_mode"].name_of


def wallet_record(core: Core, account: VenueAccount) -> Data:
    """Return the wallet as the Info API has it, with the account's fee rates."""
    maker, taker = fees.rates(core, account, next(iter(core.products.values())))  # a wallet has no product: the first
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
        "ordSide": _SIDE[records.SIDE_NUMBERS[order.side, order.closing]],
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


def settings_record(core: Core, account: VenueAccount, position: Position) -> Data:
    """Return the leverage of a product, under the account's position mode, as the published pair."""
    leverage = [_POSITION_MODE[account.position_mode], shortest_text(position.leverage, 2)]
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
        "ordSide": _SIDE[records.SIDE_NUMBERS[event.side, event.closing]],
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
        "ordSide": _SIDE[records.SIDE_NUMBERS[event.side, event.closing]],
        "ordType": _TYPE[event.type],
        "filledPx": records.price(product, event.fill_price),
        "execQty": records.quantity(product, event.fill_quantity),
        "ordPx": records.price(product, event.price),
        "ordQty": records.quantity(product, event.quantity),
        "execStatus": STATUS_NAMES[event.status],
        "role": "MAKER" if event.role == MAKER else "TAKER",
        "realizedPnl": micro_text(event.pnl),
        "openFee": micro_text(event.open_fee),
        "closeFee": micro_text(event.close_fee),
        "posLongTerm": event.long_term,
        "posShortTerm": event.short_term,
        "txHash": event.tx_hash,
        "transactionTime": event.time,
    }


def closed_record(core: Core, closed: ClosedPosition) -> Data:
    """Return a closed position in wire names; prices are averages, realisedPnl is after fees and funding."""
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
    """Return a funding payment in wire names."""
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
    """Return the outcome of an action, in wire names."""
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
