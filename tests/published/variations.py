"""What the published files leave open: the forms of a server, and the variations of its answers, each with a name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

from tests.conformance import signing
from tests.published import shapes
from tests.published.shapes import MISSING
from tests.published.world import NINE

META, SINGLE = "/info/public/product-meta", "/info/single"
ACTIVE, BUILDERS = "/info/account/agent/active", "/info/builder/agents"


@dataclass(frozen=True)
class Form:
    """A kind of server that the papers allow."""

    name: str
    served: frozenset[str]
    """Paths of the queries that it answers. All others are 404."""
    contract: str = signing.CONTRACT
    """The verifying contract of its signatures."""
    paged: bool = False
    """Whether a paged list is an object of `total` and `items`."""
    only_nine: bool = False
    """Whether a product has just the fields of the specification."""
    hash_prefix: str = ""


SPECIFICATION = Form("specification only", frozenset({META}), only_nine=True)
APRIL = Form("documents of April", frozenset(shapes.QUERIES), contract="0x" + "0" * 40)
APRIL_SIGNED = replace(APRIL, name="documents of April, contract of the specification", contract=signing.CONTRACT)
"""The files of April at a server that checks signatures as the specification says, which stands above them."""
SDK = Form("SDK of June", frozenset({*shapes.QUERIES, BUILDERS}), paged=True, hash_prefix="0x")
FORMS = {form.name: form for form in (SPECIFICATION, APRIL, APRIL_SIGNED, SDK)}


def names_of(numbers: dict[str, int]) -> dict[int, str]:
    """Return number → name of an enumeration, with its zero."""
    return {0: "NONE", **{number: name for name, number in numbers.items()}}


ENUMS = {
    "side": names_of(signing.ORD_SIDE), "type": names_of(signing.ORD_TYPE), "ordType": names_of(signing.ORD_TYPE),
    "timeInForce": names_of(signing.ORD_TIF), "reduceOnly": names_of(signing.REDUCE_ONLY),
    "conditionalOrderTriggerType": names_of(signing.TRIGGER), "positionMode": {1: "ONE_WAY", 2: "HEDGE"},
    "positionMarginMode": names_of(signing.MARGIN_MODE),
}  # fmt: skip
"""Field of an order, fill or position → the names of its published numbers."""

Sent = Callable[[str, str, Any], Any]
"""Takes the path of a query, the path of a field and its value. Returns what is sent, or MISSING."""


def as_published(path: str, field: str, value: Any) -> Any:
    """Send a value as it is."""
    return value


@dataclass(frozen=True)
class Variation:
    """One way to answer that the files allow."""

    name: str
    sent: Sent = as_published
    lists: str = "as the form"
    """"bare", "items" or "items without total"; "as the form" for that of the form."""
    empty_is_null: bool = False
    """Whether a list without rows is sent as null."""
    page_limit: int = 500
    """The most rows of a page, whatever was asked."""
    candle_limit: int = 1_500
    """The most candles of an answer. The files name none for a time window."""
    oldest_first: bool = False
    message: bool = False
    """Whether every answer has a `message`. The files show it for one query alone."""
    receipt: bool = True
    """Whether the answer to an action has `data`."""
    hidden_reads: int = 1
    """How many reads after an action do not show its effect yet."""


def name_of(field: str) -> str:
    """Return the name of a field, the last part of its path."""
    return field.rpartition(".")[2].removesuffix("[]")


def enum_of(path: str, field: str) -> dict[int, str]:
    """Return number → name of an enumeration, empty for another field."""
    if path.startswith("/info/account/agent") and name_of(field) == "status":
        return {1: "ACTIVE", 2: "REVOKED"}
    return ENUMS.get(name_of(field), {}) if path.startswith(("/info/order", "/info/trade", "/info/position")) else {}


def is_id(field: str) -> bool:
    """Return whether a field is an identity: no amount, although it may be made of digits."""
    return name_of(field).lower().endswith(("id", "hash", "tx", "addr", "address", "checksum"))


def number_of(path: str, field: str, value: Any) -> Decimal | None:
    """Return the number that a value is or shows, None for enumerations, truth values and other text."""
    if enum_of(path, field) or isinstance(value, bool) or not isinstance(value, int | str):
        return None
    try:
        return Decimal(value) if str(value)[:1] in "-0123456789" else None
    except InvalidOperation:
        return None


def enums_as(form: str) -> Sent:
    """Return a change of every enumeration to "text", "numbers" or "numeric text"."""

    def sent(path: str, field: str, value: Any) -> Any:
        names = enum_of(path, field)
        if not names:
            return value
        number = value if isinstance(value, int) else next(each for each, name in names.items() if name == value)
        return {"text": names[number], "numbers": number, "numeric text": str(number)}[form]

    return sent


def numbers_as_text(path: str, field: str, value: Any) -> Any:
    """Send integers as text."""
    return value if number_of(path, field, value) is None else str(value)


def numbers_as_json(path: str, field: str, value: Any) -> Any:
    """Send the numbers in texts as JSON numbers: whole ones as integers, the others as floats."""
    number = number_of(path, field, value)
    if number is None or (is_id(field) and not str(value).isdigit()):
        return value
    return int(number) if number == int(number) else float(number)


def numbers_as_floats(path: str, field: str, value: Any) -> Any:
    """Send every amount and every integer as a float. Ids stay, because a float cannot hold all of them."""
    number = number_of(path, field, value)
    return value if number is None or is_id(field) else float(number)


def trailing_zeros(path: str, field: str, value: Any) -> Any:
    """Send the amounts in texts with zeros at their end."""
    if number_of(path, field, value) is None or not isinstance(value, str) or is_id(field) or name_of(field) == "code":
        return value
    return (value if "." in value else f"{value}.") + "000"


def with_unknown_fields(path: str, field: str, value: Any) -> Any:
    """Send each object with fields that nobody knows yet."""
    more = {"addedLater": "text", "addedLater2": [1, None], "addedLater3": 3, "addedLater4": None}
    return {**value, **more} if isinstance(value, dict) else value


def required_of(path: str, field: str) -> tuple[str, ...]:
    """Return the names that are required in the row of a field."""
    return next((names for where, row, names in REQUIRED if path.startswith(where) and field.startswith(row)), ())


def only_required(path: str, field: str, value: Any) -> Any:
    """Leave out each field of a row that is not required."""
    known = required_of(path, field)
    return value if not known or name_of(field) in known or isinstance(value, dict | list) else MISSING


REQUIRED: list[tuple[str, str, tuple[str, ...]]] = [
    (META, "data.perpProducts[].", NINE),
    (SINGLE, "data.perpProducts[].", NINE),
    ("", "data.marginTables[].", ("tableId", "minimumValue", "maintainMarginRatio")),
    ("", "data.currencies[].", ("currency", "code")),
    ("/info/account/wallet", "data[].", ("userAddr", "currency", "balance", "status", "blockTime")),
    ("/info/account/agent", "data", ("id", "masterAddress", "agentAddress", "agentName", "status", "approvedAt")),
    ("/info/order/states", "data[].", ("ordId", "clOrdId", "userAddr", "symbol", "side", "type", "price", "qty",
                                       "filledQty", "leaveQty", "status", "blockTime")),
    ("/info/order/events", "data[].", ("id", "ordId", "userAddr", "symbol", "side", "ordPx", "ordQty", "filledPx",
                                       "execQty", "execStatus", "blockTime")),
    ("/info/position/list", "data[].", ("userAddr", "symbolCode", "longSize", "shortSize", "longEntryValue",
                                        "shortEntryValue", "curMarkPx", "blockTime")),
    ("/info/trade/page", "data[].", ("id", "orderId", "userAddr", "symbol", "side", "filledPx", "execQty",
                                     "execStatus", "blockTime")),
    ("/info/kline", "data[].", ("timestamp", "open", "high", "low", "close", "volume")),
]  # fmt: skip
"""Path, row and the fields without which the row says nothing: identity, time, side, size, price and status.

The specification has the nine fields of a product. The files require no field of an answer. A client may refuse a row
without one of these, by its name, and must read all other rows. The client id proves whose order a row shows.
"""


def without(path: str, field: str, *, null: bool) -> Variation:
    """Return the variation in which one field of one query is missing, or null."""

    def sent(asked: str, name: str, value: Any) -> Any:
        return (None if null else MISSING) if (asked, name) == (path, field) else value

    return Variation(f"{path} {field} {'null' if null else 'missing'}", sent)


AS_PUBLISHED = Variation("as published")
SAME = [
    AS_PUBLISHED,
    *(Variation(f"enums as {form}", enums_as(form)) for form in ("text", "numbers", "numeric text")),
    Variation("numbers as text", numbers_as_text),
    Variation("text as JSON numbers", numbers_as_json),
    Variation("every number a float", numbers_as_floats),
    Variation("trailing zeros", trailing_zeros),
    Variation("bare lists", lists="bare"),
    Variation("lists as total and items", lists="items"),
    Variation("items without total", lists="items without total"),
    Variation("oldest row first", oldest_first=True),
    Variation("pages of one row", page_limit=1),
    Variation("a message in every answer", message=True),
]
"""Variations that say the same in another way: every frame stays as it is."""
UNKNOWN_FIELDS = Variation("unknown fields", with_unknown_fields)
ONLY_REQUIRED = Variation("only required fields", only_required)
