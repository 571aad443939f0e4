"""Works on the parent orders of one session: places each child order when it is due, exactly once.

A slice is claimed in the ledger, with the intent that will trade it, before that intent is recorded and sent. If the
program stops at any point, the ledger shows which slices may have traded. `settle` queries the venue for their outcome.

Where the clock runs, a thread waits for the next slice. During an advance, a venue in this process also wakes the
runner when a slice is due, so that with a manual clock the same happens at the same times.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec

from ...errors import InputError, LimitReached, SessionClosed, StoredFileError, ToolkitError
from ...protocol.orders.order_actions import OrderAction
from ..orders.intents import OPEN, intent_id
from ..orders.receipts import receipt
from .plan import CANCELED, FINISHED, RUNNING, Child, Plan
from .witnesses import closed_by_hand, filled

if TYPE_CHECKING:
    from ...orders import Twap
    from ...products import Product
    from ..orders.delivery import Delivery, Prepared
    from ..orders.order_calls import OrderCalls
    from ..reads.catalogue import Catalogue

PREFIX = "parent-"
INTERRUPTED = "INTERRUPTED"
OVERDUE_MS = 10_000
"""A parent order that is so late with its next child order is worked on by no session."""
SETTLE_MS = 2_000
"""Interval between two queries for the outcome of the last child orders."""
POLL_SECONDS = 0.05
"""Longest sleep of the thread: the session's clock may run faster than this machine's, or be set forward."""
STOP_SECONDS = 5.0
KEPT = 20
"""Parent orders that have ended are kept in the ledger up to this number."""


@dataclass(eq=False, repr=False)
class ParentRunner:
    """The parent orders of one session. Where time only moves by an advance of the venue, the venue rings it.

    Parameters
    ----------
    now_ms : callable
        Function that returns the session's time in Unix ms.
    """

    _calls: OrderCalls
    _delivery: Delivery
    _catalogue: Catalogue
    now_ms: Callable[[], int]
    _owner: str
    _clock_runs: bool

    def __post_init__(self) -> None:
        self._due: dict[str, int] = {}
        """Own parent order → the moment of its next slice, or of the next query for the outcome of its children."""
        self._ids: dict[str, int | None] = {}
        """Intent of a child order → its client id."""
        self._continued_ms: dict[str, int] = {}
        """Parent order → when it was resumed here. What its owner closed before does not count."""
        self._halted: set[str] = set()
        """Parent orders that place no further child here, whatever their entry says."""
        self._lock = threading.RLock()
        self._awake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._working = self._closed = False

    def start(self, twap: Twap, account: str, vault: str | None, first: Prepared | None = None) -> Plan:
        """Record a parent order and place its first child immediately.

        Parameters
        ----------
        twap : Twap
            TWAP to trade.
        account : str
            Address of the account.
        vault : str or None
            Address of the vault to trade for, None for the account.
        first : Prepared, optional
            The first child order, if that is prepared already (default: None).
        """
        self._require_open("a TWAP")
        now_ms = self.now_ms()
        with self._lock:
            self._drop_ended()
            known = self._delivery.ledger.notes()
            number = next(one for one in range(now_ms, now_ms + 10**6) if f"{PREFIX}{one}" not in known)
            environment = self._delivery.environment.label
            plan = Plan(f"{PREFIX}{number}", environment, account, vault, now_ms, twap, now_ms, self._owner)
            # Recorded before the first child is placed, so that a crash leaves nothing that is not shown.
            if not self._delivery.ledger.note(plan.id, None, plan.dump()):
                raise ToolkitError(f"parent order {plan.id} exists already")
            self._slice(plan, first)
            return self._watch(plan.id)

    def resume(self, id: str, *, confirmed: bool) -> Plan:
        """Take over a parent order that has not ended. Its next slice is due immediately.

        Parameters
        ----------
        id : str
            Id of the parent order.
        confirmed : bool
            Whether a person has just confirmed it.
        """
        self._require_open("resuming a TWAP")
        owner = self.plan(id).account
        account: str = self._calls.driver.run(self._delivery.account())
        if owner.lower() != account.lower():
            what = f"{id} is one of account {owner}, and this session trades for {account}"
            raise InputError(what, field="id", rule="own", value=id)
        if not confirmed:
            words = self.plan(id).twap.describe()
            self._delivery.require_confirmation({"type": "resume", "parent order": words})
        now_ms = self.now_ms()
        with self._lock:
            # The former owner finds itself replaced before its next child: see `_change`.
            self._halted.discard(id)
            self._continued_ms[id] = now_ms
            if self._change(id, lambda one: replace(one, owner=self._owner, due_ms=now_ms)) is None:
                raise InputError(f"{id} has ended", field="id", rule="not ended", value=self.plan(id).state)
            self._due[id] = now_ms
            self.ring()
            return self._watch(id)

    def halt(self, ids: Iterable[str]) -> None:
        """Let parent orders place no further child order, immediately and without waiting for one that is on its way.

        Parameters
        ----------
        ids : iterable of str
            Ids of the parent orders.
        """
        for id in ids:
            self._halted.add(id)  # holds where the ledger can't be written, too
            with suppress(ToolkitError):  # `cancel` says so
                self._change(id, lambda one: replace(one, state=CANCELED))

    def cancel(self, id: str, timeout: float = -1) -> Plan:
        """Place no further child order. One that is on its way may still fill. Its fill is counted.

        Parameters
        ----------
        id : str
            Id of the parent order.
        timeout : float, optional
            Longest wait for a child that is on its way, in seconds (default: until it has its outcome).

        Raises
        ------
        LimitReached
            After `timeout` seconds. It places no further child order all the same.
        """
        # Before the outcome of children is queried, which takes time in which another could be placed.
        self.halt([id])
        if not self._lock.acquire(timeout=timeout):
            what = f"{id} places no further child order, but one is on its way and did not end within {timeout:g} s"
            raise LimitReached(what, limit="timeout")
        try:
            self._change(id, lambda one: replace(one, state=CANCELED))
            self._settle(self.plan(id))
            return self._watch(id)
        finally:
            self._lock.release()

    def _require_open(self, what: str) -> None:
        if self._closed or self._delivery.closed:
            raise SessionClosed("this session is closed, so it can't work on a parent order. Connect again")
        if self._delivery.limits is not None:
            self._delivery.limits.check_running(what)

    def plan(self, id: str) -> Plan:
        """Return a parent order from its entry in the ledger.

        Parameters
        ----------
        id : str
            Id of the parent order.

        Raises
        ------
        InputError
            For an unknown id.
        """
        return self._read(id)[1]

    def _read(self, id: str) -> tuple[str, Plan]:
        text = self._delivery.ledger.notes().get(id)
        if text is None:
            raise InputError(f"there is no parent order {id!r}", field="id", rule="exists", value=id)
        try:
            return text, Plan.load(text)
        except msgspec.MsgspecError as error:
            raise ToolkitError(f"the entry {id!r} of the ledger can't be read: {error}") from error

    def plans(self) -> list[Plan]:
        """Return the parent orders of this environment, oldest first. An entry that can't be read is left out."""
        found = []
        for name, text in self._delivery.ledger.notes().items():
            try:
                plan = Plan.load(text) if name.startswith(PREFIX) else None
            except msgspec.MsgspecError:
                continue
            if plan is not None and plan.environment == self._delivery.environment.label:
                found.append(plan)
        return found

    def status(self, plan: Plan) -> str:
        """Return the status of a parent order: its state, or INTERRUPTED where no session works on it.

        Parameters
        ----------
        plan : Plan
            The parent order.
        """
        is_mine = plan.id in self._due and plan.owner == self._owner
        if plan.state != RUNNING or is_mine:
            return plan.state
        # Another process can't be asked whether it lives. One that is late is taken for dead.
        return RUNNING if plan.owner and self.now_ms() <= plan.due_ms + OVERDUE_MS else INTERRUPTED

    def check_clock(self) -> None:
        """Raise InputError where waiting would never end.

        Raises
        ------
        InputError
            If time only moves by an advance of the venue.
        """
        if not self._clock_runs:
            what = "time only moves by venue.advance here, so waiting would never end"
            raise InputError(what, field="timeout", rule="clock")

    def due_ms(self) -> int | None:
        """Return when there is something to do next, None for never."""
        return min(list(self._due.values()), default=None)

    def ring(self) -> None:
        """Do what is due. Called by the thread, and by a venue at that moment of an advance."""
        with self._lock:
            if self._working or self._closed:
                return  # a slice lets time pass itself where the venue settles with a delay
            self._working = True
            try:
                # One by one: while a slice waits for its execution, the next parent order may become due.
                while (id := self._next_due()) is not None:
                    self._work(id)
            finally:
                self._working = False

    def _next_due(self) -> str | None:
        due = sorted((due_ms, id) for id, due_ms in self._due.items() if due_ms <= self.now_ms())
        return due[0][1] if due else None

    def close(self) -> None:
        """Stop. The parent orders stay in the ledger, for another session to resume."""
        with self._awake:
            self._closed, thread = True, self._thread  # which the thread resets when it ends
            self._awake.notify()
        if thread is not None and thread is not threading.current_thread():
            # A child on its way may still be waiting for its outcome.
            thread.join(STOP_SECONDS)
        for id in list(self._due):
            with suppress(ToolkitError):  # a ledger that is gone; what it held is overdue for whoever finds it
                self._change(id, lambda one: replace(one, owner=""))
        self._due.clear()

    def _work(self, id: str) -> None:
        try:
            plan = self._settle(self.plan(id))
            # Read again after the outcome of earlier children: their rest is added to this one.
            runs = plan.state == RUNNING and plan.owner == self._owner and id not in self._halted
            if runs and plan.done < plan.twap.slices:
                self._slice(plan)
            self._watch(id)
        except SessionClosed:
            self._due.pop(id, None)
        except Exception as error:  # the message shows it: no caller waits here that it could be raised to
            self._due[id] = self.now_ms() + SETTLE_MS
            message = str(error) or type(error).__name__
            with suppress(ToolkitError):  # the ledger itself can't be used now
                self._change(id, lambda one: replace(one, message=message))

    def _watch(self, id: str) -> Plan:
        """Note when to look at a parent order again, and end it when all is done. Return it."""
        plan = self.plan(id)
        if plan.state == RUNNING and plan.settled and plan.done >= plan.twap.slices:
            plan = self._change(id, lambda one: replace(one, state=FINISHED)) or self.plan(id)
        running = plan.state == RUNNING
        if plan.owner != self._owner or (plan.settled and not running):
            self._due.pop(id, None)
        else:
            slices_left = running and plan.done < plan.twap.slices
            self._due[id] = plan.due_ms if slices_left else self.now_ms() + SETTLE_MS
            self._wake()
        return plan

    def _slice(self, plan: Plan, prepared: Prepared | None = None) -> None:
        """Place the next child order, if there is something to trade. Why it could not be is kept as the message."""
        run, now_ms = self._calls.driver.run, self.now_ms()
        child = None
        try:
            product = run(self._catalogue.find(plan.twap.symbol))
            quantity = plan.next_quantity(product)
            if quantity:
                self._check_hand(plan, product)
            if quantity and prepared is None:
                child_order = plan.twap.child(quantity)
                action = OrderAction.made(child_order.action, [child_order.item(product.code)])
                prepared = run(self._delivery.prepare(action, vault_address=plan.vault))
            if prepared is not None:
                id = intent_id(prepared.environment.label, prepared.signer, prepared.nonce)
                expires_ms = prepared.expiry_after or now_ms + self._delivery.expiry_ms
                child = Child(id, now_ms, expires_ms, quantity)
        except ToolkitError as error:
            reason = str(error)
            self._change(plan.id, lambda one: one.advanced(now_ms, None, reason), plan)
            return
        # The slice is claimed in the ledger before it is sent: of two sessions only one gets it.
        if self._change(plan.id, lambda one: one.advanced(now_ms, child), plan) is None or prepared is None:
            return  # taken over or cancelled meanwhile
        if plan.id in self._halted:
            return  # since the claim; it was never recorded, so it counts as not sent
        try:
            # Whoever started or resumed it has confirmed all of its child orders.
            run(self._calls.live(self._delivery.send(prepared, confirmed=True)))
        except ToolkitError as error:
            message = str(error)
            self._change(plan.id, lambda one: replace(one, message=message))
        self._settle(self.plan(plan.id))

    def _check_hand(self, plan: Plan, product: Product) -> None:
        """Raise LimitReached where its owner has closed by hand what a parent order opened, since it was continued."""
        ledger = self._delivery.ledger
        for child in (each for other in self.plans() for each in other.children if each.intent not in self._ids):
            with suppress(ToolkitError):
                asked = ledger.get(child.intent).asked
                self._ids[child.intent] = asked.orders[0].cl_ord_id if isinstance(asked, OrderAction) else None
        since_ms = self._continued_ms.get(plan.id, plan.created_ms)
        looking = closed_by_hand(self._calls, product, plan, since_ms, set(self._ids.values()))
        try:
            closed: str = self._calls.driver.run(looking)
        except ToolkitError:  # the limits of the session count what can't be read
            return
        if closed:
            raise LimitReached(closed, limit="by hand")

    def _settle(self, plan: Plan) -> Plan:
        """Query the outcome of children whose fills are not known yet, and return the plan with the answers."""
        found = {}
        for child in plan.children:
            if child.filled is None and (answer := self._outcome(plan, child)) is not None:
                found[child.intent] = answer
        if not found:
            return plan

        def answered(one: Plan) -> Plan:
            return replace(one, children=tuple(found.get(child.intent, child) for child in one.children))

        return self._change(plan.id, answered, any_state=True) or plan

    def _outcome(self, plan: Plan, child: Child) -> Child | None:
        """Return the child with its fills, None while they are not known."""
        ledger, run = self._delivery.ledger, self._calls.driver.run
        try:
            intent = ledger.get(child.intent)
        except StoredFileError:
            return None  # its entry is damaged: it may have been sent
        except ToolkitError:
            # The list also fails where the ledger can't be read now, and has what was recorded meanwhile.
            if self.now_ms() <= child.expires_ms or any(one.id == child.intent for one in ledger.all()):
                return None
            # Claimed but never recorded, so never sent; by now it would have expired, too.
            return replace(child, filled=Decimal(0))
        try:
            if intent.state in OPEN:
                run(self._delivery.resolve([intent.id]))
            made = self._calls.bind(receipt(ledger.get(intent.id)))
            run(self._calls.refresh(made))
            if not made.is_final:
                return None
            product = run(self._catalogue.find(plan.twap.symbol))
            return run(filled(self._calls, product, plan, child, made))  # type: ignore[no-any-return]
        except ToolkitError:
            return None  # asked again at the next slice

    def _change(
        self, id: str, change: Callable[[Plan], Plan], expected: Plan | None = None, any_state: bool = False
    ) -> Plan | None:
        """Change a parent order and return it, None when it has ended, or is no longer at the `expected` slice.

        Another process may change it at any time, so check and change are one step of the ledger.
        """
        while True:
            text, plan = self._read(id)
            if plan.state != RUNNING and not any_state:
                return None
            if expected is not None and (plan.owner, plan.done) != (self._owner, expected.done):
                return None
            after = change(plan)
            # Compare and set: another process may have changed the entry since it was read.
            if self._delivery.ledger.note(id, text, after.dump()):
                return after

    def _drop_ended(self) -> None:
        ended = [one for one in self.plans() if one.state != RUNNING]
        for plan in ended[:-KEPT]:
            self._delivery.ledger.note(plan.id, self._delivery.ledger.notes().get(plan.id), None)

    def _wake(self) -> None:
        if not self._clock_runs:
            return
        with self._awake:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="toolkit-parent-orders", daemon=True)
                self._thread.start()
            self._awake.notify()

    def _run(self) -> None:
        while True:
            with self._awake:
                due_ms = self.due_ms()
                if self._closed or due_ms is None:
                    self._thread = None
                    return
                left = (due_ms - self.now_ms()) / 1000
                if left > 0:
                    # Not until it is due: an advance of the venue or a faster clock may bring that forward.
                    self._awake.wait(min(left, POLL_SECONDS))
                    continue
            self.ring()
