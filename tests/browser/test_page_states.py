"""Every state of a panel and of the ticket, and what the page shows of it: tables of state and words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import toolkit
from tests.browser.host import Host, expect, pass_time, settle, until
from tests.browser.test_widgets import Open, host, session, show, venue
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

if TYPE_CHECKING:
    pass

__all__ = ["host", "session", "show", "venue"]

HEAD = """() => {
  const root = document.querySelector('.tk');
  const text = (name) => { const one = root.querySelector(name); return one.hidden ? '' : one.textContent; };
  return { status: text('.tk-status'), truth: text('.tk-truth'), lock: text('.tk-lock'), news: text('.tk-happened'),
           problem: text('.tk-problem'), off: root.querySelector('.tk-body').disabled,
           classes: ['tk-locked', 'tk-veiled'].filter((name) => root.classList.contains(name)),
           danger: root.querySelector('.tk-happened').classList.contains('tk-danger'),
           up: root.style.getPropertyValue('--tk-up') };
}"""
CALM = {
    "time": "2026-01-01 00:05:00 UTC",
    "now": 1_767_225_900_000,
    "age": 0,
    "busy": 0,
    "agent": "agent 0x12",
    "news": [],
}
TRUTH = "data < 1 s old · venue 00:05:00 UTC · agent 0x12"
LIVE = {"status": "live", "truth": TRUTH, "lock": "", "news": "", "problem": "", "off": False, "classes": [],
        "danger": False, "up": ""}  # fmt: skip
BUSY = "⚠ The kernel is busy with a cell. Buttons wait until it is done."
QUIET = "⚠ Nothing has come from the {} for more than 2 s: prices may be out of date, and nothing can be signed."
LOCKED: Any = {"classes": ["tk-locked"]}
STATES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"age": 1_300}, {"truth": TRUTH.replace("< 1", "1")}),
    ({"age": 2_000}, {"truth": TRUTH.replace("< 1", "2"), "status": "quiet", "lock": QUIET.format("venue"), **LOCKED}),
    ({"age": 9_000}, {"truth": TRUTH.replace("< 1", "9"), "status": "quiet", "lock": QUIET.format("venue"), **LOCKED}),
    ({"busy": 4}, {"status": "busy", "lock": BUSY, "off": True, **LOCKED}),
    ({"lock": "ticker is reconnecting"}, {"status": "stale", "lock": "⚠ ticker is reconnecting", **LOCKED}),
    ({"lock": "closed"}, {"status": "closed", "lock": "⚠ closed", "off": True, **LOCKED}),
    ({"agent": ""}, {"truth": TRUTH.removesuffix(" · agent 0x12")}),
    ({"problem": "no"}, {"problem": "✖ no"}),
    ({"colors": {"up": "rgb(1, 2, 3)"}}, {"up": "rgb(1, 2, 3)"}),
    ({"news": [["00:04:59", "liquidation", "it is sold"]]}, {"news": "00:04:59 UTC it is sold", "danger": True}),
    ({"news": [["00:04:59", "adl", "it is sold"]]}, {"news": "00:04:59 UTC it is sold", "danger": True}),
    ({"news": [["00:04:59", "paused", "it rests"]]}, {"news": "00:04:59 UTC it rests", "danger": True}),
    ({"news": [["00:04:59", "funding", "+1.00"]]}, {"news": "00:04:59 UTC +1.00"}),
    ({}, {}),
]  # fmt: skip


def test_the_head_of_a_panel_says_its_state(show: Open, host: Host, session: Session) -> None:
    panel: Any = toolkit.widgets.Account(session)
    page = show(panel)
    expect(page.locator(".tk-status")).to_have_text("live")
    panel.stop()  # from here on its state is set by hand
    for change, words in STATES:
        traits = {name: change.get(name, {} if name == "colors" else "") for name in ("lock", "problem", "colors")}
        for name, value in traits.items():
            panel.set_trait(name, value)
        beat = {**CALM, **{name: value for name, value in change.items() if name in CALM}, "at": host.read_clock()}
        panel.set_trait("beat", beat)
        settle(page)
        expect(page.locator(".tk-status")).to_have_text(words.get("status", "live"))
        settle(page)
        assert page.evaluate(HEAD) == {**LIVE, **words}, change
    pass_time(page, 2_000)
    expect(page.locator(".tk-status")).to_have_text("quiet")
    expect(page.locator(".tk-lock")).to_have_text(QUIET.format("kernel"))
    pass_time(page, 1_000)
    expect(page.locator(".tk-status")).to_have_text("no kernel")
    expect(page.locator(".tk-lock")).to_contain_text(
        "what is shown is as of 2026-01-01 00:05:00 UTC. Run the cell again."
    )
    found = page.evaluate(HEAD)
    assert (found["off"], found["classes"]) == (True, ["tk-locked", "tk-veiled"])


def test_a_view_that_has_ended_draws_and_looks_no_more(show: Open, session: Session) -> None:
    panel: Any = toolkit.widgets.Account(session)
    page = show(panel, panel)
    expect(page.locator(".tk-status")).to_have_text(["live", "live"])
    page.evaluate("ends[0]()")
    until(page, lambda: panel._views == 1)
    panel.stop()
    panel.set_trait("problem", "no")
    expect(page.locator(".tk-problem").last).to_have_text("✖ no")
    settle(page)
    expect(page.locator(".tk-problem")).to_have_text(["", "✖ no"])
    pass_time(page, 5_000)
    expect(page.locator(".tk-status")).to_have_text(["live", "closed"])


def test_a_confirmation_without_an_answer_is_named_until_it_can_no_longer_be_executed(
    show: Open, host: Host, session: Session, venue: LocalVenue
) -> None:
    ticket = session.ticket("BTCUSDC", price="50000", quantity="0.01")
    page = show(ticket, toolkit.widgets.Account(session))
    page.get_by_role("button", name="Review buy order").click()
    sign = page.get_by_role("button", name="Sign and buy")
    expiry = int(ticket.submit().expiry_after or 0)
    sign.and_(page.locator("[aria-disabled=false]")).wait_for()
    host.holding = True
    sign.click()
    pending = page.locator(".tk-pending").first
    until(page, lambda: bool(host.held))
    settle(page)
    assert pending.is_hidden()
    pass_time(page, 1_000)
    ends = f"{expiry // 3_600_000 % 24:02}:{expiry // 60_000 % 60:02}:{expiry // 1_000 % 60:02}"
    waits = f"⚠ Sent, not answered: may still be executed until {ends} UTC."
    expect(pending).to_have_text(waits)
    pass_time(page, 100_000)  # by the page's clock alone; the venue's is known again with the next sign of life
    expect(pending).to_have_text(waits)
    expect(sign).to_have_attribute("aria-disabled", "true")
    assert page.locator(".tk-pending").last.is_hidden()  # the other panel sent nothing
    venue.advance("5m")
    expect(pending).to_have_text("⚠ Sent, never answered: look at your orders before you send it again.")


DUMP = """() => {
  const root = document.querySelector('.tk');
  const all = (name, read) => [...root.querySelectorAll(name)].filter((one) => one.offsetParent).map(read);
  const nameOf = (one) => (one.className.match(/tk-field-([a-z_]+)/) || [])[1] || 'reduce_only';
  const go = root.querySelector('.tk-form .tk-go');
  return {
    classes: ['tk-buys', 'tk-sells', 'tk-real'].filter((name) => root.classList.contains(name)),
    note: root.querySelector('.tk-head .tk-note').textContent,
    quotes: all('.tk-quote', (one) => [one.ariaLabel, one.querySelector('strong').textContent, one.disabled]),
    checked: all('.tk-radios label', (one) => one).filter((one) => one.control.checked).map((one) => one.textContent),
    fields: [...root.querySelectorAll('.tk-rows .tk-field')].map(nameOf),
    two: [...root.querySelectorAll('.tk-two')].map((one) => one.children.length),
    problems: all('.tk-message > div', (one) => [one.className, one.firstChild.textContent,
      [...one.querySelectorAll('.tk-chip')].map((chip) => [chip.textContent, chip.ariaLabel])]),
    wrong: [...root.querySelectorAll('.tk-form [aria-invalid=true]')].length,
    preview: all('.tk-form dt', (one) => [one.textContent, one.nextSibling.textContent]),
    leverage: root.querySelector('[id$=-leverage]').placeholder,
    mode: all('.tk-settings button:last-child', (one) => [one.textContent, one.ariaLabel]),
    more: !root.querySelector('.tk-form details').hidden,
    go: [go.textContent, go.ariaDisabled],
  };
}"""


def expected(ticket: Any) -> dict[str, Any]:
    """Return what the page must show of a ticket by its traits."""
    form, view = ticket.form, ticket.view
    picks, buys = form["picksPrice"], ticket.side == "BUY"
    rows = [[one for one in row if one] for row in [*form["rows"], *form["more"]]]
    names = [one["name"] for row in rows for one in row]
    problems = [
        [
            "tk-hint" if one["missing"] else "tk-wrong-line",
            ("" if one["missing"] else "✖ ") + one["message"],
            [[label, f"Use {label} for {one['field'].replace('_', ' ')}"] for label in one["choices"]],
        ]
        for one in view["problems"]
    ]
    quotes = []
    for name in ("bid", "ask", "mark", "last"):
        value = view["market"].get(name) or "–"
        label = f"{name} {value}" + (", use as price" if picks else "")
        quotes.append([label, value, not picks or value == "–"])
    mode, other = ("isolated", "cross") if view["isolated"] else ("cross", "isolated")
    return {
        "classes": ["tk-buys" if buys else "tk-sells"],
        "note": f"{view['environment']} · {view['account']}",
        "quotes": quotes,
        "checked": ["▲ Buy" if buys else "▼ Sell", dict(form["kinds"])[ticket.order_type]],
        "fields": names,
        "two": [sum(map(bool, row)) for row in [*form["rows"], *form["more"]] if len(row) > 1],
        "problems": sorted(problems),
        "wrong": len({one["field"] for one in view["problems"] if not one["missing"]} & {*names}),
        "preview": [[name, value] for name, value, *_ in view["preview"]],
        "leverage": f"{view['leverage'] or '–'}x",
        "mode": [[mode, f"Margin mode {mode}, change to {other}"]],
        "more": bool(form["more"]),
        "go": [f"Review {'buy' if buys else 'sell'} order", "false" if view["valid"] else "true"],
    }


FORMS: list[dict[str, Any]] = [
    {"order_type": "LIMIT", "price": "50000", "quantity": "0.01"},
    {"order_type": "LIMIT", "price": "50000.05", "quantity": "1,5"},
    {"order_type": "LIMIT"},
    {"order_type": "MARKET", "quantity": "0.01"},
    {"order_type": "STOP", "quantity": "0.0101"},
    {"order_type": "SCALE", "quantity": "0.05"},
    {"order_type": "TWAP", "quantity": "0.05", "duration": "soon"},
]


@pytest.mark.parametrize("side", ["BUY", "SELL"])
def test_the_ticket_shows_each_kind_of_order_as_it_is(
    show: Open, session: Session, venue: LocalVenue, side: str
) -> None:
    venue.advance("1m")
    ticket: Any = session.ticket("BTCUSDC", side=side)
    page = show(ticket)
    expect(page.locator(".tk-status")).to_have_text("live")
    if side == "SELL":
        session.exchange.set_margin_mode("BTCUSDC", "ISOLATED")
        session.sell("BTCUSDC", "0.02")
        until(page, lambda: bool(ticket.view["isolated"]))
    for form in FORMS:
        for name, value in {"price": "", "quantity": "", "duration": "20m", **form}.items():
            setattr(ticket, name, value)
        ticket.refresh()
        page.locator(".tk-more summary").first.evaluate("(one) => (one.parentElement.open = true)")

        def shown() -> dict[str, Any]:
            settle(page)
            found: dict[str, Any] = page.evaluate(DUMP)
            return {**found, "problems": sorted(found["problems"])}

        until(page, lambda: shown()["go"] == expected(ticket)["go"])
        assert shown() == expected(ticket), form


FOLLOWED = [
    ("RESTING", "rests in the book", [["signed", "done"], ["resting", "now"], ["filled", "later"]], [], False, False),
    ("UNKNOWN", "unknown: it may: have been placed", [["signed", "done"], ["answered", "now"]], [], True, True),
    ("REJECTED", "rejected: no margin", [["signed", "done"], ["rejected", "bad"]], [], False, True),
    ("NOT_SENT", "not sent", [["signed", "bad"]], [], False, True),
    ("FILLED", "filled: 0.01 at 62,500", [["signed", "done"], ["filled", "done"]], ["one", "two"], False, False),
]


def test_the_last_order_is_followed_in_steps_and_words(show: Open, session: Session) -> None:
    ticket: Any = session.ticket("BTCUSDC", price="50000", quantity="0.01")
    page = show(ticket)
    tracker = page.locator(".tk-tracker")
    expect(page.locator(".tk-status")).to_have_text("live")
    expect(tracker).to_be_hidden()
    ticket.stop()
    ticket.lock = ""
    for status, words, steps, children, asks, warns in FOLLOWED:
        following = {
            "summary": f"an order {status}",
            "steps": steps,
            "words": words,
            "children": children,
            "status": status,
        }
        ticket.set_trait("view", {**ticket.view, "following": following})
        settle(page)
        signs = {"done": "✓ ", "bad": "✖ ", "now": "● ", "later": "○ "}
        expect(tracker.locator(".tk-steps li")).to_have_text([signs[kind] + name for name, kind in steps])
        classes = tracker.locator(".tk-steps li").evaluate_all("(all) => all.map((one) => one.className)")
        assert classes == [f"tk-step tk-step-{kind}" for _, kind in steps]
        head, colon, rest = words.partition(": ")
        expect(tracker.locator(".tk-outcome strong")).to_have_text(head + colon.strip())
        expect(tracker.locator(".tk-outcome span")).to_have_text(rest)
        expect(tracker.locator(".tk-note")).to_have_text(f"an order {status}")
        expect(tracker.locator(".tk-children li")).to_have_text(children)
        expect(tracker.get_by_role("button", name="Ask the venue")).to_be_visible(visible=asks)
        assert tracker.evaluate("(one) => one.classList.contains('tk-warn')") == warns
    sending: Any = page.locator(".tk-form .tk-go")
    ticket.set_trait("phase", "sending")
    expect(sending).to_have_text("Sending…")
    expect(sending).to_have_attribute("aria-disabled", "true")
