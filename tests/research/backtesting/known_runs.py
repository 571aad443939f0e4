"""Runs on bars of whole ticks, in which a strategy does everything it can, and the story that each of them tells.

All numbers come from whole ones and from `random.Random`, so that the same run tells the same story on every platform.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from toolkit import orders
from toolkit.errors import ActionRejected, InputError
from toolkit.research import Results, Strategy, backtest
from toolkit.research.account_data import Fill, FundingFee, OrderHandle
from toolkit.research.backtesting.models import BarLiquidity, FixedLatency, ImpactSlippage, RandomLatency
from toolkit.research.context import Context
from toolkit.research.data.bars import ExtremeOrder
from toolkit.research.market_data import Bar, BookSnapshot

BTC, AAA = "BTCUSDC", "AAA"
TOTALS = Path(__file__).with_suffix(".txt")
"""Totals of the stories, each below its case and seed."""


def whole_bars(
    seed: int, rows: int, start: int, every: str = "h", wild: int = 60, holes: float = 0.0, per: int = 10
) -> pd.DataFrame:
    """Return bars of whole ticks (`per` of them are 1 USDC) that move by up to about `wild` ten-thousandths each."""
    dice, made, close = random.Random(seed), [], start
    for _ in range(rows):
        span = close * wild // 10_000
        opened = close + dice.choice([0, 0, dice.randint(-span, span)])
        close = max(opened + dice.randint(-span, span) + dice.randint(-span, span), 10)
        high = max(opened, close) + dice.choice([0, dice.randint(0, span)])
        low = max(min(opened, close) - dice.choice([0, dice.randint(0, span)]), 5)
        made.append([opened / per, high / per, low / per, close / per, float(dice.randint(0, 40))])
    index = pd.date_range("2026-01-01", periods=rows, freq=every, tz="UTC")
    table = pd.DataFrame(made, columns=["open", "high", "low", "close", "volume"], index=index)
    return table[[dice.random() >= holes for _ in range(rows)]]


def shown(value: Any) -> str:
    """Return a value as a story writes it: floats with twelve digits."""
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, tuple | list):
        return "(" + " ".join(map(shown, value)) + ")"
    return str(value)


class Everything(Strategy):
    """Uses each order, callback and property of the context, at random, and writes down what it sees."""

    def __init__(self, seed: int, rate: float) -> None:
        self.random = random.Random(seed)
        self.rate = rate
        self.story: list[str] = []
        self.answers = 0

    def tell(self, *values: Any) -> None:
        self.story.append(" ".join(map(shown, values)))

    def on_start(self, ctx: Context) -> None:
        self.tell("start", *ctx.symbols, ctx.now, ctx.equity, ctx.balance, *(ctx.price(one) for one in ctx.symbols))

    def on_bar(self, ctx: Context, bar: Bar) -> None:
        for symbol in ctx.symbols:  # a history is read before its length
            self.tell("closes", symbol, *ctx.bars(symbol).close[-2:].tolist())
        self.tell("bar", bar.symbol, bar.time, bar.closed, bar.close, ctx.now, ctx.bars(bar.symbol).length)
        self.look(ctx, bar.symbol)
        if self.random.random() < self.rate:
            self.act(ctx, bar.symbol, bar.close)
        ctx.record(held=ctx.position(bar.symbol))

    def on_bars(self, ctx: Context, bars: Any) -> None:
        self.tell("bars", *(bar.closed for bar in bars.values()))

    def on_book(self, ctx: Context, book: BookSnapshot) -> None:
        self.tell("book", book.symbol, book.time, *book.bids, *book.asks)

    def on_fill(self, ctx: Context, fill: Fill) -> None:
        values = fill.time, fill.price, fill.quantity, fill.value, fill.fee, fill.realized_pnl, fill.order_id
        self.tell("fill", fill.symbol, fill.side, fill.role, fill.type, *values, ctx.now, ctx.fees)
        if self.answers < 30 and self.random.random() < 0.15:
            self.answers += 1
            self.act(ctx, fill.symbol, fill.price)

    def on_funding(self, ctx: Context, paid: FundingFee) -> None:
        self.tell("funding", paid.symbol, paid.time, paid.position, paid.price, paid.rate, paid.payment)

    def on_reject(self, ctx: Context, placed: OrderHandle) -> None:
        self.tell("reject", placed.state, placed.reason != "", placed.cl_ord_id)

    def on_stop(self, ctx: Context) -> None:
        self.tell("stop", ctx.now, ctx.equity, ctx.balance, ctx.fees, len(ctx.orders()))

    def look(self, ctx: Context, symbol: str) -> None:
        """Write down the account as the context shows it."""
        self.tell("account", ctx.equity, ctx.balance, ctx.fees, ctx.margin_ratio, ctx.liquidation_price(symbol))
        self.tell("symbol", ctx.position(symbol), ctx.underway(symbol), ctx.price(symbol), *ctx.legs(symbol))
        with suppress(InputError):  # of a run without rates
            rates = ctx.funding(symbol)
            self.tell("rates", rates.rate, rates.predicted, rates.next_time)
        for name, row in zip(ctx.positions().index, ctx.positions().itertuples(index=False), strict=True):
            self.tell("position", name, *row)
        for placed in ctx.orders():
            one = placed.order
            words = one.symbol, one.side, one.quantity, one.price, one.trigger_price, one.tif
            self.tell("order", *words, placed.state, placed.filled, placed.order_id, placed.cl_ord_id)

    def act(self, ctx: Context, symbol: str, price: float) -> None:
        """Do one of many things."""
        dice, product = self.random, ctx.product(symbol)
        size = dice.choice(["0.01", "0.05", "0.1", "0.2"]) if symbol == BTC else dice.choice(["5", "20", "75.5"])
        side = dice.choice([ctx.buy, ctx.sell])
        rising = side == ctx.buy

        def near(percent: float) -> Any:
            return product.round_price(round(price * (1 + percent / 100), 4), "nearest")

        limit = near(dice.randint(-20, 20) / 10)
        what = dice.randrange(17)
        self.tell("act", what, size, limit, "buy" if rising else "sell")
        try:
            if what <= 2:
                side(symbol, size)
            elif what == 3:
                side(symbol, size, limit)
            elif what == 4:
                side(symbol, size, limit, tif=dice.choice(["POST_ONLY", "IOC", "FOK"]))
            elif what == 5:
                side(symbol, size, tp=near(1.5 if rising else -1.5), sl=near(-1.5 if rising else 1.5))
            elif what == 6:
                side(symbol, size, limit, reduce_only=True)
            elif what == 7:
                ctx.close_position(symbol)
            elif what == 8:
                ctx.cancel_all(dice.choice([symbol, None]))
            elif what == 9 and ctx.orders():
                ctx.cancel(dice.choice(ctx.orders()))
            elif what == 10 and (open_ := [one for one in ctx.orders() if one.order.price is not None]):
                ctx.modify(dice.choice(open_), price=limit, quantity=dice.choice([None, size]))
            elif what == 11:
                ctx.target(symbol, size if rising else f"-{size}", limit if dice.random() < 0.3 else None)
            elif what == 12:
                ctx.target_share(symbol, dice.choice([-0.5, 0.0, 0.8]))
            elif what == 13 and ctx.position(symbol):
                ctx.trailing_stop(symbol, 0.01)
            elif what == 14:
                both = [ctx.buy(symbol, size, near(-0.8)), ctx.sell(symbol, size, near(0.8))]
                ctx.one_cancels_other(*both)
            elif what == 15:
                ctx.set_leverage(symbol, dice.choice([3, 10, 20, 200]))
            elif what == 16:
                trigger = near(dice.choice([-1.2, 1.2]))
                ctx.place(orders.stop(symbol, "BUY" if rising else "SELL", trigger, size))
        except ActionRejected as refusal:
            self.tell("refused", refusal.action)


def two(seed: int, rows: int = 70, **options: Any) -> dict[str, pd.DataFrame]:
    """Return bars of BTCUSDC and of a product that the venue does not list."""
    return {BTC: whole_bars(seed, rows, 600_000), AAA: whole_bars(seed + 50, rows, 2_000, per=100, **options)}


def rates(*values: float) -> pd.Series:
    return pd.Series(values, pd.date_range("2026-01-01 03:00", periods=len(values), freq="5h", tz="UTC"))


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "defaults": (lambda seed: two(seed), {}),
    "shares of the volume": (
        lambda seed: two(seed),
        {"liquidity": BarLiquidity(0.0004, 0.02), "latency": FixedLatency(1_200_000), "slippage": 0.0002},
    ),
    "touched, far first, late": (
        lambda seed: two(seed),
        {
            "liquidity": BarLiquidity(0.0001, None, True),
            "path": ExtremeOrder("far"),
            "latency": RandomLatency(0, 7_200_000),
            "slippage": ImpactSlippage(0.002),
        },
    ),
    "little money": (
        lambda seed: {BTC: whole_bars(seed, 140, 600_000, wild=300)},
        {"capital": "250.5", "leverage": 20, "path": ExtremeOrder("low")},
    ),
    "nearly no money": (
        lambda seed: {BTC: whole_bars(seed, 60, 600_000, wild=250)},
        {"capital": 130, "leverage": 40, "path": ExtremeOrder("high"), "fees": ("0", "0.0002")},
    ),
    "little money, two symbols": (lambda seed: two(seed, wild=500), {"capital": 700, "leverage": 20, "funding": 0.001}),
    "gaps, own fees and rates": (
        lambda seed: {
            BTC: whole_bars(seed, 80, 600_000, holes=0.2),
            AAA: whole_bars(seed + 9, 20, 2_000, "4h", per=100),
        },
        {
            "fees": ("-0.00005", "0.0004"),
            "funding": {BTC: rates(0.0003, -0.0002, 0.0001, 0.0, 0.0007, -0.0006), AAA: 0.0001},
            "warm_up": 8,
        },
    ),
    "own product, no funding": (
        lambda seed: two(seed),
        {
            "funding": None,
            "products": {AAA: {"tick_size": "0.05", "step_size": "0.5", "max_leverage": 8, "funding_interval": 3_600}},
            "leverage": 7,
            "path": ExtremeOrder("high"),
            "seed": 3,
        },
    ),
    "orders wait for a price": (
        lambda seed: {BTC: whole_bars(seed, 60, 600_000), AAA: whole_bars(seed, 60, 2_000, holes=0.5, per=100)},
        {"latency": FixedLatency(3_000_000), "liquidity": BarLiquidity(0.0, 0.5, True)},
    ),
}


def story_of(name: str, seed: int) -> tuple[list[str], Results]:
    """Return the story of a case and its results.

    The story is what the strategy saw and did, and then all rows of the results without texts.
    """
    made, options = CASES[name]
    told: list[Everything] = []

    class Kept(Everything):
        def on_start(self, ctx: Context) -> None:
            told.append(self)
            super().on_start(ctx)

    run = backtest(Kept(seed, 0.4), made(seed), **options)
    lines = list(told[0].story)
    for part in ("fills", "orders", "funding", "transfers", "events", "equity", "positions", "marks", "records"):
        table = getattr(run, part).drop(columns=["reason", "text"], errors="ignore").reset_index()
        lines += [f"{part} {shown(list(row))}" for row in table.itertuples(index=False, name=None)]
    measured = run.measures()
    exact = ("equity_start", "equity_end", "profit", "fills", "round_trips", "turnover", "time_in_market", "fees")
    lines.append(f"measures {shown([f'{measured[one]:.6g}' for one in (*exact, 'funding', 'leverage_max')])}")
    return lines, run


def totals_of(lines: Iterable[str]) -> list[str]:
    """Return a row for each kind of line of a story: how often it stands there, and the total of each of its columns.

    The total of numbers is their sum, that of words how often each of them occurs, that of anything else how many
    different ones there are.
    """
    columns: dict[str, list[list[str]]] = {}
    for line in lines:
        kind, *values = line.replace("(", "").replace(")", "").split()
        found = columns.setdefault(f"{kind} {len(values)}", [[] for _ in values])
        for column, value in zip(found, values, strict=True):
            column.append(value)
    return [f"{kind}: {', '.join(map(_total, found))}" for kind, found in sorted(columns.items())]


def read_totals() -> dict[str, list[str]]:
    """Return the stored totals of stories by case and seed, such as "defaults 1"."""
    sections = TOTALS.read_text(encoding="utf-8").strip().split("\n\n")
    return {section.splitlines()[0]: section.splitlines()[1:] for section in sections}


def _total(column: list[str]) -> str:
    words = Counter(value for value in column if value.replace("_", "").isalpha())
    rest = [value for value in column if value not in words]
    try:
        numbers = f"{sum(map(float, rest)):.9g}" if rest else ""
    except ValueError:
        numbers = f"{len(set(rest))} kinds"
    return " ".join([numbers, *(f"{count} {word}" for word, count in sorted(words.items()))]).strip()


if __name__ == "__main__":  # renews the stored totals
    kept = []
    for case in read_totals():
        name, _, seed = case.rpartition(" ")
        kept.append("\n".join([case, *totals_of(story_of(name, int(seed))[0])]) + "\n")
    TOTALS.write_text("\n".join(kept), encoding="utf-8")
