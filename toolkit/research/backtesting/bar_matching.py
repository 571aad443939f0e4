"""The market of a backtest on bars: the price of each symbol, and the matching of the account's orders against it.

Prices move along a bar's path and let orders, triggers and liquidations happen on the way. Most bars touch nothing of
the account. `update_wake_prices` computes for each symbol the price range in which nothing can happen, so that such
quiet bars skip the core altogether.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ...checks import slippage_bound, slippage_width
from ...exposure import required
from ...numerals import plain_decimal
from ...orders import Order
from ...products import VenueProduct, whole_units
from ...venue.engine.core import Core
from ...venue.model.accounts import Position, VenueOrder
from ...venue.model.constants import ISOLATED, RATE
from ...venue.risk import account_margin, funding_settlement
from ...venue.simulation.replay import ENDLESS, House, ReplayBar
from ..client_orders import ClientOrder
from ..data.bars import Path, Points, whole
from ..market_data import Bar, BarHistory
from .models import BarLiquidity, BarModels, Liquidity

ADDRESS = "0x00000000000000000000000000000000000000b7"
"""The account of a backtest."""
NEVER = 1 << 62
"""Greater than any price or time."""
EXIT_COST = 8
"""An exit costs at most a notional divided by this: the widest slippage limit without one named, spread and fee."""
NO_HASH = "0x"
"""Stands for the transaction hash of what no result shows with one."""


ASLEEP = -1, NEVER
"""Wake prices of a symbol in which nothing can happen."""


def _narrower(bounds: tuple[int, int], low: int, high: int) -> tuple[int, int]:
    return max(bounds[0], low), min(bounds[1], high)


class ReceivedBars:
    """The bars that the strategy has received.

    Most bars are never read again, so they are sorted only when the strategy reads a history. With a single symbol they
    wait in its list.

    Parameters
    ----------
    symbols : iterable of str
        Symbols of the run.

    Attributes
    ----------
    recent : list of Bar
        Bars that are not sorted by symbol yet.
    pending : dict of str to list of Bar
        Bars of each symbol that its history has not taken yet.
    """

    def __init__(self, symbols: Iterable[str]) -> None:
        self.pending: dict[str, list[Bar]] = {symbol: [] for symbol in symbols}
        self.several = len(self.pending) > 1
        self.recent: list[Bar] = [] if self.several else next(iter(self.pending.values()))

    def sort(self) -> None:
        """Add the recent bars to the lists of their symbols, from which the histories take them."""
        for bar in self.recent:
            self.pending[bar.symbol].append(bar)
        self.recent.clear()


class ReceivedHistory(BarHistory):
    """The history of one symbol of a backtest. No later bar can be reached from it: those stay with the driver.

    Parameters
    ----------
    symbol : str
        Product symbol of the bars.
    received : ReceivedBars
        Bars of all symbols, of which it takes its own.
    """

    __slots__ = ("_received",)

    def __init__(self, symbol: str, received: ReceivedBars) -> None:
        super().__init__(symbol)
        self._received = received
        # `ReceivedBars` adds to this very list, so the history may clear it but must never replace it.
        self._pending = received.pending[symbol]
        self.append = self._pending.append

    @property
    def length(self) -> int:
        if self._received.several:
            self._received.sort()
        return self._length + len(self._pending)

    @property
    def last_close(self) -> float:
        """Close of the last bar."""
        # Building the arrays for one number would cost more than the quiet bar that asks for it.
        return self._pending[-1].close if self._pending else float(self._rows[self._length - 1, 3])

    def _update(self) -> None:
        if self._received.several:
            self._received.sort()
        if self._pending:
            super()._update()


class Arrival(NamedTuple):
    """An order or cancel in flight.

    Attributes
    ----------
    time : int
        When it arrives, Unix ms.
    number : int
        Unique number that orders arrivals of one time.
    sent : int
        When it was sent, Unix ms.
    state : SymbolState
        State of its symbol.
    kind : str
        "place", "modify", "cancel" or "cancel_all".
    payload : object
        Content of the request, see `SimulatedBroker.enqueue`.
    """

    time: int
    number: int
    sent: int
    state: SymbolState
    kind: str
    payload: Any


class SymbolState:
    """The current state of one symbol. Prices in ticks and quantities in steps, unless a name says otherwise.

    Parameters
    ----------
    core : Core
        Core that lists the product.
    product : VenueProduct
        Product of the symbol.
    symbol : str
        Symbol in the data, which the strategy uses.
    received : ReceivedBars
        Bars of all symbols that the strategy has received.
    """

    def __init__(self, core: Core, product: VenueProduct, symbol: str, received: ReceivedBars) -> None:
        self.symbol = symbol
        self.code = product.code
        self.product = product
        self.market = core.state.markets[product.code]
        self.history = ReceivedHistory(symbol, received)
        self.price = 0
        """Last known price, 0 before the first."""
        self.applied_bars = 0
        """How many bars of the history `price` shows. The quiet bars after them have not touched it."""
        self.wake_low, self.wake_high = -1, NEVER
        """Nothing can happen while the price stays strictly between these."""
        self.floor_price, self.ceiling_price = -1.0, math.inf
        """The same bounds in USDC, narrowed by half a tick because prices of the data are rounded to ticks."""
        self.tick, self.step = float(product.tick_size), float(product.step_size)
        self.tick_ratio, self.step_ratio = product.tick_size.as_integer_ratio(), product.step_size.as_integer_ratio()
        """The same as whole numbers: ticks × first / second is the float nearest to the price."""
        self.texts: dict[int, str] = {}
        """Quantities as text, by steps."""
        self.volume_left: int | None = None
        """Steps that the market still trades in this bar, None = any number."""
        self.bar = ReplayBar(0, 0, 0, 0, 0, 0, 0)
        """The current bar in ticks and steps."""
        self.begun: dict[int, tuple[ReplayBar, Points]] | None = None
        """The bars that have begun, in ticks and steps, with the points of their paths, by time, None: not kept."""
        self.started = False
        """Whether the current bar has had its first price."""
        self.priced_ms = -1
        """Time of the last price on the path of a bar."""
        self.waiting: list[Arrival] = []
        """Arrivals that wait for a price from after they were sent."""
        self.in_flight_steps = 0
        """Signed steps of market orders that have not arrived."""

    def to_ticks(self, price: float) -> int:
        """Return a price of the data in ticks, rounded to the nearest.

        Parameters
        ----------
        price : float
            USDC.
        """
        return round(price / self.tick)

    def client_bounds(self, order: ClientOrder) -> tuple[int, int]:
        """Return the prices between which an order at the client has nothing to do, ticks.

        Parameters
        ----------
        order : ClientOrder
            Order of this symbol.
        """
        low, high = order.bounds
        return math.floor(low / self.tick + 1e-9), math.ceil(high / self.tick - 1e-9) if high < math.inf else NEVER

    def begin_bar(self, bar: Bar, liquidity: Liquidity, path: Path) -> Points:
        """Make a bar the current one, and return the points of its path.

        Parameters
        ----------
        bar : Bar
            Bar whose prices come next.
        liquidity : Liquidity
            Model that says how much the market trades in the bar.
        path : Path
            Model of the order of its prices.
        """
        begun = None if self.begun is None else self.begun.get(bar.time)
        if begun is None:
            open_, high, low, close = map(self.to_ticks, (bar.open, bar.high, bar.low, bar.close))
            volume = whole(bar.volume / self.step)
            counted = ReplayBar(bar.time, bar.closed - bar.time, open_, high, low, close, volume)
            begun = counted, path.points(counted)
            if self.begun is not None:
                self.begun[bar.time] = begun
        self.bar, points = begun
        self.volume_left = liquidity.offered(self.bar)
        self.started = False
        return points

    def take_volume(self, steps: int) -> None:
        """Subtract traded steps from the bar's volume.

        Parameters
        ----------
        steps : int
            Traded quantity, steps.
        """
        if self.volume_left is not None:
            self.volume_left -= steps


class BarMatcher(ABC):
    """The account's counterparty: prices, quotes of the house, and the simulated clock.

    Parameters
    ----------
    core : Core
        Core that lists the products of the run.
    states : sequence of SymbolState
        State of each symbol, in the order of the products.
    models : BarModels
        Path, liquidity, slippage and latency.

    Attributes
    ----------
    states : dict of str to SymbolState
        States by symbol.
    by_code : dict of int to SymbolState
        States by product code.
    now : int
        Current time, Unix ms.
    every_point : bool
        Whether every point of every bar is visited, also where nothing can happen.
    stale : bool
        Whether orders or positions have changed since `update_wake_prices`.
    shared : bool
        Whether several positions share a margin, or a liquidation is in progress. Wake prices of single symbols are not
        enough then.
    instant : dict of int to Bar
        The bars that close at one time, by product code, while they are looked at or walked.
    coupled : bool
        Whether a price may let something happen in another symbol. A shared margin may not last through the bars of
        `instant`, or an exit tries again.
    out : set of SymbolState
        Symbols whose price is not between their wake prices.
    traded : set of SymbolState
        Symbols with a request since the last look at exits.
    version : int
        Number of the wake prices. It grows with each change.
    due : int
        When a process of the core (a liquidation in steps) is due, Unix ms.
    watched : list of ClientOrder
        Orders that live at the client, which watches the price for them.
    """

    def __init__(self, core: Core, states: Sequence[SymbolState], models: BarModels) -> None:
        self.core = core
        self.account = core.account(ADDRESS)
        self.states = {state.symbol: state for state in states}
        self.by_code = {state.code: state for state in states}
        self.models = models
        self.liquidity = models.liquidity
        self.house = House(core)
        self.now = core.state.time
        self.every_point = False
        self.stale = True
        self.shared = self.coupled = False
        self.instant: dict[int, Bar] = {}
        self._worst: dict[int, tuple[int, int, int]] = {}
        self._bounds = 0, 0, 0
        self._unbound = set[int]()
        self._named_slippage = False
        self.out: set[SymbolState] = set()
        self.traded: set[SymbolState] = set()
        self._awake: set[SymbolState] = set()
        self._order_wakes: dict[SymbolState, tuple[int, int]] = {}
        self._known_events = 0
        self.version = 0
        self.due = NEVER
        self.watched: list[ClientOrder] = []

    @abstractmethod
    def deliver_events(self) -> None:
        """Call the strategy for what has happened to its orders and positions."""

    @abstractmethod
    def show_price(self, state: SymbolState, on_way: bool) -> None:
        """Show a price to the orders that live at the client.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        on_way : bool
            Whether the price moves further immediately. Without latency their orders trade at the price before that.
        """

    def advance_to(self, time: int) -> None:
        """Advance the core, running its due processes with quotes to trade against.

        Time never goes back: an event of a long bar that is known late happens now.

        Parameters
        ----------
        time : int
            Unix ms.
        """
        time = max(time, self.now)
        # A position that is liquidated in steps needs quotes to be sold to, which only exist while they are placed
        # here.
        if self.due <= time:
            with self._exit_quotes():
                self.core.advance(time)
            self.stale = True
        else:
            self.core.advance(time)
        self.now = self.core.state.time

    def move_price(self, state: SymbolState, target: int, time: int) -> None:
        """Move a price, and stop at each order, trigger or liquidation of the account.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        target : int
            Price to move to, ticks.
        time : int
            When it gets there, Unix ms.
        """
        if self.stale:
            self.update_wake_prices()
        # The first price of a bar is a jump: between two bars no price in between was traded.
        jump, state.started = not state.started, True
        low, high = (target, target) if jump else (min(state.price, target), max(state.price, target))
        quiet = state.wake_low < low and high < state.wake_high
        if quiet and not (self.coupled or self.every_point or self.due <= time):
            self._set_price(state, target)
            return
        while not jump and (stop := self._next_stop(state, target)) != target:
            self._match_at(state, stop, time, on_way=True)
        self._match_at(state, target, time)

    def _next_stop(self, state: SymbolState, target: int) -> int:
        """Return the nearest price on the way to `target` where an order, trigger or liquidation waits."""
        price, direction = state.price, 1 if target > state.price else -1
        # Multiplied by the direction, the nearest price on the way is always the smallest.
        ahead = [stop * direction for stop in self._stops(state, target) if (stop - price) * direction > 0]
        return min([*ahead, target * direction]) * direction

    def _stops(self, state: SymbolState, target: int) -> Iterator[int]:
        for order in self.account.orders.values():
            if order.product == state.code:
                # An order has a priority exactly while it rests in the book.
                if order.priority:
                    yield self.liquidity.reach(order.side, order.price)
                elif order.armed:  # it has a trigger, as every order that does not rest
                    yield order.trigger
        for client in self.watched:
            if client.symbol == state.symbol:
                yield from state.client_bounds(client)
        # The exact liquidation price is slow, so it is computed only once the cheap bound has been passed.
        if target <= state.wake_low or target >= state.wake_high or self.coupled:
            position = self.account.positions[state.code]
            if position.long.size or position.short.size:
                price = account_margin.liquidation_price(self.core, self.account, state.code)
                if price is not None and price > 0:
                    ticks = price / state.product.tick_size
                    # Rounded to the first whole tick at which the position is liquidated.
                    yield math.floor(ticks) if position.long.size else math.ceil(ticks)

    def _match_at(self, state: SymbolState, price: int, time: int, on_way: bool = False) -> None:
        """Set a price and fill the resting orders it has reached. Triggers and liquidations follow."""
        self.advance_to(time)
        code = state.code
        self._set_price(state, price)
        # Every order has a client id, so an account without any has no resting order to fill.
        if self.account.client_ids:
            self.stale = True
            # Bars don't say which of two orders was reached first. A fixed order of sides makes runs repeatable.
            for side in (1, -1):
                ladder = self.core.books[code].side(side)
                while ladder.best and (price - self.liquidity.reach(side, ladder.best)) * side <= 0:
                    steps = ladder.levels[ladder.best].total
                    if state.volume_left is not None:
                        steps = min(steps, state.volume_left)
                    # The volume of the bar is used up. The order stays in the book and may be filled in the next bar.
                    if not steps:
                        break
                    self.core.open_step()
                    state.take_volume(self.house.hit(code, -side, ladder.best, steps))
                    self._set_price(state, price)  # the fill has set the last price
        self.settle_changes()
        if self.watched:
            self.show_price(state, on_way)

    def _set_price(self, state: SymbolState, price: int) -> None:
        state.price = price
        if not state.wake_low < price < state.wake_high:
            self.out.add(state)
        elif self.out:
            self.out.discard(state)
        market = state.market
        # The check of liquidations starts from the mark of its last run, so only the first change since then may set
        # it.
        self.core.risk_index.moved.setdefault(state.code, market.mark)
        # Bars have a single price. It stands for the mark, the index and the last trade alike.
        market.oracle = market.mark = market.last = price

    def settle_changes(self) -> None:
        """Run triggers and liquidations with quotes to trade against, and report what changed."""
        if self.stale:
            self.update_wake_prices()
        # Hooks are slow, and inside the wake prices they have nothing to do.
        everywhere = self.every_point or self.coupled
        # An order of the account sets the last price to that of its fill, which an exit may be waiting for.
        traded = {state for state in self.traded if not state.wake_low < state.market.last < state.wake_high}
        self.traded.clear()
        if everywhere or self.out or traded:
            with self._exit_quotes(None if everywhere else self.out | traded):
                self.core.run_hooks()
            self.stale = True
        self.deliver_events()

    def settle_funding(self, code: int, premium: int, time: int) -> None:
        """Settle funding of one product at the rate that a mean premium gives.

        Parameters
        ----------
        code : int
            Product code.
        premium : int
            Mean premium of the interval, in units of 1 / FINE.
        time : int
            Unix ms.
        """
        self.advance_to(time)
        state = self.by_code[code]
        # Before its first price the symbol can have no position that would pay.
        if not state.price:
            return
        self.core.open_step()
        self.core.step_hash = NO_HASH
        # The mean of one sample is the sample itself, so the venue's own formula arrives at the wanted rate.
        state.market.premium, state.market.samples = premium, 1
        # The venue settles the holders in its index. Both sides must be there, or the money paid would not be received.
        for account in (self.account, self.house.account):
            self.core.risk_index.index(account)
        funding_settlement.settle(self.core, state.market, time)
        self.stale = True
        self.settle_changes()

    def taker_price(self, state: SymbolState, side: int, steps: int, slip: int | None = None) -> int:
        """Return the price at which an order takes, ticks.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        side : int
            +1 buys, −1 sells.
        steps : int
            Quantity of the order, steps.
        slip : int, optional
            Ticks against the taker (default: those of the slippage model).
        """
        if slip is None:
            slip = self.models.slippage.ticks(state.price, steps, state.bar)
        # A wide spread or a large slippage must not make the price of a sale zero or negative.
        return max(1, state.price + side * (self.liquidity.half_spread(state.price) + slip))

    def quotes_for(self, state: SymbolState, order: Order, steps: int) -> list[VenueOrder]:
        """Rest the quote of the house that an arriving order can take, if there is one. `withdraw` removes it.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        order : Order
            Order that has arrived.
        steps : int
            Its quantity, steps.
        """
        if order.trigger_price is not None or state.volume_left == 0 or steps <= 0:
            return []
        side, left = (1 if order.side.startswith("BUY") else -1), state.volume_left
        if order.tif == "POST_ONLY":  # it meets the quote without slippage, because it must not take
            return [self.house.quote(state.code, -side, self.taker_price(state, side, steps, 0), steps)]
        if order.price is not None:
            bound = whole_units(order.price, *state.product.tick_scale)
        else:
            named = plain_decimal(order.slippage or "")
            last = state.market.last or state.market.mark
            bound = slippage_bound(state.product, side, last, slippage_width(named) if named else 0)
        part, price = self.part_within(state, side, steps, bound, rounded=0 if order.price is not None else 1)
        part = part if left is None else min(part, left)
        return [self.house.quote(state.code, -side, price, part)] if part else []

    def part_within(self, state: SymbolState, side: int, steps: int, bound: int, rounded: int = 1) -> tuple[int, int]:
        """Return the largest part of an order that takes at its bound or better, and the price of that part, ticks.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        side : int
            +1 buys, −1 sells.
        steps : int
            Quantity of the order, steps.
        bound : int
            Worst price, ticks.
        rounded : int, optional
            Ticks by which rounding alone may exceed the bound: the model rounds up, and the bound is rounded down
            (default: 1). 0 for a limit price.
        """
        part, price = steps, self.taker_price(state, side, steps)
        if (price - bound) * side > rounded:
            # The slippage grows with the part, so the first part that is beyond the bound can be searched for.
            def beyond(part: int) -> int:
                return (self.taker_price(state, side, part) - bound) * side - rounded

            part = bisect_left(range(1, steps), 1, key=beyond)
            price = self.taker_price(state, side, part) if part else 0
        return part, min(price, bound) if side > 0 else max(price, bound)

    def withdraw(self, quotes: Sequence[VenueOrder]) -> None:
        """Remove quotes, and subtract what they traded from the bar's volume.

        Parameters
        ----------
        quotes : sequence of VenueOrder
            Quotes of the house that `quotes_for` rested.
        """
        for quote in quotes:
            self.by_code[quote.product].take_volume(quote.filled)
            self.house.withdraw(quote)

    @contextmanager
    def _exit_quotes(self, only: Container[SymbolState] | None = None) -> Iterator[None]:
        """Quote where triggers and liquidations can close positions: everywhere, or in some symbols."""
        quotes: list[VenueOrder] = []
        for state in self.states.values():
            if only is not None and state not in only:
                continue
            position = self.account.positions[state.code]
            size = position.long.size - position.short.size
            if size:
                quotes += self._quotes_for_exit(state, -1 if size > 0 else 1, abs(size))
        try:
            yield
        finally:
            self.withdraw(quotes)

    def _quotes_for_exit(self, state: SymbolState, side: int, steps: int) -> list[VenueOrder]:
        """Rest the quote at which a position of `steps` can be closed by an order of `side`."""
        # Before a bar's first price only a liquidation trades: the price is still that of the bar before.
        opened = state.started or bool(self.core.state.liquidations)
        if not opened or not state.price or state.volume_left == 0:
            return []
        price = self.taker_price(state, side, steps)
        if price == state.price:  # without any cost no bound is exceeded
            return [self.house.quote(state.code, -side, price, state.volume_left or ENDLESS)]
        width = max(
            [order.slippage for order in self.account.orders.values() if order.product == state.code], default=0
        )
        bound = slippage_bound(state.product, side, state.price, width)
        part, price = self.part_within(state, side, steps, bound)
        if part == steps:
            return [self.house.quote(state.code, -side, price, state.volume_left or ENDLESS)]
        left = ENDLESS if state.volume_left is None else state.volume_left
        part = min(part, left)
        quotes = [self.house.quote(state.code, -side, price, part)] if part else []
        # Only a liquidation reaches the rest. An exit tries again at the next price.
        if left > part:
            quotes.append(self.house.quote(state.code, -side, self.taker_price(state, side, steps), left - part))
        return quotes

    # Second form: a bar in which nothing can happen is not walked
    def update_wake_prices(self) -> None:
        """Compute for each symbol the price range in which nothing of the account can happen."""
        self.stale = False
        self.version += 1
        self.due = min(self.core.state.schedule.values(), default=NEVER)
        self._update_order_wakes()
        bounds = dict(self._order_wakes)
        for client in self.watched:
            state = self.states[client.symbol]
            low, high = state.client_bounds(client)
            bounds[state] = _narrower(bounds.get(state, ASLEEP), low, high)
        # A single position has a liquidation price. Two share a margin, so that neither price alone says anything.
        held = [each for each in self.account.positions.values() if each.long.size or each.short.size]
        self.shared = len(held) > 1 or bool(self.core.state.liquidations)
        if held and not self.shared:
            state = self.by_code[held[0].product]
            low, high = self._wake_before_liquidation(state, held[0])
            bounds[state] = _narrower(bounds.get(state, ASLEEP), low, high)
        self.out.clear()
        for state in self._awake | bounds.keys():
            state.wake_low, state.wake_high = bounds.get(state, ASLEEP)
            if not state.wake_low < state.price < state.wake_high:
                self.out.add(state)
            # Half a tick covers the rounding of data prices to ticks; the rest covers float noise. An arrival that
            # waits for a price needs the next one, whatever it is.
            state.floor_price = math.inf if state.waiting else (state.wake_low + 0.51) * state.tick
            state.ceiling_price = (state.wake_high - 0.51) * state.tick if state.wake_high < NEVER else math.inf
        self._awake = {*bounds, *(state for state in self._awake if state.waiting)}
        # An exit that found too little tries again at every price, also of another symbol.
        self.coupled = bool(self.out) and len(self.states) > 1
        if self.shared and not self.coupled:
            self.coupled = self.every_point or not self.instant or not self.keeps_margin()

    def wait_for_price(self, state: SymbolState, arrival: Arrival) -> None:
        """Let an arrival wait for the next price of its symbol, of which then no bar is quiet.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        arrival : Arrival
            Order or cancel in flight.
        """
        state.waiting.append(arrival)
        state.floor_price = math.inf
        self._awake.add(state)
        self.version += 1

    def _update_order_wakes(self) -> None:
        """Note the prices at which the account's orders wake the run, given the order events since the last time."""
        history, orders = self.core.state.history.order_events, self.account.orders
        numbers, at = history.by_account.get(ADDRESS, []), self._known_events
        self._known_events = len(numbers)
        # Another model of liquidity may fill an order at another price each time.
        fixed, placed = type(self.liquidity) is BarLiquidity, list[VenueOrder]()
        changed = set[int]() if fixed else set(self.by_code)
        for number in numbers[at:]:
            event = history.records[number]
            order = orders.get(event.order_id)
            self._unbound.add(event.product)
            self._named_slippage = self._named_slippage or event.slippage > 0
            # Only a placement leaves the other orders of its product as they are.
            if order is None or event.exec_id or event.reason or not fixed:
                changed.add(event.product)
            else:
                placed.append(order)
        if changed:
            for code in changed:
                self._order_wakes.pop(self.by_code[code], None)
            placed = [order for order in orders.values() if order.product in changed] + placed
        for order in placed:
            state = self.by_code[order.product]
            # Each order wakes the run on the side from which its price is reached. A purchase at rest is reached by a
            # fall, a sale by a rise.
            if order.priority:
                wake, falling = self.liquidity.reach(order.side, order.price), order.side > 0
            elif order.waiting and order.triggered:  # it found nothing, and tries again at every price
                wake, falling = NEVER, True
            elif order.armed:  # it has a trigger, as every order that does not rest
                wake, falling = order.trigger, not order.trigger_up
            else:
                continue
            known = self._order_wakes.get(state, ASLEEP)
            self._order_wakes[state] = _narrower(known, *((wake, NEVER) if falling else (-1, wake)))

    def _wake_before_liquidation(self, state: SymbolState, position: Position) -> tuple[int, int]:
        """Return prices between which the only position certainly still has its maintenance margin.

        The rate of the highest tier and two ticks of tolerance keep the bound on the safe side of the exact price.
        """
        table = self.core.risk_index.tables[state.code]
        rate_e8 = table.rows[0][1]
        margin_micro = position.assigned if position.mode == ISOLATED else self.account.balance
        # A long is liquidated where margin + size × p − entry = size × p × rate. A short has the signs reversed.
        if position.long.size:
            unit_micro = position.long.size * table.unit
            return (position.long.value - margin_micro) * RATE // (unit_micro * (RATE - rate_e8)) + 2, NEVER
        unit_micro = position.short.size * table.unit
        return -1, (position.short.value + margin_micro) * RATE // (unit_micro * (RATE + rate_e8)) - 2

    def begin_instant(self, bars: Sequence[Bar]) -> None:
        """Make bars the present ones. `instant` is emptied once they are over.

        Parameters
        ----------
        bars : sequence of Bar
            Bars that close at one time.
        """
        self.instant = {self.states[bar.symbol].code: bar for bar in bars}
        self._worst.clear()
        self._bounds, self._unbound = (0, 0, 0), set(self.account.positions)
        self._named_slippage = any(order.slippage for order in self.account.orders.values())
        self.stale = self.stale or self.shared

    # Second form: a margin that surely lasts is not computed at each price
    def keeps_margin(self) -> bool:
        """Return whether the account certainly keeps its maintenance margin, at the worst price of each present bar.

        It keeps it also after the exits of all positions, whatever they pay.
        """
        bounds = self.margin_bounds()
        # An order may name a slippage of its own, above what `EXIT_COST` has room for.
        return bounds is not None and not self._named_slippage and bounds[0] > bounds[1]

    def margin_bounds(self) -> tuple[int, int, int] | None:
        """Return bounds on the account's margin while the present bars last, micro-USDC, None where there are none.

        All legs are at their worst prices together, and each notional is at its high: they may be too strict, never too
        loose.

        Returns
        -------
        tuple of int, or None
            The least equity, the most that the maintenance margin and the exits of all positions need, and the highest
            initial margin of the positions.
        """
        if not self.instant or self.core.state.liquidations:
            return None
        for code in self._unbound:  # the positions that have changed
            known = self._worst.pop(code, (0, 0, 0))
            position = self.account.positions[code]
            if position.long.size or position.short.size:
                # Bounds on the whole account say nothing about the separate margin of an isolated position.
                if position.mode == ISOLATED:
                    self.instant = {}
                    return None
                self._worst[code] = self._worst_of(code, position)
            change = self._worst.get(code, (0, 0, 0))
            lost, needed, initial = (sum - old + new for sum, old, new in zip(self._bounds, known, change, strict=True))
            self._bounds = lost, needed, initial
        self._unbound.clear()
        lost, needed, initial = self._bounds
        return self.account.balance - lost, needed, initial

    def _worst_of(self, code: int, position: Position) -> tuple[int, int, int]:
        """Return the most that a position loses, needs for maintenance margin and exit, and has as initial margin."""
        table, state, long, short = self.core.risk_index.tables[code], self.by_code[code], position.long, position.short
        high = low = state.price  # also of a symbol with a bar: until its first price it has this one
        if (bar := self.instant.get(code)) is not None:
            high, low = max(high, state.to_ticks(bar.high)), min(low, state.to_ticks(bar.low))
        lost_micro = long.value - short.value - (low * long.size - high * short.size) * table.unit
        notional_micro = (long.size + short.size) * high * table.unit
        needed_micro = table.maintenance(notional_micro) + notional_micro // EXIT_COST
        return lost_micro, needed_micro, required(notional_micro, position.leverage)

    def apply_closes(self) -> None:
        """Set the prices to the closes of the quiet bars, which did not touch the core."""
        for state in self.states.values():
            self.apply_close(state)

    def apply_close(self, state: SymbolState) -> None:
        """Set the price of a symbol to the close of its last bar, as `apply_closes` does for all.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        """
        if (count := state.history.length) > state.applied_bars:
            state.applied_bars = count
            self._set_price(state, state.to_ticks(state.history.last_close))
