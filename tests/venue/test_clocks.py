"""Clocks of the venue and the development accounts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

import toolkit
import toolkit.widgets
from toolkit import ethereum
from toolkit.errors import InputError
from toolkit.numerals import milliseconds, moment, wait_seconds
from toolkit.research import Strategy, backtest, live
from toolkit.venue import development
from toolkit.venue.clocks import MANUAL_START, ManualClock, RealClock, clock_named
from toolkit.venue.local import LocalVenue


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        ("4h", 14_400_000),
        ("1d 12h", 129_600_000),
        ("3h59m", 14_340_000),
        (" 1m30s 250ms", 90_250),
        ("90s", 90_000),
        ("5m", 300_000),
        ("250ms", 250),
        ("1w", 604_800_000),
        ("30D", 2_592_000_000),
        ("1.5h", 5_400_000),
        ("2 days", 172_800_000),
        ("D", 86_400_000),
        (timedelta(minutes=2), 120_000),
        (pd.Timedelta("15min"), 900_000),
        (pd.offsets.Week(2), 1_209_600_000),
        (np.timedelta64(90, "s"), 90_000),
        (0, 0),
    ],
)
def test_a_span_is_read_in_milliseconds(span: object, expected: int) -> None:
    assert milliseconds(span) == expected


@pytest.mark.parametrize(
    "span", ["", "4x", "-4h", "1M", -1, None, True, "٤h", pd.NaT, pd.offsets.MonthEnd(), float("nan")]
)
def test_what_is_no_span_is_refused_with_what_would_pass(span: object) -> None:
    with pytest.raises(InputError, match=r'is not a span of time\. Write "90s", "30m"'):
        milliseconds(span)


def _widget(session: toolkit.Session) -> object:
    return toolkit.widgets.Candles(session, "BTCUSDC", 1800)


BARE: dict[str, Callable[[toolkit.Session], object]] = {
    "duration": lambda s: s.twap("BTCUSDC", "BUY", "0.1", 1800),
    "span": lambda s: s.venue.advance(1800),
    "interval": lambda s: s.klines("BTCUSDC", 1800),
    "interval of info": lambda s: s.info.klines(symbol="BTCUSDC", interval=1800, start=0, end=1),
    "interval of the stream": lambda s: s.stream.candles("BTCUSDC", "1800"),
    "interval of a chart": _widget,
    "delay": lambda s: s.venue.control.add_fault("late-request", delay=1800),
    "after": lambda s: s.venue.control.market("calm", after=1800),
    "settle_delay": lambda s: LocalVenue(settle_delay=1800),
    "poll": lambda s: live(Strategy(), s, ["BTCUSDC"], limits=None, poll=1800),
    "latency": lambda s: backtest(Strategy(), s.klines("BTCUSDC", "1h"), latency=1800),
}


@pytest.fixture(scope="module")
def session() -> Iterator[toolkit.Session]:
    with toolkit.connect(clock="manual") as made:
        yield made


@pytest.mark.parametrize("name", BARE)
def test_a_bare_number_is_refused_with_both_readings_everywhere_alike(session: toolkit.Session, name: str) -> None:
    with pytest.raises(InputError) as caught:
        BARE[name](session)
    field = name.split()[0]
    assert str(caught.value).startswith(field)
    assert caught.value.field == field
    assert 'could be 1800 s or 1800 ms. Write "30m" or "1800ms"' in str(caught.value)
    assert caught.value.nearest == ("30m", "1800ms")


def test_a_timeout_is_seconds_as_in_all_of_python_or_a_span() -> None:
    assert [wait_seconds(timeout) for timeout in (5, 0.5, "5s", timedelta(minutes=1))] == [5, 0.5, 5, 60]
    with pytest.raises(InputError, match="timeout -1"):
        wait_seconds(-1)


def test_a_moment_is_read_in_unix_milliseconds() -> None:
    assert moment(MANUAL_START) == MANUAL_START
    assert moment("2026-01-01") == MANUAL_START
    assert moment("2026-01-01T02:00:00+02:00") == MANUAL_START
    assert moment(datetime(2026, 1, 1)) == MANUAL_START  # noqa: DTZ001
    assert moment(datetime(2026, 1, 1, tzinfo=UTC)) == MANUAL_START
    with pytest.raises(InputError, match="not a time"):
        moment("tomorrow")


def test_a_manual_clock_only_moves_by_set() -> None:
    clock = ManualClock()
    assert clock.now_ms() == clock.now_ms() == MANUAL_START
    clock.set(5)
    assert clock.now_ms() == 5


def test_a_real_clock_runs_from_where_it_was_set() -> None:
    clock = RealClock(start=1_000)
    assert 1_000 <= clock.now_ms() < 60_000
    clock.set(10**9)
    assert 10**9 <= clock.now_ms() < 10**9 + 60_000
    with pytest.raises(InputError, match="speed must be above 0"):
        RealClock(speed=0)


def test_a_clock_is_a_name_or_an_object() -> None:
    own = ManualClock(start=3)
    assert clock_named(own, None) is own
    assert clock_named("manual", None).now_ms() == MANUAL_START
    assert clock_named("manual", 9).now_ms() == 9
    assert clock_named("real", None).runs
    with pytest.raises(InputError, match='Use "real", "manual"'):
        clock_named("sundial", None)


def test_development_accounts_are_those_of_the_mnemonic_and_their_keys_stay_out_of_reprs() -> None:
    Account = pytest.importorskip("eth_account", reason=ethereum.MISSING).Account
    Account.enable_unaudited_hdwallet_features()
    for index in (0, 1, 9, 10, 19):
        mine = development.account(index)
        reference = Account.from_mnemonic(development.MNEMONIC, account_path=f"m/44'/60'/0'/0/{index}")
        assert (mine.address, mine.key) == (reference.address, bytes(reference.key))
        assert mine.key.hex() not in repr(mine)
    assert [len(development.masters()), len(development.agents())] == [10, 10]


@pytest.mark.parametrize("start", [0, -5, "1970-01-01", 253_402_300_800_000])
def test_a_venue_begins_at_a_moment_that_its_records_can_hold(start: int | str) -> None:
    with pytest.raises(InputError, match=r"^start -?[0-9]+ ms is not between"):
        LocalVenue(clock="manual", start=start, accounts=0)


def test_a_venue_may_begin_with_the_year_1970() -> None:
    with LocalVenue(clock="manual", start=1, market=False, accounts=1) as venue:
        [address] = [each for each, account in venue.host.core.state.accounts.items() if account.kind == "user"]
        agent = {"agentAddress": "0x" + "ab" * 20, "agentName": "x", "validitySeconds": 0, "dexChain": "Testnet"}
        for each in (agent["agentAddress"], "0x" + "0" * 40):
            answer = venue.control.act(address, {"type": "approveAgent", **agent, "agentAddress": each})
            assert answer["code"] == 0
        assert not venue.host.core.state.permissions.approvals[0].active(venue.host.now_ms()), "revoked at once"
