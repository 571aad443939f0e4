"""What an installed package holds: every room with its data files, and the walkthroughs."""

from __future__ import annotations

import importlib.metadata
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

import toolkit

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the names of the files in a wheel that is built from this tree."""
    builder = WheelBuilder(str(ROOT))
    (path,) = builder.build(directory=str(tmp_path_factory.mktemp("wheel")), versions=["standard"])
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_every_module_and_data_file(wheel: set[str]) -> None:
    for path in (ROOT / "toolkit").rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            assert path.relative_to(ROOT).as_posix() in wheel


def test_the_wheel_holds_the_walkthroughs(wheel: set[str]) -> None:
    notebooks = [p for p in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts]
    assert len(notebooks) > 20
    for path in notebooks:
        assert f"toolkit/{path.relative_to(ROOT).as_posix()}" in wheel


def test_the_wheel_holds_nothing_else(wheel: set[str]) -> None:
    assert {name.partition("/")[0] for name in wheel} == {"toolkit", f"toolkit-{toolkit.__version__}.dist-info"}
    assert not [name for name in wheel if name.endswith((".pyc", ".sqlite"))]


def test_the_version_stands_in_one_place() -> None:
    assert importlib.metadata.version("toolkit") == toolkit.__version__


def test_the_wheel_holds_the_notice_and_licence_of_what_is_vendored(wheel: set[str]) -> None:
    info = f"toolkit-{toolkit.__version__}.dist-info/licenses"
    vendored = "toolkit/widgets/vendored/lightweight-charts"
    assert {f"{info}/NOTICE", f"{info}/{vendored}.LICENSE", f"{vendored}.standalone.production.js"} <= wheel
    assert f"{vendored}.standalone.production.js" in (ROOT / "NOTICE").read_text(encoding="utf-8").replace("\n", " ")
