"""A heartbeat is there while the venue answers, and the page of the runs is small, escaped and of this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

import toolkit
from tests.support.network import Network
from toolkit import research
from toolkit.cli.running.page import page_server
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"
LIMITS = toolkit.Limits(max_position=1)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path / "state"))


@pytest.fixture
def served() -> Iterator[Any]:
    with page_server(0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_file_is_touched_while_the_venue_answers_and_not_while_it_is_silent(tmp_path: Path) -> None:
    beats: list[bool] = []
    with LocalVenue(clock="manual") as venue:
        network, path, began = Network(venue), tmp_path / "alive" / "carry", venue.host.now_ms()

        def cut(request: httpx.Request) -> None:
            if venue.host.now_ms() >= began + 300_000:
                path.unlink(missing_ok=True)
                raise httpx.ConnectError("no route", request=request)

        network.before = cut

        def counts(ctx: Any, bar: Any) -> None:
            beats.append(path.exists())

        with toolkit.connect(venue=venue, transport=network) as session:
            limits = toolkit.Limits(max_stale=60)
            research.live(counts, session, [BTC], limits=limits, duration="10m", heartbeat=path)
        assert beats[1:4] == [True] * 3
        assert not path.exists()
        with toolkit.connect(venue=venue) as session:
            research.live(counts, session, [BTC], limits=LIMITS, duration="2m", heartbeat=path)
        assert path.exists()


def test_an_address_is_read_and_one_that_fails_does_no_harm() -> None:
    asked: list[str] = []

    class Ping(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(503)

        def log_message(self, format: str, *args: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Ping) as server, toolkit.connect(clock="manual") as session:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}/ping/secret"
        run = research.live(lambda ctx, bar: None, session, [BTC], limits=LIMITS, duration="5m", heartbeat=address)
        server.shutdown()
        thread.join()
    assert asked == ["/ping/secret"]
    assert run.events["kind"].tolist() == ["END"] or "secret" not in run.events.to_string()
    with toolkit.connect(clock="manual") as session, pytest.raises(toolkit.errors.InputError, match="heartbeat is a"):
        research.live(lambda ctx, bar: None, session, [BTC], limits=LIMITS, duration="5m", heartbeat="ftp://x")


def test_the_page_has_the_runs_escaped_and_answers_nothing_else(served: str) -> None:
    assert "No run has a name" in httpx.get(served).text
    seen: list[str] = []

    def looks(ctx: Any, bar: Any) -> None:
        seen.append(httpx.get(served).text)
        ctx.stop("<script>alert(1)</script>")

    with toolkit.connect(clock="manual") as session:
        research.live(looks, session, [BTC], limits=LIMITS, duration="5m", name="carry")
    assert "<td>carry</td>" in seen[0]
    assert "RUNNING" in seen[0]
    assert "<script" not in seen[0]
    assert httpx.get(f"{served}/other").status_code == 404
    assert httpx.post(served).status_code == 501
    assert httpx.get(served, headers={"Host": "evil.example"}).status_code == 421
