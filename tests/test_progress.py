"""Bars that appear by themselves: a variable keeps them away, in notebooks too."""

from __future__ import annotations

import pytest
from tqdm.notebook import tqdm as in_a_notebook

from toolkit.progress import late_bar


@pytest.mark.parametrize(("value", "shown", "hidden"), [("1", None, True), ("1", True, False), ("", None, False)])
def test_the_variable_keeps_away_a_bar_that_nobody_asked_for(
    value: str, shown: bool | None, hidden: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TQDM_DISABLE", value)
    for kind in ("tqdm.auto", "tqdm.notebook"):
        if kind == "tqdm.notebook":
            monkeypatch.setattr("tqdm.auto.tqdm", in_a_notebook)
        with late_bar(shown, 60.0, total=3, desc="work") as bar:
            assert bar.disable is hidden
