"""The products of a venue, as a session knows them: the present list, and what is known without one.

To open and to read, `find` needs the present list, which is fetched again after a minute. To leave, `exit` takes the
list if it comes in two seconds. Else it takes what earlier lists showed, and for a code nothing at all.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...environments import LOCAL
from ...errors import BadAnswer, ExchangeError, InputError, TransportError, UnknownProduct, warn
from ...products import Product, ProductTable
from ...protocol.reads.door import Door
from ...protocol.reads.info.explorer import BLOCK, BlockPage
from ...protocol.reads.info.products import MarginTier
from ...protocol.reads.info_queries import ENDPOINTS, META_RECORDS
from ...protocol.reads.product_rows import TIER_ROWS, missing_words, product_rows
from ..io.flow import Elapsed, Fetch, Flow, Now, within
from ..io.transport import NO_RETRY, RETRY, Retry, read
from .known_products import KnownProducts

if TYPE_CHECKING:
    from ...environments import Environment

Row = Mapping[str, Any]
"""A row of an answer, in wire names."""
PATH = ENDPOINTS["products"].path
[_TABLE] = MarginTier.declared.wires("table")
_BLOCK, _HASH = BlockPage.declared.wires("block", "hash")
KEEP_MS = 60_000
"""How long a product list is used before it is fetched again."""
REFRESH_MS = 1_000
"""Least time between two refreshes for unknown symbols."""
EXIT_SECONDS = 2.0
"""How long an order that leaves waits for the product list."""
AGAIN_MS = 10_000
"""How long the next ones do not wait for it, after it did not come."""
BINDING = "binding"
"""Rule that names and codes belong together."""


@dataclass(frozen=True, slots=True)
class Exit:
    """A product as an order that leaves it knows it.

    Parameters
    ----------
    code : int
        Its code, which suffices.
    symbol : str
        Its symbol, or its code as text where none is known.
    listed : Product or None
        The product of the present list, None without one.
    last : Product or None
        The product as it was listed last, None where that is not known.
    before : Product or None
        The product as it was listed before its row last changed, None where it never did.
    """

    code: int
    symbol: str
    listed: Product | None
    last: Product | None
    before: Product | None = None


def market_identity(environment: Environment, retry: Retry) -> Flow[str]:
    """Return the identity of the market at an environment: part of the key and header of all that is stored of it.

    It is name and chain for a real venue, without a request. Local venues differ in seed, regime, time and settings,
    which the hash of their genesis stands for. A venue that has none is identified by its address.

    Parameters
    ----------
    environment : Environment
        Environment of the market.
    retry : Retry
        How often and when the query is repeated.
    """
    if environment.name != LOCAL.name:
        return f"{environment.name} {environment.chain.chain_id}"
    genesis = Fetch("GET", BLOCK.path, ((_BLOCK, "0"),))
    try:
        data = (yield from read(genesis, retry)).data
    # A venue without that block is identified by its address.
    except ExchangeError:
        data = None
    found = data.get(_HASH) if isinstance(data, Mapping) else None
    return f"{environment.name} {found or environment.base_url}"


class Catalogue:
    """Products of one venue. Listings and risk limits change, so the list is kept for a while only.

    Parameters
    ----------
    keep_ms : int, optional
        How long it is kept, in ms (default: `KEEP_MS`).
    environment : Environment, optional
        Environment whose earlier lists are known (default: none).
    venue : object, optional
        Venue in this process (default: None).
    """

    def __init__(
        self, keep_ms: int = KEEP_MS, environment: Environment | None = None, venue: object | None = None
    ) -> None:
        self._keep_ms = keep_ms
        self._environment = environment if venue is None else None
        self._earlier = KnownProducts(environment, venue)
        self.door = Door()
        """Gives each warning about margin tables and currencies once."""
        self._told: set[str] = set()
        self._told_of: ProductTable | None = None
        """Keys of what was said about the products."""
        self.known: ProductTable | None = None
        """The list that was fetched last, however old, None before the first time."""
        self._fetched_ms = 0
        self._failed_ms: int | None = None
        """When the list last failed to come in time for an order that leaves, on the clock that is never set."""
        self._failure: TransportError | ExchangeError | None = None
        """Why."""

    def forget(self) -> None:
        """Fetch the list again on next use, e.g. after the venue refused an order for a changed limit."""
        self.known = None

    def table(self) -> Flow[ProductTable]:
        """Return the product list, fetched again when it is older than `keep_ms`."""
        now: int = yield Now()
        # Below 0: the local venue's clock was set back, so the list's age is unknown.
        if self.known is None or not 0 <= now - self._fetched_ms < self._keep_ms:
            yield from self.fetch()
        assert self.known is not None
        return self.known

    def find(self, symbol: str | int | Product) -> Flow[Product]:
        """Return a product.

        Parameters
        ----------
        symbol : str, int or Product
            Its symbol or code, or a product.

        Raises
        ------
        UnknownProduct
            If it is not listed, also after the list was read again.
        """
        table = yield from self.table()
        try:
            return self._in_list(table, symbol)
        except UnknownProduct:
            now: int = yield Now()
            if 0 <= now - self._fetched_ms < REFRESH_MS:
                raise
        table = yield from self.fetch()
        return self._in_list(table, symbol)

    def _in_list(self, table: ProductTable, symbol: str | int | Product) -> Product:
        found = table.find(symbol)
        return found if isinstance(symbol, str | Product) else self._earlier.in_list(found.code, table) or found

    def code(self, symbol: str | int | Product, leaving: bool) -> Flow[int]:
        """Return the code that an order carries.

        Parameters
        ----------
        symbol : str, int or Product
            Product that the user names.
        leaving : bool
            Whether the order can only leave a position, or cancels.

        Raises
        ------
        InputError
            Where it is not certain which product the name means.
        UnknownProduct
            If it is not listed.
        """
        if leaving:
            return (yield from self.exit(symbol)).code
        product = yield from self.find(symbol)
        if doubt := self.doubt(product):
            raise InputError(doubt, field="symbol", rule=BINDING, value=symbol)
        return product.code

    def doubt(self, product: Product) -> str:
        """Return why nothing may open in a product before the user confirms its code, "" where it may.

        Parameters
        ----------
        product : Product
            Product of the present list.
        """
        if self.known is None or not (why := self._earlier.doubt(product, self.known)):
            return ""
        self._earlier.read_again()  # another session may have confirmed it
        if not (why := self._earlier.doubt(product, self.known)):
            return ""
        confirm = f"session.products.confirm({product.symbol!r}, {product.code})"
        return (
            f"{why}. An order could be for the other product, so nothing that may open is signed. Compare the list "
            f"with the exchange's announcements, then {confirm}. Orders that only reduce and cancels pass by code"
        )

    def confirm(self, symbol: str, code: int) -> Flow[Product]:
        """Bind a code to a symbol, as the present list has both. See `session.products.confirm`.

        Parameters
        ----------
        symbol : str
            Symbol of the product.
        code : int
            Its code.

        Raises
        ------
        InputError
            Unless the list has this pair.
        """
        table = yield from self.fetch()
        product = table.by_code(code, symbol)
        if product is None or product.symbol != symbol:
            shown = ", ".join(f"{one.symbol} as product {one.code}" for one in table.values())
            what = f"the venue does not list {symbol} as product {code}. It lists {shown or 'nothing'}"
            raise InputError(what, field="code", rule="listed", value=code)
        self._earlier.read_again()
        self._earlier.confirm(product)
        return product

    def exit(self, symbol: str | int | Product) -> Flow[Exit]:
        """Return a product to leave, whether or not there is a list of products now.

        Parameters
        ----------
        symbol : str, int or Product
            Its symbol or code, or a product.

        Raises
        ------
        InputError
            For a name that may mean several products. Their codes always suffice.
        UnknownProduct
            For a name that no list had.
        """
        # Only the list can say what a name means that no list had.
        table = yield from self.in_time(again=isinstance(symbol, str) and not self._earlier.to_leave(symbol, None)[0])
        if isinstance(symbol, str):
            codes, certain = self._earlier.to_leave(symbol, table)
            if not codes:
                without = f"no product {symbol!r} is known, and the list of products can't be read now. Give its code"
                if table is not None:
                    table.find(symbol)
                raise UnknownProduct(without, field="symbol", rule="known", value=symbol)
            if not certain:
                named = tuple(map(str, sorted(codes)))
                what = f"{symbol} may mean another product than before, by the venue's list. Nothing was sent. Give "
                what += f"the code, {' or '.join(named)}"
                raise InputError(what, field="symbol", rule=BINDING, value=symbol, nearest=named)
            [code] = codes
        elif isinstance(symbol, Product):
            code = symbol.code
        else:
            try:
                code = operator.index(symbol)
            except TypeError:  # None, a list: it says what there is
                code = (table or ProductTable(())).find(symbol).code
        listed = None if table is None else self._earlier.in_list(code, table)
        last = listed or self._earlier.product(code) or (symbol if isinstance(symbol, Product) else None)
        name = symbol if isinstance(symbol, str) else self._earlier.symbols().get(code)
        before = self._earlier.product(code, before=True)
        return Exit(code, last.symbol if last else name or str(code), listed, last, before)

    def in_time(self, *, again: bool = False) -> Flow[ProductTable | None]:
        """Return the present list, None where it does not come within `EXIT_SECONDS`.

        Parameters
        ----------
        again : bool, optional
            Whether it is asked for although it has just failed to come (default: False).
        """
        now: int = yield Now()
        if self.known is not None and 0 <= now - self._fetched_ms < self._keep_ms:
            return self.known
        elapsed_ms: int = yield Elapsed()
        if not again and self._failed_ms is not None and elapsed_ms - self._failed_ms < AGAIN_MS:
            return None
        try:
            return (yield from within(self.fetch(NO_RETRY), EXIT_SECONDS))
        except (TransportError, ExchangeError) as error:
            self._failed_ms, self._failure = (yield Elapsed()), error
            return None

    def names(self, code: int) -> set[str]:
        """Return all symbols that the present list or earlier ones give to a code.

        Parameters
        ----------
        code : int
            Code of a product.
        """
        listed = () if self.known is None else self.known.values()
        own = self._earlier.symbols().get(code)
        return {one.symbol for one in listed if one.code == code} | ({own} if own else set())

    def lookup(self, symbol: str | int | Product) -> Flow[Exit]:
        """Return a product to read about: as it is listed, else as it is known from earlier lists.

        Parameters
        ----------
        symbol : str, int or Product
            Its symbol or code, or a product.

        Raises
        ------
        UnknownProduct
            For a product that no list had.
        """
        if (yield from self.in_time()) is not None:
            with suppress(UnknownProduct):
                product = yield from self.find(symbol)
                return Exit(product.code, product.symbol, product, product)
        try:
            return (yield from self.exit(symbol))
        except UnknownProduct:
            if self._failure is None:
                raise
            raise self._failure from None  # which says what is wrong with the list, and when to ask again

    def symbols(self) -> Flow[dict[int, str]]:
        """Return all symbols by product code, those of earlier lists where there is none now."""
        table = yield from self.in_time(again=not self._earlier.symbols())
        found = self._earlier.symbols()
        if table is not None:
            products = (self._earlier.in_list(one.code, table) for one in table.values())
            found |= {one.code: one.symbol for one in products if one is not None}
        return found

    def codes(self) -> Flow[list[int]]:
        """Return the codes of all products in which orders may be open, those of earlier lists too."""
        return list((yield from self.symbols()))

    def fetch(self, retry: Retry = RETRY) -> Flow[ProductTable]:
        """Fetch the list now, and return it.

        Parameters
        ----------
        retry : Retry, optional
            How often and when the query is repeated (default: `RETRY`).
        """
        envelope = yield from read(Fetch("GET", PATH), retry)
        if product_rows(envelope.data) is None:
            raise BadAnswer(f"GET {PATH}: the data is not an object with perpProducts", status=envelope.reply.status)
        self.known = table = self._table(envelope.data)
        self._fetched_ms = yield Now()
        self._failed_ms = self._failure = None
        if not self._earlier.knows(table):
            identity = ""
            if self._environment is not None:
                # Only then: a new local venue at the address of an old one has products of its own.
                with suppress(TransportError):
                    identity = yield from within(market_identity(self._environment, NO_RETRY), EXIT_SECONDS)
            if identity or self._environment is None:
                self._earlier.take(table, identity)
        return table

    def read(self, data: object, on_missing: Callable[[str], None] = warn) -> ProductTable:
        """Return the products of product-meta's data.

        What can't be read causes a warning, once a session.

        Parameters
        ----------
        data : object
            The data, decoded.
        on_missing : callable, optional
            Function of a sentence, called once for the fields that the venue does not send
            (default: a warning).
        """
        table = self._table(data)
        self._tell_missing(table, on_missing)
        return table

    def tell_unchecked(self) -> None:
        """Say once which fields the venue does not send, where a check or a figure needs them."""
        if self.known is not None and self.known is not self._told_of:
            self._told_of = self.known
            self._tell_missing(self.known, warn)

    def _table(self, data: object) -> ProductTable:
        for name, record in META_RECORDS.items():
            self.door.look(record, meta_rows(data.get(name) if isinstance(data, Mapping) else None))
        return ProductTable.from_meta(data, tell=self._tell)

    def understood(self, data: object) -> Sequence[Row] | None:
        """Return the rows that are products, without the values that can't be read. Warns as `read`.

        Parameters
        ----------
        data : object
            The data of product-meta, decoded.

        Returns
        -------
        sequence of mapping, or None
            The rows in wire names, None for data without a list of products.
        """
        if product_rows(data) is None:
            return None
        table = ProductTable.from_meta(data, tell=self._tell)
        self._tell_missing(table, warn)
        return table.rows

    def _tell(self, key: str, message: str) -> None:
        if key not in self._told:
            self._told.add(key)
            warn(message)

    def _tell_missing(self, table: ProductTable, on_missing: Callable[[str], None]) -> None:
        """Say in one sentence which fields are missing that were not said before."""
        new = {wire: symbols for wire, symbols in table.missing(self._told).items() if wire not in self._told}
        if new:
            self._told |= new.keys()
            on_missing(missing_words(new))


def meta_rows(rows: object) -> list[Any]:
    """Return margin tables or currencies as flat rows: a row for each tier, with the number of its table.

    Parameters
    ----------
    rows : object
        Margin tables or currencies, as decoded.
    """
    flat: list[Any] = []
    for row in rows if isinstance(rows, list) else ():
        tiers = row.get(TIER_ROWS) if isinstance(row, Mapping) else None
        if isinstance(tiers, list):
            flat += [{_TABLE: row.get(_TABLE), **tier} for tier in tiers if isinstance(tier, Mapping)]
        else:
            flat.append(row)
    return flat
