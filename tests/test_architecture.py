"""The house: which room may import which, how large rooms and functions are, and what importing the toolkit loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent / "toolkit"

BASE = {
    "progress", "tracebacks", "errors", "exposure", "limits", "returns", "environments", "numerals", "products",
    "checks", "margin", "orders", "sides", "suggestions", "guards", "ethereum", "extras", "stored",
}  # fmt: skip
MAY_IMPORT = {
    "secrecy": set(),
    "tracebacks": set(),
    "errors": {"secrecy", "tracebacks"},
    "exposure": set(),
    "limits": {"errors", "exposure", "orders", "sides"},
    "sides": {"protocol"},
    "returns": set(),
    "numerals": {"errors", "tracebacks"},
    "environments": {"errors"},
    "products": {"errors", "numerals", "protocol"},
    "checks": {"errors", "numerals", "products", "protocol"},
    "margin": {"errors", "funding", "numerals", "protocol"},
    "funding": {"errors", "numerals"},
    "ethereum": {"errors"},
    "protocol": {"errors", "environments", "ethereum", "numerals", "suggestions"},
    "client": {"coverage", "protocol", "secrecy", "wallet"} | BASE,
    "venue": {"protocol"} | BASE,
    "interchange": {"errors", "extras"},
    "pictures": {"extras"},
    "cells": set(),
    "coverage": set(),
    "progress": set(),
    "exchanges": {"client", "coverage", "environments", "errors", "extras", "numerals", "products", "protocol"}
    | {"venue"},
    "plots": {"errors", "guards", "extras", "interchange", "numerals", "pictures"},
}
"""Room or module at the top → what else of the toolkit it may import; the others may import all that is below them."""

LAYERS = {
    "venue": (
        *("local", "served", "host", "lab", "trouble", "feed", "api", "simulation programs", "liquidation", "trading"),
        *("risk", "engine", "model clocks development"),
    ),
    "client": ("limits", "parent_orders", "orders stream", "account", "reads", "io"),
    "widgets": ("panels", "order_ticket", "base_panel"),
    "research": ("live_trading selection", "running", "backtesting", "analysis", "data", "*"),
    "protocol": ("documents", "reads", "*"),
    "": (
        *("cli", "testing magics", "report classroom learn gym", "session", "widgets exchanges", "research plots"),
        *("plain_session", "session_methods connecting", "following", "client venue", "*"),
    ),
}
"""Rooms of each house from the top floor down; files import from their own room and lower floors. "*" is the rest."""

LOADED_BY_NAME = {"__init__", "__main__"}
"""Files at the top of the toolkit that name modules of every room, to load them on first use."""

TABLES = {
    "": "toolkit",
    "__main__": "toolkit.cli",
    "gym": "toolkit.gym",
    "research": "toolkit.research",
    "research.data": "toolkit.research.data",
    "widgets": "toolkit.widgets",
    "venue.engine.registry": "toolkit.venue",
}
"""Modules that may load others by a table of names → package of these names. No other gives a string to import_module:
a package's table holds its own public names, and the rest are tables of commands and rules."""

REGISTRIES = {"venue.engine.registry"}
"""Tables of modules that register what they define when they are loaded; only their names are known here."""


@cache
def modules() -> dict[str, Path]:
    """Return every module of the toolkit by its dotted name below `toolkit`, generated code left out."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        if not path.name.endswith("_pb2.py"):
            found[".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")] = path
    return found


@cache
def imports(name: str) -> frozenset[str]:
    """Return the modules of the toolkit that a module imports.

    Counted are imports anywhere in its body, also in functions, those for types only and of its stub, and modules named
    by a string: the argument of import_module, and the tables of TABLES.
    """
    path = modules()[name]
    package = path.relative_to(ROOT).parent.parts
    found = set() if name in REGISTRIES else named_modules(name)
    sources = [each for each in (path, path.with_suffix(".pyi")) if each.exists()]
    for node in (node for each in sources for node in ast.walk(ast.parse(each.read_text(encoding="utf-8")))):
        if isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            words = (node.module or "").split(".") if node.module else []
            if not node.level:
                if words[:1] != ["toolkit"]:
                    continue
                words = words[1:]
            for alias in node.names:
                module = ".".join([*base, *words, alias.name])
                found.add(module if module in modules() else ".".join([*base, *words]))
        elif isinstance(node, ast.Import):
            found |= {alias.name.removeprefix("toolkit.") for alias in node.names if alias.name.startswith("toolkit.")}
    return frozenset(found & modules().keys() - {name})


def named_modules(name: str) -> set[str]:
    """Return the modules of the toolkit that a module loads by name."""
    tree = ast.parse(modules()[name].read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) in LOADERS]
    package = ["toolkit", *modules()[name].relative_to(ROOT).parent.parts]
    found = set()
    for call in calls:
        given = call.args[0]
        if name in TABLES:
            strings = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
            found |= {f"{TABLES[name]}.{text}" for text in strings if isinstance(text, str)}
        elif isinstance(given, ast.Constant):
            dots = len(given.value) - len(given.value.lstrip("."))
            base = package[: len(package) - dots + 1] if dots else []
            found.add(".".join([*base, given.value.lstrip(".")]))
        else:  # what a program was given, such as a strategy's module
            assert "toolkit" not in ast.unparse(given), f"{name} loads {ast.unparse(given)}"
    found = {text.removeprefix("toolkit.") for text in found} & modules().keys()
    return found - {name}


LOADERS = {"importlib.import_module", "import_module", "__import__"}


def floors(house: str) -> Iterator[tuple[str, str, int]]:
    """Yield (module, room, floor) for the files of a house, counted from the top."""
    by_room = {room: floor for floor, rooms in enumerate(LAYERS[house]) for room in rooms.split()}
    for name in modules():
        if house and not name.startswith(f"{house}."):
            continue
        room = name.removeprefix(f"{house}." if house else "").partition(".")[0]
        if not house and (room in LOADED_BY_NAME or not name):
            continue
        assert room in by_room or "*" in by_room, f"{name}: no floor is given for {room}"
        yield name, room, by_room.get(room, by_room.get("*", 0))


@pytest.mark.parametrize("house", sorted(LAYERS), ids=lambda house: house or "toolkit")
def test_rooms_import_downwards_only(house: str) -> None:
    place = {name: (room, floor) for name, room, floor in floors(house)}
    for name, (room, floor) in place.items():
        for other in imports(name) & place.keys():
            other_room, other_floor = place[other]
            same = room == other_room or (other_floor == floor and LAYERS[house][floor] == "*")
            assert same or other_floor > floor, f"{name} imports {other}, which is not below it"


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_rooms_import_only_what_the_arrows_allow(room: str) -> None:
    for name in modules():
        if name == room or name.startswith(f"{room}."):
            others = {other.partition(".")[0] for other in imports(name)} - {room, ""} - MAY_IMPORT[room]
            assert not others, f"{name} imports {sorted(others)}"


def test_no_two_files_import_each_other_in_functions_for_types_or_by_name() -> None:
    TopologicalSorter({name: imports(name) for name in modules()}).prepare()  # raises CycleError with the circle


def test_only_a_package_names_modules_in_strings() -> None:
    for name in modules():
        if name not in TABLES:
            assert not named_modules(name), f"{name} loads {named_modules(name)} by name; import it"


ROOMS = sorted(str(path.parent.relative_to(ROOT)) for path in ROOT.rglob("__init__.py") if path.parent != ROOT)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_one_purpose_and_three_to_twelve_files(room: str) -> None:
    folder = ROOT / room
    purpose = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    assert purpose, f"{room}/__init__.py does not say what the room is for"
    assert len(purpose.splitlines()[0]) <= 120
    files = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
    inner = [path for path in folder.iterdir() if (path / "__init__.py").exists()]
    assert len(files) + len(inner) >= 3, f"{room} has only {len(files)} files"
    assert len(files) <= 12, f"{room} has {len(files)} files"


def test_tests_mirror_the_rooms() -> None:
    tests = ROOT.parent / "tests"
    for room in ROOMS:
        # Tried by the tests of feed and client. Declarations, tried by those of their room.
        if room not in {"venue/served", "protocol/reads/info", "protocol/reads/channels"}:
            assert (tests / room / "__init__.py").exists(), f"there are no tests/{room}"


def test_no_function_has_more_than_70_lines_below_its_docstring() -> None:
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                documented = node.body[0].end_lineno - node.body[0].lineno + 1 if ast.get_docstring(node) else 0
                lines = node.end_lineno - node.lineno + 1 - documented
                assert lines <= 70, f"{name}.{node.name} has {lines} lines"


def test_no_room_uses_a_private_name_of_another() -> None:
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("toolkit")):
                private = [a.name for a in node.names if a.name.startswith("_") and a.name != "__version__"]
                assert not private or node.level == 1, f"{name} imports {private} from {node.module}"
            if name.startswith("research") and isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                foreign = node.value.id in {"core", "venue", "session"} and node.attr.startswith("_")
                assert not foreign, f"{name} uses {node.value.id}.{node.attr}"


def test_importing_the_toolkit_loads_no_heavy_module() -> None:
    heavy = ("pandas", "numpy", "httpx", "matplotlib", "ipywidgets", "eth_account", "btclib_libsecp256k1")
    heavy += ("google.protobuf",)
    code = f"import sys, toolkit; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("package", "module"),
    [("btclib_libsecp256k1", "protocol.curve"), ("eth_account", "ethereum"), ("eth_keyfile", "ethereum")],
)
def test_one_module_calls_a_package_that_handles_keys(package: str, module: str) -> None:
    callers = set()
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            imported = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            callers |= {name for each in imported if each.partition(".")[0] == package}
    assert callers == {module}


def state_machine() -> set[str]:
    """Return the modules of the venue's state machine: the core, its rules, and all of the toolkit they import."""
    from toolkit.venue.engine import registry

    seen: set[str] = set()
    waiting = ["venue.engine.core", *(f"venue.{name}" for name in registry.MODULES)]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += imports(name)
    return seen


def test_the_core_of_the_venue_does_no_input_or_output_and_knows_no_clock() -> None:
    banned = {
        "asyncio", "contextvars", "glob", "http", "httpx", "io", "multiprocessing", "os", "pathlib", "random",
        "secrets", "shutil", "signal", "socket", "sqlite3", "ssl", "starlette", "subprocess", "tempfile", "threading",
        "time", "urllib", "uuid", "uvicorn", "websockets",
    }  # fmt: skip
    # environments.py is there for its values; only environment(), which nothing here calls, looks at variables.
    # tracebacks.py looks at one when an error leaves a public function.
    found = state_machine() - {"environments", "tracebacks"}
    assert {"venue.trading.matching", "checks"} <= found
    for name in found:
        for node in ast.walk(ast.parse(modules()[name].read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            used = {word.split(".")[0] for word in names} & banned
            assert not used, f"{name} imports {sorted(used)}"


ANY_ELSEWHERE = {"client", "protocol", "orders", "checks", "products"}
"""Rooms whose wire names and forms are being typed: they are not counted yet."""
MOST_ANY = 0.0185
"""Greatest share of parameters that are Any itself: a foreign library's values, and keywords that are passed on."""


def test_a_parameter_is_any_only_where_a_foreign_library_forces_it() -> None:
    """`object` says that anything is taken, and a type says what is read of it. The share may only fall."""
    count, found = 0, list[str]()
    for name, path in modules().items():
        if name.partition(".")[0] in ANY_ELSEWHERE:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                args = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                args += [one for one in (node.args.vararg, node.args.kwarg) if one is not None]
                typed = [one for one in args if one.annotation is not None]
                count += len(typed)
                found += [f"{name}.{node.name}({one.arg})" for one in typed if ast.unparse(one.annotation) == "Any"]  # type: ignore[arg-type]
    assert len(found) <= MOST_ANY * count, f"{len(found)} of {count}: " + " ".join(found)
