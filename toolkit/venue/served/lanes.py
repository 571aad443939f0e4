"""Threads on which a server's requests are answered, so that its event loop is never held up.

A lane takes requests in turn from each address, and of an address from each account, so that many of one client delay
the others' by one. A lane that takes several together reads them as they come and has them applied as a group, which
the journal writes in one piece. Clients that were answered together tend to ask together again. A group waits a
moment until it is as large as the one before: two halves would take two syncs of the disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Sequence
from time import monotonic, sleep, thread_time

from ..api.gateway import Answer, Gateway, Incoming, Started, http_error

Job = tuple[Incoming, asyncio.Future[Answer]]

WAITING = 2_000
"""Requests that may wait in one lane. More are answered 503."""
GATHER = 0.5
"""How long a group waits for more requests, as a share of the time that the one before took to be applied."""
GATHER_SECONDS = 0.02
"""The longest such wait, and how long a group takes in what waits already."""
REST = 2.0
IN_USE_SECONDS = 0.2
"""A lane is in use for this long after it took a request."""
STOP_SECONDS = 0.4
"""How long stopping waits for the requests that are being answered. The threads are daemons."""


class FairQueue:
    """Jobs that wait, taken in turn from each address, and of an address in turn from each account."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[str, dict[str, deque[Job]]] = {}
        self.stopped = False
        self.count = 0

    def put(self, address: str, account: str, job: Job) -> None:
        """Add a job.

        Parameters
        ----------
        address : str
            Address of the client.
        account : str
            Account that the request is probably for, "" if unknown.
        job : Job
            Request, and the future of its answer.
        """
        with self._changed:
            self._waiting.setdefault(address, {}).setdefault(account, deque()).append(job)
            self.count += 1
            self._changed.notify()

    def get(self, seconds: float | None = None) -> Job | None:
        """Return the next job.

        It returns `None` when there is none in time, or at the end.

        Parameters
        ----------
        seconds : float or None, optional
            Longest wait (default: `None`, without end).
        """
        with self._changed:
            self._changed.wait_for(lambda: self.count or self.stopped, seconds)
            if self.stopped or not self.count:
                return None
            self.count -= 1
            address = next(iter(self._waiting))
            # Taken out and put back behind the others: a dictionary keeps the order of insertion, so each address has
            # its turn.
            accounts = self._waiting.pop(address)
            account = next(iter(accounts))
            jobs = accounts.pop(account)
            job = jobs.popleft()
            if jobs:
                accounts[account] = jobs  # behind the others
            if accounts:
                self._waiting[address] = accounts
            return job

    def stop(self) -> None:
        """End it: `get` returns None from now on."""
        with self._changed:
            self.stopped = True
            self._changed.notify_all()


class Places:
    """A limited number of simultaneous holders for each key.

    Further ones wait, in order.

    Parameters
    ----------
    count : int
        Number of places of each key.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._held: dict[object, tuple[asyncio.Semaphore, list[None]]] = {}

    @contextlib.asynccontextmanager
    async def of(self, key: object) -> AsyncIterator[None]:
        """Hold one of the places of a key.

        Parameters
        ----------
        key : object
            Key of the holder, such as an address with an account.
        """
        # Semaphores exist only while they are used, so that many addresses do not fill the memory.
        free, users = self._held.setdefault(key, (asyncio.Semaphore(self._count), []))
        users.append(None)
        try:
            async with free:
                yield
        finally:
            users.pop()
            if not users:
                del self._held[key]


class Lane:
    """Answers requests on separate threads.

    While those that it gives way to are in use, it rests after each slice of work, REST times as long as that took.

    Parameters
    ----------
    name : str
        Name of the lane, for its threads and for messages.
    gateway : Gateway
        Gateway of the venue.
    threads : int, optional
        Number of threads (default: 1).
    group : int, optional
        Largest number of requests that are applied together (default: 1).
    way : sequence of Lane, optional
        Lanes that it gives way to (default: none).
    """

    def __init__(
        self, name: str, gateway: Gateway, *, threads: int = 1, group: int = 1, way: Sequence[Lane] = ()
    ) -> None:
        self._name = name
        self._gateway = gateway
        self._group = group
        self._way = way
        self._used = 0.0
        self._came = -IN_USE_SECONDS
        self._jobs = FairQueue()
        self._threads = [
            threading.Thread(target=self._run, name=f"toolkit-venue-{name}", daemon=True) for _ in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    async def answer(self, request: Incoming, whose: tuple[str, str] = ("", "")) -> Answer:
        """Return the answer to a request, once a thread has come to it.

        Parameters
        ----------
        request : Incoming
            The request.
        whose : tuple of (str, str), optional
            Seat or address that it came from, and the account that it is probably for (default: unknown).
        """
        if self._jobs.count >= WAITING:
            return http_error(503, f"{WAITING} requests wait here already ({self._name}). Send this one again later")
        request.pause = self._pause
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._jobs.put(whose[0] or request.peer, whose[1], (request, future))
        return await future

    def stop(self) -> None:
        """End the threads. A request that is being answered may outlast this, but not the process."""
        self._jobs.stop()
        for thread in self._threads:
            thread.join(STOP_SECONDS)

    def _pause(self) -> None:
        spent, self._used = thread_time() - self._used, thread_time()
        # The interpreter runs one thread at a time. A long answer that never rested would take half of it.
        if any(lane._came > monotonic() - IN_USE_SECONDS for lane in self._way) and not self._jobs.stopped:
            sleep(REST * spent)

    def _run(self) -> None:
        expected, spent = 1, 0.0
        while (job := self._jobs.get()) is not None:
            came = self._came = monotonic()
            # Signatures are recovered as requests come, while the others of the group are awaited.
            group, until = [self._started(job)], came + min(GATHER * spent, GATHER_SECONDS)
            while len(group) < self._group and (len(group) < expected or monotonic() < came + GATHER_SECONDS):
                more = self._jobs.get(max(0.0, until - monotonic()) if len(group) < expected else 0.0)
                if more is None:
                    break
                group.append(self._started(more))
            began = monotonic()
            self._finish(group)
            expected, spent = len(group), monotonic() - began
            self._pause()

    def _started(self, job: Job) -> tuple[asyncio.Future[Answer], Started]:
        return job[1], self._gateway.start(job[0])

    def _finish(self, group: Sequence[tuple[asyncio.Future[Answer], Started]]) -> None:
        try:
            answers = self._gateway.finish([started for _, started in group])
        # `finish` does not raise. Without this a bug would leave clients without an answer.
        except Exception as error:
            answers = [http_error(500, f"the venue failed ({type(error).__name__})") for _ in group]
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            group[0][0].get_loop().call_soon_threadsafe(_deliver, [future for future, _ in group], answers)


def _deliver(futures: Sequence[asyncio.Future[Answer]], answers: Sequence[Answer]) -> None:
    for future, answer in zip(futures, answers, strict=True):
        if not future.done():  # a client that went away cancelled it
            future.set_result(answer)
