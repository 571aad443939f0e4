"""The product list as the client keeps it, and the rate limits it keeps by itself."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.client.fake import BTC, META, Clock, enveloped, session
from toolkit.client.io.rate_limits import Rate, RateLimiter
from toolkit.errors import BadAnswer, UnknownProduct


class Listing:
    """A venue with a given product list that counts its requests."""

    def __init__(self, data: Any = META) -> None:
        self.data, self.asked = data, 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        return enveloped(0, "success", self.data)


def test_a_list_of_another_shape_is_an_error() -> None:
    with pytest.raises(BadAnswer, match="perpProducts"):
        session(Listing([])).product("BTCUSDC")


@given(
    per_second=st.floats(0.5, 100),
    burst=st.integers(1, 20),
    gaps=st.lists(st.integers(0, 500), min_size=1, max_size=60),
)
def test_no_window_ever_sees_more_than_the_rate_allows(per_second: float, burst: int, gaps: list[int]) -> None:
    limiter, now, sent = RateLimiter({"x": Rate(per_second, burst)}), 1_000_000.0, []
    for gap in gaps:
        now += gap
        sent.append(now / 1000 + limiter.reserve("x", int(now)))
    for first in range(len(sent)):
        for last in range(first, len(sent)):
            allowed = burst + (sent[last] - sent[first]) * per_second
            assert last - first + 1 <= allowed + 1 + 1e-6


def test_limits_are_per_key_and_can_be_off() -> None:
    limiter = RateLimiter({"a": Rate(1, 1)}, default=None)
    assert [limiter.reserve("a", 0), limiter.reserve("a", 0), limiter.reserve("b", 0)] == [0.0, 1.0, 0.0]
    limiter.penalise("b", 0, 60)
    assert limiter.reserve("b", 0) == 0.0


def test_after_the_venue_said_too_much_nothing_goes_out_for_as_long_as_it_asked() -> None:
    limiter = RateLimiter({"a": Rate(per_second=10, burst=5)})
    assert limiter.reserve("a", 0) == 0.0
    limiter.penalise("a", 0, 3.0)
    limiter.penalise("a", 0, 1.0)  # the answer to an earlier request shortens nothing
    assert limiter.reserve("a", 0) == pytest.approx(3.0)
    assert limiter.reserve("a", 10_000) == 0.0


def test_the_list_is_kept_for_a_minute() -> None:
    listing, clock = Listing(), Clock()
    s = session(listing, clock=clock)
    for _ in range(3):
        assert s.product("BTCUSDC").code == 1
    assert listing.asked == 1
    clock.now += 60_000
    s.product(1)
    assert listing.asked == 2


def test_an_unknown_product_is_asked_for_again_before_it_is_an_error() -> None:
    listing, clock = Listing(), Clock()
    s = session(listing, clock=clock)
    s.product("BTCUSDC")
    with pytest.raises(UnknownProduct):
        s.product("NEWUSDC")
    assert listing.asked == 1, "the list is younger than a second"
    clock.now += 1_000
    listing.data = {**META, "perpProducts": [BTC, {**BTC, "symbol": "NEWUSDC", "code": "2"}]}
    assert s.product("NEWUSDC").code == 2
    assert listing.asked == 2


def test_a_clock_that_was_set_back_does_not_keep_an_old_list() -> None:
    listing, clock = Listing(), Clock()
    s = session(listing, clock=clock)
    s.product(1)
    clock.now -= 3_600_000
    s.product(1)
    assert listing.asked == 2
