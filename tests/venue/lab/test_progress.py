"""A long advance shows its progress, a short one and one that is told not to are silent."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from toolkit import progress
from toolkit.venue.local import LocalVenue


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every bar that is made, drawn as text."""
    from tqdm import auto, std

    made: list[Any] = []

    class Bar(std.tqdm):  # type: ignore[type-arg]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, file=sys.stderr, mininterval=0, **options)
            made.append(self)

    monkeypatch.setattr(auto, "tqdm", Bar)
    return made


def test_progress_counts_simulated_minutes(bars: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    with LocalVenue(clock="manual") as venue:
        venue.advance("20m", progress=True)
    assert [(bar.n, bar.total) for bar in bars] == [(20.0, 20.0)]
    assert "advance" in capsys.readouterr().err


def test_a_long_advance_shows_a_bar_after_a_while(
    bars: list[Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with LocalVenue(clock="manual") as venue:
        venue.advance("10m")
        assert "advance" not in capsys.readouterr().err
        monkeypatch.setattr(progress, "DELAY_SECONDS", 1e-9)
        monkeypatch.delenv("TQDM_DISABLE")
        venue.advance("10m")
        assert "advance" in capsys.readouterr().err
        made = len(bars)
        venue.advance("9m")
        venue.advance("11m", progress=False)
    assert len(bars) == made
