"""`toolkit learn`: copies the walkthroughs to a folder of yours."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .. import walkthroughs
from ..errors import InputError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `toolkit learn`.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    add = parser.add_argument
    add("folder", nargs="?", default="walkthroughs", help="where to put them (default: ./walkthroughs)")
    add("--without-solutions", action="store_true", help="leave the solutions out, for students")
    add("--overwrite", action="store_true", help="replace files that are there already")


def run(args: argparse.Namespace) -> int:
    """Copy, and say what was copied and what was kept.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.
    """
    target = Path(args.folder)
    try:
        copied = walkthroughs.copy(target, overwrite=args.overwrite, solutions=not args.without_solutions)
    except (InputError, OSError) as error:
        print(f"toolkit learn: {error}", file=sys.stderr)
        return 1
    if copied:
        print(f"{len(copied)} files are in {target}. Open them with: toolkit lab {target}")
    else:
        print(f"{target} has them all already. --overwrite replaces them.")
    return 0
