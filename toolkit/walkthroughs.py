"""Where the walkthrough notebooks are: in the source tree, or inside the installed package."""

from __future__ import annotations

import shutil
from pathlib import Path

from .errors import InputError


def folder() -> Path:
    """Return the folder that holds the walkthroughs of this installation."""
    here = Path(__file__).resolve().parent
    for place in (here.parent / "notebooks", here / "notebooks"):
        if any(place.glob("*.ipynb")):
            return place
    message = "the walkthroughs are not part of this installation. Install the package from its wheel or source tree"
    raise InputError(message, field="walkthroughs", rule="installed")


def copy(target: Path, *, overwrite: bool = False, solutions: bool = True) -> list[Path]:
    """Copy every walkthrough into a folder, and return the new files.

    Parameters
    ----------
    target : Path
        Folder, made if it is missing.
    overwrite : bool, optional
        True replaces an existing file, which may hold the user's work (default: False).
    solutions : bool, optional
        False leaves out the solutions (default: True).

    Returns
    -------
    list of Path
        The files that were written.
    """
    source = folder()
    copied = []
    for path in sorted(source.rglob("*")):
        part = path.relative_to(source)
        if not solutions and part.parts[0] == "solutions":
            continue
        if path.is_dir() or any(name.startswith((".", "__")) for name in part.parts):
            continue
        goal = target / part
        if goal.exists() and not overwrite:
            continue
        goal.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, goal)
        copied.append(goal)
    return copied
