"""Bars that appear by themselves: a variable keeps them away, in notebooks too."""

from __future__ import annotations

from typing import Any

import pytest
from tqdm.notebook import tqdm as in_a_notebook

from toolkit import progress
from toolkit.progress import advance_bar, late_bar


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


@pytest.mark.parametrize(
    ("span", "shown", "bar"),
    [(600_000, None, True), (599_999, None, False), (600_000, False, False), (5, True, True)],
)
def test_only_long_advances_have_a_bar_in_minutes(
    monkeypatch: pytest.MonkeyPatch, span: int, shown: bool | None, bar: bool
) -> None:
    class Bar:
        n = 0.0

        def update(self, minutes: float) -> None:
            self.n += minutes

    made: list[tuple[Any, ...]] = []
    drawn = Bar()

    class Late:
        def __init__(self, shown: bool | None, seconds: float, **options: Any) -> None:
            made.append((shown, seconds, options))

        def __enter__(self) -> Bar:
            return drawn

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(progress, "late_bar", Late)
    with advance_bar(1_000, 1_000 + span, shown) as moved:
        moved(1_000 + span // 2)
        moved(1_000 + span)
    if bar:
        options = {"desc": "advance", "total": span / 60_000, "unit": " min", "unit_scale": True}
        assert made == [(shown, 5.0, options)]
        assert drawn.n == pytest.approx(span / 60_000)
    else:
        assert (made, drawn.n) == ([], 0)
