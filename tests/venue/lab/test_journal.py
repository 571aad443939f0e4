"""The journal: answered commands survive a crash, damage is named, and intact entries can be recovered."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import toolkit
from tests.venue.wallets import MASTER, OTHER, Signer
from toolkit.errors import InputError, StoredFileError, VenueError
from toolkit.venue.clocks import MANUAL_START, RealClock
from toolkit.venue.engine.dump_format import joined
from toolkit.venue.lab import journal as journals
from toolkit.venue.lab import journal_file
from toolkit.venue.lab.journal import Journal
from toolkit.venue.lab.journal_file import START, decode_command, recover
from toolkit.venue.local import LocalVenue

APPROVE = {
    "type": "approveAgent",
    "agentAddress": "0x" + "11" * 20,
    "agentName": "bot",
    "validitySeconds": 0,
    "dexChain": "Testnet",
}


def withdrawal(amount: str) -> dict[str, Any]:
    return {"type": "withdraw", "destination": OTHER.address, "amount": amount}


def made(path: Path, **options: Any) -> LocalVenue:
    settings: dict[str, Any] = {"clock": "manual", "accounts": 2, "market": False, "sync": "os"}
    return LocalVenue(journal=path, **{**settings, **options})


def crash(venue: LocalVenue) -> str:
    """Drop a venue as a kill would: no dump, no clean end. Return the hash of its state."""
    assert venue.host.journal is not None
    digest = venue.control.state_hash()
    venue.host.journal.close()
    venue.host.journal = None
    return digest


def busy(path: Path, commands: int = 12, **options: Any) -> str:
    """Make a journal with some commands in it, crash, and return the last state's hash."""
    venue = made(path, **options)
    signer = Signer(MASTER)
    assert signer.do(venue, APPROVE)["code"] == 0
    for number in range(commands):
        assert signer.do(venue, withdrawal(f"{number + 2}.5"))["code"] == 0
        venue.advance(f"{700 * number}ms")
    venue.control.set_oracle(product=1, price="61000.0")
    return crash(venue)


@pytest.mark.parametrize("sync", ["full", "os"])
def test_a_crash_loses_nothing(tmp_path: Path, sync: str) -> None:
    path = tmp_path / "venue.journal"
    before = busy(path, commands=4, sync=sync, market=True)
    with made(path, sync=sync) as venue:
        assert venue.control.state_hash() == before
        assert venue.host.now_ms() == venue.host.core.state.time
        assert repr(venue.host.journal) == "<Journal venue.journal: 12 entries>"


def test_a_journal_takes_precedence_over_the_arguments_about_the_beginning(tmp_path: Path) -> None:
    path = tmp_path / "j"
    before = busy(path, 1, seed=3)
    with made(path, seed=99, accounts=9, start="2030-01-01", settle_delay="1s") as venue:
        assert venue.host.core.state.seed == 3
        assert venue.control.state_hash() == before


def test_a_nonce_that_was_used_before_the_crash_stays_used(tmp_path: Path) -> None:
    venue, signer = made(tmp_path / "j"), Signer(MASTER)
    body = json.dumps(signer.request(withdrawal("10"))).encode()
    assert json.loads(venue.host.gateway.handle("POST", "/api/v1/exchange", "", body).body)["code"] == 0
    crash(venue)
    with made(tmp_path / "j") as again:
        assert json.loads(again.host.gateway.handle("POST", "/api/v1/exchange", "", body).body)["code"] == 40207


def test_reverting_and_loading_are_entries_too(tmp_path: Path) -> None:
    venue, signer = made(tmp_path / "j"), Signer(MASTER)
    number = venue.snapshot()
    signer.do(venue, withdrawal("10"))
    venue.advance("1h")
    venue.dump(tmp_path / "later")
    venue.revert(number)
    signer.do(venue, withdrawal("20"))
    reverted = crash(venue)
    again = made(tmp_path / "j")
    assert again.control.state_hash() == reverted
    again.load(tmp_path / "later")
    loaded = crash(again)
    with made(tmp_path / "j") as third:
        assert third.control.state_hash() == loaded


@pytest.mark.parametrize("own_hash", [False, True])
@pytest.mark.parametrize("later", [False, True])
def test_an_edited_dump_is_never_used(tmp_path: Path, later: bool, own_hash: bool) -> None:
    """With its own hash it breaks the chain: at its end, or at the entry after it."""
    path = tmp_path / "j"
    with made(path) as venue:
        Signer(MASTER).do(venue, withdrawal("10"))
    if later:
        with made(path) as venue:
            signer = Signer(MASTER)
            signer.nonce += 10
            signer.do(venue, withdrawal("20"))
            before = crash(venue)
    else:
        before = venue.control.state_hash()
    base = sqlite3.connect(path)
    number, applied = base.execute("SELECT id, applied FROM dumps ORDER BY id DESC").fetchone()
    core = journals.Core.load(joined([body for (body,) in base.execute("SELECT body FROM slices ORDER BY id")]))
    core.state.accounts[MASTER.address.lower()].balance += 10**12
    [richer] = core.slices()
    base.execute("UPDATE slices SET body = ?", (richer,))
    if own_hash:
        hashed = journal_file.dump_hash(applied, [richer])
        base.execute("UPDATE dumps SET hash = ? WHERE id = ?", (hashed, number))
    base.commit()
    base.close()
    if own_hash:
        with pytest.raises(StoredFileError, match="altered"):
            made(path)
    else:
        with pytest.warns(RuntimeWarning, match="was altered, or is of another version"), made(path) as again:
            assert again.control.state_hash() == before
    if own_hash and not later:
        with made(path, recover=True) as again:
            assert again.control.state_hash() == before


def test_a_journal_that_takes_no_writes_is_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy(tmp_path / "j", 1)

    connect = journal_file.connect

    def read_only(path: Path, sync: Any) -> sqlite3.Connection:
        connection = connect(path, sync)
        connection.execute("PRAGMA query_only = 1")
        return connection

    with monkeypatch.context() as broken:
        broken.setattr(journal_file, "connect", read_only)
        with pytest.raises(VenueError, match="can't be opened for writing"):
            made(tmp_path / "j")
    with made(tmp_path / "j"):
        pass


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_a_journal_is_its_owners_alone(tmp_path: Path) -> None:
    busy(tmp_path / "j", 1)
    assert (tmp_path / "j").stat().st_mode & 0o777 == 0o600
    assert {path.name for path in tmp_path.iterdir()} <= {"j", "j-journal"}
    (tmp_path / "j").chmod(0o664)
    with made(tmp_path / "j"):
        assert (tmp_path / "j").stat().st_mode & 0o777 == 0o600


def test_a_clean_end_leaves_a_dump_and_a_dump_is_never_needed(tmp_path: Path) -> None:
    path = tmp_path / "j"
    venue, signer = made(path), Signer(MASTER)
    signer.do(venue, withdrawal("10"))
    venue.close()
    before = venue.control.state_hash()
    with sqlite3.connect(path) as base:
        [(number,)] = base.execute("SELECT n FROM dumps")
        base.execute("UPDATE slices SET body = x'00'")
    base.close()
    assert number == 3
    with pytest.warns(RuntimeWarning, match="was altered, or is of another version"), made(path) as again:
        assert again.control.state_hash() == before


def test_a_command_that_cannot_be_written_is_neither_applied_nor_answered_as_applied(tmp_path: Path) -> None:
    venue, signer = made(tmp_path / "j"), Signer(MASTER)
    assert venue.host.journal is not None
    venue.host.journal._db.execute("PRAGMA query_only = 1")  # as a full disk would
    before = venue.control.state_hash()
    answer = signer.post(venue, withdrawal("10"))
    assert answer.status == 503
    assert "can't be written" in answer.body.decode()
    assert "Nothing was done" in answer.body.decode()
    assert venue.control.state_hash() == before
    venue.host.journal._db.execute("PRAGMA query_only = 0")
    assert signer.do(venue, withdrawal("10"))["code"] == 0
    venue.close()


def test_a_second_venue_on_the_same_file_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    with made(tmp_path / "j") as venue:
        for options in ({}, {"recover": True}):
            with pytest.raises(VenueError, match="another venue uses") as caught:
                made(tmp_path / "j", **options)
            assert not isinstance(caught.value, StoredFileError)
        with pytest.raises(VenueError, match="another venue uses"):
            recover(tmp_path / "j")
        assert Signer(MASTER).do(venue, withdrawal("10"))["code"] == 0


def test_wrong_settings_and_places_are_explained(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"sync 'never' is not known\. Use full or os"):
        made(tmp_path / "j", sync="never")
    with pytest.raises(VenueError, match="there is no journal"):
        made(tmp_path)
    with pytest.raises(VenueError, match="can't be written as a journal"):
        made(tmp_path / "nowhere" / "j")
    with pytest.raises(VenueError, match="there is no journal"):
        Journal.open(tmp_path / "none")
    with pytest.raises(VenueError, match="there is no journal"):
        recover(tmp_path / "none")
    with pytest.raises(InputError, match="takes numbers, texts, lists"), made(tmp_path / "k") as venue:
        venue.host.apply_control("set_oracle", product=1, price=object())


# damage


def alter(path: Path, statement: str) -> None:
    base = sqlite3.connect(path)
    with base:
        base.execute(statement)
    base.close()


@pytest.mark.parametrize(
    ("statement", "words", "whole"),
    [
        ("UPDATE entries SET body = zeroblob(20) WHERE n = 5", "entry 5 was altered", 4),
        ("UPDATE entries SET kind = 'state' WHERE n = 7", "entry 7 was altered", 6),
        ("UPDATE entries SET chain = zeroblob(32) WHERE n = 6", "entry 6 was altered", 5),
        ("DELETE FROM entries WHERE n = 4", "entry 4 is missing", 3),
        ("DELETE FROM entries WHERE n > 9", "its end is missing", 9),
        ("UPDATE head SET n = 3", "it should end at entry 3", 12),
        ("DELETE FROM head", "it has no head", 12),
        ("UPDATE entries SET n = n + 1 WHERE n > 11", "entry 12 is missing", 11),
    ],
)
def test_an_altered_journal_is_named_and_its_intact_entries_are_recovered(
    tmp_path: Path, statement: str, words: str, whole: int
) -> None:
    path = tmp_path / "j"
    before = busy(path, 4)
    with made(path) as venue:
        assert venue.control.state_hash() == before
    alter(path, statement)
    with pytest.raises(StoredFileError, match=words) as caught:
        made(path)
    assert f"{whole} entries from its beginning are intact" in str(caught.value)
    with made(path, recover=True) as venue:
        assert venue.host.journal is not None
        assert venue.host.journal.count == whole
    assert (tmp_path / "j.damaged").exists()
    with made(path) as venue:
        assert venue.host.journal is not None
        assert venue.host.journal.count == whole


def test_a_journal_of_another_version_is_not_replayed_by_the_present_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy(tmp_path / "before", 2)
    with sqlite3.connect(tmp_path / "before") as database:
        database.execute("DROP TABLE header")
    database.close()
    with pytest.raises(StoredFileError, match=r"it has no header: it is damaged, or another program wrote it"):
        made(tmp_path / "before")
    with monkeypatch.context() as later:
        later.setattr(journal_file, "KIND", replace(journal_file.KIND, version=journal_file.FORMAT + 1))
        busy(tmp_path / "j", 2)
    for recovering in (False, True):
        with pytest.raises(StoredFileError, match=rf"a later version of the toolkit wrote it \({toolkit.__version__}"):
            made(tmp_path / "j", recover=recovering)


def test_a_damaged_header_is_read_from_its_second_copy(tmp_path: Path) -> None:
    before = busy(tmp_path / "j", 2)
    raw = bytearray((tmp_path / "j").read_bytes())
    raw[raw.index(b'{"format":') + 4] ^= 1
    (tmp_path / "j").write_bytes(raw)
    with made(tmp_path / "j") as venue:
        assert venue.control.state_hash() == before
    alter(tmp_path / "j", "DELETE FROM header")
    with pytest.raises(StoredFileError, match=r"has no header.* recover=True keeps what is whole"):
        made(tmp_path / "j")
    with made(tmp_path / "j", recover=True) as venue:
        assert venue.control.state_hash() == before


def test_nothing_is_recovered_from_a_file_that_is_not_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "j"
    for content in (b"", b"not a database", bytes(5000)):
        path.write_bytes(content)
        with pytest.raises(StoredFileError, match="Nothing of it can be recovered"):
            made(path)
        with pytest.raises(StoredFileError):
            made(path, recover=True)
        assert path.read_bytes() == content


def outcome(path: Path, states: list[str]) -> str:
    """Open a file that may be damaged: it is refused, or has the right last state; recovered, an earlier one."""
    try:
        venue = made(path)
    except StoredFileError as damage:
        found = re.search(r"(\d+) entries from its beginning are intact", str(damage))
        expected = int(found[1]) if found else 0
    else:
        with venue:
            assert venue.control.state_hash() == states[-1]
        return "whole"
    try:
        whole = recover(path)
    except StoredFileError:
        return "lost"
    assert whole == expected
    with made(path) as venue:
        assert venue.control.state_hash() == states[whole]
    return "recovered"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[str]]:
    """The bytes of a journal, and the hash of the state after each of its entries."""
    path = tmp_path_factory.mktemp("journal") / "j"
    busy(path, 20)
    journal = Journal.open(path)
    core = journals.Core(journal.genesis)
    states = [core.state_hash()]
    journal.close()
    with contextlib.closing(sqlite3.connect(path)) as base:
        for (body,) in base.execute("SELECT body FROM entries WHERE n > 0 ORDER BY n"):
            journals.apply(core, decode_command(body))
            states.append(core.state_hash())
    return path.read_bytes(), states


@pytest.mark.parametrize("seed", range(12))
def test_torn_truncated_and_flipped_files_never_open_as_something_else(
    tmp_path: Path, original: tuple[bytes, list[str]], seed: int
) -> None:
    data, states = original
    chance, path = random.Random(seed), tmp_path / "j"
    if seed % 2:
        path.write_bytes(data[: chance.randrange(len(data))])
        assert outcome(path, states) != "whole"
    else:
        flipped = bytearray(data)
        flipped[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(flipped)
        outcome(path, states)


def test_damage_that_is_no_text_is_named_as_damage(tmp_path: Path, original: tuple[bytes, list[str]]) -> None:
    data, path = bytearray(original[0]), tmp_path / "j"
    data[data.index(b"INTEGER NOT NULL, chain")] = 0xC5
    path.write_bytes(data)
    for recovering in (False, True):
        with pytest.raises(StoredFileError, match="Nothing of it can be recovered"):
            made(path, recover=recovering)


def test_the_chain_covers_kind_order_and_content(original: tuple[bytes, list[str]], tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_bytes(original[0])
    base = sqlite3.connect(path)
    chain = START
    for kind, body, stored in base.execute("SELECT kind, body, chain FROM entries ORDER BY n"):
        chain = hashlib.sha256(chain + kind.encode() + b":" + body).digest()
        assert chain == stored
    base.close()


def test_time_that_passed_without_commands_is_in_a_dump_so_that_a_start_computes_little_of_it(tmp_path: Path) -> None:
    clock, path = RealClock(start=MANUAL_START, speed=1e-6), tmp_path / "j"
    venue = LocalVenue(seed=7, clock=clock, journal=path, market=None, accounts=1)
    clock.set(MANUAL_START + 24 * 3_600_000)
    assert venue.host.catch_up() >= MANUAL_START + 24 * 3_600_000
    reached = venue.control.state_hash()
    venue.host.journal.close()  # type: ignore[union-attr]  # as a kill, without a last dump
    with contextlib.closing(sqlite3.connect(path)) as reader:
        assert reader.execute("SELECT max(time) FROM dumps").fetchone()[0] > MANUAL_START + 22 * 3_600_000
    again = LocalVenue(clock="manual", journal=path)
    again.host.advance_to(venue.host.core.state.time)
    assert again.control.state_hash() == reached
    again.close()
