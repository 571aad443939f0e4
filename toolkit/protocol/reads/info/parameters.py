"""Parameters that several Info queries take."""

from dataclasses import replace

from ...fields import INT64_MAX, INT64_MIN
from ..endpoint import Param

ACCOUNT = Param("userAddr", "account", "address", "account to read", required=True, fill="account", ties="account")
OWNER = replace(ACCOUNT, ties="")
"""The account, where the rows of the answer do not name it."""
SYMBOL = Param("symbol", "symbol", "code", "only this product", ties="symbol")
SYMBOL_NAME = Param("symbol_name", "symbol", "symbol", "product to read", required=True, ties="symbol")
INTERVAL = Param(
    "interval", "interval", "integer", "length of a candle in seconds", required=True, low=60, high=604_800,
    multiple=60, ties="interval",
)  # fmt: skip
LIMIT = Param("limit", "limit", "integer", "most candles to return", default=100, low=1, high=1000)
CURRENCY = Param("currency", "currency", "integer", "only this currency, 1 is USDC", low=0, high=2**31)
SIDE = Param("side", "side", "enum", "only this side", enum="order_side")
PAGE = Param("page", "page", "page", "page number, from 1", default=1, low=1, high=10**9)
PAGE_SIZE = Param("pageSize", "page_size", "page", "rows on a page", default=20, low=1, high=500)
SIZE = Param("size", "page_size", "page", "rows on a page", default=10, low=1, high=500)
START = Param("startTime", "start", "time", "rows at or after this time", ties="time")
END = Param("endTime", "end", "time", "rows up to and including this time", ties="time")
PAGES = (PAGE, PAGE_SIZE)
PAGES_IN_TIME = (*PAGES, START, END)
VAULT_ADDRESS = Param("vaultAddress", "vault", "address", "address of the vault", required=True, ties="vault")
ORDER_ID = Param("orderId", "order_id", "integer", "only this order", ties="order_id")
CLIENT_ORDER_ID = Param(
    "clientOrderId", "client_order_id", "integer", "only this client order id", low=INT64_MIN, high=INT64_MAX,
    ties="client_order_id",
)  # fmt: skip
DEPOSITOR = Param("userAddress", "account", "address", "account whose deposits are shown", fill="account")
