"""The tools of an agent: a session's reads, orders that a repeated call does not repeat, backtests, and the stop.

A tool is a method of `Tools`. Its signature is its schema. The agent reads the description of its docstring, and that
of each parameter. `**order` stands for the parameters of `order_of`.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from ...client.reads.reading import whole
from ...errors import CheckFailed, InputError, LimitReached, ToolkitError
from ...numerals import milliseconds
from ...orders import Bracket, Order, close_position, order, stop
from ...orders import take_profit as make_take_profit
from ...protocol.enums import OrderSide
from ...protocol.orders.order_actions import OrderAction
from ...sides import side_of, sign_of

if TYPE_CHECKING:
    import pandas as pd

    from ...client.orders.intents import Intent
    from ...client.orders.receipts import Receipt
    from ...protocol.orders.items import OrderItem
    from ...session import Session

MOST_ROWS, LONGEST_DAYS, LONGEST_ADVANCE_MS = 200, 60, 7 * 86_400_000
RECENT = 1_000
"""Requests of the ledger that are searched for a key."""
PRODUCT = [
    *("symbol", "tick_size", "step_size", "min_order_value", "max_order_quantity", "max_leverage", "max_slippage"),
    *("maker_fee_rate", "taker_fee_rate"),
]
ORDER = [
    *("order_id", "symbol", "side", "type", "status", "price", "quantity", "filled", "trigger_price", "tif"),
    *("reduce_only", "time"),
]
FILL = ["time", "symbol", "side", "price", "quantity", "fee", "realized_pnl", "order_id", "role"]
CANDLE = ["time", "open", "high", "low", "close", "volume"]


class Tools:
    """The tools on one session: READING ones, TRADING ones where it can sign, TIME ones on a venue in this process.

    Calls may come from several threads. Those that place orders run one at a time, so that of two with the same key the
    second finds the order of the first.

    Parameters
    ----------
    session : Session
        Session that the agent may use.
    """

    READING = ("products", "prices", "candles", "book", "account", "orders", "fills", "backtest", "luck")
    TRADING = ("preview", "place", "replace", "cancel", "close", "protect", "leverage", "margin_mode", "stop")
    TIME = ("advance",)

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = threading.Lock()

    @property
    def environment(self) -> str:
        """Name of the environment, which each answer has."""
        return str(self._session.environment.name)

    def names(self) -> tuple[str, ...]:
        """Return the tools that this session has. Mainnet is only read."""
        s = self._session
        trades = not s.environment.is_mainnet and s.wallet is not None and s.wallet.agent is not None
        return self.READING + (self.TRADING if trades else ()) + (self.TIME if s._local is not None else ())

    def products(self) -> Any:
        """The products: tick and step size, smallest and largest order, leverage, fees."""
        return _rows(self._session.products(index=None), PRODUCT)

    def prices(self) -> Any:
        """Last, mark and index price, 24 h change and funding rate of every product."""
        return _rows(self._session.tickers(index=None))

    def candles(self, symbol: str, interval: str = "1h", limit: int = 50) -> Any:
        """The last candles of a product, oldest first.

        Parameters
        ----------
        symbol : str
            Product symbol.
        interval : str, optional
            Length of a candle, such as 1m, 15m, 1h or 1d (default: "1h").
        limit : int, optional
            Number of candles, 1 to 200 (default: 50).
        """
        most = _bounded("limit", limit, MOST_ROWS)
        return _rows(self._session.klines(symbol, interval, limit=most, progress=False, index=None), CANDLE)

    def book(self, symbol: str, depth: int = 10) -> Any:
        """The order book of a product.

        Parameters
        ----------
        symbol : str
            Product symbol.
        depth : int, optional
            Levels a side, 1 to 50 (default: 10).
        """
        return _rows(self._session.order_book(symbol, _bounded("depth", depth, 50)))

    def account(self) -> Any:
        """Balances, positions, open orders, the limits that hold, and whether trading was stopped."""
        s, limits = self._session, self._session.limits.values
        given = {} if limits is None else {name: getattr(limits, name) for name in limits.__slots__}
        balances = _rows(s.wallet_balances(), ["currency", "balance", "available", "equity"])
        return {
            "environment": s.environment.name,
            "account": s.account,
            "time": _time(s.clock.now_ms()),  # after an answer of the venue, which has its time
            "balances": balances,
            "positions": _rows(s.positions(index=None).drop(columns="account")),
            "open_orders": _rows(s.orders(open=True, progress=False), ORDER),
            "limits": {name: value for name, value in given.items() if value is not None},
            "stopped": s.limits.stopped,
        }

    def orders(self, symbol: str | None = None, limit: int = 20) -> Any:
        """The orders of the last 7 days with their outcome, newest last.

        Parameters
        ----------
        symbol : str or None, optional
            Product symbol (default: all products).
        limit : int, optional
            Number of orders, 1 to 200 (default: 20).
        """
        found = self._session.orders(symbol, "7d", progress=False).sort_values("order_id")
        return _rows(found.tail(_bounded("limit", limit, MOST_ROWS)), ORDER)

    def fills(self, symbol: str | None = None, limit: int = 20) -> Any:
        """The fills of the last 7 days, newest last.

        Parameters
        ----------
        symbol : str or None, optional
            Product symbol (default: all products).
        limit : int, optional
            Number of fills, 1 to 200 (default: 20).
        """
        found = self._session.fills(symbol, "7d", progress=False).sort_values("time")
        return _rows(found.tail(_bounded("limit", limit, MOST_ROWS)), FILL)

    def backtest(
        self, rule: str, symbol: str, interval: str = "1h", days: int = 30, fast: int = 10, slow: int = 30,
        share: float = 0.5,
    ) -> Any:  # fmt: skip
        """Backtest a strategy on the last days of candles, with fees and funding.

        Each different one is a trial.

        Parameters
        ----------
        rule : str
            Name of the rule: sma-cross, ema-cross, breakout, reversion or hold.
        symbol : str
            Product symbol.
        interval : str, optional
            Length of a bar, such as 1h (default: "1h").
        days : int, optional
            Length of the test, 1 to 60 days (default: 30).
        fast : int, optional
            Bars of the fast average, below slow (default: 10).
        slow : int, optional
            Bars of the slow average, at most 500 (default: 30).
        share : float, optional
            Part of equity in the position, above 0, at most 1 (default: 0.5).
        """
        from ...research import backtest
        from .strategies import Named

        start = f"{_bounded('days', days, LONGEST_DAYS)}d"
        chosen = Named(rule=rule, fast=fast, slow=slow, share=share).checked()
        bars = self._session.klines(symbol, interval, start, progress=False, closed=True)
        run = backtest(chosen, {symbol: bars}, interval=interval)
        measures = run.measures()
        return {"bars": len(bars), **measures, **run.luck()}

    def luck(self) -> Any:
        """How many backtests were tried, and what the best of so many shows without skill."""
        from ...research import luck, trials

        chance = luck.expected_max_sharpe(len(trials), trials.variance()) if len(trials) > 1 else None
        return {"trials": len(trials), "best": trials.frame()["sharpe"].max(), "best_without_skill": chance}

    def preview(self, **order: Any) -> Any:
        """Check an order by all rules and limits.

        Nothing is signed or sent. Parameters as in place, without key.

        Parameters
        ----------
        **order : object
            Parameters of `order_of`, without a client id.
        """
        made = order_of(**order)
        try:
            self._session.intents.prepare(made)
        except (CheckFailed, LimitReached) as error:
            found = error.failures if isinstance(error, CheckFailed) else (error,)
            problems = [getattr(each, "message", str(each)) for each in found]
            return {"order": made.entry.describe(), "passes": False, "problems": problems}
        return {"order": made.entry.describe(), "passes": True, "problems": []}

    def place(self, key: str, **order: Any) -> Any:
        """Place an order.

        The same key is the same order, however often it is called: in doubt repeat the call.

        Parameters
        ----------
        key : str
            Your name of this decision, 1 to 64 characters. A new decision needs a new key.
        **order : object
            Parameters of `order_of`, without a client id.
        """
        number = self._id(key)
        made = order_of(**order, cl_ord_id=number)
        with self._lock:
            return self._placed(number, made)

    def _placed(self, number: int, made: Order | Bracket) -> Any:
        """Place an order with this client id, or return that of an earlier call. Raises InputError for another one."""
        found, intent = self._known(number)
        if found is None:
            return self._outcome(self._session.place(made), made.symbol, repeated=False)
        product = self._session.product(made.symbol)
        if intent is not None and isinstance(intent.asked, OrderAction):
            same = [_wish(item) for item in intent.asked.orders] == [_wish(leg.item(product.code)) for leg in made.legs]
        else:  # the ledger of that call is gone, so only what the venue shows of the entry can be compared
            row, order = found.rows.get(0, {}), made.entry
            was = found.symbol, str(row.get("qty")), str(row.get("price") or 0), str(row.get("side"))
            sides = {str(code.value): code.name for code in OrderSide}
            now = product.code, order.quantity, order.price or "0", order.side
            same = _numbers(was[:3]) == _numbers(now[:3]) and sign_of(sides.get(was[3], "")) == sign_of(now[3])
            same = same and isinstance(made, Order)
        if not same:
            what = f"this key names another order already ({found!r}), not {made.describe()}. Use another key"
            raise InputError(what, field="key", rule="once")
        return self._outcome(found, made.symbol, repeated=True)

    def replace(
        self, key: str | None = None, order_id: str | None = None, price: str | None = None, quantity: str | None = None
    ) -> Any:
        """Change price or quantity of an open order, by key or order_id. Repeated, it changes nothing more.

        Parameters
        ----------
        key : str or None, optional
            Key of the order in place (default: none).
        order_id : str or None, optional
            Number of the order (default: none).
        price : str or None, optional
            New price in USDC (default: unchanged).
        quantity : str or None, optional
            New total quantity, the filled part included (default: unchanged).
        """
        if (key is None) == (order_id is None) or (price is None and quantity is None):
            raise InputError("replace takes key or order_id, and price, quantity or both", field="key", rule="one")
        s = self._session
        given: Any = (self._id(key), "cl_ord_id") if key else (order_id, "order_id")
        with self._lock:
            found = s.order(given[0], by=given[1])
            rows: list[Any] = s.orders(open=True, exact=True, progress=False).to_dict("records")
            row = next((one for one in rows if str(one["order_id"]) == str(found.order_id)), None)
            if row is None:
                raise InputError(f"the order has ended: {found.status}", field="order_id", rule="open")
            reduce_only = None if row["reduce_only"] in (None, "NONE") else row["reduce_only"]
            size, limit = quantity or f"{row['quantity']:f}", price or f"{row['price']:f}"
            if (Decimal(size), Decimal(limit)) != (row["quantity"], row["price"]):
                new = order(row["symbol"], row["side"], size, limit, tif=row["tif"], reduce_only=reduce_only)
                found = s.replace(found, new.entry)
            return self._outcome(found, row["symbol"])

    def protect(
        self, key: str, symbol: str, stop_loss: str | None = None, take_profit: str | None = None,
        leg: Literal["LONG", "SHORT"] | None = None,
    ) -> Any:  # fmt: skip
        """Close an open position at a trigger price: a stop, a take-profit or both, for the whole position.

        Parameters
        ----------
        key : str
            As in place. Other prices need another key.
        symbol : str
            Product symbol.
        stop_loss : str or None, optional
            Trigger price in USDC (default: none).
        take_profit : str or None, optional
            Trigger price in USDC (default: none).
        leg : {"LONG", "SHORT"} or None, optional
            Leg in hedge mode, where both are open (default: the one that is).
        """
        prices = {"SL": (stop_loss, stop), "TP": (take_profit, make_take_profit)}
        if not (stop_loss or take_profit):
            raise InputError("give stop_loss, take_profit or both", field="stop_loss", rule="required")
        self._id(key)
        with self._lock:
            sides = self._session.positions(symbol)["side"].tolist()
            if (leg is None and len(sides) != 1) or (leg is not None and leg not in sides):
                held = " and ".join(sides) or "nothing"
                raise InputError(f"{symbol} holds {held}. Give the leg that is open", field="leg", rule="one leg")
            way = -1 if (leg or sides[0]) == "LONG" else 1
            made = []
            for name, (trigger, make) in prices.items():
                if trigger is not None:
                    number = self._id(f"{key} {name}", 80)
                    exit = replace(make(symbol, side_of(way), trigger), cl_ord_id=number)
                    made.append(self._placed(number, exit))
        return made

    def leverage(self, symbol: str, leverage: str) -> Any:
        """Set the leverage of a product.

        Parameters
        ----------
        symbol : str
            Product symbol.
        leverage : str
            Notional over margin, from 1 to max_leverage.
        """
        made = self._session.exchange.set_leverage(symbol, leverage)
        return {"symbol": symbol, "leverage": leverage, "status": made.status}

    def margin_mode(self, symbol: str, mode: Literal["CROSS", "ISOLATED"]) -> Any:
        """Set the margin mode of a product.

        Parameters
        ----------
        symbol : str
            Product symbol.
        mode : {"CROSS", "ISOLATED"}
            CROSS shares the balance among positions. ISOLATED gives each its own margin.
        """
        made = self._session.exchange.set_margin_mode(symbol, mode)
        return {"symbol": symbol, "margin_mode": mode, "status": made.status}

    def cancel(self, key: str | None = None, order_id: str | None = None, symbol: str | None = None) -> Any:
        """Cancel one order, by key or order_id, or all of a symbol.

        One that has ended stays as it is.

        Parameters
        ----------
        key : str or None, optional
            Key of the order in place (default: none).
        order_id : str or None, optional
            Number of the order (default: none).
        symbol : str or None, optional
            Product symbol, whose orders are all cancelled (default: none).
        """
        if (many := sum(map(bool, (key, order_id, symbol)))) != 1:
            raise InputError(f"cancel takes one of key, order_id and symbol, not {many}", field="key", rule="one")
        if symbol:
            receipts = self._session.cancel_all(symbol)
            return {"cancelled": sum(len(each.results) for each in receipts)}
        given: Any = (self._id(key), "cl_ord_id") if key else (order_id, "order_id")
        found = self._session.order(given[0], by=given[1])
        if not found.is_final:
            found.cancel()
            found = self._session.order(given[0], by=given[1])
        return self._outcome(found)

    def close(self, key: str, symbol: str) -> Any:
        """Close the position of a product at market, reduce-only: one order for each leg, none without a position.

        Parameters
        ----------
        key : str
            As in place. The same key closes once: what was open at its first call.
        symbol : str
            Product symbol.
        """
        name, ledger, symbol = f"close {self._id(key)}", self._session._delivery.ledger, symbol.upper()
        with self._lock:
            held = {row["side"]: row for row in self._session.positions(symbol, exact=True).to_dict("records")}
            meant = " ".join([symbol, *held])
            # Kept before anything is sent: a repeated call closes these legs, and none that was opened since.
            first = ledger.note(name, None, meant)
            symbol_then, *legs = (meant if first else ledger.notes()[name]).split()
            if symbol_then != symbol:
                what = f"this key has closed {symbol_then} already, not {symbol}. Use another key"
                raise InputError(what, field="key", rule="once")
            made = []
            for side in legs:
                row, number = held.get(side), self._id(f"{key} {side}", 80)
                if (found := self._known(number)[0]) is not None:
                    made.append(self._outcome(found, symbol, repeated=True))
                elif row is not None:
                    size = row["size"] if side == "LONG" else -row["size"]
                    order = close_position(symbol, size, hedge=row["position_mode"] == "HEDGE", cl_ord_id=number)
                    made.append(self._outcome(self._session.place(order), symbol, repeated=False))
            if first and not legs:  # the list may hide it, which its orders, fills or the wallet show
                with suppress(InputError):
                    orders = self._session.close_position(symbol).orders
                    made = [self._outcome(one, symbol, repeated=False) for one in orders if one.results[0].accepted]
        return made

    def stop(self, reason: str) -> Any:
        """Stop trading: end parent orders and runs, cancel all orders, refuse new ones.

        Only a person can resume.

        Parameters
        ----------
        reason : str
            Why, in words.
        """
        return _rows(self._session.limits.stop(reason))

    def advance(self, span: str) -> Any:
        """Let time pass on the local venue.

        Parameters
        ----------
        span : str
            Time to pass, such as 30s, 15m or 4h, at most 7d.
        """
        venue = self._session._local
        if venue is None or venue.host.clock.runs:
            raise InputError("time passes without advance here, which needs a manual clock", field="span", rule="clock")
        if not 0 < milliseconds(span, "span") <= LONGEST_ADVANCE_MS:
            raise InputError(f"span {span} must be above 0 and at most 7d", field="span", rule="range", value=span)
        venue.advance(span)
        return {"time": _time(venue.host.now_ms())}

    def _id(self, key: str, most: int = 64) -> int:
        """Return the client id that stands for a key of this account: below 2^52, above those that sessions make."""
        if not 1 <= len(key) <= most:
            raise InputError(f"key has {len(key)} characters. Give 1 to 64", field="key", rule="length")
        digest = hashlib.sha256(f"{self._session.account} {key}".encode()).digest()
        return (1 << 51) + int.from_bytes(digest[:8]) % (1 << 51)

    def _outcome(self, found: Receipt, symbol: object = None, **more: object) -> dict[str, Any]:
        """Return what became of an order."""
        if symbol is None and found.symbol is not None:
            symbol = self._session.product(found.symbol).symbol
        names = ("order_id", "status", "filled", "average_price", "reason")
        values = {name: None if (value := getattr(found, name)) is None else str(value) for name in names}
        return {"symbol": symbol, **values, **more}

    def _known(self, number: int) -> tuple[Receipt | None, Intent | None]:
        """Return the order with this client id and its intent, None where there is none.

        Raises ToolkitError while it is in doubt.
        """
        s, known = self._session, None
        for intent in reversed(s._delivery.ledger.all(None, RECENT)):
            if number in intent.client_ids and intent.environment == s.environment.label:
                if not intent.settled:
                    s.resolve(intent.id)
                    intent = s.intents.get(intent.id)
                if not intent.settled:
                    raise ToolkitError(f"this order is {intent.state}. Repeat the call with the same key to ask again")
                if intent.state != "ACCEPTED":
                    return None, None  # refused: it may be tried again
                known = intent
                break
        try:
            return s.order(number, by="cl_ord_id"), known
        except InputError:
            return None, None


def order_of(
    symbol: str,
    side: Literal["BUY", "SELL"],
    quantity: str,
    price: str | None = None,
    tif: Literal["GTC", "IOC", "FOK", "POST_ONLY"] | None = None,
    reduce_only: bool = False,
    take_profit: str | None = None,
    stop_loss: str | None = None,
    cl_ord_id: int | None = None,
) -> Order | Bracket:
    """Return the order of a call.

    Parameters
    ----------
    symbol : str
        Product symbol.
    side : {"BUY", "SELL"}
        BUY or SELL.
    quantity : str
        Base units, a multiple of step_size.
    price : str or None, optional
        USDC, a multiple of tick_size (default: a market order).
    tif : {"GTC", "IOC", "FOK", "POST_ONLY"} or None, optional
        Time in force (default: GTC, of market orders IOC).
    reduce_only : bool, optional
        True only reduces the position (default: `False`).
    take_profit : str or None, optional
        Trigger price in USDC (default: none).
    stop_loss : str or None, optional
        Trigger price in USDC (default: none).
    cl_ord_id : object, optional
        Client id of the order (default: none).

    Raises
    ------
    InputError
        If the order breaks a rule that needs no product.
    """
    options: dict[str, Any] = {"tif": tif, "reduce_only": reduce_only or None, "tp": take_profit, "sl": stop_loss}
    return order(symbol, side, quantity, price, cl_ord_id=cl_ord_id, **options)


def _wish(item: OrderItem) -> tuple[object, ...]:
    """Return what an order was to do, in whichever position mode it was sent."""
    numbers = _numbers((item.quantity, item.price, item.trigger_price or "0"))
    kind = item.reduce_only if item.trigger_price else item.reduces
    return item.product, sign_of(item.side), item.tif, kind, *numbers


def _numbers(texts: Iterable[object]) -> tuple[Decimal, ...]:
    return tuple(Decimal(str(text)) for text in texts)


def _rows(table: pd.DataFrame, names: list[str] | None = None) -> Any:
    """Return the last rows of a table as mappings: times as ISO text, NaN as None.

    An agent acts on them, so it raises BadAnswer for a table that may not have all rows.
    """
    shown = (whole(table) if names is None else whole(table)[names]).tail(MOST_ROWS)
    return json.loads(shown.to_json(orient="records", date_format="iso"))


def _time(now_ms: int) -> str:
    return datetime.fromtimestamp(now_ms / 1000, UTC).isoformat()


def _bounded(name: str, value: int, most: int) -> int:
    if not 1 <= value <= most:
        raise InputError(f"{name} {value} must be 1 to {most}", field=name, rule="range", value=value)
    return value
