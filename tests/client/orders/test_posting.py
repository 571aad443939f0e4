"""How one request is posted, repeated and resolved: each attempt by itself; driven by hand."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.client.fake import AGENT_KEY, MASTER, MASTER_KEY, FakeVenue, session
from tests.client.orders.test_outcome import HASH, VAULT, placed, transaction
from toolkit import Wallet, orders
from toolkit.client.io.flow import Elapsed, Fetch, Flow, Now, RandomFloat, Reply, Settle, Sleep
from toolkit.client.io.rate_limits import Rate
from toolkit.client.io.transport import EXCHANGE_PATH, Retry
from toolkit.client.orders.delivery import Delivery, Prepared, Sender
from toolkit.client.orders.intents import Intent, IntentState, MemoryLedger, Proof
from toolkit.client.orders.receipts import UNSET
from toolkit.errors import (
    Disconnected,
    ExchangeError,
    LimitReached,
    NotSent,
    OutcomeUnknown,
    RequestExpired,
    TimedOut,
    WalletError,
)
from toolkit.protocol.actions import decode
from toolkit.protocol.orders.order_actions import OrderAction, OtherAction, as_written

BUILT = {"type": "placeBuilderOrder", "order": {}, "builder": "0xb"}
AGENT = str(Wallet(agent=AGENT_KEY).agent)


@pytest.fixture
def delivery() -> Delivery:
    made = session(FakeVenue(), settle_timeout=0)._delivery
    made.retry = Retry(attempts=3, base=1.0)
    return made


def keep(delivery: Delivery, state: str = "SENT", **more: Any) -> Intent:
    """Put an intent of setLeverage into the ledger."""
    given = {"action": "setLeverage", "payload": {"leverage": "5"}, "client_ids": (), "id": "one"} | more
    own = {"signer": AGENT, "account": MASTER, "environment": "testnet", "state": IntentState.PREPARED, "code": None}
    delivery.ledger.record(placed(**given | own))
    if state != "PREPARED":
        delivery.ledger.update("one", 1, state=IntentState.SENT, body=b"{}")
    if state not in ("PREPARED", "SENT"):
        delivery.ledger.update("one", 1, state=IntentState(state), code=more.get("code"), data=more.get("data"))
    return delivery.ledger.get("one")


@dataclass
class Run:
    """What a flow did: the state of the intent at each post, the waits, what it asked, and its end."""

    posted: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    end: Any = None


def drive(
    delivery: Delivery,
    flow: Flow[Any],
    script: Sequence[Any],
    shown: Any = (),
    now_ms: int = 50,
    took_ms: int = 0,
    forward_ms: int = 0,
) -> Run:
    """Run a flow: posts are answered from the script, reads with the rows shown; each post takes some time.

    The clock is set forward with each post, which no time takes.
    """
    run, answers, elapsed, answer = Run(), iter(script), 1_000, None
    try:
        while True:
            request: Any = flow.throw(answer) if isinstance(answer, BaseException) else flow.send(answer)
            match request:
                case Fetch(method="POST"):
                    assert request.path == EXCHANGE_PATH
                    run.posted.append(str(delivery.ledger.all()[-1].state))
                    elapsed, now_ms = elapsed + took_ms, now_ms + took_ms + forward_ms
                    answer = next(answers)
                case Fetch():
                    run.asked.append(request.path.rpartition("/")[2])
                    body = {"code": 0, "message": "success", "data": shown[run.asked[-1]] if shown else []}
                    answer = Reply(200, json.dumps(body).encode())
                case Sleep() | Settle():
                    run.waits.append(request.seconds)
                    answer = None
                case _:
                    answer = {Now: now_ms, Elapsed: elapsed, RandomFloat: 0.5}[type(request)]
    except StopIteration as done:
        run.end = done.value
    except BaseException as error:
        run.end = error
    return run


LEVERAGE = {"type": "setLeverage", "symbolCode": 1, "leverage": "5"}
ORDER = {"type": "placeOrder", "orders": [orders.limit("BTCUSDC", "BUY", "0.01", "60000").item(1).to_wire()]}
"""Carries an expiry."""


def prepared(delivery: Delivery, expiry: int | None = None) -> Prepared:
    made = drive(delivery, delivery.prepare(ORDER if expiry else LEVERAGE, expiry_after=expiry), []).end
    assert isinstance(made, Prepared)
    return made


def post(delivery: Delivery, script: Sequence[Any], expiry: int | None = None, took_ms: int = 0) -> Run:
    return drive(delivery, delivery.send(prepared(delivery, expiry)), script, took_ms=took_ms)


def reply(code: int = 0, status: int = 200, data: Any = None, **headers: str) -> Reply:
    body = {"code": code, "message": "m", "data": {"txHash": HASH} if data is None else data}
    return Reply(status, json.dumps(body).encode(), {name.replace("_", "-"): value for name, value in headers.items()})


OK = reply()
SHOWN = {"page": [transaction(signer=AGENT)]}


@pytest.mark.parametrize(
    ("script", "posted", "end", "state"),
    [
        ([OK], ["SENT"], None, "SUBMITTED"),
        ([NotSent("x"), OK], ["SENT", "SENT"], None, "SUBMITTED"),
        ([TimedOut("x"), OK], ["SENT", "UNKNOWN"], None, "SUBMITTED"),
        ([Disconnected("x"), NotSent("x"), OK], ["SENT", "UNKNOWN", "UNKNOWN"], None, "SUBMITTED"),
        ([NotSent("x")] * 3, ["SENT"] * 3, NotSent, "REJECTED"),
        ([NotSent("x"), NotSent("x"), TimedOut("x")], ["SENT"] * 3, OutcomeUnknown, "UNKNOWN"),
        ([TimedOut("x")] * 3, ["SENT", "UNKNOWN", "UNKNOWN"], OutcomeUnknown, "UNKNOWN"),
        ([Reply(404, b"<html>")], ["SENT"], OutcomeUnknown, "UNKNOWN"),  # this venue shows no transactions
        ([Reply(408, b"<html>"), OK], ["SENT", "UNKNOWN"], None, "SUBMITTED"),
        ([Reply(429, b"<html>"), OK], ["SENT", "SENT"], None, "SUBMITTED"),
        ([Reply(503, b"<html>"), OK], ["SENT", "UNKNOWN"], None, "SUBMITTED"),
        ([Reply(200, b"<html>"), OK], ["SENT", "UNKNOWN"], None, "SUBMITTED"),
        ([TimedOut("x"), Reply(404, b"<html>")], ["SENT", "UNKNOWN"], OutcomeUnknown, "UNKNOWN"),
        ([reply(40220), OK], ["SENT", "SENT"], None, "SUBMITTED"),
        ([reply(40220), NotSent("x"), NotSent("x")], ["SENT"] * 3, OutcomeUnknown, "UNKNOWN"),
        ([reply(40220)] * 3, ["SENT"] * 3, OutcomeUnknown, "UNKNOWN"),
        ([reply(1, 503), OK], ["SENT", "UNKNOWN"], None, "SUBMITTED"),
        ([reply(40230)], ["SENT"], OutcomeUnknown, "UNKNOWN"),
        ([TimedOut("x"), reply(40204)], ["SENT", "UNKNOWN"], OutcomeUnknown, "UNKNOWN"),
        ([KeyboardInterrupt()], ["SENT"], KeyboardInterrupt, "UNKNOWN"),
        ([NotSent("x"), KeyboardInterrupt()], ["SENT", "SENT"], KeyboardInterrupt, "UNKNOWN"),
    ],
)
def test_each_attempt_is_recorded_before_it_leaves(
    delivery: Delivery, script: list[Any], posted: list[str], end: Any, state: str
) -> None:
    run = post(delivery, script)
    [kept] = delivery.ledger.all()
    assert (run.posted, kept.state, kept.attempts) == (posted, state, len(posted))
    if end is None:
        assert run.end.state == state
    else:
        assert isinstance(run.end, end)
    if end is KeyboardInterrupt:
        assert kept.message == "interrupted while it was being sent"


def test_the_waits_grow_and_a_venue_may_ask_for_longer(delivery: Delivery) -> None:
    run = post(delivery, [NotSent("x"), NotSent("x"), OK])
    assert run.waits == [0.5, 1.0]


@pytest.mark.parametrize(
    "answer", [reply(40220), reply(40220, 429), reply(7, 429), reply(7, 418), Reply(429, b"<html>")]
)
def test_a_venue_may_ask_for_a_longer_wait_before_the_next_copy(delivery: Delivery, answer: Reply) -> None:
    asking = replace(answer, headers={"retry-after": "7"})
    assert post(delivery, [asking, TimedOut("x"), OK]).waits == [7.0, 1.0]
    run = post(delivery, [replace(answer, headers={"retry-after": "120"})])
    assert (run.posted, run.waits) == (["SENT"], [])
    assert isinstance(run.end.__cause__ or run.end, OutcomeUnknown)  # this venue shows no transactions
    assert "The next request may be sent in 120.0 s" in str(run.end)


@pytest.mark.parametrize(("expiry", "attempts"), [(150, 2), (149, 1), (None, 3), (10, 1)])
def test_nothing_is_repeated_after_its_expiry(delivery: Delivery, expiry: int | None, attempts: int) -> None:
    """It was signed at 50 ms, and each attempt takes 100."""
    run = post(delivery, [NotSent("x")] * 3, expiry, took_ms=100)
    assert len(run.posted) == attempts
    assert isinstance(run.end, NotSent)


def test_no_attempt_begins_after_the_time_is_over(delivery: Delivery) -> None:
    for took_ms, attempts in ((29_999, 3), (30_000, 2), (60_000, 1)):
        run = post(delivery, [NotSent("x")] * 3, took_ms=took_ms)
        assert len(run.posted) == attempts


def test_a_dropped_flow_leaves_the_ledger_alone(delivery: Delivery) -> None:
    flow = delivery.send(prepared(delivery))
    request: Any = flow.send(None)
    while not isinstance(request, Fetch):
        request = flow.send(0)
    flow.close()
    [kept] = delivery.ledger.all()
    assert (kept.state, kept.message) == ("SENT", "")


NONE_SHOWN = {"page": [transaction(6)]}


@pytest.mark.parametrize(
    ("state", "more", "shown", "resend", "now_ms", "posted", "ends"),
    [
        ("PREPARED", {}, SHOWN, None, 50, 0, "REJECTED"),
        ("SENT", {}, SHOWN, None, 50, 0, "ACCEPTED"),
        ("SENT", {}, NONE_SHOWN, None, 50, 1, "SUBMITTED"),
        ("SENT", {}, NONE_SHOWN, False, 50, 0, "UNKNOWN"),
        ("UNKNOWN", {}, SHOWN, None, 50, 0, "ACCEPTED"),
        ("UNKNOWN", {}, NONE_SHOWN, None, 50, 1, "SUBMITTED"),
        ("UNKNOWN", {"expiry_after": None}, NONE_SHOWN, None, 62_000, 1, "SUBMITTED"),
        ("UNKNOWN", {"expiry_after": None}, NONE_SHOWN, None, 62_001, 0, "UNKNOWN"),
        ("UNKNOWN", {"expiry_after": None}, NONE_SHOWN, True, 62_001, 1, "SUBMITTED"),
        ("UNKNOWN", {}, NONE_SHOWN, False, 50, 0, "UNKNOWN"),
        ("UNKNOWN", {"code": 40204}, NONE_SHOWN, None, 60_064, 0, "UNKNOWN"),
        ("UNKNOWN", {"code": 40204}, NONE_SHOWN, None, 60_065, 0, "REJECTED"),
        ("UNKNOWN", {"code": 40208}, NONE_SHOWN, None, 60_065, 0, "REJECTED"),
        ("UNKNOWN", {"code": 40204}, {"page": []}, None, 60_065, 0, "UNKNOWN"),
        ("UNKNOWN", {"code": 40204}, NONE_SHOWN, True, 60_065, 1, "SUBMITTED"),
        ("UNKNOWN", {"code": 40207}, NONE_SHOWN, None, 50, 1, "SUBMITTED"),
        ("SUBMITTED", {}, SHOWN, None, 50, 0, "ACCEPTED"),
        ("SUBMITTED", {}, NONE_SHOWN, None, 50, 0, "SUBMITTED"),
        ("SUBMITTED", {}, NONE_SHOWN, True, 50, 1, "SUBMITTED"),
    ],
)
def test_an_open_intent_is_resolved(
    delivery: Delivery, state: str, more: dict[str, Any], shown: Any, resend: Any, now_ms: int, posted: int, ends: str
) -> None:
    keep(delivery, state, **more)
    run = drive(delivery, delivery.resolve(resend=resend), [OK] * posted, shown, now_ms)
    assert (len(run.posted), delivery.ledger.get("one").state) == (posted, ends)
    assert [receipt.state for receipt in run.end] == [ends]
    if state == "PREPARED":
        assert (run.asked, run.end[0].message) == ([], "given up by resolve() before it was sent")


def test_a_submitted_request_whose_answer_was_another_ones_is_unknown(delivery: Delivery) -> None:
    keep(delivery, "SUBMITTED", data={"txHash": HASH})
    shown = {"detail": transaction(6), "page": []}
    run = drive(delivery, delivery.resolve(resend=False), [], shown)
    kept = delivery.ledger.get("one")
    assert (run.asked, kept.state, kept.data) == (["detail", "page"], "UNKNOWN", None)
    shown["page"] = [transaction(signer=AGENT, txCode=7)]
    drive(delivery, delivery.resolve(resend=False), [], shown)
    assert delivery.ledger.get("one").state == "REJECTED"


def test_what_can_not_be_resolved_says_why(delivery: Delivery) -> None:
    keep(delivery, "UNKNOWN")
    run = drive(delivery, delivery.resolve(), [TimedOut("too late")] * 3, NONE_SHOWN)
    assert [receipt.state for receipt in run.end] == ["UNKNOWN"]
    assert "too late" in run.end[0].message


def test_bytes_for_one_environment_never_go_to_another(delivery: Delivery) -> None:
    intent = keep(delivery, "UNKNOWN")
    delivery.ledger.__init__(MemoryLedger())  # type: ignore[misc]
    delivery.ledger.record(replace(intent, environment="mainnet", state=IntentState.PREPARED))
    assert drive(delivery, delivery.resolve(), []).end == []
    row = {"nonce": 5, "signer": AGENT, "actionType": "setLeverage", "txCode": 0, "txHash": HASH}
    delivery.take_records("userEvent", MASTER, [{"eventType": "actionAck", "event": [row]}], 9)
    assert delivery.ledger.get("one").state == "PREPARED"


@pytest.mark.parametrize(
    ("change", "channel", "owner", "closed", "taken"),
    [
        ({}, "userEvent", MASTER, False, True),
        ({}, "userEvent", MASTER.lower(), False, True),
        ({}, "userEvent", VAULT, False, False),
        ({"vault_address": VAULT}, "userEvent", VAULT.upper(), False, True),
        ({"vault_address": VAULT}, "userEvent", MASTER, False, False),
        ({}, "trades", MASTER, False, False),
        ({}, "userEvent", MASTER, True, False),
        ({"action": "placeBuilderOrder", "payload": BUILT}, "userEvent", MASTER, False, False),
    ],
)
def test_the_feed_tells_the_outcome_of_what_this_account_submitted(
    delivery: Delivery, change: dict[str, Any], channel: str, owner: str, closed: bool, taken: bool
) -> None:
    keep(delivery, "SUBMITTED", **change)
    delivery.closed = closed
    row = {"nonce": 5, "signer": AGENT, "actionType": "setLeverage", "txCode": 0, "txHash": HASH}
    delivery.take_records(channel, owner, [{"eventType": "actionAck", "event": [row]}], 9)
    assert delivery.ledger.get("one").state == ("ACCEPTED" if taken else "SUBMITTED")


@pytest.mark.parametrize(
    ("kind", "given", "expiry"),
    [
        ("placeOrder", UNSET, 60_050),
        ("placeOrder", None, None),
        ("placeOrder", 7, 7),
        ("withdraw", UNSET, 3_600_050),
        ("setLeverage", UNSET, None),
        ("approveAgent", UNSET, 60_050),
    ],
)
def test_an_action_expires_in_a_minute_where_it_carries_an_expiry(
    delivery: Delivery, kind: str, given: Any, expiry: int | None
) -> None:
    delivery.check, delivery.wallet = None, Wallet(agent=AGENT_KEY, master=MASTER_KEY)
    item = orders.limit("BTCUSDC", "BUY", "0.01", "60000").item(1)
    action = OrderAction(kind, (item,)) if kind == "placeOrder" else OtherAction(kind, {"type": kind})
    prepared = drive(delivery, delivery.prepare(action, given), []).end
    assert prepared.expiry_after == expiry


def test_missing_client_ids_are_made_of_the_nonce_and_the_position() -> None:
    order = orders.limit("BTCUSDC", "BUY", "0.01", "60000").item(1)
    item = order.to_wire()
    items = [item, {**item, "clOrdId": 9}, {**item, "clOrdId": 0}]
    given = {"type": "placeOrder", "orders": items}
    made = decode(given)
    assert isinstance(made, OrderAction)
    numbered = made.numbered(7_000)
    assert numbered.client_ids == (7_000, 9, 7_002)
    assert [item["clOrdId"] for item in as_written(given, numbered)["orders"]] == [7_000, 9, 7_002]
    assert items[0] == order.to_wire(), "what was given is not changed"
    replaced = decode({"type": "replaceOrder", **item, "ordId": 5})
    assert isinstance(replaced, OrderAction)
    assert (replaced.numbered(7_000), replaced.client_ids) == (replaced, ()), "it keeps the id that it has"


def test_a_sender_is_busy_elsewhere_while_its_thread_or_task_lives() -> None:
    here = threading.current_thread()
    idle, working = threading.Thread(), threading.Thread(target=(release := threading.Event()).wait)
    working.start()
    try:
        assert [Sender(one, None).is_busy_elsewhere() for one in (here, idle, working)] == [False, False, True]
    finally:
        release.set()
        working.join()

    async def tasks() -> list[bool]:
        waiting = asyncio.create_task(asyncio.Event().wait())
        done = asyncio.create_task(asyncio.sleep(0))
        await done
        assert Sender.current().task is asyncio.current_task()
        found = [Sender(here, one).is_busy_elsewhere() for one in (asyncio.current_task(), done, waiting)]
        waiting.cancel()
        return found

    assert asyncio.run(tasks()) == [False, False, True]
    assert Sender.current() == Sender(here, None)


def test_what_was_prepared_is_confirmed_on_mainnet_where_nobody_said_that_it_is() -> None:
    s = session(FakeVenue(), environment="mainnet", confirm=lambda _: False)
    given = s.intents.prepare(LEVERAGE)
    with pytest.raises(LimitReached, match="was not confirmed"):
        s.intents.send(given)


@pytest.mark.parametrize("code", [40003, 40204, 40208, 40280])
@pytest.mark.parametrize("timeout", [0.0, 0.5, 30.0])
@pytest.mark.parametrize("expiry", [None, 60_000])
def test_a_refusal_is_confirmed_within_two_seconds(code: int, timeout: float, expiry: int | None) -> None:
    made = session(FakeVenue(), settle_timeout=timeout, attempts=1)._delivery
    shown = {"states": [], "events": [], "page": {"total": 0, "items": []}}
    run = drive(made, made.send(prepared(made, expiry)), [reply(code, data={})], shown)
    assert isinstance(run.end, ExchangeError)
    assert (run.end.code, made.ledger.all()[-1].state) == (code, "REJECTED")
    assert sum(run.waits) == pytest.approx(min(timeout, 2.0))


def test_the_client_waits_before_the_venue_refuses_for_the_rate_whatever_the_clock_shows() -> None:
    limited = session(FakeVenue(), settle_timeout=0, rates={"setLeverage": Rate(per_second=10, burst=2)})._delivery
    waits = []
    for hour in (4, 3, 2, 1):
        flow = limited.submit(LEVERAGE)
        waits += drive(limited, flow, [OK], now_ms=hour * 3_600_000).waits
    assert waits == pytest.approx([0.1, 0.2])


@pytest.mark.parametrize(
    ("took_ms", "forward_ms", "expiry", "again"),
    [
        (30_000, 10**9, UNSET, True),  # the clock was wrong: by the venue's it had expired
        (0, 60_001, UNSET, True),
        (0, 60_000, UNSET, False),  # it had not expired, by the venue's time
        (30_001, 10**9, UNSET, False),  # the call itself took too long
        (0, 10**9, 60_000, False),  # as it was asked for
    ],
)
def test_an_order_that_expired_by_a_wrong_clock_is_made_once_more(
    delivery: Delivery, took_ms: int, forward_ms: int, expiry: Any, again: bool
) -> None:
    flow = delivery.submit(ORDER, expiry_after=expiry)
    run = drive(delivery, flow, [reply(40208), OK], took_ms=took_ms, forward_ms=forward_ms)
    assert len(run.posted) == 1 + again
    assert isinstance(run.end, RequestExpired) is not again
    states = [str(one.state) for one in delivery.ledger.all()]
    assert states == ["REJECTED", "SUBMITTED"][: 1 + again]


def test_another_requests_answer_is_not_believed(delivery: Delivery) -> None:
    wrong = reply(data={"results": [{"clOrdId": 9}]})
    run = post(delivery, [wrong] * 3, 60_000)
    assert run.posted == ["SENT", "UNKNOWN", "UNKNOWN"]
    assert isinstance(run.end, OutcomeUnknown)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["BUY", "NEW", "REJECTED", 77]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
NAMES = ("ordId", "ordSide", "side", "execStatus", "reason", "nonce", "signer", "actionType", "txCode", "data")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(row=st.dictionaries(st.sampled_from(NAMES), JUNK), kind=st.sampled_from(["perpOrder", "actionAck"]))
def test_a_feed_that_tells_nonsense_does_no_harm(delivery: Delivery, row: dict[str, Any], kind: str) -> None:
    post(delivery, [OK], 60_000)
    before = delivery.ledger.all()[-1]
    assert before.state == "SUBMITTED"
    row |= {"clOrdId": before.client_ids[0]}
    for channel, items in (("orderHist", [row]), ("userEvent", [{"eventType": kind, "event": [row]}, row])):
        delivery.take_records(channel, MASTER, items, 51)
    tells = row.get("execStatus") in ("NEW", "REJECTED") and row.get("ordSide", "BUY") == "BUY"
    assert tells or delivery.ledger.all()[-1] == before


def test_without_the_key_nothing_is_read(delivery: Delivery) -> None:
    for wallet in (None, Wallet(master=MASTER_KEY)):
        delivery.wallet = wallet
        with pytest.raises(WalletError):
            next(delivery.submit(LEVERAGE))
    delivery.wallet = Wallet(agent=AGENT_KEY)
    with pytest.raises(WalletError):
        next(delivery.submit({"type": "approveAgent"}))


def test_what_is_given_up_while_it_is_signed_is_not_sent(delivery: Delivery, monkeypatch: pytest.MonkeyPatch) -> None:
    from toolkit.protocol import signing

    sign = signing.sign_content

    def slow(*args: Any, **keywords: Any) -> Any:
        [intent] = delivery.ledger.all()
        delivery.ledger.update(intent.id, 9, proof=Proof(False, None, ""))
        return sign(*args, **keywords)

    flow = delivery.send(prepared(delivery))
    monkeypatch.setattr(signing, "sign_content", slow)
    run = drive(delivery, flow, [])
    assert isinstance(run.end, NotSent)
    assert run.posted == []


@pytest.mark.parametrize(("given", "sequence"), [({}, 1_700), ({"withdrawSequence": 9}, 9)])
def test_a_withdrawal_is_numbered_by_its_second_unless_it_is_given(
    delivery: Delivery, given: dict[str, int], sequence: int
) -> None:
    delivery.wallet = Wallet(master=MASTER_KEY)
    payload = {"type": "withdraw", "amount": "5", "destination": MASTER} | given
    made = drive(delivery, delivery.prepare(payload), [], now_ms=1_700_999).end
    assert made.payload["withdrawSequence"] == (sequence if given else made.nonce // 1_000)
    assert 0 <= 1_700_999 + 3_600_000 - made.expiry_after < 1_000
