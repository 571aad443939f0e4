"""Read recordings of the live feed: tables by channel, best prices, bars."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...client.reads.conversion import seconds as seconds_of
from ...errors import InputError, warn
from ...extras import need
from ...numerals import Span, moment_ns
from ...stored.tables import read_table
from ...worked_examples import add_examples
from .recording_store import PART, RECORDED, Store, arrow_schema, parts_of

if TYPE_CHECKING:
    import os
    from datetime import datetime

    import pyarrow as pa


class Recording:
    """A recording on disk at `path`, as `record` wrote it. It may still grow.

    Reading needs nothing of this class: each `channel=…` directory is a Parquet table partitioned by product and day.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @property
    def channels(self) -> list[str]:
        """Channels that have parts."""
        return sorted({part.parents[2].name.partition("=")[2] for part in parts_of(self.path, "*", "*")})

    @property
    def symbols(self) -> list[str]:
        """Products that have parts."""
        return sorted({part.parents[1].name.partition("=")[2] for part in parts_of(self.path, "*", "*")} - {"all", ""})

    def frame(
        self,
        channel: str,
        symbol: str | None = None,
        *,
        start: str | datetime | None = None,
        end: str | datetime | None = None,
        columns: Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """Return the rows of a `channel`, of a `symbol` or all, as they came, from `start` on and before `end` (UTC).

        `columns` chooses some of those that `record` names (default: all). They are the same ones when there are no
        rows. Raises InputError for an unknown channel.
        """
        need("pyarrow")
        import pyarrow as pa

        if channel not in RECORDED:
            text = f"channel {channel!r} is not known. The channels are {', '.join(RECORDED)}"
            raise InputError(text, field="channel", value=channel)
        found = self._table(channel, symbol or "*", start, end)
        if columns is not None:
            found = found.select(list(columns))
        kinds = {pa.string(): pd.StringDtype(), pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
        made: pd.DataFrame = found.to_pandas(types_mapper=kinds.get)
        return made

    def tops(
        self, symbol: str, *, start: str | datetime | None = None, end: str | datetime | None = None
    ) -> pd.DataFrame:
        """Return the best prices of `symbol` after every update of the order book, from `start` on and before `end`.

        Columns: time, bid, bid_quantity, ask, ask_quantity, mid (floats, NA while a side is empty).
        """
        found = self._table("order_book", symbol, start, end)
        names = ("sequence", "kind", "time", "side", "price", "quantity")
        rows = zip(*(found[name].to_pylist() for name in names), strict=True)
        bids: dict[Any, Any] = {}
        asks: dict[Any, Any] = {}
        out = list[tuple[Any, ...]]()
        for (_, kind), together in groupby(rows, itemgetter(0, 1)):
            message = list(together)
            if kind == "snapshot":
                bids.clear()
                asks.clear()
            for *_, side, price, quantity in message:
                levels = bids if side == "BUY" else asks
                if quantity:
                    levels[price] = quantity
                else:
                    levels.pop(price, None)
            bid, ask = max(bids, default=None), min(asks, default=None)
            mid = None if bid is None or ask is None else (float(bid) + float(ask)) / 2
            out.append((message[0][2], bid, bids.get(bid), ask, asks.get(ask), mid))
        made = pd.DataFrame(out, columns=["time", "bid", "bid_quantity", "ask", "ask_quantity", "mid"])
        made["time"] = pd.to_datetime(made["time"], utc=True).astype("datetime64[ms, UTC]")
        return made.astype(dict.fromkeys(made.columns[1:], "float64"))

    def trades(
        self, symbol: str, *, start: str | datetime | None = None, end: str | datetime | None = None
    ) -> pd.DataFrame:
        """Return the trades of `symbol` from `start` on and before `end`, without the ones with which a subscription
        begins.
        """
        found = self.frame("trades", symbol, start=start, end=end)
        made: pd.DataFrame = found[(found["kind"] != "snapshot") | (found["time"] > found["received"].min())]
        return made

    def bars(
        self,
        symbol: str,
        interval: Span = "1m",
        *,
        start: str | datetime | None = None,
        end: str | datetime | None = None,
    ) -> pd.DataFrame:
        """Return bars of `symbol`, of the length `interval` (default "1m"), that start at `start` or later and before
        `end`.

        Columns: time (start of the bar), symbol, open, high, low, close, volume. Minutes without trades have none.
        The last bar holds what had happened when the recording ended, and `end` leaves it out.
        """

        from .event_array import bars_of_trades

        names = ["time", "symbol", "open", "high", "low", "close", "volume"]
        seconds = seconds_of(interval)
        trades = self.trades(symbol, start=start, end=end)
        if len(trades):
            return bars_of_trades(trades, symbol, f"{seconds}s")
        candles = self.frame("candles", symbol, start=start, end=end)
        last = candles[candles["interval"] == seconds].drop_duplicates("time", keep="last").sort_values("time")
        return last[names].reset_index(drop=True)

    def recover(self) -> list[Path]:
        """Write what a broken off recording left in its journal, and return the new parts.

        Recording on does the same. Raises InputError while a recorder is writing to the directory.
        """
        store = Store(self.path)
        store.close()
        return list(store.written)

    def __repr__(self) -> str:
        return f"<Recording {self.path}: {', '.join(self.channels) or 'empty'}>"

    def _table(self, channel: str, product: str, start: str | datetime | None, end: str | datetime | None) -> pa.Table:
        import pyarrow as pa

        first, last = (
            None if when is None else pd.Timestamp(moment_ns(when, name), unit="ns", tz="UTC")
            for name, when in (("start", start), ("end", end))
        )
        bounds = [("time", sign, when) for sign, when in ((">=", first), ("<", last)) if when is not None]
        tables = [arrow_schema(channel, exact=False).empty_table()]
        unchecked: list[Path] = []
        markets: dict[str, Path] = {}
        for part in parts_of(self.path, channel, product):
            day = pd.Timestamp(part.parent.name.partition("=")[2], tz="UTC")
            if (first is None or day + pd.Timedelta(days=1) > first) and (last is None or day < last):
                rows, header = read_table(part, PART, unsealed=True, filters=bounds or None)
                tables.append(rows)
                if header.version:
                    markets.setdefault(header.identity, part)
                else:
                    unchecked.append(part)
        if len(markets) > 1:
            raise PART.error(
                self.path, f"parts are of {len(markets)} markets: {markets}", "put them into a folder each"
            )
        if unchecked:
            text = f"{self.path}: {len(unchecked)} parts have no checksum, because an earlier version wrote them"
            warn(text)
        return pa.concat_tables(tables[1:] or tables, promote_options="permissive")


add_examples(Recording, "Recording")
