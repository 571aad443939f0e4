"""Scripted faults: each kind has its documented effect on the requests it matches, reproducibly."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

import toolkit
from tests.venue.wallets import MASTER, Signer
from toolkit.errors import BroadcastFailed, InputError
from toolkit.venue.api.gateway import Answer
from toolkit.venue.lab.faults import AFTER, BEFORE, FEED, KINDS, SETTINGS, explain
from toolkit.venue.local import LocalVenue

WITHDRAW = {"type": "withdraw", "destination": MASTER.address, "amount": "10"}


def balance(venue: LocalVenue, address: str = MASTER.address) -> int:
    return venue.host.core.state.accounts[address.lower()].balance // 1_000_000


def get(venue: LocalVenue, path: str = "/info/public/product-meta", query: str = "") -> Answer:
    return venue.host.gateway.handle("GET", path, query, b"", "peer")


OUTCOMES: dict[str, tuple[str, int, int]] = {
    # kind: (how it is broken, HTTP status, how often the withdrawal of 10 counted)
    "refuse": ("refused", 0, 0),
    "lose-request": ("timeout", 0, 0),
    "cut-request": ("disconnect", 0, 0),
    "late-request": ("timeout", 0, 0),
    "code": ("", 200, 0),
    "status": ("", 503, 0),
    "lose-answer": ("timeout", 0, 1),
    "cut-answer": ("disconnect", 0, 1),
    "late-answer": ("", 200, 1),
    "status-after": ("", 503, 1),
    "garbage": ("", 200, 1),
    "duplicate": ("", 200, 1),
    "repeat": ("", 200, 1),
}


@pytest.mark.parametrize("aim", [{}, {"action": "withdraw"}, {"account": MASTER.address}, {"path": "/api/*"}])
@pytest.mark.parametrize("kind", [*BEFORE, *AFTER])
def test_each_kind_triggers_once_before_or_after_the_command(venue: LocalVenue, kind: str, aim: dict[str, Any]) -> None:
    fault = venue.control.add_fault(kind, **aim)
    signer = Signer(MASTER)
    answer = signer.post(venue, WITHDRAW)
    broken, status, counted = OUTCOMES[kind]
    assert (answer.broken, answer.status) == (broken, status)
    assert balance(venue) == 10_000 - 10 * counted
    assert fault.struck == 1
    assert not venue.host.faults.requests.active or kind == "late-request"
    assert signer.do(venue, WITHDRAW)["code"] == 0
    assert balance(venue) == 10_000 - 10 * (counted + 1)


def test_a_duplicate_gets_the_first_answer_and_a_repeat_the_second(venue: LocalVenue) -> None:
    signer = Signer(MASTER)
    venue.control.add_fault("duplicate", action="withdraw")
    assert signer.do(venue, WITHDRAW)["code"] == 0
    venue.control.add_fault("repeat", action="withdraw")
    assert signer.do(venue, WITHDRAW)["code"] == 40207
    assert balance(venue) == 9_980


def test_an_account_means_its_agents_too(venue: LocalVenue) -> None:
    with toolkit.connect(venue=venue) as session:
        with venue.control.add_fault("code", account=session.account, action="cancelAll", code=40231) as fault:
            with pytest.raises(BroadcastFailed):
                session.cancel_all("BTCUSDC")
            assert fault.struck == 1
        session.cancel_all("BTCUSDC")


def test_peers_and_paths_aim_a_fault(venue: LocalVenue) -> None:
    venue.control.add_fault("refuse", path="/info/order/*", peer="peer", count=None)
    assert get(venue).broken == ""
    assert get(venue, "/info/order/states", f"userAddr={MASTER.address}").broken == "refused"
    assert venue.host.gateway.handle("GET", "/info/order/states", "", b"", "other").broken == ""


def test_a_fault_of_an_account_applies_to_every_query_about_it(venue: LocalVenue) -> None:
    venue.control.add_fault("refuse", account=MASTER.address, count=None)
    for path, name in (("/info/account/wallet", "userAddr"), ("/info/vault/user-list", "userAddress")):
        assert get(venue, path, f"{name}={MASTER.address}").broken == "refused"
        assert get(venue, path, f"{name}=0x{'ab' * 20}").broken == ""
    assert get(venue, "/info/explore/transaction/page", f"user={MASTER.address}").broken == "refused"


def test_a_with_block_removes_its_fault(venue: LocalVenue) -> None:
    with venue.control.add_fault("refuse", count=None) as fault:
        assert get(venue).broken == "refused"
        assert get(venue).broken == "refused"
        assert repr(fault) == "<Fault refuse count=all, struck 2>"
    assert get(venue).broken == ""
    fault.remove()
    venue.control.add_fault("refuse").remove()
    assert get(venue).broken == ""
    venue.control.add_fault("refuse", count=None)
    venue.control.clear_faults()
    assert get(venue).broken == ""
    assert repr(venue.host.faults) == "<Faults: 0 armed>"


def test_chance_is_drawn_from_the_seed_and_repeats() -> None:
    def play(seed: int) -> list[str]:
        with LocalVenue(clock="manual", market=False, accounts=0, seed=seed) as venue:
            venue.control.add_fault("refuse", chance=0.3, count=None)
            return [get(venue).broken for _ in range(200)]

    assert play(1) == play(1)
    assert play(1) != play(2)
    assert 30 < play(1).count("refused") < 90


def test_faults_of_the_feed_pass_to_the_hub(venue: LocalVenue) -> None:
    connection = venue.host.feed.open("peer")
    connection.send(json.dumps({"method": "subscribe", "subscription": {"type": "blockHeight"}}))
    connection.drain()
    with venue.control.add_fault("feed-freeze"):
        venue.advance("2s")
        assert connection.drain() == []
    frozen = connection.drain()
    assert frozen
    dropped = venue.control.add_fault("feed-drop", channel="blockHeight")
    assert repr(venue.host.faults) == "<Faults: 1 armed>"
    venue.advance("1s")
    assert connection.drain() == []
    assert (dropped.struck, dropped.done, repr(venue.host.faults)) == (1, True, "<Faults: 0 armed>")
    venue.control.add_fault("feed-cut", channel="blockHeight")
    venue.advance("1s")
    assert connection.closed
    venue.control.add_fault("feed-drop", count=None)
    venue.control.clear_faults()
    assert not venue.host.feed.faults.active


def test_faults_can_be_written_as_text(venue: LocalVenue) -> None:
    shown = venue.control.add_fault(
        "lose-answer action=withdraw after=1 count=all chance=0.5 delay=2s status=502 code=1 peer=p"
    )
    assert repr(shown) == (
        "<Fault lose-answer action=withdraw peer=p after=1 count=all chance=0.5 delay=2000 status=502 code=1, struck 0>"
    )
    assert repr(venue.control.add_fault("refuse")) == "<Fault refuse, struck 0>"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("explode", "fault 'explode' is none of refuse"),
        ("", "fault '' is none of"),
        ("refuse often", "'often' is no setting of a fault. There are path=…"),
        ("refuse after=soon", "after=soon is not a number"),
        ("refuse chance=2", "chance must be 0 to 1"),
        ("refuse count=0", "count 1 or more"),
        ("status status=99", "status must be 200 to 599"),
        ("refuse channel=trades", "channel is for faults of the feed"),
        ("feed-drop action=placeOrder", "takes channel, peer, after and count"),
        ("late-answer delay=soon", "not a span of time"),
    ],
)
def test_wrong_faults_are_explained(venue: LocalVenue, text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        venue.control.add_fault(text)
    assert words in str(caught.value)


def test_the_help_names_every_kind_and_setting() -> None:
    text = explain()
    assert all(kind in text for kind in KINDS)
    assert all(f"{name}=" in text or f"{name}=N" in text for name in SETTINGS)
    assert set(KINDS) == {*BEFORE, *AFTER, *FEED}


def test_with_a_running_clock_a_late_request_arrives_without_another_request() -> None:
    arrived = threading.Event()
    with LocalVenue(market=False, accounts=1) as venue:
        venue.control.add_fault("late-request", action="withdraw", delay="1ms")
        Signer(MASTER).post(venue, WITHDRAW)
        venue.host.record = lambda command: arrived.set()
        venue.host.start_running()
        assert arrived.wait(10)
        venue.host.stop_running()
        assert balance(venue) == 9_990
