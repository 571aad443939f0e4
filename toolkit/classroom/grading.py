"""Grades handed-in notebooks: each runs in the sandbox within limits, then hidden checks look at what it left.

The checks never enter the sandbox: a notebook can't read them, and what they raise is not shown to it. They are the
functions `check_…` of a Python file; each takes a `Work` and fails by raising, best with an `assert` that says why:

    def check_position(work):
        '''The position is closed at the end'''
        assert work.value("positions").empty, "there is still a position"

    check_position.points = 2
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..extras import need

if TYPE_CHECKING:
    import pandas as pd

SECONDS, MEMORY_MB = 120.0, 2_048
"""Limits of one notebook unless told otherwise: wall time, and memory of its process."""
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Work:
    """What one notebook left. `error` is "" or says why it did not run to its end; `output` is what it printed."""

    path: Path
    error: str
    output: str = ""
    seconds: float = 0.0
    memory_mb: float = 0.0
    """Largest memory of its process."""
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def value(self, name: str) -> Any:
        """Return a variable: a plain value, Decimal, list, dictionary, DataFrame or Series (index as columns).

        Raises KeyError for one that is not there or could not be taken out.
        """
        if name not in self.values:
            raise KeyError(f"the notebook left no {name!r}")
        return _restored(self.values[name])


@dataclass(frozen=True, slots=True)
class Check:
    """One hidden check: its function, what it is about, and its points."""

    name: str
    about: str
    points: float
    function: Callable[[Work], object]


def checks_of(path: Path) -> list[Check]:
    """Return the checks of a Python file, in its order. Raises InputError for a file without any, or with an error."""
    names: dict[str, Any] = {"__name__": "checks", "__file__": str(path)}
    try:
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    except OSError as error:
        raise InputError(f"checks {path} can't be read: {error.strerror}", field="checks") from None
    except Exception as error:
        raise InputError(f"checks {path} fail when they are loaded: {type(error).__name__}: {error}") from None
    found = [
        Check(name, (value.__doc__ or name).strip().partition("\n")[0], float(getattr(value, "points", 1)), value)
        for name, value in names.items()
        if name.startswith("check_") and callable(value)
    ]
    if not found:
        raise InputError(f"checks {path} has no function check_…", field="checks", rule="check_")
    return found


def notebooks(folder: Path) -> list[Path]:
    """Return the notebooks of a folder, also of those inside, sorted. Raises InputError when there are none."""
    found = sorted(folder.rglob("*.ipynb"))
    found = [path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    if not found:
        raise InputError(f"there are no notebooks in {folder}", field="folder", value=str(folder))
    return found


def grade(
    folder: str | Path, checks: str | Path | None = None, *, seconds: float = SECONDS, memory_mb: int = MEMORY_MB
) -> pd.DataFrame:
    """Run every notebook of a folder and check it; return one row for each check.

    Columns: notebook, check, about, points, reached (0 or the points), why (of what failed), seconds, memory_mb.
    Without `checks` there is one: that the notebook runs to its end. A notebook that is stopped at a limit, or fails,
    is still checked on what it left. Raises InputError for a folder or checks that can't be used.
    """
    import pandas as pd

    need("psutil", "IPython")
    folder = Path(folder)
    wanted = checks_of(Path(checks)) if checks else [Check("runs", "The notebook runs to its end", 1.0, _runs)]
    rows = []
    for path in notebooks(folder):
        work = run(path, seconds=seconds, memory_mb=memory_mb)
        for check, reached, why in marks(work, wanted):
            name = path.relative_to(folder).as_posix()
            rows.append((name, check.name, check.about, check.points, reached, why, work.seconds, work.memory_mb))
    names = ["notebook", "check", "about", "points", "reached", "why", "seconds", "memory_mb"]
    return pd.DataFrame(rows, columns=names)


def _runs(work: Work) -> None:
    assert not work.error, work.error


def marks(work: Work, checks: Sequence[Check]) -> Iterator[tuple[Check, float, str]]:
    """Yield each check with the points reached and why it failed."""
    for check in checks:
        try:
            check.function(work)
        except Exception as error:
            why = str(error) or f"{type(error).__name__} in {check.name}"
            yield check, 0.0, f"{why}; {work.error}" if work.error and work.error not in why else why
        else:
            yield check, check.points, ""


def run(path: Path, *, seconds: float = SECONDS, memory_mb: int = MEMORY_MB) -> Work:
    """Run one notebook in the sandbox, within limits."""
    need("psutil")
    import psutil

    with tempfile.TemporaryDirectory(prefix="toolkit-grade-") as place:
        folder = Path(place) / "work"
        folder.mkdir()
        shutil.copyfile(path, folder / "notebook.ipynb")
        result, log = folder / "result.json", Path(place) / "log"
        began = time.monotonic()
        with open(log, "wb") as said:
            process = psutil.Popen(
                [sys.executable, "-m", "toolkit.classroom.sandbox", "notebook.ipynb", "result.json"],
                cwd=folder, env=_environment(folder), stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            )  # fmt: skip
            stopped, largest = _watch(process, began + seconds, seconds, memory_mb)
        spent = time.monotonic() - began
        if stopped:
            return Work(path, stopped, seconds=spent, memory_mb=largest)
        try:
            found = json.loads(result.read_text(encoding="utf-8"))
            return Work(path, str(found["error"]), str(found["output"]), spent, largest, dict(found["values"]))
        except (OSError, ValueError, KeyError, TypeError):
            last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
            return Work(path, f"the notebook ended its process: {' '.join(last)[:500]}", seconds=spent)


def _watch(process: Any, deadline: float, seconds: float, memory_mb: int) -> tuple[str, float]:
    """Wait for a process, and end it with all that it started at a limit; return which one, and its memory in MB."""
    import psutil

    largest, stopped = 0.0, ""
    while not stopped:
        try:
            process.wait(POLL_SECONDS)
            return "", largest
        except psutil.TimeoutExpired:
            pass
        try:
            family = [process, *process.children(recursive=True)]
            largest = max(largest, sum(each.memory_info().rss for each in family) / 2**20)
        except psutil.Error:
            continue
        if largest > memory_mb:
            stopped = f"it used more than {memory_mb} MB of memory"
        elif time.monotonic() > deadline:
            stopped = f"it ran longer than {seconds:g} s"
    for each in [process, *process.children(recursive=True)]:
        each.kill()
    process.wait(10)
    return stopped, largest


def _environment(folder: Path) -> dict[str, str]:
    """Return the variables of the sandbox: none of the grader's but what Python needs to run at all."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LANG", "LC_ALL", "TZ") if name in os.environ}
    package = str(Path(__file__).resolve().parent.parent.parent)
    own = {"HOME": "home", "USERPROFILE": "home", "TMPDIR": "tmp", "TEMP": "tmp", "TMP": "tmp", "IPYTHONDIR": "ipython"}
    for name in set(own.values()):
        (folder / name).mkdir(exist_ok=True)
    own = {name: str(folder / value) for name, value in own.items()}
    return {
        **kept,
        **own,
        "PYTHONPATH": package,
        "PYTHONDONTWRITEBYTECODE": "1",
        "MPLBACKEND": "agg",
        "MPLCONFIGDIR": own["HOME"],
        "TOOLKIT_STATE": own["HOME"],
    }


def _restored(value: Any) -> Any:
    """Return a value that the sandbox wrote as JSON with its kind."""
    if not isinstance(value, dict):
        return value
    [(kind, inner)] = value.items()
    if kind == "decimal":
        return Decimal(inner)
    if kind == "list":
        return [_restored(each) for each in inner]
    if kind == "dict":
        return {_restored(key): _restored(each) for key, each in inner}
    import pandas as pd

    frame = pd.DataFrame(inner["data"], columns=inner["columns"])
    return frame.iloc[:, -1] if kind == "series" else frame
