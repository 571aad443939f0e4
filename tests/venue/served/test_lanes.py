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
from toolkit.venue.served.lanes import Lane

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


def test_a_lane_that_is_full_answers_503_and_names_the_number(
    venue: LocalVenue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "WAITING", 0)

    async def run() -> Answer:
        lane = Lane("orders", venue.host.gateway)
        try:
            return await lane.answer(withdrawals(1)[0])
        finally:
            lane.stop()

    answer = asyncio.run(run())
    assert answer.status == 503
    assert json.loads(answer.body)["message"].startswith("0 requests wait here already (orders)")


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
