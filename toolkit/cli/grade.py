"""`toolkit grade`: runs the notebooks of a folder in a sandbox, within limits, and checks what they left.

The checks are functions check_… of a Python file, which the notebooks never see.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ..classroom.grading import grade


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_argument
    add("folder", type=Path, help="the notebooks that were handed in; folders in it are searched too")
    add("--checks", type=Path, metavar="FILE", help="hidden checks; without: that each runs to its end")
    add("--seconds", type=float, default=120, help="time limit of a notebook (default 120)")
    add("--memory", type=int, default=2048, metavar="MB", help="memory limit (default 2048)")
    add("--jobs", type=int, default=1, metavar="N", help="notebooks that run at a time (default 1)")
    add("--report", type=Path, metavar="FILE", help="also write every check to a .csv or .parquet file")


def run(args: argparse.Namespace) -> int:
    """Print the points of each notebook; return 0 when all were graded."""
    rows = grade(args.folder, args.checks, seconds=args.seconds, memory_mb=args.memory, jobs=args.jobs)
    if args.report is not None:
        write = rows.to_parquet if args.report.suffix == ".parquet" else rows.to_csv
        write(args.report, index=False)
    for name, mine in rows.groupby("notebook", sort=True):
        print(f"{name}: {mine['reached'].sum():g} of {mine['points'].sum():g} points")
        for row in mine[mine["reached"] < mine["points"]].to_dict("records"):
            print(f"   missed {row['points']:g}: {row['about']} – {row['why']}")
    return 0
