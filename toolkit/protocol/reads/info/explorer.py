"""Transactions and blocks: queries and records. The exchange publishes no record of them.

Source: docs/published.md, "Info API".
"""

from ...fields import L
from ..endpoint import Endpoint, Param
from ..rows import Address, Anything, Hash, Id, Ms, Row, Text, Whole, optional
from .parameters import PAGES


class Transaction(Row, identity=("txHash",), time="blockTime", source=L):
    """A transaction."""

    tx_hash: Hash | None = optional("txHash", "hash of the transaction")
    block: Whole | None = optional("blockHeight", "block height")
    time: Ms | None = optional("blockTime", "time of the transaction")
    action: Text | None = optional("actionType", "type of the action, such as placeOrder")
    account: Address | None = optional("user", "address of the account that the action was for")
    signer: Address | None = optional("signer", "address of the signer")
    nonce: Id | None = optional("nonce", "nonce of the request")
    digest: Hash | None = optional("digest", "hash of the signed data, which no other request has")
    status: Text | None = optional("status", "SUCCESS or FAILED")
    tx_code: Whole | None = optional("txCode", "0, or the code of the failure")
    message: Text | None = optional("txMsg", "message of the failure")
    data: Anything | None = optional(
        "data", "what the action returned, where its answer came before its execution", null=True
    )


TRANSACTIONS = Endpoint(
    "transactions",
    "/info/explore/transaction/page",
    "Transactions of a user",
    Transaction,
    params=(
        Param(
            "user",
            "account",
            "address",
            "account or vault that the transactions were for",
            required=True,
            fill="account",
            ties="account",
        ),
        *PAGES,
    ),
    shape="paged",
    order="newest first",
)


TRANSACTION = Endpoint(
    "transaction",
    "/info/explore/transaction/detail",
    "One transaction",
    Transaction,
    params=(Param("txHash", "tx_hash", "hash", "hash of the transaction", leading=True, ties="tx_hash"),),
    shape="one",
    null=True,
)


class BlockPage(Row, source=L):
    """The members of a block's data other than its rows."""

    block: Whole | None = optional("blockHeight", "block height")
    time: Ms | None = optional("blockTime", "time at which the block ended")
    hash: Hash | None = optional("blockHash", "hash of the block")
    transactions: Whole | None = optional("txCount", "number of transactions in the block")


BLOCK = Endpoint(
    "block",
    "/info/explore/block/detail",
    "One block with its transactions",
    Transaction,
    params=(
        Param("blockHeight", "height", "integer", "height of the block", required=True, ties="block"),
        *PAGES,
    ),
    shape="paged",
    beside=BlockPage,
)
