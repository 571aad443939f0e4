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
TURNS = {"mark": 0, "place": 1, "modify": 1, "cancel": 1, "cancel_all": 1, "event": 2, "funding": 2, "bars": 4,
         "timer": 5}  # fmt: skip
"""The order of happenings at one instant, after the recorded trades and settlements: marks of the exchange, requests at
the exchange, answers at the strategy, the feed (FEED_TURN), bars, timers."""
FEED_TURN = 3
LOOK_AHEAD_NS = 3_000 * MS
"""How far ahead fills are looked for: the recording does not react, so one look serves many steps."""


class Impact:
    """Quantities taken from recorded levels. Half of what is missing is back after `half_life_ns` (None: no impact)."""

    def __init__(self, half_life_ns: int | None) -> None:
        self._half_life_ns = half_life_ns
        self.taken: dict[tuple[int, int, int], tuple[float, int]] = {}

    def take(self, code: int, side: int, price: int, steps: int, time_ns: int) -> None:
        """Note that `steps` of a level (side +1: bids) were taken."""
        if self._half_life_ns is not None:
            key = code, side, price
            self.taken[key] = self._missing(key, time_ns) + steps, time_ns

    def left(self, code: int, side: int, levels: Levels, time_ns: int) -> Levels:
        """Return levels with what is still missing subtracted. A level may have 0 left."""
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

    Attributes: `markets` (code → HistoricalMarket), `resting` (order id → its place in the queue), `happenings`
    (heap of what is scheduled), `known_steps` (code → signed position as the strategy knows it). `now_ns` is the time
    at the exchange, and `local_ns` the time at the strategy.
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
        if self.account.waiting or self.core.state.liquidations or self.stale:
            with self._exit_quotes():
                self.core.run_hooks()
        self.update_wake_prices()
        self.deliver_events()

    def set_prices(self, state: SymbolState, rank: int) -> None:
        """Set mark, index and last price to those of a rank: as recorded, else the mid for mark and index."""
        market, recorded = state.market, self.markets[state.code]
        last, (mark, index) = recorded.last_trade(rank), recorded.marks_at(rank)
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
        """Quote the recorded levels that an arriving order can take, if its price reaches them."""
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
        """Remove quotes. With impact, the quantity they traded is missing from the recorded book for a while."""
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

    def schedule(self, time_ns: int, kind: str, payload: Any) -> None:
        """Let something take place at a time."""
        heappush(self.happenings, (time_ns, TURNS[kind], next(self.numbers), kind, payload))

    def enqueue(self, state: SymbolState, kind: str, payload: Any) -> None:
        """Send a request, which arrives after the order latency and never before one that was sent earlier."""
        arrives = self.local_ns + self.requests.order(self.local_ns)
        self.last_arrivals[0] = max(arrives, self.last_arrivals[0])
        self.schedule(self.last_arrivals[0], kind, (state, payload))

    def process_request(self, state: SymbolState, kind: str, payload: Any) -> None:
        """Process a request that has arrived, with the recorded last price. See `SimulatedBroker`."""
        state.market.last = self._recorded_last(state) or state.market.last
        super().process_request(state, kind, payload)
        self.join_queues()

    def advance_ns(self, time_ns: int) -> None:
        """Advance the core to a time."""
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
        """Return (Unix ns, order id) of the first fill of a resting order up to a time, None when there is none."""
        first, look_ns = None, FAR
        for key, entry in self.resting.items():
            market = self.markets[entry.code]
            if entry.found is None and entry.looked_ns < until_ns:
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
        """Book the fill that was found for a resting order."""
        entry, order = self.resting[key], self.account.orders[key]
        assert entry.found is not None
        steps, entry.found, entry.looked_ns = min(entry.found[1], order.leaves), None, time_ns - 1
        self.look_ns = 0
        self.advance_ns(time_ns)
        state = self.by_code[order.product]
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
        arrives = self.last_arrivals[1] = max(now_ns + self.requests.answer(now_ns), self.last_arrivals[1])
        for number in events[self._delivered_events :]:
            self.schedule(arrives, "event", history.order_events.records[number])
        for number in payments[self._delivered_payments :]:
            self.schedule(arrives, "funding", history.funding_payments.records[number])
        self._delivered_events, self._delivered_payments = len(events), len(payments)

    def deliver_order_event(self, event: OrderEvent) -> None:
        if event.exec_id:
            self.known_steps[event.product] += event.side * event.fill_quantity
        super().deliver_order_event(event)

    def book(self, state: SymbolState, depth: int = 10) -> BookSnapshot:
        """Return the book as the strategy has received it. Sides are empty before the first message."""
        cursor = self.markets[state.code].receive(self.local_ns)
        known, sides = self._books.get((state.code, depth), (None, ()))
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
        """Return the bars up to now. Raises InputError in a run without bars."""
        if not self.ctx.interval:
            text = 'there are no bars in this backtest on events. Give interval="1m", or keep what on_trade receives'
            raise InputError(text, field="interval")
        return state.history

    def apply_closes(self) -> None:
        """Do nothing: the recorded book has the prices, not the bars."""

    def price(self, state: SymbolState) -> float:
        """Return the mid of the book as received, USDC, NaN before both sides are known."""
        return self.book(state, 1).mid

    def position_steps(self, code: int) -> int:
        """Return the signed position of which the strategy has had the fills."""
        return self.known_steps[code]
