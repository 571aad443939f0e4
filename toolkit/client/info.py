"""`session.info`: every query of the Info API as a method that returns a DataFrame, made from the declarations.

Each method asks once. Long reads that page by themselves are methods of the session: `klines`, `fills`, `orders`,
`order_events`, `ledger`, `funding_payments`, `funding_rate_history`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

from ..errors import InputError, UnknownProduct
from ..products import ProductTable
from ..protocol.info import ENDPOINTS, Endpoint
from ..protocol.info_params import Param
from ..protocol.info_records import PRODUCT, Record
from .convert import query_text
from .drive import Asynchronous, Fetch, Flow, Now, Reply, Sleep, Synchronous, flow
from .transport import Envelope, read, read_envelope

if TYPE_CHECKING:
    import pandas as pd

LIMITED_AS = "info"
"""Key of all queries in the session's rate limits."""
_OPENED = re.compile(rb'\s*\{"code":0,"message":"[^"\\]*","data":[\[{n]')
_CHECKSUM = re.compile(rb'"md5Checksum":"([^"\\]*)"')

Query = tuple[tuple[str, str], ...]


def open_lazily(reply: Reply, what: str) -> Envelope:
    """Open an answer without decoding its data where its first bytes already say that all is well."""
    if reply.status == 200 and _OPENED.match(reply.body) and reply.body.rstrip().endswith(b"}"):
        return Envelope(0, "", None, reply)
    return read_envelope(reply, what)


class InfoFlows:
    """What both faces of `session.info` share. One method for each query; see the head of this module."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._driver: Any = session._driver

    def ask(self, endpoint: Endpoint, query: Query) -> Flow[Reply]:
        """Ask once (with the transport's retries, within the rate limit) and return the answer as it came."""
        delivery = self._session._delivery
        now: int = yield Now()
        wait = delivery.limiter.reserve(LIMITED_AS, now)
        if wait:
            yield Sleep(wait)
        envelope = yield from read(Fetch("GET", endpoint.path, query), delivery.retry, open_lazily)
        return envelope.reply

    def query(self, endpoint: Endpoint, given: Mapping[str, Any]) -> Flow[Query]:
        """Return the query of values by Python name; None means not given, a session's own account is filled in."""
        pairs: list[tuple[str, str]] = []
        for param in endpoint.params.values():
            value = given.get(param.name)
            if value is None and param.fill == "account":
                value = (yield from self._session._account()) if param.required else self._session.account
            if value is None:
                if param.required:
                    raise InputError(f"{param.name} is required: {param.rule}", field=param.name, rule="required")
                continue
            if param.kind == "code" and not str(value).isdigit():
                value = (yield from self._session._catalogue.find(value)).code
            if param.kind == "symbol":
                found = int(value) if str(value).isdigit() else value
                value = (yield from self._session._catalogue.find(found)).symbol
            pairs.append((param.wire, query_text(param, value)))
        return tuple(pairs)

    def frame(self, endpoint: Endpoint, pages: Sequence[bytes], exact: bool) -> Flow[pd.DataFrame]:
        """Return answers as a frame, with the symbols of the products in it."""
        from . import frames

        if endpoint.record is PRODUCT:
            return frames.frame(endpoint, [readable_products(page) for page in pages], exact=exact)
        symbols = yield from self.symbols(endpoint.record)
        made = frames.frame(endpoint, pages, symbols=symbols, exact=exact)
        if (yield from self._learn_codes(endpoint.record, made)):
            symbols = yield from self.symbols(endpoint.record)
            made = frames.frame(endpoint, pages, symbols=symbols, exact=exact)
        return made

    def symbols(self, record: Record) -> Flow[dict[int, str]]:
        """Return the names of all products by code, without asking where the record has no codes."""
        if not any(field.kind == "code" for field in record.fields):
            return {}
        table: ProductTable = yield from self._session._catalogue.table()
        return {product.code: product.symbol for product in table.values()}

    def _learn_codes(self, record: Record, made: pd.DataFrame) -> Flow[bool]:
        """Ask for the product list again when a frame has a code that it does not name; tell whether that helped."""
        learned = False
        for field in record.fields:
            if field.kind != "code" or made.empty:
                continue
            for code in made[field.column].dropna().unique():
                if str(code).isdigit():
                    try:
                        yield from self._session._catalogue.find(int(code))
                    except UnknownProduct:
                        continue
                    learned = True
        return learned

    def _call(self, endpoint: Endpoint, given: Mapping[str, Any], exact: bool) -> Flow[pd.DataFrame]:
        query = yield from self.query(endpoint, given)
        reply = yield from self.ask(endpoint, query)
        if endpoint.name == "products":
            self._compare_checksum(reply.body)
        made: pd.DataFrame = yield from self.frame(endpoint, [reply.body], exact)
        return made

    def _compare_checksum(self, page: bytes) -> None:
        """Let the session's product list be asked for again when the venue's has changed."""
        catalogue = self._session._catalogue
        found = _CHECKSUM.search(page)
        if found and catalogue.known is not None and found[1].decode() != catalogue.known.checksum:
            catalogue.forget()


def readable_products(page: bytes) -> bytes:
    """Return a product list without the rows that can't be read as a Product; each is left out with a warning."""
    import msgspec

    from .frames import data_of

    data = data_of(page)
    if not isinstance(data, dict) or not isinstance(data.get("perpProducts"), list):
        return page
    good = {product.code for product in ProductTable.from_meta(data).values()}
    rows = [row for row in data["perpProducts"] if isinstance(row, dict) and str(row.get("code")) in map(str, good)]
    if len(rows) == len(data["perpProducts"]):
        return page
    return msgspec.json.encode({"code": 0, "message": "success", "data": {**data, "perpProducts": rows}})


def _method(endpoint: Endpoint) -> Callable[..., Flow[pd.DataFrame]]:
    """Return the generator function of one query, with its signature and docstring."""
    signature = _signature(endpoint)

    def call(self: InfoFlows, *args: Any, **keywords: Any) -> Flow[pd.DataFrame]:
        try:
            given = dict(signature.bind(self, *args, **keywords).arguments)
        except TypeError as error:
            raise TypeError(f"{endpoint.name}(): {error}") from None
        given.pop("self")
        exact = given.pop("exact", False)
        return self._call(endpoint, given, exact)

    call.__name__ = endpoint.name
    call.__qualname__ = f"Info.{endpoint.name}"
    call.__doc__ = _docstring(endpoint)
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__annotations__ = {name: p.annotation for name, p in signature.parameters.items() if name != "self"}
    return call


def _signature(endpoint: Endpoint) -> Signature:
    params = endpoint.params.values()
    required = [param for param in params if param.required and not param.fill]
    optional = [param for param in params if param not in required]
    parameters = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)]
    parameters += [
        Parameter(param.name, Parameter.POSITIONAL_OR_KEYWORD, annotation=_kind(param)) for param in required
    ]
    parameters += [
        Parameter(
            param.name, Parameter.KEYWORD_ONLY, default=_default(param), annotation=f"{_kind(param)}{_none(param)}"
        )
        for param in optional
    ]
    parameters.append(Parameter("exact", Parameter.KEYWORD_ONLY, default=False, annotation="bool"))
    return Signature(parameters, return_annotation="Flow[pd.DataFrame]")


def _default(param: Param) -> Any:
    return None if param.required else param.default


def _none(param: Param) -> str:
    return " | None" if _default(param) is None else ""


def _kind(param: Param) -> str:
    if param.kind == "integer" and param.name == "interval":
        return "int | str | timedelta"
    return {
        "integer": "int",
        "page": "int",
        "time": "int | str | datetime",
        "flag": "bool",
        "code": "str | int",
        "symbol": "str | int",
        "enum": "str | int",
    }.get(param.kind, "str")


def _accepts(param: Param) -> str:
    if param.kind == "time":
        return "ms since 1970, ISO text or a datetime; UTC without a zone"
    if param.kind in ("code", "symbol"):
        return "symbol or code"
    if param.name == "interval" and param.kind == "integer":
        return "seconds, '1m', '4h', '1d' or a timedelta"
    if param.fill:
        return "default: the session's account"
    return param.rule


def _docstring(endpoint: Endpoint) -> str:
    lines = [f"{endpoint.summary}, as a DataFrame.", ""]
    lines += [f"{param.name}: {param.about} ({_accepts(param)})" for param in endpoint.params.values()]
    lines.append("exact: amounts as Decimal instead of float64")
    rows = f"Rows: {endpoint.order}. " if endpoint.order else ""
    lines += ["", f"{rows}Columns (dtype; unit):"]
    for field in endpoint.record.fields:
        unit = f"; {field.unit}" if field.unit else ""
        lines.append(f"    {field.column} ({field.dtype}{unit}): {field.about}")
    lines += [
        "",
        "Unknown fields follow under their wire names; the answer as it came is in `frame.attrs['raw']`.",
        "Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,",
        "TransportError when no usable answer came.",
        f'Source: venue-facts, "Info API": GET {endpoint.path}.',
    ]
    return "\n".join(lines)


for _endpoint in ENDPOINTS.values():
    setattr(InfoFlows, _endpoint.name, flow(_method(_endpoint)))


class Info(InfoFlows, Synchronous):
    """The queries of the Info API, one method each; see `help(session.info.trades)`."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., pd.DataFrame]: ...

    def __repr__(self) -> str:
        return f"<Info on {self._session.environment.name}: {', '.join(ENDPOINTS)}>"


class AsyncInfo(InfoFlows, Asynchronous):
    """The awaited twin of Info."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, pd.DataFrame]]: ...

    def __repr__(self) -> str:
        return f"<AsyncInfo on {self._session.environment.name}: {', '.join(ENDPOINTS)}>"
