"""A claim whose money goes to another address than the wallet's is never a success without a word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

import toolkit
from tests.client.fake import MASTER, MASTER_KEY, FakeVenue, enveloped, session
from toolkit import errors
from toolkit.client.io.transport import Retry
from toolkit.environments import MAINNET_CHAIN, TESTNET, Chain
from toolkit.venue import development
from toolkit.venue.local import LocalVenue

WORDS = development.new_mnemonic()
WRONG = Chain(MAINNET_CHAIN.chain_id, "b", "Testnet")
OTHER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
OWN_CONTRACT = "0x0100000000000000000000000000000000000001"
MASTERS = toolkit.Wallet(master=MASTER_KEY)


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(clock="manual", market=None, accounts=0) as made:
        yield made


def wallet(number: int = 0) -> toolkit.Wallet:
    """Return keys that no venue knows."""
    return toolkit.Wallet(development.agent(number, WORDS).key, development.master(number, WORDS).key)


@pytest.mark.parametrize("delay", ["0s", "1s"])
def test_a_claim_that_the_venue_recovers_to_another_address_is_refused_with_both_and_the_cause(delay: str) -> None:
    keys = wallet()
    with LocalVenue(clock="manual", market=None, accounts=0, settle_delay=delay) as venue:
        with toolkit.connect(
            replace(TESTNET, chain=WRONG), wallet=keys, transport=venue.transport(), settle_timeout=0
        ) as session:
            with pytest.raises(errors.SignatureRejected) as caught:
                session.exchange.faucet_claim()
            assert session.intents.get(caught.value.receipt.intent).state == "REJECTED"
        venue.advance("2s")
        [credited] = [each.address for each in venue.host.core.state.accounts.values() if each.kind == "user"]
        assert credited != str(keys.master).lower()
        said = str(caught.value).lower()
        assert f"the venue credited {credited}, and not {str(keys.master).lower()}" in said
        assert "it verifies chainid 421614, and this session signs for chainid 42161" in said
        with toolkit.connect(TESTNET, wallet=keys, transport=venue.transport(), settle_timeout=0) as session:
            receipt = session.exchange.faucet_claim()
            assert (receipt.data["address"], receipt.note) == (keys.master, "")
            venue.advance("2s")
            assert session.wallet_balances()["balance"].tolist() == [500.0]


class Telling(FakeVenue):
    """A venue whose answer to a claim has further members."""

    def __init__(self, **told: Any) -> None:
        super().__init__()
        self.told = told

    def _exchange(self, request: httpx.Request) -> httpx.Response:
        answer = super()._exchange(request).json()
        return enveloped(answer["code"], answer["message"], {**answer["data"], **self.told})


@pytest.mark.parametrize("member", ["address", "account", "user", "userAddr"])
def test_another_address_that_no_usual_mistake_explains_is_an_unknown_outcome_in_words(member: str) -> None:
    fake = Telling(**{member: OTHER})
    fake.show_transactions = False
    with session(fake, wallet=MASTERS, settle_timeout=0) as s:
        with pytest.raises(errors.OutcomeUnknown) as caught:
            s.exchange.send({"type": "faucetClaim"})
        assert f"the venue credited {OTHER}, and not {MASTER}" in str(caught.value)
        assert "another chainId, domain or verifyingContract, or the answer is another request's" in str(caught.value)
        assert len(fake.bodies) == 1


def test_a_venue_that_names_the_own_address_is_believed_without_a_further_query() -> None:
    fake = Telling(address=MASTER.lower())
    with session(fake, wallet=MASTERS) as s:
        assert s.exchange.faucet_claim().note == ""
    assert not [path for path in fake.reads if "/info/account/wallet" in path]


def test_where_the_venue_does_not_say_the_wallet_is_read_and_what_is_unchecked_is_said() -> None:
    fake = FakeVenue()
    fake.show_transactions = False
    with session(fake, wallet=MASTERS, settle_timeout=0) as s:
        receipt = s.exchange.faucet_claim()
        unsaid = "the venue does not say which address it credits"
        assert receipt.note == f"{unsaid}. {MASTER} has 500 USDC, which may be from before"
        assert unsaid in repr(receipt)
        fake.balance = -500
        with pytest.warns(errors.DataWarning, match=f"{unsaid}, and {MASTER} has no balance yet") as warned:
            s.exchange.faucet_claim()
        for part in ("chainId than 421614", OWN_CONTRACT, "another address has the money"):
            assert part in str(warned[0].message)
        fake.read_script = ["html"]
        with pytest.warns(errors.DataWarning, match=f"{unsaid}, and the wallet of {MASTER} could not be read: "):
            s.exchange.faucet_claim()


def test_the_answer_to_another_claim_is_not_taken_for_the_own() -> None:
    # Its sessions don't know that the venue is in this process, so none would move its clock until a claim is executed.
    venue = LocalVenue(clock="manual", market=None, accounts=0, settle_delay="0s")
    keys = [wallet(number) for number in range(2)]
    first: list[bytes] = []

    def repeating(request: httpx.Request) -> httpx.Response:
        """Answer every claim with the answer to the first one, as a broken proxy does."""
        with httpx.Client(transport=venue.transport()) as client:
            answer = client.send(request)
        if request.method == "POST":
            first.append(answer.content)
            return httpx.Response(200, content=first[0])
        return answer

    options: dict[str, Any] = {"transport": httpx.MockTransport(repeating), "settle_timeout": 0}
    options["retry"] = Retry(attempts=1, base=0.0, longest=0.0)
    with toolkit.connect(TESTNET, wallet=keys[0], **options) as session:
        assert session.exchange.faucet_claim().data["address"] == keys[0].master
    with toolkit.connect(TESTNET, wallet=keys[1], **options) as session:
        receipt = session.exchange.faucet_claim()
        assert receipt.status == "ACCEPTED", "the venue shows the transaction of this wallet"
        assert "address" not in receipt.data
