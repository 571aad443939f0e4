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
    from ..trouble import ActiveTrouble, Phase, Trouble
    from .faults import Fault, Faults


ExactAmount = str | int | Decimal
"""A number as exact text, an int or a Decimal, never a float."""

LARGEST_BALANCE = 1_000_000_000
"""Largest initial balance of an account, in USDC. A thousand of them stay within the venue's limit."""


class ControllableVenue(Host, Protocol):
    """The parts of the venue that the controls use."""

    @property
    def faults(self) -> Faults: ...
    @property
    def trouble(self) -> ActiveTrouble: ...
    def state_hash(self) -> str:
        """Return the hash of the whole state, as 64 hex digits."""


@without_keys
class Controls(Suggesting):
    """Interventions into one venue.

    Products are given by symbol or code, amounts are exact (text, int, Decimal).

    Each is a command of the venue: it is journaled, and a revert undoes it. Faults are not commands: they act on
    requests and messages. All raise VenueError when the venue refuses them. They raise InputError, before there is a
    command, for arguments that no command can have. These are a float or a non-number as an amount, and a product that
    is not listed. A text that is not an address, or whose mixed case breaks EIP-55, is another.

    Parameters
    ----------
    venue : ControllableVenue
        The venue that the controls act on.
    """

    def __init__(self, venue: ControllableVenue) -> None:
        self._venue = venue

    def __repr__(self) -> str:
        return f"<Controls of a local venue: {', '.join(name for name in dir(self) if not name.startswith('_'))}>"

    def set_oracle(self, product: str | int, price: ExactAmount, *, hold: bool = True) -> dict[str, Any]:
        """Set oracle and mark price of a product.

        Parameters
        ----------
        product : str or int
            Symbol or code of the product, such as "BTCUSDC" or 1.
        price : str, int or Decimal
            New oracle price in USDC, a multiple of the product's tick.
        hold : bool, optional
            True keeps it until `release_oracle`. Otherwise its source sets it again within 3 s (default: `True`).

        Returns
        -------
        dict
            `oracle` and `mark` after it, as text in USDC.

        Examples
        --------
        >>> session.venue.control.set_oracle("BTCUSDC", "60000")["oracle"]
        '60000.0'
        """
        return self._do("set_oracle", product=self._code(product), price=arguments.amount(price, "price"), hold=hold)

    def release_oracle(self, product: str | int) -> None:
        """Let the oracle price of a product follow its source again.

        Parameters
        ----------
        product : str or int
            Symbol or code of the product, such as "BTCUSDC" or 1.
        """
        self._do("release_oracle", product=self._code(product))

    def script_oracle(
        self,
        product: str | int,
        points: Mapping[Span, ExactAmount] | Iterable[tuple[Span, ExactAmount]],
        *,
        release: bool = False,
    ) -> dict[str, Any]:
        """Move the oracle price of a product through points in time.

        The last price stays. An empty script cancels the running one.

        Parameters
        ----------
        product : str or int
            Symbol or code of the product, such as "BTCUSDC" or 1.
        points : dict or iterable of (str or int, str, int or Decimal)
            Time from now → price in USDC, such as `{"1m": "61000", "2m": "59000"}`, or such pairs.
        release : bool, optional
            True lets the oracle follow its source after the last point (default: `False`).

        Returns
        -------
        dict
            `points`, the number of points.

        Examples
        --------
        >>> session.venue.control.script_oracle("BTCUSDC", {"1m": "61000", "2m": "59000"})
        {'points': 2}
        """
        now = self._venue.now_ms()
        script = [[now + milliseconds(span), arguments.amount(price, "price")] for span, price in _pairs(points)]
        return self._do("script_oracle", product=self._code(product), points=script, release=release)

    def jump(self, product: str | int, percent: ExactAmount) -> dict[str, Any]:
        """Move the price of a product immediately, as news would.

        The simulated market continues from there. Without one the price stays until `release_oracle`.

        Parameters
        ----------
        product : str or int
            Symbol or code of the product, such as "BTCUSDC" or 1.
        percent : str, int or Decimal
            Change in percent, above -100 and at most 1000. "-8" is a fall of 8 %.

        Returns
        -------
        dict
            `oracle` and `mark` after it, as text in USDC.

        Examples
        --------
        >>> session.venue.control.jump("BTCUSDC", "-8")["oracle"]
        '57500.0'
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
        """Place orders of an account with unlimited money.

        Those that cross the book trade.

        Parameters
        ----------
        product : str or int
            The market, BUY or SELL, and base units at each level.
        side : {"BUY", "SELL"}
            Side of the orders.
        price : str, int or Decimal
            Price of the first level in USDC.
        quantity : str, int or Decimal
            Quantity of each level in base units.
        levels : int, optional
            Number of levels, at most 200 (default: 1).
        gap : str, int, Decimal or None, optional
            Distance between levels in USDC, away from the market (default: one tick).

        Returns
        -------
        dict
            `ordIds` of the orders that rest, and `filled`, the quantity that traded immediately.
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
        """Cancel the orders that `add_liquidity` placed in a product.

        Parameters
        ----------
        product : str or int
            Symbol or code of the product, such as "BTCUSDC" or 1.

        Returns
        -------
        dict
            `cancelled`, the number of orders.
        """
        return self._do("remove_liquidity", product=self._code(product))

    def pause(self, product: str | int) -> None:
        """Stop trading in a product.

        Orders are refused, triggers and liquidations wait. Cancels still work.

        Parameters
        ----------
        product : str or int
            Symbol or code of the product, such as "BTCUSDC" or 1.
        """
        self._do("pause", product=self._code(product))

    def resume(self, product: str | int) -> None:
        """Let a paused product trade again.

        Parameters
        ----------
        product : str or int
            Symbol or code of the product, such as "BTCUSDC" or 1.
        """
        self._do("resume", product=self._code(product))

    def open_recorded(self, products: Sequence[str | int], queue: str = "risk-averse") -> None:
        """Begin a recorded market for `play_recorded`.

        Parameters
        ----------
        products : list of str or int
            Symbols or codes of the recorded products. The other ones keep their market.
        queue : str, optional
            Queue model of users' orders: "risk-averse", "power:N" or "log" (default: "risk-averse").
        """
        codes = [self._code(one) for one in products] if isinstance(products, list | tuple) else products
        self._do("open_recorded", products=codes, queue=queue)

    def play_recorded(self, product: str | int, changes: Sequence[Sequence[int]], whole: bool = False) -> None:
        """Apply changes of the recorded market of a product, in order.

        `LocalVenue(replay=…)` does this from a recording.

        Parameters
        ----------
        product : str or int
            Symbol or code of the product, such as "BTCUSDC" or 1.
        changes : sequence of (int, int, int, int)
            Kind, side (+1 or −1), price in ticks, steps. Kind 0 is a level's new total, 1 a trade (side of the taker),
            2 a mark price, 3 an index price.
        whole : bool, optional
            True says that the levels are the whole book, so all other recorded levels are gone (default: `False`).
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
        """Give an account without positions those of another venue, without fees.

        `connect("local", follow=…, fork=…)` does this.

        Parameters
        ----------
        address : str
            Account, `0x` and 40 hex digits.
        balance : int
            Cash in micro-USDC.
        positions : sequence of sequences of 7 int
            Product code, side (+1 or −1), steps, entry value, leverage, 1 if isolated, assigned margin. Amounts are in
            micro-USDC, leverage is in hundredths.
        leverages : sequence of (int, int), optional
            Product code and leverage in hundredths, of other products (default: none).
        hedge : bool, optional
            True sets hedge mode (default: `False`).
        """
        account = arguments.address(address)
        self._do(
            "copy_account", address=account, balance=balance, positions=positions, leverages=leverages, hedge=hedge
        )

    def copy_orders(self, address: str, orders: Sequence[Mapping[str, Any]]) -> list[str]:
        """Place orders of a followed venue for an account.

        Parameters
        ----------
        address : str
            Account, `0x` and 40 hex digits.
        orders : sequence of dict
            Items as on the wire, with `ordId`, the order's id there, which a `parentOrdId` refers to.

        Returns
        -------
        list of str
            Why each order could not be placed, "" if it was.
        """
        refusals: list[str] = self._do("copy_orders", address=arguments.address(address), orders=orders)["refusals"]
        return refusals

    def fund(self, address: str, amount: ExactAmount) -> dict[str, Any]:
        """Deposit USDC into an account, which is opened when it is new.

        Parameters
        ----------
        address : str
            Account, `0x` and 40 hex digits.
        amount : str, int or Decimal
            USDC above 0, at most 6 decimals.

        Returns
        -------
        dict
            `address` and the new `balance` in USDC.

        Examples
        --------
        >>> session.venue.control.fund(session.account, "100")["balance"]
        '10100'
        """
        return self._do("fund", address=arguments.address(address), amount=arguments.amount(amount, "amount"))

    def act(self, address: str, action: Mapping[str, Any]) -> dict[str, Any]:
        """Execute an action as an account, unsigned.

        An action that the rules refuse does not raise.

        Parameters
        ----------
        address : str
            Account, `0x` and 40 hex digits.
        action : dict
            The action in wire names, such as `{"type": "cancelAll", "symbolCode": 1}`.

        Returns
        -------
        dict
            `code`, `message` and the answer's data.

        Examples
        --------
        >>> session.venue.control.act(session.account, {"type": "cancelAll", "symbolCode": 1})["code"]
        0
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
        """Let no price change and no participant act before a time.

        All else that is due happens.

        Parameters
        ----------
        until : int
            The time, Unix ms.
        """
        self._do("stand_still", until=until)

    def set_position_mode(self, address: str, mode: str) -> dict[str, Any]:
        """Switch an account to another position mode.

        It is refused while the account has positions or orders.

        Parameters
        ----------
        address : str
            Account, `0x` and 40 hex digits.
        mode : {"ONE_WAY", "HEDGE"}
            The new mode.

        Returns
        -------
        dict
            `address` and `mode`.
        """
        return self._do("set_position_mode", address=arguments.address(address), mode=mode)

    def disable(self, action: str) -> None:
        """Disable a type of action: requests are answered with code 40280.

        Parameters
        ----------
        action : str
            Type of the action, such as "placeOrder".
        """
        self._do("disable", action=action)

    def enable(self, action: str) -> None:
        """Enable a type of action again, or open an optional one.

        An optional one (usdSend) is closed at the beginning.

        Parameters
        ----------
        action : str
            Type of the action, such as "placeOrder".
        """
        self._do("enable", action=action)

    def member(self, address: str) -> None:
        """Add an account to the class of this venue, or count from now what it gains from the others.

        Parameters
        ----------
        address : str
            Account, `0x` and 40 hex digits.
        """
        self._do("member", address=arguments.address(address))

    def apart(self, span: Span = "1s") -> None:
        """Let orders of the members of a class meet only after one of them rested, so that the market can answer first.

        Parameters
        ----------
        span : str or int, optional
            How long, such as "1s", or in ms (default: "1s").
        """
        self._do("apart", span=milliseconds(span))

    def ban(self, address: str) -> None:
        """Ban an account and its agents: their actions are answered with code 40281.

        Parameters
        ----------
        address : str
            Account, `0x` and 40 hex digits.
        """
        self._do("ban", address=arguments.address(address))

    def unban(self, address: str) -> None:
        """Lift the ban of an account.

        Parameters
        ----------
        address : str
            Account, `0x` and 40 hex digits.
        """
        self._do("unban", address=arguments.address(address))

    def close_location(self, peer: str = "") -> None:
        """Answer all requests and queries of an address with code 40006.

        Parameters
        ----------
        peer : str, optional
            IP address of the caller (default: "", every caller).
        """
        self._do("close_location", peer=peer)

    def open_location(self, peer: str = "") -> None:
        """Answer the requests of a closed address again.

        Parameters
        ----------
        peer : str, optional
            IP address of the caller (default: "", which was closed for every caller).
        """
        self._do("open_location", peer=peer)

    def limit(self, action: str, count: int, span: Span = "1s") -> None:
        """Limit requests: those beyond the limit are answered with code 40220.

        Parameters
        ----------
        action : str
            Type of the action, counted for each account. "info" means all queries together, counted for each peer. An
            empty text means every action that has no separate limit.
        count : int
            Largest number of requests in the span.
        span : str or int, optional
            Length of the window, such as "1s", or in ms (default: "1s").
        """
        self._do("limit", action=action, count=count, span=milliseconds(span))

    def unlimit(self, action: str) -> None:
        """Lift a limit.

        Parameters
        ----------
        action : str
            Type of the action, "info" or "".
        """
        self._do("unlimit", action=action)

    def market(
        self,
        regime: str,
        product: str | int | None = None,
        *,
        after: Span = "0s",
        lasting: Span | None = None,
    ) -> None:
        """Set the regime of the simulated market.

        Parameters
        ----------
        regime : {"calm", "usual", "stressed"}
            The new regime.
        product : str, int or None, optional
            Symbol or code of the product (default: all products).
        after : str or int, optional
            Span from now to its beginning, such as "5m", or in ms (default: "0s").
        lasting : str, int or None, optional
            Span after which the market is usual again (default: it stays).
        """
        code = 0 if product is None else self._code(product)
        spans = milliseconds(after, "after"), 0 if lasting is None else milliseconds(lasting, "lasting")
        self._do("market", regime=Market.named(regime).regime, product=code, after=spans[0], lasting=spans[1])

    def calm(self) -> None:
        """End every emergency, limit and pause."""
        self._do("calm")

    def add_fault(self, text: str, **settings: object) -> Fault:
        """Arm a fault.

        Kinds and settings are those of `faults`. `.remove()` or the end of a `with` block disarms it.

        Parameters
        ----------
        text : str
            Kind of the fault, such as "lose-answer". It may have the settings too: "lose-answer after=2".
        **settings : object
            Settings by name, such as `action="placeOrder"`.

        Returns
        -------
        Fault
            The armed fault.

        Examples
        --------
        >>> session.venue.control.add_fault("lose-answer", action="placeOrder", after=2)
        <Fault lose-answer action=placeOrder after=2, struck 0>
        """
        return self._venue.faults.add(text, **settings)

    def clear_faults(self) -> None:
        """Disarm all faults.

        A late request still arrives at its time. Frozen messages arrive now.
        """
        self._venue.faults.clear()

    def set_trouble(self, trouble: Trouble | Mapping[str, Any] | Sequence[Phase | Mapping[str, Any]]) -> list[str]:
        """Replace the troubles of the venue. Their phases begin to count now.

        Parameters
        ----------
        trouble : Trouble, mapping or sequence
            A `toolkit.venue.trouble.Trouble`, what a file of troubles holds, or a list of troubles. Over HTTP it is
            what `Trouble.as_json` returns.

        Returns
        -------
        list of str
            Names under which they are counted.

        Examples
        --------
        >>> session.venue.control.set_trouble([{"kind": "Lag", "path": "/info/trade/page", "by": "3s"}])
        ['Lag']
        >>> session.venue.control.clear_trouble()
        """
        if isinstance(trouble, str):  # the path of a file here, which a caller of a served venue must not name
            raise InputError(f"trouble is {trouble!r}. Give Trouble.load(path)", field="trouble", rule="no path")
        return self._venue.trouble.set(trouble)

    def clear_trouble(self) -> None:
        """End all troubles. Late messages of the feed arrive now."""
        self._venue.trouble.clear()

    def trouble_counts(self) -> dict[str, int]:
        """Return how often each trouble was applied, by name.

        Returns
        -------
        dict of str to int
            Name → number of requests, rows or messages.
        """
        return self._venue.trouble.counts()

    def state_hash(self) -> str:
        """Return the hash of the whole state, as 64 hex digits.

        The same seed, commands and times give the same hash.
        """
        return self._venue.state_hash()

    def _do(self, name: str, /, **args: object) -> dict[str, Any]:
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
    """Return the commands that fund the first masters of a mnemonic.

    Parameters
    ----------
    time_ms : int
        Time of the commands, Unix ms.
    accounts : int
        Number of masters.
    balance : str, int or Decimal
        USDC for each, above 0, at most 6 decimals.
    mnemonic : str
        Words that the masters' keys are derived from.

    Raises
    ------
    InputError
        If a number is out of its bounds.
    """
    if not 0 <= accounts <= development.MOST:
        raise InputError(f"accounts must be 0 to {development.MOST}, not {accounts}", field="accounts", value=accounts)
    amount = arguments.positive(balance, "balance")
    exact = Decimal(amount)
    if exact != exact.quantize(Decimal("0.000001")) or exact > LARGEST_BALANCE:
        text = f"balance {amount} must have at most 6 decimals and be at most {LARGEST_BALANCE}"
        raise InputError(text, field="balance", rule="6 decimals", value=balance)
    masters = development.masters(accounts, mnemonic)
    return [Control(time_ms, "fund", {"address": each.address.lower(), "amount": amount}) for each in masters]


def _pairs(
    points: Mapping[Span, ExactAmount] | Iterable[tuple[Span, ExactAmount]],
) -> list[tuple[Span, ExactAmount]]:
    try:
        return [(span, price) for span, price in (points.items() if isinstance(points, Mapping) else points)]
    except (TypeError, ValueError):
        text = 'points must be (time from now, price) each, such as {"1m": "61000", "2m": "59000"}'
        raise InputError(text, field="points", rule="pairs", value=points) from None


def what_if(core: Core, address: str, code: int, shock: Decimal) -> list[dict[str, Any]]:
    """Return an account's figures at the present mark of a product, and with the mark moved by a ratio.

    Nothing changes.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    address : str
        Account, `0x` and 40 hex digits.
    code : int
        Code of the product.
    shock : Decimal
        Ratio above −1. -0.2 is a fall of 20 %.

    Returns
    -------
    list of dict
        Two rows: mark and liquidation price and amounts in USDC, sizes in base units, margin ratio (1 is 100 %).

    Raises
    ------
    InputError
        For a ratio of −1 or less.
    """
    if not shock.is_finite() or shock <= -1:
        text = f"a shock of {shock} leaves no price. Give a ratio above -1, such as -0.2 for a fall of 20 %"
        raise InputError(text, field="shock", rule="above -1", value=str(shock))
    account, market = core.account(address), core.state.markets[code]
    present = market.mark
    rows = [_figures(core, account, code)]
    try:
        # The mark is moved and moved back. The caller holds the venue's lock, so no other reader sees it.
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
