"""`toolkit watch`: cancels a live run's orders that may open a position, once the run no longer renews its lease.

A run with a name (`live(…, run="grid-btc")`) renews its lease with each poll that the venue answers. Start this command
as a second process, with the same TOOLKIT_STATE folder. Where the folder is shared, another computer can run it: then
it also helps when the first one fails or sleeps. Exits (take-profits, stops, reduce-only orders) stay at the venue.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

from ..errors import ExchangeError, OutcomeUnknown, TransportError
from ..numerals import milliseconds
from ..research.live_trading.launch import check_agent
from ..research.live_trading.watching import Watcher
from ..session import connect
from ..wallet import AGENT_VARIABLE, Wallet
from .venue import StopSignals


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_argument
    add("run_name", metavar="RUN", help="name of the run, as in live(…, run=RUN)")
    add("--env", choices=("local", "testnet", "mainnet"), default="local", help="environment of the run")
    add("--base-url", metavar="URL", help="another address of it, such as http://127.0.0.1:8645")
    add("--after", default="60s", metavar="SPAN", help="cancel after this time without a renewal (60s)")
    add("--every", default="5s", metavar="SPAN", help="look this often (5s)")
    add("--duration", metavar="SPAN", help="stop watching after a while, such as 8h")
    add("--keyfile", type=Path, metavar="FILE", help="the agent's encrypted key file; asks its password")
    add("--agent-key-env", metavar="NAME", default=AGENT_VARIABLE, help="variable of the agent key")
    add("--account", metavar="ADDRESS", help="the master's address (default: the variable TOOLKIT_ACCOUNT)")


def run(args: argparse.Namespace) -> int:
    """Watch until SIGINT, SIGTERM or the end of the duration and return 0."""
    if args.keyfile is None:
        wallet = Wallet.from_env(args.agent_key_env, account=args.account)
    else:
        wallet = Wallet.from_keyfile(args.keyfile, account=args.account)
    every = milliseconds(args.every, "every") / 1000
    left = float("inf") if args.duration is None else milliseconds(args.duration, "duration") / 1000
    with StopSignals(starting=False) as stop, connect(args.env, base_url=args.base_url, wallet=wallet) as session:
        check_agent(session)
        watcher = Watcher(session, args.run_name, after=args.after)
        print(f"watching run {args.run_name!r} of {session.account}\nready", flush=True)
        while left > 0:
            stop.wait(min(every, left))
            if stop.event.is_set():
                break
            left -= every
            try:
                if cancelled := watcher.check():
                    _print(f"not renewed for {watcher.silent:.0f} s; cancelled {cancelled} orders that may open")
            except (ExchangeError, OutcomeUnknown, TransportError) as failure:
                _print(f"{failure}; trying again in {every:g} s")
    return 0


def _print(text: str) -> None:
    print(f"{datetime.now(UTC).isoformat(timespec='seconds')} {text}", flush=True)
