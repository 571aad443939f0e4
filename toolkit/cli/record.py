"""`toolkit record`: writes a venue's live feed to disk until it is interrupted.

The directory is read with `toolkit.research.data.load(DIR)`. A crash loses nothing that was received; the same line
goes on in the same directory, and interruptions of the feed are printed and kept with the data.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from ..errors import ToolkitError

if TYPE_CHECKING:
    from ..session import Session


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("url", metavar="URL", help="http://… of a served venue, or mainnet or testnet")
    parser.add_argument("--ws-url", metavar="URL", help="address of the feed, where it does not follow from URL")
    parser.add_argument("--out", type=Path, default=Path("recording"), metavar="DIR", help="directory (recording)")
    parser.add_argument("--symbols", nargs="+", metavar="SYMBOL", help="products (default: all that are listed)")
    parser.add_argument("--channels", nargs="+", metavar="NAME", help="default: trades order_book ticker candles")
    parser.add_argument("--depth", type=int, default=20, help="levels a side of the order book (default 20)")
    parser.add_argument("--exact", action="store_true", help="keep amounts as decimals, not as floats")
    parser.add_argument("--duration", metavar="SPAN", help="stop after a while, such as 10m or 8h")
    parser.add_argument("--rows-per-file", type=int, default=50_000, metavar="N", help="a new file after so many rows")
    parser.add_argument("--flush", default="5m", metavar="SPAN", help="a new file after this time at the latest (5m)")


def run(args: argparse.Namespace) -> int:
    """Record until SIGINT, SIGTERM or the end of the duration and return 0; return 2 when it can't begin."""
    from ..research.data.recorder import MARKETS, record
    from ..venue.clocks import milliseconds

    stop = threading.Event()
    previous = _stop_on_signals(stop)
    try:
        seconds = None if args.duration is None else milliseconds(args.duration) / 1000
        with open_session(args.url, args.ws_url) as session:
            symbols = args.symbols or session.products().index.tolist()
            with record(
                session,
                args.out,
                symbols,
                channels=args.channels or MARKETS,
                depth=args.depth,
                exact=args.exact,
                rows_per_file=args.rows_per_file,
                flush_ms=milliseconds(args.flush),
            ) as recorder:
                for live in recorder.live:
                    live.on_state(_tell)
                    if live.is_live:  # since before the line above
                        _tell(live)
                print(f"recording {', '.join(symbols)} of {session.environment.base_url} to {args.out}", flush=True)
                if recorder.resumed is not None:
                    print(f"continues a recording; nothing was recorded since {recorder.resumed}", flush=True)
                print("ready", flush=True)
                _wait(stop, seconds)
            print(f"stopped: {', '.join(f'{count:,} {name}' for name, count in recorder.rows.items())}", flush=True)
    except ToolkitError as error:
        print(f"toolkit record: {error}", file=sys.stderr, flush=True)
        return 2
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return 0


def open_session(url: str, ws_url: str | None = None) -> Session:
    """Return a session that only reads: of a served venue by its address, or of an environment by its name."""
    from ..connecting import NOBODY
    from ..session import connect

    if "://" not in url:
        return connect(url, account=NOBODY, ws_url=ws_url)
    return connect(base_url=url, ws_url=ws_url, account=NOBODY)


def _tell(live: Any) -> None:
    """Print each change of a subscription's state."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    print(f"{now} {live.subject}: {live.state}{f' ({live.reason})' if live.reason else ''}", flush=True)


def _wait(stop: threading.Event, seconds: float | None) -> None:
    """Wait in short steps, because an endless wait can't be interrupted on Windows."""
    left = seconds
    while left is None or left > 0:
        step = 0.5 if left is None else min(0.5, left)
        if stop.wait(step):
            return
        left = None if left is None else left - step


def _stop_on_signals(stop: threading.Event) -> dict[int, Any]:
    def on_signal(number: int, frame: FrameType | None) -> None:
        stop.set()

    if threading.current_thread() is not threading.main_thread():
        return {}
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name)]
    return {number: signal.signal(number, on_signal) for number in numbers}
