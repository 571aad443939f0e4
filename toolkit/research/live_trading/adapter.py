"""What a strategy acts through in paper and live runs, and the venue's tables as strategies and results show them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...errors import ExchangeError, InputError, OutcomeUnknown, TransportError
from ...orders import Order
from ...products import Amount, Product
from ..strategy import BarHistory, Context, Fill, FundingPayment, OrderHandle

if TYPE_CHECKING:
    from .runner import Runner


class SessionContext(Context):
    """The context of paper and live runs: an adapter over a session."""

    def __init__(self, runner: Runner) -> None:
        super().__init__(runner.symbols, runner.interval)
        self._runner = runner
        self.prices: dict[str, float] = {}
        self.history = {symbol: BarHistory(symbol) for symbol in runner.symbols}

    @property
    def mode(self) -> str:  # type: ignore[override]
        """ "paper" or "live"."""
        return self._runner.mode

    def place(self, order: Order) -> OrderHandle:
        """Send an order, within the limits."""
        return self._runner.send(order)

    def cancel(self, placed: OrderHandle) -> None:
        """Cancel an order; nothing happens when it has ended."""
        if placed.done or not placed.cl_ord_id or self._runner.dry_run:
            return
        names = (placed.order_id, None) if placed.order_id else (None, placed.cl_ord_id)
        try:
            self._runner.session.cancel(names[0], symbol=placed.order.symbol, cl_ord_id=names[1])
        except ExchangeError as refused:
            placed.reason = str(refused)
        except (TransportError, OutcomeUnknown) as failure:
            return self._runner.undecided(str(placed.order.symbol), failure)
        self._runner.refresh()

    def cancel_all(self, symbol: str | None = None) -> None:
        """Cancel all open orders of a symbol of this run, or of all its symbols."""
        if self._runner.dry_run:
            return
        for name in self.symbols if symbol is None else (symbol,):
            try:
                self._runner.session.cancel_all(name)
            except (TransportError, OutcomeUnknown) as failure:
                return self._runner.undecided(name, failure)
        self._runner.refresh()

    def set_leverage(self, symbol: str, leverage: Amount) -> None:
        """Set a leverage at the venue."""
        if not self._runner.dry_run:
            self._runner.session.set_leverage(symbol, leverage)

    def product(self, symbol: str) -> Product:
        """Return the product of a symbol."""
        return self._runner.products.get(symbol) or self._runner.session.product(symbol)

    def position(self, symbol: str) -> float:
        """Return the signed position, base units, from all fills known so far."""
        return self._runner.sizes[symbol] * float(self.product(symbol).step_size)

    def underway(self, symbol: str) -> float:
        """Return the signed quantity of market orders that have neither ended nor been filled."""
        total = 0.0
        for placed in self._runner.placed:
            order = placed.order
            if order.symbol == symbol and order.is_market and order.trigger_price is None and not placed.done:
                total += (float(order.quantity) - placed.filled) * (1 if order.side.startswith("BUY") else -1)
        return total

    def price(self, symbol: str) -> float:
        """Return the last known price."""
        return self.prices.get(symbol, float("nan"))

    @property
    def equity(self) -> float:
        """Equity when the wallet was asked last, USDC."""
        return self._runner.wallet[0]

    @property
    def balance(self) -> float:
        """Balance when the wallet was asked last, USDC."""
        return self._runner.wallet[1]

    def positions(self) -> pd.DataFrame:
        """Return the open positions, as the venue says now."""
        table = self._runner.session.positions()
        sign = table["side"].map({"LONG": 1.0, "SHORT": -1.0}).astype("float64")
        columns = {
            "quantity": table["size"] * sign,
            "entry_price": table["entry_price"],
            "price": table["mark_price"],
            "unrealized": table["unrealized_pnl"],
            "notional": table["notional"].abs() * sign,
        }
        shown = pd.DataFrame(columns).set_axis(pd.Index(table["symbol"].astype(str), name="symbol"))
        return shown[shown.index.isin(self.symbols)]

    def orders(self) -> list[OrderHandle]:
        """Return the orders of this run that have not ended."""
        return [placed for placed in self._runner.placed if not placed.done]

    def bars(self, symbol: str | None = None) -> BarHistory:
        """Return the bars up to now."""
        return self.history[symbol or self.symbols[0]]


def rows_of(table: pd.DataFrame) -> Iterator[Any]:
    """Return the rows of a frame, with columns as attributes."""
    return iter(table.itertuples())


def whole(value: Any) -> int:
    """Return an id, 0 where there is none."""
    return 0 if pd.isna(value) else int(value)


def span_ms(span: str | pd.Timedelta) -> int:
    """Return a length of time in ms: "1m" (minutes), "4h", "1D" or a Timedelta. Raises InputError unless positive."""
    text = f"1{span}" if isinstance(span, str) and span[:1].isalpha() else span
    if isinstance(text, str) and text.endswith("m"):
        text += "in"
    found = int(pd.Timedelta(text) / pd.Timedelta(1, unit="ms"))
    if found <= 0:
        raise InputError(f"{span!r} is no length of time", field="interval", rule="positive", value=str(span))
    return found


def utc(ms: int) -> pd.Timestamp:
    """Return Unix ms as a UTC time."""
    return pd.Timestamp(ms, unit="ms", tz="UTC")


def stamp(time: Any) -> int:
    """Return a time as Unix ms."""
    return int(pd.Timestamp(time).timestamp() * 1000)


def fill_of(row: Any, buys: bool) -> Fill:
    """Return a row of session.fills() as a Fill."""
    return Fill(
        str(row.symbol),
        stamp(row.time),
        "BUY" if buys else "SELL",
        float(row.price),
        float(row.quantity),
        float(row.value),
        float(row.fee),
        float(row.realized_pnl),
        str(row.role),
        str(row.type),
        int(row.order_id),
        whole(row.client_order_id),
    )


def funding_row(row: Any) -> tuple[Any, ...]:
    """Return a row of session.funding_payments() in the columns of FUNDING; the price is worked out from the amount."""
    size = float(row.size) * (1 if row.side in ("LONG", "BUY") else -1)
    rate, paid = float(row.funding_rate), float(row.amount)
    price = abs(paid / (size * rate)) if size and rate else float("nan")
    return stamp(row.time), str(row.symbol), size, price, rate, paid


def payment_of(row: Any, price: float) -> FundingPayment:
    """Return a row of session.funding_payments() as a FundingPayment."""
    time, symbol, size, known, rate, paid = funding_row(row)
    return FundingPayment(symbol, time, size, known if known == known else price, rate, paid)


def order_rows(table: pd.DataFrame, reasons: dict[int, str]) -> list[tuple[Any, ...]]:
    """Return session.orders() in the columns of ORDERS, oldest first."""
    rows = []
    for row in rows_of(table.sort_values("order_id")):
        price = float(row.price) or float("nan")
        rows.append(
            (
                stamp(row.created),
                str(row.symbol),
                int(row.order_id),
                str(row.side),
                str(row.type),
                str(row.tif),
                price,
                float(row.quantity),
                float(row.filled),
                str(row.status),
                reasons.get(int(row.order_id), ""),
            )
        )
    return rows


def records_of(ctx: Context) -> pd.DataFrame:
    """Return what a strategy recorded as a frame."""
    if not ctx.records:
        return pd.DataFrame()
    index = pd.to_datetime([time for time, _ in ctx.records], unit="ms", utc=True).as_unit("ms")
    table = pd.DataFrame([values for _, values in ctx.records], index=pd.DatetimeIndex(index, name="time"))
    return table.groupby(level=0).last()
