"""Points of a sweep: how one runs, the record it leaves and the file of records, and where many run.

They run in this process, in processes of this machine, or on a Dask cluster.
"""

from __future__ import annotations

import inspect
import math
import multiprocessing
import multiprocessing.spawn
import os
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
import pandas as pd

from ...errors import InputError
from ...stored.lines import LineFile
from ...stored.seals import FileKind
from ..analysis.fingerprints import code_of
from ..analysis.history import resolved
from ..analysis.luck import trials
from ..analysis.results import Results

FORMAT = 1
"""Number of the format of a results file."""
_KIND = FileKind("results of a sweep", FORMAT, "choose another results file")
SCHEMA = "cd75a5e57eefd7a6"
"""Hash of a record's fields. tests/test_persisted_formats.py says what to do on a change."""
Record = dict[str, Any]
"""One finished point: key, params, seed, status ("ok" or "failed"), error, trace, values, seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """One point of the grid.

    Parameters
    ----------
    key : str
        Text that identifies the point, its task and its data in a results file.
    params : mapping of str to object
        Parameters by name.
    seed : int or None
        Seed of the point, None for the task's own.
    returns : bool, optional
        Whether its record keeps the returns of the run, for measures of overfitting (default: False).
    idea : str, optional
        Idea that the point is a trial of, see `luck.Trials` (default: unknown).
    """

    key: str
    params: Mapping[str, Any]
    seed: int | None
    returns: bool = False
    idea: str = ""


def execute(work: tuple[Any, Any, Mapping[str, Any]], point: Point) -> Record:
    """Run one point. An exception becomes its record.

    Parameters
    ----------
    work : tuple of (object, object, mapping of str to object)
        Task, data and options.
    point : Point
        Point of the grid.
    """
    start = time.perf_counter()
    try:
        with trials.paused():  # the sweep counts its points itself
            outcome = run_point(*work, point.params, point.seed, repeatable=False)
            values, error, trace = dict(_values(outcome)), "", ""
            if point.returns:  # None says that there are none, in a file that a search continues with
                values["returns"] = outcome.fine_returns() if isinstance(outcome, Results) else None
    # One point with bad parameters must not end a sweep of thousands. Only an interrupt does.
    except (Exception, SystemExit) as failure:
        values, error = {}, f"{type(failure).__name__}: {failure}"
        trace = traceback.format_exc()
    return make_record(point, values, error, trace, time.perf_counter() - start)


def make_record(point: Point, values: Mapping[str, Any], error: str, trace: str = "", seconds: float = 0.0) -> Record:
    """Return the record of a point that ended with these values, or with an error.

    Parameters
    ----------
    point : Point
        Point of the grid.
    values : mapping of str to object
        Values by name.
    error : str
        Type and text of the error, "" for none.
    trace : str, optional
        Traceback of the error (default: "").
    seconds : float, optional
        Time that the point took, seconds (default: 0).
    """
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


def is_strategy(task: object) -> bool:
    """Return whether a task is a Strategy class, each point of which is a backtest.

    Parameters
    ----------
    task : class or callable
        A Strategy class, or a function.
    """
    return isinstance(task, type) and hasattr(task, "on_bar")


def run_point(
    task: Callable[..., Any],
    data: object,
    options: Mapping[str, Any],
    params: Mapping[str, Any],
    seed: int | None,
    *,
    repeatable: bool = True,
) -> Any:
    """Run a task with parameters and return what it returns: of a Strategy class the Results of its backtest.

    Parameters
    ----------
    task : class or callable
        A Strategy class, or a function.
    data : object
        Data that the task takes, None for none.
    options : mapping of str to object
        Further arguments of the task.
    params : mapping of str to object
        Parameters of the task by name.
    seed : int or None
        Seed that the task is given, None for none.
    repeatable : bool, optional
        Whether Results can be made again. Those that are only measured need not, which saves copies (default: True).
    """
    seeded: dict[str, Any] = {} if seed is None else {"seed": seed}
    if is_strategy(task):
        # imported on first use: a task that is a function needs no backtest
        from ..backtesting.driver import backtest

        run = backtest if repeatable else inspect.unwrap(backtest)
        return run(task(**params), **seeded, **resolved({**options, "data": data}))
    given = () if data is None else (data,)
    return task(*given, **params, **seeded, **options)


def _values(outcome: object) -> Mapping[str, Any]:
    if isinstance(outcome, Results):
        return outcome.measures()
    if isinstance(outcome, pd.Series | Mapping):
        return dict(outcome.items())
    if isinstance(outcome, int | float):
        return {"value": outcome}
    got = type(outcome).__name__
    raise InputError(f"the task returned {got}. Return Results, a mapping, a Series or a number", field="task")


def plain_value(value: object) -> Any:
    """Return a value that JSON keeps exactly. `from_plain` is the inverse.

    Parameters
    ----------
    value : object
        Value of a parameter or measure.
    """
    # JSON has no NaN and no infinity. Types are compared exactly, because NumPy's float64 is a float too and is
    # converted below.
    if type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
        return value
    if isinstance(value, pd.Timestamp):
        return {"$time": value.isoformat()}
    if isinstance(value, pd.Timedelta):
        return {"$span": value.isoformat()}
    if value is pd.NaT or value is None:  # NaT is neither a Timestamp nor a Timedelta
        return None
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    if isinstance(value, np.ndarray):
        items = value.astype("float64").tolist()
        return {"$array": items if np.isfinite(value).all() else list(map(plain_value, items))}
    return value if isinstance(value, bool | int | float | str) else str(value)


def from_plain(value: object) -> Any:
    """Return the value from which `plain_value` made this one.

    Parameters
    ----------
    value : object
        Value that JSON has kept.
    """
    if not isinstance(value, dict):
        return value
    kind, kept = next(iter(value.items()))
    if kind == "$array":
        return np.array([item if type(item) is float else from_plain(item) for item in kept], dtype="float64")
    return {"$time": pd.Timestamp, "$span": pd.Timedelta, "$float": float}[kind](kept)


class RecordFile:
    """The results file: a sealed line for each point. Points whose lines are damaged are run again.

    Parameters
    ----------
    path : str, Path or None
        File, None for no file.
    retry_failed : bool
        Whether points that failed are run again.

    Attributes
    ----------
    known : dict of str to Record
        Records that the file has, by key.
    """

    def __init__(self, path: str | Path | None, retry_failed: bool) -> None:
        self.path = path
        self._file = None if path is None else LineFile(Path(path), _KIND)
        records: list[Record] = [] if self._file is None else self._file.lines
        self.known = {one["key"]: one for one in records if one["status"] == "ok" or not retry_failed}

    def __enter__(self) -> RecordFile:
        return self

    def add(self, record: Record) -> None:
        """Append a record and flush it, so that a crash loses only what is unfinished.

        Parameters
        ----------
        record : Record
            Record of a finished point.
        """
        if self._file is not None:
            self._file.append(record)

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


def pack(task: object, data: object, options: Mapping[str, Any]) -> bytes:
    """Return task, data and options as bytes. Classes and functions of a notebook travel by value.

    Parameters
    ----------
    task : class or callable
        A Strategy class, or a function.
    data : object
        Data that the task takes, None for none.
    options : mapping of str to object
        Further arguments of the task.
    """
    packed: bytes = cloudpickle.dumps((task, data, dict(options)))
    return packed


@lru_cache(maxsize=2)
def _unpack(payload: bytes) -> tuple[Any, Any, Mapping[str, Any]]:
    work: tuple[Any, Any, Mapping[str, Any]] = cloudpickle.loads(payload)
    return work


@lru_cache(maxsize=1)
def _unpack_file(path: str) -> tuple[Any, Any, Mapping[str, Any]]:
    return _unpack(Path(path).read_bytes())


_payload = ""
"""The file of the work of this worker."""


def _begin_worker(started: Any) -> None:
    started.set()
    threading.Thread(target=_end_with_parent, name="toolkit-parent", daemon=True).start()


def _end_with_parent() -> None:
    """End this worker when its parent has died: one that was killed could not end its workers itself."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()  # waits on the parent's pipe or, on Windows, its handle; costs nothing meanwhile
        with suppress(OSError):
            os.unlink(_payload)
        os._exit(1)


def _local_point(path: str, point: bytes) -> Record:
    global _payload
    _payload = path
    return execute(_unpack_file(path), cloudpickle.loads(point))


class _Spawned(SpawnProcess):
    """A process that does not import the script or notebook that starts it.

    What it runs arrives by value. A script that is imported would run again from its first line, orders included.
    """

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        describe, here = multiprocessing.spawn.get_preparation_data, threading.get_ident()

        def without_main(name: str) -> dict[str, Any]:
            data = describe(name)
            if threading.get_ident() == here:  # not for what another thread starts meanwhile
                for each in ("init_main_from_name", "init_main_from_path"):
                    data.pop(each, None)
            return data

        with _STARTING:
            multiprocessing.spawn.get_preparation_data = without_main
            try:
                return SpawnProcess._Popen(process_obj)
            finally:
                multiprocessing.spawn.get_preparation_data = describe


class _SpawnContext(SpawnContext):
    Process = _Spawned


_STARTING = threading.Lock()


def _remote_point(payload: bytes, point: Point) -> Record:
    return execute(_unpack(payload), point)


@contextmanager
def runner(
    task: object, data: object, options: Mapping[str, Any], workers: int | None, client: object
) -> Iterator[Callable[[Sequence[Point]], Iterator[Record]]]:
    """Give a function that runs points and yields their records as they finish.

    Parameters
    ----------
    task : class or callable
        A Strategy class, or a function.
    data : object
        Data that the task takes, None for none.
    options : mapping of str to object
        Further arguments of the task.
    workers : int or None
        Processes on this machine, 0 for this process, None for as many as pay. See `sweep`.
    client : distributed.Client or None
        Dask cluster, None for none.
    """
    here = partial(map, partial(execute, (task, data, options)))
    if client is not None:
        yield partial(_retried, partial(_on_cluster, client, pack(task, data, options)))
    elif workers == 0:
        yield here
    else:
        # By default this process works too, whatever the others get of the processors.
        with _Work(task, data, options, workers or max((os.cpu_count() or 1) - 1, 1)) as work:
            yield partial(_retried, work.run) if workers else partial(_where_it_pays, here, work)


Here = Callable[[Sequence[Point]], Iterator[Record]]
"""Runs points in this process."""


def _where_it_pays(here: Here, work: _Work, points: Sequence[Point]) -> Iterator[Record]:
    """Yield records of points that run in this process, and also in others once that takes less time."""
    begun = time.perf_counter()
    for done, record in enumerate(here(points), start=1):
        yield record
        # The time of the points so far shows whether processes save more than they take to start.
        saved = (time.perf_counter() - begun) / done * (len(points) - done) * work.workers / (work.workers + 1)
        if saved > (KEPT_COST if work.key in _kept else START_COST):
            yield from _retried(work.run, points[done:], here)
            return


Lost = dict[Point, str]
"""Points whose worker died → how."""


def _retried(run: Callable[..., Iterator[Record]], points: Sequence[Point], *here: Here) -> Iterator[Record]:
    """Yield records as they finish. Points lost with a dead worker are retried one at a time, to find the cause."""
    lost: Lost = {}
    yield from run(points, lost, *here)
    for point in lost:
        dead: Lost = {}
        yield from run([point], dead)
        if dead:
            yield make_record(point, {}, f"WorkerDied: {dead[point]}")


START_COST, KEPT_COST = 4.0, 0.5
"""Seconds that must be saved to start processes, or to hand work to those that were kept."""
IDLE = 60.0
"""Seconds for which processes are kept for the next work."""
_kept: dict[tuple[int, str], _Processes] = {}
"""The processes that were kept, by their number and the code of their task. If a module has changed, a process that
imported it before would run the old code."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kept.clear)  # they answer the parent only


class _Work:
    """Points of one task on processes of this machine, which read task and data from a file."""

    def __init__(self, task: object, data: object, options: Mapping[str, Any], workers: int) -> None:
        self.workers = workers
        self.key = workers, code_of(task)
        self._packed = partial(pack, task, data, options)
        self._path = ""
        self._processes: _Processes | None = None

    def __enter__(self) -> _Work:
        return self

    def run(self, points: Sequence[Point], lost: Lost, here: Here | None = None) -> Iterator[Record]:
        """Yield records as they finish, and add the points whose process died to those that were lost.

        Parameters
        ----------
        points : sequence of Point
            Points to run.
        lost : Lost
            Points whose process died, with how, which grows.
        here : Here, optional
            Function that runs points in this process (default: none). This process then takes points from the end,
            until the others have taken all before.
        """
        if self._processes is None:
            self._processes = _kept.pop(self.key, None) or _Processes(self.workers)
            end_workers()  # of other code
            self._processes.idle.cancel()
            handle, self._path = tempfile.mkstemp(prefix="toolkit-sweep-")
            with os.fdopen(handle, "wb") as file:
                file.write(self._packed())
        yield from self._processes.run(self._path, points, lost, here)

    def __exit__(self, kind: object, *_: object) -> None:
        if self._path:
            os.unlink(self._path)
        if self._processes is not None and kind is None and not self._processes.broken:
            self._processes.keep(self.key)
        elif self._processes is not None:
            self._processes.stop()


def end_workers() -> None:
    """End the processes that were kept for the next work."""
    while _kept:
        _kept.popitem()[1].pool.shutdown()


class _Processes:
    """Processes of this machine, which start when there is work: spawned, which is safe with threads on all systems."""

    def __init__(self, workers: int) -> None:
        if getattr(multiprocessing.current_process(), "_inheriting", False):  # of a pool of the user's own
            text = "a process that imports its script cannot start workers. Give workers=0, or put the call under"
            raise InputError(f'{text} if __name__ == "__main__":', field="workers", rule="main module")
        context = _SpawnContext()
        self._started = context.Event()
        begin: dict[str, Any] = {"initializer": _begin_worker, "initargs": (self._started,)}
        self._make = partial(ProcessPoolExecutor, workers, mp_context=context, **begin)
        self.pool = self._make()
        self.broken = False
        self.idle = threading.Timer(IDLE, end_workers)

    def keep(self, key: tuple[int, str]) -> None:
        """Keep the processes for a while.

        Parameters
        ----------
        key : tuple of (int, str)
            Number of processes and code of their task.
        """
        _kept[key] = self
        self.idle = threading.Timer(IDLE, end_workers)
        self.idle.daemon = True
        self.idle.start()

    def stop(self) -> None:
        """End the processes, also in the middle of a point."""
        running = list((self.pool._processes or {}).values())  # before 3.14 no public name has them
        self.pool.shutdown(wait=False, cancel_futures=True)
        for each in running:
            each.terminate()

    def _submitted(self, path: str, points: Sequence[Point]) -> dict[Future[Record], Point]:
        # Parameters may be objects of the script's own classes, which travel by value as well.
        return {self.pool.submit(_local_point, path, cloudpickle.dumps(point)): point for point in points}

    def run(self, path: str, points: Sequence[Point], lost: Lost, here: Here | None) -> Iterator[Record]:
        """Run points of the work in a file. See `_Work.run`.

        Parameters
        ----------
        path : str
            File of the work.
        points : sequence of Point
            Points to run.
        lost : Lost
            Points whose process died, with how, which grows.
        here : callable or None
            Function that runs points in this process, None for none.
        """
        try:
            futures = self._submitted(path, points)
        except BrokenProcessPool:  # one of them was killed while they were kept
            self.pool = self._make()
            futures = self._submitted(path, points)
        ended: SimpleQueue[Future[Record]] = SimpleQueue()
        for future in futures:
            future.add_done_callback(ended.put)
        left, own = dict(futures), list(futures)
        try:
            while left:
                if here is not None and own and ended.empty():
                    # From the end, while the processes take from the beginning: they meet at the last point.
                    future = own.pop()
                    # A process that has not started yet is not waited for.
                    if future.cancel() or not self._started.is_set():
                        yield from here([left.pop(future)])
                    continue
                future = ended.get()
                if left.pop(future, None) is None:
                    continue
                try:
                    record = future.result()
                except BrokenProcessPool:
                    # A dead process breaks the pool for all, so most of the lost points are innocent. `_retried` finds
                    # the one.
                    lost[futures[future]] = "the process that ran this point ended without a result"
                    continue
                yield record
        except BaseException:
            self.broken = True
            self.stop()
            raise
        # No process ever began, and a retry would fail as well.
        if lost and not self._started.is_set():
            text = "no worker could start. Its error is above. Give workers=0 to run the points in this process"
            raise InputError(text, field="workers", rule="started")
        if lost:
            self.pool.shutdown()
            self.pool = self._make()  # one with a dead worker takes no more


def _on_cluster(client: Any, payload: bytes, points: Iterable[Point], lost: Lost) -> Iterator[Record]:
    """Yield records as they finish, and add the points of dead workers to `lost`. The data is sent each time."""
    from distributed import as_completed as completed

    # Once for each machine, not once for each point.
    shared = client.scatter(payload, broadcast=True, hash=False)
    # Not pure: Dask would return the old result of an equal call, though the code may have changed.
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
