"""`toolkit.class_room(names)`: a class as an object, for a lesson, a test or a teacher's notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..numerals import moment
from ..session import Session, connect
from ..suggestions import no_attribute
from ..venue.clocks import MANUAL_START, RealClock
from ..venue.served.boundary import ServeSettings
from ..venue.served.server import Served
from .class_results import frame
from .class_routes import BOARD_PATH, TEACHER_PATH, serving
from .joining import join
from .lesson import JOIN_PATH, Lesson
from .roster import Roster

if TYPE_CHECKING:
    import pandas as pd


def class_room(
    names: Iterable[str] | Roster,
    *,
    balance: str = "10000",
    separate: bool = False,
    journal: str | None = None,
    opened: Sequence[str] = (),
    held: bool = False,
    start: int | str | datetime | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    allow_remote: bool = False,
    settings: ServeSettings | None = None,
    **venue: Any,
) -> Room:
    """Serve a class until its block or `close()` ends it: what `toolkit class` runs, for a teacher, a test, a lesson.

    names, balance: the students, each of whom gets new keys and so many USDC (default: 10,000).
    separate: True gives each a venue of their own, with the same seed (default: one market for all).
    journal: file that keeps the class through a restart (default: none).
    opened: programs that students may use: "faucet", "builders", "referrals", "vaults", "withdrawals", "transfers"
        (default: none).
    held, start: True stops the clock at `start` (default: 2026-01-01T00:00:00Z) until `room.go_on()`.
    host, port, allow_remote: address (default: loopback, and a free port). Other hosts need `allow_remote=True`.
    settings: limits of the requests of clients, as in `served.boundary.ServeSettings`.
    venue: arguments of `LocalVenue`, such as `seed`, `speed` and `market`.

    Raises InputError for invalid names, programs and places.
    """
    if held:
        clock = RealClock()
        clock.set_speed(0)
        clock.set(MANUAL_START if start is None else moment(start))
        venue["clock"] = clock
    roster = names if isinstance(names, Roster) else Roster.create(list(names))
    options = {"balance": balance, "separate": separate, "journal": journal, "opened": opened, "start": start, **venue}
    with ExitStack() as stack:
        lesson = stack.enter_context(closing(Lesson.create(roster, **options)))
        place = serving(lesson, port, host=host, allow_remote=allow_remote, settings=settings or ServeSettings())
        served = stack.enter_context(place)
        return Room(lesson, served, stack.pop_all())


class Room(AbstractContextManager["Room"]):
    """A class that is served, with the methods of the teacher: `freeze()`, `jump(…)`. Made by `class_room`.

    Attributes: `base_url`, `board_url` (the leaderboard's page), `teacher_url` and `control_token` (secret).
    """

    def __init__(self, lesson: Lesson, served: Served, stack: ExitStack) -> None:
        self.lesson, self._stack = lesson, stack
        self.base_url, self.control_token = served.base_url, served.control_token
        self.board_url = f"{self.base_url}{BOARD_PATH}"
        self.teacher_url = f"{self.base_url}{TEACHER_PATH}#token={self.control_token}"

    @property
    def links(self) -> dict[str, str]:
        """The link of each student by name. Each is as secret as a key."""
        return {each.name: f"{self.base_url}{JOIN_PATH}{each.code}" for each in self.lesson.roster.students}

    def join(self, student: str, **options: Any) -> Session:
        """Return the session of a `student` (name or number), with `**options` of `join`. It closes with the class."""
        link = self.links[self.lesson.roster.named(student).name]
        return self._stack.enter_context(join(link, **options))

    @cached_property
    def teacher(self) -> Session:
        """A session of the teacher, with `venue.control`. It closes with the class."""
        session = connect("local", base_url=self.base_url, control_token=self.control_token)
        return self._stack.enter_context(session)

    def who(self) -> pd.DataFrame:
        """Return the students: name, address, and when each joined and last signed something (UTC, NaT: never)."""
        import pandas as pd

        table = pd.DataFrame(self.lesson.who()).astype({"name": "string", "address": "string"})
        times = {name: pd.to_datetime(table[name], unit="ms", utc=True) for name in ("joined", "seen")}
        return table.assign(**times)

    def leaderboard(self) -> pd.DataFrame:
        """Return the leaderboard, best return first, columns as `class_results.COLUMNS`."""
        found: pd.DataFrame = frame(self.lesson.leaderboard())
        return found

    def close(self) -> None:
        """End the class, with the sessions that it opened."""
        self._stack.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name not in Lesson.TEACHER:
            raise no_attribute("room", name, dir(self))
        return getattr(self.lesson, name)

    def __dir__(self) -> list[str]:
        return sorted({*Lesson.TEACHER, *(name for name in object.__dir__(self) if not name.startswith("_"))})

    def __repr__(self) -> str:
        return f"<Room of {len(self.lesson.roster.students)} students at {self.base_url}>"
