"""`toolkit venue` as a process: it introduces itself, serves, and stops cleanly."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.venue.wallets import AGENT, MASTER, Signer
from toolkit.__main__ import main
from toolkit.venue import development


@contextmanager
def command(
    *arguments: str, program: tuple[str, ...] = ("-m", "toolkit")
) -> Iterator[tuple[subprocess.Popen[str], str, list[str]]]:
    """Run the command until it is ready; yield the process, its address and the lines it printed."""
    line = [sys.executable, *program, "venue", *arguments]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines: list[str] = []
        try:
            for text in process.stdout:
                lines.append(text.rstrip())
                if lines[-1] == "ready":
                    break
            found = re.search(r"http://127\.0\.0\.1:\d+", "\n".join(lines))
            assert found, lines
            yield process, found[0], lines
        finally:
            if process.poll() is None:
                process.kill()


def test_it_prints_addresses_accounts_and_ready_and_shows_the_real_approval() -> None:
    start = ("--clock", "manual", "--start", "2025-10-14T21:00:00Z")
    options = ("--port", "0", "--seed", "3", "--accounts", "2", *start, "--no-market")
    with command(*options, "--open", "usdSend") as (process, address, lines):
        text = "\n".join(lines)
        for account in (*development.masters(2), *development.agents(2)):
            assert account.address in text
            assert account.key.hex() not in text
        assert development.account(2).address not in text
        assert address.replace("http", "ws") + "/ws/dex" in text
        assert httpx.get(f"{address}/nowhere").headers["x-venue-time"] == "1760475600000"
        with httpx.Client(base_url=address) as client:
            approve = {"type": "approveAgent", "agentAddress": AGENT.address, "agentName": "a", "validitySeconds": 0}
            cancel = Signer(AGENT).request({"type": "cancelAll", "symbolCode": 1})
            assert client.post("/api/v1/exchange", json=cancel).json()["code"] == 40204
            master = Signer(MASTER)
            body = master.request({**approve, "dexChain": "Testnet"})
            assert client.post("/api/v1/exchange", json=body).json()["code"] == 0
            assert client.post("/api/v1/exchange", json=cancel).json()["code"] == 0
            [wallet] = client.get("/info/account/wallet", params={"userAddr": MASTER.address}).json()["data"]
            assert wallet["balance"] == "10000"
            sent = master.request({"type": "usdSend", "to": development.master(1).address, "amount": "1"})
            assert client.post("/api/v1/exchange", json=sent).json()["code"] == 0
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read().strip() == "stopped"
        assert process.stderr.read() == ""


def test_it_prints_which_troubles_are_on_and_they_are(tmp_path: Path) -> None:
    file = tmp_path / "bad-day.toml"
    file.write_text('[[trouble]]\nkind = "ProxyPage"\nstatus = 502\npath = "/info/*"\nend = "1h"\n', encoding="utf-8")
    options = ("--port", "0", "--accounts", "1", "--clock", "manual", "--no-market", "--trouble", str(file))
    with command(*options) as (_, address, lines):
        assert "trouble ProxyPage end=1h path=/info/* status=502" in lines
        assert httpx.get(f"{address}/info/public/product-meta").status_code == 502
        assert httpx.get(f"{address}/health").status_code == 200


def test_with_a_journal_it_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    options = ("--port", "0", "--seed", "3", "--clock", "manual", "--no-market", "--journal", str(tmp_path / "j"))
    request = Signer(MASTER).request({"type": "withdraw", "destination": MASTER.address, "amount": "10"})
    with command(*options, "--accounts", "2") as (process, address, lines):
        assert f"journal {tmp_path / 'j'}: 2 entries, seed 3" in lines
        assert httpx.post(f"{address}/api/v1/exchange", json=request).json()["code"] == 0
        process.kill()
        process.wait(20)
    with command(*options, "--sync", "os") as (_, address, lines):
        assert f"journal {tmp_path / 'j'}: 3 entries, seed 3" in lines
        assert development.account(1).address in "\n".join(lines)
        assert development.account(2).address not in "\n".join(lines)
        assert httpx.post(f"{address}/api/v1/exchange", json=request).json()["code"] == 40207


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--port", "TAKEN"], "Choose another port"),
        (["--port", "0", "--host", "0.0.0.0"], "--allow-remote"),
        (["--port", "0", "--settle-delay", "soon"], "is not a span of time"),
        (["--port", "0", "--accounts", "1001"], "accounts must be 0 to 1000"),
        (["--port", "0", "--balance", "0.0000001"], "at most 6 decimals"),
        (["--port", "0", "--mnemonic", "abandon ability"], "the mnemonic (2 words) is not valid"),
        (["--port", "0", "--mnemonic", "random"], "Give --keys-file FILE or --print-keys"),
        (["--port", "0", "--connections-per-ip", "0"], "must be 1 or more"),
        (["--port", "0", "--start", "noon"], "start 'noon' is not a time"),
        (["--port", "0", "--fault", "explode"], "is none of refuse"),
        (["--port", "0", "--trouble", "nowhere.toml"], "nowhere.toml can't be read"),
        (["--port", "0", "--clock", "manual", "--speed", "9"], "speed is for the real clock"),
        (["--port", "0", "--speed", "0"], "speed must be above 0"),
        (["--port", "99999"], "port 99999 is not 0 to 65535"),
    ],
)
def test_what_cannot_be_started_is_explained(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["venue", *(port if each == "TAKEN" else each for each in arguments)]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert said.err.startswith("toolkit venue: ")
    assert "ready" not in said.out


def test_faults_control_and_speed_come_from_the_command_line() -> None:
    options = ("--port", "0", "--accounts", "1", "--no-market", "--speed", "1000", "--control", "--log")
    with command(*options, "--fault", "status status=502 path=/info/*") as (process, address, lines):
        assert "fault <Fault status path=/info/* status=502, struck 0>" in lines
        token = next(line.split()[-1] for line in lines if line.startswith("control token"))
        assert httpx.get(f"{address}/control").status_code == 401
        with httpx.Client(base_url=address, headers={"authorization": f"Bearer {token}"}) as client:
            assert client.get("/info/public/product-meta").status_code == 502
            assert client.get("/info/public/product-meta").status_code == 200
            names = {row["name"] for row in client.get("/control").json()["data"]}
            assert {"fund", "script_oracle", "advance", "add_fault"} <= names
            first = int(client.get("/control").headers["x-venue-time"])
            state = client.post("/control/fund", json={"address": MASTER.address, "amount": "1"}).json()
            assert state["data"]["balance"] == "10001"
            assert int(client.get("/control").headers["x-venue-time"]) > first
            client.post("/control/add_fault", json={"text": "cut-answer"})
            with pytest.raises(httpx.TransportError):
                client.get("/info/public/product-meta")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert process.stderr is not None
        log = process.stderr.read()
    assert re.search(r"Z? 127\.0\.0\.1 POST /control/fund HTTP 200 code 0 [0-9.]+ ms", log), log
    assert token not in log


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is full exists on Linux")
def test_a_full_device_is_told_in_one_line() -> None:
    with open("/dev/full", "w") as full:
        words = [sys.executable, "-m", "toolkit", "doctor", "--env", "local"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr == "toolkit doctor: [Errno 28] No space left on device\n"
