"""Join links and the pages of a class: which text is a link, what the class answers, and how much a server takes."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Iterator
from typing import Any, ClassVar

import httpx
import pytest

import toolkit
from toolkit import errors
from toolkit.classroom import joining
from toolkit.classroom.notebook_worker import GRADED_LINK_VARIABLE
from toolkit.classroom.room import Room
from toolkit.classroom.roster import Roster
from toolkit.client.io.flow import Fetch, Reply
from toolkit.venue.clocks import MANUAL_START
from toolkit.venue.local import LocalVenue
from toolkit.venue.served.boundary import ServeSettings


@pytest.fixture(scope="module")
def room() -> Iterator[Room]:
    with toolkit.class_room(["Ann", "Bo"], market=None, held=True) as made:
        yield made


NO_LINKS = (
    "", "192.0.2.1:8645/join/abc", "ftp://192.0.2.1/join/abc", "http:///join/abc", "http://192.0.2.1/join/",
    "http://192.0.2.1/joins/abc", "http://192.0.2.1/abc", "http://192.0.2.1", "http://[::1/join/abc",
)  # fmt: skip


@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("link", NO_LINKS)
def test_a_text_that_is_no_link_is_refused_before_anything_is_sent(
    link: str, graded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if graded:
        monkeypatch.setenv(GRADED_LINK_VARIABLE, "http://192.0.2.1/join/abc")
    with pytest.raises(errors.InputError, match="this is no link of a class") as raised:
        toolkit.join(link)
    assert raised.value.field == "link"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_graded_notebook_gets_the_venue_that_its_worker_serves_and_sends_nothing_elsewhere(
    scheme: str, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(GRADED_LINK_VARIABLE, room.links["Ann"])
    with toolkit.join(f"{scheme}://192.0.2.1:8645/lesson/join/abc") as session:
        assert session.account == room.lesson.roster.named("Ann").address
        assert session.wallet_balances(exact=True)["balance"].tolist() == [10_000]


class Answering:
    """A transport that answers a join link with `reply`, or fails, and notes where it was opened and closed."""

    reply: Reply | Exception = Reply(200, b"")
    opened: ClassVar[list[str]] = []

    def __init__(self, base: str, _: object, timeout: float) -> None:
        assert timeout == 3.0
        self.base = base
        self.opened.append(base)

    def send(self, fetch: Fetch) -> Reply:
        assert (fetch.method, fetch.path, fetch.body) == ("POST", "/join/abc", b"{}")
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply

    def close(self) -> None:
        self.opened.remove(self.base)


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Answering]]:
    monkeypatch.setattr(joining, "HttpTransport", Answering)
    yield Answering
    assert Answering.opened == []  # every one is closed


FAILED: dict[str, tuple[Reply | Exception, type[Exception], str]] = {
    "a refusal": (
        Reply(404, b'{"code": 40000, "message": "gone", "data": null}'), errors.ToolkitError, "did not let you in: gone"
    ),
    "no answer": (errors.TransportError("abc"), errors.TransportError, "does not answer: is it running"),
    "another page": (Reply(200, b"<html>"), errors.BadAnswer, "does not answer: is it running"),
    "no keys": (Reply(200, b'{"code": 0, "message": "", "data": []}'), errors.ToolkitError, "does not answer"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILED)
def test_an_answer_without_keys_is_an_error_of_its_kind_that_does_not_repeat_the_link(
    case: str, answering: type[Answering], monkeypatch: pytest.MonkeyPatch
) -> None:
    reply, kind, words = FAILED[case]
    monkeypatch.setattr(answering, "reply", reply)
    with pytest.raises(kind, match=words) as raised:
        toolkit.join("http://192.0.2.1:8645/join/abc", timeout=3)
    assert type(raised.value) is kind
    assert "abc" not in str(raised.value)


def test_a_join_link_takes_get_and_post_and_notes_the_first_joining(room: Room) -> None:
    link = room.links["Bo"]
    assert httpx.put(link).status_code == 405
    page = httpx.get(link)
    assert (page.status_code, "Bo" in page.text, room.lesson.joined_ms.get("Bo")) == (200, True, None)
    before = time.time_ns() // 1_000_000
    given = httpx.post(link, json={})
    first = room.lesson.joined_ms["Bo"]
    assert before <= first <= time.time_ns() // 1_000_000
    student = room.lesson.roster.named("Bo")
    assert given.json() == {
        "code": 0,
        "message": "success",
        "data": {
            "name": "Bo", "address": student.address, "master_key": f"0x{student.master.key.hex()}",
            "agent_key": f"0x{student.agent.key.hex()}", "port": None,
        },
    }  # fmt: skip
    assert (given.status_code, given.headers["cache-control"]) == (200, "no-store")
    room.lesson.joined_ms["Bo"] = first = 7
    httpx.post(link, json={})
    assert room.lesson.joined_ms["Bo"] == first
    assert httpx.get(f"{room.base_url}/join/abc").status_code == 404


def test_the_pages_allow_their_one_script_and_nothing_is_kept(room: Room) -> None:
    for url in (room.board_url, room.teacher_url, room.links["Ann"]):
        page = httpx.get(url)
        script = page.text.partition("<script>")[2].partition("</script>")[0]
        assert page.text.count("<script>") == 1
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"script-src 'sha256-{digest}'" in page.headers["content-security-policy"]
        assert (page.status_code, page.headers["cache-control"]) == (200, "no-store")
        assert (page.headers["content-type"], page.headers["referrer-policy"]) == (
            "text/html; charset=utf-8", "no-referrer",
        )  # fmt: skip
    data = httpx.get(f"{room.base_url}/class/board.json")
    assert (data.status_code, data.json()["code"], data.json()["data"]["time"]) == (200, 0, MANUAL_START)


@pytest.mark.parametrize(
    ("separate", "given", "count", "allowed"),
    [
        *(
            (separate, given, 2, limits)
            for separate in (False, True)
            for given, limits in ((None, (76, 60)), (5, (5, 5)))
        ),
        (False, None, 31, (64 + 6 * 31, 2 * 31)),
    ],
)
def test_a_class_behind_one_address_may_open_six_connections_and_claim_twice_each(
    separate: bool, given: int | None, count: int, allowed: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve, served = LocalVenue.serve, []

    def noted(venue: LocalVenue, port: int, **options: Any) -> Any:
        limits = options["settings"].connections_per_ip, options["settings"].claims_per_ip
        served.append((port == 0, options["host"], options["allow_remote"], limits))
        return serve(venue, port, **options)

    monkeypatch.setattr(LocalVenue, "serve", noted)
    settings = None if given is None else ServeSettings(connections_per_ip=given, claims_per_ip=given)
    names = [f"S{number}" for number in range(count)]
    with toolkit.class_room(names, market=None, separate=separate, settings=settings) as made:
        assert len(set(made.lesson.ports.values())) == (2 if separate else 0)
    assert served == [(True, "127.0.0.1", False, allowed)] * (2 if separate else 1)


@pytest.mark.parametrize("start", [None, "2026-03-01T00:00:00Z"])
def test_a_class_is_held_where_it_starts_and_takes_a_roster(start: str | None) -> None:
    roster = Roster.create(["Ann"])
    with toolkit.class_room(roster, market=None, held=True, start=start, balance="77") as made:
        begin = MANUAL_START if start is None else 1_772_323_200_000
        assert made.status() == {"time": begin, "speed": 0, "frozen": False}
        assert made.lesson.roster is roster
        assert list(made.who()["address"]) == [roster.students[0].address]
        assert made.leaderboard()["equity"].tolist() == [77.0]
        assert {"freeze", "links", "join", "who"} < set(dir(made))
        assert not any(name.startswith("_") for name in dir(made))
        with pytest.raises(AttributeError, match="has no attribute 'reset_all'"):
            _ = made.reset_all
    with pytest.raises(httpx.ConnectError):
        httpx.get(made.board_url)
    with toolkit.class_room(["Ann"], market=None) as running:
        assert running.status()["speed"] == 1.0


def test_a_class_listens_elsewhere_only_if_that_is_allowed() -> None:
    with pytest.raises(errors.InputError, match="allow_remote"), toolkit.class_room(["A"], market=None, host="0.0.0.0"):
        pass
