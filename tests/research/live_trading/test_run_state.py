"""A long run reads on from the last row it has read, and counts every fill once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EIGHT_HOURS = """
import json
from pathlib import Path
import toolkit
from toolkit.client.io.transport import HttpTransport
from toolkit.research import Limits, Strategy, live
from toolkit.research.live_trading.runner import Runner
from toolkit.venue.local import LocalVenue

class EachMinute(Strategy):
    bars = 0

    def on_bar(self, ctx, bar):
        self.bars += 1
        (ctx.buy if self.bars % 2 else ctx.sell)(bar.symbol, "0.001")

def resident_mb():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))

read, looks, sizes, poll, send = 0, [], [], Runner._poll, HttpTransport.send

def sent(self, fetch):
    global read
    reply = send(self, fetch)
    read += len(reply.body)
    return reply

def polled(self):
    global read
    read = 0
    poll(self)
    looks.append(read)
    sizes.append(resident_mb())

HttpTransport.send, Runner._poll = sent, polled
with LocalVenue(clock="manual", market=False) as venue:
    venue.control.set_oracle("BTCUSDC", "60000")
    with toolkit.connect(venue=venue) as session, toolkit.connect(venue=venue, account=1) as other:
        other.buy("BTCUSDC", "2", price=59_990)
        other.sell("BTCUSDC", "2", price=60_010)
        session.buy("BTCUSDC", "0.001")
        run = live(EachMinute(), session, ["BTCUSDC"], interval="1m", duration="8h", limits=Limits())
print(json.dumps({"looks": looks, "fills": len(run.fills), "grown_mb": max(sizes) - sizes[5]}))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_eight_hours_with_an_order_a_minute_take_little_memory() -> None:
    root = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", EIGHT_HOURS]
    out = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=110, check=True).stdout
    found = json.loads(out.splitlines()[-1])
    looks = found["looks"]
    print(f"\n{found['grown_mb']:.1f} MB, venue included; {max(looks[-60:])} bytes read by a look of the last hour")
    assert len(looks) == found["fills"] == 480
    # Once a funding interval, of four hours, the ledger since the one before is read as well.
    assert max(looks[-60:]) < 1.5 * max(looks[5:300])
    assert max(looks[-230:-10]) < 1.5 * max(looks[5:65])
    assert found["grown_mb"] < 20  # it was 162 while each look read everything since the start
