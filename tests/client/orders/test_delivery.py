"""Delivery: wherever something fails, the ledger ends with the true outcome and nothing is placed twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolkit
from tests.client.fake import AGENT_KEY, MASTER, NOW, Clock, FakeVenue, session
from toolkit import errors
from toolkit.client.orders.intents import SAFE_RESEND_MS, IntentState, MemoryLedger, Proof, has_fresh_ids


def state_of(s: toolkit.Session) -> list[str]:
    return [str(value) for value in s.intents()["state"]]


def only_intent(s: toolkit.Session) -> Any:
    ids = list(s.intents().index)
    assert len(ids) == 1
    return s.intents.get(ids[0])


def buy(s: toolkit.Session) -> toolkit.Receipt:
    return s.buy("BTCUSDC", "0.01", price="60000")


def test_an_accepted_order_has_a_receipt_and_a_settled_intent() -> None:
    fake = FakeVenue()
    s = session(fake)
    receipt = buy(s)
    assert receipt
    assert receipt.state is IntentState.ACCEPTED
    assert receipt.order_id == 501
    assert receipt.cl_ord_id == only_intent(s).client_ids[0]
    assert "placeOrder ACCEPTED, order 501" in repr(receipt)
    assert state_of(s) == ["ACCEPTED"]
    body = json.loads(fake.bodies[0])
    assert 0 <= body["nonce"] - NOW < 500
    assert 0 <= NOW + 60_000 - body["expiryAfter"] < 1_000
    assert body["action"]["orders"][0]["clOrdId"] == receipt.cl_ord_id


def test_the_intent_is_recorded_before_it_is_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolkit.protocol import signing

    s = session(FakeVenue())
    seen: list[Any] = []

    def interrupted(*args: Any, **keywords: Any) -> None:
        seen.append(only_intent(s))
        raise KeyboardInterrupt

    monkeypatch.setattr(signing, "sign_content", interrupted)
    with pytest.raises(KeyboardInterrupt):
        buy(s)
    (intent,) = seen
    assert (intent.state, intent.body) == (IntentState.PREPARED, None)
    assert has_fresh_ids(intent)
    assert len(intent.payload_hash) == 64
    (receipt,) = s.resolve()
    assert receipt.state is IntentState.REJECTED
    assert "before it was sent" in receipt.message


@pytest.mark.parametrize("word", ["lost", "answer lost", "cut", "cut after", "503", "503 after", "html", "html after"])
def test_a_write_without_an_answer_is_sent_again_as_the_identical_bytes(word: str) -> None:
    fake = FakeVenue([word])
    s = session(fake)
    receipt = buy(s)
    assert receipt.state is IntentState.ACCEPTED
    assert len(set(fake.bodies)) == 1
    assert len(fake.bodies) == 2
    assert fake.placed == 1
    assert receipt.order_id == 501


OPEN_ENDS = [[word] * 3 for word in ("lost", "answer lost", "cut", "cut after", "503", "503 after", "html")]


@pytest.mark.parametrize("script", [*OPEN_ENDS, ["interrupt"], ["interrupt after"]])
@pytest.mark.parametrize("restarted", [False, True])
def test_resolve_settles_an_unknown_outcome_here_and_after_a_restart(
    script: list[str], restarted: bool, tmp_path: Path
) -> None:
    fake, path = FakeVenue(script), tmp_path / "intents.db"
    s = session(fake, ledger=path)
    with pytest.raises((errors.OutcomeUnknown, KeyboardInterrupt)) as caught:
        buy(s)
    if isinstance(caught.value, errors.OutcomeUnknown):
        assert "session.resolve()" in str(caught.value)
        assert caught.value.receipt.state is IntentState.UNKNOWN
    if restarted:
        s.close()
        s = session(fake, ledger=path, clock=Clock(NOW + 5_000))
    assert state_of(s) == ["UNKNOWN"]
    (receipt,) = s.resolve()
    assert (receipt.state, receipt.intent) == (IntentState.ACCEPTED, only_intent(s).id)
    assert (fake.placed, len(set(fake.bodies))) == (1, 1)
    assert s.resolve() == []


@pytest.mark.parametrize("others", ["before", "after", "before and after"])
@pytest.mark.parametrize("word", ["ok", "lost", "answer lost", "refused", "503"])
def test_another_process_may_resolve_what_this_one_is_sending(word: str, others: str, tmp_path: Path) -> None:
    fake = FakeVenue()
    other = session(fake, ledger=tmp_path / "intents.db")
    is_resolving = [False]

    def interfering(request: httpx.Request) -> httpx.Response:
        if request.method == "GET" or is_resolving[0]:
            return fake(request)
        try:
            is_resolving[0] = True
            if "before" in others:
                other.resolve()
            fake.script = [word]
            return fake(request)
        finally:
            fake.script = []
            if "after" in others:
                other.resolve()
            is_resolving[0] = False

    s = session(interfering, ledger=tmp_path / "intents.db")
    receipt = buy(s)
    assert receipt.state is IntentState.ACCEPTED
    assert receipt.order_id == 501
    assert fake.placed == 1
    assert state_of(s) == ["ACCEPTED"]


def test_an_intent_that_another_process_gave_up_before_posting_is_not_sent() -> None:
    class Racing(MemoryLedger):
        def update(self, id: str, now: int, **changes: Any) -> Any:
            if changes.get("state") is IntentState.SENT:
                super().update(id, now, proof=Proof(False, None, "given up"))
            return super().update(id, now, **changes)

    fake = FakeVenue()
    with pytest.raises(errors.NotSent, match="given up"):
        buy(session(fake, ledger=Racing()))
    assert fake.placed == 0


def test_an_intent_that_another_process_has_just_sent_is_not_rejected_as_unsent() -> None:
    class Racing(MemoryLedger):
        def update(self, id: str, now: int, **changes: Any) -> Any:
            if changes.get("proof") and self.get(id).state is IntentState.PREPARED:
                super().update(id, now, body=b"{}")
                super().update(id, now, state=IntentState.SENT)
            return super().update(id, now, **changes)

    ledger, fake = Racing(), FakeVenue()
    s = session(fake, ledger=ledger)
    buy(s)
    late = replace(only_intent(s), id="testnet-late", state=IntentState.PREPARED, body=None, nonce=1, client_ids=(77,))
    ledger.record(late)
    s.resolve(resend=False)
    assert ledger.get("testnet-late").state is IntentState.UNKNOWN


def test_a_cancelled_task_leaves_an_unknown_that_resolve_settles() -> None:
    fake = FakeVenue()

    async def slow(request: httpx.Request) -> httpx.Response:
        answer = fake(request)
        if request.url.path == "/api/v1/exchange" and len(fake.bodies) == 1:
            await asyncio.Event().wait()
        return answer

    async def run() -> None:
        s = session(slow).aio  # type: ignore[arg-type]
        task = asyncio.create_task(s.buy("BTCUSDC", "0.01", price="60000"))
        while not fake.bodies:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert list(s.intents()["state"]) == ["UNKNOWN"]
        (receipt,) = await s.resolve()
        assert receipt.state is IntentState.ACCEPTED

    asyncio.run(run())
    assert fake.placed == 1


def test_an_action_that_never_expires_says_until_when_it_would_be_sent_again() -> None:
    until = datetime.fromtimestamp((NOW + SAFE_RESEND_MS) / 1000, UTC)
    with pytest.raises(errors.OutcomeUnknown, match=f"would send it again until {until:%H:%M:%S} UTC"):
        session(FakeVenue(["lost"] * 3)).exchange.set_leverage("BTCUSDC", 5)


def test_resolving_names_what_to_settle() -> None:
    fake = FakeVenue(["lost"] * 6)
    s = session(fake)
    receipts = []
    for _ in range(2):
        with pytest.raises(errors.OutcomeUnknown) as caught:
            buy(s)
        receipts.append(caught.value.receipt)
    (settled,) = s.resolve(receipts[1])
    assert settled.intent == receipts[1].intent
    assert state_of(s) == ["UNKNOWN", "ACCEPTED"]
    assert [receipt.intent for receipt in s.resolve(receipts)] == [receipts[0].intent]


def test_40208_tells_the_venues_time_and_the_action_is_made_once_more() -> None:
    fake = FakeVenue(["code:40208"])
    fake.headers = {"date": "Thu, 01 Jan 2026 00:01:35 GMT"}
    s = session(fake)
    assert buy(s).order_id == 501
    assert state_of(s) == ["REJECTED", "ACCEPTED"]
    first, second = (json.loads(body) for body in fake.bodies)
    assert second["nonce"] - first["nonce"] in range(95_000, 100_000)
    assert second["expiryAfter"] - second["nonce"] in range(58_000, 60_001)
    assert s.clock.skew_ms == -95_000


@pytest.mark.parametrize("moment", ["Thu, 01 Jan 2026 00:00:05 GMT", "Thu, 01 Jan 2026 00:01:35 GMT"])
def test_40208_again_or_without_a_clock_that_is_off_is_raised(moment: str) -> None:
    fake = FakeVenue(["code:40208"] * 5)
    fake.headers = {"date": moment}
    s = session(fake)
    with pytest.raises(errors.RequestExpired, match="behind the venue's") as caught:
        buy(s)
    assert caught.value.clock_skew_ms in (-95_000, -5_000)
    assert set(state_of(s)) == {"REJECTED"}
    assert len(fake.bodies) == (2 if "01:35" in moment else 1)


@pytest.mark.parametrize(
    ("code", "kind"),
    [(code, kind) for code, kind in sorted(errors.EXCHANGE_ERRORS.items()) if code != 40207]
    + [(49999, errors.UnknownCode)],
)
def test_every_published_code_has_its_class(code: int, kind: type[errors.ExchangeError]) -> None:
    s = session(FakeVenue([f"code:{code}"] * 3))
    with pytest.raises(kind, match=rf"placeOrder: refused.*\(code {code}\)") as caught:
        buy(s)
    assert caught.value.code == code
    assert caught.value.action == "placeOrder"
    assert caught.value.receipt.state is IntentState.REJECTED
    assert state_of(s) == ["REJECTED"]


def test_the_missing_key_is_named_before_anything_is_recorded() -> None:
    s = session(FakeVenue(), wallet=None, account=MASTER)
    with pytest.raises(errors.WalletError, match="read-only: placeOrder is signed by the agent key"):
        buy(s)
    assert len(s.intents()) == 0
    with pytest.raises(errors.WalletError, match="withdraw is signed by the master key"):
        session(FakeVenue()).exchange.withdraw(MASTER, "5")


def test_writes_on_mainnet_need_a_confirmation() -> None:
    fake = FakeVenue()
    with pytest.raises(errors.LimitReached, match="real money"):
        buy(session(fake, environment="mainnet"))
    asked: list[str] = []

    def refuse(question: str) -> bool:
        asked.append(question)
        return False

    with pytest.raises(errors.LimitReached, match="not confirmed"):
        buy(session(fake, environment="mainnet", confirm=refuse))
    assert "placeOrder" in asked[0]
    assert fake.bodies == []
    assert buy(session(fake, environment="mainnet", confirm=True))


Change = Callable[[dict[str, Any]], httpx.Response | None]


class Altered:
    """A venue whose answers to exchange requests are altered on their way: the first `times` of them."""

    def __init__(self, change: Change, *, executes: bool = True, times: int = 1) -> None:
        self.inner, self.change, self.executes, self.times = FakeVenue(), change, executes, times

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path != "/api/v1/exchange" or not self.times:
            return self.inner(request)
        self.times -= 1
        answer = {"code": 0, "message": "success", "data": {"txHash": "0x1", "txCode": 0, "txMsg": "success"}}
        if self.executes:
            answer = json.loads(self.inner(request).content)
        return self.change(answer) or httpx.Response(200, json=answer)


def other_id(answer: dict[str, Any]) -> None:
    if answer["data"]:
        answer["data"]["results"] = [{"clOrdId": 99, "ordId": 7, "txCode": 0, "txMsg": "success"}]


def too_many(answer: dict[str, Any]) -> None:
    if answer["data"]:
        answer["data"]["results"] = [{"ordId": number, "txCode": 0} for number in (7, 8)]


def not_found(answer: dict[str, Any]) -> httpx.Response:
    return httpx.Response(404, json={**answer, "code": 0})


@pytest.mark.parametrize("change", [other_id, too_many, not_found])
@pytest.mark.parametrize("executes", [True, False])
@pytest.mark.parametrize("times", [1, 3])
def test_an_answer_that_is_another_requests_is_not_believed(change: Change, executes: bool, times: int) -> None:
    venue = Altered(change, executes=executes, times=times)
    s = session(venue)
    if not executes and times == 3:
        # No answer was the request's own, and the venue knows no such order: it may still be on its way.
        with pytest.raises(errors.OutcomeUnknown):
            buy(s)
        (receipt,) = s.resolve()
    else:
        receipt = buy(s)
    assert receipt.state is IntentState.ACCEPTED
    assert receipt.order_id == 501
    assert venue.inner.placed == 1


WORDS = ["ok", "refused", "lost", "answer lost", "cut", "cut after", "429", "503", "503 after", "html", "twice"]


@settings(max_examples=30)
@given(script=st.lists(st.sampled_from(WORDS), max_size=12), orders=st.integers(1, 3))
def test_whatever_fails_client_and_venue_agree_in_the_end(script: list[str], orders: int) -> None:
    fake = FakeVenue(script)
    s = session(fake, wallet=toolkit.Wallet(agent=AGENT_KEY, account=MASTER))
    for _ in range(orders):
        try:
            buy(s)
        except (errors.OutcomeUnknown, errors.NotSent, errors.HttpStatus, errors.ExchangeError):
            continue
    for _ in range(6):
        s.resolve()
    for name in s.intents().index:
        intent = s.intents.get(name)
        assert intent.settled
        placed = intent.client_ids[0] in fake.orders
        assert placed == (intent.state is IntentState.ACCEPTED)
    assert fake.placed == len(fake.orders)
