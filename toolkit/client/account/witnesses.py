"""Whether the witnesses of an account agree: order states, fills, positions and the wallet.

Others read them and hand their rows to the book. Here they are compared over time: a venue lists each of them at its
own pace, so only a disagreement that does not heal within a bound is one. It pauses a run, and a panel says it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from ...limits import Book
from .account_book import AccountBook, Legs, in_words

RECONCILE_MS = 30_000
"""How long the witnesses may disagree before a run pauses. A venue lists each of them at its own pace."""
EQUITY_APART = 0.02
"""Share of the notional by which equity may differ from balance and unrealised PnL, which are read a moment apart."""
LOOKS = 3
"""How often a disagreement is seen before a run pauses, where two polls are further apart than that."""


@dataclass(slots=True)
class Doubt:
    """A disagreement of two witnesses.

    Attributes
    ----------
    since_ms : int
        When it was first seen, Unix ms.
    looks : int
        How often it was seen.
    """

    since_ms: int
    looks: int = 0


class Witnesses:
    """An account's book, and for how long what its witnesses say has differed.

    Parameters
    ----------
    book : AccountBook
        The book.
    patience_ms : int, optional
        How long they may differ, ms (default: `RECONCILE_MS`).
    looks : int, optional
        How often a difference is seen before it counts (default: `LOOKS`).

    Attributes
    ----------
    book : AccountBook
        The book.
    unexplained : float
        Change of the wallet's balance that no fill, payment or transfer explains, USDC.
    odd_equity : float
        Equity less balance and unrealised PnL, where that is more than prices move between two queries, USDC.
    lasting : dict of str to str
        The differences that did not heal in time, in words.
    """

    def __init__(self, book: AccountBook, patience_ms: int = RECONCILE_MS, looks: int = LOOKS) -> None:
        self.book = book
        self.unexplained = self.odd_equity = 0.0
        self.lasting: dict[str, str] = {}
        self._patience_ms = patience_ms
        self._looks = looks
        self._doubts: dict[str, Doubt] = {}
        self._listed_ms = 0
        self._history: deque[tuple[int, dict[str, Legs], dict[str, Legs]]] = deque()
        """Of the last looks: time, positions by orders and fills, positions as they were shown."""

    def set_equity(self, equity: float, balance: float, assigned: float, unrealized: float, notional: float) -> None:
        """Compare the wallet with the positions, which are read a moment apart, in which prices move.

        Parameters
        ----------
        equity : float
            Equity of the wallet, USDC.
        balance : float
            Its balance, USDC.
        assigned : float
            Margins of isolated positions, which are not part of the balance, USDC.
        unrealized : float
            Unrealised PnL of the positions, USDC.
        notional : float
            Value of the positions, USDC.
        """
        apart = equity - balance - assigned - unrealized
        self.odd_equity = apart if abs(apart) > 1 + notional * EQUITY_APART else 0.0

    def compare(self, now_ms: int) -> str:
        """Compare the witnesses after a look, and return where they differ for long, "" where they agree or may soon.

        Parameters
        ----------
        now_ms : int
            The venue's time, Unix ms.
        """
        held = self.book.account
        expected = {symbol: _sum(book, (0, 0)) for symbol, book in held.items()}
        shown = {symbol: _sum(book, self.book.difference(symbol)) for symbol, book in held.items()}
        self._history.append((now_ms, expected, shown))
        while self._history[0][0] < now_ms - self._patience_ms:
            self._history.popleft()
        found = dict(self._disagreements())
        self._doubts = {key: self._doubts.get(key, Doubt(now_ms)) for key in found}
        self.lasting = {}
        for key, doubt in self._doubts.items():
            doubt.looks += 1
            if doubt.looks >= self._looks and now_ms - doubt.since_ms >= self._patience_ms:
                self.lasting[key] = found[key]
        return "; ".join(self.lasting.values())

    @property
    def differ(self) -> bool:
        """Whether the witnesses differed at the last look, which may soon heal."""
        return bool(self._doubts)

    def look_again(self, now_ms: int) -> bool:
        """Return whether the fills should be read again from the begin: while a disagreement lasts, now and then.

        Parameters
        ----------
        now_ms : int
            The venue's time, Unix ms.
        """
        if not any(doubt.looks > 1 for doubt in self._doubts.values()) or now_ms - self._listed_ms < RECONCILE_MS:
            return False
        self._listed_ms = now_ms
        return True

    def doubts_money(self, now_ms: int) -> bool:
        """Return whether the wallet contradicts the rest, which may heal within the bound: no loss is concluded then.

        Parameters
        ----------
        now_ms : int
            The venue's time, Unix ms.
        """
        doubts = [doubt for key, doubt in self._doubts.items() if key in ("wallet", "equity")]
        return any(doubt.looks < LOOKS or now_ms - doubt.since_ms < RECONCILE_MS for doubt in doubts)

    def taken_by_hand(self) -> dict[str, str]:
        """Return in words, by symbol, what orders that no run placed have closed of the run's positions."""
        found = {}
        for symbol, own in self.book.own.items():
            if (missing := self.book.missing(symbol)) != (0, 0):
                step, left = own.step_size, self.book.account[symbol]
                held, there = in_words(step, _sum(own, (0, 0))), in_words(step, _sum(left, (0, 0)))
                gone = sum(missing) * step
                found[symbol] = (
                    f"{symbol}: the run holds {held}, of which {gone:f} was closed by hand. There is {there}"
                )
        return found

    def _disagreements(self) -> Iterable[tuple[str, str]]:
        _, expected, shown = self._history[-1]
        for symbol, book in self.book.account.items():
            # One that is late shows what the other has shown. A run that trades all the time never sees them equal.
            late = any(shown[symbol] == was.get(symbol) or expected[symbol] == seen.get(symbol)
                       for _, was, seen in self._history)  # fmt: skip
            if not late:
                there, counted = (in_words(book.step_size, legs[symbol]) for legs in (shown, expected))
                yield f"positions {symbol}", f"{symbol}: the positions show {there}, orders and fills {counted}"
        for symbol, steps in self.book.unlisted().items():
            quantity = steps * self.book.account[symbol].step_size
            yield f"fills {symbol}", f"{symbol}: orders are filled by {quantity:f} that no listed fill shows"
        if self.odd_equity:
            yield "equity", f"equity is {self.odd_equity:+,.2f} USDC off the balance and the positions' profit and loss"
        if abs(self.unexplained) >= 0.005:
            words = f"the balance changed by {self.unexplained:,.2f} USDC that no fill, payment or transfer explains"
            yield "wallet", words


def _sum(book: Book, change: Legs) -> Legs:
    """Return legs after a change. In one-way mode the second is 0."""
    if book.hedge is False:
        return book.net + change[0], 0
    return book.longs + change[0], book.shorts + change[1]
