"""The nonce sources of a session, one an address, and the folders of what is kept between runs."""

from __future__ import annotations

import os
import sys
import threading
import warnings
import weakref
from pathlib import Path
from typing import Any

from ...protocol.nonces import NonceSource

_sources_of_venues: weakref.WeakKeyDictionary[Any, dict[str, NonceSource]] = weakref.WeakKeyDictionary()


class NonceSources:
    """Nonce sources by address: shared by the sessions on an in-process venue, else by all processes of the user."""

    def __init__(self, venue: object | None) -> None:
        self._directory = None if venue is not None else state_directory() / "nonces"
        self._sources = {} if venue is None else _sources_of_venues.setdefault(venue, {})
        # Two threads that ask for an address at once must get the same source.
        self._lock = threading.RLock()

    def __call__(self, address: str) -> NonceSource:
        with self._lock:
            if address not in self._sources:
                self._sources[address] = NonceSource(address, self._usable_directory())
            return self._sources[address]

    def _usable_directory(self) -> Path | None:
        """Return the shared directory; where it can't be written, warn and return None."""
        if self._directory is not None:
            try:
                self._directory.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                warnings.warn(
                    f"nonces are not shared with other processes: {self._directory} can't be written "
                    f"({error.strerror}); set TOOLKIT_STATE to a folder that can",
                    stacklevel=2,
                )
                self._directory = None
        return self._directory


def state_directory() -> Path:
    """Return where small state is kept between runs (TOOLKIT_STATE, else the platform's usual place)."""
    if given := os.environ.get("TOOLKIT_STATE"):
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "toolkit"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "toolkit"
