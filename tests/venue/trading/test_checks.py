"""Pre-trade rules: an order that `checks` passes is never refused for them by the venue, and vice versa."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.venue.floor import PRICES
from toolkit import checks
from toolkit.products import Product, whole_units
from toolkit.venue.engine.codes import TxCode
from toolkit.venue.engine.commands import ActionContext, Refused
from toolkit.venue.engine.core import Core
from toolkit.venue.model.genesis import Genesis, default_margin_tables, default_products
from toolkit.venue.risk import ledger
from toolkit.venue.trading.orders import place

CORE = Core(Genesis(prices=PRICES, settings={"market": False}))
PRODUCTS = list(CORE.products.values())
WHO = "0x" + "aa" * 20


def odd_product(tick: str, step: str, **more: Any) -> Product:
    """Return a product with other steps than the seeded ones."""
    row = default_products()[0] | {"tickSize": tick, "stepSize": step, **more}
    return Product.from_row(row, default_margin_tables()[1])


texts = st.one_of(
    st.decimals("0.00001", "200000", places=5).map(lambda number: format(number, "f")),
    st.integers(0, 2_000_000).map(str),
    st.sampled_from(["0", "0.0", "-1", "1e5", "", "abc", "60000.0", "60000.05", "999999", "999999.1", "٣", "1_000"]),
)
items = st.fixed_dictionaries(
    {
        "symbolCode": st.sampled_from([product.code for product in PRODUCTS]),
        "ordPx": texts,
        "ordQty": texts,
        "ordType": st.sampled_from(["LIMIT", "LIMIT", "MARKET", "STOP_LIMIT", "TAKE_PROFIT_MARKET", "ADL"]),
        "ordSide": st.sampled_from(["BUY", "SELL", "UP"]),
        "timeInForce": st.sampled_from(["GTC", "IOC", "FOK", "POST_ONLY", "DAY"]),
    },
    optional={
        "slippagePct": texts,
        "triggerPx": texts,
        "tpslTriggerType": st.sampled_from(["LAST_PRICE", "MARK_PRICE", "INDEX_PRICE", "BID"]),
        "reduceOnlyOption": st.sampled_from(["REDUCE_ONLY", "TP_FROM_POSITION", "SL_FROM_POSITION", "ALL"]),
    },
)


@st.composite
def sound_items(draw: st.DrawFn) -> dict[str, Any]:
    """Items close to sound: on the grid, near the price, with one field perhaps bent."""
    product = draw(st.sampled_from(PRODUCTS))
    middle = CORE.state.markets[product.code].mark
    market = draw(st.booleans())
    price = draw(st.integers(middle // 12, min(product.max_price + 2, middle * 3)))
    item: dict[str, Any] = {
        "symbolCode": product.code,
        "ordPx": "0" if market else product.price_text(price),
        "ordQty": product.quantity_text(draw(st.integers(1, 20 * product.min_value // (middle * product.unit) + 40))),
        "ordType": "MARKET" if market else "LIMIT",
        "ordSide": draw(st.sampled_from(["BUY", "SELL"])),
        "timeInForce": draw(st.sampled_from(["IOC", "FOK"] if market else ["GTC", "IOC", "FOK", "POST_ONLY"])),
    }
    if draw(st.integers(0, 3)) == 0:
        item |= draw(items.map(lambda bent: dict([draw(st.sampled_from(sorted(bent.items(), key=str)))])))
    return item


def venue_core() -> Core:
    """Return a core whose books have a bid and an ask."""
    core = Core(Genesis(prices=PRICES, settings={"market": False}))
    maker = core.account("0x" + "bb" * 20)
    for account in (maker, core.account(WHO)):
        ledger.deposit(core, account, 10**16)
    for code, product in core.products.items():
        middle = core.state.markets[code].mark
        for side, price in (("BUY", middle - 3), ("SELL", middle + 3)):
            quantity = product.quantity_text(-(-20 * product.min_value // (price * product.unit)))
            item = {"symbolCode": code, "ordPx": product.price_text(price), "ordQty": quantity}
            place(core, ActionContext(maker), item | {"ordType": "LIMIT", "ordSide": side, "timeInForce": "GTC"})
    return core


def references(core: Core, product: Product) -> dict[str, Decimal]:
    """Return the prices a client would check against, as it sees them."""
    market, book = core.state.markets[product.code], core.books[product.code]
    ticks = {
        "mark": market.mark,
        "last": market.last,
        "index": market.oracle,
        "bid": book.bids.best,
        "ask": book.asks.best,
    }
    return {name: Decimal(product.price_text(value)) for name, value in ticks.items()}


@settings(max_examples=400)
@given(st.one_of(items, sound_items()))
def test_checks_and_venue_agree_on_every_order(
    item: dict[str, Any],
) -> None:
    core = venue_core()
    product = core.products[item["symbolCode"]]
    failures = checks.check_order(product, item, **references(core, product))
    try:
        place(core, ActionContext(core.account(WHO)), item)
        refusal = None
    except Refused as caught:
        refusal = caught
    if failures:
        assert refusal is not None
        assert refusal.code == TxCode.PRE_TRADE_RULE
        assert refusal.reason == "; ".join(str(failure) for failure in failures)
    elif refusal is not None:
        assert refusal.code != TxCode.PRE_TRADE_RULE, refusal.reason


@settings(max_examples=300)
@given(st.one_of(items, sound_items()))
def test_the_nearest_values_of_a_failure_pass_its_rule(item: dict[str, Any]) -> None:
    product = CORE.products[item["symbolCode"]]
    prices = references(CORE, product)
    for failure in checks.check_order(product, item, **prices):
        assert failure.field in {*item, "triggerPx", "reduceOnly"}
        assert failure.message
        for value in failure.nearest:
            field = "reduceOnlyOption" if failure.field == "reduceOnly" else failure.field
            after = checks.check_order(product, item | {field: value}, **prices)
            assert (failure.rule, failure.field) not in {(left.rule, left.field) for left in after}, (failure, value)


@settings(max_examples=200)
@given(
    st.sampled_from([("0.5", "0.001"), ("0.25", "0.1"), ("1", "0.01"), ("10", "1"), ("0.0001", "1"), ("2.5", "0.4")]),
    texts,
)
def test_whole_units_agree_with_exact_division(sizes: tuple[str, str], text: str) -> None:
    product = odd_product(*sizes)
    found = whole_units(text, *product.tick_scale)
    plain = text.isascii() and text.replace(".", "", 1).isdigit() and not text.startswith(".")
    if not plain:
        assert found == -1
        return
    count = Decimal(text) / product.tick_size
    assert found == (int(count) if count == count.to_integral_value() else -1)
    if found >= 0:
        assert Decimal(product.price_text(found)) == Decimal(text)


@given(st.sampled_from(PRODUCTS), st.sampled_from([1, -1]), st.integers(1, 10**7), st.integers(500_000, 5_000_000))
def test_a_slippage_bound_is_never_beyond_the_slippage(product: Product, side: int, last: int, width: int) -> None:
    bound = checks.slippage_bound(product, side, last, width)
    assert abs(bound - last) * checks.SLIPPAGE_UNIT <= last * width
    assert abs(bound + side - last) * checks.SLIPPAGE_UNIT > last * width


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
    [found] = checks.check_order(CORE.products[1], ORDER | bent, **prices)
    assert (found.rule, found.field, found.value, found.limit, found.nearest) == failure
    for value in found.nearest[:2]:
        assert value in found.message


def test_every_broken_rule_is_reported() -> None:
    bent = ORDER | {"ordPx": "60000.05", "ordQty": "0.0105", "timeInForce": "DAY", "slippagePct": "1"}
    rules = [failure.rule for failure in checks.check_order(CORE.products[1], bent)]
    assert rules == ["known name", "tickSize", "stepSize", "maxSlippagePct"]


def test_rules_that_need_a_reference_price_are_skipped_without_it() -> None:
    low = ORDER | {"ordPx": "5999.9"}
    assert not checks.check_order(CORE.products[1], low)
    assert checks.check_order(CORE.products[1], low, mark=Decimal(60_000))


def test_only_builder_orders_have_stop_types() -> None:
    stop = ORDER | {"ordType": "STOP_LIMIT", "triggerPx": "61000"}
    assert checks.check_order(CORE.products[1], stop, builder=True) == []
    [failure] = checks.check_order(CORE.products[1], stop)
    assert failure.rule == "order type"


@given(items)
def test_checking_never_raises(item: dict[str, Any]) -> None:
    assume(item)
    for builder in (True, False):
        checks.check_order(CORE.products[item["symbolCode"]], item, builder=builder)
    checks.check_order(CORE.products[1], {})


@pytest.mark.parametrize(
    ("text", "width"), [("0.001", 100_000), ("0.00000001", 1), ("0.010000001", 1_000_000), ("0.0000000000001", 1)]
)
def test_any_slippage_above_0_passes_up_to_the_largest(text: str, width: int) -> None:
    market = {"ordType": "MARKET", "ordPx": "0", "timeInForce": "IOC"}
    spec = checks.read_order(CORE.products[1], ORDER | market | {"slippagePct": text}, 600_000, 600_000)
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
