"""The table of permissions, revoking, and the flows of builders and traders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

import toolkit
from toolkit import orders
from toolkit.client.orders.approvals import COLUMNS, _agent_status, _builder_status, rows_to_revoke
from toolkit.errors import ActionRejected, InputError, LimitReached, SignatureRejected
from toolkit.venue import development
from toolkit.venue.local import LocalVenue


@pytest.fixture
def maker(venue: LocalVenue) -> Iterator[toolkit.Session]:
    wallet = toolkit.Wallet(agent=development.account(30).key, master=development.account(1).key)
    with toolkit.connect(venue=venue, wallet=wallet, approve=False) as made:
        yield made


def test_the_table_of_permissions_is_always_a_table(venue: LocalVenue, alice: toolkit.Session) -> None:
    made = alice.permissions()
    assert {name: str(dtype) for name, dtype in made.dtypes.items()} == COLUMNS
    assert made[["kind", "name", "status"]].values.tolist() == [["agent", "toolkit-bcd4042d", "ACTIVE"]]
    assert made["address"][0] == development.account(10).address
    assert "never withdraw" in made["may"][0]
    with toolkit.connect(venue=venue, account=5, approve=False) as newcomer:
        empty = newcomer.permissions()
    assert empty.empty
    assert {name: str(dtype) for name, dtype in empty.dtypes.items()} == COLUMNS


def test_builder_and_trader_in_a_few_lines(alice: toolkit.Session, maker: toolkit.Session) -> None:
    toolkit.Builder(maker).register("Acme")
    granted = alice.permissions.allow_builder(development.account(1).address, development.account(30).address, "0.0005")
    assert alice.intents.get(granted.intent).payload["validitySeconds"] == 0
    assert toolkit.Builder(maker).traders()["wallet"].tolist() == [alice.account]
    receipt = toolkit.Builder(maker).place(orders.buy("BTCUSDC", "0.01", "30000"), "0.0002")
    assert receipt.code == 0
    assert len(alice.orders(open=True)) == 1
    bracket = orders.buy("BTCUSDC", "0.01", "31000", tp="90000", sl="20000")
    assert toolkit.Builder(maker).place(bracket, "0.0005").code == 0
    with pytest.raises(ActionRejected, match=r"above the authorisation's maxFeeRate 0\.0005"):
        toolkit.Builder(maker).place(orders.buy("BTCUSDC", "0.01", "30000"), "0.0006")
    [row] = alice.permissions().query("kind == 'builder'").to_dict("records")
    assert (row["of"], row["address"]) == (development.account(1).address, development.account(30).address)
    assert row["max_fee_rate"] == 0.0005
    assert alice.permissions().attrs["complete"]
    alice.permissions.end_builder()
    with pytest.raises(SignatureRejected, match="was revoked"):
        toolkit.Builder(maker).place(orders.buy("BTCUSDC", "0.01", "30000"), "0")
    assert alice.permissions(ended=True)["status"].tolist() == ["ACTIVE", "REVOKED"]
    assert toolkit.Builder(maker).traders().empty
    assert len(toolkit.Builder(maker).traders(ended=True)) == 1


@pytest.mark.parametrize("key", ["approved", "alone"])
def test_a_builders_agent_trades_for_whoever_authorised_it_and_for_a_vault_of_theirs(
    venue: LocalVenue, alice: toolkit.Session, key: str
) -> None:
    """The builder's own agent (`approved`), or a key that only the trader authorised (`alone`)."""
    vault = alice.exchange.vault_create("Fund", amount="500").data["vault"]
    with toolkit.connect(venue=venue, account=1) as builder:
        master = str(builder.account)
        toolkit.Builder(builder).register("Acme")
        agent = development.agent(1) if key == "approved" else development.account(30)
        alice.permissions.allow_builder(master, agent.address, "0.001")
    if key == "approved":
        with toolkit.connect(venue=venue, account=1) as builder:  # approves its agent again
            assert builder.buy("BTCUSDC", "0.01", "30000").status == "NEW"
            assert len(builder.orders(open=True)) == 1
    with toolkit.connect(
        venue=venue, wallet=toolkit.Wallet(agent=agent.key), limits=toolkit.Limits(max_position=0.02)
    ) as made:
        for owner in (None, vault):
            for open_orders in (1, 2):
                receipt = toolkit.Builder(made).place(
                    orders.buy("BTCUSDC", "0.01", "30000"), "0.0002", builder=master, vault_address=owner
                )
                receipt.refresh()
                assert receipt.status == "NEW"
                assert len(alice.orders(open=True, account=owner or alice.account)) == open_orders
            with pytest.raises(LimitReached, match=r"would increase the position to 0\.030"):
                toolkit.Builder(made).place(
                    orders.buy("BTCUSDC", "0.01", "30000"), "0.0002", builder=master, vault_address=owner
                )


def test_revoking_takes_a_name_or_an_address(alice: toolkit.Session, maker: toolkit.Session) -> None:
    toolkit.Builder(maker).register("Acme")
    alice.permissions.allow_builder(development.account(1).address, development.account(30).address, "0.001")
    alice.exchange.approve_agent(development.account(31).address, "second")
    alice.permissions.revoke("second")
    alice.permissions.revoke(development.account(30).address)
    assert alice.permissions()["name"].tolist() == ["toolkit-bcd4042d"]
    with pytest.raises(
        InputError, match=r"'second' is no active agent or builder of this account. There is agent toolkit"
    ):
        alice.permissions.revoke("second")
    alice.permissions.revoke(development.account(10).address.lower())
    with pytest.raises(SignatureRejected, match="was revoked at"):
        alice.buy("BTCUSDC", "0.01", "30000")


def test_a_builder_sees_all_its_traders(venue: LocalVenue, maker: toolkit.Session) -> None:
    toolkit.Builder(maker).register("Acme")
    terms = {"builderAddress": maker.account, "maxFeeRate": "0.001", "validitySeconds": 0, "dexChain": "Testnet"}
    for number in range(101):
        trader = f"0x{number + 1:040x}"
        venue.control.fund(trader, "1")
        terms["agentAddress"] = f"0x{number + 1_000_000:040x}"
        assert venue.control.act(trader, {"type": "approveAgentToBuilder", **terms})["code"] == 0
    assert len(set(toolkit.Builder(maker).traders()["wallet"])) == 101


def test_a_vault_is_traded_by_its_leaders_session(alice: toolkit.Session) -> None:
    vault = alice.exchange.vault_create("Fund", amount="500").data["vault"]
    receipt = alice.buy("BTCUSDC", "0.01", "30000", vault_address=vault)
    assert receipt.code == 0
    assert alice.orders(open=True).empty
    assert len(alice.orders(open=True, account=vault)) == 1
    assert alice.cancel(receipt, vault_address=vault).code == 0
    assert alice.exchange.vault_close(vault_address=vault).code == 0


AGENT_ROW = {"kind": "agent", "name": "bot", "address": "0xA", "of": "", "status": "ACTIVE"}
BUILDER_ROW = {"kind": "builder", "name": "", "address": "0xB", "of": "0xC", "status": "ACTIVE"}


@pytest.mark.parametrize(
    ("table", "who", "ended"),
    [
        ([AGENT_ROW, BUILDER_ROW], "bot", [AGENT_ROW]),
        ([AGENT_ROW, BUILDER_ROW], "BOT", []),
        ([AGENT_ROW, BUILDER_ROW], "0xa", [AGENT_ROW]),
        ([AGENT_ROW, BUILDER_ROW], "0xb", [BUILDER_ROW]),
        ([AGENT_ROW, BUILDER_ROW], "0xc", [BUILDER_ROW]),
        ([AGENT_ROW | {"of": "0xC"}, BUILDER_ROW], "0xC", [BUILDER_ROW]),
        ([AGENT_ROW, AGENT_ROW | {"name": "0xa"}], "0xa", [AGENT_ROW | {"name": "0xa"}]),
        ([AGENT_ROW | {"status": "REVOKED"}, BUILDER_ROW | {"status": "EXPIRED"}], "0xa", []),
        ([AGENT_ROW | {"kind": "vault"}, BUILDER_ROW | {"name": "bot"}], "bot", []),
        ([BUILDER_ROW], "", []),
    ],
)
def test_a_name_goes_before_an_address(table: list[Any], who: str, ended: list[Any]) -> None:
    assert rows_to_revoke(table, who) == ended


def test_the_states_of_what_was_granted() -> None:
    assert _agent_status({"status": "ACTIVE", "revoked_at": None}) == "ACTIVE"
    assert _agent_status({"status": "INACTIVE", "revoked_at": pd.Timestamp(1)}) == "REVOKED"
    assert _agent_status({"status": "INACTIVE", "revoked_at": pd.NaT}) == "EXPIRED"
    assert _builder_status({"approve_state": "REVOKED", "expired": False}) == "REVOKED"
    assert _builder_status({"approve_state": "APPROVED", "expired": True}) == "EXPIRED"
    assert _builder_status({"approve_state": "APPROVED", "expired": False}) == "ACTIVE"


def test_what_has_ended_is_listed_on_request(venue: LocalVenue, alice: toolkit.Session) -> None:
    vault = alice.exchange.vault_create("Fund", amount="100").data["vault"]
    alice.exchange.approve_agent(development.account(31).address, "second")
    alice.permissions.revoke("second")
    with toolkit.connect(venue=venue, account=2) as other:
        assert "vault" not in set(other.permissions()["kind"]), "neither led nor joined"
        other.exchange.vault_deposit(vault, "0.5")
        assert "vault" in set(other.permissions()["kind"])
    alice.exchange.vault_close(vault_address=vault)
    assert alice.permissions()["kind"].tolist() == ["agent"]
    ended = alice.permissions(ended=True)
    assert set(zip(ended["kind"], ended["name"], ended["status"], strict=True)) == {
        ("agent", "toolkit-bcd4042d", "ACTIVE"),
        ("agent", "second", "REVOKED"),
        ("vault", "Fund", "CLOSED"),
    }
    row = ended.query("kind == 'vault'").iloc[0]
    assert row["may"] == "be traded, rebalanced, handed over and closed by your agents"
    assert row["since"].timestamp() * 1000 == pytest.approx(venue.host.now_ms(), abs=60_000)
