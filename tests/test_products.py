"""A product list with only the promised fields is enough to trade. What it leaves unchecked is named once."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import httpx
import pandas as pd
import pytest

import toolkit
from tests.cli.test_doctor import Answers
from tests.client.fake import BTC, META, FakeVenue, enveloped, session
from toolkit import orders
from toolkit.checks import leverage_limit
from toolkit.cli import doctor
from toolkit.errors import CheckFailed, DataWarning, InputError, UnknownProduct
from toolkit.following import follow
from toolkit.limits import Limits
from toolkit.margin import maintenance_margin
from toolkit.products import ProductTable, VenueProduct
from toolkit.protocol.reads.product_rows import CHECKS
from toolkit.protocol.reads.product_rows import META as FIELDS
from toolkit.research import Strategy, backtest, live
from toolkit.testing import venue  # a fixture
from toolkit.venue.local import LocalVenue
from toolkit.venue.model.genesis import Genesis, default_products
from toolkit.widgets import Account, Blotter, Candles, Depth, Funding, Header, LiquidationMap

__all__ = ["venue"]

PATH = "/info/public/product-meta"
FIVE = ("code", "symbol", "tickSize", "stepSize", "minOrderValue")
NINE = (*FIVE, "maxLeverage", "pricePrecision", "qtyPrecision", "maxSlippagePct")
ALL = tuple(BTC)
PUBLISHED = tuple(wire for wire in ALL if wire != "marginTableId")
LISTS = pytest.mark.parametrize("kept", [FIVE, NINE, PUBLISHED, ALL], ids=["five", "nine", "published", "all"])
OPTIONAL = [wire for wire in ALL if wire not in FIVE]
COLUMNS = {wire: name for name, (wire, _) in FIELDS.items()} | {
    "maxSlippagePct": "max_slippage", "marginTableId": "margin_table"
}  # fmt: skip
"""Field on the wire → column of `session.products()`."""

Row = dict[str, Any]


class Altered(httpx.BaseTransport):
    """The transport of a venue whose list of products is changed on the way."""

    def __init__(self, venue: LocalVenue, change: Callable[[Row], Row]) -> None:
        self.inner, self.change = venue.transport(), change

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self.inner.handle_request(request)
        if request.url.path != PATH:
            return answer
        data = json.loads(answer.content)["data"]
        return enveloped(0, "success", {**data, "perpProducts": [self.change(row) for row in data["perpProducts"]]})


class Listing(FakeVenue):
    """A venue with these rows of products."""

    def __init__(self, *rows: Any, **meta: Any) -> None:
        super().__init__()
        self.data: Any = {**META, **meta, "perpProducts": list(rows)}

    def _info(self, request: httpx.Request) -> httpx.Response:
        return enveloped(0, "success", self.data) if request.url.path == PATH else super()._info(request)


@contextmanager
def said() -> Iterator[list[str]]:
    """Collect the sentences of the warnings, which all name a line of the user."""
    sentences: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield sentences
    # An old release may warn of a newer one that it stands on; that is no fault of ours.
    caught = [one for one in caught if one.category is not DeprecationWarning]
    assert {one.category for one in caught} <= {DataWarning}
    assert {one.filename for one in caught} <= {__file__}
    sentences += [str(one.message) for one in caught]


def kept_only(kept: tuple[str, ...]) -> Callable[[Row], Row]:
    return lambda row: {wire: row[wire] for wire in kept}


@LISTS
def test_the_promised_fields_are_enough_to_read_trade_and_refuse(venue: LocalVenue, kept: tuple[str, ...]) -> None:
    missing = [wire for wire in ALL if wire not in kept]
    with said() as sentences, toolkit.connect(venue=venue, transport=Altered(venue, kept_only(kept))) as session:
        for _ in range(2):
            table = session.products()
        assert list(table.index) == ["BTCUSDC", "ETHUSDC", "SOLUSDC", "XRPUSDC"]
        assert [wire for wire in ALL if wire != "symbol" and table[COLUMNS[wire]].isna().all()] == missing
        assert len(session.klines("BTCUSDC", "1h", limit=2)) == 2
        assert session.buy("BTCUSDC", "0.5").status == "FILLED"
        assert session.sell("BTCUSDC", "0.01", "70000").status == "NEW"
        for quantity, price, rule in (("0.01", "60000.05", "tickSize"), ("0.0105", "60000", "stepSize"),
                                      ("0.001", "7000", "minOrderValue")):  # fmt: skip
            with pytest.raises(CheckFailed) as refused:
                session.buy("BTCUSDC", quantity, price)
            assert refused.value.rule == rule
        price = session.positions()["liquidation_price"]
        assert price.isna().all() == ("marginTableId" in missing)
        assert len(session.tickers()) == 4
        assert session.stop_all(flatten=True)["outcome"].tolist() == ["CANCELED", "CLOSED"]
    assert len(sentences) == bool(missing), sentences
    for wire in missing:
        assert wire in sentences[0]
        assert CHECKS.get(wire, "") in sentences[0]


@LISTS
def test_a_ticket_judges_an_order_and_its_review_names_what_is_not_checked(
    venue: LocalVenue, kept: tuple[str, ...]
) -> None:
    unchecked = [wire for wire in CHECKS if wire in ALL and wire not in kept]
    with said(), toolkit.connect(venue=venue, transport=Altered(venue, kept_only(kept))) as session:
        ticket = session.ticket("BTCUSDC", price="60000.05", quantity="0.01")
        assert [problem.rule for problem in ticket.problems] == ["tickSize"]
        ticket.price, ticket.quantity = "60000", "0.0001"
        assert [problem.rule for problem in ticket.problems] == ["stepSize"]
        ticket.quantity, ticket.quantity_as = "50", "share"
        assert ("leverage" in [problem.rule for problem in ticket.problems]) == ("maxLeverage" in unchecked)
        ticket.quantity, ticket.quantity_as = "0.01", "base"
        assert ticket.valid
        ticket.submit()
        rows = ticket.view["review"]["unchecked"]
        assert sorted(wire for _, wires, _ in rows for wire in wires.split(", ")) == sorted(unchecked)
        shown = {name: value for name, value, _ in ticket.view["preview"]}
        assert ("unknown" in shown["Liquidation (est.)"]) == ("marginTableId" in unchecked)
        assert (shown["Margin"] == "unknown") == ("maxLeverage" in unchecked) == (ticket.view["leverage"] == "")
        assert ticket.preview()["liquidation_known"] == ("marginTableId" not in unchecked)
        ticket.confirm()
        assert ticket.status == "RESTING"
        for panel in (Account(session), Blotter(session), LiquidationMap(session),
                      *(made(session, "BTCUSDC") for made in (Header, Funding, Depth, Candles))):  # fmt: skip
            assert "None" not in json.dumps(panel.view)
            panel.close()
        ticket.close()


FORMS: list[tuple[str, Callable[[Any], Any]]] = [
    ("null", lambda value: None),
    ("empty", lambda value: ""),
    ("blank", lambda value: "  "),
    ("a list", lambda value: [value]),
    ("an object", lambda value: {"value": value}),
]
UNREADABLE = ("a list", "an object")


@pytest.mark.parametrize("form", ["missing", *dict(FORMS)])
def test_no_optional_field_costs_a_product_or_an_order(form: str) -> None:
    change = dict(FORMS).get(form)
    for wire in OPTIONAL:
        row = {**BTC, wire: change(BTC[wire])} if change else {name: BTC[name] for name in ALL if name != wire}
        with said() as sentences:
            made = session(Listing(row, {**BTC, "symbol": "ETHUSDC", "code": 2}))
            table = made.products()
            product = made.product("BTCUSDC")
            assert made.buy("BTCUSDC", "0.01", "60000").state == "ACCEPTED", wire
        assert list(table.index) == ["BTCUSDC", "ETHUSDC"], wire
        assert pd.isna(table.loc["BTCUSDC", COLUMNS[wire]]), wire
        assert not pd.isna(table.loc["ETHUSDC", COLUMNS[wire]]), wire
        assert product.missing == (wire,), wire
        assert product.unchecked == ((wire,) if wire in CHECKS else ()), wire
        (sentence,) = sentences
        assert wire in sentence
        assert "BTCUSDC" in sentence
        assert "ETHUSDC" not in sentence
        assert CHECKS.get(wire, "") in sentence
        assert form not in UNREADABLE or repr(row[wire]) in sentence


def in_forms(value: Any) -> list[Any]:
    """Return the forms in which a value of the wire may come: text and number."""
    if isinstance(value, bool):
        return [value, str(value).lower(), int(value)]
    try:
        number = float(value)
    except ValueError:
        return [value, f" {value} "]
    return [str(value), number, *([int(number)] if number.is_integer() else [])]


def test_a_field_may_be_text_or_a_number() -> None:
    whole = ProductTable.from_meta(META)["BTCUSDC"]
    for wire, value in BTC.items():
        for given in in_forms(value):
            made = session(Listing({**BTC, wire: given}))
            product = made.product(1)
            assert product == whole, (wire, given)
            frame, expected = made.products(exact=True), session(FakeVenue()).products(exact=True)
            pd.testing.assert_frame_equal(frame, expected)


@pytest.mark.parametrize("wire", FIVE)
@pytest.mark.parametrize("value", ["missing", None, "", [], {}, True, "abc", "NaN", "1e999", "-1", 0])
def test_a_row_without_a_field_that_trading_needs_is_left_out_by_name(wire: str, value: Any) -> None:
    fine = {"symbol": ("abc", "NaN", "1e999", "-1", 0), "code": (0,), "minOrderValue": (0,)}
    row = {**BTC, "symbol": "ETHUSDC", "code": "2", wire: value}
    if value == "missing":
        del row[wire]
    with said() as sentences:
        made = session(Listing(BTC, row))
        found = [*made.products().index, *made.products().index]
        with pytest.raises(UnknownProduct):
            made.product("NONEUSDC")
    left_out = not (value in fine.get(wire, ()) and value is not True)
    assert len(found) == (2 if left_out else 4)
    assert len(sentences) == left_out, sentences
    if left_out:
        assert "left out" in sentences[0]
        assert wire in sentences[0]


@pytest.mark.parametrize(
    ("wire", "value"),
    [(wire, value) for wire in ("maxLeverage", "maxOrderQty", "maxPositionNtnl", "maxSlippagePct", "fundingInterval")
     for value in (-1, "-0.5", 0, "0")] + [("pricePrecision", -1), ("pricePrecision", "1.5"), ("minimumPrice", "-1"),
     ("defaultMakerFeeRate", "much"), ("onlyIsolated", "perhaps"), ("marginTableId", 9), ("listStatus", True)],
)  # fmt: skip
def test_a_limit_that_can_t_be_one_is_refused_in_words_and_counts_as_unknown(wire: str, value: Any) -> None:
    with said() as sentences:
        product = session(Listing({**BTC, wire: value})).product("BTCUSDC")
    (sentence,) = sentences
    assert sentence.startswith(f"BTCUSDC: {wire} is ")
    assert str(value) in sentence
    assert product.listed
    order = orders.market("BTCUSDC", "BUY", "0.01", slippage="0.01")
    assert order.check(product) is order


@pytest.mark.parametrize(
    ("status", "listed"),
    [("listed", True), ("LISTED", True), (" Listed ", True), (1, True), ("2", True), (None, True), ("", True),
     ("paused", False), ("delisted", False)],
)  # fmt: skip
def test_only_a_word_other_than_listed_ends_trading(status: Any, listed: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        made = session(Listing({**BTC, "listStatus": status}))
        product = made.product("BTCUSDC")
    failures = orders.limit("BTCUSDC", "BUY", "0.01", "60000").failures(product)
    assert [failure.rule for failure in failures] == ([] if listed else ["listing"])
    assert product.listed is listed


def test_an_unknown_limit_refuses_nothing_and_a_known_one_does() -> None:
    row = kept_only(FIVE)(BTC)
    huge = (orders.limit("BTCUSDC", "BUY", "1000000000", "60000"),
            orders.market("BTCUSDC", "BUY", "0.01", slippage="0.9"))  # fmt: skip
    open_ended, bounded = (ProductTable.from_meta({**META, "perpProducts": [one]})["BTCUSDC"] for one in (row, BTC))
    assert [each.failures(open_ended) for each in huge] == [[], []]
    assert [each.failures(bounded)[0].rule for each in huge] == ["maxOrderQty", "maxSlippagePct"]


@pytest.mark.parametrize(("lowest", "refused"), [("60000", True), (60_000.05, True), ("59999.9", False), (0, False)])
def test_a_minimum_price_bounds_the_price_of_an_order(lowest: Any, refused: bool) -> None:
    product = session(Listing({**BTC, "minimumPrice": lowest})).product("BTCUSDC")
    failures = orders.limit("BTCUSDC", "BUY", "0.01", "59999.9").failures(product)
    failures = failures or orders.limit("BTCUSDC", "BUY", "0.01", "60000").failures(product)
    assert [failure.rule for failure in failures] == (["minimumPrice"] if refused else [])
    if refused:
        (nearest,) = failures[0].nearest
        assert Decimal(nearest) >= Decimal(str(lowest)) > Decimal(nearest) - product.tick_size
        assert orders.limit("BTCUSDC", "BUY", "0.01", nearest).failures(product) == []


@pytest.mark.parametrize(
    "tables",
    [[{"tableId": 1, "riskLimitVo": []}], [{"tableId": "1"}], [7, {"tableId": []}], None, {},
     [{"tableId": 1, "riskLimitVo": [{"minimumValue": "0", "maintainMarginRatio": None, "maxLeverage": 5}]}],
     [{"tableId": 1, "riskLimitVo": [{"minimumValue": "5", "maintainMarginRatio": "0.01", "maxLeverage": 5}]}],
     [{"tableId": 1, "riskLimitVo": [{"minimumValue": "0", "maintainMarginRatio": "1", "maxLeverage": 5}]}]],
)  # fmt: skip
def test_a_margin_table_that_is_missing_or_can_t_be_read_makes_the_tiers_unknown(tables: Any) -> None:
    with said() as sentences:
        product = session(Listing(BTC, marginTables=tables)).product("BTCUSDC")
    assert (product.tiers, product.unchecked) == (None, ("marginTableId",))
    assert sum("BTCUSDC" in sentence for sentence in sentences) == 1
    assert CHECKS["marginTableId"] in sentences[-1]


def test_a_margin_table_is_found_by_a_number_in_any_form_and_order() -> None:
    first, second = ({"minimumValue": floor, "maintainMarginRatio": 0.01, "maxLeverage": 50} for floor in ("0", 2e6))
    listing = Listing({**BTC, "marginTableId": 1.0}, marginTables=[{"tableId": "1", "riskLimitVo": [second, first]}])
    tiers = session(listing).product("BTCUSDC").tiers
    assert tiers is not None
    assert [(tier.floor, tier.max_leverage) for tier in tiers] == [(0, 50), (2_000_000, 50)]


@pytest.mark.parametrize("leverage", [None, "", "high", -5])
def test_a_tier_without_a_highest_leverage_keeps_its_margin(leverage: Any) -> None:
    rows = [{"minimumValue": "0", "maintainMarginRatio": "0.01", "maxLeverage": leverage}]
    with said() as sentences:
        made = session(Listing(BTC, marginTables=[{"tableId": 1, "riskLimitVo": rows}]))
        made.buy("BTCUSDC", "0.01", "60000")
        product = made.product("BTCUSDC")
    assert product.unchecked == ("riskLimitVo.maxLeverage",)
    assert leverage_limit(product) == 40
    assert maintenance_margin(1000, product.tiers or ()) == 10
    assert any("BTCUSDC" in sentence and "by the size of a position" in sentence for sentence in sentences)


def test_a_bare_list_of_rows_is_a_product_list_too() -> None:
    listing = Listing()
    listing.data = [kept_only(FIVE)(BTC)]
    with said():
        made = session(listing)
        assert list(made.products().index) == ["BTCUSDC"]
        assert made.product("BTCUSDC").code == 1


def test_a_step_of_less_than_a_millionth_of_a_dollar_is_checked_exactly() -> None:
    row = {**kept_only(FIVE)(BTC), "tickSize": "0.0001", "stepSize": "0.00001", "minOrderValue": "0.0000001"}
    product = ProductTable.from_meta([row])["BTCUSDC"]
    assert orders.limit("BTCUSDC", "BUY", "0.00001", "0.0100").failures(product) == []
    (failure,) = orders.limit("BTCUSDC", "BUY", "0.00001", "0.0099").failures(product)
    assert (failure.rule, failure.nearest) == ("minOrderValue", ("0.00002",))


@pytest.mark.parametrize("wire", [wire for wire in ALL if wire not in ("name", "onlyIsolated", "listStatus")])
def test_a_venue_that_executes_orders_refuses_a_row_without_a_limit(wire: str) -> None:
    row = {**default_products()[0]}
    del row[wire]
    needed = {FIELDS[name][0] for name in toolkit.products.VENUE_NEEDS if name != "tiers"}
    tiers = [{"minimumValue": "0", "maintainMarginRatio": "0.01", "maxLeverage": "50"}]
    if wire in needed:
        with pytest.raises(InputError, match=f"{wire} is missing"):
            VenueProduct.from_row(row, tiers)
    else:
        assert VenueProduct.from_row(row, tiers).missing == (wire,)
    with pytest.raises(InputError, match="maxOrderQty is 'much'"):
        VenueProduct.from_row({**default_products()[0], "maxOrderQty": "much"}, tiers)


def findings(*rows: Row) -> list[doctor.Finding]:
    steps = doctor.examine(session(Answers(product_meta={**META, "perpProducts": list(rows)}), wallet=None), {})
    return [finding for finding in steps if finding.name == "products"]


def test_the_doctor_names_what_is_not_checked_and_what_can_t_be_read() -> None:
    assert [(one.state, one.text) for one in findings(BTC)] == [("ok", "1 listed: BTCUSDC")]
    unread, missing, listed = findings({**kept_only(NINE)(BTC), "maxLeverage": "high"})
    assert (unread.state, missing.state, listed.state) == ("warn", "note", "ok")
    assert unread.text.startswith("BTCUSDC: maxLeverage is 'high'")
    for wire in OPTIONAL:
        assert (wire in missing.text) == (wire not in NINE)
    assert CHECKS["maxOrderQty"] in missing.text
    assert CHECKS["maxLeverage"] not in missing.text


class Once(Strategy):
    """Buys once."""

    def on_start(self, ctx: Any) -> None:
        ctx.buy(ctx.symbols[0], "1")


@pytest.mark.parametrize("symbol", ["BTCUSDC", "DOGEUSDC"])
def test_a_backtest_of_a_product_with_few_fields_says_which_values_are_the_local_venue_s(symbol: str) -> None:
    times = pd.date_range("2026-01-01", periods=5, freq="1h", tz="UTC")
    bars = pd.DataFrame(dict.fromkeys(("open", "high", "low", "close"), 100.0), index=times).assign(volume=1e6)
    with said() as sentences:
        made = session(Listing({**kept_only(NINE)(BTC), "symbol": symbol, "tickSize": "0.5"}))
        run = backtest(Once(), {symbol: bars}, products={symbol: made.product(symbol)})
        assert len(run.fills) == 1
    about = [sentence for sentence in sentences if "local venue" in sentence]
    assert len(about) == 1
    assert about[0].startswith(symbol)
    assert "maxOrderQty 1000" in about[0]
    assert "maxLeverage" not in about[0]


def test_a_venue_of_which_few_fields_are_known_can_be_followed(venue: LocalVenue) -> None:
    with said() as sentences:
        upstream = toolkit.connect(venue=venue, account=9, approve=False, transport=Altered(venue, kept_only(NINE)))
        with follow(upstream, symbols=["BTCUSDC"]) as follower, toolkit.connect(venue=follower) as session:
            assert session.buy("BTCUSDC", "0.01").status == "FILLED"
            assert session.product("BTCUSDC").missing == ()
    (sentence,) = [one for one in sentences if "local venue" in one]
    assert sentence.startswith("BTCUSDC: ")
    assert "marginTableId" in sentence


def test_the_local_venue_names_the_field_that_a_product_of_its_genesis_lacks() -> None:
    row = {wire: value for wire, value in default_products()[0].items() if wire != "maxOrderQty"}
    with pytest.raises(InputError, match="BTCUSDC: maxOrderQty is missing"):
        LocalVenue(config=Genesis(products=[row]))


def test_a_live_run_gets_its_funding_and_an_unknown_margin_ratio_is_nan() -> None:
    ratios: list[float] = []
    paid: list[str] = []

    class Reader(Strategy):
        def on_bar(self, ctx: Any, bar: Any) -> None:
            if not ratios:
                ctx.buy("BTCUSDC", "0.01")
            ratios.append(ctx.margin_ratio)

        def on_funding(self, ctx: Any, payment: Any) -> None:
            paid.append(payment.symbol)

    with (
        said(),
        LocalVenue(clock="manual", start="2026-01-01T03:57:00Z") as venue,
        toolkit.connect(venue=venue, transport=Altered(venue, kept_only(FIVE))) as session,
    ):
        live(Reader(), session, ["BTCUSDC"], limits=Limits(), duration="4m", poll="20s")
    assert paid == ["BTCUSDC"], "the settlement at 04:00"
    assert pd.isna(ratios[-1])
