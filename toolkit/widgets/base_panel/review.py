"""Panels that sign: a request is prepared, shown exactly as it will be signed, and sent when a person confirms it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import traitlets

from ...errors import CheckFailed, ExchangeError, InputError, LimitReached, OutcomeUnknown, TransportError, WalletError
from ...orders import Order
from ...protocol.orders.names import ORDER_ACTIONS, ActionType
from ...protocol.orders.order_actions import OrderAction, order_ids
from ...protocol.reads.product_rows import CHECKS, TIER_LEVERAGE, TIERS, ProductRule
from .panel import Panel, can_sign
from .watch import News

if TYPE_CHECKING:
    from ...client.orders.delivery import Prepared
    from ...client.orders.receipts import Receipt
    from ...plain_session import Session
    from ...products import Product

CHECKED_FIELDS = {
    **dict.fromkeys(ORDER_ACTIONS, tuple(CHECKS)),
    ActionType.SET_LEVERAGE.value: (ProductRule.MAX_LEVERAGE, TIERS, TIER_LEVERAGE),
}
"""Action → the fields of a product by which it is checked."""
EXPIRY_MARGIN_MS = 2_000
"""A review ends this long before its request expires, so that the request still reaches the venue in time."""
EXPIRED = "the review has expired, nothing was signed. Review the order again"


class ReviewedPanel(Panel):
    """A panel with a review step.

    Any other request, `back()` and the request's expiry end a review unsigned.

    Parameters
    ----------
    session : Session
        Session that signs.
    subject : str, optional
        What it shows, for its repr (default: "").
    **traits : object
        First values of its traits.
    """

    phase = traitlets.Enum(("edit", "review", "sending"), "edit", read_only=True).tag(sync=True)
    """edit, review (waiting for the confirmation) or sending."""

    def __init__(self, session: Session, subject: str = "", **traits: object) -> None:
        self._prepared: Prepared | None = None
        self._token = 0
        self._question: dict[str, Any] = {}
        self._notes: list[list[str]] = []
        self._begun: Any = None
        """The last of the news when the review began."""
        super().__init__(session, subject, **traits)

    @property
    def review(self) -> Prepared | None:
        """The request that `confirm` would sign, None outside a review."""
        return self._prepared

    def back(self) -> None:
        """Leave the review. Nothing was signed."""
        self._end_review()
        self.refresh()

    def confirm(self, typed: str = "") -> Receipt:
        """Check everything again, sign with the agent key, send, and return the receipt.

        Parameters
        ----------
        typed : str, optional
            Symbol of the product, which Mainnet demands (default: none).

        Returns
        -------
        Receipt or ParentOrder
            The outcome of the request, of a TWAP its parent order.

        Raises
        ------
        LimitReached
            Without a review, when it has expired, or when the panel is locked.
        CheckFailed
            When prices have moved so that the order no longer passes.

        Notes
        -----
        It raises further errors as `session.place` does.
        """
        prepared = self._confirmable(typed)
        # Cleared before sending: a second click finds no review, so nothing is sent twice.
        self._prepared = None
        self.set_trait("phase", "sending")
        self.refresh()
        try:
            receipt: Receipt = self._deliver(prepared)
        except BaseException as error:  # an interrupted request may have been placed
            self._on_failure(error)
            raise
        else:
            self._on_receipt(receipt)
        finally:
            self.set_trait("phase", "edit")
            self.refresh()
        return receipt

    def _begin_review(
        self, request: Any, question: str, verb: str, symbol: str, notes: Sequence[Sequence[str]] = ()
    ) -> Prepared:
        """Prepare a request and show it, with notes in rows of name, value and text.

        `verb` labels the button. `symbol` is what Mainnet asks to type.
        """
        self._prepared = self._session.intents.prepare(request)
        self._token += 1
        # News after this may make the review wrong: a fill, a cancellation, a liquidation.
        self._begun = len(self._watch.news) and self._watch.news[-1]
        self._question = {"question": question, "verb": verb, "symbol": symbol}
        self._notes = [list(note) for note in notes]
        self.set_trait("phase", "review")
        self.problem = ""
        self.refresh()
        return self._prepared

    def _lock_reason(self) -> str:
        return super()._lock_reason() or self._watch.agent_trouble()

    def _refuse_late(self, seconds: int) -> None:
        self._end_review()
        super()._refuse_late(seconds)

    def _start_review(self) -> None:
        """End the review before, and raise unless a request may be signed."""
        self._end_review()
        self._check_review()

    def _review_replacement(
        self, product: Product, order_id: int | str, *, price: str = "", quantity: str = ""
    ) -> Prepared:
        """Review moving an open order to `price` (of a trigger order: its trigger), or to `quantity`.

        Raises InputError without the order, CheckFailed when the new one breaks a rule.
        """
        old = open_order(self._session, product.symbol, order_id)
        moved = "trigger_price" if old.trigger_price else "price"
        changes: dict[str, Any] = {name: text for name, text in ((moved, price), ("quantity", quantity)) if text}
        new = dataclasses.replace(old, **changes).check(product)
        action = OrderAction.made(ActionType.REPLACE, [new.item(product.code)], int(order_id))
        steps = (f"{name.replace('_', ' ')} {getattr(old, name)} → {value}" for name, value in changes.items())
        words = f"Change order {order_id}, {new.side} {new.quantity} {new.symbol}: {', '.join(steps)}"
        return self._begin_review(action, words, "change", product.symbol)

    def _check_review(self) -> None:
        """Raise unless a request may be signed now."""
        if not can_sign(self._session):
            raise WalletError("this session is read-only: there is no agent key to sign with")
        # Checked at the confirmation too, because the data may have become stale since the review began.
        lock = self._lock_reason()
        if lock:
            raise LimitReached(f"nothing was signed, because the panel is locked: {lock}", limit="stale")

    def _deliver(self, prepared: Prepared) -> Any:
        return self._session.intents.send(prepared, confirmed=True)

    def _on_receipt(self, receipt: Receipt) -> None:
        """Show the response, in place of the problem before it."""
        self.problem = ""

    def _on_failure(self, error: BaseException) -> None:
        """Show why there is no receipt."""
        self._show_error(error)

    def _confirmable(self, typed: str) -> Prepared:
        prepared = self._prepared
        if prepared is None:
            raise LimitReached("nothing is under review, so nothing was signed. Call submit() first", limit="review")
        try:
            self._check_review()
        except (CheckFailed, LimitReached) as error:
            self._end_review(f"the review was cancelled, nothing was signed: {error}")
            raise
        if self._is_expired(prepared):
            self._end_review(EXPIRED)
            raise LimitReached("the review has expired, nothing was signed. Call submit() again", limit="review")
        symbol = self._question["symbol"]
        if self._session.environment.is_mainnet and typed != symbol:
            message = f"nothing was signed, because this is real money: type {symbol} to confirm"
            raise LimitReached(message, limit="confirm")
        return prepared

    def _is_expired(self, prepared: Prepared) -> bool:
        now_ms = self._session._runtime.now()
        return prepared.expiry_after is not None and now_ms > prepared.expiry_after - EXPIRY_MARGIN_MS

    def _end_review(self, reason: str = "") -> None:
        if self._prepared is not None:
            self._prepared = None
            self.set_trait("phase", "edit")
        if reason:
            self.problem = reason

    def _review_view(self) -> dict[str, Any] | None:
        """Return what would be signed, None outside a review. Ends a review that has expired."""
        prepared = self._prepared
        if prepared is not None and self._is_expired(prepared):
            self._end_review(EXPIRED)
            return None
        if prepared is None:
            return None
        if news := self._outdating(prepared):
            self._end_review(f"the review was ended, nothing was signed: {news.text}")
            return None
        explained = prepared.explain()
        signed = {"connectionId": explained.connection_id, "proto": explained.proto}
        return {
            "token": self._token,
            "signer": prepared.signer,
            "nonce": str(prepared.nonce),
            "expiry": str(prepared.expiry_after or ""),
            "digest": "0x" + explained.digest.hex(),
            **{name: "0x" + part.hex() for name, part in signed.items() if part},
            "action": json.dumps(prepared.payload, indent=1),
            "typedData": json.dumps(explained.typed_data, indent=1, default=str),
            "real": self._session.environment.is_mainnet,
            "unchecked": self._notes + self._unchecked(str(prepared.action.type)),
            **self._question,
        }

    def _unchecked(self, action: str) -> list[list[str]]:
        """Return the row that names what could not be checked of an action, because the venue does not say it."""
        table = self._session._catalogue.known
        product = None if table is None else table.get(self._question["symbol"])
        needs = CHECKED_FIELDS.get(action, ())
        names = [] if product is None else [wire for wire in product.unchecked if wire in needs]
        return [["Not checked", ", ".join(names), "the venue sends no value that can be read"]] if names else []

    def _outdating(self, prepared: Prepared) -> News | None:
        """Return what has happened since the review began that it did not know of."""
        since: list[News] = []
        for one in reversed(self._watch.news):
            if one is self._begun:
                break
            since.append(one)
        orders = {str(number) for number in order_ids(prepared.action)}
        return next((one for one in since if one.ends(self._question["symbol"], orders)), None)

    def _review_commands(self) -> Mapping[str, Callable[..., Any]]:
        return {"back": self.back, "confirm": self._clicked_confirm}

    def _clicked_confirm(self, token: int, typed: str = "") -> None:
        # A click on a review that was replaced meanwhile must not confirm the new one.
        if self._prepared is None or token != self._token:
            return
        with contextlib.suppress(ExchangeError, OutcomeUnknown, TransportError):  # shown by `_on_failure`
            self.confirm(typed)


def open_order(session: Session, symbol: str, order_id: int | str) -> Order:
    """Return an open order as the venue has it.

    Parameters
    ----------
    session : Session
        Session that reads it.
    symbol : str
        Product symbol.
    order_id : int or str
        Number of the order.

    Raises
    ------
    InputError
        If there is no such open order.
    """
    rows = session.orders(symbol, open=True, exact=True).reset_index().to_dict("records")
    row = order_row(rows, order_id)
    trigger, reduce = row["trigger_price"], row["reduce_only"]
    return Order(
        symbol=symbol,
        side=row["side"],
        quantity=format(row["quantity"], "f"),
        price=format(row["price"], "f") if row["price"] else None,
        tif=row["tif"],
        reduce_only=None if reduce == "NONE" else reduce,
        trigger_price=format(trigger, "f") if trigger else None,
        trigger_by=row["trigger_type"] if trigger else None,
    )


def order_row(rows: Iterable[Mapping[Any, Any]], order_id: int | str) -> Mapping[Any, Any]:
    """Return the row of an open order.

    Parameters
    ----------
    rows : iterable of mapping of object to object
        Rows of open orders.
    order_id : int or str
        Number of the order.

    Raises
    ------
    InputError
        If there is no such row.
    """
    for row in rows:
        if str(row["order_id"]) == str(order_id):
            return row
    raise InputError(f"there is no open order {order_id}", field="order_id", rule="open order", value=str(order_id))
