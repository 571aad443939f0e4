"""Every kind of order that the ticket offers, in the order of its buttons."""

from __future__ import annotations

from .kind import OrderKind
from .scale import Scale, ScaleFields
from .several import SeveralFields
from .single import Limit, Market
from .stop import Stop, StopFields
from .twap import TwapFields, TwapKind

_ALL: tuple[OrderKind, ...] = (Limit(), Market(), Stop(), Scale(), TwapKind())
KINDS = {kind.name: kind for kind in _ALL}
"""`order_type` → its kind."""


class KindFields(ScaleFields, SeveralFields, TwapFields, StopFields):
    """The traits of a ticket that its kinds declare."""
