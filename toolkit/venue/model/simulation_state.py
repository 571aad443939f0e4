"""The state of the simulated market (index paths, its participants' quotes) and of interventions that last."""

from __future__ import annotations

import msgspec


class IndexPath(msgspec.Struct, gc=False):
    """The state of one index's forward path; `simulation.price_path` moves it."""

    code: int
    daily_ppm: int
    fine: int
    """Index price in sub-ticks."""
    random: int
    """State of its random stream."""
    volatility: int = 1_000_000
    """Present volatility as millionths of the usual one; it clusters and reverts."""
    calm: int = 0
    """Ticks left in which no jump comes, after one came."""


class MakerQuotes(msgspec.Struct):
    """The participants of one product. Prices in ticks; quotes are price → order id."""

    index: IndexPath
    start: int
    """Index price at genesis, for the past before it."""
    random: int
    """State of the stream that decides about trades."""
    drift: int = 0
    """Distance of the participants' fair price above the index, in millionths."""
    mood: int = 0
    """Bias of the takers: −1,000,000 only sell … +1,000,000 only buy."""
    near: dict[int, int] = {}
    bids: dict[int, int] = {}
    asks: dict[int, int] = {}
    deep_bids: dict[int, int] = {}
    deep_asks: dict[int, int] = {}


class Simulation(msgspec.Struct):
    """The simulated market: its products by code."""

    quotes: dict[int, MakerQuotes] = {}


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
