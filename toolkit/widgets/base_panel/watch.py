"""Data for all panels of a session: whether messages arrive, the venue's time, whether the agent may sign, and whether
the positions agree with orders, fills and the wallet."""

from __future__ import annotations

import time
from collections.abc import Container, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from ...client.account.account_book import AccountBook
from ...client.account.by_orders import by_all_orders
from ...client.account.witnesses import Witnesses
from ...client.io.flow import within
from ...client.io.transport import NO_RETRY
from ...environments import LOCAL
from ...errors import ToolkitError
from ...limits import Book
from ...numerals import time_text
from ...protocol.orders.names import ActionType
from ...protocol.orders.order_actions import CancelAll, order_ids
from ...protocol.reads.info.explorer import Transaction
from .number_format import grouped, short, signed, trimmed

if TYPE_CHECKING:
    import pandas as pd

    from ...client.stream.live import Update
    from ...plain_session import Session

# A quarter of QUIET_MS: some lost answers in a row are needed before panels lock.
PING_MS = 500
"""While a panel is open, a ping is sent after so long without a message."""
QUIET_MS = 2_000
"""After so long without a message, answers to pings included, nothing may be signed. The page has the same."""
RETRY_SECONDS = 5.0
LISTING_SECONDS = 1.0
COMPARE_MS, AGAIN_MS, COMPARE_SECONDS = 5_000, 1_000, 2.0
"""Time of the venue between two comparisons of positions with orders and fills, while they differ, and longest wait."""
PATIENCE_MS = 2_000
"""Positions that differ for so long are in doubt."""
EVERY = "ALL"
"""In place of a symbol: a request for all products. It is also what Mainnet asks to type then."""
OWN_CANCELS = 50
"""Latest requests of the session in which the one that cancelled an order is looked for."""
NEWS = 50
FORCED = ("LIQUIDATION", "ADL", "MARKET_LIQ_SELLOFF", "LIMIT_LIQ_SELLOFF")
"""Types of orders that the venue places for an account."""

[_ACTION] = Transaction.declared.wires("action")


class News(NamedTuple):
    """Something that happened on the venue.

    Attributes
    ----------
    at_ms : int
        Time of the venue (Unix ms).
    kind : str
        What happened, such as "filled", "cancelled", "funding", "liquidation" or "resumed".
    symbol : str
        Product symbol, "ALL" for all products.
    text : str
        The event in words.
    order : str
        Number of the order, "" for an event without one.
    """

    at_ms: int
    kind: str
    symbol: str
    text: str
    order: str

    def line(self) -> list[str]:
        """Return time, kind and text, as the page shows them."""
        return [time_text(self.at_ms)[11:19], self.kind, self.text]

    def ends(self, symbol: str, orders: Container[str]) -> bool:
        """Return whether a review is outdated by it.

        Parameters
        ----------
        symbol : str
            Product of the reviewed request, "ALL" for a request about all products.
        orders : Container of str
            Numbers of the orders that the request names.
        """
        concerns = symbol in (self.symbol, EVERY) and self.kind not in ("filled", "cancelled", "funding")
        return self.order in orders or concerns


class SessionWatch:
    """Follows one session for its panels, from the first one to the last.

    Parameters
    ----------
    session : Session
        Session whose panels share the watch.
    """

    _all: WeakKeyDictionary[Session, SessionWatch] = WeakKeyDictionary()

    def __init__(self, session: Session) -> None:
        self._session = session
        self._panels: WeakSet[Any] = WeakSet()
        self.agent = ""
        """The agent and its state, in words, "" without one."""
        self._approvals: list[Any] | None = None
        """Approvals of the agent: [active?, when it ends in Unix ms or None, when it was revoked]. None: not read."""
        self._read_at = 0.0
        self._heard: float | None = None
        stream = session.stream
        self._blocks = stream.block_height()
        self._lives: list[Any] = [self._blocks]
        self.news: list[News] = []
        """Events of the account and its products since the first panel, oldest first."""
        self.results: dict[Any, Decimal] = {}
        """Id of an execution → what it realised in USDC, where the feed leaves that out."""
        self._entries: dict[str, Decimal] = {}
        self._unlisted: dict[str, str] = {}
        self._listed_at = 0.0
        self._witnesses = Witnesses(AccountBook({}), PATIENCE_MS, looks=2)
        self._compare_ms = 0
        if session.account is not None:
            self._positions, self._wallet = stream.positions(), stream.account()
            named = ((stream.events(), self._on_events), (stream.fills(), self._on_fills))
            others = ((stream.order_history(), self._on_orders), (stream.funding(), self._on_funding))
            for live, call in named + others:
                live.on_update(call)
                self._lives.append(live)
            self._lives += [self._positions, self._wallet]
        # Only while panels are open: scripts need no pings, and the venue limits requests.
        stream.health._watch(PING_MS)

    @classmethod
    def join(cls, session: Session, panel: object) -> SessionWatch:
        """Return the watch of a session, which is made for its first panel.

        Parameters
        ----------
        session : Session
            Session whose panels share the watch.
        panel : object
            Panel of the session.
        """
        found = cls._all.get(session)
        if found is None:
            found = cls._all[session] = cls(session)
        found._panels.add(panel)
        return found

    def leave(self, panel: object) -> None:
        """Stop with the last panel.

        Parameters
        ----------
        panel : object
            Panel of the session.
        """
        self._panels.discard(panel)
        if not self._panels and self._all.get(self._session) is self:
            del self._all[self._session]
            for live in self._lives:
                live.close()

    def refresh(self) -> None:
        """Read what is due: the approvals of the agent, the venue's time. Errors are those of the next read."""
        if self.silence():  # a venue that is silent would hold up the panels
            return
        wallet, now = self._session.wallet, time.monotonic()
        master = self._session._known_account  # an agent that trades for a vault is that of the vault's leader
        if wallet is not None and wallet.agent and master and now >= self._read_at:
            self._read_at = now + RETRY_SECONDS
            try:
                frame = self._session.info.agents(account=master, agent=wallet.agent, exact=True)
            except ToolkitError:
                return
            # One answer is enough. An event of an approval makes it due again.
            self._read_at = float("inf")
            self._approvals = [
                (one["status"] == "ACTIVE", _ms(one["expires_at"]), _ms(one["revoked_at"]))
                for one in frame.to_dict("records")
            ]
        self._follow_time()
        self._follow_listing()
        self._compare()
        for row in self._positions.rows() if self._session.account is not None else ():
            held = row["long_size"] + abs(row["short_size"])
            if held:
                # Kept before a liquidation: afterwards the position is gone, and its entry price with it.
                self._entries[row["symbol"]] = (row["long_entry_value"] + abs(row["short_entry_value"])) / held

    def _compare(self) -> None:
        """Compare the positions that panels show with orders, fills and the wallet."""
        session, now_ms = self._session, self._session._runtime.now()
        if session.account is None or now_ms < self._compare_ms or self._positions.age_ms is None:
            return
        pause_ms = AGAIN_MS if self._witnesses.differ else COMPARE_MS
        self._compare_ms = now_ms + round(pause_ms * max(1, session.clock.speed))
        rows, wallet = self._positions.rows(), self._wallet.value
        shown = {row["symbol_code"]: (row["long_size"], abs(row["short_size"])) for row in rows}
        hedge = any(row["position_mode"] == "HEDGE" for row in rows)
        listed = by_all_orders(session._catalogue, NO_RETRY, str(session.account), None, shown, hedge)
        try:
            self._witnesses.book = session._driver.run(within(listed, COMPARE_SECONDS))
        except ToolkitError:
            return
        if wallet.get("equity") is not None:
            assigned, pnl = (sum(float(row[one] or 0) for row in rows) for one in ("assigned_margin", "unrealized_pnl"))
            notional = sum(float(sum(shown[row["symbol_code"]]) * (row["mark_price"] or 0)) for row in rows)
            self._witnesses.set_equity(float(wallet["equity"]), float(wallet["balance"]), assigned, pnl, notional)
        self._witnesses.compare(now_ms)

    @property
    def doubt(self) -> str:
        """What contradicts the positions that are shown, in words, "" where nothing does."""
        return "; ".join(self._witnesses.lasting.values())

    @property
    def money_doubted(self) -> bool:
        """Whether equity, balance and positions contradict each other for long, so that none of them is certain."""
        return bool({"equity", "wallet"} & self._witnesses.lasting.keys())

    def doubted(self) -> dict[str, Book]:
        """Return by symbol what orders and fills leave, where that contradicts the positions for long."""
        lasting = self._witnesses.lasting
        return {name: one for name, one in self._witnesses.book.account.items() if f"positions {name}" in lasting}

    def silence(self) -> str:
        """Return why nothing may be signed though the connection is open: nothing has come for a while."""
        age_ms = self._age_ms()
        return "" if age_ms < QUIET_MS else f"nothing has come from the venue for {age_ms // 1000} s"

    def _age_ms(self) -> int:
        """Return the time since the venue's last message, which a lost connection does not end, 0 before the first."""
        age_ms, now = self._session.stream.health.age_ms, time.monotonic()
        if age_ms is not None:
            self._heard = now - age_ms / 1000
        return round((now - (self._heard or now)) * 1000)

    def agent_trouble(self) -> str:
        """Return why the agent may sign no more, "" while it may or nothing is known of its approval."""
        wallet, now_ms = self._session.wallet, self._session._runtime.now()
        if wallet is None or not wallet.agent:
            self.agent = "no agent"
            return ""
        name = f"agent {short(wallet.agent)}"
        known = self._approvals or []
        ends = [end for active, end, _ in known if active and (end is None or end > now_ms)]
        if ends or self._approvals is None:
            until = None if not ends or None in ends else max(ends)
            self.agent = name + (f" until {time_text(until)[:16]}" if until else "")
            return ""
        self.agent = f"{name} may not sign"
        what = (
            f"lost its approval at {time_text(max(gone or end for _, end, gone in known))}"
            if known
            else "is not approved"
        )
        return f"{name} {what}. Approve it with session.exchange.approve_agent, or connect again"

    def beat(self) -> dict[str, Any]:
        """Return the part of a panel's `beat` that all panels of the session share."""
        self.agent_trouble()
        now_ms, expiry_ms = self._session._runtime.now(), self._session._delivery.expiry_ms
        return {"time": time_text(now_ms), "now": now_ms, "expiry": expiry_ms, "age": self._age_ms(),
                "agent": self.agent, "news": [one.line() for one in self.news[-1:]]}  # fmt: skip

    def _on_events(self, update: Update) -> None:
        names = {str(one["kind"]) for one in update.items}
        actions = {str(part.get(_ACTION)) for one in update.items for part in one["event"] or ()}
        if ActionType.APPROVE_AGENT in names | actions and update.kind == "incremental":
            self._read_at = 0.0
            self.wake()

    def _follow_time(self) -> None:
        """Set the session's clock where the venue's time was moved. An answer would show it too late for an order."""
        clock, value, age_ms = self._session._clock, self._blocks.value, self._blocks.age_ms
        if clock is None or not value.get("time") or age_ms is None:
            return
        clock.follow(int(value["time"].timestamp() * 1000 + age_ms * clock.speed))

    def _follow_listing(self) -> None:
        """Read the products every few seconds: the feed does not say that trading in one is paused."""
        now, local = time.monotonic(), self._session.environment.name == LOCAL.name
        if now < self._listed_at:
            return
        self._listed_at = now + (LISTING_SECONDS if local else RETRY_SECONDS)
        try:
            table = self._session._driver.run(self._session._catalogue.fetch())
        except ToolkitError:
            return
        unlisted = {one.symbol: str(one.list_status) for one in table.values() if not one.listed}
        for symbol in unlisted.keys() ^ self._unlisted.keys():
            kind = unlisted.get(symbol, "resumed")
            self._say(kind, symbol, f"trading in {symbol} is {kind}")
        self._unlisted = unlisted

    def _on_fills(self, update: Update) -> None:
        for one in update.items if update.kind == "incremental" else ():
            forced = str(one["type"]) in FORCED
            pnl, sign = one.get("realized_pnl"), 1 if one["side"].startswith("BUY") else -1
            entry = self._entries.get(one["symbol"])
            # A forced trade is the one whose loss users look for, so its result is computed where the feed has none.
            if pnl is None and forced and entry is not None:
                pnl = self.results[one["exec_id"]] = (entry - one["price"]) * one["quantity"] * sign
            if forced:
                kind = str(one["type"]).lower()
                amount = "" if pnl is None else f", {signed(pnl)} USDC"
                self._say(kind, one["symbol"], f"{kind}: {_traded(one, one['quantity'], one['price'])}{amount}", one)

    def _on_orders(self, update: Update) -> None:
        words = {"FILLED": "filled", "CANCELED": "cancelled"}
        items = update.items if update.kind == "incremental" else ()
        ended = [one for one in items if str(one["status"]) in words and str(one["type"]) not in FORCED]
        own = self._own_cancels() if any(one["status"] == "CANCELED" for one in ended) else frozenset()
        for one in ended:
            kind, what = words[one["status"]], _traded(one, one["quantity"], one["price"])
            # A cancellation that this session did not ask for is a surprise, so its source is named.
            mine = kind == "filled" or own & {str(one["order_id"]), one["symbol"]}
            how = kind if mine else f"{kind} {_whence(one['reason'])}"
            self._say(kind, one["symbol"], f"order {one['order_id']} {how}: {what}", one)

    def _own_cancels(self) -> frozenset[str]:
        """Return the orders, by their ids, and the products whose cancellation this session has asked for lately."""
        found: set[str] = set()
        symbols = {str(one.code): one.symbol for one in (self._session._catalogue.known or {}).values()}
        for intent in self._session._delivery.ledger.all(newest=OWN_CANCELS):
            asked = intent.asked
            found.update(map(str, order_ids(asked)))
            if isinstance(asked, CancelAll):
                found.add(symbols.get(str(asked.product), ""))
        return frozenset(found)

    def _on_funding(self, update: Update) -> None:
        for one in update.items if update.kind == "incremental" else ():
            self._say("funding", one["symbol"], f"funding {one['symbol']}: {signed(one['amount'], 4)} USDC", one)

    def _say(self, kind: str, symbol: str, text: str, row: Mapping[str, Any] = MappingProxyType({})) -> None:
        when = row.get("time")
        at_ms = self._session._runtime.now() if when is None else int(when.timestamp() * 1000)
        self.news = [*self.news[1 - NEWS :], News(at_ms, kind, symbol, text, str(row.get("order_id") or ""))]
        self.wake()

    def wake(self) -> None:
        """Have all panels refreshed soon."""
        # A copy, because panels leave on other threads.
        for panel in list(self._panels):
            panel._on_change()


def _traded(row: Mapping[str, Any], quantity: Decimal | None, price: Decimal | None) -> str:
    """Return what an order or a fill is, in words."""
    verb = "buy" if row["side"].startswith("BUY") else "sell"
    at = f" at {grouped(price)}" if price else ""
    return f"{verb} {trimmed(quantity)} {row['symbol']}{at}"


def _whence(reason: str | None) -> str:
    """Return who cancelled an order that this session did not. The feed as published does not say."""
    by_owner = (reason or "").startswith("cancelled by its owner")
    return "elsewhere" if by_owner else f"by the venue ({reason})" if reason else "elsewhere or by the venue"


def _ms(moment: pd.Timestamp | None) -> int | None:
    """Return a time of a frame in Unix ms, None for none. NaT is not equal to itself."""
    return None if moment is None or moment != moment else int(moment.timestamp() * 1000)
