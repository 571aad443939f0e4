"""The order ticket: what is typed is checked at once, shown before it is signed, and followed afterwards."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from decimal import Decimal
from html import escape
from typing import TYPE_CHECKING, Any

import traitlets

from ...errors import (
    CheckFailed,
    ExchangeError,
    InputError,
    LimitReached,
    OutcomeUnknown,
    ToolkitError,
    TransportError,
    WalletError,
)
from ..base_panel import static_view
from ..base_panel.number_format import MISSING, grouped, money, percent, short, signed, trimmed
from ..base_panel.panel import Panel, module
from ..panels.portfolio import can_sign
from .draft import Assessment, Choice, Draft, Problem, TicketMarket
from .holdings import holdings_of
from .order_tracker import NOT_SENT, REJECTED, UNKNOWN, Following
from .preview import shown_price
from .validation import assess

if TYPE_CHECKING:
    from ...client.orders.delivery import Prepared
    from ...client.orders.receipts import Receipt
    from ...orders import Order
    from ...session import Session

DEPTH = 200
"""Levels a side that the cost of an order is reckoned with."""
MARGIN_MS = 2_000
"""A review is given up this long before the request would expire."""
TOO_OLD = "the review was too old to be sent, nothing was signed; review it again"
_INPUTS = (
    *("side", "order_type", "price", "quantity", "quantity_as", "tif", "reduce_only", "take_profit", "stop_loss"),
    *("trigger_by", "slippage", "client_id"),
)


class OrderTicket(Panel):
    """An order ticket that can't sign a bad order. Made by `session.ticket(symbol)`.

    Fields are traits, typed as text and never rounded: `side`, `order_type`, `price`, `quantity` (with `quantity_as`
    "base", "notional" or "share"), `tif`, `reduce_only`, `take_profit`, `stop_loss`, `trigger_by`, `slippage`,
    `client_id`. After each change `problems` holds every broken rule with the values that would pass (`take` one).

    `submit()` asks for the review: it fixes nonce, expiry and client id, and shows exactly what would be signed.
    `confirm()` checks all again, signs with the agent key, sends, and from then on `status` follows the order. Any
    change of a field takes the review back. On Mainnet `confirm` wants the symbol typed.
    """

    _esm = module("base_panel/common.js", "order_ticket/ticket.js")
    kind = "ticket"

    symbol = traitlets.Unicode("", read_only=True).tag(sync=True)
    """Product of the ticket."""
    side = traitlets.Enum(("BUY", "SELL"), "BUY").tag(sync=True)
    """BUY or SELL."""
    order_type = traitlets.Enum(("LIMIT", "MARKET"), "LIMIT").tag(sync=True)
    """LIMIT or MARKET."""
    price = traitlets.Unicode("").tag(sync=True)
    """Limit price in USDC as text; not used by market orders."""
    quantity = traitlets.Unicode("").tag(sync=True)
    """Quantity as text, in the unit of `quantity_as`."""
    quantity_as = traitlets.Enum(("base", "notional", "share"), "base").tag(sync=True)
    """base (units), notional (USDC) or share (percent of available margin; of the position when reduce-only)."""
    tif = traitlets.Enum(("", "GTC", "IOC", "FOK", "POST_ONLY"), "").tag(sync=True)
    """Time in force; "" is GTC for limit and IOC for market orders."""
    reduce_only = traitlets.Bool(False).tag(sync=True)
    """Only reduce the position; in hedge mode: close the other half."""
    take_profit = traitlets.Unicode("").tag(sync=True)
    """Trigger price of a take-profit, "" for none."""
    stop_loss = traitlets.Unicode("").tag(sync=True)
    """Trigger price of a stop-loss, "" for none."""
    trigger_by = traitlets.Enum(("MARK_PRICE", "LAST_PRICE", "INDEX_PRICE"), "MARK_PRICE").tag(sync=True)
    """Price that triggers take-profit and stop-loss."""
    slippage = traitlets.Unicode("").tag(sync=True)
    """Allowed slippage of a market order as a ratio, "" for the default (0.03)."""
    client_id = traitlets.Unicode("").tag(sync=True)
    """Client order id, "" for one that is made from the nonce."""
    phase = traitlets.Enum(("edit", "review", "sending"), "edit", read_only=True).tag(sync=True)
    """edit, review (waits for the confirmation) or sending."""

    def __init__(self, session: Session, symbol: str | int, **fields: Any) -> None:
        unknown = sorted(set(fields) - set(_INPUTS))
        if unknown:
            known = ", ".join(_INPUTS)
            raise InputError(f"a ticket has no field {unknown[0]!r}; it has {known}", field=unknown[0], nearest=_INPUTS)
        self._session = session
        self._products = session.product_table()
        self._product = self._products.find(symbol)
        self._assessment = Assessment(())
        self._prepared: Prepared | None = None
        self._token = 0
        self.following: Following | None = None
        """The order that was confirmed last."""
        super().__init__(self._product.symbol)
        self.set_trait("symbol", self._product.symbol)
        for name, value in fields.items():
            setattr(self, name, value)
        stream = session.stream
        self._book = stream.order_book(self._product.symbol, DEPTH)
        self._ticker = stream.ticker(self._product.symbol)
        self._parts: tuple[Any, ...] = ()
        if session.account is not None:
            self._parts = (stream.account(), stream.positions(), stream.orders(), stream.leverages())
            history = stream.order_history()
            history.on_update(self._heard)
            self._follow(history)
        self._follow(self._book, self._ticker, *self._parts)
        self.observe(self._edited, _INPUTS)
        self.refresh()

    # Reading it

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Every broken rule, first the one that binds; empty when the order may be sent."""
        return self._assess().problems

    @property
    def valid(self) -> bool:
        """True when every check passes."""
        return self._assess().valid

    @property
    def order(self) -> Order | None:
        """The order as it stands, None while a quantity is missing."""
        assessment = self._assess()
        return assessment.order if assessment.order is not None and assessment.order.quantity else None

    def preview(self) -> dict[str, Any]:
        """Return what the order would do, amounts as Decimal in USDC; empty while price or quantity are wrong.

        notional, price (mean price expected), worst_price (bound of a market order), fills_now and fills (base units),
        fee, margin (that it takes from what is available, fees included), available, leverage, realized_pnl,
        size_before, size_after, entry_after, effect (in words), liquidation_price (estimated, after the whole fill).
        """
        return dict(self._assess().preview)

    @property
    def status(self) -> str:
        """Where the order that was confirmed last stands, "" before: SENT, ACCEPTED, RESTING, WAITING,
        PARTIALLY_FILLED, FILLED, CANCELED, REJECTED, UNKNOWN or NOT_SENT."""
        return "" if self.following is None else self.following.status

    @property
    def review(self) -> Prepared | None:
        """What `confirm` would sign, None outside a review."""
        return self._prepared

    @property
    def receipt(self) -> Receipt | None:
        """The venue's answer to the order that was confirmed last."""
        return None if self.following is None else self.following.receipt

    # Doing

    def take(self, choice: Choice) -> None:
        """Put a choice of a problem into its fields."""
        with self._guard, self.hold_trait_notifications():
            for name, value in choice.values.items():
                setattr(self, name, value)

    def submit(self) -> Prepared:
        """Begin the review, and return exactly what `confirm` will sign. Nothing is signed.

        Raises CheckFailed with every problem, WalletError without an agent key, LimitReached while the data is stale.
        """
        self._back("")
        self._product = self._session.product(self._product.symbol)
        order = self._sendable()
        self._prepared = self._session.prepare(order)
        self._token += 1
        self.set_trait("phase", "review")
        self.problem = ""
        self.refresh()
        return self._prepared

    def back(self) -> None:
        """Leave the review; nothing was signed."""
        self._back("")
        self.refresh()

    def confirm(self, typed: str = "") -> Receipt:
        """Check everything once more, sign with the agent key, send, and return the receipt.

        On Mainnet `typed` must be the symbol. Raises LimitReached without a review (or when it is too old),
        CheckFailed when prices moved so that it no longer passes, else as `session.place` does.
        """
        prepared = self._confirmable(typed)
        assessment = self._assess()
        assert assessment.order is not None
        self._prepared = None
        self.following = following = Following(prepared, assessment.order.describe())
        self.set_trait("phase", "sending")
        self.refresh()
        try:
            following.receipt = self._session.send_prepared(prepared, confirmed=True)
        except BaseException as error:
            self._note_failure(following, error)
            raise
        finally:
            self.set_trait("phase", "edit")
            self.refresh()
        return following.receipt

    def ask_venue(self) -> str:
        """Settle an order whose outcome is unknown by asking the venue, and return the status then."""
        from ...client.orders.receipts import receipt as receipt_of

        following = self.following
        if following is not None and following.status == UNKNOWN:
            self._session.resolve(following.intent)
            try:
                following.receipt = receipt = receipt_of(self._session.intent(following.intent))
            except ToolkitError:  # interrupted before anything was written down
                following.failed = NOT_SENT
            else:
                state = str(receipt.state)
                following.failed = "" if state == "ACCEPTED" else state
                following.failure = receipt.message
        self.refresh()
        return self.status

    def clear(self) -> None:
        """Empty the fields and forget the last order; one of unknown outcome stays until it is settled."""
        with self._guard, self.hold_trait_notifications():
            for name in ("price", "quantity", "take_profit", "stop_loss", "slippage", "client_id"):
                setattr(self, name, "")
            self.reduce_only = False
        if self.status != UNKNOWN:
            self.following = None
        self.refresh()

    def _sendable(self) -> Order:
        """Return the order if everything allows to sign it."""
        if not can_sign(self._session):
            raise WalletError("this session is read-only: there is no agent key to sign with")
        if self.status == UNKNOWN:
            raise LimitReached(
                "the outcome of the last order is unknown; ask the venue first, or it may be placed twice",
                limit="unknown outcome",
            )
        lock = self._lock_words()
        if lock:
            raise LimitReached(f"locked: {lock}; nothing was signed", limit="stale")
        assessment = self._assess()
        if assessment.problems:
            raise CheckFailed(assessment.problems)
        assert assessment.order is not None
        return assessment.order

    def _confirmable(self, typed: str) -> Prepared:
        prepared = self._prepared
        if prepared is None:
            raise LimitReached("nothing is under review; submit() comes first, nothing was signed", limit="review")
        try:
            self._sendable()
        except (CheckFailed, LimitReached) as error:
            self._back(f"back to editing, nothing was signed: {error}")
            raise
        if self._is_old(prepared):
            self._back(TOO_OLD)
            raise LimitReached("the review is too old; submit() again, nothing was signed", limit="review")
        if self._session.environment.is_mainnet and typed != self.symbol:
            raise LimitReached(f"real money: type {self.symbol} to confirm; nothing was signed", limit="confirm")
        return prepared

    def _is_old(self, prepared: Prepared) -> bool:
        now = self._session._runtime.now()
        return prepared.expiry_after is not None and now > prepared.expiry_after - MARGIN_MS

    def _note_failure(self, following: Following, error: BaseException) -> None:
        following.failure = str(error)
        if isinstance(error, ExchangeError):
            following.failed, following.receipt = REJECTED, error.receipt
            following.failure = error.message
        elif isinstance(error, OutcomeUnknown) or not isinstance(error, Exception):
            following.failed = UNKNOWN
        else:
            following.failed = NOT_SENT

    # Following what changes

    def _edited(self, _: Any) -> None:
        self._back("")
        self.problem = ""
        self.refresh()

    def _back(self, why: str) -> None:
        if self._prepared is not None:
            self._prepared = None
            self.set_trait("phase", "edit")
        if why:
            self.problem = why

    def _heard(self, update: Any) -> None:
        if self.following is not None:
            self.following.note(update.items)

    def _draft(self) -> Draft:
        given: dict[str, Any] = {name: getattr(self, name) for name in _INPUTS}
        given.update((name, value.strip()) for name, value in given.items() if isinstance(value, str))
        return Draft(**given)

    def _market(self) -> TicketMarket:
        ticker = self._ticker.value
        return TicketMarket(
            mark=ticker.get("mark_price"),
            last=ticker.get("last") or None,
            index=ticker.get("oracle_price"),
            bids=self._book.bids(DEPTH),
            asks=self._book.asks(DEPTH),
        )

    def _assess(self) -> Assessment:
        with self._guard:
            if self._over or not hasattr(self, "_parts"):
                return self._assessment
            wallet, positions, orders, leverages = [one.rows() for one in self._parts] or ([], [], [], [])
            holdings = holdings_of(
                self._product, self._products, wallet[0] if wallet else {}, positions, orders, leverages
            )
            self._assessment = assess(self._draft(), self._product, self._market(), holdings)
            return self._assessment

    def _describe(self) -> dict[str, Any]:
        assessment = self._assess()
        if self._prepared is not None:
            if self._is_old(self._prepared):
                self._back(TOO_OLD)
            elif assessment.problems:
                self._back(f"back to editing, nothing was signed: {assessment.problems[0].message}")
        session, product = self._session, self._product
        return {
            "symbol": product.symbol,
            "base": product.base_currency or product.symbol,
            "environment": session.environment.name,
            "mainnet": session.environment.is_mainnet,
            "account": short(str(session.account or "")),
            "readOnly": "" if can_sign(session) else "read-only session: no agent key to sign with",
            "limits": _limits(product),
            "market": self._market_view(),
            "problems": [_problem_view(problem) for problem in assessment.problems],
            "valid": assessment.valid,
            "order": assessment.order.describe() if assessment.order is not None and assessment.valid else "",
            "preview": self._preview_view(assessment.preview),
            "review": self._review_view(),
            "following": None if self.following is None else self.following.view(),
        }

    def _market_view(self) -> dict[str, str]:
        market = self._market()
        prices = {"bid": market.bid, "ask": market.ask, "mark": market.mark, "last": market.last}
        return {name: MISSING if price is None else grouped(price) for name, price in prices.items()}

    def _preview_view(self, preview: dict[str, Any]) -> list[list[str]]:
        if not preview:
            return []
        product = self._product
        rows = [["Value", f"{money(preview['notional'])} USDC", ""]]
        if preview["worst_price"] is not None:
            worst = f"at worst {shown_price(preview['worst_price'], product)}"
            rows.append(["Price (est.)", shown_price(preview["price"], product), worst])
        if preview["fills_now"]:
            rows.append(["Fills at once", f"{trimmed(preview['fills_now'])} {product.base_currency}", ""])
        rows.append(["Fee (est.)", f"{money(preview['fee'])} USDC", ""])
        free = f"of {money(preview['available'])} available, {trimmed(preview['leverage'])}x"
        rows.append(["Margin", f"{money(preview['margin'])} USDC", free])
        rows.append(["Position", preview["effect"], ""])
        if preview["realized_pnl"]:
            rows.append(["Realised PnL (est.)", f"{signed(preview['realized_pnl'])} USDC", ""])
        price = preview["liquidation_price"]
        shown = shown_price(price, product) if price is not None else "none"
        rows.append(["Liquidation (est.)", shown, _distance(price, self._ticker.value.get("mark_price"))])
        return rows

    def _review_view(self) -> dict[str, Any] | None:
        prepared = self._prepared
        if prepared is None:
            return None
        explained = prepared.explain()
        return {
            "token": self._token,
            "signer": prepared.signer,
            "nonce": str(prepared.nonce),
            "expiry": str(prepared.expiry_after or ""),
            "digest": "0x" + explained.digest.hex(),
            "connectionId": "0x" + (explained.connection_id or b"").hex(),
            "proto": "0x" + (explained.proto or b"").hex(),
            "action": json.dumps(prepared.payload, indent=1),
            "typedData": json.dumps(explained.typed_data, indent=1, default=str),
        }

    def _lock_words(self) -> str:
        if self._session.account is None:
            return "no account is known, so nothing can be checked against it"
        return super()._lock_words()

    # The front end

    def _commands(self) -> dict[str, Any]:
        return {
            "take": self._clicked_choice,
            "submit": self.submit,
            "back": self.back,
            "confirm": self._clicked_confirm,
            "ask": self.ask_venue,
            "clear": self.clear,
        }

    def _clicked_choice(self, field: str, label: str) -> None:
        for problem in self._assess().problems:
            for choice in problem.choices:
                if (problem.field, choice.label) == (field, label):
                    self.take(choice)
                    return

    def _clicked_confirm(self, token: int, typed: str = "") -> None:
        if self._prepared is None or token != self._token:
            return
        with contextlib.suppress(ExchangeError, OutcomeUnknown, TransportError):  # shown as the order's status
            self.confirm(typed)

    # Where nothing runs

    def _lines(self) -> Iterable[str]:
        assessment = self._assess()
        if assessment.valid and assessment.order is not None:
            yield assessment.order.describe()
        else:
            price = "market" if self.order_type == "MARKET" else self.price or "…"
            yield f"{self.side} {self.quantity or '…'} {self.symbol} at {price}"
            yield from (problem.message for problem in assessment.problems[:1])
        if self.following is not None:
            yield self.following.words()

    def _snapshot(self) -> str:
        view = self.view
        head = static_view.heading(f"Order ticket {self.symbol}", str(view.get("environment", "")))
        words = "".join(f"<div>{escape(line)}</div>" for line in self._lines())
        return head + words + static_view.pairs((one[0], one[1]) for one in view.get("preview", ()))


def _limits(product: Any) -> dict[str, str]:
    return {
        "tick": format(product.tick_size, "f"),
        "step": format(product.step_size, "f"),
        "minValue": trimmed(product.min_order_value),
        "maxQuantity": trimmed(product.max_order_quantity),
        "maxSlippage": trimmed(product.max_slippage_pct),
        "maxLeverage": trimmed(product.max_leverage),
    }


def _problem_view(problem: Problem) -> dict[str, Any]:
    """What passes is on the buttons, so the sentence need not repeat it."""
    message = problem.message
    for ending in ("; nearest ", "; at most "):
        message = message.rpartition(ending)[0] or message if problem.choices else message
    return {
        "field": problem.field,
        "rule": problem.rule,
        "message": message,
        "missing": problem.missing,
        "choices": [choice.label for choice in problem.choices],
    }


def _distance(price: Decimal | None, mark: Decimal | None) -> str:
    if price is None or not mark:
        return ""
    return f"{percent(abs(price - mark) / mark, 1)} from mark"
