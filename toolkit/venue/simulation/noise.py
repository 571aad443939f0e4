"""Random integers by their place: word i of a seed at any time, alone or as an array, the same on every platform.

SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014). Arrays are of numpy's 64-bit
integers. No floating-point number decides anything, so the same seed gives the same path everywhere.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Words: TypeAlias = npt.NDArray[np.uint64]
    Integers: TypeAlias = npt.NDArray[np.int64]

_MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
SIGMA = 1_000_000
"""Bell-shaped integers are in units of a millionth of a standard deviation."""
_DEVIATION = 37_837  # of the sum of four uniform 16-bit numbers: 65536 · sqrt(4 / 12)
EXP_BITS = 28
"""`exponential` returns parts of 2**EXP_BITS."""
LOG_BITS = 24
"""Logarithms that `exponential` takes are in parts of 2**LOG_BITS."""
_COARSE = 12
_MOST = 5 << (LOG_BITS - _COARSE)


def mix(*parts: int) -> int:
    """Return one 64-bit seed from several numbers.

    Every bit of each part matters.

    Parameters
    ----------
    *parts : int
        Numbers of any size. Their lowest 64 bits count.
    """
    state = 0
    for part in parts:
        state = _scramble((state ^ (part & _MASK)) + GOLDEN & _MASK)
    return state


def _scramble(word: int) -> int:
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & _MASK
    return word ^ (word >> 31)


def words(seed: int | Words, places: int | Integers) -> Words:
    """Return the words of a seed at some places, as uint64.

    Parameters
    ----------
    seed : int or array of uint64
        One seed, or a seed for each place.
    places : array of int64
        Places of the words, 0 is the first.
    """
    import numpy as np

    word = (np.asarray(places).astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN)
    word += np.asarray(seed, dtype=np.uint64)
    word ^= word >> np.uint64(30)
    word *= np.uint64(0xBF58476D1CE4E5B9)
    word ^= word >> np.uint64(27)
    word *= np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return word


def bits(word: Words, shift: int, width: int) -> Integers:
    """Return a range of bits of each word, as int64.

    Parameters
    ----------
    word : array of uint64
        Random words.
    shift : int
        Lowest bit of the range.
    width : int
        Number of bits, at most 63.
    """
    import numpy as np

    return ((word >> np.uint64(shift)) & np.uint64((1 << width) - 1)).astype(np.int64)


def normals(word: Words) -> Integers:
    """Return one bell-shaped int64 for each word.

    The mean is 0, the standard deviation SIGMA. All are within ±3.5 deviations.

    Parameters
    ----------
    word : array of uint64
        Random words, of which all bits are used.
    """
    import numpy as np

    # The sum of four uniform numbers is bell-shaped. It needs one word and no logarithm, which would differ between
    # platforms.
    total = (word & np.uint64(0xFFFF)) + (word >> np.uint64(48))
    total += (word >> np.uint64(16)) & np.uint64(0xFFFF)
    total += (word >> np.uint64(32)) & np.uint64(0xFFFF)
    return (total.astype(np.int64) - 131_070) * SIGMA // _DEVIATION


@cache
def _exponentials() -> Integers:
    """Return exp(i / 2**12) for i from −_MOST to _MOST in parts of 2**EXP_BITS, by exact multiplication."""
    import numpy as np

    # Integers of 80 bits: products of 20,000 factors stay exact to far below the 28 bits that are returned.
    one = 1 << 80
    step = one  # exp(2**-12), by its series
    term = one
    for n in range(1, 12):
        term = (term >> _COARSE) // n
        step += term
    up, down = [one], [one]
    for powers, factor in ((up, step), (down, one * one // step)):
        for _ in range(_MOST):
            powers.append(powers[-1] * factor >> 80)
    return np.array([power >> (80 - EXP_BITS) for power in (*reversed(down), *up[1:])], dtype=np.int64)


def exponential(logs: Integers) -> Integers:
    """Return exp(logs / 2**LOG_BITS) in parts of 2**EXP_BITS.

    Parameters
    ----------
    logs : array of int64
        Natural logarithms in parts of 2**LOG_BITS. Those beyond ±5 count as ±5.
    """
    import numpy as np

    limit = (_MOST << _COARSE) - 1
    logs = np.clip(logs, -limit, limit)
    coarse = _exponentials()[(logs >> _COARSE) + _MOST]
    fine = logs & ((1 << _COARSE) - 1)
    found: Integers = coarse + ((coarse >> 4) * fine >> (LOG_BITS - 4))
    return found


@cache
def waits() -> Integers:
    """Return the 1,024 middle quantiles of an exponential distribution with mean 1,000, rounded up, as int64."""
    import numpy as np

    tails = exponential(-np.arange(5_001) * (1 << LOG_BITS) // 1000)  # of waiting longer than so much, falling
    wanted = (2 * np.arange(1024) + 1 << EXP_BITS) // 2048
    return (5_001 - np.searchsorted(tails[::-1], wanted, side="right")).astype(np.int64)


def log_of_ppm(logs_ppm: Integers) -> Integers:
    """Return logarithms in millionths as parts of 2**LOG_BITS.

    Parameters
    ----------
    logs_ppm : array of int64
        Natural logarithms in millionths.
    """
    return logs_ppm * (1 << LOG_BITS) // SIGMA
