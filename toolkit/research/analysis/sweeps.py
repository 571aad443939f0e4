"""Sweep: one task over a grid of parameters and seeds, in local processes or on a Dask cluster, resumable.

Every point is independent and deterministic, so the resulting frame does not depend on the number of workers, their
speed, or interruptions.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from ...errors import InputError
from .results import Results

Record = dict[str, Any]
"""One finished point: key, params, seed, status ("ok" or "failed"), error, trace, values, seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """One point of the grid. `key` identifies it, its task and its data in a results file."""

    key: str
    params: Mapping[str, Any]
    seed: int | None


def sweep(
    task: Any,
    grid: Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Any]],
    data: Any = None,
    *,
    seeds: Sequence[int] | None = None,
    workers: int | None = None,
    client: Any = None,
    results: str | Path | None = None,
    retry_failed: bool = False,
    progress: bool = True,
    **options: Any,
) -> pd.DataFrame:
    """Run `task` at every point of `grid` × `seeds` and return one row a point, in grid order.

    Parameters:
        task: a Strategy class (each point is `backtest(task(**params), data, seed=seed, **options)`), or any function,
            called as task(data, **params, seed=seed, **options), without data and seed unless given. It
            returns Results, a mapping of values, a Series, or a number.
        grid: name → values (their product is swept), or a list of parameter mappings.
        workers: processes on this machine (default: one for each core); 0 runs in this process, for debugging. The
            processes import the calling script, which therefore calls under `if __name__ == "__main__":`.
        client: a `distributed.Client`; the same points then run on its cluster.
        results: a file of JSON lines to which each finished point is appended. Points found in it are not run again
            (failed ones are, with `retry_failed`), so an interrupted or crashed sweep continues.

    Columns: the parameters, seed (where given), status ("ok" or "failed"), error, and the values. A failed point keeps
    its row and its error; the traceback is in `frame.attrs["traces"]`, seconds a point in `frame.attrs["seconds"]`.
    Interrupting stops the workers and keeps the file. Points of other tasks, data and options are distinguished by
    fingerprint, but a change of the task's code is not detected.
    """
    points = _points(task, grid, data, seeds, options)
    store = _Store(results, retry_failed)
    found: dict[str, Record] = {point.key: store.known[point.key] for point in points if point.key in store.known}
    waiting = [point for point in points if point.key not in found]
    done: Iterator[Record]
    if not waiting:
        done = iter(())
    elif client is not None:
        done = _on_cluster(client, _pack(task, data, options), waiting)
    elif workers == 0:
        done = (_execute((task, data, options), point) for point in waiting)
    else:
        done = _on_processes(_pack(task, data, options), waiting, workers or os.cpu_count() or 1)
    with store, _bar(len(points), len(found), progress) as bar:
        for record in done:
            store.add(record)
            found[record["key"]] = record
            bar.update(1)
    return _table(points, [found[point.key] for point in points], seeds is not None)


def _points(task: Any, grid: Any, data: Any, seeds: Sequence[int] | None, options: Mapping[str, Any]) -> list[Point]:
    if isinstance(grid, Mapping):
        names = list(grid)
        combinations = [
            dict(zip(names, values, strict=True)) for values in itertools.product(*map(list, grid.values()))
        ]
    else:
        combinations = [dict(params) for params in grid]
    base = (
        f"{getattr(task, '__module__', '')}.{getattr(task, '__qualname__', task)}|{fingerprint(data)}|{_text(options)}"
    )
    points: dict[str, Point] = {}
    for params in combinations:
        for seed in [None] if seeds is None else seeds:
            key = hashlib.sha256(f"{base}|{_text(params)}|{seed}".encode()).hexdigest()[:32]
            points.setdefault(key, Point(key, params, seed))
    if not points:
        raise InputError("the grid has no points", field="grid", rule="not empty")
    return list(points.values())


def fingerprint(data: Any) -> str:
    """Return a short text that differs when the values, names or times of frames (also in mappings) differ."""
    if data is None:
        return ""
    if isinstance(data, Mapping):
        return ",".join(f"{key}:{fingerprint(part)}" for key, part in data.items())
    if isinstance(data, pd.DataFrame | pd.Series | pd.Index):
        digest = hashlib.sha256(pd.util.hash_pandas_object(data).to_numpy().tobytes())
        digest.update(repr(list(getattr(data, "columns", []))).encode())
        return digest.hexdigest()[:32]
    return hashlib.sha256(_cloudpickle().dumps(data)).hexdigest()[:32]


def _text(values: Mapping[str, Any]) -> str:
    return json.dumps({str(name): _word(value) for name, value in values.items()}, sort_keys=True)


def _word(value: Any) -> str:
    """Return a text that differs when values do: repr of plain values, a fingerprint of all others.

    The repr of arrays and frames leaves out their middle, and that of objects may contain a memory address.
    """
    if value is None or isinstance(value, str | int | float | bool):
        return repr(value)
    if isinstance(value, Mapping):
        return _text(value)
    shown = repr(value)
    if isinstance(value, list | tuple):
        words = list(map(_word, value))
        return shown if words == list(map(repr, value)) else f"{type(value).__name__}({', '.join(words)})"
    plain = not hasattr(value, "__array__") and " at 0x" not in shown
    return shown if plain else f"{type(value).__name__} {fingerprint(value)}"


def _execute(work: tuple[Any, Any, Mapping[str, Any]], point: Point) -> Record:
    """Run one point; an exception becomes its record."""
    start = time.perf_counter()
    try:
        values, error, trace = _values(_call(*work, point)), "", ""
    except (Exception, SystemExit) as failure:
        values, error = {}, f"{type(failure).__name__}: {failure}"
        trace = traceback.format_exc()
    return _record(point, values, error, trace, time.perf_counter() - start)


def _record(point: Point, values: Mapping[str, Any], error: str, trace: str = "", seconds: float = 0.0) -> Record:
    return {
        "key": point.key,
        "params": {name: _plain(value) for name, value in point.params.items()},
        "seed": point.seed,
        "status": "failed" if error else "ok",
        "error": error,
        "values": {str(name): _plain(value) for name, value in values.items()},
        "trace": trace,
        "seconds": seconds,
    }


def _call(task: Any, data: Any, options: Mapping[str, Any], point: Point) -> Any:
    seed: dict[str, Any] = {} if point.seed is None else {"seed": point.seed}
    if isinstance(task, type) and hasattr(task, "on_bar"):
        # Imported here, because backtesting stands above this room.
        from ..backtesting.driver import backtest

        return backtest(task(**point.params), data, **seed, **options)
    given = () if data is None else (data,)
    return task(*given, **point.params, **seed, **options)


def _values(outcome: Any) -> Mapping[str, Any]:
    if isinstance(outcome, Results):
        outcome = outcome.metrics()
    if isinstance(outcome, pd.Series):
        return {str(name): value for name, value in outcome.items()}
    if isinstance(outcome, Mapping):
        return outcome
    if isinstance(outcome, int | float):
        return {"value": outcome}
    raise InputError(
        f"the task returned {type(outcome).__name__}; return Results, a mapping, a Series or a number", field="task"
    )


def _plain(value: Any) -> Any:
    """Return a value that JSON keeps exactly; `_rich` is the inverse."""
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
    return value if isinstance(value, bool | int | float | str) else str(value)


def _rich(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    kind, text = next(iter(value.items()))
    return {"$time": pd.Timestamp, "$span": pd.Timedelta, "$float": float}[kind](text)


class _Store:
    """The results file: one JSON object a line; an incomplete last line, left by a crash, is dropped."""

    def __init__(self, path: str | Path | None, retry_failed: bool) -> None:
        self.path = Path(path) if path is not None else None
        self.known: dict[str, Record] = {}
        self._file: Any = None
        if self.path is None or not self.path.exists():
            return
        whole = self.path.read_bytes()
        kept = whole[: whole.rfind(b"\n") + 1]
        if len(kept) < len(whole):
            self.path.write_bytes(kept)
        for number, line in enumerate(kept.decode("utf-8").splitlines(), start=1):
            try:
                record = json.loads(line)
                if record["status"] == "ok" or not retry_failed:
                    self.known[record["key"]] = record
            except (ValueError, KeyError, TypeError):
                raise InputError(
                    f"{self.path} line {number} is not a point of a sweep; choose another results file",
                    field="results",
                    value=str(self.path),
                ) from None

    def __enter__(self) -> _Store:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("a", encoding="utf-8", newline="\n")
        return self

    def add(self, record: Record) -> None:
        if self._file is not None:
            self._file.write(json.dumps(record, allow_nan=False) + "\n")
            self._file.flush()

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


def _bar(total: int, initial: int, progress: bool) -> Any:
    from tqdm.auto import tqdm

    return tqdm(total=total, initial=initial, desc="sweep", unit="point", disable=not progress)


def _table(points: Sequence[Point], records: Sequence[Record], seeded: bool) -> pd.DataFrame:
    rows = []
    for point, record in zip(points, records, strict=True):
        row = dict(point.params)
        if seeded:
            row["seed"] = point.seed
        row |= {"status": record["status"], "error": record["error"]}
        rows.append(row | {name: _rich(value) for name, value in record["values"].items() if name not in row})
    table = pd.DataFrame(rows)
    table.attrs["seconds"] = [record["seconds"] for record in records]
    table.attrs["traces"] = {at: record["trace"] for at, record in enumerate(records) if record["trace"]}
    return table


def _cloudpickle() -> Any:
    import cloudpickle  # type: ignore[import-untyped]

    return cloudpickle


def _pack(task: Any, data: Any, options: Mapping[str, Any]) -> bytes:
    """Return task, data and options as bytes; classes and functions of a notebook travel by value."""
    packed: bytes = _cloudpickle().dumps((task, data, dict(options)))
    return packed


@lru_cache(maxsize=2)
def _unpack(payload: bytes) -> tuple[Any, Any, Mapping[str, Any]]:
    work: tuple[Any, Any, Mapping[str, Any]] = _cloudpickle().loads(payload)
    return work


_payload = b""


def _begin_worker(payload: bytes) -> None:
    global _payload
    _payload = payload


def _local_point(point: Point) -> Record:
    return _execute(_unpack(_payload), point)


def _remote_point(payload: bytes, point: Point) -> Record:
    return _execute(_unpack(payload), point)


def _on_processes(payload: bytes, points: Sequence[Point], workers: int) -> Iterator[Record]:
    """Yield records as they finish. Points lost with a dead worker are retried one at a time, to find the cause."""
    lost: list[Point] = []
    with _pool(payload, min(workers, len(points))) as pool:
        futures = {pool.submit(_local_point, point): point for point in points}
        yield from _gather(pool, futures, lost.append)
    for point in lost:
        with _pool(payload, 1) as pool:
            dead: list[Point] = []
            yield from _gather(pool, {pool.submit(_local_point, point): point}, dead.append)
            if dead:
                yield _record(point, {}, "WorkerDied: the process that ran this point ended without a result")


def _gather(
    pool: ProcessPoolExecutor, futures: Mapping[Future[Record], Point], lose: Callable[[Point], None]
) -> Iterator[Record]:
    try:
        for future in as_completed(futures):
            try:
                record = future.result()
            except BrokenProcessPool:
                lose(futures[future])
                continue
            yield record
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise


def _pool(payload: bytes, workers: int) -> ProcessPoolExecutor:
    """Return a pool of spawned processes: the same on all systems, and safe with threads."""
    import multiprocessing

    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise InputError(
            'sweep was called while a worker imports this script; put the call under if __name__ == "__main__":',
            field="workers",
            rule="main module",
        )
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin_worker, initargs=(payload,))


def _on_cluster(client: Any, payload: bytes, points: Sequence[Point]) -> Iterator[Record]:
    """Yield records as they finish. Points of dead workers, which held the data, are retried one at a time."""
    lost: dict[Point, str] = {}
    yield from _submitted(client, payload, points, lost)
    for point in lost:
        dead: dict[Point, str] = {}
        yield from _submitted(client, payload, [point], dead)
        if dead:
            yield _record(point, {}, dead[point])


def _submitted(client: Any, payload: bytes, points: Iterable[Point], lost: dict[Point, str]) -> Iterator[Record]:
    from distributed import as_completed as completed

    shared = client.scatter(payload, broadcast=True, hash=False)
    futures = {client.submit(_remote_point, shared, point, pure=False): point for point in points}
    try:
        for future in completed(futures):  # type: ignore[no-untyped-call]
            try:
                record = future.result()
            except Exception as failure:
                lost[futures[future]] = f"WorkerDied: {type(failure).__name__}: {failure}"
                continue
            yield record
            future.release()
    except BaseException:
        client.cancel(list(futures))
        raise
