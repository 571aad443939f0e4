"""Following: a local venue whose prices, books and trades are another venue's, read from its public feed.

Orders, positions, funding and liquidation happen here; nothing is ever sent to the other venue but queries.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ...client.io.flow import wall_ms
from ...errors import InputError, StaleData, ToolkitError
from ...orders import order
from ...products import MICRO, Product
from ...venue.local import LocalVenue
from ...venue.model.genesis import Genesis
from ...venue.simulation.recorded import INDEX, LEVEL, MARK, TRADE
from ..backtesting.listing import product_row

if TYPE_CHECKING:
    from ...client.stream.live import Live, Update
    from ...session import Session

DEPTH = 200
"""Levels a side that are followed: as many as the feed gives."""
WHEN_STALE = ("pause", "continue")
UNTRIGGERED = "ORDER_STATUS_UNTRIGGERED"


class FollowingVenue(LocalVenue):
    """A local venue that follows another one; `following` says how that goes."""

    following: Following

    def close(self) -> None:
        """Stop following, and close the venue."""
        self.following.close()
        super().close()


def follow(
    upstream: Session,
    *,
    symbols: Sequence[str] | None = None,
    when_stale: str = "pause",
    accounts: int = 10,
    timeout: float = 10.0,
    **options: Any,
) -> FollowingVenue:
    """Return a local venue whose market is another venue's, once its books and prices are there.

    Parameters:
        upstream: a session of the other venue, which only reads; it is closed with the venue.
        symbols: products to follow (default: all).
        when_stale: "pause" trading while the feed is lost, or "continue" at the last known book.
        accounts: funded development accounts; `options` are further ones of LocalVenue (journal, wire …).
        timeout: seconds to wait for the first books.

    Raises InputError for unknown symbols, TransportError and StaleData when the other venue does not answer.
    """
    following = Following(upstream, symbols, when_stale)
    try:
        # an upstream in this process may have a manual clock, which then is this venue's, too
        clock = upstream.venue.clock if upstream.venue is not None else "real"
        begin = upstream.venue.now_ms() if upstream.venue is not None else wall_ms()
        genesis = Genesis(time=begin, products=following.rows, margin_tables=following.tables, prices={})
        venue = FollowingVenue(config=genesis, market=False, clock=clock, accounts=accounts, **options)
        venue.following = following
        following.start(venue, timeout)
    except BaseException:
        following.close()
        raise
    return venue


class Following:
    """How a local venue follows another one.

    Attributes: `upstream` (a session that only reads the other venue), `symbols`, `state` ("live" or "stale"), `reason`
    (why it is stale), `notes` (each change of the state, and what of a copied account could not be copied).
    """

    venue: LocalVenue

    def __init__(self, upstream: Session, symbols: Sequence[str] | None, when_stale: str) -> None:
        if when_stale not in WHEN_STALE:
            raise InputError(
                f"when_stale is {when_stale!r}; it is {' or '.join(WHEN_STALE)}", field="when_stale", nearest=WHEN_STALE
            )
        self.upstream = upstream
        self.products = {symbol: upstream.product(symbol) for symbol in symbols or upstream.products().index}
        self.symbols = tuple(self.products)
        self.tables: dict[int, list[dict[str, str]]] = {}
        self.rows = [product_row(product, self.tables) for product in self.products.values()]
        self.state, self.reason = "stale", "waiting for the first books"
        self.notes: list[str] = []
        self.on_change: Callable[[str], None] = lambda note: None
        """Called with each change of the state, in the feed's thread."""
        self._pauses = when_stale == "pause"
        self._waiting = {(symbol, what) for symbol in self.symbols for what in ("book", "ticker")}
        self._ready = threading.Event()
        self._lives: list[Live] = []
        self._lock = threading.Lock()

    def start(self, venue: LocalVenue, timeout: float) -> None:
        """Subscribe, and return when every product has its book and prices. Raises StaleData when they don't come."""
        self.venue = venue
        if venue.core.state.recorded is None:  # the state of a journal that goes on has begun already
            venue.apply_control("open_recorded", products=[product.code for product in self.products.values()])
        for product in self.products.values():
            self._follow("book", product, self.upstream.stream.order_book(product.symbol, depth=DEPTH))
            self._follow("trades", product, self.upstream.stream.trades(product.symbol))
            self._follow("ticker", product, self.upstream.stream.ticker(product.symbol))
        waited = 0.0
        while not self._ready.wait(0.05) and waited < timeout:
            waited += 0.05
            for live in self._lives:
                _ = live.state  # reads what has come, where the other venue is in this process
        if not self._ready.is_set():
            missing = ", ".join(sorted(f"{what} of {symbol}" for symbol, what in self._waiting))
            raise StaleData(f"{self.upstream.environment.base_url} sent nothing within {timeout:g} s: {missing}")

    def _follow(self, what: str, product: Product, live: Live) -> None:
        self._lives.append(live)
        live.on_state(lambda changed: self._on_state(changed))
        live.on_update(lambda update: self._on_update(what, product, update), begin=True)

    def _on_update(self, what: str, product: Product, update: Update) -> None:
        """Apply an update of the other venue here; the past trades that a subscription begins with are left out."""
        changes: list[list[int]] = []
        if what == "trades":
            if update.kind == "incremental":
                changes = [_change(product, TRADE, item) for item in update.items]
        elif what == "book":
            changes = [_change(product, LEVEL, item) for item in update.items]
        else:
            for item in update.items:
                for column, kind in (("mark_price", MARK), ("oracle_price", INDEX)):
                    if item.get(column):
                        changes.append([kind, 0, _whole(item[column], product.tick_size), 0])
        if changes:
            whole = what == "book" and update.kind == "snapshot"
            self.venue.apply_control("play_recorded", product=product.code, changes=changes, whole=whole)
        self._waiting.discard((product.symbol, what))
        if not self._waiting:
            self._ready.set()
        if self._ready.is_set() and self.state != "live":
            self._check_state()

    def _on_state(self, live: Live) -> None:
        if self._ready.is_set():
            self._check_state()

    def _check_state(self) -> None:
        """Note whether the feed is live; without it trading pauses, if so set, and goes on with it."""
        with self._lock:
            broken = next((live for live in self._lives if not live.is_live), None)
            state = "live" if broken is None else "stale"
            self.reason = "" if broken is None else f"{broken.subject} is {broken.state} {broken.reason}".rstrip()
            if state == self.state:
                return
            self.state = state
            self.notes.append(f"{state}{f': {self.reason}' if self.reason else ''}")
            self.on_change(self.notes[-1])
            paused = any(market.paused for market in self.venue.core.state.markets.values())
            if state == "stale" and self._pauses:
                for symbol in self.symbols:
                    self.venue.control.pause(symbol)
            elif state == "live" and paused and self._pauses:
                for symbol in self.symbols:
                    self.venue.control.resume(symbol)

    def fork(self, session: Session, account: str) -> None:
        """Give the session's account a copy of another one's balance, positions and open orders."""
        theirs = self.upstream.info
        balance = sum(
            (Decimal(str(amount)) for amount in theirs.wallet(account=account, exact=True)["balance"]), Decimal(0)
        )
        positions = []
        for row in theirs.positions(account=account, exact=True).reset_index().to_dict("records"):
            product = self.products.get(str(row["symbol"]))
            if product is None:
                self.notes.append(f"a position in {row['symbol']}, which is not followed, was left out")
                continue
            for side, name in ((1, "long"), (-1, "short")):
                size = _whole(row[f"{name}_size"], product.step_size)
                if size:
                    value = round(Decimal(str(row[f"{name}_entry_value"])) * MICRO)
                    margin = round(Decimal(str(row["assigned_margin"])) * MICRO)
                    leverage = round(Decimal(str(row["leverage"])) * 100)
                    isolated = str(row["margin_mode"]) == "ISOLATED"
                    positions.append([product.code, side, size, value, leverage, int(isolated), margin])
        self.venue.apply_control(
            "copy_account", address=session.account, balance=round(balance * MICRO), positions=positions
        )
        self._copy_orders(session, account)

    def _copy_orders(self, session: Session, account: str) -> None:
        for row in self.upstream.orders(open=True, account=account, exact=True).to_dict("records"):
            shown = f"{row['side']} {row['quantity']} {row['symbol']}"
            if row["symbol"] not in self.products or row["type"] != "LIMIT" or row.get("status") == UNTRIGGERED:
                self.notes.append(f"the order {shown} was not copied: only resting limit orders are")
                continue
            try:
                left = Decimal(str(row["quantity"])) - Decimal(str(row["filled"]))
                reduce_only = row["reduce_only"] == "REDUCE_ONLY"
                session.place(order(row["symbol"], row["side"], left, row["price"], reduce_only=reduce_only or None))
            except ToolkitError as error:
                self.notes.append(f"the order {shown} was not copied: {error}")

    def close(self) -> None:
        """Stop following; the venue stays as it is."""
        for live in self._lives:
            live.close()
        self.upstream.close()

    def __repr__(self) -> str:
        where = self.upstream.environment.base_url
        return (
            f"<Following {where}: {', '.join(self.symbols)}, {self.state}{f' ({self.reason})' if self.reason else ''}>"
        )


def _change(product: Product, kind: int, item: Any) -> list[int]:
    side = 1 if item["side"] == "BUY" else -1
    return [kind, side, _whole(item["price"], product.tick_size), _whole(item["quantity"], product.step_size)]


def _whole(amount: Any, size: Decimal) -> int:
    """Return an amount as a number of steps, rounded to the nearest."""
    return round(Decimal(str(amount)) / size)
