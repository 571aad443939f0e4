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
    """A child order: its intent, when it was placed and when its request expires (Unix ms), its quantity (base units).

    `filled` is None until it is known. It then holds the quantity, and `value` that of its fills in USDC.
    """

    intent: str
    time_ms: int
    expires_ms: int
    quantity: Decimal
    filled: Decimal | None = None
    value: Decimal = _ZERO


@dataclass(frozen=True, slots=True)
class Plan:
    """A parent order. `done` of its schedule's slices are over. The next one is due at `due_ms` (Unix ms).

    `owner` is the session that works on it, "" for none. A session that is resumed takes it over, and the former owner
    finds that out before its next child order, so that no slice is traded twice.
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
    def settled(self) -> bool:
        """Whether the fills of all children are known."""
        return all(child.filled is not None for child in self.children)

    def next_quantity(self, product: Product) -> Decimal:
        """Return the quantity of the next child order. A quantity that may have been filled counts as filled."""
        committed = sum((one.quantity if one.filled is None else one.filled for one in self.children), _ZERO)
        most = CATCH_UP * (self.twap.due(product, 1) + product.step_size)
        return max(_ZERO, min(self.twap.due(product, self.done + 1) - committed, most))

    def advanced(self, now_ms: int, child: Child | None = None, message: str = "") -> Plan:
        """Return the plan after a slice."""
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
        """Return the plan of a text that `dump` made. Raises msgspec.MsgspecError for another."""
        return msgspec.json.decode(text, type=cls)
