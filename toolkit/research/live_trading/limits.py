"""The limits of a run, checked on what it knows: its orders and positions, its loss, and the age of its data."""

from __future__ import annotations

from ...errors import InputError, LimitReached, NotSent
from ...limits import Limits
from ...orders import Order
from .run_state import NAN, RunState, utc


def check_order(limits: Limits, state: RunState, order: Order) -> None:
    """Raise an error for an order that the run may not send.

    Parameters
    ----------
    limits : Limits
        Limits of the run.
    state : RunState
        State of the run's account.
    order : Order
        Order that is about to be sent, or a bracket's entry.

    Raises
    ------
    LimitReached
        For an order beyond a limit.
    NotSent
        For one that is beyond a limit only if the positions, which disagree with orders and fills, are right.
    InputError
        For an order of a symbol that is not in the run.
    """
    symbol = str(order.symbol)
    if symbol not in state.books:
        known = ", ".join(state.symbols)
        raise InputError(f"{symbol} is not in this run, which has {known}", field="symbol", value=symbol)
    if state.books[symbol].only_reduces(order):
        return
    # First, because it needs no query: a strategy in a loop must not spend the venue's rate limit.
    limits.check_rate(state.sent_ms, state.now())
    if state.placed and any(book.hedge is None for book in state.books.values()):
        state.read_mode()  # the venue shows it from the first order on
    limits.check_order(order, state.books, _resting(state), lambda name: _price(state, name, order))
    if not state.witnesses.book.agrees and not _is_within(limits, state, order):
        # The queries are a moment apart, so both are asked once more before the order is refused.
        state.read_orders()
        state.read_positions()
        if not _is_within(limits, state, order):
            text = (
                "the venue's positions show more than its orders and fills do, and with that a limit would be reached"
            )
            raise NotSent(f"{order.describe()}: not sent, {text}")


def _resting(state: RunState) -> dict[str, list[tuple[Order, float]]]:
    resting: dict[str, list[tuple[Order, float]]] = {name: [] for name in state.books}
    for each in state.placed:
        if not each.done:
            resting[str(each.order.symbol)].append((each.order, each.filled))
    return resting


def _is_within(limits: Limits, state: RunState, order: Order) -> bool:
    """Return whether an order passes if what the positions show beyond orders and fills is the run's."""
    try:
        possible = state.witnesses.book.possible()
        limits.check_order(order, possible, _resting(state), lambda name: _price(state, name, order))
    except LimitReached:
        return False
    return True


def _price(state: RunState, symbol: str, order: Order) -> float:
    """Return the last price of a symbol: known to the run, else the order's own, else the close of its last bar."""
    price = state.prices.get(symbol, NAN)
    # NaN is not equal to itself.
    if price == price:
        return price
    # The limit price of an order allows its check before any trade is known.
    if symbol == order.symbol and order.price:
        return float(order.price)
    now = state.now()
    table = state.session.klines(symbol, "1m", utc(now - 3_600_000), utc(now), progress=False)
    price = float(table["close"].iloc[-1]) if len(table) else NAN
    if price != price:
        text = f"{symbol} has no price, so {order.side} {order.symbol} can't be checked against max_notional"
        raise LimitReached(text, limit="max_notional")
    return price


def check_run(limits: Limits, state: RunState) -> None:
    """Raise LimitReached when the run has lost too much, or its data is too old.

    Parameters
    ----------
    limits : Limits
        Limits of the run.
    state : RunState
        State of the run's account.
    """
    # What the wallet alone shows, against fills, positions and transfers, may be wrong for a while. A day still begins.
    fall, of_day = state.first_equity - state.earned, state.equity_of_day() - state.earned
    if not state.witnesses.doubts_money(state.now()):
        limits.check_loss(fall, of_day)
    if message := stale(limits, state):
        raise LimitReached(message, limit="max_stale")


def stale(limits: Limits, state: RunState) -> str:
    """Return that the venue has not answered for too long, "" if it has.

    Parameters
    ----------
    limits : Limits
        Limits of the run.
    state : RunState
        State of the run's account.
    """
    # The venue's clock counts, because it stops while the venue is paused.
    without_answer = (state.now() - state.answered_ms) / 1000
    if limits.max_stale is None or without_answer <= limits.max_stale:
        return ""
    return f"no answer for {without_answer:,.0f} s, above the limit of {limits.max_stale:,.0f} s"
