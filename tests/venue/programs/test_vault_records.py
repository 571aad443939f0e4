"""A vault's whole life in records: every movement of cash, event, notice and sample, worked out by hand."""

from __future__ import annotations

import pytest

from tests.venue.play import BTC, MICRO
from tests.venue.programs.test_vault_shares import USDC, Led
from toolkit.venue.engine.changes import UserNotice
from toolkit.venue.engine.commands import Outcome, TxCode
from toolkit.venue.model.history import Transfer
from toolkit.venue.model.state import Holding
from toolkit.venue.programs import vaults
from toolkit.venue.risk.ledger import FEES, LP_VAULT, RESERVES, ROUNDING

HOUR = 3_600_000
Row = tuple[str, str, str, float, int, str]
"""Business type, payer, receiver, USDC, product and what it belongs to."""


class Told(Led):
    """Keeps notices to users, and names the accounts of transfers."""

    def __init__(self) -> None:
        super().__init__()
        self.notices: list[UserNotice] = []
        self.names = {self.address(name): name for name in ("lea", "joe", "zoe")}
        self.names |= {FEES: "fees", RESERVES: "reserves", ROUNDING: "rounding", self.vault: "vault", "": ""}
        self.first = len(self.core.state.history.ledger.records)
        emit = self.core.emit

        def keep(event: object) -> None:
            if isinstance(event, UserNotice):
                self.notices.append(event)
            emit(event)  # type: ignore[arg-type]

        self.core.emit = keep  # type: ignore[method-assign, assignment]

    @property
    def checksummed(self) -> str:
        return vaults.to_checksummed(self.vault)

    def child(self, number: int = 1) -> str:
        """Create a sub-vault."""
        made = self.do("lea", self.vault, type="vaultCreateSubVault")
        assert made.code == 0, made.message
        address = str(made.data["vault"]).lower()
        self.names[address] = f"child {number}"
        return address

    def led(self, kind: str, vault: str = "", **fields: object) -> Outcome:
        """Act as lea for a vault. It must be accepted."""
        outcome = self.do("lea", vault or self.vault, type=kind, **fields)
        assert outcome.code == 0, outcome.message
        return outcome

    def rows(self) -> list[Row]:
        """Return the transfers since the last look."""
        records: list[Transfer] = self.core.state.history.ledger.records[self.first :]
        self.first += len(records)
        found = []
        for one in records:
            assert one.paid == one.received
            party = self.names[one.payer], self.names[one.receiver]
            found.append(
                (one.kind, *party, one.paid / MICRO, one.product, self.names.get(one.reference, one.reference))
            )
        return found


@pytest.fixture
def play() -> Told:
    return Told()


def test_every_movement_of_a_vaults_cash_is_recorded_with_its_parties_and_the_vault(play: Told) -> None:
    move = {"amount": "10000", **USDC}
    play.fund(50_000, play.vault)
    play.join("joe", 3_000)  # at 1.5: 2,000 shares
    play.fund(30_600, play.vault)  # 183,600 USDC for 102,000 shares are 1.8
    play.led("vaultPreWithdraw", amount="1000", **USDC)
    assert play.rows() == [
        ("DEPOSIT", "", "vault", 50_000, 0, ""),
        ("VAULT_DEPOSIT", "joe", "vault", 3_000, 0, "vault"),
        ("DEPOSIT", "", "vault", 30_600, 0, ""),
        ("VAULT_REBALANCE", "vault", "reserves", 1_000, 0, "vault"),
    ]
    answer = play.leave("joe", "500")
    assert (answer.data["vault"], answer.data["amount"]) == (play.checksummed, "885")
    # 900 at a cost of 750 are a gain of 150, of which the leader gets a tenth. What was set aside pays first
    assert play.rows() == [
        ("VAULT_REBALANCE", "reserves", "vault", 900, 0, "vault"),
        ("VAULT_WITHDRAW", "vault", "joe", 885, 0, "vault"),
        ("VAULT_LEADER_SHARE", "vault", "lea", 15, 0, "vault"),
    ]
    record, child = play.record, play.child()
    assert (record.reserve, record.shares, record.paid_in) == (100 * MICRO, 101_500 * MICRO, 102_100 * MICRO)
    assert record.holders[play.address("joe")] == Holding(1_500 * MICRO, 2_250 * MICRO, play.now)
    part = play.core.state.vaults[child]
    play.led("vaultRebalance", **{"from": play.vault, "to": child}, **move)
    play.led("vaultRebalance", **{"from": child, "to": play.vault}, **{**move, "amount": "4000"})
    play.led("vaultPreWithdraw", child, **{**move, "amount": "1000"})
    play.led("vaultRebalance", **{"from": child, "to": child}, **{**move, "amount": "300"})
    assert (part.reserve, part.paid_in, vaults.value(play.core, part)) == (700 * MICRO, 6_000 * MICRO, 6_000 * MICRO)
    assert vaults.value(play.core, record) - record.paid_in == 80_600 * MICRO, "what the parts move is no profit"
    play.led("vaultClose", child)
    assert play.rows() == [
        ("VAULT_REBALANCE", "vault", "child 1", 10_000, 0, "child 1"),
        ("VAULT_REBALANCE", "child 1", "vault", 4_000, 0, "vault"),
        ("VAULT_REBALANCE", "child 1", "reserves", 1_000, 0, "child 1"),
        ("VAULT_REBALANCE", "reserves", "child 1", 300, 0, "child 1"),
        ("VAULT_REBALANCE", "child 1", "vault", 5_300, 0, "vault"),
    ]
    assert (part.reserve, part.paid_in, part.closed, record.reserve) == (0, 0, play.now, 800 * MICRO)
    assert record.children == []
    assert (vaults.price(play.core, part), vaults.worth(play.core, part, 0)) == (MICRO, 0)
    play.fund("0.000001", play.vault)
    play.led("vaultPreWithdraw", amount="181900.000001", **USDC)
    play.led("vaultClose")
    assert play.rows() == [
        ("DEPOSIT", "", "vault", 0.000001, 0, ""),
        ("VAULT_REBALANCE", "vault", "reserves", 181_900.000001, 0, "vault"),
        ("VAULT_REBALANCE", "reserves", "vault", 180_000, 0, "vault"),
        ("VAULT_WITHDRAW", "vault", "lea", 180_000, 0, "vault"),
        ("VAULT_REBALANCE", "reserves", "vault", 2_700, 0, "vault"),
        ("VAULT_WITHDRAW", "vault", "joe", 2_655, 0, "vault"),
        ("VAULT_LEADER_SHARE", "vault", "lea", 45, 0, "vault"),
        ("VAULT_REBALANCE", "reserves", "vault", 0.000001, 0, "vault"),
        ("ROUNDING", "vault", "rounding", 0.000001, 0, "vault"),
    ]
    assert (record.closed, record.reserve, record.shares, record.holders) == (play.now, 0, 0, {})
    assert [(one.id, one.kind, play.names[one.address], one.amount / MICRO, one.shares / MICRO, one.price / MICRO,
             one.fee / MICRO) for one in record.events] == [
        (1, "CREATE", "lea", 100_000, 100_000, 1, 0),
        (2, "DEPOSIT", "joe", 3_000, 2_000, 1.5, 0),
        (3, "PRE_WITHDRAW", "lea", 1_000, 0, 1.8, 0),
        (4, "WITHDRAW", "joe", 900, 500, 1.8, 15),
        (5, "CREATE_SUB_VAULT", "lea", 0, 0, 1.8, 0),
        (6, "REBALANCE", "lea", 10_000, 0, 1.8, 0),
        (7, "REBALANCE", "lea", 4_000, 0, 1.8, 0),
        (8, "REBALANCE", "lea", 300, 0, 1.8, 0),
        (9, "PRE_WITHDRAW", "lea", 181_900.000001, 0, 1.8, 0),
        (10, "CLOSE", "lea", 182_700, 101_500, 1.8, 45),
    ]  # fmt: skip
    kept = [(one.kind, one.amount, one.shares, one.price, one.fee) for one in part.events]
    assert kept == [("PRE_WITHDRAW", 1_000 * MICRO, 0, MICRO, 0), ("CLOSE", 6_000 * MICRO, 0, MICRO, 0)]
    assert [(play.names[one.address], one.kind, one.data["amount"], one.data["id"]) for one in play.notices] == [
        ("joe", "vaultDeposit", "3000", 2),
        ("joe", "vaultWithdraw", "900", 4),
    ]
    assert play.notices[1].data == {
        "id": 4, "blockTime": play.now, "type": "WITHDRAW", "userAddress": vaults.to_checksummed(play.address("joe")),
        "amount": "900", "shares": "500", "price": "1.8", "leaderFee": "15", "txHash": record.events[3].tx_hash,
        "vaultAddress": play.checksummed,
    }  # fmt: skip


def test_value_price_and_profit_of_each_open_vault_are_kept_once_per_hour(play: Told) -> None:
    child, begun = play.child(), play.now
    play.led("vaultRebalance", **{"from": play.vault, "to": child, "amount": "400", **USDC})
    play.fund(50_000, play.vault)
    play.advance(HOUR - 1)
    assert play.record.samples == []
    play.advance(1)
    play.led("vaultClose", child)
    play.fund(7, LP_VAULT)
    play.advance(2 * HOUR - 1)
    assert play.record.samples == [
        (begun + hours * HOUR, 150_000 * MICRO, 1_500_000, 50_000 * MICRO) for hours in (1, 2)
    ]
    assert play.core.state.vaults[child].samples == [(begun + HOUR, 400 * MICRO, MICRO, 0)]
    capital = play.core.state.config.lp_capital
    assert play.core.state.vaults[LP_VAULT].samples == [
        (begun + HOUR, capital, MICRO, 0),
        (begun + 2 * HOUR, capital + 7 * MICRO, MICRO * (capital + 7 * MICRO) // capital, 7 * MICRO),
    ]


@pytest.mark.parametrize("side", ["BUY", "SELL"])
def test_a_vault_is_closed_only_when_it_and_its_sub_vaults_are_flat(side: str) -> None:
    play = Told()
    child = play.child()
    play.led("vaultRebalance", **{"from": play.vault, "to": child, "amount": "10000", **USDC})
    item = {"symbolCode": BTC, "ordQty": "0.1", "ordType": "LIMIT", "ordSide": side, "timeInForce": "GTC"}
    play.placed("zoe", "SELL" if side == "BUY" else "BUY", "0.1", 60_000)
    play.led("placeOrder", child, orders=[{**item, "ordPx": "60000"}])
    refused = play.do("lea", play.vault, type="vaultClose")
    name = vaults.to_checksummed(child)
    assert refused.message == f"vault {name} still has a position in BTCUSDC"
    play.led("placeOrder", child, orders=[{**item, "ordPx": "59000" if side == "BUY" else "61000"}])
    refused = play.do("lea", child, type="vaultClose")
    assert refused.message == f"vault {name} still has a position in BTCUSDC, open orders"
    play.placed("zoe", side, "0.1", 60_000)
    back = {**item, "ordSide": "SELL" if side == "BUY" else "BUY", "ordPx": "60000"}
    play.led("placeOrder", child, orders=[back])
    refused = play.do("lea", play.vault, type="vaultClose")
    assert (refused.data["txCode"], refused.message) == (TxCode.VAULT_NOT_FLAT, f"vault {name} still has open orders")
    play.led("cancelAll", child, symbolCode=BTC)
    play.led("vaultClose")
    assert (play.core.state.vaults[child].closed, play.record.children) == (play.now, [])


def test_cash_moves_only_within_an_open_family_that_the_signer_leads(play: Told) -> None:
    open_child, closed, other = play.child(), play.child(2), play.create("joe", 100)
    play.led("vaultClose", closed)
    wrong = {
        (play.vault, other): TxCode.UNRELATED_VAULTS,
        (open_child, other): TxCode.UNRELATED_VAULTS,
        (other, other): TxCode.NOT_VAULT_OWNER,
        (play.vault, closed): TxCode.VAULT_CLOSED,
        (closed, play.vault): TxCode.VAULT_CLOSED,
    }
    for (source, target), reason in wrong.items():
        move = {"from": source, "to": target, "amount": "1", **USDC}
        assert play.act("lea", type="vaultRebalance", **move).data["txCode"] == reason, reason
    for kind in ("vaultRebalance", "vaultPreWithdraw", "vaultCreate"):
        fields = {"from": play.vault, "to": open_child, "name": "x", "description": "", "amount": "100"}
        vault = play.vault if kind == "vaultPreWithdraw" else None
        answer = (play.do("lea", vault, type=kind, **fields, currencyCode=2) if vault
                  else play.act("lea", type=kind, **fields, currencyCode=2))  # fmt: skip
        assert answer.data["txCode"] == TxCode.UNKNOWN_CURRENCY
    for kind in ("vaultDeposit", "vaultWithdraw"):
        fields = {"vault": play.vault, "amount": "1", "share": "1"}
        assert play.act("lea", type=kind, **fields, currencyCode=2).data["txCode"] == TxCode.UNKNOWN_CURRENCY
