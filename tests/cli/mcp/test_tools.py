"""The tools of an agent, called as functions: every schema, every argument, every bound, every row that they return."""

from __future__ import annotations

import argparse
import hashlib
import json
import math
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import toolkit
from toolkit import Limits, orders
from toolkit.cli.mcp import open_for_agents
from toolkit.cli.mcp.server import called, declared
from toolkit.cli.mcp.strategies import RULES, Named
from toolkit.cli.mcp.tools import CANDLE, FILL, ORDER, PRODUCT, Tools, order_of
from toolkit.errors import InputError
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"
_ORDER = "symbol! side!=BUY|SELL quantity! price tif=GTC|IOC|FOK|POST_ONLY reduce_only:boolean take_profit stop_loss"
SCHEMAS = {
    "products": "", "prices": "", "candles": "symbol! interval limit:integer", "book": "symbol! depth:integer",
    "account": "", "orders": "symbol limit:integer", "fills": "symbol limit:integer",
    "backtest": "rule! symbol! interval days:integer fast:integer slow:integer share:number", "luck": "",
    "preview": _ORDER, "place": f"{_ORDER} key!",
    "replace": "key order_id price quantity", "protect": "key! symbol! stop_loss take_profit leg=LONG|SHORT",
    "leverage": "symbol! leverage!", "margin_mode": "symbol! mode!=CROSS|ISOLATED",
    "cancel": "key order_id symbol", "close": "key! symbol!", "stop": "reason!", "advance": "span!",
}  # fmt: skip


@pytest.fixture
def session(own_trials: None) -> Iterator[Session]:
    with LocalVenue(clock="manual", market=False) as venue:
        venue.control.add_liquidity(BTC, "SELL", "62600", "50")
        venue.control.add_liquidity(BTC, "BUY", "62400", "50")
        with toolkit.connect(venue=venue, limits=Limits(max_notional=40_000)) as made:
            yield made


def answer(session: Session, name: str, **arguments: Any) -> Any:
    """Return the answer of a tool, or its error as a text in a list."""
    text, failed = called(Tools(session), name, arguments)
    return [text] if failed else json.loads(text)["result"]


def short(schema: dict[str, Any]) -> str:
    """Return the parameters of a tool as SCHEMAS has them."""
    words = []
    for name, one in schema["properties"].items():
        kind = "" if one["type"] == "string" else f":{one['type']}"
        choices = "=" + "|".join(one["enum"]) if "enum" in one else ""
        words.append(name + ("!" if name in schema["required"] else "") + kind + choices)
    return " ".join(words)


def test_every_tool_declares_its_parameters_types_choices_and_hints(session: Session) -> None:
    tools = Tools(session)
    found = [declared(tools, name) for name in tools.names()]
    assert {one["name"]: short(one["inputSchema"]) for one in found} == SCHEMAS
    for one in found:
        changes = one["name"] in (*Tools.TRADING[1:], "advance")
        assert one["annotations"] == {"readOnlyHint": not changes, "idempotentHint": one["name"] != "advance"}
        assert one["inputSchema"]["additionalProperties"] is False
        assert one["inputSchema"]["type"] == "object"
        assert "\n" not in one["description"]
    place = next(one for one in found if one["name"] == "place")
    assert place["inputSchema"]["properties"]["tif"] == {
        "type": "string",
        "enum": ["GTC", "IOC", "FOK", "POST_ONLY"],
        "description": "Time in force (default: GTC, of market orders IOC).",
    }
    assert place["description"].startswith("Place an order. The same key is the same order")


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("resume", {}, "there is no tool 'resume' here. There are products, prices, candles, book, "),
        ("book", {"symbol": BTC, "levels": 5}, "book has no 'levels'. It has symbol, depth"),
        ("luck", {"x": 5}, "luck has no 'x'. It has no parameters"),
        ("book", {}, "book needs symbol"),
        ("book", {"symbol": None}, "book needs symbol"),
        ("book", {"symbol": [BTC]}, "symbol must be string"),
        ("book", {"symbol": True}, "symbol must be string"),
        ("book", {"symbol": BTC, "depth": "5"}, "depth must be integer"),
        ("book", {"symbol": BTC, "depth": 5.0}, "depth must be integer"),
        ("book", {"symbol": BTC, "depth": True}, "depth must be integer"),
        ("book", {"symbol": BTC, "depth": 0}, "depth 0 must be 1 to 50"),
        ("book", {"symbol": BTC, "depth": 51}, "depth 51 must be 1 to 50"),
        ("candles", {"symbol": BTC, "limit": 0}, "limit 0 must be 1 to 200"),
        ("candles", {"symbol": BTC, "limit": 201}, "limit 201 must be 1 to 200"),
        ("orders", {"limit": 0}, "limit 0 must be 1 to 200"),
        ("orders", {"limit": 201}, "limit 201 must be 1 to 200"),
        ("fills", {"limit": 0}, "limit 0 must be 1 to 200"),
        ("fills", {"limit": 201}, "limit 201 must be 1 to 200"),
        ("backtest", {"rule": "hold", "symbol": BTC, "days": 0}, "days 0 must be 1 to 60"),
        ("backtest", {"rule": "hold", "symbol": BTC, "days": 61}, "days 61 must be 1 to 60"),
        ("backtest", {"rule": "hold", "symbol": BTC, "share": "1"}, "share must be number"),
        ("backtest", {"rule": "hold", "symbol": BTC, "share": True}, "share must be number"),
        ("place", {"key": "k", "symbol": BTC, "side": "buy", "quantity": "1"}, "side 'buy' is not one of BUY, SELL"),
        ("preview", {"symbol": BTC, "side": "BUY", "quantity": "1", "reduce_only": 1}, "reduce_only must be boolean"),
        ("place", {"key": "", "symbol": BTC, "side": "BUY", "quantity": "1"}, "key has 0 characters. Give 1 to 64"),
        ("place", {"key": "k" * 65, "symbol": BTC, "side": "BUY", "quantity": "1"}, "key has 65 characters. Give 1 to"),
        ("cancel", {}, "cancel takes one of key, order_id and symbol, not 0"),
        ("cancel", {"key": "k", "symbol": BTC}, "cancel takes one of key, order_id and symbol, not 2"),
        ("advance", {"span": "0s"}, "span 0s must be above 0 and at most 7d"),
        ("advance", {"span": "169h"}, "span 169h must be above 0 and at most 7d"),
    ],
)  # fmt: skip
def test_a_wrong_call_is_answered_with_what_is_wrong(
    name: str, given: dict[str, Any], said: str, session: Session
) -> None:
    [text] = answer(session, name, **given)
    assert text.startswith(said)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        *(("book", {"symbol": BTC, "depth": depth}) for depth in (1, 50, None)),
        *(("candles", {"symbol": BTC, "limit": limit}) for limit in (1, 200)),
        *((name, {"limit": limit}) for name in ("orders", "fills") for limit in (1, 200)),
        *(("advance", {"span": span}) for span in ("1ms", "1h")),
    ],
)
def test_the_bounds_themselves_pass(name: str, given: dict[str, Any], session: Session) -> None:
    assert not called(Tools(session), name, given)[1]


def test_seven_days_may_pass_at_a_time() -> None:
    passed: list[str] = []
    host = SimpleNamespace(clock=SimpleNamespace(runs=False), now_ms=lambda: 1_767_225_600_000)
    fake: Any = SimpleNamespace(_local=SimpleNamespace(host=host, advance=passed.append))
    assert Tools(fake).advance("7d") == {"time": "2026-01-01T00:00:00+00:00"}
    assert passed == ["7d"]
    host.clock.runs = True
    with pytest.raises(InputError, match="time passes without advance here, which needs a manual clock"):
        Tools(fake).advance("7d")
    with pytest.raises(InputError, match="needs a manual clock"):
        Tools(SimpleNamespace(_local=None)).advance("7d")  # type: ignore[arg-type]


def test_an_amount_may_be_a_number_and_is_taken_as_written(session: Session) -> None:
    for number, text in ((0.01, "0.01"), (1, "1"), ("0.010", "0.010"), (1e-2, "0.01")):
        given = {"symbol": BTC, "side": "BUY", "price": "60000"}
        words = order_of(**given, quantity=text).entry.describe()  # type: ignore[arg-type]
        assert answer(session, "preview", **given, quantity=number)["order"] == words


def test_what_json_cannot_hold_becomes_text_or_null(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        1: [1.5, math.nan, math.inf, None, True, 7, Decimal("0.1")],
        "b": ("a\nb\x1b", {"c": date(2026, 1, 1)}),
    }
    monkeypatch.setattr(Tools, "prices", lambda self: given)
    assert answer(session, "prices") == {
        "1": [1.5, None, None, None, True, 7, "0.1"], "b": ["a b ", {"c": "2026-01-01"}],
    }  # fmt: skip


@pytest.mark.parametrize(("length", "shown"), [(300, 300), (301, 301), (900, 301)])
def test_a_long_text_is_cut_to_300_characters_and_shows_no_key(
    length: int, shown: int, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tools, "prices", lambda self: ["é" * length, "key 0x" + "ab" * 32])
    long, secret = answer(session, "prices")
    assert len(long) == shown
    assert long == ("é" * length if length <= 300 else "é" * 300 + "…")
    assert "ab" * 32 not in secret


def test_an_error_of_the_server_goes_to_its_log_whole(session: Session, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(Tools, "prices", lambda self: {}["nothing"])
    assert answer(session, "prices") == ["the tool failed (KeyError). The operator's log says why"]
    assert "KeyError: 'nothing'" in capsys.readouterr().err


def test_reads_have_the_named_columns_and_the_last_rows(session: Session) -> None:
    for key, side in (("a", "BUY"), ("b", "SELL"), ("c", "BUY")):
        answer(session, "place", key=key, symbol=BTC, side=side, quantity="0.01")
        session.venue.advance("1m")
    answer(session, "place", key="far", symbol=BTC, side="BUY", quantity="0.01", price="60000")
    [product, *_] = answer(session, "products")
    assert list(product) == PRODUCT
    assert (product["symbol"], product["tick_size"], product["max_leverage"]) == (BTC, 0.1, 40)
    found = answer(session, "fills")
    assert [list(row) for row in found] == [FILL] * 3
    assert [row["side"] for row in found] == ["BUY", "SELL", "BUY"]
    assert [row["side"] for row in answer(session, "fills", limit=2)] == ["SELL", "BUY"]
    assert answer(session, "fills", symbol="ETHUSDC") == []
    assert found[0]["time"].startswith("2026-01-01T00:0")
    placed = answer(session, "orders")
    assert [list(row) for row in placed] == [ORDER] * 4
    assert [row["status"] for row in placed] == ["FILLED", "FILLED", "FILLED", "NEW"]
    assert [row["order_id"] for row in answer(session, "orders", limit=1)] == [placed[-1]["order_id"]]
    assert answer(session, "orders", symbol="ETHUSDC") == []
    book = answer(session, "book", symbol=BTC, depth=2)
    assert [(row["side"], row["price"]) for row in book] == [("BUY", 62400), ("BUY", 60000), ("SELL", 62600)]
    candles = answer(session, "candles", symbol=BTC, interval="1m", limit=2)
    assert [list(row) for row in candles] == [CANDLE] * 2
    assert candles[0]["time"] < candles[1]["time"]
    prices = answer(session, "prices")
    assert {row["symbol"] for row in prices} == set(session.products().index)


def test_an_account_has_balances_positions_orders_limits_and_the_stop(session: Session) -> None:
    answer(session, "place", key="a", symbol=BTC, side="SELL", quantity="0.01")
    answer(session, "place", key="b", symbol=BTC, side="BUY", quantity="0.02", price="60000")
    found = answer(session, "account")
    assert list(found) == [
        *("environment", "account", "time", "balances", "positions", "open_orders", "limits", "stopped")
    ]
    assert (found["environment"], found["account"], found["stopped"]) == ("local", session.account, "")
    assert found["time"] == datetime.fromtimestamp(session.clock.now_ms() / 1000, UTC).isoformat()
    assert found["limits"] == {"max_notional": 40_000, "max_orders_per_minute": 60, "max_stale": 30.0}
    assert [(row["side"], row["size"]) for row in found["positions"]] == [("SHORT", 0.01)]
    assert "account" not in found["positions"][0]
    assert [row["price"] for row in found["open_orders"]] == [60_000]
    assert [list(row) for row in found["balances"]] == [["currency", "balance", "available", "equity"]]
    answer(session, "stop", reason="enough")
    assert answer(session, "account")["stopped"] == "enough"
    with toolkit.connect(venue=session.venue, account=3) as other:
        assert answer(other, "account")["limits"] == {}


def test_the_time_of_an_account_is_the_venues_before_the_first_order() -> None:
    with LocalVenue(clock="manual", market=False) as venue:
        where: dict[str, Any] = {"base_url": "http://127.0.0.1:9", "account": 0, "transport": venue.transport()}
        with toolkit.connect("local", **where) as session:
            assert answer(session, "account")["time"].startswith("2026-01-01T00:00:0")


@pytest.mark.parametrize(("side", "leg"), [("BUY", "LONG"), ("SELL", "SHORT")])
@pytest.mark.parametrize("mode", ["ONE_WAY", "HEDGE"])
def test_each_leg_is_closed_by_one_order(side: str, leg: str, mode: str, session: Session) -> None:
    session.venue.control.set_position_mode(str(session.account), mode)
    answer(session, "place", key="in", symbol=BTC, side=side, quantity="0.01")
    assert session.positions()["side"].tolist() == [leg]
    [closed] = answer(session, "close", key="out", symbol=BTC)
    assert (closed["status"], Decimal(closed["filled"]), closed["repeated"]) == ("FILLED", Decimal("0.01"), False)
    assert list(closed) == ["symbol", "order_id", "status", "filled", "average_price", "reason", "repeated"]
    assert len(session.positions()) == 0
    answer(session, "place", key="in again", symbol=BTC, side=side, quantity="0.02")
    assert answer(session, "close", key="out", symbol=BTC) == [{**closed, "repeated": True}]
    assert session.positions()["size"].tolist() == [0.02], "the key of a close never closes a second position"


def test_both_legs_of_a_hedge_are_closed_with_one_key_of_any_length(session: Session) -> None:
    session.venue.control.set_position_mode(str(session.account), "HEDGE")
    for side in ("BUY", "SELL"):
        answer(session, "place", key=side, symbol=BTC, side=side, quantity="0.01")
    key = "k" * 64
    first = answer(session, "close", key=key, symbol=BTC)
    assert [(one["status"], one["repeated"]) for one in first] == [("FILLED", False)] * 2
    assert [one["repeated"] for one in answer(session, "close", key=key, symbol=BTC)] == [True, True]
    assert len(session.positions()) == 0


def test_the_client_id_of_a_key_follows_from_account_and_key(session: Session) -> None:
    for key in ("k", "k" * 63, "k" * 64):
        answer(session, "place", key=key, symbol=BTC, side="BUY", quantity="0.01", price="60000")
    digests = [hashlib.sha256(f"{session.account} {key}".encode()).digest() for key in ("k", "k" * 63, "k" * 64)]
    ids = [2**51 + int.from_bytes(digest[:8], "big") % 2**51 for digest in digests]
    assert [int(one) for one in session.orders()["client_order_id"]] == ids


def test_orders_are_cancelled_by_key_by_id_or_all_of_a_symbol(session: Session) -> None:
    made = [
        answer(session, "place", key=key, symbol=BTC, side="BUY", quantity="0.01", price=price)
        for key, price in (("a", "60000"), ("b", "60001"), ("c", "60002"), ("d", "60003"))
    ]
    assert [one["status"] for one in made] == ["NEW"] * 4
    assert answer(session, "cancel", key="a")["status"] == "CANCELED"
    assert answer(session, "cancel", order_id=made[1]["order_id"])["order_id"] == made[1]["order_id"]
    assert answer(session, "cancel", symbol=BTC) == {"cancelled": 2}
    assert session.orders()["status"].tolist() == ["CANCELED"] * 4
    done = answer(session, "place", key="e", symbol=BTC, side="BUY", quantity="0.01")
    assert answer(session, "cancel", key="e")["status"] == done["status"] == "FILLED"


def test_a_preview_says_what_is_wrong_and_sends_nothing(session: Session) -> None:
    good = {"symbol": BTC, "side": "BUY", "quantity": "0.01", "price": "60000"}
    words = order_of(**good).entry.describe()  # type: ignore[arg-type]
    assert answer(session, "preview", **good) == {"order": words, "passes": True, "problems": []}
    bad = answer(session, "preview", **{**good, "quantity": "0.0105", "price": "60000.05"})
    assert bad["passes"] is False
    assert bad["problems"] == [
        "price 60000.05 is not a multiple of tickSize 0.1. The nearest is 60000.0 or 60000.1",
        "quantity 0.0105 is not a multiple of stepSize 0.001. The nearest is 0.010 or 0.011",
    ]
    over = answer(session, "preview", **{**good, "quantity": "1"})
    [problem] = over["problems"]
    assert "The limit is 40,000.00" in problem
    assert len(session.orders()) == 0


@pytest.mark.parametrize("different", [{"quantity": "0.02"}, {"price": "59999"}, {"side": "SELL", "price": "65000"},
                                       {"symbol": "ETHUSDC", "price": "2000"}])  # fmt: skip
def test_a_key_that_names_another_order_is_refused(different: dict[str, str], session: Session) -> None:
    one = {"key": "k", "symbol": BTC, "side": "BUY", "quantity": "0.01", "price": "60000"}
    answer(session, "place", **one)
    [text] = answer(session, "place", **{**one, **different})
    assert text.startswith("this key names another order already (")
    assert text.endswith(". Use another key")
    assert answer(session, "place", **{**one, "quantity": "0.010", "price": "60000.0"})["repeated"] is True


def test_a_refused_order_may_be_tried_again_with_its_key(session: Session) -> None:
    one = {"key": "k", "symbol": BTC, "side": "BUY", "quantity": "0.01", "price": "62600", "tif": "POST_ONLY"}
    [text] = answer(session, "place", **one)
    assert "would match" in text
    assert answer(session, "place", **{**one, "price": "60000"})["status"] == "NEW"


def test_an_order_has_the_options_of_the_call() -> None:
    made = order_of(BTC, "SELL", "0.01", "65000", "POST_ONLY", True, None, None, 5)
    assert made == orders.order(BTC, "SELL", "0.01", "65000", tif="POST_ONLY", reduce_only=True, cl_ord_id=5)
    assert order_of(BTC, "BUY", "1") == orders.order(BTC, "BUY", "1")
    bracket = order_of(BTC, "BUY", "0.01", take_profit="70000", stop_loss="50000")
    assert bracket == orders.order(BTC, "BUY", "0.01", tp="70000", sl="50000")


@pytest.mark.parametrize(("sharpes", "best"), [([], None), ([1.5], 1.5), ([1.5, -0.5], 1.5)])
def test_what_chance_alone_would_show_needs_two_backtests(
    sharpes: list[float], best: float | None, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Trials:
        def __len__(self) -> int:
            return len(sharpes)

        def variance(self) -> float:
            return 2.0

        def frame(self) -> pd.DataFrame:
            return pd.DataFrame({"sharpe": pd.Series(sharpes, dtype="float64")})

    monkeypatch.setattr("toolkit.research.trials", Trials())
    chance = toolkit.research.luck.expected_max_sharpe(2, 2.0) if len(sharpes) == 2 else None
    assert answer(session, "luck") == {"trials": len(sharpes), "best": best, "best_without_skill": chance}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rule": "x"}, "rule 'x' is not known. There are sma-cross, ema-cross, breakout, reversion, hold"),
        ({"fast": 0}, "fast 0 and slow 30 must be 1 <= fast < slow <= 500 bars"),
        ({"fast": 30}, "fast 30 and slow 30 must be"),
        ({"slow": 501}, "fast 10 and slow 501 must be"),
        ({"share": 0.0}, "share 0.0 must be above 0 and at most 1"),
        ({"share": 1.001}, "share 1.001 must be above 0 and at most 1"),
    ],
)
def test_a_strategy_outside_its_bounds_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        Named(**given).checked()
    assert str(caught.value).startswith(said)
    for fine in ({"fast": 1, "slow": 2}, {"slow": 500}, {"share": 1.0}, {"fast": 29}, {"share": 0.001}):
        strategy = Named(**fine)
        assert strategy.checked() is strategy


def sides(rule: str, closes: list[float], fast: int, slow: int) -> list[int]:
    """Return the side that a rule asks for after each close, 0 for no change, computed with pandas."""
    series = pd.Series(closes)
    if rule == "ema-cross":
        short, long = (series.ewm(span=span, adjust=False).mean() for span in (fast, slow))
    else:
        short, long = (series.rolling(span).mean() for span in (fast, slow))
    found = []
    for at in range(len(closes)):
        window, now = closes[max(at - slow, 0) : at], closes[at]
        value = {
            "sma-cross": short[at] - long[at], "ema-cross": short[at] - long[at], "reversion": long[at] - now,
            "hold": 1.0, "breakout": float(now > max(window, default=now)) - float(now < min(window, default=now)),
        }[rule]  # fmt: skip
        found.append(0 if at < slow else int(math.copysign(1, value)) if abs(value) > 1e-9 else 0)
    return found


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_a_rule_is_followed_once_there_are_more_bars_than_slow(rule: str, seed: int) -> None:
    rng = Random(seed)
    fast = rng.randint(1, 4)
    slow = fast + rng.randint(1, 4)
    closes = [100.0]
    closes += [closes[0] + rng.choice((-2, -1, 0, 1, 2, 5, -5)) * rng.randint(0, 3) for _ in range(60)]
    asked: list[Any] = []
    ctx = SimpleNamespace(target_share=lambda *given, **more: asked.append((*given, more)))
    strategy = Named(rule=rule, fast=fast, slow=slow, share=0.4)
    strategy.on_start(ctx)
    found = []
    for close in closes:
        strategy.on_bar(ctx, SimpleNamespace(symbol=BTC, close=close))
        found.append(0 if not asked else 1 if asked[-1][1] > 0 else -1)
        assert all(one == (BTC, one[1], {"tolerance": pytest.approx(0.08)}) for one in asked)
        assert all(abs(one[1]) == 0.4 for one in asked)
        asked.clear()
    assert found == sides(rule, closes, fast, slow)
    assert len(set(found)) > 1


def opened(monkeypatch: pytest.MonkeyPatch, **given: Any) -> Any:
    """Return what `connect` is given for these arguments of the command."""
    seen: list[Any] = []
    usual = {"env": "local", "limits": None, "url": None, "account": None, "clock": "manual", "seed": 7}

    def connect(*names: str, **more: Any) -> SimpleNamespace:
        seen.append((*names, more))
        return SimpleNamespace(wallet=None)

    for module in ("mcp", "running.opening"):
        monkeypatch.setattr(f"toolkit.cli.{module}.connect", connect)
    open_for_agents(argparse.Namespace(**{**usual, **given}))
    return seen[0]


def test_the_session_is_that_of_the_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = {"account": None, "limits": None, "clock": "manual", "seed": 7}
    assert opened(monkeypatch) == ("local", usual)
    assert opened(monkeypatch, account="3", clock="real", seed=4) == (
        "local", {"account": 3, "limits": None, "clock": "real", "seed": 4})  # fmt: skip
    assert opened(monkeypatch, account="ann", url="http://x") == (
        "local", {"account": "ann", "limits": None, "base_url": "http://x"})  # fmt: skip
    assert opened(monkeypatch, env="mainnet", account="0x1") == ("mainnet", {"account": "0x1"})
    path = tmp_path / "l.toml"
    monkeypatch.setattr("toolkit.Wallet.from_env", lambda: "wallet")
    for text, limits in (("max_position = 1", Limits(max_position=1)), ("max_notional = 9", Limits(max_notional=9))):
        path.write_text(text)
        wanted = {"wallet": "wallet", "account": None, "limits": limits}
        assert opened(monkeypatch, env="testnet", limits=path) == ("testnet", wanted)


def test_an_agent_at_an_address_trades_beside_a_session_of_its_key() -> None:
    """The venue's clock stands still, so both sessions would sign with the same nonces if each counted for itself."""
    with LocalVenue(clock="manual", market=False) as venue, venue.serve(0) as served:
        venue.control.add_liquidity(BTC, "SELL", "62600", "50")
        words = {"limits": None, "account": None, "env": "local", "url": served.base_url}
        with open_for_agents(argparse.Namespace(**words)) as agent, toolkit.connect(venue=venue) as inside:
            for turn in range(8):
                inside.buy(BTC, "0.01", price="60000")
                found = answer(agent, "place", symbol=BTC, side="BUY", quantity="0.01", key=f"k{turn}")
                assert (found["status"], found["filled"]) == ("FILLED", "0.010")
            assert inside.positions()["size"].tolist() == [0.08]
            assert len(inside.orders(open=True)) == 8


def test_each_answer_names_its_environment_its_request_and_its_units(session: Session) -> None:
    def whole(name: str, **arguments: Any) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(called(Tools(session), name, arguments)[0])
        return found

    placed = whole("place", key="a", symbol=BTC, side="BUY", quantity="0.01")
    assert placed["environment"] == "local"
    assert placed["result"]["symbol"] == BTC
    assert placed["units"] == {"filled": "base units", "average_price": "USDC per base unit"}
    account = whole("account")
    assert account["result"]["positions"][0]["symbol"] == BTC
    assert account["units"]["margin"] == "USDC"
    prices = whole("prices")["units"]
    assert (prices["funding_rate"][:5], prices["change"]) == ("ratio", "ratio in 24 h, 0.01 is 1 %")
    again = whole("place", key="a", symbol=BTC, side="BUY", quantity="0.01")
    assert again["request"] == placed["request"] != account["request"]


ORDER_OF_A_KEY: dict[str, Any] = {"symbol": BTC, "side": "BUY", "quantity": "0.01", "price": "60000", "tif": "GTC"}
EXITS = {"take_profit": "70000", "stop_loss": "50000"}
CHANGES: dict[str, dict[str, Any]] = {
    "quantity": {"quantity": "0.02"}, "price": {"price": "60001"}, "tif": {"tif": "POST_ONLY"},
    "side": {"side": "SELL", "price": "70000", "take_profit": "60000", "stop_loss": "80000"},
    "stop": {"stop_loss": "51000"}, "profit": {"take_profit": "71000"}, "one exit": {"stop_loss": None},
    "no exits": {"stop_loss": None, "take_profit": None},
    "product": {"symbol": "ETHUSDC", "price": "2000", "take_profit": "3000", "stop_loss": "1900"},
}  # fmt: skip


@pytest.mark.parametrize("mode", ["ONE_WAY", pytest.param("HEDGE", marks=pytest.mark.slow)])
@pytest.mark.parametrize("changed", CHANGES)
def test_a_key_with_any_other_argument_is_refused_also_after_a_restart(
    session: Session, tmp_path: Path, changed: str, mode: str
) -> None:
    session.venue.control.set_position_mode(str(session.account), mode)
    given = {**ORDER_OF_A_KEY, **EXITS}
    with toolkit.connect(venue=session.venue, intents=tmp_path / "ledger") as made:
        assert answer(made, "place", key="k", **given)["status"] == "NEW"
        assert answer(made, "place", key="k", **given)["repeated"] is True
    other = {name: value for name, value in {**given, **CHANGES[changed]}.items() if value is not None}
    with toolkit.connect(venue=session.venue, intents=tmp_path / "ledger") as made:
        [said] = answer(made, "place", key="k", **other)
        assert said.startswith("this key names another order already")
        assert answer(made, "place", key="k", **given)["repeated"] is True
        assert len(made.orders(open=True)) == 3


@pytest.mark.parametrize("mode", ["ONE_WAY", "HEDGE"])
def test_a_key_that_only_reduces_is_the_same_order_when_it_is_repeated(session: Session, mode: str) -> None:
    session.venue.control.set_position_mode(str(session.account), mode)
    answer(session, "place", key="in", symbol=BTC, side="BUY", quantity="0.02")
    given = {"key": "out", "symbol": BTC, "side": "SELL", "quantity": "0.01", "reduce_only": True}
    for repeated in (False, True):
        assert answer(session, "place", **given)["repeated"] is repeated
    [said] = answer(session, "place", **{**given, "reduce_only": False})
    assert said.startswith("this key names another order already")
    assert session.positions()["size"].tolist() == [0.01]


def test_a_repeated_close_closes_nothing_that_was_opened_since(session: Session) -> None:
    session.venue.control.set_position_mode(str(session.account), "HEDGE")
    answer(session, "place", key="a", symbol=BTC, side="BUY", quantity="0.01")
    assert [one["repeated"] for one in answer(session, "close", key="out", symbol=BTC)] == [False]
    answer(session, "place", key="b", symbol=BTC, side="SELL", quantity="0.02")
    answer(session, "place", key="c", symbol=BTC, side="BUY", quantity="0.03")
    assert [one["repeated"] for one in answer(session, "close", key="out", symbol=BTC)] == [True]
    assert answer(session, "close", key="none", symbol="ETHUSDC") == []
    assert answer(session, "close", key="out", symbol="ETHUSDC")[0].startswith("this key has closed BTCUSDC already")
    assert session.positions()["size"].tolist() == [0.03, 0.02]


@pytest.mark.parametrize("mode", ["ONE_WAY", "HEDGE"])
def test_an_open_position_is_protected_and_an_order_replaced(session: Session, mode: str) -> None:
    session.venue.control.set_position_mode(str(session.account), mode)
    assert answer(session, "leverage", symbol=BTC, leverage="5") == {
        "symbol": BTC, "leverage": "5", "status": "ACCEPTED",
    }  # fmt: skip
    assert answer(session, "margin_mode", symbol=BTC, mode="ISOLATED")["margin_mode"] == "ISOLATED"
    assert answer(session, "protect", key="p", symbol=BTC, stop_loss="60000")[0].startswith("BTCUSDC holds nothing")
    answer(session, "place", key="a", symbol=BTC, side="SELL", quantity="0.02")
    given = {"key": "p", "symbol": BTC, "stop_loss": "66000", "take_profit": "58000"}
    for repeated in (False, True):
        assert [one["repeated"] for one in answer(session, "protect", **given)] == [repeated] * 2
    assert answer(session, "protect", **{**given, "stop_loss": "65000"})[0].startswith("this key names another order")
    assert set(session.orders(open=True)["side"]) == {"BUY" if mode == "ONE_WAY" else "BUY_CLOSE_HEDGE"}
    answer(session, "place", key="r", symbol=BTC, side="BUY", quantity="0.01", price="60000")
    for _ in range(2):
        assert answer(session, "replace", key="r", price="60100", quantity="0.02")["status"] == "NEW"
    [row] = session.orders(open=True).query("price == 60100").to_dict("records")
    assert row["quantity"] == 0.02
    answer(session, "cancel", key="r")
    assert answer(session, "replace", key="r", price="60200")[0].startswith("the order has ended")
