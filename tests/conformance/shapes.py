"""The exchange's published shapes: fields and parameters of each operation, where one stands, and what it may be.

`tests/vectors/published-shapes.jsonl` has one line for each. The path `data[].side` is the field `side` of each row of
the list `data`. `published-more.jsonl` has what the documents say of operations that do not stand there. Channels
without a shape have a published example in `published-feed.jsonl`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .statements import Differs, NotTried, expect

VECTORS = Path(__file__).parents[1] / "vectors"
DECIMAL = re.compile(r"-?\d+(\.\d+)?")
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "nothing"})()
"""Stands for a field that an object does not have."""
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
AMOUNTS = {"balance", "availableBalance", "equity", "price", "qty", "filledQty", "leaveQty", "cumFilledValue", "cumFee",
           "ordPx", "filledPx", "execQty", "leavesQty", "realizedPnl", "openFee", "closeFee", "leverage", "longSize",
           "shortSize", "unrealizedPnl", "curMarkPx", "orderPx", "open", "high", "low", "close", "volume", "turnover",
           "tickSize", "stepSize", "maxSlippagePct", "minOrderValue", "minimumValue", "tvl"}  # fmt: skip
"""Fields whose text is a decimal number."""
PARAMETER, REQUEST, ANSWER = "parameter", "request", "response 200"


@dataclass(frozen=True)
class Shape:
    """What is published of one parameter or field of an operation."""

    operation: str
    where: str
    path: str
    type: str
    required: bool = False
    nullable: bool = False
    enum: tuple[str, ...] = ()
    default: Any = None
    min_items: int = 0

    @property
    def name(self) -> str:
        """The last part of an operation: path of a query, type of an action, name of a channel."""
        return self.operation.removeprefix("GET ") if self.where == PARAMETER else self.operation.rsplit("/", 1)[-1]

    def takes(self, value: Any) -> bool:
        """Return whether a value has the type. A list may also come as one page, as the live exchange answers."""
        if value is None:
            return self.nullable
        if self.type == "array" and self.path == "data" and isinstance(value, dict):
            return isinstance(value.get("items"), list) and type(value.get("total")) is int
        if type(value) is str and self.path.rsplit(".", 1)[-1] in AMOUNTS and not DECIMAL.fullmatch(value):
            return False
        return type(value) is TYPES[self.type] and (self.type != "integer" or -(1 << 63) <= value < 1 << 63)

    def __str__(self) -> str:
        kind = self.type + " or null" * self.nullable + (f", one of {', '.join(self.enum)}" if self.enum else "")
        needed = ("required, " if self.required else "optional, ") if self.where != ANSWER else ""
        return f"{self.path} is {needed}{kind}"


def _read(one: dict[str, Any]) -> Shape:
    more = {"enum": tuple(one.get("enum", ())), "default": one.get("default"), "min_items": one.get("minItems", 0)}
    flags = {"required": one.get("required", False), "nullable": one.get("nullable", False)}
    return Shape(one["operation"], one["where"], one["path"], one["type"], **flags, **more)


def _of_example(operation: str, value: Any, path: str = "") -> Iterator[Shape]:
    """Yield the shapes of a published example, of which each list has rows of one kind."""
    if path:
        kind = next(name for name, of in TYPES.items() if type(value) is of)
        yield Shape(operation, ANSWER, path, kind)
    for name, part in value.items() if isinstance(value, dict) else ():
        yield from _of_example(operation, part, f"{path}.{name}" if path else name)
    if isinstance(value, list):
        yield from _of_example(operation, value[0], f"{path}[]")


def _lines(name: str) -> list[Any]:
    text = (VECTORS / f"published-{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


_PUBLISHED = tuple(map(_read, (*_lines("shapes"), *_lines("more"))))
_EXAMPLES = {f"POST /ws/subscribe/{one['channel']}": one["message"] for one in _lines("feed")}
_KNOWN = {one.operation for one in _PUBLISHED}
_OTHERS = (shape for one, example in _EXAMPLES.items() if one not in _KNOWN for shape in _of_example(one, example))
SHAPES = (*_PUBLISHED, *_OTHERS)
QUERIES = tuple(dict.fromkeys(one.operation for one in SHAPES if one.operation.startswith("GET ")))
CHANNELS = tuple(one.rsplit("/", 1)[-1] for one in _EXAMPLES)


def shapes(operation: str, where: str) -> dict[str, Shape]:
    """Return the shapes of an operation by their paths."""
    return {one.path: one for one in SHAPES if (one.operation, one.where) == (operation, where)}


def parts(path: str) -> list[str]:
    """Return the steps of a path: names, and [] for each row of a list."""
    return re.findall(r"\[\]|[^.$\[\]]+", path)


def found(body: Any, path: str) -> list[Any]:
    """Return what a path leads to, once for each object that could have it; `MISSING` where the object does not."""
    here = [body]
    for part in parts(path):
        if part == "[]":
            here = [row for value in here for row in rows_of(value)]
        else:
            here = [value.get(part, MISSING) for value in here if isinstance(value, dict)]
    return here


def rows_of(data: Any) -> list[Any]:
    """Return the rows of a list, or of a page of one."""
    rows = data.get("items") if isinstance(data, dict) else data
    return rows if isinstance(rows, list) else []


def edited(body: Any, path: str, value: Any = MISSING) -> Any:
    """Return a copy of a body in which everything that a path leads to is another value, or is left out."""
    return _edited(body, parts(path), value)


def _edited(here: Any, steps: list[str], value: Any) -> Any:
    if not steps:
        return value
    first, *rest = steps
    if first == "[]" and isinstance(here, dict):
        return {**here, "items": _edited(here["items"], steps, value)}
    if first == "[]":
        changed = [_edited(row, rest, value) for row in here]
        return [row for row in changed if row is not MISSING]
    changed = _edited(here.get(first, {}), rest, value) if isinstance(here, dict) else MISSING
    kept = {name: part for name, part in here.items() if name != first}
    return kept if changed is MISSING else {**kept, first: changed}


def judge(shape: Shape, *bodies: Any) -> None:
    """Raise Differs unless a field stands in the bodies, and always has its type; NotTried if nothing could have it."""
    values = [value for body in bodies for value in found(body, shape.path)]
    if not values or (shape.path == "data" and values == [None]):
        raise NotTried("no row that could have it was answered")
    there = [value for value in values if value is not MISSING]
    expect(there, f"it is missing in all {len(values)}")
    wrong = [value for value in there if not shape.takes(value)]
    if wrong:
        raise Differs(f"{str(wrong[0])[:80]!r} in {len(wrong)} of {len(there)} is no {shape.type}")
