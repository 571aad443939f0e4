"""The market of a backtest on bars: the price of each symbol, and the matching of the account's orders against it.

Prices move along a bar's path and let orders, triggers and liquidations happen on the way. Most bars touch nothing of
the account. `update_wake_prices` computes for each symbol the price range in which nothing can happen, so that such
quiet bars skip the core altogether.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ...orders import Order
from ...products import VenueProduct
from ...venue.engine.core import Core
from ...venue.model.accounts import Position, VenueOrder
from ...venue.model.constants import ISOLATED, RATE
from ...venue.risk import account_margin, funding_settlement
from ...venue.simulation.replay import ENDLESS, House, ReplayBar
from ..data.bars import Path, Points, whole
from ..market_data import Bar, BarHistory
from .models import BarModels, Liquidity

ADDRESS = "0x00000000000000000000000000000000000000b7"
"""The account of a backtest."""
NEVER = 1 << 62
"""Greater than any price or time."""
NO_HASH = "0x"
"""Stands for the transaction hash of what no result shows with one."""


class ReceivedBars:
    """The bars that the strategy has received. `recent` are those that are not sorted by symbol yet.

    Most bars are never read again, so they are sorted only when the strategy reads a history. With a single symbol
    they wait in its list.
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
    """The history of one symbol of a backtest. No later bar can be reached from it: those stay with the driver."""

    __slots__ = ("_received",)

    def __init__(self, symbol: str, received: ReceivedBars) -> None:
        super().__init__(symbol)
        self._received = received
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
        return self._pending[-1].close if self._pending else float(self._rows[self._length - 1, 3])

    def _update(self) -> None:
        if self._received.several:
            self._received.sort()
        if self._pending:
            super()._update()


class Arrival(NamedTuple):
    """An order or cancel in flight. Times in Unix ms. `number` orders arrivals of one time, and is unique."""

    time: int
    number: int
    sent: int
    state: SymbolState
    kind: str
    payload: Any


class SymbolState:
    """The current state of one symbol. Prices in ticks and quantities in steps, unless a name says otherwise."""

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
        """Return a price of the data in ticks, rounded to the nearest."""
        return round(price / self.tick)

    def begin_bar(self, bar: Bar, liquidity: Liquidity, path: Path) -> Points:
        """Make `bar` the current one, and return the points of its path."""
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
        """Subtract traded steps from the bar's volume."""
        if self.volume_left is not None:
            self.volume_left -= steps


class BarMatcher(ABC):
    """The account's counterparty: prices, quotes of the house, and the simulated clock.

    Attributes:
        states: symbol → SymbolState. `by_code` has them by product code.
        now: Unix ms.
        every_point: visit every point of every bar, also where nothing can happen.
        stale: orders or positions have changed since `update_wake_prices`.
        coupled: several positions share a margin, or a liquidation is in progress: wake prices of single symbols
            are not enough.
        due: when a process of the core (a liquidation in steps) is due, Unix ms.
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
        self.coupled = False
        self.due = NEVER

    @abstractmethod
    def deliver_events(self) -> None:
        """Call the strategy for what has happened to its orders and positions."""

    def advance_to(self, time: int) -> None:
        """Advance the core to `time`, running its due processes with quotes to trade against.

        Time never goes back: an event of a long bar that is known late happens now.
        """
        time = max(time, self.now)
        if self.due <= time:
            with self._exit_quotes():
                self.core.advance(time)
            self.stale = True
        else:
            self.core.advance(time)
        self.now = self.core.state.time

    def move_price(self, state: SymbolState, target: int, time: int) -> None:
        """Move a price to `target` ticks by `time`, and stop at each order, trigger or liquidation of the account."""
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
            self._match_at(state, stop, time)
        self._match_at(state, target, time)

    def _next_stop(self, state: SymbolState, target: int) -> int:
        """Return the nearest price on the way to `target` where an order, trigger or liquidation waits."""
        price, direction = state.price, 1 if target > state.price else -1
        ahead = [stop * direction for stop in self._stops(state, target) if (stop - price) * direction > 0]
        return min([*ahead, target * direction]) * direction

    def _stops(self, state: SymbolState, target: int) -> Iterator[int]:
        for order in self.account.orders.values():
            if order.product == state.code:
                if order.priority:
                    yield self.liquidity.reach(order.side, order.price)
                elif order.armed:  # it has a trigger, as every order that does not rest
                    yield order.trigger
        if target <= state.wake_low or target >= state.wake_high or self.coupled:
            position = self.account.positions[state.code]
            if position.long.size or position.short.size:
                price = account_margin.liquidation_price(self.core, self.account, state.code)
                if price is not None and price > 0:
                    ticks = price / state.product.tick_size
                    # Rounded to the first whole tick at which the position is liquidated.
                    yield math.floor(ticks) if position.long.size else math.ceil(ticks)

    def _match_at(self, state: SymbolState, price: int, time: int) -> None:
        """Set a price and fill the resting orders it has reached. Triggers and liquidations follow."""
        self.advance_to(time)
        code = state.code
        self._set_price(state, price)
        # Every order has a client id, so an account without any has no resting order to fill.
        if self.account.client_ids:
            self.stale = True
            for side in (1, -1):
                ladder = self.core.books[code].side(side)
                while ladder.best and (price - self.liquidity.reach(side, ladder.best)) * side <= 0:
                    steps = ladder.levels[ladder.best].total
                    if state.volume_left is not None:
                        steps = min(steps, state.volume_left)
                    if not steps:
                        break
                    self.core.open_step()
                    state.take_volume(self.house.hit(code, -side, ladder.best, steps))
                    self._set_price(state, price)  # the fill has set the last price
        self.settle_changes()

    def _set_price(self, state: SymbolState, price: int) -> None:
        state.price = price
        market = state.market
        self.core.risk_index.moved.setdefault(state.code, market.mark)
        market.oracle = market.mark = market.last = price

    def settle_changes(self) -> None:
        """Run triggers and liquidations with quotes to trade against, and report what changed."""
        if self.stale:
            self.update_wake_prices()
        busy = self.every_point or self.coupled
        for state in self.states.values():
            busy = busy or not state.wake_low < state.price < state.wake_high
        if busy:
            with self._exit_quotes():
                self.core.run_hooks()
            self.stale = True
        self.deliver_events()

    def settle_funding(self, code: int, premium: int, time: int) -> None:
        """Settle funding of one product at the rate that a mean premium gives."""
        self.advance_to(time)
        state = self.by_code[code]
        if not state.price:
            return
        self.core.open_step()
        self.core.step_hash = NO_HASH
        state.market.premium, state.market.samples = premium, 1
        for account in (self.account, self.house.account):
            self.core.risk_index.index(account)
        funding_settlement.settle(self.core, state.market, time)
        self.stale = True
        self.settle_changes()

    def taker_price(self, state: SymbolState, side: int, steps: int, slip: int | None = None) -> int:
        """Return the price in ticks at which an order of `side` takes `steps`. `slip` replaces the slippage model."""
        if slip is None:
            slip = self.models.slippage.ticks(state.price, steps, state.bar)
        return max(1, state.price + side * (self.liquidity.half_spread(state.price) + slip))

    def quotes_for(self, state: SymbolState, order: Order, steps: int) -> list[VenueOrder]:
        """Rest the quote of the house that an arriving order can take, if there is one. `withdraw` removes it."""
        if order.trigger_price is not None or state.volume_left == 0 or steps <= 0:
            return []
        side = 1 if order.side.startswith("BUY") else -1
        # A post-only order meets the quote without slippage, because it must not take.
        price = self.taker_price(state, side, steps, 0 if order.tif == "POST_ONLY" else None)
        left = state.volume_left
        return [self.house.quote(state.code, -side, price, steps if left is None else min(steps, left))]

    def withdraw(self, quotes: Sequence[VenueOrder]) -> None:
        """Remove quotes, and subtract what they traded from the bar's volume."""
        for quote in quotes:
            self.by_code[quote.product].take_volume(quote.filled)
            self.house.withdraw(quote)

    @contextmanager
    def _exit_quotes(self) -> Iterator[None]:
        """Quote where triggers and liquidations can close positions."""
        quotes: list[VenueOrder] = []
        for state in self.states.values():
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
        return [self.house.quote(state.code, -side, price, state.volume_left or ENDLESS)]

    # Second form: a bar in which nothing can happen is not walked
    def update_wake_prices(self) -> None:
        """Compute for each symbol the price range in which nothing of the account can happen."""
        self.stale = False
        self.due = min(self.core.state.schedule.values(), default=NEVER)
        for state in self.states.values():
            state.wake_low, state.wake_high = -1, NEVER
        for order in self.account.orders.values():
            state = self.by_code[order.product]
            if order.priority:
                wake, falling = self.liquidity.reach(order.side, order.price), order.side > 0
            elif order.waiting and order.triggered:  # it found nothing, and tries again at every price
                wake, falling = NEVER, True
            elif order.armed:  # it has a trigger, as every order that does not rest
                wake, falling = order.trigger, not order.trigger_up
            else:
                continue
            if falling:
                state.wake_low = max(state.wake_low, wake)
            else:
                state.wake_high = min(state.wake_high, wake)
        held = None
        self.coupled = bool(self.core.state.liquidations)
        for position in self.account.positions.values():
            if position.long.size or position.short.size:
                self.coupled, held = self.coupled or held is not None, position
        if held is not None and not self.coupled:
            self._wake_before_liquidation(self.by_code[held.product], held)
        for state in self.states.values():
            # Half a tick covers the rounding of data prices to ticks; the rest covers float noise. An arrival that
            # waits for a price needs the next one, whatever it is.
            state.floor_price = math.inf if state.waiting else (state.wake_low + 0.51) * state.tick
            state.ceiling_price = (state.wake_high - 0.51) * state.tick if state.wake_high < NEVER else math.inf

    def _wake_before_liquidation(self, state: SymbolState, position: Position) -> None:
        """Wake at a price where the only position certainly still has its maintenance margin.

        The rate of the highest tier and two ticks of tolerance keep the bound on the safe side of the exact price.
        """
        table = self.core.risk_index.tables[state.code]
        rate_e8 = table.rows[0][1]
        margin_micro = position.assigned if position.mode == ISOLATED else self.account.balance
        if position.long.size:
            unit_micro = position.long.size * table.unit
            worst = (position.long.value - margin_micro) * RATE // (unit_micro * (RATE - rate_e8)) + 2
            state.wake_low = max(state.wake_low, worst)
        else:
            unit_micro = position.short.size * table.unit
            worst = (position.short.value + margin_micro) * RATE // (unit_micro * (RATE + rate_e8)) - 2
            state.wake_high = min(state.wake_high, worst)

    def keeps_margin(self, bars: Sequence[Bar]) -> bool:
        """Return whether the account certainly keeps its maintenance margin, at the worst price of each bar."""
        if self.core.state.liquidations:
            return False
        self.apply_closes()
        bars_by_code = {self.states[bar.symbol].code: bar for bar in bars}
        equity_micro, maintenance_micro = self.account.balance, 0
        for code, position in self.account.positions.items():
            table = self.core.risk_index.tables[code]
            state, bar = self.by_code[code], bars_by_code.get(code)
            high = low = state.price
            if bar is not None:
                high, low = state.to_ticks(bar.high), state.to_ticks(bar.low)
            if position.mode == ISOLATED and (position.long.size or position.short.size):
                return False
            worst = low * position.long.size - high * position.short.size
            equity_micro += worst * table.unit - position.long.value + position.short.value
            notional_micro = (position.long.size + position.short.size) * high * table.unit
            maintenance_micro += notional_micro * table.rows[0][1] // RATE + 1
        return equity_micro > maintenance_micro

    def apply_closes(self) -> None:
        """Set the prices to the closes of the quiet bars, which did not touch the core."""
        for state in self.states.values():
            if (count := state.history.length) > state.applied_bars:
                state.applied_bars = count
                self._set_price(state, state.to_ticks(state.history.last_close))
