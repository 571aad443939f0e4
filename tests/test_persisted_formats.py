"""What is stored outlives the program: its fields are pinned, and a file of each format opens as it was written."""

from __future__ import annotations

import json
import shutil
import sqlite3
from dataclasses import fields, make_dataclass
from decimal import Decimal
from pathlib import Path

import msgspec
import pandas as pd
import pytest

from tests import persisted_formats
from tests.persisted_formats import FORMATS, NOW
from tests.venue.play import Play
from toolkit.classroom.roster import Roster
from toolkit.client.orders.intents import IntentState, SqliteLedger
from toolkit.client.parent_orders.plan import Plan
from toolkit.errors import InputError, JournalDamaged, VenueError
from toolkit.research.analysis.results import Results
from toolkit.research.data.recording import Recording
from toolkit.research.selection.points import RecordFile, from_plain
from toolkit.venue.engine import dump_format
from toolkit.venue.engine.core import Core
from toolkit.venue.lab import journal_file
from toolkit.venue.lab.journal import Journal
from toolkit.venue.model.accounts import VenueAccount
from toolkit.venue.model.genesis import Genesis

ADVICE = """the fields of the {name} have changed: {module}.SCHEMA is {pinned}, the fields have {found}.
1. Raise {module}.{number}, and set SCHEMA to "{found}".
2. Write the migration of older files, or refuse them with a sentence that says what to do.
3. Add the file of the new number: python -m tests.persisted_formats "{name}". Keep that of the old one where it still
   opens, with its test; where it is refused, a test of the refusal.
"""


@pytest.mark.parametrize("name", FORMATS)
def test_the_fields_of_what_is_stored_are_those_of_its_format_number(name: str) -> None:
    one = FORMATS[name]
    advice = ADVICE.format(name=name, module=one.module, number=one.number, pinned=one.schema, found=one.found)
    assert one.found == one.schema, advice
    assert one.path.exists(), advice


def path(name: str) -> Path:
    """Return the file of the present number of a format."""
    return FORMATS[name].path


def copy(name: str, folder: Path) -> Path:
    """Return a copy of a file, for the formats that are written to when they are opened."""
    target = folder / path(name).name
    shutil.copy(path(name), target)
    return target


def test_a_dump_opens_with_its_values() -> None:
    core = Core.load(path("venue dump").read_bytes())
    ann = core.state.accounts[Play.address("ann")]
    assert (ann.faucet_time, core.state.time) == (NOW, NOW + 60_000)
    assert (ann.positions[1].long.size, ann.waiting, len(ann.orders)) == (500, 1, 2)
    assert core.state_hash() == "9f7b21291aca207a2e17937646892c7f9e5ffef04d40de0d8261088e2a293866"


def test_a_journal_is_replayed_to_the_state_it_was_written_in(tmp_path: Path) -> None:
    written = "bd2faf5876f6a8b68820b3b87b4cc973ad39f6ba6d03911e977cdf365a5b8103"
    journal = Journal.open(copy("venue journal", tmp_path), sync="os")
    assert journal.replay().state_hash() == written
    journal._db.execute("DELETE FROM dumps")  # now from the first entry on, by the rules of today
    assert journal.replay().state_hash() == written, "the rules have changed: raise the number of the journal"
    journal.close()


def test_a_ledger_of_intents_opens_with_its_values(tmp_path: Path) -> None:
    ledger = SqliteLedger(copy("ledger of intents", tmp_path))
    [intent] = ledger.all()
    assert (intent.id, intent.nonce, intent.client_ids, intent.expiry_after) == (
        "testnet-00000000-1", 1, (77,), NOW + 60_000,
    )  # fmt: skip
    assert (intent.state, intent.body, intent.code, intent.attempts) == (IntentState.ACCEPTED, b"signed", 0, 1)
    assert (intent.payload["type"], intent.data) == ("cancelAll", {"txHash": "0x1"})
    assert ledger.notes() == {"plan-1": "text"}
    ledger.close()


def test_a_ledger_of_a_later_version_is_refused(tmp_path: Path) -> None:
    file = copy("ledger of intents", tmp_path)
    with sqlite3.connect(file) as database:
        database.execute("PRAGMA user_version = 2")
    database.close()
    with pytest.raises(InputError, match=r"a later version of the toolkit wrote it \(format 2\)"):
        SqliteLedger(file)


def test_a_ledger_from_before_it_had_a_number_opens(tmp_path: Path) -> None:
    file = copy("ledger of intents", tmp_path)
    with sqlite3.connect(file) as database:
        database.execute("PRAGMA user_version = 0")
    database.close()
    ledger = SqliteLedger(file)
    assert len(ledger.all()) == 1
    ledger.close()


def test_a_parent_order_opens_with_its_values() -> None:
    assert Plan.load(path("parent order").read_text(encoding="utf-8")) == persisted_formats.plan()


def test_a_recording_opens_with_its_values() -> None:
    [row] = Recording(path("recording")).frame("trades", "BTCUSDC").to_dict("records")
    assert (row["time"], row["side"], row["sequence"]) == (pd.Timestamp(NOW, unit="ms", tz="UTC"), "BUY", 3)
    assert (row["price"], row["quantity"]) == (Decimal("62000.1"), Decimal("0.25"))


def test_results_open_with_their_values(tmp_path: Path) -> None:
    run = Results.load(path("results"))
    assert (run.name, run.params, run.settings) == ("sma", {"fast": 5}, {"seed": 7})
    assert (run.equity["equity"].tolist(), run.positions["BTCUSDC"].tolist()) == ([100.0, 101.5], [0.0, 0.1])
    assert [len(getattr(run, name)) for name in ("fills", "orders", "funding", "transfers", "events")] == [1] * 5
    assert run.fills["quantity"].tolist() == [0.25]
    run.save(tmp_path)
    meta = json.loads((tmp_path / "meta.json").read_text(encoding="utf-8"))
    (tmp_path / "meta.json").write_text(json.dumps({**meta, "format": 2}), encoding="utf-8")
    with pytest.raises(InputError, match=r"was saved by a later version of the toolkit \(format 2\)"):
        Results.load(tmp_path)


def test_points_of_a_sweep_open_with_their_values(tmp_path: Path) -> None:
    [record] = RecordFile(copy("points of a sweep", tmp_path), retry_failed=False).known.values()
    assert (record["params"], record["seed"], record["status"]) == ({"fast": 5, "slow": 20}, 7, "ok")
    assert {name: from_plain(value) for name, value in record["values"].items()} == {
        "sharpe": 1.25,
        "worst": float("-inf"),
    }


def test_a_class_opens_with_its_students(tmp_path: Path) -> None:
    opened, made = Roster.load(path("class")), persisted_formats.roster()
    assert opened.students == made.students
    assert [student.name for student in opened.students] == ["Ann", "Bo"]
    (tmp_path / "class").write_text(json.dumps({**made.stored(), "format": 2}), encoding="utf-8")
    with pytest.raises(InputError, match="is not the file of a class"):
        Roster.load(tmp_path / "class")


# a renamed field


def test_a_renamed_field_changes_the_hash_of_its_format() -> None:
    old = [(one.name, one.type) for one in fields(VenueAccount)]
    new = [("faucet_at" if name == "faucet_time" else name, kind) for name, kind in old]
    before, after, turned = (make_dataclass("Account", each, namespace={}) for each in (old, new, old[::-1]))
    for one in (before, after, turned):
        one.__module__ = VenueAccount.__module__
    shapes = [persisted_formats.shape(one) for one in (VenueAccount, before, after, turned)]
    assert shapes[0] == shapes[1]
    assert len(set(shapes)) == 3


@pytest.mark.parametrize(("old", "new"), [(b"faucet_time", b"faucet_when"), (b"fee_parts", b"fee_party")])
def test_a_dump_with_a_field_of_another_name_is_refused(old: bytes, new: bytes) -> None:
    """The first is in the accounts, the second in the orders of the history."""
    body = path("venue dump").read_bytes()[dump_format._START :]
    renamed = body.replace(bytes((0xA0 | len(old),)) + old, bytes((0xA0 | len(new),)) + new)
    assert renamed != body
    with pytest.raises(VenueError, match=r"State\.accounts|unknown field `fee_party`"):
        Core.load(dump_format.joined([dump_format.MAGIC, renamed]))


def test_a_dump_with_a_missing_part_is_refused() -> None:
    parts = msgspec.msgpack.decode(path("venue dump").read_bytes()[dump_format._START :], type=dict[str, msgspec.Raw])
    del parts["withdrawals"]
    with pytest.raises(VenueError, match=r"the fields of State\.withdrawals are not those of this one"):
        Core.load(dump_format.joined([dump_format.MAGIC, msgspec.msgpack.encode(parts)]))


def test_a_journal_with_a_field_of_another_name_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    entries = journal_file.first_entries(Genesis(), [])
    kind, body = "command", msgspec.msgpack.encode({"type": "advance", "time": NOW, "speed": 2})
    entries.append(journal_file.Entry(1, kind, body, journal_file.chain_hash(entries[0].chain, kind, body)))
    journal_file.write_file(file, entries)
    with pytest.raises(JournalDamaged, match="unknown field `speed`"):
        Journal.open(file, sync="os")
