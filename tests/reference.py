"""What docstrings promise: each parameter is described in numpydoc form, and each public call has an example that runs.

Docstrings are read as editors read them: from the source, by griffe and its numpy parser.

`python -m tests.reference` counts by page what is missing. `python -m tests.reference --rooms` counts by room the
parameters of all functions, public or not, that have a type and a description. With `--rooms NAME` it prints those
that miss one. `python -m tests.reference NAME …` prints what the examples of objects whose name contains NAME give,
for writing them.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import griffe

from toolkit.client.io.flow import SessionPart
from toolkit.client.orders.exchange import Exchange
from toolkit.client.reads.info import Info
from toolkit.client.stream.live import Live

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "docs"))

import pages  # noqa: E402

TOP = "toolkit"
"""The room of the modules that lie in no folder."""
FLOOR = 95
"""The least share of a room's parameters that are found with a type and a description, in %."""
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
SECTIONS = (
    griffe.DocstringSectionKind.parameters,
    griffe.DocstringSectionKind.other_parameters,
    griffe.DocstringSectionKind.attributes,
)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def described(text: str) -> set[str]:
    """Return the parameters that a docstring has with a type and a description."""
    found = griffe.Docstring(text, parser="numpy").parse(warnings=False)
    items = [item for section in found if section.kind in SECTIONS for item in section.value]
    typed = [item for item in items if str(item.annotation or "None") != "None"]
    return {item.name.lstrip("*") for item in typed if item.description.strip()}


@cache
def package() -> griffe.Module:
    """Return the toolkit as its source declares it, without an import."""
    loaded = griffe.load("toolkit", search_paths=[ROOT])
    assert isinstance(loaded, griffe.Module)
    return loaded


def room_of(module: str) -> str:
    """Return the room of a module by its dotted name: its folder below the toolkit."""
    parts = module.split(".")[1:]
    if (ROOT / "toolkit").joinpath(*parts).with_suffix(".py").is_file():
        parts = parts[:-1]
    return "/".join(parts) or TOP


def sources() -> Iterator[griffe.Module]:
    """Yield every module of the toolkit that is not made of messages."""
    waiting = [package()]
    while waiting:
        module = waiting.pop()
        waiting += [each for each in module.modules.values() if not each.is_alias]
        if not str(module.filepath).endswith("_pb2.py"):
            yield module


def calls(holder: griffe.Module | griffe.Class) -> Iterator[griffe.Function | griffe.Class]:
    """Yield the functions with public names of a module or class, and the public classes, whose calls make objects."""
    for name, member in holder.members.items():
        if isinstance(member, griffe.Class):
            yield from calls(member)
        if isinstance(member, griffe.Function | griffe.Class) and name[0] != "_":
            yield member


def text_of(call: griffe.Function | griffe.Class) -> str:
    """Return the docstring of a function or class. A method without one has that of the method it overrides."""
    holders = [base for base in call.parent.mro() if call.name in base.members] if _is_method(call) else []  # type: ignore[union-attr]
    docstrings = (each.docstring for each in (call, *(base.members[call.name] for base in holders)))
    return next((each.value for each in docstrings if each is not None), "")


def _is_method(call: griffe.Function | griffe.Class) -> bool:
    return isinstance(call, griffe.Function) and isinstance(call.parent, griffe.Class)


def parameters_of(call: griffe.Function | griffe.Class) -> list[str]:
    """Return the names of the parameters that a caller gives."""
    if isinstance(call, griffe.Class) and ("Made by" in text_of(call) or _is_error(call)):
        return []
    bound = isinstance(call, griffe.Class) or (_is_method(call) and "staticmethod" not in call.labels)
    return [each.name for each in list(call.parameters)[bound:] if each.name[0] != "_"]


def _is_error(kind: griffe.Class) -> bool:
    """Whether it is an error, which the toolkit makes and callers catch."""
    return kind.module.path == "toolkit.errors"


def undescribed(call: griffe.Function | griffe.Class) -> list[str]:
    """Return the parameters of a function or class that have no type and description in its docstring.

    A field of a class may have a docstring of its own.
    """
    found = described(text_of(call))
    if isinstance(call, griffe.Class):
        for base in (call, *call.mro()):
            found |= described(text_of(base))
            found |= {name for name, field in base.members.items() if not field.is_alias and field.docstring}
    return [name for name in parameters_of(call) if name not in found]


def found_by_room() -> dict[str, tuple[int, int, list[str]]]:
    """Return by room how many parameters are described, how many there are, and the calls that miss some."""
    counts: Counter[str] = Counter()
    found: Counter[str] = Counter()
    missing: dict[str, list[str]] = defaultdict(list)
    for module in sources():
        room = room_of(module.path)
        for call in calls(module):
            wanted, without = parameters_of(call), undescribed(call)
            counts[room] += len(wanted)
            found[room] += len(wanted) - len(without)
            if without:
                missing[room].append(f"{call.path}: {', '.join(without)}")
    return {room: (found[room], counts[room], missing[room]) for room in sorted(counts) if counts[room]}


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
    """A public object of the reference: its page, and its name, with the class that a method was found on."""

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
    def undescribed(self) -> list[str]:
        """The parameters without a type and a description in the docstring."""
        found = described(self.doc)
        if isinstance(self.value, type) and self.parameters:
            without = undescribed(self.source) if isinstance(self.source, griffe.Class) else self.parameters
            return [name for name in without if name not in found]
        return [name for name in self.parameters if name not in found]

    @cached_property
    def source(self) -> griffe.Object | None:
        """What the source declares by this name: where it is listed, else where it is defined."""
        value = inspect.unwrap(self.value) if callable(self.value) else None
        home = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
        for name in (self.name, home):
            holder, _, last = name.removeprefix("toolkit.").rpartition(".")
            try:
                found = package()[holder].all_members[last] if holder else package().members[last]
            except (KeyError, griffe.AliasResolutionError):
                continue
            found = found.final_target if isinstance(found, griffe.Alias) else found
            if found.docstring is not None:
                return found
        return None

    @property
    def is_called(self) -> bool:
        """Whether it is a function or a method that users call."""
        return (inspect.isfunction(self.value) or inspect.ismethod(self.value)) and not INTERNAL.search(self.name)

    @property
    def has_example(self) -> bool:
        """Whether its docstring in the source has an example."""
        return self.source is not None and self.source.docstring is not None and ">>> " in self.source.docstring.value


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


@dataclass(frozen=True)
class Example:
    """A docstring with examples: the name of its object, its module and its text."""

    name: str
    module: str
    text: str


def examples() -> Iterator[Example]:
    """Yield every docstring of the source with examples."""
    for module in sources():
        waiting: list[griffe.Object] = [module]
        while waiting:
            one = waiting.pop()
            if isinstance(one, griffe.Module | griffe.Class):
                waiting += [
                    each for each in one.members.values() if isinstance(each, griffe.Object) and not each.is_module
                ]
            if one.docstring is not None and ">>> " in one.docstring.value:
                yield Example(one.path, module.path, one.docstring.value)


class Surroundings:
    """What the examples start from: `pages.PREAMBLE`, with a session of their own for each object."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._names: dict[str, Any] = {"__name__": "__main__"}
        exec(pages.PREAMBLE, self._names)
        self._names["session"].close()

    def of(self, example: Example) -> Mapping[str, Any]:
        """Return the names that an example sees: those of its module, and a new session."""
        module = importlib.import_module(example.module)
        session = self._stack.enter_context(self._names["toolkit"].connect(clock="manual"))
        return {**vars(module), **self._names, "session": session, "__name__": module.__name__}


def run(example: Example, surroundings: Surroundings) -> str:
    """Run an example, and return what differs from the docstring."""
    import matplotlib.pyplot as plt

    test = doctest.DocTestParser().get_doctest(example.text, dict(surroundings.of(example)), example.name, None, None)
    said: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS, verbose=False).run(test, out=said.append)
    plt.close("all")
    return "".join(said)


def main(*parts: str) -> None:
    """Print the counts by page or by room, or what differs in the examples of some objects."""
    if parts[:1] == ("--rooms",):
        return _print_rooms(*parts[1:])
    if parts:
        with ExitStack() as stack:
            surroundings = Surroundings(stack)
            for example in examples():
                if any(part in example.name for part in parts):
                    print(example.name)
                    print(run(example, surroundings), end="")
        return None
    total = [0, 0, 0, 0]
    for page in pages.reference():
        ones = [one for one in documented() if one.page == page.name]
        row = [len(ones), sum(len(o.parameters) for o in ones), sum(len(o.undescribed) for o in ones)]
        row.append(sum(o.has_example for o in ones))
        total = [a + b for a, b in zip(total, row, strict=True)]
        print(f"{page.name:28} {row[0]:4} objects, {row[1]:4} parameters, {row[2]:4} undescribed, {row[3]:4} examples")
    print(total)
    return None


def _print_rooms(*rooms: str) -> None:
    for room, (found, count, missing) in found_by_room().items():
        print(f"{room:28} {found:4} / {count:4} {100 * found / (count or 1):6.1f} %")
        if room in rooms:
            print(*(f"    {one}" for one in missing), sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
