"""`toolkit export`: one page with the last state of each widget, dated; no script, nothing from the network, small."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from toolkit.__main__ import main

CELLS = """
import ipywidgets, toolkit
session = toolkit.connect(clock="manual")
dashboard = session.dashboard("BTCUSDC")
dashboard
---
ipywidgets.VBox([dashboard.ticket, toolkit.widgets.Funding(session, "BTCUSDC")])
---
toolkit.widgets.Trades(session, "BTCUSDC")
---
session.venue.advance("30m")
session.buy("BTCUSDC", "0.05")
session.close()
"""
ACTIVE = re.compile(r"<script|<link|<iframe|src=.http|url\(http|@import|onerror|javascript:", re.I)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook that was executed, and saved with the state of its widgets."""
    text = "# A **title**\n\n![a picture](http://127.0.0.1:9/a.png)\n\n<script>alert(1)</script>"
    cells = [nbformat.v4.new_code_cell(one.strip()) for one in CELLS.split("---\n")]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text), *cells])
    NotebookClient(notebook, timeout=60).execute()
    path = tmp_path_factory.mktemp("kept") / "lesson.ipynb"
    nbformat.write(notebook, path)
    return path


def exported(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["export", str(path)]) == 0
    html = path.with_suffix(".html").read_text(encoding="utf-8")
    assert f"wrote {path.with_suffix('.html')}: {len(html.encode()) / 1000:,.0f} kB" in capsys.readouterr().out
    assert not ACTIVE.search(html)
    assert len(html.encode()) < 100_000
    return html


@pytest.mark.slow
def test_a_page_shows_the_last_state_of_each_panel_with_its_time(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    html = exported(saved, capsys)
    assert "<strong>title</strong>" in html
    assert html.count("as of 2026-01-01 00:30:00 UTC") == 7 + 2 + 1
    assert "0.05" in html
    for name in ("Order ticket BTCUSDC", "BTCUSDC funding", "BTCUSDC trades", "Open orders", "Withdrawable"):
        assert name in html


@pytest.mark.slow
def test_without_the_state_of_widgets_it_shows_them_as_they_were_displayed(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = json.loads(saved.read_text())
    del content["metadata"]["widgets"]
    path = tmp_path / "plain.ipynb"
    path.write_text(json.dumps(content))
    assert exported(path, capsys).count("as of 2026-01-01 00:00:00 UTC") == 7 + 2 + 1


@pytest.mark.parametrize("text", ["", "no notebook", '{"cells": 1}'])
def test_what_is_no_notebook_is_refused_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    path = tmp_path / "some.ipynb"
    path.write_text(text)
    assert main(["export", str(path)]) == 2
    assert "is not a notebook" in capsys.readouterr().err
    assert not path.with_suffix(".html").exists()
