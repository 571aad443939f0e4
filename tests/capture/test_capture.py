"""A capture of the local venue finds nothing unexpected; one of a venue that lies finds every lie, and names nobody."""

from __future__ import annotations

import copy
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import toolkit
from tests.capture import findings
from tests.capture.asking import ask_for_errors
from tests.capture.comparison import (
    Difference,
    compare_answer,
    compare_messages,
    form_of,
)
from tests.capture.findings import StandIns
from tests.client.fake import session as session_of
from tests.client.stream.test_published import PUBLISHED, PublishedVenue
from tests.conformance.__main__ import main
from tests.test_published_rest import DATA, ENDPOINTS
from toolkit.client.io.flow import Fetch, Now, Reply
from toolkit.environments import MAINNET, TESTNET
from toolkit.protocol.reads import feed as wire
from toolkit.protocol.reads.endpoint import Endpoint
from toolkit.protocol.reads.feed import AOP_RECORDS, RECORDS
from toolkit.protocol.reads.info_queries import ENDPOINTS as EVERY
from toolkit.protocol.reads.rows import RecordField
from toolkit.session import Session
from toolkit.venue import development
from toolkit.venue.local import LocalVenue
from toolkit.venue.programs.referrals import code_of

SECONDS = 3.0


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.capture.asking.PAUSE_SECONDS", 0.0)


def captured() -> tuple[findings.Capture, Session]:
    """Return a capture of a served venue, where an account trades meanwhile."""
    over = threading.Event()
    with (
        LocalVenue(accounts=3) as venue,
        venue.serve(0) as served,
        toolkit.connect(venue=venue) as trader,
        toolkit.connect(served.environment, account=0) as reader,
    ):
        trader.exchange.vault_create("Secret Carry", "200", "Nobody's business")
        trader.exchange.bind_referral(code_of(venue.host.masters[1]))
        trader.buy("BTCUSDC", "0.01")
        venue.advance("1m")

        def trade() -> None:
            while not over.wait(0.01):  # the venue that is captured runs in this process too
                if trader.buy("BTCUSDC", "0.01").filled:  # the quotes may have moved beyond its bound
                    trader.close_position("BTCUSDC")

        thread = threading.Thread(target=trade)
        thread.start()
        try:
            return findings.take(reader, SECONDS), reader
        finally:
            over.set()
            thread.join()


@pytest.fixture(scope="module")
def published() -> tuple[findings.Capture, Session]:
    return captured()


def test_the_local_venue_is_as_declared(published: tuple[findings.Capture, Session]) -> None:
    taken, _ = published
    assert [one for one in taken.differences if one.published] == []
    assert [(one.path, one.error) for one in taken.queries if one.status != 200] == []
    assert {one.name for one in taken.queries} == set(EVERY)
    assert taken.feed.error == ""
    silent = {one.channel for one in taken.feed.channels if not one.messages}
    assert silent <= {"userFunding"}, "funding is settled every four hours"
    assert all(one.answer and one.answer["success"] for one in taken.feed.channels)
    assert sum(one.gaps for one in taken.feed.channels) == 0
    assert taken.feed.refusal is not None
    assert taken.feed.refusal["success"] is False
    codes = {one.name: one.body["code"] for one in taken.errors}
    assert codes["an unknown action"] == 40201
    assert codes["an unknown signer"] == 40204
    assert codes["a body that is not JSON"] == 40003


def test_nothing_in_the_files_names_the_account(published: tuple[findings.Capture, Session], tmp_path: Path) -> None:
    taken, reader = published
    taken.write(tmp_path)
    wallet = reader.wallet
    assert wallet is not None
    secrets = [str(reader.account), str(wallet.agent), "Secret Carry", "Nobody's business"]
    secrets += [account.key.hex() for account in development.masters(3)]
    # The account's own referral code, and the one that it used.
    codes = [code_of(account.address) for account in development.masters(2)]
    asked = " ".join(str(one.body) for one in taken.queries)
    assert all(code in asked for code in codes)
    secrets += codes
    for path in tmp_path.iterdir():
        text = path.read_text(encoding="utf-8")
        for secret in secrets:
            assert secret.lower().removeprefix("0x") not in text.lower(), (path.name, secret)
        for found in re.findall(r"0x[0-9a-fA-F]{6,}", text):
            assert int(found, 16) < 10_000, (path.name, found)
    assert {path.name for path in tmp_path.iterdir()} == {"report.md", "report.json", "rest.jsonl", "feed.jsonl"}
    facts = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert facts["about"]["toolkit"].endswith("interface 1.0.0")
    assert facts["summary"] == taken.summary()


def body_of(endpoint: Endpoint, data: Any) -> dict[str, Any]:
    return {"code": 0, "message": "success", "data": data}


def only(differences: list[Difference], field: str) -> Difference:
    (found,) = [one for one in differences if one.field == field]
    return found


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: one.name)
def test_every_lie_of_an_answer_is_found(endpoint: Endpoint) -> None:
    data = DATA[endpoint.path]
    assert compare_answer(endpoint, 200, body_of(endpoint, data))[0] == []
    rows = endpoint.rows(data)
    for name in rows[0]:
        lying = copy.deepcopy(data)
        for row in endpoint.rows(lying):
            del row[name]
        difference = only(compare_answer(endpoint, 200, body_of(endpoint, lying))[0], name)
        assert difference.found.startswith(f"missing in {len(rows)} of {len(rows)}")
        for wrong in ({"an": "object"}, [1], -0.5, True):
            lying = copy.deepcopy(data)
            endpoint.rows(lying)[-1][name] = wrong
            kind = endpoint.record.by_wire[name].kind
            found = compare_answer(endpoint, 200, body_of(endpoint, lying))[0]
            if kind == "object" or (kind == "bool" and wrong is True):
                continue
            assert only(found, name).declared == form_of(endpoint.record.by_wire[name])[0]
    lying = copy.deepcopy(data)
    endpoint.rows(lying)[0]["newField"] = "x"
    assert only(compare_answer(endpoint, 200, body_of(endpoint, lying))[0], "newField").declared == "not declared"
    for status, body, field in (
        (404, {"code": 404, "message": "no", "data": None}, "HTTP status"),
        (200, {"code": "0", "message": "success", "data": data}, "code"),
        (200, {"code": 0, "message": 5, "data": data}, "message"),
        (200, {"code": 0, "message": "", "data": "text"}, "data"),
        (200, {"code": 0, "message": ""}, "data"),
        (200, {"code": 0, "message": "", "data": data, "traceId": "1"}, "traceId"),
        (200, ["no", "envelope"], "body"),
    ):
        found = compare_answer(endpoint, status, body)[0]
        assert field in {one.field for one in found}, (status, body)


@pytest.mark.parametrize("kind", [kind for kind in wire.CHANNELS if kind in PUBLISHED])
def test_every_lie_of_a_message_is_found(kind: str) -> None:
    channel, data = wire.CHANNELS[kind], PUBLISHED[kind]["data"]
    assert compare_messages(channel, [data]) == []
    for name in data:
        found = compare_messages(channel, [data, {key: data[key] for key in data if key != name}])
        assert name in {one.field for one in found}
    found = compare_messages(channel, [{**data, "newMember": 1}])
    assert only(found, "newMember").declared == "not declared"
    for name, declared in (("type", channel.typed), ("sequence", channel.sequenced)):
        if not declared:
            assert only(compare_messages(channel, [{**data, name: 1}]), name).declared in (
                "in no message",
                "not declared",
            )
    if kind == "orderBook":
        for book in (None, {}, {"bids": [["1"]], "asks": []}, {"bids": [[1, 2]], "asks": []}, {"bids": {}, "asks": []}):
            assert only(compare_messages(channel, [{**data, "book": book}]), "book")
    elif channel.key and kind not in ("aopState", "userEvent"):
        rows = data[channel.key] if isinstance(data[channel.key], list) else [data[channel.key]]
        for name in rows[0]:
            wrong = [{**rows[0], name: {"no": 1}}]
            found = compare_messages(channel, [{**data, channel.key: wrong}])
            assert only(found, name).declared == form_of(RECORDS[kind].by_wire[name])[0]
    for part, record in AOP_RECORDS.items() if kind == "aopState" else ():
        rows = data["aop"][part]
        for name in rows[0]:
            if part != "settings" and name not in ("triggerPx", "reduceOnly"):
                fewer = {**data, "aop": {part: [{key: rows[0][key] for key in rows[0] if key != name}]}}
                assert only(compare_messages(channel, [fewer]), name).where == f"aopState {part}"
        assert record.known


def field(name: str) -> RecordField:
    """Return a declared field by its wire name."""
    every = (one for endpoint in EVERY.values() for one in endpoint.record.fields)
    return next(one for one in every if one.wire == name)


def lie(request: httpx.Request) -> httpx.Response:
    """Answer as a venue that has changed: one path is gone, one answers HTML, one has other fields."""
    path = request.url.path
    if path == "/info/trade/page":
        return httpx.Response(404, json={"code": 404, "message": "gone"})
    if path == "/info/kline/last":
        return httpx.Response(200, text="<html>")
    data = copy.deepcopy(DATA.get(path, {"total": 0, "items": []}))
    if path == "/info/account/wallet":
        data = [{**data[0], "equity": 5, "marginCoin": "USDC"}]
        del data[0]["balance"]
    return httpx.Response(200, json={"code": 0, "message": "success", "data": data})


@pytest.fixture
def liar() -> Iterator[Session]:
    with (
        PublishedVenue(0.05) as feed,
        session_of(lie, base_url="http://127.0.0.1:1", ws_url=f"ws://127.0.0.1:{feed.port}", wallet=None) as s,
    ):
        yield s


def test_a_venue_that_has_changed_is_reported_without_keys(liar: Session, tmp_path: Path) -> None:
    taken = findings.take(liar, 0.5)
    found = {(one.where, one.field): one.found for one in taken.differences}
    assert found["/info/account/wallet", "equity"] == "5 (1 of 1 values)"
    assert found["/info/account/wallet", "marginCoin"] == '"USDC"'
    assert found["/info/account/wallet", "balance"] == "missing in 1 of 1 rows"
    assert [one.path for one in taken.queries if not one.served] == ["/info/trade/page"]
    errors = {one.path: one.error for one in taken.queries if one.error}
    assert errors["/info/kline/last"] == "HTTP 200 with 6 bytes that are not JSON"
    assert errors["/info/explore/transaction/detail"] == "not asked: no txHash is known"
    assert taken.about["account"] == "none: asked for the zero address"
    assert found["an unknown path", "HTTP status"] == "200", "errors that are none"
    taken.write(tmp_path)
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| /info/trade/page | 404 | – | not served |" in text
    assert "| ticker | yes | " in text
    assert "HTTP 200 with 6 bytes that are not JSON" in text
    assert f"{taken.summary()}." in text


def test_on_mainnet_nothing_is_posted() -> None:
    def methods(environment: toolkit.Environment) -> list[str]:
        flow, sent = ask_for_errors(environment), []
        request, answer = next(flow), None
        while True:
            if isinstance(request, Fetch):
                sent.append(request.method)
                answer = Reply(200, b"{}")
            else:
                answer = 1_781_000_000_000 if isinstance(request, Now) else None
            try:
                request = flow.send(answer)
            except StopIteration:
                return sent

    assert set(methods(MAINNET)) == {"GET"}
    assert "POST" in methods(TESTNET)


def test_stand_ins_are_stable_and_keep_their_form() -> None:
    stand_ins, address = StandIns(), "0x" + "aB" * 20
    first = stand_ins.clean({"a": address, "b": [address.lower(), "CD" * 32], "agentName": "desk", "nonce": 17, "n": 5})
    assert first["a"] == first["b"][0] == "0x" + "1".zfill(40)
    assert first["b"][1] == "2".zfill(64)
    assert (first["agentName"], first["nonce"], first["n"]) == ("text", 0, 5)
    assert stand_ins.clean(f"signer {address} …") == f"signer 0x{'1'.zfill(40)} …"
    assert stand_ins.clean("1767225900001002") == "1767225900001002"
    assert "abab" not in stand_ins.clean(f"cut {address[:20]}").lower()


def test_one_command_captures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tmp_path / "found"
    with LocalVenue(accounts=1) as venue, venue.serve(0) as served:
        words = ["conformance", served.base_url, "--capture", str(found), "--duration", "0.3"]
        monkeypatch.setattr("sys.argv", words)
        assert main() == 0
    text = capsys.readouterr().out
    asked, alike = re.findall(r"(\d+) of (\d+) queries", text)[0]
    assert asked == alike
    assert text.splitlines()[-1].endswith(f"See {found / 'report.md'}, which has no keys or addresses")
    assert "## Queries" in (found / "report.md").read_text(encoding="utf-8")
