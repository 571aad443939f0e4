"""`toolkit agent renew`: the master approves a running agent again, under its name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

import toolkit
from toolkit.__main__ import main
from toolkit.research import live
from toolkit.venue import development
from toolkit.venue.local import LocalVenue

HOUR = 3_600


@pytest.fixture
def served() -> Iterator[Any]:
    with LocalVenue(market=False, clock="manual") as venue, venue.serve(0) as shell:
        yield venue, shell.base_url


def renew(url: str, *words: str) -> int:
    return main(["agent", "renew", "--env", "local", "--base-url", url, *words])


def until(session: Any) -> pd.Timestamp:
    table = session.permissions()
    assert table["kind"].tolist() == ["agent"]
    found: pd.Timestamp = table["until"].iloc[0]
    return found


def test_an_approval_is_renewed_under_its_name_and_shows_its_new_end(
    served: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    venue, url = served
    with toolkit.connect("local", base_url=url) as session:
        session.exchange.approve_agent(agent_name="carry", validity_seconds=HOUR)
        now = pd.Timestamp(venue.host.now_ms(), unit="ms", tz="UTC")
        assert abs(until(session) - now - pd.Timedelta("1h")) < pd.Timedelta("1s")
        order = session.buy("BTCUSDC", "0.01", price="50000")
        assert renew(url, "--days", "3") == 0
        assert abs(until(session) - now - pd.Timedelta("3D")) < pd.Timedelta("1s")
        assert session.permissions()["name"].tolist() == ["carry"]
        venue.advance("2h")
        assert order.cancel().status == "ACCEPTED"
    said = capsys.readouterr().out
    assert said.startswith(f"agent {development.agents(1)[0].address} of {development.master(0).address}")
    assert f"'carry' until {now + pd.Timedelta('3D'):%Y-%m-%d %H:%M} UTC" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--days", "0"], "--days is 0. An approval lasts up to 365 days"),
        (["--days", "366"], "--days is 366. An approval lasts up to 365 days"),
        (["--agent", "0x" + "1" * 40], "has approved no agent 0x1111"),
        ([], "has approved no agent"),
    ],
)
def test_what_can_not_be_renewed_is_said(
    served: Any, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert renew(served[1], *words) == 2
    assert said in capsys.readouterr().err


def test_without_a_master_key_nothing_is_signed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOOLKIT_AGENT_KEY", development.account(10).key.hex())
    monkeypatch.setenv("TOOLKIT_ACCOUNT", development.master(0).address)
    monkeypatch.delenv("TOOLKIT_MASTER_KEY", raising=False)
    assert main(["agent", "renew"]) == 2
    assert "an approval is signed by the master: set TOOLKIT_MASTER_KEY" in capsys.readouterr().err


class Idle(toolkit.research.Strategy):
    """A strategy that does nothing."""

    def on_bar(self, ctx: Any, bar: Any) -> None: ...


LIMITS = toolkit.Limits(max_notional=1_000)


def run(session: Any, **options: Any) -> Any:
    return live(Idle(), session, ["BTCUSDC"], limits=LIMITS, **options)


def test_a_run_that_is_longer_than_its_agent_is_refused_or_warned_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with toolkit.connect(clock="manual", market=None) as session:
        session.exchange.approve_agent(validity_seconds=6 * HOUR)
        with pytest.raises(
            toolkit.errors.WalletError, match=r"06:00 UTC, before the run does .* 10:00 UTC.*agent renew"
        ):
            run(session, duration="10h")
        with pytest.warns(UserWarning, match=r"06:00 UTC, before the run does"):
            run(session, duration="370m", agent_ends="warn", interval="30m")
        with pytest.raises(toolkit.errors.InputError, match=r"agent_ends is 'no'. Use one of refuse, warn"):
            run(session, duration="1h", agent_ends="no")


def test_a_day_before_the_end_a_run_warns_unless_the_approval_was_renewed(capsys: pytest.CaptureFixture[str]) -> None:
    with toolkit.connect(clock="manual", market=None) as session:
        session.exchange.approve_agent(validity_seconds=30 * HOUR)
        found = run(session, duration="8h", interval="30m").events
        assert found["kind"].tolist().count("AGENT") == 1
        [at] = found[found["kind"] == "AGENT"]["time"]
        assert at.hour in (6, 7)
        session.exchange.approve_agent(validity_seconds=20 * HOUR)
        capsys.readouterr()
        ended = run(session, duration="1h", interval="30m")
        assert ended.events["kind"].tolist().count("AGENT") == 1
        assert "Renew it with `toolkit agent renew`" in capsys.readouterr().out
