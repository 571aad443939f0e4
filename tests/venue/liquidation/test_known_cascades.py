"""The same gaps and orders liquidate the same positions everywhere: each step, payment, cancelled order and band.

All numbers are whole and drawn by a generator of whole numbers, so they are the same with each Python and platform. If
one of them changes, then saved venues and journals liquidate differently: say so in the changelog.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from tests.venue.liquidation import test_who_pays  # has the control "gap"
from tests.venue.play import BTC, ETH, MICRO, Play
from tests.venue.simulation.stream import Rng
from tests.venue.simulation.test_drawn import digest
from toolkit.venue.engine.changes import AccountChanged, InsuranceOverdrawn
from toolkit.venue.engine.commands import Control
from toolkit.venue.risk.ledger import INSURANCE, LP_VAULT

PRICES = test_who_pays.PRICES
NAMES = [f"a{number:02}" for number in range(24)]
WORLDS: dict[str, dict[str, Any]] = {
    "usual": {},
    "slices": {"liquidation_whole": 9_000 * MICRO, "lp_capital": 12_000 * MICRO, "lp_slice": 4_000 * MICRO},
    "no vault": {"lp_capital": 0},
    "slices, small vault": {"liquidation_whole": 20_000 * MICRO, "lp_capital": 4_000 * MICRO, "lp_slice": 0},
}
CASCADES: dict[tuple[str, int], dict[str, Any]] = {
    ("usual", 1): {
        "closed": {"BOOK": 15, "LP_VAULT": 22, "NETTED": 2},
        "first": [(2, -1, 3166, "BOOK", 302794), (2, -1, 6242, "LP_VAULT", 320400), (2, -1, 7599, "LP_VAULT", 320400)],
        "paid": 1974741094,
        "insurance": 0,
        "vault": 999422202735,
        "open": 0,
        "pauses": 0,
        "steps": "c0dde6fa61f2",
        "ledger": "e71735e345d8",
        "orders": "1c0249d25817",
        "events": "81ee3e0bd602",
        "bands": "e1e677aa8393",
        "equity": "3088e6726549",
        "accounts": "214d5326ccbd",
    },
    ("usual", 2): {
        "closed": {"BOOK": 15, "LP_VAULT": 17, "NETTED": 1},
        "first": [(2, 1, 2766, "BOOK", 292315), (2, 1, 4306, "LP_VAULT", 284400), (2, 1, 20055, "LP_VAULT", 284400)],
        "paid": 842058600,
        "insurance": 0,
        "vault": 1003579671983,
        "open": 0,
        "pauses": 0,
        "steps": "e82f42d7bc52",
        "ledger": "e596c154dbc7",
        "orders": "625c2ddb1fa4",
        "events": "9a7584ce0d43",
        "bands": "3efd2cad4a6f",
        "equity": "9d559ed283ca",
        "accounts": "301984d346e0",
    },
    ("slices", 1): {
        "closed": {"ADL": 41, "BOOK": 19, "LP_VAULT": 9, "NETTED": 1},
        "first": [(2, -1, 3166, "BOOK", 302794), (2, -1, 6242, "LP_VAULT", 320400), (2, -1, 7599, "LP_VAULT", 320400)],
        "paid": 997720078,
        "insurance": -522683402,
        "vault": 11212825349,
        "open": 0,
        "pauses": 4,
        "steps": "59a91ddaef38",
        "ledger": "eef6ab1f7efc",
        "orders": "d69e2afeb99a",
        "events": "bcac4f6dafc7",
        "bands": "d2886b867e19",
        "equity": "36222a3a59d5",
        "accounts": "b2dfd0ef9ca5",
    },
    ("slices", 2): {
        "closed": {"ADL": 21, "BOOK": 27, "LP_VAULT": 5, "NETTED": 2},
        "first": [(2, 1, 2766, "BOOK", 292315), (2, 1, 4306, "LP_VAULT", 284400), (2, 1, 15638, "LP_VAULT", 284400)],
        "paid": 1031561881,
        "insurance": -16949211,
        "vault": 11203336557,
        "open": 0,
        "pauses": 6,
        "steps": "17c023be14b5",
        "ledger": "cec3e0a356bc",
        "orders": "89693fb7edb8",
        "events": "5615d2558700",
        "bands": "df04d71fdf84",
        "equity": "3daee91a7469",
        "accounts": "36d0204e5d16",
    },
    ("no vault", 1): {
        "closed": {"ADL": 34, "BOOK": 13, "NETTED": 1},
        "first": [(2, -1, 3166, "BOOK", 302794), (2, -1, 6242, "ADL", 325773), (2, -1, 7599, "ADL", 319718)],
        "paid": 57528000,
        "insurance": -57528000,
        "vault": 0,
        "open": 0,
        "pauses": 0,
        "steps": "ab2d54a92f8e",
        "ledger": "ff42d3d7ebd6",
        "orders": "f1947de7fe3f",
        "events": "f3d94b788e23",
        "bands": "a77d92aeaab9",
        "equity": "962ed249a879",
        "accounts": "3546a7ad1b8f",
    },
    ("no vault", 2): {
        "closed": {"ADL": 31, "BOOK": 11},
        "first": [(2, 1, 2766, "BOOK", 292315), (2, 1, 4306, "ADL", 279428), (2, 1, 6403, "ADL", 288599)],
        "paid": 0,
        "insurance": 0,
        "vault": 0,
        "open": 0,
        "pauses": 0,
        "steps": "0f41663ca4cb",
        "ledger": "fd0e0a426ed4",
        "orders": "935b67d9ca7b",
        "events": "285dde357f64",
        "bands": "e6dc6ee21882",
        "equity": "4f4a2a99b7db",
        "accounts": "8d4b3ca52cd6",
    },
    ("slices, small vault", 1): {
        "closed": {"ADL": 43, "BOOK": 14, "LP_VAULT": 5, "NETTED": 1},
        "first": [(2, -1, 3166, "BOOK", 302794), (2, -1, 6242, "LP_VAULT", 320400), (2, -1, 2, "LP_VAULT", 320400)],
        "paid": 295947728,
        "insurance": -295934100,
        "vault": 4001257161,
        "open": 0,
        "pauses": 2,
        "steps": "b8a4a4f8e3de",
        "ledger": "3b3d8b4a51c5",
        "orders": "4cd10f25d871",
        "events": "e0168f39ea85",
        "bands": "eca7e36c3cd0",
        "equity": "5efc18de3773",
        "accounts": "b4dd100e20d2",
    },
    ("slices, small vault", 2): {
        "closed": {"ADL": 33, "BOOK": 23, "LP_VAULT": 6, "NETTED": 1},
        "first": [(2, 1, 2766, "BOOK", 292315), (2, 1, 4306, "LP_VAULT", 284400), (2, 1, 2540, "LP_VAULT", 284400)],
        "paid": 113876128,
        "insurance": -7226608,
        "vault": 3861222402,
        "open": 0,
        "pauses": 3,
        "steps": "6bedc41dd3f0",
        "ledger": "348f4c79d03e",
        "orders": "4fe0599a48a2",
        "events": "daabc347c8a7",
        "bands": "abd2fd3de9ce",
        "equity": "03521d14921c",
        "accounts": "58c274edfec2",
    },
}


class Quiet(Play):
    """A play whose invariants are left to other tests."""

    def __init__(self, **config: Any) -> None:
        super().__init__(**config)
        self.watch = self.core  # type: ignore[assignment]


def crowd(random: Rng, **config: Any) -> Play:
    """Accounts that trade with each other at mark: in hedge and one-way mode, cross and isolated, some with orders."""
    play = Quiet(**config)
    for code, price in PRICES.items():
        play.oracle(str(price), code)
    play.fund(3_000, *NAMES)
    play.fund(5_000_000, "whale")
    play.hedge(*NAMES[:8])
    for name in NAMES:
        for code in PRICES:
            play.leverage(name, 40 if code in (BTC, ETH) else 20, code)
            if not random.below(4):
                play.isolated(name, code)
    for _ in range(90):
        code = list(PRICES)[random.below(4)]
        product, mark = play.core.products[code], play.core.state.markets[code].mark
        buyer = random.below(len(NAMES))
        seller = (buyer + 1 + random.below(len(NAMES) - 1)) % len(NAMES)
        steps = (3_000 + random.below(27_000)) * MICRO // (mark * product.unit)
        terms = product.quantity_text(steps), product.price_text(mark), code
        if play.order(NAMES[seller], "SELL", *terms).code == 0:
            play.order(NAMES[buyer], "BUY", *terms)
        for name in (NAMES[buyer], NAMES[seller]):
            play.act(name, type="cancelAll", symbolCode=code, conditionalOrder=False)
    return play


def rest(play: Play, random: Rng) -> None:
    """Leave orders around the marks: of the whale, which has money, and of some others."""
    play.act("whale", type="cancelAll", symbolCode=0, conditionalOrder=False)
    for code in PRICES:
        product, mark = play.core.products[code], play.core.state.markets[code].mark
        for side, way in ((1, "BUY"), (-1, "SELL")):
            for name, usdc in (("whale", 8_000), (NAMES[random.below(24)], 300), (NAMES[random.below(24)], 1_500)):
                away = mark * (5 + random.below(60)) // 1_000
                steps = max(1, usdc * MICRO // (mark * product.unit))
                play.order(name, way, product.quantity_text(steps), product.price_text(mark - side * away), code)


def played(world: str, seed: int) -> dict[str, Any]:
    """Return what a cascade of gaps, pauses and orders leaves: figures of each kind, and digests of all records."""
    random = Rng(seed)
    play = crowd(random, **WORLDS[world])
    core, seen = play.core, list[Any]()
    emit = core.emit

    def keep(event: Any) -> None:
        if isinstance(event, InsuranceOverdrawn):
            seen.append((event.address, event.product, event.amount, event.balance, event.trades))
        elif isinstance(event, AccountChanged):
            seen.append((core.state.time, event.address))
        emit(event)

    core.emit = keep  # type: ignore[method-assign]
    bands = list[Any]()
    for _ in range(14):
        rest(play, random)
        paused = list(PRICES)[random.below(4)] if not random.below(3) else 0
        if paused:
            play.control("pause", product=paused)
        changes = {code: random.below(150) - 75 for code in PRICES if random.below(3)}
        core.apply(Control(play.now, "gap", {"changes": changes}))
        bands.append([sorted(core.risk_index.bands[code].items()) for code in PRICES])
        play.advance(1 + random.below(40_000))
        if paused:
            play.control("resume", product=paused)
        play.advance(1 + random.below(70_000))
    state, history = core.state, core.state.history
    steps = history.liquidations.records
    vault = state.accounts[LP_VAULT]
    return {
        "closed": dict(sorted(Counter(step.where for step in steps).items())),
        "first": [(step.product, step.side, step.quantity, step.where, step.price) for step in steps[:3]],
        "paid": sum(step.paid for step in steps),
        "insurance": state.accounts[INSURANCE].balance,
        "vault": vault.balance,
        "open": len(state.liquidations),
        "pauses": sum(later.time - step.time == 30_000 for step, later in pairwise(steps)),
        "steps": digest([_fields(step) for step in steps]),
        "ledger": digest([_fields(record) for record in history.ledger.records]),
        "orders": digest([_fields(order) for order in history.orders.records]),
        "events": digest(seen),
        "bands": digest(bands),
        "equity": digest([[_fields(point) for point in curve] for _, curve in sorted(history.equity.items())]),
        "accounts": digest([(one.address, one.balance, one.status, one.updated) for one in state.accounts.values()]),
    }


def _fields(record: Any) -> list[Any]:
    """Return a record's values, without the hash of its transaction, which changes with any rule."""
    return [getattr(record, name) for name in record.__struct_fields__ if "hash" not in name]


@pytest.mark.parametrize(("world", "seed"), CASCADES, ids=str)
def test_a_cascade_is_the_same_everywhere(world: str, seed: int) -> None:
    assert played(world, seed) == CASCADES[world, seed]
