"""What a run reads of a venue's answers and writes down: rows as records, its journal's lines, its client ids."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import toolkit
from toolkit import orders
from toolkit.client.io.nonce_sources import data_directory
from toolkit.errors import InputError, LimitReached
from toolkit.limits import Limits
from toolkit.orders import Bracket
from toolkit.research import paper
from toolkit.research.account_data import FundingRates, OrderHandle
from toolkit.research.context import Kept
from toolkit.research.live_trading.limits import check_run
from toolkit.research.live_trading.run_journal import Line, OwnFill, RunJournal, RunName
from toolkit.research.live_trading.run_results import order_table
from toolkit.research.live_trading.run_state import RunState
from toolkit.research.live_trading.runner import Runner
from toolkit.venue.local import LocalVenue

BTC, ETH = "BTCUSDC", "ETHUSDC"
NAN = float("nan")
FIRST = pd.Timestamp("2026-01-01T00:05:00Z")
FIRST_MS, MINUTE_MS, DAY_MS = FIRST.value // 1_000_000, 60_000, 86_400_000


@pytest.fixture
def session() -> Iterator[Any]:
    with LocalVenue(clock="manual", market=None, balance="1000", start=FIRST.isoformat()) as venue:
        venue.control.set_oracle(BTC, "60000")
        venue.control.add_liquidity(BTC, "SELL", "60010", "5")
        venue.control.add_liquidity(BTC, "BUY", "59990", "5")
        with toolkit.connect(venue=venue) as made:
            yield made


def state_of(session: Any, **options: Any) -> RunState:
    return RunState(session, [BTC, ETH], MINUTE_MS, **{"mode": "live", "dry_run": False, **options})


def test_a_row_of_a_time_or_day_is_read_at_its_bounds(session: Any) -> None:
    state = state_of(session)
    now = [FIRST_MS]
    state.now = lambda: now[0]  # type: ignore[method-assign]
    assert state.day_begun == (-1, 0.0)
    state.equity = 100.0
    assert (state.earned, state.equity_of_day(), state.day_begun) == (100.0, 100.0, (FIRST_MS // DAY_MS, 100.0))
    state.equity, state.deposited = 120.0, 5.0
    now[0] = FIRST_MS // DAY_MS * DAY_MS + DAY_MS - 1
    assert state.equity_of_day() == 100.0
    now[0] += 1  # a day begins with what was known last
    state.equity = 90.0
    assert (state.equity_of_day(), state.day_begun[1]) == (115.0, 115.0)
    state.equity = NAN
    assert state.equity_of_day() == 115.0


def test_a_transport_error_that_repeats_is_noted_once_until_something_else_happens(session: Any) -> None:
    state = state_of(session)
    for kind, text in (
        ("TRANSPORT", "gone"), ("TRANSPORT", "gone"), ("TRANSPORT", "slow"), ("TRANSPORT", "gone"), ("PAUSE", "gone"),
        ("PAUSE", "gone"), ("TRANSPORT", "gone"),
    ):  # fmt: skip
        state.note(kind, BTC, text)
    state.mark_answered()
    state.note("TRANSPORT", BTC, "gone")
    assert state.notes == [
        (FIRST_MS, kind, BTC, text)
        for kind, text in (
            ("TRANSPORT", "gone"), ("TRANSPORT", "slow"), ("TRANSPORT", "gone"), ("PAUSE", "gone"), ("PAUSE", "gone"),
            ("TRANSPORT", "gone"), ("TRANSPORT", "gone"),
        )
    ]  # fmt: skip
    assert state.answered_ms == FIRST_MS


# the journal


def test_a_name_has_client_ids_and_files_of_its_own(session: Any) -> None:
    name = RunName(session, "one")
    words = f"{session.environment.label} {session.account.lower()} one"
    assert name.identity == words
    run = int(hashlib.sha256(words.encode()).hexdigest()[:8], 16) >> 10
    assert name.first_id == 2**52 + run * 2**30
    first = name.first_id
    owned = {first: True, first + 2**30 - 1: True, first - 1: False, first + 2**30: False, 0: False, 1: False}
    assert {number: name.owns(number) for number in owned} == owned
    assert [name.owns(none) for none in (None, NAN, float(first))] == [False, False, True]
    folder = name.journal.parent
    assert [path.name for path in (name.journal, name.lock, name.lease)] == ["one.jsonl", "one.lock", "one.lease"]
    assert folder.name == f"{session.environment.label}-{session.account.lower()}".replace(" ", "-")
    other = RunName(session, "two")
    assert (other.journal.parent, other.first_id >> 30 == first >> 30) == (folder, False)


def test_the_files_of_a_venue_in_this_process_go_with_it_and_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path))
    with LocalVenue(clock="manual", market=None) as venue, toolkit.connect(venue=venue) as session:
        RunJournal(session, "one").close()
        folder = RunName(session, "one").journal.parent.parent
        with LocalVenue(clock="manual", market=None) as second, toolkit.connect(venue=second) as elsewhere:
            assert RunName(elsewhere, "one").journal.parent.parent != folder
    assert folder.is_dir()
    del venue, session
    gc.collect()
    assert not folder.exists()
    with (
        LocalVenue(clock="manual", market=None) as venue,
        venue.serve() as served,
        toolkit.connect(base_url=served.base_url, account=1) as session,
    ):
        path = RunName(session, "one").journal
    assert path.is_relative_to(data_directory() / "runs")


@pytest.mark.parametrize("name", ["", "-a", ".a", "a b", "x" * 41, "a/b", "a\n"])
def test_another_name_is_refused(session: Any, name: str) -> None:
    with pytest.raises(InputError, match=r"is not a name\. Use up to 40 letters") as raised:
        RunName(session, name)
    assert (raised.value.field, raised.value.value) == ("run", name)


def test_orders_have_the_runs_mark_and_are_written_before_they_are_sent(session: Any) -> None:
    journal = RunJournal(session, "one")
    plain = orders.buy(BTC, "0.01", "50000")
    bracket = orders.bracket(plain, take_profit="70000", stop_loss="40000")
    numbers = [
        [leg.cl_ord_id for leg in journal.record(order, now).legs]
        for order, now in ((plain, FIRST_MS), (bracket, FIRST_MS + 999), (plain, FIRST_MS + 60_000))
    ]
    flat = [number for legs in numbers for number in legs]
    assert len(set(flat)) == 5
    assert all(map(journal.owns, flat))
    assert all(map(journal.run.owns, flat))
    assert not any(map(RunName(session, "two").owns, flat))
    with pytest.raises(toolkit.errors.ToolkitError, match="is running already"):
        RunJournal(session, "one")
    journal.close()
    again = RunJournal(session, "one")
    assert again.sent_ms == [FIRST_MS, FIRST_MS + 999, FIRST_MS + 60_000]
    assert list(again.handles) == [legs[0] for legs in numbers]
    assert {handle.state for handle in again.handles.values()} == {"UNKNOWN"}
    legs = again.handles[numbers[1][0]].request
    assert isinstance(legs, Bracket)
    assert [(leg.reduce_only, leg.trigger_price) for leg in legs.legs[1:]] == [
        ("TP_FROM_POSITION", "70000"), ("SL_FROM_POSITION", "40000"),
    ]  # fmt: skip
    assert all(map(again.owns, flat))
    assert again.is_of_another_copy(again.run.first_id if again.run.first_id not in flat else again.run.first_id + 1)
    again.close()


def test_a_journal_says_what_has_ended_what_was_taken_and_what_is_kept(session: Any) -> None:
    journal = RunJournal(session, "one")
    assert (journal.begun, journal.handles, journal.fills, journal.kept) == (None, {}, {}, Kept())
    order, lost = (journal.record(orders.buy(BTC, "0.01", "50000"), FIRST_MS).entry for _ in range(2))
    kept = Kept(timer_ms=500)
    fills = [OwnFill(name, FIRST_MS, BTC, "BUY", 10) for name in "abc"]
    journal.append(1, params={"size": "1"}, equity=5.0, trials=2)
    journal.append(2, params={"size": "2"}, equity=6.0)
    journal.append(3, ended={order.cl_ord_id: 0.01, lost.cl_ord_id: 0.0})
    journal.append(4, fill=fills[0])
    journal.append(5, taken="a")
    journal.append(6, fill=fills[1])
    journal.keep(7, kept)
    size = journal.run.journal.stat().st_size
    journal.keep(8, kept)  # it has not changed
    assert journal.run.journal.stat().st_size == size
    journal.append(9, taken="b")
    journal.append(10, fill=fills[2])
    journal.run.lease.unlink()
    journal.close()
    again = RunJournal(session, "one")
    assert again.run.lease.exists()
    assert again.begun == Line(1, params={"size": "1"}, equity=5.0, trials=2)
    ended = {number: (handle.state, handle.filled) for number, handle in again.handles.items()}
    assert ended == {order.cl_ord_id: ("FILLED", 0.01), lost.cl_ord_id: ("CANCELED", 0.0)}
    assert again.fills == {"a": fills[0], "b": fills[1]}  # the strategy did nothing after it got the third
    assert again.kept == kept
    again.record(orders.buy(BTC, "0.01", "50000"), FIRST_MS)
    again.close()
    last = RunJournal(session, "one")
    assert set(last.fills) == {"a", "b", "c"}  # it has acted after the third
    last.close()


@pytest.mark.parametrize("exits", [True, False])
def test_a_run_cancels_its_own_orders_of_one_symbol_or_of_all(session: Any, exits: bool) -> None:
    session.venue.control.set_oracle(ETH, "3000")
    journal = RunJournal(session, "one")
    session.buy(BTC, "0.01")
    mine = [
        orders.buy(BTC, "0.01", "50000"), orders.buy(BTC, "0.01", "51000"),
        orders.sell(BTC, "0.01", "70000", reduce_only=True), orders.buy(ETH, "0.01", "2000"),
    ]  # fmt: skip
    for order in mine:
        session.place(journal.record(order, FIRST_MS))
    by_hand = session.buy(BTC, "0.01", "40000")
    assert journal.run.cancel(BTC, exits=exits) == (3 if exits else 2)
    assert journal.run.cancel(exits=exits) == 1
    assert journal.run.cancel() == (0 if exits else 1)
    assert session.orders(open=True)["order_id"].tolist() == [by_hand.order_id]
    journal.close()


# what the context answers


def context_of(session: Any, **options: Any) -> Any:
    runner = Runner(session, lambda ctx, bar: None, [BTC, ETH], "1m", Limits(), **options)
    runner.state.begin()
    runner.state.trading = True
    return runner.ctx


@pytest.mark.parametrize(("side", "far", "nearer"), [("buy", "50000", "51000"), ("sell", "70000", "69000")])
def test_an_order_is_changed_and_cancelled_by_its_handle(session: Any, side: str, far: str, nearer: str) -> None:
    ctx = context_of(session)
    placed = getattr(ctx, side)(BTC, "0.01", far)
    assert placed.state == "NEW"
    ctx.modify(placed, price=nearer)
    assert placed.order.price == nearer
    assert session.orders(open=True)["price"].tolist() == [float(nearer)]
    ctx.modify(placed, quantity="0.0000001")
    assert placed.order.quantity == "0.01"
    ctx.cancel(placed)
    assert (placed.state, placed.done, len(session.orders(open=True))) == ("CANCELED", True, 0)
    ctx.cancel(placed)  # it has ended


@pytest.mark.parametrize(("silent_ms", "stops"), [(60_000, False), (60_001, True)])
def test_data_that_is_too_old_stops_the_run(silent_ms: int, stops: bool) -> None:
    run: Any = SimpleNamespace(
        first_equity=NAN, earned=NAN, equity_of_day=lambda: NAN, now=lambda: FIRST_MS + silent_ms, answered_ms=FIRST_MS,
        witnesses=SimpleNamespace(doubts_money=lambda now: False),
    )  # fmt: skip
    check_run(Limits(max_stale=None), run)
    if not stops:
        check_run(Limits(max_stale=60), run)
        return
    with pytest.raises(LimitReached, match="no answer for 60 s, above the limit of 60 s") as raised:
        check_run(Limits(max_stale=60), run)
    assert raised.value.limit == "max_stale"


# how a run is begun


def test_paper_runs_an_hour_on_a_venue_of_its_own_by_default() -> None:
    closed: list[int] = []
    run = paper(lambda ctx, bar: closed.append(bar.closed), market=None)
    assert run.equity.index[-1] - run.equity.index[0] == pd.Timedelta("1h")
    assert run.settings["mode"] == "paper"
    assert run.settings["interval"] == "1m"


def test_the_state_begins_with_the_position_and_nothing_of_what_was_before(session: Any) -> None:
    session.buy(BTC, "0.01")
    resting = session.buy(BTC, "0.01", "50000")
    state = state_of(session)
    state.begin()
    assert (state.started_ms, state.answered_ms) == (FIRST_MS, FIRST_MS)
    assert (state.books[BTC].longs, state.books[BTC].shorts, state.books[BTC].hedge) == (10, 0, False)
    assert (state.books[ETH].longs, state.books[ETH].shorts) == (0, 0)
    wallet = session.wallet_balances().iloc[0]
    assert (state.equity, state.first_equity, state.balance) == (wallet["equity"], wallet["equity"], wallet["balance"])
    assert {name: len(ids) for name, ids in state.earlier.items()} == {
        "fills": 1, "funding_payments": 0, "orders": 1, "ledger": len(session.info.ledger(start=FIRST)),
    }  # fmt: skip
    session.cancel(resting.order_id, symbol=BTC)
    state.read_orders()
    assert (len(state.new_fills), state.fees, state.books[BTC].net) == (0, 0.0, 10)


@pytest.mark.parametrize(("side", "sign"), [("BUY", 1), ("SELL", -1)])
def test_market_orders_without_an_end_are_underway(session: Any, side: str, sign: int) -> None:
    ctx = context_of(session)
    assert ctx.underway(BTC) == 0.0
    made = [
        (orders.order(BTC, side, "0.03"), "SENT", 0.01), (orders.order(BTC, side, "0.5"), "FILLED", 0.5),
        (orders.order(BTC, side, "0.7", "60000"), "NEW", 0.0), (orders.order(ETH, side, "0.9"), "UNKNOWN", 0.0),
        (orders.stop(BTC, side, "60000", "0.1"), "NEW", 0.0),
    ]  # fmt: skip
    for order, state, filled in made:
        handle = OrderHandle(order)
        handle.state, handle.filled = state, filled
        ctx._state.placed.append(handle)
    assert ctx.underway(BTC) == pytest.approx(sign * 0.02)
    assert ctx.underway(ETH) == pytest.approx(sign * 0.9)
    assert [handle.state for handle in ctx.orders()] == ["SENT", "NEW", "UNKNOWN", "NEW"]


@pytest.mark.parametrize(("side", "sign"), [("buy", 1), ("sell", -1)])
def test_positions_funding_and_margin_are_the_venues(session: Any, side: str, sign: int) -> None:
    ctx = context_of(session)
    assert (ctx.margin_ratio, ctx.fees) == (0.0, 0.0)
    assert [ctx.price(symbol) for symbol in (BTC, ETH)] == pytest.approx([NAN, NAN], nan_ok=True)
    assert len(ctx.positions()) == 0
    getattr(ctx, side)(BTC, "0.01")
    price = 60_010.0 if sign > 0 else 59_990.0
    row = session.positions().loc[BTC]
    shown = ctx.positions()
    assert shown.index.tolist() == [BTC]
    values = [sign * 0.01, price, row["mark_price"], row["unrealized_pnl"], sign * 0.01 * row["mark_price"]]
    assert shown.columns.tolist() == ["quantity", "entry_price", "price", "unrealized", "notional"]
    assert shown.iloc[0].tolist() == pytest.approx(values)
    assert (ctx.position(BTC), ctx.legs(BTC)) == (sign * 0.01, (0.01, 0.0) if sign > 0 else (0.0, -0.01))
    assert ctx.fees == pytest.approx(0.01 * price * 0.0006)
    ctx._state.read_wallet()
    assert ctx.margin_ratio == pytest.approx(0.0125 * 0.01 * row["mark_price"] / ctx.equity)
    rates = session.funding_rates().loc[BTC]
    expected = FundingRates(float(rates["last_funding_rate"]), float(rates["funding_rate"]), FIRST_MS + 235 * MINUTE_MS)
    found = ctx.funding(BTC)
    assert found.next_time == expected.next_time
    assert (found.rate, found.predicted) == pytest.approx((expected.rate, expected.predicted), nan_ok=True)


def test_a_table_of_orders_has_its_times_by_event_and_its_prices_without_zeros() -> None:
    times = [FIRST + pd.Timedelta(minutes=at) for at in range(4)]
    table = pd.DataFrame(
        {
            "order_id": [9, 4, 6], "symbol": [BTC, BTC, ETH], "side": ["BUY", "SELL", "BUY"], "type": "LIMIT",
            "tif": "GTC", "price": [0.0, 60_000.0, 3_000.0], "trigger_price": [59_000.0, 0.0, 0.0],
            "quantity": 1.0, "filled": [0.0, 1.0, 0.5], "status": ["CANCELED", "FILLED", "NEW"],
            "created": [pd.NaT, times[1], pd.NaT], "time": [times[3], times[2], times[2]],
        }
    )  # fmt: skip
    made = order_table(table, pd.Series({9: times[0], 4: times[0]}), {4: "why", 8: "other"})
    assert made["order_id"].tolist() == [4, 6, 9]
    assert made["time"].tolist() == [times[1], times[2], times[0]]
    assert made["updated"].tolist() == [times[2], times[2], times[3]]
    assert made["reason"].tolist() == ["why", "", ""]
    assert made["price"].fillna(-1).tolist() == [60_000.0, 3_000.0, -1]
    assert made["trigger_price"].fillna(-1).tolist() == [-1, -1, 59_000.0]
