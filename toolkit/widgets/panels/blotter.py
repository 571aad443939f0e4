"""The blotter: the account's positions and open orders with buttons, and its histories, as plain texts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING, Any

import traitlets

from ...client.account.account_book import in_words
from ...client.orders.receipts import Receipt
from ...client.reads.derived_columns import net_size, pnl_of
from ...errors import ActionRejected, InputError, LimitReached
from ...orders import Order, close_position, stop, take_profit
from ...products import decimal_text
from ...protocol.orders.items import CancelItem
from ...protocol.orders.order_actions import CancelAll, CancelOrders
from ..base_panel import static_view
from ..base_panel.number_format import (
    MISSING,
    UNKNOWN,
    change,
    grouped,
    in_units,
    mean_text,
    money,
    side_text,
    signed,
    trimmed,
)
from ..base_panel.panel import can_sign, confirmed, module
from ..base_panel.review import ReviewedPanel, order_row
from ..base_panel.watch import EVERY
from ..order_ticket.holdings import NO_PRICE, UNKNOWN_PRICE, UNTRIGGERED, AccountStreams, row_of

if TYPE_CHECKING:
    from ...client.orders.delivery import Prepared
    from ...client.parent_orders.plan import Plan
    from ...limits import Book
    from ...plain_session import Session


FILLS = 12
PARENTS = 5
"""Parent orders that have ended are shown up to this number."""
PARENTS_SECONDS = 1.0
"""Time between two reads of the parent orders, because every read accesses the ledger's file."""
HISTORY = 200
"""Rows of a history that is shown."""
_ZERO = Decimal(0)
_OF_POSITION = ("side", "entry", "mark", "liquidation", "margin", "pnl", "roi", "funding", "leverage", "exits")
"""Columns of a position that are unknown while orders and fills contradict its size."""
_MAKERS = {"take_profit": take_profit, "stop_loss": stop}
Row = Mapping[str, Any]
EXITS = {"TP_FROM_POSITION": "take_profit", "SL_FROM_POSITION": "stop_loss"}
_KINDS = {"TP_FROM_POSITION": "take profit", "SL_FROM_POSITION": "stop loss", "REDUCE_ONLY": "reduce-only"}
_TICK = Decimal("0.0001")


class PositionPanel(ReviewedPanel):
    """A panel with the account's live positions and orders."""

    _account: Any = None

    def set_exit(self, symbol: str, kind: str, price: str) -> Prepared:
        """Start the review of a position's take-profit or stop-loss.

        One that waits is changed, otherwise one of the whole position is placed.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        kind : {"take_profit", "stop_loss"}
            Which exit.
        price : str
            Trigger price in USDC. "" cancels the exit.

        Returns
        -------
        Prepared
            What `confirm` will sign.

        Raises
        ------
        InputError
            Without a position of one leg, or for a price that would trigger immediately.
        CheckFailed
            When it breaks a rule.

        Notes
        -----
        It raises further errors as `session.prepare` does.
        """
        self._start_review()
        row, size = self._single(symbol)
        if kind not in _MAKERS:
            raise InputError(f"kind {kind!r} is not known", field="kind", rule="known", nearest=tuple(_MAKERS))
        product, words, mark = self._session.product(symbol), kind.replace("_", " "), row["mark_price"]
        # The venue would sell at once what the user wants to keep until the trigger.
        if price and mark and kind != exit_kind(decimal_text(price, kind), mark, size):
            where = "above" if Decimal(price) < mark else "below"
            message = f"a {words} at {price} would trigger immediately: it must be {where} the mark price {mark}"
            raise InputError(message, field=kind, rule="trigger", value=price)
        waiting = exits_of(symbol, self._account.orders.rows()).get(kind)
        if waiting is None and not price:
            raise InputError(f"give the trigger price of the {words}", field=kind, rule="required", value=price)
        # The quantity of a new exit is that of the position when it triggers.
        if waiting is None:
            side = ("SELL" if size > 0 else "BUY") + ("_CLOSE_HEDGE" if row["position_mode"] == "HEDGE" else "")
            order: Order = _MAKERS[kind](symbol, side, price)
            return self._begin_review(order.check(product), f"Place {order.describe()}", "place", symbol)
        if price:
            return self._review_replacement(product, waiting[0], price=price)
        request = CancelOrders((CancelItem(product.code, int(waiting[0])),))
        text = f"Cancel the {words} of {symbol} at {waiting[1]}"
        return self._begin_review(request, text, "cancel", symbol)

    def _position(self, symbol: str) -> tuple[Any, list[Decimal]]:
        """Return a position with the sizes of its legs, none without a position."""
        row = row_of(self._account.positions.rows(), symbol)
        return row, [] if row is None else legs(row)

    def _single(self, symbol: str) -> tuple[Mapping[str, Any], Decimal]:
        """Return a position of one leg, and its size."""
        row, sizes = self._position(symbol)
        if len(sizes) != 1:
            which = "no position" if not sizes else "a long and a short position"
            raise InputError(f"there is {which} in {symbol}", field="symbol", rule="position", value=symbol)
        return row, sizes[0]


class Blotter(PositionPanel):
    """Open positions and orders with buttons to close and cancel, and the account's histories.

    A button asks for confirmation before anything is signed. Changes of an order or a part of a position are reviewed
    as in a ticket. Tables are sorted by a click on a column and copied as CSV.

    From Python: `cancel(order_id)`, `cancel_all()`, `close_position(symbol)`. `amend`, `reduce` and `set_exit` start a
    review.

    Parameters
    ----------
    session : Session
        Session that signs. Without an agent key the blotter is read-only.
    symbol : str or int or None, optional
        The only product that is shown (default: all).

    Raises
    ------
    UnknownProduct
        For a product that the venue does not have.
    """

    _esm = module("base_panel/common.js", "base_panel/review.js", "base_panel/table.js", "panels/blotter.js")

    history = traitlets.Enum(("fills", "orders", "funding"), "fills").tag(sync=True)
    """The history that is shown."""
    tab = traitlets.Enum(("all", "positions", "orders", "history"), "all").tag(sync=True)
    """The part that is shown: everything, or one of them."""
    sound = traitlets.Bool(False).tag(sync=True)
    """Whether a short tone is played when an order is filled."""

    def __init__(self, session: Session, symbol: str | int | None = None) -> None:
        self._only = None if symbol is None else session.product(symbol).symbol
        self._products = session._product_table()
        super().__init__(session, self._only or "all products")
        stream = session.stream
        self._account = AccountStreams(session, self._products)
        self.positions, self.orders = self._account.positions, self._account.orders
        self.fills, self.tickers = stream.fills(), stream.tickers()
        self._funding = stream.funding()
        self._histories = {"fills": self.fills, "orders": stream.order_history(), "funding": self._funding}
        self._parents: tuple[float, list[dict[str, Any]]] = (0.0, [])
        self.notice = ""
        """The result of the last command, in words."""
        self._follow(self.positions, self.orders)
        others = (self.tickers, *self._histories.values(), self._account.wallet, self._account.leverages)
        self._follow(*others, needed=False)
        self.observe(self._on_change, "history")
        self.refresh()

    def cancel(self, order_id: int | str) -> Receipt:
        """Cancel an open order.

        Parameters
        ----------
        order_id : int or str
            Number of the order.

        Returns
        -------
        Receipt
            The outcome.

        Raises
        ------
        InputError
            When there is no such order.
        LimitReached
            While the panel is locked.

        Notes
        -----
        It raises further errors as `session.cancel` does.
        """
        row = order_row(self.orders.rows(), order_id)
        request = CancelOrders((CancelItem(self._code(row), int(row["order_id"])),))
        return self._sign_and_send(request, f"cancelled order {order_id}")

    def cancel_all(self) -> list[Receipt]:
        """Cancel all shown orders.

        Returns
        -------
        list of Receipt
            One for each product and kind of order.

        Raises
        ------
        LimitReached
            While the panel is locked.
        """
        receipts = []
        # One request cancels either the resting or the untriggered orders of one product.
        orders = self._shown(self.orders.rows())
        for code, untriggered in sorted({(self._code(one), is_untriggered(one)) for one in orders}):
            receipts.append(self._sign_and_send(CancelAll(code, untriggered), "cancelled all orders"))
        return receipts

    def close_position(self, symbol: str, size: str | None = None) -> list[Receipt]:
        """Close the position in a product at market, reduce-only.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        size : str or None, optional
            Size that it is expected to have, such as "−0.5" (default: any).

        Returns
        -------
        list of Receipt
            One for each leg.

        Raises
        ------
        InputError
            When there is no position, or its size has changed.
        LimitReached
            While the panel is locked.

        Notes
        -----
        It raises further errors as `session.place` does.
        """
        row, sizes = self._position(symbol)
        doubted = self._watch.doubted().get(symbol)
        if not sizes and doubted is None:
            message = f"there is no position in {symbol} to close"
            raise InputError(message, field="symbol", rule="position", value=symbol)
        # The position may have changed since the button was drawn; the click was meant for the size it showed.
        shown = "" if row is None else size_text(row)
        if doubted is None and size is not None and size != shown:
            message = f"the position in {symbol} is {shown} now, not {size}. Check it and try again"
            raise InputError(message, field="size", value=size)
        modes = [row["position_mode"] == "HEDGE"] if row is not None else [False, True]
        if doubted is not None:  # the venue takes of both sizes what there is
            sizes += [leg * doubted.step_size for leg in (doubted.longs, -doubted.shorts) if leg]
        # Reduce-only: a position that is closed meanwhile is not turned around.
        receipts, refusal = list[Receipt](), None
        for one, hedge in product(sizes, modes):
            order = close_position(symbol, one, hedge=hedge)
            try:
                receipts.append(self._sign_and_send(order, f"closed {trimmed(abs(one))} {symbol}"))
            except ActionRejected as error:
                refusal = error
        if refusal is not None and (doubted is None or not receipts):
            raise refusal
        return receipts

    def close_all(self) -> Prepared:
        """Start the review of closing all shown positions at market, reduce-only, in one request.

        Returns
        -------
        Prepared
            What `confirm` will sign.

        Raises
        ------
        InputError
            Without any position.

        Notes
        -----
        It raises further errors as `session.prepare` does.
        """
        self._start_review()
        held = [(one, size) for one in self._shown(self.positions.rows()) for size in legs(one)]
        if not held:
            message = f"there is no position to close: {self._subject}"
            raise InputError(message, field="symbol", rule="position", value=self._only)
        orders = [close_position(one["symbol"], size, hedge=one["position_mode"] == "HEDGE") for one, size in held]
        words = ", ".join(f"{trimmed(size)} {one['symbol']}" for one, size in held)
        return self._begin_review(orders, f"Close all positions at market: {words}", "close", EVERY)

    def reverse(self, symbol: str) -> Prepared:
        """Start the review of turning a position into one of the other direction.

        The size stays the same.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".

        Returns
        -------
        Prepared
            What `confirm` will sign.

        Raises
        ------
        InputError
            In hedge mode, and without a position of one leg.

        Notes
        -----
        It raises further errors as `session.prepare` does.
        """
        self._start_review()
        row, size = self._single(symbol)
        if row["position_mode"] == "HEDGE":
            message = f"{symbol} is in hedge mode: close the position and open the other leg"
            raise InputError(message, field="symbol", rule="one-way", value=symbol)
        # Twice the size in one order. Two orders could leave the account without the second one.
        order = Order(symbol, "SELL" if size > 0 else "BUY", format(2 * abs(size), "f"), tif="IOC")
        words = f"Reverse the {symbol} position: {trimmed(size)} → {trimmed(-size)}"
        return self._begin_review(order, words, "reverse", symbol)

    def amend(self, order_id: int | str, price: str = "", quantity: str = "") -> Prepared:
        """Start the review of a new price or quantity of an open order.

        Parameters
        ----------
        order_id : int or str
            Number of the order.
        price : str, optional
            New limit price in USDC, of a trigger order its trigger (default: as it is).
        quantity : str, optional
            New quantity in base units (default: as it is).

        Returns
        -------
        Prepared
            What `confirm` will sign.

        Raises
        ------
        InputError
            Without the order, or without a price and a quantity.
        CheckFailed
            When the new order breaks a rule.

        Notes
        -----
        It raises further errors as `session.prepare` does.
        """
        self._start_review()
        row = order_row(self.orders.rows(), order_id)
        if not (price or quantity):
            raise InputError("give a new price or a new quantity", field="price", rule="required", value=price)
        product = self._products.find(row["symbol"])
        return self._review_replacement(product, order_id, price=price, quantity=quantity)

    def reduce(self, symbol: str, share: int | None = None, quantity: str = "") -> Prepared:
        """Start the review of closing a part of a position.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        share : int or None, optional
            Part in percent, 1 to 100, rounded down to whole steps (default: none).
        quantity : str, optional
            Part in base units, which counts before `share` (default: none).

        Returns
        -------
        Prepared
            What `confirm` will sign.

        Raises
        ------
        InputError
            For a part that the position does not have.

        Notes
        -----
        It raises further errors as `session.prepare` does.
        """
        self._start_review()
        row, size = self._single(symbol)
        product, whole = self._products.find(symbol), trimmed(abs(size))
        if not quantity:
            if share is None or not 0 < share <= 100:
                raise InputError(f"share {share} must be 1 to 100 percent", field="share", rule="share", value=share)
            quantity = format(product.round_quantity(abs(size) * share / 100, "down"), "f")
        part = Decimal(product.steps(quantity)) * product.step_size
        # Of a small position a share may be less than one step.
        if not 0 < part <= abs(size):
            message = f"quantity {quantity} must be above 0 and at most the position's {whole}"
            raise InputError(message, field="quantity", rule="position", value=quantity, nearest=(whole,))
        order = close_position(symbol, part if size > 0 else -part, hedge=row["position_mode"] == "HEDGE")
        return self._begin_review(order, f"Close {quantity} of the {whole} {symbol}", "close", symbol)

    def _on_receipt(self, receipt: Receipt) -> None:
        self.notice, self.problem = f"{self._question['verb']}: {receipt.state.lower()}", ""

    def _code(self, row: Mapping[str, Any]) -> int:
        """Return the product code of a row. Orders of the feed as published have the symbol only."""
        return int(row["symbol_code"] or self._products.find(row["symbol"]).code)

    def _sign_and_send(self, request: Any, notice: str) -> Receipt:
        if self.lock:
            raise LimitReached(f"nothing was signed, because the panel is locked: {self.lock}", limit="stale")
        prepared = self._session.intents.prepare(request)
        receipt = self._session.intents.send(prepared, confirmed=True)
        self.notice, self.problem = notice, ""
        self.refresh()
        return receipt

    def _commands(self) -> dict[str, Any]:
        return {
            **self._review_commands(),
            "cancel": confirmed(self.cancel),
            "cancelAll": confirmed(self.cancel_all),
            "parent": confirmed(self._act_on_parent),
            "close": confirmed(self.close_position),
            "closeAll": self.close_all,
            "reverse": self.reverse,
            "amend": self.amend,
            "reduce": self.reduce,
            "setExit": self.set_exit,
        }

    def _act_on_parent(self, parent: str, act: str) -> None:
        order = self._session.parent_orders.get(parent)
        if act == "resume":
            self._check_review()  # it signs, as a review does
            order.resume(confirmed=True)
        else:
            order.cancel()
        self.notice, self.problem = f"{order.plan.twap.describe()}: {order.status.lower()}", ""
        self._parents = (0.0, [])
        self.refresh()

    def _parent_rows(self) -> list[dict[str, Any]]:
        """Return the parent orders that are open, and the last ones that have ended. Read once per second."""
        if time.monotonic() - self._parents[0] > PARENTS_SECONDS:
            runner = self._session._parents
            found = [parent_row(one, runner.status(one)) for one in runner.plans()]
            shown = [one for one in found if self._only in (None, one["symbol"])]
            ended = [one for one in shown if not one["open"]][-PARENTS:]
            rows = [one for one in reversed(shown) if one["open"] or one in ended]
            self._parents = (time.monotonic(), rows)
        return self._parents[1]

    def _shown(self, rows: list[Any]) -> list[Any]:
        return [one for one in rows if self._only is None or one["symbol"] == self._only]

    def _make_view(self) -> dict[str, Any]:
        orders, account = self.orders.rows(), self._account
        rows = account.marked_positions(self.tickers)
        histories: dict[str, list[Any]] = {"fills": [], "events": [], "funding": []}
        name, make, count = _HISTORIES[self.history]
        latest = self._shown(self._histories[self.history].rows())
        if name == "fills":  # the feed as published leaves out what a fill has realised, and the type of earlier ones
            latest, found = latest[-count:], self._watch.results
            unknown = any(one["type"] is None for one in latest)
            types = {one["order_id"]: one["type"] for one in self._histories["orders"].rows()} if unknown else {}
            latest = [
                {
                    **one,
                    "realized_pnl": one.get("realized_pnl") or found.get(one["exec_id"]),
                    "type": one["type"] or types.get(one["order_id"]),
                }
                for one in latest
            ]
        # With its place in the history, which is part of its id.
        histories[name] = [make(len(latest) - at, one) for at, one in enumerate(latest[: -count - 1 : -1])]
        return {
            "symbol": self._only or "",
            "positions": self._position_rows(rows, orders),
            "orders": [open_order_row(one) for one in self._shown(orders)],
            "parents": self._parent_rows(),
            "history": self.history,
            **histories,
            "mainnet": self._session.environment.is_mainnet,
            "readOnly": not can_sign(self._session),
            "notice": self.notice,
            "review": self._review_view(),
        }

    def _position_rows(self, rows: list[Any], orders: list[Any]) -> list[dict[str, Any]]:
        """Return the rows of positions. Where orders and fills contradict one, it has both sizes, and no more."""
        found = {one["symbol"]: self._position_row(one, rows, orders) for one in self._shown(rows)}
        for symbol, book in self._watch.doubted().items():
            if self._only in (None, symbol):
                none = {"symbol": symbol, "size": "nothing", "one": False} | dict.fromkeys(EXITS.values(), "")
                shown = found.get(symbol, none)
                kept = {name: shown[name] for name in none}
                unknown = dict.fromkeys(_OF_POSITION, UNKNOWN)
                found[symbol] = unknown | kept | {"size": either_size(shown["size"], book)}
        return list(found.values())

    def _position_row(self, row: Row, rows: list[Any], orders: list[Any]) -> dict[str, Any]:
        product, mark, size = self._products.get(row["symbol"]), row["mark_price"], net_size(row)
        liquidation = UNKNOWN_PRICE if mark else NO_PRICE
        if product is not None and mark and not self._watch.money_doubted:
            liquidation = self._account.liquidation(product, mark, rows)
        # What it received, negative: paid, in the funding history.
        payments = [one["amount"] or _ZERO for one in self._funding.rows() if one["symbol"] == row["symbol"]]
        funding, exits = sum(payments, _ZERO), exits_of(row["symbol"], orders)
        value = row["long_entry_value"] + row["short_entry_value"]
        held = row["long_size"] + abs(row["short_size"])
        pnl = pnl_of(row, mark) if mark else row["unrealized_pnl"]
        needed = value / row["leverage"] if row["leverage"] else None
        tick = product.tick_size if product is not None else _TICK
        return {
            "symbol": row["symbol"],
            "side": "▲ long" if size > 0 else "▼ short" if size < 0 else "▲▼ hedged",
            "size": size_text(row),
            "entry": in_units(value / held, tick) if held else MISSING,
            "mark": in_units(mark, tick),
            "liquidation": liquidation.text(tick, MISSING),
            "margin": money(row["assigned_margin"] if row["margin_mode"] == "ISOLATED" else needed),
            "pnl": signed(pnl),
            "roi": change(pnl / needed) if needed else "",
            "funding": signed(funding) if funding else MISSING,
            "leverage": f"{trimmed(row['leverage'])}x {str(row['margin_mode']).lower()}",
            "exits": " / ".join(grouped(Decimal(exits[one][1])) if one in exits else "–" for one in EXITS.values()),
            **{name: exits.get(name, ("", ""))[1] for name in EXITS.values()},
            "one": len(legs(row)) == 1,
        }

    def _lines(self) -> Iterable[str]:
        positions, orders = self._shown(self.positions.rows()), self._shown(self.orders.rows())
        held = ", ".join(f"{size_text(one)} {one['symbol']}" for one in positions) or "no positions"
        return (f"{self._subject}: {held}, {len(orders)} open order{'' if len(orders) == 1 else 's'}",)

    def _snapshot(self) -> str:
        positions = {"symbol": "product", "side": "", "size": "", "entry": "", "mark": "", "pnl": "PnL"}
        orders = {"symbol": "product", "side": "", "kind": "", "price": "", "quantity": "remaining / total"}
        held = static_view.records(positions, self.view["positions"], "no positions")
        resting = static_view.records(orders, self.view["orders"], "no open orders")
        return static_view.heading("Positions") + held + static_view.heading("Open orders") + resting


def is_untriggered(row: Row) -> bool:
    """Return whether an order waits for its trigger.

    Parameters
    ----------
    row : Row
        Row of the live object.
    """
    return bool(row["status"] == UNTRIGGERED)


def legs(row: Row) -> list[Decimal]:
    """Return the sizes of a position's legs, negative for a short one.

    Parameters
    ----------
    row : Row
        Row of the live object.
    """
    return [one for one in (row["long_size"], -abs(row["short_size"])) if one]


def exits_of(symbol: str, orders: Iterable[Row]) -> dict[str, tuple[str, str]]:
    """Return order number and trigger price of the waiting exits of a position.

    The keys are "take_profit" and "stop_loss".

    Parameters
    ----------
    symbol : str
        Product symbol, such as "BTCUSDC".
    orders : iterable of Row
        Rows of open orders.
    """
    own = [one for one in orders if one["symbol"] == symbol and is_untriggered(one)]
    named = ((EXITS.get(str(one["reduce_only"])), one) for one in own)
    return {name: (str(one["order_id"]), format(one["trigger_price"], "f")) for name, one in named if name}


def exit_kind(price: Decimal | str, mark: Decimal, size: Decimal) -> str:
    """Return whether an exit at a price is a take_profit or a stop_loss.

    It is a take_profit on the side where the position gains.

    Parameters
    ----------
    price : Decimal or str
        Trigger price in USDC.
    mark : Decimal
        Mark price in USDC.
    size : Decimal
        Size of the position, negative for a short.
    """
    return "take_profit" if (Decimal(price) > mark) == (size > 0) else "stop_loss"


def size_text(row: Row) -> str:
    """Return the size of a position, of a hedged one that of both legs.

    Parameters
    ----------
    row : Row
        Row of the live object.
    """
    return " / ".join(map(trimmed, legs(row))) or trimmed(Decimal(0))


def either_size(shown: str, counted: Book) -> str:
    """Return both sizes of a position that orders and fills contradict.

    Parameters
    ----------
    shown : str
        Size as the positions show it.
    counted : Book
        Position by orders and fills.
    """
    return f"{shown}, or {in_words(counted.step_size, (counted.longs, counted.shorts))} by orders and fills"


def open_order_row(row: Row) -> dict[str, Any]:
    """Return an open order as the page shows it.

    Parameters
    ----------
    row : Row
        Row of the live object.
    """
    option = _KINDS.get(str(row["reduce_only"]), "")
    trigger = row.get("trigger_price")
    # A trigger order is known by what it does to the position; its time in force says nothing more.
    if trigger and option:
        words = [option, "limit" if row["price"] else ""]
    else:
        words = [kind_text(row["type"]), str(row["tif"] or "").lower().replace("_", " "), option]
    price = grouped(row["price"]) if row["price"] else "" if trigger else "market"
    if trigger:
        price = f"{price} when {grouped(trigger)}".strip()
    moves = trigger or row["price"]
    whole = not row["quantity"]
    return {
        "id": str(row["order_id"]),
        "symbol": row["symbol"],
        "side": side_text(row["side"]),
        "kind": " ".join(word for word in words if word),
        "price": price,
        "quantity": "whole position" if whole else f"{trimmed(row['remaining'])} / {trimmed(row['quantity'])}",
        "move": format(moves, "f") if moves else "",
        "total": "" if whole else format(row["quantity"], "f"),
    }


def parent_row(plan: Plan, status: str) -> dict[str, Any]:
    """Return a parent order as the page shows it.

    Parameters
    ----------
    plan : object
        Plan of the parent order.
    status : str
        Status, such as "RUNNING".
    """
    twap, price = plan.twap, plan.average_price
    running = status == "RUNNING" and plan.done < twap.slices
    return {
        "id": plan.id,
        "symbol": twap.symbol,
        "side": side_text(twap.side),
        "kind": "twap" + (" reduce-only" if twap.reduce_only else ""),
        "filled": f"{trimmed(plan.filled)} / {trimmed(Decimal(twap.quantity))}",
        "average": MISSING if price is None else mean_text(price, 4),
        "orders": f"{plan.done} / {twap.slices}",
        "next": f"{datetime.fromtimestamp(plan.due_ms / 1000, UTC):%H:%M:%S}" if running else "",
        "status": status.lower(),
        "message": plan.why,
        "open": status in ("RUNNING", "INTERRUPTED"),
        "idle": status == "INTERRUPTED",
    }


def kind_text(kind: object) -> str:
    """Return the type of an order in words.

    "liquidation" is an order of the venue, not a sell by the user.

    Parameters
    ----------
    kind : object
        Type as the feed names it, `None` for an unknown one.
    """
    return str(kind or "").lower().replace("_", " ")


def fill_row(_: int, row: Row) -> dict[str, Any]:
    """Return a fill as the page shows it.

    Parameters
    ----------
    row : Row
        Row of the live object.
    """
    fee = (row["open_fee"] or _ZERO) + (row["close_fee"] or _ZERO)
    return {
        "time": f"{row['time']:%m-%d %H:%M:%S}",
        "symbol": row["symbol"],
        "side": side_text(row["side"]),
        "kind": kind_text(row["type"]) or MISSING,
        "price": grouped(row["price"]),
        "quantity": trimmed(row["quantity"]),
        "fee": money(fee, 4),
        "pnl": signed(row.get("realized_pnl")) if row.get("realized_pnl") else "",
        "id": f"{row['exec_id']}/{row['order_id']}",
    }


def event_row(place: int, row: Row) -> dict[str, Any]:
    """Return an event of an order as the page shows it.

    Parameters
    ----------
    place : int
        Place in the history, which makes the row's id unique.
    row : Row
        Row of the live object.
    """
    filled = row.get("fill_quantity")
    what = f"{trimmed(filled)} at {grouped(row['fill_price'])}" if filled else str(row.get("reason") or "")
    return {
        "time": f"{row['time']:%m-%d %H:%M:%S}" if row["time"] else "",
        "symbol": row["symbol"],
        "side": side_text(row["side"]),
        "kind": kind_text(row["type"]),
        "order": str(row["order_id"]),
        "status": str(row["status"]).removeprefix("ORDER_STATUS_").lower().replace("_", " "),
        "price": grouped(row["price"]) if row["price"] else "market",
        "quantity": trimmed(row["quantity"]),
        "what": what,
        "id": f"{place}/{row['order_id']}",
    }


def funding_row(place: int, row: Row) -> dict[str, Any]:
    """Return a funding payment as the page shows it.

    Parameters
    ----------
    place : int
        Place in the history, which makes the row's id unique.
    row : Row
        Row of the live object.
    """
    return {
        "time": f"{row['time']:%m-%d %H:%M}" if row["time"] else "",
        "symbol": row["symbol"],
        "side": str(row["side"] or "").lower(),
        "size": trimmed(row["size"]),
        "rate": MISSING if row["funding_rate"] is None else f"{row['funding_rate'] * 100:.4f} %".replace("-", "−"),
        "amount": signed(row["amount"], 4),
        "id": f"{place}/{row['symbol']}",
    }


_HISTORIES = {
    "fills": ("fills", fill_row, FILLS),
    "orders": ("events", event_row, HISTORY),
    "funding": ("funding", funding_row, HISTORY),
}
"""History → its name in the view, what makes a row of it, and how many are shown."""
