"""`venue.control`: interventions into a venue as methods. `served.routes` offers them over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from ...errors import InputError
from ...guards import without_keys
from ...numerals import Span, milliseconds
from ...products import MICRO
from ...suggestions import Suggesting
from ...venue import development
from ..api.gateway import Host
from ..engine import arguments
from ..engine.commands import Control
from ..engine.core import Core
from ..model.accounts import VenueAccount
from ..model.constants import ISOLATED, RATE
from ..model.market import Market
from ..risk import account_margin

if TYPE_CHECKING:
    from .faults import Fault, Faults


ExactAmount = str | int | Decimal
"""A number as exact text, an int or a Decimal, never a float."""

LARGEST_BALANCE = 1_000_000_000
"""Largest initial balance of an account, in USDC. A thousand of them stay within the venue's limit."""


class ControllableVenue(Host, Protocol):
    """The parts of the venue that the controls use."""

    @property
    def faults(self) -> Faults: ...
    def state_hash(self) -> str: ...


@without_keys
class Controls(Suggesting):
    """Interventions into one `venue`. Products are given by symbol or code, amounts are exact (text, int, Decimal).

    Each is a command of the venue: it is journaled, and a revert undoes it. Faults are not commands: they act on
    requests and messages. All raise VenueError when the venue refuses them. They raise InputError, before there is a
    command, for arguments that no command can have. These are a float or a non-number as an amount, a text that is not
    an address (or whose mixed case breaks EIP-55), and a product that is not listed.
    """

    def __init__(self, venue: ControllableVenue) -> None:
        self._venue = venue

    def __repr__(self) -> str:
        return f"<Controls of a local venue: {', '.join(name for name in dir(self) if not name.startswith('_'))}>"

    def set_oracle(self, product: str | int, price: ExactAmount, *, hold: bool = True) -> dict[str, Any]:
        """Set oracle and mark price of `product` to `price` (USDC). With `hold` it stays until `release_oracle`."""
        return self._do("set_oracle", product=self._code(product), price=arguments.amount(price, "price"), hold=hold)

    def release_oracle(self, product: str | int) -> None:
        """Let the oracle price of `product` follow its source again."""
        self._do("release_oracle", product=self._code(product))

    def script_oracle(
        self,
        product: str | int,
        points: Mapping[Span, ExactAmount] | Iterable[tuple[Span, ExactAmount]],
        *,
        release: bool = False,
    ) -> dict[str, Any]:
        """Move the oracle price of `product` through `points` (time from now, USDC): `{"1m": "61000", "2m": "59000"}`.

        The last price stays. With `release` the oracle follows its source again. An empty script cancels the running
        one.
        """
        now = self._venue.now_ms()
        script = [[now + milliseconds(span), arguments.amount(price, "price")] for span, price in _pairs(points)]
        return self._do("script_oracle", product=self._code(product), points=script, release=release)

    def jump(self, product: str | int, percent: ExactAmount) -> dict[str, Any]:
        """Move the price of `product` immediately by `percent` ("-8"), as news would. Returns oracle and mark.

        The simulated market continues from there. Without one the price stays until `release_oracle`.
        """
        return self._do("jump", product=self._code(product), percent=arguments.amount(percent, "percent"))

    def add_liquidity(
        self,
        product: str | int,
        side: str,
        price: ExactAmount,
        quantity: ExactAmount,
        *,
        levels: int = 1,
        gap: ExactAmount | None = None,
    ) -> dict[str, Any]:
        """Place orders of an account with unlimited money. Those that cross the book trade.

        product, side, quantity: the market, BUY or SELL, and base units at each level.
        price, levels: USDC of the first level, and how many there are (default: 1).
        gap: USDC from one level to the next, away from the market (default: one tick).

        Returns the ordIds that rest, and the filled quantity.
        """
        return self._do(
            "add_liquidity",
            product=self._code(product),
            side=side,
            price=arguments.amount(price, "price"),
            quantity=arguments.amount(quantity, "quantity"),
            levels=levels,
            gap="" if gap is None else arguments.amount(gap, "gap"),
        )

    def remove_liquidity(self, product: str | int) -> dict[str, Any]:
        """Cancel the orders that `add_liquidity` placed in `product`."""
        return self._do("remove_liquidity", product=self._code(product))

    def pause(self, product: str | int) -> None:
        """Stop trading in `product`: orders are refused, triggers and liquidations wait. Cancels still work."""
        self._do("pause", product=self._code(product))

    def resume(self, product: str | int) -> None:
        """Let the paused `product` trade again."""
        self._do("resume", product=self._code(product))

    def open_recorded(self, products: Sequence[str | int], queue: str = "risk-averse") -> None:
        """Begin a recorded market of `products` for `play_recorded`. `queue` is the queue model of users' orders."""
        codes = [self._code(one) for one in products] if isinstance(products, list | tuple) else products
        self._do("open_recorded", products=codes, queue=queue)

    def play_recorded(self, product: str | int, changes: Sequence[Sequence[int]], whole: bool = False) -> None:
        """Apply `changes` of the recorded market of `product` in order: (kind, side +1 or −1, price in ticks, steps).

        Kind 0 is a level's new total, 1 a trade (side of the taker), 2 a mark price and 3 an index price. With `whole`
        the levels are the whole book. `LocalVenue(replay=…)` does this from a recording.
        """
        self._do("play_recorded", product=self._code(product), changes=changes, whole=whole)

    def copy_account(
        self,
        address: str,
        balance: int,
        positions: Sequence[Sequence[int]],
        leverages: Sequence[Sequence[int]] = (),
        hedge: bool = False,
    ) -> None:
        """Give the account `address`, which has no positions, those of another venue, without fees.

        Amounts, such as `balance`, are in micro-USDC. Each of `positions` is (product code, side +1 or −1, steps, entry
        value, leverage in hundredths, 1 if isolated, margin assigned). `leverages` are (product code, leverage in
        hundredths) of other products. `hedge` sets hedge mode. `connect("local", follow=…, fork=…)` does this.
        """
        account = arguments.address(address)
        self._do(
            "copy_account", address=account, balance=balance, positions=positions, leverages=leverages, hedge=hedge
        )

    def copy_orders(self, address: str, orders: Sequence[Mapping[str, Any]]) -> list[str]:
        """Place `orders` of a followed venue for the account `address`. Return why each failed, "" if it was placed.

        An order is an item as on the wire, with `ordId`, its id there, which a `parentOrdId` refers to.
        """
        refusals: list[str] = self._do("copy_orders", address=arguments.address(address), orders=orders)["refusals"]
        return refusals

    def fund(self, address: str, amount: ExactAmount) -> dict[str, Any]:
        """Deposit `amount` USDC (above 0, at most 6 decimals) into the account `address`, opening it when it is new."""
        return self._do("fund", address=arguments.address(address), amount=arguments.amount(amount, "amount"))

    def act(self, address: str, action: Mapping[str, Any]) -> dict[str, Any]:
        """Execute an `action` in wire names, `{"type": "placeOrder", …}`, as the account `address`, unsigned.

        Returns code, message and the answer's data. An action that the rules refuse does not raise.
        """
        if not isinstance(action, Mapping):
            raise InputError(
                f"action is of type {type(action).__name__}. Give a dictionary, such as "
                '{"type": "cancelAll", "symbolCode": 1}',
                field="action",
                rule="object",
                value=action,
            )
        return self._do("act", address=arguments.address(address), action=dict(action))

    def stand_still(self, until: int) -> None:
        """Let no price change and no participant act before `until` (Unix ms). All else that is due happens."""
        self._do("stand_still", until=until)

    def set_position_mode(self, address: str, mode: str) -> dict[str, Any]:
        """Switch the account `address` to the `mode` ONE_WAY or HEDGE. Refused while it has positions or orders."""
        return self._do("set_position_mode", address=arguments.address(address), mode=mode)

    def disable(self, action: str) -> None:
        """Disable the type `action`: it is answered 40280."""
        self._do("disable", action=action)

    def enable(self, action: str) -> None:
        """Enable the type `action` again, or open an optional one (usdSend), which is closed at the beginning."""
        self._do("enable", action=action)

    def ban(self, address: str) -> None:
        """Ban the account `address` and its agents: their actions are answered 40281."""
        self._do("ban", address=arguments.address(address))

    def unban(self, address: str) -> None:
        """Lift the ban of the account `address`."""
        self._do("unban", address=arguments.address(address))

    def close_location(self, peer: str = "") -> None:
        """Answer 40006 to all requests and queries of the address `peer`, or of every peer (default)."""
        self._do("close_location", peer=peer)

    def open_location(self, peer: str = "") -> None:
        """Answer the closed location `peer` again (default: all)."""
        self._do("open_location", peer=peer)

    def limit(self, action: str, count: int, span: Span = "1s") -> None:
        """Answer 40220 after `count` requests of an action in `span`, counted for each account.

        `action` "info" means all queries together, counted for each peer. "" means every action that has no separate
        limit.
        """
        self._do("limit", action=action, count=count, span=milliseconds(span))

    def unlimit(self, action: str) -> None:
        """Lift the limit of the type `action`."""
        self._do("unlimit", action=action)

    def market(
        self,
        regime: str,
        product: str | int | None = None,
        *,
        after: Span = "0s",
        lasting: Span | None = None,
    ) -> None:
        """Set the `regime` of the simulated market, "calm", "usual" or "stressed", of `product` (default: all).

        It begins `after` a span from now and stays, or lasts for the span `lasting`. Then the market is usual again.
        """
        code = 0 if product is None else self._code(product)
        spans = milliseconds(after, "after"), 0 if lasting is None else milliseconds(lasting, "lasting")
        self._do("market", regime=Market.named(regime).regime, product=code, after=spans[0], lasting=spans[1])

    def calm(self) -> None:
        """End every emergency, limit and pause."""
        self._do("calm")

    def add_fault(self, text: str, **settings: Any) -> Fault:
        """Arm a fault by its kind `text` and `**settings`: `add_fault("lose-answer", action="placeOrder")`.

        The text may have the settings too. Returns the fault. `.remove()` or the end of a `with` block disarms it.
        Kinds and settings are those of `faults`.
        """
        return self._venue.faults.add(text, **settings)

    def clear_faults(self) -> None:
        """Disarm all faults. A late request still arrives at its time. Frozen messages arrive now."""
        self._venue.faults.clear()

    def state_hash(self) -> str:
        """Return the hash of the whole state, 64 hex digits. The same seed, commands and times give the same hash."""
        return self._venue.state_hash()

    def _do(self, name: str, /, **args: Any) -> dict[str, Any]:
        return self._venue.apply_control(name, **args)

    def _code(self, product: str | int) -> int:
        if isinstance(product, int) and not isinstance(product, bool):
            return product
        products = self._venue.core.products.values()
        for listed in products:
            if product in (listed.symbol, str(listed.code)):
                return listed.code
        symbols = tuple(listed.symbol for listed in products)
        text = f"product {product!r} is not listed. There are {', '.join(symbols)}"
        raise InputError(text, field="product", value=product, nearest=symbols)


def funding(time_ms: int, accounts: int, balance: ExactAmount, mnemonic: str) -> list[Control]:
    """Return the commands that fund the first `accounts` masters of a mnemonic. Raises InputError for wrong numbers."""
    if not 0 <= accounts <= development.MOST:
        raise InputError(f"accounts must be 0 to {development.MOST}, not {accounts}", field="accounts", value=accounts)
    amount = arguments.positive(balance, "balance")
    exact = Decimal(amount)
    if exact != exact.quantize(Decimal("0.000001")) or exact > LARGEST_BALANCE:
        text = f"balance {amount} must have at most 6 decimals and be at most {LARGEST_BALANCE}"
        raise InputError(text, field="balance", rule="6 decimals", value=balance)
    masters = development.masters(accounts, mnemonic)
    return [Control(time_ms, "fund", {"address": each.address.lower(), "amount": amount}) for each in masters]


def _pairs(points: Any) -> list[tuple[Span, ExactAmount]]:
    try:
        return [(span, price) for span, price in (points.items() if isinstance(points, Mapping) else points)]
    except (TypeError, ValueError):
        text = 'points must be (time from now, price) each, such as {"1m": "61000", "2m": "59000"}'
        raise InputError(text, field="points", rule="pairs", value=points) from None


def what_if(core: Core, address: str, code: int, shock: Decimal) -> list[dict[str, Any]]:
    """Return an account's figures at the present mark of a product, and with the mark moved by a ratio.

    Nothing changes. Raises InputError for a ratio of −1 or less.
    """
    if not shock.is_finite() or shock <= -1:
        text = f"a shock of {shock} leaves no price. Give a ratio above -1, such as -0.2 for a fall of 20 %"
        raise InputError(text, field="shock", rule="above -1", value=str(shock))
    account, market = core.account(address), core.state.markets[code]
    present = market.mark
    rows = [_figures(core, account, code)]
    try:
        market.mark = max(1, round(present * (1 + shock)))
        rows.append(_figures(core, account, code))
    finally:
        market.mark = present
    return rows


def _figures(core: Core, account: VenueAccount, code: int) -> dict[str, Any]:
    position, product = account.positions.get(code), core.products[code]
    wallet = account_margin.wallet(core, account)
    figures = account_margin.cross_margin(core, account)
    size = pnl = 0
    if position is not None:
        size = position.long.size - position.short.size
        pnl = account_margin.unrealized(position, account_margin.mark_step(core, code))
        if position.mode == ISOLATED:
            figures = account_margin.isolated_margin(core, position)
    price = account_margin.liquidation_price(core, account, code) if size else None
    return {
        "mark_price": float(product.tick_size * core.state.markets[code].mark),
        "position": float(product.step_size * size),
        "unrealized_pnl": pnl / MICRO,
        "equity": wallet.equity / MICRO,
        "available": wallet.available / MICRO,
        "initial_margin": figures.initial / MICRO,
        "maintenance_margin": figures.maintenance / MICRO,
        "margin_ratio": float("inf") if figures.ratio is None else figures.ratio / RATE,
        "liquidation_price": float("nan") if price is None else float(price),
        "liquidated": figures.unhealthy,
    }
