"""Thirty students at once, from the join to the leaderboard: nothing is lost, and a long query holds nobody up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

import toolkit
from toolkit.classroom.class_routes import serving
from toolkit.classroom.lesson import Lesson
from toolkit.classroom.roster import Roster, names_of
from toolkit.venue.served.boundary import ServeSettings


def simulated(students: int, orders: int, *, market: bool) -> dict[str, float]:
    """Let a class join and trade at once, one of them asking for the whole history; return what was measured."""
    lesson = Lesson.create(Roster.create(names_of(students)), market=market, seed=3)
    lesson.venues[0].control.add_liquidity("BTCUSDC", "SELL", "64000", "50")
    spent, errors, asked = [], [], []
    lock, go = threading.Lock(), threading.Barrier(students)
    try:
        with serving(lesson, 0, settings=ServeSettings()) as served:
            links = [f"{served.base_url}/join/{student.code}" for student in lesson.roster.students]

            def student(link: str, long_query: bool) -> None:
                with toolkit.join(link, timeout=60) as session:
                    book = session.stream.order_book("BTCUSDC")
                    book.wait(lambda live: live.frame().size, timeout=60)
                    go.wait(60)
                    if long_query:
                        began = time.perf_counter()
                        asked.append(len(session.klines("ETHUSDC", "1w")))
                        asked.append(time.perf_counter() - began)
                    for number in range(orders):
                        began = time.perf_counter()
                        receipt = session.buy("BTCUSDC", "0.001", price=str(50_000 + number), tif="GTC")
                        with lock:
                            spent.append(time.perf_counter() - began)
                        assert receipt

            threads = [
                threading.Thread(target=noted, args=(errors, lambda link=link, at=at: student(link, at == 0)))
                for at, link in enumerate(links)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(100)
            accounts = lesson.venues[0].host.core.state.accounts
            resting = sum(len(accounts[each.address.lower()].orders) for each in lesson.roster.students)
            assert errors == []
            assert len(lesson.leaderboard()) == students
            assert all(row["seen"] for row in lesson.who())
    finally:
        lesson.close()
    spent.sort()
    return {
        "lost": students * orders - resting,
        "p50_ms": spent[len(spent) // 2] * 1000,
        "p99_ms": spent[int(len(spent) * 0.99)] * 1000,
        "long_query_s": asked[1],
    }


def noted(errors: list[BaseException], work: Callable[[], object]) -> None:
    try:
        work()
    except BaseException as error:
        errors.append(error)


def test_a_small_class_loses_no_order() -> None:
    assert simulated(6, 3, market=False)["lost"] == 0


@pytest.mark.slow
def test_a_class_of_thirty_loses_no_order() -> None:
    measured = simulated(30, 10, market=True)
    print(measured)
    assert measured["lost"] == 0
