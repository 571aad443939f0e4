"""What the reference promises of each public object: every parameter is named, and an example runs.

`python -m tests.reference` counts by page what is missing. `python -m tests.reference NAME …` prints what the examples
of objects whose name contains NAME give, for writing them.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

from toolkit.client.io.flow import SessionPart
from toolkit.client.orders.exchange import Exchange
from toolkit.client.reads.info import Info
from toolkit.client.stream.live import Live

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "docs"))

import pages  # noqa: E402

WITH_EXAMPLES = (
    "session", "info", "exchange", "stream", "intents", "parent-orders-of-a-session", "session-limits", "permissions",
    "listed-products", "builder", "orders", "plots", "research", "metrics", "luck", "data", "live", "receipts",
    "parent-orders", "report", "context",
)  # fmt: skip
"""Pages whose functions and methods each have an example."""
INTERNAL = re.compile(
    r"""\.Async\w+\.\w+$ | Limits\.check_\w+$ | Trials\.(?:measured|together)$ | Twap\.(?:child|due)$ | Events\.tape$
    | \.(?:keep_recipe|audited_in_short|has_ended|assess|ask)$""",
    re.VERBOSE,
)
"""What the toolkit calls, and the awaited twins of documented methods. `ask` waits for a person."""
MADE = (SessionPart, Live, Enum, Info, Exchange)
"""Classes of which no caller makes an object."""
FEW = 5
"""So many parameters may be named in sentences, as `name`; more are a list."""
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_ENTRY = r"^(?: {{4}})?(?:[*\w]+, )*\**{name}(?:, [*\w]+)*(?: \([^)]*\))?: "


def resolved(name: str) -> Any:
    """Return the object of a name of the reference."""
    module, _, last = name.rpartition(".")
    try:
        holder: Any = importlib.import_module(module)
    except ImportError:
        outer, _, kind = module.rpartition(".")
        holder = getattr(importlib.import_module(outer), kind)
    return getattr(holder, last)


@dataclass(frozen=True)
class Documented:
    """A public object of the reference: its page, its name, and the class that a method was found on."""

    page: str
    name: str

    @cached_property
    def value(self) -> Any:
        return resolved(self.name)

    @cached_property
    def doc(self) -> str:
        return inspect.getdoc(self.value) or ""

    @cached_property
    def parameters(self) -> list[str]:
        """The names of its parameters, without `ctx`, the Context that each callback of a strategy takes first.

        Those of `**sending: Unpack[…]` are documented at their TypedDict.
        """
        if isinstance(self.value, type) and issubclass(self.value, BaseException):
            return []  # errors are raised by the toolkit, and their attributes are on the page of errors
        if isinstance(self.value, type) and (issubclass(self.value, MADE) or "Made by" in self.doc):
            return []  # callers get it, and never make one
        if not callable(self.value) or (INTERNAL.search(self.name) and not isinstance(self.value, type)):
            return []
        try:
            signature = inspect.signature(self.value)
        except (TypeError, ValueError):
            return []
        kept = signature.parameters.items()
        return [name for name, each in kept if name not in ("self", "cls", "args", "kwargs", "ctx") and name[0] != "_"]

    @property
    def unnamed(self) -> list[str]:
        """The parameters without an entry `name: meaning` in the docstring, or a docstring behind the field."""
        return [name for name in self.parameters if not self._names(name)]

    def _names(self, name: str) -> bool:
        in_words = isinstance(self.value, type) or len(self.parameters) <= FEW
        if in_words and re.search(rf"`\**{name}\b[^`]*`", self.doc):
            return True
        if re.search(_ENTRY.format(name=name), self.doc, flags=re.MULTILINE):
            return True
        if not isinstance(self.value, type):
            return False
        field = rf'^    {name}: .*\n(?:(?: {{8}}.*|    \))\n)*    """'
        sources = (inspect.getsource(base) for base in self.value.__mro__ if base.__module__.startswith("toolkit"))
        return any(re.search(field, source, flags=re.MULTILINE) for source in sources)

    @property
    def is_called(self) -> bool:
        """Whether it is a function or a method that users call."""
        return (inspect.isfunction(self.value) or inspect.ismethod(self.value)) and not INTERNAL.search(self.name)

    @property
    def example(self) -> str:
        """The lines of its doctest, or ""."""
        return self.doc if ">>> " in self.doc else ""


def documented() -> Iterator[Documented]:
    """Yield the public objects of the reference, each once."""
    seen = set()
    for page in pages.reference():
        for name in (*page.classes, *page.objects):
            one = Documented(page.name, name)
            for each in (one, *_methods(one, name in page.classes)):
                if id(each.value) not in seen:
                    seen.add(id(each.value))
                    yield each


def _methods(one: Documented, listed: bool) -> Iterator[Documented]:
    """Yield the methods of a class that its page shows under it: the documented ones, where they are not `listed`."""
    if not inspect.isclass(one.value) or listed or issubclass(one.value, BaseException | Enum):
        return
    for name, member in vars(one.value).items():
        if inspect.isfunction(member) and name[0] != "_" and member.__doc__:
            yield Documented(one.page, f"{one.name}.{name}")


class Surroundings:
    """What the examples start from: `pages.PREAMBLE`, with a session of their own for each object."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._names: dict[str, Any] = {"__name__": "__main__"}
        exec(pages.PREAMBLE, self._names)
        self._names["session"].close()

    def of(self, one: Documented) -> Mapping[str, Any]:
        """Return the names that an example sees: those of its module, and a new session."""
        function = inspect.unwrap(one.value) if callable(one.value) else None
        module = sys.modules.get(getattr(function, "__module__", ""), None)
        session = self._stack.enter_context(self._names["toolkit"].connect(clock="manual"))
        return {**(vars(module) if module else {}), **self._names, "session": session}


def run(one: Documented, surroundings: Surroundings) -> str:
    """Run an object's example, and return what differs from the docstring."""
    import matplotlib.pyplot as plt

    test = doctest.DocTestParser().get_doctest(one.doc, dict(surroundings.of(one)), one.name, None, None)
    said: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS, verbose=False).run(test, out=said.append)
    plt.close("all")
    return "".join(said)


def main(*parts: str) -> None:
    """Print the counts by page, or what differs in the examples of some objects."""
    if parts:
        with ExitStack() as stack:
            surroundings = Surroundings(stack)
            for one in documented():
                if any(part in f"{one.page}:{one.name}" for part in parts):
                    print(f"{one.name}: unnamed {one.unnamed}, {'example' if one.example else 'NO EXAMPLE'}")
                    print(run(one, surroundings), end="")
        return
    total = [0, 0, 0, 0]
    for page in pages.reference():
        ones = [one for one in documented() if one.page == page.name]
        row = [len(ones), sum(len(o.parameters) for o in ones), sum(len(o.unnamed) for o in ones)]
        row.append(sum(bool(o.example) for o in ones))
        total = [a + b for a, b in zip(total, row, strict=True)]
        print(f"{page.name:28} {row[0]:4} objects, {row[1]:4} parameters, {row[2]:4} unnamed, {row[3]:4} with examples")
    print(total)


if __name__ == "__main__":
    main(*sys.argv[1:])
