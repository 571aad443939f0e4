"""Traders for tests: approved agents that act on a venue without signing, as if the gateway had recovered them."""

from __future__ import annotations

from typing import Any

from tests.venue.wallets import Signer
from toolkit.venue import development
from toolkit.venue.api.gateway import Submission
from toolkit.venue.engine.commands import Outcome
from toolkit.venue.local import LocalVenue


class Trader:
    """One development account with an approved agent."""

    def __init__(self, venue: LocalVenue, index: int) -> None:
        self.venue = venue
        master, agent = development.account(index), development.account(index + 10)
        self.address, self._agent = master.address.lower(), agent.address.lower()
        self._nonce = 0
        approval = {
            "type": "approveAgent",
            "agentAddress": agent.address,
            "agentName": "tests",
            "validitySeconds": 31_536_000,
            "dexChain": "Testnet",
        }
        answer = Signer(master).do(venue, approval, nonce=venue.host.now_ms() + index)
        assert answer["code"] == 0, answer

    def act(self, kind: str, **action: Any) -> Outcome:
        """Do an action; its outcome may be a refusal."""
        self._nonce += 1
        submission = Submission({"type": kind, **action}, self._agent, self._nonce, None, None, b"", None)
        [outcome] = self.venue.host.submit_many([submission])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def place(self, side: str, price: str, quantity: str, *, symbol: int = 1, **more: Any) -> int:
        """Place a limit order (a market order for price "0") and return its number, 0 when it was refused."""
        market = price == "0"
        order = {
            "symbolCode": symbol,
            "ordPx": price,
            "ordQty": quantity,
            "ordType": "MARKET" if market else "LIMIT",
            "ordSide": side,
            "timeInForce": "IOC" if market else "GTC",
            **more,
        }
        data = self.act("placeOrder", orders=[order]).data or {}
        return int(data.get("results", [{}])[0].get("ordId") or 0)

    def cancel(self, order: int, *, symbol: int = 1) -> Outcome:
        """Cancel an order."""
        return self.act("cancelOrder", cancels=[{"symbolCode": str(symbol), "ordId": str(order)}])
