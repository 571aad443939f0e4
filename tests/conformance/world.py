"""What the suite does so that a venue has something to show, a value for each parameter, and valid actions.

Accounts: 0 trades and is queried, 1 trades with it, 3 leads the vault, 5 deposits in it, 7 approves agents, 8 pays out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from .shapes import MISSING, PARAMETER, REQUEST, edited, shapes
from .signing import Key, development_key
from .statements import Check, Differs, NotServed, NotTried, for_all
from .venue import Answer, Trader, Venue, accepted, refused

MONTH_MS = 30 * 86_400_000
"""From now to an expiry that has passed, or is to come: controls may have set the venue's clock forward by days."""
MANY = 21
"""One row more than a page has by default."""
BUILDER, BUILT_FOR = 6, 4
ZERO = "0x" + "0" * 40
Action = dict[str, Any]


# --- what there is to see
def placed(venue: Venue, trader: Trader) -> dict[str, Any]:
    """Place a limit order that rests, and return its state."""
    order = venue.resting()
    accepted(trader.place(order))
    return trader.order(order["clOrdId"])


def stop_of(venue: Venue, trader: Trader) -> Action:
    """Return a stop of an account's whole position, far from the market."""
    long = trader.size(venue.code) >= 0
    exit_of = {"reduceOnlyOption": "SL_FROM_POSITION", "tpslTriggerType": "MARK_PRICE", "slippagePct": "0.01"}
    return venue.market("SELL" if long else "BUY", "0", triggerPx=venue.price("0.5" if long else "1.5"), **exit_of)


def close(venue: Venue, size: Decimal, **fields: Any) -> dict[str, Any]:
    """Return a reduce-only market order that closes a position of a size, or a part of one."""
    side = "SELL" if size > 0 else "BUY"
    return venue.market(side, f"{abs(size):f}", **{"reduceOnlyOption": "REDUCE_ONLY", "slippagePct": "0.05", **fields})


def flat(venue: Venue, number: int) -> Trader:
    """Return an account without orders or position in the suite's product."""
    trader = venue.trader(number)
    accepted(trader.act("cancelAll", symbolCode=venue.code))
    accepted(trader.act("cancelAll", symbolCode=venue.code, conditionalOrder=True))
    size = trader.size(venue.code)
    if size:
        accepted(trader.place(close(venue, size)))
        venue.until(lambda: not trader.size(venue.code), "a closed position")
    return trader


def traded(venue: Venue) -> None:
    """See that account 0 has a position, fills, open orders and a stop, and more of each than a page has."""
    venue.once("traded", lambda: _trade(venue))


def _trade(venue: Venue) -> None:
    trader = flat(venue, 0)
    for side in (*("BUY", "SELL") * (MANY // 2), "BUY"):
        accepted(trader.place(venue.market(side)))
    accepted(trader.place(*(venue.resting() for _ in range(MANY)), stop_of(venue, trader)))
    accepted(trader.act("placeBracketOrder", **_bracket(venue, trader, False)))
    accepted(trader.act("setLeverage", symbolCode=int(venue.other["code"]), leverage="3"))
    with contextlib.suppress(NotServed):  # its prices are those of the feed
        venue.pair(trader, venue.trader(1))


def agents(venue: Venue) -> None:
    """See that account 0 has many agents, the last of them revoked."""
    for number in range(MANY):
        accepted(venue.approve(venue.trader(0).master, venue.stranger(), name=f"listed {number}"))
    for agent in (venue.stranger(), ZERO):
        accepted(venue.approve(venue.trader(0).master, agent, name="revoked"))


def vault(venue: Venue) -> str:
    """Return the address of account 3's vault."""
    return str(exchanged(venue, "vaultCreate")[1].data["vault"])


def deposits(venue: Venue) -> None:
    """See that the vault has many events, and a past of more than a day where controls can give it one."""
    for _ in range(MANY):
        accepted(venue.trader(5).act("vaultDeposit", vault=vault(venue), amount="1", currencyCode=1))
    venue.control("advance", span="25h")


def referral_code(venue: Venue) -> str:
    """Return the referral code of account 0."""
    data = accepted(venue.info("/info/referral/code", userAddr=development_key(0).address)).data
    return next(str(value) for name, value in data.items() if "code" in name.lower() and value)


def referrals(venue: Venue) -> None:
    """Let new accounts join by account 0's code; only the controls of a local venue give them funds."""
    code = referral_code(venue)
    for number in range(11):
        key = venue.named_key(f"referred {number}")
        venue.control("fund", address=key.address, amount="1000")
        accepted(venue.approve(key, venue.stranger(), name="referred", referralCode=code))


def registered(venue: Venue) -> Answer:
    """See that the builder is registered, and return the answer to the first try of this run."""
    action = {"type": "registerBuilder", "name": "Conformance", "dexChain": venue.domain.dex_chain}
    answer: Answer = venue.once("builder", lambda: venue.act(venue.trader(BUILDER).master, action))
    return answer


def authorised(
    venue: Venue, rate: object = "0.0005", *, number: int = BUILT_FOR, signer: Key | None = None, seconds: int = 0
) -> Answer:
    """Approve the builder's agent for an account, after ending an earlier approval."""
    registered(venue)
    key, dex_chain = signer or venue.trader(number).master, venue.domain.dex_chain
    if number == BUILT_FOR:
        venue.act(venue.trader(number).master, {"type": "revokeAgentToBuilder", "dexChain": dex_chain})
    agent, builder = venue.named_key("builder agent").address, venue.trader(BUILDER).address
    fields = {"agentAddress": agent, "builderAddress": builder, "maxFeeRate": rate, "validitySeconds": seconds}
    return venue.act(key, {"type": "approveAgentToBuilder", **fields, "dexChain": dex_chain})


# --- queries
def known(venue: Venue) -> dict[str, Any]:
    """Return a value for each parameter of which the venue, after some trading where it has any, shows one."""
    return dict(venue.once("known values", lambda: _known(venue)))


def _known(venue: Venue) -> dict[str, Any]:
    for provoke in (traded, agents, deposits, referrals, authorised):
        with contextlib.suppress(Exception):  # what goes wrong here is told by the statements on it
            provoke(venue)
    account, lister = development_key(0).address, development_key(3).address
    values = {
        "userAddr": account, "user": account, "masterAddress": account, "userAddress": lister, "agentName": "listed 0",
        "agentAddress": development_key(10).address, "builder": development_key(6).address, "interval": 60, "limit": 5,
        "wallet": development_key(4).address, "agent": venue.named_key("builder agent").address, "page": 1,
        "pageSize": 5, "size": 5, "side": 1, "currency": 1, "posMode": 1, "parentOrderId": "0",
        "includeZero": "false", "includeExpired": "false", "approveState": "APPROVED", "search": "0x", "listStatus": 1,
    }  # fmt: skip
    looks: tuple[Callable[[], dict[str, Any]], ...] = (
        lambda: {"symbol": venue.code, "symbol_name": venue.product["symbol"]},
        lambda: _times(venue),
        lambda: {"vaultAddress": vault(venue)},
        lambda: {"vaultAddress": venue.rows("/info/vault/list")[0]["vaultAddress"]},
        lambda: venue.rows("/info/trade/page", userAddr=account)[0],
    )
    for look in looks:
        with contextlib.suppress(NotServed, Differs, LookupError, TypeError):
            values = {**look(), **values}
    return values


def _times(venue: Venue) -> dict[str, Any]:
    """Return times about the newest candle."""
    candles = venue.rows("/info/kline/last", symbol_name=venue.product["symbol"], interval=60, limit=1)
    last = int(candles[0]["timestamp"]) * 1000
    return {"startTime": last - 600_000, "endTime": last + 60_000, "timestamp": last}


def ask(venue: Venue, operation: str, *omitted: str, **given: Any) -> Answer:
    """Ask a query with its required parameters, but for some, and with others."""
    values = known(venue)
    required = [name for name, one in shapes(operation, PARAMETER).items() if one.required and name not in omitted]
    unknown = [name for name in required if name not in values]
    if unknown:
        raise NotTried(f"this venue shows no {' and no '.join(unknown)}")
    return venue.info(operation.removeprefix("GET "), **{name: values[name] for name in required}, **given)


# --- actions
def order_of(venue: Venue) -> Action:
    """Return the action of one order that rests."""
    return {"type": "placeOrder", "orders": [venue.resting()]}


def _order(venue: Venue, trader: Trader, whole: bool) -> Action:
    """Return an order that rests, or the stop of another one, which has all fields."""
    if not whole:
        return {"orders": [edited(venue.resting(), "clOrdId")]}
    return {"orders": [{**stop_of(venue, trader), "parentOrdId": int(placed(venue, trader)["ordId"])}]}


def _bracket(venue: Venue, trader: Trader, whole: bool) -> Action:
    orders = [venue.resting()]
    for kind, of_last in (("TP_FROM_POSITION", "1.3"), ("SL_FROM_POSITION", "0.6")):
        exit_of = {"reduceOnly": kind, "triggerPx": venue.price(of_last), "tpslTriggerType": "MARK_PRICE"}
        orders.append(venue.market("SELL", orders[0]["ordQty"], **exit_of))
    return {"orders": orders}


def _cancel(venue: Venue, trader: Trader, whole: bool) -> Action:
    state = placed(venue, trader)
    names = ("ordId", "clOrdId") if whole else ("ordId",)
    return {"cancels": [{"symbolCode": str(venue.code), **{name: str(state[name]) for name in names}}]}


def _margin(venue: Venue, trader: Trader, whole: bool) -> Action:
    """Return more margin for the trader's position, which is isolated for it."""
    if not trader.size(venue.code):
        accepted(trader.place(venue.market()))
    accepted(trader.act("setMarginMode", symbolCode=venue.code, marginMode="ISOLATED"))
    return {"symbolCode": venue.code, "assignedPosMargin": "1"}


def _approval(venue: Venue, trader: Trader, whole: bool) -> Action:
    more = {"referralCode": referral_code(venue)} if whole else {}
    agent = {"agentAddress": venue.stranger().address, "agentName": "shaped", "validitySeconds": 0}
    return {**agent, "dexChain": venue.domain.dex_chain, **more}


ACTIONS: dict[str, tuple[int, Callable[[Venue, Trader, bool], Action]]] = {
    "placeOrder": (0, _order),
    "replaceOrder": (0, lambda venue, trader, _: {
        **venue.resting(of_last="0.79"), "clOrdId": int(placed(venue, trader)["clOrdId"])}),
    "placeBracketOrder": (0, _bracket),
    "cancelOrder": (0, _cancel),
    "cancelAll": (2, lambda venue, _, whole: {
        "symbolCode": venue.code, **({"conditionalOrder": True} if whole else {})}),
    "setLeverage": (2, lambda venue, *_: {"symbolCode": int(venue.other["code"]), "leverage": "3"}),
    "setMarginMode": (2, lambda venue, *_: {"symbolCode": int(venue.other["code"]), "marginMode": "CROSS"}),
    "assignPosMargin": (9, _margin),
    "approveAgent": (7, _approval),
    "withdraw": (8, lambda venue, trader, _: {
        "destination": trader.address, "amount": "2", "withdrawSequence": venue.nonce() // 1000}),
    "usdSend": (8, lambda venue, *_: {"to": development_key(9).address, "amount": "1"}),
    "bindReferral": (1, lambda venue, *_: {"referralCode": referral_code(venue)}),
    "vaultCreate": (3, lambda *_: {"name": "Shaped", "description": "a vault", "amount": "200", "currencyCode": 1}),
}  # fmt: skip
"""Type of action → the account that sends it, and its fields: those that it requires, or all ("whole")."""
OF_MASTERS = ("approveAgent", "withdraw", "usdSend")


def action_of(venue: Venue, kind: str, number: int | None = None, whole: bool = False) -> tuple[Key, Action]:
    """Return a valid action and its signer: its usual account, or one by its number."""
    usual, fields = ACTIONS[kind]
    if kind == "usdSend":  # a local venue refuses it until its operator opens it
        with contextlib.suppress(NotTried):
            venue.once("opened", lambda: venue.control("enable", action="usdSend"))
    trader = venue.trader(usual if number is None else number)
    return trader.master if kind in OF_MASTERS else trader.agent, {"type": kind, **fields(venue, trader, whole)}


def exchanged(venue: Venue, kind: str, form: str = "least") -> tuple[dict[str, Any], Answer]:
    """Return a request that the venue accepted, and its answer. It is sent once a run.

    A form has the required fields ("least"), all fields ("whole"), or null in each that may be null ("null").
    """
    both: tuple[dict[str, Any], Answer] = venue.once(f"{kind} {form}", lambda: _exchanged(venue, kind, form))
    return both


def _exchanged(venue: Venue, kind: str, form: str) -> tuple[dict[str, Any], Answer]:
    key, action = action_of(venue, kind, whole=form == "whole")
    fields = shapes(f"POST /exchange/{kind}", REQUEST)
    expiry = venue.nonce() + MONTH_MS if form == "whole" and "expiryAfter" in fields else None
    nulls = {name: None for name, one in fields.items() if one.nullable and form == "null"}
    body = {**venue.envelope(key, action, expiry=expiry), **nulls}
    answer = venue.send(body)
    if kind == "bindReferral" and answer.code == 40230:
        raise NotTried(f"account 1 was bound in an earlier run: {answer}")
    return body, accepted(answer)


def changed(venue: Venue, kind: str, path: str, value: Any = MISSING, whole: bool = False) -> Answer:
    """Send an action in which what a path of its request leads to is left out, or is another value.

    What is left of the action is signed, where that can be done without it.
    """
    key, action = action_of(venue, kind, whole=whole)
    if path.startswith("action.") and path != "action.type":
        with contextlib.suppress(KeyError):
            return venue.act(key, edited({"action": action}, path, value)["action"])
    return venue.send(edited(venue.envelope(key, action), path, value))


def varied(said: str, kind: str, path: str, values: Iterable[object], then: Check = refused) -> None:
    """Register one statement on requests in which what a path leads to is each of some values."""
    for_all(said, values, lambda venue, value: changed(venue, kind, path, value), then)
