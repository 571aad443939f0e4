"""Product: one listed market, with its exact steps and limits.

Users see text and Decimal. The venue computes in integers: prices in ticks, quantities in steps, money in micro-USDC.
`unit` is the value of one tick times one step.
"""

from __future__ import annotations

import math
import numbers
import operator
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Literal, Self, TypeVar

from .errors import InputError, UnknownProduct
from .numerals import FLOAT_DIGITS, MAX_DIGITS, fixed_text, meanings, read_amount, read_positive, shown
from .protocol.reads.product_rows import (
    CHECKS,
    META,
    OPTIONAL_RULE,
    TIER,
    TIER_LEVERAGE,
    TIERS,
    Tell,
    checksum_of,
    key_of,
    margin_tables,
    on_wire,
    product_rows,
    read_row,
    read_tiers,
    unread,
    warned,
)
from .protocol.reads.product_rows import ProductRule as ProductRule

Direction = Literal["down", "up", "nearest"]
Amount = int | str | Decimal | float
"""A price or quantity as users write it. A float must be exact as written (see `exact`)."""

_ROUNDING = {"down": ROUND_FLOOR, "up": ROUND_CEILING, "nearest": ROUND_HALF_EVEN}
_PLAIN = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_MICRO_PLACES = 6
MICRO = 1_000_000
"""Micro-USDC in one USDC."""

MAX_PRICE = Decimal(999_999)
"""Highest price an order may have (docs/published.md, "Trading rules")."""


# Prices and quantities of a market repeat, and every order is parsed by the client and by the venue.
@lru_cache(maxsize=1 << 14)
def whole_units(text: str, places: int, size: int) -> int:
    """Return a plain decimal text as a multiple of a step. −1 if it is not plain, or not a multiple.

    Plain means as `numerals.plain_decimal`: what may be signed.

    Parameters
    ----------
    text : str
        The text.
    places : int
        Decimals of the step.
    size : int
        The step in units of 10^−places.
    """
    whole, _, part = text.partition(".")
    missing = places - len(part)
    if missing < 0:
        if part[places:].strip("0"):
            return -1
        digits = whole + part[:places]
    else:
        digits = whole + part + "0" * missing
    # `isdecimal` alone accepts digits of other scripts, which the venue would refuse.
    if not (digits.isdecimal() and digits.isascii() and whole) or len(text) > MAX_DIGITS or text[-1] == ".":
        return -1
    count = int(digits)
    if size == 1:
        return count
    count, rest = divmod(count, size)
    return -1 if rest else count


MarginTables = dict[int, list[dict[str, str]]]
"""Number of a margin table → its `riskLimitVo` rows, as on the wire."""


def _scale(size: Decimal) -> tuple[int, int]:
    _, digits, exponent = size.as_tuple()
    places = int(exponent)
    number = int("".join(map(str, digits)))
    return (-places, number) if places < 0 else (0, number * _power(places))


def _multiples(amount: Decimal, scale: tuple[int, int]) -> int:
    """Return how many whole sizes of a `scale` an amount has. In integers, whatever the caller's decimal context."""
    places, number = _scale(amount)
    return number * _power(scale[0]) // (scale[1] * _power(places))


def _multiples_up(amount: Decimal, scale: tuple[int, int]) -> int:
    """Return the smallest number of sizes of a `scale` that is not below an amount."""
    places, number = _scale(amount)
    return -(-number * _power(scale[0]) // (scale[1] * _power(places)))


def _power(places: int) -> int:
    return int(10**places)


@dataclass(frozen=True, slots=True)
class MarginTier:
    """One row of a margin table.

    Parameters
    ----------
    floor : Decimal
        Notional in USDC above which the row applies.
    maintenance_rate : Decimal
        Maintenance margin, a ratio of the notional.
    max_leverage : Decimal or None
        Highest leverage. None if the row has none of its own, or the venue does not say it.
    """

    floor: Decimal
    maintenance_rate: Decimal
    max_leverage: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Product:
    """One listed market. Fields follow ProductMeta (docs/published.md, "Info API"). Rates are ratios, amounts USDC.

    The first five are always known, and suffice to trade. Any other one is None where the venue does not say it. What
    needs it is then not checked, see `unchecked`.

    Parameters
    ----------
    code : int
        Number of the market on the wire.
    symbol : str
        Symbol, such as "BTCUSDC".
    tick_size : Decimal
        Smallest step of a price, in USDC.
    step_size : Decimal
        Smallest step of a quantity, in base units.
    min_order_value : Decimal
        Smallest value in USDC of an order that may open a position.
    name : str, optional
        A longer name (default: None).
    price_precision : int, optional
        Decimals of prices (default: None).
    quantity_precision : int, optional
        Decimals of quantities (default: None).
    max_leverage : Decimal, optional
        Highest leverage (default: None).
    max_order_quantity : Decimal, optional
        Largest quantity of an order, in base units (default: None).
    max_slippage_pct : Decimal, optional
        Largest slippage of a market order, a ratio (default: None).
    max_position_notional : Decimal, optional
        Largest position in USDC (default: None).
    minimum_price : Decimal, optional
        Lowest limit price in USDC (default: None). Few venues have one.
    funding_interval : int, optional
        Seconds between funding settlements (default: None).
    maker_fee_rate : Decimal, optional
        Fee of a fill as maker, a ratio of its value (default: None).
    taker_fee_rate : Decimal, optional
        Fee of a fill as taker, a ratio of its value (default: None).
    margin_table_id : int, optional
        Number of its margin table (default: None).
    tiers : tuple of MarginTier, optional
        Rows of its margin table (default: None).
    list_status : str, optional
        "listed" if it can be traded (default: None).
    only_isolated : bool, optional
        True without cross margin (default: None).
    product_type : str, optional
        Type, such as "perpetual" (default: None).
    base_currency : str, optional
        Currency that it trades (default: None).
    quote_currency : str, optional
        Currency of its prices (default: None).
    settle_currency : str, optional
        Currency that it settles in (default: None).
    currency_code : int, optional
        Number of that currency on the wire (default: None).

    Examples
    --------
    >>> session.product("BTCUSDC").tick_size
    Decimal('0.1')
    """

    code: int
    symbol: str
    tick_size: Decimal
    step_size: Decimal
    min_order_value: Decimal
    name: str | None = None
    price_precision: int | None = None
    quantity_precision: int | None = None
    max_leverage: Decimal | None = None
    max_order_quantity: Decimal | None = None
    max_slippage_pct: Decimal | None = None
    max_position_notional: Decimal | None = None
    minimum_price: Decimal | None = None
    funding_interval: int | None = None
    maker_fee_rate: Decimal | None = None
    taker_fee_rate: Decimal | None = None
    margin_table_id: int | None = None
    tiers: tuple[MarginTier, ...] | None = None
    list_status: str | None = None
    only_isolated: bool | None = None
    product_type: str | None = None
    base_currency: str | None = None
    quote_currency: str | None = None
    settle_currency: str | None = None
    currency_code: int | None = None

    money_scale: int = field(init=False, repr=False)
    """Parts of a USDC in which values are counted: MICRO, or more where one tick times one step is finer."""
    unit: int = field(init=False, repr=False)
    """One tick times one step, in parts of `money_scale`."""
    max_steps: int | None = field(init=False, repr=False)
    """max_order_quantity in steps."""
    min_value: int = field(init=False, repr=False)
    """min_order_value in parts of `money_scale`, rounded up."""
    max_notional: int | None = field(init=False, repr=False)
    """max_position_notional in micro-USDC."""
    max_slippage: int | None = field(init=False, repr=False)
    """max_slippage_pct in parts of 1e-8, rounded down."""
    min_price: int = field(init=False, repr=False)
    """minimum_price in ticks, rounded up. 1 without one."""
    max_price: int = field(init=False, repr=False)
    """MAX_PRICE in ticks."""
    listed: bool = field(init=False, repr=False)
    """False where the venue says that it accepts no orders. A status that is missing or a number does not say so."""
    tick_scale: tuple[int, int] = field(init=False, repr=False)
    """tick_size as (decimals, whole number of them): 0.25 is (2, 25)."""
    step_scale: tuple[int, int] = field(init=False, repr=False)
    """step_size in the same form."""

    def __post_init__(self) -> None:
        for name in ("tick_size", "step_size"):
            read_positive(getattr(self, name), META[name][0])
        read_amount(self.min_order_value, ProductRule.MIN_VALUE)
        tick, step = _scale(self.tick_size), _scale(self.step_size)
        places, unit = tick[0] + step[0], tick[1] * step[1]
        # Sizes may be written with zeros at the end, such as 0.10.
        while places > _MICRO_PLACES and unit % 10 == 0:
            places, unit = places - 1, unit // 10
        finest = max(places, _MICRO_PLACES)
        quantity, slippage, status = self.max_order_quantity, self.max_slippage_pct, self.list_status
        notional = self.max_position_notional
        put = object.__setattr__  # the dataclass is frozen
        put(self, "tick_scale", tick)
        put(self, "step_scale", step)
        put(self, "money_scale", _power(finest))
        put(self, "unit", unit * _power(finest - places))
        put(self, "max_steps", None if quantity is None else _multiples(quantity, step))
        # Up: an order just below the minimum must not pass.
        put(self, "min_value", _multiples_up(self.min_order_value, (finest, 1)))
        put(self, "max_notional", None if notional is None else _multiples(notional, (_MICRO_PLACES, 1)))
        put(self, "max_slippage", None if slippage is None else _multiples(slippage, (8, 1)))
        put(self, "min_price", max(1, _multiples_up(self.minimum_price or Decimal(0), tick)))
        put(self, "max_price", _multiples(MAX_PRICE, tick))
        # Which number means what is not published, so a number is left to the venue.
        put(self, "listed", status is None or status.casefold() == "listed" or bool(_PLAIN.fullmatch(status)))

    def __repr__(self) -> str:
        listed = "" if self.listed else f", {self.list_status}"
        most = "" if self.max_leverage is None else f", up to {self.max_leverage}x"
        return (
            f"<Product {self.symbol} (code {self.code}): tick {self.tick_size:f}, step {self.step_size:f}, "
            f"at least {self.min_order_value:f} USDC{most}{listed}>"
        )

    @property
    def base(self) -> str:
        """The name of a unit of quantity: the base currency, or the symbol where that is not known."""
        return self.base_currency or self.symbol

    @property
    def missing(self) -> tuple[str, ...]:
        """Names on the wire of the published fields that are not known, marginTableId without `tiers` too."""
        absent = [wire for name, (wire, _) in META.items() if name != OPTIONAL_RULE and getattr(self, name) is None]
        if self.tiers is None and TIERS not in absent:
            absent.append(TIERS)
        if any(tier.max_leverage is None for tier in self.tiers or ()):
            absent.append(TIER_LEVERAGE)
        return tuple(absent)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Those of the `missing` fields that a check needs. `CHECKS` has the words for it."""
        return tuple(wire for wire in self.missing if wire in CHECKS)

    def ticks(self, price: str | Decimal) -> int:
        """Return a price in ticks.

        Parameters
        ----------
        price : str or Decimal
            Price in USDC.

        Returns
        -------
        int

        Raises
        ------
        InputError
            Unless it is a plain decimal and a multiple of tick_size.

        Examples
        --------
        >>> session.product("BTCUSDC").ticks("60000.5")
        600005
        """
        return self._whole(price, self.tick_scale, "price", ProductRule.TICK_SIZE, self.tick_size)

    def steps(self, quantity: str | Decimal) -> int:
        """Return a quantity in steps.

        Parameters
        ----------
        quantity : str or Decimal
            Quantity in base units.

        Returns
        -------
        int

        Raises
        ------
        InputError
            Unless it is a plain decimal and a multiple of step_size.

        Examples
        --------
        >>> session.product("BTCUSDC").steps("0.01")
        10
        """
        return self._whole(quantity, self.step_scale, "quantity", ProductRule.STEP_SIZE, self.step_size)

    def _whole(self, value: str | Decimal, scale: tuple[int, int], what: str, rule: str, size: Decimal) -> int:
        count = whole_units(value if isinstance(value, str) else format(value, "f"), *scale)
        if count < 0:
            message = f"{what} {value} is not a multiple of {rule} {size:f}"
            raise InputError(message, field=what, rule=rule, value=str(value))
        return count

    def price_text(self, ticks: int) -> str:
        """Return a price as decimal text, with the decimals of tick_size.

        Parameters
        ----------
        ticks : int
            Price in ticks.

        Returns
        -------
        str

        Examples
        --------
        >>> session.product("BTCUSDC").price_text(600_000)
        '60000.0'
        """
        places, size = self.tick_scale
        return fixed_text(ticks * size, places)

    def quantity_text(self, steps: int) -> str:
        """Return a quantity as decimal text, with the decimals of step_size.

        Parameters
        ----------
        steps : int
            Quantity in steps.

        Returns
        -------
        str

        Examples
        --------
        >>> session.product("BTCUSDC").quantity_text(10)
        '0.010'
        """
        places, size = self.step_scale
        return fixed_text(steps * size, places)

    def round_price(self, price: Amount, direction: Direction) -> Decimal:
        """Return a price rounded to a multiple of tick_size.

        A computed float counts with its first 15 digits, so that 0.1 + 0.2 rounds up to 0.3.

        Parameters
        ----------
        price : int, str, Decimal or float
            Price in USDC.
        direction : {"down", "up", "nearest"}
            "down", "up" or "nearest".

        Returns
        -------
        Decimal
            In USDC.

        Raises
        ------
        InputError
            For another direction or a value that is not a number.

        Examples
        --------
        >>> session.product("BTCUSDC").round_price("60000.07", "up")
        Decimal('60000.1')
        """
        return _rounded(price, self.tick_size, direction, "price")

    def round_quantity(self, quantity: Amount, direction: Direction) -> Decimal:
        """Return a quantity rounded to a multiple of step_size, as `round_price` does.

        Parameters
        ----------
        quantity : int, str, Decimal or float
            Quantity in base units.
        direction : {"down", "up", "nearest"}
            "down", "up" or "nearest".

        Returns
        -------
        Decimal
            In base units.

        Raises
        ------
        InputError
            For another direction or a value that is not a number.

        Examples
        --------
        >>> session.product("BTCUSDC").round_quantity("0.0119", "down")
        Decimal('0.011')
        """
        return _rounded(quantity, self.step_size, direction, "quantity")

    @classmethod
    def from_row(
        cls, row: Mapping[str, Any], tiers: Sequence[Mapping[str, Any]] | None = None, *, tell: Tell = warned
    ) -> Self:
        """Build a product from its ProductMeta row and its margin table.

        An optional field that can't be read is None.

        Parameters
        ----------
        row : mapping
            The row, in wire names.
        tiers : sequence of mapping, optional
            Rows (`riskLimitVo`) of its margin table (default: None, they are not known).
        tell : callable, optional
            Function of a key and a sentence, called for each value that can't be read (default: a DataWarning).

        Returns
        -------
        Product

        Raises
        ------
        InputError
            Where one of the five fields that trading needs is missing or can't be read. It names the field.
        """
        return cls(**_arguments(row, tiers, tell))

    def to_row(self, tables: MarginTables) -> dict[str, Any]:
        """Return the ProductMeta row of this product, for a venue that lists it. Adds its margin table to others.

        The table gets its own number, since products of one venue may share a number and differ elsewhere. What is not
        known is left out.

        Parameters
        ----------
        tables : MarginTables
            Margin tables of the venue by number, which get the product's.

        Returns
        -------
        dict
        """
        known = {wire: on_wire(getattr(self, name)) for name, (wire, _) in META.items()}
        row = {wire: value for wire, value in known.items() if value is not None and wire != TIERS}
        row |= {"code": str(self.code), META["list_status"][0]: "listed"}
        if self.tiers is not None:
            number = row[TIERS] = 1000 + self.code
            rows = ({wire: on_wire(getattr(tier, name)) for name, wire in TIER.items()} for tier in self.tiers)
            tables[number] = [{wire: value for wire, value in one.items() if value is not None} for one in rows]
        return row


def _arguments(row: object, tiers: Sequence[Any] | None, tell: Tell) -> dict[str, Any]:
    values = read_row(row, tell)
    found = None if tiers is None else _tiers(read_tiers(values["symbol"], tiers, tell))
    return values if found is None else {**values, "tiers": found}


def _refuse(key: str, message: str) -> None:
    raise InputError(message, field=key.rpartition(".")[2])


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VenueProduct(Product):
    """A product of which all is known that executing its orders takes. Its fields are those of Product.

    Made by `VenueProduct.from_row`, the one place that demands them, for the local venue and for backtests. Whatever
    executes orders takes this type, so that it has no case for a limit that is not known.

    Parameters
    ----------
    tiers : sequence of mapping, optional
        Rows (`riskLimitVo`) of its margin table (default: None, they are not known).
    """

    max_leverage: Decimal
    max_order_quantity: Decimal
    max_slippage_pct: Decimal
    max_position_notional: Decimal
    funding_interval: int
    maker_fee_rate: Decimal
    taker_fee_rate: Decimal
    margin_table_id: int
    tiers: tuple[MarginTier, ...]
    list_status: str = "listed"
    only_isolated: bool = False

    max_steps: int = field(init=False, repr=False)
    max_notional: int = field(init=False, repr=False)
    max_slippage: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        Product.__post_init__(self)
        if self.money_scale != MICRO:
            sizes = f"tickSize {self.tick_size} x stepSize {self.step_size}"
            message = f"{self.symbol}: {sizes} is not a multiple of 0.000001"
            raise InputError(message, field=ProductRule.TICK_SIZE, rule="exact money", value=str(self.tick_size))

    @classmethod
    def from_row(
        cls, row: Mapping[str, Any], tiers: Sequence[Mapping[str, Any]] | None = None, *, tell: Tell = _refuse
    ) -> Self:
        """Build a product as `Product.from_row` does.

        Parameters
        ----------
        row : mapping
            The row, in wire names.
        tiers : sequence of mapping, optional
            Rows (`riskLimitVo`) of its margin table (default: None, they are not known).
        tell : callable, optional
            Function of a key and a sentence, called for each value that can't be read (default: an error).

        Returns
        -------
        VenueProduct

        Raises
        ------
        InputError
            For any field that is missing or unreadable.
        """
        values = _arguments(row, tiers, tell)
        for name in VENUE_NEEDS:
            if name not in values:
                wire = TIERS if name == "tiers" else META[name][0]
                message = f"{values['symbol']}: {wire} is missing. A venue that executes orders needs it"
                raise InputError(message, field=wire, rule="required")
        return cls(**values)


VENUE_NEEDS = tuple(one.name for one in fields(VenueProduct) if one.init and one.default is MISSING)
"""Fields without which a venue can't execute orders of a product."""


def exact(value: Amount, name: str) -> Decimal:
    """Return an amount as Decimal, never rounded.

    Parameters
    ----------
    value : int, str, Decimal or float
        Whole number (NumPy's too), decimal text, Decimal, or float that is exact as written: 0.1 is, 0.1 + 0.2 is not
        (its shortest form has more than 15 digits).
    name : str
        Name of the argument, which errors repeat.

    Returns
    -------
    Decimal

    Raises
    ------
    InputError
        For anything else. It names the field.
    """
    value = _plain(value)
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal | float):
        raise _not_exact(value, name, "Give text such as '0.01', a whole number or a Decimal")
    try:
        # The shortest text that gives this float, which is what the user wrote.
        number = Decimal(repr(float(value))) if isinstance(value, float) else Decimal(value)
    except (InvalidOperation, ValueError):
        # A percentage could mean its hundredth part, so nothing is offered for one.
        plain = " or ".join(map(repr, () if "%" in str(value) else meanings(str(value)))) or "text such as '0.01'"
        plain += ", which is 1 %" if name in ("slippage", "shock") and plain.startswith("text") else ""
        raise _not_exact(value, name, f"Give {plain}") from None
    if not number.is_finite():
        raise _not_exact(value, name, "Give a finite number")
    if number and (number.adjusted() >= MAX_DIGITS or int(number.as_tuple().exponent) < -MAX_DIGITS):
        raise _not_exact(value, name, f"Give a number of at most {MAX_DIGITS} digits before and after the point")
    if isinstance(value, float) and len(number.normalize().as_tuple().digits) > FLOAT_DIGITS:
        raise _not_exact(value, name, f"This float is not exact as written. Give text, such as '{value:.12g}'")
    return number


def identifier(value: object, name: str) -> int:
    """Return an id.

    Parameters
    ----------
    value : object
        A whole number or its text.
    name : str
        Name of the argument, which errors repeat.

    Returns
    -------
    int

    Raises
    ------
    InputError
        For anything else.
    """
    given = _plain(value)
    number = 0
    if isinstance(given, str):
        number = int(given) if given.isascii() and given.isdigit() and len(given) < MAX_DIGITS else 0
    elif isinstance(given, Decimal):
        number = int(given) if given.is_finite() and given.adjusted() < MAX_DIGITS and given % 1 == 0 else 0
    elif isinstance(given, int) and not isinstance(given, bool):
        number = given
    elif isinstance(given, float) and abs(given) < 2**53 and given.is_integer():
        number = int(given)  # a column of ids with missing ones is float64, exact up to 2^53
    if 0 < number < 2**63:
        return number
    message = f"{name} {shown(value)} must be a whole number from 1 to 2^63 - 1"
    raise InputError(message, field=name, rule="int64", value=value)


def _plain(value: Any) -> Any:
    """Return a number of NumPy or pandas as Python's. Anything else as it is."""
    if isinstance(value, int | str | Decimal | float):
        return value
    try:
        return operator.index(value)
    except TypeError:
        # NumPy's float32 is no float, and 0.1 of it is not 0.1: its digits as a float show that.
        return float(value) if isinstance(value, numbers.Real) else value


def decimal_text(value: Amount, name: str) -> str:
    """Return an amount as decimal text to sign: text as written, else plain digits.

    Parameters
    ----------
    value : int, str, Decimal or float
        Amount, see `exact`.
    name : str
        Name of the argument, which errors repeat.

    Returns
    -------
    str

    Raises
    ------
    InputError
        For anything that is no exact amount.
    """
    number = exact(value, name) or Decimal(0)
    # As written, with its zeros: the user sees in the signed request what they gave.
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return value
    return format(number, "f")


def _not_exact(value: object, name: str, advice: str) -> InputError:
    words = f"{name} {shown(value)} is not an exact amount. {advice}"
    return InputError(words, field=name, rule="exact", value=value)


def _rounded(value: Amount, unit: Decimal, direction: str, name: str) -> Decimal:
    if direction not in _ROUNDING:
        message = f"direction {direction!r} is not known. Use down, up or nearest"
        raise InputError(message, field="direction", rule="known", value=direction, nearest=tuple(_ROUNDING))
    if isinstance(value, float) and math.isfinite(value):
        # A computed float has an error in its last digits, which would round it up by a whole step.
        value = f"{value:.{FLOAT_DIGITS}g}"
    count = (exact(value, name) / unit).to_integral_value(_ROUNDING[direction])
    return (count * unit).quantize(unit)  # with the decimals of the unit


def _tiers_of(symbol: str, number: int, tables: Mapping[int, Any], tell: Tell) -> tuple[MarginTier, ...] | None:
    if rows := tables.get(number):
        return _tiers(read_tiers(symbol, rows, tell))
    # A venue that demands no margin at all has no table, so that an empty one is not known.
    tell(*unread(symbol, TIERS, f"marginTableId is {number}, and no margin table of this number has rows"))
    return None


def _tiers(rows: Iterable[Mapping[str, Any]] | None) -> tuple[MarginTier, ...] | None:
    return None if rows is None else tuple(MarginTier(**row) for row in rows)


Key = TypeVar("Key")


class ProductTable(Mapping[str, Product]):
    """The listed products by symbol. `find` also takes codes.

    Parameters
    ----------
    products : sequence of Product
        Products of the list, in the venue's order.
    checksum : str, optional
        The venue's md5Checksum of the list (default: "").
    rows : sequence of mapping, optional
        Rows of the products in wire names, as they were understood: what could not be read is None (default: none).
    """

    def __init__(self, products: Sequence[Product], checksum: str = "", rows: Sequence[Mapping[str, Any]] = ()) -> None:
        self._by_symbol: dict[str, Product] = {}
        self._by_code: dict[int, Product] = {}
        self._by_pair: dict[tuple[int, str], Product] = {}
        for product in products:
            _put(self._by_symbol, product.symbol, product)
            _put(self._by_code, product.code, product)
            _put(self._by_pair, (product.code, product.symbol), product)
        self.checksum = checksum
        self.rows = tuple(rows)

    @classmethod
    def from_meta(cls, meta: object, *, tell: Tell = warned) -> ProductTable:
        """Read the data of product-meta.

        A row without one of the five fields that trading needs is left out.

        Parameters
        ----------
        meta : object
            The data, decoded.
        tell : callable, optional
            Function of a key and a sentence, called for each value that can't be read (default: a DataWarning).

        Returns
        -------
        ProductTable
        """
        tables, found = margin_tables(meta, tell), []
        for row in product_rows(meta) or ():
            try:
                product = Product.from_row(row, tell=tell)
            except InputError as error:
                name = (row.get("symbol") or row.get("code")) if isinstance(row, Mapping) else row
                tell(key_of(str(name), error.field), f"product {shown(name)} is left out: {error}")
                continue
            if (number := product.margin_table_id) is not None:
                product = replace(product, tiers=_tiers_of(product.symbol, number, tables, tell))
            understood = {wire: on_wire(getattr(product, name)) for name, (wire, _) in META.items() if wire in row}
            found.append((product, {**row, **understood}))
        return cls([product for product, _ in found], checksum_of(meta), [row for _, row in found])

    def by_code(self, code: int, symbol: str = "") -> Product | None:
        """Return the product of a code, None without one. A listed one is preferred.

        Parameters
        ----------
        code : int
            The code.
        symbol : str, optional
            Symbol that is preferred, where several products have the code (default: the last one).
        """
        found, last = self._by_pair.get((code, symbol)), self._by_code.get(code)
        return found if found is not None and (found.listed or not (last and last.listed)) else last

    def sharing(self, product: Product) -> list[tuple[int, str]]:
        """Return code and symbol of the products that have a product's code or its symbol, itself among them.

        Those that are not listed count only where none of them is.

        Parameters
        ----------
        product : Product
            The product.
        """
        both = product.code, product.symbol
        found = [pair for pair in self._by_pair if pair[0] == both[0] or pair[1] == both[1]]
        return [pair for pair in found if self._by_pair[pair].listed] or found

    def missing(self, told: Iterable[str] = ()) -> dict[str, tuple[str, ...]]:
        """Return the fields that the venue does not send, by their names on the wire → the symbols without them.

        Parameters
        ----------
        told : iterable of str, optional
            Keys of fields that are unknown because they could not be read. They are left out (default: none).

        Returns
        -------
        dict
        """
        known, found = set(told), dict[str, list[str]]()
        for product in self.values():
            for wire in product.missing:
                if key_of(product.symbol, wire) not in known:
                    found.setdefault(wire, []).append(product.symbol)
        return {wire: tuple(symbols) for wire, symbols in found.items()}

    def find(self, symbol: str | int | Product) -> Product:
        """Return a product.

        Parameters
        ----------
        symbol : str, int or Product
            Its symbol or code, or a product, of which the listed one is returned.

        Returns
        -------
        Product

        Raises
        ------
        UnknownProduct
            If it is not listed. The error lists the known symbols.
        """
        if isinstance(symbol, Product):
            return symbol
        if isinstance(symbol, str):
            # As written first: a venue may list symbols that are not in capitals.
            found = self._by_symbol.get(symbol) or self._by_symbol.get(symbol.upper())
        else:
            found = self._by_code.get(symbol) if isinstance(symbol, Hashable) else None
        if found is None:
            known = tuple(sorted(self._by_symbol))
            listed = ", ".join(known[:12]) if known else "none at the moment"
            base = re.sub(r"[-/_:. ].*|(?<=.)USD[TC]?$", "", str(symbol).upper())
            own = [repr(one) for one, each in self._by_symbol.items() if base == each.base_currency]
            message = f"no product {symbol!r}. The venue lists {listed}" + (f". Did you mean {own[0]}?" if own else "")
            if isinstance(symbol, str) and len(several := re.split(r"[,;\s]+", symbol.strip())) > 1:
                message += f"{'' if own else '.'} Several are a list, {several}"
            raise UnknownProduct(message, field="symbol", rule="listed", value=symbol, nearest=known)
        return found

    def __getitem__(self, symbol: str) -> Product:
        return self._by_symbol[symbol]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_symbol)

    def __len__(self) -> int:
        return len(self._by_symbol)

    def __repr__(self) -> str:
        return f"<ProductTable: {', '.join(self._by_symbol) or 'empty'}>"


def _put(index: dict[Key, Product], key: Key, product: Product) -> None:
    # Whatever their order: a product that is no longer traded must not hide one that is.
    if product.listed or key not in index or not index[key].listed:
        index[key] = product
