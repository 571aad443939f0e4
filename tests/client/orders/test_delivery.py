"""Delivery: wherever something fails, the ledger ends with the true outcome and nothing is placed twice."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolkit
from tests.client.fake import AGENT_KEY, MASTER, MASTER_KEY, NOW, Clock, FakeVenue, enveloped, session
from toolkit import errors
from toolkit.client.io.flow import Runtime
from toolkit.client.io.rate_limits import Rate
from toolkit.client.orders import ledger_file
from toolkit.client.orders.intents import SAFE_RESEND_MS, IntentState, MemoryLedger, Proof
from toolkit.client.orders.ledger_file import SqliteLedger
from toolkit.client.orders.reconciliation import LATEST_EXECUTION_MS


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
    assert receipt.cl_ord_id == NOW * 1000
    assert "placeOrder ACCEPTED, order 501" in repr(receipt)
    assert state_of(s) == ["ACCEPTED"]
    body = json.loads(fake.bodies[0])
    assert body["nonce"] == NOW
    assert body["expiryAfter"] == NOW + 60_000
    assert body["action"]["orders"][0]["clOrdId"] == NOW * 1000


def test_the_intent_is_recorded_before_it_is_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolkit.protocol import signing

    s = session(FakeVenue())
    seen: list[Any] = []

    def interrupted(*args: Any, **keywords: Any) -> None:
        seen.append(only_intent(s))
        raise KeyboardInterrupt

    monkeypatch.setattr(signing, "sign", interrupted)
    with pytest.raises(KeyboardInterrupt):
        buy(s)
    (intent,) = seen
    assert (intent.state, intent.body) == (IntentState.PREPARED, None)
    assert intent.client_ids == (NOW * 1000,)
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


@pytest.mark.parametrize("word", ["lost", "answer lost", "cut", "cut after", "503", "503 after", "html"])
def test_without_any_answer_the_outcome_is_unknown_and_resolve_settles_it(word: str) -> None:
    fake = FakeVenue([word] * 3)
    s = session(fake)
    with pytest.raises(errors.OutcomeUnknown, match=r"session\.resolve\(\)") as caught:
        buy(s)
    assert caught.value.receipt.state is IntentState.UNKNOWN
    assert state_of(s) == ["UNKNOWN"]
    (receipt,) = s.resolve()
    assert receipt.state is IntentState.ACCEPTED
    assert receipt.intent == caught.value.intent
    assert fake.placed == 1
    assert len(set(fake.bodies)) == 1
    assert s.resolve() == []


def test_resolve_queries_before_it_sends_again() -> None:
    fake = FakeVenue(["answer lost"] * 3)
    s = session(fake)
    with pytest.raises(errors.OutcomeUnknown):
        buy(s)
    sent = len(fake.bodies)
    (receipt,) = s.resolve()
    assert receipt.order_id == 501
    assert len(fake.bodies) == sent


def test_resolve_with_resend_false_only_queries() -> None:
    fake = FakeVenue(["lost"] * 3)
    s = session(fake)
    with pytest.raises(errors.OutcomeUnknown):
        buy(s)
    (receipt,) = s.resolve(resend=False)
    assert receipt.state is IntentState.UNKNOWN
    assert len(fake.bodies) == 3
    (receipt,) = s.resolve()
    assert receipt.state is IntentState.ACCEPTED


def test_a_refused_connection_is_a_certain_outcome() -> None:
    fake = FakeVenue(["refused"] * 3)
    s = session(fake)
    with pytest.raises(errors.NotSent):
        buy(s)
    intent = only_intent(s)
    assert intent.state is IntentState.REJECTED
    assert intent.message.startswith("not sent")
    assert s.resolve() == []


def test_a_refused_connection_after_a_time_out_stays_in_doubt() -> None:
    s = session(FakeVenue(["answer lost", "refused", "refused"]))
    with pytest.raises(errors.OutcomeUnknown):
        buy(s)
    (receipt,) = s.resolve()
    assert receipt.state is IntentState.ACCEPTED


def test_a_proxy_that_forbids_is_a_certain_refusal() -> None:
    fake = FakeVenue(["403"])
    s = session(fake)
    with pytest.raises(errors.HttpStatus) as caught:
        buy(s)
    assert caught.value.status == 403
    assert state_of(s) == ["REJECTED"]
    assert len(fake.bodies) == 1


def test_40207_after_a_resend_means_the_first_one_counted() -> None:
    fake = FakeVenue(["answer lost"])
    s = session(fake)
    receipt = buy(s)
    assert receipt.state is IntentState.ACCEPTED
    assert fake.placed == 1
    assert any("clientOrderId" in read for read in fake.reads)


def test_40207_on_a_duplicated_request_is_looked_up() -> None:
    fake = FakeVenue(["twice"])
    s = session(fake)
    assert buy(s).state is IntentState.ACCEPTED
    assert fake.placed == 1


def test_40207_on_a_first_copy_is_unknown_since_another_copy_may_have_used_the_nonce() -> None:
    fake = FakeVenue()
    fake.nonces.add(NOW)
    s = session(fake)
    with pytest.raises(errors.OutcomeUnknown):
        buy(s)
    assert state_of(s) == ["UNKNOWN"]
    assert fake.placed == 0


def test_40207_without_an_explanation_stays_unknown() -> None:
    fake = FakeVenue(["lost"])
    fake.nonces.add(NOW)
    s = session(fake)
    with pytest.raises(errors.OutcomeUnknown):
        buy(s)
    assert state_of(s) == ["UNKNOWN"]


def test_40207_on_a_first_copy_is_no_refusal_where_the_venue_shows_nothing() -> None:
    fake = FakeVenue()
    s = session(fake)
    s.product("BTCUSDC")
    fake.script = ["twice"]
    fake.show_transactions = False
    with pytest.raises(errors.OutcomeUnknown):
        s.exchange.set_leverage("BTCUSDC", 5)
    assert state_of(s) == ["UNKNOWN"]


@pytest.mark.parametrize("code", [40003, 40006, 40201, 40204, 40208, 40220, 40280, 40281])
@pytest.mark.parametrize("timeout", [0.0, 0.5, 5.0, 30.0])
@pytest.mark.parametrize("action", ["order", "leverage"])
def test_a_refusal_that_the_venue_confirms_is_certain_in_two_seconds(code: int, timeout: float, action: str) -> None:
    fake = FakeVenue()
    s = session(fake, settle_timeout=timeout, attempts=1)
    s.product("BTCUSDC")
    waits: list[float] = []
    s._driver._settle = waits.append
    fake.script = [f"code:{code}"]
    with pytest.raises(errors.ExchangeError) as caught:
        buy(s) if action == "order" else s.exchange.set_leverage("BTCUSDC", 5)
    assert caught.value.code == code
    assert state_of(s) == ["REJECTED"]
    assert sum(waits) == pytest.approx(min(timeout, 2.0))


def test_40207_stays_unknown_while_the_venue_can_not_be_queried() -> None:
    fake = FakeVenue()
    s = session(fake)
    s.product("BTCUSDC")
    fake.script, fake.read_script = ["twice"], ["cut"]
    with pytest.raises(errors.OutcomeUnknown):
        buy(s)
    assert state_of(s) == ["UNKNOWN"]
    (receipt,) = s.resolve()
    assert receipt.state is IntentState.ACCEPTED


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


def test_a_refusal_that_another_process_has_settled_is_raised_here_too(tmp_path: Path) -> None:
    fake = FakeVenue()
    fake.refuse_business = True
    other = session(fake, ledger=tmp_path / "intents.db")

    def interfering(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            fake(request)
            other.resolve()
            raise httpx.ReadTimeout("no answer", request=request)
        return fake(request)

    s = session(interfering, ledger=tmp_path / "intents.db")
    with pytest.raises(errors.ActionRejected, match="insufficient margin"):
        s.exchange.set_leverage("BTCUSDC", 5)
    assert state_of(s) == ["REJECTED"]


def test_an_intent_that_another_process_gave_up_while_signing_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toolkit.protocol import signing

    fake = FakeVenue()
    other, s = (session(fake, ledger=tmp_path / "intents.db") for _ in range(2))
    sign = signing.sign

    def signed(*args: Any, **keywords: Any) -> Any:
        other.resolve()
        return sign(*args, **keywords)

    monkeypatch.setattr(signing, "sign", signed)
    with pytest.raises(errors.NotSent, match="given up"):
        buy(s)
    assert fake.placed == 0
    assert state_of(s) == ["REJECTED"]


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


def test_resolve_reads_each_intent_again_when_its_turn_comes() -> None:
    fake = FakeVenue()
    ledger = MemoryLedger()
    s = session(fake, ledger=ledger)
    s.product("BTCUSDC")
    fake.script = ["answer lost"] * 3
    with pytest.raises(errors.OutcomeUnknown):
        buy(s)
    first = only_intent(s)
    late = replace(
        first, id="testnet-late", state=IntentState.PREPARED, body=None, nonce=1, client_ids=(77,), created=NOW
    )
    ledger.record(late)  # another process records it …

    def interfering(request: httpx.Request) -> httpx.Response:
        if ledger.get("testnet-late").state is IntentState.PREPARED:  # … and sends it while the first one is queried
            ledger.update("testnet-late", NOW, body=b"{}")
            ledger.update("testnet-late", NOW, state=IntentState.SENT)
        return fake(request)

    session(interfering, ledger=ledger).resolve(resend=False)
    assert ledger.get(first.id).state is IntentState.ACCEPTED
    assert ledger.get("testnet-late").state is IntentState.UNKNOWN


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


def test_actions_without_orders_are_looked_up_by_their_nonce() -> None:
    fake = FakeVenue(["answer lost"])
    s = session(fake)
    receipt = s.exchange.set_leverage("BTCUSDC", 5)
    assert receipt.state is IntentState.ACCEPTED
    assert len(set(fake.bodies)) == 1


def test_a_first_try_that_the_venue_refused_is_found_by_its_nonce() -> None:
    fake = FakeVenue(["answer lost"])
    fake.refuse_business = True
    s = session(fake)
    with pytest.raises(errors.ActionRejected, match="insufficient margin") as caught:
        s.exchange.set_leverage("BTCUSDC", 5)
    assert caught.value.receipt.tx_code == 7
    assert state_of(s) == ["REJECTED"]


def test_a_venue_that_hides_transactions_leaves_such_an_action_unknown() -> None:
    fake = FakeVenue(["answer lost"])
    fake.show_transactions = False
    s = session(fake)
    with pytest.raises(errors.OutcomeUnknown):
        s.exchange.set_leverage("BTCUSDC", 5)
    (receipt,) = s.resolve()
    assert receipt.state is IntentState.UNKNOWN


@pytest.mark.parametrize("code", [40204, 40208])
@pytest.mark.parametrize("shown", [True, False])
def test_a_refusal_of_the_second_copy_proves_nothing_about_the_first_without_transactions(
    code: int, shown: bool
) -> None:
    fake, clock = FakeVenue(), Clock()
    s = session(fake, clock=clock)
    s.exchange.set_leverage("BTCUSDC", 3)
    fake.script = ["lost", f"code:{code}"]
    fake.show_transactions = shown
    with pytest.raises(errors.OutcomeUnknown):
        s.exchange.set_leverage("BTCUSDC", 5)
    sent = len(fake.bodies)
    clock.now += LATEST_EXECUTION_MS - 1_000
    assert s.resolve()[0].state is IntentState.UNKNOWN, "the first copy may be executed yet"
    clock.now += 1_000
    assert s.resolve()[0].state is (IntentState.REJECTED if shown else IntentState.UNKNOWN)
    assert s.intents().iloc[-1]["code"] == code
    assert len(fake.bodies) == sent, "no copy is sent after such a refusal"


@pytest.mark.parametrize("word", ["interrupt", "interrupt after"])
def test_an_interrupt_while_sending_leaves_an_unknown_that_resolve_settles(word: str) -> None:
    fake = FakeVenue([word])
    s = session(fake)
    with pytest.raises(KeyboardInterrupt):
        buy(s)
    assert state_of(s) == ["UNKNOWN"]
    (receipt,) = s.resolve()
    assert receipt.state is IntentState.ACCEPTED
    assert fake.placed == 1


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


@pytest.mark.parametrize("script", [["answer lost"] * 3, ["lost"] * 3, ["interrupt"], ["interrupt after"]])
def test_a_restarted_kernel_settles_what_the_last_one_left(script: list[str], tmp_path: Path) -> None:
    fake, path = FakeVenue(script), tmp_path / "intents.db"
    first = session(fake, ledger=path)
    with pytest.raises((errors.OutcomeUnknown, KeyboardInterrupt)):
        buy(first)
    first.close()
    second = session(fake, ledger=path, clock=Clock(NOW + 5_000))
    assert state_of(second) == ["UNKNOWN"]
    (receipt,) = second.resolve()
    assert receipt.state is IntentState.ACCEPTED
    assert fake.placed == 1
    assert len(set(fake.bodies)) == 1


def test_a_killed_process_leaves_sent_and_a_restart_settles_it(tmp_path: Path) -> None:
    fake, path = FakeVenue(["lost"] * 3), tmp_path / "intents.db"
    with pytest.raises(errors.OutcomeUnknown):
        buy(session(fake, ledger=path))
    ledger = SqliteLedger(path)
    [left] = ledger.all()
    cells = ledger_file._cells(replace(left, state=IntentState.SENT))
    ledger._database.execute(f"UPDATE intents SET {ledger_file._CHANGED}", cells)
    ledger.close()
    second = session(fake, ledger=path)
    (receipt,) = second.resolve()
    assert receipt.state is IntentState.ACCEPTED
    assert fake.placed == 1


def test_after_expiry_an_order_the_venue_never_saw_is_rejected_for_certain() -> None:
    fake = FakeVenue(["lost"] * 3 + ["code:40208"])
    clock = Clock()
    s = session(fake, clock=clock)
    with pytest.raises(errors.OutcomeUnknown):
        buy(s)
    clock.now += 120_000
    (receipt,) = s.resolve()
    assert receipt.state is IntentState.REJECTED
    assert receipt.code == 40208


def test_an_old_action_that_never_expires_is_not_sent_again_by_itself() -> None:
    fake, clock = FakeVenue(["lost"] * 3), Clock()
    s = session(fake, clock=clock)
    until = datetime.fromtimestamp((clock.now + SAFE_RESEND_MS) / 1000, UTC)
    with pytest.raises(errors.OutcomeUnknown, match=f"would send it again until {until:%H:%M:%S} UTC"):
        s.exchange.set_leverage("BTCUSDC", 5)
    (receipt,) = s.resolve(resend=False)
    assert (receipt.state, len(fake.bodies)) == (IntentState.UNKNOWN, 3), "asking alone sends nothing"
    clock.now += SAFE_RESEND_MS + 1
    (receipt,) = s.resolve()
    assert receipt.state is IntentState.UNKNOWN
    assert len(fake.bodies) == 3
    (receipt,) = s.resolve(resend=True)
    assert receipt.state is IntentState.ACCEPTED


def test_a_shared_ledger_never_sends_bytes_to_another_environment(tmp_path: Path) -> None:
    path, here, there = tmp_path / "intents.db", FakeVenue(["lost"] * 3), FakeVenue()
    with pytest.raises(errors.OutcomeUnknown):
        buy(session(here, ledger=path))
    other = session(there, ledger=path, environment="mainnet", confirm=True)
    assert list(other.intents()["environment"]) == ["testnet"]
    assert other.resolve() == []
    assert there.bodies == []
    (receipt,) = session(here, ledger=path).resolve()
    assert receipt.state is IntentState.ACCEPTED


def test_an_intent_stays_unknown_with_the_reason_while_the_venue_can_not_be_queried() -> None:
    fake = FakeVenue(["answer lost"] * 3)
    s = session(fake)
    with pytest.raises(errors.OutcomeUnknown):
        buy(s)
    fake.read_script = ["lost"]
    (receipt,) = s.resolve()
    assert receipt.state is IntentState.UNKNOWN
    assert "no answer" in receipt.message
    (receipt,) = s.resolve([receipt.intent])
    assert receipt.state is IntentState.ACCEPTED


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
    assert second["expiryAfter"] - second["nonce"] == 60_000
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


def test_an_expiry_that_the_caller_gave_is_never_changed() -> None:
    fake = FakeVenue(["code:40208"])
    fake.headers = {"date": "Thu, 01 Jan 2026 00:01:35 GMT"}
    with pytest.raises(errors.RequestExpired):
        session(fake).buy("BTCUSDC", "0.01", price="60000", expiry_after=NOW + 1000)
    assert len(fake.bodies) == 1


@pytest.mark.parametrize(
    ("code", "kind"), [(code, kind) for code, kind in sorted(errors.EXCHANGE_ERRORS.items()) if code != 40207]
)
def test_every_published_code_has_its_class(code: int, kind: type[errors.ExchangeError]) -> None:
    s = session(FakeVenue([f"code:{code}"] * 3))
    with pytest.raises(kind, match=rf"placeOrder: refused.*\(code {code}\)") as caught:
        buy(s)
    assert caught.value.code == code
    assert caught.value.action == "placeOrder"
    assert caught.value.receipt.state is IntentState.REJECTED
    assert state_of(s) == ["REJECTED"]


def test_an_undocumented_code_keeps_its_number_and_message() -> None:
    s = session(FakeVenue(["code:49999"]))
    with pytest.raises(errors.UnknownCode, match=r"refused \(code 49999\)"):
        buy(s)


def test_a_rate_limit_of_the_venue_is_waited_out_with_the_identical_bytes() -> None:
    fake = FakeVenue(["code:40220", "429"])
    s = session(fake)
    assert buy(s)
    assert len(fake.bodies) == 3
    assert len(set(fake.bodies)) == 1


def test_a_batch_that_was_refused_in_part_raises_with_every_result() -> None:
    first = NOW * 1000
    results = [
        {"clOrdId": first, "ordId": 9, "txCode": 0, "txMsg": "ok"},
        {"clOrdId": first + 1, "ordId": 0, "txCode": 11, "txMsg": "too small"},
    ]
    answer = {"txHash": "0x1", "txCode": 11, "txMsg": "1 of 2 refused", "results": results}

    def venue(request: httpx.Request) -> httpx.Response:
        if request.url.path.startswith("/info"):
            return FakeVenue()(request)
        return enveloped(40230, "1 of 2 refused", answer)

    s = session(venue)
    with pytest.raises(errors.ActionRejected) as caught:
        s.place([toolkit.orders.buy("BTCUSDC", "0.01", "60000")] * 2)
    receipt = caught.value.receipt
    assert [result.accepted for result in receipt.results] == [True, False]
    assert receipt.state is IntentState.ACCEPTED
    assert f"clOrdId {first + 1} refused: too small" in repr(receipt)


def test_an_intent_never_gets_a_second_signature() -> None:
    s = session(FakeVenue(["lost"] * 3))
    with pytest.raises(errors.OutcomeUnknown):
        buy(s)
    intent = only_intent(s)
    with pytest.raises(errors.ToolkitError, match="second signature"):
        s._delivery.ledger.update(intent.id, NOW, body=b"another")


def test_a_read_only_session_names_the_missing_key() -> None:
    s = session(FakeVenue(), wallet=None, account=MASTER)
    with pytest.raises(errors.WalletError, match="read-only: placeOrder is signed by the agent key"):
        buy(s)
    assert len(s.intents()) == 0


def test_an_agent_key_can_not_withdraw_and_says_which_key_is_missing() -> None:
    s = session(FakeVenue())
    with pytest.raises(errors.WalletError, match="withdraw is signed by the master key"):
        s.exchange.withdraw(MASTER, "5")


def test_a_withdrawal_lives_an_hour_and_carries_its_sequence() -> None:
    fake = FakeVenue()
    session(fake, wallet=toolkit.Wallet(master=MASTER_KEY)).exchange.withdraw(MASTER, "5")
    body = json.loads(fake.bodies[0])
    assert body["expiryAfter"] == NOW + 3_600_000
    assert body["action"]["withdrawSequence"] == NOW // 1000


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


def test_the_client_waits_before_the_venue_refuses_for_the_rate() -> None:
    fake, clock = FakeVenue(), Clock()
    s = session(fake, clock=clock, rates={"placeOrder": Rate(per_second=10, burst=2)})
    waits: list[float] = []
    s._driver._sleep = waits.append
    s._driver._runtime = Runtime(clock.now_ms, elapsed=lambda: 5)
    for _ in range(4):
        buy(s)
    assert waits == [pytest.approx(0.1), pytest.approx(0.2)]


def test_a_clock_that_is_set_back_makes_no_request_wait() -> None:
    fake, clock = FakeVenue(), Clock()
    s = session(fake, clock=clock, rates=Rate(per_second=10, burst=2))
    waits: list[float] = []
    s._driver._sleep = waits.append
    elapsed = iter(range(0, 10**9, 100))
    s._driver._runtime = Runtime(clock.now_ms, elapsed=lambda: next(elapsed))
    for _ in range(4):
        buy(s)
        clock.now -= 3_600_000
    assert waits == []


def test_no_attempt_begins_after_the_total_time_of_a_call() -> None:
    fake = FakeVenue(["answer lost"] * 9)
    s = session(fake, attempts=9)
    s._driver._runtime = Runtime(Clock().now_ms, elapsed=lambda: 25_000 * len(fake.bodies))
    with pytest.raises(errors.OutcomeUnknown):
        buy(s)
    assert len(fake.bodies) == 3


def test_nonces_of_a_session_are_unique_and_increasing() -> None:
    fake = FakeVenue()
    s = session(fake)
    for _ in range(5):
        buy(s)
    nonces = [json.loads(body)["nonce"] for body in fake.bodies]
    assert nonces == sorted(set(nonces))
    other = session(fake)
    buy(other)
    assert json.loads(fake.bodies[-1])["nonce"] > nonces[-1]


WORDS = ["ok", "refused", "lost", "answer lost", "cut", "cut after", "429", "503", "503 after", "html", "twice"]


@settings(max_examples=80)
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
