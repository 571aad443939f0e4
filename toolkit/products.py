"""Product: one listed market, with its exact steps and limits.

Text and Decimal face the user; the integers beside them are what the venue counts in: prices in ticks, quantities in
steps, money in micro-USDC. `unit` is the money of one tick times one step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from .errors import InputError

MICRO = 1_000_000
"""Micro-USDC in one USDC."""


@dataclass(frozen=True, slots=True)
class Tier:
    """One row of a margin table: from `floor` (USDC notional, included) on, this rate and leverage limit hold."""

    floor: Decimal
    maintenance_rate: Decimal
    max_leverage: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One listed market. Fields follow ProductMeta (venue-facts, "Records"); rates are ratios, amounts USDC."""

    code: int
    symbol: str
    name: str
    tick_size: Decimal
    step_size: Decimal
    price_precision: int
    quantity_precision: int
    max_leverage: Decimal
    max_order_quantity: Decimal
    min_order_value: Decimal
    max_slippage_pct: Decimal
    max_position_notional: Decimal
    funding_interval: int
    """Seconds between funding settlements."""
    maker_fee_rate: Decimal
    taker_fee_rate: Decimal
    margin_table_id: int
    tiers: tuple[Tier, ...]
    list_status: str = "listed"
    only_isolated: bool = False
    product_type: str = "perpetual"
    base_currency: str = ""
    quote_currency: str = "USDC"
    settle_currency: str = "USDC"
    currency_code: int = 1

    unit: int = field(init=False, repr=False)
    """Micro-USDC of one tick times one step."""
    max_steps: int = field(init=False, repr=False)
    """max_order_quantity in steps."""
    min_value: int = field(init=False, repr=False)
    """min_order_value in micro-USDC."""
    max_notional: int = field(init=False, repr=False)
    """max_position_notional in micro-USDC."""

    def __post_init__(self) -> None:
        unit = self.tick_size * self.step_size * MICRO
        if self.tick_size <= 0 or self.step_size <= 0 or unit < 1 or unit != int(unit):
            raise InputError(
                f"{self.symbol}: tickSize {self.tick_size} x stepSize {self.step_size} is no multiple of 0.000001",
                field="tickSize",
                rule="exact money",
                value=str(self.tick_size),
            )
        put = object.__setattr__
        put(self, "unit", int(unit))
        put(self, "max_steps", int(self.max_order_quantity / self.step_size))
        put(self, "min_value", int(self.min_order_value * MICRO))
        put(self, "max_notional", int(self.max_position_notional * MICRO))

    @property
    def listed(self) -> bool:
        """True while orders are taken."""
        return self.list_status == "listed"

    def price_text(self, ticks: int) -> str:
        """Return a price in ticks as decimal text, with the decimals of tick_size: 600000 → "60000.0"."""
        return format(self.tick_size * ticks, "f")

    def quantity_text(self, steps: int) -> str:
        """Return a quantity in steps as decimal text, with the decimals of step_size."""
        return format(self.step_size * steps, "f")

    @classmethod
    def from_row(cls, row: Mapping[str, Any], tiers: Sequence[Mapping[str, Any]]) -> Product:
        """Build a product from its ProductMeta row and the `riskLimitVo` rows of its margin table."""
        return cls(
            code=int(row["code"]),
            symbol=str(row["symbol"]),
            name=str(row.get("name") or row["symbol"]),
            tick_size=Decimal(str(row["tickSize"])),
            step_size=Decimal(str(row["stepSize"])),
            price_precision=int(row["pricePrecision"]),
            quantity_precision=int(row["qtyPrecision"]),
            max_leverage=Decimal(str(row["maxLeverage"])),
            max_order_quantity=Decimal(str(row["maxOrderQty"])),
            min_order_value=Decimal(str(row["minOrderValue"])),
            max_slippage_pct=Decimal(str(row["maxSlippagePct"])),
            max_position_notional=Decimal(str(row["maxPositionNtnl"])),
            funding_interval=int(row["fundingInterval"]),
            maker_fee_rate=Decimal(str(row["defaultMakerFeeRate"])),
            taker_fee_rate=Decimal(str(row["defaultTakerFeeRate"])),
            margin_table_id=int(row["marginTableId"]),
            tiers=tuple(
                Tier(
                    Decimal(str(tier["minimumValue"])),
                    Decimal(str(tier["maintainMarginRatio"])),
                    Decimal(str(tier["maxLeverage"])),
                )
                for tier in tiers
            ),
            list_status=str(row.get("listStatus", "listed")),
            only_isolated=bool(row.get("onlyIsolated", False)),
            product_type=str(row.get("productType", "perpetual")),
            base_currency=str(row.get("baseCurrency", "")),
            quote_currency=str(row.get("quoteCurrency", "USDC")),
            settle_currency=str(row.get("settleCurrency", "USDC")),
            currency_code=int(row.get("currencyCode", 1)),
        )
