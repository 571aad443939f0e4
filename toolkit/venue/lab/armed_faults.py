"""One scripted fault with its counters, and a list of armed faults."""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from types import TracebackType
from typing import Any


@dataclass(slots=True, repr=False, eq=False)
class Fault:
    """One armed fault; as a context manager it is removed at the end of the block.

    Attributes: `kind`; what it matches: `path` (with * and ?), `action`, `account` (master, signer, or the account a
    query asks about), `peer`, `channel` ("" for all); `after` (matches that still pass first); `count` (how often it
    triggers, None for always); `chance` (of each match, 0 to 1); `delay` (ms); `status` (HTTP); `code` (of the venue);
    `struck` (how often it has triggered).
    """

    kind: str
    path: str = ""
    action: str = ""
    account: str = ""
    peer: str = ""
    channel: str = ""
    after: int = 0
    count: int | None = 1
    chance: float = 1.0
    delay: int = 1_000
    status: int = 503
    code: int = 40231
    _random: random.Random = field(default_factory=random.Random)
    struck: int = field(default=0, init=False)
    _armed_in: ArmedFaults | None = field(default=None, init=False)

    @property
    def done(self) -> bool:
        """True once it has triggered `count` times; a freeze lasts until it is removed."""
        return self.count is not None and self.struck >= self.count and self.kind != "feed-freeze"

    @property
    def needs_sender(self) -> bool:
        """True for a fault that matches an action or an account, which are known after the signature check."""
        return bool(self.action or self.account)

    def triggers(self) -> bool:
        """Count one match; return True when the fault applies to it."""
        if self.done:
            return False
        if self.after:
            self.after -= 1
            return False
        if self.chance < 1 and self._random.random() >= self.chance:
            return False
        self.struck += 1
        return True

    def remove(self) -> None:
        """Disarm the fault; removing it again does nothing."""
        if self._armed_in is not None:
            self._armed_in.remove(self)

    def __repr__(self) -> str:
        words = [f"{name}={getattr(self, name)}" for name, usual in SETTINGS.items() if getattr(self, name) != usual]
        return f"<Fault {' '.join([self.kind, *words]).replace('count=None', 'count=all')}; struck {self.struck}>"

    def __enter__(self) -> Fault:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


SETTINGS: dict[str, Any] = {
    one.name: one.default for one in fields(Fault) if one.name not in ("kind", "struck") and one.name[0] != "_"
}
"""Settings of a fault and their defaults, in the order of its repr."""


class ArmedFaults:
    """The armed faults of one kind of traffic, in the order they were added; guarded by the venue's lock."""

    def __init__(self, lock: AbstractContextManager[Any]) -> None:
        self._lock = lock
        self._armed: list[Fault] = []

    @property
    def active(self) -> bool:
        """True while a fault is armed."""
        return bool(self._armed)

    def __len__(self) -> int:
        return len(self._armed)

    def arm(self, fault: Fault) -> None:
        """Add a fault."""
        with self._lock:
            self._armed.append(fault)
            fault._armed_in = self

    def remove(self, fault: Fault) -> None:
        """Disarm one fault; one that is not armed any more is no error."""
        with self._lock:
            self._armed = [one for one in self._armed if one is not fault]

    def clear(self) -> None:
        """Disarm all faults."""
        with self._lock:
            self._armed = []

    def triggered(self, kinds: Container[str], matches: Callable[[Fault], bool]) -> Iterator[Fault]:
        """Yield the matching faults of these kinds that trigger, counting each match; under the lock.

        A fault that has triggered `count` times is disarmed.
        """
        for fault in self._armed:  # `remove` makes a new list, so this one does not change here
            if fault.kind in kinds and matches(fault) and fault.triggers():
                if fault.done:
                    self.remove(fault)
                yield fault
