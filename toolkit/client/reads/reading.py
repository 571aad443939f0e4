"""One query of the Info API: its parameters from what users write, the request, and the frame of the response."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import InputError, UnknownProduct
from ...products import ProductTable
from ...protocol.reads.endpoint import Endpoint
from ...protocol.reads.info import ENDPOINTS, META_RECORDS
from ...protocol.reads.info_records import PRODUCT
from ...protocol.reads.record import Record
from ..io.flow import Elapsed, Fetch, Flow, Reply, Sleep
from ..io.transport import Envelope, Retry, read, read_envelope
from .conversion import query_text

if TYPE_CHECKING:
    import pandas as pd

RATE_KEY = "info"
"""Key of all queries in the session's rate limits."""
_SUCCESS = re.compile(rb'\s*\{"code":0,"message":"[^"\\]*","data":([\[{])')
_CLOSING = {b"[": b"]}", b"{": b"}}"}
_CHECKSUM = re.compile(rb'"md5Checksum":"([^"\\]*)"')

Query = tuple[tuple[str, str], ...]


def read_success_head(reply: Reply, what: str) -> Envelope:
    """Read an envelope without decoding `data`, where the first and last bytes show a complete success.

    The frame decodes the data itself; decoding 100,000 candles twice would double the time of a read.
    """
    head = _SUCCESS.match(reply.body)
    if reply.status == 200 and head and reply.body.rstrip().endswith(_CLOSING[head[1]]):
        return Envelope(0, "", None, reply)
    return read_envelope(reply, what)


def fetch_rows(path: str, query: Query, retry: Retry, items: str = "items") -> Flow[list[Mapping[str, Any]]]:
    """Return the rows of one response, without a rate limit; [] where the data has another shape."""
    envelope = yield from read(Fetch("GET", path, query), retry)
    data = envelope.data
    if isinstance(data, dict):
        data = data.get(items)
    return [row for row in data if isinstance(row, Mapping)] if isinstance(data, list) else []


class Reader:
    """Reads the Info API for a Session or AsyncSession.

    It uses the session's `_delivery` (rate limits and retries), `_catalogue`, `account` and `_account()`.
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def table(self, endpoint: Endpoint, given: Mapping[str, Any], exact: bool) -> Flow[pd.DataFrame]:
        """Send one request and return the response as a frame; `given` has values by Python name."""
        query = yield from self.query(endpoint, given)
        reply = yield from self.fetch(endpoint, query)
        if endpoint.name == "products":
            self._forget_outdated_products(reply.body)
        frame: pd.DataFrame = yield from self.frame(endpoint, [reply.body], exact)
        return frame

    def meta(self, member: str, exact: bool) -> Flow[pd.DataFrame]:
        """Return a further member of the product list's data as a frame; `member` is a key of META_RECORDS."""
        from . import frames

        reply = yield from self.fetch(ENDPOINTS["products"], ())
        data = frames.data_of(reply.body, exact=exact)
        rows = data.get(member) if isinstance(data, Mapping) else None
        return frames.from_rows(META_RECORDS[member], meta_rows(rows), exact=exact)

    def fetch(self, endpoint: Endpoint, query: Query) -> Flow[Reply]:
        """Send one request, with retries and within the rate limit, and return the response."""
        limits = self._session._delivery
        elapsed_ms: int = yield Elapsed()
        wait = limits.limiter.reserve(RATE_KEY, elapsed_ms)
        if wait:
            yield Sleep(wait, queued=True)
        envelope = yield from read(Fetch("GET", endpoint.path, query), limits.retry, read_success_head)
        return envelope.reply

    def query(self, endpoint: Endpoint, given: Mapping[str, Any]) -> Flow[Query]:
        """Return the query for values by Python name. None means not given; the session's account is filled in."""
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
                code_or_symbol = int(value) if str(value).isdigit() else value
                value = (yield from self._session._catalogue.find(code_or_symbol)).symbol
            pairs.append((param.wire, query_text(param, value)))
        return tuple(pairs)

    def frame(self, endpoint: Endpoint, pages: Sequence[bytes], exact: bool) -> Flow[pd.DataFrame]:
        """Return responses as one frame, with symbols for product codes."""
        from . import frames

        if endpoint.record is PRODUCT:
            return frames.frame(endpoint, [readable_products(page) for page in pages], exact=exact)
        symbols = yield from self.symbols(endpoint.record)
        frame = frames.frame(endpoint, pages, symbols=symbols, exact=exact)
        if (yield from self._find_unknown_codes(endpoint.record, frame)):
            symbols = yield from self.symbols(endpoint.record)
            frame = frames.frame(endpoint, pages, symbols=symbols, exact=exact)
        return frame

    def symbols(self, record: Record) -> Flow[dict[int, str]]:
        """Return all symbols by product code; {} without a request where the record has no product codes."""
        if not any(field.kind == "code" for field in record.fields):
            return {}
        table: ProductTable = yield from self._session._catalogue.table()
        return {product.code: product.symbol for product in table.values()}

    def _find_unknown_codes(self, record: Record, frame: pd.DataFrame) -> Flow[bool]:
        """Refresh the product list for codes without a symbol: they may be newly listed. Return whether one was."""
        found = False
        for field in record.fields:
            if field.kind != "code" or frame.empty:
                continue
            for code in frame[field.column].dropna().unique():
                if str(code).isdigit():
                    try:
                        yield from self._session._catalogue.find(int(code))
                    except UnknownProduct:
                        continue
                    found = True
        return found

    def _forget_outdated_products(self, page: bytes) -> None:
        """Forget the session's product list where the venue's has another checksum."""
        catalogue = self._session._catalogue
        found = _CHECKSUM.search(page)
        if found and catalogue.known is not None and found[1].decode() != catalogue.known.checksum:
            catalogue.forget()


def meta_rows(rows: Any) -> list[Any]:
    """Return margin tables or currencies as flat rows: a row for each tier, with the number of its table."""
    flat: list[Any] = []
    for row in rows if isinstance(rows, list) else ():
        tiers = row.get("riskLimitVo") if isinstance(row, Mapping) else None
        if isinstance(tiers, list):
            flat += [{"tableId": row.get("tableId"), **tier} for tier in tiers if isinstance(tier, Mapping)]
        else:
            flat.append(row)
    return flat


def readable_products(page: bytes) -> bytes:
    """Return a product list without the rows that can't be read as a Product; each one causes a warning."""
    import msgspec

    from .frames import data_of

    data = data_of(page)
    if not isinstance(data, dict) or not isinstance(data.get("perpProducts"), list):
        return page
    readable = {str(product.code) for product in ProductTable.from_meta(data).values()}
    rows = [row for row in data["perpProducts"] if isinstance(row, dict) and str(row.get("code")) in readable]
    if len(rows) == len(data["perpProducts"]):
        return page
    return msgspec.json.encode({"code": 0, "message": "success", "data": {**data, "perpProducts": rows}})
