"""The state of a venue: everything that is hashed, dumped and replayed.

Only ints, strings, bools, None and containers of them. Units: prices in ticks, quantities in steps, money in
micro-USDC (1e-6), times in int milliseconds, rates in parts of `RATE` (1e-8), leverage in hundredths. Addresses are
lower-case 0x text. The Core keeps what can be rebuilt from it (books, trigger queues, Product objects).

Vault shares are counted in millionths. Rules that need state add a separate class here, and a field with a default to
`State`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec

from .accounts import VenueAccount
from .genesis import Config, Genesis
from .history import History
from .market import Simulation


class Approval(msgspec.Struct):
    """One approveAgent: an agent may trade for its master until it expires, unless the approval was ended before.

    Attributes
    ----------
    id : int
        Number of the record in its list.
    master : str
        Account that the agent trades for.
    agent : str
        Address of the agent's wallet.
    name : str
        Name of the agent, chosen by the master.
    approved : int
        When it was approved, Unix ms.
    height : int
        Block that it belongs to.
    tx_hash : str
        Hash of the transaction that made it.
    expires : int
        Last time at which it is valid, Unix ms.
    ended_height : int
        Block in which it was ended (default: 0).
    ended_tx : str
        Hash of the transaction that ended it.
    """

    id: int
    master: str
    agent: str
    name: str
    approved: int
    height: int
    tx_hash: str
    expires: int
    ended: int = 0
    """Time it was revoked or replaced, 0 = neither."""
    ended_height: int = 0
    ended_tx: str = ""
    replaced: bool = False
    """True when another approval of the same name ended it."""

    def active(self, now: int) -> bool:
        """Return whether the agent may act at `now`.

        Parameters
        ----------
        now : int
            Time to judge it at, Unix ms.
        """
        return not self.ended and now <= self.expires


class Grant(msgspec.Struct):
    """One approveAgentToBuilder: a builder's agent may place orders for a trader.

    Attributes
    ----------
    id : int
        Number of the record in its list.
    trader : str
        Account that the orders are for.
    agent : str
        Address of the builder's agent.
    builder : str
        Address of the builder's account.
    cap : int
        Highest builder fee of a fill, in parts of RATE.
    approved : int
        When it was approved, Unix ms.
    tx_hash : str
        Hash of the transaction that made it.
    expires : int
        Last time at which it is valid, Unix ms.
    ended : int
        Time it was revoked or replaced, Unix ms, 0 = neither (default: 0).
    ended_tx : str
        Hash of the transaction that ended it.
    replaced : bool
        True when another grant ended it (default: `False`).
    """

    id: int
    trader: str
    agent: str
    builder: str
    cap: int
    approved: int
    tx_hash: str
    expires: int
    ended: int = 0
    ended_tx: str = ""
    replaced: bool = False

    def active(self, now: int) -> bool:
        """Return whether the builder's agent may act at `now`.

        Parameters
        ----------
        now : int
            Time to judge it at, Unix ms.
        """
        return not self.ended and now <= self.expires


class Builder(msgspec.Struct):
    """One registered builder.

    Attributes
    ----------
    address : str
        Account of the builder.
    name : str
        Name that it registered.
    registered : int
        When it registered, Unix ms.
    """

    address: str
    name: str
    registered: int


class PermissionState(msgspec.Struct):
    """All approvals, grants and builders.

    The lists only grow, the indexes hold positions in them.

    Attributes
    ----------
    approvals : list of Approval
        All approvals, oldest first.
    by_agent : dict of str to list of int
        Agent → positions of its approvals.
    by_master : dict of str to list of int
        Master → positions of the approvals that it gave.
    grants : list of Grant
        All grants, oldest first.
    grants_by_agent : dict of str to list of int
        Builder's agent → positions of its grants.
    grants_by_trader : dict of str to list of int
        Trader → positions of the grants that it gave.
    grants_by_builder : dict of str to list of int
        Builder → positions of its grants.
    builders : dict of str to Builder
        Account → builder.
    """

    approvals: list[Approval] = []
    by_agent: dict[str, list[int]] = {}
    by_master: dict[str, list[int]] = {}
    grants: list[Grant] = []
    grants_by_agent: dict[str, list[int]] = {}
    grants_by_trader: dict[str, list[int]] = {}
    grants_by_builder: dict[str, list[int]] = {}
    builders: dict[str, Builder] = {}


class Holding(msgspec.Struct):
    """The shares of one depositor in one vault.

    Attributes
    ----------
    shares : int
        Shares held, in millionths (default: 0).
    locked_until : int
        Until when they can't be withdrawn, Unix ms (default: 0).
    """

    shares: int = 0
    cost: int = 0
    """Amount paid for the shares, at average cost."""
    since: int = 0
    """First deposit."""
    locked_until: int = 0


class VaultEvent(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """One deposit, withdrawal or other step in the life of a vault.

    Attributes
    ----------
    id : int
        Number of the record in its list.
    time : int
        Time of the venue, Unix ms.
    height : int
        Block that it belongs to.
    tx_hash : str
        Hash of the transaction that made it.
    kind : str
        Kind of the event, as on the wire.
    address : str
        Depositor, or the vault that received or gave.
    amount : int
        Money that moved, in micro-USDC.
    shares : int
        Shares that were made or ended, in millionths.
    """

    id: int
    time: int
    height: int
    tx_hash: str
    kind: str
    address: str
    amount: int
    shares: int
    price: int
    """Price of a share after it, micro-USDC. If the event ended the last shares, the price that was paid for them."""
    fee: int = 0
    """The leader's part of the gain."""


class Vault(msgspec.Struct):
    """One vault.

    Its cash and positions are the account of the same address.

    Attributes
    ----------
    address : str
        Address of the vault and its account.
    owner : str
        Account of its leader.
    name : str
        Name of the vault.
    description : str
        Description by its leader.
    created : int
        When it was opened, Unix ms.
    children : list of str
        Addresses of its sub-vaults.
    closed : int
        When it was closed, Unix ms, 0 = open (default: 0).
    is_lp : bool
        True for the vault that takes over liquidations (default: `False`).
    shares : int
        All its shares, in millionths (default: 0).
    holders : dict of str to Holding
        Depositor → holding.
    events : list of VaultEvent
        Its events, oldest first.
    """

    address: str
    owner: str
    name: str
    description: str
    created: int
    parent: str = ""
    """The vault that this one is a part of, "" for a vault of no other."""
    received: bool = False
    """True once it was handed over: it does not count as one that its owner has opened."""
    children: list[str] = []
    closed: int = 0
    is_lp: bool = False
    shares: int = 0
    holders: dict[str, Holding] = {}
    reserve: int = 0
    """Cash set aside for withdrawals. The venue's account `vaults` holds it, so it is no margin for positions."""
    events: list[VaultEvent] = []
    samples: list[tuple[int, int, int, int]] = []
    """Hourly (time, net asset value, price of a share in micro-USDC, profit since creation)."""
    paid_in: int = 0
    """Deposits − withdrawals (of a sub-vault: received − given). Net asset value minus this is profit."""


class ReferredDay(msgspec.Struct, array_like=True, gc=False):
    """One invitee's volume and fees of one UTC day, and what they earned its inviters.

    Attributes
    ----------
    volume : int
        Traded notional in micro-USDC (default: 0).
    fees : int
        Trading fees paid, in micro-USDC (default: 0).
    reward : int
        Rebate of its inviter, in micro-USDC (default: 0).
    second_reward : int
        Rebate of the inviter's inviter, in micro-USDC (default: 0).
    """

    volume: int = 0
    fees: int = 0
    reward: int = 0
    second_reward: int = 0


class Referral(msgspec.Struct):
    """One account as inviter and invitee.

    Attributes
    ----------
    code : str
        Its referral code.
    inviter : str
        Account that invited it, "" for none.
    bound : int
        When it was bound to the inviter, Unix ms (default: 0).
    invited : list of str
        Accounts that it invited.
    rate_day : int
        UTC day number on which `rate` was computed, −1 = never (default: -1).
    """

    code: str
    inviter: str = ""
    bound: int = 0
    invited: list[str] = []
    days: dict[int, ReferredDay] = {}
    """UTC day number → its volume, fees and rewards as an invitee."""
    due: dict[str, int] = {}
    """Payer of fees → rebates earned from it and not yet paid out."""
    rate_day: int = -1
    rate: int = 0
    """Rebate rate of the first tier, parts of RATE, computed on the day `rate_day`."""


class Payout(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """One part of a daily payment of referral rebates.

    Attributes
    ----------
    id : int
        Number of the record in its list.
    time : int
        Time of the venue, Unix ms.
    address : str
        Account that was paid.
    source : str
        Payer of the fees.
    tier : int
        1 for own invitees, 2 for theirs.
    amount : int
        Rebate in micro-USDC.
    tx_hash : str
        Hash of the transaction that made it.
    """

    id: int
    time: int
    address: str
    source: str
    tier: int
    amount: int
    tx_hash: str


class Referrals(msgspec.Struct):
    """All invitations, and the rewards paid for them.

    Attributes
    ----------
    accounts : dict of str to Referral
        Account → its invitations.
    payouts : list of Payout
        All payouts, oldest first.
    by_account : dict of str to list of int
        Account → positions of its payouts.
    """

    accounts: dict[str, Referral] = {}
    codes: dict[str, str] = {}
    """Code → account."""
    payouts: list[Payout] = []
    by_account: dict[str, list[int]] = {}


class RecordedMarket(msgspec.Struct):
    """A market whose prices, levels and trades come from a recording or from another venue, by product code.

    Attributes
    ----------
    products : list of int
        Codes of the products that are recorded or followed.
    indexes : dict of int to int
        Recorded index prices in ticks.
    """

    products: list[int] = []
    queue: str = "risk-averse"
    """Queue model of the orders that wait among recorded ones."""
    fronts: dict[int, tuple[int, int]] = {}
    """Order id → quantity ahead of it, and quantity traded there since the level changed, in 1e-6 steps."""
    marks: dict[int, int] = {}
    """Recorded mark prices in ticks. The venue computes the mark of any other product."""
    indexes: dict[int, int] = {}


class Limit(msgspec.Struct, frozen=True):
    """A limit of requests.

    Attributes
    ----------
    count : int
        Largest number of requests within `span`.
    span : int
        Length of the window in ms.
    """

    count: int
    span: int


class Group(msgspec.Struct):
    """The accounts of a class, which could hand money to each other."""

    members: dict[str, int] = {}
    """Account → what it gained from the others by trades away from the mark, in micro-USDC."""
    apart_ms: int = 1_000
    """How long an order of one must have rested before an order of another can meet it."""


class Laboratory(msgspec.Struct):
    """Interventions that stay in force until they are taken back."""

    disabled: list[str] = []
    """Action types that are switched off (code 40280)."""
    opened: list[str] = []
    """Optional action types (`Action.optional`) that the operator has opened. The others are refused (40280)."""
    banned: list[str] = []
    """Addresses whose every request is refused (code 40281)."""
    closed: list[str] = []
    """Peers (addresses of callers, "" for everyone) that are not served (code 40006)."""
    limits: dict[str, Limit] = {}
    """Action type, "info" or "" (each action without its own) → limit of each address (code 40220)."""
    scripts: dict[int, list[tuple[int, int]]] = {}
    """Product → future (time, oracle price in ticks), in order. A price of 0 releases the oracle."""
    group: Group | msgspec.UnsetType = msgspec.UNSET
    """The accounts of a class. Unset, it is not in a dump, as before there were classes."""


@dataclass(slots=True)
class MarketState:
    """The market of one product.

    Prices in ticks, 0 = not known yet.

    Attributes
    ----------
    product : int
        Code of the product.
    mark : int
        Mark price (default: 0).
    trades : int
        Number of public trades so far (default: 0).
    paused : bool
        True while orders are refused (default: `False`).
    samples : int
        Number of premium samples since the last settlement (default: 0).
    """

    product: int
    oracle: int = 0
    """Index price."""
    mark: int = 0
    last: int = 0
    """Price of the last trade (before the first one: the oracle price)."""
    open_interest: int = 0
    """Steps of all longs (= of all shorts)."""
    sequence: int = 0
    """Changes of the book by orders so far."""
    trades: int = 0
    paused: bool = False
    external: int = 0
    """Mid price of other venues' perpetuals, 0 = none."""
    depth: int = 0
    """Usual notional of one side of its book within the band of the mark, micro-USDC, 0 = not known."""
    beyond: int = 0
    """Median of the mark's prices while it is outside of the band, so that the mark is the band's edge. 0 = inside."""
    pinned: bool = False
    """True while an intervention holds the oracle price, so that it does not follow its source."""
    basis: list[int | None] = field(default_factory=list)
    """Latest samples of bid + ask − 2·oracle, oldest first, None where the book had an empty side."""
    book: list[int | None] = field(default_factory=list)
    """Latest medians of bid, ask and last."""
    premium: int = 0
    """Sum of the premium samples since the last settlement, parts of 1e-12, and their number."""
    samples: int = 0
    funding_rate: int = 0
    """Rate of the last settlement, parts of RATE."""


class Liquidation(msgspec.Struct):
    """A liquidation in progress: of an isolated position, or of all cross positions of an account.

    Attributes
    ----------
    address : str
        Account that is being liquidated.
    started : int
        When it began, Unix ms.
    """

    address: str
    product: int
    """0 = the cross positions."""
    started: int
    next: int
    """When the next slice is closed."""
    marks: dict[int, int] = {}
    """Product → mark, in ticks, at which the positions were last healthy."""


class NonceWindow(msgspec.Struct):
    """Used nonces of one signer: the largest ones, ascending.

    Attributes
    ----------
    used : list of int
        Up to 1,000 nonces in ms.
    """

    used: list[int] = []


class Unsettled(msgspec.Struct):
    """An action that was accepted and answered, and takes effect later.

    Attributes
    ----------
    due : int
        When it takes effect, Unix ms.
    tx_hash : str
        Hash that the answer named.
    action : dict of str to object
        The action as JSON.
    signer : str
        Address that signed.
    nonce : int
        Nonce of the request, in ms.
    account : str
        Account that it acts for, before a vault is entered.
    vault : str or None
        Vault that the request acts for, `None` for none.
    builder : str or None
        Builder of a builder action, `None` for none.
    """

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
    """The whole state of one venue.

    Attributes
    ----------
    seed : int
        Seed of all chance.
    genesis_time : int
        First time of the venue, Unix ms.
    time : int
        Present time, Unix ms.
    accounts : dict of str to VenueAccount
        Address → account.
    markets : dict of int to MarketState
        Product code → market.
    history : History
        Append-only records.
    nonces : dict of str to NonceWindow
        Signer → used nonces.
    last_order : int
        Number of the latest order (default: 0).
    last_priority : int
        Latest place in time of a resting order (default: 0).
    last_exec : int
        Number of the latest trade (default: 0).
    config : Config
        Numbers that were chosen at genesis.
    withdrawals : int
        All money that ever left, in micro-USDC (default: 0).
    permissions : PermissionState
        Agents and builders.
    vaults : dict of str to Vault
        Address → vault.
    referrals : Referrals
        Invitations and rebates.
    laboratory : Laboratory
        Interventions in force.
    """

    seed: int | str
    genesis_time: int
    time: int
    block_ms: int
    """Length of a block. The height is 1 + (time − genesis_time) // block_ms."""
    products: dict[int, dict[str, Any]]
    """ProductMeta rows by code, in wire names. `Core.products` has the Product objects."""
    margin_tables: dict[int, list[dict[str, str]]]
    """riskLimitVo rows by table id."""
    accounts: dict[str, VenueAccount] = field(default_factory=dict)
    markets: dict[int, MarketState] = field(default_factory=dict)
    history: History = field(default_factory=History)
    schedule: dict[str, int] = field(default_factory=dict)
    """Process name → time it is due next. A process that sleeps is absent."""
    nonces: dict[str, NonceWindow] = field(default_factory=dict)
    random: int = 0
    """The seed as 64 bits, 0 if secret. No rule draws from it: random numbers follow from the seed by their place."""
    transactions: int = 0
    """Transactions and system steps so far, part of every transaction hash."""
    last_order: int = 0
    last_priority: int = 0
    last_exec: int = 0
    block_first: int = 0
    """Position in History.transactions where the open block begins."""
    config: Config = field(default_factory=Config)
    deposits: int = 0
    """All money that ever came in from outside, and below all money that left, in micro-USDC."""
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
    """The simulated market, None when there is none."""
    recorded: RecordedMarket | None = None
    """A market that is replayed or followed, None when there is none."""


def first_state(genesis: Genesis) -> State:
    """Return the first state of a genesis, before the rules have set up theirs.

    Parameters
    ----------
    genesis : Genesis
        How the venue begins.
    """
    state = State(
        seed=genesis.seed,
        genesis_time=genesis.time,
        time=genesis.time,
        block_ms=genesis.block_ms,
        products={int(row["code"]): dict(row) for row in genesis.products},
        margin_tables={table: [dict(row) for row in rows] for table, rows in genesis.margin_tables.items()},
        random=genesis.seed & 0xFFFF_FFFF_FFFF_FFFF if isinstance(genesis.seed, int) else 0,
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
