"""Formulas of margin, liquidation, bankruptcy, funding, mark price and auto-deleveraging; pure and exact.

Every function takes and returns `Decimal`. Numbers may be given as `Decimal`, `int` or `str`; a `float` (NumPy's too)
is taken as the text it prints as, and refused when that text has more than 15 digits, because then nobody wrote it
(0.1 + 0.2); a fraction is taken where it has a finite decimal. Other than 0, a number lies between 1e-300 and 1e300.
Sides are +1 (long) and −1 (short); sizes and prices are positive; results carry 28 significant digits and are
not rounded to ticks or cents.

Tiers are rows `(floor, mmr, max_leverage)` sorted by `floor`, the first one at 0: notional in USDC from which the row
counts, maintenance margin ratio ("0.0125" is 1.25 %), highest leverage. Rows may also be mappings or objects with these
names, the `tiers` of a Product, or rows of product-meta (minimumValue, maintainMarginRatio, maxLeverage). Where `mmr`
is None it is half of the initial margin at the highest leverage, ½ / max_leverage.

Wrong input raises `toolkit.errors.InputError`, which names the argument, and never anything else. Source: the venue's
published margin, funding and mark price rules (docs/assumptions.md lists what is our own decision).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

from .errors import InputError
from .numerals import is_missing, not_a, read_amount, read_decimal, read_positive, read_price, read_rows, read_side

Number = Decimal | int | str | float
"""What every argument may be; see the module's first lines for floats."""

INTEREST = Decimal("0.0001")
"""Interest rate of 8 hours, 0.01 %."""
CLAMP = Decimal("0.0005")
"""How far the rate may be drawn from the premium towards the interest, 0.05 %."""
CAP = Decimal("0.02")
"""Largest funding rate of one interval, 2 %."""
IMPACT_MARGIN = Decimal(200)
"""USDC of initial margin, at the highest leverage, whose notional measures the impact prices."""

_CONTEXT = Context(prec=50)
_ANSWER = Context(prec=28)
_ZERO = Decimal(0)
_INFINITY = Decimal("Infinity")
_P = ParamSpec("_P")
_R = TypeVar("_R")


class Tier(NamedTuple):
    """One row of a margin table: notional it starts above (USDC), maintenance margin ratio, highest leverage."""

    floor: Decimal
    mmr: Decimal
    max_leverage: Decimal | None


class Deleveraging(NamedTuple):
    """One step of auto-deleveraging: whose position, how much of it is closed, and the score that chose it."""

    account: Any
    quantity: Decimal
    score: Decimal


def _exact(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compute with 50 digits and answer with 28, whatever decimal context the caller uses."""

    @functools.wraps(function)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with localcontext(_CONTEXT):
            result = function(*args, **kwargs)
        return cast(_R, _ANSWER.plus(result)) if isinstance(result, Decimal) else result

    return wrapped


# ------------------------------------------------------------------------------------------------ margin


@_exact
def initial_margin(notional: Number, leverage: Number) -> Decimal:
    """Return the initial margin in USDC of a notional in USDC: notional / leverage.

    >>> initial_margin(100_000, 20)
    Decimal('5000')
    """
    return read_amount(notional, "notional") / read_positive(leverage, "leverage")


@_exact
def maintenance_margin(notional: Number, tiers: Iterable[Any]) -> Decimal:
    """Return the maintenance margin in USDC of a notional in USDC: N·MMR_n − d_n.

    >>> maintenance_margin(200_000_000, [(0, "0.0125", 40), (150_000_000, "0.025", 20)])
    Decimal('3125000.0000')
    """
    rows = read_tiers(tiers)
    value = read_amount(notional, "notional")
    index = _tier_index(value, rows)
    return value * rows[index].mmr - _deductions(rows)[index]


@_exact
def deductions(tiers: Iterable[Any]) -> list[Decimal]:
    """Return d_n in USDC of each tier: d_1 = 0 and d_n = d_(n−1) + floor_n·(MMR_n − MMR_(n−1)).

    With them the maintenance margin has no jump where a tier begins.
    """
    return _deductions(read_tiers(tiers))


@_exact
def tier_of(notional: Number, tiers: Iterable[Any]) -> Tier:
    """Return the tier of a notional in USDC. A notional exactly at a floor still belongs to the tier below."""
    rows = read_tiers(tiers)
    return rows[_tier_index(read_amount(notional, "notional"), rows)]


@_exact
def unrealized_pnl(side: int, size: Number, entry_price: Number, mark_price: Number) -> Decimal:
    """Return the profit (+) or loss (−) in USDC of a position at a mark price: s·q·(mark − entry)."""
    sign = read_side(side)
    return (
        sign
        * read_amount(size, "size")
        * (read_amount(mark_price, "mark_price") - read_amount(entry_price, "entry_price"))
    )


@_exact
def margin_ratio(maintenance: Number, equity: Number) -> Decimal:
    """Return maintenance margin / equity, both in USDC; liquidation begins at 1.

    Without maintenance margin (no position) the ratio is 0; with some and no equity left it is Infinity.
    """
    need, have = read_amount(maintenance, "maintenance"), read_decimal(equity, "equity")
    if need == 0:
        return _ZERO
    return need / have if have > 0 else _INFINITY


# ------------------------------------------------------------------------------- liquidation and bankruptcy


@_exact
def liquidation_price(
    side: int, size: Number, entry_price: Number, margin: Number, tiers: Iterable[Any]
) -> Decimal | None:
    """Return the mark price at which equity equals maintenance margin: (s·q·P0 − m − d) / (q·(s − MMR)).

    `margin` in USDC is what stands behind the position: for an isolated one its assigned margin, for a cross one
    balance + unrealised PnL of the others − maintenance margin of the others (it may be negative). Maintenance is
    taken at mark value, with the numbers of the tier in which the notional lies at that price, whatever tier the
    entry lies in.

    None where no positive mark price does it: size 0, a long whose margin covers its whole entry value, or a short
    that is beyond help at any price.

    >>> liquidation_price(+1, 1, 100_000, 5_000, [(0, "0.0125", 40)]).quantize(Decimal("0.01"))
    Decimal('96202.53')
    """
    sign = read_side(side)
    legs = [_leg(sign, read_amount(size, "size"), read_amount(entry_price, "entry_price"))]
    crossings = _crossings(legs, Fraction(read_decimal(margin, "margin")), read_tiers(tiers))
    return _from_fraction(crossings[0]) if crossings else None


@_exact
def liquidation_price_hedged(
    long_size: Number,
    long_entry: Number,
    short_size: Number,
    short_entry: Number,
    margin: Number,
    tiers: Iterable[Any],
) -> Decimal | None:
    """Return the one liquidation price that a long and a short of the same product share in hedge mode (cross margin).

    Equity = margin + PnL of both legs; each leg needs the maintenance margin of its own tier at mark value. `margin`
    in USDC as in `liquidation_price`. When both a falling and a rising price liquidate (legs of nearly equal size),
    it is the lower price for a net long, the upper one otherwise. None where no positive mark price does it. An entry
    price of a leg of size 0 is not looked at (it may be 0).
    """
    long_q, short_q = read_amount(long_size, "long_size"), read_amount(short_size, "short_size")
    legs = [
        _leg(1, long_q, read_amount(long_entry, "long_entry")),
        _leg(-1, short_q, read_amount(short_entry, "short_entry")),
    ]
    crossings = _crossings(legs, Fraction(read_decimal(margin, "margin")), read_tiers(tiers))
    if not crossings:
        return None
    return _from_fraction(crossings[0] if long_q > short_q else crossings[-1])


@_exact
def bankruptcy_price(
    side: int, size: Number, entry_price: Number, margin: Number, tick: Number | None = None
) -> Decimal | None:
    """Return the mark price at which equity is 0: P0 − s·m/q.

    With `tick` it is rounded to a multiple of it, away from the trader: a long's up, a short's down. None where no
    positive price does it (size 0, or a long whose margin covers its whole entry value).

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
        price = (price / step).to_integral_value(ROUND_CEILING if sign > 0 else ROUND_FLOOR) * step
    return price if price > 0 else None


# ------------------------------------------------------------------------------------- mark price and funding


@_exact
def mark_price(
    oracle: Number | None,
    basis_average: Number | None,
    bid: Number | None,
    ask: Number | None,
    last: Number | None,
    external: Number | None = None,
    book_average: Number | None = None,
) -> Decimal:
    """Return the mark price: the median of those that exist of three prices.

    P1 = oracle + `basis_average` (150 s average of mid − oracle; None counts as 0) · P2 = median of best bid, best
    ask and last price · P3 = `external`, the mid price of other venues' perpetuals. If exactly two exist,
    `book_average` (30 s average of P2) joins them; if only one exists it is the mark. The median of two is their
    mean. None, or NaN as frames have it, means that a price does not exist; the result is never NaN: with no price at
    all it raises InputError.
    """
    index = read_price(oracle, "oracle")
    first = None
    if index is not None:
        first = index + (_ZERO if is_missing(basis_average) else read_decimal(basis_average, "basis_average"))
    book = [read_price(bid, "bid"), read_price(ask, "ask"), read_price(last, "last")]
    second = _median([price for price in book if price is not None])
    found = [price for price in (first, second, read_price(external, "external")) if price is not None]
    average = read_price(book_average, "book_average")
    if len(found) == 2 and average is not None:
        found.append(average)
    middle = _median(found)
    if middle is None:
        raise InputError("the mark price needs at least one price: oracle, bid, ask, last or external", field="oracle")
    return middle


@_exact
def impact_notional(max_leverage: Number, margin: Number = IMPACT_MARGIN) -> Decimal:
    """Return the notional in USDC that measures impact prices: margin / (1 / maxLeverage)."""
    return read_positive(margin, "margin") * read_positive(max_leverage, "max_leverage")


@_exact
def impact_price(levels: Iterable[Sequence[Any]], notional: Number) -> Decimal | None:
    """Return the average execution price of a notional in USDC against book levels `(price, quantity)`, best first.

    None if the levels do not hold so much.
    """
    left = target = read_positive(notional, "notional")
    quantity = _ZERO
    for place, level in enumerate(read_rows(levels, "levels", "levels (price, quantity)")):
        try:
            at, held = level[0], level[1]
        except (LookupError, TypeError):
            raise not_a(level, f"levels[{place}]", "a level is (price, quantity)") from None
        price, depth = read_positive(at, f"levels[{place}].price"), read_amount(held, f"levels[{place}].quantity")
        if price * depth >= left:
            return target / (quantity + left / price)
        left -= price * depth
        quantity += depth
    return None


@_exact
def premium(oracle: Number, impact_bid: Number | None, impact_ask: Number | None) -> Decimal:
    """Return the funding premium [max(0, impactBid − oracle) − max(0, oracle − impactAsk)] / oracle.

    An impact price that does not exist (None or NaN: the book is too thin) adds nothing.
    """
    index = read_positive(oracle, "oracle")
    bid, ask = read_price(impact_bid, "impact_bid"), read_price(impact_ask, "impact_ask")
    above = _ZERO if bid is None else max(_ZERO, bid - index)
    below = _ZERO if ask is None else max(_ZERO, index - ask)
    return (above - below) / index


@_exact
def interest_rate(quote_rate: Number, base_rate: Number, intervals: Number = 3) -> Decimal:
    """Return the interest part of one interval from daily rates: (quote − base) / intervals a day."""
    return (read_decimal(quote_rate, "quote_rate") - read_decimal(base_rate, "base_rate")) / read_positive(
        intervals, "intervals"
    )


@_exact
def funding_rate(
    premium: Number,
    interval_hours: Number = 8,
    interest: Number = INTEREST,
    clamp: Number = CLAMP,
    cap: Number | None = CAP,
) -> Decimal:
    """Return the funding rate of one interval: {P + clamp(I − P, ±clamp)} / (8/N), held within ±cap.

    `premium` is the time-weighted mean premium over the interval of N = `interval_hours` hours, `interest` the rate
    of 8 hours; all are ratios ("0.0001" is 0.01 %). `cap=None` leaves the rate uncapped.

    >>> funding_rate("0.0008")
    Decimal('0.0003')
    """
    mean, hours = read_decimal(premium, "premium"), read_positive(interval_hours, "interval_hours")
    reach = read_amount(clamp, "clamp")
    rate = (mean + _clamp(read_decimal(interest, "interest") - mean, reach)) * hours / 8
    return rate if cap is None else _clamp(rate, read_amount(cap, "cap"))


@_exact
def funding_payment(size: Number, mark_price: Number, rate: Number) -> Decimal:
    """Return what a position pays (+) or receives (−) in USDC at settlement: size·mark·rate.

    `size` is signed: positive for a long, which pays a positive rate, negative for a short.
    """
    return read_decimal(size, "size") * read_amount(mark_price, "mark_price") * read_decimal(rate, "rate")


# ------------------------------------------------------------------------------------------ auto-deleveraging


@_exact
def effective_leverage(side: int, size: Number, mark_price: Number, bankruptcy_price: Number | None) -> Decimal:
    """Return |mark value| / (mark value − bankruptcy value), values signed by side.

    Infinity if the position is at or beyond its bankruptcy price. A long that can't go bankrupt (None) has bankruptcy
    value 0.
    """
    sign, quantity = read_side(side), read_amount(size, "size")
    mark = read_positive(mark_price, "mark_price")
    bankrupt = _ZERO if bankruptcy_price is None else read_amount(bankruptcy_price, "bankruptcy_price")
    cushion = sign * (mark - bankrupt)
    if quantity == 0:
        return _ZERO
    return mark / cushion if cushion > 0 else _INFINITY


@_exact
def adl_score(
    side: int, size: Number, entry_price: Number, mark_price: Number, bankruptcy_price: Number | None
) -> Decimal:
    """Return the auto-deleveraging score: PnL % × effective leverage for a profit, ÷ for a loss.

    PnL % = (mark value − entry value) / |entry value|. The highest score is closed first.
    """
    sign, entry, mark = (
        read_side(side),
        read_positive(entry_price, "entry_price"),
        read_positive(mark_price, "mark_price"),
    )
    gain = sign * (mark - entry) / entry
    leverage = effective_leverage(side, size, mark, bankruptcy_price)
    if gain >= 0:
        return gain * leverage if gain else _ZERO
    return gain / leverage if leverage else _ZERO


@_exact
def adl_order(
    positions: Iterable[Any],
    size: Number | None = None,
    mark_price: Number | None = None,
    side: int | None = None,
) -> list[Deleveraging]:
    """Return which positions are closed, and how much of each, in order of score, the highest first.

    `positions` are those opposite to the liquidated one: mappings or objects with `size` and `score`, or, instead of
    `score`, with what `adl_score` needs (`side`, `entry_price`, and `bankruptcy_price` or `margin`) and `mark_price`
    given here. They may carry `account` (returned as it is; otherwise the 0-based place in `positions` is returned).
    Tuples `(account, size, score)` do as well. Equal scores keep the order in which they were given.

    `size` is how much of the liquidated position must be closed; None closes everything, which shows the whole order.
    If the positions do not hold so much, the quantities add up to less than `size`. With `side` (of the liquidated
    position) positions of the same side are left out. Positions of size 0 are left out always.

    >>> [tuple(map(int, step)) for step in adl_order([(1, 10, 3), (2, 10, 6), (3, 20, 1), (5, 20, 5)], 20)]
    [(2, 10, 6), (5, 10, 5)]
    """
    liquidated = None if side is None else read_side(side)
    rows = enumerate(read_rows(positions, "positions", "positions (account, size, score)"))
    ranked = [_adl_candidate(place, row, mark_price, liquidated) for place, row in rows]
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


# ------------------------------------------------------------------------------------------------ reading input


@_exact
def read_tiers(tiers: Iterable[Any]) -> list[Tier]:
    """Return margin table rows as `Tier`s; raises InputError unless floors grow from 0 and ratios lie in [0, 1)."""
    given = read_rows(tiers, "tiers", "rows (floor, mmr, max_leverage)")
    rows = [_tier(row, f"tiers[{index}]") for index, row in enumerate(given)]
    if not rows:
        raise InputError("tiers is empty; it needs at least one row (floor, mmr, max_leverage)", field="tiers")
    if rows[0].floor != 0:
        raise InputError(
            f"the first tier starts at {rows[0].floor}; it must start at 0", field="tiers[0].floor", value=rows[0].floor
        )
    for index in range(1, len(rows)):
        if rows[index].floor <= rows[index - 1].floor:
            raise InputError(
                f"tiers[{index}] starts at {rows[index].floor}, not above tiers[{index - 1}] ({rows[index - 1].floor})",
                field=f"tiers[{index}].floor",
                value=rows[index].floor,
            )
    return rows


def _tier(row: Any, field: str) -> Tier:
    floor, mmr, leverage = _tier_fields(row, field)
    top = None if leverage is None else read_positive(leverage, f"{field}.max_leverage")
    if mmr is None and top is None:
        raise InputError(f"{field} has neither mmr nor max_leverage", field=f"{field}.mmr")
    ratio = 1 / (2 * top) if mmr is None and top is not None else read_decimal(mmr, f"{field}.mmr")
    if not 0 <= ratio < 1:
        raise InputError(f"{field}.mmr is {ratio}; it must be at least 0 and below 1", field=f"{field}.mmr", value=mmr)
    return Tier(read_amount(floor, f"{field}.floor"), ratio, top)


def _tier_fields(row: Any, field: str) -> tuple[Any, Any, Any]:
    if isinstance(row, Mapping):
        if "minimumValue" in row:
            return row["minimumValue"], row.get("maintainMarginRatio"), row.get("maxLeverage")
        if "floor" in row:
            return row["floor"], row.get("mmr"), row.get("max_leverage")
    elif isinstance(row, tuple | list):
        if len(row) in (2, 3):
            return row[0], row[1], row[2] if len(row) == 3 else None
    elif getattr(row, "floor", None) is not None:
        ratio = getattr(row, "mmr", None)
        if ratio is None:
            ratio = getattr(row, "maintenance_rate", None)
        return row.floor, ratio, getattr(row, "max_leverage", None)
    raise not_a(row, field, "a tier is (floor, mmr, max_leverage)")


def _tier_index(notional: Decimal, rows: Sequence[Tier]) -> int:
    index = len(rows) - 1
    while index and notional <= rows[index].floor:
        index -= 1
    return index


def _deductions(rows: Sequence[Tier]) -> list[Decimal]:
    found = [_ZERO]
    for before, row in itertools.pairwise(rows):
        found.append(found[-1] + row.floor * (row.mmr - before.mmr))
    return found


def _adl_candidate(place: int, row: Any, mark: Number | None, liquidated: int | None) -> Deleveraging | None:
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
    # a score may be infinite: that of a position at or beyond its bankruptcy price
    endless = score.is_infinite() if isinstance(score, Decimal) else isinstance(score, float) and math.isinf(score)
    value = Decimal(score) if endless else read_decimal(score, f"{field}.score")
    return Deleveraging(place if account is None else account, quantity, value)


def _reader(row: Any, field: str) -> Callable[[str], Any]:
    if isinstance(row, tuple | list) and not hasattr(row, "size"):
        if len(row) != 3:
            raise not_a(row, field, "a position is (account, size, score), or has size and score by name")
        return dict(zip(("account", "size", "score"), row, strict=True)).get
    if isinstance(row, Mapping) or (hasattr(row, "keys") and callable(getattr(row, "get", None))):
        found: Callable[[str], Any] = row.get  # a row of a frame too
        return found
    if not hasattr(row, "size"):
        raise not_a(row, field, "a position is (account, size, score), or has size and score by name")
    return lambda name: getattr(row, name, None)


# ------------------------------------------------------------------------------------------------ arithmetic


def _leg(sign: int, size: Decimal, entry: Decimal) -> tuple[int, Fraction, Fraction]:
    return sign, Fraction(size), Fraction(entry)


def _crossings(
    legs: Sequence[tuple[int, Fraction, Fraction]], margin: Fraction, tiers: Sequence[Tier]
) -> list[Fraction]:
    """Return every positive price at which margin + PnL − maintenance changes its sign, in growing order.

    That difference is linear in the price between the prices at which a leg changes its tier, so it is solved exactly
    between each two neighbours of those.
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


def _median(values: Sequence[Decimal]) -> Decimal | None:
    if not values:
        return None
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _clamp(value: Decimal, reach: Decimal) -> Decimal:
    return max(-reach, min(reach, value))
