"""`toolkit learn` and `toolkit lab`: the walkthroughs in a folder of the user's, and JupyterLab on the index."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from toolkit import extras, walkthroughs
from toolkit.__main__ import main


def test_learn_copies_every_walkthrough_with_its_solutions(tmp_path: Path) -> None:
    target = tmp_path / "mine"
    assert main(["learn", str(target)]) == 0
    source = walkthroughs.folder()
    expected = sorted(path.relative_to(source) for path in source.rglob("*.ipynb") if "." not in path.parent.name)
    assert sorted(path.relative_to(target) for path in target.rglob("*.ipynb")) == expected
    for part in expected:
        assert (target / part).read_bytes() == (source / part).read_bytes()


def test_lab_without_jupyterlab_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    assert main(["lab", str(tmp_path / "walkthroughs")]) == 1
    assert "toolkit lab: jupyterlab is not installed" in (said := capsys.readouterr().err)
    assert 'pip install "afx-toolkit[lab]"' in said


@pytest.mark.slow
def test_lab_really_serves_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os
    import re

    import httpx

    pytest.importorskip("jupyterlab")
    config = tmp_path / "config"
    config.mkdir()
    (config / "jupyter_server_config.json").write_text('{"ServerApp": {"allow_root": true}}', encoding="utf-8")
    environment = {
        **os.environ,
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
        "JUPYTER_CONFIG_DIR": str(config),
        "JUPYTER_DATA_DIR": str(tmp_path / "data"),
    }
    from toolkit.cli import lab

    called: list[list[str]] = []
    monkeypatch.setattr(lab.subprocess, "call", lambda command: called.append(command) or 0)
    assert main(["lab", str(tmp_path / "w"), "--no-browser"]) == 0
    process = subprocess.Popen(called[0], env=environment, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        found = None
        for line in process.stderr:
            found = re.search(r"(http://\S+?)/lab/tree/index\.ipynb\?token=(\w+)", line) or found
            if "To access the server" in line:
                break
        assert found, "JupyterLab ended without an address of the index"
        base, token = found.groups()
        client = httpx.Client(base_url=base, params={"token": token}, transport=httpx.HTTPTransport(retries=6))
        with client:
            assert (
                client.get("/api/contents/index.ipynb", params={"token": token, "content": 0}).json()["name"]
                == "index.ipynb"
            )
            assert client.post("/api/shutdown").status_code == 200
        process.stderr.read()
        assert process.wait(timeout=30) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stderr is not None:
            process.stderr.close()
