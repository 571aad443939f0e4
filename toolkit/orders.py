"""Orders as users write them, before they become actions.

    buy("BTCUSDC", "0.01", price="60000", tif="POST_ONLY")
    bracket(buy("BTCUSDC", "0.01"), take_profit="66000", stop_loss="57000")
    session.place([...])

Amounts are exact: text, whole numbers, Decimal, or floats that are exact as written. Nothing is rounded; use
`Product.round_price` and `Product.round_quantity` to round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, get_args, overload

from .errors import CheckFailed, InputError
from .products import Amount, Direction, Product, decimal_text, exact

if TYPE_CHECKING:
    from .checks import Failure

Side = Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"]
TimeInForce = Literal["GTC", "IOC", "FOK", "POST_ONLY"]
ReduceOnly = Literal["REDUCE_ONLY", "TP_FROM_POSITION", "SL_FROM_POSITION"]
TriggerBy = Literal["LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"]

SIDES: tuple[str, ...] = get_args(Side)
TIMES_IN_FORCE: tuple[str, ...] = get_args(TimeInForce)
REDUCE_ONLY: tuple[str, ...] = get_args(ReduceOnly)
TRIGGERS: tuple[str, ...] = get_args(TriggerBy)
BUILDER_TYPES = ("STOP_LIMIT", "STOP_MARKET", "TAKE_PROFIT_LIMIT", "TAKE_PROFIT_MARKET")


@dataclass(frozen=True, slots=True, repr=False)
class Order:
    """One order. Create it with the functions of this module, change it with `dataclasses.replace`.

    `symbol` is a product's symbol or code. Amounts are decimal text: `quantity` in base units ("0" in a take-profit or
    stop is the whole position), `price` and `trigger_price` in USDC (price None: a market order), `slippage` a ratio.
    An order with a take-profit or a stop-loss is a `Bracket`.
    """

    symbol: str | int
    side: Side
    quantity: str
    price: str | None = None
    tif: TimeInForce = "GTC"
    reduce_only: ReduceOnly | None = None
    cl_ord_id: int | None = None
    parent_ord_id: int | None = None
    trigger_price: str | None = None
    trigger_by: TriggerBy | None = None
    slippage: str | None = None

    action: ClassVar[str] = "placeOrder"
    """Type of the action that places it."""

    @property
    def is_market(self) -> bool:
        """True for an order without a price."""
        return self.price is None

    @property
    def entry(self) -> Order:
        """The order itself; of a bracket, the order that opens."""
        return self

    @property
    def legs(self) -> tuple[Order, ...]:
        """The order itself; of a bracket, all its orders."""
        return (self,)

    def to_item(self, product: Product, *, reduce_field: str = "reduceOnlyOption") -> dict[str, Any]:
        """Return the order item on the wire. `reduce_field` is reduceOnly in brackets and replacements."""
        item: dict[str, Any] = {
            "symbolCode": product.code,
            "ordPx": self.price if self.price is not None else "0",
            "ordQty": self.quantity,
            "ordType": "MARKET" if self.is_market else "LIMIT",
            "ordSide": self.side,
            "timeInForce": self.tif,
        }
        optional = {
            "clOrdId": self.cl_ord_id,
            "parentOrdId": self.parent_ord_id,
            reduce_field: self.reduce_only,
            "triggerPx": self.trigger_price,
            "tpslTriggerType": self.trigger_by,
            "slippagePct": self.slippage,
        }
        return item | {name: value for name, value in optional.items() if value is not None}

    def to_items(self, product: Product) -> list[dict[str, Any]]:
        """Return the items of its action on the wire: one."""
        return [self.to_item(product)]

    def failures(self, product: Product, cover: Decimal = Decimal(0)) -> list[Failure]:
        """Return every pre-trade rule that this order breaks; empty if it passes.

        `cover` is the size of the position that it would close, which as a whole may be below minOrderValue.
        """
        from . import checks

        return checks.check_order(product, self.to_item(product), cover=cover)

    def check(self, product: Product) -> Order:
        """Return the order if it passes every pre-trade rule. Raises CheckFailed with all failures."""
        return _checked(self, product)

    def __repr__(self) -> str:
        return f"<Order {self.describe()}>"

    def describe(self) -> str:
        """Return the order in words, e.g. "BUY 0.01 BTCUSDC at 60000 POST_ONLY"."""
        words = [self.side, "all of" if exact(self.quantity, "quantity") == 0 else self.quantity, str(self.symbol)]
        words.append("at market" if self.price is None else f"at {self.price}")
        if self.tif != ("IOC" if self.is_market else "GTC"):
            words.append(self.tif)
        if self.trigger_price is not None:
            words.append(f"when {(self.trigger_by or 'LAST_PRICE').split('_')[0].lower()} reaches {self.trigger_price}")
        if self.reduce_only is not None:
            words.append(_REDUCE_WORDS[self.reduce_only])
        if self.slippage is not None:
            words.append(f"slippage {self.slippage}")
        if self.cl_ord_id is not None:
            words.append(f"clOrdId {self.cl_ord_id}")
        return " ".join(words)


@dataclass(frozen=True, slots=True, repr=False)
class Bracket:
    """An order with a take-profit, a stop-loss or both, which close what it opens. Create it with `bracket`.

    They wait until `entry` fills, and one cancels the other. It is no `Order`: it is placed alone, in one request, and
    can't replace an order. Raises InputError for a leg that does not close the entry.
    """

    entry: Order
    take_profit: Order | None = None
    stop_loss: Order | None = None

    action: ClassVar[str] = "placeBracketOrder"
    """Type of the action that places it."""

    def __post_init__(self) -> None:
        if self.take_profit is None and self.stop_loss is None:
            raise InputError(
                "a bracket needs a take_profit, a stop_loss, or both", field="take_profit", rule="required", value=None
            )
        for name, kind in (("take_profit", "TP_FROM_POSITION"), ("stop_loss", "SL_FROM_POSITION")):
            leg = getattr(self, name)
            if leg is not None:
                _check_leg(self.entry, leg, kind, name)

    @property
    def symbol(self) -> str | int:
        """Symbol or code of its product."""
        return self.entry.symbol

    @property
    def legs(self) -> tuple[Order, ...]:
        """The entry, then the take-profit and the stop-loss."""
        return tuple(leg for leg in (self.entry, self.take_profit, self.stop_loss) if leg is not None)

    def to_items(self, product: Product) -> list[dict[str, Any]]:
        """Return the items of its action on the wire, the entry first."""
        return [leg.to_item(product, reduce_field="reduceOnly") for leg in self.legs]

    def failures(self, product: Product) -> list[Failure]:
        """Return every pre-trade rule that one of its orders breaks; empty if it passes."""
        from . import checks

        # The triggers are compared with the price at which the entry opens the position.
        price = None if self.entry.price is None else exact(self.entry.price, "price")
        found = self.entry.failures(product)
        for leg in self.legs[1:]:
            found += checks.check_order(product, leg.to_item(product), entry=price)
        return found

    def check(self, product: Product) -> Bracket:
        """Return the bracket if it passes every pre-trade rule. Raises CheckFailed with all failures."""
        return _checked(self, product)

    def __repr__(self) -> str:
        return f"<Bracket {self.describe()}>"

    def describe(self) -> str:
        """Return the bracket in words, e.g. "BUY 0.01 BTCUSDC at 60000 | take profit 66000"."""
        words = [self.entry.describe()]
        for name, leg in (("take profit", self.take_profit), ("stop loss", self.stop_loss)):
            if leg is not None:
                words.append(f"| {name} {leg.trigger_price}" + (f" at {leg.price}" if leg.price else ""))
        return " ".join(words)


Placeable = TypeVar("Placeable", Order, Bracket)


def _checked(made: Placeable, product: Product) -> Placeable:
    failures = made.failures(product)
    if failures:
        raise CheckFailed(failures)
    return made


_REDUCE_WORDS = {
    "REDUCE_ONLY": "reduce-only",
    "TP_FROM_POSITION": "as take-profit of the position",
    "SL_FROM_POSITION": "as stop-loss of the position",
}


def order(
    symbol: str | int,
    side: str,
    quantity: Amount,
    price: Amount | None = None,
    *,
    tif: str | None = None,
    reduce_only: bool | str | None = None,
    cl_ord_id: int | None = None,
    parent_ord_id: int | None = None,
    trigger_price: Amount | None = None,
    trigger_by: str | None = None,
    slippage: Amount | None = None,
    type: str | None = None,
    tp: Amount | Order | None = None,
    sl: Amount | Order | None = None,
) -> Order | Bracket:
    """Return an order, or a Bracket with `tp` or `sl`; the other functions of this module are shorter forms of it.

    Names are accepted in any case. An order without a price is a market order; `type` (LIMIT or MARKET) is optional and
    must agree. `tif` defaults to GTC with a price and IOC without. `reduce_only` True is REDUCE_ONLY. `tp` and `sl`
    make a bracket: trigger prices, or orders. Raises InputError, which names the field.
    """
    chosen = _one_of(side, SIDES, "side")
    _check_type(type, price)
    made = Order(
        symbol=symbol,
        side=chosen,
        quantity=decimal_text(quantity, "quantity"),
        price=None if price is None else decimal_text(price, "price"),
        tif=_one_of(tif or ("IOC" if price is None else "GTC"), TIMES_IN_FORCE, "tif"),
        reduce_only=_reduce_only(reduce_only),
        cl_ord_id=_id(cl_ord_id, "cl_ord_id"),
        parent_ord_id=_id(parent_ord_id, "parent_ord_id"),
        trigger_price=None if trigger_price is None else decimal_text(trigger_price, "trigger_price"),
        trigger_by=None if trigger_by is None else _one_of(trigger_by, TRIGGERS, "trigger_by"),
        slippage=None if slippage is None else decimal_text(slippage, "slippage"),
    )
    if tp is None and sl is None:
        return made
    return bracket(made, take_profit=tp, stop_loss=sl)


def _check_type(kind: str | None, price: Amount | None) -> None:
    if kind is None:
        return
    _one_of(kind, ("LIMIT", "MARKET"), "type")
    if (kind.upper() == "MARKET") != (price is None):
        advice = "leave price out" if price is not None else "give a price"
        raise InputError(f"a {kind.upper()} order: {advice}", field="price", rule=kind.upper(), value=price)


@overload
def buy(
    symbol: str | int, quantity: Amount, price: Amount | None = ..., *, tp: Amount | Order, **options: Any
) -> Bracket: ...
@overload
def buy(
    symbol: str | int, quantity: Amount, price: Amount | None = ..., *, sl: Amount | Order, **options: Any
) -> Bracket: ...
@overload
def buy(symbol: str | int, quantity: Amount, price: Amount | None = ..., **options: Any) -> Order: ...
def buy(symbol: str | int, quantity: Amount, price: Amount | None = None, **options: Any) -> Order | Bracket:
    """Return a buy order: at `price`, or at market without one. Options as in `order`."""
    return order(symbol, "BUY", quantity, price, **options)


@overload
def sell(
    symbol: str | int, quantity: Amount, price: Amount | None = ..., *, tp: Amount | Order, **options: Any
) -> Bracket: ...
@overload
def sell(
    symbol: str | int, quantity: Amount, price: Amount | None = ..., *, sl: Amount | Order, **options: Any
) -> Bracket: ...
@overload
def sell(symbol: str | int, quantity: Amount, price: Amount | None = ..., **options: Any) -> Order: ...
def sell(symbol: str | int, quantity: Amount, price: Amount | None = None, **options: Any) -> Order | Bracket:
    """Return a sell order: at `price`, or at market without one. Options as in `order`."""
    return order(symbol, "SELL", quantity, price, **options)


@overload
def limit(
    symbol: str | int, side: str, quantity: Amount, price: Amount, *, tp: Amount | Order, **options: Any
) -> Bracket: ...
@overload
def limit(
    symbol: str | int, side: str, quantity: Amount, price: Amount, *, sl: Amount | Order, **options: Any
) -> Bracket: ...
@overload
def limit(symbol: str | int, side: str, quantity: Amount, price: Amount, **options: Any) -> Order: ...
def limit(symbol: str | int, side: str, quantity: Amount, price: Amount, **options: Any) -> Order | Bracket:
    """Return a limit order. Options as in `order`."""
    return order(symbol, side, quantity, price, **options)


@overload
def market(symbol: str | int, side: str, quantity: Amount, *, tp: Amount | Order, **options: Any) -> Bracket: ...
@overload
def market(symbol: str | int, side: str, quantity: Amount, *, sl: Amount | Order, **options: Any) -> Bracket: ...
@overload
def market(symbol: str | int, side: str, quantity: Amount, **options: Any) -> Order: ...
def market(symbol: str | int, side: str, quantity: Amount, **options: Any) -> Order | Bracket:
    """Return a market order: IOC unless `tif="FOK"`; `slippage` limits its price (a ratio, 0.01 is 1 %)."""
    return order(symbol, side, quantity, None, **options)


def stop(
    symbol: str | int,
    side: str,
    trigger: Amount,
    quantity: Amount = 0,
    price: Amount | None = None,
    *,
    trigger_by: str = "MARK_PRICE",
    **options: Any,
) -> Order:
    """Return a stop-loss of a position: `side` SELL for a long, BUY for a short.

    It closes at market, or at `price`. Quantity 0 closes the position's whole size at the time of the trigger.
    """
    return _from_position("SL_FROM_POSITION", symbol, side, trigger, quantity, price, trigger_by, options)


def take_profit(
    symbol: str | int,
    side: str,
    trigger: Amount,
    quantity: Amount = 0,
    price: Amount | None = None,
    *,
    trigger_by: str = "MARK_PRICE",
    **options: Any,
) -> Order:
    """Return a take-profit of a position: `side` SELL for a long, BUY for a short. Arguments as in `stop`."""
    return _from_position("TP_FROM_POSITION", symbol, side, trigger, quantity, price, trigger_by, options)


def _from_position(
    kind: str,
    symbol: str | int,
    side: str,
    trigger: Amount,
    quantity: Amount,
    price: Amount | None,
    trigger_by: str,
    options: dict[str, Any],
) -> Order:
    return _without_legs(
        order(symbol, side, quantity, price, reduce_only=kind, trigger_price=trigger, trigger_by=trigger_by, **options)
    )


def _without_legs(made: Order | Bracket) -> Order:
    if isinstance(made, Order):
        return made
    raise InputError("tp and sl belong to an order that opens a position alone", field="tp", rule="bracket", value=made)


def bracket(
    entry: Order | Bracket, *, take_profit: Amount | Order | None = None, stop_loss: Amount | Order | None = None
) -> Bracket:
    """Return `entry` with a take-profit, a stop-loss, or both; each is a trigger price or an order.

    They close what the entry opens; when one of them has closed it, the other is cancelled. Raises InputError for an
    entry that is a bracket already, and for an order that does not close the entry.
    """
    if isinstance(entry, Bracket):
        raise InputError(f"{entry!r} is a bracket already", field="entry", rule="Order", value=entry)
    return Bracket(
        entry,
        _child(entry, take_profit, "TP_FROM_POSITION"),
        _child(entry, stop_loss, "SL_FROM_POSITION"),
    )


def _child(entry: Order, given: Amount | Order | None, kind: str) -> Order | None:
    if given is None or isinstance(given, Order):
        return given
    return _from_position(kind, entry.symbol, _closing(entry.side), given, entry.quantity, None, "MARK_PRICE", {})


def _check_leg(entry: Order, leg: Order, kind: str, name: str) -> None:
    """Raise InputError for a leg that does not close the entry, or that its one product and kind would not carry."""
    closing = _closing(entry.side)
    # In hedge mode the side that closes has a name of its own.
    expected = (
        ("side", leg.side.removesuffix("_CLOSE_HEDGE") == closing, leg.side, closing, f"a {entry.side} order"),
        ("reduce_only", leg.reduce_only == kind, leg.reduce_only, kind, "a bracket"),
        ("symbol", leg.symbol == entry.symbol, leg.symbol, entry.symbol, "a bracket"),
    )
    for field, passes, value, wanted, of in expected:
        if not passes:
            have = "be" if field == "side" else f"have {field}"
            raise InputError(
                f"the {name} of {of} must {have} {wanted}, not {value}", field=f"{name}.{field}", value=value,
                rule={"side": "opposite", "reduce_only": "kind"}.get(field, "same"), nearest=(str(wanted),),
            )  # fmt: skip


def _closing(side: str) -> Side:
    return "SELL" if side.startswith("BUY") else "BUY"


def close_position(
    symbol: str | int, size: Amount, price: Amount | None = None, *, hedge: bool = False, **options: Any
) -> Order:
    """Return the reduce-only order that closes a position of `size` base units (negative for a short).

    In hedge mode (`hedge=True`) it has a *_CLOSE_HEDGE side. `session.close_position` reads the size from the venue.
    """
    held = exact(size, "size")
    if held == 0:
        raise InputError("there is no position to close: size is 0", field="size", rule="not zero", value=size)
    side = ("SELL" if held > 0 else "BUY") + ("_CLOSE_HEDGE" if hedge else "")
    text = decimal_text(size, "size").removeprefix("-")
    # A *_CLOSE_HEDGE side only reduces, so it needs no REDUCE_ONLY.
    return _without_legs(order(symbol, side, text, price, reduce_only=None if hedge else True, **options))


def scale(
    product: Product,
    side: str,
    quantity: Amount,
    *,
    first: Amount,
    last: Amount,
    count: int,
    weights: Sequence[Amount] | None = None,
    rounding: Direction | None = None,
    **options: Any,
) -> list[Order]:
    """Return a ladder: `count` limit orders at evenly spaced prices from `first` to `last`, of total `quantity`.

    The quantity is split evenly, or by `weights`, into whole steps, and adds up exactly. Prices between ticks are
    rounded in the direction `rounding`; without it they are an error. Raises InputError, which names the field.
    """
    if count < 2:
        raise InputError(f"a ladder needs at least 2 orders, not {count}", field="count", rule="minimum", value=count)
    prices = [_ladder_price(product, first, last, index, count, rounding) for index in range(count)]
    sizes = _shares(product, quantity, weights, count)
    return [
        _without_legs(order(product.symbol, side, format(size, "f"), format(price, "f"), **options))
        for price, size in zip(prices, sizes, strict=True)
    ]


def _ladder_price(
    product: Product, first: Amount, last: Amount, index: int, count: int, rounding: Direction | None
) -> Decimal:
    low, high = exact(first, "first"), exact(last, "last")
    price = low + (high - low) * index / (count - 1)
    if rounding is not None:
        return product.round_price(price, rounding)
    if price % product.tick_size:
        below, above = product.round_price(price, "down"), product.round_price(price, "up")
        raise InputError(
            f"price {price:.12g} of order {index + 1} is not a multiple of tickSize {product.tick_size}; "
            'give rounding="down", "up" or "nearest", or prices that divide evenly',
            field="rounding",
            rule="tickSize",
            value=str(price),
            nearest=(str(below), str(above)),
        )
    return price.quantize(product.tick_size)  # exact: only the number of decimals changes


def _shares(product: Product, quantity: Amount, weights: Sequence[Amount] | None, count: int) -> list[Decimal]:
    """Split whole steps by weight; the steps left over go, one each, to the orders with the largest remainders."""
    total = exact(quantity, "quantity") / product.step_size
    parts = [exact(weight, "weights") for weight in weights] if weights is not None else [Decimal(1)] * count
    if total != int(total) or len(parts) != count or min(parts) <= 0 or total < count:
        raise InputError(
            f"quantity {quantity} can't be shared by {len(parts)} weights above 0 over {count} orders "
            f"in whole steps of {product.step_size}",
            field="quantity",
            rule="stepSize",
            value=str(quantity),
            nearest=(str(product.round_quantity(quantity, "down")), str(product.round_quantity(quantity, "up"))),
        )
    exact_shares = [total * part / sum(parts) for part in parts]
    steps = [int(share) for share in exact_shares]
    # Largest remainder method; of equal remainders the earlier order comes first.
    by_remainder = sorted(range(count), key=lambda index: (steps[index] - exact_shares[index], index))
    for index in by_remainder[: int(total) - sum(steps)]:
        steps[index] += 1
    return [product.step_size * step for step in steps]


def _one_of(value: str, known: tuple[str, ...], name: str) -> Any:
    if isinstance(value, str) and value.upper() in known:
        return value.upper()
    raise InputError(
        f"{name} {value!r} is not known; use {', '.join(known)}", field=name, rule="known", value=value, nearest=known
    )


def _reduce_only(value: bool | str | None) -> ReduceOnly | None:
    if isinstance(value, str):
        kind: ReduceOnly = _one_of(value, REDUCE_ONLY, "reduce_only")
        return kind
    return "REDUCE_ONLY" if value else None


def _id(value: int | None, name: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**63:
        raise InputError(
            f"{name} {value!r} must be a whole number from 1 to 2^63 - 1", field=name, rule="int64", value=value
        )
    return value
