"""Where the points of a sweep run: processes of this machine, or a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any

import cloudpickle  # type: ignore[import-untyped]

from ...errors import InputError
from .points import Point, Record, execute, make_record


def pack(task: Any, data: Any, options: Mapping[str, Any]) -> bytes:
    """Return task, data and options as bytes; classes and functions of a notebook travel by value."""
    packed: bytes = cloudpickle.dumps((task, data, dict(options)))
    return packed


@lru_cache(maxsize=2)
def _unpack(payload: bytes) -> tuple[Any, Any, Mapping[str, Any]]:
    work: tuple[Any, Any, Mapping[str, Any]] = cloudpickle.loads(payload)
    return work


_payload = b""


def _begin_worker(payload: bytes) -> None:
    global _payload
    _payload = payload
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
        yield partial(on_cluster, client, pack(task, data, options))
    elif workers == 0:
        yield partial(map, partial(execute, (task, data, options)))
    else:
        with _Processes(pack(task, data, options), workers or os.cpu_count() or 1) as processes:
            yield processes.run


class _Processes:
    """Processes of this machine, which start when there is work."""

    def __init__(self, payload: bytes, workers: int) -> None:
        self._payload, self._workers = payload, workers
        self._pool = _pool(payload, workers)

    def run(self, points: Sequence[Point]) -> Iterator[Record]:
        """Yield records as they finish. Points lost with a dead worker are retried one at a time, to find the cause."""
        lost: list[Point] = []
        yield from self._gather(self._pool, points, lost.append)
        if lost:
            self._pool = _pool(self._payload, self._workers)  # one with a dead worker takes no more
        for point in lost:
            with _pool(self._payload, 1) as pool:
                dead: list[Point] = []
                yield from self._gather(pool, [point], dead.append)
                if dead:
                    yield make_record(point, {}, "WorkerDied: the process that ran this point ended without a result")

    def _gather(
        self, pool: ProcessPoolExecutor, points: Sequence[Point], lose: Callable[[Point], None]
    ) -> Iterator[Record]:
        futures = {pool.submit(_local_point, point): point for point in points}
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

    def __enter__(self) -> _Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()


def _pool(payload: bytes, workers: int) -> ProcessPoolExecutor:
    """Return a pool of spawned processes: the same on all systems, and safe with threads."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise InputError(
            'sweep was called while a worker imports this script; put the call under if __name__ == "__main__":',
            field="workers",
            rule="main module",
        )
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin_worker, initargs=(payload,))


def on_cluster(client: Any, payload: bytes, points: Sequence[Point]) -> Iterator[Record]:
    """Yield records as they finish. Points of dead workers, which held the data, are retried one at a time."""
    lost: dict[Point, str] = {}
    yield from _submitted(client, payload, points, lost)
    for point in lost:
        dead: dict[Point, str] = {}
        yield from _submitted(client, payload, [point], dead)
        if dead:
            yield make_record(point, {}, dead[point])


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
