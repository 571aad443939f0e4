"""What an answer proves: which are the outcome, which are another request's, and which leave it open."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.client.orders.test_outcome import HASH, ID, LEVERAGE, ask, pages, placed, transaction
from toolkit.client.io.flow import Reply
from toolkit.client.io.transport import Envelope, Retry
from toolkit.client.orders import reconciliation
from toolkit.client.orders.intents import FINAL, Intent, IntentState, Ledger, MemoryLedger, Proof
from toolkit.client.orders.reconciliation import Reconciler, check_belongs, is_transient
from toolkit.errors import (
    ActionRejected,
    BadAnswer,
    Disconnected,
    ExchangeError,
    HttpStatus,
    NotSent,
    OutcomeUnknown,
    TimedOut,
    ToolkitError,
    exchange_error,
)

PAIR = placed("BUY", "SELL")
CANCEL = replace(
    PAIR, action="cancelOrder", client_ids=(), payload={"cancels": [{"ordId": 7}, {"ordId": "8", "clOrdId": 5}]}
)
REPLACE = replace(PAIR, action="replaceOrder", client_ids=(), payload={"ordId": 7, "clOrdId": 5})


def answer(code: int = 0, data: Any = None, status: int = 200, message: str = "m") -> Envelope:
    return Envelope(code, message, data, Reply(status, json.dumps(data).encode()))


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        (40220, 200, True),
        (0, 429, True),
        (40204, 428, False),
        (1, 499, False),
        (1, 500, True),
        (50000, 500, True),
        (49999, 503, False),
        (40000, 503, False),
        (39999, 503, True),
        (50000, 200, False),
    ],
)
def test_an_answer_asks_to_try_later(code: int, status: int, expected: bool) -> None:
    assert is_transient(answer(code, status=status)) is expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (NotSent("x"), True),
        (HttpStatus("x", status=400), True),
        (HttpStatus("x", status=499), True),
        (HttpStatus("x", status=399), False),
        (HttpStatus("x", status=408), False),
        (HttpStatus("x", status=500), False),
        (Disconnected("x"), False),
        (TimedOut("x"), False),
        (BadAnswer("x", status=400), False),
    ],
)
def test_a_failure_proves_that_nothing_was_received(error: Any, expected: bool) -> None:
    assert reconciliation.proves_not_received(error) is expected


SOME = {"results": [{"txCode": 0}, {"txCode": 7}]}
ALL = {"results": [{"txCode": 0}, {"txCode": "0"}]}


@pytest.mark.parametrize(
    ("code", "data", "status", "expected"),
    [
        (40230, {"txHash": HASH}, 200, False),
        (40230, {"txCode": 7}, 400, False),
        (40230, SOME, 200, False),
        (40230, {"results": []}, 200, False),
        (40230, ALL, 200, False),  # each order was accepted, they say
        (40230, None, 200, False),
        (40230, {"other": 1}, 200, False),
        (40230, {"txHash": HASH}, 500, False),
        (40230, {"txHash": HASH}, 499, False),
        (40003, None, 400, True),
        (40201, None, 400, True),
        (40003, None, 500, False),
        (40204, None, 400, False),
        (40207, None, 400, False),
        (40208, None, 400, False),
        (40231, None, 200, False),
        (50000, None, 200, False),
        (49999, None, 200, False),
    ],
)
def test_only_a_malformed_request_is_refused_in_every_copy(code: int, data: Any, status: int, expected: bool) -> None:
    error = exchange_error(code, "m", data=data, http_status=status)
    assert reconciliation.proves_no_execution(error) is expected


def rows(*found: Mapping[str, Any]) -> dict[str, Any]:
    return {"results": list(found)}


@pytest.mark.parametrize(
    ("intent", "data", "wrong"),
    [
        (PAIR, rows({"clOrdId": ID}, {"clOrdId": str(ID + 1)}), ""),
        (PAIR, rows({"clOrdId": ID}, {"clOrdId": None}), ""),
        (PAIR, rows({"ordId": 3}, {"ordId": 4}), ""),
        (PAIR, rows({"clOrdId": ID + 1}, {"clOrdId": ID + 1}), f"clOrdId {ID + 1}"),
        (PAIR, rows({"clOrdId": ID}), "1 results for 2 orders"),
        (PAIR, rows({"clOrdId": ID}, {"clOrdId": ID + 1}, {}), "3 results for 2 orders"),
        (PAIR, rows(), ""),
        (PAIR, {}, ""),
        (PAIR, [], ""),
        (PAIR, {"clOrdId": 9}, "clOrdId 9"),
        (CANCEL, rows({"ordId": 7}, {"ordId": 8, "clOrdId": 5}), ""),
        (CANCEL, rows({"ordId": 7}, {"ordId": 8, "clOrdId": 6}), "clOrdId 6"),
        (CANCEL, rows({"ordId": 9}, {"ordId": 8}), "ordId 9"),
        (REPLACE, {"ordId": 9, "clOrdId": 5}, ""),
        (REPLACE, {"ordId": 7, "clOrdId": 6}, "clOrdId 6"),
        (LEVERAGE, rows({"clOrdId": 1}), ""),
        (LEVERAGE, {"clOrdId": 1}, ""),
    ],
)
def test_an_answer_with_other_ids_is_another_requests(intent: Intent, data: Any, wrong: str) -> None:
    if not wrong:
        check_belongs(intent, answer(data=data))
        return
    with pytest.raises(BadAnswer, match=wrong) as caught:
        check_belongs(intent, answer(data=data, status=202))
    assert caught.value.status == 202
    assert caught.value.body


ONE_OK, TWO_OK = ({"clOrdId": ID + at, "ordId": at + 1, "txCode": 0} for at in range(2))
ONE_BAD, TWO_BAD = ({"clOrdId": ID + at, "txCode": 7, "txMsg": "bad"} for at in range(2))


def bring(ledger: Ledger, id: str, state: IntentState, now: int = 9, code: int | None = None, data: Any = None) -> None:
    """Bring a sent intent into a state, a final one by a proof."""
    if state is IntentState.FAILED:
        ledger.update(id, now, state=IntentState.SUBMITTED)
    if state in FINAL:
        ledger.update(id, now, proof=Proof(state is IntentState.ACCEPTED, code, "", data))
    elif state is not ledger.get(id).state:
        ledger.update(id, now, state=state, code=code, data=data)  # type: ignore[typeddict-item]


def settle(intent: Intent, timeout: float = 1.0, skew: int | None = None) -> tuple[Reconciler, Intent]:
    """Return a reconciler with an intent in its ledger."""
    ledger = MemoryLedger()
    ledger.record(replace(intent, state=IntentState.PREPARED))
    if intent.state is not IntentState.PREPARED:
        ledger.update(intent.id, intent.updated, state=IntentState.SENT, body=b"{}")
        bring(ledger, intent.id, intent.state, intent.updated, intent.code, intent.data)
    return Reconciler(ledger, timeout, lambda: skew), ledger.get(intent.id)


@pytest.mark.parametrize(
    ("timeout", "expiry", "code", "now", "over"),
    [
        (1.0, 1_000, None, 60_999, False),
        (1.0, 1_000, None, 61_000, True),
        (90.0, 1_000, None, 90_999, False),
        (90.0, 1_000, None, 91_000, True),
        (1.0, 1_000, 40204, 60_500, False),  # the expiry counts, not the refusal
        (1.0, None, None, 10**9, False),
        (1.0, None, 40230, 10**9, False),
        (1.0, None, 40204, 60_005, True),
        (1.0, None, 40208, 60_005, True),
        (1.0, None, 40204, 60_004, False),
    ],
)
def test_a_request_is_over_once_no_copy_can_be_executed_any_more(
    timeout: float, expiry: int | None, code: int | None, now: int, over: bool
) -> None:
    made, _ = settle(LEVERAGE, timeout)
    assert made.is_over(replace(LEVERAGE, expiry_after=expiry, code=code, updated=5), now) is over


SENT = replace(LEVERAGE, state=IntentState.SENT)
NAMED = rows(ONE_OK, TWO_OK)
BOTH = replace(PAIR, state=IntentState.SENT)
ONE = Retry(attempts=1)


def classify(
    intent: Intent, given: Envelope, in_doubt: bool = False, timeout: float = 0.0, now_ms: int = 0, **routes: Any
) -> Any:
    """Return the receipt or error of an answer, and the intent as the ledger has it then."""
    made, kept = settle(intent, timeout)
    try:
        found: Any = ask(made.classify_response(kept, given, in_doubt, ONE), now_ms, **routes)[0]
    except ToolkitError as error:
        found = error
    return found, made.ledger.get(intent.id)


SHOWN = {"page": pages([transaction()])}
NOT_SHOWN = {"page": pages([transaction(nonce=6)])}
EMPTY: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("code", "in_doubt", "routes", "state"),
    [
        (40230, False, EMPTY, "UNKNOWN"),
        (40230, False, NOT_SHOWN, "REJECTED"),
        (40230, False, {"detail": lambda _: transaction(txCode=7, txMsg="m")}, "REJECTED"),
        (40230, False, {"detail": lambda _: transaction(), **EMPTY}, "ACCEPTED"),
        (40230, False, {"detail": lambda _: transaction(6)}, "UNKNOWN"),  # the refusal of another request
        (40230, False, {"detail": lambda _: transaction(6), **SHOWN}, "ACCEPTED"),
        (40204, False, EMPTY, "UNKNOWN"),
        (40204, False, NOT_SHOWN, "REJECTED"),
        (40204, False, SHOWN, "ACCEPTED"),
        (40204, True, EMPTY, "UNKNOWN"),
        (40204, True, SHOWN, "ACCEPTED"),
        (40204, True, NOT_SHOWN, "UNKNOWN"),  # a copy may be under way
        (40003, False, SHOWN, "ACCEPTED"),
        (40003, False, EMPTY, "UNKNOWN"),
        (40003, True, EMPTY, "UNKNOWN"),
        (40003, True, NOT_SHOWN, "REJECTED"),  # malformed in every copy
        (40207, False, SHOWN, "UNKNOWN"),  # of this request, or of another program with the same key
        (40207, True, SHOWN, "ACCEPTED"),
        (40207, False, EMPTY, "UNKNOWN"),
        (40207, False, NOT_SHOWN, "UNKNOWN"),  # a copy used the nonce, and may be executed later
        (40208, False, SHOWN, "ACCEPTED"),
        (40208, False, EMPTY, "UNKNOWN"),
        (40208, False, NOT_SHOWN, "REJECTED"),
        (50000, False, SHOWN, "ACCEPTED"),
        (50000, False, EMPTY, "UNKNOWN"),
        (50000, False, NOT_SHOWN, "REJECTED"),
        (40231, False, NOT_SHOWN, "REJECTED"),
    ],
)
def test_a_refusal_is_the_outcome_only_where_no_copy_was_executed(
    code: int, in_doubt: bool, routes: dict[str, Any], state: str
) -> None:
    data = {"txHash": HASH, "txCode": 7} if code == 40230 else None
    found, kept = classify(SENT, answer(code, data), in_doubt, **routes)
    assert str(kept.state) == state
    if state == "ACCEPTED":
        assert bool(found) is True
    elif state == "UNKNOWN":
        assert isinstance(found, OutcomeUnknown)
        assert kept.message == f"m (code {code}), and the venue does not show its outcome" + (
            ". A copy that it took before would show within 60 s" if code in (40204, 40208) else ""
        )
        assert kept.code == (None if code == 50000 else code)
        assert found.receipt.state is IntentState.UNKNOWN
    else:
        assert isinstance(found, ExchangeError)
        assert (found.code, kept.code, kept.message) == (code, code, "m")
        assert found.receipt.state is IntentState.REJECTED


@pytest.mark.parametrize(
    ("code", "status", "ends"),
    [
        (40204, 200, "REJECTED"),
        (40204, 499, "REJECTED"),
        (40204, 500, "ACCEPTED"),
        (49999, 200, "REJECTED"),
        (50000, 200, "ACCEPTED"),
        (40231, 200, "ACCEPTED"),
    ],
)
def test_what_an_error_of_the_venue_leaves_open_is_asked_for_as_long_as_what_it_took(
    code: int, status: int, ends: str
) -> None:
    asked: list[Any] = []

    def late(query: Any) -> Any:
        asked.append(query)
        return pages([transaction(*([] if len(asked) > 6 else [6]))])(query)

    assert classify(SENT, answer(code, status=status), timeout=30.0, page=late)[1].state == ends


@pytest.mark.parametrize(("now_ms", "ends"), [(60_064, "UNKNOWN"), (60_065, "REJECTED")])
def test_once_no_copy_can_be_executed_any_more_a_refusal_is_the_outcome(now_ms: int, ends: str) -> None:
    found, kept = classify(SENT, answer(40204, "text"), True, now_ms=now_ms, **NOT_SHOWN)
    assert (kept.state, kept.data) == (ends, None)
    _, kept = classify(SENT, answer(40204), True, now_ms=now_ms)
    assert kept.state == "UNKNOWN", "a venue that shows nothing proves nothing"
    assert found.receipt.state == ends


@pytest.mark.parametrize(("state", "raises"), [("FAILED", True), ("ACCEPTED", False)])
def test_the_feed_may_know_an_execution_first(state: str, raises: bool) -> None:
    made, kept = settle(replace(SENT, state=IntentState.SUBMITTED))

    def told(_: Any) -> list[Any]:
        bring(made.ledger, kept.id, IntentState(state), code=40230 if raises else 0)
        return []

    if raises:
        with pytest.raises(ActionRejected):
            ask(made.await_execution(kept, ONE), page=told)
    else:
        assert ask(made.await_execution(kept, ONE), page=told)[0].state == state


@pytest.mark.parametrize(
    ("intent", "given", "state", "accepted"),
    [
        (SENT, answer(0, {"txHash": HASH}), "SUBMITTED", []),
        (SENT, answer(0, {"txHash": HASH, "txCode": 7, "txMsg": "bad"}), "UNKNOWN", []),
        (BOTH, answer(0, NAMED), "ACCEPTED", [True, True]),
        (BOTH, answer(0, rows(ONE_OK, TWO_BAD)), "ACCEPTED", [True, False]),
        (BOTH, answer(40230, rows(ONE_BAD, TWO_OK)), "ACCEPTED", [False, True]),
        (BOTH, answer(40230, rows(ONE_BAD, TWO_BAD)), "REJECTED", [False, False]),
        (BOTH, answer(40230, rows({"txCode": 7}, {"ordId": 2})), "REJECTED", [False, False]),
        (BOTH, answer(0, rows(TWO_OK, ONE_OK)), "SUBMITTED", [True, True]),
        (BOTH, answer(0, rows(ONE_OK, {"clOrdId": ID + 1, "txCode": 0})), "SUBMITTED", [True, True]),
        (replace(BOTH, nonce=6), answer(0, NAMED), "SUBMITTED", [True, True]),  # ids may have named others before
    ],
)  # fmt: skip
def test_an_answer_becomes_the_state_of_the_intent(
    intent: Any, given: Envelope, state: str, accepted: list[bool]
) -> None:
    found, kept = classify(intent, given)
    assert str(kept.state) == state
    receipt = found.receipt if isinstance(found, ToolkitError) else found  # type: ignore[attr-defined]
    assert str(receipt.state) == state
    assert [result.accepted for result in receipt.results] == accepted
    assert isinstance(found, ActionRejected) is (state == "REJECTED" or False in accepted)


def test_a_submitted_request_takes_over_what_its_answer_said_of_its_own_transaction() -> None:
    told = {"txHash": HASH, "vault": "0x77"}
    found, kept = classify(SENT, answer(0, told), timeout=1.0, detail=lambda _: transaction(txMsg="done"))
    assert (found.state, kept.data) == (IntentState.ACCEPTED, {**told, "txCode": 0, "txMsg": "done"})
    other = {"page": pages([transaction(txHash="0xother")])}
    found, kept = classify(SENT, answer(0, told), timeout=1.0, **other)
    assert kept.data == {"txHash": "0xother", "txCode": 0, "txMsg": "success"}
    found, kept = classify(SENT, answer(0, {"vault": "0x77"}), timeout=1.0, page=pages([transaction(txHash=None)]))
    assert "vault" not in (kept.data or {}), "no hash is not the same hash"


def test_an_answer_that_named_another_transaction_proves_nothing() -> None:
    foreign = {"detail": lambda _: transaction(nonce=6)}
    found, kept = classify(SENT, answer(0, {"txHash": HASH}), timeout=1.0, **foreign)
    assert isinstance(found, OutcomeUnknown)
    assert (kept.state, kept.message) == (IntentState.UNKNOWN, "the answer named the transaction of another request")
    assert kept.data is None
    found, kept = classify(SENT, answer(0, {"txHash": HASH}), timeout=1.0, **foreign, page=pages([transaction()]))
    assert (found.state, kept.state) == (IntentState.ACCEPTED, IntentState.ACCEPTED)
    found, kept = classify(
        SENT, answer(0, {"txHash": HASH}), timeout=1.0, **foreign, page=pages([transaction(txCode=7)])
    )
    assert isinstance(found, ActionRejected)
    assert kept.state is IntentState.REJECTED


@pytest.mark.parametrize(
    ("state", "accepted", "code", "ends"),
    [
        ("SUBMITTED", False, 7, "FAILED"),
        ("UNKNOWN", False, 7, "REJECTED"),
        ("SENT", False, 7, "REJECTED"),
        ("SUBMITTED", True, 0, "ACCEPTED"),
        ("SENT", True, 1, "ACCEPTED"),
    ],
)
def test_what_the_venue_shows_settles_an_intent(state: str, accepted: bool, code: int, ends: str) -> None:
    made, kept = settle(replace(SENT, state=IntentState(state)))
    found = Proof(accepted, 40230 if code else 0, "why", {"a": 1})
    if code:
        with pytest.raises(ActionRejected, match="why") as caught:
            made.record_found(kept, 9, found)
        assert caught.value.receipt.state == ends
    else:
        assert made.record_found(kept, 9, found).state == ends
    after = made.ledger.get(kept.id)
    assert (after.state, after.code, after.message, after.data) == (ends, 40230 if code else 0, "why", {"a": 1})


@pytest.mark.parametrize(
    ("state", "failure", "in_doubt", "routes", "error", "ends"),
    [
        ("SENT", NotSent("refused"), False, EMPTY, NotSent, "REJECTED"),
        ("SENT", exchange_error(40220, "slow"), False, NOT_SHOWN, ExchangeError, "REJECTED"),
        ("SENT", exchange_error(40220, "slow"), False, EMPTY, OutcomeUnknown, "UNKNOWN"),
        ("SENT", exchange_error(40220, "slow"), False, SHOWN, None, "ACCEPTED"),
        ("SENT", HttpStatus("403", status=403), False, NOT_SHOWN, HttpStatus, "REJECTED"),
        ("SENT", HttpStatus("403", status=403), False, SHOWN, None, "ACCEPTED"),
        ("SENT", HttpStatus("403", status=403), False, EMPTY, OutcomeUnknown, "UNKNOWN"),
        ("SENT", NotSent("refused"), True, EMPTY, OutcomeUnknown, "UNKNOWN"),
        ("SENT", TimedOut("late"), True, SHOWN, OutcomeUnknown, "UNKNOWN"),  # the venue is out of reach
        ("SENT", BadAnswer("html"), True, SHOWN, None, "ACCEPTED"),
        ("SENT", exchange_error(40220, "slow"), True, SHOWN, None, "ACCEPTED"),
        ("SENT", BadAnswer("html"), True, NOT_SHOWN, OutcomeUnknown, "UNKNOWN"),
        ("UNKNOWN", NotSent("refused"), False, EMPTY, OutcomeUnknown, "UNKNOWN"),
        ("UNKNOWN", exchange_error(40220, "slow"), False, SHOWN, None, "ACCEPTED"),
        ("ACCEPTED", NotSent("refused"), False, EMPTY, None, "ACCEPTED"),
        ("ACCEPTED", NotSent("refused"), True, EMPTY, None, "ACCEPTED"),
    ],
)
def test_the_last_attempt_failed(
    state: str, failure: Any, in_doubt: bool, routes: dict[str, Any], error: Any, ends: str
) -> None:
    made, kept = settle(replace(SENT, state=IntentState(state)))
    flow = made.give_up(kept, failure, in_doubt)
    if error is None:
        assert ask(flow, **routes)[0].state == ends
    else:
        with pytest.raises(error) as caught:
            ask(flow, **routes)
        if error is ExchangeError:
            assert caught.value.receipt.state == ends
    after = made.ledger.get(kept.id)
    assert after.state == ends
    if ends == "REJECTED":
        told = {NotSent: ("not sent: refused", None), HttpStatus: (str(failure), None)}
        assert (after.message, after.code) == told.get(error, ("slow (code 40220)", 40220))


def test_a_settled_intent_is_returned_or_raised_again() -> None:
    made, _ = settle(SENT)
    accepted = replace(SENT, state=IntentState.ACCEPTED, code=0)
    assert made.result_or_raise(accepted).state == "ACCEPTED"
    assert made.result_or_raise(replace(accepted, code=None)).state == "ACCEPTED"
    with pytest.raises(ActionRejected):
        made.result_or_raise(replace(accepted, code=40230))
    rejected = replace(SENT, state=IntentState.REJECTED)
    with pytest.raises(NotSent, match="setLeverage: nothing was sent"):
        made.result_or_raise(rejected)
    with pytest.raises(NotSent, match="setLeverage: offline"):
        made.result_or_raise(replace(rejected, message="offline"))
    with pytest.raises(ExchangeError) as caught:
        made.result_or_raise(replace(rejected, code=40204, message="who", data={"a": 1}))
    assert (caught.value.code, caught.value.data, caught.value.action) == (40204, {"a": 1}, "setLeverage")
    with pytest.raises(ActionRejected):
        made.result_or_raise(replace(rejected, state=IntentState.FAILED))


@pytest.mark.parametrize(
    ("code", "skew", "words"), [(40208, 90_000, "m; "), (40208, None, "m"), (40204, 90_000, ": m (")]
)
def test_an_expired_request_says_how_far_the_clocks_are_apart(code: int, skew: int | None, words: str) -> None:
    made, kept = settle(SENT, skew=skew)
    error = made.error(kept, answer(code, {"a": 1}, 400))
    assert str(error).count(words) == 1
    assert ("clock" in str(error)) is (words == "m; ")
    assert (error.data, error.http_status, error.action) == ({"a": 1}, 400, "setLeverage")
    assert getattr(error, "clock_skew_ms", None) == (skew if code == 40208 else None)


def test_a_faster_process_decides() -> None:
    made, kept = settle(replace(SENT, state=IntentState.ACCEPTED))
    assert made.update(kept, 9, proof=Proof(True, 0, "")).state == "ACCEPTED"
    for state in (IntentState.UNKNOWN, IntentState.SENT, IntentState.SUBMITTED):
        assert made.update(kept, 9, state=state).state == "ACCEPTED"
    with pytest.raises(ToolkitError):
        made.update(kept, 9, proof=Proof(False, None, ""))
    assert made.update(kept, 9, expected=IntentState.SENT, proof=Proof(False, None, "")).state == "ACCEPTED"
    made, kept = settle(replace(SENT, state=IntentState.UNKNOWN))
    assert made.update(kept, 9, state=IntentState.SENT).state == "UNKNOWN"
    with pytest.raises(ToolkitError):
        made.update(kept, 9, state=IntentState.PREPARED)


@pytest.mark.parametrize("now_ms", [0, 10**9])
@pytest.mark.parametrize(("code", "in_doubt"), [(40207, False), (50000, False), (40204, True)])
def test_a_venue_that_can_not_be_asked_proves_nothing(code: int, in_doubt: bool, now_ms: int) -> None:
    found, kept = classify(SENT, answer(code), in_doubt, now_ms=now_ms, page=lambda _: Disconnected("lost"))
    assert isinstance(found, OutcomeUnknown)
    assert kept.state == "UNKNOWN"


@pytest.mark.parametrize(("state", "code"), [("ACCEPTED", 0), ("REJECTED", 40230)])
def test_what_another_process_settles_while_the_venue_is_asked_holds(state: str, code: int) -> None:
    made, kept = settle(SENT, 0.0)

    def told(_: Any) -> list[Any]:
        bring(made.ledger, kept.id, IntentState(state), code=code)
        return []

    flow = made.classify_response(kept, answer(40204), True, ONE)
    if code:
        with pytest.raises(ActionRejected):
            ask(flow, page=told)
    else:
        assert ask(flow, page=told)[0].state == state
