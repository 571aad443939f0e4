"""The simulated broker on recorded events: requests and answers take their time, and orders wait in their queues."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappush
from itertools import count
from typing import Any

from ....errors import InputError
from ....orders import Order
from ....products import whole_units
from ....venue.engine.core import Core
from ....venue.model.accounts import VenueOrder
from ....venue.model.history import OrderEvent
from ....venue.risk import account_margin
from ...account_data import OrderHandle
from ...data.event_array import MS
from ...data.order_books import Levels
from ...market_data import BarHistory, BookSnapshot
from ...strategy import Strategy
from ..bar_matching import ADDRESS, NEVER, SymbolState
from ..broker import RunSettings, SimulatedBroker
from ..models import BarModels
from .recorded_market import FAR, HistoricalMarket, Resting
from .request_latency import RequestLatency

Happening = tuple[int, int, int, str, Any]
"""Something that takes place at a time: (Unix ns, turn, number, kind, payload). Numbers order those of one turn."""
TURNS = {"mark": 0, "place": 1, "modify": 1, "cancel": 1, "cancel_all": 1, "event": 2, "refusal": 2, "funding": 2,
         "bars": 4, "timer": 5}  # fmt: skip
"""The order of happenings at one instant, after the recorded trades and settlements: marks of the exchange, requests at
the exchange, answers at the strategy, the feed (FEED_TURN), bars, timers."""
FEED_TURN = 3
LOOK_AHEAD_NS = 3_000 * MS
"""How far ahead fills are looked for: the recording does not react, so one look serves many steps."""


class Impact:
    """Quantities taken from recorded levels, which come back over time.

    Parameters
    ----------
    half_life_ns : int or None
        Time in which half of what is missing is back, ns. None: nothing is ever missing.
    """

    def __init__(self, half_life_ns: int | None) -> None:
        self._half_life_ns = half_life_ns
        self.taken: dict[tuple[int, int, int], tuple[float, int]] = {}

    def take(self, code: int, side: int, price: int, steps: int, time_ns: int) -> None:
        """Note that a part of a level was taken.

        Parameters
        ----------
        code : int
            Product code.
        side : int
            Side of the level: +1 bids, −1 asks.
        price : int
            Price of the level, ticks.
        steps : int
            Taken quantity, steps.
        time_ns : int
            When it was taken, Unix ns.
        """
        if self._half_life_ns is not None:
            key = code, side, price
            self.taken[key] = self._missing(key, time_ns) + steps, time_ns

    def left(self, code: int, side: int, levels: Levels, time_ns: int) -> Levels:
        """Return levels with what is still missing subtracted. A level may have 0 left.

        Parameters
        ----------
        code : int
            Product code.
        side : int
            Side of the levels: +1 bids, −1 asks.
        levels : tuple of (int, int)
            Recorded levels as (price in ticks, quantity in steps).
        time_ns : int
            Unix ns.
        """
        if not self.taken:
            return levels
        return tuple(
            (price, max(0, total - round(self._missing((code, side, price), time_ns)))) for price, total in levels
        )

    def _missing(self, key: tuple[int, int, int], time_ns: int) -> float:
        taken, since_ns = self.taken.get(key, (0.0, 0))
        if not taken or not self._half_life_ns:
            return 0.0
        missing: float = taken * 0.5 ** (max(0, time_ns - since_ns) / self._half_life_ns)
        return missing


class EventBroker(SimulatedBroker):
    """One account on the core in front of recorded markets: the recorded book and trades are its counterparty.

    Parameters
    ----------
    core : Core
        Core that lists the products of the run.
    states : sequence of SymbolState
        State of each symbol, in the order of the products.
    settings : RunSettings
        Settings of the run.
    strategy : Strategy
        Strategy that receives the events.
    markets : dict of int to HistoricalMarket
        Recorded market of each product code.
    latency : RequestLatency
        Time that requests and answers take.
    impact : Impact
        Quantities that are missing from the recorded book.
    partial_fills : bool
        Whether only the part of an order that the trades have reached is filled.

    Attributes
    ----------
    markets : dict of int to HistoricalMarket
        Recorded market of each product code.
    resting : dict of int to Resting
        Place in the queue of each order at rest, by order id.
    happenings : list of Happening
        Heap of what is scheduled.
    known_steps : dict of int to int
        Signed position as the strategy knows it, steps, by product code.
    now_ns : int
        Time at the exchange, Unix ns.
    local_ns : int
        Time at the strategy, Unix ns.
    """

    def __init__(
        self,
        core: Core,
        states: Sequence[SymbolState],
        settings: RunSettings,
        strategy: Strategy,
        markets: dict[int, HistoricalMarket],
        latency: RequestLatency,
        impact: Impact,
        partial_fills: bool,
    ) -> None:
        super().__init__(core, states, BarModels(), settings, strategy)
        self.markets = markets
        self.impact = impact
        self.requests = latency
        self.partial_fills = partial_fills
        self.happenings: list[Happening] = []
        self.numbers = count()
        self.now_ns = self.local_ns = 0
        self.last_arrivals = [0, 0]  # of requests at the exchange, of answers at the strategy
        self.resting: dict[int, Resting] = {}
        self.look_ns = 0
        """No order at rest is filled before this time. Then `next_fill` has to look."""
        self._books: dict[tuple[int, int], Any] = {}
        """The book last made of a product and depth, and after which message that was."""
        self.known_steps = dict.fromkeys(self.by_code, 0)
        for state in states:
            state.volume_left = 0  # the house trades nothing of its own, only what was recorded

    def update_wake_prices(self) -> None:
        """Note when a process of the core is due."""
        self.stale = False
        schedule = self.core.state.schedule
        self.due = min(schedule.values()) if schedule else NEVER

    def settle_changes(self) -> None:
        """Run triggers and liquidations with the recorded book to trade against, and report what changed."""
        # Hooks run with quotes placed, so that what they trigger trades within the same instant.
        if self.account.waiting or self.core.state.liquidations or self.stale:
            with self._exit_quotes():
                self.core.run_hooks()
        self.update_wake_prices()
        self.deliver_events()

    def set_prices(self, state: SymbolState, rank: int) -> None:
        """Set mark, index and last price to those of a rank: as recorded, else the mid for mark and index.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        rank : int
            Rank of the event up to which the exchange has processed everything.
        """
        market, recorded = state.market, self.markets[state.code]
        last, (mark, index) = recorded.last_trade(rank), recorded.marks_at(rank)
        # Before the first message of the book, the last trade is the only price there is.
        state.price = mark or last
        self.core.risk_index.moved.setdefault(state.code, market.mark)
        market.mark, market.oracle, market.last = state.price, index or state.price, last or state.price

    def _offer(self, state: SymbolState, side: int, steps: int) -> list[VenueOrder]:
        """Quote the recorded levels that an order of `side` for `steps` can reach. `withdraw` removes them."""
        quotes: list[VenueOrder] = []
        recorded = self.markets[state.code]
        rank, depth = recorded.rank_at(self.now_ns), 2
        while True:
            levels = self.impact.left(state.code, -side, recorded.levels_at(rank, -side, depth), self.now_ns)
            if sum(total for _, total in levels) >= steps or len(levels) < depth:
                break
            # Few orders reach deeper than two levels, and a read of many levels is slow.
            depth *= 4
        wanted = steps
        for price, total in levels:
            if wanted <= 0:
                break
            if total > 0:
                quotes.append(self.house.quote(state.code, -side, price, total))
                wanted -= total
        return quotes

    def quotes_for(self, state: SymbolState, order: Order, steps: int) -> list[VenueOrder]:
        """Quote the recorded levels that an arriving order can take, if its price reaches them.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        order : Order
            Order that has arrived.
        steps : int
            Its quantity, steps.
        """
        if order.trigger_price is not None or steps <= 0:
            return []
        side = 1 if order.side.startswith("BUY") else -1
        recorded = self.markets[state.code]
        bid, ask = recorded.best_at(recorded.rank_at(self.now_ns))
        there = ask if side > 0 else bid
        price = whole_units(order.price, *state.product.tick_scale) if order.price is not None else there
        if not there or (price - there) * side < 0:
            return []
        if order.tif == "POST_ONLY":  # it only must find that something is there
            return [self.house.quote(state.code, -side, there, 1)]
        return self._offer(state, side, steps)

    def withdraw(self, quotes: Sequence[VenueOrder]) -> None:
        """Remove quotes. With impact, the quantity they traded is missing from the recorded book for a while.

        Parameters
        ----------
        quotes : sequence of VenueOrder
            Quotes of the house that `quotes_for` rested.
        """
        for quote in quotes:
            if quote.filled:
                self.impact.take(quote.product, quote.side, quote.price, quote.filled, self.now_ns)
            self.house.withdraw(quote)

    def _quotes_for_exit(self, state: SymbolState, side: int, steps: int) -> list[VenueOrder]:
        """Quote the recorded levels in which triggers and liquidations can close a position."""
        busy = self.account.waiting or self.core.state.liquidations
        if not busy and account_margin.healthy(self.core, self.account):
            return []
        return self._offer(state, side, steps)

    def schedule(self, time_ns: int, kind: str, payload: object) -> None:
        """Let something take place at a time.

        Parameters
        ----------
        time_ns : int
            Unix ns.
        kind : str
            A kind of `TURNS`, which orders what takes place at one instant.
        payload : object
            Content of the happening, which depends on the kind.
        """
        heappush(self.happenings, (time_ns, TURNS[kind], next(self.numbers), kind, payload))

    def enqueue(self, state: SymbolState, kind: str, payload: object) -> None:
        """Send a request, which arrives after the order latency and never before one that was sent earlier.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        kind : str
            "place", "modify", "cancel" or "cancel_all".
        payload : object
            Content of the request, see `SimulatedBroker.enqueue`.
        """
        arrives = self.local_ns + self.requests.order(self.local_ns)
        # One connection carries all requests. A shorter delay must not let a later one overtake.
        self.last_arrivals[0] = max(arrives, self.last_arrivals[0])
        self.schedule(self.last_arrivals[0], kind, (state, payload))

    def process_request(self, state: SymbolState, kind: str, payload: object) -> None:
        """Process a request that has arrived, with the recorded last price. See `SimulatedBroker`.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        kind : str
            "place", "modify", "cancel" or "cancel_all".
        payload : object
            Content of the request, see `SimulatedBroker.enqueue`.
        """
        state.market.last = self._recorded_last(state) or state.market.last
        super().process_request(state, kind, payload)
        self.join_queues()

    def advance_ns(self, time_ns: int) -> None:
        """Advance the core to a time.

        Parameters
        ----------
        time_ns : int
            Unix ns.
        """
        self.now_ns = time_ns
        self.advance_to(time_ns // MS)

    def _place(self, state: SymbolState, placed: OrderHandle, steps: int) -> None:
        super()._place(state, placed, steps)
        # The last price stays the recorded one: trades with the house are not in the recording.
        state.market.last = self._recorded_last(state) or state.price

    def _recorded_last(self, state: SymbolState) -> int:
        market = self.markets[state.code]
        return market.last_trade(market.rank_at(self.now_ns))

    def join_queues(self) -> None:
        """Put the orders that have come into the book into their queues, and forget those that have left it."""
        orders, resting = self.account.orders, self.resting
        for order in orders.values():
            if not order.priority:
                continue
            entry = resting.get(order.id)
            # The core renews the priority of an order that loses its place, so an equal one means that it kept it.
            if entry is not None and entry.priority == order.priority:
                entry.leaves = order.leaves
            else:  # it is new, or was changed so that it lost its place
                market = self.markets[order.product]
                entry = resting[order.id] = Resting(
                    order.product, order.side, order.price, order.leaves, order.priority
                )
                market.join(entry, market.rank_at(self.now_ns))
                self.look_ns = 0
        if len(resting) > len(orders) or any(key not in orders for key in resting):
            self.resting = {key: entry for key, entry in resting.items() if key in orders}

    def next_fill(self, until_ns: int) -> tuple[int, int] | None:
        """Return (Unix ns, order id) of the first fill of a resting order up to a time, None when there is none.

        Parameters
        ----------
        until_ns : int
            Time up to which to look, Unix ns.
        """
        first, look_ns = None, FAR
        for key, entry in self.resting.items():
            market = self.markets[entry.code]
            if entry.found is None and entry.looked_ns < until_ns:
                # The recording does not depend on our orders, so a fill that was found ahead stays true.
                entry.looked_ns = until_ns + LOOK_AHEAD_NS
                entry.found = market.next_fill(entry, market.rank_at(entry.looked_ns), self.partial_fills)
            if entry.found is None:
                look_ns = min(look_ns, entry.looked_ns + 1)
                continue
            # of two orders filled at one instant the better price comes first, then the older order
            found = market.times[entry.found[0]], entry.found[0], -entry.price * entry.side, key
            if first is None or found < first:
                first = found
        self.look_ns = min(look_ns, first[0]) if first else look_ns
        return (first[0], first[3]) if first and first[0] <= until_ns else None

    def fill(self, time_ns: int, key: int) -> None:
        """Book the fill that was found for a resting order.

        Parameters
        ----------
        time_ns : int
            When it is filled, Unix ns.
        key : int
            Order id.
        """
        entry, order = self.resting[key], self.account.orders[key]
        assert entry.found is not None
        # The instant itself is searched again: a fill in part may be followed by another one.
        steps, entry.found, entry.looked_ns = min(entry.found[1], order.leaves), None, time_ns - 1
        self.look_ns = 0
        self.advance_ns(time_ns)
        state = self.by_code[order.product]
        # The hit sets the last price, but this trade is not part of the recording.
        last = state.market.last
        self.core.open_step()
        self.house.hit(order.product, -order.side, order.price, steps)
        state.market.last = last
        self.stale = True
        self.settle_changes()
        self.join_queues()
        self.record_balances(time_ns // MS)

    def deliver_events(self) -> None:
        """Send the new order events and funding payments of the account, which arrive after the answer latency."""
        now_ns = self.now_ns
        history = self.core.state.history
        events = history.order_events.by_account.get(ADDRESS, ())
        payments = history.funding_payments.by_account.get(ADDRESS, ())
        if self._delivered_events == len(events) and self._delivered_payments == len(payments):
            return
        # Answers share a connection too: none arrives before an earlier one.
        arrives = self.last_arrivals[1] = max(now_ns + self.requests.answer(now_ns), self.last_arrivals[1])
        for number in events[self._delivered_events :]:
            self.schedule(arrives, "event", history.order_events.records[number])
        for number in payments[self._delivered_payments :]:
            self.schedule(arrives, "funding", history.funding_payments.records[number])
        self._delivered_events, self._delivered_payments = len(events), len(payments)

    def refuse_change(self, refusal: tuple[OrderHandle, Order, str]) -> None:
        """Send the refusal of a change, which arrives after the answer latency. See `SimulatedBroker`.

        Parameters
        ----------
        refusal : tuple
            Handle of the order, the order as it should have become, and why it was refused.
        """
        self.last_arrivals[1] = max(self.now_ns + self.requests.answer(self.now_ns), self.last_arrivals[1])
        self.schedule(self.last_arrivals[1], "refusal", refusal)

    def deliver_order_event(self, event: OrderEvent) -> None:
        """Update what the strategy knows of its position, then the handle. See `SimulatedBroker`.

        Parameters
        ----------
        event : OrderEvent
            Order event of the account, which has reached the strategy.
        """
        # Here the fill reaches the strategy. The account has had it since it took place at the exchange.
        if event.exec_id:
            self.known_steps[event.product] += event.side * event.fill_quantity
        super().deliver_order_event(event)

    def book(self, state: SymbolState, depth: int = 10) -> BookSnapshot:
        """Return the book as the strategy has received it. Sides are empty before the first message.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        depth : int, optional
            Levels of each side (default: 10).
        """
        cursor = self.markets[state.code].receive(self.local_ns)
        known, sides = self._books.get((state.code, depth), (None, ()))
        # Missing quantities come back with time, so a book under impact is never the same twice.
        if known != (cursor, cursor.applied) or self.impact.taken:
            (tick, per_tick), (step, per_step) = state.tick_ratio, state.step_ratio
            found = [self.impact.left(state.code, side, cursor.levels(side, depth), self.local_ns) for side in (1, -1)]
            sides = tuple(
                tuple((price * tick / per_tick, total * step / per_step) for price, total in levels if total > 0)
                for levels in found
            )
            self._books[state.code, depth] = (cursor, cursor.applied), sides
        return BookSnapshot(state.symbol, self.local_ns // MS, *sides)

    def history(self, state: SymbolState) -> BarHistory:
        """Return the bars up to now.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.

        Raises
        ------
        InputError
            In a run without bars.
        """
        if not self.ctx.interval:
            text = 'there are no bars in this backtest on events. Give interval="1m", or keep what on_trade receives'
            raise InputError(text, field="interval")
        return state.history

    def apply_closes(self) -> None:
        """Do nothing: the recorded book has the prices, not the bars."""

    def price(self, state: SymbolState) -> float:
        """Return the mid of the book as received, USDC, NaN before both sides are known.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        """
        return self.book(state, 1).mid

    def position_steps(self, code: int) -> int:
        """Return the signed position of which the strategy has had the fills, steps.

        Parameters
        ----------
        code : int
            Product code.
        """
        return self.known_steps[code]
