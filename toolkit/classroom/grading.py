"""Grades handed-in notebooks: each runs in a sandboxed kernel within limits, then hidden checks look at what it left.

The checks never enter the sandbox: a notebook can't read them, and what they raise is not shown to it. They are the
functions `check_…` of a Python file; each takes a `Work` and fails by raising, best with an `assert` that says why:

    def check_position(work):
        '''The position is closed at the end'''
        assert work.value("positions").empty, "there is still a position"

    check_position.points = 2
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tqdm import tqdm

from ..errors import InputError
from ..extras import need

if TYPE_CHECKING:
    import pandas as pd

SECONDS, MEMORY_MB = 120.0, 2_048
"""Limits of one notebook unless others are given: wall time, and memory of its process."""
POLL_SECONDS = 0.05
LARGEST_OUTPUT = 20_000
BAR_SECONDS = 2.0


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
    folder: str | Path,
    checks: str | Path | None = None,
    *,
    seconds: float = SECONDS,
    memory_mb: int = MEMORY_MB,
    jobs: int = 1,
) -> pd.DataFrame:
    """Run every notebook of a folder, `jobs` at a time, and check it; return one row for each check.

    Columns: notebook, check, about, points, reached (0 or the points), why (of what failed), seconds, memory_mb.
    Without `checks` there is one: that the notebook runs to its end. A notebook that is stopped at a limit, or fails,
    is still checked on what it left. Raises InputError for a folder or checks that can't be used.
    """
    import pandas as pd

    need("psutil", "ipykernel")
    folder = Path(folder)
    wanted = checks_of(Path(checks)) if checks else [Check("runs", "The notebook runs to its end", 1.0, _runs)]
    if jobs < 1:
        raise InputError(f"jobs {jobs} must be 1 or more", field="jobs", rule="positive", value=jobs)
    handed_in, rows = notebooks(folder), []
    with ThreadPoolExecutor(jobs) as pool:
        works = pool.map(partial(run, seconds=seconds, memory_mb=memory_mb), handed_in)
        # the bar appears in a terminal only
        for work in tqdm(works, "grade", len(handed_in), delay=BAR_SECONDS, leave=False, disable=None):
            name = work.path.relative_to(folder).as_posix()
            for check, reached, why in marks(work, wanted):
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
    """Run one notebook in a new kernel, within limits, up to the first error."""
    need("psutil", "ipykernel")
    from jupyter_client.connect import write_connection_file

    cells = cells_of(path)
    if isinstance(cells, str):
        return Work(path, cells)
    with tempfile.TemporaryDirectory(prefix="toolkit-grade-") as place:
        folder = Path(place) / "work"
        folder.mkdir()
        shutil.copyfile(path, folder / "notebook.ipynb")
        connection, log = str(folder / "kernel.json"), Path(place) / "log"
        write_connection_file(connection)
        values: dict[str, Any] = {}
        with open(log, "wb") as said, Kernel(connection, folder, said, seconds, memory_mb) as kernel:
            try:
                error = kernel.run(cells)
                kernel.execute("from toolkit.classroom.sandbox import leave; leave('result.json')", silent=True)
                values = json.loads((folder / "result.json").read_text(encoding="utf-8"))
            except Stopped as stopped:
                error = str(stopped)
            except (OSError, ValueError) as failed:
                error = f"its variables could not be read: {failed}"
        return Work(path, error, kernel.output, kernel.spent, kernel.largest_mb, dict(values))


def cells_of(path: Path) -> list[str] | str:
    """Return the code cells of a notebook, or why the file is none."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"it is not a notebook: {type(error).__name__}: {error}"


class Stopped(Exception):
    """The kernel was ended, or ended itself; the text says why."""


class Kernel:
    """The process of one notebook, which is ended with all that it started when the block ends.

    Attributes: `output`, the last LARGEST_OUTPUT characters that were printed or shown; `spent` seconds; `largest_mb`.
    """

    def __init__(self, connection: str, folder: Path, log: IO[bytes], seconds: float, memory_mb: int) -> None:
        import psutil
        from jupyter_client.blocking.client import BlockingKernelClient

        self._client: Any = BlockingKernelClient(connection_file=connection)
        self.output, self.largest_mb, self.spent = "", 0.0, 0.0
        self._seconds, self._memory_mb, self._log = seconds, memory_mb, log.name
        self._began, self._watched = time.monotonic(), 0.0
        self._process = psutil.Popen(
            [sys.executable, "-m", "toolkit.classroom.sandbox", connection],
            cwd=folder, env=_environment(folder), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip

    def __enter__(self) -> Kernel:
        self._client.load_connection_file()
        self._client.start_channels()
        return self

    def __exit__(self, *_: object) -> None:
        import psutil

        self._client.stop_channels()
        self.spent = time.monotonic() - self._began
        with contextlib.suppress(psutil.Error):
            for each in [*self._process.children(recursive=True), self._process]:
                each.kill()
        self._process.wait(10)

    def run(self, cells: Sequence[str]) -> str:
        """Execute cells in order up to the first error. Return the error, or ""."""
        while True:  # until the kernel listens: what is sent before is lost
            with contextlib.suppress(queue.Empty):
                self._client.kernel_info()
                self._client.get_iopub_msg(timeout=0.2)
                break
            self.watch()
        for number, source in enumerate(cells, 1):
            if error := self.execute(source):
                return f"cell {number}: {error}"[:2_000]
        return ""

    def execute(self, source: str, *, silent: bool = False) -> str:
        """Execute one cell and return its error, or "". Raises Stopped at a limit."""
        # A kernel that stops on errors also refuses, for a moment, what comes after one: the reading of the variables.
        request = self._client.execute(source, silent=silent, allow_stdin=False, stop_on_error=False)
        error = ""
        while True:
            self.watch()
            try:
                message = self._client.get_iopub_msg(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                self._show(content["text"])
            elif kind in ("execute_result", "display_data"):
                self._show(f"{content['data'].get('text/plain', '')}\n")
            elif message["parent_header"].get("msg_id") != request:
                continue
            elif kind == "error":
                error = f"{content['ename']}: {content['evalue']}"
            elif kind == "status" and content["execution_state"] == "idle":
                return error

    def _show(self, text: str) -> None:
        self.output = (self.output + text)[-LARGEST_OUTPUT:]

    def watch(self) -> None:
        """Raise Stopped when the process has ended, or has reached a limit."""
        import psutil

        now = time.monotonic()
        if now < self._watched + POLL_SECONDS:  # an endless stream of messages must not be slowed down by this
            return
        self._watched = now
        try:
            if not self._process.is_running() or self._process.status() == psutil.STATUS_ZOMBIE:
                raise psutil.NoSuchProcess(self._process.pid)
            family = [self._process, *self._process.children(recursive=True)]
            self.largest_mb = max(self.largest_mb, sum(each.memory_info().rss for each in family) / 2**20)
        except psutil.Error:
            last = Path(self._log).read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
            raise Stopped(f"the notebook ended its process {' '.join(last)[:500]}".strip()) from None
        if self.largest_mb > self._memory_mb:
            raise Stopped(f"it used more than {self._memory_mb} MB of memory")
        if now > self._began + self._seconds:
            raise Stopped(f"it ran longer than {self._seconds:g} s")


def _environment(folder: Path) -> dict[str, str]:
    """Return the variables of the sandbox: none of the grader's but what Python needs to run at all."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LANG", "LC_ALL", "TZ") if name in os.environ}
    package = str(Path(__file__).resolve().parent.parent.parent)
    own = {"HOME": "home", "USERPROFILE": "home", "TMPDIR": "tmp", "TEMP": "tmp", "TMP": "tmp", "IPYTHONDIR": "ipython"}
    own["JUPYTER_RUNTIME_DIR"] = "tmp"
    for name in set(own.values()):
        (folder / name).mkdir(exist_ok=True)
    own = {name: str(folder / value) for name, value in own.items()}
    return {
        **kept,
        **own,
        "PYTHONPATH": package,
        "PYTHONDONTWRITEBYTECODE": "1",
        "JPY_PARENT_PID": str(os.getpid()),  # it ends when this process is gone
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
