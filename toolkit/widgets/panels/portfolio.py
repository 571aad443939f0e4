"""Widgets of an account: positions and open orders with buttons, and the wallet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ...errors import InputError, LimitReached
from ...orders import close_position
from ..base_panel import static_view
from ..base_panel.number_format import MISSING, change, grouped, money, percent, short, side_text, signed, trimmed
from ..base_panel.panel import Panel, can_sign, module

if TYPE_CHECKING:
    from ...client.orders.receipts import Receipt
    from ...session import Session

FILLS = 12
_ZERO = Decimal(0)
_KINDS = {"TP_FROM_POSITION": "take profit", "SL_FROM_POSITION": "stop loss", "REDUCE_ONLY": "reduce-only"}


class Blotter(Panel):
    """Open positions and orders of the account, with buttons to close and cancel, and its latest fills.

    A button asks for confirmation before anything is signed. `symbol` limits it to one product. From Python:
    `cancel(order_id)`, `cancel_all()`, `close_position(symbol)`.
    """

    _esm = module("base_panel/common.js", "panels/blotter.js")

    def __init__(self, session: Session, symbol: str | int | None = None) -> None:
        self._only = None if symbol is None else session.product(symbol).symbol
        self._products = session.product_table()
        super().__init__(session, self._only or "all products")
        stream = session.stream
        self.positions, self.orders, self.fills = stream.positions(), stream.orders(), stream.fills()
        self.tickers = stream.tickers()
        self.notice = ""
        """The result of the last command, in words."""
        self._follow(self.positions, self.orders)
        self._follow(self.fills, self.tickers, needed=False)
        self.refresh()

    def cancel(self, order_id: int | str) -> Receipt:
        """Cancel an open order. Raises InputError when there is none with this id, and as `session.cancel` does."""
        row = next((one for one in self.orders.rows() if str(one["order_id"]) == str(order_id)), None)
        if row is None:
            raise InputError(
                f"there is no open order {order_id}", field="order_id", rule="open order", value=str(order_id)
            )
        item = {"symbolCode": str(self._code(row)), "ordId": str(row["order_id"])}
        return self._sign_and_send({"type": "cancelOrder", "cancels": [item]}, f"cancelled order {order_id}")

    def cancel_all(self) -> list[Receipt]:
        """Cancel all shown orders, and return a receipt for each product and kind."""
        receipts = []
        # One request cancels either the resting or the untriggered orders of one product.
        orders = self._shown(self.orders.rows())
        for code, untriggered in sorted({(self._code(one), _is_untriggered(one)) for one in orders}):
            payload = {"type": "cancelAll", "symbolCode": code, "conditionalOrder": untriggered}
            receipts.append(self._sign_and_send(payload, "cancelled all orders"))
        return receipts

    def close_position(self, symbol: str, size: str | None = None) -> list[Receipt]:
        """Close the position in a product at market, reduce-only. `size` is its expected size, e.g. "−0.5".

        Raises InputError when there is none or its size has changed, and as `session.place` does.
        """
        row = next((one for one in self.positions.rows() if one["symbol"] == symbol), None)
        sizes = [] if row is None else [one for one in (row["long_size"], -abs(row["short_size"])) if one]
        if row is None or not sizes:
            raise InputError(
                f"there is no position in {symbol} to close", field="symbol", rule="position", value=symbol
            )
        # The position may have changed since the button was drawn; the click was meant for the size it showed.
        shown = _size_text(row)
        if size is not None and size != shown:
            raise InputError(
                f"the position in {symbol} is {shown} now, not {size}; check it and try again", field="size", value=size
            )
        hedge = row["position_mode"] == "HEDGE"
        orders = [close_position(symbol, one, hedge=hedge) for one in sizes]
        return [
            self._sign_and_send(one, f"closed {trimmed(abs(size))} {symbol}")
            for one, size in zip(orders, sizes, strict=True)
        ]

    def _code(self, row: Mapping[str, Any]) -> int:
        """Return the product code of a row; orders of the feed as published have the symbol only."""
        return int(row["symbol_code"] or self._products.find(row["symbol"]).code)

    def _sign_and_send(self, request: Any, notice: str) -> Receipt:
        if self.lock:
            raise LimitReached(f"locked: {self.lock}; nothing was signed", limit="stale")
        prepared = self._session.prepare(request)
        receipt = self._session.send_prepared(prepared, confirmed=True)
        self.notice, self.problem = notice, ""
        self.refresh()
        return receipt

    def _commands(self) -> dict[str, Any]:
        return {"cancel": self._clicked_cancel, "cancelAll": self._clicked_all, "close": self._clicked_close}

    def _clicked_cancel(self, order: str, confirmed: bool = False) -> None:
        if confirmed is True:
            self.cancel(order)

    def _clicked_all(self, confirmed: bool = False) -> None:
        if confirmed is True:
            self.cancel_all()

    def _clicked_close(self, symbol: str, size: str, confirmed: bool = False) -> None:
        if confirmed is True:
            self.close_position(symbol, size)

    def _shown(self, rows: list[Any]) -> list[Any]:
        return [one for one in rows if self._only is None or one["symbol"] == self._only]

    def _make_view(self) -> dict[str, Any]:
        positions = [self._position(one) for one in self._shown(self.positions.rows())]
        orders = [_order(one) for one in self._shown(self.orders.rows())]
        fills = [_fill(one) for one in reversed(self._shown(self.fills.rows())[-FILLS:])]
        env = self._session.environment
        return {
            "symbol": self._only or "",
            "positions": positions,
            "orders": orders,
            "fills": fills,
            "mainnet": env.is_mainnet,
            "readOnly": not can_sign(self._session),
            "notice": self.notice,
        }

    def _position(self, row: Mapping[str, Any]) -> dict[str, Any]:
        size = row["long_size"] - abs(row["short_size"])
        value = row["long_entry_value"] + row["short_entry_value"]
        held = row["long_size"] + abs(row["short_size"])
        # Tickers come several times a second, positions only when they change.
        ticker = next((one for one in self.tickers.rows() if one["symbol"] == row["symbol"]), None)
        mark = ticker["mark_price"] if ticker else row["mark_price"]
        pnl = (size * mark - row["long_entry_value"] + row["short_entry_value"]) if mark else row["unrealized_pnl"]
        margin = value / row["leverage"] if row["leverage"] else None
        return {
            "symbol": row["symbol"],
            "side": "▲ long" if size > 0 else "▼ short" if size < 0 else "▲▼ hedged",
            "size": _size_text(row),
            "entry": grouped((value / held).quantize(self._tick(row["symbol"]))) if held else MISSING,
            "mark": grouped(mark),
            "pnl": signed(pnl),
            "roi": change(pnl / margin) if margin else "",
            "leverage": f"{trimmed(row['leverage'])}x {str(row['margin_mode']).lower()}",
        }

    def _tick(self, symbol: str) -> Decimal:
        product = self._products.get(symbol)
        return product.tick_size if product is not None else Decimal("0.0001")

    def _lines(self) -> Iterable[str]:
        positions, orders = self._shown(self.positions.rows()), self._shown(self.orders.rows())
        held = ", ".join(f"{_size_text(one)} {one['symbol']}" for one in positions) or "no positions"
        return (f"{self._subject}: {held}; {len(orders)} open order{'' if len(orders) == 1 else 's'}",)

    def _snapshot(self) -> str:
        view = self.view
        positions = [
            tuple(one[name] for name in ("symbol", "side", "size", "entry", "mark", "pnl")) for one in view["positions"]
        ]
        orders = [
            tuple(one[name] for name in ("symbol", "side", "kind", "price", "quantity")) for one in view["orders"]
        ]
        return (
            static_view.heading("Positions")
            + static_view.table(("product", "side", "size", "entry", "mark", "PnL"), positions, "no positions")
            + static_view.heading("Open orders")
            + static_view.table(("product", "side", "kind", "price", "remaining / total"), orders, "no open orders")
        )


def _is_untriggered(row: Mapping[str, Any]) -> bool:
    return bool(row["status"] == "ORDER_STATUS_UNTRIGGERED")


def _size_text(row: Mapping[str, Any]) -> str:
    long, short_size = row["long_size"], abs(row["short_size"])
    if long and short_size:
        return f"{trimmed(long)} / {trimmed(-short_size)}"
    return trimmed(long - short_size)


def _order(row: Mapping[str, Any]) -> dict[str, Any]:
    option = _KINDS.get(str(row["reduce_only"]), "")
    trigger = row.get("trigger_price")
    # A trigger order is known by what it does to the position; its time in force says nothing more.
    if trigger and option:
        words = [option, "limit" if row["price"] else ""]
    else:
        words = [str(row["type"]).lower().replace("_", " "), str(row["tif"] or "").lower().replace("_", " "), option]
    price = grouped(row["price"]) if row["price"] else "market"
    if trigger:
        price = f"{price} when {grouped(trigger)}" if row["price"] else f"when {grouped(trigger)}"
    return {
        "id": str(row["order_id"]),
        "symbol": row["symbol"],
        "side": side_text(row["side"]),
        "kind": " ".join(word for word in words if word),
        "price": price,
        "quantity": f"{trimmed(row['remaining'])} / {trimmed(row['quantity'])}"
        if row["quantity"]
        else "whole position",
    }


def _fill(row: Mapping[str, Any]) -> dict[str, Any]:
    fee = (row["open_fee"] or _ZERO) + (row["close_fee"] or _ZERO)
    return {
        "time": f"{row['time']:%H:%M:%S}",
        "symbol": row["symbol"],
        "side": side_text(row["side"]),
        "price": grouped(row["price"]),
        "quantity": trimmed(row["quantity"]),
        "fee": money(fee),
        "pnl": signed(row.get("realized_pnl")) if row.get("realized_pnl") else "",
        "id": f"{row['exec_id']}/{row['order_id']}",
    }


class Account(Panel):
    """The wallet of the account: equity, balance, available and withdrawable amounts, margin in use, fee rates."""

    _esm = module("base_panel/common.js", "panels/account.js")

    def __init__(self, session: Session) -> None:
        super().__init__(session, "account")
        self.live = session.stream.account()
        self.positions = session.stream.positions()
        self._follow(self.live, self.positions)
        self.refresh()

    def _make_view(self) -> dict[str, Any]:
        wallet = self.live.value
        equity, available = wallet.get("equity"), wallet.get("available")
        balance = wallet.get("balance")
        used = equity - available if equity is not None and available is not None else None
        share = used / equity if used is not None and equity and equity > 0 else _ZERO
        held = self.positions.rows()
        pnl = sum((row.get("unrealized_pnl") or _ZERO for row in held), _ZERO)
        isolated = sum((row.get("assigned_margin") or _ZERO for row in held), _ZERO)
        env = self._session.environment
        return {
            "account": short(str(self._session.account or "")),
            "environment": env.name,
            "mainnet": env.is_mainnet,
            "status": str(wallet.get("status") or MISSING),
            "used": round(float(min(max(share, _ZERO), Decimal(1))), 4),
            "usedText": percent(share, 1),
            "rows": [
                ["Equity", money(equity), "balance, isolated margins and unrealised PnL"],
                ["Unrealised PnL", signed(pnl), "of open positions, at mark price"],
                ["Balance", money(balance), "cash, excluding isolated margins"],
                *([["Isolated", money(isolated), "margins of isolated positions"]] if isolated else []),
                ["Margin in use", money(used), "used by positions and orders"],
                ["Available", money(available), "for new positions and orders"],
                ["Withdrawable", money(wallet.get("withdrawable")), "excluding unrealised PnL"],
                [
                    "Fees",
                    f"{percent(wallet.get('maker_fee_rate'), 3)} / {percent(wallet.get('taker_fee_rate'), 3)}",
                    "maker / taker",
                ],
            ],
        }

    def _lines(self) -> Iterable[str]:
        wallet = self.live.value
        equity, available = money(wallet.get("equity")), money(wallet.get("available"))
        return (f"{short(str(self._session.account or ''))}: equity {equity}, available {available} USDC",)

    def _snapshot(self) -> str:
        view = self.view
        return static_view.heading(f"Account {view['account']}", view["environment"]) + static_view.pairs(
            (one[0], one[1]) for one in view["rows"]
        )
