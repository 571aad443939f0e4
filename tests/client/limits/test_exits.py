"""Leaving works while one part is broken: each exit beside each broken part leaves nothing, or the venue refused it."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

import toolkit
from tests.client.fake import AGENT_KEY, MASTER, FakeVenue
from tests.support.broken import CHANGES, Broken, FailingLedger, Moment
from toolkit import Limits
from toolkit.client.limits import stopping
from toolkit.errors import DataWarning, OutcomeUnknown, ToolkitError
from toolkit.research import live
from toolkit.session import Session
from toolkit.venue.local import LocalVenue
from toolkit.venue.model.genesis import Genesis
from toolkit.venue.trouble import CachedAnswer

BTC, ETH = "BTCUSDC", "ETHUSDC"
SL = "SL_FROM_POSITION"
Left = tuple[int, float]
"""Open orders of BTC, and the size of its position."""


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    """Account 0 is long 0.05 BTC, short 0.5 ETH and has a bid. Account 1 takes the other side."""
    with LocalVenue(clock="manual", market=False, accounts=2) as made:
        for name, bid, ask in ((BTC, "62400", "62600"), (ETH, "2440", "2460")):
            made.control.add_liquidity(name, "SELL", ask, "5")
            made.control.add_liquidity(name, "BUY", bid, "5")
        yield made


class Leaver:
    """A user who leaves: `symbol` is how the user names BTC, `order` a resting order, and `breaks` breaks the part."""

    def __init__(self, s: Session, symbol: str | int, order: Any, breaks: Callable[[], None]) -> None:
        self.s, self.symbol, self.order, self.breaks = s, symbol, order, breaks
        self.said = ""

    def call(self, call: Callable[[Session], object]) -> None:
        """Break the part, and then leave."""
        self.breaks()
        self.said = str(call(self.s))

    def run(self, interrupt: bool) -> None:
        """Let a run of a strategy end after the part was broken."""

        def on_timer(ctx: Any) -> None:
            self.breaks()
            if interrupt:
                raise KeyboardInterrupt
            ctx.end("STOP", "enough")

        run = live({"on_timer": on_timer}, self.s, [BTC], limits=Limits(), duration="30s", close_at_end=True)
        self.said = run.events.to_string()  # type: ignore[union-attr]


EXITS: dict[str, tuple[Callable[[Leaver], object], Left]] = {
    "close_position": (lambda u: u.call(lambda s: s.close_position(u.symbol)), (2, 0.0)),
    "reduce-only order": (lambda u: u.call(lambda s: s.sell(u.symbol, "0.05", reduce_only=True)), (2, 0.0)),
    "stop": (lambda u: u.call(lambda s: s.sell(u.symbol, "0", trigger_price="50000", reduce_only=SL)), (3, 0.05)),
    "cancel": (lambda u: u.call(lambda s: s.cancel(u.order)), (1, 0.05)),
    "cancel by id": (lambda u: u.call(lambda s: s.cancel(u.order.order_id)), (1, 0.05)),
    "cancel_all": (lambda u: u.call(lambda s: s.cancel_all()), (0, 0.05)),
    "cancel_all of a product": (lambda u: u.call(lambda s: s.cancel_all(u.symbol)), (0, 0.05)),
    "stop_all": (lambda u: u.call(lambda s: s.stop_all(flatten=True).to_string()), (0, 0.0)),
    "kill switch": (lambda u: u.call(lambda s: s.limits.stop("enough").to_string()), (0, 0.05)),
    "end of a run": (lambda u: u.run(False), (0, 0.0)),
    "Ctrl-C": (lambda u: u.run(True), (0, 0.0)),
}
"""What a user calls, and what may be left of two orders and 0.05 BTC."""
PARTS = (
    "", "products down", "products empty", "odd status", "delisted", "symbol gone", "slow products", "swapped",
    "doubled", "old row last", "other numbers", "lists down", "ticker", "feed", "orders query",
    "positions query", "positions empty", "positions null",
    "ledger full", "ledger read-only", "agent replaced", "rate limited", "venue slow",
)  # fmt: skip
DOUBTFUL = {"swapped"}
"""Parts beside which a name may mean another product. There the user gives the code."""
REFUSED = {"agent replaced"}
"""Parts beside which the venue itself refuses. The error, or the report, says so."""


def break_part(part: str, venue: LocalVenue, broken: Broken, ledger: FailingLedger) -> None:
    """Break one part."""
    broken.part = part
    if part == "venue slow":
        broken.latency_ms = 1_500
    if part.startswith("ledger"):
        ledger.why = {"ledger full": "database or disk is full", "ledger read-only": "it is read-only"}[part]
    if part == "feed":
        venue.control.add_fault("feed-freeze", count=None)
    if part == "agent replaced":
        with toolkit.connect(venue=venue, approve=False) as master:
            master.permissions.revoke(master.wallet.agent)  # type: ignore[union-attr]


def left(venue: LocalVenue, owner: str) -> Left:
    """Return what is left, as the venue's own state has it."""
    account = venue.host.core.state.accounts[owner.lower()]
    held = account.positions.get(1)
    return sum(order.product == 1 for order in account.orders.values()), 0 if held is None else held.long.size / 1000


def leave(exit: str, part: str, venue: LocalVenue) -> tuple[Left, str]:
    """Return what one exit leaves beside one broken part, and what it said."""
    broken, ledger, said = Broken(venue), FailingLedger(), ""
    with toolkit.connect(venue=venue, transport=broken, clock=Moment(venue), intents=ledger) as s:
        s.buy(BTC, "0.05")
        s.sell(ETH, "0.5")
        order = s.buy(BTC, "0.01", price="60000")
        s.buy(BTC, "0.01", price="59000")
        venue.advance("2m")  # the list of products is old
        code = 1 if part in DOUBTFUL else BTC
        user = Leaver(s, code, order, lambda: break_part(part, venue, broken, ledger))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                EXITS[exit][0](user)
            except ToolkitError as error:
                said = f"{type(error).__name__}: {error}. "
        said += "; ".join(str(one.message) for one in caught if issubclass(one.category, DataWarning))
        broken.part, ledger.why = "", ""
        return left(venue, str(s.account)), f"{said} {user.said}"


CELLS = [(exit, part) for part in PARTS for exit in EXITS]
QUICK = {(exit, PARTS[(at + 1) % len(PARTS)]) for at, exit in enumerate(EXITS)} | {("stop_all", part) for part in PARTS}


@pytest.mark.parametrize(
    ("exit", "part"),
    [pytest.param(*cell, marks=() if cell in QUICK else pytest.mark.slow) for cell in CELLS],
)
def test_an_exit_leaves_nothing_beside_a_broken_part(exit: str, part: str, venue: LocalVenue) -> None:
    found, said = leave(exit, part, venue)
    if part in REFUSED:
        assert "and was revoked at" in said
    else:
        assert found == EXITS[exit][1], said


@pytest.mark.parametrize(("call", "seconds"), [("cancel_all", 12), ("stop_all", 15)])
def test_what_can_not_be_read_is_left_in_bounded_time_and_counted(venue: LocalVenue, call: str, seconds: int) -> None:
    broken = Broken(venue)
    with toolkit.connect(venue=venue, transport=broken, clock=Moment(venue)) as s:
        s.buy(BTC, "0.01", price="60000")
        s.buy(ETH, "0.1", price="2000")
        broken.part, began_ms = "orders query", venue.host.now_ms()
        if call == "stop_all":
            assert s.stop_all()["outcome"].tolist() == ["UNKNOWN", "CANCELED", "CANCELED"]
        else:
            with pytest.raises(OutcomeUnknown, match="2 orders were cancelled, and others may be open"):
                s.cancel_all()
        assert venue.host.now_ms() - began_ms < seconds * 1000
        assert left(venue, str(s.account)) == (0, 0)


def test_a_list_that_still_shows_what_was_closed_is_called_old(venue: LocalVenue) -> None:
    with toolkit.connect(venue=venue) as s:
        s.buy(BTC, "0.05")
        s.positions()
        venue.control.set_trouble([CachedAnswer(path="/info/position/*", age="30s")])
        s.positions()
        report = s.stop_all(flatten=True)
        assert report[["quantity", "outcome"]].to_numpy().tolist() == [[0.05, "CLOSED"], [0.05, "UNKNOWN"]]
        assert "filled 0.05, so the list of positions is old" in report["message"].iloc[1]


def test_what_an_earlier_call_cancelled_is_in_no_report(venue: LocalVenue) -> None:
    with toolkit.connect(venue=venue) as s:
        for ends in (s.stop_all, s.cancel_all, lambda: s.cancel(s.orders(open=True))):
            s.buy(BTC, "0.01", price="50000")
            ends()  # in the same millisecond
        last = s.buy(BTC, "0.01", price="50000")
        assert s.stop_all()["id"].tolist() == [str(last.order_id)]


BOTS = [(15, 80), (1, 20), (50, 20), (50, 500), (5, 200)]
"""Orders per second of another program, and latency in ms."""


@pytest.mark.parametrize(
    ("rate", "latency_ms"), [pytest.param(*bot, marks=() if bot == BOTS[0] else pytest.mark.slow) for bot in BOTS]
)
@pytest.mark.parametrize("call", ["stop_all", pytest.param("cancel_all", marks=pytest.mark.slow)])
def test_an_active_program_does_not_keep_orders_open(venue: LocalVenue, call: str, rate: int, latency_ms: int) -> None:
    broken = Broken(venue)
    with (
        toolkit.connect(venue=venue, transport=broken, clock=Moment(venue)) as s,
        toolkit.connect(venue=venue, clock=Moment(venue)) as bot,
    ):
        for at in range(60):
            s.place([toolkit.orders.buy(BTC, "0.001", price=str(50_000 - 10 * at - step)) for step in range(10)])
        old = set(s.orders(open=True)["order_id"])
        quote, acted_ms = bot.buy(ETH, "0.1", price="2000"), venue.host.now_ms()

        def requote() -> None:
            nonlocal quote, acted_ms
            while acted_ms < venue.host.now_ms():
                acted_ms += 1000 // rate
                with suppress(ToolkitError):  # stop_all may have cancelled it
                    bot.cancel(quote)
                quote = bot.buy(ETH, "0.1", price="2000")

        broken.latency_ms, broken.between = latency_ms, requote
        began_ms, before = venue.host.now_ms(), len(broken.seen)
        with warnings.catch_warnings(), suppress(ToolkitError):
            warnings.simplefilter("ignore", DataWarning)
            getattr(s, call)()
        seconds, sent = (venue.host.now_ms() - began_ms) / 1000, broken.seen[before:]
        broken.latency_ms, broken.between = 0, lambda: None
        left = set(s.orders(open=True)["order_id"])
        print(f"{call} beside {rate} orders per second, {latency_ms} ms: {seconds} s, {len(sent)} requests")
        assert not old & left
        assert len(left) <= 1, "the last quote of the other program"
        assert seconds < 70
        assert call != "stop_all" or sent[0] == "cancelAll", "nothing is read before the first cancel"


def test_callbacks_that_hang_are_waited_for_together_and_after_the_cancels(
    venue: LocalVenue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopping, "WAIT_SECONDS", 0.3)
    begun, release, tried = [threading.Event() for _ in range(3)], threading.Event(), list[str]()

    def hanging(begins: threading.Event) -> Callable[[Any], None]:
        def on_start(ctx: Any) -> None:
            ctx.buy(BTC, "0.01", "60000")
            begins.set()
            release.wait(30)
            tried.append(ctx.buy(BTC, "0.02", "60000").reason)

        return on_start

    with toolkit.connect(venue=venue) as s:
        runs: list[Any] = [
            live({"on_start": hanging(one)}, s, [BTC], limits=Limits(), background=True) for one in begun
        ]
        assert all(one.wait(30) for one in begun)
        began = monotonic()
        report = s.stop_all()
        assert monotonic() - began < 5
        assert report["kind"].tolist() == ["run"] * 3 + ["order"] * 3
        assert report["outcome"].tolist() == ["UNKNOWN"] * 3 + ["CANCELED"] * 3
        assert left(venue, str(s.account)) == (0, 0)
        release.set()
        for run in runs:
            run.kill()
        assert tried == ["the run was told to end. Nothing is sent"] * 3
        assert left(venue, str(s.account)) == (0, 0)


@pytest.mark.filterwarnings("ignore:.*without the ledger", "ignore:the kill switch is on in this session only")
def test_without_its_ledger_a_session_leaves_and_opens_nothing(venue: LocalVenue, tmp_path: Path) -> None:
    path = tmp_path / "intents.sqlite"
    with toolkit.connect(venue=venue, intents=path) as s:
        s.buy(BTC, "0.05")
        s.buy(BTC, "0.01", price="60000")
        path.unlink()
        with pytest.raises(ToolkitError, match="was deleted or replaced"):
            s.buy(BTC, "0.01")
        s.stop_all(flatten=True)
        assert left(venue, str(s.account)) == (0, 0)


def test_where_no_ledger_can_be_made_a_cancel_goes_out_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path / "file"))
    fake = FakeVenue()
    wallet = toolkit.Wallet(agent=AGENT_KEY, account=MASTER)
    with toolkit.connect("testnet", wallet=wallet, transport=fake.transport(), settle_timeout=0.01) as s:
        with pytest.warns(UserWarning, match="nonces are not shared"), pytest.raises(ToolkitError, match="can't hold"):
            s.buy(BTC, "0.01", price="50000")
        with pytest.warns(DataWarning, match="cancelAll only cancels or reduces, so it is sent without the ledger"):
            s.exchange.cancel_all(symbol=1)
    assert len(fake.bodies) == 1


@contextmanager
def stranger(broken: Broken, state: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """Yield a session of account 0 on another machine, which knows neither products nor requests."""
    monkeypatch.setenv("TOOLKIT_STATE", str(state))
    where: dict[str, Any] = {"base_url": "http://127.0.0.1:9", "account": 0, "clock": Moment(broken.venue)}
    with warnings.catch_warnings(), toolkit.connect("local", transport=broken, **where) as made:
        warnings.simplefilter("ignore", DataWarning)
        yield made


@pytest.mark.parametrize("mode", ["ONE_WAY", "HEDGE"])
@pytest.mark.parametrize("part", ["lists down", "other numbers"])
@pytest.mark.parametrize("exit", ["close_position", "stop_all"])
def test_a_machine_that_knows_nothing_leaves_by_code(
    venue: LocalVenue, exit: str, part: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Broken(venue)
    with toolkit.connect(venue=venue) as s:
        venue.control.set_position_mode(str(s.account), mode)
        s.buy(BTC, "0.055")
        broken.part = part
        with stranger(broken, tmp_path, monkeypatch) as other:
            if exit == "close_position":
                other.close_position(1)
            else:
                report = other.stop_all(flatten=True)
                closed = report[(report["kind"] == "position") & (report["outcome"] == "CLOSED")]
                assert closed["quantity"].sum() == pytest.approx(0.055), report.to_string()
        assert left(venue, str(s.account)) == (0, 0)


@pytest.mark.parametrize("listed", ["0.02", "1000", "0.0001"])
@pytest.mark.parametrize("exit", ["close_position", "stop_all"])
def test_a_position_above_the_largest_order_is_closed_whatever_the_list_says_of_that(
    exit: str, listed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *others = Genesis().products
    rows = [{**first, "maxOrderQty": "0.02"}, *others]
    monkeypatch.setitem(CHANGES, "another limit", lambda rows: [{**row, "maxOrderQty": listed} for row in rows])
    with LocalVenue(clock="manual", market=False, config=Genesis(products=rows)) as venue:
        venue.control.add_liquidity(BTC, "SELL", "62600", "5")
        venue.control.add_liquidity(BTC, "BUY", "62400", "5")
        broken = Broken(venue)
        with toolkit.connect(venue=venue) as s, toolkit.connect(venue=venue, transport=broken) as other:
            for _ in range(3):
                s.buy(BTC, "0.02")
            broken.part = "another limit"
            if exit == "stop_all":
                report = other.stop_all(flatten=True)
                assert report[["quantity", "outcome"]].to_numpy().tolist() == [[0.06, "CLOSED"]], report.to_string()
            else:
                assert other.close_position(BTC)
            assert left(venue, str(s.account)) == (0, 0)


@pytest.mark.parametrize("vault", [False, True])
def test_a_vault_is_left_as_the_account_is(venue: LocalVenue, vault: bool) -> None:
    broken = Broken(venue)
    with toolkit.connect(venue=venue, transport=broken) as s:
        owner: dict[str, Any] = {}
        if vault:
            owner = {"vault_address": str(s.exchange.vault_create("Exits", "5000").data["vault"])}  # type: ignore[index]
        s.buy(BTC, "0.01", **owner)
        s.buy(BTC, "0.01", price="60000", **owner)
        broken.part = "products down"
        report = s.stop_all(flatten=True, **owner)
        assert report["outcome"].tolist() == ["CANCELED", "CLOSED"]
        assert left(venue, owner.get("vault_address") or str(s.account)) == (0, 0)
