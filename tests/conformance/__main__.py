"""`python -m tests.conformance URL`: try the published interface at a venue, and print what holds and what differs.

It trades with the public development accounts: orders, leverage, vaults, builders and withdrawals. Accounts 0 to 9 of
their mnemonic need funds, as they have at every local venue. A run on a fresh venue tries the most. Its signatures are
those of Testnet, so that nothing can happen on Mainnet.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter

from . import feeds, orders, programs, queries, requests, trading  # noqa: F401
from .statements import Outcome, run
from .venue import Venue

COLUMNS = ("source", "statement", "result", "why", "seconds")


def outcomes(url: str, feed: str = "", only: str = "", seconds: float = 10.0, shown: bool = False) -> list[Outcome]:
    """Try the statements at a venue and return what came of each; `shown` prints each one when it is done."""
    venue = Venue(url.rstrip("/"), (feed or url.replace("http", "ws", 1)).rstrip("/"), seconds=seconds)
    found = []
    try:
        for outcome in run(venue, only):
            found.append(outcome)
            if shown:
                mark = {"holds": " ", "differs": "X", "not tried": "-"}[outcome.result]
                print(f"{mark} {outcome.statement.source}: {outcome.statement.text}", flush=True)
                if outcome.why:
                    print(f"      {outcome.result}: {outcome.why}", flush=True)
    finally:
        venue.close()
    return found


def main() -> int:
    """Return 0 when nothing differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("url", help="address of the venue, such as http://127.0.0.1:8645")
    parser.add_argument("--feed", default="", help="address of the feed, if it is another one")
    parser.add_argument("--only", default="", help="only statements whose source or text contains this")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long an effect may take to show (default 10)")
    parser.add_argument("--json", action="store_true", help="also print the table as JSON")
    given = parser.parse_args()
    found = outcomes(given.url, given.feed, given.only, given.seconds, shown=True)
    count = Counter(outcome.result for outcome in found)
    print(f"\n{len(found)} statements: " + ", ".join(f"{number} {name}" for name, number in sorted(count.items())))
    if given.json:
        rows = [(o.statement.source, o.statement.text, o.result, o.why, round(o.seconds, 3)) for o in found]
        print(json.dumps([dict(zip(COLUMNS, row, strict=True)) for row in rows]))
    return int(bool(count["differs"]))


if __name__ == "__main__":
    sys.exit(main())
