"""Margin groups: the positions that are liquidated together, and the record of each step of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

from ..engine.core import Core
from ..model.accounts import Leg, Position, VenueAccount
from ..model.constants import ISOLATED
from ..model.history import LiquidationStep
from ..risk import account_margin


class OpenLeg(NamedTuple):
    """The open long or short of a position.

    Attributes
    ----------
    position : Position
        Position that it is part of.
    side : int
        +1 for the long, −1 for the short.
    leg : Leg
        Its size and entry value.
    """

    position: Position
    side: int
    leg: Leg

    def value_micro(self, core: Core) -> int:
        """Return its notional at mark, in micro-USDC.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        """
        return self.leg.size * account_margin.mark_step(core, self.position.product)

    def gained_since(self, core: Core, marks: Mapping[int, int]) -> int:
        """Return what it has gained since some marks, in micro-USDC, negative for a loss.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        marks : mapping of int to int
            Product code → mark in ticks. A product without one counts as unchanged.
        """
        mark_ticks = core.state.markets[self.position.product].mark
        moved_ticks = mark_ticks - marks.get(self.position.product, mark_ticks)
        return self.side * moved_ticks * self.leg.size * core.risk_index.tables[self.position.product].unit


def open_legs(positions: Iterable[Position]) -> list[OpenLeg]:
    """Return the open legs of positions.

    Parameters
    ----------
    positions : iterable of Position
        Positions of one account.
    """
    return [
        OpenLeg(position, side, leg)
        for position in positions
        for side, leg in ((1, position.long), (-1, position.short))
        if leg.size
    ]


class MarginGroup(NamedTuple):
    """The positions of one account that share a margin: all on cross margin, or a single isolated one.

    Attributes
    ----------
    account : VenueAccount
        Account of the positions.
    """

    account: VenueAccount
    product: int
    """Product code of the isolated position, 0 = the cross positions."""

    @property
    def key(self) -> str:
        """Its key in `State.liquidations`."""
        return f"{self.account.address}:{self.product}"

    def figures(self, core: Core) -> account_margin.Figures:
        """Return its equity, initial and maintenance margin.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        """
        if self.product:
            return account_margin.isolated_margin(core, self.account.positions[self.product])
        return account_margin.cross_margin(core, self.account)

    def urgency(self, core: Core) -> tuple[Fraction, int, int]:
        """Return what orders the groups to be closed.

        The worst margin ratio comes first, then the oldest position.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        """
        equity, _, maintenance = self.figures(core)
        # equity in maintenance margins falls as the ratio rises, also where no equity is left and there is no ratio
        share = Fraction(equity, maintenance) if maintenance else Fraction(0)
        age = min(((each.leg.opened_by, -each.side) for each in self.open_legs()), default=(0, 0))
        return share, *age

    def open_legs(self) -> list[OpenLeg]:
        """Return its open legs."""
        if self.product:
            return open_legs([self.account.positions[self.product]])
        return open_legs(position for position in self.account.positions.values() if position.mode != ISOLATED)

    def equity_of(self, core: Core, target: OpenLeg) -> int:
        """Return the equity, micro-USDC, that closing a leg may use up: that of the whole group.

        When the group's equity is negative, a leg owes a part of it. A single leg owes all of it. Several legs owe it
        in proportion to their losses since the group was last healthy.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        target : OpenLeg
            Open leg of the group.
        """
        equity = self.figures(core).equity
        if equity >= 0:
            return equity
        # The losses since the marks of the last healthy check say which legs made the debt. An older profit must not
        # hide a leg's share.
        marks = core.state.liquidations[self.key].marks
        total = sum(max(0, -each.gained_since(core, marks)) for each in self.open_legs())
        return -(-equity * max(0, -target.gained_since(core, marks)) // total) if total else equity

    def bankruptcy_price(self, core: Core, target: OpenLeg) -> int:
        """Return the price in ticks at which closing a leg leaves the group nothing.

        It is rounded away from the trader. It may lie below 1 or above the product's highest price (see
        `margin.bankruptcy_price`).

        Parameters
        ----------
        core : Core
            State machine of the venue.
        target : OpenLeg
            Open leg of the group.
        """
        code = target.position.product
        step_tick_micro = target.leg.size * core.risk_index.tables[code].unit
        return core.state.markets[code].mark - target.side * (self.equity_of(core, target) // step_tick_micro)


def group_of(account: VenueAccount, position: Position) -> MarginGroup:
    """Return the margin group that a position of an account belongs to.

    Parameters
    ----------
    account : VenueAccount
        Account of the position.
    position : Position
        Its position in one product.
    """
    return MarginGroup(account, position.product if position.mode == ISOLATED else 0)


def record_step(
    core: Core,
    group: MarginGroup,
    target: OpenLeg,
    quantity_steps: int,
    destination: str,
    price_ticks: int,
    counterparty: str,
    equity_micro: int,
    paid_micro: int = 0,
) -> None:
    """Record where a part of a liquidated position went.

    See `LiquidationStep`.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    group : MarginGroup
        Group that is liquidated.
    target : OpenLeg
        Open leg of the group.
    quantity_steps : int
        Steps that were closed.
    destination : str
        BOOK, NETTED, LP_VAULT or ADL.
    price_ticks : int
        Price it was closed at, in ticks.
    counterparty : str
        Account that took it, "" in the book.
    equity_micro : int
        Equity of the group before it, in micro-USDC.
    paid_micro : int, optional
        What the LP vault or INSURANCE paid, in micro-USDC (default: 0).
    """
    log, position, address = core.state.history.liquidations, target.position, group.account.address
    mark_ticks, code = core.state.markets[position.product].mark, position.product
    what = core.state.time, address, code, position.mode, target.side, quantity_steps, destination
    cost = price_ticks, mark_ticks, counterparty, equity_micro, paid_micro
    log.add(address, LiquidationStep(len(log.records) + 1, *what, *cost, core.tx_hash()))
