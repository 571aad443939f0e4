"""Wallets for tests of the venue: development keys that sign real requests."""

from __future__ import annotations

import json
from typing import Any

from toolkit.environments import TESTNET_CHAIN, Chain
from toolkit.protocol import signing
from toolkit.venue import development
from toolkit.venue.api.gateway import Answer
from toolkit.venue.development import DevelopmentAccount
from toolkit.venue.local import LocalVenue

MASTER, OTHER = development.masters(2)
AGENT, SECOND_AGENT = development.agents(2)
STRANGER = development.account(100)


class Signer:
    """One wallet that signs for one chain and counts its nonces."""

    def __init__(self, account: DevelopmentAccount, chain: Chain = TESTNET_CHAIN) -> None:
        self.address = account.address
        self.chain = chain
        self.nonce = 1_000_000
        self._key = signing.PrivateKey(account.key)

    def request(
        self, action: dict[str, Any], *, nonce: int | None = None, expiry: int | None = None, vault: str | None = None
    ) -> dict[str, Any]:
        """Return a signed envelope."""
        if nonce is None:
            self.nonce = nonce = self.nonce + 1
        return signing.sign(
            action, key=self._key, chain=self.chain, nonce=nonce, expiry_after=expiry, vault_address=vault
        )

    def post(self, venue: LocalVenue, action: dict[str, Any], **envelope: Any) -> Answer:
        """Sign and post an action in process."""
        body = json.dumps(self.request(action, **envelope)).encode()
        return venue.host.gateway.handle("POST", "/api/v1/exchange", "", body, "test")

    def do(self, venue: LocalVenue, action: dict[str, Any], **envelope: Any) -> dict[str, Any]:
        """Sign and post an action; return the opened envelope."""
        return dict(json.loads(self.post(venue, action, **envelope).body))
