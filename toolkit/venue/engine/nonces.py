"""Nonces and expiry of requests (docs/published.md, "Exchange API")."""

from __future__ import annotations

from bisect import bisect_left, insort

from ..model.state import NonceWindow, State
from .codes import EXPIRED, NONCE
from .commands import Submit, WireError

KEPT = 1_000
"""Largest used nonces kept per signer."""

UNSIGNED = frozenset({"faucetClaim"})
"""Actions whose nonce is not part of the signed data. Anyone can repeat such a request under other nonces, so its nonce
only counts as used once the action has succeeded; otherwise repeats could use up the signer's nonces."""


def check(state: State, submit: Submit) -> None:
    """Raise WireError for a nonce that is used or too old, and for a request that has expired."""
    window = state.nonces.get(submit.signer)
    if window is not None and window.used and submit.nonce <= window.used[-1]:
        _check_older(window.used, submit)
    now, expiry = state.time, submit.expiry_after
    if expiry and now > expiry:
        raise WireError(
            EXPIRED,
            f"request expired: expiryAfter {expiry} was {now - expiry} ms ago (venue time {now}); "
            "set it later, or compare your clock with the venue's",
        )


def _check_older(used: list[int], submit: Submit) -> None:
    nonce, signer = submit.nonce, submit.signer
    at = bisect_left(used, nonce)
    if used[at] == nonce:
        raise WireError(NONCE, f"nonce {nonce} was used before by {signer}; take one that never was")
    # Below a full window nothing is known: the nonce may be one that was used and forgotten.
    if at == 0 and len(used) >= KEPT:
        raise WireError(
            NONCE,
            f"nonce {nonce} is below {used[0]}, the smallest of the {KEPT} largest nonces that {signer} used; "
            "take the present time in milliseconds",
        )


def use(state: State, submit: Submit) -> None:
    """Remember a nonce as used, and forget the smallest one of a full window."""
    window = state.nonces.get(submit.signer)
    if window is None:
        window = state.nonces[submit.signer] = NonceWindow()
    used, nonce = window.used, submit.nonce
    if not used or nonce > used[-1]:
        used.append(nonce)
    else:
        insort(used, nonce)
    if len(used) > KEPT:
        del used[0]
