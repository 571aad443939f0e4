"""Read recordings of the live feed: tables by channel, best prices, bars."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...client.stream.local_book import LocalBook
from ...client.stream.stream import interval_text
from ...errors import InputError
from ...extras import need
from .recording_store import RECORDED, Store, arrow_schema

if TYPE_CHECKING:
    import os
    from datetime import datetime

    import pandas as pd
    import pyarrow as pa


class Recording:
    """A recording on disk, as `record` wrote it; it may still grow.

    Reading needs nothing of this class: each `channel=…` directory is a Parquet table partitioned by product and day.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @property
    def channels(self) -> list[str]:
        """Channels that have parts."""
        return sorted({part.parents[2].name.partition("=")[2] for part in self._parts("*", "*")})

    @property
    def symbols(self) -> list[str]:
        """Products that have parts."""
        return sorted({part.parents[1].name.partition("=")[2] for part in self._parts("*", "*")} - {"all", ""})

    def frame(
        self,
        channel: str,
        symbol: str | None = None,
        *,
        start: str | datetime | None = None,
        end: str | datetime | None = None,
        columns: Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """Return the rows of a channel in the order they came, from `start` on and before `end` (times are UTC).

        Columns as `record` says; the same ones when there are no rows. Raises InputError for an unknown channel.
        """
        need("pyarrow")
        import pandas as pd
        import pyarrow as pa

        if channel not in RECORDED:
            raise InputError(
                f"channel {channel!r} is not known; there are {', '.join(RECORDED)}", field="channel", value=channel
            )
        found = self._table(channel, symbol or "*", start, end)
        if columns is not None:
            found = found.select(list(columns))
        kinds = {pa.string(): pd.StringDtype(), pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
        made: pd.DataFrame = found.to_pandas(types_mapper=kinds.get)
        return made

    def tops(
        self, symbol: str, *, start: str | datetime | None = None, end: str | datetime | None = None
    ) -> pd.DataFrame:
        """Return the best prices after every update of the order book.

        Columns: time, bid, bid_quantity, ask, ask_quantity, mid (floats; NA while a side is empty).
        """
        import pandas as pd

        rows = self._table("order_book", symbol, start, end).to_pydict()
        book, out = LocalBook(), list[tuple[Any, ...]]()
        count = len(rows["time"])
        at = 0
        while at < count:
            first, sequence, kind = at, rows["sequence"][at], rows["kind"][at]
            while at < count and rows["sequence"][at] == sequence and rows["kind"][at] == kind:
                at += 1
            sides: dict[str, list[tuple[str, str]]] = {"BUY": [], "SELL": []}
            for n in range(first, at):
                price, quantity = (_plain(rows[name][n]) for name in ("price", "quantity"))
                sides[rows["side"][n]].append((price, quantity))
            if kind == "snapshot":
                book.snapshot(sides["BUY"], sides["SELL"])
            else:
                book.bids.apply(sides["BUY"])
                book.asks.apply(sides["SELL"])
            bid, ask = (tuple(map(float, best)) if best else (None, None) for best in _bests(book))
            mid = (bid[0] + ask[0]) / 2 if bid[0] is not None and ask[0] is not None else None
            out.append((rows["time"][first], *bid, *ask, mid))
        names = ["time", "bid", "bid_quantity", "ask", "ask_quantity", "mid"]
        made = pd.DataFrame(out, columns=names)
        made["time"] = pd.to_datetime(made["time"], utc=True).astype("datetime64[ms, UTC]")
        return made.astype(dict.fromkeys(names[1:], "float64"))

    def bars(
        self,
        symbol: str,
        interval: str | int = "1m",
        *,
        start: str | datetime | None = None,
        end: str | datetime | None = None,
    ) -> pd.DataFrame:
        """Return OHLCV bars, ready to be replayed: the recorded candles in their last form, or made of the trades.

        Columns: time (start of the bar), symbol, open, high, low, close, volume. Minutes without trades have none.
        The last bar holds what had happened when the recording ended; `end` leaves it out.
        """

        from .event_array import bars_of_trades

        names = ["time", "symbol", "open", "high", "low", "close", "volume"]
        seconds = int(interval_text(interval))
        candles = self.frame("candles", symbol, start=start, end=end)
        candles = candles[candles["interval"] == seconds]
        if len(candles):
            last = candles.drop_duplicates("time", keep="last").sort_values("time")
            return last[names].reset_index(drop=True)
        trades = self.frame("trades", symbol, start=start, end=end)
        return bars_of_trades(trades, symbol, f"{seconds}s")

    def recover(self) -> list[Path]:
        """Write what a broken off recording left in its journal, and return the new parts.

        Recording on does the same. Raises InputError while a recorder is writing to the directory.
        """
        store = Store(self.path)
        store.close()
        return list(store.written)

    def __repr__(self) -> str:
        return f"<Recording {self.path}: {', '.join(self.channels) or 'empty'}>"

    def _parts(self, channel: str, product: str) -> list[Path]:
        found = self.path.glob(f"channel={channel}/product={product}/day=*/part-*.parquet")
        return sorted(found, key=lambda part: (part.parent.name, part.name))

    def _table(self, channel: str, product: str, start: str | datetime | None, end: str | datetime | None) -> pa.Table:
        import pandas as pd
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        first, last = (None if when is None else _utc(pd.Timestamp(when)) for when in (start, end))
        tables = []
        for part in self._parts(channel, product):
            day = pd.Timestamp(part.parent.name.partition("=")[2], tz="UTC")
            if (first is not None and day + pd.Timedelta(days=1) <= first) or (last is not None and day >= last):
                continue
            one = pq.read_table(part, partitioning=None)
            for when, test in ((first, pc.greater_equal), (last, pc.less)):
                if when is not None:
                    one = one.filter(test(one["time"], pa.scalar(when.to_pydatetime(), one.schema.field("time").type)))
            tables.append(one)
        if not tables:
            return arrow_schema(channel, exact=False).empty_table()
        return pa.concat_tables(tables, promote_options="permissive")


def _bests(book: LocalBook) -> tuple[Any, Any]:
    return book.bids.best(), book.asks.best()


def _plain(value: Any) -> str:
    """Return a stored amount as plain decimal text, which orders and compares exactly."""
    return format(value, "f") if not isinstance(value, float) else f"{value:.12f}".rstrip("0").rstrip(".")


def _utc(stamp: Any) -> Any:
    return stamp.tz_localize("UTC") if stamp.tzinfo is None else stamp.tz_convert("UTC")
