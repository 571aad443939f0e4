"""A venue and a session for widget tests, and a spy on every signature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ipywidgets import Widget

import toolkit
from toolkit.protocol import signing
from toolkit.protocol.signing import PrivateKey
from toolkit.session import Session
from toolkit.testing import session  # a fixture
from toolkit.venue.local import LocalVenue
from toolkit.widgets.base_panel.panel import REFRESHER

__all__ = ["session"]


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    """A local venue with a manual clock."""
    with LocalVenue(clock="manual") as made:
        yield made


@pytest.fixture
def thin() -> Iterator[Session]:
    """A session at a venue where only its own orders trade: bids of 59,990 and 2,999, asks of 60,010 and 3,001."""
    with (
        LocalVenue(clock="manual", market=None, balance="10000", start="2026-01-01T00:00:00Z") as venue,
        toolkit.connect(venue=venue) as made,
    ):
        for symbol, mark, bid, ask in (("BTCUSDC", "60000", "59990", "60010"), ("ETHUSDC", "3000", "2999", "3001")):
            venue.control.set_oracle(symbol, mark)
            venue.control.add_liquidity(symbol, "BUY", bid, "5")
            venue.control.add_liquidity(symbol, "SELL", ask, "5")
        yield made


def passes(session: Session, span: str) -> None:
    """Let time pass at the venue of a session."""
    assert session.venue is not None
    session.venue.advance(span)


@pytest.fixture
def signed(session: Session, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Every digest that any key signs from now on."""
    digests: list[bytes] = []
    sign = PrivateKey.sign

    def spy(key: PrivateKey, digest: bytes) -> Any:
        digests.append(digest)
        return sign(key, digest)

    monkeypatch.setattr(PrivateKey, "sign", spy)
    assert signing.PrivateKey is PrivateKey
    return digests


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Close every widget, and hold that the panels' thread ends."""
    yield
    Widget.close_all()
    assert not REFRESHER.running
