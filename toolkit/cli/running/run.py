"""`toolkit run`: runs the strategy of a Python file, for as long as it may.

    toolkit run carry.py --env testnet --limits limits.toml

The run has a name, so a start after a crash or a reboot continues it, and `toolkit runs` shows and stops it. It pauses
while the venue doesn't answer or contradicts itself, and then goes on. Ctrl-C, SIGTERM and SIGHUP end it: its orders
are cancelled, its positions stay unless --close-at-end is given.

The agent key is read from the environment (TOOLKIT_AGENT_KEY). A limits file is TOML, with the names of toolkit.Limits.

Exit codes: 0 if its duration is over or it was told to end. 1 for an error of the strategy. 2 for wrong usage, or where
it can't start. 3 if a limit ended it. 4 if the venue or its owner ended it: a liquidation, a revoked agent, a position
closed by hand. 5 if the venue does not answer at its start, or could not be asked what is open. 130 for Ctrl-C.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from typing import Any

from ...environments import PRESETS
from ...errors import InputError, RateLimited, TransportError
from ...limits import Limits
from ...research.live_trading.launch import runner_of
from ...research.running.voice import log_to
from ...research.strategy import Strategy, StrategyLike
from ...session import Session, connect
from ...wallet import Wallet
from .opening import account_of, open_local, read_limits


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="Python file with a Strategy, or a function on_bar(ctx, bar)")
    add("--name", metavar="NAME", help="name of the run (default: that of the file)")
    add("--class", dest="which", metavar="NAME", help="which strategy of the file, if it has several")
    add("--env", default="testnet", choices=sorted(PRESETS), help="environment (testnet)")
    add("--url", metavar="URL", help="a local venue that is served there, instead of one in this process")
    add("--account", metavar="WHO", help="number, name or address of the account")
    add("--limits", type=Path, metavar="FILE", help="TOML file of limits (the local venue needs none)")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="parameter of the strategy; may be repeated")
    add("--symbols", nargs="+", metavar="SYMBOL", help="products (default: those of the strategy, else BTCUSDC)")
    add("--interval", default="1m", metavar="SPAN", help="length of a bar (1m)")
    add("--duration", metavar="SPAN", help="how long it runs, such as 8h (default: until it is stopped)")
    add("--warm-up", type=int, default=0, metavar="N", help="past bars that are delivered first (0)")
    add("--close-at-end", action="store_true", help="close its positions at the end")
    add(
        "--notify",
        metavar="URL",
        help="whom to tell: http(s)://… gets JSON, others are addresses of Apprise (ntfy://…)",
    )
    add("--heartbeat", metavar="TO", help="address that is read each minute, or file that is touched, while it runs")
    add(
        "--log",
        type=Path,
        metavar="FILE",
        help="JSON lines of what happens (default: a file that `toolkit runs log` reads)",
    )


def run(args: argparse.Namespace) -> int:
    """Run the strategy, and return how it ended.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.
    """
    strategy = read_strategy(args.file, args.which, args.set)
    try:
        return _run(args, strategy)
    except (TransportError, RateLimited) as error:
        print(f"toolkit run: {error}", file=sys.stderr, flush=True)
        return 5


def _run(args: argparse.Namespace, strategy: StrategyLike) -> int:
    name = args.name or args.file.stem
    with open_to_trade(args) as session:
        options: dict[str, Any] = {"interval": args.interval, "warm_up": args.warm_up, "notify": args.notify}
        options["heartbeat"] = args.heartbeat
        limits = Limits() if args.limits is None else read_limits(args.limits)
        runner = runner_of(strategy, session, args.symbols, limits, args.duration, name=name, **options)
        log_to(args.log or runner.log_file)
        try:
            runner.run(args.duration, close_at_end=args.close_at_end)
        except SystemExit:
            # A signal told it to end, and it has. One of the strategy's own is an error of it.
            return 0 if runner.error is None else 1
        except (TransportError, RateLimited):
            raise
        except Exception:
            traceback.print_exc()
            return 1
        return runner.exit_code


def open_to_trade(args: argparse.Namespace) -> Session:
    """Return a session that may trade for a run.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.

    Raises
    ------
    InputError
        Without limits where money or points are at stake.
    """
    if args.env == "local":
        return open_local(args.url, args.account)
    if args.limits is None:
        what = f"a run on {args.env} needs --limits FILE, such as one with the lines max_notional = 1000, max_loss = 50"
        raise InputError(what, field="limits", rule="required")
    return connect(args.env, wallet=Wallet.from_env(), account=account_of(args.account))


def read_strategy(path: Path, which: str | None, settings: list[str]) -> Any:
    """Return the strategy of a Python file.

    Parameters
    ----------
    path : Path
        The file.
    which : str or None
        Name of the class or function (default: the only one).
    settings : list of str
        Parameters as NAME=VALUE. A value is a Python literal, else text.

    Raises
    ------
    InputError
        If there is no such file or strategy, or several; for a parameter that it has not.
    """
    if not path.is_file():
        raise InputError(f"there is no file {path}", field="file", rule="a Python file", value=str(path))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is no Python file. Its name must end with .py", field="file", value=str(path))
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))  # what stands beside it can be imported, as in `python FILE`
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    found = {name: value for name, value in vars(module).items() if _is_strategy(value, path.stem)}
    named = {which: found[which]} if which in found else found if which is None else {}
    if len(named) != 1:
        wanted = f"no strategy {which!r}" if which else f"{len(found)} strategies"
        text = f"{path} has {wanted}. Choose one with --class: {', '.join(sorted(found)) or 'it has none'}"
        raise InputError(text, field="class", rule="a strategy of the file", value=which, nearest=tuple(sorted(found)))
    [strategy] = named.values()
    given = dict(_setting(text) for text in settings)
    if given and not inspect.isclass(strategy):
        raise InputError("--set sets parameters of a class; this strategy is a function", field="set")
    return strategy(**given) if inspect.isclass(strategy) else strategy


def _is_strategy(value: object, module: str) -> bool:
    if inspect.isclass(value):
        return issubclass(value, Strategy) and value.__module__ == module
    return inspect.isfunction(value) and value.__name__ == "on_bar"


def _setting(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not (name.isidentifier() and equals):
        raise InputError(f"--set {text!r} is not NAME=VALUE, such as lookback=48", field="set", rule="NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
