"""Product: one listed market, with its exact steps and limits.

Users see text and Decimal. The venue computes in integers: prices in ticks, quantities in steps, money in micro-USDC.
`unit` is the value of one tick times one step.
"""

from __future__ import annotations

import math
import numbers
import operator
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Literal

from .errors import InputError, UnknownProduct, warn
from .numerals import FLOAT_DIGITS, MAX_DIGITS, fixed_text, meanings, shown

Direction = Literal["down", "up", "nearest"]
Amount = int | str | Decimal | float
"""A price or quantity as users write it. A float must be exact as written (see `exact`)."""

_ROUNDING = {"down": ROUND_FLOOR, "up": ROUND_CEILING, "nearest": ROUND_HALF_EVEN}
_PLAIN = re.compile(r"-?[0-9]+(\.[0-9]+)?")

MICRO = 1_000_000
"""Micro-USDC in one USDC."""

MAX_PRICE = Decimal(999_999)
"""Highest price an order may have (docs/published.md, "Trading rules")."""


# Prices and quantities of a market repeat, and every order is parsed by the client and by the venue.
@lru_cache(maxsize=1 << 14)
def whole_units(text: str, places: int, size: int) -> int:
    """Return a plain decimal text as a multiple of `size` × 10^−places. −1 if it is not plain, or not a multiple.

    Plain means as `numerals.plain_decimal`: what may be signed.
    """
    whole, _, part = text.partition(".")
    missing = places - len(part)
    if missing < 0:
        if part[places:].strip("0"):
            return -1
        digits = whole + part[:places]
    else:
        digits = whole + part + "0" * missing
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
    places = max(0, -int(size.as_tuple().exponent))
    return places, int(size.scaleb(places))


@dataclass(frozen=True, slots=True)
class MarginTier:
    """One row of a margin table: `maintenance_rate` and `max_leverage` above a notional of `floor` USDC."""

    floor: Decimal
    maintenance_rate: Decimal
    max_leverage: Decimal


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Product:
    """One listed market. Fields follow ProductMeta (docs/published.md, "Info API"). Rates are ratios, amounts USDC.

    code, symbol, name: number of the market on the wire, its symbol ("BTCUSDC"), and a longer name.
    tick_size, price_precision: smallest step of a price in USDC, and its decimals.
    step_size, quantity_precision: smallest step of a quantity in base units, and its decimals.
    max_leverage, max_order_quantity, min_order_value: limits of an order: a factor, base units and USDC.
    max_slippage_pct: largest slippage of a market order, a ratio.
    max_position_notional: largest position in USDC.
    maker_fee_rate, taker_fee_rate: fees of a fill, as ratios of its value.
    margin_table_id, tiers: number of its margin table, and the rows.
    list_status, only_isolated, product_type: "listed" if it can be traded, True without cross margin, "perpetual".
    base_currency, quote_currency, settle_currency, currency_code: what it trades, prices and settles in.
    """

    code: int
    symbol: str
    name: str
    tick_size: Decimal
    step_size: Decimal
    price_precision: int
    quantity_precision: int
    max_leverage: Decimal
    max_order_quantity: Decimal
    min_order_value: Decimal
    max_slippage_pct: Decimal
    max_position_notional: Decimal
    funding_interval: int
    """Seconds between funding settlements."""
    maker_fee_rate: Decimal
    taker_fee_rate: Decimal
    margin_table_id: int
    tiers: tuple[MarginTier, ...]
    list_status: str = "listed"
    only_isolated: bool = False
    product_type: str = "perpetual"
    base_currency: str = ""
    quote_currency: str = "USDC"
    settle_currency: str = "USDC"
    currency_code: int = 1

    unit: int = field(init=False, repr=False)
    """Micro-USDC of one tick times one step."""
    max_steps: int = field(init=False, repr=False)
    """max_order_quantity in steps."""
    min_value: int = field(init=False, repr=False)
    """min_order_value in micro-USDC."""
    max_notional: int = field(init=False, repr=False)
    """max_position_notional in micro-USDC."""
    max_slippage: int = field(init=False, repr=False)
    """max_slippage_pct in parts of 1e-8, rounded down."""
    max_price: int = field(init=False, repr=False)
    """MAX_PRICE in ticks."""
    tick_scale: tuple[int, int] = field(init=False, repr=False)
    """tick_size as (decimals, whole number of them): 0.25 is (2, 25)."""
    step_scale: tuple[int, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        unit = self.tick_size * self.step_size * MICRO
        if self.tick_size <= 0 or self.step_size <= 0 or unit < 1 or unit != int(unit):
            sizes = f"tickSize {self.tick_size} x stepSize {self.step_size}"
            message = f"{self.symbol}: {sizes} is not a multiple of 0.000001"
            raise InputError(message, field="tickSize", rule="exact money", value=str(self.tick_size))
        put = object.__setattr__  # the dataclass is frozen
        put(self, "unit", int(unit))
        put(self, "max_steps", int(self.max_order_quantity / self.step_size))
        put(self, "min_value", int(self.min_order_value * MICRO))
        put(self, "max_notional", int(self.max_position_notional * MICRO))
        put(self, "max_slippage", int(self.max_slippage_pct * 10**8))
        put(self, "max_price", int(MAX_PRICE / self.tick_size))
        put(self, "tick_scale", _scale(self.tick_size))
        put(self, "step_scale", _scale(self.step_size))

    def __repr__(self) -> str:
        listed = "" if self.listed else f", {self.list_status}"
        return (
            f"<Product {self.symbol} (code {self.code}): tick {self.tick_size}, step {self.step_size}, "
            f"at least {self.min_order_value} USDC, up to {self.max_leverage}x{listed}>"
        )

    @property
    def listed(self) -> bool:
        """True while the venue accepts orders."""
        return self.list_status == "listed"

    def ticks(self, price: str | Decimal) -> int:
        """Return `price` in ticks. Raises InputError unless it is a plain decimal and a multiple of tick_size."""
        return self._whole(price, self.tick_scale, "price", "tickSize", self.tick_size)

    def steps(self, quantity: str | Decimal) -> int:
        """Return `quantity` in steps. Raises InputError unless it is a plain decimal and a multiple of step_size."""
        return self._whole(quantity, self.step_scale, "quantity", "stepSize", self.step_size)

    def _whole(self, value: str | Decimal, scale: tuple[int, int], what: str, rule: str, size: Decimal) -> int:
        count = whole_units(value if isinstance(value, str) else format(value, "f"), *scale)
        if count < 0:
            message = f"{what} {value} is not a multiple of {rule} {size}"
            raise InputError(message, field=what, rule=rule, value=str(value))
        return count

    def price_text(self, ticks: int) -> str:
        """Return a price of so many `ticks` as decimal text, with the decimals of tick_size: 600000 → "60000.0"."""
        places, size = self.tick_scale
        return fixed_text(ticks * size, places)

    def quantity_text(self, steps: int) -> str:
        """Return a quantity of so many `steps` as decimal text, with the decimals of step_size."""
        places, size = self.step_scale
        return fixed_text(steps * size, places)

    def round_price(self, price: Amount, direction: Direction) -> Decimal:
        """Return `price` rounded to a multiple of tick_size, in the `direction` "down", "up" or "nearest".

        A computed float counts with its first 15 digits, so that 0.1 + 0.2 rounds up to 0.3. Raises InputError for
        another direction or a value that is not a number.
        """
        return _rounded(price, self.tick_size, direction, "price")

    def round_quantity(self, quantity: Amount, direction: Direction) -> Decimal:
        """Return `quantity` rounded to a multiple of step_size in a `direction`, as `round_price` does."""
        return _rounded(quantity, self.step_size, direction, "quantity")

    @classmethod
    def from_row(cls, row: Mapping[str, Any], tiers: Sequence[Mapping[str, Any]]) -> Product:
        """Build a product from its ProductMeta row and the `riskLimitVo` rows of its margin table."""
        values = {name: read(row[key]) for name, (key, read) in _META.items() if key in row or name not in _OPTIONAL}
        values["name"] = str(row.get("name") or row["symbol"])
        found = [MarginTier(**{name: _decimal(tier[key]) for name, key in _TIER.items()}) for tier in tiers]
        return cls(**values, tiers=tuple(found))

    def to_row(self, margin_tables: MarginTables) -> dict[str, Any]:
        """Return the ProductMeta row of this product, for a venue that lists it. Adds its table to `margin_tables`.

        The table gets its own number, since products of one venue may share a number and differ elsewhere.
        """
        number = 1000 + self.code
        names = _TIER.items()
        margin_tables[number] = [{key: _wire(getattr(tier, name)) for name, key in names} for tier in self.tiers]
        row = {key: _wire(getattr(self, name)) for name, (key, _) in _META.items()}
        return {**row, "code": str(self.code), "listStatus": "listed", "marginTableId": number}


def _wire(value: Any) -> Any:
    return format(value, "f") if isinstance(value, Decimal) else value


def _decimal(value: Any) -> Decimal:
    return Decimal(str(value))


_META: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "name": ("name", str),
    "symbol": ("symbol", str),
    "code": ("code", int),
    "currency_code": ("currencyCode", int),
    "price_precision": ("pricePrecision", int),
    "quantity_precision": ("qtyPrecision", int),
    "tick_size": ("tickSize", _decimal),
    "step_size": ("stepSize", _decimal),
    "min_order_value": ("minOrderValue", _decimal),
    "max_order_quantity": ("maxOrderQty", _decimal),
    "max_position_notional": ("maxPositionNtnl", _decimal),
    "max_leverage": ("maxLeverage", _decimal),
    "max_slippage_pct": ("maxSlippagePct", _decimal),
    "maker_fee_rate": ("defaultMakerFeeRate", _decimal),
    "taker_fee_rate": ("defaultTakerFeeRate", _decimal),
    "funding_interval": ("fundingInterval", int),
    "product_type": ("productType", str),
    "list_status": ("listStatus", str),
    "only_isolated": ("onlyIsolated", bool),
    "base_currency": ("baseCurrency", str),
    "quote_currency": ("quoteCurrency", str),
    "settle_currency": ("settleCurrency", str),
    "margin_table_id": ("marginTableId", int),
}
"""Field of Product → its name in ProductMeta and how it is read, in the order of ProductMeta's fields."""
_TIER = {"floor": "minimumValue", "maintenance_rate": "maintainMarginRatio", "max_leverage": "maxLeverage"}
"""Field of MarginTier → its name in `riskLimitVo`."""
_OPTIONAL = {one.name for one in fields(Product) if one.default is not MISSING} | {"name"}


def exact(value: Amount, name: str) -> Decimal:
    """Return the amount `value` as Decimal, never rounded. Errors call it `name`.

    Accepts whole numbers (NumPy's too), decimal text, Decimal, and floats that are exact as written: 0.1 is, 0.1 + 0.2
    is not (its shortest form has more than 15 digits). Raises InputError, which names the field, for anything else.
    """
    value = _plain(value)
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal | float):
        raise _not_exact(value, name, "Give text such as '0.01', a whole number or a Decimal")
    try:
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
    """Return the id `value`, a whole number or its text. Raises InputError, which calls it `name`."""
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
    """Return the amount `value` as decimal text to sign: text as written, else plain digits. Errors call it `name`."""
    number = exact(value, name) or Decimal(0)
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return value
    return format(number, "f")


def _not_exact(value: Any, name: str, advice: str) -> InputError:
    words = f"{name} {shown(value)} is not an exact amount. {advice}"
    return InputError(words, field=name, rule="exact", value=value)


def _rounded(value: Amount, unit: Decimal, direction: str, name: str) -> Decimal:
    if direction not in _ROUNDING:
        message = f"direction {direction!r} is not known. Use down, up or nearest"
        raise InputError(message, field="direction", rule="known", value=direction, nearest=tuple(_ROUNDING))
    if isinstance(value, float) and math.isfinite(value):
        value = f"{value:.{FLOAT_DIGITS}g}"
    count = (exact(value, name) / unit).to_integral_value(_ROUNDING[direction])
    return (count * unit).quantize(unit)  # with the decimals of the unit


class ProductTable(Mapping[str, Product]):
    """The listed `products` by symbol. `find` also takes codes. `checksum` is the venue's md5Checksum of the list."""

    def __init__(self, products: Sequence[Product], checksum: str = "") -> None:
        self._by_symbol = {product.symbol: product for product in products}
        self._by_code = {product.code: product for product in products}
        self.checksum = checksum

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> ProductTable:
        """Read the data of product-meta. A row that can't be read is skipped with a warning."""
        rows = meta.get("perpProducts")
        tables: dict[str, Sequence[Mapping[str, Any]]] = {}
        for table in meta.get("marginTables") or ():
            if isinstance(table, Mapping):
                tables[str(table.get("tableId"))] = table.get("riskLimitVo") or ()
        products = []
        for row in rows if isinstance(rows, Sequence) else ():
            try:
                products.append(Product.from_row(row, tables.get(str(row.get("marginTableId")), ())))
            except (InputError, ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
                name = row.get("symbol") or row.get("code") if isinstance(row, Mapping) else row
                why = f"{type(error).__name__}: {error}"
                warn(f"product {name!r} is left out, its row can't be read: {why}")
        return cls(products, str(meta.get("md5Checksum") or ""))

    def find(self, symbol: str | int | Product) -> Product:
        """Return the product with `symbol`, or with that code. Raises UnknownProduct, which lists the known symbols."""
        if isinstance(symbol, Product):
            return symbol
        if isinstance(symbol, str):
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
