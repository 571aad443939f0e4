"""Cells of a notebook: what one of them made is replaced when it is run again."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def follow_cells(one: T, look: Callable[[T, dict[str, Any], bool], bool]) -> None:
    """Call a function after each cell, until it returns True. Outside a notebook nothing happens.

    Parameters
    ----------
    one : object
        Object that a cell makes. It is not kept alive.
    look : callable
        Function of `one`, the user's names with their values, and whether the cell that made `one` has been run again.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        return
    known, made_by = weakref.ref(one), list[Any]()

    def after(result: Any) -> None:
        found, cell = known(), result.info.cell_id or result.info.raw_cell
        names = {name: value for name, value in shell.user_ns.items() if name[0] != "_" and name not in ("In", "Out")}
        if found is None or look(found, names, made_by == [cell]):
            shell.events.unregister("post_run_cell", after)
        made_by[:] = made_by or [cell]

    shell.events.register("post_run_cell", after)


MANY = 200
"""Longer containers are not searched in depth, as this runs after each cell."""


def contains(value: object, one: object, depth: int = 3) -> bool:
    """Return whether a value is an object, or a container, a box of widgets or a dashboard with it.

    Parameters
    ----------
    value : object
        Value of a name of the notebook.
    one : object
        Object to look for.
    depth : int, optional
        How many containers within containers are searched (default: 3).
    """
    widgets: Any = sys.modules.get("ipywidgets")
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple, set)) else ()
    if widgets is not None and isinstance(value, widgets.Widget):
        inside = getattr(value, "children", getattr(value, "panels", ()))
    if len(inside) > MANY:
        return any(each is one for each in inside)
    return value is one or (depth > 0 and any(contains(each, one, depth - 1) for each in inside))
