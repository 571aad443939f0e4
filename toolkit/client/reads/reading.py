"""The reader of the Info API: parameters from what users write, requests, all pages, and frames of the responses."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ...coverage import Coverage, coverage
from ...errors import BadAnswer, InputError, ToolkitError, UnknownProduct, warn
from ...numerals import moment
from ...protocol.enums import AgentStatus, PositionMode
from ...protocol.reads.door import Door, R, answering, fault, rows_of, seen, typed_rows
from ...protocol.reads.endpoint import Endpoint
from ...protocol.reads.info.accounts import AccountAgent
from ...protocol.reads.info.orders import OrderState
from ...protocol.reads.info.positions import Position
from ...protocol.reads.info.products import ProductMeta
from ...protocol.reads.info_queries import ENDPOINTS, META_RECORDS
from ...protocol.reads.rows import Record
from ...protocol.reads.rows import Row as TypedRow
from ...protocol.reads.wire_values import amount as figure
from ..io.flow import Fetch, Flow, Now, Reply
from ..io.transport import Envelope, Retry, read, read_envelope
from .catalogue import PATH, Catalogue, Row, market_identity, meta_rows
from .conversion import Query, Time, query_text

if TYPE_CHECKING:
    import pandas as pd

    from ...environments import Environment
    from ...progress import Progress
    from ..io.rate_limits import RateLimiter
    from ..io.read_budget import ReadBudget
    from .paging import PagedRead

OPEN_STATUSES = ("ORDER_STATUS_UNTRIGGERED", "NEW", "PARTIALLY_FILLED")
"""Statuses of open orders in the order of their life: an order that moves on between two reads is read twice rather
than missed."""
RATE_KEY = "info"
"""Key of all queries in the session's rate limits."""
_SUCCESS = re.compile(rb'\s*\{"code":0,"message":"[^"\\]*","data":([\[{])')
_CLOSING = {b"[": b"]}", b"{": b"}}"}
_CHECKSUM = re.compile(rb'"md5Checksum":\s*"([^"\\]*)"')

UNFINISHED = 8
"""Failed reads that are kept to be continued."""


def read_success_head(reply: Reply, what: str) -> Envelope:
    """Read an envelope without decoding `data`, where the first and last bytes show a complete success.

    The frame decodes the data itself. Decoding 100,000 candles twice would double the time of a read.

    Parameters
    ----------
    reply : Reply
        The HTTP reply.
    what : str
        Request in words, for the error.
    """
    head = _SUCCESS.match(reply.body)
    if reply.status == 200 and head and reply.body.rstrip().endswith(_CLOSING[head[1]]):
        return Envelope(0, "", None, reply)
    return read_envelope(reply, what)


def amount(row: Row, name: str) -> Decimal:
    """Return an amount of a row, 0 where it is missing: what a venue leaves out while there is nothing, as of no fill.

    Parameters
    ----------
    row : mapping
        The row, in wire names.
    name : str
        Wire name of the field.

    Raises
    ------
    BadAnswer
        For a value that is no number. It is not 0.
    """
    try:
        return figure(row.get(name)) or Decimal(0)
    except ValueError:
        raise BadAnswer(f"{name} of a row is no number: {row[name]!r}", body=str(dict(row))) from None


V = TypeVar("V")


def known(value: V | None, row: TypedRow, name: str) -> V:
    """Return an optional value of a row that a decision needs.

    Parameters
    ----------
    value : object
        The value.
    row : Row
        Row that it is of, for the error.
    name : str
        Name of its attribute.

    Raises
    ------
    BadAnswer
        Where it is missing. The error names it.
    """
    # Missing is not 0 here: a limit on losses would take an account without equity for a lost one, or the reverse.
    if value is None:
        record = type(row).declared
        raise BadAnswer(f"{record.name}: {record.by_column[name].wire} is missing", body=repr(row))
    return value


def approvals_of(agent: str, rows: Iterable[Row]) -> list[AccountAgent]:
    """Return the approvals of an agent that hold.

    A venue that does not know the parameters of the query sends ended ones too, and those of other agents.

    Parameters
    ----------
    agent : str
        Address of the agent.
    rows : iterable of mapping
        Rows of the query `agents`, in wire names.
    """
    return [
        row
        for row in (seen(AccountAgent, one, in_part=True) for one in rows)
        if row is not None and (row.status or "").upper() == AgentStatus.ACTIVE.name
        if (row.agent or agent).lower() == agent.lower()
    ]


def is_hedged(position: Position) -> bool:
    """Return whether a position is one in hedge mode, in which a product has a long and a short leg.

    Parameters
    ----------
    position : Position
        The position.
    """
    return (position.position_mode or "").upper() == PositionMode.HEDGE.name


def read_typed(endpoint: Endpoint[R], retry: Retry, **query: str) -> Flow[list[R]]:
    """Return the rows of a query as objects of their class, without a rate limit.

    Parameters
    ----------
    endpoint : Endpoint
        Declaration of the query.
    retry : Retry
        How often and when a query is repeated.
    **query : str
        Parameters by name, as text.

    Raises
    ------
    BadAnswer
        Unless all rows are there, each with what its record can't do without.
    """
    pairs = endpoint.query(**query)
    envelope = yield from read(Fetch("GET", endpoint.path, pairs), retry)
    return typed_rows(endpoint.row, _all_of(endpoint, envelope.data, pairs, (yield Now())), endpoint.path)


def read_in_part(endpoint: Endpoint[R], retry: Retry, **query: str) -> Flow[tuple[list[R], str]]:
    """Return the rows of a query that can be acted on, and why others can't, without a rate limit.

    `read_typed` refuses the whole answer for one of the others. This is for who leaves: a row of somebody else, or one
    that is damaged, must not stand between a user and the own positions.

    Parameters
    ----------
    endpoint : Endpoint
        Declaration of the query.
    retry : Retry
        How often and when a query is repeated.
    **query : str
        Parameters by name, as text.

    Returns
    -------
    rows : list of Row
        The rows that answer the question, each with what its record can't do without.
    why : str
        Sentence about the first of the others, "" where there are none.

    Raises
    ------
    BadAnswer
        For data of another shape.
    """
    pairs = endpoint.query(**query)
    data = (yield from read(Fetch("GET", endpoint.path, pairs), retry)).data
    rows, why = answering(endpoint, data, pairs)
    faults = [fault(endpoint.record, row) for row in rows]
    sound = [row for row, wrong in zip(rows, faults, strict=True) if not wrong]
    if damaged := next(filter(None, faults), ""):
        where = f"GET {endpoint.path}: {endpoint.record.name}"
        why = why or f"{where}: {damaged}, {len(rows) - len(sound)} of {len(rows)} rows can't be used"
    if (total := endpoint.total(data)) is not None and total > len(rows):
        why = why or f"GET {endpoint.path}: the answer has {len(rows):,} of {total:,} rows"
    return typed_rows(endpoint.row, sound, endpoint.path), why


def _all_of(endpoint: Endpoint[TypedRow], data: object, query: Query, now_ms: int, by_rules: bool = True) -> list[Row]:
    """Return the rows of a query without pages. Raises BadAnswer for other rows, and where some are missing."""
    rows = rows_of(endpoint, data, query, now_ms, by_rules=by_rules)
    total = endpoint.total(data)
    if total is not None and total > len(rows) and not endpoint.size_param:
        raise BadAnswer(f"{endpoint.path}: the answer has {len(rows):,} of {total:,} rows")
    return rows


def whole(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table by which something is decided.

    Parameters
    ----------
    table : DataFrame
        Table of a complete read, with its `attrs`.

    Raises
    ------
    BadAnswer
        Where rows may be missing.
    """
    if said := table.attrs.get("missing"):
        raise BadAnswer(said)
    return table


class OpenOrders(dict[int, tuple[str, OrderState]]):
    """Status and row of open orders, by id. `missing` says why some may not be there, or ""."""

    missing = ""
    damaged = False
    """True if an amount of one of them can't be read."""


def fetch_rows(name: str, retry: Retry, **query: str) -> Flow[list[Row]]:
    """Return the rows of one response of a query, without a rate limit.

    They are as they came, for a caller that looks at each of them. [] where the data has another shape.

    Parameters
    ----------
    name : str
        Name of the query.
    retry : Retry
        How often and when a query is repeated.
    **query : str
        Parameters by name, as text.
    """
    endpoint = ENDPOINTS[name]
    envelope = yield from read(Fetch("GET", endpoint.path, endpoint.query(**query)), retry)
    data = envelope.data
    if endpoint.shape == "one":
        data = [data]
    elif isinstance(data, dict):
        data = data.get(endpoint.items)
    return [row for row in data if isinstance(row, Mapping)] if isinstance(data, list) else []


class Delivering(Protocol):
    """The part of a Delivery that a reader uses."""

    limiter: RateLimiter
    retry: Retry


class ReadingSession(Protocol):
    """The part of a session, or of another object that reads for an account, that a reader uses."""

    _catalogue: Catalogue

    @property
    def _delivery(self) -> Delivering: ...

    @property
    def account(self) -> str | None:
        """The account that queries are filled in with, None while it is not known."""

    def _account(self) -> Flow[str]: ...


class InfoSession(ReadingSession, Protocol):
    """The part of its session that `session.info` uses: that of a reader, and the driver of its flows."""

    environment: Environment
    _driver: Any


class Reader:
    """Reads the Info API for a Session or AsyncSession. A complete read that failed is kept, to be continued.

    Parameters
    ----------
    session : ReadingSession
        The session that it reads for.
    """

    def __init__(self, session: ReadingSession) -> None:
        self._session = session
        self.door = Door()
        self._unfinished: OrderedDict[tuple[Any, ...], PagedRead] = OrderedDict()
        self.known_fills: dict[tuple[str, ...], dict[str, Any]] = {}
        """Role and type of fills that came without them, by account, id and transaction: neither ever changes."""

    def table(
        self, name: str, given: Mapping[str, Any], exact: bool = False, index: str | None = None
    ) -> Flow[pd.DataFrame]:
        """Send one request and return the response as a frame.

        Parameters
        ----------
        name : str
            Name of the query.
        given : mapping
            Values by Python name. None means not given.
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).
        """
        from ..reads import frames

        endpoint = ENDPOINTS[name]
        query = yield from self.query(endpoint, given)
        reply = yield from self.fetch(endpoint, query)
        if name == "products":
            self._forget_outdated_products(reply.body)
        return frames.indexed((yield from self.frame(endpoint, [reply.body], query, exact)), index)

    def resumable(
        self, name: str, given: Mapping[str, Any], start: Time | None, end: Time | None, progress: bool | None
    ) -> Flow[PagedRead]:
        """Read all rows of a query in [start, end], or continue the same read where it failed.

        The read may have something `missing`, which the table that is made of it says (`frame_of`).

        Parameters
        ----------
        name : str
            Name of the query.
        given : mapping
            Values by Python name. None means not given.
        start : str, int, float, date, datetime, timedelta or None
            First time, see `numerals.moment`. None is open.
        end : str, int, float, date, datetime, timedelta or None
            Last time, see `numerals.moment`. None is open.
        progress : bool or None
            True shows a bar immediately, False never, None when the read takes long.
        """
        from ...progress import Progress
        from .paging import PagedRead

        endpoint = ENDPOINTS[name]
        query = yield from self.query(endpoint, given)
        now_ms: int = yield Now()
        first_ms = None if start is None else moment(start, "start", now_ms)
        last_ms = None if end is None else moment(end, "end", now_ms)
        if first_ms is not None and last_ms is not None and first_ms > last_ms:
            raise InputError(f"start {start} is after end {end}", field="start", rule="order", value=start)
        # The same call continues an interrupted read. Another window begins its own.
        key = (name, query, str(start), str(end))  # as it was written: "7d" is another time in each call
        read = self._unfinished.pop(key, None) or PagedRead(endpoint, query, first_ms, last_ms, budget=self.budget)
        bar = Progress(endpoint.summary, progress)
        try:
            yield from self._run(read, bar)
        except ToolkitError as error:
            # Without any rows there is nothing to continue.
            if read.rows:
                self._keep(key, read)
                error.add_note(f"{len(read.rows)} rows were read. The same call continues from there")
            raise
        finally:
            bar.close()
        if not read.done:
            self._keep(key, read)
            read.missing += ". The same call continues from there"
        return read

    def _keep(self, key: tuple[Any, ...], read: PagedRead) -> None:
        self._unfinished[key] = read
        while len(self._unfinished) > UNFINISHED:
            self._unfinished.popitem(last=False)

    def all_rows(
        self,
        name: str,
        given: Mapping[str, Any],
        start_ms: int | None = None,
        end_ms: int | None = None,
        *,
        in_part: bool = False,
    ) -> Flow[PagedRead]:
        """Read all rows of a query in a window, each time from the beginning and without a progress bar.

        Parameters
        ----------
        name : str
            Name of the query.
        given : mapping
            Values by Python name. None means not given.
        start_ms : int, optional
            First time in Unix ms (default: None, open).
        end_ms : int, optional
            Last time in Unix ms (default: None, open).
        in_part : bool, optional
            Whether the caller says that rows may be missing, or looks for the others (default: False).

        Raises
        ------
        BadAnswer
            Where rows may be missing, as something is decided by them. Not with `in_part`.
        """
        from ...progress import Progress
        from .paging import PagedRead

        endpoint = ENDPOINTS[name]
        query = yield from self.query(endpoint, given)
        read = PagedRead(endpoint, query, start_ms, end_ms, budget=self.budget, in_part=in_part)
        yield from self._run(read, Progress.silent())
        if read.missing and not in_part:
            raise BadAnswer(read.missing)
        if read.doubt and not in_part:
            warn(read.doubt)
        return read

    def open_orders(self, account: str, code: int | None = None, *, in_part: bool = False) -> Flow[OpenOrders]:
        """Return every open order of an account.

        Parameters
        ----------
        account : str
            Address of the account.
        code : int, optional
            Code of the product (default: None, all).
        in_part : bool, optional
            Whether the result may say that orders are missing (default: False).

        Raises
        ------
        BadAnswer
            Where orders may be missing. Not with `in_part`.
        """
        found = OpenOrders()
        for status in OPEN_STATUSES:
            given = {"account": account, "status": status, "symbol": code}
            read = yield from self.all_rows("order_states", given, in_part=in_part)
            found.missing = found.missing or read.missing
            rows, path = list(read.rows.values()), read.endpoint.path
            if not in_part:
                found |= {row.order_id: (status, row) for row in typed_rows(OrderState, rows, path)}
                continue
            # An order with a damaged amount can be cancelled all the same.
            for row in (seen(OrderState, each, in_part=True) for each in rows):
                if row and row.order_id and row.symbol:
                    found[row.order_id] = status, row
                else:
                    found.missing = found.missing or f"{path}: an open order has no id or product"
            found.damaged |= any(seen(OrderState, each) is None for each in rows)
        return found

    @property
    def budget(self) -> ReadBudget:
        """What one complete read may take."""
        return self._session._delivery.retry.reads

    def _run(self, read: PagedRead, progress: Progress) -> Flow[None]:
        yield from read.run(lambda query: self.fetch(read.endpoint, query), progress)

    def frame_of(
        self,
        reads: Sequence[PagedRead],
        rows: Sequence[Row],
        *,
        beside: Sequence[PagedRead] = (),
        exact: bool = False,
        index: str | None = None,
    ) -> Flow[pd.DataFrame]:
        """Return rows of reads of one query as a frame in this order, with the responses in `attrs["raw"]`.

        `attrs["moved"]` is the number of rows that changed during the reads, `attrs["missing"]` why rows may be
        missing, "" where nothing says so. One DataWarning says both.

        Parameters
        ----------
        reads : sequence of PagedRead
            Reads of one query.
        rows : sequence of mapping
            The rows, in wire names.
        beside : sequence of PagedRead, optional
            Reads that completed the rows (default: none).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).
        """
        from ..reads import frames
        from .paging import unproved

        endpoint = reads[0].endpoint
        options: dict[str, Any] = {"exact": exact, "entrance": self.door, "where": endpoint.path}
        make = partial(frames.from_rows, endpoint.record, rows, **options)
        frame: pd.DataFrame = yield from self._with_symbols(endpoint.record, make)
        frame.attrs["raw"] = frames.InfoAnswer(page for read in reads for page in read.pages)
        reads = [*reads, *beside]
        frame.attrs["moved"] = sum(read.moved for read in reads)
        frame.attrs["missing"] = ". ".join(dict.fromkeys(read.missing for read in reads if read.missing))
        if said := unproved(reads):
            warn(said)
        if endpoint.windowed and "time" in frame:
            frame.attrs["coverage"] = _covered(frame, reads[0], (yield Now()))
        return frames.indexed(frame, index)

    def meta(self, member: str, exact: bool, index: str | None) -> Flow[pd.DataFrame]:
        """Return a further member of the product list's data as a frame.

        Parameters
        ----------
        member : str
            Key of META_RECORDS.
        exact : bool
            True gives Decimal (default: False, float64).
        index : str or None
            Column that becomes the index, None for none.
        """
        from ..reads import frames

        reply = yield from self.fetch(ENDPOINTS["products"], ())
        data, record = frames.data_of(reply.body, exact=exact), META_RECORDS[member]
        rows = meta_rows(data.get(member) if isinstance(data, Mapping) else None)
        made = frames.from_rows(record, rows, exact=exact, entrance=self._session._catalogue.door, where=PATH)
        return frames.indexed(made, index)

    def fetch(self, endpoint: Endpoint[TypedRow], query: Query) -> Flow[Reply]:
        """Send one request, with retries and within the rate limit, and return the response.

        Parameters
        ----------
        endpoint : Endpoint
            Declaration of the query.
        query : tuple of pairs of str
            Pairs of name and value, as text.
        """
        limits = self._session._delivery
        yield from limits.limiter.turn(RATE_KEY)
        envelope = yield from read(Fetch("GET", endpoint.path, query), limits.retry, read_success_head)
        return envelope.reply

    def market_identity(self, environment: Environment) -> Flow[str]:
        """Return the identity of the market at an environment, see `catalogue.market_identity`.

        Parameters
        ----------
        environment : Environment
            Environment of the market.
        """
        return market_identity(environment, self._session._delivery.retry)

    def query(self, endpoint: Endpoint[TypedRow], given: Mapping[str, Any]) -> Flow[Query]:
        """Return the query for values by Python name. None means not given. The session's account is filled in.

        Parameters
        ----------
        endpoint : Endpoint
            Declaration of the query.
        given : mapping
            Values by Python name. None means not given.
        """
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
                value = (yield from self._session._catalogue.lookup(value)).code
            if param.kind == "symbol":
                code_or_symbol = int(value) if str(value).isdigit() else value
                value = (yield from self._session._catalogue.lookup(code_or_symbol)).symbol
            if param.kind == "time":
                value = moment(value, param.name, (yield Now()))
            pairs.append((param.wire, query_text(param, value)))
        return tuple(pairs)

    def frame(
        self, endpoint: Endpoint[TypedRow], pages: Sequence[bytes], query: Query, exact: bool
    ) -> Flow[pd.DataFrame]:
        """Return responses as one frame, with symbols for product codes.

        Parameters
        ----------
        endpoint : Endpoint
            Declaration of the query.
        pages : sequence of bytes
            Responses, as received.
        query : tuple of pairs of str
            The query that they answer.
        exact : bool
            True gives Decimal (default: False, float64).
        """
        from ..reads import frames

        if endpoint.record is ProductMeta.declared:
            # The catalogue says what is missing, and leaves out the rows that are no products.
            catalogue, rows = self._session._catalogue, list[Any]()
            for page in pages:
                data = frames.data_of(page, exact=exact)
                products = catalogue.understood(data)
                rows += rows_of(endpoint, data, query) if products is None else products
            listed = frames.from_rows(endpoint.record, rows, exact=exact)
            listed.attrs["raw"] = frames.InfoAnswer(pages)
            return listed
        make = partial(frames.frame, endpoint, pages, query, exact=exact, entrance=self.door, now_ms=(yield Now()))
        made: pd.DataFrame = yield from self._with_symbols(endpoint.record, make)
        return made

    def typed(
        self, endpoint: Endpoint[R], given: Mapping[str, Any], *, by_rules: bool = True
    ) -> Flow[tuple[list[R], bytes]]:
        """Send one request. Return the rows as objects of their class, with symbols for product codes, and the answer.

        It warns as a table does of values that can't be read.

        Parameters
        ----------
        endpoint : Endpoint
            Declaration of the query.
        given : mapping
            Values by Python name. None means not given.
        by_rules : bool, optional
            False for a caller that judges each row itself (default: True).

        Raises
        ------
        BadAnswer
            As `read_typed` does.
        """
        from ..reads import frames

        query = yield from self.query(endpoint, given)
        reply = yield from self.fetch(endpoint, query)
        rows = _all_of(endpoint, frames.data_of(reply.body, exact=True), query, (yield Now()), by_rules)

        def make(symbols: Mapping[int, str]) -> list[R]:
            by_code, record = {str(code): symbol for code, symbol in symbols.items()}, endpoint.record
            made = typed_rows(
                endpoint.row,
                rows,
                endpoint.path,
                symbols=by_code,
                tell=lambda *bad: warn(frames.unreadable(record, *bad)),
            )
            self.door.look(record, rows)
            self.door.name(record, rows)
            return made

        return (yield from self._with_symbols(endpoint.record, make)), reply.body

    def _with_symbols(self, record: Record, make: Callable[..., Any]) -> Flow[Any]:
        """Return what `make` makes with the known symbols. Again, where a code was newly listed."""
        made = make(symbols=(yield from self.symbols(record)))
        if (yield from self._find_unknown_codes(record, made)):
            made = make(symbols=(yield from self.symbols(record)))
        return made

    def symbols(self, record: Record) -> Flow[dict[int, str]]:
        """Return all symbols by product code. {} without a request where the record has no product codes.

        Parameters
        ----------
        record : Record
            Declaration of the record.
        """
        if not any(field.kind == "code" for field in record.fields):
            return {}
        return (yield from self._session._catalogue.symbols())

    def _find_unknown_codes(self, record: Record, made: Any) -> Flow[bool]:
        """Refresh the product list for codes without a symbol: they may be newly listed. Return whether one was.

        It warns of the others once.
        """
        found = False
        if (yield from self._session._catalogue.in_time()) is None:
            return found
        for field in record.fields:
            if field.kind != "code":
                continue
            # A table, or typed rows.
            symbols = (
                [getattr(row, field.column) for row in made] if isinstance(made, list) else made[field.column].unique()
            )
            for code in dict.fromkeys(map(str, symbols)):
                if code.isdigit() and int(code):
                    try:
                        yield from self._session._catalogue.find(int(code))
                    except UnknownProduct:
                        said = f"{record.name}: product {code} is not in the venue's list. It is shown by its code"
                        self.door.warn(record.name, f"product {code}", said)
                        continue
                    found = True
        return found

    def _forget_outdated_products(self, page: bytes) -> None:
        """Forget the session's product list where the venue's has another checksum."""
        catalogue = self._session._catalogue
        found = _CHECKSUM.search(page)
        if found and catalogue.known is not None and found[1].decode() != catalogue.known.checksum:
            catalogue.forget()


def identity_of(session: InfoSession) -> str:
    """Return the identity of a session's market. See `Reader.market_identity`.

    Parameters
    ----------
    session : InfoSession
        The session.
    """
    found: str = session._driver.run(Reader(session).market_identity(session.environment))
    return found


def _covered(frame: pd.DataFrame, read: PagedRead, now_ms: int) -> Coverage:
    """Return the coverage of a read of a window: all of it, or nothing where rows may be missing."""
    times = frame["time"].dropna()  # an exchange may leave the time of a row out
    first = int(times.min().timestamp() * 1000) if len(times) else now_ms
    span = read.start if read.start is not None else first, now_ms if read.end is None else min(read.end + 1, now_ms)
    return coverage(missing=[span]) if frame.attrs["missing"] else coverage([span])
