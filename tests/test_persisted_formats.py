"""What is stored outlives the program: its fields are pinned, and a file of each format opens as it was written."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import fields, make_dataclass, replace
from decimal import Decimal
from pathlib import Path

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import toolkit
from tests import persisted_formats
from tests.persisted_formats import FORMATS, NOW
from tests.venue.play import Play
from toolkit.classroom import roster as roster_module
from toolkit.classroom.class_rules import ClassFile
from toolkit.classroom.roster import Roster
from toolkit.client.orders import ledger_file
from toolkit.client.orders.intents import IntentState
from toolkit.client.orders.ledger_file import SqliteLedger
from toolkit.client.parent_orders.plan import Plan
from toolkit.errors import StoredFileError
from toolkit.research.analysis import trial_file
from toolkit.research.analysis.results import Results
from toolkit.research.context import Kept
from toolkit.research.data.recording import Recording
from toolkit.research.live_trading import run_journal
from toolkit.research.live_trading.run_journal import RunJournal
from toolkit.research.selection.points import RecordFile, from_plain
from toolkit.stored.lines import LineFile
from toolkit.stored.seals import before_header, sealed
from toolkit.venue.engine import dump_format
from toolkit.venue.engine.core import Core
from toolkit.venue.lab import journal_file
from toolkit.venue.lab.journal import Journal
from toolkit.venue.model.accounts import VenueAccount
from toolkit.venue.model.genesis import Genesis

ADVICE = """the fields of the {name} have changed: {module}.SCHEMA is {pinned}, the fields have {found}.
1. Raise {module}.{number}, and set SCHEMA to "{found}".
2. Files of other numbers are refused, in a sentence that says what to do. Write a migration only if users have such.
3. Replace the file: python -m tests.persisted_formats "{name}".
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
    assert core.state_hash() == "e7c456595d43c6da89f1c9217c13965db3d277d13aa821d7b3156157551ca292"


def test_a_journal_is_replayed_to_the_state_it_was_written_in(tmp_path: Path) -> None:
    written = "d3d2a3d259e257583bdf4a3788f5e5c3aba0ca43bf73c6615de3089a4f345474"
    journal = Journal.open(copy("venue journal", tmp_path), sync="os")
    assert journal.replay().state_hash() == written
    journal._db.execute("DELETE FROM dumps")  # now from the first entry on, by the rules of today
    assert journal.replay().state_hash() == written, "the rules have changed: raise the number of the journal"
    journal.close()


def test_a_journal_of_a_run_opens_with_its_values() -> None:
    journal = RunJournal.__new__(RunJournal)
    journal.begun, journal.handles, journal.fills, journal.sent_ms, journal.kept = None, {}, {}, [], Kept()
    journal.sent, journal.samples = set(), []
    for line in LineFile(path("journal of a run"), run_journal._KIND, None).lines:
        journal._fold(msgspec.convert(line, run_journal.Line, strict=False))
    assert journal.begun is not None
    assert (journal.begun.params, journal.begun.equity, journal.begun.trials) == ({"size": "0.01"}, 1_000.0, 3)
    handle = journal.handles[7]
    assert (handle.state, handle.filled, handle.request.legs[1].trigger_price) == ("FILLED", 0.01, "66000")
    assert (journal.fills["f1"].steps, journal.sent_ms, journal._open_fill) == (10, [NOW], "")
    assert journal.kept == persisted_formats.KEPT
    assert journal.samples == [(NOW, 990.0, 980.0, {"BTCUSDC": 10}, {"BTCUSDC": 62_500.0})]


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


def test_trials_open_with_their_values(tmp_path: Path) -> None:
    file = trial_file.open_trials(copy("trials", tmp_path))
    assert file.execute("SELECT key, sharpe FROM trials").fetchall() == [("sma 5", 1.25), ("sma 6", None)]
    file.close()


def test_a_ledger_of_a_later_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setattr(ledger_file, "_KIND", replace(ledger_file._KIND, version=2))
        later.setattr(ledger_file, "FORMAT", 2)
        SqliteLedger(tmp_path / "later").close()
    with pytest.raises(
        StoredFileError, match=rf"a later version of the toolkit wrote it \({toolkit.__version__}, format 2"
    ):
        SqliteLedger(tmp_path / "later")


@pytest.mark.parametrize("number", [0, 9])
def test_a_ledger_without_a_header_is_refused(number: int, tmp_path: Path) -> None:
    file = copy("ledger of intents", tmp_path)
    with sqlite3.connect(file) as database:
        database.execute("DROP TABLE header")
        database.execute(f"PRAGMA user_version = {number}")
    database.close()
    with pytest.raises(StoredFileError, match="it has no header: it is damaged, or another program wrote it"):
        SqliteLedger(file)


def test_a_parent_order_opens_with_its_values() -> None:
    assert Plan.load(path("parent order").read_text(encoding="utf-8")) == persisted_formats.plan()


def test_a_recording_opens_with_its_values() -> None:
    [row] = Recording(path("recording")).frame("trades", "BTCUSDC").to_dict("records")
    assert (row["time"], row["side"], row["sequence"]) == (pd.Timestamp(NOW, unit="ms", tz="UTC"), "BUY", 3)
    assert (row["price"], row["quantity"]) == (Decimal("62000.1"), Decimal("0.25"))


def test_results_open_with_their_values() -> None:
    run = Results.load(path("results"))
    assert (run.name, run.params, run.settings) == ("sma", {"fast": 5}, {"seed": 7})
    assert (run.equity["equity"].tolist(), run.positions["BTCUSDC"].tolist()) == ([100.0, 101.5], [0.0, 0.1])
    assert [len(getattr(run, name)) for name in ("fills", "orders", "funding", "transfers", "events")] == [1] * 5
    assert run.fills["quantity"].tolist() == [0.25]


def test_points_of_a_sweep_open_with_their_values(tmp_path: Path) -> None:
    [record] = RecordFile(copy("points of a sweep", tmp_path), retry_failed=False).known.values()
    assert (record["params"], record["seed"], record["status"]) == ({"fast": 5, "slow": 20}, 7, "ok")
    assert {name: from_plain(value) for name, value in record["values"].items()} == {
        "sharpe": 1.25,
        "worst": float("-inf"),
    }


def test_a_class_opens_with_its_students() -> None:
    opened, made = Roster.load(path("class")), persisted_formats.roster()
    assert opened.students == made.students
    assert [student.name for student in opened.students] == ["Ann", "Bo"]


def test_the_state_of_a_class_opens_with_its_token_time_and_links() -> None:
    record = ClassFile(path("state of a class")).record
    assert (record.token, record.speed, record.begun[1], record.codes) == ("token", 0.0, (NOW, 5, 6), {0: ["code-c"]})


WITHOUT_HEADER = {
    "state of a class": (b"{}", lambda file: ClassFile(file)),
    "results": (b'{"rows":{}}', lambda file: Results.load(file.parent)),
    "points of a sweep": (b'{"key":"k1"}\n', lambda file: RecordFile(file, retry_failed=False)),
    "class": (b'{"students":[]}', lambda file: Roster.load(file)),
    "venue dump": (b"\x80", lambda file: Core.load(file.read_bytes())),
    "journal of a run": (b"{}\n", lambda file: LineFile(file, run_journal._KIND)),
}
"""Format → a file of it without a header, and what opens it."""


@pytest.mark.parametrize("name", WITHOUT_HEADER)
def test_a_file_without_a_header_is_refused_in_words(name: str, tmp_path: Path) -> None:
    content, opened = WITHOUT_HEADER[name]
    file = tmp_path / "meta.json"
    file.write_bytes(content)
    with pytest.raises(StoredFileError, match="another program wrote it"):
        opened(file)


@pytest.mark.parametrize("step", [-1, 1])
def test_a_file_of_another_format_number_names_the_version_that_wrote_it(tmp_path: Path, step: int) -> None:
    kind = replace(roster_module._KIND, version=roster_module.FORMAT + step)
    (tmp_path / "class").write_bytes(sealed(b'{"header":' + kind.header() + b"}"))
    wrote = "a later" if step > 0 else "an earlier"
    with pytest.raises(
        StoredFileError, match=rf"{wrote} version of the toolkit wrote it \({toolkit.__version__}, format"
    ):
        Roster.load(tmp_path / "class")


def test_a_part_of_a_recording_without_a_header_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    shutil.copytree(path("recording"), folder)
    [part] = folder.rglob("*.parquet")
    pq.write_table(pa.table({"price": [1.0]}), part)
    with pytest.raises(StoredFileError, match="another program wrote it"):
        Recording(folder).frame("trades", "BTCUSDC")


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
    body = bytes(before_header(path("venue dump").read_bytes()))
    renamed = body.replace(bytes((0xA0 | len(old),)) + old, bytes((0xA0 | len(new),)) + new)
    assert renamed != body
    with pytest.raises(StoredFileError, match=r"State\.accounts|unknown field `fee_party`"):
        Core.load(dump_format.joined([renamed]))


def test_a_dump_with_a_missing_part_is_refused() -> None:
    parts = msgspec.msgpack.decode(before_header(path("venue dump").read_bytes()), type=dict[str, msgspec.Raw])
    del parts["withdrawals"]
    with pytest.raises(StoredFileError, match=r"the fields of State\.withdrawals are not those of this one"):
        Core.load(dump_format.joined([msgspec.msgpack.encode(parts)]))


def test_a_journal_with_a_field_of_another_name_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    entries = journal_file.first_entries(Genesis(), [])
    kind, body = "command", msgspec.msgpack.encode({"type": "advance", "time": NOW, "speed": 2})
    entries.append(journal_file.Entry(1, kind, body, journal_file.chain_hash(entries[0].chain, kind, body)))
    journal_file.write_file(file, entries)
    with pytest.raises(StoredFileError, match="unknown field `speed`"):
        Journal.open(file, sync="os")
