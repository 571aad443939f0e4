"""Nonces are unique and increasing across threads and processes, and files never name a key."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.client.io import nonce_sources as nonces
from toolkit.client.io.nonce_sources import NonceSource
from toolkit.environments import LOCAL, MAINNET, TESTNET
from toolkit.errors import InputError, NotSent

ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
NOW = 1_767_225_600_000


@given(st.lists(st.integers(0, 10**6), min_size=1))
def test_nonces_increase_whatever_the_clock_does(times: list[int]) -> None:
    source = NonceSource(ADDRESS)
    given_out = [source.next(now) for now in times]
    assert all(later > earlier for earlier, later in itertools.pairwise(given_out))
    assert all(nonce >= now for nonce, now in zip(given_out, times, strict=True))
    assert given_out[0] == times[0]


def test_a_nonce_is_never_far_ahead_of_the_venues_time(tmp_path: Path) -> None:
    source, fast = NonceSource(ADDRESS, tmp_path), NOW + 30 * 86_400_000
    assert source.would_jump(NOW), "the first one"
    assert source.next(fast) == source.last == fast
    assert not source.would_jump(fast)
    assert source.next(NOW) == fast + 1, "the time may be that of a clock that was set back"
    assert source.next(NOW, known=True) == NOW
    assert source.next(NOW, known=True) == NOW + 1
    assert source.next(NOW - nonces.LEAD_MS + 2, known=True) == NOW + 2, "what a clock that stands still gives out"
    assert source.next(NOW, 10, known=True) == NOW + 13, "those in between may be another program's"
    assert (source.would_jump(NOW + nonces.LEAD_MS), source.would_jump(NOW + 2 * nonces.LEAD_MS)) == (False, True)


def test_each_environment_has_its_own_nonces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path))
    far, near = replace(LOCAL, base_url="http://127.0.0.1:9000"), replace(LOCAL, base_url="http://127.0.0.1:9001")
    places = [nonces.NonceSources(each, None)(ADDRESS) for each in (far, near, TESTNET, MAINNET)]
    assert [source.next(NOW + 2 - at) for at, source in enumerate(places)] == [NOW + 2, NOW + 1, NOW, NOW - 1]
    assert nonces.NonceSources(TESTNET, None)(ADDRESS).last == NOW
    inside = nonces.NonceSources(LOCAL, NonceSource(ADDRESS), lambda address: NOW + 6)
    assert inside(ADDRESS).next(NOW) == NOW + 7, "the venue has seen more"


def test_a_nonce_that_cannot_be_kept_is_not_given_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = NonceSource(ADDRESS, tmp_path)
    before = source.next(NOW)

    def full(handle: int, text: bytes) -> int:
        raise OSError(28, "No space left on device")

    for write in (full, lambda handle, text: 7):
        with monkeypatch.context() as broken:
            broken.setattr(nonces.os, "write", write)
            with pytest.raises(NotSent, match=r"nonce can't be kept in .*No space left.*TOOLKIT_STATE"):
                source.next(NOW)
    assert source.next(NOW) > before
    (tmp_path / "folder" / f"nonce-{ADDRESS.lower()}").mkdir(parents=True)
    with pytest.raises(NotSent, match="Nothing was signed or sent"):
        NonceSource(ADDRESS, tmp_path / "folder").next(NOW)


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_a_file_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / f"nonce-{ADDRESS.lower()}"
    path.write_text(f"{NOW + 5:020d}", encoding="utf-8")
    path.chmod(0o644)
    assert NonceSource(ADDRESS, tmp_path).next(NOW) == NOW + 6
    assert path.stat().st_mode & 0o777 == 0o600


def test_threads_share_a_sequence(tmp_path: Path) -> None:
    taken: list[list[int]] = [[] for _ in range(8)]

    def take(mine: list[int]) -> None:
        source = NonceSource(ADDRESS, tmp_path)
        mine.extend(source.next(NOW) for _ in range(100))

    threads = [threading.Thread(target=take, args=(mine,)) for mine in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    everything = sorted(nonce for mine in taken for nonce in mine)
    assert everything == list(range(NOW, NOW + 800))
    assert all(mine == sorted(mine) for mine in taken)


TAKE = f"""
import sys
from toolkit.client.io.nonce_sources import NonceSource
source = NonceSource({ADDRESS!r}, sys.argv[1])
for _ in range(300):
    print(source.next({NOW}))
"""


def test_processes_share_a_sequence(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = [
        subprocess.Popen([sys.executable, "-c", TAKE, str(tmp_path)], stdout=subprocess.PIPE, env=environment)
        for _ in range(3)
    ]
    taken = [[int(line) for line in process.communicate(timeout=60)[0].split()] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert sorted(nonce for mine in taken for nonce in mine) == list(range(NOW, NOW + 900))
    assert all(mine == sorted(mine) for mine in taken)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
# A worker of the tests has threads, of which CPython warns at a fork. The child takes one nonce and ends.
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_continues_the_sequence(tmp_path: Path) -> None:
    source = NonceSource(ADDRESS, tmp_path)
    assert source.next(NOW) == NOW
    queue = multiprocessing.get_context("fork").SimpleQueue()
    child = multiprocessing.get_context("fork").Process(target=lambda: queue.put(source.next(NOW)))
    child.start()
    child.join(30)
    assert queue.get() == NOW + 1
    assert source.next(NOW) == NOW + 2


def test_a_damaged_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / f"nonce-{ADDRESS.lower()}"
    for content in (b"", b"12", b"x" * 20):
        path.write_bytes(content)
        assert NonceSource(ADDRESS, tmp_path).next(NOW) >= NOW


def test_an_impossible_nonce_in_the_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / f"nonce-{ADDRESS.lower()}").write_bytes(b"9" * 20)
    assert NonceSource(ADDRESS, tmp_path).next(10) == 10


def test_files_contain_the_address_and_no_key_material(tmp_path: Path) -> None:
    source = NonceSource(ADDRESS, tmp_path / "deep" / "er")
    source.next(NOW)
    assert [path.name for path in (tmp_path / "deep" / "er").iterdir()] == [f"nonce-{ADDRESS.lower()}"]
    assert repr(source) == f"NonceSource('{ADDRESS.lower()}')"
    secret = "5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a"
    with pytest.raises(InputError, match="never a key") as caught:
        NonceSource(secret)
    assert secret not in str(caught.value)


@pytest.mark.parametrize("now", [-1, 2**63 - 1, 2**64, 1.5, "5", None, True])
def test_an_invalid_time_is_refused(now: object) -> None:
    with pytest.raises(InputError, match="now_ms must be Unix milliseconds"):
        NonceSource(ADDRESS).next(now)  # type: ignore[arg-type]


class FakeWindows:
    """What Windows offers for locking, recording what it is asked."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def __init__(self, busy: int) -> None:
        self.busy = busy
        self.asked: list[tuple[int, int, int]] = []

    def locking(self, handle: int, mode: int, count: int) -> None:
        """Lock `count` bytes at the file's position; busy at first."""
        if mode == self.LK_NBLCK and self.busy:
            self.busy -= 1
            raise OSError("busy")
        self.asked.append((mode, os.lseek(handle, 0, os.SEEK_CUR), count))


def test_on_windows_one_far_byte_is_locked_until_it_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    windows = FakeWindows(busy=2)
    monkeypatch.setitem(sys.modules, "msvcrt", windows)  # type: ignore[arg-type]
    monkeypatch.setattr(nonces, "_lock", nonces._lock_with_msvcrt)
    monkeypatch.setattr(nonces, "_unlock", nonces._unlock_with_msvcrt)
    source = NonceSource(ADDRESS, tmp_path)
    assert [source.next(NOW), source.next(NOW)] == [NOW, NOW + 1]
    far = windows.asked[0][1]
    assert windows.asked == [(2, far, 1), (0, far, 1)] * 2
