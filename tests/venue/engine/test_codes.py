"""Every published code, answered to a real request; and what a delayed settlement changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.venue.wallets import AGENT, MASTER, STRANGER, Signer
from toolkit.environments import MAINNET_CHAIN
from toolkit.errors import EXCHANGE_ERRORS
from toolkit.venue.api.gateway import Hooks, Incoming
from toolkit.venue.engine import commands
from toolkit.venue.engine.commands import Submit, WireError
from toolkit.venue.engine.core import Core
from toolkit.venue.local import LocalVenue

CLAIM = {"type": "faucetClaim"}
APPROVE = {
    "type": "approveAgent",
    "agentAddress": AGENT.address,
    "agentName": "bot",
    "validitySeconds": 0,
    "dexChain": "Testnet",
}
CANCEL_ALL = {"type": "cancelAll", "symbolCode": 1}


def order(price: str = "30000", quantity: str = "0.01") -> dict[str, Any]:
    item = {"symbolCode": 1, "ordPx": price, "ordQty": quantity, "ordType": "LIMIT", "ordSide": "BUY"}
    return {"type": "placeOrder", "orders": [{**item, "timeInForce": "GTC"}]}


class Scripted(Hooks):
    """Refuses the given actions."""

    def __init__(self, **codes: int) -> None:
        self.codes = codes

    def on_authenticated(self, incoming: Incoming, now: int) -> None:
        code = self.codes.get(incoming.action, 0)
        if code:
            raise WireError(code, "by script")


def test_every_code_of_the_table_is_answered_to_a_real_request() -> None:
    venue = LocalVenue(clock="manual", market=False, accounts=1)
    master, agent, stranger = Signer(MASTER), Signer(AGENT), Signer(STRANGER)
    now = venue.host.now_ms()
    seen = {
        0: master.do(venue, APPROVE, nonce=now),
        40003: dict(json.loads(venue.host.gateway.handle("POST", "/api/v1/exchange", body=b"[]").body)),
        40201: dict(
            json.loads(
                venue.host.gateway.handle("POST", "/api/v1/exchange", body=b'{"action":{"type":"revokeAgent"}}').body
            )
        ),
        40204: stranger.do(venue, CANCEL_ALL),
        40207: master.do(venue, APPROVE, nonce=now),
        40208: agent.do(venue, order(), expiry=now - 1),
        40230: agent.do(venue, order(price="30000.05")),
    }
    venue.host.gateway.hooks = Scripted(
        faucetClaim=40006, cancelAll=40220, placeOrder=40280, withdraw=40281, approveAgent=40231
    )
    seen[40006] = stranger.do(venue, CLAIM)
    seen[40220] = agent.do(venue, CANCEL_ALL)
    seen[40280] = agent.do(venue, order())
    seen[40281] = master.do(venue, {"type": "withdraw", "destination": MASTER.address, "amount": "5"})
    seen[40231] = master.do(venue, APPROVE)
    for code, answer in seen.items():
        assert answer["code"] == code, answer
        assert answer["message"]
    assert set(seen) == {0, *EXCHANGE_ERRORS}


def test_40204_tells_the_likely_cause_of_each_cross_use() -> None:
    venue = LocalVenue(clock="manual", market=False, accounts=1)
    master, agent = Signer(MASTER), Signer(AGENT)
    assert master.do(venue, APPROVE)["code"] == 0
    elsewhere = Signer(AGENT, MAINNET_CHAIN).do(venue, CANCEL_ALL, nonce=5)
    assert elsewhere["code"] == 40204
    signed = f"{AGENT.address}, an agent of this venue, signed the request with chainId 42161, source a"
    assert f"{signed}. This venue verifies chainId 421614, source b" in elsewhere["message"]
    mainnet = Signer(MASTER, MAINNET_CHAIN).do(venue, {**APPROVE, "dexChain": "Mainnet"}, nonce=6)
    assert mainnet["code"] == 40204
    assert "an account of this venue, signed the request with chainId 42161, dexChain Mainnet" in mainnet["message"]
    assert "signed by an agent" in master.do(venue, CANCEL_ALL)["message"]
    assert agent.do(venue, CANCEL_ALL)["code"] == 0


def test_an_expired_request_says_by_how_much_and_uses_no_nonce() -> None:
    venue = LocalVenue(clock="manual", market=False, accounts=1)
    Signer(MASTER).do(venue, APPROVE)
    agent, now = Signer(AGENT), venue.host.now_ms()
    body = agent.request(order(), nonce=7, expiry=now + 100)
    venue.advance("350ms")
    late = venue.host.gateway.handle("POST", "/api/v1/exchange", body=json.dumps(body).encode())
    assert f"expiryAfter {now + 100} was 250 ms ago (venue time {now + 350})" in json.loads(late.body)["message"]
    assert agent.do(venue, order(), nonce=7)["code"] == 0


def test_a_used_nonce_is_told_even_after_the_expiry_so_that_a_second_try_learns_the_truth() -> None:
    venue = LocalVenue(clock="manual", market=False, accounts=1)
    Signer(MASTER).do(venue, APPROVE)
    body = json.dumps(Signer(AGENT).request(order(), nonce=7, expiry=venue.host.now_ms() + 100)).encode()
    assert json.loads(venue.host.gateway.handle("POST", "/api/v1/exchange", body=body).body)["code"] == 0
    venue.advance("1m")
    assert json.loads(venue.host.gateway.handle("POST", "/api/v1/exchange", body=body).body)["code"] == 40207


def test_a_refused_faucet_claim_uses_no_nonce_because_anybody_could_repeat_it() -> None:
    venue = LocalVenue(clock="manual", market=False, accounts=1)
    master = Signer(MASTER)
    claim = master.request(CLAIM, nonce=1)
    for nonce, code in ((1, 0), (1, 40207), (2, 40230), (3, 40230)):
        body = json.dumps({**claim, "nonce": nonce}).encode()
        assert json.loads(venue.host.gateway.handle("POST", "/api/v1/exchange", body=body).body)["code"] == code
    assert master.do(venue, APPROVE, nonce=2)["code"] == 0
    assert venue.host.core.state.nonces[MASTER.address.lower()].used == [1, 2]


@pytest.mark.parametrize("delay", ["1s", "2500ms"])
def test_with_a_settlement_delay_an_accepted_order_shows_up_later(delay: str) -> None:
    venue = LocalVenue(clock="manual", market=False, accounts=1, settle_delay=delay)
    wait = 1_000 if delay == "1s" else 2_500
    assert Signer(MASTER).do(venue, APPROVE)["code"] == 0
    agent = Signer(AGENT)
    assert agent.do(venue, order())["code"] == 40204, "the approval has not settled"
    venue.advance(f"{wait}ms")
    good, bad = agent.do(venue, order(), nonce=10), agent.do(venue, order(price="30000.05"), nonce=11)
    assert good["code"] == bad["code"] == 0, "what is answered is the submission"
    assert agent.do(venue, order(), nonce=10)["code"] == 40207
    account = venue.host.core.state.accounts[MASTER.address.lower()]
    number = venue.snapshot()
    for _ in range(2):
        account = venue.host.core.state.accounts[MASTER.address.lower()]
        assert not account.orders
        venue.advance(f"{wait - 1}ms")
        assert not account.orders
        venue.advance("1ms")
        assert len(account.orders) == 1
        done = {record.hash: record.code for record in venue.host.core.state.history.transactions.records}
        assert done[good["data"]["txHash"]] == 0
        assert done[bad["data"]["txHash"]] != 0
        venue.revert(number)


@given(nonces=st.lists(st.integers(0, 30) | st.integers(2**63 - 5, 2**63 - 1), max_size=40))
def test_nonces_follow_the_rule_of_the_largest_kept_ones(nonces: list[int]) -> None:
    """A used nonce, or one below a full window's smallest, is 40207; no other rule applies."""
    kept = 6
    account = "0x" + "a1" * 20
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands, "KEPT_NONCES", kept)
        core = Core()
        core.account(account)
        used: list[int] = []
        for nonce in nonces:
            refused = nonce in used or (len(used) == kept and nonce < used[0])
            outcome = core.apply(Submit(core.state.time, dict(CANCEL_ALL), account, nonce))
            assert outcome.code == (40207 if refused else 0)
            if not refused:
                used = sorted([*used, nonce])[-kept:]
            assert core.state.nonces[account].used == used
