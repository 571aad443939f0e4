"""What every door refuses: a flag that is neither True nor False, and a mistyped address."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import toolkit
from toolkit import errors, orders

BROKEN = "0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
"""The first development account with one letter in the other case."""


@pytest.fixture(scope="module")
def session() -> Iterator[toolkit.Session]:
    with toolkit.connect(clock="manual", market=False) as made:
        yield made


FLAGS: dict[str, Callable[[toolkit.Session, Any], Any]] = {
    "reduce_only": lambda s, value: s.sell("BTCUSDC", "0.001", "90000", reduce_only=value),
    "reduce_only of an order": lambda s, value: orders.limit("BTCUSDC", "BUY", "1", "50000", reduce_only=value),
    "reduce_only, awaited": lambda s, value: asyncio.run(s.aio.buy("BTCUSDC", "1", reduce_only=value)),
    "reduce_only of a TWAP": lambda s, value: s.twap("BTCUSDC", "SELL", "0.01", "1m", reduce_only=value),
    "conditional": lambda s, value: s.cancel_all("BTCUSDC", conditional=value),
    "conditional_order": lambda s, value: s.exchange.cancel_all("BTCUSDC", conditional_order=value),
    "flatten": lambda s, value: s.stop_all(flatten=value),
    "resend": lambda s, value: s.resolve(resend=value),
    "exact": lambda s, value: s.positions(exact=value),
    "approve": lambda s, value: toolkit.connect(clock="manual", approve=value),
    "plain_http": lambda s, value: toolkit.connect(clock="manual", plain_http=value),
}


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize(
    "value", [float("nan"), 1.0, 0, 1, np.float64("nan"), np.int64(1), "true", "", [], b"1"], ids=repr
)
def test_a_flag_is_true_or_false(session: toolkit.Session, name: str, value: Any) -> None:
    with pytest.raises(errors.InputError) as caught:
        FLAGS[name](session, value)
    if not (isinstance(value, str) and name.startswith("reduce_only")):  # where names of kinds are taken too
        assert "True" in str(caught.value)
    assert caught.value.field in name.replace("reduce_only,", "reduce_only")


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("value", [np.True_, np.False_], ids=repr)
def test_a_flag_of_a_table_is_one(session: toolkit.Session, name: str, value: Any) -> None:
    # What such an order or a second venue is refused for is another question.
    with suppress(errors.ActionRejected, errors.CheckFailed):
        FLAGS[name](session, value)


def test_a_bad_flag_does_not_keep_stop_all_from_cancelling(session: toolkit.Session) -> None:
    session.buy("BTCUSDC", "0.01", "50000")
    with pytest.raises(errors.InputError, match=r"flatten is 'no'.*Orders and runs were ended, and no position was"):
        session.stop_all(flatten="no")  # type: ignore[arg-type]
    assert session.orders(open=True).empty


ADDRESSES: dict[str, Callable[[toolkit.Session], Any]] = {
    "account": lambda s: toolkit.connect("testnet", account=BROKEN),
    "account, locally": lambda s: toolkit.connect(account=BROKEN),
    "fork": lambda s: toolkit.connect(follow="testnet", fork=BROKEN),
    "vault_address": lambda s: s.buy("BTCUSDC", "0.01", "50000", vault_address=BROKEN),
    "vault_address of a cancel": lambda s: s.cancel_all("BTCUSDC", vault_address=BROKEN),
    "account of a query": lambda s: s.info.positions(account=BROKEN),
    "account of a query, awaited": lambda s: asyncio.run(s.aio.info.positions(account=BROKEN)),
    "address of the feed": lambda s: s.stream.positions(BROKEN),
    "to": lambda s: s.exchange.usd_send(BROKEN, "1"),
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address_keeps_its_checksum(session: toolkit.Session, name: str) -> None:
    with pytest.raises(errors.InputError, match="break the EIP-55 checksum") as caught:
        ADDRESSES[name](session)
    assert (caught.value.rule, caught.value.nearest) == ("EIP-55", (BROKEN.lower(),))


def test_a_wallets_account_keeps_its_checksum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLKIT_ACCOUNT", BROKEN)
    monkeypatch.setenv("TOOLKIT_AGENT_KEY", "11" * 32)
    for make in (lambda: toolkit.Wallet(account=BROKEN), toolkit.Wallet.from_env):
        with pytest.raises(errors.WalletError, match="break the EIP-55 checksum"):
            make()


@pytest.mark.parametrize(
    "address", [BROKEN.lower(), "0x" + BROKEN[2:].upper(), "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"]
)
def test_an_address_in_one_case_or_with_its_checksum_passes(address: str) -> None:
    assert toolkit.connect("testnet", account=address).account == address
