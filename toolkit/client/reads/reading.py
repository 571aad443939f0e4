"""Asking the Info API: a query's text from what users write, one request, and the frame of its answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import InputError, UnknownProduct
from ...products import ProductTable
from ...protocol.reads.info import Endpoint
from ...protocol.reads.info_records import PRODUCT, Record
from ..io.flow import Fetch, Flow, Now, Reply, Sleep
from ..io.transport import Envelope, read, read_envelope
from .conversion import query_text

if TYPE_CHECKING:
    import pandas as pd

LIMITED_AS = "info"
"""Key of all queries in the session's rate limits."""
_OPENED = re.compile(rb'\s*\{"code":0,"message":"[^"\\]*","data":([\[{])')
_ENDS = {b"[": b"]}", b"{": b"}}"}
_CHECKSUM = re.compile(rb'"md5Checksum":"([^"\\]*)"')

Query = tuple[tuple[str, str], ...]


def open_lazily(reply: Reply, what: str) -> Envelope:
    """Open an answer without decoding its data where its first and last bytes already say that all is well."""
    head = _OPENED.match(reply.body)
    if reply.status == 200 and head and reply.body.rstrip().endswith(_ENDS[head[1]]):
        return Envelope(0, "", None, reply)
    return read_envelope(reply, what)


class Reader:
    """Reads the Info API for a session: with its transport, rate limits, product list and account."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def table(self, endpoint: Endpoint, given: Mapping[str, Any], exact: bool) -> Flow[pd.DataFrame]:
        """Ask once and return the answer as a frame; `given` has values by Python name."""
        query = yield from self.query(endpoint, given)
        reply = yield from self.ask(endpoint, query)
        if endpoint.name == "products":
            self._compare_checksum(reply.body)
        made: pd.DataFrame = yield from self.frame(endpoint, [reply.body], exact)
        return made

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
            if value is None and param.fill == "account" and given.get(param.unless) is None:
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
