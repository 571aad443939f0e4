"""The generator of the simulated market as a stream: the plain form of `noise.words`."""

from __future__ import annotations

from dataclasses import dataclass

from toolkit.venue.simulation.noise import _MASK, GOLDEN, _scramble


@dataclass
class Rng:
    """A stream of random integers; `state` is its whole state."""

    state: int = 0

    def bits(self) -> int:
        """Return 64 random bits."""
        self.state = state = self.state + GOLDEN & _MASK
        return _scramble(state)

    def below(self, bound: int) -> int:
        """Return an integer from 0 to bound − 1 (bound ≤ 2**32; the bias is below 2**-32)."""
        return (self.bits() >> 32) * bound >> 32
