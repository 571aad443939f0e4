"""Each panel with a fixed state, step by step: the frame of all, the market, permissions, in `transcripts`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.bench import BEAT, NOW_MS, Bench
from tests.browser.states import AGENT, BOOK, BUILDER, DEPTH, HEADER, NEWS, OTHER, SHEET, STUDENT
from toolkit import widgets


def trades(bench: Bench, **state: Any) -> None:
    bench.show(
        widgets.Trades,
        "section",
        not bench.lines and not state,
        **{"view": {"symbol": "BTCUSDC", "rows": [], "loaded": True}, **state},
    )


def test_a_panel_says_what_it_knows_as_its_data_ages(bench: Bench) -> None:
    trades(bench)
    for span_ms in (900, 200, 850, 100, 880, 200, 7_000):
        bench.pass_ms(span_ms)
    bench.beat("the kernel is back, with a venue that was silent for almost two seconds", age=1_900)
    bench.pass_ms(250)
    bench.beat("the venue has been silent for longer", age=61_000)
    bench.beat("both are back", age=0)
    bench.check("silence")


def test_a_panel_says_why_nothing_can_be_pressed(bench: Bench) -> None:
    trades(bench)
    bench.take("stale", lock="trades is resyncing")
    bench.beat("busy", busy=4)
    bench.take("busy no more", beat=BEAT, lock="")
    bench.take("closed", lock="closed")
    bench.check("locks")


@pytest.mark.parametrize(
    ("name", "off_ms"), [("before", -3_000), ("just-before", -2_999), ("just-after", 2_999), ("after", 3_000)]
)
def test_a_saved_state_is_no_sign_of_life(bench: Bench, name: str, off_ms: int) -> None:
    trades(bench, beat={**BEAT, "at": NOW_MS + off_ms})
    bench.pass_ms(2_980)
    bench.pass_ms(500)
    bench.check(f"saved-{name}")


def test_a_panel_without_any_state_is_drawn(bench: Bench) -> None:
    trades(bench, beat=None, colors=None)
    bench.pass_ms(4_000)
    bench.check("saved-empty")


def test_news_problems_and_colours_are_drawn(bench: Bench) -> None:
    trades(bench, problem="price 1 is not a multiple of tickSize 0.1", colors={"up": "crimson"})
    for kind in ("filled", "liquidation", "adl", "paused", "funding"):
        bench.beat(kind, news=[["12:00:01", kind, f"something {kind}"]])
    bench.take("all is well", problem="", colors={"down": "#123456"}, beat={**BEAT, "agent": ""})
    bench.check("news")


def test_a_panel_that_has_gone_leaves_nothing_behind(bench: Bench) -> None:
    trades(bench)
    bench.take("a change that is not drawn yet")
    bench.page.evaluate("model.take({ problem: 'late' })")
    bench.do("gone", "ends[0]()")
    bench.do("listeners and timers", "sent.push({ listeners: model.listeners.length, timers: timers.size })")
    trades(bench)
    bench.pass_ms(4_000)
    bench.check("gone")


@pytest.mark.parametrize("loaded", [False, True])
def test_trades_are_drawn_newest_first(bench: Bench, loaded: bool) -> None:
    bench.show(widgets.Trades, view={"loaded": loaded})
    rows = [["12:00:02", "▲ buy", "100.2", "1"], ["12:00:01", "▼ sell", "100.1", "20"], ["12:00:00", "", "100.0", "3"]]
    bench.take("three trades", view={"symbol": "BTCUSDC", "loaded": True, "rows": rows})
    bench.take("sides change", view={"symbol": "BTCUSDC", "loaded": True, "rows": [rows[1], rows[0]]})
    bench.check(f"trades-{'loaded' if loaded else 'loading'}")


def test_the_book_has_its_best_prices_in_the_middle_and_a_price_is_picked(bench: Bench) -> None:
    bench.show(widgets.OrderBook, view=BOOK, group=1)
    bench.click(".tk-ask:nth-child(2)")
    bench.click(".tk-ask.tk-void")
    for key in ("Enter", " ", "a"):
        bench.key(".tk-bid", key)
    bench.focus(".tk-bid:nth-child(2)")
    for key in ("ArrowUp", "ArrowUp", "ArrowUp", "ArrowDown", "Home", "End", "ArrowLeft", "PageUp"):
        bench.key("*:focus", key)
    bench.click(".tk-switch button|10")
    bench.focus(".tk-switch button|10")
    for key in ("ArrowRight", "ArrowLeft", "Home", "End"):
        bench.key("*:focus", key)
    bench.take("locked", lock="orderBook is resyncing")
    bench.click(".tk-bid")
    bench.take(
        "not for a ticket, and shallow", lock="", view={**BOOK, "pick": False, "depth": 0, "asks": [], "spreadPct": ""}
    )
    bench.click(".tk-bid")
    bench.pass_ms(3_000)
    bench.alive = False
    bench.take("no kernel", view=BOOK)
    bench.click(".tk-bid")
    bench.check("book")


def test_an_empty_book_is_drawn(bench: Bench) -> None:
    bench.show(widgets.OrderBook, "section", view={})
    bench.check("book-empty")


def test_the_depth_is_a_staircase_from_the_middle_outwards(bench: Bench) -> None:
    bench.show(widgets.Depth, view={}, part="section")
    bench.take("both sides", view=DEPTH)
    bench.take("one side", view={**DEPTH, "bids": [], "mid": ""})
    bench.check("depth")


def test_the_header_shows_a_product_and_changes_it(bench: Bench) -> None:
    bench.show(widgets.Header, view={}, part="section", beat={**BEAT, "news": [NEWS]})
    bench.take("two products", view=HEADER)
    bench.type("select", "ETHUSDC", "change")
    bench.take(
        "the other one",
        view={**HEADER, "symbol": "ETHUSDC", "change": "▼ 1 %", "note": "5 ▼ 1 %", "rows": HEADER["rows"][1:]},
    )
    bench.focus("select")
    bench.take("chosen, not answered", view={**HEADER, "change": ""})
    bench.take("one product", view={**HEADER, "symbols": ["BTCUSDC"], "rows": []})
    bench.check("header")


def test_a_sheet_shows_terms_a_meter_bars_and_tables(bench: Bench) -> None:
    bench.show(widgets.Account, view={}, part="section")
    bench.take("all parts", view=SHEET)
    bench.take(
        "in danger",
        view={**SHEET, "danger": True, "meter": {**SHEET["meter"], "share": 0.996}, "bars": SHEET["bars"][:1]},
    )
    table = {"title": "Legs", "columns": ["Product", "Size"], "rows": []}
    bench.take("no rows", view={**SHEET, "meter": None, "tables": [table, {**table, "title": "Rates"}]})
    bench.take("not loaded", view={"title": "Account", "tables": [table, table], "loaded": False})
    bench.check("sheet")


def test_the_leaderboard_ranks_students(bench: Bench) -> None:
    bench.show(widgets.Leaderboard, "section", view={"loaded": True})
    rows = [STUDENT, {**STUDENT, "rank": "2", "name": "Bo, <b>", "return": "▼ 1 %", "id": "b"}]
    news = [["12:00", "Bo was liquidated"], ["11:59", "Ann joined"]]
    bench.take("two students", view={"loaded": True, "time": "12:00", "rows": rows, "news": news})
    bench.take("without news", view={"loaded": True, "time": "12:01", "rows": rows[1:], "news": []})
    bench.check("leaderboard")


def test_a_button_that_asks_first_is_pressed_twice_and_never_by_a_double_click(bench: Bench) -> None:
    bench.show(widgets.Permissions, "section", view={"master": True, "rows": [AGENT, OTHER], "complete": True})
    revoke = ".tk-act button"
    bench.click(revoke, detail=1)
    bench.click(revoke, detail=2)
    bench.pass_ms(300)
    bench.click(revoke, detail=3)  # each click of a series starts the half second again
    bench.pass_ms(300)
    bench.click(revoke)
    bench.live(1_000)
    bench.key(revoke, "Enter", repeat=True)
    bench.key(revoke, "Enter")
    bench.click(revoke, detail=1)
    bench.live(1_000)
    bench.take("answered", answered=NOW_MS + 60_000)
    bench.click(revoke)
    bench.live(4_500)
    bench.live(500)
    bench.click(revoke)
    bench.key(revoke, "a")
    bench.key(revoke, "Escape")
    bench.key(revoke, "Escape")
    bench.live(1_000)
    bench.click(revoke)
    bench.focus(".tk-sub button")
    bench.click(".tk-sub button")
    bench.check("confirm")


def test_permissions_are_named_revoked_and_renewed(bench: Bench) -> None:
    bench.show(widgets.Permissions, "section", view={})
    view = {"master": True, "rows": [AGENT, BUILDER, OTHER], "complete": True, "notice": "revoked bot"}
    bench.take("three", view=view)
    bench.take("not all known", view={**view, "notice": "", "complete": False})
    bench.focus(".tk-act button|Revoke builder shop 0xef")
    bench.take("without a master key, one gone", view={**view, "master": False, "rows": [AGENT, OTHER]})
    bench.take("locked", lock="stale", view={**view, "rows": [OTHER, BUILDER, AGENT]})
    bench.click(".tk-act button|Revoke agent bot 0xab…cd")
    bench.take("none", view={**view, "rows": []}, lock="")
    bench.check("permissions")
