"""Rows of the wire as typed classes: one line for each field, with its wire name, type, unit, description and source.

A record is a class that inherits `Row`. Its annotations are the aliases of this module, such as `Price`, which say how
a value is read, checked and shown. Its fields are declared by `required` or `optional`. The class keywords say what
identifies a row and which field is its time. A name that is mistyped is an error at import or for a type checker.

>>> class Balance(Row, identity=("userAddr",)):
...     '''The balance of an account.'''
...
...     account: Address = required("userAddr", "address of the account")
...     balance: Money | None = optional("balance", "cash balance")
>>> [(field.wire, field.column, field.dtype, field.unit) for field in Balance.declared.fields]
[('userAddr', 'account', 'string', ''), ('balance', 'balance', 'float64', 'USDC')]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, dataclass_transform, get_args, get_type_hints

import msgspec

from ..enums import ENUMS, EnumKey, Names
from ..fields import L, P, Source

KindName = Literal[
    "price", "quantity", "money", "ratio", "integer", "id", "key", "text", "symbol", "code", "currency", "address",
    "hash", "bool", "ms", "s", "object",
]  # fmt: skip
JsonType = Literal["integer", "string", "boolean", "object", "array"]


@dataclass(frozen=True, slots=True)
class Kind:
    """How values of a field are read: the form on the wire, the dtype of the column, and the default unit.

    Attributes
    ----------
    name : str
        Kind of the values. The reader of a kind is in `wire_values.read`.
    dtype : str
        Dtype of a column.
    json : str
        Type in the JSON of queries, unless a field declares another.
    unit : str
        Unit of the values, "" for none.
    signed : bool
        True if an amount may be negative.
    enum : str
        Name of the enum in `ENUMS`, None for no enum.
    """

    name: KindName
    dtype: str
    json: JsonType = "string"
    unit: str = ""
    signed: bool = False
    enum: EnumKey | None = None


def _enum(key: EnumKey, json: JsonType = "integer") -> Kind:
    return Kind("text", "string", json, "enum name", enum=key)


TIME = "datetime64[ms, UTC]"
"""Dtype of times in tables."""

# Amounts are decimal text on the wire: floats in frames, Decimal objects when exact. A price or quantity is never
# negative. A `SignedQuantity` may come with the sign of its side.
Price = Annotated[Decimal, Kind("price", "float64", unit="USDC")]
Quantity = Annotated[Decimal, Kind("quantity", "float64", unit="contracts of 1 base unit")]
SignedQuantity = Annotated[Decimal, Kind("quantity", "float64", unit="contracts of 1 base unit", signed=True)]
Money = Annotated[Decimal, Kind("money", "float64", unit="USDC", signed=True)]
Ratio = Annotated[Decimal, Kind("ratio", "float64", unit="1 = 100 %", signed=True)]
# An id is a 64-bit number, a key an identifier of unspecified form.
Whole = Annotated[int, Kind("integer", "Int64", "integer")]
Id = Annotated[int, Kind("id", "Int64")]
Key = Annotated[str, Kind("key", "string", "integer")]
Text = Annotated[str, Kind("text", "string")]
Symbol = Annotated[str, Kind("symbol", "string")]
# A product code as text. Tables show the product's symbol in its place, and so do the rows of a session's reader.
Code = Annotated[str, Kind("code", "string", "integer", "symbol")]
# The number of a currency, which frames show as its name.
CurrencyName = Annotated[str, Kind("currency", "string", "integer")]
Address = Annotated[str, Kind("address", "string")]
Hash = Annotated[str, Kind("hash", "string")]
Flag = Annotated[bool, Kind("bool", "boolean", "boolean")]
# Milliseconds and seconds since 1970.
Ms = Annotated[int, Kind("ms", TIME, "integer", "UTC")]
Seconds = Annotated[int, Kind("s", TIME, "integer", "UTC")]
Anything = Annotated[object, Kind("object", "object", "object")]
# The number or the name of an enum's member, which becomes the name.
Side = Annotated[str, _enum("order_side")]
OrderTypeName = Annotated[str, _enum("order_type")]
Tif = Annotated[str, _enum("tif")]
ReduceOnlyName = Annotated[str, _enum("reduce_only")]
Trigger = Annotated[str, _enum("trigger")]
MarginModeName = Annotated[str, _enum("margin_mode", "string")]
PositionModeName = Annotated[str, _enum("position_mode", "string")]
PositionSideName = Annotated[str, _enum("position_side")]
AgentStatusName = Annotated[str, _enum("agent_status", "string")]
AccountStatusName = Annotated[str, _enum("account_status", "string")]
VaultStatusName = Annotated[str, _enum("vault_status")]
TransactionStatusName = Annotated[str, _enum("transaction_status")]
OrderStatusName = Annotated[str, _enum("order_status", "string")]
ExecStatusName = Annotated[str, _enum("exec_status", "string")]

AMOUNTS = ("price", "quantity", "money", "ratio")
"""Kinds that are decimal numbers."""
CURRENCIES = {"1": "USDC"}
"""Number of a currency → its name."""
_NOUNS: Mapping[str, str] = {"ms": "a time in ms", "s": "a time in s", "id": "an id"}


@dataclass(frozen=True, slots=True)
class RecordField:
    """One field of a record.

    Attributes
    ----------
    wire : str
        Name on the wire.
    column : str
        Name of the column in a frame.
    kind : KindName
        Kind of its values.
    enum : EnumKey or None
        Name of their enum in `ENUMS`, `None` for no enum.
    unit : str
        Unit, "" for none.
    about : str
        Description.
    dtype : str
        Dtype of the column.
    json : JsonType
        Type in JSON, as published.
    source : Source
        Who says that the field exists.
    signed : bool
        True if an amount may be negative (default: `False`).
    needed : bool
        True if a row can't be used without it (default: `False`).
    null : bool
        True if the field may be null, which means that it is not set (default: `False`).
    sparse : bool
        True if the field belongs to some rows only (default: `False`).
    sent : bool
        True if the local venue sends it (default: `True`).
    ahead : bool
        True for a time that may be later than the answer (default: `False`).
    """

    wire: str
    column: str
    kind: KindName
    enum: EnumKey | None
    unit: str
    about: str
    dtype: str
    json: JsonType
    source: Source
    signed: bool = False
    needed: bool = False
    null: bool = False
    sparse: bool = False
    sent: bool = True
    ahead: bool = False

    @property
    def published(self) -> bool:
        """False for a field that only a local venue is known to send."""
        return self.source is not L

    @property
    def noun(self) -> str:
        """The words for a value of the field in messages."""
        return _NOUNS.get(self.kind, f"a {self.enum or self.kind}")


class Rule(NamedTuple):
    """What holds between the amounts and names of one row. A row that lacks one of them is not judged.

    Attributes
    ----------
    columns : tuple of str
        Columns that `holds` takes the values of.
    holds : callable
        Whether the values agree.
    said : str
        What they are not, after their names and values.
    """

    columns: tuple[str, ...]
    # `Any`: each rule takes the values of its own columns.
    holds: Callable[..., Any]
    said: str


def at_most(column: str, bound: str) -> Rule:
    """Return the rule that an amount is not above another one, or 0 where that is negative.

    Parameters
    ----------
    column : str
        Column of the amount.
    bound : str
        Column of the largest that it can be.
    """
    return Rule((column, bound), lambda amount, most: amount <= max(most, 0), f"{column} is above {bound}")


def above_0(*columns: str) -> tuple[Rule, ...]:
    """Return the rules that amounts are above 0.

    Parameters
    ----------
    *columns : str
        Columns of the amounts.
    """
    return tuple(Rule((column,), lambda amount: amount > 0, "it must be above 0") for column in columns)


def _adds_up(filled: Decimal, remaining: Decimal, quantity: Decimal) -> bool:
    # A quantity of 0 says nothing: a take-profit of 0 is one for the whole position.
    return not quantity or filled + remaining <= quantity


def _is_whole(filled: Decimal, remaining: Decimal, quantity: Decimal, status: str, side: str, reduce_only: str) -> bool:
    # What was open of an order that was cancelled or rejected is gone, and an order that only reduces a position may
    # itself be reduced to it.
    has_all = status in (*OPEN, "FILLED") and side in ("BUY", "SELL") and reduce_only == "NONE"
    return not (has_all and quantity) or filled + remaining == quantity


def _is_filled(status: str, filled: Decimal, remaining: Decimal) -> bool:
    return status != "FILLED" or (filled > 0 and not remaining)


OPEN = frozenset({"ORDER_STATUS_UNTRIGGERED", "NEW", "PARTIALLY_FILLED"})
"""Statuses of open orders."""
_AMOUNTS = ("filled", "remaining", "quantity")
OF_ORDER = (
    Rule(_AMOUNTS, _adds_up, "filled and open are more than the quantity"),
    Rule((*_AMOUNTS, "status", "side", "reduce_only"), _is_whole, "filled and open are not the quantity"),
    Rule(("status", "filled", "remaining"), _is_filled, "an order that is FILLED has nothing left"),
)
"""What was filled of an order and what is still open are its quantity."""


def _has_one_leg(mode: str, long_size: Decimal, short_size: Decimal) -> bool:
    return mode != "ONE_WAY" or not (long_size and short_size)


def _has_its_value(long_size: Decimal, short_size: Decimal, bought: Decimal, sold: Decimal) -> bool:
    return bool(bought or not long_size) and bool(sold or not short_size)


_PNL_TOLERANCE = Decimal("0.1")
"""Part of a position's value by which its unrealised PnL may be off: prices move while a venue computes it."""


def _has_its_pnl(
    long_size: Decimal, short_size: Decimal, bought: Decimal, sold: Decimal, mark: Decimal, pnl: Decimal
) -> bool:
    # What is left of the value of a closed side says nothing.
    bought, sold, short_size = abs(bought) * bool(long_size), abs(sold) * bool(short_size), abs(short_size)
    largest = max(mark * (long_size + short_size), bought + sold)
    return abs(mark * (long_size - short_size) - bought + sold - pnl) <= largest * _PNL_TOLERANCE + 1


_LEGS, _VALUES = ("long_size", "short_size"), ("long_entry_value", "short_entry_value")
OF_POSITION = (
    Rule(("position_mode", *_LEGS), _has_one_leg, "an account in one-way mode has one side"),
    Rule((*_LEGS, *_VALUES), _has_its_value, "each size has an entry value"),
    Rule((*_LEGS, *_VALUES, "mark_price", "unrealized_pnl"), _has_its_pnl, "that is not the PnL of these sizes"),
)
"""Sizes, values and PnL of a position are of one position."""
OF_WALLET = (at_most("available", "equity"), at_most("withdrawable", "equity"))
"""Nothing is available, or can be withdrawn, beyond the equity."""


class Unique(NamedTuple):
    """Fields that no two rows of an answer share, besides the record's identity. 0 and "" are no id.

    Attributes
    ----------
    columns : tuple of str
        Columns of the fields.
    among : mapping of str to frozenset of str
        Columns and their values in the rows that are compared (default: all rows are).
    """

    columns: tuple[str, ...]
    among: Mapping[str, frozenset[str]] = {}


@dataclass(frozen=True)
class Record:
    """One kind of row: its fields in the order of the columns, and the wire names that identify a row, if any.

    Attributes
    ----------
    name : str
        Name of the record.
    about : str
        Description.
    fields : tuple of RecordField
        The fields, in the order of the columns.
    identity : tuple of str
        Wire names that identify a row (default: none).
    time : str
        Wire name of the field that startTime and endTime filter by, "" for none.
    changing : bool
        True if a row, including its time, can change after it was read (default: `False`).
    source : Source
        `L` if the exchange publishes none of the fields: they are the local venue's (default: published).
    unique : bool
        False if an answer may have two rows with one identity (default: `True`).
    rules : tuple of Rule
        What holds in each row (default: nothing).
    keys : tuple of Unique
        Further fields that no two rows share (default: none).
    drops : bool
        True if a row that breaks a rule or lies ahead is left out with a warning, so that the others can be used. For
        other records the answer is refused (default: `False`).
    """

    name: str
    about: str
    fields: tuple[RecordField, ...]
    identity: tuple[str, ...] = ()
    time: str = ""
    changing: bool = False
    source: Source = P
    unique: bool = True
    rules: tuple[Rule, ...] = ()
    keys: tuple[Unique, ...] = ()
    drops: bool = False

    @property
    def known(self) -> bool:
        """False if the exchange publishes none of the fields."""
        return self.source is not L

    @property
    def columns(self) -> dict[str, str]:
        """Column → dtype, in order."""
        return {one.column: one.dtype for one in self.fields}

    @cached_property
    def by_wire(self) -> Mapping[str, RecordField]:
        """Wire name → field."""
        return {one.wire: one for one in self.fields}

    @cached_property
    def by_column(self) -> Mapping[str, RecordField]:
        """Column → field."""
        return {one.column: one for one in self.fields}

    def wires(self, *columns: str) -> tuple[str, ...]:
        """Return the wire names of columns.

        Parameters
        ----------
        *columns : str
            Names of columns.
        """
        return tuple([self.by_column[name].wire for name in columns])

    @cached_property
    def past(self) -> tuple[RecordField, ...]:
        """Times that are not later than the answer."""
        return tuple(one for one in self.fields if one.kind in ("ms", "s") and not one.ahead)

    @cached_property
    def enums(self) -> tuple[tuple[RecordField, Names], ...]:
        """Fields with names of an enum, and the enum."""
        return tuple((one, ENUMS[one.enum]) for one in self.fields if one.enum)

    @cached_property
    def needed(self) -> tuple[RecordField, ...]:
        """Fields that a row can't be used without."""
        return tuple(one for one in self.fields if one.needed)

    @cached_property
    def published(self) -> tuple[str, ...]:
        """Wire names of the fields that are published."""
        return tuple(one.wire for one in self.fields if one.published)

    @cached_property
    def sent(self) -> tuple[RecordField, ...]:
        """Fields that the local venue sends."""
        return tuple(one for one in self.fields if one.sent)

    @cached_property
    def expected(self) -> tuple[str, ...]:
        """Wire names of the other published fields that belong to every row."""
        return tuple(one.wire for one in self.fields if one.published and not (one.needed or one.sparse))

    @cached_property
    def nullable(self) -> frozenset[str]:
        """Wire names of the fields that may be null."""
        return frozenset(one.wire for one in self.fields if one.null)


@dataclass(frozen=True, slots=True)
class _Declared:
    """What `required` and `optional` say of a field, until its class is made."""

    wire: str
    about: str
    needed: bool
    unit: str | None
    json: JsonType | None
    source: Source | None
    null: bool
    sparse: bool
    sent: bool | None
    ahead: bool = False


# `Any`: a type checker takes what these return for the value of the field, as it does for `dataclasses.field`.
def required(
    wire: str,
    about: str,
    *,
    unit: str | None = None,
    json: JsonType | None = None,
    source: Source | None = None,
) -> Any:
    """Declare a field that a row can't be used without.

    Parameters
    ----------
    wire : str
        Name on the wire.
    about : str
        Description, without a full stop.
    unit : str, optional
        Unit (default: that of its kind).
    json : str, optional
        Type in JSON as published (default: that of its kind).
    source : Source, optional
        Who says that the field exists (default: that of the record).
    """
    return _Declared(wire, about, True, unit, json, source, False, False, None)


def optional(
    wire: str,
    about: str,
    *,
    unit: str | None = None,
    json: JsonType | None = None,
    source: Source | None = None,
    null: bool = False,
    sparse: bool = False,
    sent: bool | None = None,
    ahead: bool = False,
) -> Any:
    """Declare a field that may be missing.

    Its column has NA then.

    Parameters
    ----------
    wire : str
        Name on the wire.
    about : str
        Description, without a full stop.
    unit : str, optional
        Unit (default: that of its kind).
    json : str, optional
        Type in JSON as published (default: that of its kind).
    source : Source, optional
        Who says that the field exists (default: that of the record).
    null : bool, optional
        True if the field may be null, which means that it is not set (default: `False`).
    sparse : bool, optional
        True if the field belongs to some rows only, so that no one is warned where it is missing (default: `False`).
    sent : bool, optional
        True if the local venue sends it (default: unless it is [L] in a record that is published).
    ahead : bool, optional
        True for a time that may be later than the answer (default: `False`).
    """
    return _Declared(wire, about, False, unit, json, source, null, sparse, sent, ahead)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(required, optional))
class RowType(msgspec.StructMeta):
    """The type of row classes. It turns their declared fields into those of a struct, and into a `Record`."""

    declared: Record
    """The declaration of a row class."""

    def __new__(
        mcls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        identity: tuple[str, ...] = (),
        time: str = "",
        changing: bool = False,
        source: Source = P,
        feed: bool = False,
        unique: bool = True,
        rules: tuple[Rule, ...] = (),
        keys: tuple[Unique, ...] = (),
        drops: bool = False,
    ) -> RowType:
        """Make a row class.

        Parameters
        ----------
        identity : tuple of str
            Wire names that identify a row (default: none).
        time : str
            Wire name of the field that startTime and endTime filter by (default: none).
        changing : bool
            True if a row, including its time, can change after it was read (default: False).
        source : Source
            Source of the fields that declare no other (default: published).
        feed : bool
            True for a row of the feed, where ids are numbers and enums are names (default: False).
        unique : bool
            False if an answer may have two rows with one identity (default: True).
        rules : tuple of Rule
            What holds in each row (default: nothing).
        keys : tuple of Unique
            Further fields that no two rows share (default: none).
        drops : bool
            True if a row that breaks a rule is left out with a warning (default: False, the answer is refused).
        """
        declared = {column: one for column, one in namespace.items() if isinstance(one, _Declared)}
        for column, one in declared.items():
            namespace[column] = msgspec.field(name=one.wire, default=None)
        made = super().__new__(mcls, name, bases, namespace, frozen=True, gc=False)
        if declared:
            about = (namespace.get("__doc__") or "").partition("\n")[0]
            hints = get_type_hints(made, include_extras=True)
            fields = tuple(_field(column, one, hints[column], source, feed) for column, one in declared.items())
            known = {one.wire for one in fields}
            added = {column for rule in rules for column in rule.columns}
            added |= {column for key in keys for column in (*key.columns, *key.among)}
            if unknown := ({*identity, *((time,) if time else ())} - known) | (added - declared.keys()):
                raise TypeError(f"{name} has no field {', '.join(sorted(unknown))}")
            made.declared = Record(name, about, fields, identity, time, changing, source, unique, rules, keys, drops)
        return made


def _field(column: str, one: _Declared, hint: object, of_record: Source, feed: bool) -> RecordField:
    """Return a declared field, whose annotation has its kind. An optional one is annotated `Kind | None`."""
    parts = [part for part in get_args(hint) if part is not type(None)]
    may_be_none = len(parts) < len(get_args(hint))
    kind = next((each for each in (*parts, *get_args(parts[0])) if isinstance(each, Kind)), None)
    if kind is None or may_be_none is one.needed:
        raise TypeError(f"{column} is annotated {hint}. A required field is a kind, an optional one a kind or None")
    source = one.source or of_record
    json: JsonType = kind.json
    if feed and (kind.enum or kind.name in ("id", "key")):
        json = "string" if kind.enum else "integer"
    unit = kind.unit if one.unit is None else one.unit
    sent = (source is not L or of_record is L) if one.sent is None else one.sent
    return RecordField(
        one.wire, column, kind.name, kind.enum, unit, one.about, kind.dtype, one.json or json, source, kind.signed,
        one.needed, one.null, one.sparse, sent, one.ahead,
    )  # fmt: skip


class Row(msgspec.Struct, metaclass=RowType):
    """A row of an answer or of a message. Its subclasses declare the fields."""
