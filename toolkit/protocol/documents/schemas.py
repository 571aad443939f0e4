"""JSON schemas (2020-12) of actions, records and parameters, made from their declarations."""

from __future__ import annotations

from typing import Any

from ..enums import ENUMS
from ..fields import Address, Bool, DecimalText, EnumName, Field, Int, Items, Object, Rule, Text
from ..reads.endpoint import Param
from ..reads.rows import Record, RecordField

Schema = dict[str, Any]

ADDRESS = "^0[xX][0-9a-fA-F]{40}$"
HASH = "^0[xX][0-9a-fA-F]{64}$"
_DECIMAL = "^-?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)$"
_UNSIGNED = "^([0-9]+(\\.[0-9]*)?|\\.[0-9]+)$"

_TEXT: Schema = {"type": ["string", "null"]}
_NUMBER: Schema = {"type": ["integer", "string", "null"]}
_AMOUNT: Schema = {"type": ["string", "number", "null"]}
_KINDS: dict[str, Schema] = {
    **dict.fromkeys(("price", "quantity", "money", "ratio"), _AMOUNT),
    **dict.fromkeys(("integer", "id", "key", "code", "currency", "ms", "s"), _NUMBER),
    **dict.fromkeys(("text", "symbol", "address", "hash"), _TEXT),
    "bool": {"type": ["boolean", "null"]},
    "object": {},
}
"""Kind of a field of a record → schema of its value. A decimal is text wherever the local venue sends it."""


def of_rule(rule: Rule) -> Schema:
    """Return the schema of what a rule accepts. Rules between fields are not part of it."""
    if isinstance(rule, Object):
        return of_object(rule)
    if isinstance(rule, Items):
        length = {"minItems": rule.minimum, **({"maxItems": rule.maximum} if rule.maximum is not None else {})}
        return {"type": "array", "items": of_object(rule.item), **length}
    found: Schema = {"description": rule.accepts}
    if isinstance(rule, Int):
        bounds = {"minimum": rule.minimum, "maximum": rule.maximum}
        return {**found, "type": ["integer", "string"] if rule.or_text else "integer", **bounds}
    if isinstance(rule, DecimalText):
        return {**found, "type": "string", "pattern": _DECIMAL if rule.sign == "not zero" else _UNSIGNED}
    if isinstance(rule, EnumName):
        return {**found, "type": "string", "enum": list(rule.numbers)}
    if isinstance(rule, Text):
        return {**found, "type": "string", "minLength": rule.minimum, "maxLength": rule.maximum}
    if isinstance(rule, Address):
        return {**found, "type": "string", "pattern": ADDRESS}
    if isinstance(rule, Bool):
        return {**found, "type": "boolean"}
    return {**found, **({"type": "string"} if rule.kind == "string" else {})}


def of_object(declared: Object) -> Schema:
    """Return the schema of an object with known fields. An alias is a field of its own."""
    properties: Schema = {}
    required = []
    for field in declared.fields:
        properties[field.name] = _with_note(field)
        if field.alias:
            properties[field.alias] = {**_with_note(field), "deprecated": True}
        elif field.required:
            required.append(field.name)
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": required} if required else found


def _with_note(field: Field) -> Schema:
    schema = of_rule(field.rule)
    if field.note:
        schema["description"] = f"{schema.get('description', '')}; {field.note}".removeprefix("; ")
    return schema


def of_record(record: Record) -> Schema:
    """Return the schema of a row. Fields can be missing and further ones can come, as in every answer of a venue."""
    return {"type": "object", "properties": {field.wire: of_record_field(field) for field in record.fields}}


def of_record_field(field: RecordField) -> Schema:
    """Return the schema of one value."""
    about = field.about + (f" ({field.unit})" if field.unit else "")
    if field.enum:
        names = ", ".join(ENUMS[field.enum].names)
        return {"type": ["string", "integer", "null"], "description": f"{about}: {names}, as name or number"}
    return {**_KINDS[field.kind], "description": about}


def of_param(param: Param) -> Schema:
    """Return the schema of a parameter's value."""
    if param.kind in ("integer", "page", "code", "time"):
        found: Schema = {"type": "integer"}
        if param.low is not None:
            found["minimum"] = param.low
        if param.high is not None:
            found["maximum"] = param.high
        if param.multiple > 1:
            found["multipleOf"] = param.multiple
    elif param.kind == "flag":
        found = {"type": "boolean"}
    elif param.kind == "choice":
        found = {"type": "string", "enum": list(param.choices)}
    elif param.kind == "enum":
        found = {"type": "string", "enum": list(ENUMS[param.enum].names)}
    else:
        patterns = {"address": ADDRESS, "hash": HASH}
        found = {"type": "string", **({"pattern": patterns[param.kind]} if param.kind in patterns else {})}
    return found if param.default is None else {**found, "default": param.default}
