"""`toolkit venue`: serves the local venue on loopback until it is interrupted.

It prints its addresses, the development accounts and then `ready`. An account can trade once its master has approved an
agent (approveAgent), as on the exchange.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING

from ..errors import ToolkitError
from ..venue.model.market import REGIMES

if TYPE_CHECKING:
    from ..venue.local import LocalVenue

NOTICE_MS = 3_600_000
"""A longer catch-up at the start is announced, because a simulated day takes a while."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    from ..venue.lab.faults import explain

    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = explain()
    parser.add_argument("--port", type=int, default=8645, help="port to listen on; 0 takes a free one (default 8645)")
    parser.add_argument("--seed", type=int, default=7, help="seed of prices and participants (default 7)")
    parser.add_argument("--accounts", type=int, default=10, help="funded development accounts, 0 to 10 (default 10)")
    parser.add_argument("--clock", choices=("real", "manual"), default="real", help="what makes time pass")
    parser.add_argument("--speed", type=float, default=1.0, help="times as fast as real time, with the real clock")
    parser.add_argument("--start", metavar="TIME", help="where the clock begins: ISO 8601 or Unix ms")
    parser.add_argument(
        "--journal",
        metavar="FILE",
        help="write every command to FILE before it is answered; an existing FILE is continued",
    )
    parser.add_argument(
        "--sync",
        choices=("full", "os"),
        default="full",
        help="when a command counts as written: once the disk has it (full), which survives a power cut, or once the "
        "operating system has it (os), which survives the death of this process and is much faster",
    )
    parser.add_argument("--recover", action="store_true", help="continue a damaged journal from its intact entries")
    parser.add_argument(
        "--control", action="store_true", help="also serve interventions: GET /control lists them, POST /control/NAME"
    )
    parser.add_argument(
        "--fault", action="append", default=[], metavar="TEXT", help="script a fault, see below; may be repeated"
    )
    parser.add_argument(
        "--market", default="usual", choices=REGIMES, help="what the simulated participants do (default usual)"
    )
    parser.add_argument("--no-market", action="store_true", help="an empty market without simulated participants")
    parser.add_argument(
        "--wire",
        choices=("published", "extended"),
        default="published",
        help="the feed's messages as published, or with type, sequence and a first snapshot on every channel",
    )
    parser.add_argument("--settle-delay", default="0ms", metavar="SPAN", help="delay the effect of actions, e.g. 1s")
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on; all but loopback need --allow-remote"
    )
    parser.add_argument("--allow-remote", action="store_true", help="listen where other machines can reach it")


def run(args: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM and return 0; return 2 when the venue can't be started."""
    from ..venue.local import LocalVenue
    from ..venue.served.control_routes import open_routes

    stop = threading.Event()
    previous = _stop_on_signals(stop)
    try:
        venue = LocalVenue(
            seed=args.seed,
            accounts=args.accounts,
            clock=args.clock,
            speed=args.speed,
            start=int(args.start) if args.start and args.start.isdigit() else args.start,
            market=None if args.no_market else args.market,
            settle_delay=args.settle_delay,
            journal=args.journal,
            sync=args.sync,
            recover=args.recover,
            wire=args.wire,
        )
        for fault in args.fault:
            print(f"fault {venue.faults.arm(fault)}")
        if args.control:
            open_routes(venue)
        behind = venue.now_ms() - venue.core.state.time
        if behind > NOTICE_MS:
            print(f"simulating {behind / NOTICE_MS:.1f} hours since the journal's last entry", flush=True)
            venue.catch_up()
        with venue, venue.serve(args.port, host=args.host, allow_remote=args.allow_remote) as served:
            _introduce(served.base_url, served.ws_url, _funded(venue))
            if venue.journal is not None:
                print(f"\njournal {venue.journal.path}: {venue.journal.count} entries, seed {venue.core.state.seed}")
            print("\nready", flush=True)
            while not stop.wait(0.5):  # an endless wait can't be interrupted on Windows
                pass
    except ToolkitError as error:
        print(f"toolkit venue: {error}", file=sys.stderr, flush=True)
        return 2
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    print("stopped", flush=True)
    return 0


def _stop_on_signals(stop: threading.Event) -> dict[int, signal.Handlers]:
    def on_signal(number: int, frame: FrameType | None) -> None:
        stop.set()

    if threading.current_thread() is not threading.main_thread():
        return {}
    names = ("SIGINT", "SIGTERM", "SIGBREAK")  # SIGBREAK exists on Windows only, where Ctrl-Break sends it
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    return {number: signal.signal(number, on_signal) for number in numbers}  # type: ignore[misc]


def _funded(venue: LocalVenue) -> int:
    """Return how many development accounts the venue has; a journal can differ from the command line."""
    from ..venue import development

    accounts = venue.core.state.accounts
    return sum(master.address.lower() in accounts for master in development.masters(10))


def _introduce(base_url: str, ws_url: str, accounts: int) -> None:
    from ..venue import development

    print(f"Exchange and Info API  {base_url}")
    print(f"WebSocket              {ws_url}/ws/dex")
    print("chainId 421614, source b, dexChain Testnet")
    print(f"\nDevelopment accounts (mnemonic: {development.MNEMONIC})")
    print(f"{'':3}{'master, ' + development.FUNDING + ' USDC':45}agent (approve it first)")
    for master, agent in zip(development.masters(accounts), development.agents(accounts), strict=True):
        print(f"{master.index:2} {master.address:45}{agent.address}")
