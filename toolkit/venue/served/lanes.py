"""Threads on which a server's requests are answered, so that its event loop is never held up.

A lane takes requests in order. One that takes several together reads them as they come and has them applied as a group,
which the journal writes in one piece. Clients that were answered together tend to ask together again. A group waits a
moment until it is as large as the one before: two halves would take two syncs of the disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Sequence
from time import monotonic

from ..api.gateway import Answer, Gateway, HttpRequest, Started, http_error

Job = tuple[HttpRequest, asyncio.Future[Answer]]

WAITING = 2_000
"""Requests that may wait in one lane; more are answered 503."""
GATHER = 0.5
"""How long a group waits for more requests, as a share of the time that the one before took to be applied."""
GATHER_SECONDS = 0.02
"""The longest such wait."""
STOP_SECONDS = 0.4
"""How long stopping waits for the requests that are being answered; the threads are daemons."""


class Lane:
    """Answers requests on `threads` threads, up to `group` at a time."""

    def __init__(self, name: str, gateway: Gateway, *, threads: int = 1, group: int = 1) -> None:
        self._name = name
        self._gateway = gateway
        self._group = group
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, name=f"toolkit-venue-{name}", daemon=True) for _ in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    async def answer(self, request: HttpRequest) -> Answer:
        """Return the answer to a request, once a thread has come to it."""
        if self._jobs.qsize() >= WAITING:
            return http_error(503, f"{WAITING} requests wait here already ({self._name}); send this one again later")
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._jobs.put((request, future))
        return await future

    def stop(self) -> None:
        """End the threads; a request that is being answered may outlast this, but not the process."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(STOP_SECONDS)

    def _run(self) -> None:
        expected, spent, job = 1, 0.0, self._jobs.get()
        while job is not None:
            group, until = [self._started(job)], monotonic() + min(GATHER * spent, GATHER_SECONDS)
            with contextlib.suppress(queue.Empty):
                while len(group) < self._group:
                    wait = max(0.0, until - monotonic()) if len(group) < expected else 0.0
                    job = self._jobs.get(wait > 0, wait)
                    if job is None:
                        break
                    group.append(self._started(job))
            began = monotonic()
            self._finish(group)
            expected, spent = len(group), monotonic() - began
            job = job and self._jobs.get()

    def _started(self, job: Job) -> tuple[asyncio.Future[Answer], Started]:
        return job[1], self._gateway.start(job[0])

    def _finish(self, group: Sequence[tuple[asyncio.Future[Answer], Started]]) -> None:
        try:
            answers = self._gateway.finish([started for _, started in group])
        except Exception as error:
            answers = [http_error(500, f"the venue failed ({type(error).__name__})") for _ in group]
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            group[0][0].get_loop().call_soon_threadsafe(_deliver, [future for future, _ in group], answers)


def _deliver(futures: Sequence[asyncio.Future[Answer]], answers: Sequence[Answer]) -> None:
    for future, answer in zip(futures, answers, strict=True):
        if not future.done():  # a client that went away cancelled it
            future.set_result(answer)
