"""Checks the built site: `python docs/check_site.py docs/_build/html`. It prints what is wrong, and exits 1 then.

Every link inside the site must lead to a page, a file or an anchor that exists. Every figure must have an alternative
text. The search must know each name of the reference, and find the pages of `WANTED`. Each term of the glossary
is linked, once on a page, and the pages of `ONE_CLICK` from the front page. Links to other sites are not followed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pages

WANTED = {
    "40204": "when-it-goes-wrong",
    "40280": "when-it-goes-wrong",
    "install": "packages",
    "kill switch": "stop-everything",
    "licence": "packages",
    "testnet": "api/walkthroughs/15-testnet",
}
"""Words that people search for → the page that the search must find."""
ONE_CLICK = (
    "packages",
    "api/walkthroughs/01-first-trade",
    "research",
    "api/walkthroughs/15-testnet",
    "stop-everything",
)
"""The answers to a newcomer's questions: install, first order, test my strategy, go to Testnet, stop everything."""


class _Page(HTMLParser):
    """The anchors, links and pictures of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.unnamed: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := given.get(name))}
        self.links |= {value for name in ("href", "src") if (value := given.get(name))}
        if tag == "img" and not given.get("alt"):
            self.unnamed.append(str(given.get("src")))


def broken_links(site: Path) -> Iterable[str]:
    """Yield what is wrong with the links and pictures of a site."""
    found = {path: _Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in found.items():
        here = path.relative_to(site)
        yield from (f"{here}: the picture {name} has no alternative text" for name in page.unnamed)
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                yield f"{here}: {link} leads to no file"
            elif parts.fragment and target in found and unquote(parts.fragment) not in found[target].anchors:
                yield f"{here}: {link} leads to no anchor of {target.name}"


def unknown_names(site: Path, names: Iterable[str]) -> Iterable[str]:
    """Yield the names that the search of a site does not know; of a class in two modules one is enough."""
    index = _search_index(site)
    known = {f"{module}.{entry[4]}" for module, entries in index["objects"].items() for entry in entries}
    classes = {last for name in known if (last := name.rpartition(".")[2])[0].isupper()}
    missing = [name for name in sorted(set(names) - known) if name.rpartition(".")[2] not in classes]
    yield from (f"the search does not know {name}" for name in missing)


def pages_not_found(site: Path, wanted: dict[str, str]) -> Iterable[str]:
    """Yield the queries for which the search does not find their page, by the rules of Sphinx's searchtools.js.

    A query finds a heading or an entry of the index that contains it and is at most twice as long, or a heading that
    has the stem of its word. Numbers are found in entries of the index only.
    """
    index = _search_index(site)
    for query, page in wanted.items():
        number = index["docnames"].index(page) if page in index["docnames"] else -1
        texts = [*index["alltitles"].items(), *index["indexentries"].items()]
        near = [places for text, places in texts if query in text.lower() and len(text) <= 2 * len(query)]
        found = {place[0] for places in near for place in places}
        found |= {
            one for stem, places in index["titleterms"].items() if query.startswith(stem) for one in _listed(places)
        }
        if number not in found:
            yield f"the search for {query!r} does not find {page}"


def wrong_glossary_links(site: Path, terms: Iterable[str]) -> Iterable[str]:
    """Yield the terms of the glossary that no page links, and those that a page links twice."""
    linked: set[str] = set()
    for path in sorted(site.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        here = re.findall(r'glossary\.html#term-([^"]+)"[^>]*><span class="[^"]*glossary-link', text)
        linked |= set(here)
        yield from (
            f"{path.relative_to(site)}: {one} is linked twice" for one in sorted(set(here)) if here.count(one) > 1
        )
    yield from (f"no page links the term {one}" for one in terms if one.replace(" ", "-") not in linked)


def further_than_one_click(site: Path, wanted: Iterable[str]) -> Iterable[str]:
    """Yield the pages that the front page does not link."""
    links = {unquote(link).partition("#")[0] for link in _Page(site / "index.html").links}
    yield from (f"the front page does not link {page}" for page in wanted if f"{page}.html" not in links)


def _listed(places: int | list[int]) -> list[int]:
    return places if isinstance(places, list) else [places]


def _search_index(site: Path) -> dict[str, Any]:
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index: dict[str, Any] = json.loads(re.sub(r"^Search\.setIndex\((.*)\)$", r"\1", text.strip(), flags=re.DOTALL))
    return index


if __name__ == "__main__":
    built = Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    listed = [name for page in pages.reference() for name in (*page.objects, *page.classes)]
    terms = pages.glossary_terms((Path(__file__).parent / "glossary.md").read_text(encoding="utf-8"))
    wrong = [*broken_links(built), *unknown_names(built, listed), *pages_not_found(built, WANTED)]
    wrong += [*wrong_glossary_links(built, terms), *further_than_one_click(built, ONE_CLICK)]
    print(*wrong, f"{len(listed)} names, {len(list(built.rglob('*.html')))} pages, {len(wrong)} faults", sep="\n")
    sys.exit(bool(wrong))
