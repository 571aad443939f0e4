"""Random integers by their place: word i of a seed at any time, alone or as an array, the same on every platform.

A public seed has up to 64 bits, and SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
2014) makes its words. They are quick to make, and easy to compute backwards. A secret seed is a key of 128 bits, and
keyed BLAKE2b (RFC 7693) makes its words. Some of them reveal neither the key nor any other word. Arrays are of numpy's
64-bit integers. No floating-point number decides anything, so the same seed gives the same path everywhere.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Words: TypeAlias = npt.NDArray[np.uint64]
    Integers: TypeAlias = npt.NDArray[np.int64]

_MASK = (1 << 64) - 1
_KEY = 1 << 128
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


def key_of(seed: int | str) -> int:
    """Return a venue's seed as a number: a public one as it is, a secret one as a key.

    Parameters
    ----------
    seed : int or str
        Public seed, or the hexadecimal digits of a secret one.
    """
    # Above 64 bits whatever the digits are: that is how the functions below tell a key from a public seed.
    return seed if isinstance(seed, int) else int(seed, 16) | _KEY


def mix(*parts: int) -> int:
    """Return one seed from several numbers.

    Every bit of each part matters. If the first part is a key, the result is another key, else it has 64 bits.

    Parameters
    ----------
    *parts : int
        Numbers of any size. The lowest 64 bits of those that are no key count.
    """
    if parts[0] > _MASK:
        name = ":".join(str(int(part)) for part in parts[1:])
        return int.from_bytes(_hash(parts[0], name.encode(), 16)) | _KEY
    state = 0
    for part in parts:
        state = _scramble((state ^ (part & _MASK)) + GOLDEN & _MASK)
    return state


def _scramble(word: int) -> int:
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & _MASK
    return word ^ (word >> 31)


def _hash(key: int, text: bytes, size: int) -> bytes:
    return hashlib.blake2b(text, key=key.to_bytes(32), digest_size=size).digest()


def words(seed: int, places: Integers) -> Words:
    """Return the words of a seed at some places, as uint64.

    Parameters
    ----------
    seed : int
        Public seed or key.
    places : array of int64
        Places of the words, 0 is the first.
    """
    import numpy as np

    if seed > _MASK:
        # A hash has eight words, and places are mostly next to each other.
        blocks, inside = np.unique(places >> 3, return_inverse=True)
        drawn = b"".join(_hash(seed, b"%d" % block, 64) for block in blocks.tolist())
        found: Words = np.frombuffer(drawn, dtype="<u8").astype(np.uint64).reshape(-1, 8)[inside, places & 7]
        return found
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
