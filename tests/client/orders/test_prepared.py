"""What is shown before signing is what is signed: prepared orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolkit import orders
from toolkit.errors import ToolkitError
from toolkit.protocol import envelope, signing
from toolkit.testing import session, venue  # fixtures

if TYPE_CHECKING:
    from toolkit.session import Session

__all__ = ["session", "venue"]


def test_the_digest_that_was_shown_is_the_digest_that_was_signed(session: Session) -> None:
    before = len(session.intents())
    prepared = session.intents.prepare(orders.buy("BTCUSDC", "0.01", "10000"))
    assert len(session.intents()) == before
    shown = prepared.explain().digest
    receipt = session.intents.send(prepared)
    assert receipt
    assert receipt.cl_ord_id == prepared.client_ids[0]
    body = session.intents.get(receipt.intent).body
    assert body is not None
    request = envelope.parse(body)
    assert signing.content_digest(request, session.environment.chain) == shown
    assert signing.recover(request, session.environment.chain) == prepared.signer


def test_a_prepared_order_is_sent_once(session: Session) -> None:
    prepared = session.intents.prepare(orders.buy("BTCUSDC", "0.01", "10000"))
    assert session.intents.send(prepared)
    with pytest.raises(ToolkitError):
        session.intents.send(prepared)
    assert len(session.orders(open=True)) == 1


def test_any_action_can_be_prepared(session: Session) -> None:
    prepared = session.intents.prepare({"type": "setLeverage", "symbolCode": 1, "leverage": "5"})
    assert prepared.expiry_after is None
    assert session.intents.send(prepared)
