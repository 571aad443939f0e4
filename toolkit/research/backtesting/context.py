"""The context of a backtest: what a strategy sees of the desk, and acts through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ...orders import Order
from ...products import MICRO, Amount, Product
from ...venue.risk import account_margin
from ..strategy import BarHistory, Context, Placed, whole_steps
from .broker import SimulatedBroker

if TYPE_CHECKING:
    import pandas as pd


class DeskContext(Context):
    """The context of a backtest."""

    mode = "backtest"

    def __init__(self, desk: SimulatedBroker, interval: int) -> None:
        super().__init__(list(desk.lines), interval)
        self._desk = desk
        self.now = desk.now
        desk.ctx = self

    def _make(self, symbol: str, side: str, quantity: Amount, price: Amount | None, options: dict[str, Any]) -> Placed:
        if options.get("cl_ord_id") is None:
            options["cl_ord_id"] = self._desk.next_id()
        return super()._make(symbol, side, quantity, price, options)

    def target(self, symbol: str, quantity: Amount, price: Amount | None = None, **options: Any) -> Placed | None:
        """Bring the position to a signed quantity with one order; None when it is there (orders under way count)."""
        if price is not None or options:
            return super().target(symbol, quantity, price, **options)
        desk = self._desk
        line = desk.line(symbol)
        position = desk.account.positions[line.code]
        missing = whole_steps(quantity, line.step) - position.long.size + position.short.size - line.underway
        if not missing:
            return None
        side: Literal["BUY", "SELL"] = "BUY" if missing > 0 else "SELL"
        steps = abs(missing)
        order = Order(line.symbol, side, line.text(steps), tif="IOC", cl_ord_id=desk.next_id())
        return desk.dispatch(line, order, steps)

    def place(self, order: Order) -> Placed:
        """Send an order; it arrives after the latency."""
        return self._desk.send(order)

    def cancel(self, placed: Placed) -> None:
        """Send a cancel; it arrives after the latency."""
        if not placed.done:
            self._desk.push(self._desk.line(str(placed.order.symbol)), "cancel", placed.cl_ord_id)

    def cancel_all(self, symbol: str | None = None) -> None:
        """Send a cancel of all orders of a symbol, or of all."""
        lines = [self._desk.line(symbol)] if symbol is not None else list(self._desk.lines.values())
        for line in lines:
            self._desk.push(line, "cancel_all", line.code)

    def set_leverage(self, symbol: str, leverage: Amount) -> None:
        """Set a leverage at once."""
        self._desk.set_leverage(self._desk.line(symbol), leverage)

    def product(self, symbol: str) -> Product:
        """Return the product of a symbol of this run."""
        return self._desk.line(symbol).product

    def position(self, symbol: str) -> float:
        """Return the signed position, base units."""
        line = self._desk.line(symbol)
        position = self._desk.account.positions[line.code]
        return (position.long.size - position.short.size) * line.step

    def underway(self, symbol: str) -> float:
        """Return the signed quantity of market orders that have not arrived."""
        line = self._desk.line(symbol)
        return line.underway * line.step

    def price(self, symbol: str) -> float:
        """Return the last known price."""
        self._desk.freshen()
        line = self._desk.line(symbol)
        return float(line.product.tick_size * line.price) if line.price else float("nan")

    @property
    def equity(self) -> float:
        """Cash and unrealised PnL at the last known prices, USDC."""
        self._desk.mark_all()
        return account_margin.wallet(self._desk.core, self._desk.account).equity / MICRO

    @property
    def balance(self) -> float:
        """Cash, isolated margins included, USDC."""
        account = self._desk.account
        return (account.balance + sum(p.assigned for p in account.positions.values())) / MICRO

    def positions(self) -> pd.DataFrame:
        """Return the open positions."""
        import pandas as pd

        self._desk.freshen()
        rows = {}
        for line in self._desk.lines.values():
            position = self._desk.account.positions[line.code]
            size = position.long.size - position.short.size
            if not size:
                continue
            entry = position.long.value - position.short.value
            value = size * line.price * line.product.unit
            quantity = size * float(line.product.step_size)
            entry_price = entry / MICRO / quantity
            rows[line.symbol] = quantity, entry_price, self.price(line.symbol), (value - entry) / MICRO, value / MICRO
        columns = ["quantity", "entry_price", "price", "unrealized", "notional"]
        table = pd.DataFrame.from_dict(rows, orient="index", columns=columns).astype("float64")
        return table.rename_axis("symbol")

    def orders(self) -> list[Placed]:
        """Return the orders that have not ended."""
        return [placed for placed in self._desk.placed.values() if not placed.done]

    def bars(self, symbol: str | None = None) -> BarHistory:
        """Return the bars up to now."""
        return self._desk.line(symbol or self.symbols[0]).history
