"""Tests that run students' code need a jail. Where this system has none, they test that grading refuses."""

from __future__ import annotations

import functools

import pytest

from toolkit.classroom.jail import Jail
from toolkit.errors import InputError


@functools.cache
def has_jail() -> bool:
    try:
        Jail.choose()
    except InputError:
        return False
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Where there is no jail, refuse in place of the test."""
    if pyfuncitem.get_closest_marker("jail") is None or has_jail():
        return None
    with pytest.raises(InputError, match="finds no jail"):
        Jail.choose()
    return True
