"""Orders as users write them, before they become actions.

    buy("BTCUSDC", "0.01", price="60000", tif="POST_ONLY")
    bracket(buy("BTCUSDC", "0.01"), take_profit="66000", stop_loss="57000")
    session.place([...])

Amounts are exact: text, whole numbers, Decimal, or floats that are exact as written. Nothing is rounded. Use
`Product.round_price` and `Product.round_quantity` to round.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypedDict, Unpack, cast, get_args, overload

from .errors import CheckFailed, InputError, require
from .guards import no_keys
from .ladders import Ladder as Ladder
from .numerals import Span, milliseconds, plain_decimal, read_positive
from .products import Amount, Direction, Product, decimal_text, exact, identifier
from .protocol.orders.items import OrderItem
from .protocol.orders.names import ActionType, ConditionalType, ReduceOnly, Side, TimeInForce, TriggerBy
from .protocol.reads.product_rows import ProductRule
from .sides import in_mode, side_of, sign_of
from .suggestions import meant

if TYPE_CHECKING:
    from .checks import Failure

SIDES: tuple[str, ...] = get_args(Side)
TIMES_IN_FORCE: tuple[str, ...] = get_args(TimeInForce)
REDUCE_ONLY: tuple[str, ...] = get_args(ReduceOnly)
TRIGGERS: tuple[str, ...] = get_args(TriggerBy)
BUILDER_TYPES: tuple[str, ...] = get_args(ConditionalType)
"""Types that only a builder's orders may have, other than LIMIT and MARKET."""


class Shape(ABC):
    """The common part of an order, a bracket and a TWAP."""

    __slots__ = ()

    @abstractmethod
    def failures(self, product: Product) -> list[Failure]:
        """Return every pre-trade rule of a product that it breaks.

        Parameters
        ----------
        product : Product
            The product that it is for.

        Returns
        -------
        list of Failure
            Empty if it passes.

        Examples
        --------
        >>> wrong = orders.limit("BTCUSDC", "BUY", "0.01", "60000.05")
        >>> [each.field for each in wrong.failures(session.product("BTCUSDC"))]
        ['ordPx']
        """

    def check(self, product: Product) -> Self:
        """Return it if it passes every pre-trade rule of a product.

        Parameters
        ----------
        product : Product
            The product that it is for.

        Returns
        -------
        Order, Bracket or Twap
            The same object.

        Raises
        ------
        CheckFailed
            Otherwise, with all failures.

        Examples
        --------
        >>> order = orders.limit("BTCUSDC", "BUY", "0.01", "60000")
        >>> order.check(session.product("BTCUSDC")) is order
        True
        """
        if failures := self.failures(product):
            raise CheckFailed(failures)
        return self

    @abstractmethod
    def describe(self) -> str:
        """Return it in words.

        Returns
        -------
        str

        Examples
        --------
        >>> orders.market("BTCUSDC", "BUY", "0.01").describe()
        'BUY 0.01 BTCUSDC at market'
        """

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.describe()}>"


@dataclass(frozen=True, slots=True, repr=False)
class Order(Shape):
    """One order. Create it with the functions of this module, change it with `dataclasses.replace`.

    Amounts are decimal text. An order is a LIMIT order if it has a price, else a MARKET order. An order with exits is a
    `Bracket`.

    Parameters
    ----------
    symbol : str or int
        Symbol or code of the product.
    side : {"BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"}
        Side. `BUY_CLOSE_HEDGE` and `SELL_CLOSE_HEDGE` close a leg in hedge mode.
    quantity : str
        Quantity in base units. "0" in a take-profit or stop is the whole position.
    price : str, optional
        Limit price in USDC (default: None, a market order).
    tif : {"GTC", "IOC", "FOK", "POST_ONLY"}, optional
        Time in force (default: "GTC").
    reduce_only : {"REDUCE_ONLY", "TP_FROM_POSITION", "SL_FROM_POSITION"}, optional
        Kind of an order that may only close a position (default: None, it may open one as well).
    cl_ord_id : int, optional
        Your id of the order (default: None, one is made when it is placed).
    parent_ord_id : int, optional
        Id of the order whose exit it is (default: None).
    trigger_price : str, optional
        Price in USDC that triggers an exit (default: None).
    trigger_by : {"LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"}, optional
        Price that is compared with the trigger price (default: None, which is LAST_PRICE).
    slippage : str, optional
        Largest distance of a market order's price from the last price, a ratio (default: None, the venue's 0.03).
    conditional : {"STOP_LIMIT", "STOP_MARKET", "TAKE_PROFIT_LIMIT", "TAKE_PROFIT_MARKET"}, optional
        Type of a builder's conditional order (default: None).
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
    conditional: ConditionalType | None = None

    action: ClassVar[str] = ActionType.PLACE.value
    """Type of the action that places it."""

    @property
    def is_market(self) -> bool:
        """True for an order without a price."""
        return self.price is None

    @property
    def entry(self) -> Order:
        """The order itself. For a bracket, the order that opens."""
        return self

    @property
    def legs(self) -> tuple[Order, ...]:
        """The order itself. For a bracket, all its orders."""
        return (self,)

    def to_item(self, product: Product, *, reduce_field: str = "reduceOnlyOption") -> dict[str, Any]:
        """Return the order item of its action on the wire.

        Parameters
        ----------
        product : Product
            The product that it is for.
        reduce_field : str, optional
            Name of the field of `reduce_only`: "reduceOnly" in brackets and replacements (default: "reduceOnlyOption").

        Returns
        -------
        dict

        Examples
        --------
        >>> orders.market("BTCUSDC", "BUY", "0.01").to_item(session.product("BTCUSDC"))["timeInForce"]
        'IOC'
        """
        return self.item(product.code).to_wire(reduce_field)

    def in_mode(self, hedge: bool) -> Order:
        """Return the order as an account in hedge mode places it: what only reduces closes its leg.

        Sessions and runs do this for every order, as soon as the venue shows the account's position mode.

        Parameters
        ----------
        hedge : bool
            Whether the account is in hedge mode.

        Returns
        -------
        Order
            The same order in one-way mode.

        Examples
        --------
        >>> orders.stop("BTCUSDC", "SELL", "60000").in_mode(hedge=True).side
        'SELL_CLOSE_HEDGE'
        """
        side, reduce_only = in_mode(self.side, self.reduce_only, hedge)
        return replace(self, side=side, reduce_only=reduce_only)

    def item(self, code: int) -> OrderItem:
        """Return the order as it is signed. Its fields are not checked yet.

        Parameters
        ----------
        code : int
            Code of its product.

        Returns
        -------
        OrderItem

        Examples
        --------
        >>> orders.market("BTCUSDC", "BUY", "0.01").item(1).type
        'MARKET'
        """
        return OrderItem(
            code, "0" if self.price is None else self.price, self.quantity,
            self.conditional or ("MARKET" if self.price is None else "LIMIT"),
            self.side, self.tif, self.reduce_only, self.parent_ord_id, self.trigger_price, self.trigger_by,
            self.slippage, self.cl_ord_id,
        )  # fmt: skip

    def to_items(self, product: Product) -> list[dict[str, Any]]:
        """Return the items of its action on the wire: one.

        Parameters
        ----------
        product : Product
            The product that it is for.

        Returns
        -------
        list of dict

        Examples
        --------
        >>> len(orders.market("BTCUSDC", "BUY", "0.01").to_items(session.product("BTCUSDC")))
        1
        """
        return [self.to_item(product)]

    def failures(self, product: Product, *, entry: Decimal | None = None) -> list[Failure]:
        """Return every pre-trade rule of a product that it breaks.

        Parameters
        ----------
        product : Product
            The product that it is for.
        entry : Decimal, optional
            Price in USDC at which the position opens that it closes, see `checks.check_order` (default: None).

        Returns
        -------
        list of Failure
            Empty if it passes.

        Examples
        --------
        >>> stop = orders.stop("BTCUSDC", "SELL", "61000")
        >>> product = session.product("BTCUSDC")
        >>> [each.field for each in stop.failures(product, entry=product.round_price("60000", "down"))]
        ['triggerPx']
        """
        from . import checks

        builder = self.conditional is not None  # only a builder can place it
        return checks.check_order(product, self.item(product.code), entry=entry, builder=builder)

    def describe(self) -> str:
        words = [*((self.conditional,) if self.conditional else ()), self.side]
        words += ["all of" if plain_decimal(self.quantity) == 0 else self.quantity, str(self.symbol)]
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
class Bracket(Shape):
    """An order with a take-profit, a stop-loss or both, which close what it opens. Create it with `bracket`.

    They wait until the entry fills, and one cancels the other. It is no `Order`: it is placed alone, in one request,
    and can't replace an order.

    Parameters
    ----------
    entry : Order
        Order that opens the position.
    take_profit : Order, optional
        Exit with a profit (default: None).
    stop_loss : Order, optional
        Exit with a loss (default: None).

    Raises
    ------
    InputError
        For a leg that does not close the entry, and without any exit.
    """

    entry: Order
    take_profit: Order | None = None
    stop_loss: Order | None = None

    action: ClassVar[str] = ActionType.BRACKET.value
    """Type of the action that places it."""

    def __post_init__(self) -> None:
        if self.take_profit is None and self.stop_loss is None:
            message = "a bracket needs a take_profit, a stop_loss, or both"
            raise InputError(message, field="take_profit", rule="required", value=None)
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

    def in_mode(self, hedge: bool) -> Bracket:
        """Return the bracket with each order as an account in hedge mode places it, see `Order.in_mode`.

        Parameters
        ----------
        hedge : bool
            Whether the account is in hedge mode.

        Returns
        -------
        Bracket

        Examples
        --------
        >>> made = orders.bracket(orders.market("BTCUSDC", "BUY", "0.01"), stop_loss="60000")
        >>> [leg.side for leg in made.in_mode(hedge=True).legs]
        ['BUY', 'SELL_CLOSE_HEDGE']
        """
        exits = (None if leg is None else leg.in_mode(hedge) for leg in (self.take_profit, self.stop_loss))
        return Bracket(self.entry.in_mode(hedge), *exits)

    def to_items(self, product: Product) -> list[dict[str, Any]]:
        """Return the items of its action on the wire, the entry first.

        Parameters
        ----------
        product : Product
            The product that it is for.

        Returns
        -------
        list of dict

        Examples
        --------
        >>> made = orders.bracket(orders.market("BTCUSDC", "BUY", "0.01"), stop_loss="60000")
        >>> [item["ordSide"] for item in made.to_items(session.product("BTCUSDC"))]
        ['BUY', 'SELL']
        """
        return [leg.item(product.code).to_wire() for leg in self.legs]

    def failures(self, product: Product) -> list[Failure]:
        # The triggers are compared with the price at which the entry opens the position.
        price = None if self.entry.price is None else exact(self.entry.price, "price")
        found = self.entry.failures(product)
        for leg in self.legs[1:]:
            found += leg.failures(product, entry=price)
        return found

    def describe(self) -> str:
        words = [self.entry.describe()]
        for name, leg in (("take profit", self.take_profit), ("stop loss", self.stop_loss)):
            if leg is not None:
                words.append(f"| {name} {leg.trigger_price}" + (f" at {leg.price}" if leg.price else ""))
        return " ".join(words)


_REDUCE_WORDS = {
    "REDUCE_ONLY": "reduce-only",
    "TP_FROM_POSITION": "as take-profit of the position",
    "SL_FROM_POSITION": "as stop-loss of the position",
}


class ExitDetails(TypedDict, total=False):
    """Further arguments of what only closes, as `order` takes them."""

    tif: str | None
    cl_ord_id: int | None
    parent_ord_id: int | None
    slippage: Amount | None


class Details(ExitDetails, total=False):
    """Further arguments of the functions that make an order, as `order` takes them."""

    reduce_only: bool | str | None
    trigger_price: Amount | None
    trigger_by: str | None
    type: str | None


class DetailsWithExits(Details, total=False):
    """The same with a take-profit and a stop-loss."""

    tp: Amount | Order | None
    sl: Amount | Order | None


@no_keys
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
    """Return an order, or a Bracket with `tp` or `sl`. The other functions of this module are shorter forms of it.

    Parameters
    ----------
    symbol : str or int
        Symbol or code of the product.
    side : str
        BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE, in any case.
    quantity : int, str, Decimal or float
        Base units, exact text, a whole number or Decimal.
    price : int, str, Decimal or float, optional
        Limit price in USDC (default: none, a market order).
    tif : str, optional
        GTC, IOC, FOK or POST_ONLY (default: GTC with a price, else IOC).
    reduce_only : bool or str, optional
        True (REDUCE_ONLY), TP_FROM_POSITION or SL_FROM_POSITION (default: none).
    cl_ord_id : int, optional
        Your id of the order (default: one is made).
    parent_ord_id : int, optional
        Id of the order whose exit it is (default: none).
    trigger_price : int, str, Decimal or float, optional
        Price in USDC that triggers an exit (default: none).
    trigger_by : str, optional
        Price that is compared with the trigger price: LAST_PRICE, MARK_PRICE or INDEX_PRICE (default: LAST_PRICE).
    slippage : int, str, Decimal or float, optional
        Largest distance of a market order's price from the last price, a ratio (default: 0.03).
    type : str, optional
        LIMIT or MARKET (default: by the price). STOP_LIMIT, STOP_MARKET, TAKE_PROFIT_LIMIT and TAKE_PROFIT_MARKET make
        a conditional order with `trigger_price`, which only a builder can place (`toolkit.Builder`).
    tp, sl : int, str, Decimal, float or Order, optional
        Take-profit and stop-loss of a bracket: trigger prices in USDC, or orders (default: none).

    Returns
    -------
    Order or Bracket

    Raises
    ------
    InputError
        For an argument that breaks a rule. It names the field.

    Examples
    --------
    >>> orders.order("BTCUSDC", "BUY", "0.01", "60000", tif="POST_ONLY")
    <Order BUY 0.01 BTCUSDC at 60000 POST_ONLY>
    """
    chosen = _one_of(side, SIDES, "side")
    conditional = None if type is None else _conditional_type(type, price, trigger_price)
    made = Order(
        symbol=symbol,
        side=chosen,
        quantity=_unsigned(quantity, "quantity", chosen),
        price=None if price is None else _unsigned(price, "price", chosen),
        tif=_one_of(tif or ("IOC" if price is None else "GTC"), TIMES_IN_FORCE, "tif"),
        reduce_only=None if reduce_only is None else _reduce_only(reduce_only),
        cl_ord_id=None if cl_ord_id is None else identifier(cl_ord_id, "cl_ord_id"),
        parent_ord_id=None if parent_ord_id is None else identifier(parent_ord_id, "parent_ord_id"),
        trigger_price=None if trigger_price is None else decimal_text(trigger_price, "trigger_price"),
        trigger_by=None if trigger_by is None else _one_of(trigger_by, TRIGGERS, "trigger_by"),
        slippage=None if slippage is None else decimal_text(slippage, "slippage"),
        conditional=conditional,
    )
    for name, exit_price in (("tp", tp), ("sl", sl)):
        if exit_price is not None and not isinstance(exit_price, Order):
            read_positive(exit_price, name)
    if tp is None and sl is None:
        return made
    return bracket(made, take_profit=tp, stop_loss=sl)


def _conditional_type(kind: str, price: Amount | None, trigger: Amount | None) -> ConditionalType | None:
    """Return the type of a builder's conditional order, None for LIMIT and MARKET. Raises InputError."""
    name: str = _one_of(kind, ("LIMIT", "MARKET", *BUILDER_TYPES), "type")
    if name.endswith("MARKET") != (price is None):
        advice = "leave price out" if price is not None else "give a price"
        raise InputError(f"a {name} order: {advice}", field="price", rule=name, value=price)
    if name not in BUILDER_TYPES:
        return None
    if trigger is None:
        raise InputError(f"a {name} order: give a trigger_price", field="trigger_price", rule=name, value=None)
    return cast(ConditionalType, name)


@overload
def buy(
    symbol: str | int, quantity: Amount, price: Amount | None = ..., *, tp: Amount | Order, **options: Unpack[Details]
) -> Bracket: ...
@overload
def buy(
    symbol: str | int, quantity: Amount, price: Amount | None = ..., *, sl: Amount | Order, **options: Unpack[Details]
) -> Bracket: ...
@overload
def buy(symbol: str | int, quantity: Amount, price: Amount | None = ..., **options: Unpack[Details]) -> Order: ...
@no_keys
def buy(
    symbol: str | int, quantity: Amount, price: Amount | None = None, **options: Unpack[DetailsWithExits]
) -> Order | Bracket:
    """Return a buy order: at a limit price, or at market without one.

    Parameters
    ----------
    symbol : str or int
        Symbol or code of the product.
    quantity : int, str, Decimal or float
        Quantity in base units: exact text, a whole number, Decimal or exact float.
    price : int, str, Decimal or float, optional
        Limit price in USDC (default: none, a market order).
    **options : object
        Further arguments of `order`, such as `tif` or `cl_ord_id`.

    Returns
    -------
    Order or Bracket
        A Bracket with the options `tp` or `sl`.

    Raises
    ------
    InputError
        For an argument that breaks a rule. It names the field.

    Examples
    --------
    >>> orders.buy("BTCUSDC", "0.01", "60000")
    <Order BUY 0.01 BTCUSDC at 60000>
    """
    return order(symbol, "BUY", quantity, price, **options)


@overload
def sell(
    symbol: str | int, quantity: Amount, price: Amount | None = ..., *, tp: Amount | Order, **options: Unpack[Details]
) -> Bracket: ...
@overload
def sell(
    symbol: str | int, quantity: Amount, price: Amount | None = ..., *, sl: Amount | Order, **options: Unpack[Details]
) -> Bracket: ...
@overload
def sell(symbol: str | int, quantity: Amount, price: Amount | None = ..., **options: Unpack[Details]) -> Order: ...
@no_keys
def sell(
    symbol: str | int, quantity: Amount, price: Amount | None = None, **options: Unpack[DetailsWithExits]
) -> Order | Bracket:
    """Return a sell order: at a limit price, or at market without one.

    Parameters
    ----------
    symbol : str or int
        Symbol or code of the product.
    quantity : int, str, Decimal or float
        Quantity in base units: exact text, a whole number, Decimal or exact float.
    price : int, str, Decimal or float, optional
        Limit price in USDC (default: none, a market order).
    **options : object
        Further arguments of `order`, such as `tif` or `cl_ord_id`.

    Returns
    -------
    Order or Bracket
        A Bracket with the options `tp` or `sl`.

    Raises
    ------
    InputError
        For an argument that breaks a rule. It names the field.

    Examples
    --------
    >>> orders.sell("BTCUSDC", "0.01", "60000", tp="55000")
    <Bracket SELL 0.01 BTCUSDC at 60000 | take profit 55000>
    """
    return order(symbol, "SELL", quantity, price, **options)


@overload
def limit(
    symbol: str | int, side: str, quantity: Amount, price: Amount, *, tp: Amount | Order, **options: Unpack[Details]
) -> Bracket: ...
@overload
def limit(
    symbol: str | int, side: str, quantity: Amount, price: Amount, *, sl: Amount | Order, **options: Unpack[Details]
) -> Bracket: ...
@overload
def limit(symbol: str | int, side: str, quantity: Amount, price: Amount, **options: Unpack[Details]) -> Order: ...
@no_keys
def limit(
    symbol: str | int, side: str, quantity: Amount, price: Amount, **options: Unpack[DetailsWithExits]
) -> Order | Bracket:
    """Return a limit order.

    Parameters
    ----------
    symbol : str or int
        Symbol or code of the product.
    side : str
        BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE, in any case.
    quantity : int, str, Decimal or float
        Quantity in base units: exact text, a whole number, Decimal or exact float.
    price : int, str, Decimal or float
        Limit price in USDC.
    **options : object
        Further arguments of `order`, such as `tif` or `cl_ord_id`.

    Returns
    -------
    Order or Bracket
        A Bracket with the options `tp` or `sl`.

    Raises
    ------
    InputError
        For an argument that breaks a rule. It names the field.

    Examples
    --------
    >>> orders.limit("BTCUSDC", "BUY", "0.01", "60000")
    <Order BUY 0.01 BTCUSDC at 60000>
    """
    return order(symbol, side, quantity, price, **options)


@overload
def market(
    symbol: str | int, side: str, quantity: Amount, *, tp: Amount | Order, **options: Unpack[Details]
) -> Bracket: ...
@overload
def market(
    symbol: str | int, side: str, quantity: Amount, *, sl: Amount | Order, **options: Unpack[Details]
) -> Bracket: ...
@overload
def market(symbol: str | int, side: str, quantity: Amount, **options: Unpack[Details]) -> Order: ...
@no_keys
def market(symbol: str | int, side: str, quantity: Amount, **options: Unpack[DetailsWithExits]) -> Order | Bracket:
    """Return a market order: IOC unless `tif="FOK"`.

    Parameters
    ----------
    symbol : str or int
        Symbol or code of the product.
    side : str
        BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE, in any case.
    quantity : int, str, Decimal or float
        Quantity in base units: exact text, a whole number, Decimal or exact float.
    **options : object
        Further arguments of `order`, such as `tif` or `cl_ord_id`.

    Returns
    -------
    Order or Bracket
        A Bracket with the options `tp` or `sl`.

    Raises
    ------
    InputError
        For an argument that breaks a rule. It names the field.

    Examples
    --------
    >>> orders.market("BTCUSDC", "SELL", "0.01", slippage="0.01")
    <Order SELL 0.01 BTCUSDC at market slippage 0.01>
    """
    return order(symbol, side, quantity, None, **options)


@no_keys
def stop(
    symbol: str | int,
    side: str,
    trigger: Amount,
    quantity: Amount = 0,
    price: Amount | None = None,
    *,
    trigger_by: str = "MARK_PRICE",
    **options: Unpack[ExitDetails],
) -> Order:
    """Return a stop-loss of a position.

    Parameters
    ----------
    symbol : str or int
        Symbol or code of the product.
    side : str
        SELL for a long, BUY for a short.
    trigger : int, str, Decimal or float
        Price in USDC that triggers it.
    quantity : int, str, Decimal or float, optional
        Quantity in base units (default: the whole position at the time of the trigger).
    price : int, str, Decimal or float, optional
        Limit price in USDC (default: at market).
    trigger_by : str, optional
        Price that is compared with `trigger`: LAST_PRICE, MARK_PRICE or INDEX_PRICE (default: MARK_PRICE).
    **options : object
        As in `order`.

    Returns
    -------
    Order

    Raises
    ------
    InputError
        For an argument that breaks a rule. It names the field.

    Examples
    --------
    >>> orders.stop("BTCUSDC", "SELL", "57000")
    <Order SELL all of BTCUSDC at market when mark reaches 57000 as stop-loss of the position>
    """
    when: dict[str, Any] = {"trigger_price": trigger, "trigger_by": trigger_by}
    return _without_legs(order(symbol, side, quantity, price, reduce_only="SL_FROM_POSITION", **when, **options))


@no_keys
def take_profit(
    symbol: str | int,
    side: str,
    trigger: Amount,
    quantity: Amount = 0,
    price: Amount | None = None,
    *,
    trigger_by: str = "MARK_PRICE",
    **options: Unpack[ExitDetails],
) -> Order:
    """Return a take-profit of a position.

    Parameters
    ----------
    symbol : str or int
        Symbol or code of the product.
    side : str
        SELL for a long, BUY for a short.
    trigger : int, str, Decimal or float
        Price in USDC that triggers it.
    quantity : int, str, Decimal or float, optional
        Quantity in base units (default: the whole position at the time of the trigger).
    price : int, str, Decimal or float, optional
        Limit price in USDC (default: at market).
    trigger_by : str, optional
        Price that is compared with `trigger`: LAST_PRICE, MARK_PRICE or INDEX_PRICE (default: MARK_PRICE).
    **options : object
        Further arguments of `order`, such as `tif` or `cl_ord_id`.

    Returns
    -------
    Order

    Raises
    ------
    InputError
        For an argument that breaks a rule. It names the field.

    Examples
    --------
    >>> orders.take_profit("BTCUSDC", "SELL", "66000", "0.01")
    <Order SELL 0.01 BTCUSDC at market when mark reaches 66000 as take-profit of the position>
    """
    when: dict[str, Any] = {"trigger_price": trigger, "trigger_by": trigger_by}
    return _without_legs(order(symbol, side, quantity, price, reduce_only="TP_FROM_POSITION", **when, **options))


def _without_legs(made: Order | Bracket) -> Order:
    if isinstance(made, Order):
        return made
    raise InputError("tp and sl belong to an order that opens a position alone", field="tp", rule="bracket", value=made)


@no_keys
def bracket(
    entry: Order | Bracket, *, take_profit: Amount | Order | None = None, stop_loss: Amount | Order | None = None
) -> Bracket:
    """Return an order with exits. They close what the order opens. When one of them has closed it, the other is
    cancelled.

    Parameters
    ----------
    entry : Order or Bracket
        Order that opens the position.
    take_profit, stop_loss : int, str, Decimal, float or Order, optional
        Trigger price in USDC, or an order (default: none). At least one of them is needed.

    Returns
    -------
    Bracket

    Raises
    ------
    InputError
        For an entry that is a bracket already, and for an order that does not close the entry.

    Examples
    --------
    >>> orders.bracket(orders.buy("BTCUSDC", "0.01"), take_profit="66000", stop_loss="57000")
    <Bracket BUY 0.01 BTCUSDC at market | take profit 66000 | stop loss 57000>
    """
    if isinstance(entry, Bracket):
        raise InputError(f"{entry!r} is a bracket already", field="entry", rule="Order", value=entry)
    return Bracket(entry, _exit(entry, take_profit, "TP_FROM_POSITION"), _exit(entry, stop_loss, "SL_FROM_POSITION"))


def _exit(entry: Order, given: Amount | Order | None, kind: str) -> Order | None:
    if given is None or isinstance(given, Order):
        return given
    make = stop if kind == "SL_FROM_POSITION" else take_profit
    return make(entry.symbol, side_of(-sign_of(entry.side)), given, entry.quantity)


def _check_leg(entry: Order, leg: Order, kind: str, name: str) -> None:
    """Raise InputError for a leg that does not close the entry, or that its one product and kind would not carry."""
    closing = side_of(-sign_of(entry.side))
    # In hedge mode the side that closes has its own name.
    expected = (
        ("side", sign_of(leg.side) == sign_of(closing), leg.side, closing, f"a {entry.side} order"),
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


@no_keys
def close_position(
    symbol: str | int, size: Amount, price: Amount | None = None, *, hedge: bool = False, **options: Unpack[ExitDetails]
) -> Order:
    """Return the reduce-only order that closes a position. `session.close_position` reads its size from the venue.

    Parameters
    ----------
    symbol : str or int
        Symbol or code of the product.
    size : int, str, Decimal or float
        Size of the position in base units, negative for a short.
    price : int, str, Decimal or float, optional
        Limit price in USDC (default: at market).
    hedge : bool, optional
        True in hedge mode, where its side closes a leg, such as SELL_CLOSE_HEDGE (default: False).
    **options : object
        Further arguments of `order`, such as `tif` or `cl_ord_id`.

    Returns
    -------
    Order

    Raises
    ------
    InputError
        For an argument that breaks a rule. It names the field.

    Examples
    --------
    >>> orders.close_position("BTCUSDC", "-0.01")
    <Order BUY 0.01 BTCUSDC at market reduce-only>
    """
    held = exact(size, "size")
    if held == 0:
        raise InputError("there is no position to close: size is 0", field="size", rule="not zero", value=size)
    text = decimal_text(size, "size").removeprefix("-")
    made = _without_legs(order(symbol, side_of(-held), text, price, reduce_only=True, **options))
    return made.in_mode(hedge)


@overload
def scale(
    product: Product,
    side: str,
    quantity: Amount,
    *,
    first: Amount,
    last: Amount,
    count: int,
    weights: Sequence[Amount] | None = ...,
    rounding: Direction | None = ...,
    **options: Unpack[Details],
) -> list[Order]: ...
@overload
def scale(
    product: str | int,
    side: str,
    quantity: Amount,
    *,
    first: Amount,
    last: Amount,
    count: int,
    weights: Sequence[Amount] | None = ...,
    rounding: Direction | None = ...,
    **options: Unpack[Details],
) -> Ladder: ...
@no_keys
def scale(
    product: Product | str | int,
    side: str,
    quantity: Amount,
    *,
    first: Amount,
    last: Amount,
    count: int,
    weights: Sequence[Amount] | None = None,
    rounding: Direction | None = None,
    **options: Unpack[Details],
) -> list[Order] | Ladder:
    """Return a ladder: limit orders at evenly spaced prices.

    Parameters
    ----------
    product : Product, str or int
        A Product, of which the orders are returned, or a symbol or code, of which a Ladder for `session.place` is.
    side : str
        BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE, in any case.
    quantity : int, str, Decimal or float
        Quantity of all orders together, in base units. It is split into whole steps, and adds up exactly.
    first : int, str, Decimal or float
        Price of the first order in USDC.
    last : int, str, Decimal or float
        Price of the last order in USDC.
    count : int
        Number of orders.
    weights : sequence of int, str, Decimal or float, optional
        Relative quantities of the orders (default: all equal).
    rounding : {"down", "up", "nearest"}, optional
        Direction in which prices between ticks are rounded (default: they are an error).
    **options : object
        As in `order`.

    Returns
    -------
    list of Order or Ladder

    Raises
    ------
    InputError
        For an argument that breaks a rule. It names the field.

    Examples
    --------
    >>> ladder = orders.scale(session.product("BTCUSDC"), "BUY", "0.03", first="60000", last="58000", count=3)
    >>> [each.describe() for each in ladder]
    ['BUY 0.010 BTCUSDC at 60000.0', 'BUY 0.010 BTCUSDC at 59000.0', 'BUY 0.010 BTCUSDC at 58000.0']
    """
    symbol, side = product.symbol if isinstance(product, Product) else product, _one_of(side, SIDES, "side")

    def one(size: str, price: str) -> Order:
        return _without_legs(order(symbol, side, size, price, **options))

    shares = None if weights is None else tuple(weights)
    made = Ladder(symbol, side, quantity, first, last, count, shares, rounding, one)
    return made.orders(product) if isinstance(product, Product) else made


@dataclass(frozen=True, slots=True, repr=False)
class Twap(Shape):
    """A quantity traded in equal parts over a time (time-weighted average price). Create it with `twap`.

    Parameters
    ----------
    symbol : str or int
        Symbol or code of the product.
    side : {"BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"}
        Side of the child orders.
    quantity : str
        Quantity of all child orders together, in base units.
    duration_ms : int
        Time from the first to the last child order, in ms.
    slices : int
        Number of child orders.
    price : str, optional
        Limit price of each child order in USDC (default: None, at market).
    slippage : str, optional
        Largest distance of their price from the last price at market, a ratio (default: None, the venue's 0.03).
    reduce_only : bool, optional
        True if they may only close a position (default: False).
    """

    symbol: str | int
    side: Side
    quantity: str
    duration_ms: int
    slices: int
    price: str | None = None
    slippage: str | None = None
    reduce_only: bool = False

    @property
    def interval_ms(self) -> int:
        """Time between two child orders."""
        return self.duration_ms // (self.slices - 1)

    def in_mode(self, hedge: bool) -> Twap:
        """Return the TWAP as an account in hedge mode trades it, see `Order.in_mode`.

        Parameters
        ----------
        hedge : bool
            Whether the account is in hedge mode.

        Returns
        -------
        Twap

        Examples
        --------
        >>> made = orders.twap("BTCUSDC", "SELL", "0.1", "10m", slices=5, reduce_only=True)
        >>> made.in_mode(hedge=True).side
        'SELL_CLOSE_HEDGE'
        """
        side, reduce_only = in_mode(self.side, "REDUCE_ONLY" if self.reduce_only else None, hedge)
        return replace(self, side=side, reduce_only=reduce_only is not None)

    def child(self, quantity: Decimal) -> Order:
        """Return a child order: IOC, so that what finds no price is left to the next one.

        Parameters
        ----------
        quantity : Decimal
            Its quantity in base units.

        Returns
        -------
        Order
        """
        reduce_only: ReduceOnly | None = "REDUCE_ONLY" if self.reduce_only else None
        return Order(
            self.symbol, self.side, format(quantity, "f"), self.price, "IOC", reduce_only, slippage=self.slippage
        )

    def due(self, product: Product, done: int) -> Decimal:
        """Return the quantity that is to be traded by the time that some child orders were placed.

        Parameters
        ----------
        product : Product
            The product that it is for.
        done : int
            Number of child orders that were placed.

        Returns
        -------
        Decimal
            In base units, a multiple of the product's step.
        """
        return product.step_size * (product.steps(self.quantity) * min(done, self.slices) // self.slices)

    def failures(self, product: Product) -> list[Failure]:
        smallest = self.due(product, 1)
        if not smallest:
            most = product.steps(self.quantity)
            raise InputError(
                f"quantity {self.quantity} can't be divided into {self.slices} orders of at least {product.step_size}",
                field="slices", rule=ProductRule.STEP_SIZE, value=self.slices, nearest=(str(most),) if most > 1 else (),
            )  # fmt: skip
        return self.child(smallest).failures(product)

    def describe(self) -> str:
        at = "at market" if self.price is None else f"at {self.price} or better"
        words = f"{self.side} {self.quantity} {self.symbol} {at} in {self.slices} orders over "
        words += str(timedelta(milliseconds=self.duration_ms))
        return words + (" reduce-only" if self.reduce_only else "")


SLICE_MS = 30_000
"""Time between the child orders of a TWAP whose number is not given."""
MAX_SLICES = 500


@no_keys
def twap(
    symbol: str | int,
    side: str,
    quantity: Amount,
    duration: Span,
    *,
    slices: int | None = None,
    price: Amount | None = None,
    slippage: Amount | None = None,
    reduce_only: bool = False,
) -> Twap:
    """Return a TWAP: a quantity traded in equal child orders, evenly from now on. `session.twap` places them.

    Parameters
    ----------
    symbol : str or int
        Symbol or code of the product.
    side : str
        BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE, in any case.
    quantity : int, str, Decimal or float
        Quantity of all child orders together, in base units.
    duration : str or timedelta
        Span from the first child order to the last, such as "30m" or a timedelta.
    slices : int, optional
        Number of child orders, 2 to 500 (default: one each 30 s).
    price : int, str, Decimal or float, optional
        Worst price in USDC (default: at market).
    slippage : int, str, Decimal or float, optional
        Largest distance from the last price at market, a ratio (default: 0.03).
    reduce_only : bool, optional
        True if they may only close a position (default: False).

    Returns
    -------
    Twap

    Raises
    ------
    InputError
        For an argument that breaks a rule. It names the field.

    Examples
    --------
    >>> orders.twap("BTCUSDC", "BUY", "1", "30m", slices=10)
    <Twap BUY 1 BTCUSDC at market in 10 orders over 0:30:00>
    """
    span_ms = milliseconds(duration, "duration")
    chosen = min(max(span_ms // SLICE_MS + 1, 2), MAX_SLICES) if slices is None else slices
    if not 2 <= chosen <= MAX_SLICES:
        raise InputError(
            f"slices {chosen} must be 2 to {MAX_SLICES}", field="slices", rule="number", value=chosen,
            nearest=(str(min(max(chosen, 2), MAX_SLICES)),),
        )  # fmt: skip
    if span_ms < (chosen - 1) * 1000:
        what = f"duration {duration!r} is less than a second for each of {chosen} orders"
        raise InputError(what, field="duration", rule="minimum", value=duration, nearest=(f"{chosen - 1}s",))
    if price is not None and slippage is not None:
        raise InputError("slippage is for orders at market. Leave price or slippage out", field="slippage")
    return Twap(
        symbol, _one_of(side, SIDES, "side"), decimal_text(quantity, "quantity"), span_ms, chosen,
        None if price is None else decimal_text(price, "price"),
        None if slippage is None else decimal_text(slippage, "slippage"), bool(reduce_only),
    )  # fmt: skip


def _one_of(value: str, known: tuple[str, ...], name: str) -> Any:
    if isinstance(value, str) and value.upper() in known:
        return value.upper()
    message = f"{name} {value!r} is not known. Use {', '.join(known)}{meant(value, known)}"
    raise InputError(message, field=name, rule="known", value=value, nearest=known)


def _unsigned(value: Amount, name: str, side: str) -> str:
    text = decimal_text(value, name)
    if not text.startswith("-") and (name == "quantity" or text.strip("0.")):
        return text
    other = "sell" if sign_of(side) > 0 else "buy"
    advice = f"To {other}, use {other}" if name == "quantity" else "Leave price out for a market order"
    raise InputError(f"{name} {text} is not above 0. {advice}", field=name, rule="sign", value=value)


def _reduce_only(value: bool | str) -> ReduceOnly | None:
    if isinstance(value, str):
        kind: ReduceOnly = _one_of(value, REDUCE_ONLY, "reduce_only")
        return kind
    require(value, bool, "reduce_only", f"True, False, or one of {', '.join(REDUCE_ONLY)}")
    return "REDUCE_ONLY" if value else None
