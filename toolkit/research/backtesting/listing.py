"""The core of a backtest and the product of each symbol: of the venue, given by the user, or derived from its bars."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

from msgspec import structs

from ...products import MarginTables, Product, VenueProduct
from ...protocol.reads.product_rows import META
from ...suggestions import check_known
from ...venue.engine.core import Core
from ...venue.model.genesis import Genesis, completed_row, default_margin_tables, default_products, derived_product
from ..data.bars import Bars, tick_of

FIELDS = {
    name: META[name][0]
    for name in (
        "tick_size", "step_size", "min_order_value", "max_order_quantity", "max_position_notional", "max_leverage",
        "max_slippage_pct", "maker_fee_rate", "taker_fee_rate", "funding_interval",
    )
}  # fmt: skip
"""Fields that `products={"SYMBOL": {...}}` may change → their names in ProductMeta."""


def listings(bars: Mapping[str, Bars], given: Mapping[str, Any] | None) -> tuple[list[dict[str, Any]], MarginTables]:
    """Return ProductMeta rows for the symbols of the data (in their order), and the margin tables they name.

    A symbol that the local venue lists is that product. Another symbol gets the tick of its prices, a step that keeps
    money exact, and BTCUSDC's fees and margins. Fields that a Product does not know are as without it, with a warning.

    Parameters
    ----------
    bars : mapping of str to Bars
        Bars by symbol.
    given : mapping of str to Product or mapping, or None
        A Product for a symbol (for example of a session), or fields to change.

    Raises
    ------
    InputError
        For an unknown field.
    """
    usual, tables = _usual(tuple(bars.items()))
    if not given:
        return usual, tables
    check_known(given, bars, "products", "symbol of the data")
    tables, rows = dict(tables), []
    for symbol, row in zip(bars, usual, strict=True):
        wanted = given.get(symbol) or {}
        if isinstance(wanted, Product):
            rows.append(completed_row(wanted, row, tables))
            continue
        check_known(wanted, FIELDS, f"products[{symbol!r}]", "field of a product")
        changes = {
            FIELDS[name]: value if name == "funding_interval" else format(Decimal(str(value)), "f")
            for name, value in dict(wanted).items()
        }
        rows.append({**row, **changes})
    return rows, tables


@lru_cache(maxsize=2)  # the points of a sweep have the same; finding the tick of many prices takes long
def _usual(bars: tuple[tuple[str, Bars], ...]) -> tuple[list[dict[str, Any]], MarginTables]:
    """Return the rows and tables of symbols of which nothing is given. They are shared, and never changed."""
    known = {row["symbol"]: row for row in default_products()}
    rows = [
        known.get(symbol) or _derived_row(symbol, 101 + number, series) for number, (symbol, series) in enumerate(bars)
    ]
    return rows, default_margin_tables()


def make_core(bars: Mapping[str, Bars], products: Mapping[str, Any] | None, seed: int, start: int) -> Core:
    """Return a core that lists the symbols and schedules nothing: prices and funding come from the driver.

    Parameters
    ----------
    bars : mapping of str to Bars
        Bars by symbol.
    products : mapping of str to Product or mapping, or None
        A Product for a symbol, or fields to change.
    seed : int
        Seed of the core.
    start : int
        Time at which it begins, Unix ms.
    """
    rows, tables = listings(bars, products)
    genesis = Genesis(seed=seed, time=start, products=rows, margin_tables=tables, prices={}, settings={"market": False})
    # What the LP vault takes over stays with it: sold at the mark, it would trade with orders that the bars decide.
    core = Core(structs.replace(genesis, config=structs.replace(genesis.config, lp_slice=0)))
    # The core's own processes, such as price updates and funding, would act on a market that the data decides.
    core.state.schedule.clear()
    core.record_events(False)
    return core


def product_fields(product: VenueProduct) -> dict[str, Any]:
    """Return the fields of a product that `products=` may set, as it takes them.

    Parameters
    ----------
    product : VenueProduct
        Product to describe.
    """
    texts = {name: format(getattr(product, name), "f") for name in FIELDS if name != "funding_interval"}
    return {**texts, "funding_interval": product.funding_interval}


def _derived_row(symbol: str, code: int, bars: Bars) -> dict[str, Any]:
    tick = tick_of(bars)
    places = -int(tick.as_tuple().exponent)
    # tick × step must be a multiple of 0.000001, so that every fill has a value of whole micro-USDC.
    return derived_product(symbol, code, tick, Decimal(1).scaleb(-min(6 - places, 3)))
