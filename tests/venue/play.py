"""A core to play with: accounts by name, orders in plain numbers, prices by hand, checks after each command."""

from __future__ import annotations

from typing import Any

from tests.venue.invariants import Watch
from toolkit.venue.engine.commands import Advance, Control, Outcome, Submit
from toolkit.venue.engine.core import Core
from toolkit.venue.model.accounts import Position, VenueAccount
from toolkit.venue.model.genesis import Config, Genesis
from toolkit.venue.model.history import OrderEvent
from toolkit.venue.risk import ledger

BTC, ETH, SOL, XRP = 1, 2, 3, 4
MICRO = 1_000_000


class Play:
    """A watched core without a simulated market. Names are turned into addresses; money is in USDC text or numbers."""

    def __init__(self, *, genesis: dict[str, Any] | None = None, **config: Any) -> None:
        self.core = Core(Genesis(config=Config(**config), **(genesis or {})))
        self.watch = Watch(self.core, history_every=1)
        self.nonce = 0

    @staticmethod
    def address(name: str) -> str:
        return name if name.startswith("0x") else "0x" + name.encode().hex().rjust(40, "0")

    @staticmethod
    def name(address: str) -> str:
        return bytes.fromhex(address[2:]).lstrip(b"\0").decode()

    @property
    def now(self) -> int:
        return self.core.state.time

    def account(self, name: str) -> VenueAccount:
        return self.core.account(self.address(name))

    def position(self, name: str, code: int = BTC) -> Position:
        return self.account(name).positions[code]

    def balance(self, name: str) -> int:
        return self.account(name).balance

    def control(self, name: str, **args: Any) -> Outcome:
        outcome = self.watch.apply(Control(self.now, name, args))
        assert outcome.code == 0, outcome.message
        return outcome

    def fund(self, amount: str | int, *names: str) -> None:
        for name in names:
            self.control("fund", address=self.address(name), amount=str(amount))

    def hedge(self, *names: str) -> None:
        for name in names:
            self.control("set_position_mode", address=self.address(name), mode="HEDGE")

    def oracle(self, price: str | float, code: int = BTC) -> None:
        self.control("set_oracle", product=code, price=str(price))

    def advance(self, span: int) -> None:
        self.watch.apply(Advance(self.now + span))

    def act(self, name: str, /, **action: Any) -> Outcome:
        """Submit an action of a name; `type` and fields as on the wire."""
        self.nonce += 1
        return self.watch.apply(Submit(self.now, action, self.address(name), self.nonce))

    def order(self, name: str, side: str, quantity: Any, price: Any = None, code: int = BTC, **more: Any) -> Outcome:
        """Place an order; without a price it is a market order."""
        item = {
            "symbolCode": code,
            "ordPx": "0" if price is None else str(price),
            "ordQty": str(quantity),
            "ordType": "MARKET" if price is None else "LIMIT",
            "ordSide": side,
            "timeInForce": "IOC" if price is None else "GTC",
            **more,
        }
        return self.act(name, type="placeOrder", orders=[item])

    def placed(self, *args: Any, **more: Any) -> None:
        """Place an order that must be accepted."""
        outcome = self.order(*args, **more)
        assert outcome.code == 0, outcome.message

    def trade(self, buyer: str, seller: str, quantity: Any, price: Any, code: int = BTC) -> None:
        """Let two accounts trade at a price."""
        self.placed(seller, "SELL", quantity, price, code)
        self.placed(buyer, "BUY", quantity, price, code)

    def leverage(self, name: str, leverage: Any, code: int = BTC) -> Outcome:
        return self.act(name, type="setLeverage", symbolCode=code, leverage=str(leverage))

    def isolated(self, name: str, code: int = BTC) -> Outcome:
        return self.act(name, type="setMarginMode", symbolCode=code, marginMode="ISOLATED")

    def withdraw(self, name: str, amount: str) -> Outcome:
        return self.act(name, type="withdraw", destination=self.address("bob"), amount=amount)

    def fills(self, name: str) -> list[OrderEvent]:
        return self.core.state.history.fills_of(self.address(name))

    def kinds(self, name: str) -> list[tuple[str, int]]:
        """Return the ledger of a name as (business type, amount)."""
        return [(entry.kind, entry.amount) for entry in ledger.entries(self.core, self.address(name))]

    def close_books(self) -> None:
        self.core.check()


def quoted() -> Play:
    """Bob buys at 62,400 and sells at 62,500, as much as anybody wants; ann has 10,000 USDC."""
    play = Play()
    play.oracle(62_450)
    play.fund(10_000_000, "bob")
    play.fund(10_000, "ann")
    play.placed("bob", "BUY", "10", 62_400)
    play.placed("bob", "SELL", "10", 62_500)
    return play
