"""The simulated broker of a backtest: one account, its orders in flight, and the events of both for the strategy.

The driver moves time and prices, the strategy acts through `BacktestContext`. The broker knows no bar before the driver
hands it over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from heapq import heapify, heappop, heappush
from random import Random
from typing import Any, NamedTuple

from ...checks import slippage_bound
from ...errors import ActionRejected, InputError, UnknownProduct
from ...exposure import required
from ...orders import Bracket, Order
from ...products import MICRO, Amount, exact, whole_units
from ...protocol.enums import OrderType, TimeInForce
from ...protocol.orders.names import ActionType, OrderField
from ...protocol.orders.order_actions import OrderAction
from ...venue.engine.commands import ActionContext, Outcome, Refused
from ...venue.engine.core import Core
from ...venue.model.accounts import Position, VenueOrder
from ...venue.model.constants import ADL, FILLED, ISOLATED, LIQUIDATION, MAKER, MARKET, RATE, STATUS_NAMES, TAKER
from ...venue.model.history import FundingPayment, OrderEvent, PublicTrade
from ...venue.risk import account_margin, ledger, solvency
from ...venue.trading import lifecycle, matching
from ...venue.trading.lifecycle import TRIED_AGAIN, position_of
from ..account_data import Fill, FundingFee, OrderHandle
from ..context import Context
from ..market_data import BarHistory, BookSnapshot
from ..strategy import Strategy, overrides
from .bar_matching import ADDRESS, NO_HASH, Arrival, BarMatcher, SymbolState
from .funding_schedule import FundingSettlement
from .models import BarModels

FIRST_CLIENT_ID = 10**15
"""Client ids given by the broker begin here, above those that people write."""


class RunSettings(NamedTuple):
    """The settings that runs on bars and on events have in common, as `backtest` takes them.

    Parameters
    ----------
    capital : str, int, float or Decimal
        USDC in the account at the start.
    products : mapping of str to object or None
        A Product for a symbol, or fields to change.
    leverage : str, int, float or Decimal or None
        Leverage of every symbol at the start, None for the venue's.
    fees : tuple of two numbers or None
        Rates of maker and taker as ratios, None for the venue's.
    funding : str, float, Series, DataFrame, mapping or None
        How funding is settled.
    seed : int
        Seed of the models' random numbers.
    unproven : str
        "refuse" for data that nothing proves, or "mark" (default: "mark").
    """

    capital: Amount
    products: Mapping[str, Any] | None
    leverage: Amount | None
    fees: tuple[Amount, Amount] | None
    funding: Any
    seed: int
    unproven: str = "mark"


class SimulatedBroker(BarMatcher):
    """One account on the core, and its orders in flight.

    Parameters
    ----------
    core : Core
        Core that lists the products of the run.
    states : sequence of SymbolState
        State of each symbol, in the order of the products.
    models : BarModels
        Path, liquidity, slippage and latency.
    settings : RunSettings
        Settings of the run.
    strategy : Strategy
        Strategy that receives the events.

    Attributes
    ----------
    arrivals : list of Arrival
        Heap of the orders and cancels in flight.
    placed : dict of int to OrderHandle
        Handles by client id.
    open_handles : dict of int to OrderHandle
        Those that are not known to be in a final state.
    warm_until : int
        Orders up to this time, Unix ms, are refused, because the strategy is warming up.
    settlements : list of FundingSettlement
        Funding still to come, the next one last.
    predicted : dict of int to float
        The rate of every settlement by product code, if it is always the same.
    fees_micro : int
        Fees paid so far, micro-USDC.
    notes : list of tuple
        (Unix ms, kind, symbol, text), as in `Results.events`.
    balances : list of tuple of int
        Closing time, cash, signed steps and signed entry value of each symbol, whenever one of them changed. Amounts
        are micro-USDC.
    ctx : Context
        The strategy's context, which sets itself.
    """

    ctx: Context

    def __init__(
        self, core: Core, states: Sequence[SymbolState], models: BarModels, settings: RunSettings, strategy: Strategy
    ) -> None:
        super().__init__(core, states, models)
        # The run's own random numbers: those of the core would change with everything that draws from them.
        self.random = Random(settings.seed)
        self.strategy = strategy
        self.arrivals: list[Arrival] = []
        self.warm_until = -1
        self.settlements: list[FundingSettlement] = []
        self.predicted: dict[int, float] = {}
        self.funding: Any = settings.funding
        self.fees_micro = 0
        self.placed: dict[int, OrderHandle] = {}
        self.open_handles: dict[int, OrderHandle] = {}
        self._changed: dict[int, list[Order]] = {}
        self.notes: list[tuple[int, str, str, str]] = []
        self.balances: list[tuple[int, ...]] = []
        self._wants_fills = overrides(strategy, "on_fill")
        self._last_number = 0
        self._last_balances: tuple[int, ...] = ()
        self._delivered_events = self._delivered_payments = 0

    def open_account(self, settings: RunSettings) -> None:
        """Deposit the capital, and set leverage and fee rates where given.

        Parameters
        ----------
        settings : RunSettings
            Settings of the run.

        Raises
        ------
        InputError
            For bad amounts.
        """
        capital, leverage, fees = settings.capital, settings.leverage, settings.fees
        capital_micro = exact(capital, "capital") * MICRO
        if capital_micro != int(capital_micro) or capital_micro <= 0:
            raise InputError(f"capital {capital} must be a positive amount of USDC", field="capital", value=capital)
        self.core.step_hash = NO_HASH
        ledger.deposit(self.core, self.account, int(capital_micro))
        if fees is not None:
            rates_e8 = [exact(rate, "fees") * RATE for rate in fees]
            if any(rate_e8 != int(rate_e8) for rate_e8 in rates_e8):
                raise InputError(f"fees {fees} are finer than 1e-8", field="fees", value=fees)
            self.account.maker_rate, self.account.taker_rate = map(int, rates_e8)
        for state in self.states.values():
            # Positions are made beforehand: `record_balances` needs one for each symbol, in their order.
            for account in (self.account, self.house.account):
                position_of(self.core, account, state.product)
            if leverage is not None:
                self.set_leverage(state, leverage)
        self.record_balances(self.now)

    def set_leverage(self, state: SymbolState, leverage: Amount) -> None:
        """Set a leverage immediately.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        leverage : str, int, float or Decimal
            Notional over margin, from 1 on.

        Raises
        ------
        ActionRejected
            If the venue's rules forbid it.
        """
        # The venue checks the margin at the present price, which quiet bars have not set yet.
        self.apply_closes()
        kind = ActionType.SET_LEVERAGE.value
        fields = {OrderField.PRODUCT.value: state.code, "leverage": format(exact(leverage, "leverage"), "f")}
        try:
            outcome = self._run_action(kind, {"type": kind, **fields})
        except Refused as refusal:
            raise ActionRejected(refusal.reason, action=kind) from None
        if isinstance(outcome, Outcome) and outcome.code:
            raise ActionRejected(outcome.message, action=kind)
        self.instant, self.stale = {}, True  # the bounds on the margin were those of the leverage before

    def _run_action(self, kind: str, action: OrderAction | dict[str, Any]) -> Any:
        self.core.open_step()
        context = ActionContext(self.account, ADDRESS, 0, self.core.state.time, "")
        return self.core.handlers[kind](self.core, context, action)

    def submit(self, order: Order | Bracket) -> OrderHandle:
        """Send an order or a bracket. It arrives after the latency.

        Parameters
        ----------
        order : Order or Bracket
            Order made with `toolkit.orders`.
        """
        state = self.state_of(str(order.symbol))
        if isinstance(order, Bracket):
            legs = {name: getattr(order, name) for name in ("take_profit", "stop_loss", "entry")}
            known = {name: self._with_client_id(leg) for name, leg in legs.items() if leg is not None}
            order = replace(order, **known)
        else:
            order = self._with_client_id(order)
        return self.submit_steps(state, order, whole_units(order.entry.quantity, *state.product.step_scale))

    def submit_market(self, state: SymbolState, signed_steps: int) -> OrderHandle:
        """Send a market order for whole steps.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        signed_steps : int
            Steps to buy, negative to sell.
        """
        steps, client_id = abs(signed_steps), self.next_client_id()
        text = state.texts.get(steps)
        if text is None:
            text = state.texts[steps] = state.product.quantity_text(steps)
        order = Order(state.symbol, "BUY" if signed_steps > 0 else "SELL", text, tif="IOC", cl_ord_id=client_id)
        return self.submit_steps(state, order, steps)

    def submit_steps(self, state: SymbolState, order: Order | Bracket, steps: int) -> OrderHandle:
        """Send an order that has a client id and a known number of steps.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        order : Order or Bracket
            Order made with `toolkit.orders`.
        steps : int
            Quantity in steps. −1: it is not a whole number of them.
        """
        placed = OrderHandle(order)
        if self.now <= self.warm_until:
            # Neither noted nor reported: a strategy may place an order in each bar of a long warm-up.
            placed.state, placed.reason = "REJECTED", "the run is warming up. Nothing is sent"
            return placed
        for leg in order.legs[1:]:
            self._keep(OrderHandle(leg))
        self._keep(placed)
        # Counted until it arrives, so that `target` does not send the same difference twice.
        state.in_flight_steps += _market_steps(placed.order, steps)
        self.enqueue(state, "place", (placed, steps))
        return placed

    def _keep(self, placed: OrderHandle) -> None:
        self.placed[placed.cl_ord_id] = self.open_handles[placed.cl_ord_id] = placed

    def _with_client_id(self, order: Order) -> Order:
        return order if order.cl_ord_id is not None else replace(order, cl_ord_id=self.next_client_id())

    def next_client_id(self) -> int:
        """Return an unused client id."""
        self._last_number += 1
        return FIRST_CLIENT_ID + self._last_number

    def enqueue(self, state: SymbolState, kind: str, payload: object) -> None:
        """Send something that arrives after the latency.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        kind : str
            "place", "modify", "cancel" or "cancel_all".
        payload : object
            Content of the request: (handle, steps), (handle, changed order), a client id, or a product code.
        """
        self._last_number += 1
        now = max(self.now, self.core.state.time)
        # The number is unique, so that the heap never compares two states or payloads.
        arrives = now + self.models.latency.delay(self.random)
        heappush(self.arrivals, Arrival(arrives, self._last_number, now, state, kind, payload))

    def state_of(self, symbol: str) -> SymbolState:
        """Return the state of a product.

        Parameters
        ----------
        symbol : str
            Product symbol, or its code as text.

        Raises
        ------
        UnknownProduct
            If the run does not have it.
        """
        state = self.states.get(symbol)
        if state is None and symbol.isdecimal():
            state = self.by_code.get(int(symbol))
        if state is None:
            text = f"{symbol} is not in this run, which has {', '.join(self.states)}"
            raise UnknownProduct(text, field="symbol", value=symbol, nearest=tuple(self.states))
        return state

    def process_until(self, until: int) -> None:
        """Process the settlements and arrivals before a time, in order. A settlement comes first.

        Parameters
        ----------
        until : int
            Unix ms, not included.
        """
        settlements = self.settlements
        while True:
            arrival = self._next_arrival(until)
            # A settlement at the time of an arrival applies to the position before it.
            if settlements and settlements[-1].time < until and settlements[-1].time <= arrival:
                settlement = settlements.pop()
                self.settle_funding(settlement.code, settlement.premium, settlement.time)
            elif arrival < until:
                due = heappop(self.arrivals)
                self.advance_to(due.time)
                self.stale = True
                self.process_request(due.state, due.kind, due.payload)
            else:
                return

    def _next_arrival(self, until: int) -> int:
        """Return the time of the next arrival before `until`, else `until`.

        An order waits while its symbol has no price from after it was sent, so that nothing trades at a past price. A
        cancel needs no price, but does not overtake waiting orders of its symbol.
        """
        while self.arrivals and self.arrivals[0].time < until:
            arrival = self.arrivals[0]
            state = arrival.state
            if state.priced_ms >= arrival.sent or (arrival.kind != "place" and not state.waiting):
                return arrival.time
            self.wait_for_price(state, heappop(self.arrivals))
        return until

    def release_waiting(self, state: SymbolState) -> None:
        """Let the arrivals that were sent before the last price of their symbol arrive then.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        """
        time = state.priced_ms
        for arrival in state.waiting:
            if arrival.sent <= time:
                heappush(self.arrivals, arrival._replace(time=max(arrival.time, time)))
        state.waiting = [arrival for arrival in state.waiting if arrival.sent > time]

    def process_request(self, state: SymbolState, kind: str, payload: Any) -> None:
        """Process a request that has arrived.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        kind : str
            "place", "modify", "cancel" or "cancel_all".
        payload : object
            Content of the request: (handle, steps), (handle, changed order), a client id, or a product code.
        """
        self.traded.add(state)
        if kind == "place":
            self._place(state, *payload)
        elif kind == "modify":
            self._modify(state, *payload)
        elif kind == "cancel":
            self._cancel([payload])
        else:
            open_orders = self.account.orders.values()
            self._cancel([order.client_id for order in open_orders if order.product == payload])
        self.settle_changes()

    def _place(self, state: SymbolState, placed: OrderHandle, steps: int) -> None:
        """Place an order or a bracket on the core, which finds the house's quotes in its book."""
        # It has arrived: from here on the position shows it, or nothing does.
        state.in_flight_steps -= _market_steps(placed.order, steps)
        if self._fill_market_order(state, placed, steps):
            return
        quotes = self.quotes_for(state, placed.order, steps)
        request = placed.request
        with suppress(Refused):  # the refusal is an order event, which the strategy receives as any other
            items = tuple([leg.item(state.code) for leg in request.legs])
            self._run_action(request.action, OrderAction(request.action, items))
        self.withdraw(quotes)

    def _modify(self, state: SymbolState, placed: OrderHandle, changed: Order) -> None:
        """Change an open order on the core. One that takes at its new price finds the house's quotes."""
        kind = ActionType.REPLACE.value
        item = replace(changed, cl_ord_id=placed.cl_ord_id).item(state.code)
        quotes = self.quotes_for(state, changed, whole_units(changed.quantity, *state.product.step_scale))
        try:
            self._run_action(kind, OrderAction(kind, (item,)))
            # The handle changes with the event of the replacement, which is when a strategy would know of it live.
            self._changed.setdefault(placed.cl_ord_id, []).append(changed)
        except Refused as refusal:
            self.refuse_change((placed, changed, refusal.reason))
        self.withdraw(quotes)

    def refuse_change(self, refusal: tuple[OrderHandle, Order, str]) -> None:
        """Send the refusal of a change to the strategy.

        Parameters
        ----------
        refusal : tuple
            Handle of the order, the order as it should have become, and why it was refused.
        """
        self.deliver_refusal(*refusal)

    def deliver_refusal(self, placed: OrderHandle, changed: Order, reason: str) -> None:
        """Note that the change of an order was refused, which leaves the order unchanged.

        Parameters
        ----------
        placed : OrderHandle
            Handle of the order.
        changed : Order
            The order as it should have become.
        reason : str
            Why it was refused.
        """
        if not self.ctx._refused(placed, reason):
            self.note("REJECTED", str(changed.symbol), f"{changed.describe()}: {reason}")

    def show_price(self, state: SymbolState, on_way: bool) -> None:
        before = self._last_number
        self.ctx.now = self.now
        self.ctx._watch(state.symbol, float(state.product.tick_size * state.price))
        sent = [arrival for arrival in self.arrivals if arrival.number > before and arrival.time <= self.now]
        # Only these: what the strategy has sent arrives with the next price of the path.
        for arrival in sorted(sent) if on_way else ():
            self.arrivals.remove(arrival)
            heapify(self.arrivals)
            self.stale = True
            self.process_request(arrival.state, arrival.kind, arrival.payload)

    # Second form: a market order trades at the house's quote
    def _fill_market_order(self, state: SymbolState, placed: OrderHandle, steps: int) -> bool:
        """Fill a market order that certainly passes every rule, False when the core must judge it.

        The house trades any quantity, so its own side of a trade, the book and the public record decide nothing. They
        are left out. The venue's own rules settle the account's side.
        """
        core, account, product, order = self.core, self.account, state.product, placed.order
        special = order.price, order.trigger_price, order.reduce_only, order.slippage, order.parent_ord_id
        if placed.request is not order or special != (None,) * 5 or order.tif not in ("IOC", "FOK"):
            return False
        # Orders of the account could be triggered, cut or uncovered by this one.
        if account.orders or state.volume_left is not None or core.state.liquidations:
            return False
        position, unit = account.positions[state.code], product.unit
        if position.mode == ISOLATED or order.side not in ("BUY", "SELL") or not 0 < steps <= product.max_steps:
            return False
        side, market = (1 if order.side == "BUY" else -1), state.market
        price = self.taker_price(state, side, steps)
        bound = slippage_bound(product, side, market.last, 0)
        reserved = max(bound, market.mark) * steps * unit
        if state.price * steps * unit < product.min_value or (bound - price) * side < 0:
            return False
        mark, table = market.mark, core.risk_index.tables[state.code]
        reach = reserved + (position.long.size + position.short.size) * mark * unit
        if reach > table.max_notional or position.leverage > table.leverage_limit(reach):
            return False
        # Every part is rounded against the order. The core then judges exactly those that fail here.
        rate = max(table.taker_rate, table.maker_rate, account.taker_rate or 0, account.maker_rate or 0)
        cost = price * steps * unit * rate // RATE + max(0, side * (price - mark)) * steps * unit + 1
        sure = self._surely_has_margin(cost + required(reach, position.leverage))
        if not (sure or self._has_margin(position, side, cost, reach, reserved)):
            return False
        placed_order = VenueOrder(
            0, ADDRESS, state.code, side, False, MARKET, TimeInForce[order.tif], 0, 0, steps, steps,
            client_id=placed.cl_ord_id,
        )  # fmt: skip
        # The venue also refuses what would leave the account in debt after its fees. The core decides those cases.
        if not sure and solvency.bearable_steps(core, position, placed_order, steps, price, TAKER) < steps:
            return False
        core.open_step()
        core.step_hash = NO_HASH
        lifecycle.accept(core, account, position, placed_order)
        core.state.last_exec = exec_id = core.state.last_exec + 1
        market.last = price
        market.trades += 1
        placed_order.leaves = 0
        trade = PublicTrade(exec_id, core.state.time, state.code, side, price, steps, NO_HASH)
        matching.settle(core, account, position, placed_order, trade, TAKER)
        lifecycle.end(core, account, position, placed_order, FILLED)
        return True

    def _surely_has_margin(self, needed: int) -> bool:
        """Return whether the account has `needed` micro-USDC besides what its positions may come to need."""
        history = self.core.state.history.order_events
        if len(self.account.positions) == 1 or self._known_events != len(history.by_account.get(ADDRESS, ())):
            return False
        bounds = self.margin_bounds()
        return bounds is not None and bounds[0] >= bounds[2] + needed

    def _has_margin(self, position: Position, side: int, cost: int, reach: int, reserved: int) -> bool:
        """Return whether a market order that costs `cost` has its margin, worth `reserved` at its worst price.

        Its position would at most be worth `reach`. Amounts are micro-USDC.
        """
        account, step_micro = self.account, account_margin.mark_step(self.core, position.product)
        if len(account.positions) == 1:
            # Enough for the whole of `reach` is enough, and quicker to see than what is needed to the cent.
            net = account_margin.unrealized(position, step_micro)
            if account.balance + net - cost >= required(reach, position.leverage):
                return True
        standing = account_margin.standing(account, position, step_micro)
        equity, initial, _ = account_margin.cross_margin(self.core, account)
        initial += standing.initial(side, reserved) - standing.initial()
        return equity - cost >= initial

    def _cancel(self, client_ids: list[int]) -> None:
        self.core.open_step()
        for client_id in client_ids:
            order = self.account.orders.get(self.account.client_ids.get(client_id, 0))
            if order is not None:
                lifecycle.cancel(self.core, self.account, order, "cancelled by its owner")

    def deliver_events(self) -> None:
        """Call the strategy for each new order event and funding payment of its account."""
        ctx, history = self.ctx, self.core.state.history
        ctx.now = self.now
        events, records = history.order_events.by_account.get(ADDRESS, ()), history.order_events.records
        # Counters, not iterators: a callback may act and so append events while this runs.
        # Counted before the callback: an order that it sends may itself deliver events.
        while (at := self._delivered_events) < len(events):
            self._delivered_events = at + 1
            self.deliver_order_event(records[events[at]])
        payments = history.funding_payments.by_account.get(ADDRESS, ())
        while self._delivered_payments < len(payments):
            paid = history.funding_payments.records[payments[self._delivered_payments]]
            self._delivered_payments += 1
            self.deliver_payment(paid)

    def deliver_payment(self, paid: FundingPayment) -> None:
        """Call the strategy for a funding payment.

        Parameters
        ----------
        paid : FundingPayment
            Payment of the account.
        """
        state = self.by_code[paid.product]
        size = state.step * paid.size * paid.side
        price, rate, payment = state.tick * state.price, paid.rate / RATE, paid.amount / MICRO
        self.strategy.on_funding(self.ctx, FundingFee(state.symbol, paid.time, size, price, rate, payment))

    def deliver_order_event(self, event: OrderEvent) -> None:
        """Update the handle of an order, and call the strategy for a fill or a rejection.

        Parameters
        ----------
        event : OrderEvent
            Order event of the account.
        """
        state, placed = self.by_code[event.product], self.placed.get(event.client_id)
        if placed is not None:
            # Replacements are answered in the order in which they were sent.
            if event.reason == "replaced" and self._changed.get(event.client_id):
                placed.order = self._changed[event.client_id].pop(0)
            placed.order_id = event.order_id
            placed.state = STATUS_NAMES[event.status]
            if TRIED_AGAIN in event.reason and TRIED_AGAIN not in placed.reason:
                self.note("UNTRIGGERED", state.symbol, f"{placed.order.describe()}: {event.reason}")
            # A later event without a reason must not erase the one that says why.
            placed.reason = event.reason or placed.reason
            if placed.done:
                self.open_handles.pop(event.client_id, None)
        if event.exec_id:
            self.fees_micro += event.open_fee + event.close_fee + event.builder_fee
            if placed is not None:
                placed.filled += event.fill_quantity * state.step
            forced = event.type in (LIQUIDATION, ADL)
            # Most strategies don't read fills, and a sweep of many runs would spend its time building them.
            if self._wants_fills or forced:
                fill = fill_of(event, state)
                if forced:
                    text = f"{fill.side} {fill.quantity:g} at {fill.price:g}, realised {fill.realized_pnl:,.2f}"
                    self.notes.append((event.time, fill.type, state.symbol, text))
                self.strategy.on_fill(self.ctx, fill)
        elif placed is not None and placed.state == "REJECTED" and not self.ctx._refused(placed, placed.reason):
            self.reject(placed, placed.reason)
        elif placed is not None and placed.state == "CANCELED":
            self.ctx._note_cut(placed)
            self.strategy.on_cancel(self.ctx, placed)
        if self.ctx._groups or self.watched:
            self.ctx._follow_fills()

    def reject(self, placed: OrderHandle, reason: str) -> OrderHandle:
        """Give an order the state REJECTED, note it, and call the strategy.

        Parameters
        ----------
        placed : OrderHandle
            Handle of the order.
        reason : str
            Why it was rejected.
        """
        placed.state, placed.reason = "REJECTED", reason
        self.note("REJECTED", str(placed.order.symbol), f"{placed.order.describe()}: {reason}")
        self.strategy.on_reject(self.ctx, placed)
        return placed

    def record_balances(self, closed: int) -> None:
        """Record cash and positions at a closing time if they have changed.

        Parameters
        ----------
        closed : int
            Closing time, Unix ms.
        """
        cash = self.account.balance
        held: list[int] = []
        for position in self.account.positions.values():  # one for each symbol, in their order
            long, short = position.long, position.short
            # Margin assigned to an isolated position is still the account's own money.
            cash += position.assigned
            held += (long.size - short.size, long.value - short.value)
        row = (cash, *held)
        if row != self._last_balances:
            self._last_balances = row
            self.balances.append((closed, *row))

    def run(self, loop: Callable[[], None]) -> None:
        """Run the strategy: `on_start`, the loop, `on_stop`. An error has strategy and time as a note.

        Parameters
        ----------
        loop : callable
            Function that drives the data through the broker.
        """
        ctx, strategy = self.ctx, self.strategy
        strategy.ctx = ctx
        try:
            strategy.on_start(ctx)
            if not ctx.stopped:
                loop()
            if ctx.stopped:
                self.note("STOP", "", ctx.stopped)
            self.apply_closes()
            self.core.advance(self.now)
            # Nothing arrives after the last price, so orders in flight are reported instead of filled at a price they
            # never saw.
            lost = len(self.arrivals) + sum(len(state.waiting) for state in self.states.values())
            if lost:
                text = f"{lost} orders or cancels were still in flight at the end and were dropped"
                self.note("UNDERWAY", "", text)
            strategy.on_stop(ctx)
        except Exception as error:
            error.add_note(f"in {strategy.name} at {ctx.time}")
            raise

    def release(self) -> None:
        """Drop the strategy and its context, which refer to the broker: without cycles a run is freed with its results.

        A sweep would otherwise leave all its runs to the garbage collector.
        """
        del self.ctx, self.strategy

    def note(self, kind: str, symbol: str, text: str) -> None:
        """Add a row to `Results.events`.

        Parameters
        ----------
        kind : str
            Kind of the event, such as "REJECTED".
        symbol : str
            Product symbol, "" for the whole run.
        text : str
            What happened.
        """
        self.notes.append((self.now, kind, symbol, text))

    def book(self, state: SymbolState, depth: int) -> BookSnapshot:
        """Raise InputError: bars have no book.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        depth : int
            Levels of each side.
        """
        raise InputError("bars have no book. Give the backtest Events of toolkit.research.data", field="book")

    def modelled_book(self, state: SymbolState) -> BookSnapshot:
        """Return the modelled quotes of the current price.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        """
        self.apply_closes()
        half = self.liquidity.half_spread(state.price)
        quantity = float("inf") if state.volume_left is None else state.volume_left * state.step
        bid, ask = (state.price - half) * state.tick, (state.price + half) * state.tick
        return BookSnapshot(state.symbol, self.now, ((bid, quantity),), ((ask, quantity),))

    def history(self, state: SymbolState) -> BarHistory:
        """Return the bars up to now.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        """
        return state.history

    def price(self, state: SymbolState) -> float:
        """Return the last known price, USDC, NaN before the first.

        Parameters
        ----------
        state : SymbolState
            State of the symbol.
        """
        self.apply_close(state)
        return float(state.product.tick_size * state.price) if state.price else float("nan")

    def position_steps(self, code: int) -> int:
        """Return the signed position in steps, as the strategy knows it.

        Parameters
        ----------
        code : int
            Product code.
        """
        position = self.account.positions[code]
        return position.long.size - position.short.size


def _market_steps(order: Order, steps: int) -> int:
    """Return the signed steps of a market order that trades on arrival, 0 for any other."""
    # Only what trades on arrival is underway. A resting order may never be filled, and a trigger may never be reached.
    if order.price is not None or order.trigger_price is not None or steps <= 0:
        return 0
    return steps if order.side == "BUY" else -steps


def fill_of(event: OrderEvent, state: SymbolState) -> Fill:
    """Return a fill as strategies and results show it.

    Parameters
    ----------
    event : OrderEvent
        Order event with an execution.
    state : SymbolState
        State of the symbol.
    """
    product = state.product
    return Fill(
        state.symbol,
        event.time,
        "BUY" if event.side > 0 else "SELL",
        float(product.tick_size * event.fill_price),
        float(product.step_size * event.fill_quantity),
        event.fill_price * event.fill_quantity * product.unit / MICRO,
        (event.open_fee + event.close_fee) / MICRO,
        event.pnl / MICRO,
        "MAKER" if event.role == MAKER else "TAKER",
        OrderType(event.type).name,
        event.order_id,
        event.client_id,
    )
