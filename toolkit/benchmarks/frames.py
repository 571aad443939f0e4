"""How fast answers become frames: 100,000 candles from JSON text to a DataFrame, against two common ways."""

from __future__ import annotations

import gc
import json
import random
from typing import Any

from . import Measurement, rival_seconds

COUNT = 100_000
_FLOATS = ("open", "high", "low", "close", "volume", "turnover")


def candles_json(count: int = COUNT, seed: int = 7) -> bytes:
    """Return the JSON text of an answer with this many minute candles."""
    chance = random.Random(seed)
    rows = []
    price = 60_000.0
    for at in range(count):
        price += chance.gauss(0, 8)
        rows.append(
            {
                "symbolName": "BTCUSDC",
                "timestamp": 1_700_000_040 + 60 * at,
                "intrvl": 60,
                "open": f"{price:.1f}",
                "high": f"{price + 12:.1f}",
                "low": f"{price - 11:.1f}",
                "close": f"{price + 3:.1f}",
                "volume": f"{chance.random() * 20:.3f}",
                "turnover": f"{chance.random() * 1e6:.6f}",
                "tradeCount": chance.randrange(90),
            }
        )
    return json.dumps({"code": 0, "message": "success", "data": rows}, separators=(",", ":")).encode()


def plainly(body: bytes) -> Any:
    """Do what most programs do: json, DataFrame of a list of dicts, to_numeric."""
    import pandas as pd

    made = pd.DataFrame(json.loads(body)["data"])
    for name in _FLOATS:
        made[name] = pd.to_numeric(made[name])
    made["timestamp"] = pd.to_datetime(made["timestamp"], unit="s", utc=True)
    return made


def typed_decoder() -> Any:
    """Return a msgspec decoder of the whole answer with typed fields, the quickest plain way to Python objects."""
    import msgspec

    fields: list[tuple[str, Any]] = [("symbolName", str), ("timestamp", int), ("intrvl", int)]
    fields += [(name, float) for name in _FLOATS]
    row = msgspec.defstruct("Row", [*fields, ("tradeCount", int)], gc=False)
    envelope = msgspec.defstruct("Envelope", [("code", int), ("message", str), ("data", list[row])])  # type: ignore[valid-type]
    return msgspec.json.Decoder(envelope, strict=False)


def rows() -> list[Measurement]:
    """Measure both ratios of design: against the plain way, and against typed decoding alone."""
    from ..client.reads.frames import frame
    from ..protocol.reads.info_queries import ENDPOINTS

    body, klines, decoder = candles_json(), ENDPOINTS["klines"], typed_decoder()
    gc.collect()
    ours, plain = rival_seconds(lambda: frame(klines, body), lambda: plainly(body), repeat=3)
    again, decoding = rival_seconds(lambda: frame(klines, body), lambda: decoder.decode(body), repeat=7)
    return [
        Measurement(
            "100,000 klines, bytes to frame",
            ours * 1000,
            "ms",
            target=4.0,
            measure="ratio",
            peer=f"json + DataFrame(list) + to_numeric, {plain * 1000:.0f} ms",
            ratio=plain / ours,
            note="times as fast",
        ),
        Measurement(
            "100,000 klines, against decoding alone",
            again * 1000,
            "ms",
            target=1.5,
            better="lower",
            measure="ratio",
            peer=f"typed msgspec decoding, {decoding * 1000:.0f} ms",
            ratio=again / decoding,
            note="times as long",
        ),
    ]
