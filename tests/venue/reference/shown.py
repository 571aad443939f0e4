"""Rows of the Info API and items of the feed, written from the reference's state."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from toolkit.protocol.enums import ENUMS

from .books import Account, Event, Order, Position, Product, Row
from .money import ROUNDING
from .wire import Reference

Json = dict[str, Any]
CODES = {name: ENUMS[name].number_of for name in ("order_side", "order_type", "reduce_only", "trigger")}


def plain(value: Fraction | int) -> str:
    """Return a decimal without zeros at its end."""
    value, places = Fraction(value), 0
    while (value * 10**places).denominator > 1:
        places += 1
    return fixed(Fraction(1, 10**places), value * 10**places) if value >= 0 else "-" + plain(-value)


def money(amount: int) -> str:
    whole, part = divmod(abs(amount), 10**6)
    return ("-" if amount < 0 else "") + (f"{whole}.{part:06d}".rstrip("0") if part else str(whole))


def fixed(size: Fraction, count: int | Fraction, more: int = 0) -> str:
    """Return a count of ticks or steps with the decimals of its size; 0 is "0"."""
    places = len(str(size.denominator)) - 1 + more
    digits = str(round(size * count * 10**places)).rjust(places + 1, "0")
    return (f"{digits[:-places]}.{digits[-places:]}" if places else digits) if count else "0"


def side_of(order: Order) -> str:
    return ("BUY" if order.side > 0 else "SELL") + ("_CLOSE_HEDGE" if order.closing else "")


class Shown:
    """What the Info API and the feed show of a reference, with the venue's names for accounts."""

    def __init__(self, reference: Reference) -> None:
        self.reference, self.own = reference, reference.own
        self.back = {address: name for name, address in self.own.items()}

    def name(self, address: str) -> str:
        return self.own.get(address, address)

    def account(self, shown: str) -> Account:
        return self.reference.accounts[self.back.get(shown, shown)]

    # Info

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

    def ledger(self, since: int) -> list[Json]:
        rows = enumerate(self.reference.rows[since:], since + 1)
        return [side for number, row in rows for side in self.sides(number, row)]

    def sides(self, number: int, row: Row) -> Iterator[Json]:
        """Return the entries of a movement: one for each balance that it changes."""
        rest = row.paid - row.received if row.payer and row.receiver else 0
        for mine, other, amount, kind in (
            (row.payer, row.receiver, -row.paid, row.kind), (row.receiver, row.payer, row.received, row.kind),
            (ROUNDING, row.payer, rest, "ROUNDING"),
        ):  # fmt: skip
            if mine and amount:
                yield {
                    "id": number, "userAddr": self.name(mine), "bizType": kind, "amount": money(amount),
                    "symbol": row.product or None, "reference": self.own.get(row.reference, row.reference),
                    "counterparty": self.name(other) or None, "blockTime": row.time,
                }  # fmt: skip

    def order(self, order: Order) -> Json:
        tick, step = order.product.tick, order.product.step
        return {
            "ordId": str(order.id), "clOrdId": str(order.client), "parentOrdId": str(order.parent),
            "symbol": order.product.code, "side": CODES["order_side"][side_of(order)],
            "type": CODES["order_type"][order.kind], "price": fixed(tick, order.price),
            "qty": fixed(step, order.quantity), "filledQty": fixed(step, order.filled),
            "leaveQty": fixed(step, order.leaves), "cumFilledValue": money(order.value),
            "cumFee": money(order.fee), "triggerPx": fixed(tick, order.trigger), "status": order.status,
            "timeInForce": order.tif, "reduceOnly": CODES["reduce_only"].get(order.reduce or "NONE", 0),
            "conditionalOrderTriggerType": CODES["trigger"].get(order.by or "NONE", 0), "blockTime": order.changed,
        }  # fmt: skip

    def event(self, number: int, event: Event) -> Json:
        order = event.order
        tick, step = order.product.tick, order.product.step
        return {
            "id": number, "ordId": str(order.id), "clOrdId": str(order.client), "symbol": order.product.code,
            "side": side_of(order), "execStatus": order.status, "ordPx": fixed(tick, order.price),
            "filledPx": fixed(tick, event.price), "execQty": fixed(step, event.steps),
            "leavesQty": fixed(step, order.leaves), "execId": str(event.number), "realizedPnl": money(event.pnl),
            "openFee": money(event.fees[1]), "closeFee": money(event.fees[0]), "blockTime": event.time,
            "ordType": CODES["order_type"][order.kind], "timeInForce": order.tif,
            "ordQty": fixed(step, order.quantity), "triggerPx": fixed(tick, order.trigger),
            "userAddr": self.name(order.account.address),
        }  # fmt: skip

    def position(self, position: Position) -> Json:
        product, legs = position.product, (position.long, position.short)
        return {
            "symbolCode": product.code, "leverage": plain(position.leverage),
            "longSize": fixed(product.step, position.long.size), "shortSize": fixed(product.step, position.short.size),
            "longEntryValue": money(position.long.value), "shortEntryValue": money(position.short.value),
            "positionMode": "HEDGE" if position.account.hedge else "ONE_WAY",
            "positionMarginMode": "ISOLATED" if position.isolated else "CROSS",
            "assignedPosBalance": money(position.assigned), "unrealizedPnl": money(position.gain),
            "cumRealizedPnl": money(position.pnl), "curMarkPx": fixed(product.tick, product.mark),
            "cumTransactionFee": money(position.fees),
            "createTime": min((leg.opened for leg in legs if leg.size), default=None),
        }  # fmt: skip

    # the feed

    def order_hist(self, event: Event) -> Json:
        order = event.order
        tick, step = order.product.tick, order.product.step
        return {
            "transactionTime": event.time, "ordId": order.id, "clOrdId": order.client, "symbol": order.product.symbol,
            "ordSide": side_of(order), "ordType": order.kind, "execStatus": order.status,
            "ordPx": fixed(tick, order.price), "ordQty": fixed(step, order.quantity),
            "execPx": fixed(tick, event.price), "execQty": fixed(step, event.steps), "execId": event.number,
            "triggerPx": fixed(tick, order.trigger), "reduceOnly": order.reduce or "NONE",
            "userAddr": self.name(order.account.address),
        }  # fmt: skip

    def user_fill(self, event: Event) -> Json:
        order = event.order
        tick, step = order.product.tick, order.product.step
        return {
            "transactionTime": event.time, "symbol": order.product.symbol, "ordSide": side_of(order),
            "filledPx": fixed(tick, event.price), "execQty": fixed(step, event.steps),
            "openFee": money(event.fees[1]), "closeFee": money(event.fees[0]), "ordId": order.id,
            "execId": event.number, "ordType": order.kind, "execStatus": order.status,
            "ordPx": fixed(tick, order.price), "ordQty": fixed(step, order.quantity), "posLongTerm": event.terms[0],
            "posShortTerm": event.terms[1], "userAddr": self.name(order.account.address),
        }  # fmt: skip

    def closed_position(self, closing: Json) -> Json:
        product, made = closing["product"], closing["pnl"] - closing["fees"] + closing["funding"]
        return {
            "closedTime": closing["time"], "symbol": product.symbol, "side": "LONG" if closing["side"] > 0 else "SHORT",
            "size": fixed(product.step, closing["size"]), "closedPnl": money(closing["pnl"]),
            "tradingFees": money(closing["fees"]), "fundingFees": money(closing["funding"]),
            "realisedPnl": money(made), "leverage": plain(closing["leverage"]), "openTime": closing["opened"],
            "term": closing["term"], "symbolCode": product.code, "userAddr": self.name(closing["account"]),
        }  # fmt: skip

    def funding(self, payment: Json) -> Json:
        product = payment["product"]
        return {
            "symbol": product.symbol, "posSide": "LONG" if payment["side"] > 0 else "SHORT",
            "posSize": fixed(product.step, payment["size"]), "fundingRate": plain(payment["rate"]),
            "fundingFee": money(payment["amount"]), "transactionTime": payment["time"],
            "userAddr": self.name(payment["account"]),
        }  # fmt: skip

    def levels(self, product: Product, side: int) -> dict[str, str]:
        totals: dict[int, int] = {}
        for order in self.reference.book(product, side):
            totals[order.price] = totals.get(order.price, 0) + order.leaves
        return {fixed(product.tick, price): fixed(product.step, steps) for price, steps in totals.items()}

    def ticker(self, product: Product) -> Json:
        bid, ask = self.reference.best(product, 1), self.reference.best(product, -1)
        held = [account.positions.get(product.code) for account in self.reference.accounts.values()]
        return {
            "s": product.symbol, "p": fixed(product.tick, product.last), "op": fixed(product.tick, product.oracle),
            "mp": fixed(product.tick, product.mark),
            "oi": fixed(product.step, sum(position.long.size for position in held if position)),
            "mid": fixed(product.tick, Fraction(bid + ask, 2), 1) if bid and ask else None,
        }  # fmt: skip
