"""The pages of a class over HTTP: joining, the leaderboard, the teacher's page.

The calls of the teacher are controls like the venue's others (POST /control/<name>), behind the same token. The pages
themselves hold nothing secret. The teacher's asks for the token, or takes it from the part of the address behind `#`,
which a browser never sends.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from importlib import resources
from typing import Any

from ..venue.api.admission import CLAIMS
from ..venue.api.gateway import Answer, Incoming, enveloped, http_error, taking
from ..venue.local import LocalVenue
from ..venue.served.boundary import ServeSettings
from ..venue.served.server import Served
from ..venue.served.venue_routes import open_routes
from .class_rules import JOIN_PATH
from .lesson import Lesson
from .roster import Roster, Student

BOARD_PATH, BOARD_DATA_PATH, TEACHER_PATH = "/class", "/class/board.json", "/class/teacher"
ABOUT_PATH = "/class/about.json"
_FILES = resources.files("toolkit.classroom")


def open_class_routes(venue: LocalVenue, lesson: Lesson) -> None:
    """Make the venue's gateway answer the pages of a class, and the join link of each student.

    Parameters
    ----------
    venue : LocalVenue
        Venue of the teacher.
    lesson : Lesson
        The class.
    """
    routes = venue.host.gateway.routes
    routes[BOARD_PATH] = taking("GET", lambda incoming: _page("board"))
    routes[TEACHER_PATH] = taking("GET", lambda incoming: _page("teacher"))
    routes[BOARD_DATA_PATH] = taking("GET", lambda incoming: enveloped(200, 0, "success", board(venue, lesson)))
    routes[ABOUT_PATH] = taking("GET", lambda incoming: enveloped(200, 0, "success", about(lesson)))
    lesson.rules[0].answer_join = partial(_joined, lesson)


def board(venue: LocalVenue, lesson: Lesson) -> dict[str, object]:
    """Return what the page of the class shows: the venue's time, the leaderboard, the news.

    Parameters
    ----------
    venue : LocalVenue
        Venue of the teacher.
    lesson : Lesson
        The class.
    """
    return {"time": venue.host.now_ms(), "rows": lesson.leaderboard(), "news": lesson.news[-10:]}


def about(lesson: Lesson) -> dict[str, object]:
    """Return what everyone may know of a class: the hash of its seed, when it ends, and from then on the seed.

    Parameters
    ----------
    lesson : Lesson
        The class.
    """
    known = lesson.about()
    return known if lesson.ended else {name: value for name, value in known.items() if name != "seed"}


def _joined(lesson: Lesson, student: Student, incoming: Incoming) -> Answer:
    """Return the answer to a join link: a page for a browser, the keys for `toolkit.join`."""
    if incoming.method == "GET":
        return _page("join", name=student.name)
    if incoming.method != "POST":
        return http_error(405, f"a join link takes GET and POST, not {incoming.method[:20]}")
    # Only POST counts: a browser that opens the link has not joined yet.
    lesson.joined(student, dict(incoming.pairs).get("machine", "")[:40])
    given = {
        "name": student.name,
        "address": student.address,
        "agent_key": f"0x{student.agent.key.hex()}",
        "port": lesson.ports.get(student.number),
    }
    if not student.renewed:  # the key of a link that was replaced is in other hands
        given["master_key"] = f"0x{student.master.key.hex()}"
    answered = enveloped(200, 0, "success", given)
    return answered._replace(headers={**answered.headers, "cache-control": "no-store"})


def _page(page: str, **values: str) -> Answer:
    """Return a page of this room, with its one script allowed by hash and nothing else."""
    text = "".join(_FILES.joinpath("pages", f"{name}.html").read_text(encoding="utf-8") for name in ("head", page))
    for key, value in values.items():
        text = text.replace("{{" + key + "}}", html.escape(value))
    script = text.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    headers = {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": policy,
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
    }
    return Answer(200, text.encode(), headers)


@contextmanager
def serving(
    lesson: Lesson,
    port: int,
    *,
    host: str = "127.0.0.1",
    allow_remote: bool = False,
    settings: ServeSettings,
    graded: bool = False,
) -> Iterator[Served]:
    """Serve a class while a `with` block runs.

    Separate venues get a port each, chosen by the system. The block gets the addresses of the teacher's venue, where
    the pages are and the students join.

    Parameters
    ----------
    lesson : Lesson
        The class.
    port : int
        TCP port of the teacher's venue. 0 takes a free one.
    host : str, optional
        Address to listen at (default: "127.0.0.1").
    allow_remote : bool, optional
        True allows a host other than loopback (default: `False`).
    settings : ServeSettings
        Limits and permissions of clients.
    graded : bool, optional
        True opens no control but `advance`, because a student has the token (default: `False`).
    """
    count = len(lesson.roster.students)  # a class is often behind one address
    if settings.connections_per_ip is None:
        settings = replace(settings, connections_per_ip=64 + 6 * count)
    if settings.claims_per_ip is None:
        settings = replace(settings, claims_per_ip=max(CLAIMS, 2 * count))
    settings = replace(settings, seat_of=lesson.seat_of)
    first, *others = lesson.all_venues()
    functions: dict[str, Callable[..., Any]] = {name: getattr(lesson, name) for name in Lesson.TEACHER}
    with ExitStack() as stack:
        served = stack.enter_context(first.serve(port, host=host, allow_remote=allow_remote, settings=settings))
        open_routes(first, functions, only=("advance",) if graded else None)
        open_class_routes(first, lesson)
        if others:
            ports = {id(first): served.port}
            for venue in others:
                place = stack.enter_context(venue.serve(0, host=host, allow_remote=allow_remote, settings=settings))
                ports[id(venue)] = place.port
            lesson.ports = {number: ports[id(venue)] for number, venue in lesson.venues.items()}
        yield served


@contextmanager
def graded_class(seed: int | str) -> Iterator[tuple[str, str]]:
    """Serve a class of one student, and give its link, and the token with which its time can only advance.

    It is for a process whose memory the student can't read: the seed tells the prices to come.

    Parameters
    ----------
    seed : int or str
        Seed of the market.
    """
    settings = ServeSettings()
    made = Lesson.create(Roster.create(["student"]), seed=seed)
    with closing(made) as lesson, serving(lesson, 0, settings=settings, graded=True) as served:
        yield f"{served.base_url}{JOIN_PATH}{lesson.roster.students[0].code}", settings.control_token
