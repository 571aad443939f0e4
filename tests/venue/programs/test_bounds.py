"""Each limit of a program holds at exactly its bound: what just fits is accepted, the next step is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.venue.programs.test_programs import Desk
from tests.venue.programs.test_vault_shares import USDC, Led
from toolkit.venue.engine.commands import Outcome, TxCode
from toolkit.venue.model.constants import DAY, RATE
from toolkit.venue.programs import builders, referrals, vaults
from toolkit.venue.risk.ledger import LP_VAULT

MICRO = 1_000_000


def text(micro: int) -> str:
    return f"{micro // MICRO}.{micro % MICRO:06d}"


def create(play: Led, beyond: int) -> Outcome:
    """A vault begins with 100 USDC."""
    return play.act("joe", type="vaultCreate", name="V", description="", amount=text(100 * MICRO - beyond), **USDC)


def create_with_all(play: Led, beyond: int) -> Outcome:
    """Its first deposit and a fee of 100 USDC are what the owner has."""
    play.fund(text(200 * MICRO - beyond), "kim")
    return play.act("kim", type="vaultCreate", name="V", description="", amount="100", **USDC)


def five_vaults(play: Led, beyond: int) -> Outcome:
    for _ in range(3 + beyond):
        play.create("lea", 100)
    return play.act("lea", type="vaultCreate", name="V", description="", amount="100", **USDC)


def ten_sub_vaults(play: Led, beyond: int) -> Outcome:
    for _ in range(9 + beyond):
        assert play.do("lea", play.vault, type="vaultCreateSubVault").code == 0
    return play.do("lea", play.vault, type="vaultCreateSubVault")


def deposit_all(play: Led, beyond: int) -> Outcome:
    play.fund(300, "kim")
    return play.act("kim", type="vaultDeposit", vault=play.vault, amount=text(300 * MICRO + beyond), **USDC)


def leave_with_all(play: Led, beyond: int) -> Outcome:
    share = play.join("joe", 300)
    return play.leave("joe", text(int(float(share)) * MICRO + beyond))


def leave_before_the_lock_ends(play: Led, beyond: int) -> Outcome:
    """The LP vault's deposits are locked for four days."""
    assert play.act("joe", type="vaultDeposit", vault=LP_VAULT, amount="1000", **USDC).code == 0
    play.advance(4 * DAY - beyond)
    return play.act("joe", type="vaultWithdraw", vault=LP_VAULT, share="1000", **USDC)


def set_aside(play: Led, beyond: int) -> Outcome:
    amount = text(100_000 * MICRO + beyond)
    return play.do("lea", play.vault, type="vaultPreWithdraw", amount=amount, **USDC)


def bring_back(play: Led, beyond: int) -> Outcome:
    assert play.do("lea", play.vault, type="vaultPreWithdraw", amount="40", **USDC).code == 0
    move = {"from": play.vault, "to": play.vault, "amount": text(40 * MICRO + beyond)}
    return play.do("lea", play.vault, type="vaultRebalance", **move, **USDC)


def to_a_sub_vault(play: Led, beyond: int) -> Outcome:
    child = str(play.do("lea", play.vault, type="vaultCreateSubVault").data["vault"]).lower()
    move = {"from": play.vault, "to": child, "amount": text(100_000 * MICRO + beyond)}
    return play.do("lea", play.vault, type="vaultRebalance", **move, **USDC)


def leave_with_what_is_free(play: Led, beyond: int) -> Outcome:
    """Cash that a position uses as margin pays nobody out; what was set aside does."""
    play.join("joe", 100_000)
    play.trade_of_vault("BUY", "50", 60_000)
    assert play.do("lea", play.vault, type="vaultPreWithdraw", amount="1000", **USDC).code == 0
    free = play.record.reserve + vaults.account_margin.withdrawable(play.core, play.core.state.accounts[play.vault])
    worth = vaults.value(play.core, play.record)
    share = next(
        each
        for each in range(free * play.record.shares // worth + 2, 0, -1)
        if vaults.worth(play.core, play.record, each) <= free
    )
    return play.leave("joe", text(share + beyond))


def withdraw_all(play: Led, beyond: int) -> Outcome:
    play.fund(300, "kim")
    return play.withdraw("kim", text(300 * MICRO + beyond))


def withdraw_little(play: Led, beyond: int) -> Outcome:
    return play.withdraw("joe", text(2 * MICRO - beyond))


def claim_again(play: Led, beyond: int) -> Outcome:
    assert play.act("joe", type="faucetClaim").code == 0
    play.advance(DAY - beyond)
    return play.act("joe", type="faucetClaim")


Case = tuple[Callable[[Led, int], Outcome], TxCode]
CASES: list[Case] = [
    (create, TxCode.VAULT_AMOUNT_TOO_SMALL),
    (create_with_all, TxCode.INSUFFICIENT_BALANCE),
    (five_vaults, TxCode.TOO_MANY_VAULTS),
    (ten_sub_vaults, TxCode.TOO_MANY_VAULTS),
    (deposit_all, TxCode.INSUFFICIENT_BALANCE),
    (leave_with_all, TxCode.SHARES_NOT_HELD),
    (leave_before_the_lock_ends, TxCode.SHARES_LOCKED),
    (set_aside, TxCode.INSUFFICIENT_BALANCE),
    (bring_back, TxCode.INSUFFICIENT_VAULT_CASH),
    (to_a_sub_vault, TxCode.INSUFFICIENT_BALANCE),
    (leave_with_what_is_free, TxCode.INSUFFICIENT_VAULT_CASH),
    (withdraw_all, TxCode.INSUFFICIENT_BALANCE),
    (withdraw_little, TxCode.WITHDRAWAL_TOO_SMALL),
    (claim_again, TxCode.FAUCET_CLAIMED),
]


@pytest.mark.parametrize(("case", "reason"), CASES, ids=[case.__name__ for case, _ in CASES])
def test_what_just_fits_is_accepted_and_the_next_step_is_refused(
    case: Callable[[Led, int], Outcome], reason: TxCode
) -> None:
    accepted = case(Led(), 0)
    assert accepted.code == 0, accepted.message
    refused = case(Led(), 1)
    assert refused.data is not None
    assert refused.data["txCode"] == reason, refused.message


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    made.venue.close()


def test_a_builder_takes_up_to_exactly_what_was_authorised_and_that_up_to_the_cap(desk: Desk) -> None:
    assert builders.FEE_CAP == RATE // 1_000
    agent = desk.builder(cap="0.00099999")
    action = {"type": "placeBuilderOrder", "order": desk.item("BUY", "0.01"), "builder": desk.masters[1].address}
    for rate, reason in (("0.00099999", 0), ("0.001", TxCode.FEE_RATE_ABOVE_GRANT), ("0", 0)):
        assert agent.do(desk.venue, {**action, "builderFeeRate": rate})["data"]["txCode"] == reason
    permit = {"type": "approveAgentToBuilder", "agentAddress": agent.address, "validitySeconds": 60}
    permit |= {"builderAddress": desk.masters[1].address, "dexChain": "Testnet"}
    for rate, reason in (("0.00100001", TxCode.FEE_RATE_ABOVE_CAP), ("0.001", 0)):
        assert desk.masters[0].do(desk.venue, {**permit, "maxFeeRate": rate})["data"]["txCode"] == reason
    desk.venue.advance("60s")
    assert agent.do(desk.venue, {**action, "builderFeeRate": "0.001"})["code"] == 0
    desk.venue.advance("1ms")
    assert agent.do(desk.venue, {**action, "builderFeeRate": "0"})["code"] == 40204


@pytest.mark.parametrize(("floor", "per_cent"), referrals.TIERS[1:])
def test_a_rebate_grows_at_exactly_the_volume_of_its_tier(desk: Desk, floor: int, per_cent: int) -> None:
    core, inviter = desk.venue.host.core, desk.masters[0].address.lower()
    code = {"type": "bindReferral", "referralCode": referrals.code_of(inviter)}
    assert desk.agents[1].do(desk.venue, code)["code"] == 0
    volumes = core.state.accounts[desk.masters[1].address.lower()].volumes
    mine, yesterday = referrals.referral(core, inviter), core.state.time // DAY - 1
    lower = max(share for least, share in referrals.TIERS if least < floor)
    for volume, share in ((floor * MICRO - 1, lower), (floor * MICRO, per_cent)):
        volumes[yesterday] = volume
        assert referrals.present_rate(core, mine) == share * RATE // 100
