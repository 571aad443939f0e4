"""What the simulated market remembers: the index paths and the quotes of its participants."""

from __future__ import annotations

import msgspec

from ..simulation.price_path import IndexPath


class MakerQuotes(msgspec.Struct):
    """The participants of one product. Prices in ticks; quotes are price → order id."""

    index: IndexPath
    start: int
    """Index price at genesis, for the past before it."""
    random: int
    """State of the stream that decides about trades."""
    drift: int = 0
    """How far the participants' fair price lies above the index, millionths."""
    mood: int = 0
    """Leaning of the takers: −1,000,000 only sell … +1,000,000 only buy."""
    near: dict[int, int] = {}
    bids: dict[int, int] = {}
    asks: dict[int, int] = {}
    deep_bids: dict[int, int] = {}
    deep_asks: dict[int, int] = {}


class Simulation(msgspec.Struct):
    """The simulated market: its products by code."""

    quotes: dict[int, MakerQuotes] = {}
