"""`toolkit record`: writes a venue's live feed to disk until it is interrupted.

The directory is read with `toolkit.research.data.load(DIR)`. A crash loses nothing that was received. The same line
continues in the same directory. Interruptions of the feed are printed and kept with the data.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

from ..client.stream.live import Live
from ..numerals import milliseconds
from ..research.data.recorder import MARKETS, record
from .venue import StopSignals, open_session


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    add = parser.add_argument
    add("url", metavar="URL", help="http://… of a served venue, or mainnet or testnet")
    add("--ws-url", metavar="URL", help="address of the feed, where it does not follow from URL")
    add("--out", type=Path, default=Path("recording"), metavar="DIR", help="directory (default: recording)")
    add("--symbols", nargs="+", metavar="SYMBOL", help="products (default: all listed ones)")
    add("--channels", nargs="+", metavar="NAME", help="channels (default: trades order_book ticker candles)")
    add("--depth", type=int, default=20, help="levels per side of the order book (default 20)")
    add("--exact", action="store_true", help="keep amounts as decimals, not as floats")
    add("--duration", metavar="SPAN", help="stop after this time, such as 10m or 8h")
    add("--rows-per-file", type=int, default=50_000, metavar="N", help="rows of a file (default 50000)")
    add("--flush", default="5m", metavar="SPAN", help="most time in one file (default 5m)")


def run(args: argparse.Namespace) -> int:
    """Record until SIGINT, SIGTERM or the end of the duration and return 0.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.
    """
    seconds = None if args.duration is None else milliseconds(args.duration) / 1000
    with StopSignals(starting=False) as stop, open_session(args.url, args.ws_url) as session:
        symbols = args.symbols or session.products().index.tolist()
        channels, flush_ms = args.channels or MARKETS, milliseconds(args.flush)
        options = {"depth": args.depth, "exact": args.exact, "rows_per_file": args.rows_per_file}
        with record(session, args.out, symbols, channels=channels, flush_ms=flush_ms, **options) as recorder:
            for live in recorder.live:
                live.on_state(_tell)
                if live.is_live:  # since before the line above
                    _tell(live)
            print(f"recording {', '.join(symbols)} of {session.environment.base_url} to {args.out}", flush=True)
            if recorder.resumed is not None:
                print(f"continues a recording. Nothing was recorded since {recorder.resumed}", flush=True)
            print("ready", flush=True)
            stop.wait(seconds)
        print(f"stopped: {', '.join(f'{count:,} {name}' for name, count in recorder.rows.items())}", flush=True)
    return 0


def _tell(live: Live) -> None:
    """Print each change of a subscription's state."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    print(f"{now} {live.subject}: {live.state}{f' ({live.reason})' if live.reason else ''}", flush=True)
