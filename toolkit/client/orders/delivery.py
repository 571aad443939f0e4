"""The way of an action to the venue, exactly once: prepare, record, sign, post. `resolve` settles what stays unknown.

    prepare ──→ record (PREPARED) ──→ sign ──→ record (SENT) ──→ post ──→ reconcile  (ACCEPTED, REJECTED or UNKNOWN)
                                                                  ↑                                            │
                                                                  └── identical bytes ←── ask the venue ←── resolve

An intent is recorded before it is signed, signed once, and only ever repeated as the identical bytes. The venue accepts
a nonce once, so repeating them is safe: 40207 after a repetition means that an earlier copy was executed.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ... import errors
from ...environments import Environment
from ...guards import check_process
from ...protocol.actions import ACTIONS, declaration, decode
from ...protocol.orders.names import BUILDER_ACTIONS, ActionField, ActionType
from ...protocol.orders.order_actions import (
    AnyAction,
    OrderAction,
    OtherAction,
    as_written,
    only_leaves,
    recall,
)
from ...protocol.reads.info.products import PRODUCTS
from ..io.flow import Elapsed, Fetch, Flow, Now, RandomFloat, Sleep, hastily, urgently
from ..io.rate_limits import RateLimiter, VenueGate
from ..io.transport import EXCHANGE_PATH, NO_RETRY, RETRY, Retry, read, read_envelope, retry_after
from .intents import (
    ARRIVED,
    MOST_ORDERS,
    OPEN,
    Intent,
    IntentState,
    Ledger,
    OpenState,
    Proof,
    first_client_id,
    intent_id,
    payload_hash,
)
from .outcome import ACCOUNT_EVENTS, IDENTICAL, ORDER_EVENTS, Foreign, Missing, query_execution, query_outcome
from .receipts import UNSET, Receipt, Unset, receipt
from .reconciliation import LAST_REFUSALS, Reconciler, check_belongs, is_transient, never_left, proves_not_received

if TYPE_CHECKING:
    from ...protocol.envelope import Unsigned
    from ...protocol.signing import Explained, PrivateKey
    from ...wallet import Role, Wallet
    from ..io.nonce_sources import NonceSource

DEFAULT_EXPIRY_MS = 60_000
"""Default lifetime of an action that carries expiryAfter."""
WITHDRAW_EXPIRY_MS = 3_600_000
"""Default lifetime of a withdrawal. Source: docs/published.md, "Exchange API"."""
NONCE_SPREADS = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
"""Of how many nonces each further try takes one by chance. Another program may have used many at this time, and a
further one tries to get out of its way as well."""
OF_THE_SIGNER = BUILDER_ACTIONS | {
    ActionType.VAULT_CREATE, ActionType.VAULT_DEPOSIT, ActionType.VAULT_REBALANCE, "vaultWithdraw"
}  # fmt: skip
"""Actions that may carry a vault, and act for their signer in a session of a vault, too."""
SETTLE_SECONDS = 5.0
"""Default time that a call waits for the execution of what the venue has answered as submitted."""

T = TypeVar("T")
Given = AnyAction | Mapping[str, Any]
"""An action: typed, with its fields checked where it was made, or in wire names, which are checked here."""
Confirm = bool | Callable[[str], bool] | None
"""Confirmation of writes on Mainnet: True, or a function that is given a description of the action."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """An unsigned action with everything that its signature will cover. Made by `session.intents.prepare`.

    Attributes
    ----------
    environment : Environment
        Environment whose venue it is for.
    account : str
        Address of the master.
    signer : str
        Address of the key that will sign.
    role : {"agent", "master"}
        Which key that is.
    action : AnyAction
        The action, with client ids.
    payload : mapping
        The same in wire names, as it will be sent.
    content : Unsigned
        What its signature will cover.
    created : int
        When it was made, Unix ms.
    """

    environment: Environment
    account: str
    signer: str
    role: Role
    action: AnyAction
    payload: Mapping[str, Any]
    content: Unsigned
    created: int

    @property
    def nonce(self) -> int:
        """Nonce, Unix ms."""
        return self.content.nonce

    @property
    def expiry_after(self) -> int | None:
        """Unix ms after which the venue refuses it, None for never."""
        return self.content.expiry_after

    @property
    def vault_address(self) -> str | None:
        """Vault to act for, None for the account."""
        return self.content.vault_address

    @property
    def client_ids(self) -> tuple[int, ...]:
        """Client ids of its orders."""
        return self.action.client_ids if isinstance(self.action, OrderAction) else ()

    def explain(self) -> Explained:
        """Return every step from the action to the digest that will be signed."""
        from ...protocol import signing

        return signing.explain_content(self.content, self.environment.chain)


@dataclass(frozen=True, slots=True)
class Sender:
    """The thread, or asyncio task, that works on an intent.

    KeyboardInterrupt can arrive before an entry of `Delivery._senders` is removed, so `is_busy_elsewhere` checks
    liveness instead of relying on that cleanup.

    Parameters
    ----------
    thread : Thread
        Thread that works on it.
    task : Task or None
        The task, None outside of an event loop.
    """

    thread: threading.Thread
    task: asyncio.Task[Any] | None

    @classmethod
    def current(cls) -> Sender:
        """Return the running thread and task."""
        return cls(threading.current_thread(), _current_task())

    def is_busy_elsewhere(self) -> bool:
        """Return whether another thread or task is still sending. The caller's own earlier attempt has ended."""
        # A task and its loop's thread differ: the thread lives on when the task has ended.
        if self.task is not None:
            return self.task is not _current_task() and not self.task.done()
        return self.thread is not threading.current_thread() and self.thread.is_alive()


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


class Gate(Protocol):
    """The part of its session's limits that a Delivery uses. See `client.limits.order_limits`."""

    def admit(self, intent: Intent, action: AnyAction, record: bool) -> Flow[None]:
        """Record an intent whose orders may be sent.

        Parameters
        ----------
        intent : Intent
            Intent of the request.
        action : AnyAction
            Action of the request.
        record : bool
            False only raises, and records nothing.

        Raises
        ------
        LimitReached
            For others, of which nothing is recorded.
        """

    def check_running(self, what: str) -> None:
        """Raise LimitReached while trading is stopped.

        Parameters
        ----------
        what : str
            The attempted call in words, for the error.

        Raises
        ------
        LimitReached
            While it is stopped.
        """


@dataclass(slots=True)
class Delivery:
    """Delivers the actions of one wallet to one environment.

    Parameters
    ----------
    environment : Environment
        Environment of the session.
    wallet : Wallet or None
        The keys, None to read only.
    account : callable
        Flow that finds the master's address.
    ledger : Ledger
        Where intents are recorded.
    nonces : callable
        Function that returns the source of nonces of a signer.
    limiter : RateLimiter
        Limits of requests.
    confirm : bool or callable, optional
        Whether writes on Mainnet are confirmed: True, a function that confirms each, or None (default: None).
    retry : Retry, optional
        How often and when a query is repeated (default: `RETRY`).
    expiry_ms : int, optional
        Lifetime of a signed action in ms (default: `DEFAULT_EXPIRY_MS`).
    settle_timeout : float, optional
        Longest wait for the execution of what was submitted, in seconds (default: `SETTLE_SECONDS`).
    clock_skew : callable, optional
        Function that returns this machine's clock minus the venue's in ms, None if it is not known (default: not
        known).
    """

    environment: Environment
    wallet: Wallet | None
    account: Callable[[], Flow[str]]
    ledger: Ledger
    nonces: Callable[[str], NonceSource]
    limiter: RateLimiter
    gate: VenueGate = field(default_factory=VenueGate)
    """When requests may leave: not while the venue asks to wait."""
    confirm: Confirm = None
    retry: Retry = RETRY
    expiry_ms: int = DEFAULT_EXPIRY_MS
    check: Callable[[AnyAction, str | None], Flow[None]] | None = None
    """Raises CheckFailed for an action that breaks a pre-trade rule. Its last argument is the vault."""
    limits: Gate | None = None
    """Limits and kill switch: each order passes it before it is recorded."""
    settle_timeout: float = SETTLE_SECONDS
    clock_skew: Callable[[], int | None] = lambda: None
    check_ready: Callable[[], None] = lambda: None
    """Raises where no request can leave, such as through a proxy that can't be used, before anything is recorded."""
    vault: str | None = None
    """Address of the vault that the session trades for, None for the account."""
    closed: bool = False
    """Set when the session is closed: nothing more is signed or sent."""
    _reconciler: Reconciler = field(init=False)
    _senders: dict[str, Sender] = field(init=False, default_factory=dict)
    _process: int = field(init=False, default_factory=os.getpid)

    def __post_init__(self) -> None:
        self._reconciler = Reconciler(self.ledger, self.settle_timeout, self.clock_skew, self.environment.chain)

    def submit(
        self, given: Given, expiry_after: int | Unset | None = UNSET, vault_address: str | None = None
    ) -> Flow[Receipt]:
        """Record, sign and send an action, and return the receipt of what the venue accepted.

        Parameters
        ----------
        given : Given
            The action.
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute where the action carries it). None: never.
        vault_address : str, optional
            Address of the vault to act for (default: the account).

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it, before anything is recorded.
        CheckFailed
            For orders that break a pre-trade rule, before anything is recorded.
        MalformedRequest
            For a broken field, before anything is recorded.
        LimitReached
            If a limit refuses it, before anything is recorded.
        NotSent
            When the request did not leave this machine.
        ExchangeError
            When the venue refuses.
        RateLimited
            Where it would wait too long: `retry.moment` seconds for an order that is priced by the moment.
        OutcomeUnknown
            Without a response. `resolve` settles it.
        """
        vault = self._vault_of(given, vault_address)
        return (yield from self._in_time(given, self._submit(given, expiry_after, vault)))

    def owner(self) -> Flow[str]:
        """Return the address that owns the orders and positions: the session's vault, else the account."""
        return self.vault or (yield from self.account())

    def _vault_of(self, given: Given, vault_address: str | None) -> str | None:
        """Return the vault that an action acts for: the session's, where none is given."""
        if vault_address is not None or self.vault is None:
            return vault_address
        declared = declaration(given) if isinstance(given, Mapping) else ACTIONS[given.type]
        return self.vault if declared.vault and declared.type not in OF_THE_SIGNER else None

    def _in_time(self, given: Given, flow: Flow[T]) -> Flow[T]:
        """Bound the waits before an order that is priced by the moment. One in wire names is not read yet."""
        of_moment = not isinstance(given, Mapping) and is_of_the_moment(given)
        return hastily(flow, self.retry.moment) if of_moment else flow

    def _submit(self, given: Given, expiry_after: int | Unset | None, vault_address: str | None) -> Flow[Receipt]:
        action = yield from self._checked(given, vault_address)
        self.require_confirmation(given)
        began_ms: int = yield Elapsed()
        spreads, may_expire = iter(NONCE_SPREADS), isinstance(expiry_after, Unset)
        step = 0
        while True:
            prepared = yield from self._prepare(given, action, expiry_after, vault_address, step)
            try:
                made: Receipt = yield from self._record_and_send(prepared)
                if made.message != IDENTICAL or (spread := next(spreads, None)) is None:
                    return made
                step = int((yield RandomFloat()) * spread)
            except errors.RequestExpired as error:
                now: int = yield Now()
                elapsed_ms: int = yield Elapsed()
                # The refusal has shown the venue's time. Where that shows that the clock was wrong, and not that this
                # call took too long, the action is made once more.
                expired = prepared.expiry_after is not None and now > prepared.expiry_after
                late = elapsed_ms - began_ms > self.expiry_ms // 2 and not only_leaves(action)
                if not may_expire or not expired or late or not _is_refused(error):
                    raise
                may_expire = False
            except errors.OutcomeUnknown as error:
                # Refused as expired, and the venue can't be asked for more. An exit is made again: the venue itself
                # said that the first copy is too old, so that it never executes beside the second.
                expired = getattr(error.receipt, "code", None) == errors.RequestExpired.code
                if not (may_expire and expired and only_leaves(action)):
                    raise
                may_expire = False
            except errors.InvalidNonce as error:
                # Another program used the nonce of this key. A request that is REJECTED was not executed, and never is.
                spread = next(spreads, None)
                if spread is None or not _is_refused(error):
                    raise
                random_float: float = yield RandomFloat()
                step = int(random_float * spread)

    def send(self, prepared: Prepared, *, confirmed: bool = False) -> Flow[Receipt]:
        """Record, sign and send what `prepare` returned.

        Raises as `submit` does. Sending it a second time is refused, because a nonce is used once.

        Parameters
        ----------
        prepared : Prepared
            What `prepare` returned.
        confirmed : bool, optional
            Whether a person has just confirmed exactly this (default: False).
        """
        errors.require(prepared, Prepared, "prepared", "what session.prepare returned")
        if not confirmed:
            self.require_confirmation(prepared.payload)
        return (yield from self._record_and_send(prepared))

    def prepare(
        self, given: Given, expiry_after: int | Unset | None = UNSET, vault_address: str | None = None
    ) -> Flow[Prepared]:
        """Return a checked action with nonce, expiry and client ids. Nothing is recorded, signed or sent.

        Parameters
        ----------
        given : Given
            The action.
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute). None: never.
        vault_address : str, optional
            Address of the vault to act for (default: the account).

        Raises
        ------
        WalletError
            Without the key that it needs.
        CheckFailed
            For orders that break a pre-trade rule.
        MalformedRequest
            For a broken field.
        LimitReached
            If a limit refuses it.
        """
        vault = self._vault_of(given, vault_address)
        action = yield from self._in_time(given, self._checked(given, vault))
        prepared = yield from self._prepare(given, action, expiry_after, vault)
        if self.limits is not None:
            yield from self.limits.admit(_intent(prepared, prepared.created), prepared.action, record=False)
        return prepared

    def _checked(self, given: Given, vault_address: str | None) -> Flow[AnyAction]:
        """Return a given action as a typed one that keeps the rules of its fields and the pre-trade rules."""
        declared = declaration(given) if isinstance(given, Mapping) else ACTIONS[given.type]
        self.require_open(declared.type)
        self._key(declared.type, declared.role)
        # A typed action was checked where it was made, so this is the only check of the fields of either.
        action = decode(given, "action") if isinstance(given, Mapping) else given
        if isinstance(action, OrderAction) and len(action.orders) > MOST_ORDERS:
            what = f"a request places at most {MOST_ORDERS:,} orders, not {len(action.orders):,}. Nothing was signed. "
            what += "Place them in several requests"
            raise errors.InputError(what, field="orders", rule="maximum", value=len(action.orders))
        if self.check is not None:
            yield from self.check(action, vault_address)
        return action

    def _prepare(
        self,
        given: Given,
        action: AnyAction,
        expiry_after: int | Unset | None,
        vault_address: str | None,
        step: int = 0,
    ) -> Flow[Prepared]:
        """Return the action with nonce, expiry and client ids. `step`: how many nonces are left out."""
        from ...protocol import envelope

        declared = ACTIONS[action.type]
        key = self._key(action.type, declared.role)
        try:
            account = yield from self.account()
        except errors.WalletError:
            # The key alone of a builder's agent, which needs no approval of the builder that the order names.
            if not isinstance(action, OrderAction) or action.builder is None:
                raise
            account = action.builder
        # Before the nonce: a request that waited for its turn must not carry an old one.
        yield from self._in_time(action, self._turn(action, account))
        nonces = self.nonces(key.address)
        if self.clock_skew() is None and nonces.would_jump((yield Now())):
            yield from self._read_time()
        # Read after the waits: nonce and expiry must not be older than the request.
        now: int = yield Now()
        must_keep, chance = not only_leaves(action), 0.0
        if nonces.is_kept:
            chance = yield RandomFloat()
        nonce = nonces.next(now, step, known=self.clock_skew() is not None, must_keep=must_keep, chance=chance)
        # A venue that went back in time, or a copied folder of state: the ledger knows this nonce already.
        while self._is_recorded(intent_id(self.environment.label, key.address, nonce)):
            nonce = nonces.next(now, must_keep=must_keep)
        if isinstance(action, OrderAction):
            # So that each order can be queried later.
            random_float: float = yield RandomFloat()
            action = action.numbered(first_client_id(key.address, nonce, random_float))
        elif isinstance(action, OtherAction):
            # Source: docs/published.md, "Exchange API": the default is the nonce in whole seconds.
            action = action.with_sequence(nonce // 1000)
        if isinstance(expiry_after, Unset):
            lifetime_ms = WITHDRAW_EXPIRY_MS if action.type == ActionType.WITHDRAW else self.expiry_ms
            # By chance up to a second earlier: an identical request of another program would have the same signature,
            # and its outcome would be taken for this one's.
            expiry_after = now + lifetime_ms - int(chance * 1e9) % 1_000 if declared.expiry else None
        content = envelope.unsigned(action.to_wire(), nonce, expiry_after, vault_address)
        # What was given in wire names is sent as it was written. Both forms have the same signature.
        payload = as_written(given, action) if isinstance(given, Mapping) else content.action
        return Prepared(self.environment, account, key.address, declared.role, action, payload, content, now)

    def _turn(self, action: AnyAction, account: str) -> Flow[None]:
        yield from self.limiter.turn(action.type)
        yield from self.gate.turn(self._request(action, account))

    def _request(self, action: AnyAction, account: str, body: bytes = b"") -> Fetch:
        patience = self.retry.moment if is_of_the_moment(action) else self.retry.longest
        limited_as, urgent = f"{account} {action.type}", only_leaves(action)
        return Fetch("POST", EXCHANGE_PATH, body=body, limited_as=limited_as, urgent=urgent, patience=patience)

    def _read_time(self) -> Flow[None]:
        """Read anything of the venue, for its time: a nonce of a clock that is fast would stay ahead for good."""
        with suppress(errors.TransportError, errors.ExchangeError):
            yield from read(Fetch("GET", PRODUCTS.path), NO_RETRY)

    def _is_recorded(self, id: str) -> bool:
        try:
            self.ledger.get(id)
        except errors.ToolkitError:
            return False
        return True

    def _record_and_send(self, prepared: Prepared) -> Flow[Receipt]:
        from ...protocol import envelope, signing

        action = prepared.action.type
        key = self._key(action, prepared.role)
        self.check_ready()
        now: int = yield Now()
        intent = _intent(prepared, now)
        # Registered before it is recorded: from then on a `resolve` in another thread finds the intent in the ledger.
        self._senders[intent.id] = Sender.current()
        try:
            self.require_open(action)  # here, because from now on `close_ledger` of another thread waits for it
            if self.limits is None:
                self.ledger.record(intent)
            else:
                yield from self.limits.admit(intent, prepared.action, record=True)
            request = signing.sign_content(prepared.content, key, prepared.environment.chain)
            request["action"] = prepared.payload
            # The signed bytes are kept: a later copy must be identical, or it would be another request.
            body = envelope.dump(request)
            # Recorded before the first byte leaves, see `_post`.
            intent = self._reconciler.update(intent, now, body=body)
            if intent.settled:
                # `resolve` of another process gave it up while it was being signed.
                return self._reconciler.result_or_raise(intent)
            return (yield from self._post(intent, body))
        finally:
            self._senders.pop(intent.id, None)
            self.close_ledger()

    def _post(self, intent: Intent, body: bytes) -> Flow[Receipt]:
        """Post the signed bytes until a response settles the intent or the attempts are used up.

        `in_doubt` is True as soon as an attempt without a response may have reached the venue.
        """
        in_doubt = intent.state in ARRIVED
        failure: errors.ToolkitError | None = None
        action, waited = recall({"type": intent.action, **intent.payload}), 0.0
        fetch = self._request(action, intent.account, body)
        began_ms: int = yield Elapsed()
        for attempt in range(self.retry.attempts):
            now: int = yield Now()
            # A further copy would be refused as expired, which hides what the first one did.
            if failure and intent.expiry_after is not None and now > intent.expiry_after:
                break
            # Recorded before the first byte leaves, so that no crash can hide a request that may have arrived.
            state: OpenState = IntentState.UNKNOWN if in_doubt else IntentState.SENT
            intent = self._reconciler.update(intent, now, state=state, attempts=intent.attempts + 1)
            if intent.settled:
                return self._reconciler.result_or_raise(intent)
            # In another state than asked for: another process is resolving it and may have sent a copy.
            in_doubt = intent.state in ARRIVED
            demanded: float | None = None
            try:
                reply = yield fetch
                demanded = retry_after(reply.headers, now) if reply.wait is None else reply.wait
                answer = read_envelope(reply, intent.action)
                check_belongs(intent, answer)
            except (errors.TransportError, errors.RateLimited) as error:
                # What was answered says more of the request than that a further copy did not leave.
                failure = error if failure is None or not never_left(error) else failure
                in_doubt = in_doubt or not proves_not_received(error)
                # Any other 4xx would be answered again in the same way.
                if isinstance(error, errors.HttpStatus) and proves_not_received(error):
                    break
                # The gate held it back for longer than this call may wait.
                if isinstance(error, errors.RateLimited) and not error.sent:
                    break
            except GeneratorExit:
                # The flow was dropped, perhaps long ago: the intent may be settled by now, and SENT is open anyway.
                raise
            except BaseException:
                # KeyboardInterrupt or cancellation during the request: it may or may not have arrived.
                self._reconciler.update(
                    intent, now, state=IntentState.UNKNOWN, message="interrupted while it was being sent"
                )
                raise
            else:
                # A verdict of the venue. It is not repeated, whatever it says.
                if not is_transient(answer):
                    return (yield from self._reconciler.classify_response(intent, answer, in_doubt, self.retry))
                failure = self._reconciler.error(intent, answer)
                # A rate limit refuses before execution; an HTTP 5xx may come after it.
                in_doubt = in_doubt or not isinstance(failure, errors.RateLimited)
            elapsed_ms: int = yield Elapsed()
            if self.retry.is_over(attempt + 1, began_ms, elapsed_ms):
                break
            random_float: float = yield RandomFloat()
            wait = self.retry.wait(attempt, random_float, demanded)
            waited += max(wait, demanded or 0.0)
            # A market order must not execute later, at another price. No call hangs for an hour that a header names.
            if (demanded or 0.0) > fetch.patience or (is_of_the_moment(action) and waited > fetch.patience):
                break
            yield Sleep(wait)
        assert failure is not None
        # Whether the order exists is not known until then, so these queries go before others.
        return (yield from urgently(self._reconciler.give_up(intent, failure, in_doubt)))

    def take_records(self, channel: str, owner: str, items: Sequence[Mapping[str, Any]], now: int) -> None:
        """Settle submitted requests of this account whose outcome new records of a channel of the feed show.

        Parameters
        ----------
        channel : str
            Name of the channel.
        owner : str
            Address whose records they are.
        items : sequence of mapping
            The records, in wire names.
        now : int
            The present in Unix ms.
        """
        # This runs on the feed's thread, which may outlive the session.
        if self.closed or channel not in (ORDER_EVENTS, ACCOUNT_EVENTS):
            return
        submitted: list[Intent] = []
        with suppress(errors.ToolkitError):  # a ledger that can't be used: the next call that trades says so
            submitted = self.ledger.all((IntentState.SUBMITTED,))
        for intent in submitted:
            own = (intent.vault_address or intent.account).lower() == owner.lower()
            # A builder's orders belong to its trader, whose feed this is not.
            if own and intent.environment == self.environment.label and intent.builder is None:
                with suppress(errors.ToolkitError):  # another process has settled it differently
                    self._reconciler.settle_by_feed(intent, channel, items, now)

    def resolve(self, ids: Iterable[str] | None = None, resend: bool | None = None) -> Flow[list[Receipt]]:
        """Settle intents whose outcome is unknown, and return the receipt of each, oldest first.

        The venue is queried by the orders' client ids, else by the nonce. If it does not have a request, the identical
        bytes are sent again. An intent that can't be settled stays UNKNOWN, or SUBMITTED.

        Parameters
        ----------
        ids : iterable of str, optional
            Ids of the intents (default: all that are unknown).
        resend : bool, optional
            True always sends again, False only queries (default: it is sent again while it is safe). It is safe while
            the request expires, or is under a minute old.
        """
        self.require_open("resolve")
        with suppress(errors.WalletError, errors.TransportError, errors.ExchangeError):
            yield from self.account()  # the ledger may be the account's
        wanted = None if ids is None else set(ids)
        receipts = []
        for intent in self.ledger.all(OPEN):
            if intent.environment != self.environment.label:
                continue  # a ledger may be shared, but bytes for one environment never go to another
            sender = self._senders.get(intent.id)
            if (sender and sender.is_busy_elsewhere()) or (wanted is not None and intent.id not in wanted):
                continue
            mine = self._senders[intent.id] = Sender.current()
            try:
                # Read again: settling the previous ones took time, and another process may have settled this one.
                receipts.append(receipt((yield from self._resolve_one(self.ledger.get(intent.id), resend))))
            finally:
                # A dropped flow gets here when it is collected, perhaps after another `resolve` took the intent over.
                if self._senders.get(intent.id) is mine:
                    del self._senders[intent.id]
                self.close_ledger()
        return receipts

    def _resolve_one(self, intent: Intent, resend: bool | None) -> Flow[Intent]:
        now: int = yield Now()
        reconciler = self._reconciler
        if intent.state is IntentState.PREPARED:
            # `expected`: a process that has just moved it on to SENT must not be overruled.
            # Nothing left this machine: a state after PREPARED is recorded before the first byte.
            given_up = Proof(False, None, "given up by resolve() before it was sent")
            intent = reconciler.update(intent, now, expected=IntentState.PREPARED, proof=given_up)
        # Its sender has ended without a result, as after a crash.
        if intent.state is IntentState.SENT:
            intent = reconciler.update(intent, now, state=IntentState.UNKNOWN, message="interrupted before an answer")
        if intent.settled:
            return intent
        try:
            found: Proof | Missing | Foreign
            submitted = intent.state is IntentState.SUBMITTED
            found = yield from (query_execution if submitted else query_outcome)(intent)
            if isinstance(found, Foreign):
                intent = reconciler.update(intent, now, state=IntentState.UNKNOWN, data=None)
                found, submitted = (yield from query_outcome(intent)), False
            if isinstance(found, Proof):
                reconciler.record_found(intent, now, found)
            elif submitted and not resend:
                pass  # the venue has taken it, and will execute it
            elif intent.code in LAST_REFUSALS and not resend:
                # No further copy is executed, so none is sent; one that was taken before shows in time, or never.
                later: int = yield Now()  # the answers have shown the venue's time by now
                if found.certain and reconciler.is_over(intent, later):
                    reconciler.update(intent, later, proof=Proof(False, intent.code, intent.message))
            elif intent.body and (resend or (resend is None and is_safe_to_resend(intent, now))):
                yield from self._post(intent, intent.body)
        except (errors.ExchangeError, errors.TransportError, errors.OutcomeUnknown) as error:
            if not self.ledger.get(intent.id).settled:
                reconciler.update(intent, now, message=str(error))
        return self.ledger.get(intent.id)

    def close_ledger(self) -> None:
        """Close the ledger of a closed session, unless another thread has a request on its way: that one does."""
        if self.closed and not any(sender.is_busy_elsewhere() for sender in list(self._senders.values())):
            self.ledger.close()

    def require_open(self, what: str) -> None:
        """Raise SessionClosed for a closed session.

        Parameters
        ----------
        what : str
            The attempted call in words, for the error.

        Raises
        ------
        SessionClosed
            If the session is closed.
        """
        check_process(self._process, "this session")
        if self.closed:
            message = f"{what}: this session is closed, so nothing was sent. toolkit.connect(…) opens another"
            raise errors.SessionClosed(message)

    def require_confirmation(self, given: Given) -> None:
        """Raise LimitReached on Mainnet unless the user has confirmed, or confirms now.

        Parameters
        ----------
        given : Given
            The action, or a mapping that describes it.

        Raises
        ------
        LimitReached
            Without a confirmation.
        """
        if not self.environment.is_mainnet or self.confirm is True:
            return
        payload = given if isinstance(given, Mapping) else given.to_wire()
        if callable(self.confirm):
            if self.confirm(f"{self.environment.name}: {describe(payload)}"):
                return
            raise errors.LimitReached(f"{payload['type']} was not confirmed. Nothing was signed", limit="confirm")
        what = f"{payload['type']} on {self.environment.name} moves real money and needs a confirmation: "
        what += "connect(…, confirm=True), or confirm=ask to confirm each request. Nothing was signed"
        raise errors.LimitReached(what, limit="confirm")

    def _key(self, action: str, role: Role) -> PrivateKey:
        if self.wallet is not None:
            return self.wallet.key(role, action)
        from ...wallet import Wallet

        return Wallet().key(role, f"this session is read-only: {action}")


def _intent(prepared: Prepared, now: int) -> Intent:
    environment, content = prepared.environment.label, prepared.content
    return Intent(
        id=intent_id(environment, prepared.signer, content.nonce),
        environment=environment,
        account=prepared.account,
        signer=prepared.signer,
        action=str(prepared.action.type),
        nonce=content.nonce,
        expiry_after=content.expiry_after,
        vault_address=content.vault_address,
        client_ids=prepared.client_ids,
        payload=prepared.payload,
        payload_hash=payload_hash(prepared.payload),
        created=now,
        updated=now,
    )


def is_of_the_moment(action: AnyAction) -> bool:
    """Return whether an action has an order that opens at the price of this moment.

    Parameters
    ----------
    action : AnyAction
        The action.
    """
    return isinstance(action, OrderAction) and any(item.is_of_the_moment for item in action.orders)


def _is_refused(error: errors.ExchangeError) -> bool:
    """Return whether it is certain that the request was not executed, and never is."""
    return error.receipt is not None and error.receipt.state is IntentState.REJECTED


def is_safe_to_resend(intent: Intent, now: int) -> bool:
    """Return whether repeating the identical bytes can't surprise: they expire, or are recent.

    Parameters
    ----------
    intent : Intent
        Intent of the request.
    now : int
        The present in Unix ms.
    """
    return intent.expiry_after is not None or now <= intent.resend_until


def describe(payload: Mapping[str, Any]) -> str:
    """Return a one-line description of an action for a confirmation: its type and fields.

    Parameters
    ----------
    payload : mapping
        The action in wire names.
    """
    fields = ", ".join(f"{name} {value}" for name, value in payload.items() if name not in ("type", ActionField.CHAIN))
    return f"{payload.get('type')} {fields}".rstrip()
