"""Read recordings of the live feed: tables by channel, best prices, bars."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...client.reads.conversion import seconds as seconds_of
from ...errors import InputError
from ...extras import need
from ...numerals import Span, moment_ns
from ...stored.tables import read_table
from .recording_store import PART, RECORDED, Store, arrow_schema, parts_of

if TYPE_CHECKING:
    import os
    from datetime import datetime

    import pyarrow as pa


def frame_of(table: pa.Table) -> pd.DataFrame:
    """Return rows of a recording as a frame.

    Parameters
    ----------
    table : Table
        Rows of the parts of a channel.
    """
    import pyarrow as pa

    kinds = {pa.string(): pd.StringDtype(), pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    made: pd.DataFrame = table.to_pandas(types_mapper=kinds.get)
    return made


def without_earlier(trades: pd.DataFrame, began: pd.Timestamp) -> pd.DataFrame:
    """Return trades without those from before the recording, with which a subscription begins.

    A later snapshot, after a reconnect, has trades that were missed. They stay.

    Parameters
    ----------
    trades : DataFrame
        Rows of the channel.
    began : Timestamp
        When the first of the recording was received.
    """
    made: pd.DataFrame = trades[(trades["kind"] != "snapshot") | (trades["time"] > began)]
    return made


class Recording:
    """A recording on disk, as `record` wrote it. It may still grow.

    Reading needs nothing of this class: each `channel=…` directory is a Parquet table partitioned by product and day.

    Parameters
    ----------
    path : str or PathLike
        Directory of the recording.

    Attributes
    ----------
    path : Path
        Directory of the recording.
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
        """Return the rows of a channel as they came.

        Parameters
        ----------
        channel : str
            Name of the channel, such as "trades".
        symbol : str, optional
            Product symbol (default: all products).
        start : str or datetime, optional
            First time, such as "2026-01-01 00:01" (UTC), included (default: the first row).
        end : str or datetime, optional
            Time at which to stop (UTC), not included (default: after the last row).
        columns : sequence of str, optional
            Columns to return (default: all that `record` names).

        Returns
        -------
        DataFrame
            The columns of the channel's live frame, then received (datetime64[ms, UTC]), sequence and kind. They are
            the same ones when there are no rows.

        Raises
        ------
        InputError
            For an unknown channel.

        Examples
        --------
        >>> recorder = research.record(session, "recorded", ["BTCUSDC"])
        >>> _ = session.venue.advance("2m")
        >>> recorder.close()
        >>> kept = research.Recording("recorded")
        >>> kept.frame("ticker", "BTCUSDC", columns=["last"])["last"].tail(2).tolist()
        [62611.9, 62655.6]
        """
        need("pyarrow")
        if channel not in RECORDED:
            text = f"channel {channel!r} is not known. The channels are {', '.join(RECORDED)}"
            raise InputError(text, field="channel", value=channel)
        found = self._table(channel, symbol or "*", start, end)
        if columns is not None:
            found = found.select(list(columns))
        return frame_of(found)

    def tops(
        self, symbol: str, *, start: str | datetime | None = None, end: str | datetime | None = None
    ) -> pd.DataFrame:
        """Return the best prices after every update of the order book.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        start : str or datetime, optional
            First time, such as "2026-01-01 00:01" (UTC), included (default: the first row).
        end : str or datetime, optional
            Time at which to stop (UTC), not included (default: after the last row).

        Returns
        -------
        DataFrame
            One row an update:

            - time: datetime64[ms, UTC]
            - bid, ask: float64, USDC, NA while the side is empty
            - bid_quantity, ask_quantity: float64, base units, NA while the side is empty
            - mid: float64, USDC, NA while a side is empty

        Examples
        --------
        >>> recorder = research.record(session, "recorded", ["BTCUSDC"])
        >>> _ = session.venue.advance("2m")
        >>> recorder.close()
        >>> kept = research.Recording("recorded")
        >>> kept.tops("BTCUSDC")["mid"].tail(2).tolist()
        [62606.65, 62660.5]
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
        """Return the trades, without the ones with which a subscription begins.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        start : str or datetime, optional
            First time, such as "2026-01-01 00:01" (UTC), included (default: the first row).
        end : str or datetime, optional
            Time at which to stop (UTC), not included (default: after the last row).

        Returns
        -------
        DataFrame
            The columns of `frame("trades")`.

        Examples
        --------
        >>> recorder = research.record(session, "recorded", ["BTCUSDC"])
        >>> _ = session.venue.advance("2m")
        >>> recorder.close()
        >>> kept = research.Recording("recorded")
        >>> kept.trades("BTCUSDC")[["side", "price", "quantity"]].tail(1).values.tolist()
        [['SELL', 62655.6, 0.016]]
        """
        found = self.frame("trades", symbol, start=start, end=end)
        return without_earlier(found, found["received"].min())

    def bars(
        self,
        symbol: str,
        interval: Span = "1m",
        *,
        start: str | datetime | None = None,
        end: str | datetime | None = None,
    ) -> pd.DataFrame:
        """Return bars of the trades, or of the recorded candles if there are no trades.

        Intervals without trades have none. The last bar holds what had happened when the recording ended, and `end`
        leaves it out.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        interval : str, Timedelta, timedelta or int, optional
            Length of a bar (default: "1m").
        start : str or datetime, optional
            First time, such as "2026-01-01 00:01" (UTC), included (default: the first row).
        end : str or datetime, optional
            Time at which to stop (UTC), not included (default: after the last row).

        Returns
        -------
        DataFrame
            One row a bar:

            - time: datetime64[ms, UTC], start of the bar
            - symbol: string
            - open, high, low, close: float64, USDC
            - volume: float64, base units

        Examples
        --------
        >>> recorder = research.record(session, "recorded", ["BTCUSDC"])
        >>> _ = session.venue.advance("2m")
        >>> recorder.close()
        >>> kept = research.Recording("recorded")
        >>> kept.bars("BTCUSDC")[["open", "close"]].tail(1).values.tolist()
        [[62577.7, 62655.6]]
        """

        from .event_array import bars_of_trades

        names = ["time", "symbol", "open", "high", "low", "close", "volume"]
        seconds = seconds_of(interval)
        trades = self.trades(symbol, start=start, end=end)
        # Trades make bars of any interval. Recorded candles have only their own.
        if len(trades):
            return bars_of_trades(trades, symbol, f"{seconds}s")
        candles = self.frame("candles", symbol, start=start, end=end)
        # A candle is recorded with each of its changes. The last one of an opening time is complete.
        last = candles[candles["interval"] == seconds].drop_duplicates("time", keep="last").sort_values("time")
        return last[names].reset_index(drop=True)

    def recover(self) -> list[Path]:
        """Write what a broken off recording left in its journal, and return the new parts.

        Recording on does the same.

        Returns
        -------
        list of Path
            The parts that were written.

        Raises
        ------
        InputError
            While a recorder is writing to the directory.

        Examples
        --------
        >>> recorder = research.record(session, "recorded", ["BTCUSDC"])
        >>> _ = session.venue.advance("2m")
        >>> recorder.close()
        >>> kept = research.Recording("recorded")
        >>> kept.recover()  # it was closed
        []
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
        markets: dict[str, Path] = {}
        for part in parts_of(self.path, channel, product):
            day = pd.Timestamp(part.parent.name.partition("=")[2], tz="UTC")
            # Days are directories, so parts of other days are not even opened. `bounds` then chooses the rows.
            if (first is None or day + pd.Timedelta(days=1) > first) and (last is None or day < last):
                rows, header = read_table(part, PART, filters=bounds or None)
                tables.append(rows)
                markets.setdefault(header.identity, part)
        if len(markets) > 1:
            raise PART.error(
                self.path, f"parts are of {len(markets)} markets: {markets}", "put them into a folder each"
            )
        return pa.concat_tables(tables[1:] or tables, promote_options="permissive")
