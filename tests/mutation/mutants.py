"""Mutants of a source text: one operator, constant, condition or statement changed at a time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult, ast.Mod: ast.Mult,
}  # fmt: skip
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
_QUIET = ("__repr__", "__str__", "describe", "_docstring")
"""Functions that only make words; their texts are no rule."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a file: the characters from `start` to `end` become `text`."""

    path: str
    line: int
    start: int
    end: int
    text: str
    was: str
    lines: tuple[int, int] = (0, 0)
    """First and last line of the statement."""
    called: bool = True
    """False where the statement runs while its module is imported."""

    def apply(self, source: str) -> str:
        """Return the source with the mistake."""
        return source[: self.start] + self.text + source[self.end :]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {' '.join(self.was.split())[:60]}  →  {' '.join(self.text.split())[:60]}"


def mutants(path: str, source: str) -> list[Mutant]:
    """Return every mutant of a file, in its order."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = source.splitlines()

    def place(row: int, column: int) -> int:
        # The columns of ast are bytes of UTF-8.
        return starts[row - 1] + len(lines[row - 1].encode()[:column].decode())

    found, tree = [], ast.parse(source)
    statements = list(_statements(tree, False))
    for node, text in _changes(tree):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start, end = place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)
        if text != source[start:end]:
            first, last, called = max(one for one in statements if one[0] <= node.lineno <= one[1])
            found.append(Mutant(path, node.lineno, start, end, text, source[start:end], (first, last), called))
    return sorted(dict.fromkeys(found), key=lambda one: (one.start, one.end, one.text))


def _statements(node: ast.AST, called: bool) -> Iterator[tuple[int, int, bool]]:
    """Yield first and last line of each statement (of a compound one up to its body), and whether a call runs it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            body = getattr(child, "body", None)
            last = body[0].lineno - 1 if body else child.end_lineno or child.lineno
            yield child.lineno, max(child.lineno, last), called
        yield from _statements(child, called or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yield nodes and what they become. Annotations, messages of errors, and texts are left alone."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert):
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        if node.name in _QUIET:
            return
        for part in (*node.args.defaults, *(one for one in node.args.kw_defaults if one), *node.body):
            yield from _changes(part)
        return
    if isinstance(node, ast.ClassDef):
        for part in node.body:
            yield from _changes(part)
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.AnnAssign):
        if node.value is not None:
            yield from _changes(node.value)
        return
    if isinstance(node, ast.expr):
        yield from ((node, text) for text in _of_expression(node))
    elif isinstance(node, ast.If | ast.While):
        yield node.test, f"(not ({ast.unparse(node.test)}))"
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
        other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        yield node, ast.unparse(ast.AugAssign(node.target, other, node.value))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield node, "pass"
    for child in ast.iter_child_nodes(node):
        if not _joins_equal_lengths(node, child):
            yield from _changes(child)


def _joins_equal_lengths(node: ast.AST, child: ast.AST) -> bool:
    """Return whether a child is the `strict=True` of a `zip`.

    It states that the lengths are equal by construction. Where they are, no test can notice that it is False.
    """
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "zip"):
        return False
    return (
        isinstance(child, ast.keyword)
        and child.arg == "strict"
        and isinstance(child.value, ast.Constant)
        and child.value.value is True
    )


def _of_expression(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARE:
        yield _text(ast.Compare(node.left, [_COMPARE[type(node.ops[0])](), *node.ops[1:]], node.comparators))
    elif isinstance(node, ast.BinOp) and type(node.op) in _BINARY and not _is_text(node):
        yield _text(ast.BinOp(node.left, _BINARY[type(node.op)](), node.right))
    elif isinstance(node, ast.BoolOp):
        yield _text(ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values))
        yield from (_text(value) for value in node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield _text(node.operand)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield str(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield str(node.value + 1)
    elif isinstance(node, ast.IfExp):
        yield _text(node.body)
        yield _text(node.orelse)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _NAMES:
        yield _text(ast.Call(ast.Name(_NAMES[node.func.id]), node.args, node.keywords))


def _is_text(node: ast.BinOp) -> bool:
    """Return whether an operation visibly joins texts or types."""
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _text(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"
