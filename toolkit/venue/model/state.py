"""The state of a venue: everything that is hashed, dumped and replayed.

Only ints, strings, bools, None and containers of them. Units: prices in ticks, quantities in steps, money in
micro-USDC (1e-6), times in int milliseconds, rates in parts of `RATE` (1e-8), leverage in hundredths; addresses are
lower-case 0x text. The Core keeps what can be rebuilt from it (books, trigger queues, Product objects).

A room of the venue that needs state adds its own class to this room, and a field with a default to `State`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec

from .accounts import VenueAccount
from .genesis import Config, Genesis
from .history import History
from .program_state import PermissionState, Referrals, Vault
from .simulation_state import Laboratory, RecordedMarket, Simulation


@dataclass(slots=True)
class MarketState:
    """The market of one product. Prices in ticks, 0 = not known yet."""

    product: int
    oracle: int = 0
    """Index price."""
    mark: int = 0
    last: int = 0
    """Price of the last trade (before the first one: the oracle price)."""
    open_interest: int = 0
    """Steps of all longs (= of all shorts)."""
    sequence: int = 0
    """Changes of the book so far."""
    trades: int = 0
    paused: bool = False
    external: int = 0
    """Mid price of other venues' perpetuals, 0 = none."""
    pinned: bool = False
    """True while an intervention holds the oracle price, so that it does not follow its source."""
    basis: list[int | None] = field(default_factory=list)
    """Latest samples of bid + ask − 2·oracle, oldest first; None where the book had an empty side."""
    book: list[int | None] = field(default_factory=list)
    """Latest medians of bid, ask and last."""
    premium: int = 0
    """Sum of the premium samples since the last settlement, parts of 1e-12, and their number."""
    samples: int = 0
    funding_rate: int = 0
    """Rate of the last settlement, parts of RATE."""


class Liquidation(msgspec.Struct):
    """A liquidation in progress: of an isolated position, or of all cross positions of an account."""

    address: str
    product: int
    """0 = the cross positions."""
    started: int
    next: int
    """When the next slice is closed."""


class NonceWindow(msgspec.Struct):
    """Used nonces of one signer: the largest ones, ascending."""

    used: list[int] = []


class Unsettled(msgspec.Struct):
    """An action that was accepted and answered, and takes effect at `due` (ms)."""

    due: int
    tx_hash: str
    action: dict[str, Any]
    signer: str
    nonce: int
    account: str
    vault: str | None
    builder: str | None


@dataclass(slots=True)
class State:
    """The whole state of one venue."""

    seed: int
    genesis_time: int
    time: int
    block_ms: int
    """Length of a block; height = 1 + (time − genesis_time) // block_ms."""
    products: dict[int, dict[str, Any]]
    """ProductMeta rows by code, in wire names; `Core.products` has the Product objects."""
    margin_tables: dict[int, list[dict[str, str]]]
    """riskLimitVo rows by table id."""
    accounts: dict[str, VenueAccount] = field(default_factory=dict)
    markets: dict[int, MarketState] = field(default_factory=dict)
    history: History = field(default_factory=History)
    schedule: dict[str, int] = field(default_factory=dict)
    """Process name → time it is due next; a process that sleeps is absent."""
    nonces: dict[str, NonceWindow] = field(default_factory=dict)
    random: int = 0
    """State of the venue's generator (rng.Rng)."""
    transactions: int = 0
    """Transactions and system steps so far; part of every transaction hash."""
    last_order: int = 0
    last_priority: int = 0
    last_exec: int = 0
    block_first: int = 0
    """Position in History.transactions where the open block begins."""
    config: Config = field(default_factory=Config)
    deposits: int = 0
    """All money that ever came in from outside, micro-USDC, and that left."""
    withdrawals: int = 0
    liquidations: dict[str, Liquidation] = field(default_factory=dict)
    """Liquidations in progress, by "address:product"."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of the venue that rules may read."""
    permissions: PermissionState = field(default_factory=PermissionState)
    vaults: dict[str, Vault] = field(default_factory=dict)
    lp_vault: str = ""
    """Address of the vault that takes over liquidations."""
    referrals: Referrals = field(default_factory=Referrals)
    unsettled: list[Unsettled] = field(default_factory=list)
    """Answered actions that take effect later, in a venue that settles with a delay."""
    laboratory: Laboratory = field(default_factory=Laboratory)
    simulation: Simulation | None = None
    """The simulated market; None when there is none."""
    recorded: RecordedMarket | None = None
    """A market that is replayed or followed; None when there is none."""


def first_state(genesis: Genesis) -> State:
    """Return the first state of a genesis, before the rules have set up theirs."""
    state = State(
        seed=genesis.seed,
        genesis_time=genesis.time,
        time=genesis.time,
        block_ms=genesis.block_ms,
        products={int(row["code"]): dict(row) for row in genesis.products},
        margin_tables={table: [dict(row) for row in rows] for table, rows in genesis.margin_tables.items()},
        random=genesis.seed & 0xFFFF_FFFF_FFFF_FFFF,
        config=genesis.config,
        settings=dict(genesis.settings),
    )
    for code, row in state.products.items():
        first = int(Decimal(genesis.prices.get(code, "0")) / Decimal(row["tickSize"]))
        state.markets[code] = MarketState(code, oracle=first, mark=first, last=first)
        state.history.trades[code] = []
        state.history.candles[code] = []
        state.history.funding_rates[code] = []
    return state
