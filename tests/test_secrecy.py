"""Whatever looks like a key is never repeated: a key is pasted into every parameter of every public callable."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import errno
import functools
import inspect
import io
import pickle
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import toolkit
from tests.client.fake import AGENT_KEY, MASTER
from tests.test_wallet import TESTS, locals_in_the_toolkit, shows
from toolkit import Wallet
from toolkit.client.orders.ledger_file import SqliteLedger
from toolkit.errors import InputError, ToolkitError, WalletError
from toolkit.secrecy import Secret, is_like_key, sealed

FORMS: tuple[Any, ...] = (AGENT_KEY, AGENT_KEY[2:].upper(), bytes.fromhex(AGENT_KEY[2:]), int(AGENT_KEY, 16))
"""The same key as it may be pasted."""

FILLERS: dict[str, Any] = {
    "symbol": "BTCUSDC", "product": "BTCUSDC", "quantity": "0.01", "price": "60000", "side": "BUY", "address": MASTER,
    "agent": MASTER, "builder": MASTER, "trader": MASTER, "amount": "10", "destination": MASTER, "interval": "1m",
    "leverage": 5, "mode": "CROSS", "name": "name", "order": 1, "orders": [],
    "new": toolkit.orders.buy("BTCUSDC", "0.01"), "span": "1s",
    "action": "placeOrder", "path": "nowhere/key.json", "password": "words", "environment": "local",
}  # fmt: skip
"""Valid values for what must be given beside the pasted key."""

SKIPPED = {"close", "serve", "ask"}
"""Methods that end the session or wait for a person: none of them takes a value that could be a key."""


def public_functions(owner: Any) -> Iterator[Callable[..., Any]]:
    """Yield the public functions, methods and classes of a module or an object."""
    module = isinstance(owner, types.ModuleType)
    for name in getattr(owner, "__all__", None) or dir(owner):
        if (
            name.startswith("_")
            or name in SKIPPED
            or isinstance(getattr(type(owner), name, None), property | functools.cached_property)
        ):
            continue
        member = getattr(owner, name)
        # Of a module without __all__, what it defines; not what it imports.
        if callable(member) and (not module or hasattr(owner, "__all__") or member.__module__ == owner.__name__):
            yield member


def everything(session: toolkit.Session) -> Iterator[Callable[..., Any]]:
    from toolkit import checks, margin, orders, plots, products, report, research, widgets

    for owner in (
        toolkit, checks, margin, orders, plots, products, report, research, widgets, Wallet, session, session.aio,
        session.exchange, session.aio.exchange, session.info, session.aio.info, toolkit.Builder(session),
        toolkit.AsyncBuilder(session.aio), session.stream, session.intents, session.permissions, session.parent_orders,
        session.products, session.venue, session.venue.control, session.wallet,
    ):  # fmt: skip
        yield from public_functions(owner)


def calls(function: Callable[..., Any], key: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each parameter with the arguments of a call that has the key there and fitting values elsewhere."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return
    for pasted in parameters:
        if pasted.kind is pasted.VAR_POSITIONAL:
            continue
        arguments = {
            other.name: FILLERS.get(other.name, "1")
            for other in parameters
            if other.default is other.empty and other.kind not in (other.VAR_POSITIONAL, other.VAR_KEYWORD)
        }
        if pasted.kind is pasted.VAR_KEYWORD:
            for option in ("cl_ord_id", "tif", "slippage", "price", "tp"):
                yield option, arguments | {option: key}
        else:
            yield pasted.name, arguments | {pasted.name: key}


def said(function: Callable[..., Any], arguments: dict[str, Any]) -> tuple[str, BaseException | None]:
    """Call a function, and return everything that it says: errors with their attributes, warnings, prints."""
    printed = io.StringIO()
    error: BaseException | None = None
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        try:
            result = function(**arguments)
            if inspect.iscoroutine(result):
                result = asyncio.run(asyncio.wait_for(result, 10))
            if hasattr(result, "close") and not isinstance(result, type):
                result.close()
        except BaseException as raised:
            error = raised
    texts = [printed.getvalue(), *(str(warning.message) for warning in warned)]
    chain = [error]
    while chain:
        if (link := chain.pop()) is not None:
            texts += [str(link), repr(link), str(link.args), str(vars(link)), str(getattr(link, "__notes__", ""))]
            chain += [link.__cause__, link.__context__]
    return "\n".join(texts), error


@pytest.mark.parametrize(
    "form",
    [0, *(pytest.param(form, marks=pytest.mark.slow) for form in (1, 2, 3))],
    ids=["0x", "bare", "bytes", "integer"],
)
def test_no_public_callable_repeats_a_key_that_is_pasted_into_any_parameter(
    form: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    leaks: list[str] = []
    tried = functions = 0
    with toolkit.connect(clock="manual") as session:
        for function in everything(session):
            functions += 1
            for name, arguments in calls(function, FORMS[form]):
                tried += 1
                text, error = said(function, arguments)
                if shows(text):
                    leaks.append(
                        f"{getattr(function, '__qualname__', function)}({name}=…): {type(error).__name__} {text[:300]}"
                    )
    print(functions, tried)
    assert not leaks, "\n".join(leaks)


@pytest.fixture
def quick_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make key files that are quick to open; the work factor is the only difference."""
    import eth_keyfile.keyfile as keyfile

    monkeypatch.setattr(keyfile, "get_default_work_factor_for_kdf", lambda kdf: 2)


PASSWORD = "correct horse battery"


def interrupted(work: Callable[[], Any], at: int) -> tuple[BaseException | None, int]:
    """Run `work` and raise KeyboardInterrupt at the `at`-th step below it; return it, and the number of steps.

    A step is a line of the toolkit, or a call inside another library.
    The lines of `secrecy.Secret` and of the decorator's first statements are the ones in which a secret is put away;
    they take a microsecond, and only they are left out.
    """
    steps = 0

    def trace(frame: types.FrameType, event: str, arg: Any) -> Any:
        nonlocal steps
        name = frame.f_code.co_filename
        if frame.f_code.co_qualname.startswith(("Secret.", "takes_secrets.")) or name.startswith(TESTS):
            return None
        inside = name.startswith(toolkit.__path__[0])
        if event == ("line" if inside else "call"):
            steps += 1
            if steps == at:
                raise KeyboardInterrupt
        return trace if inside else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except BaseException as error:
        return error, steps
    finally:
        sys.settrace(before)
    return None, steps


# An interrupt between opening a file and its `with` leaves closing to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("way", ["save", "read"])
def test_an_interrupt_at_any_moment_shows_neither_key_nor_password_and_leaves_no_half_file(
    way: str, tmp_path: Path, quick_files: None
) -> None:
    wallet = Wallet(agent=AGENT_KEY)
    stored = tmp_path / "stored.json"
    wallet.save_keyfile(stored, PASSWORD)
    target = tmp_path / "new" / "key.json"
    target.parent.mkdir()

    def work() -> Any:
        return wallet.save_keyfile(target, PASSWORD) if way == "save" else Wallet.from_keyfile(stored, PASSWORD)

    work()  # whatever is imported on first use is imported now
    target.unlink(missing_ok=True)
    _, steps = interrupted(work, 10**9)
    assert steps > 100
    # Every step near the start and the end, where files and secrets change hands, and some of the cipher's.
    for at in [*range(1, 50), *range(50, steps - 50, max(1, steps // 20)), *range(steps - 50, steps)]:
        target.unlink(missing_ok=True)
        error, _ = interrupted(work, at)
        assert error is None or type(error) in (KeyboardInterrupt, WalletError), (at, error)
        if error is not None:
            inside = locals_in_the_toolkit(error)
            assert PASSWORD not in inside, (at, inside)
            assert not shows(inside), (at, inside)
        assert [path.name for path in target.parent.iterdir()] in ([], [target.name]), at
        if target.exists():
            assert Wallet.from_keyfile(target, PASSWORD).agent == wallet.agent


@pytest.mark.parametrize("call", ["fsync", "link"])
def test_a_full_disk_leaves_nothing_behind(
    call: str, tmp_path: Path, quick_files: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(f"toolkit.stored.writing.os.{call}", full)
    if call == "link":
        monkeypatch.setattr("toolkit.stored.writing.os.rename", full)
    with pytest.raises(WalletError, match="can't be written: No space left"):
        Wallet(agent=AGENT_KEY).save_keyfile(tmp_path / "key.json", PASSWORD)
    assert not list(tmp_path.iterdir())


def test_a_password_that_is_not_given_is_asked_for_unseen(
    tmp_path: Path, quick_files: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    answers = iter(["words", "other words", "words", "words", "words"])

    def getpass(question: str) -> str:
        asked.append(question)
        return next(answers)

    monkeypatch.setattr("getpass.getpass", getpass)
    wallet, path = Wallet(agent=AGENT_KEY), tmp_path / "key.json"
    with pytest.raises(WalletError, match=r"differ\. Nothing was written"):
        wallet.save_keyfile(path)
    wallet.save_keyfile(path)
    assert Wallet.from_keyfile(path).agent == wallet.agent
    assert len(asked) == 5
    assert str(path) in asked[-1]


def test_the_systems_keyring_keeps_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring
    from keyring.backend import KeyringBackend

    class InMemory(KeyringBackend):
        priority = 1  # type: ignore[assignment]

        def __init__(self) -> None:
            super().__init__()
            self.kept: dict[tuple[str, str], str] = {}

        def get_password(self, service: str, username: str) -> str | None:
            return self.kept.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            self.kept[service, username] = password

    class Locked(InMemory):
        def get_password(self, service: str, username: str) -> str | None:
            raise keyring.errors.KeyringLocked(AGENT_KEY)

    before = keyring.get_keyring()
    try:
        keyring.set_keyring(InMemory())
        wallet = Wallet(agent=AGENT_KEY)
        with pytest.raises(WalletError, match="has no agent key named toolkit"):
            Wallet.from_keyring()
        wallet.save_keyring()
        wallet.save_keyring()
        assert Wallet.from_keyring().agent == wallet.agent
        with pytest.raises(WalletError, match="has another agent key named toolkit"):
            Wallet.create().save_keyring()
        with pytest.raises(InputError, match="name looks like a private key"):
            wallet.save_keyring(AGENT_KEY)
        keyring.set_keyring(Locked())
        for act in (Wallet.from_keyring, wallet.save_keyring):
            with pytest.raises(WalletError, match="keyring can't be") as caught:
                act()
            assert not shows(locals_in_the_toolkit(caught.value) + str(caught.value))
    finally:
        keyring.set_keyring(before)


def test_a_secret_shows_in_no_way() -> None:
    secret = Secret(AGENT_KEY)
    assert secret.reveal() == Secret(secret).reveal() == AGENT_KEY
    for text in (repr(secret), str(secret), f"{secret}", f"{secret!r:>90}", "%s" % secret, str([secret])):  # noqa: UP031
        assert not shows(text)
    assert not hasattr(secret, "__dict__")
    for way in (pickle.dumps, copy.copy, copy.deepcopy, secret.__reduce__, secret.__getstate__):
        with pytest.raises(TypeError, match="never pickled or copied"):
            way(secret) if way not in (secret.__reduce__, secret.__getstate__) else way()  # type: ignore[operator]


def test_errors_of_sealed_work_are_dropped_with_their_frames() -> None:
    def broken(kind: type[BaseException]) -> Callable[[], None]:
        def work() -> None:
            key = AGENT_KEY
            raise kind(key)

        return work

    assert sealed(lambda: 5) == (5, None)
    assert sealed(broken(RuntimeError)) == (None, RuntimeError)
    for kind in (KeyboardInterrupt, SystemExit):
        with pytest.raises(kind) as caught:
            sealed(broken(kind))
        assert caught.value.__context__ is caught.value.__cause__ is None
        assert "work" not in [entry.name for entry in caught.traceback][-1]


@pytest.mark.parametrize(
    "value", ["0x" + "ab" * 65, "0x" + "ab" * 20, "60000.5", b"short", 10**30, "BTCUSDC", ["BTCUSDC"], None, 1.5]
)
def test_what_is_no_key_is_not_taken_for_one(value: Any) -> None:
    assert not is_like_key(value)


TOKEN, LINK = "token-of-the-teacher", "link-of-a-student"


def shown_in(error: BaseException) -> str:
    """Return what a verbose traceback of an error shows."""
    return f"{error!r} {error} {locals_in_the_toolkit(error)}"


@pytest.mark.parametrize("status", [None, 403, 200])
def test_neither_token_nor_link_is_in_a_verbose_traceback_or_a_sessions_attributes(status: int | None) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers.get("authorization", f"Bearer {TOKEN}") == f"Bearer {TOKEN}"
        if status is None:
            raise httpx.ConnectError("refused", request=request)
        return httpx.Response(status, text="<html>")

    for given in ({"transport": httpx.MockTransport(answer)}, {}):
        with toolkit.connect("local", base_url="http://127.0.0.1:1", control_token=TOKEN, **given) as session:  # type: ignore[arg-type]
            with pytest.raises(ToolkitError) as caught:
                session.venue.advance("1m")  # type: ignore[union-attr]
            assert TOKEN not in shown_in(caught.value)
            for one in (session, session.venue, session._delivery, session._http):
                assert TOKEN not in repr(vars(one) if hasattr(one, "__dict__") else one)
    with pytest.raises(ToolkitError) as caught:
        toolkit.join(f"http://127.0.0.1:1/join/{LINK}")
    assert LINK not in shown_in(caught.value)
    with pytest.raises(InputError, match="no link of a class") as caught:
        toolkit.join(f"ftp://127.0.0.1:1/{LINK}")
    assert LINK not in shown_in(caught.value)


@pytest.mark.parametrize("form", [AGENT_KEY, AGENT_KEY[2:].upper()])
def test_a_key_names_neither_a_file_nor_an_address(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    url = "http://127.0.0.1:1"
    wrong: list[dict[str, Any]] = [{"intents": form}, {"intents": Path(form)}, {"intents": f"a/{form}"}]
    wrong += [{"base_url": f"{url}/{form}"}, {"base_url": f"http://{form}@127.0.0.1:1"}, {"ws_url": f"ws://h/{form}"}]
    for given in wrong:
        with pytest.raises(InputError, match="value is not shown") as caught:
            toolkit.connect("local", **{"base_url": url, **given})
        assert form not in shown_in(caught.value)
    monkeypatch.setenv("TOOLKIT_BASE_URL", f"{url}/{form}")
    with pytest.raises(InputError, match="value is not shown") as caught:
        toolkit.connect("local")
    assert form not in shown_in(caught.value)
    with pytest.raises(InputError, match="no such file") as caught:
        SqliteLedger(form)
    assert form not in shown_in(caught.value)
    assert not list(tmp_path.iterdir())
