"""`toolkit grade`: runs the notebooks of a folder in a jail, within limits, and checks what they left.

The checks are functions check_… of a Python file, which the notebooks never see.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..classroom.feedback import write_points, write_table
from ..classroom.grading import MEMORY_MB, SECONDS, grade
from . import venue


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    add = parser.add_argument
    add("folder", type=Path, help="the notebooks that were handed in, also in its folders")
    add("--checks", type=Path, metavar="FILE", help="hidden checks (default: each notebook must run to its end)")
    add("--seconds", type=float, default=SECONDS, help=f"time limit of a notebook (default {SECONDS:g})")
    add("--memory", type=int, default=MEMORY_MB, metavar="MB", help=f"memory limit (default {MEMORY_MB})")
    add("--jobs", type=int, metavar="N", help="notebooks that run at a time (default: as many as there are cores)")
    text = "seed of the venue that toolkit.join gives, the same for all (default: a new secret one, which is printed)"
    add("--seed", type=venue.read_seed, metavar="N", help=text)
    add("--files", type=Path, metavar="PATH", help="file or folder of the assignment, copied next to each notebook")
    add("--container", default="", metavar="IMAGE", help="run each in a container (docker, podman) of this image")
    text = "run them as you, without a jail: they can read your files and keys, write, and use the network"
    add("--trust-students", action="store_true", help=text)
    add("--report", type=Path, metavar="FILE", help="also write every check to a .csv or .parquet file")
    add("--feedback", type=Path, metavar="FOLDER", help="also write a page for each student, without hidden answers")
    add("--canvas", type=Path, metavar="FILE", help="also write the points as CSV that Canvas imports")
    add("--moodle", type=Path, metavar="FILE", help="also write the points as CSV that Moodle imports")
    add("--title", default="Grade", help="name of the assignment in these files (default Grade)")


def run(args: argparse.Namespace) -> int:
    """Print the points of each notebook.

    Return 0 when all were graded.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.
    """
    options = {
        name: getattr(args, name)
        for name in ("seconds", "jobs", "seed", "files", "container", "trust_students", "feedback")
    }
    if args.trust_students:
        print("without a jail: the notebooks run as you, and can read your files and keys", file=sys.stderr)
    rows = grade(args.folder, args.checks, memory_mb=args.memory, **options)
    if args.report is not None:
        write_table(rows, args.report)
    for form in ("canvas", "moodle"):
        if (path := getattr(args, form)) is not None:
            write_points(rows, path, form, args.title)
    for name, mine in rows.groupby("notebook", sort=True):
        failed = mine["cell"].dropna()
        where = f" (cell {failed.iloc[0]} failed)" if len(failed) else ""
        if mine["reached"].isna().any():
            print(f"{name}: {mine['why'].iloc[0]}")
            continue
        print(f"{name}: {mine['reached'].sum():g} of {mine['points'].sum():g} points{where}")
        for row in mine[mine["reached"] < mine["points"]].to_dict("records"):
            print(f"   missed {row['points']:g}: {row['about']} – {row['why']}")
    print(f"seed of the graded venues: {rows.attrs['seed']}")
    return 1 if rows["reached"].isna().any() else 0
