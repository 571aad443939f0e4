"""The reference of the venue's money rules (see `money`), loaded so that it counts how often each branch is taken."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

MODULES = ("money", "margin", "trading", "liquidation", "venue")
BRANCHES: Counter[str] = Counter()
"""Place and text of each branch, or "refused: " and the rule → how often it was taken."""


def _counted(name: str, source: str) -> ast.Module:
    """Return a module's code with a count at the start of every function, branch and loop."""
    tree, lines = ast.parse(source), source.splitlines()
    for node in ast.walk(tree):
        blocks = (ast.FunctionDef, ast.If, ast.For, ast.While, ast.ExceptHandler)
        for part in ("body", "orelse") if isinstance(node, blocks) else ():
            block = getattr(node, part, None)
            if not block or (part == "orelse" and isinstance(block[0], ast.If)):
                continue
            at = node.lineno if part == "body" else block[0].lineno
            key = f"{name}.py:{at:03}  {'' if part == 'body' else 'else: '}{lines[at - 1].strip()}"
            BRANCHES[key] = 0
            block[:0] = ast.parse(f"BRANCHES[{key!r}] += 1").body
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "require":
            BRANCHES[f"refused: {ast.literal_eval(node.args[1])}"] = 0
    return ast.fix_missing_locations(tree)


for _name in MODULES:
    _path = Path(__file__).with_name(f"{_name}.py")
    _module = sys.modules[f"{__name__}.{_name}"] = ModuleType(f"{__name__}.{_name}")
    vars(_module)["BRANCHES"] = BRANCHES
    exec(compile(_counted(_name, _path.read_text("utf-8")), _path, "exec"), vars(_module))


def _count_refusal(_: Exception, rule: str) -> None:
    BRANCHES[f"refused: {rule}"] += 1


sys.modules[f"{__name__}.money"].Refused.__init__ = _count_refusal
