"""Funding rates and payments: queries and records. The exchange publishes no record of them.

Source: docs/published.md, "Info API".
"""

from dataclasses import replace

from ...fields import L
from ..endpoint import Endpoint
from ..rows import (
    Address,
    Code,
    Hash,
    Id,
    Money,
    Ms,
    PositionSideName,
    Price,
    Ratio,
    Row,
    SignedQuantity,
    Whole,
    optional,
)
from .parameters import ACCOUNT, PAGES_IN_TIME, SYMBOL


class FundingRate(Row, identity=("symbol",), source=L):
    """The running funding rate of a product."""

    symbol: Code | None = optional("symbol", "product symbol")
    funding_rate: Ratio | None = optional("fundingRate", "funding rate if the interval ended now", unit="per interval")
    last_funding_rate: Ratio | None = optional(
        "lastFundingRate", "funding rate of the last settlement", unit="per interval"
    )
    funding_interval: Whole | None = optional("fundingInterval", "time between settlements", unit="seconds")
    next_funding_time: Ms | None = optional("nextFundingTime", "time of the next settlement", ahead=True)
    mark_price: Price | None = optional("markPx", "mark price")
    oracle_price: Price | None = optional("oraclePx", "index price (oracle)")
    premium: Ratio | None = optional("premium", "time-weighted mean premium of the interval so far")
    time: Ms | None = optional("blockTime", "time of the response")


FUNDING_RATES = Endpoint(
    "funding_rates",
    "/info/fundingRate/current",
    "The current funding rate of each product",
    FundingRate,
    params=(SYMBOL,),
    order="by code",
)


class FundingRatePoint(Row, identity=("symbol", "fundingTime"), time="fundingTime", source=L):
    """A settled funding rate of a product."""

    time: Ms | None = optional("fundingTime", "time of the settlement")
    symbol: Code | None = optional("symbol", "product symbol")
    funding_rate: Ratio | None = optional(
        "fundingRate", "funding rate (longs pay a positive rate, shorts receive it)", unit="per interval"
    )
    premium: Ratio | None = optional("premium", "time-weighted mean premium of the interval")
    mark_price: Price | None = optional("markPx", "mark price used for the settlement")
    oracle_price: Price | None = optional("oraclePx", "index price (oracle)")
    funding_interval: Whole | None = optional("fundingInterval", "length of the funding interval", unit="seconds")


FUNDING_RATE_HISTORY = Endpoint(
    "funding_rate_history",
    "/info/fundingRate/history",
    "Settled funding rates of a product",
    FundingRatePoint,
    params=(replace(SYMBOL, required=True), *PAGES_IN_TIME),
    shape="paged",
    order="newest first",
)


class FundingPayment(Row, identity=("id",), time="fundingTime", source=L):
    """A funding payment of an account."""

    id: Id | None = optional("id", "id of the payment", json="integer")
    time: Ms | None = optional("fundingTime", "time of the settlement")
    symbol: Code | None = optional("symbol", "product symbol")
    side: PositionSideName | None = optional("posSide", "direction of the position: LONG or SHORT")
    size: SignedQuantity | None = optional("posSize", "size of the position")
    funding_rate: Ratio | None = optional(
        "fundingRate", "funding rate (longs pay a positive rate, shorts receive it)", unit="per interval"
    )
    amount: Money | None = optional("fundingFee", "funding received (negative if paid)")
    tx_hash: Hash | None = optional("txHash", "hash of the transaction")
    account: Address | None = optional("userAddr", "address of the account")


FUNDING_PAYMENTS = Endpoint(
    "funding_payments",
    "/info/funding/history",
    "Funding payments of an account",
    FundingPayment,
    params=(ACCOUNT, SYMBOL, *PAGES_IN_TIME),
    shape="paged",
    order="newest first",
)
