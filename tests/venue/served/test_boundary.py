"""Who may call a served venue: names, origins, content type, token, and the limits of one client."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect as open_feed

from tests.venue.wallets import MASTER, Signer
from toolkit.venue.local import LocalVenue
from toolkit.venue.served.boundary import Boundary, ServeSettings, host_name, is_protected
from toolkit.venue.served.server import Served

POST = "/api/v1/exchange"
META = "/info/public/product-meta"
BOUNDARY = Boundary(ServeSettings(), "127.0.0.1")


@pytest.fixture
def served(venue: LocalVenue) -> Iterator[Served]:
    with venue.serve(control=True) as made:
        yield made


def raw(port: int, text: str) -> bytes:
    """Send bytes and return what comes back until the venue closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
        wire.sendall(text.encode())
        return b"".join(iter(lambda: wire.recv(65_536), b""))


@pytest.mark.parametrize(
    "hosts",
    [
        "Host: evil.example",
        "Host: 127.0.0.1.evil.example",
        "Host: localhost@evil.example",
        "Host: evil.example\r\nHost: 127.0.0.1",
        "Host: ",
        "Host: 192.0.2.1",
        "Host: [::2]",
        "X-Forwarded-Host: 127.0.0.1",
    ],
)
def test_a_rebound_name_reads_and_moves_nothing(served: Served, hosts: str) -> None:
    request = f"GET {META} HTTP/1.1\r\n{hosts}\r\nConnection: close\r\n\r\n"
    answer = raw(served.port, request)
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"is not a name of this venue" in answer or b"no Host is" in answer
    assert b"perpProducts" not in answer


@given(st.text(st.characters(codec="latin-1"), max_size=40))
def test_no_text_is_taken_for_a_name_that_it_does_not_say(text: str) -> None:
    scope = {"headers": [(b"host", text.encode("latin-1"))], "method": "GET", "path": "/", "server": ("127.0.0.1", 1)}
    allowed = host_name(text) in {"127.0.0.1", "localhost", "::1"}
    assert (BOUNDARY.refuse(scope) is None) == allowed


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1", "file://", "https://{host}"])
def test_a_page_of_another_origin_is_refused_on_http_and_websocket(served: Served, origin: str) -> None:
    headers = {"origin": origin.format(host=f"127.0.0.1:{served.port}")}
    with httpx.Client(base_url=served.base_url, headers=headers) as client:
        for answer in (client.get(META), client.post(POST, json={}), client.options(POST)):
            assert answer.status_code == 403
            assert "--allow-origin" in answer.json()["message"]
            assert "access-control-allow-origin" not in answer.headers
    url = f"{served.ws_url}/ws/dex"
    with pytest.raises(InvalidStatus) as caught, open_feed(url, origin=headers["origin"]):  # type: ignore[arg-type]
        pass
    assert caught.value.response.status_code == 403


def test_its_own_pages_and_allowed_origins_may(venue: LocalVenue) -> None:
    friend = "http://localhost:3000"
    with venue.serve(settings=ServeSettings(origins=(friend,))) as served:
        own = {"origin": served.base_url, "sec-fetch-site": "same-origin"}
        assert httpx.get(served.base_url + META, headers=own).status_code == 200
        with open_feed(f"{served.ws_url}/ws/dex", origin=friend) as feed:  # type: ignore[arg-type]
            feed.send('{"method": "ping"}')
            assert "pong" in str(feed.recv())
        answer = httpx.get(served.base_url + META, headers={"origin": friend, "sec-fetch-site": "cross-site"})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (403, friend)
        answer = httpx.get(
            served.base_url + META,
            headers={"origin": friend, "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"},
        )
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, friend)
        asked = httpx.options(
            served.base_url + POST, headers={"origin": friend, "access-control-request-method": "POST"}
        )
        assert asked.status_code == 204
        assert asked.headers["access-control-allow-headers"] == "content-type, authorization"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_an_image_of_another_page_is_refused_and_a_link_is_not(served: Served, site: str) -> None:
    """Another port of this machine is the same site, and another origin."""
    for mode, status in (("no-cors", 403), ("navigate", 200)):
        headers = {"sec-fetch-site": site, "sec-fetch-mode": mode}
        assert httpx.get(served.base_url + META, headers=headers).status_code == status


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonp"])
def test_every_post_says_that_it_is_json(served: Served, kind: str | None) -> None:
    headers = {"authorization": f"Bearer {served.control_token}", **({"content-type": kind} if kind else {})}
    for path in (POST, "/control/snapshot", "/nowhere"):
        answer = httpx.post(served.base_url + path, content=b"{}", headers=headers)
        assert answer.status_code == 415
        assert "send Content-Type application/json" in answer.json()["message"]
    headers["content-type"] = "Application/JSON; charset=utf-8"
    assert httpx.post(f"{served.base_url}/control/snapshot", content=b"{}", headers=headers).json()["code"] == 0


@pytest.mark.parametrize("value", ["", "Bearer", "Bearer x", "Basic {token}", "Bearer {token}x", "{token}"])
def test_controls_need_the_token(served: Served, venue: LocalVenue, value: str) -> None:
    headers = {"authorization": value.format(token=served.control_token)}
    before = venue.control.state_hash()
    for method, path in (("GET", "/control"), ("POST", "/control/advance"), ("POST", "/control/nowhere")):
        answer = httpx.request(method, served.base_url + path, json={"span": "1h"}, headers=headers)
        assert answer.status_code == 401
        assert "printed at its start" in answer.json()["message"]
        assert answer.headers["www-authenticate"] == "Bearer"
        assert served.control_token not in answer.text
    assert venue.control.state_hash() == before
    assert served.control_token not in repr(served)
    assert served.control_token not in repr(ServeSettings(control_token=served.control_token))


def test_paths_that_need_the_token_are_told_by_their_first_part() -> None:
    assert [is_protected(path) for path in ("/control", "/control/x", "/controls", "/info/control", "/teacher/x")] == [
        True, True, False, False, True,
    ]  # fmt: skip


def test_feeds_of_one_address_are_limited_with_the_number(venue: LocalVenue) -> None:
    with venue.serve(settings=ServeSettings(connections_per_ip=3)) as served, ExitStack() as feeds:
        url = f"{served.ws_url}/ws/dex"
        for _ in range(3):
            feed = feeds.enter_context(open_feed(url))
            feed.send('{"method": "ping"}')
            assert "pong" in str(feed.recv(timeout=10))
        with open_feed(url) as refused:
            assert "An address may have 3" in str(refused.recv(timeout=10))


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        ("", b""),
        ("GET /health HT", b""),
        (
            "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
            b"HTTP/1.1 408 ",
        ),
    ],
    ids=["nothing", "half a head", "half a body"],
)  # fmt: skip
def test_slow_and_silent_clients_are_disconnected(venue: LocalVenue, sent: str, answer: bytes) -> None:
    with venue.serve(settings=ServeSettings(head_seconds=0.2, body_seconds=0.2, idle_seconds=0.2)) as served:
        began = time.monotonic()
        assert raw(served.port, sent)[:13] == answer
        assert time.monotonic() - began < 5


def test_a_wildcard_answers_to_the_address_that_was_reached(venue: LocalVenue) -> None:
    with venue.serve(host="0.0.0.0", allow_remote=True) as served:
        assert served.base_url == f"http://127.0.0.1:{served.port}"
        for host, status in (
            ("127.0.0.1", b"200"),
            ("localhost", b"200"),
            ("192.0.2.7", b"403"),
            ("a.example", b"403"),
        ):
            request = f"GET {META} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
            assert raw(served.port, request).split(b" ")[1] == status
    with venue.serve(settings=ServeSettings(hosts=("venue.example",))) as served:
        request = f"GET {META} HTTP/1.1\r\nHost: Venue.Example:80\r\nConnection: close\r\n\r\n"
        assert raw(served.port, request).split(b" ")[1] == b"200"


def test_a_log_line_says_who_did_what_and_shows_no_secret(venue: LocalVenue) -> None:
    lines: list[str] = []
    with venue.serve(control=True, settings=ServeSettings(log=lines.append)) as served:
        with httpx.Client(base_url=served.base_url, headers={"x-forwarded-for": "192.0.2.9"}) as client:
            body = Signer(MASTER).request({"type": "withdraw", "destination": MASTER.address, "amount": "2"})
            client.post(POST, json=body)
            client.post(POST, json=body)
            client.post("/join/abcdefghijkl", json={})
            client.get("/a%0A2026-01-01 forged%1b[2J?key=secret")
            client.post("/control/fund", json={}, headers={"authorization": f"Bearer {served.control_token}"})
        with pytest.raises(InvalidStatus), open_feed(f"{served.ws_url}/ws/dex", origin="http://evil.example"):  # type: ignore[arg-type]
            pass
    patterns = [
        rf"POST {POST} withdraw {MASTER.address} HTTP 200 code 0 \d+\.\d ms",
        rf"POST {POST} withdraw {MASTER.address} HTTP 200 code 40207 \d+\.\d ms",
        r"POST /join/… HTTP 404 code 404 \d+\.\d ms",
        r"GET /a\?2026-01-01 forged\?\[2J HTTP 404 code 404 \d+\.\d ms",
        r"POST /control/fund HTTP 400 code 40003 \d+\.\d ms",
    ]
    for line, pattern in zip(lines, patterns, strict=False):
        assert re.fullmatch(f"127\\.0\\.0\\.1 {pattern}", line, re.IGNORECASE), line
    assert "WebSocket /ws/dex refused: " in lines[5]
    assert len(lines) == 6
    assert served.control_token not in "".join(lines)


def test_connections_of_one_address_are_limited_with_the_number(venue: LocalVenue) -> None:
    with venue.serve(settings=ServeSettings(connections_per_ip=3)) as served:
        held = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(3)]
        try:
            request = f"GET {META} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            for wire in held:  # answered once, so that all are surely counted
                wire.sendall(request.replace("close", "keep-alive").encode())
                assert wire.recv(10).startswith(b"HTTP/1.1 ")
            answer = raw(served.port, "")
            assert answer.startswith(b"HTTP/1.1 429 ")
            message = json.loads(answer.partition(b"\r\n\r\n")[2])["message"]
            assert "127.0.0.1 has 3 connections open" in message
            assert "--connections-per-ip" in message
        finally:
            for wire in held:
                wire.close()


def test_a_drip_does_not_hold_a_connection_open(venue: LocalVenue) -> None:
    settings = ServeSettings(head_seconds=0.3, body_seconds=0.3)
    with venue.serve(settings=settings) as served, socket.create_connection(("127.0.0.1", served.port)) as wire:
        began = time.monotonic()
        wire.settimeout(0.01)
        closed = False
        while not closed:
            assert time.monotonic() - began < 10
            try:
                wire.sendall(b"X")
                closed = wire.recv(1000) == b""
            except TimeoutError:
                continue
            except OSError:
                closed = True
        assert time.monotonic() - began < 5
