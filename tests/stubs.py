"""Writes the stubs of modules whose methods are made at import: `python -m tests.stubs`.

Type checkers and editors can't run the loops that make these methods from declarations, so the stubs spell out their
types, once for each method and its twin: a coroutine function is a function that returns what is pending. Docstrings
stand in the source only. Only modules that hold nothing but such classes have a stub, because mypy checks a stub in
place of its code.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from toolkit.client.io.flow import Asynchronous, FlowMethod, Pending, Synchronous
from toolkit.suggestions import Suggesting

MODULES = {
    "toolkit.client.orders.exchange": ("toolkit.client.orders", "receipts", "Receipt", "AsyncReceipt"),
    "toolkit.client.reads.info": ("", "pandas", "DataFrame", "DataFrame"),
}
"""Module → what all its methods return: package, module, and name of the type and of its twin.

The type variable of a stub has the name of the type, because editors that don't resolve it show its name.
"""
RUNNERS = (Synchronous, Asynchronous)
INTERNAL = ("__init__",)
"""Members with an underscore that a stub shows, because other modules of the toolkit use them."""
ROOT = Path(__file__).resolve().parent.parent
WIDTH = 120
"""Columns of a line, as in the rest of the code."""
GENERIC = "_Methods"
"""Name of the generic class of a stub, of which the synchronous and the asynchronous class are made."""
GLUE = "\0"
"""Stands for a space where no line ends."""


def path_of(module: str) -> Path:
    """Return the path of a module's stub."""
    return ROOT.joinpath(*module.split(".")).with_suffix(".pyi")


def stub(name: str) -> str:
    """Return the stub of a module, before it is formatted."""
    module = importlib.import_module(name)
    package, home, variable, twin = MODULES[name]
    kind, other = (kind for kind in vars(module).values() if inspect.isclass(kind) and kind.__module__ == name)
    body, imports = _body(kind, variable)
    imports |= {_import("typing", "Generic, TypeVar"), _import(Pending.__module__, "Pending")}
    imports |= {_import(package, home) if package else f"import {home}"}
    imports |= {_import(runner.__module__, runner.__name__) for runner in RUNNERS}
    # The formatter would give each parameter a line of its own.
    head = f"# Written by `python -m tests.stubs` from {name}; change declarations or flows instead.\n# fmt: off\n"
    generic = f'{variable} = TypeVar("{variable}")\n\nclass {GENERIC}(Generic[{variable}]):\n{body}\n'
    plain = f"class {kind.__name__}({GENERIC}[{home}.{variable}], Synchronous): ...\n"
    awaited = f"class {other.__name__}({GENERIC}[Pending[{home}.{twin}]], Asynchronous): ...\n"
    return head + "\n".join([*sorted(imports), "", generic, plain, awaited])


def _body(kind: type, variable: str) -> tuple[str, set[str]]:
    """Return the members of a class and the imports that they need, without that of what its flows return."""
    parts, imports = [], set()
    for name, owner in _members(kind):
        text, annotations = _member(name, inspect.getattr_static(kind, name))
        parts.append(text.replace(f"pd.{variable}:", f"{variable}:"))
        for annotation in annotations:
            imports |= _imports(annotation, owner) if annotation.removeprefix("pd.") != variable else set()
    return "\n".join(parts), imports


def _members(kind: type) -> Iterator[tuple[str, ModuleType]]:
    """Yield the functions and properties that a stub shows, in the order of their definition, and their modules."""
    seen = set()
    skipped = {*RUNNERS, Suggesting, object}
    # the class itself comes last: its flows are bound in alphabetical order, those of its bases stand as written
    for base in (base for base in (*kind.__mro__[1:], kind) if base not in skipped):
        for name, defined in vars(base).items():
            shown = name in INTERNAL or not name.startswith("_")
            if shown and name not in seen and isinstance(defined, FunctionType | FlowMethod | property):
                seen.add(name)
                yield name, sys.modules[_function(inspect.getattr_static(kind, name)).__module__]


def _function(member: Any) -> Callable[..., Any]:
    """Return the function behind a member: the getter of a property, else the member itself."""
    found: Callable[..., Any] = getattr(member, "func", None) or getattr(member, "fget", None) or member
    return found


def _member(name: str, member: Any) -> tuple[str, list[str]]:
    """Return the text of a function or property, and its annotations."""
    function = _function(member)
    signature = inspect.signature(function)
    # a method that is written outside its class says what `self` is
    parameters = [
        each.replace(annotation=each.empty) if each.name == "self" else each for each in signature.parameters.values()
    ]
    signature = signature.replace(parameters=parameters)
    annotations = [parameter.annotation for parameter in signature.parameters.values()]
    annotations = [given for given in (*annotations, signature.return_annotation) if given is not signature.empty]
    decorator = "    @property\n" if function is not member else ""
    returned = "" if signature.return_annotation is signature.empty else f" -> {signature.return_annotation}"
    # Lines end between parameters; one is only broken where it is longer than a line.
    glued = [text.replace(" ", GLUE) if len(text) < WIDTH - 9 else text for text in _parameters(signature)]
    text = f"def{GLUE}{name}({', '.join(glued)}){f'{returned}: ...'.replace(' ', GLUE)}"
    indents = {"initial_indent": "    ", "subsequent_indent": " " * 8}
    lines = textwrap.wrap(text, WIDTH, **indents, break_long_words=False, break_on_hyphens=False)
    return decorator + "\n".join(lines).replace(GLUE, " "), annotations


def _parameters(signature: inspect.Signature) -> list[str]:
    """Return each parameter as source text; a default that is no plain value is written as "..."."""
    plain = (str, int, float, type(None))
    shown = []
    for parameter in signature.parameters.values():
        text = str(parameter.replace(annotation=parameter.empty, default=parameter.empty))
        if parameter.annotation is not parameter.empty:
            text += f": {parameter.annotation}"
        if parameter.default is not parameter.empty:
            text += f" = {parameter.default!r}" if isinstance(parameter.default, plain) else " = ..."
        shown.append((parameter.kind, text))
    texts = [text for _, text in shown]
    kinds = [kind for kind, _ in shown]
    if inspect.Parameter.KEYWORD_ONLY in kinds:
        texts.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    return texts


def _imports(annotation: str, module: ModuleType) -> set[str]:
    """Return import statements for the names of an annotation that a module uses."""
    names = {node.id for node in ast.walk(ast.parse(annotation)) if isinstance(node, ast.Name)}
    return {_statement(name, module) for name in names if not hasattr(builtins, name)}


def _statement(name: str, module: ModuleType) -> str:
    if name in (imported := _imported(module)):
        return imported[name]
    found = getattr(module, name)
    return _import(found.__module__ if inspect.isclass(found) else module.__name__, name)


@cache
def _imported(module: ModuleType) -> dict[str, str]:
    """Return the names that a module imports, also for type checkers only, with a statement that imports each."""
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Import):
            found |= {alias.asname or alias.name: f"import {ast.unparse(alias)}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = (module.__package__ or "").split(".")
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *(node.module or "").split(".")])
            found |= {alias.name: _import(source, alias.name) for alias in node.names}
    return found


def _import(module: str, name: str) -> str:
    return f"from {module} import {name}"


def main() -> None:
    """Write all stubs, with their imports sorted as in the rest of the code."""
    paths = [path_of(module) for module in MODULES]
    for module, path in zip(MODULES, paths, strict=True):
        path.write_text(stub(module), encoding="utf-8", newline="\n")
    words = ("check", "--select", "I", "--fix", "--quiet")
    subprocess.run([sys.executable, "-m", "ruff", *words, *map(str, paths)], check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
