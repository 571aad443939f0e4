"""A damaged file of intents never gives wrong content: what is damaged is named, and the others go on."""

from __future__ import annotations

import os
import random
import sqlite3
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import toolkit
from tests.client.fake import FakeVenue, session
from tests.client.orders.test_ledgers import INTENT, REFUSED
from toolkit import errors
from toolkit.client.orders.intents import Intent, IntentState, MemoryLedger, Proof
from toolkit.client.orders.ledger_file import SqliteLedger
from toolkit.venue.local import LocalVenue


def written(path: Path) -> tuple[dict[str, Intent], dict[str, str]]:
    """Write a ledger with intents in several states, and return what is in it."""
    ledger = SqliteLedger(path)
    for number in range(6):
        one = replace(INTENT, id=f"testnet-{number}", nonce=number, payload={"type": "x", "a": "b" * 40 * number})
        ledger.record(one)
        if number % 3:
            ledger.update(one.id, 6, state=IntentState.SENT, body=b'{"signature":"%s"}' % (b"ab" * 60), attempts=1)
        if number > 3:
            ledger.update(one.id, 7, proof=Proof(number == 4, 0, "why", {"txHash": "0x" + "cd" * 32}))
    ledger.note("plan", None, '{"quantity":"0.3"}')
    found = {one.id: one for one in ledger.all()}, ledger.notes()
    ledger.close()
    return found


def test_no_flipped_bit_of_the_file_changes_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "intents.sqlite"
    intents, notes = written(path)
    whole = path.read_bytes()
    used = [at for at, byte in enumerate(whole) if byte]
    rng = random.Random(5)
    refused = named = same = 0
    for at in rng.sample(used, 60):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << rng.randrange(8)
        copy = tmp_path / f"{at}.sqlite"
        copy.write_bytes(damaged)
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                ledger = SqliteLedger(copy)
                read, texts = {one.id: one for one in ledger.all()}, ledger.notes()
                ledger.close()
        except errors.ToolkitError as error:
            refused += copy.name in str(error)
            continue
        assert read.items() <= intents.items(), at
        assert texts.items() <= notes.items(), at
        missing = len(intents) + len(notes) - len(read) - len(texts)
        reported = [str(one.message) for one in said if "is damaged and can't be believed" in str(one.message)]
        assert len(reported) == missing, (at, reported)
        named += bool(missing)
        same += not missing
    assert refused + named > 40
    assert refused + named + same == 60


def test_resolve_goes_on_with_the_others_and_names_the_damaged_one(tmp_path: Path) -> None:
    path, fake = tmp_path / "intents.sqlite", FakeVenue(["answer lost"] * 9)
    with session(fake, ledger=path, attempts=1) as s:
        for price in ("60000", "59000", "58000"):
            with pytest.raises(errors.OutcomeUnknown):
                s.buy("BTCUSDC", "0.01", price=price)
        first, second, third = s.intents().index
        with sqlite3.connect(path) as database:
            database.execute("UPDATE intents SET body=replace(body, '0', '1') WHERE id=?", (second,))
        database.close()
        with pytest.warns(UserWarning, match=rf"intents.sqlite \(ledger of intents\): the entry '{second}' is damaged"):
            settled = s.resolve()
        assert [(made.intent, made.state) for made in settled] == [(first, "ACCEPTED"), (third, "ACCEPTED")]
        with pytest.raises(errors.ToolkitError, match=f"the entry '{second}' .* its checksum is another"):
            s.intents.get(second)
        bodies = len(fake.bodies)
        assert s.resolve(second) == []
        assert len(fake.bodies) == bodies, "damaged bytes are never sent"


def in_a_child(work: Any) -> str:
    """Return what a forked child reports."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        said = "nothing"
        try:
            said = repr(work())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        finally:
            os.write(writer, said.encode()[:4000])
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        said = lines.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_writes_neither_to_the_venue_nor_to_the_ledger(tmp_path: Path) -> None:
    path = tmp_path / "venue.journal"
    with LocalVenue(clock="manual", market=False, journal=path) as venue, toolkit.connect(venue=venue) as s:
        ledger = SqliteLedger(tmp_path / "intents.sqlite")
        ledger.record(INTENT)
        remote = session(FakeVenue(), ledger=MemoryLedger())
        attempts = {
            "this session": lambda: s.buy("BTCUSDC", "0.01", price="50000"),
            "this session ": lambda: remote.buy("BTCUSDC", "0.01", price="50000"),
            "this venue": lambda: venue.control.fund(str(s.account), "5"),
            "this venue ": lambda: venue.advance("1m"),
            "the ledger of intents intents.sqlite": lambda: ledger.record(replace(INTENT, id="other")),
            "the ledger of intents intents.sqlite ": lambda: ledger.update(INTENT.id, 9, proof=REFUSED),
            "the ledger of intents intents.sqlite  ": lambda: ledger.note("a", None, "b"),
        }
        entries = path.read_bytes()
        for what, work in attempts.items():
            said = in_a_child(work)
            assert f"{what.strip()} belongs to process {os.getpid()}" in said, (what, said)
        assert path.read_bytes() == entries
        assert (ledger.all(), ledger.notes()) == ([INTENT], {})
        ledger.close()
        assert s.buy("BTCUSDC", "0.01", price="50000")
