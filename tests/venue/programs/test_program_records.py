"""Agents, builders and referrals in records: whole rows, notices, causes of a refusal, and payments by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.venue.play import BTC, MICRO, Play
from toolkit.protocol.hexbytes import to_checksummed
from toolkit.venue.engine.changes import UserNotice
from toolkit.venue.engine.commands import SIGNATURE, Outcome, Submit, TxCode, WireError
from toolkit.venue.model.constants import DAY, RATE
from toolkit.venue.model.state import ReferredDay
from toolkit.venue.programs import builders, permissions, referrals
from toolkit.venue.risk.ledger import FEES, LP_VAULT, REFERRALS


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


def test_an_approval_its_replacement_and_its_revocation_are_whole_records_and_notices(play: Permitted) -> None:
    begun, hashes = play.now, []
    heights = []
    for step in range(3):
        check(play.approve("ann", ("a1", "a2", permissions.ZERO_ADDRESS)[step], seconds=(60, 0, 0)[step]))
        hashes.append(play.core.state.history.transactions.records[-1].hash)
        heights.append(play.core.height)
        play.advance(1_000)
    base = {"masterAddress": to_checksummed(play.address("ann")), "agentName": "bot", "permission": "TRADE"}
    first = base | {
        "id": 1, "agentAddress": to_checksummed(play.address("a1")), "approvedAt": begun, "approvedBlock": heights[0],
        "approvalTx": hashes[0],
    }  # fmt: skip
    second = base | {
        "id": 2, "agentAddress": to_checksummed(play.address("a2")), "approvedAt": begun + 1_000,
        "approvedBlock": heights[1], "approvalTx": hashes[1],
    }  # fmt: skip
    live = {"status": "ACTIVE", "revokedAt": 0, "revokedBlock": 0, "revokeTx": ""}
    first_ended = {"status": "REVOKED", "revokedAt": begun + 1_000, "revokedBlock": heights[1], "revokeTx": hashes[1]}
    second_ended = {"status": "REVOKED", "revokedAt": begun + 2_000, "revokedBlock": heights[2], "revokeTx": hashes[2]}
    assert play.notices == [
        ("ann", "approveAgent", first | live),
        ("ann", "approveAgent", second | live),
        ("ann", "approveAgent", second | second_ended),
    ]
    core, ann = play.core, to_checksummed(play.address("ann"))
    assert permissions.agents(core, ann) == [second | second_ended, first | first_ended], "the newest first"
    assert permissions.agents(core, play.address("a1"), as_agent=True) == [first | first_ended]
    assert permissions.agents(core, play.address("a1")) == []
    assert permissions.active_agent(core, ann, "bot") is None
    assert [one.replaced for one in core.state.permissions.approvals] == [True, False]


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


def test_an_authorisation_its_replacement_and_its_end_are_whole_records_and_notices(play: Permitted) -> None:
    check(play.act("bob", type="registerBuilder", name="Acme"))
    begun = play.now
    check(play.permit("ann", "b1", cap="0.0005"))
    play.advance(1_000)
    check(play.permit("ann", "b2", seconds=0))
    play.advance(1_000)
    check(play.act("ann", type="revokeAgentToBuilder"))
    base = {"wallet": to_checksummed(play.address("ann")), "builder": to_checksummed(play.address("bob"))}
    base |= {"approveState": "APPROVED", "expired": False}
    first = base | {"agent": to_checksummed(play.address("b1")), "maxFeeRate": "0.0005"}
    first |= {"expiresAt": (begun + 60_000) // 1000}
    second = base | {"agent": to_checksummed(play.address("b2")), "maxFeeRate": "0.001"}
    second |= {"expiresAt": (begun + 1_000 + 7 * DAY) // 1000}
    assert play.notices == [
        ("ann", "approveAgentToBuilder", first),
        ("ann", "approveAgentToBuilder", second),
        ("ann", "revokeAgentToBuilder", second | {"approveState": "REVOKED"}),
    ]
    grants = play.core.state.permissions.grants
    assert [(one.id, one.replaced, one.ended) for one in grants] == [
        (1, True, begun + 1_000),
        (2, False, begun + 2_000),
    ]
    hashes = [one.hash for one in play.core.state.history.transactions.records[-3:]]
    assert [one.ended_tx for one in grants] == hashes[1:]
    assert reason(play.act("ann", type="revokeAgentToBuilder")) == TxCode.NO_BUILDER_GRANT


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


@pytest.mark.parametrize("kind", ["placeBuilderOrder", "placeBuilderBracketOrder"])
def test_a_builder_order_that_its_authorisation_refuses_leaves_an_event_for_each_of_its_orders(
    play: Permitted, kind: str
) -> None:
    check(play.act("bob", type="registerBuilder", name="Acme"))
    check(play.permit("ann", "b1", cap="0.0005"))
    item = {
        "symbolCode": BTC, "ordPx": "50000", "ordQty": "0.01", "ordType": "LIMIT", "ordSide": "BUY",
        "timeInForce": "GTC",
    }  # fmt: skip
    exit_ = {**item, "ordSide": "SELL", "triggerPx": "70000", "tpslTriggerType": "MARK_PRICE"}
    exit_ |= {"ordPx": "70000", "reduceOnlyOption": "TP_FROM_POSITION"}
    orders = {"order": item} if kind == "placeBuilderOrder" else {"orders": [item, exit_]}
    terms = {"builder": play.address("bob"), "builderFeeRate": "0.0006"}
    refused = play.act("b1", type=kind, **orders, **terms)
    assert reason(refused) == TxCode.FEE_RATE_ABOVE_GRANT
    events = play.core.state.history.order_events.of(play.address("ann"))
    assert len(events) == len(orders.get("orders", [item]))
    check(play.act("b1", type=kind, **orders, **{**terms, "builderFeeRate": "0.0005"}))
    assert {one.builder_rate for one in play.account("ann").orders.values()} == {RATE // 2_000}


@pytest.fixture
def invited() -> Play:
    """Ann invited bob, who invited cyd. Dan has no inviter. Each has 1,000,000 USDC."""
    play = Play(price_interval=DAY)
    play.oracle(60_000)
    play.fund(1_000_000, "ann", "bob", "cyd", "dan")
    for upper, lower in (("ann", "bob"), ("bob", "cyd")):
        check(play.act(lower, type="bindReferral", referralCode=referrals.code_of(play.address(upper))))
        play.advance(1_000)
    return play


def test_the_fee_of_a_trade_is_shared_by_two_tiers_and_paid_at_the_turn_of_the_day(invited: Play) -> None:
    play, book = invited, invited.core.state.referrals
    begun = play.now
    first = len(play.core.state.history.ledger.records)
    play.trade("cyd", "dan", "1", 60_000)  # 60,000 USDC: cyd takes for 36, dan makes for 6
    play.trade("bob", "dan", "0.5", 60_000)
    names = {play.address(name): name for name in ("ann", "bob", "cyd", "dan")} | {FEES: "fees", REFERRALS: "referrals"}

    def rows() -> list[tuple[str, str, float, int, str]]:
        nonlocal first
        records = play.core.state.history.ledger.records[first:]
        first += len(records)
        return [
            (names[one.payer], names[one.receiver], one.paid / MICRO, one.product, names[one.reference])
            for one in records
            if one.kind == "REFERRAL_REBATE"
        ]

    # of cyd's 36 bob gets 10 % and ann 5 %, of bob's 18 ann gets 10 %, of dan's fees nobody
    assert rows() == [("fees", "referrals", 5.4, 0, "cyd"), ("fees", "referrals", 1.8, 0, "bob")]
    today = begun // DAY
    accounts = {name: book.accounts[play.address(name)] for name in ("ann", "bob", "cyd")}
    assert accounts["cyd"].days == {today: ReferredDay(60_000 * MICRO, 36 * MICRO, 3_600_000, 1_800_000)}
    assert accounts["bob"].days == {today: ReferredDay(30_000 * MICRO, 18 * MICRO, 1_800_000, 0)}
    assert accounts["ann"].due == {play.address("cyd"): 1_800_000, play.address("bob"): 1_800_000}
    assert accounts["bob"].due == {play.address("cyd"): 3_600_000}
    assert [(one.invited, one.bound) for one in accounts.values()] == [
        ([play.address("bob")], 0),
        ([play.address("cyd")], begun - 2_000),
        ([], begun - 1_000),
    ]
    turn = (today + 1) * DAY
    play.advance(turn - 1 - play.now)
    assert book.payouts == []
    assert play.balance(REFERRALS) == 7_200_000
    play.advance(1)
    assert rows() == [
        ("referrals", "bob", 3.6, 0, "cyd"),
        ("referrals", "ann", 1.8, 0, "cyd"),
        ("referrals", "ann", 1.8, 0, "bob"),
    ]
    paid = [(one.id, one.time, names[one.address], names[one.source], one.tier, one.amount) for one in book.payouts]
    assert paid == [
        (1, turn, "bob", "cyd", 1, 3_600_000),
        (2, turn, "ann", "cyd", 2, 1_800_000),
        (3, turn, "ann", "bob", 1, 1_800_000),
    ]
    assert book.by_account == {play.address("bob"): [0], play.address("ann"): [1, 2]}
    assert (play.balance(REFERRALS), accounts["ann"].due, accounts["bob"].due) == (0, {}, {})
    play.trade("cyd", "dan", "1", 60_000)
    play.advance(DAY - 1)
    assert len(book.payouts) == 3
    play.advance(1)
    assert len(book.payouts) == 5


def test_only_codes_of_people_invite_and_each_account_is_bound_once(invited: Play) -> None:
    play = invited

    def bind(name: str, code: str) -> Outcome:
        return play.act(name, type="bindReferral", referralCode=code)

    for house in (FEES, REFERRALS, LP_VAULT):
        assert reason(bind("dan", referrals.code_of(house))) == TxCode.UNKNOWN_REFERRAL_CODE
    again = bind("cyd", referrals.code_of(play.address("dan")))
    assert reason(again) == TxCode.ALREADY_REFERRED
    bob = to_checksummed(play.address("bob"))
    assert again.message == f"the account is bound to {bob} since {play.now - 1_000}"
    assert reason(bind("dan", referrals.code_of(play.address("dan")))) == TxCode.OWN_REFERRAL_CODE
    circle = bind("ann", referrals.code_of(play.address("cyd")))
    assert reason(circle) == TxCode.REFERRAL_CYCLE
    assert circle.message.endswith("was itself invited by this account's network")
    code = referrals.code_of(play.address("ann"))
    assert len(code) == 10
    assert code == referrals.code_of(play.address("ann").upper().replace("0X", "0x"))
    check(bind("dan", code))
    assert play.core.state.referrals.codes[code] == play.address("ann")
    assert play.core.state.accounts[REFERRALS].kind == "venue"


def test_the_smallest_fees_leave_nothing_to_the_inviters(invited: Play) -> None:
    """A fee of less than ten millionths has no part of a tenth, and none of a twentieth."""
    play = invited
    cyd, accounts = play.account("cyd"), play.core.state.referrals.accounts
    for fee, due in ((9, ({}, {})), (19, ({cyd.address: 1}, {})), (20, ({cyd.address: 3}, {cyd.address: 1}))):
        referrals.share(play.core, cyd, fee, 1_000)
        assert (accounts[play.address("bob")].due, accounts[play.address("ann")].due) == due
    play.account(FEES).balance += 4  # no trade paid the fees that were shared here
    play.account(REFERRALS).balance -= 4
    before = dict(accounts)
    for name in ("ann", "dan"):
        referrals.share(play.core, play.account(name), 1_000, 1_000)
    assert accounts == before
