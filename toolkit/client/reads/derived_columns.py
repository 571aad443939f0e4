"""Derived columns: legs of positions with liquidation prices, values and fees of fills, annual funding rates.

Columns of positions are computed in Decimal from exact frames and converted to float at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any

from ... import margin
from ...numerals import plain_text
from ...products import MarginTier, Product
from ...protocol.reads.rows import TIME

if TYPE_CHECKING:
    import pandas as pd

YEAR_SECONDS = 365 * 86_400
_ZERO, _MICRO = Decimal(0), Decimal("0.000001")

LEG_COLUMNS = {
    **dict.fromkeys(("symbol", "side"), "string"),
    **dict.fromkeys(("size", "entry_price", "mark_price", "notional", "unrealized_pnl"), "float64"),
    **dict.fromkeys(("margin", "return_on_margin", "liquidation_price", "leverage"), "float64"),
    **dict.fromkeys(("margin_mode", "position_mode"), "string"),
    **dict.fromkeys(("realized_pnl", "fees"), "float64"),
    **dict.fromkeys(("created", "time"), TIME),
    "account": "string",
}
"""Columns of `session.positions()` and their dtypes."""


def fee_rates(products: Sequence[Product], own: pd.DataFrame | None, *, exact: bool) -> pd.DataFrame:
    """Return symbol, maker and taker rate of each product: the account's own where it has any.

    Parameters
    ----------
    products : sequence of Product
        Products, which have the standard rates.
    own : DataFrame or None
        The account's rates by column, None without any.
    exact : bool
        True gives Decimal (default: False, float64).
    """
    from .frames import typed

    known = records(own) if own is not None else []
    rates = {name: rate for name, rate in (known[0] if known else {}).items() if isinstance(rate, Decimal)}
    names = ("maker_fee_rate", "taker_fee_rate")
    rows = [
        {"symbol": product.symbol, **{name: rates.get(name, getattr(product, name)) for name in names}}
        for product in products
    ]
    return typed(rows, {"symbol": "string", **dict.fromkeys(names, "float64")}, exact=exact)


def legs(
    positions: Sequence[Mapping[str, Any]],
    equity: Decimal | None,
    tiers: Mapping[str, Sequence[MarginTier] | None],
    *,
    exact: bool,
) -> pd.DataFrame:
    """Return one row per open leg (long or short side) of positions, with the columns of LEG_COLUMNS.

    Liquidation prices are NA where no price liquidates, and where the tiers are not known. For a cross position that is
    also so without the equity and the tiers of the other cross positions. In hedge mode both legs share one.

    Parameters
    ----------
    positions : sequence of mapping
        Rows of the positions query, by column.
    equity : Decimal or None
        The account's equity in USDC, None if it is not known.
    tiers : mapping
        Margin tiers by symbol, None where they are not known.
    exact : bool
        True gives Decimal.
    """
    from .frames import typed

    # The size of a short may come with its sign.
    rows = [{**row, "short_size": abs(_amount(row["short_size"]))} for row in positions]
    available = _available_margin(rows, equity, tiers)
    made: list[dict[str, Any]] = []
    # The caller's context may have less precision, which would round prices.
    with localcontext(prec=28):
        for row in rows:
            price = _liquidation_price(row, available.get(row["symbol"]), tiers.get(row["symbol"]))
            for side in ("LONG", "SHORT"):
                if _amount(row[f"{side.lower()}_size"]):
                    made.append(_leg({**row, **_of_leg(row, side)}, side, price))
    return typed(made, LEG_COLUMNS, exact=exact)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as dicts by column.

    Parameters
    ----------
    frame : DataFrame
        Any frame, whose index is left out.
    """
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def _amount(value: object) -> Decimal:
    return value if isinstance(value, Decimal) else _ZERO


def _of_leg(row: Mapping[str, Any], side: str) -> dict[str, Any]:
    """Return what a leg has of the sums that the venue shows for both, in proportion to the entry values."""
    values = [abs(_amount(row[f"{name}_entry_value"])) for name in ("long", "short")]
    if not all(values):
        return {}
    found = {}
    for name in ("assigned_margin", "realized_pnl", "fees"):
        if isinstance(row[name], Decimal):
            part = (row[name] * values[0] / sum(values)).quantize(_MICRO)
            found[name] = part if side == "LONG" else row[name] - part
    return found


def _leg(row: Mapping[str, Any], side: str, liquidation_price: Decimal | None) -> dict[str, Any]:
    size, value = _amount(row[f"{side.lower()}_size"]), _amount(row[f"{side.lower()}_entry_value"])
    mark, leverage = row["mark_price"], row["leverage"]
    notional = None if mark is None else size * mark
    pnl = None if notional is None else notional - value if side == "LONG" else value - notional
    # What the venue does not say stays unknown: NA is better than a figure of an assumed mode.
    posted = row["assigned_margin"] if row["margin_mode"] == "ISOLATED" else None
    if row["margin_mode"] == "CROSS" and leverage is not None:
        posted = value / (leverage or 1)
    return {
        **{name: row[name] for name in LEG_COLUMNS if name in row},
        "side": side,
        "size": size,
        "entry_price": Decimal(plain_text(value / size)),
        "notional": notional,
        "unrealized_pnl": pnl,
        "margin": posted,
        "return_on_margin": pnl / posted if posted and pnl is not None else None,
        "liquidation_price": liquidation_price,
    }


def net_size(row: Mapping[str, Any]) -> Decimal:
    """Return the size of a position by column, negative for a short, of a hedged one long less short.

    Parameters
    ----------
    row : mapping
        A position, by column.
    """
    return _amount(row["long_size"]) - abs(_amount(row["short_size"]))


def pnl_of(row: Mapping[str, Any], mark: Decimal) -> Decimal:
    """Return the unrealised PnL of a position, in USDC.

    Parameters
    ----------
    row : mapping
        A position, by column.
    mark : Decimal
        Mark price in USDC.
    """
    return net_size(row) * mark - _amount(row["long_entry_value"]) + abs(_amount(row["short_entry_value"]))


def isolated_equity(row: Mapping[str, Any]) -> Decimal:
    """Return the equity of an isolated position, 0 of another.

    Parameters
    ----------
    row : mapping
        A position, by column.
    """
    if row["margin_mode"] != "ISOLATED":
        return _ZERO
    return _amount(row["assigned_margin"]) + pnl_of(row, _amount(row["mark_price"]))


def maintenance_of(row: Mapping[str, Any], tiers: Sequence[MarginTier] | None) -> Decimal | None:
    """Return the maintenance margin of both legs of a position, None where its tiers are not known.

    Parameters
    ----------
    row : mapping
        A position, by column.
    tiers : sequence of MarginTier or None
        Margin tiers of its product, None if they are not known.
    """
    mark, sizes = _amount(row["mark_price"]), (_amount(row["long_size"]), abs(_amount(row["short_size"])))
    held = [size for size in sizes if size]
    if held and not tiers:
        return None
    return sum((margin.maintenance_margin(size * mark, tiers or ()) for size in held), _ZERO)


def _available_margin(
    rows: Sequence[Mapping[str, Any]], equity: Decimal | None, tiers: Mapping[str, Sequence[MarginTier] | None]
) -> dict[str, Decimal]:
    """Return the margin available to each position by symbol, in USDC, before its own profit or loss.

    Isolated: its assigned margin. Cross: the equity without isolated positions and without the maintenance margin of
    the other cross positions. The position's own profit is taken out because it moves with the price being solved for.
    No cross position has any where one of them has a maintenance margin that is not known.
    """
    cross = [row for row in rows if row["margin_mode"] == "CROSS"]
    isolated = [row for row in rows if row["margin_mode"] == "ISOLATED"]
    maintenance = {row["symbol"]: maintenance_of(row, tiers.get(row["symbol"])) for row in cross}
    available: dict[str, Decimal] = {}
    known = {symbol: needed for symbol, needed in maintenance.items() if needed is not None}
    complete = all(row["margin_mode"] is not None and row["mark_price"] is not None for row in rows)
    if equity is not None and complete and len(known) == len(maintenance):
        free = equity - sum(map(isolated_equity, isolated), _ZERO) - sum(known.values(), _ZERO)
        profits = {row["symbol"]: pnl_of(row, _amount(row["mark_price"])) for row in cross}
        available = {symbol: free + known[symbol] - profit for symbol, profit in profits.items()}
    assigned = {row["symbol"]: row["assigned_margin"] for row in isolated if row["assigned_margin"] is not None}
    return available | assigned


def _liquidation_price(
    row: Mapping[str, Any], available: Decimal | None, tiers: Sequence[MarginTier] | None
) -> Decimal | None:
    if not tiers or available is None:
        return None
    long, short = _amount(row["long_size"]), _amount(row["short_size"])
    entries = [
        _amount(row[f"{side}_entry_value"]) / size if size else _ZERO
        for side, size in (("long", long), ("short", short))
    ]
    return margin.liquidation_price_hedged(long, entries[0], short, entries[1], available, tiers)


def with_value_and_fee(fills: pd.DataFrame) -> pd.DataFrame:
    """Return fills with `value` (price × quantity) and `fee` (all that the fill shows), in USDC, after column quantity.

    No published field of a fill has the fee of a builder. The ledger has it.

    Parameters
    ----------
    fills : DataFrame
        Fills by column.
    """
    import numpy as np
    import pandas as pd

    price, quantity, opening, closing, builder = (
        fills[name].to_numpy() for name in ("price", "quantity", "open_fee", "close_fee", "builder_fee")
    )
    fees = opening + closing + np.where(pd.isna(builder), 0, builder)
    return _insert_after(fills, "quantity", {"value": price * quantity, "fee": fees})


def with_annual_rate(rates: pd.DataFrame, exact: bool) -> pd.DataFrame:
    """Return funding rates with `annualised` (ratio): the rate if every interval of a year (365 days) settled it.

    Parameters
    ----------
    rates : DataFrame
        Funding rates by column.
    exact : bool
        Whether amounts are Decimal.
    """
    import pandas as pd

    intervals_s = rates["funding_interval"]
    if exact:
        # A missing or empty interval gives NA, as a missing rate does.
        lengths = [Decimal(int(length)) if pd.notna(length) and length else pd.NA for length in intervals_s]
        annual = rates["funding_rate"] * YEAR_SECONDS / pd.Series(lengths, index=rates.index, dtype=object)
    else:
        annual = rates["funding_rate"] * (YEAR_SECONDS / intervals_s.astype("float64"))
    return _insert_after(rates, "funding_rate", {"annualised": annual})


def _insert_after(frame: pd.DataFrame, column: str, added: Mapping[str, Any]) -> pd.DataFrame:
    """Return a copy of the frame with columns inserted after `column`, and the same attrs."""
    extended = frame.copy(deep=False)
    position = list(extended.columns).index(column) + 1
    for offset, (name, values) in enumerate(added.items()):
        extended.insert(position + offset, name, values)
    extended.attrs = frame.attrs
    return extended
