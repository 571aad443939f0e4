"""Stop everything: the kill switch, and `stop_all`, one flow that ends, cancels and closes, and says what is left.

    switch on ──→ end parent orders ──→ end live runs ──→ settle, cancel, until nothing is open ──→ close ──→ report

Each step is tried, even if the one before failed. An outcome that a step could not determine is UNKNOWN in the report.
While the switch is on, only orders that reduce pass, so that nothing opens while the flow runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import fields
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import InputError, ToolkitError
from ...orders import close_position
from ...protocol.orders.names import ORDER_ACTIONS
from ...protocol.reads.info.orders import OrderState
from ...protocol.reads.info.positions import POSITIONS, Position
from ..io.flow import Flow, Perform, RandomFloat, SessionPart, Sleep, flow, within
from ..orders.delivery import Delivery
from ..orders.intents import OPEN, Intent
from ..orders.order_calls import OrderCalls
from ..parent_orders.plan import RUNNING
from ..reads.reading import is_hedged, read_in_part
from .order_limits import OrderLimits

if TYPE_CHECKING:
    import pandas as pd

    from ...limits import Limits
    from ..parent_orders.schedule import ParentRunner

WORKING = "stop_all is working, or was interrupted"
"""Why the switch is on during `stop_all`. An interrupted one leaves it on."""
ROUNDS = 8
"""How often open orders and positions are looked at again, before what is left is reported."""
COLUMNS = {
    **dict.fromkeys(("kind", "id", "symbol", "side"), "string"),
    "quantity": "float64",
    "outcome": "string",
    "message": "string",
}
"""Columns and dtypes of the report."""


class StopFlows:
    """Mixin of Session and AsyncSession: `stop_all`."""

    _limits: OrderLimits

    @flow
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

        Examples
        --------
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> session.stop_all(flatten=True)[["kind", "symbol", "quantity", "outcome"]]
               kind   symbol  quantity outcome
        0  position  BTCUSDC      0.01  CLOSED
        """
        # New orders would make the work endless.
        before = self._limits.switch(WORKING)
        found = yield from Stop(self, flatten, vault_address).run()
        # A switch by another caller meanwhile keeps its reason.
        self._limits.switch("" if before == WORKING else before, expected=WORKING)
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
        holds in every session of the same agent and ledger, and after a restart.

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
        found: pd.DataFrame = yield from Stop(self._session, False, None).run()
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
    """

    def __init__(self, session: Any, flatten: bool, vault: str | None) -> None:
        self._session = session
        self._delivery: Delivery = session._delivery
        self._calls: OrderCalls = session._calls
        self._flatten = flatten
        self._vault = vault
        self._rows: list[dict[str, Any]] = []

    def run(self) -> Flow[pd.DataFrame]:
        """Do all steps, and return the report."""
        from ..reads.frames import indexed, typed

        # Those that place orders end first.
        yield from self._end_parents()
        yield from self._end_runs()
        try:
            owner = self._vault or (yield from self._session._account())
        except ToolkitError as error:
            self._add("order", outcome="UNKNOWN", message=f"orders and positions can't be read: {error}")
        else:
            # Before positions are closed: a resting order could open what was just closed.
            yield from self._tried("order", self._cancel(owner))
            yield from self._tried("position", self._close(owner))
        for intent in self._requests():
            message = intent.message or f"{intent.action} is {intent.state}"
            self._add("request", intent.id, outcome="UNKNOWN", message=f"{message}. session.resolve() settles it")
        return indexed(typed(self._rows, COLUMNS), None)

    def _is_own(self, account: str) -> bool:
        """Return whether an entry of the ledger, which accounts may share, is this account's."""
        known = self._session._known_account
        # Without a known account every entry counts: to end too much is the safer mistake here.
        return known is None or account.lower() == known.lower()

    def _requests(self) -> list[Intent]:
        """Return the requests that may still place an order."""
        label = self._delivery.environment.label
        return [one for one in self._delivery.ledger.all(OPEN)
                if one.environment == label and one.action in ORDER_ACTIONS and self._is_own(one.account)]  # fmt: skip

    def _add(self, kind: str, id: object = "", symbol: str = "", side: str = "", quantity: Decimal | None = None,
             *, outcome: str, message: str = "") -> None:  # fmt: skip
        self._rows.append({"kind": kind, "id": str(id), "symbol": symbol, "side": side, "quantity": quantity,
                           "outcome": outcome, "message": message})  # fmt: skip

    def _tried(self, kind: str, step: Flow[None]) -> Flow[None]:
        try:
            yield from within(step, 2 * self._delivery.retry.total)
        except ToolkitError as error:
            self._add(kind, outcome="UNKNOWN", message=str(error))

    def _call(self, call: Callable[[], object]) -> Flow[str]:
        """Make a call that blocks, and return why it failed, "" where it did not."""
        try:
            yield from _blocking(call)
        except ToolkitError as error:
            return str(error)
        return ""

    def _end_parents(self) -> Flow[None]:
        parents: ParentRunner = self._session._parents
        try:
            plans = [plan for plan in parents.plans() if plan.state == RUNNING and self._is_own(plan.account)]
        except ToolkitError as error:
            self._add("parent order", outcome="UNKNOWN", message=str(error))
            return
        for plan in plans:
            failed = yield from self._call(partial(parents.cancel, plan.id))
            left = Decimal(plan.twap.quantity) - plan.filled
            words = failed or f"{plan.done} of {plan.twap.slices} child orders were placed"
            outcome = "UNKNOWN" if failed else "ENDED"
            symbol, side = str(plan.twap.symbol), plan.twap.side
            self._add("parent order", plan.id, symbol, side, left, outcome=outcome, message=words)

    def _end_runs(self) -> Flow[None]:
        for run in list(getattr(self._session, "sync", self._session)._runs):
            failed = yield from self._call(run.kill)
            outcome, message = "UNKNOWN" if failed else "ENDED", failed or "; ".join(run.still_open)
            self._add("run", run.strategy.name, ", ".join(run.symbols), outcome=outcome, message=message)

    def _cancel(self, owner: str) -> Flow[None]:
        """Cancel until nothing is open and no request is on its way, for some rounds."""
        seen: dict[int, tuple[str, OrderState]] = {}
        filled: dict[int, Decimal] = {}
        why = ""
        for attempt in range(ROUNDS):
            # Requests of unknown outcome may be open orders. Sending them again would open more.
            yield from self._delivery.resolve(resend=False)
            left = yield from self._calls.reader.open_orders(owner, in_part=True)
            seen |= left
            coming = self._requests()
            # Once more after nothing was found: a request that was on its way may land between two looks.
            if attempt and not (left or coming):
                break
            if left:
                try:
                    cancelled = yield from self._calls.cancel_all(owner, None, None, self._vault)
                    filled |= dict.fromkeys(left, Decimal(0)) | dict(cancelled.filled)
                except ToolkitError as error:
                    why = str(error)
            if left or coming:
                random_float: float = yield RandomFloat()
                yield Sleep(self._delivery.retry.wait(0, 0.5 + random_float / 2))
        left = yield from self._calls.reader.open_orders(owner, in_part=True)
        if left.missing:
            self._add("order", outcome="UNKNOWN", message=f"other orders may be open. {left.missing}")
        for number, (_, row) in (seen | left).items():
            product = yield from self._session._catalogue.find(int(row.symbol))
            side = row.side or ""
            quantity: Decimal | None = row.remaining  # None where the venue shows none that can be read
            outcome, message = ("LEFT", why) if number in left else ("ENDED", "it is no longer open")
            if left.missing and outcome == "ENDED":  # it may be among those that were not read
                outcome, message = "UNKNOWN", "the list of open orders is not complete"
            if number in filled and number not in left:
                message = f"{filled[number]} filled meanwhile" if filled[number] else ""
                canceled = quantity is not None and (filled[number] < quantity or not quantity)
                outcome = "CANCELED" if canceled else "ENDED"
            self._add("order", number, product.symbol, side, quantity, outcome=outcome, message=message)

    def _close(self, owner: str) -> Flow[None]:
        """Close every position in parts that the venue takes, until it is gone or a round changes nothing."""
        held, unread = yield from self._positions(owner)
        first = held
        why: dict[tuple[int, str], str] = {}
        for _ in range(ROUNDS if self._flatten else 0):
            if not held:
                break
            for (code, side), (size, row) in held.items():
                product = yield from self._session._catalogue.find(code)
                most = size if product.max_order_quantity is None else product.max_order_quantity
                # A position may be larger than the largest order.
                part = min(size, most) * (1 if side == "LONG" else -1)
                try:
                    order = close_position(product.symbol, part, hedge=is_hedged(row))
                    yield from self._session._place([order], vault_address=self._vault)
                except ToolkitError as error:
                    why[code, side] = str(error)
            before = held
            held, unread = yield from self._positions(owner)
            # The book is empty within the slippage, or every order is refused: more of the same would not help.
            if {key: size for key, (size, _) in held.items()} == {key: size for key, (size, _) in before.items()}:
                break
        for (code, side), (size, _) in (held | first).items():
            product = yield from self._session._catalogue.find(code)
            left = held[code, side][0] if (code, side) in held else Decimal(0)
            if size > left:
                self._add("position", "", product.symbol, side, size - left, outcome="CLOSED")
            if left:
                message = why.get((code, side), "the book did not take it") if self._flatten else "not flattened"
                self._add("position", "", product.symbol, side, left, outcome="LEFT", message=message)
        if unread:
            self._add("position", outcome="UNKNOWN", message=f"other positions may be open. {unread}")

    def _positions(self, owner: str) -> Flow[tuple[dict[tuple[int, str], tuple[Decimal, Position]], str]]:
        """Return size and row of every leg, by product and side, and why others can't be read."""
        held = {}
        rows, why = yield from read_in_part(POSITIONS, self._delivery.retry, account=owner)
        for row in rows:
            for side, size in (("LONG", row.long_size), ("SHORT", abs(row.short_size))):
                if size:
                    held[int(row.symbol), side] = size, row
        return held, why
