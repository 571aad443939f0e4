"""What attackers can win in a class, and what they cost the others: `python -m tests.class_attack [--tries N]`.

Each plays against a class of its own on 127.0.0.1. They use what a student has: the docs, the public prices, a link, an
accomplice, and a program of their own. The floods of `tests.venue.served.flooding` are measured in the same table.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import httpx
import numpy as np

import toolkit
from tests.venue.served.flooding import frame, get, pouring
from toolkit.classroom.room import Room
from toolkit.errors import ToolkitError
from toolkit.venue.clocks import MANUAL_START
from toolkit.venue.local import LocalVenue
from toolkit.venue.model.market import Market
from toolkit.venue.simulation.order_flow import minute_returns, source_of, volatility

NAMES = ["Ann", "Bo", *(f"S{number}" for number in range(28))]
MINUTES, AHEAD, ASKED = 30, 600, 300
SOCKETS, CONNECTIONS = 20, 300
FLOOD_SECONDS = 60.0


class Row(NamedTuple):
    """One line of the table."""

    attacker: str
    wins: str
    costs: str


@contextlib.contextmanager
def classroom(**options: Any) -> Iterator[Room]:
    """Give a class of thirty, as `toolkit class --students 30` makes it."""
    with toolkit.class_room(NAMES, **{"held": True, **options}) as room:
        yield room


def closes(venue: LocalVenue, start: int, minutes: int) -> np.ndarray:
    """Return the public minute prices of BTC."""
    with toolkit.connect(venue=venue, wallet=toolkit.Wallet(account=venue.host.masters[0])) as session:
        rows = session.info.klines("BTCUSDC", "1m", start=start, end=start + minutes * 60_000)
    return np.diff(np.log(rows["close"].to_numpy(dtype=float)))


def correlation(seen: np.ndarray, guessed: np.ndarray) -> float:
    """Return the correlation of two series of returns."""
    count = min(len(seen), len(guessed))
    return float(np.corrcoef(seen[:count], guessed[:count])[0, 1])


def best_seed(seen: np.ndarray, first_minute: int, seeds: range) -> tuple[float, int]:
    """Return the guess whose returns are most like those that were seen, and how much alike they are."""
    found = (0.0, 0)
    market = Market()
    for seed in seeds:
        source = source_of(market, seed, 1, "BTCUSDC")
        guessed = minute_returns(source, volatility(source, first_minute, len(seen)), first_minute)
        found = max(found, (abs(correlation(seen, guessed.astype(float))), seed))
    return found


def reads_the_future(tries: int) -> Row:
    """Forecast the class by home copies: of the seed in the docs, and of those that fit what was seen."""
    with classroom() as room:
        venue = room.lesson.venues[0]
        before = closes(venue, MANUAL_START - 120 * 60_000, 119)
        room.teacher.venue.advance(f"{MINUTES + AHEAD}m")
        now = closes(venue, MANUAL_START, MINUTES + AHEAD)
        minute = MANUAL_START // 60_000
        guesses = {7, *(best_seed(seen, first, range(tries))[1]
                        for seen, first in ((before, minute - 119), (now[:MINUTES], minute + 1)))}  # fmt: skip
        alike = []
        for seed in sorted(guesses):
            with LocalVenue(seed=seed, clock="manual") as home:
                home.advance(f"{MINUTES + AHEAD}m")
                alike.append(correlation(now[MINUTES:], closes(home, MANUAL_START, MINUTES + AHEAD)[MINUTES:]))
    most = max(alike, key=abs)
    return Row(f"a home copy of the market ({tries:,} seeds tried)", f"forecast correlates {most:+.2f}", "–")


def hand_over(room: Room, rounds: int, symbol: str = "XRPUSDC") -> None:
    """Let Bo bid above, and offer below, the mark for Ann, with all the margin there is, again and again."""
    ann, bo = room.join("Ann"), room.join("Bo")
    product = ann.product(symbol)
    code = room.lesson.venues[0].host.core.products
    market = next(room.lesson.venues[0].host.core.state.markets[each] for each in code if code[each].symbol == symbol)
    for number in range(rounds):
        up = number % 2 == 0
        mark = float(product.tick_size) * market.mark
        price = str(product.round_price(f"{mark * (1.003 if up else 0.997):.6f}", "nearest"))
        size = str(product.round_quantity(f"{60_000 / mark:.0f}", "down"))
        acts: Sequence[Callable[[], object]] = (
            lambda up=up, price=price, size=size: (bo.buy if up else bo.sell)(symbol, size, price=price, tif="GTC"),
            lambda up=up, price=price, size=size: (ann.sell if up else ann.buy)(symbol, size, price=price, tif="IOC"),
        )  # type: ignore[misc]
        threads = [threading.Thread(target=_tolerant, args=(act,)) for act in acts]
        for thread in threads:
            thread.start()
            thread.join(0.05 if room.status()["speed"] else None)  # while time runs, both at nearly one instant
        for thread in threads:
            thread.join()
        _tolerant(lambda: bo.cancel_all(symbol))


def _tolerant(act: Callable[[], object]) -> None:
    with contextlib.suppress(ToolkitError):
        act()


def accomplices(held: bool) -> Row:
    """Hand money over, with time held or running."""
    with classroom(seed=7) as room:
        for name in NAMES[2:6]:
            room.join(name).buy("BTCUSDC", "0.01")
        if not held:
            room.go_on()
        hand_over(room, 40)
        room.hold_time()
        rows = room.lesson._standings()
    row = next(each for each in rows if each["name"] == "Ann")
    moved = f", from classmates {row['classmates']:+,.0f} USDC" if "classmates" in row else ""
    what = f"return {row['return']:+.1%}, rank {row['rank'] or 'none'}{moved}"
    return Row(f"two accomplices, time {'held' if held else 'running'}", what, "–")


def waits(session: toolkit.Session, count: int = ASKED) -> tuple[float, float]:
    """Return the median and the 95th percentile of an honest student's waits for a query, in s."""
    took = []
    for _ in range(count):
        began = time.perf_counter()
        session.info.wallet_balances()
        took.append(time.perf_counter() - began)
    return statistics.median(took), statistics.quantiles(took, n=20)[-1]


def slowed(name: str, attack: Callable[[str], contextlib.AbstractContextManager[Any]]) -> Row:
    """Measure an honest student's waits without and with an attack from the same address, and what a late one gets."""
    with classroom(held=False) as room, toolkit.join(room.links["S1"]) as honest:
        waits(honest, 5)
        usual = waits(honest)
        with attack(room.base_url.rpartition(":")[2]):
            late = "late join refused"
            with contextlib.suppress(ToolkitError), toolkit.join(room.links["S2"]) as other:
                late = "late join and book" if other.stream.order_book("BTCUSDC") else "late join"
            board = httpx.get(room.board_url, timeout=20).status_code
            began, used = time.perf_counter(), time.process_time()
            pressed = waits(honest)
            busy = (time.process_time() - used) / (time.perf_counter() - began)
    slower = f"median {pressed[0] / usual[0]:.1f} ×, p95 {pressed[1] / usual[1]:.1f} ×"
    costs = f"{slower}, {busy:.1f} cores, {late}, board {board}"
    return Row(name, "–", costs)


@contextlib.contextmanager
def connections(port: str) -> Iterator[None]:
    """Hold many connections that each ask now and then."""
    with contextlib.ExitStack() as stack:
        for _ in range(CONNECTIONS):
            wire = stack.enter_context(socket.create_connection(("127.0.0.1", int(port))))
            wire.sendall(get("/health"))
        yield


@contextlib.contextmanager
def churn(port: str) -> Iterator[None]:
    """Subscribe and unsubscribe without end on many sockets, from another process."""
    line = [sys.executable, "-m", "tests.class_attack", "--churn", port]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield
        finally:
            process.kill()


def subscribing() -> bytes:
    """Return frames that subscribe to each channel of each product, and end that again."""
    kinds = [{"type": "orderBook"}, *({"type": "candle", "interval": each} for each in ("60", "180", "300", "900"))]
    return b"".join(
        frame(1, json.dumps({"method": method, "subscription": {**kind, "symbol": symbol}}).encode())
        for symbol in ("BTCUSDC", "ETHUSDC", "SOLUSDC", "XRPUSDC")
        for kind in kinds
        for method in ("subscribe", "unsubscribe")
    )


def churning(port: int) -> None:
    """Be the process of `churn`."""
    client, end = pouring(b"", subscribing(), feed=True), time.monotonic() + FLOOD_SECONDS

    def again() -> None:
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=30) as wire:
                client(wire)

    for _ in range(SOCKETS):
        threading.Thread(target=again, daemon=True).start()
    print("churning", flush=True)
    time.sleep(FLOOD_SECONDS)


def table(tries: int) -> Iterator[Row]:
    """Yield what each attacker wins and costs."""
    yield reads_the_future(tries)
    yield accomplices(held=True)
    yield accomplices(held=False)
    yield slowed(f"{CONNECTIONS} connections of one address", connections)
    yield slowed(f"subscription churn on {SOCKETS} sockets", churn)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=1_000, help="seeds that are tried (default 1,000)")
    parser.add_argument("--churn", type=int, metavar="PORT", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.churn:
        churning(given.churn)
        return
    print("| Attacker | Wins | Costs the others |\n|---|---|---|")
    for row in table(given.tries):
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
