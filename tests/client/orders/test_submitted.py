"""An action that the venue executes after its answer is SUBMITTED until that is known, then ACCEPTED or FAILED."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import toolkit
from toolkit import errors, orders
from toolkit.client.io.flow import Fetch, Reply
from toolkit.client.orders.intents import IntentState
from toolkit.client.orders.receipts import receipt
from toolkit.venue.local import LocalVenue


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(clock="manual", market=False, settle_delay="1s") as made:
        yield made


@pytest.fixture
def at_once(venue: LocalVenue, alice: toolkit.Session) -> Iterator[toolkit.Session]:
    with toolkit.connect(venue=venue, settle_timeout=0, approve=False) as made:
        yield made


def test_a_call_waits_until_its_action_is_executed(venue: LocalVenue, alice: toolkit.Session) -> None:
    before = venue.host.now_ms()
    receipt = alice.buy("BTCUSDC", "0.01", price="50000")
    assert receipt.state is IntentState.ACCEPTED
    assert receipt.order_id == int(alice.orders(open=True)["order_id"].iloc[0])
    assert venue.host.now_ms() == before + 1000
    leverage = alice.exchange.set_leverage("BTCUSDC", 5)
    assert (leverage.state, leverage.tx_code) == (IntentState.ACCEPTED, 0)


@pytest.mark.parametrize(("clock", "delay"), [("manual", "1s"), ("manual", "30s"), ("real", "200ms")])
@pytest.mark.parametrize("settle_timeout", [0, 0.01])
def test_a_session_that_does_not_wait_has_its_own_approval(clock: str, delay: str, settle_timeout: float) -> None:
    with (
        LocalVenue(clock=clock, market=False, settle_delay=delay) as venue,
        toolkit.connect(venue=venue, settle_timeout=settle_timeout) as hasty,
    ):
        assert list(hasty.intents()["state"]) == ["ACCEPTED"]
        receipt = hasty.buy("BTCUSDC", "0.01", price="50000")
        assert settle_timeout or receipt.state is IntentState.SUBMITTED
        assert receipt.wait("accepted", timeout=5).status == "NEW"


def test_an_order_that_can_not_be_covered_failed(alice: toolkit.Session) -> None:
    with pytest.raises(errors.ActionRejected, match="margin") as caught:
        alice.buy("BTCUSDC", "10", price="50000")
    receipt = caught.value.receipt
    assert (receipt.state, receipt.code, bool(receipt)) == (IntentState.FAILED, 40230, False)
    assert receipt.tx_code
    assert receipt.tx_hash
    assert "margin" in receipt.results[0].message
    assert str(alice.intents()["state"].iloc[-1]) == "FAILED"


def test_the_session_can_return_at_submission(venue: LocalVenue, at_once: toolkit.Session) -> None:
    good = at_once.buy("BTCUSDC", "0.01", price="50000")
    bad = at_once.buy("BTCUSDC", "10", price="50000")
    assert (good.state, good.order_id, bool(good)) == (IntentState.SUBMITTED, None, False)
    assert "refused" not in repr(good)
    assert [receipt.state for receipt in at_once.resolve()] == [IntentState.SUBMITTED] * 2
    venue.advance("1s")
    assert [receipt.state for receipt in at_once.resolve()] == [IntentState.ACCEPTED, IntentState.FAILED]
    assert at_once.resolve() == []
    assert bad.state is IntentState.SUBMITTED  # as it was answered


def test_each_order_of_a_batch_has_its_own_result(alice: toolkit.Session) -> None:
    made = [orders.buy("BTCUSDC", size, price="50000") for size in ("0.01", "10", "0.02")]
    with pytest.raises(errors.ActionRejected) as caught:
        alice.place(made)
    receipt = caught.value.receipt
    assert receipt.state is IntentState.ACCEPTED  # two of them stand
    assert [result.accepted for result in receipt.results] == [True, False, True]
    assert all(result.order_id for result in receipt.results)


def test_replacements_and_cancels_have_their_results(alice: toolkit.Session) -> None:
    first, second = (alice.buy("BTCUSDC", "0.01", price=price) for price in ("50000", "49000"))
    replaced = alice.replace(first, orders.buy("BTCUSDC", "0.01", price="48000"))
    assert replaced.order_id == first.order_id
    with pytest.raises(errors.ActionRejected, match="no open order") as caught:
        alice.cancel([first, 99], symbol="BTCUSDC")
    assert [result.accepted for result in caught.value.receipt.results] == [True, False]
    (receipt,) = alice.cancel_all("BTCUSDC", conditional=False)
    assert [result.order_id for result in receipt.results] == [second.order_id]
    with pytest.raises(errors.ActionRejected, match="no open order"):
        alice.cancel(second)


def test_what_an_action_returns_is_in_its_receipt(alice: toolkit.Session, at_once: toolkit.Session) -> None:
    vault = alice.exchange.vault_create("Mine", "500").data["vault"]
    assert vault in set(alice.info.vaults()["vault"])
    assert alice.exchange.vault_deposit(vault, "100").data["share"] == "100"
    later = at_once.exchange.vault_withdraw(vault, "50")
    assert "amount" not in later.data
    later.wait("accepted")
    assert later.data["amount"] == "50"


def refuse_reads(alice: toolkit.Session, *paths: str) -> None:
    """Let the queries of these paths fail from now on."""
    send = alice._driver._send

    def refuse(fetch: Fetch) -> Reply:
        if any(path in fetch.path for path in paths):
            raise errors.Disconnected("no route")
        return send(fetch)

    alice._driver._send = refuse


@pytest.mark.parametrize("channel", ["order_history", "events"])
def test_the_feed_tells_what_became_of_orders(channel: str) -> None:
    with (
        LocalVenue(clock="manual", market=False, settle_delay="1s") as venue,
        toolkit.connect(venue=venue),
        toolkit.connect(venue=venue, account=1) as other,
        toolkit.connect(venue=venue, approve=False, settle_timeout=0) as alice,
    ):
        live = getattr(alice.stream, channel)()
        live.rows()
        good, bad = alice.buy("BTCUSDC", "0.01", price="50000"), alice.buy("BTCUSDC", "10", price="50000")
        both = alice.place([orders.buy("BTCUSDC", "0.01", price=price) for price in ("50000", "49000")])
        bracket = alice.buy("BTCUSDC", "0.01", price="50000", tp="55000", sl="45000")
        refuse_reads(alice, "/info/")
        assert list(alice.intents()["state"]) == ["SUBMITTED"] * 4
        other.sell("BTCUSDC", "0.01", price="70000", cl_ord_id=5)
        venue.advance(until=venue.host.settled_ms())
        live.rows()
        assert list(alice.intents()["state"]) == ["ACCEPTED", "FAILED", "ACCEPTED", "ACCEPTED"]
        assert bad.state is IntentState.SUBMITTED  # as it was answered
        results = [
            result for made in (good, both, bracket) for result in receipt(alice.intents.get(made.intent)).results
        ]
        assert len(results) == 6
        assert all(result.accepted and result.order_id for result in results)


def test_the_feed_tells_what_became_of_any_action(venue: LocalVenue, at_once: toolkit.Session) -> None:
    live = at_once.stream.events()
    live.rows()
    made = [
        at_once.exchange.set_leverage("BTCUSDC", 5),
        at_once.exchange.vault_create("Mine", "500"),
        at_once.exchange.cancel_order({"symbolCode": 1, "ordId": 99}),
        at_once.exchange.cancel_all("BTCUSDC", False),
    ]
    refuse_reads(at_once, "/info/")
    venue.advance(until=venue.host.settled_ms())
    live.rows()
    states = [str(at_once.intents.get(each.intent).state) for each in made]
    assert states == ["ACCEPTED", "ACCEPTED", "FAILED", "SUBMITTED"]  # the last one's orders are asked for
    assert (at_once.intents.get(made[1].intent).data or {})["vault"]
