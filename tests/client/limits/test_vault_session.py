"""A session of a vault: whatever it does is the vault's, and the account of its leader is left alone."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

import toolkit
from toolkit import research

BTC = "BTCUSDC"


@pytest.fixture
def sessions() -> Iterator[tuple[Any, Any]]:
    with toolkit.connect(clock="manual") as leader:
        vault = leader.exchange.vault_create("mine", "2000", "to trade").data["vault"]
        with toolkit.connect(venue=leader.venue, vault=vault, limits=toolkit.Limits(max_position=0.05)) as session:
            yield leader, session


def test_orders_positions_and_exits_of_a_vaults_session_are_the_vaults(sessions: tuple[Any, Any]) -> None:
    leader, session = sessions
    assert "vault 0x" in repr(session)
    resting = session.buy(BTC, "0.01", "50000")
    assert session.buy(BTC, "0.02").status == "FILLED"
    session.exchange.set_leverage(BTC, 5)
    assert session.order(resting.order_id).status == "NEW"
    assert session.positions()["size"].tolist() == [0.02]
    assert leader.positions().empty
    assert leader.orders(open=True).empty
    with pytest.raises(toolkit.errors.LimitReached):
        session.buy(BTC, "0.04")
    assert leader.buy(BTC, "0.04").status == "FILLED"  # neither limits nor positions are its own
    assert resting.cancel().status == "ACCEPTED"
    assert float(session.close_position(BTC).filled) == 0.02
    session.sell(BTC, "0.01", "90000")
    session.cancel_all(BTC)
    assert session.orders(open=True).empty
    assert session.statement().attrs["account"] == session.account
    session.exchange.approve_agent()  # stays the account's
    assert set(session.permissions()["kind"]) == {"agent", "vault"}


def test_stop_all_of_a_vaults_session_closes_the_vault_alone(sessions: tuple[Any, Any]) -> None:
    leader, session = sessions
    session.buy(BTC, "0.01")
    session.buy(BTC, "0.01", "50000")
    leader.buy(BTC, "0.03")
    leader.buy(BTC, "0.01", "50000")
    found = session.stop_all(flatten=True)
    assert found[["kind", "outcome"]].to_numpy().tolist() == [["order", "CANCELED"], ["position", "CLOSED"]]
    assert session.positions().empty
    assert leader.positions()["size"].tolist() == [0.03]
    assert len(leader.orders(open=True)) == 1


@pytest.mark.parametrize("flatten", [False, True])
def test_stop_all_of_the_account_lists_what_it_left_in_vaults(flatten: bool) -> None:
    with toolkit.connect(clock="manual") as leader:
        vault = leader.exchange.vault_create("mine", "2000", "to trade").data["vault"]
        leader.buy(BTC, "0.01", vault_address=vault)
        leader.buy(BTC, "0.02", "50000", vault_address=vault)
        found = leader.stop_all(flatten=flatten)
        assert found[["kind", "quantity", "outcome"]].to_numpy().tolist() == [
            ["order", 0.02, "LEFT"],
            ["position", 0.01, "LEFT"],
        ]
        assert found["message"].str.contains(f"of vault {vault}: stop_all\\(vault_address").all()
        leader.stop_all(flatten=True, vault_address=vault)
        assert leader.stop_all(flatten=True).empty


def test_a_twap_and_a_run_trade_for_the_vault_beside_those_of_the_account(sessions: tuple[Any, Any]) -> None:
    leader, session = sessions
    session.twap(BTC, "BUY", "0.02", "2m", slices=2)
    leader.venue.advance("3m")
    assert session.positions()["size"].tolist() == [0.02]

    def flips(ctx: Any, bar: Any) -> None:
        ctx.target(BTC, "0" if ctx.position(BTC) else "0.01")

    options: dict[str, Any] = {"limits": toolkit.Limits(), "duration": "5m", "name": "flips", "close_at_end": True}
    runs = [research.live(flips, each, [BTC], **options) for each in (session, leader)]
    assert [len(run.fills) for run in runs] == [5, 5] or all(len(run.fills) > 3 for run in runs)
    assert session.positions()["size"].tolist() == [0.02]
    assert leader.positions().empty
    own = session.statement()
    assert own[own["run"] == "flips"]["amount"].sum() == sum(
        (Decimal(str(row.realized_pnl)) - Decimal(str(row.fee)) for row in runs[0].fills.itertuples()), Decimal(0)
    )


def test_the_ticket_of_a_vaults_session_signs_for_the_vault(sessions: tuple[Any, Any]) -> None:
    pytest.importorskip("anywidget")
    leader, session = sessions
    ticket = session.ticket(BTC, side="BUY", order_type="MARKET", quantity="0.01")
    assert ticket.valid, str(ticket)
    figures = session.what_if(BTC, "-0.1")
    assert figures["equity"].iloc[0] == float(session.wallet_balances(exact=True)["equity"].iloc[0])
    assert session.intents.prepare(toolkit.orders.market(BTC, "BUY", "0.01")).vault_address == session.account
    assert leader.intents.prepare(toolkit.orders.market(BTC, "BUY", "0.01")).vault_address is None


def test_a_vault_is_an_address() -> None:
    with pytest.raises(toolkit.errors.InputError, match="vault must be an address"):
        toolkit.connect(vault="mine")
