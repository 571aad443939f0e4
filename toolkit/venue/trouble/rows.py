"""Troubles of a venue that lies: rows of another account, repeated or missing rows, and a wrong total."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated, Any

import msgspec

from ..api.gateway import Answer, Incoming
from .fields import address, count, refuse
from .phases import QueryPhase, Running

Row = Any
"""A row of an answer as JSON."""

OWNERS = ("userAddr", "userAddress")
"""Parameters of queries that name the account."""


@dataclass(frozen=True, kw_only=True)
class OtherAccount(QueryPhase):
    """Queries about an account are answered with another account's data, as from a wrong cache.

    Parameters
    ----------
    address : str
        The other account, 0x and 40 hex digits.

    Examples
    --------
    >>> OtherAccount(path="/info/position/list", address="0x" + "ab" * 20).path
    '/info/position/list'
    """

    address: Annotated[str, address] = ""

    def before(self, running: Running, incoming: Incoming) -> None:
        """Ask for the other account.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        incoming : Incoming
            The request.
        """
        asked = [value.lower() for name, value in incoming.pairs if name in OWNERS]
        if self.matches(incoming) and asked and asked != [self.address.lower()] and running.happens():
            pairs = incoming.pairs
            incoming.query = [(name, self.address if name in OWNERS else value) for name, value in pairs]


@dataclass(frozen=True, kw_only=True)
class RowPhase(QueryPhase):
    """A trouble of the rows of lists."""

    def changed(self, answer: Answer, change: Callable[[dict[str, Any], list[Row]], bool]) -> Answer:
        """Return an answer whose list was changed, if it has one.

        Parameters
        ----------
        answer : Answer
            Answer of the venue.
        change : callable
            Changes the page (with `total`, {} for a bare list) and its rows. Returns whether it changed anything.
        """
        if answer.status != 200 or answer.broken or not answer.body:
            return answer
        envelope = msgspec.json.decode(answer.body)
        data = envelope["data"]
        page, rows = (data, data.get("items")) if isinstance(data, dict) else ({}, data)
        if not isinstance(rows, list) or not change(page, rows):
            return answer
        return answer._replace(body=msgspec.json.encode(envelope))

    def chosen_row(self, running: Running, row: Row) -> bool:
        """Return whether a row is of the share: the same row each time it is shown, so that asking again does not help.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        row : object
            Row as JSON.
        """
        digest = blake2b(msgspec.json.encode(row, order="sorted"), key=running.key, digest_size=8).digest()
        return int.from_bytes(digest, "big") < self.share * 2**64


@dataclass(frozen=True, kw_only=True)
class RepeatedRows(RowPhase):
    """Rows of a list come twice. The total is the venue's own. The same rows are repeated in each answer.

    Examples
    --------
    >>> print(RepeatedRows(path="/info/trade/page", share=0.3))
    RepeatedRows share=0.3 path=/info/trade/page
    """

    def after(self, running: Running, incoming: Incoming, answer: Answer) -> Answer:
        """Return the answer with rows twice.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        incoming : Incoming
            The request.
        answer : Answer
            Answer of the venue.
        """

        def change(page: dict[str, Any], rows: list[Row]) -> bool:
            twice = [self.chosen_row(running, row) for row in rows]
            running.count += sum(twice)
            rows[:] = [copy for row, chosen in zip(rows, twice, strict=True) for copy in [row] * (1 + chosen)]
            return any(twice)

        return self.changed(answer, change) if self.matches(incoming) else answer


@dataclass(frozen=True, kw_only=True)
class MissingRows(RowPhase):
    """Rows of a list are missing. The total is the venue's own. The same rows are missing in each answer.

    Examples
    --------
    >>> print(MissingRows(path="/info/order/states", share=0.3))
    MissingRows share=0.3 path=/info/order/states
    """

    def after(self, running: Running, incoming: Incoming, answer: Answer) -> Answer:
        """Return the answer without some rows.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        incoming : Incoming
            The request.
        answer : Answer
            Answer of the venue.
        """

        def change(page: dict[str, Any], rows: list[Row]) -> bool:
            kept = [row for row in rows if not self.chosen_row(running, row)]
            missing = len(rows) - len(kept)
            running.count += missing
            rows[:] = kept
            return missing > 0

        return self.changed(answer, change) if self.matches(incoming) else answer


@dataclass(frozen=True, kw_only=True)
class WrongTotal(RowPhase):
    """The total of a page is wrong, and its rows are right.

    Parameters
    ----------
    by : int, optional
        Number added to the total, which is never below 0 (default: 1).

    Examples
    --------
    >>> print(WrongTotal(path="/info/trade/page", by=-1))
    WrongTotal path=/info/trade/page by=-1
    """

    by: Annotated[int, count(-1_000_000, 1_000_000)] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.by:
            raise refuse(self.by, "by", "not 0", "a whole number other than 0, such as 1 or -1", "1", "-1")

    def after(self, running: Running, incoming: Incoming, answer: Answer) -> Answer:
        """Return the page with another total.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        incoming : Incoming
            The request.
        answer : Answer
            Answer of the venue.
        """

        def change(page: dict[str, Any], rows: list[Row]) -> bool:
            if "total" not in page or not running.happens():
                return False
            page["total"] = max(0, page["total"] + self.by)
            return True

        return self.changed(answer, change) if self.matches(incoming) else answer
