"""Grades handed-in notebooks: each runs in a jail within limits, then hidden checks examine the values that it left.

The checks never enter the jail: they run in a separate process, on the values that the jail returned. A notebook can
affect only its own rows.
"""

from __future__ import annotations

import errno
import json
import math
import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from tqdm import tqdm

from ..errors import InputError
from ..extras import need
from ..protocol.jsontext import guard
from ..venue.model.genesis import check_seed
from ..venue.served.boundary import new_seed
from .feedback import write_pages
from .jail import Jail, Stopped, exchange
from .marking import Assignment, Check, Mark, Work, checks_of, judge, marks, names_of, plain
from .notebook_worker import START_SECONDS, Report, Task

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Work", "checks_of", "grade", "marks", "run"]

SECONDS, MEMORY_MB = 120.0, 2_048
"""Limits of one notebook unless others are given: wall time, and memory."""
CHECK_SECONDS, CHECK_MEMORY_MB = 60.0, 4_096
"""Limits of all checks of one notebook: its values may lead them astray."""
GRACE_SECONDS = 30.0
LARGEST_NOTEBOOK_MB = 10
LARGEST_FILES_MB = 64
TRIAL_SECONDS = 60.0
_OF_THE_MACHINE = {errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOENT}
"""Errors of reading a file that say nothing of the file. Others come from what was handed in, such as a folder."""
ATTEMPTS = 2
"""How often a notebook is tried where the machine fails, and not the notebook."""
BAR_SECONDS = 2.0
COLUMNS = ["notebook", "check", "about", "points", "reached", "why", "hint", "cell", "seconds", "memory_mb"]


class _Grader(NamedTuple):
    """How each notebook of a folder is run and marked."""

    checks: Path | None
    wanted: Sequence[Check]
    names: Sequence[str] | None
    jail: Jail
    limits: tuple[float, int, int | str]
    files: Mapping[str, bytes]

    def rows(self, path: Path, name: str) -> list[tuple[object, ...]]:
        """Return a row for each check of one notebook.

        Parameters
        ----------
        path : Path
            Notebook of the student.
        name : str
            Name of the student.
        """
        for _ in range(ATTEMPTS):
            report = report_of(path, self.jail, self.names, *self.limits, self.files)
            if not report.not_graded:
                break
        work = Work.of(path, report, self.names)
        failed = next((number for number, error in enumerate(work.errors, 1) if error), None)
        return [
            (name, check.name, check.about, check.points, *mark, failed, work.seconds, work.memory_mb)
            for check, mark in zip(self.wanted, self.marks(work, report), strict=True)
        ]

    def marks(self, work: Work, report: Report) -> list[Mark]:
        """Return the mark of each check.

        Parameters
        ----------
        work : Work
            Results of the notebook.
        report : Report
            Report of its worker.
        """
        if report.not_graded:
            return [Mark(math.nan, f"not graded: {work.error}", "")] * len(self.wanted)
        if self.checks is None:
            return [judge(work, check) for check in self.wanted]
        try:
            # Each notebook is judged in a new process. Its values can crash or occupy that one only.
            message = msgspec.json.encode(Assignment(os.fsencode(self.checks), os.fsencode(work.path), report))
            line = [sys.executable, "-m", "toolkit.classroom.marking"]
            answer = exchange(line, message, os.environ, seconds=CHECK_SECONDS, memory_mb=CHECK_MEMORY_MB)
            found = msgspec.json.decode(answer, type=list[Mark])
            # The file of the checks may have been edited since it was read. There is one mark for each check that was
            # announced.
            changed = Mark(math.nan, "not graded: the checks have changed", "")
            return [*found, *[changed] * len(self.wanted)][: len(self.wanted)]
        except (Stopped, msgspec.MsgspecError, OSError) as error:
            why = f"the checks could not judge it: {error}"
            # Its values may have led them beyond a limit. Whatever else fails may be the machine, or the checks.
            if isinstance(error, Stopped) and error.at_limit:
                return [Mark(0.0, plain(why), "")] * len(self.wanted)
            return [Mark(math.nan, plain(f"not graded: {why}"), "")] * len(self.wanted)


def grade(
    folder: str | Path,
    checks: str | Path | None = None,
    *,
    seconds: float = SECONDS,
    memory_mb: int = MEMORY_MB,
    jobs: int | None = None,
    seed: int | str | None = None,
    files: str | Path | None = None,
    container: str = "",
    trust_students: bool = False,
    feedback: str | Path | None = None,
) -> pd.DataFrame:
    """Run every notebook of a folder in a jail, and check it.

    A notebook that fails, or is stopped at a limit, is checked on what it left before. It runs in a jail of the
    operating system, or in a container.

    Parameters
    ----------
    folder : str or Path
        Folder with the notebooks, those in its folders included.
    checks : str or Path or None, optional
        Python file with the hidden checks (default: none, the only check is that the notebook runs to its end).
    seconds : float, optional
        Wall time of each notebook, in seconds (default: 120).
    memory_mb : int, optional
        Memory of all processes of each notebook, in MB (default: 2,048).
    jobs : int or None, optional
        Number of notebooks that run simultaneously (default: one for each core).
    seed : int or str or None, optional
        Seed of the separate venue that `toolkit.join` gives each notebook, the same for all (default: a new secret one,
        see `DataFrame.attrs["seed"]`).
    files : str or Path or None, optional
        File or folder of the assignment, such as data and helper modules. They lie next to each notebook (default:
        none).
    container : str, optional
        Image of a container to run them in, which has the toolkit with its extra `class` (default: none).
    trust_students : bool, optional
        True runs the notebooks as you, without a jail (default: `False`).
    feedback : str or Path or None, optional
        Folder for a page for each student (default: none).

    Returns
    -------
    DataFrame
        One row for each check. `notebook`, `check`, `about` : text.
        `points`, `reached` : float64, the points of the check, and 0 or these points. Missing if it was not graded.
        `why`, `hint` : text, what failed, and what the student may read of it.
        `cell` : Int64, number of the first cell that failed, missing if none did.
        `seconds`, `memory_mb` : float64, time and largest memory of the notebook.

    Raises
    ------
    InputError
        If the folder, the files or the checks can't be used, where there is no jail, and where a known notebook fails
        in it.
    """
    import pandas as pd

    need("psutil", "ipykernel")
    folder, path = Path(folder), None if checks is None else Path(checks).absolute()
    # Read before the first notebook runs, so that an error in the checks costs no time.
    wanted = checks_of(path) if path else [Check("runs", "The notebook runs to its end", 1.0, _runs)]
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs {jobs} must be 1 or more", field="jobs", rule="positive", value=jobs)
    # By the name that the table shows. Two notebooks must not share a row.
    handed_in: dict[str, Path] = {}
    for each in notebooks(folder):
        name = plain(each.relative_to(folder).as_posix())
        while name in handed_in:  # two that differ in control characters only
            name += "'"
        handed_in[name] = each
    names = names_of(path, wanted) if path else []
    jail = Jail.choose(container, trust_students=trust_students)
    seed = new_seed() if seed is None else check_seed(seed)
    grader = _Grader(path, wanted, names, jail, (seconds, memory_mb, seed), {} if files is None else _assigned(files))
    _try(jail, memory_mb)
    if grader.checks is not None:
        nothing = Report()
        failed = [
            mark.why for mark in grader.marks(Work.of(Path("trial"), nothing), nothing) if math.isnan(mark.reached)
        ]
        if failed:
            text = f"grading does not begin, because the checks fail for a notebook without values: {failed[0]}"
            raise InputError(text, field="checks", rule="a trial")
    # Threads suffice, because the work is done by other processes.
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        found = pool.map(grader.rows, handed_in.values(), handed_in)
        # the bar appears in a terminal only
        shown = tqdm(found, "grade", len(handed_in), delay=BAR_SECONDS, leave=False, disable=None)
        rows = [row for rows in shown for row in rows]
    table = pd.DataFrame(rows, columns=COLUMNS).astype({"cell": "Int64"})
    table.attrs["seed"] = seed
    if feedback is not None:
        write_pages(table, Path(feedback))
    return table


_tried: set[tuple[Jail, int]] = set()


def _try(jail: Jail, memory_mb: int) -> None:
    """Run a known notebook as each student's is run. Raises InputError if it fails, before any student has 0 points."""
    if (jail, memory_mb) in _tried:
        return
    source = "import numpy, pandas, toolkit\ntried = pandas.Series(numpy.arange(4)).sum()"
    notebook = json.dumps({"cells": [{"cell_type": "code", "source": source}]}).encode()
    report = _exchanged(Task(notebook, ["tried"], TRIAL_SECONDS, memory_mb, 0), jail)
    work = Work.of(Path("trial"), report)
    if work.values.get("tried") != 6:
        why = work.error or "it left no value"
        text = f"grading does not begin, because a known notebook fails here, and each student's would: {why}"
        raise InputError(text, field="jail", rule="a trial")
    _tried.add((jail, memory_mb))


def _assigned(files: str | Path) -> dict[str, bytes]:
    """Return the content of the files of an assignment by their names, with those in folders."""
    root = Path(files)
    try:
        paths = [root] if root.is_file() else sorted(each for each in root.rglob("*") if each.is_file())
        found = {
            each.relative_to(root.parent if root.is_file() else root).as_posix(): each.read_bytes() for each in paths
        }
    except OSError as error:
        raise InputError(f"files {root} can't be read: {error}", field="files", value=str(root)) from None
    size = sum(map(len, found.values())) >> 20
    if not found or size > LARGEST_FILES_MB:
        what = f"{size} MB, and at most {LARGEST_FILES_MB} MB are copied" if found else "no files"
        raise InputError(f"files {root} has {what}", field="files", rule="some files", value=str(root))
    return found


def _runs(work: Work) -> None:
    assert not work.error, work.error


def notebooks(folder: Path) -> list[Path]:
    """Return the notebooks of a folder, also of those inside, sorted.

    A link to a folder is listed as well, and not followed.

    Parameters
    ----------
    folder : Path
        Folder to search.

    Raises
    ------
    InputError
        If there are none.
    """
    found = [path for path in _files(folder) if path.suffix == ".ipynb" or path.is_dir()]
    if not found:
        raise InputError(f"there are no notebooks in {folder}", field="folder", value=str(folder))
    return sorted(found)


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        links = [name for name in folders if name.endswith(".ipynb") or os.path.islink(os.path.join(place, name))]
        yield from (Path(place, name) for name in (*files, *links) if not name.startswith("."))


def run(
    path: Path,
    *,
    seconds: float = SECONDS,
    memory_mb: int = MEMORY_MB,
    seed: int | str | None = None,
    names: Sequence[str] | None = None,
    jail: Jail | None = None,
) -> Work:
    """Run one notebook within limits.

    Return what it left.

    Raises InputError where there is no jail.

    Parameters
    ----------
    path : Path
        File of the notebook.
    seconds : float, optional
        Wall time of the notebook, in seconds (default: 120).
    memory_mb : int, optional
        Memory of all its processes, in MB (default: 2,048).
    seed : int or str or None, optional
        Seed of the venue that `toolkit.join` gives it (default: a new secret one).
    names : sequence of str or None, optional
        Variables to take out (default: all).
    jail : Jail or None, optional
        Jail in which it runs (default: that of this system).

    Returns
    -------
    Work
        Values, errors and output of the notebook.

    Raises
    ------
    InputError
        Where there is no jail.
    """
    need("psutil", "ipykernel")
    seed = new_seed() if seed is None else seed
    return Work.of(path, report_of(path, jail or Jail.choose(), names, seconds, memory_mb, seed), names)


def report_of(
    path: Path,
    jail: Jail,
    names: Sequence[str] | None,
    seconds: float,
    memory_mb: int,
    seed: int | str,
    files: Mapping[str, bytes] | None = None,
) -> Report:
    """Run one notebook and return its report, also for an invalid file or a notebook that fails.

    When its worker is stopped, the report of the cells before stays, and the next cell has the reason as its error.

    Parameters
    ----------
    path : Path
        File of the notebook.
    jail : Jail
        Jail in which it runs.
    names : sequence of str or None
        Variables to take out. `None` takes all.
    seconds : float
        Wall time of the notebook, in seconds.
    memory_mb : int
        Memory of all its processes, in MB.
    seed : int or str
        Seed of the venue that `toolkit.join` gives the notebook.
    files : mapping of str to bytes or None, optional
        Name → content of the files that lie next to it (default: none).
    """
    try:
        # The content is read here, outside of the jail, which has no access to the folder.
        content = _content(path)
    except Stopped as stopped:
        return Report(str(stopped))
    except OSError as error:
        why = f"it can't be read: {error.strerror or error}"
        if error.errno in _OF_THE_MACHINE:
            return Report(why, not_graded=True)
        return Report(f"it is not a notebook: {why}")
    return _exchanged(
        Task(content, None if names is None else list(names), seconds, memory_mb, seed, dict(files or {})), jail
    )


def _exchanged(task: Task, jail: Jail) -> Report:
    """Give a worker its task, and return its report."""
    line, most = [sys.executable, "-m", "toolkit.classroom.notebook_worker"], START_SECONDS + task.seconds
    try:
        try:
            message = msgspec.json.encode(task)
            return _report(jail.exchange(line, message, seconds=most + GRACE_SECONDS, memory_mb=task.memory_mb))
        except Stopped as stopped:
            # The worker sends a report before the first cell and after each. The last whole one counts. Without any,
            # no cell was run.
            if not stopped.left:
                return Report(str(stopped), not_graded=True)
            report = _report(stopped.left)
            report.errors.append(str(stopped))
            return report
    except OSError as error:
        return Report(f"its worker could not be started: {error}", not_graded=True)
    # The report comes from the student's code, and may be anything.
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        return Report(f"the notebook sent something else than a report: {error}")


def _report(answer: bytes) -> Report:
    guard(answer)
    return msgspec.json.decode(answer, type=Report)


def _content(path: Path) -> bytes:
    """Return what is in a file. Raises Stopped for a link, for what is no file, and for one that is too large."""
    # A link could name a file of the grader, whose content would then appear in a report.
    if path.is_symlink():
        raise Stopped("it is not a notebook: it is a link. Hand in the file itself")
    # A link or pipe that takes its place now is not followed, and does not block.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise Stopped("it is not a notebook: it is no regular file")
        content = file.read((LARGEST_NOTEBOOK_MB << 20) + 1)
    if len(content) > LARGEST_NOTEBOOK_MB << 20:
        raise Stopped(f"it is not a notebook to grade: it has more than {LARGEST_NOTEBOOK_MB} MB. Clear its outputs")
    return content
