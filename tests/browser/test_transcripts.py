"""Every panel with a fixed state, step by step: the whole of what it draws and sends, in `transcripts`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.bench import BEAT, NOW_MS, Bench
from toolkit import widgets

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SIGN = {
    "signer": "0xab", "nonce": "7", "expiry": str(BEAT["now"] + 30_000), "digest": "0x01", "connectionId": "0x02", "proto": "0x03",  # type: ignore[operator]
    "action": "{}", "typedData": "[]", "real": False, "question": "BUY 0.01 BTCUSDC at 50000", "verb": "buy",
    "symbol": "BTCUSDC",
}  # fmt: skip
NEWS = ["12:00:01", "filled", "order 7 filled: buy 0.01 BTCUSDC at 50,000.0"]


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Page:
    """One tab, in a time zone of its own: what a page shows in local time does not depend on the machine."""
    return browser.new_context(timezone_id="Asia/Tokyo").new_page()


@pytest.fixture
def bench(page: Page) -> Bench:
    return Bench(page)


# The frame of every panel


def trades(bench: Bench, **state: Any) -> None:
    bench.show(widgets.Trades, "section", not bench.lines and not state, **{"view": {"symbol": "BTCUSDC", "rows": [], "loaded": True}, **state})


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


# Tables and lists of the market


@pytest.mark.parametrize("loaded", [False, True])
def test_trades_are_drawn_newest_first(bench: Bench, loaded: bool) -> None:
    bench.show(widgets.Trades, view={"loaded": loaded})
    rows = [["12:00:02", "▲ buy", "100.2", "1"], ["12:00:01", "▼ sell", "100.1", "20"], ["12:00:00", "", "100.0", "3"]]
    bench.take("three trades", view={"symbol": "BTCUSDC", "loaded": True, "rows": rows})
    bench.take("sides change", view={"symbol": "BTCUSDC", "loaded": True, "rows": [rows[1], rows[0]]})
    bench.check(f"trades-{'loaded' if loaded else 'loading'}")


BOOK = {
    "symbol": "BTCUSDC", "depth": 3, "mid": "100.15", "spread": "0.1", "spreadPct": "0.1 %", "mark": "100.12",
    "asks": [["100.2", "1", "1", 0.25, "100.20"], ["100.3", "2", "3", 0.75, "100.30"]],
    "bids": [["100.1", "1", "1", 0.2, "100.10"], ["100.0", "2", "3", 0.6, "100.00"], ["99.9", "2", "5", 1, "99.90"]],
    "groups": [[1, "0.1"], [10, "1"], [100, "10"]], "pick": True, "loaded": True,
}  # fmt: skip


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
    bench.take("not for a ticket, and shallow", lock="", view={**BOOK, "pick": False, "depth": 0, "asks": [], "spreadPct": ""})
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
    view = {
        "symbol": "BTCUSDC", "most": 5, "mid": "100.15", "words": "5 BTC each side", "edges": ["99", "100", "101"],
        "scale": ["5", "2.5"], "bids": [[0.5, 1], [0.25, 3], [0.1, 5]], "asks": [[0.5, 2], [0.9, 4]],
    }  # fmt: skip
    bench.take("both sides", view=view)
    bench.take("one side", view={**view, "bids": [], "mid": ""})
    bench.check("depth")


def test_the_header_shows_a_product_and_changes_it(bench: Bench) -> None:
    bench.show(widgets.Header, view={}, part="section", beat={**BEAT, "news": [NEWS]})
    rows = [["Mark", "100.1", ""], ["24 h", "▲ 1.2 %", "change"], ["Funding", "−0.0100 %", ""]]
    view = {"symbol": "BTCUSDC", "symbols": ["BTCUSDC", "ETHUSDC"], "note": "100.1 ▲ 1 %", "change": "▲ 1 %", "rows": rows}
    bench.take("two products", view=view)
    bench.type("select", "ETHUSDC", "change")
    bench.take("the other one", view={**view, "symbol": "ETHUSDC", "change": "▼ 1 %", "note": "5 ▼ 1 %", "rows": rows[1:]})
    bench.focus("select")
    bench.take("chosen, not answered", view={**view, "change": ""})
    bench.take("one product", view={**view, "symbols": ["BTCUSDC"], "rows": []})
    bench.check("header")


def test_a_sheet_shows_terms_a_meter_bars_and_tables(bench: Bench) -> None:
    bench.show(widgets.Account, view={}, part="section")
    view = {
        "title": "Account", "note": "cross", "danger": False, "loaded": True,
        "rows": [["Equity", "1,000.00", "with unrealised PnL"], ["PnL", "+12.00", ""], ["Funding", "−1.00", ""]],
        "meter": {"share": 0.374, "name": "Margin ratio", "words": "37.4 % of margin used"},
        "bars": [{"name": n, "move": m, "text": t} for n, m, t in (("A", -0.25, "−25 %"), ("B", 0.5, "+50 %"), ("C", 3.0, "far"), ("D", 0, "now"))],
        "tables": [{"title": "Legs", "columns": ["Product", "Size"], "rows": [["BTCUSDC", "+1"], ["ETHUSDC", "−2"]]}],
    }  # fmt: skip
    bench.take("all parts", view=view)
    bench.take("in danger", view={**view, "danger": True, "meter": {**view["meter"], "share": 0.996}, "bars": view["bars"][:1]})  # type: ignore[dict-item, index]
    table = {"title": "Legs", "columns": ["Product", "Size"], "rows": []}
    bench.take("no rows", view={**view, "meter": None, "tables": [table, {**table, "title": "Rates"}]})
    bench.take("not loaded", view={"title": "Account", "tables": [table, table], "loaded": False})
    bench.check("sheet")


def test_the_leaderboard_ranks_students(bench: Bench) -> None:
    bench.show(widgets.Leaderboard, "section", view={"loaded": True})
    row = {"rank": "1", "name": "Ann", "equity": "1,000.00", "return": "▲ 1 %", "drawdown": "0 %", "fees": "1", "trades": "3", "left_out": "", "id": "a"}
    rows = [row, {**row, "rank": "2", "name": "Bo, <b>", "return": "▼ 1 %", "id": "b"}]
    news = [["12:00", "Bo was liquidated"], ["11:59", "Ann joined"]]
    bench.take("two students", view={"loaded": True, "time": "12:00", "rows": rows, "news": news})
    bench.take("without news", view={"loaded": True, "time": "12:01", "rows": rows[1:], "news": []})
    bench.check("leaderboard")


# What asks first, and what is reviewed


AGENT = {
    "kind": "agent", "name": "bot", "full": "0xabcd", "address": "0xab…cd", "may": "trade", "until": "2026-02-01",
    "cap": "", "own": True, "of": "", "revocable": True,
}  # fmt: skip
BUILDER = {**AGENT, "kind": "builder", "name": "shop", "full": "0xef", "address": "0xef", "own": False, "of": "Ann", "cap": "0.1 %"}
OTHER = {**AGENT, "name": "old", "full": "0x99", "address": "0x99", "own": False, "revocable": False}


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


POSITION = {
    "symbol": "BTCUSDC", "side": "▲ long", "size": "0.1", "entry": "60,000.0", "mark": "61,000.0", "liquidation": "50,000.0",
    "margin": "300.00", "pnl": "+100.00", "roi": "▲ 33 %", "funding": "−1.00", "leverage": "20x cross",
    "exits": "65,000.0 / –", "take_profit": "65000", "stop_loss": "", "one": True,
}  # fmt: skip
SHORT = {**POSITION, "symbol": "ETHUSDC", "side": "▼ short", "size": "−2", "pnl": "−1,250.50", "mark": "3,000.00", "roi": "▼ 5 %", "one": False}
ORDER = {
    "id": "7", "symbol": "BTCUSDC", "side": "▲ buy", "kind": "limit gtc", "price": "50,000.0", "quantity": "0.1 / 0.2",
    "move": "50000.0", "total": "0.2",
}  # fmt: skip
STOP = {**ORDER, "id": "8", "side": "▼ sell", "kind": 'stop loss, "all"', "price": "when 49,000.0", "quantity": "whole position", "move": "49000", "total": ""}
PARENT = {
    "id": "p1", "symbol": "BTCUSDC", "side": "▲ buy", "kind": "twap", "filled": "0.1 / 1", "average": "60,000.0000",
    "orders": "1 / 10", "next": "12:01:00", "status": "running", "message": "", "open": True, "idle": False,
}  # fmt: skip
FILL = {"id": "1/7", "time": "01-01 12:00:00", "symbol": "BTCUSDC", "side": "▲ buy", "kind": "limit", "price": "60,000.0", "quantity": "0.1", "fee": "1.2000", "pnl": ""}
EVENT = {"id": "3/7", "time": "01-01 12:00:00", "symbol": "BTCUSDC", "side": "▲ buy", "kind": "limit", "order": "7", "status": "filled", "price": "60,000.0", "quantity": "0.1", "what": "0.1 at 60,000.0"}
FUNDING = {"id": "1/BTCUSDC", "time": "01-01 08:00", "symbol": "BTCUSDC", "side": "long", "size": "0.1", "rate": "0.0100 %", "amount": "−0.6000"}
BLOTTER: dict[str, Any] = {
    "symbol": "", "loaded": True, "positions": [POSITION, SHORT], "orders": [ORDER, STOP], "parents": [],
    "history": "fills", "fills": [FILL, {**FILL, "id": "0/6", "kind": "–"}], "events": [], "funding": [], "mainnet": False, "readOnly": False,
    "notice": "", "review": None,
}  # fmt: skip
STATE = {"phase": "edit", "tab": "all", "history": "fills", "sound": False}


def blotter(bench: Bench, part: str = ".tk-body", **state: Any) -> None:
    bench.show(widgets.Blotter, part, part == "section", **{"view": BLOTTER, **STATE, **state})


def test_the_blotter_shows_its_tables_and_histories(bench: Bench) -> None:
    blotter(bench, "section", view={})
    bench.take("filled", view=BLOTTER)
    both = [PARENT, {**PARENT, "id": "p2", "status": "interrupted", "open": True, "idle": True, "side": "▼ sell"}]
    done = {**PARENT, "id": "p3", "status": "finished", "open": False}
    more = {**BLOTTER, "symbol": "BTCUSDC", "parents": [*both, done], "mainnet": True, "notice": "closed 0.1", "positions": [POSITION]}
    bench.take("orders over time, real money", view=more)
    bench.take("read-only", view={**BLOTTER, "readOnly": True})
    for name, rows in (("orders", {"events": [EVENT]}), ("funding", {"funding": [FUNDING]})):
        bench.take(name, tab="history", history=name, view={**BLOTTER, "fills": [], "history": name, **rows})
    bench.take("positions only", tab="positions", view={**more, "orders": [ORDER]})
    bench.take("orders only", tab="orders")
    bench.check("blotter")


def test_the_blotter_is_used_by_its_buttons(bench: Bench) -> None:
    blotter(bench)
    for name in ("Orders 2", "Positions 2", "Fills 2", "Order history", "Funding", "All"):
        bench.click(f".tk-switch button|{name}")
    bench.click("button|Sound at a fill")
    bench.click("button|Close all")
    for name in ("Cancel all", "Close the BTCUSDC position at market", 'Cancel order 8: sell whole position BTCUSDC at when 49,000.0'):
        bench.click(f"button|{name}")
        bench.pass_ms(600)
        bench.click(".tk-armed")
    parents = [{**PARENT, "idle": True}]
    bench.take("an interrupted order over time", view={**BLOTTER, "parents": parents})
    for name in ("Continue", "Cancel"):
        bench.click(f"button|{name} the twap of 0.1 / 1 BTCUSDC")
        bench.pass_ms(600)
        bench.click(".tk-armed")
    bench.check("blotter-buttons")


def test_rows_of_the_blotter_are_edited(bench: Bench) -> None:
    blotter(bench)
    bench.click("button|Edit the ETHUSDC position: close a part, take profit, stop loss")
    bench.click("button|Edit the BTCUSDC position: close a part, take profit, stop loss")
    for name in ("Close 25 %", "Close 50 %", "Close 75 %", "Reverse"):
        bench.click(f"button|{name}")
    bench.type(".tk-edit-line:nth-child(2) input", " 0.05 ")
    bench.click("button|Close this much")
    bench.key(".tk-edit-line:nth-child(2) input", "Enter")
    bench.key(".tk-edit-line:nth-child(2) input", "ArrowLeft")
    bench.key(".tk-edit-line:nth-child(3) input", "Enter")
    bench.type(".tk-edit-line:nth-child(4) input", "49000")
    bench.click("button|Set stop loss at")
    bench.take("reviewed", phase="review", view={**BLOTTER, "review": {**SIGN, "token": 1, "rows": [["Size", "0.05", ""]]}})
    bench.key(".tk-review", "a")
    bench.key(".tk-review", "Escape")
    bench.take("left", phase="edit", view=BLOTTER)
    bench.key(".tk-edit", "Escape")
    bench.click("button|Amend order 7: buy 0.1 / 0.2 BTCUSDC at 50,000.0")
    bench.click("button|Change price")
    bench.click("button|Change quantity")
    bench.click("button|Done")
    bench.click("button|Amend order 8: sell whole position BTCUSDC at when 49,000.0")
    bench.take("its row is gone", view={**BLOTTER, "orders": [ORDER]})
    bench.click("button|Done")
    bench.key(".tk-edit", "Escape")
    bench.check("blotter-edit")


def test_an_edit_ends_with_what_it_was_reviewed_for(bench: Bench) -> None:
    blotter(bench)
    bench.click("button|Amend order 7: buy 0.1 / 0.2 BTCUSDC at 50,000.0")
    bench.take("reviewed", phase="review", view={**BLOTTER, "review": {**SIGN, "token": 5}})
    bench.pass_ms(600)
    bench.focus(".tk-sign")
    bench.click(".tk-sign")
    bench.take("signed", phase="sending", view=BLOTTER)
    bench.take("answered", phase="edit", answered=NOW_MS + 60_000)
    bench.take("a review of another panel", phase="review", view={**BLOTTER, "review": {**SIGN, "token": 6}})
    bench.take("ended", phase="edit", view=BLOTTER)
    bench.check("blotter-signed")


def test_tables_are_sorted_filtered_and_saved(bench: Bench) -> None:
    prices = ["+12.00", "−3.10", "−1,250.00", "▲ 0.5", "market", "▼ 7", "–"]
    orders = [{**ORDER, "id": f"{at}", "kind": 'limit "x"', "price": price} for at, price in enumerate(prices)]
    blotter(bench, ".tk-part:nth-of-type(6)", view={**BLOTTER, "orders": orders})
    bench.do("stubs", """() => {
      Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => sent.push({ copied: text }) } });
      URL.createObjectURL = (blob) => { blob.text().then((text) => sent.push({ saved: text, type: blob.type })); return 'blob:x'; };
      URL.revokeObjectURL = (url) => sent.push({ revoked: url });
      HTMLAnchorElement.prototype.click = function () { sent.push({ href: this.href, download: this.download }); };
    }""")  # fmt: skip
    part = "[aria-label='Open orders']"
    for name in ("Price", "Price", "Price", "Kind", "Price"):
        bench.click(f"{part} .tk-sort|{name}")
    bench.type("[aria-label='Filter all tables']", " 12.00 ")
    bench.click("button|Copy open orders as CSV")
    bench.live(1_000)
    bench.live(1_000)
    bench.type("[aria-label='Filter all tables']", "nothing")
    bench.type("[aria-label='Filter all tables']", "")
    bench.click("button|Save open orders as a CSV file")
    bench.do("no clipboard", """() => {
      navigator.clipboard.writeText = async () => { throw new Error(); };
      const from = () => ({ text: document.activeElement.value, after: document.activeElement.previousSibling.textContent });
      document.execCommand = (what) => !sent.push({ what, ...from() });
    }""")  # fmt: skip
    bench.click("button|Copy open orders as CSV")
    bench.check("tables")


def test_rows_keep_the_focus_and_their_armed_buttons(bench: Bench) -> None:
    orders = [{**ORDER, "id": str(at), "price": f"{at}"} for at in (1, 2, 3, 4)]
    blotter(bench, ".tk-part:nth-of-type(6)", view={**BLOTTER, "orders": orders})
    bench.focus("button|Cancel order 3: buy 0.1 / 0.2 BTCUSDC at 3")
    bench.take("others gone, one new", view={**BLOTTER, "orders": [orders[3], orders[2], {**ORDER, "id": "9"}]})
    bench.take("gone itself, in the middle", view={**BLOTTER, "orders": [orders[3], {**ORDER, "id": "9"}]})
    bench.take("the last one", view={**BLOTTER, "orders": [orders[3]]})
    bench.take("all", view={**BLOTTER, "orders": []})
    bench.do("the title has the focus", "sent.push({ focus: document.activeElement.className, index: document.activeElement.tabIndex })")
    bench.check("rows")


@pytest.mark.parametrize("sound", [False, True])
def test_a_tone_is_played_at_a_fill(bench: Bench, sound: bool) -> None:
    blotter(bench, ".tk-nothing", sound=sound)
    bench.do("a card", """() => {
      const tone = { connect: (to) => sent.push({ connected: to }), start: () => sent.push('starts'), stop: (at) => { sent.push({ stops: at }); tone.onended(); } };
      window.AudioContext = function () { return { currentTime: 3, destination: 'speaker', createOscillator: () => tone, close: () => sent.push('closed') }; };
    }""")  # fmt: skip
    bench.beat("filled", news=[NEWS])
    bench.beat("the same", news=[NEWS])
    bench.beat("filled again", news=[["12:00:02", *NEWS[1:]]])
    bench.beat("cancelled", news=[["12:00:03", "cancelled", "order 8"]])
    bench.check(f"sound-{'on' if sound else 'off'}")


# The ticket and its review


def field(name: str, label: str, **more: Any) -> dict[str, Any]:
    empty = {"placeholder": "", "keyboard": "decimal", "options": [], "control": "text", "title": "", "spoken": ""}
    return {"name": name, "label": label, **empty, **more}


PRICE = field("price", "Price (USDC)", placeholder="price", title="tick size 0.1")
QUANTITY = field("quantity", "Quantity", control="quantity", options=[["base", "BTC"], ["notional", "USDC"]], spoken="Quantity, in BTC")
TIF = field("tif", "Time in force", control="select", options=[["", "GTC (default)"], ["IOC", "IOC"]])
REDUCE = field("reduce_only", "Reduce only", control="check")
EXITS = [[field("take_profit", "Take profit at"), field("stop_loss", "Stop loss at")], [field("client_id", "Client id", keyboard="numeric")]]
FORM = {"kinds": [["LIMIT", "Limit"], ["MARKET", "Market"]], "rows": [[PRICE], [QUANTITY], [TIF, REDUCE]], "more": EXITS, "picksPrice": True}
TICKET: dict[str, Any] = {
    "symbol": "BTCUSDC", "environment": "local", "mainnet": False, "account": "0x12…ab", "readOnly": "", "loaded": True,
    "market": {"bid": "60,000.0", "ask": "60,000.1", "mark": "60,000.0"}, "leverage": "20", "isolated": False,
    "typed": {"price": "", "quantity": "", "take_profit": "", "stop_loss": "", "client_id": ""},
    "problems": [], "valid": True, "preview": [["Cost", "30.00 USDC", "with fees"], ["PnL", "+1.00", ""]], "review": None, "following": None,
}  # fmt: skip
DRAFT = {
    "form": FORM, "side": "BUY", "order_type": "LIMIT", "quantity_as": "base", "price": "", "quantity": "", "tif": "",
    "reduce_only": False, "take_profit": "", "stop_loss": "", "client_id": "", "phase": "edit",
}  # fmt: skip


def ticket(bench: Bench, part: str = ".tk-body", **state: Any) -> None:
    bench.show(widgets.OrderTicket, part, part == "section", **{"view": TICKET, **DRAFT, **state})


def problem(name: str, message: str, *choices: str, missing: bool = False) -> dict[str, Any]:
    return {"field": name, "rule": "tickSize", "message": message, "missing": missing, "choices": list(choices)}


def test_the_ticket_draws_its_form(bench: Bench) -> None:
    ticket(bench, "section")
    bench.take("a sale at market, isolated", side="SELL", order_type="MARKET", form={**FORM, "picksPrice": False, "rows": [[QUANTITY], [REDUCE]], "more": []}, view={**TICKET, "isolated": True, "preview": []})
    bench.take("real money", view={**TICKET, "mainnet": True, "market": {}, "leverage": ""})
    bench.take("read-only", view={**TICKET, "readOnly": "no agent key"})
    bench.take("an empty place, a stop", form={**FORM, "rows": [[PRICE, None], [QUANTITY, TIF]]}, order_type="LIMIT", side="BUY", view={**TICKET, "valid": False})
    bench.take("sending", phase="sending", view=TICKET)
    bench.take("locked", phase="edit", lock="orderBook is resyncing")
    bench.check("ticket")


def test_the_ticket_before_its_first_state(bench: Bench) -> None:
    bench.show(widgets.OrderTicket, view={})
    bench.check("ticket-empty")


def test_what_is_typed_into_the_ticket_is_sent_shortly_after(bench: Bench) -> None:
    ticket(bench)
    price, quantity = "[id$='-price']", "[id$='-quantity']"
    bench.focus(price)
    bench.type(price, "6")
    bench.type(price, "60000")
    bench.take("an edit is not overwritten before it is sent", price="5")
    bench.pass_ms(130)
    bench.take("then what Python says is shown", price="61000")
    bench.type(price, "62000", "input", "change")
    bench.pass_ms(130)
    bench.type(price, "62000", "change")
    bench.type("[id$='-quantity_as']", "notional", "change")
    bench.type("[id$='-tif']", "IOC", "change")
    bench.type("[id$='-reduce_only']", True, "change")
    bench.type("[id$='-side-SELL']", True, "change")
    bench.type("[id$='-order_type-MARKET']", True, "change")
    bench.take("as Python has it", side="SELL", quantity_as="notional", tif="IOC", reduce_only=True, order_type="MARKET", view={**TICKET, "typed": {**TICKET["typed"], "price": "62000"}})
    bench.type("input[type=range]", "35")
    bench.type("input[type=range]", "35", "change")
    bench.type(quantity, "1")
    bench.pass_ms(200)
    bench.click(".tk-quote")
    bench.click(".tk-quote:nth-child(4)")
    bench.check("ticket-typing")


def test_the_ticket_sends_its_settings_and_orders(bench: Bench) -> None:
    ticket(bench)
    bench.type("[id$='-leverage']", "10")
    bench.key("[id$='-leverage']", "a")
    bench.key("[id$='-leverage']", "Enter")
    bench.click("button|Set")
    bench.click(".tk-settings button|cross")
    bench.take("isolated", view={**TICKET, "isolated": True})
    bench.click(".tk-settings button|isolated")
    price = "[id$='-price']"
    bench.type(price, "60000")
    bench.key(price, "Enter", repeat=True)
    bench.key(price, "Enter")
    bench.key("[id$='-tif']", "Enter")
    bench.key(price, "a")
    bench.click(".tk-go")
    bench.take("not valid", view={**TICKET, "valid": False})
    bench.click(".tk-go")
    bench.key(price, "Enter")
    bench.check("ticket-sends")


def test_problems_are_shown_at_their_fields_with_values_that_pass(bench: Bench) -> None:
    ticket(bench)
    price = "[id$='-price']"
    typed = {**TICKET["typed"], "price": "1.23"}
    bench.type(price, "1.23")
    bench.pass_ms(130)
    wrong = [problem("price", "price 1.23 is not a multiple of tickSize 0.1", "1.2", "1.3"), problem("quantity", "a quantity is needed", missing=True), problem("trigger_by", "odd", "x")]
    bench.take("three problems", price="1.23", view={**TICKET, "valid": False, "typed": typed, "problems": wrong})
    bench.pass_ms(900)
    bench.pass_ms(200)
    bench.focus("button|Use 1.3 for price")
    bench.click("button|Use 1.3 for price")
    bench.take("taken", price="1.3", view={**TICKET, "typed": {**typed, "price": "1.3"}})
    bench.type(price, "1.31")
    bench.take("a problem of an earlier text", view={**TICKET, "typed": {**typed, "price": "1.3"}, "problems": wrong[:1]})
    bench.take("of an exit", view={**TICKET, "typed": {**typed, "price": "1.31"}, "problems": [problem("stop_loss", "too high", "0.9")]})
    bench.check("ticket-problems")


FOLLOWED = {"summary": "BUY 0.01 BTCUSDC", "status": "SENT", "words": "sent", "steps": [["sent", "done"], ["accepted", "now"], ["filled", "later"]], "children": []}


def test_an_order_is_reviewed_signed_and_followed(bench: Bench) -> None:
    ticket(bench, "section > *")
    review = {**TICKET, "review": {**SIGN, "token": 1}}
    bench.focus(".tk-go")
    bench.take("review", phase="review", view=review)
    bench.click(".tk-sign", detail=1)
    bench.pass_ms(300)
    bench.click(".tk-sign", detail=1)  # of a series of clicks: it starts the half second again
    bench.pass_ms(300)
    bench.click(".tk-sign", detail=1)
    bench.live(500)
    bench.key(".tk-sign", "Enter", repeat=True)
    bench.focus(".tk-sign")
    bench.click(".tk-sign")
    bench.click(".tk-sign")
    bench.live(1_000)
    bench.take("sending", phase="sending", view=TICKET)
    bench.take("sent", view={**TICKET, "following": FOLLOWED})
    bench.take("answered", phase="edit", answered=NOW_MS + 20_000, view={**TICKET, "following": {**FOLLOWED, "status": "UNKNOWN", "words": "unknown: no answer: timed out", "steps": [["sent", "bad"]], "children": ["take profit at 1: open"]}})
    bench.click("button|Ask the venue")
    bench.take("rejected", view={**TICKET, "following": {**FOLLOWED, "status": "REJECTED", "words": "rejected: margin"}})
    bench.take("not sent", view={**TICKET, "following": {**FOLLOWED, "status": "NOT_SENT"}})
    bench.take("filled", view={**TICKET, "following": {**FOLLOWED, "status": "FILLED"}})
    bench.take("another review", phase="review", view={**TICKET, "review": {**SIGN, "token": 2, "rows": [["Size", "1", "all"]], "question": "Close?", "verb": "close"}})
    bench.click("button|Back")
    bench.take("left", phase="edit", view={**TICKET, "valid": False})
    bench.check("review")


def test_a_fresh_review_is_signed_by_the_keyboard_at_once_but_not_by_a_mouse(bench: Bench) -> None:
    ticket(bench)
    bench.take("review", phase="review", view={**TICKET, "review": {**SIGN, "token": 1, "expiry": ""}})
    bench.click(".tk-sign", detail=1)
    bench.click(".tk-sign")
    bench.check("review-keyboard")


def test_real_money_is_typed_for_each_review(bench: Bench) -> None:
    ticket(bench)
    real = {**SIGN, "real": True}
    bench.take("review", phase="review", view={**TICKET, "review": {**real, "token": 1}})
    bench.live(1_000)
    bench.click(".tk-sign")
    bench.alive = False
    bench.type("[id$='-typed']", "BTCUSD")
    bench.type("[id$='-typed']", "BTCUSDC")
    bench.alive = True
    bench.do("details are opened", "document.querySelector('.tk-review details').open = true")
    bench.take("another review", view={**TICKET, "review": {**real, "token": 2}})
    bench.type("[id$='-typed']", "BTCUSDC")
    bench.take("locked", lock="stale")
    bench.click(".tk-sign")
    bench.take("free", lock="")
    bench.live(1_000)
    bench.click(".tk-sign")
    bench.check("review-real")


@pytest.mark.parametrize("until", [True, False])
def test_a_signature_that_is_not_answered_is_said_to_be_until_it_can_no_longer_count(bench: Bench, until: bool) -> None:
    ticket(bench, ".tk-pending", beat={**BEAT, "expiry": 4_000})
    bench.take("review", phase="review", view={**TICKET, "review": {**SIGN, "token": 1, "expiry": str(BEAT["now"] + 7_000) if until else ""}})  # type: ignore[operator]
    bench.live(1_000)
    bench.click(".tk-sign")
    bench.pass_ms(900)
    for _ in range(9):
        bench.pass_ms(1_000)
    bench.beat("alive, later", now=BEAT["now"] + 12_000, at=NOW_MS + 12_000)  # type: ignore[operator]
    bench.take("an earlier answer", answered=NOW_MS + 5_000)
    bench.take("answered", answered=NOW_MS + 9_000)
    bench.check(f"pending-{'until' if until else 'expiry'}")


def test_nothing_is_signed_on_a_page_that_knows_nothing_new(bench: Bench) -> None:
    ticket(bench)
    bench.alive = False
    bench.take("review", phase="review", view={**TICKET, "review": {**SIGN, "token": 1}})
    bench.beat("alive", at=NOW_MS + 100)
    bench.do("before the page has looked again", "pass(1_960), document.querySelector('.tk-sign').click()")
    bench.pass_ms(300)
    bench.click(".tk-sign")
    bench.check("review-silent")


# Keys


def test_keys_of_a_panel_stay_in_it_except_to_save(bench: Bench) -> None:
    ticket(bench)
    for key in ("d", "S", "ArrowDown"):
        bench.key("[id$='-price']", key)
        bench.key("[id$='-price']", key, ctrlKey=True)
        bench.key("[id$='-price']", key, metaKey=True)
    bench.key("[id$='-price']", "s", ctrlKey=True)
    bench.do("outside", "document.querySelector('main').dispatchEvent(new KeyboardEvent('keydown', { key: 'x', bubbles: true }))")
    bench.do("gone", "ends[0]()")
    bench.do("nothing is left", "sent.push({ timers: timers.size, listeners: model.listeners.length })")
    bench.key("[id$='-price']", "z")
    bench.check("keys")


def test_arrows_move_the_focus_within_a_table_and_a_row(bench: Bench) -> None:
    blotter(bench, "*:focus", view={**BLOTTER, "positions": []})
    bench.focus("button|Amend order 7: buy 0.1 / 0.2 BTCUSDC at 50,000.0")
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowUp", "ArrowUp", "Home", "End", "ArrowRight", "ArrowDown", "x"):
        bench.key("*:focus", key)
    bench.focus("[aria-label='Filter all tables']")
    bench.key("*:focus", "ArrowLeft")
    bench.focus("button|Copy open orders as CSV")
    for key in ("ArrowRight", "ArrowUp", "ArrowLeft", "Home"):
        bench.key("*:focus", key)
    bench.check("arrows")


def test_the_focus_returns_to_where_it_was_when_the_kernel_is_back(bench: Bench) -> None:
    trades(bench)
    bench.alive = False
    blotter(bench, "*:focus")
    bench.focus("button|Close all")
    bench.pass_ms(3_100)
    bench.beat("back", at=NOW_MS + 3_200)
    bench.beat("busy", busy=9)
    bench.do("elsewhere meanwhile", "document.body.tabIndex = -1, find('section .tk-title').tabIndex = 0, find('section .tk-title').focus()")
    bench.beat("back again")
    bench.check("focus")


# The chart

START = 1_767_225_600
CANDLES = [[START + 60 * at, 100 + at, 103 + at, 98 + at, 100 + at + (2 if at % 3 else -1), 5 + at] for at in range(30)]
HISTORY: dict[str, Any] = {
    "interval": "1m", "rows": CANDLES[:28], "complete": False,
    "studies": {"SMA 20": [None, *range(100, 127)], "RSI 14": [None, None, *range(30, 56)]},
    "prices": {"mark": [*[None] * 25, 124.5, 125.5, 126.5], "index": [*[None] * 26, 125, 126]},
}  # fmt: skip
CHART: dict[str, Any] = {
    "symbol": "BTCUSDC", "interval": "1m", "intervals": ["1m", "5m"], "places": 1, "last": "131.0", "change": "▲ 3 %",
    "window": "30 min", "rows": CANDLES[27:], "studies": {"SMA 20": [127, 128, 129], "RSI 14": [56, 57, None]},
    "prices": {"mark": [127.5, 128.5, 129.5], "index": [None, 128, 129]}, "readOnly": False, "review": None, "loaded": True,
    "lines": [], "fills": [],
}  # fmt: skip
LINES = [
    {"id": "entry", "kind": "entry", "price": 120.0, "text": "long 1", "shown": "120.0", "up": True, "moves": False},
    {"id": "liq", "kind": "liquidation", "price": 60.0, "text": "liquidation", "shown": "60.0", "up": False, "moves": False},
    {"id": "7", "kind": "order", "price": 110.0, "text": "buy 1", "shown": "110.0", "up": True, "moves": True},
    {"id": "8", "kind": "order", "price": 110.2, "text": "buy 2", "shown": "110.2", "up": True, "moves": True},
    {"id": "9", "kind": "order", "price": 110.4, "text": "sell 3", "shown": "110.4", "up": False, "moves": True},
    *({"id": f"a{at}", "kind": "order", "price": 200.0 + at, "text": f"sell {at}", "shown": f"{200 + at}.0", "up": False, "moves": True} for at in (4, 1, 0, 3, 2)),
]  # fmt: skip
FILLS = [
    [START + 300, True, 104.0, "buy 1 at 104.0"], [START + 300, False, 105.0, "sell 1"],
    [START + 1_680, False, 126.0, "sell 2 at 126.0"], [START - 60, True, 99.0, "before the first candle"],
]  # fmt: skip


def chart(bench: Bench, part: str = ".tk-body > *", **state: Any) -> None:
    given = {"view": CHART, "history": HISTORY, "interval": "1m", "indicators": ["SMA 20", "RSI 14"], "phase": "edit"}
    bench.show(widgets.Candles, part, part == "section", **{**given, **state})


def test_the_chart_draws_candles_indicators_and_prices(bench: Bench) -> None:
    chart(bench, "section", view={}, history={})
    bench.take("candles", view=CHART, history=HISTORY)
    bench.live(500)
    late = [[START + 1_740, 129, 140, 127, 139, 40], [START + 1_800, 139, 141, 138, 138.5, 3]]
    after = {**CHART, "rows": [CANDLES[28], *late], "studies": {"SMA 20": [128, 130, 131]}, "change": "", "prices": {"mark": [1, 2, 3]}}
    bench.take("a new candle, and one that has changed", view=after)
    bench.live(500)
    earlier = [[START - 60 * at, 90, 92, 88, 91, 2] for at in (3, 2, 1)]
    more = {**HISTORY, "rows": [*earlier, *CANDLES[:29]], "studies": {"ATR 14": [1] * 32}, "prices": {"mark": [], "index": []}, "complete": True}
    bench.take("earlier ones, other indicators", history=more, indicators=["ATR 14"], view={**after, "studies": {"ATR 14": [2, 3, 4]}, "change": "▼ 1 %"})
    bench.live(500)
    bench.take("another interval, half of it", view={**after, "interval": "5m"}, interval="5m")
    bench.live(500)
    bench.take("all of it", history={**HISTORY, "interval": "5m", "rows": CANDLES[:3], "studies": {}})
    bench.live(500)
    bench.do("a dark theme of the page", "document.documentElement.setAttribute('theme', 'dark')")
    bench.do("a light one", "document.documentElement.removeAttribute('theme')")
    bench.do("a dark one of JupyterLab", "document.body.dataset.jpThemeLight = 'false'")
    bench.take("own colours", colors={"up": "rgb(1, 2, 3)", "down": "rgba(0, 0, 0, 0.5)"})
    bench.live(500)
    bench.do("gone", "ends[0](), document.querySelector('.tk-chart').remove()")
    bench.do("nothing is left", "sent.push({ timers: timers.size, listeners: model.listeners.length })")
    bench.check("chart")


def test_the_chart_shows_orders_and_fills_of_the_account(bench: Bench) -> None:
    chart(bench)
    bench.take("lines and fills", view={**CHART, "lines": LINES, "fills": FILLS})
    bench.live(500)
    bench.take("one has moved, some are gone", view={**CHART, "lines": [{**LINES[2], "price": 111.0}, LINES[3], LINES[5]], "fills": FILLS[2:]})
    bench.live(500)
    bench.take("none", view=CHART)
    bench.live(500)
    bench.check("chart-account")


def test_candles_are_read_one_by_one_and_as_a_table(bench: Bench) -> None:
    chart(bench, ".tk-readout, details", view={**CHART, "fills": FILLS})
    host = ".tk-chart"
    for key in ("ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowRight", "x"):
        bench.key(host, key)
    bench.do("to the fills", "for (let at = 0; at < 23; at += 1) document.querySelector('.tk-chart').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft' }))")
    bench.focus(host)
    bench.do("left", "document.querySelector('.tk-chart').blur()")
    bench.focus(host)
    bench.key(host, "ArrowLeft")
    bench.do("left", "document.querySelector('.tk-chart').blur()")
    bench.mouse((700, 100))
    bench.mouse((900, 500))
    for key in ("+", "-", "-", "End"):
        bench.key(host, key)
    bench.click("summary")
    bench.check("chart-reading")


def test_a_single_candle_is_read_and_drawn(bench: Bench) -> None:
    chart(bench, ".tk-readout", history={**HISTORY, "rows": CANDLES[:1], "complete": True}, view={**CHART, "rows": []})
    bench.key(".tk-chart", "ArrowRight")
    bench.key(".tk-chart", "ArrowLeft")
    studies = {"RSI 14": [1], "ATR 14": [2], "StdDev 9": [3], "EMA 20": [4]}
    bench.take("indicators below each other", history={**HISTORY, "rows": CANDLES[:1], "studies": studies})
    bench.live(500)
    bench.check("chart-single")


def test_the_chart_is_used_by_its_buttons(bench: Bench) -> None:
    chart(bench, ".tk-tools, .tk-readout")
    bench.do("stubs", """() => {
      Element.prototype.requestFullscreen = function () { sent.push({ full: this.className }); };
      document.exitFullscreen = () => sent.push('left');
    }""")  # fmt: skip
    for name in ("5m", "EMA 50", "SMA 20", "Zoom out", "Zoom in", "Zoom in", "Latest candle", "Full screen"):
        bench.click(f".tk-tools button|{name}")
    bench.do("in full screen", "Object.defineProperty(document, 'fullscreenElement', { get: () => document.body })")
    bench.click(".tk-tools button|Full screen")
    bench.take("an indicator of another kind", indicators=["Highest 9", "SMA 20"])
    bench.check("chart-buttons")


def place(bench: Bench, price: float) -> tuple[float, float]:
    """Return where a price stands on the chart."""
    return 200, round(bench.page.evaluate("(price) => chart.panes()[0].getSeries()[0].priceToCoordinate(price)", price))


def test_orders_are_placed_by_a_click_on_the_chart(bench: Bench) -> None:
    chart(bench, ".tk-tools > :nth-child(n + 4), .tk-chart")
    at = place(bench, 115)
    bench.mouse(at, press=True)
    bench.do("not a double click", "pass(600)")
    bench.click(".tk-tools button|Order")
    bench.type(".tk-tools input", "0.5")
    bench.mouse(at, press=True)
    bench.do("not a double click", "pass(600)")
    bench.click(".tk-tools button|TP / SL")
    bench.key(".tk-chart", "Escape")
    bench.click(".tk-tools button|TP / SL")
    bench.click(".tk-tools button|TP / SL")
    bench.click(".tk-tools button|TP / SL")
    bench.take("locked", lock="stale")
    bench.mouse(at, press=True)
    bench.do("not a double click", "pass(600)")
    bench.take("free", lock="")
    bench.mouse(place(bench, 118), press=True)
    bench.take("reviewed", phase="review", view={**CHART, "review": {**SIGN, "token": 1}})
    bench.check("chart-placing")


def test_a_line_is_moved_by_the_mouse(bench: Bench) -> None:
    chart(bench, ".tk-chart", view={**CHART, "lines": LINES})
    bench.live(500)
    line, entry = place(bench, 110.4), place(bench, 120)
    up = (line[0], line[1] - 40)
    bench.mouse(entry)
    bench.mouse(line)
    bench.mouse((line[0], line[1] + 12))
    bench.mouse(line, up, press=True)
    bench.mouse(line, line, press=True)
    bench.do("let go elsewhere", "document.querySelector('.tk-chart').dispatchEvent(new Event('pointercancel'))")
    bench.mouse(line, up)
    bench.mouse(line)
    bench.page.mouse.down()
    bench.mouse(up)
    bench.key(".tk-chart", "Escape")
    bench.page.mouse.up()
    bench.take("read-only", view={**CHART, "lines": LINES, "readOnly": True})
    bench.mouse(line, up, press=True)
    bench.check("chart-moving")


def test_earlier_candles_are_asked_for_at_the_edge_and_again_after_a_while(bench: Bench) -> None:
    chart(bench, ".tk-nothing")
    for span_ms in (0, 4_500, 500):
        bench.live(span_ms)
        bench.click(".tk-tools button|Zoom out")
    bench.take("complete", history={**HISTORY, "complete": True})
    bench.live(5_000)
    bench.click(".tk-tools button|Zoom out")
    bench.check("chart-earlier")


# The dashboard


def test_the_dashboard_draws_its_panels_and_gives_each_its_traits(bench: Bench) -> None:
    names = ["header", "candles", "order_book", "ticket", "blotter", "account", "trades"]
    views = {
        "header": {"symbol": "BTCUSDC"}, "candles": CHART, "order_book": BOOK, "ticket": TICKET, "blotter": {"loaded": True},
        "account": {"title": "Account"}, "trades": {"symbol": "BTCUSDC", "loaded": True},
    }  # fmt: skip
    own = {"ticket": DRAFT, "blotter": STATE, "candles": {"history": HISTORY, "interval": "1m", "indicators": []}, "order_book": {"group": 1}}
    common = {"lock": "", "problem": "", "beat": BEAT, "answered": 0, "colors": {}}
    traits = {f"{name}__{trait}": value for name in names for trait, value in {**common, "view": views[name], **own.get(name, {})}.items()}
    bench.alive = False
    bench.show(widgets.Dashboard, ".tk-title, .tk-status", parts=names, made=1, **traits)
    where = "sent.push(...[...document.querySelectorAll('.tk-cell')].map((one) => `${one.className} in ${one.parentElement.className}`))"
    bench.do("its parts", where)
    bench.click(".tk-cell-order_book .tk-ask")
    bench.type("[id$='-price']", "1", "change")
    bench.take("a part is stale", trades__lock="trades is resyncing")
    bench.take("another product", made=2, parts=names[:3], header__view={"symbol": "ETHUSDC"})
    bench.do("its parts", where)
    bench.do("gone", "ends[0]()")
    bench.do("nothing is left", "sent.push({ timers: timers.size, listeners: model.listeners.length })")
    bench.check("dashboard")
