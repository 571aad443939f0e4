"""`connect`: where a session goes, as whom, and what it refuses before it is made."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import toolkit
from tests.client.conftest import _state_in_a_temporary_folder  # a fixture
from tests.client.fake import AGENT_KEY, MASTER, MASTER_KEY, FakeVenue, session
from toolkit import errors
from toolkit.client.io.rate_limits import Rate
from toolkit.client.io.transport import Retry
from toolkit.protocol.actions import ACTIONS
from toolkit.venue.local import LocalVenue

__all__ = ["_state_in_a_temporary_folder"]

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(clock="manual", market=False) as made:
        yield made


def test_connect_alone_is_ready_to_trade() -> None:
    with toolkit.connect(clock="manual") as s:
        assert s.venue is not None
        receipt = s.buy("BTCUSDC", "0.01", price="90000")
        assert receipt
        assert s.positions()["size"].tolist() == [0.01]
        assert s.close_position("BTCUSDC")
        assert s.positions().empty
        with pytest.raises(errors.InputError, match="no position in BTCUSDC"):
            s.close_position("BTCUSDC")


def test_over_loopback_a_session_approves_and_trades() -> None:
    with LocalVenue(seed=3) as venue, venue.serve(0) as served:
        with toolkit.connect(served.environment) as s:
            assert repr(s.venue).startswith("<ServedVenue at http://127.0.0.1:")
            assert "at http://127.0.0.1" in repr(s)
            with pytest.raises(errors.SignatureRejected):
                s.buy("BTCUSDC", "0.001", price="50000")
            s.exchange.approve_agent()
            assert s.buy("BTCUSDC", "0.001", price="50000")
            assert s.positions().empty

        async def run() -> toolkit.Receipt:
            async with toolkit.connect("local", base_url=served.base_url).aio as later:
                return await later.buy("BTCUSDC", "0.001", price="50001")

        assert asyncio.run(run())


def test_a_served_venue_is_reached_even_at_the_preset_address() -> None:
    from dataclasses import replace

    assert isinstance(toolkit.connect(toolkit.LOCAL).venue, LocalVenue)
    for address in (replace(toolkit.LOCAL, base_url="http://127.0.0.1:8645"), "local"):
        served = toolkit.connect(address, base_url="http://127.0.0.1:8645").venue
        assert repr(served).startswith("<ServedVenue at http://127.0.0.1:8645")


def test_the_address_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLKIT_BASE_URL", "http://127.0.0.1:8645")
    s = toolkit.connect()
    assert repr(s.venue).startswith("<ServedVenue at http://127.0.0.1:8645")
    assert s.environment.base_url == "http://127.0.0.1:8645"


def test_reprs_say_who_and_where() -> None:
    s = session(FakeVenue())
    assert repr(s) == "<Session testnet at https://api-testnet.afx.xyz, account 0xf39F…2266, signs as agent>"
    assert "read-only" in repr(session(FakeVenue(), wallet=None, account=MASTER))
    assert "real money" in session(FakeVenue(), environment="mainnet")._repr_html_()
    assert "real money" not in s._repr_html_()
    assert repr(s.aio).startswith("<AsyncSession testnet")
    assert f"{len(ACTIONS)} actions" in repr(s.exchange)


def test_wrong_combinations_are_refused(venue: LocalVenue) -> None:
    with pytest.raises(errors.InputError, match="local, not testnet"):
        toolkit.connect("testnet", venue=venue)
    with pytest.raises(errors.InputError, match="no development account 12"):
        toolkit.connect(venue=venue, account=12)
    with pytest.raises(errors.InputError, match="there are none on testnet"):
        toolkit.connect("testnet", account=1)
    with pytest.raises(errors.InputError, match="environment 'moon' is not known"):
        toolkit.connect("moon")


def test_connecting_to_an_exchange_elsewhere_sends_nothing() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise AssertionError("nothing may be sent")

    s = session(refuse, wallet=toolkit.Wallet(agent=AGENT_KEY))
    assert s.account is None
    s.close()


@pytest.mark.parametrize("fault", ["a file in the folder's place", "a nonce file that can't be opened"])
def test_without_a_writable_folder_the_process_counts_nonces_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    if fault.startswith("a file"):
        (tmp_path / "file").write_text("", encoding="utf-8")
    else:
        agent = toolkit.Wallet(agent=AGENT_KEY).agent
        assert agent is not None
        (tmp_path / "file" / "nonces" / "testnet" / f"nonce-{agent.lower()}").mkdir(parents=True)
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path / "file"))
    s = session(FakeVenue())
    with pytest.warns(UserWarning, match="nonces are not shared with other processes"):
        assert s.buy("BTCUSDC", "0.01", price="60000")
    assert s.buy("BTCUSDC", "0.01", price="60000")


def test_asking_at_the_keyboard_takes_only_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    for answer, expected in (("yes", True), ("YES ", True), ("y", False), ("", False)):
        monkeypatch.setattr("builtins.input", lambda prompt, answer=answer: answer)
        assert toolkit.ask("Really?") is expected


@pytest.mark.parametrize(
    ("call", "loaded"), [("s.products", []), ("s.buy('BTCUSDC', '0.01', price='90000')", ["numpy"])]
)
def test_connecting_loads_no_heavy_module_and_an_order_those_that_draw_the_book(call: str, loaded: list[str]) -> None:
    code = (
        f"import sys, toolkit; s = toolkit.connect(clock='manual'); {call};"
        "print([m for m in ('pandas', 'numpy', 'matplotlib', 'ipywidgets', 'eth_account', 'uvicorn', 'starlette')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == str(loaded)


def test_the_public_fixtures_give_a_venue_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["toolkit.testing"]\n', encoding="utf-8")
    (tmp_path / "test_theirs.py").write_text(
        "def test_it(venue, session):\n"
        "    assert session.venue is venue\n"
        "    assert session.buy('BTCUSDC', '0.01')\n"
        "    venue.advance('1m')\n"
        "def test_each_test_has_its_own(session):\n"
        "    assert len(session.intents()) == 1\n",
        encoding="utf-8",
    )
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", str(tmp_path)]
    theirs = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=theirs)
    assert "2 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"account": True}, "account"),
        ({"account": 1.5}, "account"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": "10"}, "timeout"),
        ({"expiry_ms": -1}, "expiry_ms"),
        ({"expiry_ms": "5"}, "expiry_ms"),
        ({"rates": 5}, "rates"),
    ],
)
def test_what_can_only_fail_later_is_refused_when_connecting(options: dict[str, Any], field: str) -> None:
    with pytest.raises(errors.InputError) as caught:
        toolkit.connect("testnet", **options)
    assert caught.value.field == field


def test_a_wallet_and_the_account_of_another_do_not_fit_together() -> None:
    with pytest.raises(errors.InputError, match="not the master of this wallet"):
        toolkit.connect("testnet", wallet=toolkit.Wallet(master=MASTER_KEY), account="0x" + "1" * 40)
    same = toolkit.connect("testnet", wallet=toolkit.Wallet(master=MASTER_KEY), account=MASTER.lower())
    assert str(same.account).lower() == MASTER.lower()


def test_a_read_only_session_on_mainnet_names_the_missing_key_before_it_asks_to_confirm() -> None:
    with pytest.raises(toolkit.ToolkitError, match="signed by the agent key"):
        session(FakeVenue(), environment="mainnet", wallet=toolkit.Wallet(account=MASTER)).exchange.cancel_all(1)


@pytest.mark.parametrize(
    ("interval", "said"), [(0, "whole minutes, from 1m to 1w"), (-60, "not a span of time"), ("0s", "whole minutes")]
)
def test_an_interval_without_length_is_refused(interval: Any, said: str) -> None:
    with pytest.raises(errors.InputError, match=said):
        session(FakeVenue()).klines("BTCUSDC", interval)


def test_a_rate_must_let_something_through() -> None:
    for per_second, burst in ((0, 1), (-1, 5), (1, 0)):
        with pytest.raises(errors.InputError, match="per_second above 0"):
            Rate(per_second, burst)


def test_proxies_of_the_environment_are_not_used_to_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with LocalVenue(clock="manual", market=False, accounts=1) as venue, venue.serve() as served:
        s = toolkit.connect(base_url=served.base_url, ws_url=served.ws_url, retry=Retry(attempts=1))

        async def listed() -> bool:
            async with s.aio:
                return "BTCUSDC" in (await s.aio.products()).index

        assert "BTCUSDC" in s.products().index
        assert asyncio.run(listed())
    elsewhere = {"base_url": "http://192.0.2.1", "ws_url": "ws://192.0.2.1"}
    there = toolkit.connect("testnet", **elsewhere, retry=Retry(attempts=1), timeout=2)
    with pytest.raises(errors.NotSent):  # elsewhere they are
        there.products()
