"""The signature and the help of queries, whole, as the declarations make them."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from toolkit.client.reads.info import Info
from toolkit.protocol.reads.info_queries import ENDPOINTS

FILLS = """\
Fills of an account, as a DataFrame.

Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
`frame.attrs['missing']` says why rows may be missing, or '', `['moved']` how many changed while they were read.
Source: docs/published.md, "Info API": GET /info/trade/page.

Parameters
----------
account : str, optional
    Account to read (default: the session's account).
symbol : str or int, optional
    Only this product (symbol or code).
order_id : int, optional
    Only fills of this order (a whole number from 0).
exec_id : int, optional
    Only this execution (a whole number from 0).
side : {"BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"} or int, optional
    Only this side (one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE).
role : {"MAKER", "TAKER"}, optional
    Only fills as maker or as taker (one of MAKER, TAKER).
page : int, optional
    Page number, from 1 (a whole number from 1 to 1000000000, default: all pages).
page_size : int, optional
    Rows on a page (a whole number from 1 to 500, default: 20).
start : int, float, str, date, datetime or timedelta, optional
    Rows at or after this time (Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday', UTC
    without a zone).
end : int, float, str, date, datetime or timedelta, optional
    Rows up to and including this time (Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday',
    UTC without a zone).
exact : bool, optional
    True gives Decimal (default: False, float64).
index : str, optional
    Column that becomes the index (default: none).
progress : bool, optional
    True shows a bar, False none (default: when the read takes long).

Returns
-------
DataFrame
    All rows, oldest first. With `page` or `page_size` one page, newest first. Columns with dtype and unit:

    - `id`: string. Id of the record
    - `time`: datetime64[ms, UTC], UTC. Time of the fill
"""
KLINES_LAST = """\
The latest candles of a product, as a DataFrame.

Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
Source: docs/published.md, "Info API": GET /info/kline/last.

Parameters
----------
symbol : str or int
    Product to read (symbol or code).
interval : str or timedelta
    Length of a candle in seconds ('1m', '4h', '1d' or a timedelta).
limit : int, optional
    Most candles to return (a whole number from 1 to 1000, default: 100).
exact : bool, optional
    True gives Decimal (default: False, float64).
index : str, optional
    Column that becomes the index (default: none).

Returns
-------
DataFrame
    Rows: newest first. Columns with dtype and unit:

    - `time`: datetime64[ms, UTC], UTC. Start of the candle
    - `open`: float64, USDC. Price of the first trade
"""
VAULT_HISTORY = """\
Total value or profit of a vault over time, as a DataFrame.

Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
Source: docs/published.md, "Info API": GET /info/vault/history.

Parameters
----------
vault : str
    Address of the vault (0x and 40 hex digits).
kind : {"tvl", "pnl"}, optional
    Total value or profit and loss (one of tvl, pnl, default: tvl).
interval : {"24h", "7d", "30d", "all-time"}, optional
    How far back (one of 24h, 7d, 30d, all-time, default: 24h).
exact : bool, optional
    True gives Decimal (default: False, float64).
index : str, optional
"""
TIME = "int | float | str | date | datetime | timedelta | None"
SIDE = 'Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"] | int | None'


@pytest.mark.parametrize(
    ("name", "begin"), [("fills", FILLS), ("klines_last", KLINES_LAST), ("vault_history", VAULT_HISTORY)]
)
def test_the_help_of_a_query_has_each_parameter_its_rule_and_its_default(name: str, begin: str) -> None:
    found = str(getattr(Info, name).__doc__)
    assert found[: len(begin)] == begin
    assert "annualised" not in found


def test_the_help_of_funding_rates_has_the_column_that_is_derived() -> None:
    lines = str(Info.funding_rate_history.__doc__).splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("    - `funding_rate`: "))
    derived = "    - `annualised`: float64, ratio per year. The rate if every interval of 365 days settled it"
    assert lines[at + 1] == derived
    assert sum("annualised" in line for line in lines) == 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "klines_last",
            {"symbol": ("str | int", ...), "interval": ("str | timedelta", ...), "limit": ("int", 100)}
            | {"exact": ("bool", False), "index": ("str | None", None)},
        ),
        (
            "fills",
            {"account": ("str | None", None), "symbol": ("str | int | None", None), "order_id": ("int | None", None)}
            | {"exec_id": ("int | None", None), "side": (SIDE, None)}
            | {"role": ('Literal["MAKER", "TAKER"] | None', None), "page": ("int | None", None)}
            | {"page_size": ("int | None", None), "start": (TIME, None), "end": (TIME, None)}
            | {"exact": ("bool", False), "index": ("str | None", None), "progress": ("bool | None", None)},
        ),
        (
            "vault_history",
            {"vault": ("str", ...), "kind": ('Literal["tvl", "pnl"]', "tvl")}
            | {"interval": ('Literal["24h", "7d", "30d", "all-time"]', "24h")}
            | {"exact": ("bool", False), "index": ("str | None", None)},
        ),
        (
            "referral_summary",
            {"account": ("str | None", None), "period": ('Literal["24h", "7d", "30d", "all"]', "all")}
            | {"start": (TIME, None), "end": (TIME, None), "exact": ("bool", False), "index": ("str | None", None)},
        ),
    ],
)
def test_a_query_takes_what_its_declaration_names(name: str, expected: dict[str, tuple[str, object]]) -> None:
    parameters = list(inspect.signature(getattr(Info, name)).parameters.values())[1:]
    empty = inspect.Parameter.empty
    found = {one.name: (one.annotation, ... if one.default is empty else one.default) for one in parameters}
    assert found == expected
    assert [one.name for one in parameters if one.kind is not one.KEYWORD_ONLY] == [
        each for each, (_, default) in expected.items() if default is ...
    ]


def test_the_stub_spells_out_what_every_query_takes() -> None:
    stub = ast.parse(Path(str(inspect.getsourcefile(Info))).with_suffix(".pyi").read_text(encoding="utf-8"))
    methods = next(one for one in stub.body if isinstance(one, ast.ClassDef)).body[1:]
    spelt = {}
    for method in methods:
        assert isinstance(method, ast.FunctionDef)
        given = method.args
        named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
        spelt[method.name] = {
            one.arg: (ast.dump(one.annotation or method), ast.literal_eval(value) if value else ...)
            for one, value in [*((one, None) for one in given.args[1:]), *named]
        }
    found = {}
    for name in ENDPOINTS:
        parameters = list(inspect.signature(getattr(Info, name)).parameters.values())[1:]
        found[name] = {
            one.name: (
                ast.dump(ast.parse(one.annotation, mode="eval").body),
                ... if one.default is one.empty else one.default,
            )
            for one in parameters
        }
    assert {name: given for name, given in spelt.items() if name in found} == found
