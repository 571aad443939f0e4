"""A network on which some answers are those of some seconds ago, or are changed, and the truth beside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import httpx

import toolkit
from tests.support.network import Network
from toolkit.venue.local import LocalVenue

FILLS, STATES, POSITIONS = "/info/trade/page", "/info/order/states", "/info/position/list"
WALLET = "/info/account/wallet"


class Late(Network):
    """A network on which the answers to some paths are those of some seconds ago, in the venue's time."""

    def __init__(self, venue: LocalVenue, seconds: dict[str, int]) -> None:
        super().__init__(venue)
        self.seconds = dict(seconds)
        self.change: dict[str, Callable[[Any], None]] = {}
        self._venue = venue
        self._kept: dict[str, list[tuple[int, bytes]]] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = super().handle_request(request)
        path, now = request.url.path, self._venue.host.now_ms()
        if request.method != "GET" or path not in {FILLS, STATES, POSITIONS, WALLET, *self.change}:
            return answer
        body, late_ms = json.loads(answer.read()), self.seconds.get(path, 0) * 1000
        if path == POSITIONS and late_ms:
            kept = self._kept.setdefault(path, [])
            kept.append((now, answer.read()))
            body = json.loads(next((old for at, old in reversed(kept) if at <= now - late_ms), b'{"code":0,"data":[]}'))
        elif late_ms:
            rows = body["data"]["items"]
            body["data"]["items"] = [row for row in rows if row["blockTime"] <= now - late_ms]
            body["data"]["total"] -= len(rows) - len(body["data"]["items"])
        if path in self.change:
            self.change[path](body["data"])
        return httpx.Response(200, json=body)


def held(venue: LocalVenue) -> Decimal:
    """Return the signed position of the account at the venue itself."""
    with toolkit.connect(venue=venue) as session:
        table = session.positions(exact=True, index=None)
        signs = {"LONG": 1, "SHORT": -1}
        return sum((row.size * signs[str(row.side)] for row in table.itertuples()), Decimal(0))


Change = Callable[[Any], None]
"""Changes the data of an answer."""


def each(**given: Any) -> Change:
    """Return the change of all rows of an answer: to a value, or to a function of the row."""

    def lie(data: Any) -> None:
        for row in data if isinstance(data, list) else data["items"]:
            row.update({name: value(row) if callable(value) else value for name, value in given.items()})

    return lie


def times(factor: str, *names: str) -> Change:
    return each(**{name: lambda row, name=name: str(Decimal(row[name]) * Decimal(factor)) for name in names})


def one_more(data: Any) -> None:
    for row in data["items"][:1]:
        data["items"].insert(0, row | {"id": 990, "orderId": "77", "execId": "99", "execQty": "0.9"})
        data["total"] += 1


def cleared(data: Any) -> None:
    if isinstance(data, dict):
        data.update(items=[], total=0)
    else:
        data.clear()


def turned(data: Any) -> None:
    for row in data:
        for one, other in (("longSize", "shortSize"), ("longEntryValue", "shortEntryValue")):
            row[one], row[other] = row[other], row[one]
        row["unrealizedPnl"] = str(-Decimal(row["unrealizedPnl"]))


SIZES = ("longSize", "longEntryValue", "shortSize", "shortEntryValue", "unrealizedPnl")
LIES: dict[str, tuple[str, Change]] = {
    "no fill": (FILLS, cleared),
    "a fill more": (FILLS, one_more),
    "fills of ten times the quantity": (FILLS, times("10", "execQty")),
    "fills of somebody else": (FILLS, each(userAddr="0x" + "cd" * 20)),
    "no order": (STATES, cleared),
    "nothing filled": (STATES, each(filledQty="0", leaveQty=lambda row: row["qty"], status="NEW")),
    "orders cancelled": (STATES, each(filledQty="0", leaveQty="0", status="CANCELED")),
    "no position": (POSITIONS, cleared),
    "positions of ten times the size": (POSITIONS, times("10", *SIZES)),
    "positions of a tenth of the size": (POSITIONS, times("0.1", *SIZES)),
    "the other side": (POSITIONS, turned),
    "no equity": (WALLET, each(equity="100", availableBalance="90", availableTransferBalance="90")),
    "ten times the balance": (WALLET, times("10", "balance", "equity")),
}
"""One lie of each witness → the path that tells it, and the change."""
