"""A local venue that follows another one has its prices, book and trades, and an account of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolkit
from tests import side_by_side
from toolkit.errors import InputError, ToolkitError, VenueError
from toolkit.following import FollowingVenue, follow
from toolkit.research import data, record
from toolkit.venue.local import LocalVenue

SYMBOLS = ["BTCUSDC", "ETHUSDC"]


@pytest.fixture
def upstream() -> Iterator[LocalVenue]:
    with LocalVenue(clock="manual", seed=5) as venue:
        yield venue


def reader(venue: LocalVenue) -> toolkit.Session:
    return toolkit.connect(venue=venue, account=9, approve=False)


@pytest.fixture
def follower(upstream: LocalVenue) -> Iterator[FollowingVenue]:
    with follow(reader(upstream), symbols=SYMBOLS) as venue:
        yield venue


def tops(venue: LocalVenue) -> list[Any]:
    return [(venue.host.core.books[code].depth(1, 50), venue.host.core.books[code].depth(-1, 50)) for code in (1, 2)]


def test_books_trades_and_prices_are_those_of_the_other_venue_after_each_step(
    upstream: LocalVenue, follower: FollowingVenue
) -> None:
    assert (follower.following.state, follower.host.now_ms()) == ("live", upstream.host.now_ms())
    for _ in range(60):
        upstream.advance("3s")
        follower.host.catch_up()
        assert tops(follower) == tops(upstream)
        for code in (1, 2):
            here, there = follower.host.core.state.markets[code], upstream.host.core.state.markets[code]
            assert (here.mark, here.oracle) == (there.mark, there.oracle)
    for code in (1, 2):
        here, there = (venue.host.core.state.history.trades[code] for venue in (follower, upstream))
        known = [(one.side, one.price, one.quantity) for one in there]
        assert [(one.side, one.price, one.quantity) for one in here] == known[-len(here) :]
        assert len(here) > 10
    assert follower.host.core.violations() == []
    assert set(follower.host.core.products) == {1, 2}


def test_an_advance_of_the_follower_takes_the_other_venue_along(upstream: LocalVenue, follower: FollowingVenue) -> None:
    began = upstream.host.now_ms()
    assert follower.advance("1m30s") == began + 90_000
    assert upstream.host.now_ms() == upstream.host.core.state.time == follower.host.core.state.time == began + 90_000
    assert tops(follower) == tops(upstream)
    assert follower.advance(until=began + 90_500) == upstream.host.core.state.time == began + 90_500
    times = [trade.time for trade in follower.host.core.state.history.trades[1]]
    assert len(set(times)) > 5  # each came in its second, not all of them at the end
    with pytest.raises(InputError, match="one of them"):
        follower.advance()
    with pytest.raises(InputError, match="in the past"):
        follower.advance(until=began)


def test_orders_are_filled_here_and_never_there(upstream: LocalVenue, follower: FollowingVenue) -> None:
    with toolkit.connect(venue=follower) as session:
        session.venue.control.fund(session.account, "5000")
        session.buy("BTCUSDC", "0.01")
        book = follower.host.core.books[1]
        price = str(follower.host.core.products[1].price_text(book.bids.best))
        session.buy("BTCUSDC", "0.05", price=price, tif="POST_ONLY")
        for _ in range(400):
            upstream.advance("3s")
        assert {len(session.fills(role=role)) > 0 for role in ("TAKER", "MAKER")} == {True}
        assert upstream.host.query(lambda core: not core.state.history.fills_of(session.account))
        assert follower.host.core.violations() == []


def test_a_lost_feed_is_said_and_pauses_trading_until_it_is_back(
    upstream: LocalVenue, follower: FollowingVenue
) -> None:
    with toolkit.connect(venue=follower) as session:
        with upstream.control.add_fault("feed-cut", count=1):
            for _ in range(3):
                upstream.advance("3s")
        for _ in range(20):
            upstream.advance("3s")
        states = [note.partition(":")[0] for note in follower.following.notes]
        assert states[:2] == ["live", "stale"]
        assert states[-1] == "live"
        assert tops(follower) == tops(upstream)
        session.buy("BTCUSDC", "0.01")


def test_while_it_is_stale_orders_are_refused_or_go_on_by_setting(upstream: LocalVenue) -> None:
    for setting, refused in (("pause", True), ("continue", False)):
        with (
            follow(reader(upstream), symbols=["BTCUSDC"], when_stale=setting) as venue,
            toolkit.connect(venue=venue) as session,
            upstream.control.add_fault("feed-cut", count=None),
        ):
            upstream.advance("3s")
            assert venue.following.state == "stale"
            assert "cut" in repr(venue.following)
            if refused:
                with pytest.raises(ToolkitError, match="paused"):
                    session.buy("BTCUSDC", "0.01")
            else:
                session.buy("BTCUSDC", "0.01")


def test_a_served_venue_is_followed_over_its_wire(tmp_path: Path) -> None:
    with LocalVenue(seed=3, speed=30) as upstream, upstream.serve() as served:
        feed = "ws" + served.base_url.removeprefix("http")
        other = toolkit.connect("local", base_url=served.base_url, ws_url=feed, account="0x" + "0" * 40)
        with follow(other, symbols=["BTCUSDC"]) as venue:
            seen = threading.Event()
            first = len(venue.host.core.state.history.trades[1])
            while not seen.wait(0.02):
                if len(venue.host.core.state.history.trades[1]) > first + 3:
                    seen.set()
            with venue.host.lock:
                book = venue.host.core.books[1]
                assert 0 < book.bids.best < book.asks.best
            assert venue.host.core.violations() == []


def test_an_account_is_copied_with_balance_positions_and_orders(upstream: LocalVenue) -> None:
    with toolkit.connect(venue=upstream, account=2) as theirs:
        theirs.exchange.set_margin_mode("ETHUSDC", "ISOLATED")
        theirs.exchange.set_leverage("BTCUSDC", "7")
        theirs.buy("BTCUSDC", "0.123")
        theirs.buy("BTCUSDC", "0.05")
        theirs.sell("ETHUSDC", "0.7")
        theirs.buy("BTCUSDC", "0.01", price="50000")
        address = theirs.account
        assert address is not None
        with follow(reader(upstream), symbols=SYMBOLS, accounts=1) as venue, toolkit.connect(venue=venue) as session:
            venue.following.fork(session, address)
            columns = ["symbol", "side", "size", "entry_price", "margin", "leverage", "margin_mode"]
            here, there = (one.positions(index=None)[columns].sort_values("symbol") for one in (session, theirs))
            assert here.to_numpy().tolist() == there.to_numpy().tolist()
            for name in ("balance", "equity"):
                assert session.wallet_balances()[name].tolist() == theirs.wallet_balances()[name].tolist()
            assert session.orders(open=True)[["price", "quantity"]].to_numpy().tolist() == [[50000.0, 0.01]]
            assert venue.host.core.violations() == []
            with pytest.raises(VenueError, match="has positions already"):
                venue.following.fork(session, address)


ORDER = [
    "symbol",
    "side",
    "type",
    "status",
    "price",
    "remaining",
    "trigger_price",
    "trigger_type",
    "tif",
    "reduce_only",
]


def open_orders(session: toolkit.Session) -> list[Any]:
    table = session.orders(open=True, exact=True).sort_values("order_id").reset_index(drop=True)
    parents = [table.index[table["order_id"] == parent].tolist() for parent in table["parent_order_id"]]
    return [*map(tuple, table[ORDER].to_numpy().tolist()), parents]


def test_brackets_stops_conditional_orders_and_settings_are_copied(upstream: LocalVenue) -> None:
    with (
        toolkit.connect(venue=upstream, account=2) as theirs,
        toolkit.connect(venue=upstream, account=3, approve=False) as builder,
    ):
        builder.exchange.register_builder("Acme")
        agent = toolkit.Wallet.create()
        theirs.exchange.approve_agent_to_builder(agent.agent, builder.account, "0.0005")
        theirs.exchange.set_leverage("ETHUSDC", "3")
        theirs.buy("BTCUSDC", "0.1")
        theirs.buy("BTCUSDC", "0.02", price="50000", tp="70000", sl="40000")
        theirs.place(toolkit.orders.stop("BTCUSDC", "SELL", "45000"))
        theirs.place(toolkit.orders.take_profit("BTCUSDC", "SELL", "80000", "0.05", trigger_by="LAST_PRICE"))
        stop = toolkit.orders.order("BTCUSDC", "BUY", "0.01", "81000", type="STOP_LIMIT", trigger_price="80500")
        placing = toolkit.Wallet(agent=agent.key("agent").reveal(), account=builder.account)
        with toolkit.connect(venue=upstream, wallet=placing) as session:
            session.exchange.place_builder_order(stop, builder.account, "0.0002")
        given = open_orders(theirs)
        assert len(given) == 7
        with toolkit.connect("local", follow=reader(upstream), fork=theirs.account) as session:
            assert session.venue.following.notes == ["live"]
            assert open_orders(session) == given
            account = session.venue.host.core.state.accounts[session.account.lower()]
            assert {code: held.leverage for code, held in account.positions.items()}[2] == 300
            assert session.venue.host.core.violations() == []


def test_a_hedged_account_and_orders_that_do_not_fit(upstream: LocalVenue) -> None:
    with toolkit.connect(venue=upstream, account=2) as theirs:
        upstream.control.set_position_mode(theirs.account, "HEDGE")
        theirs.buy("BTCUSDC", "0.1")
        theirs.sell("BTCUSDC", "0.03")
        theirs.buy("SOLUSDC", "1", price="50")
        theirs.place(toolkit.orders.take_profit("BTCUSDC", "SELL_CLOSE_HEDGE", "80000"))
        with (
            follow(reader(upstream), symbols=["BTCUSDC"]) as venue,
            toolkit.connect(venue=venue) as session,
        ):
            venue.following.fork(session, str(theirs.account))
            held = session.positions()[["side", "size"]].to_numpy().tolist()
            assert sorted(held) == [["LONG", 0.1], ["SHORT", 0.03]]
            assert venue.following.notes[1:] == ["the order BUY 1.00 SOLUSDC was not copied: SOLUSDC is not followed"]
            assert session.orders(open=True)["side"].tolist() == ["SELL_CLOSE_HEDGE"]
            venue.control.pause("BTCUSDC")
            venue.following._copy_orders(session, str(theirs.account))
            assert venue.following.notes[-1].endswith("was not copied: trading in BTCUSDC is paused")
            assert venue.host.core.violations() == []


def test_what_was_recorded_meanwhile_replays_to_the_same_fills(upstream: LocalVenue, tmp_path: Path) -> None:
    def quote(session: toolkit.Session, book: Any, product: Any) -> None:
        for side, best in (("BUY", book.bids.best), ("SELL", book.asks.best)):
            session.place(toolkit.orders.limit("BTCUSDC", side, "0.08", product.price_text(best), tif="POST_ONLY"))

    def known(session: toolkit.Session) -> list[Any]:
        # without times: a follower knows of a trade when it is told, the recording has the time of the trade
        return session.fills()[["side", "price", "quantity", "role"]].to_numpy().tolist()

    def taken(venue: LocalVenue, own: set[int]) -> list[Any]:
        # without the steps of own fills: the follower hears of the book before the trades that moved it
        trades = venue.host.core.state.history.trades[1]
        return [(one.side, one.price, one.quantity) for one in trades if step_of(one.time) not in own]

    def step_of(time: int) -> int:
        return -(-time // 3_000)

    # At once: with a delay the orders would meet another moment of the tape, which begins with them.
    following = follow(reader(upstream), symbols=["BTCUSDC"], settle_delay=0)
    with following as venue, toolkit.connect(venue=venue) as session:
        with record(venue.following.upstream, tmp_path / "tape", ["BTCUSDC"], depth=200):
            upstream.advance("3s")
            began = upstream.host.now_ms()
            quote(session, venue.host.core.books[1], venue.host.core.products[1])
            for _ in range(300):
                upstream.advance("3s")
        fills = known(session)
        own = {step_of(int(time.timestamp() * 1000)) for time in session.fills()["time"]}
        done = taken(venue, own)
    tape = data.load(tmp_path / "tape", format="recording")
    replaying = LocalVenue(replay={"BTCUSDC": tape}, clock="manual", settle_delay=0)
    with replaying as again, toolkit.connect(venue=again) as session:
        again.advance(until=began)
        quote(session, again.host.core.books[1], again.host.core.products[1])
        again.advance(until=upstream.host.now_ms())
        assert known(session) == fills
        replayed = taken(again, own)
    assert len(fills) > 0
    assert len(replayed) > 20
    count = min(len(done), len(replayed))
    assert count > 20
    assert replayed[-count:] == done[-count:]


def test_connect_follows_a_session_or_an_address_and_forks_an_account(upstream: LocalVenue) -> None:
    with toolkit.connect(venue=upstream, account=3) as theirs:
        theirs.buy("BTCUSDC", "0.2")
        with toolkit.connect("local", follow=reader(upstream), fork=theirs.account) as session:
            assert session.positions()["size"].tolist() == [0.2]
            shocked = session.what_if("BTCUSDC", -0.2)
            mark = session.positions()["mark_price"].iloc[0]
            assert shocked["mark_price"].tolist() == pytest.approx([mark, mark * 0.8], abs=0.1)
            assert shocked["unrealized_pnl"].diff().iloc[1] == pytest.approx(-0.2 * 0.2 * mark, abs=0.1)
            assert shocked["equity"].diff().iloc[1] == pytest.approx(-0.2 * 0.2 * mark, abs=0.1)
            price = session.positions()["liquidation_price"].iloc[0]
            assert shocked["liquidation_price"].iloc[0] == pytest.approx(price, rel=1e-6)
            assert shocked["liquidated"].tolist() == [False, mark * 0.8 <= price]
            assert session.what_if("BTCUSDC", "0")["equity"].nunique() == 1
            assert session.venue is not None
            assert session.venue.host.core.violations() == []
    with (
        LocalVenue(seed=3, speed=30) as other,
        other.serve() as served,
        toolkit.connect("local", follow=served.base_url) as session,
    ):
        assert session.products().index.tolist() == ["BTCUSDC", "ETHUSDC", "SOLUSDC", "XRPUSDC"]
        session.buy("SOLUSDC", "1")


def test_a_deep_fall_liquidates_in_the_answer_only(upstream: LocalVenue) -> None:
    with toolkit.connect(venue=upstream) as session:
        session.exchange.set_leverage("BTCUSDC", "20")
        session.buy("BTCUSDC", "1.5")
        digest = upstream.control.state_hash()
        assert session.what_if("BTCUSDC", -0.2)["liquidated"].tolist() == [False, True]
        assert upstream.control.state_hash() == digest
        for wrong, text in ((-1, "leaves no price"), ("nan", "not an exact amount")):
            with pytest.raises(InputError, match=text):
                session.what_if("BTCUSDC", wrong)
        with pytest.raises(ToolkitError, match="DOGE is not listed"):
            session.what_if("DOGE", 0.1)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"environment": "testnet", "follow": "mainnet"}, "follow makes a local venue in this process"),
        ({"fork": "0x" + "1" * 40}, "on the venue that is followed"),
        ({"follow": "nowhere"}, "environment 'nowhere' is not known"),
    ],
)
def test_where_following_can_t_be_is_said(options: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        toolkit.connect(**options)
    with (
        toolkit.connect("testnet", account="0x" + "1" * 40) as session,
        pytest.raises(InputError, match="what_if needs"),
    ):
        session.what_if("BTCUSDC", -0.1)


def test_wrong_settings_say_what_would_pass(upstream: LocalVenue) -> None:
    with pytest.raises(ToolkitError, match="DOGEUSDC"):
        follow(reader(upstream), symbols=["DOGEUSDC"])
    with pytest.raises(InputError, match="pause or continue"):
        follow(reader(upstream), when_stale="stop")


@pytest.mark.slow
def test_side_by_side_over_the_wire_the_books_are_equal_after_each_update_and_fills_are_explained() -> None:
    found = side_by_side.run(6, 30)
    assert found.largest_difference == 0
    assert found.compared > 10
    assert found.fills.total() > 0
    assert (found.unexplained, found.notes, found.violations) == ([], ["live"], [])
