"""Nonces: unique and increasing for a key, across threads and across processes that share it. And where state is kept.

The last nonce of an address is stored in a small file, under a lock that works on Linux, macOS and Windows. The file
name contains the address, never key material. Each environment has its own files. The time is an argument: a nonce is
the time, or one more than the last nonce. It is never more than an hour ahead of the venue's time. Without a directory
the last nonce is kept in memory, which is enough for a single process.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ...environments import MAINNET, TESTNET, Environment
from ...errors import InputError, NotSent, warn
from ...protocol.fields import INT64_MAX
from ...protocol.hexbytes import is_address

_sources_of_venues: weakref.WeakKeyDictionary[Any, dict[str, NonceSource]] = weakref.WeakKeyDictionary()


LEAD_MS = 3_600_000
"""How far a nonce may be ahead of the venue's time: what a venue whose time stands still takes at one instant, and
more. A later number is left from a clock that was wrong, or from another venue at the same address."""


SPREAD_MS = 500
"""How far a nonce may be ahead of the time, at random. Else two programs with one key would take the same nonces one
after the other: in the same millisecond, and always where a venue's time stands still."""


class NonceSources:
    """Nonce sources by address: shared by the sessions on an in-process venue, else by all processes of the user.

    Each environment has its own folder, and so has each address of a local venue.

    Parameters
    ----------
    environment : Environment
        Environment whose venue they are for.
    venue : object or None
        Venue in this process, None for any other.
    used : callable, optional
        Function that returns the largest nonce that the venue has seen of an address, -1 for none. It must not keep
        the venue alive (default: none is known).
    """

    def __init__(
        self, environment: Environment, venue: object | None, used: Callable[[str], int] = lambda address: -1
    ) -> None:
        self._used = used
        self._directory = None if venue is not None else state_directory() / "nonces" / place_of(environment)
        self._sources = {} if venue is None else _sources_of_venues.setdefault(venue, {})
        # Two threads that ask for an address simultaneously must get the same source.
        self._lock = threading.RLock()

    def __call__(self, address: str) -> NonceSource:
        with self._lock:
            if address not in self._sources:
                self._sources[address] = self._made(address)
            return self._sources[address]

    def _made(self, address: str) -> NonceSource:
        """Return a source in the shared directory. Where that can't be written, warn and keep nonces in memory."""
        if self._directory is not None:
            source = NonceSource(address, self._directory)
            try:
                source.prepare()
            except OSError as error:
                warn(
                    f"nonces are not shared with other processes: {self._directory} can't be written "
                    f"({error.strerror}). Set TOOLKIT_STATE to a folder that can",
                    UserWarning,
                )
                self._directory = None
            else:
                return source
        # Clients that are served, and an earlier process with the same venue, have used nonces of the same key.
        return NonceSource(address, used=lambda: self._used(address.lower()))


def place_of(environment: Environment) -> str:
    """Return the name of an environment in the names of files: that of a preset, else with its address.

    Parameters
    ----------
    environment : Environment
        Environment whose state is kept in files.
    """
    # Venues that are served elsewhere than at the preset's address have files of their own.
    preset = environment.base_url in (MAINNET.base_url, TESTNET.base_url)
    place = environment.name if preset else f"{environment.name}-{urlsplit(environment.base_url).netloc}"
    return re.sub(r"[^A-Za-z0-9.-]", "-", place)


def state_directory() -> Path:
    """Return where small state is kept between runs: TOOLKIT_STATE, else the platform's usual place."""
    return _directory(lambda dirs: dirs.user_state_path("toolkit", appauthor=False))


def data_directory() -> Path:
    """Return where data is kept between runs: TOOLKIT_STATE, else the user's data folder."""
    return _directory(lambda dirs: dirs.user_data_path("toolkit", appauthor=False))


def _directory(usual: Callable[[Any], Path]) -> Path:
    if given := os.environ.get("TOOLKIT_STATE"):
        return Path(given)
    import platformdirs

    return usual(platformdirs)


# A fixed width: a shorter text after a longer one would leave digits of it behind.
_WIDTH = 20
_LOCK_AT = 1 << 20
"""Offset of the locked byte, far behind the number, because Windows refuses reads of a locked range."""

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def _lock_with_fcntl(handle: int) -> None:
    fcntl.lockf(handle, fcntl.LOCK_EX, 1, _LOCK_AT)


def _unlock_with_fcntl(handle: int) -> None:
    fcntl.lockf(handle, fcntl.LOCK_UN, 1, _LOCK_AT)


def _lock_with_msvcrt(handle: int) -> None:
    import msvcrt

    while True:
        os.lseek(handle, _LOCK_AT, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
            return
        except OSError:  # another process holds the lock, for microseconds
            time.sleep(0.001)


def _unlock_with_msvcrt(handle: int) -> None:
    import msvcrt

    os.lseek(handle, _LOCK_AT, os.SEEK_SET)
    msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined, unused-ignore]


_lock: Callable[[int], None] = _lock_with_fcntl if fcntl is not None else _lock_with_msvcrt
_unlock: Callable[[int], None] = _unlock_with_fcntl if fcntl is not None else _unlock_with_msvcrt


class _Shared:
    """The last nonce of one address, shared by all sources of this process for the same file.

    A process opens the file once: POSIX locks belong to the process, and closing any handle of the file drops them.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.last = -1
        self.mutex = threading.Lock()
        self.handle: int | None = None

    def advance(self, now_ms: int, step: int, known: bool, used: int, chance: float) -> int:
        """Return the next nonce. See `NonceSource.next`; `used` is the largest that the venue has seen."""
        with self.mutex:
            if self.path is None:
                self.last = _next(now_ms, (self.last, used), step, known)
                return self.last
            now_ms += int(chance * SPREAD_MS)
            handle = self._open()
            # The mutex excludes threads, the lock excludes processes: a POSIX lock doesn't exclude its own process.
            _lock(handle)
            try:
                # What this process knows counts as well: the file may have been deleted or restored meanwhile.
                self.last = _next(now_ms, (self.last, _read(handle)), step, known)
                _write(handle, self.last)
            finally:
                _unlock(handle)
            return self.last

    def look(self) -> int:
        """Return the last nonce, -1 for none."""
        with self.mutex:
            return self.last if self.path is None else max(self.last, _read(self._open()))

    def unkept(self, now_ms: int) -> int:
        """Return the next nonce by what this process knows alone."""
        with self.mutex:
            self.last = max(now_ms, self.last + 1)
            return self.last

    def _open(self) -> int:
        if self.handle is None:
            assert self.path is not None
            self.path.parent.mkdir(parents=True, exist_ok=True)
            binary = getattr(os, "O_BINARY", 0)
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | binary, 0o600)
            if hasattr(os, "fchmod") and os.fstat(handle).st_mode & 0o077:
                with contextlib.suppress(OSError):  # a file of an earlier umask, or of another owner
                    os.fchmod(handle, 0o600)
            self.handle = handle
        return self.handle

    def prepare(self) -> None:
        with self.mutex:
            if self.path is not None:
                self._open()


def _next(now_ms: int, given: Iterable[int], step: int, known: bool) -> int:
    """Return the nonce after those that were given out."""
    # After a clock that was set back, time alone would repeat a nonce. What is too far ahead was never near this time.
    near = (last for last in given if not known or last < now_ms + LEAD_MS)
    return max(now_ms, max(near, default=-1) + 1) + step


def _read(handle: int) -> int:
    """Return the nonce in the file. -1 for a new file or one that holds no 64-bit number."""
    os.lseek(handle, 0, os.SEEK_SET)
    text = os.read(handle, _WIDTH)
    # A damaged file is as a new one. The time is above every nonce that was given out before.
    nonce = int(text) if len(text) == _WIDTH and text.isdigit() else -1
    return nonce if nonce < INT64_MAX else -1


def _write(handle: int, nonce: int) -> None:
    os.lseek(handle, 0, os.SEEK_SET)
    # A full disk may take a part: half a number would be a smaller nonce.
    if os.write(handle, b"%020d" % nonce) != _WIDTH:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


_registry: dict[str, _Shared] = {}
_registry_mutex = threading.Lock()


def _after_fork() -> None:
    """Give a forked child its own mutexes: the parent's may be held by threads that the child doesn't have."""
    global _registry_mutex
    _registry_mutex = threading.Lock()
    for shared in _registry.values():
        shared.mutex = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class NonceSource:
    """Nonces of one address.

    Parameters
    ----------
    address : str
        Address of the key that signs.
    directory : str or PathLike, optional
        Folder of the sequence, which all processes that use it share (default: this object has its own sequence).
    used : callable, optional
        Function that returns the largest nonce that the venue has seen of the address (default: none is known).

    Examples
    --------
    >>> nonces = NonceSource("0x70997970C51812dc3A010C7d01b50e0d17dc79C8")
    >>> nonces.next(1767225600000), nonces.next(1767225600000), nonces.next(0)
    (1767225600000, 1767225600001, 1767225600002)
    """

    def __init__(
        self,
        address: str,
        directory: str | os.PathLike[str] | None = None,
        used: Callable[[], int] = lambda: -1,
    ) -> None:
        if not is_address(address):
            said = "a nonce source needs an address (0x and 40 hex digits), never a key"
            raise InputError(said, field="address", rule="an address")
        self.address = address.lower()
        self._used = used
        self._shared = _Shared(None) if directory is None else _shared(Path(directory) / f"nonce-{self.address}")

    @property
    def is_kept(self) -> bool:
        """True for a sequence in a file, beside which another machine or folder may have one of the same key."""
        return self._shared.path is not None

    def next(
        self, now_ms: int, step: int = 0, *, known: bool = False, must_keep: bool = True, chance: float = 0.0
    ) -> int:
        """Return the next nonce: the present time and up to half a second, or one more than the last.

        Parameters
        ----------
        now_ms : int
            The present in Unix ms.
        step : int, optional
            Number of nonces to leave out, which another program of the same key may have used (default: 0).
        known : bool, optional
            Whether the time is the venue's. A last nonce that is an hour ahead of it is then ignored: it is left from
            a wrong clock (default: False).
        must_keep : bool, optional
            False for a request that only leaves: it goes on where the file can't be written. Given out twice, a nonce
            is refused by the venue (default: True).
        chance : float, optional
            Random number, 0 <= x < 1, for a sequence that is kept in a file (default: 0.0).

        Raises
        ------
        InputError
            Unless the time is a 64-bit whole number of 0 or more.
        NotSent
            If the file can't be written, because a nonce that is not kept could be given out twice.
        """
        if type(now_ms) is not int or not 0 <= now_ms < INT64_MAX:
            said = f"now_ms must be Unix milliseconds, a whole number of 0 or more, got {now_ms!r}"
            raise InputError(said, field="now_ms", rule="64-bit whole number", value=now_ms)
        try:
            return self._shared.advance(now_ms, step, known, self._used(), chance)
        except OSError as error:
            if not must_keep:
                return self._shared.unkept(now_ms)
            raise NotSent(
                f"the nonce can't be kept in {self._shared.path}: {error.strerror or error}. Nothing was signed or"
                " sent. Make room there, or set TOOLKIT_STATE to a folder that can be written"
            ) from error

    @property
    def last(self) -> int:
        """The last nonce, Unix ms. -1 before the first one."""
        try:
            return self._shared.look()
        except OSError:  # the next nonce says so
            return -1

    def would_jump(self, now_ms: int) -> bool:
        """Return whether the next nonce is far above the last one that is kept, so that it needs the venue's time.

        Parameters
        ----------
        now_ms : int
            The present in Unix ms, of a clock that may be wrong.
        """
        return self._shared.path is not None and now_ms > self.last + LEAD_MS

    def prepare(self) -> None:
        """Open the file.

        Raises
        ------
        OSError
            If it can't be used.
        """
        self._shared.prepare()

    def __repr__(self) -> str:
        return f"NonceSource({self.address!r})"


def _shared(path: Path) -> _Shared:
    # Two names of one file must share a handle: closing one would drop the lock of the other.
    name = os.path.normcase(os.path.realpath(path))
    with _registry_mutex:
        if name not in _registry:
            _registry[name] = _Shared(Path(name))
        return _registry[name]
