"""A small integer random generator whose whole state is one number, so that it is hashed, saved and replayed.

SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014). Integers only: the same
seed gives the same path on every platform and Python version.
"""

from __future__ import annotations

import msgspec

_MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
SIGMA = 1_000_000
"""`Rng.normal` is in units of a millionth of a standard deviation."""
IRWIN_HALL_DEVIATION = 53510  # of the sum of eight uniform 16-bit numbers: 65536 · sqrt(8 / 12)


def mix(*parts: int) -> int:
    """Return one 64-bit seed from several numbers; every bit of each part matters."""
    state = 0
    for part in parts:
        state = _scramble((state ^ (part & _MASK)) + GOLDEN & _MASK)
    return state


def _scramble(word: int) -> int:
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & _MASK
    return word ^ (word >> 31)


class Rng(msgspec.Struct, gc=False):
    """A stream of random integers; `state` is its whole state."""

    state: int = 0

    def bits(self) -> int:
        """Return 64 random bits."""
        self.state = state = self.state + GOLDEN & _MASK
        return _scramble(state)

    def below(self, bound: int) -> int:
        """Return an integer from 0 to bound − 1 (bound ≤ 2**32; the bias is below 2**-32)."""
        return (self.bits() >> 32) * bound >> 32

    def chance(self, millionths: int) -> bool:
        """Return True with a probability given in millionths."""
        return self.below(1_000_000) < millionths

    def normal(self) -> int:
        """Return a bell-shaped integer: mean 0, standard deviation SIGMA, never beyond ±4.9 deviations.

        The sum of eight uniform 16-bit numbers, out of two draws.
        """
        a, b = self.bits(), self.bits()
        total = (
            (a & 0xFFFF)
            + (a >> 16 & 0xFFFF)
            + (a >> 32 & 0xFFFF)
            + (a >> 48)
            + (b & 0xFFFF)
            + (b >> 16 & 0xFFFF)
            + (b >> 32 & 0xFFFF)
            + (b >> 48)
        )
        return (total - 262140) * SIGMA // IRWIN_HALL_DEVIATION
