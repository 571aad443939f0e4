"""Tables of cases of which some are in the default run, and all in the slow one."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import product
from typing import Any

import pytest


def of_all(*axes: Iterable[Any], quick: Collection[Any]) -> list[Any]:
    """Return all combinations of some axes, those that are not `quick` marked slow. Of one axis they are its values."""
    cases = [case if len(axes) > 1 else case[0] for case in product(*axes)]
    assert all(case in cases for case in quick), "a quick case is none of them"
    found = []
    for case in cases:
        values = case if isinstance(case, tuple) and len(axes) > 1 else (case,)
        found.append(pytest.param(*values, marks=() if case in quick else pytest.mark.slow))
    return found
