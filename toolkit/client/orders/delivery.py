"""How something gets to the venue once and only once: record, sign, send, and settle what stays in doubt.

An intent is written down before it is signed, signed once, and sent again only as the identical bytes. A nonce is used
once, so the venue takes such bytes at most once: 40207 after a re-send means that the first one counted.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...environments import Environment
from ...errors import (
    ExchangeError,
    HttpStatus,
    InvalidNonce,
    LimitReached,
    NotSent,
    OutcomeUnknown,
    RateLimited,
    RequestExpired,
    ToolkitError,
    TransportError,
    exchange_error,
)
from ..io.flow import Fetch, Flow, Now, RandomFloat, Sleep
from ..io.rate_limits import RateLimiter
from ..io.transport import EXCHANGE_PATH, RETRY, Envelope, Retry, read_envelope, retry_after, venue_time
from .intents import OPEN, Intent, IntentState, Ledger, intent_id, payload_hash
from .outcome import Found, Missing, ask, ask_until_found
from .receipts import Receipt, receipt

if TYPE_CHECKING:
    from ...protocol.actions import Action
    from ...protocol.nonces import NonceSource
    from ...protocol.signing import Explained, PrivateKey
    from ...wallet import Role, Wallet

DEFAULT_EXPIRY_MS = 60_000
"""expiryAfter of actions that carry it, when the caller gives none: now plus this."""
WITHDRAW_EXPIRY_MS = 3_600_000
"""The same for withdrawals. Source: specification, "Request envelope"."""
SAFE_RESEND_MS = 60_000
"""An action without expiryAfter is sent again by `resolve` only this long after it was made."""
IDS_PER_NONCE = 1_000

Confirm = bool | Callable[[str], bool] | None


class Unset:
    """Says that an argument was not given, where None has a meaning of its own."""

    def __repr__(self) -> str:
        return "default"


UNSET = Unset()


@dataclass(frozen=True, slots=True)
class Prepared:
    """An action with all that is signed with it, before it is signed. Made by `session.prepare`.

    `payload` is the action in wire names, with client ids; `nonce`, `expiry_after` and `created` are Unix ms; `signer`
    is the address whose key will sign.
    """

    environment: Environment
    account: str
    signer: str
    role: Role
    payload: Mapping[str, Any]
    nonce: int
    expiry_after: int | None
    vault_address: str | None
    client_ids: tuple[int, ...]
    created: int

    def explain(self) -> Explained:
        """Return every step from the action to the digest that will be signed."""
        from ...protocol import signing

        return signing.explain(self.payload, self.environment.chain, self.nonce, self.expiry_after, self.vault_address)


@dataclass(frozen=True, slots=True)
class Flight:
    """Who is sending an intent. An interrupt may strike before anybody could strike it off, so it is asked, not told:
    what this very thread or task sent is over when it asks."""

    thread: threading.Thread
    task: asyncio.Task[Any] | None

    @classmethod
    def here(cls) -> Flight:
        """Return the thread and task that run now."""
        return cls(threading.current_thread(), _current_task())

    def goes_on(self) -> bool:
        """Tell whether somebody else is still at it."""
        if self.task is not None:
            return self.task is not _current_task() and not self.task.done()
        return self.thread is not threading.current_thread() and self.thread.is_alive()


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


@dataclass(slots=True)
class Delivery:
    """Sends the actions of one wallet to one environment. Everything it needs is given to it."""

    environment: Environment
    wallet: Wallet | None
    account: Callable[[], Flow[str]]
    ledger: Ledger
    nonces: Callable[[str], NonceSource]
    limiter: RateLimiter
    confirm: Confirm = None
    retry: Retry = RETRY
    expiry_ms: int = DEFAULT_EXPIRY_MS
    clock_skew_ms: int | None = None
    _flights: dict[str, Flight] = field(default_factory=dict)

    def submit(
        self,
        declaration: Action,
        payload: Mapping[str, Any],
        *,
        expiry_after: int | Unset | None = UNSET,
        vault_address: str | None = None,
    ) -> Flow[Receipt]:
        """Record, sign and send an action, and return the receipt of what the venue accepted.

        Raises WalletError or MalformedRequest before anything is recorded, NotSent when nothing left, ExchangeError
        for the venue's refusal, and OutcomeUnknown when no answer came: then `resolve` settles it.
        """
        self._key(declaration.type, "agent" if declaration.signed_by_agent else "master")
        self._confirm(payload)
        prepared = yield from self.prepare(declaration, payload, expiry_after=expiry_after, vault_address=vault_address)
        return (yield from self._send(prepared))

    def prepare(
        self,
        declaration: Action,
        payload: Mapping[str, Any],
        *,
        expiry_after: int | Unset | None = UNSET,
        vault_address: str | None = None,
    ) -> Flow[Prepared]:
        """Return an action with all that will be signed with it; nothing is recorded, signed or sent.

        Raises WalletError without the key it needs, and MalformedRequest.
        """
        from ...protocol import envelope

        role: Role = "agent" if declaration.signed_by_agent else "master"
        key = self._key(declaration.type, role)
        account = yield from self.account()
        yield from self._wait_for_turn(declaration.type)
        now: int = yield Now()
        nonce = self.nonces(key.address).next(now)
        payload, client_ids = with_client_ids(payload, nonce)
        if declaration.type == "withdraw" and "withdrawSequence" not in payload:
            payload = {**payload, "withdrawSequence": nonce // 1000}
        expiry = self._expiry(declaration, expiry_after, now)
        envelope.read_unsigned(
            {"action": payload, "nonce": nonce, "expiryAfter": expiry, "vaultAddress": vault_address}
        )
        return Prepared(
            self.environment, account, key.address, role, payload, nonce, expiry, vault_address, client_ids, now
        )

    def send(self, prepared: Prepared, *, confirmed: bool = False) -> Flow[Receipt]:
        """Record, sign and send what `prepare` returned, as it is. `confirmed`: a person has just confirmed it.

        Raises as `submit` does; a second time the venue refuses it, because a nonce is used once.
        """
        if not confirmed:
            self._confirm(prepared.payload)
        return (yield from self._send(prepared))

    def _send(self, prepared: Prepared) -> Flow[Receipt]:
        from ...protocol import envelope, signing

        action = str(prepared.payload["type"])
        key = self._key(action, prepared.role)
        now: int = yield Now()
        intent = Intent(
            id=intent_id(prepared.environment.name, prepared.signer, prepared.nonce),
            environment=prepared.environment.name,
            account=prepared.account,
            signer=prepared.signer,
            action=action,
            nonce=prepared.nonce,
            expiry_after=prepared.expiry_after,
            vault_address=prepared.vault_address,
            client_ids=prepared.client_ids,
            payload=prepared.payload,
            payload_hash=payload_hash(prepared.payload),
            created=now,
            updated=now,
        )
        self._flights[intent.id] = Flight.here()
        try:
            self.ledger.record(intent)
            request = signing.sign(
                prepared.payload,
                key=key,
                chain=prepared.environment.chain,
                nonce=prepared.nonce,
                expiry_after=prepared.expiry_after,
                vault_address=prepared.vault_address,
            )
            body = envelope.dump(request)
            intent = self._update(intent, now, body=body)
            if intent.settled:
                return self._result_or_raise(intent)
            return (yield from self._deliver(intent, body))
        finally:
            self._flights.pop(intent.id, None)

    def resolve(self, ids: Iterable[str] | None = None, resend: bool | None = None) -> Flow[list[Receipt]]:
        """Settle intents whose outcome is unknown, and return the receipt of each, oldest first.

        The venue is asked for the orders' client ids (else for the nonce); what it does not know is sent again, as the
        identical bytes. `resend` None does that while it is safe: the request expires by itself, or is under a minute
        old. True always sends again, False only asks. An intent that can't be settled stays UNKNOWN.
        """
        wanted = None if ids is None else set(ids)
        receipts = []
        for intent in self.ledger.all(OPEN):
            if intent.environment != self.environment.name:
                continue  # a ledger may be shared, but bytes for one environment never go to another
            flight = self._flights.get(intent.id)
            if (flight and flight.goes_on()) or (wanted is not None and intent.id not in wanted):
                continue
            mine = self._flights[intent.id] = Flight.here()
            try:
                # Settling the ones before it took its time: what stands in the ledger now is what counts.
                receipts.append(receipt((yield from self._settle_open(self.ledger.get(intent.id), resend))))
            finally:
                if self._flights.get(intent.id) is mine:
                    del self._flights[intent.id]
        return receipts

    # --- before sending ---

    def _confirm(self, payload: Mapping[str, Any]) -> None:
        if not self.environment.is_mainnet or self.confirm is True:
            return
        if callable(self.confirm):
            if self.confirm(f"{self.environment.name}: {describe(payload)}"):
                return
            raise LimitReached(f"{payload['type']} was not confirmed; nothing was signed", limit="confirm")
        raise LimitReached(
            f"{payload['type']} on {self.environment.name} moves real money and needs a confirmation: "
            "connect(…, confirm=True), or confirm=ask to be asked each time; nothing was signed",
            limit="confirm",
        )

    def _key(self, action: str, role: Role) -> PrivateKey:
        if self.wallet is not None:
            return self.wallet.key(role, action)
        from ...wallet import Wallet

        return Wallet().key(role, f"this session is read-only: {action}")

    def _wait_for_turn(self, action: str) -> Flow[None]:
        now: int = yield Now()
        wait = self.limiter.reserve(action, now)
        if wait > 0:
            yield Sleep(wait)

    def _expiry(self, declaration: Action, given: int | Unset | None, now: int) -> int | None:
        if not isinstance(given, Unset):
            return given
        if not declaration.expiry:
            return None
        return now + (WITHDRAW_EXPIRY_MS if declaration.type == "withdraw" else self.expiry_ms)

    # --- sending ---

    def _deliver(self, intent: Intent, body: bytes) -> Flow[Receipt]:
        """Send the signed bytes until there is an answer. `doubt`: an earlier attempt may have reached the venue."""
        doubt = intent.state is IntentState.UNKNOWN
        failure: ToolkitError | None = None
        for attempt in range(self.retry.attempts):
            now: int = yield Now()
            if failure and intent.expiry_after is not None and now > intent.expiry_after:
                break
            state = IntentState.UNKNOWN if doubt else IntentState.SENT
            intent = self._update(intent, now, state=state, attempts=intent.attempts + 1)
            if intent.settled:
                return self._result_or_raise(intent)
            doubt = doubt or intent.state is IntentState.UNKNOWN
            asked: float | None = None
            try:
                reply = yield Fetch("POST", EXCHANGE_PATH, body=body)
                asked = retry_after(reply.headers, now)
                answer = read_envelope(reply, intent.action)
            except TransportError as error:
                failure = error
                doubt = doubt or not certainly_not_taken(error)
                if isinstance(error, HttpStatus) and certainly_not_taken(error) and error.status != 429:
                    break
            except GeneratorExit:  # let go of, perhaps long after: SENT stays open, and somebody may have settled it
                raise
            except BaseException:
                self._update(intent, now, state=IntentState.UNKNOWN, message="interrupted while it was being sent")
                raise
            else:
                if not passing_trouble(answer):
                    return (yield from self._classify_response(intent, answer, doubt))
                failure = self._error(intent, answer)
                doubt = doubt or not isinstance(failure, RateLimited)
            if attempt + 1 < self.retry.attempts:
                draw: float = yield RandomFloat()
                wait = self.retry.wait(attempt, draw, asked)
                if isinstance(failure, RateLimited):
                    self.limiter.penalise(intent.action, now, wait)
                yield Sleep(wait)
        assert failure is not None
        return (yield from self._give_up(intent, failure, doubt))

    def _give_up(self, intent: Intent, failure: ToolkitError, doubt: bool) -> Flow[Receipt]:
        now: int = yield Now()
        code = getattr(failure, "code", None)
        if not doubt:
            words = f"not sent: {failure}" if isinstance(failure, NotSent) else str(failure)
            changes: dict[str, Any] = {"state": IntentState.REJECTED, "code": code, "message": words}
            intent = self._update(intent, now, expected=IntentState.SENT, **changes)
        if doubt or intent.state is IntentState.UNKNOWN:
            intent = self._update(intent, now, state=IntentState.UNKNOWN, message=str(failure))
            if not intent.settled:
                raise unknown(intent, failure)
        if intent.state is IntentState.ACCEPTED:
            return self._result_or_raise(intent)
        if isinstance(failure, ExchangeError):
            failure.receipt = receipt(intent)
        raise failure

    def _update(self, intent: Intent, now: int, *, expected: IntentState | None = None, **changes: Any) -> Intent:
        """Change an intent in a ledger that other processes may use. Where one of them has settled it meanwhile, or is
        about to (UNKNOWN), that stays, and the intent is returned as it stands; two different ends are an error."""
        try:
            return self.ledger.update(intent.id, now, expected=expected, **changes)
        except ToolkitError:
            there = self.ledger.get(intent.id)
            end = IntentState(changes.get("state", there.state))
            settled = there.settled and (end in OPEN or end is there.state)
            if settled or expected is not None or (there.state is IntentState.UNKNOWN and end is IntentState.SENT):
                return there
            raise

    def _result_or_raise(self, intent: Intent) -> Receipt:
        """Return the receipt of a settled intent, or raise its refusal (NotSent: another session gave it up)."""
        settled = receipt(intent)
        if intent.state is IntentState.REJECTED and intent.code is None:
            raise NotSent(f"{intent.action}: {intent.message or 'nothing was sent'}")
        if intent.state is IntentState.ACCEPTED and not intent.code:
            return settled
        error = exchange_error(intent.code or 40230, intent.message, data=dict(intent.data or {}), action=intent.action)
        error.receipt = settled
        raise error

    # --- judging an answer ---

    def _classify_response(self, intent: Intent, answer: Envelope, doubt: bool) -> Flow[Receipt]:
        now: int = yield Now()
        self._measure_skew(answer, now)
        if answer.code == 0:
            return receipt(self._close(intent, now, IntentState.ACCEPTED, answer))
        error = self._error(intent, answer)
        known: Found | Missing = Missing(certain=False)
        doubt = (
            doubt or self.ledger.get(intent.id).state is not IntentState.SENT
        )  # another process is sending it as well
        if doubt or isinstance(error, InvalidNonce):
            # An earlier copy may have counted; after 40207 our bytes did, or another request with this nonce.
            try:
                known = yield from ask_until_found(intent, self.retry)
            except (TransportError, ExchangeError):
                doubt = True
            if isinstance(known, Missing) and not known.certain:
                doubt = True
        if isinstance(known, Found):
            return self._found(intent, now, known)
        if doubt and not never_counted(error, known):
            words = f"{answer.message} (code {answer.code}), and the venue does not show what became of it"
            intent = self._update(intent, now, state=IntentState.UNKNOWN, code=answer.code, message=words)
            if intent.settled:
                return self._result_or_raise(intent)
            raise unknown(intent, error)
        partly = any(item.get("txCode") == 0 for item in _items(answer.data))
        intent = self._close(intent, now, IntentState.ACCEPTED if partly else IntentState.REJECTED, answer)
        error.receipt = receipt(intent)
        raise error

    def _found(self, intent: Intent, now: int, found: Found) -> Receipt:
        state = IntentState.ACCEPTED if found.accepted else IntentState.REJECTED
        code = 0 if found.code == 0 else 40230
        changes: dict[str, Any] = {"state": state, "code": code, "message": found.message, "data": dict(found.data)}
        return self._result_or_raise(self._update(intent, now, **changes))

    def _close(self, intent: Intent, now: int, state: IntentState, answer: Envelope) -> Intent:
        data = answer.data if isinstance(answer.data, dict) else None
        return self._update(intent, now, state=state, code=answer.code, message=answer.message, data=data)

    def _error(self, intent: Intent, answer: Envelope) -> ExchangeError:
        data = answer.data if isinstance(answer.data, dict) else None
        message = answer.message
        if answer.code == RequestExpired.code and self.clock_skew_ms is not None:
            message = f"{message}; {skew_words(self.clock_skew_ms)}"
        error = exchange_error(answer.code, message, data=data, action=intent.action, http_status=answer.reply.status)
        if isinstance(error, RequestExpired):
            error.clock_skew_ms = self.clock_skew_ms
        return error

    def _measure_skew(self, answer: Envelope, now: int) -> None:
        theirs = venue_time(answer.reply.headers)
        if theirs is not None:
            self.clock_skew_ms = now - theirs

    # --- settling ---

    def _settle_open(self, intent: Intent, resend: bool | None) -> Flow[Intent]:
        now: int = yield Now()
        if intent.state is IntentState.PREPARED:
            words = "given up by resolve() before it was sent"
            intent = self._update(intent, now, expected=IntentState.PREPARED, state=IntentState.REJECTED, message=words)
        if intent.state is IntentState.SENT:
            intent = self._update(intent, now, state=IntentState.UNKNOWN, message="interrupted before an answer")
        if intent.settled:
            return intent
        try:
            found = yield from ask(intent)
            if isinstance(found, Found):
                self._found(intent, now, found)
            elif intent.body and (resend or (resend is None and safe_to_resend(intent, now))):
                yield from self._deliver(intent, intent.body)
        except (ExchangeError, TransportError, OutcomeUnknown) as error:
            after = self.ledger.get(intent.id)
            if not after.settled:
                self._update(intent, now, message=str(error))
        return self.ledger.get(intent.id)


def with_client_ids(payload: Mapping[str, Any], nonce: int) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Return the payload with a clOrdId in every order it places, and those ids.

    Missing ones are derived from the nonce (nonce · 1000 + position), so that each order can be asked for later. They
    stay below 2^53, which every JSON reader keeps exactly.
    """
    made = dict(payload)
    if payload.get("type") == "placeBuilderOrder" and isinstance(payload.get("order"), Mapping):
        made["order"] = order = _with_id(payload["order"], nonce, 0)
        return made, (order["clOrdId"],)
    orders = payload.get("orders")
    if not isinstance(orders, list | tuple) or not all(isinstance(item, Mapping) for item in orders):
        return made, ()
    made["orders"] = items = [_with_id(item, nonce, place) for place, item in enumerate(orders)]
    return made, tuple(item["clOrdId"] for item in items)


def _with_id(item: Mapping[str, Any], nonce: int, place: int) -> dict[str, Any]:
    return dict(item) if item.get("clOrdId") else {**item, "clOrdId": nonce * IDS_PER_NONCE + place}


def certainly_not_taken(error: TransportError) -> bool:
    """Tell whether a failure proves that the venue did not take the request: it never left, or a 4xx came back."""
    if isinstance(error, NotSent):
        return True
    return isinstance(error, HttpStatus) and 400 <= error.status < 500 and error.status != 408


def passing_trouble(answer: Envelope) -> bool:
    """Tell whether an answer says "not now": a rate limit, or an HTTP 5xx whose code no document names."""
    if answer.code == RateLimited.code or answer.reply.status == 429:
        return True
    return answer.reply.status >= 500 and not 40000 <= answer.code < 50000


def never_counted(error: ExchangeError, missing: Missing) -> bool:
    """Tell whether a refusal proves, with what the venue shows, that no copy of a request counted or ever will.

    A business refusal took the nonce just now, so no earlier copy had it; malformed bytes are so for every copy. After
    expiry, and once the agent may no longer act, no copy is taken any more, but an earlier one may have been: that
    takes a venue that would show it.
    """
    return error.code in (40003, 40201, 40230) or (missing.certain and error.code in (40204, 40208))


def safe_to_resend(intent: Intent, now: int) -> bool:
    """Tell whether sending the identical bytes again can't surprise: they expire by themselves, or are fresh."""
    return intent.expiry_after is not None or now - intent.created <= SAFE_RESEND_MS


def unknown(intent: Intent, cause: Exception) -> OutcomeUnknown:
    """Return the error for an intent without a known outcome."""
    return OutcomeUnknown(
        f"{intent.action}: whether it counted is unknown ({cause}); session.resolve() asks the venue and settles it",
        intent=intent.id,
        receipt=receipt(intent),
    )


def skew_words(skew_ms: int) -> str:
    """Say how far this machine's clock is off."""
    seconds = abs(skew_ms) / 1000
    if seconds < 1.5:
        return f"this machine's clock agrees with the venue's to {seconds:.1f} s"
    return f"this machine's clock is {seconds:.1f} s {'ahead of' if skew_ms > 0 else 'behind'} the venue's"


def describe(payload: Mapping[str, Any]) -> str:
    """Return an action in a line for a confirmation: its type and fields."""
    fields = ", ".join(f"{name} {value}" for name, value in payload.items() if name not in ("type", "dexChain"))
    return f"{payload.get('type')} {fields}".rstrip()


def _items(data: Any) -> list[Mapping[str, Any]]:
    results = data.get("results") if isinstance(data, dict) else None
    return [item for item in results if isinstance(item, Mapping)] if isinstance(results, list) else []
