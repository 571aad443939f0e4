"""`toolkit mcp`: which session an agent gets, and what a file of limits may say."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from toolkit.cli.mcp import configure, open_for_agents, read_limits
from toolkit.errors import InputError
from toolkit.limits import Limits
from toolkit.venue import development


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    configure(parser)
    return parser.parse_args(words)


def written(folder: Path, text: str) -> Path:
    path = folder / "limits.toml"
    path.write_text(text)
    return path


def test_a_file_of_limits_has_the_names_of_the_class(tmp_path: Path) -> None:
    text = 'max_notional = 5000\nmax_daily_loss = 200.5\nsymbols = ["BTCUSDC"]\n[max_position]\nBTCUSDC = 0.05\n'
    expected = Limits(max_notional=5000, max_daily_loss=200.5, symbols=("BTCUSDC",), max_position={"BTCUSDC": 0.05})
    assert read_limits(written(tmp_path, text)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_notionl = 1", "there is no limit 'max_notionl'. There are max_notional, "),
        ("max_notional = -1", "max_notional is -1. Give a number above 0"),
        ('symbols = "BTCUSDC"', "symbols is 'BTCUSDC'. Give several"),
        ("max_notional 5", "is no TOML file"),
    ],
)
def test_a_wrong_file_of_limits_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_limits(written(tmp_path, text))


@pytest.mark.parametrize("text", [None, "max_orders_per_minute = 5"])
def test_testnet_needs_limits_that_bound_positions(tmp_path: Path, text: str | None, monkeypatch: Any) -> None:
    monkeypatch.setenv("TOOLKIT_AGENT_KEY", development.account(10).key.hex())
    words = [] if text is None else ["--limits", str(written(tmp_path, text))]
    with pytest.raises(InputError, match="an agent on testnet needs limits: --limits FILE"):
        open_for_agents(parsed("--env", "testnet", *words))
    with open_for_agents(parsed("--env", "testnet", "--limits", str(written(tmp_path, "max_notional = 5")))) as session:
        assert session.environment.name == "testnet"
        assert session.limits.values == Limits(max_notional=5)


def test_mainnet_is_opened_without_keys(monkeypatch: Any) -> None:
    monkeypatch.setenv("TOOLKIT_AGENT_KEY", development.account(10).key.hex())
    with open_for_agents(parsed("--env", "mainnet", "--account", development.account(0).address)) as session:
        assert session.wallet is None
