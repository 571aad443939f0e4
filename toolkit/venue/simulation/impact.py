"""How trades move the simulated prices: a part stays in the index, another moves the makers' prices and fades.

Both grow with the square root of the traded value, the volatility of the product, and the size of the latest news.
Values are in thousandths of USDC here.
"""

from __future__ import annotations

from math import isqrt

from ..model.market import Market
from ..model.simulation_state import SimulatedProduct
from .flow import PARTS
from .quoted import FINE, PPM

FLOW_TICKS = 1_200
"""Ticks of 3 s, an hour, in which the net flow of others falls to a third."""
_GRAIN = 1_000
"""Roots of a net flow are counted in parts of this, because a small order adds little to that of a large flow."""


def of_participant(
    sim: SimulatedProduct, market: Market, side: int, value_micro: int, volatility_ppm: int, heat_ppm: int
) -> None:
    """Let a participant's order move the prices: the less, the more its side was expected."""
    surprise = sim.surprise
    sim.surprise = surprise + (side * PPM - surprise) // 8
    size = isqrt(value_micro // 1_000) * volatility_ppm // 24_000 * heat_ppm // PPM
    stays = market.permanent_ppm * size * (side * PPM - surprise * 6 // 10) // PPM
    _move(sim, stays, market.transient_ppm * size * side)


def of_others(
    sim: SimulatedProduct, market: Market, side: int, value_micro: int, volatility_ppm: int, heat_ppm: int
) -> None:
    """Let what others than the participants took move the prices, by what it adds to the root of their net flow.

    So an order that is cut into parts moves them as far as in one piece, whoever sends the parts, and what is bought
    and sold again leaves them where they were. If each part counted by a root of its own, one could push prices up with
    many small orders, and sell to the makers above what they cost.
    """
    before = sim.flow
    sim.flow = after = before + side * (value_micro // 1_000)
    size = abs(_signed_root(after) - _signed_root(before)) * volatility_ppm // 24_000 * heat_ppm // PPM
    _move(sim, market.permanent_ppm * size * side // _GRAIN, market.transient_ppm * size * side // _GRAIN)


def _signed_root(flow: int) -> int:
    """Return the square root of a net flow with its sign, in parts of _GRAIN."""
    root = isqrt(abs(flow) * _GRAIN * _GRAIN)
    return root if flow > 0 else -root


def _move(sim: SimulatedProduct, stays: int, fades: int) -> None:
    sim.index = max(sim.index + sim.index * stays // PARTS, FINE)
    sim.pressure = max(min(sim.pressure + fades, PARTS // 50), -PARTS // 50)
