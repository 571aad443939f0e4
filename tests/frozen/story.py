"""A short fixed story on a local venue: every action, every kind of order, payments of funding and a liquidation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

import toolkit
from toolkit import orders
from toolkit.errors import ToolkitError
from toolkit.session import Session
from toolkit.venue import development
from toolkit.venue.local import LocalVenue

START = "2026-01-01T19:30:00Z"
AGENT = "0x" + "77" * 20
UNUSED = "0x" + "99" * 20
"""An address that the venue has never seen."""


class Story(NamedTuple):
    """The venue after the story, and those who acted in it."""

    venue: LocalVenue
    trader: Session
    invitee: Session
    leader: Session
    builder: Session
    loser: Session
    stranger: Session
    """Only reads, and has nothing."""
    vault: str
    receipt: toolkit.Receipt

    @property
    def sessions(self) -> tuple[Session, ...]:
        return self.trader, self.invitee, self.leader, self.builder, self.loser


@contextmanager
def told() -> Iterator[Story]:
    """Yield the venue at the end of the story."""
    with LocalVenue(seed=7, clock="manual", start=START) as venue:
        sessions = [toolkit.connect(venue=venue, account=number) for number in range(5)]
        sessions.append(toolkit.connect(venue=venue, account=UNUSED))
        trader, invitee, leader, builder, loser, stranger = sessions
        try:
            venue.advance("5m")
            receipt = _trade(venue, trader)
            _settings(trader, invitee)
            vault = _vaults(venue, leader, invitee)
            _builders(trader, invitee, builder)
            _lose(venue, loser)
            venue.advance("5h")
            yield Story(venue, trader, invitee, leader, builder, loser, stranger, vault, receipt)
        finally:
            for session in sessions:
                session.close()


def _trade(venue: LocalVenue, trader: Session) -> toolkit.Receipt:
    """Place each kind of order, fill some, change and cancel others."""
    trader.exchange.faucet_claim()
    trader.exchange.set_leverage("BTCUSDC", 10)
    trader.buy("BTCUSDC", "0.05")
    receipt = trader.buy("BTCUSDC", "0.01", price="50000", tp="70000", sl="45000")
    trader.sell("ETHUSDC", "0.5", tp="2000", sl="3000")
    trader.buy("BTCUSDC", "0.01", price="70000", tif="IOC")
    trader.sell("BTCUSDC", "0.01", price="50000", tif="FOK", reduce_only=True)
    replaced = trader.buy("BTCUSDC", "0.01", price="51000", tif="POST_ONLY")
    trader.replace(replaced, orders.limit("BTCUSDC", "BUY", "0.02", "50500"))
    trader.place(
        [
            orders.stop("BTCUSDC", "SELL", "40000", "0.01"),
            orders.take_profit("BTCUSDC", "SELL", "90000", "0.01", "90010", trigger_by="LAST_PRICE"),
            orders.limit("ETHUSDC", "BUY", "0.1", "2000"),
        ]
    )
    trader.place(orders.scale("SOLUSDC", "BUY", "3", first="120", last="130", count=3))
    trader.cancel_all("SOLUSDC")
    trader.exchange.cancel_all("ETHUSDC", conditional_order=False)
    trader.cancel(trader.sell("XRPUSDC", "100", price="9"))
    trader.twap("ETHUSDC", "SELL", "0.2", "2m", slices=2)
    venue.advance("3m")
    trader.exchange.set_margin_mode("SOLUSDC", "ISOLATED")
    trader.buy("SOLUSDC", "10")
    trader.exchange.assign_pos_margin("SOLUSDC", "25")
    trader.buy("XRPUSDC", "50")
    trader.close_position("XRPUSDC")
    _refused(lambda: trader.buy("BTCUSDC", "90", price="60000"))
    return receipt


def _settings(trader: Session, invitee: Session) -> None:
    """Send the actions that change an account without a trade."""
    invitee.exchange.bind_referral(trader.info.referral_code()["code"][0])
    invitee.buy("BTCUSDC", "0.1")
    trader.exchange.approve_agent(AGENT, "second", 3600)
    trader.exchange.revoke_agent("second")
    trader.exchange.withdraw(AGENT, "12.5")
    _refused(lambda: trader.exchange.usd_send(str(invitee.account), "1"))


def _vaults(venue: LocalVenue, leader: Session, invitee: Session) -> str:
    """Run a vault with a sub-vault from its beginning, and end another one."""
    made = leader.exchange.vault_create("Momentum", "500", "Follows the trend")
    vault = str(made.data["vault"])
    invitee.exchange.vault_deposit(vault, "200")
    leader.buy("ETHUSDC", "0.1", vault_address=vault)
    inner = str(leader.exchange.vault_create_sub_vault(vault_address=vault).data["vault"])
    leader.exchange.vault_rebalance(vault, inner, "50", vault_address=vault)
    leader.exchange.vault_pre_withdraw("10", vault_address=vault)
    venue.advance("1m")
    invitee.exchange.vault_withdraw(vault, "20")
    other = str(leader.exchange.vault_create("Short", "100").data["vault"])
    leader.exchange.vault_update_owner(str(invitee.account), vault_address=other)
    invitee.exchange.vault_close(vault_address=other)
    return vault


def _builders(trader: Session, invitee: Session, builder: Session) -> None:
    """Place orders by a builder for a trader who has authorised it, and end another's authorisation."""
    desk = toolkit.Builder(builder)
    desk.register("Desk")
    for session, agent in ((invitee, 8), (trader, 3)):
        address = development.agent(agent).address
        session.exchange.approve_agent_to_builder(address, str(builder.account), "0.0005", 86_400)
    invitee.exchange.revoke_agent_to_builder()
    desk.place(orders.buy("BTCUSDC", "0.01", "30000"), "0.0002")
    desk.place(orders.buy("BTCUSDC", "0.01", "30000", tp="70000"), "0.0002")


def _lose(venue: LocalVenue, loser: Session) -> None:
    """Buy with all the leverage there is, and let the price fall until the position is liquidated."""
    loser.exchange.set_leverage("XRPUSDC", 20)
    loser.buy("XRPUSDC", value="150000")
    venue.control.jump("XRPUSDC", -15)
    venue.advance("5m")


def _refused(send: Callable[[], object]) -> None:
    """Send what the venue or the checks refuse."""
    with suppress(ToolkitError):
        send()
        raise AssertionError("it was not refused")
