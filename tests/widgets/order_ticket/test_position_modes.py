"""What a ticket says, shows and signs is the same order, in both position modes."""

from __future__ import annotations

from typing import Any

import pytest

import toolkit
from tests.support.cases import of_all
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"
KINDS: dict[str, dict[str, str]] = {
    "LIMIT": {"price": "62400"},
    "MARKET": {},
    "SCALE": {"price": "62300", "last_price": "62400", "count": "4"},
    "TWAP": {"duration": "10m", "count": "4"},
    "STOP": {"trigger_price": "60000"},
}


@pytest.mark.parametrize(
    ("mode", "kind", "closes"),
    of_all(["ONE_WAY", "HEDGE"], KINDS, [True, False], quick=[("HEDGE", "SCALE", True), ("HEDGE", "TWAP", True)]),
)
def test_words_preview_and_signed_payload_are_one_order(mode: str, kind: str, closes: bool) -> None:
    if kind == "STOP" and not closes:
        return  # it always closes
    with LocalVenue(clock="manual", market=False) as venue, toolkit.connect(venue=venue) as session:
        for side, price in (("SELL", "62600"), ("BUY", "62400")):
            venue.control.add_liquidity(BTC, side, price, "5")
        venue.control.set_position_mode(str(session.account), mode)
        session.buy(BTC, "0.1")
        ticket: Any = session.ticket(BTC, side="SELL", order_type=kind, quantity="0.1", **KINDS[kind])
        if kind != "STOP":
            ticket.reduce_only = closes
        hedged = mode == "HEDGE"
        side = "SELL_CLOSE_HEDGE" if closes and hedged else "SELL"
        effect = ticket.preview()["effect"]
        wanted = "closes the long of 0.1" if closes or not hedged else "opens a short of 0.1"
        assert effect == wanted
        prepared = ticket.submit()
        assert ticket.view["review"]["question"].startswith(f"{side} 0.1")
        signed = prepared.payload["orders"]
        assert {one["ordSide"] for one in signed} == {side}
        reduces = {one.get("reduceOnlyOption") in ("REDUCE_ONLY", "SL_FROM_POSITION") for one in signed}
        assert reduces == {closes and (kind == "STOP" or not hedged)}
        ticket.confirm()
        venue.advance("1m")
        sides = {"LONG"} if kind in ("LIMIT", "MARKET") and not closes and hedged else set()
        if kind == "MARKET":
            assert set(session.positions(index=None)["side"]) == (sides | {"SHORT"} if sides else set())
