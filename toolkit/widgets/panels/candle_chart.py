"""The candle chart of a product: history, indicators, and the account's orders, fills and position as lines."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import traitlets

from ...client.reads.conversion import seconds
from ...errors import ToolkitError
from ..base_panel import static_view
from ..base_panel.number_format import change, grouped
from ..base_panel.panel import can_sign, module
from ..base_panel.review import ReviewedPanel
from ..order_ticket.holdings import AccountStreams, row_of
from .chart_data import ChartData, PriceTrail, candle_of, fill_marks, make_study, order_lines, position_lines

if TYPE_CHECKING:
    import pandas as pd

    from ...client.orders.delivery import Prepared
    from ...session import Session

SHOWN_CANDLES = 120
PAGE = 500
"""Candles that one read of the history brings."""
FOLD = 60
"""The front end is sent the candles since the last read; after so many they are counted to the history."""
MAX_CANDLES = 20_000
FILLS = 100
SETTLED_SECONDS = 3600
"""Candles from this length on show the mark and index prices of settlements, which come hours apart."""
INTERVALS = ("1m", "5m", "15m", "1h", "4h", "1d")


class Candles(ReviewedPanel):
    """A live candle chart of a product, with volume. `interval` is text such as "1m", "15m", "4h", or seconds.

    It zooms, pans and loads its history on scroll. `indicators` of `toolkit.research` are drawn over or below the
    prices, such as ["SMA 20", "RSI 14"]. The account's open orders, take-profits and stop-losses, fills, entry and
    liquidation price are lines and marks; an order's line can be dragged, which prepares a replacement to review and
    sign. Mark and index price are lines from when the chart was made; from 1 h on also through the settlements of
    funding, as the venue publishes no other history of them. `frame()` returns the live candles as a DataFrame,
    `older()` loads earlier ones.
    """

    _esm = module(
        "vendored/lightweight-charts.standalone.production.js", "base_panel/common.js", "base_panel/review.js",
        "panels/chart_colors.js", "panels/candles.js",
    )  # fmt: skip

    interval = traitlets.Unicode("1m").tag(sync=True)
    """Length of a candle; setting it loads the candles of that length."""
    indicators = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """Indicators to draw, such as "EMA 50"."""
    history = traitlets.Dict().tag(sync=True)
    """For the front end: the candles before those of `view`, and their indicators."""

    def __init__(
        self, session: Session, symbol: str | int, interval: str | int = "1m", *, indicators: Iterable[str] = ()
    ) -> None:
        self._product = session.product(symbol)
        self._data = ChartData()
        self._base = 0
        self._complete = False
        super().__init__(session, self._product.symbol)
        self.interval = str(interval)
        self.indicators = list(indicators)
        stream = session.stream
        self.live = stream.candles(self._product.symbol, interval)
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
        """Return the live candles as a DataFrame, as those of `session.stream.candles` do."""
        return self.live.frame()

    def older(self) -> int:
        """Load earlier candles, and return how many there were."""
        with self._guard:
            if self._complete or not self._data.rows or len(self._data.rows) >= MAX_CANDLES:
                return 0
            found = self._read(end=self._data.rows[0][0] - 1)
            self._complete = not found
            self._reset([*found, *self._data.rows])
        self.refresh()
        return len(found)

    def move(self, order: int | str, price: str) -> Prepared:
        """Prepare to replace an open order by one at `price` (a trigger order: its trigger), and start the review.

        Raises InputError without the order, CheckFailed when the new one breaks a rule, and as `session.prepare` does.
        """
        self._start_review()
        product = self._product
        rounded = max(product.round_price(Decimal(price), "nearest"), product.tick_size)
        return self._review_replacement(product, order, price=format(rounded, "f"))

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
        rows = [candle_of(row, int(row["time"].timestamp())) for row in frame.reset_index().to_dict("records")]
        if rows and seconds(self.interval) >= SETTLED_SECONDS:
            self._read_settled(rows[0][0], end)
        return rows

    def _read_settled(self, start_s: int, end_s: int | None) -> None:
        begin, end = (None if one is None else datetime.fromtimestamp(one, UTC) for one in (start_s, end_s))
        with suppress(ToolkitError):  # candles are shown without them, too
            frame = self._session.funding_rate_history(self._product.symbol, begin, end, progress=False, exact=True)
            for row in frame.reset_index().to_dict("records"):
                # A settlement's price is that at the end of the candle before it.
                self._trail.add(int(row["time"].timestamp()) - 1, row["mark_price"], row["oracle_price"])

    def _reset(self, rows: list[Any]) -> None:
        self._data.reset(rows, self.indicators)
        self._fold()

    def _fold(self) -> None:
        self._base = base = max(0, len(self._data.rows) - 1)
        rows, studies = self._data.rows[:base], self._data.studies(0, base)
        prices = self._trail.closes(self._data.rows, 0, base)
        self.history = {
            "interval": self.interval, "rows": rows, "studies": studies, "prices": prices, "complete": self._complete
        }  # fmt: skip

    def _on_interval(self, _: Any) -> None:
        with self._guard:
            try:
                live = self._session.stream.candles(self._product.symbol, self.interval)
            except ToolkitError as error:
                self._show_error(error)
                return
            self._unfollow(self.live)
            self.live = live
            self._follow(live)
            self._load()
        self.refresh()

    def _on_indicators(self, change: Any) -> None:
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
        return {**self._review_commands(), "older": self.older, "move": self.move}

    def _make_view(self) -> dict[str, Any]:
        data = self._data
        tail = self.live.rows(SHOWN_CANDLES if not data.rows else 3)
        data.merge([candle_of(one, int(one["time"].timestamp())) for one in tail])
        if len(data.rows) - self._base > FOLD:
            self._fold()
        prices = self._ticker.value
        now_s = self._session._runtime.now() // 1000
        self._trail.add(now_s // 60 * 60, prices.get("mark_price"), prices.get("oracle_price"))
        shown = self.live.rows(SHOWN_CANDLES)
        first, last = (shown[0]["open"], shown[-1]["close"]) if shown else (None, None)
        return {
            "symbol": self._product.symbol,
            "interval": self.interval,
            "intervals": list(INTERVALS),
            "places": self._product.price_precision,
            "last": grouped(last),
            "change": change((last - first) / first) if first and last is not None else "",
            "rows": data.rows[self._base :],
            "studies": data.studies(self._base),
            "prices": self._trail.closes(data.rows, self._base),
            "lines": self._lines_of_account(prices.get("mark_price")),
            "fills": self._fill_marks(),
            "readOnly": not can_sign(self._session),
            "review": self._review_view(),
        }

    def _lines_of_account(self, mark: Any) -> list[dict[str, Any]]:
        if self._account is None:
            return []
        row = row_of(self._account.positions.rows(), self._product.symbol)
        liquidation = self._account.liquidation(self._product, mark) if mark else None
        own = [one for one in self._account.orders.rows() if one["symbol"] == self._product.symbol]
        return order_lines(self._product, own) + position_lines(self._product, row, liquidation, mark)

    def _fill_marks(self) -> list[list[Any]]:
        if self._account is None:
            return []
        own = [one for one in self._fills.rows() if one["symbol"] == self._product.symbol]
        return fill_marks(own[-FILLS:], seconds(self.interval))

    def _lines(self) -> Iterable[str]:
        last = self.live.last
        text = "no candles yet" if last is None else f"close {last['close']}"
        return (f"{self._product.symbol} {self.interval}: {text}",)

    def _snapshot(self) -> str:
        rows = [
            (f"{one['time']:%m-%d %H:%M}", *(grouped(one[name]) for name in ("open", "high", "low", "close")))
            for one in reversed(self.live.rows(6))
        ]
        head = static_view.heading(
            f"{self.view['symbol']} {self.view['interval']}", f"{self.view['last']} {self.view['change']}"
        )
        return head + static_view.table(("time (UTC)", "open", "high", "low", "close"), rows, "no candles yet")
