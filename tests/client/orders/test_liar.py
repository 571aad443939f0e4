"""Over real sockets, in the published form, against a proxy that lies: no intent ends in a state that is not true."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

import toolkit
from tests.client.liar import Liar
from toolkit import errors, orders
from toolkit.client.io.transport import Retry
from toolkit.client.orders.intents import Intent, IntentState, MemoryLedger
from toolkit.client.orders.receipts import receipt
from toolkit.venue.local import LocalVenue
from toolkit.venue.model.constants import REJECTED as REFUSED

CALLS = ("buy", "sell", "taken", "refused", "batch", "bracket", "leverage", "cancel", "replace")
GROUP = 25
"""Cases of one session."""


class Truth:
    """What the venue really did."""

    def __init__(self, venue: LocalVenue) -> None:
        self.state = venue.host.core.state

    def orders(self, intent: Intent) -> dict[int, Any]:
        """Return the orders that an intent placed, by client id, with the refused ones."""
        account = self.state.accounts[intent.account.lower()]
        known = [*account.orders.values(), *self.state.history.orders.records]
        return {one.client_id: one for one in known if one.client_id in intent.client_ids}

    def code(self, intent: Intent) -> int | None:
        """Return the code of its transaction, None without one."""
        for record in reversed(self.state.history.transactions.records):
            if (record.signer, record.nonce) == (intent.signer.lower(), intent.nonce):
                return int(record.code)
        return None

    def false_state(self, intent: Intent) -> str:
        """Say what is false about the state of an intent, or the results of its orders; "" if nothing is."""
        code, placed = self.code(intent), self.orders(intent)
        stands = code == 0 or any(order.status != REFUSED for order in placed.values())
        if intent.state is IntentState.ACCEPTED and not stands:
            return f"{intent} is ACCEPTED, at the venue: code {code}"
        if intent.state in (IntentState.REJECTED, IntentState.FAILED) and stands:
            return f"{intent} is {intent.state}, at the venue: code {code}"
        for result in receipt(intent).results if intent.settled and intent.client_ids else ():
            order = placed.get(result.cl_ord_id or 0)
            known = order is not None and order.status != REFUSED
            if result.accepted is not known or (known and result.order_id not in (None, order.id)):
                return f"{intent} is {intent.state} with {result}, at the venue: {order}"
        return ""


class Storm:
    """Cases in groups of one session each, then an honest end."""

    def __init__(self, venue: LocalVenue, base_url: str, liar: Liar, seed: int) -> None:
        self.venue, self.base_url, self.liar, self.truth = venue, base_url, liar, Truth(venue)
        self.rng = random.Random(seed)
        self.false: dict[str, str] = {}
        """Intent → what is false about its state."""
        self.ended: Counter[str] = Counter()
        self.cases = 0
        self.price = 50_000

    def group(self, cases: int) -> None:
        options: dict[str, Any] = {"retry": Retry(attempts=3, base=0.002, cap=0.004, longest=0.01, total=5.0)}
        self.liar.honest = True
        ledger = MemoryLedger()
        with toolkit.connect(
            "local", base_url=self.liar.url, intents=ledger, timeout=1.0, settle_timeout=0.06, rates={}, **options
        ) as session:
            with suppress(errors.ToolkitError):
                session.buy("BTCUSDC", "0.001", price="40000")
            self.liar.rng = random.Random(self.rng.random())
            self.liar.rate, self.liar.honest = self.rng.choice([0.15, 0.3, 0.6]), False
            for _ in range(cases):
                self.cases += 1
                before = len(ledger.all())
                with suppress(errors.ToolkitError):
                    self.call(session, ledger)
                if self.rng.random() < 0.2:
                    with suppress(errors.ToolkitError):
                        session.resolve()
                self.liar.settle()
                self.look(ledger.all()[before:], "while it lied")
            self.liar.honest = True
            left = [intent.id for intent in ledger.all() if not intent.settled]
            for _ in range(3):
                with suppress(errors.ToolkitError):
                    session.resolve()
            self.look(ledger.all(), "in the end")
            for intent in ledger.all():
                self.ended[f"{'resolved' if intent.id in left else 'at once'} {intent.state}"] += 1
        with toolkit.connect("local", base_url=self.base_url, intents=":memory:") as session:
            session.cancel_all()

    def look(self, intents: list[Intent], when: str) -> None:
        for intent in intents:
            if said := self.truth.false_state(intent):
                self.false.setdefault(intent.id, f"{when}: {said}")

    def call(self, session: toolkit.Session, ledger: MemoryLedger) -> None:
        self.price += 1
        buy = orders.buy("BTCUSDC", "0.001", price=self.price)
        bad = orders.buy("BTCUSDC", "90", price=self.price)
        known = [number for intent in ledger.all() for number in intent.client_ids] or [77]
        number = self.rng.choice(known[-3:])
        {
            "buy": lambda: session.place(buy),
            "sell": lambda: session.sell("BTCUSDC", "0.001", price=70_000 + self.price - 50_000),
            "taken": lambda: session.buy("BTCUSDC", "0.001"),
            "refused": lambda: session.place(bad),
            "batch": lambda: session.place([buy, bad] if self.rng.random() < 0.5 else [bad, buy]),
            "bracket": lambda: session.place(orders.bracket(buy, stop_loss=30_000)),
            "leverage": lambda: session.exchange.set_leverage("BTCUSDC", self.rng.randrange(5, 20)),
            "cancel": lambda: session.cancel(cl_ord_id=number, symbol="BTCUSDC"),
            "replace": lambda: session.replace(None, buy, cl_ord_id=number),
        }[self.rng.choice(CALLS)]()


def doubled(venue: LocalVenue) -> list[Any]:
    """Return what was placed more than once: client id and price, as a replacement keeps the id."""
    state = venue.host.core.state
    known = [order for account in state.accounts.values() for order in account.orders.values()]
    every = [*known, *state.history.orders.records]
    found = Counter((order.client_id, order.price) for order in every if order.client_id and order.parent == 0)
    return [one for one, count in found.items() if count > 1]


@pytest.fixture(scope="module")
def venue() -> Iterator[LocalVenue]:
    # Its sessions wait 0.06 s, so it executes at once also where other tests have a venue that takes longer.
    with LocalVenue(seed=3, market=False, accounts=1, settle_delay=0) as made:
        made.control.set_oracle("BTCUSDC", "60000")
        for side, price in (("BUY", "59990"), ("SELL", "60010")):
            made.control.add_liquidity("BTCUSDC", side, price, "500")
        yield made


def storm(venue: LocalVenue, cases: int, seed: int) -> Storm:
    with venue.serve() as served, Liar("127.0.0.1", int(served.base_url.rpartition(":")[2])) as liar:
        with toolkit.connect("local", base_url=served.base_url, intents=":memory:") as session:
            session.exchange.approve_agent()
        made = Storm(venue, served.base_url, liar, seed)
        while made.cases < cases:
            made.group(min(GROUP, cases - made.cases))
    print(f"\n{made.cases} cases, {liar.posts} writes, {liar.gets} reads: {dict(made.ended)}; {dict(liar.faults)}")
    return made


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_lie_of_a_proxy_becomes_the_state_of_an_order(venue: LocalVenue, seed: int) -> None:
    prove(storm(venue, 250, seed), venue)


def prove(made: Storm, venue: LocalVenue) -> None:
    assert not made.false
    assert not doubled(venue)
    certain = sum(count for name, count in made.ended.items() if name.endswith(("ACCEPTED", "REJECTED", "FAILED")))
    assert certain > 0.99 * sum(made.ended.values())
