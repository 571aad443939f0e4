"""The state of a parent order, as it is kept in the ledger: what it trades, its children, when the next one is due."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

import msgspec

from ...orders import Twap
from ...products import Product

RUNNING, CANCELED, FINISHED = "RUNNING", "CANCELED", "FINISHED"
CATCH_UP = 3
"""A child order is at most so many times as large as one of an even schedule, however much earlier ones left."""
_ZERO = Decimal(0)

FORMAT = 1
"""Number of the format of a stored plan. It is not in the text: a plan without one of the fields is refused."""
SCHEMA = "092e9ae7ccfc3901"
"""Hash of a plan's fields. tests/test_persisted_formats.py says what to do on a change."""


@dataclass(frozen=True, slots=True)
class Child:
    """A child order.

    Parameters
    ----------
    intent : str
        Id of its intent.
    time_ms : int
        When it was placed, Unix ms.
    expires_ms : int
        When its request expires, Unix ms.
    quantity : Decimal
        Its quantity in base units.
    filled : Decimal, optional
        Filled quantity in base units, None until it is known (default: None).
    value : Decimal, optional
        Value of its fills in USDC (default: 0).
    """

    intent: str
    time_ms: int
    expires_ms: int
    quantity: Decimal
    filled: Decimal | None = None
    value: Decimal = _ZERO


@dataclass(frozen=True, slots=True)
class Plan:
    """A parent order.

    A session that is resumed takes it over, and the former owner finds that out before its next child order, so that no
    slice is traded twice.

    Parameters
    ----------
    id : str
        Id of the parent order.
    environment : str
        Label of the environment.
    account : str
        Address of the account.
    vault : str or None
        Address of the vault it trades for, None for the account.
    created_ms : int
        When it was made, Unix ms.
    twap : Twap
        TWAP that it trades.
    due_ms : int
        When the next slice is due, Unix ms.
    owner : str
        The session that works on it, "" for none.
    state : str, optional
        RUNNING, CANCELED or FINISHED (default: RUNNING).
    done : int, optional
        Number of the schedule's slices that are over (default: 0).
    children : tuple of Child, optional
        Its child orders, oldest first (default: none).
    """

    id: str
    environment: str
    account: str
    vault: str | None
    created_ms: int
    twap: Twap
    due_ms: int
    owner: str
    state: str = RUNNING
    done: int = 0
    message: str = ""
    """Why the last slice was not placed, "" when it was."""
    children: tuple[Child, ...] = ()

    @property
    def filled(self) -> Decimal:
        """Quantity that is known to be filled."""
        return sum((child.filled or _ZERO for child in self.children), _ZERO)

    @property
    def average_price(self) -> Decimal | None:
        """Average price of the known fills in USDC, None without one."""
        filled = self.filled
        return sum((child.value for child in self.children), _ZERO) / filled if filled else None

    @property
    def why(self) -> str:
        """Why the last slice was not placed, or what is not known of earlier ones, "" for nothing."""
        unknown = sum(child.filled is None for child in self.children)
        return self.message or (f"what {unknown} child orders have filled is not known yet" if unknown else "")

    @property
    def settled(self) -> bool:
        """Whether the fills of all children are known."""
        return all(child.filled is not None for child in self.children)

    def next_quantity(self, product: Product) -> Decimal:
        """Return the quantity of the next child order, in base units. A quantity that may have been filled counts as
        filled.

        Parameters
        ----------
        product : Product
            Product, whose steps the quantity has.
        """
        committed = sum((one.quantity if one.filled is None else one.filled for one in self.children), _ZERO)
        most = CATCH_UP * (self.twap.due(product, 1) + product.step_size)
        return max(_ZERO, min(self.twap.due(product, self.done + 1) - committed, most))

    def advanced(self, now_ms: int, child: Child | None = None, message: str = "") -> Plan:
        """Return the plan after a slice.

        Parameters
        ----------
        now_ms : int
            The present in Unix ms.
        child : Child, optional
            Child order that was placed, None for none (default: None).
        message : str, optional
            Why none was placed (default: "").
        """
        # Where it is much too late, as after a suspended computer, the schedule is shifted, not rushed through.
        begin_ms = self.due_ms if self.due_ms + self.twap.interval_ms > now_ms else now_ms
        due_ms = begin_ms + self.twap.interval_ms
        children = self.children if child is None else (*self.children, child)
        return replace(self, done=self.done + 1, due_ms=due_ms, children=children, message=message)

    def dump(self) -> str:
        """Return the plan as JSON text."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def load(cls, text: str) -> Plan:
        """Return the plan of a text that `dump` made.

        Parameters
        ----------
        text : str
            Text of a note of the ledger.

        Raises
        ------
        msgspec.MsgspecError
            For another text.
        """
        return msgspec.json.decode(text, type=cls)
