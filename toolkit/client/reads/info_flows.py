"""The flows of `session.info`: one for each query of the Info API, made from the declarations, returning a DataFrame.

A flow sends one request. Where rows have times and no page is requested, it sends one request per page.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta  # noqa: F401 - for annotations made below
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, Literal  # noqa: F401

from ...errors import capital
from ...protocol.enums import ENUMS
from ...protocol.reads.endpoint import Endpoint, Param
from ...protocol.reads.info_queries import ENDPOINTS
from ...protocol.reads.rows import Row
from ...suggestions import Suggesting, bound
from ...worked_examples import examples_of
from ..io.docstrings import described, parameter, section
from ..io.flow import Flow, flow
from .reading import InfoSession, Reader

if TYPE_CHECKING:
    import pandas as pd

_TYPES = {
    "integer": "int",
    "page": "int",
    "time": "int | float | str | date | datetime | timedelta",
    "flag": "bool",
    "code": "str | int",
    "symbol": "str | int",
}
"""Kind of a parameter → what a caller may give, as an annotation. Other kinds are text."""

_SHAPING: dict[str, Any] = {"exact": False, "index": None, "progress": None}
"""Parameters of a method that are not sent → their defaults."""

_COMPLETE = (
    "`frame.attrs['missing']` says why rows may be missing, or '', `['moved']` how many changed while they were read.",
)
"""Line of the docstring of a method that reads all pages."""
_ANNUALISED = "funding_rate_history"
"""The query whose frame has one column more: `annualised`, as in `session.funding_rates()`."""


class InfoFlows(Suggesting):
    """The flows of Info and AsyncInfo. Those of the queries are added below this class.

    Parameters
    ----------
    session : InfoSession
        The session that they read for.
    """

    def __init__(self, session: InfoSession) -> None:
        self._session = session
        self._driver = session._driver
        self._reader = Reader(session)


def _method(endpoint: Endpoint[Row]) -> Callable[..., Flow[pd.DataFrame]]:
    """Return the generator function of one query, with its signature and docstring."""
    signature = _signature(endpoint)

    def call(self: InfoFlows, *args: Any, **keywords: Any) -> Flow[pd.DataFrame]:
        from .derived_columns import with_annual_rate
        from .frames import indexed

        # `call` accepts any arguments, so it must refuse wrong ones itself, under the name that the user wrote.
        given = bound(signature, endpoint.name, self, *args, **keywords)
        del given["self"]
        exact, index, progress = (given.pop(name, default) for name, default in _SHAPING.items())
        if endpoint.windowed and given.get("page") is None and given.get("page_size") is None:
            window = given.pop("start", None), given.pop("end", None), progress
            read = yield from self._reader.resumable(endpoint.name, given, *window)
            frame = yield from self._reader.frame_of([read], read.newest_first()[::-1], exact=exact)
        else:
            frame = yield from self._reader.table(endpoint.name, given, exact)
        return indexed(with_annual_rate(frame, exact) if endpoint.name == _ANNUALISED else frame, index)

    call.__name__ = endpoint.name
    call.__qualname__ = f"Info.{endpoint.name}"
    call.__doc__ = _docstring(endpoint)
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__annotations__ = {name: p.annotation for name, p in signature.parameters.items() if name != "self"}
    return call


def _signature(endpoint: Endpoint[Row]) -> Signature:
    required = _required(endpoint.params.values())
    optional = [param for param in endpoint.params.values() if param not in required]
    usual = Parameter.POSITIONAL_OR_KEYWORD
    parameters = [Parameter("self", usual)]
    parameters += [Parameter(param.name, usual, annotation=_annotation(param)) for param in required]
    named: dict[str, tuple[Any, str]] = {param.name: (_default(param), _annotation(param)) for param in optional}
    if endpoint.windowed:  # without a page all of them are read
        named |= {param.name: (None, "int | None") for param in optional if param.kind == "page"}
    named |= {"exact": (False, "bool"), "index": (None, "str | None")}
    if endpoint.windowed:
        named["progress"] = (None, "bool | None")
    parameters += [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (default, annotation) in named.items()
    ]
    return Signature(parameters, return_annotation="Flow[pd.DataFrame]")


def _required(params: Iterable[Param]) -> list[Param]:
    """Return the parameters that a caller must give. A session fills in some that the venue requires."""
    return [param for param in params if (param.required or param.leading) and not param.fill]


def _default(param: Param) -> Any:
    return None if param.required or param.leading else param.default


def _annotation(param: Param) -> str:
    if param.enum:
        known = ENUMS[param.enum]
        annotation = _literal(known.names) + (" | int" if known.name_of else "")
    elif param.kind == "choice":
        annotation = _literal(param.choices)
    elif param.name == "interval":
        annotation = "str | timedelta"
    else:
        annotation = _TYPES.get(param.kind, "str")
    return annotation + (" | None" if param not in _required([param]) and _default(param) is None else "")


def _literal(names: Iterable[str]) -> str:
    return f"Literal[{', '.join(map(json.dumps, names))}]"


def _accepts(param: Param) -> str:
    if param.kind == "time":
        return "Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday', UTC without a zone"
    if param.kind in ("code", "symbol"):
        return "symbol or code"
    if param.name == "interval" and param.kind == "integer":
        return "'1m', '4h', '1d' or a timedelta"
    if param.fill:
        return "default: the session's account"
    return param.rule


def _default_words(endpoint: Endpoint[Row], param: Param) -> str:
    if endpoint.windowed and param.name == "page":
        return ", default: all pages"
    known = _default(param)
    return f", default: {known}" if known is not None and param.kind != "flag" else ""


_SHAPING_TEXTS = {
    "exact": ("bool", "True gives Decimal (default: False, float64)"),
    "index": ("str | None", "Column that becomes the index (default: none)"),
    "progress": ("bool | None", "True shows a bar, False none (default: when the read takes long)"),
}
_RAISES = {
    "MalformedRequest": "For a value that breaks its rule",
    "ExchangeError": "When the venue refuses",
    "TransportError": "When no usable answer came",
}


def _docstring(endpoint: Endpoint[Row]) -> str:
    required = _required(endpoint.params.values())
    parameters = [
        parameter(
            param.name,
            _annotation(param),
            f"{param.about} ({_accepts(param)}{_default_words(endpoint, param)})",
            optional=param not in required,
        )
        for param in endpoint.params.values()
    ]
    shaping = [name for name in _SHAPING if name != "progress" or endpoint.windowed]
    parameters += [
        parameter(name, annotation, text, optional=True)
        for name in shaping
        for annotation, text in [_SHAPING_TEXTS[name]]
    ]
    lines = [
        f"{endpoint.summary}, as a DataFrame.",
        "",
        "Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.",
        *(_COMPLETE if endpoint.windowed else ()),
        f'Source: docs/published.md, "Info API": GET {endpoint.path}.',
        *section("Parameters", parameters),
        *section("Returns", [described("DataFrame", _rows(endpoint), _columns(endpoint))]),
        *section("Raises", [described(name, text) for name, text in _RAISES.items()]),
    ]
    if examples := examples_of("Info").get(endpoint.name, ())[1:]:
        lines += section("Examples", [list(examples)])
    return "\n".join(lines)


def _rows(endpoint: Endpoint[Row]) -> str:
    if endpoint.windowed:
        rows = f"All rows, oldest first. With `page` or `page_size` one page, {endpoint.order}."
    else:
        rows = f"Rows: {endpoint.order}." if endpoint.order else ""
    return f"{rows} Columns with dtype and unit:".strip()


def _columns(endpoint: Endpoint[Row]) -> Iterable[str]:
    for field in endpoint.record.fields:
        unit = f", {field.unit}" if field.unit else ""
        mark = "" if field.published or not endpoint.record.known else " [L]"
        yield f"`{field.column}`: {field.dtype}{unit}. {capital(field.about)}{mark}"
        if endpoint.name == _ANNUALISED and field.column == "funding_rate":
            yield "`annualised`: float64, ratio per year. The rate if every interval of 365 days settled it"


for _endpoint in ENDPOINTS.values():
    setattr(InfoFlows, _endpoint.name, flow(_method(_endpoint)))
