"""The suite against the local venue with its default settings, and against answers that were changed on the way."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import outcomes
from tests.conformance.signing import Domain, Key, envelope, message
from tests.conformance.statements import STATEMENTS
from tests.conformance.venue import Answer, Venue

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "requests.json").read_text(encoding="utf-8"))
NOT_TRIED = ("specification: Errors", "userFunding", "an idle connection", "settled funding",
             "the position is one step", "an earlier run", "others took", "the spread", "the book moved",
             "without results", "a bare list",
             "have claimed")  # fmt: skip
"""What a run of a minute can't show, or what depends on the market of that minute."""


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of `toolkit venue` with a form of the wire, in a process of its own."""
    line = [sys.executable, "-m", "toolkit", "venue", "--port", "0", "--wire", request.param]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield next(part for text in process.stdout for part in text.split() if part.startswith("http://"))
        finally:
            process.terminate()
            process.communicate(timeout=30)


def differing(url: str, only: str = "") -> list[str]:
    found = outcomes(url, only=only)
    assert found
    said = [f"{one.statement.source}: {one.statement.text}: {one.why}" for one in found if one.result == "differs"]
    untried = [f"{one.statement.source} {one.statement.text} {one.why}" for one in found if one.result == "not tried"]
    assert not [text for text in untried if not any(reason in text for reason in NOT_TRIED)]
    return said


@pytest.mark.slow
@pytest.mark.parametrize("served", ["published", "extended"], indirect=True)
def test_the_local_venue_conforms_with_its_default_settings(served: str) -> None:
    assert differing(served) == []


@pytest.mark.parametrize("served", ["published"], indirect=True)
def test_requests_and_answers_of_the_local_venue_conform(served: str) -> None:
    assert [text for section in ("Signature", "Order item", "leverage") for text in differing(served, section)] == []


def test_the_suites_own_signer_makes_the_golden_requests() -> None:
    for vector in VECTORS["vectors"]:
        request, key = vector["request"], Key(bytes.fromhex(VECTORS["keys"][vector["signer"]][2:]))
        testnet = vector["environment"] == "testnet"
        domain = Domain() if testnet else Domain("Mainnet", 42161, "a")
        optional = {"expiry": request.get("expiryAfter"), "vault": request.get("vaultAddress")}
        assert envelope(key, request["action"], request["nonce"], domain=domain, **optional) == request
        if "proto" in vector:
            assert "0x" + message(request["action"]).hex() == vector["proto"]


def test_the_suite_imports_nothing_of_the_toolkit() -> None:
    code = (
        "import sys, tests.conformance.__main__; sys.exit(any(name.split('.')[0] == 'toolkit' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def renamed(body: Any, old: str, new: str) -> Any:
    return json.loads(json.dumps(body).replace(f'"{old}"', f'"{new}"'))


LIES: dict[str, tuple[str, Callable[[Answer], Answer]]] = {
    "txHash is renamed": (
        "a success has HTTP 200",
        lambda answer: Answer(answer.status, renamed(answer.body, "txHash", "hash")),
    ),
    "every refusal is a success": (
        "an order worth less than minOrderValue",
        lambda answer: Answer(200, {**answer.body, "code": 0}),
    ),
    "a wrong signer has the wrong code": (
        "that nobody approved",
        lambda answer: Answer(answer.status, {**answer.body, "code": answer.code and 40003}),
    ),
    "amounts are numbers": (
        "each row of /info/account/wallet",
        lambda answer: Answer(
            answer.status, json.loads(re.sub(r'("balance": )"([\d.]+)"', r"\1\2", json.dumps(answer.body)))
        ),
    ),
    "a field is missing": (
        "each row of /info/kline/last",
        lambda answer: Answer(answer.status, renamed(answer.body, "tradeCount", "trades")),
    ),
    "404 without the envelope": ("an unknown path", lambda answer: Answer(answer.status, "not found")),
}


@pytest.mark.parametrize("lie", LIES)
def test_the_suite_notices_an_answer_that_is_changed_on_the_way(lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from toolkit.venue.local import LocalVenue

    only, change = LIES[lie]
    plain = Venue.request
    with LocalVenue(clock="manual").serve() as served:
        assert [one.result for one in outcomes(served.base_url, only=only)] == ["holds"]
        monkeypatch.setattr(Venue, "request", lambda *given, **more: change(plain(*given, **more)))
        assert [one.result for one in outcomes(served.base_url, only=only)] == ["differs"]


FILTERED = ("/info/order/states", "/info/order/events", "/info/trade/page", "/info/kline/last")


@pytest.mark.parametrize("path", FILTERED)
def test_the_suite_notices_a_parameter_that_is_ignored(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from toolkit.venue.local import LocalVenue

    plain = Venue.request

    def ignoring(venue: Venue, method: str, asked: str, **options: Any) -> Answer:
        kept = {"userAddr", "symbol_name", "interval"} & set(options.get("params", ()))
        if asked == path:
            options["params"] = {name: options["params"][name] for name in kept}
        return plain(venue, method, asked, **options)

    with LocalVenue(clock="manual").serve() as served:
        assert [one.result for one in outcomes(served.base_url, only=f"{path} takes")] == ["holds"]
        monkeypatch.setattr(Venue, "request", ignoring)
        assert [one.result for one in outcomes(served.base_url, only=f"{path} takes")] == ["differs"]


def test_every_statement_names_a_document_and_is_said_once() -> None:
    said = [(statement.source, statement.text) for statement in STATEMENTS]
    assert len(said) == len(set(said)) >= 280
    assert {source.split(":")[0] for source, _ in said} == {"specification", "venue facts", "risk rules"}
