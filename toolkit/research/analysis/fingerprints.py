"""Fingerprints: short texts that differ when the code of a task or its data differ, and arguments as text."""

from __future__ import annotations

import builtins
import dis
import hashlib
import inspect
import sys
import zlib
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from importlib.metadata import version
from types import CodeType, FunctionType, ModuleType
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
import pandas as pd

CODE = ("__init__", "__call__")
"""Special methods of a task that count as its code."""
CHANGES = {"append", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "remove", "discard", "clear"}
"""Methods that change a container."""
BLIND = {"globals", "vars", "eval", "exec", "import_module", "__import__"}
"""Functions that read names which are not in the code."""


def code_of(task: object, *, values: bool = True, missed: set[str] | None = None) -> str:
    """Return a hash of a task's code: bytecode, constants, defaults, closure, what it refers to, and versions.

    It follows names through the user's own modules, and takes the values of global lists, dicts, arrays and objects.

    Parameters
    ----------
    task : class or callable
        Task of a sweep.
    values : bool, optional
        False leaves out all values that are not code: defaults, globals, attributes and versions (default: True).
    missed : set of str, optional
        Receives the names of the types whose values the hash cannot contain (default: they are not collected).
    """
    text = "|".join(_Words(values, set() if missed is None else missed).of(task))
    # Bytecode differs between versions of Python, and the toolkit's code is not hashed itself.
    return _digest(f"{sys.version}|{version('afx-toolkit')}|{text}" if values else text)


def idea_of(task: object, data: object) -> str:
    """Return the idea that a run is a trial of: the name of the strategy, and a hash of its code and data.

    Parameters
    ----------
    task : object
        Strategy, class, function or mapping of functions. Any other object, such as an array of targets, has no code.
    data : object
        Data that it runs on, None for none.
    """
    kind = task if isinstance(task, type | Mapping) or callable(task) else type(task)
    code = code_of(list(kind.values()) if isinstance(kind, Mapping) else kind, values=False)
    name = "strategy" if isinstance(kind, Mapping) else getattr(kind, "__name__", type(kind).__name__)
    return f"{name} {_digest(f'{code} {describe(data)}')[:8]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class _Words:
    """The texts of which a fingerprint is made."""

    def __init__(self, values: bool, missed: set[str]) -> None:
        self.values, self.missed = values, missed
        self._seen: dict[int, object] = {}  # the objects are kept, so that no other one can have their ids

    def of(self, part: Any) -> Iterator[str]:
        if part is None or isinstance(part, str | bytes | int | float | complex):
            yield repr(part)
        elif isinstance(part, CodeType):
            # Not the file or line numbers: a comment above a function does not make it another one.
            yield part.co_code.hex() + repr(part.co_names)
            for constant in part.co_consts:
                yield from self.of(constant)
        elif isinstance(part, set | frozenset):
            yield repr(sorted(map(repr, part)))
        elif id(part) not in self._seen:
            self._seen[id(part)] = part
            yield from self._object(part)

    def _each(self, parts: Any) -> Iterator[str]:
        for part in parts:
            yield from self.of(part)

    def _object(self, part: Any) -> Iterator[str]:
        function = getattr(part, "__func__", part)
        if callable(function) and not isinstance(function, FunctionType):  # a wrapper in Python holds what it wraps
            function = inspect.unwrap(function)
        if isinstance(part, list | tuple):
            yield from self._each(part)
        elif isinstance(part, Mapping):
            yield from self._each(each for item in part.items() for each in item)
        elif isinstance(part, partial):
            yield from self._each(
                (part.func, part.args, *sorted(part.keywords.items())) if self.values else [part.func]
            )
        elif isinstance(part, property | cached_property):
            yield from self._each((part.fget, part.fset) if isinstance(part, property) else [part.func])
        elif callable(part) and _of_library(part):
            # The version stands for the code of a library.
            root = sys.modules.get((part.__module__ or "").partition(".")[0])
            yield f"{getattr(part, '__qualname__', '')} {getattr(root, '__version__', '') if self.values else ''}"
        elif isinstance(part, type):
            own = [item for item in sorted(vars(part).items()) if item[0] in CODE or not item[0].startswith("__")]
            own = own if self.values else [(name, each) for name, each in own if _is_code(each)]
            yield from self._each(own)
            yield from self._each(part.__bases__)
        elif isinstance(function, FunctionType):
            yield from self._function(function)
        else:
            yield from self._value(part)

    def _function(self, function: FunctionType) -> Iterator[str]:
        yield from self.of(function.__code__)
        if self.values:
            yield from self._each((function.__defaults__, [*(function.__kwdefaults__ or {}).items()]))
        changed = _changed(function.__code__) if self.values else set()
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        held = [(name, cell.cell_contents) for name, cell in cells]
        names = set(_names(function.__code__))
        modules = (value for name, value in function.__globals__.items() if name in names)
        own = any(isinstance(each, ModuleType) and not is_library(each.__name__) for each in modules)
        if self.values and (blind := names & (BLIND | {"getattr"} if own else BLIND)):
            self.missed.add(f"names that {', '.join(sorted(blind))} may read")
        for name, used in (*held, *((name, value) for _, name, value in referred(function))):
            # What a task changes while it runs, such as a list that counts its calls, is its state and no code.
            if (name in changed or None in changed) and isinstance(used, list | set | dict):
                self.missed.add(f"a {type(used).__name__} that the task may change")
            elif _is_code(used) or self.values:
                yield from self.of(used)

    def _value(self, part: Any) -> Iterator[str]:
        """Yield the words of an object that is no code: its values, or those of its attributes."""
        kind = type(part)
        yield kind.__qualname__
        if not self.values or isinstance(part, ModuleType):
            return
        if not is_library(kind.__module__):
            held = dict(getattr(part, "__dict__", {}))
            held |= {name: getattr(part, name, None) for name in getattr(kind, "__slots__", ())}
            yield from self._each([kind, *(each for item in held.items() for each in item)])
        elif (shown := repr(part)) and kind.__module__.startswith(("toolkit.", "builtins")) and " at 0x" not in shown:
            yield shown
        else:
            try:
                yield fingerprint(part)
            except Exception:  # what can't be pickled: a lock, a connection, a session
                self.missed.add(kind.__qualname__)


def _changed(code: CodeType) -> set[str | None]:
    """Return the names of containers that are changed in place. None among them: it may be any of them."""
    found: set[str | None] = set()
    steps = list(dis.get_instructions(code))
    for at, step in enumerate(steps):
        if step.opname in ("LOAD_METHOD", "LOAD_ATTR") and step.argval in CHANGES:
            container = steps[at - 1]
        elif step.opname in ("STORE_SUBSCR", "DELETE_SUBSCR") and at > 1:
            container = steps[at - 2]  # before its key, if that is one load
        else:
            continue
        if container.opname in ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME"):
            found.add(container.argval)
        elif not container.opname.startswith("LOAD_FAST"):  # a local list that is returned is no state
            found.add(None)
    for part in code.co_consts:
        if isinstance(part, CodeType):
            found |= _changed(part)
    return found


def _of_library(part: Any) -> bool:
    """Return whether a class or function is one of Python, of this toolkit or of an installed package."""
    module = getattr(part, "__module__", None) or "builtins"
    if module == "builtins":  # also the module of what was made without a module, by `exec`
        own: bool = isinstance(part, FunctionType | type)
        return not own or vars(builtins).get(getattr(part, "__name__", "")) is part
    return is_library(module)


def _is_code(part: Any) -> bool:
    return isinstance(part, type | property | cached_property) or callable(getattr(part, "__func__", part))


def referred(function: FunctionType) -> list[tuple[dict[str, Any], str, Any]]:
    """Return (namespace, name, value) of each global that a function refers to, also through the user's own modules.

    Parameters
    ----------
    function : function
        Function whose code is looked through, with the functions inside it.
    """
    names, known = sorted(set(_names(function.__code__))), function.__globals__
    spaces, found = [known], list[tuple[dict[str, Any], str, Any]]()
    for space in spaces:  # grows while it is walked: a module can hold another one
        for name in names:
            value = space.get(name, sys.modules.get(name) if space is known else None)
            if isinstance(value, ModuleType):
                if not is_library(value.__name__) and not any(vars(value) is each for each in spaces):
                    spaces.append(vars(value))
            elif name in space:
                found.append((space, name, value))
    return found


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names of a function's code and of those inside it, such as comprehensions."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names(part)


def is_library(module: str) -> bool:
    """Return whether a module is one of Python, of this toolkit or of a package that is installed.

    Parameters
    ----------
    module : str
        Name of the module, such as "numpy.linalg".
    """
    root = module.partition(".")[0]
    place = getattr(sys.modules.get(root), "__file__", None) or ""
    own = root in ("__main__", "__mp_main__")  # a notebook's is served by a file of an installed package
    return root == "toolkit" or (not own and (root in sys.stdlib_module_names or "site-packages" in place))


def fingerprint(data: object) -> str:
    """Return a short text that differs when the values, names or times of frames (also in mappings) differ.

    Parameters
    ----------
    data : object
        Data of a sweep, None for none.
    """
    if data is None:
        return ""
    if isinstance(data, Mapping):
        return ",".join(f"{key}:{fingerprint(part)}" for key, part in data.items())
    if isinstance(data, pd.DataFrame | pd.Series | pd.Index):
        digest = hashlib.sha256(pd.util.hash_pandas_object(data).to_numpy().tobytes())
        digest.update(repr(list(getattr(data, "columns", [getattr(data, "name", None)]))).encode())
        return digest.hexdigest()[:32]
    return hashlib.sha256(cloudpickle.dumps(data)).hexdigest()[:32]


def _checksum(value: object) -> str:
    """Return a hash of a table's numbers, which distinguishes tables of equal size and times."""
    if isinstance(value, pd.DataFrame | pd.Series):
        value = pd.DataFrame(value).select_dtypes(["number", "bool"]).to_numpy(dtype="float64", na_value=np.nan)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
        return ""
    return f", checksum {zlib.crc32(np.ascontiguousarray(value, dtype='float64').data):08x}"


def describe(value: object) -> Any:
    """Return an argument as JSON can keep it: plain values, frames by size, times and a hash, others as repr.

    Parameters
    ----------
    value : object
        Argument of a function that makes Results.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): describe(part) for name, part in value.items()}
    if isinstance(value, list | tuple) and len(value) <= 16:
        return [describe(part) for part in value]
    if isinstance(value, list | tuple):
        return f"{len(value)} items, checksum {zlib.crc32(repr(value).encode()):08x}"
    if hasattr(value, "__len__") and not isinstance(value, type):
        index = getattr(value, "index", None)
        span = f", {index[0]} to {index[-1]}" if isinstance(index, pd.Index) and len(index) else ""
        return f"{type(value).__name__} of {len(value)} rows{span}{_checksum(value)}"
    return repr(value)
