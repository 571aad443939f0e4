"""What shares of a vault cost and bring, and whose a vault is: two prices, gains after withdrawals, handovers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.venue.play import BTC, MICRO, Play
from toolkit.venue.engine.commands import Outcome, Submit, TxCode
from toolkit.venue.model.constants import DAY
from toolkit.venue.model.state import Vault
from toolkit.venue.programs import vaults

USDC = {"currencyCode": 1}


class Led(Play):
    """Lea leads a vault of 100,000 USDC; zoe and joe have plenty."""

    def __init__(self) -> None:
        super().__init__(price_interval=DAY)
        self.oracle(60_000)
        self.fund(1_000_000, "lea", "joe", "zoe")
        self.vault = self.create("lea", 100_000)

    def create(self, name: str, amount: int) -> str:
        answer = self.act(name, type="vaultCreate", name="V", description="", amount=str(amount), **USDC)
        assert answer.code == 0, answer.message
        return str(answer.data["vault"]).lower()

    def do(self, name: str, vault: str, /, **action: Any) -> Outcome:
        """Act for a vault as its leader."""
        self.nonce += 1
        return self.watch.apply(Submit(self.now, action, self.address(name), self.nonce, vault=vault))

    def trade_of_vault(self, side: str, quantity: str, price: int) -> None:
        self.placed("zoe", "SELL" if side == "BUY" else "BUY", quantity, price)
        item = {
            "symbolCode": BTC, "ordPx": str(price), "ordQty": quantity, "ordType": "LIMIT", "ordSide": side,
            "timeInForce": "GTC",
        }  # fmt: skip
        answer = self.do("lea", self.vault, type="placeOrder", orders=[item])
        assert answer.code == 0, answer.message

    def join(self, name: str, amount: int) -> str:
        answer = self.act(name, type="vaultDeposit", vault=self.vault, amount=str(amount), **USDC)
        assert answer.code == 0, answer.message
        return str(answer.data["share"])

    def leave(self, name: str, share: str) -> Outcome:
        return self.act(name, type="vaultWithdraw", vault=self.vault, share=share, **USDC)

    @property
    def record(self) -> Vault:
        return self.core.state.vaults[self.vault]

    def mark(self, price: int) -> None:
        """Let the mark follow at last."""
        self.oracle(price)


@pytest.mark.parametrize("side", ["BUY", "SELL"])
@pytest.mark.parametrize("better", [True, False])
def test_nobody_gains_by_joining_or_leaving_before_a_mark_that_is_late(side: str, better: bool) -> None:
    """The book has moved and the mark has not yet: who joins before it, or leaves before it, gets nothing of it."""
    play = Led()
    share = play.join("joe", 100_000)
    play.trade_of_vault(side, "10", 60_000)
    assert play.core.state.markets[BTC].mark == 600_000
    moved = (150 if better else 600) * (1 if (side == "BUY") == better else -1)
    play.placed("zoe", "BUY", "20", 60_000 + moved - 1)
    play.placed("zoe", "SELL", "20", 60_000 + moved + 1)
    before = play.balance("joe")
    # joe holds half of it; the book has moved by about 1,500 or 6,000 USDC of the vault's
    if better:
        other = play.join("joe", 100_000)
        play.mark(60_000 + moved)
        assert play.leave("joe", other).code == 0
        assert before - 700 * MICRO < play.balance("joe") <= before
    else:
        assert play.leave("joe", share).code == 0
        got = play.balance("joe") - before
        play.mark(60_000 + moved)
        rest = vaults.value(play.core, play.record) * 100_000 // 100_000
        assert got <= rest + MICRO, "who stays has as much as who has left"
        assert got < 98_000 * MICRO


@pytest.mark.parametrize("side", ["BUY", "SELL"])
@pytest.mark.parametrize("joins", [True, False])
def test_an_order_far_from_mark_takes_nothing_from_who_joins_or_leaves(side: str, joins: bool) -> None:
    """It sets the price at which a deposit or withdrawal is valued, and is taken back before anybody meets it."""
    play = Led()
    share = play.join("joe", 20_000)
    play.trade_of_vault(side, "10", 60_000)
    away = 0.95 if joins != (side == "BUY") else 1.05
    play.placed("zoe", side, "20", round(60_000 * away))
    before, code = play.balance("joe"), play.core.state.markets[BTC].mark
    with pytest.raises(AssertionError, match="would get the difference"):
        play.join("joe", 20_000) if joins else check(play.leave("joe", share))
    assert (play.balance("joe"), play.core.state.markets[BTC].mark) == (before, code)
    assert play.act("zoe", type="cancelAll", symbolCode=BTC).code == 0
    if joins:
        play.join("joe", 20_000)
    else:
        check(play.leave("joe", share))


def check(outcome: Outcome) -> None:
    assert outcome.code == 0, outcome.message


def test_what_is_shown_of_a_holding_is_what_leaving_would_bring() -> None:
    play = Led()
    share = play.join("joe", 50_000)
    play.trade_of_vault("BUY", "1", 60_000)
    play.placed("zoe", "BUY", "1", 59_000)
    shown = vaults.worth(play.core, play.record, play.record.holders[play.address("joe")].shares)
    before = play.balance("joe")
    assert play.leave("joe", share).code == 0
    assert play.balance("joe") - before == shown


@pytest.mark.parametrize("parts", [1, 2, 4])
@pytest.mark.parametrize("side", ["BUY", "SELL"])
def test_leaving_in_parts_costs_the_leaders_share_of_all_the_gain(side: str, parts: int) -> None:
    play = Led()
    share = play.join("joe", 100_000)
    play.trade_of_vault(side, "1", 60_000)
    play.mark(60_000 + (2_000 if side == "BUY" else -2_000))
    play.placed("zoe", side, "1", 62_000 if side == "BUY" else 58_000)
    out = "SELL" if side == "BUY" else "BUY"
    item = {
        "symbolCode": BTC, "ordPx": "0", "ordQty": "1", "ordType": "MARKET", "ordSide": out, "timeInForce": "IOC",
    }  # fmt: skip
    assert play.do("lea", play.vault, type="placeOrder", orders=[item]).code == 0
    before, lea = play.balance("joe"), play.balance("lea")
    for _ in range(parts):
        check(play.leave("joe", str(int(share) // parts)))
    gain = play.balance("joe") - before - 100_000 * MICRO + play.balance("lea") - lea
    assert 900 * MICRO < gain < 1_000 * MICRO
    assert play.balance("lea") - lea == pytest.approx(gain / 10, abs=10)


def test_sub_vaults_follow_their_vault_to_the_new_leader() -> None:
    play = Led()
    child = str(play.do("lea", play.vault, type="vaultCreateSubVault").data["vault"]).lower()
    assert play.do("lea", play.vault, type="vaultUpdateOwner", owner=play.address("joe")).code == 0
    quiet = {"type": "cancelAll", "symbolCode": BTC, "conditionalOrder": False}
    for vault in (play.vault, child):
        assert play.do("joe", vault, **quiet).code == 0
        assert play.do("lea", vault, **quiet).data["txCode"] == TxCode.NOT_VAULT_OWNER
    handed = play.do("joe", child, type="vaultUpdateOwner", owner=play.address("lea"))
    assert handed.data["txCode"] == TxCode.IS_SUB_VAULT


# the leader's own part


def test_a_leader_with_less_than_a_twentieth_of_its_vault_may_only_reduce() -> None:
    play = Led()
    play.trade_of_vault("BUY", "1", 60_000)
    play.fund(2_000_000, "joe")
    play.join("joe", 1_890_000)
    item = {"symbolCode": BTC, "ordType": "LIMIT", "timeInForce": "GTC", "ordQty": "1", "ordPx": "60000"}
    check(play.do("lea", play.vault, type="placeOrder", orders=[item | {"ordSide": "BUY", "ordQty": "0.1"}]))
    check(play.do("lea", play.vault, type="cancelAll", symbolCode=BTC, conditionalOrder=False))
    play.join("joe", 100_000)
    refused = play.do("lea", play.vault, type="placeOrder", orders=[item | {"ordSide": "BUY"}])
    assert (refused.data["txCode"], "Below 5 % the vault may only reduce" in refused.message) == (6018, True)
    play.placed("zoe", "BUY", "1", 60_000)
    assert play.do("lea", play.vault, type="placeOrder", orders=[item | {"ordSide": "SELL"}]).code == 0
    assert not play.core.account(play.vault).positions[BTC].long.size, "leaving always works"


def test_a_leader_takes_its_own_part_out_when_the_vault_is_flat() -> None:
    play = Led()
    play.join("joe", 100_000)
    play.trade_of_vault("BUY", "1", 60_000)
    refused = play.leave("lea", "99999")
    assert (refused.data["txCode"], "would hold 1 of" in refused.message) == (6018, True)
    check(play.leave("lea", "50000"))
    play.placed("zoe", "BUY", "1", 60_000)
    item = {"symbolCode": BTC, "ordType": "MARKET", "timeInForce": "IOC", "ordQty": "1", "ordPx": "0"}
    check(play.do("lea", play.vault, type="placeOrder", orders=[item | {"ordSide": "SELL"}]))
    check(play.leave("lea", "50000"))


@pytest.mark.parametrize("tif", ["GTC", "IOC", "FOK"])
@pytest.mark.parametrize("maker", ["lea", "vault"])
def test_a_vault_and_its_leader_never_trade_with_each_other(maker: str, tif: str) -> None:
    play = Led()
    other = play.create("lea", 100_000)
    item = {"symbolCode": BTC, "ordType": "LIMIT", "timeInForce": "GTC", "ordQty": "1", "ordPx": "60100"}
    sell, buy = item | {"ordSide": "SELL"}, item | {"ordSide": "BUY", "timeInForce": tif}
    check(play.act("lea", type="placeOrder", orders=[sell]) if maker == "lea" else
          play.do("lea", other, type="placeOrder", orders=[sell]))  # fmt: skip
    play.placed("zoe", "SELL", "0.4", 60_100)
    check(play.do("lea", play.vault, type="placeOrder", orders=[buy]))
    bought = play.core.account(play.vault).positions[BTC].long.size
    assert bought == (0 if tif == "FOK" else 400), "only what zoe offers"
    events = play.core.state.history.order_events.of(other if maker == "vault" else play.address("lea"))
    assert ("self-trade prevented" in events[-1].reason) is (tif != "FOK")
