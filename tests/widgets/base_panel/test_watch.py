"""What all panels of a session share: one watch from the first to the last, and what it reads again, and when."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import toolkit
from toolkit.errors import TransportError
from toolkit.session import Session
from toolkit.widgets import Account, OrderBook
from toolkit.widgets.base_panel import watch
from toolkit.widgets.base_panel.panel import REFRESHER, Panel

BTC = "BTCUSDC"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic time of the watch, in seconds, which the test sets."""
    now = [1_000.0]
    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def bare(**parts: Any) -> Any:
    """A watch of these parts only."""
    followed: Any = object.__new__(watch.SessionWatch)
    for name, value in parts.items():
        setattr(followed, f"_{name}", value)
    return followed


def test_panels_of_a_session_share_a_watch_which_ends_with_the_last(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Account(session), OrderBook(session, BTC)
    followed = first._watch
    assert second._watch is followed
    for one in (first, second):
        REFRESHER.remove(one)
    woken: list[Any] = []
    monkeypatch.setattr(Panel, "_on_change", lambda one, _=None: woken.append(one))
    followed._say("paused", BTC, "trading in BTCUSDC is paused")
    assert set(woken) == {first, second}, "each shows the news"
    client = session.stream.health._client
    assert client is not None
    assert client.protocol.watch_ms == 500, "a ping is due twice per second"
    with toolkit.connect(venue=session.venue, account=1) as other:
        assert Account(other)._watch is not followed
    first.stop()
    first.stop()
    lives = followed._lives
    assert "closed" not in {live.state for live in lives}
    assert OrderBook(session, BTC)._watch is followed
    for panel in (second, *list(followed._panels)):
        panel.stop()
    assert {live.state for live in lives} == {"closed"}
    assert Account(session)._watch is not followed


def test_the_agents_approvals_are_read_once_and_5_s_after_an_error(
    session: Session, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = Account(session)
    REFRESHER.remove(panel)
    asked, read = [], session.info.agents
    assert session.wallet is not None

    def agents(**given: Any) -> Any:
        asked.append(clock[0])
        assert given["agent"] == session.wallet.agent  # type: ignore[union-attr]
        if len(asked) == 1:
            raise TransportError("no answer")
        return read(**given)

    monkeypatch.setattr(session.info, "agents", agents, raising=False)
    panel._watch._read_at, panel._watch._approvals = 0.0, None
    for now in (1_000.0, 1_004.9, 1_005.0, 2_000.0):
        clock[0] = now
        monkeypatch.setattr(type(panel._watch), "_age_ms", lambda _: 0)
        panel._watch.refresh()
    assert asked == [1_000.0, 1_005.0]
    [(active, _, revoked)] = panel._watch._approvals or []
    assert (active, revoked) == (True, None)
    panel._watch._read_at = 0.0
    monkeypatch.setattr(type(panel._watch), "_age_ms", lambda _: 2_000)
    panel._watch.refresh()
    assert len(asked) == 2, "a silent venue is not asked"


@pytest.mark.parametrize(("name", "pause"), [("local", 1.0), ("mainnet", 5.0)])
def test_the_products_are_read_every_second_locally_and_every_5_s_elsewhere(
    clock: list[float], name: str, pause: float
) -> None:
    asked: list[float] = []
    said: list[tuple[str, ...]] = []
    trouble: dict[str, str] = {}

    def fetch() -> Any:
        asked.append(clock[0])
        if len(asked) == 2:
            raise TransportError("no answer")
        return {one: SimpleNamespace(symbol=one, list_status=trouble.get(one, "LISTED"), listed=one not in trouble)
                for one in ("A", "B")}  # fmt: skip

    followed = bare(
        session=SimpleNamespace(
            environment=SimpleNamespace(name=name), _catalogue=SimpleNamespace(fetch=fetch),
            _driver=SimpleNamespace(run=lambda answer: answer),
        ), listed_at=0.0, unlisted={}, say=lambda *words: said.append(words),
    )  # fmt: skip
    for now in ({}, {}, {"A": "paused"}, {"A": "paused"}, {"B": "delisted"}):
        trouble.clear()
        trouble.update(now)
        followed._follow_listing()
        clock[0] += pause - 0.1
        followed._follow_listing()
        clock[0] += 0.1
    assert asked == [pytest.approx(1_000 + pause * turn) for turn in range(5)]
    assert said[0] == ("paused", "A", "trading in A is paused")
    assert sorted(said[1:]) == [
        ("delisted", "B", "trading in B is delisted"), ("resumed", "A", "trading in A is resumed"),
    ]  # fmt: skip


def test_the_sessions_clock_follows_the_time_of_the_latest_block() -> None:
    shown: list[int] = []
    clock = SimpleNamespace(follow=shown.append, speed=10)
    when = pd.Timestamp("2026-01-01T00:00:00Z")
    for value, age_ms, followed in (
        ({"time": when}, 500, clock), ({"time": when}, 500, None), ({}, 500, clock), ({"time": when}, None, clock),
    ):  # fmt: skip
        blocks = SimpleNamespace(value=value, age_ms=age_ms)
        bare(session=SimpleNamespace(_clock=followed), blocks=blocks)._follow_time()
    assert shown == [1_767_225_600_000 + 5_000]


def test_the_beat_has_the_sessions_time_the_agent_and_the_last_news(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = Account(session)
    REFRESHER.remove(panel)
    monkeypatch.setattr(type(panel._watch), "_age_ms", lambda _: 123)
    followed, now_ms = panel._watch, session._runtime.now()
    assert (followed.beat()["news"], followed.beat()["now"]) == ([], now_ms)
    for text in ("first", "last"):
        followed._say("paused", BTC, text)
    assert session.wallet is not None
    agent = str(session.wallet.agent)
    assert followed.beat() == {
        "time": "2026-01-01 00:00:00 UTC", "now": now_ms, "expiry": session._delivery.expiry_ms,
        "age": 123, "agent": followed.agent, "news": [["00:00:00", "paused", "last"]],
    }  # fmt: skip
    assert followed.agent.startswith(f"agent {agent[:6]}…{agent[-4:]}")


@pytest.mark.parametrize(
    ("side", "forced", "given", "entry", "result", "said"),
    [
        ("SELL", "LIQUIDATION", None, "61000", {7: "-500"}, ", −500.00 USDC"),
        ("BUY", "ADL", None, "61000", {7: "500"}, ", +500.00 USDC"),
        ("SELL", "LIQUIDATION", "-1", "61000", {}, ", −1.00 USDC"),
        ("SELL", "LIQUIDATION", None, None, {}, ""),
        ("SELL", "LIMIT", None, "61000", {}, None),
    ],
)
def test_a_forced_fill_is_said_and_realises_the_way_from_the_entry_where_the_feed_leaves_that_out(
    session: Session, side: str, forced: str, given: str | None, entry: str | None, result: dict[int, str],
    said: str | None,
) -> None:  # fmt: skip
    panel = Account(session)
    REFRESHER.remove(panel)
    followed = panel._watch
    followed._entries = {} if entry is None else {BTC: Decimal(entry)}
    pnl = None if given is None else Decimal(given)
    fill = {"symbol": BTC, "side": side, "type": forced, "exec_id": 7, "order_id": 9, "quantity": Decimal("0.5"),
            "price": Decimal(60_000), "realized_pnl": pnl, "time": None}  # fmt: skip
    followed._on_fills(SimpleNamespace(kind="snapshot", items=[fill]))
    assert (followed.results, followed.news) == ({}, []), "known before"
    followed._on_fills(SimpleNamespace(kind="incremental", items=[fill]))
    assert followed.results == {key: Decimal(text) for key, text in result.items()}
    verb = side.lower()
    words = [] if said is None else [f"{forced.lower()}: {verb} 0.5 BTCUSDC at 60,000{said}"]
    assert [one.text for one in followed.news] == words
