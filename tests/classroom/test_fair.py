"""A class that nobody wins by reading its future, by money of classmates, or by taking the places of others."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pandas as pd
import pytest

import toolkit
from toolkit import errors
from toolkit.classroom.room import Room


@pytest.fixture
def room() -> Iterator[Room]:
    with toolkit.class_room(["Ann", "Bo", "Cyd"], seed=7, held=True) as made:
        yield made


def advance(room: Room, span: str) -> None:
    room.teacher.venue.advance(span)


def trades_between(room: Room, percent: float) -> int:
    """Let Ann bid for what Bo sells at a price away from the mark, and return how often they traded with each other."""
    ann, bo = room.join("Ann"), room.join("Bo")
    market = room.lesson.venues[0].host.core.state.markets[1]
    price = market.mark / 10 * (1 + percent / 100)
    bo.sell("BTCUSDC", "0.01", price=round(price, 1), tif="GTC")
    ann.buy("BTCUSDC", "0.01", price=round(price, 1), tif="IOC")
    return len(set(ann.fills()["exec_id"]) & set(bo.fills()["exec_id"]))


def test_a_class_has_a_secret_seed_whose_hash_is_known_at_the_start_and_which_is_known_at_the_end() -> None:
    with toolkit.class_room(["Ann"], held=True) as room, toolkit.class_room(["Ann"], held=True) as other:
        about = f"{room.base_url}/class/about.json"
        seed = room.about()["seed"]
        assert seed != other.about()["seed"]
        assert len(bytes.fromhex(seed)) == 16
        assert seed not in repr(room.lesson.venues[0]) + repr(room)
        known = httpx.get(about).json()["data"]
        assert known == {
            "seed_hash": hashlib.sha256(seed.encode()).hexdigest(), "ends": None, "public": False,
        }  # fmt: skip
        room.end_in(1)
        advance(room, "59s")
        assert "seed" not in httpx.get(about).json()["data"]
        room.extend(1)
        advance(room, "60s")
        assert "seed" not in httpx.get(about).json()["data"]
        advance(room, "1s")
        assert httpx.get(about).json()["data"]["seed"] == seed
        for more in (room.extend, room.end_in):
            with pytest.raises(errors.InputError, match="its seed is known"):
                more(1)
        with pytest.raises(errors.ToolkitError, match="the class has ended"):
            room.join("Ann").buy("BTCUSDC", "0.01")


@pytest.mark.parametrize("percent", [-0.3, 0.0, 0.3, 3.0])
def test_classmates_do_not_trade_while_time_is_held_nor_before_the_market_could_answer(
    room: Room, percent: float
) -> None:
    ann = room.join("Ann")
    assert trades_between(room, percent) == 0
    advance(room, "1s")  # by the teacher. It is held again afterwards
    assert trades_between(room, percent) == 0
    room.set_speed(0.001)  # so slow that it is held in all but name
    assert trades_between(room, percent) == 0 or not percent  # what rested at the mark for a second may be taken
    room.hold_time()
    # An exit passes over the classmates' orders, and finds the market behind.
    assert ann.buy("BTCUSDC", "0.01")
    assert ann.close_position("BTCUSDC")
    assert ann.positions().empty


def test_what_classmates_hand_over_is_shown_and_wins_no_rank(tmp_path: Path) -> None:
    with toolkit.class_room(["Ann", "Bo", "Cyd"], market=None, held=True) as room:
        sessions = {name: room.join(name) for name in ("Ann", "Bo", "Cyd")}
        room.go_on()
        sessions["Bo"].sell("BTCUSDC", "0.1", price="62000", tif="GTC")  # half a thousand USDC below the mark
        assert sessions["Ann"].buy("BTCUSDC", "0.1", price="62000", tif="IOC").filled
        room.hold_time()
        board = room.leaderboard().set_index("name")
        assert board["classmates"].round(2).to_dict() == {"Ann": 50.0, "Bo": -50.0, "Cyd": 0.0}
        assert board.loc["Ann", "equity"] > 10_040
        assert board.loc["Ann", "return"] < 0
        assert board.loc["Ann", "market"] == pytest.approx(-board.loc["Ann", "fees"])
        assert board["rank"].isna().to_dict() == {"Ann": False, "Bo": False, "Cyd": True}
        fills = pd.read_parquet(next(path for path in room.export(str(tmp_path)) if "fills" in path))
        assert fills[["student", "counterparty"]].to_numpy().tolist() == [["Ann", "Bo"], ["Bo", "Ann"]]
        room.lesson.venues[0].control.add_liquidity("BTCUSDC", "BUY", "62400", "1")
        room.reset("Ann")
        assert room.leaderboard().set_index("name").loc["Ann", "classmates"] == 0


def test_a_rank_takes_some_trades() -> None:
    with toolkit.class_room(["Ann", "Bo"], seed=7, held=True, least_trades=2) as room:
        room.join("Ann").buy("BTCUSDC", "0.01")
        assert room.leaderboard()["rank"].isna().all()
        room.join("Bo").buy("BTCUSDC", "0.01")
        room.join("Bo").sell("BTCUSDC", "0.01")
        advance(room, "2s")  # the board is as old as a second
        assert room.lesson._standings()[0]["name"] == "Bo"


def refused(attempt: Callable[[], object]) -> str:
    with pytest.raises(errors.ToolkitError) as raised:
        attempt()
    return str(raised.value)


def test_a_new_link_ends_the_old_one_with_all_its_keys(room: Room) -> None:
    old, thief = room.links["Ann"], room.join("Ann")
    thief.buy("BTCUSDC", "0.01")
    agent = toolkit.Wallet.create("agent")
    thief.exchange.approve_agent(agent.agent, "mine", 0)
    with toolkit.connect("local", base_url=room.base_url, wallet=agent, plain_http=True, settle_timeout=0) as other:
        assert other.buy("BTCUSDC", "0.01")
    path = room.new_link("Ann")
    assert room.links["Ann"].endswith(path)
    assert "teacher replaced it" in refused(lambda: toolkit.join(old))
    assert "Join with the new link" in refused(lambda: thief.buy("BTCUSDC", "0.01"))
    with toolkit.connect("local", base_url=room.base_url, wallet=agent, plain_http=True, settle_timeout=0) as other:
        assert refused(lambda: other.buy("BTCUSDC", "0.01"))
    ann = room.join("Ann")
    assert ann.account == thief.account
    assert ann.close_position("BTCUSDC")
    assert ann.positions().empty


def test_a_frozen_student_reads_why_and_can_still_leave(room: Room) -> None:
    ann, bo = room.join("Ann"), room.join("Bo")
    ann.buy("BTCUSDC", "0.01")
    room.freeze_student("Ann", "two machines")
    assert "frozen your trading: two machines" in refused(lambda: ann.buy("BTCUSDC", "0.01"))
    assert bo.buy("BTCUSDC", "0.01")
    assert {row["name"]: row["frozen"] for row in room.seats()}["Ann"] == "two machines"
    assert ann.close_position("BTCUSDC")
    assert ann.positions().empty
    room.unfreeze_student("Ann")
    assert ann.buy("BTCUSDC", "0.01")
    for reason in ("", "x" * 201):
        with pytest.raises(errors.InputError, match="1 to 200 characters"):
            room.freeze_student("Ann", reason)


def test_two_machines_on_one_seat_are_counted(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        toolkit.join(room.links["Ann"]).close()
    machines = {row["name"]: row["machines"] for row in room.seats()}
    assert machines == {"Ann": 1, "Bo": 0, "Cyd": 0}
    monkeypatch.setattr("uuid.getnode", lambda: 1)
    toolkit.join(room.links["Ann"]).close()
    assert {row["name"]: row["machines"] for row in room.seats()}["Ann"] == 2


@pytest.mark.parametrize("form", ["canvas", "moodle"])
def test_marks_follow_the_ranks(room: Room, form: str, tmp_path: Path) -> None:
    room.join("Ann").buy("BTCUSDC", "0.1")
    room.join("Bo").buy("BTCUSDC", "0.01")
    table = pd.read_csv(room.marks(str(tmp_path / "marks.csv"), form, points=10))
    name, grade = ("Student", "Trading") if form == "canvas" else ("Full name", "Grade")
    assert table.set_index(name)[grade].loc[["Ann", "Bo", "Cyd"]].tolist() == [5.0, 10.0, 0.0]
    with pytest.raises(errors.InputError, match="form"):
        room.marks(str(tmp_path / "marks.csv"), "excel")


def test_one_address_full_of_connections_keeps_no_seat_and_no_board_from_the_others(room: Room) -> None:
    host, _, port = room.base_url.removeprefix("http://").partition(":")
    address, held = (host, int(port)), []
    seat = room.join("Bo").environment.base_url.rpartition("/")[2]
    try:
        for number in range(300):
            held.append(socket.create_connection(address))
            path = "/class/about.json" if number % 2 else f"/seat/{seat}/class/about.json"
            held[-1].sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert httpx.get(room.board_url).status_code == 200
        with toolkit.join(room.links["Ann"]) as ann, toolkit.join(room.links["Bo"]) as bo:
            assert ann.buy("BTCUSDC", "0.01")
            assert bo.sell("BTCUSDC", "0.01")
            assert ann.stream.order_book("BTCUSDC")
    finally:
        for each in held:
            each.close()
