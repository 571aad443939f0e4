"""Outside a venue in this process the ledger is a file by default; what is wrong with it is said before sending."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

import toolkit
from tests.client.fake import AGENT_KEY, MASTER, FakeVenue
from toolkit import errors
from toolkit.client.io import nonce_sources
from toolkit.client.io.transport import Retry
from toolkit.client.orders.intents import IntentState


def connect(fake: FakeVenue, environment: str = "testnet", **options: Any) -> toolkit.Session:
    options.setdefault("wallet", toolkit.Wallet(agent=AGENT_KEY, account=MASTER))
    return toolkit.connect(
        environment,
        transport=httpx.MockTransport(fake),
        retry=Retry(attempts=1),
        settle_timeout=0.01,
        **options,
    )


def buy(s: toolkit.Session) -> toolkit.Receipt:
    return s.buy("BTCUSDC", "0.01", price="60000")


def file_of(s: toolkit.Session) -> Path:
    (found,) = nonce_sources.data_directory().rglob(f"{s.environment.name}*.sqlite")
    return found


def test_the_next_session_knows_what_this_one_left_open(tmp_path: Path) -> None:
    fake = FakeVenue(["answer lost"])
    with connect(fake) as s, pytest.raises(errors.OutcomeUnknown):
        buy(s)
    file_of(s).chmod(0o644)
    with connect(fake) as s:
        assert list(s.intents()["state"]) == ["UNKNOWN"]
        (settled,) = s.resolve()
        assert settled.state is IntentState.ACCEPTED
        path = file_of(s)
    assert path.is_relative_to(tmp_path)
    assert MASTER.lower() in path.name
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert AGENT_KEY.removeprefix("0x").encode() not in path.read_bytes()


def test_each_environment_and_account_has_its_own() -> None:
    other = toolkit.Wallet(agent=AGENT_KEY, account="0x" + "2" * 40)
    options: list[dict[str, Any]] = [
        {},
        {"wallet": other},
        {"environment": "local", "base_url": "http://127.0.0.1:8645"},
        {"environment": "local", "base_url": "http://127.0.0.1:8646"},
        {"environment": "mainnet", "confirm": True},
    ]
    for given in options:
        with connect(FakeVenue(), **given) as s:
            buy(s)
            assert len(s.intents()) == 1
    assert len(list(nonce_sources.data_directory().rglob("*.sqlite"))) == len(options)


def test_nothing_is_written_without_keys_in_this_process_or_before_the_first_order() -> None:
    with connect(FakeVenue(), wallet=toolkit.Wallet(account=MASTER)) as s:
        assert s.intents().empty
    with connect(FakeVenue()) as s:
        s.products()
    assert not list(nonce_sources.data_directory().rglob("*.sqlite"))


def test_a_deleted_ledger_says_so_before_anything_is_sent() -> None:
    fake = FakeVenue()
    with connect(fake) as s:
        buy(s)
        file_of(s).unlink()
        with pytest.raises(
            errors.ToolkitError, match="was deleted or replaced while it was in use, so nothing was sent"
        ):
            buy(s)
        assert len(fake.bodies) == 1
    with connect(fake) as s:
        assert buy(s)


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\x00" + b"\xff" * 4096])
def test_a_damaged_ledger_says_so_before_anything_is_sent(content: bytes) -> None:
    fake = FakeVenue()
    with connect(fake) as s:
        buy(s)
        path = file_of(s)
    for each in path.parent.iterdir():
        each.unlink()
    path.write_bytes(content)
    with (
        connect(fake) as s,
        pytest.raises(errors.InputError, match=r"(?i)nothing was sent\. move it away to begin a new one"),
    ):
        buy(s)
    assert len(fake.bodies) == 1


def test_a_folder_that_can_not_be_written_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    fake = FakeVenue()
    with connect(fake) as s:
        s.products()
        monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path / "file"))
        with pytest.raises(errors.InputError, match="Set TOOLKIT_STATE to a folder that can be written"):
            s.resolve()
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path / "state"))
    with connect(fake, intents=":memory:") as s:
        assert buy(s)
    assert not list(nonce_sources.data_directory().rglob("*.sqlite"))


WORKER = """
import sys
from tests.client.orders.test_account_ledger import connect, buy
from tests.client.fake import FakeVenue
with connect(FakeVenue()) as s:
    for _ in range(10):
        buy(s)
"""


def test_several_processes_share_one_ledger() -> None:
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER], stderr=subprocess.PIPE, text=True, cwd=Path.cwd())
        for _ in range(3)
    ]
    for worker in workers:
        _, said = worker.communicate(timeout=60)
        assert worker.returncode == 0, said
    with connect(FakeVenue()) as s:
        table = s.intents()
    assert len(table) == table["nonce"].nunique() == 30
    assert set(table["state"]) == {"ACCEPTED"}


def test_the_folders_are_those_of_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TOOLKIT_STATE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert nonce_sources.data_directory().name == "toolkit"
    if sys.platform == "linux":
        assert nonce_sources.data_directory() == tmp_path / "data" / "toolkit"
