"""The blotter with a fixed state, step by step: all that it draws and sends, in `transcripts`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.bench import NOW_MS, Bench
from tests.browser.states import BLOTTER, EVENT, FUNDING, NEWS, ORDER, PARENT, POSITION, SIGN, STATE
from tests.browser.test_transcripts import trades
from toolkit import widgets


def blotter(bench: Bench, part: str = ".tk-body", **state: Any) -> None:
    bench.show(widgets.Blotter, part, part == "section", **{"view": BLOTTER, **STATE, **state})


def test_the_blotter_shows_its_tables_and_histories(bench: Bench) -> None:
    blotter(bench, "section", view={})
    bench.take("filled", view=BLOTTER)
    both = [PARENT, {**PARENT, "id": "p2", "status": "interrupted", "open": True, "idle": True, "side": "▼ sell"}]
    done = {**PARENT, "id": "p3", "status": "finished", "open": False}
    more = {
        **BLOTTER,
        "symbol": "BTCUSDC",
        "parents": [*both, done],
        "mainnet": True,
        "notice": "closed 0.1",
        "positions": [POSITION],
    }
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
    for name in (
        "Cancel all",
        "Close the BTCUSDC position at market",
        "Cancel order 8: sell whole position BTCUSDC at when 49,000.0",
    ):
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
    bench.take(
        "reviewed", phase="review", view={**BLOTTER, "review": {**SIGN, "token": 1, "rows": [["Size", "0.05", ""]]}}
    )
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
    bench.do(
        "stubs",
        """() => {
      const clipboard = { writeText: async (text) => sent.push({ copied: text }) };
      Object.defineProperty(navigator, 'clipboard', { value: clipboard });
      URL.createObjectURL = (blob) => {
        blob.text().then((text) => sent.push({ saved: text, type: blob.type }));
        return 'blob:x';
      };
      URL.revokeObjectURL = (url) => sent.push({ revoked: url });
      HTMLAnchorElement.prototype.click = function () { sent.push({ href: this.href, download: this.download }); };
    }""",
    )
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
    bench.do(
        "no clipboard",
        """() => {
      navigator.clipboard.writeText = async () => { throw new Error(); };
      document.execCommand = (what) => {
        const field = document.activeElement;
        return !sent.push({ what, text: field.value, after: field.previousSibling.textContent });
      };
    }""",
    )
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
    bench.do(
        "the title has the focus",
        "sent.push({ focus: document.activeElement.className, index: document.activeElement.tabIndex })",
    )
    bench.check("rows")


@pytest.mark.parametrize("sound", [False, True])
def test_a_tone_is_played_at_a_fill(bench: Bench, sound: bool) -> None:
    blotter(bench, ".tk-nothing", sound=sound)
    bench.do(
        "a card",
        """() => {
      const tone = {
        connect: (to) => sent.push({ connected: to }),
        start: () => sent.push('starts'),
        stop: (at) => (sent.push({ stops: at }), tone.onended()),
      };
      const close = () => sent.push('closed');
      const card = { currentTime: 3, destination: 'speaker', createOscillator: () => tone, close };
      window.AudioContext = function () { return card; };
    }""",
    )
    bench.beat("filled", news=[NEWS])
    bench.beat("the same", news=[NEWS])
    bench.beat("filled again", news=[["12:00:02", *NEWS[1:]]])
    bench.beat("cancelled", news=[["12:00:03", "cancelled", "order 8"]])
    bench.check(f"sound-{'on' if sound else 'off'}")


def test_arrows_move_the_focus_within_a_table_and_a_row(bench: Bench) -> None:
    blotter(bench, "*:focus", view={**BLOTTER, "positions": []})
    bench.focus("button|Amend order 7: buy 0.1 / 0.2 BTCUSDC at 50,000.0")
    for key in (
        "ArrowRight",
        "ArrowRight",
        "ArrowDown",
        "ArrowUp",
        "ArrowUp",
        "ArrowUp",
        "Home",
        "End",
        "ArrowRight",
        "ArrowDown",
        "x",
    ):
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
    bench.do(
        "elsewhere meanwhile",
        "document.body.tabIndex = -1, find('section .tk-title').tabIndex = 0, find('section .tk-title').focus()",
    )
    bench.beat("back again")
    bench.check("focus")
