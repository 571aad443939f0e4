"""Trials on disk: one file a project, shared by processes, never silently begun again."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.research.markets import walk
from toolkit.client.io.nonce_sources import data_directory
from toolkit.errors import DataWarning
from toolkit.research import vectorised
from toolkit.research.analysis import luck, trial_file
from toolkit.research.analysis.luck import Trials

OTHER_KERNEL = """
import sys
from toolkit.research import trials
for number in range(int(sys.argv[1]), int(sys.argv[2])):
    trials.add(f"trial {number}", number / 10)
print(len(trials))
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "trials.sqlite"
    len(luck.trials)  # opens those of this process where they belong, before the variable changes
    monkeypatch.setenv(trial_file.VARIABLE, str(path))
    return path


def kernel(first: int, end: int) -> int:
    done = subprocess.run(
        [sys.executable, "-c", OTHER_KERNEL, str(first), str(end)], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.slow
def test_processes_count_in_one_file_together_and_a_restarted_kernel_knows_it(file: Path) -> None:
    with ThreadPoolExecutor() as pool:
        list(pool.map(kernel, (0, 50), (100, 150)))
    found = Trials()
    assert len(found) == 150, "what both have run counts once"
    assert found.path == file
    assert kernel(150, 151) == len(found) == 151, "an open one sees what the other adds"
    assert found.frame()["sharpe"].max() == 15
    assert found.variance() == pytest.approx(np.var([number / 10 for number in range(151)], ddof=1))
    found.clear()
    assert (len(found), len(Trials())) == (0, 0)
    assert repr(found) == f"<0 trials in {file}>"


def test_the_deflated_ratio_takes_the_trials_of_earlier_kernels(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel(0, 20)
    counted = Trials()
    monkeypatch.setattr(luck, "project_trials", counted)
    run = replace(vectorised(walk(1, 120), np.ones(120)), settings={})  # without an idea all trials count
    assert run.luck()["trials"] == 20


def test_other_numbers_of_one_size_are_other_data() -> None:
    luck.trials.clear()
    for seed in (1, 2, 1):
        vectorised(walk(seed, 60), np.ones(60))
    assert len(luck.trials) == 2


def test_a_project_has_a_file_in_the_data_folder_and_off_counts_in_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(trial_file.VARIABLE)
    (tmp_path / "one" / "deep").mkdir(parents=True)
    (tmp_path / "one" / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path / "one" / "deep")
    inside = trial_file.project_file()
    assert inside is not None
    assert inside.parent == data_directory() / "trials"
    assert inside.name.startswith("one-")
    monkeypatch.chdir(tmp_path / "one")
    assert trial_file.project_file() == inside
    monkeypatch.chdir(tmp_path)
    assert trial_file.project_file() != inside
    monkeypatch.setenv(trial_file.VARIABLE, "off")
    counted = Trials()
    counted.add("one")
    assert (len(counted), len(Trials()), counted.path) == (1, 0, None)
    assert repr(counted) == "<1 trials in this process>"


@pytest.mark.parametrize("content", [b"no database at all", b""], ids=["another file", "cut off"])
def test_a_damaged_file_is_reported_and_left_until_it_is_cleared(file: Path, content: bytes) -> None:
    first = Trials()
    first.add("one")
    first._file().close()
    whole = file.read_bytes()
    damaged = content or whole[: len(whole) // 2]
    file.write_bytes(damaged)
    again = Trials()
    with pytest.warns(DataWarning, match=r"trials\.sqlite \(trials\).*Move it away.*counted in this process only"):
        again.add("two")
    assert len(again) == 1
    assert file.read_bytes() == damaged
    again.clear()
    again.add("three")
    assert len(Trials()) == 1, "a new file"


def test_a_file_that_fails_meanwhile_is_reported_and_the_run_goes_on(file: Path) -> None:
    counted = Trials()
    counted.add("one")
    counted._file().execute("DROP TABLE trials")
    with pytest.warns(DataWarning, match="no such table"):
        counted.add("two")
    assert len(counted) == 1
    assert file.exists()


def test_a_folder_that_takes_no_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(trial_file.VARIABLE, str(tmp_path / "file" / "trials.sqlite"))
    counted = Trials()
    with pytest.warns(DataWarning, match="it can't be used"):
        counted.add("one")
    assert len(counted) == 1


def test_many_are_written_together(file: Path) -> None:
    counted, other = Trials(), Trials()
    assert len(other) == 0
    with counted.together():
        counted.add("one")
        counted.add("two")
        assert len(other) == 0
    assert len(other) == 2
