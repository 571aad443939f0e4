"""The venue over loopback: the same bytes as in process, bounded start and stop, refused hosts and ports."""

from __future__ import annotations

import json
import threading

import httpx
import pytest

from tests.venue.api.test_gateway import POST
from tests.venue.wallets import STRANGER, Signer
from toolkit.errors import InputError, VenueError
from toolkit.venue.api.gateway import MAX_BODY
from toolkit.venue.local import LocalVenue

JSON = {"content-type": "application/json"}


@pytest.fixture
def venue() -> LocalVenue:
    return LocalVenue(clock="manual", market=False, accounts=2)


def test_in_process_and_over_loopback_the_bytes_are_the_same(venue: LocalVenue) -> None:
    action = {"type": "withdraw", "destination": STRANGER.address, "amount": "5"}
    body = json.dumps(Signer(STRANGER).request(action, nonce=1)).encode()
    direct = venue.host.gateway.handle("POST", POST, "", body).body
    with httpx.Client(transport=venue.transport(), base_url="http://venue") as client:
        assert client.post(POST, content=body).content == direct
    with venue.serve() as served, httpx.Client(base_url=served.base_url, headers=JSON) as client:
        answer = client.post(POST, content=body)
        assert answer.content == direct
        assert answer.headers["content-type"] == "application/json"
        assert client.get("/no%2Fwhere?a=%00&b=%ff").status_code == 404
        assert client.post(POST, content=b" " * (MAX_BODY + 1)).status_code == 413
        assert client.post(POST, content=iter([b" " * MAX_BODY, b" "])).status_code == 413


def test_serving_starts_and_stops_without_leaving_threads(venue: LocalVenue) -> None:
    before = set(threading.enumerate())
    for _ in range(3):
        with venue.serve() as served:
            assert httpx.get(f"{served.base_url}/x").status_code == 404
            assert served.environment.base_url == served.base_url
    with LocalVenue(market=False, accounts=0) as running, running.serve():
        assert any(thread.name == "toolkit-venue-ticker" for thread in threading.enumerate())
    assert set(threading.enumerate()) <= before


def test_a_port_in_use_and_a_remote_host_are_refused_with_advice(venue: LocalVenue) -> None:
    with venue.serve() as served:
        taken = pytest.raises(VenueError, match=r"can't listen on 127.0.0.1 port .*Choose another port")
        with taken, venue.serve(served.port):
            pass
    with pytest.raises(InputError, match=r"is not loopback.*--allow-remote"), venue.serve(host="0.0.0.0"):
        pass
    with venue.serve(host="0.0.0.0", allow_remote=True) as served:
        assert httpx.get(f"http://127.0.0.1:{served.port}/x").status_code == 404
