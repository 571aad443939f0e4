"""Figures of frames with matplotlib: candles, depth, equity and drawdown, funding, positions over time.

Each function takes a frame as the session gives it, of pandas or of any library with the Arrow interface. It returns
the Axes it drew on (two of them where it says so). The colours are those of Okabe and Ito, which are distinguishable
with colour blindness. Rising candles are also hollow and falling ones filled. `theme` is "light", "dark" or a `Theme`.
`EAST_ASIAN` shows a rise in red, `use` sets the default.

>>> LIGHT.up, EAST_ASIAN.up
('#0072B2', '#D55E00')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .errors import InputError, require
from .guards import no_keys
from .interchange import to_pandas
from .numerals import unit_text
from .pictures.panes import DARK, LIGHT, CandleSeries, Columns, HorizontalLine, Line, Pane, Theme, spacing_days
from .pictures.static import draw_all, figure_of, finish, plain_numbers, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "DARK", "EAST_ASIAN", "LIGHT", "Theme", "candles", "depth", "equity", "funding", "positions", "theme_named", "use",
]  # fmt: skip

EAST_ASIAN = LIGHT.swapped()
"""Rise in red, fall in green, as usual in East Asia."""

_NAMED = {"light": LIGHT, "dark": DARK, "east-asian": EAST_ASIAN, "east-asian-dark": DARK.swapped()}
_default = LIGHT

BIDS = frozenset({"BID", "BUY", "BIDS"})


def use(theme: Theme | str) -> Theme:
    """Set the default theme and return it.

    Parameters
    ----------
    theme : Theme or str
        "light", "dark", "east-asian", "east-asian-dark", or a Theme.

    Returns
    -------
    Theme
        The new default.

    Raises
    ------
    InputError
        For an unknown name.

    Examples
    --------
    >>> plots.use("light").paper
    '#ffffff'
    """
    global _default
    _default = theme_named(theme)
    return _default


@no_keys
def theme_named(theme: Theme | str | None) -> Theme:
    """Return a theme by its name.

    Parameters
    ----------
    theme : Theme, str or None
        Name of a theme, a Theme, which is returned unchanged, or None for the default.

    Returns
    -------
    Theme
        The theme.

    Raises
    ------
    InputError
        For an unknown name.

    Examples
    --------
    >>> plots.theme_named("dark").paper
    '#14181f'
    """
    if theme is None:
        return _default
    if isinstance(theme, Theme):
        return theme
    if theme not in _NAMED:
        raise InputError(f"theme {theme!r} is not known. Use one of {', '.join(_NAMED)}, or a Theme")
    return _NAMED[theme]


def candles(
    klines: pd.DataFrame,
    *,
    volume: bool = True,
    title: str | None = None,
    theme: Theme | str | None = None,
    ax: Axes | None = None,
) -> Axes | tuple[Axes, Axes]:
    """Draw candles, with the traded volume under them. A time without candles stays empty.

    Parameters
    ----------
    klines : DataFrame
        Frame of `session.klines`: index or column `time`, open, high, low, close (USDC), volume (base units).
    volume : bool, optional
        Whether to draw the volume. It is left out on an `ax` (default: True).
    title : str, optional
        Title of the figure (default: made from the data).
    theme : Theme or str, optional
        "light", "dark", "east-asian", "east-asian-dark", or a Theme (default: the one of `use`).
    ax : matplotlib Axes, optional
        Your Axes to draw on (default: a new figure).

    Returns
    -------
    Axes or tuple of (Axes, Axes)
        The Axes of the prices and that of the volume. Without volume only that of the prices.

    Raises
    ------
    InputError
        For a frame without these columns.

    Examples
    --------
    >>> prices, volumes = plots.candles(bars)
    >>> prices.get_ylabel()
    'price (USDC)'
    """
    frame = _by_time(_frame(klines, "klines", ("open", "high", "low", "close"), "session.klines"))
    symbol, interval = _only(frame, "symbol"), _only(frame, "interval")
    named = " · ".join(filter(None, (symbol, unit_text(int(interval) * 10**9) if interval else ""))) or "Candles"
    panes = [Pane(title or named, [CandleSeries(frame)], "price (USDC)", 3.2, plain=True)]
    if volume and ax is None:
        days = spacing_days(frame.index)
        rising = frame["close"].astype("float64") >= frame["open"].astype("float64")
        traded = frame["volume"].astype("float64").set_axis(frame.index + pd.Timedelta(days=days / 2))
        parts = [Columns(traded, days * 0.7, rising, 0.55)]
        unit = symbol.removesuffix("USDC") if symbol.endswith("USDC") else "base units"
        panes.append(Pane("", parts, f"volume ({unit})", limits=(0, None), plain=True))
    shown = draw_all(panes, theme_named(theme), height=5.6 if volume else 4.6, ax=ax)
    return shown[0] if len(shown) == 1 else (shown[0], shown[1])


def depth(
    book: pd.DataFrame, *, title: str | None = None, theme: Theme | str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how much rests in the book up to each price.

    Parameters
    ----------
    book : DataFrame
        Columns side (BID or ASK, BUY or SELL), price (USDC) and quantity (base units), in any order of rows.
    title : str, optional
        Title of the figure (default: made from the data).
    theme : Theme or str, optional
        "light", "dark", "east-asian", "east-asian-dark", or a Theme (default: the one of `use`).
    ax : matplotlib Axes, optional
        Your Axes to draw on (default: a new figure).

    Returns
    -------
    Axes
        The Axes of the figure.

    Raises
    ------
    InputError
        For a frame without these columns.

    Examples
    --------
    >>> plots.depth(session.order_book("BTCUSDC")).get_xlabel()
    'price (USDC)'
    """
    book = _frame(book, "book", ("side", "price", "quantity"), "session.order_book")
    colours = theme_named(theme)
    with styled(colours):
        ax = ax or figure_of(colours, height=4.2).subplots()
        is_bid = book["side"].astype(str).str.upper().isin(BIDS).to_numpy()
        prices = book["price"].astype("float64").to_numpy()
        quantities = book["quantity"].astype("float64").to_numpy()
        best = []
        for mask, step, colour, label in ((is_bid, -1, colours.up, "bids"), (~is_bid, 1, colours.down, "asks")):
            if not mask.any():
                continue
            order = np.argsort(prices[mask])[::step]
            levels = np.append(prices[mask][order][:1], prices[mask][order])
            totals = np.append(0.0, np.cumsum(quantities[mask][order]))
            ax.step(levels, totals, where="post", color=colour, linewidth=1.6, label=label)
            ax.fill_between(levels, totals, step="post", color=colour, alpha=0.18, linewidth=0)
            best.append(levels[0])
        if len(best) == 2:
            middle = (best[0] + best[1]) / 2
            ax.axvline(middle, color=colours.faint, linewidth=0.9, linestyle=(0, (4, 3)))
            ax.annotate(
                f"mid {middle:,.10g}", (middle, 1), xycoords=("data", "axes fraction"), xytext=(5, -12),
                textcoords="offset points", color=colours.faint, fontsize=8.5,
            )  # fmt: skip
        ax.set_ylim(bottom=0)
        finish(ax, title or "Order book depth", "cumulative quantity (base units)", colours)
        ax.set_xlabel("price (USDC)")
        plain_numbers(ax.xaxis)
        if best:
            ax.legend(frameon=False, labelcolor=colours.ink, fontsize=9, loc="best", ncols=3)
        return ax


def equity(
    curve: pd.DataFrame | pd.Series[Any], *, title: str | None = None, theme: Theme | str | None = None
) -> tuple[Axes, Axes]:
    """Draw equity over time, and its fall below its highest value so far.

    Parameters
    ----------
    curve : DataFrame or Series
        Series by time, or a frame with a column equity (or balance, as the ledger's), USDC, and index or column `time`.
    title : str, optional
        Title of the figure (default: made from the data).
    theme : Theme or str, optional
        "light", "dark", "east-asian", "east-asian-dark", or a Theme (default: the one of `use`).

    Returns
    -------
    tuple of (Axes, Axes)
        The Axes of the equity and that of the drawdown (%).

    Raises
    ------
    InputError
        For a frame without these columns.

    Examples
    --------
    >>> above, below = plots.equity(run.equity)
    >>> above.get_ylabel()
    'equity (USDC)'
    """
    values = _equity_series(curve)
    peak = values.cummax()
    fall = ((values - peak) / peak.where(peak > 0)).fillna(0.0) * 100
    lowest = min(float(fall.min()) * 1.15 if len(fall) else 0.0, -0.01)
    change = values.iloc[-1] - values.iloc[0] if len(values) else 0.0
    note = (f"{values.iloc[-1]:,.2f}  ({change:+,.2f})", "up" if change >= 0 else "down") if len(values) else None
    start = [HorizontalLine(float(values.iloc[0]), dashed=True)] if len(values) else []
    below = Line(fall, role="down", width=1.1, steps=True, area=0.0, opacity=0.3)
    panes = (
        Pane(title or "Equity", (Line(values, width=1.7, steps=True), *start), "equity (USDC)", 2.6, note),
        Pane("", (below,), "drawdown (%)", limits=(lowest, 0)),
    )
    upper, lower = draw_all(panes, theme_named(theme), height=5.2)
    return upper, lower


def funding(
    rates: pd.DataFrame, *, title: str | None = None, theme: Theme | str | None = None, ax: Axes | None = None
) -> Axes | tuple[Axes, Axes]:
    """Draw funding and the sum so far.

    Parameters
    ----------
    rates : DataFrame
        Frame of `session.info.funding_rate_history` or of rates that `research.data.load` has read (bars are % an
        interval). Or a frame of `info.funding_payments` (bars are USDC, negative is paid).
    title : str, optional
        Title of the figure (default: made from the data).
    theme : Theme or str, optional
        "light", "dark", "east-asian", "east-asian-dark", or a Theme (default: the one of `use`).
    ax : matplotlib Axes, optional
        Your Axes to draw on (default: a new figure).

    Returns
    -------
    Axes or tuple of (Axes, Axes)
        The Axes of the bars and that of the sum (%, USDC). On an `ax` only that of the bars.

    Raises
    ------
    InputError
        For a frame without these columns.

    Examples
    --------
    >>> rates, total = plots.funding(session.info.funding_rate_history("BTCUSDC", start="1d"))
    >>> rates.get_ylabel()
    'funding (% an interval)'
    """
    rates = _frame(rates, "rates", (), "session.info.funding_rate_history or session.info.funding_payments")
    paid = "amount" in rates.columns
    name = "amount" if paid else "rate" if "rate" in rates.columns else "funding_rate"
    frame = _by_time(_frame(rates, "rates", (name,), "session.info.funding_rate_history"))
    summed = (frame[name].astype("float64") * (1 if paid else 100)).groupby(level=0).sum()
    if len(summed) == 1:  # beside empty places, or its bar would fill the picture
        step = pd.Timedelta(spacing_days(summed.index), "D")
        summed = summed.reindex([summed.index[0] - step, summed.index[0], summed.index[0] + step])
    bars = Columns(summed, 0.55 * spacing_days(summed.index)), HorizontalLine(0)
    sums = Line(summed.cumsum(), steps=True), HorizontalLine(0)
    what, symbol = "Funding paid and received" if paid else "Funding rate", _only(frame, "symbol")
    unit = "USDC, negative is paid" if paid else "% an interval"
    named = title or " · ".join(filter(None, (what, symbol)))
    panes = [Pane(named, bars, f"funding ({unit})", 1.6), Pane("", sums, f"sum so far ({'USDC' if paid else '%'})")]
    shown = draw_all(panes[: 1 if ax is not None else 2], theme_named(theme), height=5.2, ax=ax)
    return shown[0] if ax is not None else (shown[0], shown[1])


def positions(
    held: pd.DataFrame, *, title: str | None = None, theme: Theme | str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw signed position sizes over time, a line a product.

    Parameters
    ----------
    held : DataFrame
        Frame of `session.fills` (sizes are added up from flat), or one with a column of sizes (base units) for each
        product and times as index.
    title : str, optional
        Title of the figure (default: made from the data).
    theme : Theme or str, optional
        "light", "dark", "east-asian", "east-asian-dark", or a Theme (default: the one of `use`).
    ax : matplotlib Axes, optional
        Your Axes to draw on (default: a new figure).

    Returns
    -------
    Axes
        The Axes of the figure.

    Examples
    --------
    >>> _ = session.buy("BTCUSDC", "0.01")
    >>> plots.positions(session.fills()).get_ylabel()
    'size (base units, short below 0)'
    """
    held = _frame(held, "held", (), "session.fills")
    if "time" not in held.columns and not isinstance(held.index, pd.DatetimeIndex):
        text = "held has no times, as session.positions() has none: it is the present alone"
        raise InputError(f"{text}. Give session.fills(), or run.positions", field="held", rule="times")
    sizes = _sizes(held)
    lines = [
        Line(sizes[symbol], str(symbol), number, steps=True, area=0.0, opacity=0.14)
        for number, symbol in enumerate(sizes.columns)
    ]
    pane = Pane(title or "Positions", (*lines, HorizontalLine(0)), "size (base units, short below 0)")
    return draw_all([pane], theme_named(theme), height=4.2, ax=ax)[0]


def _frame(data: object, field: str, columns: Sequence[str], source: str) -> pd.DataFrame:
    """Return a table of any library as a frame that has the columns."""
    frame = to_pandas(data, field)
    require(frame, pd.DataFrame, field, f"a DataFrame, as {source} returns it")
    assert isinstance(frame, pd.DataFrame)
    if missing := ", ".join(column for column in columns if column not in frame.columns):
        text = f"{field} has no column {missing}. Give a frame as {source} returns it"
        raise InputError(text, field=field, rule="columns")
    return frame


def _by_time(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with its times as sorted index, whether they were a column or the index."""
    made = frame.set_index("time") if "time" in frame.columns else frame
    return made[made.index.notna()].sort_index(kind="stable")


def _only(frame: pd.DataFrame, column: str) -> str:
    """Return the one value of a column as text, "" where there is none or more than one."""
    if column not in frame.columns:
        return ""
    values = frame[column].dropna().unique()
    return str(values[0]) if len(values) == 1 else ""


def _equity_series(curve: pd.DataFrame | pd.Series[Any]) -> pd.Series[Any]:
    curve = to_pandas(curve, "curve")
    require(curve, (pd.Series, pd.DataFrame), "curve", "a Series by time, or a frame with a column equity or balance")
    if isinstance(curve, pd.Series):
        return curve.astype("float64").sort_index(kind="stable")
    name = next((column for column in ("equity", "balance") if column in curve.columns), None)
    if name is None:
        there = ", ".join(map(str, curve.columns)) or "none"
        raise InputError(f"curve has no column equity or balance. It has {there}", field="curve")
    return _by_time(curve)[name].astype("float64")


def _sizes(held: pd.DataFrame) -> pd.DataFrame:
    """Return signed sizes by time and product, from fills or as they are."""
    if not {"symbol", "side", "quantity"} <= set(held.columns):
        return _by_time(held).select_dtypes("number").astype("float64")
    fills = _by_time(held)
    sign = fills["side"].astype(str).str.startswith("BUY").map({True: 1.0, False: -1.0})
    moved = fills["quantity"].astype("float64") * sign
    by_product = moved.groupby([fills.index, fills["symbol"].astype(str)]).sum().unstack(fill_value=0)
    by_product.columns.name = None
    return by_product.cumsum().round(12)
