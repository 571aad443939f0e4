"""A session follows a served venue: one address for everything, its accounts by number and name, its controls."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import toolkit
from toolkit import errors
from toolkit.client.orders.intents import IntentState
from toolkit.venue import development
from toolkit.venue.local import LocalVenue
from toolkit.venue.served.private_files import keys_text, write_private
from toolkit.venue.served.server import Served

WORDS = "legal winner thank year wave sausage worth useful legal winner thank yellow"


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(seed=3, accounts=12, market=False) as made:
        made.control.add_liquidity("BTCUSDC", "SELL", "62600", "1")
        yield made


@pytest.fixture
def served(venue: LocalVenue) -> Iterator[Served]:
    with venue.serve(control=True) as made:
        yield made


@pytest.mark.parametrize("address", ["{base}", "{base}/api/v1/exchange", "{feed}/ws/dex"])
def test_one_address_in_any_of_its_forms_trades_and_streams(served: Served, address: str) -> None:
    given = address.format(base=served.base_url, feed=served.ws_url)
    with toolkit.connect("local", base_url=given, account=3) as session:
        session.exchange.approve_agent()
        book = session.stream.order_book("BTCUSDC")
        book.wait(lambda live: live.frame().size, timeout=10)
        assert session.buy("BTCUSDC", "0.01", price="62600", tif="IOC")
        assert len(session.positions()) == 1


def test_accounts_are_found_by_number_and_by_name(served: Served) -> None:
    for account, number in ((11, 11), ("account-11", 11), (0, 0)):
        with toolkit.connect("local", base_url=served.base_url, account=account) as session:
            assert session.account == development.master(number).address
            assert session.wallet is not None
            assert session.wallet.agent == development.agent(number).address
    with pytest.raises(errors.InputError, match=r"no account named 'ann' here. The names are account-0, account-1"):
        toolkit.connect("local", base_url=served.base_url, account="ann")
    with pytest.raises(errors.InputError, match="This venue has no names"):
        toolkit.connect(account="ann")


def test_accounts_of_own_words_are_read_only_without_the_keys_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LocalVenue(accounts=2, balance="123.5", mnemonic=WORDS, market=False) as venue, venue.serve() as served:
        with toolkit.connect("local", base_url=served.base_url, account="account-1") as session:
            assert session.account == development.master(1, WORDS).address
            assert session.wallet is None
            assert session.wallet_balances()["balance"].tolist() == [123.5]
        path = tmp_path / "keys.json"
        write_private(path, keys_text(2, "123.5", WORDS, served.base_url, served.ws_url))
        if sys.platform != "win32":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        monkeypatch.setenv("TOOLKIT_KEYS_FILE", str(path))
        for account in (1, "account-1"):
            with toolkit.connect("local", base_url=served.base_url, account=account) as session:
                assert session.exchange.approve_agent()
        with pytest.raises(errors.WalletError, match=r"has no account 5\. It has account-0, account-1"):
            toolkit.connect("local", base_url=served.base_url, account=5)
    stored = json.loads(path.read_text())
    assert stored["base_url"] == served.base_url
    assert [row["balance"] for row in stored["accounts"]] == ["123.5", "123.5"]


@pytest.mark.parametrize("text", [None, "", "[]", '{"accounts": [{"name": "a", "number": 0}]}', '{"accounts": 5}'])
def test_a_file_that_holds_no_keys_is_named(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "keys.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(errors.WalletError, match=r"keys file .*keys\.json: "):
        toolkit.Wallet.from_keys_file(path, 0)


def test_controls_are_methods_with_the_token_here_and_there(
    served: Served, venue: LocalVenue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOOLKIT_CONTROL_TOKEN", raising=False)
    address = development.master(0).address
    token = served.control_token
    with toolkit.connect("local", base_url=served.base_url, control_token=token) as session:
        assert {"fund", "pause", "add_fault", "market"} <= set(dir(session.venue.control))
        assert not {"advance", "snapshot", "revert"} & set(dir(session.venue.control))  # these stand on the venue
        assert session.venue.control.fund(address, "5")["balance"] == "10005"
        assert session.venue.control.fund(address=address, amount="5")["balance"] == "10010"
        before = venue.host.now_ms()
        assert session.venue.advance("1h") >= before + 3_600_000
        with pytest.raises(errors.ToolkitError, match="must be above 0"):
            session.venue.control.fund(address, "-5")
        with pytest.raises(AttributeError, match="Did you mean 'pause'"):
            _ = session.venue.control.pausse
        with pytest.raises(AttributeError, match=r"Use session\.venue\.advance"):
            _ = session.venue.control.advance
        assert token not in f"{session!r}{session.venue!r}{session.venue.control!r}"
    wrong = toolkit.connect("local", base_url=served.base_url, control_token=token[:-1] + "!")
    with wrong, pytest.raises(errors.ToolkitError, match="token"):
        wrong.venue.snapshot()
    with toolkit.connect("local", base_url=served.base_url) as session:
        with pytest.raises(errors.InputError, match="TOOLKIT_CONTROL_TOKEN"):
            session.venue.advance("1h")
        with pytest.raises(errors.InputError, match="TOOLKIT_CONTROL_TOKEN"):
            _ = session.venue.control.fund
        monkeypatch.setenv("TOOLKIT_CONTROL_TOKEN", token)
        number = session.venue.snapshot()
        assert session.venue.revert(number) is None
    with toolkit.connect(clock="manual") as here:
        assert here.venue.advance("1m") == here.clock.now_ms()  # type: ignore[union-attr]


def test_a_session_goes_on_after_a_restart_of_its_venue(tmp_path: Path) -> None:
    def started() -> LocalVenue:
        return LocalVenue(seed=3, accounts=1, market=False, journal=tmp_path / "journal", sync="os")

    with started() as venue, venue.serve() as served:
        port = served.port
        session = toolkit.connect("local", base_url=served.base_url)
        session.exchange.approve_agent()
        assert session.buy("BTCUSDC", "0.01", price="60000", tif="GTC")
        book = session.stream.order_book("BTCUSDC")
        book.wait(lambda live: live.frame().size, timeout=10)
    with started() as venue, venue.serve(port), session:
        receipt = session.buy("BTCUSDC", "0.02", price="60000", tif="GTC")
        assert receipt
        book.wait(lambda live: "0.03" in str(live.bids(1)), timeout=20)
        assert len(session.orders(open=True)) == 2
        assert session.intents("UNKNOWN").empty
    assert os.path.getsize(tmp_path / "journal")


def test_a_refused_action_says_so_soon(served: Served) -> None:
    with toolkit.connect("local", base_url=served.base_url, intents=":memory:", settle_timeout=60) as s:
        began = time.monotonic()
        with pytest.raises(errors.SignatureRejected) as caught:
            s.exchange.set_leverage("BTCUSDC", 5)
        # Asked four times within two seconds. Without an end, it would be settle_timeout, 60 s.
        assert time.monotonic() - began < 30
        assert caught.value.receipt is not None
        assert caught.value.receipt.state is IntentState.REJECTED
