"""`python -m tests.mutation.javascript`: plant mistakes in the widgets' front end, and run its tests in a browser.

A mistake is another operator, constant or word, or a call that is left out, in one line. `tests/browser/conftest.py`
gives the planted text to the widgets; the files stay as they are. `--record` runs the tests once and notes which of
them run which line: then only those are run for a mistake, which is several times as quick.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .rooms import ROOT
from .runner import Score

WIDGETS = ROOT / "toolkit" / "widgets"
LINES = ROOT / "build" / "javascript-lines.json"
"""What `--record` has noted: one test in each line."""
SECONDS = 900
"""Longest run of the tests of one mistake, also on a loaded machine. A page that hangs fails its test long before."""
MOST_TESTS = 30
"""Tests of one mistake. A line of the shared code is run by nearly all: the first ones are those of its file."""
FIRST = ("widgets", "layout", "accessible")
"""Files of tests/browser that open every panel: without a record they are tried after the transcripts."""
_CHANGES = (
    (r"===", "!=="), (r"!==", "==="), (r" && ", " || "), (r" \|\| ", " && "), (r" < ", " >= "), (r" > ", " <= "),
    (r" >= ", " < "), (r" <= ", " > "), (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"), (r"(?<=[(\s])!(?=[\w(])", ""), (r"(?<=[ (=:])-1\b", "1"), (r"(?<![\w.#%-])0\b(?!\.)", "1"),
    (r"(?<![\w.#%-])1\b(?!\.)", "0"), (r"\?\s(.+?)\s:\s(.+?)(?=[;,)])", r"? \2 : \1"), (r"\.reverse\(\)", ""),
    (r"\bfirst(?=ElementChild|Child)", "last"), (r"\bMath\.max\b", "Math.min"), (r"\bMath\.min\b", "Math.max"),
    (r"^(\s+)(?!return|const|let|if|for|else|[})\]'`\"/*.?:]|case)[\w.]+\(.*\);$", r"\1;"),
)  # fmt: skip
"""Pattern of one line → what stands in its place."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A line of a file and what it is changed to."""

    file: str
    line: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old.strip()[:90]}  →  {self.new.strip()[:90]}"


def mistakes(file: str, source: str) -> Iterator[Mistake]:
    """Yield every mistake of a file, one at a time; comments and texts in quotes are left alone."""
    for number, line in enumerate(source.splitlines(), 1):
        if re.match(r"\s*(//|/\*|\*)", line):
            continue
        quoted = [match.span() for match in re.finditer(r"\"[^\"]*\"|'[^']*'|/(?! ).+?/[gu]?[.,)]", line)]
        for pattern, put in _CHANGES:
            for match in re.finditer(pattern, line):
                inside = any(start <= match.start() < end for start, end in quoted)
                new = line[: match.start()] + match.expand(put) + line[match.end() :]
                if not inside and new != line and source.count(line) == 1:
                    yield Mistake(file, number, line, new)


def every_mistake(names: list[str] | None = None) -> list[Mistake]:
    """Return the mistakes of all front ends, or of files by name."""
    paths = [path for path in sorted(WIDGETS.glob("*/*.js")) if path.parent.name != "vendored"]
    chosen = [path for path in paths if names is None or path.name in names]
    made = [
        one for path in chosen for one in mistakes(str(path.relative_to(WIDGETS)), path.read_text(encoding="utf-8"))
    ]
    return list(dict.fromkeys(made))


def tests_of(mistake: Mistake) -> list[str]:
    """Return the tests that run a mistake's line, the transcripts and the quickest first; without a record some."""
    transcripts = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/browser/test_transcripts*.py"))
    files = [*transcripts, *(f"tests/browser/test_{name}.py" for name in FIRST)]
    if not LINES.exists():
        return files
    notes = [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]
    own = [one for one in notes if mistake.old in one["lines"]]
    # These first: they look at what the front end does, others only pass through it.
    place = {name: at for at, name in enumerate(files)}
    own.sort(key=lambda one: (place.get(one["test"].partition("::")[0], len(files)), one["seconds"]))
    return [one["test"] for one in own][:MOST_TESTS] or files


def record() -> int:
    """Run the tests in the browser, those in JupyterLab apart, and note the lines that each of them runs."""
    LINES.parent.mkdir(exist_ok=True)
    LINES.unlink(missing_ok=True)
    words = ("-q", "-n", "0", "-m", "", "-k", "not jupyterlab and not soak", "tests/browser")
    line = [sys.executable, "-m", "pytest", *words]
    return subprocess.run(line, cwd=ROOT, env={**os.environ, "TOOLKIT_TEST_LINES": str(LINES)}, check=False).returncode


def noticed(mistake: Mistake | None, tests: Sequence[str]) -> bool | None:
    """Return whether one of these tests fails with a mistake planted.

    None is no result: they took too long, or the one that fails also fails without the mistake, on a loaded machine.
    A transcript has a time of its own, so it does not fail for that.
    """
    failing = failing_test(mistake, tests) if tests else ""
    if failing and "test_transcripts" not in failing and failing_test(None, [failing]) != "":
        return None
    return None if failing is None else bool(failing)


def failing_test(mistake: Mistake | None, tests: Sequence[str]) -> str | None:
    """Return the first of these tests that fails with a mistake planted, "" when all pass, None when they take long."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False, encoding="utf-8") as file:
        json.dump(None if mistake is None else [mistake.old, mistake.new], file)
    options = ("-q", "-x", "-n", "0", "-m", "", "-p", "no:cacheprovider", "--timeout", "60", "-k", "not jupyterlab")
    line = [sys.executable, "-m", "pytest", *options, *tests]
    environment = {**os.environ, "TOOLKIT_TEST_MISTAKE": file.name, "TOOLKIT_TEST_WAIT": "8"}
    try:
        done = subprocess.run(
            line, cwd=ROOT, env=environment, capture_output=True, timeout=SECONDS, check=False, encoding="utf-8"
        )
        found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", done.stdout, re.MULTILINE)
        return found[1] if found else "" if done.returncode == 0 else None
    except subprocess.TimeoutExpired:
        return None
    finally:
        Path(file.name).unlink()


def main() -> int:
    """Return 0 unless the sample says that the share that is noticed is below the floor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="only these files, such as common.js")
    parser.add_argument("--record", action="store_true", help="note which test runs which line, and plant nothing")
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600, help="plant none after this time")
    given = parser.parse_args()
    if given.record:
        return record()
    chosen = every_mistake(given.files or None)
    print(f"{len(chosen)} mistakes in all", flush=True)
    random.Random(given.seed).shuffle(chosen)
    began, score = time.monotonic(), Score("JavaScript")
    for one in chosen[: given.sample]:
        if time.monotonic() - began > given.seconds:
            break
        seen = noticed(one, tests_of(one))
        score.killed += bool(seen)
        score.survivors += [one] if seen is False else []
        print(f"    {'noticed' if seen else 'NO RESULT' if seen is None else 'NOT NOTICED'}  {one}", flush=True)
    print(f"{score.killed} of {score.total} noticed ({score.rate:.0%}), {time.monotonic() - began:.0f} s", flush=True)
    return 0 if score.may_reach_the_floor else 1


if __name__ == "__main__":
    raise SystemExit(main())
