"""Links the first use of a glossary term on a page to the glossary, and gives numbered rows anchors for the search."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pages
from docutils import nodes
from sphinx import addnodes

GLOSSARY = "glossary"
ANCHORED = {"when-it-goes-wrong": (re.compile(r"\d{5}"), "code-"), "assumptions": (re.compile(r"[A-Z]\d+"), "")}
"""Page → first cells of its rows that become anchors and entries of the index, and what stands before them there."""
_UNTOUCHED = (nodes.reference, nodes.literal, nodes.title, nodes.term, nodes.raw, nodes.thead, addnodes.pending_xref)


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    listed = pages.glossary_terms((Path(app.srcdir) / f"{GLOSSARY}.md").read_text(encoding="utf-8"))
    pattern = re.compile(rf"\b({'|'.join(sorted(map(re.escape, listed), key=len, reverse=True))})(?:s|es)?\b", re.I)

    def process(app: Any, doctree: nodes.document) -> None:
        page = app.env.docname
        if page in ANCHORED:
            anchor_rows(doctree, *ANCHORED[page])
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


def anchor_rows(doctree: nodes.document, number: re.Pattern[str], prefix: str) -> None:
    """Give each row that begins with a number an anchor and an entry of the index, which the search reads."""
    for row in doctree.findall(nodes.row):
        first = next(iter(row.findall(nodes.paragraph)), None)
        if first is not None and number.fullmatch(text := first.astext().split(",")[0]):
            anchor = prefix + text.lower()
            first.insert(0, nodes.target("", "", ids=[anchor]))
            first.insert(0, addnodes.index(entries=[("single", text, anchor, "", None)]))
