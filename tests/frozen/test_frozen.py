"""What users have is as it was: the public interface, tables, signed requests, and a venue after a story."""

from __future__ import annotations

import json
import re
from difflib import unified_diff

import pytest

import toolkit
from tests.frozen.files import FOLDER, api_file, venue_files
from toolkit import research
from toolkit.protocol.actions import ACTIONS
from toolkit.protocol.fields import L

ADVICE = "is not what it was. If this is meant: python -m tests.frozen, and give each difference with its reason"
SHOWN = 60
"""Lines of a difference that are printed."""


def check(name: str, found: str) -> None:
    """Fail with the difference between a file and what is found today."""
    frozen = (FOLDER / name).read_text(encoding="utf-8")
    lines = list(unified_diff(frozen.splitlines(), found.splitlines(), "frozen", "found", n=1, lineterm=""))
    more = [f"... and {len(lines) - SHOWN} lines more"] if len(lines) > SHOWN else []
    assert not lines, "\n".join([f"{name} {ADVICE}", *lines[:SHOWN], *more])


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    return venue_files()


def test_the_public_names_take_and_return_what_they_did() -> None:
    text = api_file()["api.txt"]
    check("api.txt", text)
    named = {".".join(path.split(".")[:3]) for path in re.findall(r"^\w+ ([\w.]+)", text, re.MULTILINE)}
    assert {f"toolkit.research.{name}" for name in research.__all__} <= named
    assert {f"toolkit.{name}" for name in toolkit.__all__} <= named | {path.rpartition(".")[0] for path in named}


def test_tables_have_the_columns_and_dtypes_that_they_had(found: dict[str, str]) -> None:
    check("tables.json", found["tables.json"])


def test_the_client_signs_the_same_requests_of_every_action(found: dict[str, str]) -> None:
    check("requests.jsonl", found["requests.jsonl"])
    signed = {json.loads(line)["action"]["type"] for line in found["requests.jsonl"].splitlines()}
    assert {name for name, one in ACTIONS.items() if one.source is not L} <= signed


def test_the_venue_is_and_answers_the_same_after_the_same_story(found: dict[str, str]) -> None:
    check("state.json", found["state.json"])
