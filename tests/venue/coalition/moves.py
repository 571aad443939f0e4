"""What a coalition may do: steps that are drawn by chance, changed a little, and done in a world.

A step is a tuple of plain values, (kind, number of the account, …), that makes sense in any world: prices are ratios of
the oracle price, quantities parts of what an account can carry. So steps can be removed, moved and mixed freely.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from tests.venue.coalition.world import BTC, ETH, OTHERS, XRP, World, agent, hedge, order_item, other
from toolkit.venue.engine.commands import Outcome
from toolkit.venue.model.constants import USDC
from toolkit.venue.programs import referrals
from toolkit.venue.risk import account_margin

Step = tuple[Any, ...]
Plan = tuple[Step, ...]
PRICES = (0.1, 0.101, 0.11, 0.3, 0.5, 0.7, 0.9, 0.95, 0.97, 0.99, 0.995, 0.999, 1.0, 1.0, 1.0, 1.001, 1.005, 1.01,
          1.03, 1.05, 1.1, 1.5, 2.0, 5.0, 10.0, 15.9)  # fmt: skip
PARTS = (0.02, 0.1, 0.25, 0.5, 0.9, 0.97, 1.0)
WAITS = (500, 1_000, 2_999, 3_000, 9_000, 30_000, 60_000, 160_000, 300_000, 600_000, 3_600_000)
AMOUNTS = (2, 10, 100, 500, 2_000, 5_000, 9_000)
SIDES = ("BUY", "SELL")
CODES = (BTC, BTC, BTC, ETH, XRP)


class Moves:
    """The steps that are possible in a kind of world, and how to draw and do them."""

    def __init__(self, count: int, weights: dict[str, float]) -> None:
        self.count, self.weights = count, weights

    def draw(self, chance: random.Random) -> Step:
        """Return a random step."""
        kind = chance.choices(list(self.weights), list(self.weights.values()))[0]
        return (kind, chance.randrange(self.count), *KINDS[kind][1](chance, self.count))

    def change(self, step: Step, chance: random.Random) -> Step:
        """Return a step of the same kind with one or more values drawn again."""
        kind, who, *values = step
        fresh = KINDS[kind][1](chance, self.count)
        if not values or chance.random() < 0.25:
            return (kind, chance.randrange(self.count), *values)
        at = chance.randrange(len(values))
        return (kind, who, *values[:at], fresh[at], *values[at + 1 :])


def do(world: World, step: Step) -> Outcome | None:
    """Do a step in a world; what the venue refuses does nothing."""
    kind, who, *values = step
    return KINDS[kind][2](world, world.members[who % world.count], *values)


# quantities and prices


def _price(world: World, code: int, ratio: float) -> str:
    product = world.core.products[code]
    return product.price_text(max(1, round(world.core.state.markets[code].oracle * ratio)))


def far_bid(world: World, code: int) -> tuple[str, str]:
    """Return quantity and price of a small bid that nobody will meet."""
    return world.core.products[code].quantity_text(10_000), _price(world, code, 0.11)


def _carried(world: World, address: str, code: int, part: float) -> str:
    """Return a part of the quantity that an account's equity carries at the product's leverage, as text."""
    product, market = world.core.products[code], world.core.state.markets[code]
    held = world.account(address).positions.get(code)
    leverage = (held.leverage if held else 2_000) / 100
    steps = int(max(0, world.equity(address)) * leverage * part / (market.oracle * product.unit))
    return product.quantity_text(max(1, min(steps, product.max_notional // (market.oracle * product.unit))))


def _held(world: World, address: str, code: int) -> tuple[str, str]:
    """Return the side that closes what an account holds and how much it is; ("", "") without a position."""
    held = world.account(address).positions.get(code) if address in world.core.state.accounts else None
    if held is None or not (held.long.size or held.short.size):
        return "", ""
    product, long = world.core.products[code], held.long.size >= held.short.size
    closing = ("SELL" if long else "BUY") + ("_CLOSE_HEDGE" if hedge(world, address) else "")
    return closing, product.quantity_text(max(held.long.size, held.short.size))


def _led(world: World, number: int) -> str | None:
    """Return one of the vaults that the coalition leads; None when there is none."""
    return world.led[number % len(world.led)] if world.led else None


def _money(world: World, address: str, part: float) -> str:
    account = world.account(address)
    free = account_margin.wallet(world.core, account).withdrawable
    return str(Decimal(max(0, int(free * part))) / USDC)


def _remember(world: World, code: int, side: str, price: str, quantity: str) -> None:
    world.placed = [*world.placed[-3:], (code, 1 if side.startswith("BUY") else -1, price, quantity)]


# orders


def _draw_order(chance: random.Random, count: int) -> Step:
    tif = chance.choice(("GTC", "GTC", "GTC", "GTC", "IOC", "FOK", "POST_ONLY", "MARKET", "MARKET"))
    option = chance.choice(("", "", "", "", "", "REDUCE_ONLY", "INSIDE"))
    code = chance.choice((BTC, BTC, BTC, ETH, XRP))
    return (
        code,
        chance.choice(SIDES),
        chance.choice(PARTS),
        chance.choice(PRICES),
        tif,
        option,
        chance.choice(("0.005", "0.05")),
    )


def _order(
    world: World, who: str, code: int, side: str, part: float, ratio: float, tif: str, option: str, slip: str
) -> Outcome | None:
    """Place an order; with INSIDE in one of the vaults that the coalition made."""
    inside = _led(world, int(part * 100)) if option == "INSIDE" else None
    more: dict[str, Any] = {"reduceOnlyOption": option} if option == "REDUCE_ONLY" else {}
    quantity, price = _carried(world, inside or who, code, part), _price(world, code, ratio)
    if tif == "MARKET":
        return world.order(who, side, quantity, None, code, inside=inside, slippagePct=slip, **more)
    _remember(world, code, side, price, quantity)
    return world.order(who, side, quantity, price, code, inside=inside, timeInForce=tif, **more)


def _draw_meet(chance: random.Random, count: int) -> Step:
    return chance.choice((0, 0, 1, 2)), chance.choice((1.0, 1.0, 0.5)), chance.choice(("GTC", "GTC", "IOC"))


def _meet(world: World, who: str, back: int, part: float, tif: str) -> Outcome | None:
    """Place the opposite of one of the coalition's latest orders, at its price."""
    if not world.placed:
        return None
    code, side, price, quantity = world.placed[-1 - back % len(world.placed)]
    product = world.core.products[code]
    steps = int(Decimal(quantity) / product.step_size * Decimal(part))
    return world.order(who, SIDES[side > 0], product.quantity_text(max(1, steps)), price, code, timeInForce=tif)


def _draw_cross(chance: random.Random, count: int) -> Step:
    return chance.choice(CODES), chance.choice(SIDES), chance.randrange(20), chance.choice(PARTS), chance.choice(PRICES)


def _cross(world: World, who: str, code: int, side: str, number: int, part: float, ratio: float) -> Outcome | None:
    """Let another account of the coalition bid or offer, and this one trade with it what it holds, or a part."""
    mate = world.members[number % world.count]
    closing, quantity = _held(world, who, code)
    if closing:
        side = closing
    else:
        quantity = _carried(world, who, code, part)
    price = _price(world, code, ratio)
    world.order(mate, "SELL" if side.startswith("BUY") else "BUY", quantity, price, code)
    return world.order(who, side, quantity, price, code)


def _draw_exit(chance: random.Random, count: int) -> Step:
    return chance.choice((BTC, BTC, BTC, ETH, XRP)), chance.choice(PARTS[-4:]), chance.choice((0.0, *PRICES))


def _exit(world: World, who: str, code: int, part: float, ratio: float) -> Outcome | None:
    """Close a part of what an account holds, at a ratio of the oracle price (0: at market)."""
    side, quantity = _held(world, who, code)
    if not side:
        return None
    product = world.core.products[code]
    text = product.quantity_text(max(1, int(Decimal(quantity) / product.step_size * Decimal(part))))
    price = _price(world, code, ratio) if ratio else None
    if price:
        _remember(world, code, side, price, text)
    return world.order(who, side, text, price, code)


def _draw_sweep(chance: random.Random, count: int) -> Step:
    return chance.choice((BTC, BTC, ETH, XRP)), chance.choice(SIDES), chance.randint(1, count), chance.choice(PARTS)


def _sweep(world: World, who: str, code: int, side: str, number: int, part: float) -> Outcome | None:
    """Let several accounts take from the book at market, each as much as it can carry."""
    first, outcome = world.members.index(who), None
    for offset in range(number):
        each = world.members[(first + offset) % world.count]
        for share in (part, part / 2, part / 4):
            outcome = world.order(each, side, _carried(world, each, code, share), None, code, slippagePct="0.05")
            if outcome.code == 0:
                break
    return outcome


def _draw_trigger(chance: random.Random, count: int) -> Step:
    by = chance.choice(("LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"))
    kind = chance.choice(("TP_FROM_POSITION", "SL_FROM_POSITION"))
    return chance.choice((BTC, BTC, ETH, XRP)), kind, chance.choice(PRICES), by, chance.choice((0.0, 0.0, 0.5))


def _trigger(world: World, who: str, code: int, kind: str, ratio: float, by: str, part: float) -> Outcome | None:
    """Place a take-profit or a stop-loss for the whole position or a part of it."""
    side, quantity = _held(world, who, code)
    if not side:
        return None
    product = world.core.products[code]
    steps = int(Decimal(quantity) / product.step_size * Decimal(part))
    more = {"reduceOnlyOption": kind, "tpslTriggerType": by, "triggerPx": _price(world, code, ratio)}
    return world.order(who, side, product.quantity_text(steps) if steps else "0", None, code, **more)


def _draw_bracket(chance: random.Random, count: int) -> Step:
    low, high = chance.choice((0.9, 0.97, 0.99)), chance.choice((1.01, 1.03, 1.1))
    return chance.choice((BTC, BTC, ETH)), chance.choice(SIDES), chance.choice(PARTS), chance.choice(PRICES), low, high


def _bracket(
    world: World, who: str, code: int, side: str, part: float, ratio: float, low: float, high: float
) -> Outcome:
    """Place an order with a take-profit and a stop-loss for the whole position."""
    quantity, price = _carried(world, who, code, part), _price(world, code, ratio)
    _remember(world, code, side, price, quantity)
    long, away = side == "BUY", SIDES[side == "BUY"]
    orders = [order_item(side, quantity, price, code)]
    for kind, trigger in (("TP_FROM_POSITION", high if long else low), ("SL_FROM_POSITION", low if long else high)):
        orders.append(order_item(away, "0", None, code, reduceOnly=kind, triggerPx=_price(world, code, trigger)))
    return world.act(who, "placeBracketOrder", orders=orders)


def _draw_replace(chance: random.Random, count: int) -> Step:
    return chance.choice(PRICES), chance.choice((0.5, 1.0, 2.0))


def _replace(world: World, who: str, ratio: float, part: float) -> Outcome | None:
    """Change the price and the quantity of an account's latest resting order."""
    resting = [order for order in world.account(who).orders.values() if not order.waiting and order.price]
    if not resting:
        return None
    order = resting[-1]
    quantity = world.core.products[order.product].quantity_text(max(1, int(order.quantity * part)))
    price, side = _price(world, order.product, ratio), SIDES[order.side < 0]
    return world.act(who, "replaceOrder", ordId=order.id, **order_item(side, quantity, price, order.product))


def _cancel(world: World, who: str, code: int, conditional: bool) -> Outcome:
    return world.act(who, "cancelAll", symbolCode=code, conditionalOrder=conditional)


# settings


def _leverage(world: World, who: str, code: int, leverage: str) -> Outcome:
    return world.act(who, "setLeverage", symbolCode=code, leverage=leverage)


def _all_leverage(world: World, who: str, code: int, leverage: str) -> Outcome | None:
    for each in world.members:
        outcome = _leverage(world, each, code, leverage)
    return outcome


def _mode(world: World, who: str, code: int, mode: str) -> Outcome:
    return world.act(who, "setMarginMode", symbolCode=code, marginMode=mode)


def _assign(world: World, who: str, code: int, amount: int) -> Outcome:
    return world.act(who, "assignPosMargin", symbolCode=code, assignedPosMargin=str(amount))


def _position_mode(world: World, who: str, mode: str) -> None:
    account = world.account(who)
    if not account.orders and not any(held.long.size or held.short.size for held in account.positions.values()):
        world.control("set_position_mode", address=who, mode=mode)


# vaults


def _vault_create(world: World, who: str, amount: int) -> Outcome:
    return world.act(who, "vaultCreate", name="v", description="", amount=str(amount), currencyCode=1)


def _owner_of(world: World, vault: str) -> str:
    return world.core.state.vaults[vault].owner


def _vault_step(kind: str) -> Callable[..., Outcome | None]:
    def step(world: World, who: str, number: int, *values: Any) -> Outcome | None:
        vault = _led(world, number)
        if vault is None:
            return None
        owner, amount = _owner_of(world, vault), str(values[0]) if values else "0"
        if kind == "vaultPreWithdraw":
            return world.act(owner, kind, vault, amount=amount, currencyCode=1)
        if kind == "vaultRebalance":
            ends = {"from": vault, "to": _led(world, number + int(values[1]))}
            return world.act(owner, kind, amount=amount, currencyCode=1, **ends)
        return world.act(owner, kind, vault)

    return step


def _vault_hand_over(world: World, who: str, number: int, target: str) -> Outcome | None:
    vault = _led(world, number)
    if vault is None:
        return None
    owner = who if target == "member" else other(target)
    return world.act(_owner_of(world, vault), "vaultUpdateOwner", vault, owner=owner)


def _pool(world: World, number: int) -> str:
    """Return a vault: mostly the LP vault or the one that one of the others leads, which were there first."""
    vaults = list(world.core.state.vaults)
    return vaults[number % min(len(vaults), 4)]


def _deposit(world: World, who: str, number: int, part: float) -> Outcome:
    amount = _money(world, who, part)
    return world.act(who, "vaultDeposit", vault=_pool(world, number), amount=amount, currencyCode=1)


def _redeem(world: World, who: str, number: int, part: float) -> Outcome | None:
    vault = _pool(world, number)
    holding = world.core.state.vaults[vault].holders.get(who)
    if holding is None:
        return None
    share = str(Decimal(max(1, int(holding.shares * part))) / USDC)
    return world.act(who, "vaultWithdraw", vault=vault, share=share, currencyCode=1)


# money, programs, time


def _faucet(world: World, who: str) -> Outcome:
    return world.sign(who, "faucetClaim")


def _withdraw(world: World, who: str, part: float) -> Outcome:
    return world.sign(who, "withdraw", destination=who, amount=_money(world, who, part))


def _refer(world: World, who: str, number: int) -> Outcome:
    code = referrals.code_of(world.members[number % world.count])
    return world.act(who, "bindReferral", referralCode=code)


def _builder(world: World, who: str, number: int, fee: str) -> Outcome | None:
    """Let an account be another one's builder."""
    builder = world.members[number % world.count]
    if builder == who:
        return None
    world.sign(builder, "registerBuilder", name="b", dexChain="Testnet")
    named = {"agentAddress": _builders_agent(who), "builderAddress": builder}
    return world.sign(who, "approveAgentToBuilder", **named, maxFeeRate=fee, validitySeconds=86_400, dexChain="Testnet")


def _builders_agent(trader: str) -> str:
    return agent(agent(trader))


def _built(world: World, who: str, number: int, part: float, ratio: float, side: str, stop: bool) -> Outcome:
    """Let an account's builder place an order for it, or a stop that opens a position."""
    order = order_item(side, _carried(world, who, BTC, part), _price(world, BTC, ratio))
    if stop:
        order |= {"ordType": "STOP_MARKET", "ordPx": "0", "triggerPx": _price(world, BTC, ratio)}
    named = {"builder": world.members[number % world.count], "builderFeeRate": "0.001"}
    return world.submit(_builders_agent(who), {"type": "placeBuilderOrder", "order": order, **named})


def _wait(world: World, who: str, span: int) -> None:
    world.advance(span)


def _wait_funding(world: World, who: str, offset: int) -> None:
    interval = 4 * 3_600_000
    _wait(world, who, (-world.now) % interval + offset)


def _draw_timed(chance: random.Random, count: int) -> Step:
    early = chance.choice((1, 200, 1_000, 2_000))
    signal = chance.choice(("mid", "mid", "last", "past"))
    return (
        early,
        signal,
        chance.choice((-1, 1)),
        chance.choice((0.0, 0.0001, 0.0002, 0.0005)),
        chance.choice((20, 60, 100)),
    )


def _timed(world: World, who: str, early: int, signal: str, sign: int, least: float, rounds: int) -> None:
    """For some rounds of 3 s look at the market just before the next mark price; join the others' vault or leave it.

    The signal is how far the middle of the book, the last trade or the mark of 30 s ago is from the mark.
    """
    state, interval = world.core.state, world.core.state.config.price_interval
    market, marks = state.markets[BTC], []
    for _ in range(rounds):
        world.advance((-world.now - early) % interval or interval)
        marks.append(market.mark)
        shown = {"mid": sum(world.core.books.top(BTC)) / 2, "last": market.last, "past": marks[-10:][0]}[signal]
        lean = sign * (shown / market.mark - 1)
        if lean > least:
            _deposit(world, who, 1, 1.0)
        elif lean < -least:
            _redeem(world, who, 1, 1.0)
    _redeem(world, who, 1, 1.0)


def _jump(world: World, who: str, code: int, percent: str) -> Outcome:
    return world.control("jump", product=code, percent=percent)


Draw = Callable[[random.Random, int], Step]
Do = Callable[..., Outcome | None]


def _of(*choices: tuple[Any, ...]) -> Draw:
    return lambda chance, count: tuple(chance.choice(each) for each in choices)


NUMBERS = tuple(range(8))
KINDS: dict[str, tuple[float, Draw, Do]] = {
    "order": (30, _draw_order, _order),
    "meet": (20, _draw_meet, _meet),
    "cross": (8, _draw_cross, _cross),
    "exit": (14, _draw_exit, _exit),
    "sweep": (5, _draw_sweep, _sweep),
    "trigger": (4, _draw_trigger, _trigger),
    "bracket": (3, _draw_bracket, _bracket),
    "replace": (3, _draw_replace, _replace),
    "cancel": (3, _of(CODES, (False, True)), _cancel),
    "leverage": (3, _of(CODES, ("1", "5", "40", "40")), _leverage),
    "all leverage": (3, _of(CODES, ("5", "40", "40")), _all_leverage),
    "margin mode": (3, _of(CODES, ("CROSS", "ISOLATED", "ISOLATED")), _mode),
    "assign": (2, _of(CODES, (5, 500, 5_000, -5, -500, -5_000)), _assign),
    "position mode": (2, _of(("HEDGE", "HEDGE", "ONE_WAY")), _position_mode),
    "vault create": (2, _of((100, 500, 5_000)), _vault_create),
    "sub-vault": (1, _of(NUMBERS), _vault_step("vaultCreateSubVault")),
    "set aside": (1, _of(NUMBERS, AMOUNTS), _vault_step("vaultPreWithdraw")),
    "rebalance": (1, _of(NUMBERS, AMOUNTS, (0, 1, 2)), _vault_step("vaultRebalance")),
    "vault close": (1, _of(NUMBERS), _vault_step("vaultClose")),
    "hand over": (1, _of(NUMBERS, ("member", *OTHERS)), _vault_hand_over),
    "deposit": (4, _of(NUMBERS, PARTS), _deposit),
    "redeem": (4, _of(NUMBERS, PARTS), _redeem),
    "faucet": (1, _of(), _faucet),
    "withdraw": (2, _of(PARTS), _withdraw),
    "refer": (1, _of(NUMBERS), _refer),
    "builder": (1, _of(NUMBERS, ("0.001", "0.0005")), _builder),
    "built": (1, _of(NUMBERS, PARTS, PRICES, SIDES, (False, True)), _built),
    "wait": (6, _of(WAITS), _wait),
    "brief": (1, _of((500, 3_000, 9_000, 30_000, 60_000)), _wait),
    "funding": (1, _of((-1, 0, 1, 3_000)), _wait_funding),
    "timed": (1, _draw_timed, _timed),
    "jump": (4, _of((BTC, BTC, ETH, XRP), ("-30", "-12", "-5", "5", "12", "30")), _jump),
}
"""Name → weight, how its values are drawn, how it is done."""
