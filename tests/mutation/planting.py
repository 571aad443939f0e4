"""Plants a mistake: as new code of functions that exist already, or by an import hook where an import runs the line."""

from __future__ import annotations

import gc
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from .mutants import Mutant
from .rooms import ROOT

Functions = dict[CodeType, list[FunctionType]]


def functions() -> Functions:
    """Return every function of the toolkit that exists in this process, by its code."""
    top, found = str(ROOT / "toolkit"), Functions()
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename.startswith(top):
            found.setdefault(one.__code__, []).append(one)
    return found


def plant(mutant: Mutant, known: Functions) -> bool:
    """Give the function with a mistake its new code; return False where only an import can plant it."""
    source, name = _source(mutant), str(ROOT / mutant.path)
    was, now = (compile(text, name, "exec", dont_inherit=True) for text in (source, mutant.apply(source)))
    pairs = [pair for pair in _outermost(was, now) if pair[0].co_firstlineno <= mutant.line]
    last = max(one.co_firstlineno for one, _ in pairs)
    try:
        planted = [_replace(*pair, known) for pair in pairs if pair[0].co_firstlineno == last]
    except ValueError:  # it needs other variables of the functions around it
        return False
    return any(planted)


def _outermost(was: CodeType, now: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Yield the code, before and after, of each function that is in no other one."""
    for one, other in zip(_inside(was), _inside(now), strict=True):
        if one.co_flags & inspect.CO_OPTIMIZED:
            yield one, other
        else:  # the body of a class
            yield from _outermost(one, other)


def _replace(was: CodeType, now: CodeType, known: Functions) -> bool:
    """Replace the code of a function, and of those inside of it that exist; return whether the outer one exists."""
    inner = _inside(was)
    if any(one in known for one in inner):
        for pair in zip(inner, _inside(now), strict=True):
            _replace(*pair, known)
    for function in known.get(was, ()):
        function.__code__ = now
    return was in known


def _inside(code: CodeType) -> list[CodeType]:
    return [one for one in code.co_consts if isinstance(one, CodeType)]


def _source(mutant: Mutant) -> str:
    return (ROOT / mutant.path).read_text(encoding="utf-8")


class Planted(importlib.abc.MetaPathFinder):
    """Finds one module with a mistake in it, in place of the file's own text."""

    def __init__(self, mutant: Mutant) -> None:
        self.name = mutant.path.removesuffix(".py").replace("/", ".")
        self.mutant = mutant

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of the module with the mistake, None for any other."""
        if name != self.name:
            return None
        location = str(ROOT / self.mutant.path)
        return importlib.util.spec_from_file_location(name, location, loader=_Loader(name, location, self.mutant))


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, mutant: Mutant) -> None:
        super().__init__(name, path)
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._mutant.apply(_source(self._mutant)), self.path, "exec", dont_inherit=True)
