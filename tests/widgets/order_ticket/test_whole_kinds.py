"""Each kind of order whole: its form, the orders that it makes, its problems with what would pass, its preview.

The market is that of `test_effects`: bids 59,990 and 59,980, asks 60,010 and 60,020, last price 59,995, mark 60,000.
"""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Any

import pytest

from tests.support.tuples import changed
from tests.widgets.order_ticket.test_effects import BTC, FLAT, MARKET, inputs
from toolkit.widgets.order_ticket import validation as rules
from toolkit.widgets.order_ticket.draft import Draft, Holdings, TicketMarket, in_base
from toolkit.widgets.order_ticket.order_kinds import KINDS

D = Decimal
LONG = Holdings(
    known=True, available=D(10_000), cross_equity=D(10_000), leverage=D(10), long=D("0.5"), long_value=D(29_000),
    maker=D("0.0002"), taker=D("0.0006"),
)  # fmt: skip
SHORT = dataclasses.replace(LONG, long=D(0), long_value=D(0), short=D("0.5"), short_value=D(31_000))

UNITS = (("base", "BTC"), ("notional", "USDC"), ("share", "%"))
TRIGGERS = (("MARK_PRICE", "mark price"), ("LAST_PRICE", "last price"), ("INDEX_PRICE", "index price"))


def shown(name: str, label: str, placeholder: str = "", **more: Any) -> dict[str, Any]:
    """A field as the page gets it."""
    plain = {"keyboard": "decimal", "options": (), "control": "text", "title": "", "spoken": ""}
    return {"name": name, "label": label, "placeholder": placeholder, **plain, **more}


def tif(default: str) -> dict[str, Any]:
    options = (("", f"{default} (default)"), ("GTC", "GTC"), ("IOC", "IOC"), ("FOK", "FOK"), ("POST_ONLY", "Post only"))
    return shown("tif", "Time in force", control="select", options=options)


def quantity(placeholder: str = "quantity", unit: str = "BTC") -> dict[str, Any]:
    title = "step size 0.001, at least 10 USDC, at most 1000"
    spoken = f"Quantity, in {unit}"
    return shown("quantity", "Quantity", placeholder, control="quantity", options=UNITS, title=title, spoken=spoken)


def price(label: str, placeholder: str = "price") -> dict[str, Any]:
    return shown("price", label, placeholder, title="tick size 0.1")


def orders(most: int) -> dict[str, Any]:
    return shown("count", "Orders", f"2 to {most}", keyboard="numeric")


REDUCE = shown("reduce_only", "Reduce only", control="check")
SLIPPAGE = shown("slippage", "Slippage (ratio)", "0.03 (at most 0.05)")
TRIGGER_BY = shown("trigger_by", "Trigger by", control="select", options=TRIGGERS)
EXITS_AS = (("price", "price"), ("percent", "% of the entry price"), ("pnl", "PnL in USDC"))
EXITS = [
    [shown("take_profit", "Take profit at", "none"), shown("stop_loss", "Stop loss at", "none")],
    [
        shown("exit_as", "Take profit and stop loss as", control="select", options=EXITS_AS),
        shown("client_id", "Client id", "automatic", keyboard="numeric"),
    ],
]
WITH_TRIGGER = [EXITS[0], [*EXITS[1], TRIGGER_BY]]
LIMIT = price("Limit price (USDC)", "none: at market")
DURATION = shown("duration", "Over (30m, 4h, …)", "30m", keyboard="")


@pytest.mark.parametrize(
    ("kind", "fields", "rows", "more"),
    [
        ("LIMIT", {}, [[price("Price (USDC)")], [quantity()], [tif("GTC"), REDUCE]], WITH_TRIGGER),
        (
            "MARKET", {"quantity_as": "share"},
            [[quantity(unit="percent of available margin")], [SLIPPAGE], [tif("IOC"), REDUCE]], WITH_TRIGGER,
        ),
        (
            "STOP", {"reduce_only": True, "quantity_as": "share"},
            [
                [shown("trigger_price", "Trigger at (USDC)", "trigger price"), TRIGGER_BY], [LIMIT],
                [quantity("whole position", "percent of the position")], [SLIPPAGE], [tif("IOC"), None],
            ], [],
        ),
        (
            "STOP", {"price": "60000", "take_profit": "1", "quantity_as": "notional"},
            [
                [shown("trigger_price", "Trigger at (USDC)", "trigger price"), TRIGGER_BY], [LIMIT],
                [quantity("whole position", "USDC")], [tif("GTC"), None],
            ], EXITS,
        ),
        (
            "SCALE", {"stop_loss": "1"},
            [
                [price("First price (USDC)")], [shown("last_price", "Last price", "last price"), orders(20)],
                [quantity()], [tif("GTC"), REDUCE],
            ], WITH_TRIGGER,
        ),
        ("TWAP", {}, [[LIMIT], [DURATION, orders(500)], [quantity()], [SLIPPAGE], [REDUCE, None]], []),
        ("TWAP", {"price": "1"}, [[LIMIT], [DURATION, orders(500)], [quantity()], [REDUCE, None]], []),
    ],
)  # fmt: skip
def test_the_form_of_a_kind_is_these_fields(kind: str, fields: dict[str, Any], rows: Any, more: Any) -> None:
    found = KINDS[kind].form_view(Draft(KINDS[kind], **fields), BTC)
    assert found == {"rows": rows, "more": more, "picksPrice": kind != "MARKET"}


def told(kind: str, holdings: Holdings = FLAT, market: TicketMarket = MARKET, **fields: Any) -> list[Any]:
    """Each problem as (field, rule, text, labels of what would pass), then the order in words."""
    found = KINDS[kind].validate(inputs(kind, holdings, market, **fields))
    problems = [(one.field, one.rule, one.message, *one.nearest) for one in found.problems]
    assert found.valid is (not problems)
    return [*problems, found.order.describe()]


SCALE: dict[str, Any] = {"price": "59000", "last_price": "58000", "count": "3", "quantity": "0.3"}
TWAP: dict[str, Any] = {"duration": "10m", "count": "11", "quantity": "0.1"}
NO_SHORT = (
    "there is no short position in BTCUSDC to close. The venue takes a trader's trigger orders only as take-profit or"
    " stop-loss of a position. STOP_LIMIT and the like are for builder orders"
)


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        (
            "LIMIT", {},
            [("quantity", "required", "a quantity is needed"),
             ("price", "required", "a price is needed", "bid 59990", "ask 60010"), "BUY  BTCUSDC at "],
        ),
        (
            "MARKET", {"quantity_as": "notional"},
            [("quantity", "required", "an amount in USDC is needed"), "BUY  BTCUSDC at market"],
        ),
        (
            "MARKET", {"quantity_as": "share", "side": "SELL"},
            [("quantity", "required", "a share in percent is needed"), "SELL  BTCUSDC at market"],
        ),
        (
            "LIMIT", {"price": "50000", "quantity": "40", "quantity_as": "notional"},
            [("quantity", "stepSize",
              "40 USDC at 50000 is 0.0008, not a multiple of stepSize 0.001. The nearest is 0.001",
              "0.001 = 50.00 USDC"), "BUY  BTCUSDC at 50000"],
        ),
        (
            "LIMIT", {"price": "50000", "quantity": "-5", "quantity_as": "notional"},
            [("quantity", "decimal text", "amount '-5' is not a number above 0"), "BUY  BTCUSDC at 50000"],
        ),
        (
            "LIMIT", {"price": "50000", "quantity": "0", "quantity_as": "share"},
            [("quantity", "decimal text", "share '0' is not a number above 0"), "BUY  BTCUSDC at 50000"],
        ),
        (
            "LIMIT", {"price": "50000", "quantity": "100.5", "quantity_as": "share"},
            [("quantity", "share", "share 100.5 % is above 100 %", "100 %"), "BUY  BTCUSDC at 50000"],
        ),
        ("LIMIT", {"price": "50000", "quantity": "100", "quantity_as": "share"}, ["BUY 2.000 BTCUSDC at 50000"]),
        (
            "LIMIT", {"price": "50000", "quantity": "33.3", "quantity_as": "share"},
            ["BUY 0.666 BTCUSDC at 50000"],
        ),
        (
            "LIMIT", {"price": "50000", "quantity": "30.33", "quantity_as": "share"},
            [("quantity", "stepSize", "30.33 % of the available margin is 0.6066, not a multiple of stepSize 0.001."
              " The nearest is 0.606 or 0.607", "0.606 = 30,300.00 USDC", "0.607 = 30,350.00 USDC"),
             "BUY  BTCUSDC at 50000"],
        ),
        (
            "LIMIT", {"price": "0", "quantity": "5", "quantity_as": "notional"},
            [("quantity", "price", "5 can't be converted to a quantity without a price"),
             ("price", "price above 0", "price 0 is not above 0. The nearest is 0.1", "0.1"), "BUY  BTCUSDC at 0"],
        ),
        (
            "LIMIT", {"price": "", "quantity": "5", "quantity_as": "notional"},
            [("price", "required", "a price is needed", "bid 59990", "ask 60010"), "BUY  BTCUSDC at "],
        ),
        (
            "LIMIT",
            {"price": "60000", "quantity": "0.1", "client_id": "0", "take_profit": "61000", "stop_loss": "59000"},
            [("client_id", "int64", "client id '0' must be a whole number from 1 to 2^63 - 1"),
             "BUY 0.1 BTCUSDC at 60000 | take profit 61000 | stop loss 59000"],
        ),
        (
            "MARKET", {"quantity": "0.5", "slippage": "0"},
            [("slippage", "slippage above 0", "slippagePct 0 is not above 0. The nearest is 0.05", "0.05"),
             "BUY 0.5 BTCUSDC at market slippage 0"],
        ),
        ("STOP", {"trigger_price": "70000"},
         [("order_type", "position", NO_SHORT),
          "BUY all of BTCUSDC at market when mark reaches 70000 as stop-loss of the position"]),
        (
            "STOP", {"side": "SELL"},
            [("trigger_price", "required", "a trigger price is needed"),
             ("order_type", "position", NO_SHORT.replace("short", "long", 1)),
             "SELL all of BTCUSDC at market when mark reaches 0 as stop-loss of the position"],
        ),
        ("SCALE", SCALE, ["BUY 0.300 BTCUSDC in 3 orders from 59000.0 to 58000.0"]),
        (
            "SCALE", {**SCALE, "side": "SELL", "price": "61000", "last_price": "62000", "tif": "POST_ONLY"},
            ["SELL 0.300 BTCUSDC in 3 orders from 61000.0 to 62000.0 POST_ONLY"],
        ),
        (
            "SCALE", {**SCALE, "price": "58999.95"},
            [("price", "tickSize",
              "price 58999.95 is not a multiple of tickSize 0.1. The nearest is 58999.9 or 59000.0",
              "58999.9", "59000.0"), "BUY 0.3 BTCUSDC at 58999.95"],
        ),
        (
            "SCALE", {**SCALE, "last_price": "58000.04"},
            [("last_price", "tickSize",
              "last price 58000.04 is not a multiple of tickSize 0.1. The nearest is 58000.0", "58000.0"),
             "BUY 0.3 BTCUSDC at 59000"],
        ),
        (
            "SCALE", {**SCALE, "last_price": ""},
            [("last_price", "required", "a last price is needed"), "BUY 0.3 BTCUSDC at 59000"],
        ),
        (
            "SCALE", {**SCALE, "last_price": "x"},
            [("last_price", "decimal text", "last price 'x' is not a plain decimal text"), "BUY 0.3 BTCUSDC at 59000"],
        ),
        (
            "SCALE", {**SCALE, "take_profit": "70000"},
            [("take_profit", "bracket", "a scale has no take profit. Leave it empty"),
             "BUY 0.3 BTCUSDC at 59000 | take profit 70000"],
        ),
        (
            "SCALE", {**SCALE, "quantity": "0.002"},
            [("quantity", "stepSize",
              "quantity 0.002 can't be shared by 3 weights above 0 over 3 orders in whole steps of 0.001"),
             "BUY 0.002 BTCUSDC at 59000"],
        ),
        (
            "SCALE", {**SCALE, "last_price": "5000"},
            [("price", "price band",
              "each order: price 5000.0 is below 10 % of the mark price 60000.0. The nearest is 6000.0"),
             "BUY 0.300 BTCUSDC in 3 orders from 59000.0 to 5000.0"],
        ),
        ("TWAP", TWAP, ["BUY 0.1 BTCUSDC at market in 11 orders over 0:10:00. The first order, of 0.009, is sent now"]),
        (
            "TWAP", {**TWAP, "duration": "soon"},
            [("duration", "span", "duration 'soon' is not a span of time. Write \"90s\", \"30m\" or \"1d 12h\", or give"
              " a timedelta"), "BUY 0.1 BTCUSDC at market"],
        ),
        (
            "TWAP", {**TWAP, "count": "200"},
            [("count", "stepSize", "quantity 0.1 can't be divided into 200 orders of at least 0.001"),
             "BUY 0.1 BTCUSDC at market"],
        ),
        (
            "TWAP", {**TWAP, "stop_loss": "5"},
            [("stop_loss", "bracket", "a twap has no stop loss. Leave it empty"),
             "BUY 0.1 BTCUSDC at market | stop loss 5"],
        ),
    ],
)  # fmt: skip
def test_a_draft_has_these_problems_and_this_order(kind: str, fields: dict[str, Any], expected: list[Any]) -> None:
    assert told(kind, **fields) == expected


@pytest.mark.parametrize(("kind", "most"), [("SCALE", 20), ("TWAP", 500)])
def test_the_number_of_orders_is_from_2_to_the_most(kind: str, most: int) -> None:
    fields: dict[str, Any] = {**(SCALE if kind == "SCALE" else TWAP), "quantity": "1"}
    for count in (2, most):
        assert f" in {count} orders " in told(kind, **{**fields, "count": str(count)})[0]
    for text in ("", "1", str(most + 1), "²", "٣", "00005", "2.0", "9" * 5000):
        [problem, _] = told(kind, **{**fields, "count": text})
        assert problem == ("count", "orders", f"the number of orders '{text}' must be 2 to {most}")
    [order] = told(kind, **{**fields, "count": "0005"})
    assert " in 5 orders " in order


def test_without_a_market_a_market_order_has_no_preview_and_no_value() -> None:
    for market, preview in ((TicketMarket(), {}), (TicketMarket(mark=D(60_000)), {"worst_price": D(61_800)})):
        found = KINDS["MARKET"].validate(inputs("MARKET", market=market, quantity="0.5"))
        assert found.valid
        assert {name: found.preview[name] for name in preview} == preview
        assert bool(found.preview) is bool(preview)
    text = "50 can't be converted to a quantity without a price"
    fields: dict[str, Any] = {"quantity": "50", "quantity_as": "notional"}
    assert told("MARKET", market=TicketMarket(), **fields)[0] == ("quantity", "price", text)
    text = "a share needs the account's data, which has not arrived yet"
    assert told("MARKET", Holdings(), quantity="50", quantity_as="share")[0] == ("quantity", "account", text)


@pytest.mark.parametrize(
    ("kind", "fields", "worst", "words"),
    [
        # The last price 59,995 by 3 % (the default), rounded to a tick against nobody: 61,794.85 and 58,195.15.
        ("MARKET", {}, "61794.8", "market"),
        ("MARKET", {"side": "SELL"}, "58195.2", "market"),
        ("MARKET", {"slippage": "0.01"}, "60594.9", "market"),
        ("MARKET", {"slippage": "0"}, None, "market"),
        ("MARKET", {"slippage": "1"}, None, "market"),
        ("MARKET", {"slippage": "x"}, None, "market"),
        ("LIMIT", {}, None, "…"),
        ("LIMIT", {"price": "60000", "side": "SELL"}, "60000", "60000"),
        ("STOP", {}, "61794.8", "market when … is reached"),
        ("STOP", {"price": "60000", "trigger_price": "61000"}, "60000", "60000 when 61000 is reached"),
        ("SCALE", {}, None, "… to …"),
        ("SCALE", {"price": "2", "last_price": "x"}, "2", "2 to x"),
        ("SCALE", {"price": "2", "last_price": "3"}, "3", "2 to 3"),
        ("SCALE", {"price": "2", "last_price": "3", "side": "SELL"}, "2", "2 to 3"),
        ("TWAP", {}, "61794.8", "market"),
        ("TWAP", {"price": "60000"}, "60000", "60000"),
    ],
)
def test_the_worst_price_of_a_kind_and_its_words(
    kind: str, fields: dict[str, Any], worst: str | None, words: str
) -> None:
    given = inputs(kind, **fields)
    assert KINDS[kind].worst_price(given) == (None if worst is None else D(worst))
    assert KINDS[kind].price_words(given.draft) == words
    largest = KINDS[kind].largest_quantity(given)
    assert (largest is None) is (worst is None)
    assert KINDS[kind].largest_quantity(changed(given, holdings=Holdings())) is None


def test_a_kind_whose_price_is_unset_counts_the_last_price_only() -> None:
    given = inputs("MARKET", market=TicketMarket(mark=D(60_000), last=D(50_000)))
    assert KINDS["MARKET"].worst_price(given) == 51_500  # 50,000 and 3 %


# stops


@pytest.mark.parametrize(
    ("holdings", "side", "trigger", "by", "kind"),
    [
        (LONG, "SELL", "55000", "MARK_PRICE", "stop-loss"), (LONG, "SELL", "65000", "MARK_PRICE", "take-profit"),
        (SHORT, "BUY", "65000", "MARK_PRICE", "stop-loss"), (SHORT, "BUY", "55000", "MARK_PRICE", "take-profit"),
        (LONG, "SELL", "59996", "MARK_PRICE", "stop-loss"), (LONG, "SELL", "59996", "LAST_PRICE", "take-profit"),
        (SHORT, "BUY", "60000.5", "MARK_PRICE", "stop-loss"), (SHORT, "BUY", "60000.5", "INDEX_PRICE", "take-profit"),
    ],
)  # fmt: skip
def test_a_stop_is_a_stop_loss_on_the_losing_side_of_the_price_that_triggers_it(
    holdings: Holdings, side: str, trigger: str, by: str, kind: str
) -> None:
    name = {"MARK_PRICE": "mark", "LAST_PRICE": "last", "INDEX_PRICE": "index"}[by]
    expected = f"{side} all of BTCUSDC at market when {name} reaches {trigger} as {kind} of the position"
    assert told("STOP", holdings, side=side, trigger_price=trigger, trigger_by=by) == [expected]


@pytest.mark.parametrize(("side", "sign"), [("SELL", 1), ("BUY", -1)])
def test_a_stop_is_previewed_as_if_it_filled_at_its_trigger(side: str, sign: int) -> None:
    held = LONG if sign > 0 else SHORT
    whole = KINDS["STOP"].validate(inputs("STOP", held, side=side, trigger_price=str(60_000 - sign * 5_000)))
    trigger = D(60_000 - sign * 5_000)
    expected = {
        "notional": trigger / 2, "price": trigger, "worst_price": None, "fills_now": 0, "fills": D("0.5"),
        "fee": trigger / 2 * D("0.0006"), "margin": 0, "realized_pnl": -1500,
        "size_before": sign * D("0.5"), "size_after": 0, "entry_after": None, "liquidation_price": None,
        "effect": f"closes the {'long' if sign > 0 else 'short'} of 0.5",
    }  # fmt: skip
    assert {name: whole.preview[name] for name in expected} == expected
    # With a limit it rests: the maker's fee. Half of it stays, at its entry price.
    limit = D(60_000 + sign * 4_000)
    fields: dict[str, Any] = {"trigger_price": str(60_000 + sign * 5_000), "price": str(limit), "quantity": "0.2"}
    part = KINDS["STOP"].validate(inputs("STOP", held, side=side, **fields)).preview
    assert (part["fills"], part["fee"], part["realized_pnl"]) == (
        D("0.2"), limit * D("0.2") * D("0.0002"), D("1200"),
    )  # fmt: skip
    assert (part["size_after"], part["entry_after"]) == (sign * D("0.3"), 58_000 if sign > 0 else 62_000)


def test_a_stop_closes_at_most_the_position() -> None:
    fields: dict[str, Any] = {"side": "SELL", "trigger_price": "55000"}
    assert len(told("STOP", LONG, quantity="0.5", **fields)) == 1
    [problem, _] = told("STOP", LONG, quantity="0.501", **fields)
    assert problem == ("quantity", "position", "0.501 exceeds the position of 0.5", "0.5")
    found = KINDS["STOP"].validate(inputs("STOP", LONG, quantity="0.501", **fields))
    assert found.problems[0].choices == (in_base("0.5"),)
    assert found.preview == {}
    unknown = KINDS["STOP"].validate(inputs("STOP", Holdings(), slippage="0.01", tif="FOK", **fields))
    assert unknown.order.describe() == (
        "SELL all of BTCUSDC at market FOK when mark reaches 55000 as stop-loss of the position slippage 0.01"
    )
    assert (unknown.valid, unknown.preview) == (True, {})
    limited = KINDS["STOP"].validate(inputs("STOP", LONG, price="54000", slippage="0.01", **fields)).order
    assert (limited.slippage, limited.price, limited.tif, limited.quantity) == (None, "54000", "GTC", "0")


# several orders


def test_a_scale_is_its_orders_and_its_whole_quantity() -> None:
    found = KINDS["SCALE"].validate(inputs("SCALE", **{**SCALE, "count": "4", "quantity": "0.31"}))
    legs = [(one.price, one.quantity, one.tif) for one in found.order.legs]
    assert legs == [
        ("59000.0", "0.078", "GTC"), ("58666.7", "0.078", "GTC"), ("58333.3", "0.077", "GTC"),
        ("58000.0", "0.077", "GTC"),
    ]  # fmt: skip
    assert (found.order.total, found.order.entry) == (D("0.310"), found.order.legs[0])
    assert KINDS["SCALE"].request(found.order) == list(found.order.legs)
    # All of it counts at the end that is worse for the trader, resting: 0.31 × 59,000, a tenth of it as margin.
    assert [found.preview[name] for name in ("notional", "fee", "margin", "fills", "fills_now")] == [
        D("18290"), D("3.658"), D("1829"), D("0.31"), 0,
    ]  # fmt: skip
    assert "slices" not in found.preview


@pytest.mark.parametrize(("side", "price", "value"), [("BUY", D(60_010), "6001"), ("SELL", D(59_990), "5999")])
def test_a_twap_is_previewed_as_one_order_and_signs_its_first(side: str, price: Decimal, value: str) -> None:
    found = KINDS["TWAP"].validate(inputs("TWAP", side=side, **TWAP))
    assert [found.preview[name] for name in ("notional", "price", "fills", "fills_now", "slices")] == [
        D(value), price, D("0.1"), 0, (11, D("0.0091"), 60_000),
    ]  # fmt: skip
    assert found.preview["fee"] == D(value) * D("0.0006")
    request = KINDS["TWAP"].request(found.order)
    assert (request.side, request.quantity, request.tif, request.price) == (side, "0.009", "IOC", None)
    assert found.order.total == D("0.1")
    held = LONG if side == "SELL" else SHORT
    fields: dict[str, Any] = {**TWAP, "count": "2", "price": str(price), "reduce_only": True}
    limited = KINDS["TWAP"].validate(inputs("TWAP", held, side=side, **fields))
    assert limited.order.describe() == (
        f"{side} 0.1 BTCUSDC at {price} or better in 2 orders over 0:10:00 reduce-only."
        " The first order, of 0.050, is sent now"
    )
    assert [limited.preview[name] for name in ("margin", "slices")] == [0, (2, D("0.05"), 600_000)]
    assert limited.preview["fee"] == D(value) * D("0.0006"), "each order is a taker's"
    assert KINDS["TWAP"].request(limited.order).reduce_only == "REDUCE_ONLY"
    sliding = KINDS["TWAP"].validate(inputs("TWAP", side=side, slippage="0.01", **TWAP))
    assert KINDS["TWAP"].request(sliding.order).slippage == "0.01"


# the entry and its exits


@pytest.mark.parametrize(("side", "closing"), [("BUY", "SELL"), ("SELL", "BUY")])
@pytest.mark.parametrize("hedge", [False, True])
def test_the_orders_of_a_draft_are_these(side: str, closing: str, hedge: bool) -> None:
    held = dataclasses.replace(FLAT, hedge=hedge)
    fields: dict[str, Any] = {"side": side, "price": "60000", "slippage": "0.01"}
    plain: Any = rules.make_order(inputs("LIMIT", held, **fields), "1")
    assert [getattr(plain, name) for name in ("side", "quantity", "price", "tif", "reduce_only", "cl_ord_id")] == [
        side, "1", "60000", "GTC", None, None,
    ]  # fmt: skip
    assert plain.slippage is None, "it has a price"
    closed: Any = rules.make_order(inputs("MARKET", held, **fields, reduce_only=True, tif="FOK", client_id="7"), "1")
    assert [getattr(closed, name) for name in ("side", "price", "tif", "reduce_only", "cl_ord_id", "slippage")] == [
        f"{side}_CLOSE_HEDGE" if hedge else side, None, "FOK", None if hedge else "REDUCE_ONLY", 7, "0.01",
    ]  # fmt: skip
    exits: dict[str, Any] = {"take_profit": "61000", "stop_loss": "59000", "trigger_by": "INDEX_PRICE"}
    bracket = rules.make_order(inputs("LIMIT", held, **fields, **exits), "1")
    assert [
        (one.side, one.quantity, one.price, one.tif, one.reduce_only, one.trigger_price, one.trigger_by)
        for one in bracket.legs[1:]
    ] == [
        (closing + "_CLOSE_HEDGE" * hedge, "1", None, "IOC", kind, trigger, "INDEX_PRICE")
        for kind, trigger in (("TP_FROM_POSITION", "61000"), ("SL_FROM_POSITION", "59000"))
    ]
    [_, only] = rules.make_order(inputs("LIMIT", held, **fields, stop_loss="59000"), "1").legs
    assert (only.reduce_only, only.trigger_by) == ("SL_FROM_POSITION", "MARK_PRICE")


@pytest.mark.parametrize(
    ("text", "number", "valid"),
    [("1", 1, True), (str(2**63 - 1), 2**63 - 1, True), (str(2**63), 2**63, False), ("9" * 19, 10**19 - 1, False),
     ("9" * 20, None, False), ("²", None, False), ("٣", None, False), ("-1", None, False), ("0", None, False)],
)  # fmt: skip
def test_a_client_id_is_a_whole_number_of_int64(text: str, number: int | None, valid: bool) -> None:
    given = inputs("LIMIT", price="60000", client_id=text)
    order: Any = rules.make_order(given, "1")
    assert order.cl_ord_id == number
    assert (rules.client_id_problems(given) == []) is valid


def test_a_client_id_in_use_offers_the_next_free_one() -> None:
    given = inputs("LIMIT", dataclasses.replace(FLAT, client_ids=frozenset({7, 8, 10})), client_id="7")
    [problem] = rules.client_id_problems(given)
    assert (problem.field, problem.rule, problem.message) == (
        "client_id", "unique", "client id 7 is in use by an open order",
    )  # fmt: skip
    assert [(one.label, one.values) for one in problem.choices] == [("9", {"client_id": "9"})]
    assert rules.client_id_problems(inputs("LIMIT")) == []
