"""Sweep: one task over a grid of parameters and seeds, in local processes or on a Dask cluster, resumable.

Every point is independent and deterministic, so the resulting frame does not depend on the number of workers, their
speed, or interruptions.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...errors import InputError
from ...guards import no_keys
from ...interchange import to_pandas
from ..analysis.fingerprints import code_of, fingerprint, idea_of
from ..analysis.history import resolved
from ..analysis.luck import trials
from ..data.bars import read_bars
from .points import Point, Record, RecordFile, from_plain, is_strategy, plain_value, runner

if TYPE_CHECKING:
    from tqdm import tqdm


@no_keys
def sweep(
    task: object,
    grid: Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Any]],
    data: object = None,
    *,
    seeds: Sequence[int] | None = None,
    workers: int | None = None,
    client: object = None,
    results: str | Path | None = None,
    retry_failed: bool = False,
    progress: bool = True,
    **options: object,
) -> pd.DataFrame:
    """Run a task at every point of a grid and return one row a point, in grid order.

    A failed point keeps its row and its error. Interrupting stops the workers and keeps the file. Points are
    distinguished by task, data and options, and by a hash of the task's code. The hash includes what the code refers
    to, also through your own modules, the values of its globals, and the versions of Python and this toolkit. It cannot
    include files, the network, or containers that the task changes itself, and a line names values of which it cannot
    be made. Points of other code are run again, and a line says so.

    Parameters
    ----------
    task : class or callable
        A Strategy class (each point is `backtest(task(**params), data, seed=seed, **options)`), or any function, called
        as `task(data, **params, seed=seed, **options)`, without data and seed unless given. It returns Results, a
        mapping of values, a Series, or a number.
    grid : mapping of str to iterable of object or sequence of mapping of str to object
        Values of each parameter (their product is swept), or a list of parameter mappings.
    data : DataFrame, Recording, Events or mapping, optional
        Data that the task takes, as in `backtest` (default: none).
    seeds : sequence of int, optional
        Seeds that each point runs with (default: the task's).
    workers : int, optional
        Processes on this machine, 0 runs in this process. By default points run in this process, and in one for each
        other core once their time shows that this pays. Processes are kept for the next sweep for a minute. They
        receive the task by value, and never run the script or notebook again that calls.
    client : distributed.Client, optional
        Dask cluster on which the same points run (default: none).
    results : str or Path, optional
        File of JSON lines to which each finished point is appended (default: none). Its points are not run again, so an
        interrupted or crashed sweep continues.
    retry_failed : bool, optional
        True runs failed points of `results` again (default: False).
    progress : bool, optional
        True shows a progress bar (default: True).
    **options : object
        Further arguments of the task.

    Returns
    -------
    DataFrame
        One row a point. `attrs["traces"]` has the tracebacks by row, `attrs["seconds"]` the seconds of each point:

        - the parameters, and seed if seeds were given
        - status: "ok" or "failed"
        - error: type and text of the error, "" for none
        - the values that the task returned, of Results their measures

    Raises
    ------
    InputError
        For a grid without points, and for values that the task must not return.

    Examples
    --------
    >>> found = research.sweep(Cross, {"fast": [3, 5]}, bars, workers=0, progress=False)
    >>> found[["fast", "sharpe"]].round(2).values.tolist()
    [[3.0, 4.52], [5.0, 4.03]]
    """
    data = to_pandas(data) if is_strategy(task) else data
    points = make_points(task, combinations_of(grid), data, seeds, options, named=results is not None)
    if not points:
        raise InputError("the grid has no points", field="grid", rule="not empty")
    with (
        RecordFile(results, retry_failed) as store,
        progress_bar(len(points), progress) as bar,
        runner(task, *prepared(task, data, options), workers, client) as run,
    ):
        records = evaluate(points, run, store, bar)
    return table_of(points, records, seeds is not None)


def evaluate(
    points: Sequence[Point], run: Callable[[Sequence[Point]], Iterator[Record]], store: RecordFile, bar: tqdm[Any]
) -> list[Record]:
    """Run the points that the file does not know, and keep and count them all. Return their records in order.

    Parameters
    ----------
    points : sequence of Point
        Points of the grid.
    run : callable
        Function that runs points and yields their records.
    store : RecordFile
        File of the records.
    bar : tqdm
        Progress bar, which counts points.
    """
    found, ideas = dict[str, Record](), {point.key: point.idea for point in points}
    for point in points:
        record = store.known.get(point.key)
        # A sweep keeps no returns, so that a search runs its points again.
        if record and (not point.returns or record["status"] == "failed" or "returns" in record["values"]):
            found[point.key] = record
    waiting = [point for point in points if point.key not in found]
    # The key contains the code. Equal parameters under another key mean that the code or data has changed.
    others = {(repr(record["params"]), record["seed"]) for record in store.known.values()}
    plain = [({name: plain_value(value) for name, value in point.params.items()}, point.seed) for point in waiting]
    if again := sum((repr(params), seed) in others for params, seed in plain):
        print(f"{again} points are in the file for other code, data or options. They run again")
    bar.update(len(found))
    try:
        for record in run(waiting) if waiting else ():
            store.add(record)
            found[record["key"]] = record
            bar.update(1)
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(_left_over(points, found, store))
        raise
    finally:  # what was tried counts, however it ended
        with trials.together():
            for record in found.values():
                sharpe = from_plain(record["values"].get("sharpe", float("nan")))
                if record["status"] == "ok" and isinstance(sharpe, float):
                    trials.add(f"{ideas[record['key']]}|{record['key']}", sharpe)
    return [found[point.key] for point in points]


def _left_over(points: Sequence[Point], found: Mapping[str, Record], store: RecordFile) -> str:
    """Return how many points are done, where they are, and the parameters of the others."""
    left = [str(dict(point.params)) for point in points if point.key not in found]
    kept = (
        f"{store.path} keeps them, and the same call runs the others"
        if store.path
        else "They are lost: results=FILE would keep them"
    )
    more = f" and {len(left) - 5} more" if len(left) > 5 else ""
    return f"{len(found)} of {len(points)} points are done. {kept}. Not done: {', '.join(left[:5])}{more}"


def prepared(task: object, data: object, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return data and options with bars read once, rather than at every point of a Strategy.

    Parameters
    ----------
    task : class or callable
        A Strategy class, or a function.
    data : object
        Data of the sweep.
    options : dict of str to object
        Further arguments of the task.
    """
    if is_strategy(task):
        options = resolved({**options, "data": data})
        data = options.pop("data")
    frames = data.values() if isinstance(data, Mapping) else [data]
    if not (is_strategy(task) and all(isinstance(part, pd.DataFrame) for part in frames)):
        return data, options
    rest = {name: value for name, value in options.items() if name != "interval"}
    return read_bars(data, interval=options.get("interval")), rest


def combinations_of(grid: Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the product of a mapping name → values, or the given mappings.

    Parameters
    ----------
    grid : mapping of str to iterable of object or sequence of mapping of str to object
        Values of each parameter, or a list of parameter mappings.
    """
    if isinstance(grid, Mapping):
        names = list(grid)
        return [dict(zip(names, values, strict=True)) for values in itertools.product(*map(list, grid.values()))]
    return [dict(params) for params in grid]


def make_points(
    task: object,
    combinations: Iterable[Mapping[str, Any]],
    data: object,
    seeds: Sequence[int] | None,
    options: Mapping[str, Any],
    *,
    returns: bool = False,
    named: bool = False,
) -> list[Point]:
    """Return one point for each different combination and seed, with keys that identify task, data and options.

    Parameters
    ----------
    task : class or callable
        A Strategy class, or a function.
    combinations : iterable of mapping of str to object
        Parameters of each point.
    data : object
        Data of the sweep.
    seeds : sequence of int or None
        Seeds that each point runs with, None for the task's own.
    options : mapping of str to object
        Further arguments of the task.
    returns : bool, optional
        Whether the records keep the returns of the runs (default: False).
    named : bool, optional
        Whether to print what the fingerprint of the task cannot contain (default: False).
    """
    missed = set[str]()
    name = f"{getattr(task, '__module__', '')}.{getattr(task, '__qualname__', task)}"
    further = resolved({"data": data}).get("funding")  # of a History, which a frame has not
    base = f"{name}|{code_of(task, missed=missed)}|{fingerprint(data)}|{fingerprint(further)}|{_text(options)}"
    if named and missed:
        print(f"The results file cannot notice changes of {', '.join(sorted(missed))} that {task!r} refers to")
    points, idea = dict[str, Point](), idea_of(task, data)
    for params in combinations:
        for seed in [None] if seeds is None else seeds:
            key = hashlib.sha256(f"{base}|{_text(params)}|{seed}".encode()).hexdigest()[:32]
            points.setdefault(key, Point(key, params, seed, returns, idea))
    return list(points.values())


def _text(values: Mapping[str, Any]) -> str:
    return json.dumps({str(name): _word(value) for name, value in values.items()}, sort_keys=True)


def _word(value: object) -> str:
    """Return a text that differs when values do: repr of plain values, a fingerprint of all others.

    The repr of arrays and frames leaves out their middle, and that of objects may contain a memory address.
    """
    if value is None or isinstance(value, str | int | float | bool):
        return repr(value)
    if isinstance(value, Mapping):
        return _text(value)
    shown = repr(value)
    if isinstance(value, list | tuple):
        words = list(map(_word, value))
        return shown if words == list(map(repr, value)) else f"{type(value).__name__}({', '.join(words)})"
    plain = not hasattr(value, "__array__") and " at 0x" not in shown
    return shown if plain else f"{type(value).__name__} {fingerprint(value)}"


def progress_bar(total: int, shown: bool) -> Any:
    """Return a progress bar with the time left.

    Parameters
    ----------
    total : int
        Number of points.
    shown : bool
        Whether it is visible.
    """
    from tqdm.auto import tqdm

    return tqdm(total=total, desc="sweep", unit="point", disable=not shown)


def table_of(points: Sequence[Point], records: Sequence[Record], seeded: bool) -> pd.DataFrame:
    """Return one row a point: parameters, seed, status, error, values.

    Parameters
    ----------
    points : sequence of Point
        Points of the grid.
    records : sequence of Record
        Records of the points, in their order.
    seeded : bool
        Whether there is a column for the seed.
    """
    rows = []
    for point, record in zip(points, records, strict=True):
        row = dict(point.params)
        if seeded:
            row["seed"] = point.seed
        row |= {"status": record["status"], "error": record["error"]}
        rows.append(row | {name: from_plain(value) for name, value in record["values"].items() if name not in row})
    table = pd.DataFrame(rows)
    table.attrs["seconds"] = [record["seconds"] for record in records]
    table.attrs["traces"] = {at: record["trace"] for at, record in enumerate(records) if record["trace"]}
    return table
