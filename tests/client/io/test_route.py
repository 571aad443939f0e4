"""The way out of this machine: environment variables decide for queries and feed alike, and never record a request."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import toolkit
from tests.client.fake import MASTER, MASTER_KEY, META, FakeVenue, enveloped
from toolkit import errors
from toolkit.client.io.flow import Fetch, Runtime, monotonic_ms
from toolkit.client.io.rate_limits import VenueGate
from toolkit.client.io.route import PROXIES, Route, is_loopback
from toolkit.client.io.transport import NO_RETRY, AsyncHttpTransport, HttpTransport
from toolkit.client.stream.connections import ConnectionEnded, SocketConnection, SocketConnector
from toolkit.environments import environment

P, Q = "http://10.0.0.1:3128", "http://10.0.0.2:3128"
VENUE, V4, V6 = "https://api.venue.invalid", "https://192.168.7.9", "https://[fd00::9]:8443"
WITHDRAW = {"type": "withdraw", "amount": "5", "destination": "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"}


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXIES, "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE"):
        monkeypatch.delenv(name, raising=False)


ROUTES: list[tuple[dict[str, str], str, str | None]] = [
    ({"HTTPS_PROXY": P}, VENUE, P),
    ({"https_proxy": Q, "HTTPS_PROXY": P}, VENUE, Q),
    ({"HTTP_PROXY": P}, VENUE, None),
    ({"HTTP_PROXY": P}, "http://venue.invalid", P),
    ({"http_proxy": P, "ALL_PROXY": Q}, VENUE, Q),
    ({"HTTP_PROXY": P, "REQUEST_METHOD": "GET"}, "http://venue.invalid", None),
    ({"ALL_PROXY": P}, VENUE, P),
    ({"all_proxy": P}, "http://venue.invalid", P),
    ({"https_proxy": "", "HTTPS_PROXY": P}, VENUE, None),
    ({"HTTPS_PROXY": ""}, VENUE, None),
    ({"HTTPS_PROXY": "10.0.0.1:3128"}, VENUE, P),
    ({"HTTPS_PROXY": "https://10.0.0.1"}, VENUE, "https://10.0.0.1"),
    ({"HTTPS_PROXY": "http://me:s3cret@10.0.0.1:3128"}, VENUE, "http://me:s3cret@10.0.0.1:3128"),
    ({"ALL_PROXY": P}, "https://127.0.0.1:8645", None),
    ({"ALL_PROXY": P}, "http://127.9.9.9", None),
    ({"ALL_PROXY": P}, "http://localhost:8645", None),
    ({"ALL_PROXY": P}, "http://[::1]:8645", None),
    ({"ALL_PROXY": P, "NO_PROXY": "*"}, VENUE, None),
    ({"ALL_PROXY": P, "NO_PROXY": "x.invalid, .venue.invalid"}, VENUE, None),
    ({"ALL_PROXY": P, "NO_PROXY": "venue.invalid"}, VENUE, None),
    ({"ALL_PROXY": P, "NO_PROXY": "*.VENUE.invalid"}, VENUE, None),
    ({"ALL_PROXY": P, "NO_PROXY": "api.venue.invalid:443"}, VENUE, None),
    ({"ALL_PROXY": P, "NO_PROXY": "api.venue.invalid:8443"}, VENUE, P),
    ({"ALL_PROXY": P, "NO_PROXY": "enue.invalid"}, VENUE, P),
    ({"ALL_PROXY": P, "no_proxy": "", "NO_PROXY": "*"}, VENUE, P),
    ({"ALL_PROXY": P, "NO_PROXY": "192.168.0.0/16"}, V4, None),
    ({"ALL_PROXY": P, "NO_PROXY": "192.168.7.9"}, V4, None),
    ({"ALL_PROXY": P, "NO_PROXY": "192.168.8.0/24,fd00::/8"}, V4, P),
    ({"ALL_PROXY": P, "NO_PROXY": "fd00::/8"}, V6, None),
    ({"ALL_PROXY": P, "NO_PROXY": "[fd00::]/8"}, V6, None),
    ({"ALL_PROXY": P, "NO_PROXY": "fd00::9"}, V6, None),
    ({"ALL_PROXY": P, "NO_PROXY": "[fd00::9]:8443"}, V6, None),
    ({"ALL_PROXY": P, "NO_PROXY": "fe80::/10 ::1,:,[,%"}, V6, P),
    ({"NO_PROXY": "fd00::/8,[::1]/128,10.0.0.0/8"}, VENUE, None),
]


@pytest.mark.parametrize(("variables", "url", "proxy"), ROUTES, ids=str)
def test_queries_and_feed_take_the_same_proxy(variables: dict[str, str], url: str, proxy: str | None) -> None:
    for address in (url, url.replace("http", "ws", 1)):
        route = Route.to(address, variables)
        assert route.proxy == proxy
        assert "s3cret" not in repr(route) + route.described


def wrong(folder: Path) -> list[tuple[dict[str, str], str]]:
    (folder / "words.pem").write_text("no certificate", encoding="utf-8")
    gone = str(folder / "gone")
    return [
        *(
            ({"HTTPS_PROXY": f"http://{place}:1"}, f"HTTPS_PROXY has bytes that are no text: 'http://{shown}:1'")
            for place, shown in (("\udcff", r"\udcff"), ("h\udce9.invalid", r"h\udce9.invalid"), ("\udcff:p@h", "h"))
        ),
        ({"ALL_PROXY": "socks5://10.0.0.1"}, "ALL_PROXY is socks5://10.0.0.1, and SOCKS proxies need socksio"),
        ({"https_proxy": "socks5h://me:s3cret@10.0.0.1"}, "https_proxy is socks5h://10.0.0.1, and SOCKS"),
        ({"HTTPS_PROXY": "socks4://10.0.0.1"}, "HTTPS_PROXY is socks4://10.0.0.1. Proxies are http://, https://"),
        ({"all_proxy": "ftp://me:s3cret@10.0.0.1:21"}, "all_proxy is ftp://10.0.0.1:21. Proxies are"),
        ({"HTTPS_PROXY": "http:/10.0.0.1"}, "HTTPS_PROXY is not an address of a proxy, such as"),
        ({"HTTPS_PROXY": "http://10.0.0.1:99999"}, "HTTPS_PROXY is not an address"),
        ({"HTTPS_PROXY": "http://10.0.0.1/path"}, "HTTPS_PROXY is not an address of a proxy"),
        ({"SSL_CERT_FILE": gone}, f"SSL_CERT_FILE is {gone}, which can't be read as certificates (No such file"),
        ({"SSL_CERT_FILE": str(folder / "words.pem")}, "which can't be read as certificates ([X509"),
        ({"SSL_CERT_FILE": str(folder)}, "which can't be read as certificates"),
        ({"SSL_CERT_DIR": gone}, f"SSL_CERT_DIR is {gone}, which can't be read as certificates (No such file"),
        ({"SSLKEYLOGFILE": str(folder / "gone" / "keys")}, "keys, which can't be written (No such file"),
    ]


def without_socks(name: str) -> None:
    """Find no package, as without the extra."""


@pytest.mark.parametrize("case", range(12))
def test_a_wrong_variable_stops_a_withdrawal_before_it_is_recorded(
    case: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables, words = wrong(tmp_path)[case]
    monkeypatch.setattr("toolkit.client.io.route.find_spec", without_socks)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    options: dict[str, Any] = {"base_url": VENUE, "ws_url": "wss://ws.venue.invalid", "retry": NO_RETRY}
    options |= {"wallet": toolkit.Wallet(master=MASTER_KEY), "intents": tmp_path / "ledger.sqlite"}
    with toolkit.connect("testnet", **options) as session:
        for send in (
            lambda: session.exchange.send(WITHDRAW),
            lambda: asyncio.run(session.aio.exchange.send(WITHDRAW)),
            lambda: session.products(),
            lambda: asyncio.run(SocketConnection.connect(session.environment.feed_url, 1)),
        ):
            with pytest.raises(errors.NotSent) as caught:
                send()
            said = str(caught.value)
            assert words in said
            assert "nset it" in said
            assert "s3cret" not in said
        assert session.intents().empty
        assert session.resolve() == []


class ForwardProxy:
    """A proxy on loopback that notes what it is asked for, and refuses it."""

    def __init__(self, answer: str = "407 Proxy Authentication Required") -> None:
        self.answer = f"HTTP/1.1 {answer}\r\ncontent-length: 0\r\n\r\n".encode()

    def __enter__(self) -> ForwardProxy:
        self.asked: list[str] = []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        socket.create_connection(self.server.getsockname()).close()
        self.thread.join(5)
        assert not self.thread.is_alive()
        self.server.close()

    def serve(self) -> None:
        while True:
            connection, _ = self.server.accept()
            with connection:
                if not (head := connection.recv(65536)):
                    return
                self.asked.append(head.split(b"\r\n")[0].decode())
                connection.sendall(self.answer)


@pytest.mark.parametrize(
    ("name", "value"), [("ALL_PROXY", "{}"), ("https_proxy", "{}"), ("HTTPS_PROXY", "http://u:s3cret@{}")]
)
def test_queries_and_feed_reach_the_same_proxy(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ForwardProxy() as proxy:
        monkeypatch.setenv(name, value.format(proxy.url.removeprefix("http://")))
        fetch = Fetch("GET", "/info/x")
        for send in (
            lambda: HttpTransport(VENUE, timeout=5).send(fetch),
            lambda: asyncio.run(AsyncHttpTransport(VENUE, timeout=5).send(fetch)),
        ):
            with pytest.raises(errors.NotSent, match=rf"{VENUE} through {proxy.url} \({name}\): 407") as caught:
                send()
            assert "s3cret" not in str(caught.value)
        with pytest.raises(Exception, match="407"):
            asyncio.run(SocketConnection.connect("wss://ws.venue.invalid/ws/dex", 5))
        hosts = ["api.venue.invalid:443", "api.venue.invalid:443", "ws.venue.invalid:443"]
        assert proxy.asked == [f"CONNECT {host} HTTP/1.1" for host in hosts]


@pytest.mark.parametrize("awaited", [False, True])
def test_a_proxy_that_asks_to_wait_is_asked_once(awaited: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with ForwardProxy("429 Too Many\r\nRetry-After: 120") as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        with toolkit.connect("local", base_url=f"https://venue-{awaited}.invalid", account=MASTER) as session:
            with pytest.raises(errors.RateLimited, match=r"may be sent in 1[12]\d\.\d s") as caught:
                asyncio.run(session.aio.products()) if awaited else session.products()
            assert caught.value.retry_after == pytest.approx(120, abs=1)
            with pytest.raises(errors.RateLimited, match="was not sent"):
                session.products()
            with pytest.raises(ConnectionEnded, match="the venue asked to wait"):
                asyncio.run(SocketConnector(session.environment.feed_url, 5, session._gate, Runtime())())
        assert len(proxy.asked) == 1
        with pytest.raises(Exception, match="429"):  # the feed hears it first
            asyncio.run(SocketConnector("wss://feed.invalid/ws", 5, gate := VenueGate(), Runtime())())
        assert gate.seconds_closed(monotonic_ms()) == pytest.approx(120, abs=1)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "which has no file. Put the PEM file there and run `openssl rehash"),
        ("my.pem", "which has no file that is named by the hash of its certificate. Put the PEM"),
        ("0a1b2c3d.0", "run `openssl rehash"),
    ],
)
def test_a_folder_in_which_no_certificate_is_found_is_named(
    name: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any, **options: Any) -> None:
        raise httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")

    monkeypatch.setattr(httpx.Client, "build_request", fail)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    if name:
        (tmp_path / name).touch()
    with pytest.raises(errors.NotSent) as caught:
        HttpTransport(VENUE).send(Fetch("GET", "/info/x"))
    assert words in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_what_has_not_left_in_time_never_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look-up that hangs can't be ended. The caller is told that nothing was sent, which must stay true."""
    looked_up = threading.Event()

    def slow(*given: Any, **options: Any) -> Any:
        looked_up.wait(10)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", server.getsockname())]

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)
        monkeypatch.setattr(socket, "getaddrinfo", slow)
        with pytest.raises(errors.NotSent, match=r"did not leave for http://venue\.invalid in time"):
            HttpTransport("http://venue.invalid", timeout=0.05).send(Fetch("POST", "/api/v1/exchange", body=b"{}"))
        looked_up.set()
        for thread in [each for each in threading.enumerate() if each.name == "toolkit-request"]:
            thread.join(5)
        with contextlib.suppress(TimeoutError), server.accept()[0] as connection:
            assert connection.recv(1) == b""


def broken(request: httpx.Request) -> httpx.Response:
    raise KeyError("a mistake in the transport")


def test_any_failure_before_the_first_byte_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any, **options: Any) -> None:
        raise ImportError("a part of the library is missing")

    monkeypatch.setattr(httpx.Client, "build_request", fail)
    for given in (None, httpx.MockTransport(broken)):
        with pytest.raises(errors.NotSent, match=r"did not leave for .*: a part of the library is missing"):
            HttpTransport("http://venue.invalid", given).send(Fetch("GET", "/info/x"))
    monkeypatch.undo()
    with pytest.raises(KeyError, match="a mistake"):
        HttpTransport("http://venue.invalid", httpx.MockTransport(broken)).send(Fetch("GET", "/info/x"))


@pytest.mark.parametrize("url", ["http://venue.invalid", "http://192.168.1.5:8645", "http://[fd00::9]"])
def test_a_signed_request_goes_to_another_machine_with_encryption_only(url: str) -> None:
    venue = FakeVenue()
    options: dict[str, Any] = {
        "base_url": url,
        "transport": venue.transport(),
        "wallet": toolkit.Wallet(master=MASTER_KEY),
        "settle_timeout": 0,
    }
    with toolkit.connect("local", **options) as session:
        assert len(session.products()) == 1  # reads are not secret
        for call in (
            lambda: session.exchange.send(WITHDRAW),
            lambda: asyncio.run(session.aio.exchange.send(WITHDRAW)),
            lambda: toolkit.connect("local", **options, control_token="t").venue.snapshot(),
        ):
            with pytest.raises(errors.InputError, match=r"is plain http: .*connect\(…, plain_http=True\)") as caught:
                call()
            assert (caught.value.field, caught.value.value) == ("plain_http", url)
        assert not venue.bodies
        assert session.intents().empty
    with toolkit.connect("local", **options, plain_http=True) as session:
        assert session.exchange.send(WITHDRAW).state == "SUBMITTED"
    assert not is_loopback(url)


@pytest.mark.parametrize(
    "url", ["https://me:s3cret@venue.invalid", "https://s3cret@venue.invalid", "ws://a:s3cret@venue.invalid/ws/dex"]
)
def test_an_address_with_credentials_is_refused_and_not_shown(url: str) -> None:
    made = toolkit.Environment("local", toolkit.LOCAL.chain, url, "ws://127.0.0.1:1")
    for call in (
        lambda: toolkit.connect(base_url=url),
        lambda: environment("local", ws_url=url),
        lambda: environment(made),
    ):
        with pytest.raises(errors.InputError, match="holds a user or a password") as caught:
            call()
        assert "s3cret" not in f"{caught.value} {caught.value.value}"


def test_cookies_are_not_kept() -> None:
    seen: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("cookie"))
        return httpx.Response(
            200, headers={"set-cookie": "id=1; Path=/"}, content=enveloped(0, "success", META).content
        )

    with toolkit.connect("testnet", transport=httpx.MockTransport(answer)) as session:
        session.products()
        session.info.products()
    assert len(seen) > 1
    assert set(seen) == {None}


@pytest.fixture
def server() -> Iterator[tuple[str, list[int]]]:
    """A server that keeps its connections, and counts those that are open and the most that were."""
    counts, lock, listening = [0, 0], threading.Lock(), socket.create_server(("127.0.0.1", 0), backlog=256)
    body = enveloped(0, "success", META).content

    def serve(connection: socket.socket) -> None:
        with lock:
            counts[0] += 1
            counts[1] = max(counts)
        with connection:
            while connection.recv(65536):
                head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n".encode()
                connection.sendall(head + body)
        with lock:
            counts[0] -= 1

    def accept() -> None:
        while True:
            connection, _ = listening.accept()
            if stopped.is_set():
                connection.close()
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    stopped, thread = threading.Event(), threading.Thread(target=accept, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}", counts
    stopped.set()
    socket.create_connection(listening.getsockname()).close()
    thread.join(5)
    listening.close()


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("shuts_down", [True, False])
def test_connections_end_with_their_event_loop(server: tuple[str, list[int]], shuts_down: bool) -> None:
    url, counts = server
    transport = AsyncHttpTransport(url)

    def run() -> int:
        if shuts_down:
            return asyncio.run(transport.send(Fetch("GET", "/info/x"))).status
        loop = asyncio.new_event_loop()
        try:
            return loop.run_until_complete(transport.send(Fetch("GET", "/info/x"))).status
        finally:
            loop.close()

    assert {run() for _ in range(80)} == {200}
    asyncio.run(transport.close())
    gc.collect()  # a loop that is closed without shutting down leaves its transports to the collector, which warns
    assert counts[1] <= 4, "of eighty loops, each closes its connection, or the next one does"
