"""`python -m tests.benchmarks` prints and writes measurements, also NumPy's, and its exit code says what was missed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks import Measurement, client_speed, market_realism
from tests.benchmarks.__main__ import main
from tests.benchmarks.tables import table

ROWS = [
    Measurement("plain", 1234.5, "ms"),
    Measurement("high", 20_000, "orders/s", 10_000, aim=40_000),
    Measurement("low", 0.51234, "ms", 0.5, better="lower", note="one core"),
    Measurement("ratio", 12.3456, "ms", 2, measure="ratio", peer="pandas", ratio=3.0, note="best of 5"),
    Measurement("range", 0.25, "", 0.1, most=0.3),
    Measurement("beyond", 0.35, "bp", 0.1, most=0.3),
    Measurement("aside", 3, "", note="no target"),
]
TABLE = """\
what    measured         against its peer  target
---------------------------------------------------------------------------------------------------
plain   1,234 ms
high    20,000 orders/s                    ≥ 10,000 orders/s (aim 40000)  met, 2.00 of the target
low     0.512 ms                           ≤ 0.5 ms                       MISSED, 0.98 of the target: one core
ratio   12.3 ms          3.00 × pandas     ≥ 2 ×                          met, 1.50 of the target: best of 5
range   0.25                               0.1 to 0.3                     met
beyond  0.35 bp                            0.1 to 0.3 bp                  MISSED
aside   3                                                                 no target"""
LEAST = Measurement("spread", np.float64(1.4), "bp", np.float64(1.2))
MOST = Measurement("wait", np.float64(3.0), "ms", np.float64(2.0), "lower")
RANGE = Measurement("imbalance", np.float64(0.7), "", np.float64(0.5), most=np.float64(0.6))


def test_a_table_of_benchmarks_shows_value_peer_target_and_distance() -> None:
    head, line, *rows = table(ROWS).splitlines()
    wanted, _, *others = TABLE.splitlines()
    assert (head, rows) == (wanted, others)
    assert line == "-" * len(head)


@pytest.mark.parametrize(("rows", "code"), [(ROWS, 1), (ROWS[:2], 0), (ROWS[:1], 0)])
def test_a_missed_target_is_exit_code_1(
    rows: list[Measurement], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(client_speed, "measure_startup", lambda: rows)
    assert main(["startup"]) == code
    assert capsys.readouterr() == (table(rows) + "\n", "measuring startup …\n")


@pytest.mark.parametrize(("row", "met"), [(LEAST, True), (MOST, False), (RANGE, False)], ids=["least", "most", "range"])
def test_rows_of_numpys_numbers_are_written_as_json_and_judged(
    row: Measurement, met: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(market_realism, "measure_market", lambda **options: [row])
    file = tmp_path / "rows.json"
    assert main(["market", "--json", str(file)]) == (0 if met else 1)
    [written] = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert (written["name"], written["value"], written["met"]) == (row.name, row.value, met)
