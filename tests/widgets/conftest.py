"""A venue and a session for widget tests, and a spy on every signature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ipywidgets import Widget

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
