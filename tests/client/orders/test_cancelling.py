"""`cancel_all` leaves nothing that was open when it was called, and says what happened meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Any, ClassVar

import httpx
import pytest

import toolkit
from tests.client.fake import MASTER, NOW, FakeVenue, session
from toolkit import errors, orders
from toolkit.client.io.flow import Elapsed, Fetch, Now, RandomFloat, Reply, Sleep
from toolkit.client.io.transport import Retry
from toolkit.venue.local import LocalVenue


class Between(httpx.BaseTransport):
    """Passes requests on, but not those with a word in `swallow`; before the n-th cancelAll something happens."""

    def __init__(self, venue: LocalVenue, events: dict[int, Callable[[], Any]], swallow: bytes = b"?") -> None:
        self.inner: httpx.BaseTransport = venue.transport()  # type: ignore[assignment]
        self.events, self.swallow, self.seen = events, swallow, 0
        self.rounds = 0
        self.by_id: list[tuple[int, int]] = []
        """Reads of the open orders before each cancelOrder, and the number of its cancels."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        content = request.read()
        if b'"cancelAll"' in content:
            self.seen += 1
            self.events.get(self.seen, lambda: None)()
        if b'"cancelOrder"' in content:
            self.by_id.append((self.rounds, len(json.loads(content)["action"]["cancels"])))
        self.rounds += b"status=NEW" in request.url.query
        if self.swallow in content:
            data = {"txHash": "0x1", "txCode": 0, "txMsg": "success"}
            return httpx.Response(200, json={"code": 0, "message": "success", "data": data})
        return self.inner.handle_request(request)


def alice(venue: LocalVenue, events: dict[int, Callable[[], Any]], **options: Any) -> toolkit.Session:
    transport = Between(venue, events, **options)
    retry = Retry(attempts=2, base=0.0, longest=0.0)
    return toolkit.connect(venue=venue, transport=transport, retry=retry)


def open_ids(session: toolkit.Session) -> set[int]:
    return {int(number) for number in session.orders(open=True)["order_id"]}


def test_every_page_of_open_orders_is_cancelled(venue: LocalVenue) -> None:
    with toolkit.connect(venue=venue) as session:
        old = session.buy("ETHUSDC", "0.1", price="1000")
        for at in range(60):
            session.place([orders.buy("BTCUSDC", "0.001", price=str(50_000 - 10 * at - step)) for step in range(10)])
        assert len(open_ids(session)) == 601
        done = session.cancel_all()
        assert open_ids(session) == set()
        assert old.order_id in {result.order_id for receipt in done for result in receipt.results}
        assert (done.triggered, done.filled) == ((), {})


@pytest.mark.parametrize("moment", [1, 2])
def test_a_waiting_order_that_triggers_in_between_is_cancelled_and_named(
    venue: LocalVenue, bob: toolkit.Session, moment: int
) -> None:
    venue.control.set_oracle("BTCUSDC", "60000")
    session = alice(venue, {})
    session.buy("BTCUSDC", "0.02", price="60000")
    bob.sell("BTCUSDC", "0.02", price="60000")
    take = session.place(
        orders.take_profit("BTCUSDC", "SELL", "60500", quantity="0.01", price="70000", trigger_by="MARK_PRICE")
    )
    resting = session.buy("BTCUSDC", "0.01", price="50000")

    def trigger() -> None:
        venue.control.set_oracle("BTCUSDC", "61000")
        venue.advance("10s")

    with alice(venue, {moment: trigger}) as second:
        done = second.cancel_all("BTCUSDC")
        assert open_ids(second) == set()
    expected = () if moment == 2 else (take.order_id,)
    assert done.triggered == expected
    assert resting.order_id in {result.order_id for receipt in done for result in receipt.results}
    assert ("triggered" in repr(done)) == bool(expected)
    session.close()


def test_what_was_filled_before_is_not_counted(venue: LocalVenue, bob: toolkit.Session) -> None:
    with alice(venue, {1: lambda: bob.sell("BTCUSDC", "0.004", price="60000")}) as session:
        early, late = (session.buy("BTCUSDC", "0.01", price=price) for price in ("60000", "59000"))
        bob.sell("BTCUSDC", "0.003", price="60000")
        done = session.cancel_all()
        assert done.filled == {early.order_id: Decimal("0.004")}
        assert f"0.004 of order {early.order_id} filled" in repr(done)
        assert late.order_id in {result.order_id for receipt in done for result in receipt.results}


class Jitter(Retry):
    """Never waits, and notes the random part of each wait."""

    drawn: ClassVar[list[float]] = []

    def wait(self, attempt: int, random_float: float, retry_after: float | None = None) -> float:
        self.drawn.append(random_float)
        return 0.0


def test_what_stays_open_is_cancelled_by_id_twice_in_batches_of_fifty(venue: LocalVenue) -> None:
    transport = Between(venue, {}, swallow=b'"cancel')
    with toolkit.connect(venue=venue, transport=transport, retry=Jitter()) as session:
        for at in range(6):
            session.place([orders.buy("BTCUSDC", "0.001", price=str(50_000 - 10 * at - step)) for step in range(10)])
        Jitter.drawn.clear()
        with pytest.raises(errors.OutcomeUnknown, match="cancel_all: 60 orders are still open"):
            session.cancel_all()
    assert transport.seen == 2, "waiting orders, then the others"
    # The first read shows what is open; the first of eight more, and the one in the middle, are acted upon.
    assert transport.by_id == [(2, 50), (2, 10), (6, 50), (6, 10)]
    assert transport.rounds == 9
    assert len(Jitter.drawn) == 8
    assert all(0.5 <= drawn <= 1 for drawn in Jitter.drawn), "half of the jitter is left out"


@pytest.mark.parametrize(("conditional", "requests"), [(None, 2), (True, 1), (False, 1)])
def test_waiting_orders_and_others_are_cancelled_apart(venue: LocalVenue, conditional: Any, requests: int) -> None:
    transport = Between(venue, {})
    with toolkit.connect(venue=venue, transport=transport) as session:
        kept = session.buy("ETHUSDC", "0.1", price="1000")
        resting = session.buy("BTCUSDC", "0.01", price="50000")
        done = session.cancel_all("BTCUSDC", conditional=conditional)
        assert open_ids(session) == ({kept.order_id} | ({resting.order_id} if conditional else set()))
    assert (transport.seen, len(done), transport.by_id) == (requests, requests, [])


WAITS, OPEN = "ORDER_STATUS_UNTRIGGERED", "NEW"


@dataclass
class Driven:
    """What a cancellation of all of product 1 did: the actions, its waits, the reads of ended orders, and its end."""

    actions: list[dict[str, Any]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    end: Any = None


def drive(
    rounds: Sequence[Mapping[int, str]],
    ended: Mapping[int, Any] = MappingProxyType({}),
    answers: Sequence[Sequence[int]] = (),
    code: int = 0,
    shown: Mapping[str, str] = MappingProxyType({}),
) -> Driven:
    """Run it by hand: what is open at each look, `filledQty` of the ended, the ids of each answer; or its BadAnswer."""
    s = session(FakeVenue(), settle_timeout=0)
    s._delivery.retry = Retry(base=1.0, cap=4.0)
    done, named, looks, answer = Driven(), iter(answers), iter(rounds), None
    now: Mapping[int, str] = {}
    flow = s._calls.cancel_all(MASTER, 1, None, None)
    try:
        while True:
            request: Any = flow.send(answer)
            query = dict(request.query) if isinstance(request, Fetch) else {}
            rows: Any = []
            if not isinstance(request, Fetch):
                if isinstance(request, Sleep):
                    done.waits.append(request.seconds)
                answer = {Now: NOW, Elapsed: 5, RandomFloat: 0.5}.get(type(request))
                continue
            if request.method == "POST":
                done.actions.append(json.loads(request.body)["action"])
                results = [{"ordId": number, "txCode": 0} for number in next(named, ())]
                rows = {"txHash": "0x1", "txCode": 0, "results": results}
            elif "status" in query:
                now = next(looks) if query["status"] == WAITS else now
                open_rows = [{"ordId": str(at), "symbol": "1", **shown} for at in now if now[at] == query["status"]]
                rows = {"total": len(open_rows), "items": open_rows}
            else:
                done.asked.append(query)
                rows = {"total": len(ended), "items": [{"ordId": at, "filledQty": word} for at, word in ended.items()]}
            refused = code if b'"cancelOrder"' in request.body else 0
            answer = Reply(200, json.dumps({"code": refused, "message": "m", "data": rows}).encode())
    except StopIteration as over:
        done.end = over.value
    except errors.BadAnswer as error:
        done.end = error
    return done


def test_each_wait_for_orders_to_end_is_at_least_half_of_what_the_policy_says() -> None:
    assert drive([{7: OPEN}] * 4 + [{}]).waits == [0.75, 1.5, 3.0]


@pytest.mark.parametrize(
    ("rounds", "answers", "triggered"),
    [
        ([{7: WAITS}, {7: WAITS}, {}], [], ()),  # it stayed open, but waiting
        ([{7: WAITS}, {7: OPEN}, {}], [], (7,)),
        ([{7: OPEN}, {7: OPEN}, {}], [], ()),
        ([{7: OPEN}, {7: WAITS}, {}], [], ()),
        ([{7: WAITS}, {}], [[7], []], ()),  # cancelled while it waited
        ([{7: WAITS}, {}], [[], [7]], (7,)),  # cancelled with the ordinary orders
        ([{7: OPEN}, {}], [[], [7]], ()),
        ([{8: OPEN, 9: WAITS, 7: WAITS}, {8: OPEN, 9: OPEN, 7: OPEN}, {}], [], (7, 9)),
    ],
)
def test_an_order_has_triggered_if_it_waited_and_does_no_more(
    rounds: list[dict[int, str]], answers: list[list[int]], triggered: tuple[int, ...]
) -> None:
    done = drive(rounds, answers=answers)
    assert done.end.triggered == triggered
    assert [each.get("conditionalOrder") for each in done.actions[:2]] == [True, False]


def test_a_waiting_order_that_was_filled_has_triggered() -> None:
    done = drive([{7: WAITS, 8: OPEN}, {}], {7: "0.2", 8: "0.1"})
    assert (done.end.triggered, done.end.filled) == ((7,), {7: Decimal("0.2"), 8: Decimal("0.1")})


@pytest.mark.parametrize("nothing", [None, "", "0", "0.000"])
def test_an_order_without_a_filled_quantity_is_not_filled(nothing: Any) -> None:
    assert drive([{7: OPEN}, {}], {7: nothing}).end.filled == {}


def test_an_order_with_a_damaged_amount_is_cancelled_before_that_is_said() -> None:
    damaged = drive([{7: OPEN}, {}], shown={"filledQty": "?"})
    assert [each["type"] for each in damaged.actions] == ["cancelAll", "cancelAll"]
    assert "an amount of one of them can't be read" in str(damaged.end)
    ended = str(drive([{7: OPEN}, {}], {7: "?"}).end)
    assert ended.startswith("cancel_all: the orders were cancelled, but what was filled meanwhile is not known.")
    assert "filledQty '?' is not a quantity, in row 1 of 1" in ended
    assert drive([{7: OPEN}, {}], shown={"createTime": "?"}).end.filled == {}, "of which nothing is decided"


def test_ended_orders_are_read_from_a_minute_before_the_call_and_then_by_id() -> None:
    whole = drive([{7: OPEN, 8: OPEN}, {}], {7: None, 8: "0.1"})
    assert {each["startTime"] for each in whole.asked if each} == {str(NOW - 60_000)}
    part = drive([{7: OPEN, 8: OPEN}, {}], {8: "0.1"})
    assert [each["orderId"] for each in part.asked if "orderId" in each] == ["7"]
    assert part.end.filled == {8: Decimal("0.1")}
    assert drive([{}, {}]).asked == []


def test_what_is_refused_by_id_may_have_ended_by_itself() -> None:
    done = drive([{7: OPEN, 8: OPEN}, {8: OPEN}, {}], code=40230)
    assert [each["type"] for each in done.actions] == ["cancelAll", "cancelAll", "cancelOrder"]
    assert done.actions[-1]["cancels"] == [{"symbolCode": "1", "ordId": "8"}]
    assert len(done.end) == 2
