"""What an order would do to an account, by hand: levels that fill, legs and entries, fees, exits, rows of the form."""

from __future__ import annotations

import itertools
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.tuples import changed
from toolkit.products import Product
from toolkit.venue.model.genesis import Genesis
from toolkit.widgets.order_ticket import holdings as module
from toolkit.widgets.order_ticket import validation as rules
from toolkit.widgets.order_ticket.draft import (
    Choice,
    Draft,
    Holdings,
    Problem,
    TicketInputs,
    TicketMarket,
    in_base,
    walk,
)
from toolkit.widgets.order_ticket.holdings import AccountStreams, no_holdings, preview_order, preview_view
from toolkit.widgets.order_ticket.order_kinds import KINDS

D = Decimal
GENESIS = Genesis()
PRODUCTS = {
    str(row["symbol"]): Product.from_row(dict(row), GENESIS.margin_tables[int(row["marginTableId"])])
    for row in GENESIS.products
}
BTC = PRODUCTS["BTCUSDC"]
RATES = {"maker": D("0.0002"), "taker": D("0.0006")}
MARKET = TicketMarket(
    mark=D(60_000), last=D(59_995), index=D(60_001), funding_rate=D("0.0001"),
    bids=((D(59_990), D(1)), (D(59_980), D(2))), asks=((D(60_010), D(1)), (D(60_020), D(2))),
)  # fmt: skip
FLAT = Holdings(known=True, available=D(10_000), cross_equity=D(10_000), leverage=D(10), **RATES)


def inputs(
    kind: str = "MARKET", holdings: Holdings = FLAT, market: TicketMarket = MARKET, **fields: Any
) -> TicketInputs:
    return TicketInputs(Draft(KINDS[kind], **fields), BTC, market, holdings)


@pytest.mark.parametrize(
    ("quantity", "limit", "sign", "filled"),
    [
        ("0.5", 60_010, 1, ("0.5", "30005")), ("1", 60_010, 1, ("1", "60010")), ("2", 60_010, 1, ("1", "60010")),
        ("2", 60_020, 1, ("2", "120030")), ("9", 60_020, 1, ("3", "180050")), ("1", 60_009, 1, ("0", "0")),
        ("0", 60_020, 1, ("0", "0")), ("2", 59_980, -1, ("2", "119970")), ("2", 59_981, -1, ("1", "59990")),
    ],
)  # fmt: skip
def test_an_order_takes_levels_up_to_its_limit(quantity: str, limit: int, sign: int, filled: tuple[str, str]) -> None:
    assert walk(MARKET.opposite(sign), D(quantity), D(limit), sign) == tuple(map(D, filled))


def test_the_fields_of_a_draft_have_their_defaults() -> None:
    limit, market, stop = (Draft(KINDS[name]) for name in ("LIMIT", "MARKET", "STOP"))
    assert [draft.market for draft in (limit, market, stop)] == [False, True, True]
    assert Draft(KINDS["STOP"], price="5").market is False
    assert [(draft.default_tif, draft.effective_tif) for draft in (limit, market)] == [("GTC", "GTC"), ("IOC", "IOC")]
    assert Draft(KINDS["LIMIT"], tif="FOK").effective_tif == "FOK"
    assert (limit.sign, Draft(KINDS["LIMIT"], side="SELL").sign) == (1, -1)
    assert (limit.quantity_as, limit.trigger_by, limit.exit_as, limit.reduce_only) == (
        "base",
        "MARK_PRICE",
        "price",
        False,
    )
    empty = TicketMarket()
    assert (empty.bid, empty.ask, MARKET.bid, MARKET.ask) == (None, None, D(59_990), D(60_010))
    assert in_base("5") == Choice("5", {"quantity": "5", "quantity_as": "base"})
    problem = Problem("price", "tickSize", "no. The nearest is 1 or 2", (Choice("1", {}), Choice("2", {})))
    assert problem.view() == {
        "field": "price", "rule": "tickSize", "message": "no", "missing": False, "choices": ["1", "2"]
    }  # fmt: skip
    assert Problem("price", "x", "no. The nearest is 1").view()["message"] == "no. The nearest is 1"


def plain_after(long: D, short: D, hedge: bool, sign: int, reduce_only: bool, quantity: D, price: D) -> tuple[Any, ...]:
    """Size before and after, entry after and realised PnL, trade by trade; both legs were opened at 50,000."""
    entry = D(50_000)
    if hedge:
        before = long if (sign > 0) != reduce_only else -short
    else:
        before = long - short
    lots = [entry] * int(abs(before) * 100)
    side, realized = (1 if before > 0 else -1), D(0)
    for _ in range(int(quantity * 100)):
        if lots and side * sign < 0:
            realized += (price - lots.pop()) * side / 100
        else:
            side = sign if not lots else side
            lots.append(price)
    return before, side * D(len(lots)) / 100, sum(lots) / len(lots) if lots else None, realized


SIZES = [(D(long), D(short)) for long, short in (("0", "0"), ("0.3", "0"), ("0", "0.3"), ("0.3", "0.2"))]


@pytest.mark.parametrize("hedge", [False, True], ids=["one-way", "hedge"])
@pytest.mark.parametrize("side", ["BUY", "SELL"])
@pytest.mark.parametrize("quantity", ["0.1", "0.3", "0.5"])
def test_the_position_after_an_order_is_the_one_of_its_single_lots(hedge: bool, side: str, quantity: str) -> None:
    for (long, short), reduce_only in itertools.product(SIZES, (False, True)):
        if not hedge and long and short:
            continue
        held = Holdings(
            known=True, hedge=hedge, long=long, long_value=long * 50_000, short=short, short_value=short * 50_000
        )
        draft = Draft(KINDS["MARKET"], side=side, reduce_only=reduce_only)
        price = D(60_000)
        before, after, entry, realized = plain_after(long, short, hedge, draft.sign, reduce_only, D(quantity), price)
        if hedge and reduce_only and abs(before) < D(quantity):
            continue  # more than the leg is refused before
        level = ((price, D(9)),)
        given = TicketInputs(draft, BTC, TicketMarket(mark=price, bids=level, asks=level), held)
        found = preview_order(given, D(quantity), price)
        names = ("size_before", "size_after", "entry_after", "realized_pnl")
        assert [found[name] for name in names] == [before, after, entry, realized]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("0", "0.5", "opens a long of 0.5"), ("0", "-0.5", "opens a short of 0.5"), ("0", "0", "leaves no position"),
        ("0.5", "0", "closes the long of 0.5"), ("-0.5", "0", "closes the short of 0.5"),
        ("0.5", "-0.2", "turns the long of 0.5 into a short of 0.2"),
        ("-0.5", "0.2", "turns the short of 0.5 into a long of 0.2"), ("0.5", "0.7", "adds to the long: 0.5 → 0.7"),
        ("-0.5", "-0.7", "adds to the short: 0.5 → 0.7"), ("0.5", "0.2", "reduces the long: 0.5 → 0.2"),
        ("-0.5", "-0.2", "reduces the short: 0.5 → 0.2"),
    ],
)  # fmt: skip
def test_the_effect_of_an_order_is_said_in_words(before: str, after: str, words: str) -> None:
    change = D(after) - D(before)
    long, short = max(D(before), D(0)), max(-D(before), D(0))
    held = Holdings(known=True, long=long, long_value=long * 60_000, short=short, short_value=short * 60_000)
    given = inputs("LIMIT", held, side="SELL" if change < 0 else "BUY", price="60000")
    assert preview_order(given, abs(change), D(60_000))["effect"] == words


@pytest.mark.parametrize(("side", "sign", "price"), [("BUY", 1, D(60_010)), ("SELL", -1, D(59_990))])
@pytest.mark.parametrize("kind", ["MARKET", "LIMIT", "IOC", "no book"])
def test_the_whole_preview_of_an_order(side: str, sign: int, price: D, kind: str) -> None:
    worst, quantity = D(60_015) if sign > 0 else D(59_985), D("1.5")
    rests, empty = kind == "LIMIT", kind == "no book"
    fields: dict[str, Any] = {"side": side}
    if kind in ("LIMIT", "IOC"):
        fields |= {"price": str(worst), "tif": "IOC" if kind == "IOC" else ""}
    market = TicketMarket(mark=D(60_000)) if empty else MARKET
    given = inputs("LIMIT" if kind in ("LIMIT", "IOC") else "MARKET", market=market, **fields)
    found = preview_order(given, quantity, worst)
    taken = D(0) if empty else D(1)
    filled = quantity if rests or empty else taken
    notional = taken * price + (filled - taken) * worst
    fee = taken * price * D("0.0006") + (filled - taken) * worst * (D("0.0002") if rests else D("0.0006"))
    expected = {
        "notional": notional, "at_mark": filled * 60_000, "price": notional / filled,
        "worst_price": worst if kind in ("MARKET", "no book") else None,
        "bankruptcy_price": None, "fills_now": taken, "fills": filled, "fee": fee, "available": D(10_000),
        "leverage": D(10), "realized_pnl": 0, "size_before": 0, "size_after": sign * filled,
        "entry_after": notional / filled,
        "effect": f"opens a {'long' if sign > 0 else 'short'} of {filled.normalize():f}",
        "maker": D("0.0002"), "taker": D("0.0006"), "funding_rate": None if empty else D("0.0001"),
        "funding": None if empty else -sign * filled * 6, "liquidation_before": None,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected
    assert set(found) == {*expected, "margin", "liquidation_price", "liquidation_known"}
    least = filled * min(D(60_000), worst) / 10
    assert least <= found["margin"] <= least + fee + filled * 25
    liquidation = found["liquidation_price"]
    assert (0 < liquidation < price) if sign > 0 else liquidation > price


def test_reduce_only_takes_no_margin_and_an_unknown_account_has_no_liquidation() -> None:
    held = Holdings(known=True, available=D(10_000), cross_equity=D(10_000), long=D(1), long_value=D(50_000), **RATES)
    closing = preview_order(inputs(holdings=held, side="SELL", reduce_only=True), D("0.5"), D(59_000))
    assert (closing["margin"], closing["realized_pnl"], closing["size_after"]) == (0, D("4995.0"), D("0.5"))
    assert closing["liquidation_before"] is not None
    unknown = preview_order(inputs(holdings=Holdings(**RATES)), D("0.5"), D(61_000))
    assert (unknown["liquidation_before"], unknown["liquidation_price"]) == (None, None)
    assert {unknown[name] for name in ("margin", "available", "leverage", "size_before", "effect")} == {None}
    rows = {name: (value, note) for name, value, note in preview_view(unknown, BTC, D(60_000))}
    assert rows["Margin"] == ("unknown", "the account's data has not arrived yet")
    assert (rows["Position"], rows["Liquidation (est.)"]) == (("unknown", ""), ("unknown", ""))
    nothing = preview_order(inputs(), D("0.5"), D(60_000))  # below every offer
    assert (nothing["fills"], nothing["price"], nothing["effect"]) == (0, D(60_000), "leaves no position")


# rows of the form


def test_the_rows_of_a_preview_name_each_amount() -> None:
    preview: dict[str, Any] = {
        "notional": D(90_015), "at_mark": None, "price": D("60010.04"),
        "worst_price": D("61000"), "bankruptcy_price": D("55000"),
        "fills_now": D("1.500"), "fee": D("54.009"), "margin": D(9_000), "available": D(10_000), "leverage": D("10.0"),
        "effect": "opens", "realized_pnl": D("-12.5"), "taker": D("0.0006"), "maker": D("0.0002"),
        "funding": D("-1.23456"), "funding_rate": D("0.0001"), "liquidation_before": D("50000"),
        "liquidation_price": D("54000"), "liquidation_known": True,
        "exits": {"take_profit": (D(70_000), D(900)), "stop_loss": (D(50_000), D(-450))},
        "slices": (5, D("0.30"), 60_000),
    }  # fmt: skip
    assert preview_view(preview, BTC, D(60_000)) == [
        ["Value", "90,015.00 USDC", ""], ["Orders", "5", "of about 0.3 BTC, one every 0:01:00"],
        ["Price (est.)", "60,010.0", "at worst 61,000.0"],
        ["Bankruptcy price", "55,000.0", "nothing closes beyond it"], ["Fills immediately", "1.5 BTC", ""],
        ["Fee (est.)", "54.01 USDC", "taker 0.060 %, maker 0.020 %"],
        ["Margin", "9,000.00 USDC", "of 10,000.00 available, 10x"], ["Position", "opens", ""],
        ["Realised PnL (est.)", "−12.50 USDC", ""],
        ["At take profit (est.)", "+900.00 USDC", "at 70,000.0, after fees, 10.0 % of the margin"],
        ["At stop loss (est.)", "−450.00 USDC", "at 50,000.0, after fees, −5.0 % of the margin"],
        ["Liquidation (est.)", "50,000.0 → 54,000.0", "10.0 % from mark"],
        ["Next funding (est.)", "−1.2346 USDC", "for the position after the order, at 0.0100 % of its value"],
    ]  # fmt: skip
    little = {
        **preview, "worst_price": None, "bankruptcy_price": None, "fills_now": D(0), "realized_pnl": D(0),
        "margin": D(0),
        "funding": None, "liquidation_before": None, "liquidation_price": None,
    }  # fmt: skip
    del little["slices"]
    rows = preview_view(little, BTC, None)
    assert [name for name, *_ in rows] == [
        "Value", "Fee (est.)", "Margin", "Position", "At take profit (est.)", "At stop loss (est.)",
        "Liquidation (est.)",
    ]  # fmt: skip
    assert rows[-3:] == [
        ["At take profit (est.)", "+900.00 USDC", "at 70,000.0, after fees"],
        ["At stop loss (est.)", "−450.00 USDC", "at 50,000.0, after fees"], ["Liquidation (est.)", "none", ""],
    ]  # fmt: skip
    assert preview_view({}, BTC, None) == []
    unknown = {**little, "fee": None, "taker": None, "margin": None, "leverage": None, "liquidation_known": False}
    rows = {name: (value, note) for name, value, note in preview_view(unknown, BTC, None)}
    assert rows["Fee (est.)"] == ("unknown", "taker unknown, maker 0.020 %")
    assert rows["Margin"] == ("unknown", "of 10,000.00 available, unknown leverage, so it is not checked")
    assert rows["At stop loss (est.)"] == ("−450.00 USDC", "at 50,000.0, before fees")
    assert rows["Liquidation (est.)"] == ("unknown", "")


# the account's live rows


def streams(**rows: list[dict[str, Any]]) -> AccountStreams:
    def live(name: str) -> Any:
        return SimpleNamespace(rows=lambda: rows.get(name, []))

    session = SimpleNamespace(
        stream=SimpleNamespace(
            account=lambda: live("wallet"), positions=lambda: live("positions"), orders=lambda: live("orders"),
            leverages=lambda: live("leverages"),
        )
    )  # fmt: skip
    return AccountStreams(session, PRODUCTS)  # type: ignore[arg-type]


def order(number: int, side: str, **changes: Any) -> dict[str, Any]:
    return {
        "symbol": "BTCUSDC", "status": "NEW", "side": side, "price": D(50_000 + number), "remaining": D(number),
        "order_id": str(number), "client_order_id": None, "reduce_only": "NONE", **changes,
    }  # fmt: skip


WALLET = {
    "available": D(7_000),
    "equity": D(9_000),
    "maker_fee_rate": None,
    "taker_fee_rate": D("0.0004"),
    "status": "NORMAL",
}
POSITION = {
    "symbol": "BTCUSDC", "margin_mode": "CROSS", "position_mode": "ONE_WAY", "assigned_margin": None, "leverage": D(15),
    "long_size": D("0.5"), "long_entry_value": D(25_000), "short_size": D("-0.2"), "short_entry_value": D(-12_000),
    "mark_price": D(60_000), "size": D("0.3"), "unrealized_pnl": D(0), "notional": D(18_000),
}  # fmt: skip


def test_holdings_are_the_account_s_rows_of_one_product() -> None:
    orders = [
        order(1, "BUY", client_order_id=11), order(12, "BUY"), order(3, "SELL"),
        order(4, "SELL", reduce_only="REDUCE_ONLY"),
        order(5, "BUY", reduce_only=None, price=None, remaining=None), order(6, "BUY_CLOSE_HEDGE"),
        order(7, "SELL_CLOSE_HEDGE", remaining=None),
        order(8, "BUY", status="ORDER_STATUS_UNTRIGGERED", client_order_id=88),
        order(9, "BUY", symbol="ETHUSDC", client_order_id=99),
    ]  # fmt: skip
    leverages = [{"symbol": "BTCUSDC", "leverage": D(12), "position_mode": "HEDGE"}]
    found = streams(wallet=[WALLET], positions=[POSITION], orders=orders, leverages=leverages).holdings(BTC)
    assert found == Holdings(
        known=True, available=D(7_000), cross_equity=D(9_000), others_maintenance=D(0), maker=BTC.maker_fee_rate,
        taker=D("0.0004"), liquidating=False, hedge=True, isolated=False, assigned=D(0), leverage=D(12), long=D("0.5"),
        long_value=D(25_000), short=D("0.2"), short_value=D(12_000),
        buys=((D(50_012), D(12)), (D(0), D(0)), (D(50_001), D(1))),
        sells=((D(50_003), D(3)),), reducing_buys=D(6), reducing_sells=D(4), client_ids=frozenset({11, 88}),
    )  # fmt: skip


def test_holdings_before_and_without_rows_have_their_defaults() -> None:
    rates = {"maker": BTC.maker_fee_rate, "taker": BTC.taker_fee_rate}
    assert streams().holdings(BTC) == no_holdings(BTC) == Holdings(isolated=None, leverage=None, **rates)
    liquidating = {**WALLET, "status": "LIQUIDATING", "maker_fee_rate": D("-0.0001"), "taker_fee_rate": None}
    bare = streams(wallet=[liquidating]).holdings(BTC)
    assert (bare.known, bare.liquidating, bare.maker, bare.taker) == (True, True, D("-0.0001"), BTC.taker_fee_rate)
    assert (bare.leverage, bare.hedge, bare.long, bare.buys) == (D(20), False, D(0), ())
    alone = streams(wallet=[WALLET], positions=[POSITION]).holdings(BTC)
    assert (alone.leverage, alone.hedge) == (D(15), False)
    isolated = {**POSITION, "margin_mode": "ISOLATED", "assigned_margin": D(500)}
    held = streams(wallet=[WALLET], positions=[isolated]).holdings(BTC)
    assert (held.isolated, held.assigned) == (True, D(500))
    assert held.cross_equity == D(9_000) - module.isolated_equity(isolated)
    assert streams(wallet=[WALLET], positions=[]).holdings(BTC, [POSITION]).long == D("0.5")


def test_positions_take_the_marks_of_the_tickers_where_they_have_some() -> None:
    tickers = SimpleNamespace(
        rows=lambda: [{"symbol": "BTCUSDC", "mark_price": D(61_000)}, {"symbol": "ETHUSDC", "mark_price": None}]
    )
    eth = {**POSITION, "symbol": "ETHUSDC", "mark_price": D(3_000)}
    marked = streams(positions=[POSITION, eth]).marked_positions(tickers)
    assert [row["mark_price"] for row in marked] == [D(61_000), D(3_000)]


# steps of the validation


@pytest.mark.parametrize(("side", "way"), [("BUY", 1), ("SELL", -1)])
@pytest.mark.parametrize("exit_as", ["percent", "pnl"])
def test_exits_in_percent_or_pnl_become_prices_on_the_right_side(side: str, way: int, exit_as: str) -> None:
    amounts = ("2", "1.5") if exit_as == "percent" else ("600", "450")
    given = inputs("LIMIT", side=side, price="60000", take_profit=amounts[0], stop_loss=amounts[1], exit_as=exit_as)
    made, problems = rules.with_exit_prices(given, D("0.5"))
    prices = (60_000 + way * 1_200, 60_000 - way * 900)
    assert ([float(made.draft.take_profit), float(made.draft.stop_loss)], problems) == (list(prices), [])
    preview = {"price": D(60_000), "fills": D("0.5"), "fee": D(10)}
    results = rules.exit_results(made.draft, preview, D("0.0006"))
    assert results == {
        name: (D(price), way * (D(price) - 60_000) / 2 - 10 - D("0.0006") * D(price) / 2)
        for name, price in zip(("take_profit", "stop_loss"), prices, strict=True)
    }
    for wrong, rule in (("0", "decimal text"), ("x", "decimal text")):
        _, [problem] = rules.with_exit_prices(inputs("LIMIT", price="60000", stop_loss=wrong, exit_as=exit_as), D(1))
        assert (problem.field, problem.rule) == ("stop_loss", rule)
    _, [problem] = rules.with_exit_prices(inputs("LIMIT", price="", stop_loss="5", exit_as=exit_as), D(1))
    assert (problem.rule, problem.missing) == ("price", True)


def test_an_exit_beyond_zero_and_a_pnl_without_a_quantity_are_problems() -> None:
    beyond = inputs("LIMIT", price="60000", stop_loss="100", exit_as="percent")
    made, [problem] = rules.with_exit_prices(beyond, D(1))
    assert (made.draft.stop_loss, problem.rule, problem.message) == (
        "", "price above 0", "stop loss '100' lies beyond a price of 0",
    )  # fmt: skip
    _, [problem] = rules.with_exit_prices(inputs("LIMIT", price="60000", stop_loss="5", exit_as="pnl"), None)
    assert problem.missing
    same = inputs("LIMIT", price="60000", stop_loss="5")
    assert rules.with_exit_prices(same, D(1)) == (same, [])


@pytest.mark.parametrize(
    ("market", "buy", "sell"),
    [(MARKET, 60_010, 59_990), (TicketMarket(last=D(5), mark=D(6)), 5, 5), (TicketMarket(mark=D(6)), 6, 6),
     (TicketMarket(), None, None)],
)  # fmt: skip
def test_a_market_order_is_valued_at_the_best_price_else_the_last_else_the_mark(
    market: Any, buy: Any, sell: Any
) -> None:
    found = [rules.reference_price(Draft(KINDS["MARKET"], side=side), market) for side in ("BUY", "SELL")]
    assert found == [buy, sell]
    assert rules.reference_price(Draft(KINDS["LIMIT"], price="7"), market) == 7


@pytest.mark.parametrize(
    ("side", "name", "resting"), [("SELL", "long", "reducing_sells"), ("BUY", "short", "reducing_buys")]
)
@pytest.mark.parametrize(
    ("tif", "quantity", "covered", "rule"),
    [
        ("GTC", "0.2", "0.3", ""), ("GTC", "0.201", "0.3", "position"), ("IOC", "0.5", "0.3", ""),
        ("IOC", "0.501", "0.3", "position"), ("POST_ONLY", "0.1", "0.5", "covered"), ("IOC", "0.1", "0.5", ""),
        ("GTC", "0.0001", "0", "minOrderValue"), ("GTC", "0.0001", "0.4999", ""), ("FOK", "0.5", "0.5", ""),
    ],
)  # fmt: skip
def test_what_reduces_is_at_most_the_free_position(
    side: str, name: str, resting: str, tif: str, quantity: str, covered: str, rule: str
) -> None:
    held = Holdings(known=True, **{name: D("0.5"), f"{name}_value": D(30_000), resting: D(covered)})
    given = inputs("LIMIT", holdings=held, side=side, price="60000", tif=tif, reduce_only=True)
    found = rules.account_rules(given, D(quantity), D(60_000))
    assert [problem.rule for problem in found] == ([rule] if rule else [])
    if rule in ("position", "minOrderValue"):
        free = D("0.5") - (D(covered) if tif in ("GTC", "POST_ONLY") else 0)
        assert found[0].choices == (in_base(str(free), f"{free.normalize():f}"),)


@pytest.mark.parametrize(("side", "sign"), [("BUY", 1), ("SELL", -1)])
def test_reduce_only_without_a_position_offers_the_other_side_where_there_is_one(side: str, sign: int) -> None:
    other = {"long": D(1)} if sign > 0 else {"short": D(1)}
    for held, labels in (
        (Holdings(known=True), ["not reduce-only"]),
        (Holdings(known=True, **other), ["sell" if sign > 0 else "buy", "not reduce-only"]),
    ):
        [problem] = rules.account_rules(inputs(holdings=held, side=side, reduce_only=True), D(1), D(60_000))
        assert ([choice.label for choice in problem.choices], problem.rule) == (labels, "position")
        assert ("short" if sign > 0 else "long") in problem.message


@pytest.mark.parametrize("hedge", [False, True])
@pytest.mark.parametrize(("side", "sign"), [("BUY", 1), ("SELL", -1)])
def test_an_order_covers_the_other_side_in_one_way_mode_only(side: str, sign: int, hedge: bool) -> None:
    held = Holdings(
        known=True, hedge=hedge, available=D(0), leverage=D(10), **({"short": D(1)} if sign > 0 else {"long": D(1)})
    )
    assert rules.cover(held, sign) == (0 if hedge else 1)
    assert rules.cover(held, -sign) == 0
    given = inputs(holdings=held, side=side)
    assert (rules.margin_needed(given, D(1), D(60_010)) > 0) == hedge
    assert bool(rules.account_rules(given, D(1), D(60_010))) == hedge


def test_an_account_in_liquidation_takes_only_what_reduces() -> None:
    held = Holdings(known=True, liquidating=True, available=D(10**6), long=D(1), long_value=D(60_000))
    [problem] = rules.account_rules(inputs(holdings=held, side="BUY"), D("0.1"), D(60_000))
    assert (problem.field, problem.rule) == ("side", "liquidation")
    assert rules.account_rules(inputs(holdings=held, side="SELL"), D(1), D(60_000)) == []


@pytest.mark.parametrize(("side", "worst"), [("BUY", 60_020), ("SELL", 59_980)])
@pytest.mark.parametrize("isolated", [False, True])
def test_the_most_that_fits_is_what_the_available_margin_pays(side: str, worst: int, isolated: bool) -> None:
    held = Holdings(known=True, available=D(6_100), cross_equity=D(6_100), leverage=D(10), isolated=isolated, **RATES)
    given = inputs(holdings=held, side=side)
    steps = rules.max_affordable_steps(given, 10_000, D(worst))
    fits = [rules.margin_needed(given, BTC.step_size * count, D(worst)) <= D(6_100) for count in (steps, steps + 1)]
    assert fits == [True, False]
    assert 900 < steps < 1_020
    assert rules.max_affordable_steps(given, 100, D(worst)) == 99
    assert rules.max_quantity(given, D(worst)) == BTC.step_size * steps
    [problem] = rules.account_rules(given, BTC.step_size * (steps + 1), D(worst))
    most = BTC.quantity_text(steps)
    assert (problem.rule, problem.choices) == ("available margin", (in_base(most, f"at most {most}"),))
    assert problem.message.endswith(f". At most {most}")
    assert rules.account_rules(given, BTC.step_size * steps, D(worst)) == []


@pytest.mark.parametrize("side", ["BUY", "SELL"])
def test_resting_orders_of_a_side_count_towards_its_margin(side: str) -> None:
    resting = {"buys" if side == "BUY" else "sells": ((D(60_000), D("0.5")),)}
    given = inputs("LIMIT", side=side, price="60000", market=TicketMarket(mark=D(60_000)))
    alone = rules.margin_needed(given, D(1), D(60_000))
    more = rules.margin_needed(changed(given, holdings=Holdings(**vars_of(FLAT) | resting)), D(1), D(60_000))
    other = {"sells" if side == "BUY" else "buys": ((D(60_000), D("0.5")),)}
    less = rules.margin_needed(changed(given, holdings=Holdings(**vars_of(FLAT) | other)), D(1), D(60_000))
    assert alone == more == 6_000  # what rests has taken its margin already
    assert less == 3_000  # the larger side counts


def vars_of(holdings: Holdings) -> dict[str, Any]:
    return {name: getattr(holdings, name) for name in Holdings.__slots__}
