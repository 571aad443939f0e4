"""How a venue is put on the wire: its listener, the server's settings, start and stop, documents, and private files."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import uvicorn

from toolkit import __version__
from toolkit.environments import LOCAL
from toolkit.errors import InputError, VenueError
from toolkit.protocol import documents
from toolkit.venue import development
from toolkit.venue.local import LocalVenue
from toolkit.venue.served import server
from toolkit.venue.served.private_files import keys_text, token_path, write_private
from toolkit.venue.served.venue_routes import open_routes

WORDS = "test test test test test test test test test test test junk"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "0.0.0.0", "192.0.2.1"])
@pytest.mark.parametrize("remote", [False, True])
def test_only_loopback_is_listened_on_unless_remote_access_is_allowed(
    monkeypatch: pytest.MonkeyPatch, host: str, remote: bool
) -> None:
    asked: list[tuple[str, int]] = []

    def none(host: str, port: int, **options: Any) -> Any:
        asked.append((host, port))
        raise OSError("not here")

    monkeypatch.setattr(socket, "getaddrinfo", none)
    allowed = remote or host in ("127.0.0.1", "localhost", "::1")
    with pytest.raises(VenueError if allowed else InputError) as caught:
        server.listen(host, 65_535, allow_remote=True) if remote else server.listen(host, 65_535)
    assert asked == ([(host, 65_535)] if allowed else [])
    if not allowed:
        assert isinstance(caught.value, InputError)
        assert (caught.value.field, caught.value.rule, caught.value.value) == ("host", "loopback", host)
        assert caught.value.nearest == ("127.0.0.1",)


@pytest.mark.parametrize("limit", [10.0, 0.0])
def test_a_server_that_does_not_start_is_an_error_that_names_its_port(
    venue: LocalVenue, monkeypatch: pytest.MonkeyPatch, limit: float
) -> None:
    """It ends before it was started, or it takes longer than the limit."""
    begun = threading.Event()

    async def serve(self: uvicorn.Server, sockets: list[socket.socket]) -> None:
        while not self.should_exit and not limit:
            await asyncio.sleep(0)
        self.started = not limit
        begun.set()

    monkeypatch.setattr(uvicorn.Server, "serve", serve)
    monkeypatch.setattr(server, "START_LIMIT", limit)
    with pytest.raises(VenueError, match=r"the server did not start on port [1-9]\d+"), server.running(venue.host):
        pass
    assert begun.wait(10)
    assert not [thread for thread in threading.enumerate() if thread.name == "toolkit-venue-server"]


def test_a_private_file_is_its_owners_and_takes_the_place_of_one_that_is_there(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, "new é")
    assert path.read_text("utf-8") == "new é"
    assert sys.platform == "win32" or path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match=r"can't be written: ") as caught:
        write_private(tmp_path / "none" / "x", "")
    assert (caught.value.field, caught.value.value) == ("path", str(tmp_path / "none" / "x"))
    assert token_path(tmp_path / "j") == tmp_path / "j.token"


def test_a_keys_file_has_the_venues_addresses_and_the_keys_of_its_first_accounts() -> None:
    text = keys_text(2, "123.5", WORDS, "http://127.0.0.1:1", "ws://127.0.0.1:1")
    found = json.loads(text)
    accounts = found.pop("accounts")
    assert found == {
        "base_url": "http://127.0.0.1:1",
        "ws_url": "ws://127.0.0.1:1/ws/dex",
        "chain_id": LOCAL.chain.chain_id,
        "dex_chain": LOCAL.chain.dex_chain,
        "mnemonic": WORDS,
    }
    assert [(each["number"], each["name"], each["balance"]) for each in accounts] == [
        (0, "account-0", "123.5"),
        (1, "account-1", "123.5"),
    ]
    for number, each in enumerate(accounts):
        for kind, made in (("master", development.master), ("agent", development.agent)):
            known = made(number, WORDS)
            assert each[kind] == {"address": known.address, "private_key": "0x" + known.key.hex()}
    assert text.splitlines()[:2] == ["{", ' "base_url": "http://127.0.0.1:1",'], "people read it too"


def handled(venue: LocalVenue, method: str, path: str, body: bytes = b"") -> Any:
    return venue.host.gateway.handle(method, path, "", body)


@pytest.mark.parametrize("control", [False, True])
def test_a_served_venue_names_its_accounts_and_its_interface(venue: LocalVenue, control: bool) -> None:
    with venue.serve(control=control):
        accounts = handled(venue, "GET", "/accounts")
        assert (accounts.status, json.loads(accounts.body)) == (
            200,
            {
                "code": 0,
                "message": "success",
                "data": [
                    {"number": n, "name": f"account-{n}", "address": address, "public": True}
                    for n, address in enumerate(venue.host.masters)
                ],
            },
        )
        assert len(venue.host.masters) == 3
        json_type, text_type = "application/json", "text/plain; charset=utf-8"
        for path, body, kind in (
            ("/openapi.json", msgspec.json.encode(documents.openapi(__version__)), json_type),
            ("/asyncapi.json", msgspec.json.encode(documents.asyncapi(__version__)), json_type),
            ("/keys.schema.json", msgspec.json.encode(documents.keys_schema()), json_type),
            ("/exchange.proto", documents.proto(), text_type),
        ):
            answer = handled(venue, "GET", path)
            assert (answer.status, answer.headers["content-type"], answer.body) == (200, kind, body), path
            assert handled(venue, "POST", path, b"{}").status == 405
        assert handled(venue, "GET", "/control").status == (200 if control else 404)


def test_each_end_of_a_call_has_its_status_and_code(venue: LocalVenue) -> None:
    def double(number: int, times: int = 2) -> int:
        """Return a number several times.

        More about it.
        """
        if number < 0:
            raise InputError("number -1 is below 0", field="number", value=number)
        if number > 9:
            raise VenueError("the venue can't")
        return number * times

    more: dict[str, Callable[..., Any]] = {"double": double, "plain": lambda: None}
    open_routes(venue, more)
    listed = {row["name"]: row for row in json.loads(handled(venue, "GET", "/control").body)["data"]}
    assert listed["double"] == {
        "name": "double",
        "arguments": ["number", "times"],
        "does": "Return a number several times.",
    }
    assert listed["plain"] == {"name": "plain", "arguments": [], "does": ""}
    assert list(listed) == sorted(listed)
    assert not [name for name in listed if name.startswith("_")]
    wrong = "double takes a JSON object with number, times: missing a required argument: 'number'"
    for body, status, code, message, data in (
        (b'{"number": 4}', 200, 0, "success", 8),
        (b'{"number": 4, "times": 3}', 200, 0, "success", 12),
        (b"", 400, 40003, wrong, None),
        (b"{}", 400, 40003, wrong, None),
        (b'{"number": -1}', 400, 40003, "number -1 is below 0", None),
        (b'{"number": 10}', 200, 40230, "the venue can't", None),
    ):
        answer = handled(venue, "POST", "/control/double", body)
        said = json.loads(answer.body)
        assert (answer.status, said["code"], said["message"], said.get("data")) == (status, code, message, data)
    assert handled(venue, "POST", "/control/double", b"{").status == 400
    assert json.loads(handled(venue, "POST", "/control/plain").body)["code"] == 0, "no body is no arguments"


def test_nothing_is_left_when_a_with_block_fails(venue: LocalVenue) -> None:
    before = set(threading.enumerate())
    with contextlib.suppress(ZeroDivisionError), server.running(venue.host):
        _ = 1 // 0
    assert set(threading.enumerate()) <= before
