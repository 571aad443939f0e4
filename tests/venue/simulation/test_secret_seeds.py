"""Secret seeds: the same market again for who has one, and nothing in common with any other market."""

from __future__ import annotations

import itertools
from typing import Any

import httpx
import numpy as np
import pytest

from toolkit.errors import InputError
from toolkit.venue.local import LocalVenue
from toolkit.venue.model.market import Market
from toolkit.venue.served.boundary import new_seed
from toolkit.venue.simulation.noise import key_of, mix, words
from toolkit.venue.simulation.order_flow import minute_returns, source_of, volatility

MINUTE, COUNT = 29_453_760, 3_000
SECRET = "00112233445566778899aabbccddeeff"


def returns(seed: int | str, first: int = MINUTE) -> Any:
    source = source_of(Market(), seed, 1, "BTCUSDC")
    return minute_returns(source, volatility(source, first, COUNT), first).astype(float)


def test_markets_of_secret_seeds_are_like_no_other() -> None:
    all_seeds = [SECRET, SECRET[:-1] + "e", new_seed(), 7, 0, int(SECRET, 16) % 2**64]
    series = [returns(seed) for seed in all_seeds] + [returns(SECRET, MINUTE - COUNT)]
    found = np.corrcoef(series)[np.triu_indices(len(series), 1)]
    assert np.abs(found).max() < 0.1
    assert (returns(SECRET) == series[0]).all()
    usual, secret = (np.std(np.concatenate(each)) for each in (series[3:6], series[:3]))
    assert 0.5 < secret / usual < 2


def test_words_of_a_key_are_drawn_by_place_and_differ_in_half_of_their_bits() -> None:
    key = key_of(SECRET)
    places = np.arange(-40, 5_000)
    drawn = words(mix(key, 1), places)
    assert (words(mix(key, 1), places[::-7]) == drawn[::-7]).all()
    assert len(set(drawn.tolist())) == len(drawn)
    others = [words(seed, places) for seed in (mix(key, 2), mix(key, 1) + 1, mix(key_of(SECRET[:-1] + "e"), 1))]
    for one, other in itertools.pairwise([drawn, *others]):
        bits = np.unpackbits((one ^ other).view(np.uint8)).mean()
        assert abs(bits - 0.5) < 0.005


def test_a_venue_takes_a_secret_seed_and_repeats_with_it() -> None:
    prices = []
    for seed in (SECRET, SECRET.upper(), SECRET[:-1] + "e"):
        with LocalVenue(seed=seed, clock="manual", accounts=0) as venue:
            venue.advance("1m")
            prices.append(venue.control.state_hash())
            assert "secret" in repr(venue)
    assert prices[0] == prices[1] != prices[2]


@pytest.mark.parametrize("seed", ["7", SECRET[1:], SECRET + "0", "g" * 32, "", 1.5, True, None, 1 << 64, -(1 << 64)])
def test_what_is_no_seed_is_refused_without_showing_a_text(seed: Any) -> None:
    with pytest.raises(InputError, match="64 bits, or a text of 32 hexadecimal digits") as raised:
        LocalVenue(seed=seed)
    assert not isinstance(seed, str) or len(seed) < 9 or seed not in str(raised.value)


def test_a_public_seed_is_named_where_other_machines_reach_its_market() -> None:
    with LocalVenue(seed=7, accounts=0) as venue:
        serving = pytest.warns(RuntimeWarning, match="seed 7 is public")
        with serving, venue.serve(host="0.0.0.0", allow_remote=True) as served:
            assert httpx.get(f"{served.base_url}/health").status_code == 200
    with LocalVenue(seed=new_seed(), accounts=0) as venue, venue.serve(host="0.0.0.0", allow_remote=True):
        pass
