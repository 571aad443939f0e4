"""Formulas of mark price and funding: impact prices, premium, interest and the funding rate, pure and exact.

`toolkit.margin` has these names too, and says what numbers are accepted and how results are rounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from .errors import InputError
from .numerals import (
    Number,
    exactly,
    is_missing,
    not_a,
    read_amount,
    read_decimal,
    read_positive,
    read_price,
    read_rows,
)

INTEREST = Decimal("0.0001")
"""Interest rate for 8 hours: 0.01 %."""
CLAMP = Decimal("0.0005")
"""Largest correction of the premium towards the interest rate: 0.05 %."""
CAP = Decimal("0.02")
"""Largest funding rate of one interval: 2 %."""
IMPACT_MARGIN = Decimal(200)
"""Initial margin in USDC whose notional at the highest leverage defines the impact prices."""

_ZERO = Decimal(0)


@exactly
def mark_price(
    oracle: Number | None,
    basis_average: Number | None,
    bid: Number | None,
    ask: Number | None,
    last: Number | None,
    external: Number | None = None,
    book_average: Number | None = None,
) -> Decimal:
    """Return the mark price: the median of up to three prices.

    If only one of them exists it is the mark price. The median of two is their mean. None, or NaN as in frames, means
    that a price does not exist.

    Parameters
    ----------
    oracle, basis_average : Decimal, int, str, float or None
        P1 is their sum, in USDC: the index price, and the 150 s average of mid − oracle (None counts as 0).
    bid, ask, last : Decimal, int, str, float or None
        P2 is the median of best bid, best ask and last price, in USDC.
    external : Decimal, int, str or float, optional
        P3, the mid price of other venues' perpetuals, in USDC (default: None).
    book_average : Decimal, int, str or float, optional
        30 s average of P2 in USDC. It is the third price if exactly two of P1 to P3 exist (default: None).

    Returns
    -------
    Decimal
        In USDC.

    Raises
    ------
    InputError
        When no price exists.

    Examples
    --------
    >>> mark_price(oracle=60_000, basis_average=5, bid=60_010, ask=60_020, last=60_012)
    Decimal('60008.5')
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


@exactly
def impact_notional(max_leverage: Number, margin: Number = IMPACT_MARGIN) -> Decimal:
    """Return the notional for which impact prices are computed: `margin` × `max_leverage`.

    Parameters
    ----------
    max_leverage : Decimal, int, str or float
        Highest leverage of the product.
    margin : Decimal, int, str or float, optional
        Initial margin in USDC (default: 200).

    Returns
    -------
    Decimal
        In USDC.

    Examples
    --------
    >>> impact_notional(40)
    Decimal('8000')
    """
    return read_positive(margin, "margin") * read_positive(max_leverage, "max_leverage")


@exactly
def impact_price(levels: Iterable[Sequence[Any]], notional: Number) -> Decimal | None:
    """Return the average execution price of a notional against the levels of a book.

    Parameters
    ----------
    levels : iterable of sequence
        Pairs of price (USDC) and quantity (base units), best first.
    notional : Decimal, int, str or float
        Notional in USDC.

    Returns
    -------
    Decimal or None
        In USDC. None if the levels do not hold that notional.

    Examples
    --------
    >>> impact_price([(100, 1), (200, 1)], 200)
    Decimal('133.3333333333333333333333333')
    """
    left = target = read_positive(notional, "notional")
    quantity = _ZERO
    for place, level in enumerate(read_rows(levels, "levels", "levels (price, quantity)")):
        try:
            at, held = level[0], level[1]
        except (LookupError, TypeError):
            raise not_a(level, f"levels[{place}]", "A level is (price, quantity)") from None
        price, depth = read_positive(at, f"levels[{place}].price"), read_amount(held, f"levels[{place}].quantity")
        if price * depth >= left:
            return target / (quantity + left / price)
        left -= price * depth
        quantity += depth
    return None


@exactly
def premium(oracle: Number, impact_bid: Number | None, impact_ask: Number | None) -> Decimal:
    """Return the funding premium [max(0, impactBid − oracle) − max(0, oracle − impactAsk)] / oracle.

    An impact price that does not exist (None or NaN: the book is too thin) adds nothing.

    Parameters
    ----------
    oracle : Decimal, int, str or float
        Index price in USDC.
    impact_bid, impact_ask : Decimal, int, str, float or None
        Impact prices in USDC, see `impact_price`.

    Returns
    -------
    Decimal
        A ratio.

    Examples
    --------
    >>> premium(50_000, 50_050, 50_060)
    Decimal('0.001')
    """
    index = read_positive(oracle, "oracle")
    bid, ask = read_price(impact_bid, "impact_bid"), read_price(impact_ask, "impact_ask")
    above = _ZERO if bid is None else max(_ZERO, bid - index)
    below = _ZERO if ask is None else max(_ZERO, index - ask)
    return (above - below) / index


@exactly
def interest_rate(quote_rate: Number, base_rate: Number, intervals: Number = 3) -> Decimal:
    """Return the interest rate of one interval: (`quote_rate` − `base_rate`) / `intervals`.

    Parameters
    ----------
    quote_rate : Decimal, int, str or float
        Interest rate of the quote currency per day, a ratio.
    base_rate : Decimal, int, str or float
        Interest rate of the base currency per day, a ratio.
    intervals : Decimal, int, str or float, optional
        Funding intervals per day (default: 3).

    Returns
    -------
    Decimal
        A ratio.

    Examples
    --------
    >>> interest_rate("0.0006", "0.0003")
    Decimal('0.0001')
    """
    difference = read_decimal(quote_rate, "quote_rate") - read_decimal(base_rate, "base_rate")
    return difference / read_positive(intervals, "intervals")


@exactly
def funding_rate(
    premium: Number,
    interval_hours: Number = 8,
    interest: Number = INTEREST,
    clamp: Number = CLAMP,
    cap: Number | None = CAP,
) -> Decimal:
    """Return the funding rate of one interval: {P + clamp(I − P, ±`clamp`)} / (8/N), limited to ±`cap`.

    Parameters
    ----------
    premium : Decimal, int, str or float
        Time-weighted mean premium P over the interval, a ratio.
    interval_hours : Decimal, int, str or float, optional
        Length N of the interval in hours (default: 8).
    interest : Decimal, int, str or float, optional
        Interest rate I for 8 hours, a ratio (default: 0.0001, which is 0.01 %).
    clamp : Decimal, int, str or float, optional
        Largest correction of the premium towards the interest rate, a ratio (default: 0.0005).
    cap : Decimal, int, str or float, optional
        Largest rate of an interval, a ratio (default: 0.02). None leaves the rate uncapped.

    Returns
    -------
    Decimal
        A ratio: 0.0003 is 0.03 %.

    Examples
    --------
    >>> funding_rate("0.0008")
    Decimal('0.0003')
    """
    mean, hours = read_decimal(premium, "premium"), read_positive(interval_hours, "interval_hours")
    reach = read_amount(clamp, "clamp")
    rate = (mean + _clamp(read_decimal(interest, "interest") - mean, reach)) * hours / 8
    return rate if cap is None else _clamp(rate, read_amount(cap, "cap"))


@exactly
def funding_payment(size: Number, mark_price: Number, rate: Number) -> Decimal:
    """Return what a position pays (+) or receives (−) at settlement: `size`·`mark_price`·`rate`.

    Parameters
    ----------
    size : Decimal, int, str or float
        Signed size in base units: positive for a long, which pays a positive rate, negative for a short.
    mark_price : Decimal, int, str or float
        Mark price in USDC.
    rate : Decimal, int, str or float
        Funding rate of the interval, a ratio.

    Returns
    -------
    Decimal
        In USDC.

    Examples
    --------
    >>> funding_payment(-2, 60_000, "0.0001")
    Decimal('-12.0000')
    """
    return read_decimal(size, "size") * read_amount(mark_price, "mark_price") * read_decimal(rate, "rate")


def _median(values: Sequence[Decimal]) -> Decimal | None:
    if not values:
        return None
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _clamp(value: Decimal, reach: Decimal) -> Decimal:
    return max(-reach, min(reach, value))
