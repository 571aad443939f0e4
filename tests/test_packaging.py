"""What an installed package holds: every room, and the walkthroughs."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_every_package_is_listed_for_the_wheel() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    found = {
        str(p.parent.relative_to(ROOT)).replace("\\", "/").replace("/", ".")
        for p in ROOT.glob("toolkit/**/__init__.py")
    }
    assert set(settings["packages"]) == found | {"toolkit.notebooks"}


def test_data_files_beside_code_are_listed_for_the_wheel() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    for path in (ROOT / "toolkit").rglob("*"):
        if path.is_dir() or path.suffix in {".py", ".pyc"}:
            continue
        package = ".".join(path.parent.relative_to(ROOT).parts)
        patterns = settings["package-data"].get(package, [])
        assert any(path.match(pattern) for pattern in patterns), f"{path.relative_to(ROOT)} would be left out"
