"""`toolkit venue`: serves the local venue on loopback until it is interrupted.

It prints its addresses, the development accounts and then `ready`. An account can trade once its master has approved an
agent (approveAgent), as on the exchange.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from queue import Empty, SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Any

from ..client.io.venue_controls import TOKEN_VARIABLE
from ..connecting import NOBODY
from ..errors import InputError
from ..protocol.reads.feed import MAX_CONNECTIONS
from ..session import Session, connect
from ..venue import development
from ..venue.api.admission import CLAIMS, OPTIONAL
from ..venue.lab.faults import explain
from ..venue.local import LocalVenue
from ..venue.model.market import REGIMES
from ..venue.served.boundary import HTTP_CONNECTIONS, ServeSettings, new_seed, new_token, seed_hash
from ..venue.served.private_files import keys_text, token_path, write_private
from ..venue.trouble import Trouble

if TYPE_CHECKING:
    from ..venue.served.server import Served

NOTICE_MS = 3_600_000
"""A longer catch-up at the start is announced, because a simulated day takes a while."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    add = parser.add_argument
    parser.epilog = explain()
    configure_serving(parser)
    _configure_accounts(parser)
    add("--clock", choices=("real", "manual"), default="real", help="how time passes (default real)")
    add("--journal", metavar="FILE", help="write each command to FILE before it is answered, or continue an old FILE")
    text = (
        "When a command counts as written. With full it is on the disk, and survives a power failure. With os the "
        "operating system has it, which survives a crash of this process and is much faster. (default full)"
    )
    add("--sync", choices=("full", "os"), default="full", help=text)
    text = (
        "Treatment of the time in which a journal's venue did not run. With simulate, trading is simulated, while "
        "requests are answered. With skip, prices do not change, which takes no time. (default simulate)"
    )
    add("--catch-up", choices=("simulate", "skip"), default="simulate", help=text)
    add("--recover", action="store_true", help="continue a damaged journal from its intact entries")
    text = (
        "also serve interventions: GET /control lists them, POST /control/NAME makes one. Both need the token that "
        "is printed (and written to FILE.token next to a journal), or that of the variable TOOLKIT_CONTROL_TOKEN"
    )
    add("--control", action="store_true", help=text)
    add("--fault", action="append", default=[], metavar="TEXT", help="script a fault, see below (may be repeated)")
    text = "what goes wrong at this venue, and when: a TOML file, see the page on the laboratory"
    add("--trouble", metavar="FILE", help=text)
    add("--market", default="usual", choices=REGIMES, help="how the simulated participants trade (default usual)")
    text = "take prices, books and trades from another venue's public feed: http://…, mainnet or testnet"
    add("--follow", metavar="URL", help=text)
    add("--symbols", nargs="+", metavar="SYMBOL", help="products to follow (default: all)")
    text = "while the followed feed is lost: pause trading, or continue at the last known book"
    add("--when-stale", choices=("pause", "continue"), default="pause", help=text)
    text = (
        "actions to open that are closed otherwise (default: none). With usdSend, accounts can send USDC to each other"
    )
    add("--open", nargs="+", default=[], choices=OPTIONAL, metavar="ACTION", help=text)
    add("--check", action="store_true", help="check all invariants after every command (slow, for tests)")
    add("--settle-delay", default="0ms", metavar="SPAN", help="delay the effect of actions, e.g. 1s")


def _configure_accounts(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    text = "funded development accounts (default 10, or none with --allow-remote and the public mnemonic)"
    add("--accounts", type=int, metavar="N", help=text)
    add("--balance", default="10000", metavar="USDC", help="start balance of each (default 10000)")
    text = (
        'words of their keys, or "random" for new ones (default: those of TOOLKIT_MNEMONIC, else the '
        "public ones, with which anyone can sign)"
    )
    add("--mnemonic", metavar="WORDS", help=text)
    add("--keys-file", metavar="FILE", help="write addresses and keys to FILE as JSON, readable by you only")
    add("--print-keys", action="store_true", help="print the keys as well")


def configure_serving(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of every served venue: its market and time, and who may use it, and how much.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    add = parser.add_argument
    add("--port", type=int, default=8645, help="port to listen on, 0 for a free one (default 8645)")
    text = "seed of prices and participants (default: a new secret one). Whoever knows it can compute future prices"
    add("--seed", type=read_seed, metavar="N", help=text)
    add("--start", metavar="TIME", help="time at which the clock begins, ISO 8601 or Unix ms")
    add("--speed", type=float, default=1.0, help="factor on real time, with the real clock (default 1)")
    add("--no-market", action="store_true", help="an empty market without simulated participants")
    add("--host", default="127.0.0.1", help="address to listen on (all but loopback need --allow-remote)")
    add("--allow-remote", action="store_true", help="listen where other machines can reach it")
    text = "another host name of this server (may be repeated)"
    add("--allow-host", action="append", default=[], metavar="NAME", help=text)
    text = "allow web pages of this origin to use it, e.g. http://localhost:3000 (may be repeated)"
    add("--allow-origin", action="append", default=[], metavar="ORIGIN", help=text)
    text = (
        "feeds, and HTTP connections, that one address may have open (default: "
        f"{MAX_CONNECTIONS}, as published, and {HTTP_CONNECTIONS}, or enough for the students of a class)"
    )
    add("--connections-per-ip", type=int, metavar="N", help=text)
    text = (
        "faucetClaim requests that one address may send per hour of the venue's time "
        f"(default: {CLAIMS}, or two for each student of a class if that is more)"
    )
    add("--claims-per-ip", type=int, metavar="N", help=text)
    add("--log", action="store_true", help="print a line for each request")


def read_seed(text: str) -> int | str:
    """Return a seed of the command line: a whole number, or the 32 digits of a secret one, which may all be decimal.

    Parameters
    ----------
    text : str
        The argument.
    """
    return int(text) if len(text) != 32 and text.lstrip("-").isdecimal() else text


def seed_lines(seed: int | str) -> str:
    """Return what the operator of a venue must know of its seed, as lines of text.

    Parameters
    ----------
    seed : int or str
        Seed of the venue.
    """
    if isinstance(seed, int):
        return f"seed         {seed}, which is public: it gives everyone the future prices. Without --seed it is secret"
    return f"seed         {seed}, secret: keep it to yourself until the end\nseed hash    {seed_hash(seed)}"


def settings_of(args: argparse.Namespace, kept_token: str = "") -> ServeSettings:
    """Return the settings of a server from the arguments.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.
    kept_token : str, optional
        Token of a class that continues, if the environment names none (default: a new one).

    Raises
    ------
    InputError
        For invalid numbers and tokens.
    """
    for name in ("connections_per_ip", "claims_per_ip"):
        given = getattr(args, name)
        if given is not None and given < 1:
            raise InputError(f"--{name.replace('_', '-')} {given} must be 1 or more", field=name.partition("_")[0])
    token = os.environ.get(TOKEN_VARIABLE) or kept_token or new_token()
    # The variable may hold anything. A short token could be guessed, and one with spaces can't be sent.
    if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
        del token
        text = f"{TOKEN_VARIABLE} must have 16 or more printable characters and no spaces"
        raise InputError(text, field="control_token")
    return ServeSettings(
        hosts=tuple(args.allow_host),
        origins=tuple(origin.rstrip("/").lower() for origin in args.allow_origin),
        control_token=token,
        connections_per_ip=args.connections_per_ip,
        claims_per_ip=args.claims_per_ip,
        log=_print_request if args.log else None,
    )


def start_of(args: argparse.Namespace) -> int | str | None:
    """Return when the clock begins: Unix ms, or the given ISO 8601 text.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.
    """
    return int(args.start) if args.start and args.start.isdigit() else args.start


def _print_request(line: str) -> None:
    print(f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {line}", file=sys.stderr, flush=True)


def _mnemonic(args: argparse.Namespace) -> str:
    """Return the mnemonic that the arguments or the environment name."""
    given = args.mnemonic or os.environ.get("TOOLKIT_MNEMONIC")
    if given == "random":
        if not args.keys_file and not args.print_keys:
            text = "--mnemonic random makes keys that would be lost. Give --keys-file FILE or --print-keys as well"
            raise InputError(text, field="mnemonic", rule="kept")
        return development.new_mnemonic()
    return development.check_mnemonic(given) if given else development.MNEMONIC


def run(args: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM and return 0.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.

    Raises
    ------
    InputError
        For a venue that can't be started.
    """
    return until_stopped(partial(_serve, args))


def until_stopped(serve: Callable[[StopSignals], None]) -> int:
    """Serve until SIGINT or SIGTERM and return 0.

    Parameters
    ----------
    serve : callable
        Serves until the signals that it gets say so.
    """
    with suppress(KeyboardInterrupt), StopSignals() as stop:
        serve(stop)
    print("stopped", flush=True)
    return 0


def _serve(args: argparse.Namespace, stop: StopSignals) -> None:
    settings, mnemonic = settings_of(args), _mnemonic(args)
    announce_journal(args)
    venue = _venue(args, mnemonic)
    venue.host.check = args.check
    for action in {*args.open} - {*venue.host.core.state.laboratory.opened}:  # a command would wait for a catch-up
        venue.control.enable(action)
    for fault in args.fault:
        print(f"fault {venue.control.add_fault(fault)!r}")
    for line in venue.host.trouble.described():
        print(f"trouble {line}")
    serving = venue.serve(
        args.port, host=args.host, allow_remote=args.allow_remote, control=args.control, settings=settings
    )
    stop.starting = False
    with venue, serving as served, token_file(args.journal if args.control else None, settings):
        catch_up(venue, stop)
        _introduce(served, venue, args, mnemonic)
        seed = venue.host.core.state.seed
        if not args.follow and not args.no_market:  # without a simulated market nothing follows from it
            print(f"\n{seed_lines(seed)}")
        if venue.host.journal is not None:
            journal = venue.host.journal
            behind = f". Entries before {journal.behind} are still being checked" if journal.behind else ""
            print(f"\njournal {journal.path}: {journal.count} entries, seed {seed}{behind}")
        if not stop.event.is_set():
            print("\nready", flush=True)
        stop.wait()


def announce_journal(args: argparse.Namespace) -> None:
    """Say that a journal is opened, because reading a long one takes a while.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.
    """
    if args.journal and os.path.exists(args.journal):
        print(f"opening journal {args.journal}", flush=True)


def _venue(args: argparse.Namespace, mnemonic: str) -> LocalVenue:
    """Return the venue of the arguments. Raises InputError for public accounts that others could reach unnamed."""
    trouble = None if args.trouble is None else Trouble.load(args.trouble)
    remote_public = args.allow_remote and mnemonic == development.MNEMONIC and args.accounts is None
    common = {name: getattr(args, name) for name in ("balance", "settle_delay", "journal", "sync", "recover")}
    common |= {"mnemonic": mnemonic, "idle": args.catch_up}
    common["accounts"] = args.accounts if args.accounts is not None else 0 if remote_public else 10
    if args.follow:
        venue = _following(args, common)
    else:
        market = None if args.no_market else args.market
        time = {"clock": args.clock, "speed": args.speed, "start": start_of(args)}
        venue = LocalVenue(seed=new_seed() if args.seed is None else args.seed, market=market, **time, **common)
    if trouble is not None:
        venue.host.trouble.set(trouble)
    if remote_public and venue.host.masters:
        venue.close()
        text = (
            f"this journal has {len(venue.host.masters)} accounts whose keys are public, and other machines will reach "
            "it. Give --accounts N to serve them anyway"
        )
        raise InputError(text, field="accounts", rule="named")
    return venue


def _following(args: argparse.Namespace, common: dict[str, Any]) -> LocalVenue:
    """Return a venue that follows another one, and prints when the other venue's feed is lost and when it is back."""
    from ..following import follow

    if args.clock != "real" or args.speed != 1 or args.start:
        raise InputError("--follow takes its time from the real clock: leave out --clock, --speed and --start")
    venue = follow(open_session(args.follow), symbols=args.symbols, when_stale=args.when_stale, **common)
    venue.following.on_change = lambda note: print(f"feed of {args.follow}: {note}", flush=True)
    print(f"following {args.follow}: {', '.join(venue.following.symbols)}", flush=True)
    return venue


def open_session(url: str, ws_url: str | None = None) -> Session:
    """Return a session that only reads.

    Parameters
    ----------
    url : str
        Address of a served venue, or name of an environment.
    ws_url : str or None, optional
        Address of the feed (default: the one that follows from `url`).
    """
    if "://" not in url:
        return connect(url, account=NOBODY, ws_url=ws_url)
    return connect(base_url=url, ws_url=ws_url, account=NOBODY)


def catch_up(venue: LocalVenue, stop: StopSignals) -> None:
    """Wait until a venue that is served has caught up with the time at its start.

    Requests are answered meanwhile.

    Parameters
    ----------
    venue : LocalVenue
        The venue that is served.
    stop : StopSignals
        Signals that end the command.
    """
    target = venue.host.now_ms()
    behind = target - venue.host.core.state.time
    if behind <= NOTICE_MS or venue.host.journal is None:
        return
    how = "skipping" if venue.host.idle == "skip" else "simulating"
    advice = "" if venue.host.idle == "skip" else " (--catch-up skip jumps instead)"
    print(f"{behind / NOTICE_MS:.1f} hours behind, {how} them{advice}", flush=True)
    shown = behind
    while (left := target - venue.host.core.state.time) > 0 and not stop.event.wait(0.1):
        if left < shown * 0.9:
            shown = left
            print(f"{left / NOTICE_MS:.1f} hours left", flush=True)


class StoppedAtStart(KeyboardInterrupt):
    """SIGINT or SIGTERM came while the venue was still being started, which changes nothing that lasts."""


class Flag:
    """As threading.Event. A signal's handler can set it in the middle of a wait, which holds the lock of an Event."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[bool] = SimpleQueue()

    def is_set(self) -> bool:
        """Return whether it was set."""
        return not self._queue.empty()

    def set(self) -> None:
        """Set it, and wake who waits."""
        self._queue.put(True)

    def wait(self, seconds: float) -> bool:
        """Wait until it is set.

        Return whether it is.

        Parameters
        ----------
        seconds : float
            Longest wait in seconds.
        """
        with suppress(Empty):
            self._queue.put(self._queue.get(timeout=seconds))
        return self.is_set()


class StopSignals:
    """Turns SIGINT and SIGTERM into `event`, or, while `starting`, into StoppedAtStart.

    A second one exits.

    Parameters
    ----------
    starting : bool, optional
        True while a signal should raise StoppedAtStart (default: `True`).
    """

    def __init__(self, *, starting: bool = True) -> None:
        self.event = Flag()
        self.starting = starting
        self._previous: dict[int, Any] = {}

    def wait(self, seconds: float | None = None) -> None:
        """Wait for a signal, or until the seconds are over.

        Parameters
        ----------
        seconds : float or None, optional
            Seconds to wait (default: without end).
        """
        left = float("inf") if seconds is None else seconds
        while left > 0 and not self.event.wait(min(0.5, left)):  # an endless wait can't be interrupted on Windows
            left -= 0.5

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            names = ("SIGINT", "SIGTERM", "SIGBREAK")  # SIGBREAK exists on Windows only, where Ctrl-Break sends it
            for number in (getattr(signal, name) for name in names if hasattr(signal, name)):
                self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.event.is_set():
            os._exit(130)
        self.event.set()
        if self.starting:
            raise StoppedAtStart


@contextmanager
def token_file(journal: str | None, settings: ServeSettings) -> Iterator[None]:
    """Keep the control token next to the journal, if there is one, while the venue is served.

    Parameters
    ----------
    journal : str or None
        File of the journal. `None` keeps no token.
    settings : ServeSettings
        Limits and permissions of clients.
    """
    if journal is None:
        yield
        return
    path = token_path(journal)
    write_private(path, settings.control_token + "\n")
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _introduce(served: Served, venue: LocalVenue, args: argparse.Namespace, mnemonic: str) -> None:
    count, public = len(venue.host.masters), venue.host.keys_are_public
    print(f"Exchange and Info API  {served.base_url}")
    print(f"WebSocket              {served.ws_url}/ws/dex")
    print("chainId 421614, source b, dexChain Testnet")
    if args.control:
        print(f"control token          {served.control_token}")
        if args.journal:
            print(f"                       also in {args.journal}.token")
    words = f" (mnemonic: {mnemonic})" if public or args.print_keys else ""
    print(f"\nDevelopment accounts{words}")
    print(f"{'':3}{'master, ' + args.balance + ' USDC':45}agent (approve it first)")
    for number in range(count):
        master, agent = development.master(number, mnemonic), development.agent(number, mnemonic)
        print(f"{number:2} {master.address:45}{agent.address}")
        if args.print_keys:
            print(f"   0x{master.key.hex()}  0x{agent.key.hex()}")
    if args.keys_file:
        write_private(args.keys_file, keys_text(count, args.balance, mnemonic, served.base_url, served.ws_url))
        print(f"keys file              {args.keys_file}")
