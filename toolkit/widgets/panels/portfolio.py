"""Widgets of an account: positions, open orders and histories with buttons, and the wallet."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import traitlets

from ...client.parent_orders.parents import status_of
from ...errors import InputError, LimitReached
from ...orders import Order, close_position, stop, take_profit
from ..base_panel import static_view
from ..base_panel.number_format import MISSING, money, percent, short, signed, trimmed
from ..base_panel.panel import Panel, can_sign, confirmed, module
from ..base_panel.review import ReviewedPanel, order_row
from ..order_ticket.holdings import AccountStreams, row_of
from .blotter_rows import (
    event_row,
    exits_of,
    fill_row,
    funding_row,
    is_untriggered,
    legs,
    open_order_row,
    parent_row,
    position_row,
    size_text,
)

if TYPE_CHECKING:
    from ...client.orders.delivery import Prepared
    from ...client.orders.receipts import Receipt
    from ...session import Session

FILLS = 12
PARENTS = 5
"""Parent orders that have ended are shown up to this number."""
PARENTS_SECONDS = 1.0
"""Time between two reads of the parent orders, because each one reads the ledger's file."""
HISTORY = 200
"""Rows of a history that is shown."""
_ZERO = Decimal(0)
_MAKERS = {"take_profit": take_profit, "stop_loss": stop}


class Blotter(ReviewedPanel):
    """Open positions and orders of the account, with buttons to close and cancel, and its histories.

    A button asks for confirmation before anything is signed; what changes an order or a part of a position is reviewed
    as in a ticket. Tables are sorted by a click on a column and copied as CSV. `symbol` limits it to one product. From
    Python: `cancel(order_id)`, `cancel_all()`, `close_position(symbol)`, and `amend`, `reduce` and `set_exit`, which
    start a review.
    """

    _esm = module("base_panel/common.js", "base_panel/review.js", "base_panel/table.js", "panels/blotter.js")

    history = traitlets.Enum(("fills", "orders", "funding"), "fills").tag(sync=True)
    """The history that is shown."""

    def __init__(self, session: Session, symbol: str | int | None = None) -> None:
        self._only = None if symbol is None else session.product(symbol).symbol
        self._products = session._product_table()
        super().__init__(session, self._only or "all products")
        stream = session.stream
        self._account = AccountStreams(session, self._products)
        self.positions, self.orders = self._account.positions, self._account.orders
        self.fills, self.tickers = stream.fills(), stream.tickers()
        self._events, self._funding = stream.order_history(), stream.funding()
        self._parents: tuple[float, list[dict[str, Any]]] = (0.0, [])
        self.notice = ""
        """The result of the last command, in words."""
        self._follow(self.positions, self.orders)
        others = (self.fills, self.tickers, self._events, self._funding, self._account.wallet, self._account.leverages)
        self._follow(*others, needed=False)
        self.observe(self._on_change, "history")
        self.refresh()

    def cancel(self, order_id: int | str) -> Receipt:
        """Cancel an open order. Raises InputError when there is none with this id, and as `session.cancel` does."""
        row = order_row(self.orders.rows(), order_id)
        item = {"symbolCode": str(self._code(row)), "ordId": str(row["order_id"])}
        return self._sign_and_send({"type": "cancelOrder", "cancels": [item]}, f"cancelled order {order_id}")

    def cancel_all(self) -> list[Receipt]:
        """Cancel all shown orders, and return a receipt for each product and kind."""
        receipts = []
        # One request cancels either the resting or the untriggered orders of one product.
        orders = self._shown(self.orders.rows())
        for code, untriggered in sorted({(self._code(one), is_untriggered(one)) for one in orders}):
            payload = {"type": "cancelAll", "symbolCode": code, "conditionalOrder": untriggered}
            receipts.append(self._sign_and_send(payload, "cancelled all orders"))
        return receipts

    def close_position(self, symbol: str, size: str | None = None) -> list[Receipt]:
        """Close the position in a product at market, reduce-only. `size` is its expected size, e.g. "−0.5".

        Raises InputError when there is none or its size has changed, and as `session.place` does.
        """
        row = row_of(self.positions.rows(), symbol)
        sizes = [] if row is None else legs(row)
        if row is None or not sizes:
            message = f"there is no position in {symbol} to close"
            raise InputError(message, field="symbol", rule="position", value=symbol)
        # The position may have changed since the button was drawn; the click was meant for the size it showed.
        shown = size_text(row)
        if size is not None and size != shown:
            message = f"the position in {symbol} is {shown} now, not {size}; check it and try again"
            raise InputError(message, field="size", value=size)
        hedge = row["position_mode"] == "HEDGE"
        orders = [(close_position(symbol, one, hedge=hedge), one) for one in sizes]
        return [self._sign_and_send(order, f"closed {trimmed(abs(one))} {symbol}") for order, one in orders]

    def amend(self, order_id: int | str, price: str = "", quantity: str = "") -> Prepared:
        """Start the review of a change of an open order's price (of a trigger order: its trigger) or quantity.

        Raises InputError without the order, CheckFailed when the new one breaks a rule, and as `session.prepare` does.
        """
        self._start_review()
        row = order_row(self.orders.rows(), order_id)
        if not (price or quantity):
            raise InputError("give a new price or a new quantity", field="price", rule="required", value=price)
        product = self._products.find(row["symbol"])
        return self._review_replacement(product, order_id, price=price, quantity=quantity)

    def reduce(self, symbol: str, share: int | None = None, quantity: str = "") -> Prepared:
        """Start the review of closing a part of a position at market: `share` (percent, in whole steps) or `quantity`.

        Raises InputError for another part, and as `session.prepare` does.
        """
        self._start_review()
        row, size = self._single(symbol)
        product = self._products.find(symbol)
        if not quantity:
            if share is None or not 0 < share <= 100:
                raise InputError(f"share {share} must be 1 to 100 percent", field="share", rule="share", value=share)
            quantity = format(product.round_quantity(abs(size) * share / 100, "down"), "f")
        part = Decimal(product.steps(quantity)) * product.step_size
        if not 0 < part <= abs(size):
            raise InputError(
                f"quantity {quantity} must be above 0 and at most the position's {trimmed(abs(size))}",
                field="quantity", rule="position", value=quantity, nearest=(trimmed(abs(size)),),
            )  # fmt: skip
        order = close_position(symbol, part if size > 0 else -part, hedge=row["position_mode"] == "HEDGE")
        return self._begin_review(order, f"Close {quantity} of the {trimmed(abs(size))} {symbol}", "close", symbol)

    def set_exit(self, symbol: str, kind: str, price: str) -> Prepared:
        """Start the review of a position's take_profit or stop_loss at the trigger `price`; "" cancels it.

        One that waits is changed, otherwise one of the whole position is placed. Raises InputError without a position,
        CheckFailed when it breaks a rule, and as `session.prepare` does.
        """
        self._start_review()
        row, size = self._single(symbol)
        if kind not in _MAKERS:
            raise InputError(f"kind {kind!r} is not known", field="kind", rule="known", nearest=tuple(_MAKERS))
        product, words = self._products.find(symbol), kind.replace("_", " ")
        waiting = exits_of(symbol, self.orders.rows()).get(kind)
        if waiting is None and not price:
            raise InputError(f"give the trigger price of the {words}", field=kind, rule="required", value=price)
        if waiting is None:
            side = ("SELL" if size > 0 else "BUY") + ("_CLOSE_HEDGE" if row["position_mode"] == "HEDGE" else "")
            order: Order = _MAKERS[kind](symbol, side, price)
            return self._begin_review(order.check(product), f"Place {order.describe()}", "place", symbol)
        if price:
            return self._review_replacement(product, waiting[0], price=price)
        item = {"symbolCode": str(product.code), "ordId": waiting[0]}
        text = f"Cancel the {words} of {symbol} at {waiting[1]}"
        return self._begin_review({"type": "cancelOrder", "cancels": [item]}, text, "cancel", symbol)

    def _single(self, symbol: str) -> tuple[Mapping[str, Any], Decimal]:
        """Return a position of one leg, and its size."""
        row = row_of(self.positions.rows(), symbol)
        sizes = [] if row is None else legs(row)
        if row is None or len(sizes) != 1:
            which = "no position" if not sizes else "a long and a short position"
            raise InputError(f"there is {which} in {symbol}", field="symbol", rule="position", value=symbol)
        return row, sizes[0]

    def _on_receipt(self, receipt: Receipt) -> None:
        self.notice, self.problem = f"{self._question['verb']}: {receipt.state.lower()}", ""

    def _code(self, row: Mapping[str, Any]) -> int:
        """Return the product code of a row; orders of the feed as published have the symbol only."""
        return int(row["symbol_code"] or self._products.find(row["symbol"]).code)

    def _sign_and_send(self, request: Any, notice: str) -> Receipt:
        if self.lock:
            raise LimitReached(f"locked: {self.lock}; nothing was signed", limit="stale")
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
        """Return the parent orders that are open, and the last ones that have ended; read once a second."""
        if time.monotonic() - self._parents[0] > PARENTS_SECONDS:
            runner = self._session._parents
            found = [parent_row(one, status_of(one, runner)) for one in runner.plans()]
            shown = [one for one in found if self._only in (None, one["symbol"])]
            ended = [one for one in shown if not one["open"]][-PARENTS:]
            rows = [one for one in reversed(shown) if one["open"] or one in ended]
            self._parents = (time.monotonic(), rows)
        return self._parents[1]

    def _shown(self, rows: list[Any]) -> list[Any]:
        return [one for one in rows if self._only is None or one["symbol"] == self._only]

    def _make_view(self) -> dict[str, Any]:
        env = self._session.environment
        orders = self.orders.rows()
        return {
            "symbol": self._only or "",
            "positions": self._position_rows(orders),
            "orders": [open_order_row(one) for one in self._shown(orders)],
            "parents": self._parent_rows(),
            "history": self.history,
            "fills": [fill_row(one) for one in self._latest(self.fills, FILLS)] if self.history == "fills" else [],
            "events": self._numbered(self._events, event_row) if self.history == "orders" else [],
            "funding": self._numbered(self._funding, funding_row) if self.history == "funding" else [],
            "mainnet": env.is_mainnet,
            "readOnly": not can_sign(self._session),
            "notice": self.notice,
            "review": self._review_view(),
        }

    def _latest(self, live: Any, count: int) -> list[Any]:
        return self._shown(live.rows())[: -count - 1 : -1]

    def _numbered(self, live: Any, make: Any) -> list[dict[str, Any]]:
        """Return the latest rows of a history, each with its place in it as its id."""
        rows = self._shown(live.rows())
        return [make(len(rows) - place, one) for place, one in enumerate(rows[: -HISTORY - 1 : -1])]

    def _position_rows(self, orders: list[Any]) -> list[dict[str, Any]]:
        rows, funding = self._account.marked_positions(self.tickers), self._funding.rows()
        found = []
        for one in self._shown(rows):
            symbol, mark = one["symbol"], one["mark_price"]
            product = self._products.get(symbol)
            liquidation = self._account.liquidation(product, mark, rows) if product is not None and mark else None
            paid = sum((row["amount"] or _ZERO for row in funding if row["symbol"] == symbol), _ZERO)
            found.append(position_row(one, product, mark, liquidation, paid, exits_of(symbol, orders)))
        return found

    def _lines(self) -> Iterable[str]:
        positions, orders = self._shown(self.positions.rows()), self._shown(self.orders.rows())
        held = ", ".join(f"{size_text(one)} {one['symbol']}" for one in positions) or "no positions"
        return (f"{self._subject}: {held}; {len(orders)} open order{'' if len(orders) == 1 else 's'}",)

    def _snapshot(self) -> str:
        positions = {"symbol": "product", "side": "", "size": "", "entry": "", "mark": "", "pnl": "PnL"}
        orders = {"symbol": "product", "side": "", "kind": "", "price": "", "quantity": "remaining / total"}
        return (
            static_view.heading("Positions")
            + static_view.records(positions, self.view["positions"], "no positions")
            + static_view.heading("Open orders")
            + static_view.records(orders, self.view["orders"], "no open orders")
        )


class Account(Panel):
    """The wallet of the account: equity, balance, available and withdrawable amounts, margin in use, fee rates."""

    _esm = module("base_panel/common.js", "panels/sheet.js")

    def __init__(self, session: Session) -> None:
        super().__init__(session, "account")
        self.live = session.stream.account()
        self.positions = session.stream.positions()
        self._follow(self.live, self.positions)
        self.refresh()

    def _make_view(self) -> dict[str, Any]:
        wallet = self.live.value
        equity, available, balance = (wallet.get(name) for name in ("equity", "available", "balance"))
        used = equity - available if equity is not None and available is not None else None
        share = used / equity if used is not None and equity and equity > 0 else _ZERO
        held = self.positions.rows()
        pnl = sum((row.get("unrealized_pnl") or _ZERO for row in held), _ZERO)
        isolated = sum((row.get("assigned_margin") or _ZERO for row in held), _ZERO)
        fees = [percent(wallet.get(name), 3) for name in ("maker_fee_rate", "taker_fee_rate")]
        env, status = self._session.environment, str(wallet.get("status") or MISSING)
        name = short(str(self._session.account or ""))
        unusual = status not in ("NORMAL", MISSING)
        return {
            "title": "Account",
            "note": " · ".join([name, env.name, *([status] if unusual else [])]),
            "danger": env.is_mainnet or unusual,
            "meter": {
                "name": "Margin in use",
                "share": round(float(min(max(share, _ZERO), Decimal(1))), 4),
                "words": f"{percent(share, 1)} of equity is in use as margin",
            },
            "account": name,
            "environment": env.name,
            "mainnet": env.is_mainnet,
            "status": status,
            "rows": [
                ["Equity", money(equity), "balance, isolated margins and unrealised PnL"],
                ["Unrealised PnL", signed(pnl), "of open positions, at mark price"],
                ["Balance", money(balance), "cash, excluding isolated margins"],
                *([["Isolated", money(isolated), "margins of isolated positions"]] if isolated else []),
                ["Margin in use", money(used), "used by positions and orders"],
                ["Available", money(available), "for new positions and orders"],
                ["Withdrawable", money(wallet.get("withdrawable")), "excluding unrealised PnL"],
                ["Fees", " / ".join(fees), "maker / taker"],
            ],
        }

    def _lines(self) -> Iterable[str]:
        wallet = self.live.value
        equity, available = money(wallet.get("equity")), money(wallet.get("available"))
        return (f"{short(str(self._session.account or ''))}: equity {equity}, available {available} USDC",)

    def _snapshot(self) -> str:
        view = self.view
        return static_view.heading(f"Account {view['account']}", view["environment"]) + static_view.pairs(view["rows"])
