"""`toolkit bench`: the benchmarks, as a table and as JSON, with how far each is from its target."""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from ..benchmarks import MODULES, Measurement
from ..errors import InputError
from . import aligned


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `toolkit bench`.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    add = parser.add_argument
    add("only", nargs="*", metavar="NAME", help=f"which of {', '.join(MODULES)} (default: all)")
    add("--json", metavar="FILE", help="also write the rows as JSON to FILE (- for standard output only)")
    add("--seeds", nargs="+", type=int, default=(), metavar="N", help="of market (default: three are drawn)")
    add("--recording", metavar="PATH", help="of market: books and trades that data.load reads, measured like the venue")


def run(args: argparse.Namespace) -> int:
    """Measure and print.

    Return 1 when a target is missed, else 0.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.

    Raises
    ------
    InputError
        For an unknown benchmark.
    """
    if unknown := sorted(set(args.only) - set(MODULES)):
        raise InputError(f"no benchmark named {', '.join(unknown)}. There are {', '.join(MODULES)}", field="only")
    measured: list[Measurement] = []
    for name in args.only or MODULES:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        options = {"seeds": args.seeds, "recording": args.recording} if name == "market" else {}
        module = importlib.import_module(f"toolkit.benchmarks.{MODULES[name]}")
        measured += getattr(module, f"measure_{name}")(**options)
    if args.json != "-":
        print(table(measured))
    if args.json:
        rows = [{**asdict(row), "met": row.met, "distance": row.distance} for row in measured]
        machine = {"python": platform.python_version(), "system": platform.platform(), "processor": platform.machine()}
        text = json.dumps({"machine": machine, "rows": rows}, indent=1)
        if args.json == "-":
            print(text)
        else:
            Path(args.json).write_text(text + "\n", encoding="utf-8")
    return 0 if all(row.met is not False for row in measured) else 1


def table(rows: Sequence[Measurement]) -> str:
    """Return the rows as aligned text: value, ratio to the peer, target, and how far from it.

    Parameters
    ----------
    rows : sequence of Measurement
        Measurements, in order.
    """
    head = ("what", "measured", "against its peer", "target", "")
    body = [(row.name, _number(row.value, row.unit), _peer(row), _target(row), _verdict(row)) for row in rows]
    lines = aligned([head, *body])
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def _number(value: float, unit: str) -> str:
    text = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return f"{text} {unit}".rstrip()


def _peer(row: Measurement) -> str:
    return "" if row.ratio is None else f"{row.ratio:.2f} × {row.peer}"


def _target(row: Measurement) -> str:
    if row.target is None:
        return ""
    sign = "≥" if row.better == "higher" else "≤"
    unit = "×" if row.measure == "ratio" else row.unit
    aim = "" if row.aim is None else f" (aim {row.aim:g})"
    if row.most is not None:
        return f"{row.target:g} to {row.most:g} {unit}".rstrip()
    return f"{sign} {row.target:,g} {unit}{aim}".rstrip()


def _verdict(row: Measurement) -> str:
    if row.met is None:
        return row.note
    word = "met" if row.met else "MISSED"
    distance = "" if row.distance is None else f", {row.distance:.2f} of the target"
    return word + distance + (f": {row.note}" if row.note else "")
