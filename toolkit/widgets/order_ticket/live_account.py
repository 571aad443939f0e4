"""The live account as panels read it: its positions at the current mark price, holdings and liquidation prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ...products import Product
from .draft import Holdings
from .holdings import Row, holdings_of
from .preview import current_liquidation

if TYPE_CHECKING:
    from ...session import Session


class LiveAccount:
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
