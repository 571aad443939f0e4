"""The values a ticket works with: its fields, the market, the account's holdings, and the problems found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal
from typing import Any, ClassVar, Literal, NamedTuple

from ...numerals import meanings
from ...products import Product
from ..base_panel.number_format import WIDE

PriceLevel = tuple[Decimal, Decimal]
ZERO = Decimal(0)
MICRO = Decimal("0.000001")
DEFAULT_LEVERAGE = Decimal(20)
"""Leverage until one is set, at most the product's (docs/assumptions.md)."""
MAX_CLIENT_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that would pass: the label of its button, and the fields it sets."""

    label: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why the ticket can't be sent: a broken rule, or (`missing`) an empty field."""

    field: str
    rule: str
    message: str
    choices: tuple[Choice, ...] = ()
    missing: bool = False
    value: str = ""

    @property
    def nearest(self) -> tuple[str, ...]:
        """Labels of the choices."""
        return tuple(choice.label for choice in self.choices)

    def view(self) -> dict[str, Any]:
        """Return the problem with the labels of its buttons."""
        message = self.message
        # The buttons show the values that pass, so the message need not repeat them.
        for ending in ("; nearest ", "; at most "):
            message = message.rpartition(ending)[0] or message if self.choices else message
        shown = {"field": self.field, "rule": self.rule, "message": message, "missing": self.missing}
        return {**shown, "choices": list(self.nearest)}


class KindRules:
    """What a draft must know of its kind of order; `kinds` has the kinds."""

    name: ClassVar[str]
    """Value of the ticket's `order_type`."""
    price: ClassVar[Literal["required", "optional", "none"]] = "required"
    """Whether it has a limit price; it trades at market without one."""
    tif: ClassVar[str] = ""
    """Time in force of its orders, "" where the user chooses it."""


@dataclass(frozen=True, slots=True)
class Draft:
    """The fields of a ticket, as typed."""

    kind: KindRules
    side: str = "BUY"
    price: str = ""
    quantity: str = ""
    quantity_as: str = "base"
    """base (units), notional (USDC) or share (percent of available margin)."""
    tif: str = ""
    """"" is the default: GTC with a price, IOC without."""
    reduce_only: bool = False
    take_profit: str = ""
    stop_loss: str = ""
    trigger_by: str = "MARK_PRICE"
    slippage: str = ""
    client_id: str = ""
    exit_as: str = "price"
    """What take_profit and stop_loss are: price, percent or pnl."""
    trigger_price: str = ""
    last_price: str = ""
    count: str = ""
    duration: str = ""

    @property
    def market(self) -> bool:
        """True for an order without a price."""
        return self.kind.price == "none" or (self.kind.price == "optional" and not self.price)

    @property
    def default_tif(self) -> str:
        """The time in force where the user chooses none."""
        return "IOC" if self.market else "GTC"

    @property
    def effective_tif(self) -> str:
        """The time in force of the order, with the default filled in."""
        return self.kind.tif or self.tif or self.default_tif

    @property
    def sign(self) -> int:
        """+1 buys, −1 sells."""
        return 1 if self.side == "BUY" else -1


@dataclass(frozen=True, slots=True)
class TicketMarket:
    """The prices an order is checked against, None for an unknown one. Levels are best first."""

    mark: Decimal | None = None
    last: Decimal | None = None
    index: Decimal | None = None
    funding_rate: Decimal | None = None
    """The running rate, settled at the end of the interval."""
    bids: Sequence[PriceLevel] = ()
    asks: Sequence[PriceLevel] = ()

    @property
    def bid(self) -> Decimal | None:
        """Best bid."""
        return self.bids[0][0] if self.bids else None

    @property
    def ask(self) -> Decimal | None:
        """Best ask."""
        return self.asks[0][0] if self.asks else None

    def opposite(self, sign: int) -> Sequence[PriceLevel]:
        """Return the levels that a buy (+1) or a sell (−1) would trade with."""
        return self.asks if sign > 0 else self.bids


@dataclass(frozen=True, slots=True)
class Holdings:
    """What the account holds that matters for an order in one product.

    Amounts in USDC, sizes in base units, position values at the entry price.
    """

    known: bool = False
    """False before the account's data arrived: only the rules that need no account are checked then."""
    available: Decimal = ZERO
    cross_equity: Decimal = ZERO
    """Equity without isolated positions and their PnL."""
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
    buys: tuple[PriceLevel, ...] = ()
    """(price, quantity) of the resting buys that may open a position, last placed first; `sells` likewise."""
    sells: tuple[PriceLevel, ...] = ()
    reducing_buys: Decimal = ZERO
    reducing_sells: Decimal = ZERO
    client_ids: frozenset[int] = frozenset()

    @property
    def size(self) -> Decimal:
        """Long less short."""
        return self.long - self.short

    def reducible(self, sign: int) -> Decimal:
        """Return the size of the leg that a buy (+1) or a sell (−1) reduces."""
        return self.long if sign < 0 else self.short

    def pnl(self, mark: Decimal) -> Decimal:
        """Return the unrealised PnL of both legs at a mark price."""
        return self.size * mark - self.long_value + self.short_value


class TicketInputs(NamedTuple):
    """A draft and everything it is checked against."""

    draft: Draft
    product: Product
    market: TicketMarket
    holdings: Holdings


@dataclass(frozen=True, slots=True)
class Validation:
    """The outcome of checking a draft: its order, if the fields could be read, may be sent when `valid`."""

    problems: tuple[Problem, ...]
    order: Any = None
    """What the kind of order has made of the draft, such as an Order, a Bracket or ScaleOrders."""
    preview: dict[str, Any] = field(default_factory=dict)

    @property
    def valid(self) -> bool:
        """True when every check passed."""
        return not self.problems and self.order is not None


def in_base(quantity: str, label: str = "") -> Choice:
    """Return a quantity in base units as a choice."""
    return Choice(label or quantity, {"quantity": quantity, "quantity_as": "base"})


def meant(name: str, text: str) -> tuple[Choice, ...]:
    """Return the numbers that a text such as "1.000,5" may mean, as choices for a field."""
    return tuple(Choice(number, {name: number}) for number in meanings(text))


def walk(levels: Sequence[PriceLevel], quantity: Decimal, limit: Decimal, sign: int) -> tuple[Decimal, Decimal]:
    """Return the quantity that these levels would fill up to the price `limit`, and its value in USDC."""
    left, value = quantity, ZERO
    for price, size in levels:
        if left <= 0 or (limit - price) * sign < 0:
            break
        taken = min(left, size)
        left -= taken
        value += taken * price
    return quantity - left, value


def rounded_up(amount: Decimal) -> Decimal:
    """Return an amount in USDC rounded up to a micro-USDC."""
    return amount.quantize(MICRO, ROUND_CEILING, WIDE)
