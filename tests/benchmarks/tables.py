"""Measurements as text: the table of `python -m tests.benchmarks`, and the cells of those in README and docs."""

from __future__ import annotations

from collections.abc import Sequence

from toolkit.cli import aligned

from . import Measurement


def table(rows: Sequence[Measurement]) -> str:
    """Return the rows as aligned text: value, ratio to the peer, target, and how far from it.

    Parameters
    ----------
    rows : sequence of Measurement
        Measurements, in order.
    """
    head = ("what", "measured", "against its peer", "target", "")
    body = [(row.name, number(row.value, row.unit), peer(row), target(row), verdict(row)) for row in rows]
    lines = aligned([head, *body])
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def number(value: float, unit: str) -> str:
    """Return a value and its unit, with three digits."""
    text = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return f"{text} {unit}".rstrip()


def peer(row: Measurement) -> str:
    """Return the ratio to the peer, "" without one."""
    return "" if row.ratio is None else f"{row.ratio:.2f} × {row.peer}"


def target(row: Measurement) -> str:
    """Return what must be reached, "" where there is no target."""
    if row.target is None:
        return ""
    sign = "≥" if row.better == "higher" else "≤"
    unit = "×" if row.measure == "ratio" else row.unit
    aim = "" if row.aim is None else f" (aim {row.aim:g})"
    if row.most is not None:
        return f"{row.target:g} to {row.most:g} {unit}".rstrip()
    return f"{sign} {row.target:,g} {unit}{aim}".rstrip()


def verdict(row: Measurement) -> str:
    """Return whether the target is met and how far it is, and the note."""
    if row.met is None:
        return row.note
    word = "met" if row.met else "MISSED"
    distance = "" if row.distance is None else f", {row.distance:.2f} of the target"
    return word + distance + (f": {row.note}" if row.note else "")
