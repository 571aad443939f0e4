"""Trading methods of a session: place, replace and cancel orders, close positions, settings, `resolve`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, SupportsInt

from ...checks import check_prices
from ...errors import (
    ActionRejected,
    CheckFailed,
    InputError,
    ToolkitError,
    WalletError,
)
from ...guards import no_keys
from ...numerals import plain_text, read_positive
from ...orders import Bracket, Ladder, Order, order
from ...products import Amount, Product, ProductTable, exact
from ...protocol.enums import AgentStatus
from ...protocol.orders.items import OrderItem
from ...protocol.orders.order_actions import CancelAll, CancelOrders, OrderAction
from ...protocol.reads.product_rows import ProductRule
from ...sides import depends_on_mode
from ..io.flow import Flow, SessionPart, exit_flow, hastily, trading_flow
from ..reads.catalogue import Catalogue
from ..reads.reading import Reader, approvals_of, fetch_rows
from .delivery import Delivery, Prepared
from .intents import Intent, IntentState, frame
from .order_calls import By, Cancelled, OrderCalls
from .receipts import UNSET, ItemResult, Receipt, Unset

if TYPE_CHECKING:
    import pandas as pd

    from ...environments import Environment
    from ...wallet import Wallet
    from .pretrade import PreTradeChecks

OrderLike = Receipt | ItemResult | str | SupportsInt | Mapping[str, Any] | tuple[Any, ...]
"""An order: a receipt, an id as a number of any kind or as text, or a row of a table of orders."""


class TradingFlows:
    """Mixin of Session and AsyncSession: trading."""

    environment: Environment
    wallet: Wallet | None
    exchange: Any
    _reader: Reader
    _catalogue: Catalogue
    _delivery: Delivery
    _checks: PreTradeChecks
    _known_account: str | None
    _vault: str | None

    @cached_property
    def _calls(self) -> OrderCalls:
        calls: OrderCalls = self.exchange._calls
        return calls

    @property
    def account(self) -> str | None:
        """Address that owns the orders and positions: the vault of `connect(vault=…)`, else the master's, None while
        it is not known."""
        return self._vault or self._known_account

    def _account(self) -> Flow[str]:
        """Return the address that owns the orders and positions. See `account`."""
        return self._delivery.owner()

    def _master(self) -> Flow[str]:
        """Return the account's address. With an agent key alone, query which master approved it."""
        if self._known_account is None and self.wallet is not None and self.wallet.agent:
            query = {"account": self.wallet.agent, "role": "AGENT", "status": AgentStatus.ACTIVE.name}
            # Not a page of the usual 20: the only master there may not be the only one.
            rows = yield from fetch_rows("agents", self._delivery.retry, **query, page_size="500")
            own = approvals_of(self.wallet.agent, rows)
            masters = {row.master for row in own if row.master}
            # An agent of several masters acts for each of them, so only the user can say which one is meant.
            if len(masters) == 1:
                self._known_account = masters.pop()
        if self._known_account is None:
            message = (
                "the account is not known. Pass connect(account=…) or set TOOLKIT_ACCOUNT to the master's address"
                + (f". The venue knows no single master of agent {self.wallet.agent}" if self.wallet else "")
            )
            raise WalletError(message)
        return self._known_account

    @trading_flow
    def product(self, symbol: str | int) -> Flow[Product]:
        """Return a product with its exact steps and limits.

        The product list is kept for a minute, and fetched again before UnknownProduct is raised.

        Parameters
        ----------
        symbol : str or int
            Product, by symbol or code.

        Returns
        -------
        Product

        Raises
        ------
        UnknownProduct
            If the venue does not list it.

        Examples
        --------
        >>> session.product("BTCUSDC").tick_size
        Decimal('0.1')
        """
        return (yield from self._catalogue.find(symbol))

    @trading_flow
    def _product_table(self) -> Flow[ProductTable]:
        """Return all products by symbol as Product objects. `products()` returns them as a DataFrame."""
        return (yield from self._catalogue.table())

    @trading_flow
    def buy(
        self,
        symbol: str | int,
        quantity: Amount | None = None,
        price: Amount | None = None,
        *,
        value: Amount | None = None,
        type: Literal["LIMIT", "MARKET"] | None = None,
        tif: Literal["GTC", "IOC", "FOK", "POST_ONLY"] | None = None,
        reduce_only: bool | str | None = None,
        cl_ord_id: int | None = None,
        slippage: Amount | None = None,
        tp: Amount | Order | None = None,
        sl: Amount | Order | None = None,
        trigger_price: Amount | None = None,
        trigger_by: Literal["LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"] | None = None,
        expiry_after: int | Unset | None = UNSET,
        vault_address: str | None = None,
    ) -> Flow[Receipt]:
        """Buy at a limit price, or at market without a price, and return the Receipt.

        The order is checked first, then signed and sent. Amounts are exact: text, whole numbers or Decimal.

        Parameters
        ----------
        symbol : str or int
            Product, by symbol or code.
        quantity : int, str, Decimal or float, optional
            Base units, a multiple of the step size. Give it or `value`.
        price : int, str, Decimal or float, optional
            Limit price in USDC (default: none, a market order).
        value : int, str, Decimal or float, optional
            USDC to spend in place of `quantity`, rounded down to a step (default: none). The receipt's `note` says to
            what.
        type : {"LIMIT", "MARKET"}, optional
            LIMIT or MARKET (default: LIMIT with a price, else MARKET).
        tif : {"GTC", "IOC", "FOK", "POST_ONLY"}, optional
            GTC, IOC, FOK or POST_ONLY (default: GTC with a price, else IOC).
        reduce_only : bool or str, optional
            True for an order that only reduces, TP_FROM_POSITION or SL_FROM_POSITION for an exit (default: False).
        cl_ord_id : int, optional
            Your id of the order, a whole number (default: one is made).
        slippage : int, str, Decimal or float, optional
            Largest distance of a market order's price from the last price, a ratio (default: 0.03).
        tp, sl : int, str, Decimal, float or Order, optional
            Take-profit and stop-loss of a bracket: a mark price in USDC that triggers it, or an order (default: none).
        trigger_price : int, str, Decimal or float, optional
            Price in USDC that triggers such an exit (default: none).
        trigger_by : {"LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"}, optional
            Price that triggers it: LAST_PRICE (default), MARK_PRICE or INDEX_PRICE.
        expiry_after : int, optional
            Unix ms after which the venue refuses it (default: in a minute, None: never).
        vault_address : str, optional
            Vault to trade for (default: the account).

        Returns
        -------
        Receipt

        Raises
        ------
        CheckFailed
            With every broken rule, before anything is signed.
        ActionRejected
            When the venue refuses.
        OutcomeUnknown
            Without a response. `resolve` settles it.

        Examples
        --------
        >>> session.buy("BTCUSDC", "0.01")
        <Receipt placeOrder ACCEPTED, order 1 filled 0.01 at 62506.6, tx 0x1a365bda…>
        """
        exact_quantity, note = yield from self._quantity(symbol, "BUY", quantity, value, price, slippage, reduce_only)
        made = order(
            symbol, "BUY", exact_quantity, price, type=type, tif=tif, reduce_only=reduce_only, cl_ord_id=cl_ord_id,
            slippage=slippage, tp=tp, sl=sl, trigger_price=trigger_price, trigger_by=trigger_by,
        )  # fmt: skip
        return (yield from self._place([made], expiry_after, vault_address, note))

    @trading_flow
    def sell(
        self,
        symbol: str | int,
        quantity: Amount | None = None,
        price: Amount | None = None,
        *,
        value: Amount | None = None,
        type: Literal["LIMIT", "MARKET"] | None = None,
        tif: Literal["GTC", "IOC", "FOK", "POST_ONLY"] | None = None,
        reduce_only: bool | str | None = None,
        cl_ord_id: int | None = None,
        slippage: Amount | None = None,
        tp: Amount | Order | None = None,
        sl: Amount | Order | None = None,
        trigger_price: Amount | None = None,
        trigger_by: Literal["LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"] | None = None,
        expiry_after: int | Unset | None = UNSET,
        vault_address: str | None = None,
    ) -> Flow[Receipt]:
        """Sell at a limit price, or at market without a price, and return the Receipt. Errors are those of `buy`.

        Parameters
        ----------
        symbol : str or int
            Product, by symbol or code.
        quantity : int, str, Decimal or float, optional
            Base units, a multiple of the step size. Give it or `value`.
        price : int, str, Decimal or float, optional
            Limit price in USDC (default: none, a market order).
        value : int, str, Decimal or float, optional
            USDC to sell for in place of `quantity`, rounded down to a step (default: none).
        type : {"LIMIT", "MARKET"}, optional
            LIMIT or MARKET (default: LIMIT with a price, else MARKET).
        tif : {"GTC", "IOC", "FOK", "POST_ONLY"}, optional
            GTC, IOC, FOK or POST_ONLY (default: GTC with a price, else IOC).
        reduce_only : bool or str, optional
            True for an order that only reduces, TP_FROM_POSITION or SL_FROM_POSITION for an exit (default: False).
        cl_ord_id : int, optional
            Your id of the order, a whole number (default: one is made).
        slippage : int, str, Decimal or float, optional
            Largest distance of a market order's price from the last price, a ratio (default: 0.03).
        tp, sl : int, str, Decimal, float or Order, optional
            Take-profit and stop-loss of a bracket: a mark price in USDC that triggers it, or an order (default: none).
        trigger_price : int, str, Decimal or float, optional
            Price in USDC that triggers such an exit (default: none).
        trigger_by : {"LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"}, optional
            Price that triggers it: LAST_PRICE, MARK_PRICE or INDEX_PRICE (default: LAST_PRICE).
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute). None: never.
        vault_address : str, optional
            Address of the vault to trade for (default: the account).

        Returns
        -------
        Receipt

        Examples
        --------
        >>> session.sell("BTCUSDC", "0.01", "70000", tif="POST_ONLY").status
        'NEW'
        """
        exact_quantity, note = yield from self._quantity(symbol, "SELL", quantity, value, price, slippage, reduce_only)
        made = order(
            symbol, "SELL", exact_quantity, price, type=type, tif=tif, reduce_only=reduce_only, cl_ord_id=cl_ord_id,
            slippage=slippage, tp=tp, sl=sl, trigger_price=trigger_price, trigger_by=trigger_by,
        )  # fmt: skip
        return (yield from self._place([made], expiry_after, vault_address, note))

    @trading_flow
    def place(
        self,
        orders: Order | Bracket | Ladder | Sequence[Order | Bracket | Ladder],
        *,
        expiry_after: int | Unset | None = UNSET,
        vault_address: str | None = None,
    ) -> Flow[Receipt]:
        """Check, sign and send orders made with `toolkit.orders`: one, several together, or one bracket.

        Several orders are one request. The venue accepts or refuses each, and `receipt.results` has one entry per
        order. When any is refused, ActionRejected is raised with that receipt, and the accepted ones remain. Other
        errors are those of `buy`.

        Parameters
        ----------
        orders : Order, Bracket, Ladder or sequence of Order
            An Order, a Bracket or a Ladder, or a list of orders and ladders.
        expiry_after : int, optional
            Unix ms after which the venue refuses them (default: in a minute, None: never).
        vault_address : str, optional
            Vault to trade for (default: the account).

        Returns
        -------
        Receipt
            One for the request. Its `orders` has one for each order.

        Examples
        --------
        >>> ladder = [orders.limit("BTCUSDC", "BUY", "0.01", price) for price in ("50000", "51000")]
        >>> [each.status for each in session.place(ladder).orders]
        ['NEW', 'NEW']
        """
        return (yield from self._place(orders, expiry_after, vault_address))

    def _order_action(self, given: object, hedge: bool) -> Flow[OrderAction]:
        # The codes of products may have to be read first. An order at market does not wait long for that either.
        reading = self._read_order_action(given, hedge)
        return (yield from (hastily(reading, self._delivery.retry.moment) if _may_be_at_market(given) else reading))

    def _read_order_action(self, given: object, hedge: bool) -> Flow[OrderAction]:
        """Return the action that places orders, with every field checked. Raises InputError."""
        found: list[object] = []
        for each in _listed(given):
            if isinstance(each, Ladder):
                found += each.orders((yield from self._catalogue.find(each.symbol)))
            else:
                found.append(each)
        orders = [each.in_mode(hedge) for each in self._check_orders(found)]
        items: list[OrderItem] = []
        for each in orders:
            leaving = all(leg.item(0).reduces for leg in each.legs)
            code = yield from self._catalogue.code(each.symbol, leaving)
            items += [leg.item(code) for leg in each.legs]
        return OrderAction.made(orders[0].action, items)

    def _quantity(
        self, symbol: str | int, side: str, quantity: Amount | None, value: Amount | None, price: Amount | None,
        slippage: Amount | None, reduce_only: bool | str | None,
    ) -> Flow[tuple[Amount, str]]:  # fmt: skip
        reading = self._exact_quantity(symbol, side, quantity, value, price, slippage, reduce_only)
        return (yield from (hastily(reading, self._delivery.retry.moment) if price is None else reading))

    def _exact_quantity(
        self, symbol: str | int, side: str, quantity: Amount | None, value: Amount | None, price: Amount | None,
        slippage: Amount | None, reduce_only: bool | str | None,
    ) -> Flow[tuple[Amount, str]]:  # fmt: skip
        """Return the quantity to trade and how it was rounded: `quantity` and "", or what `value` pays for."""
        if quantity is not None and value is None:
            return quantity, ""
        if quantity is not None or value is None:
            raise InputError("give a quantity in base units, or value= in USDC, not both", field="quantity", rule="one")
        product = yield from self._catalogue.find(symbol)
        worth = read_positive(exact(value, "value"), "value")
        at = None if price is None else read_positive(exact(price, "price"), "price")
        if at is None or side == "SELL":
            within = None if slippage is None else exact(slippage, "slippage")
            # What is sold at a limit far below the market trades at the market: for a multiple of the value.
            last, apart = yield from self._checks.prices(product, side, Decimal(0), within)
            if at is not None:
                apart = check_prices(product, {"limit": at, "last": last}, within) if last and at < last else []
            at = at or read_positive(last, "price")
            # Nothing stands between a user and a smaller position.
            if apart and not reduce_only and not (yield from self._checks.closes(product, side, worth / at)):
                raise CheckFailed(apart)
        rounded = product.round_quantity(worth / at, "down")
        if not rounded:
            least = plain_text(product.step_size * at)
            said = f"value {worth} is less than one step of {product.step_size} {product.base}, {least} USDC"
            raise InputError(said, field="value", rule=ProductRule.STEP_SIZE, value=value, nearest=(least,))
        name = f"quantity {rounded} {product.base}"
        return rounded, f"value {worth}: {name} at {at} is {plain_text(rounded * at)} USDC, rounded down to a step"

    def _is_hedged(self, given: object, vault: str | None, anew: bool = False) -> Flow[bool | None]:
        """Return whether the account is in hedge mode, where that changes what is sent, else False. None: not known."""
        legs = [leg for each in _listed(given) for leg in _legs(each)]
        if not any(depends_on_mode(leg.side, leg.reduce_only) for leg in legs):
            return False
        return (yield from self._checks.hedged(vault, anew))

    def _place(
        self,
        orders: object,
        expiry_after: int | Unset | None = UNSET,
        vault_address: str | None = None,
        note: str = "",
        hedge: bool | None = None,
    ) -> Flow[Receipt]:
        """Place orders in the account's position mode, or in the given one."""
        orders = list(_listed(orders))
        mode = (yield from self._is_hedged(orders, vault_address)) if hedge is None else hedge
        try:
            made = yield from self._submit_in_mode(orders, expiry_after, vault_address, bool(mode))
        except ActionRejected as refused:
            if hedge is not None or any(one.accepted for one in getattr(refused.receipt, "results", ())):
                raise
            # An account shows its mode with its first position only. What was refused whole is sent in the other mode.
            known = yield from self._is_hedged(orders, vault_address, anew=True)
            other = mode is None if known is None else known
            if other is bool(mode):
                raise
            try:
                made = yield from self._submit_in_mode(orders, expiry_after, vault_address, other)
            except ActionRejected as again:
                # Which of the two reasons counts depends on the mode, which may still not be known.
                again.add_note(f"Before, as an order of {'hedge' if mode else 'one-way'} mode: {refused}")
                raise
        made.note = note
        return made

    def _submit_in_mode(
        self, orders: Iterable[object], expiry_after: int | Unset | None, vault_address: str | None, hedge: bool
    ) -> Flow[Receipt]:
        action = yield from self._order_action(orders, hedge)
        return (yield from self._calls.live(self._delivery.submit(action, expiry_after, vault_address)))

    def _check_orders(self, given: Iterable[object]) -> list[Order | Bracket]:
        """Return what is a list of orders, without a bracket among others. `PreTradeChecks` checks the rules."""
        orders: list[Order | Bracket] = []
        for each in given:
            if not isinstance(each, Order | Bracket):
                raise InputError(f"{each!r} is no order. Make one with toolkit.orders", field="orders", rule="Order")
            orders.append(each)
        if not orders:
            raise InputError("there is no order to place", field="orders", rule="minimum", value=[])
        if len(orders) > 1 and any(isinstance(each, Bracket) for each in orders):
            message = "a bracket is a separate request. Place it alone"
            raise InputError(message, field="orders", rule="bracket", value=len(orders))
        return orders

    @trading_flow
    def order(self, order: OrderLike, *, by: By | None = None, vault_address: str | None = None) -> Flow[Receipt]:
        """Return any order of the account as a receipt, a live handle.

        Parameters
        ----------
        order : int, str, Receipt or row of a table
            Its id, its client id, a receipt, or a row of a table.
        by : {"order_id", "cl_ord_id"}, optional
            "order_id" or "cl_ord_id" where both exist (default: whichever is found).
        vault_address : str, optional
            Address of the vault whose order it is (default: that of a receipt, else the account's).

        Returns
        -------
        Receipt

        Raises
        ------
        InputError
            For an order that the account does not have.

        Examples
        --------
        >>> made = session.buy("BTCUSDC", "0.01", "50000")
        >>> session.order(made.order_id).status
        'NEW'
        """
        return (yield from self._calls.find(order, by, vault_address))

    @trading_flow
    def replace(
        self,
        existing: OrderLike | None,
        new: Order | None = None,
        *,
        cl_ord_id: int | str | None = None,
        expiry_after: int | Unset | None = UNSET,
        vault_address: str | None = None,
    ) -> Flow[Receipt]:
        """Replace an open order by a new one, and return its Receipt.

        It keeps its queue position only if the price stays and the quantity decreases. Errors are those of `buy` as
        well.

        Parameters
        ----------
        existing : int, str, Receipt, row of a table or None
            Order to replace: its id, a receipt, or a row of a table. None with `cl_ord_id`.
        new : Order, optional
            The Order to place instead.
        cl_ord_id : int or str, optional
            Client id of the order to replace, in place of `existing` (default: None).
        expiry_after : int, optional
            Unix ms after which the venue refuses it (default: in a minute, None: never).
        vault_address : str, optional
            Vault to trade for (default: that of a receipt, else the account).

        Returns
        -------
        Receipt

        Raises
        ------
        InputError
            For a bracket, a receipt of several orders, or a second client id.

        Examples
        --------
        >>> made = session.buy("BTCUSDC", "0.01", "50000")
        >>> session.replace(made, orders.limit("BTCUSDC", "BUY", "0.01", "51000")).status
        'NEW'
        """
        if isinstance(new, Order):
            new = new.in_mode(bool((yield from self._is_hedged(new, vault_address))))
        return (yield from self._calls.replace(existing, new, expiry_after, vault_address, cl_ord_id))

    @exit_flow
    def cancel(
        self,
        what: OrderLike | Iterable[OrderLike] | None = None,
        *,
        symbol: str | int | None = None,
        cl_ord_id: int | str | None = None,
        vault_address: str | None = None,
    ) -> Flow[Receipt]:
        """Cancel orders, and return the Receipt of the request.

        Parameters
        ----------
        what : id, Receipt, row of a table, or iterable of these, optional
            Receipts, ids, rows of a table, or a whole table of orders.
        symbol : str or int, optional
            Product of the ids, which then need no query (default: found by a query).
        cl_ord_id : int or str, optional
            Client id of the order, in place of `what` (default: None).
        vault_address : str, optional
            Address of the vault whose orders they are (default: that of the receipts, else the account's).

        Returns
        -------
        Receipt

        Raises
        ------
        ActionRejected
            When an order can't be cancelled. The results of its receipt say which.

        Examples
        --------
        >>> made = session.buy("BTCUSDC", "0.01", "50000")
        >>> _ = session.cancel(made)
        >>> made.status
        'CANCELED'
        """
        if isinstance(what, Iterator):
            what = list(what)
        vault = yield from self._calls.vault_of(what, vault_address)
        cancels = yield from self._calls.cancels(what, symbol, cl_ord_id, vault)
        sending = self._delivery.submit(CancelOrders(tuple(cancels)), vault_address=vault)
        return (yield from self._calls.live(sending))

    @exit_flow
    def cancel_all(
        self, symbol: str | int | None = None, *, conditional: bool | None = None, vault_address: str | None = None
    ) -> Flow[Cancelled]:
        """Cancel all open orders of a product, or of every product, and return the receipts.

        None of the orders that were open at the call is left open. Waiting orders are cancelled first, so that one that
        triggers in between is found. Parent orders continue: see `stop_all`.

        Parameters
        ----------
        symbol : str or int, optional
            Product, by symbol or code (default: every product).
        conditional : bool, optional
            True for waiting trigger orders only, False for the other orders only (default: both).
        vault_address : str, optional
            Address of the vault whose orders they are (default: the account's).

        Returns
        -------
        Cancelled
            The receipts. Its `triggered` and `filled` say what happened meanwhile.

        Raises
        ------
        OutcomeUnknown
            When some orders stay open.

        Examples
        --------
        >>> made = session.buy("BTCUSDC", "0.01", "50000")
        >>> _ = session.cancel_all("BTCUSDC")
        >>> made.status
        'CANCELED'
        """
        owner = vault_address or (yield from self._account())
        code = None if symbol is None else (yield from self._catalogue.code(symbol, leaving=True))
        return (yield from self._calls.cancel_all(owner, code, conditional, vault_address))

    @trading_flow
    def resolve(
        self, intents: str | Receipt | Iterable[str | Receipt] | None = None, *, resend: bool | None = None
    ) -> Flow[list[Receipt]]:
        """Settle requests with an unknown outcome, and return the receipt of each, oldest first.

        The venue is queried for the orders' client ids, else for the nonce. Requests that can't be settled stay
        UNKNOWN, and nothing is guessed.

        Parameters
        ----------
        intents : str, Receipt or iterable of these, optional
            Ids of intents or receipts to settle (default: all that are unknown).
        resend : bool, optional
            Whether to send again what the venue does not know, as the identical bytes (default: only while that is
            safe). It is safe while it expires or is under a minute old.

        Returns
        -------
        list of Receipt

        Examples
        --------
        >>> session.resolve()  # nothing is unknown
        []
        """
        ids: list[str] | None = None
        if intents is not None:
            given = [intents] if isinstance(intents, str | Receipt) else list(intents)
            ids = [item.intent if isinstance(item, Receipt) else item for item in given]
        return [self._calls.bind(settled) for settled in (yield from self._delivery.resolve(ids, resend))]


def _listed(given: object) -> Iterable[object]:
    return given if isinstance(given, Iterable) and not isinstance(given, Mapping | str | bytes) else [given]


def _legs(given: object) -> tuple[Order, ...]:
    """Return the orders of what was given. Of a ladder one, which the others are like."""
    given = given.order("1", "1") if isinstance(given, Ladder) else given
    return given.legs if isinstance(given, Order | Bracket) else ()


def _may_be_at_market(given: object) -> bool:
    """Return whether an order that was given opens at the price of this moment. Its product need not be known."""
    listed = given if isinstance(given, list | tuple) else [given]
    return any(each.legs[0].item(0).is_of_the_moment for each in listed if isinstance(each, Order | Bracket))


class IntentFlows(SessionPart):
    """The ledger of intents: the table, one by its id, and requests that are shown before they are signed and sent."""

    _path = "session.intents"

    @no_keys
    def __call__(
        self, state: str | IntentState | None = None, *, limit: int | None = 1_000, index: str | None = "intent"
    ) -> pd.DataFrame:
        """Return the orders and actions that this client recorded before sending, oldest first. Final ones are kept for
        90 days.

        Parameters
        ----------
        state : str or IntentState, optional
            Only those in this state (default: all).
        limit : int, optional
            The newest so many (default: 1,000). None: all.
        index : str, optional
            Column that becomes the index (default: "intent").

        Returns
        -------
        DataFrame
            Indexed by `intent`, the id.

            - created, updated, expiry_after: datetime64[ms, UTC]
            - action: string
            - state: PREPARED, SENT, SUBMITTED, ACCEPTED, REJECTED, FAILED or UNKNOWN
            - code: Int64, message: string
            - client_ids, nonce, attempts
            - account, signer, environment, payload_hash: string
        """
        session = self._session
        if session.wallet is not None and session._known_account is None:
            with suppress(ToolkitError):  # the ledger is the account's; without one it is that of the key
                session._find_account()
        states = None if state is None else [IntentState(str(state).upper())]
        return frame(self._delivery.ledger.all(states, limit), index)

    @no_keys
    def get(self, id: str) -> Intent:
        """Return one intent by its id.

        Parameters
        ----------
        id : str
            Id that receipts and errors carry.

        Returns
        -------
        Intent

        Raises
        ------
        ToolkitError
            For an unknown id.

        Examples
        --------
        >>> session.intents.get(session.buy("BTCUSDC", "0.01").intent).state
        <IntentState.ACCEPTED: 'ACCEPTED'>
        """
        found: Intent = self._delivery.ledger.get(id)
        return found

    @trading_flow
    def prepare(
        self,
        what: Order | Bracket | Ladder | Sequence[Order | Bracket | Ladder] | Mapping[str, Any],
        *,
        expiry_after: int | Unset | None = UNSET,
        vault_address: str | None = None,
    ) -> Flow[Prepared]:
        """Return what would be signed for orders or for an action, without signing it.

        `.explain()` of the result shows proto bytes, typed data and digest. `send` signs and sends exactly that.

        Parameters
        ----------
        what : Order, Bracket, Ladder, sequence of Order or mapping
            Orders as in `session.place`, which are checked first, or an action in wire names.
        expiry_after : int, optional
            Unix ms after which the venue refuses it (default: in a minute, None: never).
        vault_address : str, optional
            Address of the vault to act for (default: the account).

        Returns
        -------
        Prepared

        Raises
        ------
        CheckFailed
            For orders that break a pre-trade rule.
        InputError
            For an action that breaks a rule of its form.
        WalletError
            Without the key that would sign.

        Examples
        --------
        >>> session.intents.prepare(orders.limit("BTCUSDC", "BUY", "0.01", "50000")).payload["type"]
        'placeOrder'
        """
        known = isinstance(what, Mapping | OrderAction | CancelOrders | CancelAll)
        action = what
        if not known:
            hedge = yield from self._session._is_hedged(what, vault_address)
            action = yield from self._session._order_action(what, bool(hedge))
        prepared: Prepared = yield from self._delivery.prepare(action, expiry_after, vault_address)
        return prepared

    @trading_flow
    def send(self, prepared: Prepared, *, confirmed: bool = False) -> Flow[Receipt]:
        """Sign and send what `prepare` returned, and return the Receipt. Errors are those of `buy` except CheckFailed.

        Parameters
        ----------
        prepared : Prepared
            The result of `prepare`.
        confirmed : bool, optional
            True when a person has just confirmed exactly this, on Mainnet (default: False).

        Returns
        -------
        Receipt

        Examples
        --------
        >>> session.intents.send(session.intents.prepare(orders.market("BTCUSDC", "BUY", "0.01"))).status
        'FILLED'
        """
        receipt: Receipt = yield from self._session._calls.live(self._delivery.send(prepared, confirmed=confirmed))
        return receipt
