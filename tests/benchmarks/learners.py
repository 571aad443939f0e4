"""Steps of an environment for reinforcement learning, against the same steps by a session's public calls."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from toolkit.session import connect

from . import Measurement, processor_seconds

STEPS = 2_000
PLAIN_STEPS = 100
DEPTH = 5


def measure_gym() -> list[Measurement]:
    """Measure steps of 1 s (observe book, position and equity, act, let time pass) that hold, and that always trade."""
    from toolkit.gym import TradingEnv

    rows = []
    for name, trading in (("that hold", False), ("that trade each time", True)):
        sides = np.random.default_rng(1).uniform(0.2, 1.0, STEPS) * (-1) ** np.arange(STEPS)
        actions = sides.tolist() if trading else [1.0] * STEPS
        env = TradingEnv(step="1s", episode=STEPS, ruin=0.0, max_position="0.05", depth=DEPTH)
        env.reset(seed=1)
        ours = processor_seconds(partial(_steps, env, actions)) / STEPS
        env.close()
        with connect(clock="manual", seed=1) as session:
            session.venue.advance("1m")  # type: ignore[union-attr]
            _steps_by_frames(session, actions[:2])  # what is loaded on first use is no step
            plain = processor_seconds(partial(_steps_by_frames, session, actions[:PLAIN_STEPS])) / PLAIN_STEPS
        peer = "public frames"
        rows.append(Measurement(f"gym: steps {name}", 1 / ours, "steps/s", 1_000, peer=peer, ratio=plain / ours))
    return rows


def _steps(env: Any, actions: list[float]) -> None:
    for action in actions:
        env.step([action])


def _steps_by_frames(session: Any, actions: list[float]) -> float:
    """Do the same by a session's public calls and their tables. Return the last equity."""
    equity = math.nan
    for action in actions:
        book, held = session.order_book("BTCUSDC", depth=DEPTH), session.positions()
        equity = float(session.wallet_balances()["equity"].iloc[0])
        signed = held["size"].where(held["side"] == "LONG", -held["size"]).sum()
        missing = round(action * 0.05 - signed, 3)
        np.array([*book.select_dtypes("number").to_numpy().ravel(), signed, equity], dtype=np.float32)
        if missing:
            (session.buy if missing > 0 else session.sell)("BTCUSDC", f"{abs(missing):.3f}")
        session.venue.advance("1s", progress=False)
    return equity
