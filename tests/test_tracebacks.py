"""What a script's user sees of an error: the own lines and the sentence, or every frame where that is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from toolkit.__main__ import main
from toolkit.errors import InputError, ToolkitError
from toolkit.tracebacks import VARIABLE, trim

SENTENCE = (
    "toolkit.errors.CheckFailed: price 60000.05 is not a multiple of tickSize 0.1. The nearest is 60000.0 or 60000.1"
)
ORDER = 'buy("BTCUSDC", "0.01", price="60000.05")'
BEGIN = f"""\
import asyncio, logging, sys, traceback
import toolkit
from toolkit import orders, research
s = toolkit.connect(clock="manual")
class Wrong(research.Strategy):
    symbols = ("BTCUSDC",)
    def on_bar(self, ctx, bar):
        ctx.buy("BTCUSDC", "x")
async def main():
    await s.aio.{ORDER}
def on_update(live):
    s.{ORDER}
live = s.stream.ticker("BTCUSDC")
live.on_update(on_update)
s.venue.advance("1s")
history = {{"BTCUSDC": s.klines("BTCUSDC", "1m", start="2025-12-31", end="2025-12-31T01:00")}}
"""
IN_STRATEGY = ['ctx.buy("BTCUSDC", "x")'], "toolkit.errors.InputError: quantity 'x'"
CASES: dict[str, tuple[list[str], str]] = {
    f"s.{ORDER}": ([], SENTENCE),
    "s.exchange.place_order([{'a': 1}])": ([], "toolkit.errors.MalformedRequest: orders[0].a"),
    "toolkit.connect('nowhere')": ([], "toolkit.errors.InputError: environment 'nowhere'"),
    "orders.limit('BTCUSDC', 'BUY', 'x', '0.1')": ([], "toolkit.errors.InputError: quantity 'x'"),
    "s.info.fills(page='x')": ([], "toolkit.errors.MalformedRequest: page 'x'"),
    "s.venue.advance('x')": ([], "toolkit.errors.InputError: span 'x'"),
    "s.buy('BTCUSDC', '0.01').wait('canceled')": ([], "toolkit.errors.WaitFailed: not canceled"),
    "live.wait(lambda one: False, timeout=0)": ([], "toolkit.errors.StaleData: "),
    "toolkit.margin.liquidation_price('x', 1, 1, 1, [])": ([], "toolkit.errors.InputError: side is 'x'"),
    "s.ticket('NOPE')": ([], "toolkit.errors.UnknownProduct: no product 'NOPE'"),
    "s.wallet.from_keyfile('nowhere', 'x')": ([], "toolkit.errors.WalletError: key file nowhere"),
    "asyncio.run(main())": ([f"await s.aio.{ORDER}"], SENTENCE),
    "research.paper(Wrong, duration='5m')": IN_STRATEGY,
    "research.backtest(Wrong, history)": IN_STRATEGY,
    "research.live(Wrong, s, duration='5m', limits=toolkit.Limits())": IN_STRATEGY,
    "toolkit.connect('testnet', base_url='http://127.0.0.1:1', ws_url='ws://127.0.0.1:1').products()": (
        [],
        "toolkit.errors.NotSent: ",
    ),
}
"""Statement of a script → further lines that its traceback shows, and how its last line begins."""


def shown(code: str, tmp_path: Path, setting: str = "") -> str:
    """Return what a script writes to its standard error."""
    script = tmp_path / "script.py"
    script.write_text(BEGIN + code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=100, encoding="utf-8",
        env={**os.environ, VARIABLE: setting},
    )  # fmt: skip
    return done.stderr


def lines_of(text: str) -> list[str]:
    """Return the lines of code of a traceback, of which none may be the toolkit's."""
    kept = [line for line in text.splitlines() if line.strip(" ^~")]
    assert not [line for line in kept if line.startswith('  File "') and f"{os.sep}toolkit{os.sep}" in line], text
    return [kept[at + 1].strip() for at, line in enumerate(kept) if line.startswith('  File "') and "script.py" in line]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the traceback of each statement, as one script prints them in turn."""
    mark = "\n=====\n"
    blocks = [f"try:\n    {one}\nexcept Exception:\n    traceback.print_exc()\n" for one in CASES]
    blocks.append("traceback.print_exception(live.errors[0])\n")
    blocks.append(f"try:\n    s.{ORDER}\nexcept toolkit.ToolkitError:\n    logging.exception('refused')\n")
    told = shown(f"print({mark!r}, file=sys.stderr)\n".join(blocks), tmp_path_factory.mktemp("script")).split(mark)
    return dict(zip((*CASES, "callback", "log"), told, strict=True))


@pytest.mark.parametrize("statement", CASES)
def test_a_script_shows_its_own_lines_and_the_sentence(statement: str, told: dict[str, str]) -> None:
    further, sentence = CASES[statement]
    assert lines_of(told[statement]) == [statement, *further]
    last = [line for line in told[statement].splitlines() if line.startswith("toolkit.errors.")]
    assert last[-1].startswith(sentence)


def test_a_callback_of_the_feed_keeps_its_own_line(told: dict[str, str]) -> None:
    assert lines_of(told["callback"]) == [f"s.{ORDER}"]


def test_a_log_is_as_short(told: dict[str, str]) -> None:
    assert lines_of(told["log"]) == [f"s.{ORDER}"]
    assert told["log"].strip().splitlines()[0] == "ERROR:root:refused"


def test_a_cause_is_told_without_its_frames(told: dict[str, str]) -> None:
    assert "\nhttpx.ConnectError: " in told[next(one for one in CASES if "testnet" in one)]


def test_a_setting_shows_every_frame(tmp_path: Path) -> None:
    short, long = (shown(f"s.{ORDER}\n", tmp_path, setting) for setting in ("", "all"))
    assert short.splitlines()[1].endswith('script.py", line 17, in <module>')
    assert lines_of(short) == [f"s.{ORDER}"]
    assert long.count(f"{os.sep}toolkit{os.sep}") > 8
    assert short.splitlines()[-1] == long.splitlines()[-1] == SENTENCE


def test_the_command_line_prints_a_sentence_and_with_the_setting_raises(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["record", "nowhere", "--out", str(tmp_path / "out")]
    monkeypatch.setenv(VARIABLE, "")
    assert main(words) == 2
    assert capsys.readouterr().err.startswith("toolkit record: ")
    monkeypatch.setenv(VARIABLE, "all")
    with pytest.raises(InputError):
        main(words)


def test_notes_and_causes_stay_and_a_chain_may_be_a_circle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    cause, error = ValueError("cause"), ToolkitError("sentence")
    error.__cause__ = cause
    cause.__cause__ = error
    error.add_note("note")
    with pytest.raises(ToolkitError):
        raise error
    trim(error)
    text = "".join(traceback.format_exception(error))
    assert "test_tracebacks.py" in text
    assert text.endswith("sentence\nnote\n")
    assert "ValueError: cause" in text
