"""Everything the venue remembers: the state that is hashed, dumped, replayed.

Only ints, strings, bools, None and containers of them. Units: prices in ticks, quantities in steps, money in
micro-USDC (1e-6), times in int milliseconds, rates in parts of `RATE` (1e-8), leverage in hundredths; addresses are
lower-case 0x text. What can be rebuilt from here (books, trigger queues, Product objects) is kept by the Core instead.

A room of the venue that remembers something adds its own class here, and a field with a default to `State`. What is
written all the time is a slotted dataclass (fast to change), what is made all the time a Struct (fast to make).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from ...protocol.enums import (
    AccountStatus,
    MarginMode,
    OrderStatus,
    OrderType,
    PositionMode,
    ReduceOnly,
    TimeInForce,
    TriggerType,
)
from .config import Config
from .lab_state import Laboratory
from .ledger_state import Transfer
from .program_state import PermissionState, Referrals, Vault
from .simulation_state import Simulation

RATE = 100_000_000
"""Rates (fees, slippage, funding) are whole numbers of 1/RATE: 1 % is 1_000_000."""

# Names for members of the wire's enums that rules compare with all the time: a global name is read three times as fast
# as an attribute of an enum class.
NEW, PARTIALLY_FILLED, FILLED = OrderStatus.NEW, OrderStatus.PARTIALLY_FILLED, OrderStatus.FILLED
CANCELED, UNTRIGGERED, REJECTED = OrderStatus.CANCELED, OrderStatus.ORDER_STATUS_UNTRIGGERED, OrderStatus.REJECTED
STATUS_NAMES = ("", *(status.name for status in OrderStatus))
LIMIT, MARKET = OrderType.LIMIT, OrderType.MARKET
STOP_LIMIT, STOP_MARKET = OrderType.STOP_LIMIT, OrderType.STOP_MARKET
TAKE_PROFIT_LIMIT, TAKE_PROFIT_MARKET = OrderType.TAKE_PROFIT_LIMIT, OrderType.TAKE_PROFIT_MARKET
ADL, LIQUIDATION = OrderType.ADL, OrderType.LIQUIDATION
GTC, IOC, FOK, POST_ONLY = TimeInForce.GTC, TimeInForce.IOC, TimeInForce.FOK, TimeInForce.POST_ONLY
REDUCE_ONLY = ReduceOnly.REDUCE_ONLY
TP_FROM_POSITION, SL_FROM_POSITION = ReduceOnly.TP_FROM_POSITION, ReduceOnly.SL_FROM_POSITION
LAST_PRICE, MARK_PRICE, INDEX_PRICE = TriggerType.LAST_PRICE, TriggerType.MARK_PRICE, TriggerType.INDEX_PRICE
CROSS, ISOLATED = MarginMode.CROSS, MarginMode.ISOLATED
ONE_WAY, HEDGE = PositionMode.ONE_WAY, PositionMode.HEDGE
NORMAL, LIQUIDATING = AccountStatus.NORMAL, AccountStatus.LIQUIDATING
MAKER, TAKER = 1, 2
"""Role of an order in a fill."""

T = TypeVar("T")


class VenueOrder(msgspec.Struct, gc=False):
    """One order, from acceptance to its end; live ones are in `Account.orders`, ended ones in `History.orders`."""

    id: int
    address: str
    """Account it belongs to."""
    product: int
    side: int
    """+1 buys, −1 sells."""
    closing: bool
    """True for the *_CLOSE_HEDGE sides: a buy that closes the short, a sell that closes the long."""
    type: int
    tif: int
    reduce: int
    """0, REDUCE_ONLY, TP_FROM_POSITION or SL_FROM_POSITION."""
    price: int
    """Limit in ticks, 0 for market orders."""
    quantity: int
    """Ordered steps; 0 while a whole-position TP/SL waits."""
    leaves: int
    """Steps still open. Always filled + cancelled + leaves = quantity."""
    filled: int = 0
    value: int = 0
    """Sum of filled value, micro-USDC."""
    fee: int = 0
    """Sum of fees paid (negative = received), without builder fees."""
    fee_parts: int = 0
    """The exact fee beyond whole micro-USDC, in parts of micro-USDC / RATE; the next fill is rounded with it."""
    status: int = NEW
    client_id: int = 0
    """clOrdId, 0 = none."""
    parent: int = 0
    """parentOrdId: the bracket's main order (or what the user wrote), 0 = none."""
    trigger: int = 0
    """Trigger price in ticks, 0 = none."""
    trigger_by: int = 0
    """LAST_PRICE, MARK_PRICE or INDEX_PRICE; 0 = no trigger."""
    trigger_up: bool = False
    """True: triggers at price ≥ trigger; False: at ≤."""
    armed: bool = True
    """False while a bracket's child waits for its parent's first fill."""
    triggered: bool = False
    group: int = 0
    """Bracket it belongs to (id of the main order, which has it too), 0 = none; its TP and SL cancel each other."""
    cover: int = 0
    """Steps that the main order has opened so far, for a TP/SL of a bracket."""
    slippage: int = 0
    """Allowed slippage of a market order, parts of RATE; 0 = the default."""
    priority: int = 0
    """Place in time: smaller goes first within a price level."""
    builder: str = ""
    """Builder's master address for builder orders."""
    builder_rate: int = 0
    """Builder fee, parts of RATE."""
    builder_fee: int = 0
    """Sum of builder fees paid."""
    created: int = 0
    updated: int = 0
    height: int = 0
    """Block of the last change."""
    reason: str = ""
    """Why it was cancelled or rejected, in words."""

    @property
    def waiting(self) -> bool:
        """True while it waits for its trigger (or, in a bracket, for its main order)."""
        return self.status == UNTRIGGERED

    @property
    def reducing(self) -> bool:
        """True when it may only shrink a position."""
        return self.reduce > 0 or self.closing


@dataclass(slots=True)
class Leg:
    """The long or the short half of a position, with the sums of its present life (from flat to flat)."""

    size: int = 0
    value: int = 0
    """Entry value, micro-USDC (price is value / size)."""
    term: int = 0
    """Number of its life: grows by one each time it opens from flat."""
    opened: int = 0
    entered: int = 0
    """Steps ever added in this life, and their value."""
    entered_value: int = 0
    closed: int = 0
    """Steps ever closed in this life, and the value they were closed at."""
    closed_value: int = 0
    pnl: int = 0
    """Realised in this life, before fees and funding."""
    fees: int = 0
    """Trading fees paid in this life."""
    funding: int = 0
    """Funding received (negative = paid) in this life."""


@dataclass(slots=True)
class Position:
    """One account in one product: both legs, its settings, and what its resting orders could add."""

    product: int
    leverage: int
    """Hundredths: 2000 is 20x."""
    mode: int = CROSS
    """CROSS or ISOLATED."""
    long: Leg = field(default_factory=Leg)
    short: Leg = field(default_factory=Leg)
    assigned: int = 0
    """Isolated margin assigned, micro-USDC."""
    buy_quantity: int = 0
    """Steps of resting buy orders that may open or grow a position, and their value at order price."""
    buy_value: int = 0
    sell_quantity: int = 0
    sell_value: int = 0
    buy_reducing: int = 0
    """Steps of resting orders that may only reduce (reduce-only, TP/SL, hedge closes); never above the opposite leg."""
    sell_reducing: int = 0
    reducers: int = 0
    """Number of live orders that may only reduce, resting or waiting."""
    pnl: int = 0
    """Realised since the account began."""
    fees: int = 0
    funding: int = 0
    created: int = 0
    updated: int = 0


@dataclass(slots=True)
class VenueAccount:
    """One account: master wallets, vaults, simulated participants and the venue's own books."""

    address: str
    kind: str = "user"
    """user, vault, market (simulated participant; keeps no order history) or venue (fees, rounding, insurance …)."""
    balance: int = 0
    """Cash, micro-USDC, without isolated margins (those are in `Position.assigned`)."""
    position_mode: int = ONE_WAY
    status: int = NORMAL
    positions: dict[int, Position] = field(default_factory=dict)
    """By product code."""
    orders: dict[int, VenueOrder] = field(default_factory=dict)
    """Live orders by id, in order of placement."""
    client_ids: dict[int, int] = field(default_factory=dict)
    """clOrdId → order id of live orders."""
    waiting: int = 0
    """Number of live orders that wait for a trigger."""
    created: int = 0
    updated: int = 0
    volumes: dict[int, int] = field(default_factory=dict)
    """UTC day number → traded notional, micro-USDC, for fee tiers."""
    maker_rate: int | None = None
    """Fee rates of its own, parts of RATE; None = by volume."""
    taker_rate: int | None = None
    faucet_time: int = 0
    """Last faucet claim, 0 = never."""


@dataclass(slots=True)
class MarketState:
    """What is known of one product besides its listing row. Prices in ticks, 0 = not known yet."""

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
    """True while the oracle price is held by hand and does not follow its source."""
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
    """A liquidation under way: of an isolated position, or of all cross positions of an account."""

    address: str
    product: int
    """0 = the cross positions."""
    started: int
    next: int
    """When the next slice is closed."""


class NonceWindow(msgspec.Struct):
    """Used nonces of one signer: the largest ones, ascending."""

    used: list[int] = []


class OrderEvent(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """One step in the life of an order; a fill is an event with an exec_id. Money in micro-USDC."""

    id: int
    time: int
    height: int
    tx_hash: str
    address: str
    product: int
    order_id: int
    client_id: int
    side: int
    closing: bool
    type: int
    tif: int
    reduce: int
    status: int
    """Status after it."""
    price: int
    """Price of the order, ticks (0 for market)."""
    quantity: int
    leaves: int
    """Steps still open after it."""
    trigger: int
    slippage: int
    fill_price: int = 0
    fill_quantity: int = 0
    exec_id: int = 0
    """Number of the trade; both sides carry the same one. 0 = not a fill."""
    role: int = 0
    """MAKER or TAKER."""
    pnl: int = 0
    open_fee: int = 0
    """Fee on the part that opened (negative = received)."""
    close_fee: int = 0
    builder_fee: int = 0
    long_term: int = 0
    short_term: int = 0
    reason: str = ""


class PublicTrade(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """One public trade."""

    id: int
    time: int
    product: int
    side: int
    """Of the taker."""
    price: int
    quantity: int
    tx_hash: str


class Candle(msgspec.Struct, array_like=True, gc=False):
    """One minute of one product; other intervals are added up from these. Minutes without trades have none."""

    start: int
    """Milliseconds, a multiple of 60,000."""
    open: int
    high: int
    low: int
    close: int
    volume: int
    """Steps."""
    turnover: int
    """Micro-USDC."""
    count: int


class FundingRate(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """Funding settled for one product."""

    time: int
    product: int
    rate: int
    """Parts of RATE, for the interval."""
    mark: int
    oracle: int
    premium: int
    """Parts of RATE."""


class FundingPayment(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """Funding paid or received by one leg of one account."""

    id: int
    time: int
    address: str
    product: int
    side: int
    size: int
    rate: int
    amount: int
    """Negative = paid."""
    tx_hash: str


class ClosedPosition(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """One leg's life from flat to flat."""

    id: int
    time: int
    address: str
    product: int
    side: int
    term: int
    size: int
    """Steps closed in its life."""
    entry_value: int
    close_value: int
    pnl: int
    fees: int
    funding: int
    leverage: int
    opened: int


class LiquidationStep(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """One part of a liquidated position, where it went, and what it cost whom."""

    id: int
    time: int
    address: str
    product: int
    mode: int
    """CROSS or ISOLATED."""
    side: int
    """+1: a long was closed."""
    quantity: int
    where: str
    """BOOK, NETTED (against the other leg of the same hedge), LP_VAULT or ADL."""
    price: int
    """Price it was closed at, ticks (in the book: the average, rounded down)."""
    mark: int
    counterpart: str
    """Account that took it; "" in the book."""
    equity: int
    """Of the position's margin group before it."""
    paid: int
    """What the LP vault or INSURANCE gave so that the group did not end below nothing."""
    tx_hash: str


class EquityPoint(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """What an account was worth at one moment, micro-USDC."""

    time: int
    equity: int
    balance: int
    """Cash, isolated margins included."""
    ratio: int
    """Worst margin ratio of its positions, parts of RATE; 0 without positions, at most 10 (also: no equity left)."""


class Transaction(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """One submitted action, accepted or refused by a business rule."""

    number: int
    height: int
    time: int
    hash: str
    signer: str
    address: str
    """Account it acted for."""
    action: str
    """action.type"""
    nonce: int
    code: int
    """txCode, 0 = success."""
    message: str


class Block(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """One block that holds transactions; empty ones are not kept (see Core.block_hash)."""

    height: int
    time: int
    hash: str
    first: int
    """Position of its first transaction in `History.transactions`."""
    count: int


class Log(msgspec.Struct, Generic[T]):
    """An append-only list of records with the positions of each account's own."""

    records: list[T] = []
    by_account: dict[str, list[int]] = {}

    def add(self, address: str, record: T) -> None:
        """Append a record of this account."""
        index = self.by_account.get(address)
        if index is None:
            index = self.by_account[address] = []
        index.append(len(self.records))
        self.records.append(record)

    def of(self, address: str) -> list[T]:
        """Return the records of one account, oldest first."""
        records = self.records
        return [records[at] for at in self.by_account.get(address, ())]


class History(msgspec.Struct):
    """What happened, in order; lists only grow."""

    orders: Log[VenueOrder] = msgspec.field(default_factory=Log)
    """Ended orders (FILLED, CANCELED, REJECTED), never touched again."""
    order_events: Log[OrderEvent] = msgspec.field(default_factory=Log)
    fills: dict[str, list[int]] = {}
    """Account → positions in `order_events.records` of its fills."""
    ledger: Log[Transfer] = msgspec.field(default_factory=Log)
    """Every movement of cash; indexed under each account whose balance it changed."""
    funding_rates: dict[int, list[FundingRate]] = {}
    funding_payments: Log[FundingPayment] = msgspec.field(default_factory=Log)
    closed_positions: Log[ClosedPosition] = msgspec.field(default_factory=Log)
    liquidations: Log[LiquidationStep] = msgspec.field(default_factory=Log)
    equity: dict[str, list[EquityPoint]] = {}
    """Account → samples of what it was worth; see `samples`."""
    trades: dict[int, list[PublicTrade]] = {}
    """By product code."""
    candles: dict[int, list[Candle]] = {}
    """One-minute candles by product code; only the last one still changes."""
    transactions: Log[Transaction] = msgspec.field(default_factory=Log)
    blocks: list[Block] = []

    def fills_of(self, address: str) -> list[OrderEvent]:
        """Return the fills of one account, oldest first."""
        records = self.order_events.records
        return [records[at] for at in self.fills.get(address, ())]


class Unsettled(msgspec.Struct):
    """An action that was let in and answered, and takes effect at `due`."""

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
    """ProductMeta rows by code, in wire names; Core.products holds the Product objects made from them."""
    margin_tables: dict[int, list[dict[str, str]]]
    """riskLimitVo rows by table id."""
    accounts: dict[str, VenueAccount] = field(default_factory=dict)
    markets: dict[int, MarketState] = field(default_factory=dict)
    history: History = field(default_factory=History)
    schedule: dict[str, int] = field(default_factory=dict)
    """Process name → time it is due next; absent = dormant."""
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
    """Money that came in from outside, ever; and that left."""
    withdrawals: int = 0
    liquidations: dict[str, Liquidation] = field(default_factory=dict)
    """Those under way, by "address:product"."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of the venue that rules may read."""
    permissions: PermissionState = field(default_factory=PermissionState)
    vaults: dict[str, Vault] = field(default_factory=dict)
    lp_vault: str = ""
    """Address of the vault that takes over liquidations."""
    referrals: Referrals = field(default_factory=Referrals)
    unsettled: list[Unsettled] = field(default_factory=list)
    """Answered actions that take effect later, when the venue settles with a delay."""
    laboratory: Laboratory = field(default_factory=Laboratory)
    simulation: Simulation | None = None
    """The simulated market; None when there is none."""
