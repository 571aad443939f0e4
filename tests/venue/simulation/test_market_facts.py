"""What the simulated market teaches, within wide bounds; `toolkit bench market` measures it closely."""

from __future__ import annotations

import numpy as np
import pytest

from toolkit.benchmarks import market as measured
from toolkit.venue.engine.commands import Advance


@pytest.fixture(scope="module")
def seen() -> list[measured.Observed]:
    return [measured.observe(seed, 4) for seed in (1, 2)]


def test_taker_orders_come_in_bursts_and_keep_their_side(seen: list[measured.Observed]) -> None:
    for each in seen:
        gaps = np.diff(each.order_times)
        assert gaps.std() / gaps.mean() > 1.1
        sides = each.order_sides
        near, far = (np.corrcoef(sides[:-lag], sides[lag:])[0, 1] for lag in (1, 10))
        assert near > 0.05
        assert far > 0


def test_the_mid_follows_taker_orders_and_large_ones_more(seen: list[measured.Observed]) -> None:
    for each in seen:
        large = each.order_values >= np.quantile(each.order_values, 0.9)
        for at in range(len(measured.LAGS_MS) - 1):
            assert np.nanmean(each.responses[:, at]) > 0
        assert np.nanmean(each.responses[large, 1]) > np.nanmean(each.responses[:, 1])


def test_the_spread_varies(seen: list[measured.Observed]) -> None:
    spreads = np.concatenate([each.spreads_bp for each in seen])
    assert 0.5 < np.median(spreads) < 4
    assert np.quantile(spreads, 0.95) > 1.5 * np.median(spreads)


def test_returns_have_fat_tails_and_products_move_together(seen: list[measured.Observed]) -> None:
    moved = np.concatenate([np.diff(np.log(each.minute_mids), axis=0) for each in seen])
    first = moved[:, 0] - moved[:, 0].mean()
    assert (first**4).mean() / (first**2).mean() ** 2 > 4
    assert 0.4 < np.corrcoef(moved[:, 0], moved[:, 1])[0, 1] < 0.97


def test_funding_rates_differ_between_settlements_and_products() -> None:
    core = measured.simulated(1)
    core.apply(Advance(core.state.time + 12 * 3_600_000))
    rates = [rate.rate for settled in core.state.history.funding_rates.values() for rate in settled]
    assert len(rates) == 12
    assert len(set(rates)) >= 4
