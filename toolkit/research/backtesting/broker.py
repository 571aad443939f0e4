"""The desk of a backtest: one account on a core, its orders under way, and the house that trades with them.

It knows the present only. The driver in `simulate` moves prices and time; the strategy acts through `DeskContext`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from heapq import heappop, heappush
from random import Random
from typing import TYPE_CHECKING, Any

from ...errors import ActionRejected, InputError, UnknownProduct
from ...orders import Order
from ...products import MICRO, Amount, Product, exact, whole_units
from ...protocol.enums import ENUMS
from ...venue.engine.commands import ActionContext as Acting
from ...venue.engine.commands import Outcome, Refused
from ...venue.engine.core import Core
from ...venue.model.accounts import Position, VenueAccount
from ...venue.model.accounts import VenueOrder as Live
from ...venue.model.constants import ADL, ISOLATED, LIMIT, LIQUIDATION, MAKER, MARKET, RATE, STATUS_NAMES
from ...venue.model.history import OrderEvent
from ...venue.risk import account_margin, funding, ledger
from ...venue.risk.positions import position_of
from ...venue.simulation.replay import ENDLESS, House
from ...venue.trading import lifecycle, orders
from ..strategy import Bar, BookSnapshot, Context, Fill, Payment, Placed, Strategy, overrides
from .models import Latency, Liquidity, Slippage
from .symbol_state import NEVER, SymbolState

if TYPE_CHECKING:
    pass

ADDRESS = "0x00000000000000000000000000000000000000b7"
FIRST_ID = 10**15
"""Client ids the desk gives begin here, above those that people write."""
TYPE_NAMES = ENUMS["order_type"].name_of


class SimulatedBroker:
    """One account, its orders under way, and the prices of the moment."""

    def __init__(
        self,
        core: Core,
        lines: Sequence[SymbolState],
        liquidity: Liquidity,
        slippage: Slippage,
        latency: Latency,
        random: Random,
        strategy: Strategy,
    ) -> None:
        self.core = core
        self.lines = {line.symbol: line for line in lines}
        self.by_code = {line.code: line for line in lines}
        self.liquidity = liquidity
        self.slippage = slippage
        self.latency = latency
        self.random = random
        self.strategy = strategy
        self._tells_fills = overrides(strategy, "on_fill")
        self.house = House(core)
        self.account: VenueAccount = core.account(ADDRESS)
        self.now = core.state.time
        self.ctx: Context
        self.queue: list[tuple[int, int, int, SymbolState, str, Any]] = []
        """Orders and cancels under way: (arrival, number, when it was sent, line, what, payload)."""
        self.sent = 0
        self.placed: dict[int, Placed] = {}
        self.every_point = False
        """Look everywhere, also where nothing can happen."""
        self.stale = True
        """Whether orders or positions changed since `rewake`."""
        self.coupled = False
        """True while several positions share a margin, or a liquidation goes on: one price is not enough then."""
        self.due = NEVER
        """When a process of the core (a liquidation in steps) is due."""
        self.notes: list[tuple[int, str, str, str]] = []
        self.ledger: list[tuple[int, int, dict[int, tuple[int, int]]]] = []
        """(closing time, cash, code → (signed steps, signed entry value)) whenever one of them changed."""
        self._kept: tuple[int, dict[int, tuple[int, int]]] | None = None
        self._seen_events = self._seen_payments = 0

    def open_account(self, capital: Amount, leverage: Amount | None, fees: tuple[Amount, Amount] | None) -> None:
        """Fund the account and set what was asked for."""
        amount = exact(capital, "capital") * MICRO
        if amount != int(amount) or amount <= 0:
            raise InputError(f"capital {capital} must be a positive amount of USDC", field="capital", value=capital)
        ledger.deposit(self.core, self.account, int(amount))
        if fees is not None:
            rates = [exact(rate, "fees") * RATE for rate in fees]
            if any(rate != int(rate) for rate in rates):
                raise InputError(f"fees {fees} are finer than 1e-8", field="fees", value=fees)
            self.account.maker_rate, self.account.taker_rate = map(int, rates)
        for line in self.lines.values():
            position_of(self.core, self.account, line.product)
            if leverage is not None:
                self.set_leverage(line, leverage)
        self.keep(self.now)

    def set_leverage(self, line: SymbolState, leverage: Amount) -> None:
        """Set a leverage at once, by the venue's rule."""
        self._act("setLeverage", {"symbolCode": line.code, "leverage": format(exact(leverage, "leverage"), "f")})

    def _act(self, action: str, fields: dict[str, Any]) -> None:
        try:
            outcome = self.core.handlers[action](self.core, self._acting(), {"type": action, **fields})
        except Refused as refusal:
            raise ActionRejected(refusal.reason, action=action) from None
        if isinstance(outcome, Outcome) and outcome.code:
            raise ActionRejected(outcome.message, action=action)

    def _acting(self) -> Acting:
        core = self.core
        core.open_step()
        return Acting(self.account, ADDRESS, 0, core.state.time, "")

    # what the strategy sends

    def send(self, order: Order) -> Placed:
        """Put an order on its way."""
        line = self.line(str(order.symbol))
        if order.cl_ord_id is None or order.is_bracket:
            order = self._numbered(order)
        if order.is_bracket:
            for leg in order.legs[1:]:
                self.placed[leg.cl_ord_id or 0] = Placed(leg, leg.cl_ord_id or 0)
        return self.dispatch(line, order, whole_units(order.quantity, *line.product.step_scale))

    def dispatch(self, line: SymbolState, order: Order, steps: int) -> Placed:
        """Put a numbered order of so many steps (−1: not whole) on its way."""
        placed = self.placed[order.cl_ord_id or 0] = Placed(order, order.cl_ord_id or 0)
        if order.price is None and order.trigger_price is None and steps > 0:
            line.underway += steps if order.side == "BUY" else -steps
        self.push(line, "place", (placed, steps))
        return placed

    def _numbered(self, order: Order) -> Order:
        changes: dict[str, Any] = {}
        for name in ("take_profit", "stop_loss"):
            leg = getattr(order, name)
            if leg is not None and leg.cl_ord_id is None:
                changes[name] = replace(leg, cl_ord_id=self.next_id())
        if order.cl_ord_id is None:
            changes["cl_ord_id"] = self.next_id()
        return replace(order, **changes) if changes else order

    def next_id(self) -> int:
        """Return a client id that was not used before."""
        self.sent += 1
        return FIRST_ID + self.sent

    def push(self, line: SymbolState, what: str, payload: Any) -> None:
        """Put something on its way; it arrives after the latency."""
        self.sent += 1
        now = max(self.now, self.core.state.time)
        heappush(self.queue, (now + self.latency.delay(self.random), self.sent, now, line, what, payload))

    def line(self, symbol: str) -> SymbolState:
        """Return the line of a symbol or code. Raises UnknownProduct."""
        found = self.lines.get(symbol)
        if found is None and symbol.isdecimal():
            found = self.by_code.get(int(symbol))
        if found is None:
            raise UnknownProduct(
                f"{symbol} is not in this run; it has {', '.join(self.lines)}",
                field="symbol",
                value=symbol,
                nearest=tuple(self.lines),
            )
        return found

    # what happens to it

    def next_arrival(self, until: int) -> int:
        """Return when the next thing under way arrives; `until` if nothing does before. Waiting ones step aside.

        An order waits while its symbol has no price from after it was sent: nobody trades at a past price. A cancel
        needs no price; it waits only behind orders.
        """
        queue = self.queue
        while queue and queue[0][0] < until:
            arrival, number, sent, line, what, payload = queue[0]
            if line.priced >= sent or (what != "place" and not line.waiting):
                return arrival
            heappop(queue)
            line.waiting.append((arrival, number, sent, (what, payload)))
        return until

    def release(self, line: SymbolState, time: int) -> None:
        """Let what waited for the price of `time` go on."""
        still = []
        for arrival, number, sent, (what, payload) in line.waiting:
            if sent <= time:
                heappush(self.queue, (max(arrival, time), number, sent, line, what, payload))
            else:
                still.append((arrival, number, sent, (what, payload)))
        line.waiting = still

    def arrive(self) -> None:
        """Let the next thing under way arrive at its time."""
        arrival, _, _, line, what, payload = heappop(self.queue)
        self.reach(arrival)
        self.stale = True
        if what == "place":
            self._place(line, *payload)
        elif what == "cancel":
            self._cancel([payload])
        else:
            chosen = [order for order in self.account.orders.values() if payload in (None, order.product)]
            self._cancel([order.client_id for order in chosen])
        self.follow()
        self.drain()

    def _place(self, line: SymbolState, placed: Placed, steps: int) -> None:
        order = placed.order
        if order.price is None and order.trigger_price is None and steps > 0:
            line.underway -= steps if order.side == "BUY" else -steps
        quote = self._quote_for(line, order, steps)
        if not self._submit(line, placed, steps):
            action = "placeBracketOrder" if order.is_bracket else "placeOrder"
            items = order.to_items(line.product) if order.is_bracket else [order.to_item(line.product)]
            with suppress(Refused):
                self.core.handlers[action](self.core, self._acting(), {"type": action, "orders": items})
        if quote is not None:
            if line.left is not None:
                line.left -= quote.filled
            self.house.withdraw(quote)

    def _submit(self, line: SymbolState, placed: Placed, steps: int) -> bool:
        """Place a plain order by its integers; False when it must go through the venue's reading of orders."""
        order = placed.order
        if not self._plain(line, order, steps):
            return False
        self.core.open_step()
        try:
            orders.submit(
                self.core,
                self.account,
                line.product,
                1 if order.side == "BUY" else -1,
                steps,
                0 if order.price is None else whole_units(order.price, *line.product.tick_scale),
                kind=MARKET if order.price is None else LIMIT,
                tif=TIFS[order.tif],
                reduce=1 if order.reduce_only else 0,
                client_id=placed.cl_ord_id,
            )
        except Refused:
            return False
        return True

    def _plain(self, line: SymbolState, order: Order, steps: int) -> bool:
        """Tell whether an order certainly breaks no rule of `checks`, so that the integers can go straight in."""
        product, price = line.product, line.price
        if (
            order.is_bracket
            or order.trigger_price is not None
            or order.slippage is not None
            or order.parent_ord_id is not None
        ):
            return False
        if not 0 < steps <= product.max_steps or order.reduce_only not in (None, "REDUCE_ONLY"):
            return False
        if order.price is not None:
            if order.tif == "POST_ONLY":
                return False
            price = whole_units(order.price, *product.tick_scale)
            if not 0 < price <= product.max_price or price * 10 < self.core.state.markets[line.code].mark:
                return False
        elif order.tif not in ("IOC", "FOK"):
            return False
        return order.side in ("BUY", "SELL") and (
            order.reduce_only is not None or price * steps * product.unit >= product.min_value
        )

    def _quote_for(self, line: SymbolState, order: Order, steps: int) -> Live | None:
        """Rest what the order may take: a quote of the house on the other side."""
        if order.trigger_price is not None or line.left == 0 or steps <= 0:
            return None
        side = 1 if order.side.startswith("BUY") else -1
        slip = 0 if order.tif == "POST_ONLY" else None
        price = self.quoted(line, side, steps, slip)
        return self.house.quote(line.code, -side, price, steps if line.left is None else min(steps, line.left))

    def quoted(self, line: SymbolState, side: int, steps: int, slip: int | None = None) -> int:
        """Return the price at which `steps` can be taken by an order of `side`."""
        if slip is None:
            slip = self.slippage.ticks(line.price, steps, line.shape)
        return max(1, line.price + side * (self.liquidity.half_spread(line.price) + slip))

    def _cancel(self, ids: list[int]) -> None:
        self.core.open_step()
        for client_id in ids:
            order = self.account.orders.get(self.account.client_ids.get(client_id, 0))
            if order is not None:
                lifecycle.cancel(self.core, self.account, order, "cancelled by its owner")

    def settle_funding(self, code: int, mean: int, time: int) -> None:
        """Settle funding of one product at the rate that a mean premium gives."""
        self.reach(time)
        line = self.by_code[code]
        if not line.price:
            return
        self.core.open_step()
        line.market.premium, line.market.samples = mean, 1
        for account in (self.account, self.house.account):
            self.core.risk_index.index(account)
        funding.settle(self.core, line.market, time)
        self.stale = True
        self.follow()
        self.drain()

    def reach(self, time: int) -> None:
        """Bring the core's time to `time`; what it has due by itself happens, with somebody to trade with.

        Time never runs back: what a long bar tells late happens now.
        """
        time = max(time, self.now)
        if self.due <= time:
            with self._quotes():
                self.core.advance(time)
            self.stale = True
        else:
            self.core.advance(time)
        self.now = self.ctx.now = self.core.state.time

    def move(self, line: SymbolState, target: int, time: int) -> None:
        """Move a price to `target` by `time`, stopping wherever something of ours happens on the way."""
        line.priced = time
        if line.waiting:
            self.release(line, time)
        if not line.opened:
            line.opened = True
        else:
            if self.stale:
                self.rewake()
            low, high = min(line.price, target), max(line.price, target)
            quiet = line.wake_low < low and high < line.wake_high
            if quiet and not (self.coupled or self.every_point or self.due <= time):
                line.price = target
                self._mark(line)
                return
            while line.price != target:
                stop = self._next_stop(line, target)
                if stop == target:
                    break
                self._at(line, stop, time)
        self._at(line, target, time)

    def _next_stop(self, line: SymbolState, target: int) -> int:
        """Return the nearest price from here to `target` (not here) where an order, trigger or liquidation waits."""
        here, way = line.price, 1 if target > line.price else -1
        best = target
        for stop in self._stops(line, target):
            if (stop - here) * way > 0 and (best - stop) * way > 0:
                best = stop
        return best

    def _stops(self, line: SymbolState, target: int) -> Iterator[int]:
        for order in self.account.orders.values():
            if order.product == line.code:
                if order.priority:
                    yield self.liquidity.reach(order.side, order.price)
                elif order.trigger and order.armed:
                    yield order.trigger
        if target <= line.wake_low or target >= line.wake_high or self.coupled:
            position = self.account.positions[line.code]
            if position.long.size or position.short.size:
                price = account_margin.liquidation_price(self.core, self.account, line.code)
                if price is not None and price > 0:
                    ticks = price / line.product.tick_size
                    yield int(ticks) if position.long.size else -int(-ticks // 1)

    def _at(self, line: SymbolState, price: int, time: int) -> None:
        """Be at a price: resting orders it has reached are filled, triggers and liquidations follow."""
        self.reach(time)
        core, code = self.core, line.code
        line.price = price
        self._mark(line)
        if self.account.client_ids:
            self.stale = True
            for side in (1, -1):
                ladder = core.books[code].side(side)
                while ladder.best and (price - self.liquidity.reach(side, ladder.best)) * side <= 0:
                    quantity = ladder.levels[ladder.best].total
                    if line.left is not None:
                        quantity = min(quantity, line.left)
                    if not quantity:
                        break
                    core.open_step()
                    filled = self.house.hit(code, -side, ladder.best, quantity)
                    if line.left is not None:
                        line.left -= filled
                    self._mark(line)
        self.follow()
        self.drain()

    def _mark(self, line: SymbolState) -> None:
        market = line.market
        market.oracle = market.mark = market.last = line.price
        self.core.risk_index.moved.add(line.code)

    def follow(self) -> None:
        """Let triggers and liquidations follow, with the house to trade with; nothing to do between the wake prices."""
        if self.stale:
            self.rewake()
        if self.every_point or self.coupled or not self.asleep():
            with self._quotes():
                self.core.run_hooks()
            self.stale = True

    def asleep(self) -> bool:
        """Tell whether every price is where nothing can happen."""
        return all(line.wake_low < line.price < line.wake_high for line in self.lines.values())

    @contextmanager
    def _quotes(self) -> Iterator[None]:
        """Quote where a position could be closed."""
        quotes = []
        for line in self.lines.values():
            position = self.account.positions[line.code]
            size = position.long.size - position.short.size
            if size and line.price:
                side = -1 if size > 0 else 1
                price = self.quoted(line, side, abs(size))
                if line.left != 0:
                    quotes.append((line, self.house.quote(line.code, -side, price, line.left or ENDLESS)))
        try:
            yield
        finally:
            for line, quote in quotes:
                if line.left is not None:
                    line.left -= quote.filled
                self.house.withdraw(quote)

    def drain(self) -> None:
        """Tell the strategy what happened to its orders and positions."""
        history = self.core.state.history
        events = history.order_events.by_account.get(ADDRESS, ())
        while self._seen_events < len(events):
            event = history.order_events.records[events[self._seen_events]]
            self._seen_events += 1
            self._tell_order(event)
        payments = history.funding_payments.by_account.get(ADDRESS, ())
        while self._seen_payments < len(payments):
            paid = history.funding_payments.records[payments[self._seen_payments]]
            self._seen_payments += 1
            line = self.by_code[paid.product]
            size = float(line.product.step_size) * paid.size * paid.side
            price = float(line.product.tick_size) * line.price
            self.strategy.on_funding(
                self.ctx, Payment(line.symbol, paid.time, size, price, paid.rate / RATE, paid.amount / MICRO)
            )

    def _tell_order(self, event: OrderEvent) -> None:
        line = self.by_code[event.product]
        placed = self.placed.get(event.client_id)
        if placed is not None:
            placed.order_id = event.order_id
            placed.state = STATUS_NAMES[event.status]
            placed.reason = event.reason or placed.reason
        if event.exec_id:
            if placed is not None:
                placed.filled += event.fill_quantity * line.step
            if not self._tells_fills and event.type not in (LIQUIDATION, ADL):
                return
            fill = fill_of(event, line.product)
            if event.type in (LIQUIDATION, ADL):
                text = f"{fill.side} {fill.quantity:g} at {fill.price:g}, realised {fill.realized_pnl:,.2f}"
                self.notes.append((event.time, TYPE_NAMES[event.type], line.symbol, text))
            self.strategy.on_fill(self.ctx, fill)
        elif placed is not None and placed.state == "REJECTED":
            self.notes.append((event.time, "REJECTED", line.symbol, f"{placed.order.describe()}: {placed.reason}"))
            self.strategy.on_reject(self.ctx, placed)

    # where nothing can happen

    def rewake(self) -> None:
        """Work out between which prices nothing of ours can happen."""
        self.stale = False
        schedule = self.core.state.schedule
        self.due = min(schedule.values()) if schedule else NEVER
        for line in self.lines.values():
            line.wake_low, line.wake_high = -1, NEVER
        for order in self.account.orders.values():
            line = self.by_code[order.product]
            if order.priority:
                reach = self.liquidity.reach(order.side, order.price)
                if order.side > 0:
                    line.wake_low = max(line.wake_low, reach)
                else:
                    line.wake_high = min(line.wake_high, reach)
            elif order.trigger and order.armed:
                if order.trigger_up:
                    line.wake_high = min(line.wake_high, order.trigger)
                else:
                    line.wake_low = max(line.wake_low, order.trigger)
        held = [p for p in self.account.positions.values() if p.long.size or p.short.size]
        self.coupled = len(held) > 1 or bool(self.core.state.liquidations)
        if len(held) == 1:
            self._guard(self.by_code[held[0].product], held[0])
        for line in self.lines.values():
            line.floor = (line.wake_low + 0.51) * line.tick
            line.ceiling = (line.wake_high - 0.51) * line.tick if line.wake_high < NEVER else math.inf

    def _guard(self, line: SymbolState, position: Position) -> None:
        """Wake before the margin could run out: at a price where it certainly still holds."""
        table = self.core.risk_index.table(line.code)
        rate = table.rows[0][1]
        stake = position.assigned if position.mode == ISOLATED else self.account.balance
        if position.long.size:
            worst = (position.long.value - stake) * RATE // (position.long.size * table.unit * (RATE - rate)) + 2
            line.wake_low = max(line.wake_low, worst)
        else:
            worst = (position.short.value + stake) * RATE // (position.short.size * table.unit * (RATE + rate)) - 2
            line.wake_high = min(line.wake_high, worst)

    def safe(self, members: Sequence[tuple[SymbolState, Bar]]) -> bool:
        """Tell whether several positions certainly keep their margin through these bars, at the worst of all prices."""
        if self.core.state.liquidations:
            return False
        self.freshen()
        extremes = {line.code: (line.ticks(bar.high), line.ticks(bar.low)) for line, bar in members}
        equity, maintenance = self.account.balance, 0
        for code, position in self.account.positions.items():
            table = self.core.risk_index.table(code)
            price = self.by_code[code].price
            high, low = extremes.get(code, (price, price))
            worst = low * position.long.size - high * position.short.size
            if position.mode == ISOLATED and (position.long.size or position.short.size):
                return False
            equity += worst * table.unit - position.long.value + position.short.value
            maintenance += (position.long.size + position.short.size) * high * table.unit * table.rows[0][1] // RATE + 1
        return equity > maintenance + 1

    # books

    def keep(self, closed: int) -> None:
        """Keep cash and positions if they changed."""
        cash = self.account.balance
        held = {}
        for code, position in self.account.positions.items():
            cash += position.assigned
            if position.long.size or position.short.size:
                held[code] = (position.long.size - position.short.size, position.long.value - position.short.value)
        if (cash, held) != self._kept:
            self._kept = (cash, held)
            self.ledger.append((closed, cash, held))

    def freshen(self) -> None:
        """Bring the lines' prices, and the core's, to the closes that quiet bars brought."""
        for line in self.lines.values():
            if line.fresh is not None:
                line.price = line.ticks(line.fresh.close)
                line.fresh = None
                self._mark(line)

    def mark_all(self) -> None:
        """Bring the core's prices to the present ones (quiet bars don't)."""
        self.freshen()

    def settle_time(self) -> None:
        """Bring the core to the end of the run."""
        self.mark_all()
        self.core.advance(self.now)
        lost = len(self.queue) + sum(len(line.waiting) for line in self.lines.values())
        if lost:
            self.note("UNDERWAY", "", f"{lost} orders or cancels were still under way at the end and were dropped")

    def note(self, kind: str, symbol: str, text: str) -> None:
        """Keep something a reader of the results must know."""
        self.notes.append((self.now, kind, symbol, text))

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Add the time to errors of the strategy."""
        try:
            yield
        except Exception as error:
            error.add_note(f"in {self.strategy.name} at {self.ctx.time}")
            raise

    def book(self, line: SymbolState) -> BookSnapshot:
        """Return the modelled quotes of the moment."""
        self.freshen()
        tick, half = float(line.product.tick_size), self.liquidity.half_spread(line.price)
        size = float("inf") if line.left is None else line.left * float(line.product.step_size)
        return BookSnapshot(
            line.symbol, self.now, (((line.price - half) * tick, size),), (((line.price + half) * tick, size),)
        )


TIFS = ENUMS["tif"].number_of


def fill_of(event: OrderEvent, product: Product) -> Fill:
    """Return a fill as strategies and results show it."""
    price, quantity = float(product.tick_size * event.fill_price), float(product.step_size * event.fill_quantity)
    return Fill(
        product.symbol,
        event.time,
        "BUY" if event.side > 0 else "SELL",
        price,
        quantity,
        event.fill_price * event.fill_quantity * product.unit / MICRO,
        (event.open_fee + event.close_fee) / MICRO,
        event.pnl / MICRO,
        "MAKER" if event.role == MAKER else "TAKER",
        TYPE_NAMES.get(event.type, str(event.type)),
        event.order_id,
        event.client_id,
    )
