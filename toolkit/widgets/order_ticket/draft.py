"""The values a ticket works with: its fields and their form, the market, what the account holds, and the problems."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, ClassVar, Literal, NamedTuple

import traitlets

from ...numerals import meanings
from ...products import Product, decimal_text
from ..base_panel.number_format import trimmed

PriceLevel = tuple[Decimal, Decimal]
ZERO = Decimal(0)
# Messages of rules end with what would pass. Errors print it, while the ticket has buttons.
_PASSING = re.compile(r"[;.] (the nearest|at most) .*", re.IGNORECASE)
DEFAULT_LEVERAGE = Decimal(20)
"""Leverage until one is set, at most the product's (docs/assumptions.md)."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that would pass.

    Attributes
    ----------
    label : str
        Text of its button.
    values : mapping of str to object
        Fields that it sets, with their values.
    """

    label: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why the ticket can't be sent: a broken rule, or (`missing`) an empty field.

    Attributes
    ----------
    field : str
        Field of the ticket.
    rule : str
        Name of the broken rule, such as "tickSize" or "required".
    message : str
        What is wrong, and what would pass.
    choices : tuple of Choice
        Values that would pass (default: none).
    missing : bool
        Whether the field is empty, rather than wrong (default: `False`).
    value : str
        Value that broke the rule, as text (default: empty).
    """

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
        # The buttons show the values that pass, so the message need not repeat them.
        message = _PASSING.sub("", self.message) if self.choices else self.message
        shown = {"field": self.field, "rule": self.rule, "message": message, "missing": self.missing}
        return {**shown, "choices": list(self.nearest)}


class KindRules:
    """The rules of a kind of order, for its drafts. `order_kinds` has the kinds."""

    name: ClassVar[str]
    """Value of the ticket's `order_type`."""
    price: ClassVar[Literal["required", "optional", "none"]] = "required"
    """Whether it has a limit price. It trades at market without one."""
    tif: ClassVar[str] = ""
    """Time in force of its orders, "" where the user chooses it."""


@dataclass(frozen=True, slots=True)
class Draft:
    """The fields of a ticket, as typed.

    Attributes
    ----------
    kind : KindRules
        Rules of its kind of order.
    side : {"BUY", "SELL"}
        Direction (default: "BUY").
    price : str
        Limit price in USDC (default: empty).
    quantity : str
        Quantity in the unit of `quantity_as` (default: empty).
    reduce_only : bool
        Whether it may only reduce the position (default: `False`).
    take_profit : str
        Trigger of the take-profit in the unit of `exit_as`, "" for none.
    stop_loss : str
        Trigger of the stop-loss in the unit of `exit_as`, "" for none.
    trigger_by : {"MARK_PRICE", "LAST_PRICE", "INDEX_PRICE"}
        Price that triggers (default: "MARK_PRICE").
    slippage : str
        Allowed slippage as a ratio: 0.01 is 1 %. "" for the product's default.
    client_id : str
        Client order id, "" for an automatic one.
    trigger_price : str
        Trigger of a stop in USDC (default: empty).
    last_price : str
        Last limit price of a scale in USDC (default: empty).
    count : str
        Number of orders (default: empty).
    duration : str
        Time from the first to the last order of a TWAP, such as "30m" (default: empty).
    """

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
    """Unit of take_profit and stop_loss: price, percent or pnl."""
    trigger_price: str = ""
    last_price: str = ""
    count: str = ""
    duration: str = ""
    distance: str = ""
    """Distance of a trailing stop from the best price, in the unit of `distance_as`."""
    distance_as: str = "ratio"
    cancels: str = ""
    """Id of the open order that an order which waits here cancels, "" for none."""

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
    def is_buy(self) -> bool:
        """True for a buy, False for a sell."""
        return self.side == "BUY"

    @property
    def sign(self) -> int:
        """+1 buys, −1 sells."""
        return 1 if self.is_buy else -1


@dataclass(frozen=True, slots=True)
class TicketMarket:
    """The prices an order is checked against, None for an unknown one.

    Levels are best first.

    Attributes
    ----------
    mark : Decimal or None
        Mark price in USDC.
    last : Decimal or None
        Price of the last trade in USDC.
    index : Decimal or None
        Index price in USDC.
    bids : sequence of PriceLevel
        Price in USDC and quantity in base units, best first (default: none).
    asks : sequence of PriceLevel
        Price in USDC and quantity in base units, best first (default: none).
    """

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
        """Return the levels that an order would trade with.

        Parameters
        ----------
        sign : int
            +1 for a buy, −1 for a sell.
        """
        return self.asks if sign > 0 else self.bids


@dataclass(frozen=True, slots=True)
class Holdings:
    """The holdings of the account that matter for an order in one product.

    Amounts are in USDC, sizes in base units, and position values at the entry price.

    Attributes
    ----------
    available : Decimal
        Available margin.
    taker : Decimal or None
        Fee of an order that trades immediately, as a ratio, `None` if not known.
    liquidating : bool
        Whether the account is being liquidated (default: `False`).
    hedge : bool
        Whether the product is in hedge mode (default: `False`).
    assigned : Decimal
        Margin assigned to the isolated position.
    long : Decimal
        Size of the long leg.
    long_value : Decimal
        Entry value of the long leg.
    short : Decimal
        Size of the short leg, positive.
    short_value : Decimal
        Entry value of the short leg, positive.
    sells : tuple of PriceLevel
        Price in USDC and quantity of the resting sells that may open a position, last placed first (default: none).
    reducing_buys : Decimal
        Quantity of resting buys that may only reduce.
    reducing_sells : Decimal
        Quantity of resting sells that may only reduce.
    client_ids : frozenset of int
        Client ids of the open orders.
    """

    known: bool = False
    """False before the account's data arrived, or in doubt: only the rules that need no account are checked then."""
    why_unknown: str = "has not arrived yet"
    available: Decimal = ZERO
    cross_equity: Decimal = ZERO
    """Equity without isolated positions and their PnL."""
    others_maintenance: Decimal | None = ZERO
    """Maintenance margin of the cross positions in other products, None where the tiers of one are not known."""
    maker: Decimal | None = ZERO
    """Fee rate of the account, None where neither the account nor the product has one, `taker` likewise."""
    taker: Decimal | None = ZERO
    liquidating: bool = False
    hedge: bool = False
    isolated: bool | None = False
    """None where there is no position, and the venue does not say whether the product has isolated margin only."""
    assigned: Decimal = ZERO
    leverage: Decimal | None = DEFAULT_LEVERAGE
    """None where none is set, and the venue does not say which is the highest."""
    long: Decimal = ZERO
    long_value: Decimal = ZERO
    short: Decimal = ZERO
    short_value: Decimal = ZERO
    buys: tuple[PriceLevel, ...] = ()
    """(price, quantity) of the resting buys that may open a position, last placed first, `sells` likewise."""
    sells: tuple[PriceLevel, ...] = ()
    reducing_buys: Decimal = ZERO
    reducing_sells: Decimal = ZERO
    client_ids: frozenset[int] = frozenset()

    @property
    def size(self) -> Decimal:
        """Long less short."""
        return self.long - self.short

    def reducible(self, sign: int) -> Decimal:
        """Return the size of the leg that an order reduces.

        Parameters
        ----------
        sign : int
            +1 for a buy, −1 for a sell.
        """
        return self.long if sign < 0 else self.short

    def pnl(self, mark: Decimal) -> Decimal:
        """Return the unrealised PnL of both legs.

        Parameters
        ----------
        mark : Decimal
            Mark price in USDC.
        """
        return self.size * mark - self.long_value + self.short_value


class TicketInputs(NamedTuple):
    """A draft and everything it is checked against.

    Attributes
    ----------
    draft : Draft
        Fields of the ticket.
    product : Product
        The product, with its rules.
    market : TicketMarket
        Prices that the order is checked against.
    holdings : Holdings
        What the account holds.
    """

    draft: Draft
    product: Product
    market: TicketMarket
    holdings: Holdings


@dataclass(frozen=True, slots=True)
class Validation:
    """The outcome of checking a draft.

    Its order, if the fields could be read, may be sent when `valid`.

    Attributes
    ----------
    problems : tuple of Problem
        Every broken rule and empty field.
    preview : dict of str to object
        Expected effect, empty where it can't be computed. `OrderTicket.preview` lists the names.
    """

    problems: tuple[Problem, ...]
    order: Any = None
    """The result that the kind of order made of the draft, such as an Order, a Bracket or ScaleOrders."""
    preview: dict[str, Any] = field(default_factory=dict)

    @property
    def valid(self) -> bool:
        """True when every check passed."""
        return not self.problems and self.order is not None


def in_base(quantity: str, label: str = "") -> Choice:
    """Return a quantity in base units as a choice.

    Parameters
    ----------
    quantity : str
        Quantity in base units.
    label : str, optional
        Text of the button (default: the quantity).
    """
    return Choice(label or quantity, {"quantity": quantity, "quantity_as": "base"})


def quoted(text: str) -> str:
    """Return the typed text in quotation marks, unchanged.

    A `repr` would show a narrow space as a Python escape.

    Parameters
    ----------
    text : str
        What was typed.
    """
    return f"'{text}'"


def meant(name: str, text: str) -> tuple[Choice, ...]:
    """Return the numbers that a text such as "1.000,5" may mean.

    Parameters
    ----------
    name : str
        Field that a choice sets.
    text : str
        What was typed.
    """
    return tuple(Choice(number, {name: number}) for number in meanings(text))


def walk(levels: Sequence[PriceLevel], quantity: Decimal, limit: Decimal, sign: int) -> tuple[Decimal, Decimal]:
    """Return what these levels would fill: quantity in base units, and value in USDC.

    Parameters
    ----------
    levels : sequence of PriceLevel
        Levels of the opposite side, best first.
    quantity : Decimal
        Quantity in base units.
    limit : Decimal
        Worst price of the order in USDC.
    sign : int
        +1 for a buy, −1 for a sell.
    """
    left, value = quantity, ZERO
    for price, size in levels:
        # Levels are best first, so the first one beyond the limit ends the walk.
        if left <= 0 or (limit - price) * sign < 0:
            break
        taken = min(left, size)
        left -= taken
        value += taken * price
    return quantity - left, value


Options = tuple[tuple[str, str], ...]
TIFS = ("GTC", "IOC", "FOK", "POST_ONLY")
TRIGGERS: Options = (("MARK_PRICE", "mark price"), ("LAST_PRICE", "last price"), ("INDEX_PRICE", "index price"))
DISTANCES: Options = (("ratio", "ratio (0.01 is 1 %)"), ("amount", "USDC"))
EXITS_AS: Options = (("price", "price"), ("percent", "% of the entry price"), ("pnl", "PnL in USDC"))


class Amount(traitlets.Unicode[str, Any]):
    """Text exactly as the user typed it. A number is converted to its exact text."""

    def validate(self, obj: object, value: Any) -> str:
        # Not `str(value)`: 0.1 + 0.2 must be refused instead of sent with 17 digits.
        """Return the value as text.

        A number is converted to its exact text.

        Parameters
        ----------
        obj : object
            The widget.
        value : object
            What was set.

        Raises
        ------
        InputError
            For a number that has no exact decimal text.
        """
        return value if isinstance(value, str) else decimal_text(value, self.name or "")


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of the ticket: a trait, and what edits it.

    Attributes
    ----------
    name : str
        Trait that it edits.
    label : str
        Text above it.
    placeholder : str
        Text shown while it is empty (default: none).
    """

    name: str
    label: str
    placeholder: str = ""
    keyboard: str = "decimal"
    """Keyboard of a touch screen (`inputmode`)."""
    options: Options = ()
    """Values and their texts, for a quantity those of its unit."""
    control: str = "text"
    """text, select, check or quantity (a text with its unit and a slider)."""
    title: str = ""
    """A hint shown over the field."""
    spoken: str = ""
    """The label for screen readers, where it says more."""

    def but(self, **changes: Any) -> FormField:
        """Return the field with these changes.

        Parameters
        ----------
        **changes : object
            Attributes that differ.

        Returns
        -------
        FormField
            A copy.
        """
        return replace(self, **changes)


FormRow = Sequence[FormField | None]
"""Fields side by side. None is an empty place."""


class TicketFields:
    """The fields that most kinds share, with the texts for one product and draft.

    Parameters
    ----------
    product : Product
        The product of the ticket.
    draft : Draft
        Decides the units and defaults that the texts name.
    """

    def __init__(self, product: Product, draft: Draft) -> None:
        base, tick, step = product.base, product.tick_size, product.step_size
        share = "percent of the position" if draft.reduce_only else "percent of available margin"
        units = {"base": base, "notional": "USDC", "share": share}
        least, largest, slippage = product.min_order_value, product.max_order_quantity, product.max_slippage_pct
        most = "" if largest is None else f", at most {trimmed(largest)}"
        tifs = (("", f"{draft.default_tif} (default)"), *((one, one) for one in TIFS[:-1]), ("POST_ONLY", "Post only"))
        self.price = FormField("price", "Price (USDC)", "price", title=f"tick size {tick:f}")
        self.quantity = FormField(
            "quantity", "Quantity", "quantity", control="quantity", spoken=f"Quantity, in {units[draft.quantity_as]}",
            options=(("base", base), ("notional", "USDC"), ("share", "%")),
            title=f"step size {step:f}, at least {trimmed(least)} USDC{most}",
        )  # fmt: skip
        self.optional_price = self.price.but(label="Limit price (USDC)", placeholder="none: at market")
        widest = "0.03" if slippage is None else f"0.03 (at most {trimmed(slippage)})"
        self.slippage = FormField("slippage", "Slippage (ratio)", widest)
        self.tif = FormField("tif", "Time in force", control="select", options=tifs)
        self.reduce_only = FormField("reduce_only", "Reduce only", control="check")
        self.trigger_by = FormField("trigger_by", "Trigger by", control="select", options=TRIGGERS)

    def slippage_row(self, draft: Draft) -> list[FormRow]:
        """Return the row of the slippage, which only an order at market has.

        Parameters
        ----------
        draft : Draft
            Fields of the ticket.
        """
        return [(self.slippage,)] if draft.market else []

    def exits(self, *last: FormField) -> list[FormRow]:
        """Return the rows of take-profit, stop-loss and client id.

        Parameters
        ----------
        *last : FormField
            Fields after those.
        """
        return [
            (FormField("take_profit", "Take profit at", "none"), FormField("stop_loss", "Stop loss at", "none")),
            (
                FormField("exit_as", "Take profit and stop loss as", control="select", options=EXITS_AS),
                FormField("client_id", "Client id", "automatic", "numeric"),
                *last,
            ),
        ]
