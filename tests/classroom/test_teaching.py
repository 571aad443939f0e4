"""What a teacher does with a class, as calls of a Lesson: time, news, freezing, money, resets, save points."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolkit
from toolkit import errors, orders
from toolkit.classroom import lesson as module
from toolkit.classroom.class_routes import board
from toolkit.classroom.lesson import TRADING, Lesson
from toolkit.classroom.roster import Roster
from toolkit.venue import development
from toolkit.venue.clocks import MANUAL_START, RealClock
from toolkit.venue.local import LocalVenue
from toolkit.venue.risk import ledger

NAMES = ["Cyd", "Ann", "Bo"]
ROSTER = Roster(NAMES, ["c", "a", "b"], development.MNEMONIC)


def made(**options: Any) -> Lesson:
    lesson = Lesson.create(ROSTER, **{"market": None, "seed": 3, "clock": "manual", "balance": "1000", **options})
    for venue in lesson.all_venues():
        venue.control.add_liquidity("BTCUSDC", "SELL", "62600", "5")
        venue.control.add_liquidity("BTCUSDC", "BUY", "62400", "5")
    return lesson


@pytest.fixture(params=[False, True], ids=["one venue", "separate"])
def lesson(request: pytest.FixtureRequest) -> Iterator[Lesson]:
    lesson = made(separate=request.param)
    yield lesson
    lesson.close()


def joined(lesson: Lesson, name: str) -> toolkit.Session:
    student = lesson.roster.named(name)
    wallet = toolkit.Wallet(agent=student.agent.key, master=student.master.key)
    return toolkit.connect(venue=lesson.venue_of(student), wallet=wallet, settle_timeout=0)


def balances(lesson: Lesson) -> dict[str, int]:
    """Micro-USDC of each student."""
    states = {each.name: (lesson.venue_of(each).host.core.state, each.address.lower()) for each in ROSTER.students}
    return {name: state.accounts[address].balance for name, (state, address) in states.items()}


def test_a_class_has_one_venue_or_one_each_with_the_same_market_and_closes_all(
    lesson: Lesson, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venues = lesson.all_venues()
    separate = len(venues) > 1
    assert (list(lesson.venues), len(venues)) == ([0, 1, 2], 3 if separate else 1)
    assert {venue.host.core.state.seed for venue in venues} == {3}
    assert balances(lesson) == dict.fromkeys(NAMES, 1_000_000_000)
    closed: list[LocalVenue] = []
    with monkeypatch.context() as patch:
        patch.setattr(LocalVenue, "close", lambda venue: closed.append(venue))
        lesson.close()
    assert closed == venues
    journal = str(tmp_path / "journal")
    if separate:
        with pytest.raises(errors.InputError, match="separate venues have no journal"):
            made(separate=True, journal=journal)
    else:
        for _ in range(2):  # it continues, and the first has let go of the file
            made(journal=journal).close()


def test_an_unknown_program_is_named_with_those_there_are() -> None:
    with pytest.raises(errors.InputError, match=r"opened has 'faucets'.*faucet"):
        made(opened=["faucets"])


def test_every_agent_may_trade_for_a_year(lesson: Lesson) -> None:
    year = 365 * 24 * 3600 * 1000
    for student in ROSTER.students:
        approvals = lesson.venue_of(student).host.core.state.permissions.approvals
        [mine] = [each for each in approvals if each.master == student.address.lower()]
        assert (mine.agent, mine.name, mine.expires) == (student.agent.address.lower(), "class", MANUAL_START + year)


def test_who_signed_and_when_is_noted_also_for_a_master_and_not_for_others(lesson: Lesson) -> None:
    clock = module.time.time_ns() // 1_000_000
    with joined(lesson, "Bo") as session:
        session.buy("BTCUSDC", "0.001", price="60000")
    who = lesson.who()
    assert [(row["name"], row["address"], row["joined"]) for row in who] == [
        (each.name, each.address, None) for each in ROSTER.students
    ]
    assert [row["seen"] is None for row in who] == [True, True, False]
    assert clock <= who[2]["seen"] <= module.time.time_ns() // 1_000_000


def test_time_is_held_and_goes_on_as_fast_as_before(lesson: Lesson) -> None:
    with pytest.raises(errors.VenueError, match="moved by hand"):
        lesson.set_speed(2)
    assert lesson.status() == {"time": MANUAL_START, "speed": 0.0, "frozen": False}
    clocks = [RealClock(start=MANUAL_START) for _ in lesson.all_venues()]
    for venue, clock in zip(lesson.all_venues(), clocks, strict=True):
        venue.host.clock = clock
    lesson.hold_time()
    lesson.go_on()
    assert [clock.speed for clock in clocks] == [1.0] * len(clocks)
    lesson.set_speed(5)
    lesson.hold_time()
    lesson.hold_time()  # again changes nothing
    assert [clock.speed for clock in clocks] == [0] * len(clocks)
    assert lesson.status()["time"] == clocks[0].now_ms()
    lesson.go_on()
    assert {clock.speed for clock in clocks} == {lesson.status()["speed"]} == {5}


def test_a_freeze_refuses_every_way_to_trade_in_every_venue_until_it_ends(lesson: Lesson) -> None:
    states = [venue.host.core.state.laboratory for venue in lesson.all_venues()]
    assert not any(state.disabled for state in states)
    lesson.freeze()
    assert all(set(state.disabled) == set(TRADING) for state in states)
    assert lesson.status()["frozen"] is True
    lesson.unfreeze()
    assert not any(state.disabled for state in states)
    assert lesson.status()["frozen"] is False


def test_news_have_1_to_300_characters_and_the_last_are_kept_and_shown(lesson: Lesson) -> None:
    for text in ("", "x" * 301):
        with pytest.raises(errors.InputError, match=f"1 to 300 characters, not {len(text)}"):
            lesson.say(text)
    lesson.say("x")
    lesson.say("x" * 300)
    assert lesson.news == [{"time": MANUAL_START, "text": "x"}, {"time": MANUAL_START, "text": "x" * 300}]
    for number in range(51):
        lesson.say(f"news {number}")
    assert [each["text"] for each in lesson.news] == [f"news {number}" for number in range(1, 51)]
    shown = board(lesson.all_venues()[0], lesson)
    assert shown == {"time": MANUAL_START, "rows": lesson.leaderboard(), "news": lesson.news[-10:]}


def test_a_jump_moves_every_venue_and_tells_only_what_it_is_given(lesson: Lesson) -> None:
    assert lesson.jump("BTCUSDC", "-10") == {"product": "BTCUSDC", "price": "56250.0"}
    assert lesson.news == []
    assert lesson.jump("ETHUSDC", "1", "up")["product"] == "ETHUSDC"
    assert [each["text"] for each in lesson.news] == ["up"]
    assert [venue.host.core.state.markets[1].oracle for venue in lesson.all_venues()] == [562_500] * len(
        lesson.all_venues()
    )


def test_money_goes_to_one_student_or_to_all(lesson: Lesson) -> None:
    given = lesson.fund_student("Ann", "5")
    assert {name: row["balance"] for name, row in given.items()} == {"Ann": "1005"}
    given = lesson.fund_student("", "0.5")
    assert {name: row["balance"] for name, row in given.items()} == {"Cyd": "1000.5", "Ann": "1005.5", "Bo": "1000.5"}
    assert balances(lesson) == {"Cyd": 1_000_500_000, "Ann": 1_005_500_000, "Bo": 1_000_500_000}


@pytest.mark.parametrize("hedge", [False, True], ids=["one-way", "hedge"])
@pytest.mark.parametrize("side", ["buy", "sell"])
def test_a_reset_leaves_no_order_no_position_and_the_starting_balance(lesson: Lesson, side: str, hedge: bool) -> None:
    ann = ROSTER.named("Ann")
    venue = lesson.venue_of(ann)
    held = venue.host.core.state.accounts[ann.address.lower()]
    other, trigger, far = ("sell", "50000", "2000") if side == "buy" else ("buy", "70000", "4000")
    with joined(lesson, "Ann") as session:
        if hedge:
            venue.control.set_position_mode(ann.address, "HEDGE")
            session.place(orders.market("BTCUSDC", "BUY", "0.01"))
            session.place(orders.market("BTCUSDC", "SELL", "0.02"))
            closing_side = f"{other.upper()}_CLOSE_HEDGE"
        else:
            getattr(session, side)("BTCUSDC", "0.01")
            closing_side = other
        session.place(orders.limit("ETHUSDC", side, "0.01", far))
        session.place(orders.stop("BTCUSDC", closing_side, trigger))
    assert len(held.orders) == 2
    assert held.balance < 1_000_000_000
    assert lesson.reset("Ann") == ["Ann"]
    assert held.orders == {}
    assert [leg.size for each in held.positions.values() for leg in (each.long, each.short) if leg.size] == []
    assert balances(lesson) == dict.fromkeys(NAMES, 1_000_000_000)


@pytest.mark.parametrize("more", ["0.000001", "50", "1234.5"])
def test_a_reset_takes_what_is_too_much_and_a_second_one_changes_nothing(lesson: Lesson, more: str) -> None:
    held = [(student, lesson.venue_of(student)) for student in ROSTER.students]
    lesson.fund_student("Bo", more)
    assert lesson.reset("Bo") == ["Bo"]
    assert balances(lesson) == dict.fromkeys(NAMES, 1_000_000_000)
    entries = [len(ledger.entries(venue.host.core, each.address.lower())) for each, venue in held]
    assert lesson.reset() == NAMES
    assert [len(ledger.entries(venue.host.core, each.address.lower())) for each, venue in held] == entries


def test_save_points_are_numbered_from_1_and_bring_back_all_but_the_news(lesson: Lesson) -> None:
    with pytest.raises(errors.InputError, match=r"there is no save point 1\. There are none yet"):
        lesson.back_to(1)
    assert lesson.save_point() == 1
    lesson.fund_student("", "7")
    lesson.reset("Bo")
    assert lesson.save_point() == 2
    lesson.fund_student("", "7")
    lesson.back_to(2)
    assert balances(lesson) == {"Cyd": 1_007_000_000, "Ann": 1_007_000_000, "Bo": 1_000_000_000}
    with pytest.raises(errors.InputError, match=r"there is no save point 3\. There are 1, 2"):
        lesson.back_to(3)
    lesson.back_to(1)
    assert balances(lesson) == dict.fromkeys(NAMES, 1_000_000_000)


def test_a_position_that_nobody_takes_is_named_for_one_and_left_out_for_all(lesson: Lesson) -> None:
    with joined(lesson, "Ann") as ann, joined(lesson, "Bo") as bo:
        ann.buy("BTCUSDC", "0.01")
        bo.sell("BTCUSDC", "0.01")
    for venue in lesson.all_venues():
        venue.control.remove_liquidity("BTCUSDC")
    for name in ("Ann", "Bo"):
        with pytest.raises(errors.VenueError, match=f"{name} is not reset: the position in BTCUSDC found no taker"):
            lesson.reset(name)
    assert lesson.reset() == ["Cyd"]
