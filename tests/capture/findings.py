"""A capture as files: report.md for people, report.json for programs, and fixtures without keys or addresses."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from toolkit import __version__
from toolkit.client.io.transport import NO_RETRY
from toolkit.errors import ExchangeError, TransportError, WalletError
from toolkit.protocol.actions import INTERFACE_VERSION
from toolkit.protocol.reads.feed import CHANNELS
from toolkit.session import connect
from toolkit.wallet import AGENT_VARIABLE, Wallet

from .asking import KEPT, NOBODY, Answered, ChannelCapture, FeedCapture, ask_all, ask_for_errors, read_channels
from .comparison import Difference, shown

MARKS = (
    "A mark says who declares a field: the specification [S], the exchange's documents [P], its SDK [K],\n"
    "or the local venue alone [L], from which another venue may differ."
)
ROWS = 3
"""Rows of an answer that are kept in its fixture."""


@dataclass(frozen=True, slots=True)
class Capture:
    """Everything that was read from one venue.

    Parameters
    ----------
    about : dict
        When, where and with what it was read.
    queries : list of Answered
        Answers of all queries.
    errors : list of Answered
        Answers to requests that a venue refuses.
    feed : FeedCapture
        Messages of all channels.
    """

    about: dict[str, str]
    queries: list[Answered]
    errors: list[Answered]
    feed: FeedCapture

    @property
    def differences(self) -> list[Difference]:
        """All differences: queries, then errors, then channels."""
        read: list[Answered | ChannelCapture] = [*self.queries, *self.errors, *self.feed.channels]
        return [one for part in read for one in part.differences]

    def summary(self) -> str:
        """Return the result in one sentence."""
        asked = [one for one in self.queries if one.status and one.served]
        fitting = sum(not any(each.published and not each.optional for each in one.differences) for one in asked)
        channels = [one for one in self.feed.channels if one.messages]
        alike = sum(not _differing(one.differences) for one in channels)
        absent = sum(not one.served for one in self.queries)
        return (
            f"{fitting} of {len(asked)} queries and {alike} of {len(channels)} channels as declared, "
            f"{absent} queries not served, {len(self.queries) - len(asked) - absent} queries without an answer, "
            f"{len(self.feed.channels) - len(channels)} channels without a message"
        )

    def write(self, folder: Path) -> None:
        """Write the report and the fixtures. Nothing in them names an account.

        Parameters
        ----------
        folder : Path
            Folder of the report and the fixtures.
        """
        stand_ins = StandIns()
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / "report.md", stand_ins.clean("\n".join(self._lines())) + "\n")
        facts = {
            "about": self.about,
            "summary": self.summary(),
            "queries": [_facts(one) for one in self.queries],
            "errors": [_facts(one) for one in self.errors],
            "channels": [_channel_facts(one) for one in self.feed.channels],
            "feed": {**_named(self.feed, "error", "refusal"), "unknown": self.feed.unknown[:KEPT]},
            "differences": [asdict(one) for one in _differing(self.differences)],
            "absent": [asdict(one) for one in self.differences if one.optional],
        }
        _write(folder / "report.json", json.dumps(stand_ins.clean(facts), indent=1) + "\n")
        answers = (
            {**_named(one, "name", "path", "query", "status"), "query": dict(one.query), "body": _few_rows(one.body)}
            for one in (*self.queries, *self.errors)
            if one.status
        )
        messages = (message for one in self.feed.channels for message in one.messages[:KEPT])
        for name, values in (("rest.jsonl", answers), ("feed.jsonl", messages)):
            lines = (json.dumps(stand_ins.clean(value), separators=(",", ":")) + "\n" for value in values)
            _write(folder / name, "".join(lines))

    def _lines(self) -> Iterable[str]:
        yield "# What this venue answers"
        yield ""
        yield from (f"- {name}: {text}" for name, text in self.about.items())
        yield from ("", f"{self.summary()}.", "", MARKS, "", "## Queries", "")
        yield from _table(("Query", "HTTP", "Rows", "Result"), (_result(one) for one in self.queries))
        yield from ("", "## Errors", "")
        yield from _table(("Request", "HTTP", "Code", "Message"), (_error_row(one) for one in self.errors))
        yield from ("", "## Channels", "")
        if self.feed.error:
            yield from (f"The feed failed: {self.feed.error}", "")
        head = ("Channel", "Acknowledged", "Messages", "First", "Gaps", "Result")
        yield from _table(head, (_channel_row(one) for one in self.feed.channels))
        yield from ("", f"A channel that does not exist: {shown(self.feed.refusal)}")
        if self.feed.unknown:
            yield f"Messages of no known form: {len(self.feed.unknown)}, such as {shown(self.feed.unknown[0])}"
        yield from ("", "## Differences", "")
        yield from _differences(one for one in self.differences if not one.optional)
        yield from ("", "## Published fields that are not there", "")
        yield from _differences(one for one in self.differences if one.optional)


def _differences(found: Iterable[Difference]) -> Iterable[str]:
    rows = ((one.where, one.field, one.declared, one.found, f"[{one.source}]") for one in found)
    return _table(("Where", "Field", "Declared", "Found", ""), rows)


def take(session: Any, seconds: float, timeout: float = 10.0) -> Capture:
    """Read everything that a session's venue answers, and each channel.

    Without an account, queries and channels of accounts use the zero address.

    Parameters
    ----------
    session : Session
        The session.
    seconds : float
        How long each channel is read, in seconds.
    timeout : float, optional
        Longest time to connect to the feed, in seconds (default: 10).
    """
    run, environment = session._driver.run, session.environment
    account: str | None = None
    with suppress(WalletError, ExchangeError, TransportError):
        account = run(session._account())
    queries: list[Answered] = run(ask_all(account))
    errors: list[Answered] = run(ask_for_errors(environment))
    symbol = _first_symbol(next(one.body for one in queries if one.name == "products"))
    began = datetime.fromtimestamp(session._runtime.now() / 1000, UTC)
    # A venue in this process has no socket yet.
    venue = session._local
    with nullcontext(session) if venue is None else venue.serve(0) as served:
        feed = read_channels(served.environment.feed_url, symbol, account or NOBODY, seconds, timeout)
    about = {
        "environment": f"{environment.name}, {environment.base_url if venue is None else 'in this process'}",
        "chain": f"{environment.chain.chain_id} ({environment.chain.dex_chain})",
        "toolkit": f"{__version__}, interface {INTERFACE_VERSION}",
        "time": began.strftime("%Y-%m-%d %H:%M UTC"),
        "feed": f"{symbol}, {seconds:g} s",
        "account": "of a key or an argument" if account else "none: asked for the zero address",
    }
    return Capture(about, queries, errors, feed)


def capture(
    url: str, folder: Path, env: str = "local", feed: str = "", account: str | None = None, seconds: float = 60.0
) -> int:
    """Read everything that a venue answers, write report and fixtures, and print the result.

    The key of TOOLKIT_AGENT_KEY is used where it is set.

    Parameters
    ----------
    url : str
        Address of the venue.
    folder : Path
        Folder to write to.
    env : str, optional
        Environment, which has the signatures of the requests for errors (default: "local").
    feed : str, optional
        Address of the feed, if it is another one.
    account : str, optional
        Address of the account that is asked for (default: the wallet's).
    seconds : float, optional
        How long each channel is read, in seconds (default: 60).

    Returns
    -------
    int
        0 if nothing that is published differs, 1 if something does, 2 if the feed failed.
    """
    wallet = Wallet.from_env(account=account) if os.environ.get(AGENT_VARIABLE) else None
    asked = account if wallet is None else None
    with connect(env, wallet=wallet, account=asked, base_url=url, ws_url=feed or None, retry=NO_RETRY) as session:
        print(f"asking every query, then reading every channel for {seconds:g} s", flush=True)
        taken = take(session, seconds)
    taken.write(folder)
    print(f"{taken.summary()}. See {folder / 'report.md'}, which has no keys or addresses")
    if taken.feed.error:
        print(f"The feed failed: {taken.feed.error}")
        return 2
    return int(any(one.published and not one.optional for one in taken.differences))


def _first_symbol(body: Any) -> str:
    """Return the first symbol of a product list. Where there is none, one that is worth a try."""
    try:
        return str(body["data"]["perpProducts"][0]["symbol"])
    except (LookupError, TypeError):
        return "BTCUSDC"


def _result(one: Answered) -> tuple[str, ...]:
    result = ("–", one.error) if one.error else (str(one.rows), _verdict(one.differences))
    result = result if one.served else ("–", "not served")
    return one.path + _mark(one), str(one.status or "–"), *result


def _error_row(one: Answered) -> tuple[str, ...]:
    body = one.body if isinstance(one.body, dict) else {}
    return one.name, str(one.status or "–"), shown(body.get("code")), one.error or str(body.get("message", ""))[:80]


def _channel_row(one: ChannelCapture) -> tuple[str, ...]:
    accepted = "no answer" if one.answer is None else "yes" if one.answer.get("success") is True else shown(one.answer)
    gaps = str(one.gaps) if CHANNELS[one.channel].sequenced and one.messages else "–"
    result = _verdict(one.differences) if one.messages else "no message"
    return one.channel, accepted, str(len(one.messages)), one.first_type or "–", gaps, result


def _mark(one: Answered) -> str:
    return "" if one.published else " [L]"


def _differing(differences: Sequence[Difference]) -> list[Difference]:
    return [one for one in differences if not one.optional]


def _verdict(differences: Sequence[Difference]) -> str:
    count = len(_differing(differences))
    return f"{count} difference{'s' if count > 1 else ''}" if count else "as declared"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterable[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        # A venue's words may hold the table's own marks.
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|').replace(chr(10), ' ') for cell in row)} |"


def _named(one: object, *names: str) -> dict[str, Any]:
    return {name: getattr(one, name) for name in names}


def _facts(one: Answered) -> dict[str, Any]:
    return _named(one, "name", "path", "status", "error", "rows", "published", "served") | {
        "differences": len(_differing(one.differences))
    }


def _channel_facts(one: ChannelCapture) -> dict[str, Any]:
    counts = {"messages": len(one.messages), "first": one.first_type, "gaps": one.gaps}
    return _named(one, "channel", "answer") | counts | {"differences": len(_differing(one.differences))}


def _few_rows(body: Any) -> Any:
    """Return an answer with at most ROWS rows in each list."""
    if isinstance(body, dict):
        return {name: _few_rows(value) for name, value in body.items()}
    return [_few_rows(value) for value in body[:ROWS]] if isinstance(body, list) else body


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


_HEX = re.compile(r"(0[xX])([0-9a-fA-F]{6,})|(?<![0-9a-zA-Z])([0-9a-fA-F]{24,})(?![0-9a-zA-Z])")
"""Hex digits after 0x, or a long run of them. Both also match what is left of a truncated address."""
_NAMES = frozenset(
    ("agentName", "vaultName", "description", "referralCode", "inviterCode", "reference", "nonce", "signature")
)
"""Members that hold words, numbers or signatures of a person."""


class StandIns:
    """Replaces each address, hash or key by a number of the same form, the same one always by the same number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def clean(self, value: Any) -> Any:
        """Return a decoded answer with addresses, hashes, keys and personal members replaced.

        Parameters
        ----------
        value : object
            A decoded answer.
        """
        if isinstance(value, str):
            return _HEX.sub(self._stand_in, value)
        if isinstance(value, Mapping):
            return {
                self.clean(name): self._named(item) if name in _NAMES else self.clean(item)
                for name, item in value.items()
            }
        return [self.clean(item) for item in value] if isinstance(value, list | tuple) else value

    def _stand_in(self, found: re.Match[str]) -> str:
        prefix, digits = found[1] or "", found[2] or found[3]
        number = self._numbers.setdefault(digits.lower(), len(self._numbers) + 1)
        text = f"{number:0{len(digits)}x}"
        return prefix + (text.upper() if digits.isupper() else text)

    @staticmethod
    def _named(value: Any) -> Any:
        if isinstance(value, str):
            return "text" if value else ""
        return 0 if isinstance(value, int | float) else None
