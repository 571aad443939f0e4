"""Kinds of orders: the ticket shows the fields that the chosen one declares, and what the front end draws is enough."""

from __future__ import annotations

from typing import Any

import pytest

from toolkit.session import Session
from toolkit.widgets import OrderTicket
from toolkit.widgets.order_ticket.order_kinds import KINDS


def names(rows: list[list[dict[str, Any] | None]]) -> list[list[str]]:
    return [[one["name"] for one in row if one] for row in rows]


LAST = [["tif", "reduce_only"]]


@pytest.mark.parametrize(
    ("fields", "rows"),
    [
        ({"order_type": "LIMIT"}, [["price"], ["quantity"], *LAST]),
        ({"order_type": "MARKET"}, [["quantity"], ["slippage"], *LAST]),
        (
            {"order_type": "STOP"},
            [["trigger_price", "trigger_by"], ["price"], ["quantity"], ["slippage"], ["tif"]],
        ),
        ({"order_type": "STOP", "price": "60000"}, [["trigger_price", "trigger_by"], ["price"], ["quantity"], ["tif"]]),
        ({"order_type": "SCALE"}, [["price"], ["last_price", "count"], ["quantity"], *LAST]),
        ({"order_type": "TWAP"}, [["price"], ["duration", "count"], ["quantity"], ["slippage"], ["reduce_only"]]),
        ({"order_type": "TWAP", "price": "60000"}, [["price"], ["duration", "count"], ["quantity"], ["reduce_only"]]),
    ],
)
def test_a_kind_shows_its_own_fields(session: Session, fields: dict[str, Any], rows: list[list[str]]) -> None:
    assert names(session.ticket("BTCUSDC", **fields).form["rows"]) == rows


def test_exits_are_offered_where_they_can_be_placed_and_stay_in_sight_where_they_are_a_problem(
    session: Session,
) -> None:
    ticket = session.ticket("BTCUSDC")
    for name, kind in KINDS.items():
        ticket.order_type = name
        assert bool(ticket.form["more"]) == kind.exits
    ticket.order_type, ticket.take_profit = "SCALE", "70000"
    assert names(ticket.form["more"])[0] == ["take_profit", "stop_loss"]


def test_every_field_is_a_trait_of_the_ticket_with_a_label(session: Session) -> None:
    ticket = session.ticket("BTCUSDC")
    assert [name for name, _ in ticket.form["kinds"]] == list(KINDS)
    for name in KINDS:
        ticket.order_type = name
        for row in [*ticket.form["rows"], *ticket.form["more"]]:
            for field in filter(None, row):
                assert OrderTicket.class_traits()[field["name"]].metadata["sync"]
                assert field["label"]
