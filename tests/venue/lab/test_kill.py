"""The served venue is killed in the middle of load, again and again, and nothing that it answered is lost."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.test_venue_command import command
from tests.venue.wallets import AGENT, MASTER, OTHER, SECOND_AGENT, Signer
from toolkit.venue.development import DevelopmentAccount
from toolkit.venue.lab.journal import Journal

LOADERS = 3


class Load:
    """Traders who send orders until the venue is killed. Keeps what was sent and what was answered."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.signers = [Signer(AGENT), Signer(SECOND_AGENT)]
        self.sent: dict[tuple[str, int], dict[str, Any]] = {}
        self.answered: dict[tuple[str, int], str] = {}
        self.doubtful: set[tuple[str, int]] = set()
        self.counted = 0
        """How many had counted without an answer."""
        self._lock = threading.Lock()

    def approve(self, address: str) -> None:
        """Let the agents trade."""
        for master, agent in ((MASTER, AGENT), (OTHER, SECOND_AGENT)):
            action = {"type": "approveAgent", "agentAddress": agent.address, "agentName": "a", "validitySeconds": 0}
            self._send(address, _signer(master), {**action, "dexChain": "Testnet"})

    def run(self, address: str, kill: Any, answers: int) -> None:
        """Send from several threads; call `kill` in the middle, after so many answers, and return when all failed."""
        left = [answers]
        threads = [threading.Thread(target=self._trade, args=(address, kill, left, n)) for n in range(LOADERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()

    def _trade(self, address: str, kill: Any, left: list[int], number: int) -> None:
        signer = self.signers[number % 2]
        with _client(address) as client:
            while True:
                with self._lock:
                    request = signer.request(self._action())
                    key = (signer.address.lower(), request["nonce"])
                    self.sent[key] = request
                    self.doubtful.add(key)
                try:
                    answer = client.post("/api/v1/exchange", json=request).json()
                except httpx.TransportError:
                    return
                self._record_answer(key, answer)
                with self._lock:
                    left[0] -= 1
                    if left[0] == 0:
                        kill()  # the other threads are in the middle of something

    def _action(self) -> dict[str, Any]:
        if self.chance.random() < 0.1:
            return {"type": "cancelAll", "symbolCode": 1}
        order = {
            "symbolCode": 1,
            "ordPx": str(62_500 + self.chance.randrange(-3, 4)),
            "ordQty": "0.002",
            "ordType": "LIMIT",
            "ordSide": self.chance.choice(["BUY", "SELL"]),
            "timeInForce": "GTC",
        }
        return {"type": "placeOrder", "orders": [order]}

    def _record_answer(self, key: tuple[str, int], answer: dict[str, Any]) -> None:
        with self._lock:
            assert answer["code"] in (0, 40230), answer
            self.answered[key] = answer["data"]["txHash"]
            self.doubtful.discard(key)

    def _send(self, address: str, signer: Signer, action: dict[str, Any]) -> None:
        request = signer.request(action)
        key = (signer.address.lower(), request["nonce"])
        self.sent[key] = request
        with _client(address) as client:
            self._record_answer(key, client.post("/api/v1/exchange", json=request).json())

    def settle(self, address: str) -> None:
        """Send what is in doubt again, as the same bytes: it counts now, or is answered that it did."""
        with _client(address) as client:
            for key in sorted(self.doubtful):
                answer = client.post("/api/v1/exchange", json=self.sent[key]).json()
                if answer["code"] == 40207:
                    self.counted += 1
                else:
                    self._record_answer(key, answer)
        self.doubtful.clear()


def _client(address: str) -> httpx.Client:
    return httpx.Client(
        base_url=address, timeout=20, verify=False, trust_env=False
    )  # plain HTTP; certificates take long


def _signer(account: DevelopmentAccount) -> Signer:
    signer = Signer(account)
    signer.nonce = 5_000_000
    return signer


def kill_again_and_again(path: Path, seed: int, times: int, sync: str) -> Load:
    """Kill a venue `times`, each time under load; afterwards hold the journal against what was sent and answered."""
    load = Load(seed)
    options = ("--port", "0", "--no-market", "--accounts", "2", "--journal", str(path), "--sync", sync)
    for life in range(times):
        with command(*options) as (process, address, _):
            if not life:
                load.approve(address)
            load.settle(address)
            load.run(address, process.kill, load.chance.randrange(1, 40))
            assert process.wait(20) != 0
    with command(*options) as (_, address, _lines):
        load.settle(address)
    _check(path, load)
    return load


def _check(path: Path, load: Load) -> None:
    journal = Journal.open(path)
    core = journal.replay()
    journal.close()
    core.check()
    records = [one for one in core.state.history.transactions.records if one.nonce]
    done = {(one.signer, one.nonce): one.hash for one in records}
    assert len(done) == len(records), "something counted twice"
    assert set(done) == set(load.sent), "something is missing, or nobody sent it"
    lost = {key for key, tx_hash in load.answered.items() if done[key] != tx_hash}
    assert not lost, f"answered and lost: {lost}"


def test_a_venue_killed_under_load_loses_nothing_it_answered(tmp_path: Path) -> None:
    load = kill_again_and_again(tmp_path / "j", 1, 2, "full")
    assert len(load.answered) > 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 103))
def test_hundreds_of_kills_lose_nothing(tmp_path: Path, seed: int) -> None:
    kill_again_and_again(tmp_path / "j", seed, 8, "full" if seed % 5 == 0 else "os")
