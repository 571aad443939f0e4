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
from ..venue.served.boundary import ServeSettings, new_seed
from ..venue.served.server import Served
from .class_results import frame
from .class_routes import BOARD_PATH, TEACHER_PATH, serving
from .class_rules import JOIN_PATH
from .joining import join
from .lesson import Lesson, record_of
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
    least_trades: int = 1,
    start: int | str | datetime | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    allow_remote: bool = False,
    settings: ServeSettings | None = None,
    **venue: Any,
) -> Room:
    """Serve a class until its block or `close()` ends it: what `toolkit class` runs.

    Raises InputError for invalid names, programs and places.

    Parameters
    ----------
    names : iterable of str or Roster
        Names of the students, each of whom gets new keys, or a roster.
    balance : str, optional
        First balance of each student in USDC (default: "10000").
    separate : bool, optional
        True gives each student a separate venue, with the same seed (default: one market for all).
    journal : str or None, optional
        File that keeps the class through a restart (default: none).
    opened : sequence of str, optional
        Programs that students may use: "faucet", "builders", "referrals", "vaults", "withdrawals", "transfers"
        (default: none).
    held : bool, optional
        True stops the clock at `start` until `room.go_on()` (default: `False`).
    least_trades : int, optional
        Trades that a student needs for a rank on the leaderboard (default: 1).
    start : int, str, datetime or None, optional
        First time: Unix ms, ISO text or a datetime (default: now, with `held` 2026-01-01T00:00:00Z).
    host : str, optional
        Address to listen at (default: "127.0.0.1").
    port : int, optional
        TCP port (default: 0, a free one).
    allow_remote : bool, optional
        True allows a host other than loopback (default: `False`).
    settings : ServeSettings or None, optional
        Limits and permissions of clients, as in `served.boundary.ServeSettings` (default: the usual ones).
    **venue : object
        Arguments of `LocalVenue`, such as `speed` and `market`. The default of `seed` is a new secret one, because a
        student who knows it can compute the prices to come.

    Returns
    -------
    Room
        The class, with the methods of the teacher. A context manager that ends it.

    Raises
    ------
    InputError
        For invalid names, programs and places.
    """
    if held:
        clock = RealClock()
        clock.set_speed(0)
        clock.set(MANUAL_START if start is None else moment(start))
        venue["clock"] = clock
    venue["seed"] = new_seed() if venue.get("seed") is None else venue["seed"]
    roster = names if isinstance(names, Roster) else Roster.create(list(names))
    options = {"balance": balance, "separate": separate, "journal": journal, "opened": opened, "start": start, **venue}
    record = record_of(journal)
    settings = settings or ServeSettings(control_token=record.record.token)
    record.record.token = settings.control_token  # a class that was killed comes back with its token
    options |= {"least_trades": least_trades, "record": record}
    with ExitStack() as stack:
        lesson = stack.enter_context(closing(Lesson.create(roster, **options)))
        place = serving(lesson, port, host=host, allow_remote=allow_remote, settings=settings)
        served = stack.enter_context(place)
        return Room(lesson, served, stack.pop_all())


class Room(AbstractContextManager["Room"]):
    """A class that is served, with the methods of the teacher: `freeze()`, `jump(…)`.

    Made by `class_room`.

    Attributes: `base_url`, `board_url` (the leaderboard's page), `teacher_url` and `control_token` (secret).

    Parameters
    ----------
    lesson : Lesson
        The class.
    served : Served
        Addresses of the teacher's venue.
    stack : ExitStack
        What is closed with the class.

    Attributes
    ----------
    base_url : str
        HTTP address of the teacher's venue.
    board_url : str
        Page of the leaderboard.
    teacher_url : str
        Page of the teacher, with the token. It is secret.
    control_token : str
        Token of the controls. It is secret.
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

    def join(self, student: str, **options: object) -> Session:
        """Return the session of a student.

        It closes with the class.

        Parameters
        ----------
        student : str
            Name or number of the student.
        **options : object
            Options of `toolkit.join`.

        Returns
        -------
        Session
            Session of the student.

        Raises
        ------
        InputError
            If there is no such student.
        """
        link = self.links[self.lesson.roster.named(student).name]
        return self._stack.enter_context(join(link, **options))

    @cached_property
    def teacher(self) -> Session:
        """A session of the teacher, with `venue.control`. It closes with the class."""
        session = connect("local", base_url=self.base_url, control_token=self.control_token, plain_http=True)
        return self._stack.enter_context(session)

    def who(self) -> pd.DataFrame:
        """Return the students.

        Returns
        -------
        DataFrame
            One row for each student. `name`, `address` : string.
            `joined`, `seen` : datetime (UTC), when each joined and last signed something, NaT for never.
        """
        import pandas as pd

        table = pd.DataFrame(self.lesson.who()).astype({"name": "string", "address": "string"})
        times = {name: pd.to_datetime(table[name], unit="ms", utc=True) for name in ("joined", "seen")}
        return table.assign(**times)

    def leaderboard(self) -> pd.DataFrame:
        """Return the leaderboard, best return first.

        Returns
        -------
        DataFrame
            One row for each student. `rank` : Int64, missing without trades. `trades` : int64. `name` : string.
            `equity`, `fees`, `left_out`, `market`, `classmates` : float64, in USDC.
            `return`, `drawdown` : float64, ratios. The return is time-weighted.
        """
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
