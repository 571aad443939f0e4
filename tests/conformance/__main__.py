"""`python -m tests.conformance URL`: try the published interface at a venue, and print what holds and what differs.

It trades with the public development accounts: orders, leverage, vaults, builders and withdrawals. Accounts 0 to 9 of
their mnemonic need funds, as they have at every local venue. A run on a fresh venue tries the most. Its signatures are
those of Testnet, so that nothing can happen on Mainnet. With the token of a local venue's controls it also provokes the
codes of an operator (an action that is switched off, a banned address, a closed location), opens usdSend, and sets the
clock forward.

Each line has a mark: who makes the statement. S: the specification. P: published documents and shapes. K: the
exchange's SDK. O: observed at the live exchange. L: decided by the local venue, because nobody publishes it. Another
venue may decide otherwise than L, which is counted apart and differs from nothing that the exchange states.
A line begins with X if the venue differs, o if it decides otherwise, ~ if it is not served, and - if it was not tried.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path

import httpx

from . import feeds, orders, programs, published, queries, requests, trading  # noqa: F401
from .statements import MARKS, RESULTS, Outcome, run
from .venue import Venue

SIGNS = dict(zip(RESULTS, " Xo~-", strict=True))


def outcomes(
    url: str, feed: str = "", only: str = "", seconds: float = 10.0, token: str = "", shown: bool = False
) -> list[Outcome]:
    """Try the statements at a venue and return what came of each; `shown` prints each one when it is done."""
    venue = Venue(url.rstrip("/"), (feed or url.replace("http", "ws", 1)).rstrip("/"), token, seconds=seconds)
    found = []
    with venue.http:
        for outcome in run(venue, only):
            found.append(outcome)
            if shown:
                why = f"\n      {outcome.result}: {outcome.why}" if outcome.why else ""
                print(f"{SIGNS[outcome.result]} {outcome.statement}{why}", flush=True)
    return found


def summary(found: list[Outcome]) -> str:
    """Return a table of results by mark, and a line of them all."""
    count = Counter((one.statement.mark, one.result) for one in found)
    lines = [" " * 36 + "".join(f"{result:>12}" for result in RESULTS)]
    for mark, who in MARKS.items():
        lines.append(f"[{mark}] {who:<32}" + "".join(f"{count[mark, result] or '':>12}" for result in RESULTS))
    total = Counter(one.result for one in found)
    return "\n".join([*lines, f"{len(found)} statements: " + ", ".join(f"{total[name]} {name}" for name in RESULTS)])


def row_of(outcome: Outcome) -> dict[str, object]:
    """Return an outcome as a row of the JSON table."""
    said = {"mark": outcome.statement.mark, "topic": outcome.statement.topic, "statement": outcome.statement.text}
    return {**said, "result": outcome.result, "why": outcome.why, "seconds": round(outcome.seconds, 3)}


def main() -> int:
    """Return 0 when nothing differs, 1 when something does, 2 when nothing could be tried."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", help="address of the venue, such as http://127.0.0.1:8645")
    parser.add_argument("--feed", default="", help="address of the feed, if it is another one")
    parser.add_argument("--only", default="", help="only statements whose mark, topic or text contains this")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long an effect may take to show (default 10)")
    text = "token of a local venue's controls (default: the variable TOOLKIT_CONTROL_TOKEN)"
    parser.add_argument("--token", default=os.environ.get("TOOLKIT_CONTROL_TOKEN", ""), help=text)
    text = "instead compare each answer, field by field, with the toolkit's declarations, and write report and fixtures"
    parser.add_argument("--capture", type=Path, metavar="FOLDER", help=text)
    text = "with --capture: the environment, for the signatures of malformed requests (default local)"
    parser.add_argument("--env", choices=("local", "testnet", "mainnet"), default="local", help=text)
    text = "with --capture: address of an account (default: that of the key in TOOLKIT_AGENT_KEY)"
    parser.add_argument("--account", metavar="ADDRESS", help=text)
    text = "with --capture: seconds to read the channels (default 60)"
    parser.add_argument("--duration", type=float, default=60.0, help=text)
    parser.add_argument("--json", action="store_true", help="also print the table as JSON")
    given = parser.parse_args()
    try:
        httpx.get(given.url, timeout=given.seconds)
    except httpx.HTTPError as error:
        print(f"nothing answers at {given.url}: {error}")
        return 2
    if given.capture is not None:
        # The suite imports nothing of the toolkit. Only this comparison does.
        from tests.capture.findings import capture

        return capture(given.url, given.capture, given.env, given.feed, given.account, given.duration)
    found = outcomes(given.url, given.feed, given.only, given.seconds, given.token, shown=True)
    print(f"\n{summary(found)}")
    if given.json:
        print(json.dumps([row_of(outcome) for outcome in found]))
    results = {one.result for one in found}
    return int("differs" in results) if results & {"holds", "differs"} else 2


if __name__ == "__main__":
    sys.exit(main())
