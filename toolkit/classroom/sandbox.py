"""A Jupyter kernel for one handed-in notebook: `python -m toolkit.classroom.sandbox CONNECTION_FILE`.

It is IPython's own kernel, so a notebook runs as in Jupyter: magics, widgets, plots, `await` and tasks in cells. Its
process may read what Python and the toolkit need and the working folder, write into that folder only, connect to this
machine only, and start no other process. This contains mistakes and curiosity. It is no defence against code that
attacks the interpreter itself, so grade strangers' work in a container or a virtual machine. Limits of time and memory
are held by the process that started this one (`grading`).
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

LARGEST_VALUE = 1_000_000
"""Longest JSON text of one variable, in characters; longer ones are left out."""
_FORBIDDEN = (
    "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "os.startfile",
    "os.kill", "os.killpg", "ctypes.dlopen", "pty.spawn",
)  # fmt: skip
_CHANGES = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod")
_LOADED_FIRST = ("toolkit.session", "toolkit.venue.local", "pandas", "pyarrow", "httpx")
"""Imported before the guard, because their own loading opens libraries, which a notebook may not."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Forbidden(PermissionError):
    """The sandbox does not allow this; the text says what."""


def guard(readable: Iterable[Path], writable: Path) -> None:
    """Forbid everything but reading below `readable` and `writable`, writing below `writable`, and loopback."""
    reading = tuple(os.path.realpath(path) for path in (*readable, writable))
    writing = os.path.realpath(writable)

    def below(path: Any, roots: Iterable[str]) -> bool:
        if not isinstance(path, str | bytes | os.PathLike):
            return True  # a file descriptor: it was opened before
        real = os.path.realpath(os.fsdecode(path))
        return any(real == root or real.startswith(root.rstrip(os.sep) + os.sep) for root in roots)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            writes = any(each in (mode or "") for each in "wax+") or bool(
                isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            )
            if path in ("/dev/null", os.devnull):
                return
            if not below(path, (writing,) if writes else reading):
                raise Forbidden(f"the sandbox does not let this notebook {'write' if writes else 'read'} {path!r}")
        elif event in ("os.listdir", "os.scandir"):
            if arguments[0] is not None and not below(arguments[0], reading):
                raise Forbidden(f"the sandbox does not let this notebook list {arguments[0]!r}")
        elif event in _CHANGES:
            if not all(below(path, (writing,)) for path in arguments[:2] if isinstance(path, str | bytes)):
                raise Forbidden(f"the sandbox does not let this notebook change {arguments[0]!r}")
        elif event == "socket.connect":
            host = arguments[1][0] if isinstance(arguments[1], tuple) else ""
            if host not in _LOOPBACK:
                raise Forbidden(f"the sandbox has no network; {host!r} can't be reached")
        elif event == "ctypes.dlopen" and arguments[0] is None:
            return  # Python's own interface
        elif event in _FORBIDDEN or event.startswith("os.exec"):
            raise Forbidden(f"the sandbox does not allow {event}")

    with contextlib.suppress(ImportError):  # multiprocessing starts processes with it, and raises no audit event
        vars(importlib.import_module("_posixsubprocess"))["fork_exec"] = _no_process
    sys.addaudithook(hook)


def _no_process(*_: Any) -> None:
    raise Forbidden("the sandbox does not allow other processes")


def serve(connection_file: str) -> None:
    """Answer the requests of a Jupyter client, with everything forbidden that `guard` forbids, until it is ended."""
    sys.modules["debugpy"] = None  # type: ignore[assignment]  # a debugger takes a second to load
    from ipykernel.kernelapp import IPKernelApp

    app: Any = IPKernelApp.instance()
    app.initialize(["-f", connection_file, "--HistoryManager.enabled=False"])
    for name in _LOADED_FIRST:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    package = Path(__file__).resolve().parent.parent
    places = [Path(place) for place in sys.path if place]
    if package.parent.name not in ("site-packages", "dist-packages"):
        places = [place for place in places if place != package.parent]  # a source tree may hold the checks as well
    roots = [Path(sys.prefix), Path(sys.base_prefix), package, *places]
    roots += [Path(place) for place in ("/usr", "/lib", "/lib64", "/etc", "/proc", "/sys", "/dev/urandom")]
    guard(roots, Path.cwd())
    app.start()


def leave(result: str) -> None:
    """Write the variables of the notebook to a file, as JSON."""
    from IPython.core.interactiveshell import InteractiveShell

    Path(result).write_text(json.dumps(values(InteractiveShell.instance().user_ns)), encoding="utf-8")


def values(names: dict[str, Any]) -> dict[str, Any]:
    """Return the variables that can be written as JSON: plain values, decimals, DataFrames and Series."""
    found = {}
    for name, value in names.items():
        if name.startswith("_") or name in ("In", "Out", "exit", "quit"):
            continue
        with contextlib.suppress(Exception):
            text = json.dumps(_plain(value))
            if len(text) <= LARGEST_VALUE:
                found[name] = json.loads(text)
    return found


def _plain(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON with its kind, such as {"decimal": "1.5"}. Raises TypeError for what has no such form."""
    if depth > 8:
        raise TypeError("nested too deeply")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, dict):
        return {"dict": [[_plain(key, depth + 1), _plain(inner, depth + 1)] for key, inner in value.items()]}
    if isinstance(value, list | tuple | set | frozenset):
        return {"list": [_plain(inner, depth + 1) for inner in value]}
    kind = type(value).__name__
    if kind in ("DataFrame", "Series") and hasattr(value, "to_json"):
        frame = value.to_frame() if kind == "Series" else value
        return {kind.lower(): json.loads(frame.reset_index().to_json(orient="split", date_format="iso"))}
    if hasattr(value, "item") and not hasattr(value, "__len__"):  # numbers of numpy
        return _plain(value.item(), depth + 1)
    raise TypeError(kind)


if __name__ == "__main__":
    serve(sys.argv[1])
