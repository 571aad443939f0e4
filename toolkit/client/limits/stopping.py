"""Stop everything: the kill switch, and `stop_all`, one flow that ends, cancels and closes, and says what is left.

    switch on, runs and parent orders told ──→ cancel ──→ look, and cancel what is left ──→ close ──→ wait ──→ report

It cancels before it reads anything: a list of open orders may be long, change while it is read, or not come at all.
Each step is tried, even if the one before failed, and each ends in bounded time. What a step could not find out is
UNKNOWN in the report. While the switch is on, only orders that reduce pass, so that nothing opens meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import ExchangeError, InputError, ToolkitError, TransportError, warn
from ...guards import checked, judges_flags
from ...numerals import plain_text
from ...protocol.orders.items import OrderItem
from ...protocol.orders.names import ORDER_ACTIONS
from ...protocol.reads.door import seen
from ...protocol.reads.info.orders import OrderState
from ...protocol.reads.info.positions import Position
from ..io.flow import Elapsed, Flow, Now, Perform, RandomFloat, SessionPart, Sleep, flow, urgently, within
from ..io.transport import NO_RETRY
from ..orders.delivery import Delivery
from ..orders.intents import OPEN, Intent
from ..orders.order_calls import OrderCalls
from ..orders.outcome import owner_of
from ..orders.receipts import FILLED, Receipt
from ..parent_orders.plan import RUNNING, Plan
from ..reads.reading import OpenOrders, fetch_rows, is_hedged
from .closing import Closing, ClosingFlows, Held, Leg
from .order_limits import OrderLimits
from .running import RUNS, Elsewhere, Endable

if TYPE_CHECKING:
    import pandas as pd

    from ...limits import Limits
    from ..parent_orders.schedule import ParentRunner
    from ..reads.catalogue import Catalogue

WORKING = "stop_all is working, or was interrupted"
"""Why the switch is on during `stop_all`. An interrupted one leaves it on."""
ROUNDS = 8
"""How often open orders and positions are looked at again, before what is left is reported."""
CANCEL_SECONDS, LOOK_SECONDS, CLOSE_SECONDS, WAIT_SECONDS = 20.0, 20.0, 20.0, 10.0
"""Longest time of each step: to cancel unseen, to look and cancel the rest, to close, and to wait for runs."""
REQUEST_SECONDS = 5.0
"""Longest time of one request among several, so that one that hangs leaves time for the others."""
KINDS = ("parent order", "run", "order", "position", "request")
"""Order of the report."""
COLUMNS = {
    **dict.fromkeys(("kind", "id", "symbol", "side"), "string"),
    "quantity": "float64",
    "outcome": "string",
    "message": "string",
}
"""Columns and dtypes of the report."""


class StopFlows(ClosingFlows):
    """Mixin of Session and AsyncSession: `stop_all` and `close_position`."""

    _limits: OrderLimits

    @flow
    @judges_flags
    def stop_all(self, *, flatten: bool = False, vault_address: str | None = None) -> Flow[pd.DataFrame]:
        """End all parent orders, live runs and orders, with `flatten` close all positions, and return what happened.

        During the call only orders that reduce are accepted. Afterwards you can trade again, unless
        `limits.stop(reason)` was called. A step that fails raises nothing: its row says why.

        Parameters
        ----------
        flatten : bool, optional
            True closes the positions with reduce-only market orders, within the default slippage (default: False).
        vault_address : str, optional
            Vault whose orders and positions are meant (default: the account's).

        Returns
        -------
        DataFrame
            One row for each thing that was ended or closed, or could not be.

            - kind: parent order, run, order, position or request
            - id, symbol, side: string
            - quantity: float64, base units, NaN where there is none
            - outcome: ENDED, CANCELED, CLOSED, LEFT or UNKNOWN. LEFT is still there. UNKNOWN could not be found out:
              call again, or `resolve()`
            - message: string

        Raises
        ------
        InputError
            Where `flatten` is neither True nor False, after all that needs no answer to it was done.

        Examples
        --------
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> session.stop_all(flatten=True)[["kind", "symbol", "quantity", "outcome"]]
               kind   symbol  quantity outcome
        0  position  BTCUSDC      0.01  CLOSED
        """
        given, wrong = {"flatten": flatten}, None
        try:
            checked("stop_all", {"flatten": frozenset({"bool"})}, (), (), given)
        except InputError as error:
            wrong, given["flatten"] = error, False
        # New orders would make the work endless.
        before = self._limits.switch(WORKING)
        found = yield from urgently(Stop(self, given["flatten"], vault_address).run())
        try:
            # A switch by another caller meanwhile keeps its reason.
            self._limits.switch("" if before == WORKING else before, expected=WORKING)
        except ToolkitError as error:
            warn(f"stop_all has ended, and trading stays stopped until session.limits.resume(): {error}")
        if wrong is not None:
            said = f"{wrong}. Orders and runs were ended, and no position was closed"
            late = InputError(said, field="flatten", rule=wrong.rule, value=flatten, nearest=wrong.nearest)
            late.add_note(found.to_string())
            raise late
        return found


class LimitFlows(SessionPart):
    """The limits of a session, and its kill switch."""

    _path = "session.limits"

    @property
    def values(self) -> Limits | None:
        """The limits of `connect(limits=…)`, None without any."""
        limits: OrderLimits = self._session._limits
        return limits.limits

    @property
    def stopped(self) -> str:
        """Why the kill switch is on, "" while it is off."""
        limits: OrderLimits = self._session._limits
        return limits.stopped

    @flow
    def stop(self, reason: str) -> Flow[pd.DataFrame]:
        """Switch trading off: end parent orders, live runs and orders, and refuse new ones until `resume()`.

        Orders that only reduce still pass, so that positions can be closed. The kill switch is kept with the ledger. It
        holds in every session of the same agent and ledger, and after a restart. It ends the orders of each vault that
        the account has traded for, too. What was placed as a builder is LEFT: only its trader can cancel it.

        Parameters
        ----------
        reason : str
            Why, in your words. Every refusal repeats it.

        Returns
        -------
        DataFrame
            The table of `stop_all`.

        Raises
        ------
        InputError
            Without a reason.

        Examples
        --------
        >>> _ = session.limits.stop("lost the feed")
        >>> session.limits.stopped
        'lost the feed'
        """
        if not isinstance(reason, str) or not reason.strip():
            raise InputError(f'reason is {reason!r}. Say why, such as "lost the feed"', field="reason", rule="a text")
        self._session._limits.switch(reason)
        found: pd.DataFrame = yield from urgently(Stop(self._session, False, None, everywhere=True).run())
        return found

    @flow
    def resume(self) -> Flow[None]:
        """Allow new orders again. Ended orders and runs stay ended.

        Examples
        --------
        >>> _ = session.limits.stop("lost the feed")
        >>> session.limits.resume()
        >>> session.limits.stopped
        ''
        """
        yield from _blocking(partial(self._session._limits.switch, ""))

    def __repr__(self) -> str:
        state = f"stopped: {self.stopped}" if self.stopped else "trading"
        given = {} if self.values is None else {one.name: getattr(self.values, one.name) for one in fields(self.values)}
        words = [f"{name} {value}" for name, value in given.items() if value is not None]
        return f"<{type(self).__name__} {state}, {', '.join(words) or 'no limits'}>"


def _blocking(call: Callable[[], object]) -> Flow[None]:
    yield Perform(call, lambda: asyncio.to_thread(call))


class Stop:
    """One pass of the flow: it ends, cancels and closes, and collects the rows of its report.

    Parameters
    ----------
    session : object
        Session that is stopped.
    flatten : bool
        Whether positions are closed.
    vault : str or None
        Address of the vault whose orders are meant, None for the account.
    everywhere : bool, optional
        Whether those of the vaults that the account has traded for are meant, too (default: False).
    """

    def __init__(self, session: Any, flatten: bool, vault: str | None, everywhere: bool = False) -> None:
        self._session = session
        self._delivery: Delivery = session._delivery
        self._calls: OrderCalls = session._calls
        self._catalogue: Catalogue = session._catalogue
        self._flatten = flatten
        self._vault = vault
        self._everywhere = everywhere
        self._rows: list[dict[str, Any]] = []
        self._cancelled: dict[int, int] = {}
        """Orders that the venue says it cancelled: id → code of the product."""
        self._refused: dict[int, str] = {}
        """Code of a product → why its orders could not be cancelled."""

    def run(self) -> Flow[pd.DataFrame]:
        """Do all steps, and return the report."""
        from ..reads.frames import indexed, typed

        began_ms: int = yield Now()
        # Nothing that may block comes before the first cancel.
        parents, runs = self._tell_parents(), self._tell_runs()
        yield from self._tried("order", self._cancel_unseen(), CANCEL_SECONDS)
        try:
            owner = self._vault or (yield from within(self._session._account(), REQUEST_SECONDS))
        except ToolkitError as error:
            self._add("order", outcome="UNKNOWN", message=f"orders and positions can't be read: {error}")
        else:
            # Before positions are closed: a resting order could open what was just closed.
            yield from self._tried("order", self._cancel_rest(owner, began_ms), LOOK_SECONDS)
            yield from self._tried("position", self._close(owner), CLOSE_SECONDS)
        yield from self._wait(parents, runs)
        for vault in self._vaults():
            if self._everywhere:
                other = Stop(self._session, self._flatten, vault)
                yield from other.run()
                self._rows += other._rows
            else:
                yield from self._tried("position", self._left_in(vault), LOOK_SECONDS)
        if self._vault is None:
            yield from self._tried("order", self._of_traders(), LOOK_SECONDS)
        for intent in self._requests():
            message = intent.message or f"{intent.action} is {intent.state}"
            self._add("request", intent.id, outcome="UNKNOWN", message=f"{message}. session.resolve() settles it")
        self._rows.sort(key=lambda row: KINDS.index(row["kind"]))
        return indexed(typed(self._rows, COLUMNS), None)

    def _is_own(self, account: str, vault: str | None) -> bool:
        """Return whether an entry of the ledger, which accounts may share, is this account's, or this vault's."""
        known, own = self._session._known_account, self._vault or self._delivery.vault
        # Without a known account every entry counts: to end too much is the safer mistake here.
        if known is not None and account.lower() != known.lower():
            return False
        return own is None or (vault or "").lower() == own.lower()

    def _requests(self) -> list[Intent]:
        """Return the requests that may still place an order."""
        label = self._delivery.environment.label
        found: list[Intent] = []
        with suppress(ToolkitError):  # a ledger that can't be read stands in no exit's way
            found = self._delivery.ledger.all(OPEN)
        return [one for one in found
                if one.environment == label and one.action in ORDER_ACTIONS
                and self._is_own(one.account, one.vault_address)]  # fmt: skip

    def _vaults(self) -> list[str]:
        """Return the vaults that this account's requests traded for, which a call for the account leaves alone."""
        found: dict[str, str] = {}
        if self._vault is None and self._delivery.vault is None:
            with suppress(ToolkitError):
                for one in self._delivery.ledger.all():
                    if one.vault_address and one.action in ORDER_ACTIONS and self._is_own(one.account, None):
                        found[one.vault_address.lower()] = one.vault_address
        return list(found.values())

    def _of_traders(self) -> Flow[None]:
        """Add the open orders that this session has placed as a builder, which only their traders can cancel."""
        placed: dict[str, Intent] = {}
        numbers = set[int]()
        with suppress(ToolkitError):
            for one in self._delivery.ledger.all():
                if one.builder is not None and self._is_own(one.account, one.vault_address):
                    placed[one.signer] = one
                    numbers.update(one.client_ids)
        for one in placed.values():
            if (trader := (yield from owner_of(one))) is None:
                self._add("order", outcome="UNKNOWN", message=f"the trader of the builder's agent {one.signer}")
                continue
            opened = yield from self._calls.reader.open_orders(trader, in_part=True)
            for number, (_, row) in opened.items():
                if row.client_order_id in numbers:
                    symbol = (yield from self._catalogue.exit(int(row.symbol))).symbol
                    message = f"placed as a builder for {trader}, who alone can cancel it"
                    self._add("order", number, symbol, row.side or "", row.remaining, outcome="LEFT", message=message)

    def _left_in(self, vault: str) -> Flow[None]:
        """Add what is open in a vault."""
        message = f"of vault {vault}: stop_all(vault_address=…) ends it"
        opened = yield from self._calls.reader.open_orders(vault, in_part=True)
        held, unread = yield from self._held(Closing(self._session, vault, vault))
        for number, (_, row) in opened.items():
            symbol = (yield from self._catalogue.exit(int(row.symbol))).symbol
            self._add("order", number, symbol, row.side or "", row.remaining, outcome="LEFT", message=message)
        for (code, side), (size, _) in held.items():
            symbol = (yield from self._catalogue.exit(code)).symbol
            self._add("position", "", symbol, side, size, outcome="LEFT", message=message)
        if unread or opened.missing:
            self._add("position", outcome="UNKNOWN", message=f"others may be {message}. {unread or opened.missing}")

    def _add(self, kind: str, id: object = "", symbol: str = "", side: str = "", quantity: Decimal | None = None,
             *, outcome: str, message: str = "") -> None:  # fmt: skip
        self._rows.append({"kind": kind, "id": str(id), "symbol": symbol, "side": side, "quantity": quantity,
                           "outcome": outcome, "message": message})  # fmt: skip

    def _tried(self, kind: str, step: Flow[None], seconds: float) -> Flow[None]:
        try:
            yield from within(step, seconds)
        except ToolkitError as error:
            self._add(kind, outcome="UNKNOWN", message=str(error))

    def _call(self, call: Callable[[], object]) -> Flow[str]:
        """Make a call that blocks, and return why it failed, "" where it did not."""
        try:
            yield from _blocking(call)
        except ToolkitError as error:
            return str(error)
        return ""

    def _tell_parents(self) -> list[Plan]:
        """End the parent orders, without waiting for their children, and return them."""
        parents: ParentRunner = self._session._parents
        try:
            plans = [
                plan for plan in parents.plans() if plan.state == RUNNING and self._is_own(plan.account, plan.vault)
            ]
        except ToolkitError as error:
            self._add("parent order", outcome="UNKNOWN", message=str(error))
            plans = []
        parents.halt([plan.id for plan in plans])
        return plans

    def _tell_runs(self) -> list[Endable]:
        """Let the runs of the account end, those of other processes too, and return them."""
        session, runs = getattr(self._session, "sync", self._session), list[Endable]()
        runs += RUNS.on(session)
        try:
            runs += RUNS.elsewhere(session)
        except OSError as error:  # runs of this process end without files
            self._add("run", outcome="UNKNOWN", message=f"runs of other processes can't be found: {error}")
        for run in runs:
            try:
                run.request_end()
            except OSError as error:
                self._add("run", run.name, outcome="UNKNOWN", message=f"it can't be told to end: {error}")
        return runs

    def _wait(self, plans: Sequence[Plan], runs: Sequence[Endable]) -> Flow[None]:
        """Wait for parent orders and runs, together no longer than `WAIT_SECONDS`. Add their rows."""
        parents: ParentRunner = self._session._parents
        began_ms: int = yield Elapsed()
        for plan in plans:
            now_ms: int = yield Elapsed()
            left_s = max(0.0, WAIT_SECONDS - (now_ms - began_ms) / 1000)
            failed = yield from self._call(partial(parents.cancel, plan.id, left_s))
            rest = Decimal(plan.twap.quantity) - plan.filled
            words = failed or f"{plan.done} of {plan.twap.slices} child orders were placed"
            outcome = "UNKNOWN" if failed else "ENDED"
            self._add("parent order", plan.id, str(plan.twap.symbol), plan.twap.side, rest, outcome=outcome,
                      message=words)  # fmt: skip
        for run in runs:
            now_ms = yield Elapsed()
            left_s = max(0.0, WAIT_SECONDS - (now_ms - began_ms) / 1000)
            yield from _blocking(partial(run.wait, left_s))
            ended = run.wait(0)
            told = list(run.still_open) if ended else [f"the run did not end within {WAIT_SECONDS:g} s"]
            if isinstance(run, Elsewhere):
                told.insert(0, run.process)
                told += [] if ended else ["It places nothing more, and ends when it answers. Or end its process"]
            message, outcome = "; ".join(told), "ENDED" if ended else "UNKNOWN"
            self._add("run", run.name, ", ".join(run.symbols), outcome=outcome, message=message)

    def _cancel_unseen(self) -> Flow[None]:
        """Cancel in all products that there are, first in those that this account has traded, before any is read."""
        traded = self._calls.traded()
        yield from self._cancel_in(traded)
        listed = yield from self._catalogue.codes()
        yield from self._cancel_in([code for code in listed if code not in traded])

    def _cancel_in(self, codes: Iterable[int]) -> Flow[None]:
        for code in codes:
            cancelled, why = yield from self._calls.cancel_in(code, None, self._vault, REQUEST_SECONDS)
            self._cancelled |= dict.fromkeys(cancelled, code)
            self._refused |= {code: why} if why else {}

    def _cancel_rest(self, owner: str, began_ms: int) -> Flow[None]:
        """Look at what is open and cancel it, until nothing of the first look is left and no request is on its way."""
        reader, retry = self._calls.reader, self._delivery.retry
        before = set(self._calls.cancelled) - self._cancelled.keys()
        seen, left, first = dict[int, OrderState](), OpenOrders(), set[int]()
        ended: dict[int, OrderState] = {}
        try:
            for attempt in range(ROUNDS):
                # Requests of unknown outcome may be open orders. Sending them again would open more.
                with suppress(ToolkitError):
                    yield from self._delivery.resolve(resend=False)
                left = yield from within(reader.open_orders(owner, in_part=True), LOOK_SECONDS / 2)
                coming = self._requests()
                seen |= {number: row for number, (_, row) in left.items() if number not in seen}
                first |= set() if attempt else left.keys()
                # Twice at least: a request that was on its way may land between two looks. An active program places
                # new orders for ever, so those that came later are cancelled twice, and no more.
                if attempt and not coming and (not left or (attempt > 1 and first.isdisjoint(left))):
                    break
                yield from self._cancel_in(sorted({int(row.symbol) for _, row in left.values()}))
                if attempt in (1, ROUNDS // 2):
                    yield from self._calls.cancel_by_id({one: left[one][1] for one in first & left.keys()}, self._vault)
                if left or coming:
                    random_float: float = yield RandomFloat()
                    yield Sleep(retry.wait(0, 0.5 + random_float / 2))
            else:
                left = yield from reader.open_orders(owner, in_part=True)
            ended = yield from self._calls.ended_since(owner, began_ms)
            # On a clock that is moved by hand an earlier call may have cancelled in the same millisecond.
            ended = {number: row for number, row in ended.items() if number not in before}
        except ToolkitError as error:
            left.missing = left.missing or str(error)
        if left.missing:
            self._add("order", outcome="UNKNOWN", message=f"other orders may be open. {left.missing}")
        if late := left.keys() - first:
            warn(f"stop_all: {len(late)} orders were placed after it had begun, by a program with another ledger")
        for number in sorted(seen.keys() | left.keys() | ended.keys() | self._cancelled.keys()):
            yield from self._add_order(number, seen.get(number), left, ended.get(number), number in late)

    def _add_order(
        self, number: int, seen: OrderState | None, left: OpenOrders, ended: OrderState | None, late: bool
    ) -> Flow[None]:
        row = left[number][1] if number in left else seen or ended
        code = self._cancelled[number] if row is None else int(row.symbol)
        symbol = (yield from self._catalogue.exit(code)).symbol
        if row is None:
            self._add("order", number, symbol, outcome="CANCELED")
            return
        quantity = row.remaining if row is not ended else row.quantity  # None where none is shown that can be read
        if number in left:
            outcome = "LEFT"
            message = self._refused.get(code) or ("it was placed after stop_all had begun" if late else "")
        elif ended is not None:
            filled = (ended.filled or Decimal(0)) - (Decimal(0) if seen is None else seen.filled or Decimal(0))
            outcome = "ENDED" if ended.status == FILLED else "CANCELED"
            message = f"{filled} filled meanwhile" if filled else ""
        elif number in self._cancelled:
            outcome, message = "CANCELED", ""
        elif left.missing:  # it may be among those that were not read
            outcome, message = "UNKNOWN", "the list of open orders is not complete"
        else:
            outcome, message = "ENDED", "it is no longer open"
        self._add("order", number, symbol, row.side or "", quantity, outcome=outcome, message=message)

    def _close(self, owner: str) -> Flow[None]:
        """Close every position, until no witness shows one or a round changes nothing."""
        closing, why, filled = Closing(self._session, self._vault, owner), dict[Leg, str](), dict[Leg, Decimal]()
        held, unread = yield from self._held(closing)
        first = dict(held)
        for _ in range(ROUNDS if self._flatten else 0):
            if unread or not held:
                break
            for leg, (size, row) in held.items():
                # One that is shown after orders of its size were filled may be larger than it is shown.
                again = filled.get(leg, Decimal(0)) >= first[leg][0]
                step = closing.sweep(leg[0]) if again else closing.close(leg[0], [_signed(leg, size)], is_hedged(row))
                yield from self._closed(step, leg, filled, why)
            before = held
            held, unread = yield from self._held(closing)
            first = {**held, **first}
            # The book is empty within the slippage, or every order is refused: more of the same would not help.
            if {leg: size for leg, (size, _) in held.items()} == {leg: size for leg, (size, _) in before.items()}:
                why = dict.fromkeys(held, "the book did not take it") | why
                break
        if not unread:
            # Orders that are left take margin too.
            resting = any(row["outcome"] != "CANCELED" for row in self._rows if row["kind"] == "order")
            old = set()
            for leg in held:
                if filled.get(leg, Decimal(0)) >= first[leg][0]:
                    old.add((yield from self._catalogue.exit(leg[0])).symbol)
            unread = yield from closing.doubt(held, None, resting, old)
        if unread:
            self._add("position", outcome="UNKNOWN", message=f"{'other ' * bool(held)}positions may be open: {unread}")
            for code in (yield from self._codes(owner)) if self._flatten else ():
                yield from self._closed(closing.sweep(code), (code, ""), filled, {})
        yield from self._report(first, held, filled, why)

    def _held(self, closing: Closing) -> Flow[tuple[dict[Leg, tuple[Decimal, Position]], str]]:
        try:
            return (yield from closing.held(None, LOOK_SECONDS / 2))
        except (TransportError, ExchangeError) as error:
            return {}, f"they can't be read. {error}"

    def _closed(
        self, step: Flow[list[Receipt]], leg: Leg, filled: dict[Leg, Decimal], why: dict[Leg, str]
    ) -> Flow[None]:
        """Count what orders close. One that can't be closed must not keep the others open."""
        try:
            made = yield from within(step, 2 * REQUEST_SECONDS, REQUEST_SECONDS)
        except ToolkitError as error:
            why[leg] = str(error)
            return
        for each in (order for receipt in made for order in receipt.orders if order.results[0].accepted):
            side = "LONG" if OrderItem.recall(each.items[0]).side.startswith("SELL") else "SHORT"
            filled[leg[0], side] = filled.get((leg[0], side), Decimal(0)) + each.filled

    def _report(
        self,
        first: Held,
        held: Held,
        filled: Mapping[Leg, Decimal],
        why: Mapping[Leg, str],
    ) -> Flow[None]:
        """Add a row of what was closed of each leg, and one of what is left."""
        for leg in dict.fromkeys([*first, *filled]):
            symbol, side = (yield from self._catalogue.exit(leg[0])).symbol, leg[1]
            size, left = (shown.get(leg, (Decimal(0),))[0] for shown in (first, held))
            done = filled.get(leg, Decimal(0))
            # What orders have filled is sure. Where that is not shown, the list tells. It may be old or wrong.
            gone = done or size - left
            if gone > 0 and leg in filled:
                differs = f"the list of positions had shown {plain_text(size)}" if size and gone != size - left else ""
                self._add("position", "", symbol, side, gone, outcome="CLOSED", message=differs)
            elif gone > 0:
                self._add("position", "", symbol, side, gone, outcome="ENDED", message=f"not shown now. {why.get(leg)}")
            if left and done >= size:
                message = f"orders that close it filled {plain_text(done)}, so the list of positions is old, or it was "
                self._add("position", "", symbol, side, left, outcome="UNKNOWN", message=f"{message}opened again")
            elif left:
                message = why.get(leg, "the time for closing is over. Call again") if self._flatten else "not flattened"
                self._add("position", "", symbol, side, left, outcome="LEFT", message=message)

    def _codes(self, owner: str) -> Flow[Iterable[int]]:
        """Return the codes of the products in which there may be positions, first of those that this ledger names."""
        codes = dict.fromkeys([*self._calls.traded(), *(yield from self._catalogue.codes())])
        if not codes:  # without a list or a ledger the account's orders still name their products
            with suppress(TransportError, ExchangeError):
                rows = yield from fetch_rows("order_states", NO_RETRY, account=owner)
                codes = dict.fromkeys(int(row.symbol) for row in (seen(OrderState, one, in_part=True) for one in rows)
                                      if row is not None and row.symbol)  # fmt: skip
        return codes


def _signed(leg: Leg, size: Decimal) -> Decimal:
    return size if leg[1] == "LONG" else -size
