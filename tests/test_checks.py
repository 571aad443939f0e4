"""Each pre-trade rule by itself: where it begins to be broken, and what its failure says."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from toolkit import checks
from toolkit.products import Product
from toolkit.venue.model.genesis import default_margin_tables, default_products

BTC = Product.from_row(default_products()[0], default_margin_tables()[1])


def odd_product(tick: str, step: str, **more: Any) -> Product:
    """Return a product with other steps than the seeded ones."""
    row = default_products()[0] | {"tickSize": tick, "stepSize": step, **more}
    return Product.from_row(row, default_margin_tables()[1])


ORDER = {
    "symbolCode": 1,
    "ordPx": "60000",
    "ordQty": "0.01",
    "ordType": "LIMIT",
    "ordSide": "BUY",
    "timeInForce": "GTC",
}


@pytest.mark.parametrize(
    ("bent", "failure"),
    [
        ({"ordPx": "60000.05"}, ("tickSize", "ordPx", "60000.05", "0.1", ("60000.0", "60000.1"))),
        ({"ordPx": "0.01"}, ("tickSize", "ordPx", "0.01", "0.1", ("0.1",))),
        ({"ordPx": "-5"}, ("price above 0", "ordPx", "-5", "0", ("0.1",))),
        ({"ordPx": "six"}, ("decimal text", "ordPx", "six", "0.1", ())),
        ({"ordPx": "5999.9"}, ("price band", "ordPx", "5999.9", "6000.0", ("6000.0",))),
        ({"ordPx": "1000000"}, ("price band", "ordPx", "1000000", "999999.0", ("999999.0",))),
        ({"ordQty": "0.0105"}, ("stepSize", "ordQty", "0.0105", "0.001", ("0.010", "0.011"))),
        ({"ordQty": "0"}, ("quantity above 0", "ordQty", "0", "0", ("0.001",))),
        ({"ordQty": "1000.001"}, ("maxOrderQty", "ordQty", "1000.001", "1000.000", ("1000.000",))),
        ({"ordPx": "6000", "ordQty": "0.001"}, ("minOrderValue", "ordQty", "0.001", "10", ("0.002",))),
        ({"ordSide": "LONG"}, ("known name", "ordSide", "LONG", ", ".join(checks.SIDES), tuple(checks.SIDES))),
        ({"slippagePct": "0.06"}, ("maxSlippagePct", "slippagePct", "0.06", "0.05", ("0.05",))),
        ({"slippagePct": "0"}, ("slippage above 0", "slippagePct", "0", "0", ("0.05",))),
        ({"slippagePct": "-0.01"}, ("slippage above 0", "slippagePct", "-0.01", "0", ("0.05",))),
        (
            {"ordType": "MARKET", "ordPx": "0"},
            ("market timeInForce", "timeInForce", "GTC", "IOC, FOK", ("IOC", "FOK")),
        ),
        (
            {"ordType": "MARKET", "timeInForce": "IOC"},
            ("market price", "ordPx", "60000", "0", ("0",)),
        ),
        ({"timeInForce": "POST_ONLY"}, ("POST_ONLY", "ordPx", "60000.0", "best ask 60000.0", ("59999.9",))),
    ],
)
def test_each_failure_says_rule_field_value_limit_and_what_would_pass(
    bent: dict[str, Any], failure: tuple[str, str, str, str, tuple[str, ...]]
) -> None:
    prices = {name: Decimal(60_000) for name in ("mark", "last", "index", "ask")}
    [found] = checks.check_order(BTC, ORDER | bent, **prices)
    assert (found.rule, found.field, found.value, found.limit, found.nearest) == failure
    for value in found.nearest[:2]:
        assert value in found.message


def test_every_broken_rule_is_reported() -> None:
    bent = ORDER | {"ordPx": "60000.05", "ordQty": "0.0105", "timeInForce": "DAY", "slippagePct": "1"}
    rules = [failure.rule for failure in checks.check_order(BTC, bent)]
    assert rules == ["known name", "tickSize", "stepSize", "maxSlippagePct"]


AT_MARKET = {"ordType": "MARKET", "ordPx": "0", "timeInForce": "IOC"}
STOP = {"reduceOnlyOption": "SL_FROM_POSITION", "ordSide": "SELL", "triggerPx": "50000"}
TAKE = {"reduceOnlyOption": "TP_FROM_POSITION", "ordSide": "SELL", "triggerPx": "70000"}
POST = {"timeInForce": "POST_ONLY", "ordQty": "1000"}


@pytest.mark.parametrize(
    "bent",
    [
        {"ordPx": "0.1", "ordQty": "1000"},
        {"ordPx": "999999", "ordQty": "1000"},
        {"ordPx": "5000", "ordQty": "0.002"},  # 10 USDC
        AT_MARKET | {"ordQty": "0.001"},
        POST | {"ordPx": "0.1"},
        POST | {"ordPx": "0.1", "ordSide": "SELL"},
        *(kind | {"tpslTriggerType": by} for kind in (STOP, TAKE) for by in (None, *checks.TRIGGERS)),
        *(kind | {"ordSide": "BUY"} for kind in (STOP, TAKE)),
        STOP | {"ordQty": "0"},
        STOP | {"triggerPx": "999999"},
        STOP | {"triggerPx": "0.1"},
    ],
)
def test_rules_that_need_a_reference_price_are_skipped_without_it(bent: dict[str, Any]) -> None:
    assert checks.check_order(BTC, ORDER | bent) == []
    assert checks.read_order(BTC, ORDER | bent).failures is None


# Prices in ticks of 0.1: mark, last, index, bid, ask, the main order's.
NOW = (600_000, 601_000, 602_000, 599_000, 603_000, 0)
UNMET = {"BUY": {"LAST_PRICE": 601_001, "MARK_PRICE": 600_001, "INDEX_PRICE": 602_001}}
UNMET["SELL"] = {by: ticks - 2 for by, ticks in UNMET["BUY"].items()}


@pytest.mark.parametrize("entry", [0, 610_000])
@pytest.mark.parametrize("by", [None, *checks.TRIGGERS])
@pytest.mark.parametrize("side", ["BUY", "SELL"])
@pytest.mark.parametrize("kind", ["TP", "SL"])
def test_a_trigger_is_beyond_the_price_that_it_watches(kind: str, side: str, by: str | None, entry: int) -> None:
    """A stop that buys triggers at or above the price, a take-profit at or below it; one that sells, the other way."""
    up = (side == "BUY") == (kind == "SL")
    first = UNMET["BUY" if up else "SELL"][by or "LAST_PRICE"]
    if entry:
        first = entry + 1 if up else entry - 1
    product, item = BTC, ORDER | {"ordSide": side, "reduceOnlyOption": f"{kind}_FROM_POSITION"}
    for ticks, met in ((first, False), (first - 1 if up else first + 1, True)):
        bent = item | {"triggerPx": product.price_text(ticks), "tpslTriggerType": by}
        spec = checks.read_order(product, bent, *NOW[:5], entry)
        assert (spec.trigger, spec.trigger_up, spec.trigger_by) == (ticks, up, checks.TRIGGERS[by or "LAST_PRICE"])
        if not met:
            assert spec.failures is None
            continue
        assert spec.failures is not None
        [failure] = spec.failures
        watched = "the main order's price" if entry else by or "LAST_PRICE"
        words = f"{'stop' if kind == 'SL' else 'take profit'} that {'buys' if side == 'BUY' else 'sells'}"
        assert f"a {words} triggers at {watched} {'≥' if up else '≤'}" in failure.message
        assert (failure.rule, failure.nearest) == ("trigger met", (product.price_text(first),))
        now = {"mark": 60_000, "last": 60_100, "index": 60_200, "entry": entry // 10 or None}
        prices = {name: Decimal(price) for name, price in now.items() if price is not None}
        assert checks.check_order(product, bent, **prices) == [failure]
        assert checks.check_order(product, bent, **prices, triggered=True) == []


@pytest.mark.parametrize(
    ("ticks", "kind", "nearest"),
    [(1, "TP", ()), (2, "TP", ("0.1",)), (9_999_990, "SL", ()), (9_999_989, "SL", ("999999.0",))],
)
def test_no_price_beyond_the_first_or_the_last_is_named_as_the_nearest_trigger(
    ticks: int, kind: str, nearest: tuple[str, ...]
) -> None:
    product = BTC
    bent = {"triggerPx": product.price_text(ticks), "ordSide": "BUY", "reduceOnlyOption": f"{kind}_FROM_POSITION"}
    [failure] = checks.check_order(product, ORDER | bent, last=product.tick_size * ticks)
    assert (failure.rule, failure.nearest) == ("trigger met", nearest)


@pytest.mark.parametrize(
    ("bent", "rules"),
    [
        ({"ordSide": "SELL", "ordPx": "59900", **POST}, ["POST_ONLY"]),
        ({"ordSide": "SELL", "ordPx": "59900.1", **POST}, []),
        ({"ordSide": "BUY", "ordPx": "60300", **POST}, ["POST_ONLY"]),
        ({"ordSide": "BUY", "ordPx": "60299.9", **POST}, []),
        ({"ordSide": "BUY_CLOSE_HEDGE", "ordPx": "60300", **POST}, ["POST_ONLY"]),
        ({"ordSide": "SELL_CLOSE_HEDGE", "ordPx": "59900", **POST}, ["POST_ONLY"]),
        ({"ordPx": "60000.05", **POST}, ["tickSize"]),  # a price that can't be read matches nothing
        ({"ordSide": "SELL", "ordPx": "60000.05", **POST}, ["tickSize"]),
        ({"ordSide": "UP", "ordPx": "60300", **POST}, ["known name"]),
        ({"ordSide": "UP", "ordPx": "59900", **POST}, ["known name"]),
        ({"ordPx": "0"}, ["price above 0"]),
        ({"ordPx": "0.1", "ordQty": "1000"}, ["price band"]),
        ({"ordPx": 60_000}, ["decimal text"]),
        ({"ordQty": 1}, ["decimal text"]),
        ({"slippagePct": 0.01}, ["decimal text"]),
        ({"ordPx": "6000", "ordQty": "0.001", "timeInForce": "DAY"}, ["known name", "minOrderValue"]),
        ({**STOP, **POST, "ordPx": "59000"}, []),  # it rests when its trigger is met, not now
        ({"ordSide": "SELL", "ordPx": "59000"}, []),
        (AT_MARKET | {"timeInForce": "FOK"}, []),
        (AT_MARKET | {"timeInForce": "POST_ONLY"}, ["market timeInForce"]),
        (AT_MARKET | {"ordPx": "0.0"}, []),
        (AT_MARKET | {"ordPx": None}, ["market price"]),
        (AT_MARKET | {"ordQty": "0.0001"}, ["stepSize"]),
        (AT_MARKET | {"ordQty": "0"}, ["quantity above 0"]),
        (AT_MARKET | STOP | {"ordQty": "0"}, []),
        (AT_MARKET | STOP | {"ordQty": "-1"}, ["quantity above 0"]),
        ({"reduceOnlyOption": "REDUCE_ONLY", "ordQty": "0"}, ["quantity above 0"]),
        ({"ordQty": "1000"}, []),
        ({"ordPx": "6000", "ordQty": "0.001", "reduceOnlyOption": "REDUCE_ONLY"}, []),
        ({"ordPx": "6000", "ordQty": "0.001", "reduceOnly": "REDUCE_ONLY"}, []),
        ({"ordPx": "6000", "ordQty": "0.001", "ordSide": "BUY_CLOSE_HEDGE"}, []),
        ({"ordPx": "6000", "ordQty": "0.001", "reduceOnlyOption": ""}, ["minOrderValue"]),
        ({"ordPx": "6000", "ordQty": "0.001", "reduceOnlyOption": "NONE"}, ["minOrderValue"]),
        ({"reduceOnlyOption": "ALL"}, ["known name"]),
        ({"slippagePct": "0.05"}, []),
        ({"slippagePct": "five"}, ["decimal text"]),
        ({"triggerPx": "50000"}, ["trigger kind"]),
        ({"tpslTriggerType": "LAST_PRICE"}, ["trigger kind"]),
        ({"reduceOnlyOption": "REDUCE_ONLY", "triggerPx": "50000"}, ["trigger kind"]),
        (STOP | {"tpslTriggerType": "BID"}, ["known name"]),
        (STOP | {"tpslTriggerType": "BID", "triggerPx": "70000"}, ["known name"]),
        (STOP | {"triggerPx": None}, ["trigger price"]),
        (STOP | {"triggerPx": 50_000}, ["decimal text"]),
        (STOP | {"triggerPx": "0"}, ["trigger price above 0"]),
        (STOP | {"triggerPx": "50000.05"}, ["tickSize"]),
        (STOP | {"triggerPx": "999999.1", "ordSide": "BUY"}, ["price band"]),
        (STOP | {"ordType": "STOP_LIMIT"}, ["order type"]),
        (STOP | {"ordType": "ADL"}, ["known name"]),
    ],
)
def test_each_rule_is_broken_at_its_bound_and_not_before(bent: dict[str, Any], rules: list[str]) -> None:
    spec = checks.read_order(BTC, ORDER | bent, *NOW)
    assert [failure.rule for failure in spec.failures or ()] == rules


@pytest.mark.parametrize(
    ("kind", "option", "rules"),
    [
        ("STOP_LIMIT", "SL_FROM_POSITION", []),
        ("STOP_LIMIT", "TP_FROM_POSITION", ["trigger kind"]),
        ("TAKE_PROFIT_LIMIT", "TP_FROM_POSITION", []),
        ("TAKE_PROFIT_LIMIT", "SL_FROM_POSITION", ["trigger kind"]),
        ("STOP_LIMIT", "REDUCE_ONLY", []),
        ("STOP_LIMIT", "NONE", []),
    ],
)
def test_the_type_of_a_builder_order_agrees_with_what_it_does_to_a_position(
    kind: str, option: str, rules: list[str]
) -> None:
    trigger = "50000" if kind.startswith("STOP") else "70000"
    bent = {"ordType": kind, "reduceOnlyOption": option, "ordSide": "SELL", "triggerPx": trigger}
    spec = checks.read_order(BTC, ORDER | bent, *NOW, builder=True)
    assert [failure.rule for failure in spec.failures or ()] == rules
    missing = checks.check_order(BTC, ORDER | bent | {"triggerPx": None}, builder=True)
    assert [failure.rule for failure in missing if failure.rule != "trigger kind"] == ["trigger price"]
    assert f"{kind} needs a triggerPx" in str(missing[-1])


@pytest.mark.parametrize("by", [None, *checks.TRIGGERS])
def test_a_builder_order_at_market_may_be_good_till_cancelled_until_its_trigger(by: str | None) -> None:
    bent = {"ordType": "STOP_MARKET", "ordPx": "0", "triggerPx": "70000", "tpslTriggerType": by}
    spec = checks.read_order(BTC, ORDER | bent, *NOW, builder=True)
    assert (spec.failures, spec.price, spec.trigger, spec.trigger_up) == (None, 0, 700_000, True)
    [failure] = checks.check_order(BTC, ORDER | bent | {"timeInForce": "POST_ONLY"}, builder=True)
    assert failure.rule == "market timeInForce"


@pytest.mark.parametrize(
    ("quantity", "filled", "cover", "rules"),
    [
        ("0.001", 0, 0, ["minOrderValue"]),  # 6 USDC
        ("0.002", 0, 0, []),
        ("0.003", 1, 0, []),
        ("0.003", 2, 0, ["minOrderValue"]),
        ("0.001", 0, 1, []),  # all of a position
        ("0.001", 0, 2, ["minOrderValue"]),
        ("0.003", 2, 1, []),
        ("0.003", 3, 0, []),
    ],
)
def test_what_is_left_of_an_order_is_worth_the_minimum_or_all_of_a_position(
    quantity: str, filled: int, cover: int, rules: list[str]
) -> None:
    item = ORDER | {"ordPx": "6000", "ordQty": quantity}
    spec = checks.read_order(BTC, item, cover_steps=cover, filled_steps=filled)
    assert [failure.rule for failure in spec.failures or ()] == rules
    for failure in spec.failures or ():
        enough = item | {"ordQty": failure.nearest[0]}
        assert checks.read_order(BTC, enough, filled_steps=filled).failures is None
        less = item | {"ordQty": BTC.quantity_text(int(Decimal(failure.nearest[0]) * 1000) - 1)}
        assert checks.read_order(BTC, less, filled_steps=filled).failures is not None
    if not filled:
        found = checks.check_order(BTC, item, cover=cover * BTC.step_size)
        assert found == (spec.failures or [])


def test_a_refused_number_is_kept_where_the_state_has_room_for_it() -> None:
    """64 bits; a larger one is 0."""
    product = odd_product("1", "1", maxOrderQty="1000000", pricePrecision=0, qtyPrecision=0)
    for number, kept in ((2**63 - 1, 2**63 - 1), (2**63, 0)):
        spec = checks.read_order(
            product, ORDER | STOP | {"ordPx": str(number), "triggerPx": str(number), "ordQty": str(number)}
        )
        assert (spec.price, spec.trigger, spec.quantity) == (kept, kept, kept)
        assert [one.rule for one in spec.failures or ()] == ["price band", "price band", "maxOrderQty"]
    spec = checks.read_order(product, ORDER | {"ordPx": "5", "ordQty": "9"}, 100)
    assert (spec.price, [one.rule for one in spec.failures or ()]) == (5, ["price band"])


def test_what_an_item_says_is_read() -> None:
    item = ORDER | {"clOrdId": 7, "parentOrdId": 8, "slippagePct": "0.01", "ordSide": "SELL_CLOSE_HEDGE"}
    spec = checks.read_order(BTC, item)
    assert (spec.client_id, spec.parent, spec.slippage, spec.side, spec.closing) == (7, 8, 1_000_000, -1, True)
    assert (spec.type, spec.tif, spec.reduce, spec.price, spec.quantity) == (1, 1, 0, 600_000, 10)
    assert (spec.trigger, spec.trigger_by, spec.trigger_up, spec.failures) == (0, 0, False, None)
    spec = checks.read_order(BTC, ORDER)
    assert (spec.client_id, spec.parent, spec.slippage, spec.side, spec.closing) == (0, 0, 0, 1, False)
    spec = checks.read_order(BTC, ORDER | {"ordSide": "BUY_CLOSE_HEDGE"})
    assert (spec.side, spec.closing) == (1, True)


def test_what_can_not_be_read_is_0() -> None:
    bent = ("ordPx", "ordQty", "ordType", "ordSide", "timeInForce", "reduceOnly", "slippagePct")
    spec = checks.read_order(BTC, dict.fromkeys(bent, "?"))
    assert [failure.field for failure in spec.failures or ()] == [*bent[2:6], *bent[:2], "slippagePct"]
    assert (spec.price, spec.quantity, spec.type, spec.side, spec.closing, spec.tif, spec.reduce, spec.slippage) == (
        *(0, 0, 0, 0, False),
        *(0, 0, 0),
    )
    assert checks.read_order(BTC, ORDER | STOP | {"tpslTriggerType": "?"}).trigger_by == 0


@pytest.mark.parametrize(
    ("field", "builder", "names"),
    [
        ("ordType", False, ("LIMIT", "MARKET")),
        ("ordType", True, ("LIMIT", "MARKET", *checks.CONDITIONAL_TYPES)),
        ("timeInForce", False, ("GTC", "POST_ONLY", "IOC", "FOK")),
        ("reduceOnly", False, ("REDUCE_ONLY", "TP_FROM_POSITION", "SL_FROM_POSITION")),
    ],
)
def test_an_unknown_name_is_answered_with_the_known_ones(field: str, builder: bool, names: tuple[str, ...]) -> None:
    [failure] = checks.check_order(BTC, ORDER | {field: "?"}, builder=builder)
    assert (failure.field, set(failure.nearest)) == (field, set(names))


@pytest.mark.parametrize(
    ("bent", "message"),
    [
        (
            {"ordPx": "6000", "ordQty": "0.001"},
            "order value 6 (0.001 at 6000.0) is below minOrderValue 10. The nearest quantity is 0.002",
        ),
        (STOP | {"triggerPx": None, "tpslTriggerType": "LAST_PRICE"}, "TP/SL from position needs a triggerPx"),
        ({"ordPx": "1000000"}, "price 1000000 is above 999999. The nearest is 999999.0"),
    ],
)
def test_messages_hold_the_numbers(bent: dict[str, Any], message: str) -> None:
    assert [str(failure) for failure in checks.check_order(BTC, ORDER | bent)] == [message]


@pytest.mark.parametrize(("mark", "last", "passes"), [(0, 0, True), (100_000, 0, False), (0, 100_000, False)])
def test_a_market_order_is_worth_its_minimum_at_the_last_price_or_else_the_mark(
    mark: int, last: int, passes: bool
) -> None:
    """0.00099 BTC at 10,000 USDC are 9.9, and 0.001 are 10."""
    product = odd_product("0.1", "0.00001")
    for quantity, good in (("0.00099", passes), ("0.001", True)):
        spec = checks.read_order(product, ORDER | AT_MARKET | {"ordQty": quantity}, mark, last)
        assert (spec.failures is None) is good
    assert checks.read_order(product, ORDER | AT_MARKET | {"ordQty": "0.00099"}, 1, 200_000).failures is None


def test_a_product_that_is_not_listed_takes_no_order() -> None:
    [failure] = checks.check_order(odd_product("0.1", "0.001", listStatus="delisted"), ORDER)
    assert (failure.rule, failure.field, failure.value, failure.limit) == ("listing", "symbolCode", "1", "listed")
    assert failure.message == "BTCUSDC is delisted, not listed"


def test_the_price_band_begins_at_a_tenth_of_the_mark() -> None:
    product = BTC
    assert checks.read_order(product, ORDER | {"ordPx": "6000.1", "ordQty": "1"}, 600_001).failures is None
    [failure] = checks.read_order(product, ORDER | {"ordPx": "6000.0", "ordQty": "1"}, 600_001).failures or []
    assert failure.nearest == ("6000.1",)


@pytest.mark.parametrize(("best", "nearest"), [(600_000, ("60000.1",)), (1, ("0.2",))])
def test_what_would_match_a_bid_names_the_price_above_it(best: int, nearest: tuple[str, ...]) -> None:
    product, item = BTC, ORDER | POST | {"ordSide": "SELL", "ordPx": "0.1"}
    [failure] = checks.check_order(product, item, bid=product.tick_size * best)
    assert (failure.limit, failure.nearest) == (f"best bid {product.price_text(best)}", nearest)


def test_what_would_match_an_ask_of_one_tick_has_no_price_below() -> None:
    [failure] = checks.check_order(BTC, ORDER | POST | {"ordPx": "0.1"}, ask=Decimal("0.1"))
    assert (failure.limit, failure.nearest) == ("best ask 0.1", ())


@pytest.mark.parametrize(
    ("most", "slippage", "side", "bound"),
    [
        ("0.05", 0, 1, 1_030),
        ("0.05", 0, -1, 970),
        ("0.02", 0, 1, 1_020),
        ("0.05", 1_000_000, 1, 1_010),
        ("0.05", 1_000_000, -1, 990),
    ],
)
def test_a_market_order_without_slippage_has_the_default_or_the_most_of_its_product(
    most: str, slippage: int, side: int, bound: int
) -> None:
    product = odd_product("0.1", "0.001", maxSlippagePct=most)
    assert checks.slippage_bound(product, side, 1_000, slippage) == bound


def test_leverage_is_limited_by_the_product_and_by_the_tier_of_the_notional() -> None:
    row = default_products()[0] | {"maxLeverage": "30"}
    tiers = [("0", "40"), ("0.5", "20"), ("100", "10")]
    names = ("minimumValue", "maxLeverage", "maintainMarginRatio")
    product = Product.from_row(row, [dict(zip(names, (*tier, "0.0125"), strict=True)) for tier in tiers])
    for notional, limit in ((None, "30"), ("0.5", "30"), ("0.6", "20"), ("100", "20"), ("100.1", "10")):
        given = () if notional is None else (Decimal(notional),)
        assert checks.leverage_limit(product, *given) == Decimal(limit)
        assert checks.check_leverage(product, Decimal(limit), *given) == []
        [failure] = checks.check_leverage(product, Decimal(limit) + 1, *given)
        assert (failure.value, failure.limit, failure.nearest) == (str(int(limit) + 1), limit, (limit,))
        assert failure.message.endswith(f"for your position and orders of {notional or 0} USDC")


def test_a_withdrawal_has_a_smallest_amount() -> None:
    assert checks.check_withdrawal(Decimal(2)) == []
    [failure] = checks.check_withdrawal(Decimal("1.99"))
    assert (failure.rule, failure.limit, failure.nearest) == ("minimum withdrawal", "2", ("2",))
    assert checks.check_withdrawal(Decimal(5), Decimal(5)) == []
    assert checks.check_withdrawal(Decimal(4), Decimal(5))


@pytest.mark.parametrize(
    ("text", "width"), [("0.001", 100_000), ("0.00000001", 1), ("0.010000001", 1_000_000), ("0.0000000000001", 1)]
)
def test_any_slippage_above_0_passes_up_to_the_largest(text: str, width: int) -> None:
    market = {"ordType": "MARKET", "ordPx": "0", "timeInForce": "IOC"}
    spec = checks.read_order(BTC, ORDER | market | {"slippagePct": text}, 600_000, 600_000)
    assert (spec.failures, spec.slippage) == (None, width)


@pytest.mark.parametrize(
    ("kind", "price", "trigger", "quantity", "passes"),
    [
        ("STOP_MARKET", "0", "70000", "0.00015", True),
        ("STOP_MARKET", "0", "70000", "0.00014", False),
        ("TAKE_PROFIT_MARKET", "0", "50000", "0.00019", False),
        ("TAKE_PROFIT_MARKET", "0", "50000", "0.0002", True),
        ("STOP_LIMIT", "70000", "65000", "0.00015", True),
        ("TAKE_PROFIT_LIMIT", "50000", "55000", "0.00019", False),
    ],
)
def test_a_conditional_order_is_worth_its_minimum_where_it_would_trade(
    kind: str, price: str, trigger: str, quantity: str, passes: bool
) -> None:
    """At market by its trigger, else by its limit; not by the price of the moment, 60,000."""
    item = {"symbolCode": 1, "ordPx": price, "ordQty": quantity, "ordType": kind, "ordSide": "BUY"}
    item |= {"timeInForce": "IOC" if price == "0" else "GTC", "triggerPx": trigger, "tpslTriggerType": "LAST_PRICE"}
    now = Decimal(60_000)
    found = checks.check_order(odd_product("0.1", "0.00001"), item, last=now, mark=now, builder=True)
    assert [one.rule for one in found] == ([] if passes else ["minOrderValue"])
