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
import jsonschema
import pytest
from websockets.sync.client import connect as open_feed

from docs.examples import golden
from tests.node import installed
from toolkit.environments import LOCAL
from toolkit.protocol import signing
from toolkit.venue import development
from toolkit.venue.local import LocalVenue
from toolkit.venue.served.private_files import keys_text
from toolkit.venue.served.server import Served
from toolkit.venue.served.venue_routes import DOCUMENTS

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


@pytest.mark.slow
def test_typescript_with_generated_types_compiles_strictly_and_trades(served: Served, tmp_path: Path) -> None:
    folder = installed(EXAMPLES / "typescript", tmp_path / "typescript")
    assert json.loads((folder / "tsconfig.json").read_text(encoding="utf-8"))["compilerOptions"]["strict"] is True
    (folder / "openapi.json").write_bytes(httpx.get(f"{served.base_url}/openapi.json").content)
    npm = shutil.which("npm")
    assert npm
    ran(npm, "run", "types", cwd=folder)
    ran(npm, "run", "build", cwd=folder)
    said = ran("node", "built/trade.js", served.base_url, cwd=folder)
    assert "tick of BTCUSDC 0.1" in said
    assert "position 0.010 at a mark price of" in said
    # A field that the venue does not send, and one of another type, are errors of the compiler.
    program = (folder / "trade.ts").read_text(encoding="utf-8")
    for wrong in ("held.longSizes", "held.blockTime"):
        (folder / "trade.ts").write_text(program.replace("size: string = held.longSize,", f"size: string = {wrong},"))
        done = subprocess.run(
            [npm, "run", "build"], cwd=folder, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode, wrong
        assert "trade.ts" in done.stdout


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
        name = "".join(target)
        # what a venue serves is written into docs/api when the site is built
        assert (PAGE.parent / name).is_file() or f"/{name.removeprefix('api/')}" in DOCUMENTS, name


def test_documents_are_served(served: Served) -> None:
    members = {"/openapi.json": "openapi", "/asyncapi.json": "asyncapi", "/keys.schema.json": "$schema"}
    for path, member in members.items():
        assert member in httpx.get(served.base_url + path).json()
        assert httpx.post(served.base_url + path, json={}).status_code == 405
    assert "message MsgPlaceOrders" in httpx.get(f"{served.base_url}/exchange.proto").text


def test_the_keys_file_has_the_shape_that_is_served(served: Served) -> None:
    schema = jsonschema.Draft202012Validator(httpx.get(f"{served.base_url}/keys.schema.json").json())
    text = keys_text(2, "10000", development.MNEMONIC, served.base_url, served.ws_url)
    schema.validate(json.loads(text))
    for name in json.loads(text):
        assert not schema.is_valid({key: value for key, value in json.loads(text).items() if key != name})
    assert not schema.is_valid(json.loads(text.replace('"private_key"', '"key"')))
