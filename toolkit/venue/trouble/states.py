"""Troubles of what the venue says: replicas that lag, the product list, the grid of candles, the window of nonces."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from ...environments import EXCHANGE_PATH
from ...errors import InputError, require
from ...numerals import Span, milliseconds
from ...protocol.enums import ENUMS
from ..api import info_market
from ..api.gateway import Answer, Incoming, refusal
from ..api.info_pages import Values, unknown_product
from ..engine.commands import NONCE, REFUSED, Advance, Command, WireError
from ..engine.core import Core
from ..feed.hub import FeedConnection, Subject
from ..model.constants import DAY
from .fields import count, flag, moment, named, one_of, optional, refuse, span, text
from .phases import Phase, QueryPhase, Running, action_of

LISTS = ("/info/public/product-meta", "/info/single")
QUEUED = 10_000
"""Commands that a replica lets wait before it takes those that are due."""


class Replica:
    """A copy of the venue that follows it later: the same commands at the same times, so the same state.

    It begins with the state in which it was made, and never goes back.

    Parameters
    ----------
    running : Running
        The trouble that needs it.
    """

    def __init__(self, running: Running) -> None:
        self._apply = running.venue.replay
        self._commands: deque[Command] = deque()
        self.core = Core.load(running.venue.core.dump())
        self.core.record_events(False)

    def note(self, commands: Iterable[Command], until: int) -> None:
        """Take commands of the venue, and apply some if very many wait.

        Parameters
        ----------
        commands : iterable of Command
            The commands, in order.
        until : int
            Time up to which it may go, Unix ms.
        """
        self._commands.extend(commands)
        if len(self._commands) > QUEUED:
            self.at(until)

    def at(self, time: int) -> Core:
        """Return the state at a time, or the first one it has.

        Parameters
        ----------
        time : int
            The time, Unix ms.
        """
        while self._commands and self._commands[0].time <= time:
            self._apply(self.core, self._commands.popleft())
        if self.core.state.time < time:
            self._apply(self.core, Advance(time))
        return self.core


@dataclass(frozen=True, kw_only=True)
class Lag(QueryPhase):
    """Queries are answered from the state of some time ago, exactly as it was then.

    Each path can have a lag of its own. An order's state may show a fill that the list of fills does not have yet. The
    state is never older than the moment at which the trouble was set.

    Parameters
    ----------
    by : str or timedelta, optional
        Age of the state (default: "5s").

    Examples
    --------
    >>> print(Lag(path="/info/trade/page", by="3s"))
    Lag path=/info/trade/page by=3s
    """

    by: Annotated[Span, span] = "5s"

    def began(self, running: Running) -> None:
        """Make the replica.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        """
        running.memory = Replica(running)

    def noted(self, running: Running, commands: Iterable[Command]) -> None:
        """Let the replica have what the venue does.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        commands : iterable of Command
            The commands, before they are applied.
        """
        if running.memory is not None:
            if running.over(running.venue.core.state.time):
                running.memory = None  # it is never asked again
            else:
                running.memory.note(commands, running.venue.core.state.time - milliseconds(self.by))

    def query(self, running: Running, core: Core, values: Values, incoming: Incoming) -> tuple[Core, Values]:
        """Return the replica as it was `by` ago.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        core : Core
            State machine of the venue.
        values : Values
            Checked parameters by wire name.
        incoming : Incoming
            The request.
        """
        if running.memory is None or not self.matches(incoming) or not running.happens():
            return core, values
        return running.memory.at(core.state.time - milliseconds(self.by)), values


@dataclass(frozen=True, kw_only=True)
class NonceWindow(Phase):
    """Nonces outside of a window are refused with code 40207, as on exchanges that keep few of them.

    Parameters
    ----------
    ahead : str, timedelta or None, optional
        Greatest lead over the venue's time (default: "1s"). `None` is without this limit.
    behind : str, timedelta or None, optional
        Greatest age (default: "60s"). `None` is without this limit.
    last : int or None, optional
        Number of a signer's largest nonces that count: a new one must be above the smallest of them (default: `None`,
        without this limit).

    Examples
    --------
    >>> print(NonceWindow(ahead="2s", last=20))
    NonceWindow ahead=2s last=20
    """

    ahead: Annotated[Span | None, optional(moment)] = "1s"
    behind: Annotated[Span | None, optional(span)] = "60s"
    last: Annotated[int | None, optional(count(1, 1_000))] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ahead is None and self.behind is None and self.last is None:
            raise refuse(None, "ahead", "a limit", "one of ahead, behind and last, such as ahead='1s'", "1s")

    def admit(self, running: Running, core: Core, incoming: Incoming) -> None:
        """Refuse a nonce that is outside of the window.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        core : Core
            State machine of the venue.
        incoming : Incoming
            The request.
        """
        if not incoming.signer:
            return
        reason = self._broken(core, incoming)
        if reason and running.happens():
            raise WireError(NONCE, f"nonce {incoming.nonce} {reason}")

    def _broken(self, core: Core, incoming: Incoming) -> str:
        nonce, now = incoming.nonce, core.state.time
        if self.ahead is not None and nonce - now > milliseconds(self.ahead):
            return f"is {nonce - now} ms ahead of the venue's time {now}. At most {self.ahead} is accepted"
        if self.behind is not None and now - nonce > milliseconds(self.behind):
            return f"is {now - nonce} ms behind the venue's time {now}. At most {self.behind} is accepted"
        window = core.state.nonces.get(incoming.signer.lower())
        used = window.used if window is not None else []
        if self.last is not None and len(used) >= self.last and nonce < used[-self.last]:
            return f"is below {used[-self.last]}, the smallest of the last {self.last} of its signer"
        return ""


@dataclass(frozen=True, kw_only=True)
class Listing(Phase):
    """The product list shows one product otherwise. The matching engine continues as it was, unless `refuses`.

    Two of them swap two symbols, or list a product under another code.

    Parameters
    ----------
    symbol : str
        Symbol of the product, such as "BTCUSDC".
    status : str, int or None, optional
        Its listStatus in the list, such as "Delisted" or 2 (default: `None`, unchanged).
    hidden : bool, optional
        True leaves it out (default: `False`).
    code : int or None, optional
        Code that the list shows (default: `None`, its own).
    shown_as : str, optional
        Symbol that the list shows (default: "", its own).
    keeps_row : bool, optional
        True lists the unchanged row as well, so that two rows have one symbol or one code (default: `False`).
    refuses : bool, optional
        True refuses new orders of the product with code 40230. Cancels pass (default: `False`).

    Examples
    --------
    >>> print(Listing(symbol="BTCUSDC", status=3, refuses=True))
    Listing symbol=BTCUSDC status=3 refuses=True
    """

    symbol: Annotated[str, text] = ""
    status: str | int | None = None
    hidden: Annotated[bool, flag] = False
    code: Annotated[int | None, optional(count(1, 2**31))] = None
    shown_as: Annotated[str, named] = ""
    keeps_row: Annotated[bool, flag] = False
    refuses: Annotated[bool, flag] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.status is not None:
            require(self.status, str | int, "status", 'a text or a whole number, such as "Delisted" or 2')
        changed = self.status is not None or self.code is not None or self.shown_as
        if self.keeps_row and (self.hidden or not changed):
            raise refuse(True, "keeps_row", "a changed row", "status, code or shown_as with it, and not hidden")
        if not (changed or self.hidden or self.refuses):
            what = f"Listing changes nothing of {self.symbol}. Give status, hidden, code, shown_as or refuses"
            raise InputError(what, field="status", rule="a change", value=None)

    def began(self, running: Running) -> None:
        """Find the product, whose name stays what it is in each row.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        """
        core = running.venue.core
        for code, row in core.state.products.items():
            if row["symbol"] == self.symbol:
                running.memory = code, row["name"]
                return
        raise unknown_product(core, "symbol", self.symbol)

    def query(self, running: Running, core: Core, values: Values, incoming: Incoming) -> tuple[Core, Values]:
        """Return the parameters with the product, which the venue must not leave out by its own status.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        core : Core
            State machine of the venue.
        values : Values
            Checked parameters by wire name.
        incoming : Incoming
            The request.
        """
        if incoming.path != LISTS[0]:
            return core, values
        return core, {**values, "kept": (*values.get("kept", ()), str(running.memory[0]))}

    def admit(self, running: Running, core: Core, incoming: Incoming) -> None:
        """Refuse new orders of the product.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        core : Core
            State machine of the venue.
        incoming : Incoming
            The request.
        """
        if not self.refuses or incoming.path != EXCHANGE_PATH or running.memory[0] not in _placed(action_of(incoming)):
            return
        if running.happens():
            raise WireError(REFUSED, f"{self.symbol} is not listed for trading. Orders are not accepted")

    def after(self, running: Running, incoming: Incoming, answer: Answer) -> Answer:
        """Return the list as this trouble shows it.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        incoming : Incoming
            The request.
        answer : Answer
            Answer of the venue.
        """
        if incoming.path not in LISTS or answer.status != 200 or not answer.body:
            return answer
        envelope = msgspec.json.decode(answer.body)
        meta = envelope["data"]
        if envelope["code"] or not any(row["name"] == running.memory[1] for row in meta["perpProducts"]):
            return answer
        if not running.happens():
            return answer
        wanted = next((value for name, value in incoming.pairs if name == "listStatus"), None)
        rows = [
            shown
            for row in meta["perpProducts"]
            for shown in (self._shown(row) if row["name"] == running.memory[1] else [row])
            if wanted is None or row["name"] != running.memory[1] or _status(shown["listStatus"]) == _status(wanted)
        ]
        if incoming.path == LISTS[1] and not rows:
            return refusal(unknown_product(running.venue.core, "symbol", running.memory[0]))
        envelope["data"] = info_market.with_checksum({**meta, "perpProducts": rows})
        return answer._replace(body=msgspec.json.encode(envelope))

    def _shown(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        if self.hidden:
            return []
        changed = dict(row)
        if self.status is not None:
            changed["listStatus"] = self.status
        if self.code is not None:
            changed["code"] = str(self.code)
        if self.shown_as:
            changed["symbol"] = self.shown_as
        return [row, changed] if self.keeps_row else [changed]


def _status(given: object) -> str:
    return (ENUMS["list_status"].text(given) or "").upper()


def _placed(action: Any) -> set[int]:
    """Return the codes of the products in which an action places orders."""
    if "cancel" in str(action.get("type", "")).lower():
        return set()
    orders = action.get("orders", [action.get("order", action)])
    given = [str(order.get("symbolCode")) for order in orders if isinstance(order, dict) and "ordQty" in order]
    return {int(code) for code in given if code.isdecimal()}


WEEK = 7 * DAY
WEEKDAYS = ("thursday", "friday", "saturday", "sunday", "monday", "tuesday", "wednesday")
"""In the order of the first days of 1970, from whose beginning the venue counts intervals."""


@dataclass(frozen=True, kw_only=True)
class CandleGrid(Phase):
    """Candles of a day begin at another hour, and those of a week on another weekday at that hour.

    The venue counts all intervals from the beginning of 1970, a Thursday. Queries and the feed have the same candles.

    Parameters
    ----------
    day : str or timedelta, optional
        Span from 00:00 UTC to the beginning of a day, below 24 h (default: "16h").
    week : str, optional
        Weekday on which weeks begin (default: "monday").

    Examples
    --------
    >>> print(CandleGrid(day="8h", week="sunday"))
    CandleGrid day=8h week=sunday
    """

    day: Annotated[Span, moment] = "16h"
    week: Annotated[str, one_of(*WEEKDAYS)] = "monday"

    def __post_init__(self) -> None:
        super().__post_init__()
        if milliseconds(self.day) >= DAY or milliseconds(self.day) % 60_000:
            raise refuse(self.day, "day", "below 24h", 'whole minutes below 24 hours, such as "16h"', "16h")

    def origin_ms(self, interval_s: int) -> int:
        """Return where an interval of candles begins to count, Unix ms.

        Parameters
        ----------
        interval_s : int
            Length of a candle in seconds.
        """
        interval = interval_s * 1000
        if interval % DAY:
            return 0
        weekday = WEEKDAYS.index(self.week) * DAY if interval % WEEK == 0 else 0
        return weekday + milliseconds(self.day)

    def query(self, running: Running, core: Core, values: Values, incoming: Incoming) -> tuple[Core, Values]:
        """Return the parameters of a candle query with where its intervals begin.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        core : Core
            State machine of the venue.
        values : Values
            Checked parameters by wire name.
        incoming : Incoming
            The request.
        """
        if not incoming.path.startswith("/info/kline/") or not (origin := self.origin_ms(values["interval"])):
            return core, values
        return (core, {**values, "origin": origin}) if running.happens() else (core, values)

    def texts(self, running: Running, connection: FeedConnection, subject: Subject, text: str) -> Iterable[str]:
        """Return the message of a candle with the newest candle of this grid.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        connection : FeedConnection
            Connection of the subscriber.
        subject : Subject
            Subject of the message.
        text : str
            Encoded message.
        """
        if subject.channel.type != "candle":
            return (text,)
        message = msgspec.json.decode(text)
        data = message["data"]
        if not (origin := self.origin_ms(int(data["intrvl"]))) or not running.happens():
            return (text,)
        values = {"symbol_name": data["symbolName"], "interval": int(data["intrvl"]), "limit": 1, "origin": origin}
        message["data"] = next(info_market.klines_last(running.venue.core, values), data)
        return (msgspec.json.encode(message).decode(),)
