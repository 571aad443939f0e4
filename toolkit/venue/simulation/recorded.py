"""A recorded market: the levels and trades of a recording, or of another venue, as everyone's counterparty.

Each change comes as a command, so that journals, dumps and reverts cover it. A recorded level is one order of an
account that never runs out. Users' orders rest among them and are filled by the same rules as in a backtest on events.
They fill when a recorded trade goes through their price, when trades have used up the queue ahead of them, and when the
other side's best price reaches them. Quantity that users take from a recorded level returns with the level's next
change. An account of a followed venue can be copied: its balance, positions, settings and open orders.
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from ...protocol.orders.items import OrderItem
from ..engine import arguments
from ..engine.commands import ActionContext, Refused, TxCode
from ..engine.core import Core
from ..engine.registry import controls, process
from ..model.accounts import Position, VenueAccount, VenueOrder
from ..model.constants import FILLED, GTC, HEDGE, IOC, ISOLATED, LIMIT
from ..model.state import RecordedMarket
from ..risk import ledger, prices
from ..simulation import quoting
from ..trading import lifecycle, matching
from ..trading.lifecycle import position_of
from ..trading.placing import place
from .queues import QueueEntry, queue_model, reached_steps

RECORDED = "0x00000000000000000000000000000000000000ba"
CAPITAL = 10**17
"""Micro-USDC the account begins with: it never runs out."""
LEVEL, TRADE, MARK, INDEX = range(4)
"""Kinds of changes: a level's new total, a trade (side of the taker), a mark price, an index price."""
FINE = 1_000_000
"""The queue ahead of an order is kept in parts of a step, because the probability models divide steps."""


def attach(core: Core) -> None:
    """Let the oracle follow the recorded market, where there is one.

    Parameters
    ----------
    core : Core
        State machine whose oracle follows the recorded market.
    """
    if core.state.recorded is not None:
        core.price_source = _index


def _index(core: Core, code: int, time: int) -> tuple[int, int]:
    """Return a product's recorded index price, else its mid, in ticks, and 0 for the price of other venues."""
    recorded = core.state.recorded
    if recorded is None or code not in recorded.products:
        return quoting.index_source(core, code, time)
    book = core.books[code]
    bid, ask = book.bids.best, book.asks.best
    return recorded.indexes.get(code) or ((bid + ask) // 2 if bid and ask else 0), 0


@controls("open_recorded")
def open_recorded(core: Core, products: list[int], queue: str = "risk-averse") -> None:
    """Begin a recorded market.

    `play_recorded` receives its changes.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    products : list of int
        Codes of the recorded products. The other ones keep their market.
    queue : str, optional
        Queue model of users' orders, see `queues.queue_model` (default: "risk-averse").

    Raises
    ------
    InputError
        If the queue model is unknown.
    Refused
        If a product is unknown.
    """
    queue_model(queue, 1.0)
    for code in products:
        core.product(code)
    account = ledger.open_house(core, RECORDED, CAPITAL)
    account.maker_rate = account.taker_rate = 0
    for order in list(account.orders.values()):
        lifecycle.cancel(core, account, order)
    core.state.recorded = RecordedMarket(sorted(products), queue)
    attach(core)
    # At the same instants as the prices. The process runs after them, and so its marks win.
    core.wake("recorded", core.state.schedule.get("prices", core.state.time + core.state.config.price_interval))


@process("recorded")
def keep_marks(core: Core, time: int) -> int | None:
    """Set the recorded marks again after the venue has computed its own.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    time : int
        Instant of the marks, Unix ms.
    """
    recorded = core.state.recorded
    if recorded is None:
        return None
    for code, mark in recorded.marks.items():
        prices.set_mark(core, core.state.markets[code], mark)
    return time + core.state.config.price_interval


@controls("play_recorded")
def play_recorded(core: Core, product: int, changes: list[list[int]], whole: bool = False) -> None:
    """Apply changes of a recorded market, in order.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    product : int
        Code of a recorded product.
    changes : list of list of int
        [kind, side, price in ticks, steps]. Kinds are LEVEL, TRADE, MARK and INDEX. The side of a trade is the taker's.
    whole : bool, optional
        True says that the levels are the whole book: recorded levels that are not among them are gone (default:
        `False`).

    Raises
    ------
    Refused
        If the product is not recorded, or a change is malformed. Nothing was applied then.
    """
    recorded = core.state.recorded
    if recorded is None or product not in recorded.products:
        raise Refused(TxCode.UNKNOWN_PRODUCT, f"product {product} has no recorded market. open_recorded begins one")
    for change in changes:
        kind, side, price, steps = change if len(change) == 4 else (-1, 0, 0, 0)
        sided = side in (1, -1) if kind in (LEVEL, TRADE) else kind in (MARK, INDEX)
        if not sided or price <= 0 or steps < (kind == TRADE):
            reason = f"a change is [kind 0 to 3, side 1 or -1, price above 0 in ticks, steps], not {change}"
            raise Refused(TxCode.BAD_ARGUMENT, reason)
    _Player(core, recorded, product).play(changes, whole)


class _Player:
    """Applies the changes of one command to one product."""

    def __init__(self, core: Core, recorded: RecordedMarket, code: int) -> None:
        self.core = core
        self.recorded = recorded
        self.product = core.products[code]
        self.book, self.market = core.books[code], core.state.markets[code]
        self.account: VenueAccount = core.state.accounts[RECORDED]
        self.position: Position = position_of(core, self.account, self.product)
        self.model = queue_model(recorded.queue, float(self.product.step_size))

    def play(self, changes: list[list[int]], whole: bool) -> None:
        """Apply the changes in order.

        Parameters
        ----------
        changes : list of list of int
            Each is [kind, side, price in ticks, steps].
        whole : bool
            Whether the levels are the whole book, so that others are gone.
        """
        # Levels that disappeared are removed before the new ones come, so that no old level stands in the way of a new
        # price.
        if whole:
            named = {(side, price) for kind, side, price, _ in changes if kind == LEVEL}
            gone = [(o.side, o.price) for o in self.account.orders.values() if o.product == self.product.code]
            changes = [[LEVEL, side, price, 0] for side, price in gone if (side, price) not in named] + changes
        self._forget_ended()
        for kind, side, price, steps in changes:
            if kind == LEVEL:
                self._set_level(side, price, steps)
            elif kind == TRADE:
                self._trade(side, price, steps)
            elif kind == MARK:
                self.recorded.marks[self.product.code] = price
                prices.set_mark(self.core, self.market, price)
            else:
                self.recorded.indexes[self.product.code] = price
                self.market.oracle = price

    def _forget_ended(self) -> None:
        """Drop the places of orders that have left the book, now and then."""
        fronts = self.recorded.fronts
        if len(fronts) > 256:
            books = [self.core.books[code] for code in self.recorded.products]
            levels = [level for book in books for ladder in (book.bids, book.asks) for level in ladder]
            live = {order_id for level in levels for order_id in level.orders}
            self.recorded.fronts = {order_id: place for order_id, place in fronts.items() if order_id in live}

    def _set_level(self, side: int, price: int, steps: int) -> None:
        """Give a recorded level its new total."""
        own, users = self._orders_at(side, price)
        before = own.leaves if own is not None else 0
        for order in users:
            entry = self._entry(order, before)
            self.model.on_level(entry, before, steps)
            self._keep(order, entry)
        # A level that is new or larger may reach users' orders on the other side. One that is gone may not.
        if steps:
            self._clear_crossed(side, price)
        if own is None:
            if steps:
                lifecycle.add_to_book(self.core, self.position, self._order(side, price, steps, GTC))
        elif not steps:
            lifecycle.cancel(self.core, self.account, own)
        elif own.leaves != steps:
            lifecycle.take_from_resting(self.core, self.position, own, own.leaves - steps)
            # The recorded order stands for all orders of its level, so its quantity follows.
            own.quantity = own.filled + steps

    def _clear_crossed(self, side: int, price: int) -> None:
        """Fill the users' orders that a new price reaches. Older recorded levels within it are void."""
        ladder = self.book.side(-side)
        for level in list(ladder.within(price)):
            for order in list(level.orders.values()):
                if order.address == RECORDED:
                    lifecycle.cancel(self.core, self.account, order)
                elif order.id in self.core.state.accounts[order.address].orders:
                    self._fill(order, order.leaves)

    def _trade(self, taker: int, price: int, steps: int) -> None:
        """Fill the users' orders that a recorded trade reaches, and publish the rest of the trade."""
        left = steps
        ladder = self.book.side(-taker)
        for level in list(ladder.within(price)):
            own, users = self._orders_at(-taker, level.price)
            # A trade beyond a user's price has passed all that was ahead of it. At its price, the queue decides.
            for order in users:
                if level.price == price:
                    entry = self._entry(order, own.leaves if own is not None else 0)
                    quantity = min(reached_steps(self.model, entry, steps), order.leaves)
                    self._keep(order, entry)
                else:
                    quantity = order.leaves
                if quantity > 0:
                    left -= self._fill(order, quantity)
        # The part that users' orders took was published with their fills.
        if left > 0:
            matching.publish_trade(self.core, self.product, taker, price, left)

    def _orders_at(self, side: int, price: int) -> tuple[VenueOrder | None, list[VenueOrder]]:
        """Return the recorded order of a level, and the users' orders there, first come first."""
        level = self.book.side(side).levels.get(price)
        if level is None:
            return None, []
        own = [order for order in level.orders.values() if order.address == RECORDED]
        users = [order for order in level.orders.values() if order.address != RECORDED]
        return own[0] if own else None, users

    def _entry(self, order: VenueOrder, before: int) -> QueueEntry:
        """Return an order's place. One that is new joined behind everything that was recorded at its price."""
        front, traded = self.recorded.fronts.get(order.id, (before * FINE, 0))
        return QueueEntry(front / FINE, traded / FINE)

    def _keep(self, order: VenueOrder, entry: QueueEntry) -> None:
        self.recorded.fronts[order.id] = round(entry.front * FINE), round(entry.traded * FINE)

    def _order(self, side: int, price: int, steps: int, tif: int) -> VenueOrder:
        order = VenueOrder(0, RECORDED, self.product.code, side, False, LIMIT, tif, 0, price, steps, steps)
        lifecycle.accept(self.core, self.account, self.position, order)
        return order

    def _fill(self, maker: VenueOrder, steps: int) -> int:
        """Fill a user's order at its price. Return the steps that were filled."""
        order = self._order(-maker.side, maker.price, steps, IOC)
        matching.fill_maker(self.core, self.account, self.position, order, maker)
        filled = steps - order.leaves
        if order.leaves:
            lifecycle.cancel(self.core, self.account, order)
        else:
            lifecycle.end(self.core, self.account, self.position, order, FILLED)
        if not maker.leaves:
            self.recorded.fronts.pop(maker.id, None)
        return filled


@controls("copy_account")
def copy_account(
    core: Core,
    address: str,
    balance: int,
    positions: list[list[int]],
    leverages: list[list[int]] | None = None,
    hedge: bool = False,
) -> None:
    """Give an account a balance, positions and settings, against the recorded market, without fees.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    address : str
        Account that is copied, in any spelling.
    balance : int
        Cash in micro-USDC, without the margin of isolated positions.
    positions : list of list of int
        [product, side, steps, entry value in micro-USDC, leverage in hundredths, 1 if isolated, margin assigned in
        micro-USDC].
    leverages : list of list of int or None, optional
        [product, leverage in hundredths] of products without a position (default: none).
    hedge : bool, optional
        True sets hedge mode. Two positions in one product set it too (default: `False`).

    Raises
    ------
    Refused
        If the account has positions, there is no recorded market, or a row is malformed.
    """
    account = core.account(arguments.address(address))
    if account.kind != "user" or any(held.long.size or held.short.size for held in account.positions.values()):
        raise Refused(TxCode.BAD_ARGUMENT, f"{address} has positions already. Copy into an account without any")
    if core.state.recorded is None:
        raise Refused(TxCode.BAD_ARGUMENT, "there is no recorded market that could hold the other side")
    if balance < 0 or any(
        len(row) != 7 or row[1] not in (1, -1) or min(row[2:]) < 0 or not row[2] for row in positions
    ):
        raise Refused(TxCode.BAD_ARGUMENT, "a position is seven whole numbers, and no amount is below 0")
    for row in (*positions, *(leverages or ())):
        core.product(row[0])
    cash = balance + sum(row[6] for row in positions if row[5]) - account.balance
    if cash > 0:
        ledger.deposit(core, account, cash)
    elif cash < 0:
        ledger.withdraw(core, account, -cash)
    # Both legs of one product exist in hedge mode only.
    if hedge or len({row[0] for row in positions}) < len(positions):
        account.position_mode = HEDGE
    for code, leverage in leverages or ():
        position_of(core, account, core.products[code]).leverage = leverage
    rates = account.maker_rate, account.taker_rate
    account.maker_rate = account.taker_rate = 0
    for row in positions:
        _copy_position(core, account, row)
    account.maker_rate, account.taker_rate = rates


def _copy_position(core: Core, account: VenueAccount, row: list[int]) -> None:
    code, side, steps, value, leverage, isolated, margin = row
    product, house = core.products[code], core.state.accounts[RECORDED]
    position = position_of(core, account, product)
    position.leverage = leverage or position.leverage
    position.mode = ISOLATED if isolated else position.mode
    # an average entry price lies between two ticks, so it is made of trades at both
    price, rest = divmod(value, steps * product.unit)
    above = rest // product.unit
    for quantity, ticks in ((steps - above, price), (above, price + 1)):
        if quantity and ticks:
            buyer, seller = (account, house) if side > 0 else (house, account)
            matching.trade_off_book(core, product, buyer, seller, quantity, ticks, LIMIT, account, opens=True)
    if isolated:
        ledger.assign(core, account, position, margin - position.assigned)


@controls("copy_orders")
def copy_orders(core: Core, address: str, orders: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Place orders of a followed venue for an account.

    Conditional orders, which a builder has placed there, are placed without a builder's fee.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    address : str
        Account that is copied, in any spelling.
    orders : list of dict of str to object
        Items as on the wire, with `ordId`, the order's id there. A `parentOrdId` is one of these ids.

    Returns
    -------
    dict of str to list of str
        `refusals`: why each order could not be placed, "" if it was.
    """
    account = core.account(arguments.address(address))
    placed: dict[int, int] = {}
    refusals = []
    for given in orders:
        item = OrderItem.recall(given)
        item = structs.replace(item, parent_ord_id=placed.get(int(item.parent_ord_id or 0)))
        # the rules let only builders have conditional orders
        builder = None if item.type in ("LIMIT", "MARKET") else account.address
        try:
            placed[int(given["ordId"])] = place(core, ActionContext(account, builder=builder), item).id
            refusals.append("")
        except Refused as refused:
            refusals.append(refused.reason)
    return {"refusals": refusals}
