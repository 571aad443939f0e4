"""Fills of several products, and what the venue does not send with them: asked for once, then known."""

from __future__ import annotations

import pandas as pd
import pytest

import toolkit
from toolkit import Session
from toolkit.venue.local import LocalVenue


@pytest.fixture
def session() -> Session:
    made = toolkit.connect("local", venue=LocalVenue(clock="manual"))
    made.buy("BTCUSDC", "0.02")
    made.sell("ETHUSDC", "0.5")
    made.sell("BTCUSDC", "0.01")
    made.buy("SOLUSDC", "1")
    return made


@pytest.mark.parametrize("exact", [False, True])
def test_fills_of_several_products_are_those_of_each_by_time(session: Session, exact: bool) -> None:
    both = session.fills(["BTCUSDC", "ETHUSDC", "BTCUSDC"], exact=exact)
    every = session.fills(exact=exact)
    expected = every[every["symbol"].isin(["BTCUSDC", "ETHUSDC"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(both, expected)
    assert sorted(both["side"]) == ["BUY", "SELL", "SELL"]
    assert (both["value"] == both["price"] * both["quantity"]).all()


def test_a_new_fill_gets_its_role_where_others_are_known(session: Session) -> None:
    session.fills()
    other = toolkit.connect("local", venue=session.venue, account=2)
    for side, price in ((session.buy, "62499"), (session.sell, "62501")):
        side("BTCUSDC", "0.003", price)
    other.sell("BTCUSDC", "0.003", "62499", tif="IOC")
    other.buy("BTCUSDC", "0.003", "62501", tif="IOC")
    made = session.fills("BTCUSDC").tail(2)
    assert made[["side", "role", "type"]].to_numpy().tolist() == [["BUY", "MAKER", "LIMIT"], ["SELL", "MAKER", "LIMIT"]]
    assert set(other.fills()["role"]) == {"TAKER"}
