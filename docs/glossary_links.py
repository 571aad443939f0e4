"""Links the first use of a glossary term on a page to the glossary, and makes the search find each error code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes

GLOSSARY = "glossary"
CODES = "when-it-goes-wrong"
_UNTOUCHED = (nodes.reference, nodes.literal, nodes.title, nodes.term, nodes.raw, nodes.thead, addnodes.pending_xref)


def terms(text: str) -> list[str]:
    """Return the terms of the glossary page: the lines of its directive that are not indented."""
    block = re.search(r"^```\{glossary\}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [line for line in block[1].splitlines() if line and not line[0].isspace()] if block else []


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    listed = terms((Path(app.srcdir) / f"{GLOSSARY}.md").read_text(encoding="utf-8"))
    pattern = re.compile(rf"\b({'|'.join(sorted(map(re.escape, listed), key=len, reverse=True))})(?:s|es)?\b", re.I)

    def process(app: Any, doctree: nodes.document) -> None:
        page = app.env.docname
        if page == CODES:
            index_codes(app, doctree)
        if page != GLOSSARY and (not page.startswith("api/") or page.startswith("api/walkthroughs/")):
            link_terms(doctree, pattern)

    app.connect("doctree-read", process)
    return {"parallel_read_safe": True}


def link_terms(doctree: nodes.document, pattern: re.Pattern[str]) -> None:
    """Replace the first use of each term by a link to it; headings, code and links stay."""
    seen: set[str] = set()
    for text in list(doctree.findall(nodes.Text)):
        if not _free(text):
            continue
        parts = list(_parts(text.astext(), pattern, seen))
        if len(parts) > 1 or not isinstance(parts[0], nodes.Text):
            text.parent.replace(text, parts)


def _free(text: nodes.Text) -> bool:
    above: Any = text.parent
    while above is not None:
        if isinstance(above, _UNTOUCHED):
            return False
        if isinstance(above, nodes.paragraph):
            return True
        above = above.parent
    return False


def _parts(text: str, pattern: re.Pattern[str], seen: set[str]) -> Iterator[nodes.Node]:
    end = 0
    for match in pattern.finditer(text):
        if (term := match[1].lower()) in seen:
            continue
        seen.add(term)
        if match.start() > end:
            yield nodes.Text(text[end : match.start()])
        link = addnodes.pending_xref(
            "", refdomain="std", reftype="term", reftarget=term, refexplicit=True, refwarn=True
        )
        link += nodes.inline("", match[0], classes=["glossary-link"])
        yield link
        end = match.end()
    if end < len(text) or not text:
        yield nodes.Text(text[end:])


def index_codes(app: Any, doctree: nodes.document) -> None:
    """Give each row that begins with a code an anchor and an entry of the index, which the search reads."""
    for row in doctree.findall(nodes.row):
        code = row.astext().split()[0].rstrip(",")
        if code.isdigit():
            anchor = f"code-{code}"
            paragraph = next(iter(row.findall(nodes.paragraph)))
            paragraph.insert(0, nodes.target("", "", ids=[anchor]))
            paragraph.insert(0, addnodes.index(entries=[("single", code, anchor, "", None)]))
