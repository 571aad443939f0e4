"""The lab's parts one by one: alarms, steps of an advance, a player's order and precision, faults."""

from __future__ import annotations

import contextlib
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.venue.play import MICRO
from tests.venue.wallets import MASTER, OTHER, Signer
from toolkit.errors import InputError
from toolkit.protocol.hexbytes import to_checksummed
from toolkit.venue.api.gateway import Answer
from toolkit.venue.engine.commands import Control
from toolkit.venue.lab.faults import Fault
from toolkit.venue.lab.journal import Journal, plain
from toolkit.venue.lab.player import Player, fit_row, listed_symbol
from toolkit.venue.local import LocalVenue
from toolkit.venue.model.genesis import Genesis

D = Decimal


# the player


class Tape:
    """Batches by time. Each change names its batch."""

    def __init__(self, times: list[int], price: int, book: bool = True) -> None:
        self.times, self.price, self._book = times, price, book

    def changes(self, number: int) -> list[list[int]]:
        return [[0, 1, 0 if number == 0 else self.price + number, number]]

    def book(self, number: int) -> list[list[int]]:
        return [[0, 1, self.price, number]] if self._book else []


class Recorded:
    """A recording of one product."""

    def __init__(self, symbol: str, tape: Tape, tick: str = "0.1", step: str = "0.001") -> None:
        self.symbol, self.tick_size, self.step_size = symbol, D(tick), D(step)
        self._tape = tape
        self.asked: tuple[Decimal, Decimal] | None = None

    def tape(self, tick_size: Decimal, step_size: Decimal) -> Tape:
        self.asked = tick_size, step_size
        return self._tape


ROWS: list[dict[str, Any]] = [dict(row) for row in Genesis().products]


def test_a_player_gives_the_changes_of_all_products_in_the_order_of_their_times() -> None:
    btc, eth = Tape([10, 20, 30], 600_000), Tape([15, 20, 40], 300_000, book=False)
    player = Player({"ETHUSDC": Recorded("x", eth, "0.01"), "BTCUSDC": Recorded("y", btc)}, ROWS)
    assert (player.products, player.start_ms, player.end_ms, player.next_ms) == ([1, 2], 10, 40, 10)
    assert player.prices == {1: "60000.1", 2: "3000.01"}, "the first that is not 0"

    def change(time: int, code: int, number: int) -> Control:
        return Control(time, "play_recorded", {"product": code, "changes": {1: btc, 2: eth}[code].changes(number)})

    expected = [change(10, 1, 0), change(15, 2, 0), change(20, 2, 1), change(20, 1, 1), change(30, 1, 2),
                change(40, 2, 2)]  # fmt: skip
    times = []
    for command in expected:
        times.append(player.next_ms)
        assert player.take() == command
    assert times == [10, 15, 20, 20, 30, 40]
    assert player.next_ms > 10**15, "nothing comes after the end"
    player.seek(20)
    assert (player.next_ms, player.take()) == (30, change(30, 1, 2))
    player.seek(19)
    assert player.next_ms == 20
    assert player.begin(20) == [
        Control(20, "open_recorded", {"products": [1, 2]}),
        Control(20, "play_recorded", {"product": 1, "changes": btc.book(1)}),
    ], "with what the book has just before, where it has anything"


def test_what_can_not_be_played_is_an_error_with_the_products_that_can() -> None:
    symbols = tuple(row["symbol"] for row in ROWS)
    for replay, rule, words in (
        ({"DOGEUSDC": Recorded("x", Tape([1], 5))}, "listed", "DOGEUSDC is not a product of this venue"),
        (Recorded("DOGEUSDT", Tape([1], 5)), "listed", "DOGEUSDT is not a product"),
        (Recorded("", Tape([1], 5)), "listed", "the recording is not a product"),
        ({"BTCUSDC": Recorded("x", Tape([], 5))}, "not empty", "BTCUSDC: the recording is empty"),
        ({"BTCUSDC": 5}, "events", "not int"),
    ):
        with pytest.raises(InputError, match=words) as caught:
            Player(replay, ROWS)  # type: ignore[arg-type]
        assert (caught.value.field, caught.value.rule) == ("replay", rule)
        assert tuple(caught.value.nearest) == (symbols if rule == "listed" else ())


@pytest.mark.parametrize(
    ("symbol", "product"),
    [("BTCUSDC", "BTCUSDC"), ("BTCUSDT", "BTCUSDC"), ("btc-usd-perp", "BTCUSDC"), ("ETH_USD", "ETHUSDC"),
     ("XRPUSD", "XRPUSDC"), ("USDBTC", None), ("BTCEUR", None), ("", None)],
)  # fmt: skip
def test_a_recording_in_another_dollar_is_of_the_product_in_usdc(symbol: str, product: str | None) -> None:
    if product is not None:
        assert listed_symbol(symbol, ROWS) == product
        return
    with pytest.raises(InputError, match="is not a product of this venue"):
        listed_symbol(symbol, ROWS)
    with pytest.raises(InputError, match="is not a product"):  # two of them would fit
        listed_symbol("BTCUSD", [*ROWS, {"symbol": "BTCUSDX", "baseCurrency": "BTC"}])


@pytest.mark.parametrize(
    ("tick", "step", "expected"),
    [
        ("0.1", "0.001", ("0.1", "0.001", 1, 3)),
        ("0.5", "0.002", ("0.1", "0.001", 1, 3)),  # multiples of its own: these are fine enough
        ("0.01", "0.001", ("0.01", "0.001", 2, 3)),
        ("0.1", "0.0005", ("0.1", "0.0005", 1, 4)),
        ("0.0001", "0.001", ("0.0001", "0.01", 4, 2)),  # a fill is exact to 0.000001
        ("0.25", "0.001", ("0.25", "0.001", 2, 3)),
        ("3", "2", ("0.1", "0.001", 1, 3)),
    ],
)
def test_a_product_gets_a_recordings_steps_only_where_its_own_are_coarser(
    tick: str, step: str, expected: tuple[str, str, int, int]
) -> None:
    row: dict[str, Any] = {"tickSize": "0.1", "stepSize": "0.001"}
    fit_row(row, D(tick), D(step))
    assert (row["tickSize"], row["stepSize"], row["pricePrecision"], row["qtyPrecision"]) == expected
    whole: dict[str, Any] = {"tickSize": "100", "stepSize": "10"}
    fit_row(whole, D(100), D(10))
    assert (whole["pricePrecision"], whole["qtyPrecision"]) == (0, 0)


@pytest.mark.parametrize("count", [1, 3, None])
@pytest.mark.parametrize("after", [0, 2])
def test_a_fault_passes_so_many_matches_then_triggers_so_often(after: int, count: int | None) -> None:
    fault = Fault("refuse", after=after, count=count)
    found = [fault.triggers() for _ in range(8)]
    hits = 8 - after if count is None else count
    assert found == [False] * after + [True] * hits + [False] * (8 - after - hits)
    assert (fault.struck, fault.done) == (hits, count is not None)
    frozen = Fault("feed-freeze", count=1)
    assert [frozen.triggers() for _ in range(3)] == [True] * 3
    assert frozen.done is False, "it lasts until it is removed"


def get(venue: LocalVenue, path: str = "/info/public/product-meta", query: str = "", peer: str = "peer") -> Answer:
    return venue.host.gateway.handle("GET", path, query, b"", peer)


@pytest.mark.parametrize(("delay", "seconds"), [("1ms", "1"), ("1s", "1"), ("1001ms", "2"), ("90s", "90")])
def test_a_429_says_whole_seconds_that_are_never_too_early(venue: LocalVenue, delay: str, seconds: str) -> None:
    venue.control.add_fault("status", status=429, delay=delay)
    answer = get(venue)
    assert (answer.status, answer.body, answer.broken) == (429, b"<html>scripted fault</html>", "")
    assert (answer.headers["content-type"], answer.headers["retry-after"]) == ("text/html", seconds)
    venue.control.add_fault("status-after", status=502)
    answer = get(venue)
    assert (answer.status, answer.headers["content-type"]) == (502, "text/html")
    assert "retry-after" not in answer.headers


def test_garbage_is_half_of_the_answer_and_a_late_answer_adds_its_delay(venue: LocalVenue) -> None:
    whole = get(venue).body
    venue.control.add_fault("garbage")
    assert get(venue).body == whole[: len(whole) // 2]
    for _ in range(2):
        venue.control.add_fault("late-answer", delay="1500ms")
    assert (get(venue).delay, get(venue).delay) == (3.0, 0.0)
    venue.control.add_fault("code", path="/info/*", code=40220)
    assert json.loads(get(venue).body)["message"] == "code 40220 (scripted fault)"


def test_of_several_faults_before_a_command_the_first_that_was_added_applies_and_all_are_counted(
    venue: LocalVenue,
) -> None:
    first = venue.control.add_fault("lose-request", count=2)
    second = venue.control.add_fault("cut-request", count=2)
    assert [get(venue).broken for _ in range(3)] == ["timeout", "timeout", ""]
    assert (first.struck, second.struck) == (2, 2)
    assert venue.host.faults.requests.active is False


def test_late_requests_arrive_each_at_its_time_and_meet_no_other_fault(venue: LocalVenue) -> None:
    def balance() -> int:
        return venue.host.core.state.accounts[MASTER.address.lower()].balance // MICRO

    signer, requests = Signer(MASTER), venue.host.faults.requests
    for delay in ("10ms", "30ms", "20ms"):
        venue.control.add_fault("late-request", action="withdraw", delay=delay)
        signer.post(venue, {"type": "withdraw", "destination": OTHER.address, "amount": "10"})
    assert requests.active
    assert len(requests) == 0
    found = []
    for _ in range(4):
        venue.advance("9ms")
        found.append(balance())
    assert found == [10_000, 9_990, 9_980, 9_970]
    assert not requests.active


def test_accounts_are_compared_in_lower_case_and_an_unknown_one_matches_nobody(venue: LocalVenue) -> None:
    fault = venue.control.add_fault("refuse", account=to_checksummed(MASTER.address), count=None)
    assert fault.account == MASTER.address.lower()
    for name in ("userAddr", "userAddress", "user", "wallet"):
        path = {"userAddress": "/info/vault/user-list", "user": "/info/explore/transaction/page",
                "wallet": "/info/builder/agents"}.get(name, "/info/account/wallet")  # fmt: skip
        assert get(venue, path, f"{name}={MASTER.address.upper().replace('0X', '0x')}").broken == "refused", name
        assert get(venue, path, f"{name}={OTHER.address}").broken == "", name
    assert get(venue).broken == ""


def feed(venue: LocalVenue, peer: str = "one", **topic: Any) -> Any:
    connection = venue.host.feed.open(peer)
    connection.send(json.dumps({"method": "subscribe", "subscription": topic or {"type": "blockHeight"}}))
    connection.drain()
    return connection


def texts(connection: Any) -> list[dict[str, Any]]:
    return [json.loads(one) for one in connection.drain()]


def test_feed_faults_of_one_peer_or_channel_leave_the_others_alone(venue: LocalVenue) -> None:
    one, two = feed(venue), feed(venue, "two")
    faults = venue.host.feed.faults
    for kind, amount in (("drop", 0), ("duplicate", 2)):
        faults.add(kind, peer="one")
        venue.advance("1s")
        assert (len(texts(one)), len(texts(two))) == (amount, 1)
        faults.add(kind, channel="trades")
        venue.advance("1s")
        assert (len(texts(one)), len(texts(two))) == (1, 1)
        faults.clear()
    three = feed(venue, "three")
    with venue.host.lock:
        three.close_locked("slow", 1008)
    assert faults.cut(peer="three") == 0, "it is closed, though its place is not given back yet"
    assert faults.cut(peer="two") == 1
    assert (one.closed, two.closed) == (False, True)
    assert faults.cut() == 1
    assert (one.closed, one.reason, faults.cut()) == (True, "cut (scripted fault)", 0)
    with pytest.raises(InputError, match="fault 'refuse' is none of drop, duplicate, skip, freeze, cut") as caught:
        faults.add("refuse")
    assert caught.value.nearest == ("drop", "duplicate", "skip", "freeze", "cut")
    made = faults.add("drop")
    assert (made.kind, made.after, made.count, made.channel, made.peer) == ("feed-drop", 0, 1, "", "")


def test_a_freeze_holds_all_messages_and_answers_until_the_last_one_is_lifted(venue: LocalVenue) -> None:
    connection, other = feed(venue), feed(venue, "two")
    faults = venue.host.feed.faults
    whole, channel = faults.add("freeze", peer="one"), faults.add("freeze", channel="trades")
    venue.advance("2s")
    connection.send('{"method":"ping"}')
    other.send('{"method":"ping"}')
    assert texts(connection) == []
    assert len(texts(other)) == 2
    whole.remove()
    assert texts(connection) == [], "another freeze is still there"
    channel.remove()
    held = texts(connection)
    assert [one["channel"] for one in held] == ["blockHeight", "pong"]
    late = faults.add("freeze", after=1)
    connection.send('{"method":"ping"}')
    assert len(texts(connection)) == 1, "it has not begun"
    venue.advance("2s")
    assert len(texts(connection)) == 1
    connection.send('{"method":"ping"}')
    assert texts(connection) == []
    late.remove()
    assert [one["channel"] for one in texts(connection)] == ["pong"]


@pytest.mark.parametrize(
    ("text", "field"),
    [("refuse chance=1.1", "chance"), ("refuse chance=-0.1", "chance"), ("status status=199", "status"),
     ("status status=600", "status"), ("refuse after=-1", "count"), ("refuse count=0", "count"),
     ("feed-drop chance=0.5", "kind"), ("feed-drop path=/x", "kind"), ("feed-drop account=0x1", "kind"),
     ("refuse count=", "fault"), ("refuse =5", "fault"), ("late-answer channel=trades", "channel")],
)  # fmt: skip
def test_a_wrong_fault_names_its_field_and_the_limits_themselves_pass(venue: LocalVenue, text: str, field: str) -> None:
    with pytest.raises(InputError) as caught:
        venue.control.add_fault(text)
    assert caught.value.field == field
    for good in ("refuse chance=0", "refuse chance=1", "status status=200", "status status=599", "refuse count=1"):
        assert venue.control.add_fault(good)
    assert venue.control.add_fault("refuse count=all chance=0.5 status=502").count is None
    with pytest.raises(InputError, match="'often' is no setting of a fault"):
        venue.control.add_fault("refuse", often=1)


GENESIS = Genesis(settings={"market": False})


def test_a_controls_arguments_are_those_that_are_read_back() -> None:
    given = {"a": (1, 2), "b": {1: Decimal("0.5")}, "c": None, "d": [True, "x"]}
    assert plain(given) == {"a": [1, 2], "b": {"1": "0.5"}, "c": None, "d": [True, "x"]}
    deep: list[Any] = []
    deep.append(deep)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000)  # some packages raise it, and the stack of C ends before it is reached
    try:
        for wrong in ({"a": object()}, {"a": 1 << 70}, {"a": deep}):
            with pytest.raises(InputError, match="a control takes numbers, texts, lists and dictionaries"):
                plain(wrong)
    finally:
        sys.setrecursionlimit(before)


def test_what_an_interrupted_creation_has_left_is_no_part_of_a_new_file(tmp_path: Path) -> None:
    for name in ("j.new", "j.new-journal", "j-journal"):
        (tmp_path / name).write_bytes(b"left by a crash")
    with contextlib.closing(Journal.create(tmp_path / "j", GENESIS, sync="os")) as journal:
        assert journal.count == 0
    assert {one.name for one in tmp_path.iterdir() if one.stat().st_size} == {"j"}
