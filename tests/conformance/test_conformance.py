"""The suite against the local venue with its default settings, its signer, and what its results mean."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.__main__ import outcomes, summary
from tests.conformance.signing import Domain, Key, envelope, message, signer_of
from tests.conformance.statements import MARKS, RESULTS, STATEMENTS, Outcome, Statement, expect
from tests.conformance.venue import Venue
from toolkit.venue.local import LocalVenue
from toolkit.venue.trouble import LateAnswer, LostAnswer, NonceWindow, Phase, ProxyPage, TooManyRequests, Trouble

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "requests.json").read_text(encoding="utf-8"))
TOKEN = "token-of-the-suites-own-venue"
NOT_TRIED = ("an idle connection", "fills it in", "too little to show", "no value of it is published", "rows",
             "others took", "the spread", "the book moved")  # fmt: skip
"""What a run of a minute can't show, or what depends on the market of that minute."""


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of `toolkit venue --control`, in a process of its own."""
    monkeypatch.setenv("TOOLKIT_CONTROL_TOKEN", TOKEN)
    line = [sys.executable, "-m", "toolkit", "venue", "--port", "0", "--control"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield next(part for text in process.stdout for part in text.split() if part.startswith("http://"))
        finally:
            process.terminate()
            process.communicate(timeout=30)


def differing(url: str, only: str = "") -> list[str]:
    found = outcomes(url, only=only, token=TOKEN)
    assert found
    said = {name: [f"{one.statement}: {one.why}" for one in found if one.result == name] for name in RESULTS}
    assert [text for text in said["not tried"] if not any(reason in text for reason in NOT_TRIED)] == []
    assert [text for text in said["not served"] if "usdSend" not in text] == []
    return said["differs"] + said["otherwise"]


@pytest.mark.slow
def test_the_local_venue_conforms_with_its_default_settings(served: str) -> None:
    assert differing(served) == []


def test_requests_and_answers_of_the_local_venue_conform(served: str) -> None:
    sections = ("[S] Signature", "Order item", "[S] Errors", "POST /exchange/placeOrder")
    assert [text for section in sections for text in differing(served, section)] == []


@pytest.mark.parametrize(
    "trouble",
    [
        LostAnswer(share=0.3, ends="disconnect"), ProxyPage(status=503, share=0.3),
        ProxyPage(status=504, executed=True, share=0.3),
        TooManyRequests(share=0.3, body="html"), NonceWindow(ahead="5s", behind="1h"), LateAnswer(by="5ms"),
    ],
    ids=lambda trouble: type(trouble).__name__,
)  # fmt: skip
def test_at_an_unkind_venue_what_was_not_tried_is_said_and_the_rest_holds(trouble: Phase) -> None:
    with LocalVenue(trouble=Trouble(trouble, seed=3)) as venue, venue.serve(0) as served:
        sections = ("[S] Signature", "[S] Errors", "Order item")
        found = [one for section in sections for one in outcomes(served.base_url, only=section)]
    assert [f"{one.statement}: {one.why}" for one in found if one.result not in ("holds", "not tried")] == []
    assert any(one.result == "holds" for one in found)
    if isinstance(trouble, LostAnswer | ProxyPage | TooManyRequests):
        assert any("got no answer" in one.why or "without the venue's envelope" in one.why for one in found)


def test_the_suites_own_signer_makes_the_golden_requests() -> None:
    for vector in VECTORS["vectors"]:
        request, key = vector["request"], Key(bytes.fromhex(VECTORS["keys"][vector["signer"]][2:]))
        domain = Domain() if vector["environment"] == "testnet" else Domain("Mainnet", 42161, "a")
        optional = {"expiry": request.get("expiryAfter"), "vault": request.get("vaultAddress")}
        assert envelope(key, request["action"], request["nonce"], domain=domain, **optional) == request
        assert signer_of(request, domain) == key.address
        if "proto" in vector:
            assert "0x" + message(request["action"]).hex() == vector["proto"]


def test_the_suite_imports_nothing_of_the_toolkit() -> None:
    code = (
        "import sys, tests.conformance.__main__; sys.exit(any(name.split('.')[0] == 'toolkit' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_a_venue_that_decides_otherwise_differs_only_from_what_the_exchange_states() -> None:
    refusing = [Statement(mark, "Topic", "text", lambda _: expect(False, "it is refused")) for mark in MARKS]
    found = [Outcome(one, *one.result(Venue("", "")), 0.0) for one in refusing]
    assert {one.statement.mark: one.result for one in found} == dict.fromkeys("SPKO", "differs") | {"L": "otherwise"}
    assert "0 holds, 4 differs, 1 otherwise, 0 not served, 0 not tried" in summary(found)


def test_every_statement_has_a_mark_and_is_said_once() -> None:
    said = [str(statement) for statement in STATEMENTS]
    assert len(said) == len(set(said)) > 1_000
    assert {statement.mark for statement in STATEMENTS} == set(MARKS)
