"""TWAPs: child orders at their times, each once, whatever stops; caught up, cancelled, and resumed after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest

import toolkit
from tests.client.fake import FakeVenue
from tests.client.fake import session as fake_session
from tests.support.late import FILLS, LIES, STATES, Late
from toolkit import orders
from toolkit.client.orders.intents import MemoryLedger
from toolkit.client.orders.ledger_file import SqliteLedger
from toolkit.client.parent_orders.plan import Plan
from toolkit.errors import CheckFailed, DataWarning, InputError, LimitReached, StoredFileError, ToolkitError
from toolkit.orders import twap
from toolkit.session import Session
from toolkit.venue.local import LocalVenue


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    """A venue where nobody trades but the test, with an ask and a bid that fill everything."""
    with LocalVenue(clock="manual", market=False) as made:
        made.control.add_liquidity("BTCUSDC", "SELL", "62600", "5")
        made.control.add_liquidity("BTCUSDC", "BUY", "62400", "5")
        yield made


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "intents.sqlite"


@pytest.fixture
def session(venue: LocalVenue, ledger: Path) -> Iterator[Session]:
    with toolkit.connect(venue=venue, intents=ledger) as made:
        yield made


def held(venue: LocalVenue) -> Decimal:
    with toolkit.connect(venue=venue) as other:
        return sum(other.positions(exact=True)["size"], Decimal(0))


@pytest.mark.parametrize("price", [None, "62500"])
@pytest.mark.parametrize("mode", ["ONE_WAY", "HEDGE"])
@pytest.mark.parametrize("side", ["BUY", "SELL"])
def test_the_children_come_evenly_from_now_to_the_end(
    session: Session, venue: LocalVenue, side: Literal["BUY", "SELL"], mode: str, price: str | None
) -> None:
    venue.control.set_position_mode(str(session.account), mode)
    at, began = "62600" if side == "BUY" else "62400", venue.host.now_ms()
    if price is not None:
        at = price
        venue.control.add_liquidity("BTCUSDC", "SELL" if side == "BUY" else "BUY", price, "5")
    parent = session.twap("BTCUSDC", side, "0.1", "10m", slices=4, price=price)
    assert (parent.status, parent.filled, parent.plan.done) == ("RUNNING", Decimal("0.025"), 1)
    venue.advance("10m")
    assert (parent.status, parent.filled, parent.remaining) == ("FINISHED", Decimal("0.1"), 0)
    assert parent.average_price == Decimal(at)
    assert f"{side} 0.1 BTCUSDC" in repr(parent)
    assert f"4 of 4, 0.100 filled at {at}" in repr(parent)
    children = parent.children()
    assert [(one.value // 10**6 - began) for one in children["time"]] == [0, 200_000, 400_000, 600_000]
    assert children["quantity"].tolist() == [0.025] * 4
    assert set(children.index) <= set(session.intents("ACCEPTED").index)
    assert session.fills("BTCUSDC", exact=True)["quantity"].sum() == Decimal("0.1")
    row = session.parent_orders().loc[parent.id]
    assert (row["symbol"], row["filled"], row["done"], row["status"]) == ("BTCUSDC", 0.1, 4, "FINISHED")
    venue.advance("1h")
    assert len(parent.children()) == 4


def test_what_a_child_leaves_is_caught_up_three_times_as_fast_at_most(session: Session, venue: LocalVenue) -> None:
    venue.control.remove_liquidity("BTCUSDC")
    parent = session.twap("BTCUSDC", "BUY", "0.1", "9m", slices=10, price="62600")
    venue.advance("5m")
    assert parent.filled == 0
    venue.control.add_liquidity("BTCUSDC", "SELL", "62600", "5")
    venue.advance("2m")
    assert [one.filled for one in parent.plan.children[-2:]] == [Decimal("0.033")] * 2
    venue.advance("2m")
    assert (parent.status, parent.filled) == ("FINISHED", Decimal("0.1"))


def test_a_limit_is_never_crossed_and_what_is_left_is_said(session: Session, venue: LocalVenue) -> None:
    parent = session.twap("BTCUSDC", "BUY", "0.1", "4m", slices=5, price="62599.9")
    venue.advance("4m")
    assert (parent.status, parent.filled, parent.remaining) == ("FINISHED", 0, Decimal("0.1"))
    assert "5 of 5, 0 filled" in repr(parent)


def test_a_refused_child_is_left_out_and_said_and_made_up_for(session: Session, venue: LocalVenue) -> None:
    parent = session.twap("BTCUSDC", "BUY", "0.1", "4m", slices=5)
    venue.control.add_fault("code", action="placeOrder", code=40280)
    venue.advance("1m")
    assert (parent.filled, parent.plan.done) == (Decimal("0.02"), 2)
    assert "40280" in parent.message
    venue.advance("3m")
    assert (parent.status, parent.filled, parent.message) == ("FINISHED", Decimal("0.1"), "")
    assert parent.children()["filled"].tolist() == [0.02, 0.0, 0.04, 0.02, 0.02]


@pytest.mark.parametrize("seed", range(3))
def test_lost_and_late_answers_never_trade_a_slice_twice(
    session: Session, venue: LocalVenue, ledger: Path, seed: int
) -> None:
    random = Random(seed)
    parent = session.twap("BTCUSDC", "BUY", "0.2", "10m", slices=11)
    for _ in range(10):
        kind = random.choice(["lose-answer", "lose-request", "late-answer", "late-request", "status", "none"])
        if kind != "none":
            venue.control.add_fault(kind, action="placeOrder", count=random.choice([1, 2, None]), delay="5s")
        venue.advance("1m")
        venue.control.clear_faults()
        assert held(venue) <= Decimal("0.2") * parent.plan.done / 11
    venue.advance("10m")
    assert parent.status == "FINISHED"
    assert held(venue) == parent.filled <= Decimal("0.2")


@contextmanager
def unanswered(venue: LocalVenue) -> Iterator[None]:
    """Lose the answers to orders, and all that could say how they ended."""
    with (
        venue.control.add_fault("lose-answer", action="placeOrder", count=None),
        venue.control.add_fault("status", path="/info/order/*", count=None),
        venue.control.add_fault("status", path="/info/explore/*", count=None),
    ):
        yield


def test_cancelled_while_an_answer_is_missing_its_fill_is_counted_once_it_is_known(
    session: Session, venue: LocalVenue
) -> None:
    parent = session.twap("BTCUSDC", "BUY", "0.1", "10m", slices=11)
    with unanswered(venue):
        venue.advance("1m")
        assert parent.cancel().status == "CANCELED"
        assert (parent.plan.done, parent.filled) == (2, Decimal("0.009"))
    venue.advance("1m")
    assert (parent.plan.done, parent.filled) == (2, held(venue))
    assert parent.filled == Decimal("0.018")


def test_it_has_not_finished_before_the_fill_of_its_last_child_is_known(session: Session, venue: LocalVenue) -> None:
    parent = session.twap("BTCUSDC", "BUY", "0.02", "1m", slices=2)
    with unanswered(venue):
        venue.advance("1m")
        assert (parent.plan.done, parent.status, parent.filled) == (2, "RUNNING", Decimal("0.01"))
    venue.advance("2s")  # it asks again then
    assert (parent.status, parent.filled) == ("FINISHED", Decimal("0.02"))


def test_an_entry_that_can_not_be_read_is_left_out_and_named(session: Session, ledger: Path) -> None:
    session.twap("BTCUSDC", "BUY", "0.1", "10m", slices=11)
    SqliteLedger(ledger).note("parent-5", None, '{"id": "parent-5"}')
    assert len(session.parent_orders()) == 1
    with pytest.raises(ToolkitError, match="'parent-5' of the ledger can't be read"):
        session.parent_orders.get("parent-5")


def test_after_a_restart_it_is_shown_and_goes_on_or_ends(session: Session, venue: LocalVenue, ledger: Path) -> None:
    first = session.twap("BTCUSDC", "BUY", "0.1", "10m", slices=11).id
    second = session.twap("BTCUSDC", "BUY", "0.022", "10m", slices=11).id
    venue.advance("3m")
    session.close()
    venue.advance("1h")
    with toolkit.connect(venue=venue, intents=ledger) as again:
        assert again.parent_orders()["status"].tolist() == ["INTERRUPTED"] * 2
        assert again.parent_orders()["done"].tolist() == [4, 4]
        again.parent_orders.get(second).cancel()
        parent = again.parent_orders.get(first).resume()
        assert (parent.status, parent.plan.done) == ("RUNNING", 5)
        venue.advance("6m")
        assert (parent.status, parent.filled) == ("FINISHED", Decimal("0.1"))
    assert held(venue) == Decimal("0.1") + Decimal("0.008")
    assert len(set(Plan.load(SqliteLedger(ledger).notes()[first]).children)) == 11


def test_two_of_them_keep_their_times_where_each_order_takes_a_second() -> None:
    with LocalVenue(clock="manual", market=False, settle_delay="1s") as venue, toolkit.connect(venue=venue) as session:
        venue.control.add_liquidity("BTCUSDC", "SELL", "62600", "5")
        began = venue.host.now_ms()
        both = [session.twap("BTCUSDC", "BUY", "0.011", "10m", slices=11) for _ in range(2)]
        venue.advance("12m")
        for late_ms, parent in zip((0, 1_000), both, strict=True):
            times = [one.time_ms - began for one in parent.plan.children]
            assert times == [minute * 60_000 + late_ms for minute in range(11)]
            assert parent.status == "FINISHED"


@pytest.mark.parametrize(("side", "held_side"), [("BUY", "LONG"), ("SELL", "SHORT")])
def test_what_was_not_executed_when_its_session_closed_is_settled_by_the_next(
    tmp_path: Path, side: Literal["BUY", "SELL"], held_side: str
) -> None:
    options: dict[str, Any] = {"intents": tmp_path / "orders.db", "settle_timeout": 0}
    with LocalVenue(clock="manual", market=False, settle_delay="2s") as venue:
        for maker in ("BUY", "SELL"):
            venue.control.add_liquidity("BTCUSDC", maker, "62510" if maker == "SELL" else "62490", "5")
        with toolkit.connect(venue=venue, **options) as first:
            receipt = first.place(orders.market("BTCUSDC", side, "0.01"))
            parent = first.twap("BTCUSDC", side, "0.1", "10m", slices=5)
        assert (receipt.status, receipt.filled) == ("SUBMITTED", 0)
        assert repr(parent).startswith(f"<ParentOrder {parent.id}: the ledger of intents orders.db can't be used")
        venue.advance("1h")
        assert (receipt.wait("filled", timeout=0).status, receipt.filled) == ("FILLED", Decimal("0.01"))
        with toolkit.connect(venue=venue, **options) as later:
            assert [one.state for one in later.resolve()] == ["ACCEPTED", "ACCEPTED"]
            again = later.parent_orders.get(parent.id)
            assert again.status == "INTERRUPTED"
            again.resume()
            venue.advance("10m")
            assert (again.status, again.filled) == ("FINISHED", Decimal("0.1"))
            assert later.positions(exact=True)[["side", "size"]].values.tolist() == [[held_side, Decimal("0.11")]]
            assert set(later.intents()["state"]) == {"ACCEPTED"}


class Crash(BaseException):
    """The end of a process at some line."""


@pytest.mark.parametrize("place", ["before it is recorded", "before it is sent", "after the venue has it"])
def test_a_crash_at_any_line_trades_no_slice_twice(
    session: Session, venue: LocalVenue, ledger: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    parent = session.twap("BTCUSDC", "BUY", "0.1", "9m", slices=10)

    def crash(*_: Any, **__: Any) -> Any:
        raise Crash

    with monkeypatch.context() as patch:
        if place == "before it is recorded":
            patch.setattr(SqliteLedger, "record", crash)
        elif place == "before it is sent":
            patch.setattr(SqliteLedger, "update", crash)
        else:
            patch.setattr("toolkit.client.orders.reconciliation.Reconciler.classify_response", crash)
        with pytest.raises(Crash):
            venue.advance("1m")
    venue.host.alarms.clear()  # the process is gone
    with toolkit.connect(venue=venue, intents=ledger) as again:
        after = again.parent_orders.get(parent.id)
        assert after.plan.done == 2
        venue.advance("30s")
        assert after.status == "RUNNING"  # for all that anybody can tell
        venue.advance("1m")
        assert after.status == "INTERRUPTED"
        after.resume()
        venue.advance("9m")
        assert (after.status, after.filled) == ("FINISHED", Decimal("0.1"))
    assert held(venue) == Decimal("0.1")


def claimed(session: Session, venue: LocalVenue, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let a program end between claiming the second of 10 child orders over 9 minutes and recording it; return the
    parent order's id."""
    parent = session.twap("BTCUSDC", "BUY", "0.1", "9m", slices=10)

    def crash(*_: Any) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(SqliteLedger, "record", crash)
        with pytest.raises(Crash):
            venue.advance("1m")
    venue.host.alarms.clear()
    return parent.id


def test_a_claimed_child_counts_as_filled_until_its_request_has_expired(
    session: Session, venue: LocalVenue, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program may be just about to record and send it."""
    id = claimed(session, venue, monkeypatch)
    with toolkit.connect(venue=venue, intents=ledger) as again:
        parent = again.parent_orders.get(id)
        child = parent.plan.children[-1]
        assert child.expires_ms == child.time_ms + 60_000
        venue.advance(f"{child.expires_ms - venue.host.now_ms()}ms")
        assert parent.cancel().plan.children[-1].filled is None
        venue.advance("1ms")
        assert parent.cancel().plan.children[-1].filled == 0


@pytest.mark.parametrize("trouble", ["damaged", "not readable", "recorded meanwhile"])
def test_a_claimed_child_is_not_given_up_because_the_ledger_does_not_show_it(
    session: Session, venue: LocalVenue, ledger: Path, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    id = claimed(session, venue, monkeypatch)
    with toolkit.connect(venue=venue, intents=ledger) as again:
        parent, get = again.parent_orders.get(id), SqliteLedger.get
        child = parent.plan.children[-1]
        venue.advance("1h")
        errors = {"damaged": StoredFileError("damaged"), "not readable": ToolkitError("locked")}

        def failing(self: SqliteLedger, name: str) -> Any:
            if name != child.intent:
                return get(self, name)
            raise errors.get(trouble, ToolkitError("no intent"))

        monkeypatch.setattr(SqliteLedger, "get", failing)
        if trouble == "not readable":

            def locked(*_: Any, **__: Any) -> Any:
                raise ToolkitError("locked")

            monkeypatch.setattr(SqliteLedger, "all", locked)
            with pytest.warns(DataWarning, match="places no further child order, but the ledger can't say so.*locked"):
                parent.cancel()
        elif trouble == "recorded meanwhile":
            book = SqliteLedger(ledger)
            book.record(replace(book.all()[0], id=child.intent))
            parent.cancel()
        else:
            parent.cancel()
        assert parent.plan.children[-1].filled is None


def test_a_first_child_without_an_expiry_counts_as_long_as_one_with_the_usual_one(session: Session) -> None:
    made = twap("BTCUSDC", "BUY", "0.1", "9m", slices=10)
    first = session.intents.prepare(orders.buy("BTCUSDC", "0.01"), expiry_after=None)
    [child] = session.parent_orders.start_twap(made, first).plan.children
    assert child.expires_ms == child.time_ms + 60_000
    with pytest.raises(InputError, match=r"first is None\. .*intents\.prepare"):
        session.parent_orders.start_twap(made, None)  # type: ignore[arg-type]


def test_none_begins_or_goes_on_while_trading_is_stopped(session: Session, venue: LocalVenue) -> None:
    """Also one that only reduces: a person may close a position, and a schedule is what was stopped."""
    session.buy("BTCUSDC", "0.1")
    parent = session.twap("BTCUSDC", "SELL", "0.05", "9m", slices=10, reduce_only=True)
    session.limits.stop("lunch")
    for call in (
        lambda: session.twap("BTCUSDC", "SELL", "0.05", "9m", slices=10, reduce_only=True),
        lambda: session.parent_orders.get(parent.id).resume(),
    ):
        with pytest.raises(LimitReached, match="TWAP is refused, because trading was stopped: lunch"):
            call()
    assert session.parent_orders()["status"].tolist() == ["CANCELED"]


def test_only_an_open_session_of_its_account_takes_it_over(session: Session, venue: LocalVenue, ledger: Path) -> None:
    parent = session.twap("BTCUSDC", "BUY", "0.1", "9m", slices=10)
    with toolkit.connect(venue=venue, account=1, intents=ledger) as other:
        theirs = other.parent_orders.get(parent.id)
        with pytest.raises(InputError, match="is one of account"):
            theirs.resume()
    assert parent.status == "RUNNING"
    session.close()
    with pytest.raises(ToolkitError):
        parent.resume()


def test_an_error_nobody_foresaw_is_the_message_and_the_rest_goes_on(
    session: Session, venue: LocalVenue, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = session.twap("BTCUSDC", "BUY", "0.1", "4m", slices=5)
    with monkeypatch.context() as patch:
        patch.setattr(Plan, "next_quantity", lambda *_: 1 / 0)
        venue.advance("75s")  # it is late, and this session works on it
        assert (parent.status, parent.message, parent.plan.done) == ("RUNNING", "division by zero", 1)
    venue.advance("5m")
    assert (parent.status, parent.filled) == ("FINISHED", Decimal("0.1"))


def test_a_slice_is_placed_once_though_it_is_taken_over_between_reading_and_claiming(
    session: Session, venue: LocalVenue, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = session.twap("BTCUSDC", "BUY", "0.1", "9m", slices=10)
    with toolkit.connect(venue=venue, intents=ledger) as other:
        quantity, takes = Plan.next_quantity, [other.parent_orders.get(parent.id).resume]

        def taken(plan: Plan, product: Any) -> Decimal:
            found = quantity(plan, product)
            while takes:
                takes.pop()()
            return found

        monkeypatch.setattr(Plan, "next_quantity", taken)
        venue.advance("1m")
        assert (parent.plan.done, held(venue)) == (2, Decimal("0.02"))
        venue.advance("9m")
    assert held(venue) == parent.filled == Decimal("0.1")


def test_it_is_interrupted_once_it_is_ten_seconds_late_or_its_session_has_closed(
    session: Session, venue: LocalVenue, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with toolkit.connect(venue=venue, intents=ledger) as other:
        closed = session.twap("BTCUSDC", "BUY", "0.1", "9m", slices=10).id
        assert other.parent_orders.get(closed).status == "RUNNING"
        session.close()
        assert other.parent_orders.get(closed).status == "INTERRUPTED"
        late = claimed(other, venue, monkeypatch)
        with toolkit.connect(venue=venue, intents=ledger) as again:
            parent = again.parent_orders.get(late)
            venue.advance(f"{parent.plan.due_ms + 10_000 - venue.host.now_ms()}ms")
            assert parent.status == "RUNNING"
            venue.advance("1ms")
            assert parent.status == "INTERRUPTED"


def test_of_those_that_have_ended_the_last_twenty_are_kept(session: Session) -> None:
    ids = [session.twap("BTCUSDC", "BUY", "0.01", "9m", slices=10).cancel().id for _ in range(23)]
    running = session.twap("BTCUSDC", "BUY", "0.01", "9m", slices=10).id
    assert session.parent_orders().index.tolist() == [*ids[-20:], running]


@pytest.mark.parametrize("twin", [False, True])
def test_where_the_clock_runs_it_works_by_itself(twin: bool) -> None:
    # At once: a second of this venue is less than the client's shortest wait.
    with (
        LocalVenue(clock="real", speed=300, market=False, settle_delay=0) as venue,
        toolkit.connect(venue=venue) as session,
    ):
        venue.control.add_liquidity("BTCUSDC", "SELL", "62600", "5")
        if twin:
            parent = asyncio.run(session.aio.twap("BTCUSDC", "BUY", "0.01", "2m", slices=5))
        else:
            parent = session.twap("BTCUSDC", "BUY", "0.01", "2m", slices=5)
        assert parent.filled >= Decimal("0.002")
        assert parent.wait(20).status == "FINISHED"
        plan = parent.plan
        assert (plan.filled, len(plan.children)) == (Decimal("0.01"), 5)
        assert plan.children[-1].time_ms - plan.created_ms >= 120_000  # never early, however late this computer is


def test_nothing_is_recorded_of_what_breaks_a_rule(session: Session) -> None:
    cases: list[tuple[dict[str, Any], str, tuple[str, ...]]] = [
        ({"slices": 1}, "slices", ("2",)),
        ({"slices": 501}, "slices", ("500",)),
        ({"slices": 200}, "slices", ("100",)),
        ({"quantity": "0.001"}, "slices", ()),
        ({"duration": "5 parsecs"}, "duration", ()),
        ({"duration": "10s", "slices": 50}, "duration", ("49s",)),
        ({"price": "60000", "slippage": "0.01"}, "slippage", ()),
        ({"side": "LONG"}, "side", ("BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE")),
        ({"symbol": "SOLUSDC", "quantity": "1", "slices": 50}, "slices", ("12",)),
    ]
    for given, field, nearest in cases:
        arguments = {"symbol": "BTCUSDC", "side": "BUY", "quantity": "0.1", "duration": "1h", **given}
        with pytest.raises(InputError) as caught:
            session.twap(**arguments)
        assert caught.value.field == field
        assert tuple(caught.value.nearest) == nearest or not nearest
    with pytest.raises(CheckFailed, match="tickSize"):
        session.twap("BTCUSDC", "BUY", "0.1", "1h", price="60000.05")
    assert session.parent_orders().empty
    assert dict(session.parent_orders().dtypes)["filled"] == "float64"
    with pytest.raises(InputError, match="no parent order 'x'"):
        session.parent_orders.get("x")


def test_waiting_where_time_stands_is_refused(session: Session) -> None:
    with pytest.raises(InputError, match=r"venue\.advance"):
        session.twap("BTCUSDC", "BUY", "0.1", "1h").wait()


def test_without_a_number_of_slices_there_are_as_many_as_the_quantity_allows(session: Session) -> None:
    assert session.twap("BTCUSDC", "BUY", "0.1", "10m").plan.twap.slices == 21
    assert session.twap("BTCUSDC", "BUY", "0.1", "1h").plan.twap.slices == 100
    assert session.twap("SOLUSDC", "BUY", "1", "1h").plan.twap.slices == 12
    assert session.twap(1, "BUY", "0.1", "10m").plan.twap.symbol == "BTCUSDC"


def test_on_mainnet_it_is_confirmed_once_and_resumed_only_after_a_confirmation() -> None:
    asked: list[str] = []
    fake = FakeVenue()
    with pytest.raises(LimitReached, match="real money"):
        fake_session(fake, environment="mainnet").twap("BTCUSDC", "BUY", "0.1", "1h", price="60000")
    assert fake.bodies == []
    ledger = MemoryLedger()
    first = fake_session(fake, environment="mainnet", ledger=ledger, confirm=lambda text: not asked.append(text))
    parent = first.twap("BTCUSDC", "BUY", "0.1", "1h", price="60000")
    assert len(asked) == 1
    assert "in 100 orders over 1:00:00" in asked[0]
    assert fake_session(fake, environment="testnet", ledger=ledger).parent_orders().empty
    second = fake_session(fake, environment="mainnet", ledger=ledger)
    with pytest.raises(LimitReached, match="real money"):
        second.parent_orders.get(parent.id).resume()
    first.close()  # its thread would wait for the next child order


def test_a_late_slice_shifts_the_schedule_instead_of_rushing_through_it() -> None:
    plan = Plan("parent-1", "local", "0x", None, 0, twap("BTCUSDC", "BUY", "1", "10m", slices=11), 60_000, "me")
    assert plan.advanced(60_500).due_ms == 120_000
    assert plan.advanced(7_000_000).due_ms == 7_060_000
    assert Plan.load(plan.dump()) == plan


def test_a_session_that_is_taken_over_stops(session: Session, venue: LocalVenue, ledger: Path) -> None:
    parent = session.twap("BTCUSDC", "BUY", "0.1", "9m", slices=10)
    with toolkit.connect(venue=venue, intents=ledger) as other:
        taken = other.parent_orders.get(parent.id).resume()
        assert (taken.plan.done, parent.status) == (2, "RUNNING")
        venue.advance("9m")
        assert (taken.status, parent.status, taken.filled) == ("FINISHED", "FINISHED", Decimal("0.1"))
    assert held(venue) == Decimal("0.1")


def test_steps_are_shared_out_and_add_up(session: Session, venue: LocalVenue) -> None:
    parent = session.twap("BTCUSDC", "BUY", "0.010", "6m", slices=4)
    venue.advance("6m")
    assert [str(one.quantity) for one in parent.plan.children] == ["0.002", "0.003", "0.002", "0.003"]
    assert parent.filled == Decimal("0.010")


@pytest.mark.parametrize("case", [*LIES, "lagging states and fills"])
def test_a_twap_never_trades_more_than_its_quantity_whatever_one_witness_says(venue: LocalVenue, case: str) -> None:
    network = Late(venue, {STATES: 30, FILLS: 30} if case not in LIES else {})
    network.change = dict([LIES[case]]) if case in LIES else {}
    with toolkit.connect(venue=venue, transport=network) as session:
        parent = session.twap("BTCUSDC", "BUY", "0.05", "10m", slices=5)
        venue.advance("12m")
        assert held(venue) == Decimal("0.05")
        network.change, network.seconds = {}, {}
        venue.advance("1m")
        assert (parent.status, parent.filled) == ("FINISHED", Decimal("0.05"))
