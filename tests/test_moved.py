"""Old module names: what people imported before the rooms still works, and says where it went."""

from __future__ import annotations

import importlib
import sys

import pytest

from toolkit import _moved


@pytest.mark.parametrize(("old", "new"), sorted(_moved._targets().items()))
def test_an_old_module_name_gives_what_the_new_one_has(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(DeprecationWarning, match=f"{old} is now {new}") as warned:
        found = importlib.import_module(old)
    assert any(warning.filename == importlib.__file__ for warning in warned)
    there = importlib.import_module(new)
    for name in vars(there):
        if not name.startswith("__"):
            assert getattr(found, name) is getattr(there, name)


def test_the_warning_points_at_the_import_statement(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "program_of_a_user.py").write_text(
        "from toolkit.venue.clocks import clock_named\nfrom toolkit.venue.gateway import Gateway\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "toolkit.venue.gateway", raising=False)
    with pytest.warns(DeprecationWarning, match="is now toolkit") as warned:
        importlib.import_module("program_of_a_user")
    assert [(w.filename.rsplit("/", 1)[-1].rsplit("\\", 1)[-1], w.lineno) for w in warned] == [
        ("program_of_a_user.py", 2)
    ]


def test_a_name_that_never_was_is_still_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"toolkit\.venue\.nonsense"):
        importlib.import_module("toolkit.venue.nonsense")
