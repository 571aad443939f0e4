"""Closes positions: as the venue shows them, and where its other answers contradict that, whatever there may be.

    list of positions ──→ orders of these sizes ──→ look again ──→ still there, refused, or hidden? ──→ sweep

A sweep sends orders of the largest size on both sides, which only reduce. The venue takes of them what there is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from ...errors import ActionRejected, CheckFailed, ExchangeError, InputError, TransportError, warn
from ...orders import close_position
from ...products import Amount
from ...protocol.reads.info.accounts import WALLET_BALANCES
from ...protocol.reads.info.positions import POSITIONS, Position
from ..account.account_book import in_words
from ..account.by_orders import by_all_orders
from ..io.flow import Flow, exit_flow, within
from ..orders.delivery import Delivery
from ..orders.receipts import Receipt
from ..reads.catalogue import BINDING, Catalogue
from ..reads.reading import is_hedged, read_in_part

if TYPE_CHECKING:
    from ..orders.order_calls import OrderCalls

READ_SECONDS, LOOK_SECONDS = 15.0, 5.0
"""How long the positions to close are waited for before they are closed unread, and how long each further witness."""
PARTS = 100
"""Most orders of one size and side in one request."""
LARGEST = Decimal(1_000_000_000)
"""Size of the first orders of a sweep where no largest order is known."""
SMALLEST = Decimal("1e-8")
"""Size below which no smaller one is tried where no step size is known."""
TRIES, UNTOLD = 30, 3
"""Most requests of a sweep, and most of whose orders the fills are not told."""
CENT = Decimal("0.01")
Leg = tuple[int, str]
"""Code of a product, and LONG or SHORT."""
Held = Mapping[Leg, tuple[Decimal, Position]]
"""Size and row of each leg that the list of positions shows."""


class Closing:
    """Reads and closes the positions of an account or a vault.

    Parameters
    ----------
    session : object
        Session that signs.
    vault : str or None
        Address of the vault whose positions are meant, None for the account.
    owner : str
        Address of the account or the vault.
    """

    def __init__(self, session: Any, vault: str | None, owner: str) -> None:
        self._session = session
        self._delivery: Delivery = session._delivery
        self._calls: OrderCalls = session._calls
        self._catalogue: Catalogue = session._catalogue
        self._vault = vault
        self._owner = owner

    def held(self, code: int | None, seconds: float) -> Flow[tuple[dict[Leg, tuple[Decimal, Position]], str]]:
        """Return size and row of each leg that the list of positions shows, and why others can't be read.

        Parameters
        ----------
        code : int or None
            Code of the product, None for all.
        seconds : float
            Longest time, in seconds.
        """
        asked = {} if code is None else {"symbol": str(code)}
        # A row of somebody else, or a damaged one, must not stand in the way of a smaller position.
        reading = read_in_part(POSITIONS, self._delivery.retry, account=self._owner, **asked)
        rows, why = yield from within(reading, seconds)
        legs = [(row, "LONG", row.long_size) for row in rows] + [(row, "SHORT", abs(row.short_size)) for row in rows]
        return {(int(row.symbol), side): (size, row) for row, side, size in legs if size}, why

    def doubt(
        self, held: Held, code: int | None = None, resting: bool | None = None, old: Collection[str] = ()
    ) -> Flow[str]:
        """Return why there may be other positions than the list shows, "" where no other witness says so.

        Parameters
        ----------
        held : mapping
            What the list shows.
        code : int or None, optional
            Code of the product that was looked for (default: None, all).
        resting : bool or None, optional
            Whether orders are open, which take margin too (default: None, that is read).
        old : collection of str, optional
            Symbols of products of which the list is known to be old (default: none).
        """
        retry, shown = self._delivery.retry, dict[int, tuple[Decimal, Decimal]]()
        for each, _ in held:
            longs, shorts = (held.get((each, side), (Decimal(0),))[0] for side in ("LONG", "SHORT"))
            shown[each] = longs, shorts
        hedge = any(is_hedged(row) for _, row in held.values())
        try:
            listed = by_all_orders(self._catalogue, retry, self._owner, code, shown, hedge)
            book = yield from within(listed, LOOK_SECONDS)
            differ = []
            for symbol, one in book.account.items():
                if book.difference(symbol) != (0, 0) and symbol not in old:
                    there, counted = (
                        in_words(one.step_size, at) for at in (book.shown(symbol), (one.longs, one.shorts))
                    )
                    differ.append(f"{symbol}: the list shows {there}, orders and fills {counted}")
            if differ:
                return "; ".join(differ)
            # Of one product these tell. The margin may be that of another one, or of a position that is shown.
            if held or (code is not None and (book.account or (yield from self.held(None, LOOK_SECONDS))[0])):
                return ""
            rows, _ = yield from within(read_in_part(WALLET_BALANCES, retry, account=self._owner), LOOK_SECONDS)
            known = [(row.equity, row.available, row.balance) for row in rows if row.equity is not None]
            if apart := sum((equity - balance for equity, _, balance in known), Decimal(0)):
                return f"none is shown, and the equity is {apart:+f} USDC off the balance"
            used = sum((equity - free for equity, free, _ in known if free is not None), Decimal(0))
            if used > CENT and resting is None:
                opened = self._calls.reader.open_orders(self._owner, in_part=True)
                resting = bool((yield from within(opened, LOOK_SECONDS)))
            return f"none is shown, and {used:f} USDC of margin are in use" if used > CENT and not resting else ""
        except (TransportError, ExchangeError):
            return ""

    def close(self, code: int, sizes: Sequence[Decimal], hedge: bool, **options: Any) -> Flow[list[Receipt]]:
        """Close a position of known sizes with orders no larger than the largest one, and sweep where all are refused.

        Parameters
        ----------
        code : int
            Code of the product.
        sizes : sequence of Decimal
            Sizes of the legs, negative for a short.
        hedge : bool
            Whether they are legs of hedge mode.
        **options : object
            Price, slippage and time in force.

        Raises
        ------
        ActionRejected
            Where the venue refuses to reduce anything.
        """
        last = (yield from self._catalogue.exit(code)).last
        most = None if last is None else last.max_order_quantity
        orders = [close_position(code, part, hedge=hedge, **options) for size in sizes for part in _parts(size, most)]
        try:
            return [(yield from self._session._place(orders, vault_address=self._vault, hedge=False))]
        except (ActionRejected, CheckFailed) as error:
            made = _taken(error)
            if made is not None and len(orders) > len(sizes):
                return [made]  # the first parts may have closed all of it
            if made is not None or (isinstance(error, CheckFailed) and not _is_of_size(error)):
                raise
            try:  # its size or its side may be wrong
                return (yield from self.sweep(code, max(map(abs, sizes)), **options))
            except ActionRejected:
                raise error from None

    def sweep(self, code: int, least: Decimal = SMALLEST, **options: Any) -> Flow[list[Receipt]]:
        """Close what there is in a product: the venue takes of the largest orders what reduces, and refuses the rest.

        Parameters
        ----------
        code : int
            Code of the product.
        least : Decimal, optional
            Size that the first orders have at least (default: the largest order's).
        **options : object
            Price, slippage and time in force.

        Raises
        ------
        ActionRejected
            Where the venue refuses to reduce anything.
        """
        last = (yield from self._catalogue.exit(code)).last
        step = SMALLEST if last is None else last.step_size
        most = None if last is None else last.max_order_quantity
        size = LARGEST if most is None else max(most, least)
        size = LARGEST if size < step else size  # a largest order of less than a step can't be
        legs = [(hedge, sign) for hedge in (False, True) for sign in (1, -1)]
        receipts, count, fits, untold = list[Receipt](), 1, False, 0
        for _ in range(TRIES):
            made = yield from self._reduce(code, legs * count, size, options)
            if isinstance(made, ActionRejected):
                if fits:
                    break  # nothing is left
                if last is not None and not receipts:
                    # Where the smallest order is refused as well, its size was not the reason.
                    probe = yield from self._reduce(code, legs, step, options)
                    if isinstance(probe, ActionRejected):
                        raise probe
                    receipts.append(probe)
                size /= 10
                if size < step:
                    break
                continue
            receipts.append(made)
            sent = [
                (leg, each) for leg, each in zip(legs * count, made.orders, strict=True) if each.results[0].accepted
            ]
            legs = list(dict.fromkeys(leg for leg, _ in sent)) or legs
            fits, count = True, min(2 * count, PARTS)
            # A limit order waits. Of one at market whose fill is not known, the next request shows what is left.
            filled = [each.filled for _, each in sent if each.rows]
            if options.get("price") is not None or (made.rows and size not in filled):
                break
            untold += not filled
            if untold == UNTOLD:  # this venue tells no fills, and so nothing of what is left
                break
        if not receipts and isinstance(made, ActionRejected):
            raise made
        return receipts

    def _reduce(
        self, code: int, legs: Sequence[tuple[bool, int]], size: Decimal, options: dict[str, Any]
    ) -> Flow[Receipt | ActionRejected]:
        """Send reduce-only orders of one size, one for each leg. Return the receipt, or the refusal of all."""
        orders = [close_position(code, sign * size, hedge=hedge, **options) for hedge, sign in legs]
        try:
            made: Receipt = yield from self._session._place(orders, vault_address=self._vault, hedge=False)
        except ActionRejected as error:
            return _taken(error) or error
        return made


class ClosingFlows:
    """Mixin of Session and AsyncSession: `close_position`."""

    _delivery: Delivery
    _catalogue: Catalogue

    if TYPE_CHECKING:

        def _account(self) -> Flow[str]: ...

    @exit_flow
    def close_position(
        self,
        symbol: str | int,
        *,
        price: Amount | None = None,
        slippage: Amount | None = None,
        tif: Literal["GTC", "IOC", "FOK", "POST_ONLY"] | None = None,
        vault_address: str | None = None,
    ) -> Flow[Receipt]:
        """Close the whole position of a product with reduce-only orders, and return the Receipt.

        In hedge mode both legs are closed. Where the list of positions can't be read, or another table contradicts it,
        orders of the largest size are sent. They only reduce, and a DataWarning says so. Other errors are those of
        `buy`.

        Parameters
        ----------
        symbol : str or int
            Product, by symbol or code.
        price : int, str, Decimal or float, optional
            Limit price in USDC (default: at market).
        slippage : int, str, Decimal or float, optional
            Largest distance from the last price at market, a ratio (default: 0.03).
        tif : {"GTC", "IOC", "FOK", "POST_ONLY"}, optional
            GTC, IOC, FOK or POST_ONLY (default: GTC with a price, else IOC).
        vault_address : str, optional
            Address of the vault whose position it is (default: the account's).

        Returns
        -------
        Receipt

        Raises
        ------
        InputError
            When there is no position.

        Examples
        --------
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> session.close_position("BTCUSDC").filled, len(session.positions())
        (Decimal('0.010'), 0)
        """
        code, name = yield from self._to_close(symbol, vault_address)
        owner = vault_address or (yield from self._account())
        closing = Closing(self, vault_address, owner)
        options: dict[str, Any] = {"price": price, "slippage": slippage, "tif": tif}
        message = f"there is no position in {name} to close"
        missing = InputError(message, field="symbol", rule="position", value=symbol)
        held: dict[Leg, tuple[Decimal, Position]] = {}
        try:
            held, why = yield from closing.held(code, READ_SECONDS)
        except (TransportError, ExchangeError) as error:
            why = f"the position can't be read ({error})"
        if held:
            if why:
                warn(f"close_position: {why}")
            sizes = [size if side == "LONG" else -size for (_, side), (size, _) in held.items()]
            hedge = any(is_hedged(row) for _, row in held.values())
            made = yield from closing.close(code, sizes, hedge, **options)
            done = sum((each.filled for receipt in made for each in receipt.orders if each.rows), Decimal(0))
            if price is None and done >= sum(map(abs, sizes)):
                # It may have been larger than it was shown. A list that has not changed is late.
                with suppress(TransportError, ExchangeError, ActionRejected):
                    left = (yield from closing.held(code, LOOK_SECONDS))[0]
                    if left and [size for size, _ in left.values()] != [size for size, _ in held.values()]:
                        made += yield from closing.sweep(code, **options)
            return _last_of(made)
        # An empty list is also what a part that is behind, or a gateway in between, may answer.
        why, unread = why or (yield from closing.doubt({}, code)), bool(why)
        if not why:
            raise missing
        warn(f"close_position: {why}. Orders of the largest size are sent, which only reduce")
        try:
            return _last_of((yield from closing.sweep(code, **options)))
        except ActionRejected:
            if unread:
                raise
            raise missing from None

    def _to_close(self, symbol: str | int, vault: str | None) -> Flow[tuple[int, str]]:
        """Return code and symbol of the product whose position a name means.

        A name that may mean several products means the one that has a position, where only one of them has, or only
        one of those has no other name.
        """
        try:
            found = yield from self._catalogue.exit(symbol)
        except InputError as error:
            if error.rule != BINDING:
                raise
            owner = vault or (yield from self._account())
            held, _ = yield from Closing(self, vault, owner).held(None, READ_SECONDS)
            shown = {code for code, _ in held}
            named = [code for code in map(int, error.nearest) if code in shown]
            if len(named) > 1:
                named = [code for code in named if self._catalogue.names(code) <= {symbol, str(symbol).upper()}]
            if len(named) != 1:
                raise
            why = f"{symbol} may be product {' or '.join(error.nearest)}, by the venue's list"
            warn(f"close_position: {why}. The position of product {named[0]} is the only one that fits, and is closed")
            found = yield from self._catalogue.exit(named[0])
        return found.code, found.symbol


def _taken(error: ActionRejected | CheckFailed) -> Receipt | None:
    """Return the receipt of a request of which some orders were accepted, None where none was."""
    made = getattr(error, "receipt", None)
    return made if isinstance(made, Receipt) and any(result.accepted for result in made.results) else None


def _is_of_size(error: CheckFailed) -> bool:
    return all(failure.field == "quantity" for failure in error.failures)


def _parts(size: Decimal, most: Decimal | None) -> list[Decimal]:
    """Return the quantities that close a position, each no larger than the largest order.

    It stays whole where that would take too many: such a limit is not one of a venue that let it become so large.
    """
    if most is None or abs(size) > PARTS * most:
        return [size]
    count, rest = divmod(abs(size), most)
    return [part.copy_sign(size) for part in [most] * int(count) + [rest] if part]


def _last_of(receipts: Sequence[Receipt]) -> Receipt:
    made = receipts[-1]
    accepted = [at for at, result in enumerate(made.results) if result.accepted]
    if len(accepted) == 1 < len(made.results):  # the one order of a sweep that reduces
        made = made.orders[accepted[0]]
    if len(receipts) > 1:
        made.note = f"closed in {len(receipts)} requests, of which this is the last"
    return made
