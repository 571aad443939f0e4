"""Tables and indexes of the money rules that can be rebuilt from the state: margin tables, holders, what changed.

Nothing here is hashed or dumped, so its order must not decide the order of events: readers sort what they take from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from ...errors import InputError
from ...products import MICRO, VenueProduct
from .accounts import Position, VenueAccount
from .constants import OWN, RATE


class RiskTable:
    """The margin table, fees and sizes of one product as integers.

    Parameters
    ----------
    product : VenueProduct
        Product with its tiers, fees and sizes as Decimals.
    """

    def __init__(self, product: VenueProduct) -> None:
        self.product = product
        self.unit: int = product.unit
        self.max_notional: int = product.max_notional
        self.max_leverage: int = hundredths(product.max_leverage)
        self.maker_rate: int = whole(product.maker_fee_rate * RATE, f"{product.symbol}: defaultMakerFeeRate")
        self.taker_rate: int = whole(product.taker_fee_rate * RATE, f"{product.symbol}: defaultTakerFeeRate")
        rows: list[tuple[int, int, int]] = []
        leverages: list[tuple[int, int]] = []
        name = f"{product.symbol}: margin table {product.margin_table_id}"
        rate_below = deduction = 0
        for tier in product.tiers:
            floor = whole(tier.floor * MICRO, name)
            rate = whole(tier.maintenance_rate * RATE, name)
            # The deduction makes the margin continuous where a higher rate begins.
            deduction += floor * (rate - rate_below) if rows else 0
            # A notional belongs to the tier whose floor it exceeds; −1 lets the lowest tier include a notional of 0.
            bound = floor if rows else -1
            rows.append((bound, rate, deduction))
            own = self.max_leverage if tier.max_leverage is None else hundredths(tier.max_leverage)
            leverages.append((bound, min(own, self.max_leverage)))
            rate_below = rate
        self.rows: tuple[tuple[int, int, int], ...] = tuple(reversed(rows))
        """(floor, maintenance rate, deduction × RATE) from the highest tier down. The lowest has floor −1."""
        self.leverages: tuple[tuple[int, int], ...] = tuple(reversed(leverages))
        """(floor, leverage limit) likewise. No limit is above the product's own."""
        self.first_leverage: int = leverages[0][1] if leverages else self.max_leverage
        """Leverage limit up to a notional of `first_notional`: the end of the lowest tier, or the position limit."""
        self.first_notional: int = min([self.max_notional, *(floor for floor, _ in leverages[1:])])
        self.steepest: int = max((rate for _, rate, _ in rows), default=0)
        """Highest maintenance rate of any tier."""
        self.gentlest: int = min((rate for _, rate, _ in rows), default=0)
        """Smallest maintenance rate of any tier."""

    def maintenance(self, value_micro: int) -> int:
        """Return the maintenance margin of a notional, both in micro-USDC (see `margin.maintenance_margin`).

        Parameters
        ----------
        value_micro : int
            Notional in micro-USDC, 0 or more.
        """
        # Second form: the maintenance margin of a notional
        for floor, rate, deduction in self.rows:
            if value_micro > floor:
                return -((deduction - value_micro * rate) // RATE)  # rounded up, against the account
        return 0

    def leverage_limit(self, value_micro: int) -> int:
        """Return the highest leverage, in hundredths, that a notional allows.

        Parameters
        ----------
        value_micro : int
            Notional in micro-USDC, 0 or more.
        """
        for floor, leverage in self.leverages:
            if value_micro > floor:
                return leverage
        return self.max_leverage


class RiskIndex:
    """Tables and indexes of the money rules.

    Attributes
    ----------
    tables : dict of int to RiskTable
        Product code → its table.
    holders : dict of int to dict of str to VenueAccount
        Product code → accounts that hold a position in it, by address.
    clients : dict of int to set of str
        Product code → addresses of those of them that are not the venue's own.
    bands : dict of int to dict of str to (int, int)
        Product code → address → marks between which the holder is certainly healthy (see `liquidation`).
    loosened : list of (VenueAccount, Position, int)
        Account, position and order side whose resting orders may have to be reduced after the matching.
    touched : dict of str to VenueAccount
        Accounts whose balance or position changed since the last liquidation check.
    moved : dict of int to int
        Products whose mark changed since then → the mark before, in ticks.
    rates : dict of str to (int, int, int)
        Address → UTC day, maker rate and taker rate by volume, in parts of RATE.
    """

    __slots__ = ("bands", "clients", "holders", "loosened", "moved", "rates", "tables", "touched")

    def __init__(self) -> None:
        self.tables: dict[int, RiskTable] = {}
        self.holders: dict[int, dict[str, VenueAccount]] = {}
        self.clients: dict[int, set[str]] = {}
        self.bands: dict[int, dict[str, tuple[int, int]]] = {}
        self.touched: dict[str, VenueAccount] = {}
        self.loosened: list[tuple[VenueAccount, Position, int]] = []
        self.moved: dict[int, int] = {}
        self.rates: dict[str, tuple[int, int, int]] = {}

    def rebuild_products(self, products: Mapping[int, VenueProduct], marks: Mapping[int, int]) -> None:
        """Rebuild the tables after products or margin tables changed, and mark every product to be checked again.

        Parameters
        ----------
        products : mapping of int to VenueProduct
            Product code → Product.
        marks : mapping of int to int
            Product code → mark price in ticks.
        """
        self.tables = {code: RiskTable(product) for code, product in products.items()}
        self.bands = {code: {} for code in products}
        # A mark that has already moved keeps its older value: holders are checked from there to the present mark.
        self.moved = {**marks, **self.moved}
        for code in products:
            self.holders.setdefault(code, {})
            self.clients.setdefault(code, set())

    def rebuild(self, products: Mapping[int, VenueProduct], accounts: Iterable[VenueAccount]) -> None:
        """Rebuild every index from the products and accounts of a state.

        The tables are those of the products.

        Parameters
        ----------
        products : mapping of int to VenueProduct
            Product code → Product.
        accounts : iterable of VenueAccount
            All accounts of the state.
        """
        self.holders = {code: {} for code in products}
        self.clients = {code: set() for code in products}
        self.touched, self.rates = {}, {}
        for account in accounts:
            self.index(account)

    def index(self, account: VenueAccount) -> None:
        """Note in which products an account holds a position.

        Parameters
        ----------
        account : VenueAccount
            Account whose positions are indexed.
        """
        for code, position in account.positions.items():
            self.note(code, account, bool(position.long.size or position.short.size))

    def note(self, code: int, account: VenueAccount, holds: bool) -> None:
        """Note whether an account holds a position in a product.

        Parameters
        ----------
        code : int
            Code of the product.
        account : VenueAccount
            The account.
        holds : bool
            Whether a leg of its position is open.
        """
        if holds:
            self.holders[code][account.address] = account
            if account.kind not in OWN:
                self.clients[code].add(account.address)
        else:
            self.holders[code].pop(account.address, None)
            self.clients[code].discard(account.address)


def whole(number: Decimal, name: str) -> int:
    """Return an exact whole number.

    Parameters
    ----------
    number : Decimal
        Number in the venue's smallest unit.
    name : str
        Name of the setting, for the error.

    Raises
    ------
    InputError
        If it has a fraction, because that could not be booked exactly.
    """
    if number != int(number):
        raise InputError(f"{name} is finer than the venue counts ({number})", field=name, value=str(number))
    return int(number)


def hundredths(leverage: Decimal) -> int:
    """Return a leverage in hundredths.

    Parameters
    ----------
    leverage : Decimal
        Leverage, such as 20 for 20x.

    Raises
    ------
    InputError
        If it is finer than a hundredth.
    """
    return whole(leverage * 100, "maxLeverage")
