"""Sweeps: the same frame on any number of workers, failures kept, resumed where they stopped."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest

from tests.research.markets import Wandering, walk
from tests.research.tasks import connected, counted, deadly, fragile, leaving, measure, meeting, total
from toolkit.errors import DataWarning, InputError
from toolkit.research.analysis.luck import trials
from toolkit.research.analysis.results import Results
from toolkit.research.backtesting.driver import backtest
from toolkit.research.backtesting.models import RandomLatency
from toolkit.research.selection import points
from toolkit.research.selection.optimising import optimise
from toolkit.research.selection.sweeps import sweep

GRID = {"a": [1, 2, 3], "b": [0.1, 0.2]}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0") as hosts,
        Client(hosts) as client,
    ):
        yield client


def test_the_product_of_the_grid_comes_in_order_with_seeds() -> None:
    table = sweep(measure, GRID, seeds=[7, 8], workers=0, progress=False)
    assert list(table.columns) == ["a", "b", "seed", "status", "error", "sum", "noise", "missing"]
    assert table[["a", "b", "seed"]].iloc[:3].to_numpy().tolist() == [[1, 0.1, 7], [1, 0.1, 8], [1, 0.2, 7]]
    assert len(table) == 12
    assert (table["status"] == "ok").all()
    assert table["sum"].iloc[0] == 1.1
    assert table["noise"].nunique() == 12
    assert len(table.attrs["seconds"]) == 12


def where(a: int, **options: Any) -> dict[str, int]:
    return {"process": os.getpid()}


def test_a_sweep_runs_here_until_processes_pay_and_then_in_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    points.end_workers()
    assert set(sweep(where, {"a": range(6)}, progress=False)["process"]) == {os.getpid()}
    monkeypatch.setattr(points, "START_COST", -1.0)
    first, second, *_, last = sweep(meeting, {"a": range(6), "folder": [str(tmp_path)]}, progress=False)["value"]
    assert first == last == os.getpid(), "this process goes on, from the end"
    assert second != os.getpid()


@pytest.mark.slow
def test_processes_are_kept_for_the_next_sweep_of_the_same_code() -> None:
    def used(task: Any, **options: Any) -> set[int]:
        return set(sweep(task, {"a": range(8)}, workers=1, progress=False, **options)["process"])

    points.end_workers()
    [kept] = used(where)
    assert used(where, rate=2) == used(where) == {kept}
    assert used(lambda a: {"process": os.getpid(), "code": 2}) != {kept}, "other code"
    [kept] = used(where)
    os.kill(kept, signal.SIGTERM)  # while it is idle
    assert used(where) not in ({kept}, {os.getpid()})
    points.end_workers()


@pytest.mark.slow
def test_a_cluster_gives_the_frame_of_one_process(cluster: Any) -> None:
    alone = sweep(measure, GRID, seeds=[7], workers=0, progress=False)
    pd.testing.assert_frame_equal(sweep(measure, GRID, seeds=[7], client=cluster, progress=False), alone)
    failing = sweep(fragile, {"a": [1, 2, 3]}, client=cluster, progress=False)
    assert list(failing["status"]) == ["ok", "failed", "ok"]


@pytest.mark.slow
@pytest.mark.parametrize("search", [{"method": "bayes", "points": 5}])
def test_a_search_on_a_cluster_finds_what_one_process_finds(cluster: Any, search: Any) -> None:
    data, space = walk(3, 200), {"every": list(range(5, 12))}
    there = optimise(Wandering, space, data, client=cluster, progress=False, **search)
    alone = optimise(Wandering, space, data, workers=2 if search else 0, progress=False, **search)
    pd.testing.assert_frame_equal(there.table, alone.table)
    np.testing.assert_array_equal(there.returns, alone.returns)


@pytest.mark.slow
def test_a_cluster_of_processes_gives_it_too() -> None:
    from distributed import Client, LocalCluster

    alone = sweep(measure, GRID, seeds=[7], workers=0, progress=False)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1") as hosts,
        Client(hosts) as client,
    ):
        pd.testing.assert_frame_equal(sweep(measure, GRID, seeds=[7], client=client, progress=False), alone)
        failing = sweep(deadly, {"a": [0, 1]}, client=client, progress=False)
    assert list(failing["status"]) == ["ok", "failed"]


def test_functions_of_a_notebook_travel_to_the_workers() -> None:
    def local(a: int) -> float:
        return a * 2.5

    assert list(sweep(local, {"a": [1, 2]}, workers=1, progress=False)["value"]) == [2.5, 5.0]


def test_a_dying_worker_costs_only_the_point_that_killed_it() -> None:
    table = sweep(deadly, {"a": [0, 1, 2]}, workers=1, progress=False)
    assert list(table["status"]) == ["ok", "failed", "ok"]
    assert table.loc[1, "error"].startswith("WorkerDied")


def test_a_sweep_goes_on_where_it_stopped(tmp_path: Path) -> None:
    traces, file = tmp_path / "traces", tmp_path / "out" / "sweep.jsonl"
    traces.mkdir()
    options: dict[str, Any] = {"workers": 0, "progress": False, "results": file}
    grid = {"folder": [str(traces)], "a": [0, 1, 2]}
    first = sweep(counted, grid, **options)
    assert list(first["status"]) == ["ok", "failed", "ok"]
    assert len(list(traces.iterdir())) == 3

    again = sweep(counted, grid, **options)
    pd.testing.assert_frame_equal(again, first)
    assert len(list(traces.iterdir())) == 3

    (traces / "mended").touch()
    mended = sweep(counted, {**grid, "a": [0, 1, 2, 3]}, retry_failed=True, **options)
    assert list(mended["status"]) == ["ok"] * 4
    assert len(list(traces.iterdir())) == 6
    assert list(sweep(counted, {**grid, "a": [1]}, **options)["value"]) == [1]


@pytest.mark.parametrize("kept", [True, False])
def test_an_interrupted_sweep_keeps_what_was_done_and_names_the_rest(tmp_path: Path, kept: bool) -> None:
    file = tmp_path / "sweep.jsonl" if kept else None
    calls: list[int] = []

    def interrupted(a: int) -> dict[str, float]:
        calls.append(a)
        if a == 2 and len(calls) == 3:
            raise KeyboardInterrupt
        return {"sharpe": a / 2}

    trials.clear()
    with pytest.raises(KeyboardInterrupt) as caught:
        sweep(interrupted, {"a": range(8)}, workers=0, results=file, progress=False)
    where = (
        f"{file} keeps them, and the same call runs the others"
        if kept
        else "They are lost: results=FILE would keep them"
    )
    left = "{'a': 2}, {'a': 3}, {'a': 4}, {'a': 5}, {'a': 6} and 1 more"
    assert caught.value.__notes__ == [f"2 of 8 points are done. {where}. Not done: {left}"]
    assert len(trials) == 2, "what was seen counts, however it ended"
    table = sweep(interrupted, {"a": range(8)}, workers=0, results=file, progress=False)
    assert list(table["sharpe"]) == [a / 2 for a in range(8)]
    assert calls == [0, 1, 2, *range(2 if kept else 0, 8)]


def test_a_line_torn_by_a_crash_is_run_again(tmp_path: Path) -> None:
    file = tmp_path / "sweep.jsonl"
    whole = sweep(measure, GRID, workers=0, results=file, progress=False)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:4]) + lines[4][:30])
    with pytest.warns(DataWarning, match="1 of 3 lines are damaged, the last one cut off, and left out"):
        pd.testing.assert_frame_equal(sweep(measure, GRID, workers=0, results=file, progress=False), whole)
    with pytest.warns(DataWarning, match="1 of 7 lines are damaged, and left out"):
        pd.testing.assert_frame_equal(sweep(measure, GRID, workers=0, results=file, progress=False), whole)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("remember the milk\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"notes.txt \(results of a sweep\): its first line is no header"):
        sweep(measure, GRID, results=file, progress=False)


def test_a_task_may_return_results_and_nothing_strange(sample_results: Results) -> None:
    table = sweep(lambda a: sample_results, {"a": [1]}, workers=0, progress=False)
    assert table["equity_end"][0] == sample_results.equity["equity"].iloc[-1]
    table = sweep(lambda a: "text", {"a": [1]}, workers=0, progress=False)
    assert table["error"][0].startswith("InputError: the task returned str")


def test_a_strategy_is_swept_with_its_own_parameters_and_seeds() -> None:
    data = {"BTCUSDC": walk(3, 200)}
    options: dict[str, Any] = {"latency": RandomLatency(0, 3_000_000), "funding": None, "progress": False}
    grid = {"every": [5, 7], "missing": [1]}
    table = sweep(Wandering, {"every": [5, 7]}, data, seeds=[1, 2], workers=1, **options)
    alone = sweep(Wandering, {"every": [5, 7]}, data, seeds=[1, 2], workers=0, **options)
    pd.testing.assert_frame_equal(table, alone)
    assert (table["status"] == "ok").all()
    assert table["profit"].nunique() == 4
    direct = backtest(Wandering(every=7), data, seed=2, latency=RandomLatency(0, 3_000_000), funding=None)
    assert table["equity_end"].iloc[3] == direct.equity["equity"].iloc[-1]
    failed = sweep(Wandering, grid, data, workers=0, **options)
    assert failed["error"].iloc[0].startswith("InputError: Wandering has no parameter 'missing'")


def test_an_empty_grid_is_refused() -> None:
    with pytest.raises(InputError, match="no points"):
        sweep(measure, {"a": []}, progress=False)


ORDERING = """
import multiprocessing, sys
from dataclasses import dataclass
from pathlib import Path
from toolkit.research import Strategy, optimise
from toolkit.research.selection import points
from tests.research.markets import walk

points.START_COST = COST
with open(PLACE, "a") as file:  # as an order would be sent again
    file.write("FILLED ")


@dataclass(frozen=True)
class Size:
    units: str


class Own(Strategy):
    size = Size("0.01")

    def on_bar(self, ctx, bar):
        ctx.target(bar.symbol, helped(self.size))


def helped(size):
    return size.units


METHOD and multiprocessing.set_start_method(METHOD)
space = {"size": [Size(f"0.0{each}") for each in range(1, 7)]}
found = optimise(Own, space, {"BTCUSDC": walk(1, 40)}, maximise="profit", workers=WORKERS, progress=False)
print(len(found.table), (found.table["status"] == "ok").sum(), len(set(found.table["profit"])))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "method", "workers"),
    [
        ("script", "", 2),
        ("script", "", None),
        ("module", "", 2),
        ("notebook", "", 2),
        ("repl", "", 2),
        ("script", "spawn", 2),
        ("script", "forkserver", None),
    ],
)
def test_what_calls_a_search_runs_once_however_it_was_started(
    tmp_path: Path, way: str, method: str, workers: int | None
) -> None:
    if method and method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"{method} is not on this system")
    sent = tmp_path / "sent.txt"
    source = ORDERING.replace("PLACE", repr(str(sent))).replace("METHOD", repr(method))
    source = source.replace("= COST", "= 0.0").replace("WORKERS", repr(workers))
    script = tmp_path / "ordering.py"
    script.write_text(source, encoding="utf-8")
    shell = f"from IPython.core.interactiveshell import InteractiveShell as S\nS().run_cell({source!r})"
    line, typed = {
        "script": ([str(script)], ""),
        "module": (["-m", "ordering"], ""),
        "notebook": (["-c", shell], ""),
        "repl": (["-i", "-q"], f"exec({source!r})\n"),
    }[way]
    root = str(Path(__file__).resolve().parents[3])
    places = {**os.environ, "PYTHONPATH": os.pathsep.join([root, str(tmp_path)])}
    done = subprocess.run(
        [sys.executable, *line], input=typed, capture_output=True, text=True, timeout=120, env=places, cwd=tmp_path
    )
    assert done.stdout.split()[-3:] == ["6", "6", "6"], done.stdout + done.stderr
    assert sent.read_text() == "FILLED "


@pytest.mark.slow
def test_a_killed_search_leaves_no_worker_behind_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    file = tmp_path / "points.jsonl"
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        space = {"port": [server.getsockname()[1]], "a": [1, 2, 3, 4]}
        search = f"optimise(connected, {space}, maximise='value', workers=2, results={str(file)!r})"
        script = tmp_path / "script.py"
        lines = (
            "from tests.research.tasks import connected\nfrom toolkit.research import optimise\n"
            f"if __name__ == '__main__':\n    {search}\n"
        )
        script.write_text(lines, encoding="utf-8")
        places = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
        with (
            subprocess.Popen([sys.executable, str(script)], env=places, stderr=subprocess.PIPE) as parent,
            contextlib.ExitStack() as lines_up,
        ):
            workers = [lines_up.enter_context(server.accept()[0]) for _ in range(2)]
            assert [line.recv(1) for line in workers] == [b"x", b"x"]
            workers.pop().sendall(b"y")
            assert parent.stderr is not None
            shown = b""
            while not re.search(rb"1/4 \[\d\d:\d\d<\d\d:\d\d", shown):  # done, time taken < time left
                more = parent.stderr.read1()
                assert more, shown.decode()
                shown += more
            workers.append(lines_up.enter_context(server.accept()[0]))
            assert workers[1].recv(1) == b"x"
            parent.kill()
            for line in workers:
                line.settimeout(60)
                with contextlib.suppress(ConnectionResetError):  # what the end of a process looks like on Windows
                    assert line.recv(1) == b"", "the worker still runs"

        done = len(file.read_text(encoding="utf-8").splitlines()) - 2  # the header
        assert done == 1

        def answer() -> None:
            for _ in range(4 - done):
                with server.accept()[0] as line:
                    line.recv(1)  # closing a line with something unread would reset it
                    line.sendall(b"y")

        answers = threading.Thread(target=answer)
        answers.start()
        found = optimise(connected, space, maximise="value", workers=0, results=file, progress=False)
        answers.join()
    assert found.table["value"].tolist() == [1, 2, 3, 4]
    assert found.best["a"] == 4


def test_options_are_told_apart_by_their_values(tmp_path: Path) -> None:
    """The text of a long Series leaves out its middle; the results of another one must not come back."""
    path, rates = tmp_path / "points.jsonl", pd.Series(range(1000), dtype="float64")
    other = rates.replace(500.0, -1.0)
    for given, expected in ((rates, 499_500.0), (other, 498_999.0), (rates.copy(), 499_500.0)):
        table = sweep(total, {"a": [0]}, workers=0, results=path, progress=False, rates=given, more=[given.to_numpy()])
        assert table["value"].tolist() == [expected]
    assert len(path.read_text(encoding="utf-8").splitlines()) == 4, "the header, twice, and two points"


def test_a_task_that_exits_fails_alone() -> None:
    for workers in (0, 1):
        table = sweep(leaving, {"a": [0, 1, 2]}, workers=workers, progress=False)
        assert table["status"].tolist() == ["ok", "failed", "ok"]
        assert table["error"].iloc[1] == "SystemExit: 3"


def test_a_results_file_knows_the_code_and_says_what_is_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def made(factor: int) -> Any:
        def task(k: int) -> float:
            return float(k * factor)

        return task

    def values(task: Any) -> list[float]:
        table = sweep(task, {"k": [1, 2]}, results=tmp_path / "points", workers=0, progress=False)
        return [float(value) for value in table["value"]]

    assert (values(made(2)), capsys.readouterr().out) == ([2.0, 4.0], "")
    assert (values(made(2)), capsys.readouterr().out) == ([2.0, 4.0], "")
    assert values(made(3)) == [3.0, 6.0]
    assert capsys.readouterr().out == "2 points are in the file for other code, data or options. They run again\n"
    double, treble = (eval(f"lambda k: float(k * {factor})") for factor in (2, 3))
    assert (values(double), values(treble)) == ([2.0, 4.0], [3.0, 6.0])


@pytest.mark.slow
def test_the_hash_of_code_is_the_same_in_another_process_and_follows_what_is_called() -> None:
    source = "import sys\nfrom toolkit.research.analysis.fingerprints import code_of\n{}\nprint(code_of(task))"
    helper = "def inner(x):\n    return x in {{'a', 'b', {}}}\ndef task(k):\n    return inner(k)"

    def printed(number: str, seed: str) -> str:
        command = [sys.executable, "-c", source.format(helper.format(number))]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout

    assert printed("'c'", "1") == printed("'c'", "2") != printed("'d'", "1")


WAITING = """
import os, sys, threading
from pathlib import Path
from toolkit.research import sweep

def wait(folder, a):
    Path(folder, str(os.getpid())).touch()
    os.write(1, b"waits\\n")  # whole, while the other worker writes too
    threading.Event().wait(60)

if __name__ == "__main__":
    sweep(wait, {"a": range(4)}, sys.argv[1], workers=2, progress=False)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="an interrupt of one process is a signal")
def test_an_interrupt_ends_the_workers_in_the_middle_of_their_points(tmp_path: Path) -> None:
    script, seen = tmp_path / "waiting.py", tmp_path / "seen"
    script.write_text(WAITING, encoding="utf-8")
    seen.mkdir()
    line = [sys.executable, str(script), str(seen)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["waits\n"] * 2
        workers = [psutil.Process(int(path.name)) for path in seen.iterdir()]
        process.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt\n0 of 4 points are done." in process.communicate(timeout=30)[1]
    assert len(workers) == 2
    assert psutil.wait_procs(workers, timeout=20)[1] == []
