"""What a session's limits count and do not count, how far equity fell, and the whole report of a stop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

import toolkit
from tests.client.limits.test_stopping import table
from tests.client.limits.world import BTC, ETH
from tests.support.network import Network, nothing
from toolkit import Limits, orders
from toolkit.client.limits.losses import Base
from toolkit.client.orders.delivery import Delivery
from toolkit.client.orders.intents import IntentState, MemoryLedger
from toolkit.client.parent_orders.schedule import ParentRunner
from toolkit.errors import ActionRejected, LimitReached, OutcomeUnknown, ToolkitError
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

FAR = {"BUY": "60000", "SELL": "65000"}
SIDES = pytest.mark.parametrize("side", ["BUY", "SELL"])


@pytest.fixture
def ledger() -> MemoryLedger:
    return MemoryLedger()


@pytest.fixture
def network(venue: LocalVenue) -> Network:
    return Network(venue)


@pytest.fixture
def s(venue: LocalVenue, ledger: MemoryLedger, network: Network) -> Iterator[Session]:
    """At most 0.05 of a position."""
    limits = Limits(max_position=0.05, max_orders_per_minute=None)
    with toolkit.connect(venue=venue, limits=limits, intents=ledger, transport=network) as made:
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
def test_only_open_requests_of_the_same_account_and_environment_count(
    s: Session, ledger: MemoryLedger, side: str
) -> None:
    s.place(orders.order(BTC, side, "0.01", price=FAR[side]))
    s.cancel_all()
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
def test_a_request_whose_order_is_open_already_counts_once_with_what_is_left_of_it(
    s: Session, ledger: MemoryLedger, side: str
) -> None:
    s.place(orders.order(BTC, side, "0.03", price=FAR[side], cl_ord_id=77))
    sent = next(one for one in ledger.all() if one.action == "placeOrder")
    ledger.record(replace(sent, id="again", nonce=1, state=IntentState.UNKNOWN))
    assert passes(s, side) == 2
    item = sent.payload["orders"][0]
    for number, change in enumerate(({"ordQty": "0.01"}, {"clOrdId": "78", "ordQty": "0.01"})):
        payload = {"type": "placeOrder", "orders": [{**item, **change}]}
        ledger.record(replace(sent, id=f"other {number}", nonce=number + 2, state=IntentState.UNKNOWN, payload=payload))
        assert passes(s, side) == 1 - number, "a request for another quantity, or another order, counts beside it"


@SIDES
def test_a_replacement_counts_instead_of_its_order_and_another_one_beside_it(
    s: Session, ledger: MemoryLedger, side: str
) -> None:
    receipt = s.place(orders.order(BTC, side, "0.03", price=FAR[side], cl_ord_id=77))
    for name in (receipt.order_id, receipt):
        with pytest.raises(LimitReached, match=r"to 0\.060"):
            s.replace(name, orders.order(BTC, side, "0.06", price=FAR[side]))
        assert s.replace(name, orders.order(BTC, side, "0.05", price=FAR[side]))
        assert s.replace(name, orders.order(BTC, side, "0.03", price=FAR[side]))
    sent = [one for one in ledger.all() if one.action == "replaceOrder"][-1]
    ledger.record(replace(sent, id="on its way", nonce=1, state=IntentState.UNKNOWN))
    s.cancel_all()
    assert passes(s, side) == 2, "what it leads to is not open yet"


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


def test_a_bracket_is_one_order_of_a_minute_and_what_is_not_sent_is_none(venue: LocalVenue) -> None:
    with toolkit.connect(venue=venue, limits=Limits(max_orders_per_minute=3)) as s:
        for _ in range(5):
            s.intents.prepare(orders.buy(BTC, "0.01"))
        s.buy(BTC, "0.01", price="60000", tp="70000", sl="50000")
        s.place([orders.buy(BTC, "0.01", price="60000"), orders.buy(BTC, "0.01", price="60000")])
        with pytest.raises(LimitReached) as caught:
            s.buy(BTC, "0.01", price="60000")
        assert caught.value.limit == "max_orders_per_minute"
        with pytest.raises(ActionRejected, match="no long position"):  # what reduces passes, to the venue
            s.sell(BTC, "0.01", price="65000", reduce_only=True)
        venue.advance("1m")
        assert s.buy(BTC, "0.01", price="60000")


# losses


@pytest.mark.parametrize("stored", [False, True])
def test_equity_falls_by_trades_and_not_by_transfers(venue: LocalVenue, tmp_path: Path, stored: bool) -> None:
    """Neither in the millisecond of a check nor later. A day begins with the last check of the one before."""
    given: dict[str, Any] = {"venue": venue, "limits": Limits(max_loss=54, max_daily_loss=27)}
    given["intents"] = tmp_path / "ledger" if stored else None

    def refusal(session: Session) -> str:
        with pytest.raises(LimitReached) as caught:
            session.buy(BTC, "0.01", price="60000")
        return str(caught.value)

    with toolkit.connect(**given) as s:
        account, control = str(s.account), venue.control
        control.fund(account, "500")
        s.buy(BTC, "0.001", price="60000")
        s.cancel_all()
        control.fund(account, "200")
        venue.advance("10m")
        s.exchange.withdraw(destination=account, amount="1000")
        s.buy(BTC, "0.1")
        s.close_position(BTC)
        # 20 of spread, and 0.06 % of 6,260 and 6,240
        assert "equity fell by 27.50 USDC since the day began" in refusal(s)
        venue.advance("80m")
        s.buy(BTC, "0.1")
        s.close_position(BTC)
        assert "equity fell by 55.00" in refusal(s)
    with toolkit.connect(**given) as again:
        if stored:
            assert "equity fell by 27.50 USDC since the day began" in refusal(again)
        else:
            assert again.buy(BTC, "0.01", price="60000")


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


def test_a_request_that_arrives_late_is_waited_for_and_its_order_cancelled(s: Session, network: Network) -> None:
    """At first nothing is open. The request is on its way until the third look."""
    held, looks = list[httpx.Request](), list[str]()

    def hold(request: httpx.Request) -> None:
        if request.method == "POST":
            held.append(request)
            raise httpx.ReadTimeout("on its way for long", request=request)

    def deliver(request: httpx.Request) -> None:
        if "/order/states" in request.url.path and held:
            looks.append(request.url.path)
            if len(looks) > 4:
                network.inner.handle_request(held.pop())

    network.before = hold
    with pytest.raises(OutcomeUnknown):
        s.buy(BTC, "0.01", price="60000")
    network.before = deliver
    assert table(s.stop_all()) == [("order", BTC, "BUY", 0.01, "CANCELED")]
    assert s.orders(open=True).empty


def test_a_second_look_finds_what_another_device_has_placed_since_the_first(
    venue: LocalVenue, s: Session, network: Network
) -> None:
    with toolkit.connect(venue=venue) as other:

        def place(request: httpx.Request) -> None:
            if "/order/" in request.url.path:
                network.after = nothing
                other.buy(BTC, "0.01", price="60000")

        network.after = place
        assert table(s.stop_all()) == [("order", BTC, "BUY", 0.01, "CANCELED")]
        assert other.orders(open=True).empty


@SIDES
def test_an_order_that_fills_while_it_is_cancelled_is_reported_with_what_it_filled(
    venue: LocalVenue, s: Session, network: Network, side: str
) -> None:
    """One fills in part, one as a whole, and one not at all."""
    other = "SELL" if side == "BUY" else "BUY"
    near = "62500"
    numbers = [s.place(orders.order(BTC, side, "0.01", price=price)).order_id for price in (near, near, FAR[side])]

    def fill(request: httpx.Request) -> None:
        if request.method == "POST":
            network.before = nothing
            venue.control.add_liquidity(BTC, other, near, "0.014")

    network.before = fill
    found = s.stop_all()
    rows = found[found["kind"] == "order"].sort_values("id")
    assert rows["id"].tolist() == [str(number) for number in numbers]
    assert rows["side"].tolist() == [side] * 3
    assert rows["quantity"].tolist() == [0.01] * 3
    assert rows["outcome"].tolist() == ["ENDED", "CANCELED", "CANCELED"]
    assert rows["message"].tolist() == ["0.010 filled meanwhile", "0.004 filled meanwhile", ""]
    [position] = [row for row in table(found) if row[0] == "position"]
    assert position == ("position", BTC, "LONG" if side == "BUY" else "SHORT", 0.014, "LEFT")


def test_what_can_not_be_cancelled_is_left_and_says_why(venue: LocalVenue, s: Session, network: Network) -> None:
    s.buy(BTC, "0.01", price="60000")
    for action in ("cancelOrder", "cancelAll"):
        venue.control.add_fault("code", action=action, code=40230, count=None)
    report = s.stop_all()
    assert sum("/order/states" in path for path in network.paths) >= 8
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
    venue: LocalVenue, ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {"venue": venue, "intents": ledger}
    with toolkit.connect(**given) as s, toolkit.connect(account=1, **given) as other:
        mine = s.twap(BTC, "BUY", "0.1", "10m", slices=10)
        ended = s.twap(BTC, "BUY", "0.01", "10m", slices=10).cancel()
        theirs = other.twap(BTC, "BUY", "0.1", "10m", slices=10)
        own = (one for one in ledger.all() if one.account.lower() == str(s.account).lower())
        sent = next(one for one in own if one.action == "placeOrder")
        unknown = replace(sent, state=IntentState.UNKNOWN, message="no answer")
        for number, change in enumerate((
            {"environment": "testnet"}, {"account": str(other.account)}, {"action": "withdraw"},
            {"state": IntentState.REJECTED},
        )):  # fmt: skip
            ledger.record(replace(unknown, **{"id": f"{number}", "nonce": number + 1, **change}))
        monkeypatch.setattr(Delivery, "resolve", lambda *_, **__: iter(()))
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
        patch.setattr(ParentRunner, "cancel", broken)
        [row] = [one for one in s.stop_all().to_dict("records") if one["kind"] == "parent order"]
        assert (row["id"], row["symbol"], row["side"], row["quantity"]) == (parent.id, BTC, "BUY", 0.045)
        assert (row["outcome"], row["message"]) == ("UNKNOWN", "disk full")
        patch.setattr(ParentRunner, "plans", broken)
        first = s.stop_all().astype({"quantity": object}).iloc[0].tolist()
        assert first[:4] + first[5:] == ["parent order", "", "", "", "UNKNOWN", "disk full"]
    assert parent.status == "CANCELED", "it places nothing more all the same"
    s.twap(BTC, "BUY", "0.05", "10m", slices=10)
    [row] = [one for one in s.stop_all().to_dict("records") if one["kind"] == "parent order"]
    assert (row["outcome"], row["message"]) == ("ENDED", "1 of 10 child orders were placed")


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
