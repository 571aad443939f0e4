"""The base of all kinds of orders: one order, which may carry a take-profit and a stop-loss."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar

from ....numerals import plain_decimal
from ....orders import Bracket, Order
from ....products import Product
from ..buying_power import account_rules
from ..draft import Draft, KindRules, Problem, TicketInputs, TicketMarket, Validation
from ..exits import exit_results, with_exit_prices
from ..fields import Row, TicketFields
from ..order_tracker import OrderTracker, Tracker
from ..preview import preview_order
from ..validation import (
    best_prices,
    client_id_problems,
    make_order,
    missing,
    read_quantity,
    reference_price,
    rule_problems,
    worst_price,
)

if TYPE_CHECKING:
    from ....client.orders.delivery import Prepared


@dataclass(slots=True)
class Entry:
    """What was read of a draft: its order, with the trigger prices of its exits, and the problems found so far."""

    inputs: TicketInputs
    order: Order | Bracket
    quantity: str | None
    """In base units, None where it can't be read."""
    worst: Decimal | None
    problems: list[Problem]


def read_entry(inputs: TicketInputs) -> Entry:
    """Read quantity, price and exits of a draft."""
    draft, product, market = inputs.draft, inputs.product, inputs.market
    problems: list[Problem] = []
    worst = draft.kind.worst_price(draft, product, market)
    quantity = read_quantity(inputs, worst)
    if isinstance(quantity, Problem):
        problems.append(quantity)
        quantity = None
    if not draft.market and not draft.price:
        problems.append(missing("price", "a price is needed", best_prices(market)))
    draft, unread = with_exit_prices(draft, product, reference_price(draft, market), plain_decimal(quantity))
    order = make_order(draft, product, quantity or "", inputs.holdings)
    return Entry(inputs._replace(draft=draft), order, quantity, worst, [*problems, *unread])


class OrderKind(KindRules):
    """A kind of order: the fields that the ticket shows, and how they become orders that are checked and sent."""

    label: ClassVar[str]
    """Text of its button."""
    exits: ClassVar[bool] = True
    """Whether take-profit and stop-loss can be placed with it."""

    def rows(self, draft: Draft, fields: TicketFields) -> list[Row]:
        """Return the fields that the ticket shows for this draft, by rows."""
        prices: list[Row] = [] if draft.market else [(fields.price,)]
        slippage: list[Row] = [(fields.slippage,)] if draft.market else []
        return [*prices, (fields.quantity,), *slippage, (fields.tif, fields.reduce_only)]

    def validate(self, inputs: TicketInputs) -> Validation:
        """Return every problem of the draft, its order and its preview."""
        return self._check_entry(read_entry(inputs))

    def _check_entry(self, entry: Entry) -> Validation:
        """Check one order by the pre-trade rules and those of the account."""
        inputs, quantity, worst, problems = entry.inputs, entry.quantity, entry.worst, entry.problems
        broken = rule_problems(inputs, entry.order)
        # An unreadable quantity is reported already; the rules would only repeat it.
        problems += [one for one in broken if quantity is not None or one.field != "quantity"]
        problems += client_id_problems(inputs)
        if quantity is None or any(problem.field in ("price", "quantity") for problem in problems):
            return Validation(tuple(problems), entry.order)
        amount = Decimal(quantity)
        if worst is not None and inputs.holdings.known:
            problems += account_rules(inputs, amount, worst)
        return Validation(tuple(problems), entry.order, {} if worst is None else self.preview(inputs, amount, worst))

    def preview(self, inputs: TicketInputs, amount: Decimal, worst: Decimal) -> dict[str, Any]:
        """Return what the order would do, with what is expected at its exits."""
        found = preview_order(inputs, amount, worst)
        return {**found, "exits": exit_results(inputs.draft, found, inputs.holdings.taker)}

    def worst_price(self, draft: Draft, product: Product, market: TicketMarket) -> Decimal | None:
        """Return its limit, or the bound that slippage sets for an order at market."""
        return worst_price(draft, product, market)

    def request(self, order: Any) -> Any:
        """Return what `session.prepare` takes for an order that `validate` has made."""
        return order

    def track(self, order: Any, prepared: Prepared) -> Tracker:
        """Return what sends a confirmed order and follows it."""
        return OrderTracker(prepared, order.describe())

    def price_words(self, draft: Draft) -> str:
        """Return the price of an unfinished draft in words."""
        return "market" if draft.market else draft.price or "…"
