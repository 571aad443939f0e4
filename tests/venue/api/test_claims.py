"""Who may open accounts by a claim, and what a signature for something else than this venue is answered."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from typing import Any

import httpx
import pytest

from tests.venue.wallets import AGENT, MASTER, STRANGER, Signer
from toolkit import ethereum
from toolkit.environments import TESTNET_CHAIN
from toolkit.protocol import signing
from toolkit.venue import development
from toolkit.venue.api.admission import KEYS, SlidingWindow
from toolkit.venue.api.gateway import Answer, Incoming
from toolkit.venue.development import DevelopmentAccount
from toolkit.venue.local import LocalVenue
from toolkit.venue.model.state import Limit
from toolkit.venue.served.boundary import ServeSettings

POST = "/api/v1/exchange"
CLAIM = {"type": "faucetClaim"}
APPROVE = {
    "type": "approveAgent", "agentAddress": AGENT.address, "agentName": "bot", "validitySeconds": 0,
    "dexChain": "Testnet",
}  # fmt: skip
WITHDRAW = {"type": "withdraw", "destination": MASTER.address, "amount": "5"}
CANCEL_ALL = {"type": "cancelAll", "symbolCode": 1}
ZERO, OWN = "0x" + "0" * 40, "0x0100000000000000000000000000000000000001"
ADDRESS = "10.0.0.7"


def made() -> LocalVenue:
    """Return a venue with two funded accounts, of which the first has an agent."""
    venue = LocalVenue(clock="manual", market=None, accounts=2)
    assert Signer(MASTER).do(venue, APPROVE)["code"] == 0
    return venue


def post(venue: LocalVenue, request: dict[str, Any], peer: str = ADDRESS) -> Answer:
    return venue.host.gateway.handle("POST", POST, "", json.dumps(request).encode(), peer)


def forged(count: int) -> list[dict[str, Any]]:
    """Return claims whose signatures are random numbers: about half of them recover to an address."""
    chance = random.Random(5)
    return [
        {
            "action": CLAIM,
            "signature": {"r": f"0x{chance.getrandbits(255):064x}", "s": f"0x{chance.getrandbits(254):064x}", "v": 27},
            "nonce": nonce,
        }
        for nonce in range(1, count + 1)
    ]


def message(answer: Answer) -> str:
    return str(json.loads(answer.body)["message"])


# how many


def test_random_signatures_of_one_address_open_accounts_up_to_its_limit_and_change_nothing_beyond() -> None:
    with made() as venue:
        before = len(venue.host.core.state.accounts)
        answers = [post(venue, one) for one in forged(200)]
        codes = Counter(answer.code for answer in answers)
        assert (codes[0], len(venue.host.core.state.accounts) - before) == (60, 60)
        assert codes[0] + codes[40204] + codes[40220] == 200
        assert codes[40220] > 30
        kept = venue.control.state_hash()
        for again in forged(200)[-20:]:
            assert post(venue, again).code in (40220, 40204)
        assert venue.control.state_hash() == kept
        limited = next(message(answer) for answer in answers if answer.code == 40220)
        assert f"{ADDRESS} has sent 60 faucetClaim requests within 60 minutes" in limited
        assert "The next one is accepted in 3600 s, at 2026-01-01 01:00:00 UTC" in limited
        venue.host.core.check()


def test_a_repeated_claim_counts_because_each_is_recorded_and_anyone_can_send_it() -> None:
    with made() as venue:
        request = Signer(STRANGER).request(CLAIM, nonce=1)
        codes = [post(venue, {**request, "nonce": nonce}).code for nonce in range(1, 100)]
        assert Counter(codes) == {0: 1, 40230: 59, 40220: 39}
        assert len(venue.host.core.state.history.transactions.of(STRANGER.address.lower())) == 60


def test_the_limit_slides_is_of_one_address_and_not_of_this_process() -> None:
    with made() as venue:
        venue.host.gateway.admission.claims = Limit(2, 60_000)
        wallets = (Signer(development.account(number)).request(CLAIM) for number in itertools.count(200))
        assert [post(venue, next(wallets)).code for _ in range(3)] == [0, 0, 40220]
        assert [post(venue, next(wallets), peer="10.0.0.8").code for _ in range(3)] == [0, 0, 40220]
        assert {post(venue, next(wallets), peer).code for peer in ("", "in-process") for _ in range(9)} == {0}
        kept = venue.snapshot()
        venue.advance("30s")
        assert [post(venue, next(wallets)).code for _ in range(2)] == [40220, 40220]
        venue.advance("30s")
        assert [post(venue, next(wallets)).code for _ in range(3)] == [0, 0, 40220]
        venue.revert(kept)  # what was counted later is not counted now
        assert [post(venue, next(wallets)).code for _ in range(3)] == [0, 0, 40220]


def test_what_is_remembered_of_addresses_is_bounded() -> None:
    window, limit = SlidingWindow(), Limit(1, 1_000)
    assert [window.wait_ms(name, limit, 5) for name in ("once", "often") for _ in range(2)] == [0, 1_000] * 2
    for number in range(KEYS):
        window.wait_ms(number, limit, 5)
        assert window.wait_ms("often", limit, 7) == 998
    assert window.wait_ms("once", limit, 7) == 0, "the one that was counted longest ago is forgotten"


def test_accounts_that_only_claimed_have_a_bound_from_however_many_addresses_in_one_group_or_several() -> None:
    with made() as venue:
        venue.host.gateway.admission.claimed_accounts = 5
        signers = [Signer(development.account(number)) for number in range(300, 312)]
        bodies = [json.dumps(one.request(CLAIM)).encode() for one in signers]
        group = [Incoming("POST", POST, "", body, f"10.0.1.{number}") for number, body in enumerate(bodies)]
        codes = [answer.code for answer in venue.host.gateway.handle_many(group)]
        assert codes == [0] * 5 + [40280] * 7
        refused = post(venue, signers[11].request(CLAIM))
        assert refused.code == 40280
        assert "faucetClaim opens no further account: 5 did nothing but claim" in message(refused)
        assert "venue.control.fund" in message(refused)
        venue.advance("24h")
        assert post(venue, signers[0].request(CLAIM)).code == 0, "an account that is there may claim again"
        assert post(venue, signers[11].request(CLAIM)).code == 40280
        agent = {**APPROVE, "agentAddress": development.account(400).address}
        assert post(venue, signers[0].request(agent)).code == 0, "it is used now"
        assert [post(venue, one.request(CLAIM)).code for one in signers[10:]] == [0, 40280]


def test_a_claim_that_settles_later_counts_too() -> None:
    with LocalVenue(clock="manual", market=None, accounts=0, settle_delay="1s") as venue:
        venue.host.gateway.admission.claimed_accounts = 3
        wallets = [Signer(development.account(number)).request(CLAIM) for number in range(300, 305)]
        assert [post(venue, one).code for one in wallets] == [0, 0, 0, 40280, 40280]
        venue.advance("2s")
        held = [each.balance for each in venue.host.core.state.accounts.values() if each.kind == "user"]
        assert held == [500_000_000] * 3
        venue.host.core.check()


def test_a_served_venue_has_the_limits_of_its_settings() -> None:
    settings = ServeSettings(claims_per_ip=2, claimed_accounts=3)
    with made() as venue, venue.serve(settings=settings) as served:
        with httpx.Client(base_url=served.base_url) as client:
            codes = []
            for number in range(300, 303):
                request = Signer(development.account(number)).request(CLAIM)
                codes.append(client.post(POST, json=request).json()["code"])
        assert codes == [0, 0, 40220]
        wallets = [Signer(development.account(number)).request(CLAIM) for number in (303, 304)]
        assert [post(venue, one, "10.0.0.9").code for one in wallets] == [0, 40280]


def test_a_class_of_thirty_behind_one_address_starts_with_the_usual_limit() -> None:
    with made() as venue:
        for number in range(300, 330):
            student = Signer(development.account(number))
            assert [post(venue, student.request(CLAIM)).code for _ in range(2)] == [0, 40230]


# whom


def test_the_answer_to_a_claim_names_the_address_that_it_credits() -> None:
    with made() as venue:
        answer = json.loads(post(venue, Signer(STRANGER).request(CLAIM)).body)
        assert (answer["code"], answer["data"]["address"]) == (0, STRANGER.address)
        again = json.loads(post(venue, Signer(STRANGER).request(CLAIM, nonce=5)).body)
        assert again["code"] == 40230
        assert again["message"].endswith(f"The recovered signer is {STRANGER.address}")
        assert again["data"]["txMsg"] == again["message"]


@pytest.mark.parametrize("action", [WITHDRAW, {**APPROVE, "agentAddress": MASTER.address}], ids=lambda one: one["type"])
def test_every_refusal_of_what_a_master_signs_names_the_recovered_signer(action: dict[str, Any]) -> None:
    with LocalVenue(clock="manual", market=None, accounts=1, balance="3") as venue:
        signer, now = Signer(MASTER), venue.host.now_ms()
        venue.control.limit(action["type"], 3, "1m")
        ways = [{"nonce": 1}, {"nonce": 1}, {"nonce": 2, "expiry": now - 1}, {"nonce": 3}]
        answers = [signer.do(venue, action, **way) for way in ways]
        answers.append(Signer(STRANGER).do(venue, action))
        venue.control.disable(action["type"])
        answers.append(signer.do(venue, action))
        venue.control.ban(MASTER.address)
        answers.append(signer.do(venue, action))
        assert [one["code"] for one in answers] == [40230, 40207, 40208, 40220, 40204, 40280, 40281]
        assert STRANGER.address in answers.pop(4)["message"]
        for answer in answers:
            assert MASTER.address.lower() in answer["message"].lower(), answer


# signed for something else


def signed_for(account: DevelopmentAccount, action: dict[str, Any], nonce: int, **domain: Any) -> dict[str, Any]:
    """Return a request whose signature eth-account has made, for a changed domain, source or dexChain."""
    plain = signing.explain(action, TESTNET_CHAIN, nonce).typed_data
    message = {name: domain.pop(name, value) for name, value in plain["message"].items()}
    typed = {**plain, "domain": {**plain["domain"], **domain}, "message": message}
    eth_account = pytest.importorskip("eth_account", reason=ethereum.MISSING)
    document = eth_account.messages.encode_typed_data(full_message=typed)
    made = eth_account.Account.sign_message(document, account.key)
    signature = {"r": f"0x{made.r:064x}", "s": f"0x{made.s:064x}", "v": made.v}
    return {"action": action, "signature": signature, "nonce": nonce}


CONTRACT = {"verifyingContract": ZERO}
SHOWN = f"verifyingContract {ZERO}"
MISTAKES: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    (CANCEL_ALL, CONTRACT, SHOWN, f"verifyingContract {OWN}"),
    (WITHDRAW, CONTRACT, SHOWN, f"verifyingContract {OWN}"),
    (APPROVE, CONTRACT, SHOWN, f"verifyingContract {OWN}"),
    (CANCEL_ALL, {"chainId": 42161}, "chainId 42161", "chainId 421614"),
    (CANCEL_ALL, {"source": "a"}, "source a", "source b"),
    (CANCEL_ALL, {"chainId": 42161, "source": "a"}, "chainId 42161, source a", "chainId 421614, source b"),
    (CANCEL_ALL, {"name": "SignTransaction"}, "domain SignTransaction", "domain Exchange"),
    (WITHDRAW, {"chainId": 42161}, "chainId 42161", "chainId 421614"),
    (WITHDRAW, {"dexChain": "Mainnet"}, "dexChain Mainnet", "dexChain Testnet"),
    (WITHDRAW, {"name": "Exchange"}, "domain Exchange", "domain SignTransaction"),
    (CANCEL_ALL, {**CONTRACT, "chainId": 42161}, f"{SHOWN}, chainId 42161", f"verifyingContract {OWN}, chainId 421614"),
    (WITHDRAW, {**CONTRACT, "name": "Exchange"}, f"{SHOWN}, domain Exchange", "domain SignTransaction"),
]


@pytest.mark.parametrize(("action", "changes", "theirs", "own"), MISTAKES)
def test_a_signature_for_something_else_is_named_with_its_wallet_and_what_this_venue_verifies(
    action: dict[str, Any], changes: dict[str, Any], theirs: str, own: str
) -> None:
    account = AGENT if action is CANCEL_ALL else MASTER
    what = "an agent" if action is CANCEL_ALL else "an account"
    with made() as venue:
        kept = venue.control.state_hash()
        refused = post(venue, signed_for(account, action, 7, **changes))
        assert refused.code == 40204
        assert f"{account.address}, {what} of this venue, signed the request with {theirs}" in message(refused)
        assert own in message(refused).partition("This venue verifies ")[2]
        assert ("which documents of April 2026 show" in message(refused)) == (ZERO in theirs)
        assert venue.control.state_hash() == kept
        assert post(venue, signed_for(account, action, 7)).code == 0, "the nonce was not used"


def test_of_a_flood_of_one_address_thirty_a_second_are_examined_and_all_name_what_is_verified() -> None:
    with made() as venue:
        requests = [signed_for(AGENT, CANCEL_ALL, nonce, **CONTRACT) for nonce in range(7, 47)]
        named = f"{AGENT.address}, an agent of this venue, signed"
        said = [message(post(venue, one)) for one in requests]
        assert [named in one for one in said] == [True] * 30 + [False] * 10
        assert all(f"verifyingContract {OWN}" in one for one in said)
        assert all(named in message(post(venue, one, "in-process")) for one in requests)
        venue.advance("1s")
        assert named in message(post(venue, requests[0]))


@pytest.mark.parametrize("changes", [CONTRACT, {"dexChain": "Mainnet"}])
def test_a_claim_for_something_else_credits_nobody_if_its_wallet_is_known(changes: dict[str, Any]) -> None:
    with made() as venue:
        kept = venue.control.state_hash()
        refused = post(venue, signed_for(MASTER, CLAIM, 7, **changes))
        assert refused.code == 40204
        assert f"{MASTER.address}, an account of this venue, signed the request with" in message(refused)
        assert venue.control.state_hash() == kept
        credited = json.loads(post(venue, signed_for(STRANGER, CLAIM, 7, **changes)).body)
        assert credited["code"] == 0, "no one here knows this wallet"
        assert credited["data"]["address"] not in (MASTER.address, STRANGER.address)
        venue.control.fund(STRANGER.address, "5")
        venue.advance("24h")
        refused = post(venue, signed_for(STRANGER, CLAIM, 8, **changes))
        assert refused.code == 40204, "its wallet is known now"
        assert STRANGER.address in message(refused)
