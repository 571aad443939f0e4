"""Tasks for sweeps, in a module that fresh worker processes can import quickly."""

from __future__ import annotations

import os
import random
import socket
import sys
import time
from pathlib import Path
from typing import Any


def measure(a: int, b: float = 1.0, seed: int = 0) -> dict[str, Any]:
    """Return values that depend on parameters and seed only."""
    return {"sum": a + b, "noise": random.Random(f"{a}{b}{seed}").random(), "missing": float("nan")}


def fragile(a: int) -> float:
    """Fail for one value."""
    if a == 2:
        raise ZeroDivisionError("two is too much")
    return a * 10.0


def counted(folder: str, a: int) -> int:
    """Leave a trace of each call, to count them across processes."""
    path = Path(folder) / f"{a}.{len(os.listdir(folder))}.{os.getpid()}"
    path.write_text("", encoding="utf-8")
    if a == 1 and not (Path(folder) / "mended").exists():
        raise ValueError("not yet")
    return a


def deadly(a: int) -> int:
    """Take the whole worker process down for one value."""
    if a == 1:
        os._exit(3)
    return a


def total(a: int, rates: Any, more: Any) -> float:
    """Return a sum over an option."""
    return float(rates.sum()) + a


def leaving(a: int) -> int:
    """Exit for one value, as scripts do."""
    if a == 1:
        sys.exit(3)
    return a


def connected(port: int, a: int) -> int:
    """Hold a connection open until the other side closes it or this process ends."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
        line.sendall(b"x")
        line.recv(1)
    return a


def meeting(folder: str, a: int) -> int:
    """Return the process; the point 5 waits until another process has run a point."""
    (Path(folder) / str(os.getpid())).touch()
    latest = time.monotonic() + 120
    while a == 5 and len(os.listdir(folder)) < 2:
        assert time.monotonic() < latest, "no other process has run a point"
        time.sleep(0.01)
    return os.getpid()
