"""`toolkit bench` prints and writes measurements whose numbers are NumPy's, and its exit code says what was missed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from toolkit.__main__ import main
from toolkit.benchmarks import Measurement, market_realism

LEAST = Measurement("spread", np.float64(1.4), "bp", np.float64(1.2))
MOST = Measurement("wait", np.float64(3.0), "ms", np.float64(2.0), "lower")
RANGE = Measurement("imbalance", np.float64(0.7), "", np.float64(0.5), most=np.float64(0.6))


@pytest.mark.parametrize(("row", "met"), [(LEAST, True), (MOST, False), (RANGE, False)], ids=["least", "most", "range"])
def test_rows_are_written_as_json_and_a_missed_target_is_the_exit_code(
    row: Measurement, met: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(market_realism, "measure_market", lambda **options: [row])
    file = tmp_path / "rows.json"
    assert main(["bench", "market", "--json", str(file)]) == (0 if met else 1)
    [written] = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert (written["name"], written["value"], written["met"]) == (row.name, row.value, met)
