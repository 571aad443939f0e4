"""The public reads of a session, by the query whose answer they show, and what two frames have in common."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import pandas as pd
import pytest

import toolkit
from tests.client.fake import Clock, session
from tests.published.server import PublishedServer
from tests.published.variations import ACTIVE, APRIL, AS_PUBLISHED, BUILDERS, META, SINGLE, Form, Variation
from tests.published.world import AGENT, MASTER, NOW, VAULT
from toolkit.errors import DataWarning
from toolkit.session import Session

Call = Callable[[Session], pd.DataFrame]
HOUR_AGO = NOW - 3_600_000
READS: dict[str, dict[str, Call]] = {
    META: {
        "products": lambda s: s.products(),
        "products, exact": lambda s: s.products(exact=True),
        "info.products": lambda s: s.info.products(),
        "margin tables": lambda s: s.products.margin_tables(),
        "currencies": lambda s: s.products.currencies(),
    },
    SINGLE: {"info.product": lambda s: s.info.product("BTCUSDC", exact=True)},
    "/info/account/wallet": {
        "wallet_balances": lambda s: s.wallet_balances(),
        "info.wallet_balances": lambda s: s.info.wallet_balances(exact=True),
    },
    "/info/account/agent": {"info.agents": lambda s: s.info.agents()},
    ACTIVE: {"info.agent": lambda s: s.info.agent("desk")},
    "/info/order/states": {
        "orders": lambda s: s.orders(),
        "open orders": lambda s: s.orders(open=True),
        "info.order_states": lambda s: s.info.order_states(exact=True),
    },
    "/info/order/events": {
        "info.order_events": lambda s: s.info.order_events(),
        "info.order_events, exact": lambda s: s.info.order_events(exact=True),
    },
    "/info/position/list": {
        "positions": lambda s: s.positions(),
        "positions, exact": lambda s: s.positions(exact=True),
        "info.positions": lambda s: s.info.positions(),
    },
    "/info/trade/page": {
        "fills": lambda s: s.fills(),
        "fills, exact": lambda s: s.fills(exact=True),
        "info.fills": lambda s: s.info.fills(),
    },
    "/info/kline/last": {"info.klines_last": lambda s: s.info.klines_last("SOLUSDC", "1m", limit=9)},
    "/info/kline/before": {
        "info.klines_before": lambda s: s.info.klines_before("SOLUSDC", "5m", before=HOUR_AGO, limit=9)
    },
    "/info/kline/list": {
        "klines": lambda s: s.klines("BTCUSDC", "1m", HOUR_AGO, NOW, exact=True),
        "info.klines": lambda s: s.info.klines("BTCUSDC", "5m", HOUR_AGO, NOW),
    },
}
"""Query whose answer is published → its reads."""
EVERY = {name: (path, call) for path, calls in READS.items() for name, call in calls.items()}
UNPUBLISHED: dict[str, Call] = {
    "/info/account/ledger": lambda s: s.info.ledger(),
    "/info/fundingRate/current": lambda s: s.info.funding_rates(),
    "/info/fundingRate/history": lambda s: s.info.funding_rate_history("BTCUSDC"),
    "/info/funding/history": lambda s: s.info.funding_payments(),
    "/info/vault/user-list": lambda s: s.info.user_vaults(),
    "/info/vault/user": lambda s: s.info.vault_user(VAULT),
    "/info/vault/list": lambda s: s.info.vaults(),
    "/info/vault/history": lambda s: s.info.vault_history(VAULT),
    "/info/vault/events": lambda s: s.info.vault_events(VAULT),
    "/info/vault/depositors": lambda s: s.info.vault_depositors(VAULT),
    "/info/referral/code": lambda s: s.info.referral_code(),
    "/info/referral/summary": lambda s: s.info.referral_summary(),
    "/info/referral/referrals": lambda s: s.info.referrals(),
    "/info/referral/payouts": lambda s: s.info.referral_payouts(),
    "/info/explore/transaction/page": lambda s: s.info.transactions(),
    "/info/explore/transaction/detail": lambda s: s.info.transaction("0x" + "ab" * 32),
    "/info/explore/block/detail": lambda s: s.info.block(16_170_000),
}
"""Query whose parameters are published, and whose answer is not → its read."""
OTHERS: dict[str, Call] = {
    "/info/vault/detail": lambda s: s.info.vault(VAULT),
    BUILDERS: lambda s: s.info.builder_agents(),
}


def forms(*given: Form) -> pytest.MarkDecorator:
    """Return a mark that runs a test with each form."""
    return pytest.mark.parametrize("form", given, ids=lambda form: form.name)


def connected(server: PublishedServer, **options: Any) -> Session:
    """Return a session of the world's account, which trades with its agent."""
    keys = {"agent": "0x" + AGENT.secret.hex(), "master": "0x" + MASTER.secret.hex()}
    usual = {"clock": Clock(NOW), "settle_timeout": 5, "ws_url": "ws://127.0.0.1:9", "base_url": "http://127.0.0.1:9"}
    return session(server, **{"wallet": toolkit.Wallet(**keys), **usual, **options})


def unlocked(panel: Any) -> str:
    """Wait until a panel has what it needs of the feed, and return what it still lacks."""
    ready = threading.Event()
    panel.observe(lambda change: None if change["new"] else ready.set(), "lock")
    if panel.lock:
        ready.wait(30)
    return str(panel.lock)


def read(form: Form, call: Call, variation: Variation = AS_PUBLISHED) -> tuple[pd.DataFrame, str]:
    """Return the frame of a read at a fresh server, and the warnings about the data."""
    with warnings.catch_warnings(record=True) as caught, connected(PublishedServer(form, variation)) as s:
        warnings.simplefilter("always")
        frame = call(s)
    assert all(issubclass(one.category, DataWarning) for one in caught), [str(one.message) for one in caught]
    return frame, "\n".join(str(one.message) for one in caught)


@cache
def reference(name: str) -> pd.DataFrame:
    """Return the frame of a read of answers as they are published."""
    return read(APRIL, EVERY[name][1])[0]


def difference(frame: pd.DataFrame, expected: pd.DataFrame) -> str:
    """Return how a frame differs from another one, "" if it does not."""
    try:
        pd.testing.assert_frame_equal(frame, expected)
    except AssertionError as error:
        return " ".join(str(error).split())
    return ""


def lost(frame: pd.DataFrame, full: pd.DataFrame) -> tuple[set[str], str]:
    """Return the columns that are NA in a frame and not in the full one, and how else the frame differs from it."""
    if list(frame.columns) != list(full.columns) or len(frame) != len(full):
        return set(), f"{len(frame)} rows of {len(full)}, columns {list(frame.columns)}"
    empty, other = set(), []
    for name in map(str, full):
        got, had = frame[name], full[name]
        if got.dtype != had.dtype:
            other.append(f"{name} has dtype {got.dtype} for {had.dtype}")
        if (got.isna() & had.notna()).any():
            empty.add(name)
        kept = got.notna().to_numpy()
        if got[kept].tolist() != had[kept].tolist():
            other.append(f"{name} was {had[kept].tolist()} and is {got[kept].tolist()}")
    return empty, "; ".join(other)


def assert_each(calls: dict[str, Call], judge: Callable[[str, Call], str]) -> None:
    """Judge every read, and fail with what is wrong with any of them. An error is wrong as well."""
    found = {}
    for name, call in calls.items():
        try:
            found[name] = judge(name, call)
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    wrong = [f"{name}: {said}" for name, said in found.items() if said]
    assert not wrong, "\n".join(wrong)
