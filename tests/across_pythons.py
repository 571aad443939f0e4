"""Files that one version of Python writes and another one reads: results, journal, recording, ledger.

`python -m tests.across_pythons write FOLDER` writes them with this Python, `read FOLDER` reads those of any version. It
raises AssertionError where something else comes out. `.ci/matrix` does both, in both directions.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests import persisted_formats
from tests.stored.test_damage import Buy, bars, frames, write_recording
from toolkit.client.orders.ledger_file import SqliteLedger
from toolkit.errors import ToolkitError
from toolkit.research import backtest
from toolkit.research.analysis.results import Results
from toolkit.research.data.recording import Recording
from toolkit.venue.lab.journal import Journal

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


def contents(folder: Path) -> dict[str, Any]:
    """Return what the files of a folder hold, as JSON can keep it."""
    journal, ledger = Journal.open(folder / "venue.journal", sync="os"), SqliteLedger(folder / "intents.sqlite")
    try:
        replayed = journal.replay().state_hash()
        intents = [repr(intent) for intent in ledger.all()]
    finally:
        journal.close()
        ledger.close()
    trades = Recording(folder / "recording").frame("trades").astype(str).to_dict("records")
    run = frames(Results.load(folder / "results"))
    made: dict[str, Any] = json.loads(
        json.dumps({"state": replayed, "intents": intents, "trades": trades, "run": run}, default=str)
    )
    return made


def write(folder: Path) -> None:
    """Write a file of each kind, and what they hold."""
    folder.mkdir(parents=True)
    persisted_formats._write_journal(folder / "venue.journal")
    persisted_formats._write_ledger(folder / "intents.sqlite")
    write_recording(folder / "recording")
    backtest(Buy(), bars()).save(folder / "results")
    (folder / "contents.json").write_text(json.dumps({"python": HERE, "contents": contents(folder)}), encoding="utf-8")


def read(folder: Path) -> None:
    """Read the files; a saved run runs again only in the version of Python that saved it."""
    written = json.loads((folder / "contents.json").read_text(encoding="utf-8"))
    assert contents(folder) == written["contents"], f"Python {HERE} reads other values than {written['python']} wrote"
    run, refusal = Results.load(folder / "results"), ""
    try:
        assert frames(run.rerun()) == frames(run)
    except ToolkitError as error:
        refusal = str(error)
    same = written["python"] == HERE
    assert same is (not refusal), refusal or f"code of Python {written['python']} was run"
    assert same or f"was saved by Python {written['python']}" in refusal, refusal
    print(f"Python {HERE} reads what Python {written['python']} wrote")


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](Path(sys.argv[2]))
