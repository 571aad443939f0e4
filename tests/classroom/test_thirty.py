"""Many students at once, from the join to the leaderboard: nothing is lost."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import toolkit
from toolkit.classroom.room import Room


@pytest.mark.parametrize(("students", "orders"), [(6, 3), pytest.param(30, 10, marks=pytest.mark.slow)])
def test_a_class_that_trades_at_once_loses_no_order(students: int, orders: int) -> None:
    names = [f"S{number}" for number in range(students)]
    go = threading.Barrier(students)

    def study(room: Room, name: str) -> int:
        with toolkit.join(room.links[name], timeout=60) as session:
            session.stream.order_book("BTCUSDC").wait(lambda live: live.frame().size, timeout=60)
            go.wait(60)
            if name == names[0]:  # while the others trade, one asks for the whole history
                assert len(session.klines("ETHUSDC", "1w"))
            return sum(bool(session.buy("BTCUSDC", "0.001", price=str(50_000 + number))) for number in range(orders))

    with toolkit.class_room(names, seed=3) as room, ThreadPoolExecutor(students) as pool:
        assert list(pool.map(lambda name: study(room, name), names)) == [orders] * students
        accounts = room.lesson.venues[0].host.core.state.accounts
        resting = [len(accounts[each.address.lower()].orders) for each in room.lesson.roster.students]
        assert resting == [orders] * students
        assert len(room.leaderboard()) == students
        assert room.who()["seen"].notna().all()
