"""Products, margin tables and currencies: the lists and their records.

Source: specification, "Product metadata", and docs/published.md, "Info API".
"""

from dataclasses import replace

from ...fields import L, S
from ..endpoint import Endpoint, Param
from ..rows import Flag, Money, Price, Quantity, Ratio, Row, Symbol, Text, Whole, optional, required
from .parameters import SYMBOL


class ProductMeta(Row, identity=("code",)):
    """A product with its limits and fees."""

    symbol: Symbol = required("symbol", "product symbol, such as BTCUSDC", source=S)
    code: Whole = required("code", "product code, used in orders", json="string", source=S)
    name: Text | None = optional("name", "display name of the product")
    list_status: Text | None = optional("listStatus", "`listed` while the venue accepts orders")
    tick_size: Price = required("tickSize", "minimum price increment", source=S)
    step_size: Quantity = required("stepSize", "minimum quantity increment", source=S)
    price_precision: Whole | None = optional(
        "pricePrecision", "display and input precision of prices", unit="decimals", source=S
    )
    quantity_precision: Whole | None = optional(
        "qtyPrecision", "display and input precision of quantities", unit="decimals", source=S
    )
    min_order_value: Money = required(
        "minOrderValue", "smallest notional of an order that may open a position", source=S
    )
    max_order_quantity: Quantity | None = optional("maxOrderQty", "largest quantity of one order", json="integer")
    max_position_notional: Money | None = optional(
        "maxPositionNtnl", "largest notional of a position with its open orders", json="integer"
    )
    max_leverage: Ratio | None = optional(
        "maxLeverage", "highest leverage that can be set", unit="x", json="integer", source=S
    )
    max_slippage: Ratio | None = optional("maxSlippagePct", "largest slippage of a market order", source=S)
    maker_fee_rate: Ratio | None = optional("defaultMakerFeeRate", "maker fee rate before volume discounts")
    taker_fee_rate: Ratio | None = optional("defaultTakerFeeRate", "taker fee rate before volume discounts")
    funding_interval: Whole | None = optional("fundingInterval", "time between funding settlements", unit="seconds")
    margin_table: Whole | None = optional("marginTableId", "number of the product's margin table", source=L, sent=True)
    only_isolated: Flag | None = optional("onlyIsolated", "true if the product has isolated margin only")
    product_type: Text | None = optional("productType", "kind of product (always perpetual)")
    base_currency: Text | None = optional("baseCurrency", "currency of the quantity")
    quote_currency: Text | None = optional("quoteCurrency", "currency of prices")
    settle_currency: Text | None = optional("settleCurrency", "currency in which profit and fees are settled")
    currency_code: Whole | None = optional("currencyCode", "number of the settlement currency (1 is USDC)")


class MarginTier(Row, identity=("tableId", "minimumValue")):
    """A tier of a margin table."""

    table: Whole = required("tableId", "number of the margin table, as in a product's margin_table")
    floor: Money = required("minimumValue", "notional above which the tier applies")
    maintenance_rate: Ratio = required("maintainMarginRatio", "maintenance margin as a fraction of the notional")
    max_leverage: Ratio | None = optional(
        "maxLeverage", "highest leverage of a position in this tier", unit="x", json="integer"
    )


class Currency(Row, identity=("code",)):
    """A currency."""

    currency: Text | None = optional("currency", "name of the currency, such as USDC")
    code: Whole = required("code", "number of the currency (1 is USDC)", json="integer")
    name: Text | None = optional("name", "display name of the currency")
    wallet_precision: Whole | None = optional("walletPrecision", "decimals of balances", unit="decimals")
    display_precision: Whole | None = optional("displayPrecision", "decimals to show", unit="decimals")


class ProductList(Row):
    """The members of the product list's data other than its rows."""

    checksum: Text | None = optional("md5Checksum", "MD5 of the list, which changes with it")


PRODUCTS = Endpoint(
    "products",
    "/info/public/product-meta",
    "All products with their limits, margin tables and fees",
    ProductMeta,
    params=(Param("listStatus", "list_status", "enum", "only products with this listing status", enum="list_status"),),
    shape="one",
    items="perpProducts",
    order="by code",
    beside=ProductList,
)


PRODUCT = Endpoint(
    "product",
    "/info/single",
    "One product with its limits, margin table and fees",
    ProductMeta,
    params=(replace(SYMBOL, required=True, ties="code"),),
    shape="one",
    items="perpProducts",
    beside=ProductList,
)
