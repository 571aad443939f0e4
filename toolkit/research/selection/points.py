"""Points of a sweep: how one runs, the record it leaves and the file of records, and where many run.

They run in this process, in processes of this machine, or on a Dask cluster.
"""

from __future__ import annotations

import inspect
import math
import multiprocessing
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
import pandas as pd

from ...errors import InputError
from ...stored.lines import LineFile
from ...stored.seals import FileKind
from ..analysis.luck import trials
from ..analysis.results import Results

FORMAT = 2
"""Number of the format of a results file; files of format 1 had no header."""
_KIND = FileKind("results of a sweep", FORMAT, "choose another results file")
SCHEMA = "cd75a5e57eefd7a6"
"""Hash of a record's fields; tests/test_persisted_formats.py says what to do on a change."""
Record = dict[str, Any]
"""One finished point: key, params, seed, status ("ok" or "failed"), error, trace, values, seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """One point of the grid. `key` identifies it, its task and its data in a results file."""

    key: str
    params: Mapping[str, Any]
    seed: int | None
    returns: bool = False
    """Whether its record keeps the returns of the run, for measures of overfitting."""


def execute(work: tuple[Any, Any, Mapping[str, Any]], point: Point) -> Record:
    """Run one point; an exception becomes its record."""
    start = time.perf_counter()
    try:
        with trials.paused():  # the sweep counts its points itself
            outcome = run_point(*work, point.params, point.seed, repeatable=False)
            values, error, trace = dict(_values(outcome)), "", ""
            if point.returns:  # None says that there are none, in a file that a search continues with
                values["returns"] = outcome.fine_returns() if isinstance(outcome, Results) else None
    except (Exception, SystemExit) as failure:
        values, error = {}, f"{type(failure).__name__}: {failure}"
        trace = traceback.format_exc()
    return make_record(point, values, error, trace, time.perf_counter() - start)


def make_record(point: Point, values: Mapping[str, Any], error: str, trace: str = "", seconds: float = 0.0) -> Record:
    """Return the record of a point that ended with these values, or with an error."""
    return {
        "key": point.key,
        "params": {name: plain_value(value) for name, value in point.params.items()},
        "seed": point.seed,
        "status": "failed" if error else "ok",
        "error": error,
        "values": {str(name): plain_value(value) for name, value in values.items()},
        "trace": trace,
        "seconds": seconds,
    }


def is_strategy(task: Any) -> bool:
    """Return whether a task is a Strategy class, each point of which is a backtest."""
    return isinstance(task, type) and hasattr(task, "on_bar")


def run_point(
    task: Any,
    data: Any,
    options: Mapping[str, Any],
    params: Mapping[str, Any],
    seed: int | None,
    *,
    repeatable: bool = True,
) -> Any:
    """Run a task with parameters and return what it returns: of a Strategy class the Results of its backtest.

    Results that are only measured need not be `repeatable`, which saves the copies of the arguments.
    """
    seeded: dict[str, Any] = {} if seed is None else {"seed": seed}
    if is_strategy(task):
        # imported on first use: a task that is a function needs no backtest
        from ..backtesting.driver import backtest

        run = backtest if repeatable else inspect.unwrap(backtest)
        return run(task(**params), data, **seeded, **options)
    given = () if data is None else (data,)
    return task(*given, **params, **seeded, **options)


def _values(outcome: Any) -> Mapping[str, Any]:
    if isinstance(outcome, Results):
        return outcome.measures()
    if isinstance(outcome, pd.Series | Mapping):
        return dict(outcome.items())
    if isinstance(outcome, int | float):
        return {"value": outcome}
    got = type(outcome).__name__
    raise InputError(f"the task returned {got}; return Results, a mapping, a Series or a number", field="task")


def plain_value(value: Any) -> Any:
    """Return a value that JSON keeps exactly; `from_plain` is the inverse."""
    if type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
        return value
    if isinstance(value, pd.Timestamp) and not pd.isna(value):
        return {"$time": value.isoformat()}
    if isinstance(value, pd.Timedelta) and not pd.isna(value):
        return {"$span": value.isoformat()}
    if value is pd.NaT or value is None:
        return None
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    if isinstance(value, np.ndarray):
        items = value.astype("float64").tolist()
        return {"$array": items if np.isfinite(value).all() else list(map(plain_value, items))}
    return value if isinstance(value, bool | int | float | str) else str(value)


def from_plain(value: Any) -> Any:
    """Return a value as it was before `plain_value`."""
    if not isinstance(value, dict):
        return value
    kind, kept = next(iter(value.items()))
    if kind == "$array":
        return np.array([item if type(item) is float else from_plain(item) for item in kept], dtype="float64")
    return {"$time": pd.Timestamp, "$span": pd.Timedelta, "$float": float}[kind](kept)


class RecordFile:
    """The results file: a sealed line for each point. Points whose lines are damaged are run again."""

    def __init__(self, path: str | Path | None, retry_failed: bool) -> None:
        self._file = None if path is None else LineFile(Path(path), _KIND)
        records: list[Record] = [] if self._file is None else self._file.lines
        self.known = {one["key"]: one for one in records if one["status"] == "ok" or not retry_failed}

    def __enter__(self) -> RecordFile:
        return self

    def add(self, record: Record) -> None:
        """Append a record and flush it, so that a crash loses only what is unfinished."""
        if self._file is not None:
            self._file.append(record)

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


def pack(task: Any, data: Any, options: Mapping[str, Any]) -> bytes:
    """Return task, data and options as bytes; classes and functions of a notebook travel by value."""
    packed: bytes = cloudpickle.dumps((task, data, dict(options)))
    return packed


@lru_cache(maxsize=2)
def _unpack(payload: bytes) -> tuple[Any, Any, Mapping[str, Any]]:
    work: tuple[Any, Any, Mapping[str, Any]] = cloudpickle.loads(payload)
    return work


_payload = b""


def _begin_worker(payload: bytes, started: Any) -> None:
    global _payload
    _payload = payload
    started.set()
    threading.Thread(target=_end_with_parent, name="toolkit-parent", daemon=True).start()


def _end_with_parent() -> None:
    """End this worker when its parent has died: one that was killed could not end its workers itself."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()  # waits on the parent's pipe or, on Windows, its handle; costs nothing meanwhile
        os._exit(1)


def _local_point(point: Point) -> Record:
    return execute(_unpack(_payload), point)


def _remote_point(payload: bytes, point: Point) -> Record:
    return execute(_unpack(payload), point)


@contextmanager
def runner(
    task: Any, data: Any, options: Mapping[str, Any], workers: int | None, client: Any
) -> Iterator[Callable[[Sequence[Point]], Iterator[Record]]]:
    """Give a function that runs points and yields their records as they finish; processes last as long as the context.

    `workers` and `client` as in `sweep`.
    """
    if client is not None:
        yield partial(_retried, partial(_on_cluster, client, pack(task, data, options)))
    elif workers == 0:
        yield partial(map, partial(execute, (task, data, options)))
    else:
        processes = _Processes(pack(task, data, options), workers or os.cpu_count() or 1)
        try:
            yield partial(_retried, processes.run)
        finally:
            processes.pool.shutdown()


Lost = dict[Point, str]
"""Points whose worker died → how."""


def _retried(run: Callable[[Sequence[Point], Lost], Iterator[Record]], points: Sequence[Point]) -> Iterator[Record]:
    """Yield records as they finish. Points lost with a dead worker are retried one at a time, to find the cause."""
    lost: Lost = {}
    yield from run(points, lost)
    for point in lost:
        dead: Lost = {}
        yield from run([point], dead)
        if dead:
            yield make_record(point, {}, f"WorkerDied: {dead[point]}")


class _Processes:
    """Processes of this machine, which start when there is work: spawned, which is safe with threads on all systems."""

    def __init__(self, payload: bytes, workers: int) -> None:
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            rule = 'put the call under if __name__ == "__main__":'
            text = f"sweep was called while a worker imports this script; {rule}"
            raise InputError(text, field="workers", rule="main module")
        context = multiprocessing.get_context("spawn")
        self._started = context.Event()
        begin: dict[str, Any] = {"initializer": _begin_worker, "initargs": (payload, self._started)}
        self._make = partial(ProcessPoolExecutor, workers, mp_context=context, **begin)
        self.pool = self._make()

    def run(self, points: Sequence[Point], lost: Lost) -> Iterator[Record]:
        """Yield records as they finish, and add the points whose process died to `lost`."""
        futures = {self.pool.submit(_local_point, point): point for point in points}
        try:
            for future in as_completed(futures):
                try:
                    record = future.result()
                except BrokenProcessPool:
                    lost[futures[future]] = "the process that ran this point ended without a result"
                    continue
                yield record
        except BaseException:
            self.pool.shutdown(wait=False, cancel_futures=True)
            raise
        if lost and not self._started.is_set():
            text = "no worker could start: each imports this script first, and fails there; its own error is above"
            rule = 'put the call under if __name__ == "__main__":, or give workers=0'
            raise InputError(f"{text}. {rule.capitalize()}", field="workers", rule="main module")
        if lost:
            self.pool.shutdown()
            self.pool = self._make()  # one with a dead worker takes no more


def _on_cluster(client: Any, payload: bytes, points: Iterable[Point], lost: Lost) -> Iterator[Record]:
    """Yield records as they finish, and add the points of dead workers to `lost`; the data is sent each time."""
    from distributed import as_completed as completed

    shared = client.scatter(payload, broadcast=True, hash=False)
    futures = {client.submit(_remote_point, shared, point, pure=False): point for point in points}
    try:
        for future in completed(futures):  # type: ignore[no-untyped-call]
            try:
                record = future.result()
            except Exception as failure:
                lost[futures[future]] = f"{type(failure).__name__}: {failure}"
                continue
            yield record
            future.release()
    except BaseException:
        client.cancel(list(futures))
        raise
