"""Cell magics for notebooks: `%load_ext toolkit`, then `%%sandbox`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .errors import InputError

if TYPE_CHECKING:
    from .venue.local import LocalVenue

NAME = "<sandbox>"


def register(ipython: Any) -> None:
    """Give an IPython shell the magics of this module.

    Parameters
    ----------
    ipython : InteractiveShell
        Shell of the notebook.
    """

    def sandbox(line: str, cell: str) -> None:
        """Run a cell, then restore the local venue, its clock included.

        `%%sandbox` finds the only session or venue of the notebook. `%%sandbox NAME` names one. Variables keep the
        values the cell gave them. After an error the venue is restored too, and the error is raised.
        """
        with _venue(line.strip(), ipython.user_ns).host.sandbox():
            _run(cell, ipython)

    ipython.register_magic_function(sandbox, "cell", "sandbox")


def _venue(name: str, names: dict[str, Any]) -> LocalVenue:
    """Return the venue meant by a name, or the only one there is."""
    if name:
        if name not in names:
            raise InputError(f"%%sandbox: there is no variable {name!r}", field="sandbox", value=name)
        found = _of(names[name])
        if found is None:
            message = f"%%sandbox: {name} is neither a local venue nor a session on one"
            raise InputError(message, field="sandbox", value=name)
        return found
    owners = {id(venue): (key, venue) for key, value in names.items() if key[:1] != "_" and (venue := _of(value))}
    if len(owners) != 1:
        there = ", ".join(sorted(key for key, _ in owners.values())) or "none"
        advice = "Name a session or venue, as in %%sandbox s"
        raise InputError(f"%%sandbox needs one local venue, and there are: {there}. {advice}", field="sandbox")
    return next(iter(owners.values()))[1]


def _of(value: object) -> LocalVenue | None:
    from .connecting import venue_in_process
    from .session import Session
    from .venue.local import LocalVenue

    return venue_in_process(value) if isinstance(value, LocalVenue | Session) else None


def _run(cell: str, ipython: Any) -> None:
    """Run a cell's code in the notebook's names. Show the value of its last line, as a cell does."""
    tree = ast.parse(ipython.transform_cell(cell), NAME)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, NAME, "exec"), ipython.user_ns)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), NAME, "eval"), ipython.user_ns)
        if value is not None and not cell.rstrip().endswith(";"):
            ipython.displayhook(value)
