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


def test_the_price_of_an_event_is_that_after_it_and_the_last_shares_have_the_price_they_got(play: Told) -> None:
    play.fund(50_000, play.vault)
    play.join("joe", "0.020002")  # 0.013334 shares cost 1.500075 each, which rounds down for who joins
    check(play.leave("joe", "0.013334"))
    check(play.leave("lea", "100000"))
    assert [(one.kind, one.amount, one.shares, one.price) for one in play.record.events[1:]] == [
        ("DEPOSIT", 20_002, 13_334, 1_500_000),
        ("WITHDRAW", 20_001, 13_334, 1_500_000),
        ("WITHDRAW", 150_000 * MICRO + 1, 100_000 * MICRO, 1_500_000),
    ]
    assert (play.record.shares, play.record.holders, play.record.closed) == (0, {}, 0)


def check(outcome: Outcome) -> None:
    assert outcome.code == 0, outcome.message


@pytest.mark.parametrize("side", ["BUY", "SELL"])
def test_the_first_deposit_after_everyone_has_left_buys_shares_at_1_usdc_whatever_the_vault_has(side: str) -> None:
    """Also where the book values what it has more than 1 % above mark, which refuses deposits next to other holders."""
    play = Told()
    check(play.leave("lea", "100000"))
    play.fund(10_000, play.vault)
    play.trade_of_vault(side, "1", 60_000)
    play.placed("zoe", side, "1", 60_500 if side == "BUY" else 59_500)
    assert play.join("joe", 1_000) == "1000"
    assert play.record.holders == {play.address("joe"): Holding(1_000 * MICRO, 1_000 * MICRO, play.now)}
    with pytest.raises(AssertionError, match="would get the difference"):
        play.join("joe", 1_000)


def test_a_vault_without_value_takes_no_deposits_and_pays_nothing_out(play: Told) -> None:
    check(play.withdraw(play.vault, "100000"))  # stands for a loss
    answer = play.act("joe", type="vaultDeposit", vault=play.vault, amount="1000", **USDC)
    assert answer.data["txCode"] == TxCode.VAULT_WORTHLESS
    assert answer.message == "the vault has no value left and takes no deposits"
    before = play.balance("lea")
    assert play.leave("lea", "40000").data["amount"] == "0"
    assert play.leave("lea", "60000").data["amount"] == "0"
    assert play.balance("lea") == before
    assert play.record.holders == {}


@pytest.mark.parametrize(("amount", "share"), [("0.01", "0.003333"), ("0.009998", ""), ("0.000002", "")])
def test_a_deposit_loses_at_most_a_ten_thousandth_to_whole_millionths(play: Told, amount: str, share: str) -> None:
    """At 3 USDC a share, 0.01 loses one of 10,000 millionths, 0.009998 two of 9,998, and 0.000002 buys nothing."""
    play.fund(200_000, play.vault)
    answer = play.act("joe", type="vaultDeposit", vault=play.vault, amount=amount, **USDC)
    if share:
        assert (answer.data["vault"], answer.data["share"]) == (play.checksummed, share)
    else:
        assert answer.data["txCode"] == (TxCode.SHARE_TOO_COARSE if amount > "0.001" else TxCode.VAULT_AMOUNT_TOO_SMALL)


@pytest.mark.parametrize("beyond", [0, 1])
def test_a_vault_has_up_to_exactly_a_million_million_shares(play: Told, beyond: int) -> None:
    vault = play.create("lea", 100)
    check(play.withdraw(vault, "99.999999"))  # stands for a loss
    amount = f"{9_999_999_999 + beyond:010d}"
    deposit = {"vault": vault, "amount": f"{amount[:-6]}.{amount[-6:]}", **USDC}
    answer = play.act("joe", type="vaultDeposit", **deposit)
    assert (answer.code == 0) is not beyond
    assert play.core.state.vaults[vault].shares == (10**18 if not beyond else 100 * MICRO)


@pytest.mark.parametrize("side", ["BUY", "SELL"])
def test_only_own_orders_that_rest_at_a_level_of_the_same_book_are_left_out_of_its_value(side: str) -> None:
    play, sign = Told(), 1 if side == "BUY" else -1
    play.oracle(6_000, 2)
    play.hedge(play.vault)
    play.trade_of_vault(side, "1", 60_000)
    play.trade_of_vault("SELL" if side == "BUY" else "BUY", "1", 60_000)
    play.placed("zoe", side, "1", 60_000 - sign * 100)
    at_mark = vaults.value(play.core, play.record)
    level = 600_000 - sign * 1_000
    eth = {"symbolCode": 2, "ordPx": play.core.products[2].price_text(level), "ordQty": "1", "ordSide": side}
    waiting = {"symbolCode": BTC, "ordPx": "59900" if side == "BUY" else "60100", "ordQty": "1"}
    waiting |= {"ordSide": f"{side}_CLOSE_HEDGE", "tpslTriggerType": "MARK_PRICE", "triggerPx": f"{60_000 - sign * 50}"}
    waiting["reduceOnlyOption"] = "TP_FROM_POSITION"
    for item in (eth, waiting):
        play.led("placeOrder", orders=[{**item, "ordType": "LIMIT", "timeInForce": "GTC"}])
    assert len(play.core.state.accounts[play.vault].orders) == 2
    assert vaults.value(play.core, play.record, in_book=True) == at_mark - 100 * MICRO


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


def test_sub_vaults_do_not_count_towards_the_five_and_are_named_after_their_vault(play: Told) -> None:
    names = [play.core.state.vaults[play.child(number)].name for number in (1, 2)]
    assert names == ["V / 1", "V / 2"]
    for _ in range(4):
        play.create("lea", 100)
    answer = play.act("lea", type="vaultCreate", name="V", description="", amount="100", **USDC)
    assert answer.data["txCode"] == TxCode.TOO_MANY_VAULTS
    made = play.core.state.vaults[play.vault]
    assert (made.name, made.description, made.created, made.parent) == ("V", "", play.now, "")


def test_a_vault_is_handed_to_accounts_of_people_only(play: Told) -> None:
    other = play.create("joe", 100)
    for owner in (other, LP_VAULT, FEES, play.address("nobody")):
        answer = play.do("lea", play.vault, type="vaultUpdateOwner", owner=owner)
        assert answer.data["txCode"] == TxCode.UNKNOWN_VAULT_OWNER
    play.led("vaultUpdateOwner", owner=vaults.to_checksummed(play.address("joe")))
    assert (play.record.owner, play.record.received) == (play.address("joe"), True)
    refused = play.do("lea", play.vault, type="vaultClose")
    assert refused.message.endswith(
        f"belongs to {vaults.to_checksummed(play.address('joe'))}. Only its owner's agents act for it"
    )
    refused = play.do("lea", LP_VAULT, type="vaultClose")
    assert refused.message.endswith("belongs to the venue. Only its owner's agents act for it")


@pytest.mark.parametrize("side", ["BUY", "SELL"])
@pytest.mark.parametrize("beyond", [0, 1])
@pytest.mark.parametrize("joins", [True, False])
def test_the_book_may_differ_from_the_mark_by_exactly_one_per_cent_above_and_five_below(
    side: str, beyond: int, joins: bool
) -> None:
    """Of 110,000 USDC with 10 BTC, 110 of price are 1 % and 550 are 5 %."""
    play, sign = Told(), 1 if side == "BUY" else -1
    play.trade_of_vault(side, "10", 60_000)
    play.fund(f"{(110_000 * MICRO - vaults.value(play.core, play.record)) / MICRO:.6f}", play.vault)
    away = sign * 110 if joins else -sign * 550
    play.placed("zoe", side, "10", f"{60_000 + away + beyond * (sign if joins else -sign) / 10:.1f}")
    kind = {"type": "vaultDeposit", "amount": "1000"} if joins else {"type": "vaultWithdraw", "share": "1000"}
    answer = play.act("joe" if joins else "lea", vault=play.vault, **kind, **USDC)
    assert ((answer.data or {})["txCode"] == TxCode.VAULT_BOOK_AWAY) is bool(beyond), answer.message
