"""Blocks and transactions: channels and records.

Source: docs/published.md, "WebSocket".
"""

from ..channel import Channel
from ..rows import Address, Hash, Ms, Row, Text, TransactionStatusName, Whole, optional, required


class Block(Row, identity=("blockHeight",), time="blockTime", feed=True):
    """A block."""

    block: Whole = required("blockHeight", "block height")
    time: Ms = required("blockTime", "time at which the block ended")
    transactions: Whole | None = optional("txCount", "number of transactions in the block")


BLOCK = Channel(
    type="block",
    about="Each block.",
    row=Block,
    style="append",
    identity=("blockHeight",),
    silence_ms=120_000,
)


class BlockHeight(Row, identity=("blockHeight",), time="timestamp", feed=True):
    """The height of the newest block."""

    block: Whole = required("blockHeight", "block height")
    time: Ms = required("timestamp", "time at which the block ended")


BLOCK_HEIGHT = Channel(
    type="blockHeight",
    about="Height of the newest block.",
    row=BlockHeight,
    style="latest",
    identity=("blockHeight",),
    conflate=True,
    silence_ms=120_000,
)


class FeedTransaction(Row, identity=("txHash",), feed=True):
    """A transaction, as the feed has it."""

    block: Whole = required("blockHeight", "block height")
    tx_hash: Hash = required("txHash", "hash of the transaction")
    account: Address | None = optional("user", "address of the account that the action was for")
    action: Text | None = optional("actionType", "type of the action, such as placeOrder")
    status: TransactionStatusName = required("status", "SUCCESS or FAILED", json="integer")


TX = Channel(
    type="tx",
    about="Each transaction.",
    row=FeedTransaction,
    style="append",
    identity=("txHash",),
    quiet=True,
)
