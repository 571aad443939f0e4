"""Lanes: orders that come together are written together, and none waits for one that does not come."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence

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
    assert sum(groups.sizes) == 2 + CLIENTS, "in as many groups as the machine's load makes of them"


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


def test_2000_requests_may_wait_in_a_lane(venue: LocalVenue) -> None:
    async def run() -> None:
        lane = Lane("orders", venue.host.gateway, threads=0)
        [request] = withdrawals(1)
        waiting = [asyncio.create_task(lane.answer(request)) for _ in range(2_001)]
        await asyncio.sleep(0)
        assert [asked.done() for asked in waiting] == [False] * 2_000 + [True]
        answer = waiting[-1].result()
        assert answer.status == 503
        said = "2000 requests wait here already (orders). Send this one again later"
        assert json.loads(answer.body)["message"] == said
        for asked in waiting:
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
