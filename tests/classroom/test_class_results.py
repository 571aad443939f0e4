"""The leaderboard, worked out by hand: returns without deposits, falls, fees, what others paid, and the files."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

import toolkit
from toolkit import errors, orders
from toolkit.classroom import class_results as results
from toolkit.classroom.lesson import Lesson
from toolkit.classroom.roster import Roster
from toolkit.venue import development

ROSTER = Roster(["Cyd", "Ann", "Bo"], ["c", "a", "b"], development.MNEMONIC)
NOTHING = {"equity": 1000.0, "return": 0.0, "drawdown": 0.0, "fees": 0.0, "trades": 0, "left_out": 0.0, "market": 0.0,
           "classmates": 0.0}  # fmt: skip


@pytest.fixture
def lesson() -> Iterator[Lesson]:
    made = Lesson.create(ROSTER, market=None, seed=3, clock="manual", balance="1000", opened=["builders"])
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _computed_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolkit.classroom.lesson.CACHED_SECONDS", 0.0)
    monkeypatch.setattr("toolkit.classroom.lesson.CACHED_TIMES", 0.0)


def offers(lesson: Lesson) -> None:
    for side, price in (("SELL", "62600"), ("BUY", "62400")):
        lesson.venues[0].control.add_liquidity("BTCUSDC", side, price, "5")


def priced(lesson: Lesson, price: str) -> None:
    """Let the mark price be `price` at the next minute, and nothing else."""
    venue = lesson.venues[0]
    venue.control.remove_liquidity("BTCUSDC")
    venue.control.set_oracle("BTCUSDC", price)
    venue.advance("1m")


def joined(lesson: Lesson, name: str, agent: bytes | None = None) -> toolkit.Session:
    student = ROSTER.named(name)
    wallet = toolkit.Wallet(agent=agent or student.agent.key, master=student.master.key)
    return toolkit.connect(venue=lesson.venues[0], wallet=wallet, settle_timeout=0)


@pytest.mark.parametrize("side", ["buy", "sell"])
def test_a_standing_counts_trading_its_worst_fall_and_its_fees_and_no_deposit(lesson: Lesson, side: str) -> None:
    offers(lesson)
    with joined(lesson, "Ann") as ann:
        getattr(ann, side)("BTCUSDC", "0.01")
    sign, fee = (1, "0.3756") if side == "buy" else (-1, "0.3744")  # 0.06 % of 626 and of 624 USDC
    opened = 1000 - Decimal(fee) - 1  # the price of 1 USDC for half of the spread
    gained, lost = opened + 25, opened - 25  # 0.01 BTC by 2,500 USDC
    for change in (2500, -2500):
        priced(lesson, str(62_500 + sign * change))
    [row, cyd, bo] = sorted(lesson.leaderboard(), key=lambda each: (each["trades"] == 0, each["name"] == "Bo"))
    assert (cyd, bo) == ({"rank": None, "name": "Cyd", **NOTHING}, {"rank": None, "name": "Bo", **NOTHING})
    expected = {**NOTHING, "rank": 1, "name": "Ann", "fees": float(fee), "trades": 1, "market": float(lost - 1000)}
    expected |= {"equity": float(lost), "return": float(lost / 1000 - 1), "drawdown": float(1 - lost / gained)}
    assert row == pytest.approx(expected)
    lesson.fund_student("Ann", "500")
    priced(lesson, "62500")
    grown = lost / 1000 * (opened + 500) / (lost + 500)
    expected |= {"equity": float(opened + 500), "return": float(grown - 1), "market": float(opened - 1000)}
    assert lesson.leaderboard()[0] == pytest.approx(expected)


@pytest.mark.parametrize("side", ["buy", "sell"])
def test_a_return_begins_again_at_a_reset_with_what_was_there(lesson: Lesson, side: str) -> None:
    offers(lesson)
    with joined(lesson, "Ann") as session:
        getattr(session, side)("BTCUSDC", "0.01")
        lesson.venues[0].advance("1m")
        assert lesson.reset("Ann") == ["Ann"]
        assert lesson.leaderboard()[0] == {"rank": 1, "name": "Ann", **NOTHING, "fees": 0.75, "trades": 2}
        priced(lesson, "62500")
        offers(lesson)
        getattr(session, side)("BTCUSDC", "0.01")
    fee = 0.3756 if side == "buy" else 0.3744
    row = lesson.leaderboard()[0]
    assert (row["name"], row["trades"]) == ("Ann", 3)
    assert [row["return"], row["drawdown"]] == pytest.approx([-(1 + fee) / 1000, (1 + fee) / 1000])


def test_what_others_pay_is_left_out_of_a_return_and_stands_beside_it(lesson: Lesson) -> None:
    offers(lesson)
    key = development.agent(20).key
    with joined(lesson, "Ann") as ann, joined(lesson, "Bo") as bo:
        toolkit.Builder(bo).register("House")
        lesson.venues[0].advance("1m")
        with joined(lesson, "Bo", key) as builder:
            ann.permissions.allow_builder(builder.account, builder.wallet.agent, max_fee_rate="0.0005")
            for wait in ("1m", "1m"):
                toolkit.Builder(builder).place(orders.buy("BTCUSDC", "0.01"), fee_rate="0.0005")
                lesson.venues[0].advance(wait)
    priced(lesson, "62500")
    rows = {row["name"]: row for row in lesson.leaderboard()}
    assert rows["Bo"] == {**NOTHING, "rank": None, "name": "Bo", "equity": 1000.626, "left_out": 0.626}
    paid = 2 * (0.3756 + 0.313)
    lost = paid + 2  # and half of the spread, twice
    assert rows["Ann"] == pytest.approx(
        {"rank": 1, "name": "Ann", **NOTHING, "equity": 1000 - lost, "return": -lost / 1000, "drawdown": lost / 1000,
         "fees": paid, "trades": 2, "market": -lost}
    )  # fmt: skip
    core = lesson.venues[0].host.core
    assert results.beginning(core, ROSTER.named("Bo")).brought == 1_000_626_000


def test_a_student_without_an_account_has_a_row_of_zeros(lesson: Lesson) -> None:
    other = Roster.create(["Zed"]).students[0]
    core = lesson.venues[0].host.core
    row = results.standing(core, other, results.Beginning())
    assert row == {"name": "Zed", **dict.fromkeys(NOTHING, 0)}
    assert results.Beginning() == (0, 0, 0)


def test_equal_returns_stand_by_name_and_the_frame_has_its_types(lesson: Lesson) -> None:
    expected = pd.DataFrame(
        {
            "rank": None, "name": ["Ann", "Bo", "Cyd"], "equity": 1000.0, "return": 0.0, "drawdown": 0.0,
            "fees": 0.0, "trades": 0, "left_out": 0.0, "market": 0.0, "classmates": 0.0,
        }
    ).astype(results.COLUMNS)  # fmt: skip
    pd.testing.assert_frame_equal(results.frame(lesson.leaderboard()), expected)
    assert list(results.frame([]).dtypes) == list(expected.dtypes)


def test_the_files_hold_the_rows_of_every_student_behind_his_name(lesson: Lesson, tmp_path: Path) -> None:
    offers(lesson)
    with joined(lesson, "Ann") as ann, joined(lesson, "Bo") as bo:
        ann.buy("BTCUSDC", "0.01")
        bo.sell("BTCUSDC", "0.02")
    folder = tmp_path / "a" / "b"
    for _ in range(2):  # a folder that is there is used
        written = lesson.export(str(folder))
    assert written == [str(folder / f"{name}.parquet") for name in ("leaderboard", "students", *results.TABLES)]
    tables = {Path(path).stem: pd.read_parquet(path) for path in written}
    assert all(tables[name].columns[0] == "student" for name in results.TABLES)
    assert not any("level_0" in table or "__index_level_0__" in table for table in tables.values())
    assert tables["positions"][["student", "side", "size"]].to_numpy().tolist() == [
        ["Ann", "LONG", 0.01], ["Bo", "SHORT", 0.02],
    ]  # fmt: skip
    assert tables["balances"]["student"].tolist() == ["Cyd", "Ann", "Bo"]
    assert tables["leaderboard"]["name"].tolist() == ["Ann", "Bo", "Cyd"]
    assert tables["students"].columns.tolist() == ["name", "address", "joined", "seen"]
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.InputError, match=r"file can't be written: ") as raised:
        results.write_tables(ROSTER, lesson.venues, {}, tmp_path / "file")
    assert (raised.value.field, raised.value.value) == ("folder", str(tmp_path / "file"))
