"""Command line: `python -m toolkit COMMAND`, also installed as `toolkit`."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence

from toolkit import __version__
from toolkit.errors import ToolkitError
from toolkit.tracebacks import VARIABLE

COMMANDS = {
    "quickstart": "the first trade, from faucet to closed position, on the local venue",
    "lab": "open JupyterLab at the walkthroughs",
    "learn": "copy the walkthroughs to your folder",
    "venue": "serve the local venue on 127.0.0.1",
    "class": "serve one venue for a room of students",
    "grade": "run handed-in notebooks in a jail and check them",
    "mcp": "serve a session to language-model agents, with limits",
    "run": "run a strategy from a file, with a name",
    "runs": "show, stop and report the runs on this machine",
    "record": "write a live feed to disk",
    "export": "write a notebook as one HTML page, with the last state of its widgets",
    "sign": "sign unsigned requests, one JSON per line",
    "verify": "print the signer of signed requests, one JSON per line",
    "agent": "renew the approval of an agent, with the master key",
    "doctor": "check versions, clock, reachability, keys and agents, and say what to do next",
}
"""Command → one line of help. Each lives in toolkit/cli/<command>.py: `configure(parser)` and `run(args) -> int`."""
ROOMS = {"run": "running.run", "runs": "running.runs", "agent": "running.agent"}
"""Command → its module in toolkit/cli, where it is not the command's name."""


def build_parser(chosen: str | None = None) -> argparse.ArgumentParser:
    """Return the parser.

    Parameters
    ----------
    chosen : str, optional
        Command whose module is loaded. The others are only listed, so that start-up stays quick (default: none).
    """
    parser = argparse.ArgumentParser(
        prog="toolkit",
        description="Research and trade a perpetual-futures exchange, with a whole local exchange inside.",
        epilog="See `toolkit COMMAND --help`. If `toolkit` is not found: python -m toolkit",
    )
    parser.add_argument("--version", action="version", version=f"toolkit {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter)
        if name == chosen:
            module = importlib.import_module(f"toolkit.cli.{ROOMS.get(name, name)}")
            summary = (module.__doc__ or "").strip().partition(": ")[2]
            command.description = summary[:1].upper() + summary[1:]
            module.configure(command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 failed, 2 wrong usage or an error, which is printed.

    Parameters
    ----------
    argv : sequence of str, optional
        Words of the command line (default: those of the process).
    """
    words = list(sys.argv[1:] if argv is None else argv)
    chosen = next((word for word in words if word in COMMANDS), None)
    _never_fail_to_print()
    args = build_parser(chosen).parse_args(words)
    try:
        return int(importlib.import_module(f"toolkit.cli.{ROOMS.get(args.command, args.command)}").run(args))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0
    except (ToolkitError, OSError) as error:
        if os.environ.get(VARIABLE) == "all":
            raise
        print(f"toolkit {args.command}: {error}", file=sys.stderr, flush=True)
        return 2


def _never_fail_to_print() -> None:
    """Show "?" for a character that the terminal can't print (some on Windows) instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


if __name__ == "__main__":
    sys.exit(main())
