"""`toolkit.class_room`: a class as an object, which can't be won with anything but trades."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

import toolkit
from toolkit import errors, orders
from toolkit.classroom.class_results import COLUMNS
from toolkit.venue import development

WORDS = development.new_mnemonic()
STUDENTS = [f"Student {number:02}" for number in range(30)]


@pytest.fixture(autouse=True)
def _computed_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute each leaderboard when it is asked for."""
    monkeypatch.setattr("toolkit.classroom.lesson.CACHED_SECONDS", 0.0)
    monkeypatch.setattr("toolkit.classroom.lesson.CACHED_TIMES", 0.0)


def stranger(room: toolkit.classroom.room.Room, number: int) -> toolkit.Session:  # type: ignore[name-defined]
    """A session with keys that are not of the class."""
    keys = development.agent(number, WORDS).key, development.master(number, WORDS).key
    return toolkit.connect("local", base_url=room.base_url, wallet=toolkit.Wallet(*keys), settle_timeout=0)


def test_a_class_is_served_while_the_block_runs_and_its_tables_are_frames() -> None:
    with toolkit.class_room(["Ann", "Bo"], seed=7, held=True) as room:
        ann = room.join("Ann")
        assert ann.wallet_balances()["balance"].tolist() == [10_000.0]
        assert ann.buy("BTCUSDC", "0.01")
        with pytest.raises(errors.InputError, match="no student 'Zed'"):
            room.join("Zed")
        who = room.who().set_index("name")
        assert who["joined"].notna().to_dict() == who["seen"].notna().to_dict() == {"Ann": True, "Bo": False}
        assert str(who["joined"].dt.tz) == "UTC"
        board = room.leaderboard()
        assert list(board.columns) == list(COLUMNS)
        assert board["name"].tolist() == ["Ann", "Bo"]
        assert room.status() == room.teacher.venue.control.status() == {
            "time": 1_767_225_600_000, "speed": 0, "frozen": False,
        }  # fmt: skip
        assert httpx.get(room.board_url).status_code == httpx.get(room.teacher_url).status_code == 200
        assert toolkit.join(f" '{room.links['Bo']}' ").account
        with pytest.raises(AttributeError, match="freeze"):
            room.freze  # noqa: B018
        assert not any(link.rpartition("/")[2] in repr(room) for link in room.links.values())
    with pytest.raises(errors.TransportError):
        toolkit.join(room.links["Bo"])


def refusal(attempt: Callable[[toolkit.Session], object], session: toolkit.Session) -> str:
    """Return what an attempt is refused with, "" for none."""
    try:
        attempt(session)
    except errors.ToolkitError as error:  # an exchange's refusal proves nothing for some actions: OutcomeUnknown
        return str(error)
    return ""


CLOSED: dict[str, tuple[str, Callable[[toolkit.Session], object]]] = {
    "faucet": ("faucet", lambda s: s.exchange.faucet_claim()),
    "builder": ("builders", lambda s: toolkit.Builder(s).register("House")),
    "builder's agent": (
        "builders",
        lambda s: s.permissions.allow_builder(s.account, s.wallet.agent, max_fee_rate="0.0005"),
    ),
    "referral": ("referrals", lambda s: s.exchange.bind_referral("ABCDEF")),
    "withdrawal": ("withdrawals", lambda s: s.exchange.withdraw(destination=s.account, amount="100")),
    "transfer": ("transfers", lambda s: s.exchange.usd_send(s.account, "1")),
    "vault": ("vaults", lambda s: s.exchange.vault_create("Mine", "100")),
    "deposit in a vault": ("vaults", lambda s: s.exchange.vault_deposit(s.info.vaults()["vault"].iloc[0], "100")),
}


@pytest.mark.parametrize("way", CLOSED)
def test_what_is_no_trade_is_closed_until_the_teacher_opens_it(way: str) -> None:
    program, attempt = CLOSED[way]
    for opened in ((), (program,)):
        with toolkit.class_room(["Ann"], opened=opened, market=None) as room:
            ann = room.join("Ann", settle_timeout=0)
            for again in (room.unfreeze, room.teacher.venue.control.calm, lambda: None):
                again()
                said = refusal(attempt, ann)
                words = ("closed in this class", f"`toolkit class --open {program}`", "(code 40280)")
                assert all(word in said for word in words) != bool(opened), said
    with (
        pytest.raises(errors.InputError, match=r"opened has 'valuts'.*vaults"),
        toolkit.class_room(["A"], opened=["valuts"]),
    ):
        pass


@pytest.mark.parametrize("opened", [(), ("faucet", "builders")])
def test_four_wallets_of_ones_own_do_not_win_a_class(opened: tuple[str, ...]) -> None:
    with toolkit.class_room(STUDENTS, seed=7, held=True, opened=opened) as room:
        honest, cheat = room.join("Student 00"), room.join("Student 01")
        honest.sell("BTCUSDC", "0.1")
        room.jump("BTCUSDC", "-2")
        room.teacher.venue.advance("2s")
        if opened:
            toolkit.Builder(cheat).register("House")
        for number in range(4):
            with stranger(room, number) as sybil:
                if not opened:
                    with pytest.raises(errors.ToolkitError, match="closed in this class"):
                        sybil.exchange.faucet_claim()
                    continue
                sybil.exchange.faucet_claim()
                rate = "0.0005"
                keys = development.agent(20 + number, WORDS).key, room.lesson.roster.named("Student 01").master.key
                with toolkit.connect("local", base_url=room.base_url, wallet=toolkit.Wallet(*keys)) as builder:
                    sybil.permissions.allow_builder(builder.account, builder.wallet.agent, max_fee_rate=rate)
                    for side in (orders.buy, orders.sell):
                        toolkit.Builder(builder).place(side("BTCUSDC", "0.01"), fee_rate=rate)
        users = {
            each.address for each in room.lesson.venues[0].host.core.state.accounts.values() if each.kind == "user"
        }
        assert len(users) == len(STUDENTS) + (4 if opened else 0)
        board = room.leaderboard().set_index("name")
        assert board.loc["Student 00", "rank"] == 1
        mine = board.loc["Student 01"]
        assert (mine["return"], mine["trades"]) == (pytest.approx(0, abs=1e-12), 0)
        assert (mine["left_out"] > 1) == bool(opened)
        assert mine["equity"] == pytest.approx(10_000 + mine["left_out"])


def test_what_students_send_each_other_is_no_return_of_the_class() -> None:
    with toolkit.class_room(["Ann", "Bo"], held=True, market=None, opened=("transfers",)) as room:
        ann, bo = room.join("Ann"), room.join("Bo")
        assert ann.exchange.usd_send(bo.account, "4000").status == "ACCEPTED"
        board = room.leaderboard().set_index("name")
        assert board["equity"].to_dict() == {"Ann": 6_000, "Bo": 14_000}
        assert board["return"].tolist() == [0, 0]


def test_a_reset_answers_also_where_little_is_too_much_or_nobody_takes() -> None:
    with toolkit.class_room(STUDENTS[:4], market=None) as room:
        control, student = room.teacher.venue.control, room.join("Student 03")
        room.fund_student("Student 03", "0.000001")
        assert control.reset("Student 03") == ["Student 03"]
        assert student.wallet_balances()["balance"].tolist() == [10_000.0]
        control.add_liquidity("BTCUSDC", "SELL", "62600", "0.1")
        student.buy("BTCUSDC", "0.1", price="62600", tif="IOC")
        with pytest.raises(
            errors.ExchangeError, match="Student 03 is not reset: the position in BTCUSDC found no taker"
        ):
            control.reset("Student 03")
        assert control.reset() == STUDENTS[:3]


def test_a_mistyped_link_says_so(tmp_path: Path) -> None:
    with toolkit.class_room(["Ann"], market=None) as room:
        for wrong in (room.links["Ann"][:-1], room.links["Ann"] + ".", f"{room.base_url}/join/x"):
            with pytest.raises(errors.ToolkitError, match=r"gave out no such link.*Copy the whole line") as raised:
                toolkit.join(wrong)
            assert wrong.rpartition("/")[2] not in str(raised.value)
            assert "gave out no such link" in httpx.get(wrong).text


@pytest.mark.parametrize(
    "host", ["[::1]evil.example", "127.0.0.1:80.evil.example", "[::1", "127.0.0.1:80:80", "a@localhost"]
)
def test_a_host_that_only_begins_as_the_venues_name_is_refused(host: str) -> None:
    with toolkit.class_room(["Ann"], market=None) as room:
        assert httpx.get(room.board_url, headers={"host": host}).status_code == 403
        assert httpx.get(room.board_url, headers={"host": "LOCALHOST.:99"}).status_code == 200
