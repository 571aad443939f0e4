"""Lanes: orders that come together are written together, and none waits for one that does not come."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.venue.wallets import MASTER, Signer
from toolkit.venue.api.gateway import Answer, Incoming, Submission
from toolkit.venue.engine.commands import Outcome
from toolkit.venue.local import LocalVenue
from toolkit.venue.served import lanes
from toolkit.venue.served.lanes import FairQueue, Lane

CLIENTS, ROUNDS = 10, 5


class Groups:
    """Counts the groups that a venue is given, and holds the first one until it is let go."""

    def __init__(self, venue: LocalVenue) -> None:
        self.sizes: list[int] = []
        self.begun, self.let_go = threading.Event(), threading.Event()
        self._submit = venue.host.submit_many

    def __call__(self, submissions: Sequence[Submission]) -> list[Outcome | Exception]:
        self.sizes.append(len(submissions))
        self.begun.set()
        assert self.let_go.wait(30)
        return self._submit(submissions)


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(clock="manual", market=None, accounts=1) as made:
        yield made


@pytest.fixture
def groups(venue: LocalVenue, monkeypatch: pytest.MonkeyPatch) -> Groups:
    counted = Groups(venue)
    monkeypatch.setattr(venue.host, "submit_many", counted)
    return counted


def withdrawals(count: int) -> list[Incoming]:
    """Return signed requests."""
    signer, action = Signer(MASTER), {"type": "withdraw", "destination": MASTER.address, "amount": "2"}
    bodies = [json.dumps(signer.request(action)).encode() for _ in range(count)]
    return [Incoming("POST", "/api/v1/exchange", "", body) for body in bodies]


def answers_of(venue: LocalVenue, groups: Groups, clients: Sequence[Sequence[Incoming]]) -> list[Answer]:
    """Send one request; while it is applied, let all clients send theirs, each when its last one was answered."""

    async def client(lane: Lane, own: Sequence[Incoming]) -> list[Answer]:
        return [await lane.answer(request) for request in own]

    async def run() -> list[Answer]:
        lane = Lane("orders", venue.host.gateway, group=256)
        try:
            first = asyncio.create_task(lane.answer(withdrawals(1)[0]))
            await asyncio.to_thread(groups.begun.wait, 10)
            others = [asyncio.create_task(client(lane, own)) for own in clients]
            await asyncio.sleep(0)
            groups.let_go.set()
            found = await asyncio.gather(*others)
            return [await first, *(answer for own in found for answer in own)]
        finally:
            lane.stop()

    return asyncio.run(run())


def test_clients_that_are_answered_together_are_written_together_again(
    venue: LocalVenue, groups: Groups, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "GATHER", 1e9)
    monkeypatch.setattr(lanes, "GATHER_SECONDS", 30)
    requests = iter(withdrawals(1 + CLIENTS * ROUNDS)[1:])
    clients = [[next(requests) for _ in range(ROUNDS)] for _ in range(CLIENTS)]
    answers = answers_of(venue, groups, clients)
    assert [answer.code for answer in answers] == [0] * (1 + CLIENTS * ROUNDS)
    assert groups.sizes == [1] + [CLIENTS] * ROUNDS


def test_a_group_does_not_wait_long_for_clients_that_are_gone(
    venue: LocalVenue, groups: Groups, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "GATHER", 1e9)  # then GATHER_SECONDS are the bound
    requests = iter(withdrawals(2 + CLIENTS)[1:])
    clients = [[next(requests)] for _ in range(CLIENTS - 1)]
    answers = answers_of(venue, groups, [[next(requests), next(requests)], *clients])
    assert [answer.code for answer in answers] == [0] * (2 + CLIENTS)
    assert groups.sizes == [1, CLIENTS, 1]


@pytest.mark.parametrize(
    ("since", "stopped", "rests"), [(0.0, False, True), (0.0, True, False), (lanes.IN_USE_SECONDS + 1, False, False)]
)
def test_a_lane_rests_twice_as_long_as_it_worked_while_one_that_it_gives_way_to_is_in_use(
    venue: LocalVenue, monkeypatch: pytest.MonkeyPatch, since: float, stopped: bool, rests: bool
) -> None:
    slept: list[float] = []
    orders = Lane("orders", venue.host.gateway)
    slow = Lane("slow", venue.host.gateway, way=(Lane("idle", venue.host.gateway), orders))
    try:
        for each in (*slow._way, slow):
            each.stop() if stopped else None
        monkeypatch.setattr(lanes, "sleep", slept.append)
        monkeypatch.setattr(lanes, "monotonic", lambda: 1_000.0)
        times = iter((5.0, 5.0, 5.25, 5.25))
        monkeypatch.setattr(lanes, "thread_time", lambda: next(times))
        orders._came = 1_000.0 - since
        slow._pause()
        slow._pause()
        assert slept == ([10.0, 0.5] if rests else [])
    finally:
        for each in (*slow._way, slow):
            each.stop()


def test_a_venue_that_fails_is_answered_500_and_the_next_request_is_answered(
    venue: LocalVenue, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> list[Answer]:
        lane, found = Lane("orders", venue.host.gateway), list[Answer]()
        try:
            with monkeypatch.context() as broken:
                broken.setattr(venue.host.gateway, "finish", lambda started: 1 // 0)
                found.append(await lane.answer(withdrawals(1)[0]))
            found.append(await lane.answer(withdrawals(1)[0]))
            return found
        finally:
            lane.stop()

    failed, fine = asyncio.run(run())
    assert (failed.status, json.loads(failed.body)["message"]) == (500, "the venue failed (ZeroDivisionError)")
    assert fine.code == 0


class Scripted:
    """A queue whose jobs come at given times, which a lane waits for on a clock that only waiting moves."""

    def __init__(self, at: Sequence[float]) -> None:
        self.now, self.count, self.stopped = 0.0, 0, False
        self.asked: list[float | None] = []
        self._at = list(at)

    def get(self, seconds: float | None = None) -> Any:
        """Return the next job when it comes within the wait."""
        self.asked.append(None if seconds is None else round(seconds, 6))
        if not self._at or (seconds is not None and self._at[0] > self.now + seconds):
            self.now += seconds or 0.0
            return None
        self.now = max(self.now, self._at.pop(0))
        return self.now, None


class Steady:
    """A gateway that takes a given time for each group, and to read each request, on that clock."""

    def __init__(self, jobs: Scripted, apply_seconds: float, read_seconds: float = 0.0) -> None:
        self._jobs, self._apply, self._read = jobs, apply_seconds, read_seconds
        self.groups: list[list[float]] = []

    def start(self, came: float) -> float:
        self._jobs.now += self._read
        return came

    def finish(self, group: list[float]) -> list[float]:
        self.groups.append([round(came, 6) for came in group])
        self._jobs.now += self._apply
        return group


@pytest.mark.parametrize(
    ("group", "at", "apply", "read", "groups", "asked"),
    [
        # What waits already is taken together, up to the size of a group. Nothing more is waited for.
        (3, [0, 0, 0, 0], 0.01, 0.0, [[0, 0, 0], [0.01]], [None, 0, 0, None, 0.005, None]),
        # A group as large as the one before is waited for half as long as that one took, and no longer.
        (9, [0, 0, 0.03, 0.034, 0.036], 0.01, 0.0, [[0, 0], [0.03, 0.034], [0.044]],
         [None, 0, 0, None, 0.005, 0, None, 0.005, None]),
        # The longest wait is 20 ms.
        (9, [0, 0, 1.0, 1.0201], 1.0, 0.0, [[0, 0], [1.0], [2.02]], [None, 0, 0, None, 0.02, None, 0, None]),
        # What waits is taken for 20 ms at most, even if more and more comes.
        (9, [0] * 9, 0.01, 0.008, [[0, 0.008, 0.016], [0.034, 0.042, 0.05], [0.068, 0.076, 0.084]],
         [None, 0, 0, None, 0, 0, None, 0, 0, None]),
        # A group that waited for others goes on with the time that is left of its wait.
        (9, [0, 0, 0, 0.1, 0.103, 0.106], 0.01, 0.0, [[0, 0, 0], [0.1, 0.103], [0.115]],
         [None, 0, 0, 0, None, 0.005, 0.002, None, 0.005, None]),
        # A lane that takes one at a time asks for one at a time.
        (1, [0, 0, 0], 0.01, 0.0, [[0], [0.01], [0.02]], [None] * 4),
    ],
)  # fmt: skip
def test_a_group_waits_for_as_many_as_before_and_takes_what_waits(
    monkeypatch: pytest.MonkeyPatch, group: int, at: list[float], apply: float, read: float,
    groups: list[list[float]], asked: list[float | None],
) -> None:  # fmt: skip
    jobs = Scripted(at)
    gateway = Steady(jobs, apply, read)
    monkeypatch.setattr(lanes, "monotonic", lambda: jobs.now)
    paused: list[float] = []
    lane = Lane("test", gateway, threads=0, group=group)  # type: ignore[arg-type]
    monkeypatch.setattr(lane, "_jobs", jobs)
    monkeypatch.setattr(lane, "_pause", lambda: paused.append(round(jobs.now, 6)))
    monkeypatch.setattr(lane, "_finish", lambda found: gateway.finish([started for _, started in found]))
    monkeypatch.setattr(lane, "_started", lambda job: (job[1], gateway.start(job[0])))
    lane._run()
    assert gateway.groups == groups
    assert jobs.asked == asked
    assert len(paused) == len(groups)


def test_a_queue_that_was_ended_gives_nothing_more_and_wakes_who_waits() -> None:
    jobs, taken = FairQueue(), list[object]()
    waiting = [threading.Thread(target=lambda: taken.append(jobs.get()), daemon=True) for _ in range(2)]
    for each in waiting:
        each.start()
    jobs.put("a", "", "one")  # type: ignore[arg-type]
    while not taken:
        waiting[0].join(0.001)
    assert (taken, jobs.count) == (["one"], 0)
    jobs.stop()
    for each in waiting:
        each.join(20)
    assert taken == ["one", None]
    jobs.put("a", "", "two")  # type: ignore[arg-type]
    assert (jobs.get(), jobs.get(0), jobs.count) == (None, None, 1)


@pytest.mark.parametrize("waiting", [1_999, 2_000])
def test_2000_requests_may_wait_in_a_lane(venue: LocalVenue, waiting: int) -> None:
    async def run() -> None:
        lane = Lane("orders", venue.host.gateway, threads=0)
        lane._jobs.count = waiting
        asked = asyncio.create_task(lane.answer(withdrawals(1)[0]))
        await asyncio.sleep(0)
        assert (asked.done(), lane._jobs.count) == (waiting == 2_000, 2_000)
        if asked.done():
            answer = asked.result()
            assert answer.status == 503
            said = "2000 requests wait here already (orders). Send this one again later"
            assert json.loads(answer.body)["message"] == said
        asked.cancel()

    asyncio.run(run())


def test_a_client_that_went_away_keeps_no_answer_from_the_others_of_its_group(
    venue: LocalVenue, groups: Groups
) -> None:
    async def run() -> tuple[bool, list[int]]:
        lane = Lane("orders", venue.host.gateway, group=256)
        requests = withdrawals(4)
        try:
            first = asyncio.create_task(lane.answer(requests[0]))
            await asyncio.to_thread(groups.begun.wait, 10)
            gone, *others = [asyncio.create_task(lane.answer(each)) for each in requests[1:]]
            await asyncio.sleep(0)
            gone.cancel()
            groups.let_go.set()
            return gone.cancelled(), [(await each).code for each in (first, *others)]
        finally:
            lane.stop()

    assert asyncio.run(asyncio.wait_for(run(), 20))[1] == [0, 0, 0]


@pytest.mark.parametrize(("since", "rests"), [(0.19, True), (0.21, False), (None, False)])
def test_a_lane_is_in_use_for_a_fifth_of_a_second_after_a_request_and_not_before_its_first(
    venue: LocalVenue, monkeypatch: pytest.MonkeyPatch, since: float | None, rests: bool
) -> None:
    slept: list[float] = []
    used = Lane("used", venue.host.gateway, threads=0)
    slow = Lane("slow", venue.host.gateway, threads=0, way=(used,))
    monkeypatch.setattr(lanes, "sleep", slept.append)
    monkeypatch.setattr(lanes, "monotonic", lambda: since or 0.0)
    monkeypatch.setattr(lanes, "thread_time", lambda: 0.25)
    if since is not None:
        used._came = 0.0
    slow._pause()
    assert slept == ([0.5] if rests else [])
