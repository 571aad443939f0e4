"""What the documentation is made of: every public name has a page, and plain docstrings become clean markup."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolkit.protocol.reads.info import ENDPOINTS

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
