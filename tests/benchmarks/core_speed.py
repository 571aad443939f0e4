"""How fast the core matches: orders with every check and the margin rules, without signatures, in processor time.

Twenty accounts in turns place 20,000 orders in one product. One in six is a market order. 23 % trade immediately
(against 1.8 resting orders on average), and more than half are still resting at the end. Events are not made without a
reader, as in a venue whose feed is not open.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from typing import Any

from toolkit.protocol.orders.items import OrderItem
from toolkit.venue.engine.commands import ActionContext, Submit
from toolkit.venue.engine.core import Core
from toolkit.venue.model.genesis import Genesis
from toolkit.venue.risk import ledger
from toolkit.venue.trading.placing import place

from . import Measurement, processor_seconds
from .signed_orders import order_item

ORDERS = 20_000
ACCOUNTS = 20
RESTING = (1_000, 10_000, 100_000)


def measure_matching() -> list[Measurement]:
    """Measure the best of three runs each."""
    placed, whole = (ORDERS / min(_seconds_of(run) for _ in range(3)) for run in (_placed, _whole_actions))
    note = f"{ACCOUNTS} accounts, one product, no feed open. 2.3 of 10 orders trade immediately, in 4 trades"
    name = "matching core, orders with checks and margin"
    found = [
        Measurement(name, placed, "orders/s", target=50_000, aim=100_000, note=note),
        Measurement("matching core, whole actions (nonce, transaction, triggers)", whole, "orders/s"),
    ]
    costs = {resting: min(_cost_of_one(resting) for _ in range(3)) for resting in RESTING}
    for resting, cost in costs.items():
        name, most = f"cost of one order among {resting:,} resting", 2.0 if resting > RESTING[0] else None
        ratio = cost / costs[RESTING[0]]
        found.append(Measurement(name, cost * 1e6, "µs", most, "lower", "ratio", f"among {RESTING[0]:,}", ratio))
    return found


def items(count: int, seed: int = 7, *, base: int = 600_000, width: int = 200) -> list[dict[str, Any]]:
    """Return random order items in BTCUSDC around a price: 5 in 6 limits, four trades for ten orders.

    Parameters
    ----------
    count : int
        Number of items.
    seed : int, optional
        Seed of the items (default: 7).
    base : int, optional
        Middle of their prices, in ticks (default: 600,000).
    width : int, optional
        Largest distance of a price from the middle, in ticks (default: 200).
    """
    rng, made = random.Random(seed), []
    for _ in range(count):
        side = 1 if rng.randrange(2) else -1
        away = rng.randrange(width) - width // 8
        price = base - side * away
        market = {"ordPx": "0", "ordType": "MARKET", "timeInForce": "IOC"} if rng.randrange(6) == 0 else {}
        made.append(order_item(side, f"{price // 10}.{price % 10}", f"0.{1 + rng.randrange(20):03d}", **market))
    return made


def funded_core(accounts: int = ACCOUNTS) -> tuple[Core, list[str]]:
    """Return a core with funded accounts.

    Parameters
    ----------
    accounts : int, optional
        Number of accounts (default: `ACCOUNTS`).
    """
    core = Core(Genesis(prices={1: "60000.0"}))
    addresses = [f"0x{number:040x}" for number in range(1, accounts + 1)]
    for address in addresses:
        ledger.deposit(core, core.account(address), 10**13)
    core.events.clear()
    core.record_events(False)
    return core, addresses


def _seconds_of(run: Callable[[Core, list[str], list[dict[str, Any]]], None]) -> float:
    """Return the processor time in which a fresh core takes all orders."""
    core, addresses = funded_core()
    stream = items(ORDERS)
    gc.collect()
    return processor_seconds(lambda: run(core, addresses, stream))


def _placed(core: Core, addresses: list[str], stream: list[dict[str, Any]]) -> None:
    contexts = [ActionContext(core.account(address)) for address in addresses]
    for at, item in enumerate(stream):
        place(core, contexts[at % ACCOUNTS], OrderItem.recall(item))
        core.events.clear()


def _whole_actions(core: Core, addresses: list[str], stream: list[dict[str, Any]]) -> None:
    now, apply = core.state.time, core.apply
    for at, item in enumerate(stream):
        action = {"type": "placeOrder", "orders": [item]}
        apply(Submit(now + at // 50, action, addresses[at % ACCOUNTS], at, digest=b"digest"))


def _cost_of_one(resting: int, orders: int = 5_000) -> float:
    """Return the seconds of one order (resting, then taken by the next one) among so many resting ones."""
    core, addresses = funded_core()
    around = []
    for at in range(resting):
        side = at % 2 * 2 - 1
        price = 600_000 - side * (10 + at * 7919 % 50_000)
        around.append(order_item(side, f"{price // 10}.{price % 10}"))
    _placed(core, addresses, around)
    pairs = [order_item(1, "60000.0", "0.005"), order_item(-1, "60000.0", "0.005")] * (orders // 2)
    gc.collect()
    return processor_seconds(lambda: _placed(core, addresses, pairs)) / orders
