"""An episode begins in the market and at the moment that the seed draws, and is lost at its bound of ruin."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="the extra gym is not installed")
pytest.importorskip("pettingzoo", reason="the extra gym is not installed")


import toolkit
from tests.gym.test_environments import FIRST_MS, recording
from toolkit.errors import InputError
from toolkit.gym import TradersEnv, TradingEnv
from toolkit.gym.floor import Snapshot
from toolkit.research.data.events import Events
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"


def test_a_recording_that_ends_without_a_book_of_two_sides_is_refused() -> None:
    events = recording()
    array = events.array[(events.array["side"] == 1) & (events.array["kind"] != 2)]
    bids = Events(array, symbol=events.symbol)
    env = TradingEnv(replay=bids, step="100ms", episode=5)
    with pytest.raises(InputError, match="no book with two sides comes before the recording ends") as raised:
        env.reset(options={"start": FIRST_MS})
    assert raised.value.field == "replay"
    env.close()


def test_a_largest_position_is_given_where_there_is_no_price_to_measure_it() -> None:
    with LocalVenue(clock="manual", market=None) as venue, toolkit.connect(venue=venue) as session:
        venue.control.set_oracle(BTC, "60000")
        venue.control.add_liquidity(BTC, "SELL", "60010", "5")
        with pytest.raises(InputError, match=r"max_position 0 is below one step of 0\.001"):
            TradingEnv(session=session).reset()
        env = TradingEnv(session=session, max_position="0.01", depth=2)
        seen, info = env.reset()
        sizes = [np.log10(1 + 60_010 * 5), 0.0]  # the gaps are not known without a price in the middle
        assert seen.tolist() == pytest.approx([10.0, 10.0, 0.0, 0.0, 10.0, 10.0, *sizes, *[0.0] * 5])
        assert (info["position"], info["refused"]) == (0.0, "")
        env.close()


def test_a_snapshot_has_the_mids_of_every_trader() -> None:
    env = TradersEnv(traders=2, replay=recording(), step="100ms", episode=9)
    env.reset(options={"start": FIRST_MS + 500})
    env.step({"trader_0": [0.0], "trader_1": [0.0]})
    kept = env.snapshot()
    assert [len(mids) for mids in kept.mids] == [2, 2]
    env.step({"trader_0": [0.0], "trader_1": [0.0]})
    env.reset(options={"snapshot": kept})
    assert env.snapshot().mids == kept.mids
    assert env.over is False
    now = kept.venue
    for traders, given, rule, passes in (
        (2, Snapshot(kept.venue, kept.mids[:1]), "traders", ("2",)),
        (2, Snapshot(kept.venue, kept.mids * 2), "traders", ("2",)),
        (2, tuple(kept), "type", ()),
        (1, kept, "traders", ("1",)),
    ):
        other = env if traders == 2 else TradersEnv(traders=1, replay=recording(), step="100ms", episode=9)
        with pytest.raises(InputError, match=r"^snapshot is ") as caught:
            other.reset(options={"snapshot": given})
        assert (caught.value.field, caught.value.rule, caught.value.nearest) == ("snapshot", rule, passes)
    assert "of 2 traders, and this environment has 1. Restore it in one of 2" in str(caught.value)
    assert env.snapshot().venue == now, "a refused snapshot changes nothing"
    env.close()
