"""Pre-trade rules: an order that `checks` passes is never refused for them by the venue, and vice versa."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.test_checks import odd_product
from tests.venue.floor import PRICES
from toolkit import checks
from toolkit.products import Product, whole_units
from toolkit.protocol.orders.items import OrderItem
from toolkit.venue.engine.commands import ActionContext, Refused, TxCode
from toolkit.venue.engine.core import Core
from toolkit.venue.model.genesis import Genesis
from toolkit.venue.risk import ledger
from toolkit.venue.trading.placing import place

CORE = Core(Genesis(prices=PRICES, settings={"market": False}))
PRODUCTS = list(CORE.products.values())
WHO = "0x" + "aa" * 20


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
            place(
                core,
                ActionContext(maker),
                OrderItem.recall(item | {"ordType": "LIMIT", "ordSide": side, "timeInForce": "GTC"}),
            )
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


@settings(max_examples=200)
@given(st.one_of(items, sound_items()))
def test_checks_and_venue_agree_on_every_order(
    item: dict[str, Any],
) -> None:
    core = venue_core()
    product = core.products[item["symbolCode"]]
    failures = checks.check_order(product, item, **references(core, product))
    try:
        place(core, ActionContext(core.account(WHO)), OrderItem.recall(item))
        refusal = None
    except Refused as caught:
        refusal = caught
    if failures:
        assert refusal is not None
        assert refusal.code == TxCode.PRE_TRADE_RULE
        assert refusal.reason == "; ".join(str(failure) for failure in failures)
    elif refusal is not None:
        assert refusal.code != TxCode.PRE_TRADE_RULE, refusal.reason


@settings(max_examples=150)
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


@given(items)
def test_checking_never_raises(item: dict[str, Any]) -> None:
    assume(item)
    for builder in (True, False):
        checks.check_order(CORE.products[item["symbolCode"]], item, builder=builder)
    checks.check_order(CORE.products[1], {})
