"""Reports of what happened to an account, as figures and frames.

`account_day` draws a day of one account on the local venue: equity, margin ratio, fills and funding over time.
`to_excel` writes any frames as a spreadsheet.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import plots
from .connecting import venue_in_process
from .errors import InputError
from .extras import need
from .protocol.enums import OrderType

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .plots import Theme
    from .session import Session
    from .venue.engine.core import Core
    from .venue.local import LocalVenue

DAY = 86_400_000
_SECONDS = 600_000
"""Longest span, in ms, whose time axis shows seconds."""
_MICRO = 1_000_000
_EXACT_DIGITS = 10**15
"""Whole numbers from here on are not exact in a spreadsheet."""
_RATE = 100_000_000
_SYSTEM: dict[int, str] = {kind: kind.name for kind in (OrderType.ADL, OrderType.LIQUIDATION)}
"""Kinds of orders that the venue places itself."""


def account_frames(
    source: Session | LocalVenue | Core, account: str | None = None, *, day: Any = None
) -> dict[str, pd.DataFrame]:
    """Return what `account_day` draws, as frames by name, each indexed by `time` (UTC).

    `equity`: equity, balance (USDC), ratio (margin ratio, 1.0 is liquidation; 0 without a position), deposits (deposits
    less withdrawals since the frame's start, transfers to and from vaults included, USDC). It spans from the start of
    the day, or the account's first deposit, to the end of the day or now: a row a minute while a position is open, and
    a row for every change of the balance while there is none (two rows of one time where it jumps). The last equity
    less the first is the day's change; less `deposits` it is the profit or loss.
    `fills`: symbol, side (BUY, SELL), price, quantity, value, pnl, fee (USDC), kind ("", LIQUIDATION, ADL).
    `funding`: symbol, rate, amount (USDC, negative = paid).

    `source` is a session on the local venue, the venue, or its core; `account` an address (default: the session's);
    `day` is anything pandas reads as a time, in UTC (default: the venue's current day). Raises InputError for a session
    that is not on the local venue in this process, and for an account that the venue does not know.
    """
    core = _core(source)
    address = _address(source, account, core)
    start, end = _span(core, day)
    return {
        "equity": _equity(core, address, start, end),
        "fills": _fills(core, address, start, end),
        "funding": _funding(core, address, start, end),
    }


def account_day(
    source: Session | LocalVenue | Core,
    account: str | None = None,
    *,
    day: Any = None,
    theme: Theme | str | None = None,
) -> Figure:
    """Draw a day of an account: equity, margin ratio, fills by product, funding. Returns the Figure.

    The title of the equity panel shows its last value and the profit or loss, without deposits and withdrawals.
    Arguments and errors as in `account_frames`; `theme` as in `plots`.
    """
    frames = account_frames(source, account, day=day)
    core = _core(source)
    start, end = _span(core, day)
    colours = plots.theme_named(theme)
    with plots.styled(colours):
        figure = plots.figure_of(colours, height=8.2)
        panels = figure.subplots(4, sharex=True, height_ratios=(2.3, 1.3, 1.3, 1.1), gridspec_kw={"hspace": 0.06})
        _draw_equity(panels[0], frames["equity"], colours)
        _draw_ratio(panels[1], frames["equity"], colours)
        _draw_fills(panels[2], frames["fills"], colours)
        days = _set_time(panels[3], frames, start, min(end, core.state.time))
        _draw_funding(panels[3], frames["funding"], colours, days * 0.013)
        _clock(panels[3], days)
        address = _address(source, account, core)
        figure.suptitle(
            f"{address[:6]}…{address[-4:]} · {_moment(start):%A %d %B %Y}",
            x=0.012, ha="left", fontsize=13, fontweight="bold", color=colours.ink,
        )  # fmt: skip
    return figure


def to_excel(frames: pd.DataFrame | Mapping[str, pd.DataFrame], path: str | os.PathLike[str]) -> Path:
    """Write a frame, or one sheet for each name, to an .xlsx file that Excel and LibreOffice open; return its path.

    Times are UTC without a zone, which spreadsheets don't know, and their columns say so. Decimals become numbers, and
    whole numbers of more than 15 digits, such as ids, text: a spreadsheet would round them. Raises MissingPackage
    without openpyxl, and InputError for a path that does not end in .xlsx.
    """
    import pandas as pd

    need("openpyxl")
    target = Path(path)
    if target.suffix != ".xlsx":
        raise InputError(f"path {target} must end in .xlsx", field="path", rule=".xlsx", value=str(path))
    sheets = frames if isinstance(frames, Mapping) else {"Sheet1": frames}
    with pd.ExcelWriter(target, engine="openpyxl") as writer:
        for name, frame in sheets.items():
            named = (
                frame if frame.index.name is None and isinstance(frame.index, pd.RangeIndex) else frame.reset_index()
            )
            cells = {_headed(column, named[column]): _spreadsheet(named[column]) for column in named}
            pd.DataFrame(cells).to_excel(writer, sheet_name=name[:31], index=False, freeze_panes=(1, 0))
    return target


def _headed(column: Any, values: Any) -> str:
    return f"{column} (UTC)" if getattr(values.dtype, "tz", None) is not None else str(column)


def _spreadsheet(values: Any) -> Any:
    """Return a column as a spreadsheet can hold it."""
    if getattr(values.dtype, "tz", None) is not None:
        return values.dt.tz_convert("UTC").dt.tz_localize(None)
    if values.dtype.kind in "iu" and (values.abs() >= _EXACT_DIGITS).any():
        return values.astype("string").astype(object)
    if values.dtype == object:
        return values.map(lambda one: one if isinstance(one, int | float | Decimal) or one is None else str(one))
    return values


def _core(source: Any) -> Core:
    venue = venue_in_process(source)
    core = source if venue is None else venue.host.core
    if not hasattr(core, "state"):
        raise InputError(
            "a report needs the local venue in this process (toolkit.connect() or a LocalVenue)", field="source"
        )
    made: Core = core
    return made


def _address(source: Any, account: str | None, core: Core) -> str:
    address = str(account or getattr(source, "account", None) or "").lower()
    if address not in core.state.accounts:
        raise InputError(f"the venue has no account {address or '(none given)'}", field="account", value=account)
    return address


def _span(core: Core, day: Any) -> tuple[int, int]:
    import pandas as pd

    moment = core.state.time if day is None else round(pd.Timestamp(day).timestamp() * 1000)
    start = moment - moment % DAY
    return start, start + DAY


def _moment(milliseconds: int) -> pd.Timestamp:
    import pandas as pd

    return pd.Timestamp(milliseconds, unit="ms", tz="UTC")


def _frame(rows: list[tuple[Any, ...]], columns: dict[str, str]) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(rows, columns=["time", *columns]).astype(columns)
    frame["time"] = pd.to_datetime(frame["time"].astype("int64"), unit="ms", utc=True)
    return frame.set_index("time")


def _equity(core: Core, address: str, start: int, end: int) -> pd.DataFrame:
    from .venue.risk.equity_curve import curve

    points = curve(core, core.state.accounts[address], start, end)
    rows = [
        (
            point.time,
            point.equity / _MICRO,
            point.balance / _MICRO,
            point.ratio / _RATE,
            (point.net_deposits - points[0].net_deposits) / _MICRO,
        )
        for point in points
    ]
    return _frame(rows, dict.fromkeys(("equity", "balance", "ratio", "deposits"), "float64"))


def _fills(core: Core, address: str, start: int, end: int) -> pd.DataFrame:
    rows = []
    for fill in core.state.history.fills_of(address):
        if start <= fill.time < end:
            product = core.products[fill.product]
            price, quantity = product.tick_size * fill.fill_price, product.step_size * fill.fill_quantity
            fee = (fill.open_fee + fill.close_fee + fill.builder_fee) / _MICRO
            side = "BUY" if fill.side > 0 else "SELL"
            row = (fill.time, product.symbol, side, price, quantity, price * quantity, fill.pnl / _MICRO, fee)
            rows.append((*row, _SYSTEM.get(fill.type, "")))
    numbers = dict.fromkeys(("price", "quantity", "value", "pnl", "fee"), "float64")
    return _frame(rows, {"symbol": "str", "side": "str", **numbers, "kind": "str"})


def _funding(core: Core, address: str, start: int, end: int) -> pd.DataFrame:
    rows = [
        (paid.time, core.products[paid.product].symbol, paid.rate / _RATE, paid.amount / _MICRO)
        for paid in core.state.history.funding_payments.of(address)
        if start <= paid.time < end
    ]
    return _frame(rows, {"symbol": "str", "rate": "float64", "amount": "float64"})


def _draw_equity(ax: Axes, frame: pd.DataFrame, colours: Theme) -> None:
    plots.finish(ax, "Equity", "USDC", colours)
    if not len(frame):
        return
    values = frame["equity"]
    ax.plot(frame.index, frame["balance"], color=colours.faint, linewidth=1.1, linestyle=(0, (4, 2)), label="balance")
    ax.plot(frame.index, values, color=colours.lines[0], linewidth=1.8, label="equity")
    ax.fill_between(frame.index, values, frame["balance"], color=colours.lines[0], alpha=0.12, linewidth=0)
    plots.plain_numbers(ax.yaxis)
    brought = frame["deposits"].iloc[-1]
    change = values.iloc[-1] - values.iloc[0] - brought
    if abs(change) < 0.005:
        change = 0.0
    moved = f", and {abs(brought):,.2f} {'deposited' if brought > 0 else 'withdrawn'}" if brought else ""
    words = f"{values.iloc[-1]:,.2f}  ({change:+,.2f}{moved})"
    _total(ax, words, colours.up if change > 0 else colours.down if change < 0 else colours.faint)
    _legend(ax, colours, at=(0.085, 0.985))


def _total(ax: Axes, words: str, colour: str) -> None:
    """Write the panel's number above its right end."""
    ax.annotate(
        words, (1, 1), xycoords="axes fraction", xytext=(0, 7), textcoords="offset points", ha="right", color=colour,
        fontsize=10, fontweight="bold",
    )  # fmt: skip


def _legend(ax: Axes, colours: Theme, *, at: tuple[float, float], markerscale: float = 1.0) -> None:
    """Put the legend in one row above the panel, after its title."""
    ax.legend(
        frameon=False, labelcolor=colours.ink, fontsize=8.5, loc="lower left", bbox_to_anchor=at, ncols=3,
        markerscale=markerscale, handletextpad=0.5, columnspacing=1.4,
    )  # fmt: skip


def _draw_ratio(ax: Axes, frame: pd.DataFrame, colours: Theme) -> None:
    plots.finish(ax, "Margin ratio", "%", colours)
    ax.axhline(100, color=colours.down, linewidth=1.2)
    ax.annotate(
        "liquidation", (0, 100), xycoords=("axes fraction", "data"), xytext=(4, 3), textcoords="offset points",
        color=colours.down, fontsize=8.5,
    )  # fmt: skip
    ax.set_ylim(0, 122)
    if not len(frame):
        return
    ratio = (frame["ratio"] * 100).clip(upper=130)
    ax.fill_between(frame.index, ratio, 0, color=colours.lines[2], alpha=0.22, linewidth=0, step="post")
    ax.plot(frame.index, ratio, color=colours.lines[2], linewidth=1.5, drawstyle="steps-post")
    ax.set_ylim(0, max(122, float(ratio.max()) * 1.05))
    highest = float(frame["ratio"].max() * 100)
    if not highest:  # no position, or none that was open at a sample
        return
    words = f"highest {highest:,.1f} %" if highest < 1_000 else "no equity left"
    _total(ax, words, colours.down if highest >= 95 else colours.faint)


def _draw_fills(ax: Axes, frame: pd.DataFrame, colours: Theme) -> None:
    symbols = sorted(frame["symbol"].unique())
    lanes = {symbol: len(symbols) - 1 - at for at, symbol in enumerate(symbols)}
    largest = float(frame["value"].max()) if len(frame) else 1.0
    for side, marker, colour, lift in (("BUY", "^", colours.up, 0.16), ("SELL", "v", colours.down, -0.16)):
        own = frame[frame["side"] == side]
        if len(own):
            sizes = 18 + 130 * (own["value"] / largest) ** 0.5
            ax.scatter(
                own.index, own["symbol"].map(lanes) + lift, s=sizes, marker=marker, color=colour,
                alpha=0.75, linewidths=0, label=side.lower(),
            )  # fmt: skip
    forced = frame[frame["kind"] != ""]
    if len(forced):
        lifts = forced["side"].map({"BUY": 0.16, "SELL": -0.16})
        ax.scatter(
            forced.index, forced["symbol"].map(lanes) + lifts, s=190, marker="o", facecolors="none",
            edgecolors=colours.ink, linewidths=1.3, label="liquidation, ADL",
        )  # fmt: skip
    plots.finish(ax, "Fills", "", colours)
    ax.set_yticks(list(lanes.values()), list(lanes))
    ax.set_ylim(-0.6, max(len(symbols), 1) - 0.4)
    ax.margins(x=0.02)
    if len(frame):
        _legend(ax, colours, at=(0.07, 0.965), markerscale=0.7)


def _draw_funding(ax: Axes, frame: pd.DataFrame, colours: Theme, width: float) -> None:
    paid = frame["amount"].groupby(level=0).sum()
    fill = [colours.up if amount >= 0 else colours.down for amount in paid]
    if len(paid):
        ax.bar(paid.index, paid, width=width, color=fill, alpha=0.85, linewidth=0)
    ax.axhline(0, color=colours.faint, linewidth=0.8)
    plots.finish(ax, "Funding received (+) and paid (−)", "USDC", colours)
    if len(paid):
        room = float(paid.abs().max()) * 1.25
        ax.set_ylim(-room if (paid < 0).any() else -room / 8, room if (paid > 0).any() else room / 8)
        total = float(paid.sum())
        _total(ax, f"{total:+,.2f}", colours.up if total >= 0 else colours.down)


def _set_time(ax: Axes, frames: dict[str, pd.DataFrame], start: int, end: int) -> float:
    """Set the axis from the first event to the end; return its length in days."""
    import matplotlib.dates as dates
    import pandas as pd

    times = [frame.index.min() for frame in frames.values() if len(frame)]
    first = min(times, default=_moment(start))
    last = max(_moment(end), first + pd.Timedelta(minutes=1))
    left, right = (dates.date2num(moment.to_pydatetime()) for moment in (first, last))  # type: ignore[no-untyped-call]
    ax.xaxis_date()
    ax.set_xlim(left - (right - left) * 0.015, right + (right - left) * 0.015)
    ax.set_xlabel("time (UTC)")
    return float(right - left)


def _clock(ax: Axes, days: float) -> None:
    import matplotlib.dates as dates

    ax.xaxis.set_major_formatter(dates.DateFormatter("%H:%M" if days * DAY > _SECONDS else "%H:%M:%S"))  # type: ignore[no-untyped-call]
