"""The pre-trade rules that need the account: what is read for them, and where they begin; driven by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.client.fake import BTC, META
from tests.client.orders.test_outcome import VAULT, ask, refuse
from toolkit.client.io.flow import Flow
from toolkit.client.io.transport import NO_RETRY
from toolkit.client.orders.pretrade import PreTradeChecks
from toolkit.client.reads.catalogue import Catalogue
from toolkit.errors import CheckFailed, Disconnected, WalletError
from toolkit.protocol.actions import decode
from toolkit.venue.model.genesis import default_margin_tables

OWNER = "0x" + "11" * 20
TIERS = {"tableId": 1, "riskLimitVo": default_margin_tables()[1]}
"""40x, and 20x above 20,000,000 USDC."""
PRODUCTS = {**META, "marginTables": [TIERS], "perpProducts": [BTC | {"stepSize": "0.00001"}]}
ITEM = {
    "symbolCode": 1, "ordPx": "60000", "ordQty": "0.01", "ordType": "LIMIT", "ordSide": "BUY", "timeInForce": "GTC",
}  # fmt: skip
SMALL = ITEM | {"ordQty": "0.0001"}
"""6 USDC."""
MARKET = ITEM | {"ordPx": "0", "ordType": "MARKET", "timeInForce": "IOC"}


def known(address: str) -> Callable[[], Flow[str]]:
    def account() -> Flow[str]:
        yield from ()
        if not address:
            raise WalletError("no account")
        return address

    return account


def check(
    kind: str, payload: dict[str, Any], checks: PreTradeChecks | None = None, vault: str | None = None, **routes: Any
) -> tuple[list[str], list[Any]]:
    """Return the rules that an action breaks, and what was asked for beside the products."""
    made = checks or PreTradeChecks(Catalogue(), known(OWNER), NO_RETRY)
    asked: list[Any] = []

    def noted(name: str, route: Any) -> Any:
        return lambda query: (asked.append((name, query)), route(query))[1]

    given = {"list": lambda _: [], "states": lambda _: [], "last": lambda _: [], "current": lambda _: []} | routes
    spied = {name: noted(name, route) for name, route in given.items()}
    flow = made.check(decode({"type": kind} | payload), vault)
    try:
        ask(flow, **{"product-meta": lambda _: PRODUCTS} | spied)
    except CheckFailed as error:
        return [failure.rule for failure in error.failures], asked
    return [], asked


def names(asked: list[Any]) -> list[str]:
    return [name for name, _ in asked]


LAST = {"side": "1", "leaveQty": "1", "price": "200000"}


@pytest.mark.parametrize(
    ("leverage", "position", "orders", "rules"),
    [
        ("41", {}, [], ["maxLeverage"]),
        ("40", {}, [], []),
        ("20", {"longSize": "500"}, [], []),
        ("21", {"longSize": "200"}, [], []),
        ("21", {"longSize": "200.001"}, [], ["maxLeverage"]),
        ("21", {"shortSize": "-200"}, [], []),
        ("21", {"shortSize": "-200.001"}, [], ["maxLeverage"]),
        ("21", {"shortSize": "-200"}, [{"side": "2", "leaveQty": "100"}, {"side": "2", "price": "1"}], []),
        ("21", {"longSize": "150", "shortSize": "-150"}, [], []),
        ("21", {"longSize": "100"}, [{"side": "1", "leaveQty": "100", "price": "100000"}], []),
        ("21", {"longSize": "100"}, [{"side": "1", "leaveQty": "100.1", "price": "100000"}], ["maxLeverage"]),
        ("21", {"longSize": "100"}, [{"side": "2", "leaveQty": "100.1", "price": "100000"}], []),
        ("21", {"shortSize": "-100"}, [{"side": "2", "leaveQty": "100.1", "price": "100000"}], ["maxLeverage"]),
        ("21", {}, [{"side": "1", "leaveQty": "150", "price": "100000"}] * 2, ["maxLeverage"]),
        ("21", {"longSize": "199"}, [LAST | {"reduceOnly": "1"}], []),
        ("21", {"longSize": "199"}, [LAST | {"reduceOnly": "0"}], ["maxLeverage"]),
        ("21", {"longSize": "199"}, [LAST | {"reduceOnly": "NONE"}], ["maxLeverage"]),
        ("21", {"longSize": "199"}, [LAST | {"side": "?"}], []),
    ],
)  # fmt: skip
@pytest.mark.parametrize("status", ["NEW", "PARTIALLY_FILLED"])
def test_leverage_is_held_against_what_position_and_orders_may_reach(
    leverage: str, position: dict[str, str], orders: list[Any], rules: list[str], status: str
) -> None:
    rows = [position | {"curMarkPx": "100000"}] if position else []
    routes = {"list": lambda _: rows, "states": lambda query: orders if query["status"] == status else []}
    broken, asked = check("setLeverage", {"symbolCode": 1, "leverage": leverage}, **routes)
    assert broken == rules
    if leverage in ("20", "41"):
        assert asked == [], "the product or every tier decides"
    elif leverage == "21":
        own = {"userAddr": OWNER, "symbol": "1"}
        wanted = [("states", own | {"status": one, "pageSize": "500"}) for one in ("NEW", "PARTIALLY_FILLED")]
        assert asked == [("list", own), *wanted]


@pytest.mark.parametrize(
    ("position", "order"),
    [
        ({"longSize": "300"}, LAST | {"leaveQty": "?"}),
        ({"longSize": "?"}, LAST),
        ({"longSize": "300", "curMarkPx": "x"}, LAST),
    ],
)
def test_a_figure_that_can_t_be_read_is_not_0_and_leaves_the_rule_to_the_venue(position: Any, order: Any) -> None:
    routes = {"list": lambda _: [{"curMarkPx": "100000"} | position], "states": lambda _: [order]}
    assert check("setLeverage", {"symbolCode": 1, "leverage": "21"}, **routes)[0] == []
    small = {"list": lambda _: [{"longSize": "?"}]}
    assert check("placeOrder", {"orders": [SMALL | {"ordSide": "SELL"}]}, **small)[0] == []


def test_the_position_is_that_of_the_vault_or_the_account() -> None:
    _, asked = check("setLeverage", {"symbolCode": 1, "leverage": "30"}, vault=VAULT)
    assert {query["userAddr"] for _, query in asked} == {VAULT}
    stranger = PreTradeChecks(Catalogue(), known(""), NO_RETRY)
    assert check("setLeverage", {"symbolCode": 1, "leverage": "30"}, stranger) == ([], [])
    for failing in (refuse, lambda _: Disconnected("x")):
        broken, _ = check("setLeverage", {"symbolCode": 1, "leverage": "30"}, list=failing, states=failing)
        assert broken == [], "the venue judges"


@pytest.mark.parametrize(
    ("side", "row", "rules"),
    [
        ("SELL", {"longSize": "0.0001"}, []),
        ("SELL", {"longSize": "0.0002"}, ["minOrderValue"]),
        ("SELL", {"shortSize": "-0.0001"}, ["minOrderValue"]),
        ("BUY", {"shortSize": "-0.0001"}, []),
        ("BUY", {"longSize": "0.0001"}, ["minOrderValue"]),
        ("BUY", {"shortSize": "-0.0001", "positionMode": "HEDGE"}, ["minOrderValue"]),
        ("BUY", {"shortSize": "-0.0001", "positionMode": "1"}, []),
        ("BUY", None, ["minOrderValue"]),
    ],
)
def test_a_small_order_may_close_all_of_a_position(side: str, row: Any, rules: list[str]) -> None:
    item = SMALL | {"ordSide": side}
    broken, asked = check("placeOrder", {"orders": [item]}, list=lambda _: [row] if row else [])
    assert (broken, asked) == (rules, [("list", {"userAddr": OWNER, "symbol": "1"})])
    assert check("placeOrder", {"orders": [ITEM]})[1] == [], "a large one needs no position"


def test_the_order_of_a_builder_is_for_a_trader_whose_position_is_not_known() -> None:
    payload = {"order": SMALL | {"ordType": "LIMIT"}, "builder": "0x" + "22" * 20, "builderFeeRate": "0.0001"}
    assert check("placeBuilderOrder", payload) == (["minOrderValue"], [])
    stop = payload | {"order": ITEM | {"ordType": "STOP_LIMIT", "triggerPx": "61000"}}
    assert check("placeBuilderOrder", stop) == ([], [])


KLINE = ("last", {"symbol_name": "BTCUSDC", "interval": "60", "limit": "1"})
RATE = ("current", {"symbol": "1"})


@pytest.mark.parametrize(
    ("closes", "marks", "rules", "asked"),
    [
        ([{"close": "50000"}], [], [], [KLINE, RATE]),
        ([{"close": "500"}], [], ["minOrderValue"], [KLINE, RATE]),
        ([{"close": "50000"}], [{"markPx": "51500"}], [], [KLINE, RATE]),
        ([{"close": "50000"}], [{"markPx": "51501"}], ["prices agree"], [KLINE, RATE, KLINE, RATE]),
        ([{"close": "500"}], [{"markPx": "50000"}], ["minOrderValue", "prices agree"], [KLINE, RATE, KLINE, RATE]),
        ([], [{"markPx": "500"}], ["minOrderValue"], [KLINE, RATE]),
        ([{"close": "0"}], [{"markPx": "500"}], ["minOrderValue"], [KLINE, RATE]),
        ([{"close": "?"}], [{"markPx": "50000"}], [], [KLINE, RATE]),
        ([], [], [], [KLINE, RATE]),
        ([{"close": "-1"}], [{"markPx": "Infinity"}], [], [KLINE, RATE]),
        ([{"close": "0.5"}], [], ["minOrderValue"], [KLINE, RATE]),
    ],
)
def test_a_market_order_is_valued_at_the_last_price_or_else_the_mark(
    closes: Any, marks: Any, rules: list[str], asked: list[Any]
) -> None:
    broken, found = check("placeOrder", {"orders": [MARKET]}, last=lambda _: closes, current=lambda _: marks)
    assert (broken, [one for one in found if one[0] != "list"]) == (rules, asked)


@pytest.mark.parametrize(
    "change",
    [
        {"reduceOnlyOption": "REDUCE_ONLY"},
        {"ordSide": "BUY_CLOSE_HEDGE"},
        {"reduceOnlyOption": "TP_FROM_POSITION", "triggerPx": "61000"},
        {"ordPx": "60000", "ordType": "LIMIT", "timeInForce": "GTC"},
    ],
)
def test_no_price_is_read_for_what_reduces_or_has_one(change: dict[str, str]) -> None:
    assert check("placeOrder", {"orders": [MARKET | change]}) == ([], [])


def test_no_price_is_read_for_the_order_of_a_builder_that_reduces() -> None:
    terms = {"builder": "0x" + "22" * 20, "builderFeeRate": "0.0001"}
    assert check("placeBuilderOrder", terms | {"order": MARKET | {"reduceOnly": "REDUCE_ONLY"}}) == ([], [])
    assert names(check("placeBuilderOrder", terms | {"order": MARKET})[1]) == ["last", "current"]


def test_a_price_is_kept_for_a_minute_for_orders_far_above_the_minimum() -> None:
    made = PreTradeChecks(Catalogue(), known(OWNER), NO_RETRY)

    def asked(quantity: str, now_ms: int) -> int:
        calls: list[Any] = []
        routes = {
            "product-meta": lambda _: PRODUCTS,
            "last": lambda query: (calls.append(query), [{"close": "1000"}])[1],
        }
        flow = made.check(decode({"type": "placeOrder", "orders": [MARKET | {"ordQty": quantity}]}), None)
        ask(flow, now_ms, **routes)
        return len(calls)

    assert asked("0.02", 5_000) == 1
    assert asked("0.02", 64_999) == 0, "20 USDC, twice the minimum"
    assert asked("0.019", 6_000) == 1
    assert asked("0.02", 66_000) == 1, "a minute later"


def test_exits_are_compared_with_the_price_at_which_the_first_order_opens() -> None:
    exits = ITEM | {"ordSide": "SELL", "reduceOnly": "TP_FROM_POSITION"}

    def broken(entry: dict[str, Any], trigger: str) -> list[str]:
        return check("placeBracketOrder", {"orders": [entry, exits | {"triggerPx": trigger}]})[0]

    assert broken(ITEM, "60000") == ["trigger met"]
    assert broken(ITEM, "60000.1") == []
    assert broken(MARKET, "1000") == [], "at market there is no such price"
    alone = exits | {"triggerPx": "60000", "reduceOnlyOption": exits["reduceOnly"]}
    del alone["reduceOnly"]
    assert check("placeOrder", {"orders": [ITEM, alone]})[0] == []


def test_an_exit_whose_trigger_was_met_is_replaced_without_one() -> None:
    exit_item = ITEM | {"ordSide": "SELL", "reduceOnly": "TP_FROM_POSITION", "ordId": 7}
    assert check("replaceOrder", exit_item)[0] == []
    assert check("replaceOrder", exit_item | {"triggerPx": "60000.05"})[0] == ["tickSize"]
    placed = ITEM | {"ordSide": "SELL", "reduceOnlyOption": "TP_FROM_POSITION"}
    assert check("placeOrder", {"orders": [placed]})[0] == ["trigger price"]


def test_a_product_that_is_not_known_is_left_to_the_venue() -> None:
    assert check("placeOrder", {"orders": [ITEM | {"symbolCode": 99}]}) == ([], [])
    assert check("setLeverage", {"symbolCode": 99, "leverage": "500"}) == ([], [])


def test_a_withdrawal_has_a_minimum_and_other_actions_have_no_rules() -> None:
    destination = {"destination": OWNER, "withdrawSequence": 1}
    assert check("withdraw", destination | {"amount": "1.99"})[0] == ["minimum withdrawal"]
    assert check("withdraw", destination | {"amount": "2"})[0] == []
    assert check("faucetClaim", {}) == ([], [])


def test_the_stop_loss_of_a_bracket_at_market_is_compared_with_no_price() -> None:
    stop = ITEM | {"ordSide": "SELL", "reduceOnly": "SL_FROM_POSITION", "triggerPx": "50000"}
    assert check("placeBracketOrder", {"orders": [MARKET, stop]})[0] == []
    assert check("placeBracketOrder", {"orders": [ITEM, stop]})[0] == []
    assert check("placeBracketOrder", {"orders": [ITEM, stop | {"triggerPx": "60000"}]})[0] == ["trigger met"]
