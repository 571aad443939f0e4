"""Hidden checks, and their marks: what a notebook left is checked here, away from the notebook.

Checks are the functions `check_…` of a Python file. Each takes a `Work` and fails by raising, best with an `assert`
that says why:

    def check_position(work):
        '''The position is closed at the end'''
        assert work.value("positions").empty, "there is still a position"

    check_position.points = 2
    check_position.hint = "session.close_position"  # for the student, in place of the text of the assert
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..errors import InputError
from ..protocol.jsontext import guard
from ..stored.values import restored
from .notebook_worker import Report

LARGEST_WHY = 2_000
_COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


@dataclass(frozen=True, slots=True)
class Work:
    """The results of one notebook.

    Attributes
    ----------
    path : Path
        File of the notebook.
    error : str
        What failed first, "" for nothing.
    output : str
        What it printed.
    seconds : float
        Time that it ran, in seconds (default: 0.0).
    values : mapping of str to object
        Name → value as the worker wrote it.
    """

    path: Path
    error: str
    output: str = ""
    seconds: float = 0.0
    memory_mb: float = 0.0
    """Largest memory of its processes."""
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    errors: Sequence[str] = ()
    """The error of each cell, "" for none."""
    names: Sequence[str] | None = None
    """The requested variables (None: all)."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """Name → why a variable that is there could not be read."""

    @classmethod
    def of(cls, path: Path, report: Report, names: Sequence[str] | None = None) -> Work:
        """Return what a report says, without control characters.

        A value that is not well-formed is left out.

        Parameters
        ----------
        path : Path
            File of the notebook.
        report : Report
            Report of its worker.
        names : sequence of str or None, optional
            Variables that were requested (default: all).
        """
        errors = [plain(error) for error in report.errors]
        first = next((f"cell {number}: {error}" for number, error in enumerate(errors, 1) if error), "")
        values = {}
        for name, text in report.values.items():
            try:
                guard(text.encode())
                values[name] = json.loads(text)
            except (ValueError, RecursionError):
                continue
        error, output = plain(report.failure) or first, plain(report.output, lines=True)
        unread = {plain(name): plain(why) for name, why in report.unread.items() if name not in values}
        return cls(path, error, output, report.seconds, report.memory_mb, values, errors, names, unread)

    def value(self, name: str) -> Any:
        """Return a variable of the notebook.

        Raises KeyError for one that is not there or could not be taken out, ValueError for a number out of all bounds.

        Parameters
        ----------
        name : str
            Name of the variable.

        Returns
        -------
        object
            A plain value, Decimal, Fraction, complex number, bytes, time, list, dictionary, array, index, DataFrame or
        Series. The index of a frame is among its columns.

        Raises
        ------
        KeyError
            If it is not there or could not be taken out.
        ValueError
            For a number out of all bounds.
        """
        if name in self.values:
            return restored(self.values[name])
        if self.names is not None and name not in self.names:
            raise KeyError(f"{name!r} was not read: write work.value({name!r}), or list it in the check's `names`")
        if name in self.unread:
            raise KeyError(f"{name!r} is there, but {self.unread[name]}")
        raise KeyError(f"the notebook left no {name!r}")


@dataclass(frozen=True, slots=True)
class Check:
    """One hidden check.

    Attributes
    ----------
    name : str
        Name of its function.
    about : str
        What it checks, the first line of its docstring.
    points : float
        Points for passing it.
    function : callable
        Takes a Work, and fails by raising.
    hint : str
        Hint for a student who misses it.
    """

    name: str
    about: str
    points: float
    function: Callable[[Work], object]
    hint: str = ""


class Mark(NamedTuple):
    """The result of one check.

    Attributes
    ----------
    reached : float
        Points reached, NaN if it was not graded.
    why : str
        Why it failed, for the teacher.
    hint : str
        Hint for the student.
    """

    reached: float
    why: str
    hint: str


class Assignment(msgspec.Struct):
    """The input of the process of the checks.

    Attributes
    ----------
    checks : bytes
        Path of the file of the checks.
    path : bytes
        Path of the notebook.
    report : Report
        Report of its worker.
    """

    checks: bytes
    path: bytes
    report: Report


def checks_of(path: Path) -> list[Check]:
    """Return the checks of a Python file, in its order.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    InputError
        If the file has none, or an error.
    """
    names: dict[str, Any] = {"__name__": "checks", "__file__": str(path)}
    try:
        # The teacher's own code. It runs in this process once, and in the process of the checks for each notebook.
        exec(compile(path.read_text(encoding="utf-8-sig"), str(path), "exec"), names)
    except OSError as error:
        raise InputError(f"checks {path} can't be read: {error.strerror}", field="checks") from None
    except Exception as error:
        raise InputError(f"checks {path} fail when they are loaded: {type(error).__name__}: {error}") from None
    found = [
        Check(name, (value.__doc__ or name).strip().partition("\n")[0], float(getattr(value, "points", 1)), value,
              str(getattr(value, "hint", "")))
        for name, value in names.items()
        if name.startswith("check_") and callable(value)
    ]  # fmt: skip
    if not found:
        raise InputError(f"checks {path} has no function check_…", field="checks", rule="check_")
    return found


def names_of(path: Path, checks: Sequence[Check]) -> list[str] | None:
    """Return the variables that checks ask for.

    These are the texts in `.value("…")`, and those that a check has as `names`. `None`, which means all, is returned
    where a name is computed and no check lists it.

    Parameters
    ----------
    path : Path
        File of the checks.
    checks : sequence of Check
        Checks of the file.
    """
    listed = {name for check in checks for name in getattr(check.function, "names", ())}
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8-sig"))))
    calls = [node for node in nodes if isinstance(node, ast.Call) and _is_value(node.func)]
    texts = [call.args[0].value for call in calls if call.args and isinstance(call.args[0], ast.Constant)]
    if not listed and len(texts) != sum(map(_is_value, nodes)):
        return None
    return sorted(listed | set(map(str, texts)))


def _is_value(node: ast.AST) -> bool:
    # `values` of a work, too; that of a frame costs nothing but the reading of all variables
    return isinstance(node, ast.Attribute) and node.attr in ("value", "values")


def marks(work: Work, checks: Sequence[Check]) -> Iterator[tuple[Check, float, str]]:
    """Yield each check with the points reached and why it failed.

    Parameters
    ----------
    work : Work
        Results of the notebook.
    checks : sequence of Check
        The hidden checks, in order.
    """
    for check in checks:
        mark = judge(work, check)
        yield check, mark.reached, mark.why


def judge(work: Work, check: Check) -> Mark:
    """Return the mark that a check gives a notebook, also if the check raises an error.

    Parameters
    ----------
    work : Work
        Results of the notebook.
    check : Check
        The check.
    """
    try:
        check.function(work)
    except Exception as error:
        said = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        why = said or f"{type(error).__name__} in {check.name}"
        hint = check.hint or (said if isinstance(error, AssertionError | KeyError) else "")
        why = f"{why}; {work.error}" if work.error and work.error not in why else why
        return Mark(0.0, plain(why)[:LARGEST_WHY], plain(hint)[:LARGEST_WHY])
    return Mark(check.points, "", "")


def plain(text: str, *, lines: bool = False) -> str:
    """Return a text without what moves a terminal's cursor or hides what is written.

    Parameters
    ----------
    text : str
        Any text.
    lines : bool, optional
        True keeps line breaks (default: `False`).
    """
    kept = "\n\t" if lines else ""
    text = _COLOURS.sub("", text) if lines else " ".join(_COLOURS.sub("", text).split())
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp") and each not in kept
        else each for each in text
    )  # fmt: skip


def main() -> None:
    """Read an Assignment from standard input and write its marks to standard output. Checks print elsewhere."""
    # Standard output is kept for the marks. What checks print goes to standard error, and can't look like a mark.
    task, answers = msgspec.json.decode(sys.stdin.buffer.read(), type=Assignment), os.dup(1)
    os.dup2(2, 1)
    path = Path(os.fsdecode(task.checks))
    checks = checks_of(path)
    work = Work.of(Path(os.fsdecode(task.path)), task.report, names_of(path, checks))
    with os.fdopen(answers, "wb") as file:
        file.write(msgspec.json.encode([judge(work, check) for check in checks]) + b"\n")


if __name__ == "__main__":
    main()
