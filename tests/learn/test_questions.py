"""What each question of the walkthroughs computes and says, on small tables that were worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from toolkit.client.orders.intents import IntentState
from toolkit.client.orders.receipts import ItemResult, Receipt
from toolkit.environments import TESTNET
from toolkit.errors import VenueError
from toolkit.learn.answers import DIGITS, Question, as_number, digest, off, shown
from toolkit.learn.questions import QUESTIONS
from toolkit.protocol import signing
from toolkit.research import Results, Strategy, backtest
from toolkit.venue import development


def wrong(name: str, answer: Any, **given: Any) -> str:
    """Return what is wrong with an answer, "" for a right one."""
    return off(name, QUESTIONS[name], answer, given)


def truth(name: str, **given: Any) -> Any:
    function = QUESTIONS[name].truth
    assert function is not None
    return function(**given)


def table(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(columns)


def asked(frame: pd.DataFrame, **wanted: Any) -> Callable[..., pd.DataFrame]:
    """Return a read that gives a frame, and must be asked for exactly this."""

    def read(*symbol: Any, **given: Any) -> pd.DataFrame:
        assert (symbol, given) == (wanted.get("symbols", ()), {k: v for k, v in wanted.items() if k != "symbols"})
        return frame

    return read


D = Decimal
ORDER = {"symbolCode": 1, "ordPx": "60000", "ordQty": "0.01", "ordType": "LIMIT", "ordSide": "BUY"}
PLACED = {"type": "placeOrder", "orders": [ORDER | {"timeInForce": "GTC"}]}
RECEIPT = Receipt("placeOrder", IntentState.ACCEPTED, 0, "success", "i", results=(ItemResult(1, 7, 0, ""),))
EMPTY = Receipt("placeOrder", IntentState.ACCEPTED, 0, "success", "i")


def test_the_last_fill_of_eth_is_the_profit() -> None:
    fills = table(realized_pnl=[D("1.5"), D("-0.25")])
    session = SimpleNamespace(fills=asked(fills, symbol="ETHUSDC", exact=True))
    assert truth("first-trade.profit", session=session) == D("-0.25")


def test_the_share_of_makers_is_by_value() -> None:
    maker, every = table(value=[D(1), D(2)]), table(value=[D(1), D(2), D(9)])
    session = SimpleNamespace(fills=lambda role="", exact=False: {"MAKER": maker, "": every}[role] if exact else None)
    assert truth("account-data.maker_share", session=session) == D("0.25")


def test_funding_that_was_paid_is_above_zero() -> None:
    payments = table(amount=[D("-2.5"), D("0.5")])
    session = SimpleNamespace(info=SimpleNamespace(funding_payments=asked(payments, exact=True)))
    assert truth("account-data.funding_paid", session=session) == 2


def test_margin_and_effect_are_those_of_the_ticket() -> None:
    def ticket(symbol: str, **fields: Any) -> Any:
        return SimpleNamespace(preview=lambda: {"margin": (symbol, fields), "effect": (symbol, fields)})

    session, order = SimpleNamespace(ticket=ticket), {"order_type": "MARKET"}
    assert truth("order-ticket.margin", session=session) == ("ETHUSDC", {"side": "BUY", "quantity": "0.5", **order})
    assert truth("live-page.effect", session=session) == ("BTCUSDC", {"side": "SELL", "quantity": "0.05", **order})


def test_what_is_left_of_the_equity_is_of_deposits_and_btc() -> None:
    ledger = table(
        kind=["DEPOSIT", "FEE", "FUNDING", "DEPOSIT"],
        symbol=["", "BTCUSDC", "ETHUSDC", ""],
        amount=[D(100), D(-5), D(-50), D(5)],
    )
    session = SimpleNamespace(info=SimpleNamespace(ledger=asked(ledger, exact=True)))
    assert truth("margin-liquidation.left", session=session, equity=D(200)) == D("0.5")


def test_a_builders_cost_is_that_of_the_purchases() -> None:
    fees = table(tx_hash=["a", "b", "c"], amount=[D("-0.5"), D("-0.25"), D("-4")])
    fills = table(tx_hash=["a", "b"], side=["BUY", "SELL"])
    info = SimpleNamespace(ledger=asked(fees, kind="BUILDER_FEE", exact=True))
    assert truth("builder-code.cost", trader=SimpleNamespace(info=info, fills=asked(fills, exact=True))) == D("0.5")


def test_shares_are_cut_off_after_six_decimals() -> None:
    info = SimpleNamespace(
        vault=asked(table(tvl=[D(300)]), symbols=("v",), exact=True),
        vault_depositors=asked(table(shares=[D(150), D(50)]), symbols=("v",), exact=True),
    )
    assert str(truth("vaults.expected", session=SimpleNamespace(info=info), vault="v")) == "166.666666"


def test_the_lock_is_that_of_the_lp_vault() -> None:
    info = SimpleNamespace(
        vaults=asked(table(name=["Slow", "LP vault"], vault=["s", "l"])),
        vault_user=asked(table(locked_until=[9]), symbols=("l",)),
    )
    assert truth("vaults.locked_until", session=SimpleNamespace(info=info)) == 9


def test_costs_balances_and_shares_of_tables() -> None:
    run, free = (SimpleNamespace(metrics=lambda profit=profit: {"profit": profit}) for profit in (3, 10))
    assert truth("strategy.costs", run=run, free=free) == 7
    wallet = SimpleNamespace(wallet_balances=asked(table(balance=[D("1.1"), D(2)]), exact=True))
    assert truth("testnet.balance", session=wallet) == D("1.1")
    # the median is 2: only 4 and 5 are twice as wide
    assert truth("market.wide", spread=pd.Series([1.0, 2.0, 2.0, 4.0, 5.0])) == pytest.approx(0.4)
    assert truth("market.wide", spread=pd.Series([3.0, 3.0, 5.9, 3.0])) == 0
    assert truth("market.moved", own={"after a minute": pd.Series([9.0, 1.5])}) == 3
    exact = table(ahead=[0.1, 0.2, 0.3, 0.4], filled=[True, True, False, False])
    assert truth("market-making.behind", queues={"exact": exact, "other": None}) == pytest.approx(1 / 3)
    looks = table(move=[0.0, 2.0, -1.0, 3.0, 4.0], imbalance=[0.9, 0.7, -0.5, -0.2, 0.6])
    assert truth("imbalance.right", looks=looks) == 0.75
    assert truth("imbalance.gain", looks=looks) == 1
    rows = pd.MultiIndex.from_tuples([("BTCUSDC", 0), ("BTCUSDC", 1), ("ETHUSDC", 0), ("ETHUSDC", 1)])
    both = pd.DataFrame({"bp": [0.5, -0.75, math.nan, 9.0]}, index=rows)
    assert truth("paper.worst", both=both) == 0.75
    assert truth("paper.alone", both=both) == 1
    best = table(fees=[1.0, 6.0, 2.0], **{"before fees": [2.0, 3.0, -9.0]})
    assert truth("learners.factor", table=best) == 2


@pytest.mark.parametrize(("first", "found"), [(1, 1), (7, 7), (2_000, None)])
def test_the_rise_to_liquidation_is_the_smallest_whole_percent_up_to_1999(first: int, found: int | None) -> None:
    def what_if(symbol: str, move: float) -> pd.DataFrame:
        assert symbol == "ETHUSDC"
        return table(liquidated=[False, move >= first / 100])

    copied = SimpleNamespace(what_if=what_if)
    if found is None:
        with pytest.raises(LookupError):
            truth("following.eth", copied=copied)
    else:
        assert truth("following.eth", copied=copied) == found


def test_a_signed_request_is_judged_by_action_nonce_expiry_and_signer() -> None:
    agent = signing.PrivateKey(development.account(10).key)
    action, nonce = PLACED, 1_767_225_600_000
    given = {"action": action, "nonce": nonce, "agent": agent, "chain": TESTNET.chain}
    right = signing.sign(action, key=agent, chain=TESTNET.chain, nonce=nonce, expiry_after=nonce + 60_000)
    assert wrong("signing.mine", right, **given) == ""
    stranger = signing.PrivateKey(development.account(11).key)
    other = signing.sign(action, key=stranger, chain=TESTNET.chain, nonce=nonce, expiry_after=nonce + 60_000)
    assert wrong("signing.mine", other, **given) == "the signer is not the agent"
    later = signing.sign(action, key=agent, chain=TESTNET.chain, nonce=nonce, expiry_after=nonce + 60_001)
    assert wrong("signing.mine", later, **given) == f"expiryAfter is {nonce + 60_001}. A minute has 60,000 ms"
    for changed in ({"nonce": nonce + 1}, {"action": action | {"orders": []}}):
        text = "it is another action, or has another nonce, than the one above"
        assert wrong("signing.mine", right | changed, **given) == text
    for answer in ("text", {"action": action}):
        text = "a signed request is a dictionary with action, nonce, expiryAfter and signature"
        assert wrong("signing.mine", answer, **given) == text
    assert wrong("signing.mine", right | {"signature": {}}, **given).startswith("no signer can be recovered: ")


def test_a_price_is_judged_by_the_digest_it_leads_to() -> None:
    steps = signing.explain(PLACED, TESTNET.chain, 5)
    given = {"action": PLACED, "nonce": 5, "chain": TESTNET.chain, "steps": steps}
    assert wrong("signing.same", "60000", **given) == ""
    assert wrong("signing.same", "60000.0", **given) == "60000.0 leads to another digest"
    assert wrong("signing.same", 60000.0, **given) == "the answer must be a text, as it is written in the request"
    assert wrong("signing.same", "much", **given).startswith("it can't be signed: ")


def bracket(triggers: list[float], side: str, size: float) -> Any:
    states = asked(table(trigger_price=triggers), parent_order_id=7)
    held = table(side=[side], size=[size]) if size else table(side=[], size=[])
    return SimpleNamespace(info=SimpleNamespace(order_states=states), positions=asked(held, symbols=("ETHUSDC",)))


@pytest.mark.parametrize(
    ("triggers", "side", "size", "text"),
    [
        ([2523.5, 2376.5], "SHORT", -1.0, ""),
        ([2376.5, 2523.5], "SHORT", 1.0, ""),
        ([2376.5], "SHORT", -1.0, "the order has no take profit and stop loss"),
        ([2376.5, 2523.5, 1.0], "SHORT", -1.0, "the order has no take profit and stop loss"),
        ([2523.0, 2376.5], "SHORT", -1.0, "it takes profit and stops at 2376.5 and 2523.0"),
        ([2376.5, 2523.5], "LONG", 1.0, "the position is not a short of 1 ETH"),
        ([2376.5, 2523.5], "SHORT", -2.0, "the position is not a short of 1 ETH"),
        ([2376.5, 2523.5], "SHORT", 0.0, "the position is not a short of 1 ETH"),
    ],
)
def test_a_bracketed_short_is_judged_by_its_exits_and_its_position(
    triggers: list[float], side: str, size: float, text: str
) -> None:
    assert wrong("order-kinds.short", RECEIPT, session=bracket(triggers, side, size)) == text


@pytest.mark.parametrize("answer", [7, "7", EMPTY, None])
def test_what_is_no_receipt_of_an_order_is_refused_as_such(answer: Any) -> None:
    text = "the answer must be a receipt, which `session.place` returns"
    assert wrong("order-kinds.short", answer, session=None) == text
    assert wrong("order-kinds.taken", answer, session=None) == text
    assert wrong("builder-code.sold", answer, trader=None) == text


STATE: dict[str, Any] = {
    "symbol": "SOLUSDC", "side": "BUY", "quantity": D("0.2"), "type": "LIMIT", "tif": "IOC", "price": D(140),
}  # fmt: skip


class _Filled(Receipt):
    """A receipt of an order that bought at 140, or bought nothing."""

    bought = D("0.2")

    @property
    def filled(self) -> Any:
        return self.bought

    @property
    def average_price(self) -> Any:
        return D(140)


@pytest.mark.parametrize(
    ("changed", "bought", "text"),
    [
        ({}, D("0.2"), ""),
        ({"price": D("139.99")}, D("0.2"), ""),
        ({"price": D("140.01")}, D("0.2"), "its limit is above the best ask"),
        ({}, D(0), "nothing was offered at its price"),
        ({"symbol": "BTCUSDC"}, D("0.2"), "it is an order to buy 0.2 BTCUSDC"),
        ({"side": "SELL"}, D("0.2"), "it is an order to sell 0.2 SOLUSDC"),
        ({"quantity": D("0.3")}, D("0.2"), "it is an order to buy 0.3 SOLUSDC"),
        (
            {"type": "MARKET"},
            D("0.2"),
            "a market order has no limit: it would also take what is dearer than the best ask",
        ),
        ({"tif": "GTC"}, D("0.2"), "what is not filled rests in the book"),
        ({"tif": "FOK"}, D("0.2"), "it fails if there is less"),
        ({"tif": "POST_ONLY"}, D("0.2"), "POST_ONLY never takes"),
    ],
)
def test_a_taking_limit_is_judged_by_every_field_of_its_order(
    changed: dict[str, Any], bought: Decimal, text: str
) -> None:
    receipt = _Filled("placeOrder", IntentState.ACCEPTED, 0, "success", "i", results=RECEIPT.results)
    receipt.bought = bought
    states = asked(pd.DataFrame([STATE | changed]), order_id=7, exact=True)
    assert (
        wrong("order-kinds.taken", receipt, session=SimpleNamespace(info=SimpleNamespace(order_states=states))) == text
    )


@pytest.mark.parametrize(
    ("sides", "quantities", "fee", "text"),
    [
        (["SELL", "SELL"], ["0.02", "0.03"], "-0.9", ""),
        (["SELL", "SELL"], ["0.02", "0.04"], "-0.9", "it sold 0.06"),
        (["SELL", "BUY"], ["0.02", "0.03"], "-0.9", "there is no fill of a sale by this order"),
        ([], [], "-0.9", "there is no fill of a sale by this order"),
        (["SELL", "SELL"], ["0.02", "0.03"], "-0.8996", "the builder took 0.02999% of the value"),
        (["SELL", "SELL"], ["0.02", "0.03"], "-0.9004", "the builder took 0.03001% of the value"),
    ],
)
def test_a_sale_at_the_cap_is_judged_by_side_quantity_and_rate(
    sides: list[str], quantities: list[str], fee: str, text: str
) -> None:
    fills = table(
        order_id=[7] * len(sides) + [8],
        side=[*sides, "BUY"],
        quantity=[*map(D, quantities), D(1)],
        value=[D(1000)] * len(sides) + [D(1)],
        tx_hash=[f"t{at}" for at in range(len(sides))] + ["other"],
    )
    fills.loc[fills["order_id"] == 7, "value"] = D(1500)
    fees = table(tx_hash=["t0", "other"], amount=[D(fee), D(-9)])
    info = SimpleNamespace(ledger=asked(fees, kind="BUILDER_FEE", exact=True))
    trader = SimpleNamespace(info=info, fills=asked(fills, symbols=("BTCUSDC",), exact=True))
    assert wrong("builder-code.sold", RECEIPT, trader=trader) == text


class _Turns(Strategy):
    """Holds `size`, and turns it around at each of these bars."""

    def __init__(self, size: str, *bars: int) -> None:
        self.size, self.bars, self.at = D(size), bars, 0

    def on_bar(self, ctx: Any, bar: Any) -> None:
        self.at += 1
        if self.at in self.bars:
            ctx.target(bar.symbol, self.size)
            self.size = -self.size


def turned(size: str, *bars: int, **costs: Any) -> Results:
    closes = [60_000, 60_100, 60_200, 60_100, 60_000, 59_900, 60_000, 60_200]
    index = pd.date_range("2026-01-01", periods=len(closes), freq="1h", tz="UTC", name="time")
    frame = pd.DataFrame(dict.fromkeys(("open", "high", "low", "close"), closes), index=index).assign(volume=9.0)
    return backtest(_Turns(size, *bars), {"BTCUSDC": frame}, **({"fees": (0, 0), "funding": None} | costs))


@pytest.mark.parametrize(
    ("size", "bars", "costs", "text"),
    [
        ("-0.05", (1, 3), {}, ""),
        ("0.05", (1, 3), {}, "it must buy when Trend sells, and sell when Trend buys"),
        ("-0.05", (1, 3, 5), {}, "it must buy when Trend sells, and sell when Trend buys"),
        ("-0.05", (1, 4), {}, "it trades at other times than Trend, or other quantities"),
        ("-0.06", (1, 3), {}, "it trades at other times than Trend, or other quantities"),
        ("-0.05", (1, 3), {"fees": None}, "fees were paid. Without costs fees are (0, 0), and funding is None"),
    ],
)
def test_an_opposite_strategy_is_judged_by_sides_times_quantities_and_costs(
    size: str, bars: tuple[int, ...], costs: dict[str, Any], text: str
) -> None:
    free = turned("0.05", 1, 3)
    assert len(free.fills) == 2
    answer = turned(size, *bars, **costs)
    assert wrong("strategy.opposite", answer, free=free) == text
    assert wrong("strategy.opposite", answer.fills, free=free) == "the answer must be Results, which `backtest` returns"


@pytest.mark.parametrize(
    ("latency", "queue", "fills", "later", "text"),
    [
        ("(200 ms, 200 ms)", "exact", 250, 0.5, ""),
        ("(200 ms, 200 ms)", "exact", 249, 0.5, "it has 249 fills"),
        ("(200 ms, 200 ms)", "exact", 250, 0.49, "a fill is worth 0.49 ticks after a second"),
        ("(1 ms, 1 ms)", "exact", 250, 0.5, "it ran with (1 ms, 1 ms) and queue exact, not 200 ms and exact"),
        ("(200 ms, 200 ms)", "log", 250, 0.5, "it ran with (200 ms, 200 ms) and queue log, not 200 ms and exact"),
    ],
)
def test_a_better_quote_is_judged_by_settings_fills_and_worth(
    latency: str, queue: str, fills: int, later: float, text: str
) -> None:
    made = turned("0.05", 1, 3)
    many = pd.concat([made.fills] * fills).iloc[:fills]
    run = replace(made, fills=many, settings={"latency": latency, "queue": queue})
    assert wrong("market-making.mine", run, worth=lambda results: [9.0, later]) == text
    assert wrong("market-making.mine", many, worth=None) == "the answer must be Results, which `run` returns"


EVENTS: dict[str, Any] = {
    "symbol": ["ETHUSDC"] * 2, "side": ["BUY"] * 2, "price": [2400.0, 2390.0], "quantity": [0.1, 0.1]
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({}, ""),
        ({"symbol": ["BTCUSDC"] * 2}, "there is no such bid in ETHUSDC"),
        ({"side": ["SELL"] * 2}, "there is no such bid in ETHUSDC"),
        ({name: [] for name in EVENTS}, "there is no such bid in ETHUSDC"),
        ({"price": [2400.0, 2391.0]}, "the order was at 2,400, then 2,391"),
        ({"quantity": [0.1, 0.2]}, "it is an order for 0.2"),
    ],
)
def test_an_amended_bid_is_judged_by_its_events(changed: dict[str, Any], text: str) -> None:
    read = asked(pd.DataFrame(EVENTS | changed), order_id=7)
    session = SimpleNamespace(info=SimpleNamespace(order_events=read))
    assert wrong("live-page.amended", "7", session=session) == text
    for nonsense in ("seven", 7.5, None):
        assert wrong("live-page.amended", nonsense, session=session) == "the answer must be the id of an order"


def test_an_order_that_the_venue_does_not_know_is_named_so() -> None:
    def refused(**_: Any) -> pd.DataFrame:
        raise VenueError("no order 7")

    session = SimpleNamespace(info=SimpleNamespace(order_events=refused))
    assert wrong("live-page.amended", 7, session=session) == "the venue knows no such order: no order 7"


def fails(work: Any) -> None:
    raise KeyError("position")


def without_text(work: Any) -> None:
    if work.value("position"):
        raise AssertionError


def from_half(work: Any) -> None:
    assert abs(work.value("position")) < 0.5, "open"


def from_zero_up(work: Any) -> None:
    assert work.value("position") >= 0, "short"


def never_zero(work: Any) -> None:
    assert work.value("position"), "flat"


def flat(work: Any) -> None:
    assert work.value("position") == 0, "open"


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (flat, ""),
        (fails, "it fails with KeyError: 'position'"),
        (without_text, "it fails without a text"),
        (from_half, "a position of 0.1 passes"),
        (from_zero_up, "a position of 0.1 passes"),
        (never_zero, "a position of 0 fails"),
        (5, "the answer must be a function, which takes what a notebook left"),
    ],
)
def test_a_check_of_a_flat_position_is_tried_with_four_positions(check: Any, text: str) -> None:
    assert wrong("class.flat", check) == text


@pytest.mark.parametrize(
    ("open_here", "answer", "text"),
    [
        (0, "0.25", ""),
        (0, 0.3, "0.3 is not what the owner holds there"),
        (1, "0.25", "the copied position in BTCUSDC is still open here"),
    ],
)
def test_what_is_left_there_is_the_owners_size_after_the_copy_was_closed(
    open_here: int, answer: Any, text: str
) -> None:
    here = SimpleNamespace(positions=asked(table(size=[1] * open_here), symbols=("BTCUSDC",)))
    owner = SimpleNamespace(positions=asked(table(size=[D("0.25")]), symbols=("BTCUSDC",), exact=True))
    assert wrong("following.left", answer, session=here, owner=owner) == text


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("a" * 40, f"{'a' * 40} is not it. The answer must be a number"),
        ("a" * 41, f"{'a' * 40}… is not it. The answer must be a number"),
        ("two\n  words ", "two words is not it. The answer must be a number"),
        (True, "True is not it. The answer must be a number"),
        (8, "8 is not it"),
        (-4, "the sign is wrong"),
        (400, "it is a hundred times too large: is it a percentage, in place of a ratio?"),
        ("0.04", "it is a hundred times too small: is it a ratio, in place of a percentage?"),
        (-3, "that is what is left to 1, the other share"),
        ("0.25", "it is upside down: one divided by the answer"),
        (0, "0 is not it"),
        (4, ""),
    ],
)
def test_a_wrong_number_learns_what_it_would_be_right_for(answer: Any, text: str) -> None:
    assert off("n", Question("", truth=lambda: D(4)), answer, {}) == text
    kept = text.replace(". The answer must be a number", "")  # of a digest nothing says that it is of a number
    assert off("n", Question("", digest=digest("n", 4)), answer, {}) == kept


@pytest.mark.parametrize("answer", [5, "5", D(5)])
def test_a_number_is_no_answer_where_a_text_or_a_truth_without_number_is_asked_for(answer: Any) -> None:
    assert off("n", Question("", truth=lambda: "five"), answer, {}).startswith(shown(answer))
    assert off("n", Question("", truth=lambda: " Five"), "fIVE ", {}) == ""
    assert off("n", Question("", truth=lambda: "five"), "six", {}) == "six is not it"
    assert off("n", Question("", truth=lambda: None), "5 apples", {}) == "5 apples is not it"


def test_a_step_accepts_half_of_it_on_both_sides() -> None:
    question = Question("", truth=lambda: D("2.5"), step="0.1")
    for answer, right in (("2.45", True), ("2.55", True), ("2.449", False), ("2.551", False)):
        assert (off("n", question, answer, {}) == "") == right
    assert digest("n", "2.449", "0.1") == digest("n", "2.351", "0.1") == digest("n", 2.4, "0.1")
    assert digest("n", 2.4, "0.1") != digest("n", 2.4) != digest("m", 2.4)
    assert digest("n", 2.4) == digest("n", "2.400") == "f9e75194b7453765"
    assert digest("n", ["b", "a "]) == digest("n", ("A", "b")) != digest("n", "a,b")


@pytest.mark.parametrize("digits", [DIGITS - 1, DIGITS, DIGITS + 1])
def test_a_number_has_at_most_40_digits_before_or_after_its_point(digits: int) -> None:
    for text in (f"1e{digits}", f"1e-{digits}"):
        assert (as_number(text) is not None) == (digits <= 40)
    assert as_number("NaN") is as_number("Infinity") is as_number(True) is None
