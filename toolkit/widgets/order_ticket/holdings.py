"""The live account as panels read it, and what an order would do to it: value, fees, margin, position."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from ... import margin
from ...client.reads.derived_columns import isolated_equity, maintenance_of
from ...exposure import bankruptcy_ticks
from ...products import Product
from ..base_panel.number_format import UNKNOWN, in_units, money, percent, signed, trimmed
from .draft import DEFAULT_LEVERAGE, ZERO, Draft, Holdings, PriceLevel, TicketInputs, walk
from .validation import margin_needed

if TYPE_CHECKING:
    from ...client.stream.kinds import LiveTable
    from ...plain_session import Session


Row = Mapping[str, Any]
UNTRIGGERED = "ORDER_STATUS_UNTRIGGERED"


class Liquidation(NamedTuple):
    """An estimated liquidation price.

    Attributes
    ----------
    known : bool
        Whether it can be estimated.
    price : Decimal or None
        Price in USDC, `None` where no price liquidates, or it is not known (default: none).
    """

    known: bool
    price: Decimal | None = None

    def text(self, tick: Decimal, none: str = "none") -> str:
        """Return the price in ticks, or that there is none, or that it is unknown.

        Parameters
        ----------
        tick : Decimal
            Tick size of the product.
        none : str, optional
            Text where no price liquidates (default: "none").
        """
        if self.price is None:
            return none if self.known else UNKNOWN
        return in_units(self.price, tick)


UNKNOWN_PRICE, NO_PRICE = Liquidation(False), Liquidation(True)


class AccountStreams:
    """The live wallet, positions, orders and leverages of a session's account.

    Parameters
    ----------
    session : Session
        Session with an account.
    products : mapping of str to Product
        All products, for the margin of positions in other ones.
    """

    def __init__(self, session: Session, products: Mapping[str, Product]) -> None:
        stream = session.stream
        self._products = products
        self.wallet, self.positions = stream.account(), stream.positions()
        self.orders, self.leverages = stream.orders(), stream.leverages()

    @property
    def parts(self) -> tuple[Any, ...]:
        """All live objects."""
        return (self.wallet, self.positions, self.orders, self.leverages)

    @property
    def wallet_row(self) -> Row:
        """The wallet, empty before its first data."""
        return next(iter(self.wallet.rows()), {})

    def marked_positions(self, tickers: LiveTable) -> list[dict[str, Any]]:
        """Return the positions at newer mark prices, which come more often than positions.

        Parameters
        ----------
        tickers : object
            Live tickers of all products.
        """
        marks = {one["symbol"]: one["mark_price"] for one in tickers.rows()}
        return [{**one, "mark_price": marks.get(one["symbol"]) or one["mark_price"]} for one in self.positions.rows()]

    def holdings(self, product: Product, positions: Sequence[Row] | None = None) -> Holdings:
        """Return what the account holds in a product.

        Parameters
        ----------
        product : Product
            The product of the order.
        positions : sequence of Row or None, optional
            Rows of positions at another mark price (default: those of the feed).
        """
        wallet = self.wallet_row
        if not wallet:
            return no_holdings(product)
        rows = self.positions.rows() if positions is None else positions
        maker, taker = wallet.get("maker_fee_rate"), wallet.get("taker_fee_rate")
        own: Row = row_of(rows, product.symbol) or {}
        setting: Row = row_of(self.leverages.rows(), product.symbol) or {}
        open_orders = [one for one in self.orders.rows() if one["symbol"] == product.symbol]
        # A trigger order takes no margin until it is triggered (docs/assumptions.md, "Money on the venue").
        resting = [one for one in open_orders if one["status"] != UNTRIGGERED]
        # Without a position no row says the margin mode. Products that allow only one mode are known all the same.
        isolated = own.get("margin_mode") == "ISOLATED" if own else product.only_isolated
        return Holdings(
            known=True,
            available=wallet["available"],
            cross_equity=wallet["equity"] - sum((isolated_equity(one) for one in rows), ZERO),
            others_maintenance=_maintenance(product, self._products, rows),
            maker=product.maker_fee_rate if maker is None else maker,
            taker=product.taker_fee_rate if taker is None else taker,
            liquidating=wallet.get("status") == "LIQUIDATING",
            hedge="HEDGE" in (own.get("position_mode"), setting.get("position_mode")),
            isolated=isolated,
            assigned=own.get("assigned_margin") or ZERO,
            # A leverage that was set counts before that of the position, which may have been opened with another.
            leverage=setting.get("leverage") or own.get("leverage") or _leverage_of_none_set(product),
            long=own.get("long_size") or ZERO,
            long_value=own.get("long_entry_value") or ZERO,
            short=abs(own.get("short_size") or ZERO),
            short_value=abs(own.get("short_entry_value") or ZERO),
            client_ids=frozenset(int(one["client_order_id"]) for one in open_orders if one.get("client_order_id")),
            buys=_opening(resting, "BUY"),
            sells=_opening(resting, "SELL"),
            reducing_buys=_reducing(resting, "BUY"),
            reducing_sells=_reducing(resting, "SELL"),
        )

    def liquidation(self, product: Product, mark: Decimal, positions: Sequence[Row] | None = None) -> Liquidation:
        """Return the estimated liquidation price of the position in a product.

        Parameters
        ----------
        product : Product
            The product of the order.
        mark : Decimal
            Mark price in USDC.
        positions : sequence of Row or None, optional
            Rows of positions at another mark price (default: those of the feed).
        """
        return current_liquidation(product, self.holdings(product, positions), mark)


def row_of(rows: Iterable[Row], symbol: str) -> Any:
    """Return the row of a product, None without one.

    Parameters
    ----------
    rows : iterable of Row
        Rows of positions.
    symbol : str
        Product symbol.
    """
    return next((one for one in rows if one["symbol"] == symbol), None)


def no_holdings(product: Product) -> Holdings:
    """Return what is known before the account's first data.

    Parameters
    ----------
    product : Product
        The product of the order.
    """
    return Holdings(isolated=None, leverage=None, maker=product.maker_fee_rate, taker=product.taker_fee_rate)


def _leverage_of_none_set(product: Product) -> Decimal | None:
    """Return the leverage of a product in which the account has set none, None where that is not known."""
    return None if product.max_leverage is None else min(DEFAULT_LEVERAGE, product.max_leverage)


def _maintenance(product: Product, products: Mapping[str, Product], rows: Iterable[Row]) -> Decimal | None:
    """Return the maintenance margin of the cross positions in other products, None where one is not known."""
    total = ZERO
    for row in rows:
        if row["symbol"] != product.symbol and row["margin_mode"] != "ISOLATED":
            other = products.get(row["symbol"])
            needed = maintenance_of(row, None if other is None else other.tiers)
            if needed is None:
                return None
            total += needed
    return total


def _reduces(order: Row) -> bool:
    return order["reduce_only"] not in (None, "NONE") or str(order["side"]).endswith("CLOSE_HEDGE")


def _opening(orders: Iterable[Row], side: str) -> tuple[PriceLevel, ...]:
    """Return (price, quantity) of the orders of a side that may open a position, last placed first."""
    found = [one for one in orders if str(one["side"]).startswith(side) and not _reduces(one)]
    found.sort(key=lambda one: int(one["order_id"]), reverse=True)
    return tuple((one["price"] or ZERO, one["remaining"] or ZERO) for one in found)


def _reducing(orders: Iterable[Row], side: str) -> Decimal:
    """Return the quantity of the resting orders of a side that only reduce."""
    found = (one["remaining"] for one in orders if str(one["side"]).startswith(side) and _reduces(one))
    return sum((remaining or ZERO for remaining in found), ZERO)


def preview_order(inputs: TicketInputs, quantity: Decimal, worst: Decimal) -> dict[str, Any]:
    """Return the expected effect of an order, amounts as Decimal.

    `OrderTicket.preview` lists the names. A value is `None` where it is not known. `liquidation_known` is False where
    the liquidation price can't be estimated.

    Parameters
    ----------
    inputs : TicketInputs
        A draft and what it is checked against.
    quantity : Decimal
        Quantity in base units.
    worst : Decimal
        Worst price at which it may trade, in USDC.
    """
    draft, product, market, holdings = inputs.draft, inputs.product, inputs.market, inputs.holdings
    sign, mark = draft.sign, market.mark or worst
    bound = _bankruptcy_price(inputs, mark)
    # A bound beyond the order's own limit changes nothing.
    bound = bound if bound is not None and (worst - bound) * sign > 0 else None
    worst = worst if bound is None else bound
    levels = market.opposite(sign)
    taken, value = walk(levels, quantity, worst, sign)
    rests = draft.effective_tif in ("GTC", "POST_ONLY") and not draft.market
    # Without a book an order is shown as if it fills at its worst price; so is a TWAP, whose parts trade in time.
    filled = quantity if rests or not levels or (draft.kind.tif and not draft.market) else taken
    notional = value + (filled - taken) * worst
    # What trades now pays the taker rate. The rest pays as maker if it rests.
    fee = _fee((value, holdings.taker), ((filled - taken) * worst, holdings.maker if rests else holdings.taker))
    needed = ZERO if draft.reduce_only else margin_needed(inputs, filled, worst)
    before = current_liquidation(product, holdings, mark)
    after = _position_after(draft, holdings, filled, notional)
    preview: dict[str, Any] = {
        "notional": notional,
        "at_mark": filled * market.mark if market.mark else None,
        "price": notional / filled if filled else worst,
        "worst_price": worst if draft.market else None,
        "bankruptcy_price": bound,
        "fills_now": taken,
        "fills": filled,
        "fee": fee,
        "margin": None if needed is None else max(ZERO, needed),
        "available": holdings.available,
        "leverage": holdings.leverage,
        "realized_pnl": after["realized"],
        "size_before": after["before"],
        "size_after": after["size"],
        "entry_after": after["entry"],
        "effect": after["effect"],
        "maker": holdings.maker,
        "taker": holdings.taker,
        "funding_rate": market.funding_rate,
        "funding": None if market.funding_rate is None else -after["size"] * mark * market.funding_rate,
        "liquidation_before": before.price,
    }
    then = UNKNOWN_PRICE
    if holdings.known and fee is not None and preview["margin"] is not None:
        then = _liquidation_price(product, holdings, after, fee, mark, preview["margin"])
    unknown = {} if holdings.known else {**dict.fromkeys(OF_ACCOUNT), "why_unknown": holdings.why_unknown}
    return {**preview, "liquidation_price": then.price, "liquidation_known": then.known, **unknown}


OF_ACCOUNT = (
    "available", "leverage", "margin", "fee", "maker", "taker", "size_before", "size_after", "entry_after", "effect",
    "realized_pnl", "funding",
)  # fmt: skip
"""What a preview says of the account: all of it is unknown until its state has arrived."""


def _fee(*parts: tuple[Decimal, Decimal | None]) -> Decimal | None:
    """Return the fee of values at their rates, None where a rate is not known."""
    total = ZERO
    for value, rate in parts:
        if rate is None and value:
            return None
        total += value * (rate or ZERO)
    return total


def _bankruptcy_price(inputs: TicketInputs, mark: Decimal) -> Decimal | None:
    """Return the price beyond which the venue closes nothing, because it would use up the equity, None: no closing."""
    draft, product, holdings = inputs.draft, inputs.product, inputs.holdings
    size = holdings.reducible(draft.sign) if draft.reduce_only or not holdings.hedge else ZERO
    if not size or not holdings.known:
        return None
    equity = holdings.assigned + holdings.pnl(mark) if holdings.isolated else holdings.cross_equity
    parts = round(equity * product.money_scale)
    # The venue computes it in integers. Decimals would differ from it by a tick in some cases.
    steps, mark_ticks = round(size / product.step_size), round(mark / product.tick_size)
    return bankruptcy_ticks(draft.sign, steps, mark_ticks, product.unit, parts) * product.tick_size


def _position_after(draft: Draft, holdings: Holdings, quantity: Decimal, value: Decimal) -> dict[str, Any]:
    """Return the leg or net position after the whole fill: size, entry price, realised PnL, effect in words."""
    sign = draft.sign
    if holdings.hedge:
        on_long = draft.is_buy != draft.reduce_only
        size, entry_value = (holdings.long, holdings.long_value) if on_long else (-holdings.short, holdings.short_value)
    else:
        size, entry_value = holdings.size, holdings.long_value + holdings.short_value
    entry = entry_value / abs(size) if size else ZERO
    price = value / quantity if quantity else ZERO
    # Only the part against the position realises a result. The rest opens the other direction.
    closing = min(abs(size), quantity) if size * sign < 0 else ZERO
    realized = closing * (price - entry) * (1 if size > 0 else -1)
    after = size + sign * quantity
    if not after:
        entry_after = None
    elif closing and abs(size) > quantity:
        entry_after = entry
    elif closing:
        entry_after = price
    else:
        entry_after = (entry_value + value) / abs(after)
    found = {"size": after, "entry": entry_after, "realized": realized, "before": size}
    return {**found, "effect": _effect(size, after)}


def _effect(before: Decimal, after: Decimal) -> str:
    old, name = ("short" if size.is_signed() else "long" for size in (before, after))
    if not before:
        return f"opens a {name} of {trimmed(abs(after))}" if after else "leaves no position"
    if not after:
        return f"closes the {old} of {trimmed(abs(before))}"
    if before * after < 0:
        return f"turns the {old} of {trimmed(abs(before))} into a {name} of {trimmed(abs(after))}"
    word = "adds to" if abs(after) > abs(before) else "reduces"
    return f"{word} the {old}: {trimmed(abs(before))} → {trimmed(abs(after))}"


def _liquidation_price(
    product: Product, holdings: Holdings, after: Mapping[str, Any], fee: Decimal, mark: Decimal, added: Decimal
) -> Liquidation:
    """Return the estimated liquidation price after the whole fill."""
    size, entry = after["size"], after["entry"]
    if holdings.hedge:
        # A closed leg has no sign, so its size before tells which one it is.
        leg = (abs(size), abs(size) * (entry or ZERO))
        longs, shorts = (holdings.long, holdings.long_value), (holdings.short, holdings.short_value)
        (long, long_value), (short, short_value) = (leg, shorts) if (size or after["before"]) > 0 else (longs, leg)
    else:
        long, short = max(size, ZERO), max(-size, ZERO)
        long_value, short_value = long * (entry or ZERO), short * (entry or ZERO)
    if not (long or short):
        return NO_PRICE
    if not product.tiers or holdings.isolated is None:
        return UNKNOWN_PRICE
    if holdings.isolated:
        # Reducing releases the assigned margin in proportion; opening adds what the order takes, less its fee.
        share = ZERO if abs(size) >= abs(after["before"]) else holdings.assigned * abs(size) / abs(after["before"])
        collateral = share or holdings.assigned + max(added - fee, ZERO)
    elif holdings.others_maintenance is None:
        return UNKNOWN_PRICE
    else:
        collateral = holdings.cross_equity - holdings.pnl(mark) - holdings.others_maintenance - fee + after["realized"]
    entries = (long_value / long if long else ZERO, short_value / short if short else ZERO)
    # With one leg it is that of a one-way position.
    price = margin.liquidation_price_hedged(long, entries[0], short, entries[1], collateral, product.tiers)
    return NO_PRICE if price is None or price <= 0 else Liquidation(True, price)


def current_liquidation(product: Product, holdings: Holdings, mark: Decimal) -> Liquidation:
    """Return the estimated liquidation price of the position as it is.

    Parameters
    ----------
    product : Product
        The product of the order.
    holdings : Holdings
        What the account holds in the product.
    mark : Decimal
        Mark price in USDC.
    """
    size = holdings.long or -holdings.short
    if not holdings.known:
        return UNKNOWN_PRICE
    if not size:
        return NO_PRICE
    value = holdings.long_value if size > 0 else holdings.short_value
    now = {"size": size, "entry": value / abs(size), "realized": ZERO, "before": size}
    return _liquidation_price(product, holdings, now, ZERO, mark, ZERO)


def preview_view(preview: Mapping[str, Any], product: Product, mark: Decimal | None) -> list[list[str]]:
    """Return the preview as rows of name, value and note.

    Parameters
    ----------
    preview : mapping of str to object
        Expected effect of the order, empty for none.
    product : Product
        The product of the order.
    mark : Decimal or None
        Mark price in USDC, `None` if not known.
    """
    if not preview:
        return []
    tick = product.tick_size
    at_mark = "" if preview["at_mark"] is None else f"about {money(preview['at_mark'])} USDC at mark"
    rows = [["Value", f"{money(preview['notional'])} USDC", at_mark]]
    if "slices" in preview:
        slices, quantity, interval_ms = preview["slices"]
        each = f"{trimmed(quantity)} {product.base}, one every {timedelta(milliseconds=interval_ms)}"
        rows.append(["Orders", str(slices), f"of about {each}"])
    if preview["worst_price"] is not None:
        worst = f"at worst {in_units(preview['worst_price'], tick)}"
        rows.append(["Price (est.)", in_units(preview["price"], tick), worst])
    if preview["bankruptcy_price"] is not None:
        rows.append(["Bankruptcy price", in_units(preview["bankruptcy_price"], tick), "nothing closes beyond it"])
    if preview["fills_now"]:
        rows.append(["Fills immediately", f"{trimmed(preview['fills_now'])} {product.base}", ""])
    rows += _costs(preview)
    rows.append(["Position", preview["effect"] or UNKNOWN, ""])
    if preview["realized_pnl"]:
        rows.append(["Realised PnL (est.)", f"{signed(preview['realized_pnl'])} USDC", ""])
    for name, (trigger, pnl) in preview.get("exits", {}).items():
        about = f"at {in_units(trigger, tick)}, {'before' if _lacks_fees(preview) else 'after'} fees"
        if preview["margin"]:
            about += f", {percent(pnl / preview['margin'], 1)} of the margin"
        rows.append([f"At {name.replace('_', ' ')} (est.)", f"{signed(pnl)} USDC", about])
    price, before = preview["liquidation_price"], preview["liquidation_before"]
    shown = Liquidation(preview["liquidation_known"], price).text(tick)
    if before is not None:
        shown = f"{in_units(before, tick)} → {shown}"
    distance = f"{percent(abs(price - mark) / mark, 1)} from mark" if price is not None and mark else ""
    rows.append(["Liquidation (est.)", shown, distance])
    if preview["funding"] is not None:
        about = f"for the position after the order, at {percent(preview['funding_rate'], 4)} of its value"
        rows.append(["Next funding (est.)", f"{signed(preview['funding'], 4)} USDC", about])
    return rows


def _costs(preview: Mapping[str, Any]) -> list[list[str]]:
    """Return the rows of fee and margin."""
    rates = [f"{name} {_or_unknown(preview[name], lambda rate: percent(rate, 3))}" for name in ("taker", "maker")]
    fee = _or_unknown(preview["fee"], lambda amount: f"{money(amount)} USDC")
    margin_text = _or_unknown(preview["margin"], lambda amount: f"{money(amount)} USDC")
    leverage = _or_unknown(preview["leverage"], lambda factor: f"{trimmed(factor)}x")
    available = f"of {money(preview['available'])} available, {leverage}"
    if preview["available"] is None:
        available = f"the account's data {preview['why_unknown']}"
    elif preview["leverage"] is None:
        available += " leverage, so it is not checked"
    elif preview["fee"] is None:
        available += ", without the fee"
    return [["Fee (est.)", fee, ", ".join(rates)], ["Margin", margin_text, available]]


def _lacks_fees(preview: Mapping[str, Any]) -> bool:
    return preview["fee"] is None or preview["taker"] is None


def _or_unknown(value: Decimal | None, write: Callable[[Decimal], str]) -> str:
    return UNKNOWN if value is None else write(value)
