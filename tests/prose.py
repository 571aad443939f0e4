"""Counts what makes our English hard to read: `python -m tests.prose [GROUP or FILE …]`.

The counts, by file, are words, long sentences, words of a dialect of our own, and semicolons. Code, doctests, drawings
and links are left out. With names of groups (README, docs, lessons, docstrings, messages) or files, every hit is
printed as `place: kind: text`.
"""

from __future__ import annotations

import ast
import functools
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from inspect import cleandoc
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 30
"""The most words of a sentence."""
DIALECT_LIMIT, SEMICOLON_LIMIT = 2, 3
"""Per 1,000 words, of a group."""
GROUPS = ("README", "docs", "lessons", "docstrings", "messages")

_UNIT = r"(?:second|minute|hour|day|week|month|year|session|bar|core|point|order|step|request|call|project)"
_NUMBER = r"(?:\d[\d.,]*|%|once|twice|times|steps|messages|requests|orders|bytes|USDC|bp|ms|s|calls|megabytes|MB|kB)"
DIALECT = re.compile(
    r"""\b(?:
      hears?|heard|hearing|tells?|told|telling|impress\w*|besides?|nobody|somebody|everybody|anybody|anew|afresh|reckon\w*
    | (?:go|goes|going|went)\ on | by\ (?:itself|themselves|oneself) | of\ (?:its|their|your|his|our|one's)\ own
    | one's | as\ far\ as | for\ good | (?:all\ )?at\ once | in\ one\ go | in\ the\ same\ breath | the\ other\ way
    | as\ it\ was | under\ way | what\ (?:became|becomes)\ of | stumbl\w+ | concern(?:s|ed)? | spare[sd]? | struck
    | strikes?\ (?!price) | stands?(?!\ for) | stood | brings? | brought | lacks? | lacking | lacked | met
    | cut(?!-|\ off) | let\ in | lets?\ go | (?:is|are|was|were|be|been)\ (?:asked|told|said) | hangs?\ on | hung
    | whoever | whatever | wherever | aught | naught | for\ want\ of | thereof | whereof | therein | thereby | in\ hand
    | as\ one\ \w+s | one\ (?:types|has|does|can|may|needs|wants|would|must|reads|sees|trades|gets|writes|looks|sends)
    | (?:cannot|can't)\ be(?=[.,:;)]|$)
    )\b
    | \b NUMBER\ an?\ UNIT \b (?!\ of)
    """.replace("NUMBER", _NUMBER).replace("UNIT", _UNIT),
    re.IGNORECASE | re.VERBOSE,
)
OPENING = re.compile(
    r"(?:What|Of|By)\ (?!default\b|design\b|hand\b|contrast\b|course\b)(?![^?]*\?$)"
    r"|(?:Who|Whoever)\ (?![^?]*\?$)|Only\ (?:then|here|there|so|after|when|if|with)\b"
)
"""Beginnings of sentences that put the subject last."""

_ABBREVIATIONS = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx|resp|No|al|pp?|Inc|Ltd|eq)\.$", re.IGNORECASE)
_ENTRY = re.compile(r"\s*[A-Za-z_*`][\w, *./`|=-]*( \([^)]*\))?: ")
_SECTION = re.compile(r"(\w[\w ]*)\n-{3,}\n")
_LISTS = ("Parameters", "Other Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns")
"""Sections whose lines without an indent are names and types."""
_WORD = re.compile(r"[^\W_](?:[\w'’.,/-]*\w)?|[^\W_]")


_PLAIN_WORD = re.compile(r"(?<![\w<.#-])[A-Za-z']{2,}(?=[\s,.:;)]|$)")
_NO_PROSE = re.compile(r"[{}\\^]|</|SELECT|=\"|: 0 |^\w+(?: like \w+)?: .*\b(?:time|identity|needs|key)\b [a-z]")


@dataclass
class Counts:
    """The counts of one file, and what was found, as pairs of kind and text."""

    words: int = 0
    sentences: int = 0
    long: int = 0
    dialect: int = 0
    semicolons: int = 0
    hits: list[tuple[str, str]] = field(default_factory=list)

    def add(self, text: str) -> None:
        """Count one text: a paragraph, an item, a cell or a message."""
        text = " ".join(text.split())
        for sentence in sentences(text):
            size = len(_WORD.findall(sentence))
            self.words += size
            self.sentences += 1
            if size > LONGEST:
                self.long += 1
                self.hits.append((f"{size} words", sentence))
            found = [match.group() for match in DIALECT.finditer(sentence)]
            if size > 3 and (start := OPENING.match(sentence)):
                found.append(start.group().strip())
            self.dialect += len(found)
            self.hits += [(f"dialect '{word}'", sentence) for word in found]
            if (marks := sentence.count(";")) > 0:
                self.semicolons += marks
                self.hits.append(("semicolon", sentence))

    def __iadd__(self, other: Counts) -> Counts:
        for name in ("words", "sentences", "long", "dialect", "semicolons"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.hits += other.hits
        return self

    def per_mille(self, name: str) -> float:
        """Return `dialect` or `semicolons` in 1,000 words."""
        return 1000 * float(getattr(self, name)) / max(self.words, 1)

    def faults(self) -> list[str]:
        """Return the limits that are exceeded, in words."""
        wrong = [f"{self.long} sentences above {LONGEST} words"] if self.long else []
        for name, limit in (("dialect", DIALECT_LIMIT), ("semicolons", SEMICOLON_LIMIT)):
            if (rate := self.per_mille(name)) >= limit:
                wrong.append(f"{name}: {rate:.1f} in 1,000 words, the limit is {limit}")
        return wrong


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a paragraph."""
    start = 0
    for match in re.finditer(r"[.!?][)\"'”*_]*\s+(?=[\"'(“*_]*[A-Z0-9§`~])", text):
        if not _ABBREVIATIONS.search(text[start : match.start() + 1]):
            yield text[start : match.end()].strip()
            start = match.end()
    if rest := text[start:].strip():
        yield rest


def plain(text: str) -> str:
    """Return a text with its code as one word each, its links as their words, and without marks."""
    text = re.sub(r"``.+?``|`[^`\n]*(?:\n[^`\n]+)?`", "Code", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"<https?://[^>]+>|https?://\S+", "Address", text)
    text = re.sub(r"\{\w+\}Code", "Code", text)
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$", "Formula", text, flags=re.DOTALL)
    return re.sub(r"<[^>]+>|\*\*|&\w+;", "", text)


def of_markdown(text: str) -> Iterator[str]:
    """Yield the paragraphs, items, headings and cells of a page, without code."""
    text = re.sub(r"<!--.*?-->|^---\n.*?\n---\n", "", text, flags=re.DOTALL)
    text = re.sub(r"^```\{(?:glossary|note|tip|warning)\}\n(.*?)^```$", r"\1", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^([ >]*)(`{3,}|~{3,}|:{3,}).*?^\1\2 *$", "\n", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^\(\w[\w-]*\)=$|^%.*$", "", text, flags=re.MULTILINE)
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        row = line.lstrip().startswith("|")
        if block and (row or not line.strip() or re.match(r"\s*(?:[-*+]|\d+\.) |#+ ", line)):
            yield plain("\n".join(block))
            block = []
        if row:
            cells = re.split(r"(?<!\\)\|", plain(line.strip()))
            yield from (cell for cell in cells if re.search(r"\w", cell))
        elif line.startswith("#"):
            yield plain(line.lstrip("#"))
        elif line.strip():
            block.append(re.sub(r"^\s*(?:[-*+]|\d+\.) |^>\s?", "", line))


def of_docstring(text: str) -> Iterator[str]:
    """Yield the paragraphs, entries and items of a docstring, without doctests, drawings and the types of entries."""
    in_list = False
    for paragraph in re.split(r"\n\s*\n", cleandoc(text)):
        if head := _SECTION.match(paragraph):
            in_list = head[1] in _LISTS
            paragraph = paragraph[head.end() :]
        if paragraph.lstrip().startswith(">>>") or any(mark in paragraph for mark in "├└│"):
            continue
        block: list[str] = []
        for line in paragraph.splitlines():
            declares = in_list and not line.startswith(" ")
            if block and (declares or _ENTRY.match(line) or re.match(r"\s*(?:[-*]|\d+\.) ", line)):
                yield plain("\n".join(block))
                block = []
            if not declares:
                block.append(re.sub(r"^\s*[-*] ", "", line))
        if block:
            yield plain("\n".join(block))


def of_module(tree: ast.Module) -> dict[str, list[str]]:
    """Return the docstrings of a module, and its messages: literals of at least four words."""
    strings = list(_documentation(tree))
    documented = set(map(id, strings))
    return {
        "docstrings": [part for one in strings for part in of_docstring(str(one.value))],
        "messages": [part for text in _literals(tree, documented) for part in _message(text)],
    }


def _documentation(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the strings that stand alone among statements. Expressions, most of a tree, are not walked."""
    blocks: list[ast.AST] = [tree]
    while blocks:
        block = blocks.pop()
        for one in (one for name in ("body", "orelse", "handlers", "finalbody") for one in getattr(block, name, ())):
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str):
                yield one.value
            elif hasattr(one, "body"):
                blocks.append(one)


def _literals(tree: ast.Module, documented: set[int]) -> Iterator[str]:
    nodes: list[ast.AST] = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "Code" for part in node.values)
            nodes += [part for part in node.values if isinstance(part, ast.FormattedValue)]
        elif not isinstance(node, ast.Constant):
            nodes += ast.iter_child_nodes(node)
        elif isinstance(node.value, str) and id(node) not in documented:
            yield node.value


@functools.cache
def _module(path: Path) -> dict[str, list[str]]:
    """Return what `of_module` does; two groups have the same files, which are parsed once."""
    return of_module(ast.parse(path.read_text(encoding="utf-8")))


def _message(text: str) -> Iterator[str]:
    """Yield a literal's lines that are words: not style sheets, markup, patterns or queries of a database."""
    for line in re.sub(r"^.*(?:;\n.*|\n +)— ", "", text, flags=re.MULTILINE).splitlines():
        if len(_PLAIN_WORD.findall(line)) >= 4 and not _NO_PROSE.search(line):
            yield plain(line.rpartition(" — ")[2])  # before the dash of a declaration stand its fields


def files(group: str) -> Iterable[Path]:
    """Return the files of a group."""
    folders = {
        "README": (ROOT, ["README.md", "SECURITY.md", "CONTRIBUTING.md"]),
        "docs": (ROOT / "docs", ["*.md"]),
        "lessons": (ROOT / "notebooks", ["*.ipynb", "solutions/*.ipynb"]),
        "docstrings": (ROOT / "toolkit", ["**/*.py"]),
        "messages": (ROOT / "toolkit", ["**/*.py"]),
    }
    folder, patterns = folders[group]
    found = (path for pattern in patterns for path in sorted(folder.glob(pattern)))
    return [path for path in found if not path.name.endswith("_pb2.py")]


def count(path: Path, group: str) -> Counts:
    """Return the counts of one file."""
    counts = Counts()
    texts: Iterable[str]
    if path.suffix == ".py":
        texts = _module(path)[group]
    elif path.suffix == ".ipynb":
        cells = [
            cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "markdown"
        ]
        texts = (part for cell in cells for part in of_markdown("".join(cell["source"])))
    else:
        texts = of_markdown(path.read_text(encoding="utf-8"))
    for part in texts:
        counts.add(part)
    return counts


def table(group: str) -> Iterator[tuple[str, Counts]]:
    """Yield the name and the counts of each file of a group that has words, and of the group."""
    whole = Counts()
    for path in files(group):
        counts = count(path, group)
        whole += counts
        if counts.words:
            yield path.relative_to(ROOT).as_posix(), counts
    yield group, whole


def main(names: list[str]) -> None:
    """Print the counts of all groups, or those of some with every hit."""
    print(f"{'file':56} {'words':>7} {'long':>5} {'dialect':>8} {'/1000':>6} {'semicolons':>11} {'/1000':>6}")
    for group in GROUPS:
        for name, counts in table(group):
            if names and group not in names and name not in names:
                continue
            if names and name != group:
                for kind, text in counts.hits:
                    print(f"{name}: {kind}: {text}")
            dialect = f"{counts.dialect:8} {counts.per_mille('dialect'):6.1f}"
            semicolons = f"{counts.semicolons:11} {counts.per_mille('semicolons'):6.1f}"
            print(f"{name:56} {counts.words:7} {counts.long:5} {dialect} {semicolons}")


if __name__ == "__main__":
    main(sys.argv[1:])
