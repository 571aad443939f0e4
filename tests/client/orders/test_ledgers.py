"""The ledgers: both keep the same book, steps go forward only, and a file outlives its process."""

from __future__ import annotations

import hashlib
import sqlite3
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.client.orders import ledger_file
from toolkit.client.orders.intents import (
    FRAME,
    OPEN,
    Intent,
    IntentState,
    Ledger,
    MemoryLedger,
    Proof,
    frame,
    intent_id,
    payload_hash,
)
from toolkit.client.orders.ledger_file import AccountLedger, SqliteLedger, open_ledger
from toolkit.errors import InputError, StoredFileError, ToolkitError

INTENT = Intent(
    id="testnet-70997970-5",
    environment="testnet",
    account="0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
    signer="0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    action="placeOrder",
    nonce=5,
    expiry_after=65,
    vault_address=None,
    client_ids=(5000, 5001),
    payload={"type": "placeOrder", "orders": [{"ordQty": "0.010", "name": "ü"}]},
    payload_hash="h",
    created=5,
    updated=5,
)


REFUSED = Proof(False, 40230, "refused")


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    made = MemoryLedger() if request.param == "memory" else SqliteLedger(tmp_path / "intents.db")
    yield made
    made.close()


def test_what_is_recorded_is_read_back(ledger: Ledger) -> None:
    ledger.record(INTENT)
    assert ledger.get(INTENT.id) == INTENT
    after = ledger.update(INTENT.id, 9, state=IntentState.SENT, body=b"{}", attempts=1)
    assert ledger.get(INTENT.id) == after == replace(INTENT, state=IntentState.SENT, body=b"{}", attempts=1, updated=9)
    done = ledger.update(INTENT.id, 10, proof=Proof(True, 0, "success", {"txHash": "0x1"}))
    assert (done.state, done.code, done.message, done.data) == ("ACCEPTED", 0, "success", {"txHash": "0x1"})
    assert ledger.all() == [done]
    assert ledger.all(OPEN) == []
    assert "ledger" in repr(ledger).lower()


def test_a_note_only_changes_from_what_it_was(ledger: Ledger) -> None:
    assert ledger.notes() == {}
    assert not ledger.note("b", "1", "2")
    assert ledger.note("b", None, "1")
    assert not ledger.note("b", None, "2")
    assert not ledger.note("b", "2", None)
    assert ledger.note("a", None, "x")
    assert ledger.note("b", "1", "ü")
    assert list(ledger.notes().items()) == [("b", "ü"), ("a", "x")]
    assert ledger.note("b", "ü", None)
    assert ledger.notes() == {"a": "x"}


def test_an_intent_is_recorded_once_and_unknown_ids_are_errors(ledger: Ledger) -> None:
    ledger.record(INTENT)
    with pytest.raises(ToolkitError, match="exists already"):
        ledger.record(INTENT)
    with pytest.raises(ToolkitError, match="no intent 'x'"):
        ledger.get("x")
    with pytest.raises(ToolkitError, match="no intent 'x'"):
        ledger.update("x", 1, message="y")


@pytest.mark.parametrize("final", [IntentState.ACCEPTED, IntentState.REJECTED])
def test_a_settled_intent_never_changes(ledger: Ledger, final: IntentState) -> None:
    ledger.record(INTENT)
    ledger.update(INTENT.id, 6, state=IntentState.SENT, body=b"1")
    proof = Proof(final is IntentState.ACCEPTED, 0, "")
    ledger.update(INTENT.id, 7, proof=proof)
    changed: Any
    for changed in ({"state": IntentState.UNKNOWN}, {"proof": proof}, {"message": "x"}, {"state": IntentState.SENT}):
        with pytest.raises(ToolkitError, match=f"is {final}"):
            ledger.update(INTENT.id, 8, **changed)
    assert ledger.get(INTENT.id).updated == 7


@pytest.mark.parametrize("final", [IntentState.ACCEPTED, IntentState.REJECTED, IntentState.FAILED])
@pytest.mark.parametrize("proof", [None, True, {"accepted": True}])
def test_no_intent_ends_without_a_proof(ledger: Ledger, final: Any, proof: Any) -> None:
    ledger.record(INTENT)
    ledger.update(INTENT.id, 6, state=IntentState.SENT, body=b"1")
    with pytest.raises((ToolkitError, AttributeError)):
        ledger.update(INTENT.id, 7, state=final, proof=proof)
    assert ledger.get(INTENT.id).state is IntentState.SENT


def test_nothing_unsigned_is_sent_and_nothing_is_signed_twice(ledger: Ledger) -> None:
    ledger.record(INTENT)
    with pytest.raises(ToolkitError, match="is not signed"):
        ledger.update(INTENT.id, 6, state=IntentState.SENT)
    ledger.update(INTENT.id, 6, body=b"1")
    with pytest.raises(ToolkitError, match="second signature"):
        ledger.update(INTENT.id, 7, body=b"2")
    assert ledger.get(INTENT.id).body == b"1"


def test_a_step_can_be_bound_to_where_the_intent_stands(ledger: Ledger) -> None:
    ledger.record(INTENT)
    with pytest.raises(ToolkitError, match="no longer SENT"):
        ledger.update(INTENT.id, 6, expected=IntentState.SENT, proof=REFUSED)
    assert ledger.get(INTENT.id).state is IntentState.PREPARED
    assert ledger.update(INTENT.id, 6, expected=IntentState.PREPARED, proof=REFUSED).settled


def test_memory_forgets_old_settled_intents_and_never_open_ones() -> None:
    book = MemoryLedger(keep=16)
    for number in range(100):
        book.record(replace(INTENT, id=str(number)))
        if number % 10:
            book.update(str(number), 6, proof=REFUSED)
    kept = [intent.id for intent in book.all()]
    assert len(kept) <= 18
    assert [str(number) for number in range(0, 100, 10)] == [intent.id for intent in book.all(OPEN)]
    assert kept[-1] == "99"


STEPS = st.lists(
    st.tuples(st.sampled_from(list(IntentState)), st.sampled_from([None, b"1", b"2"]), st.integers(0, 3)), max_size=8
)


@settings(max_examples=60)
@given(steps=STEPS)
def test_both_ledgers_take_and_refuse_the_same_steps(steps: list[tuple[IntentState, bytes | None, int]]) -> None:
    books: list[Any] = [MemoryLedger(), SqliteLedger(":memory:")]
    for book in books:
        book.record(INTENT)
    for state, body, attempts in steps:
        changes: dict[str, Any] = {"state": state, "attempts": attempts} | ({"body": body} if body else {})
        outcomes = []
        for book in books:
            try:
                outcomes.append(book.update(INTENT.id, 9, **changes))
            except ToolkitError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
    assert books[0].all() == books[1].all()
    books[1].close()


def test_a_file_outlives_its_process_and_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "intents.db"
    first = SqliteLedger(path)
    first.record(INTENT)
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    second = open_ledger(path)
    assert second.all() == [INTENT]
    second.update(INTENT.id, 6, body=b"1")
    assert first.get(INTENT.id).body == b"1"
    first.close()
    second.close()
    assert isinstance(open_ledger(None), MemoryLedger)
    assert open_ledger(first) is first


def test_a_closed_ledger_raises_the_toolkits_error(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "intents.db")
    ledger.record(INTENT)
    ledger.close()
    steps: list[Callable[[], Any]] = [
        lambda: ledger.record(replace(INTENT, id="other")),
        lambda: ledger.update(INTENT.id, 6, body=b"x"),
        lambda: ledger.get(INTENT.id),
        ledger.all,
    ]
    for step in steps:
        with pytest.raises(ToolkitError, match=r"intents\.db can't be used.*closed"):
            step()


def test_a_file_that_is_not_a_ledger_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("these are notes, and no database at all " * 50, encoding="utf-8")
    with pytest.raises(InputError, match=r"can't be used as a ledger.*Make it writable"):
        SqliteLedger(tmp_path / "nowhere" / "intents.db")
    with pytest.raises(StoredFileError, match=r"notes\.txt \(ledger of intents\): it is damaged: .*move it away"):
        SqliteLedger(tmp_path / "notes.txt")


def test_what_is_signed_is_in_no_repr_and_durable_on_disk(tmp_path: Path) -> None:
    intent = replace(INTENT, body=b"signed", data={"secret": 1}, payload={"secret": 2})
    assert "signed" not in repr(intent)
    assert "secret" not in repr(intent)
    ledger = SqliteLedger(tmp_path / "intents.db")
    ledger.close()
    with closing(sqlite3.connect(tmp_path / "intents.db")) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_refused_step_leaves_the_file_to_other_processes(tmp_path: Path) -> None:
    first, second = SqliteLedger(tmp_path / "intents.db"), SqliteLedger(tmp_path / "intents.db")
    first.record(INTENT)
    with pytest.raises(ToolkitError, match="not signed"):
        first.update(INTENT.id, 6, state=IntentState.SENT)
    assert second.update(INTENT.id, 7, body=b"{}") == first.get(INTENT.id)
    assert first.update(INTENT.id, 8, state=IntentState.SENT) == second.get(INTENT.id)
    first.close()
    second.close()


def test_names_and_hashes_of_intents() -> None:
    assert intent_id("testnet", INTENT.signer, 5) == INTENT.id
    text = '{"a":[1,"ü"],"b":null}'
    assert payload_hash({"b": None, "a": [1, "ü"]}) == hashlib.sha256(text.encode()).hexdigest()


def test_the_frame_has_the_columns_and_dtypes_it_says() -> None:
    full, empty = frame([INTENT, replace(INTENT, id="b", code=0, expiry_after=None)]), frame([])
    for made in (full, empty):
        assert {name: str(dtype) for name, dtype in made.reset_index().dtypes.items()} == FRAME
    assert full["code"].isna().tolist() == [True, False]
    assert full["expiry_after"].isna().tolist() == [False, True]
    assert full["client_ids"].iloc[0] == [5000, 5001]
    assert type(full["state"].iloc[0]) is str


@pytest.mark.parametrize(("errors", "opened"), [([], True), (["locked"] * 99, True), (["locked"] * 100, False)])
def test_a_new_file_that_another_process_opens_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, errors: list[str], opened: bool
) -> None:
    waits: list[float] = []

    class Locked(sqlite3.Connection):
        def execute(self, statement: str, *given: Any) -> sqlite3.Cursor:
            if statement == "PRAGMA journal_mode=WAL" and errors:
                raise sqlite3.OperationalError(f"database is {errors.pop(0)}")
            return super().execute(statement, *given)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **more: connect(*given, **more, factory=Locked))
    monkeypatch.setattr(ledger_file.time, "sleep", waits.append)
    failures = len(errors)
    if opened:
        SqliteLedger(tmp_path / "intents.db").close()
    else:
        with pytest.raises(InputError, match="locked"):
            SqliteLedger(tmp_path / "intents.db")
    assert waits == [0.02] * (failures - (not opened))


def test_memory_keeps_a_number_of_intents_and_an_eighth_of_slack() -> None:
    book = MemoryLedger(keep=16)
    counts = []
    for number in range(22):
        book.record(replace(INTENT, id=str(number), state=IntentState.REJECTED))
        counts.append(len(book.all()))
    assert counts == [*range(1, 19), 16, 17, 18, 16]


def test_what_is_recorded_as_sent_is_signed(ledger: Ledger) -> None:
    ledger.record(replace(INTENT, state=IntentState.SENT))
    for state in (IntentState.SENT, IntentState.UNKNOWN, IntentState.SUBMITTED):
        with pytest.raises(ToolkitError, match=f"is not signed. It can't be {state}"):
            ledger.update(INTENT.id, 6, state=state)
    assert ledger.update(INTENT.id, 6, proof=REFUSED).settled


def test_a_file_is_used_from_any_thread_and_keeps_readable_text(tmp_path: Path) -> None:
    book = SqliteLedger(tmp_path / "intents.db")
    thread = threading.Thread(target=book.record, args=(INTENT,))
    thread.start()
    thread.join()
    assert book.all() == [INTENT]
    with closing(sqlite3.connect(tmp_path / "intents.db")) as database:
        [(text,)] = database.execute("SELECT payload FROM intents").fetchall()
    assert text == '{"type":"placeOrder","orders":[{"ordQty":"0.010","name":"ü"}]}'
    book.close()


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no mode there")
def test_the_folder_of_an_accounts_ledger_is_its_owners(tmp_path: Path) -> None:
    book = AccountLedger(lambda: tmp_path / "new" / "ledgers" / "one.sqlite")
    book.close()
    assert not list(tmp_path.iterdir()), "nothing is opened before it is used"
    book.record(INTENT)
    assert stat.S_IMODE((tmp_path / "new" / "ledgers").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new" / "ledgers" / "one.sqlite").stat().st_mode) == 0o600
    book.close()
    with pytest.raises(ToolkitError, match="closed"):
        book.all()


def numbered(nonce: int, time_ms: int = 5) -> Intent:
    return replace(INTENT, id=f"i{nonce}", nonce=nonce, created=time_ms, updated=time_ms)


def test_of_many_intents_only_the_newest_are_read(ledger: Ledger) -> None:
    for nonce in range(5):
        ledger.record(numbered(nonce))
    assert [one.nonce for one in ledger.all(newest=2)] == [3, 4]
    assert [one.nonce for one in ledger.all([IntentState.PREPARED], 3)] == [2, 3, 4]
    assert len(ledger.all()) == 5


def test_a_file_drops_final_intents_of_long_ago_and_keeps_open_ones(tmp_path: Path) -> None:
    kept = []
    for newest in (5 + ledger_file.KEPT_MS, 6 + ledger_file.KEPT_MS, 7 + ledger_file.KEPT_MS):
        ledger = SqliteLedger(tmp_path / "ledger")
        kept.append([one.nonce for one in ledger.all()])
        if not kept[0] and len(kept) == 1:
            ledger.record(numbered(1))
            ledger.record(numbered(2))
            ledger.update("i2", 5, proof=REFUSED)
        ledger.record(numbered(10 + len(kept), newest))
        ledger.close()
    assert kept == [[], [1, 2, 11], [1, 11, 12]]
