"""What an answer says of an action, and of each order or cancel in it: read from the wire, and written to the ledger.

Source: docs/published.md, "Exchange API".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import msgspec

from ..hexbytes import is_address
from .wire_values import whole

_CREDITED = ("address", "account", "user", "userAddr")
"""Members of a claim's answer that may name the address that it credits. The local venue names it as the first."""


class ItemAnswer(msgspec.Struct, frozen=True, gc=False):
    """What an answer says of one order or cancel.

    Attributes
    ----------
    cl_ord_id : int or None
        Client id of the order, `None` where it has none.
    order_id : int or None
        The venue's id of the order, `None` where the answer does not name it.
    code : int or None
        0 if it was accepted, `None` where the answer does not say so.
    message : str
        Why it was refused, in words.
    """

    cl_ord_id: int | None
    order_id: int | None
    code: int | None
    message: str

    @classmethod
    def read(cls, wire: Mapping[str, object]) -> Self:
        """Return what a result on the wire says.

        Parameters
        ----------
        wire : mapping of str to object
            One of the results, or the data of an answer without results.
        """
        get = wire.get
        return cls(parse_id(get("clOrdId")), parse_id(get("ordId")), read_code(wire), str(get("txMsg") or ""))

    def to_wire(self) -> dict[str, object]:
        """Return the result on the wire."""
        return {"clOrdId": self.cl_ord_id, "ordId": self.order_id, "txCode": self.code, "txMsg": self.message}


class ActionAnswer(msgspec.Struct, frozen=True):
    """What the data of an answer says of an action.

    Attributes
    ----------
    tx_hash : str
        Hash of the transaction as the answer has it, "" for none.
    action : ItemAnswer
        What it says of the action as a whole.
    results : tuple of ItemAnswer or None
        What it says of each order or cancel, `None` where it has no list of them.
    shows_transaction : bool
        True for an answer that comes from a transaction, and not from an earlier check.
    """

    tx_hash: str
    action: ItemAnswer
    results: tuple[ItemAnswer, ...] | None
    shows_transaction: bool

    @classmethod
    def read(cls, data: object) -> Self:
        """Return what the data of an answer says.

        Parameters
        ----------
        data : object
            Member `data` of the answer, or that of an entry of the ledger.
        """
        given: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
        listed, results = given.get("results"), None
        if isinstance(listed, list):
            results = tuple([ItemAnswer.read(one) for one in listed if isinstance(one, Mapping)])
        shows = bool(given.keys() & {"txHash", "txCode", "results"})
        return cls(str(given.get("txHash") or ""), ItemAnswer.read(given), results, shows)


def transaction_data(tx_hash: str | None, code: int, message: str) -> dict[str, object]:
    """Return the data of an answer to an action that a transaction executed.

    Parameters
    ----------
    tx_hash : str or None
        Hash of the transaction.
    code : int
        Its code, 0 for a success.
    message : str
        Its message.
    """
    return {"txHash": tx_hash, "txCode": code, "txMsg": message}


def read_code(wire: Mapping[str, object]) -> int | None:
    """Return the txCode of a result or a transaction: a number or its text, −1 for what is no number: not accepted.

    Parameters
    ----------
    wire : mapping of str to object
        The result or transaction. Without a code it is `None`.
    """
    value = wire.get("txCode")
    try:
        return None if value is None else whole(value)
    except ValueError:
        return -1


def parse_id(value: object) -> int | None:
    """Return an id that is a number or its text, `None` for anything else and for 0, which is no order's id.

    Parameters
    ----------
    value : object
        Value of a field of an answer.
    """
    try:
        return whole(value) or None
    except ValueError:
        return None


def credited_address(data: Mapping[str, object]) -> str:
    """Return the address that the answer to a claim credits, "" if it names none.

    Parameters
    ----------
    data : mapping of str to object
        `data` of the answer.
    """
    return next((str(data[name]) for name in _CREDITED if is_address(data.get(name))), "")
