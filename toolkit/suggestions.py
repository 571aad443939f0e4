"""AttributeErrors that say which name was meant: the nearest one here, or ours for a name of another library."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from inspect import Signature
from typing import TYPE_CHECKING, Any

from .errors import InputError, UnknownKeyword

# fmt: off
OURS: Mapping[str, tuple[str, ...]] = {
    "toolkit.connect()": (
        "Exchange", "Info", "Client", "AsyncClient", "Hyperliquid", "hyperliquid", "binance", "ccxt"
    ),
    "toolkit.research.backtest": ("backtest", "Backtest"),
    "toolkit.venue.local.LocalVenue": ("LocalVenue", "Venue"),
    "session.products()": (
        "fetch_markets", "load_markets", "markets", "meta", "spot_meta", "get_exchange_info",
        "futures_exchange_info", "get_symbol_info", "symbols", "instruments"
    ),
    "session.klines(symbol, interval)": (
        "fetch_ohlcv", "candles_snapshot", "get_klines", "get_historical_klines", "futures_klines",
        "futures_historical_klines", "candles", "candle", "ohlcv", "bars", "history", "kline"
    ),
    "session.funding_rates()": ("fetch_funding_rate", "fetch_funding_rates", "funding_rate", "meta_and_asset_ctxs"),
    "session.info.funding_rate_history(symbol)": (
        "fetch_funding_rate_history", "funding_history", "futures_funding_rate"
    ),
    "session.info.funding_payments()": ("fetch_funding_history", "user_funding_history"),
    "session.wallet_balances()": (
        "fetch_balance", "balance", "balances", "get_account", "get_asset_balance", "futures_account",
        "futures_account_balance", "equity", "wallet_balance"
    ),
    "session.positions()": (
        "fetch_position", "fetch_positions", "user_state", "futures_position_information", "get_positions",
        "position", "pnl"
    ),
    "session.orders()": (
        "fetch_orders", "fetch_closed_orders", "historical_orders", "get_all_orders", "futures_get_all_orders"
    ),
    "session.orders(open=True)": (
        "fetch_open_orders", "open_orders", "frontend_open_orders", "get_open_orders", "futures_get_open_orders"
    ),
    "session.order(id)": (
        "fetch_order", "query_order_by_oid", "query_order_by_cloid", "get_order", "futures_get_order"
    ),
    "session.fills()": (
        "fetch_my_trades", "user_fills", "user_fills_by_time", "get_my_trades", "futures_account_trades",
        "my_trades"
    ),
    "session.info.ledger()": ("fetch_ledger", "user_non_funding_ledger_updates", "futures_income_history"),
    "session.buy(symbol, quantity, price) or session.sell(…)": (
        "create_order", "create_limit_order", "create_market_order", "create_limit_buy_order",
        "create_limit_sell_order", "create_market_buy_order", "create_market_sell_order", "market_open",
        "order_limit", "order_limit_buy", "order_limit_sell", "order_market", "order_market_buy",
        "order_market_sell", "futures_create_order", "market_order", "limit_order", "long", "short"
    ),
    "session.place(toolkit.orders.stop(…))": (
        "stop_order", "create_stop_order", "create_stop_limit_order", "create_stop_market_order"
    ),
    "session.place([…])": ("create_orders", "bulk_orders", "place_orders", "futures_place_batch_order"),
    "session.intents.prepare(order)": ("create_test_order", "futures_create_test_order"),
    "session.replace(order, new)": (
        "edit_order", "modify_order", "modify", "amend", "amend_order", "bulk_modify_orders",
        "futures_modify_order"
    ),
    "session.cancel(order)": (
        "cancel_order", "cancel_orders", "bulk_cancel", "cancel_by_cloid", "bulk_cancel_by_cloid",
        "futures_cancel_order", "futures_cancel_orders"
    ),
    "session.cancel_all(symbol)": ("cancel_all_orders", "futures_cancel_all_open_orders"),
    "session.close_position(symbol)": ("market_close", "close_all_positions", "close_all", "flatten"),
    "session.exchange.set_leverage(symbol, leverage)": ("update_leverage", "futures_change_leverage", "leverage"),
    "session.exchange.set_margin_mode(symbol, mode)": ("futures_change_margin_type",),
    "session.exchange.assign_pos_margin(symbol, amount)": (
        "add_margin", "reduce_margin", "update_isolated_margin", "futures_change_position_margin"
    ),
    "session.exchange.withdraw(destination, amount)": ("withdraw_from_bridge",),
    "session.exchange.usd_send(to, amount)": ("usd_transfer",),
    "session.exchange.vault_deposit(vault, amount)": ("vault_usd_transfer",),
    "session.exchange.approve_agent()": ("add_agent",),
    "session.order_book(symbol)": (
        "fetch_order_book", "get_order_book", "futures_order_book", "l2_book", "depth", "book"
    ),
    "session.trades(symbol)": ("fetch_trades", "get_recent_trades", "futures_recent_trades"),
    "session.ticker(symbol)": (
        "fetch_ticker", "get_ticker", "get_symbol_ticker", "futures_ticker", "futures_mark_price", "price",
        "last_price", "mark_price", "index_price", "oracle_price", "open_interest", "fetch_open_interest"
    ),
    "session.clock.now_ms()": ("time", "server_time", "fetch_time", "get_server_time"),
    "toolkit.research.record(session, path, symbols), as the exchange keeps no history of it": (
        "mark_price_history", "index_price_history", "open_interest_history", "fetch_open_interest_history",
        "fetch_mark_ohlcv", "fetch_index_ohlcv", "futures_open_interest_hist", "futures_mark_price_klines",
        "futures_index_price_klines"
    ),
    "session.tickers()": ("fetch_tickers", "all_mids", "get_all_tickers"),
    "session.fee_rates()": (
        "fetch_trading_fees", "fetch_trading_fee", "user_fees", "get_trade_fee", "futures_commission_rate"
    ),
    "session.stream.order_book(symbol)": ("watch_order_book", "l2_snapshot"),
    "session.stream.trades(symbol)": ("watch_trades",),
    "session.stream.ticker(symbol)": ("watch_ticker",),
    "session.stream.tickers()": ("watch_tickers",),
    "session.stream.candles(symbol)": ("watch_ohlcv",),
    "session.stream.orders()": ("watch_orders",),
    "session.stream.fills()": ("watch_my_trades",),
    "session.stream.positions()": ("watch_positions",),
    "session.stream.account()": ("watch_balance",),
    "session.stream": ("subscribe", "ws", "websocket"),
    "session.venue.advance(span)": ("tick", "mine", "evm_mine", "evm_increase_time", "time_travel", "sleep", "wait"),
    "session.venue.snapshot()": ("evm_snapshot",),
    "session.venue.revert(snapshot)": ("evm_revert", "rollback"),
    "session.venue.control.set_oracle(product, price)": (
        "set_oracle", "set_price", "set_mark_price", "set_oracle_price"
    ),
    "session.venue.control.fund(address, amount)": ("deal", "set_balance", "faucet"),
}
"""Name in the toolkit → its names in other libraries. The order of the parameters is not theirs.

The names are those of ccxt, hyperliquid-python-sdk and python-binance, in this order.
"""

_OUR_WORDS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("sl", "stop_loss"), ("stop", "stop_loss", "stop_price", "stop_loss_price", "stopprice", "sl")),
    (("tp", "take_profit"), ("take_profit", "take_profit_price", "target", "tp")),
    (("depth",), ("limit", "levels")),
    (("limit",), ("count", "n", "bars")),
    (("price",), ("limit", "limit_price", "px")),
    (("value",), ("notional", "cost", "usd", "amount_usd", "quote_quantity", "quoteorderqty")),
    (("quantity",), ("qty", "size", "amount", "sz", "contracts", "volume")),
    (("tif",), ("time_in_force", "timeinforce", "post_only")),
    (("cl_ord_id",), ("cloid", "client_order_id", "newclientorderid", "clordid")),
    (("reduce_only",), ("reduceonly",)),
    (("trigger_price",), ("trigger", "triggerprice")),
    (("type",), ("order_type", "ordertype")),
    (("symbol",), ("market", "pair", "product", "instrument", "coin", "ticker")),
    (("interval",), ("timeframe", "period", "resolution")),
    (("start",), ("since", "from_", "begin", "starttime")),
    (("end",), ("until", "to", "endtime")),
    (("fees",), ("commission", "fee")),
    (("capital",), ("cash", "initial_capital", "balance")),
    (("duration",), ("minutes", "seconds", "hours")),
    (("expiry_after",), ("expiry", "good_till", "expires")),
    (("BUY",), ("long", "bid", "b")),
    (("SELL",), ("short", "ask", "s")),
    (("POST_ONLY",), ("gtx", "alo", "maker", "post")),
    (("GTC",), ("day",)),
    (("CROSS",), ("crossed",)),
    (("ISOLATED",), ("iso",)),
    (("mainnet",), ("prod", "production", "main", "live")),
    (("testnet",), ("test", "demo", "paper")),
)
"""Our words → arguments or values of other libraries, in lower case. A function takes one of ours."""

_ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    'Leverage is a setting of the product, session.exchange.set_leverage(symbol, leverage)': ("leverage", "lev"),
    'It is a setting of the product, session.exchange.set_margin_mode(symbol, mode)': (
        "margin_mode", "margin_type", "isolated"
    ),
    'In hedge mode the side says it, toolkit.orders.order(symbol, "BUY_CLOSE_HEDGE", …)': (
        "position_side", "positionside", "pos_side"
    ),
    'The exchange has keys of wallets only, toolkit.Wallet.from_keyfile(path)': (
        "api_key", "apikey", "secret", "api_secret"
    ),
}
# fmt: on
"""Where the toolkit sets it → arguments of other libraries, in lower case."""


def meant(word: object, known: Iterable[str]) -> str:
    """Return ". Did you mean …?" for a word that is not known: our word for it, else the nearest, "" for neither.

    Parameters
    ----------
    word : object
        What was given.
    known : iterable of str
        Words that pass.

    Examples
    --------
    >>> meant("LONG", ["BUY", "SELL"]), meant("stop", ["tp", "sl"]), meant("GTCC", ["GTC", "IOC"]), meant(5, ["GTC"])
    (". Did you mean 'BUY'?", ". Did you mean 'sl'?", ". Did you mean 'GTC'?", '')
    """
    names, theirs = list(known), str(word).lower()
    ours = next((one for own, words in _OUR_WORDS if theirs in words for one in own if one in names), None)
    hint = repr(ours) if ours else _nearest(str(word).upper(), names) or _nearest(str(word), names)
    return f". Did you mean {hint}?" if hint else ""


def no_attribute(owner: str, name: str, names: Iterable[str] = (), better: str = "") -> AttributeError:
    """Return the error for a missing attribute: with advice, else our name for it, else the nearest names.

    Parameters
    ----------
    owner : str
        The object in words, such as "'Session' object".
    name : str
        The missing attribute.
    names : iterable of str, optional
        Names that exist (default: none).
    better : str, optional
        Name or call to use instead (default: "").

    Examples
    --------
    >>> str(no_attribute("'Session' object", "fetch_balance"))
    "'Session' object has no attribute 'fetch_balance'. Use session.wallet_balances()"
    >>> str(no_attribute("'Session' object", "postions", ["positions", "orders"]))
    "'Session' object has no attribute 'postions'. Did you mean 'positions'?"
    """
    message = f"{owner} has no attribute {name!r}"
    # Python itself, copy, pickle and IPython probe names that begin with an underscore; those stay cheap.
    if not name.startswith("_"):
        if better := better or next((ours for ours, names in OURS.items() if name in names), ""):
            message += f". Use {better}"
        elif nearest := _nearest(name, names):
            message += f". Did you mean {nearest}?"
    # With `name` set, Python's own traceback does not add a second suggestion.
    return AttributeError(message, name=name)


def unknown_keyword(owner: str, name: str, names: Iterable[str]) -> UnknownKeyword:
    """Return the error for a keyword argument that a function does not take, with the nearest one that it takes.

    Parameters
    ----------
    owner : str
        The function in words, such as "connect()".
    name : str
        Keyword that was given.
    names : iterable of str
        Keywords that it takes.

    Examples
    --------
    >>> str(unknown_keyword("connect()", "time_out", ["timeout", "transport"]))
    "connect() got an unexpected keyword argument 'time_out'. Did you mean 'timeout'?"
    """
    taken = [one for one in names if one != "self"]
    elsewhere = next((said for said, words in _ELSEWHERE.items() if name.lower() in words), "")
    hint = f". {elsewhere}" if elsewhere else meant(name, taken) or f". It takes {', '.join(taken)}"
    said = f"{owner} got an unexpected keyword argument {name!r}{hint}"
    return UnknownKeyword(said, field=name, rule="known")


def advised(error: TypeError, function: str, names: Iterable[str]) -> TypeError:
    """Return the error of a call of a function, with advice where it has a keyword that the function does not take.

    Parameters
    ----------
    error : TypeError
        Error that Python raised for the call.
    function : str
        Name of the function.
    names : iterable of str
        Keywords that it takes.
    """
    found = re.match(rf"(?:\w+\.)*{function}\(\) got an unexpected keyword argument '(\w+)'", str(error))
    return error if found is None else unknown_keyword(f"{function}()", found[1], names)


def bound(signature: Signature, function: str, *args: object, **keywords: object) -> dict[str, Any]:
    """Return the arguments of a call by name.

    Parameters
    ----------
    signature : Signature
        Signature of the function.
    function : str
        Its name, for the error.
    *args : object
        Positional arguments of the call, `self` first for a method.
    **keywords : object
        Arguments by keyword.

    Raises
    ------
    TypeError
        As Python raises it, with advice for a keyword that is unknown.
    """
    for name in keywords.keys() - signature.parameters.keys():
        raise unknown_keyword(f"{function}()", name, signature.parameters)
    try:
        return dict(signature.bind(*args, **keywords).arguments)
    except TypeError as error:
        named = [one for one, param in signature.parameters.items() if param.kind is param.KEYWORD_ONLY]
        hint = f". Name them: {', '.join(named)}" if "too many positional" in str(error) else ""
        raise TypeError(f"{function}() {error}{hint}") from None


class Suggesting:
    """Mixin: a missing attribute is reported with the name that was probably meant.

    `_parts` names attributes whose own members are looked up as well, so that `session.place_order` leads to
    `session.exchange.place_order`. `_path` is how users reach the object. Attributes that exist are found without any
    of this.
    """

    _path = ""
    _parts: tuple[str, ...] = ()

    if not TYPE_CHECKING:  # a type checker would take it for "any name goes"

        def __getattr__(self, name: str) -> Any:
            kind = type(self)
            if hasattr(kind, name):
                # The attribute is a property that raised AttributeError itself: show that error, not "no attribute".
                return object.__getattribute__(self, name)
            owner = f"{kind.__name__!r} object"
            if name.startswith("_"):
                raise no_attribute(owner, name)
            parts = [part for part in self._parts if part != name and self._part_has(part, name)]
            better = " or ".join(f"{self._path}.{part}.{name}" for part in parts)
            raise no_attribute(owner, name, dir(self), better)

        def _part_has(self, part: str, name: str) -> bool:
            found = getattr(self, part, None)
            # attributes that an object gets in its constructor are in its own dictionary
            return hasattr(type(found), name) or name in getattr(found, "__dict__", {})


def check_known(given: Iterable[Any], known: Iterable[str], field: str, what: str) -> None:
    """Raise InputError for the first name that is not known, with the nearest one that is.

    Parameters
    ----------
    given : iterable
        Names to check.
    known : iterable of str
        Names that pass.
    field : str
        Name of the argument.
    what : str
        The names in words, for the error.

    Raises
    ------
    InputError
        For an unknown name.

    Examples
    --------
    >>> check_known(["BTCUSD"], ["BTCUSDC", "ETHUSDC"], "funding", "symbol of the data")
    Traceback (most recent call last):
    toolkit.errors.InputError: funding has 'BTCUSD', which is no symbol of the data. Did you mean 'BTCUSDC'?
    """
    names = list(known)
    for name in given:
        if name not in names:
            hint = meant(name, names) or f". It may have {', '.join(names)}"
            said = f"{field} has {name!r}, which is no {what}{hint}"
            raise InputError(said, field=field, rule="known", value=str(name), nearest=tuple(names))


def _nearest(name: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches

    public = [other for other in names if not other.startswith("_")]
    return " or ".join(map(repr, get_close_matches(name, public, n=2, cutoff=0.7)))
