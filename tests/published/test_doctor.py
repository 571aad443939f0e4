"""`toolkit doctor` at published servers: it reads what they serve, and names what they do not serve."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.capture.findings import capture
from tests.published.feed import feed
from tests.published.reads import READS, forms
from tests.published.server import PublishedServer
from tests.published.variations import ACTIVE, APRIL, META, SDK, SPECIFICATION, Form
from tests.published.world import AGENT, MASTER
from toolkit.__main__ import main

pytestmark = pytest.mark.filterwarnings("ignore::toolkit.errors.DataWarning")


class Examined(NamedTuple):
    """What the doctor printed and wrote about a server."""

    text: str
    results: dict[str, str]
    """Path of a query → its result in the report."""
    differing: set[str]
    """Paths of the queries in the table of differences."""


_EXAMINED: dict[str, Examined] = {}


@pytest.fixture
def examined(
    form: Form, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Examined:
    """Return what `toolkit doctor` and a capture say of a form. Each form is examined once: it takes seconds."""
    if form.name not in _EXAMINED:
        monkeypatch.setenv("COLUMNS", "300")
        monkeypatch.setenv("TOOLKIT_AGENT_KEY", "0x" + AGENT.secret.hex())
        server = PublishedServer(form, now=time.time_ns() // 1_000_000)
        with server.served() as address, feed(server.world) as ws:
            where = ["--env", "testnet", "--base-url", address, "--ws-url", ws, "--account", MASTER.address]
            main(["doctor", *where, "--timeout", "5"])
            capture(address, tmp_path / "found", "testnet", ws, MASTER.address, 0.5)
        report = (tmp_path / "found" / "report.md").read_text(encoding="utf-8")
        queries, _, differences = report.partition("## Published fields")[0].partition("## Differences")
        rows = re.findall(r"^\| (/info\S+)[^|]*\|[^|]*\|[^|]*\| (.*?) \|$", queries, re.MULTILINE)
        differing = set(re.findall(r"^\| (/info[^ |]+)", differences, re.MULTILINE))
        _EXAMINED[form.name] = Examined(capsys.readouterr().out, dict(rows), differing)
    return _EXAMINED[form.name]


@forms(SPECIFICATION, APRIL, SDK)
def test_the_doctor_finds_the_products_and_shows_no_raw_error(examined: Examined) -> None:
    assert "2 listed: BTCUSDC, SOLUSDC" in examined.text
    assert re.findall(r"\b(?:Key|Type|Value|Attribute|Index|Lookup)Error\b.*|Traceback", examined.text) == []
    assert "FAIL" not in examined.text
    assert AGENT.secret.hex() not in examined.text


@forms(APRIL, SDK)
def test_the_doctor_reads_agent_account_and_feed(examined: Examined) -> None:
    for words in ("approved as 'desk'", "equity of 5,035.1", "feed  "):
        assert any(line.startswith("  ok") and words in line for line in examined.text.splitlines()), words


@forms(SPECIFICATION)
@pytest.mark.parametrize("name", ["agent", "account"])
def test_what_is_not_served_is_named_and_is_not_fine(examined: Examined, name: str) -> None:
    [text] = re.findall(rf"^  \S+ +{name} (?:.*\n)(?: {{15}}.*\n)*", examined.text, re.MULTILINE)
    assert not text.startswith("  ok")
    assert re.search(r"not\s+served|does\s+not\s+serve", text)


@forms(SPECIFICATION, APRIL, SDK)
def test_a_query_that_is_not_served_is_neither_a_difference_nor_as_declared(examined: Examined, form: Form) -> None:
    asked = {
        path: said for path, said in examined.results.items() if path not in form.served and "not asked" not in said
    }
    wrong = {path: said for path, said in asked.items() if "not served" not in said}
    assert not wrong, str(wrong)
    assert asked.keys() & examined.differing == set()


@forms(APRIL, SDK)
def test_what_is_published_is_as_declared(examined: Examined) -> None:
    asked = {path: examined.results[path] for path in READS if path != ACTIVE}
    wrong = {path: said for path, said in asked.items() if said != "as declared"}
    assert not wrong, str(wrong)


@forms(SPECIFICATION)
def test_the_nine_fields_of_the_specification_are_no_differences(examined: Examined) -> None:
    assert META not in examined.differing
