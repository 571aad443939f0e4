"""Calls of a session that read rows before they trade: whose account it is, and what closes a position."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import httpx
import pytest

import toolkit
from tests.client.fake import AGENT_KEY, MASTER, FakeVenue, enveloped, session
from tests.client.orders.test_outcome import VAULT
from tests.client.rows import whole
from toolkit.errors import DataWarning, InputError, WalletError
from toolkit.protocol.reads.info.positions import Position

OTHER = "0x" + "22" * 20


class Rows(FakeVenue):
    """A fake venue that shows the same rows of agents, or positions, to everybody."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        super().__init__()
        self.rows = rows

    def _info(self, request: httpx.Request) -> httpx.Response:
        if request.url.path in ("/info/account/agent", "/info/position/list"):
            return enveloped(0, "success", list(self.rows))
        return super()._info(request)


@pytest.mark.parametrize(
    ("row", "price", "closing"),
    [
        ({"longSize": "0.5", "shortSize": "-0"}, None, [("SELL", "0.5", "MARKET")]),
        ({"longSize": "0", "shortSize": "-0.5"}, None, [("BUY", "0.5", "MARKET")]),
        ({"shortSize": "0.5"}, None, [("BUY", "0.5", "MARKET")]),
        ({"longSize": "0.5"}, "60000", [("SELL", "0.5", "LIMIT")]),
        ({"longSize": "0.000", "shortSize": "-0.000"}, None, []),
        ({}, None, []),
        (
            {"longSize": "0.5", "shortSize": "-0.25", "positionMode": "2"},
            None,
            [("SELL_CLOSE_HEDGE", "0.5", "MARKET"), ("BUY_CLOSE_HEDGE", "0.25", "MARKET")],
        ),
        ({"longSize": "0.5", "positionMode": "hedge"}, None, [("SELL_CLOSE_HEDGE", "0.5", "MARKET")]),
        ({"longSize": "0.5", "positionMode": "ONE_WAY"}, None, [("SELL", "0.5", "MARKET")]),
    ],
)
def test_each_leg_of_a_position_is_closed(row: dict[str, str], price: Any, closing: list[Any]) -> None:
    fake = Rows(whole(Position.declared, **{"longSize": "0", "shortSize": "0", "positionMode": "1"} | row))
    with suppress(InputError):  # there is none
        session(fake).close_position("BTCUSDC", price=price)
    items = [item for body in fake.bodies for item in json.loads(body)["action"]["orders"]]
    assert [(item["ordSide"], item["ordQty"].rstrip("0"), item["ordType"]) for item in items] == closing
    for item in items:
        assert item["ordSide"].endswith("_HEDGE") or item["reduceOnlyOption"] == "REDUCE_ONLY"


def test_a_position_is_closed_where_it_is() -> None:
    position = whole(Position.declared, longSize="0.5", shortSize="0")
    fake = Rows(position)
    s = session(fake)
    s.close_position("BTCUSDC", price="60000", tif="IOC")
    s.close_position("BTCUSDC", price="60000", vault_address=VAULT)
    asked = [read for read in fake.reads if "position" in read]
    assert [MASTER in asked[0], VAULT in asked[-1]] == [True, True]
    first, second = (json.loads(body) for body in fake.bodies)
    assert first["action"]["orders"][0]["timeInForce"] == "IOC"
    assert (first.get("vaultAddress"), second["vaultAddress"]) == (None, VAULT)
    with pytest.raises(InputError, match="no position in BTCUSDC to close"):
        session(Rows(position | {"longSize": "0"})).close_position("BTCUSDC")
    damaged = Rows({name: value for name, value in position.items() if name != "longSize"})
    with pytest.warns(DataWarning, match="GET /info/position/list: Position: longSize is missing.*, which only reduce"):
        session(damaged).close_position("BTCUSDC", price="60000")
    orders = json.loads(damaged.bodies[-1])["action"]["orders"]
    assert len(orders) == 4
    assert all("reduceOnlyOption" in one or one["ordSide"].endswith("_CLOSE_HEDGE") for one in orders)


def test_an_agent_key_alone_acts_for_its_only_master() -> None:
    wallet = toolkit.Wallet(agent=AGENT_KEY)
    # A venue may not know the parameters of the query.
    of_no_use = (
        {"masterAddress": MASTER, "status": "REVOKED"},
        {"masterAddress": MASTER, "status": 2},
        {"masterAddress": MASTER, "status": "ACTIVE", "agentAddress": OTHER},
    )

    def account(*masters: str) -> Any:
        fake = Rows(*({"masterAddress": one, "status": "ACTIVE"} for one in masters), *of_no_use)
        s = session(fake, wallet=wallet)
        s.exchange.set_leverage("BTCUSDC", 5)
        s.exchange.set_leverage("BTCUSDC", 6)
        return s.account, fake

    found, fake = account(OTHER, OTHER, "")
    assert found == OTHER
    asked = [read for read in fake.reads if "agent" in read]
    assert len(asked) == 1, "it is asked for once"
    assert "role=AGENT" in asked[0]
    assert "status=ACTIVE" in asked[0]
    for masters in ((), (OTHER, MASTER)):
        with pytest.raises(WalletError, match="knows no single master of agent 0x"):
            account(*masters)
    known = session(Rows(), wallet=toolkit.Wallet(agent=AGENT_KEY, account=MASTER))
    known.exchange.set_leverage("BTCUSDC", 5)
    assert known.account == MASTER
