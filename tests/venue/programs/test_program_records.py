"""Agents, builders and referrals in records: whole rows, notices, causes of a refusal, and payments by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.venue.play import Play
from toolkit.protocol.hexbytes import to_checksummed
from toolkit.venue.engine.changes import UserNotice
from toolkit.venue.engine.commands import SIGNATURE, Outcome, Submit, TxCode, WireError
from toolkit.venue.model.constants import DAY
from toolkit.venue.programs import builders, permissions
from toolkit.venue.risk.ledger import LP_VAULT


class Permitted(Play):
    """A core that knows agents: masters ann, bob and cyd, whose every notice is kept."""

    def __init__(self) -> None:
        super().__init__(genesis={"settings": {"permissions": True, "market": False}}, price_interval=DAY)
        self.notices: list[tuple[str, str, dict[str, object]]] = []
        emit = self.core.emit

        def keep(event: object) -> None:
            if isinstance(event, UserNotice):
                self.notices.append((self.name(event.address), event.kind, event.data))
            emit(event)  # type: ignore[arg-type]

        self.core.emit = keep  # type: ignore[method-assign, assignment]
        self.oracle(60_000)
        self.fund(100_000, "ann", "bob", "cyd")
        self.advance(1)

    def approve(self, master: str, agent: str, name: str = "bot", seconds: int = 60, **more: Any) -> Outcome:
        address = agent if agent.startswith("0x") else self.address(agent)
        return self.act(master, type="approveAgent", agentAddress=address, agentName=name, validitySeconds=seconds,
                        **more)  # fmt: skip

    def permit(self, trader: str, agent: str, builder: str = "bob", cap: str = "0.001", seconds: int = 60) -> Outcome:
        return self.act(
            trader, type="approveAgentToBuilder", agentAddress=self.address(agent),
            builderAddress=self.address(builder), maxFeeRate=cap, validitySeconds=seconds,
        )  # fmt: skip

    def rejected(self, signer: str, action: str = "cancelAll", **more: Any) -> str:
        """Return the cause and the remedy of a signature that acts for no account."""
        submit = Submit(self.now, {"type": action, **more}, self.address(signer), 1)
        with pytest.raises(WireError) as caught:
            self.core.authorize(self.core, submit)
        assert caught.value.code == SIGNATURE
        head = f"signature verification failed: the recovered signer is {to_checksummed(self.address(signer))}. "
        assert caught.value.message.startswith(head)
        return caught.value.message.removeprefix(head)


def check(outcome: Outcome) -> None:
    assert outcome.code == 0, outcome.message


def reason(outcome: Outcome) -> int:
    assert outcome.data is not None
    return int(outcome.data["txCode"])


@pytest.fixture
def play() -> Permitted:
    return Permitted()


# agents


@pytest.mark.parametrize("seconds", [-1, 365 * 86_400 + 1])
def test_an_approval_lasts_from_0_seconds_to_a_year(play: Permitted, seconds: int) -> None:
    refused = play.approve("ann", "a1", seconds=seconds)
    assert reason(refused) == TxCode.BAD_VALIDITY
    assert refused.message == f"validitySeconds {seconds} is not between 0 (7 days) and 31536000 (365 days)"
    assert permissions.agents(play.core, play.address("ann")) == []


def test_every_cause_of_an_unauthorised_signature_is_named_with_its_remedy(play: Permitted) -> None:
    check(play.act("bob", type="registerBuilder", name="Acme"))
    for name in ("old", "older", "bot"):
        check(play.approve("ann", "a1", name))
        check(play.approve("ann", "a2", name))
    check(play.permit("ann", "b1"))
    ann, bob = to_checksummed(play.address("ann")), to_checksummed(play.address("bob"))
    replaced = "was replaced at 2026-01-01 00:00:00"
    assert play.rejected("a1").startswith(f'It was agent "bot" of {ann}, and {replaced}')
    assert play.rejected("a1").endswith(". Approve an agent again with approveAgent")
    builder = "It is a builder's agent, which may place builder orders and nothing else, not cancelAll. "
    assert play.rejected("b1") == builder + "Use placeBuilderOrder, or sign with an agent of the trader"
    assert play.rejected("cyd") == (
        "It is a master wallet, and cancelAll is signed by an agent. Approve an agent with approveAgent and sign with "
        "its key"
    )
    assert play.rejected("nobody").startswith("It is no approved agent. The signed bytes may differ")
    here = "(here: chainId 421614, verifyingContract 0x0100000000000000000000000000000000000001"
    assert f"{here}, an agent signature is for domain Exchange and source b)" in play.rejected("nobody")
    assert play.rejected("a2", "withdraw") == (
        f'It is agent "bot" of {ann}. Agents trade, and withdraw is signed by the master. Sign with the master wallet'
    )
    assert play.rejected("b1", "withdraw") == (
        "It is a builder's agent, and withdraw is signed by the master. Sign with the master wallet"
    )
    assert play.rejected("nobody", "withdraw").startswith("It has no account here, faucetClaim opens one. The signed ")
    note = "a master signature is for domain SignTransaction and dexChain Testnet"
    assert f"{here}, {note})" in play.rejected("nobody", "withdraw")
    assert play.rejected(LP_VAULT, "withdraw").startswith("It has no account here"), "a vault is no person's account"
    assert play.rejected("ann", "withdraw", dexChain="Mainnet") == (
        "The action names dexChain Mainnet, and this venue is Testnet. Sign it for this environment"
    )
    order = "placeBuilderOrder"
    assert play.rejected("a2", order) == (
        f"It is a trader's own agent, and {order} is signed by the builder's agent. "
        "The trader authorises the builder's agent with approveAgentToBuilder"
    )
    assert play.rejected("cyd", order) == (
        f"It is a master wallet, and {order} is signed by the builder's agent. "
        "Sign with the agent that the trader authorised with approveAgentToBuilder"
    )
    assert play.rejected("nobody", order).startswith("It is no builder agent that a trader authorised. The signed ")
    for agent in ("b2", "b1", "b3"):
        check(play.permit("ann", agent))
    for agent, ended in (("b2", replaced), ("b1", replaced)):
        assert play.rejected(agent, order).startswith(f"It was authorised by {ann} for builder {bob}, and that {ended}")
        assert play.rejected(agent, order).endswith(". The trader signs approveAgentToBuilder again")
    check(play.act("ann", type="revokeAgentToBuilder"))
    assert "and that was revoked at" in play.rejected("b3", order)
    check(play.permit("ann", "b3"))
    play.advance(60_001)
    assert "and that expired at" in play.rejected("b3", order)
    assert "and expired at" in play.rejected("a2")


def test_a_wallet_gets_its_account_by_its_first_claim_only(play: Permitted) -> None:
    claim = Submit(play.now, {"type": "faucetClaim"}, play.address("dan"), 1)
    before = play.core.state_hash()
    assert play.core.authorize(play.core, claim).account.kind == "user"
    assert play.core.state_hash() == before, "a claim that may be refused yet opens nothing"
    assert play.core.apply(claim).code == 0
    assert play.core.authorize(play.core, Submit(play.now, {"type": "withdraw"}, play.address("dan"), 2)).vault is None


# builders


def test_authorisations_are_listed_by_builder_trader_agent_state_and_age(play: Permitted) -> None:
    check(play.act("bob", type="registerBuilder", name="Acme"))
    check(play.act("cyd", type="registerBuilder", name="Beta"))
    check(play.permit("ann", "b1", seconds=60))
    check(play.permit("ann", "b2", seconds=3_600))
    check(play.permit("cyd", "b3", seconds=60))
    check(play.permit("bob", "b4", "cyd", seconds=3_600))
    play.advance(60_000)

    def found(builder: str | None, **more: Any) -> list[str]:
        named = {key: to_checksummed(play.address(more.pop(key))) for key in ("wallet", "agent") if key in more}
        address = builder and to_checksummed(play.address(builder))
        rows = builders.builder_agents(play.core, address, **named, **more)
        return [play.name(str(row["agent"]).lower()) for row in rows]

    assert found("bob") == ["b3", "b2"], "the last moment still counts"
    play.advance(1)
    assert found("bob") == ["b2"]
    assert found("bob", include_expired=True) == ["b3", "b2"]
    assert found("bob", include_expired=True, wallet="cyd") == found("bob", include_expired=True, agent="b3") == ["b3"]
    assert found("bob", include_expired=True, wallet="ann", agent="b3") == []
    assert found("bob", approve_state="REVOKED") == []
    assert found("bob", approve_state="REVOKED", include_expired=True) == ["b1"]
    assert found("cyd") == found(None, wallet="bob") == ["b4"]
    assert found(None) == []
    assert found(None, wallet="ann", agent="b2") == ["b2"]
    [row] = builders.builder_agents(play.core, play.address("bob"), include_expired=True, agent=play.address("b3"))
    assert row["expired"] is True


def test_each_party_of_an_authorisation_has_its_own_refusal(play: Permitted) -> None:
    assert reason(play.permit("ann", "b1")) == TxCode.UNKNOWN_BUILDER
    check(play.act("bob", type="registerBuilder", name="Acme"))
    again = play.act("bob", type="registerBuilder", name="Other")
    bob = to_checksummed(play.address("bob"))
    assert again.message == f'{bob} is a builder since {play.now}, named "Acme"'
    assert reason(play.permit("bob", "b1")) == TxCode.BUILDER_IS_TRADER
    assert reason(play.permit("ann", "ann")) == reason(play.permit("ann", "bob")) == TxCode.AGENT_IS_MASTER
    check(play.approve("ann", "a1"))
    check(play.approve("cyd", "c1"))
    refused = play.permit("ann", "a1")
    assert reason(refused) == TxCode.AGENT_OF_TRADER
    assert 'the trader\'s own agent "bot"' in refused.message
    check(play.permit("ann", "c1"))  # another trader's agent may be a builder's
    check(play.permit("ann", "c1"))  # and be authorised again
    assert reason(play.permit("cyd", "c1")) == TxCode.AGENT_OF_TRADER
    check(play.permit("ann", "b1"))
    assert reason(play.permit("cyd", "b1")) == TxCode.AGENT_OF_OTHER_TRADER
    for taken in (play.approve("cyd", "b1"), play.approve("ann", "b1")):
        assert reason(taken) == TxCode.AGENT_OF_BUILDER
    check(play.approve("bob", "b1"))  # a builder's own agent may sign for a trader too
    check(play.approve("bob", "b1"))
    assert reason(play.approve("bob", "a1")) == TxCode.AGENT_TAKEN
    assert reason(play.approve("bob", "bob")) == TxCode.AGENT_IS_ACCOUNT
    check(play.approve("ann", "a1", "second name"))
    play.advance(60_001)
    check(play.permit("cyd", "b1"))  # an expired one blocks nothing
    check(play.approve("bob", "a1"))
