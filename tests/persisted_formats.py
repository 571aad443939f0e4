"""The formats of the files that outlive a program: what pins each, and how its small file in `tests/data` is made.

A format has a number, which changes with the fields of what is stored, and beside it in the code SCHEMA: the hash of
the names, order and types of these fields. `test_persisted_formats` compares the hash with the fields of today, and
opens the checked-in file of each format.

`python -m tests.persisted_formats NAME …` writes the files of formats into `tests/data`, those of their present number.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import shutil
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tests.venue.play import Play
from toolkit.classroom.class_rules import Beginning, ClassFile, Record
from toolkit.classroom.roster import Roster
from toolkit.client.orders import ledger_file
from toolkit.client.orders.intents import Intent, IntentState, Proof, payload_hash
from toolkit.client.orders.ledger_file import SqliteLedger
from toolkit.client.parent_orders.plan import Child, Plan
from toolkit.orders import Order, Twap, take_profit
from toolkit.research.analysis import results, trial_file
from toolkit.research.client_orders import KeptOrder
from toolkit.research.context import Kept
from toolkit.research.data import recording_store
from toolkit.research.live_trading import run_journal
from toolkit.research.selection.points import Point, RecordFile, make_record
from toolkit.stored.lines import LineFile
from toolkit.venue import development
from toolkit.venue.engine.commands import Advance, Control, Submit
from toolkit.venue.lab import journal_file
from toolkit.venue.local import LocalVenue
from toolkit.venue.model.genesis import Genesis
from toolkit.venue.model.state import State

DATA = Path(__file__).parent / "data"
NOW = 1_767_225_600_000


class Format(NamedTuple):
    """One format. `number` and `schema` name constants in `module`."""

    module: str
    number: str
    shape: Callable[[], str]
    """Return a text that changes with the names, order and types of what is stored."""
    file: str
    """Name in `tests/data`; {} stands for the number."""
    write: Callable[[Path], None]
    """Write the small file. Needed for a new number only."""

    @property
    def home(self) -> Any:
        return importlib.import_module(self.module)

    @property
    def version(self) -> int:
        """The number."""
        found: int = getattr(self.home, self.number)
        return found

    @property
    def schema(self) -> str:
        """The hash that the code has."""
        found: str = self.home.SCHEMA
        return found

    @property
    def found(self) -> str:
        """The hash of the fields of today."""
        return hashlib.sha256(self.shape().encode()).hexdigest()[:16]

    @property
    def path(self) -> Path:
        """The checked-in file of the present number."""
        return DATA / self.file.format(self.version)


def shape(kind: Any) -> str:
    """Return the names, order and types of what msgspec stores of a type, and of all types within."""
    return _shape(msgspec.inspect.type_info(kind))


def _shape(info: Any) -> str:
    if hasattr(info, "fields"):
        flat = "array" if getattr(info, "array_like", False) else "map"
        inner = ",".join(f"{one.encode_name}:{_shape(one.type)}" for one in info.fields)
        return f"{flat} {getattr(info, 'tag', None) or ''}({inner})"
    if isinstance(info, msgspec.inspect.EnumType):
        return f"enum({','.join(f'{one.name}={one.value}' for one in info.cls)})"
    parts: list[Any] = []
    for name in ("key_type", "value_type", "item_type"):
        if hasattr(info, name):
            parts.append(getattr(info, name))
    parts += [*getattr(info, "item_types", ()), *getattr(info, "types", ())]
    return f"{type(info).__name__}({','.join(map(_shape, parts))})"


def _frames() -> str:
    schemas = {name: getattr(results, name) for name in sorted(vars(results)) if name in _SCHEMAS}
    return json.dumps([results.FRAMES, schemas, sorted(("format", "name", "params", "settings"))])


_SCHEMAS = ("FILLS", "ORDERS", "FUNDING", "TRANSFERS", "EQUITY", "EVENTS")


def _record() -> Mapping[str, Any]:
    return make_record(Point("k1", {"fast": 5, "slow": 20}, 7), {"sharpe": 1.25, "worst": float("-inf")}, "", "", 0.5)


def _write_dump(path: Path) -> None:
    play = Play()
    play.oracle(62_000)
    play.fund(10_000, "ann", "bob")
    play.act("ann", type="faucetClaim")
    play.trade("ann", "bob", "0.5", 62_000)
    play.placed("ann", "SELL", "0.1", 63_000)
    play.placed(
        "ann", "SELL", "0", triggerPx="60000", reduceOnlyOption="SL_FROM_POSITION", tpslTriggerType="MARK_PRICE"
    )
    play.advance(60_000)
    path.write_bytes(play.core.dump())


def _write_journal(path: Path) -> None:
    with LocalVenue(journal=path, clock="manual", accounts=2, market=None) as venue:
        venue.control.set_oracle("BTCUSDC", "61000")
        venue.control.add_liquidity("BTCUSDC", "SELL", "61100", "0.5")
        venue.advance("1m")
        venue.control.fund(venue.host.masters[0], "250")


def _write_ledger(path: Path) -> None:
    payload = {"type": "cancelAll", "symbolCode": 1, "conditionalOrder": False}
    first = Intent(
        "testnet-00000000-1", "testnet", "0x" + "a" * 40, "0x" + "b" * 40, "cancelAll", 1, NOW + 60_000, None, (77,),
        payload, payload_hash(payload), NOW, NOW,
    )  # fmt: skip
    ledger = SqliteLedger(path)
    ledger.record(first)
    ledger.update(first.id, NOW + 5, state=IntentState.SENT, body=b"signed", attempts=1)
    ledger.update(first.id, NOW + 9, proof=Proof(True, 0, "success", {"txHash": "0x1"}))
    ledger.note("plan-1", None, "text")
    ledger.close()


def _write_recording(path: Path) -> None:
    store = recording_store.Store(path, exact=True)
    row = {"time": NOW, "symbol": "BTCUSDC", "side": "BUY", "price": Decimal("62000.1"), "quantity": Decimal("0.25")}
    store.append("trades", "BTCUSDC", [row], datetime.fromtimestamp(NOW / 1000, UTC), "snapshot", 3)
    store.close()


_CELLS: Mapping[str, Any] = {"str": "BTCUSDC", "string": "BTCUSDC", "float64": 0.25, "int64": 3, "bool": True}


def _write_results(path: Path) -> None:
    import pandas as pd

    def one_row(schema: Mapping[str, str]) -> pd.DataFrame:
        return results.frame([tuple(_CELLS.get(kind, NOW) for kind in schema.values())], schema)

    times = pd.DatetimeIndex(["2026-01-01", "2026-01-02"], tz="UTC", name="time")
    equity = pd.DataFrame({"equity": [100.0, 101.5], "balance": [100.0, 101.0], "unrealized": [0.0, 0.5]}, index=times)
    symbols = pd.DataFrame({"BTCUSDC": [0.0, 0.1]}, index=times)
    logs = {name.lower(): one_row(getattr(results, name)) for name in _SCHEMAS if name != "EQUITY"}
    run = results.Results("sma", equity, symbols, symbols, **logs, params={"fast": 5}, settings={"seed": 7})
    run.save(path)


def _write_sweep(path: Path) -> None:
    with RecordFile(path, retry_failed=False) as file:
        file.add(dict(_record()))


def plan() -> Plan:
    """Return a parent order with a value in every field."""
    twap = Twap("BTCUSDC", "BUY", "0.3", 60_000, 3, "62000", "0.01", True)
    child = Child("i1", NOW, NOW + 500, Decimal("0.1"), Decimal("0.05"), Decimal("3100"))
    return Plan("twap-1", "testnet", "0x" + "a" * 40, None, NOW, twap, NOW + 1_000, "s1", "RUNNING", 1, "why", (child,))


def _write_plan(path: Path) -> None:
    path.write_text(plan().dump(), encoding="utf-8")


def _write_room(path: Path) -> None:
    file = ClassFile(path)
    file.record = Record("token", 0.0, joined_ms={"Ann": NOW}, begun={1: Beginning(NOW, 5, 6)}, codes={0: ["code-c"]})
    file.keep()


def roster() -> Roster:
    """Return a class with keys that are public."""
    return Roster(["Ann", "Bo"], ["code-a", "code-b"], development.MNEMONIC)


def _ledger_shape() -> str:
    return " ".join(ledger_file._SCHEMA.split()) + shape(Intent) + ",".join(IntentState)


def _write_trials(path: Path) -> None:
    file = trial_file.open_trials(path)
    file.executemany("INSERT INTO trials (key, sharpe) VALUES (?, ?)", [("sma 5", 1.25), ("sma 6", None)])
    file.close()


KEPT = Kept(
    50, ((7, -1),), (KeptOrder("TrailingStop", "BTCUSDC", -1, trigger=60_000.0, distance=0.02),), (20_454, 990.0)
)
"""What a run keeps of its context."""


def _write_run(path: Path) -> None:
    file = LineFile(path, run_journal._KIND, "testnet 0x1 grid")
    order = Order("BTCUSDC", "BUY", "0.01", cl_ord_id=7)
    exits = take_profit("BTCUSDC", "SELL", 66_000, "0.01", cl_ord_id=8)
    fill = run_journal.OwnFill("f1", NOW, "BTCUSDC", "BUY", 10)
    for line in (
        run_journal.Line(NOW, params={"size": "0.01"}, equity=1_000.0, trials=3),
        run_journal.Line(NOW, orders=(order, exits)),
        run_journal.Line(NOW, ended={7: 0.01}),
        run_journal.Line(NOW, fill=fill),
        run_journal.Line(NOW, taken="f1"),
        run_journal.Line(NOW, kept=KEPT),
        run_journal.Line(NOW, sample=(990.0, 980.0, {"BTCUSDC": 10}, {"BTCUSDC": 62_500.0})),
    ):
        file.append(msgspec.to_builtins(line, str_keys=True))
    file.close()


FORMATS: Mapping[str, Format] = {
    "venue dump": Format(
        "toolkit.venue.engine.dump_format", "FORMAT", lambda: shape(State), "venue-{}.dump", _write_dump
    ),
    "venue journal": Format(
        "toolkit.venue.lab.journal_file",
        "FORMAT",
        lambda: shape(Genesis) + shape(Submit | Advance | Control) + " ".join(journal_file._TABLES.split()),
        "venue-{}.journal",
        _write_journal,
    ),
    "ledger of intents": Format(
        "toolkit.client.orders.ledger_file", "FORMAT", _ledger_shape, "intents-{}.sqlite", _write_ledger
    ),
    "parent order": Format(
        "toolkit.client.parent_orders.plan", "FORMAT", lambda: shape(Plan), "parent-order-{}.json", _write_plan
    ),
    "recording": Format(
        "toolkit.research.data.recording_store",
        "FORMAT",
        lambda: json.dumps([[name, *recording_store.table(name).items()] for name in recording_store.RECORDED]),
        "recording-{}",
        _write_recording,
    ),
    "results": Format("toolkit.research.analysis.results", "FORMAT", _frames, "results-{}", _write_results),
    "points of a sweep": Format(
        "toolkit.research.selection.points", "FORMAT", lambda: json.dumps(_record()), "sweep-{}.jsonl", _write_sweep
    ),
    "journal of a run": Format(
        "toolkit.research.live_trading.run_journal", "FORMAT", lambda: shape(run_journal.Line), "run-{}.jsonl",
        _write_run,
    ),
    "trials": Format(
        "toolkit.research.analysis.trial_file",
        "FORMAT",
        lambda: " ".join(trial_file._TABLE.split()),
        "trials-{}.sqlite",
        _write_trials,
    ),
    "class": Format(
        "toolkit.classroom.roster", "FORMAT", lambda: json.dumps(roster().stored()), "class-{}.json",
        lambda path: roster().save(path),
    ),
    "state of a class": Format(
        "toolkit.classroom.class_rules", "FORMAT", lambda: shape(Record), "class-{}.room", _write_room,
    ),
}  # fmt: skip


if __name__ == "__main__":
    for chosen in sys.argv[1:]:
        one = FORMATS[chosen]
        if one.path.is_dir():
            shutil.rmtree(one.path)
        one.path.unlink(missing_ok=True)
        one.write(one.path)
        print(one.path, one.found)
