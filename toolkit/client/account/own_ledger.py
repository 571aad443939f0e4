"""The money of a run that shares its account: the sum of its own fills and of its share of funding."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import NamedTuple

from ...sides import Leg, leg_of, sign_of


class Traded(NamedTuple):
    """A fill of the run: time in Unix ms, product, side, quantity in base units, price and fee in USDC."""

    time: int
    symbol: str
    side: str
    quantity: float
    price: float
    fee: float


class OwnLedger:
    """Cash and average entry prices of a run's own fills.

    Attributes
    ----------
    cash : float
        Sum of fills, fees and funding, USDC, without the value of the position.
    entries : dict of (str, str) to (float, float)
        Signed size in base units, and its value at entry in USDC, by product and leg. In one-way mode the leg is "".
    """

    def __init__(self) -> None:
        self.cash = 0.0
        self.entries: dict[tuple[str, str], tuple[float, float]] = {}
        self._fills: dict[str, Traded] = {}
        self._funding = 0.0

    def take(self, id: str, fill: Traded, hedge: bool) -> None:
        """Take a fill.

        Parameters
        ----------
        id : str
            The venue's id of it.
        fill : Traded
            The fill.
        hedge : bool
            Whether the account is in hedge mode.
        """
        self._fills[id] = fill
        change = sign_of(fill.side) * fill.quantity
        self.cash -= change * fill.price + fill.fee
        key = fill.symbol, leg_of(fill.side) if hedge else ""
        size, value = self.entries.get(key, (0.0, 0.0))
        after = 0.0 if abs(size + change) < 1e-12 else size + change
        if size * change >= 0:
            value += change * fill.price
        elif after * size > 0:
            value *= after / size
        else:
            value = after * fill.price
        self.entries[key] = after, value

    def retract(self, id: str, hedge: bool) -> None:
        """Take back a fill that is listed no longer.

        Parameters
        ----------
        id : str
            The venue's id of it.
        hedge : bool
            Whether the account is in hedge mode.
        """
        if self._fills.pop(id, None) is not None:
            kept, self._fills, self.cash, self.entries = self._fills, {}, self._funding, {}
            for name, fill in kept.items():
                self.take(name, fill, hedge)

    def pay(self, amount: float) -> None:
        """Take a funding payment.

        Parameters
        ----------
        amount : float
            USDC, above 0 if received.
        """
        self.cash += amount
        self._funding += amount

    def share(self, time: int, symbol: str, size: float, leg: Leg | None) -> float:
        """Return the part of a payment of the account that is the run's, a ratio.

        Parameters
        ----------
        time : int
            When it was settled, Unix ms.
        symbol : str
            Product symbol.
        size : float
            Signed position of the account for which it was paid, base units.
        leg : {"LONG", "SHORT"} or None
            Its leg in hedge mode, None in one-way mode.
        """
        fills = (one for one in self._fills.values() if one.time < time and one.symbol == symbol)
        own = sum(sign_of(one.side) * one.quantity for one in fills if leg in (None, leg_of(one.side)))
        return own / size if size else 0.0

    def unrealized(self, marks: Mapping[str, float]) -> float:
        """Return the unrealised PnL of what is held, USDC, NaN while a price is not known.

        Parameters
        ----------
        marks : mapping of str to float
            Mark price in USDC by product.
        """
        held = ((marks.get(symbol, nan), *one) for (symbol, _), one in self.entries.items() if one[0])
        return sum(size * mark - value for mark, size, value in held)

    def value(self) -> float:
        """Return the value of what is held at its entry prices, USDC."""
        return sum(value for _, value in self.entries.values())
