"""Threads on which a server's requests are answered, so that its event loop is never held up.

A lane takes requests in order. One that takes several at once passes them on as a group, which the journal then writes
at once: while one group is written, the next one gathers.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..api.gateway import Answer, Request, enveloped

if TYPE_CHECKING:
    Job = tuple[Request, asyncio.Future[Answer]]

WAITING = 2_000
"""Requests that may wait in one lane; more are answered 503."""
STOP_SECONDS = 0.4
"""How long stopping waits for the requests that are being answered; the threads are daemons."""


class Lane:
    """Answers requests with `work(requests) -> answers` on `threads` threads, up to `group` at a time."""

    def __init__(
        self,
        name: str,
        work: Callable[[Sequence[Request]], list[Answer]],
        *,
        threads: int = 1,
        group: int = 1,
    ) -> None:
        self._name = name
        self._work = work
        self._group = group
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, name=f"toolkit-venue-{name}", daemon=True) for _ in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    async def answer(self, request: Request) -> Answer:
        """Return the answer to a request, once a thread has come to it."""
        if self._jobs.qsize() >= WAITING:
            return enveloped(
                503, 503, f"{WAITING} requests wait here already ({self._name}); send this one again later"
            )
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
        ended = False
        while not ended:
            job = self._jobs.get()
            jobs = [] if job is None else [job]
            ended = job is None
            with contextlib.suppress(queue.Empty):
                while not ended and len(jobs) < self._group:
                    following = self._jobs.get_nowait()
                    ended = following is None
                    if following is not None:
                        jobs.append(following)
            if jobs:
                self._answer(jobs)

    def _answer(self, jobs: Sequence[Job]) -> None:
        try:
            answers = self._work([request for request, _ in jobs])
        except Exception as error:
            answers = [enveloped(500, 500, f"the venue failed ({type(error).__name__})") for _ in jobs]
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            jobs[0][1].get_loop().call_soon_threadsafe(_deliver, jobs, answers)


def _deliver(jobs: Sequence[Job], answers: Sequence[Answer]) -> None:
    for (_, future), answer in zip(jobs, answers, strict=True):
        if not future.done():  # a client that went away cancelled it
            future.set_result(answer)
