"""Statements: the opening balance plus each change is the closing balance, and each change has its run."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import toolkit
from toolkit import research
from toolkit.errors import BadAnswer
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"


def trades(ctx: Any, bar: Any) -> None:
    ctx.target(BTC, "0" if ctx.position(BTC) else "0.02")


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path))
    with LocalVenue(clock="manual") as venue, toolkit.connect(venue=venue) as made:
        made.buy(BTC, "0.01")
        research.live(trades, made, [BTC], limits=toolkit.Limits(), duration="10m", name="carry")
        venue.advance("8h")
        yield made


def test_the_rows_of_a_statement_add_up_and_have_their_run(session: Any, tmp_path: Path) -> None:
    rows = session.statement()
    closing = Decimal(rows.attrs["closing"])
    assert Decimal(rows.attrs["opening"]) + rows["amount"].sum() == closing
    assert closing == session.wallet_balances(exact=True)["balance"].iloc[0]
    assert set(rows["kind"]) == {"DEPOSIT", "TRADING_FEE", "REALIZED_PNL", "FUNDING"}
    by_run = rows.groupby("run")["amount"].sum()
    fills = session.fills(exact=True)
    own = fills.iloc[1:]
    assert by_run["carry"] == (own["realized_pnl"] - own["fee"]).sum()
    assert by_run.sum() == closing
    rows.to_csv(tmp_path / "statement.csv")
    rows.to_parquet(tmp_path / "statement.parquet")


def test_statements_of_parts_join_without_a_gap(session: Any) -> None:
    whole = session.statement()
    cut = whole["time"].iloc[len(whole) // 2]
    parts = [session.statement("2025-12-31", cut), session.statement(cut + pd.Timedelta("1ms"))]
    assert parts[0].attrs["closing"] == parts[1].attrs["opening"]
    assert sum(map(len, parts)) == len(whole)
    later = session.statement("2026-01-01T08:00:01Z")
    assert later.empty
    assert later.attrs["opening"] == later.attrs["closing"] == whole.attrs["closing"]
    assert session.statement("2025-01-01", "2025-02-01").attrs["closing"] == "0"


def test_entries_that_are_missing_are_an_error(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = session.info.ledger(exact=True)
    monkeypatch.setattr(type(session.info), "ledger", lambda *_, **__: rows.drop(index=2).reset_index(drop=True))
    with pytest.raises(BadAnswer, match="Entries may be missing"):
        session.statement()
