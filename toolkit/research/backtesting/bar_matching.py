"""Matching against bars: moves prices along a bar's path and lets orders, triggers and liquidations happen on the way.

Most bars touch nothing of the account. `update_wake_prices` computes for each symbol the price range in which nothing
can happen, so that such quiet bars skip the core altogether.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ...orders import Order
from ...venue.engine.core import Core
from ...venue.model.accounts import Position, VenueAccount, VenueOrder
from ...venue.model.constants import ISOLATED, RATE
from ...venue.risk import account_margin, funding_settlement
from ...venue.simulation.replay import ENDLESS, House
from ..market_data import Bar
from .models import Liquidity, Slippage
from .symbol_state import NEVER, SymbolState

NO_HASH = "0x"
"""Stands for the transaction hash of what no result shows with one."""


class BarMatcher:
    """The account's counterparty: prices, quotes of the house, and the simulated clock.

    Attributes:
        states: symbol → SymbolState; `by_code` has them by product code.
        now: Unix ms.
        every_point: visit every point of every bar, also where nothing can happen.
        stale: orders or positions have changed since `update_wake_prices`.
        coupled: several positions share a margin, or a liquidation is in progress: wake prices of single symbols
            are not enough.
        due: when a process of the core (a liquidation in steps) is due, Unix ms.
        on_change: called after orders or positions may have changed.
    """

    def __init__(
        self,
        core: Core,
        account: VenueAccount,
        states: Sequence[SymbolState],
        liquidity: Liquidity,
        slippage: Slippage,
        on_change: Callable[[], None],
    ) -> None:
        self.core = core
        self.account = account
        self.states = {state.symbol: state for state in states}
        self.by_code = {state.code: state for state in states}
        self.liquidity = liquidity
        self.slippage = slippage
        self.house = House(core)
        self.now = core.state.time
        self.every_point = False
        self.stale = True
        self.coupled = False
        self.due = NEVER
        self.on_change = on_change

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
        """Move a price to `target` ticks by `time`, stopping wherever something of the account happens on the way."""
        if self.stale:
            self.update_wake_prices()
        # The first price of a bar is a jump: between two bars no price in between was traded.
        jump, state.started = not state.started, True
        low, high = (target, target) if jump else (min(state.price, target), max(state.price, target))
        quiet = state.wake_low < low and high < state.wake_high
        if quiet and not (self.coupled or self.every_point or self.due <= time):
            self._set_price(state, target)
            return
        if not jump:
            while state.price != target:
                stop = self._next_stop(state, target)
                if stop == target:
                    break
                self._match_at(state, stop, time)
        self._match_at(state, target, time)

    def _next_stop(self, state: SymbolState, target: int) -> int:
        """Return the nearest price on the way to `target` where an order, trigger or liquidation waits."""
        price, direction = state.price, 1 if target > state.price else -1
        nearest = target
        for stop in self._stops(state, target):
            if (stop - price) * direction > 0 and (nearest - stop) * direction > 0:
                nearest = stop
        return nearest

    def _stops(self, state: SymbolState, target: int) -> Iterator[int]:
        for order in self.account.orders.values():
            if order.product == state.code:
                if order.priority:
                    yield self.liquidity.reach(order.side, order.price)
                elif order.trigger and order.armed:
                    yield order.trigger
        if target <= state.wake_low or target >= state.wake_high or self.coupled:
            position = self.account.positions[state.code]
            if position.long.size or position.short.size:
                price = account_margin.liquidation_price(self.core, self.account, state.code)
                if price is not None and price > 0:
                    ticks = price / state.product.tick_size
                    # Rounded to the first whole tick at which the position is liquidated.
                    yield int(ticks) if position.long.size else -int(-ticks // 1)

    def _match_at(self, state: SymbolState, price: int, time: int) -> None:
        """Set a price and fill the resting orders it has reached; triggers and liquidations follow."""
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
        market.oracle = market.mark = market.last = price
        self.core.risk_index.moved.add(state.code)

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
        self.on_change()

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
        """Return the price in ticks at which an order of `side` takes `steps`; `slip` replaces the slippage model."""
        if slip is None:
            slip = self.slippage.ticks(state.price, steps, state.bar)
        return max(1, state.price + side * (self.liquidity.half_spread(state.price) + slip))

    def quotes_for(self, state: SymbolState, order: Order, steps: int) -> list[VenueOrder]:
        """Rest the quote of the house that an arriving order can take, if there is one; `withdraw` removes it."""
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
        schedule = self.core.state.schedule
        self.due = min(schedule.values()) if schedule else NEVER
        for state in self.states.values():
            state.wake_low, state.wake_high = -1, NEVER
        for order in self.account.orders.values():
            state = self.by_code[order.product]
            if order.priority:
                wake, falling = self.liquidity.reach(order.side, order.price), order.side > 0
            elif order.waiting and order.triggered:  # it found nothing, and tries again at every price
                wake, falling = NEVER, True
            elif order.trigger and order.armed:
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

    def keeps_margin(self, members: Sequence[tuple[SymbolState, Bar]]) -> bool:
        """Return whether the account certainly keeps its maintenance margin, at the worst price of each bar."""
        if self.core.state.liquidations:
            return False
        self.apply_closes()
        extremes = {state.code: (state.to_ticks(bar.high), state.to_ticks(bar.low)) for state, bar in members}
        equity_micro, maintenance_micro = self.account.balance, 0
        for code, position in self.account.positions.items():
            table = self.core.risk_index.tables[code]
            price = self.by_code[code].price
            high, low = extremes.get(code, (price, price))
            if position.mode == ISOLATED and (position.long.size or position.short.size):
                return False
            worst = low * position.long.size - high * position.short.size
            equity_micro += worst * table.unit - position.long.value + position.short.value
            notional_micro = (position.long.size + position.short.size) * high * table.unit
            maintenance_micro += notional_micro * table.rows[0][1] // RATE + 1
        return equity_micro > maintenance_micro + 1

    def apply_closes(self) -> None:
        """Set the prices to the closes of the quiet bars, which did not touch the core."""
        for state in self.states.values():
            if state.unapplied is not None:
                close = state.to_ticks(state.unapplied.close)
                state.unapplied = None
                self._set_price(state, close)
