"""The state of the simulated market (index, makers and takers of each product) and of interventions that last."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from .market import Market, Scales


@dataclass(slots=True)
class MakerState:
    """One maker in one product. Quantities in steps."""

    taken_bids: int = 0
    """What was taken of its bids since it last filled them up, best first, and when it does so again (ms)."""
    bids_until: int = 0
    taken_asks: int = 0
    asks_until: int = 0
    inventory: int = 0
    """Its position, trades that are not booked yet included."""


@dataclass(slots=True)
class SimulatedProduct:
    """The simulated market of one product. A fine price is in 1 / 2**16 ticks, changes are in parts of 1e-9."""

    start: int
    """Index price at genesis in ticks, for the past before it."""
    index: int
    """Index price, fine."""
    time: int
    """News up to and including this time (ms) are in the index."""
    traded: int
    """Orders up to and including this time have come."""
    ticked: int
    """What it last gave as oracle price, in ticks; another oracle price is somebody else's."""
    seen: int = 0
    """Public trades whose impact is in the index."""
    regime: str = "usual"
    plan: list[tuple[int, str]] = field(default_factory=list)
    """Regimes that begin later: (time, name), in order."""
    heat: int = 0
    """Mean size of the latest news."""
    pressure: int = 0
    """Distance of the makers' prices from index and premium after trades; it fades."""
    basis: int = 0
    """Premium over the index that comes from outside."""
    surprise: int = 0
    """Mean of the participants' latest sides, millionths: what of the next one is expected."""
    flow: int = 0
    """What others have lately bought, less sold, from the makers or each other, in thousandths of USDC; it fades."""
    hedged: int = 0
    """Steps of the makers' inventory that they have from others than the participants, and hedge elsewhere."""
    trend: int = 0
    """Slower means of the index, fine: over about 2 and 15 minutes."""
    drift: int = 0
    views: list[tuple[int, int]] = field(default_factory=list)
    """Latest changes of the fair price: (time, fine price from then on), oldest first."""
    skew: int = 0
    """How far the makers shift their quotes against their inventory."""
    makers: list[MakerState] = field(default_factory=list)
    pending: dict[str, list[int]] = field(default_factory=dict)
    """Participant → steps bought and micro-USDC paid, less sold and received, that its position does not have yet."""
    booked: int = 0
    """When pending trades were last booked."""
    busy: bool = False
    """True while other orders rest in the book: the makers' orders are then ordinary resting orders as well."""


class Simulation(msgspec.Struct):
    """The simulated market: its numbers, and its products by code."""

    market: Market
    products: dict[int, SimulatedProduct] = {}

    def scales(self, code: int) -> Scales:
        """Return what the present regime of a product multiplies."""
        return self.market.scales(self.products[code].regime)


class RecordedMarket(msgspec.Struct):
    """A market whose prices, levels and trades come from a recording or from another venue, by product code."""

    products: list[int] = []
    queue: str = "risk-averse"
    """Queue model of the orders that wait among recorded ones."""
    fronts: dict[int, tuple[int, int]] = {}
    """Order id → what is ahead of it and what was traded there since the level changed, in 1e-6 steps."""
    marks: dict[int, int] = {}
    """Recorded mark prices in ticks; a product without one has the venue's own."""
    indexes: dict[int, int] = {}


class Limit(msgspec.Struct, frozen=True):
    """At most `count` requests in `span` ms."""

    count: int
    span: int


class Laboratory(msgspec.Struct):
    """Interventions that stay in force until they are taken back."""

    disabled: list[str] = []
    """Action types that are switched off (code 40280)."""
    banned: list[str] = []
    """Addresses whose every request is refused (code 40281)."""
    closed: list[str] = []
    """Peers (addresses of callers, "" for everybody) that are not served (code 40006)."""
    limits: dict[str, Limit] = {}
    """Action type, "info" or "" (each action without its own) → limit of each address (code 40220)."""
    scripts: dict[int, list[tuple[int, int]]] = {}
    """Product → future (time, oracle price in ticks), in order; price 0 releases the oracle."""
