"""What a strategy acts through: the same calls in a backtest, on the local venue and live."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..products import Amount, Product
from .account_data import OrderHandle
from .market_data import BarHistory

if TYPE_CHECKING:
    import pandas as pd

    from ..orders import Bracket, Order


class Context(ABC):
    """What a strategy reads and acts through: the calls of a session, the same in every kind of run.

    Attributes: `symbols` (of the run), `now` (Unix ms), `interval` (length of a bar, ms), `mode` ("backtest", "paper"
    or "live"), `records` (what `record` kept: (Unix ms, values)), `stopped` (the reason given to `stop`, else "").
    """

    mode: str = ""

    def __init__(self, symbols: Sequence[str], interval: int) -> None:
        self.symbols = tuple(symbols)
        self.interval = interval
        self.now = 0
        self.records: list[tuple[int, dict[str, float]]] = []
        self.stopped = ""

    def buy(self, symbol: str, quantity: Amount, price: Amount | None = None, **options: Any) -> OrderHandle:
        """Buy at `price`, or at market without one. Options as in `toolkit.orders.order` (tif, reduce_only, tp, sl …).

        Never raises for a business reason: a refused order has the state REJECTED and its reason, at once or once the
        venue has answered, and `on_reject` is called.
        """
        return self._place_new(symbol, "BUY", quantity, price, options)

    def sell(self, symbol: str, quantity: Amount, price: Amount | None = None, **options: Any) -> OrderHandle:
        """Sell; as `buy`."""
        return self._place_new(symbol, "SELL", quantity, price, options)

    def _place_new(
        self, symbol: str, side: str, quantity: Amount, price: Amount | None, options: dict[str, Any]
    ) -> OrderHandle:
        from ..orders import order

        return self.place(order(symbol, side, quantity, price, **options))

    def target(self, symbol: str, quantity: Amount, price: Amount | None = None, **options: Any) -> OrderHandle | None:
        """Bring the position to a signed quantity with one order; None when position and `underway` add up to it.

        A target is rounded to the nearest step. One that rounds to nothing is rejected, as an order below one step is.
        """
        product = self.product(symbol)
        step = float(product.step_size)
        expected = round((self.position(symbol) + self.underway(symbol)) / step)
        missing = whole_steps(quantity, step) - expected
        if not missing:
            return None if expected else self._reject_below_step(symbol, quantity, step)
        amount = product.quantity_text(abs(missing))
        return self._place_new(symbol, "BUY" if missing > 0 else "SELL", amount, price, options)

    def _reject_below_step(self, symbol: str, quantity: Amount, step: float) -> OrderHandle | None:
        """Reject a target that is nothing in whole steps; None for a target of 0."""
        size = float(quantity)
        if not size:
            return None
        from ..orders import Order

        text = f"{abs(size):.8f}".rstrip("0")
        placed = OrderHandle(Order(symbol, "BUY" if size > 0 else "SELL", text, tif="IOC"), 0)
        reason = f"a target of {text} {symbol} is less than half a step of {step:g}; the smallest is {step:g}"
        return self._reject(placed, reason)

    @abstractmethod
    def _reject(self, placed: OrderHandle, reason: str) -> OrderHandle:
        """Give an order the state REJECTED without sending it, note it, and call `on_reject`."""

    @abstractmethod
    def place(self, order: Order | Bracket) -> OrderHandle:
        """Place an order made with `toolkit.orders`."""

    @abstractmethod
    def cancel(self, placed: OrderHandle) -> None:
        """Cancel an order; does nothing when it is in a final state."""

    @abstractmethod
    def cancel_all(self, symbol: str | None = None) -> None:
        """Cancel all open orders of a symbol, or of all symbols; untriggered ones too."""

    def close_position(self, symbol: str) -> OrderHandle | None:
        """Close a position at market, reduce-only; None when there is none."""
        size = self.position(symbol)
        if not size:
            return None
        product = self.product(symbol)
        amount = product.quantity_text(abs(round(size / float(product.step_size))))
        return self._place_new(symbol, "SELL" if size > 0 else "BUY", amount, None, {"reduce_only": True})

    @abstractmethod
    def set_leverage(self, symbol: str, leverage: Amount) -> None:
        """Set the leverage of a symbol. Raises InputError or ActionRejected when the venue does not allow it."""

    @abstractmethod
    def product(self, symbol: str) -> Product:
        """Return the product: steps, limits, rounding. Raises UnknownProduct."""

    @abstractmethod
    def position(self, symbol: str) -> float:
        """Return the signed position, base units."""

    @abstractmethod
    def underway(self, symbol: str) -> float:
        """Return the signed quantity of market orders sent but not yet answered, base units."""

    @abstractmethod
    def price(self, symbol: str) -> float:
        """Return the last known price; NaN before the first."""

    @property
    @abstractmethod
    def equity(self) -> float:
        """Balance plus unrealised PnL, USDC."""

    @property
    @abstractmethod
    def balance(self) -> float:
        """Cash, USDC."""

    @abstractmethod
    def positions(self) -> pd.DataFrame:
        """Return open positions: index symbol; float64 quantity, entry_price, price, unrealized, notional."""

    @abstractmethod
    def orders(self) -> list[OrderHandle]:
        """Return the strategy's orders that are not in a final state, oldest first."""

    @abstractmethod
    def bars(self, symbol: str | None = None) -> BarHistory:
        """Return the bars up to now of `symbol` (default: the first one)."""

    @property
    def time(self) -> pd.Timestamp:
        """Current time, UTC."""
        import pandas as pd

        return pd.Timestamp(self.now, unit="ms", tz="UTC")

    def record(self, **values: float) -> None:
        """Keep values under the current time; `results.records` holds them."""
        self.records.append((self.now, values))

    def stop(self, reason: str = "the strategy asked") -> None:
        """End the run after the current callback: nothing more is sent, `on_stop` is called."""
        self.stopped = reason


def whole_steps(quantity: Amount, step: float) -> int:
    """Return a target in steps, rounded to the nearest. Raises InputError unless it is a finite number."""
    try:
        return round(float(quantity) / step)
    except (ValueError, TypeError, OverflowError):
        raise InputError(
            f"a target of {quantity!r} is not a quantity; give a finite number, such as '0.1' or '-0.1'",
            field="quantity",
            value=str(quantity),
        ) from None
