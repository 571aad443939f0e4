"""`toolkit lab`: opens JupyterLab at the walkthroughs, in a folder of yours."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from .. import walkthroughs
from ..errors import ToolkitError
from ..extras import need


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `toolkit lab`.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    parser.add_argument("folder", nargs="?", default="walkthroughs", help="your copy (default: ./walkthroughs)")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")


def run(args: argparse.Namespace) -> int:
    """Copy the walkthroughs if they are not there yet and start JupyterLab on their index.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.
    """
    target = Path(args.folder)
    try:
        need("jupyterlab")
        walkthroughs.copy(target)
    except (ToolkitError, OSError) as error:
        print(f"toolkit lab: {error}", file=sys.stderr)
        return 1
    index = "--LabApp.default_url=/lab/tree/index.ipynb"
    command = [sys.executable, "-m", "jupyterlab", f"--notebook-dir={target}", index]
    return subprocess.call([*command, "--no-browser"] if args.no_browser else command)
