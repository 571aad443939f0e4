"""`session.info`: one method for each query of the Info API, synchronous or awaited.

The methods are made at import from the declarations (see `info_flows`). The stub of this module spells them out for
editors and type checkers. `python -m tests.stubs` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from ...protocol.reads.info_queries import ENDPOINTS
from ..io.flow import Asynchronous, Synchronous
from .info_flows import InfoFlows

if TYPE_CHECKING:
    import pandas as pd


class Info(InfoFlows, Synchronous):
    """The queries of the Info API, one method each. See `help(session.info.fills)`."""

    if TYPE_CHECKING:
        # For Jedi in a notebook, which reads this file and not the stub: it needs some type to show a signature.
        def __getattr__(self, name: str) -> Callable[..., pd.DataFrame]: ...

    def __repr__(self) -> str:
        return f"<Info on {self._session.environment.name}: {', '.join(ENDPOINTS)}>"


class AsyncInfo(InfoFlows, Asynchronous):
    """The asynchronous twin of Info: the same methods as coroutine functions."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, pd.DataFrame]]: ...

    def __repr__(self) -> str:
        return f"<AsyncInfo on {self._session.environment.name}: {', '.join(ENDPOINTS)}>"
