"""What is known of a venue's products from earlier lists: which code belongs to which symbol, and their last rows.

Orders name a product by its code. A list that gives the code to another product would turn an order for the one into
an order for the other. So a code and a symbol belong together from the first list that shows them, for all sessions of
an environment. Where a later list differs, nothing that may open is signed until the user confirms the new pair.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from ...environments import Environment
from ...errors import InputError
from ...products import Product, ProductTable
from ...protocol.reads.product_rows import META
from ...stored.writing import write_file
from ..io.nonce_sources import data_directory, place_of

_WIRES = tuple(wire for wire, _ in META.values())
_CODE, _SYMBOL = META["code"][0], META["symbol"][0]


class Stored(msgspec.Struct):
    """What is kept of an environment.

    Attributes
    ----------
    identity : str
        Identity of the venue, see `catalogue.market_identity`.
    symbols : dict of int to str
        Code → the symbol that it belongs to.
    codes : dict of str to int
        Symbol → its code. A pair is settled where both agree.
    confirmed : dict of int to str
        Code → symbol where the user has confirmed the pair.
    rows : dict of int to dict
        Code → the last row of its product, in wire names.
    before : dict of int to dict
        Code → the row before it last changed.
    """

    identity: str = ""
    symbols: dict[int, str] = {}
    codes: dict[str, int] = {}
    confirmed: dict[int, str] = {}
    rows: dict[int, dict[str, Any]] = {}
    before: dict[int, dict[str, Any]] = {}


_of_venues: weakref.WeakKeyDictionary[Any, Stored] = weakref.WeakKeyDictionary()
"""What is known of the venues in this process. It ends with them."""


class KnownProducts:
    """The products of one environment, to the extent that earlier lists showed them.

    Parameters
    ----------
    environment : Environment, optional
        Environment whose file keeps them (default: None, no file).
    venue : object, optional
        Venue in this process, whose sessions share them while it lives (default: None).
    """

    def __init__(self, environment: Environment | None = None, venue: object | None = None) -> None:
        self._path = None
        if environment is not None and venue is None:
            self._path = data_directory() / "products" / f"{place_of(environment)}.json"
        self._read: Stored | None = None if venue is None else _of_venues.setdefault(venue, Stored())

    @property
    def _stored(self) -> Stored:
        if self._read is None:
            self.read_again()
        return self._read or Stored()

    def read_again(self) -> None:
        """Read the file, where there is one: another session may have confirmed a change."""
        self._read = self._read or Stored()
        # A damaged file counts as none. The next list is then the first one.
        with suppress(OSError, msgspec.MsgspecError):
            if self._path is not None:
                self._read = msgspec.json.decode(self._path.read_bytes(), type=Stored)

    def _write(self) -> None:
        if self._path is not None:
            with suppress(OSError):  # a disk that can't be written: it holds for this session
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_file(self._path, msgspec.json.encode(self._stored), private=True)

    def knows(self, table: ProductTable) -> bool:
        """Return whether a list has nothing new, and nothing that is in doubt.

        Parameters
        ----------
        table : ProductTable
            The list.
        """
        rows = self._stored.rows
        current = self._current(table)
        return all(rows.get(product.code) == row and not self.doubt(product, table) for product, row in current)

    def is_of(self, identity: str) -> bool:
        """Return whether what is known may be of a venue.

        Parameters
        ----------
        identity : str
            Identity of the venue.
        """
        return self._stored.identity in ("", identity)

    def take(self, table: ProductTable, identity: str) -> None:
        """Keep what a list shows. What was not known before is bound.

        Parameters
        ----------
        table : ProductTable
            The list.
        identity : str
            Identity of the venue. What is known of another one is forgotten.
        """
        stored = self._stored
        if not self.is_of(identity):
            for kept in (stored.symbols, stored.codes, stored.confirmed, stored.rows, stored.before):
                kept.clear()
        stored.identity = identity
        for product, row in self._current(table):
            code, symbol = product.code, product.symbol
            if len(table.sharing(product)) == 1 and code not in stored.symbols and symbol not in stored.codes:
                stored.symbols[code], stored.codes[symbol] = symbol, code
            if stored.rows.get(code, row) != row:
                stored.before[code] = stored.rows[code]
            stored.rows[code] = row
        self._write()

    def confirm(self, product: Product) -> None:
        """Bind a code to a symbol, as the user has decided.

        Parameters
        ----------
        product : Product
            Product of the present list.
        """
        stored, code, symbol = self._stored, product.code, product.symbol
        stored.symbols[code], stored.codes[symbol], stored.confirmed[code] = symbol, code, symbol
        self._write()

    def in_list(self, code: int, table: ProductTable) -> Product | None:
        """Return the product that a code means in a list: the one that it belongs to, if that is listed. None without.

        Parameters
        ----------
        code : int
            The code.
        table : ProductTable
            The list.
        """
        return table.by_code(code, self._stored.symbols.get(code, ""))

    def doubt(self, product: Product, table: ProductTable) -> str:
        """Return why it is not certain that a code means a product, "" where it is.

        Parameters
        ----------
        product : Product
            Product of the list.
        table : ProductTable
            The list.
        """
        stored, code, symbol = self._stored, product.code, product.symbol
        others = dict.fromkeys(table.sharing(product), "is")
        known = (code, stored.symbols.get(code)), (stored.codes.get(symbol), symbol)
        if (code, symbol) in known and stored.confirmed.get(code) == symbol:
            others = {}
        others |= {(number, name): "was" for number, name in known if number is not None and name is not None}
        others.pop((code, symbol), None)
        also = " and ".join(f"{name} {verb} product {number}" for (number, name), verb in others.items())
        return f"the venue lists {symbol} as product {code}, and {also}" if also else ""

    def to_leave(self, symbol: str, table: ProductTable | None) -> tuple[set[int], bool]:
        """Return the codes that a name may mean, and whether there is one that it means for certain.

        Parameters
        ----------
        symbol : str
            Name of a product.
        table : ProductTable or None
            The present list, None if it can't be read.
        """
        stored = self._stored
        for name in (symbol, symbol.upper()):
            codes = {code for code, bound in stored.symbols.items() if bound == name}
            codes |= {stored.codes[name]} if name in stored.codes else set()
            product = None if table is None else table.get(name)
            if table is not None and product is not None:
                codes.add(product.code)
                # A second product with this code takes nothing from the one that the code belongs to.
                own = stored.symbols.get(product.code) == name or table.sharing(product) == [(product.code, name)]
                return codes, own and len(codes) == 1
            if codes:
                return codes, len(codes) == 1
        return set(), False

    def symbols(self) -> dict[int, str]:
        """Return the symbols by code."""
        return dict(self._stored.symbols)

    def product(self, code: int, *, before: bool = False) -> Product | None:
        """Return a product as it was listed last, None where none is known.

        Parameters
        ----------
        code : int
            Its code.
        before : bool, optional
            Whether it is that of before the last change (default: False).
        """
        row = (self._stored.before if before else self._stored.rows).get(code)
        with suppress(InputError):
            return None if row is None else Product.from_row(row, tell=lambda *_: None)
        return None

    def _current(self, table: ProductTable) -> Iterator[tuple[Product, dict[str, Any]]]:
        """Yield the products that the codes of a list mean, with their rows as they are kept."""
        for row in table.rows:
            product = self.in_list(int(row[_CODE]), table)
            if product is not None and product.symbol == row[_SYMBOL]:
                yield product, {wire: row[wire] for wire in _WIRES if row.get(wire) is not None}
