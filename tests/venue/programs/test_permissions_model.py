"""The state machine of permissions against a small model: agents, builders, authorisations, time."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.venue.wallets import Signer
from toolkit.venue import development
from toolkit.venue.engine.commands import TxCode
from toolkit.venue.local import LocalVenue
from toolkit.venue.model.genesis import Config, Genesis
from toolkit.venue.programs import builders, permissions

SECOND = 1_000
WEEK = 7 * 86_400
ZERO = permissions.ZERO_ADDRESS

MASTERS = st.sampled_from(range(3))
WALLETS = st.sampled_from([0, 1, 2, 10, 11, 12, 13])
"""Masters 0–2 have accounts; the others only ever are agents."""
NAMES = st.sampled_from(["bot", "desk"])
VALIDITY = st.sampled_from([0, 60, 3_600, 365 * 86_400])
RATES = st.sampled_from(["0.00000001", "0.0005", "0.001", "0.00100001"])


@dataclass
class Permit:
    """One approval (`who` is the agent's name) or authorisation (`who` is the builder's index)."""

    account: int
    agent: int
    who: str | int
    expires: int
    cap: float = 0.0
    ended: bool = False


class Authorisations(RuleBasedStateMachine):
    """Random steps on a venue and on the model, which must answer alike."""

    @initialize()
    def begin(self) -> None:
        rare = Genesis(config=Config(price_interval=86_400_000))  # prices don't matter here, and weeks pass
        self.venue = LocalVenue(clock="manual", market=False, accounts=3, config=rare)
        self.wallets = {index: Signer(development.account(index)) for index in (0, 1, 2, 10, 11, 12, 13)}
        self.approvals: list[Permit] = []
        self.grants: list[Permit] = []
        self.builders: set[int] = set()
        self.last_action = ""

    # the model

    @property
    def now(self) -> int:
        return self.venue.host.now_ms()

    def _active(self, permits: list[Permit], agent: int) -> Permit | None:
        found = [each for each in permits if each.agent == agent and not each.ended and self.now <= each.expires]
        return found[-1] if found else None

    def _grant_of_trader(self, trader: int) -> Permit | None:
        found = [each for each in self.grants if each.account == trader and not each.ended]
        return found[-1] if found and self.now <= found[-1].expires else None

    def _do(self, wallet: int, action: dict[str, object], wire: int, reason: int = 0) -> None:
        answer = self.wallets[wallet].do(self.venue, action)
        assert answer["code"] == wire, (answer, action)
        if wire == 40230:
            assert answer["data"]["txCode"] == reason, answer
        if wire == 40204:
            assert self.wallets[wallet].address in answer["message"]

    def _acted_for(self, account: int) -> None:
        last = self.venue.host.core.state.history.transactions.records[-1]
        assert last.address == self.wallets[account].address.lower()

    # agents

    @rule(master=WALLETS, agent=WALLETS, name=NAMES, validity=VALIDITY)
    def approve(self, master: int, agent: int, name: str, validity: int) -> None:
        held, grant = self._active(self.approvals, agent), self._active(self.grants, agent)
        action = {
            "type": "approveAgent",
            "agentAddress": self.wallets[agent].address,
            "agentName": name,
            "validitySeconds": validity,
            "dexChain": "Testnet",
        }
        if master not in (0, 1, 2):
            self._do(master, action, 40204)
        elif agent == master:
            self._do(master, action, 40230, TxCode.AGENT_IS_ACCOUNT)
        elif held and held.account != master:
            self._do(master, action, 40230, TxCode.AGENT_TAKEN)
        elif grant and grant.account == master:
            self._do(master, action, 40230, TxCode.AGENT_OF_BUILDER)
        else:
            self._do(master, action, 0)
            self._end(self.approvals, master, name)
            self.approvals.append(Permit(master, agent, name, self.now + (validity or WEEK) * SECOND))

    def _end(self, permits: list[Permit], account: int, who: str | int) -> bool:
        found = [
            each
            for each in permits
            if each.account == account and each.who == who and not each.ended and self.now <= each.expires
        ]
        for each in found:
            each.ended = True
        return bool(found)

    @rule(master=MASTERS, name=NAMES)
    def revoke(self, master: int, name: str) -> None:
        action = {
            "type": "approveAgent",
            "agentAddress": ZERO,
            "agentName": name,
            "validitySeconds": 0,
            "dexChain": "Testnet",
        }
        if self._end(self.approvals, master, name):
            self._do(master, action, 0)
        else:
            self._do(master, action, 40230, TxCode.UNKNOWN_AGENT)

    @rule(wallet=WALLETS)
    def trade(self, wallet: int) -> None:
        held = self._active(self.approvals, wallet)
        self._do(wallet, {"type": "cancelAll", "symbolCode": 1}, 0 if held else 40204)
        if held:
            self._acted_for(held.account)

    @rule(wallet=WALLETS)
    def withdraw(self, wallet: int) -> None:
        action = {"type": "withdraw", "destination": self.wallets[0].address, "amount": "2"}
        self._do(wallet, action, 0 if wallet in (0, 1, 2) else 40204)

    # builders

    @rule(builder=WALLETS)
    def register(self, builder: int) -> None:
        action = {"type": "registerBuilder", "name": "Acme", "dexChain": "Testnet"}
        if builder not in (0, 1, 2):
            self._do(builder, action, 40204)
        elif builder in self.builders:
            self._do(builder, action, 40230, TxCode.BUILDER_REGISTERED)
        else:
            self._do(builder, action, 0)
            self.builders.add(builder)

    @rule(trader=MASTERS, agent=WALLETS, builder=MASTERS, cap=RATES, validity=VALIDITY)
    def authorise(self, trader: int, agent: int, builder: int, cap: str, validity: int) -> None:
        action = {
            "type": "approveAgentToBuilder",
            "agentAddress": self.wallets[agent].address,
            "builderAddress": self.wallets[builder].address,
            "maxFeeRate": cap,
            "validitySeconds": validity,
            "dexChain": "Testnet",
        }
        held, grant = self._active(self.approvals, agent), self._active(self.grants, agent)
        reason = 0
        if float(cap) > 0.001:
            reason = TxCode.FEE_RATE_ABOVE_CAP
        elif builder not in self.builders:
            reason = TxCode.UNKNOWN_BUILDER
        elif builder == trader:
            reason = TxCode.BUILDER_IS_TRADER
        elif agent in (trader, builder):
            reason = TxCode.AGENT_IS_MASTER
        elif held and held.account == trader:
            reason = TxCode.AGENT_OF_TRADER
        elif grant and grant.account != trader:
            reason = TxCode.AGENT_OF_OTHER_TRADER
        self._do(trader, action, 40230 if reason else 0, reason)
        if not reason:
            before = self._grant_of_trader(trader)
            if before:
                before.ended = True
            self.grants.append(Permit(trader, agent, builder, self.now + (validity or WEEK) * SECOND, float(cap)))

    @rule(trader=MASTERS)
    def end_authorisation(self, trader: int) -> None:
        grant = self._grant_of_trader(trader)
        action = {"type": "revokeAgentToBuilder", "dexChain": "Testnet"}
        self._do(trader, action, 0 if grant else 40230, TxCode.NO_BUILDER_GRANT)
        if grant:
            grant.ended = True

    @rule(agent=WALLETS, builder=MASTERS, rate=st.sampled_from(["0", "0.0005", "0.001"]))
    def place(self, agent: int, builder: int, rate: str) -> None:
        item = {
            "symbolCode": 1,
            "ordPx": "30000",
            "ordQty": "0.001",
            "ordType": "LIMIT",
            "ordSide": "BUY",
            "timeInForce": "GTC",
        }
        action = {
            "type": "placeBuilderOrder",
            "order": item,
            "builder": self.wallets[builder].address,
            "builderFeeRate": rate,
        }
        grant = self._active(self.grants, agent)
        if grant is None:
            self._do(agent, action, 40204)
        elif grant.who != builder:
            self._do(agent, action, 40230, TxCode.WRONG_BUILDER)
        elif float(rate) > grant.cap:
            self._do(agent, action, 40230, TxCode.FEE_RATE_ABOVE_GRANT)
        else:
            self._do(agent, action, 0)
            self._acted_for(grant.account)

    # time

    @rule(span=st.sampled_from(["1s", "59s", "60s", "1h", "7d"]))
    def pass_time(self, span: str) -> None:
        self.venue.advance(span)

    @precondition(lambda self: self.approvals or self.grants)
    @rule()
    def dump_and_load(self) -> None:
        number = self.venue.snapshot()
        before = self.venue.control.state_hash()
        self.venue.revert(number)
        assert self.venue.control.state_hash() == before

    @invariant()
    def queries_tell_the_model(self) -> None:
        core = self.venue.host.core
        for master in (0, 1, 2):
            address = self.wallets[master].address
            rows = permissions.agents(core, address)
            mine = [each for each in self.approvals if each.account == master]
            assert len(rows) == len(mine)
            for row, permit in zip(reversed(rows), mine, strict=True):
                alive = not permit.ended and self.now <= permit.expires
                assert row["agentAddress"] == self.wallets[permit.agent].address
                assert row["status"] == ("ACTIVE" if alive else "REVOKED")
            known = builders.builder_agents(core, address)
            active = [
                each for each in self.grants if each.who == master and not each.ended and self.now <= each.expires
            ]
            assert len(known) == len(active)

    def teardown(self) -> None:
        if hasattr(self, "venue"):
            self.venue.close()


Authorisations.TestCase.settings = settings(max_examples=15, stateful_step_count=40)
TestAuthorisations = Authorisations.TestCase
