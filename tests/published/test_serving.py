"""`python -m tests.published` serves a form for a while."""

from __future__ import annotations

import subprocess
import sys

import httpx


def test_the_command_serves_a_form_prints_ready_and_ends_by_itself() -> None:
    command = [sys.executable, "-m", "tests.published", "--form", "SDK of June", "--seconds", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        address = next(line.split()[1] for line in running.stdout if line.startswith("ready http://127.0.0.1:"))
        listed = httpx.get(f"{address}/info/public/product-meta").json()["data"]["perpProducts"]
        assert running.wait(60) == 0
    assert [row["symbol"] for row in listed] == ["BTCUSDC", "SOLUSDC"]
