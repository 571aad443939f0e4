"""An account with its positions and live orders.

Units as in `state`. Objects that change often are slotted dataclasses, because writing their attributes is faster.
Objects that are created often are Structs, because creating them is faster.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from .constants import CROSS, NEW, NORMAL, ONE_WAY, UNTRIGGERED


class VenueOrder(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """One order, from acceptance to its end.

    Live ones are in `VenueAccount.orders`, ended ones in `History.orders`.

    Attributes
    ----------
    id : int
        Number of the order, unique in the venue.
    product : int
        Code of the product.
    type : int
        Member of OrderType.
    tif : int
        Member of TimeInForce.
    filled : int
        Steps filled so far (default: 0).
    status : int
        Member of OrderStatus.
    triggered : bool
        True once its trigger price was reached (default: `False`).
    created : int
        Time of acceptance, Unix ms (default: 0).
    updated : int
        Time of the last change, Unix ms (default: 0).
    """

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
    """Ordered steps, 0 until a whole-position TP/SL triggers."""
    leaves: int
    """Steps still open. Always filled + cancelled + leaves = quantity."""
    filled: int = 0
    value: int = 0
    """Sum of filled value, micro-USDC."""
    fee: int = 0
    """Sum of fees paid (negative = received), without builder fees."""
    fee_parts: int = 0
    """The exact fee beyond whole micro-USDC, in parts of micro-USDC / RATE. The next fill is rounded with it."""
    status: int = NEW
    client_id: int = 0
    """clOrdId, 0 = none."""
    parent: int = 0
    """parentOrdId: the bracket's main order (or what the user wrote), 0 = none."""
    trigger: int = 0
    """Trigger price in ticks, 0 = none."""
    trigger_by: int = 0
    """LAST_PRICE, MARK_PRICE or INDEX_PRICE, 0 = no trigger."""
    trigger_up: bool = False
    """True: triggers at price ≥ trigger, False: at ≤."""
    armed: bool = True
    """False while a bracket's child waits for its parent's first fill."""
    triggered: bool = False
    whole: bool = False
    """True once an exit of quantity 0 has triggered: at every try it closes what the position then is."""
    tried: tuple[int, int, int, int] = (0, 0, 0, 0)
    """The market state at the last failed try of a triggered exit. See `trading.lifecycle.prospects`."""
    group: int = 0
    """Bracket it belongs to (id of the main order, which has it too), 0 = none. Its TP and SL cancel each other."""
    cover: int = 0
    """Steps that the main order has opened so far, for a TP/SL of a bracket."""
    slippage: int = 0
    """Allowed slippage of a market order, parts of RATE, 0 = the default."""
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
    """The long or the short half of a position, with the sums of its present life (from flat to flat).

    Attributes
    ----------
    size : int
        Steps held now. 0 is flat (default: 0).
    opened_by : int
        Number of the trade that opened it (default: 0).
    entered_value : int
        Value at which `entered` steps were added, in micro-USDC (default: 0).
    closed_value : int
        Value at which `closed` steps were closed, in micro-USDC (default: 0).
    """

    size: int = 0
    value: int = 0
    """Entry value, micro-USDC (price is value / size)."""
    term: int = 0
    """Number of its life: grows by one each time it opens from flat."""
    opened: int = 0
    """When it opened, and by which trade: its age, also within one millisecond."""
    opened_by: int = 0
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

    def close(self, steps: int, value_micro: int, long: bool) -> int:
        """Close a part for `value_micro`.

        Return the realised profit in micro-USDC.

        The entry value goes down in proportion, rounded down. The remainder stays with the leg.

        Parameters
        ----------
        steps : int
            Steps to close, at most `size`.
        value_micro : int
            Value of these steps at the closing price, in micro-USDC.
        long : bool
            True for the long leg. A short one profits from a lower value.
        """
        # The last part takes the whole remaining entry value, so that rounding leaves nothing in a flat leg.
        entry = self.value if steps == self.size else self.value * steps // self.size
        pnl = value_micro - entry if long else entry - value_micro
        self.size -= steps
        self.value -= entry
        self.closed += steps
        self.closed_value += value_micro
        self.pnl += pnl
        return pnl

    def grow(self, steps: int, value_micro: int, time_ms: int, exec_id: int) -> None:
        """Add steps.

        From flat, a new term begins.

        Parameters
        ----------
        steps : int
            Steps to add.
        value_micro : int
            Value of these steps at the trade's price, in micro-USDC.
        time_ms : int
            Time of the trade, Unix ms.
        exec_id : int
            Number of the trade.
        """
        if not self.size:
            self.term += 1
            self.opened, self.opened_by = time_ms, exec_id
            self.entered = self.entered_value = self.closed = self.closed_value = 0
            self.pnl = self.fees = self.funding = 0
        self.size += steps
        self.value += value_micro
        self.entered += steps
        self.entered_value += value_micro


@dataclass(slots=True)
class Position:
    """One account in one product: both legs, its settings, and what its resting orders could add.

    Attributes
    ----------
    product : int
        Code of the product.
    long : Leg
        The long half.
    short : Leg
        The short half. One-way accounts have at most one that is not flat.
    buy_value : int
        Value of `buy_quantity` at order price, in micro-USDC (default: 0).
    sell_quantity : int
        Steps of resting sell orders that may open or grow a position (default: 0).
    sell_value : int
        Value of `sell_quantity` at order price, in micro-USDC (default: 0).
    sell_reducing : int
        Steps of resting sell orders that may only reduce (default: 0).
    fees : int
        Trading fees paid since the account began, in micro-USDC (default: 0).
    funding : int
        Funding received since the account began (negative = paid), in micro-USDC (default: 0).
    created : int
        When the account first touched the product, Unix ms (default: 0).
    updated : int
        Time of the last change, Unix ms (default: 0).
    """

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
    """Steps of resting orders that may only reduce (reduce-only, TP/SL, hedge closes), never above the opposite leg."""
    sell_reducing: int = 0
    traded: int = 0
    """When an order of its account last traded it (Unix ms). Liquidation and deleveraging are not its orders."""
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
    """One account: master wallets, vaults, simulated participants and the venue's own books.

    Attributes
    ----------
    address : str
        Address in lower case.
    position_mode : int
        ONE_WAY or HEDGE.
    status : int
        NORMAL or LIQUIDATING.
    created : int
        When it was opened, Unix ms (default: 0).
    updated : int
        Time of the last change, Unix ms (default: 0).
    taker_rate : int or None
        Own taker rate in parts of RATE. `None` means by volume.
    """

    address: str
    kind: str = "user"
    """user, vault, market (simulated participant, keeps no order history) or venue (fees, rounding, insurance …)."""
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
    """The account's own fee rates, parts of RATE, None = by volume."""
    taker_rate: int | None = None
    faucet_time: int = 0
    """Last faucet claim, 0 = never."""
