"""The controls over HTTP: closed by default, listed, executed, and wrong calls explained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.venue.wallets import MASTER
from toolkit.venue.local import LocalVenue
from toolkit.venue.served.venue_routes import functions, open_routes


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(clock="manual") as made:
        yield made


def post(venue: LocalVenue, name: str, **args: Any) -> dict[str, Any]:
    return dict(json.loads(venue.host.gateway.handle("POST", f"/control/{name}", "", json.dumps(args).encode()).body))


def test_control_is_not_on_the_wire_unless_opened(venue: LocalVenue) -> None:
    assert venue.host.gateway.handle("GET", "/control").status == 404
    assert venue.host.gateway.handle("POST", "/control/fund", "", b"{}").status == 404


def test_opened_control_lists_and_does_everything(venue: LocalVenue) -> None:
    open_routes(venue)
    listed = {row["name"]: row for row in json.loads(venue.host.gateway.handle("GET", "/control").body)["data"]}
    assert set(listed) == set(functions(venue))
    assert listed["fund"]["arguments"] == ["address", "amount"]
    assert all(row["does"] for row in listed.values())
    assert post(venue, "fund", address=MASTER.address, amount="5")["data"]["balance"] == "10005"
    number = post(venue, "snapshot")["data"]
    before = post(venue, "state_hash")["data"]
    assert post(venue, "advance", span="5m")["data"] == venue.host.now_ms()
    assert post(venue, "revert", snapshot=number)["code"] == 0
    assert post(venue, "state_hash")["data"] == before
    assert (
        "<Fault lose-answer path=/info/* count=2,"
        in post(venue, "add_fault", text="lose-answer count=2 path=/info/*")["data"]
    )
    assert post(venue, "clear_faults")["code"] == 0


def test_wrong_calls_over_http_are_explained(venue: LocalVenue) -> None:
    open_routes(venue)
    assert venue.host.gateway.handle("GET", "/control/fund").status == 405
    assert "takes a JSON object with address, amount" in post(venue, "fund", adress="x")["message"]
    assert venue.host.gateway.handle("POST", "/control/fund", "", b"[1]").status == 400
    assert post(venue, "revert", snapshot=9)["code"] == 40230
    assert "not a span" in post(venue, "advance", span="soon")["message"]
    assert venue.host.gateway.handle("POST", "/control/dance").status == 404


def test_over_http_wrong_values_are_answered_in_words(venue: LocalVenue) -> None:
    open_routes(venue)
    answer = post(venue, "fund", address=MASTER.address, amount=1.5)
    assert (answer["code"], "Give the text '1.5'" in answer["message"]) == (40003, True)
    assert post(venue, "fund", address=MASTER.address, amount="-5")["code"] == 40230
    assert "Give a dictionary" in post(venue, "act", address=MASTER.address, action="x")["message"]
    assert "points must be" in post(venue, "script_oracle", product=1, points=5)["message"]
