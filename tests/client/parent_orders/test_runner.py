"""How a session works on its parent orders: when, how often it asks, what it leaves to others, and the tables."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import httpx
import msgspec
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolkit
from tests.client.fake import META
from tests.client.parent_orders.test_twap import unanswered
from tests.support.network import Network
from toolkit.client.orders.delivery import Delivery
from toolkit.client.orders.intents import MemoryLedger
from toolkit.client.orders.ledger_file import SqliteLedger
from toolkit.client.parent_orders.parents import CHILD_COLUMNS, COLUMNS, ParentOrder
from toolkit.client.parent_orders.plan import CATCH_UP, Child, Plan
from toolkit.errors import InputError, SessionClosed, ToolkitError, WaitTimeout
from toolkit.orders import twap
from toolkit.products import ProductTable
from toolkit.session import Session
from toolkit.venue.local import LocalVenue


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    """A venue where only the test trades, with an ask and a bid that fill everything.

    Its actions take no time, as the tables are of exact instants.
    """
    with LocalVenue(clock="manual", market=False, settle_delay=0) as made:
        made.control.add_liquidity("BTCUSDC", "SELL", "62600", "5")
        made.control.add_liquidity("BTCUSDC", "BUY", "62400", "5")
        yield made


@pytest.fixture
def ledger() -> MemoryLedger:
    return MemoryLedger()


@pytest.fixture
def session(venue: LocalVenue, ledger: MemoryLedger) -> Iterator[Session]:
    with toolkit.connect(venue=venue, intents=ledger) as made:
        yield made


def ten(session: Session, **more: Any) -> ParentOrder:
    """Start a TWAP of 0.1 in ten child orders, one a minute."""
    made: ParentOrder = session.twap("BTCUSDC", "BUY", "0.1", "9m", slices=10, **more)
    return made


# tables


def test_the_tables_show_what_is_due_what_filled_and_nothing_where_nothing_is_known(
    session: Session, venue: LocalVenue
) -> None:
    began = venue.host.now_ms()
    running, short = ten(session), session.twap("BTCUSDC", "SELL", "0.002", "30s", slices=2)
    cancelled, unknown = ten(session).cancel(), session.twap("BTCUSDC", "BUY", "0.004", "1m", slices=2)
    venue.advance("59s")
    with unanswered(venue):
        venue.advance("1s")
    table = session.parent_orders()
    assert list(table.reset_index().columns) == list(COLUMNS)
    ids = [one.id for one in (running, short, cancelled, unknown)]
    assert table.index.tolist() == ids == [f"parent-{began + at}" for at in range(4)]
    assert [one.value // 10**6 for one in table["created"]] == [began] * 4
    plain = table.drop(columns=["created", "next", "message"]).astype(object).where(lambda frame: frame.notna(), None)
    assert plain.to_numpy().tolist() == [
        ["BTCUSDC", "BUY", 0.1, 0.01, 62_600.0, 2, 10, "RUNNING"],
        ["BTCUSDC", "SELL", 0.002, 0.002, 62_400.0, 2, 2, "FINISHED"],
        ["BTCUSDC", "BUY", 0.1, 0.01, 62_600.0, 1, 10, "CANCELED"],
        ["BTCUSDC", "BUY", 0.004, 0.002, 62_600.0, 2, 2, "RUNNING"],
    ]
    due = [None if pd.isna(one) else one.value // 10**6 - began for one in table["next"]]
    assert due == [120_000, None, None, None], "only what has another child order to place is due"
    children = running.children()
    assert list(children.reset_index().columns) == list(CHILD_COLUMNS)
    assert children["filled"].fillna(-1).tolist() == [0.01, -1]
    assert children["average_price"].fillna(-1).tolist() == [62_600, -1]
    assert [one.value // 10**6 - began for one in children["time"]] == [0, 60_000]
    assert session.parent_orders(index=None).shape == (4, len(COLUMNS))
    assert running.quantity == Decimal("0.1")


def test_a_child_without_a_fill_has_no_average_price(session: Session, venue: LocalVenue) -> None:
    parent = ten(session, price="62000")
    assert parent.children()["filled"].tolist() == [0]
    assert parent.children()["average_price"].isna().all()
    assert (parent.average_price, parent.filled, parent.remaining) == (None, 0, Decimal("0.1"))


def test_a_handle_shows_examples_and_says_its_message_in_words(session: Session, venue: LocalVenue) -> None:
    assert ">>>" in str(ParentOrder.cancel.__doc__)
    parent = ten(session)
    assert parent.describe().endswith("1 of 10, 0.010 filled at 62600")
    venue.control.add_fault("code", action="placeOrder", code=40280)
    venue.advance("1m")
    assert "40280" in parent.describe()


def test_an_entry_of_another_name_or_environment_is_no_parent_order_of_a_session(
    session: Session, ledger: MemoryLedger
) -> None:
    parent = ten(session)
    ledger.note("copied", None, replace(parent.plan, id="copied").dump())
    ledger.note("parent-7", None, replace(parent.plan, id="parent-7", environment="testnet").dump())
    assert session.parent_orders().index.tolist() == [parent.id]


# when and how often


def test_where_the_clock_stands_no_thread_is_started(session: Session, venue: LocalVenue) -> None:
    ten(session)
    venue.advance("1m")
    assert not [one for one in threading.enumerate() if one.name == "toolkit-parent-orders"]


# sessions


@pytest.mark.parametrize("begun", [True, False])
def test_a_closed_session_works_on_no_parent_order(venue: LocalVenue, begun: bool) -> None:
    ledger = MemoryLedger()
    with toolkit.connect(venue=venue, intents=ledger) as other:
        id = ten(other).id
    session = toolkit.connect(venue=venue, intents=ledger)
    begun_here = [ten(session)] if begun else []
    session.close()
    with pytest.raises(SessionClosed, match=r"parent_orders\.get: this session is closed"):
        session.parent_orders.get(id)
    for parent in begun_here:
        with pytest.raises(SessionClosed, match="so it can't work on a parent order"):
            parent.resume()
    assert set(session.parent_orders()["status"]) == {"INTERRUPTED"}
    assert venue.host.alarms == []
    venue.advance("10m")
    assert {Plan.load(text).done for name, text in ledger.notes().items() if name.startswith("parent-")} == {1}
    assert {Plan.load(text).owner for name, text in ledger.notes().items() if name.startswith("parent-")} == {""}


def test_one_that_a_closing_session_could_not_release_is_interrupted_once_it_is_late(
    venue: LocalVenue, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = toolkit.connect(venue=venue, intents=MemoryLedger())
    parent = ten(session)

    def locked(*_: Any) -> Any:
        raise ToolkitError("locked")

    with monkeypatch.context() as patch:
        patch.setattr(MemoryLedger, "note", locked)
        session.close()
    assert parent.status == "RUNNING"
    venue.advance("70s")
    assert parent.status == "RUNNING"
    venue.advance("1ms")
    assert parent.status == "INTERRUPTED"


def test_another_session_resumes_with_a_confirmation_only_and_a_cancelled_one_never(
    venue: LocalVenue, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = MemoryLedger()
    with toolkit.connect(venue=venue, intents=ledger) as first:
        parent = ten(first)
    with toolkit.connect(venue=venue, intents=ledger) as session:
        asked: list[dict[str, Any]] = []
        monkeypatch.setattr(Delivery, "require_confirmation", lambda _, text: asked.append(text))
        handle = session.parent_orders.get(parent.id)
        assert handle.resume(confirmed=True).plan.done == 2
        assert asked == []
        assert handle.resume().plan.done == 3
        assert [one["parent order"] for one in asked] == [handle.plan.twap.describe()]
        with pytest.raises(InputError, match="has ended") as caught:
            handle.cancel().resume(confirmed=True)
        assert caught.value.value == "CANCELED"
        assert handle.plan.done == 3


# where the clock runs


@pytest.fixture
def fast() -> Iterator[tuple[LocalVenue, Session]]:
    """A venue whose clock runs, and where anything is filled."""
    with (
        LocalVenue(clock="real", speed=600, market=False, settle_delay=0) as venue,
        toolkit.connect(venue=venue, intents=MemoryLedger()) as session,
    ):
        venue.control.add_liquidity("BTCUSDC", "SELL", "62600", "5")
        yield venue, session


def test_a_wait_ends_after_its_time_and_says_so(fast: tuple[LocalVenue, Session]) -> None:
    _, session = fast
    parent = session.twap("BTCUSDC", "BUY", "0.01", "9h", slices=10)
    with pytest.raises(WaitTimeout, match=r"not ended within 0 s: <ParentOrder parent-"):
        parent.wait(0)
    assert parent.cancel().wait() is parent
    assert parent.wait(0).status == "CANCELED"


def test_a_close_ends_the_thread_though_another_slice_is_due_in_hours(fast: tuple[LocalVenue, Session]) -> None:
    _, session = fast
    session.twap("BTCUSDC", "BUY", "0.01", "900h", slices=10)
    [thread] = [one for one in threading.enumerate() if one.name == "toolkit-parent-orders"]
    assert thread.daemon
    session.close()
    assert not thread.is_alive()


def test_a_close_waits_for_the_child_order_on_its_way_and_its_outcome_is_recorded() -> None:
    with LocalVenue(clock="real", speed=600, market=False, settle_delay=0) as venue:
        venue.control.add_liquidity("BTCUSDC", "SELL", "62600", "5")
        network, ledger = Network(venue), MemoryLedger()
        left, answered, closing = threading.Event(), threading.Event(), threading.Event()
        session = toolkit.connect(venue=venue, intents=ledger, transport=network)

        def held(request: httpx.Request) -> None:
            if request.method == "POST":
                left.set()
                assert closing.wait(30)
                closer.join(0.2)
                answered.set()

        def close() -> None:
            closing.set()
            session.close()
            assert answered.is_set(), "the session closed before the order on its way was answered"
            ended.append(True)

        ended, closer = list[bool](), threading.Thread(target=close)
        parent = session.twap("BTCUSDC", "BUY", "0.002", "30s", slices=2)
        network.after = held
        assert left.wait(30)
        closer.start()
        closer.join(30)
        assert ended == [True]
        [plan] = [Plan.load(text) for name, text in ledger.notes().items() if name == parent.id]
        assert [child.filled for child in plan.children] == [Decimal("0.001")] * 2
        assert [str(one.state) for one in ledger.all() if one.action == "placeOrder"] == ["ACCEPTED"] * 2
        assert not [one for one in threading.enumerate() if one.name == "toolkit-parent-orders"]


# the plan, and what is asked before one is recorded


def test_a_plan_counts_known_fills_and_what_may_be_filled() -> None:
    made = twap("BTCUSDC", "BUY", "0.1", "9m", slices=10)
    plan = Plan("parent-1", "local", "0x", None, 0, made, 60_000, "me")
    product = ProductTable.from_meta(META)["BTCUSDC"]
    assert (plan.filled, plan.average_price, plan.settled, plan.state, plan.done) == (0, None, True, "RUNNING", 0)
    assert plan.next_quantity(product) == Decimal("0.010")
    unknown = Child("one", 0, 1, Decimal("0.010"))
    known = Child("two", 0, 1, Decimal("0.010"), Decimal("0.004"), Decimal(250))
    plan = replace(plan, done=2, children=(unknown, known))
    assert (plan.filled, plan.average_price, plan.settled) == (Decimal("0.004"), Decimal(62_500), False)
    assert plan.next_quantity(product) == Decimal("0.016"), "0.03 are due, 0.01 may be filled and 0.004 are"
    late = replace(plan, done=9, children=(known,))
    assert late.next_quantity(product) == Decimal("0.033"), "three times an even child and a step"
    assert replace(plan, done=0).next_quantity(product) == 0
    for now_ms, due_ms in ((0, 120_000), (119_999, 120_000), (120_000, 180_000), (120_001, 180_001)):
        assert plan.advanced(now_ms, known, "why").due_ms == due_ms, now_ms
    after = plan.advanced(60_000, known, "why")
    assert (after.done, after.children, after.message) == (3, (unknown, known, known), "why")
    assert plan.advanced(60_000).children == plan.children


def test_only_too_many_slices_are_changed_and_any_other_mistake_is_raised(session: Session) -> None:
    with pytest.raises(InputError) as caught:
        session.twap("BTCUSDC", "BUY", "0.1", "5 parsecs")
    assert caught.value.field == "duration"
    with pytest.raises(InputError, match="too small") as caught:
        session.twap("SOLUSDC", "BUY", "0.05", "1h", slices=2)
    assert (caught.value.field, caught.value.nearest) == ("slices", ())
    with pytest.raises(InputError):
        session.twap("SOLUSDC", "BUY", "0.05", "1h")
    assert session.parent_orders().empty


def test_the_children_trade_for_the_vault_of_their_parent(session: Session, venue: LocalVenue) -> None:
    vault = session.exchange.vault_create("Ours", "2000").data["vault"]
    parent = session.twap("BTCUSDC", "BUY", "0.01", "9m", slices=10, vault_address=vault)
    venue.advance("9m")
    assert (parent.status, parent.plan.vault) == ("FINISHED", vault)
    assert session.positions().empty
    assert session.positions(account=vault, exact=True)["size"].tolist() == [Decimal("0.010")]


def test_one_that_was_cancelled_is_asked_about_until_its_fill_is_known_and_places_nothing(
    session: Session, venue: LocalVenue, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent, prepared = ten(session), list[object]()
    with unanswered(venue):
        venue.advance("1m")
        parent.cancel()
        prepare = Delivery.prepare

        def counted(self: Delivery, *args: Any, **more: Any) -> Any:
            prepared.append(args)
            return prepare(self, *args, **more)

        monkeypatch.setattr(Delivery, "prepare", counted)
        venue.advance("3m")
        assert (parent.plan.done, parent.plan.settled) == (2, False)
    venue.advance("3s")
    assert (parent.plan.done, parent.plan.settled, parent.filled) == (2, True, Decimal("0.02"))
    assert prepared == []


@pytest.mark.parametrize("words", ["it broke", ""])
def test_an_error_is_tried_again_after_two_seconds_and_its_words_or_its_kind_are_the_message(
    session: Session, venue: LocalVenue, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    parent = ten(session)

    def broken(*_: Any) -> Any:
        raise ValueError(*([words] if words else []))

    with monkeypatch.context() as patch:
        patch.setattr(Plan, "next_quantity", broken)
        venue.advance("1m")
        assert (parent.message, parent.plan.done) == (words or "ValueError", 1)
        venue.advance("1s")
    assert parent.plan.done == 1
    venue.advance("1s")
    assert (parent.message, parent.plan.done) == ("", 2)


def test_a_slice_without_anything_to_trade_is_over_and_prepares_no_order(
    session: Session, venue: LocalVenue, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = ten(session)
    with monkeypatch.context() as patch:
        patch.setattr(Plan, "next_quantity", lambda *_: Decimal(0))
        patch.setattr(Delivery, "prepare", lambda *_, **__: pytest.fail("there is nothing to trade"))
        venue.advance("1m")
    assert (parent.plan.done, len(parent.plan.children), parent.message) == (2, 1, "")


BTC = ProductTable.from_meta(META)["BTCUSDC"]


@given(steps=st.integers(2, 5000), slices=st.integers(2, 60), seed=st.integers(0, 2**32))
def test_children_never_add_up_to_more_and_are_never_much_larger(steps: int, slices: int, seed: int) -> None:
    random = Random(seed)
    slices = min(slices, steps)
    total = BTC.step_size * steps
    made = twap("BTCUSDC", "BUY", total, "10d", slices=slices)
    plan = Plan("parent-1", "local", "0x", None, 0, made, 0, "me")
    largest = CATCH_UP * (total / slices + 2 * BTC.step_size)
    for number in range(slices):
        quantity = plan.next_quantity(BTC)
        assert quantity % BTC.step_size == 0
        assert 0 <= quantity <= largest
        child = None
        if quantity and random.randrange(10):  # else it could not be placed
            known = random.choice([None, Decimal(0), quantity, BTC.step_size])
            child = Child(f"intent-{number}", plan.due_ms, plan.due_ms + 60_000, quantity, known)
        plan = plan.advanced(plan.due_ms, child)
        committed = sum((one.quantity if one.filled is None else one.filled for one in plan.children), Decimal(0))
        assert committed <= made.due(BTC, plan.done) <= total
    assert Plan.load(plan.dump()) == plan
    everything = replace(plan, children=tuple(replace(one, filled=one.quantity) for one in plan.children))
    assert everything.settled


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"id": 5}', "null", '{"id": "parent-1", "twap": {}}'])
def test_an_entry_of_another_kind_is_no_plan(text: str) -> None:
    with pytest.raises(msgspec.MsgspecError):
        Plan.load(text)


def test_notes_change_one_step_at_a_time_however_many_write_them(tmp_path: Path) -> None:
    path = tmp_path / "intents.sqlite"
    SqliteLedger(path).note("count", None, "0")

    def work() -> None:
        ledger = SqliteLedger(path)
        for _ in range(20):
            while True:
                before = ledger.notes()["count"]
                if ledger.note("count", before, str(int(before) + 1)):
                    break
        ledger.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert SqliteLedger(path).notes() == {"count": "80"}
