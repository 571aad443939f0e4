"""What an installed package holds: every room with its data files, and the walkthroughs."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import toolkit
from toolkit.extras import DISTRIBUTION, install_line

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


def test_the_wheel_holds_the_messages_and_the_walkthroughs(wheel: set[str]) -> None:
    assert "toolkit/proto/exchange.proto" in wheel
    notebooks = [p for p in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts]
    assert len(notebooks) > 20
    for path in notebooks:
        assert f"toolkit/{path.relative_to(ROOT).as_posix()}" in wheel


def test_the_wheel_holds_nothing_else(wheel: set[str]) -> None:
    assert {name.partition("/")[0] for name in wheel} == {"toolkit", f"afx_toolkit-{toolkit.__version__}.dist-info"}
    assert not [name for name in wheel if name.endswith((".pyc", ".sqlite"))]


def test_the_version_stands_in_one_place() -> None:
    assert importlib.metadata.version(DISTRIBUTION) == toolkit.__version__


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
    "toolkit.plots.candles(s.klines('BTCUSDC', '1m'))": "is needed for plots: {notebook}",
    "s.ticket('BTCUSDC')": "ipywidgets is not installed, and is needed for widgets: {notebook}",
    "from toolkit.widgets import Blotter": "{notebook}",
    "from toolkit.research import record; record(s, 'here', 'BTCUSDC')": "pyarrow is not installed",
    "from toolkit.research import data; data.load('there.parquet')": "pyarrow is not installed",
    "toolkit.Wallet.from_keyring()": "keys in the system's keyring: {keyring}",
    "from toolkit.__main__ import main; main(['quickstart'])": "The equity is not drawn: matplotlib is not installed",
}
"""What somebody does on a plain installation → what is said."""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what each use says, as one process tries them in turn."""
    folder, mark = tmp_path_factory.mktemp("bare"), "=====\n"
    (folder / "there.parquet").write_bytes(b"PAR1")
    missing = {"matplotlib", "ipywidgets", "anywidget", "IPython", "pyarrow", "keyring", "dask", "jupyterlab"}
    blocks = [LEFT_OUT.replace("{names}", repr(missing)), "import toolkit\ns = toolkit.connect(clock='manual')\n"]
    for use in WITHOUT:
        blocks.append(f"try:\n    {use}\nexcept Exception as error:\n    print(error)\nprint({mark!r}, end='')\n")
    ended = subprocess.run(
        [sys.executable, "-u", "-c", "".join(blocks)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}, timeout=100,
    )  # fmt: skip
    *texts, rest = ended.stdout.split(mark)
    assert rest == "", ended.stdout
    return dict(zip(WITHOUT, texts, strict=True))


@pytest.mark.parametrize("use", WITHOUT)
def test_what_needs_an_extra_says_which_and_the_rest_works_without(use: str, said: dict[str, str]) -> None:
    assert WITHOUT[use].format(**{extra: install_line(extra) for extra in ("notebook", "keyring")}) in said[use]


def test_each_threat_in_the_security_page_has_a_test_that_exists() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("## Threats")[2]
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("|")][2:]
    assert len(rows) > 12
    for threat, stopped_by, test in rows:
        path, _, name = test.strip().partition("::")
        assert threat.strip()
        assert stopped_by.strip()
        assert (ROOT / path).is_file(), path
        assert re.search(rf"^(async )?def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.M), test


PERMISSIVE = re.compile(r"\b(MIT|BSD|Apache|Apache-2\.0|PSF|ISC|MPL[- ]2\.0|Python Software Foundation|0BSD)\b")


def licence(package: str) -> str:
    """Return what a package says of its licence: the expression, the classifiers, else the text's first words."""
    metadata = importlib.metadata.metadata(package)
    stated = metadata.get("License-Expression") or " ".join(
        line.rpartition("::")[2] for line in metadata.get_all("Classifier") or [] if line.startswith("License ::")
    )
    if not stated and not (stated := (metadata.get("License") or "").partition("\n")[0]):
        texts = [file for file in importlib.metadata.files(package) or [] if "LICENSE" in file.name.upper()]
        stated = texts[0].read_text(encoding="utf-8")[:40] if texts else ""
    return stated


def test_each_dependency_is_listed_with_its_reason_and_licence() -> None:
    page = (ROOT / "docs" / "packages.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| ")
    ]
    listed = {row[0].strip("`"): row for row in rows if len(row) == 4 and row[0].startswith("`")}
    groups = {"": project()["dependencies"], **project()["optional-dependencies"]}
    wanted = {
        Requirement(line).name: group or "all"
        for group, lines in reversed(groups.items())
        for line in lines
        if Requirement(line).name != DISTRIBUTION
    }
    assert {name: row[1] for name, row in listed.items()} == wanted
    for name, (_, _, reason, stated) in listed.items():
        assert len(reason) > 10, name
        try:
            said = licence(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # an extra that this environment is without
        assert bool(PERMISSIVE.search(stated)) is bool(PERMISSIVE.search(said)) or name == "backtesting", (stated, said)
        assert PERMISSIVE.search(said) or (name, stated) == ("backtesting", "AGPL-3.0, tests only"), (name, said)


def test_nothing_that_is_installed_with_the_toolkit_has_an_unexpected_licence() -> None:
    """All that an installation with every extra but `test` and `docs` brings, with what that brings."""
    groups = project()["optional-dependencies"]
    waiting = [Requirement(line) for line in project()["dependencies"]]
    waiting += [Requirement(line) for group in ("notebook", "data", "keyring") for line in groups[group]]
    seen: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        extras = {"extra": next(iter(requirement.extras), "")}
        if name in seen or (requirement.marker and not requirement.marker.evaluate(extras)):
            continue
        seen.add(name)
        try:
            inner = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue  # of another platform
        assert PERMISSIVE.search(licence(name)), (name, licence(name))
        waiting += [Requirement(line) for line in inner if "extra ==" not in line]
    assert len(seen) > 30


def test_the_wheel_holds_the_notice_and_licence_of_what_is_vendored(wheel: set[str]) -> None:
    info = f"afx_toolkit-{toolkit.__version__}.dist-info/licenses"
    vendored = "toolkit/widgets/vendored/lightweight-charts"
    assert {f"{info}/NOTICE", f"{info}/{vendored}.LICENSE", f"{vendored}.standalone.production.js"} <= wheel
    assert f"{vendored}.standalone.production.js" in (ROOT / "NOTICE").read_text(encoding="utf-8").replace("\n", " ")
