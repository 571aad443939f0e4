"""A JupyterLab, Notebook or Voilà of its own on loopback, with everything that it writes in one directory."""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue

ROOT = Path(__file__).resolve().parent.parent.parent
START_SECONDS = 60
STOP_SECONDS = 15
_ADDRESS = re.compile(r"http://(?:127\.0\.0\.1|localhost):(\d+)/(?:lab|tree|$)", re.MULTILINE)
_NOTEBOOK = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": {"name": "python3", "display_name": ""}}}
_SETTINGS = {
    "notification": {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True},
    "themes": {"theme": "JupyterLab Light"},
}


def notebook(path: Path, *cells: str) -> None:
    """Write a notebook of code cells."""
    made = [
        {
            "cell_type": "code",
            "id": f"cell-{place}",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": one,
        }
        for place, one in enumerate(cells)
    ]
    path.write_text(json.dumps({**_NOTEBOOK, "cells": made}), encoding="utf-8")


@contextmanager
def lab(directory: Path, theme: str = "JupyterLab Light", app: str = "lab") -> Iterator[str]:
    """Run JupyterLab, or Notebook (`app` "notebook"), on the notebooks of a directory; yields the address of one by
    its `{name}`, with its token."""
    settings = directory / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    for name, content in {**_SETTINGS, "themes": {"theme": theme}}.items():
        (settings / f"{name}.jupyterlab-settings").write_text(json.dumps(content), encoding="utf-8")
    token = secrets.token_hex(16)
    arguments = (
        *("--no-browser", "--ip=127.0.0.1", "--port=0", "--allow-root", "--ServerApp.port_retries=0"),
        *(f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={directory}"),
    )
    module, path = {"lab": ("jupyterlab", "lab/tree"), "notebook": ("notebook", "notebooks")}[app]
    with _server(directory, module, *arguments) as port:
        yield f"http://127.0.0.1:{port}/{path}/{{name}}?token={token}"


@contextmanager
def voila(directory: Path, name: str) -> Iterator[str]:
    """Run Voilà on one notebook; yields its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with _server(directory, "voila", name, "--no-browser", f"--port={port}", "--Voila.ip=127.0.0.1") as found:
        yield f"http://127.0.0.1:{found}/"


@contextmanager
def _server(directory: Path, module: str, *arguments: str) -> Iterator[int]:
    """Run a server with settings, runtime files and notebooks in one directory; yields its port."""
    here = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_RUNTIME_DIR": "runtime", "JUPYTER_DATA_DIR": "data"}
    environment = {
        **os.environ,
        **{name: str(directory / place) for name, place in here.items()},
        "JUPYTERLAB_SETTINGS_DIR": str(directory / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(directory / "workspaces"),
        "IPYTHONDIR": str(directory / "ipython"),
        "PYTHONPATH": str(ROOT),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments], cwd=directory, env=environment, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield _port(process)
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_SECONDS)


def _port(process: subprocess.Popen[str]) -> int:
    """Read the server's output until it contains the address; keep reading, so that a full pipe never blocks it."""
    found: Queue[int | None] = Queue()

    def read() -> None:
        assert process.stderr is not None
        with process.stderr:
            for line in process.stderr:
                if match := _ADDRESS.search(line):
                    found.put(int(match.group(1)))
        found.put(None)

    threading.Thread(target=read, name="lab-output", daemon=True).start()
    try:
        port = found.get(timeout=START_SECONDS)
    except Empty:
        raise RuntimeError(f"the server did not start within {START_SECONDS} s") from None
    if port is None:
        raise RuntimeError("the server ended at once; is it installed?")
    _await_listening(port)
    return port


def _await_listening(port: int) -> None:
    """Wait until a server that has written its address also takes connections."""
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=START_SECONDS).close()
            return
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
