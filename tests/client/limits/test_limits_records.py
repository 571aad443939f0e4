"""What a session's limits count and do not count, how far equity fell, and the whole report of a stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import toolkit
from tests.client.limits.test_stopping import table
from tests.client.limits.world import BTC, ETH
from toolkit import Limits, orders
from toolkit.client.io.flow import RandomFloat, Sleep
from toolkit.client.limits import order_limits, stopping
from toolkit.client.limits.losses import DAY_MS, Base
from toolkit.client.limits.stopping import ROUNDS
from toolkit.client.orders.intents import IntentState
from toolkit.errors import LimitReached, OutcomeUnknown, TimedOut, ToolkitError
from toolkit.protocol.orders.order_actions import OrderAction
from toolkit.protocol.reads.door import seen
from toolkit.protocol.reads.info.orders import OrderState
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

FAR = {"BUY": "60000", "SELL": "65000"}
SIDES = pytest.mark.parametrize("side", ["BUY", "SELL"])


@pytest.fixture
def s(venue: LocalVenue) -> Iterator[Session]:
    """At most 0.05 of a position."""
    with toolkit.connect(venue=venue, limits=Limits(max_position=0.05, max_orders_per_minute=None)) as made:
        yield made


def passes(s: Session, side: str, **more: Any) -> float:
    """Return the largest order, in hundredths, that a session would send now, without sending any."""
    largest = 0
    for hundredths in range(1, 6):
        try:
            s.intents.prepare(orders.order(BTC, side, f"0.0{hundredths}", price=FAR[side]), **more)
        except LimitReached:
            break
        largest = hundredths
    return largest


@SIDES
def test_only_open_order_requests_of_the_same_account_and_environment_count(s: Session, side: str) -> None:
    s.place(orders.order(BTC, side, "0.01", price=FAR[side]))
    s.cancel_all()
    ledger = s._delivery.ledger
    sent = next(one for one in ledger.all() if one.action == "placeOrder")
    item = {**sent.payload["orders"][0], "ordQty": "0.03", "clOrdId": "77"}
    base = replace(sent, payload={"type": "placeOrder", "orders": [item]}, state=IntentState.UNKNOWN)
    others = {
        "another environment": {"environment": "testnet"},
        "another account": {"account": "0x" + "12" * 20},
        "a vault": {"vault_address": "0x" + "34" * 20},
        "no order": {"action": "cancelOrder"},
        "known": {"state": IntentState.ACCEPTED},
    }
    for number, (name, change) in enumerate(others.items()):
        ledger.record(replace(base, id=f"{number}", nonce=number + 1, **change))
        assert passes(s, side) == 5, name
    ledger.record(replace(base, id="mine", nonce=99))
    assert passes(s, side) == 2
    bracket = {"type": "placeBracketOrder", "orders": [{**item, "ordQty": "0.01"}]}
    ledger.record(replace(base, id="bracket", nonce=100, action="placeBracketOrder", payload=bracket))
    assert passes(s, side) == 1
    exits = [{**item, "reduceOnlyOption": "REDUCE_ONLY", "clOrdId": "78"}]
    ledger.record(replace(base, id="exit", nonce=101, payload={"type": "placeOrder", "orders": exits}))
    assert passes(s, side) == 1, "what reduces leads to nothing"


@SIDES
def test_a_request_whose_order_is_open_already_counts_once_with_what_is_left_of_it(s: Session, side: str) -> None:
    s.place(orders.order(BTC, side, "0.03", price=FAR[side], cl_ord_id=77))
    ledger = s._delivery.ledger
    sent = next(one for one in ledger.all() if one.action == "placeOrder")
    ledger.record(replace(sent, id="again", nonce=1, state=IntentState.UNKNOWN))
    assert passes(s, side) == 2
    item = sent.payload["orders"][0]
    for number, change in enumerate(({"ordQty": "0.01"}, {"clOrdId": "78", "ordQty": "0.01"})):
        payload = {"type": "placeOrder", "orders": [{**item, **change}]}
        ledger.record(replace(sent, id=f"other {number}", nonce=number + 2, state=IntentState.UNKNOWN, payload=payload))
        assert passes(s, side) == 1 - number, "a request for another quantity, or another order, counts beside it"


@SIDES
def test_a_replacement_counts_instead_of_its_order_and_another_one_beside_it(s: Session, side: str) -> None:
    receipt = s.place(orders.order(BTC, side, "0.03", price=FAR[side], cl_ord_id=77))
    for name in (receipt.order_id, receipt):
        with pytest.raises(LimitReached, match=r"to 0\.060"):
            s.replace(name, orders.order(BTC, side, "0.06", price=FAR[side]))
        assert s.replace(name, orders.order(BTC, side, "0.05", price=FAR[side]))
        assert s.replace(name, orders.order(BTC, side, "0.03", price=FAR[side]))
    ledger = s._delivery.ledger
    sent = [one for one in ledger.all() if one.action == "replaceOrder"][-1]
    ledger.record(replace(sent, id="on its way", nonce=1, state=IntentState.UNKNOWN))
    s.cancel_all()
    assert passes(s, side) == 2, "what it leads to is not open yet"


@SIDES
def test_a_reservation_that_was_made_earlier_for_the_same_account_counts(s: Session, side: str) -> None:
    mine, order = str(s.account).lower(), orders.order(BTC, side, "0.03")
    reserved = s._limits._reserved
    for number, whose, expected in ((-1, mine, 2), (-1, "0x" + "12" * 20, 5), (10**9, mine, 5)):
        reserved[number] = whose, [order]
        assert passes(s, side) == expected
        assert reserved.pop(number) == (whose, [order])
    assert reserved == {}


@SIDES
def test_open_orders_that_only_reduce_do_not_count(venue: LocalVenue, s: Session, side: str) -> None:
    other = "SELL" if side == "BUY" else "BUY"
    s.place(orders.order(BTC, side, "0.02"))
    s.place(orders.order(BTC, other, "0.02", price=FAR[other], reduce_only=True))
    assert (passes(s, side), passes(s, other)) == (3, 5)
    s.place(orders.order(BTC, other, "0.01", price=FAR[other]))
    assert (passes(s, side), passes(s, other)) == (3, 4)


@SIDES
@pytest.mark.parametrize("what", ["position", "order", "nothing"])
def test_the_notional_of_other_products_counts_at_their_last_price(venue: LocalVenue, side: str, what: str) -> None:
    """0.4 ETH are worth about 980 of 1,500 USDC, so that 0.008 BTC pass. Without them 0.023 pass."""
    with toolkit.connect(venue=venue, limits=Limits(max_notional=1_500)) as s:
        if what != "nothing":
            far = {"BUY": "2300", "SELL": "2600"}[side]
            s.place(orders.order(ETH, side, "0.4", price=far if what == "order" else None))
        large = "0.009" if what != "nothing" else "0.025"
        with pytest.raises(LimitReached, match="would increase positions to") as caught:
            s.place(orders.order(BTC, side, large, price=FAR[side]))
        assert ("with open orders filled" in str(caught.value)) is (what == "order")
        assert s.place(orders.order(BTC, side, "0.008" if what != "nothing" else "0.023", price=FAR[side]))


def test_prices_are_read_only_for_what_a_limit_values(venue: LocalVenue) -> None:
    def read(limits: Limits) -> set[str]:
        with toolkit.connect(venue=venue, limits=limits) as s:
            s.buy(ETH, "0.1")
            s.buy(BTC, "0.001", price="60000")
            seen: list[str] = []
            send = s._driver._send

            def spy(request: Any) -> Any:
                if "kline" in request.path:
                    seen.append(str(request))
                return send(request)

            s._driver._send = spy
            s._limits.checks._prices.clear()
            s.buy(BTC, "0.001", price="60000")
            s.cancel_all()
            return {name for name in (BTC, ETH) if any(name in one for one in seen)}

    assert read(Limits(max_order_notional=500)) == {BTC}
    assert read(Limits(max_notional=5_000)) == {BTC, ETH}


def test_a_bracket_is_one_order_of_a_minute_and_what_is_not_sent_is_none(venue: LocalVenue) -> None:
    with toolkit.connect(venue=venue, limits=Limits(max_orders_per_minute=3)) as s:
        for _ in range(5):
            s.intents.prepare(orders.buy(BTC, "0.01"))
        s.buy(BTC, "0.01", price="60000", tp="70000", sl="50000")
        s.place([orders.buy(BTC, "0.01", price="60000"), orders.buy(BTC, "0.01", price="60000")])
        with pytest.raises(LimitReached) as caught:
            s.buy(BTC, "0.01", price="60000")
        assert caught.value.limit == "max_orders_per_minute"
        with pytest.raises(LimitReached):  # what reduces counts as well
            s.sell(BTC, "0.01", price="65000", reduce_only=True)
        assert len(s._limits._sent_ms) == 3
        venue.advance("1m")
        assert s.buy(BTC, "0.01", price="60000")


def test_nothing_is_read_for_an_order_while_trading_is_stopped(venue: LocalVenue, s: Session) -> None:
    s.limits.stop("lunch")
    seen: list[str] = []
    send = s._driver._send

    def spy(request: Any) -> Any:
        seen.append(request.path)
        return send(request)

    s._driver._send = spy
    with pytest.raises(LimitReached, match="stopped: lunch"):
        s.exchange.place_order([orders.buy(BTC, "0.01", price="60000")])
    assert not [path for path in seen if "position" in path or "exchange" in path]


# losses


@pytest.mark.parametrize("stored", [False, True])
def test_equity_falls_from_the_first_check_and_from_the_last_one_of_the_day_before(
    venue: LocalVenue, tmp_path: Path, stored: bool
) -> None:
    """Transfers are no part of it, whether in the millisecond of a check or later."""
    given: dict[str, Any] = {"venue": venue, "limits": Limits(max_loss=10**6)}
    given["intents"] = tmp_path / "ledger" if stored else None

    def falls(session: Session) -> tuple[float, float]:
        found: tuple[float, float] = session._driver.run(session._limits._losses.read(venue.host.now_ms()))
        return found

    with toolkit.connect(**given) as s:
        account, control = str(s.account), venue.control
        venue.advance("1ms")  # the account was funded when the venue began
        control.fund(account, "500")
        first = venue.host.now_ms()
        assert falls(s) == (0, 0)
        control.fund(account, "200")
        assert falls(s) == (0, 0), "within the millisecond of the first check"
        day = first // DAY_MS
        key = s._limits._losses.key
        assert s._delivery.ledger.notes()[key] == f"{day} {first} 10500 500"
        venue.advance("1h")
        s.exchange.withdraw(destination=account, amount="1000")
        s.buy(BTC, "0.1")
        s.close_position(BTC)
        # 20 of spread, and 0.06 % of 6,260 and 6,240
        assert falls(s) == (27.5, 27.5)
        venue.advance("1d")
        assert falls(s) == (27.5, 0)
        s.buy(BTC, "0.1")
        s.close_position(BTC)
        assert falls(s) == (55, 27.5)
    with toolkit.connect(**given) as again:
        assert falls(again) == ((0, 27.5) if stored else (0, 0))


def test_a_base_is_stored_as_it_is() -> None:
    base = Base(5, Decimal("10500.000000"), Decimal("-0.5"))
    assert base.dump() == "5 10500.000000 -0.5"
    assert Base.load(base.dump()) == base


@pytest.mark.parametrize("limit", ["max_loss", "max_daily_loss"])
def test_each_loss_limit_alone_is_checked(venue: LocalVenue, limit: str) -> None:
    with toolkit.connect(venue=venue, limits=Limits(**{limit: 27.0})) as s:
        s.buy(BTC, "0.1")
        s.close_position(BTC)
        with pytest.raises(LimitReached) as caught:
            s.buy(BTC, "0.01")
        assert caught.value.limit == limit


# the report


def sleeps(s: Session, draw: float = 1.0, then: Callable[[int], object] = lambda number: None) -> list[float]:
    """Return a list that gets the seconds of every wait between two looks. After each, `then` is called."""
    found: list[float] = []
    perform = s._driver._perform

    def watch(request: Any) -> Any:
        if isinstance(request, RandomFloat):
            return draw
        if isinstance(request, Sleep):
            found.append(request.seconds)
            then(len(found))
        return perform(request)

    s._driver._perform = watch
    return found


@pytest.mark.parametrize("draw", [0.0, 1.0])
@pytest.mark.parametrize("opened", [0, 1])
def test_a_stop_waits_only_while_something_is_open_and_not_in_step_with_others(
    s: Session, opened: int, draw: float
) -> None:
    for _ in range(opened):
        s.buy(BTC, "0.01", price="60000")
    found = sleeps(s, draw)
    s.stop_all()
    assert found == [s._delivery.retry.wait(0, 0.5 + draw / 2)] * opened


def test_a_request_that_arrives_late_is_waited_for_and_its_order_cancelled(s: Session) -> None:
    """At first nothing is open. The request is on its way until the third look."""
    send, held = s._driver._send, list[Any]()

    def hold(request: Any) -> Any:
        if request.method == "POST":
            held.append(request)
            raise TimedOut("on its way for long")
        return send(request)

    s._driver._send = hold
    with pytest.raises(OutcomeUnknown):
        s.buy(BTC, "0.01", price="60000")
    s._driver._send = send
    found = sleeps(s, then=lambda number: send(held[0]) if number == 2 else None)
    assert table(s.stop_all()) == [("order", BTC, "BUY", 0.01, "CANCELED")]
    assert len(found) >= 3
    assert s.orders(open=True).empty


def test_a_second_look_finds_what_another_device_has_placed_since_the_first(venue: LocalVenue, s: Session) -> None:
    with toolkit.connect(venue=venue) as other:
        send, looks = s._driver._send, list[str]()

        def place(request: Any) -> Any:
            answer = send(request)
            if "/order/" in request.path and not looks:
                looks.append(request.path)
                other.buy(BTC, "0.01", price="60000")
            return answer

        s._driver._send = place
        assert table(s.stop_all()) == [("order", BTC, "BUY", 0.01, "CANCELED")]
        assert other.orders(open=True).empty


@SIDES
def test_an_order_that_fills_while_it_is_cancelled_is_reported_with_what_it_filled(
    venue: LocalVenue, s: Session, side: str
) -> None:
    """One fills in part, one as a whole, and one not at all."""
    other = "SELL" if side == "BUY" else "BUY"
    near = "62500"
    numbers = [s.place(orders.order(BTC, side, "0.01", price=price)).order_id for price in (near, near, FAR[side])]
    send = s._driver._send

    def fill(request: Any) -> Any:
        if request.method == "POST":
            s._driver._send = send
            venue.control.add_liquidity(BTC, other, near, "0.014")
        return send(request)

    s._driver._send = fill
    found = s.stop_all()
    rows = found[found["kind"] == "order"].sort_values("id")
    assert rows["id"].tolist() == [str(number) for number in numbers]
    assert rows["side"].tolist() == [side] * 3
    assert rows["quantity"].tolist() == [0.01] * 3
    assert rows["outcome"].tolist() == ["ENDED", "CANCELED", "CANCELED"]
    assert rows["message"].tolist() == ["0.010 filled meanwhile", "0.004 filled meanwhile", ""]
    [position] = [row for row in table(found) if row[0] == "position"]
    assert position == ("position", BTC, "LONG" if side == "BUY" else "SHORT", 0.014, "LEFT")


def test_what_can_not_be_cancelled_is_left_after_eight_rounds_and_says_why(venue: LocalVenue, s: Session) -> None:
    s.buy(BTC, "0.01", price="60000")
    found = sleeps(s)
    for action in ("cancelOrder", "cancelAll"):
        venue.control.add_fault("code", action=action, code=40230, count=None)
    report = s.stop_all()
    assert len(found) == ROUNDS == 8
    assert table(report) == [("order", BTC, "BUY", 0.01, "LEFT")]
    assert "40230" in report["message"].iloc[0]


def test_an_exit_for_a_whole_position_is_cancelled_though_it_has_no_quantity(s: Session) -> None:
    s.buy(BTC, "0.02", tp="70000")
    found = s.stop_all(flatten=True)
    assert [(row[0], row[2], row[4]) for row in table(found)] == [
        ("order", "SELL", "CANCELED"),
        ("position", "LONG", "CLOSED"),
    ]
    assert found["message"].tolist() == ["", ""]


def test_a_position_that_the_venue_does_not_close_is_left_with_its_reason(venue: LocalVenue, s: Session) -> None:
    s.buy(BTC, "0.02")
    s.sell(ETH, "0.02")
    venue.control.pause(BTC)
    found = s.stop_all(flatten=True)
    assert sorted(table(found)) == [
        ("position", BTC, "LONG", 0.02, "LEFT"),
        ("position", ETH, "SHORT", 0.02, "CLOSED"),
    ]
    messages = dict(zip(found["symbol"], found["message"], strict=True))
    assert messages[ETH] == ""
    assert "paused" in messages[BTC]


def test_requests_parents_and_runs_of_others_are_no_part_of_a_report(
    venue: LocalVenue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {"venue": venue, "intents": tmp_path / "ledger"}
    with toolkit.connect(**given) as s, toolkit.connect(account=1, **given) as other:
        mine = s.twap(BTC, "BUY", "0.1", "10m", slices=10)
        ended = s.twap(BTC, "BUY", "0.01", "10m", slices=10).cancel()
        theirs = other.twap(BTC, "BUY", "0.1", "10m", slices=10)
        ledger = s._delivery.ledger
        own = (one for one in ledger.all() if one.account.lower() == str(s.account).lower())
        sent = next(one for one in own if one.action == "placeOrder")
        unknown = replace(sent, state=IntentState.UNKNOWN, message="no answer")
        for number, change in enumerate((
            {"environment": "testnet"}, {"account": str(other.account)}, {"action": "withdraw"},
            {"state": IntentState.REJECTED},
        )):  # fmt: skip
            ledger.record(replace(unknown, **{"id": f"{number}", "nonce": number + 1, **change}))
        monkeypatch.setattr(type(s._delivery), "resolve", lambda *_, **__: iter(()))
        assert s.limits.stop("lunch")["id"].tolist() == [mine.id, ""]
        assert (mine.status, ended.status, theirs.status) == ("CANCELED", "CANCELED", "RUNNING")
        ledger.record(replace(unknown, id="mine", nonce=98))
        ledger.record(replace(unknown, id="no words", nonce=99, message=""))
        found = s.stop_all()
        requests = found[found["kind"] == "request"].set_index("id")["message"]
        assert sorted(requests.index) == ["mine", "no words"]
        assert requests["mine"].startswith("no answer")
        assert requests["no words"].startswith("placeOrder is UNKNOWN")


def test_a_parent_order_is_reported_with_what_it_leaves_and_why_it_could_not_be_ended(
    s: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = s.twap(BTC, "BUY", "0.05", "10m", slices=10)

    def broken(*_: Any) -> Any:
        raise ToolkitError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(type(s._parents), "cancel", broken)
        [row] = [one for one in s.stop_all().to_dict("records") if one["kind"] == "parent order"]
        assert (row["id"], row["symbol"], row["side"], row["quantity"]) == (parent.id, BTC, "BUY", 0.045)
        assert (row["outcome"], row["message"]) == ("UNKNOWN", "disk full")
        patch.setattr(type(s._parents), "plans", broken)
        first = s.stop_all().astype({"quantity": object}).iloc[0].tolist()
        assert first[:4] + first[5:] == ["parent order", "", "", "", "UNKNOWN", "disk full"]
    [row] = [one for one in s.stop_all().to_dict("records") if one["kind"] == "parent order"]
    assert (row["outcome"], row["message"]) == ("ENDED", "1 of 10 child orders were placed")


def test_runs_are_reported_by_name_and_symbols_with_what_is_left_or_why_they_did_not_end(s: Session) -> None:
    def failing() -> None:
        raise ToolkitError("no thread")

    class Run:
        symbols, still_open = (BTC, ETH), ("order 5",)

        def __init__(self, name: str, kill: Callable[[], None]) -> None:
            self.strategy, self.kill = SimpleNamespace(name=name), kill

    runs: list[Any] = [Run("Quoter", lambda: None), Run("Taker", failing)]
    s._runs.update(runs)
    found = s.stop_all().sort_values("id")
    assert found[["kind", "id", "symbol", "side", "outcome", "message"]].to_numpy().tolist() == [
        ["run", "Quoter", f"{BTC}, {ETH}", "", "ENDED", "order 5"],
        ["run", "Taker", f"{BTC}, {ETH}", "", "UNKNOWN", "no thread"],
    ]


def test_where_the_account_can_not_be_found_its_orders_and_positions_are_unknown(
    s: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: Any) -> Any:
        raise TimedOut("no answer")

    monkeypatch.setattr(type(s), "_account", lost)
    [row] = s.stop_all(flatten=True).to_dict("records")
    assert (row["kind"], row["outcome"]) == ("order", "UNKNOWN")
    assert row["message"].startswith("orders and positions can't be read: no answer")


@SIDES
@pytest.mark.parametrize("mode", ["ONE_WAY", "HEDGE"])
def test_a_large_position_is_closed_in_parts_of_the_largest_order(
    venue: LocalVenue, side: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with toolkit.connect(venue=venue) as s:
        venue.control.set_position_mode(str(s.account), mode)
        s.place(orders.order(BTC, side, "0.05"))
        product = s.product(BTC)
        monkeypatch.setattr(type(product), "max_order_quantity", property(lambda _: Decimal("0.02")))
        found = s.stop_all(flatten=True)
        assert table(found) == [("position", BTC, "LONG" if side == "BUY" else "SHORT", 0.05, "CLOSED")]
        assert [float(one) for one in s.fills(BTC, exact=True)["quantity"]] == [0.05, 0.02, 0.02, 0.01]


def test_the_switch_gives_the_reason_of_before_and_changes_only_what_was_expected(s: Session) -> None:
    limits, ledger = s._limits, s._delivery.ledger
    assert limits.switch("one") == ""
    assert limits.switch("two", expected="other") == limits.switch("one") == "one"
    assert limits.stopped == "one"
    assert limits.switch("two", expected="one") == "one"
    assert (limits.stopped, limits.switch("", expected="two")) == ("two", "two")
    assert (limits.stopped, [name for name in ledger.notes() if name.startswith("stop")]) == ("", [])
    note, refused = type(ledger).note, [True]

    def busy(*args: Any) -> bool:
        return False if refused and refused.pop() else note(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(ledger), "note", busy)
        assert limits.switch("three") == ""
    assert limits.stopped == "three", "another program had changed the ledger meanwhile"


def test_whose_orders_an_action_places_and_which_one_a_replacement_names(s: Session) -> None:
    s.buy(BTC, "0.01", price="60000")
    sent = next(one for one in s._delivery.ledger.all() if one.action == "placeOrder")
    first, second = {"ordQty": "1"}, {"ordQty": "2"}
    for action, payload, items in (
        ("placeOrder", {"orders": [first, second]}, [first, second]),
        ("placeBuilderOrder", {"order": first}, [first]),
        ("replaceOrder", first, [first]),
        ("cancelOrder", {"cancels": []}, []),
    ):
        found = order_limits._items(replace(sent, action=action, payload=payload))
        assert [one.quantity for one in found] == [one["ordQty"] for one in items]
    vault, mine = "0x" + "AB" * 20, str(s.account).lower()
    assert order_limits._owned_by(sent) == mine
    assert order_limits._owned_by(replace(sent, vault_address=vault)) == vault.lower()
    assert order_limits._owned_by(replace(sent, payload={"builder": "0x1"})) == sent.signer.lower() != mine
    row = seen(OrderState, {"ordId": 5, "clOrdId": "7"})
    assert row is not None
    for replaced, named in (
        ({"ordId": 5, "clOrdId": 8}, True),
        ({"ordId": 6, "clOrdId": 7}, False),
        ({"clOrdId": 7}, True),
        ({"ordId": 0, "clOrdId": 8}, False),
        ({}, False),
    ):
        assert order_limits._names(OrderAction.recall({"type": "replaceOrder", **replaced}), row) is named


def test_each_step_of_a_stop_may_take_twice_the_time_of_a_request(s: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []
    within = stopping.within

    def spy(step: Any, seconds: float) -> Any:
        given.append(seconds)
        return within(step, seconds)

    monkeypatch.setattr(stopping, "within", spy)
    s.stop_all()
    assert given == [2 * s._delivery.retry.total] * 2
