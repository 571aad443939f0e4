"""A long journal opens from its last dump: old records stay in the file, and old entries are checked afterwards."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.venue.lab.test_journal import crash, made, withdrawal
from tests.venue.wallets import MASTER, Signer
from toolkit.errors import StoredFileError, VenueError
from toolkit.venue.lab import journal as journals
from toolkit.venue.lab import journal_file
from toolkit.venue.local import LocalVenue
from toolkit.venue.model import history
from toolkit.venue.model.history import Records


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few records be many."""
    for module in (history, journals):
        monkeypatch.setattr(module, "CHUNK", 4)
    monkeypatch.setattr(journals, "DUMP_COMMANDS", 10)
    monkeypatch.setattr(journals, "STEP", 7)
    monkeypatch.setattr(journals, "REST_SECONDS", 0.0)
    monkeypatch.setattr(journal_file, "BEHIND", 20)


def busy(path: Path, count: int, nonce: int = 1_000_000) -> LocalVenue:
    """Return a venue with so many withdrawals in its journal."""
    venue, signer = made(path), Signer(MASTER)
    signer.nonce = nonce
    for _ in range(count):
        assert signer.do(venue, withdrawal("2.5"))["code"] == 0
    return venue


def checked(venue: LocalVenue) -> LocalVenue:
    """Return the venue once all entries are checked."""
    assert venue.host.journal is not None
    while venue.host.journal.behind and venue.host.journal._damage is None:
        with contextlib.suppress(AssertionError):
            venue.host.journal.check_behind(venue.host.lock)
    return venue


def test_old_records_lie_in_the_file_and_are_the_same(tmp_path: Path) -> None:
    venue = busy(tmp_path / "j", 60)
    records = venue.host.core.state.history.transactions.records
    assert isinstance(records, Records)
    assert len(records.parts[0]) >= 6
    assert len(records.parts[1]) < 60
    assert (
        [one.number for one in records] == [one.number for one in records[:]] == sorted({one.number for one in records})
    )
    assert [records[at] for at in (-1, -60, 59)] == [records[59], records[0], records[-1]]
    for wrong in (60, -61, 10**9):
        with pytest.raises(IndexError):
            records[wrong]
    before, rows = venue.control.state_hash(), page(venue)
    crash(venue)
    with made(tmp_path / "j") as again:
        kept = again.host.core.state.history.transactions.records
        assert isinstance(kept, Records)
        assert kept.parts[0]
        assert (again.control.state_hash(), page(again)) == (before, rows)
        again.host.core.check()
    assert page(again) == rows  # queries work after the end, too


def page(venue: LocalVenue) -> list[object]:
    """Return all transactions of the master, as they are asked for, without the digests of this process."""
    query = f"user={MASTER.address}&pageSize=500"
    answer = venue.host.gateway.handle("GET", "/info/explore/transaction/page", query)
    return [{**row, "digest": ""} for row in json.loads(answer.body)["data"]["items"]]


def test_a_snapshot_and_a_dump_are_whole(tmp_path: Path) -> None:
    with busy(tmp_path / "j", 40) as venue:
        before, number = venue.control.state_hash(), venue.snapshot()
        venue.dump(tmp_path / "dump")
        venue.advance("1h")
        venue.revert(number)
        assert venue.control.state_hash() == before
    with LocalVenue(clock="manual", market=None) as other:
        other.load(tmp_path / "dump")
        assert other.control.state_hash() == before


@pytest.fixture
def quiet() -> Iterator[None]:
    """Let warnings of the checking thread pass."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


@pytest.mark.parametrize("change", ["body = x'00' WHERE n = 3", "chain = x'00' WHERE n = 9", "kind = 'x' WHERE n = 20"])
def test_damage_behind_the_dump_ends_all_writing_once_it_is_found(tmp_path: Path, change: str, quiet: None) -> None:
    path = tmp_path / "j"
    crash(busy(path, 60))
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute(f"UPDATE entries SET {change}")
        base.commit()
    with checked(made(path)) as venue:
        assert page(venue)  # what it read was intact
        signer = Signer(MASTER)
        signer.nonce = 9_000_000
        answer = signer.do(venue, withdrawal("2"))
        assert answer["code"] == 503
        assert "was altered" in answer["message"]
        assert "nothing was done" in answer["message"]


def test_without_its_dump_a_long_journal_is_checked_whole_and_replayed(tmp_path: Path, quiet: None) -> None:
    before = crash(busy(tmp_path / "j", 60))
    with contextlib.closing(sqlite3.connect(tmp_path / "j")) as base:
        base.execute("UPDATE slices SET body = x'00'")
        base.commit()
    with made(tmp_path / "j") as venue:
        assert venue.host.journal is not None
        assert venue.host.journal.behind == 0
        assert venue.control.state_hash() == before
    with contextlib.closing(sqlite3.connect(tmp_path / "j")) as base:
        base.execute("UPDATE slices SET body = x'00'")
        base.execute("UPDATE entries SET body = x'00' WHERE n = 5")
        base.commit()
    with pytest.raises(StoredFileError, match="entry 5 was altered"):
        made(tmp_path / "j")


def test_an_altered_chunk_is_refused_where_it_is_read(tmp_path: Path) -> None:
    crash(busy(tmp_path / "j", 60))
    with contextlib.closing(sqlite3.connect(tmp_path / "j")) as base:
        base.execute("UPDATE chunks SET body = x'90'")
        base.commit()
    with made(tmp_path / "j") as venue:
        with pytest.raises(VenueError, match="were altered"):
            venue.control.state_hash()
        assert venue.host.core.state.accounts[MASTER.address.lower()].balance > 0
