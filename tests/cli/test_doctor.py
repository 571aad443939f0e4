"""`toolkit doctor` explains the usual troubles, ends with the right code, and never shows a key."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

import toolkit
from tests.client.fake import AGENT_KEY, MASTER, MASTER_KEY, NOW, FakeVenue, enveloped, session
from toolkit.__main__ import main
from toolkit.cli import doctor
from toolkit.client.io.route import PROXIES
from toolkit.venue.local import LocalVenue

AGENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


@pytest.fixture(autouse=True)
def _clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "300")
    for name in ("TOOLKIT_AGENT_KEY", "TOOLKIT_MASTER_KEY", "TOOLKIT_ACCOUNT", *PROXIES):
        monkeypatch.delenv(name, raising=False)


def findings(venue: Any, variables: dict[str, str] | None = None, **options: Any) -> dict[str, doctor.Finding]:
    s = session(venue, **options)
    return {finding.name: finding for finding in doctor.examine(s, variables or {})}


class Answers:
    """A venue whose answers are written down by path."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.headers = {"x-venue-time": str(NOW)}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        answer = self.answers.get(request.url.path.split("/")[-1].replace("-", "_"), [])
        if isinstance(answer, Exception | httpx.Response):
            return self.fail(answer, request)
        return enveloped(0, "success", answer, headers=self.headers)

    @staticmethod
    def fail(answer: Exception | httpx.Response, request: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_locally_all_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    for words in (
        "versions",
        "interface 1.0.0",
        "environment  local, in this process",
        "4 listed: BTCUSDC",
        "agrees with",
        "10,000.00",
    ):
        assert words in text
    assert "FAIL" not in text
    assert "1. trade: python -m toolkit quickstart" in text


def test_a_served_venue_shows_that_the_agent_is_not_approved_yet(capsys: pytest.CaptureFixture[str]) -> None:
    with LocalVenue(market=False) as venue, venue.serve(0) as served:
        assert main(["doctor", "--env", "local", "--base-url", served.base_url]) == 1
        assert "is not approved" in capsys.readouterr().out
        with toolkit.connect(served.environment) as s:
            s.exchange.approve_agent()
        assert main(["doctor", "--env", "local", "--base-url", served.base_url]) == 0
        assert f"ok    feed         {served.environment.ws_url}" in capsys.readouterr().out


def test_keys_are_looked_for_and_never_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOOLKIT_AGENT_KEY", AGENT_KEY)
    monkeypatch.setenv("MINE", MASTER_KEY)
    main(["doctor", "--master-key-env", "MINE"])
    text = capsys.readouterr().out
    assert f"agent {AGENT}, master {MASTER}" in text
    assert AGENT_KEY[2:] not in text
    assert MASTER_KEY[2:] not in text
    monkeypatch.setenv("TOOLKIT_AGENT_KEY", AGENT_KEY[:-3])
    assert main(["doctor"]) == 1
    text = capsys.readouterr().out
    assert "the key in TOOLKIT_AGENT_KEY has 61 characters" in text
    assert AGENT_KEY[2:-3] not in text


def test_without_keys_or_account_reading_still_works() -> None:
    found = findings(FakeVenue(), wallet=None)
    assert found["reachable"].state == "ok"
    assert "agent" not in found
    assert "account" not in found


def test_lines_fit_the_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    main(["doctor"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_the_agents_key_file_is_read_with_a_password_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import eth_keyfile.keyfile as keyfile

    monkeypatch.setattr(keyfile, "get_default_work_factor_for_kdf", lambda kdf: 2)
    monkeypatch.setattr("getpass.getpass", lambda question: "words")
    agent = toolkit.Wallet.create()
    agent.save_keyfile(tmp_path / "agent.json", "words")
    main(["doctor", "--keyfile", str(tmp_path / "agent.json")])
    assert f"agent {agent.agent}" in capsys.readouterr().out
    assert main(["doctor", "--keyfile", str(tmp_path / "none.json")]) == 1
    assert "can't be read" in " ".join(capsys.readouterr().out.split())


@pytest.mark.skipif(sys.platform == "win32", reason="a process without a terminal is begun otherwise there")
def test_without_a_terminal_no_password_is_asked_for_and_the_advice_is_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import eth_keyfile.keyfile as keyfile

    monkeypatch.setattr(keyfile, "get_default_work_factor_for_kdf", lambda kdf: 2)
    toolkit.Wallet.create().save_keyfile(tmp_path / "agent.json", "words")
    command = [sys.executable, "-m", "toolkit", "doctor", "--base-url", "http://127.0.0.1:1"]
    options: dict[str, Any] = {"input": "words\n", "text": True, "capture_output": True, "timeout": 100}
    done = subprocess.run([*command, "--keyfile", str(tmp_path / "agent.json")], start_new_session=True, **options)
    assert "there is no terminal" in done.stdout
    assert "TOOLKIT_AGENT_KEY" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("wrong", "name", "words"),
    [
        ({"base_url": "https://{place}"}, "reachable", "speaks http"),
        ({"base_url": "http://{place}/api/v1"}, "reachable", "the address has a path"),
        ({"base_url": "{place}"}, "environment", "correct the arguments"),
        ({"base_url": "http://{place}", "ws_url": "ws://127.0.0.1:9"}, "feed", "--ws-url"),
        ({"base_url": "http://{place}", "ws_url": "ws://{place}/nothing"}, "feed", "--ws-url"),
    ],
)
def test_a_wrong_address_is_explained(
    wrong: dict[str, str], name: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with LocalVenue(market=False) as venue, venue.serve(0) as served:
        place = served.base_url.removeprefix("http://")
        given = [f"--{option.replace('_', '-')}={url.format(place=place)}" for option, url in wrong.items()]
        seconds = "1" if name == "feed" else "30"  # a feed that is missing is waited for until the end
        assert main(["doctor", "--timeout", seconds, *given]) == 1
    text = capsys.readouterr().out
    assert f"FAIL  {name}" in text
    assert any(f"{name}: " in line and words in line for line in text.splitlines()), text


def test_a_folder_that_can_not_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(doctor.folders()) == []
    (tmp_path / "file").touch()
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path / "file" / "state"))
    [found] = doctor.folders()
    assert found.state == "warn"
    assert str(tmp_path / "file") in found.text
    assert "TOOLKIT_STATE" in found.advice


def test_a_package_that_is_too_old_is_named_with_the_version_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    version = importlib.metadata.version
    old = {"pandas": "2.1.4", "matplotlib": "3.8.0rc1", "protobuf": "6.31.1", "pytest": "1.0"}
    old["eth-account" if sys.version_info >= (3, 15) else "eth-keyfile"] = "0.1"  # not wanted on this Python
    monkeypatch.setattr(importlib.metadata, "version", lambda name: old.get(name) or version(name))
    [found] = [one for one in doctor.versions() if one.name == "packages"]
    assert (found.state, found.text) == (
        "warn",
        "pandas 2.1.4 is older than 2.2.3, matplotlib 3.8.0rc1 is older than 3.10",
    )
    assert found.advice == 'pip replaces what is too old: pip install "afx-toolkit[notebook]"'


def test_an_address_in_place_of_a_key_and_a_missing_keyring_are_explained() -> None:
    wallet, found = doctor.keys("K", "M", None, {"K": MASTER})
    assert (wallet, found.state) == (None, "fail")
    assert "that is an address" in found.advice
    keyring = pytest.importorskip("keyring")
    from keyring.backends import fail

    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())
    try:
        _, found = doctor.kept_key(None, "mine", None)
    finally:
        keyring.set_keyring(before)
    assert "--keyfile" in found.advice


def test_a_python_that_not_every_package_can_be_installed_on_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LAST_PYTHON", (3, 10))
    monkeypatch.setitem(sys.modules, "eth_account", None)
    found = {finding.name: finding for finding in doctor.versions()}
    assert found["python"].state == "warn"
    assert found["python"].advice == "use Python 3.11, 3.12, 3.13 or 3.14"
    assert found["eth-account"].state == "note"
    assert "mnemonics and class rooms need it" in found["eth-account"].text
    assert "eth-keyfile" in found["versions"].text
    assert "packages" not in found


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"toolkit {toolkit.__version__}\n"
