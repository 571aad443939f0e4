"""Runs of random steps, and the shortest list of steps that shows a difference."""

from __future__ import annotations

from . import driver
from .driver import Step, World
from .programs_steps import ProgramsSteps
from .steps import MoneySteps

Maker = type[MoneySteps | ProgramsSteps]


def storm(maker: Maker, seed: int, count: int) -> tuple[World, list[Step], str]:
    """Return the world after a seed's steps, the steps, and the difference of the last one ("" = none)."""
    world, steps, difference = World(maker.is_coarse(seed)), list[Step](), ""
    made = maker(seed, world.mine)
    while len(steps) < count and not difference:
        steps.append(made.next())
        difference = _taken(world, steps[-1], len(steps), count)
    return world, steps, difference


def replay(steps: list[Step], coarse: bool) -> tuple[int, str]:
    """Return after how many of these steps venue and reference differ, and how ("" = they never do)."""
    world = World(coarse)
    for number, step in enumerate(steps, 1):
        if difference := _taken(world, step, number, len(steps)):
            return number, difference
    return len(steps), ""


def _taken(world: World, step: Step, number: int, count: int) -> str:
    try:
        return world.step(step, whole=number % driver.WHOLE == 0 or number == count)
    except AssertionError as error:  # an invariant of the venue, which is as good as a difference
        return f"AssertionError: {error}"


def shrink(steps: list[Step], coarse: bool) -> tuple[list[Step], str]:
    """Return a short list of steps that still differs, and how, when steps and items of batches are deleted."""
    number, difference = replay(steps, coarse)
    steps, before = steps[:number], 0
    while before != (before := sum(map(_items, steps))):
        size = max(1, len(steps) // 2)
        while size:
            at = 0
            while at < len(steps):
                fewer = steps[:at] + steps[at + size :]
                number, found = replay(fewer, coarse)
                if found:
                    steps, difference = fewer[:number], found
                else:
                    at += size
            size //= 2
        for at in range(len(steps)):
            item = _items(steps[at]) - 1
            while item >= 0 and _items(steps[at]) > 1:
                fewer = [*steps[:at], _without(steps[at], item), *steps[at + 1 :]]
                if found := replay(fewer, coarse)[1]:
                    steps, difference = fewer, found
                item -= 1
    return steps, difference


def _items(step: Step) -> int:
    return len(step[2]["orders"]) if step[0] == "act" and step[2]["type"] == "placeOrder" else 1


def _without(step: Step, item: int) -> Step:
    kind, wallet, action, *vault = step
    return kind, wallet, action | {"orders": action["orders"][:item] + action["orders"][item + 1 :]}, *vault


def check(maker: Maker, seed: int, count: int) -> World:
    """Run a seed's steps; AssertionError with the seed and a short list of steps when the two differ."""
    world, steps, difference = storm(maker, seed, count)
    if difference:
        short, difference = shrink(steps, maker.is_coarse(seed))
        listed = "\n".join(map(repr, short))
        raise AssertionError(f"seed {seed}, {len(steps)} steps, shrunk to {len(short)}:\n{listed}\n{difference}")
    return world
