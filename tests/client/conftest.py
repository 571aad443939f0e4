"""Settings of the client's tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _state_in_a_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path / "state"))
    for name in ("TOOLKIT_AGENT_KEY", "TOOLKIT_MASTER_KEY", "TOOLKIT_ACCOUNT", "TOOLKIT_BASE_URL", "TOOLKIT_WS_URL"):
        monkeypatch.delenv(name, raising=False)
