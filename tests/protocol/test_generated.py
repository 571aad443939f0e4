"""The checked-in protobuf code is what proto/exchange.proto gives."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
CHECKED_IN = ROOT / "toolkit" / "protocol" / "exchange_pb2.py"


def test_the_generated_code_is_what_the_proto_gives(tmp_path: Path) -> None:
    pytest.importorskip("grpc_tools", reason="grpcio-tools is in the test extra")
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}", f"--python_out={tmp_path}"]
    subprocess.run([*command, "exchange.proto"], check=True, capture_output=True, timeout=60)
    fresh = (tmp_path / CHECKED_IN.name).read_text(encoding="utf-8")
    assert fresh == CHECKED_IN.read_text(encoding="utf-8")


def test_the_generated_code_loads_with_every_protobuf_we_allow() -> None:
    text = CHECKED_IN.read_text(encoding="utf-8")
    found = re.search(r"# Protobuf Python Version: (\d+)\.(\d+)", text)
    assert found is not None
    major, minor = (int(part) for part in found.groups())
    assert (major, minor) <= (6, 31), "protobuf 6.31 is the oldest allowed, and 7 loads code of 6 only"
