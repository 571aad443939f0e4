"""Snapshots of panels as plain HTML, for saved notebooks and static exports. All values are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

_BOX = "display:inline-block;vertical-align:top;border:1px solid #8884;border-radius:6px;padding:8px 12px;margin:2px"
_NOTE = "font-size:85%;opacity:.75"
_UP, _DOWN = "#1f6fb5", "#c2570c"


def page(inner: str, lock: str, colors: Mapping[str, str], as_of: str) -> str:
    """Return a snapshot of a time.

    Parameters
    ----------
    inner : str
        HTML made by the functions below.
    lock : str
        Why the data is not reliable, "" while it is.
    colors : mapping of str to str
        Colours of "up" and "down" that differ from the default.
    as_of : str
        Time of the snapshot, as text.
    """
    warning = f"<div style='{_NOTE}'>⚠ {escape(lock)}</div>" if lock else ""
    up, down = colors.get("up", _UP), colors.get("down", _DOWN)
    style = f"{_BOX};--tk-up:{escape(up, quote=True)};--tk-down:{escape(down, quote=True)}"
    hint = f'<div style="{_NOTE}">as of {escape(as_of)} · snapshot. Run the cell for the live widget</div>'
    return f'<div style="{style}">{inner}{warning}{hint}</div>'


def heading(text: str, note: str = "") -> str:
    """Return a heading, followed by a note.

    Parameters
    ----------
    text : str
        The heading.
    note : str, optional
        Shown behind it in small print (default: "").
    """
    span = f" <span style='{_NOTE}'>{escape(note)}</span>" if note else ""
    return f"<div><b>{escape(text)}</b>{span}</div>"


def pairs(rows: Iterable[Sequence[Any]]) -> str:
    """Return names and values as a table of two columns.

    Further values of a row are left out.

    Parameters
    ----------
    rows : iterable of sequence of object
        Name and value of each row.
    """
    body = "".join(f"<tr><th scope='row' style='text-align:left'>{_cell(n)}</th>{_td(v)}</tr>" for n, v, *_ in rows)
    return f"<table>{body}</table>"


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], empty: str = "none") -> str:
    """Return a table.

    Parameters
    ----------
    columns : sequence of str
        Headings, in order.
    rows : iterable of sequence of object
        Values of each row.
    empty : str, optional
        Shown when there are no rows (default: "none").
    """
    head = "".join(f"<th scope='col'>{_cell(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(_td(value) for value in row)}</tr>" for row in rows)
    if not body:
        body = f"<tr><td colspan='{len(columns)}' style='{_NOTE}'>{escape(empty)}</td></tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def records(columns: Mapping[str, str], rows: Iterable[Mapping[str, Any]], empty: str = "none") -> str:
    """Return a table of some fields of the rows.

    Parameters
    ----------
    columns : mapping of str to str
        Field → heading, "" for the name of the field.
    rows : iterable of mapping of str to object
        Rows by field.
    empty : str, optional
        Shown when there are no rows (default: "none").
    """
    titles = [title or name for name, title in columns.items()]
    return table(titles, [[row[name] for name in columns] for row in rows], empty)


def _td(value: object) -> str:
    text = str(value)
    color = {"▲": "--tk-up", "+": "--tk-up", "▼": "--tk-down", "−": "--tk-down"}.get(text[:1], "")
    # Mixed with the colour of the text, it is readable on light and dark pages: a snapshot does not know its page.
    style = f";color:color-mix(in srgb, var({color}) 60%, currentColor)" if color else ""
    return f"<td style='text-align:right{style}'>{_cell(text)}</td>"


def _cell(value: object) -> str:
    return escape(str(value))
