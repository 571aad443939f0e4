"""The options of every command: their defaults, types and choices; the exit codes; and the help."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import Any

import pytest

from toolkit import __main__ as program
from toolkit.__main__ import COMMANDS, build_parser, main
from toolkit.errors import InputError

SERVED: dict[str, Any] = {
    "port": 8645, "seed": None, "start": None, "speed": 1.0, "no_market": False, "host": "127.0.0.1",
    "allow_remote": False, "allow_host": [], "allow_origin": [], "connections_per_ip": None, "log": False,
    "claims_per_ip": None,
}  # fmt: skip
"""Defaults of what serves a venue."""
DEFAULTS: list[tuple[str, dict[str, Any]]] = [
    ("quickstart", {"seed": 7, "plot": Path("quickstart-equity.png"), "no_plot": False}),
    ("lab", {"folder": "walkthroughs", "no_browser": False}),
    ("learn", {"folder": "walkthroughs", "without_solutions": False, "overwrite": False}),
    ("venue", {
        "trouble": None,
        **SERVED, "accounts": None, "balance": "10000", "mnemonic": None, "keys_file": None, "print_keys": False,
        "clock": "real", "journal": None, "sync": "full", "catch_up": "simulate", "recover": False, "control": False,
        "fault": [], "market": "usual", "follow": None, "symbols": None, "when_stale": "pause",
        "check": False, "settle_delay": "0ms", "open": [],
    }),
    ("class", {
        **SERVED, "students": 0, "names": None, "balance": "10000", "separate": False, "journal": None, "links": None,
        "least_trades": None, "open": [],
    }),
    ("grade handed-in", {
        "folder": Path("handed-in"), "checks": None, "seconds": 120.0, "memory": 2048, "jobs": None, "seed": None,
        "files": None,
        "container": "", "trust_students": False, "report": None, "feedback": None, "canvas": None, "moodle": None,
        "title": "Grade",
    }),
    ("mcp", {"env": "local", "limits": None, "url": None, "account": None, "clock": "manual", "seed": 7}),
    ("run a.py", {
        "file": Path("a.py"), "name": None, "which": None, "env": "testnet", "url": None, "account": None,
        "limits": None, "set": [], "symbols": None, "interval": "1m", "duration": None, "warm_up": 0,
        "close_at_end": False, "notify": None, "heartbeat": None, "log": None,
    }),
    ("runs", {"what": None, "name": None, "flatten": False, "wait": 60.0, "out": None, "lines": 40, "port": 8647}),
    ("record testnet", {
        "url": "testnet", "ws_url": None, "out": Path("recording"), "symbols": None, "channels": None, "depth": 20,
        "exact": False, "duration": None, "rows_per_file": 50_000, "flush": "5m",
    }),
    ("export a.ipynb", {"notebook": Path("a.ipynb"), "out": None}),
    ("sign --env local --key-env K", {"env": "local", "key_env": "K"}),
    ("verify --env testnet", {"env": "testnet"}),
    ("agent renew", {
        "what": "renew", "env": "testnet", "base_url": None, "account": None, "agent": None, "days": 7.0,
        "agent_key_env": "TOOLKIT_AGENT_KEY", "master_key_env": "TOOLKIT_MASTER_KEY",
    }),
    ("doctor", {
        "env": "local", "base_url": None, "ws_url": None, "keyfile": None, "keyring": None,
        "agent_key_env": "TOOLKIT_AGENT_KEY", "master_key_env": "TOOLKIT_MASTER_KEY", "account": None,
        "timeout": 5.0,
    }),
]  # fmt: skip
GIVEN: list[tuple[str, dict[str, Any]]] = [
    ("quickstart --seed 8 --plot x.png --no-plot", {"seed": 8, "plot": Path("x.png"), "no_plot": True}),
    ("lab mine --no-browser", {"folder": "mine", "no_browser": True}),
    ("learn mine --without-solutions --overwrite", {"folder": "mine", "without_solutions": True, "overwrite": True}),
    ("venue --port 1 --seed 2 --start 3 --speed 4.5 --no-market --host h --allow-remote --log --accounts 6 --balance 7",
     {"port": 1, "seed": 2, "start": "3", "speed": 4.5, "no_market": True, "host": "h", "allow_remote": True,
      "log": True, "accounts": 6, "balance": "7"}),
    ("venue --allow-host a --allow-host b --allow-origin c --allow-origin d --connections-per-ip 5 --claims-per-ip 6",
     {"allow_host": ["a", "b"], "allow_origin": ["c", "d"], "connections_per_ip": 5, "claims_per_ip": 6}),
    ("venue --open usdSend", {"open": ["usdSend"]}),
    ("venue --mnemonic random --keys-file k --print-keys --clock manual --journal j --sync os --catch-up skip",
     {"mnemonic": "random", "keys_file": "k", "print_keys": True, "clock": "manual", "journal": "j", "sync": "os",
      "catch_up": "skip"}),
    ("venue --recover --control --fault refuse --fault garbage --market calm --check --settle-delay 1s",
     {"recover": True, "control": True, "fault": ["refuse", "garbage"], "market": "calm", "check": True,
      "settle_delay": "1s"}),
    ("venue --follow testnet --symbols A B --when-stale continue",
     {"follow": "testnet", "symbols": ["A", "B"], "when_stale": "continue"}),
    ("class --students 3 --names n --balance 5 --separate --journal j --links l --open faucet vaults --port 0",
     {"students": 3, "names": Path("n"), "balance": "5", "separate": True, "journal": "j", "links": Path("l"),
      "open": ["faucet", "vaults"], "port": 0}),
    ("grade f --checks c.py --seconds 1.5 --memory 64 --jobs 2 --seed 9 --container i --trust-students --title T",
     {"checks": Path("c.py"), "seconds": 1.5, "memory": 64, "jobs": 2, "seed": 9, "container": "i",
      "trust_students": True, "title": "T"}),
    ("grade f --report r --feedback b --canvas c --moodle m",
     {"report": Path("r"), "feedback": Path("b"), "canvas": Path("c"), "moodle": Path("m")}),
    ("mcp --env testnet --limits l --url u --account 3 --clock real --seed 4",
     {"env": "testnet", "limits": Path("l"), "url": "u", "account": "3", "clock": "real", "seed": 4}),
    ("run f.py --name n --class C --env local --url u --account 3 --limits l --set a=1 --set b=2 --symbols A B",
     {"file": Path("f.py"), "name": "n", "which": "C", "env": "local", "url": "u", "account": "3", "limits": Path("l"),
      "set": ["a=1", "b=2"], "symbols": ["A", "B"]}),
    ("run f.py --interval 5m --duration 8h --warm-up 9 --close-at-end --notify ntfy://t --log l",
     {"interval": "5m", "duration": "8h", "warm_up": 9, "close_at_end": True, "notify": "ntfy://t", "log": Path("l")}),
    ("runs stop n --flatten --wait 2", {"what": "stop", "name": "n", "flatten": True, "wait": 2.0}),
    ("runs report n --out o --lines 3", {"what": "report", "out": Path("o"), "lines": 3}),
    ("record u --ws-url w --out o --symbols A B --channels c d --depth 5 --exact --duration 10m --rows-per-file 9",
     {"url": "u", "ws_url": "w", "out": Path("o"), "symbols": ["A", "B"], "channels": ["c", "d"], "depth": 5,
      "exact": True, "duration": "10m", "rows_per_file": 9}),
    ("record u --flush 1m", {"flush": "1m"}),
    ("export n --out p", {"notebook": Path("n"), "out": Path("p")}),
    ("agent renew --env local --base-url b --account 3 --agent a --days 2 --agent-key-env A --master-key-env M",
     {"what": "renew", "env": "local", "base_url": "b", "account": "3", "agent": "a", "days": 2.0, "agent_key_env": "A",
      "master_key_env": "M"}),
    ("doctor --env mainnet --base-url b --ws-url w --keyfile k --keyring r --agent-key-env A --master-key-env M",
     {"env": "mainnet", "base_url": "b", "ws_url": "w", "keyfile": Path("k"), "keyring": "r", "agent_key_env": "A",
      "master_key_env": "M"}),
    ("doctor --account x --timeout 0.5", {"account": "x", "timeout": 0.5}),
]  # fmt: skip


def parsed(line: str) -> dict[str, Any]:
    command, *words = line.split()
    found = vars(build_parser(command).parse_args([command, *words]))
    assert found.pop("command") == command
    return found


@pytest.mark.parametrize(("line", "values"), DEFAULTS, ids=[line.split()[0] for line, _ in DEFAULTS])
def test_a_command_without_options_has_its_documented_defaults(line: str, values: dict[str, Any]) -> None:
    assert parsed(line) == values


@pytest.mark.parametrize(("line", "values"), GIVEN, ids=[line for line, _ in GIVEN])
def test_options_are_read_with_their_types(line: str, values: dict[str, Any]) -> None:
    found = parsed(line)
    assert {name: found[name] for name in values} == values
    assert {name: type(found[name]) for name in values} == {name: type(value) for name, value in values.items()}


@pytest.mark.parametrize(
    "line",
    [
        *("grade", "record", "export", "sign --env local", "sign --key-env K", "verify", "sign --env x --key-env K"),
        *("venue --clock fast", "venue --sync no", "venue --catch-up no", "venue --market wild", "venue --wire x"),
        "venue --open placeOrder",
        *("venue --when-stale x", "class --open all", "mcp --env x", "mcp --clock x", "doctor --env x", "nothing", ""),
    ],
)
def test_a_missing_or_unknown_word_ends_with_code_2(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: toolkit")


def test_every_command_is_documented_and_every_default_is_tried() -> None:
    assert [line.split()[0] for line, _ in DEFAULTS] == list(COMMANDS)
    text = build_parser().format_help()
    assert [text.index(f"\n    {name} ") if f"\n    {name} " in text else text.index(f"\n    {name}\n")
            for name in COMMANDS] == sorted(text.index(f"\n    {name}") for name in COMMANDS)  # fmt: skip
    assert text.startswith("usage: toolkit [-h] [--version] COMMAND ...")
    assert text.endswith("See `toolkit COMMAND --help`. If `toolkit` is not found: python -m toolkit\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_begins_with_what_it_does(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    usage, about = capsys.readouterr().out.split("\n\n")[:2]
    assert usage.startswith(f"usage: toolkit {name} [-h]")
    assert about[0].isupper()
    assert about.rstrip().endswith(".")
    assert not about.startswith("`")


def test_the_help_of_the_venue_ends_with_the_faults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["venue", "--help"])
    text = capsys.readouterr().out
    assert text.index("\nkinds of --fault:\n") < text.index("\nsettings of --fault (NAME=VALUE, after the kind):\n")
    assert "default: 10, as published, and 64, or enough" in " ".join(text.split())


@pytest.mark.parametrize(
    ("outcome", "code", "said"),
    [
        (0, 0, ""),
        (1, 1, ""),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 0, ""),
        (InputError("seed is missing", field="seed"), 2, "toolkit lab: seed is missing\n"),
        (PermissionError(13, "Permission denied"), 2, "toolkit lab: [Errno 13] Permission denied\n"),
    ],
    ids=str,
)
def test_the_exit_code_says_how_a_command_ended(
    outcome: Any, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from toolkit.cli import lab

    def run(args: argparse.Namespace) -> int:
        assert args.folder == "walkthroughs"
        if isinstance(outcome, BaseException):
            raise outcome
        return int(outcome)

    monkeypatch.setattr(lab, "run", run)
    monkeypatch.setattr(sys, "argv", ["toolkit", "lab"])
    assert main() == code
    assert capsys.readouterr() == ("", said)


def test_a_mistake_of_the_toolkit_itself_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolkit.cli import lab

    monkeypatch.setattr(lab, "run", lambda args: {}[args.folder])
    with pytest.raises(KeyError):
        main(["lab"])


def test_a_character_that_a_terminal_cannot_print_becomes_a_question_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict", write_through=True) for _ in "oe"]
    kept = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="backslashreplace")
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    program._never_fail_to_print()
    print("≥ 1", flush=True)
    print("≤ 2", file=sys.stderr, flush=True)
    assert [stream.buffer.getvalue() for stream in streams] == [b"? 1\n", b"? 2\n"]  # type: ignore[attr-defined]
    monkeypatch.setattr(sys, "stdout", kept)
    program._never_fail_to_print()
    assert kept.errors == "backslashreplace"
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    program._never_fail_to_print()
