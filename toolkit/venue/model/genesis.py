"""How a venue begins: products, margin tables, seed, time and `Config` (docs/published.md, "Trading rules").

Units as in `state`. Values are the venue's published rules, except those that docs/assumptions.md lists as our own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec

from ...checks import MIN_WITHDRAWAL
from ...errors import InputError, warn
from ...products import MarginTables, Product
from ...protocol.reads.product_rows import TIERS
from .constants import DAY, PERCENT, USDC

GENESIS_TIME = 1_767_225_600_000
"""2026-01-01T00:00:00Z, where manual clocks begin."""


def _product(
    code: int, base: str, tick: str, step: str, leverage: int, table: int, limits: tuple[str, str]
) -> dict[str, Any]:
    places = [len(text.partition(".")[2]) for text in (tick, step)]
    return {
        "name": f"{base} perpetual",
        "symbol": f"{base}USDC",
        "code": str(code),
        "currencyCode": 1,
        "maxLeverage": str(leverage),
        "pricePrecision": places[0],
        "qtyPrecision": places[1],
        "tickSize": tick,
        "stepSize": step,
        "maxOrderQty": limits[0],
        "maxSlippagePct": "0.05",
        "maxPositionNtnl": limits[1],
        "fundingInterval": 14_400,
        "productType": "perpetual",
        "listStatus": "listed",
        "onlyIsolated": False,
        "baseCurrency": base,
        "quoteCurrency": "USDC",
        "settleCurrency": "USDC",
        "minOrderValue": "10",
        "defaultMakerFeeRate": "0.0001",
        "defaultTakerFeeRate": "0.0006",
        "marginTableId": table,
    }


def _tier(floor: str, rate: str, leverage: str) -> dict[str, str]:
    return {"minimumValue": floor, "maintainMarginRatio": rate, "maxLeverage": leverage}


def default_products() -> list[dict[str, Any]]:
    """Return the ProductMeta rows the local venue begins with."""
    return [
        _product(1, "BTC", "0.1", "0.001", 40, 1, ("1000", "100000000")),
        _product(2, "ETH", "0.01", "0.001", 40, 1, ("20000", "100000000")),
        _product(3, "SOL", "0.001", "0.01", 25, 2, ("200000", "20000000")),
        _product(4, "XRP", "0.0001", "1", 25, 2, ("10000000", "20000000")),
    ]


def default_margin_tables() -> dict[int, list[dict[str, str]]]:
    """Return the riskLimitVo rows by table id. The maintenance rate of a tier is half of 1 / its leverage limit."""
    return {
        1: [_tier("0", "0.0125", "40"), _tier("20000000", "0.025", "20")],
        2: [_tier("0", "0.02", "25"), _tier("2000000", "0.025", "20"), _tier("5000000", "0.05", "10")],
        3: [_tier("0", "0.025", "20"), _tier("1000000", "0.05", "10")],
    }


def derived_product(symbol: str, code: int, tick: Decimal, step: Decimal) -> dict[str, Any]:
    """Return the ProductMeta row of a market that this venue does not list.

    It is that of BTCUSDC, with this tick and step.

    Parameters
    ----------
    symbol : str
        Symbol of the product.
    code : int
        Number of the product.
    tick : Decimal
        Tick size in USDC.
    step : Decimal
        Step size in base units.
    """
    return {
        **default_products()[0],
        "name": symbol,
        "symbol": symbol,
        "code": str(code),
        "tickSize": format(tick, "f"),
        "stepSize": format(step, "f"),
        "pricePrecision": max(0, -int(tick.as_tuple().exponent)),
        "qtyPrecision": max(0, -int(step.as_tuple().exponent)),
        "maxOrderQty": "1000000000",
        "maxPositionNtnl": "100000000",
        "baseCurrency": symbol,
    }


def usual_row(product: Product) -> dict[str, Any]:
    """Return the ProductMeta row that this venue has for a symbol, or derives for it.

    Parameters
    ----------
    product : Product
        Product with the symbol.
    """
    known = {row["symbol"]: row for row in default_products()}
    return known.get(product.symbol) or derived_product(
        product.symbol, product.code, product.tick_size, product.step_size
    )


def completed_row(product: Product, usual: Mapping[str, Any], tables: MarginTables) -> dict[str, Any]:
    """Return the ProductMeta row of another venue's product, for a venue that executes its orders here.

    Values that the other venue does not send are those of the usual row. A DataWarning names these values.

    Parameters
    ----------
    product : Product
        Product of the other venue.
    usual : mapping of str to object
        Row that this venue has for the symbol.
    tables : MarginTables
        Margin tables by number. That of the product is added.
    """
    precisions = {"pricePrecision": product.tick_scale[0], "qtyPrecision": product.step_scale[0]}
    usual = {**usual, **precisions}
    row = product.to_row(tables)
    if product.tiers is None:
        number = int(usual[TIERS])
        tables.setdefault(number, default_margin_tables()[number])
    taken = [f"{wire} {usual[wire]}" for wire in product.missing if wire in usual and wire not in precisions]
    if taken:
        warn(f"{product.symbol}: its venue does not say {', '.join(taken)}. These are the local venue's values")
    return {**usual, **row}


DEFAULT_PRICES = {1: "62500.0", 2: "2450.00", 3: "142.000", 4: "0.6200"}
"""Product code → the index price it begins at."""


class FeeTier(msgspec.Struct, frozen=True):
    """Fee rates from a 30-day volume on.

    Attributes
    ----------
    volume : int
        Notional of 30 days from which the tier applies, in micro-USDC.
    maker : int
        Maker rate in parts of RATE.
    taker : int
        Taker rate in parts of RATE.
    """

    volume: int
    maker: int
    taker: int


def default_fee_tiers() -> list[FeeTier]:
    """Return the published volume tiers above the standard rates."""
    return [
        FeeTier(5_000_000 * USDC, 8_000, 55_000),
        FeeTier(10_000_000 * USDC, 6_000, 50_000),
        FeeTier(25_000_000 * USDC, 4_000, 45_000),
        FeeTier(500_000_000 * USDC, 2_000, 37_500),
        FeeTier(1_250_000_000 * USDC, 1_000, 35_000),
    ]


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every number of a venue that is a choice, fixed at its genesis.

    Times are in ms, rates in parts of RATE.

    Attributes
    ----------
    funding_clamp : int
        How far the premium may move the rate away from the interest, in parts of RATE.
    fee_tiers : list of FeeTier
        Rates by volume, from the smallest volume up. Below the first one the product's rates apply.
    volume_days : int
        Days whose volume counts for the fee tier (default: 30).
    liquidation_slice : int
        Part of a larger position that is closed at a time.
    withdrawal_minimum : int
        Smallest withdrawal, in micro-USDC.
    faucet_amount : int
        What one claim of the faucet pays, in micro-USDC.
    faucet_pause : int
        Least time between two claims of an account.
    """

    price_interval: int = 3_000
    """Interval of oracle and mark prices and of premium samples."""
    sample_interval: int = 60_000
    """Interval of the equity samples of accounts with positions."""
    basis_samples: int = 50
    """Number of samples of mid − oracle in the mark price: 150 s."""
    book_samples: int = 10
    """Number of samples of the book's median price in the mark price: 30 s."""

    mark_band: int = 50 * PERCENT
    """Most distance of mark and oracle, as a part of the product's smallest maintenance rate. 0 = without limit."""
    usual_depth: int = 0
    """Usual notional of one side of a book within the band. 0 = that of the simulated market, if there is one."""
    open_interest_depths: int = 40
    """Largest open interest of a product, in usual depths. 0 = without limit."""

    impact_margin: int = 200 * USDC
    """Margin whose notional at the highest leverage measures impact prices."""
    impact_share: int = PERCENT
    """Part of the usual depth that this notional is at least."""
    premium_bound: int = PERCENT // 2
    """Largest premium of one sample, unless the mark's band is wider. 0 = any premium."""
    interest: int = PERCENT // 100
    """Interest rate of 8 hours."""
    funding_clamp: int = PERCENT // 20
    funding_cap: int = 2 * PERCENT
    """Largest absolute rate of one interval."""

    fee_tiers: list[FeeTier] = msgspec.field(default_factory=default_fee_tiers)
    volume_days: int = 30

    liquidation_stop: int = 95 * PERCENT
    """Margin ratio below which a liquidation ends."""
    liquidation_whole: int = 100_000 * USDC
    """Positions up to this notional are closed immediately, others in slices."""
    liquidation_slice: int = 20 * PERCENT
    liquidation_pause: int = 30_000
    """Time between two slices."""
    takeover_fee: int = PERCENT // 2
    """Part of the maintenance margin that the LP vault receives for a position it takes over."""
    lp_capital: int = 1_000_000 * USDC
    """Initial cash of the LP vault."""
    lp_leverage: int = 500
    """Largest notional the LP vault takes over, in hundredths of its equity."""
    lp_slice: int = 20_000 * USDC
    """Notional of each position that the LP vault offers at mark at a time. 0 = it keeps what it took over."""
    lp_pause: int = 60_000
    """Time between two slices of the LP vault."""

    withdrawal_minimum: int = int(MIN_WITHDRAWAL) * USDC
    faucet_amount: int = 500 * USDC
    faucet_pause: int = DAY


class Genesis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one venue begins.

    The same genesis and commands give the same bytes.

    Attributes
    ----------
    seed : int or str
        Seed of all chance. A public one is a number of up to 64 bits. A secret one is a text of 32 hexadecimal digits:
        its market does not reveal it (default: 7).
    time : int
        First time of the venue, Unix ms.
    products : list of dict of str to object
        Rows of ProductMeta, as the query `products` returns them.
    margin_tables : dict of int to list of dict of str to str
        Rows of riskLimitVo by table id.
    block_ms : int
        Length of a block in ms (default: 1000).
    config : Config
        Numbers of the venue that are a choice.
    settings : dict of str to object
        What the rules of other rooms read by name, such as the simulated market.
    """

    seed: int | str = 7
    time: int = GENESIS_TIME
    products: list[dict[str, Any]] = msgspec.field(default_factory=default_products)
    margin_tables: dict[int, list[dict[str, str]]] = msgspec.field(default_factory=default_margin_tables)
    prices: dict[int, str] = msgspec.field(default_factory=DEFAULT_PRICES.copy)
    """First index, mark and last price by product code, decimal text."""
    block_ms: int = 1000
    config: Config = msgspec.field(default_factory=Config)
    settings: dict[str, Any] = msgspec.field(default_factory=dict)


def check_seed(seed: int | str) -> int | str:
    """Return a seed, with the digits of a secret one in lower case.

    Parameters
    ----------
    seed : int or str
        Whole number of up to 64 bits, or 32 hexadecimal digits.

    Raises
    ------
    InputError
        For anything else.
    """
    if isinstance(seed, str) and re.fullmatch("[0-9a-fA-F]{32}", seed):
        return seed.lower()
    if isinstance(seed, int) and not isinstance(seed, bool) and -(1 << 63) <= seed < 1 << 64:
        return seed
    given = f"a text of {len(seed)} characters" if isinstance(seed, str) else repr(seed)  # which may be nearly a secret
    text = f"seed must be a whole number of up to 64 bits, or a text of 32 hexadecimal digits (secret), not {given}"
    raise InputError(text, field="seed", rule="64 bits or 32 digits")
