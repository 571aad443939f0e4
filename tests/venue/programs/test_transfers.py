"""usdSend: closed until the operator opens it, what it refuses, and what both accounts and all sums show of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

import toolkit
from tests.venue.wallets import AGENT, MASTER, OTHER, STRANGER, Signer
from toolkit import errors
from toolkit.venue.engine.commands import TxCode
from toolkit.venue.local import LocalVenue
from toolkit.venue.model.genesis import Config, Genesis
from toolkit.venue.risk.equity_curve import curve
from toolkit.venue.risk.ledger import FEES, LP_VAULT

RARE = Genesis(config=Config(price_interval=86_400_000))


def send(to: str, amount: str) -> dict[str, Any]:
    return {"type": "usdSend", "to": to, "amount": amount}


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    """A venue with transfers and two accounts of 1,000 USDC, whose books are examined at the end."""
    with LocalVenue(clock="manual", market=None, accounts=2, balance="1000", config=RARE) as made:
        made.control.enable("usdSend")
        yield made
        made.host.core.check()


def cash(venue: LocalVenue) -> list[int]:
    accounts = venue.host.core.state.accounts
    return [accounts[each.address.lower()].balance for each in (MASTER, OTHER)]


def test_transfers_are_closed_until_they_are_opened_and_calm_changes_neither() -> None:
    with LocalVenue(clock="manual", market=None, accounts=2) as venue:
        signer, action = Signer(MASTER), send(OTHER.address, "5")
        for before in (lambda: None, venue.control.calm, lambda: venue.control.disable("usdSend"), venue.control.calm):
            before()
            refused = signer.do(venue, action)
            assert refused["code"] == 40280
        assert "usdSend is closed here. Who runs this venue opens it" in refused["message"]
        assert "`toolkit venue --open usdSend`" in refused["message"]
        assert 'venue.control.enable("usdSend")' in refused["message"]
        kept = venue.snapshot()
        venue.control.enable("usdSend")
        venue.control.calm()
        assert signer.do(venue, action)["code"] == 0
        venue.control.disable("usdSend")
        assert signer.do(venue, action)["message"].startswith("usdSend is switched off for now")
        venue.control.calm()
        assert signer.do(venue, action)["code"] == 0, "the emergency has ended"
        venue.revert(kept)
        assert signer.do(venue, action)["code"] == 40280


def test_a_transfer_moves_cash_between_two_accounts_and_each_ledger_names_the_other(venue: LocalVenue) -> None:
    assert Signer(MASTER).do(venue, send(OTHER.address, "250.000001"))["code"] == 0
    assert cash(venue) == [749_999_999, 1_250_000_001]
    with toolkit.connect(venue=venue, account=0) as sender, toolkit.connect(venue=venue, account=1) as receiver:
        [out] = sender.info.ledger(kind="TRANSFER", exact=True).to_dict("records")
        [into] = receiver.info.ledger(kind="TRANSFER", exact=True).to_dict("records")
        assert (out["amount"], out["balance"], out["counterparty"]) == (
            Decimal("-250.000001"), Decimal("749.999999"), OTHER.address,
        )  # fmt: skip
        assert (into["amount"], into["balance"], into["counterparty"]) == (
            Decimal("250.000001"), Decimal("1250.000001"), MASTER.address,
        )  # fmt: skip
        assert out["tx_hash"] == into["tx_hash"]
        receipt = sender.exchange.usd_send(OTHER.address, Decimal("49.999999"))
        assert receipt.status == "ACCEPTED"
        assert receiver.exchange.usd_send(to=MASTER.address.lower(), amount=1).status == "ACCEPTED"
        assert cash(venue) == [701_000_000, 1_299_000_000]


BROKEN: list[tuple[str, str, TxCode, str]] = [
    (OTHER.address, "1000.000001", TxCode.INSUFFICIENT_BALANCE, "1000.000001 USDC is more than the 1000 USDC"),
    (OTHER.address, "0.0000001", TxCode.AMOUNT_TOO_PRECISE, "amount 0.0000001 is finer than 0.000001 USDC"),
    (MASTER.address, "5", TxCode.TRANSFER_TO_SELF, "is the sending account itself"),
    (STRANGER.address, "5", TxCode.UNKNOWN_RECIPIENT, f"{STRANGER.address} has no account here"),
    (AGENT.address, "5", TxCode.UNKNOWN_RECIPIENT, "has no account here"),
    ("0x" + "0" * 40, "5", TxCode.UNKNOWN_RECIPIENT, "has no account here"),
    (LP_VAULT, "5", TxCode.UNKNOWN_RECIPIENT, "is a vault, which takes no transfers"),
    (FEES, "5", TxCode.UNKNOWN_RECIPIENT, "takes no transfers"),
]


@pytest.mark.parametrize(("to", "amount", "code", "words"), BROKEN)
def test_a_transfer_that_breaks_a_rule_moves_nothing(
    venue: LocalVenue, to: str, amount: str, code: TxCode, words: str
) -> None:
    before = {address: account.balance for address, account in venue.host.core.state.accounts.items()}
    refused = Signer(MASTER).do(venue, send(to, amount))
    assert (refused["code"], refused["data"]["txCode"]) == (40230, code)
    assert words.lower() in refused["message"].lower()
    assert MASTER.address in refused["message"]
    assert {address: account.balance for address, account in venue.host.core.state.accounts.items()} == before


@pytest.mark.parametrize("amount", ["0", "0.000000", "-5", "1e3", 5, ""])
def test_an_amount_that_is_not_above_zero_in_digits_is_malformed(venue: LocalVenue, amount: Any) -> None:
    request = Signer(MASTER).request(send(OTHER.address, "5"))
    request["action"]["amount"] = amount
    answer = venue.host.gateway.handle("POST", "/api/v1/exchange", "", json.dumps(request).encode(), "test")
    assert (answer.status, answer.code) == (400, 40003)
    with toolkit.connect(venue=venue, account=0) as session:
        if amount in ("0", "0.000000", "-5", ""):
            with pytest.raises(errors.InputError):
                session.exchange.usd_send(OTHER.address, amount)
    assert cash(venue) == [1_000_000_000] * 2


def test_a_transfer_takes_an_expiry_and_no_vault_and_no_agent(venue: LocalVenue) -> None:
    signer, now = Signer(MASTER), venue.host.now_ms()
    assert signer.do(venue, send(OTHER.address, "1"), expiry=now - 1)["code"] == 40208
    assert signer.do(venue, send(OTHER.address, "1"), expiry=now + 1)["code"] == 0
    with pytest.raises(errors.MalformedRequest, match="vaultAddress"):
        signer.request(send(OTHER.address, "1"), vault=LP_VAULT)
    approve = {"type": "approveAgent", "agentAddress": AGENT.address, "agentName": "bot", "validitySeconds": 0}
    assert signer.do(venue, {**approve, "dexChain": "Testnet"})["code"] == 0
    refused = Signer(AGENT).do(venue, send(OTHER.address, "1"))
    assert refused["code"] == 40204
    assert "usdSend is signed by the master" in refused["message"]
    assert cash(venue) == [999_000_000, 1_001_000_000]


def test_margin_and_unrealised_profit_can_not_be_sent(venue: LocalVenue) -> None:
    venue.control.set_oracle("BTCUSDC", "60000")
    venue.control.add_liquidity("BTCUSDC", "SELL", "60000", "0.1")
    with toolkit.connect(venue=venue, account=0) as session:
        session.buy("BTCUSDC", "0.1")
        venue.control.set_oracle("BTCUSDC", "66000")
        free = session.wallet_balances(exact=True)["withdrawable"].item()
        assert 0 < free < 1_000
        with pytest.raises(errors.ActionRejected, match="can be taken out"):
            session.exchange.usd_send(OTHER.address, free + Decimal("0.000001"))
        assert session.exchange.usd_send(OTHER.address, free).status == "ACCEPTED"
        assert session.wallet_balances(exact=True)["withdrawable"].item() == 0


def test_what_is_sent_is_no_profit_of_the_receiver_and_no_loss_of_the_sender(venue: LocalVenue) -> None:
    venue.advance("1h")
    assert Signer(MASTER).do(venue, send(OTHER.address, "400"))["code"] == 0
    venue.advance("1h")
    core = venue.host.core
    for account, brought in ((MASTER, 600), (OTHER, 1_400)):
        last = curve(core, core.state.accounts[account.address.lower()], 0, core.state.time + 1)[-1]
        assert (last.equity, last.net_deposits) == (brought * 1_000_000,) * 2
