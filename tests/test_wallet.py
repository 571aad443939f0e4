"""Keys sign and never show: every way a key could leak, tried."""

from __future__ import annotations

import contextlib
import copy
import json
import logging
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import toolkit
from tests.client.fake import AGENT_KEY, MASTER, MASTER_KEY, FakeVenue, session
from toolkit import Wallet
from toolkit.errors import ToolkitError, WalletError

AGENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
SECRETS = (MASTER_KEY[2:], AGENT_KEY[2:])


TESTS = str(Path(__file__).parent)
"""Only this folder: a checkout may well be in another one of that name."""


def shows(text: str) -> bool:
    lowered = text.lower()
    raw = [bytes.fromhex(secret) for secret in SECRETS]
    return any(secret in lowered for secret in SECRETS) or any(
        repr(key)[2:-1] in text or str(int.from_bytes(key, "big")) in text for key in raw
    )


def locals_in_the_toolkit(error: BaseException) -> str:
    """Return what a verbose traceback prints of every frame but those of the tests, causes and contexts included."""
    seen: list[str] = []
    chain: list[BaseException | None] = [error]
    while chain:
        if (current := chain.pop()) is not None:
            for frame, _ in traceback.walk_tb(current.__traceback__):
                if not frame.f_code.co_filename.startswith(TESTS):
                    seen.append(frame.f_code.co_filename)
                    for name, value in frame.f_locals.items():
                        with contextlib.suppress(AttributeError):  # an object of the library that is half made
                            seen.append(f"{name} = {value!r}")
            chain += [current.__cause__, current.__context__]
    return "\n".join(seen)


def both() -> Wallet:
    return Wallet(agent=AGENT_KEY, master=MASTER_KEY)


def test_a_wallet_knows_its_addresses() -> None:
    wallet = both()
    assert (wallet.agent, wallet.master, wallet.account) == (AGENT, MASTER, MASTER)
    assert repr(wallet) == f"<Wallet: agent {AGENT}, master {MASTER}>"
    assert repr(Wallet(agent=AGENT_KEY, account=MASTER)) == f"<Wallet: agent {AGENT}, account {MASTER}>"
    assert repr(Wallet()) == "<Wallet: no keys>"


@pytest.mark.parametrize("key", [AGENT_KEY, AGENT_KEY[2:], AGENT_KEY.upper().replace("0X", "0x"), f" {AGENT_KEY}\n"])
def test_keys_are_read_in_the_usual_spellings(key: str) -> None:
    assert Wallet(agent=key).agent == AGENT
    assert Wallet(agent=bytes.fromhex(AGENT_KEY[2:])).agent == AGENT


WAYS: list[Callable[[Any], str]] = [
    repr,
    str,
    lambda x: f"{x}",
    lambda x: f"{x!r:>200}",
    lambda x: "%s %r" % (x, x),  # noqa: UP031
    lambda x: str(getattr(x, "__dict__", "")),
    lambda x: str([getattr(x, name, "") for name in dir(x)]),
    lambda x: str([getattr(x, name, "") for name in getattr(type(x), "__slots__", ())]),
    lambda x: json.dumps(x, default=str),
    lambda x: str(x.__doc__),
    lambda x: str(hash(x) and "") if x.__hash__ else "",
]


@pytest.mark.parametrize("way", range(len(WAYS)))
def test_no_text_of_wallet_or_session_shows_a_key(way: int) -> None:
    s = session(FakeVenue(), wallet=both())
    for thing in (s.wallet, s, s.aio, s.exchange, s.wallet.key("agent"), s._delivery, s._driver):  # type: ignore[union-attr]
        if way == 6 and thing in (s, s.aio):
            continue
        assert not shows(WAYS[way](thing))
    assert not shows(s._repr_html_())


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_wallet_refuses_pickling_with_the_reason(protocol: int) -> None:
    with pytest.raises(WalletError, match="never pickled"):
        pickle.dumps(both(), protocol)
    with pytest.raises((WalletError, TypeError)):
        pickle.dumps(both().key("agent"), protocol)


def test_a_wallet_refuses_copying() -> None:
    for way in (copy.copy, copy.deepcopy):
        with pytest.raises(WalletError, match="never pickled or copied"):
            way(both())


BAD = {
    "short": AGENT_KEY[:-2],
    "long": AGENT_KEY + "00",
    "letters": AGENT_KEY[:-1] + "g",
    "zero": "0x" + "0" * 64,
    "order": "0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",
}


@pytest.fixture
def all_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the toolkit's own frames in tracebacks, whose local variables may not show a key."""
    monkeypatch.setenv("TOOLKIT_TRACEBACK", "all")


@pytest.mark.usefixtures("all_frames")
def test_a_bad_key_is_refused_without_repeating_it_even_in_a_traceback_with_locals() -> None:
    for name, bad in BAD.items():
        for make in (
            lambda bad=bad: Wallet(agent=bad),
            lambda bad=bad: Wallet(master=bad),
            lambda bad=bad: Wallet.from_env("SOME_KEY", variables={"SOME_KEY": bad}),
        ):
            with pytest.raises(WalletError) as caught:
                make()
            frames = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
            inside = "".join(
                f"{frame.filename} {frame.locals}" for frame in frames.stack if "wallet.py" in frame.filename
                and "test_wallet" not in frame.filename
            )  # fmt: skip
            assert inside
            core = bad[2:40]
            assert name == "zero" or core not in inside + str(caught.value)


def test_a_traceback_with_locals_from_signing_and_sending_shows_no_key() -> None:
    from toolkit.protocol import signing

    def broken(*args: Any, **keywords: Any) -> None:
        raise RuntimeError("broken on purpose")

    s = session(FakeVenue(), wallet=both())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signing, "content_digest", broken)
        with pytest.raises(RuntimeError) as caught:
            s.buy("BTCUSDC", "0.01", price="60000")
    whole = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
    assert "content" in whole
    assert not shows(whole)


def test_logs_of_a_trade_show_no_key(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        s = session(FakeVenue(), wallet=both())
        s.buy("BTCUSDC", "0.01", price="60000")
        logging.getLogger("user").warning("%s %r %s", s, s.wallet, vars(s))
    assert "user" in caplog.text
    assert not shows(caplog.text)


def test_a_wrong_account_is_refused() -> None:
    with pytest.raises(WalletError, match="not the address of the master key"):
        Wallet(master=MASTER_KEY, account=AGENT)


def test_keys_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLKIT_AGENT_KEY", AGENT_KEY)
    monkeypatch.setenv("TOOLKIT_ACCOUNT", MASTER)
    wallet = Wallet.from_env()
    assert (wallet.agent, wallet.master, wallet.account) == (AGENT, None, MASTER)
    monkeypatch.setenv("OTHER", MASTER_KEY)
    assert Wallet.from_env(master="OTHER").master == MASTER


def test_without_a_key_in_the_environment_the_error_names_the_variable() -> None:
    with pytest.raises(WalletError, match="Set the environment variable TOOLKIT_AGENT_KEY"):
        Wallet.from_env(variables={})


def test_a_key_file_is_read_back_and_never_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import eth_keyfile.keyfile as keyfile

    monkeypatch.setattr(keyfile, "get_default_work_factor_for_kdf", lambda kdf: 2)
    path = tmp_path / "agent.json"
    both().save_keyfile(path, "secret words")
    assert not shows(path.read_text(encoding="utf-8"))
    assert Wallet.from_keyfile(path, "secret words").agent == AGENT
    assert Wallet.from_keyfile(path, "secret words", role="master").master == AGENT
    with pytest.raises(WalletError, match="can't be written"):
        both().save_keyfile(path, "secret words")
    with pytest.raises(WalletError, match="password does not open it") as caught:
        Wallet.from_keyfile(path, "wrong words")
    assert "wrong words" not in locals_in_the_toolkit(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"), [("[", "not JSON"), ("{}", "not a readable key file"), (None, "can't be read")]
)
def test_an_invalid_key_file_is_reported(tmp_path: Path, text: str | None, reason: str) -> None:
    path = tmp_path / "key.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(WalletError, match=reason):
        Wallet.from_keyfile(path, "x")


def test_a_key_file_needs_a_password_and_a_known_role(tmp_path: Path) -> None:
    with pytest.raises(WalletError, match="password"):
        both().save_keyfile(tmp_path / "x", "")
    with pytest.raises(WalletError, match="role"):
        Wallet.create("owner")  # type: ignore[arg-type]


def test_fresh_wallets_differ_and_can_be_joined() -> None:
    agent, master = Wallet.create(), Wallet.create("master")
    assert agent.agent != Wallet.create().agent
    joined = agent.joined(master)
    assert (joined.agent, joined.account) == (agent.agent, master.master)
    with pytest.raises(WalletError, match="both wallets have their own agent key"):
        agent.joined(Wallet.create())


def test_errors_of_the_wallet_are_toolkit_errors() -> None:
    assert issubclass(WalletError, ToolkitError)
    assert toolkit.Wallet is Wallet


@pytest.mark.usefixtures("all_frames")
def test_a_key_or_password_in_the_wrong_place_is_in_no_message_and_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    makers: list[Callable[[], Any]] = [
        lambda: Wallet(agent=AGENT_KEY, account=MASTER_KEY),
        lambda: Wallet(master=MASTER_KEY, account=AGENT_KEY),
        lambda: Wallet(account=AGENT_KEY),
        lambda: Wallet.from_env(AGENT_KEY),
        lambda: Wallet.from_env(master=MASTER_KEY[2:]),
        lambda: Wallet.from_env(variables={"TOOLKIT_AGENT_KEY": AGENT_KEY, "TOOLKIT_ACCOUNT": AGENT_KEY}),
        lambda: Wallet.create(account=AGENT_KEY),
        lambda: toolkit.connect("testnet", wallet=AGENT_KEY),  # type: ignore[arg-type]
        lambda: toolkit.connect(wallet=AGENT_KEY),  # type: ignore[arg-type]
        lambda: toolkit.connect("testnet", account=AGENT_KEY),
        lambda: toolkit.connect(AGENT_KEY),
        lambda: Wallet.from_keyfile(path, AGENT_KEY, role="owner"),  # type: ignore[arg-type]
        lambda: Wallet.from_keyfile(path, AGENT_KEY, account=AGENT_KEY),
        lambda: Wallet.from_keyfile(None, AGENT_KEY),  # type: ignore[arg-type]
        lambda: Wallet(agent=AGENT_KEY).save_keyfile(path, AGENT_KEY, role="master"),
        lambda: Wallet(agent=AGENT_KEY).save_keyfile(path, AGENT_KEY, role="owner"),  # type: ignore[arg-type]
    ]
    for number, make in enumerate(makers):
        with pytest.raises(toolkit.ToolkitError) as caught:
            make()
        inside = locals_in_the_toolkit(caught.value)
        assert inside, number
        assert not shows(inside + str(caught.value)), number
    assert not path.exists()


@pytest.mark.parametrize("content", [None, "no JSON"])
def test_no_password_is_asked_for_where_there_is_no_key_file(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(question: str) -> str:
        raise AssertionError(question)

    monkeypatch.setattr("getpass.getpass", ask)
    if content is not None:
        (tmp_path / "agent.json").write_text(content, encoding="utf-8")
    with pytest.raises(WalletError, match=r"agent\.json: (can't be read|is not JSON)"):
        Wallet.from_keyfile(tmp_path / "agent.json")
