"""What a complete read may take: requests, seconds and rows, counted so that only one that gains too little is ended.

A venue that always has one more page, repeats itself or answers ever more slowly would keep a read going for ever. A
long honest read must not be ended for its length: each row that it brings adds to what it may take.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import InputError

ROWS_PER_REQUEST = 5
"""So many announced rows allow one more request. The shortest pages seen at a venue have 20 rows."""
SECONDS_PER_ROW = 0.1
"""Each row allows so much more time. Pages of 20 rows at 500 ms a request take a quarter of it."""


@dataclass(frozen=True, slots=True)
class ReadBudget:
    """The most that one complete read may take: `connect(retry=Retry(reads=ReadBudget(rows=2_000_000)))`.

    Parameters
    ----------
    requests : int, default 500
        Requests, and one more for every five rows that the venue announced (`total`) and sent.
    seconds : float, default 120
        Seconds, and a tenth of a second more for each row.
    rows : int, default 500000
        Rows, announced or not.
    idle : int, default 10
        Requests in succession that bring no new row.

    Raises
    ------
    InputError
        For a field that is not above 0.

    Examples
    --------
    >>> ReadBudget()
    ReadBudget(requests=500, seconds=120.0, rows=500000, idle=10)
    """

    requests: int = 500
    seconds: float = 120.0
    rows: int = 500_000
    idle: int = 10

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not getattr(self, name) > 0:
                said = f"{name} {getattr(self, name)!r} of a ReadBudget is not above 0"
                raise InputError(said, field=name, rule="positive", value=getattr(self, name))


BUDGET = ReadBudget()


@dataclass(slots=True)
class Spent:
    """Time, requests and rows that one pass of a read has taken so far.

    Parameters
    ----------
    budget : ReadBudget
        Budget of the whole read.
    began_ms : int
        When it began, in ms on a clock that is never set.
    requests : int, optional
        Number of requests (default: 0).
    rows : int, optional
        Number of rows (default: 0).
    idle : int, optional
        Requests in succession that brought no new row (default: 0).
    """

    budget: ReadBudget
    began_ms: int
    requests: int = 0
    rows: int = 0
    idle: int = 0

    def add(self, gained: int) -> None:
        """Count a request.

        Parameters
        ----------
        gained : int
            Number of new rows that it brought.
        """
        self.requests += 1
        self.rows += gained
        self.idle = 0 if gained else self.idle + 1

    def why_over(self, now_ms: int, announced: int) -> str:
        """Return why the read may not continue, "" while it may.

        Parameters
        ----------
        now_ms : int
            The present in ms, on the clock of `began_ms`.
        announced : int
            How many of its rows the venue announced.
        """
        most = self.budget
        if self.idle >= most.idle:
            return f"the last {self.idle} requests brought nothing new"
        if self.rows >= most.rows:
            return f"{most.rows:,} rows are the most for one read"
        if self.requests >= most.requests + announced // ROWS_PER_REQUEST:
            return f"{self.requests:,} requests are the most for so many rows"
        seconds = (now_ms - self.began_ms) / 1000
        if seconds >= most.seconds + self.rows * SECONDS_PER_ROW:
            return f"{seconds:,.1f} seconds are the most for so many rows"
        return ""
