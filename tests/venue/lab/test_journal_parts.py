"""When a journal keeps a dump, how much it writes at a time, what it checks first, and how commands are replayed."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from toolkit.errors import InputError, StoredFileError, VenueError
from toolkit.venue.engine import dump_format
from toolkit.venue.engine.commands import Advance, Command, Control
from toolkit.venue.engine.core import Core
from toolkit.venue.lab import journal as journals
from toolkit.venue.lab import journal_file
from toolkit.venue.lab.journal import Journal, apply, open_or_create, plain
from toolkit.venue.model import history
from toolkit.venue.model.genesis import Genesis

GENESIS = Genesis(settings={"market": False})
HOUR = 3_600_000


@pytest.fixture
def journal(tmp_path: Path) -> Any:
    made = Journal.create(tmp_path / "j", GENESIS, sync="os")
    yield made
    made.close()


def commands(count: int) -> list[Command]:
    return [Control(GENESIS.time, "resume", {"product": 1}) for _ in range(count)]


@pytest.mark.parametrize(
    ("entries", "passed_ms", "due"),
    [(9_999, 6 * HOUR - 1, False), (10_000, 0, True), (0, 6 * HOUR, True), (10_000, 6 * HOUR, True)],
)
def test_a_dump_is_begun_after_10_000_commands_or_six_hours_of_the_venues_time(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, entries: int, passed_ms: int, due: bool
) -> None:
    core, begun = Core(GENESIS), list[Core]()
    monkeypatch.setattr(Journal, "_begin_dump", lambda _, core: begun.append(core))
    journal._dump_number, journal.count = 5, 5 + entries
    core.state.time = journal._dump_time + passed_ms
    journal.keep_dump(core)
    assert begun == [core] * due
    journal._dumping = iter(())
    journal.keep_dump(core)
    assert begun == [core] * due, "one is being written"


@pytest.mark.parametrize(("count", "slices"), [(1, 1), (7, 1), (8, 2), (16, 3)])
def test_a_group_of_commands_writes_as_many_slices_of_a_dump_as_its_commands_alone_would(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, count: int, slices: int
) -> None:
    steps: list[Journal] = []
    monkeypatch.setattr(Journal, "_step", lambda self: steps.append(self))
    journal.append(commands(count))
    assert (len(steps), journal.count) == (slices, count)
    journal.append([])
    assert journal.count == count
    monkeypatch.undo()
    assert journal._step() is False, "there is no dump to write"


def test_nothing_is_written_after_damage_was_found(journal: Journal) -> None:
    journal._damage = StoredFileError("entry 5 was altered")
    with pytest.raises(VenueError, match="nothing was done: entry 5 was altered"):
        journal.append(commands(1))
    assert journal.count == 0


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


@pytest.mark.parametrize("passed_ms", [0, 1, 60_000, 60_001, 150_000])
def test_the_time_before_a_command_passes_in_steps_of_a_minute_at_most(passed_ms: int) -> None:
    """A command that raised when it was first applied raises again, which changes nothing."""
    seen: list[Command] = []

    def applied(command: Command) -> None:
        seen.append(command)
        core.state.time = command.time
        core.events.append("something")
        if not isinstance(command, Advance):
            raise ValueError("again")

    core: Any = SimpleNamespace(state=SimpleNamespace(time=1_000), events=[], apply=applied)
    command = Control(1_000 + passed_ms, "resume", {})
    apply(core, command)
    steps = [*range(60_000, passed_ms, 60_000), *([passed_ms] if passed_ms else [])]
    assert seen == [*(Advance(1_000 + step) for step in steps), command]
    assert core.events == []


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


def test_the_checking_of_early_entries_goes_in_steps_and_names_a_missing_one(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.append(commands(7))
    monkeypatch.setattr(journals, "STEP", 3)
    rests: list[float] = []
    monkeypatch.setattr(journals, "sleep", rests.append)
    journal.behind = 7
    journal.check_behind(contextlib.nullcontext(), 0.5)
    assert (journal.behind, rests, journal._damage) == (0, [0.5] * 3, None)
    journal._db.execute("DELETE FROM entries WHERE n >= 6")
    journal.behind = 7
    with pytest.warns(RuntimeWarning, match=r"entry 6 is missing.* No command is taken any more\."):
        journal.check_behind(contextlib.nullcontext())
    with pytest.raises(VenueError, match=r"nothing was done: .*entry 6 is missing"):
        journal.append(commands(1))


def test_what_an_interrupted_creation_has_left_is_no_part_of_a_new_file(tmp_path: Path) -> None:
    for name in ("j.new", "j.new-journal", "j-journal"):
        (tmp_path / name).write_bytes(b"left by a crash")
    with contextlib.closing(Journal.create(tmp_path / "j", GENESIS, sync="os")) as journal:
        assert journal.count == 0
    assert {one.name for one in tmp_path.iterdir() if one.stat().st_size} == {"j"}


@dataclass
class Filled:
    """A file with commands, three dumps and a state, and what its format says about it."""

    path: Path
    core: Core
    bodies: list[tuple[str, bytes]]
    dumps: list[tuple[int, int, int, bytes, int]]
    """(id, entry after which it was complete, time, hash, entries that were applied)"""
    slices: list[bytes]
    """Those of the last dump."""

    def rows(self, count: int, dumps: bool) -> tuple[list[tuple[int, str, bytes, bytes]], bytes]:
        """Return the first entries, and the chain after them, with the dumps that follow the last one or without."""
        rows, chain = list[tuple[int, str, bytes, bytes]](), b"venue journal %d" % journal_file.FORMAT
        for number, (kind, body) in enumerate(self.bodies[:count]):
            chain = hashlib.sha256(chain + kind.encode() + b":" + body).digest()
            rows.append((number, kind, body, chain))
            for digest in [one[3] for one in self.dumps if one[1] == number and (dumps or number < count - 1)]:
                chain = hashlib.sha256(chain + b"dump:" + digest).digest()
        return rows, chain


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Filled:
    """Each command brings one step. A dump takes one for each slice of an earlier dump, one for each slice of its own,
    and a last one, which writes that it is complete."""
    monkeypatch.setattr(journals, "DUMP_COMMANDS", 4)
    monkeypatch.setattr(dump_format, "RECORDS", 3)
    path, core, begun = tmp_path / "j", Core(GENESIS), list[tuple[int, int, list[bytes]]]()
    journal = Journal.create(path, GENESIS, sync="os")
    begin = Journal._begin_dump

    def begin_dump(self: Journal, core: Core) -> None:
        begun.append((self.count, core.state.time, list(core.slices(whole=False))))
        begin(self, core)

    monkeypatch.setattr(Journal, "_begin_dump", begin_dump)
    bodies = [("genesis", journal_file.encode(GENESIS))]
    while len(begun) < 4:
        account = f"0x{journal.count:040x}"
        command = Control(core.state.time + 1_000, "fund", {"address": account, "amount": "5"})
        journal.append([command])
        bodies.append(("command", journal_file.encode(command)))
        apply(core, command)
        journal.keep_dump(core)
    state = core.dump()
    journal.append_state(state)
    bodies.append(("state", state))
    with (
        contextlib.closing(sqlite3.connect(path, timeout=0)) as other,
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        other.execute("SELECT * FROM head")
    journal.close()
    dumps: list[tuple[int, int, int, bytes, int]] = []
    for number, (applied, time, parts) in enumerate(begun[:3], 1):
        digest = hashlib.sha256(b"%d:%d:" % (dump_format.FORMAT, applied) + b"".join(parts)).digest()
        last = applied + (len(begun[number - 3][2]) if number > 2 else 0) + len(parts) + 1
        dumps.append((number, last, time, digest, applied))
        assert number == 1 or applied == max(dumps[-2][1], dumps[-2][4] + 4), "as soon as one is due and none is open"
    return Filled(path, core, bodies, dumps, begun[2][2])


def test_a_file_is_one_chain_of_its_entries_and_dumps_with_the_slices_of_the_latest(filled: Filled) -> None:
    rows, chain = filled.rows(len(filled.bodies), dumps=True)
    assert len(filled.slices) > 2
    with contextlib.closing(sqlite3.connect(filled.path)) as base:
        assert base.execute("SELECT * FROM entries ORDER BY n").fetchall() == rows
        assert base.execute("SELECT * FROM head").fetchall() == [(1, len(rows) - 1, chain)]
        assert base.execute("SELECT * FROM dumps ORDER BY id").fetchall() == filled.dumps
        kept = base.execute("SELECT dump, body FROM slices WHERE dump = 3 ORDER BY id").fetchall()
        assert kept == [(3, part) for part in filled.slices]
        assert base.execute("SELECT DISTINCT dump FROM slices ORDER BY dump").fetchall() == [(2,), (3,)]
    with contextlib.closing(Journal.open(filled.path, sync="os")) as again:
        last = again._dump_id, again._dump_number, again._dump_time
        assert (again.count, *last) == (len(rows) - 1, *filled.dumps[-1][:3])
        assert again.replay().state_hash() == filled.core.state_hash()


@pytest.mark.parametrize("where", ["behind a dump", "one later", "last entry"])
def test_a_recovered_file_has_the_intact_entries_and_the_dumps_between_them(filled: Filled, where: str) -> None:
    """A dump after the last intact entry is left out: only the head, which is not believed, says whether it is whole.
    The state is computed from the entries, because the slices are left out."""
    behind = filled.dumps[1][1] + 1
    damaged = {"behind a dump": behind, "one later": behind + 1, "last entry": len(filled.bodies) - 1}[where]
    with contextlib.closing(sqlite3.connect(filled.path)) as base, base:
        base.execute("UPDATE entries SET body = x'00' WHERE n = ?", (damaged,))
    assert journal_file.recover(filled.path) == damaged - 1
    rows, chain = filled.rows(damaged, dumps=False)
    kept = [one for one in filled.dumps if one[1] < damaged - 1]
    assert len(kept) == {"behind a dump": 1, "one later": 2, "last entry": 2}[where]
    with contextlib.closing(sqlite3.connect(filled.path)) as base:
        assert base.execute("SELECT * FROM entries ORDER BY n").fetchall() == rows
        assert base.execute("SELECT * FROM head").fetchall() == [(1, damaged - 1, chain)]
        found = base.execute("SELECT * FROM dumps ORDER BY id").fetchall()
        assert found == [(*one[:4], None) for one in kept]
        assert base.execute("SELECT * FROM slices").fetchall() == []
    core = Core(GENESIS)
    for _, body in filled.bodies[1:damaged]:
        apply(core, journal_file.decode_command(body))
    with contextlib.closing(Journal.open(filled.path, sync="os")) as again:
        assert (again.count, again.behind) == (damaged - 1, 0)
        assert again.replay().state_hash() == core.state_hash()


def test_a_chunk_of_old_records_is_written_once_a_list_holds_two(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One chunk at a time, of the first list that is long enough. The newer chunk stays in memory."""
    for module in (journals, history):
        monkeypatch.setattr(module, "CHUNK", 4)
    core, written = Core(GENESIS), 0

    def held() -> list[list[Any]]:
        lists = [holder[key] if isinstance(holder, dict) else getattr(holder, key)
                 for holder, key in core.state.history.lists()]  # fmt: skip
        return [list(one.parts[1] if isinstance(one, history.Records) else one) for one in lists]

    for number in range(40):
        apply(core, Control(core.state.time, "fund", {"address": f"0x{number:040x}", "amount": "5"}))
        before = held()
        at = next((at for at, records in enumerate(before) if len(records) >= 8), None)
        assert journal._spill(core) is (at is not None)
        if at is None:
            assert held() == before
            continue
        written += 1
        body = journal_file.encode(before[at][:4])
        assert journal.fetch(hashlib.sha256(body).digest()) == body
        before[at] = before[at][4:]
        assert held() == before
    assert written > 5
    [(count,)] = journal._db.execute("SELECT count(*) FROM chunks")
    assert count == written
