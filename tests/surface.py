"""The names that hang on a session, as a tree; `python -m tests.surface` writes them into docs/session.md."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import toolkit

PAGE = Path(__file__).resolve().parent.parent / "docs" / "session.md"
PARTS = ("exchange", "info", "stream", "venue")
"""Parts of a session whose own names are counted with its own."""
GROUPS = ("intents", "limits", "parent_orders", "permissions", "products", "clock", "stream.health", "venue.control")
"""Names with methods of their own, shown in the tree."""
HEAD = """# The session

Everything that hangs on a session, with its parts. `session.aio` has the same names, awaited (widgets and `venue` are
not awaited). A group such as `session.products` is called for its table and has further methods. `help(name)` explains
each. This page is written from the code: `python -m tests.surface`.
"""


def public(thing: object) -> list[str]:
    """Return the public names of an object, in alphabetical order."""
    return sorted(name for name in dir(thing) if not name.startswith("_"))


def walk(session: toolkit.Session) -> dict[str, list[str]]:
    """Return the names of the session, under "", and of each of its parts."""
    return {"": public(session), **{part: public(getattr(session, part)) for part in PARTS}}


def page(session: toolkit.Session) -> str:
    """Return the text of the page."""
    found = walk(session)
    sections = [HEAD]
    for part, names in found.items():
        path = f"session.{part}" if part else "session"
        rows = [_row(session, f"{part}.{name}" if part else name) for name in names if name not in PARTS or part]
        sections.append("\n".join([f"## {path} ({len(names)} names)", "", *rows, ""]))
    total = sum(map(len, found.values()))
    sections.append(
        f"In all {total} names, and {len(inspect.signature(toolkit.connect).parameters)} parameters of `connect`.\n"
    )
    return "\n".join(sections)


def _row(session: toolkit.Session, path: str) -> str:
    further = ""
    if path in GROUPS:
        thing: Any = session
        for name in path.split("."):
            thing = getattr(thing, name)
        further = ": " + ", ".join(f"`.{name}`" for name in public(thing))
    return f"- `{path.rpartition('.')[2]}`{further}"


def main() -> None:
    """Write the page."""
    with toolkit.connect(clock="manual") as session:
        PAGE.write_text(page(session), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
