"""What a run with a name tells other programs, and what they ask of it. A full disk changes nothing of the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

import pandas as pd

from ...client.limits.run_status import Ask, RunFiles, RunStatus, State, now_ms
from ...errors import MissingPackage
from ...numerals import plain_text
from ..analysis.results import NOT_KEPT, Results
from .run_state import RunState

EVERY_S = 1.0
"""Time between two looks of other programs at a run, at least."""


class Telling:
    """Tells other programs how a run is. A run without a name tells nothing.

    Parameters
    ----------
    state : RunState
        State of the run's account.
    strategy : str
        Name of the strategy.
    agent_until : Timestamp or None
        When the approval of the session's agent ends.
    files : RunFiles or None
        Files by which other processes know the run. One without a name tells nothing, and is asked to stop by them.
    """

    def __init__(
        self, state: RunState, strategy: str, agent_until: pd.Timestamp | None, files: RunFiles | None
    ) -> None:
        self._state = state
        self._strategy = strategy
        self._agent_until = 0 if agent_until is None else int(agent_until.timestamp() * 1000)
        self._asks = files
        if files is not None:
            state.is_told_to_end = files.is_told_to_end
        self._files = None if state.journal is None else files
        self._told_at = float("-inf")

    def asked(self) -> Ask | None:
        """Return what another program asks of the run, once."""
        return None if self._asks is None else self._asks.take_asked()

    def tell_now_and_then(self) -> None:
        """Tell that it runs, or why it is paused, not more than once a second."""
        if monotonic() - self._told_at >= EVERY_S:
            self.tell("PAUSED" if self._state.paused else "RUNNING", self._state.paused)

    def tell(self, word: State, why: str, *, exit_code: int = 0, left_open: Sequence[str] = ()) -> None:
        """Tell how it is.

        Parameters
        ----------
        word : State
            Its state.
        why : str
            Why it is paused, or how it ended.
        exit_code : int, optional
            What `toolkit run` returns for its end (default: 0).
        left_open : sequence of str, optional
            What was left open at its end, in words (default: nothing).
        """
        if self._files is None:
            return
        self._told_at = monotonic()
        state, session = self._state, self._state.session
        sizes = {name: book.net * state.products[name].step_size for name, book in state.books.items() if book.net}
        event_ms, *words = state.notes[-1] if state.notes else (0, "")
        equity = state.equity if state.equity == state.equity else None
        own = state.own_pnl
        status = RunStatus(
            name=self._files.name,
            strategy=self._strategy,
            environment=session.environment.label,
            base_url=session.environment.base_url,
            account=str(session.account),
            symbols=state.symbols,
            state=word,
            why=why,
            started=state.first_ms,
            told=now_ms(),
            positions={name: plain_text(size) for name, size in sizes.items()},
            equity=equity,
            pnl=own if own == own else None,
            account_pnl=None if equity is None else state.earned - state.first_equity,
            shared=state.shared,
            event=" ".join(filter(None, words)),
            event_time=event_ms,
            agent_until=self._agent_until,
            exit_code=exit_code,
            left_open=tuple(left_open),
        )
        self._files.write(status)

    def save(self, results: Results) -> None:
        """Keep the Results for other programs.

        Parameters
        ----------
        results : Results
            Results of the run.
        """
        if self._files is None:
            return
        try:
            # How to make it again is left out: a strategy may hold what can't be kept, or must not be.
            replace(results, recipe=NOT_KEPT).save(self._files.results)
        except (OSError, MissingPackage) as error:
            self._state.note("PROBLEM", "", f"its Results are not kept: {error}")
