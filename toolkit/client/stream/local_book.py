"""A local copy of an order book: decimal text in, whole numbers inside, best levels out.

Prices keep the text they came with. They are ordered by exact integers, so no binary float is involved.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from decimal import Decimal

from ...errors import FeedError

Level = tuple[str, str]
"""Price and quantity, as text."""

_DIGITS = 18
_SCALE = 10**_DIGITS
_CACHE_SIZE = 65_536


class _PriceKeys(dict[str, int]):
    """Price text → whole number of 1e-18, cached because the same prices recur."""

    def __missing__(self, text: str) -> int:
        whole, _, fraction = text.partition(".")
        if not (whole + fraction).isdecimal() or len(fraction) > _DIGITS or len(whole) > _DIGITS or not text.isascii():
            raise FeedError(f"{text!r} in an order book is not a plain decimal number")
        # A venue could send endless different prices.
        if len(self) >= _CACHE_SIZE:
            self.clear()
        # Whole numbers compare faster than Decimals, and every increment compares many.
        key: int = int(whole or "0") * _SCALE + int(fraction.ljust(_DIGITS, "0"))
        self[text] = key
        return key


class LocalBookSide:
    """One side of a book. Its keys are sorted so that the best price comes first on either side.

    Parameters
    ----------
    sign : int
        +1 for bids, -1 for asks.
    price_keys : _PriceKeys
        Keys of prices, which both sides share.
    """

    __slots__ = ("_levels", "_price_keys", "_sign", "keys")

    def __init__(self, sign: int, price_keys: _PriceKeys) -> None:
        self._sign = sign
        self._price_keys = price_keys
        self.keys: list[int] = []
        self._levels: dict[int, Level] = {}

    def replace(self, levels: Iterable[Sequence[str]]) -> None:
        """Replace all levels.

        Parameters
        ----------
        levels : iterable of sequence of str
            Pairs of price and quantity, as text.
        """
        sign, price_keys = self._sign, self._price_keys
        self._levels = {sign * price_keys[px]: (px, qty) for px, qty in levels if not _is_zero(qty) and _is_plain(qty)}
        self.keys = sorted(self._levels)

    def apply(self, changes: Iterable[Sequence[str]]) -> None:
        """Set the quantity of each changed level. "0" removes it.

        Parameters
        ----------
        changes : iterable of sequence of str
            Pairs of price and quantity, as text.
        """
        sign, price_keys, levels, keys = self._sign, self._price_keys, self._levels, self.keys
        for px, qty in changes:
            key = sign * price_keys[px]
            if _is_zero(qty):
                if levels.pop(key, None) is not None:
                    del keys[bisect_left(keys, key)]
            elif _is_plain(qty):
                if key not in levels:
                    insort(keys, key)
                levels[key] = (px, qty)

    def best(self) -> Level | None:
        """Return the best level, None when the side is empty."""
        return self._levels[self.keys[0]] if self.keys else None

    def top(self, count: int | None = None) -> list[Level]:
        """Return the best levels, best first.

        Parameters
        ----------
        count : int, optional
            Number of levels (default: all).
        """
        levels = self._levels
        return [levels[key] for key in self.keys[:count]]

    def __len__(self) -> int:
        return len(self.keys)


class LocalBook:
    """Both sides of a book, built from a snapshot and increments.

    Examples
    --------
    >>> book = LocalBook()
    >>> book.snapshot([("99.5", "2"), ("99", "1")], [("100", "3")])
    >>> book.apply([("99.5", "0"), ("98", "4")], [("100.5", "1")])
    >>> book.bids.top(), book.asks.top(1)
    ([('99', '1'), ('98', '4')], [('100', '3')])
    """

    __slots__ = ("asks", "bids")

    def __init__(self) -> None:
        price_keys = _PriceKeys()
        # Negative keys: the best bid, which is the highest, comes first as the best ask does.
        self.bids = LocalBookSide(-1, price_keys)
        self.asks = LocalBookSide(1, price_keys)

    def snapshot(self, bids: Iterable[Sequence[str]], asks: Iterable[Sequence[str]]) -> None:
        """Replace both sides.

        Parameters
        ----------
        bids : iterable of sequence of str
            Pairs of price and quantity, as text.
        asks : iterable of sequence of str
            Pairs of price and quantity, as text.

        Raises
        ------
        FeedError
            As `apply` does. The book is empty then.
        """
        self.bids.replace(bids)
        self.asks.replace(asks)
        self._refuse_crossed()

    def apply(self, bids: Iterable[Sequence[str]], asks: Iterable[Sequence[str]]) -> None:
        """Apply one increment: changed levels of both sides, quantity "0" removes a level.

        Parameters
        ----------
        bids : iterable of sequence of str
            Pairs of price and quantity, as text.
        asks : iterable of sequence of str
            Pairs of price and quantity, as text.

        Raises
        ------
        FeedError
            For a price or quantity that is no decimal number, and when the book is crossed afterwards. It is empty
            then.
        """
        self.bids.apply(bids)
        self.asks.apply(asks)
        self._refuse_crossed(". An increment is missing")

    def _refuse_crossed(self, why: str = "") -> None:
        if self.crossed:
            bid, ask = self.bids.best(), self.asks.best()
            # No price of it is true for certain, so none is shown until the next snapshot.
            self.bids.replace(())
            self.asks.replace(())
            raise FeedError(f"the order book is crossed: bid {bid} against ask {ask}{why}")

    @property
    def crossed(self) -> bool:
        """True when the best bid is not below the best ask, which no consistent book is."""
        bids, asks = self.bids.keys, self.asks.keys
        return bool(bids and asks and -bids[0] >= asks[0])

    @property
    def mid(self) -> Decimal | None:
        """Middle of best bid and best ask, None while a side is empty."""
        bid, ask = self.bids.best(), self.asks.best()
        return None if bid is None or ask is None else (Decimal(bid[0]) + Decimal(ask[0])) / 2

    @property
    def spread(self) -> Decimal | None:
        """Best ask less best bid, None while a side is empty."""
        bid, ask = self.bids.best(), self.asks.best()
        return None if bid is None or ask is None else Decimal(ask[0]) - Decimal(bid[0])


def _is_zero(quantity: str) -> bool:
    return not quantity.strip("0.") and "0" in quantity


def _is_plain(quantity: str) -> bool:
    """Return True for a plain decimal number. Raises FeedError otherwise."""
    if not (quantity.replace(".", "", 1).isdecimal() and quantity.isascii() and len(quantity) <= 2 * _DIGITS):
        raise FeedError(f"{quantity!r} in an order book is not a plain decimal number")
    return True
