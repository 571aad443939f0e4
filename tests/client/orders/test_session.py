"""A session from end to end on a real venue: faults of the network, builders and vaults, closing, and its ledger."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

import toolkit
from tests.client.fake import MASTER, FakeVenue, session
from toolkit import errors, orders
from toolkit.client.io.transport import HttpTransport, Retry
from toolkit.client.orders.intents import IntentState
from toolkit.connecting import development_wallet
from toolkit.venue.local import LocalVenue

HASTY = Retry(attempts=3, base=0.0, longest=0.0)


class Flaky(httpx.BaseTransport):
    """Passes requests on, and fails exchange requests as its script says."""

    def __init__(self, inner: httpx.BaseTransport, script: list[str]) -> None:
        self.inner, self.script, self.bodies = inner, script, []  # type: ignore[var-annotated]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method != "POST":
            return self.inner.handle_request(request)
        self.bodies.append(request.read())
        word = self.script.pop(0) if self.script else "ok"
        if word == "lost":
            raise httpx.ReadTimeout("lost", request=request)
        response = self.inner.handle_request(request)
        if word == "twice":
            response = self.inner.handle_request(request)
        if word == "answer lost":
            raise httpx.RemoteProtocolError("cut", request=request)
        return response


def flaky(venue: LocalVenue, script: list[str], **options: Any) -> tuple[toolkit.Session, Flaky]:
    wallet = toolkit.Wallet(agent=development_wallet(0).key("agent").reveal(), account=MASTER)
    transport = Flaky(venue.transport(), script)
    return toolkit.connect(venue=venue, transport=transport, wallet=wallet, retry=HASTY, **options), transport


@pytest.mark.parametrize("script", [["lost"], ["answer lost"], ["twice"], ["lost", "answer lost"], ["answer lost"] * 3])
def test_on_the_real_venue_no_fault_leaves_a_doubt(
    venue: LocalVenue, alice: toolkit.Session, script: list[str]
) -> None:
    s, transport = flaky(venue, list(script))
    try:
        receipt = s.buy("BTCUSDC", "0.001", price="50000")
    except errors.OutcomeUnknown:
        (receipt,) = s.resolve()
    assert receipt.state is IntentState.ACCEPTED
    assert receipt.order_id
    assert len(set(transport.bodies)) == 1
    assert len(alice.orders()) == 1


@pytest.mark.parametrize("script", [["answer lost"], ["twice"], ["answer lost"] * 3])
def test_a_refusal_whose_answer_was_lost_is_found_again(
    venue: LocalVenue, alice: toolkit.Session, bob: toolkit.Session, script: list[str]
) -> None:
    bob.sell("BTCUSDC", "0.01", price="60000")
    s, _ = flaky(venue, list(script))
    try:
        with pytest.raises(errors.ActionRejected):
            s.buy("BTCUSDC", "0.001", price="60001", tif="POST_ONLY")
    except errors.OutcomeUnknown:
        (receipt,) = s.resolve()
        assert receipt.state is IntentState.REJECTED
    assert list(s.intents()["state"]) == ["REJECTED"]


def test_an_order_that_never_arrived_expires_for_certain(venue: LocalVenue, alice: toolkit.Session) -> None:
    s, _ = flaky(venue, ["lost"] * 3)
    with pytest.raises(errors.OutcomeUnknown):
        s.buy("BTCUSDC", "0.001", price="50000")
    venue.advance("2m")
    (receipt,) = s.resolve()
    assert (receipt.state, receipt.code) == (IntentState.REJECTED, 40208)


def test_an_order_of_a_builder_is_asked_for_among_the_traders_orders(venue: LocalVenue) -> None:
    trader, builder = toolkit.connect(venue=venue, account=2), toolkit.connect(venue=venue, account=3, approve=False)
    builder.exchange.register_builder("Acme")
    agent = toolkit.Wallet.create()
    trader.exchange.approve_agent_to_builder(agent.agent, builder.account, "0.0005")
    transport = Flaky(venue.transport(), ["answer lost"] * 3)
    placing = toolkit.Wallet(agent=agent.key("agent").reveal(), account=builder.account)
    s = toolkit.connect(venue=venue, transport=transport, wallet=placing, retry=HASTY)
    with pytest.raises(errors.OutcomeUnknown):
        s.exchange.place_builder_order(orders.buy("BTCUSDC", "0.001", "50000"), builder.account, "0.0002")
    (receipt,) = s.resolve()
    assert receipt.state is IntentState.ACCEPTED
    assert trader.order(receipt.order_id).status == "NEW"


def test_what_was_done_for_a_vault_is_asked_for_there(venue: LocalVenue, alice: toolkit.Session) -> None:
    vault = alice.exchange.vault_create("Mine", amount="500").data["vault"]
    s, transport = flaky(venue, ["answer lost"] * 3 + ["ok"] + ["answer lost"] * 3)
    with pytest.raises(errors.OutcomeUnknown):
        s.buy("BTCUSDC", "0.001", price="50000", vault_address=vault)
    venue.advance(until=venue.host.settled_ms())
    (receipt,) = s.resolve()
    assert receipt.state is IntentState.ACCEPTED
    assert receipt.order_id
    sent = len(transport.bodies)
    s.cancel(receipt, vault_address=vault)
    with pytest.raises(errors.OutcomeUnknown):
        s.exchange.set_leverage("BTCUSDC", 7, vault_address=vault)
    venue.advance(until=venue.host.settled_ms())
    (receipt,) = s.resolve(resend=False)
    assert receipt.state is IntentState.ACCEPTED
    assert len(transport.bodies) == sent + 4


def test_a_closed_session_refuses_to_trade() -> None:
    fake = FakeVenue(["lost", "lost"])
    made = session(fake, attempts=1)
    prepared = made.intents.prepare(orders.buy("BTCUSDC", "0.01", price="60000"))
    with pytest.raises(errors.OutcomeUnknown):
        made.buy("BTCUSDC", "0.01", price="60000")
    made.close()
    sent = len(fake.bodies)
    for call in (
        lambda: made.buy("BTCUSDC", "0.01", price="60000"),
        lambda: made.intents.send(prepared),
        lambda: made.cancel(5, symbol="BTCUSDC"),
        lambda: made.cancel_all("BTCUSDC"),
        lambda: made.exchange.set_leverage("BTCUSDC", 5),
        made.resolve,
        lambda: asyncio.run(made.aio.buy("BTCUSDC", "0.01", price="60000")),
    ):
        with pytest.raises(errors.SessionClosed, match="is closed"):
            call()
    assert len(fake.bodies) == sent


def test_an_order_on_its_way_gets_its_outcome_while_another_thread_closes_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_its_way, closed, send = threading.Event(), threading.Event(), HttpTransport.send

    def held(self: HttpTransport, fetch: Any) -> Any:
        if b"placeOrder" in (fetch.body or b""):
            on_its_way.set()
            assert closed.wait(10)
        return send(self, fetch)

    monkeypatch.setattr(HttpTransport, "send", held)
    ledger = tmp_path / "orders.db"
    with LocalVenue(clock="manual", market=False) as venue, ThreadPoolExecutor(1) as pool:
        made = toolkit.connect(venue=venue, intents=ledger)
        order = pool.submit(made.buy, "BTCUSDC", "0.01", "60000")
        assert on_its_way.wait(10)
        made.close()
        closed.set()
        assert order.result(10).state == "ACCEPTED"
        with pytest.raises(
            errors.ToolkitError, match=r"orders\.db can't be used: Cannot operate on a closed database\. Requ"
        ):
            made.intents()
        with toolkit.connect(venue=venue, intents=ledger, approve=False) as later:
            assert later.intents()["state"].tolist() == ["ACCEPTED", "ACCEPTED"]


def test_a_program_that_is_run_twice_records_its_orders_in_the_same_file(tmp_path: Path) -> None:
    """The second venue begins at the same time, with the same nonces."""
    for runs in (1, 2):
        with toolkit.connect(clock="manual", intents=tmp_path / "orders.db") as session:
            session.buy("BTCUSDC", "0.01")
            assert session.resolve() == []
            assert session.intents()["action"].tolist() == ["approveAgent", "placeOrder"] * runs
            assert session.intents()["environment"].nunique() == runs


def test_a_venue_that_continues_its_journal_is_the_same_venue_in_the_ledger(tmp_path: Path) -> None:
    labels = set()
    for _ in range(2):
        with (
            LocalVenue(clock="manual", journal=tmp_path / "venue.journal") as venue,
            toolkit.connect(venue=venue, intents=tmp_path / "orders.db") as session,
        ):
            venue.advance("1s")
            labels.add(session.environment.label)
    assert len(labels) == 1
