"""The client's speed: answers to frames, the live feed, and how long it takes until there is a session."""

from __future__ import annotations

import gc
import json
import random
import subprocess
import sys
from decimal import Decimal
from typing import Any

import msgspec
import pandas as pd

from toolkit.client.reads.frames import frame
from toolkit.client.stream.local_book import LocalBook
from toolkit.protocol.reads.info_queries import ENDPOINTS

from . import Measurement, seconds

CANDLES = 100_000
DEPTH = 50
INCREMENTS = 10_000
_FLOATS = ("open", "high", "low", "close", "volume", "turnover")
_IMPORT = "import time\nt = time.perf_counter()\nimport toolkit\nprint(time.perf_counter() - t)"
_CONNECT = (
    "import toolkit, time\ntoolkit.connect\nt = time.perf_counter()\ns = toolkit.connect()\n"
    "print(time.perf_counter() - t)\ns.close()"
)

Change = tuple[list[list[str]], list[list[str]]]


def measure_frames() -> list[Measurement]:
    """Measure how 100,000 candles become a frame: against the plain way, and against typed decoding alone."""
    body, klines, decoder = candles_json(), ENDPOINTS["klines"], typed_decoder()
    gc.collect()
    ours, plain = seconds(lambda: frame(klines, body), lambda: plainly(body), repeat=3)
    again, decoding = seconds(lambda: frame(klines, body), lambda: decoder.decode(body), repeat=7)
    names = "100,000 klines, bytes to frame", "100,000 klines, against decoding alone"
    plainly_said = f"json + DataFrame(list) + to_numeric, {plain * 1000:.0f} ms", plain / ours
    decoding_said = f"typed msgspec decoding, {decoding * 1000:.0f} ms", again / decoding
    return [
        Measurement(names[0], ours * 1000, "ms", 4.0, "higher", "ratio", *plainly_said, note="times as fast"),
        Measurement(names[1], again * 1000, "ms", 1.5, "lower", "ratio", *decoding_said, note="times as long"),
    ]


def candles_json(count: int = CANDLES, seed: int = 7) -> bytes:
    """Return the JSON text of an answer with this many minute candles.

    Parameters
    ----------
    count : int, optional
        Number of candles (default: `CANDLES`).
    seed : int, optional
        Seed of their prices (default: 7).
    """
    chance = random.Random(seed)
    rows = []
    price = 60_000.0
    for at in range(count):
        price += chance.gauss(0, 8)
        opened = {"symbolName": "BTCUSDC", "timestamp": 1_700_000_040 + 60 * at, "intrvl": 60}
        moves = (("open", 0), ("high", 12), ("low", -11), ("close", 3))
        traded = {"volume": f"{chance.random() * 20:.3f}", "turnover": f"{chance.random() * 1e6:.6f}"}
        prices = {name: f"{price + move:.1f}" for name, move in moves}
        rows.append({**opened, **prices, **traded, "tradeCount": chance.randrange(90)})
    return json.dumps({"code": 0, "message": "success", "data": rows}, separators=(",", ":")).encode()


def plainly(body: bytes) -> Any:
    """Do what most programs do: json, DataFrame of a list of dicts, to_numeric.

    Parameters
    ----------
    body : bytes
        JSON text of the answer.
    """
    made = pd.DataFrame(json.loads(body)["data"])
    for name in _FLOATS:
        made[name] = pd.to_numeric(made[name])
    made["timestamp"] = pd.to_datetime(made["timestamp"], unit="s", utc=True)
    return made


def typed_decoder() -> Any:
    """Return a msgspec decoder of the whole answer with typed fields, the quickest plain way to Python objects."""
    fields: list[tuple[str, Any]] = [("symbolName", str), ("timestamp", int), ("intrvl", int)]
    fields += [(name, float) for name in _FLOATS]
    row = msgspec.defstruct("Row", [*fields, ("tradeCount", int)], gc=False)
    envelope = msgspec.defstruct("Envelope", [("code", int), ("message", str), ("data", list[row])])  # type: ignore[valid-type]
    return msgspec.json.Decoder(envelope, strict=False)


def measure_feed() -> list[Measurement]:
    """Measure how a client's book applies increments: two changed levels within a window of 50 a side.

    The peer keeps the same levels in two dictionaries and looks for the best by `min` and `max`.
    """
    first, changes = _activity()
    ours, naive = seconds(lambda: _keep(first, changes), lambda: _keep_naively(first, changes))
    name, peer = "live book: apply one increment and keep the top", "two dictionaries, min and max"
    return [Measurement(name, INCREMENTS / ours, "increments/s", 50_000, peer=peer, ratio=naive / ours)]


def _activity() -> tuple[Change, list[Change]]:
    """Return a first window, and increments as a venue makes them: levels change, vanish and come back."""
    dice = random.Random(3)
    tick = Decimal("0.1")

    def level(side: int) -> list[str]:
        price = str(Decimal(60_000) + side * tick * dice.randint(1, DEPTH))
        return [price, "0" if dice.random() < 0.3 else f"{dice.randint(1, 999) / 1000:.3f}"]

    bids, asks = ([[str(60_000 + side * tick * n), "1.000"] for n in range(1, DEPTH + 1)] for side in (-1, 1))
    return (bids, asks), [([level(-1)], [level(1)]) for _ in range(INCREMENTS)]


def _keep(first: Change, changes: list[Change]) -> None:
    book = LocalBook()
    book.snapshot(*first)
    for bids, asks in changes:
        book.apply(bids, asks)
        book.bids.best()
        book.asks.best()


def _keep_naively(first: Change, changes: list[Change]) -> None:
    sides = [{Decimal(price): quantity for price, quantity in side} for side in first]
    for change in changes:
        for side, levels in zip(sides, change, strict=True):
            for price, quantity in levels:
                if quantity == "0":
                    side.pop(Decimal(price), None)
                else:
                    side[Decimal(price)] = quantity
        max(sides[0], default=None)
        min(sides[1], default=None)


def measure_startup() -> list[Measurement]:
    """Measure importing the toolkit, and connecting, in fresh interpreters, the best of five each."""
    return [
        Measurement("import toolkit", _printed_best(_IMPORT), "s", target=0.15, better="lower"),
        Measurement("connect() to the local venue", _printed_best(_CONNECT), "s", target=0.5, better="lower"),
    ]


def _printed_best(code: str) -> float:
    line = [sys.executable, "-c", code]
    return min(
        float(subprocess.run(line, capture_output=True, text=True, check=True, timeout=120).stdout) for _ in range(5)
    )
