"""Two of everything on one account, at an unkind venue: what each client says is what the venue has.

Two agents, two containers, two notebooks, two runs, or a client and the user's own hand trade in turns, while one
trouble lasts. No client cancels or believes what is not its own. What it can't know yet, it says at the end.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import toolkit
from tests.research.markets import Scripted
from toolkit import Limits
from toolkit.client.io.transport import Retry
from toolkit.client.orders.intents import FINAL
from toolkit.connecting import development_wallet
from toolkit.errors import DataWarning, ToolkitError
from toolkit.research import Results, live
from toolkit.research.context import Context
from toolkit.venue.local import LocalVenue
from toolkit.venue.trouble import (
    CachedAnswer,
    Lag,
    LateAnswer,
    LateMessages,
    Listing,
    LostAnswer,
    LostMessages,
    MissingRows,
    NonceWindow,
    OtherAccount,
    Phase,
    ProxyPage,
    RepeatedMessages,
    RepeatedRows,
    TooManyRequests,
    Trouble,
    TruncatedAnswer,
    WrongTotal,
)
from toolkit.wallet import Wallet

BTC = "BTCUSDC"
OTHER = development_wallet(5).master
HASTY = Retry(attempts=4, base=0.0, cap=0.0)

TROUBLES: dict[str, list[Phase]] = {
    "none": [],
    "fills lag": [Lag(path="/info/trade/page", by="3s")],
    "orders lag": [Lag(path="/info/order/*", by="3s")],
    "all queries lag": [Lag(by="2s")],
    "answers lost": [LostAnswer(share=0.5)],
    "requests lost": [LostAnswer(share=0.5, executed=False)],
    "connections broken": [LostAnswer(share=0.5, ends="disconnect")],
    "answers late": [LateAnswer(share=0.5, by="1m", path="/api/*")],
    "answers cut": [TruncatedAnswer(share=0.5)],
    "gateway times out": [ProxyPage(status=504, executed=True, share=0.5, path="/api/*")],
    "gateway pages": [ProxyPage(status=503, share=0.5)],
    "gateway says 200": [ProxyPage(status=200, share=0.5)],
    "too many requests": [TooManyRequests(share=0.2, body="html")],
    "queries cached": [CachedAnswer(age="3s")],
    "nonces kept few": [NonceWindow(last=3)],
    "nonces near": [NonceWindow(ahead="1s", behind="30s")],
    "rows twice": [RepeatedRows(share=0.5)],
    "rows missing": [MissingRows(share=0.5)],
    "total wrong": [WrongTotal(by=-1)],
    "other account": [OtherAccount(address=OTHER, share=0.5)],
    "symbols swapped": [
        Listing(symbol=BTC, shown_as="ETHUSDC", start="4s"),
        Listing(symbol="ETHUSDC", shown_as=BTC, start="4s"),
    ],
    "delisted": [Listing(symbol=BTC, hidden=True, start="4s")],
    "feed late": [LateMessages(by="3s")],
    "feed silent": [LostMessages()],
    "feed twice": [RepeatedMessages()],
}


UNSEEN = ("none", "nonces kept few", "nonces near", "feed late", "feed silent", "feed twice")
"""Troubles that these clients do not meet: their nonces are near and in order, and they read no feed."""


LEAVING = (
    *("none", "fills lag", "orders lag", "all queries lag", "queries cached", "nonces kept few", "nonces near"),
    *("rows twice", "rows missing", "total wrong", "other account", "symbols swapped", "delisted"),
    *("feed late", "feed silent", "feed twice"),
)
"""Troubles in which each action arrives and is answered: an order is cancelled when its owner says so."""


PAIRS = ("two agents", "two containers", "two notebooks", "own hand")
RUN_PAIRS = ("two runs", "a run and the hand")
RUN_TROUBLES = (
    *("none", "fills lag", "orders lag", "all queries lag", "answers lost", "requests lost", "answers cut"),
    *(
        "gateway times out",
        "too many requests",
        "queries cached",
        "rows missing",
        "total wrong",
        "feed late",
        "feed silent",
    ),
)


def pairs(kinds: Sequence[str], troubles: Iterable[str]) -> list[Any]:
    """Return kinds × troubles: of each trouble one kind in the default run, and the others in the slow one."""
    found = []
    for at, trouble in enumerate(troubles):
        for number, kind in enumerate(kinds):
            marks = [pytest.mark.slow] if (at - number) % len(kinds) else []
            found.append(pytest.param(kind, trouble, marks=marks, id=f"{kind}, {trouble}"))
    return found


class Hand:
    """The user's own hand: orders that come from nowhere that a client knows."""

    def __init__(self, venue: LocalVenue) -> None:
        self.venue, self.account = venue, venue.host.masters[0]
        self.own: list[int] = []
        self.cancelled: set[int] = set()

    def _act(self, **action: Any) -> None:
        assert self.venue.control.act(self.account, action)["code"] == 0

    def order(self, side: str, price: str, tif: str, quantity: str = "0.002") -> None:
        number = 1_000 + len(self.own)
        fields = {"symbolCode": 1, "ordPx": price, "ordQty": quantity, "ordType": "LIMIT", "ordSide": side}
        self._act(type="placeOrder", orders=[{**fields, "timeInForce": tif, "clOrdId": number}])
        self.own.append(number)

    def cancel(self) -> None:
        number = self.own[0]
        self.cancelled.add(number)
        self._act(type="cancelOrder", cancels=[{"symbolCode": "1", "clOrdId": str(number)}])

    def look(self) -> None:
        """A hand claims nothing."""

    def settle(self) -> None:
        """A hand has nothing in doubt."""


class Client(Hand):
    """A client with a ledger. `said` is what it said while the trouble lasted."""

    def __init__(self, venue: LocalVenue, session: toolkit.Session) -> None:
        super().__init__(venue)
        self.session = session
        self.receipts: list[Any] = []
        self.said: list[tuple[str, Any]] = []
        session.product(BTC)

    def order(self, side: str, price: str, tif: str, quantity: str = "0.002") -> None:
        call = self.session.buy if side == "BUY" else self.session.sell
        try:
            with warnings.catch_warnings(action="ignore", category=DataWarning):
                receipt = call(BTC, quantity, price=price, tif=tif)
        except ToolkitError as error:
            receipt = getattr(error, "receipt", None)
        if receipt is not None:
            self.receipts.append(receipt)

    def cancel(self) -> None:
        for receipt in self.receipts[:1]:
            self.cancelled.add(receipt.cl_ord_id)
            with said_otherwise():
                receipt.cancel()

    def look(self) -> None:
        with said_otherwise():
            self.session.products()
        for name, read in (("orders", self.session.orders), ("fills", self.session.fills)):
            with said_otherwise():
                self.said.append((name, read()))
        for receipt in self.receipts:
            with said_otherwise():
                receipt.refresh()
                self.said.append(("receipt", (receipt.cl_ord_id, receipt.filled)))

    def settle(self) -> None:
        self.session.resolve()
        for receipt in self.receipts:
            receipt.refresh()


def said_otherwise() -> contextlib.AbstractContextManager[None]:
    """Take an error or a warning as an answer: who says that an answer can't be trusted claims nothing."""
    return contextlib.suppress(ToolkitError, DataWarning)  # tests raise warnings


def wallets(kind: str) -> tuple[Wallet, Wallet]:
    """Return the keys of both: two agents of one master, or one key for both."""
    one, master = development_wallet(0), development_wallet(0).key("master").reveal()
    other = Wallet(agent=development_wallet(1).key("agent").reveal(), master=master)
    return one, other if kind == "two agents" else one


@contextlib.contextmanager
def both(kind: str, folder: Path) -> Iterator[tuple[LocalVenue, list[Hand]]]:
    """Open a venue with offers on both sides, and two who trade on one account."""
    with contextlib.ExitStack() as stack:
        venue = stack.enter_context(LocalVenue(clock="manual", market=False, accounts=6))
        for side, price in (("BUY", "62400"), ("SELL", "62600")):
            venue.control.add_liquidity(BTC, side, price, "1")

        def client(number: int, wallet: Wallet) -> Client:
            ledger = folder / ("shared" if kind == "two notebooks" else f"own-{number}")
            options: dict[str, Any] = {"intents": ledger, "retry": HASTY, "approve": number == 0}
            made = stack.enter_context(toolkit.connect(venue=venue, wallet=wallet, **options))
            if number and kind == "two agents":
                made.exchange.approve_agent(agent_name="second")
            return Client(venue, made)

        first, second = wallets(kind)
        hands: list[Hand] = [client(0, first)]
        hands.append(Hand(venue) if kind == "own hand" else client(1, second))
        yield venue, hands


def play(venue: LocalVenue, hands: list[Hand]) -> None:
    """Let both trade in turns: they rest, take, look and cancel, each only what is its own."""
    for round_number in range(3):
        for number, hand in enumerate(hands):
            hand.order("BUY", str(60_000 + 100 * number + round_number), "GTC")
            hand.order("SELL" if number else "BUY", "62400" if number else "62600", "IOC", f"0.00{2 + round_number}")
            venue.advance("1s")
            hand.look()
    for hand in hands:
        hand.cancel()
        venue.advance("1s")


@pytest.mark.parametrize(("kind", "trouble"), pairs(PAIRS, TROUBLES))
def test_what_two_say_is_what_the_venue_has(kind: str, trouble: str, tmp_path: Path) -> None:
    with both(kind, tmp_path) as (venue, hands):
        venue.control.set_trouble(Trouble(*TROUBLES[trouble], seed=3))
        play(venue, hands)
        counts = venue.control.trouble_counts()
        venue.control.clear_trouble()
        clients = [hand for hand in hands if isinstance(hand, Client)]
        for span in ("1s", "2m"):  # what can be sent again, and then what has expired
            venue.advance(span)
            for client in clients:
                client.settle()
        with toolkit.connect(venue=venue, account=hands[0].account, intents=tmp_path / "auditor") as auditor:
            check(venue, hands, clients, auditor, trouble in LEAVING)
        if trouble not in UNSEEN:
            assert sum(counts.values()), "the trouble did not happen"


def check(venue: LocalVenue, hands: list[Hand], clients: list[Client], auditor: toolkit.Session, leaving: bool) -> None:
    """Compare what was said with what the venue has."""
    orders, fills = auditor.orders(exact=True), auditor.fills(exact=True)
    done = {(one.signer, one.nonce): one.code for one in venue.host.core.state.history.transactions.records}
    # Nothing was cancelled but what its owner cancelled. An IOC order ends by itself.
    gone = set(orders.loc[(orders["tif"] == "GTC") & (orders["status"] == "CANCELED"), "client_order_id"])
    assert gone <= set().union(*(hand.cancelled for hand in hands))
    filled = {row.client_order_id: row.filled for row in orders.itertuples()}
    fill_ids = set(fills["id"])
    if leaving:
        assert gone == set().union(*(hand.cancelled for hand in hands))
    for client in clients:
        for intent in client.session.intents().itertuples():
            assert intent.state in FINAL, intent
            code = done.get((intent.signer.lower(), intent.nonce))
            assert (intent.state == "ACCEPTED") is (code == 0), (intent, code)
        for receipt in client.receipts:
            assert receipt.filled == filled.get(receipt.cl_ord_id, Decimal(0)), receipt
        for name, said in client.said:
            if name == "receipt":
                assert (said[1] or 0) <= filled.get(said[0], Decimal(0)), said
            elif name == "fills":
                assert not said["id"].duplicated().any()
                assert set(said["id"]) <= fill_ids
            else:
                assert not said["order_id"].duplicated().any()
                assert set(said["client_order_id"]) <= set(orders["client_order_id"])


@pytest.mark.parametrize(("kind", "trouble"), pairs(RUN_PAIRS, RUN_TROUBLES))
def test_a_run_has_its_own_fills_and_leaves_others_alone(
    kind: str, trouble: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sizes tell whose an order is: 0.001 is the first run's, 0.002 that of the other one or of the hand."""
    mine, others = Decimal("0.001"), Decimal("0.002")
    with contextlib.ExitStack() as stack:
        venue = stack.enter_context(LocalVenue(clock="manual", market="calm", accounts=6))
        venue.advance("2m")
        one, two = (stack.enter_context(toolkit.connect(venue=venue, retry=HASTY)) for _ in range(2))

        def other(_: Context) -> Any:
            hand = Hand(venue)
            hand.order("BUY", "50000", "GTC")
            if kind == "a run and the hand":
                hand.order("BUY", "70000", "IOC")
                return None
            script = {0: lambda ctx: ctx.buy(BTC, others)}
            return live(Scripted(script), two, [BTC], duration="2m", run="two", limits=Limits())

        script = {
            0: lambda ctx: ctx.buy(BTC, mine),
            1: other,
            5: lambda ctx: ctx.buy(BTC, mine, price="50001"),
            6: lambda ctx: ctx.sell(BTC, mine),
            7: lambda ctx: ctx.buy(BTC, mine),
        }
        first = Scripted(script)
        venue.control.set_trouble(Trouble(*TROUBLES[trouble], seed=3))
        with warnings.catch_warnings(action="ignore", category=DataWarning):
            ran = live(first, one, [BTC], duration="12m", run="one", limits=Limits())
        venue.control.clear_trouble()
        orders, fills = one.orders(exact=True), one.fills(exact=True)
        resting = orders[orders["tif"] == "GTC"].set_index("quantity")["status"]
        assert resting.get(others, "NEW") == "NEW"
        if resting.get(mine, "CANCELED") != "CANCELED":
            assert f"order {orders.set_index('quantity')['order_id'][mine].iloc[-1]}" in capsys.readouterr().out
        for run, size in ((ran, mine), *((each, others) for each in first.seen if isinstance(each, Results))):
            ids = set(orders.loc[orders["quantity"] == size, "order_id"])
            own = fills[fills["order_id"].isin(ids)]
            assert sorted(run.fills["order_id"]) == sorted(own["order_id"]), run.events
            signed = own["quantity"].where(own["side"] == "BUY", -own["quantity"]).sum()
            assert Decimal(str(run.positions[BTC].iloc[-1])) == signed
