"""The positions of a session's account by its orders: what they have filled counts before the positions show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from decimal import Decimal

from ...errors import BadAnswer
from ...limits import Book
from ...protocol.reads.door import typed_rows
from ...protocol.reads.info.orders import FILLS, ORDER_STATES, OrderState, Trade
from ...sides import closes_leg
from ..io.flow import Flow
from ..io.transport import Retry
from ..reads.catalogue import Catalogue
from ..reads.reading import Reader, read_in_part
from .account_book import AccountBook

HEAL_MS = 60_000
"""How long positions may differ from orders before fills decide, which also a liquidation has."""
LATE_MS = 60_000
"""How late an order's state may be shown."""
Shown = dict[int, tuple[Decimal, Decimal]]
"""Long and short of the shown positions, base units, by the product's code."""


@dataclass(slots=True)
class _Account:
    """The book of one owner.

    Attributes
    ----------
    book : AccountBook
        Positions since they agreed.
    begun_ms : int
        When positions and orders last agreed, Unix ms.
    hedge : bool or None
        Whether the account is in hedge mode, None while that is not known.
    begun : mapping of str to Book
        Positions with which it begins, by symbol.
    """

    book: AccountBook
    begun_ms: int
    hedge: bool | None
    begun: Mapping[str, Book]


class OrdersFilled:
    """Positions of accounts by the states of their orders, from the first look on.

    Parameters
    ----------
    reader : callable
        Function that returns the session's reader.
    catalogue : Catalogue
        The venue's products.
    retry : Retry
        How often and when a query is repeated.
    """

    def __init__(self, reader: Callable[[], Reader], catalogue: Catalogue, retry: Retry) -> None:
        self._reader = reader
        self._catalogue = catalogue
        self._retry = retry
        self._accounts: dict[str, _Account] = {}

    def books(
        self, owner: str, now: int, shown: Mapping[str, Book], resting: Sequence[OrderState]
    ) -> Flow[dict[str, Book]]:
        """Return the positions by orders.

        Parameters
        ----------
        owner : str
            Address of the account or vault.
        now : int
            The present in Unix ms.
        shown : mapping of str to Book
            Positions that the venue shows now.
        resting : sequence of OrderState
            Open orders.
        """
        known = self._accounts.get(owner)
        since_ms = (now if known is None else known.begun_ms) - LATE_MS
        # Beside a program that trades, a row may come while the list is read. That is no reason for a warning.
        read = yield from self._reader().all_rows(ORDER_STATES.name, {"account": owner}, since_ms, in_part=True)
        if read.missing:
            raise BadAnswer(read.missing)
        changed = typed_rows(OrderState, list(read.rows.values()), ORDER_STATES.path)
        hedge = next((each.hedge for each in shown.values()), None)
        # A list that hides the positions hides the mode as well.
        hedge = known.hedge if hedge is None and known is not None else hedge
        # A product of which no position is shown yet is one without a position.
        flat: dict[str, Book] = {}
        for code in {int(row.symbol) for row in (*changed, *resting)}:
            product = yield from self._catalogue.find(code)
            flat[product.symbol] = Book(product.step_size, hedge, covers=False)
        shown = flat | dict(shown)
        if known is None:
            book = (yield from self._history(owner, shown, hedge)) or _begun(shown, hedge)
            known = self._accounts[owner] = _Account(book, now, hedge, shown)
        known.book.add({symbol: each.step_size for symbol, each in shown.items()}, hedge)
        if hedge is not None and hedge is not known.hedge:
            known.book.set_mode(hedge)
            known.hedge = hedge
        for row in changed:
            yield from self._note(known.book, row, began=False)
        known.book.positions({symbol: (each.longs, each.shorts) for symbol, each in shown.items()})
        heals = not known.book.agrees and now - known.begun_ms > HEAL_MS
        if not known.book.agrees and not (heals and (yield from self._by_fills(owner, known, shown)).agrees):
            found = {symbol: copy(each) for symbol, each in known.book.account.items()}
            for each in found.values():
                each.covers = False
            return found
        # Where they agree, the book begins again, so that no read grows longer.
        book = _begun(shown, hedge)
        for row in (*changed, *resting):
            yield from self._note(book, row, began=True)
        self._accounts[owner] = _Account(book, now, hedge, shown)
        return {symbol: copy(each) for symbol, each in shown.items()}

    def _history(self, owner: str, shown: Mapping[str, Book], hedge: bool | None) -> Flow[AccountBook | None]:
        """Return the book of all orders and fills, None where neither is listed in full."""
        codes: Shown = {}
        for symbol, each in shown.items():
            code = (yield from self._catalogue.find(symbol)).code
            codes |= {code: (each.longs * each.step_size, each.shorts * each.step_size)}
        book = yield from by_all_orders(self._catalogue, self._retry, owner, None, codes, hedge)
        return book if book.account or not shown else None

    def _by_fills(self, owner: str, known: _Account, shown: Mapping[str, Book]) -> Flow[AccountBook]:
        """Return the book of all orders and fills, or where those are too many, of the fills since it began."""
        if book := (yield from self._history(owner, shown, known.hedge)):
            return book
        book = _begun({**shown, **known.begun}, known.hedge)
        read = yield from self._reader().all_rows(FILLS.name, {"account": owner}, known.begun_ms + 1, in_part=True)
        for at, row in enumerate(typed_rows(Trade, list(read.rows.values()), FILLS.path)):
            product = yield from self._catalogue.find(int(row.symbol))
            book.fill(str(at), 0, product.symbol, row.side, product.steps(row.quantity), "own")
        book.positions({symbol: (each.longs, each.shorts) for symbol, each in shown.items()})
        return book

    def _note(self, book: AccountBook, row: OrderState, *, began: bool) -> Flow[None]:
        product = yield from self._catalogue.find(int(row.symbol))
        if product.symbol in book.account:
            filled = product.steps(row.filled)
            book.order(row.order_id, product.symbol, row.side, "own", before=filled if began else 0)
            book.state(row.order_id, filled)


def _begun(shown: Mapping[str, Book], hedge: bool | None) -> AccountBook:
    book = AccountBook({symbol: each.step_size for symbol, each in shown.items()}, hedge)
    for symbol, each in shown.items():
        book.begin(symbol, own=(each.longs, each.shorts), account=(each.longs, each.shorts))
    return book


def by_all_orders(
    catalogue: Catalogue, retry: Retry, owner: str, code: int | None, shown: Shown, hedge: bool | None
) -> Flow[AccountBook]:
    """Return the book of all orders and fills of an account. It has no product where neither is listed in full.

    Parameters
    ----------
    catalogue : Catalogue
        The venue's products.
    retry : Retry
        How often and when a query is repeated.
    owner : str
        Address of the account or vault.
    code : int or None
        Code of the only product, None for all.
    shown : mapping of int to (Decimal, Decimal)
        Long and short that the positions show now, base units, by the product's code.
    hedge : bool or None
        Whether the account is in hedge mode, which its fills may show as well. None: both legs of each product count.
    """
    query = {"account": owner, "page_size": "500"} | ({} if code is None else {"symbol": str(code)})
    orders, left_out = yield from read_in_part(ORDER_STATES, retry, **query)
    fills, missing = yield from read_in_part(FILLS, retry, **query)
    names: dict[str, str] = {}
    steps: dict[str, Decimal] = {}
    named = {row.symbol for row in orders} | {row.symbol for row in fills} | set(map(str, shown))
    for each in sorted(named, key=int):
        product = yield from catalogue.exit(int(each))
        if product.last is not None and not (left_out and missing):
            names[each], steps[product.symbol] = product.symbol, product.last.step_size
    sides = {row.side for row in orders if row.filled} | {row.side for row in fills}
    book = AccountBook(steps, True if any(map(closes_leg, sides)) else hedge)

    def in_steps(symbol: str, quantity: Decimal) -> int:
        return round(quantity / steps[symbol])

    listed = dict.fromkeys((row.order_id for row in orders), 0)
    for at, fill in enumerate(each for each in fills if each.symbol in names):
        symbol = names[fill.symbol]
        listed[fill.order_id] = listed.get(fill.order_id, 0) + in_steps(symbol, fill.quantity)
        book.fill(str(at), fill.order_id, symbol, fill.side, in_steps(symbol, fill.quantity), "own")
    for row in (each for each in orders if each.symbol in names):
        symbol = names[row.symbol]
        filled = in_steps(symbol, row.filled)
        book.order(row.order_id, symbol, row.side, "own", quantity=in_steps(symbol, row.quantity) or None)
        book.state(row.order_id, filled)
        if missing and filled > listed[row.order_id]:  # by a fill that is older than the latest ones, which were read
            book.fill(f"of {row.order_id}", row.order_id, symbol, row.side, filled - listed[row.order_id], "own")
    held = {}
    for key, (longs, shorts) in shown.items():
        if symbol := names.get(str(key), ""):
            held[symbol] = in_steps(symbol, longs), in_steps(symbol, shorts)
    book.positions(held)
    return book
