"""How the outcome of an intent is settled: responses and failures become ledger entries, receipts and errors.

The ledger may be shared with other processes that resolve the same intent. Its entry decides: the process that
settles an intent first determines what every other process returns or raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Unpack

from ... import errors
from ...environments import Chain
from ...protocol.hexbytes import hash_text
from ...protocol.orders.names import ActionType, OrderField
from ...protocol.orders.order_actions import named_orders
from ...protocol.reads.action_results import ActionAnswer, credited_address
from ..io.flow import Flow, Now
from ..io.transport import Envelope, Retry, describe_clock_skew, retry_after
from .intents import ARRIVED, OPEN, Changes, Intent, IntentState, Ledger, Proof, has_fresh_ids
from .outcome import (
    CLAIM,
    Foreign,
    Missing,
    outcome_in_records,
    poll_execution,
    poll_outcome,
    poll_refusal,
    query_hash,
    query_outcome,
)
from .receipts import Receipt, receipt

LAST_REFUSALS = (errors.SignatureRejected.code, errors.RequestExpired.code)
"""Codes after which no further copy of a request is executed."""
LATEST_EXECUTION_MS = 60_000
_ID_FIELDS = OrderField.CLIENT_ID, OrderField.ORDER_ID


@dataclass(slots=True)
class Reconciler:
    """Settles intents of one ledger.

    Parameters
    ----------
    ledger : Ledger
        Ledger whose intents it settles.
    timeout : float
        How long it waits for the execution of what was submitted, in seconds.
    clock_skew : callable, optional
        Function that returns this machine's clock minus the venue's in ms, None if it is not known (default: not
        known).
    """

    ledger: Ledger
    timeout: float
    clock_skew: Callable[[], int | None] = lambda: None
    chain: Chain | None = None
    """What the requests are signed for, None if not known."""

    def classify_response(self, intent: Intent, answer: Envelope, in_doubt: bool, retry: Retry) -> Flow[Receipt]:
        """Settle an intent by the venue's response.

        A response may be another request's, so it is believed only where it proves whose it is. Otherwise the venue is
        queried, and the intent stays UNKNOWN where that leaves it open.

        Parameters
        ----------
        intent : Intent
            Intent of the request.
        answer : Envelope
            The venue's response.
        in_doubt : bool
            Whether an earlier copy of the request may have arrived.
        retry : Retry
            How often and when a query is repeated.

        Raises
        ------
        ExchangeError
            When the venue refused the request.
        OutcomeUnknown
            When the outcome stays open.
        """
        now: int = yield Now()
        if refusal := _refused_inside(answer):
            answer = replace(answer, code=errors.ActionRejected.code, message=refusal)
        data = answer.data if isinstance(answer.data, dict) else None
        if (proof := _proof_in(intent, answer)) is not None:
            return self.record_found(intent, now, proof)
        credited = credited_address(data or {}) if intent.action == CLAIM and answer.code == 0 else ""
        if credited and credited.lower() != intent.signer.lower():
            return (yield from self._credited_elsewhere(intent, credited, retry))
        if answer.code == 0:
            submitted: Changes = {"state": IntentState.SUBMITTED, "code": 0, "message": answer.message, "data": data}
            return (yield from self.await_execution(self.update(intent, now, **submitted), retry))
        error = self.error(intent, answer)
        # No longer SENT: another process resolves the intent and may have sent a copy as well.
        in_doubt = in_doubt or self.ledger.get(intent.id).state is not IntentState.SENT
        # A copy that a proxy repeated may have used the nonce, and be executed later. Or another program did.
        used, again = isinstance(error, errors.InvalidNonce), in_doubt
        asked = replace(intent, code=error.code) if used and not again else intent
        known = yield from self._ask(asked, error, in_doubt or used, retry)
        if isinstance(known, Proof):
            return self.record_found(intent, now, known)
        in_doubt = in_doubt or not known.certain
        if (in_doubt or used) and not (known.certain and (proves_no_execution(error) or self.is_over(intent, now))):
            message = f"{answer.message} (code {answer.code}), and the venue does not show its outcome"
            if isinstance(error, errors.SignatureRejected | errors.RequestExpired):
                message += f". A copy that it took before would show within {self.latest_ms // 1000} s"
            # Of HTTP 503 with 40204, say: no word of the venue's. And a nonce that an earlier copy may have used.
            code = None if _leaves_open(error) or (used and again) else answer.code
            intent = self.update(intent, now, state=IntentState.UNKNOWN, code=code, message=message)
            if intent.settled:
                return self.result_or_raise(intent)
            raise unknown_outcome(intent, error)
        known_data = None if data is None else {name: data[name] for name in data if name != "results"}
        intent = self.update(intent, now, proof=Proof(False, answer.code, answer.message, known_data))
        error.receipt = receipt(intent)
        raise error

    def _ask(self, intent: Intent, error: errors.ExchangeError, in_doubt: bool, retry: Retry) -> Flow[Proof | Missing]:
        """Query the outcome of a refused request, by the transaction that the refusal names, else by the request.

        40207: the venue took these bytes before (a proxy repeated them), or another request used the nonce.
        """
        try:
            named = yield from query_hash(intent, ActionAnswer.read(error.data).tx_hash)
            if isinstance(named, Proof):
                return named
            if in_doubt or isinstance(named, Foreign) or _leaves_open(error):
                return (yield from poll_outcome(intent, retry, self.timeout))
            return (yield from poll_refusal(intent, self.timeout))
        except (errors.TransportError, errors.ExchangeError):
            return Missing(certain=False)

    @property
    def latest_ms(self) -> int:
        """The longest delay in ms, on the venue's clock, that is assumed between taking and executing a request."""
        return max(LATEST_EXECUTION_MS, round(self.timeout * 1000))

    def is_over(self, intent: Intent, now: int) -> bool:
        """Return whether each copy of a request that the venue may have taken would have been executed by now.

        It takes none after the request's expiry, nor after it last refused one for its signer.

        Parameters
        ----------
        intent : Intent
            Intent of the request.
        now : int
            The present in Unix ms.
        """
        refused = intent.updated if intent.code in LAST_REFUSALS else None
        last = refused if intent.expiry_after is None else intent.expiry_after
        return last is not None and now - last >= self.latest_ms

    def await_execution(self, intent: Intent, retry: Retry) -> Flow[Receipt]:
        """Wait until a submitted intent is executed, and return its receipt. It is SUBMITTED after the time-out.

        Parameters
        ----------
        intent : Intent
            Intent of the request.
        retry : Retry
            How often and when a query is repeated.

        Raises
        ------
        ActionRejected
            When it failed.
        OutcomeUnknown
            When the answer was another request's.
        """
        if intent.state is not IntentState.SUBMITTED or not self.timeout:
            return self.result_or_raise(intent) if intent.settled else receipt(intent)
        known: Proof | Missing | Foreign
        known = yield from poll_execution(intent, self.timeout, lambda: self.ledger.get(intent.id).settled)
        now: int = yield Now()
        if isinstance(known, Proof):
            answered, shown = intent.data or {}, known.data or {}
            # An answer without that proof may be another request's, so nothing of it is kept.
            named, executed = (hash_text(ActionAnswer.read(data).tx_hash) for data in (answered, shown))
            if named and named == executed:
                # The transaction is this request's, so the rest of the answer is too, such as a new vault's address.
                known = replace(known, data={**answered, **shown})
            return self.record_found(intent, now, known)
        if isinstance(known, Missing):
            intent = self.ledger.get(intent.id)
            return self.result_or_raise(intent) if intent.settled else receipt(intent)
        return (yield from self._doubt(intent, "the answer named the transaction of another request", retry))

    def _credited_elsewhere(self, intent: Intent, credited: str, retry: Retry) -> Flow[Receipt]:
        """Settle a claim that credited another address than the signer's. Raises SignatureRejected or OutcomeUnknown.

        If the venue recovers that address from this signature under a usual mistake, the answer is this request's.
        """
        from ...protocol import envelope, signing

        now: int = yield Now()
        message = f"the venue credited {credited}, and not {intent.signer}, which signed the claim"
        if self.chain is not None and intent.body is not None:
            request = envelope.parse(intent.body)
            found = signing.alternatives(request, signing.verify(request, self.chain), self.chain)
            cause = next((each for each in found if each.signer == credited.lower()), None)
            if cause is not None:
                message += f". It verifies {cause.theirs}, and this session signs for {cause.own}"
                refused = Proof(False, errors.SignatureRejected.code, message, {"address": credited})
                return self.record_found(intent, now, refused)
        message += ". It verifies another chainId, domain or verifyingContract, or the answer is another request's"
        return (yield from self._doubt(intent, message, retry))

    def _doubt(self, intent: Intent, message: str, retry: Retry) -> Flow[Receipt]:
        """Query the outcome of a request whose answer may be another's: whether it arrived is open, as without one."""
        now: int = yield Now()
        intent = self.update(intent, now, state=IntentState.UNKNOWN, message=message, data=None)
        with suppress(errors.TransportError, errors.ExchangeError):
            outcome = yield from poll_outcome(intent, retry, self.timeout)
            if isinstance(outcome, Proof):
                intent = self.update(intent, now, proof=outcome)
        if intent.settled:
            return self.result_or_raise(intent)
        raise unknown_outcome(intent, errors.BadAnswer(message))

    def settle_by_feed(self, intent: Intent, channel: str, items: Sequence[Mapping[str, Any]], now: int) -> None:
        """Settle a submitted intent if new records of a channel of the feed show its outcome.

        Parameters
        ----------
        intent : Intent
            Intent of the request.
        channel : str
            Name of the channel.
        items : sequence of mapping
            New records, in wire names.
        now : int
            The present in Unix ms.
        """
        found = outcome_in_records(intent, channel, items)
        if found is not None:
            self.update(intent, now, proof=found)

    def give_up(self, intent: Intent, failure: errors.ToolkitError, in_doubt: bool) -> Flow[Receipt]:
        """Record that the last attempt failed, and raise. Returns or raises the outcome that another process has
        recorded meanwhile.

        Parameters
        ----------
        intent : Intent
            Intent of the request.
        failure : ToolkitError
            Error of the attempt.
        in_doubt : bool
            Whether an earlier copy of the request may have arrived.

        Raises
        ------
        NotSent
            If it is certain that nothing left this machine. A certain refusal raises its error.
        OutcomeUnknown
            Otherwise.
        """
        now: int = yield Now()
        certain = not in_doubt
        if not never_left(failure):
            # What answered may have answered another request, so the venue is asked, if it can be.
            known: Proof | Missing = Missing(certain=False)
            refused = isinstance(failure, errors.HttpStatus) and not in_doubt
            if refused or isinstance(failure, errors.BadAnswer | errors.ExchangeError):
                with suppress(errors.TransportError, errors.ExchangeError):
                    known = yield from query_outcome(intent) if in_doubt else poll_refusal(intent, self.timeout)
            if isinstance(known, Proof):
                return self.record_found(intent, now, known)
            certain = certain and known.certain
        if certain:
            message = f"not sent: {failure}" if never_left(failure) else str(failure)
            proof = Proof(False, None if never_left(failure) else getattr(failure, "code", None), message)
            # `expected`: if another process has made it UNKNOWN, a copy may be on its way, so it is not REJECTED.
            intent = self.update(intent, now, expected=IntentState.SENT, proof=proof)
        if not intent.settled:
            intent = self.update(intent, now, state=IntentState.UNKNOWN, message=str(failure))
            if not intent.settled:
                raise unknown_outcome(intent, failure)
        if intent.state is not IntentState.REJECTED:
            return self.result_or_raise(intent)
        if isinstance(failure, errors.ExchangeError):
            failure.receipt = receipt(intent)
        raise failure

    def record_found(self, intent: Intent, now: int, found: Proof) -> Receipt:
        """Settle an intent by what the venue shows of it, and return its receipt or raise its refusal.

        Parameters
        ----------
        intent : Intent
            Intent of the request.
        now : int
            The present in Unix ms.
        found : Proof
            Evidence that the venue shows.
        """
        return self.result_or_raise(self.update(intent, now, proof=found))

    def result_or_raise(self, intent: Intent) -> Receipt:
        """Return the receipt of a settled intent, or raise its refusal (NotSent: another session gave it up).

        Parameters
        ----------
        intent : Intent
            Intent of the request.
        """
        settled = receipt(intent)
        if intent.state is IntentState.REJECTED and intent.code is None:
            raise errors.NotSent(f"{intent.action}: {intent.message or 'nothing was sent'}")
        if intent.state is IntentState.ACCEPTED and not intent.code:
            return settled
        code, data = intent.code or errors.ActionRejected.code, dict(intent.data or {})
        error = errors.exchange_error(code, intent.message, data=data, action=intent.action)
        error.receipt = settled
        raise error

    def update(self, intent: Intent, now: int, **changes: Unpack[Changes]) -> Intent:
        """Change an intent in the ledger, or return its present entry where another process was faster.

        The other process was faster if it settled the intent, is resolving it, or moved it on from `expected`.

        Parameters
        ----------
        intent : Intent
            Intent of the request.
        now : int
            The present in Unix ms.
        **changes : Changes
            Fields to change, or a proof that settles it.

        Raises
        ------
        ToolkitError
            When two processes settle it differently.
        """
        try:
            # The ledger allows only steps forward. It refuses where another process was faster.
            return self.ledger.update(intent.id, now, **changes)
        except errors.ToolkitError:
            current = self.ledger.get(intent.id)
            proof, state = changes.get("proof"), changes.get("state", current.state)
            target = proof.state(intent.state) if proof else IntentState(state)
            # Two processes that find the same outcome agree. Two different ones are a fault that must show.
            settled = current.settled and (target in OPEN or target is current.state)
            resolving = current.state in ARRIVED and target is IntentState.SENT
            if settled or resolving or changes.get("expected") is not None:
                return current
            raise

    def error(self, intent: Intent, answer: Envelope) -> errors.ExchangeError:
        """Return the error for a response with a non-zero code.

        Parameters
        ----------
        intent : Intent
            Intent of the request.
        answer : Envelope
            The venue's response.
        """
        data = answer.data if isinstance(answer.data, dict) else None
        message = answer.message
        skew_ms = self.clock_skew()
        if answer.code == errors.RequestExpired.code and skew_ms is not None:
            message = f"{message}; {describe_clock_skew(skew_ms)}"
        reply = answer.reply
        wait = retry_after(reply.headers) if reply.wait is None else reply.wait
        error = errors.exchange_error(
            answer.code, message, data=data, action=intent.action, http_status=reply.status, retry_after=wait
        )
        if isinstance(error, errors.RequestExpired):
            error.clock_skew_ms = skew_ms
        return error


def never_left(error: errors.ToolkitError) -> bool:
    """Return whether nothing was sent: the network could not be reached, or the toolkit held the request back.

    Parameters
    ----------
    error : ToolkitError
        Error of the request.
    """
    return isinstance(error, errors.NotSent) or (isinstance(error, errors.RateLimited) and not error.sent)


def proves_not_received(error: errors.TransportError | errors.RateLimited) -> bool:
    """Return whether a failure proves that the venue did not take the request: it never left, or a 4xx came back.

    Parameters
    ----------
    error : TransportError or RateLimited
        Error of the request.
    """
    if never_left(error):
        return True
    if isinstance(error, errors.RateLimited):
        return error.http_status in errors.LIMITED_STATUSES
    # 408 is sent when the server stopped waiting, which says nothing about what it had read.
    return isinstance(error, errors.HttpStatus) and 400 <= error.status < 500 and error.status != 408


def is_transient(answer: Envelope) -> bool:
    """Return whether a response asks to try later: a rate limit, or HTTP 5xx with a code that is not the venue's.

    Parameters
    ----------
    answer : Envelope
        The venue's response.
    """
    # Of a proxy, too, whose body has no code of the venue.
    if answer.code == errors.RateLimited.code or answer.reply.status in errors.LIMITED_STATUSES:
        return True
    return answer.reply.status >= 500 and not 40000 <= answer.code < 50000


def proves_no_execution(error: errors.ExchangeError) -> bool:
    """Return whether a refusal, of a request that the venue does not have, goes for every copy: malformed bytes do.

    After expiry (40208), and once the agent lost its approval (40204), no later copy is executed, but an earlier one
    may have been, or may be in progress: `Reconciler.is_over`.

    Parameters
    ----------
    error : ExchangeError
        Refusal of one copy of the request.
    """
    return isinstance(error, errors.BadRequest | errors.UnsupportedAction) and not _leaves_open(error)


def unknown_outcome(intent: Intent, cause: Exception) -> errors.OutcomeUnknown:
    """Return the error for an intent without a known outcome.

    Parameters
    ----------
    intent : Intent
        Intent of the request.
    cause : Exception
        Error of the last attempt.
    """
    until = datetime.fromtimestamp(intent.resend_until / 1000, UTC)
    why = f"an earlier copy may have arrived, and then: {cause}" if isinstance(cause, errors.NotSent) else str(cause)
    return errors.OutcomeUnknown(
        f"{intent.action}: its outcome is unknown ({why}). session.resolve() asks the venue, and would send it again "
        f"until {until:%H:%M:%S} UTC if the venue doesn't have it. resolve(resend=False) only asks",
        intent=intent.id,
        receipt=receipt(intent),
    )


def check_belongs(intent: Intent, answer: Envelope) -> None:
    """Check that an answer is not another request's: it must not have the ids of other orders than the request names.

    Client ids are unique, so an answer that a proxy repeats, or sends to the wrong client, shows in them.

    Parameters
    ----------
    intent : Intent
        Intent of the request.
    answer : Envelope
        The venue's response.

    Raises
    ------
    BadAnswer
        For an answer with the ids of other orders.
    """
    asked, answered = _asked_ids(intent), ActionAnswer.read(answer.data)
    results = answered.results or ()
    wrong = [
        f"{name} {given}"
        for item, ids in zip(results or (answered.action,), asked, strict=False)
        for name, given, own in zip(_ID_FIELDS, (item.cl_ord_id, item.order_id), ids, strict=True)
        # An answer may leave ids out. It may not have others.
        if given is not None and own is not None and given != own
    ]
    if asked and results and len(results) != len(asked):
        wrong.append(f"{len(results)} results for {len(asked)} orders")
    if wrong:
        text = answer.reply.body[:500].decode("utf-8", "replace")
        what = f"{intent.action}: the answer belongs to another request ({', '.join(wrong)})"
        raise errors.BadAnswer(what, status=answer.reply.status, body=text)


def _proof_in(intent: Intent, answer: Envelope) -> Proof | None:
    """Return the outcome that an answer proves: its results name each order by a client id of this request alone.

    Anything else, such as the answer to a cancel, may be the answer to an earlier request for the same order.
    """
    results = ActionAnswer.read(answer.data).results or ()
    named = [item.cl_ord_id for item in results] == list(intent.client_ids)
    sure = all(item.code or (item.code is not None and item.order_id) for item in results)
    refused = any(item.code for item in results)
    if (
        not named
        or not sure
        or not has_fresh_ids(intent)
        or refused is not bool(answer.code)
        or answer.reply.status >= 500
    ):
        return None
    if answer.code not in (0, errors.ActionRejected.code):
        return None
    return Proof(not all(item.code for item in results), answer.code, answer.message, answer.data)


def _asked_ids(intent: Intent) -> list[tuple[int | None, int | None]]:
    """Return the ids that each order or cancel of a request names, without those that the venue chooses."""
    asked = named_orders(intent.asked)
    # A replacement may get a new order id.
    keeps = intent.action != ActionType.REPLACE
    return [(cl_ord_id, order_id if keeps else None) for cl_ord_id, order_id, _ in asked]


def _refused_inside(answer: Envelope) -> str:
    """Return why an answer of code 0 is a refusal all the same, "" if it is none: its txCode, or one of its results."""
    if answer.code:
        return ""
    answered = ActionAnswer.read(answer.data)
    items = (answered.action, *(answered.results or ()))
    return "; ".join(f"{item.message or 'refused'} (txCode {item.code})" for item in items if item.code)


def _leaves_open(error: errors.ExchangeError) -> bool:
    """Return whether a request with this answer may have been executed: the venue failed while it was in progress."""
    failed = error.http_status >= 500 or error.code >= 50000 or isinstance(error, errors.BroadcastFailed)
    if failed or not isinstance(error, errors.ActionRejected):
        return failed
    # A business rule is refused by a transaction; without one it is open what "call failed" means, as it is when every
    # result says that its order was accepted.
    answered = ActionAnswer.read(error.data)
    results = answered.results or ()
    return not answered.shows_transaction or (bool(results) and not any(item.code for item in results))
