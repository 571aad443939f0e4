"""A session from end to end: on a venue in this process, and on one that is served over loopback."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

import toolkit
from tests.client.fake import AGENT_KEY, MASTER, MASTER_KEY, Executed, FakeVenue, session
from toolkit import errors, orders
from toolkit.client.io.rate_limits import Rate
from toolkit.client.io.transport import NO_RETRY, HttpTransport, Retry
from toolkit.client.orders.intents import IntentState
from toolkit.client.reads.reading import fetch_rows
from toolkit.connecting import development_wallet
from toolkit.protocol.actions import ACTIONS
from toolkit.venue.local import LocalVenue

ROOT = Path(__file__).resolve().parents[3]
HASTY = Retry(attempts=3, base=0.0, longest=0.0)


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(clock="manual", market=False) as made:
        yield made


@pytest.fixture
def alice(venue: LocalVenue) -> Iterator[toolkit.Session]:
    with toolkit.connect(venue=venue) as made:
        yield made


@pytest.fixture
def bob(venue: LocalVenue) -> Iterator[toolkit.Session]:
    with toolkit.connect(venue=venue, account=1) as made:
        yield made


def status(s: toolkit.Session, receipt: toolkit.Receipt) -> str:
    rows = s._driver.run(fetch_rows("order_states", NO_RETRY, userAddr=s.account or "", orderId=str(receipt.order_id)))
    return str(rows[0]["status"])


def test_connect_alone_is_ready_to_trade() -> None:
    with toolkit.connect(clock="manual") as s:
        assert s.venue is not None
        receipt = s.buy("BTCUSDC", "0.01", price="90000")
        assert receipt
        assert size(s) == Decimal("0.01")
        assert s.close_position("BTCUSDC")
        assert size(s) == 0
        with pytest.raises(errors.InputError, match="no position in BTCUSDC"):
            s.close_position("BTCUSDC")


class Flaky(httpx.BaseTransport):
    """Passes requests on, and fails exchange requests as its script says."""

    def __init__(self, inner: httpx.BaseTransport, script: list[str]) -> None:
        self.inner, self.script, self.bodies = inner, script, []  # type: ignore[var-annotated]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method != "POST":
            return self.inner.handle_request(request)
        self.bodies.append(request.read())
        word = self.script.pop(0) if self.script else "ok"
        if word == "lost":
            raise httpx.ReadTimeout("lost", request=request)
        response = self.inner.handle_request(request)
        if word == "twice":
            response = self.inner.handle_request(request)
        if word == "answer lost":
            raise httpx.RemoteProtocolError("cut", request=request)
        return response


def flaky(venue: LocalVenue, script: list[str], **options: Any) -> tuple[toolkit.Session, Flaky]:
    wallet = toolkit.Wallet(agent=development_wallet(0).key("agent").reveal(), account=MASTER)
    transport = Flaky(venue.transport(), script)
    return toolkit.connect(venue=venue, transport=transport, wallet=wallet, retry=HASTY, **options), transport


@pytest.mark.parametrize("script", [["lost"], ["answer lost"], ["twice"], ["lost", "answer lost"], ["answer lost"] * 3])
def test_on_the_real_venue_no_fault_leaves_a_doubt(
    venue: LocalVenue, alice: toolkit.Session, script: list[str]
) -> None:
    s, transport = flaky(venue, list(script))
    try:
        receipt = s.buy("BTCUSDC", "0.001", price="50000")
    except errors.OutcomeUnknown:
        (receipt,) = s.resolve()
    assert receipt.state is IntentState.ACCEPTED
    assert receipt.order_id
    assert len(set(transport.bodies)) == 1
    rows = alice._driver.run(fetch_rows("order_states", NO_RETRY, userAddr=MASTER))
    assert len(rows) == 1


@pytest.mark.parametrize("script", [["answer lost"], ["twice"], ["answer lost"] * 3])
def test_a_refusal_whose_answer_was_lost_is_found_again(
    venue: LocalVenue, alice: toolkit.Session, bob: toolkit.Session, script: list[str]
) -> None:
    bob.sell("BTCUSDC", "0.01", price="60000")
    s, _ = flaky(venue, list(script))
    try:
        with pytest.raises(errors.ActionRejected):
            s.buy("BTCUSDC", "0.001", price="60001", tif="POST_ONLY")
    except errors.OutcomeUnknown:
        (receipt,) = s.resolve()
        assert receipt.state is IntentState.REJECTED
    assert list(s.intents()["state"]) == ["REJECTED"]


def test_a_lost_leverage_change_is_asked_for_by_its_nonce(venue: LocalVenue, alice: toolkit.Session) -> None:
    s, transport = flaky(venue, ["answer lost"] * 3)
    with pytest.raises(errors.OutcomeUnknown):
        s.exchange.set_leverage("BTCUSDC", 7)
    venue.advance(until=venue.host.settled_ms())  # by then it is executed, also at a venue that takes a second for it
    (receipt,) = s.resolve()
    assert receipt.state is IntentState.ACCEPTED
    assert receipt.tx_hash.startswith("0x")
    assert len(transport.bodies) == 3


def test_an_order_that_never_arrived_expires_for_certain(venue: LocalVenue, alice: toolkit.Session) -> None:
    s, _ = flaky(venue, ["lost"] * 3)
    with pytest.raises(errors.OutcomeUnknown):
        s.buy("BTCUSDC", "0.001", price="50000")
    venue.advance("2m")
    (receipt,) = s.resolve()
    assert (receipt.state, receipt.code) == (IntentState.REJECTED, 40208)


def test_a_clock_that_is_off_does_not_matter_and_is_known(venue: LocalVenue, alice: toolkit.Session) -> None:
    for off in (90_000, -90_000):
        s = session_behind(venue, off)
        assert s.buy("BTCUSDC", "0.001", price="50000").status == "NEW"
        assert s.clock.skew_ms == -off


def session_behind(venue: LocalVenue, ms: int) -> toolkit.Session:
    class Behind:
        runs = False

        def now_ms(self) -> int:
            return venue.host.now_ms() - ms

    return toolkit.connect(
        "local", base_url="http://venue", transport=Executed(venue), clock=Behind(), retry=HASTY
    )  # fmt: skip


def test_the_awaited_twin_trades_too(venue: LocalVenue, alice: toolkit.Session) -> None:
    async def run() -> None:
        s = alice.aio
        receipts = await asyncio.gather(*(s.buy("BTCUSDC", "0.001", price=str(50000 + n)) for n in range(5)))
        assert len({receipt.order_id for receipt in receipts}) == 5
        assert await s.product("BTCUSDC") == alice.product("BTCUSDC")
        await s.cancel(receipts)
        with pytest.raises(errors.CheckFailed):
            await s.sell("BTCUSDC", "0.0001", price="50000")

    asyncio.run(run())


def test_over_loopback_a_session_approves_and_trades() -> None:
    with LocalVenue(seed=3) as venue, venue.serve(0) as served:
        with toolkit.connect(served.environment) as s:
            assert s._local is None
            assert repr(s.venue).startswith("<ServedVenue at http://127.0.0.1:")
            assert "at http://127.0.0.1" in repr(s)
            with pytest.raises(errors.SignatureRejected):
                s.buy("BTCUSDC", "0.001", price="50000")
            s.exchange.approve_agent()
            assert s.buy("BTCUSDC", "0.001", price="50000")
            assert size(s) == 0

        async def run() -> toolkit.Receipt:
            async with toolkit.connect("local", base_url=served.base_url).aio as later:
                return await later.buy("BTCUSDC", "0.001", price="50001")

        assert asyncio.run(run())


def test_a_served_venue_is_reached_even_at_the_preset_address() -> None:
    from dataclasses import replace

    assert toolkit.connect(toolkit.LOCAL)._local is not None
    assert toolkit.connect(replace(toolkit.LOCAL, base_url="http://127.0.0.1:8645"))._local is None
    assert toolkit.connect(base_url="http://127.0.0.1:8645")._local is None


def test_the_address_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLKIT_BASE_URL", "http://127.0.0.1:8645")
    s = toolkit.connect()
    assert s._local is None
    assert s.environment.base_url == "http://127.0.0.1:8645"


def test_reprs_say_who_and_where() -> None:
    s = session(FakeVenue())
    assert repr(s) == "<Session testnet at https://api-testnet.afx.xyz, account 0xf39F…2266, signs as agent>"
    assert "read-only" in repr(session(FakeVenue(), wallet=None, account=MASTER))
    assert "real money" in session(FakeVenue(), environment="mainnet")._repr_html_()
    assert "real money" not in s._repr_html_()
    assert repr(s.aio).startswith("<AsyncSession testnet")
    assert f"{len(ACTIONS)} actions" in repr(s.exchange)


def test_wrong_combinations_are_refused(venue: LocalVenue) -> None:
    with pytest.raises(errors.InputError, match="local, not testnet"):
        toolkit.connect("testnet", venue=venue)
    with pytest.raises(errors.InputError, match="no development account 12"):
        toolkit.connect(venue=venue, account=12)
    with pytest.raises(errors.InputError, match="there are none on testnet"):
        toolkit.connect("testnet", account=1)
    with pytest.raises(errors.InputError, match="environment 'moon' is not known"):
        toolkit.connect("moon")


def test_connecting_to_an_exchange_elsewhere_sends_nothing() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise AssertionError("nothing may be sent")

    s = session(refuse, wallet=toolkit.Wallet(agent=AGENT_KEY))
    assert s.account is None
    s.close()


@pytest.mark.parametrize("fault", ["a file in the folder's place", "a nonce file that can't be opened"])
def test_without_a_writable_folder_the_process_counts_nonces_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    if fault.startswith("a file"):
        (tmp_path / "file").write_text("", encoding="utf-8")
    else:
        agent = toolkit.Wallet(agent=AGENT_KEY).agent
        assert agent is not None
        (tmp_path / "file" / "nonces" / f"nonce-{agent.lower()}").mkdir(parents=True)
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path / "file"))
    s = session(FakeVenue())
    with pytest.warns(UserWarning, match="nonces are not shared with other processes"):
        assert s.buy("BTCUSDC", "0.01", price="60000")
    assert s.buy("BTCUSDC", "0.01", price="60000")


def test_asking_at_the_keyboard_takes_only_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    for answer, expected in (("yes", True), ("YES ", True), ("y", False), ("", False)):
        monkeypatch.setattr("builtins.input", lambda prompt, answer=answer: answer)
        assert toolkit.ask("Really?") is expected


@pytest.mark.parametrize(
    ("call", "loaded"), [("s.products", []), ("s.buy('BTCUSDC', '0.01', price='90000')", ["numpy"])]
)
def test_connecting_loads_no_heavy_module_and_an_order_those_that_draw_the_book(call: str, loaded: list[str]) -> None:
    code = (
        f"import sys, toolkit; s = toolkit.connect(clock='manual'); {call};"
        "print([m for m in ('pandas', 'numpy', 'matplotlib', 'ipywidgets', 'eth_account', 'uvicorn', 'starlette')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == str(loaded)


def test_the_public_fixtures_give_a_venue_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["toolkit.testing"]\n', encoding="utf-8")
    (tmp_path / "test_theirs.py").write_text(
        "def test_it(venue, session):\n"
        "    assert session.venue is venue\n"
        "    assert session.buy('BTCUSDC', '0.01')\n"
        "    venue.advance('1m')\n"
        "def test_each_test_has_its_own(session):\n"
        "    assert len(session.intents()) == 1\n",
        encoding="utf-8",
    )
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", str(tmp_path)]
    theirs = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=theirs)
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_an_order_of_a_builder_is_asked_for_among_the_traders_orders(venue: LocalVenue) -> None:
    trader, builder = toolkit.connect(venue=venue, account=2), toolkit.connect(venue=venue, account=3, approve=False)
    builder.exchange.register_builder("Acme")
    agent = toolkit.Wallet.create()
    trader.exchange.approve_agent_to_builder(agent.agent, builder.account, "0.0005")
    transport = Flaky(venue.transport(), ["answer lost"] * 3)
    placing = toolkit.Wallet(agent=agent.key("agent").reveal(), account=builder.account)
    s = toolkit.connect(venue=venue, transport=transport, wallet=placing, retry=HASTY)
    with pytest.raises(errors.OutcomeUnknown):
        s.exchange.place_builder_order(orders.buy("BTCUSDC", "0.001", "50000"), builder.account, "0.0002")
    (receipt,) = s.resolve()
    assert receipt.state is IntentState.ACCEPTED
    assert status(trader, receipt) == "NEW"


def test_what_was_done_for_a_vault_is_asked_for_there(venue: LocalVenue, alice: toolkit.Session) -> None:
    vault = alice.exchange.vault_create("Mine", amount="500").data["vault"]
    s, transport = flaky(venue, ["answer lost"] * 3 + ["ok"] + ["answer lost"] * 3)
    with pytest.raises(errors.OutcomeUnknown):
        s.buy("BTCUSDC", "0.001", price="50000", vault_address=vault)
    venue.advance(until=venue.host.settled_ms())
    (receipt,) = s.resolve()
    assert receipt.state is IntentState.ACCEPTED
    assert receipt.order_id
    sent = len(transport.bodies)
    s.cancel(receipt, vault_address=vault)
    with pytest.raises(errors.OutcomeUnknown):
        s.exchange.set_leverage("BTCUSDC", 7, vault_address=vault)
    venue.advance(until=venue.host.settled_ms())
    (receipt,) = s.resolve(resend=False)
    assert receipt.state is IntentState.ACCEPTED
    assert len(transport.bodies) == sent + 4


def test_an_order_that_shows_up_a_block_later_is_waited_for() -> None:
    with LocalVenue(clock="manual", market=False, settle_delay="1s") as venue:
        first = toolkit.connect(venue=venue)
        venue.advance("3s")
        s, _ = flaky(venue, ["answer lost"])
        s._driver._sleep = lambda seconds: venue.advance(f"{round(seconds * 1000)}ms") and None
        s._delivery.retry = Retry(attempts=4, base=1.0)
        receipt = s.buy("BTCUSDC", "0.001", price="50000")
        assert receipt.state is IntentState.ACCEPTED
        assert receipt.order_id
        assert first.intents("accepted").shape[0] == 1


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"account": True}, "account"),
        ({"account": 1.5}, "account"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": "10"}, "timeout"),
        ({"expiry_ms": -1}, "expiry_ms"),
        ({"expiry_ms": "5"}, "expiry_ms"),
        ({"rates": 5}, "rates"),
    ],
)
def test_what_can_only_fail_later_is_refused_when_connecting(options: dict[str, Any], field: str) -> None:
    with pytest.raises(errors.InputError) as caught:
        toolkit.connect("testnet", **options)
    assert caught.value.field == field


def test_a_wallet_and_the_account_of_another_do_not_fit_together() -> None:
    with pytest.raises(errors.InputError, match="not the master of this wallet"):
        toolkit.connect("testnet", wallet=toolkit.Wallet(master=MASTER_KEY), account="0x" + "1" * 40)
    same = toolkit.connect("testnet", wallet=toolkit.Wallet(master=MASTER_KEY), account=MASTER.lower())
    assert str(same.account).lower() == MASTER.lower()


def test_a_read_only_session_on_mainnet_names_the_missing_key_before_it_asks_to_confirm() -> None:
    with pytest.raises(toolkit.ToolkitError, match="signed by the agent key"):
        session(FakeVenue(), environment="mainnet", wallet=toolkit.Wallet(account=MASTER)).exchange.cancel_all(1)


@pytest.mark.parametrize(
    ("interval", "said"), [(0, "whole minutes, from 1m to 1w"), (-60, "not a span of time"), ("0s", "whole minutes")]
)
def test_an_interval_without_length_is_refused(interval: Any, said: str) -> None:
    with pytest.raises(errors.InputError, match=said):
        session(FakeVenue()).klines("BTCUSDC", interval)


def test_a_rate_must_let_something_through() -> None:
    for per_second, burst in ((0, 1), (-1, 5), (1, 0)):
        with pytest.raises(errors.InputError, match="per_second above 0"):
            Rate(per_second, burst)


def test_proxies_of_the_environment_are_not_used_to_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with LocalVenue(clock="manual", market=False, accounts=1) as venue, venue.serve() as served:
        s = toolkit.connect(base_url=served.base_url, ws_url=served.ws_url, retry=Retry(attempts=1))

        async def listed() -> bool:
            async with s.aio:
                return "BTCUSDC" in (await s.aio.products()).index

        assert "BTCUSDC" in s.products().index
        assert asyncio.run(listed())
    elsewhere = {"base_url": "http://192.0.2.1", "ws_url": "ws://192.0.2.1"}
    there = toolkit.connect("testnet", **elsewhere, retry=Retry(attempts=1), timeout=2)
    with pytest.raises(errors.NotSent):  # elsewhere they are
        there.products()


def test_a_closed_session_refuses_to_trade() -> None:
    fake = FakeVenue(["lost", "lost"])
    made = session(fake, attempts=1)
    prepared = made.intents.prepare(orders.buy("BTCUSDC", "0.01", price="60000"))
    with pytest.raises(errors.OutcomeUnknown):
        made.buy("BTCUSDC", "0.01", price="60000")
    made.close()
    sent = len(fake.bodies)
    for call in (
        lambda: made.buy("BTCUSDC", "0.01", price="60000"),
        lambda: made.intents.send(prepared),
        lambda: made.cancel(5, symbol="BTCUSDC"),
        lambda: made.cancel_all("BTCUSDC"),
        lambda: made.exchange.set_leverage("BTCUSDC", 5),
        made.resolve,
        lambda: asyncio.run(made.aio.buy("BTCUSDC", "0.01", price="60000")),
    ):
        with pytest.raises(errors.SessionClosed, match="is closed"):
            call()
    assert len(fake.bodies) == sent


def test_an_order_on_its_way_gets_its_outcome_while_another_thread_closes_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_its_way, closed, send = threading.Event(), threading.Event(), HttpTransport.send

    def held(self: HttpTransport, fetch: Any) -> Any:
        if b"placeOrder" in (fetch.body or b""):
            on_its_way.set()
            assert closed.wait(10)
        return send(self, fetch)

    monkeypatch.setattr(HttpTransport, "send", held)
    ledger = tmp_path / "orders.db"
    with LocalVenue(clock="manual", market=False) as venue, ThreadPoolExecutor(1) as pool:
        made = toolkit.connect(venue=venue, intents=ledger)
        order = pool.submit(made.buy, "BTCUSDC", "0.01", "60000")
        assert on_its_way.wait(10)
        made.close()
        closed.set()
        assert order.result(10).state == "ACCEPTED"
        with pytest.raises(
            errors.ToolkitError, match=r"orders\.db can't be used: Cannot operate on a closed database\. Requ"
        ):
            made.intents()
        with toolkit.connect(venue=venue, intents=ledger, approve=False) as later:
            assert later.intents()["state"].tolist() == ["ACCEPTED", "ACCEPTED"]


def test_a_program_that_is_run_twice_records_its_orders_in_the_same_file(tmp_path: Path) -> None:
    """The second venue begins at the same time, with the same nonces."""
    for runs in (1, 2):
        with toolkit.connect(clock="manual", intents=tmp_path / "orders.db") as session:
            session.buy("BTCUSDC", "0.01")
            assert session.resolve() == []
            assert session.intents()["action"].tolist() == ["approveAgent", "placeOrder"] * runs
            assert session.intents()["environment"].nunique() == runs


def test_a_venue_that_continues_its_journal_is_the_same_venue_in_the_ledger(tmp_path: Path) -> None:
    labels = set()
    for _ in range(2):
        with (
            LocalVenue(clock="manual", journal=tmp_path / "venue.journal") as venue,
            toolkit.connect(venue=venue, intents=tmp_path / "orders.db") as session,
        ):
            venue.advance("1s")
            labels.add(session.environment.label)
    assert len(labels) == 1
