"""The names of a session by task, with what they are; `python -m tests.surface` writes them into docs/session.md."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import toolkit

PAGE = Path(__file__).resolve().parent.parent / "docs" / "session.md"
PARTS = ("exchange", "info", "stream", "venue")
"""Parts of a session whose own names are counted with its own."""
GROUPS = ("intents", "limits", "parent_orders", "permissions", "products", "clock", "stream.health", "venue.control")
"""Names with methods of their own, shown in the tree."""
HEAD = """# The session

This page lists every name of a session by task: read, trade, settings, live. You need a session, `toolkit.connect()`.
In Jupyter `session.buy?` explains a name with its parameters and an example. `session.aio` has the same names, awaited
(widgets and `venue` are not awaited). A group such as `session.products` is called for its table and has further
methods. This page is written from the code: `python -m tests.surface`.
"""


KINDS = {
    "Read": "klines history ticker tickers trades order_book products product funding_rates fee_rates"
    " positions orders order fills wallet_balances statement what_if clock info",
    "Trade": "buy sell place replace cancel cancel_all close_position twap"
    " parent_orders stop_all resolve intents ticket exchange",
    "Settings": "limits permissions account wallet environment aio venue close",
    "Live": "stream dashboard runs",
}
"""What a session's own names are for, in the order of the page."""
SAID = {
    "wallet": "The keys, or None for a session that only reads",
    "environment": "Names, addresses and chain of the exchange",
    "venue": "The local venue, in this process or served, None elsewhere",
    "venue.control": "Everything that the owner of a venue can do to it",
    "venue.host": "The machinery of a venue in this process",
}
"""What attributes are, which have no docstring."""


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
    for kind, names in KINDS.items():
        rows = [_row(session, name) for name in names.split()]
        sections.append("\n".join([f"## {kind}: `session.…`", "", *rows, ""]))
    for part in PARTS:
        rows = [_row(session, f"{part}.{name}") for name in found[part]]
        sections.append("\n".join([f"## session.{part} ({len(rows)} names)", "", *rows, ""]))
    total = sum(map(len, found.values()))
    sections.append(
        f"In all {total} names, and {len(inspect.signature(toolkit.connect).parameters)} parameters of `connect`.\n"
    )
    return "\n".join(sections)


def _row(session: toolkit.Session, path: str) -> str:
    *parts, name = path.split(".")
    holder: Any = session
    for part in parts:
        holder = getattr(holder, part)
    member = inspect.getattr_static(type(holder), name, None)
    text = inspect.getdoc(member) if callable(getattr(member, "__get__", None)) else ""
    first = re.split(r"[.:] (?![^(]*\))|\n\n", text or SAID.get(path, ""))[0].replace("\n", " ").rstrip(".:")
    names = [f"`.{one}`" for one in public(getattr(holder, name))] if path in GROUPS else []
    # A list of more than twenty would be too long for a sentence.
    further = [f"Further: {', '.join(names[at : at + 20])}" for at in range(0, len(names), 20)]
    said = ". ".join(part for part in (first, *further) if part)
    return f"- `{name}`: {said}" if said else f"- `{name}`"


def main() -> None:
    """Write the page."""
    with toolkit.connect(clock="manual") as session:
        PAGE.write_text(page(session), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
