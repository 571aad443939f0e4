"""When a journal keeps a dump, how much it writes at a time, what it checks first, and how commands are replayed."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from toolkit.errors import InputError, StoredFileError, VenueError
from toolkit.venue.engine.commands import Advance, Command, Control
from toolkit.venue.lab import journal_file
from toolkit.venue.lab.journal import Journal, open_or_create, plain
from toolkit.venue.model.genesis import Genesis

GENESIS = Genesis(settings={"market": False})


def commands(count: int) -> list[Command]:
    return [Control(GENESIS.time, "resume", {"product": 1}) for _ in range(count)]


def test_entries_are_numbered_and_read_again_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "j"
    first = commands(2)
    with contextlib.closing(Journal.create(path, GENESIS, first, sync="os")) as journal:
        assert (journal.count, journal.genesis, repr(journal)) == (2, GENESIS, "<Journal j: 2 entries>")
        journal.append([Advance(GENESIS.time + 5)])
    with pytest.raises(VenueError, match=r"exists\. Open it, or choose another file"):
        Journal.create(path, GENESIS)
    with contextlib.closing(open_or_create(path, Genesis(seed=99), sync="os")) as journal:
        assert (journal.count, journal.genesis, journal.behind) == (3, GENESIS, 0)
        core = journal.replay()
        assert core.state.time == GENESIS.time + 5
    with contextlib.closing(sqlite3.connect(path)) as base:
        rows = base.execute("SELECT n, kind FROM entries ORDER BY n").fetchall()
        assert rows == [(0, "genesis"), (1, "command"), (2, "command"), (3, "command")]
        base.execute("UPDATE entries SET body = x'00' WHERE n = 3")
        base.commit()
    with pytest.raises(StoredFileError, match="2 entries from its beginning are intact"):
        open_or_create(path, GENESIS, sync="os")
    with contextlib.closing(open_or_create(path, GENESIS, sync="os", recovering=True)) as journal:
        assert journal.count == 2
    assert path.with_name("j.damaged").exists()
    assert journal_file.recover(path) == 2
    assert path.with_name("j.damaged1").exists()


@pytest.mark.parametrize(
    ("applied", "first"), [(20_000, 0), (20_001, 20_001), (None, 0), ("20001", 0), ("nothing", 0)], ids=str
)
def test_only_what_follows_a_late_dump_is_checked_first(applied: Any, first: int) -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE dumps (id INTEGER PRIMARY KEY, applied)")
        if applied != "nothing":
            base.execute("INSERT INTO dumps (applied) VALUES (50000), (?)", (applied,))
        assert journal_file.first_to_check(base) == first


def test_a_controls_arguments_are_those_that_are_read_back() -> None:
    given = {"a": (1, 2), "b": {1: Decimal("0.5")}, "c": None, "d": [True, "x"]}
    assert plain(given) == {"a": [1, 2], "b": {"1": "0.5"}, "c": None, "d": [True, "x"]}
    deep: list[Any] = []
    deep.append(deep)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000)  # some packages raise it, and the stack of C ends before it is reached
    try:
        for wrong in ({"a": object()}, {"a": 1 << 70}, {"a": deep}):
            with pytest.raises(InputError, match="a control takes numbers, texts, lists and dictionaries"):
                plain(wrong)
    finally:
        sys.setrecursionlimit(before)


def test_what_an_interrupted_creation_has_left_is_no_part_of_a_new_file(tmp_path: Path) -> None:
    for name in ("j.new", "j.new-journal", "j-journal"):
        (tmp_path / name).write_bytes(b"left by a crash")
    with contextlib.closing(Journal.create(tmp_path / "j", GENESIS, sync="os")) as journal:
        assert journal.count == 0
    assert {one.name for one in tmp_path.iterdir() if one.stat().st_size} == {"j"}
