"""A class from join to export: students with keys of their own, a teacher with a token, nobody with more."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import toolkit
from toolkit import errors
from toolkit.__main__ import main
from toolkit.classroom.class_routes import serving
from toolkit.classroom.lesson import Lesson
from toolkit.classroom.roster import Roster
from toolkit.venue.served.boundary import ServeSettings
from toolkit.venue.served.server import Served

NAMES = ["Ann", "Bo", "Čeněk <b>"]


class Room:
    """A served class."""

    def __init__(self, lesson: Lesson, served: Served) -> None:
        self.lesson, self.served = lesson, served

    def link(self, number: int) -> str:
        return f"{self.served.base_url}/join/{self.lesson.roster.students[number].code}"

    def join(self, number: int) -> toolkit.Session:
        return toolkit.join(self.link(number))

    def teacher(self) -> toolkit.Session:
        return toolkit.connect("local", base_url=self.served.base_url, control_token=self.served.control_token)


@pytest.fixture
def room() -> Iterator[Room]:
    lesson = Lesson.create(Roster.create(NAMES), market=False, seed=3)
    for venue in lesson.all_venues():
        venue.control.add_liquidity("BTCUSDC", "SELL", "62600", "5")
        venue.control.add_liquidity("BTCUSDC", "BUY", "62400", "5")
    try:
        with serving(lesson, 0, settings=ServeSettings()) as served:
            yield Room(lesson, served)
    finally:
        lesson.close()


def test_a_student_touches_nothing_of_anothers(room: Room) -> None:
    ann, bo = room.lesson.roster.students[:2]
    venue = room.lesson.venues[0]
    with room.join(0) as session:
        order = session.buy("BTCUSDC", "0.01", price="60000")
        assert order
    with room.join(1) as other:
        ids = session_orders(room, ann.address)
        with pytest.raises(errors.ToolkitError):
            other.exchange.cancel_order([{"symbolCode": 1, "ordId": ids[0]}])
        with pytest.raises(errors.InputError, match="need its token"):
            _ = other.venue.control.fund
        wrong = toolkit.connect("local", base_url=room.served.base_url, control_token="x" * 32)
        with wrong, pytest.raises(errors.ToolkitError, match="token"):
            wrong.venue.control.fund(bo.address, "1")
    assert session_orders(room, ann.address) == ids
    assert venue.host.core.state.accounts[bo.address.lower()].balance == 10_000_000_000
    keys = {each.key for student in room.lesson.roster.students for each in (student.master, student.agent)}
    assert len(keys) == 2 * len(NAMES)
    assert not keys & {toolkit_key(number) for number in range(40)}  # made for this class, not the public ones


def session_orders(room: Room, address: str) -> list[int]:
    return list(room.lesson.venues[0].host.core.state.accounts[address.lower()].orders)


def toolkit_key(number: int) -> bytes:
    from toolkit.venue import development

    return development.account(number).key


def test_secrets_stay_out_of_what_is_shown(room: Room) -> None:
    secrets = [room.lesson.roster.words]
    for student in room.lesson.roster.students:
        secrets += [student.code, student.master.key.hex(), student.agent.key.hex()]
    shown = [repr(room.lesson.roster.students), repr(room.lesson), json.dumps(room.lesson.who())]
    for path in ("/class", "/class/board.json", "/class/teacher", "/accounts", "/openapi.json"):
        shown.append(httpx.get(room.served.base_url + path).text)
    shown.append(httpx.get(room.link(0)).text)
    assert not [secret for secret in secrets[:1] + secrets[2:] if any(secret in text for text in shown)]
    page = httpx.get(room.link(2))
    assert "Čeněk &lt;b&gt;" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]


def test_the_teacher_leads_the_class_with_the_token(room: Room) -> None:
    with room.join(0) as ann, room.teacher() as teacher:
        control = teacher.venue.control
        assert ann.buy("BTCUSDC", "0.1", price="62600", tif="IOC")
        number = control.save_point()
        control.freeze()
        with pytest.raises(errors.ExchangeError):
            ann.buy("BTCUSDC", "0.1", price="62600", tif="IOC")
        control.unfreeze()
        control.set_speed(500)
        control.hold_time()
        held = room.lesson.venues[0].host.now_ms()
        assert room.lesson.venues[0].host.now_ms() == held
        assert control.status() == {"time": held, "speed": 0, "frozen": False}
        control.go_on()
        assert control.status()["speed"] == 500
        price = control.jump("BTCUSDC", "-10", "A large holder sells")["price"]
        assert room.lesson.venues[0].host.core.state.markets[1].oracle == 562_500
        assert price == "56250.0"
        assert list(control.fund_student("Ann", "500")) == ["Ann"]
        assert list(control.fund_student("", "1")) == NAMES
        board = {row["name"]: row for row in control.leaderboard()}
        assert board["Ann"]["return"] < 0
        assert board["Bo"]["return"] == 0
        assert board["Ann"]["rank"] == 1
        control.release_oracle("BTCUSDC")
        control.back_to(number)
        assert ann.wallet_balances()["balance"].iloc[0] < 10_000
        with pytest.raises(errors.ToolkitError, match="there is no save point 9"):
            control.back_to(9)
        with pytest.raises(errors.ToolkitError, match="there is no student 'Zed'"):
            control.fund_student("Zed", "1")
        assert set(control.reset()) == set(NAMES)
        assert [row["return"] for row in control.leaderboard()] == pytest.approx([0, 0, 0], abs=1e-2)
        news = httpx.get(f"{room.served.base_url}/class/board.json").json()["data"]["news"]
        assert news[0]["text"] == "A large holder sells"


def test_separate_venues_have_the_same_market_and_ports_of_their_own() -> None:
    lesson = Lesson.create(Roster.create(["A", "B"]), separate=True, seed=5)
    try:
        with serving(lesson, 0, settings=ServeSettings()) as served:
            room = Room(lesson, served)
            with room.join(0) as one, room.join(1) as two:
                assert one.environment.base_url != two.environment.base_url
                assert one.environment.feed_url.startswith(two.environment.ws_url[:15])
                assert one.buy("BTCUSDC", "0.01")
                assert len(two.positions()) == 0
            assert len({row["rank"] for row in lesson.leaderboard()}) == 2
            refused = httpx.post(f"http://127.0.0.1:{lesson.ports[1]}/control/fund", json={})
            assert refused.status_code == 401
    finally:
        lesson.close()


def test_nobody_waits_for_a_leaderboard_that_is_being_computed(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolkit.classroom.lesson.CACHED_SECONDS", 0.0)
    monkeypatch.setattr("toolkit.classroom.lesson.CACHED_TIMES", 0.0)
    first, begun, let_go = room.lesson.leaderboard(), threading.Event(), threading.Event()

    def slow() -> list[dict[str, object]]:
        begun.set()
        assert let_go.wait(60)
        return []

    monkeypatch.setattr(room.lesson, "_standings", slow)
    computing = threading.Thread(target=room.lesson.leaderboard)
    computing.start()
    assert begun.wait(60)
    assert room.lesson.leaderboard() is first
    let_go.set()
    computing.join(60)
    monkeypatch.undo()
    assert len(room.lesson.leaderboard()) == len(NAMES)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "the number of students is missing"),
        (["--students", "500"], "a class has 1 to 200 students"),
        (["--names", "nowhere.txt"], "can't be read"),
        (["--students", "2", "--separate", "--journal", "j"], "separate venues have no journal"),
    ],
)
def test_a_class_that_cannot_be_started_is_explained(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["class", "--port", "0", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
