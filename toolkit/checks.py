"""Pre-trade rules that need no account: one implementation for the order ticket, the client and the venue.

`check_order` is for people and speaks text; `read_order` is the same pass over the same rules in integers, which the
venue takes its order from. Each failure names field, rule, value, limit and the nearest values that would pass.
Sources: specification "Order item", "Limits"; venue-facts "Trading rules", "Request details"; risk-rules "Order rules".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

from .numerals import plain_text
from .products import MAX_PRICE, MICRO, Product, whole_units

LIMIT, MARKET, STOP_LIMIT, STOP_MARKET, TAKE_PROFIT_LIMIT, TAKE_PROFIT_MARKET = 1, 2, 5, 6, 7, 8
GTC, IOC, FOK, POST_ONLY = 1, 2, 3, 4
REDUCE_ONLY, TP_FROM_POSITION, SL_FROM_POSITION = 1, 2, 3
LAST_PRICE, MARK_PRICE, INDEX_PRICE = 1, 2, 3

TYPES = {"LIMIT": LIMIT, "MARKET": MARKET}
CONDITIONAL_TYPES = {
    "STOP_LIMIT": STOP_LIMIT,
    "STOP_MARKET": STOP_MARKET,
    "TAKE_PROFIT_LIMIT": TAKE_PROFIT_LIMIT,
    "TAKE_PROFIT_MARKET": TAKE_PROFIT_MARKET,
}
"""Types that only builder orders may have."""
SIDES = {"BUY": (1, False), "SELL": (-1, False), "BUY_CLOSE_HEDGE": (1, True), "SELL_CLOSE_HEDGE": (-1, True)}
"""Name → (+1 or −1, closes in hedge mode)."""
_MARKET_TYPES = frozenset({MARKET, STOP_MARKET, TAKE_PROFIT_MARKET})
TIFS = {"GTC": GTC, "IOC": IOC, "FOK": FOK, "POST_ONLY": POST_ONLY}
REDUCE = {
    None: 0,
    "": 0,
    "NONE": 0,
    "REDUCE_ONLY": REDUCE_ONLY,
    "TP_FROM_POSITION": TP_FROM_POSITION,
    "SL_FROM_POSITION": SL_FROM_POSITION,
}
TRIGGERS = {"LAST_PRICE": LAST_PRICE, "MARK_PRICE": MARK_PRICE, "INDEX_PRICE": INDEX_PRICE}
TRIGGER_NAMES = {number: name for name, number in TRIGGERS.items()}

SLIPPAGE_UNIT = 100_000_000
"""Slippage inside is a whole number of 1/SLIPPAGE_UNIT: 1 % is 1_000_000."""
MIN_SLIPPAGE = Decimal("0.005")
DEFAULT_SLIPPAGE = Decimal("0.03")
_DEFAULT_SLIPPAGE = int(DEFAULT_SLIPPAGE * SLIPPAGE_UNIT)
_EXACT = Context(prec=100)
_LARGEST = 2**63 - 1
"""Numbers above this are not kept, not even of a refused order: the venue's state has 64 bits for them."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One broken rule. `field` is the wire name, `value` as given, `limit` what it is held against."""

    rule: str
    field: str
    value: str
    limit: str
    message: str
    nearest: tuple[str, ...] = ()
    """Values of the field that would pass this rule, as text."""

    def __str__(self) -> str:
        return self.message


class Spec:
    """An order item as integers. Units: ticks, steps, 1/SLIPPAGE_UNIT; `failures` is None when every rule passed."""

    __slots__ = (
        "client_id",
        "closing",
        "failures",
        "parent",
        "price",
        "quantity",
        "reduce",
        "side",
        "slippage",
        "tif",
        "trigger",
        "trigger_by",
        "trigger_up",
        "type",
    )

    side: int
    """+1 buys, −1 sells."""
    closing: bool
    type: int
    tif: int
    reduce: int
    price: int
    """0 for market orders."""
    quantity: int
    """0 only for TP/SL of the whole position."""
    trigger: int
    """0 = none."""
    trigger_by: int
    trigger_up: bool
    slippage: int
    """0 = the default."""
    client_id: int
    parent: int
    failures: list[Failure] | None


def default_slippage(product: Product) -> int:
    """Return the slippage of a market order that names none, in 1/SLIPPAGE_UNIT."""
    return min(_DEFAULT_SLIPPAGE, product.max_slippage)


def slippage_bound(product: Product, side: int, reference: int, slippage: int) -> int:
    """Return the worst price in ticks a market order may trade at: reference × (1 ± slippage), rounded inwards."""
    width = slippage or default_slippage(product)
    if side > 0:
        return reference * (SLIPPAGE_UNIT + width) // SLIPPAGE_UNIT
    return -(-reference * (SLIPPAGE_UNIT - width) // SLIPPAGE_UNIT)


def check_order(
    product: Product,
    item: Mapping[str, Any],
    *,
    mark: Decimal | None = None,
    last: Decimal | None = None,
    index: Decimal | None = None,
    bid: Decimal | None = None,
    ask: Decimal | None = None,
    entry: Decimal | None = None,
    builder: bool = False,
) -> list[Failure]:
    """Return every pre-trade rule that an order item (in wire names) breaks; an empty list means that it passes.

    A rule that needs a reference price is left out when that price is not given. `entry` is the main order's limit
    price for the TP/SL orders of a bracket; `builder` allows the types of builder orders.
    """

    def ticks(price: Decimal | None) -> int:
        return 0 if price is None else round(price / product.tick_size)

    references = (ticks(mark), ticks(last), ticks(index), ticks(bid), ticks(ask), ticks(entry))
    return read_order(product, item, *references, builder=builder).failures or []


def read_order(
    product: Product,
    item: Mapping[str, Any],
    mark: int = 0,
    last: int = 0,
    index: int = 0,
    bid: int = 0,
    ask: int = 0,
    entry: int = 0,
    *,
    builder: bool = False,
    triggered: bool = False,
) -> Spec:
    """Return the order item in integers, with the rules it breaks. Reference prices are in ticks, 0 = not known.

    `triggered` leaves out what it says of a trigger: it is to replace an order whose trigger has been met.
    Fields that could not be read, or are beyond 64 bits, are 0 in the result; use it only when `failures` is None.
    """
    spec = Spec()
    spec.failures = None
    get = item.get
    kind = TYPES.get(get("ordType"), 0)  # type: ignore[arg-type]
    if not kind:
        kind = _conditional_type(spec, get("ordType"), builder)
    spec.type = kind
    named = SIDES.get(get("ordSide"))  # type: ignore[arg-type]
    if named is None:
        named = _unknown(spec, "ordSide", get("ordSide"), SIDES, (0, False))
    side, closing = named
    spec.side, spec.closing = side, closing
    tif = TIFS.get(get("timeInForce"), 0)  # type: ignore[arg-type]
    if not tif:
        tif = _unknown(spec, "timeInForce", get("timeInForce"), TIFS, 0)
    spec.tif = tif
    name = get("reduceOnlyOption")
    if name is None:
        name = get("reduceOnly")
    reduce = REDUCE.get(name, -1)
    if reduce < 0:
        reduce = _unknown(spec, "reduceOnly", name, {key: 0 for key in REDUCE if key and key != "NONE"}, 0)
    spec.reduce = reduce
    spec.client_id = get("clOrdId") or 0
    spec.parent = get("parentOrdId") or 0
    if product.list_status != "listed":
        _fail(
            spec,
            "listing",
            "symbolCode",
            str(product.code),
            "listed",
            f"{product.symbol} is {product.list_status}, not listed",
        )

    market = kind != LIMIT and kind in _MARKET_TYPES
    text = get("ordPx")
    price = whole_units(text, *product.tick_scale) if type(text) is str else -1
    if market or not 0 < price <= product.max_price or price * 10 < mark:
        price = _check_price(spec, product, text, price, mark, market)
    spec.price = price
    spec.trigger = spec.trigger_by = 0
    spec.trigger_up = False
    conditional = get("triggerPx") is not None or get("tpslTriggerType") is not None or reduce > 1 or kind > MARKET
    if conditional and not triggered:
        _read_trigger(spec, product, item, (last, mark, index), entry)
    text = get("ordQty")
    quantity = whole_units(text, *product.step_scale) if type(text) is str else -1
    if quantity <= 0 and not (quantity == 0 and reduce > 1):
        _off_grid(spec, "quantity", "ordQty", text, "stepSize", product.step_size)
        quantity = 0
    spec.quantity = quantity
    if quantity > product.max_steps:
        _too_much(spec, product, str(text))
        spec.quantity = _kept(quantity)
    slippage = get("slippagePct")
    spec.slippage = 0 if slippage is None else _read_slippage(spec, product, slippage)
    if market:
        if tif == POST_ONLY or (tif == GTC and kind == MARKET):
            _market_tif(spec, str(get("ordType")), str(get("timeInForce")))
        price = spec.trigger or last or mark
    elif tif == POST_ONLY and not spec.trigger:
        if (side > 0 and ask and price >= ask) or (side < 0 and bid and 0 < price <= bid):
            _would_match(spec, product, side, price, ask if side > 0 else bid)
    if (
        not reduce
        and not closing
        and price > 0
        and quantity > 0
        and price * quantity * product.unit < product.min_value
    ):
        spec.failures = [*(spec.failures or ()), min_value_failure(product, price, quantity)]
    return spec


def min_value_failure(product: Product, price: int, quantity: int) -> Failure:
    """Return the failure of an order below minOrderValue; `price` in ticks is what it is valued at."""
    value = Decimal(price * quantity * product.unit) / MICRO
    enough = product.quantity_text(-(-product.min_value // (price * product.unit)))
    least = plain_text(product.min_order_value)
    return Failure(
        "minOrderValue",
        "ordQty",
        product.quantity_text(quantity),
        least,
        f"order value {plain_text(value)} ({product.quantity_text(quantity)} at {product.price_text(price)}) is below"
        f" minOrderValue {least}; nearest quantity {enough}",
        (enough,),
    )


# one function per rule; each is called only when its rule is (or may be) broken


def _fail(
    spec: Spec, rule: str, field: str, value: str, limit: str, message: str, nearest: tuple[str, ...] = ()
) -> None:
    if nearest:
        message += f"; nearest {' or '.join(nearest)}"
    if spec.failures is None:
        spec.failures = []
    spec.failures.append(Failure(rule, field, value, limit, message, nearest))


def _unknown(spec: Spec, field: str, value: object, known: Mapping[str, Any], default: Any) -> Any:
    names = tuple(known)
    limit = ", ".join(names)
    _fail(spec, "known name", field, str(value), limit, f"{field} {value!r} is not one of {limit}", names)
    return default


def _conditional_type(spec: Spec, name: Any, builder: bool) -> int:
    kind = CONDITIONAL_TYPES.get(name, 0)
    if kind and builder:
        return kind
    if kind:
        _fail(
            spec,
            "order type",
            "ordType",
            str(name),
            "LIMIT, MARKET",
            f"ordType {name} is for builder orders; here a conditional order is LIMIT or MARKET with triggerPx and"
            " TP_FROM_POSITION or SL_FROM_POSITION",
            tuple(TYPES),
        )
        return kind
    allowed = {**TYPES, **CONDITIONAL_TYPES} if builder else TYPES
    return int(_unknown(spec, "ordType", name, allowed, 0))


def _check_price(spec: Spec, product: Product, text: object, price: int, mark: int, market: bool) -> int:
    if market:
        if price != 0:
            _fail(
                spec, "market price", "ordPx", str(text), "0", f"price of a market order must be 0, got {text}", ("0",)
            )
        return 0
    if price <= 0:
        _off_grid(spec, "price", "ordPx", text, "tickSize", product.tick_size)
        return 0
    if price > product.max_price:
        most = product.price_text(product.max_price)
        _fail(spec, "price band", "ordPx", str(text), most, f"price {text} is above {plain_text(MAX_PRICE)}", (most,))
        return _kept(price)
    least = product.price_text(-(-mark // 10))
    message = f"price {text} is below 10 % of the mark price {product.price_text(mark)}"
    _fail(spec, "price band", "ordPx", str(text), least, message, (least,))
    return price


def _kept(number: int) -> int:
    return number if number <= _LARGEST else 0


def _off_grid(spec: Spec, what: str, field: str, text: object, rule: str, size: Decimal) -> None:
    """Tell why text is no positive multiple of `size`."""
    step = format(size, "f")
    number = _plain_number(text)
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


def _too_much(spec: Spec, product: Product, text: str) -> None:
    most = product.quantity_text(product.max_steps)
    _fail(spec, "maxOrderQty", "ordQty", text, most, f"quantity {text} is above maxOrderQty {most}", (most,))


def _market_tif(spec: Spec, kind: str, name: str) -> None:
    message = f"Invalid order type: timeInForce of a {kind} order must be IOC or FOK, not {name}"
    _fail(spec, "market timeInForce", "timeInForce", name, "IOC, FOK", message, ("IOC", "FOK"))


def _would_match(spec: Spec, product: Product, side: int, price: int, best: int) -> None:
    near = product.price_text(best - side)
    other = f"best {'ask' if side > 0 else 'bid'} {product.price_text(best)}"
    message = f"POST_ONLY at {product.price_text(price)} would match the {other}"
    _fail(spec, "POST_ONLY", "ordPx", product.price_text(price), other, message, (near,) if best > side else ())


def _read_slippage(spec: Spec, product: Product, text: object) -> int:
    least, most = plain_text(MIN_SLIPPAGE), plain_text(product.max_slippage_pct)
    number = _plain_number(text)
    if number is None:
        message = f"slippagePct {text!r} is not a plain decimal text such as 0.01 (1 %)"
        _fail(spec, "decimal text", "slippagePct", str(text), most, message)
        return 0
    if not MIN_SLIPPAGE <= number <= product.max_slippage_pct:
        low = number < MIN_SLIPPAGE
        rule = f"{'below the smallest,' if low else 'above maxSlippagePct'} {least if low else most}"
        limit = least if low else most
        _fail(spec, "maxSlippagePct", "slippagePct", str(text), limit, f"slippagePct {text} is {rule}", (limit,))
        return 0
    scaled = _EXACT.multiply(number, Decimal(SLIPPAGE_UNIT))
    if scaled != int(scaled):
        nearest = tuple(plain_text(Decimal(int(scaled) + more) / SLIPPAGE_UNIT) for more in (0, 1))
        message = f"slippagePct {text} has more than 8 decimals"
        _fail(spec, "slippage decimals", "slippagePct", str(text), "0.00000001", message, nearest)
    return int(scaled)


def _read_trigger(
    spec: Spec, product: Product, item: Mapping[str, Any], prices: tuple[int, int, int], entry: int
) -> None:
    """Read triggerPx and tpslTriggerType, and hold them against the order's kind and the present prices."""
    text, by = item.get("triggerPx"), item.get("tpslTriggerType")
    from_position, stop_type = spec.reduce > REDUCE_ONLY, spec.type > MARKET
    if not (from_position or stop_type):
        message = "triggerPx and tpslTriggerType need reduceOnly TP_FROM_POSITION or SL_FROM_POSITION"
        _fail(spec, "trigger kind", "triggerPx", str(text), "", message)
        return
    spec.trigger_by = LAST_PRICE if by is None else TRIGGERS.get(by, 0)
    if not spec.trigger_by:
        spec.trigger_by = _unknown(spec, "tpslTriggerType", by, TRIGGERS, 0)
    stop = spec.type in (STOP_LIMIT, STOP_MARKET) if stop_type else spec.reduce == SL_FROM_POSITION
    if stop_type and from_position and stop != (spec.reduce == SL_FROM_POSITION):
        message = f"ordType {item.get('ordType')} contradicts {'TP' if stop else 'SL'}_FROM_POSITION"
        _fail(spec, "trigger kind", "ordType", str(item.get("ordType")), "", message)
    if text is None:
        what = item.get("ordType") if stop_type else "TP/SL from position"
        _fail(spec, "trigger price", "triggerPx", "", "", f"{what} needs a triggerPx")
        return
    trigger = whole_units(text, *product.tick_scale) if type(text) is str else -1
    if trigger <= 0:
        _off_grid(spec, "trigger price", "triggerPx", text, "tickSize", product.tick_size)
        return
    if trigger > product.max_price:
        most = product.price_text(product.max_price)
        _fail(
            spec,
            "price band",
            "triggerPx",
            text,
            most,
            f"trigger price {text} is above {plain_text(MAX_PRICE)}",
            (most,),
        )
    spec.trigger = _kept(trigger)
    spec.trigger_up = up = (spec.side > 0) == stop
    now = entry or (prices[spec.trigger_by - 1] if spec.trigger_by else 0)
    if now and (now >= trigger if up else now <= trigger):
        _already_met(spec, product, text, now, bool(entry), stop)


def _already_met(spec: Spec, product: Product, text: str, now: int, entry: bool, stop: bool) -> None:
    up = spec.trigger_up
    price = "the main order's price" if entry else TRIGGER_NAMES[spec.trigger_by]
    what = f"a {'stop' if stop else 'take profit'} that {'buys' if spec.side > 0 else 'sells'}"
    message = (
        f"trigger price {text} is met already: {what} triggers at {price} {'≥' if up else '≤'} {text},"
        f" which is {product.price_text(now)}"
    )
    beyond = now + 1 if up else now - 1
    nearest = (product.price_text(beyond),) if 0 < beyond <= product.max_price else ()
    _fail(spec, "trigger met", "triggerPx", text, product.price_text(now), message, nearest)


def _plain_number(text: object) -> Decimal | None:
    if type(text) is not str or not text or len(text) > 40:
        return None
    body = text[1:] if text[0] == "-" else text
    whole, dot, part = body.partition(".")
    if not (whole + part).isascii() or not whole.isdecimal() or (dot and not part.isdecimal()):
        return None
    return Decimal(text)
