"""The exchange's published shapes: parameters and fields of each operation, and a walk over an answer by their paths.

`tests/vectors/published-shapes.jsonl` has one line for each parameter and field of the exchange's OpenAPI files. The
path `data[].side` is the field `side` of each row of the list `data`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

LINES = (Path(__file__).parents[1] / "vectors" / "published-shapes.jsonl").read_text(encoding="utf-8").splitlines()
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
MISSING = object()
Change = Callable[[str, Any], Any]
"""Takes the path and the value of a field. Returns the value that is sent, or MISSING."""


class Shape(NamedTuple):
    """What the files say of one parameter or field."""

    type: str
    required: bool = False
    enum: Sequence[str] = ()
    default: Any = None
    nullable: bool = False


PUBLISHED: dict[tuple[str, str], dict[str, Shape]] = {}
"""(operation, "parameter" | "request" | "response 200") → path → shape."""
for _line in map(json.loads, LINES):
    _shape = Shape(*(_line.get(name, default) for name, default in {"type": "", **Shape._field_defaults}.items()))
    PUBLISHED.setdefault((_line["operation"], _line["where"]), {})[_line["path"]] = _shape
QUERIES = list(dict.fromkeys(operation[4:] for operation, _ in PUBLISHED if operation.startswith("GET ")))
"""Paths of the published queries."""


def parameters(path: str) -> dict[str, Shape]:
    """Return the parameters of a query."""
    return PUBLISHED.get((f"GET {path}", "parameter"), {})


def fields(path: str) -> dict[str, Shape]:
    """Return the fields of an answer, none for a query whose answer is not published."""
    return PUBLISHED.get((f"GET {path}", "response 200"), {})


def changed(value: Any, change: Change, path: str = "data") -> Any:
    """Return a value with each of its parts changed, from the outside to the inside."""
    value = change(path, value)
    if isinstance(value, dict):
        parts = {name: changed(each, change, f"{path}.{name}" if path else name) for name, each in value.items()}
        return {name: each for name, each in parts.items() if each is not MISSING}
    return [changed(each, change, f"{path}[]") for each in value] if isinstance(value, list) else value


def parts_of(value: Any, path: str = "") -> list[tuple[str, Any]]:
    """Return the path and value of each part of a value, the outer ones first."""
    found: list[tuple[str, Any]] = []

    def note(where: str, part: Any) -> Any:
        found.append((where, part))
        return part

    changed(value, note, path)
    return found


def faults_of(request: dict[str, Any], shapes: dict[str, Shape]) -> Iterator[str]:
    """Yield where a request differs from its shape: a type, a missing or unknown field, a value outside its enum."""
    for path, value in parts_of(request):
        shape = shapes.get(path or "$")
        if shape is None:
            yield f"{path} is not published"
        elif not (value is None and shape.nullable):
            if type(value) is not TYPES[shape.type] or (shape.enum and value not in shape.enum):
                yield f"{path} is {value!r}, published as {shape.type} {' '.join(shape.enum)}".rstrip()
        if isinstance(value, dict):
            within = f"{path}." if path else ""
            inner = {name.removeprefix(within): one for name, one in shapes.items() if name.startswith(within)}
            for name, one in inner.items():
                if one.required and "." not in name and "[" not in name and name not in value:
                    yield f"{within}{name} is missing"
