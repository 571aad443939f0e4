"""What the books remember: every movement of cash, in double entry."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

ROUND = "ROUNDING"
"""Business type of what is left when the payer is rounded up and the receiver down."""


class LedgerEntry(NamedTuple):
    """One change of one balance: a transfer as one of its accounts sees it. Money in micro-USDC."""

    id: int
    """Number of the transfer; both sides carry the same one."""
    time: int
    height: int
    tx_hash: str
    address: str
    kind: str
    """Business type, e.g. TRADING_FEE, REALIZED_PNL, FUNDING, DEPOSIT."""
    amount: int
    balance: int
    """Balance after it."""
    product: int
    reference: str
    """What it belongs to: order id, vault, destination …"""
    counterparty: str
    """The other side; "" where there is none."""


class Transfer(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """One movement of cash with both its sides, in double entry: an entry of the payer, of the receiver, and of the
    venue's rounding account where the payer was rounded up and the receiver down. Money in micro-USDC."""

    id: int
    time: int
    height: int
    tx_hash: str
    kind: str
    """Business type of the payer's and the receiver's entry."""
    payer: str
    """"" = from outside the balances: a deposit, or what comes back from a position's isolated margin."""
    paid: int
    """At least what is received."""
    payer_balance: int
    """Its balance after it."""
    receiver: str
    """"" = leaves the balances: a withdrawal, or isolated margin for a position."""
    received: int
    receiver_balance: int
    product: int = 0
    reference: str = ""
    rounding_balance: int = 0
    """Balance of ROUNDING after it, where something was left by rounding."""

    def entry(self, address: str) -> LedgerEntry:
        """Return the change that this transfer made to one of its accounts."""
        kind, amount, balance, other = self.kind, self.paid - self.received, self.rounding_balance, self.payer
        if address == self.payer:
            amount, balance, other = -self.paid, self.payer_balance, self.receiver
        elif address == self.receiver:
            amount, balance = self.received, self.receiver_balance
        else:
            kind = ROUND
        return LedgerEntry(
            self.id,
            self.time,
            self.height,
            self.tx_hash,
            address,
            kind,
            amount,
            balance,
            self.product,
            self.reference,
            other,
        )
