"""What an installed package holds: every room with its data files, and the walkthroughs."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

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


def project() -> dict[str, Any]:
    """Return the [project] table of pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return dict(tomllib.load(file)["project"])


LEFT_OUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(name)
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {names} else find(name, package)
sys.meta_path.insert(0, Missing())
"""
"""Makes a Python in which these packages are not installed."""

WITHOUT = {
    "s.buy('BTCUSDC', '0.01'); print(len(s.positions()), len(s.klines('BTCUSDC', '1m', limit=5)))": "1 5",
    "toolkit.plots.candles(s.klines('BTCUSDC', '1m'))": "matplotlib is not installed, and is needed for plots: {notebook}",
    "s.ticket('BTCUSDC')": "ipywidgets is not installed, and is needed for widgets: {notebook}",
    "from toolkit.widgets import Blotter": "{notebook}",
    "from toolkit.research import record; record(s, 'here', 'BTCUSDC')": "pyarrow is not installed, and is needed for Parquet files",
    "toolkit.Wallet.from_keyring()": "keys in the system's keyring: {keyring}",
    "from toolkit.__main__ import main; main(['quickstart'])": "The equity is not drawn: matplotlib is not installed",
}
"""What somebody does on a plain installation → what is said."""


@pytest.mark.parametrize("use", WITHOUT)
def test_what_needs_an_extra_says_which_and_the_rest_works_without(use: str, tmp_path: Path) -> None:
    words = WITHOUT[use].format(**{extra: f'pip install "toolkit[{extra}]"' for extra in ("notebook", "keyring")})
    missing = {"matplotlib", "ipywidgets", "anywidget", "IPython", "pyarrow", "keyring", "dask", "jupyterlab"}
    start = LEFT_OUT.replace("{names}", repr(missing)) + "import toolkit\ns = toolkit.connect(clock='manual')\n"
    ended = subprocess.run(
        [sys.executable, "-c", start + use], capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}, timeout=100,
    )  # fmt: skip
    assert words in ended.stdout + ended.stderr
