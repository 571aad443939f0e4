"""Processes of the engine itself: delayed settlement, and the end of a block."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from ..model.history import Block
from .registry import process

if TYPE_CHECKING:
    from .core import Core


@process("settle")
def settle(core: Core, time: int) -> int | None:
    """Execute the answered actions whose settlement delay is over."""
    waiting = core.state.unsettled
    while waiting and waiting[0].due <= time:
        core.execute_unsettled(waiting.pop(0))
    return waiting[0].due if waiting else None


@process("blocks")
def close_block(core: Core, time: int) -> int | None:
    """Close the open block at its end. The process sleeps until the next transaction, so empty blocks cost nothing."""
    state = core.state
    records = state.history.transactions.records
    first = state.block_first
    if first < len(records):
        height = records[first].height
        digest = hashlib.sha256(core.block_hash(height).encode())
        for record in records[first:]:
            digest.update(record.hash.encode())
        state.history.blocks.append(Block(height, time, "0x" + digest.hexdigest(), first, len(records) - first))
        state.block_first = len(records)
    return None
