"""A world against the client: its flows are driven step by step over a network that fails in every way, with kills.

The venue is a real one. The network loses, repeats, reorders, delays and cuts requests and answers, hands out answers
of other requests, and puts codes that leave the outcome open in place of answers; reads fail. Wall clocks are set at
any moment. The feed tells some of what happened, late, in any order and more than once. Two processes work on one
ledger; each may be interrupted or killed at any step, and starts again. What the network can't do is refuse in the
venue's name: against a forged final refusal only the venue's signature would help.

One seed is one run, and repeats it exactly.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx

import toolkit
from toolkit import errors, orders
from toolkit.client.io.flow import Elapsed, Fetch, Flow, Now, RandomFloat, Reply, Settle, Sleep, subflow
from toolkit.client.io.transport import EXCHANGE_PATH, RETRY
from toolkit.client.io.venue_clock import VenueClock
from toolkit.client.orders.delivery import SETTLE_SECONDS
from toolkit.client.orders.intents import Intent, IntentState, Ledger
from toolkit.venue.clocks import ManualClock
from toolkit.venue.feed.account_sources import acknowledgement_record, order_event_record
from toolkit.venue.local import LocalVenue

TIMEOUT_MS = 20_000
"""What a request without an answer takes: the bound of the transport."""
CALL_MS = 2 * RETRY.total * 1000 + 1_000
"""What a call may take with all its attempts and questions, and the venue's work on the last one."""
LATEST_MS = 90_000
LOST = (errors.TimedOut, errors.Disconnected)
OPEN_CODES = ((40231, 200), (40230, 200), (50000, 200), (40204, 503), (40230, 502), (0, 404), (40207, 200), (77, 500))
"""Codes and HTTP statuses that leave open what became of a request."""


class Killed(BaseException):
    """The process of a call ended here; nothing of it runs any more."""


class Task:
    """One call of a process. `spent_ms` is the time of its own requests and waits: others take theirs in between."""

    def __init__(self, name: str, process: int, flow: Flow[Any], began_ms: int) -> None:
        self.name, self.process, self.flow = name, process, flow
        self.wakes_ms, self.spent_ms = began_ms, 0
        self.request: Any = None
        """None before the first one."""


class World:
    """One run. `faults` counts what happened; `steps` the requests of flows that were performed."""

    def __init__(self, seed: int, venue: LocalVenue, ledger: Callable[[], Ledger]) -> None:
        self.rng = random.Random(seed)
        self.venue, self.ledger = venue, ledger
        self.faults: Counter[str] = Counter()
        self.steps = 0
        self.elapsed_ms = 1_000
        self.wall_ms = venue.host.now_ms() + self.rng.choice([0, 0, 500, -90_000, 400_000, -(10**9)])
        self.rate = self.rng.choice([0.05, 0.2, 0.5])
        self.honest = False
        self.slow = venue.host.core.state.settings["settleDelay"] > 1000 * SETTLE_SECONDS
        self.answers: list[Reply] = []
        self.held: list[tuple[int, Fetch]] = []
        self.tasks: list[Task] = []
        self.graveyard: list[Any] = []
        """Flows of killed processes: kept, because closing one would run its `finally`, which a kill does not."""
        self.price = 40_000
        self.sessions = [self.start(number) for number in range(2)]
        self.clocks = [self.clock() for _ in range(2)]

    def start(self, number: int) -> toolkit.Session:
        return toolkit.connect(
            base_url=f"https://venue-{id(self.venue)}",
            transport=httpx.MockTransport(lambda request: httpx.Response(500)),
            intents=self.ledger(),
            expiry_ms=self.rng.choice([60_000, 5_000]),
        )

    def clock(self) -> VenueClock:
        return VenueClock(lambda: self.wall_ms, lambda: self.elapsed_ms, jumps=True)

    def pass_ms(self, span: int) -> None:
        self.elapsed_ms += span
        self.wall_ms += span
        self.venue.advance(f"{span}ms")
        for due in sorted((each for each in self.held if each[0] <= self.elapsed_ms), key=lambda each: each[0]):
            self.held.remove(due)
            self.execute(due[1])

    def time_out(self, fetch: Fetch, longest_ms: int = TIMEOUT_MS) -> None:
        self.pass_ms(longest_ms if fetch.within is None else min(longest_ms, round(fetch.within * 1000)))

    def execute(self, fetch: Fetch) -> Reply:
        answer = self.venue.host.gateway.handle(fetch.method, fetch.path, fetch.query, fetch.body)
        headers = dict(answer.headers)
        if self.rng.random() < 0.1:
            headers.pop("x-venue-time", None)
        return Reply(answer.status, answer.body, headers)

    def chance(self, name: str, factor: float = 1.0) -> bool:
        found = not self.honest and self.rng.random() < self.rate * factor
        if found:
            self.faults[name] += 1
        return found

    # ------------------------------------------------------------------------------------------------- the network
    def fetch(self, fetch: Fetch) -> Reply:
        self.pass_ms(self.rng.randrange(1, 60))
        if self.chance("clock set", 0.2):
            self.wall_ms += self.rng.randrange(-(10**8), 10**8)
        if fetch.path != EXCHANGE_PATH:
            return self.read(fetch)
        if not self.chance("write", 1.8):
            reply = self.execute(fetch)
            self.answers.append(reply)
            return reply
        return getattr(self, self.rng.choice(FAULTS[: len(FAULTS) - self.slow]))(fetch)

    def read(self, fetch: Fetch) -> Reply:
        if not self.chance("read"):
            return self.execute(fetch)
        kind = self.rng.choice(["lost", "503", "html", "cut"])
        self.faults[f"read {kind}"] += 1
        if kind == "lost":
            self.time_out(fetch)
            raise errors.TimedOut("no answer")
        if kind == "cut":
            raise errors.BadAnswer("cut off")
        return Reply(503 if kind == "503" else 200, b"<html>maintenance</html>")

    def not_sent(self, fetch: Fetch) -> Reply:
        self.faults["not sent"] += 1
        raise errors.NotSent("connection refused")

    def request_lost(self, fetch: Fetch) -> Reply:
        self.faults["request lost"] += 1
        self.time_out(fetch)
        raise self.rng.choice(LOST)("lost")

    def answer_lost(self, fetch: Fetch) -> Reply:
        self.faults["answer lost"] += 1
        self.execute(fetch)
        self.time_out(fetch, self.rng.choice([10, TIMEOUT_MS]))
        raise self.rng.choice(LOST)("lost")

    def cut_off(self, fetch: Fetch) -> Reply:
        self.faults["cut off"] += 1
        reply = self.execute(fetch)
        return Reply(reply.status, reply.body[: self.rng.randrange(len(reply.body))], reply.headers)

    def repeated(self, fetch: Fetch) -> Reply:
        self.faults["repeated"] += 1
        replies = [self.execute(fetch) for _ in range(self.rng.randrange(2, 4))]
        return self.rng.choice(replies)

    def late(self, fetch: Fetch) -> Reply:
        self.faults["late"] += 1
        self.held.append((self.elapsed_ms + self.rng.randrange(1, LATEST_MS), fetch))
        self.time_out(fetch)
        raise errors.TimedOut("late")

    def foreign(self, fetch: Fetch) -> Reply:
        """Answer with an earlier answer of code 0, of any process; the request itself may be lost."""
        self.faults["foreign answer"] += 1
        own = self.execute(fetch) if self.rng.random() < 0.5 else None
        earlier = [reply for reply in self.answers if json.loads(reply.body)["code"] == 0]
        if not earlier:
            raise errors.Disconnected("lost")
        return self.rng.choice([*earlier, own] if own else earlier)

    def hash_alone(self, fetch: Fetch) -> Reply:
        self.faults["hash alone"] += 1
        reply = self.execute(fetch)
        body = json.loads(reply.body)
        if body["code"] or not body["data"]:
            return reply
        body["data"] = {name: body["data"].get(name) for name in ("txHash", "txCode", "txMsg")}
        return Reply(200, json.dumps(body).encode(), reply.headers)

    def open_code(self, fetch: Fetch) -> Reply:
        code, status = self.rng.choice(OPEN_CODES)
        self.faults[f"code {code}, HTTP {status}"] += 1
        if self.rng.random() < 0.5:
            self.execute(fetch)
        return Reply(status, json.dumps({"code": code, "message": "?", "data": None}).encode())

    def busy(self, fetch: Fetch) -> Reply:
        self.faults["busy"] += 1
        headers = {"retry-after": self.rng.choice(["0", "1", "inf", "-5", "soon", "1e9"])}
        return Reply(429, b'{"code":40220,"message":"slow down","data":null}', headers)

    def tell(self) -> None:
        """Let the feed tell some of what happened last, in any order and again, to one of the processes."""
        history, session = self.venue.host.core.state.history, self.rng.choice(self.sessions)
        orders = [order_event_record(self.venue.host.core, event) for event in history.order_events.records[-12:]]
        acknowledged = [acknowledgement_record(done) for done in history.transactions.records[-6:]]
        events = [{"eventType": "perpOrder", "event": [row]} for row in orders]
        events += [{"eventType": "actionAck", "event": [row]} for row in acknowledged]
        channel, rows = self.rng.choice([("orderHist", orders), ("userEvent", events)])
        told = self.rng.choices(rows, k=self.rng.randrange(1, 2 * len(rows))) if rows else []
        self.faults["feed told"] += 1
        session._delivery.take_records(channel, str(session.account), told, self.venue.host.now_ms())

    # --------------------------------------------------------------------------------------------------- the flows
    def perform(self, task: Task) -> Any:
        match task.request:
            case Fetch():
                return self.timed(task)
            case None | Sleep() | Settle():
                return None  # it has waited in `drive`
            case Now():
                return self.clocks[task.process].now_ms()
            case Elapsed():
                return self.elapsed_ms
            case RandomFloat():
                return self.rng.random()
        raise AssertionError(task.request)

    def timed(self, task: Task) -> Reply:
        sent_ms = self.elapsed_ms
        reply = self.fetch(task.request)
        self.clocks[task.process].observe(reply.headers, sent_ms)
        return reply

    def step(self, task: Task) -> bool:
        """Perform the request of a task; return whether its call has ended."""
        self.steps += 1
        began_ms = self.elapsed_ms
        try:
            if self.chance("killed", 0.05):
                raise Killed
            try:
                if task.request is not None and self.chance("interrupted", 0.05):
                    raise KeyboardInterrupt
                result = self.perform(task)
            except Killed:
                raise
            except BaseException as error:
                task.request = task.flow.throw(error)
            else:
                task.request = task.flow.send(result)
        except StopIteration:
            return True
        except Killed:
            self.kill(task.process)
            return True
        except (errors.ToolkitError, KeyboardInterrupt):
            return True
        task.spent_ms += self.elapsed_ms - began_ms
        if isinstance(task.request, Sleep | Settle):
            wait_ms = max(1, round(task.request.seconds * 1000))
            task.wakes_ms, task.spent_ms = self.elapsed_ms + wait_ms, task.spent_ms + wait_ms
        assert task.spent_ms <= CALL_MS, f"{task.name} does not end"
        return False

    def kill(self, process: int) -> None:
        """End a process: all its calls stop where they are, and a new one begins with what the ledger has."""
        self.graveyard += [task for task in self.tasks if task.process == process]
        self.graveyard.append(self.sessions[process])
        self.tasks = [task for task in self.tasks if task.process != process]
        self.sessions[process], self.clocks[process] = self.start(process), self.clock()
        self.begin("resolve", process)

    def begin(self, name: str, process: int) -> None:
        self.tasks.append(Task(name, process, self.call(name, self.sessions[process]), self.elapsed_ms))

    def call(self, name: str, session: toolkit.Session) -> Flow[Any]:
        self.price += 10
        buy = orders.buy("BTCUSDC", "0.001", price=self.price)
        bad = orders.buy("BTCUSDC", "9", price=self.price + 5)
        calls: dict[str, Callable[[], Flow[Any]]] = {
            "buy": lambda: subflow(session.place, buy),
            "refused": lambda: subflow(session.place, bad),
            "batch": lambda: subflow(session.place, [buy, bad]),
            "bracket": lambda: subflow(session.place, orders.bracket(buy, stop_loss=30_000)),
            "leverage": lambda: subflow(session.exchange.set_leverage, "BTCUSDC", self.rng.randrange(5, 20)),
            "cancel": lambda: subflow(session.cancel, cl_ord_id=self.known(session), symbol="BTCUSDC"),
            "resolve": lambda: subflow(session.resolve),
        }
        return calls[name]()

    def known(self, session: toolkit.Session) -> int:
        ids = [number for intent in session._delivery.ledger.all() for number in intent.client_ids]
        return self.rng.choice(ids) if ids else 77

    def run(self) -> None:
        """Run some calls against the network, then settle what is open with an honest one, and check."""
        for _ in range(self.rng.randrange(2, 8)):
            self.begin(self.rng.choice(["buy", "buy", *CALLS]), self.rng.randrange(2))
        self.drive()
        # The network is honest from now on, and nothing that it held back is alive any more.
        self.honest = True
        self.pass_ms(LATEST_MS + 3_600_000)
        for process in range(2):
            self.kill(process)
            self.drive()
        self.check()

    def drive(self) -> None:
        while self.tasks:
            ready = [task for task in self.tasks if task.wakes_ms <= self.elapsed_ms]
            if not ready:
                self.pass_ms(min(task.wakes_ms for task in self.tasks) - self.elapsed_ms)
                continue
            if self.rng.random() < 0.1:
                self.tell()
            task = self.rng.choice(ready)
            if self.step(task) and task in self.tasks:
                self.tasks.remove(task)

    # ---------------------------------------------------------------------------------------------------- the truth
    def check(self) -> None:
        """Compare the ledger with the venue."""
        done = {
            (record.signer, record.nonce): record for record in self.venue.host.core.state.history.transactions.records
        }
        for intent in self.sessions[0]._delivery.ledger.all():
            record = done.get((intent.signer.lower(), intent.nonce))
            self.check_intent(intent, None if record is None else record.code)
        placed = Counter(order.price for order in self.all_orders() if order.type == 1 and order.trigger == 0)
        twice = {price: count for price, count in placed.items() if count > 1}
        assert not twice, f"orders stand twice: {twice}"

    def all_orders(self) -> list[Any]:
        state = self.venue.host.core.state
        account = state.accounts[str(self.sessions[0].account).lower()]
        return [*account.orders.values(), *(order for order in state.history.orders.records)]

    def check_intent(self, intent: Intent, code: int | None) -> None:
        truth = f"{intent} at the venue: {'nothing' if code is None else f'code {code}'}"
        self.faults[f"ended {intent.state}"] += 1
        if intent.state is IntentState.ACCEPTED:
            partly = bool(intent.code) and len(intent.client_ids) > 1
            assert code is not None, truth
            assert code == 0 or partly, truth
        elif intent.settled:
            assert code != 0, truth


FAULTS = (
    *("not_sent", "request_lost", "answer_lost", "cut_off", "repeated", "late"),
    *("foreign", "hash_alone", "busy", "open_code"),
)
"""The last one is left out where the venue executes later than `settle_timeout`: what it then shows is believed."""
CALLS = ("refused", "batch", "bracket", "leverage", "cancel", "resolve")
DELAYS = (0, 700, 3_000, 30_000)


@contextmanager
def venues() -> Iterator[list[LocalVenue]]:
    """Provide a venue for each settlement delay, with a funded account and an approved agent."""
    made = [LocalVenue(clock=ManualClock(), market=False, accounts=1, settle_delay=f"{delay}ms") for delay in DELAYS]
    for venue in made:
        with toolkit.connect(venue=venue):
            venue.advance(until=venue.host.settled_ms())
            venue.control.set_oracle("BTCUSDC", "60000")
    yield made
    for venue in made:
        venue.close()


def run(seed: int, made: list[LocalVenue], ledger: Callable[[], Ledger]) -> World:
    """Run one seed, and return its world."""
    venue = made[seed % len(made)]
    with venue.host.sandbox():
        world = World(seed, venue, ledger)
        try:
            world.run()
        except BaseException as error:
            error.add_note(f"seed {seed}, after {world.steps} steps and {dict(world.faults)}")
            raise
        finally:
            for session in world.sessions:
                session._http.close()
    return world
