"""What a hostile notebook tries against the grader's machine, and what it can use up."""

from __future__ import annotations

import ctypes
import inspect
import os
import secrets
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.classroom import escapes
from tests.classroom.test_grading import notebook
from toolkit.classroom.grading import run
from toolkit.classroom.jail import PACKAGE


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """Make what a grader's machine has: files, sockets, memory, an environment with a key."""
    name, outside = f"toolkit-{secrets.token_hex(8)}", tmp_path / "outside"
    outside.mkdir()
    (outside / "checks.py").write_text("hidden", encoding="utf-8")
    shm, shared, key = Path("/dev/shm") / name, Path("/tmp") / name, "0x" + secrets.token_hex(32)
    shm.write_text("x", encoding="utf-8")
    monkeypatch.setenv("TOOLKIT_MASTER_KEY", key)
    segment = ctypes.CDLL(None).shmget(int(name[-6:], 16), 4096, 0o1666)
    server, path_socket, abstract = (
        socket.create_server(("127.0.0.1", 0)),
        socket.socket(socket.AF_UNIX),
        socket.socket(socket.AF_UNIX),
    )
    path_socket.bind(str(outside / "socket"))
    abstract.bind(f"\0{name}")
    for each in (path_socket, abstract):
        each.listen()
    yield {
        "secret": str(outside / "checks.py"), "outside": str(outside), "shared": str(shared), "shm": name, "key": key,
        "pid": os.getpid(), "session": os.getsid(0), "port": server.getsockname()[1], "abstract": name,
        "socket": str(outside / "socket"), "name": os.uname().nodename, "segment": int(name[-6:], 16),
    }  # fmt: skip
    for each in (server, path_socket, abstract):
        each.close()
    shm.unlink()
    shared.unlink(missing_ok=True)
    ctypes.CDLL(None).shmctl(segment, 0, None)


@pytest.mark.jail
def test_no_attempt_gets_out_of_the_jail(tmp_path: Path, given: dict[str, object]) -> None:
    work = run(
        notebook(
            tmp_path / "in" / "a.ipynb", inspect.getsource(escapes), f"found = tried(SimpleNamespace(**{given!r}))"
        )
    )
    assert work.error == ""
    out = sorted(name for name, got in work.value("found").items() if got)
    shared = Path(str(given["shared"])).exists()
    print(len(work.value("found")), len(out), out, shared)
    assert out == []
    assert not shared
    assert {each.name for each in Path(str(given["outside"])).iterdir()} == {"checks.py", "socket"}


@pytest.mark.jail
def test_a_notebook_sees_the_folders_that_the_security_page_names_and_no_others(tmp_path: Path) -> None:
    work = run(notebook(tmp_path / "a.ipynb", "import os", "root, etc = os.listdir('/'), os.listdir('/etc')"))
    assert work.error == ""
    row = next(line for line in Path("SECURITY.md").read_text(encoding="utf-8").splitlines() if "not visible" in line)
    for name in ("/usr", "/bin", "/sbin", "/lib", "/nix/store"):
        assert name in row
    python = {
        Path(path).parts[1] for path in (sys.prefix, sys.base_prefix, str(PACKAGE), sys.executable, *sys.path) if path
    }
    named = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "nix", "etc", "proc", "dev", "tmp"}
    assert {"usr", "etc", "proc"} <= set(work.value("root")) <= named | python
    loader = {"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives"}
    assert set(work.value("etc")) <= loader | {"localtime", "fonts", "mime.types", "passwd", "group", "hosts"}
