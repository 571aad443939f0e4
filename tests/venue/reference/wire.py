"""Reads an account's action, as it is signed, into calls of the reference."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from tests.venue.reference.money import Account, Order, Refused
from tests.venue.reference.venue import ReferenceVenue

Item = Mapping[str, Any]


def read(account: Account, item: Item, **more: Any) -> Order:
    """Return the order of an item."""
    held, kind = account.holdings[int(item["symbolCode"])], item["ordType"]
    side, market = 1 if item["ordSide"].startswith("BUY") else -1, held.market
    reduce = item.get("reduceOnlyOption") or item.get("reduceOnly") or ""
    stop = kind.startswith("STOP") if kind not in ("LIMIT", "MARKET") else reduce == "SL_FROM_POSITION"
    conditional, steps = "triggerPx" in item, int(Fraction(item["ordQty"]) / market.step)
    return Order(
        held=held, side=side, closing="CLOSE" in item["ordSide"], kind=kind,
        tif=item["timeInForce"], reduce=reduce, price=int(Fraction(item["ordPx"]) / market.tick),
        quantity=steps, leaves=steps,
        trigger=int(Fraction(item.get("triggerPx", 0)) / market.tick),
        by=item.get("tpslTriggerType", "LAST_PRICE") if conditional else "", up=conditional and (side > 0) == stop,
        slippage=Fraction(item.get("slippagePct", 0)), client_id=int(item.get("clOrdId", 0)),
        parent=int(item.get("parentOrdId", 0)), **more,
    )  # fmt: skip


def act(venue: ReferenceVenue, name: str, action: Item) -> list[bool]:
    """Do an action of an account; return for each of its items whether it was accepted."""
    account, kind = venue.accounts[name], action["type"]
    if kind == "placeOrder":
        results = [venue.place(read(account, item)) for item in action["orders"]]
    elif kind == "placeBracketOrder":
        results = [venue.place(*(read(account, item) for item in action["orders"]))]
    elif kind == "placeBuilderOrder":
        terms = {"builder": action["builder"].lower(), "builder_rate": Fraction(action["builderFeeRate"])}
        results = [venue.place(read(account, action["order"], **terms))]
    elif kind == "cancelAll":
        found = [each for each in venue.orders.values() if each.waiting == action["conditionalOrder"]]
        found = [each for each in found if each.held is account.holdings[action["symbolCode"]]]
        results = [attempt(venue, venue.cancel, order) for order in found if order.id in venue.orders]
    else:
        results = [attempt(venue, apply, venue, name, item) for item in action.get("cancels", [action])]
    venue.after_command()
    return results


def attempt(venue: ReferenceVenue, rule: Callable[..., None], *arguments: Any) -> bool:
    """Apply a rule that may change something before it checks; a refused action changes nothing."""
    before = pickle.dumps(vars(venue))
    try:
        rule(*arguments)
    except Refused:
        vars(venue).update(pickle.loads(before))
        return False
    return True


def deposit(venue: ReferenceVenue, name: str, amount: int) -> None:
    """Bring cash from outside."""
    venue.pay("", name, amount, "DEPOSIT")
    venue.after_command()


def begin_step(venue: ReferenceVenue) -> None:
    """Forget what the step before recorded."""
    venue.rows, venue.events = [], []


def apply(venue: ReferenceVenue, name: str, item: Item) -> None:
    """Apply the rule of an action that is not an order."""
    account = venue.accounts[name]
    held = account.holdings[int(item.get("symbolCode", 1))]
    match item.get("type"):
        case "replaceOrder":
            venue.replace(venue.find(held, int(item["ordId"])), read(account, item))
        case "setLeverage":
            venue.set_leverage(held, Fraction(item["leverage"]))
        case "setMarginMode":
            venue.set_margin_mode(held, item["marginMode"] == "ISOLATED")
        case "assignPosMargin":
            venue.assign_margin(held, int(Fraction(item["assignedPosMargin"]) * 10**6))
        case "withdraw":
            venue.withdraw(name, int(Fraction(item["amount"]) * 10**6), item["destination"].lower())
        case _:  # an item of cancelOrder
            venue.cancel(venue.find(held, int(item["ordId"])))


def bind(venue: ReferenceVenue, account: Account, inviter: str) -> None:
    """Bind an account to who invited it; rebates are paid in the order in which the network grew."""
    chain = [account.name, inviter]
    while venue.accounts[chain[-1]].inviter:
        chain.append(venue.accounts[chain[-1]].inviter)
    venue.network += [name for name in chain if name not in venue.network]
    account.inviter = inviter
    venue.accounts[inviter].invited.append(account.name)
