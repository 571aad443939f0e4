"""The gateway, its answers to good requests, bad ones and odd ones."""

from __future__ import annotations

import json
import threading
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.venue.wallets import MASTER, STRANGER, Signer
from toolkit.environments import MAINNET_CHAIN, TESTNET_CHAIN
from toolkit.venue.api.gateway import MAX_BODY, Answer, Hooks, Incoming
from toolkit.venue.engine.commands import WireError
from toolkit.venue.local import LocalVenue

POST = "/api/v1/exchange"


@pytest.fixture
def venue() -> LocalVenue:
    return LocalVenue(clock="manual", market=False, accounts=2)


def opened(answer: Answer) -> dict[str, Any]:
    document = json.loads(answer.body)
    assert list(document) == ["code", "message", "data"]
    assert isinstance(document["code"], int)
    assert isinstance(document["message"], str)
    return dict(document)


def test_paths_methods_and_sizes_are_refused_in_the_envelope(venue: LocalVenue) -> None:
    for method, path, body, status in (
        ("GET", "/", b"", 404),
        ("POST", "/info/nowhere", b"", 404),
        ("GET", POST, b"", 405),
        ("DELETE", POST, b"", 405),
        ("POST", "/info/public/product-meta", b"", 405),
        ("POST", POST, b" " * (MAX_BODY + 1), 413),
        ("POST", POST, b" " * MAX_BODY, 400),
    ):
        answer = venue.host.gateway.handle(method, path, "", body)
        assert answer.status == status, (method, path)
        assert opened(answer)["code"] == (40003 if status == 400 else status)
        assert answer.headers["x-venue-time"] == str(venue.host.now_ms())
    assert venue.host.gateway.handle("GET", POST).headers["allow"] == "POST"


def test_malformed_requests_name_the_field(venue: LocalVenue) -> None:
    signed = Signer(MASTER).request({"type": "faucetClaim"}, nonce=1)
    for change, path in (
        ({"nonce": "1"}, "nonce"),
        ({"extra": 1}, "extra"),
        ({"signature": {"r": "0x", "s": "0x", "v": 27}}, "signature.r"),
        ({"vaultAddress": MASTER.address}, "vaultAddress"),
        ({"action": {"type": "cancelAll", "symbolCode": "1"}}, "action.symbolCode"),
    ):
        answer = venue.host.gateway.handle("POST", POST, body=json.dumps({**signed, **change}).encode())
        assert (answer.status, opened(answer)["code"]) == (400, 40003)
        assert opened(answer)["message"].startswith(path)


def test_an_unknown_action_is_40201(venue: LocalVenue) -> None:
    body = json.dumps({"action": {"type": "dance"}, "nonce": 1}).encode()
    assert opened(venue.host.gateway.handle("POST", POST, body=body))["code"] == 40201


def test_the_answer_to_an_unknown_signer_names_it_and_what_to_check(venue: LocalVenue) -> None:
    action = {"type": "withdraw", "destination": MASTER.address, "amount": "5"}
    answer = Signer(STRANGER).do(venue, action, nonce=1)
    assert answer["code"] == 40204
    for part in (STRANGER.address, "no account here", "chainId 421614", "toolkit verify", "/info/account/agent"):
        assert part in answer["message"]


def test_signatures_of_another_chain_or_a_malleable_one_are_40204(venue: LocalVenue) -> None:
    action = {"type": "faucetClaim"}
    good = Signer(MASTER).request(action, nonce=1)
    order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    s, v = int(good["signature"]["s"], 16), good["signature"]["v"]
    high = {**good["signature"], "s": f"0x{order - s:064x}", "v": 55 - v}
    answer = opened(venue.host.gateway.handle("POST", POST, body=json.dumps({**good, "signature": high}).encode()))
    assert answer["code"] == 40204
    assert "malleable" in answer["message"]
    elsewhere = Signer(MASTER, MAINNET_CHAIN).post(
        venue, {"type": "withdraw", "destination": MASTER.address, "amount": "5"}, nonce=2
    )
    assert opened(elsewhere)["code"] == 40204
    assert MAINNET_CHAIN != TESTNET_CHAIN


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
WORDS = st.sampled_from(
    ["placeOrder", "cancelAll", "withdraw", "faucetClaim", "vaultCreate", "orders", "type", "action", "nonce", "x"]
)


@given(
    method=st.sampled_from(["GET", "POST", "PUT", "HEAD", "OPTIONS", "", "G\0T"]),
    path=st.sampled_from([POST, "/info/account/wallet", "/info/kline/list", "/info/vault/detail", ""]) | st.text(),
    query=st.lists(st.tuples(WORDS | st.text(max_size=5), st.text(max_size=9)), max_size=4) | st.text(max_size=30),
    body=st.binary(max_size=60)
    | st.builds(lambda document: json.dumps(document).encode(), JSON)
    | st.builds(
        lambda kind, rest, nonce: json.dumps({"action": {"type": kind, **rest}, "nonce": nonce}).encode(),
        WORDS,
        st.dictionaries(WORDS, JSON, max_size=3),
        JSON,
    ),
)
def test_odd_requests_never_raise_and_never_answer_500(
    shared_venue: LocalVenue, method: str, path: str, query: list[tuple[str, str]] | str, body: bytes
) -> None:
    answer = shared_venue.host.gateway.handle(method, path, query, body, "fuzz")
    assert answer.status in (200, 400, 404, 405, 413)
    opened(answer)


@pytest.mark.parametrize("odd", ["\ud800", "a\udfffb", "\x00", "\u202e", "🙂" * 300])
def test_odd_characters_anywhere_are_answered(shared_venue: LocalVenue, odd: str) -> None:
    for method, path, query in (
        (odd, POST, ""),
        ("POST", odd, ""),
        ("GET", "/info/account/wallet", [(odd, odd)]),
        ("GET", "/info/account/wallet", [("userAddr", odd)]),
        ("GET", "/info/kline/list", [("symbol_name", odd), ("interval", "60"), ("startTime", "1"), ("endTime", "2")]),
    ):
        answer = shared_venue.host.gateway.handle(method, path, query, odd.encode("utf-8", "surrogatepass"), odd)
        assert answer.status in (400, 404, 405)
        opened(answer)


def test_an_error_in_the_venue_itself_is_answered(venue: LocalVenue, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(venue.host.core, "apply", broken)
    answer = Signer(MASTER).post(venue, {"type": "faucetClaim"}, nonce=1)
    assert answer.status == 400
    assert "ZeroDivisionError" in opened(answer)["message"]


class Emergency(Hooks):
    """Refuses with a code, or breaks the answer, as configured."""

    def __init__(self, code: int = 0, broken: str = "") -> None:
        self.code = code
        self.broken = broken
        self.seen: list[Incoming] = []

    def on_authenticated(self, incoming: Incoming, now: int) -> None:
        self.seen.append(incoming)
        if self.code:
            raise WireError(self.code, f"code {self.code} by script")

    def on_response(self, incoming: Incoming, answer: Answer) -> Answer:
        return answer._replace(broken=self.broken)


@pytest.mark.parametrize("code", [40006, 40220, 40231, 40280, 40281])
def test_emergency_codes_come_in_by_the_hooks(venue: LocalVenue, code: int) -> None:
    venue.host.gateway.hooks = hooks = Emergency(code)
    answer = Signer(MASTER).post(venue, {"type": "faucetClaim"}, nonce=1)
    assert opened(answer)["code"] == code
    assert [(seen.action, seen.signer) for seen in hooks.seen] == [("faucetClaim", MASTER.address.lower())]
    venue.host.gateway.hooks = Hooks()
    assert opened(Signer(MASTER).post(venue, {"type": "faucetClaim"}, nonce=1))["code"] == 0, "nothing was committed"


@pytest.mark.parametrize(
    ("broken", "kind"),
    [("refused", httpx.ConnectError), ("disconnect", httpx.RemoteProtocolError), ("timeout", httpx.ReadTimeout)],
)
def test_scripted_faults_arrive_as_httpx_reports_them(venue: LocalVenue, broken: str, kind: type[Exception]) -> None:
    venue.host.gateway.hooks = Emergency(broken=broken)
    with httpx.Client(transport=venue.transport(), base_url="http://venue") as client, pytest.raises(kind):
        client.get("/x")


async def _get(venue: LocalVenue) -> httpx.Response:
    async with httpx.AsyncClient(transport=venue.transport(), base_url="http://venue") as client:
        return await client.get("/nowhere")


def test_the_transport_serves_asynchronous_clients_too(venue: LocalVenue) -> None:
    import asyncio

    assert asyncio.run(_get(venue)).status_code == 404


def test_many_threads_posting_at_once_are_each_answered_once(venue: LocalVenue) -> None:
    signers = [Signer(MASTER), Signer(STRANGER)]
    signers[1].post(venue, {"type": "faucetClaim"}, nonce=1)
    bodies = [
        json.dumps(
            signer.request({"type": "withdraw", "destination": MASTER.address, "amount": "2"}, nonce=nonce)
        ).encode()
        for nonce in range(10, 40)
        for signer in signers
    ]
    answers: list[dict[str, Any]] = []

    def work() -> None:
        for body in bodies:
            answers.append(opened(venue.host.gateway.handle("POST", POST, "", body)))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    codes = [answer["code"] for answer in answers]
    assert codes.count(0) == len(bodies)
    assert codes.count(40207) == 5 * len(bodies)
    state = venue.host.core.state
    assert state.deposits - state.withdrawals == sum(account.balance for account in state.accounts.values())
