"""The context of a backtest: what a strategy sees of the simulated broker, and acts through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...orders import Bracket, Order
from ...products import MICRO, Amount, Product
from ...venue.model.constants import RATE
from ...venue.risk import account_margin
from ..account_data import FundingRates, OrderHandle
from ..context import Context, ratio_of, whole_steps
from ..market_data import BarHistory, BookSnapshot
from .broker import SimulatedBroker

if TYPE_CHECKING:
    import pandas as pd


class BacktestContext(Context):
    """The context of a backtest.

    Parameters
    ----------
    broker : SimulatedBroker
        Broker that it acts on.
    interval : int
        Length of the longest bars, ms, 0 without bars.
    """

    mode = "backtest"

    def __init__(self, broker: SimulatedBroker, interval: int) -> None:
        super().__init__(list(broker.states), interval)
        self._broker = broker
        self.now = broker.now
        broker.ctx, broker.watched = self, self._clients

    def _place_new(
        self, symbol: str, side: str, quantity: Amount, price: Amount | None, options: dict[str, Any]
    ) -> OrderHandle:
        # The order gets its id as it is built. A changed copy of it would check all fields a second time.
        if options.get("cl_ord_id") is None:
            options["cl_ord_id"] = self._broker.next_client_id()
        return super()._place_new(symbol, side, quantity, price, options)

    def _note(self, kind: str, symbol: str, text: str) -> None:
        self._broker.note(kind, symbol, text)

    def _keep(self) -> None:
        self._broker.update_wake_prices()  # a client-side order may wait for other prices now

    def _reject(self, placed: OrderHandle, reason: str) -> OrderHandle:
        return self._broker.reject(placed, reason)

    def target(
        self, symbol: str, quantity: Amount, price: Amount | None = None, **options: object
    ) -> OrderHandle | None:
        if price is not None or options:
            return super().target(symbol, quantity, price, **options)
        # The common case skips the general order builder: this is the hot path of a backtest.
        broker = self._broker
        state = broker.state_of(symbol)
        held = broker.position_steps(state.code) + state.in_flight_steps
        missing = whole_steps(quantity, state.step) - held
        if not missing:
            return None if held else self._reject_below_step(state.symbol, quantity, state.step)
        return broker.submit_market(state, missing)

    def place(self, order: Order | Bracket) -> OrderHandle:
        """Send an order. It arrives after the latency.

        Parameters
        ----------
        order : Order or Bracket
            Order or bracket.
        """
        return self._broker.submit(order)

    def cancel(self, placed: OrderHandle) -> None:
        """Send the cancel of an order, which arrives after the latency. Nothing is sent if it is in a final state.

        Parameters
        ----------
        placed : OrderHandle
            Handle of the order, as the context returned it.
        """
        if not placed.done:
            placed.asked = True
            self._broker.enqueue(self._broker.state_of(str(placed.order.symbol)), "cancel", placed.cl_ord_id)

    def _replace(self, placed: OrderHandle, changed: Order) -> None:
        self._broker.enqueue(self._broker.state_of(str(changed.symbol)), "modify", (placed, changed))

    def cancel_all(self, symbol: str | None = None) -> None:
        """Send the cancels of all open orders, which arrive after the latency.

        Parameters
        ----------
        symbol : str, optional
            Product whose orders are cancelled (default: all products of the run).
        """
        self._cancel_waiting(symbol)
        chosen = self._broker.states.values() if symbol is None else [self._broker.state_of(symbol)]
        for placed in self.orders():
            placed.asked |= symbol in (None, placed.order.symbol)
        for state in chosen:
            self._broker.enqueue(state, "cancel_all", state.code)

    def set_leverage(self, symbol: str, leverage: Amount) -> None:
        """Set a leverage immediately.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        leverage : str, int, float or Decimal
            Notional over margin, from 1 on.
        """
        self._broker.set_leverage(self._broker.state_of(symbol), leverage)

    def product(self, symbol: str) -> Product:
        return self._broker.state_of(symbol).product

    def position(self, symbol: str) -> float:
        state = self._broker.state_of(symbol)
        return self._broker.position_steps(state.code) * state.step

    def underway(self, symbol: str) -> float:
        """Return the signed quantity of market orders that have not arrived, base units.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        """
        state = self._broker.state_of(symbol)
        return state.in_flight_steps * state.step

    def price(self, symbol: str) -> float:
        """Return the last known price, USDC, on events the mid of the book as received.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        """
        return self._broker.price(self._broker.state_of(symbol))

    def book(self, symbol: str | None = None, depth: int = 1) -> BookSnapshot:
        """Return the book of a run on events, as the strategy has received it.

        Parameters
        ----------
        symbol : str, optional
            Product symbol (default: the first of the run).
        depth : int, optional
            Levels of each side (default: 1).

        Raises
        ------
        InputError
            In a backtest on bars, which have no book.
        """
        return self._broker.book(self._broker.state_of(symbol or self.symbols[0]), depth)

    def _history(self, symbol: str) -> BarHistory:
        return self._broker.history(self._broker.state_of(symbol))

    @property
    def _wallet(self) -> account_margin.WalletFigures:
        self._broker.apply_closes()
        return account_margin.wallet(self._broker.core, self._broker.account)

    @property
    def equity(self) -> float:
        return self._wallet.equity / MICRO

    @property
    def balance(self) -> float:
        account = self._broker.account
        return (account.balance + sum(position.assigned for position in account.positions.values())) / MICRO

    def positions(self) -> pd.DataFrame:
        import pandas as pd

        broker, rows = self._broker, {}
        for state in broker.states.values():
            if steps := broker.position_steps(state.code):
                price, position = broker.price(state), broker.account.positions[state.code]
                entry_micro = position.long.value - position.short.value
                value_micro = steps * state.price * state.product.unit
                quantity, unrealized_micro = steps * state.step, value_micro - entry_micro
                values = entry_micro / MICRO / quantity, price, unrealized_micro / MICRO, value_micro / MICRO
                rows[state.symbol] = quantity, *values
        columns = ["quantity", "entry_price", "price", "unrealized", "notional"]
        table = pd.DataFrame.from_dict(rows, orient="index", columns=columns).astype("float64")
        return table.rename_axis("symbol")

    def orders(self) -> list[OrderHandle]:
        return list(self._broker.open_handles.values())

    def funding(self, symbol: str) -> FundingRates:
        """Return the backtest's funding rates. A Series predicts its last rate. `next_time` is 0 when none is left.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".

        Raises
        ------
        InputError
            If the run has no rates, but the interest alone or no funding.
        """
        state, given = self._broker.state_of(symbol), self._broker.funding
        given = given.get(state.symbol) if isinstance(given, Mapping) else given
        if given is None or (isinstance(given, str) and given == "interest"):
            what = "no funding" if given is None else "the interest as a constant rate"
            text = f"there are no funding rates of {state.symbol}: this run settles {what}"
            advice = "Give data=session.history(…), or funding= with rates or a number"
            raise InputError(f"{text}. {advice}", field="funding", rule="rates", value=str(given))
        rate, interval_ms = state.market.funding_rate / RATE, state.product.funding_interval * 1000
        # A constant rate never ends, so the next settlement is known without a schedule.
        if state.code in self._broker.predicted:
            following = self.now // interval_ms * interval_ms + interval_ms
            return FundingRates(rate, self._broker.predicted[state.code], following)
        due = next((item.time for item in reversed(self._broker.settlements) if item.code == state.code), 0)
        return FundingRates(rate, rate, due)

    @property
    def fees(self) -> float:
        return self._broker.fees_micro / MICRO

    @property
    def margin_ratio(self) -> float:
        figures = self._wallet
        return ratio_of(figures.maintenance, figures.equity)

    def liquidation_price(self, symbol: str) -> float:
        self._broker.apply_closes()
        code = self._broker.state_of(symbol).code
        price = account_margin.liquidation_price(self._broker.core, self._broker.account, code)
        # A price of 0 or below is never reached: such a position can't be liquidated.
        return float("nan") if price is None or price <= 0 else float(price)
