"""The day of an account: the frames behind the figure, and the figure itself."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.text import Text

from tests.venue.play import Play
from toolkit import report
from toolkit.errors import InputError

HOUR = 3_600_000


@pytest.fixture(scope="module")
def play() -> Play:
    """Ann trades, pays funding at 04:00 and is liquidated at 05:00."""
    play = Play()
    play.oracle(60_000)
    play.fund(3_200, "ann")
    play.fund(1_000_000, "bob", "zoe")
    play.trade("ann", "bob", "1", 60_000)
    play.advance(5 * HOUR)
    play.placed("zoe", "BUY", "0.4", 57_300)
    play.oracle(57_400)
    play.advance(2 * HOUR)
    return play


def test_the_frames_hold_the_day(play: Play) -> None:
    frames = report.account_frames(play.core, play.address("ann"))
    equity, fills, funding = frames["equity"], frames["fills"], frames["funding"]
    assert equity.index[0] == pd.Timestamp("2026-01-01T00:01", tz="UTC")
    assert len(equity) == 302, "a sample a minute, one when the liquidation began and one when it ended"
    assert equity["ratio"].iloc[-2] > 1
    assert equity["equity"].iloc[0] == pytest.approx(3_164)
    assert equity["ratio"].iloc[0] == pytest.approx(750 / 3_164, rel=1e-6)
    assert equity["ratio"].iloc[-1] == 0
    assert list(fills["side"]) == ["BUY", "SELL", "SELL"]
    assert list(fills["kind"]) == ["", "LIQUIDATION", "LIQUIDATION"]
    assert fills["value"].iloc[0] == 60_000
    assert list(funding["amount"]) == [-3.0]
    assert str(funding.index.tz) == "UTC"


def test_empty_days_have_the_same_columns_and_dtypes(play: Play) -> None:
    full = report.account_frames(play.core, play.address("ann"))
    empty = report.account_frames(play.core, play.address("ann"), day="2026-02-03")
    for name, frame in full.items():
        assert len(empty[name]) == 0
        assert list(empty[name].dtypes) == list(frame.dtypes)
        assert empty[name].index.dtype == frame.index.dtype
    plt.close(report.account_day(play.core, play.address("ann"), day="2026-02-03"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_figure_says_what_happened(play: Play, theme: str) -> None:
    figure = report.account_day(play.core, play.address("ann"), theme=theme)
    panels = [ax for ax in figure.axes if isinstance(ax, Axes)]
    assert [ax.get_title(loc="left") for ax in panels] == [
        "Equity",
        "Margin ratio",
        "Fills",
        "Funding received (+) and paid (−)",
    ]
    words = [found.get_text() for found in figure.findobj(Text) if isinstance(found, Text)]
    assert any("Thursday 01 January 2026" in word for word in words)
    assert {"liquidation", "liquidation, ADL", "-3.00", "BTCUSDC"} <= set(words)
    figure.canvas.draw()
    plt.close(figure)


def test_unknown_accounts_and_far_sessions_are_refused_in_words(play: Play) -> None:
    with pytest.raises(InputError, match="the venue has no account 0x12"):
        report.account_day(play.core, "0x12")
    with pytest.raises(InputError, match="needs the local venue in this process"):
        report.account_day(type("Far", (), {"venue": None})(), "0x12")  # type: ignore[arg-type]
