"""Formulas of margin, liquidation, bankruptcy, auto-deleveraging, mark price and funding, pure and exact.

Every function returns `Decimal`. Numbers may be given as `Decimal`, `int` or `str`. A `float` (NumPy's too) is taken as
the text it prints as. It is refused when that text has more than 15 digits, because then it was computed, not written
(0.1 + 0.2). A fraction is accepted where it has a finite decimal. Other than 0, a number lies between 1e-300 and 1e300.
Sides are +1 (long) and −1 (short). Sizes and prices are positive. Results carry 28 significant digits and are not
rounded to ticks or cents.

Tiers are rows `(floor, mmr, max_leverage)` sorted by `floor`, the first one at 0: notional in USDC from which the row
applies, maintenance margin ratio ("0.0125" is 1.25 %), highest leverage. Rows may also be mappings or objects with
these names, the `tiers` of a Product, or rows of product-meta (minimumValue, maintainMarginRatio, maxLeverage). Where
`mmr` is None it is half of the initial margin at the highest leverage, ½ / max_leverage.

Wrong input raises `toolkit.errors.InputError`, which names the argument, and no other error. Source: the venue's
published margin, funding and mark price rules (docs/assumptions.md lists what is our own decision).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from .errors import InputError
from .funding import (
    CAP,
    CLAMP,
    IMPACT_MARGIN,
    INTEREST,
    funding_payment,
    funding_rate,
    impact_notional,
    impact_price,
    interest_rate,
    mark_price,
    premium,
)
from .numerals import Number, exactly, not_a, read_amount, read_decimal, read_positive, read_rows, read_side
from .protocol.reads.product_rows import TIER

__all__ = ["Deleveraging", "Number", "Tier", "adl_order", "adl_score", "effective_leverage", "read_tiers", "tier_of"]
__all__ += ["bankruptcy_price", "deductions", "initial_margin", "liquidation_price", "liquidation_price_hedged"]
__all__ += ["maintenance_margin", "margin_ratio", "unrealized_pnl"]
# Formulas of `funding`, which are callable from here as well.
__all__ += ["CAP", "CLAMP", "IMPACT_MARGIN", "INTEREST", "funding_payment", "funding_rate", "impact_notional"]
__all__ += ["impact_price", "interest_rate", "mark_price", "premium"]

_ZERO = Decimal(0)
_INFINITY = Decimal("Infinity")


class Tier(NamedTuple):
    """One row of a margin table.

    Parameters
    ----------
    floor : Decimal
        Notional in USDC above which the row applies.
    mmr : Decimal
        Maintenance margin ratio: 0.0125 is 1.25 %.
    max_leverage : Decimal or None
        Highest leverage. None if the table does not say it.
    """

    floor: Decimal
    mmr: Decimal
    max_leverage: Decimal | None


class Deleveraging(NamedTuple):
    """One step of auto-deleveraging.

    Parameters
    ----------
    account : object
        Account of the position, or its index.
    quantity : Decimal
        Quantity that is closed, in base units.
    score : Decimal
        The position's score, see `adl_score`.
    """

    account: Any
    quantity: Decimal
    score: Decimal


@exactly
def initial_margin(notional: Number, leverage: Number) -> Decimal:
    """Return the initial margin of a notional: `notional` / `leverage`.

    Parameters
    ----------
    notional : Decimal, int, str or float
        Notional in USDC.
    leverage : Decimal, int, str or float
        Leverage, above 0.

    Returns
    -------
    Decimal
        In USDC.

    Examples
    --------
    >>> initial_margin(100_000, 20)
    Decimal('5000')
    """
    return read_amount(notional, "notional") / read_positive(leverage, "leverage")


@exactly
def maintenance_margin(notional: Number, tiers: Iterable[Any]) -> Decimal:
    """Return the maintenance margin of a notional N: N·MMR_n − d_n, for its tier n.

    Parameters
    ----------
    notional : Decimal, int, str or float
        Notional in USDC.
    tiers : iterable
        Rows of a margin table, see this module.

    Returns
    -------
    Decimal
        In USDC.

    Examples
    --------
    >>> maintenance_margin(200_000_000, [(0, "0.0125", 40), (150_000_000, "0.025", 20)])
    Decimal('3125000.0000')
    """
    rows = read_tiers(tiers)
    value = read_amount(notional, "notional")
    index = _tier_index(value, rows)
    return value * rows[index].mmr - _deductions(rows)[index]


@exactly
def deductions(tiers: Iterable[Any]) -> list[Decimal]:
    """Return d_n of each tier: d_1 = 0 and d_n = d_(n−1) + floor_n·(MMR_n − MMR_(n−1)).

    They keep the maintenance margin continuous where a tier begins.

    Parameters
    ----------
    tiers : iterable
        Rows of a margin table, see this module.

    Returns
    -------
    list of Decimal
        In USDC, one per tier.

    Examples
    --------
    >>> deductions([(0, "0.0125", 40), (150_000_000, "0.025", 20)])
    [Decimal('0'), Decimal('1875000.0000')]
    """
    return _deductions(read_tiers(tiers))


@exactly
def tier_of(notional: Number, tiers: Iterable[Any]) -> Tier:
    """Return the tier of a notional. One exactly at a floor still belongs to the tier below.

    Parameters
    ----------
    notional : Decimal, int, str or float
        Notional in USDC.
    tiers : iterable
        Rows of a margin table, see this module.

    Returns
    -------
    Tier

    Examples
    --------
    >>> tier_of(150_000_000, [(0, "0.0125", 40), (150_000_000, "0.025", 20)]).max_leverage
    Decimal('40')
    """
    rows = read_tiers(tiers)
    return rows[_tier_index(read_amount(notional, "notional"), rows)]


@exactly
def unrealized_pnl(side: int, size: Number, entry_price: Number, mark_price: Number) -> Decimal:
    """Return the profit (+) or loss (−) of a position at the mark price: s·q·(mark − entry).

    s is +1 for a long and −1 for a short, q the size.

    Parameters
    ----------
    side : int
        +1 for a long, -1 for a short.
    size : Decimal, int, str or float
        Size in base units, not negative.
    entry_price : Decimal, int, str or float
        Entry price in USDC.
    mark_price : Decimal, int, str or float
        Mark price in USDC.

    Returns
    -------
    Decimal
        In USDC.

    Examples
    --------
    >>> unrealized_pnl(-1, 2, 60_000, 59_000)
    Decimal('2000')
    """
    sign, quantity = read_side(side), read_amount(size, "size")
    return sign * quantity * (read_amount(mark_price, "mark_price") - read_amount(entry_price, "entry_price"))


@exactly
def margin_ratio(maintenance: Number, equity: Number) -> Decimal:
    """Return maintenance margin / equity. Liquidation begins at 1.

    Without maintenance margin (no position) the ratio is 0. With some and no equity left it is Infinity.

    Parameters
    ----------
    maintenance : Decimal, int, str or float
        Maintenance margin in USDC.
    equity : Decimal, int, str or float
        Equity in USDC. It may be negative.

    Returns
    -------
    Decimal
        A ratio.

    Examples
    --------
    >>> margin_ratio(1_250, 5_000)
    Decimal('0.25')
    """
    need, have = read_amount(maintenance, "maintenance"), read_decimal(equity, "equity")
    if need == 0:
        return _ZERO
    return need / have if have > 0 else _INFINITY


@exactly
def liquidation_price(
    side: int, size: Number, entry_price: Number, margin: Number, tiers: Iterable[Any]
) -> Decimal | None:
    """Return the mark price at which equity equals maintenance margin: (s·q·P0 − m − d) / (q·(s − MMR)).

    s is the side, q the size and P0 the entry price. Maintenance margin is taken at mark value, with the MMR and
    deduction d of the tier of the notional at that price, which may differ from the tier at entry.

    Parameters
    ----------
    side : int
        +1 for a long, -1 for a short.
    size : Decimal, int, str or float
        Size in base units, not negative.
    entry_price : Decimal, int, str or float
        Entry price in USDC.
    margin : Decimal, int, str or float
        USDC m that back the position. For an isolated one it is the assigned margin. For a cross one it is balance +
        unrealised PnL of the other positions − their maintenance margin (it may be negative).
    tiers : iterable
        Rows of the margin table.

    Returns
    -------
    Decimal or None
        In USDC. None where no positive mark price satisfies it. The cases are size 0, a long whose margin covers its
        whole entry value, and a short that is below its maintenance margin at every price.

    Examples
    --------
    >>> liquidation_price(+1, 1, 100_000, 5_000, [(0, "0.0125", 40)]).quantize(Decimal("0.01"))
    Decimal('96202.53')
    """
    sign = read_side(side)
    # Fractions, because a price that lies exactly at the edge of a tier must be found in one of its two intervals.
    legs = [(sign, Fraction(read_amount(size, "size")), Fraction(read_amount(entry_price, "entry_price")))]
    crossings = _crossings(legs, Fraction(read_decimal(margin, "margin")), read_tiers(tiers))
    return _from_fraction(crossings[0]) if crossings else None


@exactly
def liquidation_price_hedged(
    long_size: Number, long_entry: Number, short_size: Number, short_entry: Number, margin: Number, tiers: Iterable[Any]
) -> Decimal | None:
    """Return the liquidation price that a long and a short of one product share in hedge mode (cross margin).

    Equity is margin + PnL of both legs. Each leg needs the maintenance margin of its tier at mark value. When both a
    falling and a rising price liquidate (legs of nearly equal size), the result is the lower price for a net long and
    the upper one otherwise.

    Parameters
    ----------
    long_size, short_size : Decimal, int, str or float
        Sizes of the legs in base units.
    long_entry, short_entry : Decimal, int, str or float
        Their entry prices in USDC. That of a leg of size 0 is ignored.
    margin : Decimal, int, str or float
        Margin m in USDC, as in `liquidation_price`.
    tiers : iterable
        Rows of a margin table, see this module.

    Returns
    -------
    Decimal or None
        In USDC. None where no positive mark price liquidates.

    Examples
    --------
    >>> liquidation_price_hedged(2, 100_000, 1, 100_000, 5_000, [(0, "0.0125", 40)]).quantize(Decimal("0.01"))
    Decimal('98701.30')
    """
    long_q, short_q = read_amount(long_size, "long_size"), read_amount(short_size, "short_size")
    entries = read_amount(long_entry, "long_entry"), read_amount(short_entry, "short_entry")
    legs = [(1, Fraction(long_q), Fraction(entries[0])), (-1, Fraction(short_q), Fraction(entries[1]))]
    crossings = _crossings(legs, Fraction(read_decimal(margin, "margin")), read_tiers(tiers))
    if not crossings:
        return None
    return _from_fraction(crossings[0] if long_q > short_q else crossings[-1])


@exactly
def bankruptcy_price(
    side: int, size: Number, entry_price: Number, margin: Number, tick: Number | None = None
) -> Decimal | None:
    """Return the mark price at which equity is 0: P0 − s·m/q.

    Parameters
    ----------
    side : int
        +1 for a long, -1 for a short.
    size : Decimal, int, str or float
        Size in base units, not negative.
    entry_price : Decimal, int, str or float
        Entry price in USDC.
    margin : Decimal, int, str or float
        Margin m in USDC, as in `liquidation_price`.
    tick : Decimal, int, str or float, optional
        The price is rounded to a multiple of it, in USDC, towards solvency: up for a long, down for a short (default:
        not rounded).

    Returns
    -------
    Decimal or None
        In USDC. None where no positive price satisfies it (size 0, or a long whose margin covers its whole entry
        value).

    Examples
    --------
    >>> bankruptcy_price(+1, 1, 100_000, 5_000)
    Decimal('95000')
    """
    sign = read_side(side)
    quantity, entry = read_amount(size, "size"), read_amount(entry_price, "entry_price")
    if quantity == 0:
        return None
    price = entry - sign * read_decimal(margin, "margin") / quantity
    if tick is not None:
        step = read_positive(tick, "tick")
        # Towards solvency, so that closing at this price never leaves a debt.
        price = (price / step).to_integral_value(ROUND_CEILING if sign > 0 else ROUND_FLOOR) * step
    return price if price > 0 else None


@exactly
def effective_leverage(side: int, size: Number, mark_price: Number, bankruptcy_price: Number | None) -> Decimal:
    """Return the effective leverage: `|mark value| / (mark value − bankruptcy value)`, values signed by the side.

    Parameters
    ----------
    side : int
        +1 for a long, -1 for a short.
    size : Decimal, int, str or float
        Size in base units, not negative.
    mark_price : Decimal, int, str or float
        Mark price in USDC.
    bankruptcy_price : Decimal, int, str, float or None
        Bankruptcy price in USDC. None for a long that can't go bankrupt, whose bankruptcy value is 0.

    Returns
    -------
    Decimal
        Infinity if the position is at or beyond its bankruptcy price.

    Examples
    --------
    >>> effective_leverage(+1, 1, 100_000, 95_000)
    Decimal('20')
    """
    sign, quantity = read_side(side), read_amount(size, "size")
    mark = read_positive(mark_price, "mark_price")
    bankrupt = _ZERO if bankruptcy_price is None else read_amount(bankruptcy_price, "bankruptcy_price")
    cushion = sign * (mark - bankrupt)
    if quantity == 0:
        return _ZERO
    # A position at or beyond its bankruptcy price is the first to be deleveraged.
    return mark / cushion if cushion > 0 else _INFINITY


@exactly
def adl_score(
    side: int, size: Number, entry_price: Number, mark_price: Number, bankruptcy_price: Number | None
) -> Decimal:
    """Return the auto-deleveraging score: PnL % × effective leverage for a profit, PnL % ÷ it for a loss.

    PnL % is `(mark value − entry value) / |entry value|`. The position with the highest score is closed first.

    Parameters
    ----------
    side : int
        +1 for a long, -1 for a short.
    size : Decimal, int, str or float
        Size in base units, not negative.
    entry_price : Decimal, int, str or float
        Entry price in USDC.
    mark_price : Decimal, int, str or float
        Mark price in USDC.
    bankruptcy_price : Decimal, int, str, float or None
        Bankruptcy price in USDC. None for a long that can't go bankrupt, whose bankruptcy value is 0.

    Returns
    -------
    Decimal

    Examples
    --------
    >>> adl_score(+1, 1, 100_000, 110_000, 88_000)
    Decimal('0.5')
    """
    sign, entry = read_side(side), read_positive(entry_price, "entry_price")
    mark = read_positive(mark_price, "mark_price")
    gain = sign * (mark - entry) / entry
    leverage = effective_leverage(side, size, mark, bankruptcy_price)
    if gain >= 0:
        return gain * leverage if gain else _ZERO
    return gain / leverage if leverage else _ZERO


@exactly
def adl_order(
    positions: Iterable[Any], size: Number | None = None, mark_price: Number | None = None, side: int | None = None
) -> list[Deleveraging]:
    """Return which positions are closed, and how much of each, the highest score first.

    Equal scores keep the order in which they were given. Positions of size 0 are skipped.

    Parameters
    ----------
    positions : iterable
        Those opposite to the liquidated one: tuples `(account, size, score)`, or mappings or objects with `size` and
        `score`. Instead of `score` they may have the arguments of `adl_score` (`side`, `entry_price`, and
        `bankruptcy_price` or `margin`). Without an `account` a position is named by its index.
    size : Decimal, int, str or float, optional
        Quantity of the liquidated position to close, in base units (default: everything is closed, which shows the
        whole order). If the positions do not hold that much, the quantities add up to less.
    mark_price : Decimal, int, str or float, optional
        Mark price in USDC, for positions without a score (default: None).
    side : int, optional
        Side of the liquidated position. Positions of the same side are skipped (default: none is).

    Returns
    -------
    list of Deleveraging

    Examples
    --------
    >>> [tuple(map(int, step)) for step in adl_order([(1, 10, 3), (2, 10, 6), (3, 20, 1), (5, 20, 5)], 20)]
    [(2, 10, 6), (5, 10, 5)]
    """
    liquidated = None if side is None else read_side(side)
    rows = enumerate(read_rows(positions, "positions", "positions (account, size, score)"))
    ranked = [_adl_candidate(place, row, mark_price, liquidated) for place, row in rows]
    # Stable, so that equal scores keep the caller's order.
    queue = sorted((row for row in ranked if row is not None), key=lambda row: row.score, reverse=True)
    if size is None:
        return queue
    left, steps = read_amount(size, "size"), []
    for account, available, score in queue:
        if left <= 0:
            break
        steps.append(Deleveraging(account, min(left, available), score))
        left -= available
    return steps


@exactly
def read_tiers(tiers: Iterable[Any]) -> list[Tier]:
    """Return the rows of a margin table.

    Parameters
    ----------
    tiers : iterable
        Rows of a margin table, see this module.

    Returns
    -------
    list of Tier
        Sorted by `floor`.

    Raises
    ------
    InputError
        Unless floors grow from 0 and ratios lie in [0, 1).
    """
    given = read_rows(tiers, "tiers", "rows (floor, mmr, max_leverage)")
    rows = [_tier(row, f"tiers[{index}]") for index, row in enumerate(given)]
    if not rows:
        raise InputError("tiers is empty. It needs at least one row (floor, mmr, max_leverage)", field="tiers")
    if rows[0].floor != 0:
        message = f"the first tier starts at {rows[0].floor}. It must start at 0"
        raise InputError(message, field="tiers[0].floor", value=rows[0].floor)
    for index, (before, row) in enumerate(itertools.pairwise(rows)):
        if row.floor <= before.floor:
            message = f"tiers[{index + 1}] starts at {row.floor}, not above tiers[{index}] ({before.floor})"
            raise InputError(message, field=f"tiers[{index + 1}].floor", value=row.floor)
    return rows


def _tier(row: object, field: str) -> Tier:
    floor, mmr, leverage = _tier_fields(row, field)
    top = None if leverage is None else read_positive(leverage, f"{field}.max_leverage")
    if mmr is None and top is None:
        raise InputError(f"{field} has neither mmr nor max_leverage", field=f"{field}.mmr")
    # Half of the initial margin at the highest leverage, where the table does not say it.
    ratio = 1 / (2 * top) if mmr is None and top is not None else read_decimal(mmr, f"{field}.mmr")
    if not 0 <= ratio < 1:
        raise InputError(f"{field}.mmr is {ratio}. It must be at least 0 and below 1", field=f"{field}.mmr", value=mmr)
    return Tier(read_amount(floor, f"{field}.floor"), ratio, top)


def _tier_fields(row: object, field: str) -> tuple[Any, Any, Any]:
    if isinstance(row, Mapping):
        if TIER["floor"] in row:
            return row[TIER["floor"]], row.get(TIER["maintenance_rate"]), row.get(TIER["max_leverage"])
        if "floor" in row:
            return row["floor"], row.get("mmr"), row.get("max_leverage")
    elif isinstance(row, tuple | list):
        if len(row) in (2, 3):
            return row[0], row[1], row[2] if len(row) == 3 else None
    elif (floor := getattr(row, "floor", None)) is not None:
        ratio = getattr(row, "mmr", None)
        if ratio is None:
            ratio = getattr(row, "maintenance_rate", None)
        return floor, ratio, getattr(row, "max_leverage", None)
    raise not_a(row, field, "A tier is (floor, mmr, max_leverage)")


def _tier_index(notional: Decimal, rows: Sequence[Tier]) -> int:
    index = len(rows) - 1
    # A notional exactly at a floor belongs to the tier below, as the published table has it.
    while index and notional <= rows[index].floor:
        index -= 1
    return index


def _deductions(rows: Sequence[Tier]) -> list[Decimal]:
    found = [_ZERO]
    for before, row in itertools.pairwise(rows):
        # The maintenance margin has no jump where a tier begins.
        found.append(found[-1] + row.floor * (row.mmr - before.mmr))
    return found


def _adl_candidate(place: int, row: object, mark: Number | None, liquidated: int | None) -> Deleveraging | None:
    field = f"positions[{place}]"
    get = _reader(row, field)
    quantity, own_side = read_amount(get("size"), f"{field}.size"), get("side")
    if quantity == 0 or (liquidated is not None and own_side is not None and read_side(own_side) == liquidated):
        return None
    score = get("score")
    if score is None:
        if mark is None:
            raise InputError(f"{field} has no score, so mark_price is needed to compute it", field="mark_price")
        entry, bankrupt = get("entry_price"), get("bankruptcy_price")
        if bankrupt is None and get("margin") is not None:
            bankrupt = bankruptcy_price(own_side, quantity, entry, get("margin"))
        score = adl_score(own_side, quantity, entry, mark, bankrupt)
    account = get("account")
    # The score of a position at or beyond its bankruptcy price is infinite, which read_decimal refuses.
    endless = score.is_infinite() if isinstance(score, Decimal) else isinstance(score, float) and math.isinf(score)
    value = Decimal(score) if endless else read_decimal(score, f"{field}.score")
    return Deleveraging(place if account is None else account, quantity, value)


def _reader(row: object, field: str) -> Callable[[str], Any]:
    if isinstance(row, tuple | list) and not hasattr(row, "size"):
        if len(row) == 3:
            return dict(zip(("account", "size", "score"), row, strict=True)).get
    elif callable(get := getattr(row, "get", None)):  # a row of a frame too
        return lambda name: get(name)
    elif hasattr(row, "size"):
        return lambda name: getattr(row, name, None)
    raise not_a(row, field, "A position is (account, size, score), or has size and score by name")


def _crossings(
    legs: Sequence[tuple[int, Fraction, Fraction]], margin: Fraction, tiers: Sequence[Tier]
) -> list[Fraction]:
    """Return every positive price at which margin + PnL − maintenance is 0, in ascending order.

    That difference is linear in the price as long as no leg changes its tier. The equation is therefore solved for
    each interval between two prices at which a tier changes, in fractions, and a solution counts if it lies inside.
    """
    legs = [leg for leg in legs if leg[1]]
    if not legs:
        return []
    cuts = _deductions(tiers)
    table = [(Fraction(row.floor), Fraction(row.mmr), Fraction(cut)) for row, cut in zip(tiers, cuts, strict=True)]
    edges: list[Fraction] = sorted({floor / size for _, size, _ in legs for floor, _, _ in table})
    found: list[Fraction] = []
    for index, low in enumerate(edges):
        high = edges[index + 1] if index + 1 < len(edges) else None
        constant, slope = margin, Fraction(0)
        for sign, size, entry in legs:
            # The tier just above the lower edge holds for the whole interval.
            _, mmr, deduction = next(row for row in reversed(table) if row[0] <= size * low)
            constant += deduction - sign * size * entry
            slope += size * (sign - mmr)
        if slope:
            price = -constant / slope
            if low < price and (high is None or price <= high) and price not in found:
                found.append(price)
    return found


def _from_fraction(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
