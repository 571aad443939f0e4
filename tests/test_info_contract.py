"""Every Info query, sent through a session after real activity, compared with the state of the venue."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from operator import attrgetter
from typing import Any

import msgspec
import pandas as pd
import pytest

import toolkit
from toolkit import margin
from toolkit.client.reads import frames
from toolkit.errors import ActionRejected, InputError, MalformedRequest, UnknownProduct
from toolkit.protocol.reads.endpoint import Endpoint
from toolkit.protocol.reads.info_queries import ENDPOINTS
from toolkit.session import Session
from toolkit.venue.engine.core import Core
from toolkit.venue.local import LocalVenue
from toolkit.venue.model.accounts import VenueAccount
from toolkit.venue.model.constants import RATE
from toolkit.venue.programs import vaults
from toolkit.venue.risk import account_margin, ledger
from toolkit.venue.risk.ledger import FEES

MICRO = Decimal("0.000001")
UNUSED = "0x" + "99" * 20


@dataclass
class World:
    """A venue where much has happened, and the sessions that did it."""

    venue: LocalVenue
    trader: Session
    invitee: Session
    leader: Session
    builder: Session
    vault: str
    builder_agent: str

    @property
    def core(self) -> Core:
        return self.venue.host.core

    def account(self, session: Session | None = None) -> VenueAccount:
        return self.core.state.accounts[self.address(session)]

    def address(self, session: Session | None = None) -> str:
        return str((session or self.trader).account).lower()

    def get(self, path: str, **query: Any) -> tuple[int, dict[str, Any]]:
        """Query the venue as any HTTP client would."""
        answer = self.venue.host.gateway.handle("GET", path, [(name, str(value)) for name, value in query.items()], b"")
        return answer.status, msgspec.json.decode(answer.body)

    def data(self, path: str, **query: Any) -> Any:
        status, envelope = self.get(path, **query)
        assert (status, envelope["code"], envelope["message"]) == (200, 0, "success")
        return envelope["data"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    venue = LocalVenue(clock="manual", start="2026-01-01T19:30:00Z")
    sessions = [toolkit.connect(venue=venue, account=number) for number in range(4)]
    trader, invitee, leader, builder = sessions
    venue.advance("5m")
    trader.exchange.set_leverage("BTCUSDC", 10)
    for _ in range(3):
        trader.buy("BTCUSDC", "0.02")
        trader.sell("ETHUSDC", "0.5")
        venue.advance("1m")
    trader.sell("BTCUSDC", "0.01")
    trader.buy("BTCUSDC", "0.01", price="50000", tp="70000", sl="45000")
    trader.exchange.set_margin_mode("SOLUSDC", "ISOLATED")
    trader.buy("SOLUSDC", "10")
    trader.exchange.assign_pos_margin("SOLUSDC", "25")
    cancelled = trader.sell("XRPUSDC", "100", price="9")
    venue.advance("1m")
    trader.cancel(cancelled)
    with pytest.raises(ActionRejected):
        trader.buy("BTCUSDC", "90", price="60000")
    invitee.exchange.bind_referral(trader.info.referral_code()["code"][0])
    invitee.buy("BTCUSDC", "0.1")
    vault = str(leader.exchange.vault_create("Momentum", "500", "Follows the trend").data["vault"])
    invitee.exchange.vault_deposit(vault, "200")
    leader.buy("ETHUSDC", "0.3", vault_address=vault)
    builder.exchange.register_builder("Desk")
    wallet = toolkit.Wallet.create()
    invitee.exchange.approve_agent_to_builder(wallet.agent, builder.account, "0.0005", 3_600)
    trader.exchange.approve_agent("0x" + "77" * 20, "second", 3600)
    trader.exchange.revoke_agent("second")
    venue.advance("5h")
    yield World(venue, trader, invitee, leader, builder, vault, str(wallet.agent))
    for session in sessions:
        session.close()
    venue.close()


def text(amount: int) -> Decimal:
    return Decimal(amount).scaleb(-6)


# Products and prices.


def test_products(world: World) -> None:
    data = world.data("/info/public/product-meta")
    assert [row["code"] for row in data["perpProducts"]] == ["1", "2", "3", "4"]
    assert set(data) == {"md5Checksum", "perpProducts", "marginTables", "currencies"}
    assert data["marginTables"][0]["riskLimitVo"][0]["maintainMarginRatio"] == "0.0125"
    shown = world.trader.products(exact=True)
    for product in world.core.products.values():
        assert shown.loc[product.symbol, "tick_size"] == product.tick_size
        assert shown.loc[product.symbol, "code"] == product.code
    assert world.data("/info/public/product-meta", listStatus="delisted")["perpProducts"] == []
    assert [table["tableId"] for table in data["marginTables"]] == [1, 2, 3], "also those that no product uses"
    one = world.data("/info/single", symbol=2)
    assert [row["symbol"] for row in one["perpProducts"]] == ["ETHUSDC"]
    assert [table["tableId"] for table in one["marginTables"]] == [1]
    assert world.trader.info.product("ETHUSDC")["code"].tolist() == [2]


def test_margin_tables_and_currencies_are_frames(world: World) -> None:
    tables = world.trader.products.margin_tables(exact=True)
    assert {int(table): rows[["floor", "maintenance_rate", "max_leverage"]].values.tolist() for table, rows in
            tables.groupby(level="table")} == {
        table: [[Decimal(row["minimumValue"]), Decimal(row["maintainMarginRatio"]), Decimal(row["maxLeverage"])]
                for row in rows]
        for table, rows in world.core.state.margin_tables.items()
    }  # fmt: skip
    assert tables.loc[3].values.tolist() == [[0, Decimal("0.025"), 20], [1_000_000, Decimal("0.05"), 10]]
    products = world.trader.products()
    floats = world.trader.products.margin_tables()
    assert [str(dtype) for dtype in floats.dtypes] == ["float64"] * 3
    tiers = floats.loc[products.loc["XRPUSDC", "margin_table"]].itertuples(index=False)
    assert margin.maintenance_margin(3_000_000, [tuple(map(str, tier)) for tier in tiers]) == 65_000
    currencies = world.trader.products.currencies()
    assert currencies.loc["USDC"].to_dict() == {
        "code": 1, "name": "USD Coin", "wallet_precision": 6, "display_precision": 2
    }  # fmt: skip
    assert asyncio.run(world.trader.aio.products.currencies()).equals(currencies)


def test_fills_orders_and_ledger_can_be_indexed_by_time(world: World) -> None:
    for read in (world.trader.fills, world.trader.orders, world.trader.info.ledger):
        plain, indexed = read(), read(index="time")
        pd.testing.assert_frame_equal(plain.set_index("time"), indexed)
        assert isinstance(indexed.index, pd.DatetimeIndex)
        assert indexed.index.is_monotonic_increasing
        assert isinstance(read(start=plain["time"].max() + pd.Timedelta("1h"), index="time").index, pd.DatetimeIndex)
        with pytest.raises(InputError, match=r"index has 'timed', which is no column.*Did you mean 'time'"):
            read(index="timed")
    assert world.trader.orders(open=True, index="time").index.name == "time"


def test_klines_are_the_trades_added_up(world: World) -> None:
    core = world.core
    product = core.products[1]
    trades = core.state.history.trades[1]
    start = core.state.genesis_time + 1_800_000
    for interval in (60, 300, 3600):
        shown = world.trader.klines("BTCUSDC", f"{interval}s", start, start + 4 * 3_600_000 - 1, exact=True)
        wanted: dict[int, list[Any]] = {}
        for trade in trades:
            if start <= trade.time < start + 4 * 3_600_000:
                wanted.setdefault(trade.time // (interval * 1000) * interval * 1000, []).append(trade)
        assert [int(stamp.timestamp() * 1000) for stamp in shown.index] == sorted(wanted)
        for stamp, row in shown.iterrows():
            inside = wanted[int(stamp.timestamp() * 1000)]
            prices = [product.tick_size * trade.price for trade in inside]
            assert (row["open"], row["high"], row["low"], row["close"]) == (
                prices[0],
                max(prices),
                min(prices),
                prices[-1],
            )
            assert row["volume"] == sum(product.step_size * trade.quantity for trade in inside)
            assert row["turnover"] == sum(
                price * product.step_size * trade.quantity for price, trade in zip(prices, inside, strict=True)
            )
            assert row["trades"] == len(inside)


def test_klines_reach_back_before_genesis_without_a_seam(world: World) -> None:
    genesis = world.core.state.genesis_time
    shown = world.trader.klines("ETHUSDC", "1m", genesis - 3_600_000, genesis + 3_600_000)
    assert shown.index[0] == pd.Timestamp(genesis - 3_600_000, unit="ms", tz="UTC")
    assert shown.index.is_monotonic_increasing
    assert shown.index.is_unique
    assert (shown["high"] >= shown[["open", "close"]].max(axis=1)).all()
    assert (shown["low"] <= shown[["open", "close"]].min(axis=1)).all()


def test_last_and_before_are_the_newest_first_end_of_the_list(world: World) -> None:
    info, now = world.trader.info, world.venue.host.now_ms()
    window = info.klines("BTCUSDC", "5m", now - 86_400_000, now)
    last = info.klines_last("BTCUSDC", "5m", limit=50)
    pd.testing.assert_frame_equal(last[::-1].reset_index(drop=True), window.tail(50).reset_index(drop=True))
    edge = window["time"].iloc[-10]
    before = info.klines_before("BTCUSDC", "5m", before=edge, limit=20)
    assert before["time"].is_monotonic_decreasing
    pd.testing.assert_frame_equal(
        before[::-1].reset_index(drop=True), window[window["time"] < edge].tail(20).reset_index(drop=True)
    )
    assert len(info.klines_last("BTCUSDC", "1d", limit=30)) == 30
    assert (len(info.klines_last("BTCUSDC", "5m")), len(info.klines_before("BTCUSDC", "5m"))) == (100, 100)


def test_a_window_of_too_many_candles_is_refused(world: World) -> None:
    query = {"symbol_name": "BTCUSDC", "interval": 60, "startTime": 0, "endTime": world.venue.host.now_ms()}
    status, envelope = world.get("/info/kline/list", **query)
    assert (status, envelope["code"]) == (400, 40003)
    assert envelope["message"].startswith("startTime 0 is")


def test_funding_rates_and_their_history(world: World) -> None:
    core = world.core
    running = world.trader.funding_rates(exact=True)
    assert list(running.index) == [product.symbol for product in core.products.values()]
    settled = core.state.history.funding_rates[1]
    assert running.loc["BTCUSDC", "last_funding_rate"] == Decimal(settled[-1].rate) / RATE
    start = core.state.genesis_time
    history = world.trader.info.funding_rate_history("BTCUSDC", start=start - 30 * 86_400_000, exact=True)
    before, history = history[history["time"] < pd.Timestamp(start, unit="ms", tz="UTC")], history.tail(len(settled))
    assert len(before) >= 179, "those before genesis are of the same market"
    assert before["funding_rate"].min() < 0 < before["funding_rate"].max()
    assert [rate * RATE for rate in history["funding_rate"]] == [point.rate for point in settled]
    assert [int(stamp.timestamp() * 1000) for stamp in history["time"]] == [point.time for point in settled]
    assert history["annualised"].tolist() == [rate * 365 * 86_400 / 14_400 for rate in history["funding_rate"]]
    newest = world.trader.info.funding_rate_history("BTCUSDC", page_size=2)
    assert newest["time"].is_monotonic_decreasing
    assert len(newest) == 2


# Accounts.


def test_wallet_is_what_the_risk_rules_say(world: World) -> None:
    account = world.account()
    figures = account_margin.wallet(world.core, account)
    row = world.trader.wallet_balances(exact=True).iloc[0]
    assert row["account"].lower() == account.address
    assert row["balance"] == text(account.balance)
    assert row["equity"] == text(figures.equity)
    assert row["available"] == text(figures.available)
    assert row["withdrawable"] == text(figures.withdrawable)
    assert (row["currency"], row["status"]) == ("USDC", "NORMAL")
    assert world.data("/info/account/wallet", userAddr=UNUSED) == []
    assert world.data("/info/account/wallet", userAddr=world.address(), currency=2) == []


def test_an_account_with_nothing_is_shown_when_zeros_are_asked_for() -> None:
    with LocalVenue(clock="manual", market=False, accounts=1) as venue:
        [address] = [each for each, account in venue.host.core.state.accounts.items() if account.kind == "user"]
        venue.control.act(address, {"type": "withdraw", "destination": address, "amount": "10000"})

        def rows(query: str) -> int:
            return len(
                msgspec.json.decode(venue.host.gateway.handle("GET", "/info/account/wallet", query).body)["data"]
            )

        assert (rows(f"userAddr={address}"), rows(f"userAddr={address}&includeZero=true")) == (0, 1)


def test_an_order_is_found_by_any_client_id() -> None:
    with LocalVenue(clock="manual", market=False, accounts=1) as venue:
        [address] = [each for each, account in venue.host.core.state.accounts.items() if account.kind == "user"]
        item = {"symbolCode": 1, "ordPx": "60000", "ordQty": "0.01", "ordType": "LIMIT", "ordSide": "BUY"}
        order = {**item, "timeInForce": "GTC", "clOrdId": -(2**63)}
        assert venue.control.act(address, {"type": "placeOrder", "orders": [order]})["code"] == 0
        for path in ("/info/order/states", "/info/order/events"):
            answer = venue.host.gateway.handle("GET", path, f"userAddr={address}&clientOrderId={-(2**63)}")
            assert msgspec.json.decode(answer.body)["data"]["total"] == 1


def test_the_ledger_adds_up_to_the_balance(world: World) -> None:
    for session in (world.trader, world.invitee, world.leader):
        shown = session.info.ledger(exact=True)
        account = world.account(session)
        entries = ledger.entries(world.core, account.address)
        assert shown["id"].tolist() == [entry.id for entry in entries]
        assert sum(shown["amount"]) == shown["balance"].iloc[-1] == text(account.balance)
        assert shown["kind"].tolist() == [entry.kind for entry in entries]
    fees = world.trader.info.ledger(kind="TRADING_FEE")
    assert set(fees["kind"]) == {"TRADING_FEE"}
    assert len(fees) == len(world.trader.fills())
    one = fees.iloc[0]
    for given in (one["tx_hash"], one["tx_hash"][2:].upper()):
        assert one["tx_hash"] in world.trader.info.ledger(tx_hash=given)["tx_hash"].tolist()
    assert "ISOLATED_MARGIN" in set(world.trader.info.ledger()["kind"])


def test_every_balance_is_the_sum_of_its_ledger_and_all_money_is_somewhere(world: World) -> None:
    """Seen through the queries alone: users, vaults, simulated participants and the venue's own accounts."""
    outside = held = Decimal(0)
    for address in world.core.state.accounts:
        rows = []
        while page := world.data("/info/account/ledger", userAddr=address, pageSize=500, page=len(rows) // 500 + 1):
            rows += page["items"]
            if len(rows) == page["total"]:
                break
        amounts = {row["bizType"]: Decimal(0) for row in rows}
        for row in rows:
            amounts[row["bizType"]] += Decimal(row["amount"])
        balance = sum(amounts.values(), Decimal(0))
        [wallet] = world.data("/info/account/wallet", userAddr=address, includeZero=True)
        assert Decimal(wallet["balance"]) == balance == (Decimal(rows[0]["balance"]) if rows else 0), address
        assigned = sum(
            Decimal(row["assignedPosBalance"]) for row in world.data("/info/position/list", userAddr=address)
        )
        assert assigned == -amounts.get("ISOLATED_MARGIN", Decimal(0))
        outside += sum((amounts.get(kind, Decimal(0)) for kind in ("DEPOSIT", "FAUCET", "WITHDRAW")), Decimal(0))
        held += balance + assigned
    assert held == outside > 0
    fees = world.data("/info/account/ledger", userAddr=FEES, bizType="trading_fee")["items"]
    assert {row["counterparty"].lower() for row in fees} >= {world.address(), world.address(world.invitee)}
    assert all(row["txHash"].startswith("0x") and Decimal(row["amount"]) > 0 for row in fees)


def test_agents_with_their_states(world: World) -> None:
    shown = world.trader.info.agents()
    approvals = world.core.state.permissions
    mine = [approvals.approvals[at] for at in approvals.by_master[world.address()]]
    assert shown["name"].tolist() == [approval.name for approval in reversed(mine)] == ["second", "toolkit-bcd4042d"]
    assert shown["status"].tolist() == ["REVOKED", "ACTIVE"]
    assert shown["revoked_at"].notna().tolist() == [True, False]
    assert world.trader.info.agents(status="ACTIVE")["name"].tolist() == ["toolkit-bcd4042d"]
    assert world.trader.info.agents(status=2)["name"].tolist() == ["second"]
    active = world.trader.info.agent("toolkit-bcd4042d")
    assert active["agent"].tolist() == [world.trader.wallet.agent]
    assert len(world.trader.info.agent("second")) == 0
    turned = world.trader.info.agents(account=world.trader.wallet.agent, role="AGENT")
    assert turned["master"].tolist() == [world.trader.account]


def test_positions_and_what_follows_from_them(world: World) -> None:
    account, core = world.account(), world.core
    raw = world.trader.info.positions(exact=True).set_index("symbol")
    held = {core.products[code].symbol: position for code, position in account.positions.items()}
    open_ones = {name: one for name, one in held.items() if one.long.size or one.short.size}
    assert set(raw.index) == set(open_ones) == {"BTCUSDC", "ETHUSDC", "SOLUSDC"}
    for symbol, position in open_ones.items():
        row = raw.loc[symbol]
        assert row["long_entry_value"] == text(position.long.value)
        assert row["short_entry_value"] == text(position.short.value)
        assert row["assigned_margin"] == text(position.assigned)
        assert row["leverage"] == Decimal(position.leverage) / 100
    legs = world.trader.positions(exact=True)
    assert legs["side"].to_dict() == {"BTCUSDC": "LONG", "ETHUSDC": "SHORT", "SOLUSDC": "LONG"}
    for symbol, position in open_ones.items():
        leg, product = legs.loc[symbol], next(p for p in core.products.values() if p.symbol == symbol)
        half = position.long if position.long.size else position.short
        assert leg["entry_price"] * leg["size"] - text(half.value) < MICRO
        assert leg["notional"] == leg["size"] * leg["mark_price"]
        wanted = account_margin.liquidation_price(core, account, product.code)
        shown = leg["liquidation_price"]
        assert (wanted is None) == (shown is pd.NA)
        # The venue keeps the figures of the other positions in whole micro-USDC.
        assert wanted is None or abs(wanted - shown) < 3 * MICRO / leg["size"]
    sol = legs.loc["SOLUSDC"]
    assert sol["margin"] == raw.loc["SOLUSDC", "assigned_margin"]
    assert sol["liquidation_price"] == margin.liquidation_price(
        1, sol["size"], sol["entry_price"], sol["margin"], core.products[3].tiers
    )
    assert (
        legs.loc["BTCUSDC", "return_on_margin"] == legs.loc["BTCUSDC", "unrealized_pnl"] / legs.loc["BTCUSDC", "margin"]
    )
    assert world.trader.positions("ETHUSDC").index.tolist() == ["ETHUSDC"]
    everything = world.trader.info.positions(include_zero=True)
    assert len(everything) == len(account.positions)
    assert len(world.trader.info.positions(position_mode="HEDGE")) == 0
    assert len(world.trader.info.positions(position_mode=1)) == 3


def test_an_account_without_positions_has_an_empty_frame_with_the_same_columns(world: World) -> None:
    none = world.trader.positions(account=UNUSED)
    some = world.trader.positions()
    assert len(none) == 0
    assert none.dtypes.equals(some.dtypes)


def test_funding_payments(world: World) -> None:
    paid = world.core.state.history.funding_payments.of(world.address())
    shown = world.trader.info.funding_payments(exact=True)
    assert shown["amount"].tolist() == [text(payment.amount) for payment in paid]
    assert shown["side"].tolist() == ["LONG" if payment.side > 0 else "SHORT" for payment in paid]
    eth = world.trader.info.funding_payments(symbol="ETHUSDC")
    assert set(eth["symbol"]) == {"ETHUSDC"}
    assert len(eth) == sum(payment.product == 2 for payment in paid)


# Orders.


def test_order_states(world: World) -> None:
    account = world.account()
    ended = world.core.state.history.orders.of(account.address)
    wanted = {order.id: order for order in [*account.orders.values(), *ended]}
    shown = world.trader.orders(exact=True)
    assert set(shown["order_id"]) == set(wanted)
    assert shown["time"].is_monotonic_increasing
    for _, row in shown.iterrows():
        order = wanted[row["order_id"]]
        product = world.core.products[order.product]
        assert row["quantity"] == product.step_size * order.quantity
        assert row["filled"] == product.step_size * order.filled
        assert row["filled_value"] == text(order.value)
        assert row["fee"] == text(order.fee)
        assert row["price"] == product.tick_size * order.price
    statuses = set(shown["status"])
    assert {"FILLED", "CANCELED", "NEW", "ORDER_STATUS_UNTRIGGERED", "REJECTED"} <= statuses
    assert set(world.trader.orders(open=True)["order_id"]) == set(account.orders)
    assert set(world.trader.info.order_states(status="NEW")["status"]) == {"NEW"}


def test_order_filters(world: World) -> None:
    every = world.trader.info.order_states(page_size=500)
    for name, value in (("side", "SELL"), ("type", "LIMIT"), ("symbol", "ETHUSDC"), ("status", "FILLED")):
        shown = world.trader.info.order_states(**{name: value}, page_size=500)
        assert shown["order_id"].tolist() == every[every[name] == value]["order_id"].tolist()
        assert 0 < len(shown) < len(every)
    assert len(world.trader.info.order_states(side=2, page_size=500)) == (every["side"] == "SELL").sum()
    one = every.iloc[3]
    assert world.trader.info.order_states(order_id=int(one["order_id"]))["order_id"].tolist() == [one["order_id"]]
    by_client = world.trader.info.order_states(client_order_id=int(one["client_order_id"]))
    assert by_client["order_id"].tolist() == [one["order_id"]]
    parents = every[every["parent_order_id"] > 0]
    assert len(parents) == 2
    parent = int(parents["parent_order_id"].iloc[0])
    assert len(world.trader.info.order_states(parent_order_id=parent)) == 2


def test_order_events(world: World) -> None:
    wanted = world.core.state.history.order_events.of(world.address())
    shown = world.trader.info.order_events(exact=True)
    assert shown["id"].astype("int64").tolist() == [event.id for event in wanted]
    assert shown["tx_hash"].tolist() == [event.tx_hash for event in wanted]
    rejected = world.trader.info.order_events(status="REJECTED")
    assert len(rejected) == 1
    assert rejected["reason"].iloc[0]
    assert set(world.trader.info.order_events(symbol="ETHUSDC", side="SELL")["symbol"]) == {"ETHUSDC"}


def test_fills(world: World) -> None:
    wanted = world.core.state.history.fills_of(world.address())
    shown = world.trader.fills(exact=True)
    assert shown["exec_id"].tolist() == [fill.exec_id for fill in wanted]
    assert shown["realized_pnl"].tolist() == [text(fill.pnl) for fill in wanted]
    assert shown["fee"].tolist() == [text(fill.open_fee + fill.close_fee + fill.builder_fee) for fill in wanted]
    assert (shown["value"] == shown["price"] * shown["quantity"]).all()
    assert world.trader.fills()["value"].dtype == "float64"
    assert len(world.trader.fills(role="MAKER")) == 0
    first = shown.iloc[0]
    assert world.trader.info.fills(exec_id=int(first["exec_id"]))["id"].tolist() == [first["id"]]
    assert set(world.trader.fills(order_id=int(first["order_id"]))["order_id"]) == {first["order_id"]}


@pytest.mark.parametrize("name", ["orders", "info.order_events", "fills", "info.ledger", "info.funding_payments"])
def test_windows_include_both_ends(world: World, name: str) -> None:
    read = attrgetter(name)(world.trader)
    every = read()
    start, end = every["time"].iloc[1], every["time"].iloc[-2]
    inside = read(start=start, end=end)
    assert len(inside) == ((every["time"] >= start) & (every["time"] <= end)).sum()
    with pytest.raises(toolkit.errors.InputError, match="is after end"):
        read(start=end, end=start - pd.Timedelta("1h"))


@pytest.mark.parametrize(
    "name", ["order_states", "order_events", "fills", "ledger", "funding_payments", "transactions"]
)
def test_pages_are_the_whole_list_newest_first(world: World, name: str) -> None:
    query = getattr(world.trader.info, name)
    whole = query(page_size=500)
    pages = [query(page=number, page_size=3) for number in range(1, len(whole) // 3 + 3)]
    assert all(len(page) == 3 for page in pages[: len(whole) // 3])
    joined = pd.concat([page for page in pages if len(page)], ignore_index=True)
    pd.testing.assert_frame_equal(joined, whole)
    assert whole["time"].is_monotonic_decreasing
    raw = whole.attrs["raw"].json()[0]["data"]
    assert raw["total"] == len(whole)


# Vaults, referrals, builders, explorer.


def test_vaults(world: World) -> None:
    core, info = world.core, world.leader.info
    vault = core.state.vaults[world.vault.lower()]
    one = info.vault(world.vault).iloc[0]
    assert (one["name"], one["owner"], one["status"]) == ("Momentum", world.leader.account, "OPEN")
    assert one["tvl"] == pytest.approx(
        float(text(account_margin.wallet(core, core.state.accounts[vault.address]).equity))
    )
    assert one["deposits"] == 500
    assert set(info.vaults()["vault"].str.lower()) == set(core.state.vaults)
    assert world.invitee.info.user_vaults()["vault"].tolist() == [world.vault]
    mine = world.invitee.info.vault_user(world.vault).iloc[0]
    assert mine["deposits"] == 200
    at_mark, in_book = (vaults.value(core, vault, in_book=each) / 1e6 for each in (False, True))
    assert mine["current_value"] == pytest.approx(mine["shares"] * mine["price"] * min(1, in_book / at_mark), abs=1e-3)
    events = info.vault_events(world.vault)
    assert events["kind"].tolist()[-2:] == [vault.events[1].kind, vault.events[0].kind]
    owners = info.vault_depositors(world.vault)
    assert owners["account"].tolist() == [world.leader.account, world.invitee.account]
    assert owners["share"].sum() == pytest.approx(1, abs=1e-5)
    for kind in ("tvl", "pnl"):
        for interval in ("24h", "7d", "30d", "all-time"):
            points = info.vault_history(world.vault, kind=kind, interval=interval)
            assert points["time"].is_monotonic_increasing
            assert len(points) > 4
    assert info.vault_history(world.vault)["value"].iloc[-1] == one["tvl"]


def test_referrals(world: World) -> None:
    info, core = world.trader.info, world.core
    code = info.referral_code().iloc[0]
    assert pd.isna(code["inviter"])
    bound = world.invitee.info.referral_code().iloc[0]
    assert (bound["inviter"], bound["inviter_code"]) == (world.trader.account, code["code"])
    invited = info.referrals()
    assert invited["account"].tolist() == [world.invitee.account]
    fees = -world.invitee.info.ledger(kind="TRADING_FEE")["amount"].sum()
    assert invited["fees"].iloc[0] == pytest.approx(fees)
    assert len(info.referrals(search="zz")) == 0
    payouts = info.referral_payouts()
    received = world.trader.info.ledger(kind="REFERRAL_REBATE")
    assert payouts["amount"].sum() == pytest.approx(received["amount"].sum())
    assert payouts["source"].tolist() == [world.invitee.account]
    summary = info.referral_summary().iloc[0]
    assert (summary["invitees"], summary["reward"]) == (1, pytest.approx(payouts["amount"].sum()))
    assert info.referral_summary(period="24h")["period"].tolist() == ["24h"]
    tiers = info.referral_tiers()
    assert tiers["reward_rate"].tolist() == sorted(tiers["reward_rate"])
    assert (tiers["reward_rate"].iloc[0], tiers["reward_rate"].iloc[-1]) == (0.1, 0.35)
    assert core.state.referrals.accounts


def test_builder_agents(world: World) -> None:
    data = world.data("/info/builder/agents", builder=world.builder.account, includeExpired="true")
    assert (data["total"], data["page"], data["pageSize"]) == (1, 1, 20)
    row = data["agents"][0]
    assert (row["wallet"], row["agent"]) == (world.invitee.account, world.builder_agent)
    assert (row["maxFeeRate"], row["approveState"], row["expired"]) == ("0.0005", "APPROVED", True)
    assert row["expiresAt"] * 1000 == world.core.state.permissions.grants[0].expires
    shown = world.builder.info.builder_agents(include_expired=True)
    assert shown["expires_at"].iloc[0] == pd.Timestamp(row["expiresAt"], unit="s", tz="UTC")
    assert len(world.builder.info.builder_agents()) == 0
    mine = world.invitee.info.builder_agents(wallet=world.invitee.account, include_expired=True)
    assert mine["builder"].tolist() == [world.builder.account]
    status, envelope = world.get("/info/builder/agents")
    assert (status, envelope["code"]) == (400, 40003)
    assert envelope["message"].startswith("builder is required")


def test_the_explorer_shows_every_transaction_and_block(world: World) -> None:
    history = world.core.state.history
    mine = history.transactions.of(world.address())
    shown = world.trader.info.transactions(page_size=500)
    assert shown["tx_hash"].tolist() == [done.hash for done in reversed(mine)]
    assert set(shown["status"]) == {"SUCCESS", "FAILED"}
    one = shown.iloc[2]
    found = world.trader.info.transaction(one["tx_hash"])
    pd.testing.assert_frame_equal(found, shown.iloc[[2]].reset_index(drop=True))
    assert len(world.trader.info.transaction("0x" + "0" * 64)) == 0
    for block in history.blocks[:5]:
        data = world.data("/info/explore/block/detail", blockHeight=block.height)
        assert (data["blockHash"], data["txCount"], data["total"]) == (block.hash, block.count, block.count)
        inside = history.transactions.records[block.first : block.first + block.count]
        assert [row["txHash"] for row in data["items"]] == [done.hash for done in inside]
    empty = world.data("/info/explore/block/detail", blockHeight=world.core.height)
    assert empty["txCount"] == 0


# What holds for every query.


def minimal(world: World, endpoint: Endpoint) -> dict[str, Any]:
    """Return values for the required parameters."""
    known: dict[str, Any] = {
        "userAddr": world.address(),
        "userAddress": world.address(),
        "user": world.address(),
        "builder": world.address(world.builder),
        "vaultAddress": world.vault,
        "agentName": "toolkit-bcd4042d",
        "symbol": 1,
        "symbol_name": "BTCUSDC",
        "interval": 3600,
        "startTime": world.core.state.genesis_time,
        "endTime": world.venue.host.now_ms(),
        "txHash": "0x" + "0" * 64,
        "blockHeight": 1,
    }
    needed = (name for name, one in endpoint.params.items() if one.required or one.leading or name == "builder")
    return {name: known[name] for name in needed}


@pytest.mark.parametrize("endpoint", ENDPOINTS.values(), ids=lambda endpoint: endpoint.name)
def test_answers_hold_the_fields_of_their_record_and_nothing_else(world: World, endpoint: Endpoint) -> None:
    before = world.core.state_hash()
    for row in endpoint.rows(world.data(endpoint.path, **minimal(world, endpoint))):
        assert set(row) == {field.wire for field in endpoint.record.sent}
    assert world.core.state_hash() == before, "a query must not change the state"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("endpoint", ENDPOINTS.values(), ids=lambda endpoint: endpoint.name)
def test_every_method_gives_the_pinned_columns(world: World, endpoint: Endpoint) -> None:
    given = {
        param.name: minimal(world, endpoint)[name]
        for name, param in endpoint.params.items()
        if (param.required or param.leading) and param.fill != "account"
    }
    given |= {"interval": "1h"} if "interval" in given and given["interval"] == 3600 else {}  # on the wire in seconds
    shown = getattr(world.trader.info, endpoint.name)(**given)
    pinned = frames.empty(endpoint.record)
    if endpoint.name == "funding_rate_history":  # the one query with a derived column
        pinned.insert(pinned.columns.get_loc("funding_rate") + 1, "annualised", pd.Series(dtype="float64"))
    assert shown.dtypes.equals(pinned.dtypes)
    twin = asyncio.run(getattr(world.trader.aio.info, endpoint.name)(**given))
    pd.testing.assert_frame_equal(shown, twin)


@pytest.mark.parametrize(
    ("path", "name", "value"),
    [
        ("/info/single", "symbol", 99),
        ("/info/order/states", "symbol", 99),
        ("/info/kline/last", "symbol_name", "DOGEUSDC"),
        ("/info/vault/detail", "vaultAddress", UNUSED),
        ("/info/explore/block/detail", "blockHeight", 10**9),
    ],
)
def test_what_is_well_formed_and_still_not_there_is_named(world: World, path: str, name: str, value: Any) -> None:
    endpoint = next(one for one in ENDPOINTS.values() if one.path == path)
    status, envelope = world.get(path, **(minimal(world, endpoint) | {name: value}))
    assert (status, envelope["code"]) == (400, 40003)
    assert envelope["message"].startswith(f"{name} ")


@pytest.mark.parametrize("name", ["order_states", "order_events", "fills", "ledger", "funding_payments"])
def test_a_query_without_a_page_has_all_rows_oldest_first(world: World, name: str) -> None:
    query = getattr(world.trader.info, name)
    whole = query()
    pages = [query(page=number, page_size=7) for number in range(1, len(whole) // 7 + 2)]
    joined = pd.concat([page for page in pages if len(page)], ignore_index=True)
    pd.testing.assert_frame_equal(whole, joined[::-1].reset_index(drop=True))
    assert whole["time"].is_monotonic_increasing
    if table := {"order_states": "orders", "fills": "fills"}.get(name):
        columns = [column for column in whole.columns if column not in ("role", "type")]  # a venue may not send them
        pd.testing.assert_frame_equal(whole[columns], getattr(world.trader, table)()[columns])
    since = whole["time"].iloc[len(whole) // 2]
    later = getattr(world.trader.info, name)(start=since)
    pd.testing.assert_frame_equal(later, whole[whole["time"] >= since].reset_index(drop=True))


def test_the_client_names_its_own_parameters(world: World) -> None:
    info = world.trader.info
    with pytest.raises(UnknownProduct, match="no product 'DOGE'"):
        info.fills(symbol="DOGE")
    with pytest.raises(MalformedRequest, match=r"^page_size '?501'? is not valid"):
        info.fills(page_size=501)
    with pytest.raises(MalformedRequest, match=r"^start NaT is not a time"):
        info.fills(start=pd.NaT)
    with pytest.raises(MalformedRequest, match=r"^side 'UP' is not a side. Use one of BUY"):
        info.fills(side="UP")
    with pytest.raises(TypeError, match=r"^fills\(\) got an unexpected keyword argument 'sid'. Did you mean 'side'"):
        info.fills(sid="BUY")


def test_symbols_codes_names_and_numbers_are_the_same_to_a_query(world: World) -> None:
    info = world.trader.info
    for one, other in (
        (info.fills(symbol="ETHUSDC"), info.fills(symbol=2)),
        (info.fills(side="SELL"), info.fills(side=2)),
        (info.klines_last("BTCUSDC", "1h"), info.klines_last(1, "60m")),
        (info.fills(start="2026-01-01T19:36"), info.fills(start=pd.Timestamp("2026-01-01T19:36Z"))),
    ):
        pd.testing.assert_frame_equal(one, other)
        assert len(one)
