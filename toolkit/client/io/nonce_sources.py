"""The nonce sources of a session, one an address, and the folders of what is kept between runs."""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...protocol.nonces import NonceSource

_sources_of_venues: weakref.WeakKeyDictionary[Any, dict[str, NonceSource]] = weakref.WeakKeyDictionary()


class NonceSources:
    """Nonce sources by address: shared by the sessions on an in-process venue, else by all processes of the user."""

    def __init__(self, venue: object | None) -> None:
        self._directory = None if venue is not None else state_directory() / "nonces"
        self._sources = {} if venue is None else _sources_of_venues.setdefault(venue, {})
        # Two threads that ask for an address simultaneously must get the same source.
        self._lock = threading.RLock()

    def __call__(self, address: str) -> NonceSource:
        with self._lock:
            if address not in self._sources:
                self._sources[address] = self._made(address)
            return self._sources[address]

    def _made(self, address: str) -> NonceSource:
        """Return a source in the shared directory; where that can't be written, warn and keep nonces in memory."""
        if self._directory is not None:
            source = NonceSource(address, self._directory)
            try:
                source.prepare()
            except OSError as error:
                warnings.warn(
                    f"nonces are not shared with other processes: {self._directory} can't be written "
                    f"({error.strerror}); set TOOLKIT_STATE to a folder that can",
                    stacklevel=2,
                )
                self._directory = None
            else:
                return source
        return NonceSource(address)


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
