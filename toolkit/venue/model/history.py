"""Append-only records: orders, fills, transfers of cash, trades, candles, transactions, blocks.

Units as in `state`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from .accounts import VenueOrder

T = TypeVar("T")

ROUND = "ROUNDING"
"""Business type of the remainder when the payer's amount is rounded up and the receiver's down."""


class LedgerEntry(NamedTuple):
    """One change of one balance: a transfer as one of its accounts sees it.

    Attributes
    ----------
    time : int
        Time of the venue, Unix ms.
    height : int
        Block that it belongs to.
    tx_hash : str
        Hash of the transaction or system step that caused it.
    address : str
        Account it belongs to.
    amount : int
        Change of the balance in micro-USDC, negative for the payer.
    product : int
        Code of the product, 0 where there is none.
    """

    id: int
    """Number of the transfer. Both sides carry the same one."""
    time: int
    height: int
    tx_hash: str
    address: str
    kind: str
    """Business type, e.g. TRADING_FEE, REALIZED_PNL, FUNDING, DEPOSIT."""
    amount: int
    balance: int
    """Balance after it."""
    product: int
    reference: str
    """The order id, vault, destination … it belongs to."""
    counterparty: str
    """The other side, "" where there is none."""


class Transfer(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """One movement of cash in double entry, in micro-USDC.

    The payer and the receiver each have an entry. The venue's rounding account has one too when the payer's amount was
    rounded up and the receiver's down.

    Attributes
    ----------
    id : int
        Number of the record in its list.
    time : int
        Time of the venue, Unix ms.
    height : int
        Block that it belongs to.
    tx_hash : str
        Hash of the transaction or system step that caused it.
    received : int
        What the receiver gets, in micro-USDC.
    receiver_balance : int
        Balance of the receiver after it.
    product : int
        Code of the product, 0 where there is none (default: 0).
    reference : str
        The order id, vault or destination that it belongs to.
    """

    id: int
    time: int
    height: int
    tx_hash: str
    kind: str
    """Business type of the payer's and the receiver's entry."""
    payer: str
    """"" = from outside the balances: a deposit, or what comes back from a position's isolated margin."""
    paid: int
    """At least what is received."""
    payer_balance: int
    """Its balance after it."""
    receiver: str
    """"" = leaves the balances: a withdrawal, or isolated margin for a position."""
    received: int
    receiver_balance: int
    product: int = 0
    reference: str = ""
    rounding_balance: int = 0
    """Balance of ROUNDING after it, where something was left by rounding."""

    def entry(self, address: str) -> LedgerEntry:
        """Return the change that this transfer made to one of its accounts.

        Parameters
        ----------
        address : str
            Payer, receiver or the rounding account.
        """
        kind, amount, balance, other = self.kind, self.paid - self.received, self.rounding_balance, self.payer
        if address == self.payer:
            amount, balance, other = -self.paid, self.payer_balance, self.receiver
        elif address == self.receiver:
            amount, balance = self.received, self.receiver_balance
        else:
            kind = ROUND
        step = self.id, self.time, self.height, self.tx_hash
        return LedgerEntry(*step, address, kind, amount, balance, self.product, self.reference, other)


class OrderEvent(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """One step in the life of an order.

    A fill is an event with an exec_id.

    Attributes
    ----------
    id : int
        Number of the record in its list.
    time : int
        Time of the venue, Unix ms.
    height : int
        Block that it belongs to.
    tx_hash : str
        Hash of the transaction or system step that caused it.
    address : str
        Account it belongs to.
    product : int
        Code of the product, 0 where there is none.
    order_id : int
        Number of the order.
    client_id : int
        clOrdId, 0 = none.
    side : int
        +1 buys, −1 sells.
    closing : bool
        True for the sides that close a leg of a hedge.
    type : int
        Member of OrderType.
    tif : int
        Member of TimeInForce.
    reduce : int
        0, REDUCE_ONLY, TP_FROM_POSITION or SL_FROM_POSITION.
    quantity : int
        Ordered steps.
    trigger : int
        Trigger price in ticks, 0 = none.
    slippage : int
        Allowed slippage of a market order, parts of RATE.
    fill_price : int
        Price of the fill in ticks (default: 0).
    fill_quantity : int
        Filled steps (default: 0).
    pnl : int
        Realised profit in micro-USDC, before fees and funding (default: 0).
    close_fee : int
        Fee on the part that closed (negative = received), in micro-USDC (default: 0).
    builder_fee : int
        Fee that the builder got, in micro-USDC (default: 0).
    long_term : int
        Number of the long leg's life that the fill opened or closed, 0 = none (default: 0).
    short_term : int
        Number of the short leg's life that the fill opened or closed, 0 = none (default: 0).
    reason : str
        Why it was cancelled or rejected, in words.
    """

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
    """Number of the trade. Both sides carry the same one. 0 = not a fill."""
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
    """One public trade.

    Attributes
    ----------
    id : int
        Number of the trade. Both sides' fills carry it.
    time : int
        Time of the venue, Unix ms.
    product : int
        Code of the product, 0 where there is none.
    price : int
        Price in ticks.
    quantity : int
        Steps.
    """

    id: int
    time: int
    product: int
    side: int
    """Of the taker."""
    price: int
    quantity: int
    tx_hash: str
    """"" where only simulated participants traded. `hash` has it then too."""

    @property
    def hash(self) -> str:
        """Hash of its transaction. That of a simulated trade follows from the trade and is not stored."""
        if self.tx_hash:
            return self.tx_hash
        text = b"trade:%d:%d:%d:%d:%d" % (self.product, self.id, self.time, self.price, self.quantity)
        return "0x" + hashlib.sha256(text).hexdigest()


class Candle(msgspec.Struct, array_like=True, gc=False):
    """One minute of one product.

    Other intervals are added up from these. Minutes without trades have none.

    Attributes
    ----------
    open : int
        First price in ticks.
    high : int
        Highest price in ticks.
    low : int
        Lowest price in ticks.
    close : int
        Last price in ticks.
    count : int
        Number of trades.
    """

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

    def add(self, later: Candle) -> None:
        """Add a candle that follows this one.

        Parameters
        ----------
        later : Candle
            Candle of a later time. Its open is not needed.
        """
        if later.high > self.high:
            self.high = later.high
        if later.low < self.low:
            self.low = later.low
        self.close = later.close
        self.volume += later.volume
        self.turnover += later.turnover
        self.count += later.count


class FundingRate(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """Funding settled for one product.

    Attributes
    ----------
    time : int
        Time of the settlement, Unix ms.
    product : int
        Code of the product, 0 where there is none.
    mark : int
        Mark price in ticks.
    oracle : int
        Oracle price in ticks.
    """

    time: int
    product: int
    rate: int
    """Parts of RATE, for the interval."""
    mark: int
    oracle: int
    premium: int
    """Parts of RATE."""


class FundingPayment(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """Funding paid or received by one leg of one account.

    Attributes
    ----------
    id : int
        Number of the record in its list.
    time : int
        Time of the venue, Unix ms.
    address : str
        Account it belongs to.
    product : int
        Code of the product, 0 where there is none.
    side : int
        +1 for the long leg, −1 for the short one.
    size : int
        Steps of the leg.
    rate : int
        Rate of the interval, in parts of RATE.
    tx_hash : str
        Hash of the transaction or system step that caused it.
    """

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
    """One leg's life from flat to flat.

    Attributes
    ----------
    id : int
        Number of the record in its list.
    time : int
        Time of the venue, Unix ms.
    address : str
        Account it belongs to.
    product : int
        Code of the product, 0 where there is none.
    side : int
        +1 for the long leg, −1 for the short one.
    term : int
        Number of the leg's life.
    entry_value : int
        Value at which it was opened, in micro-USDC.
    close_value : int
        Value at which it was closed, in micro-USDC.
    pnl : int
        Realised profit in micro-USDC, before fees and funding.
    fees : int
        Trading fees paid, in micro-USDC.
    funding : int
        Funding received (negative = paid), in micro-USDC.
    leverage : int
        Leverage setting at the end, in hundredths.
    opened : int
        When it opened, Unix ms.
    """

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
    """One part of a liquidated position, where it went, and the cost to each side.

    Attributes
    ----------
    id : int
        Number of the record in its list.
    time : int
        Time of the venue, Unix ms.
    address : str
        Account it belongs to.
    product : int
        Code of the product, 0 where there is none.
    quantity : int
        Steps that were closed.
    mark : int
        Mark price in ticks.
    tx_hash : str
        Hash of the transaction or system step that caused it.
    """

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
    """Account that took it, "" in the book."""
    equity: int
    """Equity of the position's margin group before it."""
    paid: int
    """Amount the LP vault or INSURANCE paid so that the group did not end below zero."""
    tx_hash: str


class EquityPoint(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """The equity of an account at one moment, micro-USDC.

    Attributes
    ----------
    time : int
        Time of the venue, Unix ms.
    equity : int
        Equity with unrealised profit.
    """

    time: int
    equity: int
    balance: int
    """Cash, isolated margins included."""
    ratio: int
    """Worst margin ratio of its positions, parts of RATE, 0 without positions, at most 10 (also: no equity left)."""


class Transaction(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """One submitted action, accepted or refused by a business rule.

    Attributes
    ----------
    number : int
        Number of the step. Refused requests and controls count too.
    height : int
        Block that it belongs to.
    time : int
        Time of the venue, Unix ms.
    hash : str
        Hash of the transaction.
    signer : str
        Address that signed.
    nonce : int
        Nonce of the request, in ms.
    message : str
        Reason of a refusal, "" for success.
    """

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
    data: dict[str, Any] | None = None
    """Data returned by an action that took effect after its answer. The order events have the results of orders."""


class Block(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """One block that holds transactions.

    Empty ones are not kept (see Core.block_hash).

    Attributes
    ----------
    height : int
        Number of the block.
    time : int
        End of the block, Unix ms.
    hash : str
        Hash of the block, made from those of its transactions.
    count : int
        Number of its transactions.
    """

    height: int
    time: int
    hash: str
    first: int
    """Position of its first transaction in `History.transactions`."""
    count: int


CHUNK = 4_096
"""Records that are kept elsewhere, and fetched, together."""


class Records(Sequence[T]):
    """An append-only list of which full chunks lie elsewhere (a journal's file) and are fetched when they are read.

    Parameters
    ----------
    names : list of bytes
        Names of the chunks that lie elsewhere, oldest first. Each has 4,096 records.
    recent : list of T
        Records after them.
    fetch : callable
        Returns the records of a chunk by its name.
    """

    def __init__(self, names: list[bytes], recent: list[T], fetch: Callable[[bytes], list[T]]) -> None:
        self.parts = names, recent
        """The names of the chunks, and the records after them. Replaced as one, so that readers need no lock."""
        self._fetch = fetch
        self._last: tuple[int, list[T]] = -1, []

    def append(self, record: T) -> None:
        """Add a record.

        Parameters
        ----------
        record : T
            Record that follows all others.
        """
        self.parts[1].append(record)

    def keep(self, name: bytes) -> None:
        """Forget the oldest chunk that is held, which lies elsewhere under this name now.

        Parameters
        ----------
        name : bytes
            Name under which `fetch` returns the chunk.
        """
        names, recent = self.parts
        self.parts = [*names, name], recent[CHUNK:]

    def __len__(self) -> int:
        return len(self.parts[0]) * CHUNK + len(self.parts[1])

    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        names, recent = self.parts
        kept = len(names) * CHUNK
        at += kept + len(recent) if at < 0 else 0
        if at >= kept or at < 0:
            return recent[at - kept if at >= 0 else len(recent)]
        # The last chunk is held, because readers move through neighbouring records. Number and records are replaced
        # together, so that a reader in another thread never sees one without the other.
        number, last = at // CHUNK, self._last
        if last[0] != number:
            self._last = last = number, self._fetch(names[number])
        return last[1][at % CHUNK]


class Log(msgspec.Struct, Generic[T], forbid_unknown_fields=True):
    """An append-only list of records with the positions of each account's own.

    Attributes
    ----------
    records : list of T
        All records, oldest first.
    by_account : dict of str to list of int
        Account → positions of its records.
    """

    records: list[T] = []
    by_account: dict[str, list[int]] = {}

    def add(self, address: str, record: T) -> None:
        """Append a record of this account.

        Parameters
        ----------
        address : str
            Account in lower case.
        record : T
            Record that follows all others.
        """
        records = self.records
        try:
            self.by_account[address].append(len(records))
        except KeyError:
            self.by_account[address] = [len(records)]
        records.append(record)

    def of(self, address: str) -> list[T]:
        """Return the records of one account, oldest first.

        Parameters
        ----------
        address : str
            Account in lower case.
        """
        records = self.records
        return [records[at] for at in self.by_account.get(address, ())]


class History(msgspec.Struct, forbid_unknown_fields=True):
    """All records of a venue, in order.

    Lists only grow.

    Attributes
    ----------
    order_events : Log of OrderEvent
        Every step in the life of every order of accounts that keep history.
    funding_rates : dict of int to list of FundingRate
        Product code → its settled rates.
    funding_payments : Log of FundingPayment
        Payments of every settlement.
    closed_positions : Log of ClosedPosition
        Legs that ended.
    liquidations : Log of LiquidationStep
        Parts of liquidated positions.
    transactions : Log of Transaction
        Submitted actions.
    blocks : list of Block
        Blocks that hold transactions.
    """

    orders: Log[VenueOrder] = msgspec.field(default_factory=Log)
    """Ended orders (FILLED, CANCELED, REJECTED), never touched again."""
    order_events: Log[OrderEvent] = msgspec.field(default_factory=Log)
    fills: dict[str, list[int]] = {}
    """Account → positions in `order_events.records` of its fills."""
    ledger: Log[Transfer] = msgspec.field(default_factory=Log)
    """Every movement of cash, indexed under each account whose balance it changed."""
    funding_rates: dict[int, list[FundingRate]] = {}
    funding_payments: Log[FundingPayment] = msgspec.field(default_factory=Log)
    closed_positions: Log[ClosedPosition] = msgspec.field(default_factory=Log)
    liquidations: Log[LiquidationStep] = msgspec.field(default_factory=Log)
    equity: dict[str, list[EquityPoint]] = {}
    """Account → its equity samples. See `risk.equity_curve`."""
    trades: dict[int, list[PublicTrade]] = {}
    """By product code."""
    candles: dict[int, list[Candle]] = {}
    """One-minute candles by product code. Only the last one still changes."""
    transactions: Log[Transaction] = msgspec.field(default_factory=Log)
    blocks: list[Block] = []

    def fills_of(self, address: str) -> list[OrderEvent]:
        """Return the fills of one account, oldest first.

        Parameters
        ----------
        address : str
            Account in lower case.
        """
        records = self.order_events.records
        return [records[at] for at in self.fills.get(address, ())]

    def lists(self) -> Iterator[tuple[Any, Any]]:
        """Yield the long lists of records: what holds each, and under which name or key."""
        for log in (self.orders, self.order_events, self.ledger, self.funding_payments, self.transactions):
            yield log, "records"
        yield from ((self.trades, code) for code in self.trades)
        yield self, "blocks"
