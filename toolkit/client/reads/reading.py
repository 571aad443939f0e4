"""The reader of the Info API: parameters from what users write, requests, all pages, and frames of the responses."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ...errors import BadAnswer, InputError, ToolkitError, UnknownProduct
from ...products import Product, ProductTable
from ...protocol.reads.endpoint import Endpoint
from ...protocol.reads.info_queries import ENDPOINTS, META_RECORDS
from ...protocol.reads.info_records import PRODUCT
from ...protocol.reads.rows import Record
from ..io.flow import Elapsed, Fetch, Flow, Now, Reply, Sleep
from ..io.transport import Envelope, Retry, read, read_envelope
from .conversion import Query, Time, milliseconds, query_text

if TYPE_CHECKING:
    import pandas as pd

    from ...environments import Environment
    from ...progress import Progress
    from ..io.rate_limits import RateLimiter
    from .paging import PagedRead


OPEN_STATUSES = ("ORDER_STATUS_UNTRIGGERED", "NEW", "PARTIALLY_FILLED")
"""Statuses of open orders in the order of their life: an order that moves on between two reads is read twice rather
than missed."""
RATE_KEY = "info"
"""Key of all queries in the session's rate limits."""
_SUCCESS = re.compile(rb'\s*\{"code":0,"message":"[^"\\]*","data":([\[{])')
_CLOSING = {b"[": b"]}", b"{": b"}}"}
_CHECKSUM = re.compile(rb'"md5Checksum":"([^"\\]*)"')

UNFINISHED = 8
"""Failed reads that are kept to be continued."""


def read_success_head(reply: Reply, what: str) -> Envelope:
    """Read an envelope without decoding `data`, where the first and last bytes show a complete success.

    The frame decodes the data itself; decoding 100,000 candles twice would double the time of a read.
    """
    head = _SUCCESS.match(reply.body)
    if reply.status == 200 and head and reply.body.rstrip().endswith(_CLOSING[head[1]]):
        return Envelope(0, "", None, reply)
    return read_envelope(reply, what)


def fetch_rows(name: str, retry: Retry, **query: str) -> Flow[list[Mapping[str, Any]]]:
    """Return the rows of one response of the query `name`, without a rate limit; `query` is in wire names.

    [] where the data has another shape.
    """
    endpoint = ENDPOINTS[name]
    envelope = yield from read(Fetch("GET", endpoint.path, tuple(query.items())), retry)
    data = envelope.data
    if endpoint.shape == "one":
        data = [data]
    elif isinstance(data, dict):
        data = data.get(endpoint.items)
    return [row for row in data if isinstance(row, Mapping)] if isinstance(data, list) else []


class Delivering(Protocol):
    """What a reader needs of a Delivery."""

    limiter: RateLimiter
    retry: Retry


class ReadingSession(Protocol):
    """What a reader needs of a session, or of whatever else reads for an account."""

    _catalogue: Catalogue

    @property
    def _delivery(self) -> Delivering: ...

    @property
    def account(self) -> str | None:
        """The account that queries are filled in with, None while it is not known."""

    def _account(self) -> Flow[str]: ...


class InfoSession(ReadingSession, Protocol):
    """What `session.info` needs of its session: what a reader needs, and what runs its flows."""

    environment: Environment
    _driver: Any


class Reader:
    """Reads the Info API for a Session or AsyncSession. A complete read that failed is kept, to be continued."""

    def __init__(self, session: ReadingSession) -> None:
        self._session = session
        self._unfinished: OrderedDict[tuple[Any, ...], PagedRead] = OrderedDict()

    def table(
        self, name: str, given: Mapping[str, Any], exact: bool = False, index: str | None = None
    ) -> Flow[pd.DataFrame]:
        """Send one request and return the response as a frame; `given` has values by Python name."""
        from ..reads import frames

        endpoint = ENDPOINTS[name]
        query = yield from self.query(endpoint, given)
        reply = yield from self.fetch(endpoint, query)
        if name == "products":
            self._forget_outdated_products(reply.body)
        return frames.indexed((yield from self.frame(endpoint, [reply.body], exact)), index)

    def complete(
        self,
        name: str,
        given: Mapping[str, Any],
        start: Time | None = None,
        end: Time | None = None,
        *,
        progress: bool | None = None,
        exact: bool = False,
        index: str | None = None,
    ) -> Flow[pd.DataFrame]:
        """Return all rows of a query in [start, end] as a frame, oldest first; the same call continues after an error.

        `progress` shows a bar immediately (True), never (False) or when the read takes long (None).
        """
        read = yield from self.resumable(name, given, start, end, progress)
        return (yield from self.frame_of([read], read.newest_first()[::-1], exact=exact, index=index))

    def resumable(
        self, name: str, given: Mapping[str, Any], start: Time | None, end: Time | None, progress: bool | None
    ) -> Flow[PagedRead]:
        """Read all rows of a query in [start, end], or continue the same read where it failed."""
        from ...progress import Progress
        from .paging import PagedRead

        endpoint = ENDPOINTS[name]
        query = yield from self.query(endpoint, given)
        first_ms = None if start is None else milliseconds(start, "start")
        last_ms = None if end is None else milliseconds(end, "end")
        if first_ms is not None and last_ms is not None and first_ms > last_ms:
            raise InputError(f"start {start} is after end {end}", field="start", rule="order", value=start)
        key = (name, query, first_ms, last_ms)
        read = self._unfinished.pop(key, None) or PagedRead(endpoint, query, first_ms, last_ms)
        bar = Progress(endpoint.summary, progress)
        try:
            return (yield from self._run(read, bar))
        except ToolkitError as error:
            if read.rows:
                self._unfinished[key] = read
                while len(self._unfinished) > UNFINISHED:
                    self._unfinished.popitem(last=False)
                error.add_note(f"{len(read.rows)} rows were read; the same call continues from there")
            raise
        finally:
            bar.close()

    def all_rows(self, name: str, given: Mapping[str, Any], start_ms: int | None = None) -> Flow[PagedRead]:
        """Read all rows of a query (from a time on), each time from the beginning and without a progress bar."""
        from ...progress import Progress
        from .paging import PagedRead

        endpoint = ENDPOINTS[name]
        query = yield from self.query(endpoint, given)
        return (yield from self._run(PagedRead(endpoint, query, start_ms), Progress.silent()))

    def _run(self, read: PagedRead, progress: Progress) -> Flow[PagedRead]:
        yield from read.run(lambda query: self.fetch(read.endpoint, query), progress)
        return read

    def frame_of(
        self,
        reads: Sequence[PagedRead],
        rows: Sequence[Mapping[str, Any]],
        *,
        exact: bool = False,
        index: str | None = None,
    ) -> Flow[pd.DataFrame]:
        """Return rows of reads of one query as a frame in this order, with the responses in `attrs["raw"]`."""
        from ..reads import frames

        record = reads[0].endpoint.record
        symbols = yield from self.symbols(record)
        frame = frames.from_rows(record, rows, symbols=symbols, exact=exact)
        frame.attrs["raw"] = frames.InfoAnswer(page for read in reads for page in read.pages)
        return frames.indexed(frame, index)

    def meta(self, member: str, exact: bool, index: str | None) -> Flow[pd.DataFrame]:
        """Return a further member of the product list's data as a frame; `member` is a key of META_RECORDS."""
        from ..reads import frames

        reply = yield from self.fetch(ENDPOINTS["products"], ())
        data = frames.data_of(reply.body, exact=exact)
        rows = data.get(member) if isinstance(data, Mapping) else None
        return frames.indexed(frames.from_rows(META_RECORDS[member], meta_rows(rows), exact=exact), index)

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
        from ..reads import frames

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


PATH = ENDPOINTS["products"].path
KEEP_MS = 60_000
"""How long a product list is used before it is fetched again."""
REFRESH_MS = 1_000
"""Least time between two refreshes for unknown symbols."""


class Catalogue:
    """Products of one venue. Listings and risk limits change, so the list is kept for `keep_ms` only."""

    def __init__(self, keep_ms: int = KEEP_MS) -> None:
        self._keep_ms = keep_ms
        self.known: ProductTable | None = None
        """The list that was fetched last, however old; None before the first time."""
        self._fetched_ms = 0

    def forget(self) -> None:
        """Fetch the list again on next use, e.g. after the venue refused an order for a changed limit."""
        self.known = None

    def table(self) -> Flow[ProductTable]:
        """Return the product list, fetched again when it is older than `keep_ms`."""
        now: int = yield Now()
        # Below 0: the local venue's clock was set back, so the list's age is unknown.
        if self.known is None or not 0 <= now - self._fetched_ms < self._keep_ms:
            yield from self._fetch()
        assert self.known is not None
        return self.known

    def find(self, symbol: str | int | Product) -> Flow[Product]:
        """Return a product by symbol or code. Refreshes the list before it raises UnknownProduct."""
        table = yield from self.table()
        try:
            return table.find(symbol)
        except UnknownProduct:
            now: int = yield Now()
            if 0 <= now - self._fetched_ms < REFRESH_MS:
                raise
        table = yield from self._fetch()
        return table.find(symbol)

    def _fetch(self) -> Flow[ProductTable]:
        envelope = yield from read(Fetch("GET", PATH))
        if not isinstance(envelope.data, dict):
            raise BadAnswer(f"GET {PATH}: the data is not an object with perpProducts", status=envelope.reply.status)
        self.known = table = ProductTable.from_meta(envelope.data)
        self._fetched_ms = yield Now()
        return table
