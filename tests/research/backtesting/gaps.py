"""A stop through a gap, on the venue and in a backtest (`python -m tests.research.backtesting.gaps` prints them)."""

from __future__ import annotations

from typing import NamedTuple

from tests.research.markets import Scripted, bars, flat
from tests.venue.floor import ADA, item
from toolkit.orders import Order
from toolkit.research.backtesting.driver import backtest
from toolkit.research.context import Context
from toolkit.venue.engine.commands import Advance, Control, Submit
from toolkit.venue.engine.core import Core
from toolkit.venue.model.genesis import Genesis
from toolkit.venue.risk import ledger

FALLS = (0.031, 0.06, 0.13)
SEEDS = range(12)
BTC = "BTCUSDC"


class Gap(NamedTuple):
    """Prices in USDC, None = the position is still open; `tries` that found nothing."""

    seed: int
    fall: float
    before: float
    after: float
    venue: float | None
    backtest: float | None
    tries: int


def through(seed: int, fall: float) -> Gap:
    """Return what becomes of a long of 0.1 BTC with a stop 1 % below when the index falls at once."""
    core = Core(Genesis(seed=seed, settings={"market": True}))
    account, product = core.account(ADA), core.products[1]
    ledger.deposit(core, account, 10**12)
    core.apply(Advance(core.state.time + 60_000))
    before = core.state.markets[1].oracle
    stop, after = product.price_text(before * 99 // 100), product.price_text(round(before * (1 - fall)))
    for number, action in enumerate((item("BUY 0.1"), item("SELL 0 SL when 1") | {"triggerPx": stop})):
        answer = core.apply(Submit(core.state.time, {"type": "placeOrder", "orders": [action]}, ADA, number))
        assert answer.code == 0, answer.message
    events = len(core.state.history.order_events.records)
    core.apply(Control(core.state.time, "set_oracle", {"product": 1, "price": after}))
    core.apply(Advance(core.state.time + 60_000))
    core.check()
    fill = core.state.history.fills_of(ADA)[-1]
    closed = not account.positions[1].long.size and fill.side < 0
    tries = [
        each for each in core.state.history.order_events.records[events:] if each.address == ADA and not each.exec_id
    ]
    tick = float(product.tick_size)
    return Gap(
        seed,
        fall,
        before * tick,
        float(after),
        fill.fill_price * tick if closed else None,
        _in_backtest(before * tick, float(after), stop),
        len(tries) - 1,
    )


def _in_backtest(before: float, after: float, stop: str) -> float | None:
    """Return where the same stop fills in a backtest whose bars jump from one price to the other."""

    def enter(ctx: Context) -> None:
        ctx.buy(BTC, "0.1")
        ctx.place(Order(BTC, "SELL", "0", tif="IOC", reduce_only="SL_FROM_POSITION", trigger_price=stop))

    data = bars(*flat(before, 3), *flat(after, 3))
    result = backtest(Scripted({1: enter}), {BTC: data}, funding=None, capital=100_000)
    return float(result.fills["price"].iloc[-1]) if not result.positions[BTC].iloc[-1] else None


def table(gaps: list[Gap]) -> str:
    """Return the fills side by side, one line for each gap."""
    lines = ["seed   fall    before     after     venue  backtest  venue/after−1  tries"]
    for gap in gaps:
        venue, tested = (f"{price:9.1f}" if price else "     open" for price in (gap.venue, gap.backtest))
        off = f"{(gap.venue / gap.after - 1) * 100:+12.3f} %" if gap.venue else " " * 14
        lines.append(
            f"{gap.seed:4}{gap.fall:7.1%}{gap.before:10.1f}{gap.after:10.1f} {venue} {tested} {off}{gap.tries:7}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table([through(seed, fall) for fall in FALLS for seed in SEEDS]))
