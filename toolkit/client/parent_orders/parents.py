"""Parent orders as users have them: the methods of a session, and the handle of one parent order."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Literal

from ...errors import (
    CheckFailed,
    ExchangeError,
    InputError,
    LimitReached,
    ToolkitError,
    TransportError,
    WaitTimeout,
    require,
    warn,
)
from ...numerals import Span, Timeout, plain_text, wait_seconds
from ...orders import Twap, twap
from ...products import Amount, Product
from ...protocol.orders.order_actions import OrderAction
from ...protocol.reads.info.positions import POSITIONS
from ...protocol.reads.product_rows import ProductRule
from ...protocol.reads.rows import TIME
from ...sides import sign_of
from ..io.flow import Flow, Perform, SessionPart, flow
from ..orders.delivery import Prepared
from ..reads.catalogue import Catalogue
from ..reads.reading import is_hedged, read_in_part
from .plan import RUNNING, Plan
from .schedule import ParentRunner

if TYPE_CHECKING:
    import pandas as pd

    from ..orders.delivery import Delivery
    from ..orders.pretrade import PreTradeChecks

WAIT_SECONDS = 0.1
COLUMNS = {
    "parent": "string",
    "created": TIME,
    **dict.fromkeys(("symbol", "side"), "string"),
    **dict.fromkeys(("quantity", "filled", "average_price"), "float64"),
    **dict.fromkeys(("done", "slices"), "int64"),
    "next": TIME,
    **dict.fromkeys(("status", "message"), "string"),
}
"""Columns and dtypes of `session.parent_orders()`."""
CHILD_COLUMNS = {
    "intent": "string",
    "time": TIME,
    "quantity": "float64",
    "filled": "float64",
    "average_price": "float64",
}
"""Columns and dtypes of `ParentOrder.children()`."""


class ParentOrder:
    """A live handle of a parent order. Each attribute is read from the ledger. Made by `session.twap`.

    `status` is RUNNING, INTERRUPTED (no session works on it, as after a restart: `resume()` or `cancel()`), CANCELED or
    FINISHED.
    """

    def __init__(self, runner: ParentRunner, id: str) -> None:
        self._runner = runner
        self.id = id
        """Its name in `session.parent_orders()`."""

    @property
    def plan(self) -> Plan:
        """Everything that the ledger holds of it."""
        return self._runner.plan(self.id)

    @property
    def status(self) -> str:
        """RUNNING, INTERRUPTED, CANCELED or FINISHED."""
        return self._runner.status(self.plan)

    @property
    def quantity(self) -> Decimal:
        """Quantity to trade, in base units."""
        return Decimal(self.plan.twap.quantity)

    @property
    def filled(self) -> Decimal:
        """Quantity that its child orders are known to have filled."""
        return self.plan.filled

    @property
    def remaining(self) -> Decimal:
        """Quantity not filled yet. For an order that has ended, the quantity that it left."""
        plan = self.plan
        return Decimal(plan.twap.quantity) - plan.filled

    @property
    def average_price(self) -> Decimal | None:
        """Average price of the fills in USDC, None without one."""
        return self.plan.average_price

    @property
    def message(self) -> str:
        """Why the last slice traded nothing, or what is not known of earlier ones, "" for nothing."""
        return self.plan.why

    def cancel(self) -> ParentOrder:
        """Place no further child orders, and return itself. One that has ended stays as it is.

        Returns
        -------
        ParentOrder

        Examples
        --------
        >>> parent = session.twap("BTCUSDC", "BUY", "0.05", "10m", slices=5)
        >>> parent.cancel().status
        'CANCELED'
        """
        try:
            self._runner.cancel(self.id)
        except (LimitReached, InputError):
            raise
        except ToolkitError as error:
            # It is halted in memory first. Another process finds it interrupted, and continues it only when it is told.
            warn(f"{self.id} places no further child order, but the ledger can't say so, nor show its fills: {error}")
        return self

    def resume(self, *, confirmed: bool = False) -> ParentOrder:
        """Continue in this session: the next child order now, the others at their intervals after it.

        Another session that works on it stops.

        Parameters
        ----------
        confirmed : bool, optional
            True when a person has just confirmed it, on Mainnet (default: False).

        Returns
        -------
        ParentOrder

        Raises
        ------
        InputError
            When it has ended.

        Examples
        --------
        >>> parent = session.twap("BTCUSDC", "BUY", "0.05", "10m", slices=5)
        >>> _ = session.venue.advance("5m")
        >>> parent.resume().status
        'RUNNING'
        """
        self._runner.resume(self.id, confirmed=confirmed)
        return self

    def wait(self, timeout: Timeout | None = None) -> ParentOrder:
        """Wait until it has ended, and return itself.

        Parameters
        ----------
        timeout : float, str or timedelta, optional
            Longest time to wait: a number of seconds, or a span (default: as long as it takes).

        Returns
        -------
        ParentOrder

        Raises
        ------
        WaitTimeout
            After that time.
        InputError
            Where time only moves by `venue.advance`.

        Examples
        --------
        >>> parent = session.twap("BTCUSDC", "BUY", "0.05", "10m", slices=5)
        >>> _ = session.venue.advance("10m")  # with a clock that runs: parent.wait()
        >>> parent.status
        'FINISHED'
        """
        self._runner.check_clock()
        longest = float("inf") if timeout is None else wait_seconds(timeout)
        end = time.monotonic() + longest
        while self.status == RUNNING:
            if time.monotonic() >= end:
                raise WaitTimeout(f"not ended within {longest:g} s: {self!r}")
            time.sleep(WAIT_SECONDS)
        return self

    def children(self, *, index: str | None = "intent") -> pd.DataFrame:
        """Return the child orders, oldest first, as in `session.intents()`.

        Parameters
        ----------
        index : str, optional
            Column that becomes the index (default: "intent").

        Returns
        -------
        DataFrame
            Indexed by `intent`. Its further columns:

            - time: datetime64[ms, UTC]
            - quantity: float64, base units
            - filled: float64, base units, NaN while it is not known
            - average_price: float64, USDC, NaN without a fill

        Examples
        --------
        >>> parent = session.twap("BTCUSDC", "BUY", "0.05", "10m", slices=5)
        >>> parent.children()[["quantity", "average_price"]].values.tolist()
        [[0.01, 62506.6]]
        """
        from ..reads.frames import indexed, typed

        rows = [
            {"intent": one.intent, "time": one.time_ms, "quantity": one.quantity, "filled": one.filled}
            | {"average_price": one.value / one.filled if one.filled else None}
            for one in self.plan.children
        ]
        return indexed(typed(rows, CHILD_COLUMNS), index)

    def describe(self) -> str:
        """Return it in words.

        Returns
        -------
        str

        Examples
        --------
        >>> session.twap("BTCUSDC", "BUY", "0.05", "10m", slices=5).describe()
        'BUY 0.05 BTCUSDC at market in 5 orders over 0:10:00: 1 of 5, 0.010 filled at 62506.6'
        """
        plan = self.plan
        average = plan.average_price
        at = "" if average is None else f" at {plain_text(average.quantize(Decimal('1e-6')))}"
        words = f"{plan.twap.describe()}: {plan.done} of {plan.twap.slices}, {plan.filled} filled{at}"
        return words + (f"; {plan.why}" if plan.why else "")

    def __repr__(self) -> str:
        try:
            return f"<ParentOrder {self.id} {self.status} {self.describe()}>"
        except ToolkitError as error:  # its session is closed, or its ledger can't be read
            return f"<ParentOrder {self.id}: {error}>"


class ParentOrderFlows:
    """Mixin of Session and AsyncSession: parent orders."""

    _catalogue: Catalogue
    _checks: PreTradeChecks
    _delivery: Delivery

    if TYPE_CHECKING:

        @property
        def _parents(self) -> ParentRunner: ...

    @flow
    def twap(
        self,
        symbol: str | int,
        side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"],
        quantity: Amount,
        duration: Span,
        *,
        slices: int | None = None,
        price: Amount | None = None,
        slippage: Amount | None = None,
        reduce_only: bool = False,
        vault_address: str | None = None,
    ) -> Flow[ParentOrder]:
        """Trade a quantity in equal child orders over a time, and return the handle of the parent order.

        The first child order is placed immediately, and each is IOC. The rest of one is added to the next, which has at
        most three times its size. A child order that the venue refuses is left out, and `message` says why.

        Where it begins within a position of the other side, its child orders only reduce, also if you close that by
        hand meanwhile. Where you close what it has opened, it opens nothing more until you `resume` it.

        This session places them, by its clock, as long as it is open. Each is an intent in the ledger. After a restart
        `parent_orders()` shows the parent order as INTERRUPTED, and its handle resumes or cancels it.

        Parameters
        ----------
        symbol : str or int
            Product, by symbol or code.
        side : {"BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"}
            BUY or SELL, in hedge mode also BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE.
        quantity : int, str, Decimal or float
            Base units in all.
        duration : str or timedelta
            Span from the first child order to the last, such as "30m" or a timedelta.
        slices : int, optional
            Number of child orders (default: one each 30 s, or as many as the quantity can be divided into).
        price : int, str, Decimal or float, optional
            Worst price of a child order in USDC (default: none, at market).
        slippage : int, str, Decimal or float, optional
            Largest distance of a child order's price from the last price, a ratio (default: 0.03).
        reduce_only : bool, optional
            True for child orders that only reduce a position (default: False).
        vault_address : str, optional
            Address of the vault to trade for (default: the account).

        Returns
        -------
        ParentOrder

        Raises
        ------
        InputError
            Before anything is recorded, for an argument that breaks a rule.
        CheckFailed
            Before anything is recorded, for child orders that break a pre-trade rule.

        Examples
        --------
        >>> parent = session.twap("BTCUSDC", "BUY", "0.05", "10m", slices=5)
        >>> _ = session.venue.advance("10m")
        >>> parent.status, parent.filled
        ('FINISHED', Decimal('0.050'))
        """
        made = twap(
            symbol, side, quantity, duration, slices=slices, price=price, slippage=slippage, reduce_only=reduce_only
        )
        while True:
            try:
                made = yield from self._checked_twap(made, vault_address)
            except InputError as error:
                if slices is not None or error.field != "slices" or not error.nearest:
                    raise
                # So many were not asked for: as many as the quantity can be divided into.
                made = replace(made, slices=int(error.nearest[0]))
            else:
                return (yield from self._start(made, vault_address, None))

    def _start(self, made: Twap, vault: str | None, first: Prepared | None) -> Flow[ParentOrder]:
        if first is None:
            self._delivery.require_confirmation({"type": "TWAP of placeOrder", "plan": made.describe()})
            # Prepared before the TWAP is recorded: what its first child order may not do, none of them may.
            first = yield from self._delivery.prepare((yield from self._first_child(made)), vault_address=vault)
        account, vault = (yield from self._delivery.account()), vault or self._delivery.vault
        start = partial(self._parents.start, made, account, vault, first)
        plan: Plan = yield Perform(start, lambda: asyncio.to_thread(start))
        return ParentOrder(self._parents, plan.id)

    def _first_child(self, made: Twap) -> Flow[OrderAction]:
        product = yield from self._catalogue.find(made.symbol)
        child = made.child(made.due(product, 1))
        return OrderAction.made(child.action, [child.item(product.code)])

    def _checked_twap(self, made: Twap, vault: str | None) -> Flow[Twap]:
        """Return the TWAP with its product's symbol. Raises InputError or CheckFailed when its children would break."""
        product = yield from self._catalogue.find(made.symbol)
        made = replace(made, symbol=product.symbol).check(product)
        if made.reduce_only:
            made = made.in_mode(bool((yield from self._checks.hedged(vault))))
        elif (yield from self._only_closes(made, product, vault)):
            made = replace(made, reduce_only=True)
        action = yield from self._first_child(made)
        try:
            if self._delivery.check is not None:
                yield from self._delivery.check(action, vault)
        except CheckFailed as error:
            small = next((one for one in error.failures if one.rule == ProductRule.MIN_VALUE and one.nearest), None)
            if small is None:
                raise
            most = product.steps(made.quantity) // product.steps(small.nearest[0])
            raise InputError(
                f"the child orders are too small: {small.message}. Use at most {most} slices, not {made.slices}",
                field="slices", rule=ProductRule.MIN_VALUE, value=made.slices, nearest=(str(most),) if most > 1 else (),
            ) from error  # fmt: skip
        return made

    def _only_closes(self, made: Twap, product: Product, vault: str | None) -> Flow[bool]:
        """Return whether a TWAP begins within a position of the other side, so that all of it reduces."""
        owner = vault or (yield from self._delivery.owner())
        try:
            rows, _ = yield from read_in_part(POSITIONS, self._delivery.retry, account=owner, symbol=str(product.code))
        except (TransportError, ExchangeError):  # it is checked as one that may open
            return False
        buys = sign_of(made.side) > 0
        held = [abs(row.short_size) if buys else row.long_size for row in rows if not is_hedged(row)]
        return any(size >= Decimal(made.quantity) for size in held)


class ParentOrderPartFlows(SessionPart):
    """The parent orders of the ledger: the table, one by its id, and one that a person has just confirmed."""

    _path = "session.parent_orders"

    def get(self, id: str) -> ParentOrder:
        """Return the handle of a parent order of the ledger.

        Parameters
        ----------
        id : str
            Id of the parent order.

        Returns
        -------
        ParentOrder

        Raises
        ------
        InputError
            For an unknown id.
        SessionClosed
            For a closed session.

        Examples
        --------
        >>> parent = session.twap("BTCUSDC", "BUY", "0.05", "10m", slices=5)
        >>> session.parent_orders.get(parent.id).status
        'RUNNING'
        """
        self._session._delivery.require_open("parent_orders.get")
        self._session._parents.plan(id)
        return ParentOrder(self._session._parents, id)

    def __call__(self, *, index: str | None = "parent") -> pd.DataFrame:
        """Return the parent orders of the ledger, also those of earlier sessions, oldest first.

        Parameters
        ----------
        index : str, optional
            Column that becomes the index (default: "parent").

        Returns
        -------
        DataFrame
            Indexed by `parent`, the id.

            - created: datetime64[ms, UTC]
            - symbol, side: string
            - quantity, filled: float64, base units
            - average_price: float64, USDC, NaN without a fill
            - done, slices: number of child orders
            - next: datetime64[ms, UTC], NaT once it has ended
            - status, message: string
        """
        from ..reads.frames import indexed, typed

        runner: ParentRunner = self._session._parents
        rows = [
            {
                **{name: getattr(one.twap, name) for name in ("side", "quantity", "slices")},
                **{name: getattr(one, name) for name in ("filled", "average_price", "done")},
                "message": one.why,
                "parent": one.id,
                "symbol": str(one.twap.symbol),
                "created": one.created_ms,
                "next": one.due_ms if one.state == RUNNING and one.done < one.twap.slices else None,
                "status": runner.status(one),
            }
            for one in runner.plans()
        ]
        return indexed(typed(rows, COLUMNS), index)

    @flow
    def start_twap(self, made: Twap, first: Prepared) -> Flow[ParentOrder]:
        """Start a TWAP that a person has just confirmed, and return its handle. Errors are those of `twap`.

        Parameters
        ----------
        made : Twap
            The TWAP, from `toolkit.orders.twap`.
        first : Prepared
            Its first child order, as `intents.prepare` returned it.

        Returns
        -------
        ParentOrder

        Examples
        --------
        >>> made = orders.twap("BTCUSDC", "BUY", "0.05", "10m", slices=5)
        >>> first = session.intents.prepare(orders.market("BTCUSDC", "BUY", "0.01"))
        >>> session.parent_orders.start_twap(made, first).describe()
        'BUY 0.05 BTCUSDC at market in 5 orders over 0:10:00: 1 of 5, 0.010 filled at 62506.6'
        """
        require(made, Twap, "made", "a TWAP of toolkit.orders.twap")
        require(first, Prepared, "first", "what session.intents.prepare returned")
        made = yield from self._session._checked_twap(made, first.vault_address)
        parent: ParentOrder = yield from self._session._start(made, first.vault_address, first)
        return parent
