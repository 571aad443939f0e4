"""Progress bars that appear when something takes long."""

from __future__ import annotations

import os
from typing import Any


def late_bar(shown: bool | None, seconds: float, **options: Any) -> Any:
    """Return tqdm's bar, which appears after `seconds`, or immediately when `shown` is True.

    The variable TQDM_DISABLE keeps away one that was not asked for. It is read here because tqdm's form for notebooks,
    in which whether a bar appears would depend on the machine, ignores it.
    """
    from tqdm.auto import tqdm

    hidden = shown is None and os.environ.get("TQDM_DISABLE", "") not in ("", "0")
    return tqdm(delay=0.0 if shown else seconds, leave=False, disable=hidden, **options)
