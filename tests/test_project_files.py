"""The files of the project around its code: hooks, workflows, forms, container and editor settings are valid."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(set((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) - {GITHUB / "ISSUE_TEMPLATE" / "config.yml"})

SCHEMAS = {
    "vendor.github-workflows": WORKFLOWS,
    "custom.github-workflows-require-timeout": WORKFLOWS,
    "vendor.github-issue-forms": FORMS,
    "vendor.github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "vendor.dependabot": [GITHUB / "dependabot.yml"],
}


def read(path: Path) -> Any:
    """Return the content of a YAML file; `on` stays a word."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS)
def test_each_file_has_the_form_that_the_host_reads(schema: str) -> None:
    files = SCHEMAS[schema]
    assert files
    line = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, files)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_hooks_have_their_form_and_their_programs_are_installed() -> None:
    config = ROOT / ".pre-commit-config.yaml"
    done = subprocess.run([sys.executable, "-m", "pre_commit", "validate-config", str(config)], timeout=60)
    assert done.returncode == 0
    hooks = [hook for repository in read(config)["repos"] for hook in repository["hooks"]]
    assert {"ruff", "ruff-format", "typos"} <= {hook["id"] for hook in hooks}
    for hook in hooks:
        assert hook["language"] == "system", hook["id"]
        program = hook["entry"].split()[0]
        assert shutil.which(program, path=str(Path(sys.executable).parent)), program


def test_each_action_is_named_by_a_version() -> None:
    for path in WORKFLOWS:
        for name in re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8")):
            assert re.fullmatch(r"[\w.-]+/[\w.-]+@v\d+(\.\d+)*", name), (path.name, name)


def test_workflows_may_read_only_and_the_one_job_that_publishes_holds_no_secret() -> None:
    for path in WORKFLOWS:
        workflow = read(path)
        assert workflow["permissions"] == {"contents": "read"}
        assert "secrets." not in path.read_text(encoding="utf-8")
        more = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
        assert more == ({"publish": {"id-token": "write"}} if path.stem == "release" else {})
    release = read(GITHUB / "workflows" / "release.yml")["jobs"]
    assert release["publish"]["environment"] == "release"
    assert (release["publish"]["needs"], release["try"]["needs"]) == ("try", "build")


def test_each_python_that_the_project_names_is_tested_on_windows_and_macos() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    matrix = read(GITHUB / "workflows" / "tests.yml")["jobs"]["quick"]["strategy"]["matrix"]
    assert matrix["python"] == named
    assert {"windows-latest", "macos-latest"} == set(matrix["os"])
    assert read(GITHUB / "workflows" / "release.yml")["jobs"]["try"]["strategy"]["matrix"]["python"] == named


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_for_what_doctor_prints(form: Path) -> None:
    fields = {part["id"]: part for part in read(form)["body"] if "id" in part}
    assert fields["doctor"]["validations"] == {"required": "true"}
    assert "python -m toolkit doctor" in fields["doctor"]["attributes"]["description"]


def test_the_editor_is_given_the_width_that_the_linter_takes() -> None:
    settings = configparser.ConfigParser()
    settings.read_string("[top]\n" + (ROOT / ".editorconfig").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["*.py"]["max_line_length"] == str(project["tool"]["ruff"]["line-length"])
    assert settings["top"]["root"] == "true"


RACES = """
from pathlib import Path

def test_race():
    first = not Path("seen").exists()
    Path("seen").touch()
    assert not first

def test_{name}():
    assert {holds}
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the checks of a change run on Linux")
@pytest.mark.parametrize(("holds", "code"), [(True, 0), (False, 1)])
def test_a_lost_race_is_repeated_alone_and_a_broken_promise_fails(tmp_path: Path, holds: bool, code: int) -> None:
    (tmp_path / "test_races.py").write_text(RACES.format(name="promise", holds=holds), encoding="utf-8")
    python = sys.executable
    line = [python, str(ROOT / ".ci" / "again"), python, python, "-m", "pytest", "-q", "test_races.py"]
    plain = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(line, cwd=tmp_path, env=plain, capture_output=True, text=True, timeout=100)
    assert done.returncode == code
    assert ("passed three times alone:\n    test_races.py::test_race" in done.stdout) == holds
