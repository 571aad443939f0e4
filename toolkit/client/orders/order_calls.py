"""Orders of a session: found, read, waited for, cancelled and replaced, for its methods and its receipts.

`cancel_all` cancels every order that was open when it was called, and reports those that triggered or filled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from ... import errors
from ...environments import VERIFYING_CONTRACT
from ...numerals import Timeout, plain_text, wait_seconds
from ...orders import Order
from ...protocol.hexbytes import hash_text
from ...protocol.orders.items import CancelItem, OrderItem
from ...protocol.orders.names import BRACKET_ACTIONS, BUILDER_ACTIONS, ActionType, OrderField
from ...protocol.orders.order_actions import CancelAll, CancelOrders, OrderAction
from ...protocol.reads.action_results import ActionAnswer, credited_address, parse_id
from ...protocol.reads.door import legible, seen
from ...protocol.reads.info.orders import ORDER_STATES, OrderEvent, OrderState
from ..io.flow import AsyncDriver, Driver, Elapsed, Flow, Now, RandomFloat, Settle, Sleep, bounded, within
from ..io.transport import NO_RETRY
from ..reads.catalogue import Catalogue, Row
from ..reads.conversion import OrderRef, is_order_row, order_ref, row_owner
from ..reads.reading import OPEN_STATUSES, OpenOrders, Reader, amount, fetch_rows
from .delivery import Delivery
from .intents import OPEN, IntentState, has_unique_ids
from .outcome import CLAIM, FIRST_WAIT, LONGEST_WAIT, is_same_order, owner_of
from .receipts import (
    CANCELED,
    ENDED,
    FILLED,
    REJECTED,
    UNSET,
    WAITING,
    AsyncReceipt,
    ItemResult,
    Receipt,
    Unset,
    expects_immediate_end,
    receipt,
)

if TYPE_CHECKING:
    import pandas as pd

_UNTIL = {
    "accepted": (*OPEN_STATUSES, FILLED, CANCELED, str(IntentState.ACCEPTED)),
    "open": OPEN_STATUSES,
    "untriggered": (WAITING,),
    "filled": (FILLED,),
    **dict.fromkeys(("cancelled", "canceled"), (CANCELED,)),
    "ended": (*ENDED, str(IntentState.FAILED)),
}
"""Argument of `wait` → the statuses that end the wait."""
LAST_READ_SECONDS = 1.0
"""Time that the last read of a wait may take, even after the wait's time is over."""
LOOK_SECONDS, AGAIN_SECONDS = 6.0, 3.0
"""Longest time of a look at the open orders, before they are cancelled unseen, and of the one after it."""
CONFIRM_SECONDS, HASTE_SECONDS = 2.0, 0.3
"""How long the execution of one cancel among several is waited for, and of the others after one that was not shown."""
RECENT = 1_000
"""Requests of the ledger in which the products that were traded are looked up."""
ROUNDS = 8
"""How often the open orders are read again before the call gives up."""
BATCH = 50
"""Orders that one follow-up request cancels by id."""
MARGIN_MS = 60_000
"""Ended orders are read from this long before the call, because clocks differ."""
By = Literal["order_id", "cl_ord_id"]
_NAMES: dict[By, str] = {"order_id": "order_id", "cl_ord_id": "client_order_id"}
"""Kind of an order's id → its name in queries and in rows."""


_ORDER_ID, _QUANTITY = OrderState.declared.wires("order_id", "quantity")
[_TX_HASH] = OrderEvent.declared.wires("tx_hash")
_WIRE_NAMES = {param.name: wire for wire, param in ORDER_STATES.params.items()}


class Cancelled(list[Receipt]):
    """The receipts of `cancel_all`, and what happened to its orders meanwhile."""

    triggered: tuple[int, ...] = ()
    """Ids of waiting orders that triggered before they were cancelled."""
    filled: Mapping[int, Decimal] = {}
    """Order id → quantity in base units that was filled during the call."""

    def __repr__(self) -> str:
        notes = [f"order {number} triggered" for number in self.triggered]
        notes += [f"{quantity} of order {number} filled" for number, quantity in self.filled.items()]
        return super().__repr__() + (f" meanwhile: {', '.join(notes)}" if notes else "")


class OrderCalls:
    """The calls on orders, as flows.

    Parameters
    ----------
    driver : Driver or AsyncDriver
        Runs the flows for the methods of receipts.
    delivery : Delivery
        Delivers the actions.
    catalogue : Catalogue
        The venue's products.
    """

    account: str | None = None

    def __init__(self, driver: Driver | AsyncDriver, delivery: Delivery, catalogue: Catalogue) -> None:
        self.driver: Any = driver
        self._delivery = delivery
        self._catalogue = catalogue
        self.reader = Reader(self)
        self._confirm = CONFIRM_SECONDS
        self.cancelled = deque[int](maxlen=RECENT)
        """Ids of the orders that the venue said it cancelled, the latest last."""

    def _account(self) -> Flow[str]:
        return self._delivery.owner()

    def bind(self, made: Receipt) -> Receipt:
        """Return the receipt as a live handle.

        Parameters
        ----------
        made : Receipt
            Receipt of a request of this session.
        """
        kind = AsyncReceipt if isinstance(self.driver, AsyncDriver) else Receipt
        return kind(**{name: getattr(made, name) for name in Receipt.__dataclass_fields__} | {"calls": self})

    def live(self, sending: Flow[Receipt]) -> Flow[Receipt]:
        """Return the receipt of a flow, or raise its error, with the receipt as a live handle.

        The outcome of an IOC or FOK order is read immediately, so that its receipt shows it.

        Parameters
        ----------
        sending : flow
            Flow that sends the request.
        """
        try:
            made = self.bind((yield from sending))
        except errors.ToolkitError as error:
            found = getattr(error, "receipt", None)
            if isinstance(found, Receipt):
                error.receipt = self.bind(found)  # type: ignore[attr-defined]
            wallet = self._delivery.wallet
            agent = "" if wallet is None else wallet.agent or ""
            # The venue recovered our agent's address, so that key, chain and payload are right.
            # The remedy depends on whose key was recovered, which only the venue's text says.
            if isinstance(error, errors.SignatureRejected) and "is no approved agent" in error.message:
                if agent and agent.lower() in error.message.lower():
                    error.message = f"agent {agent} is not approved. session.exchange.approve_agent() approves it"
                    error.args = (f"{error.action}: {error.message} (code {error.code})",)
            raise
        if made.action in (ActionType.CANCEL, ActionType.CANCEL_ALL):
            self.cancelled.extend(result.order_id for result in made.results if result.accepted and result.order_id)
        if made.action == CLAIM and made.state is IntentState.SUBMITTED and not credited_address(made.data):
            yield from self._check_credit(made)
        # An IOC order that found nothing looks accepted until its end is read.
        if expects_immediate_end(made) and self._delivery.settle_timeout:
            with suppress(errors.TransportError, errors.ExchangeError):
                yield from self.refresh(made)
        return made

    def _check_credit(self, made: Receipt) -> Flow[None]:
        """Note what the wallet shows of a claim that the venue has accepted without saying whom it credits.

        A signature for another chain than the venue's recovers another address, and the money goes there.
        """
        owner, held = (yield from self._delivery.account()), Decimal(0)
        unsaid = "the venue does not say which address it credits"
        try:
            rows = yield from fetch_rows("wallet_balances", NO_RETRY, account=owner)
            held = sum((amount(row, "balance") for row in rows), held)
        except (errors.TransportError, errors.ExchangeError) as error:
            made.note = f"{unsaid}, and the wallet of {owner} could not be read: {error}"
        else:
            chain = self._delivery.environment.chain
            made.note = (
                f"{unsaid}, and {owner} has no balance yet. If it verifies another chainId than {chain.chain_id}, "
            )
            made.note += f"or another verifyingContract than {VERIFYING_CONTRACT}, another address has the money"
        if held:
            made.note = f"{unsaid}. {owner} has {plain_text(held)} USDC, which may be from before"
        else:
            errors.warn(f"{CLAIM}: {made.note}")

    @bounded
    def find(self, order: object, by: By | None, vault: str | None) -> Flow[Receipt]:
        """Return the receipt of an order of the account, or vault, by either id.

        Parameters
        ----------
        order : object
            Its id, its client id, a receipt, or a row of a table.
        by : {"order_id", "cl_ord_id"} or None
            Which id it is, None for whichever is found.
        vault : str or None
            Address of the vault, None for the account.

        Raises
        ------
        InputError
            Without such an order.
        """
        vault = yield from self.vault_of(order, vault)
        if isinstance(order, Receipt):
            if order.state in OPEN and order.intent:  # its request says more than any order under its client id
                yield from self.refresh(found_again := self.bind(order))
                return found_again
        ref = order_ref(order)
        number = ref.order_id or ref.cl_ord_id
        # A row says which id it has, so the same number can't name another order.
        if is_order_row(order):
            by = "order_id" if ref.order_id else "cl_ord_id"
        owner = vault or (yield from self._account())
        found: dict[int, tuple[OrderState, Row]] = {}
        for kind, name in _NAMES.items():
            if by in (None, kind):
                for given in (yield from self._rows("order_states", owner, name, number)):
                    row = seen(OrderState, given, in_part=True)
                    if row is not None and getattr(row, name) == number and _is_own(row, ref):
                        found[row.order_id or 0] = row, given
        if len(found) > 1 and by != "cl_ord_id":
            what = f'{number} is the id of one order and the client id of another. Say by="order_id" or by="cl_ord_id"'
            raise errors.InputError(what, field="order", rule="one", value=order)
        if found:
            # A client id may have been used before. The newest order is the one that is meant.
            return self._receipt_of(*found[max(found)], vault)
        # The venue does not show it yet, or never will: its receipt is that of the request.
        for intent in self._delivery.ledger.all(OPEN):
            if number in intent.client_ids and by != "order_id":
                return self.bind(receipt(intent)).orders[intent.client_ids.index(number)]
        raise errors.InputError(f"the account has no order {number}", field="order", rule="exists", value=order)

    def _receipt_of(self, row: OrderState, given: Row, vault: str | None) -> Receipt:
        refused = row.status == REJECTED
        result = ItemResult(row.client_order_id or None, row.order_id or None, int(refused), "")
        state = IntentState.REJECTED if refused else IntentState.ACCEPTED
        item = {OrderField.PRODUCT.value: int(row.symbol), OrderField.QUANTITY.value: str(given.get(_QUANTITY) or "0")}
        found: dict[str, Any] = {"results": (result,), "items": (item,), "owner": vault, "rows": {0: given}}
        return self.bind(Receipt(ActionType.PLACE.value, state, 0, "", "", **found))

    @bounded
    def refresh(self, made: Receipt, positions: Iterable[int] | None = None) -> Flow[None]:
        """Read the outcome of the receipt's request, where that is open, and its orders.

        Parameters
        ----------
        made : Receipt
            Receipt of a request of this session.
        positions : iterable of int, optional
            Positions of the orders to read (default: all).
        """
        if made.state in OPEN and made.intent and not self._delivery.closed:
            yield from self._delivery.resolve([made.intent], resend=False)
            with suppress(errors.ToolkitError):  # another session's ledger, or an intent that was dropped from it
                _update(made, receipt(self._delivery.ledger.get(made.intent)))
        if made.state is IntentState.UNKNOWN and not self._has_unique_ids(made):
            return  # an order under a client id that the user chose may be another program's
        for at in range(len(made.items)) if positions is None else positions:
            result = made.results[at] if at < len(made.results) else None
            # An order that has ended never changes, so it is not asked for again.
            if result is None or (made.state not in OPEN and not result.accepted) or made.has_ended(at):
                continue
            try:
                row = yield from self._row(made, OrderItem.recall(made.items[at]), result)
            except errors.NotServed:
                return  # a venue without this query shows no order, so its state stays that of the request
            if row is not None:
                made.rows[at] = row
                if result.order_id is None:
                    known = replace(result, order_id=parse_id(row.get(_ORDER_ID)))
                    made.results = (*made.results[:at], known, *made.results[at + 1 :])

    def _row(self, made: Receipt, item: OrderItem, result: ItemResult) -> Flow[Row | None]:
        owner = made.owner
        if made.action in BUILDER_ACTIONS:
            owner = (yield from owner_of(self._delivery.ledger.get(made.intent))) or owner
        owner = owner or (yield from self._account())
        name, number = _named(result)
        for given in (yield from self._rows("order_states", owner, name, number)):
            row = seen(OrderState, given, in_part=True)
            if row and is_same_order(row, item) and getattr(row, name) == number and _is_own(row, result):
                # Only the events say why.
                if row.status in (CANCELED, REJECTED):
                    events = yield from self._rows("order_events", owner, name, number)
                    given = {**given, "reason": next((event["reason"] for event in events if event.get("reason")), "")}
                return given
        return None

    def wait(self, made: Receipt, until: str | Callable[[Any], object], timeout: Timeout) -> Flow[None]:
        """Read the order again until something has happened. See Receipt.wait.

        Parameters
        ----------
        made : Receipt
            Receipt of a request of this session.
        until : str or callable
            Event to wait for: a word, or a function of the receipt.
        timeout : float, str or timedelta
            Longest time to wait: a number of seconds, or a span.
        """
        if not callable(until) and until not in _UNTIL:
            said = f"until {until!r} is not known. Use {', '.join(_UNTIL)} or a function"
            raise errors.InputError(said, field="until", rule="known", value=until, nearest=tuple(_UNTIL))
        began_ms: int = yield Elapsed()
        longest = wait_seconds(timeout)
        waited, wait, left = 0.0, FIRST_WAIT, longest
        while True:
            failure: Exception | None = None
            try:
                yield from within(self.refresh(made, (0,) if made.items else ()), max(left, LAST_READ_SECONDS))
            except (errors.TransportError, errors.ExchangeError) as error:
                failure = error  # the next read may succeed
            if until(made) if callable(until) else made.known_status in _UNTIL[until]:
                return
            # A function may wait for something other than the order, so its wait continues.
            if made.is_final and not callable(until):
                raise errors.WaitFailed(f"not {until}: {made!r}", receipt=made)
            elapsed_ms: int = yield Elapsed()
            left = longest - max(waited, (elapsed_ms - began_ms) / 1000)
            if left <= 0:
                what = "the condition did not come true" if callable(until) else f"not {until}"
                raise errors.WaitTimeout(f"{what} within {longest:g} s: {made!r}", receipt=made) from failure
            yield Settle(min(wait, left))
            waited, wait = waited + wait, min(2 * wait, LONGEST_WAIT)

    @bounded
    def cancel_receipt(self, made: Receipt) -> Flow[Receipt]:
        """Cancel the open orders of a receipt.

        Parameters
        ----------
        made : Receipt
            Receipt of a request of this session.
        """
        vault = yield from self.vault_of(made, None)
        cancels = yield from self.cancels_of(made)
        return (yield from self.live(self._delivery.submit(CancelOrders(tuple(cancels)), vault_address=vault)))

    def cancels_of(self, made: Receipt) -> Flow[list[CancelItem]]:
        """Return the cancels of a receipt's orders. For a bracket, return those of its open orders.

        Parameters
        ----------
        made : Receipt
            Receipt of a request of this session.
        """
        yield from self._prove(made)
        pairs = list(zip(made.items, made.results, strict=False))
        wanted = [at for at, (_, result) in enumerate(pairs) if result.accepted or made.state in OPEN]
        if made.action in BRACKET_ACTIONS:
            # With the entry the venue cancels the others; once the entry is filled, they are cancelled separately.
            yield from self.refresh(made)
            still_open = [at for at in wanted if not made.has_ended(at)]
            wanted = [0] if 0 in still_open or not still_open else still_open
        if not wanted:
            raise errors.InputError("this receipt has no accepted order to cancel", field="what", rule="accepted")
        return [cancel_item(OrderItem.recall(pairs[at][0]).product, pairs[at][1]) for at in wanted]

    def _prove(self, made: Receipt) -> Flow[None]:
        """Check that the orders of a receipt are its own, before anything is done to them.

        Client ids that were made for the request name no other order. One that a user chose may name another program's
        order of the same account, or a later one of a venue that went back in time.

        Raises
        ------
        InputError
            If they are another request's, or if that is not known.
        """
        if not made.intent or not made.items or self._has_unique_ids(made):
            return
        ids = [f"{OrderField.CLIENT_ID} {one.cl_ord_id}" for one in map(OrderItem.recall, made.items) if one.cl_ord_id]
        if made.state in OPEN:
            yield from self.refresh(made)
        if made.state is IntentState.UNKNOWN:
            named = f"an order with {', '.join(ids)} is of this request" if ids else "this request was executed"
            what = f"whether {named} is not known, so nothing was sent. Ask again with "
            what += "session.resolve(). session.cancel(cl_ord_id=…) cancels the order that has this id, whosever it is"
            raise errors.InputError(what, field="receipt", rule="proven", value=made)
        owner = made.owner or (yield from self._account())
        for result in made.results if made.tx_hash else ():
            if result.order_id:
                events = yield from self._rows("order_events", owner, "order_id", result.order_id)
                shown = {hash_text(str(event[_TX_HASH])).lower() for event in events if event.get(_TX_HASH)}
                if shown and made.tx_hash.lower() not in shown:
                    what = f"order {result.order_id} is not that of this receipt: other transactions made it. Find it "
                    what += "with session.order(id)"
                    raise errors.InputError(what, field="receipt", rule="proven", value=made)

    def _has_unique_ids(self, made: Receipt) -> bool:
        try:
            return has_unique_ids(self._delivery.ledger.get(made.intent))
        except errors.ToolkitError:  # another session's ledger, or an intent that was dropped from it
            return False

    def vault_of(self, what: object, vault: str | None) -> Flow[str | None]:
        """Return the vault that orders belong to, None for the account. Receipts and rows carry their owner.

        Parameters
        ----------
        what : object
            Receipts, ids, rows or a table.
        vault : str or None
            Address of the vault that the caller named, None for none.

        Raises
        ------
        InputError
            For orders of several owners, and of another vault than the one that was named.
        """
        owners: dict[str, str | None] = {}
        for each in _listed(what):
            if isinstance(each, Receipt):
                owners[(each.owner or "").lower()] = each.owner
            elif is_order_row(each) and (owner := row_owner(each)):
                own = owner.lower() == (yield from self._account()).lower()
                owners["" if own else owner.lower()] = None if own else owner
        if vault is not None and owners.keys() <= {"", vault.lower()}:
            return vault
        if len(owners) > 1 or (vault is not None and owners):
            names = ", ".join(owner or "the account" for owner in (*owners.values(), *filter(None, (vault,))))
            what = f"one request acts for one owner, and these orders belong to several: {names}. Send one for each"
            raise errors.InputError(what, field="vault_address", rule="one owner", value=vault)
        return next(iter(owners.values()), vault)

    def cancels(
        self, what: object, symbol: str | int | None, cl_ord_id: int | str | None, vault: str | None
    ) -> Flow[list[CancelItem]]:
        """Return the cancels of what `session.cancel` takes.

        Parameters
        ----------
        what : object
            Receipts, ids, rows or a table. None with `cl_ord_id`.
        symbol : str, int or None
            Product of the ids, None for those that a query finds.
        cl_ord_id : int, str or None
            Client id in place of `what`, or None.
        vault : str or None
            Address of the vault, None for the account.
        """
        if what is None and cl_ord_id is None:
            message = "cancel what? give a receipt, an order id or cl_ord_id"
            raise errors.InputError(message, field="what", rule="required")
        made: list[CancelItem] = []
        for item in _listed(what):
            if isinstance(item, Receipt):
                made += yield from self.cancels_of(item)
            else:
                made.append((yield from self._cancel(_order(item), symbol, vault)))
        if cl_ord_id is not None:
            ref = _order(cl_ord_id)
            # A number alone is read as the venue's id. Here it was given as the client's.
            made.append((yield from self._cancel(OrderRef(None, ref.order_id or ref.cl_ord_id), symbol, vault)))
        if not made:
            raise errors.InputError("there is no order to cancel", field="what", rule="minimum", value=0)
        return made

    def _cancel(self, ref: OrderRef, symbol: str | int | None, vault: str | None) -> Flow[CancelItem]:
        symbol = ref.symbol if symbol is None else symbol
        if symbol is not None:
            return cancel_item((yield from self._catalogue.code(symbol, leaving=True)), ref)
        owner = vault or (yield from self._account())
        name, number = _named(ref)
        try:
            rows = yield from self._rows("order_states", owner, name, number)
        except (errors.TransportError, errors.ExchangeError) as error:
            if (code := self._own_code(ref)) is not None:
                return cancel_item(code, ref)
            error.add_note("With symbol=, the product of the order, a cancel needs no query")
            raise
        if not rows:
            message = f"the account has no order with {_WIRE_NAMES[name]} {number}"
            raise errors.InputError(message, field="what", rule="exists", value=number)
        return cancel_item(int(rows[0]["symbol"]), ref)

    def _own_code(self, order: OrderRef) -> int | None:
        """Return the code of the product of an order that this session's ledger has, None for another's."""
        with suppress(errors.ToolkitError):
            for intent in reversed(self._delivery.ledger.all(None, RECENT)):
                asked = intent.asked
                if isinstance(asked, OrderAction) and intent.environment == self._delivery.environment.label:
                    results = ActionAnswer.read(intent.data).results or ()
                    for item, result in zip(asked.orders, results, strict=False):
                        if order.order_id in (result.order_id, None) and order.cl_ord_id in (item.cl_ord_id, None):
                            return item.product
        return None

    def traded(self) -> list[int]:
        """Return the codes of the products that this session's ledger has requests in, the latest first."""
        label, found = self._delivery.environment.label, dict[int, None]()
        with suppress(errors.ToolkitError):  # a ledger that can't be read
            for intent in reversed(self._delivery.ledger.all(None, RECENT)):
                asked = intent.asked if intent.environment == label else None
                if isinstance(asked, OrderAction):
                    found |= dict.fromkeys(item.product for item in asked.orders)
        return list(found)

    def cancel_in(
        self, code: int, conditional: bool | None, vault: str | None, seconds: float
    ) -> Flow[tuple[list[int], str]]:
        """Cancel all orders of a product without reading them. Return the ids that the venue names, and why it failed.

        Parameters
        ----------
        code : int
            Code of the product.
        conditional : bool or None
            True for waiting trigger orders only, False for the others only, None for both.
        vault : str or None
            Address of the vault, None for the account.
        seconds : float
            Longest time of each request, in seconds.
        """
        found, why = list[int](), ""
        # Waiting orders first: one that triggers in between is an ordinary order when those are cancelled.
        for triggers in (True, False) if conditional is None else (conditional,):
            try:
                made = yield from self._cancel_each(CancelAll(code, triggers), vault, seconds)
            except errors.ToolkitError as error:
                why = str(error)
            else:
                found += [result.order_id for result in made.results if result.accepted and result.order_id]
        return found, why

    def _cancel_each(self, request: CancelAll, vault: str | None, seconds: float) -> Flow[Receipt]:
        """Send one of several cancels. One whose execution the venue does not show must not keep the others waiting."""
        began_ms: int = yield Elapsed()
        sending = self._delivery.submit(request, vault_address=vault)
        made: Receipt = yield from within(self.live(sending), seconds, self._confirm)
        ended_ms: int = yield Elapsed()
        is_late = ended_ms - began_ms >= self._confirm * 1000
        self._confirm = HASTE_SECONDS if is_late else CONFIRM_SECONDS
        return made

    def cancel_by_id(self, rows: Mapping[int, OrderState], vault: str | None) -> Flow[list[Receipt]]:
        """Cancel orders by their ids, so that a new order of the same product stays. Refusals are left out.

        Parameters
        ----------
        rows : mapping
            Orders by id.
        vault : str or None
            Address of the vault, None for the account.
        """
        cancels, receipts = [cancel_item(int(row.symbol), OrderRef(one)) for one, row in rows.items()], list[Receipt]()
        for at in range(0, len(cancels), BATCH):
            # Some may have ended meanwhile; the next read shows whether all have.
            with suppress(errors.ActionRejected, errors.OutcomeUnknown):
                request = CancelOrders(tuple(cancels[at : at + BATCH]))
                receipts.append((yield from self.live(self._delivery.submit(request, vault_address=vault))))
        return receipts

    def ended_since(self, owner: str, since_ms: int) -> Flow[dict[int, OrderState]]:
        """Return the orders that were open and have ended since a time, by id, to the extent that they can be read.

        Parameters
        ----------
        owner : str
            Address of the account or vault.
        since_ms : int
            The time in Unix ms, on the venue's clock.
        """
        read = yield from self.reader.all_rows("order_states", {"account": owner}, since_ms, in_part=True)
        rows = (seen(OrderState, row, in_part=True) for row in read.rows.values())
        ended = (row for row in rows if row and row.order_id and row.symbol and row.time >= since_ms)
        # A market or IOC order was never open.
        return {row.order_id: row for row in ended
                if row.status == CANCELED or (row.status == FILLED and row.tif not in ("IOC", "FOK"))}  # fmt: skip

    def cancel_all(self, owner: str, code: int | None, conditional: bool | None, vault: str | None) -> Flow[Cancelled]:
        """Cancel the open orders of an owner, until none that was open is left.

        Parameters
        ----------
        owner : str
            Address of the account or vault.
        code : int or None
            Code of the product, None for all.
        conditional : bool or None
            True for waiting trigger orders only, False for the others only, None for both.
        vault : str or None
            Address of the vault, None for the account.

        Raises
        ------
        OutcomeUnknown
            When some are still open after several rounds, or may be. The requests raise their errors as well.
        """
        # On the venue's clock, because the query for orders that ended meanwhile uses its times.
        began_ms: int = yield Now()
        # Where the list is not complete, orders are cancelled in every product, also those that it does not show.
        states = yield from self._look(owner, code, LOOK_SECONDS)
        missing, damaged = states.missing, states.damaged
        opening = {
            number: row
            for number, (status, row) in states.items()
            if conditional is None or conditional == (status == WAITING)
        }
        waiting = {number for number in opening if states[number][0] == WAITING}
        receipts, triggered = Cancelled(), set[int]()
        codes = [code] if code is not None else sorted({int(row.symbol) for row in opening.values()})
        if code is None and states.missing:
            codes = list(dict.fromkeys([*codes, *self.traded(), *(yield from self._catalogue.codes())]))
        # Waiting orders first: one that triggers in between is an ordinary order when those are cancelled.
        for each in codes:
            for triggers in (True, False) if conditional is None else (conditional,):
                request = CancelAll(each, triggers)
                receipts.append((yield from self._cancel_each(request, vault, 2 * self._delivery.retry.total)))
                if not triggers:
                    accepted = {result.order_id for result in receipts[-1].results if result.accepted}
                    triggered |= waiting & accepted
        for attempt in range(ROUNDS):
            states = yield from self._look(owner, code, AGAIN_SECONDS if missing else LOOK_SECONDS)
            left = [number for number in opening if number in states]
            triggered |= {number for number in left if number in waiting and states[number][0] != WAITING}
            if not left:
                break
            if attempt == 0 or attempt == ROUNDS // 2:
                receipts += yield from self.cancel_by_id({number: opening[number] for number in left}, vault)
            random_float: float = yield RandomFloat()
            yield Sleep(self._delivery.retry.wait(attempt, 0.5 + random_float / 2))
        else:
            message = f"cancel_all: {len(left)} orders are still open: {', '.join(map(str, left[:20]))}"
            raise errors.OutcomeUnknown(message)
        if states.missing or (missing and states):
            named = {result.order_id for made in receipts for result in made.results if result.accepted}
            many = f"{len(named | opening.keys()):,}" if named or opening else "an unknown number of"
            message = f"cancel_all: {many} orders were cancelled, and others may be open"
            raise errors.OutcomeUnknown(f"{message}. {states.missing or missing}")
        done = "cancel_all: the orders were cancelled, but what was filled meanwhile is not known"
        try:
            ended = yield from self._ended(owner, opening, began_ms)
        except errors.BadAnswer as error:
            raise errors.BadAnswer(f"{done}. {error}") from error
        if damaged:
            raise errors.BadAnswer(f"{done}: an amount of one of them can't be read")
        # A venue may leave the quantity out where nothing was filled.
        none = Decimal(0)
        filled = {at: (ended.get(at, row).filled or none) - (row.filled or none) for at, row in opening.items()}
        receipts.filled = {number: quantity for number, quantity in filled.items() if quantity > 0}
        receipts.triggered = tuple(sorted(triggered | (waiting & receipts.filled.keys())))
        return receipts

    def _look(self, owner: str, code: int | None, seconds: float) -> Flow[OpenOrders]:
        """Return the open orders, or what says that they can't be read: they can be cancelled unseen."""
        try:
            return (yield from within(self.reader.open_orders(owner, code, in_part=True), seconds))
        except (errors.TransportError, errors.ExchangeError) as error:
            found = OpenOrders()
            found.missing = f"The open orders can't be read: {error}"
            return found

    def _ended(self, owner: str, opening: Mapping[int, OrderState], began_ms: int) -> Flow[dict[int, OrderState]]:
        """Return the present row of each order, in one windowed read. Orders that are not in it are queried by id."""
        if not opening:
            return {}
        given = {"account": owner}
        read = yield from self.reader.all_rows("order_states", given, began_ms - MARGIN_MS, in_part=True)
        shown = list(read.rows.values())
        rows = {row.order_id: row for row in legible(OrderState, shown, ORDER_STATES.path)}
        for number in [number for number in opening if number not in rows]:
            found = yield from fetch_rows("order_states", NO_RETRY, account=owner, order_id=str(number))
            rows |= {row.order_id: row for row in legible(OrderState, found, ORDER_STATES.path)}
        return rows

    @bounded
    def replace(
        self,
        existing: object,
        new: object,
        expiry_after: int | Unset | None = UNSET,
        vault_address: str | None = None,
        cl_ord_id: object = None,
    ) -> Flow[Receipt]:
        """Replace an open order. See session.replace.

        Parameters
        ----------
        existing : object
            Order to replace. None with `cl_ord_id`.
        new : object
            The new order.
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute). None: never.
        vault_address : str, optional
            Address of the vault to act for (default: the account).
        cl_ord_id : object, optional
            Client id of the order to replace (default: None).
        """
        if isinstance(existing, Order) and new is None:
            existing, new = None, existing
        if not isinstance(new, Order):
            what = f"{new!r} can't replace an order: a bracket's take-profit and stop-loss, or all but one of several "
            what += "orders, would be lost"
            raise errors.InputError(what, field="new", rule="Order", value=new)
        if (existing is None) == (cl_ord_id is None):
            raise errors.InputError("replace what? give the order, or its cl_ord_id", field="existing", rule="one")
        ref = _order(existing) if existing is not None else OrderRef(None, _order(cl_ord_id).order_id)
        vault_address = yield from self.vault_of(existing, vault_address)
        if isinstance(existing, Receipt):
            yield from self._prove(existing)
        code = yield from self._catalogue.code(new.symbol, leaving=new.item(0).reduces)
        if new.cl_ord_id in (None, ref.cl_ord_id):
            # With both ids the venue refuses another order that has got one of them.
            new = replace(new, cl_ord_id=ref.cl_ord_id)
        elif not ref.order_id:
            what = "the order to replace is named by its client id, so the new one keeps it. Leave cl_ord_id out"
            raise errors.InputError(what, field="new.cl_ord_id", rule="one", value=new.cl_ord_id)
        action = OrderAction.made(ActionType.REPLACE, [new.item(code)], ref.order_id)
        return (yield from self.live(self._delivery.submit(action, expiry_after, vault_address)))

    @bounded
    def events(self, made: Receipt, exact: bool, index: str | None = None) -> Flow[pd.DataFrame]:
        """Return the events of the receipt's order as a frame.

        Parameters
        ----------
        made : Receipt
            Receipt of a request of this session.
        exact : bool
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).
        """
        made._single()
        name = "order_id" if made.order_id else "client_order_id"
        given = {"account": made.owner or (yield from self._account()), name: made.order_id or made.cl_ord_id}
        read = yield from self.reader.all_rows("order_events", given, in_part=True)
        return (yield from self.reader.frame_of([read], read.newest_first()[::-1], exact=exact, index=index))

    def _rows(self, query: str, owner: str, name: str, number: int | None) -> Flow[list[Row]]:
        """Return what a query has of one order, given by one of its ids."""
        return (yield from fetch_rows(query, self._delivery.retry, account=owner, **{name: str(number)}))


def _update(made: Receipt, fresh: Receipt) -> None:
    """Give a receipt a later state of the same request."""
    for name in ("state", "code", "message", "tx_hash", "tx_code", "data"):
        setattr(made, name, getattr(fresh, name))
    by_client_id = {result.cl_ord_id: result for result in fresh.results}
    made.results = tuple(by_client_id.get(old.cl_ord_id, old) for old in made.results) or fresh.results


def _named(order: OrderRef | ItemResult) -> tuple[str, int | None]:
    """Return the name of an order's id in queries and rows, and the id: the venue's, else the client id."""
    return (_NAMES["order_id"], order.order_id) if order.order_id else (_NAMES["cl_ord_id"], order.cl_ord_id)


def _is_own(row: OrderState, result: ItemResult | OrderRef) -> bool:
    """Return whether the client ids agree: a venue that was started again gives out the same order ids again."""
    return not result.cl_ord_id or row.client_order_id in (None, 0, result.cl_ord_id)


def _listed(what: object) -> list[Any]:
    """Return each order of what names one or several."""
    if rows := getattr(what, "itertuples", None):
        # The exits of a bracket before its entry, with which the venue would cancel them.
        return sorted(rows(), key=lambda row: not getattr(row, "parent_order_id", 0))
    # Text is iterable, but "123" is one order id and not the ids 1, 2 and 3; a row is one order.
    if isinstance(what, Iterable) and not (isinstance(what, Receipt | str | bytes) or is_order_row(what)):
        return list(what)
    return [] if what is None else [what]


def cancel_item(code: int, order: OrderRef | ItemResult) -> CancelItem:
    """Return one item of cancelOrder: by the ids that are known.

    With both the venue refuses an order that has only one of them. A venue that was started again gives out the same
    order ids again.

    Parameters
    ----------
    code : int
        Code of the product.
    order : OrderRef or ItemResult
        The order, by its ids.
    """
    return CancelItem(code, order.order_id or None, order.cl_ord_id or None)


def _order(value: object) -> OrderRef:
    try:
        return order_ref(value, "what")
    except errors.InputError as error:
        if error.rule != "int64":
            raise
        what = f"{value!r} is not an order. Give a receipt, an order id, a row, or several of them"
        raise errors.InputError(what, field="what", rule="order", value=value) from None
