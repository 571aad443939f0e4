"""`toolkit venue`, `class` and `record` in this process: what they print and serve, until a signal comes."""

from __future__ import annotations

import importlib
import io
import json
import os
import re
import signal
import sqlite3
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

import toolkit
from toolkit import following
from toolkit.__main__ import build_parser, main
from toolkit.cli import record, venue
from toolkit.connecting import NOBODY
from toolkit.errors import InputError, ToolkitError
from toolkit.venue import development
from toolkit.venue.local import LocalVenue

classes = importlib.import_module("toolkit.cli.class")  # a keyword can't be imported by name
QUIET = ["--port", "0", "--clock", "manual", "--no-market"]


class Look(venue.StopSignals):
    """Calls a function with what was printed so far where the command would wait for a signal."""

    def __init__(self, look: Callable[[], None]) -> None:
        super().__init__()
        self.look = look

    def wait(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self.look()


def served(words: list[str], look: Callable[[], None], command: str = "venue") -> Look:
    """Serve with these arguments, and look while it is served."""
    stop = Look(look)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(venue, "StopSignals", lambda: stop)
        assert main([command, *words]) == 0
    return stop


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the sentence with which a command that can't be started ends."""
    assert main(words) == 2
    captured = capsys.readouterr()
    assert "ready" not in captured.out
    return captured.err


def accounts_of(count: int, balance: str = "10000", keys: bool = False) -> str:
    """Return the table of accounts, from their keys."""
    rows = [f"   master, {balance} USDC".ljust(48) + "agent (approve it first)"]
    for number in range(count):
        master, agent = development.master(number), development.agent(number)
        rows.append(f"{number:2} {master.address:45}{agent.address}")
        if keys:
            rows.append(f"   0x{master.key.hex()}  0x{agent.key.hex()}")
    return "\n".join(rows)


@pytest.mark.parametrize(
    ("words", "count", "balance", "keys"),
    [([], 10, "10000", False), (["--accounts", "0"], 0, "10000", False),
     (["--accounts", "2", "--balance", "7.5", "--print-keys"], 2, "7.5", True)],
)  # fmt: skip
def test_it_prints_addresses_and_accounts_and_then_ready(
    words: list[str], count: int, balance: str, keys: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[str] = []

    def look() -> None:
        text = capsys.readouterr().out
        seen.append(text)
        address = text.splitlines()[0].split()[-1]
        [product, *_] = httpx.get(f"{address}/info/public/product-meta").json()["data"]["perpProducts"]
        assert product["symbol"] == "BTCUSDC"

    stop = served([*QUIET, *words], look)
    assert stop.seconds is None
    assert stop.starting is False
    [text] = seen
    address = text.splitlines()[0].split()[-1]
    assert address.startswith("http://127.0.0.1:")
    assert text == (
        f"Exchange and Info API  {address}\nWebSocket              {address.replace('http', 'ws')}/ws/dex\n"
        "chainId 421614, source b, dexChain Testnet\n"
        f"\nDevelopment accounts (mnemonic: {development.MNEMONIC})\n{accounts_of(count, balance, keys)}\n\nready\n"
    )


@pytest.mark.parametrize("words", [["venue", *QUIET], ["class", "--port", "0", "--no-market", "--students", "1"]])
def test_a_program_that_reads_through_a_pipe_sees_ready_while_it_is_served(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe, encoding="utf-8"))
    seen: list[bytes] = []
    served(words[1:], lambda: seen.append(pipe.getvalue()), words[0])
    assert seen[0].endswith(b"ready\n")


def test_own_words_are_not_printed_unless_keys_are_and_stand_in_the_keys_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mnemonic = development.new_mnemonic()
    monkeypatch.setenv("TOOLKIT_MNEMONIC", mnemonic)
    file = tmp_path / "keys.json"
    served([*QUIET, "--accounts", "1", "--keys-file", str(file)], lambda: None)
    text = capsys.readouterr().out
    assert mnemonic not in text
    assert "\nDevelopment accounts\n" in text
    assert f"\nkeys file              {file}\n" in text
    assert file.stat().st_mode & 0o077 == 0 or sys.platform == "win32"
    [account] = json.loads(file.read_text())["accounts"]
    assert account["master"]["address"] == development.master(0, mnemonic).address
    assert account["master"]["address"] in text
    served([*QUIET, "--accounts", "1", "--mnemonic", "random", "--print-keys"], lambda: None)
    text = capsys.readouterr().out
    assert mnemonic not in text
    assert "\nDevelopment accounts (mnemonic: " in text
    assert development.MNEMONIC not in text


@pytest.mark.parametrize("control", [False, True])
def test_a_journal_keeps_the_token_of_its_controls_beside_it_while_it_is_served(
    control: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(venue.TOKEN_VARIABLE, raising=False)
    path, seen = tmp_path / "j", list[str]()
    token = Path(f"{path}.token")

    def look() -> None:
        text = capsys.readouterr().out.removeprefix("stopped\n")  # of the first time
        seen.append(text)
        address = next(line.split()[-1] for line in text.splitlines() if line.startswith("Exchange"))
        assert token.exists() == control
        if control:
            said = token.read_text()
            assert f"\ncontrol token          {said}                       also in {token}\n" in text
            answer = httpx.get(f"{address}/control", headers={"authorization": f"Bearer {said.strip()}"})
            assert answer.status_code == 200
        else:
            assert "control token" not in text
            assert httpx.get(f"{address}/control").status_code == 401

    words = [*QUIET, "--seed", "3", "--accounts", "1", "--journal", str(path), *(["--control"] if control else [])]
    served(words, look)
    assert not token.exists()
    served(words, look)
    assert "opening journal" not in seen[0]
    assert seen[1].startswith(f"opening journal {path}\n")
    assert seen[0].endswith(f"\njournal {path}: 1 entries, seed 3\n\nready\n")
    assert seen[1].endswith(f"\njournal {path}: 1 entries, seed 3\n\nready\n")


def test_a_token_of_the_variable_is_used_and_a_short_one_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    read = build_parser("venue").parse_args
    for bad in ("x" * 15, "x" * 15 + "ä", "x" * 15 + "\n", "x" * 15 + " y"):
        monkeypatch.setenv(venue.TOKEN_VARIABLE, bad)
        with pytest.raises(InputError, match="must have 16 or more printable characters and no spaces") as caught:
            venue.settings_of(read(["venue"]))
        assert caught.value.field == "control_token"
        assert bad not in str(caught.value)
    monkeypatch.setenv(venue.TOKEN_VARIABLE, "x" * 16)
    settings = venue.settings_of(read(["venue", "--allow-host", "h", "--allow-origin", "HTTP://A/", "--log"]))
    assert (settings.control_token, settings.hosts, settings.origins) == ("x" * 16, ("h",), ("http://a",))
    assert settings.connections_per_ip is None
    assert settings.log is not None
    settings.log("POST /x")
    assert capsys.readouterr().err.endswith("+00:00 POST /x\n")
    monkeypatch.delenv(venue.TOKEN_VARIABLE)
    drawn = [venue.settings_of(read(["venue", "--connections-per-ip", "1"])) for _ in range(2)]
    assert drawn[0].control_token != drawn[1].control_token
    assert [one.connections_per_ip for one in drawn] == [1, 1]
    assert drawn[0].log is None
    assert venue.settings_of(read(["venue", "--claims-per-ip", "7"])).claims_per_ip == 7
    for option, count in (("--connections-per-ip", "0"), ("--connections-per-ip", "-1"), ("--claims-per-ip", "0")):
        with pytest.raises(InputError, match=f"{option} {count} must be 1 or more"):
            venue.settings_of(read(["venue", option, count]))


def test_faults_checks_and_interventions_are_those_of_the_arguments(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[LocalVenue] = []
    monkeypatch.setattr(venue, "LocalVenue", lambda **given: made.append(LocalVenue(**given)) or made[-1])
    served([*QUIET, "--fault", "refuse count=2", "--check", "--accounts", "0"], lambda: None)
    assert capsys.readouterr().out.startswith("fault <Fault refuse count=2, struck 0>\nExchange and Info API")
    served([*QUIET, "--accounts", "0"], lambda: None)
    assert [one.host.check for one in made] == [True, False]


OWN = development.new_mnemonic()
OPTIONS: list[tuple[list[str], dict[str, Any]]] = [
    (["--seed", "7"], {"seed": 7, "market": "usual", "clock": "real", "speed": 1.0, "start": None, "balance": "10000",
          "settle_delay": "0ms", "journal": None, "sync": "full", "recover": False,
          "mnemonic": development.MNEMONIC, "idle": "simulate", "accounts": 10}),
    (["--seed", "1", "--market", "calm", "--clock", "manual", "--start", "5", "--balance", "3", "--settle-delay", "1s",
      "--journal", "j", "--sync", "os", "--recover", "--catch-up", "skip", "--accounts", "4"],
     {"seed": 1, "market": "calm", "clock": "manual", "speed": 1.0, "start": 5, "balance": "3", "settle_delay": "1s",
      "journal": "j", "sync": "os", "recover": True, "idle": "skip",
      "accounts": 4}),
    # Accounts that anyone can sign for are not served to other machines unless they are asked for.
    (["--no-market", "--speed", "2", "--allow-remote"], {"market": None, "speed": 2.0, "accounts": 0}),
    (["--allow-remote", "--accounts", "3"], {"accounts": 3}),
    (["--allow-remote", "--mnemonic", OWN], {"mnemonic": OWN, "accounts": 10}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "wanted"), OPTIONS, ids=["none", "many", "remote", "named", "own keys"])
def test_a_venue_is_made_of_the_arguments(
    words: list[str], wanted: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[dict[str, Any]] = []

    def keep(**given: Any) -> Any:
        made.append(given)
        raise ToolkitError("enough")

    monkeypatch.setattr(venue, "LocalVenue", keep)
    monkeypatch.delenv("TOOLKIT_MNEMONIC", raising=False)
    assert main(["venue", *words]) == 2
    [given] = made
    assert {name: given[name] for name in wanted} == wanted
    assert len(given) == 13


def test_a_venue_that_follows_has_no_clock_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (["--clock", "manual"], ["--speed", "2"], ["--start", "5"]):
        said = refused(["venue", "--follow", "http://127.0.0.1:9", *wrong], capsys)
        assert "--follow takes its time from the real clock: leave out --clock, --speed and --start" in said


def test_a_venue_follows_the_products_of_another_one_and_prints_the_state_of_its_feed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[tuple[dict[str, Any], LocalVenue]] = []
    follow = following.follow

    def keep(session: Any, **given: Any) -> LocalVenue:
        assert session.wallet is None
        made.append((given, follow(session, **given)))
        return made[-1][1]

    monkeypatch.setattr(following, "follow", keep)
    monkeypatch.delenv("TOOLKIT_MNEMONIC", raising=False)
    texts: list[str] = []

    def look() -> None:
        texts.append(capsys.readouterr().out)
        address = next(line.split()[-1] for line in texts[-1].splitlines() if line.startswith("Exchange"))
        with toolkit.connect(base_url=address, account=NOBODY) as session:
            assert session.products().index.tolist() == ["BTCUSDC"]
            book = session.stream.order_book("BTCUSDC", depth=5)
            book.wait(timeout=20)
            assert len(book.frame())
        [(_, venue)] = made
        assert venue.following is not None
        assert venue.following.on_change is not None
        venue.following.on_change("lost")
        texts.append(capsys.readouterr().out)

    with LocalVenue(speed=60) as other, other.serve() as place:
        served(["--port", "0", "--follow", place.base_url, "--symbols", "BTCUSDC", "--when-stale", "continue"], look)
    [(given, _)] = made
    assert given == {
        "symbols": ["BTCUSDC"], "when_stale": "continue", "balance": "10000", "settle_delay": "0ms", "journal": None,
        "sync": "full", "recover": False, "mnemonic": development.MNEMONIC, "idle": "simulate", "accounts": 10,
    }  # fmt: skip
    assert texts[0].startswith(f"following {place.base_url}: BTCUSDC\n")
    assert f"feed of {place.base_url}: lost\n" in texts[1]


def test_a_damaged_journal_is_named_and_recovered_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "j"
    with LocalVenue(clock="manual", market=False, accounts=2, journal=path):
        pass
    base = sqlite3.connect(path)
    with base:
        base.execute("DELETE FROM entries WHERE n = 2")
    base.close()
    words = [*QUIET, "--accounts", "2", "--journal", str(path)]
    said = refused(["venue", *words], capsys)
    assert "its end is missing. 1 entries from its beginning are intact" in said
    assert "--recover" in said
    served([*words, "--recover"], lambda: None)
    assert f"journal {path}: 1 entries, seed 7" in capsys.readouterr().out
    assert path.with_name("j.damaged").exists()


def test_other_machines_find_no_account_whose_keys_are_public_unless_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with LocalVenue(clock="manual", market=False, accounts=2, journal=tmp_path / "j"):
        pass
    remote = [*QUIET, "--host", "0.0.0.0", "--allow-remote"]
    found: list[Any] = []

    def look() -> None:
        address = next(line.split()[-1] for line in capsys.readouterr().out.splitlines() if "Exchange" in line)
        found.append(httpx.get(f"{address}/accounts").json()["data"])
        assert httpx.get(f"{address}/control").status_code == 401

    served([*remote, "--control"], look)
    served([*remote, "--accounts", "1"], look)
    assert [[row["public"] for row in rows] for rows in found] == [[], [True]]
    said = refused(["venue", *remote, "--journal", str(tmp_path / "j")], capsys)
    assert "this journal has 2 accounts whose keys are public, and other machines will reach it" in said


@pytest.mark.parametrize("place", ["testnet", "http://127.0.0.1:9"])
def test_another_venue_is_opened_by_name_or_address_to_read_only(place: str) -> None:
    with venue.open_session(place, "ws://127.0.0.1:8" if "://" in place else None) as session:
        assert session.wallet is None
        assert session.environment.name == ("testnet" if place == "testnet" else "local")
        assert session.environment.base_url == (place if "://" in place else session.environment.base_url)
        assert ("127.0.0.1:8" in session.environment.ws_url) == ("://" in place)


HOUR = venue.NOTICE_MS


class Behind:
    """A venue whose time follows, by a step with each question."""

    def __init__(self, hours: float, idle: str = "simulate", journal: object = "j") -> None:
        self.time, self.target = 0, int(hours * HOUR)
        self.host = SimpleNamespace(now_ms=lambda: self.target, core=self, idle=idle, journal=journal)
        self.asked = 0

    @property
    def state(self) -> Any:
        if self.asked > 1:
            self.time += self.target // 4
        self.asked += 1
        return self


@pytest.mark.parametrize(
    ("hours", "idle", "journal", "said"),
    [
        (8, "simulate", "j", "8.0 hours behind, simulating them (--catch-up skip jumps instead)\n"
                             "6.0 hours left\n4.0 hours left\n2.0 hours left\n"),
        (1.1, "skip", "j", "1.1 hours behind, skipping them\n0.8 hours left\n0.6 hours left\n0.3 hours left\n"),
        (1, "simulate", "j", ""),
        (8, "simulate", None, ""),
    ],
)  # fmt: skip
def test_a_venue_that_catches_up_says_how_far_it_is(
    hours: float, idle: str, journal: object, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stop = venue.StopSignals()
    stop.event.wait = lambda seconds: False  # type: ignore[method-assign]
    venue.catch_up(Behind(hours, idle, journal), stop)  # type: ignore[arg-type]
    assert capsys.readouterr().out == said


def test_catching_up_ends_with_a_signal(capsys: pytest.CaptureFixture[str]) -> None:
    stop = venue.StopSignals()
    stop.event.set()
    venue.catch_up(Behind(8), stop)  # type: ignore[arg-type]
    assert capsys.readouterr().out.count("\n") == 1


SIGNALS = [signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_start_or_sets_the_event_and_a_second_one_exits(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    before = [signal.getsignal(one) for one in SIGNALS]
    with pytest.raises(venue.StoppedAtStart), venue.StopSignals() as stop:
        signal.raise_signal(number)
    assert stop.event.is_set()
    assert [signal.getsignal(one) for one in SIGNALS] == before
    with venue.StopSignals(starting=False) as stop:
        signal.raise_signal(number)
        assert stop.event.is_set()
        stop.wait()
        assert ended == []
        signal.raise_signal(number)
    assert ended == [130]
    assert [signal.getsignal(one) for one in SIGNALS] == before


@pytest.mark.timeout(30)
def test_a_signal_at_any_line_of_a_wait_ends_it() -> None:
    before, lines, at = sys.gettrace(), 0, 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal lines
        if event == "line" and frame.f_code.co_name != "__exit__":
            lines += 1
            if lines == at:
                signal.raise_signal(signal.SIGTERM)
        return trace

    while lines >= at:
        lines, at = 0, at + 1
        with venue.StopSignals(starting=False) as stop:
            sys.settrace(trace)
            try:
                stop.wait(0.001)
            finally:
                sys.settrace(before)
            assert stop.event.is_set() is (lines >= at)
    assert at > 5


def test_waiting_ends_when_the_seconds_are_over() -> None:
    stop, waited = venue.StopSignals(), list[float]()
    stop.event.wait = lambda seconds: waited.append(seconds) or False  # type: ignore[method-assign,func-returns-value]
    stop.wait(1.2)
    assert waited == pytest.approx([0.5, 0.5, 0.2])
    stop.wait(0)
    assert len(waited) == 3


@pytest.mark.parametrize("error", [None, KeyboardInterrupt, venue.StoppedAtStart])
def test_a_server_says_that_it_stopped(error: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def serve(stop: venue.StopSignals) -> None:
        assert stop.starting
        if error:
            raise error

    assert venue.until_stopped(serve) == 0
    assert capsys.readouterr().out == "stopped\n"
    with pytest.raises(ToolkitError):
        venue.until_stopped(partial(_raise, ToolkitError("broken")))
    assert capsys.readouterr().out == ""


def _raise(error: Exception, stop: venue.StopSignals) -> None:
    raise error


CLASS = ["--port", "0", "--no-market", "--speed", "1"]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("kept", [False, True])
def test_a_class_prints_a_join_line_for_each_student_the_board_the_keys_and_the_teachers_page(
    named: bool, kept: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "names").write_text("Ann\nBob\n")
    students = ["--names", str(tmp_path / "names")] if named else ["--students", "2"]
    journal = ["--journal", str(tmp_path / "j")] if kept else []
    texts: list[str] = []

    def look() -> None:
        texts.append(capsys.readouterr().out.removeprefix("stopped\n"))  # of the first time
        lines = texts[-1].splitlines()
        address = next(line.split()[-1] for line in lines if line.startswith("leaderboard"))
        assert httpx.get(address).status_code == 200
        assert (tmp_path / "j.token").exists() == kept

    served([*CLASS, *students, *journal, "--links", str(tmp_path / "links")], look, "class")
    lines = texts[0].splitlines()
    names = [line.partition("\t")[0] for line in lines[:2]]
    assert names == (["Ann", "Bob"] if named else [name for name in names if name])
    base = lines[3].removeprefix("leaderboard  ").removesuffix("/class")
    assert all(line.partition("\t")[2].startswith(f'toolkit.join("{base}/join/') for line in lines[:2])
    assert (tmp_path / "links").read_text() == "\n".join(lines[:2]) + "\n"
    where = f"in {tmp_path / 'j.class'}, which only you can read" if kept else "in this process only"
    assert lines[2] == ""
    assert lines[4] == f"keys         new ones for this class, {where}. A student's link gives that student's"
    assert lines[5].startswith(f"teacher      {base}/")
    assert lines[6].startswith("control token  ")
    assert lines[7:] == ["", "ready"]
    assert (tmp_path / "j.class").exists() == kept
    if kept:  # the same class is continued, without being named again
        served([*CLASS, *journal], look, "class")
        again = texts[1].splitlines()
        assert again[0] == f"opening journal {tmp_path / 'j'}"
        assert [line.partition("\t")[0] for line in again[1:3]] == names
        assert [line.rpartition("/")[2] for line in again[1:3]] == [line.rpartition("/")[2] for line in lines[:2]]


def test_a_class_is_made_of_the_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []

    def room(roster: Any, **given: Any) -> Any:
        seen.append({"students": len(roster.students), **given})
        raise ToolkitError("enough")

    monkeypatch.setattr(classes, "class_room", room)
    words = ["--students", "3", "--balance", "5", "--separate", "--seed", "9", "--speed", "2", "--start", "77"]
    assert main(["class", *words, "--open", "vaults", "--host", "::1", "--port", "1", "--allow-remote"]) == 2
    settings = seen[0].pop("settings")
    assert settings.control_token
    assert seen == [{
        "students": 3, "balance": "5", "separate": True, "journal": None, "seed": 9, "speed": 2.0, "market": True,
        "start": 77, "opened": ["vaults"], "host": "::1", "port": 1, "allow_remote": True,
    }]  # fmt: skip


@pytest.mark.parametrize("duration", [None, "2m"])
def test_a_recording_says_what_it_writes_and_how_much_was_written(
    duration: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "tape"
    with LocalVenue(clock="manual", market="calm") as made, made.serve() as place:
        waited, recorders = list[Any](), list[Any]()
        begin = record.record

        def recorder(*args: Any, **given: Any) -> Any:
            recorders.append(begin(*args, **given))
            return recorders[-1]

        monkeypatch.setattr(record, "record", recorder)

        class Stop(venue.StopSignals):
            def wait(self, seconds: float | None = None) -> None:
                assert not self.starting
                waited.append(seconds)
                while not sum(recorders[-1].rows.values()):
                    made.advance("5s")

        monkeypatch.setattr(record, "StopSignals", Stop)
        words = ["record", place.base_url, "--out", str(out), "--channels", "trades", "ticker"]
        words += ["--symbols", "BTCUSDC"] if duration else []
        words += ["--duration", duration] if duration else []
        for _ in range(2):
            assert main(words) == 0
        symbols = "BTCUSDC" if duration else ", ".join(toolkit.connect(venue=made, account=NOBODY).products().index)
    assert waited == [120.0 if duration else None] * 2
    printed = capsys.readouterr().out.splitlines()
    lines = [line for line in printed if not re.search(r"T\S+ \w+.*: (live|idle|stale|connecting)", line)]
    heads = [number for number, line in enumerate(lines) if line.startswith("recording ")]
    assert [lines[number] for number in heads] == [f"recording {symbols} of {place.base_url} to {out}"] * 2
    assert lines[heads[0] + 1] == "ready"
    assert lines[heads[1] + 1].startswith("continues a recording. Nothing was recorded since 20")
    assert lines[heads[1] + 2] == "ready"
    ends = [line for line in lines if line.startswith("stopped: ")]
    assert len(ends) == 2
    counts = ends[0].removeprefix("stopped: ").split(", ")
    assert sorted(count.split()[-1] for count in counts) == ["ticker", "trades"]
    assert any(": live" in line and "BTCUSDC" in line for line in printed)


def test_the_options_of_a_recording_reach_the_recorder(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def keep(session: Any, out: Any, symbols: Any, **given: Any) -> Any:
        seen.append((out, symbols, given))
        raise ToolkitError("enough")

    monkeypatch.setattr(record, "record", keep)
    base = ["record", "http://127.0.0.1:9", "--symbols", "A", "B"]
    assert main(base) == 2
    words = ["--out", "o", "--channels", "c", "--depth", "3", "--exact", "--rows-per-file", "9", "--flush", "90s"]
    assert main([*base, *words]) == 2
    usual = {"channels": record.MARKETS, "flush_ms": 300_000, "depth": 20, "exact": False, "rows_per_file": 50_000}
    other = {"channels": ["c"], "flush_ms": 90_000, "depth": 3, "exact": True, "rows_per_file": 9}
    assert seen == [(Path("recording"), ["A", "B"], usual), (Path("o"), ["A", "B"], other)]
