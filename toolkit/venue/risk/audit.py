"""Invariants of books, orders, margins and cash that must hold after every command.

Each invariant yields one sentence for every violation. `Core.check` runs them all. Their cost grows with the state, so
audits and tests run them. The core itself verifies the records that each command adds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ..engine.core import Core
from ..engine.registry import invariant
from ..model.accounts import VenueOrder
from ..model.book import BookSide
from ..model.constants import (
    CANCELED,
    ENDED,
    FILLED,
    FOK,
    HEDGE,
    ISOLATED,
    LIQUIDATING,
    LIQUIDATION,
    POST_ONLY,
    REJECTED,
    TAKER,
)
from ..model.history import OrderEvent
from . import account_margin, ledger

BOOK, NETTED, VAULT, COUNTERPARTY = "BOOK", "NETTED", "LP_VAULT", "ADL"
"""Where a part of a liquidated position went (`LiquidationStep.where`)."""


def trades_behind(core: Core, address: str, product: int) -> tuple[int, ...]:
    """Return the ids of an account's trades in a product (0 = all) since its present or last position was opened.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    address : str
        Account in lower case.
    product : int
        Code of the product. 0 = all products.
    """
    found: dict[int, list[OrderEvent]] = {}
    for event in core.state.history.fills_of(address):
        if product in (0, event.product):
            found.setdefault(event.product, []).append(event)
    return tuple(
        event.exec_id
        for events in found.values()
        for event in events
        if (event.long_term, event.short_term) == (events[-1].long_term, events[-1].short_term)
    )


@invariant()
def clearing(core: Core) -> Iterator[str]:
    """The clearing account holds what entry values leave, so that equity at one mark sums to cash.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    """
    entry = sum(
        position.short.value - position.long.value
        for account in core.state.accounts.values()
        for position in account.positions.values()
    )
    balance = core.state.accounts[ledger.CLEARING].balance
    if balance != entry:
        yield f"clearing holds {balance}, the entry values leave {entry}"


@invariant()
def liquidations(core: Core) -> Iterator[str]:
    """Margin groups at 100 % are being liquidated, flat accounts owe nothing, and statuses agree.

    Venue accounts, simulated participants and the LP vault are never liquidated.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    """
    state, unhealthy, held = core.state, set[str](), set[str]()
    for address, account in state.accounts.items():
        if account.kind not in ("user", "vault") or address == ledger.LP_VAULT:
            continue
        isolated = {code: position for code, position in account.positions.items() if position.mode == ISOLATED}
        for code, position in account.positions.items():
            if position.long.size or position.short.size:
                held.add(f"{address}:{code if code in isolated else 0}")
            if code in isolated and (position.long.size or position.short.size):
                if account_margin.isolated_margin(core, position).unhealthy:
                    unhealthy.add(f"{address}:{code}")
            elif position.assigned:
                yield f"{address} has margin on product {code}, which is not isolated or not open"
        figures = account_margin.cross_margin(core, account)
        # `cross_margin` writes the formula of `Standing.initial` out for speed
        steps = {code: account_margin.mark_step(core, code) for code in account.positions}
        by_product = (account_margin.standing(account, p, steps[code]) for code, p in account.positions.items())
        if figures.initial != sum(each.initial() for each in by_product):
            yield f"{address}: the initial margin {figures.initial} is not the sum of what its products need"
        if f"{address}:0" in held:
            if figures.unhealthy:
                unhealthy.add(f"{address}:0")
        elif account.balance < 0:
            yield f"{address} is flat on cross and owes {-account.balance} micro-USDC"
    missing = unhealthy - state.liquidations.keys()
    if missing:
        yield f"not being liquidated at a margin ratio of 100 % or more: {sorted(missing)}"
    flat = state.liquidations.keys() - held
    if flat:
        yield f"being liquidated without a position: {sorted(flat)}"
    listed = {entry.address for entry in state.liquidations.values()}
    marked = {address for address, account in state.accounts.items() if account.status == LIQUIDATING}
    if listed != marked:
        yield f"accounts whose status and liquidations differ: {sorted(listed ^ marked)}"


@invariant(history=True)
def transfers(core: Core) -> Iterator[str]:
    """Transfers are numbered without a gap, and each has a sender, a receiver and a transaction.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    """
    for number, transfer in enumerate(core.state.history.ledger.records, 1):
        sound = 0 <= transfer.received <= transfer.paid > 0 and transfer.payer != transfer.receiver
        if transfer.id != number or not sound or not transfer.tx_hash.startswith("0x"):
            yield f"transfer {number} is not sound: {transfer}"


@invariant(history=True)
def entries(core: Core) -> Iterator[str]:
    """Every balance follows from the one before, the last is the account's, and no side of a transfer is lost.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    """
    found = 0
    for address, account in core.state.accounts.items():
        balance = isolated = 0
        for entry in ledger.entries(core, address):
            balance += entry.amount
            if entry.balance != balance or not entry.amount:
                yield f"{address}: the entry does not follow from the one before: {entry}"
            if entry.kind == ledger.ISOLATED_MARGIN:
                isolated -= entry.amount
            found += 1
        assigned = sum(position.assigned for position in account.positions.values())
        if balance != account.balance:
            yield f"{address}: the entries sum to {balance}, the balance is {account.balance}"
        if isolated != assigned:
            yield f"{address}: the entries say {isolated} of isolated margin, the positions have {assigned}"
    records = core.state.history.ledger.records
    sides = sum((t.payer != "") + (t.receiver != "" and t.received > 0) + (t.paid != t.received) for t in records)
    if found != sides:
        yield f"{found} entries of accounts for {sides} sides of transfers"


@invariant()
def cash(core: Core) -> Iterator[str]:
    """All balances and isolated margins are what came in less what left, to the last micro-USDC.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    """
    state = core.state
    held = sum(a.balance + sum(p.assigned for p in a.positions.values()) for a in state.accounts.values())
    difference = held - state.deposits + state.withdrawals
    if difference:
        yield f"cash is off by {difference} micro-USDC"


@invariant()
def positions(core: Core) -> Iterator[str]:
    """Longs equal shorts in every product, legs are whole, and the index of holders agrees with the accounts.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    """
    for code, market in core.state.markets.items():
        held = {a.address: a.positions[code] for a in core.state.accounts.values() if code in a.positions}
        longs, shorts = sum(p.long.size for p in held.values()), sum(p.short.size for p in held.values())
        if not longs == shorts == market.open_interest:
            yield f"product {code}: longs {longs}, shorts {shorts} and open interest {market.open_interest} differ"
        for address, position in held.items():
            for leg in (position.long, position.short):
                if leg.size < 0 or (leg.size > 0) != (leg.value > 0):
                    yield f"{address} in product {code}: a leg of {leg.size} steps has entry value {leg.value}"
        if set(core.risk_index.holders[code]) != {a for a, p in held.items() if p.long.size or p.short.size}:
            yield f"product {code}: the index of holders differs from the accounts"


@invariant()
def books(core: Core) -> Iterator[str]:
    """No book is crossed, levels are sound, and the books hold exactly the orders that rest.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    """
    in_books: set[int] = set()
    for code in core.products:
        book = core.books[code]
        bid, ask = book.bids.best, book.asks.best
        if bid and ask and bid >= ask:
            yield f"product {code}: bid {bid} and ask {ask} cross"
        for ladder in (book.bids, book.asks):
            in_books.update(order_id for level in ladder for order_id in level.orders)
            yield from _ladder(code, ladder)
    resting = {o.id for account in core.state.accounts.values() for o in account.orders.values() if o.priority}
    if resting != in_books:
        yield f"orders that rest on one side only, in the books or in the accounts: {sorted(resting ^ in_books)}"


@invariant()
def shown_books(core: Core) -> Iterator[str]:
    """The levels that are shown of a book are those that the next order meets.

    One folded book in turn is unfolded.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    """
    turn = core.state.transactions % max(1, len(core.products))
    for code in [code for at, code in enumerate(core.products) if code in core.books or at == turn]:
        for side, best in zip((1, -1), core.books.top(code), strict=True):
            shown = Counter[int]()
            for price, steps in core.books.levels(code, side, 1 << 62):
                shown[price] += steps
            met = dict(core.books[code].depth(side, len(shown) + 1))
            if shown != met or best != next(iter(met), 0):
                yield f"product {code}: the book shows {dict(shown)} and {best}, an order of the other side meets {met}"


def _ladder(code: int, ladder: BookSide) -> Iterator[str]:
    prices = [level.price for level in ladder]
    if prices != sorted(ladder.levels, reverse=ladder.sign > 0) or ladder.best != (prices[0] if prices else 0):
        yield f"product {code}: the prices of a side are not in order, or its best price is not the first"
    for level in ladder:
        orders = list(level.orders.values())
        if not orders or level.total != sum(order.leaves for order in orders):
            yield f"product {code}: the total {level.total} at {level.price} is not the sum of its orders"
        for order in orders:
            if order.leaves <= 0 or (order.price, order.side, order.product) != (level.price, ladder.sign, code):
                yield f"product {code}: at {level.price} rests a foreign or empty order: {order}"
        places = [order.priority for order in orders]
        if places != sorted(places):
            yield f"product {code}: time priority is broken at {level.price}"


@invariant()
def open_orders(core: Core) -> Iterator[str]:
    """Live orders are sound, and what accounts and positions keep of them is what the orders say.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    """
    for account in core.state.accounts.values():
        orders = account.orders
        for order_id, order in orders.items():
            yield from order_violations([order])
            if order.id != order_id or (order.status >= FILLED and not order.waiting):
                yield f"an ended or misplaced order is live: {order}"
            if not order.priority and not order.waiting:
                yield f"a live order neither rests in a book nor waits for its trigger: {order}"
        if account.waiting != sum(order.waiting for order in orders.values()):
            yield f"{account.address}: the number of waiting orders is wrong"
        if account.client_ids != {order.client_id: order.id for order in orders.values() if order.client_id}:
            yield f"{account.address}: the index of clOrdIds is wrong"
        for code, position in account.positions.items():
            found = _sums([order for order in orders.values() if order.product == code], core.products[code].unit)
            kept = {name: getattr(position, name) for name in found}
            if found != kept:
                yield f"{account.address} in product {code}: the position keeps {kept}, its orders say {found}"


def _sums(orders: list[VenueOrder], unit: int) -> dict[str, int]:
    """Return what a position keeps of its orders, by field."""
    found = Counter(reducers=sum(order.reducing for order in orders))
    for side, name in ((1, "buy"), (-1, "sell")):
        resting = [order for order in orders if order.priority and order.side == side]
        found[f"{name}_quantity"] = sum(o.leaves for o in resting if not o.reducing)
        found[f"{name}_value"] = sum(o.leaves * o.price * unit for o in resting if not o.reducing)
        found[f"{name}_reducing"] = sum(o.leaves for o in resting if o.reducing)
    return dict(found)


@invariant()
def reducing(core: Core) -> Iterator[str]:
    """Orders that may only reduce are covered by the position, and one-way mode has one leg.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    """
    for account in core.state.accounts.values():
        for position in account.positions.values():
            if position.buy_reducing > position.short.size or position.sell_reducing > position.long.size:
                yield f"{account.address} in product {position.product}: reduce-only orders exceed the position"
            if account.position_mode != HEDGE and position.long.size and position.short.size:
                yield f"{account.address} in product {position.product}: both legs are open in one-way mode"
        for order in account.orders.values():
            held = account.positions.get(order.product)
            if held is None or not (order.waiting and order.reducing and order.armed):
                continue
            if not (held.short if order.side > 0 else held.long).size:
                yield f"an order that reduces waits without a position: {order}"


@invariant()
def brackets(core: Core) -> Iterator[str]:
    """A child that is not armed has an open main order, and no bracket has two children of one kind.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    """
    for account in core.state.accounts.values():
        children = [order for order in account.orders.values() if order.group and order.group != order.id]
        for order in account.orders.values():
            if not order.armed and order.group not in account.orders:
                yield f"a child lost its main order: {order}"
        for (group, _), count in Counter((order.group, order.reduce) for order in children).items():
            if count > 1:
                yield f"bracket {group} has {count} children of one kind"


@invariant()
def triggers(core: Core) -> Iterator[str]:
    """Every armed order that waits is in the queue of its product, or among the exits that try again.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    """
    for code, queue in core.triggers.items():
        waiting = {
            (order.id, order.trigger_by, order.trigger)
            for account in core.state.accounts.values()
            for order in account.orders.values()
            if order.product == code and order.waiting and order.armed and order.id not in queue.retrying
        }
        queued = queue.queued()
        if not waiting <= set(queued) or queue.entries != len(queued):
            yield f"product {code}: missing in the queue of triggers: {sorted(waiting - set(queued))}"


@invariant(history=True)
def ended_orders(core: Core) -> Iterator[str]:
    """An order ends once, permanently, and a bracket closes through one child only.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    """
    history = core.state.history.orders.records
    yield from order_violations(history)
    for order_id, count in Counter(order.id for order in history).items():
        if count > 1:
            yield f"order {order_id} ended {count} times"
    live = [order for account in core.state.accounts.values() for order in account.orders.values()]
    closers: dict[int, set[int]] = {}
    for order in (*history, *live):
        if order.group and order.group != order.id and order.filled:
            closers.setdefault(order.group, set()).add(order.id)
    for group, orders in closers.items():
        if len(orders) > 1:
            yield f"bracket {group} closed through several orders: {sorted(orders)}"


@invariant(history=True)
def fills(core: Core) -> Iterator[str]:
    """Every fill is within its order's limit, and its two sides agree.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    """
    yield from fill_violations(core.state.history.order_events.records)


def order_violations(orders: Iterable[VenueOrder]) -> Iterator[str]:
    """Yield the errors of single orders: filled + cancelled + open = ordered, and an ended order has nothing open.

    Parameters
    ----------
    orders : iterable of VenueOrder
        Live or ended orders.
    """
    for order in orders:
        unsized = order.waiting and order.quantity == 0  # a whole-position TP/SL gets its quantity when it triggers
        if order.filled < 0 or order.leaves < 0 or (order.filled + order.leaves > order.quantity and not unsized):
            yield f"filled and open steps exceed the ordered ones: {order}"
        if order.status in ENDED and (order.leaves or order.priority):
            yield f"an ended order is still open: {order}"
        if (order.status == FILLED and order.filled != order.quantity) or (order.status == REJECTED and order.filled):
            yield f"the status does not fit the filled steps: {order}"
        partial = order.status in (FILLED, CANCELED) and order.filled not in (0, order.quantity)
        if order.tif == FOK and partial and not (order.reducing or order.triggered):  # these are cut to the position
            yield f"a FOK order was filled in part: {order}"


def fill_violations(events: Iterable[OrderEvent]) -> Iterator[str]:
    """Yield what is wrong with the fills among order events: a limit, POST_ONLY, a self-trade, or two unequal sides.

    Parameters
    ----------
    events : iterable of OrderEvent
        Events of orders, oldest first. Those that are no fills are ignored.
    """
    sides: dict[int, list[OrderEvent]] = {}
    for event in events:
        if not event.exec_id:
            continue
        sides.setdefault(event.exec_id, []).append(event)
        if event.fill_quantity <= 0 or (event.price and (event.fill_price - event.price) * event.side > 0):
            yield f"a fill is empty or beyond its order's limit: {event}"
        if event.tif == POST_ONLY and event.role == TAKER:
            yield f"a POST_ONLY order took liquidity: {event}"
    for exec_id, found in sides.items():
        if len(found) > 2:
            yield f"trade {exec_id} has {len(found)} sides"
        elif len(found) == 2:
            one, two = found
            # a liquidation closes the two legs of a hedge against each other first
            if one.address == two.address and one.type != LIQUIDATION:
                yield f"trade {exec_id} is a self-trade of {one.address}"
            if (one.fill_price, one.fill_quantity, one.side) != (two.fill_price, two.fill_quantity, -two.side):
                yield f"the two sides of trade {exec_id} differ"
