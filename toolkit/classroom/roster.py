"""The students of a class: names, join codes, and keys that were made for this class alone."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..stored.seals import FileKind, sealed
from ..venue import development
from ..venue.served.private_files import write_private

FORMAT = 1
"""Number of the format of a class's file."""
_KIND = FileKind("class", FORMAT, "restore it from a copy: the students' keys follow from it")
SCHEMA = "5e02abf950f69a84"
"""Hash of what is in it. tests/test_persisted_formats.py says what to do on a change."""
MOST = 200
"""Largest class."""


@dataclass(frozen=True, slots=True)
class Student:
    """One student.

    Attributes
    ----------
    number : int
        Number in the class, from 0.
    name : str
        Name, which differs from all others.
    code : str
        Secret part of the join link.
    master : development.DevelopmentAccount
        Wallet of the account.
    agent : development.DevelopmentAccount
        Wallet that trades for it.
    """

    number: int
    name: str
    code: str = field(repr=False)
    master: development.DevelopmentAccount
    agent: development.DevelopmentAccount
    renewed: bool = False
    """True after the first link was replaced. The master's key is then revoked, and not given out."""

    @property
    def address(self) -> str:
        """Address of the account."""
        return self.master.address


class Roster:
    """The students of one class.

    Parameters
    ----------
    names : sequence of str
        Names of the students, in order.
    codes : sequence of str
        Secret part of each student's join link.
    words : str
        Mnemonic that all keys follow from. It is secret, and never shown.
    """

    def __init__(self, names: Sequence[str], codes: Sequence[str], words: str) -> None:
        self.words = words
        self.students: tuple[Student, ...] = tuple(
            Student(number, name, code, development.master(number, words), development.agent(number, words))
            for number, (name, code) in enumerate(zip(names, codes, strict=True))
        )
        self.revoked: set[str] = set()
        """Signers of links that were replaced, in lower case."""
        self._index()

    def _index(self) -> None:
        self.by_code = {student.code: student for student in self.students}
        self.seats = {seat_of(student.code): student.name for student in self.students}
        self.by_address = {student.address.lower(): student for student in self.students}

    def renew(self, number: int, code: str, count: int) -> Student:
        """Give a student another link, with another agent, and revoke the keys that the links before gave out.

        Parameters
        ----------
        number : int
            Number of the student.
        code : str
            Secret part of the new link.
        count : int
            How many links of this student were replaced.
        """
        before = self.students[number]
        self.revoked |= {before.master.address.lower(), before.agent.address.lower()}
        agent = development.agent(number + MOST * count, self.words)
        after = replace(before, code=code, agent=agent, renewed=True)
        self.students = (*self.students[:number], after, *self.students[number + 1 :])
        self._index()
        return after

    @classmethod
    def create(cls, names: Sequence[str]) -> Roster:
        """Make keys and join codes for a new class.

        Parameters
        ----------
        names : sequence of str
            Names of the students, 1 to 200, each of 1 to 40 printable characters.

        Raises
        ------
        InputError
            For invalid or repeated names.
        """
        if not 1 <= len(names) <= MOST:
            raise InputError(f"a class has 1 to {MOST} students, not {len(names)}", field="students", value=len(names))
        for name in names:
            if not 1 <= len(name) <= 40 or not name.isprintable() or name != name.strip():
                raise InputError(f"name {name!r} must have 1 to 40 printable characters", field="names")
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise InputError(f"names must differ. {sorted(repeated)[0]!r} is there twice", field="names")
        codes = [secrets.token_urlsafe(16) for _ in names]
        return cls(names, codes, development.new_mnemonic())

    @classmethod
    def load(cls, path: Path) -> Roster:
        """Read the roster of a class that ran before.

        Parameters
        ----------
        path : Path
            File of the class.

        Raises
        ------
        InputError
            If the file can't be read.
        StoredFileError
            If it is no file of a class, or was edited.
        """
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path} can't be read: {error.strerror}", field="class", value=str(path)) from None
        _KIND.check(path, raw)
        stored = json.loads(raw)
        names, codes = ([str(row[name]) for row in stored["students"]] for name in ("name", "code"))
        return cls(names, codes, development.check_mnemonic(stored["mnemonic"]))

    def save(self, path: Path) -> None:
        """Write the roster to a file that only its owner can read.

        Parameters
        ----------
        path : Path
            File of the class.
        """
        text = json.dumps({**self.stored(), "header": json.loads(_KIND.header())}, separators=(",", ":"))
        write_private(path, sealed(text.encode()).decode())

    def stored(self) -> dict[str, Any]:
        """Return what the file of the class holds, secrets included."""
        students = [{"name": each.name, "code": each.code} for each in self.students]
        return {"mnemonic": self.words, "students": students}

    def named(self, name: str) -> Student:
        """Return a student by name or number.

        Parameters
        ----------
        name : str
            Name or number of the student.

        Raises
        ------
        InputError
            If there is none. The error lists the names.
        """
        for student in self.students:
            if name in (student.name, student.number, str(student.number)):
                return student
        known = ", ".join(student.name for student in self.students[:40])
        raise InputError(f"there is no student {name!r}. There are {known}", field="student", value=name)


def names_of(count: int, path: Path | None = None) -> list[str]:
    """Return the names in a file, one per line, or `student-1` … without one.

    Raises InputError for a file that has fewer than `count` (0: as many as it has).

    Parameters
    ----------
    count : int
        Number of names. 0 returns as many as the file has.
    path : Path or None, optional
        File of the names (default: none).

    Raises
    ------
    InputError
        If the file can't be read, or has fewer.
    """
    if path is None:
        return [f"student-{number + 1}" for number in range(count)]
    try:
        names = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"names file {path} can't be read: {error}", field="names", value=str(path)) from None
    if len(names) < count:
        raise InputError(f"names file {path} has {len(names)} names for {count} students", field="names")
    return names[:count] if count else names


def seat_of(code: str) -> str:
    """Return what a student's requests name their seat by. It gives no key, as the code of the link does.

    Parameters
    ----------
    code : str
        Secret part of the join link.
    """
    return hashlib.sha256(f"seat {code}".encode()).hexdigest()[:16]
