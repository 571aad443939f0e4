"""A group of a session's methods under one name, such as `session.permissions`."""

from __future__ import annotations

from typing import Any

from ...suggestions import Suggesting


class SessionPart(Suggesting):
    """Base of the groups: it has what their methods use of the session, synchronous or asynchronous."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._driver: Any = session._driver
        self._delivery: Any = session._delivery
        self._account: Any = session._account

    @property
    def _reader(self) -> Any:
        return self._session._reader

    def __repr__(self) -> str:
        methods = ", ".join(name for name in dir(self) if not name.startswith("_"))
        return f"<{type(self).__name__} on {self._session.environment.name}: {methods}>"
