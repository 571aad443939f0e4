"""The order ticket: input is validated as it is typed, reviewed before it is signed, and the order is tracked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import traitlets

from ...errors import CheckFailed, InputError, LimitReached, ToolkitError, require
from ...products import decimal_text
from ...protocol.orders.names import ActionField, ActionType, OrderField
from ..base_panel import static_view
from ..base_panel.number_format import grouped, money, short, trimmed
from ..base_panel.panel import can_sign, module
from ..base_panel.review import ReviewedPanel
from .draft import Amount, Choice, Draft, Holdings, Problem, TicketInputs, TicketMarket, Validation, in_base
from .holdings import AccountStreams, no_holdings, preview_view
from .order_kinds import KINDS, OrderKind
from .order_tracker import NOT_SENT, UNKNOWN, OrderTracker, TwapTracker
from .validation import NO_LEVERAGE
from .waiting import WaitingOrder, waiting_on

if TYPE_CHECKING:
    from ...client.orders.delivery import Prepared
    from ...client.orders.receipts import Receipt
    from ...client.stream.live import Update
    from ...plain_session import Session

DEPTH = 200
"""Levels a side used to estimate the cost of an order."""
RUNS_HAVE = {"ICEBERG": "ctx.iceberg", "SCHEDULED": "ctx.scheduled", "atr": "ctx.trailing_stop(symbol, atr=…)"}
"""Kinds that only a run can serve: they need a plan of several orders, or the history of bars."""
CANCEL_SECONDS = 5.0
"""How long a cancel waits for its answer."""
_TEXTS = (
    *("price", "quantity", "take_profit", "stop_loss", "slippage", "client_id"),
    *("last_price", "count", "duration", "trigger_price", "distance", "cancels"),
)
_INPUTS = (
    *("side", "order_type", "price", "quantity", "quantity_as", "tif", "reduce_only", "take_profit", "stop_loss"),
    *("trigger_by", "slippage", "client_id", "exit_as", "last_price", "count", "duration", "trigger_price"),
    *("distance", "distance_as", "cancels"),
)


class OrderTicket(ReviewedPanel):
    """An order ticket that can't sign a bad order.

    Made by `session.ticket(symbol)`.

    Fields are traits. They are kept as text and never rounded, and a number must be exact as written. All kinds of
    orders have `side`, `order_type`, `price`, `quantity` (with `quantity_as` "base", "notional" or "share"), `tif` and
    `reduce_only`. They also have `take_profit`, `stop_loss`, `trigger_by`, `slippage`, `client_id` and `exit_as`.
    Single kinds have `trigger_price`, `last_price`, `count`, `duration`, `distance`, `distance_as` and `cancels`. After
    each change `problems` holds every broken rule with the values that would pass (see `take`).

    `submit()` starts the review: it fixes nonce, expiry and client id, and shows exactly what would be signed.
    `confirm()` checks everything again, signs with the agent key and sends. `status` then follows the order. Any change
    of a field cancels the review. On Mainnet `confirm` requires the symbol to be typed.

    Parameters
    ----------
    session : Session
        Session that signs. Without an agent key the ticket is read-only.
    symbol : str or int
        Product symbol, such as "BTCUSDC", or its code.
    **fields : object
        First values of its fields, such as `side="SELL"` or `price="70000"`.

    Raises
    ------
    InputError
        For a field that a ticket does not have.
    UnknownProduct
        For a product that the venue does not have.
    """

    _esm = module("base_panel/common.js", "base_panel/review.js", "order_ticket/fields.js", "order_ticket/ticket.js")

    symbol = traitlets.Unicode("", read_only=True).tag(sync=True)
    """Product of the ticket."""
    side = traitlets.Enum(("BUY", "SELL"), "BUY").tag(sync=True)
    """BUY or SELL."""
    order_type = traitlets.Enum(tuple(KINDS), "LIMIT").tag(sync=True)
    """LIMIT, MARKET. STOP: closes a position, or a part of it, once `trigger_price` is reached. SCALE: `count` limit
    orders from `price` to `last_price`, in one request. TWAP: `count` orders evenly over `duration`, see
    `session.twap`. STOP_ENTRY and IF_TOUCHED: an order that is sent when the last price reaches `trigger_price`, from
    the side of a breakout or from the other one. TRAILING: a stop-loss that follows the best price at `distance`. These
    three wait in this program, and only while the session is open: see `cancel`."""
    price = Amount("").tag(sync=True)
    """Limit price in USDC as text. Not used by market orders, and "" for none in a STOP or TWAP."""
    quantity = Amount("").tag(sync=True)
    """Quantity as text, in the unit of `quantity_as`. "" is the whole position in a STOP."""
    quantity_as = traitlets.Enum(("base", "notional", "share"), "base").tag(sync=True)
    """base (units), notional (USDC) or share (percent of available margin, of the position when reduce-only)."""
    tif = traitlets.Enum(("", "GTC", "IOC", "FOK", "POST_ONLY"), "").tag(sync=True)
    """Time in force, "" is GTC for limit and IOC for market orders."""
    reduce_only = traitlets.Bool(False).tag(sync=True)
    """Only reduce the position. In hedge mode: close the opposite leg."""
    take_profit = Amount("").tag(sync=True)
    """Trigger price of a take-profit, "" for none."""
    stop_loss = Amount("").tag(sync=True)
    """Trigger price of a stop-loss, "" for none."""
    trigger_by = traitlets.Enum(("MARK_PRICE", "LAST_PRICE", "INDEX_PRICE"), "MARK_PRICE").tag(sync=True)
    """Price that triggers take-profit and stop-loss."""
    slippage = Amount("").tag(sync=True)
    """Allowed slippage of a market order as a ratio, "" for the default (0.03)."""
    exit_as = traitlets.Enum(("price", "percent", "pnl"), "price").tag(sync=True)
    """Unit of take_profit and stop_loss: price, percent (from the entry price) or pnl (USDC, before fees)."""
    client_id = traitlets.Unicode("").tag(sync=True)
    """Client order id, "" for one derived from the nonce."""
    trigger_price = Amount("").tag(sync=True)
    """Trigger of a STOP: a stop-loss or a take-profit of the position, by the side of the market on which it lies."""
    last_price = Amount("").tag(sync=True)
    """Last limit price of a scale. Between its orders prices are rounded to the nearest tick."""
    count = traitlets.Unicode("5").tag(sync=True)
    """Number of orders: 2 to 20 of a SCALE, 2 to 500 of a TWAP."""
    duration = traitlets.Unicode("30m").tag(sync=True)
    """Time from the first to the last order of a TWAP, such as "30m" or "4h"."""
    distance = Amount("").tag(sync=True)
    """Distance of a TRAILING stop from the best price, in the unit of `distance_as`."""
    distance_as = traitlets.Enum(("ratio", "amount"), "ratio").tag(sync=True)
    """Unit of `distance`: ratio (0.01 is 1 % of the price) or amount (USDC)."""
    cancels = Amount("").tag(sync=True)
    """Id of an open order. It and a STOP_ENTRY or IF_TOUCHED cancel each other: the first one to act stays. "" for
    none."""
    form = traitlets.Dict(read_only=True).tag(sync=True)
    """For the front end: the kinds of orders, and the fields of the chosen one."""

    def __init__(self, session: Session, symbol: str | int, **fields: object) -> None:
        unknown = sorted(set(fields) - set(_INPUTS))
        if unknown:
            known = ", ".join(_INPUTS)
            raise InputError(f"a ticket has no field {unknown[0]!r}, it has {known}", field=unknown[0], nearest=_INPUTS)
        for name, value in fields.items():
            if call := RUNS_HAVE.get(str(value)) if name in ("order_type", "distance_as") else None:
                words = f"a ticket has no {name} {value!r}. A strategy has it, in a run: {call}"
                raise InputError(words, field=name, rule="kind", value=value)
        self._products = session._product_table()
        self._product = self._products.find(symbol)
        self._validation = Validation(())
        self._holdings = Holdings()
        self._places = True
        """Whether the review is that of an order, otherwise that of a setting."""
        self.following: OrderTracker | TwapTracker | WaitingOrder | None = waiting_on(session, self._product.symbol)
        """The tracker of the last confirmed order."""
        super().__init__(session, self._product.symbol)
        self.set_trait("symbol", self._product.symbol)
        for name, value in fields.items():
            setattr(self, name, value)
        stream = session.stream
        self._book = stream.order_book(self._product.symbol, DEPTH)
        self._ticker = stream.ticker(self._product.symbol)
        self._account = None if session.account is None else AccountStreams(session, self._products)
        if self._account is not None:
            history = stream.order_history()
            history.on_update(self._on_order_history)
            self._follow(history, needed=False)
        self._follow(self._book, self._ticker, *(self._account.parts if self._account else ()))
        self.observe(self._on_edit, _INPUTS)
        self._on_edit()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Every broken rule, empty when the order may be sent."""
        return self._validate().problems

    @property
    def valid(self) -> bool:
        """True when every check passes."""
        return self._validate().valid

    @property
    def order(self) -> Any:
        """The current order, None while a quantity is missing."""
        order = self._validate().order
        return order if order is not None and order.entry.quantity else None

    def preview(self) -> dict[str, Any]:
        """Return what the order would do, amounts as Decimal in USDC.

        It is empty while price or quantity are invalid.

        Returns
        -------
        dict
            `notional`: value of what fills. `at_mark`: the same at the mark price. `price`: mean price expected.
            `worst_price`: bound of a market order. `bankruptcy_price`: where it bounds what closes. `fills_now` and
            `fills`: base units. `fee`. `margin`: what it takes from the available margin, fees included. `effect`: the
            position in words. `liquidation_price`: estimated, after the whole fill. Without `liquidation_known` it
            can't be estimated. Fee, margin and leverage are `None` where they are not known. Further keys:
            `available`, `leverage`, `realized_pnl`, `size_before`, `size_after`, `entry_after` and, where the account's
            data is unknown, `why_unknown`.
        """
        return dict(self._validate().preview)

    @property
    def status(self) -> str:
        """Status of the last confirmed order, "" without one: SENT, ACCEPTED, RESTING, WAITING, PARTIALLY_FILLED,
        FILLED, CANCELED, REJECTED, UNKNOWN or NOT_SENT."""
        return "" if self.following is None else self.following.status

    @property
    def receipt(self) -> Receipt | None:
        """The receipt of the last confirmed order."""
        return None if self.following is None else self.following.receipt

    def take(self, choice: Choice) -> None:
        """Set the fields of a choice.

        Parameters
        ----------
        choice : Choice
            One of a problem's choices, such as `ticket.problems[0].choices[0]`.

        Raises
        ------
        InputError
            For another object.
        """
        require(choice, Choice, "choice", "one of a problem's choices: ticket.problems[0].choices[0]")
        # Held together: quantity and its unit belong to one change, and are validated as one.
        with self._guard, self.hold_trait_notifications():
            for name, value in choice.values.items():
                setattr(self, name, value)

    def submit(self) -> Prepared:
        """Start the review, and return exactly what `confirm` will sign.

        Nothing is signed yet.

        Returns
        -------
        Prepared
            The request with its nonce and expiry.

        Raises
        ------
        CheckFailed
            With every problem.
        WalletError
            Without an agent key.
        LimitReached
            While the data is stale, or while the outcome of the last order is unknown.
        """
        self._end_review()
        # Read again, because its rules may have changed since the ticket was opened.
        self._product = self._session.product(self._product.symbol)
        order = self._checked_order()
        verb = "buy" if self.side == "BUY" else "sell"
        self._places = True
        # A quantity says little of the money that it is, which no book that lies can change.
        at_mark = self._validation.preview.get("at_mark")
        question = order.describe() + (f", about {money(at_mark)} USDC at mark" if at_mark else "")
        return self._begin_review(self._kind.request(order), question, verb, self.symbol, self._kind.notes(order))

    def set_leverage(self, leverage: str) -> Prepared:
        """Start the review of another leverage of the product.

        Parameters
        ----------
        leverage : str
            New leverage, such as "10".

        Returns
        -------
        Prepared
            What `confirm` will sign.

        Notes
        -----
        It raises errors as `session.prepare` does.
        """
        payload = {"type": ActionType.SET_LEVERAGE.value, "leverage": decimal_text(leverage, "leverage")}
        return self._review_setting(payload, f"Set the leverage of {self.symbol} to {leverage}x", "set")

    def set_margin_mode(self, mode: Literal["CROSS", "ISOLATED"]) -> Prepared:
        """Start the review of another margin mode of the product.

        Parameters
        ----------
        mode : {"CROSS", "ISOLATED"}
            New margin mode.

        Returns
        -------
        Prepared
            What `confirm` will sign.

        Notes
        -----
        It raises errors as `session.prepare` does.
        """
        payload = {"type": ActionType.SET_MARGIN_MODE.value, ActionField.MARGIN_MODE.value: mode}
        return self._review_setting(payload, f"Set the margin mode of {self.symbol} to {str(mode).lower()}", "set")

    def take_share(self, percent: int) -> None:
        """Set the quantity to a share of what the margin allows, reduce-only of the position.

        It is rounded down to whole steps.

        Parameters
        ----------
        percent : int
            Share in percent, 0 to 100. Values outside are set to the nearest of these.

        Raises
        ------
        InputError
            Without a price, the account's data or a known leverage.
        """
        with self._guard:
            largest = self._kind.largest_quantity(self._inputs())
        if largest is None:
            unset = self._holdings.known and self._holdings.leverage is None
            words = NO_LEVERAGE if unset else "a share needs a price and the account's data"
            raise InputError(words, field="quantity" if unset else "price", rule="required", value=None)
        quantity = self._product.round_quantity(largest * min(max(percent, 0), 100) / 100, "down")
        self.take(in_base(format(quantity, "f")))

    def _review_setting(self, payload: dict[str, Any], question: str, verb: str) -> Prepared:
        self._end_review()
        # Not that of the ticket: a setting does not need a valid order.
        ReviewedPanel._check_review(self)
        self._places = False
        return self._begin_review(
            {**payload, OrderField.PRODUCT.value: self._product.code}, question, verb, self.symbol
        )

    def ask_venue(self) -> str:
        """Resolve an order of unknown outcome by asking the venue.

        Returns
        -------
        str
            Its status.
        """
        from ...client.orders.receipts import receipt as receipt_of

        tracker = self.following
        if isinstance(tracker, OrderTracker) and tracker.status == UNKNOWN:
            self._session.resolve(tracker.intent)
            try:
                tracker.receipt = receipt = receipt_of(self._session.intents.get(tracker.intent))
            except ToolkitError:  # there is no intent: the interrupt came before it was recorded, so nothing was sent
                tracker.failed = NOT_SENT
            else:
                state = str(receipt.state)
                tracker.failed = "" if state == "ACCEPTED" else state
                tracker.failure = receipt.message
        self.refresh()
        return self.status

    def clear(self) -> None:
        """Clear the fields and the last order.

        An order of unknown outcome stays until it is resolved.
        """
        with self._guard, self.hold_trait_notifications():
            for name in _TEXTS:
                setattr(self, name, "")
            self.reduce_only = False
        # Otherwise the warning that an order may have been placed would be lost, or the button that ends one.
        if self.status != UNKNOWN and not self._waits:
            self.following = None
        self.refresh()

    def cancel(self) -> str:
        """End the order of this ticket that waits in this program. A stop that it has at the venue is cancelled.

        Nothing happens without one.

        Returns
        -------
        str
            Its status.

        Examples
        --------
        >>> ticket = session.ticket("BTCUSDC", order_type="STOP_ENTRY", quantity="0.01", trigger_price="70000")
        >>> _ = ticket.submit()
        >>> ticket.confirm().status
        'WAITING'
        >>> ticket.cancel()
        'CANCELED'
        """
        if isinstance(self.following, WaitingOrder):
            self.following.end()
            self.following.wait(CANCEL_SECONDS)
        self.refresh()
        return self.status

    @property
    def _waits(self) -> bool:
        return isinstance(self.following, WaitingOrder) and self.following.waits

    def _checked_order(self) -> Any:
        """Return the order if it may be signed now. Raises as `submit` does."""
        if self._waits:
            message = "an order of this product waits in this program. Cancel it first: ticket.cancel()"
            raise LimitReached(message, limit="waiting order")
        if self.status == UNKNOWN:
            message = "the outcome of the last order is unknown. Ask the venue first, or it may be placed twice"
            raise LimitReached(message, limit="unknown outcome")
        super()._check_review()
        validation = self._validate()
        if validation.problems:
            raise CheckFailed(validation.problems)
        return validation.order

    def _check_review(self) -> None:
        if self._places:
            self._checked_order()
        else:
            super()._check_review()

    def _deliver(self, prepared: Prepared) -> Any:
        if not self._places:
            return super()._deliver(prepared)
        # Tracked before sending: the feed may report the order before the response arrives.
        self.following = tracker = self._kind.track(self._validate().order, prepared)
        self.refresh()
        return tracker.send(self._session, prepared)

    def _on_failure(self, error: BaseException) -> None:
        if self._places and self.following is not None:
            # A TWAP that failed to start has nothing to follow, so the ticket shows the error.
            if self.following.record_failure(error):
                return
            self.following = None
        self._show_error(error)

    def _on_edit(self, _: object = None) -> None:
        self._end_review()
        self.problem = ""
        kinds = [[one.name, one.label] for one in KINDS.values()]
        self.set_trait("form", {"kinds": kinds, **self._kind.form_view(self._draft(), self._product)})
        self.refresh()

    def _on_order_history(self, update: Update) -> None:
        if self.following is not None:
            self.following.add_events(update.items)

    @property
    def _kind(self) -> OrderKind:
        return KINDS[self.order_type]

    def _draft(self) -> Draft:
        fields: dict[str, Any] = {name: getattr(self, name) for name in _INPUTS if name != "order_type"}
        fields.update((name, value.strip()) for name, value in fields.items() if isinstance(value, str))
        # What only closes a position is measured by it, as a reduce-only order is.
        fields["reduce_only"] |= self._kind.closes
        return Draft(self._kind, **fields)

    def _market(self) -> TicketMarket:
        ticker = self._ticker.value
        bids, asks = self._book.bids(DEPTH), self._book.asks(DEPTH)
        mark, index, rate = (ticker.get(name) for name in ("mark_price", "oracle_price", "funding_rate"))
        return TicketMarket(mark, ticker.get("last") or None, index, rate, bids, asks)

    def _validate(self) -> Validation:
        with self._guard:
            # A ticket that was stopped, or whose constructor failed, can still be printed.
            if self._stopped or not hasattr(self, "_account"):
                return self._validation
            self._validation = self._kind.validate(self._inputs())
            return self._validation

    def _inputs(self) -> TicketInputs:
        # Its listing and its limits change while the ticket is open.
        known = self._session._catalogue.known
        self._product = product = self._product if known is None else known.get(self.symbol, self._product)
        self._holdings = self._account.holdings(product) if self._account else no_holdings(product)
        if self._watch.money_doubted or self.symbol in self._watch.doubted():
            why = "is in doubt, because other answers of the venue contradict it"
            self._holdings = replace(self._holdings, known=False, why_unknown=why)
        return TicketInputs(self._draft(), self._product, self._market(), self._holdings)

    def _make_view(self) -> dict[str, Any]:
        validation, market = self._validate(), self._market()
        if self._prepared is not None and self._places and validation.problems:
            # Prices have moved so that the order breaks a rule. The button must not stay.
            self._end_review(f"the review was cancelled, nothing was signed: {validation.problems[0].message}")
        session, product = self._session, self._product
        prices = {"bid": market.bid, "ask": market.ask, "mark": market.mark, "last": market.last}
        return {
            "symbol": product.symbol,
            "environment": session.environment.name,
            "mainnet": session.environment.is_mainnet,
            "account": short(str(session.account or "")),
            "readOnly": "" if can_sign(session) else "read-only session: no agent key to sign with",
            "market": {name: grouped(price) for name, price in prices.items()},
            "leverage": "" if self._holdings.leverage is None else trimmed(self._holdings.leverage),
            "isolated": self._holdings.isolated,
            "typed": {name: getattr(self, name) for name in _TEXTS},
            "problems": [problem.view() for problem in validation.problems],
            "valid": validation.valid,
            "preview": preview_view(validation.preview, product, market.mark),
            "review": self._review_view(),
            "following": None if self.following is None else self.following.view(),
        }

    def _lock_reason(self) -> str:
        if self._session.account is None:
            return "no account is known, so orders can't be checked"
        return super()._lock_reason()

    def _commands(self) -> dict[str, Any]:
        return {
            **self._review_commands(),
            "take": self._clicked_choice,
            "submit": self._clicked_submit,
            "leverage": self.set_leverage,
            "marginMode": self.set_margin_mode,
            "share": self.take_share,
            "ask": self.ask_venue,
            "cancel": self.cancel,
        }

    def _clicked_choice(self, field: str, label: str, rule: str = "", place: int = -1) -> None:
        for problem in self._validate().problems:
            for index, choice in enumerate(problem.choices):
                # Prices move between what was drawn and the click: the button at the same place is meant.
                same = (index, problem.rule) == (place, rule) if rule else choice.label == label
                if problem.field == field and same:
                    self.take(choice)
                    return

    def _clicked_submit(self, fields: dict[str, Any] | None = None) -> None:
        # With the last keys, which may not have been sent yet.
        self.take(Choice("", {name: value for name, value in (fields or {}).items() if name in _INPUTS}))
        self.submit()

    def _lines(self) -> Iterable[str]:
        validation = self._validate()
        if validation.valid:
            yield validation.order.describe()
        else:
            price = self._kind.price_words(self._draft())
            yield f"{self.side} {self.quantity or '…'} {self.symbol} at {price}"
            yield from (problem.message for problem in validation.problems[:1])
        if self.following is not None:
            yield self.following.words()

    def _snapshot(self) -> str:
        view = self.view
        head = static_view.heading(f"Order ticket {self.symbol}", str(view.get("environment", "")))
        words = "".join(f"<div>{escape(line)}</div>" for line in self._lines())
        return head + words + static_view.pairs(view.get("preview", ()))
