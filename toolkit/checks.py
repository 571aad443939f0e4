"""Pre-trade rules that need no account: one implementation for the order ticket, the client and the venue.

`check_order` takes reference prices as Decimal and returns the failures. `read_order` applies the same rules in
integers and also returns the parsed order, which the venue uses. Each failure names the field, the rule, the value,
the limit and the nearest values that would pass.
Sources: docs/published.md, "Exchange API" and "Trading rules", docs/assumptions.md, "Orders".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from itertools import product as every
from typing import Any

from .numerals import plain_decimal, plain_text
from .products import MAX_PRICE, Product, ProductRule, whole_units
from .protocol.enums import OrderSide, OrderType, ReduceOnly, TimeInForce, TriggerType
from .protocol.orders.items import OrderItem
from .protocol.orders.names import OrderField, Words

# Plain integers, because every order is compared with them, and comparing with members of an IntEnum is slower.
LIMIT, MARKET = OrderType.LIMIT.value, OrderType.MARKET.value
STOP_TYPES = frozenset({OrderType.STOP_LIMIT.value, OrderType.STOP_MARKET.value})
MARKET_TYPES = frozenset({MARKET, OrderType.STOP_MARKET.value, OrderType.TAKE_PROFIT_MARKET.value})
GTC, POST_ONLY = TimeInForce.GTC.value, TimeInForce.POST_ONLY.value
REDUCE_ONLY, SL_FROM_POSITION = ReduceOnly.REDUCE_ONLY.value, ReduceOnly.SL_FROM_POSITION.value

TYPES: dict[Any, int] = {kind.name: kind.value for kind in OrderType if kind.value in (LIMIT, MARKET)}
CONDITIONAL_TYPES = {kind.name: kind.value for kind in OrderType if kind.name.startswith(("STOP", "TAKE"))}
"""Types that only builder orders may have."""
SIDES: dict[Any, tuple[int, bool]] = {
    OrderSide.BUY.name: (1, False),
    OrderSide.SELL.name: (-1, False),
    OrderSide.BUY_CLOSE_HEDGE.name: (1, True),
    OrderSide.SELL_CLOSE_HEDGE.name: (-1, True),
}
"""Name → (+1 or −1, closes in hedge mode)."""
TIFS: dict[Any, int] = {tif.name: tif.value for tif in TimeInForce}
REDUCE = {None: ReduceOnly.NONE.value, "": ReduceOnly.NONE.value} | {kind.name: kind.value for kind in ReduceOnly}
TRIGGERS = {source.name: source.value for source in TriggerType if source}
_NAMES: dict[Any, tuple[int, int, bool, int, int]] = {
    (kind, side, tif, reduce): (TYPES[kind], *SIDES[side], TIFS[tif], REDUCE[reduce])
    for kind, side, tif, reduce in every(TYPES, SIDES, TIFS, REDUCE)
}
"""Type, side, time in force and reduce-only kind of an order that needs no builder → the first fields of its `Spec`."""

SLIPPAGE_UNIT = 100_000_000
"""Slippage is an integer in units of 1/SLIPPAGE_UNIT: 1 % is 1_000_000."""
DEFAULT_SLIPPAGE = Decimal("0.03")
_DEFAULT_SLIPPAGE = int(DEFAULT_SLIPPAGE * SLIPPAGE_UNIT)
MIN_DEPOSIT = Decimal(10)
"""Smallest Mainnet deposit, USDC (docs/published.md, "Trading rules"). It is made on chain. No action carries one."""
MIN_WITHDRAWAL = Decimal(2)
"""Smallest withdrawal, USDC: published for Mainnet (docs/published.md, "Trading rules"), and used everywhere."""
_EXACT = Context(prec=100)
_LARGEST = 2**63 - 1
"""Largest number that the venue's state can hold (64 bits)."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One broken rule of an order.

    Parameters
    ----------
    rule : str
        Name of the rule.
    field : str
        Wire name of the field.
    value : str
        Value as given, as text.
    limit : str
        The limit that it breaks, as text.
    message : str
        All of it in a sentence.
    """

    rule: str
    field: str
    value: str
    limit: str
    message: str
    nearest: tuple[str, ...] = ()
    """Values of the field that would pass this rule, as text."""

    def __str__(self) -> str:
        return self.message


@dataclass(slots=True, init=False, eq=False, repr=False)
class Spec:
    """An order item in integers: ticks, steps, 1/SLIPPAGE_UNIT."""

    side: int
    """+1 buys, −1 sells."""
    closing: bool
    """Whether the side closes a leg in hedge mode."""
    type: int
    """Number of the type."""
    tif: int
    """Number of the time in force."""
    reduce: int
    """Number of the reduce-only option, 0 without one."""
    price: int
    """Limit price in ticks, 0 for market orders."""
    quantity: int
    """Quantity in steps, 0 only for a take-profit or stop-loss of the whole position."""
    trigger: int
    """Trigger price in ticks, 0 for none."""
    trigger_by: int
    """Number of the price that triggers it."""
    trigger_up: bool
    """Whether it triggers when that price rises to the trigger price."""
    slippage: int
    """Slippage in 1/SLIPPAGE_UNIT, 0 for the default."""
    client_id: int
    """Client id, 0 without one."""
    parent: int
    """Id of the order whose exit it is, 0 without one."""
    failures: list[Failure] | None
    """Rules that it breaks, None when every rule passed."""
    words: Words
    """Whose names of fields the failures use."""


ALREADY_REACHED = "is already reached"
"""Words of the refusal of a trigger that the price has passed."""


def default_slippage(product: Product) -> int:
    """Return the slippage of a market order that names none, in 1/SLIPPAGE_UNIT.

    Parameters
    ----------
    product : Product
        The product of the order.
    """
    return _DEFAULT_SLIPPAGE if product.max_slippage is None else min(_DEFAULT_SLIPPAGE, product.max_slippage)


def slippage_width(ratio: Decimal) -> int:
    """Return a slippage in 1/SLIPPAGE_UNIT, rounded down but never to 0, which would be the default.

    Parameters
    ----------
    ratio : Decimal
        Slippage above 0, a ratio.
    """
    # In a context of 100 digits: the caller's may round.
    return max(1, int(_EXACT.multiply(ratio, Decimal(SLIPPAGE_UNIT))))


def slippage_bound(product: Product, side: int, reference_ticks: int, slippage: int) -> int:
    """Return the worst price in ticks that a market order may trade at: `reference_ticks` × (1 ± `slippage`).

    The price is rounded towards the reference, so that the order never trades beyond its slippage.

    Parameters
    ----------
    product : Product
        The product of the order.
    side : int
        +1 buys, −1 sells.
    reference_ticks : int
        Last price in ticks.
    slippage : int
        Slippage in 1/SLIPPAGE_UNIT.
    """
    width = slippage or default_slippage(product)
    if side > 0:
        # Towards the reference on either side: one tick beyond would be more slippage than was agreed to.
        return reference_ticks * (SLIPPAGE_UNIT + width) // SLIPPAGE_UNIT
    return -(-reference_ticks * (SLIPPAGE_UNIT - width) // SLIPPAGE_UNIT)


def check_order(
    product: Product,
    item: OrderItem | Mapping[str, Any],
    *,
    mark: Decimal | None = None,
    last: Decimal | None = None,
    index: Decimal | None = None,
    bid: Decimal | None = None,
    ask: Decimal | None = None,
    entry: Decimal | None = None,
    cover: Decimal = Decimal(0),
    builder: bool = False,
    triggered: bool = False,
    words: Words = "wire",
) -> list[Failure]:
    """Return every pre-trade rule that an order item breaks.

    Parameters
    ----------
    product : Product
        The product of the order.
    item : OrderItem or mapping
        The order: typed, or in wire names.
    mark, last, index, bid, ask : Decimal, optional
        Reference prices in USDC (default: none, which leaves out the rules that need them).
    entry : Decimal, optional
        Limit price of the main order in USDC, for the TP/SL orders of a bracket (default: none).
    cover : Decimal, optional
        Size in base units of the position that the order would close. It is exempt from minOrderValue as a whole
        (default: 0).
    builder : bool, optional
        True allows the types of builder orders (default: False).
    triggered : bool, optional
        True skips the trigger fields, for an item that replaces a triggered order (default: False).
    words : {"wire", "call"}, optional
        Whose names of fields the messages use: those of the wire, or those of the arguments of `session.buy` (default:
        "wire").

    Returns
    -------
    list of Failure
        Empty if it passes.

    Examples
    --------
    >>> from toolkit import checks
    >>> item = orders.limit("BTCUSDC", "BUY", "0.01", "60000.05").to_item(session.product("BTCUSDC"))
    >>> [each.field for each in checks.check_order(session.product("BTCUSDC"), item)]
    ['ordPx']
    """

    prices = (mark, last, index, bid, ask, entry)
    # A mid or mark price may lie between two ticks. It is a reference, so the nearest tick is enough.
    references = [0 if price is None else round(price / product.tick_size) for price in prices]
    cover_steps = int(cover / product.step_size)
    spec = read_order(
        product, item, *references, cover_steps=cover_steps, builder=builder, triggered=triggered, words=words
    )
    return spec.failures or []


def leverage_limit(product: Product, notional: Decimal = Decimal(0)) -> Decimal | None:
    """Return the highest leverage for a position and orders: that of the product, or of the tier.

    Parameters
    ----------
    product : Product
        The product.
    notional : Decimal, optional
        Notional of position and orders in USDC (default: 0).

    Returns
    -------
    Decimal or None
        None where the venue publishes neither.
    """
    # Every tier below counts as well, so that a table whose leverage rises with size can't allow more.
    tiers = [tier.max_leverage for tier in product.tiers or () if notional > tier.floor or not tier.floor]
    return min((limit for limit in (product.max_leverage, *tiers) if limit is not None), default=None)


def check_leverage(product: Product, leverage: Decimal, notional: Decimal = Decimal(0)) -> list[Failure]:
    """Return why a leverage can't be set.

    Parameters
    ----------
    product : Product
        The product.
    leverage : Decimal
        Leverage to set, a factor.
    notional : Decimal, optional
        Notional of position and orders in USDC (default: 0).

    Returns
    -------
    list of Failure
        Empty if it can be set.
    """
    limit = leverage_limit(product, notional)
    if limit is None or leverage <= limit:
        return []
    most, value = plain_text(limit), plain_text(leverage)
    held = f"your position and orders of {plain_text(notional)} USDC"
    message = f"leverage {value}x is above {most}x, the most {product.symbol} allows for {held}"
    return [Failure(ProductRule.MAX_LEVERAGE, "leverage", value, most, message, (most,))]


def check_prices(
    product: Product, prices: Mapping[str, Decimal | None], slippage: Decimal | None = None
) -> list[Failure]:
    """Return why prices are not to be relied on: independent ones that differ by more than the slippage.

    Parameters
    ----------
    product : Product
        The product.
    prices : mapping of str to Decimal or None
        Name of a price → the price in USDC, None where it is not known.
    slippage : Decimal, optional
        How far they may be apart, a ratio (default: the slippage of a market order that names none).

    Returns
    -------
    list of Failure
        Empty if those that are known agree.
    """
    known = {name: price for name, price in prices.items() if price}
    # A slippage that can't be is refused by its own rule.
    given = slippage is not None and 0 < slippage < 1
    within = slippage if slippage and given else Decimal(default_slippage(product)) / SLIPPAGE_UNIT
    if not known or max(known.values()) <= min(known.values()) * (1 + within):
        return []
    listed = ", ".join(f"{name} {plain_text(price)}" for name, price in known.items())
    allowed = f"{plain_text(within * 100)} %"
    message = (
        f"the prices of {product.symbol} contradict each other: {listed} USDC. They differ by more than the slippage "
        f"of {allowed}, so nothing is sized or traded by them. Wait until they agree, or give a limit price and a "
        "quantity in base units"
    )
    return [Failure("prices agree", OrderField.QUANTITY, listed, allowed, message)]


def check_withdrawal(amount: Decimal, minimum: Decimal = MIN_WITHDRAWAL) -> list[Failure]:
    """Return why an amount is too little for a withdrawal.

    Parameters
    ----------
    amount : Decimal
        Amount in USDC.
    minimum : Decimal, optional
        Smallest withdrawal in USDC (default: `MIN_WITHDRAWAL`).

    Returns
    -------
    list of Failure
        Empty if it is enough.
    """
    if amount >= minimum:
        return []
    value, least = plain_text(amount), plain_text(minimum)
    message = f"amount {value} is below the smallest withdrawal, {least} USDC"
    return [Failure("minimum withdrawal", "amount", value, least, message, (least,))]


def read_order(
    product: Product,
    item: OrderItem | Mapping[str, Any],
    mark: int = 0,
    last: int = 0,
    index: int = 0,
    bid: int = 0,
    ask: int = 0,
    entry: int = 0,
    *,
    cover_steps: int = 0,
    filled_steps: int = 0,
    builder: bool = False,
    triggered: bool = False,
    words: Words = "wire",
) -> Spec:
    """Return the order item in integers, with the rules it breaks.

    Fields that could not be read, or are beyond 64 bits, are 0 in the result. Use it only when `failures` is None.

    Parameters
    ----------
    product : Product
        The product of the order.
    item : OrderItem or mapping
        The order: typed, or in wire names.
    mark, last, index, bid, ask, entry : int, optional
        Reference prices in ticks, as in `check_order` (default: 0, not known).
    cover_steps : int, optional
        Steps of the position that it would close (default: 0).
    filled_steps : int, optional
        Filled part of a replaced order, in steps (default: 0).
    builder : bool, optional
        True allows the types of builder orders (default: False).
    triggered : bool, optional
        True skips the trigger fields, for an item that replaces a triggered order (default: False).
    words : {"wire", "call"}, optional
        Whose names of fields the messages use: those of the wire, or those of the arguments of `session.buy` (default:
        "wire").

    Returns
    -------
    Spec
    """
    if type(item) is not OrderItem:
        item = OrderItem.recall(item)  # type: ignore[arg-type]
    spec = Spec()
    spec.failures, spec.words = None, words
    # One look-up for the four names of nearly every order. Only an unusual one is read name by name.
    names = _NAMES.get((item.type, item.side, item.tif, item.reduce_only))
    kind, side, closing, tif, reduce = names or _read_names(spec, item, builder)
    spec.type, spec.side, spec.closing, spec.tif, spec.reduce = kind, side, closing, tif, reduce
    spec.client_id = item.cl_ord_id or 0
    spec.parent = item.parent_ord_id or 0
    # What reduces passes: a position must be closable while the venue takes the order.
    if not (product.listed or reduce or closing):
        unlisted = f"{product.symbol} is {product.list_status}, not listed"
        _fail(spec, "listing", OrderField.PRODUCT, str(product.code), "listed", unlisted)
    market = kind in MARKET_TYPES
    text = item.price
    places, size = product.tick_scale
    price_ticks = whole_units(text, places, size) if type(text) is str else -1
    # The rules in full are read only where one of them may be broken: this runs for every order of a venue.
    if market or not product.min_price <= price_ticks <= product.max_price or price_ticks * 10 < mark:
        price_ticks = _check_price(spec, product, text, price_ticks, mark, market)
    spec.price = price_ticks

    spec.trigger, spec.trigger_by, spec.slippage, spec.trigger_up = 0, 0, 0, False
    named = item.trigger_price is not None or item.trigger_by is not None
    if (named or kind > MARKET or reduce > REDUCE_ONLY) and not triggered:
        _read_trigger(spec, product, item, (last, mark, index), entry)

    text = item.quantity
    places, size = product.step_scale
    quantity_steps = whole_units(text, places, size) if type(text) is str else -1
    if quantity_steps <= 0 or (product.max_steps is not None and quantity_steps > product.max_steps):
        quantity_steps = _check_quantity(spec, product, text, quantity_steps, may_be_0=reduce > REDUCE_ONLY)
    spec.quantity = quantity_steps
    if item.slippage is not None:
        spec.slippage = _read_slippage(spec, product, item.slippage)

    if market:
        if tif == POST_ONLY or (tif == GTC and kind == MARKET):
            _market_tif(spec, str(item.type), str(item.tif))
        # A market order is valued at the price that it is expected to have.
        price_ticks = spec.trigger or last or mark
    elif tif == POST_ONLY and not spec.trigger:
        if (side > 0 and ask and price_ticks >= ask) or (side < 0 and bid and 0 < price_ticks <= bid):
            _would_match(spec, product, price_ticks, ask if side > 0 else bid)
    # Orders that reduce a position are judged with it, so that the whole rest of any position can be closed.
    if not reduce and not closing:
        left_steps = quantity_steps - filled_steps
        # A replaced order is judged by what is left of it. The rest of a position may be closed, however small.
        if 0 < price_ticks * left_steps * product.unit < product.min_value and left_steps != cover_steps:
            spec.failures = [*(spec.failures or ()), min_value_failure(product, price_ticks, left_steps, filled_steps)]
    return spec


def _read_names(spec: Spec, item: OrderItem, builder: bool) -> tuple[int, int, bool, int, int]:
    """Return what `_NAMES` has, where one of the names is not one that every order may have."""
    kind = TYPES.get(item.type, 0) or _conditional_type(spec, item.type, builder)
    named = SIDES.get(item.side)
    if named is None:
        named = _unknown(spec, OrderField.SIDE, item.side, SIDES, (0, False))
    tif = TIFS.get(item.tif, 0) or _unknown(spec, OrderField.TIF, item.tif, TIFS, 0)
    reduce = REDUCE.get(item.reduce_only)
    if reduce is None:
        known = [name for name, number in REDUCE.items() if name and number]
        reduce = _unknown(spec, OrderField.REDUCE_ONLY, item.reduce_only, known, 0)
    return kind, *named, tif, reduce


def min_value_failure(product: Product, price_ticks: int, left_steps: int, filled_steps: int = 0) -> Failure:
    """Return the failure of an order that is worth too little.

    Parameters
    ----------
    product : Product
        The product of the order.
    price_ticks : int
        Price in ticks at which it is valued.
    left_steps : int
        Quantity that is left of it, in steps.
    filled_steps : int, optional
        Quantity that is filled already, in steps (default: 0).

    Returns
    -------
    Failure
    """
    value = plain_text(Decimal(price_ticks * left_steps * product.unit) / product.money_scale)
    price, quantity = product.price_text(price_ticks), product.quantity_text(left_steps)
    # Rounded up, as the minus signs do: the offered quantity must pass.
    enough = product.quantity_text(filled_steps - -product.min_value // (price_ticks * product.unit))
    least = plain_text(product.min_order_value)
    message = f"order value {value} ({quantity} at {price}) is below {ProductRule.MIN_VALUE} {least}. "
    message += f"The nearest quantity is {enough}"
    return Failure(ProductRule.MIN_VALUE, OrderField.QUANTITY, quantity, least, message, (enough,))


def _fail(
    spec: Spec, rule: str, field: OrderField, value: str, limit: str, message: str, nearest: tuple[str, ...] = ()
) -> None:
    if nearest:
        message += f". The nearest is {' or '.join(nearest)}"
    if spec.failures is None:
        spec.failures = []
    spec.failures.append(Failure(rule, field, value, limit, message, nearest))


def _unknown(spec: Spec, field: OrderField, value: object, known: Iterable[str], default: object) -> Any:
    names = tuple(known)
    limit = ", ".join(names)
    message = f"{field.named(spec.words)} {value!r} is not one of {limit}"
    _fail(spec, "known name", field, str(value), limit, message, names)
    return default


def _conditional_type(spec: Spec, name: str, builder: bool) -> int:
    kind = CONDITIONAL_TYPES.get(name, 0)
    if kind and not builder:
        trigger = OrderField.TRIGGER_PRICE.named(spec.words)
        here = f"LIMIT or MARKET with {trigger} and TP_FROM_POSITION or SL_FROM_POSITION"
        field = OrderField.TYPE.named(spec.words)
        message = f"{field} {name} is for builder orders. Here a conditional order is {here}"
        _fail(spec, "order type", OrderField.TYPE, str(name), "LIMIT, MARKET", message, tuple(TYPES))
    if kind:
        return kind
    allowed = {**TYPES, **CONDITIONAL_TYPES} if builder else TYPES
    return int(_unknown(spec, OrderField.TYPE, name, allowed, 0))


def _check_price(spec: Spec, product: Product, text: object, price_ticks: int, mark_ticks: int, market: bool) -> int:
    """Report the rule that a price in ticks breaks. Return the price as the order keeps it."""
    if market:
        if price_ticks != 0:
            message = f"price of a market order must be 0, got {text}"
            _fail(spec, "market price", OrderField.PRICE, str(text), "0", message, ("0",))
        return 0
    if price_ticks <= 0:
        _off_grid(spec, "price", OrderField.PRICE, text, ProductRule.TICK_SIZE, product.tick_size)
        return 0
    if price_ticks > product.max_price:
        most = product.price_text(product.max_price)
        message = f"price {text} is above {plain_text(MAX_PRICE)}"
        _fail(spec, "price band", OrderField.PRICE, str(text), most, message, (most,))
        return _kept(price_ticks)
    if price_ticks < product.min_price:
        least = product.price_text(product.min_price)
        message = f"price {text} is below minimumPrice {least}"
        _fail(spec, ProductRule.MIN_PRICE, OrderField.PRICE, str(text), least, message, (least,))
        return price_ticks
    least = product.price_text(-(-mark_ticks // 10))
    message = f"price {text} is below 10 % of the mark price {product.price_text(mark_ticks)}"
    _fail(spec, "price band", OrderField.PRICE, str(text), least, message, (least,))
    return price_ticks


def _kept(number: int) -> int:
    """Return the number as a refused order keeps it: 0 where the venue's state has no room for it."""
    return number if number <= _LARGEST else 0


def _off_grid(spec: Spec, what: str, field: OrderField, text: object, rule: str, size: Decimal) -> None:
    """Report why text is not a positive multiple of `size`."""
    step, number = format(size, "f"), _plain_number(text)
    if number is None:
        message = f"{what} {text!r} is not a plain decimal text such as {step}"
        _fail(spec, "decimal text", field, str(text), step, message)
    elif number <= 0:
        _fail(spec, f"{what} above 0", field, str(text), "0", f"{what} {text} is not above 0", (step,))
    else:
        count = _EXACT.divide(number, size)
        ends = {int(count.to_integral_value(way)) for way in (ROUND_FLOOR, ROUND_CEILING)} - {0}
        nearest = tuple(format(_EXACT.multiply(size, end), "f") for end in sorted(ends))
        _fail(spec, rule, field, str(text), step, f"{what} {text} is not a multiple of {rule} {step}", nearest)


def _check_quantity(spec: Spec, product: Product, text: object, quantity_steps: int, may_be_0: bool) -> int:
    """Report the rule that a quantity in steps breaks. Return the quantity as the order keeps it.

    Only a take-profit or stop-loss may be 0, which means the whole position.
    """
    if product.max_steps is not None and quantity_steps > product.max_steps:
        most = product.quantity_text(product.max_steps)
        message = f"quantity {text} is above maxOrderQty {most}"
        _fail(spec, ProductRule.MAX_QUANTITY, OrderField.QUANTITY, str(text), most, message, (most,))
        return _kept(quantity_steps)
    if quantity_steps < 0 or not may_be_0:
        _off_grid(spec, "quantity", OrderField.QUANTITY, text, ProductRule.STEP_SIZE, product.step_size)
    return 0


def _market_tif(spec: Spec, kind: str, name: str) -> None:
    field = OrderField.TIF.named(spec.words)
    message = f"Invalid order type: {field} of a {kind} order must be IOC or FOK, not {name}"
    _fail(spec, "market timeInForce", OrderField.TIF, name, "IOC, FOK", message, ("IOC", "FOK"))


def _would_match(spec: Spec, product: Product, price_ticks: int, best_ticks: int) -> None:
    behind = best_ticks - spec.side
    nearest = (product.price_text(behind),) if behind > 0 else ()
    price, best = product.price_text(price_ticks), product.price_text(best_ticks)
    other = f"best {'ask' if spec.side > 0 else 'bid'} {best}"
    _fail(spec, "POST_ONLY", OrderField.PRICE, price, other, f"POST_ONLY at {price} would match the {other}", nearest)


def _read_slippage(spec: Spec, product: Product, text: object) -> int:
    largest = product.max_slippage_pct
    most = "" if largest is None else plain_text(largest)
    nearest = (most,) if most else ()
    number, name = _plain_number(text), OrderField.SLIPPAGE.named(spec.words)
    if number is None:
        message = f"{name} {text!r} is not a plain decimal text such as 0.01 (1 %)"
        _fail(spec, "decimal text", OrderField.SLIPPAGE, str(text), most, message)
    elif number <= 0:
        _fail(spec, "slippage above 0", OrderField.SLIPPAGE, str(text), "0", f"{name} {text} is not above 0", nearest)
    elif largest is not None and number > largest:
        message = f"{name} {text} is above maxSlippagePct {most}"
        _fail(spec, ProductRule.MAX_SLIPPAGE, OrderField.SLIPPAGE, str(text), most, message, nearest)
    else:
        return slippage_width(number)
    return 0


def _read_trigger(
    spec: Spec, product: Product, item: OrderItem, prices: tuple[int, int, int], entry_ticks: int
) -> None:
    """Read the trigger fields, and check them against the order type and the current prices.

    `prices` are last, mark and index price in ticks: the price of each TriggerType, in the order of their numbers.
    """
    text, by = item.trigger_price, item.trigger_by
    trigger_name = OrderField.TRIGGER_PRICE.named(spec.words)
    from_position, stop_type = spec.reduce > REDUCE_ONLY, spec.type > MARKET
    if not (from_position or stop_type):
        names = f"{trigger_name} and {OrderField.TRIGGER_BY.named(spec.words)}"
        kind = OrderField.REDUCE_ONLY.named(spec.words)
        message = f"{names} need {kind} TP_FROM_POSITION or SL_FROM_POSITION"
        _fail(spec, "trigger kind", OrderField.TRIGGER_PRICE, str(text), "", message)
        return
    spec.trigger_by = TriggerType.LAST_PRICE.value if by is None else TRIGGERS.get(by, 0)
    spec.trigger_by = spec.trigger_by or _unknown(spec, OrderField.TRIGGER_BY, by, TRIGGERS, 0)
    stop = spec.type in STOP_TYPES if stop_type else spec.reduce == SL_FROM_POSITION
    if stop_type and from_position and stop != (spec.reduce == SL_FROM_POSITION):
        message = f"{OrderField.TYPE.named(spec.words)} {item.type} contradicts {'TP' if stop else 'SL'}_FROM_POSITION"
        _fail(spec, "trigger kind", OrderField.TYPE, str(item.type), "", message)
    if text is None:
        what = item.type if stop_type else "TP/SL from position"
        _fail(spec, "trigger price", OrderField.TRIGGER_PRICE, "", "", f"{what} needs a {trigger_name}")
        return
    trigger_ticks = whole_units(text, *product.tick_scale) if type(text) is str else -1
    if trigger_ticks <= 0:
        _off_grid(spec, "trigger price", OrderField.TRIGGER_PRICE, text, ProductRule.TICK_SIZE, product.tick_size)
        return
    if trigger_ticks > product.max_price:
        most = product.price_text(product.max_price)
        message = f"trigger price {text} is above {plain_text(MAX_PRICE)}"
        _fail(spec, "price band", OrderField.TRIGGER_PRICE, text, most, message, (most,))
    spec.trigger = _kept(trigger_ticks)
    # A stop triggers where the market moves against the position, a take-profit where it moves with it.
    spec.trigger_up = up = (spec.side > 0) == stop
    now_ticks = entry_ticks or (prices[spec.trigger_by - 1] if spec.trigger_by else 0)
    if now_ticks and (now_ticks >= trigger_ticks if up else now_ticks <= trigger_ticks):
        _already_met(spec, product, text, now_ticks, bool(entry_ticks), stop)


def _already_met(spec: Spec, product: Product, text: str, now_ticks: int, entry: bool, stop: bool) -> None:
    up = spec.trigger_up
    price = "the main order's price" if entry else TriggerType(spec.trigger_by).name
    what = f"a {'stop' if stop else 'take profit'} that {'buys' if spec.side > 0 else 'sells'}"
    now, rule = product.price_text(now_ticks), f"{price} {'≥' if up else '≤'} {text}"
    message = f"trigger price {text} {ALREADY_REACHED}: {what} triggers at {rule}, which is {now}"
    beyond_ticks = now_ticks + 1 if up else now_ticks - 1
    nearest = (product.price_text(beyond_ticks),) if 0 < beyond_ticks <= product.max_price else ()
    _fail(spec, "trigger met", OrderField.TRIGGER_PRICE, text, now, message, nearest)


def _plain_number(text: object) -> Decimal | None:
    plain = isinstance(text, str) and plain_decimal(text.removeprefix("-")) is not None
    return Decimal(str(text)) if plain else None
