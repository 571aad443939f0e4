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

Lost = dict[Point, str]
"""Points whose worker died → how."""


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
        yield partial(_retried, partial(_on_cluster, client, pack(task, data, options)))
    elif workers == 0:
        yield partial(map, partial(execute, (task, data, options)))
    else:
        processes = _Processes(pack(task, data, options), workers or os.cpu_count() or 1)
        try:
            yield partial(_retried, processes.run)
        finally:
            processes.pool.shutdown()


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
            raise InputError(
                'sweep was called while a worker imports this script; put the call under if __name__ == "__main__":',
                field="workers",
                rule="main module",
            )
        context = multiprocessing.get_context("spawn")
        self._make = partial(
            ProcessPoolExecutor, workers, mp_context=context, initializer=_begin_worker, initargs=(payload,)
        )
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
