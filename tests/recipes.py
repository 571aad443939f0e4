"""The recipes of CONTRIBUTING.md, read from their text: which snippet goes where, and applied to a copy of the source.

A recipe is a section "Add …". Its steps are numbered, and each names the file that it changes: the path behind "here",
else the first one. What is done with a step's snippets is said by their form and by the words around them:

- a fenced block of methods goes to the end of the class that the step names, "the method of `Stream`"
- a fenced block in parentheses is one more element of the tuple that has such elements
- a fenced block of doctest lines goes below `Examples` of the method that the step names
- a fenced block of sh is run, in its order between the steps
- a fenced block goes above what the step names, "the class above `NAME`"
- any other fenced block goes to the end of its file, which is made where it is missing
- "`CODE` in `NAME`", or "in `NAME`, here `CODE`", is one more element of a literal, a class, or the list above a test
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
NAMES = (
    "an action",
    "an Info query",
    "a feed channel",
    "a panel",
    "an order kind",
    "an indicator",
    "a model to backtests",
)
"""What the recipes add, as in their titles."""
_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_PATH = r"[\w.]+(?:/[\w.]+)+\.\w+"
_LEFT_OUT = (".git", ".venv", "__pycache__", "_build", ".pytest_cache", ".mypy_cache", ".ruff_cache", "node_modules")


@dataclass(frozen=True)
class Step:
    """A numbered step of a recipe, or the commands behind the last one."""

    prose: str
    blocks: tuple[tuple[str, str], ...]
    """Pairs of language and code."""

    @property
    def path(self) -> str:
        """The file that it changes, "" for none."""
        here = re.search(rf"here `({_PATH})`", self.prose) or re.search(rf"`({_PATH})`", self.prose)
        return here[1] if here else ""


def section(name: str) -> str:
    """Return the text of a recipe."""
    found = re.search(rf"^## Add {re.escape(name)}\n(.*?)(?=^## )", TEXT, re.MULTILINE | re.DOTALL)
    assert found, f"CONTRIBUTING.md has no recipe for {name}"
    return re.split(r"^\*\*(?:A master-signed action|Look at it)\*\*", found[1], flags=re.MULTILINE)[0]


def steps(name: str) -> Iterator[Step]:
    """Yield the steps of a recipe, and as the last one what stands behind them."""
    text = section(name)
    parts = re.split(r"^(?=\d+\. )", text, flags=re.MULTILINE)[1:]
    last, behind = re.match(r"(.*?(?:\n(?=   |\n)[^\n]*)*)\n(?=\S)(.*)", parts[-1], re.DOTALL).groups()  # type: ignore[union-attr]
    for part in (*parts[:-1], last, behind):
        blocks = tuple((found[2], textwrap.dedent(found[3])) for found in _FENCE.finditer(part))
        yield Step(" ".join(_FENCE.sub("", part).split()), blocks)


def copied(target: Path) -> Path:
    """Copy the source to a folder, and return it."""
    return Path(shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(*_LEFT_OUT), symlinks=True))


def applied(name: str, copy: Path) -> list[str]:
    """Apply a recipe to a copy of the source, and return the commands at its end. Those before are run."""
    *inner, last = steps(name)
    before = ""
    for step in inner:
        path = step.path or before
        for language, code in step.blocks:
            beside = re.search(r"next to it, `([\w.]+)`", step.prose)
            if language == "sh":
                for command in code.splitlines():
                    run(command, copy)
            else:
                _paste(copy / (str(Path(before).parent / beside[1]) if beside else path), code, step.prose)
        for names, code in _elements(step.prose):
            _insert(copy / path, names, code)
        for line in re.findall(r"\(with `([^`]+)` at the top\)", step.prose):
            text = (copy / path).read_text(encoding="utf-8")
            first = re.search(r"^(?=from (?!__future__)|import )", text, re.MULTILINE)
            _put(copy / path, first.start() if first else 0, f"{line}\n")
        before = path
    return [command for language, code in last.blocks if language == "sh" for command in code.splitlines()]


def added(name: str) -> list[str]:
    """Return the tests that a recipe adds, as pytest names them."""
    return [
        f"{step.path}::{test}"
        for step in steps(name)
        for _, code in step.blocks
        for test in re.findall(r"^def (test_\w+)", code, re.MULTILINE)
    ]


def run(command: str, copy: Path) -> str:
    """Run a command in a copy and return its output. Raises AssertionError where it fails."""
    words = shlex.split(command)
    assert words[0] == "python", command
    paths = os.pathsep.join(filter(None, (str(copy), os.environ.get("PYTHONPATH", ""))))
    done = subprocess.run(
        [sys.executable, *words[1:]], cwd=copy, capture_output=True, text=True, check=False, encoding="utf-8",
        env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout[-8_000:]}\n{done.stderr[-4_000:]}"
    return done.stdout


def _paste(file: Path, code: str, prose: str) -> None:
    """Put a snippet into a file, which is made where it is missing."""
    if not file.exists():
        file.write_text(code, encoding="utf-8")
        return
    text = file.read_text(encoding="utf-8")
    within = re.search(r"(?:method of|twin in) `(\w+)`", prose)
    below = re.search(r"below `(\[\w+\])`", prose)
    above = re.search(r"class above `(\w+)`", prose)
    if code.startswith("(\n"):
        element = textwrap.dedent(code.strip()[1:-1]).strip("\n")
        callee = element.partition("(")[0]
        calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
        last = max((node for node in calls if ast.unparse(node.func) == callee), key=lambda node: node.lineno)
        _put(file, _offset(text, last), ",\n" + textwrap.indent(element.rstrip(","), " " * last.col_offset))
    elif code.startswith(">>>"):
        name = re.search(r"the method `(\w+)`", prose)[1]  # type: ignore[index]
        _example(file, name, code)
    elif below is not None:
        _put(file, text.index(f"\n{below[1]}\n") + len(below[1]) + 2, code)
    elif within is not None:
        _to_class(file, within[1], code)
    elif above is not None:
        _put(file, text.index(f"\n{above[1]}") + 1, f"{code}\n\n")
    else:
        _put(file, len(text), f"\n\n{code}")


def _example(file: Path, name: str, code: str) -> None:
    """Put doctest lines at the end of the docstring of the first method of a name, below Examples."""
    text = file.read_text(encoding="utf-8")
    found = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef) and node.name == name)
    docstring = next(found).body[0]
    at, margin = text.rindex('"""', 0, _offset(text, docstring)), " " * docstring.col_offset
    head = "" if "Examples\n" in (ast.get_source_segment(text, docstring) or "") else "Examples\n--------\n"
    before = text[:at].rstrip(" ")
    lines = textwrap.indent(head + code, margin)
    file.write_text(before + ("\n" if head else "") + lines + margin + text[at:], encoding="utf-8")


def _to_class(file: Path, name: str, code: str) -> None:
    text = file.read_text(encoding="utf-8")
    kinds = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef))
    _put(file, _offset(text, next(node for node in kinds if node.name == name)), "\n\n" + textwrap.indent(code, "    "))


def _elements(prose: str) -> Iterator[tuple[str, str]]:
    """Yield (name, code) of what is one more element of something."""
    name = r"`([\w.\[\]\"]+)`"
    for found in re.finditer(rf"(?:in|above) {name}(?: or {name})?, here `([^`]+)`", prose):
        yield found[1], found[3]
    for found in re.finditer(rf"`([^`]+,)` in {name}", prose):
        yield found[2], found[1]
    for found in re.finditer(r"\(with `([^`]+)` under `(TYPE_CHECKING)`\)", prose):
        yield found[2], found[1]


def _insert(file: Path, name: str, code: str) -> None:
    """Make code one more element of what has a name: a literal, a class, a test's list or the imports for types."""
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    name, _, key = name.rstrip("]").partition("[")
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return _to_class(file, name, f"{code}\n")
        if isinstance(node, ast.If) and ast.unparse(node.test) == name:
            return _put(file, _offset(text, node.body[-1]), f"\n    {code}")
        value: ast.AST | None = None
        if isinstance(node, ast.FunctionDef) and node.name == name:
            lists = [
                one for one in node.decorator_list if isinstance(one, ast.Call) and "parametrize" in ast.unparse(one)
            ]
            value = lists[0].args[1] if lists else node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            value = node.value if any(ast.unparse(one) == name for one in targets) else None
        if value is not None and key:
            table = next(one for one in ast.walk(value) if isinstance(one, ast.Dict))
            pairs = zip(table.keys, table.values, strict=True)
            value = next(one for at, one in pairs if isinstance(at, ast.Constant) and at.value == key.strip('"'))
        if value is not None:
            literals = [one for one in ast.walk(value) if isinstance(one, ast.Tuple | ast.List | ast.Set | ast.Dict)]
            end = _offset(text, literals[0]) - 1
            comma = "" if text[:end].rstrip()[-1] in ",([{" else ","
            return _put(file, len(text[:end].rstrip()), f"{comma}\n{code}\n")
    raise AssertionError(f"{file} has no {name} for {code}")


def _offset(text: str, node: ast.AST) -> int:
    """Return where a node ends in a text."""
    lines = text.splitlines(keepends=True)
    row, column = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
    return sum(map(len, lines[: row - 1])) + len(lines[row - 1].encode()[:column].decode())


def _put(file: Path, at: int, code: str) -> None:
    text = file.read_text(encoding="utf-8")
    file.write_text(text[:at] + code + text[at:], encoding="utf-8")
