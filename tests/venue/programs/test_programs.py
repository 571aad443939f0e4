"""Builders, vaults and referrals with real requests: who pays whom, what is refused, and that the books close."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.venue.wallets import Signer
from toolkit.protocol.actions import ACTIONS, Action
from toolkit.venue import development
from toolkit.venue.engine.commands import SIGNATURE, Submit, TxCode, WireError
from toolkit.venue.local import LocalVenue
from toolkit.venue.model.genesis import Config, Genesis
from toolkit.venue.programs import referrals
from toolkit.venue.risk.ledger import FEES, INSURANCE, LP_VAULT, REFERRALS, RESERVES

USDC = 1_000_000
RARE = Genesis(config=Config(price_interval=86_400_000))
"""Prices that stand still, so that the numbers of these tests do."""


def mark(venue: LocalVenue) -> str:
    """Return the BTC mark price as text."""
    return venue.host.core.products[1].price_text(venue.host.core.state.markets[1].mark)


class Desk:
    """A venue with masters 0–3, each with an agent, and short ways to say what they do."""

    def __init__(self) -> None:
        self.venue = LocalVenue(clock="manual", market=False, accounts=4, config=RARE)
        self.masters = [Signer(development.account(index)) for index in range(4)]
        self.agents = [Signer(development.account(10 + index)) for index in range(4)]
        for master, agent in zip(self.masters, self.agents, strict=True):
            assert self.approve(master, agent)["code"] == 0
        self.mark = mark(self.venue)

    def approve(self, master: Signer, agent: Signer, **more: Any) -> dict[str, Any]:
        action = {"type": "approveAgent", "agentAddress": agent.address, "agentName": "bot", "validitySeconds": 0}
        return master.do(self.venue, {**action, "dexChain": "Testnet", **more})

    def builder(self, trader: int = 0, builder: int = 1, agent: int = 20, cap: str = "0.001") -> Signer:
        """Register a builder and authorise an agent of it; return that agent's wallet."""
        self.masters[builder].do(self.venue, {"type": "registerBuilder", "name": "Acme", "dexChain": "Testnet"})
        signer = Signer(development.account(agent))
        action = {
            "type": "approveAgentToBuilder",
            "agentAddress": signer.address,
            "builderAddress": self.masters[builder].address,
            "maxFeeRate": cap,
            "validitySeconds": 0,
            "dexChain": "Testnet",
        }
        assert self.masters[trader].do(self.venue, action)["code"] == 0
        return signer

    def item(self, side: str, quantity: str, price: str = "", **more: Any) -> dict[str, Any]:
        limit = {"ordPx": price or self.mark, "ordType": "LIMIT", "timeInForce": "GTC"}
        return {"symbolCode": 1, "ordQty": quantity, "ordSide": side, **limit, **more}

    def place(self, who: int, side: str, quantity: str, price: str = "", **envelope: Any) -> dict[str, Any]:
        action = {"type": "placeOrder", "orders": [self.item(side, quantity, price)]}
        return self.agents[who].do(self.venue, action, **envelope)

    def balance(self, address: str) -> int:
        return self.venue.host.core.state.accounts[address.lower()].balance

    def vault(self, who: int = 0, amount: str = "1000") -> str:
        action = {"type": "vaultCreate", "name": "V", "description": "d", "amount": amount, "currencyCode": 1}
        answer = self.agents[who].do(self.venue, action)
        assert answer["code"] == 0, answer
        return str(answer["data"]["vault"])

    def join(self, who: int, vault: str, amount: str) -> dict[str, Any]:
        action = {"type": "vaultDeposit", "vault": vault, "amount": amount, "currencyCode": 1}
        return self.agents[who].do(self.venue, action)

    def leave(self, who: int, vault: str, share: str) -> dict[str, Any]:
        action = {"type": "vaultWithdraw", "vault": vault, "share": share, "currencyCode": 1}
        return self.agents[who].do(self.venue, action)

    def info(self, path: str, query: str) -> Any:
        return json.loads(self.venue.host.gateway.handle("GET", path, query).body)["data"]

    def check_books(self) -> None:
        """Invariant 1: all balances and isolated margins are what came in less what left."""
        state = self.venue.host.core.state
        total = sum(
            account.balance + sum(position.assigned for position in account.positions.values())
            for account in state.accounts.values()
        )
        assert total == state.deposits - state.withdrawals
        reserves = sum(vault.reserve for vault in state.vaults.values())
        assert self.balance(RESERVES) == reserves
        due = sum(sum(each.due.values()) for each in state.referrals.accounts.values())
        assert self.balance(REFERRALS) == due
        for vault in state.vaults.values():
            assert vault.shares == sum(holding.shares for holding in vault.holders.values())


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    made.check_books()
    made.venue.close()


@pytest.fixture(scope="module")
def shared() -> Iterator[Desk]:
    """A desk for the examples of a property, each of which takes back what it did."""
    made = Desk()
    yield made
    made.venue.close()


def refused(answer: dict[str, Any], reason: int) -> str:
    assert (answer["code"], answer["data"]["txCode"]) == (40230, reason), answer
    assert answer["data"]["txMsg"] == answer["message"]
    return str(answer["message"])


# builders


def test_a_builder_is_paid_on_fills_by_the_trader_on_top_of_the_trading_fee(desk: Desk) -> None:
    agent, builder = desk.builder(), desk.masters[1].address
    trader = desk.masters[0].address
    before = desk.balance(builder), desk.balance(trader), desk.balance(FEES)
    action = {
        "type": "placeBuilderOrder",
        "order": desk.item("BUY", "0.1"),
        "builder": builder,
        "builderFeeRate": "0.0005",
    }
    assert agent.do(desk.venue, action)["code"] == 0
    assert desk.balance(builder) == before[0], "nothing is paid before a fill"
    assert desk.place(2, "SELL", "0.1")["code"] == 0
    value = int(float(desk.mark) * 0.1 * USDC)
    assert desk.balance(builder) - before[0] == value * 5 // 10_000
    assert before[1] - desk.balance(trader) == value // 10_000 + value * 5 // 10_000
    assert desk.balance(FEES) - before[2] == value // 10_000 + value * 6 // 10_000
    rows = desk.info("/info/account/ledger", f"userAddr={builder}")["items"]
    assert rows[0]["bizType"] == "BUILDER_FEE"
    [fill] = desk.info("/info/trade/page", f"userAddr={trader}")["items"]
    assert float(fill["openFee"]) > 0


def test_a_builder_bracket_is_placed_for_the_trader(desk: Desk) -> None:
    agent = desk.builder()
    price = float(desk.mark)
    closing = {"triggerPx": f"{price * 1.1:.1f}", "tpslTriggerType": "MARK_PRICE", "reduceOnly": "TP_FROM_POSITION"}
    action = {
        "type": "placeBuilderBracketOrder",
        "orders": [desk.item("BUY", "0.1"), desk.item("SELL", "0.1", f"{price * 1.1:.1f}", **closing)],
        "builder": desk.masters[1].address,
        "builderFeeRate": "0.0001",
    }
    answer = agent.do(desk.venue, action)
    assert answer["code"] == 0, answer
    assert len(desk.venue.host.core.state.accounts[desk.masters[0].address.lower()].orders) == 2


def test_the_rates_and_orders_of_a_builder_have_their_own_refusals(desk: Desk) -> None:
    venue, trader, builder = desk.venue, desk.masters[0], desk.masters[1]
    register = {"type": "registerBuilder", "name": "Acme", "dexChain": "Testnet"}
    permit = {
        "type": "approveAgentToBuilder",
        "agentAddress": development.account(20).address,
        "builderAddress": builder.address,
        "maxFeeRate": "0.0005",
        "validitySeconds": 60,
        "dexChain": "Testnet",
    }
    assert builder.do(venue, register)["code"] == 0
    assert "Acme" in refused(builder.do(venue, register), TxCode.BUILDER_REGISTERED)
    text = refused(trader.do(venue, {**permit, "maxFeeRate": "0.0011"}), TxCode.FEE_RATE_ABOVE_CAP)
    assert "maxFeeRate 0.0011 is above the environment's cap 0.001" in text
    for fine in ("0.000000001", "0.001" + "0" * 34 + "1"):
        refused(trader.do(venue, {**permit, "maxFeeRate": fine}), TxCode.FEE_RATE_TOO_PRECISE)
    assert trader.do(venue, permit)["code"] == 0
    agent = Signer(development.account(20))
    order = {
        "type": "placeBuilderOrder",
        "order": desk.item("BUY", "0.01"),
        "builder": builder.address,
        "builderFeeRate": "0.0006",
    }
    assert "above the authorisation's maxFeeRate 0.0005" in refused(agent.do(venue, order), TxCode.FEE_RATE_ABOVE_GRANT)
    [event] = desk.info("/info/order/events", f"userAddr={trader.address}")["items"]
    assert event["execStatus"] == "REJECTED"
    order["builderFeeRate"] = "0.0005"
    refused(agent.do(venue, {**order, "builder": trader.address}), TxCode.WRONG_BUILDER)
    both = {**order, "order": desk.item("SELL", "0.01", reduceOnly="REDUCE_ONLY", reduceOnlyOption="TP_FROM_POSITION")}
    answer = agent.post(venue, order)
    assert answer.status == 200
    with pytest.raises(ValueError, match="reduceOnly"):
        agent.request(both)


# the boundary of permissions


def test_an_agent_trades_and_never_withdraws_approves_or_claims(desk: Desk) -> None:
    agent, own = desk.agents[0], desk.masters[0]
    for action in (
        {"type": "withdraw", "destination": agent.address, "amount": "5"},
        {"type": "registerBuilder", "name": "x", "dexChain": "Testnet"},
        {"type": "revokeAgentToBuilder", "dexChain": "Testnet"},
        {"type": "faucetClaim"},
    ):
        answer = agent.do(desk.venue, action)
        assert answer["code"] == 40204
        assert f'agent "bot" of {own.address}' in answer["message"]
        assert "Sign with the master wallet" in answer["message"]
    answer = own.do(desk.venue, {"type": "cancelAll", "symbolCode": 1})
    assert answer["code"] == 40204
    assert "It is a master wallet, and cancelAll is signed by an agent" in answer["message"]


@pytest.mark.parametrize("action", ACTIONS.values(), ids=lambda action: action.type)
def test_who_may_sign_an_action_follows_from_its_declaration(desk: Desk, action: Action) -> None:
    signers = {"master": desk.masters[0], "agent": desk.agents[0], "builder's agent": desk.builder()}
    expected = {"Agent": "agent", "Builder agent": "builder's agent"}.get(action.signer, "master")
    core = desk.venue.host.core
    for kind, signer in signers.items():
        submit = Submit(core.state.time, {"type": action.type}, signer.address.lower(), 1)
        if kind == expected:
            assert core.authorize(core, submit).account.address == desk.masters[0].address.lower()
        else:
            with pytest.raises(WireError) as caught:
                core.authorize(core, submit)
            assert caught.value.code == SIGNATURE


def test_the_faucet_gives_500_once_a_day_and_makes_the_account(desk: Desk) -> None:
    stranger = Signer(development.account(40))
    assert stranger.do(desk.venue, {"type": "faucetClaim"})["code"] == 0
    assert desk.balance(stranger.address) == 500 * USDC
    text = refused(stranger.do(desk.venue, {"type": "faucetClaim"}), TxCode.FAUCET_CLAIMED)
    assert re.search(r"It can be claimed again at 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC", text)
    desk.venue.advance("24h")
    assert stranger.do(desk.venue, {"type": "faucetClaim"})["code"] == 0


# vaults


def test_only_the_owners_agents_act_for_a_vault_and_ownership_can_be_handed_on(desk: Desk) -> None:
    vault = desk.vault()
    trade = {"type": "cancelAll", "symbolCode": 1}
    assert desk.agents[0].do(desk.venue, trade, vault=vault)["code"] == 0
    refused(desk.agents[1].do(desk.venue, trade, vault=vault), TxCode.NOT_VAULT_OWNER)
    refused(desk.agents[0].do(desk.venue, trade, vault=LP_VAULT), TxCode.NOT_VAULT_OWNER)
    refused(desk.agents[0].do(desk.venue, trade, vault="0x" + "ab" * 20), 6001)
    hand = {"type": "vaultUpdateOwner", "owner": development.account(50).address}
    refused(desk.agents[0].do(desk.venue, hand, vault=vault), TxCode.UNKNOWN_VAULT_OWNER)
    hand["owner"] = desk.masters[1].address
    assert desk.agents[0].do(desk.venue, hand, vault=vault)["code"] == 0
    refused(desk.agents[0].do(desk.venue, trade, vault=vault), TxCode.NOT_VAULT_OWNER)
    assert desk.agents[1].do(desk.venue, trade, vault=vault)["code"] == 0


def test_nobody_acts_for_a_banned_vault(desk: Desk) -> None:
    vault, trade = desk.vault(), {"type": "cancelAll", "symbolCode": 1}
    desk.venue.control.ban(vault)
    answer = desk.agents[0].do(desk.venue, trade, vault=vault)
    assert (answer["code"], answer["message"]) == (40281, f"address {vault.lower()} is banned")
    assert desk.agents[0].do(desk.venue, trade)["code"] == 0
    desk.venue.control.unban(vault)
    assert desk.agents[0].do(desk.venue, trade, vault=vault)["code"] == 0


def test_cash_is_set_aside_for_withdrawals_and_moved_between_sub_vaults(desk: Desk) -> None:
    vault, agent = desk.vault(), desk.agents[0]
    child = str(agent.do(desk.venue, {"type": "vaultCreateSubVault"}, vault=vault)["data"]["vault"])
    move = {"type": "vaultRebalance", "from": vault, "to": child, "amount": "600", "currencyCode": 1}
    assert agent.do(desk.venue, move)["code"] == 0
    assert desk.balance(child) == 600 * USDC
    assert desk.info("/info/vault/detail", f"vaultAddress={vault}")["tvl"] == "1000"
    aside = {"type": "vaultPreWithdraw", "amount": "300", "currencyCode": 1}
    assert agent.do(desk.venue, aside, vault=vault)["code"] == 0
    refused(agent.do(desk.venue, {**aside, "amount": "101"}, vault=vault), TxCode.INSUFFICIENT_BALANCE)
    assert "400 of the vault is free" in refused(desk.leave(0, vault, "400.000001"), TxCode.INSUFFICIENT_VAULT_CASH)
    assert desk.leave(0, vault, "350")["code"] == 0
    assert desk.balance(vault) == 50 * USDC
    back = {**move, "from": vault, "to": vault}
    refused(agent.do(desk.venue, back), TxCode.INSUFFICIENT_VAULT_CASH)
    refused(agent.do(desk.venue, {**move, "to": desk.vault(1, "100")}), TxCode.UNRELATED_VAULTS)
    refused(desk.agents[1].do(desk.venue, move), TxCode.NOT_VAULT_OWNER)
    refused(desk.join(1, child, "10"), TxCode.IS_SUB_VAULT)
    refused(agent.do(desk.venue, {"type": "vaultCreateSubVault"}, vault=child), TxCode.IS_SUB_VAULT)
    assert agent.do(desk.venue, {"type": "vaultClose"}, vault=child)["code"] == 0
    assert desk.balance(vault) == 650 * USDC
    assert agent.do(desk.venue, {"type": "vaultClose"}, vault=vault)["code"] == 0
    assert desk.balance(desk.masters[0].address) == 9_900 * USDC


def test_who_joins_a_vault_of_few_dear_shares_does_not_pay_for_the_others(desk: Desk) -> None:
    vault = desk.vault(0, "100")
    assert desk.leave(0, vault, "99.999999")["code"] == 0
    desk.venue.control.fund(vault, "1000")
    text = refused(desk.join(1, vault, "1999"), TxCode.SHARE_TOO_COARSE)
    assert text.startswith(
        "a millionth of a share is worth 1000.000001 USDC, so the other depositors would get 998.999999 of 1999 USDC"
    )
    assert desk.join(1, vault, "1000.000001")["data"]["share"] == "0.000001", "nothing is lost"
    desk.venue.control.fund(vault, "900000000000")
    assert desk.info("/info/vault/detail", f"vaultAddress={vault}")["price"] == "1000000000000"
    desk.venue.advance("2h")
    desk.venue.control.state_hash()


def test_leaders_actions_are_for_vaults_that_are_led_and_open(desk: Desk) -> None:
    control, leader = desk.venue.control, desk.masters[0].address
    vault = desk.vault()
    join = {"type": "vaultDeposit", "vault": vault, "amount": "5", "currencyCode": 1}
    assert control.act(vault, join)["txCode"] == TxCode.ACCOUNT_IS_VAULT
    create = {"type": "vaultCreate", "name": "x", "description": "", "amount": "100", "currencyCode": 1}
    assert control.act(vault, create)["txCode"] == TxCode.ACCOUNT_IS_VAULT
    assert control.act(LP_VAULT, {"type": "vaultClose"})["txCode"] == TxCode.NOT_VAULT_OWNER
    assert control.act(vault, {"type": "vaultClose"})["code"] == 0
    assert control.act(vault, {"type": "vaultClose"})["txCode"] == TxCode.VAULT_CLOSED
    amount = {"amount": "1", "currencyCode": 1}
    for action in ({"type": "vaultClose"}, {"type": "vaultCreateSubVault"}, {"type": "vaultPreWithdraw", **amount}):
        assert control.act(leader, action)["txCode"] == TxCode.WRONG_VAULT_CONTEXT
    assert control.act(leader, {"type": "vaultUpdateOwner", "owner": leader})["txCode"] == TxCode.WRONG_VAULT_CONTEXT


def test_the_lp_vault_locks_deposits_for_four_days_and_takes_no_part_of_the_gain(desk: Desk) -> None:
    row = desk.info("/info/vault/detail", f"vaultAddress={LP_VAULT}")
    assert (row["tvl"], row["price"], row["ownerAddress"]) == ("1000000", "1", "")
    assert desk.join(1, LP_VAULT, "1000")["data"]["share"] == "1000"
    assert "locked until 2026-01-05 " in refused(desk.leave(1, LP_VAULT, "1000"), TxCode.SHARES_LOCKED)
    refused(desk.leave(2, LP_VAULT, "1"), TxCode.SHARES_NOT_HELD)
    desk.venue.advance("4d")
    assert desk.leave(1, LP_VAULT, "1000")["code"] == 0
    assert desk.balance(desk.masters[1].address) == 10_000 * USDC
    assert list(desk.venue.host.core.state.vaults[LP_VAULT].holders) == [INSURANCE]
    points = desk.info("/info/vault/history", f"vaultAddress={LP_VAULT}&interval=all-time")
    assert len(points) == 4 * 24 + 1


@pytest.mark.slow
def test_the_yearly_return_of_a_vault_is_that_of_its_last_30_days(desk: Desk) -> None:
    vault = desk.vault(0, "1000")
    row = f"vaultAddress={vault}"
    assert desk.info("/info/vault/detail", row)["apr"] == "0"
    desk.venue.advance("10d")
    desk.venue.control.fund(address=vault, amount="10")
    assert float(desk.info("/info/vault/detail", row)["apr"]) == pytest.approx(0.01 * 365 / 10, rel=1e-5)
    desk.venue.advance("40d")
    desk.venue.control.fund(address=vault, amount="101")
    assert float(desk.info("/info/vault/detail", row)["apr"]) == pytest.approx(0.1 * 365 / 30, rel=1e-3)
    month = desk.info("/info/vault/history", f"{row}&interval=30d&type=pnl")
    assert len(month) == 30 * 24 + 2
    assert (month[0]["value"], month[-1]["value"]) == ("10", "111")


@given(
    steps=st.lists(
        st.tuples(st.sampled_from([1, 2, 3]), st.integers(1, 3_000_000_000), st.integers(-400, 600)), max_size=8
    )
)
def test_whatever_happens_to_a_vault_nobody_gains_by_joining_and_leaving(
    shared: Desk, steps: list[tuple[int, int, int]]
) -> None:
    desk, number = shared, shared.venue.snapshot()
    vault = desk.vault(0, "1000")
    for who, amount, profit in steps:
        before = desk.balance(desk.masters[who].address)
        joined = desk.join(who, vault, f"{amount / USDC:.6f}")
        if joined["code"] == 0 and profit % 2:
            assert desk.leave(who, vault, joined["data"]["share"])["code"] == 0
            assert desk.balance(desk.masters[who].address) <= before
        elif profit > 0:
            desk.venue.control.fund(address=vault, amount=str(profit))
    desk.check_books()
    holders = desk.venue.host.core.state.vaults[vault.lower()].holders
    worths = desk.info("/info/vault/depositors", f"vaultAddress={vault}")
    assert len(worths) == len(holders)
    assert sum(float(row["currentValue"]) for row in worths) <= desk.balance(vault) / USDC + 1e-6
    assert desk.agents[0].do(desk.venue, {"type": "vaultClose"}, vault=vault)["code"] == 0
    assert desk.balance(vault) == 0
    desk.check_books()
    desk.venue.revert(number)


# referrals


def test_a_new_invitees_volume_counts_at_once(desk: Desk) -> None:
    inviter = desk.masters[0].address.lower()
    code = {"type": "bindReferral", "referralCode": referrals.code_of(inviter)}
    assert desk.agents[1].do(desk.venue, code)["code"] == 0
    desk.venue.control.add_liquidity(1, "SELL", desk.mark, "1")
    state = desk.venue.host.core.state
    state.accounts[desk.masters[2].address.lower()].volumes[state.time // 86_400_000 - 1] = 5_000_000 * USDC
    assert desk.place(1, "BUY", "0.01")["code"] == 0
    assert desk.agents[2].do(desk.venue, code)["code"] == 0
    assert desk.info("/info/referral/summary", f"userAddr={inviter}")["rewardRate"] == "0.2"
    before = dict(state.referrals.accounts[inviter].due)
    assert desk.place(1, "BUY", "0.01")["code"] == 0
    payer = desk.masters[1].address.lower()
    assert state.referrals.accounts[inviter].due[payer] == before[payer] * 3, "10 % of a fee, then 20 %"


def test_the_referral_code_of_an_approval_counts_on_the_first_one_only(desk: Desk) -> None:
    code = referrals.code_of(desk.masters[0].address)
    assert desk.approve(desk.masters[1], desk.agents[1], referralCode=code)["code"] == 0
    assert not desk.info("/info/referral/code", f"userAddr={desk.masters[1].address}")["inviterAddress"]
    fresh = Signer(development.account(60))
    assert fresh.do(desk.venue, {"type": "faucetClaim"})["code"] == 0
    agent = Signer(development.account(61))
    refused(desk.approve(fresh, agent, referralCode="nobody"), TxCode.UNKNOWN_REFERRAL_CODE)
    assert desk.approve(fresh, agent, referralCode=code)["code"] == 0
    row = desk.info("/info/referral/code", f"userAddr={fresh.address}")
    assert (row["inviterAddress"], row["inviterCode"]) == (desk.masters[0].address, code)
