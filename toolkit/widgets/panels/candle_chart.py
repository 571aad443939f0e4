"""The candle chart of a product: history, indicators, and the account's orders, fills and position as lines."""

from __future__ import annotations

import copy
import math
from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import traitlets

from ...client.reads.conversion import seconds
from ...client.reads.derived_columns import net_size, pnl_of
from ...errors import InputError, ToolkitError
from ...numerals import Span, span_ns, unit_text
from ...orders import Order
from ...products import exact
from ..base_panel import static_view
from ..base_panel.number_format import change, grouped, in_units, side_text, signed, trimmed
from ..base_panel.panel import can_sign, module
from ..order_ticket.holdings import AccountStreams, row_of
from .blotter import EXITS, PositionPanel, exit_kind, is_untriggered

if TYPE_CHECKING:
    import pandas as pd

    from ...client.orders.delivery import Prepared
    from ...plain_session import Session
    from ...products import Product


SHOWN_CANDLES = 120
PAGE = 500
"""Candles in one read of the history."""
FOLD = 60
"""The front end is sent the candles since the last read. After so many they are counted to the history."""
MAX_CANDLES = 20_000
FILLS = 100
SETTLED_SECONDS = 3600
"""Candles from this length on show the mark and index prices of settlements, which come hours apart."""
INTERVALS = ("1m", "5m", "15m", "1h", "4h", "1d")


class Candles(PositionPanel):
    """A live candle chart of a product, with volume and the account's lines.

    It zooms, pans and loads its history on scroll. `indicators` of `toolkit.research` are drawn over or below the
    prices. `frame()` returns the live candles as a DataFrame, `older()` loads earlier ones.

    The account's open orders, exits, fills, entry and liquidation price are lines and marks. Where a line is off the
    chart, it is words at the edge. The line of an order can be dragged, and a click places an order or an exit. Each
    begins a review, as `move`, `place` and `exit_at` do.

    The lines of mark and index price begin when the chart is made. From 1 h on they also show the prices of funding
    settlements, as the venue publishes no others.

    Parameters
    ----------
    session : Session
        Any session. With an account it shows its orders and position.
    symbol : str or int
        Product symbol, such as "BTCUSDC", or its code.
    interval : str or int or timedelta, optional
        Length of a candle, such as "1m", "15m" or "4h", or a timedelta (default: "1m").
    indicators : iterable of str, optional
        Indicators to draw, such as `["SMA 20", "RSI 14"]` (default: none).

    Raises
    ------
    UnknownProduct
        For a product that the venue does not have.
    InputError
        For an interval that the venue does not have, or an indicator that is not known.
    """

    _esm = module(
        *("vendored/lightweight-charts.standalone.production.js", "base_panel/common.js", "base_panel/review.js"),
        *("panels/chart_colors.js", "panels/candles.js"),
    )

    interval = traitlets.Unicode("1m").tag(sync=True)
    """Length of a candle, setting it loads the candles of that length."""
    indicators = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """Indicators to draw, such as "EMA 50"."""
    history = traitlets.Dict().tag(sync=True)
    """For the front end: the candles before those of `view`, and their indicators."""

    def __init__(
        self, session: Session, symbol: str | int, interval: Span = "1m", *, indicators: Iterable[str] = ()
    ) -> None:
        self._product = session.product(symbol)
        self._data = ChartData()
        self._base = 0
        self._complete = False
        super().__init__(session, self._product.symbol)
        self.interval = unit_text(span_ns(interval, "interval"))
        self.indicators = list(indicators)
        stream = session.stream
        self.live = stream.candles(self._product.symbol, self.interval)
        self._ticker = stream.ticker(self._product.symbol)
        self._account = None if session.account is None else AccountStreams(session, session._product_table())
        if self._account is not None:
            self._fills = stream.fills()
            self._follow(*self._account.parts, self._fills, needed=False)
        self._follow(self.live)
        self._follow(self._ticker, needed=False)
        self._trail = PriceTrail()
        self._load()
        self.observe(self._on_interval, "interval")
        self.observe(self._on_indicators, "indicators")
        self.refresh()

    def frame(self) -> pd.DataFrame:
        """Return the live candles.

        Returns
        -------
        DataFrame
            Columns as those of `session.stream.candles`.
        """
        return self.live.frame()

    def older(self) -> int:
        """Load earlier candles.

        Returns
        -------
        int
            How many there were.
        """
        with self._guard:
            if self._complete or not self._data.rows or len(self._data.rows) >= MAX_CANDLES:
                return 0
            found = self._read(end=self._data.rows[0][0] - 1)
            self._complete = not found
            self._reset([*found, *self._data.rows])
        self.refresh()
        return len(found)

    def move(self, order: int | str, price: str) -> Prepared:
        """Start the review of another price of an open order.

        Parameters
        ----------
        order : int or str
            Number of the order.
        price : str
            New limit price in USDC, of a trigger order its trigger. It is rounded to the nearest tick.

        Returns
        -------
        Prepared
            What `confirm` will sign.

        Raises
        ------
        InputError
            Without the order.
        CheckFailed
            When the new order breaks a rule.

        Notes
        -----
        It raises further errors as `session.prepare` does.
        """
        self._start_review()
        return self._review_replacement(self._product, order, price=format(self._tick(price), "f"))

    def place(self, price: str, quantity: str) -> Prepared:
        """Start the review of a limit order: a buy below the last price, else a sell.

        Parameters
        ----------
        price : str
            Limit price in USDC. It is rounded to the nearest tick.
        quantity : str
            Quantity in base units.

        Returns
        -------
        Prepared
            What `confirm` will sign.

        Raises
        ------
        InputError
            For another price or quantity.
        CheckFailed
            When it breaks a rule.

        Notes
        -----
        It raises further errors as `session.prepare` does.
        """
        self._start_review()
        at, last = self._tick(price), self.live.last
        side: Literal["BUY", "SELL"] = "BUY" if last is None or at < last["close"] else "SELL"
        order = Order(self._product.symbol, side, quantity.strip(), format(at, "f")).check(self._product)
        return self._begin_review(order, order.describe(), side.lower(), self._product.symbol)

    def exit_at(self, price: str) -> Prepared:
        """Start the review of an exit of the position, see `set_exit`.

        On the side of the mark price where the position gains it is the take-profit, on the other one the stop-loss.

        Parameters
        ----------
        price : str
            Trigger price in USDC. It is rounded to the nearest tick.

        Returns
        -------
        Prepared
            What `confirm` will sign.

        Raises
        ------
        InputError
            Without a position of one leg.
        CheckFailed
            When it breaks a rule.
        """
        row, size = self._single(self._product.symbol)
        at = self._tick(price)
        return self.set_exit(row["symbol"], exit_kind(at, row["mark_price"] or at, size), format(at, "f"))

    def _tick(self, price: str) -> Decimal:
        """Return a price of the page in whole ticks."""
        return max(self._product.round_price(exact(price, "price"), "nearest"), self._product.tick_size)

    def _load(self) -> None:
        try:
            found = self._read(limit=max(PAGE, SHOWN_CANDLES))
        except ToolkitError as error:  # the live candles are shown all the same
            self._show_error(error)
            found = []
        self._complete = not found
        self._reset(found)

    def _read(self, end: int | None = None, limit: int = PAGE) -> list[Any]:
        until = None if end is None else datetime.fromtimestamp(end, UTC)
        frame = self._session.klines(self._product.symbol, self.interval, end=until, limit=limit, progress=False)
        rows = [candle_of(row) for row in frame.reset_index().to_dict("records")]
        if rows and seconds(self.interval) >= SETTLED_SECONDS:
            self._read_settled(rows[0][0], end)
        return rows

    def _read_settled(self, start_s: int, end_s: int | None) -> None:
        begin, end = (None if one is None else datetime.fromtimestamp(one, UTC) for one in (start_s, end_s))
        with suppress(ToolkitError):  # candles are shown without them, too
            history = self._session.info.funding_rate_history
            frame = history(self._product.symbol, start=begin, end=end, progress=False, exact=True)
            for row in frame.reset_index().to_dict("records"):
                # A settlement's price is that at the end of the candle before it.
                self._trail.add(int(row["time"].timestamp()) - 1, row["mark_price"], row["oracle_price"])

    def _reset(self, rows: list[Any]) -> None:
        self._data.reset(rows, self.indicators)
        self._fold()

    def _fold(self) -> None:
        # The last candle still changes, so it stays out of what is sent once.
        self._base = base = max(0, len(self._data.rows) - 1)
        rows, studies = self._data.rows[:base], self._data.studies(0, base)
        prices = self._trail.closes(self._data.rows, seconds(self.interval), 0, base)
        shown = {"rows": rows, "studies": studies, "prices": prices}
        self.history = {"interval": self.interval, "complete": self._complete, **shown}

    def _on_interval(self, change: Mapping[str, Any]) -> None:
        with self._guard:
            try:
                live = self._session.stream.candles(self._product.symbol, self.interval)
            except ToolkitError as error:
                # An interval that the venue does not have must leave the chart as it was.
                self.interval = change["old"]
                self._show_error(error)
                return
            self._unfollow(self.live)
            self.live = live
            self._follow(live)
            self._load()
        self.refresh()

    def _on_indicators(self, change: Mapping[str, Any]) -> None:
        with self._guard:
            try:
                for text in self.indicators:
                    make_study(text)
            except ToolkitError as error:
                self.indicators = change["old"]
                self._show_error(error)
                return
            self._reset(self._data.rows)
        self.refresh()

    def _commands(self) -> dict[str, Any]:
        own = {"older": self.older, "move": self.move, "place": self.place, "exit": self.exit_at}
        return {**self._review_commands(), **own}

    def _make_view(self) -> dict[str, Any]:
        data, shown = self._data, self.live.rows(SHOWN_CANDLES)
        since_s = data.rows[-1][0] if data.rows else 0
        data.merge(map(candle_of, shown[bisect_left(shown, since_s, key=_start_s) :]))
        if len(data.rows) - self._base > FOLD:
            self._fold()
        prices = self._ticker.value
        now_s = self._session._runtime.now() // 1000
        self._trail.add(now_s // 60 * 60, prices.get("mark_price"), prices.get("oracle_price"))
        first, last = (shown[0]["open"], shown[-1]["close"]) if shown else (None, None)
        return {
            "symbol": self._product.symbol,
            "interval": self.interval,
            "intervals": list(INTERVALS),
            "places": self._places(),
            "last": grouped(last),
            "change": change((last - first) / first) if first and last is not None else "",
            "window": span_text(len(shown) * seconds(self.interval)),
            "rows": data.rows[self._base :],
            "studies": data.studies(self._base),
            "prices": self._trail.closes(data.rows, seconds(self.interval), self._base),
            **self._account_view(prices.get("mark_price")),
            "readOnly": not can_sign(self._session),
            "review": self._review_view(),
        }

    def _places(self) -> int:
        """Return the decimals of prices on the axis."""
        precision = self._product.price_precision
        return self._product.tick_scale[0] if precision is None else precision

    def _account_view(self, mark: Decimal | None) -> dict[str, Any]:
        """Return the price lines and the fills of the account."""
        if self._account is None:
            return {"lines": [], "fills": []}
        product, symbol = self._product, self._product.symbol
        row = row_of(self._account.positions.rows(), symbol)
        # No line is drawn of a figure that another witness contradicts. The panel says which.
        row = None if symbol in self._watch.doubted() else row
        sure = mark and not self._watch.money_doubted
        liquidation = self._account.liquidation(product, mark).price if sure else None
        orders = [one for one in self._account.orders.rows() if one["symbol"] == symbol]
        fills = [one for one in self._fills.rows() if one["symbol"] == symbol]
        lines = order_lines(product, orders) + position_lines(product, row, liquidation, mark)
        return {"lines": lines, "fills": fill_marks(fills[-FILLS:], seconds(self.interval))}

    def _lines(self) -> Iterable[str]:
        last = self.live.last
        text = "no candles yet" if last is None else f"close {last['close']}"
        return (f"{self._product.symbol} {self.interval}: {text}",)

    def _snapshot(self) -> str:
        view, names = self.view, ("open", "high", "low", "close")
        rows = [(f"{one['time']:%m-%d %H:%M}", *(grouped(one[name]) for name in names)) for one in self.live.rows(6)]
        head = static_view.heading(
            f"{view['symbol']} {view['interval']}", f"{view['last']} {view['change']} in {view['window']}"
        )
        return head + static_view.table(("time (UTC)", *names), rows[::-1], "no candles yet")


Candle = list[Any]
"""[start in Unix s, open, high, low, close, volume]: numbers to draw, never to compute money with."""
STUDIES = ("SMA", "EMA", "Highest", "Lowest", "StdDev", "ATR", "RSI")
"""Indicators of `toolkit.research` that a chart may draw."""


def make_study(text: str) -> Any:
    """Return the indicator of a text.

    Parameters
    ----------
    text : str
        Name and window, such as "SMA 20".

    Raises
    ------
    InputError
        For another one.
    """
    from ...research import indicators

    name, _, window = text.partition(" ")
    if name not in STUDIES or not window.isdecimal() or not 1 < int(window) <= 1000:
        known = ", ".join(STUDIES)
        words = f"indicator {text!r} is not known. Use one of {known} with a window of 2 to 1000, such as 'SMA 20'"
        raise InputError(words, field="indicators", rule="known", value=text, nearest=("SMA 20", "EMA 20", "RSI 14"))
    return getattr(indicators, name)(int(window))


class Study:
    """An indicator over candles.

    The value of the last candle, which still changes, is computed on a copy.

    Parameters
    ----------
    text : str
        Name and window, such as "SMA 20".
    candles : sequence of Candle
        Closed candles, oldest first.
    """

    def __init__(self, text: str, candles: Sequence[Candle]) -> None:
        self._indicator = make_study(text)
        self._ranged = text.startswith("ATR")
        self.values: list[float | None] = []
        """One for each closed candle, None until the window is full."""
        self.close(candles)

    def close(self, candles: Sequence[Candle]) -> None:
        """Take closed candles.

        Parameters
        ----------
        candles : sequence of Candle
            Closed candles, oldest first.
        """
        self.values += [self._next(self._indicator, one) for one in candles]

    def peek(self, candle: Candle) -> float | None:
        """Return the value that the candle would have if it closed now.

        Parameters
        ----------
        candle : Candle
            A candle that is not closed.
        """
        return self._next(copy.deepcopy(self._indicator), candle)

    def _next(self, indicator: Any, candle: Candle) -> float | None:
        _, _, high, low, close, _ = candle
        value = indicator.update(high, low, close) if self._ranged else indicator.update(close)
        return None if math.isnan(value) else value


class ChartData:
    """Candles by time with their indicators: `rows[:-1]` are closed, the last one still changes."""

    def __init__(self) -> None:
        self.rows: list[Candle] = []
        self._studies: dict[str, Study] = {}

    def reset(self, rows: Iterable[Candle], studies: Sequence[str]) -> None:
        """Replace all candles, and compute their indicators.

        Parameters
        ----------
        rows : iterable of Candle
            Candles, oldest first.
        studies : sequence of str
            Indicators to compute, such as "SMA 20".
        """
        self.rows = list(rows)
        self._studies = {text: Study(text, self.rows[:-1]) for text in studies}

    def merge(self, tail: Iterable[Candle]) -> None:
        """Take the latest candles.

        One with a known time replaces it if it is the last.

        Parameters
        ----------
        tail : iterable of Candle
            Candles, oldest first.
        """
        for candle in tail:
            if self.rows and candle[0] == self.rows[-1][0]:
                self.rows[-1] = candle
            elif not self.rows or candle[0] > self.rows[-1][0]:
                if self.rows:
                    for study in self._studies.values():
                        study.close(self.rows[-1:])
                self.rows.append(candle)

    def studies(self, start: int, end: int | None = None) -> dict[str, list[float | None]]:
        """Return the values of each indicator for some candles.

        Parameters
        ----------
        start : int
            First candle.
        end : int or None, optional
            First candle that is left out (default: none).
        """
        latest = self.rows[-1:]
        return {text: [*study.values, *map(study.peek, latest)][start:end] for text, study in self._studies.items()}


class PriceTrail:
    """Mark and index prices by time: those seen since the chart was made, and those of the settlements of funding.

    The venue publishes no other history of them.
    """

    def __init__(self) -> None:
        self._times: list[int] = []
        self._prices: dict[int, tuple[Decimal | None, Decimal | None]] = {}

    def add(self, time_s: int, mark: Decimal | None, index: Decimal | None) -> None:
        """Take the prices at a time.

        Later ones of the same time replace them.

        Parameters
        ----------
        time_s : int
            Time (Unix s).
        mark : Decimal or None
            Mark price in USDC, `None` if not known.
        index : Decimal or None
            Index price in USDC, `None` if not known.
        """
        if time_s not in self._prices:
            insort(self._times, time_s)
        self._prices[time_s] = (mark, index)

    def closes(
        self, rows: Sequence[Candle], length_s: int, start: int, end: int | None = None
    ) -> dict[str, list[float | None]]:
        """Return the last mark and index price within each candle, `None` without one.

        A candle ends after `length_s`, although its successor may begin later, with a trade.

        Parameters
        ----------
        rows : sequence of Candle
            Candles, oldest first.
        length_s : int
            Length of a candle in seconds.
        start : int
            First candle.
        end : int or None, optional
            First candle that is left out (default: none).
        """
        found: dict[str, list[float | None]] = {"mark": [], "index": []}
        for place in range(start, len(rows) if end is None else end):
            last = bisect_left(self._times, rows[place][0] + length_s) - 1
            known = last >= 0 and self._times[last] >= rows[place][0]
            prices = self._prices[self._times[last]] if known else (None, None)
            for name, price in zip(found, prices, strict=True):
                found[name].append(None if price is None else float(price))
        return found


def span_text(span_s: int) -> str:
    """Return a span of time in its largest unit, such as "2 h" or "5 d".

    Parameters
    ----------
    span_s : int
        Length in seconds.
    """
    unit, name = next(((one, name) for one, name in ((86400, "d"), (3600, "h")) if span_s >= one), (60, "min"))
    return f"{round(span_s / unit)} {name}"


def candle_of(row: Mapping[Any, Any]) -> Candle:
    """Return a row of the feed or of `session.klines` as a candle.

    Parameters
    ----------
    row : mapping of object to object
        Row with time, open, high, low, close and volume.
    """
    volume = row.get("volume")  # a candle may come without it: None on the feed, NaN in a table
    prices = [float(row[name]) for name in ("open", "high", "low", "close")]
    return [_start_s(row), *prices, None if volume is None or volume != volume else float(volume)]


def _start_s(row: Mapping[Any, Any]) -> int:
    return int(row["time"].timestamp())


def order_lines(product: Product, orders: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a price line for each open order, which can be moved to another price.

    Parameters
    ----------
    product : object
        Product, for its tick size.
    orders : iterable of mapping of str to object
        Rows of open orders.
    """
    lines = []
    for row in orders:
        price: Decimal | None = row["trigger_price"] if is_untriggered(row) else row["price"]
        if not price:
            continue
        name = EXITS.get(str(row["reduce_only"]), "").replace("_", " ")
        kind = "tp" if name == "take profit" else "sl" if name else "order"
        text = f"{name or side_text(row['side'])} {trimmed(row['remaining']) if row['remaining'] else 'all'}"
        buys = str(row["side"]).startswith("BUY")
        lines.append({**_line(product, str(row["order_id"]), price, buys, text), "kind": kind, "moves": True})
    return lines


def _line(product: Product, name: str, price: Decimal, up: bool, text: str) -> dict[str, Any]:
    shown = in_units(price, product.tick_size)
    return {"id": name, "kind": name, "up": up, "price": float(price), "text": text, "shown": shown, "moves": False}


def position_lines(
    product: Product, row: Mapping[str, Any] | None, liquidation: Decimal | None, mark: Decimal | None
) -> list[dict[str, Any]]:
    """Return the price lines of a position: entry with its PnL, and liquidation.

    Parameters
    ----------
    product : object
        Product, for its tick size.
    row : mapping of str to object or None
        Row of the position, `None` without one.
    liquidation : Decimal or None
        Estimated liquidation price in USDC, `None` without one.
    mark : Decimal or None
        Mark price in USDC, `None` if not known.
    """
    if row is None or not (held := row["long_size"] + abs(row["short_size"])):
        return []
    entry = (row["long_entry_value"] + abs(row["short_entry_value"])) / held
    size = net_size(row)
    pnl = pnl_of(row, mark) if mark else row["unrealized_pnl"]
    lines = [_line(product, "entry", entry, size > 0, f"entry {trimmed(size)} {signed(pnl)}")]
    if liquidation is not None:
        lines.append(_line(product, "liquidation", liquidation, size > 0, "liquidation"))
    return lines


def fill_marks(fills: Iterable[Mapping[str, Any]], seconds: int) -> list[list[Any]]:
    """Return [start of its candle in Unix s, buy?, price, text] for each fill.

    Parameters
    ----------
    fills : iterable of mapping of str to object
        Rows of fills.
    seconds : int
        Length of a candle.
    """
    marks = []
    for row in fills:
        start = _start_s(row) // seconds * seconds
        buy = str(row["side"]).startswith("BUY")
        text = f"{side_text(row['side'])} {trimmed(row['quantity'])} at {grouped(row['price'])}"
        marks.append([start, buy, float(row["price"]), text])
    return sorted(marks, key=lambda one: one[0])
