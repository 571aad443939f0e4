"""The tables of a session by hand: which queries they send at which time, and which rows they keep."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.client.fake import BTC, META
from tests.client.reads.test_reading import ETH, NOW, USER, World
from toolkit.client.io.flow import Driver, Runtime, Synchronous
from toolkit.client.reads import frames
from toolkit.client.reads.table_flows import TableFlows
from toolkit.environments import TESTNET
from toolkit.errors import BadAnswer, DataWarning, InputError
from toolkit.protocol.reads.endpoint import MAX_TIME
from toolkit.protocol.reads.info_queries import ENDPOINTS

MINUTE = 60_000
D = Decimal


class Tables(TableFlows, Synchronous):
    """The tables over a World, without a session."""

    def __init__(self, world: World, stream: Any = None, account: str | None = None) -> None:
        self.environment = TESTNET
        self.info = SimpleNamespace(_reader=world.reader)
        self.stream = stream
        self._catalogue = world.catalogue
        self.account = account
        self._driver = Driver(world.send, Runtime(now=lambda: world.now), sleep=lambda _: None)


def asked(world: World, *names: str) -> list[tuple[str, dict[str, str]]]:
    """Return the queries with these names that were sent, without the parameters that all of them have."""
    usual = ("symbol_name", "interval", "userAddr", "page", "pageSize")
    paths = {ENDPOINTS[name].path: name for name in names}
    return [
        (paths[one.path], {name: value for name, value in one.query if name not in usual})
        for one in world.sent
        if one.path in paths
    ]


# Live objects.


class Stream:
    """Live objects with one frame each, and how many were open simultaneously."""

    def __init__(self, frames_of: Callable[..., pd.DataFrame]) -> None:
        self.frames_of = frames_of
        self.open = self.most = 0
        self.made: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *given: Live(self, name, given)


class Live:
    def __init__(self, stream: Stream, name: str, given: tuple[Any, ...]) -> None:
        self.stream, self.what = stream, (name, *given)

    def __enter__(self) -> Live:
        self.stream.made.append(self.what)
        self.stream.open += 1
        self.stream.most = max(self.stream.most, self.stream.open)
        return self

    def __exit__(self, *error: object) -> None:
        self.stream.open -= 1

    def frame(self, *, exact: bool) -> pd.DataFrame:
        return self.stream.frames_of(*self.what, exact=exact)


def many(count: int, **changed: Any) -> list[dict[str, Any]]:
    return [{**BTC, "symbol": f"C{at}USDC", "code": str(at), **changed} for at in range(1, count + 1)]


@pytest.mark.parametrize(("count", "most"), [(1, 1), (25, 25), (26, 25), (51, 25)])
def test_half_of_the_subscriptions_of_a_connection_are_open_at_a_time(count: int, most: int) -> None:
    world = World(products={**META, "perpProducts": many(count)})
    stream = Stream(lambda name, symbol, exact: pd.DataFrame({"symbol": [symbol], "last": [D(1) if exact else 1.0]}))
    made = Tables(world, stream).tickers(exact=True)
    assert made.index.tolist() == [f"C{at}USDC" for at in range(1, count + 1)]
    assert isinstance(made["last"].iloc[0], Decimal)
    assert (stream.most, stream.open, len(stream.made)) == (most, 0, count)


def traded(symbol: str, *times_ms: int) -> pd.DataFrame:
    times = pd.DatetimeIndex(np.array(times_ms, dtype="M8[ms]")).tz_localize("UTC")
    frame = pd.DataFrame({"time": times, "symbol": symbol, "number": range(len(times_ms))})
    frame.attrs["subject"] = f"trades.{symbol}"
    return frame


def test_trades_of_several_products_are_by_time_and_at_one_time_in_the_order_of_the_products() -> None:
    parts = {"BTCUSDC": traded("BTCUSDC", NOW, NOW + 5, NOW + 5), "ETHUSDC": traded("ETHUSDC", NOW, NOW + 1, NOW + 5)}
    tables = Tables(World(), Stream(lambda name, symbol, exact: parts[symbol]))
    made = tables.trades(["ETHUSDC", "BTCUSDC"])
    order = ["ETHUSDC", "BTCUSDC", "ETHUSDC", "ETHUSDC", "BTCUSDC", "BTCUSDC"]
    assert (made["symbol"].tolist(), made["number"].tolist()) == (order, [0, 0, 1, 2, 1, 2])
    assert list(made.index) == list(range(6))
    made = tables.trades(["BTCUSDC", "ETHUSDC"], NOW, NOW + 4, limit=1)
    assert made[["symbol", "number"]].values.tolist() == [["BTCUSDC", 0], ["ETHUSDC", 1]]
    pd.testing.assert_frame_equal(tables.trades("BTCUSDC", limit=2), parts["BTCUSDC"].tail(2).reset_index(drop=True))
    with pytest.warns(DataWarning, match=r"trades\.ETHUSDC: the trades that the feed sent begin at"):
        tables.trades(2, NOW - 1)


@pytest.mark.parametrize("exact", [True, False])
def test_fee_rates_are_read_for_the_account_that_is_known(exact: bool) -> None:
    def own(name: str, account: str, exact: bool) -> pd.DataFrame:
        assert (name, account, exact) == ("account", USER, True)
        return pd.DataFrame({"maker_fee_rate": [D("-0.00002")], "taker_fee_rate": [D("0.0003")]})

    known, unknown = (Tables(World(), Stream(own), account) for account in (USER, None))
    for tables, rates in ((known, ["-0.00002", "0.0003"]), (unknown, ["0.0001", "0.0006"])):
        made = tables.fee_rates(exact=exact)
        assert made.index.tolist() == ["BTCUSDC", "ETHUSDC"]
        assert made.to_numpy().tolist() == [[D(one) if exact else float(one) for one in rates]] * 2


def test_the_wallet_of_a_cross_position_is_read_with_its_zeros() -> None:
    amounts = {"longSize": "2", "shortSize": "0", "longEntryValue": "180", "shortEntryValue": "0", "leverage": "10"}
    modes = {"positionMode": "ONE_WAY", "positionMarginMode": "ISOLATED", "assignedPosBalance": "30"}
    row = {**amounts, **modes, "symbolCode": 1, "curMarkPx": "100", "userAddr": USER, "createTime": NOW}
    row |= {"unrealizedPnl": "20", "cumRealizedPnl": "0", "cumTransactionFee": "0", "blockTime": NOW}
    wallet = {"userAddr": USER, "currency": 1, "balance": "90", "availableBalance": "90", "equity": "100", "status": 1}
    wallet |= {"availableTransferBalance": "90", "blockHeight": 1, "blockTime": NOW}
    cross = {**row, "symbolCode": 2, "positionMarginMode": "CROSS"}
    world = World(positions=[row, cross], wallet_balances=[wallet])
    tables = Tables(world)
    whole = tables.positions(exact=True)
    assert asked(world, "positions", "wallet_balances") == [
        ("positions", {}),
        ("wallet_balances", {"includeZero": "true"}),
    ]
    assert whole["margin"].to_dict() == {"BTCUSDC": 30, "ETHUSDC": 18}
    assert whole["liquidation_price"].notna().all(), "the equity of the wallet decides that of the cross position"
    assert whole.attrs["raw"].json()[0]["data"] == [row, cross]
    one = tables.positions("ETHUSDC", exact=True, index=None)
    pd.testing.assert_frame_equal(one, whole.loc[["ETHUSDC"]].reset_index())
    world.answers["positions"] = [row]
    world.sent.clear()
    assert len(tables.positions()) == 1
    assert asked(world, "wallet_balances") == []
    assert tables.wallet_balances()["equity"].tolist() == [100]
    assert asked(world, "wallet_balances") == [("wallet_balances", {"includeZero": "true"})]


# Orders and fills.


def order(number: int, status: str, at: int, **changed: Any) -> dict[str, Any]:
    amounts = {"price": "100", "qty": "2", "filledQty": "0", "leaveQty": "2"}
    row = {"ordId": str(number), "symbol": 1, "side": 1, "type": 1, "status": status, "blockTime": NOW + at}
    absent = dict.fromkeys(ENDPOINTS["order_states"].record.expected, 0)
    return {**absent, **row, **amounts, "userAddr": USER, **changed}


def listed(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"total": len(rows), "items": rows}


@pytest.mark.parametrize(
    ("given", "statuses"),
    [
        ({}, [None]),
        ({"open": True}, ["UNTRIGGERED", "NEW", "PARTIALLY_FILLED"]),
        ({"status": "Open"}, ["UNTRIGGERED", "NEW", "PARTIALLY_FILLED"]),
        ({"status": "open", "open": True}, ["UNTRIGGERED", "NEW", "PARTIALLY_FILLED"]),
        ({"open": True, "status": "new"}, ["NEW"]),
        ({"status": "filled"}, ["FILLED"]),
    ],
)
def test_orders_are_asked_for_by_the_status_that_is_wanted(given: dict[str, Any], statuses: list[str | None]) -> None:
    world = World(order_states=listed([]))
    made = Tables(world).orders("BTCUSDC", **given)
    usual = {"symbol": "1"}
    names = [{} if one is None else {"status": World().query("order_states", status=one)["status"]} for one in statuses]
    assert asked(world, "order_states") == [("order_states", {**usual, **one}) for one in names]
    pd.testing.assert_frame_equal(made, frames.empty(ENDPOINTS["order_states"].record))


def test_an_order_that_moves_on_between_two_queries_is_shown_once_in_its_latest_state() -> None:
    def answer(query: dict[str, str]) -> Any:
        name = {World().query("order_states", status=one)["status"]: one for one in ("NEW", "PARTIALLY_FILLED")}
        rows = {
            "NEW": [order(7, "NEW", 1), order(8, "NEW", 2)],
            "PARTIALLY_FILLED": [order(9, "PARTIALLY_FILLED", 0), order(7, "PARTIALLY_FILLED", 5)],
        }
        return listed(rows.get(name.get(query["status"], ""), []))

    made = Tables(World(order_states=answer)).orders(open=True)
    assert made[["order_id", "status"]].to_numpy().tolist() == [
        [9, "PARTIALLY_FILLED"],
        [8, "NEW"],
        [7, "PARTIALLY_FILLED"],
    ]
    assert list(made.index) == [0, 1, 2]
    assert len(made.attrs["raw"].pages) == 3


@pytest.mark.parametrize("given", [{}, {"open": True}])
def test_an_order_without_its_number_is_no_answer(given: dict[str, Any]) -> None:
    rows = [{name: value for name, value in order(7, "NEW", 1).items() if name != "ordId"}]
    with pytest.raises(BadAnswer, match="ordId"):
        Tables(World(order_states=listed(rows))).orders(**given)


def test_open_is_true_or_false() -> None:
    with pytest.raises(InputError, match=r"open is 'yes' \(str\)\. Give True or False"):
        Tables(World()).orders(open="yes")  # type: ignore[arg-type]


def filled(number: int, at: int, **changed: Any) -> dict[str, Any]:
    row = {"id": str(number), "blockTime": NOW + at, "symbol": 1, "side": 1, "filledPx": "100", "execQty": "2"}
    absent = dict.fromkeys(ENDPOINTS["fills"].record.expected, 0)
    fees = {"openFee": "0.5", "closeFee": "0.25"}
    return {**absent, **row, **fees, "orderId": number + 50, "userAddr": USER, "txHash": f"0x{number:064x}", **changed}


class Fills(World):
    """Fills by number, the roles of some of them, and events with the types of some of their orders."""

    def __init__(self, fills: list[dict[str, Any]], roles: dict[int, str], types: dict[int, str]) -> None:
        super().__init__()
        self.fills, self.roles, self.types = fills, roles, types
        self.answers |= {"fills": self.found, "order_events": self.events}

    def found(self, query: dict[str, str]) -> Any:
        first, last = int(query.get("startTime", 0)), int(query.get("endTime", MAX_TIME))
        inside = [row for row in self.fills if first <= row["blockTime"] <= last]
        if role := query.get("role"):
            inside = [row for row in inside if self.roles.get(int(row["id"])) == role]
        return listed(inside[::-1])

    def events(self, query: dict[str, str]) -> Any:
        rows = [
            {"id": str(at), "ordId": str(number), "ordType": name, "blockTime": int(query["startTime"])}
            for at, (number, name) in enumerate(self.types.items())
        ]
        return listed(rows[::-1])


FILLED = [filled(1, 0), filled(2, 5), filled(3, 9)]
ROLES = {1: "MAKER", 2: "TAKER", 3: "MAKER"}
TYPES = {51: "LIMIT", 52: "MARKET", 53: "LIMIT"}


def of_roles(first: int, last: int, *roles: str) -> list[tuple[str, dict[str, str]]]:
    span = {"startTime": str(NOW + first), "endTime": str(NOW + last)}
    return [*(("fills", {"role": one, **span}) for one in roles), ("order_events", span)]


def test_role_and_type_are_asked_for_in_the_window_of_the_fills_that_are_not_known() -> None:
    world = Fills(FILLED[:2], ROLES, TYPES)
    tables = Tables(world)
    made = tables.fills()
    assert asked(world, "fills", "order_events") == [("fills", {}), *of_roles(0, 5, "MAKER", "TAKER")]
    assert made[["id", "role", "type"]].to_numpy().tolist() == [["1", "MAKER", "LIMIT"], ["2", "TAKER", "MARKET"]]
    assert (made["value"].tolist(), made["fee"].tolist()) == ([200, 200], [0.75, 0.75])
    world.fills = FILLED
    world.sent.clear()
    assert tables.fills()["role"].tolist() == ["MAKER", "TAKER", "MAKER"]
    assert asked(world, "fills", "order_events") == [("fills", {}), *of_roles(9, 9, "MAKER", "TAKER")]
    world.sent.clear()
    assert tables.fills()["type"].tolist() == ["LIMIT", "MARKET", "LIMIT"]
    assert asked(world, "fills", "order_events") == [("fills", {})]


@pytest.mark.parametrize(("role", "expected"), [("MAKER", [1, 3]), ("TAKER", [2])])
def test_fills_of_one_role_have_it_without_a_further_question(role: str, expected: list[int]) -> None:
    world = Fills(FILLED, ROLES, TYPES)
    made = Tables(world).fills(role=role)
    first, last = FILLED[expected[0] - 1]["blockTime"] - NOW, FILLED[expected[-1] - 1]["blockTime"] - NOW
    assert asked(world, "fills", "order_events") == [("fills", {"role": role}), *of_roles(first, last)]
    assert made["role"].tolist() == [role] * len(expected)
    assert made["type"].tolist() == [TYPES[number + 50] for number in expected]


@pytest.mark.parametrize(
    "fills",
    [[], [{**row, "role": "TAKER", "ordType": "LIMIT"} for row in FILLED], [FILLED[0], filled(4, 9, role="MAKER")]],
)
def test_nothing_more_is_asked_for_where_a_venue_sends_roles_or_there_are_no_fills(fills: list[dict[str, Any]]) -> None:
    world = Fills(fills, ROLES, TYPES)
    made = Tables(world).fills()
    assert asked(world, "fills", "order_events") == [("fills", {})]
    assert [None if pd.isna(one) else one for one in made["role"]] == [row.get("role") for row in fills]


def test_a_fill_without_what_it_needs_is_no_answer() -> None:
    rows = [FILLED[0], {name: value for name, value in FILLED[1].items() if name != "orderId"}]
    with pytest.raises(BadAnswer, match="orderId"):
        Tables(Fills(rows, ROLES, TYPES)).fills()


@pytest.mark.parametrize(("kept", "known"), [(1, 1), (2, 3)])
def test_roles_are_forgotten_only_where_more_are_known_than_are_kept(
    kept: int, known: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolkit.client.reads.table_flows._KNOWN_FILLS", kept)
    world = Fills(FILLED[:2], ROLES, TYPES)
    tables = Tables(world)
    tables.fills()
    world.fills = FILLED
    tables.fills(None, NOW + 9)
    assert len(world.reader.known_fills) == known


class Market(World):
    """Candles of every interval from 1970 to now. Each request for candles passes `passing_ms`."""

    passing_ms = 0

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW + MINUTE // 2
        self.answers |= {"klines": self.inside, "klines_before": self.before}

    def inside(self, query: dict[str, str]) -> list[dict[str, Any]]:
        found = self.rows(int(query["interval"]), int(query["startTime"]), min(int(query["endTime"]), self.now))
        self.now += self.passing_ms
        return found

    def before(self, query: dict[str, str]) -> list[dict[str, Any]]:
        last_ms = min(int(query["timestamp"]) - 1, self.now)
        return self.rows(int(query["interval"]), 0, last_ms, int(query["limit"]))

    def rows(self, interval_s: int, first_ms: int, last_ms: int, limit: int = 1_000) -> list[dict[str, Any]]:
        last = last_ms // 1000 // interval_s
        first = max(-(-first_ms // 1000 // interval_s), last - limit + 1)
        prices = dict.fromkeys(("open", "high", "low", "close", "volume", "turnover"), "1")
        return [
            {"symbolName": "BTCUSDC", "timestamp": at * interval_s, "intrvl": interval_s, **prices, "tradeCount": 1}
            for at in range(max(1, first), last + 1)
        ]


def minutes(frame: pd.DataFrame) -> list[int]:
    return [round((at.timestamp() * 1000 - NOW) / MINUTE) for at in frame.index]


def window(first: int, stop: int) -> tuple[str, dict[str, str]]:
    return "klines", {"startTime": str(NOW + first * MINUTE), "endTime": str(NOW + stop * MINUTE - 1)}


@pytest.mark.parametrize(
    ("given", "queries", "expected"),
    [
        ({"limit": 2}, [window(-2, 1)], [-1, 0]),
        ({"limit": 2, "closed": True}, [window(-2, 1)], [-2, -1]),
        ({"limit": 2, "end": NOW - 10 * MINUTE}, [window(-12, -9)], [-11, -10]),
        ({"limit": 1, "start": NOW - 2 * MINUTE}, [window(-2, 1)], [-2, -1, 0]),
        ({"start": NOW - 2 * MINUTE, "closed": True}, [window(-2, 1)], [-2, -1]),
        ({"start": NOW - 2 * MINUTE, "end": NOW - MINUTE}, [window(-2, 0)], [-2, -1]),
        ({"start": NOW - 2 * MINUTE, "end": NOW - MINUTE - 1}, [window(-2, -1)], [-2]),
        ({"start": NOW - MINUTE, "end": NOW - MINUTE}, [window(-1, 0)], [-1]),
        ({"start": NOW, "end": NOW + 9 * MINUTE}, [window(0, 1)], [0]),
        (
            {"start": NOW + MINUTE // 2},
            [("klines", {"startTime": str(NOW + MINUTE // 2), "endTime": str(NOW + MINUTE - 1)})],
            [],
        ),
        (
            {"limit": 2, "end": NOW + 9 * MINUTE},
            [("klines_before", {"timestamp": str(NOW + MINUTE // 2 + 1), "limit": "3"})],
            [-1, 0],
        ),
    ],
)
def test_candles_are_those_that_start_in_the_window_or_the_last_ones(
    given: dict[str, Any], queries: list[Any], expected: list[int]
) -> None:
    world = Market()
    made = Tables(world).klines("BTCUSDC", "1m", **given)
    assert (asked(world, "klines", "klines_before"), minutes(made)) == (queries, expected)


def test_a_start_below_a_day_is_a_number_of_candles_and_a_day_is_a_time() -> None:
    tables = Tables(Market())
    with pytest.raises(InputError, match="A number of candles is limit=86399999"):
        tables.klines("BTCUSDC", "1w", 86_399_999)
    assert len(tables.klines("BTCUSDC", "1w", 86_400_000)) > 1_000
    assert len(tables.klines("BTCUSDC", "1w", 0)) > 2_900


@pytest.mark.parametrize("from_start", [True, False])
@pytest.mark.parametrize(("end_ms", "reads"), [(None, 3), (0, 1), (MINUTE * 3 // 2, 2), (MINUTE * 10, 3)])
def test_candles_are_read_again_where_another_began_meanwhile_three_times_at_most(
    from_start: bool, end_ms: int | None, reads: int
) -> None:
    world = Market()
    world.passing_ms = MINUTE
    end = None if end_ms is None else NOW + end_ms
    given: dict[str, Any] = {"start": NOW - MINUTE} if from_start else {"limit": 20}
    made = Tables(world).klines("BTCUSDC", "1m", end=end, **given)
    assert [int(query["endTime"]) for _, query in asked(world, "klines")] == [
        NOW + (number + 1) * MINUTE - 1 for number in range(reads)
    ]
    assert minutes(made)[-1] == reads - 1


def test_a_start_after_now_is_compared_with_the_time_of_an_answer_once() -> None:
    world = Market()
    tables = Tables(world)
    tables.klines("BTCUSDC", "1m", limit=1)
    later = {**META, "perpProducts": [BTC, ETH]}

    def products(query: dict[str, str]) -> dict[str, Any]:
        world.now = NOW + 2 * MINUTE
        return later

    world.answers["products"] = products
    world.sent.clear()
    with pytest.raises(InputError, match=f"^start {NOW + MINUTE} is after end {NOW}$"):
        tables.klines("BTCUSDC", "1m", NOW + MINUTE, NOW)
    assert world.sent == [], "the end decides"
    assert minutes(tables.klines("BTCUSDC", "1m", NOW + MINUTE)) == [1, 2]
    assert [one.path for one in world.sent].count(ENDPOINTS["products"].path) == 1
    with pytest.raises(InputError, match=f"^start {NOW + 9 * MINUTE} is after now$"):
        tables.klines("BTCUSDC", "1m", NOW + 9 * MINUTE)
