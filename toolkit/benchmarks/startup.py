"""How long it takes to import the toolkit, and to have a session on the local venue."""

from __future__ import annotations

import subprocess
import sys

from . import Measurement

_IMPORT = "import time; t = time.perf_counter(); import toolkit; print(time.perf_counter() - t)"
_CONNECT = (
    "import toolkit, time; toolkit.connect; t = time.perf_counter(); s = toolkit.connect(); "
    "print(time.perf_counter() - t); s.close()"
)


def rows() -> list[Measurement]:
    """Measure in fresh interpreters, the best of five each."""
    return [
        Measurement("import toolkit", _best(_IMPORT), "s", target=0.15, better="lower"),
        Measurement("connect() to the local venue", _best(_CONNECT), "s", target=0.5, better="lower"),
    ]


def _best(code: str) -> float:
    def once() -> float:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
        return float(done.stdout)

    return min(once() for _ in range(5))
