"""Following: a local venue whose prices, books and trades are another venue's, read from its public feed.

Orders, positions, funding and liquidation happen here. Nothing is ever sent to the other venue but queries.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from .client.io.flow import wall_ms
from .environments import Environment
from .errors import InputError, StaleData, ToolkitError
from .numerals import Span, milliseconds, moment
from .orders import Order
from .products import MICRO, Product
from .protocol.orders.names import OrderField
from .venue.local import LocalVenue
from .venue.model.genesis import Genesis, completed_row, usual_row
from .venue.simulation.recorded import INDEX, LEVEL, MARK, TRADE

if TYPE_CHECKING:
    import pandas as pd

    from .client.stream.live import Live, Update

DEPTH = 200
"""Levels a side that are followed: as many as the feed gives."""
WHEN_STALE = ("pause", "continue")
LOCKSTEP_MS = 1_000
"""How far a venue in this process is let ahead of its follower."""
SETTINGS_SECONDS = 5.0
"""How long the settings of an account that is copied are waited for."""


class Reads(Protocol):
    """The part of a session that is used to read the other venue."""

    @property
    def environment(self) -> Environment: ...
    @property
    def venue(self) -> Any: ...
    @property
    def info(self) -> Any: ...
    @property
    def stream(self) -> Any: ...
    def product(self, symbol: str | int) -> Product:
        """Return the product of a symbol.

        Parameters
        ----------
        symbol : str or int
            Symbol or code of the product.
        """

    def products(self) -> pd.DataFrame:
        """Return the listed products, by symbol."""

    def orders(self, *, open: bool, account: str, exact: bool) -> pd.DataFrame:
        """Return the orders of an account.

        Parameters
        ----------
        open : bool
            True returns open ones only.
        account : str
            Address of the account.
        exact : bool
            True returns amounts as Decimal.
        """

    def close(self) -> None:
        """End the session."""


class HasAccount(Protocol):
    """The session whose account becomes a copy of another one."""

    @property
    def account(self) -> str | None: ...


class FollowingVenue(LocalVenue):
    """A local venue that follows another one. Its attribute `following` says how that goes."""

    following: Following

    def advance(
        self,
        span: Span | None = None,
        *,
        until: str | int | datetime | None = None,
        progress: bool | None = None,
    ) -> int:
        """Let time pass, see `LocalVenue.advance`.

        Return the new time, Unix ms.

        Where both venues have one clock in this process, time passes on the other venue too. Both continue by a second
        in turn, so that each message of the other venue arrives here at its time.

        Parameters
        ----------
        span : str, int, timedelta or None, optional
            Time to pass: "4h", "90s", a timedelta, or ms (default: `None`).
        until : str, int, datetime or None, optional
            Moment to reach: ISO text, Unix ms or a datetime (default: `None`).
        progress : bool or None, optional
            True shows a bar immediately, False never, `None` when it takes long (default: `None`).
        """
        other = self.following.upstream.venue
        shared = isinstance(other, LocalVenue) and other.host.clock is self.host.clock
        if not shared or (span is None) == (until is None):
            return super().advance(span, until=until, progress=progress)
        now = self.host.now_ms()
        target = moment(until, "until", now) if span is None else now + milliseconds(span)
        while now < target:
            now = other.advance(until=min(now + LOCKSTEP_MS, target), progress=False)
            super().advance(until=now, progress=False)
        return super().advance(until=target, progress=False)

    def close(self) -> None:
        """Stop following, and close the venue."""
        self.following.close()
        super().close()


def follow(
    upstream: Reads,
    *,
    symbols: Sequence[str] | None = None,
    when_stale: str = "pause",
    accounts: int = 10,
    timeout: float = 10.0,
    **options: Any,
) -> FollowingVenue:
    """Return a local venue whose market is another venue's, once its books and prices are there.

    Parameters
    ----------
    upstream : Reads
        Session of the other venue, which only reads. It is closed with the venue.
    symbols : sequence of str or None, optional
        Products to follow (default: all).
    when_stale : {"pause", "continue"}, optional
        Whether trading pauses while the feed is lost, or continues at the last known book (default: "pause").
    accounts : int, optional
        Number of funded development accounts (default: 10).
    timeout : float, optional
        Seconds to wait for the next one of the first books and prices (default: 10).
    **options : object
        Further arguments of `LocalVenue`, such as `journal`.

    Returns
    -------
    FollowingVenue
        The venue, with its market.

    Raises
    ------
    InputError
        For unknown symbols.
    TransportError
        When the other venue does not answer.
    StaleData
        When its books and prices do not come.
    """
    try:
        following = Following(upstream, symbols, when_stale)
    except BaseException:
        upstream.close()
        raise
    try:
        # an upstream in this process may have a manual clock, which then is this venue's, too
        here = upstream.venue.host if isinstance(upstream.venue, LocalVenue) else None
        clock = here.clock if here is not None else "real"
        begin = here.now_ms() if here is not None else wall_ms()
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

    Parameters
    ----------
    upstream : Reads
        Session that only reads the other venue.
    symbols : sequence of str or None
        Products to follow. `None` follows all.
    when_stale : {"pause", "continue"}
        Whether trading pauses while the feed is lost.

    Attributes
    ----------
    venue : LocalVenue
        The venue that follows.
    state : {"live", "stale"}
        Whether the feed of the other venue is there.
    reason : str
        Why it is stale.
    notes : list of str
        Each change of the state, and each part of an account that could not be copied.

    Raises
    ------
    InputError
        If `when_stale` is unknown.
    """

    venue: LocalVenue

    def __init__(self, upstream: Reads, symbols: Sequence[str] | None, when_stale: str) -> None:
        if when_stale not in WHEN_STALE:
            said = f"when_stale is {when_stale!r}. It must be {' or '.join(WHEN_STALE)}"
            raise InputError(said, field="when_stale", nearest=WHEN_STALE)
        self.upstream = upstream
        self.products = {symbol: upstream.product(symbol) for symbol in symbols or upstream.products().index}
        self.symbols = tuple(self.products)
        self.tables: dict[int, list[dict[str, str]]] = {}
        self.rows = [completed_row(one, usual_row(one), self.tables) for one in self.products.values()]
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
        """Subscribe, and return when every product has its book and prices.

        Parameters
        ----------
        venue : LocalVenue
            The venue that follows.
        timeout : float
            Seconds to wait for the next one of the first books and prices.

        Raises
        ------
        StaleData
            When they do not come.
        """
        self.venue = venue
        if venue.host.core.state.recorded is None:  # the state of a journal that continues has begun already
            venue.host.apply_control("open_recorded", products=[product.code for product in self.products.values()])
        for product in self.products.values():
            self._follow("book", product, self.upstream.stream.order_book(product.symbol, depth=DEPTH))
            self._follow("trades", product, self.upstream.stream.trades(product.symbol))
            self._follow("ticker", product, self.upstream.stream.ticker(product.symbol))
        waited, missing = 0.0, len(self._waiting)
        # The time counts from the last one that came: many products may take longer together.
        while not self._ready.wait(0.05) and waited < timeout:
            waited = waited + 0.05 if len(self._waiting) == missing else 0.0
            missing = len(self._waiting)
            for live in self._lives:
                _ = live.state  # reads what has come, where the other venue is in this process
        if not self._ready.is_set():
            left = ", ".join(sorted(f"{what} of {symbol}" for symbol, what in self._waiting))
            raise StaleData(f"{self.upstream.environment.base_url} sent nothing within {timeout:g} s: {left}")

    def _follow(self, what: str, product: Product, live: Live) -> None:
        self._lives.append(live)
        live.on_state(self._check_state)
        live.on_update(lambda update: self._on_update(what, product, update), begin=True)

    def _on_update(self, what: str, product: Product, update: Update) -> None:
        """Apply an update of the other venue here. The past trades that a subscription begins with are left out."""
        if what == "ticker":
            prices = [
                (kind, item.get(column))
                for item in update.items
                for column, kind in (("mark_price", MARK), ("oracle_price", INDEX))
            ]
            changes = [[kind, 0, _whole(price, product.tick_size), 0] for kind, price in prices if price]
        elif what == "book" or update.kind == "incremental":
            kind = LEVEL if what == "book" else TRADE
            changes = [_change(product, kind, item) for item in update.items]
        else:
            changes = []
        if changes:
            whole = what == "book" and update.kind == "snapshot"
            self.venue.host.apply_control("play_recorded", product=product.code, changes=changes, whole=whole)
        self._waiting.discard((product.symbol, what))
        if not self._waiting:
            self._ready.set()
        if self.state != "live":
            self._check_state()

    def _check_state(self, changed: Live | None = None) -> None:
        """Note whether the feed is live, once all is there. Without it trading pauses, if so set, and continues."""
        if not self._ready.is_set():
            return
        # Changes come from the thread of each live object.
        with self._lock:
            broken = next((live for live in self._lives if not live.is_live), None)
            state, reason = "live", ""
            if broken is not None:
                state = "stale"
                reason = f"{broken.subject} is {broken.state}{f': {broken.reason}' if broken.reason else ''}"
            self.reason = reason
            if state == self.state:
                return
            paused = any(market.paused for market in self.venue.host.core.state.markets.values())
            control = self.venue.control
            # Only what is paused is resumed, so that a pause by hand before the first loss stays.
            for symbol in self.symbols if self._pauses and (state == "stale" or paused) else ():
                (control.pause if state == "stale" else control.resume)(symbol)
            self.state = state  # last, so that trading continues for whoever reads "live"
            self.notes.append(f"{state}{f': {reason}' if reason else ''}")
            self.on_change(self.notes[-1])

    def fork(self, session: HasAccount, account: str) -> None:
        """Give the session's account a copy of another one: balance, positions, settings and open orders.

        Parameters
        ----------
        session : HasAccount
            Session on the venue that follows.
        account : str
            Address of the account on the other venue.
        """
        theirs = self.upstream.info
        wallet = theirs.wallet_balances(account=account, exact=True)
        balance = sum((Decimal(str(amount)) for amount in wallet["balance"]), Decimal(0))
        positions: list[list[int]] = []
        modes: set[str] = set()
        for row in theirs.positions(account=account, exact=True).reset_index().to_dict("records"):
            modes.add(str(row["position_mode"]))
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
        leverages = self._settings(account, modes)
        self.venue.control.copy_account(
            str(session.account), round(balance * MICRO), positions, leverages, hedge="HEDGE" in modes
        )
        self._copy_orders(session, account)

    def _settings(self, account: str, modes: set[str]) -> list[list[int]]:
        """Return the leverage of each product as [code, hundredths], and add the position mode to `modes`."""
        live = self.upstream.stream.leverages(account)
        try:
            rows = live.frame(exact=True, timeout=SETTINGS_SECONDS).reset_index().to_dict("records")
        except ToolkitError as error:
            self.notes.append(f"the leverage of products without a position was not copied: {error}")
            return []
        finally:
            live.close()
        modes.update(str(row["position_mode"]) for row in rows)
        followed = [(self.products.get(str(row["symbol"])), row["leverage"]) for row in rows]
        return [[product.code, round(Decimal(str(leverage)) * 100)] for product, leverage in followed if product]

    def _copy_orders(self, session: HasAccount, account: str) -> None:
        items, shown = [], []
        rows = self.upstream.orders(open=True, account=account, exact=True).sort_values("order_id").to_dict("records")
        filled = {int(row["order_id"]) for row in rows if row["filled"]}
        for row in rows:
            product, text = self.products.get(str(row["symbol"])), f"{row['side']} {row['quantity']} {row['symbol']}"
            if product is None:
                self.notes.append(f"the order {text} was not copied: {row['symbol']} is not followed")
                continue
            item = _item(row, product)
            if item.get(OrderField.PARENT) in filled:
                # a copy of its main order has opened nothing yet, so that the exit would wait for it
                self.notes.append(f"the order {text} was copied without the order that it belongs to")
                del item[OrderField.PARENT]
            items.append(item)
            shown.append(text)
        for text, refusal in zip(shown, self.venue.control.copy_orders(str(session.account), items), strict=True):
            if refusal:
                self.notes.append(f"the order {text} was not copied: {refusal}")

    def close(self) -> None:
        """Stop following. The venue stays as it is."""
        for live in self._lives:
            live.close()
        self.upstream.close()

    def __repr__(self) -> str:
        where, why = self.upstream.environment.base_url, f" ({self.reason})" if self.reason else ""
        return f"<Following {where}: {', '.join(self.symbols)}, {self.state}{why}>"


def _change(product: Product, kind: int, item: Mapping[str, Any]) -> list[int]:
    side = 1 if item["side"] == "BUY" else -1
    return [kind, side, _whole(item["price"], product.tick_size), _whole(item["quantity"], product.step_size)]


def _item(row: Mapping[Hashable, Any], product: Product) -> dict[str, Any]:
    """Return what is left of an open order as an item on the wire, with its `ordId`."""
    kind, trigger = str(row["type"]), Decimal(str(row["trigger_price"] or 0))
    conditional: Any = None if kind in ("LIMIT", "MARKET") else kind
    made = Order(
        product.symbol,
        row["side"],
        format(Decimal(str(row["remaining"])), "f"),
        None if "MARKET" in kind else format(Decimal(str(row["price"])), "f"),
        tif=row["tif"],
        reduce_only=None if row["reduce_only"] in (None, "", "NONE") else row["reduce_only"],
        parent_ord_id=int(row["parent_order_id"] or 0) or None,
        trigger_price=format(trigger, "f") if trigger else None,
        trigger_by=row["trigger_type"] if trigger else None,
        conditional=conditional,
    )
    return {**made.to_item(product), OrderField.ORDER_ID.value: int(row["order_id"])}


def _whole(amount: object, size: Decimal) -> int:
    """Return an amount as a number of steps, rounded to the nearest."""
    return round(Decimal(str(amount)) / size)
