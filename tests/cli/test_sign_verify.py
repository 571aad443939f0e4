"""`toolkit sign` and `toolkit verify`: one line in, one line out, keys from the environment only."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.protocol.golden import document, vectors
from toolkit.__main__ import main

AGENT = document()["keys"]["agent"]
GOLDEN = [vector for vector in vectors() if vector["environment"] == "testnet" and vector["signer"] == "agent"]
MASTER = [vector for vector in vectors() if vector["environment"] == "testnet" and vector["signer"] == "master"]


def unsigned(vector: dict[str, Any]) -> str:
    """Return the request of a vector without its signature, as a line."""
    return json.dumps({name: value for name, value in vector["request"].items() if name != "signature"})


def run(monkeypatch: pytest.MonkeyPatch, capsysbinary: Any, words: list[str], text: bytes) -> tuple[int, list[Any]]:
    """Run a command on `text` and return its exit code and the JSON lines it wrote."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    code = main(words)
    return code, [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()]


def test_signing_gives_the_golden_envelopes(monkeypatch: pytest.MonkeyPatch, capsysbinary: Any) -> None:
    monkeypatch.setenv("THE_KEY", AGENT)
    text = "\n".join(unsigned(vector) for vector in GOLDEN).encode()
    code, lines = run(monkeypatch, capsysbinary, ["sign", "--env", "testnet", "--key-env", "THE_KEY"], text)
    assert code == 0
    assert lines == [vector["request"] for vector in GOLDEN]


def test_the_one_key_signs_master_actions_too(monkeypatch: pytest.MonkeyPatch, capsysbinary: Any) -> None:
    monkeypatch.setenv("THE_KEY", document()["keys"]["master"])
    text = "\n".join(unsigned(vector) for vector in MASTER).encode()
    code, lines = run(monkeypatch, capsysbinary, ["sign", "--env", "local", "--key-env", "THE_KEY"], text)
    assert (code, lines) == (0, [vector["request"] for vector in MASTER])


def test_verifying_gives_the_signers(monkeypatch: pytest.MonkeyPatch, capsysbinary: Any) -> None:
    for environment in ("testnet", "mainnet"):
        chosen = [vector for vector in vectors() if vector["environment"] == environment]
        text = "\n".join(json.dumps(vector["request"]) for vector in chosen).encode()
        code, lines = run(monkeypatch, capsysbinary, ["verify", "--env", environment], text)
        assert code == 0
        assert lines == [{"signer": vector["signerAddress"]} for vector in chosen]


def test_a_bad_line_is_told_and_the_others_go_through(monkeypatch: pytest.MonkeyPatch, capsysbinary: Any) -> None:
    monkeypatch.setenv("THE_KEY", AGENT)
    good = unsigned(GOLDEN[0]).encode()
    bad = json.loads(unsigned(GOLDEN[0]))
    bad["action"]["orders"][0]["ordPx"] = 60000
    lines = [good, b"", b"  ", json.dumps(bad).encode(), b"nonsense", b"\xff", b'{"nonce":1}', b"[" * 5000, good]
    words = ["sign", "--env", "testnet", "--key-env", "THE_KEY"]
    code, told = run(monkeypatch, capsysbinary, words, b"\r\n".join(lines))
    assert code == 1
    assert [line.get("field") for line in told] == [None, "action.orders[0].ordPx", "", "", "action", "", None]
    assert told[1]["error"].startswith("action.orders[0].ordPx: must be decimal text")
    assert told[0] == told[-1] == GOLDEN[0]["request"]


def test_a_bad_envelope_is_told_and_the_others_go_through(monkeypatch: pytest.MonkeyPatch, capsysbinary: Any) -> None:
    good = json.dumps(GOLDEN[0]["request"]).encode()
    bad = json.loads(good)
    bad["signature"]["s"] = "0x" + "f" * 64
    text = b"\n".join([good, json.dumps(bad).encode(), unsigned(GOLDEN[0]).encode(), good])
    code, told = run(monkeypatch, capsysbinary, ["verify", "--env", "testnet"], text)
    assert code == 1
    assert [line.get("field") for line in told] == [None, "signature.s", "signature", None]
    assert "malleable" in told[1]["error"]


def test_text_streams_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(GOLDEN[0]["request"]) + "\n\ud800\n"))
    monkeypatch.setattr(sys, "stdout", out)
    assert main(["verify", "--env", "testnet"]) == 1
    lines = out.getvalue().splitlines()
    assert json.loads(lines[0]) == {"signer": GOLDEN[0]["signerAddress"]}
    assert "error" in json.loads(lines[1])


@pytest.mark.parametrize("value", [None, "", "0x12", "z" * 64])
def test_without_a_key_nothing_is_signed(value: str | None, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.delenv("THE_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("THE_KEY", value)
    assert main(["sign", "--env", "testnet", "--key-env", "THE_KEY"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "THE_KEY" in told.err
    assert not value or value not in told.err


def test_each_line_is_answered_before_the_next_one_is_read() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "toolkit", "verify", "--env", "testnet"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for vector in GOLDEN[:3]:
            process.stdin.write(json.dumps(vector["request"]).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline()) == {"signer": vector["signerAddress"]}
        process.stdin.close()
        assert process.wait(30) == 0


def test_an_error_of_a_command_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "nonsense"]) == 2
    assert capsys.readouterr().err.startswith("toolkit record: environment 'nonsense' is not known. ")
    assert main(["export", "/no/such/folder/notebook.ipynb"]) == 2
    assert capsys.readouterr().err.startswith("toolkit export: [Errno 2]")
