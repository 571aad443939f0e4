"""Runs the cells of one notebook in a Jupyter kernel and reads what checks ask for: the program inside the jail.

`python -m toolkit.classroom.notebook_worker` reads a Task and writes a Report after each cell, both as JSON. It knows
no checks, so that a notebook that takes it over learns nothing. It is IPython's own kernel, in a separate process:
magics, widgets, plots, `await` and tasks work as in Jupyter. The values are read after each cell, and leave the jail
before the next one, so that nothing that happens later costs them.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import queue
import signal
import subprocess
import sys
import time
from typing import Any

import msgspec

from ..stored.values import Unread, written
from . import jail

LARGEST_VALUE = 6_000_000
LARGEST_VALUES = 12_000_000
"""Longest JSON text of one variable, and of all, in characters. Longer ones are left out."""
LARGEST_OUTPUT = 20_000
MOST_CELLS = 1_000
START_SECONDS, READ_SECONDS, INTERRUPT_SECONDS = 60.0, 10.0, 2.0
CELL_SHARE = 0.9
"""Part of the remaining time that a cell may take, unless it is the last."""
POLL_SECONDS = 0.05
LARGEST_FILE = 128 << 20
GRADED_LINK_VARIABLE, GRADED_TOKEN_VARIABLE = "TOOLKIT_GRADED_LINK", "TOOLKIT_GRADED_TOKEN"
"""The link that `toolkit.join` takes where a notebook is graded, and the token with which its venue advances."""
_VALUES = "application/x-toolkit-values"
_KERNEL = "import sys; sys.modules['debugpy'] = None; from ipykernel.kernelapp import launch_new_instance as f; f()"
"""The kernel without the debugger, which takes a second to load."""
_LEAVE = "__import__('toolkit.classroom.notebook_worker', fromlist=['leave']).leave({names!r})"


class Task(msgspec.Struct):
    """A notebook to run.

    Attributes
    ----------
    notebook : bytes
        Content of the notebook's file.
    names : list of str or None
        Variables to read. `None` reads all.
    seconds : float
        Wall time of the notebook, in seconds.
    memory_mb : int
        Memory of all its processes, in MB.
    seed : int or str
        Seed of the venue that `join` gives.
    files : dict of str to bytes
        Name → content of the files of the assignment, which lie next to the notebook.
    """

    notebook: bytes
    names: list[str] | None
    seconds: float
    memory_mb: int
    seed: int | str
    files: dict[str, bytes] = {}


class Report(msgspec.Struct):
    """The result of a notebook.

    Attributes
    ----------
    failure : str
        Why it could not run at all, "" if it did.
    not_graded : bool
        True where the grader's machine is the reason, and not the notebook.
    unread : dict of str to str
        Name → why a variable could not be read.
    errors : list of str
        Error of each cell, "" for none.
    values : dict of str to str
        Name → value as JSON with its kind.
    output : str
        What it printed, the end of it.
    seconds : float
        Time that it ran, in seconds (default: 0.0).
    memory_mb : float
        Largest memory of its processes, in MB (default: 0.0).
    """

    failure: str = ""
    not_graded: bool = False
    errors: list[str] = []
    values: dict[str, str] = {}
    unread: dict[str, str] = {}
    output: str = ""
    seconds: float = 0.0
    memory_mb: float = 0.0


class Cell(msgspec.Struct):
    """The used parts of a cell in a notebook's file.

    Attributes
    ----------
    cell_type : str
        "code", "markdown" or "raw".
    source : str or list of str
        Text, or its lines.
    """

    cell_type: str
    source: str | list[str]


class Notebook(msgspec.Struct):
    """The used parts of a notebook's file.

    Attributes
    ----------
    cells : list of Cell
        All cells, in order.
    """

    cells: list[Cell]


class Ended(Exception):
    """The kernel is gone. The text says why."""


class Kernel:
    """The process of one notebook.

    Parameters
    ----------
    task : Task
        The notebook and its limits.
    cells : list of str
        Code of the cells, in order.
    joined : tuple of (str, str) or None, optional
        Link of the class that `join` joins, and the token that only lets time pass (default: none).

    Raises
    ------
    Ended
        If the kernel does not start.
    """

    def __init__(self, task: Task, cells: list[str], joined: tuple[str, str] | None = None) -> None:
        from jupyter_client.blocking.client import BlockingKernelClient
        from jupyter_client.connect import write_connection_file

        self._task, self._cells, self.report = task, cells, Report()
        os.makedirs(os.environ["HOME"], exist_ok=True)
        connection = write_connection_file(os.path.join(os.environ["HOME"], "kernel.json"))[0]
        self._client: Any = BlockingKernelClient(connection_file=connection)
        environment = {**os.environ, "JPY_PARENT_PID": str(os.getpid())}
        if joined is not None:
            environment |= zip((GRADED_LINK_VARIABLE, GRADED_TOKEN_VARIABLE), joined, strict=True)
        # Its streams lead nowhere: what the notebook prints comes as messages of the kernel.
        self._process = subprocess.Popen(
            [sys.executable, "-c", _KERNEL, "-f", connection, "--HistoryManager.enabled=False"], env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=os.name == "posix",
        )  # fmt: skip
        self._client.load_connection_file()
        self._client.start_channels()
        self._watched = 0.0
        end = time.monotonic() + START_SECONDS
        while True:  # until the kernel listens: what is sent before is lost
            with contextlib.suppress(queue.Empty):
                self._client.kernel_info()
                self._client.get_iopub_msg(timeout=0.2)
                return
            self._watch()
            if time.monotonic() > end:
                raise Ended("the kernel did not start")

    def run(self) -> Report:
        """Execute the cells in order, each also after one that failed, and read the values after each."""
        began, ended, errors = time.monotonic(), "", self.report.errors
        for number, source in enumerate(self._cells, 1):
            left = self._task.seconds - (time.monotonic() - began)
            if ended or left <= 0:
                errors.append(f"it did not run: {ended or 'the time of the notebook was over'}")
                continue
            try:
                # A cell may take most of what is left, so that one that never ends leaves time for the others.
                errors.append(self._execute(source, left if number == len(self._cells) else left * CELL_SHARE))
                self._execute(_LEAVE.format(names=self._task.names), READ_SECONDS, reading=True)
                _send(self.report)
            except Ended as error:
                errors[number - 1 :] = [". ".join(filter(None, (*errors[number - 1 :], str(error))))]
                ended = "the notebook's process had ended"
        self.report.seconds = time.monotonic() - began
        return self.report

    def _execute(self, source: str, seconds: float, *, reading: bool = False) -> str:
        """Execute one cell, interrupt it at its limit, and return its error, or "". Raises Ended."""
        # A kernel that stops on errors also refuses, for a moment, what comes after one: the reading of the variables.
        request = self._client.execute(source, silent=reading, allow_stdin=False, stop_on_error=False)
        error, end, limit = "", time.monotonic() + seconds, ""
        while True:
            self._watch()
            if time.monotonic() > end:
                if limit:
                    self._end(f"{limit} and could not be interrupted")
                limit, end = f"it ran longer than {round(seconds, 1):g} s", time.monotonic() + INTERRUPT_SECONDS
                self._interrupt()
            try:
                message = self._client.get_iopub_msg(timeout=POLL_SECONDS)
                kind, content = message["msg_type"], message["content"]
                own = message["parent_header"].get("msg_id") == request
                if kind == "stream":
                    self._show(content["text"])
                elif reading and own and kind == "display_data" and _VALUES in content["data"]:
                    self._keep(content["data"][_VALUES])
                elif kind in ("execute_result", "display_data"):
                    self._show(f"{content['data'].get('text/plain', '')}\n")
                elif own and kind == "error":
                    error = _clean(f"{content['ename']}: {content['evalue']}")[:2_000]
                    if content["ename"].endswith("MemoryError"):
                        error += f" (it wanted more than {self._task.memory_mb} MB of memory)"
                elif own and kind == "status" and content["execution_state"] == "idle":
                    return f"{limit} and was interrupted" if limit else error
            except Exception:
                continue  # nothing came, or what the notebook itself sent in the kernel's name

    def _keep(self, values: object) -> None:
        """Keep the values that were found, and earlier values that are not found any more."""
        read, unread = msgspec.convert(values, tuple[dict[str, str], dict[str, str]])
        found = {_clean(name): _clean(text) for name, text in read.items()}
        self.report.unread = {_clean(name)[:200]: _clean(why)[:200] for name, why in list(unread.items())[:MOST_CELLS]}
        # A cell may delete a variable, and the checks still find its last value.
        found = self.report.values | found
        if sum(map(len, found.values())) <= LARGEST_VALUES:
            self.report.values = found
        else:
            late = found.keys() - self.report.values.keys()
            self.report.unread |= dict.fromkeys(late, "all variables together are too large to be read")

    def _show(self, text: str) -> None:
        self.report.output = (self.report.output + _clean(text))[-LARGEST_OUTPUT:]

    def _interrupt(self) -> None:
        with contextlib.suppress(OSError):
            if os.name == "posix":
                os.killpg(self._process.pid, signal.SIGINT)

    def _end(self, why: str) -> None:
        jail.end_all(os.getpid(), itself=False)
        raise Ended(why)

    def _watch(self) -> None:
        """Raise Ended when the kernel has ended, or with all that it started reaches a limit."""
        now = time.monotonic()
        if now < self._watched + jail.POLL_SECONDS:  # an endless stream of messages must not be slowed down by this
            return
        self._watched = now
        count, used_mb = jail.use(os.getpid(), itself=False)
        self.report.memory_mb = max(self.report.memory_mb, used_mb)
        if self._process.poll() is not None:
            self._end("the notebook ended its process")
        if used_mb > self._task.memory_mb:
            self._end(f"it used more than {self._task.memory_mb} MB of memory")
        if count > jail.PROCESSES:
            self._end(f"it started more than {jail.PROCESSES} processes")


def cells_of(notebook: bytes) -> list[str]:
    """Return the code cells of a notebook's file.

    Parameters
    ----------
    notebook : bytes
        Content of the file.

    Raises
    ------
    Ended
        If it is no notebook, or has too many cells.
    """
    try:
        cells = msgspec.convert(json.loads(notebook), Notebook).cells
    except (ValueError, RecursionError, MemoryError) as error:
        raise Ended(_clean(f"it is not a notebook: {type(error).__name__}: {error}")[:500]) from None
    found = [_clean("".join(cell.source)) for cell in cells if cell.cell_type == "code"]
    if len(found) > MOST_CELLS:
        raise Ended(f"it is not a notebook to grade: it has {len(found)} cells, and at most {MOST_CELLS} are run")
    return found


def _clean(text: str) -> str:
    """Return a text that can be written as UTF-8."""
    return text.encode("utf-8", "replace").decode()


def leave(names: list[str] | None) -> None:
    """Show the variables of the notebook to the worker, called in the kernel.

    Parameters
    ----------
    names : list of str or None
        Variables to show. `None` shows all.
    """
    from IPython.core.interactiveshell import InteractiveShell

    shell: Any = InteractiveShell.instance()
    shell.display_pub.publish({_VALUES: values(shell.user_ns, names)})


def values(variables: dict[str, Any], names: list[str] | None = None) -> tuple[dict[str, str], dict[str, str]]:
    """Return as JSON the variables that can be written so, and why the others can't.

    Parameters
    ----------
    variables : dict of str to object
        Name → value.
    names : list of str or None, optional
        Variables to return (default: all that do not begin with an underscore).
    """
    if names is None:
        names = [name for name in variables if not name.startswith("_") and name not in ("In", "Out", "exit", "quit")]
    found, unread, room = dict[str, str](), dict[str, str](), LARGEST_VALUES
    for name in names:
        if name not in variables:
            continue
        kind = "its type"
        try:
            kind = f"its type, {type(variables[name]).__name__},"
            text = json.dumps(written(variables[name]))
        except Unread as error:
            unread[name] = f"{kind} can't be read" + (f" ({error})" if str(error) else "")
        except Exception as error:  # the student's own classes run here
            unread[name] = f"it can't be read: {type(error).__name__}"
        else:
            if len(text) <= min(LARGEST_VALUE, room):
                found[name], room = text, room - len(text)
            else:
                unread[name] = f"it is too large to be read: {len(text):,} characters, and {LARGEST_VALUE:,} are read"
    return found, unread


def _limit(memory_mb: int) -> None:
    """Limit this process and all that it starts, and keep its own files and memory from them."""
    if os.name != "posix":
        return
    import resource

    # Limits of the kernel for each process. The sum of all is watched from outside.
    limits = {"DATA": memory_mb << 20, "FSIZE": LARGEST_FILE, "NPROC": 4096, "NOFILE": 1024, "CORE": 0}
    for name, most in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (most, most) if hard < 0 else (min(most, hard),) * 2)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: /proc/1/mem and /proc/1/fd are closed


def _ran(task: Task, cells: list[str]) -> Report:
    """Run the cells, with the files of the assignment and a class to join. What fails before is no student's fault."""
    with contextlib.ExitStack() as stack:
        try:
            for name, content in task.files.items():
                os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
                with open(name, "wb") as file:
                    file.write(content)
            joined = None
            # A class takes a second to make, so it is made where something says join.
            if "join" in "".join(cells) or any(b"join" in content for content in task.files.values()):
                from .class_routes import graded_class

                joined = stack.enter_context(graded_class(task.seed))
            kernel = Kernel(task, cells, joined)
        except Exception as error:
            return Report(f"{type(error).__name__}: {error}", not_graded=True)
        _send(kernel.report)
        return kernel.run()


def _send(report: Report) -> None:
    """Write what is known so far. Of these messages the grader takes the last."""
    sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
    sys.stdout.flush()


def main() -> None:
    """Run the task on standard input and write its report to standard output."""
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    _limit(task.memory_mb)
    try:
        cells = cells_of(task.notebook)
        report = _ran(task, cells)
    except Ended as error:
        report = Report(str(error))
    # Everything that the notebook started ends before the last report is written, so that nothing can write after it.
    jail.end_all(os.getpid(), itself=False)
    _send(report)
    os._exit(0)  # the sockets to a kernel that was ended must hold nothing up


if __name__ == "__main__":
    main()
