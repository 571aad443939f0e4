"""Splits, spaces, scores and points by second computations, and each of their limits."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import statistics
import sys
import types
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.research.markets import Wandering, walk
from toolkit.errors import InputError, ToolkitError
from toolkit.research import Results, optimise, sweep, trials, vectorised, walk_forward
from toolkit.research.analysis.fingerprints import code_of, fingerprint
from toolkit.research.selection import forward, optimising, points, sweeps
from toolkit.research.selection.optimising import score

QUIET: dict[str, Any] = {"workers": 0, "progress": False}


def plain_splits(
    index: pd.DatetimeIndex, train: Any, test: Any, step: Any, gap: Any, anchored: bool
) -> list[tuple[Any, ...]]:
    """Return the splits by position and time, found by counting the rows before each time."""
    spacing = statistics.median([b - a for a, b in itertools.pairwise(index)]) if len(index) > 1 else pd.Timedelta(0)

    def after(begin: int, size: Any) -> int | None:
        if begin >= len(index):
            return None
        if isinstance(size, int):
            return begin + size if begin + size <= len(index) else None
        until = index[begin] + pd.Timedelta(size)
        return sum(time < until for time in index) if until <= index[-1] + spacing else None

    edges, found, begin = [*index, index[-1] + pd.Timedelta("1ms")], [], 0
    while True:
        ends = after(begin, train)
        starts = ends if ends is None or gap in (0, "0D") else after(ends, gap)
        stops = None if starts is None else after(starts, test)
        if ends is None or starts is None or stops is None or starts >= len(index):
            return found
        rows = (0 if anchored else begin, ends, starts, stops)
        found.append((len(found), *rows, *(edges[row] for row in rows)))
        following = after(begin, test if step is None else step)
        if following is None or following >= len(index):
            return found
        begin = following


@pytest.mark.parametrize("seed", range(30))
def test_splits_of_rows_and_of_times_are_those_found_by_counting(seed: int) -> None:
    dice = random.Random(seed)
    minutes = sorted(dice.sample(range(400), 60)) if seed % 2 else [6 * number for number in range(60)]
    index = pd.DatetimeIndex(pd.Timestamp("2026-01-01", tz="UTC") + pd.to_timedelta(minutes, "min"))
    rows, spans = [1, 3, 7, 10, 20], ["30min", "45min", "1h", "2h"]
    train, test = dice.choice(rows + spans), dice.choice(rows + spans)
    step, gap = dice.choice([None, *rows, *spans]), dice.choice([0, "0D", 1, 4, "12min"])
    anchored = dice.random() < 0.3
    expected = plain_splits(index, train, test, step, gap, anchored)
    options = {"train": train, "test": test, "step": step, "gap": gap, "anchored": anchored}
    if not expected:
        with pytest.raises(InputError, match="60 rows do not hold one training part"):
            walk_forward(index, **options)
        return
    found = walk_forward(index, **options)
    assert [tuple(getattr(split, name) for name in split.__slots__) for split in found] == expected


def test_splits_have_these_defaults_and_bounds() -> None:
    index = pd.date_range("2026-01-01", periods=10, freq="D", tz="UTC")
    assert walk_forward(index, train=4, test=2) == walk_forward(index, train=4, test=2, step=2, gap=0, anchored=False)
    assert len(walk_forward(index, train=5, test=5)) == len(walk_forward(index, train="5D", test="5D")) == 1
    assert walk_forward(index, train=5, test=5)[0].test_until == index[-1] + pd.Timedelta("1ms")
    for sizes in ({"train": 5, "test": 6}, {"train": 10, "test": 1}, {"train": "5D", "test": "121h"}):
        with pytest.raises(InputError, match="10 rows do not hold one training part of"):
            walk_forward(index, **sizes)  # type: ignore[call-overload]
    with pytest.raises(InputError, match="0 rows do not hold"):
        walk_forward(index[:0], train=1, test=1)
    assert len(walk_forward(index[:2], train=1, test=1)) == 1
    with pytest.raises(InputError, match="10 rows do not hold one training part of 5 and one test part"):
        walk_forward(index, train=5, test=2, gap=9)
    for name, sizes in (
        ("train", {"train": 0, "test": 1}),
        ("test", {"train": 1, "test": "0D"}),
        ("step", {"train": 1, "test": 1, "step": -1}),
    ):
        with pytest.raises(InputError, match=f"{name} is .*, but must be positive"):
            walk_forward(index, **sizes)  # type: ignore[call-overload]


def test_splits_keep_the_times_of_the_data() -> None:
    """Times without a zone stay without one, and parts of a millisecond stay too. A time column comes before them."""
    naive = pd.DataFrame({"x": range(6)}, pd.date_range("2026-01-01 00:00:00.0000005", periods=6, freq="D"))
    split = walk_forward(naive, train=2, test=2)[1]
    assert (split.train_from, split.test_from, split.test_until) == (
        naive.index[2],
        naive.index[4],
        naive.index[5] + pd.Timedelta("1ms"),
    )
    assert split.train(naive)["x"].tolist() == [2, 3]
    assert split.test(naive["x"]).tolist() == [4, 5]
    timed = naive.assign(time=pd.date_range("2026-03-01", periods=6, freq="h", tz="UTC"))
    assert walk_forward(timed, train=2, test=2)[0].test_from == pd.Timestamp("2026-03-01 02:00", tz="UTC")
    mixed = {"A": naive[:3], "B": naive[2:]}
    assert walk_forward(mixed, train=2, test=2) == walk_forward(naive, train=2, test=2)
    shuffled = naive.iloc[[1, 0, 2, 3, 4, 5]]
    with pytest.raises(InputError, match=r"the times are not increasing\. Sort the rows first"):
        walk_forward(shuffled, train=2, test=2)
    assert walk_forward(shuffled.assign(Symbol="A"), train=2, test=2) == walk_forward(naive, train=2, test=2)
    for wrong in (5, pd.Index([1, 2, 3]), pd.DataFrame({"x": [1]})):
        with pytest.raises(InputError, match="DatetimeIndex"):
            walk_forward(wrong, train=1, test=1)


def test_parts_of_data_that_ends_before_are_empty_and_a_warm_up_stops_at_the_first_row() -> None:
    index = pd.date_range("2026-01-01", periods=10, freq="D", tz="UTC")
    table = pd.DataFrame({"x": range(10)}, index)
    split = walk_forward(index, train=6, test=2, step=2)[0]
    assert split.test(table[:6]).empty
    assert split.test(table[:6], 3)["x"].tolist() == [3, 4, 5], "what leads into a test without rows"
    assert split.test(table, 2)["x"].tolist() == [4, 5, 6, 7]
    assert split.test(table, 99)["x"].tolist() == list(range(8))
    assert split.test({"A": table, "B": table[:7]}, 1)["B"]["x"].tolist() == [5, 6]


def test_a_walk_forward_joins_its_tests_without_counting_an_edge_twice() -> None:
    def held(data: Any, size: float) -> Results:
        return vectorised(data, np.full(len(data), size), fee=0.0, funding=None)

    trials.clear()
    data = walk(3, 120)
    found = walk_forward(held, {"size": [0.01, -0.02]}, data, train=40, test=30, maximise="profit", **QUIET)
    assert (found.frame.index.name, len(found.runs), len(trials)) == ("split", 2, 4)
    assert list(found.frame.columns)[:5] == ["test_from", "test_until", "size", "trained", "pbo"]
    level, expected = 10_000.0, {}
    for run in found.runs:
        curve = run.equity["equity"]
        expected |= dict(zip(curve.index, curve / curve.iloc[0] * level, strict=True))
        level = expected[curve.index[-1]]
    assert found.equity.to_dict() == pytest.approx(expected)
    for row, split in zip(found.frame.itertuples(), walk_forward(data, train=40, test=30), strict=True):
        best = max(held(split.train(data), size).metrics()["profit"] for size in (0.01, -0.02))
        assert row.trained == pytest.approx(best)
        assert row.test_from == split.test_from
    trials.clear()


def test_a_space_has_ranges_of_two_numbers_and_choices_of_all_else() -> None:
    def tried(values: Any, **search: Any) -> list[Any]:
        found = optimise(lambda a: 1.0, {"a": values}, maximise="value", **search, **QUIET)
        return [params["a"] for params in found.params]

    for choices in ([1, 2], (1, 2, 3), (1,), ("a", "b"), (1, "b"), range(2), np.array([1, 2])):
        assert tried(choices) == list(choices)
        assert sorted(map(str, tried(choices, method="random", points=9))) == sorted(map(str, choices))
    assert sorted(tried((1, 3), method="random", points=9)) == [1, 2, 3], "whole numbers, with both ends"
    drawn = tried((1, 3.0), method="random", points=30)
    assert len(set(drawn)) == 30
    assert all(1 <= value < 3 and value % 1 for value in drawn)
    assert drawn == tried((1, 3.0), method="random", points=30) != tried((1, 3.0), method="random", points=30, seed=8)
    for wrong, words in (("ab", "is 'ab'. Give a list"), (5, "is 5. Give a list"), ([], "has no values")):
        with pytest.raises(InputError, match=re.escape(f"space['a'] {words}")):
            tried(wrong)


def test_constraints_take_their_parameters_by_name_or_all_as_a_mapping() -> None:
    def kept(*constraints: Any) -> list[dict[str, Any]]:
        space = {"a": [1, 2, 3], "b": [1, 2]}
        given = constraints[0] if len(constraints) == 1 else list(constraints)
        return list(optimise(lambda a, b: 1.0, space, constraints=given, maximise="value", **QUIET).params)

    assert kept(lambda a, b: a < b) == kept(lambda p: p.a < p["b"]) == [{"a": 1, "b": 2}]
    assert kept(lambda a: a > 1, lambda b: b > 1) == [{"a": 2, "b": 2}, {"a": 3, "b": 2}]


def test_bayes_is_quiet_and_ends_when_nothing_new_is_suggested(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def task(a: int) -> float:
        return -abs(a - 2.0) if a != 3 else math.nan

    count = itertools.count()

    def never(a: int) -> bool:
        return next(count) < 0

    monkeypatch.setattr(optimising, "ATTEMPTS", 30)
    found = optimise(task, {"a": [1, 2, 3]}, method="bayes", points=9, maximise="value", **QUIET)
    assert sorted(params["a"] for params in found.params) == [1, 2, 3]
    assert found.best == {"a": 2}
    for method, attempts in (("bayes", 30), ("random", 30), ("grid", 50)):
        count = itertools.count()
        with pytest.raises(InputError, match="no point of the space meets the constraints"):
            optimise(task, {"a": range(50)}, method=method, points=5, constraints=never, **QUIET)  # type: ignore[arg-type]
        assert next(count) == attempts
    uneven = optimise(task, {"a": [2, 4, 7]}, method="bayes", points=9, maximise="value", **QUIET)
    assert sorted(params["a"] for params in uneven.params) == [2, 4, 7], "no number between them"
    few = optimise(task, {"a": (1, 50)}, method="bayes", points=4, maximise="value", **QUIET)
    assert len(few.table) == len({params["a"] for params in few.params}) == 4
    assert capfd.readouterr() == ("", "")


def a_record(status: str = "ok", **values: Any) -> dict[str, Any]:
    return {"status": status, "values": {name: points.plain_value(value) for name, value in values.items()}}


def test_a_score_is_the_measure_its_negative_or_what_a_function_makes_of_all() -> None:
    record = a_record(a=2.5, span=pd.Timedelta("2min"), whole=3, text="x", returns=np.zeros(2))
    assert [score(record, name) for name in ("a", "-a", "span", "-span", "whole")] == [2.5, -2.5, 120.0, -120.0, 3.0]
    assert score(record, lambda values: len(values) * 1.0) == 4.0, "without the returns"
    assert math.isnan(score(a_record("failed", a=1.0), "a"))
    with pytest.raises(InputError, match="text is 'x', not a number to maximise"):
        score(record, "-text")
    with pytest.raises(InputError, match="Did you mean 'span'"):
        score(record, "spam")


def test_an_optimisation_says_its_best_point_and_why_there_is_none() -> None:
    def task(a: int) -> dict[str, float]:
        if a > 2:
            raise ValueError("too large")
        return {"x": 5.0 if a else math.nan, "y": math.nan}

    found = optimise(task, {"a": [3, 0, 1, 2]}, maximise="x", **QUIET)
    assert (found.best, found.maximise, found.names) == ({"a": 1}, "x", ("a",)), "of equal ones the first"
    assert repr(found) == "Optimisation(4 points, x 5 at a=1)"
    assert found.table["status"].tolist() == ["failed", "ok", "ok", "ok"]
    assert np.isnan(found.scores).tolist() == [True, True, False, False]
    assert "returns" not in found.table.columns
    assert math.isnan(found.pbo)
    with pytest.raises(ToolkitError, match="the task returned dict, not Results"):
        _ = found.run
    with pytest.raises(ToolkitError, match="none of 2 points has a score: y is NaN at all of them"):
        _ = optimise(task, {"a": [0, 1]}, maximise="y", **QUIET).best
    with pytest.raises(ToolkitError, match="none of 2 points has a score: the first error is ValueError: too large"):
        _ = optimise(task, {"a": [4, 3]}, maximise="y", **QUIET).best
    named = optimise(task, {"a": [1]}, maximise=max_of, **QUIET)
    assert (named.maximise, named.scores.tolist()) == ("max_of", [5.0])
    assert optimise(task, {"a": [1]}, maximise=partial(max_of), **QUIET).maximise == "score"


def max_of(values: Any) -> float:
    return values["x"]


ROUND = [
    True, 5, "x", 0.5, -0.0, math.inf, -math.inf, pd.Timestamp("2026-01-01 00:00:00.000000001", tz="UTC"),
    pd.Timedelta("-1.5s"), np.float64(0.25), np.int32(7), np.bool_(True), np.array(2.5), np.array([1, 2]),
    np.array([1.0, math.inf, -2.0]), np.float64(math.inf),
]  # fmt: skip


@pytest.mark.parametrize("value", ROUND, ids=map(repr, ROUND))
def test_values_of_a_record_are_json_and_come_back(value: Any) -> None:
    plain = points.plain_value(value)
    text = json.dumps(plain, allow_nan=False)
    back = points.from_plain(json.loads(text))
    if isinstance(value, np.ndarray) and value.ndim:
        assert back.tolist() == value.tolist()
        assert back.dtype == "float64"
    else:
        assert back == value
        assert type(back) in (bool, int, float, str, pd.Timestamp, pd.Timedelta)
    assert repr(back) == repr(value) or not isinstance(value, float) or isinstance(value, np.floating)


def test_values_that_are_none_missing_or_strange_are_kept_as_none_or_text() -> None:
    assert [points.plain_value(value) for value in (None, pd.NaT)] == [None, None]
    assert math.isnan(points.from_plain(points.plain_value(math.nan)))
    assert np.isnan(points.from_plain(points.plain_value(np.array([math.nan, 1.0])))).tolist() == [True, False]
    assert points.plain_value([1, "a"]) == "[1, 'a']"
    assert points.from_plain(None) is None


def test_a_point_runs_with_its_seed_and_data_only_where_they_are_given() -> None:
    def task(*given: Any, **more: Any) -> tuple[Any, ...]:
        return given, more

    assert points.run_point(task, None, {"o": 1}, {"a": 2}, None) == ((), {"a": 2, "o": 1})
    assert points.run_point(task, [5], {}, {"a": 2}, 0) == (([5],), {"a": 2, "seed": 0})
    repeatable = points.run_point(Wandering, walk(1, 20), {}, {"every": 3}, 4)
    assert repeatable.settings["seed"] == 4
    assert repeatable.rerun().fills.equals(repeatable.fills)
    measured = points.run_point(Wandering, walk(1, 20), {}, {"every": 3}, None, repeatable=False)
    with pytest.raises(ToolkitError, match="was not kept"):
        measured.rerun()
    assert [points.is_strategy(one) for one in (Wandering, Wandering(), dict, len)] == [True, False, False, False]


def test_the_record_of_a_point_says_how_it_ended() -> None:
    trials.clear()
    point = points.Point("k", {"a": np.int64(1)}, 7)
    good = points.execute((lambda a, seed: {"x": a, 5: seed}, None, {}), point)
    assert good.pop("seconds") < 60
    assert good == {
        "key": "k", "params": {"a": 1}, "seed": 7, "status": "ok", "error": "", "values": {"x": 1, "5": 7}, "trace": "",
    }  # fmt: skip
    bad = points.execute((lambda a, seed: {}["b"], None, {}), point)
    assert (bad["status"], bad["error"], bad["values"]) == ("failed", "KeyError: 'b'", {})
    assert '{}["b"]' in bad["trace"]
    assert bad["seconds"] < 60
    assert points.execute((lambda a, seed: 2.5, None, {}), point)["values"] == {"value": 2.5}
    assert points.execute((lambda a, seed: pd.Series({"y": 1.0}), None, {}), point)["values"] == {"y": 1.0}
    strange = points.execute((lambda a, seed: "text", None, {}), point)
    assert strange["error"] == "InputError: the task returned str. Return Results, a mapping, a Series or a number"
    wanted = points.Point("k", {}, None, True)
    assert points.execute((lambda: 1, None, {}), wanted)["values"] == {"value": 1, "returns": None}
    run = points.execute((lambda: vectorised(walk(1, 20), np.ones(20)), None, {}), wanted)
    assert len(run["values"]["returns"]["$array"]) == 20
    assert len(trials) == 0, "the sweep counts its points itself"


def made(body: str) -> Any:
    space: dict[str, Any] = {"LIMIT": 1, "np": np}
    exec(body, space)
    return space["task"]


SAME = "def task(a, b=1, *, c=2):\n    return [a + b for _ in {1, 2}]\n"


BODIES = [
    SAME,
    "def task(a, b=1, *, c=2):\n    return [a - b for _ in {1, 2}]\n",
    "def task(a, b=2, *, c=2):\n    return [a + b for _ in {1, 2}]\n",
    "def task(a, b=1, *, c=3):\n    return [a + b for _ in {1, 2}]\n",
    "def task(a, b=1, *, d=2):\n    return [a + b for _ in {1, 2}]\n",
    "def task(a, b=1, *, c=2):\n    return [a + b for _ in {1, 3}]\n",
    "def task(a, b=1, *, c=2):\n    return [a + LIMIT for _ in {1, 2}]\n",
    "class task:\n    x = 1\n",
    "class task:\n    x = 2\n",
    "class task:\n    def __call__(self): return 1\n",
    "class task:\n    def __call__(self): return 2\n",
    "class task(int):\n    x = 1\n",
    "from functools import partial\ntask = partial(max, 1)\n",
    "from functools import partial\ntask = partial(max, 2)\n",
    "from functools import partial\ntask = partial(max, key=abs)\n",
]


def test_the_hash_of_code_differs_with_what_the_code_does() -> None:
    hashes = [code_of(made(body)) for body in BODIES]
    assert len(set(hashes)) == len(BODIES)
    assert hashes == [code_of(made(body)) for body in BODIES]


def test_the_hash_of_code_follows_closures_but_not_what_a_task_changes() -> None:
    def closing(held: Any) -> Any:
        def task() -> Any:
            return held

        return task

    assert code_of(closing(1)) != code_of(closing(2))
    assert code_of(closing(np.array([1]))) != code_of(closing(np.array([2])))
    assert code_of(closing([1])) != code_of(closing([2]))
    assert code_of(closing(closing(1))) != code_of(closing(closing(2)))
    assert code_of(Results) == code_of(Results) != code_of(trials.add)


def test_a_sweep_counts_its_points_and_keeps_their_seconds_and_tracebacks(tmp_path: Path) -> None:
    def task(a: int) -> dict[str, float]:
        return {"sharpe": 1.0 / a, "a": 9.0}

    trials.clear()
    table = sweep(task, {"a": [1, 0, 2]}, results=tmp_path / "r.jsonl", **QUIET)
    assert table["a"].tolist() == [1, 0, 2], "a value does not replace a parameter"
    assert list(table.columns) == ["a", "status", "error", "sharpe"]
    assert list(table.attrs["traces"]) == [1]
    assert len(table.attrs["seconds"]) == 3
    assert trials.frame()["sharpe"].tolist() == [1.0, 0.5]
    again = sweep(task, {"a": [1, 0, 2, 3]}, results=tmp_path / "r.jsonl", **QUIET)
    assert again.attrs["seconds"][:3] == table.attrs["seconds"]
    assert len(trials) == 3
    assert [combination["b"] for combination in sweeps.combinations_of({"b": iter("xy")})] == ["x", "y"]
    assert sweeps.combinations_of([{"b": 1}, {"c": 2}]) == [{"b": 1}, {"c": 2}]
    trials.clear()
    assert forward.SEARCH == ("maximise", "constraints", "method", "points", "seed", "workers", "client")


def test_a_summary_holds_the_best_point_its_counts_and_its_luck() -> None:
    def held(data: Any, size: float) -> Results:
        if size > 1:
            raise ValueError("large")
        return vectorised(data, np.full(len(data), size), funding=None)

    trials.clear()
    found = optimise(held, {"size": [0.01, -0.02, 0.03, 2.0]}, walk(3, 240), **QUIET)
    table = found.summary()
    head = {"size": found.best["size"], "score": np.nanmax(found.scores), "points": 4, "failed": 1, "pbo": found.pbo}
    assert table[list(head)].to_dict() == head
    assert list(table.index)[: len(head)] == list(head)
    pd.testing.assert_series_equal(table.iloc[5:], found.run.luck().astype("object"), check_names=False)
    assert table["sharpe_low"] < found.summary(confidence=0.5)["sharpe_low"]
    assert (table.name, table["trials"]) == ("best sharpe", 3)
    assert found.returns.shape == (240, 3)
    trials.clear()


def test_fingerprints_differ_with_values_names_and_times() -> None:
    table = walk(1, 5)
    assert (
        len({fingerprint(each) for each in (table, table + 1, table.rename(columns={"low": "l"}), table[1:], None)})
        == 5
    )
    assert fingerprint(None) == ""
    assert fingerprint({"a": None, "b": table}) == f"a:,b:{fingerprint(table)}"
    assert fingerprint(table["low"]) != fingerprint(table["high"])
    assert fingerprint(table) == fingerprint(table.copy())
    assert fingerprint(np.array([1, 2])) != fingerprint(np.array([1, 3]))
    assert len(fingerprint(table)) == len(fingerprint([1])) == len(code_of(max_of)) == 32


def test_a_point_is_another_with_other_parameters_seeds_data_or_options() -> None:
    def key(data: Any = None, seeds: Any = None, option: int = 0, task: Any = max_of, **params: Any) -> str:
        [point] = sweeps.make_points(task, [params], data, seeds, {"option": option})
        return str(point.key)

    one = key(a=1)
    assert key(a=1) == one, "a point of the same name is run once"
    assert key(a=1, b=2) == key(b=2, a=1)
    values: list[Any] = [2, 1.0, "1", [1], (1,), None, {"b": 1}, np.array([1]), np.array([2]), [np.array([1])], max_of]
    others = [key(a=value) for value in values]
    others += [key(b=1), key(a=1, seeds=[1]), key(a=1, seeds=[2]), key(walk(1, 5), a=1), key(walk(2, 5), a=1)]
    others += [key(a=1, option=1), key(a=1, task=min)]
    assert len({one, *others}) == 1 + len(others)


def test_sizes_may_come_from_numpy_and_must_be_whole() -> None:
    index = pd.date_range("2026-01-01", periods=20, freq="h", tz="UTC")
    assert walk_forward(index, train=np.int64(10), test=np.int64(5)) == walk_forward(index, train=10, test=5)
    for size in (10.0, "ten"):
        with pytest.raises(InputError, match=r"Give rows .* or a length of time"):
            walk_forward(index, train=size, test=5)


def test_times_may_stand_in_a_column_as_in_a_backtest() -> None:
    frame = walk(3, 60, every="D")
    column = frame.rename_axis("time").reset_index()
    long = pd.concat([column.assign(symbol=name) for name in ("A", "B")])
    plain = walk_forward(frame, train=30, test=10)
    for data in (column, long, {"A": column}, column.assign(time=column["time"].astype("int64"))):
        splits = walk_forward(data, train=30, test=10)
        assert [(s.train_from, s.test_from, s.test_until) for s in splits] == [
            (s.train_from, s.test_from, s.test_until) for s in plain
        ]
        part = splits[1].test(data["A"] if isinstance(data, dict) else data, warm_up=5)
        assert len(part) == (30 if data is long else 15)


EDITS = {
    "a module's function": ("import helper\ndef task(): return helper.rate()", "def rate(): return {}"),
    "a module's number": ("import helper\ndef task(): return helper.RATE", "RATE = {}"),
    "a module inside a module": (
        "import helper\ndef task(): return helper.deep.RATE", "import types\ndeep = types.SimpleNamespace(RATE={})"
    ),
    "an import inside the task": ("def task():\n    import helper\n    return helper.RATE", "RATE = {}"),
    "a global mapping": ("TABLE = {{'a': {}}}\ndef task(): return TABLE['a']", ""),
    "a global list": ("TABLE = [0, {}]\ndef task(): return TABLE[1]", ""),
    "a global array": ("import numpy\nTABLE = numpy.array([0, {}])\ndef task(): return TABLE[1]", ""),
    "a global object": ("class Held: pass\nHELD = Held()\nHELD.rate = {}\ndef task(): return HELD.rate", ""),
    "a global object's method": (
        "class Held:\n    def rate(self): return {}\nHELD = Held()\ndef task(): return HELD.rate()", ""
    ),
    "inside a comprehension": ("RATE = [{}]\ndef task(): return [RATE[0] for _ in range(2)]", ""),
    "a property": ("class task:\n    @property\n    def rate(self): return {}", ""),
    "a wrapper": (
        "import functools\ndef more(f):\n    @functools.wraps(f)\n    def wrapped(): return f() + {}\n"
        "    return wrapped\n@more\ndef task(): return 1", ""
    ),
    "a mapping beside a list that grows": (
        "TABLE = {{'a': {}}}\ndef task():\n    out = []\n    out.append(TABLE['a'])\n    return out", ""
    ),
    "a mapping beside a mapping that is filled": (
        "TABLE = {{'a': {}}}\ndef task():\n    out = {{}}\n    out['a'] = TABLE['a']\n    return out", ""
    ),
    "the name of a series": ("import pandas\nS = pandas.Series([1.0], name='n{}')\ndef task(): return S.name", ""),
    "a default": ("def task(rate=({},)): return rate", ""),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_what_a_task_refers_to_is_another_task(edit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, module = EDITS[edit]
    hashes = []
    for number in (1, 2, 1):
        helper = types.ModuleType("helper")
        exec(module.format(number), helper.__dict__)
        monkeypatch.setitem(sys.modules, "helper", helper)
        space: dict[str, Any] = {"__name__": "written_here"}
        exec(source.format(number), space)
        hashes.append(code_of(space["task"]))
    assert hashes[0] == hashes[2] != hashes[1]


BLIND = {
    "lock": "import threading\nLOCK = threading.Lock()\ndef task(a): LOCK.locked(); return float(a)",
    "names that globals may read": "RATE = 1\ndef task(a): return a * globals()['RATE']",
    "names that getattr may read": "import helper\ndef task(a): return getattr(helper, 'RATE') * a",
    "a list that the task may change": "CALLS = []\ndef task(a): CALLS.append(a); return len(CALLS) * 0 + a",
}


@pytest.mark.parametrize("what", BLIND)
def test_what_a_fingerprint_cannot_contain_is_said(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    helper: Any = types.ModuleType("helper")
    helper.RATE = 1
    monkeypatch.setitem(sys.modules, "helper", helper)
    space: dict[str, Any] = {"__name__": "written_here"}
    exec(BLIND[what], space)
    sweep(space["task"], {"a": [1]}, results=tmp_path / "r.jsonl", **QUIET)
    assert f"cannot notice changes of {what}" in capsys.readouterr().out


def test_constraints_in_another_form_name_the_one_that_works() -> None:
    def made(**options: Any) -> Any:
        return optimise(
            lambda fast, slow: {"value": fast}, {"fast": [1, 2], "slow": [1, 2]}, maximise="value", **QUIET, **options
        )

    with pytest.raises(InputError, match="'fast<slow', but a constraint is a function: lambda fast, slow: fast < slow"):
        made(constraints="fast<slow")
    with pytest.raises(InputError, match=r"reads 'max_drawdown', which is no parameter.*maximise=lambda m"):
        made(constraints=lambda m: m["max_drawdown"] > -0.2)
    assert made(constraints=lambda fast, slow: fast < slow).best == {"fast": 1, "slow": 2}
