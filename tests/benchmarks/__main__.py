"""The benchmarks as a table and as JSON, each beside its target: `python -m tests.benchmarks [NAME …]`."""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from toolkit.errors import ToolkitError

from . import MODULES, Measurement
from .tables import table


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description="Run the benchmarks, and show each as a table and as JSON, with how far it is from its target.",
        epilog="The exit code is 1 when a target is missed, and 2 for wrong usage.",
    )
    add = parser.add_argument
    add("only", nargs="*", metavar="NAME", help=f"which of {', '.join(MODULES)} (default: all)")
    add("--json", metavar="FILE", help="also write the rows as JSON to FILE (- for standard output only)")
    add("--seeds", nargs="+", type=int, default=(), metavar="N", help="of market (default: three are drawn)")
    add("--recording", metavar="PATH", help="of market: books and trades that data.load reads, measured like the venue")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print. Return 1 when a target is missed, else 0."""
    parser = build_parser()
    args = parser.parse_args(argv)
    if unknown := sorted(set(args.only) - set(MODULES)):
        parser.error(f"no benchmark named {', '.join(unknown)}. There are {', '.join(MODULES)}")
    try:
        measured = measure(args)
        write(measured, args.json)
    except (ToolkitError, OSError) as error:
        parser.error(str(error))
    return 0 if all(row.met is not False for row in measured) else 1


def measure(args: argparse.Namespace) -> list[Measurement]:
    """Return the rows of the chosen benchmarks, in the order they are named."""
    measured: list[Measurement] = []
    for name in args.only or MODULES:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        options = {"seeds": args.seeds, "recording": args.recording} if name == "market" else {}
        module = importlib.import_module(f"tests.benchmarks.{MODULES[name]}")
        measured += getattr(module, f"measure_{name}")(**options)
    return measured


def write(measured: Sequence[Measurement], file: str | None) -> None:
    """Print the table, and write the JSON where it is asked for."""
    if file != "-":
        print(table(measured))
    if file:
        rows = [{**asdict(row), "met": row.met, "distance": row.distance} for row in measured]
        machine = {"python": platform.python_version(), "system": platform.platform(), "processor": platform.machine()}
        text = json.dumps({"machine": machine, "rows": rows}, indent=1)
        if file == "-":
            print(text)
        else:
            Path(file).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
