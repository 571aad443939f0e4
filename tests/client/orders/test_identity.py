"""Who did what is proven: two agents, two machines and two folders of state on one account never take each other's
orders, answers and nonces for their own."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

import toolkit
from tests.client.fake import Clock
from toolkit import errors, orders
from toolkit.client.io.transport import Retry
from toolkit.client.orders.intents import MOST_ORDERS, IntentState
from toolkit.environments import TESTNET
from toolkit.protocol.orders.approvals import agent_approval
from toolkit.venue.development import master
from toolkit.venue.local import LocalVenue

SECOND = "0x" + "42" * 32
"""Key of a second agent."""
Connect = Callable[..., toolkit.Session]


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(clock="manual", market=False, accounts=1, balance="1000000000", settle_delay=0) as made:
        made.control.set_oracle("BTCUSDC", "60000")
        yield made


class Network(httpx.BaseTransport):
    """The way to a venue. With `rng` it loses answers and requests, and repeats requests."""

    def __init__(self, venue: LocalVenue, rng: random.Random | None = None) -> None:
        self.inner, self.rng = venue.transport(), rng

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        word = "ok"
        if self.rng is not None and request.method == "POST":
            word = self.rng.choice(("ok", "ok", "request lost", "answer lost", "repeated"))
        if word == "request lost":
            raise httpx.ReadTimeout("lost", request=request)
        reply = self.inner.handle_request(request)
        if word == "repeated":
            reply = self.inner.handle_request(request)
        if word == "answer lost":
            raise httpx.ReadTimeout("lost", request=request)
        return reply


@pytest.fixture
def connect(venue: LocalVenue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Return a function that connects as a machine of its own, whose folder of state has a name."""
    with ExitStack() as stack:

        def made(
            machine: str, agent: str | None = None, rng: random.Random | None = None, **more: Any
        ) -> toolkit.Session:
            monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path / machine))
            wallet = None if agent is None else toolkit.Wallet(agent=agent, master=master(0).key)
            options: dict[str, Any] = more if wallet is None else {"wallet": wallet, **more}
            session = toolkit.connect(
                "local", base_url="http://127.0.0.1:1", transport=Network(venue, rng), intents=":memory:", rates={},
                settle_timeout=0.01, retry=Retry(attempts=2, base=0.0, longest=0.0), **options,
            )  # fmt: skip
            stack.enter_context(session)
            return session

        made("first").exchange.approve_agent(agent_name="first")
        made("first", SECOND).exchange.approve_agent(agent_name="second")
        yield made


def account_of(venue: LocalVenue) -> Any:
    return venue.host.core.state.accounts[master(0).address.lower()]


def resting(venue: LocalVenue) -> list[Any]:
    return list(account_of(venue).orders.values())


def test_two_agents_of_one_account_on_one_grid_of_time_place_all_of_their_orders(
    venue: LocalVenue, connect: Connect
) -> None:
    agents = connect("a"), connect("b", SECOND)
    for at in range(160):
        venue.advance("250ms")
        for number, agent in enumerate(agents):
            assert agent.buy("BTCUSDC", "0.001", 40_000 + 2 * at + number)
    assert len(resting(venue)) == 320


def test_one_key_on_two_machines_is_told_what_is_at_the_venue(venue: LocalVenue, connect: Connect) -> None:
    machines = connect("a"), connect("b")
    for at in range(90):
        venue.advance("250ms")
        for number, machine in enumerate(machines):
            made = machine.buy("BTCUSDC", "0.001", price := 40_000 + 2 * at + number)
            assert (made.state, made.rows or made.refresh(), float(made.rows[0]["price"])) == ("ACCEPTED", None, price)
    assert len(resting(venue)) == 180


OTHERS: dict[str, Callable[[toolkit.Session], Any]] = {
    "buy": lambda s: s.buy("BTCUSDC", "0.02", "41000"),
    "sell": lambda s: s.sell("BTCUSDC", "0.01", "70000"),
    "same": lambda s: s.buy("BTCUSDC", "0.01", "40000"),
    "product": lambda s: s.buy("ETHUSDC", "0.1", "1000"),
    "leverage": lambda s: s.exchange.set_leverage("BTCUSDC", 7),
    "cancel all": lambda s: s.exchange.cancel_all(1),
    "bracket": lambda s: s.place(orders.bracket(orders.buy("BTCUSDC", "0.01", "41000"), stop_loss=30_000)),
}
MINE: dict[str, Callable[[toolkit.Session], Any]] = OTHERS | {
    "leverage": lambda s: s.exchange.set_leverage("BTCUSDC", 9),
    "cancel all": lambda s: s.exchange.cancel_all(2),
    "margin": lambda s: s.exchange.set_margin_mode(1, "CROSS"),
}


@pytest.mark.parametrize("mine", MINE)
def test_a_nonce_that_another_machine_used_is_followed_by_a_new_one(
    venue: LocalVenue, connect: Connect, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolkit.client.io.nonce_sources.SPREAD_MS", 0)  # else both would rarely take the same
    venue.control.set_oracle("ETHUSDC", "3000")
    one, two = connect("a"), connect("b")
    for other in OTHERS.values():
        venue.advance("1s")
        for machine in (one, two):
            machine.positions()  # which shows it the time
        other(one)
        before = len(venue.host.core.state.history.transactions.records)
        done = MINE[mine](two)
        assert done, done
        [record] = venue.host.core.state.history.transactions.records[before:]
        intents = two.intents(limit=None)
        assert intents["nonce"].tolist()[-1] == record.nonce
        assert intents["state"].tolist()[-2:] == ["REJECTED", "ACCEPTED"]
        assert "used by another request" in intents["message"].tolist()[-2]


def test_a_served_client_follows_sessions_in_the_process_of_the_venue(venue: LocalVenue, connect: Connect) -> None:
    with toolkit.connect(venue=venue) as inside:
        for at in range(40):
            inside.buy("BTCUSDC", "0.001", 40_000 + at)
        outside = connect("a")
        for at in range(5):
            assert outside.buy("BTCUSDC", "0.001", 41_000 + at)
            assert inside.buy("BTCUSDC", "0.001", 42_000 + at)
    assert len(resting(venue)) == 50


def test_an_order_that_never_arrived_is_not_another_agents_order_with_its_client_id(
    venue: LocalVenue, connect: Connect
) -> None:
    one, two = connect("a"), connect("b", SECOND, Lost())
    assert one.buy("BTCUSDC", "0.01", "40000", cl_ord_id=7)
    with pytest.raises(errors.OutcomeUnknown) as lost:
        two.buy("BTCUSDC", "0.01", "40000", cl_ord_id=7)
    [made] = two.resolve(resend=False)
    assert (made.state, lost.value.receipt.state) == ("UNKNOWN", "UNKNOWN")
    for act in (made.cancel, lost.value.receipt.cancel, lambda: made.replace(orders.buy("BTCUSDC", "0.02", "40000"))):
        with pytest.raises(errors.InputError, match="order with clOrdId 7 is of this request is not known, so"):
            act()
    assert made.status == "UNKNOWN"
    assert len(resting(venue)) == 1


class Lost(random.Random):
    """Loses each request."""

    def choice(self, seq: Any) -> Any:
        return "request lost"


@pytest.mark.parametrize("chosen", [None, 7])
def test_a_receipt_of_before_a_revert_leaves_later_orders_alone(venue: LocalVenue, chosen: int | None) -> None:
    with toolkit.connect(venue=venue) as session:
        saved = venue.snapshot()
        old = session.buy("BTCUSDC", "0.01", "40000", cl_ord_id=chosen)
        venue.revert(saved)
        new = session.buy("BTCUSDC", "0.01", "40000", cl_ord_id=chosen)
        assert new.order_id == old.order_id
        for act in (
            old.cancel,
            lambda: session.cancel(old),
            lambda: old.replace(orders.buy("BTCUSDC", "0.02", "40000")),
        ):
            with pytest.raises((errors.ActionRejected, errors.InputError)):
                act()
        new.refresh()
        assert (new.status, len(resting(venue))) == ("NEW", 1)


def test_a_clock_that_is_a_month_fast_gives_nonces_of_the_venues_time(venue: LocalVenue, connect: Connect) -> None:
    now = venue.host.now_ms()
    session = connect("new", clock=Clock(now + 30 * 86_400_000))
    assert session.exchange.set_leverage(1, 5)
    assert now <= session.intents()["nonce"].item() < now + 1_000


def test_a_second_agent_does_not_end_the_first_ones_approval(venue: LocalVenue, connect: Connect) -> None:
    one, two = connect("a"), connect("b", SECOND)
    assert all(each.exchange.approve_agent() for each in (one, two))
    names = one.info.agents(status="ACTIVE").set_index("agent")["name"]
    usual = f"toolkit-{str(one.wallet.agent)[2:10].lower()}"
    assert names[one.wallet.agent].tolist() == ["first", usual] or usual in names[one.wallet.agent].tolist()
    with pytest.raises(
        errors.InputError, match=f"another active agent, {one.wallet.agent}.*say replace=True"
    ) as refused:
        two.exchange.approve_agent(agent_name=usual)
    assert refused.value.field == "agent_name"
    payload = agent_approval(TESTNET.chain, str(two.wallet.agent), usual, 60)
    assert one.exchange.approve_agent(agent_name=usual), "its own name"
    with pytest.raises(errors.InputError, match=r"neither trade nor cancel. Nothing was signed.*replace=True"):
        two.exchange.send(payload)
    assert two.exchange.approve_agent(agent_name=usual, replace=True)
    assert one.exchange.approve_agent(agent_name=usual, replace=True)
    assert two.exchange.revoke_agent()
    assert one.buy("BTCUSDC", "0.001", "40000")


def test_receipts_and_rows_carry_the_vault_that_owns_the_order(venue: LocalVenue, connect: Connect) -> None:
    session = connect("a")
    vault = session.exchange.vault_create("v", "1000").data["vault"]
    made = [session.buy("BTCUSDC", "0.001", 40_000 + at, vault_address=vault) for at in range(5)]
    mine = session.buy("BTCUSDC", "0.001", "41000")
    assert session.cancel(made[0])
    assert session.order(made[1]).status == "NEW"
    assert session.replace(made[1], orders.buy("BTCUSDC", "0.001", "39000"))
    assert session.cancel(made[2:4])
    with pytest.raises(errors.InputError, match="these orders belong to several"):
        session.cancel([made[4], mine])
    assert session.cancel(session.orders(account=vault, open=True))
    assert [order.price for order in resting(venue)] == [410_000]


@pytest.mark.parametrize("count", [MOST_ORDERS - 1, MOST_ORDERS, MOST_ORDERS + 1, 4 * MOST_ORDERS])
def test_a_batch_is_accepted_whole_or_refused_before_it_is_signed(
    venue: LocalVenue, connect: Connect, count: int
) -> None:
    session = connect("a")
    batch = [orders.buy("BTCUSDC", "0.001", 40_000 + at) for at in range(count)]
    if count > MOST_ORDERS:
        with pytest.raises(errors.InputError, match=f"at most 1,000 orders, not {count:,}. Nothing was signed"):
            session.place(batch)
        assert session.intents().empty
        return
    made = session.place(batch)
    assert len(made.results) == len(resting(venue)) == count
    assert all(result.accepted for result in made.results)
    assert session.buy("BTCUSDC", "0.001", 39_000), "the next ids are others"


class Machine:
    """A program that places, cancels and replaces its own orders, each at a price of its own."""

    def __init__(self, session: toolkit.Session, first: int) -> None:
        self.session, self.price = session, first
        self.receipts: list[toolkit.Receipt] = []
        self.asked: set[int] = set()
        """Prices of the orders that it wanted to cancel."""

    def step(self, rng: random.Random) -> None:
        act = rng.choice(("place", "place", "batch", "cancel", "resolve"))
        with suppress(errors.ToolkitError):
            if act == "resolve":
                self.session.resolve()
            elif act == "cancel" and self.receipts:
                made = rng.choice(self.receipts)
                self.asked |= {int(item["ordPx"]) for item in made.items}
                rng.choice((made.cancel, lambda: self.session.cancel(made)))()
            else:
                self.place(1 if act == "place" else 3)

    def place(self, count: int) -> None:
        batch = [orders.buy("BTCUSDC", "0.001", self.price + at) for at in range(count)]
        self.price += count
        try:
            self.receipts.append(self.session.place(batch))
        except errors.OutcomeUnknown as unknown:
            self.receipts += filter(None, (unknown.receipt,))


def untrue(venue: LocalVenue, machines: list[Machine]) -> list[str]:
    """Return what machines believe that is not so, and orders that ended without their machine's wish."""
    state = venue.host.core.state
    known = {order.client_id: order for order in (*state.history.orders.records, *resting(venue))}
    found = []
    for machine in machines:
        for intent in machine.session._delivery.ledger.all():
            if not intent.client_ids:
                continue
            placed = [known.get(number) for number in intent.client_ids]
            prices = [int(item["ordPx"]) * 10 for item in intent.payload["orders"]]
            right = all(order is not None and order.price == price for order, price in zip(placed, prices, strict=True))
            if intent.state is IntentState.ACCEPTED and not right:
                found.append(f"{intent} is believed, the venue has {placed}")
            if intent.state in (IntentState.REJECTED, IntentState.FAILED) and any(placed):
                found.append(f"{intent} is at the venue: {placed}")
    wanted = {price for machine in machines for price in machine.asked}
    found += [f"{o} was cancelled by another" for o in state.history.orders.records if o.price // 10 not in wanted]
    return found


def tries(venue: LocalVenue, connect: Connect, seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        agents = (None, None) if seed % 2 else (None, SECOND)
        machines = [
            Machine(connect(f"{seed}-{at}", agent, rng), 10_000 + 200 * (2 * seed + at) % 40_000)
            for at, agent in enumerate(agents)
        ]
        with venue.host.sandbox():
            for _ in range(12):
                if rng.random() < 0.5:
                    venue.advance("250ms")
                for machine in machines:
                    machine.step(rng)
            assert untrue(venue, machines) == [], f"seed {seed}"


def test_machines_of_one_account_never_take_anothers_orders_for_theirs(venue: LocalVenue, connect: Connect) -> None:
    tries(venue, connect, range(12))


@pytest.mark.slow
def test_two_hundred_tries_of_two_machines(venue: LocalVenue, connect: Connect) -> None:
    tries(venue, connect, range(200))


def counted(session: toolkit.Session, kind: str) -> int:
    return int((session.info.ledger()["kind"] == kind).sum())


@pytest.mark.parametrize("together", [False, True], ids=["by chance", "the same nonces"])
def test_an_identical_request_of_another_machine_is_never_taken_for_mine(
    venue: LocalVenue, connect: Connect, together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both sign at one instant, as where the venue's clock stands still."""
    if together:
        monkeypatch.setattr("toolkit.client.io.nonce_sources.SPREAD_MS", 0)
    address = "0x" + "77" * 20
    for number, machine in enumerate("abc", 1):
        assert connect(machine).exchange.withdraw(address, "5")
        assert counted(connect("auditor"), "WITHDRAW") == number
    one = connect("d")
    for symbol, price in (("ETHUSDC", "3000"), ("SOLUSDC", "150")):
        venue.control.set_oracle(symbol, price)
        venue.control.add_liquidity(symbol, "SELL", price, "9")
    one.exchange.set_margin_mode("ETHUSDC", "ISOLATED")
    one.buy("ETHUSDC", "1")
    start = margin(one)
    done = 0
    for machine in "efg":
        with suppress(errors.OutcomeUnknown):  # the exchange can't tell whose it was
            done += bool(connect(machine).exchange.assign_pos_margin("ETHUSDC", "5"))
        assert margin(one) == start + 5 * done
    for machine in "hij":
        one.buy("BTCUSDC", "0.01", price="50000")
        connect(machine).exchange.cancel_all("BTCUSDC", False)
        assert one.orders(open=True).empty, machine
    for machine, leverage in zip("klmno", (5, 10, 5, 10, 5), strict=True):
        connect(machine).exchange.set_leverage("SOLUSDC", leverage)
    one.buy("SOLUSDC", "1")
    assert one.positions(index="symbol")["leverage"]["SOLUSDC"] == 5


def margin(session: toolkit.Session) -> float:
    return float(session.info.positions(symbol="ETHUSDC")["assigned_margin"].iloc[0])


@pytest.mark.parametrize("spread", [0, 500])
def test_the_twelfth_machine_of_one_key_leaves_as_the_first_does(
    venue: LocalVenue, connect: Connect, spread: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolkit.client.io.nonce_sources.SPREAD_MS", spread)
    venue.control.add_liquidity("BTCUSDC", "SELL", "60000", "9")
    venue.control.add_liquidity("BTCUSDC", "BUY", "59990", "9")
    one = connect("first")
    for number in range(12):
        venue_of = connect(f"machine {number}")
        one.buy("BTCUSDC", "0.02")
        one.buy("BTCUSDC", "0.01", price="50000")
        if number % 3 == 0:
            assert venue_of.close_position("BTCUSDC")
            venue_of.cancel_all()
        elif number % 3 == 1:
            assert venue_of.sell("BTCUSDC", "0.02", reduce_only=True)
            venue_of.exchange.cancel_all("BTCUSDC")
        else:
            venue_of.stop_all(flatten=True)
            one.limits.resume()
        assert (len(one.orders(open=True)), len(one.positions())) == (0, 0), number


def test_a_nonce_that_was_used_for_the_account_does_not_keep_an_exit_in_its_vault(
    venue: LocalVenue, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolkit.client.io.nonce_sources.SPREAD_MS", 0)
    venue.control.add_liquidity("BTCUSDC", "SELL", "60000", "9")
    venue.control.add_liquidity("BTCUSDC", "BUY", "59990", "9")
    one = connect("a")
    vault = one.exchange.vault_create("mine", amount="5000").data["vault"]
    one.buy("BTCUSDC", "0.01", vault_address=vault)
    one.buy("BTCUSDC", "0.01", price="50000", vault_address=vault)
    venue.advance("1s")
    for machine, price in (("b", 40_000), ("c", 40_001)):
        other = connect(machine)
        other.positions()
        one.positions()
        other.buy("BTCUSDC", "0.01", price=price)
    two = connect("d")
    assert two.close_position("BTCUSDC", vault_address=vault)
    two.exchange.cancel_all("BTCUSDC", vault_address=vault)
    assert one.positions(account=vault).empty
    assert one.orders(open=True, account=vault).empty
