"""Fingerprints: short texts that differ when the code of a task or the values of its data differ."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.metadata import version
from types import CodeType, FunctionType

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
import pandas as pd

CODE = ("__init__", "__call__")
"""Special methods of a task that count as its code."""


def code_of(task: object) -> str:
    """Return a hash of a task's code: bytecode, constants, defaults, closure, what it refers to, and versions.

    Parameters
    ----------
    task : class or callable
        Task of a sweep.
    """
    seen: set[int] = set()

    def words(part: object) -> Iterator[str]:
        if part is None or isinstance(part, str | bytes | int | float):
            yield repr(part)
        elif isinstance(part, tuple | list):
            for item in part:
                yield from words(item)
        elif isinstance(part, set | frozenset):
            yield repr(sorted(map(repr, part)))
        elif isinstance(part, CodeType):
            # Not the file or line numbers: a comment above a function does not make it another one.
            yield part.co_code.hex() + repr(part.co_names)
            yield from words(part.co_consts)
        elif id(part) not in seen:
            seen.add(id(part))
            function = inspect.unwrap(getattr(part, "__func__", part)) if callable(part) else part
            if isinstance(part, partial):
                yield from words((part.func, part.args, *sorted(part.keywords.items())))
            elif (getattr(part, "__module__", None) or "").startswith("toolkit."):
                yield getattr(part, "__qualname__", "")  # the version stands for its code
            elif isinstance(part, type):
                own = [item for item in sorted(vars(part).items()) if item[0] in CODE or not item[0].startswith("__")]
                yield from words([*own, *part.__bases__])
            elif isinstance(function, FunctionType):
                yield from words((function.__code__, function.__defaults__, [*(function.__kwdefaults__ or {}).items()]))
                held = [cell.cell_contents for cell in function.__closure__ or ()]
                # What a task can change while it runs is no code.
                yield from words([each for each in held if not isinstance(each, list | set | dict)])
                used = [function.__globals__.get(name) for name in function.__code__.co_names]
                yield from words([each for each in used if isinstance(each, FunctionType | type | str | int | float)])
            elif isinstance(part, pd.DataFrame | pd.Series | np.ndarray):
                yield fingerprint(part)
            else:
                yield type(part).__name__

    # Bytecode differs between versions of Python, and the toolkit's code is not hashed itself.
    text = "|".join([sys.version, version("afx-toolkit"), *words(task)])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


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
        digest.update(repr(list(getattr(data, "columns", []))).encode())
        return digest.hexdigest()[:32]
    return hashlib.sha256(cloudpickle.dumps(data)).hexdigest()[:32]
