"""What eth-account does, and the same on a Python that it can't be installed on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.protocol.golden import CHAINS, envelope_fields, vectors
from toolkit import Wallet
from toolkit.errors import MissingPackage, WalletError
from toolkit.protocol import signing
from toolkit.protocol.actions import ACTIONS
from toolkit.venue import development

SECRET = bytes(range(1, 33))
BY_MASTERS = [vector for vector in vectors() if ACTIONS[vector["request"]["action"]["type"]].typed is not None]


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function from whose call on eth-account is not installed."""
    return lambda: monkeypatch.setitem(sys.modules, "eth_account", None)


@pytest.mark.parametrize("writes_without", [False, True])
def test_a_key_file_opens_with_eth_account_and_without(
    tmp_path: Path, writes_without: bool, without: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    wallet, path = Wallet(agent=SECRET), tmp_path / "agent.json"
    with monkeypatch.context() as patch:
        if writes_without:
            patch.setitem(sys.modules, "eth_account", None)
        wallet.save_keyfile(path, "pässword")
    if not writes_without:
        without()
    assert Wallet.from_keyfile(path, "pässword").agent == wallet.agent
    with pytest.raises(WalletError, match="the password does not open it"):
        Wallet.from_keyfile(path, "password")


def test_the_typed_data_of_masters_has_the_same_hashes_without_eth_account(without: Callable[[], None]) -> None:
    def explained() -> list[signing.Explained]:
        requests = [(vector["request"], CHAINS[vector["environment"]]) for vector in BY_MASTERS]
        return [signing.explain(request["action"], chain, **envelope_fields(request)) for request, chain in requests]

    with_it = explained()
    without()
    assert explained() == with_it
    assert len(with_it) == 17


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("new_mnemonic", development.new_mnemonic),
        ("check_mnemonic", lambda: development.check_mnemonic("abandon " * 12)),
    ],
)
def test_what_needs_eth_account_says_why_it_is_missing_and_what_to_do(
    name: str, call: Callable[[], Any], without: Callable[[], None]
) -> None:
    without()
    with pytest.raises(MissingPackage) as caught:
        call()
    assert caught.value.name == "eth_account"
    assert str(caught.value) == (
        f"{name} can't be used, as eth-account is not installed: its dependency ckzg has no wheel for Python 3.15. "
        "Use the toolkit with Python 3.11 to 3.14 for that"
    )
