"""The shared part of environments: a market, the desks of its traders, and the effect of a step of time on them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..connecting import venue_in_process
from ..errors import InputError, require
from ..numerals import Span, milliseconds
from ..products import Amount
from ..venue.lab.player import Player, Replayable
from ..venue.local import LocalVenue
from ..venue.model.genesis import Genesis
from .desks import SessionDesk, Standing, VenueDesk
from .policies import Observer, PolicyStrategy, order_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..session import Session
    from ..venue.model.market import Market

WARM_UP_MS = 60_000
"""Time that passes on a new venue before an episode, so that there are quotes and prices."""
BP = 10_000


@dataclass(frozen=True)
class FloorSettings:
    """Settings that the environments' constructors take. `TradingEnv` explains each.

    Parameters
    ----------
    symbol : str, optional
        Product that is traded (default: "BTCUSDC").
    traders : int, optional
        Number of traders (default: 1).
    replay : Replayable, optional
        A recording as the market (default: none, a simulated one).
    session : Session, optional
        Session whose account is traded (default: none).
    market : str or Market, optional
        Regime of the simulated market, or a Market (default: "usual").
    step : str, Timedelta, timedelta or int, optional
        Time that passes with each step (default: "1s").
    episode : int, optional
        Steps of an episode (default: 3,600).
    depth : int, optional
        Levels of each side that are observed (default: 5).
    balance : str, int, float or Decimal, optional
        USDC at the beginning (default: "10000").
    max_position : str, int, float or Decimal, optional
        Base units that an action of 1 means (default: what the balance buys at the first reset).
    ruin : float, optional
        Part of its first equity at which an episode is lost, a ratio (default: 0.5).
    """

    symbol: str = "BTCUSDC"
    traders: int = 1
    replay: Replayable | None = None
    session: Session | None = None
    market: str | Market = "usual"
    step: Span = "1s"
    episode: int = 3_600
    depth: int = 5
    balance: Amount = "10000"
    max_position: Amount | None = None
    ruin: float = 0.5


class Snapshot(NamedTuple):
    """The state of a venue and the mid prices that its traders remember.

    Attributes
    ----------
    venue : bytes
        State of the venue.
    mids : tuple of tuple of float
        Mid prices of each trader, USDC, oldest first.
    """

    venue: bytes
    mids: tuple[tuple[float, ...], ...]


class Result(NamedTuple):
    """The result of a step for one trader.

    Attributes
    ----------
    observation : array of float32
        Observation of the trader, see `Observer`.
    reward : float
        Change of equity, bp of the episode's first equity.
    ruined : bool
        Whether the trader has lost the episode.
    info : dict of str to object
        Equity, profit, fees and funding in USDC, position in base units, and why an order was refused.
    """

    observation: NDArray[np.float32]
    reward: float
    ruined: bool
    info: dict[str, Any]


class Floor:
    """A market with traders.

    `begin` makes or restores it for an episode, `let_act` lets all of them act and time pass. It raises InputError for
    settings that contradict each other or are outside of their bounds.

    Parameters
    ----------
    settings : FloorSettings
        Settings of the environment.
    """

    def __init__(self, settings: FloorSettings) -> None:
        self.settings = settings
        self.step_ms = milliseconds(settings.step, "step")
        if settings.episode < 1 or self.step_ms < 1 or settings.traders < 1 or not 0 <= settings.ruin < 1:
            text = "step is at least 1 ms, episode and traders are 1 or more, ruin is a ratio from 0 to below 1"
            raise InputError(text, field="settings")
        if settings.session is not None and (settings.replay is not None or settings.traders > 1):
            raise InputError("a session has its own market and one account: leave out replay, traders", field="session")
        self.observers = [Observer(settings.depth) for _ in range(settings.traders)]
        self.most_steps = 0
        """The largest position, in steps. Known once a venue is there."""
        self._passed, self._end_ms = 0, 1 << 62
        self._venue: LocalVenue | None = None
        self._desks: Sequence[VenueDesk | SessionDesk] = ()
        self._before: list[Standing] = []
        self._first: list[float] = []

    @property
    def max_position(self) -> str:
        """The largest position in base units. Raises InputError before the first reset."""
        if not self.most_steps:
            raise InputError("max_position is not known before the first reset()", field="max_position")
        return self._desks[0].product.quantity_text(self.most_steps)

    def begin(self, random: np.random.Generator, options: Mapping[str, Any] | None) -> list[Result]:
        """Begin an episode, and return what each trader sees.

        Parameters
        ----------
        random : Generator
            Random numbers that draw the market.
        options : mapping of str to object or None
            Options of the episode: `snapshot`, `start`, None for none.
        """
        settings, options = self.settings, options or {}
        snapshot: Snapshot | None = options.get("snapshot")
        if snapshot is not None:
            self._check_fits(snapshot)
        for observer in self.observers:
            observer.mids.clear()
        if settings.session is not None:
            self._join(settings.session)
        elif snapshot is None or self._venue is None:
            self._open(random, options.get("start"))
        if snapshot is not None and self._venue is not None:
            # The venue is kept, because making one takes longer than many steps.
            self._venue.host.restore(snapshot.venue)
            for observer, mids in zip(self.observers, snapshot.mids, strict=True):
                observer.mids.extend(mids[:-1])  # the last one is observed again
        # After a snapshot is restored: rewards count from the state in which the episode begins.
        self._before = [desk.standing() for desk in self._desks]
        self._first = [standing.equity for standing in self._before]
        if not self.most_steps:
            self.most_steps = self._largest()
        self._passed = 0
        return [self._result(number, "") for number in range(settings.traders)]

    def _check_fits(self, snapshot: Snapshot) -> None:
        if self.settings.session is not None:
            raise InputError("the market of a session can't be restored from a snapshot", field="snapshot")
        require(snapshot, Snapshot, "snapshot", "what snapshot() of an environment returned")
        had, traders = len(snapshot.mids), self.settings.traders
        if had != traders:
            text = (
                f"snapshot is of {had} trader{'s' * (had != 1)}, and this environment has {traders}. Restore it in one "
            )
            raise InputError(f"{text}of {had}", field="snapshot", rule="traders", value=had, nearest=(str(traders),))

    def _open(self, random: np.random.Generator, start: int | None) -> None:
        """Make a venue: with a simulated market of a drawn seed, or at a drawn moment of the recording."""
        self.close()
        settings = self.settings
        common: dict[str, Any] = {"clock": "manual", "accounts": settings.traders, "balance": settings.balance}
        if settings.replay is None:
            venue = LocalVenue(seed=int(random.integers(1 << 31)), market=settings.market, **common)
            venue.host.advance_to(venue.host.now_ms() + WARM_UP_MS)
        else:
            player = Player(settings.replay, Genesis().products)
            # An episode that begins later would end with the recording, and be shorter than the others.
            latest = max(player.start_ms, player.end_ms - settings.episode * self.step_ms)
            begin = int(random.integers(player.start_ms, latest + 1)) if start is None else start
            venue, self._end_ms = LocalVenue(replay=settings.replay, start=begin, **common), player.end_ms
        self._venue = venue
        self._desks = [VenueDesk(venue, settings.symbol, trader) for trader in range(settings.traders)]
        while not all(self._desks[0].book(1)):
            if venue.host.now_ms() >= self._end_ms:
                raise InputError("no book with two sides comes before the recording ends", field="replay")
            self._pass_time()

    def _join(self, session: Session) -> None:
        """Trade through a session, without orders and position. Its market continues as it is."""
        if not self._desks:
            self._venue = venue_in_process(session)
            self._desks = [SessionDesk(session, self.settings.symbol, self.settings.depth)]
        session.cancel_all(self.settings.symbol)
        if self._desks[0].standing().steps:
            session.close_position(self.settings.symbol)
            self._pass_time()

    def _largest(self) -> int:
        """Return the largest position in steps: what was given, or what the balance buys at the present price."""
        product, given, bids = self._desks[0].product, self.settings.max_position, self._desks[0].book(1)[0]
        if given is None:
            given = f"{self._first[0] / bids[0][0]:.12f}" if bids else "0"
        steps = int(product.round_quantity(given, "down") / product.step_size)
        if steps < 1:
            text = f"max_position {given} is below one step of {product.step_size}"
            raise InputError(text, field="max_position", rule="a step", value=str(given))
        return steps

    def let_act(self, actions: Mapping[int, Any], order: Sequence[int]) -> dict[int, Result]:
        """Let traders act, let a step of time pass, and return what it was for each of them.

        Parameters
        ----------
        actions : mapping of int to object
            Action of each trader by number.
        order : sequence of int
            Numbers of the traders in the order in which they act.
        """
        # All act before time passes, so that no trader sees what another one did at the same instant.
        refused = {number: self._act(number, actions[number]) for number in order}
        self._pass_time()
        self._passed += 1
        return {number: self._result(number, why) for number, why in refused.items()}

    def _act(self, number: int, action: object) -> str:
        if not self._desks:
            raise InputError("there is no episode yet. reset() begins an episode", field="action", rule="after reset()")
        desk, mids = self._desks[number], self.observers[number].mids
        order = order_of(action, desk.product, self.most_steps, desk.standing().steps, mids[-1] if mids else 0.0)
        return "" if order is None else desk.trade(order)

    def _pass_time(self) -> None:
        """Let a step of time pass: by moving a manual clock, or by waiting."""
        if self._venue is not None and not self._venue.host.clock.runs:
            self._venue.host.advance_to(self._venue.host.now_ms() + self.step_ms)
        elif self.settings.session is not None:
            time.sleep(self.step_ms / 1000 / (self.settings.session.clock.speed or 1.0))

    def _result(self, number: int, refused: str) -> Result:
        desk, before, first = self._desks[number], self._before[number], self._first[number]
        now = self._before[number] = desk.standing()
        bids, asks = desk.book(self.settings.depth)
        seen = self.observers[number].observe(bids, asks, now.steps / self.most_steps)
        info: dict[str, Any] = {**now._asdict(), "profit": now.equity - first, "refused": refused}
        info["position"] = info.pop("steps") * float(desk.product.step_size)
        return Result(seen, (now.equity - before.equity) / first * BP, now.equity <= self.settings.ruin * first, info)

    @property
    def over(self) -> bool:
        """Whether the episode is over: its steps are done, or the recording has ended."""
        ended = self._venue is not None and self._venue.host.now_ms() >= self._end_ms
        return self._passed >= self.settings.episode or ended

    def snapshot(self) -> Snapshot:
        """Return the state of market and traders, which `reset(options={"snapshot": …})` continues from.

        Raises
        ------
        InputError
            With a session, and before the first reset.
        """
        if self._venue is None or self.settings.session is not None:
            raise InputError("only an environment's own venue has snapshots, after reset()", field="snapshot")
        return Snapshot(self._venue.host.dumped(), tuple(tuple(observer.mids) for observer in self.observers))

    def strategy(self, policy: object) -> PolicyStrategy:
        """Return a policy as a strategy for `backtest`, `paper` and `live`, with this environment's settings.

        Parameters
        ----------
        policy : callable or model
            Function of the observation, or a model with `predict`.

        Returns
        -------
        PolicyStrategy
            The strategy.

        Raises
        ------
        InputError
            Before the first reset, without `max_position`.
        """
        settings = self.settings
        given = {"symbol": settings.symbol, "step": settings.step, "depth": settings.depth}
        return PolicyStrategy(policy=policy, max_position=self.max_position, **given)

    def close(self) -> None:
        """Close the venue that the environment made, and what it opened of a session, which stays."""
        for desk in self._desks:
            if isinstance(desk, SessionDesk):
                desk.close()
        if self._venue is not None and self.settings.session is None:
            self._venue.close()
        self._venue, self._desks = None, ()
