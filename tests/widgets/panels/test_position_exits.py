"""Orders, exits and closing all from panels: each begins a review, and signs nothing before it is confirmed."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import toolkit
from toolkit.errors import CheckFailed, InputError
from toolkit.session import Session


@pytest.mark.parametrize(("price", "quantity"), [("nonsense", "1"), ("50000", ""), ("50000", "x"), ("50000", "0")])
def test_a_wrong_price_or_quantity_of_the_chart_is_refused(session: Session, price: str, quantity: str) -> None:
    chart = toolkit.widgets.Candles(session, "BTCUSDC")
    with pytest.raises((InputError, CheckFailed)):
        chart.place(price, quantity)
    assert chart.review is None


@pytest.mark.parametrize("trade", ["buy", "sell"])
def test_an_exit_is_of_the_kind_of_its_side_and_the_other_kind_there_is_refused(session: Session, trade: str) -> None:
    getattr(session, trade)("BTCUSDC", "0.05")
    chart, blotter = toolkit.widgets.Candles(session, "BTCUSDC"), toolkit.widgets.Blotter(session)
    gains, loses = ("70000", "50000") if trade == "buy" else ("50000", "70000")
    for price, kind in ((gains, "TP_FROM_POSITION"), (loses, "SL_FROM_POSITION")):
        [order] = chart.exit_at(price).payload["orders"]
        assert (order["reduceOnlyOption"], Decimal(order["triggerPx"])) == (kind, Decimal(price))
    for kind, price in (("take_profit", loses), ("stop_loss", gains)):
        with pytest.raises(InputError, match=f"{kind.replace('_', ' ')} at {price} would trigger immediately"):
            blotter.set_exit("BTCUSDC", kind, price)
    chart.confirm()
    assert chart.exit_at("60000" if trade == "buy" else "68000").payload["type"] == "replaceOrder"


def test_news_of_any_product_ends_a_review_of_all(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.buy("BTCUSDC", "0.05")
    blotter = toolkit.widgets.Blotter(session)
    say: Callable[..., Any] = blotter._watch._say
    for kind, ended in (("funding", False), ("liquidation", True)):
        blotter.close_all()
        say(kind, "ETHUSDC", f"{kind} of ETHUSDC")
        blotter.refresh()
        assert (blotter.phase == "edit") is ended


@pytest.mark.parametrize("by", ["LAST_PRICE", "MARK_PRICE"])
def test_a_stop_that_is_moved_still_looks_at_the_price_that_it_looked_at(session: Session, by: str) -> None:
    session.buy("BTCUSDC", "0.05")
    stop = toolkit.orders.sell("BTCUSDC", "0.05", trigger_price="50000", trigger_by=by, reduce_only="SL_FROM_POSITION")
    placed = session.place(stop)
    payload = toolkit.widgets.Blotter(session).amend(placed.order_id, price="51000").payload
    assert (payload["triggerPx"], payload["tpslTriggerType"]) == ("51000", by)
