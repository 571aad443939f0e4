"""Many faults at once do to each request what the documentation says, compared with a reference that is written here.

The reference counts matches: the faults that match by path and peer first, then those of an account, then, if none of
them stopped the request, those that change its answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from tests.venue.quiet import venue  # a fixture
from tests.venue.wallets import MASTER, OTHER
from toolkit.venue.lab.faults import AFTER, BEFORE, Fault
from toolkit.venue.local import LocalVenue

__all__ = ["venue"]

PATHS = {"/info/public/product-meta": "", "/info/account/wallet": "userAddr", "/info/vault/user-list": "userAddress"}
PATTERNS = ["", "", "/info/*", "/info/account/wallet", "/info/*/user-list", "/api/*"]
PEERS = ["one", "two"]
PAGE = b"<html>scripted fault</html>"


@dataclass
class Expected:
    """A fault as documented. `draws` is its sequence: the venue's seed, and how many faults were added before it."""

    kind: str
    settings: dict[str, Any]
    draws: Random
    fault: Fault
    seen: int = 0
    struck: int = 0
    stopped: int = 0
    """Requests that it stopped as the first of those that triggered."""

    def matches(self, path: str, peer: str, account: str) -> bool:
        want = self.settings
        pattern = want["path"]
        start, star, end = pattern.partition("*")
        fits = path == pattern or (bool(star) and path.startswith(start) and path.endswith(end))
        return (not pattern or fits) and want["peer"] in ("", peer) and want["account"] in ("", account)

    def triggers(self) -> bool:
        count = self.settings["count"]
        if count is not None and self.struck >= count:
            return False
        self.seen += 1
        if self.seen <= self.settings["after"]:
            return False
        if self.settings["chance"] < 1 and self.draws.random() >= self.settings["chance"]:
            return False
        self.struck += 1
        return True


BROKEN = {"refuse": "refused", "lose-request": "timeout", "late-request": "timeout", "cut-request": "disconnect",
          "lose-answer": "timeout", "cut-answer": "disconnect"}  # fmt: skip


def page(fault: Expected) -> tuple[int, bytes, str, float]:
    if fault.kind in BROKEN:
        return 0, b"", BROKEN[fault.kind], 0.0
    return fault.settings["status"], PAGE, "", 0.0


def expected(faults: list[Expected], path: str, peer: str, account: str, whole: bytes) -> tuple[Any, ...]:
    """Return (HTTP status, body, how it is broken, delay) of the answer. A body of None is the code's envelope."""
    for of_account in (False, True):
        hits = [one for one in faults if one.kind in BEFORE and bool(one.settings["account"]) is of_account
                and one.matches(path, peer, account) and one.triggers()]  # fmt: skip
        if hits:
            hits[0].stopped += 1
            return (200, None, "", 0.0) if hits[0].kind == "code" else page(hits[0])
    answer = 200, whole, "", 0.0
    hits = [one for one in faults if one.kind in AFTER and one.matches(path, peer, account) and one.triggers()]
    for one in hits:
        status, body, broken, delay = answer
        if one.kind == "late-answer":
            answer = status, body, broken, delay + one.settings["delay"] / 1000
        elif one.kind == "garbage":
            answer = status, body[: len(body) // 2], broken, delay
        elif one.kind == "repeat":
            answer = 200, whole, "", 0.0
        elif one.kind != "duplicate":
            answer = page(one)
    return answer


@pytest.mark.parametrize("seed", range(2))
def test_a_storm_of_faults_does_to_each_request_what_its_settings_say(venue: LocalVenue, seed: int) -> None:
    random, faults, requests = Random(seed), list[Expected](), venue.host.faults.requests
    wholes: dict[tuple[str, str], bytes] = {}
    accounts = [MASTER.address.lower(), OTHER.address.lower()]

    def ask(path: str, account: str, peer: str) -> Any:
        query = f"{PATHS[path]}={account}" if PATHS[path] else ""
        return venue.host.gateway.handle("GET", path, query, b"", peer)

    for path in PATHS:
        for account in accounts:
            wholes[path, account] = ask(path, account, "one").body
    made = list[Expected]()
    for turn in range(300):
        if turn % 5 == 0:
            kind = random.choice([*BEFORE, *AFTER])
            settings = {
                "path": random.choice(PATTERNS),
                "peer": random.choice(["", *PEERS]),
                "account": random.choice(["", "", *accounts]),
                "after": random.randrange(4),
                "count": random.choice([1, 2, 5, None if kind in AFTER else 3]),
                "chance": random.choice([1.0, 1.0, 0.5]),
                "status": random.choice([429, 500, 599]),
                "delay": random.randrange(1, 4_000),
            }
            draws = Random(f"{venue.host.core.state.seed}:{len(made)}")
            fault = venue.control.add_fault(kind, **{**settings, "delay": f"{settings['delay']}ms"})
            made.append(Expected(kind, settings, draws, fault))
            faults.append(made[-1])
        if turn % 12 == 11:
            faults.pop(random.randrange(len(faults))).fault.remove()
        path, peer, account = random.choice(list(PATHS)), random.choice(PEERS), random.choice(accounts)
        named = account if PATHS[path] else ""
        status, body, broken, delay = expected(faults, path, peer, named, wholes[path, account])
        answer = ask(path, account, peer)
        assert (answer.status, answer.broken) == (status, broken), turn
        assert answer.delay == pytest.approx(delay)
        assert b"(scripted fault)" in answer.body if body is None else answer.body == body
        assert [one.fault.struck for one in faults] == [one.struck for one in faults]
        live = [one for one in faults if one.settings["count"] is None or one.struck < one.settings["count"]]
        assert len(requests) == len(live)
    assert len({one.kind for one in made if one.struck}) > 9
    late = sum(one.stopped for one in made if one.kind == "late-request")
    venue.control.clear_faults()
    assert (len(requests), len(requests._late), requests.active) == (0, late, late > 0), "time stands still"
    venue.advance("5s")
    assert not requests.active
    assert ask("/info/account/wallet", accounts[0], "one").body == wholes["/info/account/wallet", accounts[0]]
