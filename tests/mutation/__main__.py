"""`python -m tests.mutation`: plant mistakes and print the score of each room, with the mutants nobody noticed."""

from __future__ import annotations

import argparse
import math
import os
import random
import time
from collections.abc import Sequence

from .covering import trace
from .rooms import REACHED, ROOMS
from .runner import FLOOR, mutants_of, run, sample

TURN = 2
"""Rooms of one run in CI: few enough that each gets a sample that tells something within ten minutes."""


def in_turn(rooms: Sequence[str], turn: int) -> list[str]:
    """Return the rooms of a run."""
    return [rooms[(TURN * turn + at) % len(rooms)] for at in range(min(TURN, len(rooms)))]


def main() -> int:
    """Return 0 when every room may reach the floor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", choices=ROOMS, action="append", help="only this room (may be repeated)")
    parser.add_argument("--sample", type=int, default=20, help="mutants of each room (default 20)")
    parser.add_argument("--whole", action="store_true", help="every mutant; takes hours")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no mutant after this time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--turn", type=int, help=f"{TURN} of the rooms in turn, as in .ci/run; the number is the seed too"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    good = True
    rooms = arguments.room or list(ROOMS)
    if arguments.turn is not None:
        rooms = in_turn(REACHED, arguments.turn)
        arguments.seed = arguments.turn
    began = time.monotonic()
    covering = trace(rooms, arguments.jobs)
    print(f"{len(covering.seconds)} tests traced, {time.monotonic() - began:.0f} s", flush=True)
    for test in covering.left_out:
        print(f"    left out, failed or took too long: {test}", flush=True)
    for at, room in enumerate(rooms):
        chosen = mutants_of(room) if arguments.whole else sample(room, arguments.sample, arguments.seed)
        random.Random(arguments.seed).shuffle(chosen)
        share = (arguments.seconds - (time.monotonic() - began)) / (len(rooms) - at)
        score = run(room, chosen, arguments.jobs, covering, share)
        left = f", {score.left} not run" if score.left else ""
        print(
            f"{room}: {score.killed} of {score.total} noticed ({score.rate:.0%}), {score.seconds:.0f} s{left}",
            flush=True,
        )
        for mutant in score.survivors:
            print(f"    {mutant}", flush=True)
        for test in score.dropped:
            print(f"    fails without a mistake as well: {test}", flush=True)
        reached = score.rate >= FLOOR if arguments.whole else score.may_reach_the_floor
        good = good and reached
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
