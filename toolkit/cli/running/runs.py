"""`toolkit runs`: shows the runs with a name on this machine, stops one, or shows its report or log.

`toolkit runs` lists them. `show NAME` shows all that is known of one. `stop NAME` cancels its orders and ends it, and
with --flatten closes its positions too. `report NAME` writes the report of its Results. `log NAME` shows what happened,
the newest lines last. `page` serves the list as a page on this machine only, until Ctrl-C.

A run whose program is gone is DIED. `stop` then cancels what it left, with the agent key of the environment.
"""

from __future__ import annotations

import argparse
import json
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from ...environments import LOCAL
from ...errors import InputError
from ...research.live_trading.attached import Attached, runs
from ...session import connect
from ...venue.development import masters
from ...wallet import Wallet
from .page import page_server

PORT = 8647
"""Usual port of the page."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    add = parser.add_argument
    add("what", nargs="?", choices=("show", "stop", "report", "log", "page"), help="what to do")
    add("name", nargs="?", metavar="NAME", help="its name, or ENVIRONMENT/ACCOUNT/NAME")
    add("--flatten", action="store_true", help="stop: close its positions too")
    add("--wait", type=float, default=60.0, metavar="SECONDS", help="stop: how long to wait for its end (60)")
    add("--out", type=Path, metavar="FILE", help="report: where to write it (NAME.html)")
    add("--port", type=int, default=PORT, metavar="N", help=f"page: its port on 127.0.0.1 ({PORT})")
    add("--lines", type=int, default=40, metavar="N", help="log: how many lines (40)")


def run(args: argparse.Namespace) -> int:
    """Show, stop or report. Returns 0, and 1 where a run did not end or left something open.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.

    Raises
    ------
    InputError
        If there is no run of this name.
    """
    if args.what is None:
        table = runs()
        if table.empty:
            print("no run has a name on this machine. `toolkit run strategy.py` starts one")
        else:
            shown = table.drop(columns=["account", "strategy", "equity", "pid", "told"])
            print(shown.apply(lambda column: column.map(_shown)).to_string())
        return 0
    if args.what == "page":
        with page_server(args.port) as server, suppress(KeyboardInterrupt):
            print(f"the runs are on http://127.0.0.1:{server.server_port}/ until Ctrl-C", flush=True)
            server.serve_forever()
        return 0
    if args.name is None:
        raise InputError(f"toolkit runs {args.what} NAME: which run? `toolkit runs` lists them", field="name")
    attached = Attached(args.name)
    if args.what == "show":
        for name, value in attached.status().items():
            print(f"{name:12} {_shown(value)}")
    elif args.what == "stop":
        left = _stop(attached, args)
        print(f"{attached.name} has ended. Still open: {'; '.join(left) or 'nothing'}")
        return int(bool(left))
    elif args.what == "report":
        path = attached.results().report(args.out or Path(f"{attached.name}.html"))
        print(f"wrote {path}")
    else:
        for line in _last(attached.log_file, args.lines):
            print(line)
    return 0


def _shown(value: Any) -> str:
    """Return a value of the table as a terminal shows it: times to the minute (UTC), USDC to the cent."""
    if pd.isna(value):
        return ""
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d %H:%M}"
    return f"{value:,.2f}" if isinstance(value, float) else str(value)


def _stop(attached: Attached, args: argparse.Namespace) -> list[str]:
    status = attached.status()
    if status["state"] not in ("DIED", "ENDED") or (status["state"] == "ENDED" and not args.flatten):
        return attached.stop(flatten=args.flatten, wait=args.wait)
    name, known = str(status["environment"]).partition(":")[0], [one.address.lower() for one in masters()]
    account = str(status["account"])
    given: dict[str, Any] = {"base_url": status["base_url"]} if name == LOCAL.name else {}
    if given and account.lower() in known:
        given["account"] = known.index(account.lower())  # its keys are public
    else:
        given |= {"wallet": Wallet.from_env(), "account": account}
    with connect(name, **given) as session:
        return attached.stop(flatten=args.flatten, wait=args.wait, session=session)


def _last(path: Path, count: int) -> list[str]:
    """Return the last lines of a log of JSON lines, in words. A line that is cut off is left out."""
    if not path.exists():
        raise InputError(f"{path} does not exist: the run wrote no log, or another file (--log)", field="name")
    found: deque[str] = deque(maxlen=count)
    for raw in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            line = json.loads(raw)
            time = datetime.fromisoformat(line["time"]).astimezone(UTC)
            found.append(f"{time:%Y-%m-%d %H:%M:%S} {line['text']}")
        except (ValueError, KeyError, TypeError):
            continue
    return list(found)
