"""`python -m tests.published`: serve a published form on 127.0.0.1 for a while, so that other programs can try it.

It prints the addresses, then `ready` and the address of the queries. The account is the first development account, its
agent the eleventh, of the public mnemonic.
"""

from __future__ import annotations

import argparse
import threading
import time

from tests.published.feed import feed
from tests.published.server import PublishedServer
from tests.published.variations import APRIL, AS_PUBLISHED, FORMS, ONLY_REQUIRED, SAME, UNKNOWN_FIELDS
from tests.published.world import AGENT, MASTER

VARIATIONS = {one.name: one for one in (AS_PUBLISHED, ONLY_REQUIRED, UNKNOWN_FIELDS, *SAME)}


def main() -> None:
    """Serve until the time is over."""
    parser = argparse.ArgumentParser(prog="python -m tests.published", description=__doc__)
    parser.add_argument("--form", choices=FORMS, default=APRIL.name)
    parser.add_argument("--variation", choices=VARIATIONS, default=AS_PUBLISHED.name)
    parser.add_argument("--port", type=int, default=0, help="port of the queries (default: a free one)")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long it serves (default 60)")
    given = parser.parse_args()
    server = PublishedServer(FORMS[given.form], VARIATIONS[given.variation], now=time.time_ns() // 1_000_000)
    with server.served(given.port) as address, feed(server.world) as ws:
        print(f"account {MASTER.address}\nagent {AGENT.address}\nfeed {ws}\nready {address}", flush=True)
        threading.Event().wait(given.seconds)


if __name__ == "__main__":
    main()
