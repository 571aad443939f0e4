"""The rules behind `venue.control`: what a teacher or a test may do to a venue that no request can.

Each is a command like any other: it is in the journal, in the state's hash, and undone by a revert.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ...errors import MalformedRequest
from ...numerals import micro_text
from ...protocol import actions
from ..engine import arguments
from ..engine.commands import ActionContext, Refused, Submit, TxCode
from ..engine.core import Core
from ..engine.registry import controls, process
from ..model.market import SCALES
from ..model.state import Group, Limit
from ..risk import ledger, prices
from ..trading import lifecycle, placing
from . import participants

LIQUIDITY = "0x00000000000000000000000000000000000000b9"
"""The account whose orders `add_liquidity` places."""
CAPITAL = 1_000_000_000_000_000
"""Its deposit: a billion USDC, in micro-USDC."""
RELEASE = 0
"""In place of a price: let the source take over."""
LEVELS = 200
"""Largest number of levels of one call."""


# prices


@controls("script_oracle")
def script_oracle(core: Core, product: int, points: list[list[Any]], release: bool = False) -> dict[str, Any]:
    """Move the oracle price of a product through points in time.

    This replaces a running script.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    product : int
        Code of the product.
    points : list of list of object
        [time in Unix ms, price in USDC as text], each later than the one before. An empty list ends the script.
    release : bool, optional
        True lets the oracle follow its source after the last point (default: `False`).

    Raises
    ------
    Refused
        If a point is not ahead, or its price is none of the product's.
    """
    listed = core.product(product)
    script: list[tuple[int, int]] = []
    for point in points:
        if len(point) != 2 or type(point[0]) is not int:
            raise Refused(TxCode.BAD_ARGUMENT, f"a point is [time in ms, price], not {point!r}")
        time, price = point
        if time <= core.state.time or (script and time <= script[-1][0]):
            reason = f"points must lie ahead, each after the one before. {time} does not (now {core.state.time})"
            raise Refused(TxCode.BAD_ARGUMENT, reason)
        script.append((time, prices.oracle_ticks(listed, price)))
    lab = core.state.laboratory
    lab.scripts.pop(product, None)
    if script:
        if release:
            script.append((script[-1][0] + 1, RELEASE))  # not in the same instant, in which the source may tick
        lab.scripts[product] = script
        core.wake("script", script[0][0])
    return {"points": len(points)}


@process("script")
def play_scripts(core: Core, time: int) -> int | None:
    """Set the oracle prices that are due.

    The oracle is released at the end of a script that asks for it.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    time : int
        Instant of the next point, Unix ms.
    """
    lab = core.state.laboratory
    for code, script in list(lab.scripts.items()):
        while script and script[0][0] <= time:
            _, price = script.pop(0)
            if price:
                prices.set_oracle(core, code, core.products[code].price_text(price))
            else:
                core.state.markets[code].pinned = False
        if not script:
            del lab.scripts[code]
    return min((script[0][0] for script in lab.scripts.values()), default=None)


@controls("jump")
def jump(core: Core, product: int, percent: str) -> dict[str, str]:
    """Move the price of a product by a percentage, as news would.

    The simulated market continues from there. Where there is none, the price stays until `release_oracle`. A script or
    a price held by hand ends.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    product : int
        Code of the product.
    percent : str
        Change in percent as decimal text, above -100 and at most 1000.

    Raises
    ------
    Refused
        If the price would be out of its bounds.
    """
    listed, market = core.product(product), core.state.markets[product]
    share = Decimal(arguments.amount(percent, "percent")) / 100
    if not -1 < share <= 10:
        raise Refused(TxCode.BAD_ARGUMENT, f"percent {percent} must be above -100 and at most 1000")
    price_ticks = max(int(market.oracle * (1 + share)), 1)
    prices.check_bound(listed, "price", price_ticks)
    core.state.laboratory.scripts.pop(product, None)
    simulated = participants.move_index(core, product, price_ticks)
    return prices.set_oracle(core, product, listed.price_text(price_ticks), hold=not simulated)


# markets


@controls("market")
def set_regime(core: Core, regime: str, product: int = 0, after: int = 0, lasting: int = 0) -> None:
    """Set the regime of a simulated product.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    regime : {"calm", "usual", "stressed"}
        The new regime.
    product : int, optional
        Code of the product. 0 stands for all products (default: 0).
    after : int, optional
        When it begins, in ms from now (default: 0).
    lasting : int, optional
        How long it lasts, in ms. 0 means permanently (default: 0).

    Raises
    ------
    Refused
        If the regime is unknown, or the product is not simulated.
    """
    codes = [core.product(product).code] if product else list(core.products)
    if regime not in SCALES:
        raise Refused(TxCode.BAD_ARGUMENT, f"there is no regime {regime!r}. There are {', '.join(SCALES)}")
    if after < 0 or lasting < 0:
        raise Refused(TxCode.BAD_ARGUMENT, f"after and lasting must be 0 or more, not {after} and {lasting}")
    start = core.state.time + after
    for code in codes:
        participants.plan_regime(core, code, regime, start, start + lasting if lasting else 0)


@controls("pause")
def pause(core: Core, product: int) -> None:
    """Stop trading in a product.

    Orders are refused, triggers and liquidations wait. Cancelling continues.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    product : int
        Code of the product.
    """
    core.product(product)
    core.state.markets[product].paused = True


@controls("resume")
def resume(core: Core, product: int) -> None:
    """Resume trading in a paused product.

    The liquidations that waited for it continue.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    product : int
        Code of the product.
    """
    core.product(product)
    core.state.markets[product].paused = False
    core.risk_index.moved.setdefault(product, core.state.markets[product].mark)


@controls("add_liquidity")
def add_liquidity(
    core: Core, product: int, side: str, price: str, quantity: str, levels: int = 1, gap: str = ""
) -> dict[str, Any]:
    """Place orders of an account that never runs out of money.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    product : int
        Code of the product.
    side : {"BUY", "SELL"}
        Side of the orders.
    price : str
        Price of the first level in USDC, as text.
    quantity : str
        Quantity of each level in base units, as text.
    levels : int, optional
        Number of levels, at most 200 (default: 1).
    gap : str, optional
        Distance between levels in USDC, away from the market (default: one tick).

    Returns
    -------
    dict
        `ordIds` of the orders that rest, and `filled`, the quantity that traded immediately.

    Raises
    ------
    Refused
        If a number is out of its bounds.
    """
    listed = core.product(product)
    if side not in ("BUY", "SELL"):
        raise Refused(TxCode.BAD_ARGUMENT, f"side {side!r} is not known. It is BUY or SELL")
    if not 1 <= levels <= LEVELS:
        raise Refused(TxCode.BAD_ARGUMENT, f"levels must be 1 to {LEVELS}, not {levels}")
    sign = 1 if side == "BUY" else -1
    first = listed.ticks(arguments.positive(price, "price"))
    steps = listed.steps(arguments.positive(quantity, "quantity"))
    apart = listed.ticks(arguments.positive(gap, "gap")) if gap else 1
    prices.check_bound(listed, "price", first)
    prices.check_bound(listed, "gap", apart)
    if first * steps * listed.unit > CAPITAL:
        reason = f"quantity {quantity} at {price} is worth more than {micro_text(CAPITAL)} USDC"
        raise Refused(TxCode.BAD_ARGUMENT, reason)
    account = ledger.open_house(core, LIQUIDITY, CAPITAL)
    placed, taken = [], 0
    for level in range(levels):
        ticks = first - sign * apart * level
        if ticks <= 0:
            break
        order = placing.submit(core, account, listed, sign, steps, ticks)
        taken += order.filled
        if order.id in account.orders:
            placed.append(str(order.id))
    return {"ordIds": placed, "filled": str(listed.quantity_text(taken))}


@controls("remove_liquidity")
def remove_liquidity(core: Core, product: int) -> dict[str, Any]:
    """Cancel the orders that `add_liquidity` placed in a product.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    product : int
        Code of the product.
    """
    core.product(product)
    account = core.state.accounts.get(LIQUIDITY)
    if account is None:
        return {"cancelled": 0}
    resting = [order for order in account.orders.values() if order.product == product]
    for order in resting:
        lifecycle.cancel(core, account, order)
    return {"cancelled": len(resting)}


@controls("stand_still")
def stand_still(core: Core, until: int) -> None:
    """Let no price change and no participant act before a time.

    All else that is due happens.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    until : int
        The time, Unix ms.
    """
    interval = core.state.config.price_interval
    schedule, following = core.state.schedule, (until // interval + 1) * interval
    for name in ("prices", "market"):
        if name in schedule:
            schedule[name] = max(schedule[name], following)
    participants.skip(core, following - 1)


# participants


@controls("act")
def act(core: Core, address: str, action: dict[str, Any]) -> dict[str, Any]:
    """Do an action as an account, without its signature.

    The venue checks only the rules of the action itself.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    address : str
        Account that acts. It must exist.
    action : dict of str to object
        The action as on the wire.

    Raises
    ------
    Refused
        If the account does not exist, or the action is malformed.
    """
    account = core.state.accounts.get(arguments.address(address))
    if account is None:
        raise Refused(TxCode.UNKNOWN_TARGET, f"{address} has no account here. Fund it first")
    try:
        action = actions.parse(action)
    except MalformedRequest as error:
        raise Refused(TxCode.BAD_ARGUMENT, str(error)) from None
    context = ActionContext(account, account.address, time=core.state.time, tx_hash=core.tx_hash())
    outcome = core.execute(context, Submit(core.state.time, action, account.address, 0), str(action["type"]))
    return {"code": outcome.code, "message": outcome.message, **(outcome.data or {})}


# emergencies


@controls("disable")
def disable(core: Core, action: str) -> None:
    """Switch an action off: requests are answered with code 40280.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    action : str
        Type of the action, such as "placeOrder".

    Raises
    ------
    Refused
        If there is no such action.
    """
    if action not in core.handlers:
        reason = f"there is no action {action!r}. There are {', '.join(sorted(core.handlers))}"
        raise Refused(TxCode.UNKNOWN_TARGET, reason)
    _switch(core.state.laboratory.disabled, action, True)


@controls("enable")
def enable(core: Core, action: str) -> None:
    """Switch an action on again, or open one that is optional.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    action : str
        Type of the action.
    """
    _switch(core.state.laboratory.disabled, action, False)
    if action in actions.ACTIONS and actions.ACTIONS[action].optional:
        _switch(core.state.laboratory.opened, action, True)


@controls("member")
def member(core: Core, address: str) -> None:
    """Add an account to the class of this venue, or count from now what it gains from the others.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    address : str
        Account. It need not exist.
    """
    _group(core).members[arguments.address(address)] = 0


@controls("apart")
def apart(core: Core, span: int) -> None:
    """Say how long an order of a member must have rested before an order of another one can meet it.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    span : int
        Time in ms, 0 or more.

    Raises
    ------
    Refused
        If it is below 0.
    """
    if span < 0:
        raise Refused(TxCode.BAD_ARGUMENT, f"span must be 0 or more, not {span} ms")
    _group(core).apart_ms = span


def _group(core: Core) -> Group:
    laboratory = core.state.laboratory
    if not laboratory.group:
        laboratory.group = Group()
    return laboratory.group


@controls("ban")
def ban(core: Core, address: str) -> None:
    """Ban an account and its agents: their actions are answered with code 40281.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    address : str
        Account to ban. It need not exist.
    """
    _switch(core.state.laboratory.banned, arguments.address(address), True)


@controls("unban")
def unban(core: Core, address: str) -> None:
    """Lift the ban of an account.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    address : str
        Banned account.
    """
    _switch(core.state.laboratory.banned, arguments.address(address), False)


@controls("close_location")
def close_location(core: Core, peer: str = "") -> None:
    """Answer code 40006 to a caller's address, or to everyone.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    peer : str, optional
        Address of the caller (default: "", everyone).
    """
    _switch(core.state.laboratory.closed, peer, True)


@controls("open_location")
def open_location(core: Core, peer: str = "") -> None:
    """Serve a caller's address again.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    peer : str, optional
        Address of the caller (default: "", everyone).
    """
    _switch(core.state.laboratory.closed, peer, False)


@controls("limit")
def limit(core: Core, action: str, count: int, span: int) -> None:
    """Limit the requests of each address: those beyond the limit are answered with code 40220.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    action : str
        Type of the action, "info" for queries, "" for each action that has no limit.
    count : int
        Largest number of requests in the span.
    span : int
        Length of the window in ms.

    Raises
    ------
    Refused
        If a number is out of its bounds, or there is no such action.
    """
    if count < 0 or span < 1:
        raise Refused(TxCode.BAD_ARGUMENT, f"count must be 0 or more and span 1 ms or more, not {count} and {span}")
    if action not in ("", "info") and action not in core.handlers:
        known = ", ".join(sorted(core.handlers))
        reason = f"there is no action {action!r}. There are info, {known}, and '' for all the others"
        raise Refused(TxCode.UNKNOWN_TARGET, reason)
    core.state.laboratory.limits[action] = Limit(count, span)


@controls("unlimit")
def unlimit(core: Core, action: str) -> None:
    """Lift the limit of an action.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    action : str
        Type of the action, "info" or "".
    """
    core.state.laboratory.limits.pop(action, None)


@controls("calm")
def calm(core: Core) -> None:
    """End every emergency and pause.

    An optional action that was never opened stays closed.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    """
    lab = core.state.laboratory
    lab.disabled, lab.banned, lab.closed, lab.limits = [], [], [], {}
    for code, market in core.state.markets.items():
        if market.paused:
            resume(core, code)


def _switch(held: list[str], name: str, on: bool) -> None:
    """Add a name to a list, or remove it, where that changes anything."""
    if on and name not in held:
        held.append(name)
    elif not on and name in held:
        held.remove(name)
