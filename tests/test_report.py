"""The day of an account: the frames behind the figure, and the figure itself."""

from __future__ import annotations

import itertools
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.text import Text

import toolkit
from tests.venue.play import Play, quoted
from toolkit import report
from toolkit.errors import InputError
from toolkit.venue.engine.core import Core

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
    assert list(equity.index[:2]) == [pd.Timestamp(text, tz="UTC") for text in ("2026-01-01", "2026-01-01T00:01")]
    assert equity.index[-1] == pd.Timestamp("2026-01-01T07:00", tz="UTC"), "now"
    assert len(equity) == 304, "begin, a sample a minute, one when the liquidation began, its end, and now"
    assert equity["ratio"].iloc[-3] > 1
    assert list(equity["equity"].iloc[:2]) == pytest.approx([3_200, 3_164])
    assert equity["ratio"].iloc[1] == pytest.approx(750 / 3_164, rel=1e-6)
    assert equity["ratio"].iloc[-1] == equity["ratio"].iloc[-2] == equity["ratio"].iloc[0] == 0
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


# the equity of a day


DAY = 86_400_000


def words(core: Core, address: str, day: str | None = None) -> list[str]:
    figure = report.account_day(core, address, day=day)
    texts = [found.get_text() for found in figure.findobj(Text) if isinstance(found, Text)]
    plt.close(figure)
    return texts


@pytest.mark.parametrize(("before", "held"), [(10_000, 90_000), (70_000, 20_000), (60_000, 60_000), (0, 0)])
def test_equity_goes_from_the_first_money_to_now_also_between_samples(before: int, held: int) -> None:
    play = quoted()
    play.advance(before)
    play.placed("ann", "BUY", "1", 62_500, timeInForce="IOC")
    play.advance(held)
    play.placed("ann", "SELL", "1", 62_400, timeInForce="IOC")
    play.advance(10_000)
    equity = report.account_frames(play.core, play.address("ann"))["equity"]
    now = pd.Timestamp(play.now, unit="ms", tz="UTC")
    assert (equity.index[0], equity.index[-1]) == (pd.Timestamp("2026-01-01", tz="UTC"), now)
    assert list(equity["equity"].iloc[[0, -1]]) == pytest.approx([10_000, play.balance("ann") / 1e6])
    assert equity["equity"].iloc[-1] < 9_900
    balance = play.balance("ann") / 1e6
    said = f"{balance:,.2f}  ({balance - 10_000:,.2f}, {balance / 10_000 - 1:+.2%})"
    assert said in words(play.core, play.address("ann"))


def test_an_account_that_only_holds_cash_has_a_day_and_deposits_are_no_gain() -> None:
    play = quoted()
    play.advance(3 * HOUR)
    play.fund("50", "ann")
    play.advance(HOUR)
    equity = report.account_frames(play.core, play.address("ann"))["equity"]
    assert list(equity["equity"]) == [10_000, 10_000, 10_050, 10_050]
    assert list(equity["deposits"]) == [0, 0, 50, 50]
    assert [time.hour for time in equity.index] == [0, 3, 3, 4]
    assert "10,050.00  (+0.00, +0.00%, and 50.00 deposited)" in words(play.core, play.address("ann"))
    play.withdraw("ann", "150")
    assert "9,900.00  (+0.00, +0.00%, and 100.00 withdrawn)" in words(play.core, play.address("ann"))
    assert len(report.account_frames(play.core, play.address("ann"), day="2025-12-31")["equity"]) == 0
    assert len(report.account_frames(play.core, play.address("ann"), day="2026-01-02")["equity"]) == 0


def test_days_follow_each_other_without_a_gap_with_and_without_positions() -> None:
    play = quoted()
    play.advance(20 * HOUR)
    play.placed("ann", "BUY", "1", 62_500, timeInForce="IOC")
    play.oracle(62_600)
    play.advance(DAY)
    play.placed("ann", "SELL", "1", 62_400, timeInForce="IOC")
    play.advance(2 * DAY)
    play.fund("5", "ann")
    days = [
        report.account_frames(play.core, play.address("ann"), day=f"2026-01-0{day}")["equity"] for day in range(1, 5)
    ]
    for one, following in itertools.pairwise(days):
        assert one.index[-1] == following.index[0] == following.index[0].normalize()
        assert one["equity"].iloc[-1] == following["equity"].iloc[0]
    assert days[1]["ratio"].iloc[0] > 0, "a position was held at midnight"
    assert len(days[2]) == 2, "nothing happened, and it was there"
    changes = [day["equity"].iloc[-1] - day["equity"].iloc[0] - day["deposits"].iloc[-1] for day in days]
    assert sum(changes) == pytest.approx(play.balance("ann") / 1e6 - 10_005)


def test_frames_become_a_spreadsheet_that_keeps_what_they_say(tmp_path: Path) -> None:
    with toolkit.connect(clock="manual", seed=7) as session:
        session.buy("BTCUSDC", "0.01")
        session.venue.advance("1h")
        fills = session.fills(exact=True)
        frames = {"fills": fills, "orders": session.orders(), "klines": session.klines("BTCUSDC", "1m", limit=5)}
        path = report.to_excel({**frames, "none": fills.iloc[:0]}, tmp_path / "account.xlsx")
    read = pd.read_excel(path, sheet_name=None)
    assert list(read) == ["fills", "orders", "klines", "none"]
    assert read["none"].empty
    assert (read["fills"]["time (UTC)"] == fills["time"].dt.tz_localize(None)).all()
    assert read["fills"]["price"].tolist() == [float(price) for price in fills["price"]]
    assert [str(one) for one in read["orders"]["order_id"]] == [str(one) for one in frames["orders"]["order_id"]]
    assert len(read["klines"]) == 5
    with pytest.raises(InputError, match=r"must end in \.xlsx"):
        report.to_excel(fills, tmp_path / "account.csv")


def test_ids_of_more_digits_than_a_spreadsheet_has_stay_whole(tmp_path: Path) -> None:
    path = report.to_excel(pd.DataFrame({"id": [2**60 + 1, 7]}), tmp_path / "ids.xlsx")
    assert pd.read_excel(path, dtype=str)["id"].tolist() == [str(2**60 + 1), "7"]
