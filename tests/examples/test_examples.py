"""The examples of the documentation run: other languages against a served venue, golden requests, the page's bytes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect as open_feed

from docs.examples import golden
from tests.node import installed
from toolkit.environments import LOCAL
from toolkit.protocol import signing
from toolkit.venue import development
from toolkit.venue.local import LocalVenue
from toolkit.venue.served.server import Served

EXAMPLES = Path(golden.__file__).parent
PAGE = EXAMPLES.parent / "any-language.md"


@pytest.fixture
def served() -> Iterator[Served]:
    with LocalVenue(seed=3, accounts=2, market=False) as venue:
        venue.control.add_liquidity("BTCUSDC", "SELL", "62600", "1")
        with venue.serve() as made:
            yield made


@pytest.fixture(scope="module")
def javascript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The JavaScript example with its two packages; skips where there is no Node, fails in CI."""
    return installed(EXAMPLES / "javascript", tmp_path_factory.mktemp("javascript") / "example")


def with_keys() -> dict[str, str]:
    """The environment of an example."""
    keys = {"MASTER_KEY": development.master(0).key, "AGENT_KEY": development.agent(0).key}
    return {**os.environ, **{name: f"0x{key.hex()}" for name, key in keys.items()}}


def ran(*line: str, cwd: Path = EXAMPLES) -> str:
    done = subprocess.run(line, cwd=cwd, env=with_keys(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_python_without_the_toolkit_trades(served: Served) -> None:
    assert "toolkit" not in re.sub(r'"""[^"]*"""', "", (EXAMPLES / "trade.py").read_text(encoding="utf-8"))
    said = ran(sys.executable, "-I", "trade.py", served.base_url)
    assert '"filledQty"' in said or "'txCode': 0" in said
    assert "position 0.010 at a mark price of" in said


def test_javascript_trades_and_reads_the_feed(served: Served, javascript: Path) -> None:
    node = shutil.which("node")
    assert node
    said = ran(node, "--experimental-websocket", "trade.mjs", served.base_url, cwd=javascript)
    assert "best ask 62600.0" in said
    assert "position 0.010 at a mark price of" in said


def test_javascript_makes_the_golden_bytes(javascript: Path) -> None:
    program = (
        'import { readFileSync } from "node:fs";'
        'import { signOrder, signApproval, placeOrderBytes, hex, address } from "./client.mjs";'
        'for (const { private_key: key, body } of JSON.parse(readFileSync(process.argv[2]))) {'
        "  const { action, nonce, expiryAfter, vaultAddress } = body;"
        '  if (vaultAddress || !["placeOrder", "approveAgent"].includes(action.type)) continue;'
        '  const order = action.type === "placeOrder";'
        "  const made = order ? signOrder(action, key, nonce, expiryAfter) : signApproval(action, key, nonce);"
        "  const bytes = order ? hex(placeOrderBytes(action)) : null;"
        "  console.log(JSON.stringify({ made, bytes, address: address(key) }));"
        "}"
    )  # fmt: skip
    (javascript / "golden.mjs").write_text(program, encoding="utf-8")
    lines = ran("node", "golden.mjs", str(golden.PATH), cwd=javascript).splitlines()
    wanted = [
        row
        for row in golden.golden()
        if row["body"]["action"]["type"] in ("placeOrder", "approveAgent") and "vaultAddress" not in row["body"]
    ]
    assert len(lines) == len(wanted) == 3
    for line, row in zip(lines, wanted, strict=True):
        found = json.loads(line)
        assert found["made"] == row["body"]
        assert found["bytes"] == row["protobuf"]
        assert found["address"] == row["address"].lower()


def test_the_golden_requests_are_those_of_the_protocol() -> None:
    stored = json.loads(golden.PATH.read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(golden.golden()))
    for row in stored:
        assert signing.recover(row["body"], LOCAL.chain) == row["address"]


@pytest.mark.skipif(not shutil.which("curl") or sys.platform == "win32", reason="needs curl and a POSIX shell")
def test_curl_reads(served: Served) -> None:
    said = ran("sh", "queries.sh", served.base_url, development.master(0).address)
    answers = [json.loads(line) for line in said.splitlines() if line.startswith("{") and line.endswith("}")]
    assert [answer["code"] for answer in answers] == [0, 0, 0]
    assert answers[1]["data"][0]["balance"] == "10000"


def test_the_transcript_of_the_page_is_what_the_feed_says(served: Served) -> None:
    """Lines that begin with > are sent, those with < are compared by their members."""
    transcript = re.search(r"```text\n(> .*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert transcript
    with open_feed(f"{served.ws_url}/ws/dex") as feed:
        for line in transcript[1].splitlines():
            if line.startswith("> "):
                feed.send(line[2:])
            elif line.startswith("< "):
                assert shape(json.loads(feed.recv(timeout=10))) == shape(json.loads(line[2:]))


def shape(value: Any) -> Any:
    """Return the members of a message and the types of their values."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def test_the_bytes_of_the_page_are_those_of_the_golden_request() -> None:
    text, row = PAGE.read_text(encoding="utf-8"), golden.golden()[0]
    for name in ("protobuf", "connection_id", "domain_separator", "struct_hash", "digest"):
        assert row[name].removeprefix("0x") in text.replace(" ", ""), name
    for part in ("r", "s"):
        assert row["body"]["signature"][part] in text


def test_the_page_links_to_files_that_exist() -> None:
    for target in re.findall(r"\{download\}`[^<`]*<([^>]+)>`|literalinclude\} (\S+)", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / "".join(target)).is_file()


def test_documents_are_served(served: Served) -> None:
    for path, member in (("/openapi.json", "openapi"), ("/asyncapi.json", "asyncapi")):
        assert member in httpx.get(served.base_url + path).json()
        assert httpx.post(served.base_url + path, json={}).status_code == 405
