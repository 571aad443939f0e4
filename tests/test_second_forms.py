"""The list of second forms is complete and true: see `second_forms`."""

from __future__ import annotations

import ast
import importlib
import re
from operator import attrgetter
from pathlib import Path

import pytest

import toolkit
from tests.second_forms import SECOND_FORMS, SecondForm

ROOT = Path(__file__).resolve().parent.parent
MARK = re.compile(r"#\s*Second form: (.+?)\s*$", re.MULTILINE)


def rules_marked() -> list[tuple[str, str]]:
    """Return (module, rule) of every mark in the code."""
    found = []
    house = Path(toolkit.__file__).parent
    for path in sorted(house.rglob("*.py")):
        module = ".".join(path.relative_to(house.parent).with_suffix("").parts)
        found += [(module, rule) for rule in MARK.findall(path.read_text(encoding="utf-8"))]
    return found


def test_every_second_form_is_marked_and_every_mark_is_listed() -> None:
    assert sorted(rules_marked()) == sorted((form.second.partition(":")[0], form.rule) for form in SECOND_FORMS)


@pytest.mark.parametrize("form", SECOND_FORMS, ids=lambda form: form.rule)
def test_a_second_form_names_its_forms_its_gain_and_its_differential_test(form: SecondForm) -> None:
    for name in (form.first, form.second):
        module, _, within = name.partition(":")
        assert callable(attrgetter(within)(importlib.import_module(module))), f"{name} does not exist"
    assert form.first != form.second
    assert form.gain > 1, "a second form that gains nothing goes"
    assert form.measured
    file, _, test = form.test.partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert test in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, f"{form.test}: no test"
