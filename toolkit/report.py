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

import pandas as pd

from . import plots
from .connecting import venue_in_process
from .errors import InputError, require
from .extras import need
from .numerals import moment
from .pictures.panes import Columns, HorizontalLine, Line, Marks, Pane
from .pictures.static import draw_all
from .protocol.enums import OrderType
from .returns import growth

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .plain_session import Session
    from .plots import Theme
    from .venue.engine.core import Core
    from .venue.local import LocalVenue

    Source = Session | LocalVenue | Core

DAY = 86_400_000
_SECONDS = 600_000
"""Longest span, in ms, whose time axis shows seconds."""
_MICRO = 1_000_000
_EXACT_DIGITS = 10**15
"""Whole numbers from here on are not exact in a spreadsheet."""
_RATE = 100_000_000
_SYSTEM: dict[int, str] = {kind: kind.name for kind in (OrderType.ADL, OrderType.LIQUIDATION)}
"""Kinds of orders that the venue places itself."""


def account_frames(source: Source, account: str | None = None, *, day: object = None) -> dict[str, pd.DataFrame]:
    """Return what `account_day` draws, as frames by name, each indexed by `time` (UTC).

    The frame of equity spans from the start of the day, or the account's first deposit, to the end of the day or now.
    It has a row per minute while a position is open. Otherwise it has a row per change of the balance (two rows of one
    time where it jumps). The last equity less the first is the day's change. Less `deposits` it is the profit or loss.

    Parameters
    ----------
    source : Source
        Session on the local venue, the venue, or its core.
    account : str, optional
        Address of the account (default: the session's).
    day : str, datetime or Timestamp, optional
        A time within the day, UTC, as pandas reads it (default: the venue's current day).

    Returns
    -------
    dict of str to DataFrame
        Frames by name, amounts in USDC:

        - equity: float64 columns equity, balance, ratio (margin ratio, 1.0 is liquidation, 0 without a position) and
          deposits. These are deposits less withdrawals since the frame's start, transfers to and from vaults included.
        - fills: symbol, side (BUY, SELL), price, quantity (base units), value, pnl, fee, kind ("", LIQUIDATION, ADL)
        - funding: symbol, rate (a ratio), amount (negative is paid)

    Raises
    ------
    InputError
        For a session that is not on the local venue in this process, and for an account that the venue does not know.

    Examples
    --------
    >>> _ = session.buy("BTCUSDC", "0.01")
    >>> report.account_frames(session)["fills"][["side", "price", "fee"]].values.tolist()
    [['BUY', 62506.6, 0.37504]]
    """
    core = _core(source)
    asked = (core, _address(source, account, core), *_span(core, day))
    return {"equity": _equity(*asked), "fills": _fills(*asked), "funding": _funding(*asked)}


def account_day(
    source: Session | LocalVenue | Core,
    account: str | None = None,
    *,
    day: object = None,
    theme: Theme | str | None = None,
) -> Figure:
    """Draw a day of an account: equity, margin ratio, fills by product, funding.

    The title of the equity panel shows its last value, the profit or loss, and the time-weighted return, both without
    deposits and withdrawals.

    Parameters
    ----------
    source : Session, LocalVenue or Core
        Session on the local venue, the venue, or its core.
    account : str, optional
        Address of the account (default: the session's).
    day : str, datetime or Timestamp, optional
        A time within the day, UTC, as pandas reads it (default: the venue's current day).
    theme : Theme or str, optional
        Colours, as in `plots` (default: the one of `plots.use`).

    Returns
    -------
    matplotlib Figure
        The figure, with four Axes.

    Raises
    ------
    InputError
        As `account_frames`.

    Examples
    --------
    >>> _ = session.buy("BTCUSDC", "0.01")
    >>> [panel.get_ylabel() for panel in report.account_day(session).axes]
    ['USDC', '%', '', 'USDC']
    """
    frames = account_frames(source, account, day=day)
    core = _core(source)
    start, end = _span(core, day)
    first = min((frame.index.min() for frame in frames.values() if len(frame)), default=_moment(start))
    last = max(_moment(min(end, core.state.time)), first + pd.Timedelta(minutes=1))
    days = (last - first) / pd.Timedelta(days=1)
    panes = [_equity_pane(frames["equity"]), _ratio_pane(frames["equity"]), _fills_pane(frames["fills"])]
    panes.append(_funding_pane(frames["funding"], days * 0.013))
    colours = plots.theme_named(theme)
    panels = draw_all(panes, colours, height=8.2)
    _clock(panels[-1], first, last)
    address = _address(source, account, core)
    figure: Figure = panels[0].figure  # type: ignore[assignment]
    figure.suptitle(
        f"{address[:6]}…{address[-4:]} · {_moment(start):%A %d %B %Y}",
        x=0.012, ha="left", fontsize=13, fontweight="bold", color=colours.ink,
    )  # fmt: skip
    return figure


def to_excel(frames: pd.DataFrame | Mapping[str, pd.DataFrame], path: str | os.PathLike[str]) -> Path:
    """Write frames to an .xlsx file.

    Times are UTC without a zone, which spreadsheets don't know, and their columns say so. Decimals become numbers, and
    whole numbers of more than 15 digits, such as ids, text: a spreadsheet would round them.

    Parameters
    ----------
    frames : DataFrame or mapping of str to DataFrame
        One frame, or one for each name of a sheet.
    path : str or PathLike
        File to write, which ends in .xlsx.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    MissingPackage
        Without openpyxl.
    InputError
        For a path that does not end in .xlsx and for what is no frame.

    Examples
    --------
    >>> _ = session.buy("BTCUSDC", "0.01")
    >>> report.to_excel({"fills": session.fills()}, "account.xlsx").name
    'account.xlsx'
    """
    need("openpyxl")
    require(frames, pd.DataFrame | Mapping, "frames", "a DataFrame, or a mapping sheet → DataFrame")
    target = Path(path)
    if target.suffix != ".xlsx":
        raise InputError(f"path {target} must end in .xlsx", field="path", rule=".xlsx", value=str(path))
    sheets = frames if isinstance(frames, Mapping) else {"Sheet1": frames}
    with pd.ExcelWriter(target, engine="openpyxl") as writer:
        for name, frame in sheets.items():
            numbered = frame.index.name is None and isinstance(frame.index, pd.RangeIndex)
            named = frame if numbered else frame.reset_index()
            zoned = {column for column in named if getattr(named[column].dtype, "tz", None) is not None}
            cells = {f"{name} (UTC)" if name in zoned else str(name): _spreadsheet(named[name]) for name in named}
            pd.DataFrame(cells).to_excel(writer, sheet_name=name[:31], index=False, freeze_panes=(1, 0))
    return target


def _spreadsheet(values: pd.Series[Any]) -> Any:
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
    core: Core = source if venue is None else venue.host.core
    if not hasattr(core, "state"):
        text = "a report needs the local venue in this process (toolkit.connect() or a LocalVenue)"
        raise InputError(text, field="source")
    return core


def _address(source: object, account: str | None, core: Core) -> str:
    address = str(account or getattr(source, "account", None) or "").lower()
    if address not in core.state.accounts:
        raise InputError(f"the venue has no account {address or '(none given)'}", field="account", value=account)
    return address


def _span(core: Core, day: object) -> tuple[int, int]:
    within = core.state.time if day is None else moment(day, "day", core.state.time)
    start = within - within % DAY
    return start, start + DAY


def _moment(milliseconds: int) -> pd.Timestamp:
    return pd.Timestamp(milliseconds, unit="ms", tz="UTC")


def _frame(rows: list[tuple[Any, ...]], columns: dict[str, str]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["time", *columns]).astype(columns)
    frame["time"] = pd.to_datetime(frame["time"].astype("int64"), unit="ms", utc=True)
    return frame.set_index("time")


def _equity(core: Core, address: str, start: int, end: int) -> pd.DataFrame:
    from .venue.risk.equity_curve import curve

    rows = []
    for point in (points := curve(core, core.state.accounts[address], start, end)):
        brought = (point.net_deposits - points[0].net_deposits) / _MICRO
        rows.append((point.time, point.equity / _MICRO, point.balance / _MICRO, point.ratio / _RATE, brought))
    return _frame(rows, dict.fromkeys(("equity", "balance", "ratio", "deposits"), "float64"))


def _fills(core: Core, address: str, start: int, end: int) -> pd.DataFrame:
    rows = []
    for fill in core.state.history.fills_of(address):
        if start <= fill.time < end:
            product = core.products[fill.product]
            price, quantity = product.tick_size * fill.fill_price, product.step_size * fill.fill_quantity
            fee = (fill.open_fee + fill.close_fee + fill.builder_fee) / _MICRO
            side = "BUY" if fill.side > 0 else "SELL"
            traded = (price, quantity, price * quantity, fill.pnl / _MICRO, fee)
            rows.append((fill.time, product.symbol, side, *traded, _SYSTEM.get(fill.type, "")))
    numbers = dict.fromkeys(("price", "quantity", "value", "pnl", "fee"), "float64")
    return _frame(rows, {"symbol": "str", "side": "str", **numbers, "kind": "str"})


def _funding(core: Core, address: str, start: int, end: int) -> pd.DataFrame:
    rows = [
        (paid.time, core.products[paid.product].symbol, paid.rate / _RATE, paid.amount / _MICRO)
        for paid in core.state.history.funding_payments.of(address)
        if start <= paid.time < end
    ]
    return _frame(rows, {"symbol": "str", "rate": "float64", "amount": "float64"})


def _equity_pane(frame: pd.DataFrame) -> Pane:
    if not len(frame):
        return Pane("Equity", unit="USDC", share=2.3)
    values, balance = frame["equity"], frame["balance"]
    lines = (Line(balance, "balance", "faint", 1.1, True), Line(values, "equity", width=1.8, area=balance))
    brought = frame["deposits"].iloc[-1]
    change = values.iloc[-1] - values.iloc[0] - brought
    if abs(change) < 0.005:
        change = 0.0
    moved = f", and {abs(brought):,.2f} {'deposited' if brought > 0 else 'withdrawn'}" if brought else ""
    grown = growth(list(values), list(frame["deposits"]))[-1] - 1
    words = f"{values.iloc[-1]:,.2f}  ({change:+,.2f}, {grown:+.2%}{moved})"
    return Pane("Equity", lines, "USDC", 2.3, (words, "up" if change > 0 else "down" if change < 0 else "faint"))


def _ratio_pane(frame: pd.DataFrame) -> Pane:
    ratio = (frame["ratio"] * 100).clip(upper=130)
    line = Line(ratio, role=2, steps=True, area=0.0, opacity=0.22)
    highest = float(frame["ratio"].max() * 100) if len(frame) else 0.0
    note = None
    if highest:  # else there was no position, or none that was open at a sample
        words = f"highest {highest:,.1f} %" if highest < 1_000 else "no equity left"
        note = (words, "down" if highest >= 95 else "faint")
    limits = (0, max(122, float(ratio.max()) * 1.05) if len(ratio) else 122)
    return Pane("Margin ratio", (line, HorizontalLine(100, "liquidation", "down")), "%", 1.3, note, limits)


def _fills_pane(frame: pd.DataFrame) -> Pane:
    symbols = sorted(frame["symbol"].unique())
    lanes = {symbol: len(symbols) - 1 - at for at, symbol in enumerate(symbols)}
    largest = float(frame["value"].max()) if len(frame) else 1.0
    beside = frame["side"].map({"BUY": 0.16, "SELL": -0.16})
    places = frame["symbol"].map(lanes).astype("float64") + beside.astype("float64")
    sizes = 18 + 130 * (frame["value"] / largest) ** 0.5
    chosen = (
        ("buy", "up", "up", frame["side"] == "BUY", sizes),
        ("sell", "down", "down", frame["side"] == "SELL", sizes),
        ("liquidation, ADL", "ink", "ring", frame["kind"] != "", sizes * 0 + 190),
    )
    marks = [
        Marks(places[rows], name, role, shape, size[rows].to_numpy())
        for name, role, shape, rows, size in chosen
        if rows.any()
    ]
    return Pane("Fills", marks, share=1.3, limits=(-0.6, max(len(symbols), 1) - 0.4), lanes=lanes)


def _funding_pane(frame: pd.DataFrame, width: float) -> Pane:
    paid, title = frame["amount"].groupby(level=0).sum(), "Funding received (+) and paid (−)"
    if not len(paid):
        return Pane(title, (HorizontalLine(0),), "USDC", 1.1)
    room, total = float(paid.abs().max()) * 1.25, float(paid.sum())
    limits = (-room if (paid < 0).any() else -room / 8, room if (paid > 0).any() else room / 8)
    note = (f"{total:+,.2f}", "up" if total >= 0 else "down")
    return Pane(title, (Columns(paid, width), HorizontalLine(0)), "USDC", 1.1, note, limits)


def _clock(ax: Axes, first: pd.Timestamp, last: pd.Timestamp) -> None:
    """Set the time axis from the first event to the end, and show times of day."""
    import matplotlib.dates as dates

    left, right = (dates.date2num(moment.to_pydatetime()) for moment in (first, last))  # type: ignore[no-untyped-call]
    ax.xaxis_date()
    ax.set_xlim(left - (right - left) * 0.015, right + (right - left) * 0.015)
    seconds = (right - left) * DAY <= _SECONDS
    ax.xaxis.set_major_formatter(dates.DateFormatter("%H:%M:%S" if seconds else "%H:%M"))  # type: ignore[no-untyped-call]
