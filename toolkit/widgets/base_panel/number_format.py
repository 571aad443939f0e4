"""Amounts as text for people: grouped, with a typographic minus sign, never by way of a binary float."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal

from ...numerals import plain_text

MISSING = "–"
"""Shown instead of a missing value."""
UNKNOWN = "unknown"
"""Shown instead of a value that can't be computed, because the venue does not say what it takes."""
_SMALLEST = Decimal("0.000001")
WIDE = Context(prec=200)
"""Precise enough for the product of any two numbers that can be typed into fields."""


def money(value: Decimal | None, places: int = 2) -> str:
    """Return USDC with grouping: "1,234.50", "−0.31".

    Very small amounts keep their first digits.

    Parameters
    ----------
    value : Decimal or None
        USDC, `None` is shown as "–".
    places : int, optional
        Decimals of the text (default: 2).
    """
    if value is None:
        return MISSING
    unit = Decimal(1).scaleb(-places)
    while value and abs(value) < unit and unit > _SMALLEST:
        unit /= 10
    return minus(f"{value.quantize(unit, ROUND_HALF_EVEN, WIDE):,}")


def signed(value: Decimal | None, places: int = 2) -> str:
    """Return USDC with its sign: "+12.00", "−3.10", "0.00".

    Parameters
    ----------
    value : Decimal or None
        USDC, `None` is shown as "–".
    places : int, optional
        Decimals of the text (default: 2).
    """
    text = money(value, places)
    return f"+{text}" if value is not None and value > 0 else text


def grouped(value: Decimal | None) -> str:
    """Return a number with grouping and all its digits, including trailing zeros.

    Parameters
    ----------
    value : Decimal or None
        Number, `None` is shown as "–".
    """
    return MISSING if value is None else minus(f"{value:,f}")


def mean_text(price: Decimal, places: int) -> str:
    """Return a mean price with grouping and at most so many decimals.

    Parameters
    ----------
    price : Decimal
        Price in USDC.
    places : int
        Most decimals of the text.
    """
    return grouped(round(price, places).normalize())


def in_units(value: Decimal | None, unit: Decimal) -> str:
    """Return a number with grouping and the decimals of its unit (a tick or step), so that columns line up.

    Parameters
    ----------
    value : Decimal or None
        Number, `None` is shown as "–".
    unit : Decimal
        Tick or step of the product.
    """
    return MISSING if value is None else grouped(value.quantize(unit, ROUND_HALF_EVEN, WIDE))


def trimmed(value: Decimal | None) -> str:
    """Return a number as plain text without trailing zeros.

    Parameters
    ----------
    value : Decimal or None
        Number, `None` is shown as "–".
    """
    if value is None:
        return MISSING
    return minus(plain_text(value))


def percent(value: Decimal | None, places: int = 2) -> str:
    """Return a ratio as percent: 0.0123 → "1.23 %".

    Parameters
    ----------
    value : Decimal or None
        Ratio, `None` is shown as "–".
    places : int, optional
        Decimals of the text (default: 2).
    """
    return MISSING if value is None else minus(f"{value * 100:,.{places}f} %")


def countdown(left_ms: int | None) -> str:
    """Return a time that is left as hours, minutes and seconds: "3:59:07".

    Parameters
    ----------
    left_ms : int or None
        Milliseconds, `None` for an unknown time.
    """
    if left_ms is None:
        return UNKNOWN
    left = left_ms // 1000
    return f"{left // 3600}:{left % 3600 // 60:02}:{left % 60:02}"


def change(value: Decimal | None, places: int = 2) -> str:
    """Return a ratio as percent with an arrow: "▲ 1.23 %", "▼ 0.40 %".

    Parameters
    ----------
    value : Decimal or None
        Ratio, `None` is shown as "–".
    places : int, optional
        Decimals of the text (default: 2).
    """
    if value is None:
        return MISSING
    return f"{arrow(value)} {percent(abs(value), places)}".strip()


def arrow(value: float | Decimal) -> str:
    """Return ▲ above 0, ▼ below, "" for 0 and None.

    Parameters
    ----------
    value : object
        Any number, or `None`.
    """
    return "" if not value else "▲" if value > 0 else "▼"


def side_text(side: object) -> str:
    """Return an order side, also one of hedge mode, as "▲ buy" or "▼ sell".

    Parameters
    ----------
    side : object
        Side of an order as on the wire.
    """
    return "▲ buy" if str(side).startswith("BUY") else "▼ sell"


def minus(text: str) -> str:
    """Return the text with a typographic minus sign.

    Parameters
    ----------
    text : str
        Any text with numbers.
    """
    return text.replace("-", "−")


def short(text: str) -> str:
    """Return an address or hash abbreviated: 0x1234…cdef.

    Parameters
    ----------
    text : str
        Address or hash with 0x.
    """
    return f"{text[:6]}…{text[-4:]}" if len(text) > 12 else text
