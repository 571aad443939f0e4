"""The live account as panels read it: positions at the mark price, liquidation prices, the holdings for an order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ... import margin
from ...products import Product
from .draft import DEFAULT_LEVERAGE, ZERO, Holdings, PriceLevel
from .preview import current_liquidation

if TYPE_CHECKING:
    from ...session import Session

Row = Mapping[str, Any]
UNTRIGGERED = "ORDER_STATUS_UNTRIGGERED"


class AccountStreams:
    """The live wallet, positions, orders and leverages of a session's account."""

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

    def marked_positions(self, tickers: Any) -> list[dict[str, Any]]:
        """Return the positions at the mark prices of `tickers`, which come more often than positions."""
        marks = {one["symbol"]: one["mark_price"] for one in tickers.rows()}
        return [{**one, "mark_price": marks.get(one["symbol"]) or one["mark_price"]} for one in self.positions.rows()]

    def holdings(self, product: Product, positions: Sequence[Row] | None = None) -> Holdings:
        """Return what the account holds in a product; `positions` are those of another mark price."""
        rows = self.positions.rows() if positions is None else positions
        return holdings_of(product, self._products, self.wallet_row, rows, self.orders.rows(), self.leverages.rows())

    def liquidation(self, product: Product, mark: Decimal, positions: Sequence[Row] | None = None) -> Decimal | None:
        """Return the estimated liquidation price of the position in a product, None without one."""
        return current_liquidation(product, self.holdings(product, positions), mark)


def row_of(rows: Iterable[Row], symbol: str) -> Any:
    """Return the row of a product, None without one."""
    return next((one for one in rows if one["symbol"] == symbol), None)


def holdings_of(
    product: Product, products: Mapping[str, Product], wallet: Row, positions: Sequence[Row], orders: Iterable[Row],
    leverages: Iterable[Row],
) -> Holdings:  # fmt: skip
    """Return the holdings in `product`; rows are those of `session.stream`, empty before the first data."""
    default_leverage = min(DEFAULT_LEVERAGE, product.max_leverage)
    if not wallet:
        return Holdings(leverage=default_leverage)
    own: Row = row_of(positions, product.symbol) or {}
    setting: Row = row_of(leverages, product.symbol) or {}
    open_orders = [one for one in orders if one["symbol"] == product.symbol]
    # A trigger order takes no margin until it is triggered (docs/assumptions.md, "Money on the venue").
    resting = [one for one in open_orders if one["status"] != UNTRIGGERED]
    isolated = own.get("margin_mode") == "ISOLATED" or (not own and product.only_isolated)
    return Holdings(
        known=True,
        available=wallet["available"],
        cross_equity=wallet["equity"] - sum((isolated_equity(one) for one in positions), ZERO),
        others_maintenance=_maintenance(product, products, positions),
        maker=_rate(wallet.get("maker_fee_rate"), product.maker_fee_rate),
        taker=_rate(wallet.get("taker_fee_rate"), product.taker_fee_rate),
        liquidating=wallet.get("status") == "LIQUIDATING",
        hedge="HEDGE" in (own.get("position_mode"), setting.get("position_mode")),
        isolated=isolated,
        assigned=own.get("assigned_margin") or ZERO,
        leverage=setting.get("leverage") or own.get("leverage") or default_leverage,
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


def _rate(own: Decimal | None, default: Decimal) -> Decimal:
    return default if own is None else own


def net_size(row: Row) -> Decimal:
    """Return the size of a position, negative for a short; of a hedged one long less short."""
    size: Decimal = row["long_size"] - abs(row["short_size"])
    return size


def pnl_of(row: Row, mark: Decimal) -> Decimal:
    """Return the unrealised PnL of a position at a mark price."""
    pnl: Decimal = net_size(row) * mark - row["long_entry_value"] + abs(row["short_entry_value"])
    return pnl


def isolated_equity(row: Row) -> Decimal:
    """Return the equity of an isolated position, 0 of another."""
    if row["margin_mode"] != "ISOLATED":
        return ZERO
    return (row["assigned_margin"] or ZERO) + pnl_of(row, row["mark_price"] or ZERO)


def _maintenance(product: Product, products: Mapping[str, Product], rows: Iterable[Row]) -> Decimal:
    """Return the maintenance margin of the cross positions in other products."""
    total = ZERO
    for row in rows:
        other = products.get(row["symbol"])
        if other is None or other.symbol == product.symbol or row["margin_mode"] == "ISOLATED" or not other.tiers:
            continue
        for size in (row["long_size"], abs(row["short_size"])):
            if size:
                total += margin.maintenance_margin(size * (row["mark_price"] or ZERO), other.tiers)
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
