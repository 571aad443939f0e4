"""Tracebacks of the toolkit's errors: your own lines of code and the message. TOOLKIT_TRACEBACK=all shows every frame.

A refused order passes a dozen frames of the toolkit, which say nothing to who placed it. Public functions therefore
remove them from an error that leaves them:

    except ToolkitError as error:
        trim(error)
        raise

The last line must be a bare `raise`: it adds no frame, so that the caller's line comes last. Nothing is spent on a call
without an error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import CodeType, TracebackType

VARIABLE = "TOOLKIT_TRACEBACK"
_INNER = frozenset(("toolkit", "httpx", "httpx2", "httpcore", "anyio", "asyncio", "concurrent", "websockets", "h11"))
"""Packages whose frames are removed: this one, and those that it sends with."""
_STANDARD = os.path.dirname(os.__file__) + os.sep


def own_steps(traceback: TracebackType | None) -> Iterator[TracebackType]:
    """Yield the steps of a traceback that lie in the user's code, from the outermost on.

    Parameters
    ----------
    traceback : TracebackType or None
        Traceback of an error.
    """
    while traceback is not None:
        if not _is_inner(traceback.tb_frame.f_code, str(traceback.tb_frame.f_globals.get("__name__"))):
            yield traceback
        traceback = traceback.tb_next


def trim(error: BaseException) -> None:
    """Leave only the user's own steps in the traceback of an error and of its causes.

    IPython shows a shorter form anyway, and every frame by `%tb`, so nothing is removed there.

    Parameters
    ----------
    error : BaseException
        Error that leaves a public function.
    """
    if os.environ.get(VARIABLE) == "all" or _in_ipython():
        return
    seen = set[int]()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        kept: TracebackType | None = None
        for step in reversed(list(own_steps(each.__traceback__))):
            kept = TracebackType(kept, step.tb_frame, step.tb_lasti, step.tb_lineno)
        each.__traceback__ = kept
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)


def _is_inner(code: CodeType, module: str) -> bool:
    """Return whether code is of the toolkit, of what it sends with, or of Python's own library in between."""
    file = code.co_filename
    standard = file.startswith((_STANDARD, "<frozen ")) and "site-packages" not in file
    return standard or module.partition(".")[0] in _INNER


def _in_ipython() -> bool:
    found = sys.modules.get("IPython")
    return found is not None and found.get_ipython() is not None
