"""What the documentation is made of: every public name has a page, and links, tables and commands are complete."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import toolkit
from tests import reference
from toolkit import errors, research, widgets
from toolkit.__main__ import COMMANDS
from toolkit.client.orders.exchange import Exchange
from toolkit.client.reads.info import Info
from toolkit.client.stream.stream import Stream
from toolkit.errors import ToolkitError
from toolkit.protocol.reads.info_queries import ENDPOINTS
from toolkit.research import Results, Strategy
from toolkit.research.context import Context
from toolkit.session import Session
from toolkit.session_methods import Intents
from toolkit.suggestions import OURS
from toolkit.venue.engine.commands import TxCode
from toolkit.venue.local import LocalVenue
from toolkit.venue.model.genesis import Config
from toolkit.widgets.base_panel import static_view

DOCS = Path(__file__).resolve().parent.parent / "docs"
ROOT = DOCS.parent
PACKAGE = Path(toolkit.__file__).parent
PAGES = sorted({*ROOT.glob("*.md"), *DOCS.glob("*.md"), *(ROOT / "notebooks").rglob("[!.]*.ipynb")})
BACKSTAGE = {"toolkit.exposure", "toolkit.ladders"}
"""Modules of the package's own, which no public name belongs to."""


@pytest.fixture(scope="module")
def pages() -> Iterator[Any]:
    sys.path.insert(0, str(DOCS))
    yield importlib.import_module("pages")
    sys.path.remove(str(DOCS))


def test_every_public_name_has_a_page_and_a_docstring(pages: Any) -> None:
    listed = {name for page in pages.reference() for name in (*page.objects, *page.classes)}
    assert {f"toolkit.client.reads.info.Info.{name}" for name in ENDPOINTS} <= listed
    assert {"toolkit.session.connect", "toolkit.session.Session.klines", "toolkit.margin.liquidation_price"} <= listed
    shown = {id(reference.resolved(name)) for name in listed}
    assert [name for name in listed if not reference.resolved(name).__doc__] == []
    modules = [one for one in vars(toolkit).values() if isinstance(one, ModuleType) and one.__name__ not in BACKSTAGE]
    for module in [toolkit, research, widgets, *(one for one in modules if one.__name__.startswith("toolkit."))]:
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                assert id(value) in shown, f"{module.__name__}.{name} has no page"


def text_of(page: Path) -> str:
    """Return what a page says, without its blocks of code."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        text = "\n".join(
            "".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"
        )
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and this site make them."""
    headings = re.findall(r"^#+ (.+)$", text_of(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings_that_exist(page: Path, written: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        target = page.parent / path if path else page
        if page.parent == DOCS and path.startswith("api/"):
            target = written / path
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.fixture(scope="module")
def written(pages: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what is generated before the documentation is built, in `api`."""
    folder = tmp_path_factory.mktemp("docs")
    pages.write(folder / "api", ROOT)
    return folder


@pytest.mark.parametrize("page", [page for page in PAGES if page.suffix == ".md"], ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page: Path) -> None:
    for path in re.findall(r"`((?:\.ci|docs|notebooks|proto|tests|toolkit)/[\w./-]*\w)`", text_of(page)):
        place = PACKAGE.parent / path if path.startswith("toolkit/") else ROOT / path
        assert place.exists() or page.name == "CHANGELOG.md", path


def test_docstrings_cite_what_ships() -> None:
    """Every section that is cited stands in the page, and nothing else is cited."""
    unknown = re.compile(r"venue-facts|risk-rules|market-facts|specification\.md", re.IGNORECASE)
    cited = re.compile(r'docs/([\w-]+\.md)((?:,? (?:and )?"[^"]+")*)')
    seen = 0
    for path in [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyi"), *(ROOT / "proto").glob("*")]:
        text = path.read_text(encoding="utf-8")
        assert not unknown.search(text), (path, unknown.search(text))
        for page, sections in cited.findall(text):
            headings = re.findall(r"^#+ (.+)$", (DOCS / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
            for section in re.findall(r'"([^"]+)"', sections):
                assert section in headings, f"{path}: {page} has no section {section}"
                seen += 1
    assert seen > 50


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ('axes.set(title="Profit", xlabel="time")', "Figure: Profit"),
        ('left.set(title="A")\nright.set(title=f"{x} of B")', "Figure: A; {x} of B"),
        ("figure = report.account_day(session)", "Figure: report.account_day"),
        ("axes.plot(candles)", "The figure that the code above draws"),
    ],
)
def test_figures_have_alternative_texts(pages: Any, code: str, text: str) -> None:
    assert pages.alternative(code) == text


def test_tables_of_the_wire_and_notebooks_are_written(pages: Any, tmp_path: Path) -> None:
    pages.write(tmp_path / "api", DOCS.parent)
    written = {path.name for path in (tmp_path / "api").iterdir()}
    assert {"index.md", "wire-actions.md", "wire-info.md", "wire-feed.md", "walkthroughs.md", "session.rst"} <= written
    table = (tmp_path / "api" / "wire-info.md").read_text(encoding="utf-8")
    assert all(f"`{endpoint.path}`" in table for endpoint in ENDPOINTS.values())
    assert "`blockTime` | `time` | datetime64[ms, UTC]" in table


def test_a_class_that_callers_never_make_is_shown_without_its_parameters(pages: Any) -> None:
    assert pages.signature_of(None, "class", "Session", Session) == ("", None)
    assert pages.signature_of(None, "class", "LocalVenue", LocalVenue) is None
    assert pages.signature_of(None, "method", "Session.buy", Session.buy) is None


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
        "session.info": Info,
        "session.intents": Intents,
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
    ours = {theirs for names in OURS.values() for theirs in names}
    theirs = {name for row in rows("coming-from.md", 5) for cell in row[2:] for name in names_of(cell) if "_" in name}
    listed = {name for name in theirs if not name.startswith(("start_", "ccxt"))}
    assert listed <= ours | {"funding_history", "set_leverage", "set_margin_mode", "approve_agent"}, listed - ours


def test_what_goes_wrong_is_explained_for_every_code_and_every_error() -> None:
    codes = {int(row[0]): row[1] for row in rows("when-it-goes-wrong.md", 4) if row[0].isdigit()}
    assert codes == {code: f"`{kind.__name__}`" for code, kind in errors.EXCHANGE_ERRORS.items()}
    remedies = {name: row[2] for row in rows("when-it-goes-wrong.md", 3) for name in names_of(row[0])}
    kinds = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type)}
    public = {name for name, kind in kinds.items() if issubclass(kind, ToolkitError | Warning)}
    answers = {kind.__name__ for kind in errors.EXCHANGE_ERRORS.values()}
    assert public - answers <= {name for name, remedy in remedies.items() if remedy}, public - answers - set(remedies)
    assert len(public) >= 38
    named = {name for name in remedies if re.fullmatch(r"[A-Z]\w+(Error|Warning)|[A-Z][a-z]+[A-Z]\w+", name)}
    assert named <= public, f"no such errors: {named - public}"


def test_the_commands_and_codes_have_a_page(pages: Any, tmp_path: Path) -> None:
    pages.write(tmp_path / "api", DOCS.parent)
    commands = (tmp_path / "api" / "commands.md").read_text(encoding="utf-8")
    assert all(f"## {name}\n" in commands for name in COMMANDS)
    assert "--journal" in commands
    codes = (tmp_path / "api" / "codes.md").read_text(encoding="utf-8")
    assert all(f"| {code.value} | {code.name} |" in codes for code in TxCode)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_saved_panels_have_the_contrast_that_the_assumptions_name() -> None:
    page = (DOCS / "assumptions.md").read_text(encoding="utf-8")
    promised, elsewhere = re.search(r"contrast of at least (\d\.\d).*?it can be (\d\.\d)", page).groups()  # type: ignore[union-attr]
    saved = (static_view._UP, static_view._DOWN)
    on_site = re.findall(r"--tk-(?:up|down): (#\w{6})", (DOCS / "static" / "site.css").read_text(encoding="utf-8"))
    dark_site = "#131416"  # furo's
    assert len(set(on_site)) == 2
    assert min(contrast(colour, "#ffffff") for colour in saved) >= float(promised)
    assert min(contrast(colour, dark_site) for colour in on_site) >= float(promised)
    assert f"{min(contrast(colour, dark_site) for colour in saved):.1f}" == elsewhere


def test_the_course_stops_at_headings_that_the_lessons_have() -> None:
    stops = re.findall(r"\(api/walkthroughs/([\w-]+\.ipynb)\), to \*([^*]+)\*", (DOCS / "course.md").read_text("utf-8"))
    assert len(stops) >= 4
    for name, heading in stops:
        assert re.search(rf"^#+ {re.escape(heading)}$", text_of(ROOT / "notebooks" / name), re.MULTILINE), (
            name,
            heading,
        )


def test_each_ruling_has_a_number_and_settings_that_exist() -> None:
    page = (DOCS / "assumptions.md").read_text(encoding="utf-8")
    tables = [re.findall(r"^\| ([A-Z])(\d+) \| [^|]+ \|", part, re.MULTILINE) for part in page.split("\n## ")[1:]]
    tables = [table for table in tables if table]
    assert len({table[0][0] for table in tables}) == len(tables) > 10, "each section has a letter"
    for table in tables:
        assert table == [(table[0][0], str(number)) for number in range(1, len(table) + 1)]
    named = re.findall(r"`Config\.(\w+)`", page)
    assert len(named) > 15
    assert set(named) <= set(Config.__struct_fields__)
