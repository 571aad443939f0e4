"""What columns, dtypes and index each table has, with rows and without, as floats and exact."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from operator import attrgetter
from typing import Any

import pandas as pd

import toolkit
from tests.frozen.story import Story
from tests.research.backtesting.known_runs import Everything, whole_bars
from toolkit import report
from toolkit.client.stream.live import Live
from toolkit.research import Results, backtest
from toolkit.session import Session

Read = Callable[..., pd.DataFrame]
Shape = dict[str, str]
"""Column → dtype. A level of the index has "index" before its name."""

TABLES = (
    "products", "products.margin_tables", "products.currencies", "klines", "ticker", "tickers", "order_book", "trades",
    "funding_rates", "fee_rates", "positions", "orders", "fills", "wallet_balances", "intents", "parent_orders",
    "permissions", "what_if",
)  # fmt: skip
"""Tables of a session, besides those of `session.info`."""
ARGUMENTS: dict[str, Any] = {
    "symbol": "BTCUSDC", "interval": "1h", "start": "2026-01-01T00:00:00Z", "end": "2026-01-01T12:00:00Z", "height": 1,
    "agent_name": "toolkit-bcd4042d", "shock": "-0.1",
}  # fmt: skip
"""Values of parameters that have no default. Those that the story gives are added."""
MORE: dict[str, dict[str, Any]] = {
    "info.builder_agents": {"include_expired": True},
    "info.funding_rate_history": {"start": ARGUMENTS["start"]},
    "klines": {"limit": 3},
    "permissions": {"ended": True},
}
"""Arguments with which a table has rows, but not thousands."""
BEFORE = {"start": "2001-01-01", "end": "2001-01-02"}
NONE: dict[str, dict[str, Any]] = {
    "klines": BEFORE,
    "info.funding_rate_history": BEFORE,
    "info.klines": BEFORE,
    "info.klines_before": {"before": "2001-01-01"},
    "info.block": {"height": 2},
    "info.products": {"list_status": "delisted"},
    "info.transaction": {"tx_hash": "0x" + "0" * 64},
}
"""Arguments with which a table has no rows, also for those who have done something."""


def dtype_of(values: pd.Series[Any] | pd.Index[Any]) -> str:
    """Return a dtype as all supported versions of pandas write it.

    Before pandas 3 the texts of research are `object`, since then `str`. Where the toolkit leaves the unit of times to
    pandas, it is ns before, us since. An empty column of objects does not say of what.
    """
    if str(values.dtype) not in ("object", "str"):
        return re.sub(r"\[(us|ns)\b", "[us or ns", str(values.dtype))
    kinds = {type(one).__name__ for one in values if isinstance(one, list | tuple | dict) or not pd.isna(one)}
    return f"object of {' or '.join(sorted(kinds))}" if kinds else "object"


def shape(table: pd.DataFrame) -> Shape:
    """Return the dtypes of the index and the columns of a table."""
    levels = [table.index.get_level_values(number) for number in range(table.index.nlevels)]
    index = {f"index {level.name}": dtype_of(level) for level in levels}
    return index | {str(name): dtype_of(table[name]) for name in table.columns}


def difference(found: Shape, base: Shape) -> Shape | str:
    """Return the dtypes that differ from those of `base`, all of them if the names do, and "same" if nothing does."""
    if list(found) != list(base):
        return found
    return {name: dtype for name, dtype in found.items() if dtype != base[name]} or "same"


def described(full: Read, empty: Read) -> dict[str, Shape | str]:
    """Return the shape of a table with rows, and what is otherwise where it is exact or has no rows."""
    takes_exact = "exact" in inspect.signature(full).parameters
    rows = {"floats": full(), **({"exact": full(exact=True)} if takes_exact else {})}
    if not len(rows["floats"]):
        return {"empty": shape(rows["floats"])}
    floats = shape(rows["floats"])
    found: dict[str, Shape | str] = {"floats": floats}
    if takes_exact:
        found["exact"] = difference(shape(rows["exact"]), floats)
    for kind, table in rows.items():
        none = empty(exact=True) if kind == "exact" else empty()
        if not len(none):
            found[f"empty {kind}"] = difference(shape(none), _without_values(shape(table)))
    return found


def _without_values(found: Shape) -> Shape:
    return {name: dtype.partition(" of ")[0] for name, dtype in found.items()}


def tables(story: Story) -> dict[str, dict[str, Shape | str]]:
    """Return the shape of every table. It goes on with the story, because live objects have only what comes."""
    return {**_reads(story), **_others(story), **_results(), **_live(story)}


def public(kind: type) -> list[str]:
    """Return the names of public methods, in alphabetical order."""
    return [name for name in dir(kind) if name[0] != "_" and inspect.isfunction(inspect.getattr_static(kind, name))]


def queries(session: Session) -> list[str]:
    """Return the names of the queries, as `info.fills`."""
    return [f"info.{one}" for one in public(type(session.info))]


def given(story: Story) -> dict[str, Any]:
    """Return the values of parameters that have no default."""
    latest = story.trader.info.transactions(page_size=1)["tx_hash"][0]
    return {**ARGUMENTS, "vault": story.vault, "tx_hash": latest}


def read(name: str, known: Mapping[str, Any], session: Session) -> Read:
    """Return a table of a session, to be called with what is left."""
    method: Read = attrgetter(name)(session)
    parameters = inspect.signature(method).parameters.values()
    needed = {one.name: known[one.name] for one in parameters if one.default is one.empty}
    return partial(method, **needed, **MORE.get(name, {}))


def _reads(story: Story) -> dict[str, dict[str, Shape | str]]:
    """Describe the tables of sessions, each of the first session that has rows, and without rows of the stranger."""
    known, found = given(story), {}
    for name in (*TABLES, *queries(story.trader)):
        full = next(one for session in story.sessions if len((one := read(name, known, session))()))
        none = read(name, known, story.stranger)
        found[name] = described(full, partial(none, **NONE.get(name, {})))
    return found


def _others(story: Story) -> dict[str, dict[str, Shape | str]]:
    """Describe the tables of receipts, parent orders, builders and reports."""
    [parent] = story.trader.parent_orders().index
    traders = toolkit.Builder(story.builder).traders
    found = {
        "Receipt.events": described(story.receipt.events, story.receipt.events),
        "ParentOrder.children": described(*[story.trader.parent_orders.get(parent).children] * 2),
        "Builder.traders": described(partial(traders, ended=True), toolkit.Builder(story.leader).traders),
    }
    full, none = (report.account_frames(session, day="2026-01-01") for session in (story.trader, story.builder))
    return found | {f"report.account_frames {name}": described(full[name].copy, none[name].copy) for name in full}


def _results() -> dict[str, dict[str, Shape | str]]:
    """Describe the tables of a backtest in which much happens, and of one in which nothing does."""
    bars = {"BTCUSDC": whole_bars(2, 140, 600_000, wild=300)}
    much, nothing = (backtest(Everything(2, rate), bars, capital="250.5", leverage=20) for rate in (0.5, 0.0))
    names = [one.name for one in fields(Results) if one.type == "pd.DataFrame"]
    names += ["exposure", "round_trips", "attribution"]
    return {f"Results.{name}": described(getattr(much, name).copy, getattr(nothing, name).copy) for name in names}


def _live(story: Story) -> dict[str, dict[str, Shape | str]]:
    """Describe the tables of live objects, after more has happened to the trader."""
    methods = [name for name in public(type(story.trader.stream)) if _is_live(story.trader, name)]
    full, none = ([_opened(session, name) for name in methods] for session in (story.trader, story.stranger))
    story.trader.close_position("BTCUSDC")
    story.venue.advance("20m")
    opened = zip(methods, full, none, strict=True)
    return {f"stream.{name}": described(live.frame, unused.frame) for name, live, unused in opened}


def _is_live(session: Session, name: str) -> bool:
    """Whether a method of the stream gives a live object."""
    return str(inspect.signature(getattr(session.stream, name)).return_annotation).startswith("Live")


def _opened(session: Session, name: str) -> Live:
    method = getattr(session.stream, name)
    made: Live = method(*["BTCUSDC"] * ("symbol" in inspect.signature(method).parameters))
    return made
