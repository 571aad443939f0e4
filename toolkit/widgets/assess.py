"""From what stands in a ticket to an order: which rules it breaks, what would pass, and what it would do.

Everything here is a function of its arguments: no I/O, no widget. The rules are those of `toolkit.checks`; what needs
the account (margin, limits, positions) follows the venue's own check before risk is added (risk-rules, "Margin").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation
from typing import Any

from .. import margin
from ..checks import SLIPPAGE_UNIT, Failure, check_order, default_slippage, slippage_bound
from ..orders import Order
from ..products import Product
from .numbers import grouped, money, plain, trimmed

Level = tuple[Decimal, Decimal]
ZERO = Decimal(0)
MICRO = Decimal("0.000001")
DEFAULT_LEVERAGE = Decimal(20)
"""Leverage before one is set, at most the product's (docs/assumptions.md)."""
MAX_ID = 2**63 - 1

FIELDS = {
    "ordPx": "price",
    "ordQty": "quantity",
    "ordType": "order_type",
    "ordSide": "side",
    "timeInForce": "tif",
    "slippagePct": "slippage",
    "clOrdId": "client_id",
    "reduceOnly": "reduce_only",
    "reduceOnlyOption": "reduce_only",
    "symbolCode": "symbol",
}
"""Wire name → field of the ticket."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that would pass: what a button says, and what it puts into which fields."""

    label: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why the ticket can't be sent: a broken rule, or (`missing`) a field that is still empty."""

    field: str
    rule: str
    message: str
    choices: tuple[Choice, ...] = ()
    missing: bool = False
    value: str = ""
    """What the field holds."""

    @property
    def nearest(self) -> tuple[str, ...]:
        """The choices in words."""
        return tuple(choice.label for choice in self.choices)


@dataclass(frozen=True, slots=True)
class Draft:
    """What stands in the fields of a ticket, as it was typed."""

    side: str = "BUY"
    order_type: str = "LIMIT"
    price: str = ""
    quantity: str = ""
    quantity_as: str = "base"
    """base (units), notional (USDC) or share (percent of what is available)."""
    tif: str = ""
    """"" is the usual one: GTC with a price, IOC without."""
    reduce_only: bool = False
    take_profit: str = ""
    stop_loss: str = ""
    trigger_by: str = "MARK_PRICE"
    slippage: str = ""
    client_id: str = ""

    @property
    def market(self) -> bool:
        """True for an order without a price."""
        return self.order_type == "MARKET"

    @property
    def sign(self) -> int:
        """+1 buys, −1 sells."""
        return 1 if self.side == "BUY" else -1


@dataclass(frozen=True, slots=True)
class Market:
    """The prices an order is held against; None where one is not known. Levels are best first."""

    mark: Decimal | None = None
    last: Decimal | None = None
    index: Decimal | None = None
    bids: Sequence[Level] = ()
    asks: Sequence[Level] = ()

    @property
    def bid(self) -> Decimal | None:
        """Best bid."""
        return self.bids[0][0] if self.bids else None

    @property
    def ask(self) -> Decimal | None:
        """Best ask."""
        return self.asks[0][0] if self.asks else None

    def facing(self, sign: int) -> Sequence[Level]:
        """Return the levels that a buy (+1) or a sell (−1) would trade with."""
        return self.asks if sign > 0 else self.bids


@dataclass(frozen=True, slots=True)
class Holdings:
    """What the account has that bears on an order in one product. Amounts USDC, sizes base units, values at entry."""

    known: bool = False
    """False before the account's data came: then only the rules without an account are checked."""
    available: Decimal = ZERO
    cross_equity: Decimal = ZERO
    """Equity without isolated positions and their results."""
    others_maintenance: Decimal = ZERO
    """Maintenance margin of the cross positions in other products."""
    maker: Decimal = ZERO
    taker: Decimal = ZERO
    liquidating: bool = False
    hedge: bool = False
    isolated: bool = False
    assigned: Decimal = ZERO
    leverage: Decimal = DEFAULT_LEVERAGE
    long: Decimal = ZERO
    long_value: Decimal = ZERO
    short: Decimal = ZERO
    short_value: Decimal = ZERO
    buys: Decimal = ZERO
    """Quantity and value of resting orders that may open; `reducing_*` of those that may only reduce."""
    buys_value: Decimal = ZERO
    sells: Decimal = ZERO
    sells_value: Decimal = ZERO
    reducing_buys: Decimal = ZERO
    reducing_sells: Decimal = ZERO
    client_ids: frozenset[int] = frozenset()

    @property
    def size(self) -> Decimal:
        """Long less short."""
        return self.long - self.short

    def pnl(self, mark: Decimal) -> Decimal:
        """Return the unrealised result of both halves at a mark price."""
        return self.size * mark - self.long_value + self.short_value


@dataclass(frozen=True, slots=True)
class Assessment:
    """What a draft amounts to. `order` is there when the fields could be read; it may be sent when `valid`."""

    problems: tuple[Problem, ...]
    order: Order | None = None
    preview: dict[str, Any] = field(default_factory=dict)

    @property
    def valid(self) -> bool:
        """True when every check passed."""
        return not self.problems and self.order is not None


def assess(draft: Draft, product: Product, market: Market, holdings: Holdings) -> Assessment:
    """Return every rule that the draft breaks, the order it makes, and what that would do."""
    problems: list[Problem] = []
    worst = _worst_price(draft, product, market)
    quantity = _quantity(draft, product, market, holdings, worst, problems)
    if not draft.market and not draft.price:
        problems.append(_missing("price", "a price is needed", _best_prices(draft, market)))
    order = _order(draft, product, quantity or "", holdings)
    broken = _broken(draft, order, product, market)
    problems += [one for one in broken if quantity is not None or one.field != "quantity"]
    problems += _client_id(draft, holdings)
    if quantity is None or any(problem.field in ("price", "quantity") for problem in problems):
        return Assessment(tuple(problems), order)
    amount = Decimal(quantity)
    if worst is not None and holdings.known:
        problems += _account_rules(draft, product, market, holdings, amount, worst)
    preview = describe(draft, product, market, holdings, amount, worst) if worst is not None else {}
    return Assessment(tuple(problems), order, preview)


# The order


def _order(draft: Draft, product: Product, quantity: str, holdings: Holdings) -> Order:
    close = draft.reduce_only and holdings.hedge
    side: Any = draft.side + ("_CLOSE_HEDGE" if close else "")
    tif: Any = draft.tif or ("IOC" if draft.market else "GTC")
    reduce_only: Any = "REDUCE_ONLY" if draft.reduce_only and not holdings.hedge else None
    client_id = int(draft.client_id) if draft.client_id.isdecimal() and draft.client_id.isascii() else None
    return Order(
        symbol=product.symbol,
        side=side,
        quantity=quantity,
        price=None if draft.market else draft.price,
        tif=tif,
        reduce_only=reduce_only,
        cl_ord_id=client_id,
        slippage=(draft.slippage or None) if draft.market else None,
        take_profit=_child(draft, product, quantity, draft.take_profit, "TP_FROM_POSITION", holdings),
        stop_loss=_child(draft, product, quantity, draft.stop_loss, "SL_FROM_POSITION", holdings),
    )


def _child(draft: Draft, product: Product, quantity: str, trigger: str, kind: Any, holdings: Holdings) -> Order | None:
    if not trigger:
        return None
    side: Any = ("SELL" if draft.side == "BUY" else "BUY") + ("_CLOSE_HEDGE" if holdings.hedge else "")
    by: Any = draft.trigger_by
    return Order(product.symbol, side, quantity, None, "IOC", reduce_only=kind, trigger_price=trigger, trigger_by=by)


def _broken(draft: Draft, order: Order, product: Product, market: Market) -> list[Problem]:
    """Every pre-trade rule that the order or its children break."""
    prices = {name: getattr(market, name) for name in ("mark", "last", "index", "bid", "ask")}
    entry = _number(draft.price) if not draft.market else None
    found: list[Problem] = []
    reduce_field = "reduceOnly" if order.is_bracket else "reduceOnlyOption"
    for failure in check_order(product, order.to_item(product, reduce_field=reduce_field), **prices):
        if failure.field == "ordPx" and not draft.price:
            continue
        found.append(_problem(failure, FIELDS, draft))
    if any(one.field == "price" for one in found):
        entry = None
    for name, leg in (("take_profit", order.take_profit), ("stop_loss", order.stop_loss)):
        if leg is None:
            continue
        fields = {"triggerPx": name, "tpslTriggerType": "trigger_by"}
        for failure in check_order(product, leg.to_item(product, reduce_field="reduceOnly"), **prices, entry=entry):
            if failure.field in fields:
                found.append(_problem(failure, fields, draft))
    if order.is_bracket and draft.reduce_only:
        message = "an order with take profit or stop loss opens a position, so it may not be reduce-only"
        choice = Choice("without reduce-only", {"reduce_only": False})
        found.append(Problem("reduce_only", "bracket", message, (choice,)))
    return found


def _problem(failure: Failure, fields: Mapping[str, str], draft: Draft) -> Problem:
    name = fields.get(failure.field, failure.field)
    choices = [Choice(value, {name: value}) for value in failure.nearest]
    if name == "quantity":
        choices = [Choice(value, {"quantity": value, "quantity_as": "base"}) for value in failure.nearest]
    tidy = _tidied(getattr(draft, name, ""))
    if failure.rule == "decimal text" and tidy:
        choices.append(Choice(tidy, {name: tidy}))
    return Problem(name, failure.rule, failure.message, tuple(choices))


def _tidied(text: object) -> str:
    """Return what was meant by a number with grouping or blanks: "60,000" → "60000"; "" where that is not clear."""
    if not isinstance(text, str):
        return ""
    made = text.replace(",", "").replace("_", "").replace(" ", "").replace("'", "")
    return made if made != text and _number(made) is not None else ""


def _client_id(draft: Draft, holdings: Holdings) -> list[Problem]:
    text = draft.client_id
    if not text:
        return []
    number = int(text) if text.isdecimal() and text.isascii() and len(text) < 20 else 0
    if not 0 < number <= MAX_ID:
        return [Problem("client_id", "int64", f"client id {text!r} must be a whole number from 1 to 2^63 - 1")]
    if number in holdings.client_ids:
        message = f"client id {text} is in use by an open order"
        free = number + 1
        while free in holdings.client_ids:
            free += 1
        return [Problem("client_id", "unique", message, (Choice(str(free), {"client_id": str(free)}),))]
    return []


# The quantity


def _quantity(
    draft: Draft,
    product: Product,
    market: Market,
    holdings: Holdings,
    worst: Decimal | None,
    problems: list[Problem],
) -> str | None:
    """Return the quantity in base units as text, or None with a problem; nothing is rounded."""
    text, unit = draft.quantity, draft.quantity_as
    if not text:
        words = {"base": "a quantity", "notional": "an amount in USDC", "share": "a share in percent"}[unit]
        problems.append(_missing("quantity", f"{words} is needed"))
        return None
    if unit == "base":
        return text
    number = _number(text)
    if number is None or number <= 0:
        tidy = _tidied(text)
        choices = (Choice(tidy, {"quantity": tidy}),) if tidy else ()
        what = "amount" if unit == "notional" else "share"
        problems.append(Problem("quantity", "decimal text", f"{what} {text!r} is not a number above 0", choices))
        return None
    if unit == "share" and number > 100:
        message = f"share {text} % is above 100 %"
        problems.append(Problem("quantity", "share", message, (Choice("100 %", {"quantity": "100"}),)))
        return None
    price = _reference(draft, market)
    if price is None or worst is None or price <= 0 or worst <= 0:
        if draft.market or draft.price:
            problems.append(Problem("quantity", "price", f"without a price {text} can't be turned into a quantity"))
        return None
    if unit == "notional":
        return _whole_steps(number / price, f"{text} USDC at {trimmed(price)}", product, price, problems)
    if not holdings.known:
        problems.append(Problem("quantity", "account", "a share needs the account's data, which has not come yet"))
        return None
    most = _most(draft, product, market, holdings, worst)
    what = "position" if draft.reduce_only else "available margin"
    return _whole_steps(most * number / 100, f"{text} % of the {what}", product, price, problems)


def _whole_steps(exact: Decimal, what: str, product: Product, price: Decimal, problems: list[Problem]) -> str | None:
    steps = exact / product.step_size
    if steps == int(steps) and steps > 0:
        return product.quantity_text(int(steps))
    ends = sorted({int(steps.to_integral_value(way)) for way in (ROUND_FLOOR, ROUND_CEILING)} - {0})
    choices = tuple(_amount_choice(product, end, price) for end in ends)
    told = " or ".join(product.quantity_text(end) for end in ends)
    shown = trimmed(exact.quantize(Decimal("1e-8")))
    message = f"{what} is {shown}, not a multiple of stepSize {product.step_size:f}; nearest {told}"
    problems.append(Problem("quantity", "stepSize", message, choices))
    return None


def _amount_choice(product: Product, steps: int, price: Decimal) -> Choice:
    text = product.quantity_text(steps)
    return Choice(f"{text} = {money(Decimal(text) * price)} USDC", {"quantity": text, "quantity_as": "base"})


def _most(draft: Draft, product: Product, market: Market, holdings: Holdings, worst: Decimal) -> Decimal:
    """Return the largest quantity that the position (reduce-only) or the available margin allows."""
    if draft.reduce_only:
        return holdings.long if draft.sign < 0 else holdings.short
    return product.step_size * _fitting(draft, product, market, holdings, product.max_steps + 1, worst)


def _fitting(draft: Draft, product: Product, market: Market, holdings: Holdings, limit: int, worst: Decimal) -> int:
    """Return the most steps, below `limit`, whose margin is available."""
    low, high = 0, limit
    while low < high - 1:
        middle = (low + high) // 2
        fits = needed(draft, product, market, holdings, product.step_size * middle, worst) <= holdings.available
        low, high = (middle, high) if fits else (low, middle)
    return low


# Prices


def _reference(draft: Draft, market: Market) -> Decimal | None:
    """Return what a quantity is valued at: the limit, or the price a market order would meet first."""
    if not draft.market:
        return _number(draft.price)
    return (market.ask if draft.sign > 0 else market.bid) or market.last or market.mark


def _worst_price(draft: Draft, product: Product, market: Market) -> Decimal | None:
    """Return the worst price the order may trade at: its limit, or a market order's slippage bound."""
    if not draft.market:
        return _number(draft.price)
    last = market.last or market.mark
    slippage = _number(draft.slippage) if draft.slippage else Decimal(default_slippage(product)) / SLIPPAGE_UNIT
    if last is None or slippage is None or slippage >= 1:
        return None
    width = int(slippage * SLIPPAGE_UNIT)
    return product.tick_size * slippage_bound(product, draft.sign, int(last / product.tick_size), width)


def _best_prices(draft: Draft, market: Market) -> tuple[Choice, ...]:
    found = [("bid", market.bid), ("ask", market.ask)]
    return tuple(
        Choice(f"{name} {plain(price)}", {"price": plain(price)}) for name, price in found if price is not None
    )


def walk(levels: Sequence[Level], quantity: Decimal, limit: Decimal, sign: int) -> tuple[Decimal, Decimal]:
    """Return the quantity that these levels would fill within `limit`, and its value in USDC."""
    left, value = quantity, ZERO
    for price, size in levels:
        if left <= 0 or (limit - price) * sign < 0:
            break
        taken = min(left, size)
        left -= taken
        value += taken * price
    return quantity - left, value


# What the account allows


def _account_rules(
    draft: Draft, product: Product, market: Market, holdings: Holdings, quantity: Decimal, worst: Decimal
) -> list[Problem]:
    if draft.reduce_only:
        return _reducing(draft, product, holdings, quantity, worst)
    if not holdings.hedge:
        resting = holdings.buys if draft.sign > 0 else holdings.sells
        if resting + quantity <= max(ZERO, -draft.sign * holdings.size):
            return []
    if holdings.liquidating:
        return [Problem("side", "liquidation", "the account is being liquidated; only orders that reduce are taken")]
    mark = market.mark or worst
    found = _limits(draft, product, holdings, quantity * worst, mark)
    held = (holdings.long + holdings.short) * mark
    if holdings.isolated and held and holdings.assigned + holdings.pnl(mark) < held / holdings.leverage:
        message = f"the isolated {product.symbol} position lacks margin; add to it before it grows"
        found.append(Problem("quantity", "isolated margin", message))
    need = needed(draft, product, market, holdings, quantity, worst)
    if need > holdings.available:
        found.append(_too_expensive(draft, product, market, holdings, quantity, worst, need))
    return found


def _reducing(draft: Draft, product: Product, holdings: Holdings, quantity: Decimal, worst: Decimal) -> list[Problem]:
    held = holdings.long if draft.sign < 0 else holdings.short
    name = "long" if draft.sign < 0 else "short"
    if held <= 0:
        other = "SELL" if draft.sign > 0 else "BUY"
        choices = [Choice("not reduce-only", {"reduce_only": False})]
        if holdings.size * draft.sign > 0:
            choices.insert(0, Choice(other.lower(), {"side": other}))
        message = f"reduce-only: there is no {name} position in {product.symbol} to reduce"
        return [Problem("reduce_only", "position", message, tuple(choices))]
    free = held
    if (draft.tif or ("IOC" if draft.market else "GTC")) in ("GTC", "POST_ONLY"):
        free -= holdings.reducing_buys if draft.sign > 0 else holdings.reducing_sells
    if free <= 0:
        message = f"reduce-only orders cover the {name} position of {trimmed(held)} already"
        return [Problem("reduce_only", "covered", message)]
    if quantity > free:
        text = format(free, "f")
        message = f"reduce-only: {trimmed(quantity)} is above the {name} position of {trimmed(free)} it may reduce"
        choice = Choice(trimmed(free), {"quantity": text, "quantity_as": "base"})
        return [Problem("quantity", "position", message, (choice,))]
    if quantity < free and worst * quantity < product.min_order_value:
        message = (
            f"order value {trimmed(worst * quantity)} is below minOrderValue {trimmed(product.min_order_value)},"
            f" or take the whole position"
        )
        choice = Choice(trimmed(free), {"quantity": format(free, "f"), "quantity_as": "base"})
        return [Problem("quantity", "minOrderValue", message, (choice,))]
    return []


def _limits(draft: Draft, product: Product, holdings: Holdings, value: Decimal, mark: Decimal) -> list[Problem]:
    own, other = (holdings.long, holdings.short) if draft.sign > 0 else (holdings.short, holdings.long)
    reach = own * mark + (holdings.buys_value if draft.sign > 0 else holdings.sells_value) + value
    if not holdings.hedge:
        reach -= other * mark
    if reach > product.max_position_notional:
        message = (
            f"position and orders would reach {money(reach)} USDC, above maxPositionNtnl"
            f" {money(product.max_position_notional)} of {product.symbol}"
        )
        return [Problem("quantity", "maxPositionNtnl", message)]
    if not product.tiers or reach <= 0:
        return []
    limit = margin.tier_of(reach, product.tiers).max_leverage
    if limit is not None and holdings.leverage > limit:
        message = (
            f"at a notional of {money(reach)} USDC {product.symbol} allows leverage {trimmed(limit)}x,"
            f" yours is {trimmed(holdings.leverage)}x"
        )
        return [Problem("quantity", "maxLeverage", message)]
    return []


def exposure(holdings: Holdings, mark: Decimal, buys: Decimal = ZERO, sells: Decimal = ZERO) -> Decimal:
    """Return the notional in USDC that needs margin, with these values of buy and sell orders on top.

    One-way: the larger of what all buys or all sells would leave; hedge: both halves and all opening orders.
    """
    long, short = holdings.long * mark, holdings.short * mark
    buys, sells = holdings.buys_value + buys, holdings.sells_value + sells
    if holdings.hedge:
        return long + short + buys + sells
    net = long - short
    return max(net + buys, sells - net, net, -net)


def needed(
    draft: Draft, product: Product, market: Market, holdings: Holdings, quantity: Decimal, worst: Decimal
) -> Decimal:
    """Return the available margin in USDC that an order takes, rounded up.

    That is initial margin, and for what it trades at once the fees and what those fills lose against mark.
    """
    mark = market.mark or worst
    value = quantity * worst
    counted = max(value, mark * quantity) if draft.sign < 0 else value
    base = holdings.long * mark + holdings.short * mark if holdings.isolated else ZERO
    before = exposure(holdings, mark) - base
    added = (counted, ZERO) if draft.sign > 0 else (ZERO, counted)
    after = exposure(holdings, mark, *added) - base
    initial = _up(after / holdings.leverage) - _up(before / holdings.leverage)
    taken, paid = walk(market.facing(draft.sign), quantity, worst, draft.sign)
    if not taken:
        return initial
    steps = taken / product.step_size
    rounding = (steps + 1) * MICRO + (steps * MICRO if holdings.isolated else ZERO)
    loss = max(ZERO, draft.sign * (paid - mark * taken))
    return initial + loss + _up(paid * max(holdings.maker, holdings.taker, ZERO)) + rounding


def _too_expensive(
    draft: Draft,
    product: Product,
    market: Market,
    holdings: Holdings,
    quantity: Decimal,
    worst: Decimal,
    need: Decimal,
) -> Problem:
    low = _fitting(draft, product, market, holdings, int(quantity / product.step_size), worst)
    choices: tuple[Choice, ...] = ()
    message = (
        f"margin: the order needs {money(need)} USDC, available are {money(holdings.available)}"
        f" at {trimmed(holdings.leverage)}x"
    )
    text = product.quantity_text(low)
    if low > 0 and Decimal(text) * worst >= product.min_order_value:
        choices = (Choice(f"at most {text}", {"quantity": text, "quantity_as": "base"}),)
        message += f"; at most {text}"
    return Problem("quantity", "available margin", message, choices)


# What it would do


def describe(
    draft: Draft, product: Product, market: Market, holdings: Holdings, quantity: Decimal, worst: Decimal
) -> dict[str, Any]:
    """Return what the order would do, as Decimal: see `OrderTicket.preview` for the names."""
    sign = draft.sign
    levels = market.facing(sign)
    taken, value = walk(levels, quantity, worst, sign)
    rests = draft.tif in ("", "GTC", "POST_ONLY") and not draft.market
    price = value / taken if taken else worst
    filled = quantity if rests or not levels else taken
    notional = value + (filled - taken) * worst
    fee = value * holdings.taker + (filled - taken) * worst * (holdings.maker if rests else holdings.taker)
    after = _position_after(draft, holdings, filled, notional)
    mark = market.mark or worst
    made: dict[str, Any] = {
        "notional": notional,
        "price": notional / filled if filled else price,
        "worst_price": worst if draft.market else None,
        "fills_now": taken,
        "fills": filled,
        "fee": fee,
        "margin": ZERO if draft.reduce_only else max(ZERO, needed(draft, product, market, holdings, filled, worst)),
        "available": holdings.available,
        "leverage": holdings.leverage,
        "realized_pnl": after["realized"],
        "size_before": holdings.size,
        "size_after": after["size"],
        "entry_after": after["entry"],
        "effect": after["effect"],
        "liquidation_price": None,
    }
    if holdings.known:
        made["liquidation_price"] = _liquidation(product, holdings, after, fee, mark, made["margin"])
    return made


def _position_after(draft: Draft, holdings: Holdings, quantity: Decimal, value: Decimal) -> dict[str, Any]:
    """Return the leg or net position after the order is filled in full: size, entry price, what it realises."""
    sign = draft.sign
    if holdings.hedge:
        own_long = (sign > 0) != draft.reduce_only
        size, worth = (holdings.long, holdings.long_value) if own_long else (-holdings.short, holdings.short_value)
    else:
        size = holdings.size
        worth = holdings.long_value if size > 0 else holdings.short_value
    entry = worth / abs(size) if size else ZERO
    price = value / quantity if quantity else ZERO
    closing = min(abs(size), quantity) if size * sign < 0 else ZERO
    realized = closing * (price - entry) * (1 if size > 0 else -1)
    after = size + sign * quantity
    if not after:
        entry_after = None
    elif closing and abs(size) > quantity:
        entry_after = entry
    elif closing:
        entry_after = price
    else:
        entry_after = (worth + value) / abs(after)
    return {
        "size": after,
        "entry": entry_after,
        "realized": realized,
        "effect": _effect(size, after),
        "before": size,
    }


def _effect(before: Decimal, after: Decimal) -> str:
    name = "long" if after > 0 else "short"
    if not before:
        return f"opens a {name} of {trimmed(abs(after))}" if after else "leaves no position"
    old = "long" if before > 0 else "short"
    if not after:
        return f"closes the {old} of {trimmed(abs(before))}"
    if before * after < 0:
        return f"turns the {old} of {trimmed(abs(before))} into a {name} of {trimmed(abs(after))}"
    word = "adds to" if abs(after) > abs(before) else "reduces"
    return f"{word} the {old}: {trimmed(abs(before))} → {trimmed(abs(after))}"


def _liquidation(
    product: Product, holdings: Holdings, after: Mapping[str, Any], fee: Decimal, mark: Decimal, added: Decimal
) -> Decimal | None:
    """Return the estimated liquidation price after the order is filled in full; None where there is none."""
    size, entry = after["size"], after["entry"]
    if not product.tiers:
        return None
    if holdings.hedge:
        long, short = (abs(size), holdings.short) if size > 0 else (holdings.long, abs(size))
        long_value = abs(size) * entry if size > 0 else holdings.long_value
        short_value = holdings.short_value if size > 0 else abs(size) * (entry or ZERO)
    else:
        long, short = max(size, ZERO), max(-size, ZERO)
        long_value, short_value = long * (entry or ZERO), short * (entry or ZERO)
    if not (long or short):
        return None
    if holdings.isolated:
        share = ZERO if abs(size) >= abs(after["before"]) else holdings.assigned * abs(size) / abs(after["before"])
        behind = share or holdings.assigned + max(added - fee, ZERO)
    else:
        behind = holdings.cross_equity - holdings.pnl(mark) - holdings.others_maintenance - fee + after["realized"]
    entries = (long_value / long if long else ZERO, short_value / short if short else ZERO)
    price = margin.liquidation_price_hedged(long, entries[0], short, entries[1], behind, product.tiers)
    return None if price is None or price <= 0 else price


# Numbers


def _missing(name: str, message: str, choices: tuple[Choice, ...] = ()) -> Problem:
    return Problem(name, "required", message, choices, missing=True)


def _number(text: str) -> Decimal | None:
    """Return the number of a plain decimal text, None for anything else."""
    if not text or not text.isascii() or not text.replace(".", "", 1).isdigit():
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _up(amount: Decimal) -> Decimal:
    return amount.quantize(MICRO, ROUND_CEILING)


def shown_price(price: Decimal | None, product: Product) -> str:
    """Return an estimated price with the decimals of the product's tick."""
    return grouped(None if price is None else price.quantize(product.tick_size))
