"""The arrows between rooms, and what importing the toolkit may load."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent / "toolkit"
BASE = {"errors", "environments", "numerals", "products", "checks", "margin", "orders", "suggestions"}
MAY_IMPORT = {
    "protocol": {"errors", "environments"},
    "client": {"protocol", "wallet"} | BASE,
    "venue": {"protocol"} | BASE,
    "plots": set(),
    "margin": {"errors", "numerals"},
    "numerals": {"errors"},
    "checks": {"errors", "products"},
    "products": {"errors", "numerals"},
}


def imported_rooms(path: Path) -> set[str]:
    """Return the rooms of toolkit that a module imports, anywhere in its body."""
    package = ["toolkit", *path.relative_to(ROOT).parent.parts]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            full = [*base, *(node.module.split(".") if node.module else [])]
            names = [[*full, alias.name] for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        else:
            continue
        found |= {name[1] for name in names if name[0] == "toolkit" and len(name) > 1}
    return found


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_rooms_import_only_what_the_arrows_allow(room: str) -> None:
    single = ROOT / f"{room}.py"
    files = [single] if single.exists() else sorted((ROOT / room).rglob("*.py"))
    for path in files:
        others = imported_rooms(path) - {room} - MAY_IMPORT[room]
        assert not others, f"{path.relative_to(ROOT)} imports {sorted(others)}"


def test_importing_the_toolkit_loads_no_heavy_module() -> None:
    heavy = (
        "pandas",
        "numpy",
        "httpx",
        "matplotlib",
        "ipywidgets",
        "eth_account",
        "coincurve",
        "google.protobuf",
    )
    code = f"import sys, toolkit; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def core_modules() -> set[Path]:
    """Return the modules of the venue's state machine: the core, its rules, and all of the toolkit they import."""
    from toolkit.venue.engine import registry

    seen: set[Path] = set()
    waiting = [ROOT / "venue" / f"{name}.py" for name in ("core", "codec", "wiring", *registry.MODULES)]
    while waiting:
        path = waiting.pop()
        if path in seen or not path.exists():
            continue
        seen.add(path)
        package = path.parent
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = package if node.level == 1 else package.parents[node.level - 2]
                inner = base.joinpath(*(node.module or "").split("."))
                waiting += [inner.with_suffix(".py"), *(inner / f"{alias.name}.py" for alias in node.names)]
    return seen


def test_the_core_of_the_venue_does_no_input_or_output_and_knows_no_clock() -> None:
    banned = {
        "asyncio", "contextvars", "glob", "http", "httpx", "io", "multiprocessing", "os", "pathlib", "random",
        "secrets", "shutil", "signal", "socket", "sqlite3", "ssl", "starlette", "subprocess", "tempfile", "threading",
        "time", "urllib", "uuid", "uvicorn", "websockets",
    }  # fmt: skip
    # environments.py is there for its values; only environment(), which nobody here calls, looks at variables
    modules = core_modules() - {ROOT / "environments.py"}
    assert ROOT / "venue" / "matching.py" in modules
    assert ROOT / "checks.py" in modules
    for path in modules:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            found = {name.split(".")[0] for name in names} & banned
            assert not found, f"{path.relative_to(ROOT)} imports {sorted(found)}"
