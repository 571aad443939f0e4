"""The one place that turns a wish (open, reduce, close, protect) into the side of an order, in both position modes.

In one-way mode an order that only reduces closes the net position. In hedge mode the side says which leg it closes: BUY
opens the long, and SELL_CLOSE_HEDGE closes it. SELL opens the short, and BUY_CLOSE_HEDGE closes it.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, NamedTuple, cast

from .protocol.orders.names import ReduceOnly, Side

CLOSE_HEDGE = "_CLOSE_HEDGE"
"""End of the sides that close a leg in hedge mode."""
Leg = Literal["LONG", "SHORT"]
BUYS: tuple[Side, ...] = ("BUY", "BUY_CLOSE_HEDGE")
CLOSES: tuple[Side, ...] = ("BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE")
SHORT_SIDES: tuple[Side, ...] = ("SELL", "BUY_CLOSE_HEDGE")
"""Sides that buy, that close a leg in hedge mode, and that change the short there, for the columns of tables."""


def side_of(sign: float | Decimal, *, closes: bool = False) -> Side:
    """Return the side of an order.

    Parameters
    ----------
    sign : float or Decimal
        Above 0 buys, else it sells.
    closes : bool, optional
        Whether it closes a leg in hedge mode (default: False).
    """
    return cast(Side, ("BUY" if sign > 0 else "SELL") + (CLOSE_HEDGE if closes else ""))


def sign_of(side: str) -> int:
    """Return +1 for a side that buys, −1 for one that sells.

    Parameters
    ----------
    side : str
        Side of an order or a fill.
    """
    return 1 if side.startswith("BUY") else -1


def closes_leg(side: str) -> bool:
    """Return whether a side closes a leg in hedge mode.

    Parameters
    ----------
    side : str
        Side of an order or a fill.
    """
    return side.endswith(CLOSE_HEDGE)


def leg_of(side: str) -> Leg:
    """Return the leg that a side opens or closes in hedge mode.

    Parameters
    ----------
    side : str
        Side of an order or a fill.
    """
    return "LONG" if (sign_of(side) > 0) is not closes_leg(side) else "SHORT"


def in_mode(side: Side, reduce_only: ReduceOnly | None, hedge: bool) -> tuple[Side, ReduceOnly | None]:
    """Return side and reduce-only option that an order has in a position mode.

    Parameters
    ----------
    side : str
        Its side in one-way mode.
    reduce_only : str or None
        Its reduce-only option in one-way mode.
    hedge : bool
        Whether the account is in hedge mode.
    """
    if not (hedge and depends_on_mode(side, reduce_only)):
        return side, reduce_only
    # The side says that it closes. Only the kind of an exit is left to say.
    return side_of(sign_of(side), closes=True), None if reduce_only == "REDUCE_ONLY" else reduce_only


def depends_on_mode(side: str, reduce_only: str | None) -> bool:
    """Return whether an order only reduces and is written as in one-way mode.

    Parameters
    ----------
    side : str
        Its side.
    reduce_only : str or None
        Its reduce-only option.
    """
    return reduce_only is not None and not closes_leg(side)


class Change(NamedTuple):
    """A change of the net size in hedge mode, as two orders, in steps. Closing comes first.

    Attributes
    ----------
    closes : int
        Steps of the order that closes the leg of the other side.
    opens : int
        Steps of the order that opens.
    """

    closes: int
    opens: int


def change_of(steps: int, longs: int, shorts: int) -> Change:
    """Return the orders that change the net size of two legs.

    Parameters
    ----------
    steps : int
        Signed change of the net size.
    longs : int
        Steps of the long that can be closed.
    shorts : int
        Steps of the short that can be closed.
    """
    closes = min(abs(steps), max(longs if steps < 0 else shorts, 0))
    return Change(closes, abs(steps) - closes)
