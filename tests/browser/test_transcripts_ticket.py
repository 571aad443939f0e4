"""The ticket with a fixed state, step by step: all that it draws and sends, in `transcripts`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.bench import BEAT, NOW_MS, Bench
from tests.browser.states import DRAFT, FOLLOWED, FORM, PRICE, QUANTITY, REDUCE, SIGN, TICKET, TIF
from toolkit import widgets


def ticket(bench: Bench, part: str = ".tk-body", **state: Any) -> None:
    bench.show(widgets.OrderTicket, part, part == "section", **{"view": TICKET, **DRAFT, **state})


def problem(name: str, message: str, *choices: str, missing: bool = False) -> dict[str, Any]:
    return {"field": name, "rule": "tickSize", "message": message, "missing": missing, "choices": list(choices)}


def test_the_ticket_draws_its_form(bench: Bench) -> None:
    ticket(bench, "section")
    bench.take(
        "a sale at market, isolated",
        side="SELL",
        order_type="MARKET",
        form={**FORM, "picksPrice": False, "rows": [[QUANTITY], [REDUCE]], "more": []},
        view={**TICKET, "isolated": True, "preview": []},
    )
    bench.take("real money", view={**TICKET, "mainnet": True, "market": {}, "leverage": "", "isolated": None})
    bench.take("read-only", view={**TICKET, "readOnly": "no agent key"})
    bench.take(
        "an empty place, a stop",
        form={**FORM, "rows": [[PRICE, None], [QUANTITY, TIF]]},
        order_type="LIMIT",
        side="BUY",
        view={**TICKET, "valid": False},
    )
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
    bench.take(
        "as Python has it",
        side="SELL",
        quantity_as="notional",
        tif="IOC",
        reduce_only=True,
        order_type="MARKET",
        view={**TICKET, "typed": {**TICKET["typed"], "price": "62000"}},
    )
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
    wrong = [
        problem("price", "price 1.23 is not a multiple of tickSize 0.1", "1.2", "1.3"),
        problem("quantity", "a quantity is needed", missing=True),
        problem("trigger_by", "odd", "x"),
    ]
    bench.take("three problems", price="1.23", view={**TICKET, "valid": False, "typed": typed, "problems": wrong})
    bench.pass_ms(900)
    bench.pass_ms(200)
    bench.focus("button|Use 1.3 for price")
    bench.click("button|Use 1.3 for price")
    bench.take("taken", price="1.3", view={**TICKET, "typed": {**typed, "price": "1.3"}})
    bench.type(price, "1.31")
    bench.take(
        "a problem of an earlier text", view={**TICKET, "typed": {**typed, "price": "1.3"}, "problems": wrong[:1]}
    )
    bench.take(
        "of an exit",
        view={**TICKET, "typed": {**typed, "price": "1.31"}, "problems": [problem("stop_loss", "too high", "0.9")]},
    )
    bench.check("ticket-problems")


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
    bench.take(
        "answered",
        phase="edit",
        answered=NOW_MS + 20_000,
        view={
            **TICKET,
            "following": {
                **FOLLOWED,
                "status": "UNKNOWN",
                "words": "unknown: no answer: timed out",
                "steps": [["sent", "bad"]],
                "children": ["take profit at 1: open"],
            },
        },
    )
    bench.click("button|Ask the venue")
    bench.take(
        "rejected", view={**TICKET, "following": {**FOLLOWED, "status": "REJECTED", "words": "rejected: margin"}}
    )
    bench.take("not sent", view={**TICKET, "following": {**FOLLOWED, "status": "NOT_SENT"}})
    bench.take("filled", view={**TICKET, "following": {**FOLLOWED, "status": "FILLED"}})
    waits = {**FOLLOWED, "status": "WAITING", "words": "waits here for its price", "cancels": True}
    bench.take("waiting here", view={**TICKET, "following": waits})
    bench.click("button|Cancel what waits here")
    bench.take(
        "another review",
        phase="review",
        view={
            **TICKET,
            "review": {
                **SIGN,
                "token": 2,
                "rows": [["Size", "1", "all"]],
                "question": "Close?",
                "verb": "close",
                "unchecked": [["Not checked", "maxOrderQty", "the venue sends no value that can be read"]],
            },
        },
    )
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
    bench.take(
        "review",
        phase="review",
        view={**TICKET, "review": {**SIGN, "token": 1, "expiry": str(BEAT["now"] + 7_000) if until else ""}},
    )
    bench.live(1_000)
    bench.click(".tk-sign")
    bench.pass_ms(900)
    for _ in range(9):
        bench.pass_ms(1_000)
    bench.beat("alive, later", now=BEAT["now"] + 12_000, at=NOW_MS + 12_000)
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


def test_keys_of_a_panel_stay_in_it_except_to_save(bench: Bench) -> None:
    ticket(bench)
    for key in ("d", "S", "ArrowDown"):
        bench.key("[id$='-price']", key)
        bench.key("[id$='-price']", key, ctrlKey=True)
        bench.key("[id$='-price']", key, metaKey=True)
    bench.key("[id$='-price']", "s", ctrlKey=True)
    bench.do(
        "outside",
        "document.querySelector('main').dispatchEvent(new KeyboardEvent('keydown', { key: 'x', bubbles: true }))",
    )
    bench.do("gone", "ends[0]()")
    bench.do("nothing is left", "sent.push({ timers: timers.size, listeners: model.listeners.length })")
    bench.key("[id$='-price']", "z")
    bench.check("keys")
