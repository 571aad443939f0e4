"""Rows of the Info API and items of the feed, written from the reference's state."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from toolkit.protocol.enums import ENUMS

from .books import Account, Event, Order, Position, Product, Row
from .money import ROUNDING
from .wire import Reference

Json = dict[str, Any]
CODES = {name: ENUMS[name].number_of for name in ("order_side", "order_type", "tif", "reduce_only", "trigger")}


def plain(value: Fraction | int) -> str:
    """Return a decimal without zeros at its end."""
    sign, value = ("-" if value < 0 else ""), abs(Fraction(value))
    places = 0
    while value.denominator > 1:
        value, places = value * 10, places + 1
    digits = str(int(value)).rjust(places + 1, "0")
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def money(amount: int) -> str:
    whole, part = divmod(abs(amount), 10**6)
    return ("-" if amount < 0 else "") + (f"{whole}.{part:06d}".rstrip("0") if part else str(whole))


def fixed(size: Fraction, count: int | Fraction, more: int = 0) -> str:
    """Return a count of ticks or steps with the decimals of its size; 0 is "0"."""
    if not count:
        return "0"
    places = len(plain(size).partition(".")[2]) + more
    scaled = round(size * count * 10**places)
    digits = str(scaled).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def side_of(order: Order | Event) -> str:
    return ("BUY" if order.side > 0 else "SELL") + ("_CLOSE_HEDGE" if order.closing else "")


class Shown:
    """What the Info API shows of a reference, with the venue's names for accounts."""

    def __init__(self, reference: Reference, own: dict[str, str]) -> None:
        self.reference, self.own = reference, own
        self.back = {address: name for name, address in own.items()}

    def name(self, address: str) -> str:
        return self.own.get(address, address)

    def wallet(self, account: Account) -> Json:
        venue = self.reference
        liquidating = any(address == account.address for address, _ in venue.flagged)
        return {
            "balance": money(account.balance),
            "availableBalance": money(max(0, venue.available(account))),
            "availableTransferBalance": money(max(0, venue.withdrawable(account))),
            "equity": money(account.worth),
            "status": "LIQUIDATING" if liquidating else "NORMAL",
        }

    def ledger(self, since: int, account: str = "") -> list[Json]:
        found = []
        for number, row in enumerate(self.reference.rows[since:], since + 1):
            found += [one for one in self.sides(number, row) if not account or one["userAddr"] == account]
        return found

    def sides(self, number: int, row: Row) -> list[Json]:
        def side(mine: str, other: str, amount: int) -> Json:
            return {
                "id": number, "userAddr": self.name(mine), "bizType": row.kind, "amount": money(amount),
                "symbol": row.product or None, "reference": self.own.get(row.reference, row.reference),
                "counterparty": self.name(other) or None, "blockTime": row.time,
            }  # fmt: skip

        # an entry is a change of a balance
        sides = [side(row.payer, row.receiver, -row.paid)] if row.payer and row.paid else []
        sides += [side(row.receiver, row.payer, row.received)] if row.receiver and row.received else []
        rest = row.paid - row.received if row.payer and row.receiver else 0
        return sides + ([side(ROUNDING, row.payer, rest) | {"bizType": "ROUNDING"}] if rest else [])

    def order(self, order: Order) -> Json:
        product = order.product
        return {
            "ordId": str(order.id), "clOrdId": str(order.client), "parentOrdId": str(order.parent),
            "symbol": product.code, "side": CODES["order_side"][side_of(order)],
            "type": CODES["order_type"][order.kind], "price": fixed(product.tick, order.price),
            "qty": fixed(product.step, order.quantity), "filledQty": fixed(product.step, order.filled),
            "leaveQty": fixed(product.step, order.leaves), "cumFilledValue": money(order.value),
            "cumFee": money(order.fee), "triggerPx": fixed(product.tick, order.trigger), "status": order.status,
            "timeInForce": order.tif, "reduceOnly": CODES["reduce_only"].get(order.reduce or "NONE", 0),
            "conditionalOrderTriggerType": CODES["trigger"].get(order.by or "NONE", 0), "createTime": order.time,
            "blockTime": order.changed,
        }  # fmt: skip

    def event(self, number: int, event: Event) -> Json:
        product = self.reference.products[event.product]
        return {
            "id": number, "ordId": str(event.order), "clOrdId": str(event.client), "symbol": event.product,
            "side": side_of(event), "execStatus": event.status,
            "ordPx": fixed(product.tick, event.price), "filledPx": fixed(product.tick, event.fill_price),
            "execQty": fixed(product.step, event.fill), "leavesQty": fixed(product.step, event.leaves),
            "execId": str(event.exec_id), "realizedPnl": money(event.pnl), "openFee": money(event.open_fee),
            "closeFee": money(event.close_fee), "blockTime": event.time,
            "ordType": CODES["order_type"][event.kind], "timeInForce": event.tif,
            "ordQty": fixed(product.step, event.quantity), "triggerPx": fixed(product.tick, event.trigger),
            "userAddr": self.name(event.account),
        }  # fmt: skip

    def trade(self, number: int, event: Event) -> Json:
        shown = self.event(number, event)
        product: Product = self.reference.products[event.product]
        del product
        renamed = {"orderId": shown.pop("ordId"), "clientOrderId": shown.pop("clOrdId"), "orderPx": shown.pop("ordPx")}
        for name in ("ordQty", "triggerPx", "timeInForce"):
            del shown[name]
        return shown | renamed | {"role": event.role, "builderFee": money(event.builder_fee)}

    def position(self, position: Position) -> Json:
        product = position.product
        return {
            "symbolCode": product.code, "leverage": plain(position.leverage),
            "longSize": fixed(product.step, position.long.size), "shortSize": fixed(product.step, position.short.size),
            "longEntryValue": money(position.long.value), "shortEntryValue": money(position.short.value),
            "positionMode": "HEDGE" if position.account.hedge else "ONE_WAY",
            "positionMarginMode": "ISOLATED" if position.isolated else "CROSS",
            "assignedPosBalance": money(position.assigned), "unrealizedPnl": money(position.gain),
            "cumRealizedPnl": money(position.pnl), "curMarkPx": fixed(product.tick, product.mark),
            "cumTransactionFee": money(position.fees),
        }  # fmt: skip
