"""What the documentation is made of: every public name has a page, and plain docstrings become clean markup."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolkit import errors, research
from toolkit.__main__ import COMMANDS
from toolkit.client.orders.exchange import Exchange
from toolkit.client.stream.stream import Stream
from toolkit.errors import ToolkitError
from toolkit.protocol.reads.info import ENDPOINTS
from toolkit.research import Results, Strategy
from toolkit.research.context import Context
from toolkit.session import Session
from toolkit.suggestions import OURS
from toolkit.venue.engine.codes import TxCode

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture(scope="module")
def pages() -> Iterator[Any]:
    sys.path.insert(0, str(DOCS))
    yield importlib.import_module("pages")
    sys.path.remove(str(DOCS))


def test_every_public_name_has_a_page_and_a_docstring(pages: Any) -> None:
    listed = {name for page in pages.reference() for name in page.objects}
    assert {f"toolkit.client.reads.info.Info.{name}" for name in ENDPOINTS} <= listed
    assert {"toolkit.session.connect", "toolkit.session.Session.klines", "toolkit.margin.liquidation_price"} <= listed
    for name in listed:
        module, _, last = name.rpartition(".")
        try:
            holder: Any = importlib.import_module(module)
        except ImportError:
            outer, _, kind = module.rpartition(".")
            holder = getattr(importlib.import_module(outer), kind)
        assert getattr(holder, last).__doc__, name


def test_tables_of_the_wire_and_notebooks_are_written(pages: Any, tmp_path: Path) -> None:
    pages.write(tmp_path / "api", DOCS.parent)
    written = {path.name for path in (tmp_path / "api").iterdir()}
    assert {"index.md", "wire-actions.md", "wire-info.md", "wire-feed.md", "walkthroughs.md", "session.rst"} <= written
    table = (tmp_path / "api" / "wire-info.md").read_text(encoding="utf-8")
    assert all(f"`{endpoint.path}`" in table for endpoint in ENDPOINTS.values())
    assert "`blockTime` | `time` | datetime64[ms, UTC]" in table


@pytest.mark.parametrize(
    ("plain", "markup"),
    [
        ("Takes `a` and `b`.", "Takes ``a`` and ``b``."),
        ("The *_CLOSE_HEDGE sides | more_", "The \\*\\_CLOSE\\_HEDGE sides \\| more\\_"),
        ("many `Order`s", "many ``Order``\\ s"),
        (">>> 1 * 2\n2", ">>> 1 * 2\n2"),
        ("One line\nand another.", "One line and another."),
        ("price: in USDC\nsize: in units", "| price: in USDC\n| size: in units"),
        ("Root\n├── leaf", "::\n\n    Root\n    ├── leaf"),
        ("- one `x`\n- two", "- one ``x``\n- two"),
    ],
    ids=str,
)
def test_plain_docstrings_become_markup(pages: Any, plain: str, markup: str) -> None:
    assert "\n".join(pages.as_rst(plain.splitlines())).strip() == markup


def rows(page: str, columns: int) -> list[list[str]]:
    """Return the rows of a page's tables that have this many columns, heads left out."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines if line.startswith("|")]
    return [row for row in cells if len(row) == columns and row[0] not in ("What", "Code", "Error") and row[0] != "---"]


def names_of(cell: str) -> list[str]:
    """Return what stands in code, without arguments."""
    return [re.split(r"[(=]", one)[0] for one in re.findall(r"`([^`]+)`", cell)]


def test_every_name_here_that_is_given_for_one_elsewhere_exists() -> None:
    holders: dict[str, Any] = {
        "session": Session,
        "session.exchange": Exchange,
        "session.stream": Stream,
        "ctx": Context,
        "run": Results,
        "self": Strategy,
    }
    tables = [*rows("coming-from.md", 5), *rows("coming-from.md", 4)]
    assert len(tables) > 40
    seen = 0
    for row in tables:
        for name in names_of(row[1]):
            owner, _, last = name.rpartition(".")
            if owner in holders:
                kind = holders[owner]
                assert hasattr(kind, last) or last in kind.__annotations__, name
                seen += 1
            elif not owner and name in dir(research):
                seen += 1
    assert seen > 45
    ours = {theirs for names in OURS.values() for theirs in names.split()}
    theirs = {name for row in rows("coming-from.md", 5) for cell in row[2:] for name in names_of(cell) if "_" in name}
    listed = {name for name in theirs if not name.startswith(("start_", "ccxt"))}
    assert listed <= ours | {"funding_history", "set_leverage", "set_margin_mode", "approve_agent"}, listed - ours


def test_what_goes_wrong_is_explained_for_every_code_and_every_error() -> None:
    codes = {int(row[0]): row[1] for row in rows("when-it-goes-wrong.md", 4) if row[0].isdigit()}
    assert codes == {code: f"`{kind.__name__}`" for code, kind in errors.EXCHANGE_ERRORS.items()}
    explained = {name for row in rows("when-it-goes-wrong.md", 3) for name in names_of(row[0])}
    public = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, ToolkitError)}
    roots = {"ToolkitError", "ExchangeError", "TransportError", "FeedError", "VenueError", "UnknownCode"}
    ways = {"MalformedRequest", "UnknownAction", "BadSignature"}  # kinds of InputError, with the codes above
    answers = {kind.__name__ for kind in errors.EXCHANGE_ERRORS.values()}
    assert public - roots - ways - answers <= explained, public - roots - ways - answers - explained


def test_the_commands_and_codes_have_a_page(pages: Any, tmp_path: Path) -> None:
    pages.write(tmp_path / "api", DOCS.parent)
    commands = (tmp_path / "api" / "commands.md").read_text(encoding="utf-8")
    assert all(f"## {name}\n" in commands for name in COMMANDS)
    assert "--journal" in commands
    codes = (tmp_path / "api" / "codes.md").read_text(encoding="utf-8")
    assert all(f"| {code.value} | {code.name} |" in codes for code in TxCode)
