"""Everything that waits for the venue's time, or measures it, goes by one clock, whatever that clock does.

`state` users compare two moments of the venue, so a jump is time that passed. `pace` users wait on this machine for a
span of the venue's time, so a jump changes nothing for them.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from tests.client.io.test_venue_clock import NOW, SPEEDS, Machine, local
from toolkit.client.io.flow import Now
from toolkit.client.io.transport import RETRY
from toolkit.client.orders.pretrade import PRICE_MS, PreTradeChecks
from toolkit.client.stream.protocol import FeedProtocol
from toolkit.errors import LimitReached, WalletError
from toolkit.protocol.reads import feed
from toolkit.research.live_trading import launch
from toolkit.research.live_trading.limits import Limits, check_run
from toolkit.research.live_trading.runner import Runner

User = Callable[[Machine], Callable[[], bool]]
"""Begins with a span of 15 s of the venue's time, and returns what says whether it is over."""
SPAN_MS = 15_000


def limit_of_silence(machine: Machine) -> Callable[[], bool]:
    state = SimpleNamespace(earned=1.0, first_equity=1.0, equity_of_day=lambda: 1.0, now=machine.clock.now_ms)
    state.answered_ms = machine.clock.now_ms()
    state.witnesses = SimpleNamespace(doubts_money=lambda now: False)

    def over() -> bool:
        try:
            check_run(Limits(max_stale=SPAN_MS / 1000), state)  # type: ignore[arg-type]
        except LimitReached:
            return True
        return False

    return over


def price_before_an_order(machine: Machine) -> Callable[[], bool]:
    checks = PreTradeChecks(None, None, RETRY)  # type: ignore[arg-type]
    known = machine.clock.now_ms() + SPAN_MS - PRICE_MS, Decimal(60_000)
    checks._prices.update({(1, "last"): known, (1, "mark"): known})
    product: Any = SimpleNamespace(code=1, min_order_value=Decimal(10), symbol="BTCUSDC", max_slippage=None)

    def over() -> bool:
        flow = checks.prices(product, "BUY", Decimal(1))
        asked = next(flow)
        try:
            while isinstance(asked, Now):
                asked = flow.send(machine.clock.now_ms())
        except StopIteration:
            return False
        return True

    return over


def approval_of_the_agent(machine: Machine) -> Callable[[], bool]:
    ends = pd.Timestamp(machine.clock.now_ms() + SPAN_MS, unit="ms", tz="UTC")
    row = pd.DataFrame({"master": ["0xa"], "name": ["a"], "status": ["ACTIVE"], "expires_at": [ends]})
    info = SimpleNamespace(agents=lambda **_: row)
    session: Any = SimpleNamespace(
        wallet=SimpleNamespace(agent="0xb"), info=info, clock=machine.clock, venue=None,
        permissions=SimpleNamespace(signed_until=dict, account=lambda: "0xA"),
    )  # fmt: skip

    def over() -> bool:
        try:
            launch.check_agent(session)
        except WalletError:
            return True
        return False

    return over


def silence_of_a_topic(machine: Machine) -> Callable[[], bool]:
    protocol, began = FeedProtocol(), machine.elapsed
    protocol.speed = lambda: machine.clock.speed
    topic = protocol.subscribe(feed.CHANNELS["ticker"], {"symbol": "BTCUSDC"}, began)
    return lambda: machine.elapsed - began > protocol.silence_ms(topic)


def poll_of_a_run(machine: Machine) -> Callable[[], bool]:
    run: Any = SimpleNamespace(poll=SPAN_MS / 1000, session=SimpleNamespace(clock=machine.clock))
    began = machine.elapsed
    return lambda: (machine.elapsed - began) / 1000 > Runner._poll_seconds(run)


STATE: tuple[User, ...] = (limit_of_silence, price_before_an_order, approval_of_the_agent)
PACE: tuple[User, ...] = (silence_of_a_topic, poll_of_a_run)


@pytest.mark.parametrize("speed", SPEEDS.values(), ids=SPEEDS)
@pytest.mark.parametrize("user", STATE + PACE)
def test_a_span_of_the_venues_time_ends_by_the_venues_clock(user: User, speed: float) -> None:
    machine = local()
    machine.answer(NOW, 0, speed)
    over = user(machine)
    if not speed:
        machine.pass_ms(3_600_000)
        # a run looks at a venue whose time stands, too: others' orders may fill its own
        assert over() == (user is poll_of_a_run)
        return
    shortest = 2_000 if user is silence_of_a_topic else 0  # messages are on their way so long
    took = max(int(SPAN_MS / speed), shortest)
    machine.pass_ms(took - 10)
    assert not over()
    machine.pass_ms(20)
    assert over()


@pytest.mark.parametrize("jump", [86_400_000, -86_400_000], ids=["forward", "back"])
@pytest.mark.parametrize("suspended", [0, 10_000_000])
@pytest.mark.parametrize("user", STATE + PACE)
def test_a_jump_is_time_that_passed_for_moments_and_nothing_for_waits(user: User, jump: int, suspended: int) -> None:
    machine = local()
    machine.answer(NOW, 0, 1.0)
    over = user(machine)
    machine.wall += suspended  # the clock of elapsed time stands while a machine sleeps
    assert not over()
    machine.clock.follow(NOW + suspended + jump)
    # a price of later than now is no price
    assert over() == (user in STATE and (jump > 0 or user is price_before_an_order))
    machine.pass_ms(SPAN_MS + 10)
    assert over() or (jump < 0 and user in STATE)
