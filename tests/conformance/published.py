"""Statements made of the published shapes: one for each field of an answer or message, each parameter, each default."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from . import feeds, world
from .shapes import ANSWER, MISSING, PARAMETER, QUERIES, REQUEST, SHAPES, Shape, found, judge, rows_of, shapes
from .statements import Differs, NotTried, each, expect
from .venue import Answer, Venue, accepted, refused
from .world import ask, changed, exchanged, known

FILTERS = {
    "symbol": ("symbol", "symbolCode"), "side": ("side",), "orderId": ("ordId", "orderId"), "execId": ("execId",),
    "clientOrderId": ("clOrdId", "clientOrderId"), "agentAddress": ("agentAddress",), "txHash": ("txHash",),
    "status": ("status",), "execStatus": ("execStatus",), "type": ("type",), "currency": ("currency",),
}  # fmt: skip
"""Parameter → the fields of which each row has its value."""
SIZES = ("pageSize", "size", "limit")
CHOSEN: dict[tuple[str, str], Any] = {
    ("/info/order/states", "status"): "FILLED", ("/info/order/states", "type"): 1,
    ("/info/order/events", "execStatus"): "NEW", ("/info/account/agent", "status"): "ACTIVE",
}  # fmt: skip
"""Values of parameters that mean another thing in each query."""
RENAMED = {"reduce_only_option": "reduceOnlyOption"}
"""Names in the shapes → those of the specification, which stands above them."""


# --- answers and messages
def answered(venue: Venue, operation: str) -> Any:
    """Return the body of the answer to an operation with its required parameters, asked once a run."""
    if operation == "POST /exchange/vaultCreate":
        return exchanged(venue, "vaultCreate")[1].body
    answer: Answer = venue.once(operation, lambda: accepted(ask(venue, operation)))
    return answer.body


def field_holds(venue: Venue, shape: Shape) -> None:
    if shape.operation.startswith("POST /ws/"):
        judge(shape, *feeds.messages(venue, shape.name))
    else:
        judge(shape, answered(venue, shape.operation))


def envelope_holds(venue: Venue, operation: object) -> None:
    body = answered(venue, str(operation))
    expect(body.get("message") == "success" and "data" in body, f"it has {sorted(body)}")


each("P Info API: {} is answered code 0, message success, and data", QUERIES, envelope_holds)


# --- parameters
def value_of(venue: Venue, shape: Shape) -> Any:
    """Return a value for a parameter. Raises NotTried where neither the documents nor the venue show one."""
    value = CHOSEN.get((shape.name, shape.path), known(venue).get(shape.path, shape.default))
    if value is None:
        raise NotTried("no value of it is published, and this venue shows none")
    return value


def parameter_holds(venue: Venue, shape: Shape) -> None:
    """Leave out a required one, which is refused; give an optional one, which chooses the rows."""
    answered(venue, shape.operation)
    if shape.required:
        refused(ask(venue, shape.operation, shape.path))
        return
    for value in shape.enum or (value_of(venue, shape),):
        rows = rows_of(accepted(ask(venue, shape.operation, **{shape.path: value})).data)
        expect(shape.path not in SIZES or len(rows) <= value, f"{len(rows)} rows with {shape.path} {value}")
        chosen = [name for name in FILTERS.get(shape.path, ()) if f"data[].{name}" in shapes(shape.operation, ANSWER)]
        if chosen and not rows:
            world.traded(venue)  # a venue without trading may have no such row
            raise Differs(f"no row with {shape.path} {value}")
        other = [row[name] for row in rows for name in chosen if not same(row[name], value)]
        expect(not other, f"{shape.path} {value} answers a row of {other[:1]}")
    if shape.enum:
        refused(ask(venue, shape.operation, **{shape.path: "none-such"}))


def same(found_value: object, value: object) -> bool:
    """Return whether a row has the value that was asked for; a side that was asked for by 1 may be answered BUY."""
    return str(found_value).lower() in (str(value).lower(), {"1": "buy"}.get(str(value)))


def steady(data: Any) -> str:
    """Return data as text, with times in ms to some 100 s: the newest row of some answers is of now."""
    return re.sub(r"\b(\d{8})\d{5}\b", r"\1", json.dumps(data))


def default_holds(venue: Venue, shape: Shape) -> None:
    """Without the parameter the answer is that of its default, and that of each other value is another."""
    name, default = shape.path, json.dumps(shape.default).strip('"')
    others: list[Any] = [one for one in shape.enum if one != default]
    if shape.type == "integer":
        others = [shape.default + 1, shape.default - 1]
    others = others or [{"false": "true", "desc": "asc"}.get(default, "none-such")]

    def data(**given: Any) -> str:
        answer = ask(venue, shape.operation, **given)
        return steady(accepted(answer).data if given.get(name) in (None, default) else answer.body.get("data"))

    for _ in range(5):  # what changes by itself between two queries is asked again
        plain, given = data(), data(**{name: default})
        different = [one for one in others if data(**{name: one}) != given]
        if plain == given == data(**{name: default}):
            break
    else:
        expect(False, f"without {name} the answer is not that with {name}={default}")
    if len(different) < len(others):
        alike = ", ".join(str(one) for one in others if one not in different)
        raise NotTried(f"this venue answers the same with {name}={alike}: it has too little to show")


# --- requests
def request_holds(venue: Venue, shape: Shape) -> None:
    """A request with the field is accepted, one without it only if it is optional; no value outside its enum is."""
    once = shape.name in ("bindReferral", "vaultCreate")  # they can't be repeated, or cost much
    forms = ["least"] if once else ["least", "whole", "null"]
    bodies = [exchanged(venue, shape.name, form)[0] for form in forms]
    path = shape.path
    for old, new in RENAMED.items():
        path = path.replace(old, new)
    values = [value for body in bodies for value in found(body, path) if value is not MISSING]
    if not values:
        raise NotTried("the suite has no value for it")
    wrong = [value for value in values if not shape.takes(value)]
    expect(not wrong, f"the accepted request has {wrong}")
    outside = [MISSING] * shape.required + [[]] * bool(shape.min_items)
    outside += [shape.enum[0].swapcase(), "none-such"] if shape.enum else []
    for value in outside:
        answer = changed(venue, shape.name, path, value, whole=not shape.required)
        refused(replace(answer, unserved=False))  # the action is served: the venue has accepted it


def request_default_holds(venue: Venue, shape: Shape) -> None:
    if shape.path != "action.conditionalOrder":
        raise NotTried("the exchange's client fills it in")
    trader = venue.trader(0)
    world.traded(venue)
    order, stop = venue.resting(), world.stop_of(venue, trader)
    accepted(trader.place(order, stop))
    accepted(trader.act("cancelAll", symbolCode=venue.code))
    venue.until(lambda: trader.order(order["clOrdId"])["status"] == "CANCELED", "the cancelled order")
    left = trader.order(stop["clOrdId"])["status"]
    expect(left == "ORDER_STATUS_UNTRIGGERED", f"the conditional order is {left}")


HOLDS: dict[str, tuple[Callable[[Venue, Shape], None], Callable[[Venue, Shape], None]]] = {
    ANSWER: (field_holds, field_holds),
    PARAMETER: (parameter_holds, default_holds),
    REQUEST: (request_holds, request_default_holds),
}
"""Where a shape stands → the check of the shape, and of its default."""
for _shape in SHAPES:
    _holds, _default = HOLDS[_shape.where]
    each(f"P {_shape.operation}: {_shape}", [_shape], _holds)
    if _shape.default is not None:
        each(f"P {_shape.operation}: {_shape.path} is {_shape.default} by default", [_shape], _default)
