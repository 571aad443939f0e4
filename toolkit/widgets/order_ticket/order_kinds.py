"""Kinds of orders: limit and market, which may carry exits. Stop, which is one, scale and TWAP, which split up.

Stop entry, if touched and trailing stop wait in this program, because the venue has no such order.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar

from ...checks import SLIPPAGE_UNIT, default_slippage, slippage_bound, slippage_width
from ...errors import InputError
from ...numerals import plain_decimal
from ...orders import MAX_SLICES, Bracket, Order, Twap, scale, twap
from ...products import Product
from ...protocol.reads.product_rows import ProductRule
from ..base_panel.number_format import WIDE, trimmed
from ..order_ticket import validation as rules
from .draft import (
    DISTANCES,
    ZERO,
    Choice,
    Draft,
    FormField,
    FormRow,
    KindRules,
    Problem,
    TicketFields,
    TicketInputs,
    TicketMarket,
    Validation,
    in_base,
    quoted,
)
from .holdings import preview_order
from .order_tracker import OrderTracker, TwapTracker

if TYPE_CHECKING:
    from ...client.orders.delivery import Prepared
    from ...protocol.orders.names import ReduceOnly


@dataclass(slots=True)
class ReadDraft:
    """A parsed draft: its order, with the trigger prices of its exits, and the problems found so far.

    Attributes
    ----------
    inputs : TicketInputs
        The draft, with the trigger prices of its exits.
    order : Order or Bracket
        Its order.
    worst : Decimal or None
        Worst price at which it may trade, in USDC.
    problems : list of Problem
        Problems found so far.
    """

    inputs: TicketInputs
    order: Order | Bracket
    quantity: str | None
    """In base units, None where it can't be read."""
    worst: Decimal | None
    problems: list[Problem]


class OrderKind(KindRules):
    """A kind of order: the fields that the ticket shows, and how they become orders that are checked and sent."""

    label: ClassVar[str]
    """Text of its button."""
    exits: ClassVar[bool] = True
    """Whether take-profit and stop-loss can be placed with it."""
    closes: ClassVar[bool] = False
    """Whether it only closes a position, reduce-only or not."""

    def rows(self, draft: Draft, fields: TicketFields) -> list[FormRow]:
        """Return the fields that the ticket shows, by rows.

        Parameters
        ----------
        draft : Draft
            Draft that decides which fields are shown.
        fields : TicketFields
            Fields that most kinds share.
        """
        prices: list[FormRow] = [] if draft.market else [(fields.price,)]
        return [*prices, (fields.quantity,), *fields.slippage_row(draft), (fields.tif, fields.reduce_only)]

    def form_view(self, draft: Draft, product: Product) -> dict[str, Any]:
        """Return what the form shows: its fields, and those of its exits.

        Parameters
        ----------
        draft : Draft
            Fields of the ticket.
        product : Product
            The product of the ticket.
        """
        fields = TicketFields(product, draft)
        rows = self.rows(draft, fields)
        # By which price a trigger counts is one setting: a kind that shows it has no second one among the exits.
        shown = {one.name for row in rows for one in row if one is not None}
        exits = fields.exits(*([] if "trigger_by" in shown else [fields.trigger_by]))
        # An exit that was typed for another kind stays in sight: it is a problem that can be cleared.
        more = exits if self.exits or draft.take_profit or draft.stop_loss else []
        views = {
            name: [[None if one is None else dataclasses.asdict(one) for one in row] for row in part]
            for name, part in (("rows", rows), ("more", more))
        }
        return {**views, "picksPrice": self.price != "none"}

    def read(self, inputs: TicketInputs) -> ReadDraft:
        """Read quantity, price and exits of a draft.

        Parameters
        ----------
        inputs : TicketInputs
            A draft and what it is checked against.
        """
        draft, market = inputs.draft, inputs.market
        # Before the quantity: a share of the margin is measured at the worst price.
        worst = self.worst_price(inputs)
        # First of all: by prices that contradict each other no quantity is offered.
        problems = rules.price_problems(inputs)
        read = None if problems and draft.quantity_as != "base" else rules.read_quantity(inputs, worst)
        quantity = None if isinstance(read, Problem) else read
        problems += [read] if isinstance(read, Problem) else []
        if not draft.market and not draft.price:
            problems.append(rules.missing("price", "a price is needed", rules.best_prices(market)))
        inputs, unread = rules.with_exit_prices(inputs, plain_decimal(quantity))
        return ReadDraft(inputs, rules.make_order(inputs, quantity or ""), quantity, worst, problems + unread)

    def validate(self, inputs: TicketInputs) -> Validation:
        """Return every problem of the draft, its order and its preview.

        Parameters
        ----------
        inputs : TicketInputs
            A draft and what it is checked against.
        """
        return self.check_one(self.read(inputs))

    def check_one(self, read: ReadDraft) -> Validation:
        """Check one order by the pre-trade rules and those of the account.

        Parameters
        ----------
        read : ReadDraft
            The parsed draft.
        """
        inputs, quantity, worst, problems = read.inputs, read.quantity, read.worst, read.problems
        broken = rules.rule_problems(inputs, read.order)
        # An unreadable quantity is reported already; the rules would only repeat it.
        problems += [one for one in broken if quantity is not None or one.field != "quantity"]
        problems += rules.client_id_problems(inputs)
        # Account rules would compute with an invalid price or quantity, and name the wrong cause.
        if quantity is None or any(problem.field in ("price", "quantity") for problem in problems):
            return Validation(tuple(problems), read.order)
        amount = Decimal(quantity)
        if worst is not None and inputs.holdings.known:
            problems += rules.account_rules(inputs, amount, worst)
        return Validation(tuple(problems), read.order, {} if worst is None else self.preview(inputs, amount, worst))

    def preview(self, inputs: TicketInputs, amount: Decimal, worst: Decimal) -> dict[str, Any]:
        """Return what the order would do, with what is expected at its exits.

        Parameters
        ----------
        inputs : TicketInputs
            A draft and what it is checked against.
        amount : Decimal
            Quantity in base units.
        worst : Decimal
            Worst price at which it may trade, in USDC.
        """
        found = preview_order(inputs, amount, worst)
        return {**found, "exits": rules.exit_results(inputs.draft, found, inputs.holdings.taker)}

    def worst_price(self, inputs: TicketInputs) -> Decimal | None:
        """Return the worst price at which it may trade: its limit, or the bound of its slippage.

        It is `None` while that is not known.

        Parameters
        ----------
        inputs : TicketInputs
            A draft and what it is checked against.
        """
        draft, product, market = inputs.draft, inputs.product, inputs.market
        if not draft.market:
            return plain_decimal(draft.price)
        last = market.last or market.mark
        default = Decimal(default_slippage(product)) / SLIPPAGE_UNIT
        # As the venue bounds it: from the last price, in whole ticks.
        slippage = plain_decimal(draft.slippage) if draft.slippage else default
        if last is None or slippage is None or not 0 < slippage < 1:
            return None
        last_ticks = int(last / product.tick_size)
        return product.tick_size * slippage_bound(product, draft.sign, last_ticks, slippage_width(slippage))

    def largest_quantity(self, inputs: TicketInputs) -> Decimal | None:
        """Return the largest quantity in whole steps that the margin allows, reduce-only the position.

        It is `None` without a price, the account's data or a known leverage.

        Parameters
        ----------
        inputs : TicketInputs
            A draft and what it is checked against.
        """
        worst = self.worst_price(inputs)
        return rules.max_quantity(inputs, worst) if worst and inputs.holdings.known else None

    def request(self, order: object) -> Any:
        """Return what `session.prepare` takes for an order that `validate` has made.

        Parameters
        ----------
        order : object
            What `validate` has made.
        """
        return order

    def track(self, order: Order | Bracket, prepared: Prepared) -> Any:
        """Return what sends a confirmed order and follows it.

        Parameters
        ----------
        order : object
            What `validate` has made.
        prepared : Prepared
            What `session.prepare` returned for it.
        """
        return OrderTracker(prepared, order.describe())

    def notes(self, order: Any) -> list[list[str]]:
        """Return what a person has to know before confirming, as rows of name, value and note.

        Parameters
        ----------
        order : object
            What `validate` has made.
        """
        return []

    def price_words(self, draft: Draft) -> str:
        """Return the price of an unfinished draft in words.

        Parameters
        ----------
        draft : Draft
            Fields of the ticket.
        """
        return "market" if draft.market else draft.price or "…"


class LimitKind(OrderKind):
    """An order with a limit price."""

    name, label = "LIMIT", "Limit"


class MarketKind(OrderKind):
    """An order without a price, bounded by its slippage."""

    name, label, price = "MARKET", "Market", "none"


class StopKind(OrderKind):
    """A stop-loss or take-profit of a position: it waits for its trigger, and closes the position or a part of it.

    The venue takes trigger orders of traders only as exits.
    """

    name, label, price, exits, closes = "STOP", "Stop", "optional", False, True

    def rows(self, draft: Draft, fields: TicketFields) -> list[FormRow]:
        """Return the trigger, the limit that counts from then, and the part of the position to close.

        Parameters
        ----------
        draft : Draft
            Fields of the ticket.
        fields : TicketFields
            Fields that most kinds share.
        """
        trigger = FormField("trigger_price", "Trigger at (USDC)", "trigger price")
        quantity = fields.quantity.but(placeholder="whole position")
        rows: list[FormRow] = [(trigger, fields.trigger_by), (fields.optional_price,), (quantity,)]
        return [*rows, *fields.slippage_row(draft), (fields.tif, None)]

    def validate(self, inputs: TicketInputs) -> Validation:
        """Check the order by the rules of an exit, and against the position.

        Parameters
        ----------
        inputs : TicketInputs
            A draft and what it is checked against.
        """
        draft, market = inputs.draft, inputs.market
        text, trigger = draft.trigger_price, plain_decimal(draft.trigger_price)
        worst = plain_decimal(draft.price) or trigger
        quantity = rules.read_quantity(inputs, worst) if draft.quantity else "0"
        problems = [quantity] if isinstance(quantity, Problem) else []
        size = "0" if isinstance(quantity, Problem) else quantity or "0"
        if not text:
            problems.append(rules.missing("trigger_price", "a trigger price is needed"))
        now = {"MARK_PRICE": market.mark, "LAST_PRICE": market.last, "INDEX_PRICE": market.index}[draft.trigger_by]
        # A stop triggers where the market moves against the position, a take-profit where it moves with it.
        stops = trigger is None or now is None or (trigger > now) == draft.is_buy
        kind: ReduceOnly = "SL_FROM_POSITION" if stops else "TP_FROM_POSITION"
        tif: Any = draft.effective_tif
        order = dataclasses.replace(
            rules.exit_order(inputs, size, text or "0", kind, draft.side),
            # A trigger order without a limit trades at market once it is triggered, so its slippage counts then.
            price=draft.price or None, tif=tif, slippage=(draft.slippage or None) if draft.market else None,
        )  # fmt: skip
        if text:
            problems += rules.rule_problems(inputs, order)
        problems += position_problems(inputs, plain_decimal(size))
        # An empty quantity is the whole position at the time of the trigger.
        amount = plain_decimal(size) or inputs.holdings.reducible(draft.sign)
        if problems or worst is None or not amount:
            return Validation(tuple(problems), order)
        # As if it fills at its trigger: the book of today says nothing about the book there.
        then = inputs._replace(market=dataclasses.replace(market, bids=(), asks=()))
        return Validation((), order, {**preview_order(then, amount, worst), "worst_price": None})

    def price_words(self, draft: Draft) -> str:
        return f"{super().price_words(draft)} when {draft.trigger_price or '…'} is reached"


def position_problems(inputs: TicketInputs, amount: Decimal | None) -> list[Problem]:
    """Return the problem of an exit without a position, or of more than it.

    Parameters
    ----------
    inputs : TicketInputs
        A draft and what it is checked against.
    amount : Decimal or None
        Quantity in base units, None for the whole position.
    """
    draft, holdings = inputs.draft, inputs.holdings
    held = holdings.reducible(draft.sign)
    if holdings.known and not held:
        name = "short" if draft.is_buy else "long"
        message = (
            f"there is no {name} position in {inputs.product.symbol} to close. The venue takes a trader's trigger"
            " orders only as take-profit or stop-loss of a position. STOP_LIMIT and the like are for builder orders"
        )
        return [Problem("order_type", "position", message)]
    if holdings.known and amount and amount > held:
        message = f"{trimmed(amount)} exceeds the position of {trimmed(held)}"
        return [Problem("quantity", "position", message, (in_base(format(held, "f"), trimmed(held)),))]
    return []


HERE = "only in this program, while its session is open. The venue has no such order"


class ClientKind(OrderKind):
    """A kind that waits in this program, and sends or moves an order of the venue. See `toolkit.research`'s context."""

    price = "optional"

    def track(self, order: Any, prepared: Prepared) -> Any:
        from .waiting import WaitingOrder

        return WaitingOrder(order)

    def request(self, order: Any) -> Any:
        """Return the order as it would be sent now.

        Parameters
        ----------
        order : object
            What `validate` has made.
        """
        return order.order

    def notes(self, order: Any) -> list[list[str]]:
        return [["Waits", HERE, "It is signed and sent when its price is reached. Closing the session ends it"]]


class EntryKind(ClientKind):
    """An order that is sent when the last price reaches a trigger, from below or from above."""

    way: ClassVar[int]
    """+1 buys when the price has risen to the trigger, −1 when it has fallen to it. A sale is the mirror."""
    other: ClassVar[str]
    """Name of the kind that acts from the other side."""

    def rows(self, draft: Draft, fields: TicketFields) -> list[FormRow]:
        """Return the trigger, what is sent then, and the order that is cancelled with it.

        Parameters
        ----------
        draft : Draft
            Fields of the ticket.
        fields : TicketFields
            Fields that most kinds share.
        """
        trigger = FormField("trigger_price", "When the last price is (USDC)", "trigger price")
        cancels = FormField("cancels", "One cancels the other: order", "none", "numeric")
        rows: list[FormRow] = [(trigger, cancels), (fields.optional_price,), (fields.quantity,)]
        return [*rows, *fields.slippage_row(draft), (fields.tif, fields.reduce_only)]

    def validate(self, inputs: TicketInputs) -> Validation:
        """Check the order as if the price were at its trigger.

        Parameters
        ----------
        inputs : TicketInputs
            A draft and what it is checked against.
        """
        draft, market = inputs.draft, inputs.market
        trigger, up = plain_decimal(draft.trigger_price), draft.sign * self.way > 0
        if trigger is None or trigger <= 0:
            problem = rules.missing("trigger_price", "a trigger price is needed")
            if draft.trigger_price:
                words = f"trigger price {quoted(draft.trigger_price)} is not a number above 0"
                problem = Problem("trigger_price", "decimal text", words)
            return Validation((problem, *self.read(inputs).problems))
        there = dataclasses.replace(market, mark=trigger, last=trigger, bids=(), asks=())
        made = super().validate(inputs._replace(market=there))
        problems = list(made.problems)
        if market.last is not None and (market.last >= trigger if up else market.last <= trigger):
            words = f"the last price {market.last:f} is at the trigger {draft.trigger_price}, or has passed it"
            choice = Choice(KINDS[self.other].label, {"order_type": self.other})
            problems.append(Problem("trigger_price", "trigger met", words, (choice,)))
        if draft.cancels and not (draft.cancels.isdecimal() and draft.cancels.isascii()):
            problems.append(Problem("cancels", "order id", f"order {quoted(draft.cancels)} is not the id of an order"))
        return Validation(tuple(problems), made.order and self._plan(made.order, draft, market, up), made.preview)

    def _plan(self, order: Order | Bracket, draft: Draft, market: TicketMarket, up: bool) -> Any:
        from ...research.client_orders import Entry, KeptOrder
        from .waiting import ClientPlan

        words = f"{order.describe()}, once the last price has {'risen' if up else 'fallen'} to {draft.trigger_price}"
        words += f", or cancelled when order {draft.cancels} is filled" if draft.cancels else ""
        trigger, sign, symbol = float(draft.trigger_price), 1 if up else -1, str(order.entry.symbol)
        kept = KeptOrder(Entry.__name__, symbol, -1, order.legs, trigger=trigger, sign=sign)
        return ClientPlan(order, kept, words, float(market.last or trigger), draft.cancels)

    def price_words(self, draft: Draft) -> str:
        return f"{super().price_words(draft)} when the last price is {draft.trigger_price or '…'}"


class StopEntryKind(EntryKind):
    """An order that is sent when the price breaks out to its trigger."""

    name, label, way, other = "STOP_ENTRY", "Stop entry", 1, "IF_TOUCHED"


class IfTouchedKind(EntryKind):
    """An order that is sent when the price comes back to its trigger."""

    name, label, way, other = "IF_TOUCHED", "If touched", -1, "STOP_ENTRY"


class TrailingKind(ClientKind):
    """A stop-loss of a whole position that follows the best price. The venue has the stop, this program moves it."""

    name, label, exits, closes = "TRAILING", "Trailing stop", False, True

    def rows(self, draft: Draft, fields: TicketFields) -> list[FormRow]:
        """Return the distance and its unit.

        Parameters
        ----------
        draft : Draft
            Fields of the ticket.
        fields : TicketFields
            Fields that most kinds share.
        """
        unit = FormField("distance_as", "Distance as", control="select", options=DISTANCES)
        return [(FormField("distance", "Distance from the best price", "distance"), unit)]

    def validate(self, inputs: TicketInputs) -> Validation:
        """Check the first stop, at the distance from the last price, and against the position.

        Parameters
        ----------
        inputs : TicketInputs
            A draft and what it is checked against.
        """
        draft, market, product = inputs.draft, inputs.market, inputs.product
        distance, best = plain_decimal(draft.distance), market.last or market.mark
        if distance is None or best is None:
            words = "a distance and a last price are needed" if not draft.distance else "there is no last price yet"
            if draft.distance and distance is None:
                words = f"distance {quoted(draft.distance)} is not a plain decimal text"
            return Validation((rules.missing("distance", words),))
        ratio = draft.distance_as == "ratio"
        if not 0 < distance < (1 if ratio else best):
            rule = "between 0 and 1" if ratio else "above 0 and below the price"
            return Validation((Problem("distance", rule, f"distance {draft.distance} must be {rule}"),))
        level = best + draft.sign * distance * (best if ratio else 1)
        trigger = f"{product.round_price(level, 'up' if draft.is_buy else 'down'):f}"
        order = dataclasses.replace(
            rules.exit_order(inputs, "0", trigger, "SL_FROM_POSITION", draft.side), trigger_by=None
        )
        problems = rules.rule_problems(inputs, order) + position_problems(inputs, None)
        amount = inputs.holdings.reducible(draft.sign)
        then = inputs._replace(market=dataclasses.replace(market, bids=(), asks=()))
        preview = preview_order(then, amount, Decimal(trigger)) if amount and not problems else {}
        return Validation(tuple(problems), self._plan(order, draft, float(best)), {**preview, "worst_price": None})

    def _plan(self, order: Order, draft: Draft, best: float) -> Any:
        from ...research.client_orders import KeptOrder, TrailingStop
        from .waiting import ClientPlan

        far = draft.distance + (" of it" if draft.distance_as == "ratio" else " USDC")
        words = f"{order.describe()}, then following the best price at a distance of {far}"
        distance, sign = float(draft.distance), -draft.sign
        kept = KeptOrder(TrailingStop.__name__, str(order.symbol), -1, sign=sign, distance=distance,
                         unit=draft.distance_as)  # fmt: skip
        return ClientPlan(order, kept, words, best)

    def notes(self, order: Any) -> list[list[str]]:
        jumps = "If the price has jumped over the new stop, the position is closed at market"
        return [["Moved each minute", HERE, f"{jumps}. When the session closes, the stop stays at the venue as it is"]]

    def price_words(self, draft: Draft) -> str:
        return f"market when the price comes back by {draft.distance or '…'}"


@dataclass(frozen=True, slots=True)
class SeveralOrders:
    """The orders to check: of a scale all of them, of a TWAP the first one, because the others are like it.

    Attributes
    ----------
    legs : tuple of Order
        The orders.
    words : str
        The orders in words.
    twap : Twap or None
        The TWAP, `None` for a scale (default: none).
    """

    legs: tuple[Order, ...]
    words: str
    twap: Twap | None = None

    @property
    def entry(self) -> Order:
        """The first order."""
        return self.legs[0]

    @property
    def total(self) -> Decimal:
        """Quantity of all orders."""
        if self.twap is not None:
            return Decimal(self.twap.quantity)
        return sum((Decimal(one.quantity) for one in self.legs), ZERO)

    def describe(self) -> str:
        """Return the orders in words."""
        return self.words


class Several(OrderKind):
    """A kind of several orders. Each of them keeps the rules of a single one."""

    exits = False
    most: ClassVar[int]
    """Largest number of orders."""

    def count_field(self) -> FormField:
        """Return the field of the number of orders."""
        return FormField("count", "Orders", f"2 to {self.most}", "numeric")

    @abstractmethod
    def make(self, draft: Draft, product: Product, quantity: str, entry: Order, count: int) -> SeveralOrders | Problem:
        """Return the orders, which are like `entry`.

        Parameters
        ----------
        draft : Draft
            Fields of the ticket.
        product : Product
            The product of the ticket.
        quantity : str
            Quantity of all orders in base units, as text.
        entry : Order
            A single order with the settings of each.
        count : int
            Number of orders.

        Raises
        ------
        InputError
            For a number of orders or a duration that no plan has.
        """

    def validate(self, inputs: TicketInputs) -> Validation:
        """Check each order alone, and the account's rules for all of them together.

        Parameters
        ----------
        inputs : TicketInputs
            A draft and what it is checked against.
        """
        read = self.read(inputs)
        draft, product = read.inputs.draft, read.inputs.product
        price = plain_decimal(draft.price)
        # A scale would round its first price, as it does those between its ends.
        unfit = not draft.market and (price is None or WIDE.remainder(price, product.tick_size))
        if unfit or plain_decimal(read.quantity) is None:
            return self.check_one(read)
        made = self._made(read)
        if isinstance(made, Problem):
            read.problems.append(made)
            return self.check_one(read)
        inputs, problems, worst = read.inputs, read.problems, read.worst
        for leg in made.legs:
            # The first leg with a problem is enough: others are like it, and would repeat the message.
            found = rules.rule_problems(inputs, leg)
            if found:
                words = [(one, f"each order: {one.message}") for one in found]
                problems += [dataclasses.replace(one, choices=(), message=text) for one, text in words]
                break
        if problems or worst is None:
            return Validation(tuple(problems), made)
        if inputs.holdings.known:
            # All legs together, at the worst price of any: each alone may pass where their sum does not.
            problems += rules.account_rules(inputs, made.total, worst)
        preview = self.preview(inputs, made.total, worst)
        if made.twap is not None:
            slices, step = made.twap.slices, inputs.product.step_size
            even = (made.total / slices).quantize(step / 10, context=WIDE)
            preview["slices"] = (slices, even, made.twap.interval_ms)
        return Validation(tuple(problems), made, preview)

    def _made(self, read: ReadDraft) -> SeveralOrders | Problem:
        draft = read.inputs.draft
        text = draft.count
        count = int(text) if text.isdecimal() and text.isascii() and len(text) < 5 else 0
        if not 2 <= count <= self.most:
            return Problem("count", "orders", f"the number of orders {quoted(text)} must be 2 to {self.most}")
        for name in ("take_profit", "stop_loss"):
            if getattr(draft, name):
                words = f"a {self.name.lower()} has no {name.replace('_', ' ')}. Leave it empty"
                return Problem(name, "bracket", words)
        try:
            return self.make(draft, read.inputs.product, read.quantity or "", read.order.entry, count)
        except InputError as error:
            name = {"duration": "duration", "slices": "count"}.get(error.field or "", "quantity")
            return Problem(name, error.rule or self.name, str(error))


class ScaleKind(Several):
    """`count` limit orders at evenly spaced prices from `price` to `last_price`, in one request."""

    name, label, most = "SCALE", "Scale", 20

    def rows(self, draft: Draft, fields: TicketFields) -> list[FormRow]:
        """Return both ends, the number of orders, and what a limit order has.

        Parameters
        ----------
        draft : Draft
            Fields of the ticket.
        fields : TicketFields
            Fields that most kinds share.
        """
        first = fields.price.but(label="First price (USDC)")
        last = FormField("last_price", "Last price", "last price")
        return [(first,), (last, self.count_field()), (fields.quantity,), (fields.tif, fields.reduce_only)]

    def make(self, draft: Draft, product: Product, quantity: str, entry: Order, count: int) -> SeveralOrders | Problem:
        """Return the orders of the ladder.

        In words it is such as "BUY 0.05 BTCUSDC in 5 orders from 60000.0 to 59000.0".

        Parameters
        ----------
        draft : Draft
            Fields of the ticket.
        product : Product
            The product of the ticket.
        quantity : str
            Quantity of all orders in base units, as text.
        entry : Order
            A single order with the settings of each.
        count : int
            Number of orders.
        """
        last = draft.last_price
        if not last:
            return rules.missing("last_price", "a last price is needed")
        if plain_decimal(last) is None:
            return Problem("last_price", "decimal text", f"last price {quoted(last)} is not a plain decimal text")
        legs = scale(
            product, entry.side, quantity, first=draft.price, last=last, count=count, rounding="nearest",
            tif=entry.tif, reduce_only=entry.reduce_only,
        )  # fmt: skip
        # Only prices between the ends are rounded. The ends are signed as they were typed.
        near = legs[-1].price or ""
        if plain_decimal(near) != plain_decimal(last):
            words = f"last price {last} is not a multiple of tickSize {product.tick_size:f}. The nearest is {near}"
            return Problem("last_price", ProductRule.TICK_SIZE, words, (Choice(near, {"last_price": near}),))
        total = sum(Decimal(one.quantity) for one in legs)
        words = f"{entry.side} {total} {product.symbol} in {count} orders from {legs[0].price} to {legs[-1].price}"
        return SeveralOrders(tuple(legs), words if entry.tif == "GTC" else f"{words} {entry.tif}")

    def worst_price(self, inputs: TicketInputs) -> Decimal | None:
        """Return the end of the ladder that is worse for the trader.

        Parameters
        ----------
        inputs : TicketInputs
            A draft and what it is checked against.
        """
        draft = inputs.draft
        ends = [one for one in map(plain_decimal, (draft.price, draft.last_price)) if one is not None]
        return (max(ends) if draft.is_buy else min(ends)) if ends else None

    def request(self, order: Any) -> list[Order]:
        """Return all orders: they are one request.

        Parameters
        ----------
        order : object
            What `validate` has made.
        """
        return list(order.legs)

    def price_words(self, draft: Draft) -> str:
        return f"{super().price_words(draft)} to {draft.last_price or '…'}"


class TwapKind(Several):
    """`count` equal orders evenly over `duration`. The first one is signed now, the others when they are due."""

    name, label, price, tif, most = "TWAP", "TWAP", "optional", "IOC", MAX_SLICES

    def rows(self, draft: Draft, fields: TicketFields) -> list[FormRow]:
        """Return the limit of each order, the time, the number of orders, and what a market order has.

        Parameters
        ----------
        draft : Draft
            Fields of the ticket.
        fields : TicketFields
            Fields that most kinds share.
        """
        duration = FormField("duration", "Over (30m, 4h, …)", "30m", keyboard="")
        rows: list[FormRow] = [(fields.optional_price,), (duration, self.count_field()), (fields.quantity,)]
        return [*rows, *fields.slippage_row(draft), (fields.reduce_only, None)]

    def make(self, draft: Draft, product: Product, quantity: str, entry: Order, count: int) -> SeveralOrders:
        """Return the TWAP with its first child order.

        Parameters
        ----------
        draft : Draft
            Fields of the ticket.
        product : Product
            The product of the ticket.
        quantity : str
            Quantity of all orders in base units, as text.
        entry : Order
            A single order with the settings of each.
        count : int
            Number of orders.
        """
        made = twap(
            product.symbol, entry.side, quantity, draft.duration, slices=count, price=entry.price,
            slippage=entry.slippage, reduce_only=entry.reduce_only is not None,
        )  # fmt: skip
        first = made.due(product, 1)
        # Where there are more orders than steps, the rule is named by `check`.
        child = (made if first else made.check(product)).child(first)
        return SeveralOrders((child,), f"{made.describe()}. The first order, of {child.quantity}, is sent now", made)

    def preview(self, inputs: TicketInputs, amount: Decimal, worst: Decimal) -> dict[str, Any]:
        """Return the effect of all child orders.

        Little of it fills now, so none is shown.

        Parameters
        ----------
        inputs : TicketInputs
            A draft and what it is checked against.
        amount : Decimal
            Quantity in base units.
        worst : Decimal
            Worst price at which it may trade, in USDC.
        """
        return {**super().preview(inputs, amount, worst), "fills_now": ZERO}

    def request(self, order: Any) -> Order:
        """Return the first child order, which is signed now.

        Parameters
        ----------
        order : object
            What `validate` has made.
        """
        entry: Order = order.entry
        return entry

    def track(self, order: Any, prepared: Prepared) -> TwapTracker:
        return TwapTracker(order.twap)


_ALL: tuple[OrderKind, ...] = (
    *(LimitKind(), MarketKind(), StopKind(), ScaleKind(), TwapKind()),
    *(StopEntryKind(), IfTouchedKind(), TrailingKind()),
)
KINDS = {kind.name: kind for kind in _ALL}
"""`order_type` → its kind, in the order of the buttons."""
