"""The ticket whole at a market of fixed prices: its view, its words, its buttons, and what a failure leaves of it."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from tests.widgets.conftest import passes
from tests.widgets.page import press
from toolkit.errors import InputError, OutcomeUnknown, TimedOut
from toolkit.session import Session
from toolkit.widgets import OrderTicket
from toolkit.widgets.order_ticket.order_kinds import KINDS

D = Decimal


@pytest.fixture
def thin(thin: Session) -> Session:
    """The session with a position, so that the last price is 60,010."""
    thin.buy("BTCUSDC", "0.1")
    passes(thin, "3s")
    return thin


def test_the_view_of_a_ticket_is_this(thin: Session) -> None:
    ticket = thin.ticket("BTCUSDC", price="60000.05", quantity="0.2", client_id="x")
    view = dict(ticket.view)
    assert view == {
        "symbol": "BTCUSDC", "environment": "local", "mainnet": False, "account": "0xf39F…2266", "readOnly": "",
        "market": {"bid": "59,990.0", "ask": "60,010.0", "mark": "60,010.0", "last": "60,010.0"},
        "leverage": "20", "isolated": False,
        "typed": {
            "price": "60000.05", "quantity": "0.2", "take_profit": "", "stop_loss": "", "slippage": "",
            "client_id": "x", "last_price": "", "count": "5", "duration": "30m", "trigger_price": "",
                "distance": "", "cancels": "",
        },
        "problems": [
            {"field": "price", "rule": "tickSize", "message": "price 60000.05 is not a multiple of tickSize 0.1",
             "missing": False, "choices": ["60000.0", "60000.1"]},
            {"field": "client_id", "rule": "int64",
             "message": "client id 'x' must be a whole number from 1 to 2^63 - 1", "missing": False, "choices": []},
        ],
        "valid": False, "preview": [], "review": None, "following": None, "doubt": "", "loaded": True,
    }  # fmt: skip
    assert list(ticket._lines()) == ["BUY 0.2 BTCUSDC at 60000.05", ticket.problems[0].message]
    ticket.price, ticket.client_id = " 59000 ", ""
    ticket.refresh()
    assert list(ticket._lines()) == ["BUY 0.2 BTCUSDC at 59000"]
    # 0.1 at 60,010 is held, with 300.05 of margin after a fee of 3.60. 0.2 more rest at 59,000: 0.01 % of 11,800 as
    # the maker's fee, a twentieth as margin. 9,996.40 - 1.18 + 0.3 p - 17,801 is 1.25 % of 0.3 p at 26,348.6.
    assert ticket.view["preview"] == [
        ["Value", "11,800.00 USDC", "about 12,002.00 USDC at mark"],
        ["Fee (est.)", "1.18 USDC", "taker 0.060 %, maker 0.010 %"],
        ["Margin", "590.00 USDC", "of 9,696.35 available, 20x"],
        ["Position", "adds to the long: 0.1 → 0.3", ""],
        ["Liquidation (est.)", "26,348.6", "56.1 % from mark"],
        ["Next funding (est.)", "−0.9002 USDC", "for the position after the order, at 0.0050 % of its value"],
    ]  # fmt: skip
    assert ticket.snapshot().count("<div>BUY 0.2 BTCUSDC at 59000</div>") == 1
    empty = thin.ticket("BTCUSDC", side="SELL", order_type="STOP")
    assert next(iter(empty._lines())) == "SELL … BTCUSDC at market when … is reached"
    assert thin.ticket("BTCUSDC", order_type="MARKET", quantity_as="share").form["picksPrice"] is False


def test_a_button_sets_the_choice_of_its_field_and_place(thin: Session) -> None:
    given = {"price": "60000.05", "quantity": "0.0105"}
    for message, price, quantity in (
        ({"field": "price", "label": "60000.1"}, "60000.1", "0.0105"),
        ({"field": "quantity", "label": "0.011"}, "60000.05", "0.011"),
        ({"field": "price", "label": "0.011"}, "60000.05", "0.0105"),
        ({"field": "price", "label": "gone", "rule": "tickSize", "place": 1}, "60000.1", "0.0105"),
        ({"field": "quantity", "label": "60000.1", "rule": "stepSize", "place": 0}, "60000.05", "0.010"),
        ({"field": "price", "label": "60000.1", "rule": "stepSize", "place": 1}, "60000.05", "0.0105"),
        ({"field": "price", "label": "60000.1", "rule": "tickSize", "place": 2}, "60000.05", "0.0105"),
    ):  # fmt: skip
        ticket = thin.ticket("BTCUSDC", **given)
        press(ticket, "take", **message)
        assert (ticket.price, ticket.quantity, ticket.problem) == (price, quantity, "")
    with pytest.raises(InputError, match=r"ticket\.problems\[0\]\.choices\[0\]"):
        ticket.take("60000.1")  # type: ignore[arg-type]


def test_a_press_on_submit_brings_the_last_keys(thin: Session) -> None:
    ticket = thin.ticket("BTCUSDC", price="59000", quantity="0.1")
    press(ticket, "submit", fields={"quantity": "0.2", "symbol": "ETHUSDC", "phase": "sending"})
    review = ticket.view["review"]
    assert (ticket.phase, review["question"], review["verb"], review["symbol"]) == (
        "review", "BUY 0.2 BTCUSDC at 59000, about 12,002.00 USDC at mark", "buy", "BTCUSDC",
    )  # fmt: skip
    ticket.side = "SELL"
    assert (ticket.phase, ticket.view["review"]) == ("edit", None)
    ticket.price = "61000"
    ticket.submit()
    assert ticket.view["review"]["verb"] == "sell"


@pytest.mark.parametrize(
    ("percent", "quantity"), [(100, "3.228"), (50, "1.614"), (33, "1.065"), (0, "0.000"), (-5, "0.000"), (500, "3.228")]
)
def test_a_share_is_from_0_to_100_percent(thin: Session, percent: int, quantity: str) -> None:
    ticket = thin.ticket("BTCUSDC", price="60000", quantity="700", quantity_as="notional")
    # The available 9,696.40 (10,000 less 300.05 of margin, the fee of 3.60 and the loss) buy 3.232 at 20x.
    whole = int(thin.wallet_balances(exact=True)["available"][0] * 20 / 60_000 * 1_000)
    press(ticket, "share", percent=percent)
    share = min(max(percent, 0), 100)
    assert (ticket.quantity_as, D(ticket.quantity)) == ("base", D(whole * share // 100) / 1000)
    assert D(quantity) <= D(ticket.quantity) <= D(quantity) + D("0.01")
    empty = thin.ticket("BTCUSDC")
    press(empty, "share", percent=50)
    assert empty.problem == "a share needs a price and the account's data"


def test_settings_are_reviewed_whole(thin: Session) -> None:
    ticket = thin.ticket("BTCUSDC")
    prepared = ticket.set_leverage("10")
    assert prepared.payload == {"type": "setLeverage", "leverage": "10", "symbolCode": 1}
    assert [ticket.view["review"][name] for name in ("question", "verb", "symbol")] == [
        "Set the leverage of BTCUSDC to 10x", "set", "BTCUSDC",
    ]  # fmt: skip
    prepared = ticket.set_margin_mode("ISOLATED")
    assert prepared.payload == {"type": "setMarginMode", "marginMode": "ISOLATED", "symbolCode": 1}
    assert ticket.view["review"]["question"] == "Set the margin mode of BTCUSDC to isolated"
    with pytest.raises(InputError, match=r"margin_mode|marginMode"):
        ticket.set_margin_mode("HALF")  # type: ignore[arg-type]


def lost(request: Any) -> Any:
    raise TimedOut("no answer in 10 s")


def test_a_setting_of_unknown_outcome_leaves_the_order_before_as_it_is(
    thin: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket = thin.ticket("BTCUSDC", price="59000", quantity="0.1")
    ticket.submit()
    receipt = ticket.confirm()
    ticket.set_leverage("10")
    with monkeypatch.context() as patch:
        patch.setattr(thin._driver, "_send", lost)
        with pytest.raises(OutcomeUnknown):
            ticket.confirm()
    assert (ticket.status, ticket.receipt) == ("RESTING", receipt)
    assert ticket.problem
    tracker: Any = ticket.following
    assert (tracker.failed, tracker.failure) == ("", "")


def test_asking_about_an_order_whose_outcome_is_known_asks_nobody(
    thin: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket = thin.ticket("BTCUSDC", price="59000", quantity="0.1")
    assert ticket.ask_venue() == ""
    ticket.submit()
    receipt = ticket.confirm()
    asked: list[str] = []
    monkeypatch.setattr(thin, "resolve", asked.append, raising=False)
    assert (ticket.ask_venue(), asked, ticket.receipt) == ("RESTING", [], receipt)


def test_clearing_keeps_an_order_of_unknown_outcome_and_the_choices(thin: Session) -> None:
    fields = {
        "price": "59000", "quantity": "0.1", "take_profit": "1", "stop_loss": "2", "slippage": "3", "client_id": "4",
        "last_price": "5", "count": "6", "duration": "7m", "trigger_price": "8",
    }  # fmt: skip
    ticket: Any = thin.ticket("BTCUSDC", side="SELL", tif="IOC", reduce_only=True, **fields)
    unknown = SimpleNamespace(status="UNKNOWN", words=lambda: "", view=dict, receipt=None)
    ticket.following = unknown
    ticket.clear()
    assert ticket.following is unknown
    assert {name: getattr(ticket, name) for name in fields} == dict.fromkeys(fields, "")
    assert (ticket.reduce_only, ticket.side, ticket.tif, ticket.order_type) == (False, "SELL", "IOC", "LIMIT")
    ticket.following = None


def test_a_ticket_has_these_defaults_and_takes_no_inexact_number(thin: Session) -> None:
    ticket = OrderTicket(thin, 1)
    names = ("symbol", "side", "order_type", "price", "quantity_as", "tif", "reduce_only", "trigger_by", "exit_as")
    assert [getattr(ticket, name) for name in names] == [
        "BTCUSDC", "BUY", "LIMIT", "", "base", "", False, "MARK_PRICE", "price",
    ]  # fmt: skip
    assert (ticket.count, ticket.duration, ticket.status, ticket.receipt) == ("5", "30m", "", None)
    ticket.price, ticket.quantity = D("60000.10"), 2
    assert (ticket.price, ticket.quantity) == ("60000.10", "2")
    with pytest.raises(InputError, match=r"has no field .zza., it has side") as raised:
        thin.ticket("BTCUSDC", zzz="1", zza="2")
    assert raised.value.field == "zza"


def test_every_field_is_a_trait_of_the_ticket_with_a_label(session: Session) -> None:
    ticket = session.ticket("BTCUSDC")
    assert [name for name, _ in ticket.form["kinds"]] == list(KINDS)
    for name in KINDS:
        ticket.order_type = name
        for row in [*ticket.form["rows"], *ticket.form["more"]]:
            for field in filter(None, row):
                assert OrderTicket.class_traits()[field["name"]].metadata["sync"]
                assert field["label"]
