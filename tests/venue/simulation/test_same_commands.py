"""The same seed and the same commands at the same times give the same market everywhere: trades, books, makers, fills.

Each story is played by a generator of whole numbers. Its numbers are the same with each Python, numpy and platform. If
one of them changes, then saved venues, journals and notebooks continue in another market: say so in the changelog.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.venue.simulation.stream import Rng
from tests.venue.simulation.test_drawn import digest
from toolkit.venue.engine.commands import Advance, Control, Submit
from toolkit.venue.engine.core import Core
from toolkit.venue.model.genesis import GENESIS_TIME, Genesis
from toolkit.venue.model.market import Maker, Market
from toolkit.venue.risk import ledger

USERS = ("0x" + "7" * 40, "0x" + "8" * 40)
MINUTE = 60_000
CROWDED = Market().vary(
    seed=2,
    informed_ppm=900_000,
    hedging_ppm=300_000,
    momentum_ppm=300_000,
    forced_ppm=300_000,
    jump_minutes=3,
    inventory_usdc=20_000,
    skew_ppm=900,
    permanent_ppm=300,
    transient_ppm=300,
    recovery_ticks=7,
    makers=(
        Maker(300, 200, 200, 150, 3, 9_000, 5_000),
        Maker(20, 10, 150, 60, 2, 700, 900),
        Maker(60, 60, 150, 60, 4, 300, 60_000),
    ),
)
"""Makers of which the first one is not the closest and two are equally close, with few steps and a strong response."""

STORIES = {
    "stressed": (2, "stressed"),
    "crowded": (3, CROWDED),
}
"""Seeds and markets. The events of even seeds are read."""

PLAYED: dict[str, dict[str, Any]] = {
    "stressed": {
        "trades": ([228, 176, 131, 164], [(762, 1767226702366, -1, 635828, 22)], "a16e7b0cf2c2"),
        "fills": ([27, 46], [(107, 1767226296551, -1, 634103, 7, 0, 1)], "230325a357e1"),
        "candles": "ba7211c2b58b",
        "index": [41662114850, 16062216236, 9344003364, 407301587],
        "market": [(635713, 635828, 9553), (245089, 245272, 89978), (142578, 142418, 41293), (6214, 6239, 55001)],
        "makers": "a02194feb6e7",
        "levels": "82c5d2a8c8d4",
        "books": "01f878a79189",
        "told": "59446a27c447",
    },
    "crowded": {
        "trades": ([308, 460, 263, 125], [(1233, 1767226736181, 1, 623007, 30)], "eb7366cdc950"),
        "fills": ([25, 37], [(69, 1767226498083, -1, 242776, 540, 0, 1)], "a7d1999bbb64"),
        "candles": "f8d9e919b455",
        "index": [40839537850, 16158604504, 9391282720, 410376599],
        "market": [(623161, 623040, 1488), (246560, 246892, 179047), (143299, 143265, 9233), (6245, 6243, 48285)],
        "makers": "4cafdd846678",
        "levels": "a1c90aaab53a",
        "books": "a1c90aaab53a",
        "told": "ff78c7a1bf5d",
    },
}
ALONE: dict[str, dict[str, Any]] = {
    "stressed": {
        "trades": ([169, 178, 153, 174], [(739, 1767226790178, -1, 625129, 14)], "76e534e53164"),
        "fills": ([0, 0], [], "a683096011db"),
        "candles": "0eab5990cda1",
        "index": [40966432453, 16050791923, 9326022883, 407012833],
        "market": [(625098, 625076, 884), (244915, 245070, 15982), (142303, 142157, 46609), (6210, 6236, 75897)],
        "makers": "aa8f2c3a65f1",
        "levels": "4f8b4c77e774",
        "books": "e40b805c545d",
    },
    "crowded": {
        "trades": ([317, 480, 290, 271], [(1437, 1767226799674, 1, 627638, 12)], "a7910bd336d8"),
        "fills": ([0, 0], [], "a683096011db"),
        "candles": "57b12a5d37c1",
        "index": [41073154379, 16286979964, 9328168060, 412057849],
        "market": [(626726, 626688, 437), (248519, 248821, 20908), (142336, 142327, 12119), (6287, 6293, 62042)],
        "makers": "70a9a1e37902",
        "levels": "aa0f922dc6b7",
        "books": "96bded7cbf47",
    },
}


def opened(seed: int, market: Any, *, watched: bool) -> Core:
    core = Core(Genesis(seed=seed, settings={"market": market}))
    core.record_events(watched)
    core.events.clear()
    for user in USERS:
        ledger.deposit(core, core.account(user), 10**13)
    return core


class Story:
    """Two users who trade at random, and a teacher who changes the market."""

    def __init__(self, seed: int, market: Any) -> None:
        self.core, self.rng = opened(seed, market, watched=seed % 2 == 0), Rng(seed)
        self.told: list[Any] = []

    def pick(self, *values: Any) -> Any:
        return values[self.rng.below(len(values))]

    def send(self, user: str, **action: Any) -> None:
        outcome = self.core.apply(Submit(self.core.state.time, action, user, self.core.state.transactions + 1))
        self.told.append(outcome.code)

    def control(self, name: str, **arguments: Any) -> None:
        outcome = self.core.apply(Control(self.core.state.time, name, arguments))
        assert outcome.code == 0, outcome
        data = outcome.data if isinstance(outcome.data, dict) else {}
        self.told.append((name, *(str(data[key]) for key in sorted(data))))

    def order(self) -> None:
        code, side, user = self.pick(1, 1, 1, 2, 4), self.pick(1, -1), self.pick(*USERS)
        product, (bid, ask) = self.core.products[code], self.core.books.top(code)
        own, other = (bid or ask - 1, ask or bid + 1) if side > 0 else (ask or bid + 1, bid or ask - 1)
        if own <= 0 or other <= 0:
            return
        tif = self.pick("POST_ONLY", "GTC", "IOC", "FOK")
        steps = max(20 * 10**6 // (own * product.unit) + 1, 1) * self.pick(1, 7, 60, 900, 9_000)
        away = self.pick(0, 0, 1, 2, self.rng.below(30), self.rng.below(400))
        price = max(other + side * away * 3 if tif in ("IOC", "FOK") else own - side * (away - 1), 1)
        item = {"symbolCode": code, "ordPx": product.price_text(price), "ordQty": str(product.quantity_text(steps))}
        item |= {"ordType": "LIMIT", "ordSide": "BUY" if side > 0 else "SELL", "timeInForce": tif}
        self.send(user, type="placeOrder", orders=[item])

    def teach(self) -> None:
        match self.rng.below(8):
            case 0:
                lasting = self.pick(0, 40_000)
                self.control("market", regime=self.pick("calm", "usual", "stressed"), after=self.pick(0, 5_000),
                             lasting=lasting, product=self.pick(0, 1))  # fmt: skip
            case 1:
                self.control("jump", product=1, percent=self.pick("0.4", "-0.7", "2"))
            case 2:
                mark = self.core.state.markets[2].oracle
                price = self.core.products[2].price_text(mark + self.pick(-30, 45))
                self.control("set_oracle", product=2, price=price, hold=self.pick(True, False))
            case 3:
                self.control("release_oracle", product=2)
            case 4:
                self.control(self.pick("pause", "resume"), product=4)
            case 5:
                price = self.core.products[1].price_text(self.core.books.top(1)[0] + self.pick(-9, 9))
                self.control("add_liquidity", product=1, side=self.pick("BUY", "SELL"), price=price,
                             quantity=self.pick("0.05", "2"), levels=3, gap=self.pick("", "0.7"))  # fmt: skip
            case 6:
                self.control("remove_liquidity", product=1)
            case 7:
                self.control("stand_still", until=self.core.state.time + self.pick(900, 7_000))

    def play(self, rounds: int) -> dict[str, Any]:
        for number in range(rounds):
            self.core.apply(Advance(self.core.state.time + self.pick(1, 60, 350, 900, 3_000, 12_345, 61_000)))
            self.order()
            if number % 7 == 6:
                self.send(self.pick(*USERS), type="cancelAll", symbolCode=self.pick(1, 2, 4))
            if number % 5 == 4:
                self.teach()
            if number % 3 == 2:
                self.told.append([self.core.books[1].depth(side, 30) for side in (1, -1)])
            self.told.append([self.core.books.top(code) for code in self.core.products])
        self.core.apply(Advance(self.core.state.time + 7 * MINUTE))
        self.core.check()
        return seen(self.core) | {"told": digest(self.told)}


def alone(seed: int, market: Any) -> dict[str, Any]:
    """Return what the market is after 20 minutes without a user."""
    core = opened(seed, market, watched=False)
    core.apply(Advance(GENESIS_TIME + 20 * MINUTE))
    return seen(core)


def seen(core: Core) -> dict[str, Any]:
    """Return what the market is: the latest numbers of each kind, and a digest of all."""
    assert core.state.simulation is not None
    core.books.settle()
    history, found = core.state.history, dict[str, Any]()
    trades = [[_trade(trade) for trade in history.trades.get(code, ())] for code in core.products]
    candles = [[_plain(candle) for candle in history.candles.get(code, ())] for code in core.products]
    fills = [[_fill(fill) for fill in history.fills_of(user)] for user in USERS]
    makers = [_plain(core.state.simulation.products[code]) for code in sorted(core.state.simulation.products)]
    found["trades"] = ([len(each) for each in trades], trades[0][-1:], digest(trades))
    found["fills"] = ([len(each) for each in fills], fills[0][-1:], digest(fills))
    found["candles"] = digest(candles)
    found["index"] = [core.state.simulation.products[code].index for code in core.products]
    found["market"] = [(market.oracle, market.mark, market.open_interest) for market in core.state.markets.values()]
    found["makers"] = digest(makers)
    sides = [(code, side) for code in core.products for side in (1, -1)]
    folded = [list(core.books.levels(code, side, 1 << 62)) for code, side in sides]
    found["levels"] = digest([list(core.books.levels(code, side, 10**9)) for code, side in sides])
    found["books"] = digest([core.books[code].depth(side, 1_000) for code, side in sides])
    assert found["books"] == digest(folded), "a book that is computed without orders is the one that has them"
    return found


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)


def _trade(trade: Any) -> tuple[int, ...]:
    return trade.id, trade.time, trade.side, trade.price, trade.quantity


def _fill(fill: Any) -> tuple[int, ...]:
    return fill.order_id, fill.time, fill.side, fill.fill_price, fill.fill_quantity, fill.leaves, fill.role


@pytest.mark.parametrize("name", STORIES)
def test_the_same_commands_lead_to_the_same_market_everywhere(name: str) -> None:
    assert Story(*STORIES[name]).play(60) == PLAYED[name]


@pytest.mark.parametrize("name", STORIES)
def test_a_market_without_users_is_the_same_everywhere(name: str) -> None:
    assert alone(*STORIES[name]) == ALONE[name]
