"""`toolkit class`: serves one venue for a room of students, each with a key and a join line.

It prints a line for each student (`toolkit.join("http://…/join/…")`), the address of the leaderboard, and the teacher's
page with its token, and then `ready`.
"""

from __future__ import annotations

import argparse
import socket
from functools import partial
from pathlib import Path

from ..classroom.lesson import PROGRAMS, record_of
from ..classroom.room import Room, class_room
from ..classroom.roster import Roster, names_of
from ..errors import InputError
from ..venue.served.boundary import WILDCARDS
from ..venue.served.private_files import write_private
from . import venue


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    add = parser.add_argument
    add("--students", type=int, default=0, metavar="N", help="number of students (default: those of --names)")
    add("--names", type=Path, metavar="FILE", help="file of their names, one per line")
    add("--balance", default="10000", metavar="USDC", help="start balance of each (default 10000)")
    add("--separate", action="store_true", help="a venue for each, with the same seed and market")
    text = "keep the class in FILE, and names and keys in FILE.class, to continue it later"
    add("--journal", metavar="FILE", help=text)
    text = "trades that a student needs for a rank (default 1)"
    add("--least-trades", type=int, metavar="N", help=text)
    add("--links", type=Path, metavar="FILE", help="also write the join lines to FILE")
    text = "actions that students may use in addition to trading, and that add money or accounts (default: none)"
    add("--open", nargs="+", default=[], choices=PROGRAMS, help=text)
    venue.configure_serving(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM and return 0.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.

    Raises
    ------
    InputError
        For a class that can't be started.
    """
    return venue.until_stopped(partial(_serve, args))


def _serve(args: argparse.Namespace, stop: venue.StopSignals) -> None:
    settings = venue.settings_of(args, record_of(None if args.separate else args.journal).record.token)
    venue.announce_journal(args)
    roster, path = _roster(args)
    options = {name: getattr(args, name) for name in ("balance", "separate", "journal", "seed", "speed")}
    options |= {} if args.least_trades is None else {"least_trades": args.least_trades}
    options |= {"market": not args.no_market, "start": venue.start_of(args), "opened": args.open}
    place = {"host": args.host, "port": args.port, "allow_remote": args.allow_remote, "settings": settings}
    with class_room(roster, **options, **place) as room, venue.token_file(args.journal, settings):
        stop.starting = False
        venue.catch_up(room.lesson.venues[0], stop)
        host, port = _own_address() if args.host in WILDCARDS else args.host, room.base_url.rpartition(":")[2]
        _introduce(room, args, f"http://{f'[{host}]' if ':' in host else host}:{port}")
        kept = f"in {path}, which only you can read" if path else "in this process only"
        if (speed := room.status()["speed"]) != args.speed:
            print(f"speed        {speed:g}, as the class was left" + ("" if speed else ": time is held"))
        print(f"keys         new ones for this class, {kept}. A student's link gives that student's")
        if not args.no_market:
            print(venue.seed_lines(room.lesson.seed))
        print(f"teacher      {room.teacher_url}")
        print(f"control token  {room.control_token}\n\nready", flush=True)
        stop.wait()


def _roster(args: argparse.Namespace) -> tuple[Roster, Path | None]:
    """Return the students, and the file of their keys, if there is one."""
    path = Path(f"{args.journal}.class") if args.journal and not args.separate else None
    if path is not None and path.exists():
        return Roster.load(path), path
    if args.students < 1 and args.names is None:
        raise InputError("the number of students is missing: give --students N, or --names FILE", field="students")
    roster = Roster.create(names_of(args.students, args.names))
    if path is not None:
        roster.save(path)
    return roster, path


def _introduce(room: Room, args: argparse.Namespace, base_url: str) -> None:
    lines = [
        f'{name}\ttoolkit.join("{base_url}{link.removeprefix(room.base_url)}")' for name, link in room.links.items()
    ]
    print("\n".join(lines))
    if args.links:
        write_private(args.links, "\n".join(lines) + "\n")
    print(f"\nleaderboard  {base_url}/class")


def _own_address() -> str:
    """Return the address at which other machines can probably reach this one. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address that is reserved for documentation
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"
